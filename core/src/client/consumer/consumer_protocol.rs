//! Membership by the consumer protocol (KIP-848): heartbeats carry everything, the coordinator says
//! what to own.
//!
//! Heartbeats and commits go on in the background while the application works; callbacks run in
//! `poll` alone. Member id, epoch and state are those of [`super::Membership`], where the classic
//! protocol keeps them too: the epoch stands in `generation_id`.

use super::app::{App, Closing};
use super::commit::CommitKind;
use super::{Consumer, PrepareCommit, Purpose};
use crate::base::config::GroupProtocol;
use crate::base::ids::{CorrelationId, NodeId, TopicPartition};
use crate::base::timer::Timer;
use crate::client::backoff::SHORTEST;
use crate::kernel::time::{SimTime, Span};
use crate::trace::event::{MemberState, TraceEvent};
use crate::trace::out::{Exit, Out};
use crate::wire::api::{ConsumerGroupHeartbeatRequest, ConsumerGroupHeartbeatResponse, Request};
use crate::wire::error_code::ErrorCode;
use serde::Serialize;
use std::sync::Arc;

/// What the consumer protocol needs to know besides the membership
/// (`ConsumerHeartbeatRequestManager`, `ConsumerMembershipManager`).
#[derive(Clone, Debug, Default, Serialize)]
pub(super) struct GroupHeartbeat {
    /// When the next heartbeat is due.
    due_at: SimTime,
    /// Time between two heartbeats, as the coordinator said last.
    interval: Span,
    /// No heartbeat before this instant, after a failure.
    backoff_until: SimTime,
    /// Failed heartbeats in a row.
    failures: u32,
    /// The heartbeat that has no answer yet.
    in_flight: Option<CorrelationId>,
    /// Whether the next heartbeat says everything again.
    says_everything: bool,
    /// Whether the next heartbeat says what the member owns.
    says_owned: bool,
    /// What the coordinator wants it to own; unset before it has said so.
    target: Option<Arc<Vec<TopicPartition>>>,
    /// What it has gone over to last; unset since it began to join.
    adopted: Option<Arc<Vec<TopicPartition>>>,
    /// The change that is under way.
    reconciliation: Option<Reconciliation>,
    /// Whether the part of the target whose topics are known has been acknowledged.
    has_acknowledged_part: bool,
}

/// A change of what the member owns, on its way.
#[derive(Clone, Debug, Serialize)]
struct Reconciliation {
    /// What it will own.
    target: Arc<Vec<TopicPartition>>,
    /// Until when the commit before it may take.
    until: SimTime,
    /// How far that commit has come.
    commit: PrepareCommit,
    /// The commit is not tried again before this instant.
    retry_at: SimTime,
}

impl Consumer {
    /// Whether it takes part by the consumer protocol.
    pub(super) fn has_consumer_protocol(&self) -> bool {
        self.config().group_protocol == GroupProtocol::Consumer
            && self.config().group_id.is_some()
            && !self.settings.topics.is_empty()
            && !self.is_outside_group()
    }

    /// The group's part of `poll`: callbacks, and what the background would do anyway. True if the
    /// consumer may look up positions.
    ///
    /// # Source
    /// `AsyncKafkaConsumer.poll`, `ConsumerMembershipManager` (Kafka 1eb7644); KIP-848.
    pub(super) fn consumer_protocol_step(&mut self, out: &mut Out) -> bool {
        let state = self.membership.state;
        if state == MemberState::Fenced || state == MemberState::Stale {
            self.lose_partitions(out);
        }
        if [
            MemberState::Unjoined,
            MemberState::Fenced,
            MemberState::Stale,
        ]
        .contains(&state)
        {
            self.begin_to_join(out);
        }
        self.background(out);
        self.finish_reconciliation(out);
        if self.coordinator.is_none() {
            return false;
        }
        if 0 < self.membership.generation_id {
            self.maybe_auto_commit(out);
        }
        true
    }

    fn begin_to_join(&mut self, out: &mut Out) {
        self.membership.generation_id = 0;
        self.membership.rejoin_needed = false;
        let heartbeat = &mut self.group_heartbeat;
        heartbeat.says_everything = true;
        heartbeat.target = None;
        heartbeat.adopted = None;
        heartbeat.reconciliation = None;
        heartbeat.has_acknowledged_part = false;
        self.become_state(MemberState::Joining, out);
    }

