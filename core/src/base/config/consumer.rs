//! Consumer settings.

use super::{SettingValue, settings};
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// Where to start on a partition without a committed offset.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum AutoOffsetReset {
    /// At the end: only records written from now on.
    Latest,
    /// At the first record that is still there.
    Earliest,
    /// Nowhere: the application gets an exception.
    None,
}

impl SettingValue for AutoOffsetReset {
    fn parse(text: &str) -> Result<Self, String> {
        match text.trim() {
            "latest" => Ok(Self::Latest),
            "earliest" => Ok(Self::Earliest),
            "none" => Ok(Self::None),
            _ => Err(String::from("latest, earliest or none")),
        }
    }
    fn render(&self) -> String {
        String::from(match self {
            Self::Latest => "latest",
            Self::Earliest => "earliest",
            Self::None => "none",
        })
    }
}

/// Whether a consumer sees records of transactions that are open or aborted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum IsolationLevel {
    /// It sees everything below the high watermark.
    ReadUncommitted,
    /// It reads up to the last stable offset, and skips what was aborted.
    ReadCommitted,
}

impl SettingValue for IsolationLevel {
    fn parse(text: &str) -> Result<Self, String> {
        match text.trim() {
            "read_uncommitted" => Ok(Self::ReadUncommitted),
            "read_committed" => Ok(Self::ReadCommitted),
            _ => Err(String::from("read_uncommitted or read_committed")),
        }
    }
    fn render(&self) -> String {
        String::from(match self {
            Self::ReadUncommitted => "read_uncommitted",
            Self::ReadCommitted => "read_committed",
        })
    }
}

/// How a consumer takes part in its group.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum GroupProtocol {
    /// By JoinGroup and SyncGroup; a member computes the assignment.
    Classic,
    /// By heartbeats; the coordinator computes the assignment (KIP-848).
    Consumer,
}

impl SettingValue for GroupProtocol {
    fn parse(text: &str) -> Result<Self, String> {
        match text.trim() {
            "classic" => Ok(Self::Classic),
            "consumer" => Ok(Self::Consumer),
            _ => Err(String::from("classic or consumer")),
        }
    }
    fn render(&self) -> String {
        String::from(match self {
            Self::Classic => "classic",
            Self::Consumer => "consumer",
        })
    }
}

/// Names of assignors in order of preference.
impl SettingValue for Vec<Arc<str>> {
    fn parse(text: &str) -> Result<Self, String> {
        let names: Self = text
            .split(',')
            .map(|name| name.trim().trim_matches(['[', ']']))
            .filter(|name| !name.is_empty())
            .map(Arc::from)
            .collect();
        if names.is_empty() || names.iter().any(|name| !ASSIGNORS.contains(&&**name)) {
            return Err(format!("some of {}", ASSIGNORS.join(", ")));
        }
        Ok(names)
    }
    fn render(&self) -> String {
        self.join(",")
    }
}

/// The assignors that a consumer can list.
const ASSIGNORS: [&str; 5] = [
    "range",
    "roundrobin",
    "sticky",
    "cooperative-sticky",
    "lag-aware",
];

