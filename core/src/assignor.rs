//! Assignors: who gets which partitions. Pure functions, run by the leader of a group.

use crate::base::ids::{InstanceId, MemberId, TopicId, TopicPartition};
use std::cmp::Ordering;
use std::collections::BTreeMap;
use std::sync::Arc;

pub mod range;

/// A member as an assignor sees it.
#[derive(Clone, Copy, Debug)]
pub struct AssignorMember<'a> {
    /// Its member id.
    pub member_id: &'a MemberId,
    /// Its `group.instance.id`; unset for a dynamic member.
    pub group_instance_id: Option<&'a InstanceId>,
    /// Names of the topics that it subscribes to.
    pub topics: &'a [Arc<str>],
}

/// Who gets what; every member has an entry. Partitions stand in the order of topic names, then of
/// their numbers.
pub type Assignment = BTreeMap<MemberId, Vec<TopicPartition>>;

/// What the leader knows of a topic: its interned name and its number of partitions.
pub type TopicSize = (TopicId, u32);

/// Static members come first, by instance id; then dynamic ones by member id. Member id and
/// instance id are never compared with each other.
///
/// # Source
/// `AbstractPartitionAssignor.MemberInfo#compareTo` (Kafka 1eb7644).
fn compare_members(one: &AssignorMember<'_>, other: &AssignorMember<'_>) -> Ordering {
    match (one.group_instance_id, other.group_instance_id) {
        (Some(one), Some(other)) => compare_text(one.as_str(), other.as_str()),
        (Some(_), None) => Ordering::Less,
        (None, Some(_)) => Ordering::Greater,
        (None, None) => compare_text(one.member_id.as_str(), other.member_id.as_str()),
    }
}

/// The order of Java strings: by UTF-16 code unit, which is not that of UTF-8 bytes.
fn compare_text(one: &str, other: &str) -> Ordering {
    one.encode_utf16().cmp(other.encode_utf16())
}
