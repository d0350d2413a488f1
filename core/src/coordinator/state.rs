//! States of a classic group and the edges between them.

use crate::base::ids::MemberId;
use crate::kernel::time::{SimTime, Span};
use crate::trace::event::GroupState;
use serde::Serialize;
use std::collections::BTreeSet;

/// The state of a group, with what exists only in that state.
///
/// ```text
///            member added                    all joined, or time is up
///  Empty ------------------> PreparingRebalance ------------------> CompletingRebalance
///    ^                        |   ^        ^                          |            |
///    +------------------------+   |        +--------------------------+            |
///     join phase over, nobody     |          join, leave, expiry, failed append    |
///                                 |                                                | leader's
///                                 +------------------ Stable <---------------------+ assignment
///                                   join, leave, expiry                              is stored
///  Every state ---> Dead (the coordinator has lost its partition, or the group is deleted)
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub enum State {
    /// No members; committed offsets may remain.
    Empty,
    /// The join barrier is up.
    PreparingRebalance(JoinPhase),
    /// The join phase is over; the leader's assignment is awaited.
    CompletingRebalance(SyncPhase),
    /// The assignment is stored. Members that have not asked for theirs are still awaited.
    Stable(SyncPhase),
    /// Unloaded or deleted.
    Dead,
}

/// What exists while members join.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct JoinPhase {
    /// Whether the group was Empty before; such a phase does not end early when all have joined.
    pub is_initial: bool,
    /// When the `join` timer fires; unset only for the moment before it is armed.
    pub closes_at: Option<SimTime>,
    /// How an initial phase may go on when the timer fires; unset when the timer ends the phase.
    pub extension: Option<InitialDelay>,
}

/// Rounds of `group.initial.rebalance.delay.ms` (KIP-134).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct InitialDelay {
    /// Length of the round that runs.
    pub delay: Span,
    /// Time that later rounds may take.
    pub remaining: Span,
}

/// What exists until every member has asked for its assignment.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct SyncPhase {
    /// Members of the generation that have not sent `SyncGroup`. It can hold the former id of a
    /// static member that was replaced meanwhile, as in Kafka.
    pub pending: BTreeSet<MemberId>,
    /// When the `sync` timer fires; unset when nobody is awaited.
    pub closes_at: Option<SimTime>,
}

impl JoinPhase {
    /// When the phase ends at the latest, further rounds of the initial delay included.
    pub fn latest_end(&self) -> Option<SimTime> {
        let more = self
            .extension
            .map_or(Span::ZERO, |extension| extension.remaining);
        self.closes_at.map(|closes_at| closes_at + more)
    }
}

impl State {
    /// The state without its data.
    pub const fn kind(&self) -> GroupState {
        match self {
            Self::Empty => GroupState::Empty,
            Self::PreparingRebalance(_) => GroupState::PreparingRebalance,
            Self::CompletingRebalance(_) => GroupState::CompletingRebalance,
            Self::Stable(_) => GroupState::Stable,
            Self::Dead => GroupState::Dead,
        }
    }

    /// Whether the group is Dead.
    pub const fn is_dead(&self) -> bool {
        matches!(self, Self::Dead)
    }

    /// Whether the group is Empty.
    pub const fn is_empty(&self) -> bool {
        matches!(self, Self::Empty)
    }

    /// Whether a rebalance can start from here.
    pub const fn can_rebalance(&self) -> bool {
        may_become(self.kind(), GroupState::PreparingRebalance)
    }

    /// What is known of the join phase; unset outside `PreparingRebalance`.
    pub const fn join_phase(&self) -> Option<&JoinPhase> {
        match self {
            Self::PreparingRebalance(phase) => Some(phase),
            Self::Empty | Self::CompletingRebalance(_) | Self::Stable(_) | Self::Dead => None,
        }
    }

    /// What is known of awaited `SyncGroup`s; unset before the join phase is over.
    pub const fn sync_phase(&self) -> Option<&SyncPhase> {
        match self {
            Self::CompletingRebalance(phase) | Self::Stable(phase) => Some(phase),
            Self::Empty | Self::PreparingRebalance(_) | Self::Dead => None,
        }
    }

    /// As [`Self::sync_phase`], to change it.
    pub(super) const fn sync_phase_mut(&mut self) -> Option<&mut SyncPhase> {
        match self {
            Self::CompletingRebalance(phase) | Self::Stable(phase) => Some(phase),
            Self::Empty | Self::PreparingRebalance(_) | Self::Dead => None,
        }
    }
}

/// Every legal edge of the classic protocol; any other is a bug in our code.
pub const fn may_become(previous: GroupState, next: GroupState) -> bool {
    use GroupState::{CompletingRebalance, Dead, Empty, PreparingRebalance, Stable};
    matches!(
        (previous, next),
        (Empty | Stable | CompletingRebalance, PreparingRebalance)
            | (PreparingRebalance, CompletingRebalance | Empty)
            | (CompletingRebalance, Stable)
            | (_, Dead)
    )
}
