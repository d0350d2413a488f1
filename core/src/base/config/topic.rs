//! Topic settings.

use super::{BrokerConfig, SettingValue, settings};
use crate::kernel::rng::Ratio;
use serde::{Deserialize, Serialize};

/// What becomes of old records (`cleanup.policy`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum CleanupPolicy {
    /// Old segments are deleted.
    Delete,
    /// Of each key the last record stays.
    Compact,
    /// Both.
    CompactAndDelete,
}

impl CleanupPolicy {
    /// Whether old segments are deleted by age and size.
    pub const fn deletes(self) -> bool {
        matches!(self, Self::Delete | Self::CompactAndDelete)
    }

    /// Whether the log is compacted.
    pub const fn compacts(self) -> bool {
        matches!(self, Self::Compact | Self::CompactAndDelete)
    }
}

impl SettingValue for CleanupPolicy {
    fn parse(text: &str) -> Result<Self, String> {
        match text.trim().trim_matches(['[', ']']) {
            "delete" => Ok(Self::Delete),
            "compact" => Ok(Self::Compact),
            "compact,delete" | "delete,compact" => Ok(Self::CompactAndDelete),
            _ => Err(String::from("delete, compact or compact,delete")),
        }
    }
    fn render(&self) -> String {
        String::from(match self {
            Self::Delete => "delete",
            Self::Compact => "compact",
            Self::CompactAndDelete => "compact,delete",
        })
    }
}

/// Whose clock gives a record its timestamp (`message.timestamp.type`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum TimestampType {
    /// The producer's.
    CreateTime,
    /// The leader's, when it appends.
    LogAppendTime,
}

impl TimestampType {
    /// Whether the leader stamps the records.
    pub const fn is_log_append_time(self) -> bool {
        matches!(self, Self::LogAppendTime)
    }
}

impl SettingValue for TimestampType {
    fn parse(text: &str) -> Result<Self, String> {
        match text.trim() {
            "CreateTime" => Ok(Self::CreateTime),
            "LogAppendTime" => Ok(Self::LogAppendTime),
            _ => Err(String::from("CreateTime or LogAppendTime")),
        }
    }
    fn render(&self) -> String {
        String::from(match self {
            Self::CreateTime => "CreateTime",
            Self::LogAppendTime => "LogAppendTime",
        })
    }
}

/// What let a segment be deleted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum DeletionReason {
    /// The log starts after it.
    StartOffset,
    /// `retention.bytes`.
    Size,
    /// `retention.ms`.
    Time,
}