    /// `onPartitionsLost`, if it owns any.
    pub(super) fn lose_partitions(&mut self, out: &mut Out) {
        let going: Vec<TopicPartition> = self.partitions.keys().copied().collect();
        if !going.is_empty() {
            let names = self.names(&going);
            self.client_log(&format!("Lost previously assigned partitions {names}"), out);
            out.trace(TraceEvent::PartitionsLost {
                partitions: Arc::from(going.as_slice()),
            });
        }
        self.drop_read_ahead(&going, out);
        self.drop_partitions(&going);
    }

    /// What goes on whatever the application does: the commit before a change, and heartbeats.
    pub(super) fn background(&mut self, out: &mut Out) {
        if self.has_consumer_protocol() {
            self.advance_reconciliation(out);
            self.send_group_heartbeat(out);
        }
    }

    /// Sends a heartbeat, if one is due. One that joins, acknowledges or leaves is due at once.
    ///
    /// # Source
    /// `AbstractHeartbeatRequestManager.poll` (Kafka 1eb7644).
    fn send_group_heartbeat(&mut self, out: &mut Out) {
        let state = self.membership.state;
        let is_silent = [
            MemberState::Unjoined,
            MemberState::Fenced,
            MemberState::Stale,
            MemberState::Fatal,
        ];
        let heartbeat = &self.group_heartbeat;
        let is_leaving = state == MemberState::Leaving;
        if is_silent.contains(&state) || (heartbeat.in_flight.is_some() && !is_leaving) {
            return;
        }
        let Some(coordinator) = self.coordinator else {
            if is_leaving {
                // Nobody can be told; the session will run out.
                self.heartbeat_built(out);
            } else {
                self.look_up(out);
            }
            return;
        };
        let is_urgent = [
            MemberState::Joining,
            MemberState::Acknowledging,
            MemberState::Leaving,
        ]
        .contains(&state);
        let due_at = match (is_urgent, heartbeat.failures) {
            (true, 0) => out.now,
            // A failed join is tried again at once, as far as time passes at all.
            (true, _) => heartbeat.backoff_until.min(out.now + SHORTEST),
            (false, _) => heartbeat.due_at.max(heartbeat.backoff_until),
        };
        if out.now < due_at && !is_leaving {
            out.arm_at(Timer::Heartbeat, due_at);
            return;
        }
        let body = Request::ConsumerGroupHeartbeat(self.group_heartbeat_request());
        let correlation = out.request(NodeId::Broker(coordinator), body, self.request_timeout());
        let purpose = Purpose::GroupHeartbeat(self.membership.generation_id);
        self.requests.insert(correlation, purpose);
        self.group_heartbeat.in_flight = Some(correlation);
        self.heartbeat_built(out);
    }

    fn group_heartbeat_request(&self) -> ConsumerGroupHeartbeatRequest {
        let config = self.config();
        let heartbeat = &self.group_heartbeat;
        let is_leaving = self.membership.generation_id < 0;
        let says_all = heartbeat.says_everything && !is_leaving;
        let owned = (says_all || heartbeat.says_owned) && !is_leaving;
        ConsumerGroupHeartbeatRequest {
            group_id: self.group(),
            member_id: self.membership.member_id.clone(),
            member_epoch: self.membership.generation_id,
            group_instance_id: self.group_instance_id(),
            client_id: self.settings.client_id.clone(),
            rack_id: config.client_rack.clone().filter(|_| says_all),
            rebalance_timeout_ms: if says_all {
                config.max_poll_interval_ms
            } else {
                -1
            },
            subscribed_topic_names: says_all.then(|| self.settings.topics.clone()),
            subscribed_topic_regex: None,
            server_assignor: config.group_remote_assignor.clone().filter(|_| says_all),
            topic_partitions: owned.then(|| Arc::new(self.partitions.keys().copied().collect())),
        }
    }

