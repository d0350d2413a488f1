//! What can be wrong with a lesson file, and where.

use super::settings::SetError;
use crate::base::config::nearest;
use crate::sim::action::ActionError;
use serde::Serialize;
use std::fmt;
use std::sync::Arc;

/// A fault in a lesson file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct LoadError {
    /// The file, as it was called when it was read.
    pub file: Arc<str>,
    /// Line, from 1.
    pub line: u32,
    /// Column, from 1, in characters.
    pub column: u32,
    /// The entry: `consumer[2].config`, `at[0]`.
    pub entry: String,
    /// What is wrong with it.
    pub problem: Problem,
}

/// What is wrong with an entry.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Problem {
    /// The file is not TOML.
    Syntax {
        /// What the TOML parser says.
        message: String,
    },
    /// A name that nothing here has.
    UnknownName {
        /// What the name should name: `field`, `event`, `consumer`.
        kind: &'static str,
        /// The name that was given.
        name: String,
        /// The known name that looks most like it.
        nearest: Option<String>,
    },
    /// A name that is given twice.
    Duplicate {
        /// What it names.
        kind: &'static str,
        /// The name.
        name: String,
    },
    /// A field that must be there.
    Missing {
        /// The field.
        name: &'static str,
        /// What it holds.
        expected: &'static str,
    },
    /// A value that does not fit.
    Expected {
        /// What was expected.
        expected: String,
        /// What was found.
        found: String,
    },
    /// A setting that does not fit.
    Setting(SetError),
    /// An action that cannot be read.
    Action(ActionError),
    /// More than the simulator takes.
    TooMany {
        /// Of what.
        what: &'static str,
        /// How many there are.
        count: u64,
        /// How many there may be.
        count_max: u64,
    },
    /// Entries that do not go together.
    Contradiction {
        /// Why.
        reason: String,
    },
}

impl Problem {
    /// An unknown name with the nearest of the `known` ones.
    pub fn unknown<'a>(
        kind: &'static str,
        name: &str,
        known: impl Iterator<Item = &'a str>,
    ) -> Self {
        let nearest = nearest(name, known).map(str::to_owned);
        Self::UnknownName {
            kind,
            name: name.to_owned(),
            nearest,
        }
    }

    /// A value that is not what was `expected`.
    pub fn expected(expected: impl Into<String>, found: impl Into<String>) -> Self {
        Self::Expected {
            expected: expected.into(),
            found: found.into(),
        }
    }
}

impl fmt::Display for LoadError {
    /// `file:line:column: entry: problem`, as compilers write it.
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}:{}:{}: ", self.file, self.line, self.column)?;
        if !self.entry.is_empty() {
            write!(formatter, "{}: ", self.entry)?;
        }
        self.problem.fmt(formatter)
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Syntax { message } => write!(formatter, "not valid TOML: {message}"),
            Self::UnknownName {
                kind,
                name,
                nearest: Some(nearest),
            } => {
                write!(formatter, "unknown {kind} {name}; did you mean {nearest}?")
            }
            Self::UnknownName {
                kind,
                name,
                nearest: None,
            } => {
                write!(formatter, "unknown {kind} {name}")
            }
            Self::Duplicate { kind, name } => {
                write!(
                    formatter,
                    "there are two of {kind} {name}; each needs its own name"
                )
            }
            Self::Missing { name, expected } => {
                write!(formatter, "{name} is missing; expected {expected}")
            }
            Self::Expected { expected, found } => {
                write!(formatter, "expected {expected}, found {found}")
            }
            Self::Setting(error) => error.fmt(formatter),
            Self::Action(error) => error.fmt(formatter),
            Self::TooMany {
                what,
                count,
                count_max,
            } => {
                write!(formatter, "{count} {what}; at most {count_max} are allowed")
            }
            Self::Contradiction { reason } => formatter.write_str(reason),
        }
    }
}
