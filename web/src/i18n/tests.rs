use super::{Catalog, Locale};

fn catalog(text: &str) -> Catalog {
    let mut catalog = Catalog::new(Locale::En);
    catalog
        .add("", text)
        .expect("the file of the test is sound");
    catalog
}

#[test]
fn arguments_replace_their_names_and_nothing_else() {
    let catalog = catalog("a = '{who} sends {n} {n|record|records} {here} {'");
    let text = catalog.text("a", &[("who", "{n}"), ("n", "1")]);
    assert_eq!(
        text, "{n} sends 1 record {here} {",
        "an argument is not read again"
    );
    assert_eq!(
        catalog.text("a", &[("n", "2")]),
        "{who} sends 2 records {here} {",
        "many"
    );
}

#[test]
fn tables_and_lists_make_keys_with_dots() {
    let catalog = catalog("[a.b]\nc = 'x'\nd = ['y', 'z']");
    assert_eq!(
        catalog.keys().collect::<Vec<_>>(),
        ["a.b.c", "a.b.d.0", "a.b.d.1"],
        "keys"
    );
    assert_eq!(catalog.t("a.b.d.1"), "z", "second of a list");
    assert_eq!(catalog.t("a.x"), "a.x", "a hole shows as its key");
}

#[test]
fn a_broken_file_is_refused_with_its_place() {
    let mut catalog = Catalog::new(Locale::En);
    assert!(
        catalog
            .add("", "a = ")
            .is_err_and(|error| error.contains("line 1")),
        "syntax"
    );
    assert_eq!(
        catalog.add("", "a = 1"),
        Err(String::from("a: expected a text")),
        "a number"
    );
}

#[test]
fn a_tag_finds_its_language() {
    for (tag, locale) in [
        ("en", Some(Locale::En)),
        ("en-GB", Some(Locale::En)),
        ("zh", Some(Locale::ZhCn)),
        ("zh_Hans_CN", Some(Locale::ZhCn)),
        ("ZH-cn", Some(Locale::ZhCn)),
        ("fr", None),
        ("", None),
    ] {
        assert_eq!(Locale::of(tag), locale, "{tag:?}");
    }
}
