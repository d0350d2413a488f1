//! Compaction: of each key only the last record stays.

use super::partition_log::{LogChange, LogContext, PartitionLog};
use super::producer_state::{AbortedTransaction, ProducerStates};
use super::segment::Segment;
use crate::base::config::TopicConfig;
use crate::base::ids::Offset;
use crate::kernel::digest::Digest;
use crate::kernel::rng::Ratio;
use crate::kernel::time::{SimTime, Span};
use crate::wire::record::{Batch, Record};
use serde::Serialize;
use std::sync::Arc;

/// What of a log may be compacted, and how much it needs it (`LogToClean`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Cleanable {
    /// The first offset that has not been compacted.
    pub first_dirty_offset: Offset,
    /// The first offset that must not be compacted yet.
    pub first_uncleanable_offset: Offset,
    /// Bytes of the segments before the dirty ones.
    pub clean_bytes: u64,
    /// Bytes of the dirty segments that may be compacted.
    pub cleanable_bytes: u64,
    /// Whether a record has waited longer than `max.compaction.lag.ms`.
    pub is_overdue: bool,
}

impl Cleanable {
    /// Whether the log is dirty enough.
    pub fn is_due(&self, min_ratio: Ratio) -> bool {
        let total = self.clean_bytes + self.cleanable_bytes;
        let dirty = u128::from(self.cleanable_bytes) * u128::from(min_ratio.denominator);
        let enough = u128::from(total) * u128::from(min_ratio.numerator);
        0 < self.cleanable_bytes && (self.is_overdue || enough < dirty)
    }

    /// Whether it is dirtier than another log: the dirtiest is compacted first.
    pub fn is_dirtier_than(&self, other: &Self) -> bool {
        let total = |one: &Self| u128::from(one.clean_bytes + one.cleanable_bytes);
        u128::from(self.cleanable_bytes) * total(other)
            > u128::from(other.cleanable_bytes) * total(self)
    }
}

/// The last offset of each key in the dirty part, by the key's hash (`SkimpyOffsetMap`).
#[derive(Debug)]
struct OffsetMap {
    /// Sorted.
    entries: Vec<(u64, i64)>,
    latest_offset: Offset,
    /// Transactions whose records count for nothing.
    aborted: Vec<AbortedTransaction>,
}

/// What decides over the batches of a pass.
#[derive(Clone, Copy, Debug)]
struct Pass<'a> {
    map: &'a OffsetMap,
    /// The end of the range.
    end: Offset,
    producers: &'a ProducerStates,
    around: LogContext<'a>,
}

impl PartitionLog {
    /// What may be compacted now.
    ///
    /// # Source
    /// `LogCleanerManager.cleanableOffsets`, `maxCompactionDelay`.
    pub fn cleanable(&self, around: LogContext<'_>) -> Cleanable {
        let config = around.config;
        let checkpoint = self.cleaner_checkpoint;
        let is_sound = self.log_start_offset <= checkpoint && checkpoint <= self.log_end_offset;
        let first_dirty = if is_sound {
            checkpoint
        } else {
            self.log_start_offset
        };
        let mut cleanable = Cleanable {
            first_dirty_offset: first_dirty,
            first_uncleanable_offset: self
                .last_stable_offset()
                .min(self.active.base_offset())
                .max(first_dirty),
            clean_bytes: 0,
            cleanable_bytes: 0,
            is_overdue: false,
        };
        let lag = Span::from_millis(config.min_compaction_lag_ms);
        let max_lag = Span::from_millis(config.max_compaction_lag_ms);
        let mut is_before_dirty = true;
        for segment in self.segments() {
            // The segment that holds the first dirty offset counts on both sides.
            if segment.base_offset() < first_dirty {
                cleanable.clean_bytes += segment.size_bytes();
            }
            is_before_dirty &= self.ends_before(segment, first_dirty);
            let is_young = Span::ZERO < lag && around.now.since(segment.largest_timestamp()) < lag;
            if is_before_dirty {
                continue;
            }
            if is_young {
                let base = segment.base_offset().max(first_dirty);
                cleanable.first_uncleanable_offset = cleanable.first_uncleanable_offset.min(base);
            }
            let end = cleanable.first_uncleanable_offset;
            if end <= segment.base_offset() || end <= first_dirty {
                break;
            }
            cleanable.cleanable_bytes += segment.size_bytes();
            cleanable.is_overdue |= max_lag < around.now.since(segment.first_timestamp());
        }
        cleanable
    }

