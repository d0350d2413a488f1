//! Registration, heartbeats, and being let in.

use super::{Broker, Purpose};
use crate::base::timer::Timer;
use crate::kernel::time::Span;
use crate::trace::out::{Exit, Out};
use crate::wire::api::{
    BrokerHeartbeatRequest, BrokerHeartbeatResponse, BrokerRegistrationRequest,
    BrokerRegistrationResponse, Request,
};
use serde::Serialize;
use std::sync::Arc;

/// Where a broker process stands in its cluster (`BrokerLifecycleManager`).
#[derive(Clone, Debug, Serialize)]
#[expect(clippy::struct_excessive_bools, reason = "each is a fact of its own")]
pub(super) struct Lifecycle {
    /// The registration; -1 before there is one.
    pub(super) broker_epoch: i64,
    /// Whether the metadata log has been replayed up to the registration.
    pub(super) is_caught_up: bool,
    /// Whether the controller said, in its last answer, that this broker is fenced.
    pub(super) is_fenced: bool,
    /// Whether connections are accepted: from the first unfencing on.
    pub(super) is_listening: bool,
    /// Failures in a row, of registration or heartbeat.
    pub(super) failures: u32,
    /// Whether a heartbeat has no answer yet.
    pub(super) heartbeat_in_flight: bool,
    /// Whether it is to shut down, and asks the controller for leave
    /// (`PENDING_CONTROLLED_SHUTDOWN`).
    pub(super) is_leaving: bool,
    /// Whether its logs have been closed in good order.
    pub(super) is_closed: bool,
    /// Whether the controller has answered since then.
    pub(super) has_asked_to_leave: bool,
}

impl Default for Lifecycle {
    fn default() -> Self {
        Self {
            broker_epoch: -1,
            is_caught_up: false,
            is_fenced: true,
            is_listening: false,
            failures: 0,
            heartbeat_in_flight: false,
            is_leaving: false,
            is_closed: false,
            has_asked_to_leave: false,
        }
    }
}

/// The first back-off; it doubles up to the session timeout.
const BACKOFF_MS: i64 = 100;
/// In STARTING every answer is followed by the next heartbeat after this.
const STARTING_INTERVAL: Span = Span(10_000);
/// The first answer to a wish to shut down is followed by the next heartbeat after this.
const LEAVING_INTERVAL: Span = Span(50_000);
/// How long the controller may take to approve a controlled shutdown.
const LEAVING_MAX: Span = Span(300_000_000);

impl Broker {
    pub(super) fn send_registration(&mut self, out: &mut Out) {
        let is_sent = |purpose: &Purpose| *purpose == Purpose::Registration;
        let Some(controller) = self.controllers.active() else {
            return;
        };
        if self.requests.values().any(is_sent) {
            return;
        }
        let request = BrokerRegistrationRequest {
            broker_id: self.start.id,
            incarnation_id: self.start.incarnation_id,
            rack: self.start.rack.clone(),
            previous_broker_epoch: self.start.previous_broker_epoch,
        };
        let timeout = self.session_timeout();
        let body = Request::BrokerRegistration(request);
        let correlation = out.request(controller, body, timeout);
        self.requests.insert(correlation, Purpose::Registration);
    }

    /// Registered, or refused while the session of the process before still runs.
    pub(super) fn on_registration(&mut self, response: BrokerRegistrationResponse, out: &mut Out) {
        if !response.error_code.is_none() {
            self.retry_registration(out);
            return;
        }
        self.lifecycle.failures = 0;
        self.lifecycle.broker_epoch = response.broker_epoch;
        self.replicas.set_broker_epoch(response.broker_epoch);
        self.transactions.set_broker_epoch(response.broker_epoch);
        out.cancel(Timer::InitialRegistration);
        let is_fetching = |purpose: &Purpose| *purpose == Purpose::Metadata;
        if self.start.controllers.len() == 1 && !self.requests.values().any(is_fetching) {
            self.fetch_metadata(out);
        }
        self.send_heartbeat(out);
    }

    pub(super) fn retry_registration(&mut self, out: &mut Out) {
        let delay = self.next_backoff();
        out.arm(Timer::BrokerRegistration, delay);
    }

    pub(super) fn send_heartbeat(&mut self, out: &mut Out) {
        let Some(controller) = self.controllers.active() else {
            self.retry_heartbeat(out);
            return;
        };
        if self.lifecycle.heartbeat_in_flight {
            return;
        }
        let request = BrokerHeartbeatRequest {
            broker_id: self.start.id,
            broker_epoch: self.lifecycle.broker_epoch,
            current_metadata_offset: self.replicas.image().next_offset,
            want_fence: !self.lifecycle.is_caught_up,
            want_shut_down: self.lifecycle.is_leaving,
        };
        let timeout = self.session_timeout();
        let body = Request::BrokerHeartbeat(request);
        let correlation = out.request(controller, body, timeout);
        self.requests.insert(correlation, Purpose::Heartbeat);
        self.lifecycle.heartbeat_in_flight = true;
    }

