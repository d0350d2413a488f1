//! Brokers: registration, heartbeats, fencing, leaving.

use super::Controller;
use super::registry::BrokerState;
use crate::base::ids::BrokerId;
use crate::base::timer::Timer;
use crate::kernel::time::Span;
use crate::trace::out::{Out, ReplyTo};
use crate::wire::api::{
    BrokerHeartbeatRequest, BrokerHeartbeatResponse, BrokerRegistrationRequest,
    BrokerRegistrationResponse, Response,
};
use crate::wire::error_code::ErrorCode;
use crate::wire::metadata::MetadataRecord;

impl Controller {
    /// Registers a broker process; it is fenced until it asks not to be.
    ///
    /// # Errors sent
    /// `DUPLICATE_BROKER_REGISTRATION` (101) while the session of another process with this id
    /// still runs.
    /// # Source
    /// `ClusterControlManager.registerBroker` (KIP-631); whether the process before was closed in
    /// good order is told as in KIP-966.
    pub(super) fn handle_broker_registration(
        &mut self,
        reply: ReplyTo,
        request: &BrokerRegistrationRequest,
        out: &mut Out,
    ) {
        let id = request.broker_id;
        let respond = |error_code, broker_epoch| {
            Response::BrokerRegistration(BrokerRegistrationResponse {
                error_code,
                broker_epoch,
            })
        };
        let before = self.image.brokers.get(&id);
        if let Some(same) = before.filter(|one| one.incarnation_id == request.incarnation_id) {
            // The answer to an earlier request was lost: the registration stands.
            let response = respond(ErrorCode::None, same.broker_epoch);
            self.registry.touch(id, out.now);
            self.respond(reply, response, out);
            return;
        }
        if before.is_some_and(|before| !before.fenced)
            && self.registry.has_valid_session(id, self.session(), out.now)
        {
            let response = respond(ErrorCode::DuplicateBrokerRegistration, -1);
            self.respond(reply, response, out);
            return;
        }
        let is_clean = before.is_some_and(|one| one.broker_epoch == request.previous_broker_epoch);
        // Another process must not inherit a place in an ISR: its log may have lost its tail.
        self.leave_partitions(id, !is_clean, out);
        let broker_epoch = self.image.next_offset;
        let record = MetadataRecord::RegisterBroker {
            broker_id: id,
            broker_epoch,
            incarnation_id: request.incarnation_id,
            rack: request.rack.clone(),
        };
        self.registry.remove(id);
        self.registry.touch(id, out.now);
        self.append(record, out);
        self.respond(reply, respond(ErrorCode::None, broker_epoch), out);
    }

    /// Notes that a broker lives; lets it take part once it has replayed its registration, and
    /// leave once nobody depends on it.
    ///
    /// # Errors sent
    /// `STALE_BROKER_EPOCH` (77) when this is not the registered process, or none is.
    /// # Source
    /// `ReplicationControlManager.processBrokerHeartbeat`.
    pub(super) fn handle_broker_heartbeat(
        &mut self,
        reply: ReplyTo,
        request: &BrokerHeartbeatRequest,
        out: &mut Out,
    ) {
        let id = request.broker_id;
        let registration = self.image.brokers.get(&id);
        let Some(registration) =
            registration.filter(|broker| broker.broker_epoch == request.broker_epoch)
        else {
            let response = BrokerHeartbeatResponse {
                error_code: ErrorCode::StaleBrokerEpoch,
                is_caught_up: false,
                is_fenced: true,
                should_shut_down: false,
            };
            self.respond(reply, Response::BrokerHeartbeat(response), out);
            return;
        };
        let next = self.registry.next_state(&self.image, registration, request);
        let is_caught_up = registration.broker_epoch < request.current_metadata_offset;
        let was_fenced = registration.fenced;
        let was_leaving = registration.in_controlled_shutdown;
        self.registry.touch(id, out.now);
        self.registry
            .note_offset(id, request.current_metadata_offset - 1);
        match next {
            BrokerState::Unfenced if was_fenced => self.unfence(id, out),
            BrokerState::Fenced | BrokerState::ShutdownNow if !was_fenced => self.fence(id, out),
            BrokerState::ControlledShutdown if !was_leaving => self.let_go(id, out),
            BrokerState::Unfenced
            | BrokerState::Fenced
            | BrokerState::ShutdownNow
            | BrokerState::ControlledShutdown => {}
        }
        let response = BrokerHeartbeatResponse {
            error_code: ErrorCode::None,
            is_caught_up,
            is_fenced: matches!(next, BrokerState::Fenced | BrokerState::ShutdownNow),
            should_shut_down: next == BrokerState::ShutdownNow,
        };
        self.respond(reply, Response::BrokerHeartbeat(response), out);
        self.arm_session_check(out);
    }

    fn change_registration(
        &mut self,
        id: BrokerId,
        (fenced, leaving): (bool, bool),
        out: &mut Out,
    ) {
        let Some(broker) = self.image.brokers.get(&id) else {
            return;
        };
        let record = MetadataRecord::BrokerRegistrationChange {
            broker_id: id,
            broker_epoch: broker.broker_epoch,
            fenced,
            in_controlled_shutdown: leaving,
        };
        self.append(record, out);
    }

    /// Unfencing anyone re-runs the election of every partition without a leader.
    fn unfence(&mut self, id: BrokerId, out: &mut Out) {
        let controller = self.id;
        let broker_epoch = self
            .image
            .brokers
            .get(&id)
            .map_or(-1, |one| one.broker_epoch);
        out.log(format!(
            "[QuorumController id={controller}] The request from broker {id} to unfence has been \
             granted because it has caught up with the offset of its register broker record \
             {broker_epoch}."
        ));
        self.change_registration(id, (false, false), out);
        self.elect_leaderless(false, out);
        self.create_first_topics(out);
    }

    fn fence(&mut self, id: BrokerId, out: &mut Out) {
        self.change_registration(id, (true, false), out);
        self.leave_partitions(id, false, out);
    }

    /// Begins a controlled shutdown: the broker stays unfenced, but leads nothing any more.
    fn let_go(&mut self, id: BrokerId, out: &mut Out) {
        self.change_registration(id, (false, true), out);
        self.leave_partitions(id, false, out);
        self.registry.note_shutdown(id, self.image.next_offset - 1);
    }

    /// Fences the broker whose session ran out longest ago; one broker a check.
    ///
    /// # Errors sent
    /// None.
    /// # Source
    /// `QuorumController.rescheduleMaybeFenceStaleBrokers`: a session is still valid exactly
    /// `broker.session.timeout.ms` after the last heartbeat.
    pub(super) fn on_session_check(&mut self, out: &mut Out) {
        if let Some(id) = self.registry.stale(&self.image, self.session(), out.now) {
            let controller = self.id;
            out.log(format!(
                "[QuorumController id={controller}] Fencing broker {id} because its session has \
                 timed out."
            ));
            self.fence(id, out);
        }
        self.arm_session_check(out);
    }

    pub(super) fn arm_session_check(&self, out: &mut Out) {
        match self.registry.oldest_contact(&self.image) {
            // A millisecond past the timeout, when the session is no longer valid.
            Some((_, at)) => {
                let due_at = at + self.session() + Span::from_millis(1);
                out.arm_at(Timer::SessionCheck, due_at);
            }
            None => out.cancel(Timer::SessionCheck),
        }
    }

    fn session(&self) -> Span {
        Span::from_millis(self.config.broker_session_timeout_ms)
    }
}
