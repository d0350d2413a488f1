//! The heartbeat thread: it keeps the membership while the application is busy.

use super::app::App;
use super::{Consumer, Purpose};
use crate::base::ids::{MemberId, NodeId};
use crate::base::timer::Timer;
use crate::kernel::time::{SimTime, Span};
use crate::trace::event::{MemberState, TraceEvent};
use crate::trace::out::Out;
use crate::wire::api::{HeartbeatRequest, Request};
use crate::wire::error_code::ErrorCode;
use serde::Serialize;
use std::sync::Arc;

/// The thread's own state (`HeartbeatThread` and `Heartbeat`).
#[derive(Clone, Debug, Default, Serialize)]
pub(super) struct HeartbeatThread {
    /// Whether it is awake. It sleeps while a JoinGroup is on its way.
    is_enabled: bool,
    /// Failed heartbeats in a row.
    failures: u32,
    /// Without a thread of its own: whether a heartbeat is due that only `poll` can send.
    is_due: bool,
    /// When the session runs out if no heartbeat is answered until then.
    session_expires_at: SimTime,
}

impl HeartbeatThread {
    /// Puts the thread to sleep.
    pub(super) fn disable(&mut self, out: &mut Out) {
        self.is_enabled = false;
        out.cancel(Timer::Heartbeat);
        out.cancel(Timer::SessionTimeout);
    }
}

impl Consumer {
    /// Wakes the thread and starts its three clocks.
    pub(super) fn enable_heartbeat(&mut self, out: &mut Out) {
        self.heartbeat.is_enabled = true;
        self.heartbeat.failures = 0;
        self.heartbeat.is_due = false;
        out.arm(
            Timer::Heartbeat,
            Span::from_millis(self.config().heartbeat_interval_ms),
        );
        self.reset_session(out);
    }

    /// The coordinator has been heard of.
    pub(super) fn reset_session(&mut self, out: &mut Out) {
        if self.heartbeat.is_enabled {
            let timeout = Span::from_millis(self.config().session_timeout_ms);
            self.heartbeat.session_expires_at = out.now + timeout;
            out.arm(Timer::SessionTimeout, timeout);
        }
    }

    /// A heartbeat is due.
    pub(super) fn on_heartbeat_timer(&mut self, out: &mut Out) {
        if !self.heartbeat.is_enabled {
            return;
        }
        let state = self.membership.state;
        if state == MemberState::Unjoined || state == MemberState::PreparingRebalance {
            // The coordinator counts the parked JoinGroup as a sign of life.
            self.heartbeat.disable(out);
            return;
        }
        if self.settings.history.single_threaded_consumer
            && (self.app != App::Polling || self.membership.rejoin_needed)
        {
            self.heartbeat.is_due = true;
            return;
        }
        let Some(coordinator) = self.coordinator else {
            self.look_up(out);
            out.arm(Timer::Heartbeat, self.retry_pause());
            return;
        };
        let generation_id = self.membership.generation_id;
        let member_id = self.membership.member_id.clone();
        let request = HeartbeatRequest {
            group_id: self.group(),
            generation_id,
            member_id: member_id.clone(),
            group_instance_id: self.group_instance_id(),
        };
        let body = Request::Heartbeat(request);
        let correlation = out.request(NodeId::Broker(coordinator), body, self.request_timeout());
        self.requests.insert(
            correlation,
            Purpose::Heartbeat {
                generation_id,
                member_id,
            },
        );
        out.arm(
            Timer::Heartbeat,
            Span::from_millis(self.config().heartbeat_interval_ms),
        );
    }

    /// Sends the heartbeat that was due while the application did not poll (0.9 and 0.10.0).
    pub(super) fn beat_if_due(&mut self, out: &mut Out) {
        if self.heartbeat.is_due && !self.membership.rejoin_needed {
            self.heartbeat.is_due = false;
            self.on_heartbeat_timer(out);
        }
    }

