//! What a picture needs to know of a run, in plain structures.
//!
//! Everything here is read off the state of the simulation. Of a parked request the simulation keeps
//! where and since when it waits, for this view alone; no handler sees it.

use crate::base::ids::{
    BrokerId, ClientId, ControllerId, CorrelationId, GroupId, InstanceId, MemberId, NodeId, Offset,
    PacketId, RecordId, TopicId, TopicPartition,
};
use crate::base::timer::Timer;
use crate::kernel::time::{SimTime, Span};
use crate::log::cleaner::Cleanable;
use crate::log::partition_log::DeletedSegment;
use crate::trace::event::{GroupState, MemberState, QuorumState, Waiting};
use crate::wire::api::ApiKey;
use crate::wire::record::ReconciliationState;
use serde::Serialize;
use std::sync::Arc;

/// The whole stage at one instant.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct StageView {
    /// The instant.
    pub now: SimTime,
    /// Topics that exist, by interned name; `__consumer_offsets` included.
    pub topics: Vec<TopicView>,
    /// The controller.
    pub controller: ControllerView,
    /// Brokers by id.
    pub brokers: Vec<BrokerView>,
    /// Groups by id, as their coordinators have them.
    pub groups: Vec<GroupView>,
    /// Producers by client id; the console producer last.
    pub producers: Vec<ProducerView>,
    /// Consumers by client id.
    pub consumers: Vec<ConsumerView>,
    /// Messages on the wire, in the order of sending.
    pub packets: Vec<PacketView>,
    /// Requests that wait at a broker, in the order of parking.
    pub parked: Vec<ParkedView>,
}

/// A topic.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct TopicView {
    /// Interned name.
    pub topic_id: TopicId,
    /// Its name.
    pub name: Arc<str>,
    /// Whether Kafka keeps it for itself.
    pub is_internal: bool,
    /// `min.insync.replicas`.
    pub min_insync_replicas: u32,
    /// Its partitions as the controller has them.
    pub partitions: Vec<PartitionView>,
}

/// A partition as the controller has it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct PartitionView {
    /// Which.
    pub topic_partition: TopicPartition,
    /// Brokers that hold a replica; the first is the preferred leader.
    pub replicas: Vec<BrokerId>,
    /// In-sync replicas.
    pub isr: Vec<BrokerId>,
    /// Eligible leader replicas (KIP-966).
    pub elr: Vec<BrokerId>,
    /// The last leader of a partition whose ISR is empty (KIP-966).
    pub last_known_elr: Vec<BrokerId>,
    /// The leader; unset stands for Kafka's -1.
    pub leader: Option<BrokerId>,
    /// Leader epoch.
    pub leader_epoch: i32,
    /// Partition epoch.
    pub partition_epoch: i32,
}

/// The controller.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ControllerView {
    /// The active controller; unset while there is none.
    pub active: Option<ControllerId>,
    /// Where the committed metadata log ends.
    pub metadata_end_offset: i64,
    /// Each registered broker: id, whether fenced, last heartbeat.
    pub brokers: Vec<(BrokerId, bool, SimTime)>,
    /// The voters of the quorum, by id.
    pub voters: Vec<VoterView>,
}

/// A controller.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct VoterView {
    /// Its `node.id`.
    pub id: ControllerId,
    /// Whether its process runs.
    pub process: ProcessState,
    /// Its role in the quorum; unset when its process does not run.
    pub state: Option<QuorumState>,
    /// The epoch that it knows.
    pub epoch: i32,
    /// Where its metadata log ends.
    pub log_end_offset: i64,
    /// Its high watermark of the metadata log.
    pub high_watermark: i64,
}

/// Whether a process runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum ProcessState {
    /// It has not been started.
    NotStarted,
    /// It runs.
    Running,
    /// It stands still until this instant.
    Paused(SimTime),
    /// It died.
    Dead,
    /// It was closed.
    Stopped,
}

/// A broker.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct BrokerView {
    /// Its `node.id`.
    pub id: BrokerId,
    /// Its rack.
    pub rack: Option<Arc<str>>,
    /// Whether its process runs.
    pub process: ProcessState,
    /// Whether the controller has fenced it, or never unfenced it.
    pub is_fenced: bool,
    /// Its replicas, by partition. A dead broker's are what its disk holds.
    pub replicas: Vec<ReplicaView>,
    /// The groups that it coordinates.
    pub coordinates: Vec<GroupId>,
    /// How far it has replayed the metadata log.
    pub metadata_offset: i64,
    /// Armed timers.
    pub timers: Vec<TimerView>,
}

