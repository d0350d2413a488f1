//! What came of a run, as text and as JSON.

use serde::Serialize;
use std::io::{self, Write};
use std::sync::Arc;
use terrarium_core::base::ids::ClientId;
use terrarium_core::kernel::time::SimTime;
use terrarium_core::lesson::Outcome;
use terrarium_core::lesson::format::{Lesson, Task};
use terrarium_core::lesson::predict::Forecast;
use terrarium_core::sim::measure::{MeasureKind, Query};
use terrarium_core::sim::metrics::Sample;
use terrarium_core::sim::scenario::Scenario;
use terrarium_core::sim::simulation::Sim;

/// What came of a run.
#[derive(Debug, Serialize)]
pub(super) struct Report {
    lesson: Arc<str>,
    revision: u32,
    kafka: Arc<str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    variant: Option<Arc<str>>,
    seed: u64,
    /// Where the run ended, in microseconds.
    ended_at_us: SimTime,
    events: u64,
    trace_entries: u64,
    hash: String,
    met: bool,
    goals: Vec<GoalLine>,
    questions: Vec<QuestionLine>,
    steps: Vec<StepLine>,
    measures: Vec<MeasureLine>,
    /// Kafka's metrics at the end.
    metrics: Vec<MetricLine>,
}

/// A value of one of Kafka's metrics.
#[derive(Debug, Serialize)]
pub(super) struct MetricLine {
    /// The instant, in microseconds.
    at_us: SimTime,
    metric: &'static str,
    node: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    partition: Option<String>,
    value: i64,
    /// Whether the value is an alarm.
    alarm: bool,
}

/// Kafka's metrics now, as of `at`. Partitions of Kafka's own topics are left out.
pub(super) fn metrics(sim: &Sim, at: SimTime) -> Vec<MetricLine> {
    let of = |sample: Sample| {
        let topic = sample.topic_partition.map(|id| sim.topic_name(id.topic));
        let name = sample
            .topic_partition
            .zip(topic)
            .map(|(id, topic)| format!("{topic}-{}", id.partition));
        let is_own = topic.is_some_and(|topic| topic.starts_with("__"));
        (!is_own).then(|| MetricLine {
            at_us: at,
            metric: sample.jmx,
            node: sim.scenario().node_name(sample.node),
            partition: name,
            value: sample.value,
            alarm: sample.is_alarm,
        })
    };
    sim.metrics().into_iter().filter_map(of).collect()
}

#[derive(Debug, Serialize)]
struct GoalLine {
    id: Arc<str>,
    task: Option<Task>,
    /// Whether this run is expected to pass it.
    expected: bool,
    outcome: Outcome,
    /// When it was decided, in microseconds.
    at_us: Option<SimTime>,
    /// The entry that decided it.
    entry: Option<EntryLine>,
}

#[derive(Debug, Serialize)]
struct EntryLine {
    index: u64,
    at_us: SimTime,
    node: String,
    event: &'static str,
}

#[derive(Debug, Serialize)]
struct QuestionLine {
    id: Arc<str>,
    locked_at_us: Option<SimTime>,
    right: Vec<Arc<str>>,
}

#[derive(Debug, Serialize)]
struct StepLine {
    id: Arc<str>,
    ended_at_us: Option<SimTime>,
}

#[derive(Debug, Default, Serialize)]
struct MeasureLine {
    name: &'static str,
    unit: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    group: Option<Arc<str>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    topic: Option<Arc<str>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    partition: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    client: Option<Arc<str>>,
    value: i64,
}

impl Report {
    pub(super) fn new(
        lesson: &Lesson,
        variant: Option<&str>,
        forecast: &Forecast,
        wanted: &[Arc<str>],
    ) -> Self {
        let sim = forecast.sim();
        let scenario = sim.scenario();
        let chosen = variant.map(Arc::from);
        let goals = goals(lesson, forecast, wanted);
        Self {
            lesson: lesson.id.clone(),
            revision: lesson.revision,
            kafka: lesson.kafka.clone(),
            variant: chosen.or_else(|| lesson.variants.first().map(|first| first.id.clone())),
            seed: scenario.seed,
            ended_at_us: sim.now(),
            events: sim.event_count(),
            trace_entries: sim.trace().next_index(),
            hash: format!("{:016x}", sim.trace().digest()),
            met: goals
                .iter()
                .all(|goal| goal.outcome == Outcome::Pass || !goal.expected),
            goals,
            questions: forecast
                .grader()
                .questions()
                .map(|question| QuestionLine {
                    right: forecast.right_options(&question.id),
                    id: question.id,
                    locked_at_us: question.locked_at,
                })
                .collect(),
            steps: forecast
                .grader()
                .steps()
                .map(|(step, ended_at_us)| StepLine {
                    id: step.id.clone(),
                    ended_at_us,
                })
                .collect(),
            measures: measures(scenario, forecast),
            metrics: metrics(sim, sim.now()),
        }
    }

    pub(super) fn write_json(&self, output: &mut impl Write) -> io::Result<()> {
        serde_json::to_writer_pretty(&mut *output, self)?;
        writeln!(output)
    }

