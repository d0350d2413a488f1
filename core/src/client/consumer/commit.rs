//! Committing offsets.

use super::app::{App, Closing};
use super::{CommitMode, Consumer, PrepareCommit, Purpose};
use crate::base::ids::{MemberId, NodeId, Offset, TopicPartition};
use crate::base::timer::Timer;
use crate::client::backoff::SHORTEST;
use crate::kernel::time::{SimTime, Span};
use crate::trace::event::{MemberState, TraceEvent};
use crate::trace::out::Out;
use crate::wire::api::{OffsetCommitRequest, OffsetCommitResponse, Request};
use crate::wire::error_code::ErrorCode;
use serde::Serialize;
use std::sync::Arc;

/// A commit that has no answer yet.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(super) struct CommitCall {
    kind: CommitKind,
    /// The deadline of the `commitSync()` that waits for it; unset for any other.
    until: Option<SimTime>,
    generation_id: i32,
    member_id: MemberId,
    offsets: Vec<(TopicPartition, Offset)>,
}

/// Who waits for a commit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum CommitKind {
    /// Nobody: the timed automatic commit.
    Auto,
    /// The rebalance that is about to begin.
    Prepare,
    /// Consumer protocol: the change of partitions that is about to happen.
    Reconcile,
    /// `commitSync()`.
    Sync,
    /// `commitAsync()`.
    Async,
    /// `close()`.
    Close,
}

impl Consumer {
    /// The timed commit, at the start of a poll: what earlier polls returned counts as done.
    ///
    /// # Source
    /// `ConsumerCoordinator.maybeAutoCommitOffsetsAsync`.
    pub(super) fn maybe_auto_commit(&mut self, out: &mut Out) {
        if !self.config().enable_auto_commit {
            return;
        }
        if self.auto_commit_at <= out.now {
            let interval = self.auto_commit_interval();
            self.auto_commit_at = out.now + interval;
            let offsets = self.consumed_positions();
            self.send_commit(CommitKind::Auto, offsets, out);
        }
        out.arm_at(Timer::AutoCommit, self.auto_commit_at);
    }

    /// The commit before the partitions go, unless there is nothing to wait for.
    pub(super) fn commit_before_rebalance(&mut self, out: &mut Out) -> PrepareCommit {
        let offsets = self.consumed_positions();
        if self.send_commit(CommitKind::Prepare, offsets, out) {
            PrepareCommit::InFlight
        } else {
            PrepareCommit::Settled
        }
    }

    /// The commit of `close()`. False if there is nothing to wait for.
    pub(super) fn commit_on_close(&mut self, out: &mut Out) -> bool {
        if !self.config().enable_auto_commit {
            return false;
        }
        let offsets = self.consumed_positions();
        self.send_commit(CommitKind::Close, offsets, out)
    }

    /// `commitSync()` of what has been processed; of what `poll` returned if the application commits
    /// before it processes.
    pub(super) fn commit_sync(&mut self, out: &mut Out) {
        let offsets = if self.settings.processing.commit == CommitMode::SyncBefore {
            self.consumed_positions()
        } else {
            self.processed_positions()
        };
        let timeout = Span::from_millis(self.config().default_api_timeout_ms);
        let until = *self.commit_until.get_or_insert(out.now + timeout);
        if offsets.is_empty() {
            self.after_sync_commit(true, out);
        } else if until <= out.now && timeout != Span::ZERO {
            out.trace(TraceEvent::CommitFailed {
                error_code: ErrorCode::RequestTimedOut,
                exception: Some(Arc::from("TimeoutException")),
            });
            self.after_sync_commit(false, out);
        } else if self.coordinator.is_none() {
            self.look_up(out);
            let wait = self.before_deadline(self.retry_pause(), out);
            out.arm(Timer::RetryBackoff, wait);
        } else if !self.send_commit(CommitKind::Sync, offsets, out) {
            self.commit_refused_here(out);
            self.after_sync_commit(false, out);
        } else if timeout != Span::ZERO {
            out.arm_at(Timer::RetryBackoff, until);
        }
    }

    /// A wait that ends when `commitSync()` has had its time.
    fn before_deadline(&self, wait: Span, out: &Out) -> Span {
        let left = self.commit_until.map(|until| until.since(out.now));
        left.map_or(wait, |left| wait.min(left).max(SHORTEST))
    }

    /// `commitSync()` tries again after a retriable failure.
    pub(super) fn retry_sync_commit(&mut self, out: &mut Out) {
        let is_over = self.commit_until.is_none_or(|until| until <= out.now);
        let is_waiting = !is_over
            && self.requests.values().any(
                |purpose| matches!(purpose, Purpose::Commit(call) if call.until == self.commit_until),
            );
        let is_sync = self.settings.processing.commit != CommitMode::Transaction;
        if self.app == App::Committing && is_sync && !is_waiting {
            self.commit_sync(out);
        }
    }

