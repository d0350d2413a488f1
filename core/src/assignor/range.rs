//! The `range` assignor.

use super::{Assignment, AssignorMember, TopicSize, compare_members, compare_text};
use crate::base::ids::TopicPartition;
use std::sync::Arc;

#[cfg(test)]
mod tests;

/// The assignor's name.
pub const NAME: &str = "range";

/// Deals out each topic by itself: its partitions in order, in contiguous ranges of equal length,
/// to its subscribers in member order; the first ones get one more if it does not come out even.
/// Topics of equal size with the same subscribers are therefore split alike.
///
/// `topic_size` tells what is known of a topic; one that is unknown or empty is left out.
///
/// # Source
/// `RangeAssignor#assignPartitions` (Kafka 1eb7644).
/// # Simplified
/// Racks are not looked at (KIP-881).
pub fn assign(
    members: &[AssignorMember<'_>],
    topic_size: impl Fn(&str) -> Option<TopicSize>,
) -> Assignment {
    let mut members = members.to_vec();
    members.sort_by(compare_members);
    let mut assignment: Assignment = members
        .iter()
        .map(|member| (member.member_id.clone(), Vec::new()))
        .collect();
    let mut topics: Vec<&Arc<str>> = members.iter().flat_map(|member| member.topics).collect();
    topics.sort_by(|one, other| compare_text(one, other));
    topics.dedup();
    for name in topics {
        let Some((topic, partition_count)) = topic_size(name) else {
            continue;
        };
        let subscribers: Vec<_> = members
            .iter()
            .filter(|member| member.topics.contains(name))
            .collect();
        let subscriber_count = u32::try_from(subscribers.len()).unwrap_or(u32::MAX).max(1);
        let quota = partition_count / subscriber_count;
        let mut extra = partition_count % subscriber_count;
        let mut next = 0;
        for member in subscribers {
            let length = quota + u32::from(0 < extra);
            extra = extra.saturating_sub(1);
            let range = next..next + length;
            next = range.end;
            if let Some(got) = assignment.get_mut(member.member_id) {
                got.extend(range.map(|partition| TopicPartition::new(topic, partition)));
            }
        }
    }
    assignment
}
