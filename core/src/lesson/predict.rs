//! Runs a configuration to its end, to know what is right before a learner has seen it.
//!
//! The page runs a forecast in slices beside the run on the stage; the command line runs it in
//! one go. It gives the right answers, where the steps end, and every verdict.

use super::format::{Attempt, Lesson, SetupError};
use super::goal::{Grader, Verdict};
use crate::kernel::time::SimTime;
use crate::sim::command::{Command, CommandError};
use crate::sim::scenario::Scenario;
use crate::sim::{ScenarioError, Sim};
use serde::Serialize;
use std::collections::VecDeque;
use std::fmt;
use std::sync::Arc;

/// A run that goes ahead of the learner's.
#[derive(Clone, Debug)]
pub struct Forecast {
    sim: Sim,
    grader: Grader,
    /// Actions that are still to come.
    actions: VecDeque<(SimTime, Command)>,
    /// How many actions have been taken.
    taken: u32,
    refused: Vec<Refusal>,
    budget_events: u64,
    until: SimTime,
    is_over: bool,
}

/// An action that was impossible when its time came.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Refusal {
    /// Its number among the actions, from 1.
    pub number: u32,
    /// Its time.
    pub at: SimTime,
    /// Why.
    pub error: CommandError,
}

/// Why a run cannot begin.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ForecastError {
    /// Variant and settings cannot be set up.
    Setup(SetupError),
    /// The engine does not take the scenario.
    Scenario(ScenarioError),
}

impl fmt::Display for ForecastError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Setup(error) => error.fmt(formatter),
            Self::Scenario(error) => error.fmt(formatter),
        }
    }
}

impl Forecast {
    /// A run of `scenario`, which is the lesson's with this variant, with the learner's actions.
    ///
    /// # Errors
    /// The engine does not take the scenario.
    pub fn new(
        lesson: &Lesson,
        variant: Option<&str>,
        scenario: Arc<Scenario>,
        actions: &[(SimTime, Command)],
    ) -> Result<Self, ScenarioError> {
        let grader = Grader::new(lesson, variant, &scenario);
        let until = scenario.until;
        Ok(Self {
            sim: Sim::new(scenario)?,
            grader,
            actions: actions.iter().cloned().collect(),
            taken: 0,
            refused: Vec::new(),
            budget_events: lesson.budget_events,
            until,
            is_over: false,
        })
    }

    /// A run of an attempt.
    ///
    /// # Errors
    /// It cannot be set up.
    pub fn of_attempt(lesson: &Lesson, attempt: &Attempt) -> Result<Self, ForecastError> {
        let variant = attempt.variant.as_deref();
        let scenario = lesson
            .scenario(variant, &attempt.set)
            .map_err(ForecastError::Setup)?;
        Self::new(lesson, variant, Arc::new(scenario), &attempt.actions)
            .map_err(ForecastError::Scenario)
    }

    /// When the next event or action is due; unset when nothing is.
    pub fn next_at(&self) -> Option<SimTime> {
        let due = self.sim.next_due();
        let action = self.actions.front().map(|(at, _)| *at);
        [due, action].into_iter().flatten().min()
    }

    /// Handles at most `events_max` events. Returns whether the run is over.
    pub fn advance(&mut self, events_max: u32) -> bool {
        for _ in 0..events_max {
            if self.is_over || !self.advance_by_one() {
                break;
            }
        }
        self.follow();
        self.is_over
    }

    /// Runs to the end.
    pub fn finish(&mut self) {
        while !self.advance(SLICE_EVENTS) {}
    }

    /// One event or action; false when the run is over.
    fn advance_by_one(&mut self) -> bool {
        if self.budget_events <= self.sim.event_count() {
            self.follow();
            self.grader.give_up();
            self.is_over = true;
            return false;
        }
        let next_action = self
            .actions
            .front()
            .map(|(at, _)| *at)
            .filter(|at| *at <= self.until);
        let stop = next_action.unwrap_or(self.until);
        if self.sim.next_due().is_some_and(|due| due <= stop) {
            if self.sim.step().is_some() {
                return true;
            }
        } else {
            self.sim.advance_clock(stop);
        }
        match self.actions.pop_front().filter(|(at, _)| *at <= self.until) {
            Some((at, command)) if !self.sim.is_stuck() => {
                self.taken += 1;
                if let Err(error) = self.sim.check(&command) {
                    self.refused.push(Refusal {
                        number: self.taken,
                        at,
                        error,
                    });
                }
                self.sim.apply_recorded(command);
                true
            }
            Some(_) | None => {
                self.follow();
                self.grader.finish();
                self.is_over = true;
                false
            }
        }
    }

    fn follow(&mut self) {
        let sim = &self.sim;
        self.grader
            .follow(sim.trace(), sim.now(), |name| sim.topic_id(name));
    }

    /// Whether the run is over.
    pub const fn is_over(&self) -> bool {
        self.is_over
    }

    /// The run, as far as it has come.
    pub const fn sim(&self) -> &Sim {
        &self.sim
    }

    /// What is known of goals, steps and questions.
    pub const fn grader(&self) -> &Grader {
        &self.grader
    }

    /// Actions that were impossible.
    pub fn refused(&self) -> &[Refusal] {
        &self.refused
    }

    /// The right options of a question, once the run is over.
    pub fn right_options(&self, question: &str) -> Vec<Arc<str>> {
        self.grader.right_options(question)
    }

    /// Where each step ends; unset where it does not.
    pub fn step_times(&self) -> Vec<Option<SimTime>> {
        self.grader
            .steps()
            .map(|(_, reached_at)| reached_at)
            .collect()
    }

    /// Each goal with its verdict.
    pub fn verdicts(&self) -> Vec<(Arc<str>, Verdict)> {
        self.grader
            .goals()
            .map(|(id, verdict)| (id.clone(), verdict))
            .collect()
    }
}

/// Events between two looks at the trace, so that no entry is dropped unseen.
const SLICE_EVENTS: u32 = 20_000;

#[cfg(test)]
mod tests;