    /// `commitAsync()` of what has been processed.
    pub(super) fn commit_async(&mut self, out: &mut Out) {
        let offsets = self.processed_positions();
        if !offsets.is_empty() && !self.send_commit(CommitKind::Async, offsets, out) {
            self.commit_refused_here(out);
        }
    }

    /// What a transaction commits: the offsets after the records that are processed, in the name of
    /// the member, so that a member that is one no longer is refused (KIP-447).
    pub(super) fn transaction_commit(&self) -> Option<OffsetCommitRequest> {
        let offsets = self.processed_positions();
        (!offsets.is_empty()).then(|| OffsetCommitRequest {
            group_id: self.group(),
            generation_id: self.membership.generation_id,
            member_id: self.membership.member_id.clone(),
            group_instance_id: self.group_instance_id(),
            offsets: offsets.into_iter().map(|(id, at)| (id, at, -1)).collect(),
            version: OFFSET_COMMIT_VERSION,
        })
    }

    /// The client itself refuses: it is not in the group, or is just joining it.
    fn commit_refused_here(&self, out: &mut Out) {
        let exception = if self.membership.state == MemberState::Unjoined {
            "CommitFailedException"
        } else {
            "RebalanceInProgressException"
        };
        out.trace(TraceEvent::CommitFailed {
            error_code: ErrorCode::None,
            exception: Some(Arc::from(exception)),
        });
    }

    /// Positions: the offsets after the last records that `poll` returned.
    pub(super) fn consumed_positions(&self) -> Vec<(TopicPartition, Offset)> {
        self.partitions
            .iter()
            .filter_map(|(id, owned)| owned.position().map(|position| (*id, position)))
            .collect()
    }

    /// The offsets after the last records that the application is done with.
    fn processed_positions(&self) -> Vec<(TopicPartition, Offset)> {
        self.partitions
            .iter()
            .filter_map(|(id, owned)| owned.processed.map(|processed| (*id, processed)))
            .filter(|(id, processed)| {
                self.partitions
                    .get(id)
                    .is_none_or(|owned| owned.committed != Some(*processed))
            })
            .collect()
    }

    /// Whether the membership is good for a commit.
    fn may_commit(&self) -> bool {
        if self.has_consumer_protocol() {
            0 < self.membership.generation_id
        } else {
            self.membership.state == MemberState::Stable || self.is_outside_group()
        }
    }

    /// Sends a commit. False if there is nothing to send or nobody to send it to.
    pub(super) fn send_commit(
        &mut self,
        kind: CommitKind,
        offsets: Vec<(TopicPartition, Offset)>,
        out: &mut Out,
    ) -> bool {
        let Some(coordinator) = self.coordinator else {
            return false;
        };
        if offsets.is_empty() || !self.may_commit() {
            return false;
        }
        let generation_id = self.membership.generation_id;
        let member_id = self.membership.member_id.clone();
        let request = OffsetCommitRequest {
            group_id: self.group(),
            generation_id,
            member_id: member_id.clone(),
            group_instance_id: self.group_instance_id(),
            offsets: offsets
                .iter()
                .map(|(id, offset)| (*id, *offset, -1))
                .collect(),
            version: OFFSET_COMMIT_VERSION,
        };
        let body = Request::OffsetCommit(request);
        let correlation = out.request(NodeId::Broker(coordinator), body, self.request_timeout());
        let call = CommitCall {
            kind,
            until: self.commit_until.filter(|_| kind == CommitKind::Sync),
            generation_id,
            member_id,
            offsets,
        };
        self.requests.insert(correlation, Purpose::Commit(call));
        true
    }

