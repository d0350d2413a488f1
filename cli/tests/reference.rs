//! The reference page and the schema say what the code takes. `UPDATE_EXPECT=1` writes them anew.

use std::path::Path;
use terrarium_cli::reference;
use terrarium_core::lesson::{Lesson, grade};

fn compare(file: &str, expected: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../docs")
        .join(file);
    if std::env::var_os("UPDATE_EXPECT").is_some() {
        std::fs::write(&path, expected).expect("the docs folder can be written");
    }
    let found = std::fs::read_to_string(&path).expect("the file is there");
    if let Some(line) = expected
        .lines()
        .zip(found.lines())
        .position(|(new, old)| new != old)
    {
        panic!(
            "docs/{file} line {}: the code says `{}`, the file `{}`; run with UPDATE_EXPECT=1",
            line + 1,
            expected.lines().nth(line).unwrap_or_default(),
            found.lines().nth(line).unwrap_or_default()
        );
    }
    assert_eq!(
        found.len(),
        expected.len(),
        "docs/{file}: run with UPDATE_EXPECT=1"
    );
}

#[test]
fn the_reference_page_lists_what_the_code_takes() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/LESSONS.md");
    let page = std::fs::read_to_string(path).expect("the reference page is there");
    compare(
        "LESSONS.md",
        &reference::fill(&page).expect("the page has every marker"),
    );
}

#[test]
fn the_schema_says_what_the_code_takes() {
    let schema = serde_json::to_string_pretty(&reference::schema()).expect("a schema is JSON");
    compare("lesson.schema.json", &(schema + "\n"));
}

#[test]
fn the_lesson_on_the_reference_page_keeps_what_it_promises() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/LESSONS.md");
    let page = std::fs::read_to_string(path).expect("the reference page is there");
    let (_, rest) = page.split_once("```toml\n").expect("an example");
    let (example, _) = rest.split_once("```").expect("its end");
    let lesson =
        Lesson::parse("docs/LESSONS.md", example).unwrap_or_else(|errors| panic!("{}", errors[0]));
    for key in lesson.text_keys() {
        assert!(
            page.contains(&format!("`{key}`")),
            "the page names the key {key}"
        );
    }
    for checked in grade::check(&lesson) {
        assert!(
            checked.faults.is_empty(),
            "{}: {:?}",
            checked.run,
            checked.faults
        );
    }
}
