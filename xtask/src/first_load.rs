//! `cargo xtask first-load`: which functions the page runs until its first lesson stands.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use anyhow::{Context, Result};

use crate::harness::Harness;
use crate::page::{self, NAME, Profile};
use crate::run::{Tool, minutes};
use crate::rust::WasmRust;
use crate::say::say;
use crate::split::{self, Halves};
use crate::{dist, place, tools};

/// Cuts the program in place; what loads later goes to `rest`.
pub(crate) fn cut(program: &Path, rest: &Path) -> Result<()> {
    let list = fs::read_to_string(place::root().join(LIST)).context(LIST)?;
    let names: BTreeSet<&str> = list.lines().collect();
    let halves = split::split(&fs::read(program)?, |name| names.contains(short(name).as_str()))?;
    let Halves { first, rest: later } = halves;
    fs::write(program, first)?;
    Ok(fs::write(rest, later)?)
}

/// Marks the functions of the page, opens it in a browser, and writes the list.
pub(crate) fn find() -> Result<()> {
    let rust = WasmRust::ready()?;
    let modules = tools::node_modules()?;
    let site = place::target("marked");
    let _ = fs::remove_dir_all(&site);
    dist::copy(&place::root().join("static"), &site)?;
    page::build(&rust, Profile::Release, &site.join("pkg"))?;
    let program = site.join("pkg").join(format!("{NAME}_bg.wasm"));
    dist::optimise(&modules, &program)?;
    let (marked, names) = split::mark(&fs::read(&program)?)?;
    fs::write(&program, marked)?;

    let out = place::target("marks");
    let harness = Harness::start(vec![("", site)])?;
    say("Opening the page in every view (one to two minutes).");
    let tool = Tool::new("cargo", &place::root())
        .args(["run", "--package", "terrarium-e2e", "--bin", "marks"])
        .limit(minutes(30));
    harness.tell(tool, &out).run()?;
    let marks = fs::read_to_string(out.join("marks.txt"))?;
    let called: BTreeSet<String> = marks
        .lines()
        .filter_map(|index| names.get(index.parse::<usize>().ok()?))
        .map(|name| short(name))
            .filter(|name| !name.is_empty())
        .collect();
    say(&format!(
        "{} of {} functions run until the first lesson stands.",
        marks.lines().count(),
        names.len()
    ));
    let lines: Vec<String> = called.into_iter().map(|name| name + "\n").collect();
    Ok(fs::write(place::root().join(LIST), lines.concat())?)
}

/// A name without what differs from one build to another: hashes of crates (`core[c5930c85a12de822]`)
/// and the numbers that tell copies apart (`eq[1]`, `eq.1736`).
fn short(name: &str) -> String {
    let mut parts = name.split('[');
    let mut short = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        match part.split_once(']') {
            Some((inside, after)) if inside.bytes().all(|byte| byte.is_ascii_hexdigit()) && !inside.is_empty() => {
                short.push_str(after);
            }
            _ => {
                short.push('[');
                short.push_str(part);
            }
        }
    }
    let end = short.trim_end_matches(|letter: char| letter.is_ascii_digit());
    let end = end.strip_suffix('.').map(str::len);
    short.truncate(end.unwrap_or(short.len()));
    short
}

/// Names of functions, one a line.
const LIST: &str = "xtask/first-load.txt";
