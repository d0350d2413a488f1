//! From a partition as it is to a partition as it shall be: who leads, who is in sync.

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
    /// Whether the leader may lack committed records.
    pub unclean: bool,
}

/// A change that is to be recorded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Change {
    /// The partition from now on.
    pub after: PartitionRegistration,
    /// Whether the leader may lack committed records.
    pub unclean: bool,
}

/// What the cluster's version and features make of a change.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Features {
    /// Whether eligible leader replicas are kept (KIP-966).
    pub elr: bool,
    /// Whether a smaller ISR begins a new leader epoch: metadata versions before 3.6.
    pub bumps_epoch_on_shrink: bool,
}

/// Works out the change of one partition (`PartitionChangeBuilder`).
#[expect(missing_debug_implementations, reason = "it holds a function")]
pub struct PartitionChangeBuilder<'a> {
    before: &'a PartitionRegistration,
    is_acceptable: &'a dyn Fn(BrokerId) -> bool,
    features: Features,
    /// `min.insync.replicas` of the topic.
    min_isr: u32,
    election: Election,
    target: PartitionRegistration,
    /// Brokers that came back without having been closed: their logs may lack their ends.
    unclean_shutdown: Vec<BrokerId>,
    sets_leader: bool,
}

impl<'a> PartitionChangeBuilder<'a> {
    /// Changes nothing yet; `is_acceptable` tells which brokers live and stay.
    pub fn new(
        before: &'a PartitionRegistration,
        is_acceptable: &'a dyn Fn(BrokerId) -> bool,
        min_isr: u32,
    ) -> Self {
        Self {
            before,
            is_acceptable,
            features: Features::default(),
            min_isr,
            election: Election::Online,
            target: before.clone(),
            unclean_shutdown: Vec::new(),
            sets_leader: false,
        }
    }

    /// With these features.
    #[must_use]
    pub const fn features(mut self, features: Features) -> Self {
        self.features = features;
        self
    }

    /// With this kind of election.
    #[must_use]
    pub const fn election(mut self, election: Election) -> Self {
        self.election = election;
        self
    }

    /// With this ISR.
    #[must_use]
    pub fn target_isr(mut self, isr: Vec<BrokerId>) -> Self {
        self.target.isr = isr;
        self
    }

    /// With these replicas.
    #[must_use]
    pub fn target_replicas(mut self, replicas: Vec<BrokerId>) -> Self {
        self.target.replicas = replicas;
        self
    }

    /// With the leader's word on whether it recovers from an unclean election.
    #[must_use]
    pub const fn recovering(mut self, is_recovering: bool) -> Self {
        self.target.is_recovering = is_recovering;
        self
    }

    /// Without eligible leader replicas: the `min.insync.replicas` that they stand for is another.
    #[must_use]
    pub fn without_elr(mut self) -> Self {
        self.target.elr.clear();
        self.target.last_known_elr.clear();
        self
    }

    /// A broker came back without having been closed: it leaves the ISR and the ELR.
    #[must_use]
    pub fn unclean_shutdown(mut self, broker: BrokerId) -> Self {
        self.target.isr.retain(|id| *id != broker);
        self.unclean_shutdown.push(broker);
        self
    }

    /// Begins a reassignment to `replicas`: new ones are added, others go in the end.
    #[must_use]
    pub fn reassign(mut self, replicas: &[BrokerId]) -> Self {
        let original: Vec<BrokerId> = self.without_adding();
        let adding = replicas.iter().filter(|id| !original.contains(id));
        let removing = original.iter().filter(|id| !replicas.contains(id));
        self.target.adding_replicas = sorted(adding.copied().collect());
        self.target.removing_replicas = sorted(removing.copied().collect());
        self.target.replicas = replicas.to_vec();
        self.target
            .replicas
            .extend_from_slice(&self.target.removing_replicas);
        self
    }

    /// Takes a reassignment back: added replicas go. The old order is not restored.
    #[must_use]
    pub fn revert(mut self) -> Self {
        self.target.replicas = self.without_adding();
        let adding = std::mem::take(&mut self.target.adding_replicas);
        self.target.isr.retain(|id| !adding.contains(id));
        self.target.removing_replicas.clear();
        self
    }

