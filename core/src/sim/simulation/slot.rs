//! A node's place in the simulation: its process, its timers, its open requests.

use super::faults::Handicap;
use crate::base::ids::{CorrelationId, GroupId, NodeId, PacketId, TopicPartition};
use crate::base::timer::Timer;
use crate::controller::Controller;
use crate::controller::quorum::QuorumDisk;
use crate::kernel::digest::Digest;
use crate::kernel::time::SimTime;
use crate::log::partition_log::PartitionLog;
use crate::node::broker::Broker;
use crate::node::client::Client;
use crate::sim::command::Command;
use crate::sim::view::ProcessState;
use crate::trace::event::{Disconnect, Waiting};
use crate::trace::out::{Out, ReplyTo};
use crate::wire::api::{ApiKey, Request, Response};
use serde::Serialize;
use std::collections::BTreeMap;
use std::sync::Arc;

/// What the queue holds.
#[derive(Clone, Debug)]
pub(super) enum Event {
    /// A message arrives, or a waiting one is read from its connection.
    Deliver(PacketId),
    /// A timer runs out, unless it has been armed anew.
    Timer {
        node: NodeId,
        timer: Timer,
        stamp: u64,
    },
    /// A sender learns that its request gets no answer.
    Disconnect {
        node: NodeId,
        incarnation: u32,
        correlation: CorrelationId,
        reason: Disconnect,
    },
    /// A client learns that a broker has closed a connection, instead of answering.
    Closed {
        node: NodeId,
        incarnation: u32,
        reply: (NodeId, CorrelationId),
    },
    /// Some request of a node may have had its time.
    RequestCheck { node: NodeId, incarnation: u32 },
    /// A paused process goes on.
    Resume { node: NodeId, incarnation: u32 },
    /// A process starts for the first time.
    Start { node: NodeId },
    /// The restart policy starts a process again, if nobody has done so meanwhile.
    Restart {
        node: NodeId,
        after_incarnation: u32,
    },
    /// A scenario's own action.
    Command(Command),
}

/// A message on the wire.
#[derive(Clone, Debug)]
pub(super) struct Packet {
    pub(super) id: PacketId,
    pub(super) from: NodeId,
    pub(super) to: NodeId,
    pub(super) correlation: CorrelationId,
    pub(super) body: Body,
    /// The receiving process at the time of sending; unset when there was none.
    pub(super) to_incarnation: Option<u32>,
    /// The sending process.
    pub(super) from_incarnation: u32,
    pub(super) sent_at: SimTime,
    /// Unset while a cut link holds it.
    pub(super) due_at: Option<SimTime>,
    /// The trace entry of its sending.
    pub(super) entry: u64,
    /// Whether an answer is expected.
    pub(super) wants_answer: bool,
    /// Whether it has waited for a slow disk.
    pub(super) has_passed_disk: bool,
}

/// What a message carries.
#[derive(Clone, Debug)]
pub(super) enum Body {
    Request(Arc<Request>),
    Response(Arc<Response>),
}

impl Body {
    pub(super) fn api_key(&self) -> ApiKey {
        match self {
            Self::Request(body) => body.api_key(),
            Self::Response(body) => body.api_key(),
        }
    }

    pub(super) const fn is_response(&self) -> bool {
        matches!(self, Self::Response(_))
    }
}

