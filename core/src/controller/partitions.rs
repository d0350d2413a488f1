//! Partitions: who is in sync, who leads.

use super::Controller;
use super::partition_change::{Election, Features, PartitionChangeBuilder};
use crate::base::ids::{BrokerId, TopicPartition};
use crate::base::timer::Timer;
use crate::kernel::time::Span;
use crate::trace::out::{Out, ReplyTo};
use crate::wire::api::{
    AlterPartitionItem, AlterPartitionRequest, AlterPartitionResponse, AlterPartitionResult,
    ElectLeadersRequest, ElectLeadersResponse, ElectionResult, Response,
};
use crate::wire::error_code::ErrorCode;
use crate::wire::metadata::{MetadataRecord, PartitionRegistration};
use std::sync::Arc;

/// Most elections of one run of the balancer or of one sweep.
const ELECTIONS_MAX: usize = 1_000;
/// When that was not enough, the next run comes after this.
const SOON: Span = Span(10_000);

/// What is to become of a partition.
pub(super) enum Wish {
    /// An election, as the topic's settings allow.
    Elect,
    /// An election of this kind.
    ElectAs(Election),
    /// A broker is gone.
    Without(BrokerId),
    /// A broker has come back without having been closed in good order.
    UncleanShutdown(BrokerId),
    /// What the leader asks for: the ISR, and whether it recovers.
    Alter(Vec<BrokerId>, bool),
}

impl Controller {
    pub(super) fn features(&self) -> Features {
        Features {
            elr: self.config.eligible_leader_replicas_version == 1,
            bumps_epoch_on_shrink: false,
        }
    }

    /// The election that the topic's settings ask for.
    fn automatic_election(&self, topic_partition: TopicPartition) -> Election {
        let topic = self.image.topics.get(&topic_partition.topic);
        if topic.is_some_and(|topic| topic.config.unclean_leader_election_enable) {
            Election::Unclean
        } else {
            Election::Online
        }
    }

    /// Changes a partition as is wished; records that if it comes to anything. True if it did.
    pub(super) fn change_partition(
        &mut self,
        topic_partition: TopicPartition,
        wish: Wish,
        out: &mut Out,
    ) -> bool {
        let Some(before) = self.image.partition(topic_partition) else {
            return false;
        };
        let topic = self.image.topics.get(&topic_partition.topic);
        let min_isr = topic.map_or(1, |topic| topic.config.min_insync_replicas);
        let min_isr = u32::try_from(min_isr).unwrap_or(u32::MAX);
        let gone = match &wish {
            Wish::Without(id) | Wish::UncleanShutdown(id) => Some(*id),
            Wish::Elect | Wish::ElectAs(_) | Wish::Alter(..) => None,
        };
        let is_acceptable = |id| Some(id) != gone && self.image.is_active(id);
        let builder = PartitionChangeBuilder::new(before, &is_acceptable, min_isr)
            .features(self.features())
            .election(self.automatic_election(topic_partition));
        let builder = match wish {
            Wish::Elect => builder,
            Wish::ElectAs(election) => builder.election(election),
            Wish::Without(id) => builder.target_isr(without(&before.isr, id)),
            Wish::UncleanShutdown(id) => builder.unclean_shutdown(id),
            Wish::Alter(isr, is_recovering) => builder.target_isr(isr).recovering(is_recovering),
        };
        let Some(built) = builder.build() else {
            return false;
        };
        if built.unclean
            && let Some(leader) = built.after.leader
        {
            out.log(format!(
                "[QuorumController id={}] Setting new leader for topicId {}, partition {} to \
                 {leader} using an unclean election",
                self.id, topic_partition.topic, topic_partition.partition
            ));
        }
        let record = MetadataRecord::Partition {
            topic_partition,
            registration: Arc::new(built.after),
        };
        self.append(record, out);
        true
    }

