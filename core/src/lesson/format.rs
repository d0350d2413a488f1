//! A lesson and how it is read from its file.

mod cluster;
mod teaching;

use super::error::{LoadError, Problem};
use super::expression::{Expression, Moment};
use super::reader::{Reader, Table};
use super::settings::{self, Override, SetError};
use crate::kernel::time::{SimTime, Span};
use crate::sim::action::{self, ActionError};
use crate::sim::command::Command;
use crate::sim::measure::Query;
use crate::sim::scenario::Scenario;
use serde::Serialize;
use std::sync::Arc;
use toml::de::DeTable;

/// A lesson.
///
/// Fields called `text` are keys into the strings files.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Lesson {
    /// Its name in links.
    pub id: Arc<str>,
    /// Rises when a change makes old links mean something else.
    pub revision: u32,
    /// The Kafka version that it models.
    pub kafka: Arc<str>,
    /// The stage without a variant. [`Lesson::scenario`] gives the one of a run.
    pub base: Scenario,
    /// Kernel events that a run may cost.
    pub budget_events: u64,
    /// Where the page opens the lesson: the cluster runs by then.
    pub opens: SimTime,
    /// Other experiments on the same stage; the first is chosen until another is.
    pub variants: Vec<Variant>,
    /// What the learner may do and change.
    pub allow: Allow,
    /// Named segments.
    pub steps: Vec<Step>,
    /// Questions.
    pub questions: Vec<Question>,
    /// Goals.
    pub goals: Vec<Goal>,
    /// Misconceptions.
    pub traps: Vec<Trap>,
    /// Help, in the order of rungs for each goal.
    pub hints: Vec<Hint>,
    /// Attempts that must pass.
    pub solutions: Vec<Solution>,
    /// Attempts that must fail.
    pub wrong: Vec<Wrong>,
    /// Numbers for the debrief, by their names in its text.
    pub debrief: Vec<(Arc<str>, Query)>,
    /// Keys of the texts that say what the lesson leaves out.
    pub fidelity: Vec<String>,
}

/// An experiment: the lesson with some settings changed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Variant {
    /// Its name.
    pub id: Arc<str>,
    /// What it changes.
    pub set: Vec<Override>,
    /// Actions that it takes beside those of the lesson, in order of time.
    pub actions: Vec<(SimTime, Command)>,
    /// `variants.ID`.
    pub text: String,
}

/// What a learner may do and change.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Allow {
    /// Verbs of actions.
    pub actions: Vec<Arc<str>>,
    /// Setting paths; `*` stands for every name.
    pub settings: Vec<Arc<str>>,
}

/// A named segment of the run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Step {
    /// Its name.
    pub id: Arc<str>,
    /// Where it ends.
    pub until: Moment,
    /// `steps.ID`.
    pub text: String,
}

/// A question.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Question {
    /// Its name.
    pub id: Arc<str>,
    /// When the answer can no longer be changed.
    pub locks: Moment,
    /// When the right answer is shown; unset for the end of the run.
    pub reveals: Option<Moment>,
    /// The answers to choose from.
    pub options: Vec<Choice>,
    /// `predict.ID.question`.
    pub text: String,
}

/// An answer to choose.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Choice {
    /// Its name.
    pub id: Arc<str>,
    /// Right when this holds in the run.
    pub holds: Expression,
    /// `predict.QUESTION.options.ID`.
    pub text: String,
}

/// What a learner does for a goal.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Task {
    /// Watches the lesson's own run.
    Watch,
    /// Acts while it runs.
    Respond,
    /// Changes a setting.
    Change,
    /// Builds a run that shows something.
    Construct,
}

/// What the run must show.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Goal {
    /// Its name.
    pub id: Arc<str>,
    /// What the learner does for it.
    pub task: Task,
    /// Only this variant can reach it; unset for any.
    pub variant: Option<Arc<str>>,
    /// The expression.
    pub holds: Expression,
    /// `goals.ID`.
    pub text: String,
}

impl Goal {
    /// Whether a run of this variant can reach it.
    pub fn applies_to(&self, variant: Option<&str>) -> bool {
        self.variant
            .as_deref()
            .is_none_or(|wanted| variant == Some(wanted))
    }
}

/// A misconception with its own reply.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Trap {
    /// Its name.
    pub id: Arc<str>,
    /// The question.
    pub question: Arc<str>,
    /// The answer that gives it away.
    pub option: Arc<str>,
    /// `traps.ID`.
    pub text: String,
}

/// How much a hint gives away.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Rung {
    /// Look again.
    Nudge,
    /// Look here.
    Place,
    /// This rule is at work.
    Principle,
    /// A similar case, worked.
    Worked,
    /// The solution, without credit.
    Solution,
}

