//! `terrarium assign` against recorded answers of Kafka's own assignors (4.0.0-SNAPSHOT, 1eb7644).
//!
//! Each record is one case with the answer beside it. Where Kafka's answer follows the order of a
//! Java hash map, that order is computed; the orders that were recorded are not looked at.

use flate2::read::GzDecoder;
use serde_json::Value;
use std::io::Read as _;
use std::path::Path;
use terrarium_cli::assign::{self, Options};

/// Files, how many records each has, and how many of these depend on the order of a hash map.
const FILES: [(&str, usize, usize); 6] = [
    ("range", 274, 0),
    ("roundrobin", 232, 0),
    ("sticky", 490, 40),
    ("cooperative-sticky", 553, 31),
    ("server-range", 176, 0),
    ("server-uniform", 233, 177),
];

fn records(name: &str) -> Vec<Value> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/vectors");
    let file = std::fs::File::open(folder.join(format!("{name}.jsonl.gz")));
    let mut text = String::new();
    GzDecoder::new(file.expect("the file is there"))
        .read_to_string(&mut text)
        .expect("compressed text");
    text.lines()
        .map(|line| serde_json::from_str(line).expect("a record"))
        .collect()
}

/// What the command prints for these cases.
fn answers(cases: &[Value]) -> Vec<Value> {
    let lines: Vec<String> = cases.iter().map(Value::to_string).collect();
    let mut printed = Vec::new();
    assign::run(Options {}, &mut lines.join("\n").as_bytes(), &mut printed)
        .expect("every record is a case");
    let printed = String::from_utf8(printed).expect("UTF-8");
    printed
        .lines()
        .map(|line| serde_json::from_str(line).expect("an answer"))
        .collect()
}

/// The line that Kafka's answer would be.
fn expected(record: &Value) -> Value {
    let mut line = serde_json::Map::new();
    line.insert("id".to_owned(), record["id"].clone());
    for (field, name) in [
        ("expected", "assignment"),
        ("target", "target"),
        ("error", "error"),
    ] {
        if let Some(value) = record.get(field) {
            line.insert(name.to_owned(), value.clone());
        }
    }
    Value::Object(line)
}

fn compare(name: &str, cases: &[Value], what: &str) -> (usize, usize) {
    let answers = answers(cases);
    assert_eq!(answers.len(), cases.len(), "{name}: one answer a record");
    let mut differing = Vec::new();
    let mut by_hash_order = 0;
    for (record, answer) in cases.iter().zip(&answers) {
        if *answer == expected(record) {
            by_hash_order += usize::from(record.get("orderSensitive").is_some());
        } else {
            differing.push(format!(
                "{}\n  {answer}\n  {}",
                record["id"],
                expected(record)
            ));
        }
    }
    let first: Vec<&str> = differing.iter().take(3).map(String::as_str).collect();
    assert!(
        differing.is_empty(),
        "{name}, {what}: {} of {} records differ; the first of them, with ours and Kafka's \
         answer:\n{}",
        differing.len(),
        cases.len(),
        first.join("\n")
    );
    (answers.len(), by_hash_order)
}

#[test]
fn every_recorded_answer_of_kafka_is_ours() {
    for (name, count, sensitive) in FILES {
        let mut cases = records(name);
        let (compared, by_hash_order) = compare(name, &cases, "as the Java client wrote them");
        // Once more from the fields, without the client's bytes.
        for member in cases.iter_mut().flat_map(members) {
            member.as_object_mut().expect("a member").remove("wire");
        }
        compare(name, &cases, "by their fields");
        assert_eq!(
            (compared, by_hash_order),
            (count, sensitive),
            "{name}: records"
        );
        eprintln!(
            "{name}: {compared} records, {by_hash_order} of them by the order of a hash map, all \
             without recorded orders"
        );
    }
}

fn members(case: &mut Value) -> impl Iterator<Item = &mut Value> {
    case["members"].as_array_mut().into_iter().flatten()
}

/// Runs lines that are no cases: what is printed, and the faults.
fn refused(lines: &str) -> (String, String) {
    let mut printed = Vec::new();
    let failure = assign::run(Options {}, &mut lines.as_bytes(), &mut printed)
        .expect_err("something is wrong");
    let printed = String::from_utf8(printed).expect("UTF-8");
    (printed, failure.to_string())
}

#[test]
fn what_is_no_case_gets_an_error_line_and_the_others_an_answer() {
    let good = r#"{"id":"a","assignor":"range","topics":{"t":2},"members":[{"memberId":"m","topics":["t"]}]}"#;
    let unknown = good.replace("range", "fair").replace("\"a\"", "\"b\"");
    let twice = good
        .replace("[\"t\"]", "[\"t\",\"t\"]")
        .replace("\"a\"", "\"c\"");
    let (printed, faults) = refused(&format!(
        "{unknown}\n\nnonsense\n{{\"id\":\"d\"}}\n{twice}\n{good}\n"
    ));
    let expected = [
        r#"{"id":"b","error":"unknown assignor \"fair\"; expected one of range, roundrobin, sticky, cooperative-sticky, lag-aware, server-uniform, server-range"}"#,
        r#"{"line":3,"error":"no case: expected ident, at column 2"}"#,
        r#"{"id":"d","line":4,"error":"no case: missing field `assignor`, at column 10"}"#,
        r#"{"id":"c","error":"\"m\" subscribes to \"t\" twice"}"#,
        r#"{"id":"a","assignment":{"m":[["t",0],["t",1]]}}"#,
    ];
    assert_eq!(
        printed.lines().collect::<Vec<_>>(),
        expected,
        "one line a case"
    );
    let places: Vec<&str> = faults
        .lines()
        .filter_map(|line| line.split(':').next())
        .collect();
    assert_eq!(
        places,
        ["line 1 (b)", "line 3", "line 4", "line 5 (c)"],
        "{faults}"
    );
}

#[test]
fn a_subscription_that_is_cut_short_is_refused() {
    let case = |wire: &str| {
        format!(
            r#"{{"id":"w","assignor":"sticky","topics":{{"t":1}},"members":[{{"memberId":"m","topics":["t"],"wire":"{wire}"}}]}}"#
        )
    };
    for (wire, what) in [
        ("0003000000010001", "wire of \"m\": expected a subscription"),
        ("zz", "wire of \"m\": expected pairs of hex digits"),
    ] {
        let (_, faults) = refused(&case(wire));
        assert_eq!(faults, format!("line 1 (w): {what}"), "{wire}");
    }
}
