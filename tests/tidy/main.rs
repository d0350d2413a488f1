//! Rules of the code that a reader would have to watch over otherwise.

mod facts;

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

/// Which module of `core` may name which others. `*` is everything in `core`.
const MAY_USE: &[(&str, &[&str])] = &[
    ("kernel", &[]),
    ("base", &["kernel"]),
    ("wire", &["kernel", "base"]),
    ("trace", &["kernel", "base", "wire"]),
    ("log", &["kernel", "base", "wire"]),
    ("replication", &["kernel", "base", "wire", "trace", "log"]),
    ("assignor", &["base"]),
    ("controller", &["kernel", "base", "wire", "trace"]),
    (
        "coordinator",
        &["kernel", "base", "wire", "trace", "assignor"],
    ),
    ("transaction", &["kernel", "base", "wire", "trace"]),
    ("client", &["kernel", "base", "wire", "trace", "assignor"]),
    (
        "node",
        &[
            "kernel",
            "base",
            "wire",
            "trace",
            "log",
            "replication",
            "assignor",
            "controller",
            "coordinator",
            "transaction",
            "client",
        ],
    ),
    (
        "sim",
        &[
            "kernel",
            "base",
            "wire",
            "trace",
            "log",
            "replication",
            "controller",
            "coordinator",
            "transaction",
            "client",
            "node",
        ],
    ),
    ("lesson", &["*"]),
];

/// Files that may name what their module may not, with the reason. This list only shrinks.
const EXCEPTIONS: &[(&str, &str, &str)] = &[];

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .parent()
        .expect("the tests lie in the workspace")
        .into()
}

/// Every file below `folder` with this ending, by its path from the workspace's root.
fn files(folder: &str, ending: &str) -> BTreeMap<String, String> {
    fn walk(at: &Path, ending: &str, found: &mut Vec<PathBuf>) {
        for entry in fs::read_dir(at).expect("the folder can be read") {
            let path = entry.expect("the entry can be read").path();
            if path.is_dir() {
                walk(&path, ending, found);
            } else if path.to_string_lossy().ends_with(ending) {
                found.push(path);
            }
        }
    }
    let mut found = Vec::new();
    walk(&root().join(folder), ending, &mut found);
    found
        .into_iter()
        .map(|path| {
            let text = fs::read_to_string(&path).expect("the file is text");
            let name = path
                .strip_prefix(root())
                .expect("below the root")
                .to_string_lossy();
            (name.replace('\\', "/"), text)
        })
        .collect()
}

/// The module of `core` that a file belongs to: `core/src/log/batch.rs` is in `log`.
fn module(file: &str) -> &str {
    let inner = file.strip_prefix("core/src/").expect("a file of core");
    inner
        .split(['/', '.'])
        .next()
        .expect("split gives at least one part")
}

#[test]
fn modules_of_the_core_use_only_what_they_may() {
    let table: BTreeMap<&str, &[&str]> = MAY_USE.iter().copied().collect();
    let mut faults = String::new();
    for (file, text) in files("core/src", ".rs") {
        let own = module(&file);
        // Tests of a module may build what they test from above.
        if own == "lib" || file.contains("/tests") {
            continue;
        }
        let allowed = table
            .get(own)
            .unwrap_or_else(|| panic!("{own} is not in the table"));
        for (line, content) in text.lines().enumerate() {
            for used in content.split("crate::").skip(1) {
                let used = used
                    .split(|c: char| !c.is_alphanumeric() && c != '_')
                    .next();
                let used = used.unwrap_or_default();
                let is_module = table.contains_key(used);
                let is_free = used == own || allowed.contains(&used) || allowed.contains(&"*");
                let is_excepted = EXCEPTIONS
                    .iter()
                    .any(|(path, name, _)| *path == file && *name == used);
                if is_module && !is_free && !is_excepted {
                    let _ = writeln!(faults, "{file}:{}: {own} must not use {used}", line + 1);
                }
            }
        }
    }
    assert!(faults.is_empty(), "imports against the table:\n{faults}");
}

