//! `cargo xtask shots`: pictures of the page, to be looked at.

use std::path::PathBuf;

use anyhow::{Result, bail};
use clap::Args;

/// What `shots` takes.
#[derive(Debug, Args)]
pub(crate) struct Options {
    /// The folder for the pictures.
    #[arg(long)]
    out: PathBuf,
    /// Routes of the page, like `#/lesson/barrier`; without any, the home page.
    routes: Vec<String>,
}

pub(crate) fn shots(options: &Options) -> Result<bool> {
    bail!("{} {}", options.out.display(), options.routes.len())
}
