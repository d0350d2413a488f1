//! The metadata log and the controllers that keep it: who leads, what is committed (KIP-595).
//!
//! A quorum of one writes and commits in one step: it holds no election, gathers no records and
//! has no epochs on the wire.

mod election;
mod replication;

use crate::base::config::BrokerConfig;
use crate::base::ids::{ControllerId, CorrelationId, NodeId};
use crate::base::timer::Timer;
use crate::kernel::rng::Stream;
use crate::kernel::time::{SimTime, Span};
use crate::trace::event::{QuorumState, TraceEvent};
use crate::trace::out::{Out, ReplyTo};
use crate::wire::api::{FetchMetadataLogRequest, Request, Response};
use crate::wire::metadata::{MetadataEntry, MetadataRecord};
use serde::Serialize;
use std::collections::BTreeMap;
use std::sync::Arc;

/// One voter of the quorum (`KafkaRaftClient`).
#[derive(Clone, Debug, Serialize)]
pub struct Quorum {
    id: ControllerId,
    /// Every voter, itself included, ascending.
    voters: Vec<ControllerId>,
    config: Arc<BrokerConfig>,
    #[serde(skip)]
    log: Vec<MetadataEntry>,
    epoch: i32,
    /// Whom it has given its vote in this epoch.
    voted_for: Option<ControllerId>,
    role: Role,
    /// Entries below this offset are committed, as far as this voter knows.
    high_watermark: i64,
    /// As leader: entries below this offset may be fetched; those above still linger.
    drained_end: i64,
    /// When it stands for election, unless it hears of a leader or gives its vote before.
    deadline: SimTime,
    /// Fetches that wait for an entry.
    parked: BTreeMap<NodeId, (ReplyTo, FetchMetadataLogRequest)>,
    /// Requests to other voters that have no answer yet, with the epoch of their sending.
    requests: Vec<(CorrelationId, ControllerId, i32)>,
    stream: Stream,
}

/// What a controller's disk holds.
#[derive(Clone, Debug, Default)]
pub struct QuorumDisk {
    log: Vec<MetadataEntry>,
    epoch: i32,
    voted_for: Option<ControllerId>,
}

/// What a voter does.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
enum Role {
    Unattached,
    Candidate(Candidacy),
    Leader(Leadership),
    Follower(ControllerId),
    Resigned,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
struct Candidacy {
    /// Voters that have given it their votes, itself included.
    granted: Vec<ControllerId>,
    rejected: Vec<ControllerId>,
    /// Candidacies in a row, from 1.
    tries: u32,
    is_backing_off: bool,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
struct Leadership {
    /// Offset of the entry that begins its epoch.
    epoch_start: i64,
    /// The other voters.
    voters: Vec<VoterState>,
    /// Voters that have fetched since the majority was last made sure of.
    fetched: Vec<ControllerId>,
}

/// A voter as the leader has it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
struct VoterState {
    id: ControllerId,
    /// Where its log ends; -1 before its first fetch.
    log_end_offset: i64,
    /// When it last fetched; unset before its first fetch.
    last_fetch_at: Option<SimTime>,
}

/// After a fetch that failed.
const RETRY: Span = Span(100_000);
/// How long a fetch of a voter may be parked (`KafkaRaftClient.MAX_FETCH_WAIT_MS`).
const FETCH_WAIT_MS: i64 = 500;
/// `controller.quorum.request.timeout.ms`.
const REQUEST_TIMEOUT: Span = Span(2_000_000);

impl Quorum {
    /// A voter that has just been started on what the disk holds.
    pub fn new(
        (id, voters): (ControllerId, Vec<ControllerId>),
        config: Arc<BrokerConfig>,
        disk: QuorumDisk,
        stream: Stream,
    ) -> Self {
        Self {
            id,
            voters,
            config,
            log: disk.log,
            epoch: disk.epoch,
            voted_for: disk.voted_for,
            role: Role::Unattached,
            high_watermark: 0,
            drained_end: 0,
            deadline: SimTime::ZERO,
            parked: BTreeMap::new(),
            requests: Vec::new(),
            stream,
        }
    }

    /// What stays when the process is gone.
    pub fn into_disk(self) -> QuorumDisk {
        QuorumDisk {
            log: self.log,
            epoch: self.epoch,
            voted_for: self.voted_for,
        }
    }

    /// Begins to work: a quorum of one leads at once, others wait to hear of a leader.
    pub fn start(&mut self, out: &mut Out) {
        if self.is_alone() {
            self.epoch += 1;
            self.drained_end = self.log_end_offset();
            self.high_watermark = self.drained_end;
            self.role = Role::Leader(Leadership {
                epoch_start: self.drained_end,
                voters: Vec::new(),
                fetched: Vec::new(),
            });
        } else {
            self.arm_election(out);
        }
    }

    /// Whether this is the only voter.
    pub const fn is_alone(&self) -> bool {
        self.voters.len() == 1
    }

    /// The epoch that it knows.
    pub const fn epoch(&self) -> i32 {
        self.epoch
    }

    /// Where its log ends.
    pub fn log_end_offset(&self) -> i64 {
        i64::try_from(self.log.len()).unwrap_or(i64::MAX)
    }

    /// Entries below this offset are committed, as far as it knows.
    pub const fn high_watermark(&self) -> i64 {
        self.high_watermark
    }

