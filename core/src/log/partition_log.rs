//! A log: segments in order, with the offsets that bound them.

use super::epoch_cache::EpochCache;
use super::producer_state::ProducerStates;
use super::segment::{Incoming, Segment};
use crate::base::config::{DeletionReason, TopicConfig};
use crate::base::ids::Offset;
use crate::kernel::digest::Digest;
use crate::kernel::time::{SimTime, Span};
use crate::wire::record::{Batch, Record, RecordValue};
use serde::Serialize;
use std::sync::Arc;

/// One replica's log (`UnifiedLog`).
///
/// Sealed segments and full chunks are shared between copies of the simulation, so a snapshot pays
/// for the open chunk alone.
///
/// Invariant: `log_start_offset <= high_watermark <= log_end_offset`, and offsets rise from batch to
/// batch. There are gaps where compaction took records out.
#[derive(Clone, Debug, Serialize)]
pub struct PartitionLog {
    /// Segments before the active one, oldest first.
    #[serde(skip)]
    pub(super) sealed: Vec<Arc<Segment>>,
    #[serde(skip)]
    pub(super) active: Segment,
    pub(super) log_start_offset: Offset,
    pub(super) log_end_offset: Offset,
    pub(super) high_watermark: Offset,
    pub(super) epochs: EpochCache,
    pub(super) size_bytes: u64,
    pub(super) producers: ProducerStates,
    pub(super) disk: Disk,
    /// Files that wait to be removed.
    pub(super) deleted: Vec<DeletedSegment>,
    /// Offsets below it have been compacted (`cleaner-offset-checkpoint`).
    pub(super) cleaner_checkpoint: Offset,
    /// What the jitter of each segment is drawn from.
    jitter_seed: u64,
    /// What has happened since it was last asked for.
    #[serde(skip)]
    pub(super) changes: Vec<LogChange>,
}

/// What lies on the disk, whatever happens to the process or to the machine's memory.
#[derive(Clone, Copy, Debug, Default, Serialize)]
pub struct Disk {
    /// Everything below it is known to be flushed (`recoveryPoint`).
    pub(super) recovery_point: Offset,
    /// Everything below it survives a loss of power. It lies beyond the recovery point after a
    /// restart, when the broker does not know what the disk has.
    pub(super) flushed_offset: Offset,
    /// When the log was last flushed.
    pub(super) last_flushed_at: SimTime,
    /// The high watermark in `replication-offset-checkpoint`.
    pub(super) high_watermark_checkpoint: Offset,
    /// The recovery point in `recovery-point-offset-checkpoint`.
    pub(super) recovery_point_checkpoint: Offset,
    /// The start in `log-start-offset-checkpoint`.
    pub(super) log_start_checkpoint: Offset,
    /// Whether the process before ended in good order (`.kafka_cleanshutdown`).
    pub(super) is_clean: bool,
}

/// A segment whose files wait to be removed, with `.deleted` behind their names.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct DeletedSegment {
    /// The offset that its files are named after.
    pub base_offset: Offset,
    /// Bytes of its batches.
    pub size_bytes: u64,
    /// When they are removed (`file.delete.delay.ms`).
    pub removed_at: SimTime,
}

/// Something that a log did by itself while it was written to or looked after.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LogChange {
    /// A new segment began at this offset.
    Rolled(Offset),
    /// Everything below this offset has been flushed.
    Flushed(Offset),
    /// So many segments were deleted; the log starts here now.
    Deleted(u32, DeletionReason, Offset),
    /// The log starts here now.
    StartMoved(Offset),
    /// It was compacted: from and to which offset, bytes before and after.
    Cleaned(Offset, Offset, u64, u64),
    /// A new process read it again from this recovery point to its end.
    Recovered(Offset, Offset),
    /// The unflushed end was lost: where the log ended and where it ends now.
    TailLost(Offset, Offset),
    /// Everything was removed; the log begins anew at the second offset instead of ending at the
    /// first.
    StartedAnew(Offset, Offset),
}

/// What a write depends on beside the log itself.
#[derive(Clone, Copy, Debug)]
pub struct LogContext<'a> {
    /// The topic's settings.
    pub config: &'a TopicConfig,
    /// The time.
    pub now: SimTime,
}

/// Records that count, with their offsets, and those of open transactions with producer ids.
pub type SettledRecords<'a> = (Vec<(Offset, &'a Record)>, Vec<(i64, &'a Record)>);

/// Why batches from a leader were not appended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UnexpectedOffset {
    /// Where the log ends.
    pub expected: Offset,
    /// Where the batch begins.
    pub found: Offset,
}

