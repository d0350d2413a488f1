use super::{ACTIONS, parse, parse_timed, print, print_timed, verb};
use crate::base::ids::{BrokerId, ClientId, Offset};
use crate::kernel::rng::Stream;
use crate::kernel::time::{SimTime, Span};
use crate::lesson::Lesson;
use crate::sim::command::Command;
use crate::sim::scenario::Scenario;
use std::sync::Arc;
#[cfg(target_arch = "wasm32")]
use wasm_bindgen_test::wasm_bindgen_test as test;

fn scenario() -> Scenario {
    let text = r#"
format = 1
id = "a"
kafka = "4.0"
until = "60s"
fidelity = ["x"]
cluster = { brokers = [{ id = 1 }, { id = 2 }, { id = 3 }] }
topic = [{ name = "orders", partitions = 3 }]
producer = [{ name = "p1", topic = "orders" }]
consumer = [{ name = "c1", topics = ["orders"] }, { name = "c3", topics = ["orders"] }]
"#;
    Lesson::parse("a.toml", text).expect("a lesson").base
}

#[test]
fn the_actions_of_the_interface_read_and_print() {
    let scenario = scenario();
    let lines = [
        "8.5s kill-broker 2",
        "22s restart-broker 2",
        "30s pause-consumer c3 20s",
        "30s pause-broker 3 100ms",
        "31s send orders key=a value=wait",
        "1s stop-broker 1",
        "1s kill-controller 3000",
        "1s restart-controller 3000",
        "1s pause-controller 3000 5s",
        "1s stop-controller 3000",
        "1s create-topic clicks",
        "1s create-topic clicks partitions=3 replication-factor=2 min.insync.replicas=2",
        "1s delete-topic clicks",
        "1s add-partitions clicks 6",
        "1s set-topic-config clicks unclean.leader.election.enable=true",
        "1s elect-leaders preferred",
        "1s elect-leaders unclean orders",
        "1s elect-leaders preferred orders 2",
        "31.000001s send orders value=wait partition=0 count=5",
        "1ms start-consumer c3",
        "0s stop-consumer c3",
        "60s kill-consumer c3",
        "60s restart-consumer c3",
        "60s start-producer p1",
        "60s stop-producer p1",
        "60s kill-producer p1",
        "60s restart-producer p1",
        "60s pause-producer p1 1.5s",
        "60s cut-link 1 2",
        "60s heal-link controller c3",
        "60s drop-next 1 p1 Produce",
        "60s delete-records orders 0 5",
        "60s seek-consumer c3 orders 0 5",
        "60s seek-consumer c3 orders 0 beginning",
        "60s seek-consumer c3 orders 0 end",
        "60s seek-consumer c3 orders 0 committed",
        "60s pause-partition c3 orders 0",
        "60s resume-partition c3 orders 0",
        "60s subscribe-consumer c3 orders other",
        "60s subscribe-consumer c3",
        "60s rebalance-consumer c3",
        "60s delete-records orders 0 -1",
        "60s power-loss-broker 2",
        "60s power-loss-all",
        "60s send orders key=a tombstone",
        "60s delay-next 1 2 Fetch 5s",
        "60s delay-link 1 2 100ms",
        "60s delay-link controller 2 1.5s one-way",
        "60s lose-link 1 c3 20%",
        "60s lose-link 1 2 100% one-way",
        "60s cut-link 1 2 one-way",
        "60s slow-disk 2 20ms",
        "60s heal-disk 2",
        "60s slow-follower 3 50ms",
        "60s drop-message 4711",
        "60s delay-message 4711 5s",
        "60s expire-timer 1 isr-check",
        "60s expire-timer 1 replica-fetch:2",
        "60s send orders key=\"\" value=\"two words\"",
        "60s send orders value=\"a \\\"quoted\\\" \\\\ \\n line\"",
    ];
    for line in lines {
        let (at, command) = parse_timed(line, &scenario).unwrap_or_else(|error| panic!("{error}"));
        assert_eq!(
            print_timed(at, &command, &scenario),
            line,
            "it prints as it was read"
        );
    }
    let (at, command) = parse_timed("  8.5s   kill-broker  2 ", &scenario).expect("blanks");
    assert_eq!(at, SimTime::from_millis(8_500), "time");
    assert_eq!(command, Command::KillBroker(BrokerId(2)), "action");
    let used: Vec<&str> = lines
        .iter()
        .filter_map(|line| line.split(' ').nth(1))
        .collect();
    for action in ACTIONS {
        assert!(used.contains(&action.verb), "{} is tried", action.verb);
    }
}

#[test]
fn every_command_reads_back_as_itself() {
    let scenario = scenario();
    let mut stream = Stream::new(5, "commands");
    let letters: Vec<char> = "ab \"\\=\n\t'é中#,".chars().collect();
    let text = |stream: &mut Stream| -> Arc<str> {
        let count = stream.below(6);
        let letter = |_| letters[usize::try_from(stream.below(13)).unwrap_or(0) % letters.len()];
        (0..count).map(letter).collect::<String>().into()
    };
    for _ in 0..2_000 {
        let key = text(&mut stream);
        let command = match stream.below(8) {
            0 => Command::PauseClient(ClientId(1), Span(stream.below(9_000_000))),
            1 => Command::PauseBroker(BrokerId(3), Span(stream.below(9_000_000))),
            2 => Command::DeleteRecords {
                topic: Arc::from("orders"),
                partition: u32::try_from(stream.below(3)).unwrap_or(0),
                before: Offset(i64::try_from(stream.below(9)).unwrap_or(0) - 1),
            },
            3 => Command::PowerLossBroker(BrokerId(2)),
            _ => Command::Send {
                topic: Arc::from("orders"),
                key: (stream.below(2) == 0).then_some(key),
                value: (stream.below(4) != 0).then(|| text(&mut stream)),
                partition: (stream.below(2) == 0).then_some(2),
                count: u32::try_from(stream.between(1, 3)).unwrap_or(1),
            },
        };
        let printed = print(&command, &scenario);
        assert_eq!(
            parse(&printed, &scenario).as_ref(),
            Ok(&command),
            "{printed}"
        );
        assert!(
            printed.starts_with(verb(&command, &scenario)),
            "{printed} begins with its verb"
        );
    }
}

