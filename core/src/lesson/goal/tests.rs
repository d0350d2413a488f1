use super::{Grader, Outcome, Verdict};
use crate::base::ids::{
    BrokerId, ClientId, GroupId, NodeId, Offset, RecordId, TopicId, TopicPartition,
};
use crate::kernel::time::SimTime;
use crate::lesson::Lesson;
use crate::sim::scenario::Scenario;
use crate::trace::buffer::TraceBuffer;
use crate::trace::event::{TraceEntry, TraceEvent};
use std::sync::Arc;
#[cfg(target_arch = "wasm32")]
use wasm_bindgen_test::wasm_bindgen_test as test;

/// A lesson with one goal.
fn lesson(holds: &str) -> Lesson {
    let text = format!(
        r#"
format = 1
id = "a"
kafka = "4.0"
until = "60s"
fidelity = ["x"]
cluster = {{ brokers = [{{ id = 1 }}, {{ id = 2 }}, {{ id = 3 }}] }}
topic = [{{ name = "foo", replication-factor = 3 }}]
consumer = [{{ name = "c1", topics = ["foo"], config = {{ "group.id" = "g" }} }}]
steps = [{{ id = "one", until = "4s" }}, {{ id = "two", until = {{ event = "isr-expanded" }} }}, {{ id = "three", until = "5s" }}]
goals = [{{ id = "goal", task = "watch", holds = {holds} }}]
solutions = [{{ id = "s", passes = ["goal"] }}]
predict = [{{ id = "q", locks = "2s", reveals = {{ event = "isr-expanded" }}, options = [
  {{ id = "yes", holds = {holds} }}, {{ id = "no", holds = {{ count = {{ event = "isr-shrunk" }}, max = 0 }} }} ] }}]
"#
    );
    Lesson::parse("a.toml", &text).unwrap_or_else(|errors| panic!("{holds}: {}", errors[0]))
}

const FOO: TopicPartition = TopicPartition::new(TopicId(0), 0);

fn isr(count: u32) -> Arc<[BrokerId]> {
    (1..=count).map(BrokerId).collect()
}

fn shrunk(count: u32) -> TraceEvent {
    TraceEvent::IsrShrunk {
        topic_partition: FOO,
        previous_isr: isr(3),
        isr: isr(count),
    }
}

fn expanded() -> TraceEvent {
    TraceEvent::IsrExpanded {
        topic_partition: FOO,
        previous_isr: isr(2),
        isr: isr(3),
    }
}

fn processed(offset: i64) -> TraceEvent {
    TraceEvent::RecordProcessed {
        topic_partition: FOO,
        offset: Offset(offset),
        record_id: RecordId(0),
        generation_id: 1,
        duplicate: false,
    }
}

fn trace(events: &[(u64, TraceEvent)]) -> TraceBuffer {
    let mut trace = TraceBuffer::default();
    for (index, (millis, event)) in (0..).zip(events) {
        let is_client = matches!(
            event,
            TraceEvent::RecordProcessed { .. }
                | TraceEvent::PartitionsAssigned { .. }
                | TraceEvent::PartitionsRevoked { .. }
        );
        let node = if is_client {
            NodeId::Client(ClientId(0))
        } else {
            NodeId::Broker(BrokerId(1))
        };
        let at = SimTime::from_millis(*millis);
        trace.push(TraceEntry {
            index,
            at,
            node,
            cause: None,
            event: event.clone(),
        });
    }
    trace
}

fn topic_id(name: &str) -> Option<TopicId> {
    (name == "foo").then_some(TopicId(0))
}

fn grader(lesson: &Lesson) -> Grader {
    let scenario: Scenario = lesson.scenario(None, &[]).expect("a scenario");
    Grader::new(lesson, None, &scenario)
}

