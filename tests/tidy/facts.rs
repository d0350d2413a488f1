//! Counts the facts of the behaviour specifications: each stands in a test, by its id, or in a
//! table of docs/FIDELITY.md that says why it is no test. None is in both.

use super::{files, root};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::fs;

/// A specification whose facts are counted.
struct Specification {
    /// What it is about.
    name: &'static str,
    /// The list of its facts.
    list: &'static str,
    /// The section of docs/FIDELITY.md with those that are no tests.
    heading: &'static str,
    /// Where a section's tests stand, if not anywhere: other specifications have ids of the same
    /// form.
    only_in: &'static [(&'static str, &'static str)],
    /// Files whose ids are those of another specification.
    others: &'static [&'static str],
}

const REPLICATION: Specification = Specification {
    name: "replication",
    list: "tests/facts/replication-facts.txt",
    heading: "## Facts that are not tests",
    only_in: &[("A", "core/src/log/")],
    others: &[
        "core/src/coordinator/",
        "core/src/assignor/",
        "tests/scripts/group/",
        "tests/tidy/",
    ],
};

const GROUPS: Specification = Specification {
    name: "groups",
    list: "tests/facts/group-facts.txt",
    heading: "## Facts of groups that are not tests",
    only_in: &[],
    others: &["tests/tidy/"],
};

/// The texts of a source in which a test names a fact: its strings and the names of its functions.
fn named(source: &str) -> Vec<String> {
    let mut texts = Vec::new();
    let mut rest = source;
    while let Some(at) = rest.find(['"', '/', '\'', 'f']) {
        let (before, here) = rest.split_at(at);
        let is_word = before.ends_with(|c: char| c.is_alphanumeric() || c == '_');
        if here.starts_with("//") {
            rest = here.split_once('\n').map_or("", |(_, rest)| rest);
        } else if here.starts_with("'\"'") || here.starts_with("'\\\"'") {
            rest = here.trim_start_matches(['\'', '\\', '"']);
        } else if let Some(text) = here.strip_prefix('"') {
            let end = end_of_string(text);
            texts.push(text[..end].to_owned());
            rest = text.get(end + 1..).unwrap_or_default();
        } else if let Some(name) = here.strip_prefix("fn ").filter(|_| !is_word) {
            let end = name.find(['(', '<']).unwrap_or(name.len());
            // Kafka's ids are upper case; letters behind the digits stay.
            let words = name[..end].split('_').map(|word| {
                let mut word = word.to_owned();
                if let Some(first) = word.get_mut(..1) {
                    first.make_ascii_uppercase();
                }
                word
            });
            texts.extend(words);
            rest = &name[end..];
        } else {
            rest = &here[1..];
        }
    }
    texts
}

/// Where a string ends that began just before `text`.
fn end_of_string(text: &str) -> usize {
    let mut is_escaped = false;
    for (at, letter) in text.char_indices() {
        match letter {
            _ if is_escaped => is_escaped = false,
            '\\' => is_escaped = true,
            '"' => return at,
            _ => {}
        }
    }
    text.len()
}

/// Everything in which a test names a fact, by file.
fn texts_of_tests(others: &[&str]) -> BTreeMap<String, Vec<String>> {
    let mut texts = BTreeMap::new();
    for (file, source) in files("core/src", ".rs") {
        let is_test = file.contains("/tests/") || file.ends_with("/tests.rs");
        let from = if is_test {
            Some(0)
        } else {
            source.find("#[cfg(test)]")
        };
        if let Some(from) = from {
            texts.insert(file, named(&source[from..]));
        }
    }
    for (file, source) in files("tests", ".rs") {
        texts.insert(file, named(&source));
    }
    let scripts = files("tests/scripts", ".txt").into_iter();
    for (file, source) in scripts.chain(files("core/src", ".txt")) {
        let comments = source.lines().filter(|line| line.starts_with('#'));
        texts.insert(file, comments.map(String::from).collect());
    }
    texts.retain(|file, _| !others.iter().any(|other| file.starts_with(other)));
    texts
}

fn has_word(text: &str, id: &str) -> bool {
    let is_part = |c: char| c.is_alphanumeric() || c == '_';
    text.match_indices(id).any(|(at, _)| {
        !text[..at].ends_with(is_part) && !text[at + id.len()..].starts_with(is_part)
    })
}

