//! Looking after the logs: retention, compaction, flushing, checkpoints.

use super::ReplicaManager;
use crate::base::ids::TopicPartition;
use crate::base::timer::Timer;
use crate::kernel::time::Span;
use crate::log::partition_log::{LogContext, PartitionLog};
use crate::trace::out::Out;

impl ReplicaManager {
    /// Starts the regular work on the logs.
    pub(super) fn start_upkeep(&self, out: &mut Out) {
        let first = Span::from_millis(self.config.log_initial_task_delay_ms);
        out.arm(Timer::LogRetention, first);
        out.arm(Timer::RecoveryPointCheckpoint, first);
        out.arm(Timer::LogStartCheckpoint, first);
        if self.config.log_flush_scheduler_interval_ms < i64::MAX {
            out.arm(Timer::LogFlush, first);
        }
        if self.config.log_cleaner_enable {
            let backoff = Span::from_millis(self.config.log_cleaner_backoff_ms);
            out.arm(Timer::LogCleaner, backoff);
        }
    }

    /// Takes in an expired timer. False if it is not one of these.
    ///
    /// # Source
    /// `LogManager.startup`, `LogCleaner.CleanerThread`.
    pub(super) fn on_upkeep(&mut self, timer: &Timer, out: &mut Out) -> bool {
        let interval_ms = if *timer == Timer::LogRetention {
            self.delete_old_segments(false, out);
            self.config.log_retention_check_interval_ms
        } else if *timer == Timer::LogCleaner {
            self.clean_logs(out);
            self.delete_old_segments(true, out);
            self.config.log_cleaner_backoff_ms
        } else if *timer == Timer::LogFlush {
            self.flush_logs(out);
            self.config.log_flush_scheduler_interval_ms
        } else if *timer == Timer::RecoveryPointCheckpoint {
            self.for_each_log(PartitionLog::checkpoint_recovery_point);
            self.config.log_flush_offset_checkpoint_interval_ms
        } else if *timer == Timer::LogStartCheckpoint {
            self.for_each_log(PartitionLog::checkpoint_log_start_offset);
            self.config.log_flush_start_offset_checkpoint_interval_ms
        } else {
            return false;
        };
        out.arm(timer.clone(), Span::from_millis(interval_ms));
        true
    }

    fn for_each_log(&mut self, act: fn(&mut PartitionLog)) {
        for partition in self.partitions.values_mut() {
            act(&mut partition.log);
        }
    }

    /// Deletes what may be deleted, of the logs that are compacted or of the others: the cleaner
    /// looks after its own.
    ///
    /// # Source
    /// `LogManager.cleanupLogs`; `LogCleaner.cleanFilthiestLog` for compacted logs.
    fn delete_old_segments(&mut self, compacted: bool, out: &mut Out) {
        let ids: Vec<TopicPartition> = self.partitions.keys().copied().collect();
        for id in ids {
            let config = self.topic_config(id);
            let Some(partition) = self.partitions.get_mut(&id) else {
                continue;
            };
            if config.cleanup_policy.compacts() == compacted {
                let around = LogContext {
                    config: &config,
                    now: out.now,
                };
                partition.log.delete_old_segments(around);
                partition.note_log_changes(out);
            }
        }
    }

    /// Compacts the dirtiest log, then the next, until none is dirty enough.
    ///
    /// # Source
    /// `LogCleanerManager.grabFilthiestCompactedLog`.
    /// # Simplified
    /// One cleaner thread whose work takes no time (`log.cleaner.threads`,
    /// `log.cleaner.io.max.bytes.per.second`).
    fn clean_logs(&mut self, out: &mut Out) {
        while let Some(id) = self.filthiest(out) {
            let config = self.topic_config(id);
            let Some(partition) = self.partitions.get_mut(&id) else {
                return;
            };
            let around = LogContext {
                config: &config,
                now: out.now,
            };
            partition.log.clean(around);
            partition.note_log_changes(out);
        }
    }

    fn filthiest(&self, out: &Out) -> Option<TopicPartition> {
        let mut filthiest = None;
        for (id, partition) in &self.partitions {
            let config = self.topic_config(*id);
            if !config.cleanup_policy.compacts() {
                continue;
            }
            let around = LogContext {
                config: &config,
                now: out.now,
            };
            let cleanable = partition.log.cleanable(around);
            if cleanable.is_due(config.min_cleanable_dirty_ratio)
                && filthiest.is_none_or(|(_, other)| cleanable.is_dirtier_than(&other))
            {
                filthiest = Some((*id, cleanable));
            }
        }
        filthiest.map(|(id, _)| id)
    }

    fn flush_logs(&mut self, out: &mut Out) {
        let ids: Vec<TopicPartition> = self.partitions.keys().copied().collect();
        for id in ids {
            let config = self.topic_config(id);
            if let Some(partition) = self.partitions.get_mut(&id) {
                partition.log.flush_if_due(&config, out.now);
                partition.note_log_changes(out);
            }
        }
    }

    /// The process ends in good order: the logs are flushed and the checkpoints written, so that the
    /// next one has nothing to read again.
    ///
    /// # Source
    /// `LogManager.shutdown`.
    pub fn close_logs(&mut self, out: &mut Out) {
        for partition in self.partitions.values_mut() {
            partition.log.close(out.now);
            partition.note_log_changes(out);
        }
    }
}