    /// Takes in the answer to a commit.
    ///
    /// # Source
    /// `ConsumerCoordinator.OffsetCommitResponseHandler`.
    #[expect(
        clippy::wildcard_enum_match_arm,
        reason = "Kafka treats every code without a rule of its own alike"
    )]
    pub(super) fn on_commit_response(
        &mut self,
        call: &CommitCall,
        response: &OffsetCommitResponse,
        out: &mut Out,
    ) {
        let error_code = response
            .partitions
            .iter()
            .map(|(_, error_code)| *error_code)
            .find(|error_code| !error_code.is_none())
            .unwrap_or_default();
        if error_code.is_none() {
            self.commit_succeeded(call, out);
            return;
        }
        let is_current = self.is_current(call.generation_id, &call.member_id);
        let is_joining = self.membership.state == MemberState::PreparingRebalance;
        let exception: Option<&str> = match error_code {
            ErrorCode::UnknownTopicOrPartition | ErrorCode::CoordinatorLoadInProgress => None,
            ErrorCode::CoordinatorNotAvailable
            | ErrorCode::NotCoordinator
            | ErrorCode::RequestTimedOut => {
                self.coordinator_unknown(out);
                None
            }
            ErrorCode::RebalanceInProgress => {
                self.request_rejoin(
                    "offset commit failed since group is already rebalancing",
                    out,
                );
                Some("RebalanceInProgressException")
            }
            ErrorCode::StaleMemberEpoch => {
                // A member whose epoch has moved on meanwhile may still give up its partitions.
                let is_newer = call.generation_id < self.membership.generation_id;
                if call.kind == CommitKind::Reconcile && is_newer {
                    self.reconciliation_committed(Some(SHORTEST), out);
                    None
                } else {
                    Some("CommitFailedException")
                }
            }
            // Of the consumer protocol only heartbeats change the membership.
            ErrorCode::UnknownMemberId | ErrorCode::FencedInstanceId
                if self.has_consumer_protocol() =>
            {
                Some("CommitFailedException")
            }
            ErrorCode::UnknownMemberId | ErrorCode::IllegalGeneration => {
                if !is_current && is_joining {
                    Some("RebalanceInProgressException")
                } else {
                    if is_current && !self.is_outside_group() {
                        self.reset_membership(error_code, "OFFSET_COMMIT", out);
                    }
                    Some("CommitFailedException")
                }
            }
            ErrorCode::FencedInstanceId => Some(if is_current {
                self.failure = Some(Arc::from("FencedInstanceIdException"));
                "FencedInstanceIdException"
            } else if is_joining {
                "RebalanceInProgressException"
            } else {
                "CommitFailedException"
            }),
            _ => Some("KafkaException"),
        };
        out.trace(TraceEvent::CommitFailed {
            error_code,
            exception: exception.map(Arc::from),
        });
        self.commit_settled(call, (false, exception.is_none()), out);
    }

    fn commit_succeeded(&mut self, call: &CommitCall, out: &mut Out) {
        for (topic_partition, offset) in &call.offsets {
            if let Some(owned) = self.partitions.get_mut(topic_partition) {
                owned.committed = Some(*offset);
            }
        }
        let partitions = u32::try_from(call.offsets.len()).unwrap_or(u32::MAX);
        out.trace(TraceEvent::CommitSucceeded { partitions });
        self.commit_settled(call, (true, false), out);
    }

    /// The connection to the coordinator was lost on the way.
    pub(super) fn commit_disconnected(&mut self, call: &CommitCall, out: &mut Out) {
        out.trace(TraceEvent::CommitFailed {
            error_code: ErrorCode::NetworkException,
            exception: None,
        });
        self.commit_settled(call, (false, true), out);
    }

    /// Lets whoever waited for the commit go on, or tries again.
    fn commit_settled(
        &mut self,
        call: &CommitCall,
        (is_stored, is_retriable): (bool, bool),
        out: &mut Out,
    ) {
        let wait = self.retry_pause();
        match call.kind {
            CommitKind::Auto => {
                if is_retriable {
                    self.auto_commit_at = out.now + wait;
                    out.arm(Timer::AutoCommit, wait);
                }
            }
            CommitKind::Prepare => {
                if self.membership.prepare_commit != PrepareCommit::InFlight {
                    return;
                }
                // Another try after a while, as long as time is left; nothing is read meanwhile.
                self.membership.prepare_commit = if is_retriable {
                    self.membership.retry_at = out.now + wait;
                    out.arm_at(Timer::RetryBackoff, self.membership.retry_at);
                    PrepareCommit::Wanted
                } else {
                    PrepareCommit::Settled
                };
            }
            CommitKind::Reconcile => {
                self.reconciliation_committed(is_retriable.then_some(wait), out);
            }
            // The call has given up, and perhaps another one waits.
            CommitKind::Sync if call.until != self.commit_until => {}
            CommitKind::Sync => {
                if is_retriable {
                    out.arm(Timer::RetryBackoff, self.before_deadline(wait, out));
                } else if self.app == App::Committing {
                    self.after_sync_commit(is_stored, out);
                }
            }
            CommitKind::Async => {}
            CommitKind::Close => {
                if self.app == App::Closing(Closing::Committing) {
                    self.finish_close(out);
                }
            }
        }
    }
}

/// The version from which on an unknown group is `GROUP_ID_NOT_FOUND`.
const OFFSET_COMMIT_VERSION: i16 = 9;