settings! {
    /// Settings of one topic.
    TopicConfig {
        min_insync_replicas: i64 = 1, "min.insync.replicas", "a number from 1 to 64", Some(1..=64),
            "Members that the ISR must have for acks=all; no more than the topic has replicas count. Kafka: Partition.effectiveMinIsr.";
        unclean_leader_election_enable: bool = false, "unclean.leader.election.enable", "true or false", None,
            "Whether a replica outside the ISR may lead when nobody else can (and lose records).";
        max_message_bytes: i64 = 1_048_588, "max.message.bytes", "a number from 0 to 2147483647", Some(0..=2_147_483_647),
            "Largest record batch that the log accepts, in bytes.";
        segment_bytes: i64 = 1_073_741_824, "segment.bytes", "a number from 14 to 2147483647", Some(14..=2_147_483_647),
            "Bytes after which a new segment begins; Kafka 4.0 allows no less than 1048576. Kafka: LogSegment.shouldRoll.";
        segment_ms: i64 = 604_800_000, "segment.ms", "a number from 1 to 9223372036854775807", Some(1..=i64::MAX),
            "Milliseconds between a segment's first record and the record that begins a new segment; nothing is rolled without an append.";
        segment_jitter_ms: i64 = 0, "segment.jitter.ms", "a number from 0 to 9223372036854775807", Some(0..=i64::MAX),
            "Milliseconds by which at most, at random, a segment is rolled before segment.ms.";
        segment_index_bytes: i64 = 10_485_760, "segment.index.bytes", "a number from 24 to 2147483647", Some(24..=2_147_483_647),
            "Largest index of a segment, in bytes: 8 an entry of the offset index, 12 an entry of the time index.";
        index_interval_bytes: i64 = 4_096, "index.interval.bytes", "a number from 0 to 2147483647", Some(0..=2_147_483_647),
            "Bytes between two entries of the indexes.";
        retention_ms: i64 = 604_800_000, "retention.ms", "a number from -1 to 9223372036854775807", Some(-1..=i64::MAX),
            "Milliseconds after which the newest record of a segment lets it be deleted; -1 for ever. Kafka: UnifiedLog.deleteRetentionMsBreachedSegments.";
        retention_bytes: i64 = -1, "retention.bytes", "a number from -1 to 9223372036854775807", Some(-1..=i64::MAX),
            "Bytes of each partition that stay at least when segments are deleted by size; -1 for no limit.";
        cleanup_policy: CleanupPolicy = CleanupPolicy::Delete, "cleanup.policy", "delete, compact or compact,delete", None,
            "What becomes of old records: whole segments are deleted, or of each key the last record stays.";
        delete_retention_ms: i64 = 86_400_000, "delete.retention.ms", "a number from 0 to 9223372036854775807", Some(0..=i64::MAX),
            "Milliseconds that a tombstone stays after the first compaction that has seen it (KIP-534).";
        min_compaction_lag_ms: i64 = 0, "min.compaction.lag.ms", "a number from 0 to 9223372036854775807", Some(0..=i64::MAX),
            "Milliseconds that a record stays before it may be compacted (KIP-58).";
        max_compaction_lag_ms: i64 = i64::MAX, "max.compaction.lag.ms", "a number from 1 to 9223372036854775807", Some(1..=i64::MAX),
            "Milliseconds after which a record is compacted although the log is not dirty enough (KIP-354).";
        min_cleanable_dirty_ratio: Ratio = Ratio::per_million(500_000), "min.cleanable.dirty.ratio", "a number from 0 to 1, such as 0.5", None,
            "Share of dirty bytes above which a log is compacted.";
        message_timestamp_type: TimestampType = TimestampType::CreateTime, "message.timestamp.type", "CreateTime or LogAppendTime", None,
            "Whose clock stamps the records: the producer's, or the leader's when it appends.";
        flush_messages: i64 = i64::MAX, "flush.messages", "a number from 1 to 9223372036854775807", Some(1..=i64::MAX),
            "Records after which the log is flushed to the disk; by default never.";
        flush_ms: i64 = i64::MAX, "flush.ms", "a number from 0 to 9223372036854775807", Some(0..=i64::MAX),
            "Milliseconds after which the log is flushed; looked at every log.flush.scheduler.interval.ms, which is never by default.";
        file_delete_delay_ms: i64 = 60_000, "file.delete.delay.ms", "a number from 0 to 9223372036854775807", Some(0..=i64::MAX),
            "Milliseconds that the files of a deleted segment stay on the disk.";
    }
}

impl TopicConfig {
    /// What a topic has when it says nothing itself: the broker's settings.
    ///
    /// # Source
    /// `KafkaConfig.extractLogConfigMap`.
    pub fn of_broker(broker: &BrokerConfig) -> Self {
        let ms = |ms: Option<i64>, minutes: Option<i64>, hours: i64| {
            ms.unwrap_or_else(|| match minutes {
                Some(minutes) => minutes.saturating_mul(60_000),
                None => hours.saturating_mul(3_600_000),
            })
        };
        Self {
            min_insync_replicas: broker.min_insync_replicas,
            unclean_leader_election_enable: broker.unclean_leader_election_enable,
            max_message_bytes: broker.message_max_bytes,
            segment_bytes: broker.log_segment_bytes,
            segment_ms: ms(broker.log_roll_ms, None, broker.log_roll_hours),
            segment_jitter_ms: ms(
                broker.log_roll_jitter_ms,
                None,
                broker.log_roll_jitter_hours,
            ),
            segment_index_bytes: broker.log_index_size_max_bytes,
            index_interval_bytes: broker.log_index_interval_bytes,
            retention_ms: ms(
                broker.log_retention_ms,
                broker.log_retention_minutes,
                broker.log_retention_hours,
            )
            .max(-1),
            retention_bytes: broker.log_retention_bytes,
            cleanup_policy: broker.log_cleanup_policy,
            delete_retention_ms: broker.log_cleaner_delete_retention_ms,
            min_compaction_lag_ms: broker.log_cleaner_min_compaction_lag_ms,
            max_compaction_lag_ms: broker.log_cleaner_max_compaction_lag_ms,
            min_cleanable_dirty_ratio: broker.log_cleaner_min_cleanable_ratio,
            message_timestamp_type: broker.log_message_timestamp_type,
            flush_messages: broker.log_flush_interval_messages,
            flush_ms: broker
                .log_flush_interval_ms
                .unwrap_or(broker.log_flush_scheduler_interval_ms),
            file_delete_delay_ms: broker.log_segment_delete_delay_ms,
        }
    }

    /// Milliseconds after which the active segment is rolled: a compacted log rolls early enough to
    /// be compacted in time.
    pub fn max_segment_ms(&self) -> u64 {
        let ms = if self.cleanup_policy.compacts() {
            self.segment_ms.min(self.max_compaction_lag_ms)
        } else {
            self.segment_ms
        };
        u64::try_from(ms).unwrap_or_default()
    }
}
