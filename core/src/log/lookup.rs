//! Finding a record by offset or by timestamp, step by step.

use super::partition_log::PartitionLog;
use super::segment::Segment;
use crate::base::ids::Offset;
use crate::kernel::time::SimTime;
use crate::wire::record::Batch;
use serde::Serialize;

/// How a record was looked for: every step that a broker takes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Lookup {
    /// Base offset of the segment that was chosen.
    pub segment: Offset,
    /// By timestamp: the entry of the time index that the search began from; unset when the search
    /// began at the segment's base.
    pub time_index_entry: Option<(SimTime, Offset)>,
    /// The entry of the offset index that the scan began from, offset and file position; unset
    /// when it began at the beginning of the file.
    pub index_entry: Option<(Offset, u64)>,
    /// The batches that were read, in their order; the last one holds what was found.
    pub scanned: Vec<ScannedBatch>,
    /// Offset of the record that was found, and its timestamp; unset when there is none.
    pub found: Option<(Offset, SimTime)>,
}

/// A batch that a lookup has read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct ScannedBatch {
    /// Offset of its first record.
    pub base_offset: Offset,
    /// Offset of its last record.
    pub last_offset: Offset,
    /// Where in the segment's file it stands.
    pub position: u64,
    /// Its size.
    pub size_bytes: u32,
}

impl PartitionLog {
    /// Looks up the first record at `target` or after it, as a fetch does; unset outside the log.
    ///
    /// # Source
    /// `LogSegments.floorSegment`, `OffsetIndex.lookup`, `FileRecords.searchForOffsetWithSize`.
    pub fn look_up_offset(&self, target: Offset) -> Option<Lookup> {
        if target < self.log_start_offset() || self.log_end_offset() <= target {
            return None;
        }
        let mut lookup = None;
        for segment in self.segments_from(target) {
            let (index_entry, scanned) = scan_to(segment, target);
            let is_found = scanned
                .last()
                .is_some_and(|batch| target <= batch.last_offset);
            lookup = Some(Lookup {
                segment: segment.base_offset(),
                time_index_entry: None,
                index_entry,
                scanned,
                found: self.first_at_or_after(target),
            });
            if is_found {
                break;
            }
        }
        lookup
    }

    fn first_at_or_after(&self, target: Offset) -> Option<(Offset, SimTime)> {
        let mut entries = self.batches_from(target).flat_map(Batch::entries);
        entries
            .find(|(offset, _)| target <= *offset)
            .map(|(offset, record)| (offset, record.timestamp))
    }

    /// Looks up the first record whose timestamp is `target` or later: the earliest offset, which
    /// need not be the earliest time. Unset when no segment reaches so far.
    ///
    /// # Source
    /// `UnifiedLog.fetchOffsetByTimestamp`, `LogSegment.findOffsetByTimestamp` (KIP-33).
    pub fn look_up_timestamp(&self, target: SimTime) -> Option<Lookup> {
        let segment = self
            .segments()
            .find(|segment| target <= segment.largest_timestamp())?;
        let time_index_entry = segment.time_index_entry(target);
        let from = time_index_entry
            .map_or(segment.base_offset(), |(_, offset)| offset)
            .max(self.log_start_offset());
        let index_entry = segment.index_entry(from);
        let mut lookup = Lookup {
            segment: segment.base_offset(),
            time_index_entry,
            index_entry,
            scanned: Vec::new(),
            found: None,
        };
        for (position, batch) in segment.batches_at(index_entry.map_or(0, |(_, at)| at)) {
            lookup.scanned.push(ScannedBatch {
                base_offset: batch.base_offset,
                last_offset: batch.last_offset(),
                position,
                size_bytes: batch.size_bytes,
            });
            let start = self.log_start_offset().max(from);
            lookup.found = batch
                .entries()
                .find(|(offset, record)| start <= *offset && target <= record.timestamp)
                .map(|(offset, record)| (offset, record.timestamp));
            if lookup.found.is_some() {
                break;
            }
        }
        Some(lookup)
    }

    /// The record with the largest timestamp: its offset and timestamp; unset in an empty log.
    ///
    /// # Source
    /// `UnifiedLog.fetchOffsetByTimestamp`, timestamp -3 (KIP-734).
    pub fn max_timestamp(&self) -> Option<(Offset, SimTime)> {
        let mut largest: Option<(SimTime, Offset)> = None;
        for found in self.segments().filter_map(Segment::largest) {
            if largest.is_none_or(|(timestamp, _)| timestamp < found.0) {
                largest = Some(found);
            }
        }
        largest.map(|(timestamp, offset)| (offset, timestamp))
    }
}

/// Reads a segment from the index entry below `target` on, up to the batch that holds it.
fn scan_to(segment: &Segment, target: Offset) -> (Option<(Offset, u64)>, Vec<ScannedBatch>) {
    let index_entry = segment.index_entry(target);
    let mut scanned = Vec::new();
    for (position, batch) in segment.batches_at(index_entry.map_or(0, |(_, at)| at)) {
        scanned.push(ScannedBatch {
            base_offset: batch.base_offset,
            last_offset: batch.last_offset(),
            position,
            size_bytes: batch.size_bytes,
        });
        if target <= batch.last_offset() {
            break;
        }
    }
    (index_entry, scanned)
}
