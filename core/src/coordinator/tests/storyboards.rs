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

/// Facts of the classic coordinator: T1 to T87 but for the Scala coordinator's answers while it
/// loads (T64) and transactional commits (T82). The rest stand in tables.
#[test]
fn every_fact_of_the_classic_coordinator_has_a_storyboard_or_a_table() {
    let titles: Vec<&str> = SCRIPTS
        .iter()
        .flat_map(|(_, text)| cases(text))
        .flat_map(|(_, script, _)| script.lines().filter(|line| line.starts_with('#')))
        .collect();
    let is_told = |fact: &str| {
        let mut words = titles
            .iter()
            .flat_map(|line| line.split(|it: char| !it.is_alphanumeric()));
        words.any(|word| word == fact) || super::tables::FACTS.contains(&fact)
    };
    let untold: Vec<String> = (1..=87)
        .map(|number| format!("T{number}"))
        .filter(|fact| fact != "T64" && fact != "T82" && !is_told(fact))
        .collect();
    assert_eq!(
        untold,
        Vec::<String>::new(),
        "facts without a storyboard or a table"
    );
}
