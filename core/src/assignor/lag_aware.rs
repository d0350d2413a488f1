//! The `lag-aware` assignor: an example of an assignor of one's own.
//!
//! Kafka has no such assignor; `partition.assignment.strategy` takes any class that a user writes,
//! and balancing by lag is the usual example. What it looks at is chosen by weights, not by code.

use super::input::{Input, NONE, descending};
use super::{Assignment, number};

/// How much each of the things counts that the assignor looks at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Weights {
    /// Load of one record of lag.
    pub lag: u32,
    /// Load of one partition.
    pub partition: u32,
    /// How much more load than the lightest member an earlier owner may have and still keep its
    /// partition.
    pub stickiness: u32,
}

impl Default for Weights {
    /// Lag decides; among partitions without lag their number; nothing is kept for its own sake.
    fn default() -> Self {
        Self {
            lag: 1,
            partition: 1,
            stickiness: 0,
        }
    }
}

/// Deals out partitions by falling lag, each to the subscriber with the least load; ties go by
/// member order. A member's load is the sum over its partitions of `lag` times the partition's lag
/// plus `partition`. Who owned the partition keeps it if its load exceeds the least one by
/// `stickiness` at most.
///
/// Members report lag and partitions in their user data; of two reports the one with the newer
/// generation counts, then the one of the member that comes first. A partition that nobody reports
/// has no lag.
///
/// # Source
/// None: Kafka has no such assignor.
pub(super) fn assign(input: &Input<'_>, weights: Weights) -> Assignment {
    let members = input.sorted_members();
    let reports = reports(input, &members);
    let mut order: Vec<(u32, u32, Report)> = Vec::new();
    for (topic, partition_count) in input.sizes() {
        let first = input.first.get(topic as usize).copied().unwrap_or_default();
        for partition in 0..partition_count {
            let report = reports.get((first + partition) as usize).copied();
            order.push((topic, partition, report.unwrap_or(Report::NONE)));
        }
    }
    order.sort_by(|(_, _, one), (_, _, other)| descending(one.lag, other.lag));
    let mut loads = vec![0_u64; input.members.len()];
    let mut assignment = input.nothing();
    for (topic, partition, report) in order {
        let load = |member: u32| loads.get(member as usize).copied().unwrap_or_default();
        let subscribers = members
            .iter()
            .copied()
            .filter(|member| input.has(*member, topic));
        let Some(lightest) = subscribers.min_by_key(|member| load(*member)) else {
            continue;
        };
        let most = load(lightest).saturating_add(u64::from(weights.stickiness));
        let keeps =
            report.owner != NONE && input.has(report.owner, topic) && load(report.owner) <= most;
        let member = if keeps { report.owner } else { lightest };
        let added = report
            .lag
            .saturating_mul(u64::from(weights.lag))
            .saturating_add(u64::from(weights.partition));
        if let Some(load) = loads.get_mut(member as usize) {
            *load = load.saturating_add(added);
        }
        if let Some(got) = assignment.get_mut(member as usize) {
            got.push(input.partition(topic, partition));
        }
    }
    for partitions in &mut assignment {
        partitions.sort_unstable();
    }
    assignment
}

/// What is known of a partition.
#[derive(Clone, Copy)]
struct Report {
    owner: u32,
    generation_id: i32,
    lag: u64,
}

impl Report {
    const NONE: Self = Self {
        owner: NONE,
        generation_id: i32::MIN,
        lag: 0,
    };
}

/// What counts of each partition.
fn reports(input: &Input<'_>, members: &[u32]) -> Vec<Report> {
    let count = input.first.last().copied().unwrap_or_default();
    let mut reports = vec![Report::NONE; count as usize];
    for member in members {
        let data = input
            .members
            .get(*member as usize)
            .and_then(|member| member.user_data);
        let Some(data) = data else {
            continue;
        };
        for (place, partition) in data.partitions.iter().enumerate() {
            let topic = input
                .topics
                .iter()
                .position(|topic| topic.topic == partition.topic);
            let Some(topic) = topic else {
                continue;
            };
            let size = input
                .topics
                .get(topic)
                .map_or(0, |topic| topic.partition_count);
            let first = input.first.get(topic).copied().unwrap_or_default();
            if size <= partition.partition {
                continue;
            }
            let at = reports.get_mut((first + partition.partition) as usize);
            if let Some(report) = at.filter(|report| report.generation_id < data.generation_id) {
                *report = Report {
                    owner: number(*member as usize),
                    generation_id: data.generation_id,
                    lag: data.lags.get(place).copied().unwrap_or_default(),
                };
            }
        }
    }
    reports
}
