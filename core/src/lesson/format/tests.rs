use crate::base::ids::ClientId;
use crate::kernel::rng::Stream;
use crate::kernel::time::{SimTime, Span};
use crate::lesson::Lesson;
use crate::lesson::expression::Moment;
use crate::sim::command::Command;
use crate::sim::scenario::{Keys, ProcessingTime, RecordRule, RestartPolicy};
#[cfg(target_arch = "wasm32")]
use wasm_bindgen_test::wasm_bindgen_test as test;

fn faults(text: &str) -> Vec<String> {
    let errors = Lesson::parse("a.toml", text).expect_err("the file must be refused");
    errors.iter().map(ToString::to_string).collect()
}

#[test]
fn a_lesson_is_read_whole() {
    let lesson = Lesson::parse("small.toml", SMALL).unwrap_or_else(|errors| {
        panic!(
            "{}",
            errors
                .iter()
                .map(ToString::to_string)
                .collect::<Vec<_>>()
                .join("\n")
        )
    });
    let scenario = &lesson.base;
    assert_eq!(
        (scenario.seed, scenario.until),
        (7, SimTime::from_millis(90_000)),
        "the run"
    );
    assert_eq!(scenario.brokers.len(), 2, "both brokers");
    assert_eq!(
        scenario.broker_config.replica_lag_time_max_ms, 500,
        "a broker setting"
    );
    let topic = &scenario.topics[0];
    assert_eq!(
        (topic.partitions, topic.replication_factor),
        (3, 2),
        "the topic"
    );
    assert_eq!(topic.config.min_insync_replicas, 2, "a topic setting");
    assert!(
        matches!(
            scenario.producers[0].workload.keys,
            Keys::Cycle { count: 5, .. }
        ),
        "keys"
    );
    let consumer = &scenario.consumers[0];
    assert_eq!(
        consumer.config.group_id.as_deref(),
        Some("g"),
        "dotted names are one name"
    );
    assert_eq!(
        consumer.processing.time,
        ProcessingTime::Uniform(Span::from_millis(1), Span::from_millis(5)),
        "processing"
    );
    assert_eq!(consumer.processing.rules[0].1, RecordRule::Crashes, "crash");
    assert_eq!(
        consumer.processing.rules[1].1,
        RecordRule::Takes(Span(900_000_000)),
        "wait"
    );
    assert!(
        matches!(consumer.restart, RestartPolicy::Always { .. }),
        "a pod"
    );
    assert_eq!(
        consumer.output.as_ref().map(|output| &*output.topic),
        Some("out"),
        "output"
    );
    assert_eq!(
        scenario.consumers[1].start_at, None,
        "it waits for an action"
    );
    assert_eq!(scenario.links.len(), 2, "a link has two directions");
    assert_eq!(
        scenario.actions,
        [(
            SimTime::from_millis(8_500),
            Command::StartClient(ClientId(2))
        )],
        "the lesson's own action"
    );
    assert!(
        matches!(lesson.questions[0].locks, Moment::On(_)),
        "locks at an event"
    );
    let fixed = lesson
        .scenario(Some("static"), &[])
        .expect("the variant exists");
    assert_eq!(
        fixed.consumers[0].config.group_instance_id.as_deref(),
        Some("a"),
        "variant"
    );
    let base = lesson.scenario(None, &[]).expect("the first variant");
    assert_eq!(
        base.consumers[0].config.group_instance_id, None,
        "the first variant is chosen"
    );
    assert_eq!(
        lesson.goals_of(None).count(),
        1,
        "the second goal is for the other variant"
    );
    assert_eq!(lesson.goals_of(Some("static")).count(), 2, "both");
}

#[test]
fn unknown_names_are_errors_with_place_and_nearest_name() {
    let swaps = [
        (
            "partitions = 3",
            "partition = 3",
            "topic[0].partition: unknown field partition; did you mean partitions?",
        ),
        (
            "\"replica.lag.time.max.ms\"",
            "\"replica.lag.max.ms\"",
            "cluster.config: unknown setting replica.lag.max.ms; did you mean replica.lag.time.max.ms?",
        ),
        (
            "topic = \"in\"",
            "topic = \"inn\"",
            "producer[0].topic: unknown topic inn; did you mean in?",
        ),
        (
            "start-consumer c2",
            "start-consumer c3",
            "at[0]: action `8.5s start-consumer c3`: expected a consumer's name, found `c3`; did you mean c1?",
        ),
        (
            "start-consumer c2",
            "strt-consumer c2",
            "at[0]: action `8.5s strt-consumer c2`: expected an action such as kill-broker, found `strt-consumer`; did you mean start-consumer?",
        ),
        (
            "event = \"isr-shrunk\"",
            "event = \"isr-shrink\"",
            "predict[0].locks.event: unknown event isr-shrink; did you mean isr-shrunk?",
        ),
        (
            "measure = \"rebalances\"",
            "measure = \"rebalance\"",
            "goals[0].holds.hold.measure: unknown measure rebalance; did you mean rebalances?",
        ),
        (
            "fails = \"calm\"",
            "fails = \"clam\"",
            "wrong[0].fails: unknown fails clam; did you mean calm?",
        ),
        (
            "[\"kill-broker\"]",
            "[\"kill-brokers\"]",
            "allow.actions: unknown action kill-brokers; did you mean kill-broker?",
        ),
        ("= \"a\"\n", "= 5\n", ""),
        (
            "until = \"90s\"",
            "until = \"90\"",
            "until: expected a time with its unit, such as 8.5s, 250ms, 2m or 1h, up to 720h, found \"90\"",
        ),
        (
            "id = 2",
            "id = 1",
            "cluster.brokers[1].id: there are two of broker 1; each needs its own name",
        ),
    ];
    for (from, to, expected) in swaps {
        let text = SMALL.replacen(from, to, 1);
        assert_ne!(text, SMALL, "{from} stands in the file");
        if expected.is_empty() {
            Lesson::parse("a.toml", &text).expect("a number is as good as a text for a setting");
            continue;
        }
        let faults = faults(&text);
        let changed = text
            .lines()
            .zip(SMALL.lines())
            .position(|(new, old)| new != old);
        let line = changed.expect("a line differs") + 1;
        let found = faults.iter().any(|fault| {
            fault.starts_with(&format!("a.toml:{line}:")) && fault.ends_with(expected)
        });
        assert!(
            found,
            "{to}: expected `a.toml:{line}:… {expected}`, got {faults:#?}"
        );
    }
}

