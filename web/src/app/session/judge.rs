//! What a lesson makes of the run: goals, questions, steps, and where play stops.

use crate::driver::playback::{Condition, Playback};
use crate::i18n::Catalog;
use crate::model::panels::{Goal, Outcome, Verdict};
use crate::model::ui::{Answer, LessonProgress, RunPlace};
use std::rc::Rc;
use std::sync::Arc;
use terrarium_core::kernel::time::{SimTime, Span};
use terrarium_core::lesson::expression::{Moment, Pattern};
use terrarium_core::lesson::{Grader, Lesson, Outcome as Known};
use terrarium_core::sim::scenario::Scenario;

/// Follows a run of a lesson.
pub(super) struct Judge {
    grader: Grader,
    /// Topics of the scenario that exist; patterns with a topic mean nothing before.
    topics_known: usize,
    /// Questions whose answer has been shown.
    revealed: usize,
    is_over: bool,
}

/// Where play is to stop by itself.
#[derive(Default)]
pub(super) struct Stops {
    /// At this instant.
    pub(super) at: Option<SimTime>,
    /// At the first event for which this holds.
    pub(super) when: Option<Condition>,
}

impl Judge {
    /// Follows a run of this variant.
    pub(super) fn new(lesson: &Lesson, variant: Option<&str>, scenario: &Scenario) -> Self {
        Self {
            grader: Grader::new(lesson, variant, scenario),
            topics_known: 0,
            revealed: 0,
            is_over: false,
        }
    }

    /// Takes in what has happened up to the playhead. Tells whether something came to be known on
    /// which the stops of play depend: a topic, or an answer.
    pub(super) fn follow(&mut self, playback: &Playback, until: SimTime) -> bool {
        let sim = playback.sim();
        let now = playback.playhead();
        self.grader
            .follow(sim.trace(), now, |name| sim.topic_id(name));
        self.is_over = until <= now;
        if self.is_over {
            self.grader.finish();
        }
        let topics = sim.scenario().topics.iter();
        let known = topics
            .filter(|topic| sim.topic_id(&topic.name).is_some())
            .count();
        let revealed = self
            .grader
            .questions()
            .filter(|one| one.revealed_at.is_some())
            .count();
        let was = (self.topics_known, self.revealed);
        (self.topics_known, self.revealed) = (known, revealed);
        was != (known, revealed)
    }

    /// Verdicts of the lesson's goals, in its order. One that this variant cannot reach is open.
    pub(super) fn goals(&self, lesson: &Lesson) -> Vec<Goal> {
        let verdicts = lesson.goals.iter().map(|goal| self.grader.goal(&goal.id));
        verdicts
            .map(|verdict| {
                let verdict = verdict.unwrap_or_default();
                Goal {
                    verdict: match verdict.outcome {
                        Known::Open | Known::Unknown => Verdict::Open,
                        Known::Pass => Verdict::Pass,
                        Known::Fail => Verdict::Fail,
                    },
                    decided_by: verdict.entry,
                    decided_at: verdict.at,
                }
            })
            .collect()
    }

    /// What is known of the questions.
    pub(super) fn outcomes(&self, lesson: &Lesson) -> Vec<Outcome> {
        let states = lesson.questions.iter().zip(self.grader.questions());
        states
            .map(|(question, state)| Outcome {
                is_open: state.locked_at.is_none(),
                right: state.revealed_at.map(|_| {
                    let right = self.grader.right_options(&question.id);
                    let options = question.options.iter().enumerate();
                    let holds = options.filter(|(_, option)| right.contains(&option.id));
                    holds.map(|(place, _)| place).collect()
                }),
            })
            .collect()
    }

    /// The question for whose answer time waits.
    pub(super) fn awaits(&self, answers: &[Answer]) -> Option<usize> {
        let mut states = self.grader.questions().zip(answers);
        states.position(|(state, answer)| state.locked_at.is_some() && answer.locked_at.is_none())
    }

    /// Where the first question without an answer stands, if the playhead is beyond it.
    pub(super) fn passed_question(&self, answers: &[Answer], now: SimTime) -> Option<SimTime> {
        let states = self.grader.questions().zip(answers);
        let open = states.filter(|(_, answer)| answer.locked_at.is_none());
        open.filter_map(|(state, _)| state.locked_at)
            .min()
            .filter(|at| *at < now)
    }

    /// The step in which the playhead stands; at the end of a step it is still in it, so that what
    /// the next one tells does not come before its time.
    pub(super) fn step_index(&self, now: SimTime) -> usize {
        let steps = self.grader.steps().count();
        let ended = |reached_at: Option<SimTime>| reached_at.is_some_and(|at| at < now);
        let passed = self.grader.steps().filter(|(_, at)| ended(*at)).count();
        passed.min(steps.saturating_sub(1))
    }