/// The verdict on a whole run of ten seconds, asked once, and asked at every millisecond.
fn judge(holds: &str, events: &[(u64, TraceEvent)]) -> (Outcome, Option<u64>, Option<u64>) {
    let lesson = lesson(holds);
    let mut once = grader(&lesson);
    once.follow(&trace(events), SimTime::from_millis(10_000), topic_id);
    once.finish();
    let mut often = grader(&lesson);
    for millis in (0..=10_000).step_by(7).chain([10_000]) {
        let so_far: Vec<(u64, TraceEvent)> = events
            .iter()
            .filter(|(at, _)| *at <= millis)
            .cloned()
            .collect();
        often.follow(&trace(&so_far), SimTime::from_millis(millis), topic_id);
    }
    often.finish();
    let verdict = |grader: &Grader| grader.goal("goal").expect("the goal");
    let Verdict { outcome, at, .. } = verdict(&once);
    assert_eq!(
        verdict(&often).outcome,
        outcome,
        "{holds}: asking often changes nothing"
    );
    assert_eq!(
        verdict(&often).at,
        at,
        "{holds}: asking often changes nothing"
    );
    (outcome, at.map(SimTime::as_millis), verdict(&once).entry)
}

#[test]
fn each_operator_passes_and_fails_where_it_should() {
    let events = [
        (1_000, shrunk(2)),
        (2_000, expanded()),
        (3_000, shrunk(2)),
        (3_500, shrunk(1)),
        (6_000, expanded()),
    ];
    for (holds, outcome, at, entry) in CASES {
        let (found, found_at, found_entry) = judge(holds, &events);
        assert_eq!((found, found_at), (*outcome, Some(*at)), "{holds}");
        if let Some(entry) = entry {
            // A span that is over is noticed at the next entry, which then decides.
            assert_eq!(found_entry, Some(*entry), "{holds}: the deciding entry");
        }
    }
}

#[test]
fn stops_are_judged_when_they_grow_too_long() {
    let owned: Arc<[TopicPartition]> = Arc::from([FOO]);
    let assigned = TraceEvent::PartitionsAssigned {
        added: owned.clone(),
        owned: owned.clone(),
        generation_id: 1,
    };
    let revoked = TraceEvent::PartitionsRevoked {
        partitions: owned,
        generation_id: 1,
    };
    let events = [
        (1_000, assigned.clone()),
        (2_000, processed(0)),
        (3_000, revoked),
        (3_900, shrunk(2)),
        (4_200, shrunk(1)),
        (5_000, assigned),
    ];
    let stop = |ms: u32| {
        let holds =
            format!("{{ never = {{ measure = \"stop-ms\", group = \"g\", at-least = {ms} }} }}");
        judge(&holds, &events)
    };
    assert_eq!(
        stop(1_000),
        (Outcome::Fail, Some(4_200), Some(4)),
        "the first entry past 4 s"
    );
    assert_eq!(stop(2_001).0, Outcome::Pass, "it lasted two seconds");
    let total =
        "{ from = \"4s\", reach = { measure = \"stopped-partition-ms\", at-least = 1000 } }";
    assert_eq!(
        judge(total, &events),
        (Outcome::Pass, Some(5_000), Some(5)),
        "from 4 s on"
    );
}

#[test]
fn a_run_that_goes_back_or_elsewhere_is_followed_from_its_start() {
    let lesson = lesson("{ never = { event = \"isr-shrunk\", isr = 1 } }");
    let mut grader = grader(&lesson);
    let events = [(1_000, shrunk(2)), (3_500, shrunk(1)), (6_000, expanded())];
    let outcome = |grader: &Grader| grader.goal("goal").expect("the goal").outcome;
    grader.follow(&trace(&events), SimTime::from_millis(7_000), topic_id);
    assert_eq!(outcome(&grader), Outcome::Fail, "it happened");
    grader.follow(&trace(&events[..1]), SimTime::from_millis(2_000), topic_id);
    assert_eq!(outcome(&grader), Outcome::Open, "before it happened");
    grader.follow(&trace(&events), SimTime::from_millis(7_000), topic_id);
    assert_eq!(outcome(&grader), Outcome::Fail, "again");
    let other = [(1_000, shrunk(2)), (3_500, shrunk(2)), (6_500, expanded())];
    grader.follow(&trace(&other), SimTime::from_millis(8_000), topic_id);
    assert_eq!(outcome(&grader), Outcome::Open, "another future");
    grader.give_up();
    assert_eq!(outcome(&grader), Outcome::Unknown, "the budget is spent");
}