    fn ends_before(&self, segment: &Segment, offset: Offset) -> bool {
        let mut later = self.segments().map(Segment::base_offset);
        let next = later.find(|base| segment.base_offset() < *base);
        next.is_some_and(|next| next <= offset)
    }

    /// Compacts the log up to the first offset that must not be compacted yet.
    ///
    /// # Source
    /// `Cleaner.doClean`, `buildOffsetMap`, `groupSegmentsBySize`, `cleanSegments`.
    /// # Simplified
    /// Markers that end transactions are never removed. The offset map is never too small (`log.cleaner.dedupe.buffer.size`), and a pass takes no time.
    pub fn clean(&mut self, around: LogContext<'_>) {
        let cleanable = self.cleanable(around);
        let map = self.offset_map(&cleanable);
        let end = map.latest_offset + 1;
        let bytes_before = self.size_bytes;
        let cleaned = self.sealed.partition_point(|one| one.base_offset() < end);
        let mut rest = self.sealed.split_off(cleaned);
        let groups = group(std::mem::take(&mut self.sealed), end, around.config);
        for group in groups {
            let pass = Pass {
                map: &map,
                end,
                producers: &self.producers,
                around,
            };
            let segment = clean_group(&group, pass);
            self.sealed.push(Arc::new(segment));
        }
        self.sealed.append(&mut rest);
        self.size_bytes = self.segments().map(Segment::size_bytes).sum();
        self.cleaner_checkpoint = end;
        self.changes.push(LogChange::Cleaned(
            cleanable.first_dirty_offset,
            end,
            bytes_before,
            self.size_bytes,
        ));
    }

    fn offset_map(&self, cleanable: &Cleanable) -> OffsetMap {
        let aborted = self
            .producers
            .aborted_between(Offset::ZERO, cleanable.first_uncleanable_offset);
        let mut entries = Vec::new();
        for batch in self.batches_from(cleanable.first_dirty_offset) {
            if cleanable.first_uncleanable_offset <= batch.base_offset {
                break;
            }
            if is_aborted(batch, &aborted) {
                continue;
            }
            for (offset, record) in batch.entries() {
                if cleanable.first_dirty_offset <= offset
                    && offset < cleanable.first_uncleanable_offset
                    && let Some(hash) = key_hash(record)
                {
                    entries.push((hash, offset.0));
                }
            }
        }
        entries.sort_unstable();
        OffsetMap {
            entries,
            aborted,
            latest_offset: cleanable.first_uncleanable_offset + -1,
        }
    }
}

impl OffsetMap {
    /// The last offset of a record with this key; unset when the dirty part has none.
    fn latest(&self, hash: u64) -> Option<i64> {
        let end = self.entries.partition_point(|(other, _)| *other <= hash);
        let (found, offset) = self.entries.get(end.checked_sub(1)?)?;
        (*found == hash).then_some(*offset)
    }

    /// Whether a record stays.
    fn keeps(&self, offset: Offset, record: &Record, tombstones_go: bool) -> bool {
        if self.latest_offset < offset {
            return true;
        }
        let Some(hash) = key_hash(record) else {
            return false;
        };
        self.latest(hash).is_none_or(|latest| latest <= offset.0)
            && !(record.is_tombstone() && tombstones_go)
    }
}

/// Kafka's map holds hashes too, and takes equal hashes for equal keys.
fn key_hash(record: &Record) -> Option<u64> {
    let key = record.compaction_key()?;
    let mut digest = Digest::new();
    digest.fold(&key);
    Some(digest.value())
}

