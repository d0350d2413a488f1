//! Broker and controller settings.

use super::{CleanupPolicy, SettingValue, TimestampType, settings};
use crate::kernel::rng::Ratio;
use serde::Serialize;

/// An assignor that runs at the coordinator (KIP-848).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum ServerAssignor {
    /// As even as can be, and as little moved as that allows.
    Uniform,
    /// Neighbouring partitions of each topic.
    Range,
}

impl ServerAssignor {
    /// Every assignor.
    pub const ALL: [Self; 2] = [Self::Uniform, Self::Range];

    /// Kafka's name.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Uniform => "uniform",
            Self::Range => "range",
        }
    }
}

impl SettingValue for Vec<ServerAssignor> {
    fn parse(text: &str) -> Result<Self, String> {
        let names = text
            .split(',')
            .map(|name| name.trim().trim_matches(['[', ']']));
        let names = names.filter(|name| !name.is_empty());
        let found: Option<Self> = names
            .map(|name| ServerAssignor::ALL.into_iter().find(|it| it.name() == name))
            .collect();
        found
            .filter(|list| !list.is_empty())
            .ok_or_else(|| String::from("some of uniform, range"))
    }
    fn render(&self) -> String {
        let names: Vec<&str> = self.iter().map(|it| it.name()).collect();
        names.join(",")
    }
}

/// Which ways a group with members may change its protocol (KIP-848).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum MigrationPolicy {
    /// None.
    Disabled,
    /// From the classic to the consumer protocol.
    Upgrade,
    /// From the consumer to the classic protocol.
    Downgrade,
    /// Both.
    Bidirectional,
}

impl MigrationPolicy {
    /// Whether a classic group with members may become one of the consumer protocol.
    pub const fn allows_upgrade(self) -> bool {
        matches!(self, Self::Upgrade | Self::Bidirectional)
    }

    /// Whether a group of the consumer protocol with members may become a classic one.
    pub const fn allows_downgrade(self) -> bool {
        matches!(self, Self::Downgrade | Self::Bidirectional)
    }
}

impl SettingValue for MigrationPolicy {
    fn parse(text: &str) -> Result<Self, String> {
        match text.trim() {
            "disabled" => Ok(Self::Disabled),
            "upgrade" => Ok(Self::Upgrade),
            "downgrade" => Ok(Self::Downgrade),
            "bidirectional" => Ok(Self::Bidirectional),
            _ => Err(String::from(
                "disabled, upgrade, downgrade or bidirectional",
            )),
        }
    }
    fn render(&self) -> String {
        String::from(match self {
            Self::Disabled => "disabled",
            Self::Upgrade => "upgrade",
            Self::Downgrade => "downgrade",
            Self::Bidirectional => "bidirectional",
        })
    }
}

/// Who picks the replica that a consumer reads from (KIP-392).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum ReplicaSelector {
    /// Nobody: consumers read from the leader.
    Leader,
    /// The leader, by the rack of the consumer.
    RackAware,
}

impl SettingValue for ReplicaSelector {
    fn parse(text: &str) -> Result<Self, String> {
        match text.trim() {
            "" | "null" => Ok(Self::Leader),
            RACK_AWARE => Ok(Self::RackAware),
            _ => Err(format!("null or {RACK_AWARE}")),
        }
    }
    fn render(&self) -> String {
        String::from(match self {
            Self::Leader => "null",
            Self::RackAware => RACK_AWARE,
        })
    }
}

const RACK_AWARE: &str = "org.apache.kafka.common.replica.RackAwareReplicaSelector";

