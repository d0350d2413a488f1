//! What the site's files promise each other: texts and their keys, colours, the offline list.

use crate::i18n::{Catalog, Locale};
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use terrarium_core::trace::event::TraceEvent;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .parent()
        .expect("the workspace")
        .to_path_buf()
}

fn read(path: &str) -> String {
    fs::read_to_string(root().join(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
}

fn catalog(locale: Locale) -> Catalog {
    let mut catalog = Catalog::new(locale);
    for (name, prefix) in [("ui", ""), ("stage", ""), ("index", "map.")] {
        let text = read(&format!("static/strings/{}/{name}.toml", locale.tag()));
        catalog
            .add(prefix, &text)
            .unwrap_or_else(|error| panic!("{name}: {error}"));
    }
    catalog
}

/// The names in braces.
fn arguments(text: &str) -> BTreeSet<&str> {
    let pieces = text
        .split('{')
        .skip(1)
        .filter_map(|piece| piece.split('}').next());
    pieces.filter_map(|piece| piece.split('|').next()).collect()
}

fn sources(folder: &Path, found: &mut Vec<(PathBuf, String)>) {
    for entry in fs::read_dir(folder).expect("a folder of sources").flatten() {
        let path = entry.path();
        if path.is_dir() {
            sources(&path, found);
        } else if path.extension().is_some_and(|kind| kind == "rs") && !path.ends_with("tests.rs") {
            let text = fs::read_to_string(&path).expect("a source");
            found.push((path, text));
        }
    }
}

#[test]
fn both_languages_have_the_same_keys_with_the_same_arguments() {
    let [english, chinese] = Locale::ALL.map(catalog);
    let keys: BTreeSet<&str> = english.keys().collect();
    let others: BTreeSet<&str> = chinese.keys().collect();
    let lacking: Vec<_> = keys.symmetric_difference(&others).collect();
    assert!(lacking.is_empty(), "in one language alone: {lacking:?}");
    for key in keys {
        let (one, other) = (english.t(key), chinese.t(key));
        // A language without plurals may leave out a number that stands for one of two words.
        assert_eq!(arguments(&one), arguments(&other), "arguments of {key}");
        assert!(
            !one.trim().is_empty() && !other.trim().is_empty(),
            "{key} is empty"
        );
    }
}

#[test]
fn every_key_in_the_code_has_a_text() {
    let words = catalog(Locale::En);
    let first: BTreeSet<String> = words
        .keys()
        .filter_map(|key| key.split_once('.').map(|(table, _)| table.to_owned()))
        .collect();
    let mut found = Vec::new();
    sources(&root().join("web/src"), &mut found);
    let mut count = 0;
    for (path, text) in &found {
        for piece in text.split('"').skip(1).step_by(2) {
            let is_key = piece.split_once('.').is_some_and(|(table, rest)| {
                first.contains(table)
                    && !rest.is_empty()
                    && rest.chars().all(|letter| {
                        letter.is_ascii_lowercase()
                            || letter.is_ascii_digit()
                            || "-.".contains(letter)
                    })
            });
            // Files have names of the same shape as keys.
            if is_key && !piece.contains(".toml") && !piece.ends_with('.') {
                count += 1;
                assert!(words.has(piece), "{}: no text for {piece}", path.display());
            }
        }
    }
    assert!(300 < count, "only {count} keys were found in the code");
}

#[test]
fn every_event_has_a_sentence() {
    for locale in Locale::ALL {
        let words = catalog(locale);
        for kind in TraceEvent::KINDS {
            assert!(
                words.has(&format!("event.{}", kind.name)),
                "{locale:?}: {}",
                kind.name
            );
        }
    }
}

#[test]
fn every_lesson_of_the_map_has_its_names() {
    let map = crate::app::load::read_map(&read("static/lessons/index.toml")).expect("the map");
    assert!(
        map.lessons()
            .any(|id| id == crate::model::update::HOME_LESSON),
        "home's lesson"
    );
    for locale in Locale::ALL {
        let words = catalog(locale);
        for (concept, lessons) in &map.concepts {
            assert!(
                words.has(&format!("map.concept.{concept}")),
                "{locale:?}: {concept}"
            );
            for id in lessons {
                for kind in ["lesson", "about"] {
                    assert!(
                        words.has(&format!("map.{kind}.{id}")),
                        "{locale:?}: {kind}.{id}"
                    );
                }
            }
        }
    }
}

#[test]
fn the_sandbox_is_a_sound_scenario() {
    use terrarium_core::lesson::Lesson;
    let sandbox = Lesson::parse("sandbox.toml", &read("static/sandbox.toml"));
    let sandbox = sandbox.unwrap_or_else(|errors| panic!("{errors:?}"));
    sandbox
        .scenario(None, &[])
        .unwrap_or_else(|error| panic!("{error}"));
}

#[test]
fn the_offline_list_has_every_file_of_the_site() {
    let worker = read("static/sw.js");
    let mut files = Vec::new();
    walk(&root().join("static"), &mut files);
    for file in files {
        let inner = file
            .strip_prefix(root().join("static"))
            .expect("inside")
            .to_string_lossy();
        let is_exempt = matches!(&*inner, "index.html" | "sw.js");
        assert!(
            is_exempt || worker.contains(&format!("./{inner}")),
            "sw.js does not keep {inner}"
        );
    }
}

fn walk(folder: &Path, files: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder)
        .expect("a folder of the site")
        .flatten()
    {
        let path = entry.path();
        if path.is_dir() {
            walk(&path, files);
        } else {
            files.push(path);
        }
    }
}

/// The variables of a block of tokens.css, by name.
fn tokens(css: &str, block: &str) -> std::collections::BTreeMap<String, String> {
    let start = css.find(block).unwrap_or_else(|| panic!("no {block}"));
    let body = css[start..].split('}').next().unwrap_or_default();
    body.split(';')
        .filter_map(|line| {
            let (name, value) = line.split_once("--")?.1.split_once(':')?;
            Some((name.trim().to_owned(), value.trim().to_owned()))
        })
        .collect()
}

fn luminance(css: &str) -> f64 {
    let channel = |place: usize| {
        let value = f64::from(u8::from_str_radix(&css[place..place + 2], 16).expect("a colour"));
        let value = value / 255.0;
        if value <= 0.039_28 {
            value / 12.92
        } else {
            ((value + 0.055) / 1.055).powf(2.4)
        }
    };
    0.2126 * channel(1) + 0.7152 * channel(3) + 0.0722 * channel(5)
}

#[test]
fn words_and_controls_have_the_contrast_of_wcag_aa() {
    let css = read("static/css/tokens.css");
    for block in [":root {", ":root[data-theme=\"dark\"] {"] {
        let tokens = tokens(&css, block);
        let ratio = |front: &str, back: &str| {
            let (one, other) = (luminance(&tokens[front]), luminance(&tokens[back]));
            (one.max(other) + 0.05) / (one.min(other) + 0.05)
        };
        let papers = ["bg", "panel", "sunk", "accent-soft", "warn-soft"];
        for back in papers {
            assert!(
                4.5 <= ratio("ink", back),
                "{block} ink on {back}: {:.2}",
                ratio("ink", back)
            );
        }
        for back in ["bg", "panel", "sunk"] {
            for front in ["mute", "accent", "warn", "loss"] {
                let found = ratio(front, back);
                assert!(4.5 <= found, "{block} {front} on {back}: {found:.2}");
            }
            let found = ratio("edge", back);
            assert!(
                3.0 <= found,
                "{block} edges of controls on {back}: {found:.2}"
            );
        }
        let found = ratio("on", "accent");
        assert!(4.5 <= found, "{block} words on the accent: {found:.2}");
        let found = ratio("accent", "accent-soft");
        assert!(4.5 <= found, "{block} accent on its soft: {found:.2}");
    }
}
