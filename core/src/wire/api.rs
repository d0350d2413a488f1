//! Requests and responses with the fields that change what happens.

use super::error_code::ErrorCode;
use super::metadata::MetadataEntry;
use super::record::{Batch, Subscription};
use crate::base::config::{Acks, IsolationLevel, TopicConfig};
use crate::base::ids::{
    BrokerId, ControllerId, GroupId, InstanceId, MemberId, Offset, TopicId, TopicPartition,
};
use crate::kernel::time::SimTime;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::sync::Arc;

macro_rules! apis {
    ($( $name:ident $label:literal [$request:ty, $response:ty] $doc:literal )*) => {
        /// Which API a message belongs to.
        #[derive(
            Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
        )]
        pub enum ApiKey { $( #[doc = $doc] $name, )* }

        impl ApiKey {
            /// Every API.
            pub const ALL: &'static [Self] = &[ $( Self::$name, )* ];

            /// Kafka's name.
            pub const fn name(self) -> &'static str {
                match self { $( Self::$name => $label, )* }
            }
        }

        /// A request on the wire.
        #[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize)]
        pub enum Request { $( #[doc = $doc] $name($request), )* }

        impl Request {
            /// Its API.
            pub const fn api_key(&self) -> ApiKey {
                match self { $( Self::$name(_) => ApiKey::$name, )* }
            }
        }

        /// A response on the wire.
        #[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize)]
        pub enum Response { $( #[doc = $doc] $name($response), )* }

        impl Response {
            /// Its API.
            pub const fn api_key(&self) -> ApiKey {
                match self { $( Self::$name(_) => ApiKey::$name, )* }
            }
        }
    };
}

apis! {
    Produce "Produce" [ProduceRequest, ProduceResponse] "Appends batches."
    Fetch "Fetch" [FetchRequest, FetchResponse] "Reads batches, for consumers and followers."
    ListOffsets "ListOffsets" [ListOffsetsRequest, ListOffsetsResponse] "Finds the first or last offset."
    DeleteRecords "DeleteRecords" [DeleteRecordsRequest, DeleteRecordsResponse] "Gives up the records before an offset."
    Metadata "Metadata" [MetadataRequest, MetadataResponse] "Tells clients who leads what."
    FindCoordinator "FindCoordinator" [FindCoordinatorRequest, FindCoordinatorResponse] "Finds a group's coordinator."
    JoinGroup "JoinGroup" [JoinGroupRequest, JoinGroupResponse] "Joins a group; parked until the join phase ends."
    SyncGroup "SyncGroup" [SyncGroupRequest, SyncGroupResponse] "Gets the assignment; the leader brings it."
    Heartbeat "Heartbeat" [HeartbeatRequest, HeartbeatResponse] "Says that a member lives."
    LeaveGroup "LeaveGroup" [LeaveGroupRequest, LeaveGroupResponse] "Leaves a group."
    ConsumerGroupHeartbeat "ConsumerGroupHeartbeat" [ConsumerGroupHeartbeatRequest, ConsumerGroupHeartbeatResponse] "Joins, keeps, reconciles and leaves a membership of the consumer protocol (KIP-848)."
    OffsetCommit "OffsetCommit" [OffsetCommitRequest, OffsetCommitResponse] "Stores where a group goes on."
    OffsetFetch "OffsetFetch" [OffsetFetchRequest, OffsetFetchResponse] "Reads where a group goes on."
    CreateTopics "CreateTopics" [CreateTopicsRequest, CreateTopicsResponse] "Creates a topic, at the controller."
    BrokerRegistration "BrokerRegistration" [BrokerRegistrationRequest, BrokerRegistrationResponse] "A broker process makes itself known."
    BrokerHeartbeat "BrokerHeartbeat" [BrokerHeartbeatRequest, BrokerHeartbeatResponse] "A broker says that it lives, and how far it has replayed."
    AlterPartition "AlterPartition" [AlterPartitionRequest, AlterPartitionResponse] "A leader asks for another ISR."
    InitProducerId "InitProducerId" [InitProducerIdRequest, InitProducerIdResponse] "Asks for a producer id, or for the next epoch of one."
    AddPartitionsToTxn "AddPartitionsToTxn" [AddPartitionsToTxnRequest, AddPartitionsToTxnResponse] "Makes partitions part of a transaction, or asks whether they are."
    AddOffsetsToTxn "AddOffsetsToTxn" [AddOffsetsToTxnRequest, AddOffsetsToTxnResponse] "Makes a group's offsets part of a transaction."
    TxnOffsetCommit "TxnOffsetCommit" [TxnOffsetCommitRequest, TxnOffsetCommitResponse] "Stores where a group goes on, if the transaction is committed."
    EndTxn "EndTxn" [EndTxnRequest, EndTxnResponse] "Commits or aborts a transaction."
    WriteTxnMarkers "WriteTxnMarkers" [WriteTxnMarkersRequest, WriteTxnMarkersResponse] "Writes the end of a transaction to its partitions."
    OffsetForLeaderEpoch "OffsetForLeaderEpoch" [OffsetForLeaderEpochRequest, OffsetForLeaderEpochResponse] "Tells where the leader's log ends in an epoch."
    FetchMetadataLog "Fetch(__cluster_metadata)" [FetchMetadataLogRequest, FetchMetadataLogResponse] "A broker or a voter replicates the active controller's log."
    Vote "Vote" [VoteRequest, VoteResponse] "A controller asks for a vote in an election of the quorum."
    BeginQuorumEpoch "BeginQuorumEpoch" [BeginQuorumEpochRequest, QuorumEpochResponse] "The quorum's new leader makes itself known."
    EndQuorumEpoch "EndQuorumEpoch" [EndQuorumEpochRequest, QuorumEpochResponse] "The quorum's leader resigns."
    DeleteTopics "DeleteTopics" [DeleteTopicsRequest, AdminResponse] "Deletes a topic."
    CreatePartitions "CreatePartitions" [CreatePartitionsRequest, AdminResponse] "Gives a topic more partitions."
    IncrementalAlterConfigs "IncrementalAlterConfigs" [IncrementalAlterConfigsRequest, AdminResponse] "Changes a setting of a topic."
    ElectLeaders "ElectLeaders" [ElectLeadersRequest, ElectLeadersResponse] "Asks for elections by hand."
    ApiVersions "ApiVersions" [ApiVersionsRequest, ApiVersionsResponse] "Opens a connection: asks which requests the broker knows."
}

impl fmt::Display for ApiKey {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.name())
    }
}

/// `Produce`.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize)]
pub struct ProduceRequest {
    /// Who must have the batches before the answer.
    pub acks: Acks,
    /// How long the broker may park the request, in milliseconds.
    pub timeout_ms: i64,
    /// Set for a producer with transactions.
    pub transactional_id: Option<Arc<str>>,
    /// Batches that were sent before, for counting duplicates; Kafka has no such field.
    pub retried: Vec<TopicPartition>,
    /// One batch a partition. Base offset and leader epoch are the broker's to fill in.
    pub batches: Vec<(TopicPartition, Batch)>,
}

/// Answer to `Produce`.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize)]
pub struct ProduceResponse {
    /// One entry a partition.
    pub partitions: Vec<ProducePartitionResponse>,
}

/// What became of one partition's batch.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize)]
pub struct ProducePartitionResponse {
    /// Which partition.
    pub topic_partition: TopicPartition,
    /// Whether it was appended.
    pub error_code: ErrorCode,
    /// Offset of the batch's first record; -1 on error.
    pub base_offset: Offset,
    /// The leader and its epoch, when the error says that it is another one (KIP-951).
    pub current_leader: Option<(BrokerId, i32)>,
}

/// `Fetch`.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize)]
pub struct FetchRequest {
    /// The follower that fetches; unset for a consumer.
    pub replica_id: Option<BrokerId>,
    /// The follower's broker epoch; -1 for a consumer.
    pub replica_epoch: i64,
    /// How long the broker may park the request, in milliseconds.
    pub max_wait_ms: i64,
    /// Bytes to wait for.
    pub min_bytes: i64,
    /// Bytes in the whole answer.
    pub max_bytes: i64,
    /// Whether open and aborted transactions are kept from the reader.
    pub isolation_level: IsolationLevel,
    /// The consumer's `client.rack`; unset for a follower, or when it has none (KIP-392).
    pub rack_id: Option<Arc<str>>,
    /// What to read.
    pub partitions: Vec<FetchPartition>,
}

/// What to read of one partition.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
pub struct FetchPartition {
    /// Which partition.
    pub topic_partition: TopicPartition,
    /// The first offset wanted. From a follower this says: I have everything before it.
    pub fetch_offset: Offset,
    /// The follower's own log start offset; -1 for a consumer.
    pub log_start_offset: Offset,
    /// The leader epoch that the sender knows; -1 when it knows none.
    pub current_leader_epoch: i32,
    /// Epoch of the last record the follower has; -1 for a consumer or an empty log.
    pub last_fetched_epoch: i32,
    /// Bytes of this partition in the answer.
    pub partition_max_bytes: i64,
}

/// Answer to `Fetch`.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize)]
pub struct FetchResponse {
    /// One entry a partition asked for.
    pub partitions: Vec<FetchPartitionResponse>,
}

/// What was read of one partition.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize)]
pub struct FetchPartitionResponse {
    /// Which partition.
    pub topic_partition: TopicPartition,
    /// Whether it could be read.
    pub error_code: ErrorCode,
    /// The leader's high watermark; -1 on error.
    pub high_watermark: Offset,
    /// The leader's last stable offset; -1 on error.
    pub last_stable_offset: Offset,
    /// The leader's first offset; -1 on error.
    pub log_start_offset: Offset,
    /// Where the follower's log parts from the leader's: the largest epoch that both may share,
    /// and its end offset.
    pub diverging_epoch: Option<(i32, Offset)>,
    /// The leader and its epoch, when the error says that it is another one (KIP-951).
    pub current_leader: Option<(BrokerId, i32)>,
    /// Where the consumer is to read instead; unset when here (KIP-392).
    pub preferred_read_replica: Option<BrokerId>,
    /// For `read_committed`: aborted transactions in the batches, by producer id and first offset.
    pub aborted: Vec<(i64, Offset)>,
    /// The batches.
    pub batches: Vec<Batch>,
}

/// `OffsetForLeaderEpoch` (KIP-320).
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize)]
pub struct OffsetForLeaderEpochRequest {
    /// Partition, the leader epoch that the sender knows, and the epoch that is asked about.
    pub partitions: Vec<(TopicPartition, i32, i32)>,
}

