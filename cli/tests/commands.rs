//! The commands as a shell sees them: outputs, errors and exit codes.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

fn terrarium(arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_terrarium"));
    command.current_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join(".."));
    command
        .args(arguments)
        .output()
        .expect("the command starts")
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// Runs a command that must end with this code, and gives what it printed: output and errors.
fn expect(code: i32, arguments: &[&str]) -> (String, String) {
    let output = terrarium(arguments);
    let (printed, errors) = (text(&output.stdout), text(&output.stderr));
    assert_eq!(
        output.status.code(),
        Some(code),
        "{arguments:?}\n{printed}\n{errors}"
    );
    (printed, errors)
}

fn scratch(name: &str, content: &str) -> PathBuf {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    std::fs::write(&path, content).expect("the scratch folder can be written");
    path
}

const PAUSE: &str = "static/lessons/short-pause-long-pause.toml";

#[test]
fn a_run_exits_by_its_goals() {
    let (printed, _) = expect(0, &["run", PAUSE, "--solution", "look-long"]);
    assert!(
        printed.contains("goal     leaves                   pass at 12."),
        "{printed}"
    );
    assert!(
        printed.contains("question isr                      right: shrinks"),
        "{printed}"
    );
    let (printed, _) = expect(1, &["run", PAUSE, "--solution", "one-second"]);
    assert!(
        printed.contains("isr-shrunk at controller"),
        "the violating entry: {printed}"
    );
    expect(0, &["run", PAUSE, "--variant", "long"]);
    expect(1, &["run", PAUSE, "--variant", "long", "--goal", "patient"]);
}

#[test]
fn a_run_prints_json_and_writes_its_trace() {
    let path = scratch("trace.jsonl", "");
    let trace = path.display().to_string();
    let (printed, _) = expect(
        0,
        &[
            "run", PAUSE, "--until", "12s", "--seed", "9", "--json", "--trace", &trace,
        ],
    );
    let report: serde_json::Value = serde_json::from_str(&printed).expect("JSON");
    assert_eq!(report["seed"], 9, "the seed that was asked for");
    assert_eq!(
        report["ended_at_us"], 12_000_000,
        "the end that was asked for"
    );
    assert_eq!(report["variant"], "short", "the first variant");
    let lines = std::fs::read_to_string(&path).expect("the trace");
    assert_eq!(
        report["trace_entries"],
        lines.lines().count(),
        "an entry a line"
    );
    let last = lines.lines().last().unwrap_or_default();
    let entry: serde_json::Value = serde_json::from_str(last).expect("an entry is JSON");
    assert_eq!(entry["index"], lines.lines().count() - 1, "numbered from 0");
}

#[test]
fn the_hash_depends_on_seed_and_variant_alone() {
    let hash = |more: &[&str]| expect(0, &[&["hash", PAUSE], more].concat()).0;
    let first = hash(&[]);
    assert_eq!(first.trim().len(), 16, "16 digits: {first}");
    assert_eq!(
        hash(&["--variant", "short"]),
        first,
        "the first variant is chosen by itself"
    );
    assert_ne!(hash(&["--seed", "6"]), first, "another seed");
    assert_ne!(hash(&["--variant", "long"]), first, "another variant");
    let report = expect(0, &["run", PAUSE, "--json"]).0;
    let report: serde_json::Value = serde_json::from_str(&report).expect("JSON");
    assert_eq!(report["hash"], first.trim(), "run prints the same");
}

#[test]
fn actions_come_from_a_file_or_a_link() {
    let lines = scratch(
        "actions.txt",
        "variant short\n# late\n12s pause-broker 3 400ms\n",
    );
    let link = scratch(
        "link.txt",
        "https://example.org/#/lesson/short-pause-long-pause?rev=1&variant=short&log=12s+pause-broker+3+400ms\n",
    );
    for file in [lines, link] {
        let file = file.display().to_string();
        let (printed, _) = expect(0, &["run", PAUSE, "--actions", &file]);
        assert!(
            printed.contains("goal     edge                     pass"),
            "{printed}"
        );
    }
}

#[test]
fn bad_input_exits_2_and_names_place_and_remedy() {
    let broken = scratch(
        "broken.toml",
        "format = 1\nid = \"a\"\nkafka = \"4.0\"\nuntill = \"9s\"\n",
    );
    let broken = broken.display().to_string();
    let catalog = "[[concept]]\nid = \"a\"\nlessons = [\"the-barier\"]\n";
    let catalog = scratch("index.toml", catalog).display().to_string();
    let wrong = scratch("wrong.txt", "12s pause-broker 9 1s\n")
        .display()
        .to_string();
    let dead = scratch("dead.txt", "12s kill-broker 2\n13s kill-broker 2\n")
        .display()
        .to_string();
    let cases: &[(&[&str], &str)] = &[
        (
            &["run", &broken],
            "broken.toml:4:1: untill: unknown field untill; did you mean until?",
        ),
        (
            &["check", &broken],
            "until is missing; expected where the run ends",
        ),
        (
            &["check", &catalog],
            "there is no lesson the-barier beside it",
        ),
        (&["run", "no-such-file.toml"], "no-such-file.toml: "),
        (
            &["run", PAUSE, "--variant", "shrt"],
            "unknown variant shrt; expected short, long",
        ),
        (
            &["run", PAUSE, "--solution", "x"],
            "unknown solution x; expected one of look-short",
        ),
        (
            &["run", PAUSE, "--set", "cluster.replica.lag.max.ms=9"],
            "did you mean replica.lag.time.max.ms?",
        ),
        (
            &["run", PAUSE, "--goal", "x"],
            "unknown goal x; expected stays, leaves",
        ),
        (&["run", PAUSE, "--set", "x"], "expected NAME=VALUE"),
        (&["run", PAUSE, "--until", "9"], "a time with its unit"),
        (&["run", PAUSE, "--seed", "x"], "invalid digit"),
        (
            &["run", PAUSE, "--actions", &wrong],
            "entry 1: action `12s pause-broker 9 1s`: expected a broker's id: 1, 2, 3",
        ),
        (
            &["run", PAUSE, "--actions", &dead],
            "action 2 at 13.000 s is impossible: broker 2 is down already; the run went on without it",
        ),
        (
            &["partition", "--partitions", "0", "a"],
            "0 is not in 1..=20000",
        ),
        (&["hash"], "FILE"),
        (&["chekc"], "check"),
    ];
    for (arguments, expected) in cases {
        let (_, errors) = expect(2, arguments);
        assert!(
            errors.contains(expected),
            "{arguments:?}: expected `{expected}`, got `{errors}`"
        );
    }
}

#[test]
fn partitions_are_those_of_a_java_producer() {
    let (printed, _) = expect(0, &["partition", "--partitions", "100", "foobar", "21"]);
    assert_eq!(
        printed, "66\tfoobar\n40\t21\n",
        "murmur2, positive, modulo 100"
    );
}
