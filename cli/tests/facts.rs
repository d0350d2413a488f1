//! What users asked to see, with its numbers, run by the engine in the lessons' own clusters.

use std::path::Path;
use std::sync::Arc;
use terrarium_core::kernel::time::SimTime;
use terrarium_core::lesson::Lesson;
use terrarium_core::lesson::format::Attempt;
use terrarium_core::lesson::predict::Forecast;
use terrarium_core::sim::measure::{MeasureKind, Query};
use terrarium_core::trace::event::{TraceEntry, TraceEvent};

fn lesson(id: &str) -> Lesson {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("../static/lessons/{id}.toml"));
    let text = std::fs::read_to_string(&path).expect("the lesson's file");
    Lesson::parse(id, &text).unwrap_or_else(|errors| panic!("{errors:?}"))
}

/// The run of a lesson in a variant with settings, to its end.
fn run(lesson: &Lesson, variant: Option<&str>, set: &[(&str, &str)]) -> Forecast {
    let set = set
        .iter()
        .map(|(path, value)| (Arc::from(*path), Arc::from(*value)));
    let variant = variant.map(Arc::from);
    let attempt = Attempt {
        variant,
        set: set.collect(),
        actions: Vec::new(),
    };
    let mut forecast = Forecast::of_attempt(lesson, &attempt).expect("it runs");
    forecast.finish();
    assert!(forecast.is_over(), "it has ended");
    forecast
}

fn measure(forecast: &Forecast, kind: MeasureKind) -> i64 {
    forecast
        .grader()
        .measures()
        .value_at(&Query::all(kind), forecast.sim().now())
}

/// When such entries happened, in milliseconds.
fn times(forecast: &Forecast, wanted: impl Fn(&TraceEntry) -> bool) -> Vec<u64> {
    let trace = forecast.sim().trace();
    assert_eq!(trace.first_index(), 0, "no entry was dropped");
    trace
        .since(0)
        .filter(|entry| wanted(entry))
        .map(|entry| entry.at.as_millis())
        .collect()
}

/// How many records the output's leader wrote between two instants, in milliseconds.
fn output_between(forecast: &Forecast, from: u64, to: u64) -> i64 {
    let output = forecast.sim().topic_id("output").expect("the topic");
    let window = SimTime::from_millis(from)..=SimTime::from_millis(to);
    let entries = forecast
        .sim()
        .trace()
        .since(0)
        .filter(|entry| window.contains(&entry.at));
    entries
        .map(|entry| match &entry.event {
            TraceEvent::Appended {
                topic_partition,
                base_offset,
                log_end_offset,
                as_leader: true,
            } if topic_partition.topic == output => *log_end_offset - *base_offset,
            _ => 0,
        })
        .sum()
}

/// RB9, experiment 1: once the restarted pod has joined and c3's next heartbeat has told it, nothing
/// reaches the output until `wait` ends.
#[test]
fn rb9_dynamic_members_let_nothing_through() {
    let lesson = lesson("wait-and-crash");
    for seed in ["3", "4"] {
        let forecast = run(&lesson, Some("dynamic"), &[("seed", seed)]);
        let client = |name: &str| lesson.base.client_by_name(name);
        let crash = times(&forecast, |entry| {
            entry.node.client() == client("c2")
                && matches!(entry.event, TraceEvent::ProcessKilled { .. })
        })[0];
        let stopped = times(&forecast, |entry| {
            entry.node.client() == client("c3")
                && matches!(entry.event, TraceEvent::PartitionsRevoked { .. })
        });
        let told = *stopped
            .iter()
            .find(|at| crash < **at)
            .expect("c3 hears of the rebalance");
        assert!(
            (crash..crash + 10_000).contains(&told),
            "within seconds: {crash} to {told} ms"
        );
        let wait_ends = 20_000 + 15 * 60_000;
        // What c3 had processed just before is still on its way for a moment.
        assert_eq!(
            output_between(&forecast, told + 100, wait_ends),
            0,
            "seed {seed}: silence"
        );
        assert!(
            0 < output_between(&forecast, 10_000, crash),
            "seed {seed}: it flowed before"
        );
        assert!(
            0 < output_between(&forecast, wait_ends, u64::MAX / 1_000),
            "and flows after"
        );
    }
}