/// Answer to `OffsetForLeaderEpoch`.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize)]
pub struct OffsetForLeaderEpochResponse {
    /// Partition, error, the largest epoch up to the one asked about, and its end offset; -1 and -1
    /// when that cannot be said.
    pub partitions: Vec<(TopicPartition, ErrorCode, i32, Offset)>,
}

/// `ListOffsets`.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize)]
pub struct ListOffsetsRequest {
    /// What is asked, partition by partition.
    pub partitions: Vec<(TopicPartition, OffsetQuery)>,
}

/// Which offset is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum OffsetQuery {
    /// Timestamp -2: the log start offset.
    Earliest,
    /// Timestamp -1: the high watermark for a consumer.
    Latest,
    /// Timestamp -1 from a consumer that reads committed records: the last stable offset.
    LastStable,
    /// The log end offset, as a follower asks for it.
    LogEnd,
    /// Timestamp -3: the record with the largest timestamp (KIP-734).
    MaxTimestamp,
    /// The first record with this timestamp or a later one.
    Timestamp(SimTime),
}

/// Answer to `ListOffsets`.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize)]
pub struct ListOffsetsResponse {
    /// One entry a partition.
    pub partitions: Vec<ListOffsetsPartitionResponse>,
}

/// Which offset a partition has where it was asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
pub struct ListOffsetsPartitionResponse {
    /// Which partition.
    pub topic_partition: TopicPartition,
    /// Whether it could be said.
    pub error_code: ErrorCode,
    /// The offset; -1 on error, and when no record is so late.
    pub offset: Offset,
    /// The record's timestamp, where a timestamp was asked for; unset stands for Kafka's -1.
    pub timestamp: Option<SimTime>,
}

