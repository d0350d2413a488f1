use super::*;

fn site(files: &[(&str, usize)]) -> Vec<Weighed> {
    files
        .iter()
        .map(|(path, gzip)| Weighed {
            path: (*path).to_owned(),
            gzip: *gzip,
        })
        .collect()
}

#[test]
fn a_star_stands_for_letters_of_one_folder() {
    for (pattern, path, expected) in [
        ("index.html", "index.html", true),
        ("index.html", "a/index.html", false),
        ("*.css", "style.css", true),
        ("*.css", "a/style.css", false),
        ("*.css", "style.css.map", false),
        ("pkg/*.js", "pkg/terrarium_web.js", true),
        ("pkg/*.js", "pkg/a/b.js", false),
        ("lessons/strings/*/*", "lessons/strings/en/a.toml", true),
        ("lessons/strings/*/*", "lessons/strings/a.toml", false),
        ("*", "", true),
    ] {
        assert_eq!(fits(pattern, path), expected, "{pattern} {path}");
    }
}

#[test]
fn only_what_loads_at_first_is_billed() {
    let bill = Bill::of(&site(&[
        ("index.html", 1),
        ("css/page.css", 2),
        ("sw.js", 1_000),
        ("pkg/terrarium_web.js", 4),
        ("pkg/terrarium_web_bg.wasm", 8),
        ("pkg/terrarium_web_rest.wasm", 1_000),
        ("pkg/terrarium_web.d.ts", 1_000),
        ("lessons/index.toml", 16),
        ("lessons/the-barrier.toml", 32),
        ("lessons/another.toml", 1_000),
        ("strings/en/the-barrier.toml", 64),
        ("strings/zh-CN/the-barrier.toml", 63),
        ("strings/en/another.toml", 1_000),
        ("strings/en/ui.toml", 127),
        ("strings/zh-CN/ui.toml", 128),
    ]));
    assert_eq!(bill.total, 255, "{bill}");
    assert!(bill.is_within_limit(), "{bill}");
}

#[test]
fn the_limit_is_the_last_size_allowed() {
    for (size, expected) in [(LIMIT, true), (LIMIT + 1, false)] {
        let bill = Bill::of(&site(&[("pkg/terrarium_web_bg.wasm", size)]));
        assert_eq!(bill.is_within_limit(), expected, "{bill}");
    }
}

#[test]
fn what_a_browser_loads_beside_the_table_is_found() {
    let loaded = "index.html\npkg/terrarium_web.js\nfonts/a.woff2\nlessons/index.toml";
    assert_eq!(not_billed(loaded), ["fonts/a.woff2"], "stray");
    assert!(not_billed("").is_empty(), "nothing");
}

#[test]
fn what_a_browser_loads_is_weighed() {
    let site = site(&[("index.html", 1_000), ("a.css", 500), ("b.css", 1)]);
    let line = really("index.html\na.css\nunknown", &site);
    assert_eq!(
        line, "The browser loaded 2 files at first, 1.5 kB as gzip.",
        "line"
    );
}

#[test]
fn the_bill_names_each_part_and_the_sum() {
    let bill = Bill::of(&site(&[
        ("index.html", 1_250),
        ("pkg/terrarium_web_bg.wasm", 49_799),
    ]))
    .to_string();
    assert!(bill.contains("1.2 kB  page: index.html"), "{bill}");
    assert!(bill.contains("51.0 kB  in all, of "), "{bill}");
}

#[test]
fn sizes_are_those_of_gzip() {
    let size = gzip_size(&[b'a'; 10_000]).unwrap();
    assert!(18 < size && size < 100, "{size}");
}
