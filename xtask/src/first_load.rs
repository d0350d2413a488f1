//! `cargo xtask first-load`: what of the program runs until the first lesson stands.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use anyhow::{Context, Result};

use crate::harness::Harness;
use crate::page::{self, NAME, Profile as Build};
use crate::run::{Tool, minutes};
use crate::rust::WasmRust;
use crate::say::say;
use crate::split::{self, Halves, Marks, Profile};
use crate::{dist, place, tools};

/// Cuts the program in place; what loads later goes to `rest`.
pub(crate) fn cut(program: &Path, rest: &Path, profile: &Profile) -> Result<()> {
    let Halves { first, rest: later } = split::split(&fs::read(program)?, profile)?;
    fs::write(program, first)?;
    Ok(fs::write(rest, later)?)
}

/// The profile that comes with the sources.
pub(crate) fn known() -> Result<Profile> {
    let text = fs::read_to_string(place::root().join(LIST)).context(LIST)?;
    Profile::parse(&text).context(LIST)
}

/// Finds the profile and keeps it with the sources.
pub(crate) fn keep() -> Result<()> {
    let profile = find()?;
    Ok(fs::write(place::root().join(LIST), profile.to_string())?)
}

/// Marks the program, opens the page in a browser, and sees what ran.
pub(crate) fn find() -> Result<Profile> {
    let rust = WasmRust::ready()?;
    let modules = tools::node_modules()?;
    let site = place::target("marked");
    let _ = fs::remove_dir_all(&site);
    dist::copy(&place::root().join("static"), &site)?;
    say("Building the page for release (cold: three to six minutes).");
    page::build(&rust, Build::Release, &site.join("pkg"))?;
    let program = site.join("pkg").join(format!("{NAME}_bg.wasm"));
    dist::optimise(&modules, &program, &["--debuginfo"])?;
    let (marked, marks) = split::mark(&fs::read(&program)?)?;
    fs::write(&program, marked)?;

    let out = place::target("marks");
    let harness = Harness::start(vec![("", site)])?;
    say("Opening the page in every view (one to two minutes).");
    let count: usize = marks.functions.iter().map(|(_, segments)| segments).sum();
    let tool = Tool::new("cargo", &place::root())
        .args(["run", "--package", "terrarium-e2e", "--bin", "marks", "--"])
        .args([marks.base.to_string(), count.to_string()])
        .limit(minutes(30));
    harness.tell(tool, &out).run()?;
    let set = fs::read_to_string(out.join("marks.txt"))?;
    let set: BTreeSet<usize> = set.lines().filter_map(|line| line.parse().ok()).collect();
    let profile = profile(&marks, &set);
    say(&format!(
        "{} of {} functions run until the first lesson stands, {} of {count} segments.",
        profile.len(),
        marks.functions.len(),
        set.len(),
    ));
    Ok(profile)
}

fn profile(marks: &Marks, set: &BTreeSet<usize>) -> Profile {
    let mut profile = Profile::default();
    let mut next = 0;
    for (name, segments) in &marks.functions {
        let ran: Vec<bool> = (next..next + segments)
            .map(|mark| set.contains(&mark))
            .collect();
        profile.add(name, &ran);
        next += segments;
    }
    profile
}

/// The profile.
const LIST: &str = "xtask/first-load.txt";
