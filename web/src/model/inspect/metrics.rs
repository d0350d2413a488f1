//! Kafka's metrics as tables: what a monitoring system would show, and what it would warn of.

use super::Reading;
use crate::driver::selection::Selection;
use crate::model::panels::Table;
use terrarium_core::sim::metrics::{METRICS, Sample, is_counter};

impl Reading<'_> {
    /// How many alarms a monitoring system would show now. What only counts up is none.
    pub(crate) fn alarm_count(&self) -> usize {
        let alarms = self.sim.alarms();
        alarms.iter().filter(|one| !is_counter(one.jmx)).count()
    }

    /// The alarms, and the metrics of what is selected; without a selection those of all processes,
    /// but not of single partitions.
    pub(crate) fn metric_tables(&self) -> Vec<Table> {
        let node = self.selection.and_then(Selection::node);
        let wanted = |one: &Sample| match node {
            Some(node) => one.node == node,
            None => one.topic_partition.is_none(),
        };
        let alarms = self.sim.alarms();
        let samples = self.sim.metrics();
        vec![
            self.metric_table("table.alarms", alarms.iter()),
            self.metric_table(
                "table.metrics",
                samples.iter().filter(|sample| wanted(sample)),
            ),
        ]
    }

    fn metric_table<'a>(
        &self,
        key: &'static str,
        samples: impl Iterator<Item = &'a Sample>,
    ) -> Table {
        let mut rows = Vec::new();
        for sample in samples {
            let partition = sample.topic_partition;
            if partition.is_some_and(|id| self.sim.topic_name(id.topic).starts_with("__")) {
                continue;
            }
            let doc = METRICS.iter().find(|metric| metric.jmx == sample.jmx);
            rows.push(vec![
                short(sample.jmx),
                self.node_name(sample.node),
                partition.map_or_else(String::new, |id| {
                    self.with_narrator(|narrator| narrator.partition(id))
                }),
                sample.value.to_string(),
                doc.map_or("", |metric| metric.doc).to_owned(),
                sample.jmx.to_owned(),
            ]);
        }
        if rows.is_empty() {
            rows.push(vec![self.catalog.t("table.none")]);
        }
        Table {
            key,
            heads: vec![
                "table.metric",
                "table.process",
                "table.partition",
                "table.value",
                "table.meaning",
                "table.jmx",
            ],
            rows,
        }
    }
}

/// What a metric is called on a dashboard: its name and the tags that tell it from its like.
fn short(jmx: &str) -> String {
    let tags = jmx.split_once(":type=").map_or(jmx, |(_, tags)| tags);
    let Some((kind, rest)) = tags.split_once(",name=") else {
        return tags.to_owned();
    };
    match rest.split_once(',') {
        Some((name, tag)) => format!("{name} ({tag})"),
        None if rest == "Size" => format!("{kind} {rest}"),
        None => rest.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::short;
    use terrarium_core::sim::metrics::{METRICS, is_counter};

    #[test]
    fn metrics_have_short_names_that_tell_them_apart() {
        let mut names: Vec<String> = METRICS.iter().map(|metric| short(metric.jmx)).collect();
        let count = names.len();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), count, "{names:?}");
        let purgatory = "kafka.server:type=DelayedOperationPurgatory,name=PurgatorySize,delayedOperation=Produce";
        assert_eq!(short(purgatory), "PurgatorySize (delayedOperation=Produce)");
        assert!(is_counter(
            "kafka.server:type=ReplicaManager,name=IsrShrinksPerSec"
        ));
    }
}
