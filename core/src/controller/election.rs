//! Who leads.

use crate::base::ids::BrokerId;
use crate::wire::metadata::PartitionRegistration;

/// Which replicas may lead.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Election {
    /// Members of the ISR; the present leader stays if it can.
    Online,
    /// Members of the ISR; the first replica comes before the present leader.
    Preferred,
    /// Members of the ISR, and when there is none, any live replica: records may be lost.
    Unclean,
}

/// What an election decides.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Choice {
    /// The leader; unset when nobody can lead.
    pub leader: Option<BrokerId>,
    /// Whether the leader is outside the ISR.
    pub unclean: bool,
}

/// Chooses a leader in the order of the replica list, never by the length of a log.
///
/// # Source
/// `PartitionChangeBuilder.electLeader`.
pub fn elect(
    election: Election,
    partition: &PartitionRegistration,
    target_isr: &[BrokerId],
    is_acceptable: impl Fn(BrokerId) -> bool,
) -> Choice {
    let clean = |leader| Choice {
        leader,
        unclean: false,
    };
    // When the last ISR member goes, it stays listed; only it may lead without loss.
    let in_sync = if target_isr.is_empty() {
        partition.isr.as_slice()
    } else {
        target_isr
    };
    let is_valid = |id: &BrokerId| {
        is_acceptable(*id)
            && in_sync.contains(id)
            && (!target_isr.is_empty() || partition.leader.is_none())
    };
    let present = partition.leader.filter(is_valid);
    let preferred = partition.replicas.first().copied().filter(is_valid);
    let kept = match election {
        Election::Preferred => preferred.or(present),
        Election::Online | Election::Unclean => present,
    };
    if kept.is_some() {
        return clean(kept);
    }
    if let Some(leader) = partition.replicas.iter().copied().find(is_valid) {
        return clean(Some(leader));
    }
    if election == Election::Unclean {
        let leader = partition
            .replicas
            .iter()
            .copied()
            .find(|id| is_acceptable(*id));
        return Choice {
            leader,
            unclean: leader.is_some(),
        };
    }
    clean(None)
}

#[cfg(test)]
mod tests {
    #[cfg(target_arch = "wasm32")]
    use wasm_bindgen_test::wasm_bindgen_test as test;

    use super::{Choice, Election, elect};
    use crate::base::ids::BrokerId;
    use crate::wire::metadata::PartitionRegistration;

    fn ids(numbers: &[u32]) -> Vec<BrokerId> {
        numbers.iter().copied().map(BrokerId).collect()
    }

    fn partition(replicas: &[u32], isr: &[u32], leader: Option<u32>) -> PartitionRegistration {
        PartitionRegistration {
            replicas: ids(replicas),
            isr: ids(isr),
            leader: leader.map(BrokerId),
            leader_epoch: 100,
            partition_epoch: 200,
        }
    }

    const fn choice(leader: Option<u32>, unclean: bool) -> Choice {
        Choice {
            leader: match leader {
                Some(id) => Some(BrokerId(id)),
                None => None,
            },
            unclean,
        }
    }

    #[test]
    fn elections_g1_to_g5_g16_to_g18() {
        let foo = partition(&[2, 1, 3], &[2, 1, 3], Some(1));
        let off = partition(&[2, 1, 3], &[3], None);
        let not_three = |id: BrokerId| id != BrokerId(3);
        let only_one = |id: BrokerId| id == BrokerId(1);
        let full = ids(&[2, 1, 3]);
        let rows = [
            (
                "G1",
                Election::Preferred,
                full.clone(),
                choice(Some(2), false),
            ),
            ("G2", Election::Online, full, choice(Some(1), false)),
            ("G3", Election::Online, ids(&[3]), choice(None, false)),
            ("G3", Election::Preferred, ids(&[3]), choice(None, false)),
            (
                "G4, G16",
                Election::Unclean,
                ids(&[3]),
                choice(Some(2), true),
            ),
            ("G5", Election::Online, ids(&[2, 3]), choice(Some(2), false)),
        ];
        for (id, election, target, expected) in rows {
            assert_eq!(elect(election, &foo, &target, not_three), expected, "{id}");
        }
        assert_eq!(
            elect(Election::Unclean, &off, &off.isr, only_one),
            choice(Some(1), true),
            "G17"
        );
        assert_eq!(
            elect(Election::Online, &off, &off.isr, only_one),
            choice(None, false),
            "G18"
        );
    }

    #[test]
    fn the_last_isr_member_waits_for_its_return() {
        let alone = partition(&[1, 2, 3], &[1], Some(1));
        let gone = elect(Election::Online, &alone, &[], |id| id != BrokerId(1));
        assert_eq!(gone, choice(None, false), "nobody else may lead");
        let offline = partition(&[1, 2, 3], &[1], None);
        let back = elect(Election::Online, &offline, &offline.isr, |_| true);
        assert_eq!(
            back,
            choice(Some(1), false),
            "it leads again, though it is not first to return"
        );
    }
}