    pub(super) fn write_text(&self, output: &mut impl Write) -> io::Result<()> {
        write!(
            output,
            "{} revision {}, Kafka {}",
            self.lesson, self.revision, self.kafka
        )?;
        if let Some(variant) = &self.variant {
            write!(output, ", variant {variant}")?;
        }
        writeln!(
            output,
            ", seed {}: ended at {} after {} events",
            self.seed, self.ended_at_us, self.events
        )?;
        for goal in &self.goals {
            let word = match goal.outcome {
                Outcome::Pass => "pass",
                Outcome::Fail => "fail",
                Outcome::Open => "open",
                Outcome::Unknown => "unknown",
            };
            write!(output, "goal     {:24} {word}", goal.id)?;
            if let Some(at) = goal.at_us {
                write!(output, " at {at}")?;
            }
            if let Some(entry) = &goal.entry {
                write!(
                    output,
                    ", entry {} {} at {}",
                    entry.index, entry.event, entry.node
                )?;
            }
            writeln!(
                output,
                "{}",
                if goal.expected { "" } else { " (not expected)" }
            )?;
        }
        for question in &self.questions {
            let right = if question.right.is_empty() {
                String::from("none")
            } else {
                question.right.join(", ")
            };
            writeln!(output, "question {:24} right: {right}", question.id)?;
        }
        for step in &self.steps {
            match step.ended_at_us {
                Some(at) => writeln!(output, "step     {:24} ends at {at}", step.id)?,
                None => writeln!(output, "step     {:24} does not end", step.id)?,
            }
        }
        for line in &self.measures {
            let place = [
                line.group.as_ref().map(|group| format!(" group={group}")),
                line.topic.as_ref().map(|topic| format!(" topic={topic}")),
                line.partition
                    .map(|partition| format!(" partition={partition}")),
                line.client
                    .as_ref()
                    .map(|client| format!(" client={client}")),
            ];
            let place: String = place.into_iter().flatten().collect();
            let name = format!("{}{place}", line.name);
            writeln!(
                output,
                "measure  {name:56} {:>10} {}",
                line.value, line.unit
            )?;
        }
        writeln!(output, "hash     {}", self.hash)
    }
}

fn goals(lesson: &Lesson, forecast: &Forecast, wanted: &[Arc<str>]) -> Vec<GoalLine> {
    let sim = forecast.sim();
    let entry_line = |index: u64| {
        let entry = sim.trace().entry(index)?;
        Some(EntryLine {
            index,
            at_us: entry.at,
            node: sim.scenario().node_name(entry.node),
            event: entry.event.name(),
        })
    };
    let task = |id: &Arc<str>| {
        lesson
            .goals
            .iter()
            .find(|goal| goal.id == *id)
            .map(|goal| goal.task)
    };
    let verdicts = forecast.verdicts();
    verdicts
        .into_iter()
        .map(|(id, verdict)| GoalLine {
            task: task(&id),
            expected: wanted.contains(&id),
            outcome: verdict.outcome,
            at_us: verdict.at,
            entry: verdict.entry.and_then(entry_line),
            id,
        })
        .collect()
}

/// Every measure as a whole, and by group, topic, partition and client where it is not zero.
fn measures(scenario: &Scenario, forecast: &Forecast) -> Vec<MeasureLine> {
    let value = |query: &Query| {
        forecast
            .grader()
            .measures()
            .value_at(query, forecast.sim().now())
    };
    let mut lines = Vec::new();
    for kind in MeasureKind::ALL.iter().copied() {
        let all = Query::all(kind);
        let line = |query: &Query| MeasureLine {
            name: kind.name(),
            unit: kind.unit(),
            group: query.group.clone(),
            topic: query.topic.clone(),
            partition: query.partition,
            client: query
                .client
                .map(|client| Arc::from(scenario.client_name(client))),
            value: value(query),
        };
        lines.push(line(&all));
        let takes = |filter: &str| kind.filters().contains(&filter);
        let mut parts: Vec<Query> = Vec::new();
        if takes("group") {
            let mut groups: Vec<&Arc<str>> = scenario
                .consumers
                .iter()
                .filter_map(|c| c.config.group_id.as_ref())
                .collect();
            groups.dedup();
            parts.extend(groups.into_iter().map(|group| Query {
                group: Some(group.clone()),
                ..all.clone()
            }));
        }
        if takes("topic") {
            for topic in &scenario.topics {
                let whole = Query {
                    topic: Some(topic.name.clone()),
                    ..all.clone()
                };
                let of = |partition| Query {
                    partition: Some(partition),
                    ..whole.clone()
                };
                parts.extend((0..topic.partitions.min(PARTITIONS_SHOWN)).map(of));
                parts.push(whole);
            }
        }
        if takes("client") {
            let of = |client| Query {
                client: Some(ClientId(client)),
                ..all.clone()
            };
            parts.extend((0..scenario.client_count()).map(of));
        }
        lines.extend(parts.iter().map(line).filter(|line| line.value != 0));
    }
    lines
}

const PARTITIONS_SHOWN: u32 = 64;
