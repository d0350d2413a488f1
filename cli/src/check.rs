//! `terrarium check`: whether lessons keep what they promise.

use crate::{Ending, Failure, load};
use clap::Args;
use std::io::Write;
use terrarium_core::lesson::grade::{self, CheckedRun};

/// What `terrarium check` takes.
#[derive(Clone, Debug, Args)]
pub struct Options {
    /// Lesson files.
    #[arg(required = true)]
    pub files: Vec<String>,
}

/// Prints one line a run, and beneath it what is wrong.
///
/// # Errors
/// Every fault in files that cannot be read as lessons, after the others have been checked.
pub fn run(options: &Options, output: &mut impl Write) -> Result<Ending, Failure> {
    let mut faults = Vec::new();
    let mut ending = Ending::Met;
    for path in &options.files {
        match load::lesson(path) {
            Ok(lesson) => {
                for checked in grade::check(&lesson) {
                    let word = if checked.faults.is_empty() {
                        "ok"
                    } else {
                        "FAULT"
                    };
                    writeln!(output, "{word:5} {path}: {}", checked.run)?;
                    if matches!(checked.run, CheckedRun::Wrong(_)) || !checked.faults.is_empty() {
                        for (goal, verdict) in &checked.goals {
                            writeln!(output, "      goal {goal}: {verdict}")?;
                        }
                    }
                    for fault in &checked.faults {
                        ending = Ending::NotMet;
                        writeln!(output, "      {fault}")?;
                    }
                }
            }
            Err(Failure::Input(more)) => faults.extend(more),
            Err(other) => faults.push(other.to_string()),
        }
    }
    if faults.is_empty() {
        return Ok(ending);
    }
    output.flush()?;
    Err(Failure::Input(faults))
}
