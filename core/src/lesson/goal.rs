//! Judges a run: follows its trace and decides goals, answers and steps as soon as it can.
//!
//! A verdict depends on the trace and the clock alone, not on how often anybody asks. So the page
//! asks ten times a second, the command line once at the end, and both hear the same.

mod node;

use super::expression::{Moment, Pattern};
use super::format::{Lesson, Question, Step};
use crate::base::ids::{CONSUMER_OFFSETS, TopicId};
use crate::kernel::time::SimTime;
use crate::sim::measure::{Measures, Query};
use crate::sim::scenario::Scenario;
use crate::trace::buffer::TraceBuffer;
use crate::trace::event::TraceEntry;
use node::Node;
use serde::Serialize;
use std::sync::Arc;

/// What is known of a goal.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Outcome {
    /// Not decided yet.
    #[default]
    Open,
    /// Reached.
    Pass,
    /// Missed, whatever comes.
    Fail,
    /// Not decided when the budget was spent.
    Unknown,
}

/// What is known of a goal, and since when.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Verdict {
    /// What is known.
    pub outcome: Outcome,
    /// When it was decided; unset while it is not.
    pub at: Option<SimTime>,
    /// The trace entry that decided it; unset when time did.
    pub entry: Option<u64>,
}

/// A question in a run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct QuestionState {
    /// The question.
    pub id: Arc<str>,
    /// When its answer was locked; unset while it can be changed.
    pub locked_at: Option<SimTime>,
    /// When the right answer may be shown; unset before.
    pub revealed_at: Option<SimTime>,
    /// Whether each answer holds so far, in the order of the lesson.
    pub options: Vec<(Arc<str>, Verdict)>,
}

/// Follows one run of a lesson.
#[derive(Clone, Debug)]
pub struct Grader {
    run: Run,
    /// As it was at the start, for a run that went back or took another way.
    fresh: Arc<Run>,
}

#[derive(Clone, Debug)]
struct Run {
    measures: Measures,
    /// Names of topics whose ids are to be learnt.
    topics: Vec<Arc<str>>,
    /// Index of the next entry to take in.
    cursor: u64,
    /// The entry before the cursor.
    last: Option<TraceEntry>,
    /// How far it has followed the clock.
    now: SimTime,
    is_over: bool,
    goals: Vec<(Arc<str>, Node)>,
    steps: Vec<(Step, Option<SimTime>)>,
    questions: Vec<QuestionRun>,
    debrief: Vec<(Arc<str>, Query)>,
}

#[derive(Clone, Debug)]
struct QuestionRun {
    id: Arc<str>,
    locks: MomentRun,
    reveals: MomentRun,
    options: Vec<(Arc<str>, Node)>,
}

#[derive(Clone, Debug)]
struct MomentRun {
    /// Unset for the end of the run.
    moment: Option<Moment>,
    reached_at: Option<SimTime>,
}

impl Grader {
    /// Follows a run of this variant. Both must be those of [`Lesson::scenario`].
    pub fn new(lesson: &Lesson, variant: Option<&str>, scenario: &Scenario) -> Self {
        let names = scenario.topics.iter().map(|topic| topic.name.clone());
        let run = Run {
            measures: Measures::new(scenario),
            topics: names.chain([Arc::from(CONSUMER_OFFSETS)]).collect(),
            cursor: 0,
            last: None,
            now: SimTime::ZERO,
            is_over: false,
            goals: lesson
                .goals_of(variant)
                .map(|goal| (goal.id.clone(), Node::new(&goal.holds)))
                .collect(),
            steps: lesson
                .steps
                .iter()
                .map(|step| (step.clone(), None))
                .collect(),
            questions: lesson.questions.iter().map(QuestionRun::new).collect(),
            debrief: lesson.debrief.clone(),
        };
        Self {
            fresh: Arc::new(run.clone()),
            run,
        }
    }

