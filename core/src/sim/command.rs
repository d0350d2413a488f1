//! What a person can do to a run.

use crate::base::ids::{BrokerId, ClientId, ControllerId, NodeId, Offset, PacketId};
use crate::client::consumer::ApplicationCall;
use crate::kernel::time::{SimTime, Span};
use crate::wire::api::ApiKey;
use serde::Serialize;
use std::fmt;
use std::sync::Arc;

/// An action. Its text form is the lesson module's business.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Command {
    /// `kill-broker 2`: the broker's process dies; what it wrote stays on its disk.
    KillBroker(BrokerId),
    /// `restart-broker 2`: starts the process of a dead broker again.
    RestartBroker(BrokerId),
    /// `pause-broker 2 100ms`: the process stands still, as in a garbage collection.
    PauseBroker(BrokerId, Span),
    /// `stop-broker 2`: the process is asked to end (SIGTERM): it hands its leaderships over, closes
    /// its logs and exits.
    StopBroker(BrokerId),
    /// `kill-controller 3000`: the controller's process dies; its log stays on its disk.
    KillController(ControllerId),
    /// `restart-controller 3000`: starts the process of a controller that does not run.
    RestartController(ControllerId),
    /// `pause-controller 3000 5s`: the process stands still.
    PauseController(ControllerId, Span),
    /// `stop-controller 3000`: the process resigns and exits.
    StopController(ControllerId),
    /// An administrator's action: its request goes to some broker, and from there to the active
    /// controller.
    Admin(AdminAction),
    /// `start-consumer c4`: starts a process that has not run, has been stopped or has died.
    StartClient(ClientId),
    /// `stop-consumer c3`: the application calls `close()`.
    StopClient(ClientId),
    /// `kill-consumer c3`: the process dies.
    KillClient(ClientId),
    /// `restart-consumer c3`: kills the process if it runs, and starts it again at once.
    RestartClient(ClientId),
    /// `pause-consumer c3 20s`: the process stands still, heartbeat thread included.
    PauseClient(ClientId, Span),
    /// `seek-consumer c3 orders 0 5`, `pause-partition c3 orders 0`, `subscribe-consumer c3 orders`: the
    /// application calls its consumer, as soon as it is back at `poll`.
    Call(ClientId, ApplicationCall),
    /// `send orders key=a value=wait`: the console producer sends records.
    Send {
        /// The topic.
        topic: Arc<str>,
        /// Key; unset for none.
        key: Option<Arc<str>>,
        /// Value; unset for a tombstone.
        value: Option<Arc<str>>,
        /// Explicit partition; unset leaves it to key or partitioner.
        partition: Option<u32>,
        /// How many times.
        count: u32,
    },
    /// `power-loss-broker 2`: the machine loses power; what was not flushed is lost but for a share
    /// that the seed decides.
    PowerLossBroker(BrokerId),
    /// `power-loss-all`: every broker's machine loses power.
    PowerLossAll,
    /// `delete-records orders 0 5`: the console asks the leader to give up the records before an
    /// offset.
    DeleteRecords {
        /// The topic.
        topic: Arc<str>,
        /// The partition.
        partition: u32,
        /// The first offset that stays; -1 stands for the high watermark.
        before: Offset,
    },
    /// `cut-link 1 2`: nothing passes between the two, in either direction.
    CutLink(NodeId, NodeId),
    /// `heal-link 1 2`: messages pass again; what was held arrives now.
    HealLink(NodeId, NodeId),
    /// `drop-next 1 p1 Produce`: the next message of this API from the one to the other is lost.
    DropNext(NodeId, NodeId, ApiKey),
    /// Something is slow, or lost in one direction, or happens early.
    Fault(Fault),
}

/// What a person makes slow, lossy or early.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Fault {
    /// `slow-disk 2 20ms`: each append of the broker takes this long.
    SlowDisk(BrokerId, Span),
    /// `heal-disk 2`: appends take no time again.
    HealDisk(BrokerId),
    /// `slow-follower 3 50ms`: the broker's fetches from leaders leave this much later.
    SlowFollower(BrokerId, Span),
    /// `cut-link 1 2 one-way`: nothing passes from the first to the second.
    CutWay(NodeId, NodeId),
    /// `delay-link 1 2 100ms`: every message takes this much longer.
    DelayLink {
        /// One end.
        from: NodeId,
        /// The other end.
        to: NodeId,
        /// Added to the link's own latency.
        delay: Span,
        /// Whether the way back stays as it is.
        one_way: bool,
    },
    /// `lose-link 1 2 20%`: segments are lost, and sent again by TCP.
    LoseLink {
        /// One end.
        from: NodeId,
        /// The other end.
        to: NodeId,
        /// Of a hundred segments, how many are lost.
        percent: u32,
        /// Whether the way back stays as it is.
        one_way: bool,
    },
    /// `delay-next 1 2 Fetch 5s`: the next message of this API takes this much longer.
    DelayNext(NodeId, NodeId, ApiKey, Span),
    /// `drop-message 4711`: the message with this number, which is on its way, is lost.
    DropMessage(PacketId),
    /// `delay-message 4711 5s`: the message with this number arrives this much later.
    DelayMessage(PacketId, Span),
    /// `expire-timer 1 isr-check`: the timer runs out now.
    ExpireTimer(NodeId, Arc<str>),
}

