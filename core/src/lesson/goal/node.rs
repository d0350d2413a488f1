//! One expression that follows a run.

use super::{Outcome, Verdict};
use crate::kernel::time::SimTime;
use crate::lesson::expression::{Bound, Condition, Expression, Moment, Operator, Window};
use crate::sim::measure::{MeasureKind, Measures, Nature};
use crate::trace::event::TraceEntry;

/// An expression and what it has seen.
#[derive(Clone, Debug)]
pub(super) enum Node {
    Over(Box<Leaf>),
    All(Vec<Self>),
    Any(Vec<Self>),
}

/// An operator over a window, and what it has seen.
#[derive(Clone, Debug)]
pub(super) struct Leaf {
    window: Window,
    operator: Operator,
    is_inside: bool,
    /// What the measures of the operator's conditions read where the window opened.
    bases: [i64; 2],
    /// Since when a bound is kept; unset while it is not.
    kept_since: Option<SimTime>,
    /// Events counted.
    count: u64,
    /// The first event that is not followed by its condition: its deadline and entry.
    pending: Option<(SimTime, u64)>,
    verdict: Verdict,
}

impl Node {
    pub(super) fn new(expression: &Expression) -> Self {
        match expression {
            Expression::Over(over) => Self::Over(Box::new(Leaf {
                window: over.window.clone(),
                operator: over.operator.clone(),
                is_inside: false,
                bases: [0; 2],
                kept_since: None,
                count: 0,
                pending: None,
                verdict: Verdict::default(),
            })),
            Expression::All(inner) => Self::All(inner.iter().map(Self::new).collect()),
            Expression::Any(inner) => Self::Any(inner.iter().map(Self::new).collect()),
        }
    }

    pub(super) fn verdict(&self) -> Verdict {
        match self {
            Self::Over(leaf) => leaf.verdict,
            Self::All(inner) => combine(inner, Outcome::Fail, Outcome::Pass),
            Self::Any(inner) => combine(inner, Outcome::Pass, Outcome::Fail),
        }
    }

    /// The clock reaches `at`; the entry at that instant, if any, has not been taken in.
    pub(super) fn pass_time(&mut self, at: SimTime, entry: Option<u64>, measures: &Measures) {
        self.each_open(&mut |leaf| leaf.pass_time(at, entry, measures));
    }

    /// An entry; `has_changed` says whether it moved any measure but the count of requests.
    pub(super) fn take(&mut self, entry: &TraceEntry, has_changed: bool, measures: &Measures) {
        self.each_open(&mut |leaf| leaf.take(entry, has_changed, measures));
    }

    /// The run is over.
    pub(super) fn finish(&mut self, now: SimTime, measures: &Measures) {
        self.each_open(&mut |leaf| {
            leaf.pass_time(now, None, measures);
            if leaf.verdict.outcome == Outcome::Open {
                leaf.close(now, None, measures);
            }
        });
    }

    /// The budget is spent.
    pub(super) fn give_up(&mut self, now: SimTime) {
        self.each_open(&mut |leaf| leaf.decide(Outcome::Unknown, now, None));
    }

    fn each_open(&mut self, change: &mut impl FnMut(&mut Leaf)) {
        match self {
            Self::Over(leaf) if leaf.verdict.outcome == Outcome::Open => change(leaf),
            Self::Over(_) => {}
            Self::All(inner) | Self::Any(inner) => {
                for node in inner {
                    node.each_open(change);
                }
            }
        }
    }
}

/// `deciding` as soon as one has it, the earliest; `other` once all have it, the latest.
fn combine(inner: &[Node], deciding: Outcome, other: Outcome) -> Verdict {
    let verdicts = || inner.iter().map(Node::verdict);
    let with = |outcome: Outcome| verdicts().filter(move |verdict| verdict.outcome == outcome);
    if let Some(first) = with(deciding).min_by_key(|verdict| (verdict.at, verdict.entry)) {
        return first;
    }
    if 0 < with(Outcome::Open).count() {
        return Verdict::default();
    }
    if let Some(unknown) = with(Outcome::Unknown).next() {
        return unknown;
    }
    with(other)
        .max_by_key(|verdict| (verdict.at, verdict.entry))
        .unwrap_or_default()
}

impl Leaf {
    fn decide(&mut self, outcome: Outcome, at: SimTime, entry: Option<u64>) {
        self.verdict = Verdict {
            outcome,
            at: Some(at),
            entry,
        };
    }

    fn is_open(&self) -> bool {
        self.verdict.outcome == Outcome::Open
    }

    fn pass_time(&mut self, at: SimTime, entry: Option<u64>, measures: &Measures) {
        if !self.is_inside {
            let opens_at = match self.window.from {
                None => SimTime::ZERO,
                Some(Moment::At(from)) => from,
                Some(Moment::On(_)) => return,
            };
            if at < opens_at {
                return;
            }
            self.open(opens_at.max(measures.now()), None, measures);
        }
        let closes_at = match self.window.to {
            Some(Moment::At(to)) if to < at => Some(to),
            Some(_) | None => None,
        };
        let limit = closes_at.unwrap_or(at);
        if self.is_open()
            && let (
                Operator::Hold {
                    span: Some(span), ..
                },
                Some(since),
            ) = (&self.operator, self.kept_since)
            && since + *span <= limit
        {
            self.decide(Outcome::Pass, since + *span, entry);
        }
        if self.is_open()
            && let Some((deadline, after)) = self.pending
            && deadline < limit
        {
            self.decide(Outcome::Fail, deadline, Some(after));
        }
        if self.is_open()
            && let Some(closes_at) = closes_at
        {
            self.close(closes_at, None, measures);
        }
    }

