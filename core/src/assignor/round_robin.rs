//! The `roundrobin` assignor.

use super::Assignment;
use super::input::Input;

/// Deals out all partitions in turn: topics by name, partitions by number, to the members in member
/// order, round and round, past those that do not subscribe.
///
/// # Source
/// `RoundRobinAssignor#assign` (Kafka 1eb7644).
pub(super) fn assign(input: &Input<'_>) -> Assignment {
    let mut assignment = input.nothing();
    let members = input.sorted_members();
    let mut next = members.iter().cycle();
    for (topic, partition_count) in input.sizes() {
        for partition in 0..partition_count {
            // Somebody subscribes to every topic of the input.
            let member = next.find(|member| input.has(**member, topic));
            let got = member.and_then(|member| assignment.get_mut(*member as usize));
            if let Some(got) = got {
                got.push(input.partition(topic, partition));
            }
        }
    }
    assignment
}