#[test]
fn handlers_name_their_source() {
    let mut faults = String::new();
    let sources = files("core/src", ".rs").into_iter().filter(|(file, _)| {
        ["coordinator", "controller", "node", "transaction"].contains(&module(file))
            && !file.contains("/tests")
    });
    let mut seen = 0;
    for (file, text) in sources {
        let lines: Vec<&str> = text.lines().collect();
        for (index, line) in lines.iter().enumerate() {
            let Some((_, after)) = line.split_once("fn handle_") else {
                continue;
            };
            let name = after.split('(').next().unwrap_or_default();
            seen += 1;
            let above = lines[..index].iter().rev();
            let has_source = above
                .take_while(|line| {
                    let line = line.trim_start();
                    line.starts_with("///") || line.starts_with('#') || line.starts_with("clippy")
                })
                .any(|line| line.contains("# Source"));
            if !has_source {
                let _ = writeln!(
                    faults,
                    "{file}:{}: handle_{name} has no # Source",
                    index + 1
                );
            }
        }
    }
    assert!(15 < seen, "the scan found only {seen} handlers");
    assert!(faults.is_empty(), "handlers without a source:\n{faults}");
}

#[test]
fn what_must_not_stand_anywhere() {
    let mut faults = String::new();
    let words = [
        ["to", "do!("].concat(),
        ["un", "implemented!("].concat(),
        ["#[ig", "nore"].concat(),
        ["#[should", "_panic"].concat(),
        ["/ro", "ot/"].concat(),
        ["/wo", "rk/"].concat(),
    ];
    for folder in ["core", "web/src", "cli", "tests", "xtask", "docs"] {
        for ending in [".rs", ".md", ".toml", ".txt"] {
            for (file, text) in files(folder, ending) {
                if file.contains("/target/") || file.contains("node_modules") {
                    continue;
                }
                for (line, content) in text.lines().enumerate() {
                    for word in &words {
                        if content.contains(word.as_str()) {
                            let _ = writeln!(faults, "{file}:{}: {word}", line + 1);
                        }
                    }
                }
            }
        }
    }
    assert!(faults.is_empty(), "found:\n{faults}");
}

#[test]
fn the_core_has_no_text_for_people_and_no_browser() {
    for (file, text) in files("core/src", ".rs") {
        for word in ["web_sys", "wasm_bindgen::", "js_sys", "std::fs", "println!"] {
            assert!(!text.contains(word), "{file} names {word}");
        }
    }
    let manifest = fs::read_to_string(root().join("core/Cargo.toml")).expect("there is one");
    let dependencies = manifest
        .split("[dependencies]")
        .nth(1)
        .expect("there are some");
    let dependencies = dependencies
        .split("\n[")
        .next()
        .expect("split gives at least one part");
    assert!(
        !dependencies.contains("web-sys"),
        "the core runs without a browser"
    );
}

/// The list of simplifications stands in the code; the page of them is made from it.
#[test]
fn the_fidelity_page_lists_every_simplification() {
    const BEGIN: &str = "<!-- from the code: begin -->\n";
    const END: &str = "<!-- from the code: end -->";
    let mut list = String::new();
    for (file, text) in files("core/src", ".rs") {
        let lines: Vec<&str> = text.lines().map(str::trim_start).collect();
        for (index, line) in lines.iter().enumerate() {
            if *line != "/// # Simplified" {
                continue;
            }
            let doc = |line: &&&str| line.starts_with("///") && !line.starts_with("/// #");
            let text: Vec<&str> = lines[index + 1..]
                .iter()
                .take_while(doc)
                .map(|line| line.trim_start_matches("///").trim())
                .collect();
            let place = file.trim_start_matches("core/src/").trim_end_matches(".rs");
            let name = lines[index..]
                .iter()
                .find_map(|line| line.split_once("fn ").map(|(_, rest)| rest))
                .and_then(|rest| rest.split(['(', '<']).next())
                .unwrap_or("?");
            let text = text.join(" ");
            let _ = writeln!(
                list,
                "- `{}::{name}`: {}",
                place.replace('/', "::"),
                text.trim()
            );
        }
    }
    let path = root().join("docs/FIDELITY.md");
    let page = fs::read_to_string(&path).expect("there is a page");
    let (before, rest) = page
        .split_once(BEGIN)
        .expect("the page has a place for the list");
    let (found, after) = rest.split_once(END).expect("the place has an end");
    if std::env::var_os("UPDATE_EXPECT").is_some() {
        let updated = format!("{before}{BEGIN}{list}{END}{after}");
        fs::write(&path, updated).expect("the page can be written");
        return;
    }
    assert_eq!(
        found, list,
        "docs/FIDELITY.md is behind the code; run with UPDATE_EXPECT=1"
    );
}
