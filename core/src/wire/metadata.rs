//! The cluster's metadata: the controller's records and the picture that replaying them gives.

use crate::base::config::TopicConfig;
use crate::base::ids::{BrokerId, ControllerId, TopicId, TopicPartition};
use serde::Serialize;
use std::collections::BTreeMap;
use std::sync::Arc;

/// A record of `__cluster_metadata-0`.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum MetadataRecord {
    /// `RegisterBrokerRecord`: a broker process has registered; it is fenced at first.
    RegisterBroker {
        /// Its `node.id`.
        broker_id: BrokerId,
        /// The offset of this record.
        broker_epoch: i64,
        /// Identifies the process; another start has another one.
        incarnation_id: u64,
        /// Its `broker.rack`; unset when it has none.
        rack: Option<Arc<str>>,
    },
    /// `BrokerRegistrationChangeRecord`: a broker is fenced, unfenced or shutting down.
    BrokerRegistrationChange {
        /// Its `node.id`.
        broker_id: BrokerId,
        /// Its registration.
        broker_epoch: i64,
        /// Whether it is fenced now.
        fenced: bool,
        /// Whether it is in controlled shutdown now.
        in_controlled_shutdown: bool,
    },
    /// `TopicRecord` with the topic's settings.
    Topic {
        /// The interned name.
        topic_id: TopicId,
        /// The name.
        name: Arc<str>,
        /// Its settings.
        config: Arc<TopicConfig>,
    },
    /// `PartitionRecord` or `PartitionChangeRecord`: the whole new state of a partition.
    Partition {
        /// Which partition.
        topic_partition: TopicPartition,
        /// Its state from now on.
        registration: Arc<PartitionRegistration>,
    },
    /// `RemoveTopicRecord`: a topic and its partitions are gone.
    RemoveTopic {
        /// Which.
        topic_id: TopicId,
    },
    /// `ConfigRecord`s of a topic: the whole of its settings from now on.
    TopicConfig {
        /// Which.
        topic_id: TopicId,
        /// Its settings.
        config: Arc<TopicConfig>,
    },
    /// `NoOpRecord`: keeps the high watermark of the metadata log moving.
    NoOp,
    /// `LeaderChangeMessage`: the first entry of an epoch of the quorum.
    LeaderChange {
        /// Who leads the quorum from here on.
        leader: ControllerId,
    },
}

/// An entry of the metadata log.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize)]
pub struct MetadataEntry {
    /// The epoch of the quorum's leader that wrote it.
    pub epoch: i32,
    /// What it says.
    pub record: Arc<MetadataRecord>,
}

/// A partition as the controller has it (`PartitionRegistration`).
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize)]
pub struct PartitionRegistration {
    /// Brokers that hold a replica; the first is the preferred leader.
    pub replicas: Vec<BrokerId>,
    /// In-sync replicas, ascending.
    pub isr: Vec<BrokerId>,
    /// The leader; unset stands for Kafka's -1.
    pub leader: Option<BrokerId>,
    /// Rises with every election.
    pub leader_epoch: i32,
    /// Rises with every change.
    pub partition_epoch: i32,
    /// Eligible leader replicas: out of the ISR, but complete up to the high watermark (KIP-966).
    pub elr: Vec<BrokerId>,
    /// The last leader of a partition whose ISR is empty (KIP-966).
    pub last_known_elr: Vec<BrokerId>,
    /// Replicas that a reassignment adds.
    pub adding_replicas: Vec<BrokerId>,
    /// Replicas that a reassignment takes away in the end.
    pub removing_replicas: Vec<BrokerId>,
    /// Whether an unclean election has not been followed by an `AlterPartition` yet
    /// (`LeaderRecoveryState.RECOVERING`).
    pub is_recovering: bool,
}

/// A broker as the metadata have it.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize)]
pub struct BrokerRegistration {
    /// Offset of its registration record.
    pub broker_epoch: i64,
    /// Identifies the process.
    pub incarnation_id: u64,
    /// Its rack; unset when it has none.
    pub rack: Option<Arc<str>>,
    /// Whether it may neither lead nor be in an ISR.
    pub fenced: bool,
    /// Whether it is leaving in good order.
    pub in_controlled_shutdown: bool,
}

/// A topic as the metadata have it.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize)]
pub struct TopicImage {
    /// Its name.
    pub name: Arc<str>,
    /// Its settings.
    pub config: Arc<TopicConfig>,
    /// Its partitions, by number.
    pub partitions: Vec<Arc<PartitionRegistration>>,
}

