//! Clusters at random, with faults at random: see `terrarium_tests::fuzz`.
//!
//! `terrarium fuzz --runs 2000` runs more of them.

use std::collections::BTreeMap;
use terrarium_core::kernel::time::SimTime;
use terrarium_core::sim::simulation::Sim;
use terrarium_core::trace::event::TraceEvent;
use terrarium_tests::fuzz::{FAULTS_END_MS, draw, run, shorten};
use terrarium_tests::storyboard::Storyboard;

/// How many seeds a test run takes.
const SEEDS: u64 = 200;

#[test]
fn random_clusters_keep_the_invariants_and_come_to_rest() {
    let mut counts: BTreeMap<&str, u64> = BTreeMap::new();
    let mut failures = Vec::new();
    for seed in 0..SEEDS {
        let text = draw(seed, FAULTS_END_MS);
        let board = Storyboard::parse(&text).expect("what is drawn can be read");
        match run(&board, FAULTS_END_MS) {
            Ok((watch, _)) => {
                for (name, count) in watch.counts {
                    *counts.entry(name).or_default() += count;
                }
            }
            Err(what) => failures.push((seed, what, text)),
        }
        if 5 <= failures.len() {
            break;
        }
    }
    let told = failures
        .iter()
        .map(|(seed, what, _)| format!("seed {seed}: {what}"));
    let told: Vec<String> = told.collect();
    let first = failures
        .first()
        .and_then(|(_, _, text)| shorten(text, FAULTS_END_MS, 60));
    assert!(
        failures.is_empty(),
        "{}\nthe first, shortened: {first:#?}",
        told.join("\n")
    );
    // Sometimes: what the seeds exist to meet does happen.
    for name in [
        "leader-elected",
        "isr-shrunk",
        "isr-expanded",
        "truncated",
        "broker-fenced",
        "batch-retried",
        "batch-failed",
        "static-member-replaced",
        "member-removed",
        "partitions-lost",
        "commit-failed",
        "poll-timeout-expired",
        "coordinator-loaded",
        "disconnected",
        "controller-activated",
        "quorum-state-changed",
        "controlled-shutdown-started",
        "topic-deleted",
        "admin-answered",
    ] {
        assert!(
            counts.contains_key(name),
            "{name} happens in none of {SEEDS} seeds"
        );
    }
}

/// A follower of `foo` stands still from `at_ms` on; when the leader's ISR shrank, and when the
/// follower had last caught up by the leader's log line, in milliseconds.
fn shrink_after_pause(seed: u64, at_ms: u64, pause_ms: u64) -> Option<(u64, u64)> {
    let text = format!(
        "cluster brokers=3 seed={seed} replica.lag.time.max.ms=500\n\
         topic foo assign=1,2,3\n\
         producer p1 topic=foo every=20ms start=3s linger.ms=0\n\
         {at_ms}ms pause-broker 3 {pause_ms}ms\n"
    );
    let board = Storyboard::parse(&text).expect("a storyboard");
    let mut sim = Sim::new(board.scenario.clone()).expect("a scenario that can be run");
    for (at, command) in board.actions() {
        sim.run_until(at);
        sim.apply(command).expect("the broker runs");
    }
    sim.run_until(SimTime::from_millis(at_ms + pause_ms + 2_000));
    // Before that a follower that was told of the topic first may have backed off from its leader
    // for replica.fetch.backoff.ms, longer than the limit.
    let begin = SimTime::from_millis(at_ms);
    let entries = || {
        let trace = sim.trace().since(0);
        trace.filter(|entry| begin <= entry.at)
    };
    let is_back = entries().any(|entry| entry.event.name() == "isr-expanded");
    let shrunk_at = entries()
        .find(|entry| entry.event.name() == "isr-shrunk")
        .map(|entry| entry.at.as_millis())?;
    assert!(is_back, "seed {seed}: the follower comes back");
    let caught_up_at = entries().find_map(|entry| match &entry.event {
        TraceEvent::LogLine { text } => {
            let (_, rest) = text.split_once("lastCaughtUpTimeMs: ")?;
            rest.split(')').next()?.parse().ok()
        }
        _ => None,
    });
    Some((shrunk_at, caught_up_at.expect("the leader says so")))
}

#[test]
fn a_short_pause_keeps_the_isr_and_a_long_one_shrinks_it_in_time_qa3() {
    let mut delays = Vec::new();
    for seed in 0..30 {
        let at_ms = 4_000 + seed * 17;
        assert_eq!(
            shrink_after_pause(seed, at_ms, 100),
            None,
            "QA3: 100 ms, seed {seed}"
        );
        let (shrunk_at, caught_up_at) =
            shrink_after_pause(seed, at_ms, 1_500).expect("QA3: the ISR shrinks");
        delays.push(shrunk_at - caught_up_at);
    }
    // A check every 250 ms, and a message to the controller.
    let (shortest, longest) = (delays.iter().min(), delays.iter().max());
    assert!(
        shortest.is_some_and(|delay| 500 <= *delay),
        "QA3: {delays:?}"
    );
    assert!(
        longest.is_some_and(|delay| *delay <= 752),
        "QA3: {delays:?}"
    );
    assert!(
        longest
            .zip(shortest)
            .is_some_and(|(long, short)| 150 < long - short),
        "QA3: the phase matters: {delays:?}"
    );
}
