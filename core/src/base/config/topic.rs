//! Topic settings.

use super::{BrokerConfig, settings};

settings! {
    /// Settings of one topic.
    TopicConfig {
        min_insync_replicas: i64 = 1, "min.insync.replicas", "a number from 1 to 64", Some(1..=64),
            "Members that the ISR must have for acks=all; no more than the topic has replicas count. Kafka: Partition.effectiveMinIsr.";
        unclean_leader_election_enable: bool = false, "unclean.leader.election.enable", "true or false", None,
            "Whether a replica outside the ISR may lead when nobody else can (and lose records).";
        max_message_bytes: i64 = 1_048_588, "max.message.bytes", "a number from 0 to 2147483647", Some(0..=2_147_483_647),
            "Largest record batch that the log accepts, in bytes.";
    }
}

impl TopicConfig {
    /// What a topic has that sets nothing itself.
    pub fn of_cluster(cluster: &BrokerConfig) -> Self {
        Self {
            min_insync_replicas: cluster.min_insync_replicas,
            unclean_leader_election_enable: cluster.unclean_leader_election_enable,
            ..Self::default()
        }
    }
}