/// RB9, experiment 2: no rebalance; one third of the records goes on, one third waits behind `wait`,
/// one third behind the crash loop, which reads `crash` again at each restart.
#[test]
fn rb9_static_members_keep_a_third_flowing() {
    let lesson = lesson("wait-and-crash");
    for seed in ["3", "4"] {
        let forecast = run(&lesson, Some("static"), &[("seed", seed)]);
        assert_eq!(
            measure(&forecast, MeasureKind::Rebalances),
            0,
            "seed {seed}: no rebalance"
        );
        // From 40 s to 15 minutes the producer sends 2.5 records a second.
        let sent = (900 - 40) * 5 / 2;
        let arrived = output_between(&forecast, 40_000, 900_000);
        assert!(
            (arrived * 3 - sent).abs() <= 6,
            "seed {seed}: a third of {sent}, got {arrived}"
        );
        let deaths = times(&forecast, |entry| {
            matches!(entry.event, TraceEvent::ProcessKilled { .. })
        });
        let read = times(
            &forecast,
            |entry| matches!(&entry.event, TraceEvent::ProcessingStarted { value, .. } if &**value == "crash"),
        );
        assert!(20 < deaths.len(), "seed {seed}: {} deaths", deaths.len());
        assert_eq!(
            read, deaths,
            "seed {seed}: each start reads `crash` again and dies of it"
        );
    }
}

/// QA3: at 100 ms no ISR change and the commit is late; past the limit the ISR shrinks within 1.0 to
/// 1.5 times 500 ms after the last catch-up, then comes back.
#[test]
fn qa3_a_pause_is_judged_by_time() {
    let lesson = lesson("short-pause-long-pause");
    for seed in ["1", "2", "3", "4", "5", "6", "7", "8"] {
        let short = run(&lesson, Some("short"), &[("seed", seed)]);
        // While brokers start, one may be a second behind; that is not what the pause does.
        let is_shrink = |entry: &TraceEntry| {
            SimTime::from_millis(5_000) <= entry.at
                && matches!(entry.event, TraceEvent::IsrShrunk { .. })
        };
        assert!(
            times(&short, is_shrink).is_empty(),
            "seed {seed}: the ISR stays"
        );
        let late = measure(&short, MeasureKind::LongestAckMs);
        assert!((80..=130).contains(&late), "seed {seed}: {late} ms late");
        let long = run(&lesson, Some("long"), &[("seed", seed)]);
        let foo = long.sim().topic_id("foo").expect("the topic");
        let shrunk = times(&long, |entry| {
            is_shrink(entry)
                && matches!(&entry.event, TraceEvent::IsrShrunk { topic_partition, .. }
                    if topic_partition.topic == foo)
        });
        // Broker 3 was caught up when it stopped fetching, at 10 s or up to 20 ms earlier.
        let [at] = shrunk.as_slice() else {
            panic!("seed {seed}: {shrunk:?}")
        };
        assert!(
            (10_480..=10_750).contains(at),
            "seed {seed}: shrunk at {at} ms"
        );
        let expanded = times(&long, |entry| {
            matches!(entry.event, TraceEvent::IsrExpanded { .. })
        });
        assert!(
            expanded.iter().any(|at| (12_000..12_500).contains(at)),
            "seed {seed}: back at {expanded:?}"
        );
    }
}

/// RB5: one slow record makes the whole group wait, up to `max.poll.interval.ms`; raising the interval
/// moves the pain.
#[test]
fn rb5_the_stall_grows_with_the_poll_interval() {
    let lesson = lesson("the-barrier");
    let stall = |interval: &str| {
        let forecast = run(
            &lesson,
            None,
            &[("consumer.c3.max.poll.interval.ms", interval)],
        );
        let group_wide = Query {
            topic: Some(Arc::from("orders")),
            partition: Some(0),
            ..Query::all(MeasureKind::LongestStopMs)
        };
        forecast
            .grader()
            .measures()
            .value_at(&group_wide, forecast.sim().now())
    };
    let [short, middle, long] = ["15000", "25000", "300000"].map(stall);
    assert!(
        (9_000..=12_500).contains(&(middle - short)),
        "10 s more: {short} to {middle} ms"
    );
    // Beyond the length of the record the interval no longer matters: the record ends first.
    assert!(
        (44_000..=48_000).contains(&long),
        "the rest of the record: {long} ms"
    );
}
