//! What is flushed, what a checkpoint says, and what a process finds when it opens a log again.

use super::partition_log::{Disk, LogChange, PartitionLog};
use super::segment::Segment;
use crate::base::config::TopicConfig;
use crate::base::ids::Offset;
use crate::kernel::time::{SimTime, Span};

impl Disk {
    /// The log has been cut: nothing may point beyond its end.
    pub(super) fn truncate_to(&mut self, end: Offset) {
        self.recovery_point = self.recovery_point.min(end);
        self.flushed_offset = self.flushed_offset.min(end);
        self.high_watermark_checkpoint = self.high_watermark_checkpoint.min(end);
        self.recovery_point_checkpoint = self.recovery_point_checkpoint.min(end);
        self.log_start_checkpoint = self.log_start_checkpoint.min(end);
    }
}

impl PartitionLog {
    /// Everything below it is known to be flushed.
    pub const fn recovery_point(&self) -> Offset {
        self.disk.recovery_point
    }

    /// Everything below it survives a loss of power.
    pub const fn flushed_offset(&self) -> Offset {
        self.disk.flushed_offset
    }

    /// Writes what lies below `to` to the disk.
    ///
    /// # Source
    /// `UnifiedLog.flush`.
    pub(super) fn flush(&mut self, to: Offset, now: SimTime) {
        self.disk.last_flushed_at = now;
        self.disk.flushed_offset = self.disk.flushed_offset.max(to);
        if self.disk.recovery_point < to {
            self.disk.recovery_point = to;
            self.changes.push(LogChange::Flushed(to));
        }
    }

    /// Flushes the log if the last time was `flush.ms` ago.
    ///
    /// # Source
    /// `LogManager.flushDirtyLogs`.
    pub fn flush_if_due(&mut self, config: &TopicConfig, now: SimTime) {
        if Span::from_millis(config.flush_ms) <= now.since(self.disk.last_flushed_at) {
            self.flush(self.log_end_offset, now);
        }
    }

    /// Writes the high watermark to `replication-offset-checkpoint`.
    pub fn checkpoint_high_watermark(&mut self) {
        self.disk.high_watermark_checkpoint = self.high_watermark;
    }

    /// Writes the recovery point to `recovery-point-offset-checkpoint`.
    pub fn checkpoint_recovery_point(&mut self) {
        self.disk.recovery_point_checkpoint = self.disk.recovery_point;
    }

    /// Writes the start of the log to `log-start-offset-checkpoint`.
    pub fn checkpoint_log_start_offset(&mut self) {
        self.disk.log_start_checkpoint = self.log_start_offset;
    }

    /// The process ends in good order: everything is flushed and written to the checkpoints.
    ///
    /// # Source
    /// `LogManager.shutdown`.
    pub fn close(&mut self, now: SimTime) {
        self.flush(self.log_end_offset, now);
        self.checkpoint_recovery_point();
        self.checkpoint_log_start_offset();
        self.checkpoint_high_watermark();
        self.disk.is_clean = true;
    }

    /// Batches that a loss of power may take.
    pub fn unflushed_batches(&self) -> u64 {
        let tail = self.batches_from(self.disk.flushed_offset);
        u64::try_from(tail.count()).unwrap_or(u64::MAX)
    }

    /// The machine loses power: of the unflushed batches the disk has the first `kept`.
    ///
    /// # Simplified
    /// What the operating system wrote back by itself is a whole number of batches from the front;
    /// checkpoint files and the leader epoch cache are never torn.
    pub fn lose_power(&mut self, kept: u64, now: SimTime) {
        let previous_end = self.log_end_offset;
        let kept = usize::try_from(kept).unwrap_or(usize::MAX);
        let first_lost = self.batches_from(self.disk.flushed_offset).nth(kept);
        if let Some(end) = first_lost.map(|batch| batch.base_offset) {
            self.truncate_to(end, now);
            self.changes.push(LogChange::TailLost(previous_end, end));
        }
        self.disk.flushed_offset = self.log_end_offset;
        self.disk.is_clean = false;
    }

    /// What a new process finds: what was written and not lost, the offsets of the checkpoints, and
    /// no files that waited to be removed. After a shutdown in good order nothing need be read
    /// again; otherwise everything from the recovery point on is.
    ///
    /// # Source
    /// `LogLoader.load`, `LogManager.loadLog`.
    /// # Simplified
    /// Reading segments again takes no time.
    pub fn reopen(&mut self, now: SimTime) {
        self.changes.clear();
        self.deleted.clear();
        let first = self.segments().next().map(Segment::base_offset);
        let start = self
            .disk
            .log_start_checkpoint
            .max(first.unwrap_or_default());
        if self.log_end_offset < start {
            self.truncate_fully_and_start_at(start, now);
        }
        self.log_start_offset = start;
        self.epochs.truncate_from_end(self.log_end_offset);
        self.epochs.truncate_from_start(start);
        let high_watermark = self.disk.high_watermark_checkpoint;
        self.high_watermark = high_watermark.max(start).min(self.log_end_offset);
        self.rebuild_producers();
        if self.disk.is_clean {
            self.disk.recovery_point = self.log_end_offset;
        } else {
            let from = self.disk.recovery_point_checkpoint.min(self.log_end_offset);
            self.disk.recovery_point = from;
            if from < self.log_end_offset {
                self.changes
                    .push(LogChange::Recovered(from, self.log_end_offset));
            }
        }
        self.disk.last_flushed_at = now;
        // The file is removed as soon as the process has seen it.
        self.disk.is_clean = false;
    }
}
