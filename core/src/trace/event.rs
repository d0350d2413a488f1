//! Trace events.

use crate::base::config::DeletionReason;
use crate::base::ids::{
    BrokerId, ControllerId, CorrelationId, GroupId, InstanceId, MemberId, NodeId, Offset, PacketId,
    RecordId, TopicId, TopicPartition,
};
use crate::base::timer::Timer;
use crate::kernel::time::SimTime;
use crate::wire::api::{ApiKey, Request, Response};
use crate::wire::error_code::ErrorCode;
use crate::wire::record::{CurrentAssignment, TransactionState};
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// One thing that happened.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize)]
pub struct TraceEntry {
    /// Its place in the trace, from 0 on without a gap.
    pub index: u64,
    /// When.
    pub at: SimTime,
    /// Where. For a message on the wire: its sender, and its receiver once it is delivered.
    pub node: NodeId,
    /// The entry that brought it about; unset for the person's own actions and for the start.
    pub cause: Option<u64>,
    /// What.
    pub event: TraceEvent,
}

macro_rules! trace_events {
    ($(
        $(#[doc = $doc:literal])+
        $name:ident $label:literal $source:literal { $( #[doc = $field_doc:literal] $field:ident : $type:ty, )* }
    )*) => {
        /// What can happen.
        #[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize)]
        #[serde(rename_all = "kebab-case", tag = "event")]
        pub enum TraceEvent {
            $( $(#[doc = $doc])+ $name { $( #[doc = $field_doc] $field: $type, )* }, )*
        }

        impl TraceEvent {
            /// Every event: its name in lessons, where Kafka does it, and what it says.
            pub const KINDS: &'static [EventKind] = &[
                $( EventKind { name: $label, source: $source, doc: concat!($($doc,)+) }, )*
            ];

            /// Its name, as lessons write it.
            pub const fn name(&self) -> &'static str {
                match self { $( Self::$name { .. } => $label, )* }
            }

            /// The Kafka class or KIP whose rule this follows.
            pub const fn source(&self) -> &'static str {
                match self { $( Self::$name { .. } => $source, )* }
            }
        }
    };
}

/// What an event is called, where it comes from and what it means.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct EventKind {
    /// Its name in lessons.
    pub name: &'static str,
    /// The Kafka class or KIP whose rule it follows.
    pub source: &'static str,
    /// What it means.
    pub doc: &'static str,
}

/// Where a request waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Waiting {
    /// A JoinGroup at the join barrier.
    Join,
    /// A SyncGroup at the sync barrier.
    Sync,
    /// A produce request with `acks=all` until the high watermark passes it.
    Produce,
    /// A fetch until there is something to read.
    Fetch,
    /// A delete-records request until every live replica starts where it asks.
    DeleteRecords,
    /// An answer of the group coordinator until its record is replicated.
    CoordinatorAppend,
}

/// Why a connection was lost or a message did not arrive.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Disconnect {
    /// Nobody listens at the other end.
    ConnectionRefused,
    /// The process at the other end died.
    PeerDied,
    /// The answer did not come within the request's time; the sender closed the connection.
    RequestTimedOut,
    /// The other end closed the connection, because it could not say no in another way (`acks=0`).
    Closed,
    /// A person's action took the message off the wire.
    Dropped,
}

/// The role of a controller in the quorum (KIP-595).
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[serde(rename_all = "kebab-case")]
pub enum QuorumState {
    /// It knows of no leader; it may have given its vote.
    #[default]
    Unattached,
    /// It stands for election.
    Candidate,
    /// It leads the quorum.
    Leader,
    /// It follows the leader.
    Follower,
    /// It led, and has given up.
    Resigned,
}

impl QuorumState {
    /// Kafka's name.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Unattached => "Unattached",
            Self::Candidate => "Candidate",
            Self::Leader => "Leader",
            Self::Follower => "Follower",
            Self::Resigned => "Resigned",
        }
    }
}

/// The state of a group.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
pub enum GroupState {
    /// No members.
    #[default]
    Empty,
    /// The join barrier is up.
    PreparingRebalance,
    /// The join phase is over; the leader's assignment is awaited.
    CompletingRebalance,
    /// Consumer protocol: the group epoch is ahead of the target assignment's.
    Assigning,
    /// Consumer protocol: some member has not reached its target assignment.
    Reconciling,
    /// Every member may have its assignment.
    Stable,
    /// Unloaded or deleted.
    Dead,
}

