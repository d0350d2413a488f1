//! The `cooperative-sticky` assignor.

use super::input::Input;
use super::sticky::{self, Memory};
use super::{Assignment, AssignorError};
use crate::base::ids::TopicPartition;

/// Who is to get what in the end, and what changes hands on the way.
pub(super) struct Rounds {
    /// The assignment that the rounds lead to.
    pub(super) target: Assignment,
    /// Partitions that somebody still owns, with the members that are to get them.
    transferring: Vec<(u32, TopicPartition)>,
}

/// As `sticky`, but a partition that changes hands is given to nobody in this round. Its old owner
/// revokes it and joins again; the next round hands it out.
///
/// # Source
/// `CooperativeStickyAssignor#assignPartitions` (Kafka 1eb7644); KIP-429.
pub(super) fn assign(input: &Input<'_>) -> Result<Rounds, AssignorError> {
    let outcome = sticky::assign(input, Memory::Subscription)?;
    let mut transferring = match outcome.transferring {
        Some(transferring) => transferring,
        None => changing_hands(input, &outcome.assignment),
    };
    transferring.sort_unstable();
    Ok(Rounds {
        target: outcome.assignment,
        transferring,
    })
}

impl Rounds {
    /// What each member is sent in this round.
    pub(super) fn now(self) -> Assignment {
        let mut now = self.target;
        for group in self
            .transferring
            .chunk_by(|(one, _), (other, _)| one == other)
        {
            let member = group
                .first()
                .and_then(|(member, _)| now.get_mut(*member as usize));
            let mut withheld: Vec<(TopicPartition, bool)> = group
                .iter()
                .map(|(_, partition)| (*partition, false))
                .collect();
            let Some(partitions) = member else {
                continue;
            };
            // One entry of each is taken out, should a partition stand in the list twice.
            partitions.retain(|partition| {
                let found = withheld.binary_search_by_key(partition, |(withheld, _)| *withheld);
                match found.ok().and_then(|at| withheld.get_mut(at)) {
                    Some((_, is_gone)) if !*is_gone => {
                        *is_gone = true;
                        false
                    }
                    _ => true,
                }
            });
        }
        now
    }
}

/// Partitions that one member is to get and another one has to give up, by comparing what they own
/// with the assignment.
fn changing_hands(input: &Input<'_>, assignment: &Assignment) -> Vec<(u32, TopicPartition)> {
    let mut added: Vec<(u32, TopicPartition)> = Vec::new();
    let mut revoked: Vec<TopicPartition> = Vec::new();
    for (member, (said, got)) in (0..).zip(input.members.iter().zip(assignment)) {
        let mut owned = said.owned_partitions.to_vec();
        owned.sort_unstable();
        let mut got = got.clone();
        got.sort_unstable();
        let is_new = |id: &&TopicPartition| owned.binary_search(id).is_err();
        added.extend(got.iter().filter(is_new).map(|id| (member, *id)));
        revoked.extend(owned.iter().filter(|id| got.binary_search(id).is_err()));
    }
    revoked.sort_unstable();
    added.retain(|(_, id)| revoked.binary_search(id).is_ok());
    added
}