    fn without_adding(&self) -> Vec<BrokerId> {
        let adding = &self.before.adding_replicas;
        let replicas = self.before.replicas.iter().copied();
        replicas.filter(|id| !adding.contains(id)).collect()
    }

    /// Chooses a leader in the order of the replica list, never by the length of a log.
    ///
    /// # Source
    /// `PartitionChangeBuilder.electLeader`.
    pub fn elect(&self) -> Choice {
        let target = &self.target;
        let clean = |leader| Choice {
            leader,
            unclean: false,
        };
        let is_valid = |id: &BrokerId| {
            let may_lead = if target.isr.is_empty() {
                target.elr.contains(id)
            } else {
                target.isr.contains(id)
            };
            may_lead && (self.is_acceptable)(*id)
        };
        let present = self.before.leader.filter(is_valid);
        let preferred = target.replicas.first().copied().filter(is_valid);
        let kept = match self.election {
            Election::Preferred => preferred.or(present),
            Election::Online | Election::Unclean => present,
        };
        let replicas = || target.replicas.iter().copied();
        if let Some(leader) = kept.or_else(|| replicas().find(is_valid)) {
            return clean(Some(leader));
        }
        let mut unclean = self.last_known_leader();
        if unclean.is_none() && self.election == Election::Unclean {
            unclean = replicas().find(|id| (self.is_acceptable)(*id));
        }
        Choice {
            leader: unclean,
            unclean: unclean.is_some(),
        }
    }

    /// The last leader of a partition of which nobody is known to have all committed records.
    fn last_known_leader(&self) -> Option<BrokerId> {
        if !self.features.elr || !self.target.isr.is_empty() || !self.target.elr.is_empty() {
            return None;
        }
        match self.before.last_known_elr.as_slice() {
            [one] => Some(*one).filter(|id| (self.is_acceptable)(*id)),
            _ => None,
        }
    }

    /// The change; unset when there is none.
    ///
    /// # Source
    /// `PartitionChangeBuilder.build`.
    pub fn build(mut self) -> Option<Change> {
        self.complete_reassignment();
        self.keep_eligible_leaders();
        let choice = self.elect();
        self.apply_choice(choice);
        self.keep_last_known_leader();
        if self.target.isr.is_empty() && !self.features.elr {
            // Without any ISR member left the last one stays: it may lead again when it returns.
            self.target.isr.clone_from(&self.before.isr);
        }
        let lacks = |now: &[BrokerId], was: &[BrokerId]| was.iter().any(|id| !now.contains(id));
        self.sets_leader |= lacks(&self.target.replicas, &self.before.replicas)
            || (self.features.bumps_epoch_on_shrink && lacks(&self.target.isr, &self.before.isr));
        if self.sets_leader {
            self.target.leader_epoch += 1;
        }
        if self.target == *self.before {
            return None;
        }
        self.target.partition_epoch += 1;
        Some(Change {
            after: self.target,
            unclean: choice.unclean,
        })
    }

    /// A reassignment is complete when every replica that stays is in the ISR.
    fn complete_reassignment(&mut self) {
        let target = &mut self.target;
        if target.adding_replicas.is_empty() && target.removing_replicas.is_empty() {
            return;
        }
        let removing = &target.removing_replicas;
        let kept = |ids: &[BrokerId]| -> Vec<BrokerId> {
            let ids = ids.iter().copied();
            ids.filter(|id| !removing.contains(id)).collect()
        };
        let (replicas, isr) = (kept(&target.replicas), kept(&target.isr));
        if replicas.is_empty() || replicas.iter().any(|id| !isr.contains(id)) {
            return;
        }
        target.replicas = replicas;
        target.isr = isr;
        target.adding_replicas.clear();
        target.removing_replicas.clear();
    }