impl PartitionLog {
    /// An empty log that was created now; `jitter_seed` is what the jitter of its segments is drawn
    /// from.
    pub fn new(jitter_seed: u64, now: SimTime) -> Self {
        Self {
            sealed: Vec::new(),
            active: Segment::new(Offset::ZERO, now),
            log_start_offset: Offset::ZERO,
            log_end_offset: Offset::ZERO,
            high_watermark: Offset::ZERO,
            epochs: EpochCache {
                entries: Vec::new(),
            },
            size_bytes: 0,
            producers: ProducerStates::default(),
            disk: Disk {
                recovery_point: Offset::ZERO,
                flushed_offset: Offset::ZERO,
                last_flushed_at: now,
                high_watermark_checkpoint: Offset::ZERO,
                recovery_point_checkpoint: Offset::ZERO,
                log_start_checkpoint: Offset::ZERO,
                is_clean: false,
            },
            deleted: Vec::new(),
            cleaner_checkpoint: Offset::ZERO,
            jitter_seed,
            changes: Vec::new(),
        }
    }

    /// First offset that can be read.
    pub const fn log_start_offset(&self) -> Offset {
        self.log_start_offset
    }

    /// The next offset to be written.
    pub const fn log_end_offset(&self) -> Offset {
        self.log_end_offset
    }

    /// Offsets below it are committed, as far as this replica knows.
    pub const fn high_watermark(&self) -> Offset {
        self.high_watermark
    }

    /// Leader epochs within the log.
    pub const fn epochs(&self) -> &EpochCache {
        &self.epochs
    }

    /// The producers that wrote to it.
    pub const fn producers(&self) -> &ProducerStates {
        &self.producers
    }

    /// Forgets producers that have not written for `expiration`.
    pub fn expire_producers(&mut self, now: SimTime, expiration: Span) {
        self.producers.expire(now, expiration);
    }

    /// Offsets below it belong to no transaction that is open, and are committed.
    ///
    /// # Source
    /// `UnifiedLog.lastStableOffset`.
    pub fn last_stable_offset(&self) -> Offset {
        let unstable = self.producers.first_unstable();
        unstable.map_or(self.high_watermark, |first| first.min(self.high_watermark))
    }

    /// Reads again what the log says of its producers (`UnifiedLog.rebuildProducerState`).
    pub(super) fn rebuild_producers(&mut self) {
        let mut producers = std::mem::take(&mut self.producers);
        producers.clear();
        for batch in self.batches_from(self.log_start_offset) {
            producers.on_append(batch);
        }
        producers.on_high_watermark(self.high_watermark);
        self.producers = producers;
    }

    /// Bytes in the log.
    pub const fn size_bytes(&self) -> u64 {
        self.size_bytes
    }

    /// Segments whose files wait to be removed.
    pub fn deleted(&self) -> &[DeletedSegment] {
        &self.deleted
    }

    /// Its segments, oldest first; the last one is written to.
    pub fn segments(&self) -> impl DoubleEndedIterator<Item = &Segment> {
        self.sealed
            .iter()
            .map(|segment| &**segment)
            .chain([&self.active])
    }

    /// Segments from the one that may hold `from` on.
    pub(super) fn segments_from(&self, from: Offset) -> impl Iterator<Item = &Segment> {
        // The segment before the first that begins later.
        let later = self.sealed.partition_point(|one| one.base_offset() <= from);
        let is_in_active = self.active.base_offset() <= from;
        let skipped = later.saturating_sub(usize::from(!is_in_active));
        self.segments().skip(skipped)
    }

    /// What has happened since the last call, oldest first.
    pub fn take_changes(&mut self) -> Vec<LogChange> {
        std::mem::take(&mut self.changes)
    }

    /// Notes that a leader epoch begins at the end of the log.
    pub fn begin_epoch(&mut self, leader_epoch: i32) {
        self.epochs.assign(leader_epoch, self.log_end_offset);
    }