/// A replica on a broker, as that broker sees it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ReplicaView {
    /// Which partition.
    pub topic_partition: TopicPartition,
    /// Whether this broker believes to be the leader.
    pub is_leader: bool,
    /// The leader epoch that it knows.
    pub leader_epoch: i32,
    /// First offset of its log.
    pub log_start_offset: Offset,
    /// Its high watermark.
    pub high_watermark: Offset,
    /// Its last stable offset: consumers that read committed records get no further.
    pub last_stable_offset: Offset,
    /// Where its log ends.
    pub log_end_offset: Offset,
    /// Changes of leader epoch within the log: epoch and its first offset.
    pub epochs: Vec<(i32, Offset)>,
    /// On the leader: the committed ISR. Empty on a follower.
    pub isr: Vec<BrokerId>,
    /// On the leader, while a change is in flight: the ISR that it has asked for.
    pub wanted_isr: Option<Vec<BrokerId>>,
    /// On the leader: what it believes of each follower.
    pub followers: Vec<FollowerView>,
}

/// A replica's log on the disk.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct LogView {
    /// First offset that can be read.
    pub log_start_offset: Offset,
    /// Offsets below it are committed, as far as the replica knows.
    pub high_watermark: Offset,
    /// Where the log ends.
    pub log_end_offset: Offset,
    /// Everything below it is known to be flushed.
    pub recovery_point: Offset,
    /// Everything below it survives a loss of power.
    pub flushed_offset: Offset,
    /// Bytes in the log.
    pub size_bytes: u64,
    /// Its segments, oldest first; the last one is written to.
    pub segments: Vec<SegmentView>,
    /// Segments whose files wait to be removed.
    pub deleted: Vec<DeletedSegment>,
    /// What compaction could do now; unset for a log that is not compacted, and on a broker that is
    /// down.
    pub cleanable: Option<Cleanable>,
}

/// A segment.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct SegmentView {
    /// The offset that its files are named after.
    pub base_offset: Offset,
    /// Its file's name: twenty digits and `.log`.
    pub file: String,
    /// Bytes of its batches.
    pub size_bytes: u64,
    /// The largest timestamp of its records; unset without records.
    pub largest_timestamp: Option<SimTime>,
    /// The offset index: offset and position in the file.
    pub index: Vec<(Offset, u64)>,
    /// The time index: timestamp and offset.
    pub time_index: Vec<(SimTime, Offset)>,
}

/// What a leader believes of a follower.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct FollowerView {
    /// The follower.
    pub broker: BrokerId,
    /// Its log end offset as its last fetch said; -1 before its first.
    pub log_end_offset: Offset,
    /// When it was last caught up.
    pub last_caught_up_at: SimTime,
    /// Records that it lacks, by the leader's belief.
    pub lag_records: i64,
    /// Time since it was last caught up; zero while it is.
    pub lag: Span,
    /// Whether it is in the committed ISR.
    pub in_isr: bool,
}

/// A group as its coordinator has it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct GroupView {
    /// Its id.
    pub group_id: GroupId,
    /// Its coordinator.
    pub coordinator: BrokerId,
    /// Its partition of `__consumer_offsets`.
    pub offsets_partition: u32,
    /// Its state.
    pub state: GroupState,
    /// Its generation; in the consumer protocol the group epoch.
    pub generation_id: i32,
    /// Consumer protocol: the epoch that the target assignment is for; unset for a classic group.
    pub target_assignment_epoch: Option<i32>,
    /// The chosen assignor.
    pub protocol_name: Option<Arc<str>>,
    /// The member that computes assignments.
    pub leader: Option<MemberId>,
    /// When the join phase closes at the latest; unset outside it.
    pub join_closes_at: Option<SimTime>,
    /// When members that have not synced are removed; unset while none are awaited.
    pub sync_closes_at: Option<SimTime>,
    /// Its members in the order in which they joined.
    pub members: Vec<GroupMemberView>,
    /// Member ids handed out whose owner has not come back.
    pub pending_members: Vec<MemberId>,
    /// Committed offsets.
    pub committed: Vec<(TopicPartition, Offset)>,
}

/// A member of a group.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct GroupMemberView {
    /// Its id.
    pub member_id: MemberId,
    /// Its instance id, if static.
    pub group_instance_id: Option<InstanceId>,
    /// The process behind it.
    pub client: NodeId,
    /// Whether its JoinGroup is parked.
    pub join_parked: bool,
    /// Whether its SyncGroup is parked.
    pub sync_parked: bool,
    /// Whether the coordinator still awaits its SyncGroup.
    pub sync_pending: bool,
    /// When its session runs out; unset while a parked request stands for its heartbeat.
    pub session_expires_at: Option<SimTime>,
    /// `session.timeout.ms`.
    pub session_timeout: Span,
    /// `max.poll.interval.ms`, as the coordinator knows it.
    pub rebalance_timeout: Span,
    /// The partitions that it was given.
    pub assignment: Vec<TopicPartition>,
    /// How far it has come in the consumer protocol; unset in a classic group.
    pub reconciliation: Option<ReconciliationView>,
}