    /// Whoever leaves an ISR that is too small stays eligible: it lacks nothing that is committed.
    fn keep_eligible_leaders(&mut self) {
        if !self.features.elr {
            return;
        }
        let target = &mut self.target;
        let replicas = u32::try_from(target.replicas.len()).unwrap_or(u32::MAX);
        let in_sync = u32::try_from(target.isr.len()).unwrap_or(u32::MAX);
        if self.min_isr.min(replicas) <= in_sync {
            target.elr.clear();
            target.last_known_elr.clear();
            return;
        }
        let mut elr = target.elr.clone();
        elr.extend_from_slice(&self.before.isr);
        elr.retain(|id| !target.isr.contains(id) && !self.unclean_shutdown.contains(id));
        target.elr = sorted(elr);
    }

    fn apply_choice(&mut self, choice: Choice) {
        self.sets_leader = choice.leader != self.before.leader;
        self.target.leader = choice.leader;
        let Some(leader) = choice.leader else { return };
        if choice.unclean {
            self.target.isr = vec![leader];
            self.target.elr.clear();
            self.target.last_known_elr.clear();
            self.target.is_recovering = true;
        } else if self.target.isr.is_empty() {
            self.target.isr = vec![leader];
            self.target.elr.retain(|id| *id != leader);
        }
    }

    /// With an empty ISR the last leader is noted; it is forgotten when somebody leads again.
    fn keep_last_known_leader(&mut self) {
        if !self.features.elr {
            return;
        }
        if self.target.leader.is_some() {
            self.target.last_known_elr.clear();
        } else if self.target.isr.is_empty()
            && let Some(last) = self.before.leader
        {
            self.target.last_known_elr = vec![last];
        }
    }
}

fn sorted(mut ids: Vec<BrokerId>) -> Vec<BrokerId> {
    ids.sort_unstable();
    ids.dedup();
    ids
}

#[cfg(test)]
mod tests {
    #[cfg(target_arch = "wasm32")]
    use wasm_bindgen_test::wasm_bindgen_test as test;