    /// Takes in what has happened up to `now`. A trace that went back or took another way since
    /// the last call is followed from its start.
    ///
    /// `topic_id` gives the interned id of a topic's name.
    pub fn follow(
        &mut self,
        trace: &TraceBuffer,
        now: SimTime,
        topic_id: impl Fn(&str) -> Option<TopicId>,
    ) {
        let is_same = match self.run.last.as_ref() {
            Some(last) => trace.entry(last.index).is_none_or(|entry| entry == last),
            None => true,
        };
        if trace.next_index() < self.run.cursor || now < self.run.now || !is_same {
            self.run = (*self.fresh).clone();
        }
        self.run.follow(trace, now, topic_id);
    }

    /// The run is over: every window closes.
    pub fn finish(&mut self) {
        self.run.finish();
    }

    /// The budget is spent: what is open stays unknown.
    pub fn give_up(&mut self) {
        self.run.give_up();
    }

    /// Each goal that this run can reach.
    pub fn goals(&self) -> impl Iterator<Item = (&Arc<str>, Verdict)> {
        self.run.goals.iter().map(|(id, node)| (id, node.verdict()))
    }

    /// What is known of a goal; unset when this run cannot reach it.
    pub fn goal(&self, id: &str) -> Option<Verdict> {
        self.goals()
            .find(|(name, _)| ***name == *id)
            .map(|(_, verdict)| verdict)
    }

    /// Each step, and when it ended.
    pub fn steps(&self) -> impl Iterator<Item = (&Step, Option<SimTime>)> {
        self.run
            .steps
            .iter()
            .map(|(step, reached_at)| (step, *reached_at))
    }

    /// Each question.
    pub fn questions(&self) -> impl Iterator<Item = QuestionState> {
        self.run.questions.iter().map(QuestionRun::state)
    }

    /// The options of a question that hold.
    pub fn right_options(&self, question: &str) -> Vec<Arc<str>> {
        let asked = self
            .run
            .questions
            .iter()
            .filter(|asked| &*asked.id == question);
        asked
            .flat_map(|asked| &asked.options)
            .filter(|(_, node)| node.verdict().outcome == Outcome::Pass)
            .map(|(id, _)| id.clone())
            .collect()
    }

    /// The numbers of the run so far.
    pub const fn measures(&self) -> &Measures {
        &self.run.measures
    }

    /// The debrief's numbers so far.
    pub fn debrief(&self) -> Vec<(Arc<str>, i64)> {
        let value = |query: &Query| self.run.measures.value_at(query, self.run.now);
        self.run
            .debrief
            .iter()
            .map(|(id, query)| (id.clone(), value(query)))
            .collect()
    }

    /// How far it has followed the clock.
    pub const fn now(&self) -> SimTime {
        self.run.now
    }
}

impl Run {
    fn follow(
        &mut self,
        trace: &TraceBuffer,
        now: SimTime,
        topic_id: impl Fn(&str) -> Option<TopicId>,
    ) {
        if self.is_over {
            return;
        }
        let measures = &mut self.measures;
        self.topics.retain(|name| match topic_id(name) {
            Some(id) => {
                measures.name_topic(name, id);
                false
            }
            None => true,
        });
        if self.cursor < trace.first_index() {
            // What happened in the entries that the trace has dropped will never be known.
            self.give_up();
            return;
        }
        for entry in trace.since(self.cursor) {
            self.pass_time(entry.at, Some(entry.index));
            let has_changed = self.measures.observe(entry);
            self.take(entry, has_changed);
        }
        if self.cursor < trace.next_index() {
            self.cursor = trace.next_index();
            self.last = trace.entry(self.cursor - 1).cloned();
        }
        self.now = now;
        self.pass_time(now, None);
    }

    /// Decides what is decided by the clock reaching `at`, before the entry at that instant.
    fn pass_time(&mut self, at: SimTime, entry: Option<u64>) {
        let measures = &self.measures;
        self.now = self.now.max(at);
        for node in self.goals.iter_mut().map(|(_, node)| node) {
            node.pass_time(at, entry, measures);
        }
        for question in &mut self.questions {
            question.locks.pass_time(at);
            question.reveals.pass_time(at);
            for node in question.options.iter_mut().map(|(_, node)| node) {
                node.pass_time(at, entry, measures);
            }
        }
        let has_ended = |step: &Step| matches!(step.until, Moment::At(until) if until <= at);
        pass_steps(&mut self.steps, has_ended, at);
    }

