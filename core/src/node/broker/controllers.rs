//! The quorum of controllers as a broker sees it: who is active, and what its log says.

use super::{Broker, Purpose};
use crate::base::ids::{ControllerId, NodeId};
use crate::base::timer::Timer;
use crate::kernel::time::{SimTime, Span};
use crate::trace::out::{Exit, Out, ReplyTo};
use crate::wire::api::{FetchMetadataLogRequest, FetchMetadataLogResponse, Request, Response};
use crate::wire::error_code::ErrorCode;
use crate::wire::metadata::{MetadataEntry, MetadataRecord};
use serde::Serialize;
use std::collections::VecDeque;
use std::sync::Arc;

/// How long the controller may park a fetch of its log (`controller.quorum.fetch.timeout.ms` / 4).
const METADATA_WAIT_MS: i64 = 500;
/// `controller.quorum.request.timeout.ms`.
const METADATA_TIMEOUT: Span = Span(2_000_000);
/// `controller.quorum.retry.backoff.ms` is 20; a dead controller does not need so many questions.
const METADATA_BACKOFF: Span = Span(100_000);
/// `request.timeout.ms` of the broker.
const FORWARD_TIMEOUT: Span = Span(30_000_000);

/// What a broker knows of the quorum, which it follows as an observer.
#[derive(Clone, Debug, Serialize)]
pub(super) struct Controllers {
    voters: Arc<[NodeId]>,
    active: Option<NodeId>,
    epoch: i32,
    /// The voter to ask next, while nobody is known to be active.
    next: usize,
    /// Entries that have been fetched and may not be committed yet.
    #[serde(skip)]
    tail: Vec<MetadataEntry>,
    /// Answers that wait for the metadata delay: when they are due.
    #[serde(skip)]
    delayed: VecDeque<(SimTime, FetchMetadataLogResponse)>,
}

impl Controllers {
    /// A quorum of one is known to be active; of another nothing is known yet.
    pub(super) fn new(voters: Arc<[NodeId]>) -> Self {
        let active = match &*voters {
            [only] => Some(*only),
            _ => None,
        };
        Self {
            voters,
            active,
            epoch: 0,
            next: 0,
            tail: Vec::new(),
            delayed: VecDeque::new(),
        }
    }

    /// The active controller, if it is known.
    pub(super) const fn active(&self) -> Option<NodeId> {
        self.active
    }

    fn is_alone(&self) -> bool {
        self.voters.len() == 1
    }

    /// Whom to fetch the metadata log from.
    fn source(&self) -> NodeId {
        let next = self.voters.get(self.next % self.voters.len().max(1));
        let next = next.copied();
        self.active
            .or(next)
            .unwrap_or(NodeId::Controller(ControllerId::default()))
    }

    /// Takes in who leads in which epoch. True if that is another active controller.
    fn learn(&mut self, epoch: i32, leader: Option<ControllerId>) -> bool {
        if self.is_alone() || epoch < self.epoch {
            return false;
        }
        let before = (self.epoch, self.active);
        if let Some(leader) = leader {
            self.active = Some(NodeId::Controller(leader));
        } else if self.epoch < epoch {
            self.active = None;
        }
        self.epoch = epoch;
        before != (self.epoch, self.active) && self.active.is_some()
    }
}

impl Broker {
    pub(super) fn fetch_metadata(&mut self, out: &mut Out) {
        let tail = &self.controllers.tail;
        let fetched = i64::try_from(tail.len()).unwrap_or(i64::MAX);
        let last_epoch = tail.last().map_or(self.replayed_epoch, |entry| entry.epoch);
        let request = FetchMetadataLogRequest {
            current_leader_epoch: self.controllers.epoch,
            fetch_offset: self.replicas.image().next_offset + fetched,
            last_fetched_epoch: last_epoch,
            max_wait_ms: METADATA_WAIT_MS,
        };
        let body = Request::FetchMetadataLog(request);
        let correlation = out.request(self.controllers.source(), body, METADATA_TIMEOUT);
        self.requests.insert(correlation, Purpose::Metadata);
    }

    /// The log is fetched again after a moment, from another voter if there are several.
    pub(super) fn retry_metadata(&mut self, out: &mut Out) {
        if !self.controllers.is_alone() {
            self.controllers.active = None;
            self.controllers.next += 1;
            self.replicas.set_controller(None);
        }
        out.arm(Timer::MetadataFetch, METADATA_BACKOFF);
    }

    /// Somebody who was taken for the active controller is not.
    pub(super) fn lose_controller(&mut self, out: &mut Out) {
        if !self.controllers.is_alone() && self.controllers.active.is_some() {
            self.controllers.active = None;
            self.replicas.set_controller(None);
            if !self.requests.values().any(|one| *one == Purpose::Metadata) {
                out.arm(Timer::MetadataFetch, METADATA_BACKOFF);
            }
        }
    }

