//! What is deleted from the start of a log.

use super::partition_log::{DeletedSegment, LogChange, LogContext, PartitionLog};
use super::segment::Segment;
use crate::base::config::DeletionReason;
use crate::base::ids::Offset;
use crate::kernel::time::{SimTime, Span};

/// The log cannot start there: the high watermark has not come so far.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BeyondHighWatermark;

impl PartitionLog {
    /// Lets the log start at `to`, if that lies further on. True if it moved.
    ///
    /// # Errors
    /// The high watermark lies before `to`.
    /// # Source
    /// `UnifiedLog.maybeIncrementLogStartOffset`.
    pub fn maybe_increment_log_start_offset(
        &mut self,
        to: Offset,
    ) -> Result<bool, BeyondHighWatermark> {
        if self.high_watermark < to {
            return Err(BeyondHighWatermark);
        }
        let moves = self.log_start_offset < to;
        if moves {
            self.log_start_offset = to;
            self.epochs.truncate_from_start(to);
        }
        Ok(moves)
    }

    /// The same, by a request or by the leader's example, and noted as such.
    ///
    /// # Errors
    /// The high watermark lies before `to`.
    pub fn raise_log_start_offset(&mut self, to: Offset) -> Result<(), BeyondHighWatermark> {
        if self.maybe_increment_log_start_offset(to)? {
            self.changes.push(LogChange::StartMoved(to));
        }
        Ok(())
    }

    /// Deletes segments that lie before the start of the log, and those that the topic's retention
    /// lets go. Gives how many.
    ///
    /// # Source
    /// `UnifiedLog.deleteOldSegments`.
    pub fn delete_old_segments(&mut self, around: LogContext<'_>) -> u32 {
        let now = around.now;
        self.deleted.retain(|segment| now < segment.removed_at);
        let mut count = self.delete_while(DeletionReason::StartOffset, around);
        if around.config.cleanup_policy.deletes() {
            count += self.delete_while(DeletionReason::Size, around);
            count += self.delete_while(DeletionReason::Time, around);
        }
        count
    }

    /// Deletes from the oldest segment on, up to the first that must stay.
    fn delete_while(&mut self, reason: DeletionReason, around: LogContext<'_>) -> u32 {
        let count = self.deletable(reason, around);
        if count == 0 {
            return 0;
        }
        if self.sealed.len() < count {
            self.roll(self.log_end_offset, around.now);
        }
        let delay = Span::from_millis(around.config.file_delete_delay_ms);
        for segment in self.sealed.drain(..count) {
            self.size_bytes -= segment.size_bytes();
            self.deleted.push(DeletedSegment {
                base_offset: segment.base_offset(),
                size_bytes: segment.size_bytes(),
                removed_at: around.now + delay,
            });
        }
        let first = self.segments().next().map(Segment::base_offset);
        let start = first.unwrap_or_default();
        self.maybe_increment_log_start_offset(start)
            .expect("invariant: only segments below the high watermark are deleted");
        let count = u32::try_from(count).unwrap_or(u32::MAX);
        let start = self.log_start_offset;
        self.changes.push(LogChange::Deleted(count, reason, start));
        count
    }

    /// How many segments may go for this reason.
    fn deletable(&self, reason: DeletionReason, around: LogContext<'_>) -> usize {
        let config = around.config;
        let mut surplus = i64::try_from(self.size_bytes)
            .unwrap_or(i64::MAX)
            .saturating_sub(config.retention_bytes);
        let ends = self
            .segments()
            .skip(1)
            .map(|next| (next.base_offset(), false));
        let ends = ends.chain([(self.log_end_offset, true)]);
        let mut count = 0;
        for (segment, (end, is_last)) in self.segments().zip(ends) {
            let size = i64::try_from(segment.size_bytes()).unwrap_or(i64::MAX);
            let may_go = match reason {
                DeletionReason::StartOffset => !is_last && end <= self.log_start_offset,
                DeletionReason::Size => 0 <= config.retention_bytes && size <= surplus,
                DeletionReason::Time => {
                    is_older(segment.largest_timestamp(), config.retention_ms, around.now)
                }
            };
            if !may_go || self.high_watermark < end || (is_last && size == 0) {
                break;
            }
            surplus -= size;
            count += 1;
        }
        count
    }
}

/// Whether more than `age_ms` have passed since `timestamp`; a negative age stands for "never".
fn is_older(timestamp: SimTime, age_ms: i64, now: SimTime) -> bool {
    0 <= age_ms && Span::from_millis(age_ms) < now.since(timestamp)
}
