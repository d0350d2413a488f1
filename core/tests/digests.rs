//! The same lesson and seed give the same hash natively, in Node.js and in the browser.
//!
//! The expected hashes stand in `digests.txt`, made natively with `UPDATE_EXPECT=1`; every platform
//! compares itself with them. The browser includes this file from the page's crate.

use std::fmt::Write as _;
use std::sync::Arc;
use terrarium_core::kernel::time::SimTime;
use terrarium_core::lesson::Lesson;
use terrarium_core::sim::Sim;

const LESSONS: [(&str, &str); 3] = [
    (
        "the-barrier",
        include_str!("../../static/lessons/the-barrier.toml"),
    ),
    (
        "wait-and-crash",
        include_str!("../../static/lessons/wait-and-crash.toml"),
    ),
    (
        "short-pause-long-pause",
        include_str!("../../static/lessons/short-pause-long-pause.toml"),
    ),
];
const SEEDS: u64 = 50;
const UNTIL: SimTime = SimTime::from_millis(40_000);

/// One line for each lesson and seed.
fn digests() -> String {
    let mut lines = String::new();
    for (name, text) in LESSONS {
        let lesson = Lesson::parse(name, text).expect("the lesson is sound");
        for seed in 1..=SEEDS {
            let mut scenario = lesson
                .scenario(None, &[])
                .expect("the lesson's own settings");
            scenario.seed = seed;
            let mut sim = Sim::new(Arc::new(scenario)).expect("the scenario is sound");
            sim.run_until(UNTIL.min(sim.scenario().until));
            let (digest, trace) = (sim.digest(), sim.trace().digest());
            let _ = writeln!(lines, "{name} {seed} {trace:016x} {digest:016x}");
        }
    }
    lines
}

#[cfg_attr(not(target_arch = "wasm32"), test)]
#[cfg_attr(target_arch = "wasm32", wasm_bindgen_test::wasm_bindgen_test)]
fn fifty_seeds_of_each_lesson_have_their_hashes() {
    let digests = digests();
    #[cfg(not(target_arch = "wasm32"))]
    if std::env::var_os("UPDATE_EXPECT").is_some() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/digests.txt");
        std::fs::write(path, &digests).expect("the file can be written");
        return;
    }
    let expected = include_str!("digests.txt");
    assert_eq!(
        digests.lines().count(),
        expected.lines().count(),
        "as many runs as expected"
    );
    for (found, expected) in digests.lines().zip(expected.lines()) {
        assert_eq!(
            found, expected,
            "lesson, seed, hash of the trace, hash of trace and state"
        );
    }
}