    /// Appends as the leader: gives the batch its offsets, its epoch, the time of the append and,
    /// where the topic wants that, its timestamps.
    ///
    /// # Source
    /// `UnifiedLog.appendAsLeader`, `LogValidator`.
    pub fn append_as_leader(
        &mut self,
        mut batch: Batch,
        leader_epoch: i32,
        around: LogContext<'_>,
    ) -> Offset {
        batch.base_offset = self.log_end_offset;
        batch.leader_epoch = leader_epoch;
        batch.appended_at = around.now;
        if around.config.message_timestamp_type.is_log_append_time() {
            let stamped = batch.records.iter().map(|record| Record {
                timestamp: around.now,
                ..record.clone()
            });
            batch.records = stamped.collect();
        }
        let base_offset = batch.base_offset;
        self.push(batch, around);
        base_offset
    }

    /// Appends what a leader sent, with its offsets and epochs.
    ///
    /// # Errors
    /// The batch begins before the end of the log.
    /// # Source
    /// `UnifiedLog.appendAsFollower`.
    pub fn append_as_follower(
        &mut self,
        batch: &Batch,
        around: LogContext<'_>,
    ) -> Result<(), UnexpectedOffset> {
        if batch.base_offset < self.log_end_offset {
            // The leader's log starts in the middle of its first batch: it is taken whole.
            if 0 < self.size_bytes || batch.next_offset() <= self.log_end_offset {
                return Err(UnexpectedOffset {
                    expected: self.log_end_offset,
                    found: batch.base_offset,
                });
            }
            self.truncate_fully_and_start_at(batch.base_offset, around.now);
        }
        self.push(batch.clone(), around);
        Ok(())
    }

    fn push(&mut self, batch: Batch, around: LogContext<'_>) {
        let incoming = Incoming {
            size_bytes: u64::from(batch.size_bytes),
            last_offset: batch.last_offset(),
            max_timestamp: batch.max_timestamp().map(|(at, _)| at),
        };
        let jitter = self.jitter_ms(around.config);
        if self
            .active
            .must_roll(incoming, around.config, jitter, around.now)
        {
            self.roll(batch.base_offset, around.now);
        }
        self.epochs.assign(batch.leader_epoch, batch.base_offset);
        self.log_end_offset = batch.next_offset();
        self.size_bytes += incoming.size_bytes;
        self.producers.on_append(&batch);
        let interval = u64::try_from(around.config.index_interval_bytes).unwrap_or_default();
        self.active.append(batch, interval, around.now);
        if around.config.flush_messages <= self.log_end_offset - self.disk.recovery_point {
            self.flush(self.log_end_offset, around.now);
        }
    }

    /// How much earlier than `segment.ms` the active segment is rolled.
    fn jitter_ms(&self, config: &TopicConfig) -> u64 {
        let most = config.segment_jitter_ms.min(config.segment_ms);
        let Some(bound) = u64::try_from(most).ok().filter(|bound| 0 < *bound) else {
            return 0;
        };
        let mut digest = Digest::new();
        digest.fold(&(self.jitter_seed, self.active.base_offset()));
        digest.value() % bound
    }

    /// Begins a new segment; what lies in the ones before is flushed.
    ///
    /// # Source
    /// `LocalLog.roll`, `UnifiedLog.roll`.
    /// # Simplified
    /// The flush after a roll takes no time.
    pub(super) fn roll(&mut self, expected: Offset, now: SimTime) {
        let base_offset = expected.max(self.log_end_offset);
        self.active.add_time_index_entry();
        let next = Segment::new(base_offset, now);
        let full = std::mem::replace(&mut self.active, next);
        self.sealed.push(Arc::new(full));
        self.changes.push(LogChange::Rolled(base_offset));
        self.flush(base_offset, now);
    }

    /// Sets the high watermark, clamped into the log; true if it moved.
    pub fn update_high_watermark(&mut self, to: Offset) -> bool {
        let clamped = to.max(self.log_start_offset).min(self.log_end_offset);
        let moved = clamped != self.high_watermark;
        self.high_watermark = clamped;
        self.producers.on_high_watermark(clamped);
        moved
    }

    /// Cuts off everything from `end` on; true if something was cut.
    ///
    /// # Source
    /// `UnifiedLog.truncateTo`.
    pub fn truncate_to(&mut self, end: Offset, now: SimTime) -> bool {
        if self.log_end_offset <= end {
            // An epoch that began at the end without a record goes all the same.
            self.epochs.truncate_from_end(self.log_end_offset);
            return false;
        }
        let first = self.segments().next().map(Segment::base_offset);
        if first.is_some_and(|first| end < first) {
            self.truncate_fully_and_start_at(end, now);
            return true;
        }
        while end < self.active.base_offset()
            && let Some(segment) = self.sealed.pop()
        {
            self.active = Arc::unwrap_or_clone(segment);
        }
        self.active.truncate_to(end, now);
        self.size_bytes = self.segments().map(Segment::size_bytes).sum();
        self.log_end_offset = end;
        self.log_start_offset = self.log_start_offset.min(end);
        self.high_watermark = self.high_watermark.min(end);
        self.epochs.truncate_from_end(end);
        self.cleaner_checkpoint = self.cleaner_checkpoint.min(end);
        self.disk.truncate_to(end);
        self.rebuild_producers();
        true
    }

