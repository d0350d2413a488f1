//! Numbers over time, for the plots.

use std::collections::BTreeMap;
use terrarium_core::base::ids::{BrokerId, GroupId, TopicPartition};
use terrarium_core::kernel::time::SimTime;

/// What a line of a plot shows.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum SeriesKey {
    /// Records between the offset that the group has committed, or processed before its first
    /// commit, and the high watermark.
    ConsumerLag(GroupId, TopicPartition),
    /// Records that a follower lacks, as its leader believes.
    ReplicaLagRecords(TopicPartition, BrokerId),
    /// Milliseconds since a follower was last caught up, as its leader believes.
    ReplicaLagMs(TopicPartition, BrokerId),
    /// Partitions of the groups that nobody processes.
    Stopped,
}

/// A point of a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Point {
    /// When.
    pub at: SimTime,
    /// How much.
    pub value: i64,
}

/// All lines.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct SeriesSet {
    lines: BTreeMap<SeriesKey, Vec<Point>>,
    /// The last instant that was sampled.
    sampled_until: Option<SimTime>,
}

impl SeriesSet {
    /// The last instant that was sampled.
    pub(crate) const fn sampled_until(&self) -> Option<SimTime> {
        self.sampled_until
    }

    /// Notes what the lines are at `at`; older instants than the last are known already.
    pub(crate) fn sample(
        &mut self,
        at: SimTime,
        values: impl IntoIterator<Item = (SeriesKey, i64)>,
    ) {
        if self.sampled_until.is_some_and(|last| at <= last) {
            return;
        }
        self.sampled_until = Some(at);
        for (key, value) in values {
            let line = self.lines.entry(key).or_default();
            push(line, Point { at, value });
            if POINTS_MAX < line.len() {
                thin(line);
            }
        }
    }

    /// Forgets everything from `at` on.
    pub(crate) fn cut(&mut self, at: SimTime) {
        self.sampled_until = None;
        for line in self.lines.values_mut() {
            let kept = line.partition_point(|point| point.at < at);
            // A run of one value is kept as its two ends: it goes on up to the cut.
            let run_value = match (line.get(kept.wrapping_sub(1)), line.get(kept)) {
                (Some(last), Some(next)) if last.value == next.value => Some(last.value),
                _ => None,
            };
            line.truncate(kept);
            if let (Some(value), Some(before)) = (run_value, at.0.checked_sub(1)) {
                push(
                    line,
                    Point {
                        at: SimTime(before),
                        value,
                    },
                );
            }
            let last = line.last().map(|point| point.at);
            self.sampled_until = self.sampled_until.max(last);
        }
        self.lines.retain(|_key, line| !line.is_empty());
    }

    /// Each line and its points.
    pub(crate) fn lines(&self) -> impl Iterator<Item = (&SeriesKey, &[Point])> {
        self.lines.iter().map(|(key, line)| (key, line.as_slice()))
    }
}

/// Adds a point; the middle of a run of equal values is left out.
fn push(line: &mut Vec<Point>, point: Point) {
    if let [.., first, last] = line.as_mut_slice()
        && first.value == point.value
        && last.value == point.value
    {
        last.at = point.at;
        return;
    }
    line.push(point);
}

/// Halves the older half of a line: of two neighbours the higher one stays.
fn thin(line: &mut Vec<Point>) {
    let half = line.len() / 2;
    let newer = line.split_off(half);
    let older = line
        .chunks(2)
        .filter_map(|pair| pair.iter().copied().max_by_key(|p| p.value));
    let mut thinned: Vec<Point> = older.collect();
    thinned.extend(newer);
    *line = thinned;
}

const POINTS_MAX: usize = 6_000;