/// `ApiVersions`: the handshake that makes a connection ready.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize)]
pub struct ApiVersionsRequest {}

/// Answer to `ApiVersions`.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize)]
pub struct ApiVersionsResponse {
    /// Whether the connection is ready.
    pub error_code: ErrorCode,
}

/// `DeleteRecords`: the log start offset moves to these offsets.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize)]
pub struct DeleteRecordsRequest {
    /// The partitions with the first offset that stays; -1 stands for the high watermark.
    pub partitions: Vec<(TopicPartition, Offset)>,
    /// How long the broker may park the request, in milliseconds.
    pub timeout_ms: i64,
}

/// Answer to `DeleteRecords`.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize)]
pub struct DeleteRecordsResponse {
    /// One entry a partition.
    pub partitions: Vec<DeleteRecordsPartitionResponse>,
}

/// What became of one partition's records.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
pub struct DeleteRecordsPartitionResponse {
    /// Which partition.
    pub topic_partition: TopicPartition,
    /// Whether the records are gone everywhere.
    pub error_code: ErrorCode,
    /// The least start of the log over the live replicas; -1 on error.
    pub low_watermark: Offset,
}

/// `Metadata`.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize)]
pub struct MetadataRequest {
    /// Names of the topics that are asked for.
    pub topics: Vec<Arc<str>>,
    /// Whether a topic that does not exist may be created (`auto.create.topics.enable`).
    pub allow_auto_topic_creation: bool,
}

/// Answer to `Metadata`.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize)]
pub struct MetadataResponse {
    /// Brokers that are unfenced.
    pub brokers: Vec<BrokerId>,
    /// One entry a topic asked for.
    pub topics: Vec<MetadataTopic>,
}

/// A topic as a client sees it.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize)]
pub struct MetadataTopic {
    /// Its name.
    pub name: Arc<str>,
    /// Its interned name; unset when the broker does not know the topic.
    pub topic_id: Option<TopicId>,
    /// `UNKNOWN_TOPIC_OR_PARTITION` when the broker does not know it.
    pub error_code: ErrorCode,
    /// Its partitions, by number.
    pub partitions: Vec<MetadataPartition>,
}

/// A partition as a client sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
pub struct MetadataPartition {
    /// Its leader; unset when it has none, or its leader is fenced.
    pub leader: Option<BrokerId>,
    /// Its leader epoch.
    pub leader_epoch: i32,
}

/// `FindCoordinator` for a group or a transactional id.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize)]
pub struct FindCoordinatorRequest {
    /// The group; without a meaning when a transactional id is set.
    pub group_id: GroupId,
    /// The transactional id; unset for a group.
    pub transactional_id: Option<Arc<str>>,
}

