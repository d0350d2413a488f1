//! Checks a lesson: its questions have one right answer, its solutions pass, its wrong attempts
//! fail for the goal that they name.

use super::format::{Attempt, Lesson};
use super::goal::{Outcome, Verdict};
use super::predict::{Forecast, ForecastError, Refusal};
use std::fmt;
use std::sync::Arc;

/// One run of a check.
#[derive(Clone, Debug)]
pub struct Checked {
    /// What was run.
    pub run: CheckedRun,
    /// The goals that the run could reach.
    pub goals: Vec<(Arc<str>, Verdict)>,
    /// What is wrong; empty when it is as it should be.
    pub faults: Vec<Fault>,
}

/// What was run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CheckedRun {
    /// The lesson without a learner, in a variant if it has some.
    Untouched(Option<Arc<str>>),
    /// A solution.
    Solution(Arc<str>),
    /// A wrong attempt.
    Wrong(Arc<str>),
}

/// What is wrong with a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fault {
    /// It cannot begin.
    CannotRun(String),
    /// An action was impossible.
    Refused(Refusal),
    /// A goal that should pass does not.
    DoesNotPass(Arc<str>, Verdict),
    /// A goal that should fail does not.
    DoesNotFail(Arc<str>, Verdict),
    /// A goal belongs to another variant.
    NotReachable(Arc<str>),
    /// A question does not have one right answer.
    NotOneAnswer(Arc<str>, Vec<Arc<str>>),
    /// A question locks too late to be a prediction, or never.
    NeverLocks(Arc<str>),
    /// A step does not end.
    NeverEnds(Arc<str>),
}

impl fmt::Display for CheckedRun {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Untouched(None) => formatter.write_str("questions"),
            Self::Untouched(Some(variant)) => write!(formatter, "questions, variant {variant}"),
            Self::Solution(id) => write!(formatter, "solution {id}"),
            Self::Wrong(id) => write!(formatter, "wrong {id}"),
        }
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::CannotRun(reason) => formatter.write_str(reason),
            Self::Refused(Refusal { number, at, error }) => {
                write!(formatter, "action {number} at {at} is impossible: {error}")
            }
            Self::DoesNotPass(goal, verdict) => {
                write!(formatter, "goal {goal} must pass: {verdict}")
            }
            Self::DoesNotFail(goal, verdict) => {
                write!(formatter, "goal {goal} must fail: {verdict}")
            }
            Self::NotReachable(goal) => write!(formatter, "goal {goal} is not for this variant"),
            Self::NotOneAnswer(question, right) => write!(
                formatter,
                "question {question} needs one right answer; right are: {}",
                if right.is_empty() {
                    String::from("none")
                } else {
                    right.join(", ")
                }
            ),
            Self::NeverLocks(question) => {
                write!(
                    formatter,
                    "question {question} does not lock before it is answered"
                )
            }
            Self::NeverEnds(step) => write!(formatter, "step {step} does not end"),
        }
    }
}

impl fmt::Display for Verdict {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self.outcome {
            Outcome::Open => "open",
            Outcome::Pass => "pass",
            Outcome::Fail => "fail",
            Outcome::Unknown => "unknown (budget spent)",
        })?;
        if let Some(at) = self.at {
            write!(formatter, " at {at}")?;
        }
        match self.entry {
            Some(entry) => write!(formatter, ", trace entry {entry}"),
            None => Ok(()),
        }
    }
}

/// Runs everything that a lesson promises.
pub fn check(lesson: &Lesson) -> Vec<Checked> {
    let mut checked = Vec::new();
    if lesson.variants.is_empty() {
        checked.push(check_untouched(lesson, None));
    }
    for variant in &lesson.variants {
        checked.push(check_untouched(lesson, Some(&variant.id)));
    }
    for solution in &lesson.solutions {
        let run = CheckedRun::Solution(solution.id.clone());
        checked.push(check_attempt(lesson, run, &solution.attempt, |goals| {
            let passes = solution.passes.iter();
            passes
                .filter_map(|goal| fault(goals, goal, Outcome::Pass))
                .collect()
        }));
    }
    for wrong in &lesson.wrong {
        let run = CheckedRun::Wrong(wrong.id.clone());
        checked.push(check_attempt(lesson, run, &wrong.attempt, |goals| {
            fault(goals, &wrong.fails, Outcome::Fail)
                .into_iter()
                .collect()
        }));
    }
    checked
}

fn fault(goals: &[(Arc<str>, Verdict)], goal: &Arc<str>, wanted: Outcome) -> Option<Fault> {
    match goals.iter().find(|(id, _)| id == goal) {
        None => Some(Fault::NotReachable(goal.clone())),
        Some((_, verdict)) if verdict.outcome == wanted => None,
        Some((_, verdict)) if wanted == Outcome::Pass => {
            Some(Fault::DoesNotPass(goal.clone(), *verdict))
        }
        Some((_, verdict)) => Some(Fault::DoesNotFail(goal.clone(), *verdict)),
    }
}

fn check_untouched(lesson: &Lesson, variant: Option<&Arc<str>>) -> Checked {
    let run = CheckedRun::Untouched(variant.cloned());
    let attempt = Attempt {
        variant: variant.cloned(),
        ..Attempt::default()
    };
    let mut forecast = match Forecast::of_attempt(lesson, &attempt) {
        Ok(forecast) => forecast,
        Err(error) => return cannot_run(run, &error),
    };
    forecast.finish();
    let mut faults = Vec::new();
    for question in forecast.grader().questions() {
        let right = forecast.right_options(&question.id);
        if right.len() != 1 {
            faults.push(Fault::NotOneAnswer(question.id.clone(), right));
        }
        let end = forecast.sim().now();
        let revealed_at = question.revealed_at.unwrap_or(end);
        if question
            .locked_at
            .is_none_or(|locked_at| revealed_at <= locked_at)
        {
            faults.push(Fault::NeverLocks(question.id));
        }
    }
    let unended = forecast
        .grader()
        .steps()
        .filter(|(_, reached_at)| reached_at.is_none());
    faults.extend(unended.map(|(step, _)| Fault::NeverEnds(step.id.clone())));
    Checked {
        run,
        goals: forecast.verdicts(),
        faults,
    }
}

fn check_attempt(
    lesson: &Lesson,
    run: CheckedRun,
    attempt: &Attempt,
    judge: impl FnOnce(&[(Arc<str>, Verdict)]) -> Vec<Fault>,
) -> Checked {
    let mut forecast = match Forecast::of_attempt(lesson, attempt) {
        Ok(forecast) => forecast,
        Err(error) => return cannot_run(run, &error),
    };
    forecast.finish();
    let goals = forecast.verdicts();
    let mut faults: Vec<Fault> = forecast
        .refused()
        .iter()
        .cloned()
        .map(Fault::Refused)
        .collect();
    faults.extend(judge(&goals));
    Checked { run, goals, faults }
}

fn cannot_run(run: CheckedRun, error: &ForecastError) -> Checked {
    let faults = vec![Fault::CannotRun(error.to_string())];
    Checked {
        run,
        goals: Vec::new(),
        faults,
    }
}