settings! {
    /// Settings of every broker of a cluster.
    BrokerConfig {
        replica_lag_time_max_ms: i64 = 30_000, "replica.lag.time.max.ms", "a number from 1 to 2147483647", Some(1..=2_147_483_647),
            "Milliseconds since it was last caught up after which a follower leaves the ISR; checked every half of it. Kafka: Partition.maybeShrinkIsr (KIP-16).";
        replica_fetch_wait_max_ms: i64 = 500, "replica.fetch.wait.max.ms", "a number from 0 to 2147483647", Some(0..=2_147_483_647),
            "Milliseconds that a leader parks a follower's fetch when it has nothing new. Kafka: ReplicaFetcherThread.";
        replica_fetch_backoff_ms: i64 = 1_000, "replica.fetch.backoff.ms", "a number from 0 to 2147483647", Some(0..=2_147_483_647),
            "Milliseconds that a follower waits after a failed fetch. Kafka: AbstractFetcherThread.";
        replica_fetch_max_bytes: i64 = 1_048_576, "replica.fetch.max.bytes", "a number from 0 to 2147483647", Some(0..=2_147_483_647),
            "Bytes per partition in one follower fetch; the first batch may exceed it.";
        replica_fetch_response_max_bytes: i64 = 10_485_760, "replica.fetch.response.max.bytes", "a number from 0 to 2147483647", Some(0..=2_147_483_647),
            "Bytes in one whole follower fetch response; the first batch may exceed it.";
        replica_fetch_min_bytes: i64 = 1, "replica.fetch.min.bytes", "a number from 0 to 2147483647", Some(0..=2_147_483_647),
            "Bytes that a follower's fetch waits for.";
        replica_selector_class: ReplicaSelector = ReplicaSelector::Leader, "replica.selector.class", "null or org.apache.kafka.common.replica.RackAwareReplicaSelector", None,
            "Who picks the replica that a consumer with client.rack reads from; without it that is the leader (KIP-392).";
        replica_socket_timeout_ms: i64 = 30_000, "replica.socket.timeout.ms", "a number from 1 to 2147483647", Some(1..=2_147_483_647),
            "Milliseconds after which a follower gives up a fetch that got no answer and opens a new connection.";
        replica_high_watermark_checkpoint_interval_ms: i64 = 5_000, "replica.high.watermark.checkpoint.interval.ms", "a number from 1 to 2147483647", Some(1..=2_147_483_647),
            "Milliseconds between two checkpoints of the high watermarks; a restarted broker begins with the last one.";
        broker_heartbeat_interval_ms: i64 = 2_000, "broker.heartbeat.interval.ms", "a number from 1 to 2147483647", Some(1..=2_147_483_647),
            "Milliseconds between a broker's heartbeats to the active controller. Kafka: BrokerLifecycleManager (KIP-631).";
        broker_session_timeout_ms: i64 = 9_000, "broker.session.timeout.ms", "a number from 1 to 2147483647", Some(1..=2_147_483_647),
            "Milliseconds without a heartbeat after which the controller fences a broker. Kafka: BrokerHeartbeatManager (KIP-631).";
        default_replication_factor: i64 = 1, "default.replication.factor", "a number from 1 to 64", Some(1..=64),
            "Replicas of a topic that does not say how many.";
        num_partitions: i64 = 1, "num.partitions", "a number from 1 to 20000", Some(1..=20_000),
            "Partitions of a topic that does not say how many.";
        min_insync_replicas: i64 = 1, "min.insync.replicas", "a number from 1 to 64", Some(1..=64),
            "Members that the ISR must have for acks=all; a topic may override it.";
        unclean_leader_election_enable: bool = false, "unclean.leader.election.enable", "true or false", None,
            "Whether a replica outside the ISR may lead when nobody else can; a topic may override it.";
        offsets_topic_num_partitions: i64 = 50, "offsets.topic.num.partitions", "a number from 1 to 1000", Some(1..=1_000),
            "Partitions of `__consumer_offsets`; a group's coordinator leads the one its id hashes to.";
        offsets_topic_replication_factor: i64 = 3, "offsets.topic.replication.factor", "a number from 1 to 64", Some(1..=64),
            "Replicas of `__consumer_offsets`.";
        offsets_commit_timeout_ms: i64 = 5_000, "offsets.commit.timeout.ms", "a number from 1 to 2147483647", Some(1..=2_147_483_647),
            "Milliseconds that an append of the group coordinator may wait for its replicas.";
        offsets_retention_minutes: i64 = 10_080, "offsets.retention.minutes", "a number from 1 to 2147483647", Some(1..=2_147_483_647),
            "Minutes that committed offsets of an empty group are kept (KIP-211).";
        offsets_retention_check_interval_ms: i64 = 600_000, "offsets.retention.check.interval.ms", "a number from 1 to 2147483647", Some(1..=2_147_483_647),
            "Milliseconds between two checks for offsets to expire.";
        offset_metadata_max_bytes: i64 = 4_096, "offset.metadata.max.bytes", "a number from 0 to 2147483647", Some(0..=2_147_483_647),
            "Longest metadata text of a committed offset.";
        producer_id_expiration_ms: i64 = 86_400_000, "producer.id.expiration.ms", "a number from 1 to 2147483647", Some(1..=2_147_483_647),
            "Milliseconds after its last write that a log still knows a producer.";
        transaction_state_log_num_partitions: i64 = 50, "transaction.state.log.num.partitions", "a number from 1 to 1000", Some(1..=1_000),
            "Partitions of `__transaction_state`; a transactional id's coordinator leads the one it hashes to.";
        transaction_state_log_replication_factor: i64 = 3, "transaction.state.log.replication.factor", "a number from 1 to 64", Some(1..=64),
            "Replicas of `__transaction_state`.";
        transaction_state_log_min_isr: i64 = 2, "transaction.state.log.min.isr", "a number from 1 to 64", Some(1..=64),
            "`min.insync.replicas` of `__transaction_state`.";
        transaction_max_timeout_ms: i64 = 900_000, "transaction.max.timeout.ms", "a number from 1 to 2147483647", Some(1..=2_147_483_647),
            "Longest transaction.timeout.ms that a producer may ask for.";
        transaction_abort_timed_out_transaction_cleanup_interval_ms: i64 = 10_000, "transaction.abort.timed.out.transaction.cleanup.interval.ms", "a number from 1 to 2147483647", Some(1..=2_147_483_647),
            "Milliseconds between two looks for transactions that have run out of time.";
        transactional_id_expiration_ms: i64 = 604_800_000, "transactional.id.expiration.ms", "a number from 1 to 2147483647", Some(1..=2_147_483_647),
            "Milliseconds after its last transaction that a transactional id is forgotten.";
        transaction_partition_verification_enable: bool = true, "transaction.partition.verification.enable", "true or false", None,
            "Whether a leader asks the coordinator before the first append of a transaction (KIP-890).";
        transaction_state_log_segment_bytes: i64 = 104_857_600, "transaction.state.log.segment.bytes", "a number from 1 to 2147483647", Some(1..=2_147_483_647),
            "segment.bytes of `__transaction_state`, which is compacted.";
        message_max_bytes: i64 = 1_048_588, "message.max.bytes", "a number from 0 to 2147483647", Some(0..=2_147_483_647),
            "Largest record batch that a log accepts; a topic may override it with max.message.bytes.";
        log_segment_bytes: i64 = 1_073_741_824, "log.segment.bytes", "a number from 14 to 2147483647", Some(14..=2_147_483_647),
            "Bytes after which a new segment begins; a topic may override it with segment.bytes.";
        log_roll_ms: Option<i64> = None, "log.roll.ms", "null or a number from 1 to 9223372036854775807", Some(1..=i64::MAX),
            "Milliseconds after which a new segment begins; log.roll.hours when unset.";
        log_roll_hours: i64 = 168, "log.roll.hours", "a number from 1 to 2147483647", Some(1..=2_147_483_647),
            "Hours after which a new segment begins.";
        log_roll_jitter_ms: Option<i64> = None, "log.roll.jitter.ms", "null or a number from 0 to 9223372036854775807", Some(0..=i64::MAX),
            "Milliseconds by which at most a segment is rolled early; log.roll.jitter.hours when unset.";
        log_roll_jitter_hours: i64 = 0, "log.roll.jitter.hours", "a number from 0 to 2147483647", Some(0..=2_147_483_647),
            "Hours by which at most a segment is rolled early.";
        log_index_size_max_bytes: i64 = 10_485_760, "log.index.size.max.bytes", "a number from 24 to 2147483647", Some(24..=2_147_483_647),
            "Largest index of a segment, in bytes.";
        log_index_interval_bytes: i64 = 4_096, "log.index.interval.bytes", "a number from 0 to 2147483647", Some(0..=2_147_483_647),
            "Bytes between two entries of the indexes.";
        log_retention_ms: Option<i64> = None, "log.retention.ms", "null or a number from -1 to 9223372036854775807", Some(-1..=i64::MAX),
            "Milliseconds that segments are kept; log.retention.minutes when unset.";
        log_retention_minutes: Option<i64> = None, "log.retention.minutes", "null or a number from -1 to 2147483647", Some(-1..=2_147_483_647),
            "Minutes that segments are kept; log.retention.hours when unset.";
        log_retention_hours: i64 = 168, "log.retention.hours", "a number from -1 to 2147483647", Some(-1..=2_147_483_647),
            "Hours that segments are kept; -1 for ever.";
        log_retention_bytes: i64 = -1, "log.retention.bytes", "a number from -1 to 9223372036854775807", Some(-1..=i64::MAX),
            "Bytes of each partition that stay at least when segments are deleted by size; -1 for no limit.";
        log_retention_check_interval_ms: i64 = 300_000, "log.retention.check.interval.ms", "a number from 1 to 9223372036854775807", Some(1..=i64::MAX),
            "Milliseconds between two looks for segments to delete; compacted logs are looked after by the cleaner. Kafka: LogManager.cleanupLogs.";
        log_initial_task_delay_ms: i64 = 30_000, "log.initial.task.delay.ms", "a number from 0 to 9223372036854775807", Some(0..=i64::MAX),
            "Milliseconds after the start of a broker before segments are deleted and recovery points are written (KIP-1076).";
        log_segment_delete_delay_ms: i64 = 60_000, "log.segment.delete.delay.ms", "a number from 0 to 9223372036854775807", Some(0..=i64::MAX),
            "Milliseconds that the files of a deleted segment stay on the disk.";
        log_cleanup_policy: CleanupPolicy = CleanupPolicy::Delete, "log.cleanup.policy", "delete, compact or compact,delete", None,
            "What becomes of old records of topics that do not say so themselves.";
        log_message_timestamp_type: TimestampType = TimestampType::CreateTime, "log.message.timestamp.type", "CreateTime or LogAppendTime", None,
            "Whose clock stamps the records of topics that do not say so themselves.";
        log_cleaner_enable: bool = true, "log.cleaner.enable", "true or false", None,
            "Whether compacted topics are compacted at all.";
        log_cleaner_backoff_ms: i64 = 15_000, "log.cleaner.backoff.ms", "a number from 1 to 9223372036854775807", Some(1..=i64::MAX),
            "Milliseconds that the cleaner waits when it has found nothing to compact. Kafka: LogCleaner.CleanerThread.";
        log_cleaner_delete_retention_ms: i64 = 86_400_000, "log.cleaner.delete.retention.ms", "a number from 0 to 9223372036854775807", Some(0..=i64::MAX),
            "Milliseconds that a tombstone stays after the first compaction that has seen it.";
        log_cleaner_min_compaction_lag_ms: i64 = 0, "log.cleaner.min.compaction.lag.ms", "a number from 0 to 9223372036854775807", Some(0..=i64::MAX),
            "Milliseconds that a record stays before it may be compacted.";
        log_cleaner_max_compaction_lag_ms: i64 = i64::MAX, "log.cleaner.max.compaction.lag.ms", "a number from 1 to 9223372036854775807", Some(1..=i64::MAX),
            "Milliseconds after which a record is compacted although the log is not dirty enough.";
        log_cleaner_min_cleanable_ratio: Ratio = Ratio::per_million(500_000), "log.cleaner.min.cleanable.ratio", "a number from 0 to 1, such as 0.5", None,
            "Share of dirty bytes above which a log is compacted.";
        log_flush_interval_messages: i64 = i64::MAX, "log.flush.interval.messages", "a number from 1 to 9223372036854775807", Some(1..=i64::MAX),
            "Records after which a log is flushed to the disk; by default never.";
        log_flush_interval_ms: Option<i64> = None, "log.flush.interval.ms", "null or a number from 0 to 9223372036854775807", Some(0..=i64::MAX),
            "Milliseconds after which a log is flushed; log.flush.scheduler.interval.ms when unset.";
        log_flush_scheduler_interval_ms: i64 = i64::MAX, "log.flush.scheduler.interval.ms", "a number from 1 to 9223372036854775807", Some(1..=i64::MAX),
            "Milliseconds between two looks for logs to flush; by default never. Kafka: LogManager.flushDirtyLogs.";
        log_flush_offset_checkpoint_interval_ms: i64 = 60_000, "log.flush.offset.checkpoint.interval.ms", "a number from 1 to 2147483647", Some(1..=2_147_483_647),
            "Milliseconds between two checkpoints of the recovery points.";
        log_flush_start_offset_checkpoint_interval_ms: i64 = 60_000, "log.flush.start.offset.checkpoint.interval.ms", "a number from 1 to 2147483647", Some(1..=2_147_483_647),
            "Milliseconds between two checkpoints of the starts of the logs.";
        offsets_topic_segment_bytes: i64 = 104_857_600, "offsets.topic.segment.bytes", "a number from 1 to 2147483647", Some(1..=2_147_483_647),
            "segment.bytes of `__consumer_offsets`, which is compacted.";
        group_initial_rebalance_delay_ms: i64 = 3_000, "group.initial.rebalance.delay.ms", "a number from 0 to 2147483647", Some(0..=2_147_483_647),
            "Milliseconds that the first rebalance of an empty group waits for more members (KIP-134).";
        group_min_session_timeout_ms: i64 = 6_000, "group.min.session.timeout.ms", "a number from 1 to 2147483647", Some(1..=2_147_483_647),
            "Shortest session.timeout.ms that a member may ask for.";
        group_max_session_timeout_ms: i64 = 1_800_000, "group.max.session.timeout.ms", "a number from 1 to 2147483647", Some(1..=2_147_483_647),
            "Longest session.timeout.ms that a member may ask for.";
        group_max_size: i64 = 2_147_483_647, "group.max.size", "a number from 1 to 2147483647", Some(1..=2_147_483_647),
            "Most members of one group (KIP-389).";
        group_consumer_session_timeout_ms: i64 = 45_000, "group.consumer.session.timeout.ms", "a number from 1 to 2147483647", Some(1..=2_147_483_647),
            "Milliseconds without a heartbeat after which a member of the consumer protocol is removed (KIP-848).";
        group_consumer_heartbeat_interval_ms: i64 = 5_000, "group.consumer.heartbeat.interval.ms", "a number from 1 to 2147483647", Some(1..=2_147_483_647),
            "Milliseconds between two heartbeats of a member of the consumer protocol (KIP-848).";
        group_consumer_max_size: i64 = 2_147_483_647, "group.consumer.max.size", "a number from 1 to 2147483647", Some(1..=2_147_483_647),
            "Most members of one group of the consumer protocol (KIP-848).";
        group_consumer_assignors: Vec<ServerAssignor> = vec![ServerAssignor::Uniform, ServerAssignor::Range], "group.consumer.assignors", "some of uniform, range", None,
            "Assignors that groups of the consumer protocol may ask for; the first is the default (KIP-848).";
        group_consumer_migration_policy: MigrationPolicy = MigrationPolicy::Bidirectional, "group.consumer.migration.policy", "disabled, upgrade, downgrade or bidirectional", None,
            "Whether a group with members may go over from the classic to the consumer protocol, and back (KIP-848).";
        initial_broker_registration_timeout_ms: i64 = 60_000, "initial.broker.registration.timeout.ms", "a number from 1 to 2147483647", Some(1..=2_147_483_647),
            "Milliseconds in which a starting broker must be registered; else it exits. Kafka: BrokerLifecycleManager.";
        controlled_shutdown_enable: bool = true, "controlled.shutdown.enable", "true or false", None,
            "Whether a broker that is stopped hands its leaderships over before it exits.";
        auto_leader_rebalance_enable: bool = true, "auto.leader.rebalance.enable", "true or false", None,
            "Whether the controller gives partitions back to their preferred leaders by itself.";
        leader_imbalance_check_interval_seconds: i64 = 300, "leader.imbalance.check.interval.seconds", "a number from 1 to 2147483", Some(1..=2_147_483),
            "Seconds from the moment that a partition is off its preferred leader to the election that puts it back.";
        unclean_leader_election_interval_ms: i64 = 300_000, "unclean.leader.election.interval.ms", "a number from 1 to 2147483647", Some(1..=2_147_483_647),
            "Milliseconds from the moment that a partition has no leader to the sweep that may elect an unclean one.";
        auto_create_topics_enable: bool = true, "auto.create.topics.enable", "true or false", None,
            "Whether a topic is created when a client asks for its metadata.";
        eligible_leader_replicas_version: i64 = 0, "eligible.leader.replicas.version", "0 or 1", Some(0..=1),
            "The feature level of eligible leader replicas (KIP-966): 0 is off, as new clusters of Kafka 4.0 have it; 1 is on.";
        controller_quorum_fetch_timeout_ms: i64 = 2_000, "controller.quorum.fetch.timeout.ms", "a number from 1 to 2147483647", Some(1..=2_147_483_647),
            "Milliseconds without an answer from the quorum's leader after which a controller stands for election; a leader resigns after one and a half of it without a majority. Kafka: `KafkaRaftClient` (KIP-595).";
        controller_quorum_election_timeout_ms: i64 = 1_000, "controller.quorum.election.timeout.ms", "a number from 1 to 2147483647", Some(1..=2_147_483_647),
            "Milliseconds that an election may take, or that nobody leads, before a controller stands for election; drawn between it and twice as much.";
        controller_quorum_election_backoff_max_ms: i64 = 1_000, "controller.quorum.election.backoff.max.ms", "a number from 1 to 2147483647", Some(1..=2_147_483_647),
            "Longest wait between two candidacies, in milliseconds.";
        controller_quorum_append_linger_ms: i64 = 25, "controller.quorum.append.linger.ms", "a number from 0 to 2147483647", Some(0..=2_147_483_647),
            "Milliseconds that the active controller gathers records before its voters get them.";
        metadata_max_idle_interval_ms: i64 = 500, "metadata.max.idle.interval.ms", "a number from 1 to 2147483647", Some(1..=2_147_483_647),
            "Milliseconds between two no-op records of the active controller, which carry its high watermark on (KIP-835).";
    }
}
