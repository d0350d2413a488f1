//! Assignors that the group coordinator runs (KIP-848).

use super::{Assignment, java_order};
use crate::base::ids::{InstanceId, MemberId, TopicId, TopicPartition};
use std::fmt;

mod range;
mod uniform;

/// An assignor that the coordinator runs (`group.consumer.assignors`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ServerAssignor {
    /// Balanced, moving little (`UniformAssignor`); the default.
    Uniform,
    /// Each topic by itself, in contiguous ranges (`RangeAssignor`).
    Range,
}

/// Whether all members subscribe to the same topics. Kafka decides that on topic names, those
/// without metadata included: a group is homogeneous if every name has as many subscribers as there
/// are members (`SubscriptionType`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SubscriptionType {
    /// They do.
    Homogeneous,
    /// They do not.
    Heterogeneous,
}

/// A member as the coordinator's assignor sees it.
#[derive(Clone, Copy, Debug)]
pub struct TargetMember<'a> {
    /// Its member id.
    pub member_id: &'a MemberId,
    /// Its `group.instance.id`; unset for a dynamic member.
    pub group_instance_id: Option<&'a InstanceId>,
    /// Topics that it subscribes to and that exist.
    pub topics: &'a [TopicId],
    /// Its target assignment so far. Partitions of a topic stand together; topics stand as the
    /// coordinator's map hands them out, partitions ascending.
    pub owned: &'a [TopicPartition],
}

/// A topic as the coordinator knows it.
#[derive(Clone, Copy, Debug)]
pub struct TargetTopic {
    /// Which topic. Their order is that of Kafka's topic ids.
    pub topic: TopicId,
    /// How many partitions it has.
    pub partition_count: u32,
}

/// Why there is no target assignment (`PartitionAssignorException`); the heartbeat that asked for
/// it then fails with `UNKNOWN_SERVER_ERROR`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ServerAssignorError {
    /// A member subscribes to a topic that is not in the metadata.
    UnknownTopic(TopicId),
    /// More partitions than the quotas allow.
    LeftUnassigned,
}

impl fmt::Display for ServerAssignorError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::UnknownTopic(topic) => write!(
                formatter,
                "Members are subscribed to topic {topic} which doesn't exist in the topic metadata."
            ),
            Self::LeftUnassigned => formatter.write_str("Partitions were left unassigned"),
        }
    }
}

impl ServerAssignor {
    /// All of them, the default first.
    pub const ALL: [Self; 2] = [Self::Uniform, Self::Range];

    /// The assignor with this name.
    pub fn by_name(name: &str) -> Option<Self> {
        Self::ALL
            .into_iter()
            .find(|assignor| assignor.name() == name)
    }

    /// Its name, in `group.consumer.assignors`, `group.remote.assignor` and on the wire.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Uniform => "uniform",
            Self::Range => "range",
        }
    }

    /// The target assignment: who is to have what, in the order of the members given, each list
    /// sorted.
    ///
    /// Members are walked in the order of a Java hash map into which they were put as given.
    /// `topics` are those with metadata, in the order in which the set of subscribed topic ids
    /// hands them out; both decide who gets what.
    ///
    /// # Errors
    /// A member subscribes to a topic that is not among `topics`.
    /// # Source
    /// `UniformAssignor#assign`, `RangeAssignor#assign` of the group coordinator (Kafka 1eb7644);
    /// KIP-848.
    pub fn assign(
        self,
        members: &[TargetMember<'_>],
        topics: &[TargetTopic],
        subscription_type: SubscriptionType,
    ) -> Result<Assignment, ServerAssignorError> {
        let group = Group::new(members, topics)?;
        let mut assignment = match (self, subscription_type) {
            (Self::Range, _) => range::assign(&group),
            (Self::Uniform, SubscriptionType::Homogeneous) => uniform::homogeneous::assign(&group)?,
            (Self::Uniform, SubscriptionType::Heterogeneous) => {
                uniform::heterogeneous::assign(&group)
            }
        };
        for partitions in &mut assignment {
            partitions.sort_unstable();
        }
        Ok(assignment)
    }
}

/// What both assignors work on.
struct Group<'a> {
    members: &'a [TargetMember<'a>],
    /// In the order in which they are walked.
    topics: &'a [TargetTopic],
    /// Members in the order in which they are walked.
    order: Vec<u32>,
    /// Topics that each member subscribes to, by position, ascending.
    subscriptions: Vec<Vec<u32>>,
    /// Sorted: topics with their positions.
    positions: Vec<(TopicId, u32)>,
}

impl<'a> Group<'a> {
    fn new(
        members: &'a [TargetMember<'a>],
        topics: &'a [TargetTopic],
    ) -> Result<Self, ServerAssignorError> {
        let mut positions: Vec<(TopicId, u32)> =
            topics.iter().map(|topic| topic.topic).zip(0..).collect();
        positions.sort_unstable();
        let ids = members.iter().map(|member| member.member_id.as_str());
        let hashes: Vec<i32> = ids.map(java_order::string_hash).collect();
        let mut group = Self {
            members,
            topics,
            order: java_order::map_order(&hashes, 16),
            subscriptions: Vec::with_capacity(members.len()),
            positions,
        };
        for member in members {
            let mut subscription = Vec::with_capacity(member.topics.len());
            for topic in member.topics {
                let position = group.position(*topic);
                subscription.push(position.ok_or(ServerAssignorError::UnknownTopic(*topic))?);
            }
            subscription.sort_unstable();
            group.subscriptions.push(subscription);
        }
        Ok(group)
    }

    fn position(&self, topic: TopicId) -> Option<u32> {
        let found = self
            .positions
            .binary_search_by_key(&topic, |(known, _)| *known);
        found
            .ok()
            .and_then(|at| self.positions.get(at))
            .map(|(_, position)| *position)
    }

    /// What a member subscribes to.
    fn subscription(&self, member: u32) -> &[u32] {
        self.subscriptions
            .get(member as usize)
            .map_or(&[], Vec::as_slice)
    }

    /// A member's target so far: topic by position, and partition, in the order in which it is
    /// walked. Partitions of topics that do not exist or that it does not subscribe to are left out.
    fn owned(&self, member: u32) -> Vec<(u32, TopicPartition)> {
        let subscription = self.subscription(member);
        let owned = self
            .members
            .get(member as usize)
            .map_or(&[][..], |member| member.owned);
        let mut walked = Vec::with_capacity(owned.len());
        for partitions in owned.chunk_by(|one, other| one.topic == other.topic) {
            let topic = partitions
                .first()
                .and_then(|first| self.position(first.topic));
            let Some(topic) = topic.filter(|topic| subscription.binary_search(topic).is_ok())
            else {
                continue;
            };
            let hashes: Vec<i32> = partitions
                .iter()
                .map(|id| id.partition.cast_signed())
                .collect();
            let order = java_order::map_order(&hashes, 16);
            let ids = order.iter().filter_map(|at| partitions.get(*at as usize));
            walked.extend(ids.map(|id| (topic, *id)));
        }
        walked
    }

    fn partition_count(&self, topic: u32) -> u32 {
        self.topics
            .get(topic as usize)
            .map_or(0, |topic| topic.partition_count)
    }

    fn partition(&self, topic: u32, partition: u32) -> TopicPartition {
        let topic = self.topics.get(topic as usize).map(|topic| topic.topic);
        TopicPartition::new(topic.unwrap_or_default(), partition)
    }

    fn nothing(&self) -> Assignment {
        vec![Vec::new(); self.members.len()]
    }
}