settings! {
    /// Settings of one consumer.
    ConsumerConfig {
        client_id: Option<Arc<str>> = None, "client.id", "a name", None,
            "Name that the brokers see and that dynamic member ids start with; the process name when unset.";
        client_rack: Option<Arc<str>> = None, "client.rack", "a name", None,
            "Rack of the consumer; with replica.selector.class it reads from a replica in its rack (KIP-392).";
        group_id: Option<Arc<str>> = None, "group.id", "a name", None,
            "The group that this consumer joins.";
        group_instance_id: Option<Arc<str>> = None, "group.instance.id", "a name", None,
            "Makes the consumer a static member: a restart within the session causes no rebalance (KIP-345).";
        group_protocol: GroupProtocol = GroupProtocol::Classic, "group.protocol", "classic or consumer", None,
            "Whether the member joins by JoinGroup and SyncGroup, or by heartbeats alone (KIP-848).";
        group_remote_assignor: Option<Arc<str>> = None, "group.remote.assignor", "a name", None,
            "With group.protocol=consumer: the assignor that the coordinator is asked for; its first one when unset (KIP-848).";
        partition_assignment_strategy: Vec<Arc<str>> = vec![Arc::from("range")], "partition.assignment.strategy", "some of range, roundrobin, sticky, cooperative-sticky, lag-aware", None,
            "Assignors in order of preference; the group votes. lag-aware stands for one that a user writes.";
        lag_aware_lag_weight: i64 = 1, "lag.aware.lag.weight", "a number from 0 to 1000000", Some(0..=1_000_000),
            "lag-aware assignor, which Kafka does not have: load of one record of lag.";
        lag_aware_partition_weight: i64 = 1, "lag.aware.partition.weight", "a number from 0 to 1000000", Some(0..=1_000_000),
            "lag-aware assignor, which Kafka does not have: load of one partition.";
        lag_aware_stickiness: i64 = 0, "lag.aware.stickiness", "a number from 0 to 1000000", Some(0..=1_000_000),
            "lag-aware assignor, which Kafka does not have: how much more load than the lightest member an owner may have and keep its partition.";
        session_timeout_ms: i64 = 45_000, "session.timeout.ms", "a number from 1 to 2147483647", Some(1..=2_147_483_647),
            "Milliseconds without a heartbeat after which the coordinator removes the member; 45000 since 3.0 (KIP-735).";
        heartbeat_interval_ms: i64 = 3_000, "heartbeat.interval.ms", "a number from 1 to 2147483647", Some(1..=2_147_483_647),
            "Milliseconds between two heartbeats of the heartbeat thread (KIP-62).";
        max_poll_interval_ms: i64 = 300_000, "max.poll.interval.ms", "a number from 1 to 2147483647", Some(1..=2_147_483_647),
            "Milliseconds between two polls after which the consumer leaves by itself; also its rebalance timeout (KIP-62).";
        max_poll_records: i64 = 500, "max.poll.records", "a number from 1 to 2147483647", Some(1..=2_147_483_647),
            "Most records that one poll returns (KIP-41).";
        enable_auto_commit: bool = true, "enable.auto.commit", "true or false", None,
            "Whether poll commits the positions by itself.";
        auto_commit_interval_ms: i64 = 5_000, "auto.commit.interval.ms", "a number from 0 to 2147483647", Some(0..=2_147_483_647),
            "Milliseconds between two automatic commits.";
        auto_offset_reset: AutoOffsetReset = AutoOffsetReset::Latest, "auto.offset.reset", "latest, earliest or none", None,
            "Where to start without a committed offset.";
        isolation_level: IsolationLevel = IsolationLevel::ReadUncommitted, "isolation.level", "read_uncommitted or read_committed", None,
            "Whether records of open and aborted transactions are kept from the application (KIP-98).";
        fetch_min_bytes: i64 = 1, "fetch.min.bytes", "a number from 0 to 2147483647", Some(0..=2_147_483_647),
            "Bytes that a fetch waits for.";
        fetch_max_wait_ms: i64 = 500, "fetch.max.wait.ms", "a number from 0 to 2147483647", Some(0..=2_147_483_647),
            "Milliseconds that a fetch waits for fetch.min.bytes.";
        fetch_max_bytes: i64 = 52_428_800, "fetch.max.bytes", "a number from 0 to 2147483647", Some(0..=2_147_483_647),
            "Bytes in one whole fetch response; the first batch may exceed it.";
        max_partition_fetch_bytes: i64 = 1_048_576, "max.partition.fetch.bytes", "a number from 0 to 2147483647", Some(0..=2_147_483_647),
            "Bytes of one partition in one fetch response; the first batch may exceed it.";
        request_timeout_ms: i64 = 30_000, "request.timeout.ms", "a number from 1 to 2147483647", Some(1..=2_147_483_647),
            "Milliseconds that a request may take; JoinGroup may take max.poll.interval.ms + 5000.";
        default_api_timeout_ms: i64 = 60_000, "default.api.timeout.ms", "a number from 0 to 2147483647", Some(0..=2_147_483_647),
            "Milliseconds for which a synchronous commit is tried again before the application gets an exception.";
        retry_backoff_ms: i64 = 100, "retry.backoff.ms", "a number from 0 to 2147483647", Some(0..=2_147_483_647),
            "Milliseconds before the first retry; it doubles from then on (KIP-580).";
        retry_backoff_max_ms: i64 = 1_000, "retry.backoff.max.ms", "a number from 0 to 2147483647", Some(0..=2_147_483_647),
            "Longest wait between two retries, in milliseconds.";
        metadata_max_age_ms: i64 = 300_000, "metadata.max.age.ms", "a number from 1 to 2147483647", Some(1..=2_147_483_647),
            "Milliseconds after which the metadata are asked for again without a reason.";
        reconnect_backoff_ms: i64 = 50, "reconnect.backoff.ms", "a number from 0 to 2147483647", Some(0..=2_147_483_647),
            "Milliseconds before a broker that refused a connection is tried again.";
        allow_auto_create_topics: bool = true, "allow.auto.create.topics", "true or false", None,
            "Whether a subscribed topic that does not exist is created, if auto.create.topics.enable allows it too.";
    }
}