/// How far a member of a group of the consumer protocol has come.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ReconciliationView {
    /// Its epoch; -2 while a static member is away.
    pub member_epoch: i32,
    /// What it waits for.
    pub state: ReconciliationState,
    /// Partitions that it has been told to give up and has not acknowledged.
    pub pending_revocation: Vec<TopicPartition>,
    /// Partitions of its target that it may not own yet.
    pub unreleased: Vec<TopicPartition>,
    /// What it is to own in the end.
    pub target: Vec<TopicPartition>,
    /// Whether it speaks the classic protocol.
    pub is_classic: bool,
}

/// A producer, or the producer inside a consumer's application.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ProducerView {
    /// Which client.
    pub client: ClientId,
    /// Its name on the stage.
    pub name: Arc<str>,
    /// Whether its process runs.
    pub process: ProcessState,
    /// Records that wait to be sent.
    pub records_queued: u32,
    /// Records sent and not acknowledged.
    pub records_in_flight: u32,
    /// Bytes in the buffer.
    pub buffered_bytes: u64,
    /// Records acknowledged so far.
    pub records_acknowledged: u64,
    /// Records given up so far.
    pub records_failed: u64,
    /// Armed timers.
    pub timers: Vec<TimerView>,
}

/// A consumer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ConsumerView {
    /// Which client.
    pub client: ClientId,
    /// Its name on the stage.
    pub name: Arc<str>,
    /// Whether its process runs.
    pub process: ProcessState,
    /// When the restart policy starts it again; unset while it runs or nobody will.
    pub restart_at: Option<SimTime>,
    /// Its group; unset without one.
    pub group_id: Option<GroupId>,
    /// What its membership is up to.
    pub member_state: MemberState,
    /// Its member id; empty when it has none.
    pub member_id: MemberId,
    /// Its instance id, if static.
    pub group_instance_id: Option<InstanceId>,
    /// The generation that it knows; -1 for none.
    pub generation_id: i32,
    /// The coordinator that it knows.
    pub coordinator: Option<BrokerId>,
    /// What the application does.
    pub activity: Activity,
    /// The partitions that it owns, with its three cursors.
    pub partitions: Vec<ConsumerPartitionView>,
    /// Records fetched and not returned by `poll`.
    pub records_buffered: u32,
    /// Records processed so far by this process.
    pub records_processed: u64,
    /// When `poll` was last called.
    pub last_poll_at: SimTime,
    /// Armed timers.
    pub timers: Vec<TimerView>,
}

/// What an application does.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Activity {
    /// The process does not run.
    Down,
    /// In `poll`, waiting for records or for the group.
    Polling,
    /// Busy with a record.
    Processing {
        /// Which partition.
        topic_partition: TopicPartition,
        /// Its offset.
        offset: Offset,
        /// Its identity.
        record_id: RecordId,
        /// Its text.
        value: Arc<str>,
        /// When it began.
        since: SimTime,
        /// When it will be done.
        until: SimTime,
        /// Records of the same poll that come after it.
        records_left: u32,
    },
    /// Waiting for a synchronous commit.
    Committing,
    /// The application met an exception that it does not survive.
    Failed(Arc<str>),
}

/// A partition that a consumer owns.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct ConsumerPartitionView {
    /// Which.
    pub topic_partition: TopicPartition,
    /// The next offset that `poll` returns; unset before it is known.
    pub position: Option<Offset>,
    /// The offset after the last record that the application is done with; unset before any.
    pub processed: Option<Offset>,
    /// The last offset that was committed, as this process knows it.
    pub committed: Option<Offset>,
    /// The high watermark in the last fetch answer; unset before any.
    pub high_watermark: Option<Offset>,
    /// Whether `pause()` keeps it from being read.
    pub is_paused: bool,
}

/// An armed timer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct TimerView {
    /// Which.
    pub timer: Timer,
    /// When it was armed.
    pub armed_at: SimTime,
    /// When it fires.
    pub due_at: SimTime,
}

/// A message on the wire.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct PacketView {
    /// Which.
    pub packet: PacketId,
    /// Its sender.
    pub from: NodeId,
    /// Its receiver.
    pub to: NodeId,
    /// Its API.
    pub api: ApiKey,
    /// Whether it is a response.
    pub is_response: bool,
    /// When it was sent.
    pub sent_at: SimTime,
    /// When it arrives; unset while a cut link holds it.
    pub due_at: Option<SimTime>,
    /// The trace entry of its sending.
    pub entry: u64,
}

/// A request that waits at a broker.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ParkedView {
    /// The broker.
    pub at: BrokerId,
    /// Who sent it.
    pub from: NodeId,
    /// Which of its requests.
    pub correlation: CorrelationId,
    /// Where it waits.
    pub waiting: Waiting,
    /// Since when.
    pub since: SimTime,
    /// When it is answered at the latest; unset when something else decides.
    pub deadline: Option<SimTime>,
    /// The group, for a join or sync.
    pub group_id: Option<GroupId>,
    /// The partitions, for a produce or fetch.
    pub partitions: Vec<TopicPartition>,
    /// For a produce: the followers in the ISR that do not have its records yet.
    pub waiting_for: Vec<BrokerId>,
    /// The trace entry of its parking.
    pub entry: u64,
}
