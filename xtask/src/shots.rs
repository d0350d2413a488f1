//! `cargo xtask shots`: pictures of the page, to be looked at.

use std::path::PathBuf;

use anyhow::Result;
use clap::Args;

use crate::harness::Harness;
use crate::page::{self, Profile};
use crate::run::{Tool, minutes};
use crate::rust::WasmRust;
use crate::say::say;
use crate::{dist, place};

/// What `shots` takes.
#[derive(Debug, Args)]
pub(crate) struct Options {
    /// The folder for the pictures.
    #[arg(long)]
    out: PathBuf,
    /// Take them of a quick build of the sources instead of dist/.
    #[arg(long)]
    dev: bool,
    /// Routes of the page, like `#/lesson/barrier`; without any, the home page.
    routes: Vec<String>,
}

/// Builds the site and takes a picture of each route in each view.
pub(crate) fn shots(options: &Options) -> Result<bool> {
    let folders = if options.dev {
        let package = place::target("page/dev");
        page::build(&WasmRust::ready()?, Profile::Dev, &package)?;
        vec![("", place::root().join("static")), ("pkg/", package)]
    } else {
        dist::dist()?;
        vec![("", place::root().join("dist"))]
    };
    let out = std::path::absolute(&options.out)?;
    let harness = Harness::start(folders)?;
    say("Taking pictures (two to five seconds each; building for it cold: two minutes).");
    let tool = Tool::new("cargo", &place::root())
        .args(["run", "--package", "terrarium-e2e", "--bin", "shots", "--"])
        .args(&options.routes)
        .limit(minutes(30));
    harness.tell(tool, &out).run()?;
    Ok(true)
}