#[test]
fn steps_end_in_order_and_questions_lock() {
    let lesson = lesson("{ reach = { event = \"isr-shrunk\" } }");
    let mut grader = grader(&lesson);
    let events = [(1_000, expanded()), (4_500, shrunk(1)), (6_000, expanded())];
    let ends = |grader: &Grader| -> Vec<Option<u64>> {
        grader
            .steps()
            .map(|(_, at)| at.map(SimTime::as_millis))
            .collect()
    };
    grader.follow(&trace(&events[..1]), SimTime::from_millis(1_500), topic_id);
    assert_eq!(
        ends(&grader),
        [None, None, None],
        "the event before the first step's end is not it"
    );
    assert_eq!(
        grader.questions().next().expect("a question").locked_at,
        None,
        "not yet"
    );
    grader.follow(&trace(&events), SimTime::from_millis(10_000), topic_id);
    assert_eq!(
        ends(&grader),
        [Some(4_000), Some(6_000), Some(6_000)],
        "each in turn"
    );
    let question = grader.questions().next().expect("a question");
    assert_eq!(
        question.locked_at,
        Some(SimTime::from_millis(2_000)),
        "locked"
    );
    assert_eq!(
        question.revealed_at,
        Some(SimTime::from_millis(1_000)),
        "revealed"
    );
    grader.finish();
    assert_eq!(
        grader.right_options("q"),
        [Arc::from("yes")],
        "computed from the run"
    );
    let group = GroupId::new("g");
    assert_eq!(
        grader.measures().group_of(NodeId::Client(ClientId(0))),
        Some(&group),
        "clients have groups"
    );
}