    fn take(&mut self, entry: &TraceEntry, has_changed: bool) {
        let measures = &self.measures;
        for node in self.goals.iter_mut().map(|(_, node)| node) {
            node.take(entry, has_changed, measures);
        }
        for question in &mut self.questions {
            question.locks.take(entry, measures);
            question.reveals.take(entry, measures);
            for node in question.options.iter_mut().map(|(_, node)| node) {
                node.take(entry, has_changed, measures);
            }
        }
        let ends = |pattern: &Pattern| pattern.matches(entry, measures);
        pass_steps(
            &mut self.steps,
            |step| matches!(&step.until, Moment::On(pattern) if ends(pattern)),
            entry.at,
        );
    }

    fn finish(&mut self) {
        if self.is_over {
            return;
        }
        self.is_over = true;
        let (measures, now) = (&self.measures, self.now);
        for node in self.goals.iter_mut().map(|(_, node)| node) {
            node.finish(now, measures);
        }
        for question in &mut self.questions {
            question.locks.finish(now);
            question.reveals.finish(now);
            for node in question.options.iter_mut().map(|(_, node)| node) {
                node.finish(now, measures);
            }
        }
    }

    fn give_up(&mut self) {
        self.is_over = true;
        let options = self
            .questions
            .iter_mut()
            .flat_map(|question| &mut question.options);
        for (_, node) in self.goals.iter_mut().chain(options) {
            node.give_up(self.now);
        }
    }
}

/// Ends the current step, and each after it, as long as `has_ended` says so. A step that ends
/// with an event waits for one after the step before it.
fn pass_steps(
    steps: &mut [(Step, Option<SimTime>)],
    has_ended: impl Fn(&Step) -> bool,
    at: SimTime,
) {
    let mut previous = SimTime::ZERO;
    for (step, reached_at) in steps {
        if let Some(reached_at) = *reached_at {
            previous = reached_at;
            continue;
        }
        if !has_ended(step) {
            return;
        }
        let (end, is_event) = match step.until {
            Moment::At(until) => (until.max(previous), false),
            Moment::On(_) => (at, true),
        };
        *reached_at = Some(end);
        previous = end;
        if is_event {
            return;
        }
    }
}

impl QuestionRun {
    fn new(question: &Question) -> Self {
        let options = question.options.iter();
        Self {
            id: question.id.clone(),
            locks: MomentRun {
                moment: Some(question.locks.clone()),
                reached_at: None,
            },
            reveals: MomentRun {
                moment: question.reveals.clone(),
                reached_at: None,
            },
            options: options
                .map(|choice| (choice.id.clone(), Node::new(&choice.holds)))
                .collect(),
        }
    }

    fn state(&self) -> QuestionState {
        QuestionState {
            id: self.id.clone(),
            locked_at: self.locks.reached_at,
            revealed_at: self.reveals.reached_at,
            options: self
                .options
                .iter()
                .map(|(id, node)| (id.clone(), node.verdict()))
                .collect(),
        }
    }
}

impl MomentRun {
    fn pass_time(&mut self, at: SimTime) {
        if let Some(Moment::At(moment)) = self.moment
            && moment <= at
            && self.reached_at.is_none()
        {
            self.reached_at = Some(moment);
        }
    }

    fn take(&mut self, entry: &TraceEntry, measures: &Measures) {
        if let Some(Moment::On(pattern)) = &self.moment
            && self.reached_at.is_none()
            && pattern.matches(entry, measures)
        {
            self.reached_at = Some(entry.at);
        }
    }

    fn finish(&mut self, now: SimTime) {
        self.reached_at.get_or_insert(now);
    }
}

#[cfg(test)]
mod tests;