    /// Takes a broker out of every ISR, and elects new leaders where it led. Unless it was closed
    /// in good order it also leaves every ELR.
    pub(super) fn leave_partitions(&mut self, id: BrokerId, is_unclean: bool, out: &mut Out) {
        let drops_elr = is_unclean && self.features().elr;
        let affected: Vec<TopicPartition> = self
            .image
            .partitions()
            .filter(|(_, part)| {
                part.isr.contains(&id)
                    || part.leader == Some(id)
                    || (drops_elr && part.elr.contains(&id))
            })
            .map(|(topic_partition, _)| topic_partition)
            .collect();
        for topic_partition in affected {
            let wish = if drops_elr {
                Wish::UncleanShutdown(id)
            } else {
                Wish::Without(id)
            };
            self.change_partition(topic_partition, wish, out);
        }
    }

    /// Elects a leader for every partition that has none, as its topic's settings allow; only
    /// where they allow an unclean one, if so wanted. Gives how many elections there were.
    pub(super) fn elect_leaderless(&mut self, unclean_only: bool, out: &mut Out) -> usize {
        let leaderless: Vec<TopicPartition> = self
            .image
            .partitions()
            .filter(|(_, registration)| registration.leader.is_none())
            .map(|(topic_partition, _)| topic_partition)
            .filter(|id| !unclean_only || self.automatic_election(*id) == Election::Unclean)
            .collect();
        let mut count = 0;
        for topic_partition in leaderless {
            if unclean_only && ELECTIONS_MAX <= count {
                break;
            }
            count += usize::from(self.change_partition(topic_partition, Wish::Elect, out));
        }
        count
    }

    /// Commits the ISR that a leader asks for, if everything it knows is current.
    ///
    /// # Errors sent
    /// `STALE_BROKER_EPOCH` (77) for the request; for a partition `UNKNOWN_TOPIC_ID` (100),
    /// `UNKNOWN_TOPIC_OR_PARTITION` (3), `NOT_CONTROLLER` (41), `FENCED_LEADER_EPOCH` (74),
    /// `INVALID_REQUEST` (42), `INVALID_UPDATE_VERSION` (95), `INELIGIBLE_REPLICA` (107),
    /// `NEW_LEADER_ELECTED` (108).
    /// # Source
    /// `ReplicationControlManager.alterPartition` (KIP-497, KIP-903).
    pub(super) fn handle_alter_partition(
        &mut self,
        reply: ReplyTo,
        request: &AlterPartitionRequest,
        out: &mut Out,
    ) {
        let registered = self
            .image
            .brokers
            .get(&request.broker_id)
            .map(|broker| broker.broker_epoch);
        let mut response = AlterPartitionResponse {
            error_code: ErrorCode::None,
            partitions: Vec::new(),
        };
        if registered == Some(request.broker_epoch) {
            for item in &request.partitions {
                let result = self.alter_one(request.broker_id, item, out);
                response.partitions.push(result);
            }
        } else {
            response.error_code = ErrorCode::StaleBrokerEpoch;
        }
        self.respond(reply, Response::AlterPartition(response), out);
    }

    fn alter_one(
        &mut self,
        sender: BrokerId,
        item: &AlterPartitionItem,
        out: &mut Out,
    ) -> AlterPartitionResult {
        let error_code = self.check_alter(sender, item);
        if error_code.is_none() {
            let mut isr: Vec<BrokerId> = item.new_isr.iter().map(|(id, _)| *id).collect();
            isr.sort_unstable();
            let wish = Wish::Alter(isr, item.is_recovering);
            self.change_partition(item.topic_partition, wish, out);
        }
        let now = self.image.partition(item.topic_partition);
        let new_leader = error_code.is_none() && now.is_some_and(|p| p.leader != Some(sender));
        AlterPartitionResult {
            topic_partition: item.topic_partition,
            error_code: if new_leader {
                ErrorCode::NewLeaderElected
            } else {
                error_code
            },
            leader: now.and_then(|partition| partition.leader),
            leader_epoch: now.map_or(-1, |partition| partition.leader_epoch),
            isr: now.map_or_else(Vec::new, |partition| partition.isr.clone()),
            partition_epoch: now.map_or(-1, |partition| partition.partition_epoch),
        }
    }

