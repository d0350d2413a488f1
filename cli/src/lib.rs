//! The commands of `terrarium`, one module each, and the reference page of lesson files.
//!
//! A command writes to the output that it is given and returns what the process should exit with:
//! met, not met, or a [`Failure`] for bad input.

pub mod assign;
pub mod check;
pub mod fuzz;
pub mod hash;
pub mod load;
pub mod partition;
pub mod reference;
pub mod run;

use std::fmt;
use std::process::ExitCode;

/// How a command ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ending {
    /// Everything is as it should be: exit code 0.
    Met,
    /// Something is not: exit code 1.
    NotMet,
}

/// Why a command could not do its work: exit code 2.
#[derive(Debug)]
pub enum Failure {
    /// The input is wrong. One line a fault, each with place and remedy.
    Input(Vec<String>),
    /// A file cannot be read or written.
    File {
        /// The file.
        path: String,
        /// Why.
        error: std::io::Error,
    },
    /// The output cannot be written.
    Output(std::io::Error),
}

impl Failure {
    /// One fault in the input.
    pub fn input(fault: impl Into<String>) -> Self {
        Self::Input(vec![fault.into()])
    }

    /// Whether the reader of the output has gone, as `head` does. That is no fault.
    pub fn is_closed_pipe(&self) -> bool {
        matches!(self, Self::Output(error) if error.kind() == std::io::ErrorKind::BrokenPipe)
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Input(faults) => formatter.write_str(&faults.join("\n")),
            Self::File { path, error } => write!(formatter, "{path}: {error}"),
            Self::Output(error) => write!(formatter, "the output cannot be written: {error}"),
        }
    }
}

impl From<std::io::Error> for Failure {
    fn from(error: std::io::Error) -> Self {
        Self::Output(error)
    }
}

impl From<Ending> for ExitCode {
    fn from(ending: Ending) -> Self {
        match ending {
            Ending::Met => Self::SUCCESS,
            Ending::NotMet => Self::from(1),
        }
    }
}
