//! A run as it is kept: in the browser's storage, and in files.

#[cfg(test)]
mod tests;

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use terrarium_core::lesson::Lesson;
use terrarium_core::lesson::link::Link;

/// A run as it is kept. Its text is a recording as `terrarium grade` reads it, with one line more
/// for the page, which is a comment to everybody else.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct SavedRun {
    /// What was set and done.
    pub(crate) link: Link,
    /// Where we are.
    pub(crate) page: SavedPage,
}

/// Where a learner is in a run.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct SavedPage {
    /// Where the playhead stands, in microseconds.
    #[serde(default)]
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

/// What the page's line begins with.
const PAGE: &str = "# page ";

impl SavedRun {
    /// The text that is kept.
    pub(crate) fn to_text(&self) -> String {
        let page = serde_json::to_string(&self.page).unwrap_or_default();
        format!("{}{PAGE}{page}\n", self.link.to_text())
    }

    /// Reads a text that was kept, or a recording or link of any origin.
    ///
    /// # Errors
    /// A sentence with the line and what was expected there.
    pub(crate) fn parse(text: &str, lesson: &Lesson) -> Result<Self, String> {
        let link = Link::from_text(text, lesson).map_err(|error| error.to_string())?;
        let page = text.lines().find_map(|line| line.strip_prefix(PAGE));
        let page = page.map(serde_json::from_str).transpose();
        let page = page.map_err(|error| format!("{PAGE}…: {error}"))?;
        Ok(Self {
            link,
            page: page.unwrap_or_default(),
        })
    }
}
