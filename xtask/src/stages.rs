//! `cargo xtask test`: every check, one after the other, and what came of it.
//!
//! The crates that run natively are checked and tested in one selection (the workspace's default
//! members), so that cargo builds what they stand on once. The page's crate and the end-to-end
//! tests stand on other things and have their own.

use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::{Result, ensure};
use clap::Args;

use crate::budget;
use crate::count::Count;
use crate::harness::Harness;
use crate::run::{Missing, Tool, is_missing, minutes};
use crate::rust::{WASM, WasmRust};
use crate::say::{complain, say};
use crate::{dist, host, place, tools};

/// What `test` takes.
#[derive(Debug, Args)]
pub(crate) struct Options {
    /// Leave out wasm and the browser.
    #[arg(long)]
    fast: bool,
    /// Run only the stages that have this in their name, like `native` or `end`.
    #[arg(long, value_name = "WORD")]
    only: Option<String>,
}

/// A stage: its name and what it does.
type Stage = (&'static str, fn() -> Result<Count>);

const FAST: &[Stage] = &[
    ("format", format),
    ("lints", lints),
    ("native tests", native),
];

const SLOW: &[Stage] = &[
    ("lints of the page", page_lints),
    ("lints of the journeys", journey_lints),
    ("core in wasm under node", core_in_node),
    ("page in Chromium", page_in_browser),
    ("dist", site),
    ("end to end", end_to_end),
];

/// What came of a stage.
#[derive(Debug)]
struct Outcome {
    name: &'static str,
    count: Count,
    time: Duration,
    missing: Option<String>,
}

/// Runs the stages, whatever fails, and prints the totals; false if anything failed.
pub(crate) fn test(options: &Options) -> Result<bool> {
    let slow = if options.fast { &[] } else { SLOW };
    let chosen = |(name, _): &&Stage| options.only.as_ref().is_none_or(|word| name.contains(word));
    let outcomes: Vec<Outcome> = FAST.iter().chain(slow).filter(chosen).map(run).collect();
    ensure!(!outcomes.is_empty(), "no stage has that in its name");
    let total = outcomes
        .iter()
        .fold(Count::default(), |sum, stage| sum.plus(stage.count));
    say(&table(&outcomes));
    say(&total.line());
    match outcomes.into_iter().find_map(|stage| stage.missing) {
        Some(line) => Err(Missing::said(line).into()),
        None => Ok(total.failed == 0),
    }
}

fn run((name, stage): &Stage) -> Outcome {
    say(&format!("\n== {name}"));
    let started = Instant::now();
    let result = stage();
    let time = started.elapsed();
    match result {
        Ok(count) => Outcome {
            name,
            count,
            time,
            missing: None,
        },
        Err(error) => {
            complain(&format!("{error:#}"));
            let missing = is_missing(&error).then(|| format!("{name}: {error}"));
            Outcome {
                name,
                count: Count::check(false),
                time,
                missing,
            }
        }
    }
}

fn table(outcomes: &[Outcome]) -> String {
    let mut lines = vec![format!(
        "\n{:<26}{:>8}{:>8}{:>10}",
        "stage", "passed", "failed", "time"
    )];
    for Outcome {
        name, count, time, ..
    } in outcomes
    {
        let (passed, failed) = (count.passed, count.failed);
        lines.push(format!(
            "{name:<26}{passed:>8}{failed:>8}{:>8.1} s",
            time.as_secs_f64()
        ));
    }
    lines.push(String::new());
    lines.join("\n")
}

fn format() -> Result<Count> {
    component("fmt", "rustfmt")?;
    check(cargo(&["fmt", "--all", "--check"]))
}

fn lints() -> Result<Count> {
    component("clippy", "clippy")?;
    check(cargo(&["clippy", "--all-targets", "--", "-D", "warnings"]))
}

fn native() -> Result<Count> {
    tests(cargo(&["test", "--no-fail-fast"]).limit(minutes(25)))
}

fn page_lints() -> Result<Count> {
    let clippy = ["clippy", "--package", "terrarium-web", "--all-targets"];
    let deny = ["--", "-D", "warnings"];
    match WasmRust::ready()? {
        rust @ WasmRust::Default => {
            check(rust.on(cargo(&clippy).args(["--target", WASM]).args(deny)))
        }
        // The default toolchain's clippy cannot read what Debian's compiler has built, and Debian's
        // clippy is another version with other lints. The page's crates build natively as well, so
        // that is where its lints run.
        WasmRust::Debian(_) => check(cargo(&clippy).args(deny)),
    }
}

fn journey_lints() -> Result<Count> {
    let clippy = [
        "clippy",
        "--package",
        "terrarium-e2e",
        "--all-targets",
        "--features",
        "e2e",
    ];
    check(cargo(&clippy).args(["--", "-D", "warnings"]))
}

/// The core's own tests once more, compiled to wasm: same input, same trace, on every platform.
fn core_in_node() -> Result<Count> {
    tools::node()?;
    tests(wasm_pack(&["test", "--node", "core"])?)
}

fn page_in_browser() -> Result<Count> {
    let driver = tools::browser()?.driver;
    let tool = wasm_pack(&["test", "--headless", "--chrome", "--chromedriver"])?
        .args([driver.as_path(), Path::new("web")])
        .env("WASM_BINDGEN_TEST_TIMEOUT", "300")
        .env("WASM_BINDGEN_TEST_DRIVER_TIMEOUT", "60");
    tests(tool)
}

/// The runner's time limit does not hold in node, so ours must.
fn wasm_pack(args: &[&str]) -> Result<Tool> {
    let rust = WasmRust::ready()?;
    let tool = Tool::new(tools::wasm_pack()?, &place::root())
        .args(args)
        .limit(minutes(20));
    Ok(rust.on(tool.path(&tools::bindgen_folder()?)))
}

fn site() -> Result<Count> {
    dist::dist().map(Count::check)
}

fn end_to_end() -> Result<Count> {
    let out = place::target("screenshots");
    let site = place::root().join("dist");
    if !site.join("index.html").is_file() {
        return Err(Missing::new("the site in dist/", "cargo xtask dist").into());
    }
    let harness = Harness::start(vec![("", site.clone())])?;
    let _ = fs::remove_dir_all(&out);
    let command = [
        "test",
        "--package",
        "terrarium-e2e",
        "--features",
        "e2e",
        "--",
    ];
    let tool = cargo(&command)
        .args(["--test-threads", "2"])
        .env("RUST_LIB_BACKTRACE", "0");
    let count = tests(harness.tell(tool, &out))?;
    let seen = fs::read_to_string(out.join("first-load.txt")).unwrap_or_default();
    say(&budget::really(&seen, &dist::weighed(&site)?));
    let strays = budget::not_billed(&seen);
    for stray in &strays {
        complain(&format!(
            "{stray} loads at first, but xtask/src/budget.rs does not weigh it"
        ));
    }
    Ok(count.plus(Count::check(strays.is_empty())))
}

fn cargo(args: &[&str]) -> Tool {
    Tool::new("cargo", &place::root())
        .args(args)
        .limit(minutes(20))
}

fn check(tool: Tool) -> Result<Count> {
    Ok(Count::check(tool.watched()?.success()))
}

fn tests(tool: Tool) -> Result<Count> {
    let ended = tool.watched()?;
    Ok(Count::tests(&ended.out, ended.success()))
}

/// Makes sure of a part of the Rust toolchain that a minimal one lacks.
fn component(command: &str, component: &str) -> Result<()> {
    let there = || cargo(&[command, "--version"]).quiet().is_ok();
    if there() {
        return Ok(());
    }
    let get = format!("rustup component add {component}");
    if host::find(&["rustup"]).is_some() {
        say(&format!("Adding {component} with rustup (a few seconds)."));
        let _ = Tool::new("rustup", &place::root())
            .args(["component", "add", component])
            .run();
    }
    if there() {
        Ok(())
    } else {
        Err(Missing::new(component, get).into())
    }
}