/// Answer to `FindCoordinator`.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize)]
pub struct FindCoordinatorResponse {
    /// `COORDINATOR_NOT_AVAILABLE` when nobody leads the partition now.
    pub error_code: ErrorCode,
    /// The coordinator; unset on error.
    pub coordinator: Option<BrokerId>,
}

/// `JoinGroup`, version 9.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize)]
pub struct JoinGroupRequest {
    /// The group.
    pub group_id: GroupId,
    /// The member's `session.timeout.ms`.
    pub session_timeout_ms: i64,
    /// The member's `max.poll.interval.ms`.
    pub rebalance_timeout_ms: i64,
    /// Empty for a member that has no id yet.
    pub member_id: MemberId,
    /// Set for a static member.
    pub group_instance_id: Option<InstanceId>,
    /// The member's `client.id`, which new member ids start with (a header field in Kafka).
    pub client_id: Arc<str>,
    /// `consumer` for consumers.
    pub protocol_type: Arc<str>,
    /// The assignors that the member can use, in its order of preference.
    pub protocols: Vec<(Arc<str>, Arc<Subscription>)>,
    /// Why it joins; unset prints as `not provided`.
    pub reason: Option<Arc<str>>,
    /// Version of the request: 4 turned on `MEMBER_ID_REQUIRED`, 9 brought `skip_assignment`.
    pub version: i16,
}

/// Answer to `JoinGroup`.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize)]
pub struct JoinGroupResponse {
    /// Whether the member is in.
    pub error_code: ErrorCode,
    /// The new generation; -1 on error.
    pub generation_id: i32,
    /// `consumer` for consumers; unset on error.
    pub protocol_type: Option<Arc<str>>,
    /// The assignor that the group has chosen; unset on error.
    pub protocol_name: Option<Arc<str>>,
    /// The member that computes the assignment; empty on error.
    pub leader: MemberId,
    /// Whether the leader must not compute an assignment (KIP-814).
    pub skip_assignment: bool,
    /// The receiver's member id.
    pub member_id: MemberId,
    /// For the leader: every member with its subscription. Empty for the others.
    pub members: Vec<JoinGroupMember>,
}

/// A member as the leader sees it.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize)]
pub struct JoinGroupMember {
    /// Its member id.
    pub member_id: MemberId,
    /// Its `group.instance.id`, if static.
    pub group_instance_id: Option<InstanceId>,
    /// Its subscription under the chosen assignor.
    pub subscription: Arc<Subscription>,
}

/// `SyncGroup`, version 5.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize)]
pub struct SyncGroupRequest {
    /// The group.
    pub group_id: GroupId,
    /// The generation that the member has joined.
    pub generation_id: i32,
    /// Its member id.
    pub member_id: MemberId,
    /// Set for a static member.
    pub group_instance_id: Option<InstanceId>,
    /// Unset is accepted.
    pub protocol_type: Option<Arc<str>>,
    /// Unset is accepted.
    pub protocol_name: Option<Arc<str>>,
    /// From the leader: who gets what. Empty from the others.
    pub assignments: Vec<(MemberId, Arc<Vec<TopicPartition>>)>,
}

/// Answer to `SyncGroup`.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize)]
pub struct SyncGroupResponse {
    /// Whether there is an assignment.
    pub error_code: ErrorCode,
    /// `consumer` for consumers; unset on error.
    pub protocol_type: Option<Arc<str>>,
    /// The assignor that the group has chosen; unset on error.
    pub protocol_name: Option<Arc<str>>,
    /// The receiver's partitions.
    pub assignment: Arc<Vec<TopicPartition>>,
}

/// `Heartbeat`.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize)]
pub struct HeartbeatRequest {
    /// The group.
    pub group_id: GroupId,
    /// The generation that the member knows.
    pub generation_id: i32,
    /// Its member id.
    pub member_id: MemberId,
    /// Set for a static member.
    pub group_instance_id: Option<InstanceId>,
}

/// Answer to `Heartbeat`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
pub struct HeartbeatResponse {
    /// `REBALANCE_IN_PROGRESS` asks the member to join again.
    pub error_code: ErrorCode,
}

/// `LeaveGroup`.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize)]
pub struct LeaveGroupRequest {
    /// The group.
    pub group_id: GroupId,
    /// Who leaves.
    pub members: Vec<LeavingMember>,
}

/// A member that leaves.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize)]
pub struct LeavingMember {
    /// Its member id; empty to remove a static member by its instance id.
    pub member_id: MemberId,
    /// Set for a static member.
    pub group_instance_id: Option<InstanceId>,
    /// Why it leaves; unset prints as `not provided`.
    pub reason: Option<Arc<str>>,
}

/// Answer to `LeaveGroup`.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize)]
pub struct LeaveGroupResponse {
    /// Error of the request as a whole.
    pub error_code: ErrorCode,
    /// One entry a member: its id, its instance id and its error.
    pub members: Vec<(MemberId, Option<InstanceId>, ErrorCode)>,
}