    /// Takes in entries of the metadata log, now or after the metadata delay.
    ///
    /// # Source
    /// `KafkaRaftClient.handleFetchResponse`; the delay stands for a busy metadata loader.
    pub(super) fn on_metadata_response(
        &mut self,
        response: &FetchMetadataLogResponse,
        out: &mut Out,
    ) {
        let delay = self.start.metadata_delay;
        if delay == Span::ZERO || response.entries.is_empty() {
            self.take_in_metadata(response, out);
            return;
        }
        let due_at = out.now + delay;
        self.controllers
            .delayed
            .push_back((due_at, response.clone()));
        out.arm_at(Timer::MetadataReplay, due_at);
    }

    pub(super) fn on_metadata_replay(&mut self, out: &mut Out) {
        if let Some((_, response)) = self.controllers.delayed.pop_front() {
            self.take_in_metadata(&response, out);
        }
    }

    /// Takes over what the controllers say. Before the log is known up to the own registration nobody
    /// acts on it (`BrokerServer.startup` installs its publishers then): a broker that is back
    /// within its old session would lead what the cluster still believes it leads.
    fn take_in_metadata(&mut self, response: &FetchMetadataLogResponse, out: &mut Out) {
        if self
            .controllers
            .learn(response.leader_epoch, response.leader)
        {
            self.on_new_controller(out);
        }
        if !response.error_code.is_none() {
            if self.controllers.active.is_some() {
                self.fetch_metadata(out);
            } else {
                self.retry_metadata(out);
            }
            return;
        }
        let next = self.replicas.image().next_offset;
        let tail = &mut self.controllers.tail;
        let fetched = i64::try_from(tail.len()).unwrap_or(i64::MAX);
        if let Some((epoch, end)) = response.diverging_epoch {
            let own = tail.partition_point(|entry| entry.epoch <= epoch);
            let end = usize::try_from(end - next).unwrap_or_default();
            tail.truncate(end.min(own));
        } else if response.base_offset == next + fetched {
            tail.extend_from_slice(&response.entries);
        }
        let registered_at = self.lifecycle.broker_epoch;
        if 0 <= registered_at && registered_at < response.high_watermark {
            let committed = usize::try_from(response.high_watermark - next).unwrap_or_default();
            self.replay_metadata(committed, out);
        }
        self.fetch_metadata(out);
        self.maybe_ask_to_be_unfenced(out);
    }

    /// Acts on the first `count` of the fetched entries: they are committed.
    fn replay_metadata(&mut self, count: usize, out: &mut Out) {
        let count = count.min(self.controllers.tail.len());
        let ready: Vec<MetadataEntry> = self.controllers.tail.drain(..count).collect();
        let Some(last) = ready.last() else { return };
        self.replayed_epoch = last.epoch;
        let records: Vec<Arc<MetadataRecord>> =
            ready.into_iter().map(|entry| entry.record).collect();
        let changes = self.replicas.on_metadata(&records, out);
        self.apply_leadership(&changes, out);
    }

    /// Another controller is active: what waits for one goes to it.
    fn on_new_controller(&mut self, out: &mut Out) {
        self.replicas.set_controller(self.controllers.active);
        self.replicas.send_alter_partition(out);
        if self.lifecycle.broker_epoch < 0 {
            self.send_registration(out);
        } else if !self.lifecycle.heartbeat_in_flight {
            self.send_heartbeat(out);
        }
    }

    /// Passes a client's request on to the active controller.
    ///
    /// # Source
    /// `ForwardingManager` (KIP-590).
    /// # Simplified
    /// A broker that knows of no active controller says so, and the client asks again.
    pub(super) fn forward(&mut self, reply: ReplyTo, request: &Request, out: &mut Out) {
        if let Some(controller) = self.controllers.active {
            let correlation = out.request(controller, request.clone(), FORWARD_TIMEOUT);
            self.requests.insert(correlation, Purpose::Forward(reply));
        } else if let Some(response) =
            Response::admin_error(request.api_key(), ErrorCode::NotController)
        {
            out.respond(reply, response);
        }
    }

    pub(super) fn on_initial_registration_timeout(&self, out: &mut Out) {
        if self.lifecycle.broker_epoch < 0 {
            let text = "Shutting down because we were unable to register with the controller \
                        quorum.";
            out.log(format!(
                "[BrokerLifecycleManager id={}] {text}",
                self.start.id
            ));
            out.exit(Exit::Stopped(Arc::from(
                "unable to register with the controller quorum",
            )));
        }
    }
}