    pub(super) fn on_heartbeat(&mut self, response: BrokerHeartbeatResponse, out: &mut Out) {
        self.lifecycle.heartbeat_in_flight = false;
        if !response.error_code.is_none() {
            self.retry_heartbeat(out);
            return;
        }
        self.lifecycle.failures = 0;
        self.lifecycle.is_fenced = response.is_fenced;
        if !response.is_fenced {
            self.lifecycle.is_listening = true;
        }
        if self.lifecycle.is_leaving {
            self.on_leave(response, out);
            return;
        }
        // Until it is let in, every answer is followed by the next heartbeat after a moment.
        let interval = if self.lifecycle.is_caught_up && !response.is_fenced {
            Span::from_millis(self.start.config.broker_heartbeat_interval_ms)
        } else {
            STARTING_INTERVAL
        };
        out.arm(Timer::BrokerHeartbeat, interval);
    }

    /// Begins a controlled shutdown: the controller moves the leaderships away and then gives leave.
    /// A broker that does not take part yet, or that is not to ask, ends at once.
    ///
    /// # Source
    /// `BrokerLifecycleManager.beginControlledShutdown` (KIP-631).
    pub fn request_shutdown(&mut self, out: &mut Out) {
        let takes_part = self.lifecycle.is_caught_up && !self.lifecycle.is_fenced;
        if !self.start.config.controlled_shutdown_enable || !takes_part {
            self.end_cleanly(out);
            return;
        }
        if self.lifecycle.is_leaving {
            return;
        }
        self.lifecycle.is_leaving = true;
        self.replicas.begin_shutdown();
        out.arm(Timer::ControlledShutdown, LEAVING_MAX);
        self.send_heartbeat(out);
    }

    /// The controller has answered a wish to shut down.
    fn on_leave(&mut self, response: BrokerHeartbeatResponse, out: &mut Out) {
        if response.should_shut_down {
            self.end_cleanly(out);
            return;
        }
        let interval = if self.lifecycle.has_asked_to_leave {
            Span::from_millis(self.start.config.broker_heartbeat_interval_ms)
        } else {
            LEAVING_INTERVAL
        };
        self.lifecycle.has_asked_to_leave = true;
        out.arm(Timer::BrokerHeartbeat, interval);
    }

    pub(super) fn on_controlled_shutdown_timeout(&mut self, out: &mut Out) {
        out.log(format!(
            "[BrokerLifecycleManager id={}] Timed out waiting for the controller to approve \
             controlled shutdown",
            self.start.id
        ));
        self.end_cleanly(out);
    }

    fn end_cleanly(&mut self, out: &mut Out) {
        self.replicas.close_logs(out);
        self.lifecycle.is_closed = true;
        out.exit(Exit::Stopped(Arc::from("shut down")));
    }

    /// The registration with which the process was closed in good order; -1 if it was not.
    pub fn clean_broker_epoch(&self) -> i64 {
        if self.lifecycle.is_closed {
            self.lifecycle.broker_epoch
        } else {
            -1
        }
    }

    pub(super) fn retry_heartbeat(&mut self, out: &mut Out) {
        self.lifecycle.heartbeat_in_flight = false;
        let delay = self.next_backoff();
        out.arm(Timer::BrokerHeartbeat, delay);
    }

    /// Once the registration has been replayed and the logs are open, the next heartbeat goes out
    /// at once.
    pub(super) fn maybe_ask_to_be_unfenced(&mut self, out: &mut Out) {
        let has_replayed = self.lifecycle.broker_epoch < self.replicas.image().next_offset;
        if !self.lifecycle.is_caught_up && 0 <= self.lifecycle.broker_epoch && has_replayed {
            self.lifecycle.is_caught_up = true;
            if !self.lifecycle.heartbeat_in_flight {
                self.send_heartbeat(out);
            }
        }
    }

    fn next_backoff(&mut self) -> Span {
        let exponent = self.lifecycle.failures.min(16);
        self.lifecycle.failures += 1;
        Span::from_millis(BACKOFF_MS)
            .times(1 << exponent)
            .min(self.session_timeout())
    }

    fn session_timeout(&self) -> Span {
        Span::from_millis(self.start.config.broker_session_timeout_ms)
    }
}