    use super::{Change, Choice, Election, Features, PartitionChangeBuilder};
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
            ..PartitionRegistration::default()
        }
    }

    fn foo() -> PartitionRegistration {
        partition(&[2, 1, 3], &[2, 1, 3], Some(1))
    }

    fn bar() -> PartitionRegistration {
        PartitionRegistration {
            removing_replicas: ids(&[1]),
            adding_replicas: ids(&[4]),
            ..partition(&[1, 2, 3, 4], &[1, 2, 3], Some(1))
        }
    }

    fn not_three(id: BrokerId) -> bool {
        id != BrokerId(3)
    }

    fn anyone(_: BrokerId) -> bool {
        true
    }

    fn nobody(_: BrokerId) -> bool {
        false
    }

    fn builder<'a>(
        before: &'a PartitionRegistration,
        acceptable: &'a dyn Fn(BrokerId) -> bool,
    ) -> PartitionChangeBuilder<'a> {
        PartitionChangeBuilder::new(before, acceptable, 1)
    }

    fn with_elr<'a>(
        before: &'a PartitionRegistration,
        acceptable: &'a dyn Fn(BrokerId) -> bool,
        min_isr: u32,
    ) -> PartitionChangeBuilder<'a> {
        let features = Features {
            elr: true,
            ..Features::default()
        };
        PartitionChangeBuilder::new(before, acceptable, min_isr).features(features)
    }

    fn built(builder: PartitionChangeBuilder<'_>) -> PartitionRegistration {
        builder.build().expect("there is a change").after
    }

    /// Leader, ISR, leader epoch, partition epoch.
    fn state(after: &PartitionRegistration) -> (Option<u32>, Vec<u32>, i32, i32) {
        (
            after.leader.map(|id| id.0),
            after.isr.iter().map(|id| id.0).collect(),
            after.leader_epoch,
            after.partition_epoch,
        )
    }

    #[test]
    fn elections_g1_to_g4_g16_to_g18() {
        let (foo, off) = (foo(), partition(&[2, 1, 3], &[3], None));
        let only_one = |id: BrokerId| id == BrokerId(1);
        let full = [2, 1, 3].as_slice();
        let choice = |leader: Option<u32>, unclean| Choice {
            leader: leader.map(BrokerId),
            unclean,
        };
        let rows = [
            ("G1", Election::Preferred, full, choice(Some(2), false)),
            ("G2", Election::Online, full, choice(Some(1), false)),
            ("G3", Election::Online, &[3], choice(None, false)),
            ("G3", Election::Preferred, &[3], choice(None, false)),
            ("G4", Election::Unclean, &[3], choice(Some(2), true)),
        ];
        for (id, election, target, expected) in rows {
            let found = builder(&foo, &not_three)
                .target_isr(ids(target))
                .election(election)
                .elect();
            assert_eq!(found, expected, "{id}");
        }
        let unclean = built(
            builder(&foo, &not_three)
                .target_isr(ids(&[3]))
                .election(Election::Unclean),
        );
        assert_eq!(state(&unclean), (Some(2), vec![2], 101, 201), "G16");
        assert!(unclean.is_recovering, "G16");
        let unclean = built(builder(&off, &only_one).election(Election::Unclean));
        assert_eq!(state(&unclean), (Some(1), vec![1], 101, 201), "G17");
        assert!(unclean.is_recovering, "G17");
        assert_eq!(builder(&off, &only_one).build(), None, "G18");
    }

    #[test]
    fn leader_epochs_g5_to_g8_g11() {
        let foo = foo();
        let changed = built(builder(&foo, &not_three).target_isr(ids(&[2, 3])));
        assert_eq!(state(&changed), (Some(2), vec![2, 3], 101, 201), "G5");
        let shrunk = built(builder(&foo, &not_three).target_isr(ids(&[2, 1])));
        assert_eq!(state(&shrunk), (Some(1), vec![2, 1], 100, 201), "G6");
        let before_36 = Features {
            bumps_epoch_on_shrink: true,
            ..Features::default()
        };
        let old = builder(&foo, &not_three).features(before_36);
        let shrunk = built(old.target_isr(ids(&[2, 1])));
        assert_eq!(state(&shrunk), (Some(1), vec![2, 1], 101, 201), "G7");
        let small = partition(&[2, 1, 3], &[2, 1], Some(1));
        for features in [Features::default(), before_36] {
            let grown = builder(&small, &anyone).features(features);
            let grown = built(grown.target_isr(ids(&[2, 1, 3])));
            assert_eq!(state(&grown), (Some(1), vec![2, 1, 3], 100, 201), "G8");
        }
        assert_eq!(builder(&foo, &not_three).build(), None, "G11");
    }

    #[test]
    fn reassignments_g9_g10_g12_to_g15_g19() {
        let (foo, bar) = (foo(), bar());
        let other = built(builder(&foo, &not_three).target_replicas(ids(&[2, 1, 4])));
        assert_eq!((other.leader_epoch, other.leader), (101, foo.leader), "G9");
        let reordered = built(builder(&foo, &not_three).target_replicas(ids(&[3, 2, 1])));
        let expected = PartitionRegistration {
            replicas: ids(&[3, 2, 1]),
            partition_epoch: 201,
            ..foo.clone()
        };
        assert_eq!(reordered, expected, "G10");
        let complete = built(builder(&bar, &anyone).target_isr(ids(&[1, 2, 3, 4])));
        let expected = PartitionRegistration {
            partition_epoch: 201,
            leader_epoch: 101,
            ..partition(&[2, 3, 4], &[2, 3, 4], Some(2))
        };
        assert_eq!(complete, expected, "G12");
        let reverted = built(builder(&bar, &anyone).revert());
        let expected = PartitionRegistration {
            partition_epoch: 201,
            leader_epoch: 101,
            ..partition(&[1, 2, 3], &[1, 2, 3], Some(1))
        };
        assert_eq!(reverted, expected, "G13");
        let removed = built(builder(&foo, &not_three).reassign(&ids(&[1, 2])));
        let expected = PartitionRegistration {
            partition_epoch: 201,
            leader_epoch: 101,
            ..partition(&[1, 2], &[2, 1], Some(1))
        };
        assert_eq!(removed, expected, "G14");
        let added = built(builder(&foo, &not_three).reassign(&ids(&[1, 2, 3, 4])));
        let expected = PartitionRegistration {
            replicas: ids(&[1, 2, 3, 4]),
            adding_replicas: ids(&[4]),
            partition_epoch: 201,
            ..foo.clone()
        };
        assert_eq!(added, expected, "G15");
        let only_leader = |id: BrokerId| id == BrokerId(1);
        let demoted = built(builder(&bar, &only_leader).target_isr(ids(&[1, 2, 3, 4])));
        assert_eq!(demoted.leader, None, "G19");
        assert_eq!(demoted.replicas, ids(&[2, 3, 4]), "G19");
    }

    #[test]
    fn eligible_leader_replicas_g20_to_g25() {
        let four = partition(&[1, 2, 3, 4], &[1, 2, 3, 4], Some(1));
        let shrunk = built(with_elr(&four, &anyone, 3).target_isr(ids(&[1, 2])));
        assert_eq!(shrunk.elr, ids(&[3, 4]), "G20");
        let small = PartitionRegistration {
            elr: ids(&[3]),
            last_known_elr: ids(&[4]),
            ..partition(&[1, 2, 3, 4], &[1, 2], Some(1))
        };
        let grown = built(with_elr(&small, &anyone, 3).target_isr(ids(&[1, 2, 3])));
        assert_eq!((grown.elr, grown.last_known_elr), (vec![], vec![]), "G21");
        let last = PartitionRegistration {
            elr: ids(&[3]),
            ..partition(&[1, 2, 3, 4], &[1], Some(1))
        };
        let only_three = |id: BrokerId| id == BrokerId(3);
        let change = with_elr(&last, &only_three, 3).target_isr(vec![]).build();
        let Change { after, unclean } = change.expect("G22");
        assert_eq!(state(&after), (Some(3), vec![3], 101, 201), "G22");
        assert_eq!((after.elr, unclean), (ids(&[1]), false), "G22");
        let gone = built(with_elr(&four, &nobody, 3).target_isr(vec![]));
        assert_eq!(state(&gone), (None, vec![], 101, 201), "G23");
        assert_eq!(gone.elr, ids(&[1, 2, 3, 4]), "G23");
        assert_eq!(gone.last_known_elr, ids(&[1]), "G23");
        let offline = PartitionRegistration {
            last_known_elr: ids(&[1]),
            ..partition(&[1, 2, 3, 4], &[], None)
        };
        let only_one = |id: BrokerId| id == BrokerId(1);
        let change = with_elr(&offline, &only_one, 3).build().expect("G24");
        assert_eq!(state(&change.after), (Some(1), vec![1], 101, 201), "G24");
        assert!(change.unclean && change.after.is_recovering, "G24");
        assert_eq!(change.after.last_known_elr, [], "G24: forgotten");
        assert_eq!(
            with_elr(&offline, &nobody, 3).build(),
            None,
            "G24: it is dead"
        );
        let waiting = PartitionRegistration {
            elr: ids(&[1, 2]),
            last_known_elr: ids(&[1]),
            ..partition(&[1, 2, 3], &[], None)
        };
        let returned = built(with_elr(&waiting, &nobody, 2).unclean_shutdown(BrokerId(1)));
        assert_eq!(returned.elr, ids(&[2]), "G25");
    }

    #[test]
    fn the_last_isr_member_waits_for_its_return() {
        let alone = partition(&[1, 2, 3], &[1], Some(1));
        let not_one = |id: BrokerId| id != BrokerId(1);
        let gone = built(builder(&alone, &not_one).target_isr(vec![]));
        assert_eq!(state(&gone), (None, vec![1], 101, 201), "it stays listed");
        let back = built(builder(&gone, &anyone));
        assert_eq!(state(&back), (Some(1), vec![1], 102, 202), "it leads again");
    }

    #[test]
    fn effective_min_isr_h21() {
        let three = partition(&[1, 2, 3], &[1, 2, 3], Some(1));
        let all = with_elr(&three, &anyone, 5).build();
        assert_eq!(all, None, "H21: three of three replicas are enough");
        let shrunk = built(with_elr(&three, &anyone, 5).target_isr(ids(&[1, 2])));
        assert_eq!(shrunk.elr, ids(&[3]), "H21: two are not");
    }
}
