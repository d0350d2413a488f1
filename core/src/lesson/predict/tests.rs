use super::Forecast;
use crate::base::ids::{CONSUMER_OFFSETS, NodeId, Offset};
use crate::kernel::time::SimTime;
use crate::lesson::Lesson;
use crate::lesson::expression::{EVENT_FILTERS, Facts};
use crate::lesson::format::Attempt;
use crate::sim::Sim;
use crate::sim::measure::{MeasureKind, Measures, Query};
use crate::sim::timeline::{Recording, Timeline};
use crate::trace::event::TraceEvent;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
#[cfg(target_arch = "wasm32")]
use wasm_bindgen_test::wasm_bindgen_test as test;

const BARRIER: &str = include_str!("../../../../static/lessons/the-barrier.toml");
const PAUSE: &str = include_str!("../../../../static/lessons/short-pause-long-pause.toml");

fn lesson(text: &str) -> Lesson {
    Lesson::parse("lesson.toml", text).unwrap_or_else(|errors| panic!("{}", errors[0]))
}

fn attempt(lesson: &Lesson, id: &str) -> Attempt {
    let solutions = lesson
        .solutions
        .iter()
        .map(|solution| (&solution.id, &solution.attempt));
    let wrong = lesson.wrong.iter().map(|wrong| (&wrong.id, &wrong.attempt));
    let found = solutions.chain(wrong).find(|(name, _)| &***name == id);
    found.expect("a recorded attempt").1.clone()
}

#[test]
fn a_forecast_is_the_run_that_the_stage_shows() {
    let lesson = lesson(PAUSE);
    let attempt = attempt(&lesson, "in-the-gap");
    let mut forecast = Forecast::of_attempt(&lesson, &attempt).expect("it runs");
    forecast.finish();
    let scenario = lesson
        .scenario(attempt.variant.as_deref(), &attempt.set)
        .expect("a scenario");
    let until = scenario.until;
    let recording = Recording {
        actions: attempt.actions,
    };
    let mut timeline = Timeline::replay(Arc::new(scenario), recording).expect("it runs");
    while !timeline.advance(until, 500).reached {}
    assert_eq!(
        timeline.sim().digest(),
        forecast.sim().digest(),
        "trace and state"
    );
}

#[test]
fn slices_of_any_size_give_the_same_verdicts() {
    let lesson = lesson(PAUSE);
    let attempt = attempt(&lesson, "after-the-return");
    let run = |events_max: u32| {
        let mut forecast = Forecast::of_attempt(&lesson, &attempt).expect("it runs");
        while !forecast.advance(events_max) {}
        (
            forecast.verdicts(),
            forecast.step_times(),
            forecast.right_options("isr"),
        )
    };
    let whole = run(u32::MAX);
    assert_eq!(run(97), whole, "slices of 97 events");
    assert_eq!(run(5_000), whole, "slices of 5,000 events");
}

#[test]
fn the_right_answer_follows_the_learners_settings() {
    let lesson = lesson(BARRIER);
    let right = |path: &str, value: &str| {
        let set = vec![(Arc::from(path), Arc::from(value))];
        let attempt = Attempt {
            set,
            ..Attempt::default()
        };
        let mut forecast = Forecast::of_attempt(&lesson, &attempt).expect("it runs");
        forecast.finish();
        forecast.right_options("which")
    };
    assert_eq!(
        right("consumer.c4.start", "12s"),
        [Arc::from("all")],
        "as the lesson has it"
    );
    assert_eq!(
        right("consumer.c4.start", "62s"),
        [Arc::from("own")],
        "nobody joins in time"
    );
}

#[test]
fn an_impossible_action_is_told_and_the_run_goes_on() {
    let lesson = lesson(PAUSE);
    let mut attempt = attempt(&lesson, "after-the-return");
    let again = (SimTime::from_millis(14_500), attempt.actions[0].1.clone());
    attempt.actions.insert(1, again);
    let mut forecast = Forecast::of_attempt(&lesson, &attempt).expect("it runs");
    forecast.finish();
    let refusal = &forecast.refused()[0];
    assert_eq!(refusal.number, 2, "the second action");
    assert_eq!(refusal.error.to_string(), "broker 2 is down already", "why");
    let passed = forecast
        .grader()
        .goal("maintain")
        .map(|verdict| verdict.outcome);
    assert_eq!(
        passed,
        Some(crate::lesson::Outcome::Pass),
        "the others were carried out"
    );
}

#[test]
fn a_spent_budget_leaves_goals_unknown() {
    let mut lesson = lesson(PAUSE);
    lesson.budget_events = 2_000;
    let attempt = attempt(&lesson, "look-short");
    let mut forecast = Forecast::of_attempt(&lesson, &attempt).expect("it runs");
    forecast.finish();
    assert!(forecast.sim().event_count() <= 2_000, "it stopped in time");
    for (goal, verdict) in forecast.verdicts() {
        assert_eq!(verdict.outcome, crate::lesson::Outcome::Unknown, "{goal}");
    }
}