    /// A heartbeat has been built: the next one comes an interval later.
    fn heartbeat_built(&mut self, out: &mut Out) {
        let heartbeat = &mut self.group_heartbeat;
        heartbeat.says_everything = false;
        heartbeat.says_owned = false;
        heartbeat.due_at = out.now + heartbeat.interval;
        let is_reconciled = heartbeat.adopted == heartbeat.target;
        if self.membership.state == MemberState::Acknowledging {
            self.become_state(
                if is_reconciled {
                    MemberState::Stable
                } else {
                    MemberState::Reconciling
                },
                out,
            );
            self.advance_reconciliation(out);
        } else if self.membership.state == MemberState::Leaving {
            let is_closing = matches!(self.app, App::Closing(_));
            self.become_state(
                if is_closing {
                    MemberState::Unjoined
                } else {
                    MemberState::Stale
                },
                out,
            );
        }
    }

    /// Takes in the answer to a heartbeat that carried this epoch.
    ///
    /// # Source
    /// `AbstractHeartbeatRequestManager.onResponse`, `ConsumerMembershipManager.onHeartbeatSuccess`
    /// (Kafka 1eb7644).
    #[expect(
        clippy::wildcard_enum_match_arm,
        reason = "Kafka treats every code without a rule of its own alike"
    )]
    pub(super) fn on_group_heartbeat(
        &mut self,
        (correlation, epoch): (CorrelationId, i32),
        response: &ConsumerGroupHeartbeatResponse,
        out: &mut Out,
    ) {
        if self.group_heartbeat.in_flight == Some(correlation) {
            self.group_heartbeat.in_flight = None;
        } else {
            return;
        }
        if self.app == App::Closing(Closing::Leaving) {
            return self.on_left(out);
        }
        if epoch < 0 || self.membership.generation_id < 0 {
            // What a member is told that has left says nothing about its next membership.
            return;
        }
        match response.error_code {
            ErrorCode::None => self.group_heartbeat_succeeded(response, out),
            ErrorCode::UnknownMemberId | ErrorCode::FencedMemberEpoch => {
                self.client_log(
                    &format!(
                        "Member {} with epoch {} was fenced: {}. It gives up its partitions and \
                         joins again.",
                        self.membership.member_id,
                        self.membership.generation_id,
                        response.error_code
                    ),
                    out,
                );
                self.membership.generation_id = 0;
                self.group_heartbeat.reconciliation = None;
                self.group_heartbeat.failures = 0;
                self.become_state(MemberState::Fenced, out);
            }
            ErrorCode::NotCoordinator | ErrorCode::CoordinatorNotAvailable => {
                self.group_heartbeat.says_everything = true;
                self.group_heartbeat.due_at = out.now;
                self.coordinator_unknown(out);
            }
            ErrorCode::CoordinatorLoadInProgress => self.group_heartbeat_failed(out),
            ErrorCode::GroupMaxSizeReached => {
                self.fatal_membership("GroupMaxSizeReachedException", out);
            }
            ErrorCode::FencedInstanceId => self.fatal_membership("FencedInstanceIdException", out),
            ErrorCode::UnreleasedInstanceId => {
                self.fatal_membership("UnreleasedInstanceIdException", out);
            }
            ErrorCode::UnsupportedAssignor => {
                self.fatal_membership("UnsupportedAssignorException", out);
            }
            ErrorCode::InvalidRequest => self.fatal_membership("InvalidRequestException", out),
            ErrorCode::UnsupportedVersion => {
                self.fatal_membership("UnsupportedVersionException", out);
            }
            ErrorCode::GroupIdNotFound => self.fatal_membership("GroupIdNotFoundException", out),
            _ => self.fatal_membership("KafkaException", out),
        }
    }

    /// The membership is at its end; `poll` will say so.
    fn fatal_membership(&mut self, exception: &str, out: &mut Out) {
        self.failure = Some(Arc::from(exception));
        self.group_heartbeat.reconciliation = None;
        self.become_state(MemberState::Fatal, out);
    }

    fn group_heartbeat_succeeded(
        &mut self,
        response: &ConsumerGroupHeartbeatResponse,
        out: &mut Out,
    ) {
        let heartbeat = &mut self.group_heartbeat;
        heartbeat.failures = 0;
        heartbeat.backoff_until = SimTime::ZERO;
        let interval = Span::from_millis(response.heartbeat_interval_ms);
        if heartbeat.interval != interval {
            heartbeat.interval = interval;
            heartbeat.due_at = out.now + interval;
        }
        self.membership.member_id = response.member_id.clone();
        self.membership.generation_id = response.member_epoch;
        let Some(assignment) = &response.assignment else {
            return;
        };
        let heartbeat = &mut self.group_heartbeat;
        if heartbeat.target.as_ref() != Some(assignment) {
            heartbeat.target = Some(Arc::clone(assignment));
            heartbeat.has_acknowledged_part = false;
        }
        let state = self.membership.state;
        if heartbeat.adopted != heartbeat.target {
            self.become_state(MemberState::Reconciling, out);
        } else if state == MemberState::Reconciling || state == MemberState::Joining {
            self.become_state(MemberState::Stable, out);
        }
    }

    /// A heartbeat got no good answer: the next one comes after a back-off, and says everything.
    pub(super) fn group_heartbeat_failed(&mut self, out: &mut Out) {
        self.group_heartbeat.says_everything = true;
        self.group_heartbeat.failures += 1;
        let backoff = self.backoff();
        let wait = backoff.after(self.group_heartbeat.failures, &mut self.stream);
        self.group_heartbeat.backoff_until = out.now + wait;
        self.group_heartbeat.due_at = out.now;
    }

    /// A heartbeat will get no answer.
    pub(super) fn group_heartbeat_lost(&mut self, correlation: CorrelationId, out: &mut Out) {
        if self.group_heartbeat.in_flight == Some(correlation) {
            self.group_heartbeat.in_flight = None;
            self.group_heartbeat_failed(out);
            self.on_left(out);
        }
    }

    /// Takes the change that is wanted as far as it goes without callbacks: topics are looked up,
    /// positions are committed.
    ///
    /// # Source
    /// `AbstractMembershipManager.maybeReconcile` (Kafka 1eb7644).
    fn advance_reconciliation(&mut self, out: &mut Out) {
        if self.membership.state != MemberState::Reconciling {
            return;
        }
        if self.group_heartbeat.reconciliation.is_none() && !self.begin_reconciliation(out) {
            return;
        }
        let Some(reconciliation) = &self.group_heartbeat.reconciliation else {
            return;
        };
        if reconciliation.commit != PrepareCommit::Wanted {
            return;
        }
        if out.now < reconciliation.retry_at {
            out.arm_at(Timer::RetryBackoff, reconciliation.retry_at);
            return;
        }
        let until = reconciliation.until;
        let offsets = self.consumed_positions();
        let commit = if until <= out.now || offsets.is_empty() {
            PrepareCommit::Settled
        } else if self.send_commit(CommitKind::Reconcile, offsets, out) {
            PrepareCommit::InFlight
        } else {
            // The coordinator has to be found first.
            self.look_up(out);
            return;
        };
        if let Some(reconciliation) = &mut self.group_heartbeat.reconciliation {
            reconciliation.commit = commit;
        }
    }

    /// Begins to go over to the target, as far as its topics are known. False if there is nothing
    /// to do yet.
    fn begin_reconciliation(&mut self, out: &mut Out) -> bool {
        let Some(target) = self.group_heartbeat.target.clone() else {
            return false;
        };
        let topics = self.metadata.topics();
        let is_known = |id: &&TopicPartition| topics.contains_key(&id.topic);
        let known: Vec<TopicPartition> = target.iter().filter(is_known).copied().collect();
        let is_partial = known.len() != target.len();
        if is_partial {
            self.metadata.request_update(out);
        }
        if self.group_heartbeat.adopted.as_deref() == Some(&known) {
            if !is_partial {
                self.become_state(MemberState::Stable, out);
            } else if !self.group_heartbeat.has_acknowledged_part {
                self.group_heartbeat.has_acknowledged_part = true;
                self.group_heartbeat.says_owned = true;
                self.become_state(MemberState::Acknowledging, out);
            }
            return false;
        }
        let timeout = Span::from_millis(self.config().max_poll_interval_ms);
        self.group_heartbeat.reconciliation = Some(Reconciliation {
            target: Arc::new(known),
            until: out.now + timeout,
            commit: if self.config().enable_auto_commit {
                PrepareCommit::Wanted
            } else {
                PrepareCommit::Settled
            },
            retry_at: SimTime::ZERO,
        });
        true
    }

    /// The commit before a change has its answer: the change goes on, or the commit is tried again.
    pub(super) fn reconciliation_committed(&mut self, retry_after: Option<Span>, out: &mut Out) {
        let Some(reconciliation) = &mut self.group_heartbeat.reconciliation else {
            return;
        };
        if reconciliation.commit != PrepareCommit::InFlight {
            return;
        }
        reconciliation.commit = match retry_after {
            Some(wait) => {
                reconciliation.retry_at = out.now + wait;
                PrepareCommit::Wanted
            }
            None => PrepareCommit::Settled,
        };
    }

    /// The callbacks: partitions go, partitions come, and the next heartbeat says so at once.
    ///
    /// # Source
    /// `AbstractMembershipManager.revokeAndAssign` (Kafka 1eb7644).
    fn finish_reconciliation(&mut self, out: &mut Out) {
        let is_ready = |it: &Reconciliation| it.commit == PrepareCommit::Settled;
        if self.membership.state != MemberState::Reconciling
            || !self
                .group_heartbeat
                .reconciliation
                .as_ref()
                .is_some_and(is_ready)
        {
            return;
        }
        let wanted = self.group_heartbeat.reconciliation.as_ref();
        let Some(target) = wanted.map(|it| Arc::clone(&it.target)) else {
            return;
        };
        let owned = self.partitions.keys();
        let going: Vec<TopicPartition> = owned
            .filter(|id| target.binary_search(id).is_err())
            .copied()
            .collect();
        if !self.listener_commits(!going.is_empty(), out) {
            return;
        }
        self.group_heartbeat.reconciliation = None;
        if !going.is_empty() {
            self.revoke(&going, out);
        }
        let generation_id = self.membership.generation_id;
        let added: Arc<[TopicPartition]> = target
            .iter()
            .filter(|id| !self.partitions.contains_key(id))
            .copied()
            .collect();
        self.take_partitions(&target);
        let names = self.names(&added);
        self.client_log(&format!("Adding newly assigned partitions: {names}"), out);
        out.trace(TraceEvent::PartitionsAssigned {
            added,
            owned: Arc::from(target.as_slice()),
            generation_id,
        });
        self.group_heartbeat.adopted = Some(target);
        self.group_heartbeat.says_owned = true;
        self.become_state(MemberState::Acknowledging, out);
        self.send_group_heartbeat(out);
    }

    /// `poll` has not been called for `max.poll.interval.ms`: the consumer leaves by itself, and
    /// joins again at the next `poll`.
    ///
    /// # Source
    /// `AbstractMembershipManager.transitionToSendingLeaveGroup` (Kafka 1eb7644).
    pub(super) fn leave_by_poll_timeout(&mut self, out: &mut Out) {
        let is_out = [
            MemberState::Unjoined,
            MemberState::Fenced,
            MemberState::Stale,
            MemberState::Fatal,
            MemberState::Leaving,
        ];
        if is_out.contains(&self.membership.state) {
            return;
        }
        self.note_poll_timeout(out);
        self.leave_by_heartbeat(out);
    }

    /// Sends the heartbeat that leaves: for good, or for a while if the member is static.
    fn leave_by_heartbeat(&mut self, out: &mut Out) {
        self.group_heartbeat.reconciliation = None;
        let is_static = self.group_instance_id().is_some();
        self.membership.generation_id = if is_static { -2 } else { -1 };
        self.become_state(MemberState::Leaving, out);
        self.send_group_heartbeat(out);
    }

    /// The end of `close()`: callbacks, then the heartbeat that leaves, which is sent once.
    ///
    /// # Source
    /// `ConsumerMembershipManager.leaveGroup` (Kafka 1eb7644).
    pub(super) fn close_membership(&mut self, out: &mut Out) {
        let going: Vec<TopicPartition> = self.partitions.keys().copied().collect();
        let generation_id = self.membership.generation_id;
        let is_member = self.membership.state != MemberState::Unjoined
            && self.membership.state != MemberState::Stale
            && self.membership.state != MemberState::Fatal;
        if is_member {
            self.become_state(MemberState::PrepareLeaving, out);
        }
        if !going.is_empty() && 0 < generation_id {
            self.revoke(&going, out);
        } else {
            self.lose_partitions(out);
        }
        self.app = App::Closing(Closing::Leaving);
        let is_known = !self.membership.member_id.is_empty() && self.coordinator.is_some();
        if is_member && is_known {
            self.leave_by_heartbeat(out);
        } else {
            out.exit(Exit::Stopped(Arc::from("closed")));
        }
    }
}