impl GroupState {
    /// Kafka's name.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Empty => "Empty",
            Self::PreparingRebalance => "PreparingRebalance",
            Self::CompletingRebalance => "CompletingRebalance",
            Self::Assigning => "Assigning",
            Self::Reconciling => "Reconciling",
            Self::Stable => "Stable",
            Self::Dead => "Dead",
        }
    }
}

/// The state of a consumer's membership, on the client.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum MemberState {
    /// Not in the group.
    #[default]
    Unjoined,
    /// JoinGroup is on its way or parked.
    PreparingRebalance,
    /// SyncGroup is on its way or parked.
    CompletingRebalance,
    /// In the group.
    Stable,
    /// Consumer protocol: its heartbeats ask to join.
    Joining,
    /// Consumer protocol: it goes over to what it was told to own.
    Reconciling,
    /// Consumer protocol: it has gone over and is about to say so.
    Acknowledging,
    /// Consumer protocol: the coordinator does not take its epoch; it gives everything up.
    Fenced,
    /// Consumer protocol: it gives everything up before it leaves.
    PrepareLeaving,
    /// Consumer protocol: its last heartbeat has to be sent.
    Leaving,
    /// Consumer protocol: it has left because `poll` was not called in time.
    Stale,
    /// Consumer protocol: it met an error that it does not survive.
    Fatal,
}

impl MemberState {
    /// Kafka's name.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Unjoined => "UNJOINED",
            Self::PreparingRebalance => "PREPARING_REBALANCE",
            Self::CompletingRebalance => "COMPLETING_REBALANCE",
            Self::Stable => "STABLE",
            Self::Joining => "JOINING",
            Self::Reconciling => "RECONCILING",
            Self::Acknowledging => "ACKNOWLEDGING",
            Self::Fenced => "FENCED",
            Self::PrepareLeaving => "PREPARE_LEAVING",
            Self::Leaving => "LEAVING",
            Self::Stale => "STALE",
            Self::Fatal => "FATAL",
        }
    }
}

