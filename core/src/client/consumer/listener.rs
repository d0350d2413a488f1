//! The callbacks of a rebalance: `onJoinPrepare` before JoinGroup, `onJoinComplete` after SyncGroup,
//! and what a listener does in them.

use super::app::App;
use super::{Consumer, Listener, PrepareCommit};
use crate::assignor::{Assignor, RebalanceProtocol};
use crate::base::ids::TopicPartition;
use crate::base::timer::Timer;
use crate::trace::event::{MemberState, TraceEvent};
use crate::trace::out::Out;
use std::sync::Arc;

impl Consumer {
    /// Whether partitions stay with their owner during a rebalance (`COOPERATIVE`): only if every
    /// assignor that is listed can do so.
    ///
    /// # Source
    /// `ConsumerCoordinator` (constructor); KIP-429.
    pub(super) fn is_cooperative(&self) -> bool {
        let mut names = self.config().partition_assignment_strategy.iter();
        names.all(|name| {
            let assignor = Assignor::by_name(name);
            assignor.is_some_and(|assignor| {
                let protocols = assignor.supported_protocols();
                protocols.contains(&RebalanceProtocol::Cooperative)
            })
        })
    }

    /// `onJoinPrepare`: a last commit, then the partitions go. False while a commit is awaited.
    ///
    /// # Source
    /// `ConsumerCoordinator.onJoinPrepare`.
    pub(super) fn prepare_join(&mut self, out: &mut Out) -> bool {
        if !self.commit_before_join(out) {
            return false;
        }
        let generation_id = self.membership.generation_id;
        let is_member = generation_id != -1 && !self.membership.member_id.is_empty();
        let going = self.going_before_join(is_member);
        if !self.listener_commits(!going.is_empty(), out) {
            return false;
        }
        self.membership.preparing_until = None;
        self.membership.prepare_commit = PrepareCommit::Settled;
        out.cancel(Timer::PrepareCommit);
        self.remember_lags();
        // Before 0.10.1 there was no onPartitionsLost, and the other was always called.
        if !is_member && !self.settings.history.single_threaded_consumer {
            self.lose(&going, out);
        } else if !self.is_cooperative() || !going.is_empty() {
            self.revoke(&going, out);
        }
        self.membership.is_leader = false;
        true
    }

    /// The automatic commit before a rebalance. False while it is awaited.
    fn commit_before_join(&mut self, out: &mut Out) -> bool {
        if !self.config().enable_auto_commit || self.partitions.is_empty() {
            return true;
        }
        let rebalance_timeout = self.rebalance_timeout();
        if self.membership.preparing_until.is_none() {
            self.membership.prepare_commit = PrepareCommit::Wanted;
            out.arm(Timer::PrepareCommit, rebalance_timeout);
        }
        let until = *self
            .membership
            .preparing_until
            .get_or_insert(out.now + rebalance_timeout);
        if out.now < until {
            if self.membership.prepare_commit == PrepareCommit::Wanted {
                self.membership.prepare_commit = self.commit_before_rebalance(out);
            }
            return self.membership.prepare_commit != PrepareCommit::InFlight;
        }
        true
    }

    /// What is given up before JoinGroup: without a membership everything is lost already; eagerly
    /// everything goes; cooperatively what is not subscribed to any more.
    fn going_before_join(&self, is_member: bool) -> Vec<TopicPartition> {
        let owned = self.partitions.keys().copied();
        if !is_member || !self.is_cooperative() {
            return owned.collect();
        }
        owned.filter(|id| !self.is_subscribed_to(*id)).collect()
    }

    /// Whether it subscribes to the topic of a partition. One whose name is not known counts.
    fn is_subscribed_to(&self, id: TopicPartition) -> bool {
        let topic = self.metadata.topics().get(&id.topic);
        topic.is_none_or(|topic| self.settings.topics.contains(&topic.name))
    }

    /// Lets the listener commit what is done, if it does so in its callbacks. False while
    /// `commitSync()` has not returned.
    pub(super) fn listener_commits(&mut self, is_called: bool, out: &mut Out) -> bool {
        let commits = is_called && self.settings.processing.commits_on_revoke;
        if commits && self.membership.listener == Listener::Idle {
            self.membership.listener = Listener::Committing;
            self.app = App::Committing;
            self.commit_sync(out);
        }
        let is_done = self.membership.listener != Listener::Committing;
        if is_done {
            self.membership.listener = Listener::Idle;
        }
        is_done
    }

