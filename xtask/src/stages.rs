//! `cargo xtask test`.
use anyhow::{Result, bail};
use clap::Args;

/// What `test` takes.
#[derive(Debug, Args)]
pub(crate) struct Options {
    /// Leave out the browser and wasm.
    #[arg(long)]
    fast: bool,
}

pub(crate) fn test(options: &Options) -> Result<bool> {
    bail!("{}", options.fast)
}