/// `ConsumerGroupHeartbeat`, version 1. What is unset has not changed since the heartbeat before.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize)]
pub struct ConsumerGroupHeartbeatRequest {
    /// The group.
    pub group_id: GroupId,
    /// Empty for a member that has no id yet.
    pub member_id: MemberId,
    /// The epoch that the member knows: 0 to join, -1 to leave, -2 when a static member leaves for a
    /// while.
    pub member_epoch: i32,
    /// Set for a static member.
    pub group_instance_id: Option<InstanceId>,
    /// The member's `client.id`, which new member ids start with (a header field in Kafka).
    pub client_id: Arc<str>,
    /// `client.rack`.
    pub rack_id: Option<Arc<str>>,
    /// The member's `max.poll.interval.ms`; -1 when unchanged.
    pub rebalance_timeout_ms: i64,
    /// Names of the subscribed topics, sorted.
    pub subscribed_topic_names: Option<Vec<Arc<str>>>,
    /// A pattern of topic names; no broker takes it yet.
    pub subscribed_topic_regex: Option<Arc<str>>,
    /// The assignor that the member asks for (`group.remote.assignor`).
    pub server_assignor: Option<Arc<str>>,
    /// What the member owns now, sorted: the acknowledgement of what it was told.
    pub topic_partitions: Option<Arc<Vec<TopicPartition>>>,
}

/// Answer to `ConsumerGroupHeartbeat`.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize)]
pub struct ConsumerGroupHeartbeatResponse {
    /// Whether the member is in.
    pub error_code: ErrorCode,
    /// Its member id; empty on error.
    pub member_id: MemberId,
    /// Its epoch from now on.
    pub member_epoch: i32,
    /// When it is to send its next heartbeat, in milliseconds after this one.
    pub heartbeat_interval_ms: i64,
    /// Everything that it may own now, sorted; unset when that has not changed.
    pub assignment: Option<Arc<Vec<TopicPartition>>>,
}

/// `OffsetCommit`.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize)]
pub struct OffsetCommitRequest {
    /// The group.
    pub group_id: GroupId,
    /// The member's generation or epoch; -1 for a consumer outside the group.
    pub generation_id: i32,
    /// Its member id; empty for a consumer outside the group.
    pub member_id: MemberId,
    /// Set for a static member.
    pub group_instance_id: Option<InstanceId>,
    /// What is committed: the next offset to read, and the leader epoch before it (-1 unknown).
    pub offsets: Vec<(TopicPartition, Offset, i32)>,
    /// Version of the request: from 9 on an unknown group is `GROUP_ID_NOT_FOUND`.
    pub version: i16,
}

/// Answer to `OffsetCommit`.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize)]
pub struct OffsetCommitResponse {
    /// One entry a partition.
    pub partitions: Vec<(TopicPartition, ErrorCode)>,
}

/// `OffsetFetch`.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize)]
pub struct OffsetFetchRequest {
    /// The group.
    pub group_id: GroupId,
    /// The member id of a member of the consumer protocol; empty for any other reader.
    pub member_id: MemberId,
    /// Its epoch; -1 for any other reader.
    pub member_epoch: i32,
    /// The partitions asked for.
    pub partitions: Vec<TopicPartition>,
}

/// Answer to `OffsetFetch`.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize)]
pub struct OffsetFetchResponse {
    /// Error of the request as a whole.
    pub error_code: ErrorCode,
    /// One entry a partition: the committed offset (-1 for none) and its leader epoch.
    pub offsets: Vec<(TopicPartition, Offset, i32)>,
}

/// `CreateTopics` for one topic.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize)]
pub struct CreateTopicsRequest {
    /// Its name.
    pub name: Arc<str>,
    /// How many partitions; unset leaves it to `num.partitions`.
    pub partition_count: Option<u32>,
    /// How many replicas of each; unset leaves it to `default.replication.factor`.
    pub replication_factor: Option<u32>,
    /// Replicas by hand, one list a partition; empty leaves the placement to the controller.
    pub assignments: Vec<Vec<BrokerId>>,
    /// Its settings; unset for those of the cluster.
    pub config: Option<Arc<TopicConfig>>,
    /// Settings by name, on top of those.
    pub overrides: Vec<(Arc<str>, Arc<str>)>,
}

/// Answer to `CreateTopics`.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize)]
pub struct CreateTopicsResponse {
    /// Whether the topic was created.
    pub error_code: ErrorCode,
    /// Kafka's sentence on what was wrong; unset on success.
    pub error_message: Option<Arc<str>>,
}

/// `BrokerRegistration`.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize)]
pub struct BrokerRegistrationRequest {
    /// The broker's `node.id`.
    pub broker_id: BrokerId,
    /// Identifies the process.
    pub incarnation_id: u64,
    /// Its rack; unset when it has none.
    pub rack: Option<Arc<str>>,
    /// The registration that it had when it was last closed in good order; -1 otherwise.
    pub previous_broker_epoch: i64,
}

