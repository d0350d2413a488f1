//! Lessons: a scenario with questions, goals, hints and attempts, read from a file.
//!
//! - [`format`] reads a file into a [`Lesson`]; [`grammar`] lists what a file may hold.
//! - [`settings`] changes a scenario by setting path; [`crate::sim::action`] reads and writes actions.
//! - [`expression`] are goals as data; [`goal`] follows a run and judges them; [`predict`] runs a
//!   configuration ahead and knows the right answers; [`grade`] checks a lesson's promises.
//! - [`compare`] runs a lesson's variants side by side.
//! - [`link`] writes what a learner did as a text or a link, and reads it back.
//! - [`catalog`] lists the lessons by concept.
//! - [`strings`] reads the texts of a lesson in one language.
//!
//! No text for learners stands here: a lesson holds keys, the strings files hold the texts.

pub mod catalog;
pub mod compare;
pub mod error;
pub mod expression;
pub mod format;
pub mod goal;
pub mod grade;
pub mod grammar;
pub mod link;
pub mod predict;
mod reader;
pub mod settings;
pub mod strings;

pub use error::LoadError;
pub use format::Lesson;
pub use goal::{Grader, Outcome, Verdict};