    /// `onPartitionsRevoked`.
    pub(super) fn revoke(&mut self, going: &[TopicPartition], out: &mut Out) {
        if !going.is_empty() {
            let names = self.names(going);
            self.client_log(
                &format!("Revoke previously assigned partitions {names}"),
                out,
            );
        }
        out.trace(TraceEvent::PartitionsRevoked {
            partitions: Arc::from(going),
            generation_id: self.membership.generation_id,
        });
        self.drop_read_ahead(going, out);
        self.drop_partitions(going);
    }

    /// `onPartitionsLost`, unless there is nothing to lose.
    fn lose(&mut self, going: &[TopicPartition], out: &mut Out) {
        if going.is_empty() {
            return;
        }
        self.client_log(
            "Giving away all assigned partitions as lost since generation/memberID has been reset, \
             indicating that consumer is in old state or no longer part of the group",
            out,
        );
        let names = self.names(going);
        self.client_log(&format!("Lost previously assigned partitions {names}"), out);
        out.trace(TraceEvent::PartitionsLost {
            partitions: Arc::from(going),
        });
        self.drop_read_ahead(going, out);
        self.drop_partitions(going);
    }

    /// `onJoinComplete`, if an assignment waits for it: what another member is to have goes first,
    /// then the assignment is taken over.
    ///
    /// # Source
    /// `AbstractCoordinator.joinGroupIfNeeded`, `ConsumerCoordinator.onJoinComplete`.
    pub(super) fn complete_join(&mut self, out: &mut Out) {
        let Some((generation_id, assignment)) = self.membership.assigned.clone() else {
            return;
        };
        if generation_id != self.membership.generation_id {
            // The heartbeat thread has learnt meanwhile that the membership is gone.
            self.membership.assigned = None;
            self.forget_membership(true, out);
            self.request_rejoin("the membership was reset before the callbacks ran", out);
            return;
        }
        let is_known = assignment.iter().all(|id| self.is_subscribed_to(*id));
        if !is_known {
            self.membership.assigned = None;
            self.membership.needs_join_prepare = true;
            self.request_rejoin(
                "received assignment does not match the current subscription",
                out,
            );
            return;
        }
        let owned = self.partitions.keys();
        let going: Vec<TopicPartition> = owned
            .filter(|id| !assignment.contains(id))
            .copied()
            .collect();
        if !self.listener_commits(!going.is_empty(), out) {
            return;
        }
        self.membership.assigned = None;
        self.membership.needs_join_prepare = true;
        if !going.is_empty() {
            self.revoke(&going, out);
            self.request_rejoin("need to revoke partitions and re-join", out);
        }
        self.take_over(&assignment, out);
    }

    fn take_over(&mut self, assignment: &Arc<Vec<TopicPartition>>, out: &mut Out) {
        let added: Arc<[TopicPartition]> = assignment
            .iter()
            .copied()
            .filter(|id| !self.partitions.contains_key(id))
            .collect();
        self.take_partitions(assignment);
        self.remember(assignment);
        let names = self.names(&added);
        self.client_log(&format!("Adding newly assigned partitions: {names}"), out);
        self.auto_commit_at = out.now + self.auto_commit_interval();
        out.trace(TraceEvent::PartitionsAssigned {
            added,
            owned: Arc::from(assignment.as_slice()),
            generation_id: self.membership.generation_id,
        });
    }

    /// `onLeavePrepare`: the callbacks of `close()` and `unsubscribe()`. With `assign()` there are
    /// none.
    pub(super) fn leave_prepare(&mut self, out: &mut Out) {
        let going: Vec<TopicPartition> = self.partitions.keys().copied().collect();
        if !going.is_empty() && !self.is_outside_group() {
            let generation_id = self.membership.generation_id;
            let partitions = Arc::from(going.as_slice());
            let is_valid = generation_id != -1 && self.membership.state == MemberState::Stable;
            out.trace(if is_valid {
                TraceEvent::PartitionsRevoked {
                    partitions,
                    generation_id,
                }
            } else {
                TraceEvent::PartitionsLost { partitions }
            });
        }
        self.drop_read_ahead(&going, out);
        self.drop_partitions(&going);
    }
}
