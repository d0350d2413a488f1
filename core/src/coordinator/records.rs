//! Records of `__consumer_offsets`: how they are made, and what a group is after reading them.

use super::group::{Assignments, ClassicGroup, Member};
use crate::base::ids::{GroupId, InstanceId, MemberId, RecordId, TopicPartition};
use crate::kernel::time::{SimTime, Span};
use crate::wire::record::{
    CommittedOffset, GroupMetadata, MemberMetadata, Record, RecordValue, Subscription,
};
use std::collections::BTreeMap;
use std::sync::Arc;

/// What the coordinator's records have in place of an application's record id.
pub const NO_RECORD_ID: RecordId = RecordId(u64::MAX);

impl ClassicGroup {
    /// The record that says what the group is, with these assignments in place of the members'
    /// own.
    pub(super) fn metadata_record(
        &self,
        assignments: Option<&Assignments>,
        now: SimTime,
    ) -> Record {
        let protocol = self.protocol_name.as_deref().unwrap_or_default();
        let assignments: Option<BTreeMap<_, _>> = assignments.map(|list| {
            list.iter()
                .map(|(member_id, got)| (member_id, got))
                .collect()
        });
        let members = self.members.iter().map(|member| MemberMetadata {
            member_id: member.member_id.clone(),
            group_instance_id: member.group_instance_id.clone(),
            client_id: Arc::clone(&member.client_id),
            client: member.client,
            rebalance_timeout_ms: millis(member.rebalance_timeout),
            session_timeout_ms: millis(member.session_timeout),
            subscription: member
                .subscription(protocol)
                .map(Arc::clone)
                .expect("invariant: every member supports the chosen assignor"),
            assignment: match &assignments {
                Some(assignments) => assignments
                    .get(&member.member_id)
                    .copied()
                    .cloned()
                    .unwrap_or_default(),
                None => Arc::clone(&member.assignment),
            },
        });
        let metadata = GroupMetadata {
            protocol_type: self.protocol_type.clone().unwrap_or_else(|| Arc::from("")),
            generation_id: self.generation_id,
            protocol_name: self.protocol_name.clone(),
            leader: self.leader.clone(),
            current_state_at: self.current_state_at,
            members: members.collect(),
        };
        group_record(&self.group_id, Some(Arc::new(metadata)), now)
    }

    /// The record that makes a group last that a request has brought about.
    pub(super) fn new_group_record(&self, now: SimTime) -> Record {
        Self::new(self.group_id.clone(), self.current_state_at).metadata_record(None, now)
    }

    /// The group that a record describes, before its state is set.
    pub(super) fn from_metadata(group_id: GroupId, metadata: &GroupMetadata) -> Self {
        let mut group = Self::new(group_id, metadata.current_state_at);
        group.generation_id = metadata.generation_id;
        group.protocol_type =
            Some(Arc::clone(&metadata.protocol_type)).filter(|name| !name.is_empty());
        group.protocol_name.clone_from(&metadata.protocol_name);
        group.leader.clone_from(&metadata.leader);
        let protocol = metadata
            .protocol_name
            .clone()
            .unwrap_or_else(|| Arc::from(""));
        let members = metadata.members.iter().map(|member| Member {
            member_id: member.member_id.clone(),
            group_instance_id: member.group_instance_id.clone(),
            client_id: Arc::clone(&member.client_id),
            client: member.client,
            rebalance_timeout: Span::from_millis(member.rebalance_timeout_ms),
            session_timeout: Span::from_millis(member.session_timeout_ms),
            protocols: vec![(Arc::clone(&protocol), Arc::clone(&member.subscription))],
            assignment: Arc::clone(&member.assignment),
            join: None,
            sync: None,
            is_new: false,
            session_timer_at: None,
        });
        group.members = members.collect();
        group.with_loaded_state()
    }
}

/// Applies one record to the groups of a partition. Live writes pass through here too when they
/// are appended, except the records of groups with members, whose state their handlers keep.
///
/// # Source
/// `GroupMetadataManager#replay`, `OffsetMetadataManager#replay` (Kafka 1eb7644).
pub(super) fn replay(groups: &mut BTreeMap<GroupId, ClassicGroup>, record: &Record, now: SimTime) {
    match &record.value {
        RecordValue::Text(_)
        | RecordValue::Null
        | RecordValue::ConsumerGroup { .. }
        | RecordValue::Transaction { .. }
        | RecordValue::EndTransaction { .. } => {}
        RecordValue::OffsetCommit {
            group_id,
            topic_partition,
            committed: Some(committed),
        } => {
            // A commit from outside a group brings its group about.
            let group = groups
                .entry(group_id.clone())
                .or_insert_with(|| ClassicGroup::new(group_id.clone(), now));
            group.offsets.insert(*topic_partition, *committed);
        }
        RecordValue::OffsetCommit {
            group_id,
            topic_partition,
            committed: None,
        } => {
            if let Some(group) = groups.get_mut(group_id) {
                group.offsets.remove(topic_partition);
            }
        }
        RecordValue::GroupMetadata {
            group_id,
            metadata: Some(metadata),
        } => {
            let mut group = ClassicGroup::from_metadata(group_id.clone(), metadata);
            if let Some(former) = groups.remove(group_id) {
                group.offsets = former.offsets;
            }
            groups.insert(group_id.clone(), group);
        }
        RecordValue::GroupMetadata {
            group_id,
            metadata: None,
        } => {
            // Offsets outlive the group: another one may take them over.
            if let Some(former) = groups.remove(group_id)
                && !former.offsets.is_empty()
            {
                let mut heir = ClassicGroup::new(group_id.clone(), now);
                heir.offsets = former.offsets;
                groups.insert(group_id.clone(), heir);
            }
        }
    }
}