#[test]
fn entries_that_do_not_go_together_are_refused() {
    let swaps = [
        (
            "replication-factor = 2",
            "replication-factor = 3",
            "needs as many brokers; there are 2",
        ),
        ("max = 0", "for = \"1s\"", "for means nothing beside count"),
        (
            "group = \"g\", at-most = 1",
            "at-most = 1, broker = 1",
            "rebalances says nothing of broker; it understands group",
        ),
        (
            "topic = \"in\", partition = 0",
            "topic = \"in\", client = \"c1\"",
            "isr-shrunk says nothing of client",
        ),
        (
            "passes = [\"calm\", \"fixed\"]",
            "passes = [\"calm\"]",
            "no solution passes the goal fixed",
        ),
        (
            "actions = [\"kill-broker\"]",
            "actions = []",
            "kill-broker is not among allow.actions",
        ),
        (
            "rung = \"place\"",
            "rung = \"nudge\"",
            "hints of one goal go up",
        ),
        (
            "[[topic]]\nname = \"out\"",
            "[[topic]]\nname = \"in\"",
            "there are two of topic in",
        ),
        (
            "format = 1",
            "format = 2",
            "expected a whole number from 1 to 1, found 2",
        ),
        ("format = 1", "format = \"1", "not valid TOML"),
        (
            "partitions = 3",
            "partitions = 30000",
            "expected a whole number from 1 to 20000, found 30000",
        ),
        (
            "fidelity = [\"range\"]",
            "fidelity = []",
            "expected at least one text",
        ),
    ];
    for (from, to, expected) in swaps {
        let text = SMALL.replacen(from, to, 1);
        assert_ne!(text, SMALL, "{from} stands in the file");
        let faults = faults(&text);
        assert!(
            faults.iter().any(|fault| fault.contains(expected)),
            "{to}: {faults:#?}"
        );
    }
}

#[test]
fn what_must_be_given_is_asked_for() {
    let removals = [
        ("format = 1\n", "format is missing; expected 1"),
        ("id = \"small\"\n", "id is missing"),
        ("kafka = \"4.0\"\n", "kafka is missing"),
        ("until = \"90s\"\n", "until is missing"),
        ("fidelity = [\"range\"]\n", "fidelity is missing"),
        (
            "{ id = 1, rack = \"a\" }",
            "cluster.brokers[0]: id is missing",
        ),
        ("name = \"in\"\n", "topic[0]: name is missing"),
        ("topic = \"in\"\n", "producer[0]: topic is missing"),
        (", count = 5", "producer[0].keys: count is missing"),
        ("topics = [\"in\"]\n", "consumer[0]: topics is missing"),
        ("delay = \"10s\"", "consumer[0].restart: delay is missing"),
        ("from = 1, ", "network.link[0]: from is missing"),
        ("id = \"dynamic\"\n", "variant[0]: id is missing"),
        ("until = \"8.5s\"\n", "steps[0]: until is missing"),
        (
            "locks = { event = \"isr-shrunk\", topic = \"in\", partition = 0 }\n",
            "predict[0]: locks is missing",
        ),
        ("task = \"watch\"\n", "goals[0]: task is missing"),
        (
            "holds = { hold = { measure = \"rebalances\", group = \"g\", at-most = 1 } }\n",
            "goals[0]: holds is missing",
        ),
        ("option = \"no\"\n", "traps[0]: option is missing"),
        ("rung = \"nudge\"\n", "hints[0]: rung is missing"),
        (
            "passes = [\"calm\", \"fixed\"]\n",
            "solutions[0]: passes is missing",
        ),
        ("fails = \"calm\"\n", "wrong[0]: fails is missing"),
        (
            "measure = \"rebalances\", group = \"g\" }]",
            "debrief.show[0]: measure is missing",
        ),
    ];
    for (given, expected) in removals {
        let replacement = match given {
            "{ id = 1, rack = \"a\" }" => "{ rack = \"a\" }",
            _ if given.ends_with('\n') => "\n",
            _ if given.ends_with(']') => "group = \"g\" }]",
            _ => "",
        };
        let text = SMALL.replacen(given, replacement, 1);
        assert_ne!(text, SMALL, "{given} stands in the file");
        let faults = faults(&text);
        assert!(
            faults.iter().any(|fault| fault.contains(expected)),
            "{given}: {faults:#?}"
        );
    }
}