/// Answer to `BrokerRegistration`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
pub struct BrokerRegistrationResponse {
    /// `DUPLICATE_BROKER_REGISTRATION` while an earlier process's session still runs.
    pub error_code: ErrorCode,
    /// The epoch of this registration; -1 on error.
    pub broker_epoch: i64,
}

/// `BrokerHeartbeat`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
pub struct BrokerHeartbeatRequest {
    /// The broker's `node.id`.
    pub broker_id: BrokerId,
    /// Its registration.
    pub broker_epoch: i64,
    /// The next offset of the metadata log that it will replay.
    pub current_metadata_offset: i64,
    /// Whether it wants to stay fenced.
    pub want_fence: bool,
    /// Whether it wants to shut down.
    pub want_shut_down: bool,
}

/// Answer to `BrokerHeartbeat`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
pub struct BrokerHeartbeatResponse {
    /// `STALE_BROKER_EPOCH` when the registration is another one.
    pub error_code: ErrorCode,
    /// Whether the broker has replayed its own registration.
    pub is_caught_up: bool,
    /// Whether it is fenced now.
    pub is_fenced: bool,
    /// Whether it may shut down now.
    pub should_shut_down: bool,
}

/// `AlterPartition`.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize)]
pub struct AlterPartitionRequest {
    /// The leader's `node.id`.
    pub broker_id: BrokerId,
    /// Its registration.
    pub broker_epoch: i64,
    /// The changes it asks for.
    pub partitions: Vec<AlterPartitionItem>,
}

/// A change of one ISR.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize)]
pub struct AlterPartitionItem {
    /// Which partition.
    pub topic_partition: TopicPartition,
    /// The leader's epoch.
    pub leader_epoch: i32,
    /// The partition epoch that it knows.
    pub partition_epoch: i32,
    /// The ISR that it wants, with the broker epoch it has seen of each member (-1 unknown).
    pub new_isr: Vec<(BrokerId, i64)>,
    /// Whether the leader still recovers from an unclean election.
    pub is_recovering: bool,
}

/// Answer to `AlterPartition`.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize)]
pub struct AlterPartitionResponse {
    /// Error of the request as a whole.
    pub error_code: ErrorCode,
    /// One entry a partition.
    pub partitions: Vec<AlterPartitionResult>,
}

/// What became of one change.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize)]
pub struct AlterPartitionResult {
    /// Which partition.
    pub topic_partition: TopicPartition,
    /// Whether it was accepted.
    pub error_code: ErrorCode,
    /// The leader; unset when there is none.
    pub leader: Option<BrokerId>,
    /// The leader epoch.
    pub leader_epoch: i32,
    /// The committed ISR.
    pub isr: Vec<BrokerId>,
    /// The new partition epoch.
    pub partition_epoch: i32,
}

/// `Fetch` of the metadata log.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
pub struct FetchMetadataLogRequest {
    /// The epoch of the quorum that the sender knows.
    pub current_leader_epoch: i32,
    /// The next offset it wants.
    pub fetch_offset: i64,
    /// Epoch of the last entry that it has; 0 for none.
    pub last_fetched_epoch: i32,
    /// How long the controller may park the request, in milliseconds.
    pub max_wait_ms: i64,
}

/// Answer to `Fetch` of the metadata log.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize)]
pub struct FetchMetadataLogResponse {
    /// `NOT_LEADER_OR_FOLLOWER`, `FENCED_LEADER_EPOCH` or `UNKNOWN_LEADER_EPOCH` when another
    /// controller is to be asked.
    pub error_code: ErrorCode,
    /// Who leads the quorum, as far as the answering controller knows.
    pub leader: Option<ControllerId>,
    /// The epoch of the quorum.
    pub leader_epoch: i32,
    /// Entries below this offset are committed.
    pub high_watermark: i64,
    /// Where the sender's log parts from the leader's: the largest epoch that both may share, and
    /// its end offset.
    pub diverging_epoch: Option<(i32, i64)>,
    /// Offset of the first entry.
    pub base_offset: i64,
    /// The entries.
    pub entries: Vec<MetadataEntry>,
}

/// `Vote`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
pub struct VoteRequest {
    /// The epoch that the candidate wants to lead.
    pub epoch: i32,
    /// Epoch of the candidate's last entry.
    pub last_epoch: i32,
    /// Where the candidate's log ends.
    pub last_epoch_end_offset: i64,
}

/// Answer to `Vote`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
pub struct VoteResponse {
    /// The epoch of the voter.
    pub epoch: i32,
    /// Who leads in it, as far as the voter knows.
    pub leader: Option<ControllerId>,
    /// Whether the candidate has the vote.
    pub is_granted: bool,
}

/// `BeginQuorumEpoch`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
pub struct BeginQuorumEpochRequest {
    /// The epoch that the sender leads.
    pub epoch: i32,
}

/// `EndQuorumEpoch`.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize)]
pub struct EndQuorumEpochRequest {
    /// The epoch that the sender leads no more.
    pub epoch: i32,
    /// Who should stand for election first, by the end of their logs.
    pub preferred_successors: Vec<ControllerId>,
}