    /// Where play stops next: at the end of the step, and at a question without an answer.
    pub(super) fn stops(
        &self,
        lesson: &Lesson,
        place: &RunPlace,
        answers: &[Answer],
        now: SimTime,
    ) -> Stops {
        let questions = lesson
            .questions
            .iter()
            .zip(self.grader.questions())
            .zip(answers);
        let mut moments: Vec<Moment> = questions
            .filter(|((_, state), answer)| state.locked_at.is_none() && answer.locked_at.is_none())
            .map(|((question, _), _)| question.locks.clone())
            .collect();
        match place {
            // The home page goes through to the verdict, and a little beyond.
            RunPlace::Home(_) => {
                let first = self.grader.questions().next();
                let revealed_at = first.and_then(|question| question.revealed_at);
                let end = Self::home_end(lesson);
                let soon = revealed_at.map_or(end, |at| (at + AFTER_VERDICT).min(end));
                moments.push(Moment::At(soon));
            }
            RunPlace::Lesson(_) => {
                let next = self
                    .grader
                    .steps()
                    .find(|(_, reached_at)| reached_at.is_none());
                moments.extend(next.map(|(step, _)| step.until.clone()));
            }
            RunPlace::Sandbox => return Stops::default(),
        }
        let instants = moments.iter().filter_map(|moment| match moment {
            Moment::At(at) => Some(*at),
            Moment::On(_) => None,
        });
        let at = instants.filter(|at| now < *at).min();
        let patterns: Vec<Pattern> = moments
            .into_iter()
            .filter_map(|moment| match moment {
                Moment::At(_) => None,
                Moment::On(pattern) => Some(pattern),
            })
            .collect();
        let when = (!patterns.is_empty()).then(|| -> Condition {
            let measures = self.grader.measures().clone();
            Box::new(move |entry| patterns.iter().any(|one| one.matches(entry, &measures)))
        });
        Stops { at, when }
    }

    /// Where the home page's picture ends: with the last step that ends at an instant.
    pub(super) fn home_end(lesson: &Lesson) -> SimTime {
        let instants = lesson.steps.iter().filter_map(|step| match step.until {
            Moment::At(at) => Some(at),
            Moment::On(_) => None,
        });
        instants.max().unwrap_or(lesson.base.until)
    }

    /// The text of the end with the numbers of the run; empty before it. On the home page it
    /// comes with the answer.
    pub(super) fn debrief(&self, words: &Catalog, place: &RunPlace) -> Rc<str> {
        let is_told = match place {
            RunPlace::Home(_) => self.is_revealed(),
            RunPlace::Lesson(_) => {
                let mut steps = self.grader.steps().peekable();
                let has_steps = steps.peek().is_some();
                self.is_over || (has_steps && steps.all(|(_, reached_at)| reached_at.is_some()))
            }
            RunPlace::Sandbox => false,
        };
        if !is_told || !words.has("lesson.debrief") {
            return Rc::from("");
        }
        let numbers = self.grader.debrief();
        let numbers: Vec<(Arc<str>, String)> = numbers
            .into_iter()
            .map(|(id, number)| (id, number.to_string()))
            .collect();
        let args: Vec<(&str, &str)> = numbers
            .iter()
            .map(|(id, number)| (&**id, number.as_str()))
            .collect();
        Rc::from(words.text("lesson.debrief", &args))
    }

    /// Whether the first answer has been shown.
    fn is_revealed(&self) -> bool {
        let first = self.grader.questions().next();
        first.is_some_and(|question| question.revealed_at.is_some())
    }

    /// What has been done of the lesson, on top of what was known.
    pub(super) fn progress(&self, lesson: &Lesson, mut known: LessonProgress) -> LessonProgress {
        known.goal_count = u32::try_from(lesson.goals.len()).unwrap_or(u32::MAX);
        known
            .goals
            .retain(|id| lesson.goals.iter().any(|goal| *goal.id == **id));
        for (id, verdict) in self.grader.goals() {
            if verdict.outcome == Known::Pass && !known.goals.iter().any(|goal| **goal == **id) {
                known.goals.push(id.to_string());
            }
        }
        known
    }
}

/// How long the home page goes on after the verdict.
const AFTER_VERDICT: Span = Span(6_000_000);

/// Which hints may be opened now.
pub(super) fn hints_allowed(lesson: &Lesson, worked_ms: f64, attempts: u32) -> Vec<bool> {
    let worked = Span::from_micros(crate::scene::scale::whole(worked_ms * 1_000.0));
    let hints = lesson.hints.iter();
    hints
        .map(|hint| {
            let by_attempts = hint.failed.is_some_and(|failed| failed <= attempts);
            hint.after <= worked || by_attempts
        })
        .collect()
}