    fn take(&mut self, entry: &TraceEntry, has_changed: bool, measures: &Measures) {
        if !self.is_inside {
            if let Some(Moment::On(pattern)) = &self.window.from
                && pattern.matches(entry, measures)
            {
                self.open(entry.at, Some(entry.index), measures);
            }
            return;
        }
        if let Some(Moment::On(pattern)) = &self.window.to
            && pattern.matches(entry, measures)
        {
            self.close(entry.at, Some(entry.index), measures);
            return;
        }
        self.step(&Step {
            at: entry.at,
            entry: Some(entry),
            has_changed,
            measures,
        });
    }

    fn open(&mut self, at: SimTime, entry: Option<u64>, measures: &Measures) {
        self.is_inside = true;
        let base = |condition: &Condition| match condition {
            Condition::Measure(bound) => base_of(bound, at, measures),
            Condition::Event(_) => 0,
        };
        self.bases = match &self.operator {
            Operator::Reach(condition)
            | Operator::Never(condition)
            | Operator::Within { condition, .. } => [base(condition), 0],
            Operator::Hold { bound, .. } => [base_of(bound, at, measures), 0],
            Operator::Before(first, second) => [base(first), base(second)],
            Operator::Count { .. } => [0; 2],
        };
        self.step(&Step {
            at,
            entry: None,
            has_changed: true,
            measures,
        });
        if !self.is_open() && self.verdict.entry.is_none() {
            self.verdict.entry = entry;
        }
    }

    /// Looks at the conditions, at an entry or at an edge of the window.
    fn step(&mut self, step: &Step<'_>) {
        let index = step.entry.map(|entry| entry.index);
        let [base, second_base] = self.bases;
        match &self.operator {
            Operator::Reach(condition) => {
                if step.meets(condition, base) {
                    self.decide(Outcome::Pass, step.at, index);
                }
            }
            Operator::Never(condition) => {
                if step.meets(condition, base) {
                    self.decide(Outcome::Fail, step.at, index);
                }
            }
            Operator::Hold { bound, span } => match (step.keeps(bound, base), span) {
                (Some(true), _) => {
                    self.kept_since.get_or_insert(step.at);
                }
                (Some(false), None) => self.decide(Outcome::Fail, step.at, index),
                (Some(false), Some(_)) => self.kept_since = None,
                (None, _) => {}
            },
            Operator::Count { pattern, min, max } => {
                if step
                    .entry
                    .is_some_and(|entry| pattern.matches(entry, step.measures))
                {
                    self.count += 1;
                }
                if max.is_some_and(|max| max < self.count) {
                    self.decide(Outcome::Fail, step.at, index);
                } else if max.is_none() && *min <= self.count {
                    self.decide(Outcome::Pass, step.at, index);
                }
            }
            Operator::Before(first, second) => {
                if step.meets(first, base) {
                    self.decide(Outcome::Pass, step.at, index);
                } else if step.meets(second, second_base) {
                    self.decide(Outcome::Fail, step.at, index);
                }
            }
            Operator::Within {
                after,
                condition,
                span,
            } => {
                if step.meets(condition, base) {
                    self.pending = None;
                }
                if let Some(entry) = step.entry
                    && after.matches(entry, step.measures)
                {
                    self.count += 1;
                    let is_met = matches!(condition, Condition::Measure(bound)
                        if step.keeps(bound, base) == Some(true));
                    if !is_met {
                        self.pending.get_or_insert((step.at + *span, entry.index));
                    }
                }
            }
        }
    }

    fn close(&mut self, at: SimTime, entry: Option<u64>, measures: &Measures) {
        if !self.is_inside {
            // The window never opened, so nothing was shown.
            self.decide(Outcome::Fail, at, entry);
            return;
        }
        // Measures that move with time may have moved since the last entry.
        self.step(&Step {
            at,
            entry: None,
            has_changed: false,
            measures,
        });
        if !self.is_open() {
            return;
        }
        let passes = match &self.operator {
            Operator::Reach(_) | Operator::Before(..) | Operator::Hold { span: Some(_), .. } => {
                false
            }
            Operator::Never(_) | Operator::Hold { span: None, .. } => true,
            Operator::Count { min, .. } => *min <= self.count,
            Operator::Within { .. } => 0 < self.count && self.pending.is_none(),
        };
        let outcome = if passes { Outcome::Pass } else { Outcome::Fail };
        self.decide(outcome, at, entry);
    }
}

/// A look at the conditions.
struct Step<'a> {
    at: SimTime,
    /// The entry that has just been taken in; unset at an edge of the window.
    entry: Option<&'a TraceEntry>,
    has_changed: bool,
    measures: &'a Measures,
}

impl Step<'_> {
    fn meets(&self, condition: &Condition, base: i64) -> bool {
        match condition {
            Condition::Event(pattern) => self
                .entry
                .is_some_and(|entry| pattern.matches(entry, self.measures)),
            Condition::Measure(bound) => self.keeps(bound, base) == Some(true),
        }
    }

    /// Whether the bound is kept; unset when nothing can have changed since the last look.
    fn keeps(&self, bound: &Bound, base: i64) -> Option<bool> {
        let kind = bound.query.kind;
        let may_have_moved = match kind.nature() {
            Nature::Clock | Nature::Stopwatch => true,
            Nature::Counter | Nature::Gauge => self.has_changed || kind == MeasureKind::Requests,
        };
        let value = || {
            self.measures
                .value_at(&bound.query, self.at)
                .saturating_sub(base)
        };
        may_have_moved.then(|| bound.is_kept_by(value()))
    }
}

fn base_of(bound: &Bound, at: SimTime, measures: &Measures) -> i64 {
    match bound.query.kind.nature() {
        Nature::Counter | Nature::Clock => measures.value_at(&bound.query, at),
        Nature::Gauge | Nature::Stopwatch => 0,
    }
}