/// Answer to `BeginQuorumEpoch` and `EndQuorumEpoch`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
pub struct QuorumEpochResponse {
    /// `FENCED_LEADER_EPOCH` when the receiver knows a later epoch.
    pub error_code: ErrorCode,
    /// The receiver's epoch.
    pub epoch: i32,
    /// Who leads in it, as far as the receiver knows.
    pub leader: Option<ControllerId>,
}

/// `DeleteTopics` for one topic.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize)]
pub struct DeleteTopicsRequest {
    /// Its name.
    pub name: Arc<str>,
}

/// `CreatePartitions` for one topic.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize)]
pub struct CreatePartitionsRequest {
    /// Its name.
    pub name: Arc<str>,
    /// How many partitions it shall have in all.
    pub count: u32,
}

/// `IncrementalAlterConfigs` for one setting of a topic.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize)]
pub struct IncrementalAlterConfigsRequest {
    /// The topic.
    pub name: Arc<str>,
    /// The setting, by Kafka's name.
    pub setting: Arc<str>,
    /// Its value.
    pub value: Arc<str>,
}

/// Answer to an admin request that is about one thing.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize)]
pub struct AdminResponse {
    /// Whether it was done.
    pub error_code: ErrorCode,
    /// Kafka's sentence on what was wrong; unset on success.
    pub error_message: Option<Arc<str>>,
}

/// `ElectLeaders`.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize)]
pub struct ElectLeadersRequest {
    /// Whether replicas outside the ISR may lead; else the preferred leader is wanted.
    pub unclean: bool,
    /// Which partitions, by topic and number; unset for all.
    pub partitions: Option<Vec<(Arc<str>, u32)>>,
}

/// Answer to `ElectLeaders`.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize)]
pub struct ElectLeadersResponse {
    /// Error of the request as a whole.
    pub error_code: ErrorCode,
    /// One entry a partition: topic, number, error and Kafka's sentence on it.
    pub results: Vec<ElectionResult>,
}

/// What became of one election.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize)]
pub struct ElectionResult {
    /// The topic.
    pub name: Arc<str>,
    /// The partition's number.
    pub partition: u32,
    /// Whether there was one.
    pub error_code: ErrorCode,
    /// Kafka's sentence; unset on success.
    pub error_message: Option<Arc<str>>,
}

/// `InitProducerId`.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize)]
pub struct InitProducerIdRequest {
    /// Unset for a producer without transactions, which any broker answers.
    pub transactional_id: Option<Arc<str>>,
    /// `transaction.timeout.ms`.
    pub transaction_timeout_ms: i64,
    /// The id that it has and whose epoch it wants raised; -1 for none.
    pub producer_id: i64,
    /// The epoch that goes with it; -1 for none.
    pub producer_epoch: i16,
}

/// Answer to `InitProducerId`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
pub struct InitProducerIdResponse {
    /// `CONCURRENT_TRANSACTIONS` while an earlier transaction ends.
    pub error_code: ErrorCode,
    /// The producer id; -1 on error.
    pub producer_id: i64,
    /// Its epoch; -1 on error.
    pub producer_epoch: i16,
}

/// `AddPartitionsToTxn`.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize)]
pub struct AddPartitionsToTxnRequest {
    /// Whose transaction.
    pub transactional_id: Arc<str>,
    /// Its producer id.
    pub producer_id: i64,
    /// Its epoch.
    pub producer_epoch: i16,
    /// From a broker that only wants to know whether they belong to it (KIP-890).
    pub verify_only: bool,
    /// The partitions.
    pub partitions: Vec<TopicPartition>,
}

/// Answer to `AddPartitionsToTxn`.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize)]
pub struct AddPartitionsToTxnResponse {
    /// One entry a partition.
    pub partitions: Vec<(TopicPartition, ErrorCode)>,
}

/// `AddOffsetsToTxn`.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize)]
pub struct AddOffsetsToTxnRequest {
    /// Whose transaction.
    pub transactional_id: Arc<str>,
    /// Its producer id.
    pub producer_id: i64,
    /// Its epoch.
    pub producer_epoch: i16,
    /// The group whose partition of `__consumer_offsets` joins the transaction.
    pub group_id: GroupId,
}

/// Answer to `AddOffsetsToTxn`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
pub struct AddOffsetsToTxnResponse {
    /// Whether they are part of it.
    pub error_code: ErrorCode,
}

/// `TxnOffsetCommit`.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize)]
pub struct TxnOffsetCommitRequest {
    /// Whose transaction.
    pub transactional_id: Arc<str>,
    /// Its producer id.
    pub producer_id: i64,
    /// Its epoch.
    pub producer_epoch: i16,
    /// What is committed, and by which member.
    pub commit: OffsetCommitRequest,
}

/// Answer to `TxnOffsetCommit`.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize)]
pub struct TxnOffsetCommitResponse {
    /// One entry a partition.
    pub partitions: Vec<(TopicPartition, ErrorCode)>,
}