/// Expression, outcome, when in milliseconds, and the deciding entry.
const CASES: &[(&str, Outcome, u64, Option<u64>)] = &[
    (
        "{ reach = { event = \"isr-shrunk\" } }",
        Outcome::Pass,
        1_000,
        Some(0),
    ),
    (
        "{ reach = { event = \"isr-shrunk\", isr = 1 } }",
        Outcome::Pass,
        3_500,
        Some(3),
    ),
    (
        "{ reach = { event = \"isr-shrunk\", partition = 1 } }",
        Outcome::Fail,
        10_000,
        None,
    ),
    (
        "{ from = \"1.5s\", reach = { event = \"isr-shrunk\" } }",
        Outcome::Pass,
        3_000,
        Some(2),
    ),
    (
        "{ to = \"2s\", reach = { event = \"isr-expanded\" } }",
        Outcome::Pass,
        2_000,
        Some(1),
    ),
    (
        "{ to = \"1.9s\", reach = { event = \"isr-expanded\" } }",
        Outcome::Fail,
        1_900,
        None,
    ),
    (
        "{ from = { event = \"isr-expanded\" }, reach = { event = \"isr-expanded\" } }",
        Outcome::Pass,
        6_000,
        Some(4),
    ),
    (
        "{ from = { event = \"isr-shrunk\", isr = 3 }, never = { event = \"log-line\" } }",
        Outcome::Fail,
        10_000,
        None,
    ),
    (
        "{ never = { event = \"isr-shrunk\", isr = 1 } }",
        Outcome::Fail,
        3_500,
        Some(3),
    ),
    (
        "{ to = { event = \"isr-shrunk\", isr = 1 }, never = { event = \"isr-shrunk\", isr = 1 } }",
        Outcome::Pass,
        3_500,
        Some(3),
    ),
    (
        "{ never = { event = \"truncated\" } }",
        Outcome::Pass,
        10_000,
        None,
    ),
    (
        "{ count = { event = \"isr-shrunk\" }, min = 3 }",
        Outcome::Pass,
        3_500,
        Some(3),
    ),
    (
        "{ count = { event = \"isr-shrunk\" }, max = 2 }",
        Outcome::Fail,
        3_500,
        Some(3),
    ),
    (
        "{ count = { event = \"isr-shrunk\" }, min = 3, max = 3 }",
        Outcome::Pass,
        10_000,
        None,
    ),
    (
        "{ from = \"3.2s\", count = { event = \"isr-shrunk\" }, min = 2 }",
        Outcome::Fail,
        10_000,
        None,
    ),
    (
        "{ before = [{ event = \"isr-shrunk\" }, { event = \"isr-expanded\" }] }",
        Outcome::Pass,
        1_000,
        Some(0),
    ),
    (
        "{ before = [{ event = \"isr-expanded\" }, { event = \"isr-shrunk\" }] }",
        Outcome::Fail,
        1_000,
        Some(0),
    ),
    (
        "{ before = [{ event = \"truncated\" }, { event = \"log-line\" }] }",
        Outcome::Fail,
        10_000,
        None,
    ),
    (
        "{ within = { event = \"isr-expanded\" }, after = { event = \"isr-shrunk\" }, span = \"3s\" }",
        Outcome::Pass,
        10_000,
        None,
    ),
    (
        "{ within = { event = \"isr-expanded\" }, after = { event = \"isr-shrunk\" }, span = \"2s\" }",
        Outcome::Fail,
        5_000,
        Some(2),
    ),
    (
        "{ within = { event = \"isr-expanded\" }, after = { event = \"truncated\" }, span = \"2s\" }",
        Outcome::Fail,
        10_000,
        None,
    ),
    (
        "{ hold = { measure = \"isr-shrinks\", at-most = 2 } }",
        Outcome::Fail,
        3_500,
        Some(3),
    ),
    (
        "{ from = \"2s\", hold = { measure = \"isr-shrinks\", at-most = 2 } }",
        Outcome::Pass,
        10_000,
        None,
    ),
    (
        "{ from = \"1s\", hold = { measure = \"isr-size\", equals = 3 }, for = \"1s\" }",
        Outcome::Pass,
        3_000,
        Some(2),
    ),
    (
        "{ from = \"1s\", hold = { measure = \"isr-size\", equals = 3 }, for = \"4s\" }",
        Outcome::Pass,
        10_000,
        None,
    ),
    (
        "{ from = \"1s\", hold = { measure = \"isr-size\", equals = 3 }, for = \"5s\" }",
        Outcome::Fail,
        10_000,
        None,
    ),
    (
        "{ reach = { measure = \"isr-shrinks\", topic = \"foo\", at-least = 2 } }",
        Outcome::Pass,
        3_000,
        Some(2),
    ),
    (
        "{ from = \"1s\", reach = { measure = \"isr-shrinks\", at-least = 3 } }",
        Outcome::Pass,
        3_500,
        Some(3),
    ),
    (
        "{ all = [{ reach = { event = \"isr-expanded\" } }, { never = { event = \"truncated\" } }] }",
        Outcome::Pass,
        10_000,
        None,
    ),
    (
        "{ all = [{ reach = { event = \"truncated\" } }, { never = { event = \"isr-shrunk\" } }] }",
        Outcome::Fail,
        1_000,
        Some(0),
    ),
    (
        "{ any = [{ reach = { event = \"truncated\" } }, { reach = { event = \"isr-expanded\" } }] }",
        Outcome::Pass,
        2_000,
        Some(1),
    ),
    (
        "{ any = [{ reach = { event = \"truncated\" } }, { never = { event = \"isr-shrunk\" } }] }",
        Outcome::Fail,
        10_000,
        None,
    ),
];
