use super::{OWN_SETTINGS, apply, covers, describe, parse_loss, validate, value};
use crate::kernel::rng::Ratio;
use crate::lesson::Lesson;
use crate::sim::scenario::Scenario;
#[cfg(target_arch = "wasm32")]
use wasm_bindgen_test::wasm_bindgen_test as test;

fn scenario() -> Scenario {
    let text = r#"
format = 1
id = "a"
kafka = "4.0"
until = "60s"
fidelity = ["x"]
cluster = { brokers = [{ id = 1 }, { id = 2 }] }
topic = [{ name = "a.b", partitions = 3 }, { name = "a" }]
producer = [{ name = "p1", topic = "a" }]
consumer = [{ name = "c1", topics = ["a"] }, { name = "c3", topics = ["a.b"] }]
"#;
    Lesson::parse("a.toml", text).expect("a lesson").base
}

#[test]
fn a_setting_that_is_set_reads_back() {
    let cases = [
        ("seed", "9"),
        ("until", "90s"),
        ("network.latency", "2ms"),
        ("network.jitter", "0s"),
        ("network.loss", "0.25%"),
        ("cluster.replica.lag.time.max.ms", "500"),
        ("topic.a.b.partitions", "4"),
        ("topic.a.b.min.insync.replicas", "2"),
        ("topic.*.replication-factor", "2"),
        ("producer.p1.every", "250ms"),
        ("producer.p1.start", "by-action"),
        ("producer.*.acks", "1"),
        ("consumer.c3.start", "12s"),
        ("consumer.c3.processing", "uniform 1ms 5ms"),
        ("consumer.c3.processing", "exponential 5ms"),
        ("consumer.*.max.poll.interval.ms", "8000"),
        ("consumer.c1.group.instance.id", "c1"),
    ];
    for (path, text) in cases {
        let mut changed = scenario();
        assert_ne!(
            value(&changed, path).as_deref(),
            Some(text),
            "{path} is another at first"
        );
        assert_eq!(apply(&mut changed, path, text), Ok(()), "{path}");
        assert_eq!(value(&changed, path).as_deref(), Some(text), "{path}");
        assert!(describe(path).is_some(), "{path} is described");
        assert_eq!(validate(&changed), Ok(()), "{path} = {text} can run");
    }
    let mut changed = scenario();
    apply(&mut changed, "topic.a.b.partitions", "9").expect("the longest name wins");
    assert_eq!(changed.topics[0].partitions, 9, "topic a.b");
    apply(&mut changed, "consumer.*.client.id", "x").expect("each");
    assert!(
        changed
            .consumers
            .iter()
            .all(|c| c.config.client_id.as_deref() == Some("x")),
        "each"
    );
    for own in OWN_SETTINGS {
        let path = own.path.replace("NAME", "*");
        assert!(value(&scenario(), &path).is_some(), "{path} has a value");
    }
}

#[test]
fn what_does_not_fit_changes_nothing() {
    let cases = [
        ("sed", "9", "unknown setting sed; did you mean seed?"),
        (
            "cluster.replica.lag.max.ms",
            "9",
            "unknown setting cluster.replica.lag.max.ms; did you mean replica.lag.time.max.ms?",
        ),
        (
            "consumer.c9.start",
            "9s",
            "consumer.c9.start: expected the name of a consumer: c1, c3, or * for each",
        ),
        (
            "consumer.c1.start",
            "9",
            "consumer.c1.start = 9: expected a time such as 12s, or by-action",
        ),
        (
            "consumer.*.max.poll.records",
            "0",
            "consumer.*.max.poll.records = 0: expected a number from 1 to 2147483647",
        ),
        (
            "producer.p1.every",
            "0s",
            "producer.p1.every = 0s: expected a time with its unit",
        ),
        (
            "network.loss",
            "100%",
            "network.loss = 100%: expected a share below 100%, such as 0.5%",
        ),
        (
            "topic.a.partitions",
            "-1",
            "topic.a.partitions = -1: expected a whole number",
        ),
        ("consumer", "1", "unknown setting consumer"),
    ];
    for (path, text, expected) in cases {
        let mut changed = scenario();
        let error = apply(&mut changed, path, text).expect_err(path).to_string();
        assert!(error.starts_with(expected), "{path}: {error}");
        assert_eq!(changed, scenario(), "nothing has changed");
    }
}

#[test]
fn limits_hold_after_settings() {
    let mut changed = scenario();
    apply(&mut changed, "topic.a.replication-factor", "3").expect("a number");
    let faults = validate(&changed).expect_err("there are two brokers");
    assert!(
        faults[0].contains("replication-factor 3 needs as many brokers"),
        "{faults:?}"
    );
    let mut changed = scenario();
    apply(&mut changed, "topic.a.partitions", "19990").expect("a number");
    let faults = validate(&changed).expect_err("with the internal ones it is too many");
    assert!(
        faults[0].contains("20043 partitions over all topics"),
        "{faults:?}"
    );
}

#[test]
fn a_star_covers_any_name_and_nothing_else() {
    assert!(covers("consumer.*.start", "consumer.c1.start"), "a name");
    assert!(
        covers("consumer.*.start", "consumer.*.start"),
        "the star itself"
    );
    assert!(
        covers("consumer.*.start", "consumer.a.b.start"),
        "a name with a dot"
    );
    assert!(covers("seed", "seed"), "without a star");
    for path in [
        "consumer.start",
        "consumer..start",
        "consumer.c1.restart",
        "producer.p1.start",
    ] {
        assert!(!covers("consumer.*.start", path), "{path}");
    }
    assert!(
        !covers("consumer.c1.start", "consumer.c2.start"),
        "another name"
    );
}

#[test]
fn losses_are_exact() {
    assert_eq!(
        parse_loss("0.0001%"),
        Some(Ratio::per_million(1)),
        "the smallest"
    );
    assert_eq!(
        parse_loss("12.5%"),
        Some(Ratio::per_million(125_000)),
        "an eighth"
    );
    for text in [
        "",
        "%",
        "5",
        "100%",
        "-1%",
        "1e1%",
        "0.00001%",
        "99999999999%",
    ] {
        assert_eq!(parse_loss(text), None, "{text}");
    }
}