/// The cluster as a replay of the metadata log up to some offset shows it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize)]
pub struct MetadataImage {
    /// The next offset to replay.
    pub next_offset: i64,
    /// Registered brokers.
    pub brokers: BTreeMap<BrokerId, BrokerRegistration>,
    /// Topics that exist.
    pub topics: BTreeMap<TopicId, TopicImage>,
    /// Ids of topics that were deleted, ascending; they are never given again.
    pub retired_topics: Vec<TopicId>,
}

impl MetadataImage {
    /// Takes in the next record.
    pub fn replay(&mut self, record: &MetadataRecord) {
        self.next_offset += 1;
        match record {
            MetadataRecord::RegisterBroker {
                broker_id,
                broker_epoch,
                incarnation_id,
                rack,
            } => {
                self.brokers.insert(
                    *broker_id,
                    BrokerRegistration {
                        broker_epoch: *broker_epoch,
                        incarnation_id: *incarnation_id,
                        rack: rack.clone(),
                        fenced: true,
                        in_controlled_shutdown: false,
                    },
                );
            }
            MetadataRecord::BrokerRegistrationChange {
                broker_id,
                broker_epoch,
                fenced,
                in_controlled_shutdown,
            } => {
                if let Some(broker) = self.brokers.get_mut(broker_id)
                    && broker.broker_epoch == *broker_epoch
                {
                    broker.fenced = *fenced;
                    broker.in_controlled_shutdown = *in_controlled_shutdown;
                }
            }
            MetadataRecord::Topic {
                topic_id,
                name,
                config,
            } => {
                self.topics.insert(
                    *topic_id,
                    TopicImage {
                        name: name.clone(),
                        config: config.clone(),
                        partitions: vec![],
                    },
                );
            }
            MetadataRecord::Partition {
                topic_partition,
                registration,
            } => {
                let Some(topic) = self.topics.get_mut(&topic_partition.topic) else {
                    return;
                };
                let index = usize::try_from(topic_partition.partition).unwrap_or(usize::MAX);
                match topic.partitions.get_mut(index) {
                    Some(slot) => *slot = registration.clone(),
                    None => topic.partitions.push(registration.clone()),
                }
            }
            MetadataRecord::RemoveTopic { topic_id } => {
                if self.topics.remove(topic_id).is_some() {
                    self.retired_topics.push(*topic_id);
                    self.retired_topics.sort_unstable();
                }
            }
            MetadataRecord::TopicConfig { topic_id, config } => {
                if let Some(topic) = self.topics.get_mut(topic_id) {
                    topic.config = config.clone();
                }
            }
            MetadataRecord::NoOp | MetadataRecord::LeaderChange { .. } => {}
        }
    }

    /// The registration of a partition.
    pub fn partition(&self, topic_partition: TopicPartition) -> Option<&PartitionRegistration> {
        let index = usize::try_from(topic_partition.partition).ok()?;
        self.topics
            .get(&topic_partition.topic)?
            .partitions
            .get(index)
            .map(AsRef::as_ref)
    }

    /// The topic called `name`.
    pub fn topic_by_name(&self, name: &str) -> Option<(TopicId, &TopicImage)> {
        self.topics
            .iter()
            .find(|(_, topic)| &*topic.name == name)
            .map(|(id, topic)| (*id, topic))
    }

    /// Every partition with its registration.
    pub fn partitions(&self) -> impl Iterator<Item = (TopicPartition, &PartitionRegistration)> {
        self.topics.iter().flat_map(|(topic_id, topic)| {
            (0_u32..)
                .zip(&topic.partitions)
                .map(|(partition, registration)| {
                    (
                        TopicPartition::new(*topic_id, partition),
                        registration.as_ref(),
                    )
                })
        })
    }

    /// Whether a broker is registered, unfenced and not leaving.
    pub fn is_active(&self, broker_id: BrokerId) -> bool {
        self.brokers
            .get(&broker_id)
            .is_some_and(|broker| !broker.fenced && !broker.in_controlled_shutdown)
    }

    /// The members that a partition's ISR needs for `acks=all`: `min.insync.replicas`, but no more
    /// than it has replicas (since 3.7).
    pub fn effective_min_isr(&self, topic_partition: TopicPartition) -> u32 {
        let Some(topic) = self.topics.get(&topic_partition.topic) else {
            return 1;
        };
        let replicas = self
            .partition(topic_partition)
            .map_or(1, |part| part.replicas.len());
        let replicas = u32::try_from(replicas).unwrap_or(u32::MAX);
        u32::try_from(topic.config.min_insync_replicas)
            .unwrap_or(u32::MAX)
            .min(replicas)
    }
}