impl Rung {
    /// Every rung, lowest first, with its name.
    pub const ALL: [(&'static str, Self); 5] = [
        ("nudge", Self::Nudge),
        ("place", Self::Place),
        ("principle", Self::Principle),
        ("worked", Self::Worked),
        ("solution", Self::Solution),
    ];

    /// Its name.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Nudge => "nudge",
            Self::Place => "place",
            Self::Principle => "principle",
            Self::Worked => "worked",
            Self::Solution => "solution",
        }
    }
}

/// Help.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Hint {
    /// How much it gives away.
    pub rung: Rung,
    /// The goal that it helps with; unset for the lesson.
    pub goal: Option<Arc<str>>,
    /// Opens when the learner has worked so long.
    pub after: Span,
    /// Opens earlier, after so many failed attempts; unset when they do not count.
    pub failed: Option<u32>,
    /// `hints.GOAL.RUNG` or `hints.lesson.RUNG`.
    pub text: String,
}

/// Settings and actions on top of the lesson.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Attempt {
    /// The variant; unset for the first, if there is one.
    pub variant: Option<Arc<str>>,
    /// Settings that it changes.
    pub set: Vec<Override>,
    /// Its actions, in order of time.
    pub actions: Vec<(SimTime, Command)>,
}

/// An attempt that must pass.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Solution {
    /// Its name.
    pub id: Arc<str>,
    /// What it does.
    pub attempt: Attempt,
    /// The goals that it passes.
    pub passes: Vec<Arc<str>>,
    /// `solutions.ID`.
    pub text: String,
}

/// An attempt that must fail.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Wrong {
    /// Its name.
    pub id: Arc<str>,
    /// What it does.
    pub attempt: Attempt,
    /// The goal that must fail.
    pub fails: Arc<str>,
    /// `wrong.ID`.
    pub text: String,
}

/// Why a run of a lesson cannot be set up.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum SetupError {
    /// There is no such variant.
    UnknownVariant {
        /// The name that was given.
        name: String,
        /// The names that there are.
        known: Vec<Arc<str>>,
    },
    /// A setting cannot be changed so.
    Set(SetError),
    /// The settings do not go together.
    Scenario(Vec<String>),
    /// An action cannot be read.
    Action(ActionError),
}

impl std::fmt::Display for SetupError {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::UnknownVariant { name, known } if known.is_empty() => {
                write!(formatter, "unknown variant {name}; this lesson has none")
            }
            Self::UnknownVariant { name, known } => {
                write!(
                    formatter,
                    "unknown variant {name}; expected {}",
                    known.join(", ")
                )
            }
            Self::Set(error) => error.fmt(formatter),
            Self::Scenario(faults) => formatter.write_str(&faults.join("; ")),
            Self::Action(error) => error.fmt(formatter),
        }
    }
}

impl Lesson {
    /// Reads a lesson file. `file` is what messages call it.
    ///
    /// # Errors
    /// Every fault in the file, in the order of lines.
    pub fn parse(file: &str, text: &str) -> Result<Self, Vec<LoadError>> {
        let mut reader = Reader::new(file, text);
        let document = match DeTable::parse(text) {
            Ok(document) => document,
            Err(error) => {
                reader.syntax(&error);
                return Err(reader.errors);
            }
        };
        let mut lesson = None;
        if let Some(table) = reader.open_fields(document.get_ref(), 0, "", "lesson") {
            lesson = read(&mut reader, &table);
        }
        match lesson {
            Some(lesson) if reader.errors.is_empty() => Ok(lesson),
            Some(_) | None => {
                reader
                    .errors
                    .sort_by_key(|error| (error.line, error.column));
                reader.errors.dedup();
                Err(reader.errors)
            }
        }
    }

    /// The variant that runs when `variant` is chosen, or none is.
    ///
    /// # Errors
    /// There is no such variant.
    pub fn variant(&self, variant: Option<&str>) -> Result<Option<&Variant>, SetupError> {
        let Some(name) = variant else {
            return Ok(self.variants.first());
        };
        let found = self.variants.iter().find(|variant| &*variant.id == name);
        found.map(Some).ok_or_else(|| SetupError::UnknownVariant {
            name: name.to_owned(),
            known: self
                .variants
                .iter()
                .map(|variant| variant.id.clone())
                .collect(),
        })
    }