trace_events! {
    /// A person's action takes effect.
    Command "command" "Terrarium" {
        /// The action in its text form.
        text: Arc<str>,
    }
    /// A request leaves its sender.
    RequestSent "request-sent" "NetworkClient.send" {
        /// Identifies the message.
        packet: PacketId,
        /// The receiver.
        to: NodeId,
        /// Pairs it with its response.
        correlation: CorrelationId,
        /// Its fields.
        body: Arc<Request>,
        /// When it arrives; unset while a cut link holds it.
        due_at: Option<SimTime>,
    }
    /// A response leaves its sender.
    ResponseSent "response-sent" "RequestChannel.sendResponse" {
        /// Identifies the message.
        packet: PacketId,
        /// The receiver, which sent the request.
        to: NodeId,
        /// Pairs it with its request.
        correlation: CorrelationId,
        /// Its fields.
        body: Arc<Response>,
        /// When it arrives; unset while a cut link holds it.
        due_at: Option<SimTime>,
    }
    /// A message arrives.
    Delivered "delivered" "Selector.poll" {
        /// The message.
        packet: PacketId,
        /// Its sender.
        from: NodeId,
        /// Pairs request and response.
        correlation: CorrelationId,
        /// Its API.
        api: ApiKey,
        /// Whether it is a response.
        is_response: bool,
    }
    /// A message will never arrive.
    PacketLost "packet-lost" "Selector.close" {
        /// The message.
        packet: PacketId,
        /// The receiver that it does not reach.
        to: NodeId,
        /// Why.
        reason: Disconnect,
    }
    /// A message that a cut link held is on its way again, or one on its way is delayed.
    PacketResumed "packet-resumed" "TCP" {
        /// The message.
        packet: PacketId,
        /// When it arrives.
        due_at: SimTime,
    }
    /// A sender learns that its request gets no answer.
    Disconnected "disconnected" "NetworkClient.processDisconnection" {
        /// The other end.
        peer: NodeId,
        /// The request.
        correlation: CorrelationId,
        /// Its API.
        api: ApiKey,
        /// Why.
        reason: Disconnect,
    }
    /// A request is parked instead of answered.
    RequestParked "request-parked" "DelayedOperationPurgatory" {
        /// Who sent it.
        from: NodeId,
        /// The request.
        correlation: CorrelationId,
        /// Where it waits.
        waiting: Waiting,
        /// When it is answered at the latest; unset when something else decides.
        deadline: Option<SimTime>,
        /// The group, for a join or sync.
        group_id: Option<GroupId>,
        /// The partitions, for a produce or fetch.
        partitions: Arc<[TopicPartition]>,
    }
    /// A parked request stops waiting.
    RequestReleased "request-released" "DelayedOperation.forceComplete" {
        /// Who sent it.
        from: NodeId,
        /// The request.
        correlation: CorrelationId,
        /// Where it waited.
        waiting: Waiting,
        /// Whether its deadline ended the wait.
        timed_out: bool,
    }
    /// A timer runs out.
    TimerFired "timer-fired" "Timer" {
        /// Which.
        timer: Timer,
    }
    /// A process starts.
    ProcessStarted "process-started" "Terrarium" {
        /// Counts the starts of this node, from 1.
        incarnation: u32,
    }
    /// A process dies without a word; its peers see their connections closed.
    ProcessKilled "process-killed" "Terrarium" {
        /// What killed it: a person's action or a `crash` record.
        reason: Arc<str>,
    }
    /// A process ends in good order.
    ProcessStopped "process-stopped" "KafkaConsumer.close" {
        /// Why.
        reason: Arc<str>,
    }
    /// A process stands still, as in a long garbage collection.
    ProcessPaused "process-paused" "Terrarium" {
        /// When it goes on.
        until: SimTime,
    }
    /// A process goes on.
    ProcessResumed "process-resumed" "Terrarium" {
        /// Messages and timers that came due meanwhile.
        backlog: u32,
    }
    /// A link is cut or healed, in one direction.
    LinkChanged "link-changed" "Terrarium" {
        /// The other end.
        to: NodeId,
        /// Whether it is cut now.
        is_cut: bool,
    }
    /// The controller registers a broker; it is fenced at first.
    BrokerRegistered "broker-registered" "ClusterControlManager.registerBroker (KIP-631)" {
        /// The broker.
        broker: BrokerId,
        /// Its epoch.
        broker_epoch: i64,
    }
    /// The controller lets a broker take part.
    BrokerUnfenced "broker-unfenced" "BrokerHeartbeatManager (KIP-631)" {
        /// The broker.
        broker: BrokerId,
    }
    /// The controller shuts a broker out, because its heartbeats stopped.
    BrokerFenced "broker-fenced" "ReplicationControlManager.maybeFenceReplicas (KIP-631)" {
        /// The broker.
        broker: BrokerId,
        /// When its last heartbeat came.
        last_contact_at: SimTime,
    }
    /// The controller creates a topic.
    TopicCreated "topic-created" "ReplicationControlManager.createTopics" {
        /// Its id.
        topic_id: TopicId,
        /// Its name.
        name: Arc<str>,
        /// How many partitions.
        partitions: u32,
    }
    /// The controller deletes a topic.
    TopicDeleted "topic-deleted" "ReplicationControlManager.deleteTopics" {
        /// Its name.
        name: Arc<str>,
    }
    /// The controller changes the settings of a topic.
    TopicConfigChanged "topic-config-changed" "ConfigurationControlManager.incrementalAlterConfigs" {
        /// Its name.
        name: Arc<str>,
        /// What has changed: `name=value`, with commas between.
        settings: Arc<str>,
    }
    /// The controller lets a broker shut down in good order: it hands its leaderships over.
    ControlledShutdownStarted "controlled-shutdown-started" "ReplicationControlManager.handleBrokerInControlledShutdown" {
        /// The broker.
        broker: BrokerId,
    }
    /// A controller changes its role in the quorum.
    QuorumStateChanged "quorum-state-changed" "QuorumState (KIP-595)" {
        /// The role from now on.
        state: QuorumState,
        /// The epoch.
        epoch: i32,
        /// Who leads in it, as far as the controller knows.
        leader: Option<ControllerId>,
    }
    /// A controller is the active one from now on.
    ControllerActivated "controller-activated" "QuorumController.claim" {
        /// Its epoch.
        epoch: i32,
    }
    /// An administrator gets an answer.
    AdminAnswered "admin-answered" "KafkaAdminClient" {
        /// What was asked for.
        api: ApiKey,
        /// Whether it was done.
        error_code: ErrorCode,
        /// What the tool prints.
        text: Arc<str>,
    }
    /// The controller gives a partition another leader, or none.
    LeaderElected "leader-elected" "PartitionChangeBuilder.electLeader" {
        /// Which partition.
        topic_partition: TopicPartition,
        /// The new leader; unset stands for Kafka's -1.
        leader: Option<BrokerId>,
        /// The leader before.
        previous_leader: Option<BrokerId>,
        /// The new leader epoch.
        leader_epoch: i32,
        /// The ISR from now on.
        isr: Arc<[BrokerId]>,
        /// Whether the leader was not in the ISR: records may be lost.
        unclean: bool,
    }
    /// The controller commits a smaller ISR.
    IsrShrunk "isr-shrunk" "ReplicationControlManager.alterPartition (KIP-497)" {
        /// Which partition.
        topic_partition: TopicPartition,
        /// The ISR before.
        previous_isr: Arc<[BrokerId]>,
        /// The ISR from now on.
        isr: Arc<[BrokerId]>,
    }
    /// The controller commits a larger ISR.
    IsrExpanded "isr-expanded" "ReplicationControlManager.alterPartition (KIP-497)" {
        /// Which partition.
        topic_partition: TopicPartition,
        /// The ISR before.
        previous_isr: Arc<[BrokerId]>,
        /// The ISR from now on.
        isr: Arc<[BrokerId]>,
    }
    /// A leader asks the controller for another ISR.
    IsrChangeRequested "isr-change-requested" "Partition.maybeShrinkIsr, maybeExpandIsr (KIP-497)" {
        /// Which partition.
        topic_partition: TopicPartition,
        /// The committed ISR.
        isr: Arc<[BrokerId]>,
        /// The ISR it wants.
        wanted_isr: Arc<[BrokerId]>,
    }
    /// The controller refuses a leader's ISR.
    IsrChangeRefused "isr-change-refused" "Partition.handleAlterPartitionError" {
        /// Which partition.
        topic_partition: TopicPartition,
        /// Why.
        error_code: ErrorCode,
    }
    /// A broker starts to lead a partition.
    BecameLeader "became-leader" "Partition.makeLeader" {
        /// Which partition.
        topic_partition: TopicPartition,
        /// Its epoch.
        leader_epoch: i32,
        /// Where its log ends at that moment.
        log_end_offset: Offset,
    }
    /// A broker starts to follow a partition's leader.
    BecameFollower "became-follower" "Partition.makeFollower" {
        /// Which partition.
        topic_partition: TopicPartition,
        /// Its epoch.
        leader_epoch: i32,
        /// The leader; unset when there is none.
        leader: Option<BrokerId>,
    }
    /// A broker writes records to its log.
    Appended "appended" "UnifiedLog.append" {
        /// Which partition.
        topic_partition: TopicPartition,
        /// Offset of the first record.
        base_offset: Offset,
        /// The log end offset from now on.
        log_end_offset: Offset,
        /// Whether it does so as the leader.
        as_leader: bool,
    }
    /// A follower cuts off the end of its log.
    Truncated "truncated" "UnifiedLog.truncateTo (KIP-101, KIP-279)" {
        /// Which partition.
        topic_partition: TopicPartition,
        /// The log end offset before.
        previous_log_end_offset: Offset,
        /// The log end offset from now on.
        log_end_offset: Offset,
    }
    /// A log begins a new segment; what lies before it is flushed.
    SegmentRolled "segment-rolled" "UnifiedLog.roll" {
        /// Which partition.
        topic_partition: TopicPartition,
        /// The offset that the new segment is named after.
        base_offset: Offset,
    }
    /// A log deletes its oldest segments.
    SegmentsDeleted "segments-deleted" "UnifiedLog.deleteOldSegments" {
        /// Which partition.
        topic_partition: TopicPartition,
        /// How many.
        segments: u32,
        /// What let them go.
        reason: DeletionReason,
        /// Where the log starts from now on.
        log_start_offset: Offset,
    }
    /// Records at the start of a log are given up: by request, or because the leader did so.
    LogStartOffsetAdvanced "log-start-offset-advanced" "UnifiedLog.maybeIncrementLogStartOffset" {
        /// Which partition.
        topic_partition: TopicPartition,
        /// Where the log starts from now on.
        log_start_offset: Offset,
    }
    /// A log is compacted: of each key the last record stays.
    LogCleaned "log-cleaned" "LogCleaner.cleanLog" {
        /// Which partition.
        topic_partition: TopicPartition,
        /// The first offset that had not been compacted before.
        first_dirty_offset: Offset,
        /// The first offset that has not been compacted now.
        end_offset: Offset,
        /// Size of the log before, in bytes.
        bytes_before: u64,
        /// Size of the log from now on.
        bytes_after: u64,
    }
    /// A log is flushed: its records survive a loss of power.
    LogFlushed "log-flushed" "UnifiedLog.flush" {
        /// Which partition.
        topic_partition: TopicPartition,
        /// Everything below it is flushed.
        recovery_point: Offset,
    }
    /// A new process reads the unflushed end of a log again, because the one before did not end in
    /// good order.
    LogRecovered "log-recovered" "LogLoader.recoverLog" {
        /// Which partition.
        topic_partition: TopicPartition,
        /// Where it begins to read.
        recovery_point: Offset,
        /// Where the log ends.
        log_end_offset: Offset,
    }
    /// A machine that lost power has lost the end of a log that nobody had flushed.
    UnflushedTailLost "unflushed-tail-lost" "Terrarium" {
        /// Which partition.
        topic_partition: TopicPartition,
        /// Where the log ended before.
        previous_log_end_offset: Offset,
        /// Where it ends now.
        log_end_offset: Offset,
    }
    /// A follower drops its whole log, because the leader's begins later.
    LogStartedAnew "log-started-anew" "UnifiedLog.truncateFullyAndStartAt" {
        /// Which partition.
        topic_partition: TopicPartition,
        /// Where the log ended before.
        previous_log_end_offset: Offset,
        /// Where it begins and ends now.
        log_start_offset: Offset,
    }
    /// A replica's high watermark moves.
    HighWatermarkAdvanced "high-watermark-advanced" "Partition.maybeIncrementLeaderHW" {
        /// Which partition.
        topic_partition: TopicPartition,
        /// The high watermark from now on.
        high_watermark: Offset,
        /// Whether it is the leader's.
        as_leader: bool,
    }
    /// A group changes its state.
    GroupStateChanged "group-state-changed" "ClassicGroup.transitionTo" {
        /// The group.
        group_id: GroupId,
        /// The state before.
        previous: GroupState,
        /// The state from now on.
        state: GroupState,
        /// The generation from now on.
        generation_id: i32,
        /// Why.
        reason: Arc<str>,
    }
    /// The coordinator hands out a member id and asks the client to come back with it.
    MemberIdAssigned "member-id-assigned" "GroupMetadataManager.classicGroupJoinNewDynamicMember (KIP-394)" {
        /// The group.
        group_id: GroupId,
        /// The new id.
        member_id: MemberId,
    }
    /// A member enters a group.
    MemberAdded "member-added" "ClassicGroup.add" {
        /// The group.
        group_id: GroupId,
        /// Its member id.
        member_id: MemberId,
        /// Its instance id, if static.
        group_instance_id: Option<InstanceId>,
        /// The process behind it.
        client: NodeId,
    }
    /// A member is out of a group.
    MemberRemoved "member-removed" "ClassicGroup.remove" {
        /// The group.
        group_id: GroupId,
        /// Its member id.
        member_id: MemberId,
        /// Why.
        reason: Arc<str>,
    }
    /// A restarted static member takes the place of its former self.
    StaticMemberReplaced "static-member-replaced" "ClassicGroup.replaceStaticMember (KIP-345)" {
        /// The group.
        group_id: GroupId,
        /// Its instance id.
        group_instance_id: InstanceId,
        /// The id that is fenced from now on.
        previous_member_id: MemberId,
        /// The new id.
        member_id: MemberId,
        /// Whether the group must rebalance.
        rebalances: bool,
    }
    /// The join phase of a group is over.
    JoinPhaseCompleted "join-phase-completed" "GroupMetadataManager.completeClassicGroupJoin" {
        /// The group.
        group_id: GroupId,
        /// The new generation.
        generation_id: i32,
        /// The members of the new generation.
        members: Arc<[MemberId]>,
        /// The member that computes the assignment; unset for an empty group.
        leader: Option<MemberId>,
    }
    /// The coordinator of a group of the consumer protocol runs the assignor.
    TargetAssignmentComputed "target-assignment-computed" "TargetAssignmentBuilder (KIP-848)" {
        /// The group.
        group_id: GroupId,
        /// Which assignor.
        assignor: Arc<str>,
        /// The group epoch that it is for.
        target_assignment_epoch: i32,
        /// How many members the group has.
        members: u32,
        /// The members whose target has changed, and what they are to own.
        changed: Arc<[(MemberId, Arc<Vec<TopicPartition>>)]>,
    }
    /// A member of a group of the consumer protocol comes a step nearer to its target assignment.
    MemberReconciled "member-reconciled" "CurrentAssignmentBuilder (KIP-848)" {
        /// The group.
        group_id: GroupId,
        /// Which member.
        member_id: MemberId,
        /// Where it stands from now on.
        current: Arc<CurrentAssignment>,
    }
    /// An offset is committed: its record is replicated.
    OffsetCommitted "offset-committed" "OffsetMetadataManager.commitOffset" {
        /// The group.
        group_id: GroupId,
        /// Which partition.
        topic_partition: TopicPartition,
        /// Where the group goes on.
        offset: Offset,
        /// The member that committed; empty outside a group.
        member_id: MemberId,
        /// Its generation; -1 outside a group.
        generation_id: i32,
    }
    /// A coordinator has read its partition of `__consumer_offsets` and answers from now on.
    CoordinatorLoaded "coordinator-loaded" "CoordinatorRuntime.onLoaded" {
        /// The partition of `__consumer_offsets`.
        partition: u32,
        /// How many groups it found.
        groups: u32,
    }
    /// A coordinator has lost its partition of `__consumer_offsets`.
    CoordinatorUnloaded "coordinator-unloaded" "CoordinatorRuntime.onUnloaded" {
        /// The partition of `__consumer_offsets`.
        partition: u32,
    }
    /// A broker writes a line to its log.
    LogLine "log-line" "Logger" {
        /// The line, in Kafka's shape.
        text: Arc<str>,
    }
    /// A consumer's membership changes its state.
    MemberStateChanged "member-state-changed" "AbstractCoordinator.MemberState" {
        /// The state before.
        previous: MemberState,
        /// The state from now on.
        state: MemberState,
        /// The generation that it knows; -1 for none.
        generation_id: i32,
    }
    /// A consumer decides to join again.
    RejoinRequested "rejoin-requested" "AbstractCoordinator.requestRejoin" {
        /// Why.
        reason: Arc<str>,
    }
    /// `onPartitionsRevoked`: the consumer gives its partitions up.
    PartitionsRevoked "partitions-revoked" "ConsumerRebalanceListener.onPartitionsRevoked" {
        /// Which.
        partitions: Arc<[TopicPartition]>,
        /// The generation that it leaves.
        generation_id: i32,
    }
    /// `onPartitionsLost`: the consumer has lost its partitions already.
    PartitionsLost "partitions-lost" "ConsumerRebalanceListener.onPartitionsLost" {
        /// Which.
        partitions: Arc<[TopicPartition]>,
    }
    /// `onPartitionsAssigned`: the consumer has its partitions.
    PartitionsAssigned "partitions-assigned" "ConsumerRebalanceListener.onPartitionsAssigned" {
        /// The ones that are new to it.
        added: Arc<[TopicPartition]>,
        /// All of them.
        owned: Arc<[TopicPartition]>,
        /// The generation in which it owns them.
        generation_id: i32,
    }
    /// The leader of a group runs the assignor.
    AssignmentComputed "assignment-computed" "ConsumerCoordinator.onLeaderElected" {
        /// Which assignor.
        assignor: Arc<str>,
        /// Who gets what.
        assignments: Arc<[(MemberId, Arc<Vec<TopicPartition>>)]>,
    }
    /// A consumer knows where to start on a partition.
    PositionSet "position-set" "SubscriptionState.seekUnvalidated" {
        /// Which partition.
        topic_partition: TopicPartition,
        /// The next offset to read.
        position: Offset,
        /// Whether it is the committed offset; otherwise `auto.offset.reset` gave it.
        from_commit: bool,
    }
    /// `poll` returns records.
    PollReturned "poll-returned" "KafkaConsumer.poll" {
        /// How many.
        records: u32,
    }
    /// An application takes up a record.
    ProcessingStarted "processing-started" "application" {
        /// Which partition.
        topic_partition: TopicPartition,
        /// Its offset.
        offset: Offset,
        /// Its identity.
        record_id: RecordId,
        /// Its text.
        value: Arc<str>,
        /// When it will be done.
        until: SimTime,
    }
    /// An application is done with a record.
    RecordProcessed "record-processed" "application" {
        /// Which partition.
        topic_partition: TopicPartition,
        /// Its offset.
        offset: Offset,
        /// Its identity.
        record_id: RecordId,
        /// The generation in which it was read; -1 for none.
        generation_id: i32,
        /// Whether some consumer of the group was done with it before.
        duplicate: bool,
    }
    /// An application cannot handle a record and seeks past it.
    RecordSkipped "record-skipped" "application" {
        /// Which partition.
        topic_partition: TopicPartition,
        /// Its offset.
        offset: Offset,
        /// Its identity.
        record_id: RecordId,
        /// Its text.
        value: Arc<str>,
        /// Whether the application commits the skip; otherwise a restart meets the record again.
        commits: bool,
    }
    /// A consumer learns that its commit is stored.
    CommitSucceeded "commit-succeeded" "ConsumerCoordinator.OffsetCommitResponseHandler" {
        /// How many partitions.
        partitions: u32,
    }
    /// A consumer learns that its commit is refused.
    CommitFailed "commit-failed" "ConsumerCoordinator.OffsetCommitResponseHandler" {
        /// Why.
        error_code: ErrorCode,
        /// The exception that the application sees; unset for a silent retry.
        exception: Option<Arc<str>>,
    }
    /// The heartbeat thread finds that `poll` was not called for `max.poll.interval.ms`.
    PollTimeoutExpired "poll-timeout-expired" "AbstractCoordinator.HeartbeatThread (KIP-62)" {
        /// When the last poll was.
        last_poll_at: SimTime,
    }
    /// The application meets an exception that it does not survive.
    FatalError "fatal-error" "KafkaConsumer.poll" {
        /// The exception.
        exception: Arc<str>,
    }
    /// A producer with idempotence has an id, or a new epoch of it.
    ProducerIdAssigned "producer-id-assigned" "TransactionManager.setProducerIdAndEpoch (KIP-98)" {
        /// The id.
        producer_id: i64,
        /// The epoch from now on.
        producer_epoch: i16,
    }
    /// A leader finds a producer's batch in its log already, and answers with the offset that it has.
    DuplicateFound "duplicate-found" "ProducerStateEntry.findDuplicateBatch (KIP-98)" {
        /// Which partition.
        topic_partition: TopicPartition,
        /// The producer.
        producer_id: i64,
        /// Sequence of the batch's first record.
        base_sequence: i32,
        /// Offset of the batch's first record.
        base_offset: Offset,
    }
    /// A leader appends records that stand in its log already: a batch was sent again without a
    /// sequence that would tell.
    DuplicateAppended "duplicate-appended" "Terrarium" {
        /// Which partition.
        topic_partition: TopicPartition,
        /// Offset of the first record, this time.
        base_offset: Offset,
        /// How many records.
        records: u32,
    }
    /// `send()` blocks: for metadata or for memory.
    SendBlocked "send-blocked" "KafkaProducer.doSend" {
        /// Whether `buffer.memory` is used up; otherwise the metadata are missing.
        waits_for_memory: bool,
    }
    /// `send()` throws: the record never came into a batch.
    SendFailed "send-failed" "KafkaProducer.doSend" {
        /// The topic.
        topic: Arc<str>,
        /// The exception.
        exception: Arc<str>,
    }
    /// A producer splits a batch that the broker finds too large.
    BatchSplit "batch-split" "RecordAccumulator.splitAndReenqueue" {
        /// Which partition.
        topic_partition: TopicPartition,
        /// How many batches it is now.
        batches: u32,
    }
    /// A leader cannot append records whose producer waits for no answer; it can only close the
    /// connection.
    RecordsDiscarded "records-discarded" "KafkaApis.handleProduceRequest" {
        /// Their producer.
        from: NodeId,
        /// Which partition.
        topic_partition: TopicPartition,
        /// How many records.
        records: u32,
        /// Why.
        error_code: ErrorCode,
    }
    /// A coordinator moves a transaction on; the record of it is replicated.
    TransactionStateChanged "transaction-state-changed" "TransactionMetadata.completeTransitionTo (KIP-98)" {
        /// Whose transaction.
        transactional_id: Arc<str>,
        /// The state before.
        previous: TransactionState,
        /// The state from now on.
        state: TransactionState,
        /// The producer id.
        producer_id: i64,
        /// The epoch from now on.
        producer_epoch: i16,
    }
    /// A leader writes the end of a transaction to a partition.
    TransactionMarkerWritten "transaction-marker-written" "KafkaApis.handleWriteTxnMarkersRequest" {
        /// Which partition.
        topic_partition: TopicPartition,
        /// The producer.
        producer_id: i64,
        /// Offset of the marker.
        offset: Offset,
        /// Whether the transaction is committed; otherwise aborted.
        is_commit: bool,
    }
    /// An application begins a transaction.
    TransactionBegun "transaction-begun" "KafkaProducer.beginTransaction" {
        /// Its transactional id.
        transactional_id: Arc<str>,
    }
    /// `commitTransaction` or `abortTransaction` returns.
    TransactionEnded "transaction-ended" "KafkaProducer.commitTransaction" {
        /// Its transactional id.
        transactional_id: Arc<str>,
        /// Whether it is committed; otherwise aborted.
        is_commit: bool,
    }
    /// An application hands a record to its producer.
    RecordQueued "record-queued" "KafkaProducer.send" {
        /// Which partition.
        topic_partition: TopicPartition,
        /// Its identity.
        record_id: RecordId,
    }
    /// A producer learns that a batch is written.
    BatchAcknowledged "batch-acknowledged" "Sender.completeBatch" {
        /// Which partition.
        topic_partition: TopicPartition,
        /// Offset of its first record; -1 when nobody says (`acks=0`).
        base_offset: Offset,
        /// How many records.
        records: u32,
        /// When the first of them was handed to the producer.
        queued_at: SimTime,
    }
    /// A producer sends a batch again later.
    BatchRetried "batch-retried" "Sender.reenqueueBatch" {
        /// Which partition.
        topic_partition: TopicPartition,
        /// Why.
        error_code: ErrorCode,
        /// How often it has been tried.
        attempts: u32,
    }
    /// A producer gives a batch up: the application gets an exception for each record.
    BatchFailed "batch-failed" "Sender.failBatch" {
        /// Which partition.
        topic_partition: TopicPartition,
        /// Why.
        error_code: ErrorCode,
        /// How many records.
        records: u32,
    }
}

impl TraceEvent {
    /// The partition, for what a log does while it is looked after: rolling, deleting, compacting,
    /// flushing, recovering.
    #[expect(
        clippy::wildcard_enum_match_arm,
        reason = "names the events of logs alone"
    )]
    pub const fn kept_log(&self) -> Option<&TopicPartition> {
        match self {
            Self::SegmentRolled {
                topic_partition, ..
            }
            | Self::SegmentsDeleted {
                topic_partition, ..
            }
            | Self::LogStartOffsetAdvanced {
                topic_partition, ..
            }
            | Self::LogCleaned {
                topic_partition, ..
            }
            | Self::LogFlushed {
                topic_partition, ..
            }
            | Self::LogRecovered {
                topic_partition, ..
            }
            | Self::UnflushedTailLost {
                topic_partition, ..
            }
            | Self::LogStartedAnew {
                topic_partition, ..
            } => Some(topic_partition),
            _ => None,
        }
    }
}
