//! The trace: a list that costs little to copy.

use super::event::TraceEntry;
use crate::kernel::digest::Digest;
use crate::kernel::limits::TRACE_ENTRIES_MAX;
use std::collections::VecDeque;
use std::sync::Arc;

/// Everything that happened, in order.
///
/// Closed chunks are shared between copies, so a snapshot pays for the open chunk alone. The
/// digest covers entries that have been dropped too.
///
/// Invariant: entry `i` of the trace has index `i`.
#[derive(Clone, Debug, Default)]
pub struct TraceBuffer {
    closed: VecDeque<Arc<Vec<TraceEntry>>>,
    open: Vec<TraceEntry>,
    /// Index of the first entry that is still kept.
    first_index: u64,
    /// Index of the next entry.
    next_index: u64,
    digest: Digest,
}

impl TraceBuffer {
    /// Appends an entry, whose index must be the next one.
    pub fn push(&mut self, entry: TraceEntry) {
        assert_eq!(
            entry.index, self.next_index,
            "trace entries are numbered without a gap"
        );
        self.digest.fold(&entry);
        self.next_index += 1;
        self.open.push(entry);
        if self.open.len() == CHUNK {
            let full = std::mem::replace(&mut self.open, Vec::with_capacity(CHUNK));
            self.closed.push_back(Arc::new(full));
            if TRACE_ENTRIES_MAX < self.next_index - self.first_index {
                self.keep_last(TRACE_ENTRIES_MAX);
            }
        }
    }

    /// Drops whole chunks of the oldest entries, but none of the last `kept`.
    pub fn keep_last(&mut self, kept: u64) {
        while let Some(chunk) = self.closed.front() {
            let dropped = u64::try_from(chunk.len()).unwrap_or_default();
            if self.next_index - self.first_index < kept + dropped {
                break;
            }
            self.first_index += dropped;
            self.closed.pop_front();
        }
    }

    /// Index of the first entry that is still kept.
    pub const fn first_index(&self) -> u64 {
        self.first_index
    }

    /// Index that the next entry will have.
    pub const fn next_index(&self) -> u64 {
        self.next_index
    }

    /// The entry with this index, unless it is dropped or has not happened.
    pub fn entry(&self, index: u64) -> Option<&TraceEntry> {
        let place = usize::try_from(index.checked_sub(self.first_index)?).ok()?;
        match self.closed.get(place / CHUNK) {
            Some(chunk) => chunk.get(place % CHUNK),
            None => self.open.get(place.checked_sub(self.closed.len() * CHUNK)?),
        }
    }

    /// The entries from `index` on, oldest first.
    pub fn since(&self, index: u64) -> impl DoubleEndedIterator<Item = &TraceEntry> + '_ {
        let skipped = index.saturating_sub(self.first_index);
        let place = usize::try_from(skipped).unwrap_or(usize::MAX);
        let whole = (place / CHUNK).min(self.closed.len());
        let within = place - whole * CHUNK;
        let (first, rest) = match self.closed.get(whole) {
            Some(chunk) => (
                chunk.get(within..).unwrap_or_default(),
                self.open.as_slice(),
            ),
            None => (self.open.get(within..).unwrap_or_default(), [].as_slice()),
        };
        first
            .iter()
            .chain(
                self.closed
                    .iter()
                    .skip(whole + 1)
                    .flat_map(|chunk| chunk.iter()),
            )
            .chain(rest)
    }

    /// The hash of the whole trace.
    pub const fn digest(&self) -> u64 {
        self.digest.value()
    }
}

const CHUNK: usize = 1_024;
