//! `terrarium hash`: the fingerprint of a run.

use crate::run::{RunOptions, start};
use crate::{Ending, Failure};
use clap::Args;
use std::io::Write;

/// What `terrarium hash` takes.
#[derive(Clone, Debug, Args)]
pub struct Options {
    /// The run.
    #[command(flatten)]
    pub run: RunOptions,
}

/// Prints the hash as 16 hexadecimal digits.
///
/// # Errors
/// The input is wrong, or the output cannot be written.
pub fn run(options: &Options, output: &mut impl Write) -> Result<Ending, Failure> {
    let (_, mut forecast) = start(&options.run)?;
    forecast.finish();
    writeln!(output, "{:016x}", forecast.sim().trace().digest())?;
    Ok(Ending::Met)
}