#[test]
#[expect(clippy::too_many_lines, reason = "one row a mistake")]
fn a_wrong_action_is_named_with_what_was_expected() {
    let scenario = scenario();
    let cases = [
        (
            "kill-broker 2",
            "expected a time such as 8.5s, found `kill-broker`",
        ),
        (
            "8.5 kill-broker 2",
            "expected a time such as 8.5s, found `8.5`",
        ),
        (
            "9999h kill-broker 2",
            "expected a time up to 2592000.000 s, found `35996400s`",
        ),
        (
            "1s kil-broker 2",
            "found `kil-broker`; did you mean kill-broker?",
        ),
        (
            "1s kill-broker 4",
            "expected a broker's id: 1, 2, 3, found `4`",
        ),
        ("1s kill-broker", "expected a broker's id at its end"),
        (
            "1s kill-broker 2 3",
            "expected the end of the action, found `3`",
        ),
        (
            "1s pause-consumer c4 1s",
            "expected a consumer's name, found `c4`; did you mean c1?",
        ),
        (
            "1s kill-controller 1",
            "expected a controller's id: 3000, found `1`",
        ),
        (
            "1s elect-leaders prefered",
            "expected preferred or unclean, found `prefered`; did you mean preferred?",
        ),
        (
            "1s set-topic-config orders min.insync.replica=2",
            "found `min.insync.replica`; did you mean min.insync.replicas?",
        ),
        (
            "1s create-topic x partitions=0",
            "expected a number from 1 to 20000, found `partitions=0`",
        ),
        (
            "1s pause-consumer p1 1s",
            "expected a consumer's name, found `p1`",
        ),
        (
            "1s pause-consumer c3",
            "expected a time such as 20s at its end",
        ),
        (
            "1s send or/der value=a",
            "expected a topic's name of ASCII letters, digits, '.', '_' and '-', found `or/der`",
        ),
        ("1s send orders key=a", "expected value=TEXT at its end"),
        (
            "1s send orders valve=a",
            "found `valve`; did you mean value?",
        ),
        (
            "1s send orders value=a count=0",
            "expected a number from 1 to 100000, found `count=0`",
        ),
        (
            "1s send orders value=a value=b",
            "expected only one value, found `value=b`",
        ),
        (
            "1s send orders value=\"a",
            "expected a closing quote at its end",
        ),
        (
            "1s cut-link 1 1",
            "expected another node at the other end of the link, found `1`",
        ),
        (
            "1s cut-link 1 contoller",
            "found `contoller`; did you mean controller?",
        ),
        (
            "1s slow-disk 2 soon",
            "expected a time such as 20ms, found `soon`",
        ),
        (
            "1s lose-link 1 2 120%",
            "expected a share from 0% to 100%, found `120%`",
        ),
        (
            "1s lose-link 1 2 20",
            "expected a share from 0% to 100%, found `20`",
        ),
        (
            "1s cut-link 1 2 oneway",
            "found `oneway`; did you mean one-way?",
        ),
        (
            "1s delay-message eleven 5s",
            "expected the number of a message, found `eleven`",
        ),
        (
            "1s drop-message",
            "expected the number of a message at its end",
        ),
        (
            "1s expire-timer 1",
            "expected a timer such as isr-check at its end",
        ),
        (
            "1s delay-next 1 2 Fetch",
            "expected a time such as 20ms at its end",
        ),
        ("", "expected a time such as 8.5s at its end"),
    ];
    for (text, expected) in cases {
        let error = parse_timed(text, &scenario).expect_err(text).to_string();
        assert!(error.starts_with("action `"), "{error}");
        assert!(
            error.contains(expected),
            "{text}: expected `{expected}`, got `{error}`"
        );
    }
}

#[test]
fn no_text_brings_the_parser_down() {
    let scenario = scenario();
    let mut stream = Stream::new(6, "texts");
    let pieces = [
        "1s",
        " ",
        "send",
        "orders",
        "value=",
        "\"",
        "\\",
        "é",
        "key=a",
        "99999999999s",
        "cut-link",
        "controller",
        "1",
        "count=",
        "-1",
        "\u{0}",
        "kill-broker",
        "pause-broker",
    ];
    for _ in 0..20_000 {
        let count = stream.below(8);
        let piece = |_| pieces[usize::try_from(stream.below(18)).unwrap_or(0)];
        let text: String = (0..count).map(piece).collect();
        if let Ok((at, command)) = parse_timed(&text, &scenario) {
            let printed = print_timed(at, &command, &scenario);
            assert_eq!(
                parse_timed(&printed, &scenario),
                Ok((at, command)),
                "{printed}"
            );
        }
    }
    let long = "x".repeat(1 << 20);
    let error = parse_timed(&format!("1s {long}"), &scenario).expect_err("nonsense");
    assert!(
        error.to_string().len() < 1_000,
        "a message repeats only the beginning"
    );
}