/// What an administrator asks for.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum AdminAction {
    /// `create-topic orders partitions=3 replication-factor=2 min.insync.replicas=2`.
    CreateTopic {
        /// Its name.
        name: Arc<str>,
        /// How many partitions; unset for `num.partitions`.
        partitions: Option<u32>,
        /// How many replicas of each; unset for `default.replication.factor`.
        replication_factor: Option<u32>,
        /// Settings by name.
        settings: Vec<(Arc<str>, Arc<str>)>,
    },
    /// `delete-topic orders`.
    DeleteTopic(Arc<str>),
    /// `add-partitions orders 6`: six in all.
    AddPartitions(Arc<str>, u32),
    /// `set-topic-config orders min.insync.replicas=2`.
    SetTopicConfig {
        /// The topic.
        name: Arc<str>,
        /// The setting.
        setting: Arc<str>,
        /// Its value.
        value: Arc<str>,
    },
    /// `elect-leaders preferred orders 0`; without a partition those of the topic, without a topic
    /// all.
    ElectLeaders {
        /// Whether replicas outside the ISR may lead.
        unclean: bool,
        /// The topic; unset for all.
        topic: Option<Arc<str>>,
        /// The partition; unset for all of the topic.
        partition: Option<u32>,
    },
}

/// Why an action is impossible. Nothing has changed then.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum CommandError {
    /// There is no such broker.
    UnknownBroker(BrokerId),
    /// The broker's process is dead already.
    BrokerIsDown(BrokerId),
    /// The broker's process runs already.
    BrokerIsUp(BrokerId),
    /// There is no such controller.
    UnknownController(ControllerId),
    /// The controller's process does not run.
    ControllerIsDown(ControllerId),
    /// The controller's process runs already.
    ControllerIsUp(ControllerId),
    /// The topic is Kafka's own.
    InternalTopic(Arc<str>),
    /// There is no such client.
    UnknownClient(ClientId),
    /// The client's process does not run.
    ClientIsDown(Arc<str>),
    /// The client's process runs already.
    ClientIsUp(Arc<str>),
    /// There is no such topic in the scenario.
    UnknownTopic(Arc<str>),
    /// The topic has no such partition.
    UnknownPartition {
        /// The topic.
        topic: Arc<str>,
        /// The partition that was asked for.
        partition: u32,
        /// How many it has.
        partitions: u32,
    },
    /// The key or value is too long.
    TextTooLong {
        /// Its length in bytes.
        bytes: u32,
        /// The longest allowed.
        bytes_max: u32,
    },
    /// No armed timer of the node has this name, or several have.
    NoSuchTimer {
        /// The name.
        timer: Arc<str>,
        /// The timers that are armed.
        pending: Vec<String>,
    },
    /// No message with this number is on its way.
    NoSuchMessage(PacketId),
    /// A link has two different ends.
    LinkToItself,
    /// The recording is full.
    TooManyActions {
        /// The most it holds.
        actions_max: u32,
    },
    /// The time lies beyond what a run may reach.
    TooLate {
        /// The last instant of a run.
        latest: SimTime,
    },
}

impl fmt::Display for CommandError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::UnknownBroker(id) => write!(formatter, "there is no broker {id}"),
            Self::BrokerIsDown(id) => write!(formatter, "broker {id} is down already"),
            Self::BrokerIsUp(id) => write!(formatter, "broker {id} is running already"),
            Self::UnknownController(id) => write!(formatter, "there is no controller {id}"),
            Self::ControllerIsDown(id) => write!(formatter, "controller {id} is down already"),
            Self::ControllerIsUp(id) => write!(formatter, "controller {id} is running already"),
            Self::InternalTopic(name) => write!(formatter, "{name} is Kafka's own"),
            Self::UnknownClient(id) => write!(formatter, "there is no client {id}"),
            Self::ClientIsDown(name) => write!(formatter, "{name} is not running"),
            Self::ClientIsUp(name) => write!(formatter, "{name} is running already"),
            Self::UnknownTopic(name) => write!(formatter, "there is no topic {name}"),
            Self::UnknownPartition {
                topic,
                partition,
                partitions,
            } => write!(
                formatter,
                "{topic} has no partition {partition}; it has {partitions}, numbered from 0"
            ),
            Self::TextTooLong { bytes, bytes_max } => {
                write!(
                    formatter,
                    "a text of {bytes} bytes is too long; {bytes_max} are allowed"
                )
            }
            Self::NoSuchTimer { timer, pending } if pending.is_empty() => {
                write!(formatter, "there is no timer {timer}; none is pending")
            }
            Self::NoSuchTimer { timer, pending } => {
                let pending = pending.join(", ");
                write!(
                    formatter,
                    "there is no one timer {timer}; pending are {pending}"
                )
            }
            Self::NoSuchMessage(id) => write!(formatter, "no message {} is on its way", id.0),
            Self::LinkToItself => write!(formatter, "a link needs two different ends"),
            Self::TooManyActions { actions_max } => {
                write!(formatter, "a run holds at most {actions_max} actions")
            }
            Self::TooLate { latest } => write!(formatter, "a run ends at {latest}"),
        }
    }
}
