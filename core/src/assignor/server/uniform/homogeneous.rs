//! All members subscribe to the same topics.

use super::super::{Group, ServerAssignorError};
use crate::assignor::{Assignment, number};
use crate::base::ids::TopicPartition;

/// Each member keeps of what it has up to its quota; the rest fills the members with room, one
/// after the other. One more than the others gets who is walked first, whoever had more before: a
/// partition can move without need.
///
/// # Source
/// `UniformHomogeneousAssignmentBuilder` (Kafka 1eb7644); KIP-848.
pub(in super::super) fn assign(group: &Group<'_>) -> Result<Assignment, ServerAssignorError> {
    let mut assignment = group.nothing();
    let Some(first) = group.order.first() else {
        return Ok(assignment);
    };
    let topics = group.subscription(*first);
    let mut unassigned = unassigned(group, topics);
    let total: u32 = topics
        .iter()
        .map(|topic| group.partition_count(*topic))
        .sum();
    let member_count = number(group.members.len());
    let (quota, mut extra) = (total / member_count, total % member_count);
    let mut with_room = Vec::new();
    for member in &group.order {
        let mut room = quota + u32::from(0 < extra);
        extra = extra.saturating_sub(1);
        for (_, id) in group.owned(*member) {
            if room == 0 {
                unassigned.push(id);
                continue;
            }
            room -= 1;
            if let Some(kept) = assignment.get_mut(*member as usize) {
                kept.push(id);
            }
        }
        if 0 < room {
            with_room.push((*member, room));
        }
    }
    let mut unassigned = unassigned.into_iter();
    for (member, room) in with_room {
        if let Some(got) = assignment.get_mut(member as usize) {
            got.extend(unassigned.by_ref().take(room as usize));
        }
    }
    match unassigned.next() {
        None => Ok(assignment),
        Some(_) => Err(ServerAssignorError::LeftUnassigned),
    }
}

/// What is in nobody's target, topic by topic.
fn unassigned(group: &Group<'_>, topics: &[u32]) -> Vec<TopicPartition> {
    let mut owned: Vec<TopicPartition> = group
        .members
        .iter()
        .flat_map(|member| member.owned)
        .copied()
        .collect();
    owned.sort_unstable();
    let all = topics.iter().flat_map(|topic| {
        (0..group.partition_count(*topic)).map(|partition| group.partition(*topic, partition))
    });
    all.filter(|id| owned.binary_search(id).is_err()).collect()
}
