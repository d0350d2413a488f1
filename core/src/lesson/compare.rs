//! The same stage under several variants, side by side: who works on which partition when, where the
//! runs part, and what each costs.

use super::format::Lesson;
use super::link::{Link, LinkError};
use super::predict::Forecast;
use crate::base::ids::{CONSUMER_OFFSETS, TRANSACTION_STATE};
use crate::kernel::time::SimTime;
use crate::sim::ScenarioError;
use crate::sim::measure::{MeasureKind, Measures, Query, Strip};
use crate::trace::event::{TraceEntry, TraceEvent};
use std::fmt;
use std::sync::Arc;

/// Runs of one attempt, one a variant, on one clock.
#[derive(Clone, Debug)]
pub struct Comparison {
    runs: Vec<ComparedRun>,
    until: SimTime,
}

/// One of the runs that are compared.
#[derive(Clone, Debug)]
pub struct ComparedRun {
    /// Its variant.
    pub variant: Arc<str>,
    forecast: Forecast,
    measures: Measures,
    /// The next trace entry that the measures have not seen.
    cursor: u64,
    /// What matters of the trace, in order.
    milestones: Vec<TraceEntry>,
}

/// Why runs cannot be compared.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ComparisonError {
    /// The link does not fit a variant.
    Link(LinkError),
    /// The engine does not take a scenario.
    Scenario(ScenarioError),
}

impl fmt::Display for ComparisonError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Link(error) => error.fmt(formatter),
            Self::Scenario(error) => error.fmt(formatter),
        }
    }
}

/// Where runs part first.
#[derive(Clone, Copy, Debug)]
pub struct Difference<'a> {
    /// The run in which something happens that does not happen in all.
    pub run: &'a ComparedRun,
    /// What happens.
    pub entry: &'a TraceEntry,
}

impl Comparison {
    /// The run that `link` stands for, under each variant of the lesson.
    ///
    /// # Errors
    /// A run cannot be set up, or the engine does not take it.
    pub fn new(lesson: &Lesson, link: &Link) -> Result<Self, ComparisonError> {
        let mut runs = Vec::new();
        let mut until = SimTime::ZERO;
        for variant in &lesson.variants {
            let link = Link {
                variant: Some(variant.id.clone()),
                ..link.clone()
            };
            let opened = link.open(lesson).map_err(ComparisonError::Link)?;
            let scenario = Arc::new(opened.scenario);
            until = until.max(scenario.until);
            let measures = Measures::new(&scenario);
            let forecast = Forecast::new(lesson, Some(&variant.id), scenario, &opened.actions)
                .map_err(ComparisonError::Scenario)?;
            runs.push(ComparedRun {
                variant: variant.id.clone(),
                forecast,
                measures,
                cursor: 0,
                milestones: Vec::new(),
            });
        }
        Ok(Self { runs, until })
    }

    /// Handles at most `events_max` events, of the run that is furthest behind. Returns whether all
    /// are over.
    pub fn advance(&mut self, events_max: u32) -> bool {
        let behind = self.runs.iter_mut().filter(|run| !run.forecast.is_over());
        match behind.min_by_key(|run| run.forecast.sim().now()) {
            Some(run) => {
                run.advance(events_max);
                false
            }
            None => true,
        }
    }

    /// The runs, in the order of the lesson's variants.
    pub fn runs(&self) -> &[ComparedRun] {
        &self.runs
    }

    /// Where the clock ends.
    pub const fn until(&self) -> SimTime {
        self.until
    }

    /// How far all runs are.
    pub fn reached(&self) -> SimTime {
        let times = self.runs.iter().map(|run| run.forecast.sim().now());
        times.min().unwrap_or(SimTime::ZERO)
    }

    /// The first thing that does not happen alike in all runs; unset as long as there is none.
    pub fn first_difference(&self) -> Option<Difference<'_>> {
        let (first, others) = self.runs.split_first()?;
        let mut place = 0;
        loop {
            let here = first.milestones.get(place);
            let is_alike = others
                .iter()
                .all(|run| match (here, run.milestones.get(place)) {
                    (Some(one), Some(other)) => is_alike(one, other),
                    (None, None) => true,
                    (Some(_), None) | (None, Some(_)) => false,
                });
            if !is_alike {
                let reached = self.reached();
                let next = self.runs.iter().filter_map(|run| {
                    let entry = run.milestones.get(place)?;
                    Some(Difference { run, entry })
                });
                let first = next.min_by_key(|one| one.entry.at)?;
                // What a run has not come to yet may still happen in it.
                return (first.entry.at < reached || self.is_over()).then_some(first);
            }
            here?;
            place += 1;
        }
    }

    fn is_over(&self) -> bool {
        self.runs.iter().all(|run| run.forecast.is_over())
    }
}