/// A process, or what is left of it.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Node {
    /// A controller.
    Controller(Box<Controller>),
    /// A broker.
    Broker(Box<Broker>),
    /// A client.
    Client(Box<Client>),
    /// A controller that does not run: its disk.
    ControllerDisk(#[serde(skip)] QuorumDisk),
    /// A broker that does not run: its disk.
    BrokerDisk(#[serde(skip)] BTreeMap<TopicPartition, PartitionLog>),
    /// A client that does not run: the id of its next record.
    ClientDown {
        /// The id of its next record.
        next_record_id: u64,
    },
}

/// An armed timer.
#[derive(Clone, Debug)]
pub(super) struct Armed {
    pub(super) due_at: SimTime,
    pub(super) since: SimTime,
    /// Tells it from earlier and later ones of the same name.
    pub(super) stamp: u64,
    /// The trace entry during which it was armed.
    pub(super) cause: u64,
}

/// A request that has no answer yet.
#[derive(Clone, Debug)]
pub(super) struct OpenRequest {
    pub(super) to: NodeId,
    pub(super) api: ApiKey,
    pub(super) deadline: SimTime,
    /// Where it waits, if it has been parked.
    pub(super) parked: Option<Parked>,
}

/// A request that waits at a broker.
#[derive(Clone, Debug)]
pub(super) struct Parked {
    pub(super) waiting: Waiting,
    pub(super) since: SimTime,
    pub(super) deadline: Option<SimTime>,
    pub(super) group_id: Option<GroupId>,
    pub(super) partitions: Arc<[TopicPartition]>,
    pub(super) entry: u64,
}

/// A node's place in the simulation.
#[derive(Clone, Debug)]
pub(super) struct Slot {
    pub(super) node: Node,
    pub(super) process: ProcessState,
    /// Counts the starts, from 1; 0 before the first.
    pub(super) incarnation: u32,
    pub(super) next_correlation: u64,
    pub(super) timers: BTreeMap<Timer, Armed>,
    pub(super) next_stamp: u64,
    pub(super) open: BTreeMap<CorrelationId, OpenRequest>,
    /// The earliest check of deadlines that is in the queue.
    pub(super) request_check_at: Option<SimTime>,
    /// What came due while the process stood still.
    pub(super) backlog: Vec<Event>,
    /// Crashes in a row, for the restart policy.
    pub(super) crashes: u32,
    pub(super) started_at: SimTime,
    /// When the restart policy starts it again.
    pub(super) restart_at: Option<SimTime>,
    /// The registration with which a broker was last closed in good order; -1 if it was not.
    pub(super) clean_broker_epoch: i64,
    /// What a person has made slow.
    pub(super) handicap: Handicap,
}

impl Slot {
    pub(super) fn new(node: Node) -> Self {
        Self {
            node,
            process: ProcessState::NotStarted,
            incarnation: 0,
            next_correlation: 0,
            timers: BTreeMap::new(),
            next_stamp: 0,
            open: BTreeMap::new(),
            request_check_at: None,
            backlog: Vec::new(),
            crashes: 0,
            started_at: SimTime::ZERO,
            restart_at: None,
            clean_broker_epoch: -1,
            handicap: Handicap::default(),
        }
    }

    /// Whether a process exists, paused or not.
    pub(super) const fn is_up(&self) -> bool {
        matches!(
            self.process,
            ProcessState::Running | ProcessState::Paused(_)
        )
    }

    /// Keeps an event for later if the process stands still.
    pub(super) fn defer(&mut self, event: impl FnOnce() -> Event) -> bool {
        let is_paused = matches!(self.process, ProcessState::Paused(_));
        if is_paused {
            self.backlog.push(event());
        }
        is_paused
    }

    /// Folds the state into a digest.
    pub(super) fn fold(&self, digest: &mut Digest) {
        digest.fold(&(self.incarnation, self.next_correlation, self.next_stamp));
        for (timer, armed) in &self.timers {
            digest.fold(&(timer, armed.due_at));
        }
        let logs: Vec<(TopicPartition, &PartitionLog)> = match &self.node {
            Node::Broker(broker) => broker
                .replicas()
                .partitions()
                .iter()
                .map(|(id, part)| (*id, &part.log))
                .collect(),
            Node::BrokerDisk(disk) => disk.iter().map(|(id, log)| (*id, log)).collect(),
            Node::Controller(controller) => {
                let quorum = controller.quorum();
                digest.fold(&(
                    quorum.epoch(),
                    quorum.log_end_offset(),
                    quorum.high_watermark(),
                ));
                Vec::new()
            }
            Node::ControllerDisk(_) | Node::Client(_) | Node::ClientDown { .. } => Vec::new(),
        };
        for (id, log) in logs {
            digest.fold(&(
                id,
                log.log_end_offset(),
                log.high_watermark(),
                log.size_bytes(),
            ));
            digest.fold(&(
                log.log_start_offset(),
                log.recovery_point(),
                log.flushed_offset(),
            ));
            digest.fold(log.epochs().entries());
        }
    }
}

impl Node {
    /// Whether a connection from `from` is refused.
    pub(super) fn refuses(&self) -> bool {
        match self {
            Self::Broker(broker) => !broker.is_listening(),
            Self::Controller(_) | Self::Client(_) => false,
            Self::ControllerDisk(_) | Self::BrokerDisk(_) | Self::ClientDown { .. } => true,
        }
    }

    pub(super) fn start(&mut self, out: &mut Out) {
        match self {
            Self::Broker(broker) => broker.start(out),
            Self::Client(client) => client.start(out),
            Self::Controller(controller) => controller.start(out),
            Self::ControllerDisk(_) | Self::BrokerDisk(_) | Self::ClientDown { .. } => {}
        }
    }

    pub(super) fn on_request(&mut self, reply: ReplyTo, request: &Request, out: &mut Out) {
        match self {
            Self::Controller(controller) => controller.on_request(reply, request, out),
            Self::Broker(broker) => broker.on_request(reply, request, out),
            Self::Client(_)
            | Self::ControllerDisk(_)
            | Self::BrokerDisk(_)
            | Self::ClientDown { .. } => {}
        }
    }

    pub(super) fn on_response(
        &mut self,
        from: NodeId,
        correlation: CorrelationId,
        response: &Response,
        out: &mut Out,
    ) {
        match self {
            Self::Broker(broker) => broker.on_response(correlation, response, out),
            Self::Client(client) => {
                if let Some(from) = from.broker() {
                    client.on_response(from, correlation, response, out);
                }
            }
            Self::Controller(controller) => controller.on_response(correlation, response, out),
            Self::ControllerDisk(_) | Self::BrokerDisk(_) | Self::ClientDown { .. } => {}
        }
    }

    pub(super) fn on_disconnect(
        &mut self,
        peer: NodeId,
        correlation: CorrelationId,
        reason: Disconnect,
        out: &mut Out,
    ) {
        match self {
            Self::Broker(broker) => broker.on_disconnect(correlation, out),
            Self::Client(client) => client.on_disconnect(peer, correlation, reason, out),
            Self::Controller(controller) => controller.on_disconnect(correlation, out),
            Self::ControllerDisk(_) | Self::BrokerDisk(_) | Self::ClientDown { .. } => {}
        }
    }

    pub(super) fn on_timer(&mut self, timer: &Timer, out: &mut Out) {
        match self {
            Self::Controller(controller) => controller.on_timer(timer, out),
            Self::Broker(broker) => broker.on_timer(timer, out),
            Self::Client(client) => client.on_timer(timer, out),
            Self::ControllerDisk(_) | Self::BrokerDisk(_) | Self::ClientDown { .. } => {}
        }
    }
}
