//! A segment of a log: its batches, its offset index and its time index.

use crate::base::config::TopicConfig;
use crate::base::ids::Offset;
use crate::kernel::time::SimTime;
use crate::wire::record::Batch;
use std::sync::Arc;

/// A segment (`LogSegment`).
///
/// Full chunks are shared between copies of the simulation, so a snapshot pays for the open chunk
/// alone.
///
/// Invariant: offsets and file positions rise from batch to batch and from index entry to index
/// entry; no batch begins before `base_offset`.
#[derive(Clone, Debug)]
pub struct Segment {
    base_offset: Offset,
    closed: Vec<Arc<Chunk>>,
    open: Chunk,
    size_bytes: u64,
    created_at: SimTime,
    /// The file's time of change, for a segment whose records have no timestamps.
    modified_at: SimTime,
    /// The largest timestamp of the first append; unset while there is none.
    first_timestamp: Option<SimTime>,
    /// The largest timestamp and the offset of its record; unset without records.
    largest: Option<(SimTime, Offset)>,
    bytes_since_index_entry: u64,
    index_entries: u32,
    time_index_entries: u32,
}

/// Batches of a segment with the index entries that were added along with them.
#[derive(Clone, Debug, Default)]
struct Chunk {
    /// Where in the file it begins.
    position: u64,
    size_bytes: u64,
    batches: Vec<Batch>,
    index: Vec<(Offset, u64)>,
    time_index: Vec<(SimTime, Offset)>,
}

/// What is about to be appended, as the decision to roll sees it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Incoming {
    pub(super) size_bytes: u64,
    pub(super) last_offset: Offset,
    /// Its largest timestamp; unset without records.
    pub(super) max_timestamp: Option<SimTime>,
}

impl Segment {
    pub(super) const fn new(base_offset: Offset, now: SimTime) -> Self {
        Self {
            base_offset,
            closed: Vec::new(),
            open: Chunk {
                position: 0,
                size_bytes: 0,
                batches: Vec::new(),
                index: Vec::new(),
                time_index: Vec::new(),
            },
            size_bytes: 0,
            created_at: now,
            modified_at: now,
            first_timestamp: None,
            largest: None,
            bytes_since_index_entry: 0,
            index_entries: 0,
            time_index_entries: 0,
        }
    }

    /// The offset that its files are named after.
    pub const fn base_offset(&self) -> Offset {
        self.base_offset
    }

    /// Bytes of its batches.
    pub const fn size_bytes(&self) -> u64 {
        self.size_bytes
    }

    /// Entries of its offset index.
    pub const fn index_entries(&self) -> u32 {
        self.index_entries
    }

    /// Entries of its time index.
    pub const fn time_index_entries(&self) -> u32 {
        self.time_index_entries
    }

    /// The largest timestamp of a record and the offset of that record; unset without records.
    pub const fn largest(&self) -> Option<(SimTime, Offset)> {
        self.largest
    }

    /// The largest timestamp, or the time of the last change when no record has one.
    pub fn largest_timestamp(&self) -> SimTime {
        self.largest.map_or(self.modified_at, |(at, _)| at)
    }

    /// The largest timestamp of the first append, or when the segment was created.
    pub(super) fn first_timestamp(&self) -> SimTime {
        self.first_timestamp.unwrap_or(self.created_at)
    }

    pub(super) const fn modified_at(&self) -> SimTime {
        self.modified_at
    }

    /// Whether a new segment must be begun for what comes in.
    pub(super) fn must_roll(
        &self,
        incoming: Incoming,
        config: &TopicConfig,
        jitter_ms: u64,
        now: SimTime,
    ) -> bool {
        let segment_bytes = u64::try_from(config.segment_bytes).unwrap_or_default();
        let waited = match (self.first_timestamp, incoming.max_timestamp) {
            (Some(first), Some(timestamp)) => timestamp.since(first),
            (Some(_), None) => return self.is_full(incoming, segment_bytes, config),
            (None, _) => now.since(self.created_at),
        };
        let patience_ms = config.max_segment_ms().saturating_sub(jitter_ms);
        (0 < self.size_bytes && patience_ms.saturating_mul(1_000) < waited.0)
            || self.is_full(incoming, segment_bytes, config)
    }

    fn is_full(&self, incoming: Incoming, segment_bytes: u64, config: &TopicConfig) -> bool {
        let index_bytes = u64::try_from(config.segment_index_bytes).unwrap_or_default();
        let is_index_full = index_bytes / INDEX_ENTRY_BYTES <= u64::from(self.index_entries)
            || index_bytes / TIME_INDEX_ENTRY_BYTES <= u64::from(self.time_index_entries) + 1;
        0 < self.size_bytes
            && (segment_bytes < self.size_bytes + incoming.size_bytes
                || is_index_full
                || i64::from(i32::MAX) < incoming.last_offset - self.base_offset)
    }

    /// Appends a batch; an index entry is added when enough bytes have gone by before it.
    pub(super) fn append(&mut self, batch: Batch, interval_bytes: u64, now: SimTime) {
        let max_timestamp = batch.max_timestamp();
        if self.size_bytes == 0 {
            self.first_timestamp = max_timestamp.map(|(at, _)| at);
        }
        if let Some((timestamp, _)) = max_timestamp
            && self.largest.is_none_or(|(largest, _)| largest < timestamp)
        {
            self.largest = max_timestamp;
        }
        if interval_bytes < self.bytes_since_index_entry {
            self.open.index.push((batch.last_offset(), self.size_bytes));
            self.index_entries += 1;
            self.add_time_index_entry();
            self.bytes_since_index_entry = 0;
        }
        let size = u64::from(batch.size_bytes);
        self.bytes_since_index_entry += size;
        self.size_bytes += size;
        self.modified_at = now;
        self.open.size_bytes += size;
        self.open.batches.push(batch);
        if self.open.batches.len() == CHUNK {
            let next = Chunk {
                position: self.size_bytes,
                ..Chunk::default()
            };
            let full = std::mem::replace(&mut self.open, next);
            self.closed.push(Arc::new(full));
        }
    }