    /// Its role.
    pub const fn state(&self) -> QuorumState {
        match self.role {
            Role::Unattached => QuorumState::Unattached,
            Role::Candidate(_) => QuorumState::Candidate,
            Role::Leader(_) => QuorumState::Leader,
            Role::Follower(_) => QuorumState::Follower,
            Role::Resigned => QuorumState::Resigned,
        }
    }

    /// Whether it leads, and everything of earlier epochs is committed.
    pub const fn leads_committed(&self) -> bool {
        match &self.role {
            // A quorum of one writes nothing when its epoch begins.
            Role::Leader(leadership) => {
                self.is_alone() || leadership.epoch_start < self.high_watermark
            }
            Role::Unattached | Role::Candidate(_) | Role::Follower(_) | Role::Resigned => false,
        }
    }

    /// Who leads, as far as it knows.
    pub const fn leader(&self) -> Option<ControllerId> {
        match &self.role {
            Role::Leader(_) => Some(self.id),
            Role::Follower(leader) => Some(*leader),
            Role::Unattached | Role::Candidate(_) | Role::Resigned => None,
        }
    }

    /// The entry at `offset`.
    pub fn entry(&self, offset: i64) -> Option<&MetadataEntry> {
        self.log.get(usize::try_from(offset).ok()?)
    }

    /// Writes a record as the leader; it lingers until more have come.
    pub fn append(&mut self, record: Arc<MetadataRecord>, out: &mut Out) {
        self.log.push(MetadataEntry {
            epoch: self.epoch,
            record,
        });
        if self.is_alone() {
            self.drained_end = self.log_end_offset();
            self.high_watermark = self.drained_end;
        } else if self.drained_end + 1 == self.log_end_offset() {
            let linger = self.config.controller_quorum_append_linger_ms;
            out.arm(Timer::QuorumLinger, Span::from_millis(linger));
        }
    }

    /// Takes in an expired timer. False if it is none of the quorum's.
    pub fn on_timer(&mut self, timer: &Timer, out: &mut Out) -> bool {
        if let Timer::MetadataFetchExpiry(node) = timer {
            self.on_fetch_expiry(*node, out);
        } else if *timer == Timer::QuorumElection {
            self.on_election_timer(out);
        } else if *timer == Timer::QuorumFetchTimeout {
            if let Role::Follower(_) = self.role {
                self.stand(1, out);
            }
        } else if *timer == Timer::QuorumFetchRetry {
            self.fetch(out);
        } else if *timer == Timer::QuorumCheck {
            self.resign(out);
        } else if *timer == Timer::QuorumBegin {
            self.begin_epoch(out);
        } else if *timer == Timer::QuorumLinger {
            self.drain(out);
        } else {
            return false;
        }
        true
    }

    /// Takes in a request of another voter. False if it is none of the quorum's.
    pub fn on_request(&mut self, reply: ReplyTo, request: &Request, out: &mut Out) -> bool {
        let NodeId::Controller(from) = reply.node else {
            return false;
        };
        if let Request::Vote(request) = request {
            self.handle_vote((reply, from), *request, out);
        } else if let Request::BeginQuorumEpoch(request) = request {
            self.handle_begin_quorum_epoch((reply, from), *request, out);
        } else if let Request::EndQuorumEpoch(request) = request {
            self.handle_end_quorum_epoch((reply, from), request, out);
        } else {
            return false;
        }
        true
    }

    /// Takes in an answer of another voter.
    pub fn on_response(&mut self, correlation: CorrelationId, response: &Response, out: &mut Out) {
        let Some((from, epoch)) = self.take_request(correlation) else {
            return;
        };
        if let Response::FetchMetadataLog(response) = response {
            self.on_fetch_response((from, epoch), response, out);
        } else if let Response::Vote(response) = response {
            self.on_vote_response((from, epoch), *response, out);
        } else if let Response::BeginQuorumEpoch(response) = response {
            self.meet_epoch(response.epoch, response.leader, out);
        }
    }

    /// Takes in that a request gets no answer: a fetch is tried again after a moment.
    pub fn on_disconnect(&mut self, correlation: CorrelationId, out: &mut Out) {
        if let Some((from, _)) = self.take_request(correlation)
            && self.role == Role::Follower(from)
            && !self.requests.iter().any(|(_, to, _)| *to == from)
        {
            out.arm(Timer::QuorumFetchRetry, RETRY);
        }
    }

    fn take_request(&mut self, correlation: CorrelationId) -> Option<(ControllerId, i32)> {
        let at = self
            .requests
            .iter()
            .position(|(sent, _, _)| *sent == correlation)?;
        let (_, to, epoch) = self.requests.remove(at);
        Some((to, epoch))
    }

    fn send(&mut self, to: ControllerId, body: Request, out: &mut Out) {
        let correlation = out.request(NodeId::Controller(to), body, REQUEST_TIMEOUT);
        self.requests.push((correlation, to, self.epoch));
    }

    /// The other voters.
    fn others(&self) -> Vec<ControllerId> {
        let voters = self.voters.iter().copied();
        voters.filter(|voter| *voter != self.id).collect()
    }

    /// Whether that many voters are more than half.
    const fn is_majority(&self, count: usize) -> bool {
        self.voters.len() / 2 < count
    }

    fn last_epoch(&self) -> i32 {
        self.log.last().map_or(0, |entry| entry.epoch)
    }

    fn note_state(&self, out: &mut Out) {
        out.trace(TraceEvent::QuorumStateChanged {
            state: self.state(),
            epoch: self.epoch,
            leader: self.leader(),
        });
    }
}