#[test]
fn no_mutated_file_brings_the_reader_down() {
    let mut stream = Stream::new(11, "mutations");
    let pieces: Vec<&str> = SMALL.split_inclusive([' ', '\n']).collect();
    let oddities = [
        "{",
        "}",
        "[",
        "]]",
        "\"",
        "=",
        "99999999999999999999",
        "-1",
        "1e400",
        "nan",
        "é",
        "\u{0}",
        "''''",
        "true",
        "1979-05-27",
        "0xffffffffffffffff",
        "\"\\u0000\"",
        "720h",
        "[[[[[[",
        "9s kill-broker 9",
    ];
    let mut accepted = 0;
    for _ in 0..3_000 {
        let mut mutated = pieces.clone();
        for _ in 0..=stream.below(3) {
            let count = u64::try_from(mutated.len()).unwrap_or(1);
            let place = usize::try_from(stream.below(count)).unwrap_or(0);
            let other = usize::try_from(stream.below(count)).unwrap_or(0);
            match stream.below(4) {
                0 => drop(mutated.remove(place)),
                1 => mutated.swap(place, other),
                2 => mutated.insert(place, mutated[other]),
                _ => {
                    let odd = stream.below(u64::try_from(oddities.len()).unwrap_or(1));
                    mutated[place] = oddities[usize::try_from(odd).unwrap_or(0)];
                }
            }
        }
        match Lesson::parse("mutated.toml", &mutated.concat()) {
            Ok(lesson) => {
                accepted += 1;
                assert!(
                    lesson.scenario(None, &[]).is_ok(),
                    "what is accepted can be set up"
                );
            }
            Err(errors) => assert!(!errors.is_empty(), "a refusal names a fault"),
        }
    }
    assert!(0 < accepted, "some mutations change nothing that matters");
}

const SMALL: &str = r#"format = 1
id = "small"
kafka = "4.0"
seed = 7
until = "90s"
fidelity = ["range"]
at = ["8.5s start-consumer c2"]

[cluster]
brokers = [{ id = 1, rack = "a" },
  { id = 2 }]
config = { "replica.lag.time.max.ms" = 500 }

[[topic]]
name = "in"
partitions = 3
replication-factor = 2
config = { "min.insync.replicas" = 2 }

[[topic]]
name = "out"

[[producer]]
name = "p1"
topic = "in"
every = "100ms"
keys = { prefix = "user", count = 5 }

[[consumer]]
name = "c1"
topics = ["in"]
processing = "uniform 1ms 5ms"
on = { wait = "15m", crash = "crash" }
restart = { delay = "10s" }
output = "out"
[consumer.config]
group.id = "g"
max.poll.interval.ms = 3600000

[[consumer]]
name = "c2"
topics = ["in"]
start = "by-action"
config = { "group.id" = "g" }

[network]
latency = "1ms"
loss = "0.5%"
link = [{ from = 1, to = "c1", latency = "20ms" }]

[[variant]]
id = "dynamic"

[[variant]]
id = "static"
[variant.set]
consumer.c1.group.instance.id = "a"

[allow]
actions = ["kill-broker"]
settings = ["consumer.*.max.poll.interval.ms"]

[[steps]]
id = "start"
until = "8.5s"

[[predict]]
id = "which"
locks = { event = "isr-shrunk", topic = "in", partition = 0 }
options = [
  { id = "yes", holds = { reach = { event = "isr-shrunk" } } },
  { id = "no", holds = { count = { event = "isr-shrunk" }, max = 0 } },
]

[[goals]]
id = "calm"
task = "watch"
holds = { hold = { measure = "rebalances", group = "g", at-most = 1 } }

[[goals]]
id = "fixed"
task = "change"
variant = "static"
holds = { any = [{ before = [{ event = "isr-shrunk" }, { event = "isr-expanded" }] }, { within = { measure = "isr-size", equals = 2 }, after = { event = "isr-shrunk" }, span = "2s" }] }

[[traps]]
id = "never"
question = "which"
option = "no"

[[hints]]
rung = "nudge"

[[hints]]
rung = "place"
after = "2m"
failed = 2

[[solutions]]
id = "wait"
passes = ["calm", "fixed"]

[[wrong]]
id = "kill"
actions = ["20s kill-broker 2"]
fails = "calm"

[debrief]
show = [{ id = "rebalances", measure = "rebalances", group = "g" }]
"#;