/// The ids that the page gives a reason for: `| I1 to I16 | … |`.
fn excused(page: &str, heading: &str, facts: &[String]) -> BTreeSet<String> {
    let (_, table) = page.split_once(heading).expect("the page has the table");
    let table = table.split("\n## ").next().unwrap_or_default();
    let mut found = BTreeSet::new();
    let rows = table.lines().filter_map(|line| line.strip_prefix("| "));
    for row in rows.filter(|row| !row.starts_with("fact") && !row.starts_with("---")) {
        let (ids, reason) = row.split_once(" | ").expect("a row has two columns");
        assert!(20 < reason.len(), "{ids} has no reason: {reason}");
        for part in ids.split(", ") {
            let (first, last) = part.split_once(" to ").unwrap_or((part, part));
            let place = |id: &str| {
                let at = facts.iter().position(|fact| fact == id);
                at.unwrap_or_else(|| panic!("docs/FIDELITY.md: there is no fact {id}"))
            };
            let range = facts.get(place(first)..=place(last));
            for fact in range.expect("a range goes forwards") {
                assert!(found.insert(fact.clone()), "{fact} has two reasons");
            }
        }
    }
    found
}

/// The ids of a list: what stands before a colon, or the whole line.
fn facts_in(list: &str) -> Vec<String> {
    let list = fs::read_to_string(root().join(list)).expect("there is a list");
    let lines = list.lines().filter(|line| !line.starts_with('#'));
    let lines = lines.filter(|line| !line.is_empty());
    let ids = lines.map(|line| line.split_once(':').map_or(line, |(id, _)| id));
    ids.map(String::from).collect()
}

#[test]
fn every_fact_of_replication_is_a_test_or_has_a_reason() {
    count(&REPLICATION);
}

#[test]
fn every_fact_of_groups_is_a_test_or_has_a_reason() {
    count(&GROUPS);
}

fn count(specification: &Specification) {
    let facts = facts_in(specification.list);
    let texts = texts_of_tests(specification.others);
    let page = fs::read_to_string(root().join("docs/FIDELITY.md")).expect("there is a page");
    let excused = excused(&page, specification.heading, &facts);
    let (mut faults, mut tested) = (String::new(), 0);
    for fact in &facts {
        let only_in = specification
            .only_in
            .iter()
            .find(|(section, _)| fact.starts_with(section));
        let mut places = texts.iter().filter(|(file, texts)| {
            only_in.is_none_or(|(_, folder)| file.starts_with(folder))
                && texts.iter().any(|text| has_word(text, fact))
        });
        let place = places.next();
        tested += u32::from(place.is_some());
        match (place, excused.contains(fact)) {
            (Some((file, _)), true) => {
                let _ = writeln!(
                    faults,
                    "{fact} is in {file}, and docs/FIDELITY.md says that it is no test"
                );
            }
            (None, false) => {
                let _ = writeln!(
                    faults,
                    "{fact} is in no test, and docs/FIDELITY.md gives no reason"
                );
            }
            _ => {}
        }
    }
    let totals = format!(
        "{} facts of {}: {tested} are tests, {} have a reason",
        facts.len(),
        specification.name,
        excused.len()
    );
    assert!(faults.is_empty(), "{faults}{totals}");
    eprintln!("{totals}");
}

#[test]
fn an_id_is_a_whole_word() {
    for (text, is_in) in [
        ("E1: shrinks", true),
        ("E10: shrinks", false),
        ("E1b: shrinks", false),
        ("xE1", false),
        ("E1, E2", true),
        ("0xE1", false),
    ] {
        assert_eq!(has_word(text, "E1"), is_in, "{text}");
    }
    let source =
        "// E1\nfn who_e2_e28b(a: E3) { let E4 = '\"'; f(\"E5 \\\" E6\"); E7 } /* \"E8\" */";
    let names = named(source);
    let has = |id: &str| names.iter().any(|text| has_word(text, id));
    for id in ["E2", "E28b", "E5", "E6", "E8"] {
        assert!(has(id), "{id} is named in {names:?}");
    }
    for id in ["E1", "E3", "E4", "E7", "E28"] {
        assert!(!has(id), "{id} is not named in {names:?}");
    }
}