    /// Takes in the answer to a heartbeat that was sent under this generation and member id.
    ///
    /// # Source
    /// `AbstractCoordinator.HeartbeatResponseHandler`.
    #[expect(
        clippy::wildcard_enum_match_arm,
        reason = "Kafka treats every code without a rule of its own alike"
    )]
    pub(super) fn on_heartbeat_response(
        &mut self,
        generation_id: i32,
        member_id: &MemberId,
        error_code: ErrorCode,
        out: &mut Out,
    ) {
        let is_current = self.is_current(generation_id, member_id);
        match error_code {
            ErrorCode::None => {
                self.heartbeat.failures = 0;
                self.reset_session(out);
            }
            ErrorCode::RebalanceInProgress => {
                if self.membership.state == MemberState::Stable {
                    self.request_rejoin("group is already rebalancing", out);
                    self.reset_session(out);
                }
            }
            ErrorCode::CoordinatorNotAvailable | ErrorCode::NotCoordinator => {
                self.coordinator_unknown(out);
                self.heartbeat_failed(out);
            }
            ErrorCode::IllegalGeneration | ErrorCode::UnknownMemberId if is_current => {
                self.log_heartbeat_refused(error_code, out);
                self.reset_membership(error_code, "HEARTBEAT", out);
            }
            ErrorCode::FencedInstanceId if is_current => {
                self.reset_membership(error_code, "HEARTBEAT", out);
                self.failure = Some(Arc::from("FencedInstanceIdException"));
            }
            // Of an older generation: it says nothing about this one.
            ErrorCode::IllegalGeneration
            | ErrorCode::UnknownMemberId
            | ErrorCode::FencedInstanceId => {}
            _ => self.heartbeat_failed(out),
        }
    }

    fn log_heartbeat_refused(&self, error_code: ErrorCode, out: &mut Out) {
        let generation_id = self.membership.generation_id;
        let member_id = &self.membership.member_id;
        let protocol = self.membership.protocol_name.as_deref().unwrap_or("null");
        let instance = self.config().group_instance_id.as_ref();
        let instance = instance.map_or_else(
            || "Optional.empty".to_owned(),
            |id| format!("Optional[{id}]"),
        );
        self.client_log(
            &format!(
                "Attempt to heartbeat with Generation{{generationId={generation_id}, \
                 memberId='{member_id}', protocol='{protocol}'}} and group instance id {instance} \
                 failed due to {error_code}, resetting generation"
            ),
            out,
        );
    }

    /// A heartbeat got no good answer: the next one comes after a back-off.
    pub(super) fn heartbeat_failed(&mut self, out: &mut Out) {
        self.heartbeat.failures += 1;
        if self.heartbeat.is_enabled {
            let backoff = self.backoff();
            let wait = backoff.after(self.heartbeat.failures, &mut self.stream);
            out.arm(Timer::Heartbeat, wait);
        }
    }

    /// No heartbeat has been answered for a whole session: the coordinator is looked up again.
    /// Nothing is revoked; the consumer goes on until somebody tells it that it is out.
    pub(super) fn on_session_timeout(&mut self, out: &mut Out) {
        let polls = self.app == App::Polling || !self.settings.history.single_threaded_consumer;
        if !self.heartbeat.is_enabled || !polls {
            return;
        }
        if let Some(coordinator) = self.coordinator {
            self.client_log(
                &format!(
                    "Group coordinator broker {coordinator} is unavailable or invalid due to \
                     cause: session timed out without receiving a heartbeat response. \
                     isDisconnected: false. Rediscovery will be attempted."
                ),
                out,
            );
            self.coordinator_unknown(out);
            self.look_up(out);
        }
    }

    /// Says that `poll` has not been called for `max.poll.interval.ms`.
    pub(super) fn note_poll_timeout(&self, out: &mut Out) {
        out.trace(TraceEvent::PollTimeoutExpired {
            last_poll_at: self.last_poll_at,
        });
        self.client_log(
            "consumer poll timeout has expired. This means the time between subsequent calls to \
             poll() was longer than the configured max.poll.interval.ms, which typically implies \
             that the poll loop is spending too much time processing messages.",
            out,
        );
    }

    /// `poll` has not been called for `max.poll.interval.ms`: the consumer leaves by itself.
    ///
    /// # Source
    /// `AbstractCoordinator.HeartbeatThread.run`, `maybeLeaveGroup` (KIP-62).
    pub(super) fn on_poll_timeout(&mut self, out: &mut Out) {
        if self.has_consumer_protocol() {
            return self.leave_by_poll_timeout(out);
        }
        let state = self.membership.state;
        let is_member = state == MemberState::CompletingRebalance || state == MemberState::Stable;
        if !is_member || !self.heartbeat.is_enabled {
            return;
        }
        if self.coordinator.is_none() {
            out.arm(Timer::PollTimeout, self.retry_pause());
            return;
        }
        self.note_poll_timeout(out);
        self.leave_group("consumer poll timeout has expired.", out);
        self.heartbeat.disable(out);
        self.forget_membership(true, out);
        self.request_rejoin("consumer pro-actively leaving the group", out);
    }

    /// Whether an answer belongs to the present membership.
    pub(super) fn is_current(&self, generation_id: i32, member_id: &MemberId) -> bool {
        self.membership.generation_id == generation_id && self.membership.member_id == *member_id
    }
}
