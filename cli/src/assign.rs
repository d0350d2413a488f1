//! `terrarium assign`: what an assignor says to a case.

pub mod case;
pub mod wire;

use crate::{Ending, Failure};
use case::{Case, Outcome};
use clap::Args;
use serde::Serialize;
use std::io::{BufRead, Write};

/// What `terrarium assign` takes: cases come from its input.
#[derive(Clone, Copy, Debug, Args)]
pub struct Options {}

/// One line of output.
#[derive(Debug, Default, Serialize)]
struct Printed {
    #[serde(skip_serializing_if = "Option::is_none")]
    id: Option<String>,
    /// The number of a line without a readable case, from 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    line: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    assignment: Option<case::Answer>,
    #[serde(skip_serializing_if = "Option::is_none")]
    target: Option<case::Answer>,
    /// What is wrong with the case, or the exception that Kafka's assignor throws.
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<String>,
}

/// Reads one case a line and prints one answer a line. A case that cannot be answered gets an
/// error line, and the others are answered all the same.
///
/// # Errors
/// The faults again, once all lines have been read; or the output cannot be written.
pub fn run(
    _: Options,
    input: &mut impl BufRead,
    output: &mut impl Write,
) -> Result<Ending, Failure> {
    let mut faults = Vec::new();
    let mut text = Vec::new();
    for number in 1_u64.. {
        text.clear();
        let length = input.read_until(b'\n', &mut text);
        match length {
            Ok(0) => break,
            Ok(_) if text.iter().all(u8::is_ascii_whitespace) => continue,
            Ok(_) => {}
            Err(error) => {
                faults.push(format!("line {number}: the input cannot be read: {error}"));
                break;
            }
        }
        let (line, fault) = answer(&text, number);
        faults.extend(fault);
        serde_json::to_writer(&mut *output, &line).map_err(std::io::Error::from)?;
        writeln!(output)?;
    }
    if faults.is_empty() {
        Ok(Ending::Met)
    } else {
        Err(Failure::Input(faults))
    }
}

/// The answer to one line, and what is wrong with the line.
fn answer(text: &[u8], number: u64) -> (Printed, Option<String>) {
    let case = match serde_json::from_slice::<Case>(text) {
        Ok(case) => case,
        Err(error) => {
            // The line of a one-line text says nothing; its column does.
            let error = error
                .to_string()
                .replace(" at line 1 column ", ", at column ");
            let line = Printed {
                id: id_of(text),
                line: Some(number),
                error: Some(format!("no case: {error}")),
                ..Printed::default()
            };
            return (line, Some(format!("line {number}: no case: {error}")));
        }
    };
    let mut line = Printed {
        id: Some(case.id.clone()),
        ..Printed::default()
    };
    match case::answer(&case) {
        Ok(Outcome::Assigned { assignment, target }) => {
            line.assignment = Some(assignment);
            line.target = target;
            (line, None)
        }
        Ok(Outcome::Exception(exception)) => {
            line.error = Some(exception);
            (line, None)
        }
        Err(fault) => {
            line.error = Some(fault.clone());
            (line, Some(format!("line {number} ({}): {fault}", case.id)))
        }
    }
}

/// The id of an object that is no case, if it has one.
fn id_of(text: &[u8]) -> Option<String> {
    let object: serde_json::Value = serde_json::from_slice(text).ok()?;
    object.get("id")?.as_str().map(String::from)
}
