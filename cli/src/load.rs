//! Reads lesson files and what a learner did.

use crate::Failure;
use terrarium_core::lesson::Lesson;

/// The lesson in a file.
///
/// # Errors
/// The file cannot be read, or every fault in it.
pub fn lesson(path: &str) -> Result<Lesson, Failure> {
    let text = text(path)?;
    Lesson::parse(path, &text)
        .map_err(|errors| Failure::Input(errors.iter().map(ToString::to_string).collect()))
}

/// A text file.
///
/// # Errors
/// The file cannot be read as text.
pub fn text(path: &str) -> Result<String, Failure> {
    std::fs::read_to_string(path).map_err(|error| Failure::File {
        path: path.to_owned(),
        error,
    })
}