    fn check_alter(&self, sender: BrokerId, item: &AlterPartitionItem) -> ErrorCode {
        if !self.image.topics.contains_key(&item.topic_partition.topic) {
            return ErrorCode::UnknownTopicId;
        }
        let Some(partition) = self.image.partition(item.topic_partition) else {
            return ErrorCode::UnknownTopicOrPartition;
        };
        let ids = || item.new_isr.iter().map(|(id, _)| *id);
        let is_duplicate = ids()
            .enumerate()
            .any(|(at, id)| ids().take(at).any(|b| b == id));
        if partition.leader_epoch < item.leader_epoch
            || partition.partition_epoch < item.partition_epoch
        {
            ErrorCode::NotController
        } else if item.leader_epoch < partition.leader_epoch {
            ErrorCode::FencedLeaderEpoch
        } else if partition.leader != Some(sender) {
            ErrorCode::InvalidRequest
        } else if item.partition_epoch < partition.partition_epoch {
            ErrorCode::InvalidUpdateVersion
        } else if is_duplicate
            || ids().any(|id| !partition.replicas.contains(&id))
            || !ids().any(|id| id == sender)
            || (item.is_recovering && (1 < item.new_isr.len() || !partition.is_recovering))
        {
            ErrorCode::InvalidRequest
        } else if item
            .new_isr
            .iter()
            .any(|(id, epoch)| !self.is_eligible(*id, *epoch))
        {
            ErrorCode::IneligibleReplica
        } else {
            ErrorCode::None
        }
    }

    fn is_eligible(&self, id: BrokerId, broker_epoch: i64) -> bool {
        self.image.is_active(id)
            && self
                .image
                .brokers
                .get(&id)
                .is_some_and(|broker| broker_epoch == -1 || broker.broker_epoch == broker_epoch)
    }

    /// Holds elections by hand.
    ///
    /// # Errors sent
    /// For a partition `ELECTION_NOT_NEEDED` (84), `PREFERRED_LEADER_NOT_AVAILABLE` (80),
    /// `ELIGIBLE_LEADERS_NOT_AVAILABLE` (83), `UNKNOWN_TOPIC_OR_PARTITION` (3).
    /// # Source
    /// `ReplicationControlManager.electLeaders` (KIP-460).
    pub(super) fn handle_elect_leaders(
        &mut self,
        reply: ReplyTo,
        request: &ElectLeadersRequest,
        out: &mut Out,
    ) {
        let is_all = request.partitions.is_none();
        let wanted = match &request.partitions {
            Some(partitions) => partitions.clone(),
            None => self.named_partitions(),
        };
        let mut results = Vec::new();
        for (name, partition) in wanted {
            let (error_code, text) = self.elect_one((&name, partition), request.unclean, out);
            if is_all && error_code == ErrorCode::ElectionNotNeeded {
                continue;
            }
            results.push(ElectionResult {
                name,
                partition,
                error_code,
                error_message: text.map(Arc::from),
            });
        }
        let response = ElectLeadersResponse {
            error_code: ErrorCode::None,
            results,
        };
        self.respond(reply, Response::ElectLeaders(response), out);
    }

    fn named_partitions(&self) -> Vec<(Arc<str>, u32)> {
        let mut named = Vec::new();
        for topic in self.image.topics.values() {
            let count = u32::try_from(topic.partitions.len()).unwrap_or(u32::MAX);
            named.extend((0..count).map(|partition| (topic.name.clone(), partition)));
        }
        named
    }