    /// The scenario of a run: the base, then the variant, then `set`.
    ///
    /// # Errors
    /// The variant is unknown, a setting does not fit, or they do not go together.
    pub fn scenario(
        &self,
        variant: Option<&str>,
        set: &[Override],
    ) -> Result<Scenario, SetupError> {
        let mut scenario = self.base.clone();
        let variant = self.variant(variant)?;
        let own = variant.map_or(&[][..], |variant| &variant.set);
        for (path, value) in own.iter().chain(set) {
            settings::apply(&mut scenario, path, value).map_err(SetupError::Set)?;
        }
        if let Some(variant) = variant {
            scenario.actions.extend(variant.actions.iter().cloned());
            scenario.actions.sort_by_key(|(at, _)| *at);
        }
        settings::validate(&scenario).map_err(SetupError::Scenario)?;
        Ok(scenario)
    }

    /// Whether a learner may take this action.
    pub fn allows_action(&self, command: &Command) -> bool {
        let verb = action::verb(command, &self.base);
        self.allow.actions.iter().any(|allowed| **allowed == *verb)
    }

    /// Whether a learner may change this setting.
    pub fn allows_setting(&self, path: &str) -> bool {
        self.allow
            .settings
            .iter()
            .any(|allowed| settings::covers(allowed, path))
    }

    /// The goals that a run of this variant can reach.
    pub fn goals_of<'a>(&'a self, variant: Option<&'a str>) -> impl Iterator<Item = &'a Goal> {
        let chosen = variant.or_else(|| self.variants.first().map(|variant| &*variant.id));
        self.goals
            .iter()
            .filter(move |goal| goal.applies_to(chosen))
    }

    /// Every key that the strings files must have.
    pub fn text_keys(&self) -> Vec<String> {
        let mut keys: Vec<String> = ["title", "summary", "debrief"]
            .into_iter()
            .map(String::from)
            .collect();
        keys.extend(self.variants.iter().map(|variant| variant.text.clone()));
        keys.extend(self.steps.iter().map(|step| step.text.clone()));
        for question in &self.questions {
            keys.push(question.text.clone());
            keys.extend(question.options.iter().map(|option| option.text.clone()));
        }
        keys.extend(self.goals.iter().map(|goal| goal.text.clone()));
        keys.extend(self.traps.iter().map(|trap| trap.text.clone()));
        keys.extend(self.hints.iter().map(|hint| hint.text.clone()));
        keys.extend(self.solutions.iter().map(|solution| solution.text.clone()));
        keys.extend(self.wrong.iter().map(|wrong| wrong.text.clone()));
        keys.extend(self.fidelity.iter().cloned());
        keys
    }
}

fn read<'a>(reader: &mut Reader<'a>, table: &Table<'a>) -> Option<Lesson> {
    reader.require(table, "format", "1")?;
    reader.number(table, "format", FORMAT..=FORMAT)?;
    let id = reader.required_text(table, "id", "the lesson's name in links");
    if let Some(id) = &id
        && (id.is_empty()
            || ID_CHARS_MAX < id.len()
            || !id
                .bytes()
                .all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-'))
    {
        let expected = "at most 60 lower-case letters, digits and hyphens";
        reader.fault_in(table, "id", Problem::expected(expected, format!("{id:?}")));
    }
    let kafka = reader.required_text(table, "kafka", "the Kafka version, such as 4.0");
    let revision = reader.small(table, "revision", 1).unwrap_or(1);
    let mut budget_events = BUDGET_EVENTS;
    if let Some(budget) = reader.table(table, "budget", "budget")
        && let Some(events) = reader.number(&budget, "events", 1..=BUDGET_EVENTS_MAX)
    {
        budget_events = u64::try_from(events).unwrap_or(BUDGET_EVENTS);
    }
    let base = cluster::read(reader, table)?;
    let opens = reader.span(table, "opens").unwrap_or_default();
    if base.until.0 < opens.0 {
        let found = opens.to_string();
        reader.fault_in(
            table,
            "opens",
            Problem::expected("a time before until", found),
        );
    }
    let teaching = teaching::read(reader, table, &base);
    Some(Lesson {
        id: id?,
        revision,
        kafka: kafka?,
        base,
        budget_events,
        opens: SimTime(opens.0),
        variants: teaching.variants,
        allow: teaching.allow,
        steps: teaching.steps,
        questions: teaching.questions,
        goals: teaching.goals,
        traps: teaching.traps,
        hints: teaching.hints,
        solutions: teaching.solutions,
        wrong: teaching.wrong,
        debrief: teaching.debrief,
        fidelity: teaching.fidelity,
    })
}

/// The version of the grammar.
const FORMAT: i64 = 1;
const ID_CHARS_MAX: usize = 60;
const BUDGET_EVENTS: u64 = 3_000_000;
const BUDGET_EVENTS_MAX: i64 = 100_000_000;

#[cfg(test)]
mod tests;
