//! The ISR with a change in flight.

use crate::base::ids::BrokerId;
use serde::Serialize;

/// A leader's in-sync replicas (`PartitionState`).
///
/// While a change is in flight either set could be the one that a new leader is chosen from, so
/// the high watermark waits for the union: the maximal ISR.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct IsrState {
    /// What the controller has committed, ascending.
    pub committed: Vec<BrokerId>,
    /// What the leader has asked for; unset when nothing is in flight.
    pub pending: Option<PendingIsr>,
}

/// A change that the controller has not confirmed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct PendingIsr {
    /// The ISR that was asked for.
    pub wanted: Vec<BrokerId>,
    /// Tells this change from later ones.
    pub change_id: u64,
}

impl IsrState {
    /// Nothing in flight.
    pub const fn committed(isr: Vec<BrokerId>) -> Self {
        Self {
            committed: isr,
            pending: None,
        }
    }

    /// Whether the high watermark and `acks=all` wait for `broker`.
    pub fn is_maximal_member(&self, broker: BrokerId) -> bool {
        self.committed.contains(&broker)
            || self
                .pending
                .as_ref()
                .is_some_and(|pending| pending.wanted.contains(&broker))
    }

    /// Members of the maximal ISR.
    pub fn maximal_count(&self) -> u32 {
        let joining = self.pending.as_ref().map_or(0, |pending| {
            pending
                .wanted
                .iter()
                .filter(|id| !self.committed.contains(id))
                .count()
        });
        u32::try_from(self.committed.len() + joining).unwrap_or(u32::MAX)
    }
}
