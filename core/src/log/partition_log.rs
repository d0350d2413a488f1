//! Batches in order, with the offsets that bound them.

use super::epoch_cache::EpochCache;
use super::producer_state::ProducerStates;
use crate::base::ids::Offset;
use crate::kernel::time::{SimTime, Span};
use crate::wire::record::{Batch, Record, RecordValue};
use serde::Serialize;
use std::sync::Arc;

/// One replica's log.
///
/// Full chunks are shared between copies of the simulation, so a snapshot pays for the open chunk
/// alone.
///
/// Invariant: `log_start_offset <= high_watermark <= log_end_offset`, and batches follow one another
/// without a gap.
#[derive(Clone, Debug, Serialize)]
pub struct PartitionLog {
    #[serde(skip)]
    closed: Vec<Arc<Vec<Batch>>>,
    #[serde(skip)]
    open: Vec<Batch>,
    log_start_offset: Offset,
    log_end_offset: Offset,
    high_watermark: Offset,
    /// What the last checkpoint wrote; a restarted process begins with it.
    high_watermark_checkpoint: Offset,
    epochs: EpochCache,
    size_bytes: u64,
    producers: ProducerStates,
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
    /// An empty log.
    pub fn new() -> Self {
        Self {
            closed: Vec::new(),
            open: Vec::new(),
            log_start_offset: Offset::ZERO,
            log_end_offset: Offset::ZERO,
            high_watermark: Offset::ZERO,
            high_watermark_checkpoint: Offset::ZERO,
            epochs: EpochCache {
                entries: Vec::new(),
            },
            size_bytes: 0,
            producers: ProducerStates::default(),
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
    fn rebuild_producers(&mut self) {
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

    /// Notes that a leader epoch begins at the end of the log.
    pub fn begin_epoch(&mut self, leader_epoch: i32) {
        self.epochs.assign(leader_epoch, self.log_end_offset);
    }

    /// Appends as the leader: gives the batch its offsets and its epoch.
    pub fn append_as_leader(&mut self, mut batch: Batch, leader_epoch: i32) -> Offset {
        batch.base_offset = self.log_end_offset;
        batch.leader_epoch = leader_epoch;
        let base_offset = batch.base_offset;
        self.push(batch);
        base_offset
    }

    /// Appends what a leader sent, with its offsets and epochs.
    ///
    /// # Errors
    /// The batch begins before the end of the log.
    pub fn append_as_follower(&mut self, batch: &Batch) -> Result<(), UnexpectedOffset> {
        if batch.base_offset < self.log_end_offset {
            return Err(UnexpectedOffset {
                expected: self.log_end_offset,
                found: batch.base_offset,
            });
        }
        self.push(batch.clone());
        Ok(())
    }

    fn push(&mut self, batch: Batch) {
        self.epochs.assign(batch.leader_epoch, batch.base_offset);
        self.log_end_offset = batch.next_offset();
        self.size_bytes += u64::from(batch.size_bytes);
        self.producers.on_append(&batch);
        self.open.push(batch);
        if self.open.len() == CHUNK {
            self.closed.push(Arc::new(std::mem::take(&mut self.open)));
        }
    }

    /// Sets the high watermark, clamped into the log; true if it moved.
    pub fn update_high_watermark(&mut self, to: Offset) -> bool {
        let clamped = to.max(self.log_start_offset).min(self.log_end_offset);
        let moved = clamped != self.high_watermark;
        self.high_watermark = clamped;
        self.producers.on_high_watermark(clamped);
        moved
    }

    /// Writes the high watermark to the checkpoint file.
    pub fn checkpoint_high_watermark(&mut self) {
        self.high_watermark_checkpoint = self.high_watermark;
    }

    /// What a process finds when it opens the log again: everything that was written, and the
    /// high watermark of the last checkpoint.
    pub fn reopen(&mut self) {
        self.high_watermark = self.high_watermark_checkpoint.min(self.log_end_offset);
        self.rebuild_producers();
    }

    /// Cuts off everything from `end` on; true if something was cut.
    pub fn truncate_to(&mut self, end: Offset) -> bool {
        self.epochs
            .truncate_from_end(end.max(self.log_start_offset));
        if self.log_end_offset <= end {
            return false;
        }
        let end = end.max(self.log_start_offset);
        while self
            .open
            .first()
            .is_none_or(|batch| end < batch.base_offset)
        {
            let Some(chunk) = self.closed.pop() else {
                break;
            };
            self.open = Arc::unwrap_or_clone(chunk);
        }
        while let Some(last) = self.open.pop() {
            if last.next_offset() <= end {
                self.open.push(last);
                break;
            }
            self.size_bytes = self.size_bytes.saturating_sub(u64::from(last.size_bytes));
            let kept = usize::try_from(end - last.base_offset).unwrap_or_default();
            if 0 < kept {
                self.open.push(shortened(&last, kept));
                break;
            }
        }
        self.log_end_offset = end;
        self.high_watermark = self.high_watermark.min(end);
        self.high_watermark_checkpoint = self.high_watermark_checkpoint.min(end);
        self.rebuild_producers();
        true
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

    fn batches_from(&self, from: Offset) -> impl Iterator<Item = &Batch> {
        let ends_before = |chunk: &[Batch]| chunk.last().is_some_and(|b| b.next_offset() <= from);
        let skipped = self.closed.partition_point(|chunk| ends_before(chunk));
        self.closed
            .iter()
            .skip(skipped)
            .flat_map(move |chunk| first_holding(chunk, from))
            .chain(first_holding(&self.open, from))
    }

    /// Every record with its offset, oldest first.
    pub fn records(&self) -> impl Iterator<Item = (Offset, &Record)> {
        self.batches_from(self.log_start_offset)
            .flat_map(Batch::entries)
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

    /// The record at `offset`.
    pub fn record(&self, offset: Offset) -> Option<&Record> {
        let batch = self.batches_from(offset).next()?;
        let mut entries = batch.entries();
        entries
            .find(|(at, _)| *at == offset)
            .map(|(_, record)| record)
    }
}

impl Default for PartitionLog {
    fn default() -> Self {
        Self::new()
    }
}

fn first_holding(chunk: &[Batch], from: Offset) -> &[Batch] {
    let skipped = chunk.partition_point(|batch| batch.next_offset() <= from);
    chunk.get(skipped..).unwrap_or_default()
}

/// The first `count` records of a batch. Kafka cuts at batch boundaries of the file; a follower's
/// divergence always lies on one, so this is reached only when a leader split a batch.
fn shortened(batch: &Batch, count: usize) -> Batch {
    let records: Arc<[Record]> = batch.records.iter().take(count).cloned().collect();
    Batch {
        last_offset_delta: u32::try_from(count).unwrap_or(u32::MAX).saturating_sub(1),
        size_bytes: Batch::size_of(&records),
        records,
        ..batch.clone()
    }
}

const CHUNK: usize = 256;

#[cfg(test)]
mod tests {
    #[cfg(target_arch = "wasm32")]
    use wasm_bindgen_test::wasm_bindgen_test as test;

    use super::PartitionLog;
    use crate::base::ids::{Offset, RecordId};
    use crate::kernel::time::SimTime;
    use crate::wire::record::{Batch, Record};
    use std::sync::Arc;

    fn batch(count: u64) -> Batch {
        let records: Arc<[Record]> = (0..count)
            .map(|id| Record::text(RecordId(id), None, Arc::from("v"), SimTime::ZERO))
            .collect();
        Batch::new(records)
    }

    fn log(batches: u64, each: u64) -> PartitionLog {
        let mut log = PartitionLog::new();
        for _ in 0..batches {
            log.append_as_leader(batch(each), 0);
        }
        log
    }

    #[test]
    fn offsets_and_high_watermark_b1_to_b5() {
        let mut first = log(1, 3);
        assert_eq!(first.log_end_offset(), Offset(3), "B1");
        assert_eq!(
            first.high_watermark(),
            Offset(0),
            "B1: an append does not move it"
        );
        first.update_high_watermark(Offset(1));
        first.update_high_watermark(Offset(5));
        assert_eq!(first.high_watermark(), Offset(3), "B2: clamped");
        let mut second = log(6, 1);
        second.update_high_watermark(Offset(6));
        assert!(second.truncate_to(Offset(3)), "B3");
        assert_eq!(
            (second.log_end_offset(), second.high_watermark()),
            (Offset(3), Offset(3)),
            "B3"
        );
        let mut third = log(100, 1);
        third.update_high_watermark(Offset(99));
        assert!(!third.update_high_watermark(Offset(99)), "B5: no change");
        assert!(third.update_high_watermark(Offset(100)), "B5");
        assert!(!third.update_high_watermark(Offset(101)), "B5: clamped");
    }

    #[test]
    fn the_leader_stamps_its_epoch_b19() {
        let mut log = PartitionLog::new();
        log.begin_epoch(72);
        log.append_as_leader(batch(2), 72);
        let (read, _) = log.read(Offset(0), Offset(2), 1_000, true);
        assert!(read.iter().all(|batch| batch.leader_epoch == 72), "B19");
        assert_eq!(log.epochs().entries(), [(72, Offset(0))], "B19");
    }

    #[test]
    fn truncating_forgets_epochs_a18() {
        let mut base = PartitionLog::new();
        for (epoch, count) in [(0, 10), (1, 6), (2, 4)] {
            for _ in 0..count {
                base.append_as_leader(batch(1), epoch);
            }
        }
        for (end, entries) in [(20, 3), (11, 2), (10, 1), (0, 0)] {
            let mut cut = base.clone();
            cut.truncate_to(Offset(end));
            assert_eq!(
                cut.epochs().entries().len(),
                entries,
                "A18: truncated to {end}"
            );
            assert_eq!(cut.log_end_offset(), Offset(end), "A18: truncated to {end}");
        }
    }

    #[test]
    fn reading_and_truncating_agree_across_chunks() {
        let mut log = log(1_000, 2);
        for from in [0, 1, 511, 512, 1_023, 1_024, 1_998, 1_999] {
            let (batches, _) = log.read(Offset(from), Offset(2_000), u64::MAX, false);
            let first = batches.first().expect("there is a batch");
            assert!(first.base_offset <= Offset(from), "the batch holds {from}");
            assert!(Offset(from) < first.next_offset(), "the batch holds {from}");
            assert_eq!(
                batches.last().expect("one").next_offset(),
                Offset(2_000),
                "to the end"
            );
        }
        assert!(
            log.read(Offset(2_000), Offset(2_000), 9, true).0.is_empty(),
            "nothing at the end"
        );
        for end in [1_999, 1_500, 1_024, 513, 512, 7, 0] {
            log.truncate_to(Offset(end));
            let count = log.records().count();
            assert_eq!(
                i64::try_from(count),
                Ok(end),
                "records left after cutting to {end}"
            );
        }
    }

    #[test]
    fn the_first_batch_may_exceed_the_budget() {
        let log = log(3, 4);
        let (none, _) = log.read(Offset(0), Offset(12), 1, false);
        assert!(none.is_empty(), "a later partition keeps the budget");
        let (one, bytes) = log.read(Offset(0), Offset(12), 1, true);
        assert_eq!(one.len(), 1, "the first partition gives one batch");
        assert_eq!(bytes, u64::from(one[0].size_bytes), "its bytes are counted");
        assert_eq!(
            log.bytes_between(Offset(0), Offset(12), 1),
            bytes,
            "enough is enough"
        );
    }
}