    /// Removes everything and begins anew at `start`.
    ///
    /// # Source
    /// `UnifiedLog.truncateFullyAndStartAt`.
    pub fn truncate_fully_and_start_at(&mut self, start: Offset, now: SimTime) {
        let previous_end = self.log_end_offset;
        self.sealed.clear();
        self.active = Segment::new(start, now);
        self.size_bytes = 0;
        self.log_start_offset = start;
        self.log_end_offset = start;
        self.high_watermark = start;
        self.epochs.clear();
        self.producers.clear();
        self.cleaner_checkpoint = start;
        self.disk.truncate_to(start);
        self.disk.recovery_point = start;
        self.disk.flushed_offset = start;
        self.disk.log_start_checkpoint = start;
        self.changes
            .push(LogChange::StartedAnew(previous_end, start));
    }

    /// Batches from the one that holds `from` on, up to `limit` (exclusive) and about `max_bytes`;
    /// the first batch comes whatever its size if `at_least_one`.
    pub fn read(
        &self,
        from: Offset,
        limit: Offset,
        max_bytes: u64,
        at_least_one: bool,
    ) -> (Vec<Batch>, u64) {
        let mut batches = Vec::new();
        let mut bytes = 0;
        if limit <= from {
            return (batches, bytes);
        }
        for batch in self.batches_from(from) {
            if limit < batch.next_offset() {
                break;
            }
            let size = u64::from(batch.size_bytes);
            let may_exceed = at_least_one && batches.is_empty();
            if !may_exceed && max_bytes < bytes + size {
                break;
            }
            bytes += size;
            batches.push(batch.clone());
        }
        (batches, bytes)
    }

    /// Bytes of the whole batches between `from` and `limit`, counted up to `enough`.
    pub fn bytes_between(&self, from: Offset, limit: Offset, enough: u64) -> u64 {
        let mut bytes = 0;
        for batch in self.batches_from(from) {
            if limit < batch.next_offset() || enough <= bytes {
                break;
            }
            bytes += u64::from(batch.size_bytes);
        }
        bytes
    }

    /// Batches from the one that holds `from` on, or the first after it.
    pub fn batches_from(&self, from: Offset) -> impl Iterator<Item = &Batch> {
        self.segments_from(from)
            .flat_map(move |segment| segment.batches_from(from))
    }

    /// Every record with its offset, oldest first.
    pub fn records(&self) -> impl Iterator<Item = (Offset, &Record)> {
        let start = self.log_start_offset;
        self.batches_from(start)
            .flat_map(Batch::entries)
            .skip_while(move |(offset, _)| *offset < start)
    }

    /// Every record with its offset, as far as it counts: records of a transaction come where it
    /// was committed, not at all if it was aborted, and apart, with their producer's id, while it is
    /// open.
    pub fn settled_records(&self) -> SettledRecords<'_> {
        let mut settled = Vec::new();
        let mut open: Vec<(i64, &Record)> = Vec::new();
        for batch in self.batches_from(self.log_start_offset) {
            let producer_id = batch.producer.producer_id;
            for (offset, record) in batch.entries() {
                if let RecordValue::EndTransaction { is_commit, .. } = &record.value {
                    let ended = open
                        .iter()
                        .filter(|(id, _)| *id == producer_id && *is_commit);
                    settled.extend(ended.map(|(_, record)| (offset, *record)));
                    open.retain(|(id, _)| *id != producer_id);
                } else if batch.producer.is_transactional {
                    open.push((producer_id, record));
                } else {
                    settled.push((offset, record));
                }
            }
        }
        (settled, open)
    }

    /// The record at `offset`; unset where there is none, or none any more.
    pub fn record(&self, offset: Offset) -> Option<&Record> {
        let batch = self.batches_from(offset).next()?;
        let mut entries = batch.entries();
        entries
            .find(|(at, _)| *at == offset)
            .map(|(_, record)| record)
    }
}
