//! One member's next step towards its target assignment.

use super::FREE;
use crate::base::ids::TopicPartition;
use crate::wire::error_code::ErrorCode;
use crate::wire::record::{CurrentAssignment, ReconciliationState};
use std::sync::Arc;

/// What the next step of a member depends on besides itself.
#[derive(Debug)]
pub(super) struct Goal<'a> {
    /// The target assignment's epoch.
    pub(super) epoch: i32,
    /// What the member is to own, sorted.
    pub(super) target: &'a [TopicPartition],
    /// What it says that it owns, sorted; unset when it does not say.
    pub(super) owned: Option<&'a [TopicPartition]>,
}

/// The member's next step; what it is already when nothing changes. `partition_epoch` says whose a
/// partition is: only one with the epoch -1 is free, not one of a static member that is away (-2).
///
/// # Errors
/// `FENCED_MEMBER_EPOCH` when its state is not known and it owns something.
/// # Source
/// `CurrentAssignmentBuilder#build` (Kafka 1eb7644); KIP-848.
pub(super) fn next_step(
    current: &Arc<CurrentAssignment>,
    goal: &Goal<'_>,
    partition_epoch: &dyn Fn(TopicPartition) -> i32,
) -> Result<Arc<CurrentAssignment>, ErrorCode> {
    let epoch = match current.state {
        ReconciliationState::Stable if current.member_epoch == goal.epoch => {
            return Ok(Arc::clone(current));
        }
        ReconciliationState::Stable | ReconciliationState::UnreleasedPartitions => {
            current.member_epoch
        }
        ReconciliationState::UnrevokedPartitions => {
            if holds_any(goal.owned, &current.pending_revocation) {
                return Ok(Arc::clone(current));
            }
            // It has given up all that was asked for, so it has reached the epoch after its own.
            current.member_epoch + 1
        }
        ReconciliationState::Unknown => {
            if goal.owned.is_none_or(|owned| !owned.is_empty()) {
                return Err(ErrorCode::FencedMemberEpoch);
            }
            goal.epoch
        }
    };
    let step = compute(current, epoch, goal, partition_epoch);
    Ok(Arc::new(step))
}

/// Whether the member still has some of `partitions`, as far as it says.
fn holds_any(owned: Option<&[TopicPartition]>, partitions: &[TopicPartition]) -> bool {
    owned.is_none_or(|owned| partitions.iter().any(|id| owned.binary_search(id).is_ok()))
}

fn compute(
    current: &CurrentAssignment,
    epoch: i32,
    goal: &Goal<'_>,
    partition_epoch: &dyn Fn(TopicPartition) -> i32,
) -> CurrentAssignment {
    let is_wanted = |id: &TopicPartition| goal.target.binary_search(id).is_ok();
    let (mut kept, revoked): (Vec<_>, Vec<_>) =
        current.assigned.iter().copied().partition(is_wanted);
    let previous_member_epoch = current.member_epoch;
    if !revoked.is_empty() && holds_any(goal.owned, &revoked) {
        // Nothing new is handed out in a step that takes something away.
        return CurrentAssignment {
            member_epoch: epoch,
            previous_member_epoch,
            state: ReconciliationState::UnrevokedPartitions,
            assigned: kept,
            pending_revocation: revoked,
        };
    }
    let missing = goal
        .target
        .iter()
        .filter(|id| kept.binary_search(id).is_err());
    let (free, blocked): (Vec<_>, Vec<_>) = missing
        .copied()
        .partition(|id| partition_epoch(*id) == FREE);
    let state = if blocked.is_empty() {
        ReconciliationState::Stable
    } else {
        ReconciliationState::UnreleasedPartitions
    };
    kept.extend(free);
    kept.sort_unstable();
    CurrentAssignment {
        member_epoch: goal.epoch,
        previous_member_epoch,
        state,
        assigned: kept,
        pending_revocation: Vec::new(),
    }
}