impl ComparedRun {
    fn advance(&mut self, events_max: u32) {
        self.forecast.advance(events_max);
        let sim = self.forecast.sim();
        let own = [CONSUMER_OFFSETS, TRANSACTION_STATE];
        let topics = sim.scenario().topics.iter().map(|topic| &*topic.name);
        for name in topics.chain(own) {
            if let Some(id) = sim.topic_id(name) {
                self.measures.name_topic(name, id);
            }
        }
        for entry in sim.trace().since(self.cursor) {
            self.measures.observe(entry);
            if is_milestone(&entry.event) {
                self.milestones.push(entry.clone());
            }
        }
        self.cursor = sim.trace().next_index();
    }

    /// The run as far as it is.
    pub const fn forecast(&self) -> &Forecast {
        &self.forecast
    }

    /// A measure of the whole run so far.
    pub fn value(&self, kind: MeasureKind) -> i64 {
        let now = self.forecast.sim().now();
        self.measures.value_at(&Query::all(kind), now)
    }

    /// For each partition, who works on it when: members of groups, or where no group reads it, its
    /// leaders.
    pub fn strips(&self) -> Vec<Strip> {
        self.measures.strips(self.forecast.sim().now())
    }
}

/// Whether two runs do the same at the same instant.
fn is_alike(one: &TraceEntry, other: &TraceEntry) -> bool {
    (one.at, one.node, &one.event) == (other.at, other.node, &other.event)
}

/// Whether an event changes who works on what, or what is kept.
const fn is_milestone(event: &TraceEvent) -> bool {
    matches!(
        event,
        TraceEvent::ProcessStarted { .. }
            | TraceEvent::ProcessKilled { .. }
            | TraceEvent::ProcessStopped { .. }
            | TraceEvent::ProcessPaused { .. }
            | TraceEvent::PartitionsAssigned { .. }
            | TraceEvent::PartitionsRevoked { .. }
            | TraceEvent::PartitionsLost { .. }
            | TraceEvent::MemberRemoved { .. }
            | TraceEvent::CommitFailed { .. }
            | TraceEvent::FatalError { .. }
            | TraceEvent::LeaderElected { .. }
            | TraceEvent::IsrShrunk { .. }
            | TraceEvent::IsrExpanded { .. }
            | TraceEvent::Truncated { .. }
            | TraceEvent::BatchFailed { .. }
            | TraceEvent::BatchRetried { .. }
            | TraceEvent::DuplicateAppended { .. }
            | TraceEvent::RecordsDiscarded { .. }
            | TraceEvent::UnflushedTailLost { .. }
    )
}

#[cfg(test)]
mod tests {
    #[cfg(target_arch = "wasm32")]
    use wasm_bindgen_test::wasm_bindgen_test as test;

    use super::Comparison;
    use crate::kernel::time::SimTime;
    use crate::lesson::Lesson;
    use crate::lesson::link::Link;
    use crate::sim::measure::MeasureKind;

    const CRASH: &str = include_str!("../../../static/lessons/wait-and-crash.toml");

    fn compared() -> Comparison {
        let lesson = Lesson::parse("wait-and-crash.toml", CRASH).expect("a sound lesson");
        let link = Link::parse("#/lesson/wait-and-crash").expect("a link");
        let mut comparison = Comparison::new(&lesson, &link).expect("it can be run");
        assert!(
            comparison.first_difference().is_none(),
            "nothing has happened"
        );
        while !comparison.advance(2_000) {}
        comparison
    }

    #[test]
    fn strips_have_no_gap_and_are_dark_as_long_as_the_measure_says() {
        for run in compared().runs() {
            let end = run.forecast().sim().now();
            let mut dark = 0;
            for strip in run.strips() {
                for pair in strip.spans.windows(2) {
                    assert_eq!(pair[0].1, pair[1].0, "{strip:?}");
                    assert_ne!(pair[0].2, pair[1].2, "{strip:?}");
                }
                assert_eq!(
                    strip.spans.last().map(|span| span.1),
                    Some(end),
                    "{strip:?}"
                );
                let stops = strip.spans.iter().filter(|span| span.2.is_none());
                let stopped: u64 = stops.map(|(from, to, _)| to.since(*from).0).sum();
                if strip.group.is_some() {
                    dark += stopped;
                }
            }
            let stopped = run.value(MeasureKind::StoppedPartitionMs);
            assert!(
                i64::try_from(dark / 1_000).is_ok_and(|dark| dark == stopped),
                "{}: {dark} of {stopped}",
                run.variant
            );
        }
    }

    #[test]
    fn runs_are_alike_up_to_the_first_difference() {
        let comparison = compared();
        let difference = comparison.first_difference().expect("the variants differ");
        let at = difference.entry.at;
        assert!(SimTime::ZERO < at && at < comparison.until(), "at {at}");
        let before = comparison.runs().iter().map(|run| {
            let own = run.milestones.iter().filter(|entry| entry.at < at);
            own.map(|entry| (entry.at, entry.node, entry.event.clone()))
                .collect::<Vec<_>>()
        });
        let before: Vec<_> = before.collect();
        assert!(
            before.windows(2).all(|pair| pair[0] == pair[1]),
            "before {at}"
        );
    }
}