    /// Adds the largest timestamp to the time index, unless it stands there: as the segment grows,
    /// and once more when the next one begins.
    pub(super) fn add_time_index_entry(&mut self) {
        let last = self
            .chunks_backwards()
            .find_map(|chunk| chunk.time_index.last());
        if let Some((timestamp, offset)) = self.largest
            && last.is_none_or(|(last, _)| *last < timestamp)
        {
            self.open.time_index.push((timestamp, offset));
            self.time_index_entries += 1;
        }
    }

    fn chunks(&self) -> impl Iterator<Item = &Chunk> {
        self.closed.iter().map(|chunk| &**chunk).chain([&self.open])
    }

    fn chunks_backwards(&self) -> impl Iterator<Item = &Chunk> {
        [&self.open]
            .into_iter()
            .chain(self.closed.iter().rev().map(|chunk| &**chunk))
    }

    /// Cuts off the batch that holds `end` and everything after it.
    pub(super) fn truncate_to(&mut self, end: Offset, now: SimTime) {
        while self
            .open
            .batches
            .first()
            .is_none_or(|batch| end <= batch.last_offset())
        {
            let Some(chunk) = self.closed.pop() else {
                break;
            };
            self.open = Arc::unwrap_or_clone(chunk);
        }
        let open = &mut self.open;
        let kept = open
            .batches
            .partition_point(|batch| batch.last_offset() < end);
        for cut in open.batches.drain(kept..) {
            open.size_bytes -= u64::from(cut.size_bytes);
        }
        open.index.retain(|(offset, _)| *offset < end);
        open.time_index.retain(|(_, offset)| *offset < end);
        self.size_bytes = self.open.position + self.open.size_bytes;
        self.modified_at = now;
        self.bytes_since_index_entry = 0;
        if self.size_bytes == 0 {
            self.created_at = now;
        }
        self.recount();
    }

    /// Counts anew what a cut may have changed.
    fn recount(&mut self) {
        let (mut entries, mut time_entries, mut largest) = (0, 0, None::<(SimTime, Offset)>);
        for chunk in self.chunks() {
            entries += chunk.index.len();
            time_entries += chunk.time_index.len();
            for (timestamp, offset) in chunk.batches.iter().filter_map(Batch::max_timestamp) {
                if largest.is_none_or(|(before, _)| before < timestamp) {
                    largest = Some((timestamp, offset));
                }
            }
        }
        self.index_entries = u32::try_from(entries).unwrap_or(u32::MAX);
        self.time_index_entries = u32::try_from(time_entries).unwrap_or(u32::MAX);
        self.largest = largest;
    }

    /// Batches from the one that holds `from` on, or the first after it.
    pub fn batches_from(&self, from: Offset) -> impl Iterator<Item = &Batch> {
        let ends_before = |chunk: &Chunk| {
            let last = chunk.batches.last();
            last.is_some_and(|batch| batch.next_offset() <= from)
        };
        let skipped = self.closed.partition_point(|chunk| ends_before(chunk));
        self.closed
            .iter()
            .skip(skipped)
            .map(|chunk| &**chunk)
            .chain([&self.open])
            .flat_map(move |chunk| chunk.first_holding(from))
    }

    /// Batches from a position in the file on, each with its own position.
    pub(super) fn batches_at(&self, position: u64) -> impl Iterator<Item = (u64, &Batch)> {
        self.chunks()
            .filter(move |chunk| position < chunk.position + chunk.size_bytes)
            .flat_map(|chunk| {
                let mut at = chunk.position;
                chunk.batches.iter().map(move |batch| {
                    let place = (at, batch);
                    at += u64::from(batch.size_bytes);
                    place
                })
            })
            .skip_while(move |(at, _)| *at < position)
    }

    /// The entry of the offset index with the greatest offset up to `target`.
    pub(super) fn index_entry(&self, target: Offset) -> Option<(Offset, u64)> {
        self.chunks_backwards().find_map(|chunk| {
            let count = chunk.index.partition_point(|(offset, _)| *offset <= target);
            chunk.index.get(count.checked_sub(1)?).copied()
        })
    }

    /// The entry of the time index with the greatest timestamp up to `target`.
    pub(super) fn time_index_entry(&self, target: SimTime) -> Option<(SimTime, Offset)> {
        self.chunks_backwards().find_map(|chunk| {
            let count = chunk.time_index.partition_point(|(at, _)| *at <= target);
            chunk.time_index.get(count.checked_sub(1)?).copied()
        })
    }

    /// The offset index.
    pub fn index(&self) -> impl Iterator<Item = (Offset, u64)> {
        self.chunks().flat_map(|chunk| chunk.index.iter().copied())
    }

    /// The time index.
    pub fn time_index(&self) -> impl Iterator<Item = (SimTime, Offset)> {
        self.chunks()
            .flat_map(|chunk| chunk.time_index.iter().copied())
    }
}

impl Chunk {
    fn first_holding(&self, from: Offset) -> &[Batch] {
        let skipped = self
            .batches
            .partition_point(|batch| batch.next_offset() <= from);
        self.batches.get(skipped..).unwrap_or_default()
    }
}

const CHUNK: usize = 256;
/// Relative offset and file position, four bytes each.
const INDEX_ENTRY_BYTES: u64 = 8;
/// Timestamp of eight bytes and relative offset of four.
const TIME_INDEX_ENTRY_BYTES: u64 = 12;