    fn elect_one(
        &mut self,
        (name, partition): (&Arc<str>, u32),
        unclean: bool,
        out: &mut Out,
    ) -> (ErrorCode, Option<String>) {
        let Some((topic_id, _)) = self.image.topic_by_name(name) else {
            let text = format!("No such topic as {name}");
            return (ErrorCode::UnknownTopicOrPartition, Some(text));
        };
        let id = TopicPartition::new(topic_id, partition);
        let Some(before) = self.image.partition(id) else {
            let text = format!("No such partition as {name}-{partition}");
            return (ErrorCode::UnknownTopicOrPartition, Some(text));
        };
        let not_needed = if unclean {
            before.leader.is_some()
        } else {
            !is_off_preferred(before)
        };
        if not_needed {
            return (ErrorCode::ElectionNotNeeded, None);
        }
        let election = if unclean {
            Election::Unclean
        } else {
            Election::Preferred
        };
        if self.change_partition(id, Wish::ElectAs(election), out) {
            (ErrorCode::None, None)
        } else if unclean {
            (ErrorCode::EligibleLeadersNotAvailable, None)
        } else {
            (ErrorCode::PreferredLeaderNotAvailable, None)
        }
    }

    /// Runs of balancer and sweep are to come as soon as there is something for them to do.
    ///
    /// # Source
    /// `QuorumController.maybeScheduleNextBalancePartitionLeaders`.
    pub(super) fn arm_sweeps(&mut self, out: &mut Out) {
        if self.swept_at == self.image.next_offset {
            return;
        }
        self.swept_at = self.image.next_offset;
        if !self.is_balance_armed
            && self.config.auto_leader_rebalance_enable
            && self
                .image
                .partitions()
                .any(|(_, part)| is_off_preferred(part))
        {
            self.is_balance_armed = true;
            let interval = self.config.leader_imbalance_check_interval_seconds;
            out.arm(Timer::LeaderBalance, Span::from_millis(interval * 1_000));
        }
        if !self.is_sweep_armed
            && self
                .image
                .partitions()
                .any(|(_, part)| part.leader.is_none())
        {
            self.is_sweep_armed = true;
            let interval = self.config.unclean_leader_election_interval_ms;
            out.arm(Timer::UncleanSweep, Span::from_millis(interval));
        }
    }

    /// Gives partitions back to their preferred leaders, where those are in sync.
    ///
    /// # Errors sent
    /// None.
    /// # Source
    /// `ReplicationControlManager.maybeBalancePartitionLeaders`;
    /// `leader.imbalance.per.broker.percentage` does nothing in KRaft.
    pub(super) fn on_leader_balance(&mut self, out: &mut Out) {
        self.is_balance_armed = false;
        self.swept_at = -1;
        let imbalanced: Vec<TopicPartition> = self
            .image
            .partitions()
            .filter(|(_, part)| is_off_preferred(part))
            .map(|(id, _)| id)
            .collect();
        let mut count = 0;
        for id in imbalanced {
            if count == ELECTIONS_MAX {
                self.is_balance_armed = true;
                out.arm(Timer::LeaderBalance, SOON);
                break;
            }
            count +=
                usize::from(self.change_partition(id, Wish::ElectAs(Election::Preferred), out));
        }
    }

    /// Gives partitions without a leader an unclean one, where the topic's settings allow it.
    ///
    /// # Errors sent
    /// None.
    /// # Source
    /// `ReplicationControlManager.maybeElectUncleanLeaders`.
    pub(super) fn on_unclean_sweep(&mut self, out: &mut Out) {
        self.is_sweep_armed = false;
        self.swept_at = -1;
        if ELECTIONS_MAX <= self.elect_leaderless(true, out) {
            self.is_sweep_armed = true;
            out.arm(Timer::UncleanSweep, SOON);
        }
    }
}

fn without(isr: &[BrokerId], gone: BrokerId) -> Vec<BrokerId> {
    let mut kept: Vec<BrokerId> = isr.iter().copied().filter(|id| *id != gone).collect();
    kept.sort_unstable();
    kept
}

fn is_off_preferred(partition: &PartitionRegistration) -> bool {
    partition.leader != partition.replicas.first().copied()
}
