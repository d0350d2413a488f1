//! The experiments of a lesson side by side.

use super::Reading;
use crate::model::panels::{Compare, ComparedRun, Stretch, Table};
use crate::scene::words::span;
use terrarium_core::base::ids::NodeId;
use terrarium_core::kernel::time::{SimTime, Span};
use terrarium_core::lesson::compare::{ComparedRun as Run, Comparison};
use terrarium_core::sim::measure::{MeasureKind, Strip};

/// Intervals between two marks, in milliseconds.
const STEPS_MS: [i64; 12] = [
    1_000, 2_000, 5_000, 10_000, 20_000, 30_000, 60_000, 120_000, 300_000, 600_000, 1_800_000,
    7_200_000,
];
/// Most marks under the strips.
const MARKS_MAX: u64 = 7;

/// What the experiments are measured by, with the keys of their names.
const COSTS: [(MeasureKind, &str); 10] = [
    (MeasureKind::LongestStopMs, "compare.longest-stop-ms"),
    (MeasureKind::Rebalances, "compare.rebalances"),
    (MeasureKind::RecordsProcessed, "compare.records-processed"),
    (MeasureKind::Duplicates, "compare.duplicates"),
    (MeasureKind::RecordsSkipped, "compare.records-skipped"),
    (MeasureKind::RecordsLost, "compare.records-lost"),
    (MeasureKind::DuplicatesWritten, "compare.duplicates-written"),
    (MeasureKind::IsrShrinks, "compare.isr-shrinks"),
    (MeasureKind::Elections, "compare.elections"),
    (MeasureKind::AckP99Ms, "compare.ack-p99-ms"),
];

impl Reading<'_> {
    /// The experiments, as far as they have been run.
    pub(crate) fn compare(&self, comparison: &Comparison) -> Compare {
        let until = comparison.until();
        let runs = comparison.runs();
        Compare {
            text: self.difference(comparison),
            runs: runs.iter().map(|run| self.compared(run, until)).collect(),
            marks: marks(until),
            now: place(self.stage.now, until),
            table: Some(self.costs(runs)),
        }
    }

    fn difference(&self, comparison: &Comparison) -> String {
        let (reached, until) = (comparison.reached(), comparison.until());
        let percent = (place(reached, until) / 10).to_string();
        let running = self
            .catalog
            .text("compare.running", &[("percent", &percent)]);
        let Some(first) = comparison.first_difference() else {
            return if reached < until {
                running
            } else {
                self.catalog.t("compare.alike")
            };
        };
        let args = [
            ("at", &*first.entry.at.to_string()),
            ("run", &*self.variant(&first.run.variant)),
            ("text", &*self.sentence(first.entry)),
        ];
        let text = self.catalog.text("compare.first", &args);
        if reached < until {
            format!("{text} {running}")
        } else {
            text
        }
    }

    fn variant(&self, id: &str) -> String {
        self.catalog.t(&format!("lesson.variants.{id}"))
    }

    fn compared(&self, run: &Run, until: SimTime) -> ComparedRun {
        let stopped = run.value(MeasureKind::StoppedPartitionMs);
        let strips = run.strips();
        let has_group = strips.iter().any(|strip| strip.group.is_some());
        ComparedRun {
            id: run.variant.to_string(),
            title: self.variant(&run.variant),
            stopped: if has_group {
                self.catalog.text(
                    "compare.stopped",
                    &[("time", &span(Span::from_millis(stopped)))],
                )
            } else {
                String::new()
            },
            strips: strips
                .iter()
                .map(|strip| (strip_name(run, strip), self.stretches(strip, until)))
                .collect(),
        }
    }

    fn stretches(&self, strip: &Strip, until: SimTime) -> Vec<Stretch> {
        let spans = strip.spans.iter();
        spans
            .map(|(from, to, who)| {
                let start = place(*from, until);
                let name = who.map_or_else(String::new, |node| self.node_name(node));
                let args = [("from", &*from.to_string()), ("to", &*to.to_string())];
                let times = self.catalog.text("compare.span", &args);
                let title = if name.is_empty() {
                    self.catalog.t("compare.nobody")
                } else {
                    name.clone()
                };
                Stretch {
                    from: start,
                    length: place(*to, until).saturating_sub(start),
                    hue: who.map_or(0, |node| self.hue(node)),
                    who: name,
                    hint: format!("{title}, {times}"),
                }
            })
            .collect()
    }

    /// The number of a process among its like: consumers and brokers have colours of their own.
    fn hue(&self, node: NodeId) -> u32 {
        let place = match node {
            NodeId::Broker(id) => self.stage.brokers.iter().position(|one| one.id == id),
            NodeId::Client(id) => self.stage.consumers.iter().position(|one| one.client == id),
            NodeId::Controller(_) => None,
        };
        u32::try_from(place.unwrap_or_default() % 8).unwrap_or_default()
    }

    /// What each experiment costs. A cost that none of them has is left out.
    fn costs(&self, runs: &[Run]) -> Table {
        let mut rows = Vec::new();
        for (kind, key) in COSTS {
            let values: Vec<i64> = runs.iter().map(|run| run.value(kind)).collect();
            if values.iter().all(|value| *value == 0) {
                continue;
            }
            let text = |value: i64| match kind.unit() {
                "ms" => span(Span::from_millis(value)),
                _ => value.to_string(),
            };
            let cells = values.into_iter().map(text);
            rows.push(std::iter::once(self.catalog.t(key)).chain(cells).collect());
        }
        Table {
            key: "compare.costs",
            heads: vec!["compare.measure"],
            rows,
        }
    }
}

fn strip_name(run: &Run, strip: &Strip) -> String {
    let id = strip.topic_partition;
    let topic = run.forecast().sim().topic_name(id.topic);
    format!("{topic}-{}", id.partition)
}

/// Where an instant lies, in thousandths of the whole.
fn place(at: SimTime, until: SimTime) -> u32 {
    let whole = until.0.max(1);
    u32::try_from(at.0.saturating_mul(1_000) / whole).map_or(1_000, |place| place.min(1_000))
}

/// Round instants, not too many.
fn marks(until: SimTime) -> Vec<(u32, String)> {
    let steps = STEPS_MS.into_iter().map(Span::from_millis);
    let step = steps
        .filter(|step| until.0 / step.0 <= MARKS_MAX)
        .min()
        .unwrap_or(Span(until.0.max(1)));
    let count = until.0 / step.0;
    (0..=count)
        .map(|number| Span(number * step.0))
        .map(|since| (place(SimTime::ZERO + since, until), span(since)))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::{marks, place};
    use terrarium_core::kernel::time::SimTime;

    #[test]
    fn marks_are_round_and_few() {
        let of = |ms: u64| -> Vec<String> {
            let marks = marks(SimTime::from_millis(ms)).into_iter();
            marks.map(|(_, text)| text).collect()
        };
        assert_eq!(
            of(30_000),
            [
                "0 ms", "5.0 s", "10.0 s", "15.0 s", "20.0 s", "25.0 s", "30.0 s"
            ]
        );
        assert_eq!(of(1_200_000).len(), 5);
        assert_eq!(of(0).len(), 1);
        assert_eq!(place(SimTime(500), SimTime(1_000)), 500);
    }
}
