//! A run as it is kept: in the browser's storage, and in files.

#[cfg(test)]
mod tests;

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The number of the format. A file with a higher one comes from a newer Terrarium.
pub(crate) const FORMAT: u32 = 1;

/// Everything that brings a run back: what it starts from, what was done, and where we are.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct SavedRun {
    /// Always [`FORMAT`].
    pub(crate) format: u32,
    /// The lesson; unset in the sandbox.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) lesson: Option<String>,
    /// The revision of the lesson.
    #[serde(default)]
    pub(crate) revision: u32,
    /// The variant of the lesson.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) variant: Option<String>,
    /// The seed.
    pub(crate) seed: u64,
    /// Settings that were changed: path and value.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) settings: Vec<(String, String)>,
    /// What was done, in the text form of actions.
    pub(crate) actions: Vec<String>,
    /// Where the playhead stands, in microseconds.
    pub(crate) playhead_us: u64,
    /// Answers to questions.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) answers: Vec<SavedAnswer>,
    /// Rungs of help that are open, by goal.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub(crate) hints: BTreeMap<String, u32>,
}

/// An answer to a question.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct SavedAnswer {
    /// The question.
    pub(crate) question: String,
    /// The option.
    pub(crate) option: String,
    /// When it was locked, in microseconds of the run; unset while it can be changed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) locked_us: Option<u64>,
}

/// What a page remembers of its visitor.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Prefs {
    /// The theme.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) theme: Option<String>,
    /// The language.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) locale: Option<String>,
}

/// What was done, by lesson.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct SavedProgress {
    /// By lesson: goals that have passed, goals in all.
    pub(crate) lessons: BTreeMap<String, (Vec<String>, u32)>,
}

impl SavedRun {
    /// The text that is kept.
    pub(crate) fn to_text(&self) -> String {
        serde_json::to_string_pretty(self).unwrap_or_default()
    }

    /// Reads a text that was kept.
    ///
    /// # Errors
    /// A sentence with the place and what was expected there.
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        let saved: Self = serde_json::from_str(text).map_err(|error| error.to_string())?;
        if saved.format != FORMAT {
            return Err(format!("format: expected {FORMAT}, found {}", saved.format));
        }
        Ok(saved)
    }
}