/// `EndTxn`.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize)]
pub struct EndTxnRequest {
    /// Whose transaction.
    pub transactional_id: Arc<str>,
    /// Its producer id.
    pub producer_id: i64,
    /// Its epoch.
    pub producer_epoch: i16,
    /// Whether to commit; otherwise to abort.
    pub is_commit: bool,
}

/// Answer to `EndTxn`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
pub struct EndTxnResponse {
    /// Whether the end is decided; the markers may still be on their way.
    pub error_code: ErrorCode,
}

/// `WriteTxnMarkers` for one transaction.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize)]
pub struct WriteTxnMarkersRequest {
    /// The producer id.
    pub producer_id: i64,
    /// Its epoch.
    pub producer_epoch: i16,
    /// Whether the transaction is committed; otherwise aborted.
    pub is_commit: bool,
    /// Leader epoch of the coordinator's partition of `__transaction_state`.
    pub coordinator_epoch: i32,
    /// Where the marker goes.
    pub partitions: Vec<TopicPartition>,
}

/// Answer to `WriteTxnMarkers`.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize)]
pub struct WriteTxnMarkersResponse {
    /// One entry a partition, when its marker is replicated.
    pub partitions: Vec<(TopicPartition, ErrorCode)>,
}

impl Response {
    /// An error as the answer to an admin request; unset when `api` is none.
    pub fn admin_error(api: ApiKey, error_code: ErrorCode) -> Option<Self> {
        let error_message = None;
        if api == ApiKey::CreateTopics {
            return Some(Self::CreateTopics(CreateTopicsResponse {
                error_code,
                error_message,
            }));
        }
        if api == ApiKey::ElectLeaders {
            let results = Vec::new();
            return Some(Self::ElectLeaders(ElectLeadersResponse {
                error_code,
                results,
            }));
        }
        let make = if api == ApiKey::DeleteTopics {
            Self::DeleteTopics
        } else if api == ApiKey::CreatePartitions {
            Self::CreatePartitions
        } else if api == ApiKey::IncrementalAlterConfigs {
            Self::IncrementalAlterConfigs
        } else {
            return None;
        };
        Some(make(AdminResponse {
            error_code,
            error_message,
        }))
    }

    /// The first error that it carries, if any.
    pub fn error_code(&self) -> ErrorCode {
        fn first(codes: impl IntoIterator<Item = ErrorCode>) -> ErrorCode {
            codes
                .into_iter()
                .find(|code| !code.is_none())
                .unwrap_or_default()
        }
        match self {
            Self::ApiVersions(response) => response.error_code,
            Self::Produce(response) => first(response.partitions.iter().map(|p| p.error_code)),
            Self::Fetch(response) => first(response.partitions.iter().map(|p| p.error_code)),
            Self::ListOffsets(response) => first(response.partitions.iter().map(|p| p.error_code)),
            Self::DeleteRecords(response) => {
                first(response.partitions.iter().map(|p| p.error_code))
            }
            Self::Metadata(response) => first(response.topics.iter().map(|t| t.error_code)),
            Self::FindCoordinator(response) => response.error_code,
            Self::JoinGroup(response) => response.error_code,
            Self::SyncGroup(response) => response.error_code,
            Self::Heartbeat(response) => response.error_code,
            Self::LeaveGroup(response) => first(
                [response.error_code]
                    .into_iter()
                    .chain(response.members.iter().map(|m| m.2)),
            ),
            Self::OffsetCommit(response) => first(response.partitions.iter().map(|p| p.1)),
            Self::ConsumerGroupHeartbeat(response) => response.error_code,
            Self::OffsetFetch(response) => response.error_code,
            Self::CreateTopics(response) => response.error_code,
            Self::BrokerRegistration(response) => response.error_code,
            Self::BrokerHeartbeat(response) => response.error_code,
            Self::AlterPartition(response) => first(
                [response.error_code]
                    .into_iter()
                    .chain(response.partitions.iter().map(|p| p.error_code)),
            ),
            Self::InitProducerId(response) => response.error_code,
            Self::AddPartitionsToTxn(response) => first(response.partitions.iter().map(|p| p.1)),
            Self::AddOffsetsToTxn(response) => response.error_code,
            Self::TxnOffsetCommit(response) => first(response.partitions.iter().map(|p| p.1)),
            Self::EndTxn(response) => response.error_code,
            Self::WriteTxnMarkers(response) => first(response.partitions.iter().map(|p| p.1)),
            Self::OffsetForLeaderEpoch(response) => first(response.partitions.iter().map(|p| p.1)),
            Self::FetchMetadataLog(response) => response.error_code,
            Self::Vote(_) => ErrorCode::None,
            Self::BeginQuorumEpoch(response) | Self::EndQuorumEpoch(response) => {
                response.error_code
            }
            Self::DeleteTopics(response)
            | Self::CreatePartitions(response)
            | Self::IncrementalAlterConfigs(response) => response.error_code,
            Self::ElectLeaders(response) => first(
                [response.error_code]
                    .into_iter()
                    .chain(response.results.iter().map(|one| one.error_code)),
            ),
        }
    }
}