/// Whether a live write of this record changes the groups through [`replay`]. The records of a
/// group that exists do not: they say what the group already is.
pub(super) const fn is_replayed_when_appended(record: &Record) -> bool {
    match &record.value {
        RecordValue::Text(_)
        | RecordValue::Null
        | RecordValue::Transaction { .. }
        | RecordValue::EndTransaction { .. }
        | RecordValue::GroupMetadata {
            metadata: Some(_), ..
        } => false,
        RecordValue::OffsetCommit { .. }
        | RecordValue::ConsumerGroup { .. }
        | RecordValue::GroupMetadata { metadata: None, .. } => true,
    }
}

/// The record of a group; a tombstone without `metadata`.
pub(super) fn group_record(
    group_id: &GroupId,
    metadata: Option<Arc<GroupMetadata>>,
    now: SimTime,
) -> Record {
    let value_bytes = metadata
        .as_ref()
        .map_or(0, |metadata| metadata_bytes(metadata));
    Record {
        record_id: NO_RECORD_ID,
        key: Some(Arc::clone(&group_id.0)),
        size_bytes: Record::OVERHEAD_BYTES + bytes(4 + group_id.as_str().len()) + value_bytes,
        value: RecordValue::GroupMetadata {
            group_id: group_id.clone(),
            metadata,
        },
        timestamp: now,
    }
}

/// The record of a committed offset; a tombstone without `committed`.
pub(super) fn offset_record(
    group_id: &GroupId,
    topic_partition: TopicPartition,
    topic_name: Option<&Arc<str>>,
    committed: Option<CommittedOffset>,
    now: SimTime,
) -> Record {
    let TopicPartition { topic, partition } = topic_partition;
    let key = match topic_name {
        Some(name) => format!("{group_id},{name},{partition}"),
        None => format!("{group_id},{topic},{partition}"),
    };
    let value_bytes = if committed.is_some() {
        OFFSET_VALUE_BYTES
    } else {
        0
    };
    Record {
        record_id: NO_RECORD_ID,
        size_bytes: Record::OVERHEAD_BYTES + bytes(8 + key.len()) + value_bytes,
        key: Some(Arc::from(key)),
        value: RecordValue::OffsetCommit {
            group_id: group_id.clone(),
            topic_partition,
            committed,
        },
        timestamp: now,
    }
}

/// Version, offset, leader epoch, empty metadata, commit time.
const OFFSET_VALUE_BYTES: u32 = 2 + 8 + 4 + 2 + 8;

/// Size of a group's value: strings with a length of two bytes, arrays with one of four.
fn metadata_bytes(metadata: &GroupMetadata) -> u32 {
    let text = |text: &str| 2 + text.len();
    let optional = |text: Option<&str>| 2 + text.map_or(0, str::len);
    let head = 2 + 4 + 8 + 4;
    let leader = metadata.leader.as_ref().map(MemberId::as_str);
    let names = text(&metadata.protocol_type) + optional(metadata.protocol_name.as_deref());
    let members = metadata.members.iter().map(|member| {
        let instance_id = member.group_instance_id.as_ref().map(InstanceId::as_str);
        text(member.member_id.as_str())
            + optional(instance_id)
            + text(&member.client_id)
            + (2 + 4 + 4)
            + (4 + subscription_bytes(&member.subscription))
            + (4 + partitions_bytes(&member.assignment))
    });
    bytes(head + names + optional(leader) + members.sum::<usize>())
}

fn subscription_bytes(subscription: &Subscription) -> usize {
    let topics: usize = subscription
        .topics
        .iter()
        .map(|topic| 2 + topic.len())
        .sum();
    let rack = subscription.rack_id.as_ref().map_or(0, |rack| rack.len());
    let user_data = subscription.user_data.as_ref().map_or(0, |data| {
        partitions_bytes(&data.partitions) + 4 + 8 * data.lags.len()
    });
    2 + 4 + topics + 4 + user_data + partitions_bytes(&subscription.owned_partitions) + 4 + 2 + rack
}

/// Topic names are not at hand here; they count as eight bytes.
fn partitions_bytes(partitions: &[TopicPartition]) -> usize {
    let mut topics: Vec<_> = partitions.iter().map(|partition| partition.topic).collect();
    topics.sort_unstable();
    topics.dedup();
    4 + topics.len() * (2 + 8 + 4) + partitions.len() * 4
}

fn bytes(count: usize) -> u32 {
    u32::try_from(count).unwrap_or(u32::MAX / 4)
}

fn millis(span: Span) -> i64 {
    i64::try_from(span.as_millis()).unwrap_or(i64::MAX)
}
