//! The coordinator's `range` assignor.

use super::Group;
use crate::assignor::{Assignment, compare_ids, number};

/// Deals out each topic by itself: contiguous ranges of equal length to its subscribers in member
/// order, the first ones one more. What members own plays no part.
///
/// # Source
/// `RangeAssignor` of the group coordinator (Kafka 1eb7644); KIP-848.
pub(super) fn assign(group: &Group<'_>) -> Assignment {
    let mut members: Vec<(u32, &super::TargetMember<'_>)> = (0..).zip(group.members).collect();
    members.sort_by(|(_, one), (_, other)| {
        compare_ids(
            (one.group_instance_id, one.member_id),
            (other.group_instance_id, other.member_id),
        )
    });
    let mut assignment = group.nothing();
    for topic in 0..number(group.topics.len()) {
        let has_it = |member: &u32| group.subscription(*member).binary_search(&topic).is_ok();
        let subscribers: Vec<u32> = members
            .iter()
            .map(|(member, _)| *member)
            .filter(has_it)
            .collect();
        let count = group.partition_count(topic);
        let subscriber_count = number(subscribers.len()).max(1);
        let (quota, mut extra) = (count / subscriber_count, count % subscriber_count);
        let mut next = 0;
        for member in subscribers {
            let end = next + quota + u32::from(0 < extra);
            extra = extra.saturating_sub(1);
            if let Some(got) = assignment.get_mut(member as usize) {
                got.extend((next..end).map(|partition| group.partition(topic, partition)));
            }
            next = end;
        }
    }
    assignment
}