/// Neighbouring segments that fit into one.
fn group(segments: Vec<Arc<Segment>>, end: Offset, config: &TopicConfig) -> Vec<Vec<Arc<Segment>>> {
    let segment_bytes = u64::try_from(config.segment_bytes).unwrap_or_default();
    let mut groups: Vec<Vec<Arc<Segment>>> = Vec::new();
    let mut bytes = 0;
    let mut base = Offset::ZERO;
    let ends: Vec<Offset> = segments
        .iter()
        .skip(1)
        .map(|next| next.base_offset())
        .chain([end])
        .collect();
    for (segment, next) in segments.into_iter().zip(ends) {
        let size = segment.size_bytes();
        match groups.last_mut() {
            Some(last)
                if bytes + size <= segment_bytes && next - base <= i64::from(i32::MAX) + 1 =>
            {
                last.push(segment);
                bytes += size;
            }
            Some(_) | None => {
                bytes = size;
                base = segment.base_offset();
                groups.push(vec![segment]);
            }
        }
    }
    groups
}

/// One segment that holds what is left of a group.
fn clean_group(group: &[Arc<Segment>], pass: Pass<'_>) -> Segment {
    let around = pass.around;
    let base = group.first().map(|segment| segment.base_offset());
    let mut cleaned = Segment::new(base.unwrap_or_default(), around.now);
    let interval = u64::try_from(around.config.index_interval_bytes).unwrap_or_default();
    for segment in group {
        // The file keeps the time of its last change.
        let modified_at = segment.modified_at();
        for batch in segment.batches_from(segment.base_offset()) {
            if let Some(kept) = clean_batch(batch, pass) {
                cleaned.append(kept, interval, modified_at);
            }
        }
    }
    cleaned.add_time_index_entry();
    cleaned
}

/// What is left of a batch; unset when nothing is. The last batch of the range stays even if it is
/// empty, so that its last offset does, and so does the last batch of each producer, for its
/// sequence.
fn clean_batch(batch: &Batch, pass: Pass<'_>) -> Option<Batch> {
    if batch.producer.is_control {
        return Some(batch.clone());
    }
    let Pass {
        map,
        end,
        producers,
        around,
    } = pass;
    let is_gone = is_aborted(batch, &map.aborted);
    let tombstones_go = batch
        .delete_horizon_at
        .is_some_and(|horizon| horizon <= around.now);
    let base_offset = batch.base_offset;
    let kept: Vec<(u32, &Record)> = batch
        .entries()
        .filter(|(offset, record)| !is_gone && map.keeps(*offset, record, tombstones_go))
        .map(|(offset, record)| (u32::try_from(offset - base_offset).unwrap_or(0), record))
        .collect();
    let is_last = batch.next_offset() == end
        || producers.last_batch(batch.producer.producer_id) == Some(batch.base_offset);
    if kept.is_empty() && !is_last {
        return None;
    }
    let has_tombstones = kept.iter().any(|(_, record)| record.is_tombstone());
    let mut cleaned = batch.clone();
    if has_tombstones && batch.delete_horizon_at.is_none() {
        cleaned.delete_horizon_at = Some(horizon(around));
    }
    if kept.len() < batch.records.len() {
        cleaned.offset_deltas = Some(kept.iter().map(|(delta, _)| *delta).collect());
        cleaned.records = kept.iter().map(|(_, record)| (*record).clone()).collect();
        cleaned.size_bytes = Batch::size_of(&cleaned.records);
    }
    Some(cleaned)
}

/// Whether a batch belongs to a transaction that was aborted.
fn is_aborted(batch: &Batch, aborted: &[AbortedTransaction]) -> bool {
    batch.producer.is_transactional
        && aborted.iter().any(|one| {
            one.producer_id == batch.producer.producer_id
                && one.first_offset <= batch.base_offset
                && batch.base_offset <= one.last_offset
        })
}

fn horizon(around: LogContext<'_>) -> SimTime {
    around.now + Span::from_millis(around.config.delete_retention_ms)
}
