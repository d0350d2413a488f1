//! Storyboards: scripts with their transcripts, and the facts that they prove.

use super::bench::Bench;
#[cfg(target_arch = "wasm32")]
use wasm_bindgen_test::wasm_bindgen_test as test;

/// One file an area; see `bench` for the commands.
const SCRIPTS: &[(&str, &str)] = &[
    ("join", include_str!("scripts/join.txt")),
    ("sync", include_str!("scripts/sync.txt")),
    ("leave", include_str!("scripts/leave.txt")),
    ("static", include_str!("scripts/static.txt")),
    ("offsets", include_str!("scripts/offsets.txt")),
    ("failover", include_str!("scripts/failover.txt")),
    ("consumer", include_str!("scripts/consumer.txt")),
];

/// Cases stand between `====` lines: comments, a script, `----`, the transcript.
fn cases(text: &'static str) -> impl Iterator<Item = (&'static str, &'static str, &'static str)> {
    text.split("====\n")
        .map(str::trim_start)
        .filter(|case| !case.is_empty())
        .map(|case| {
            let (script, transcript) = case.split_once("----\n").expect("a transcript after ----");
            let title = script.lines().next().expect("a case has a title");
            (title, script, transcript)
        })
}

#[test]
fn every_storyboard_comes_out_as_written() {
    let mut failures = Vec::new();
    for (file, text) in SCRIPTS {
        for (title, script, expected) in cases(text) {
            let actual = Bench::run(script);
            if actual != expected {
                failures.push(format!("{file}: {title}\n{script}----\n{actual}====\n"));
            }
        }
    }
    assert!(
        failures.is_empty(),
        "storyboards that come out otherwise:
{}",
        failures.concat()
    );
}
