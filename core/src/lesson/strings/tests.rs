use super::Strings;
#[cfg(target_arch = "wasm32")]
use wasm_bindgen_test::wasm_bindgen_test as test;

#[test]
fn keys_are_joined_and_numbers_filled_in() {
    let strings = Strings::parse(
        "en/a.toml",
        "title = \"T\"\n[steps]\nwatch = \"\"\"\nfirst\n\nsecond {n} of {unknown} {\"\"\"\n",
    )
    .expect("a strings file");
    assert_eq!(strings.get("title"), Some("T"), "a plain key");
    assert_eq!(
        strings.get("steps.watch"),
        Some("first\n\nsecond {n} of {unknown} {"),
        "nested"
    );
    let filled = strings.fill("steps.watch", |name| {
        (name == "n").then(|| String::from("7"))
    });
    assert_eq!(
        filled.as_deref(),
        Some("first\n\nsecond 7 of {unknown} {"),
        "filled"
    );
    assert_eq!(strings.fill("steps.none", |_| None), None, "no such key");
}

#[test]
fn a_fault_names_its_place() {
    let errors = Strings::parse("en/a.toml", "title = \"T\"\nn = 5").expect_err("a number");
    assert_eq!(
        errors[0].to_string(),
        "en/a.toml:2:5: n: expected a text or a table of texts, found 5",
        "place and remedy"
    );
    assert!(Strings::parse("en/a.toml", "title = ").is_err(), "not TOML");
}