/// Measures are kept from the trace; the stage is read off the state. They must agree.
#[test]
fn measures_agree_with_the_state() {
    for (text, id, instants) in [
        (BARRIER, "kill", [8_000, 19_000, 35_000, 99_000]),
        (PAUSE, "in-the-gap", [10_300, 11_000, 11_800, 29_000]),
    ] {
        let lesson = lesson(text);
        let attempt = attempt(&lesson, id);
        let scenario = Arc::new(
            lesson
                .scenario(attempt.variant.as_deref(), &attempt.set)
                .expect("a scenario"),
        );
        let recording = Recording {
            actions: attempt.actions,
        };
        let mut timeline = Timeline::replay(scenario.clone(), recording).expect("it runs");
        let mut measures = Measures::new(&scenario);
        let mut cursor = 0;
        for millis in instants {
            while !timeline
                .advance(SimTime::from_millis(millis), 10_000)
                .reached
            {}
            let sim = timeline.sim();
            for topic in scenario
                .topics
                .iter()
                .map(|topic| &*topic.name)
                .chain([CONSUMER_OFFSETS])
            {
                if let Some(topic_id) = sim.topic_id(topic) {
                    measures.name_topic(topic, topic_id);
                }
            }
            for entry in sim.trace().since(cursor) {
                measures.observe(entry);
            }
            cursor = sim.trace().next_index();
            compare_with_stage(sim, &measures);
        }
    }
}

fn compare_with_stage(sim: &Sim, measures: &Measures) {
    let (stage, now) = (sim.stage(), sim.now());
    let value = |query: Query| measures.value_at(&query, now);
    for topic in stage.topics.iter().filter(|topic| !topic.is_internal) {
        for partition in &topic.partitions {
            let number = partition.topic_partition.partition;
            let of = |kind| Query {
                topic: Some(topic.name.clone()),
                partition: Some(number),
                ..Query::all(kind)
            };
            let place = format!("{}-{number} at {now}", topic.name);
            let isr = i64::try_from(partition.isr.len()).unwrap_or(-1);
            assert_eq!(value(of(MeasureKind::IsrSize)), isr, "ISR of {place}");
            let ends: BTreeMap<_, Offset> = stage
                .brokers
                .iter()
                .flat_map(|broker| {
                    broker
                        .replicas
                        .iter()
                        .map(move |replica| (broker.id, replica))
                })
                .filter(|(_, replica)| replica.topic_partition == partition.topic_partition)
                .map(|(broker, replica)| (broker, replica.log_end_offset))
                .collect();
            let Some(leader) = partition.leader else {
                continue;
            };
            let lag = ends
                .values()
                .map(|end| ends[&leader] - *end)
                .max()
                .unwrap_or_default();
            assert_eq!(
                value(of(MeasureKind::ReplicaLag)),
                lag.max(0),
                "replica lag of {place}"
            );
            let appended = value(of(MeasureKind::RecordsAppended));
            assert!(ends[&leader].0 <= appended, "{place}: {appended} appended");
        }
    }
    for group in &stage.groups {
        let of = |kind| Query {
            group: Some(group.group_id.0.clone()),
            ..Query::all(kind)
        };
        let generation = i64::from(group.generation_id);
        assert_eq!(
            value(of(MeasureKind::Generation)),
            generation,
            "generation at {now}"
        );
        let mut lag = 0;
        for (topic_partition, committed) in &group.committed {
            let high_watermark = stage
                .brokers
                .iter()
                .flat_map(|broker| &broker.replicas)
                .filter(|replica| replica.is_leader && replica.topic_partition == *topic_partition)
                .map(|replica| replica.high_watermark)
                .max();
            lag += high_watermark.map_or(0, |end| end - *committed);
        }
        if group.committed.len() == 4 {
            assert_eq!(
                value(of(MeasureKind::ConsumerLag)),
                lag,
                "consumer lag at {now}"
            );
        }
    }
    let processed: i64 = value(Query::all(MeasureKind::RecordsProcessed));
    let duplicates: i64 = value(Query::all(MeasureKind::Duplicates));
    assert!(duplicates <= processed, "{duplicates} of {processed}");
}

#[test]
fn every_fact_of_an_event_can_be_filtered_by() {
    let known: BTreeMap<&str, &[&str]> = EVENT_FILTERS.iter().copied().collect();
    for kind in TraceEvent::KINDS {
        assert!(known.contains_key(kind.name), "{} has a line", kind.name);
    }
    assert_eq!(known.len(), TraceEvent::KINDS.len(), "no line is left over");
    let mut seen = BTreeSet::new();
    for (text, id) in [(BARRIER, "pill"), (BARRIER, "swift"), (PAUSE, "in-the-gap")] {
        let lesson = lesson(text);
        let mut forecast = Forecast::of_attempt(&lesson, &attempt(&lesson, id)).expect("it runs");
        forecast.finish();
        for entry in forecast.sim().trace().since(0) {
            let facts = Facts::of(entry);
            let given = [
                (
                    "topic",
                    !facts.partitions.is_empty() || facts.topic_name.is_some(),
                ),
                ("partition", !facts.partitions.is_empty()),
                ("group", facts.group.is_some()),
                ("client", matches!(facts.other, Some(NodeId::Client(_)))),
                ("broker", matches!(facts.other, Some(NodeId::Broker(_)))),
                ("error", facts.error.is_some()),
                ("state", facts.state.is_some()),
                ("previous", facts.previous.is_some()),
                ("value", facts.value.is_some()),
                ("contains", facts.text.is_some()),
                ("api", facts.api.is_some()),
                ("waiting", facts.waiting.is_some()),
                ("members", facts.members.is_some()),
                ("isr", facts.isr.is_some()),
                ("leader", facts.leader.is_some()),
                ("flag", facts.flag.is_some()),
            ];
            let event = entry.event.name();
            seen.insert(event);
            for (filter, _) in given.iter().filter(|(_, is_given)| *is_given) {
                assert!(
                    known[event].contains(filter),
                    "{event} says something of {filter}"
                );
            }
        }
    }
    assert!(
        40 <= seen.len(),
        "most events occur: {} of {}",
        seen.len(),
        known.len()
    );
}
