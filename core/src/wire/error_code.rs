//! Outcomes of the simulated protocol.

use serde::{Deserialize, Serialize};
use std::fmt;

macro_rules! error_codes {
    ($( $(#[$attribute:meta])? $name:ident, $number:literal, $retriable:literal, $text:literal, $sentence:literal; )*) => {
        /// Kafka's error codes, as far as something here sends them.
        #[derive(
            Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
        )]
        #[serde(rename_all = "SCREAMING_SNAKE_CASE")]
        pub enum ErrorCode {
            $( $(#[$attribute])? #[doc = $sentence] $name, )*
        }

        impl ErrorCode {
            /// Every code.
            pub const ALL: &'static [Self] = &[ $( Self::$name, )* ];

            /// The number on the wire.
            pub const fn number(self) -> i16 {
                match self { $( Self::$name => $number, )* }
            }

            /// Kafka's name.
            pub const fn name(self) -> &'static str {
                match self { $( Self::$name => $text, )* }
            }

            /// Whether Kafka's exception of this code is a `RetriableException`.
            pub const fn is_retriable(self) -> bool {
                match self { $( Self::$name => $retriable, )* }
            }

            /// What it means, in one sentence.
            pub const fn sentence(self) -> &'static str {
                match self { $( Self::$name => $sentence, )* }
            }
        }
    };
}

error_codes! {
    #[default] None, 0, false, "NONE", "The request succeeded.";
    UnknownServerError, -1, false, "UNKNOWN_SERVER_ERROR", "The broker failed in a way that has no code of its own.";
    OffsetOutOfRange, 1, false, "OFFSET_OUT_OF_RANGE", "The offset lies outside the log.";
    CorruptMessage, 2, true, "CORRUPT_MESSAGE", "A record batch is damaged.";
    UnknownTopicOrPartition, 3, true, "UNKNOWN_TOPIC_OR_PARTITION", "The broker does not know this topic or partition (yet).";
    LeaderNotAvailable, 5, true, "LEADER_NOT_AVAILABLE", "The partition has no leader now.";
    NotLeaderOrFollower, 6, true, "NOT_LEADER_OR_FOLLOWER", "This broker does not lead the partition (any more).";
    RequestTimedOut, 7, true, "REQUEST_TIMED_OUT", "The request was not done within its time; an append may still have happened.";
    BrokerNotAvailable, 8, false, "BROKER_NOT_AVAILABLE", "The broker is not available.";
    ReplicaNotAvailable, 9, true, "REPLICA_NOT_AVAILABLE", "The broker has no such replica.";
    MessageTooLarge, 10, false, "MESSAGE_TOO_LARGE", "The batch is larger than max.message.bytes.";
    OffsetMetadataTooLarge, 12, false, "OFFSET_METADATA_TOO_LARGE", "The metadata of a committed offset is longer than offset.metadata.max.bytes.";
    NetworkException, 13, true, "NETWORK_EXCEPTION", "The connection was lost before the answer came.";
    CoordinatorLoadInProgress, 14, true, "COORDINATOR_LOAD_IN_PROGRESS", "The coordinator is still reading its partition of the offsets topic.";
    CoordinatorNotAvailable, 15, true, "COORDINATOR_NOT_AVAILABLE", "The group has no coordinator now.";
    NotCoordinator, 16, true, "NOT_COORDINATOR", "This broker does not coordinate the group.";
    InvalidTopicException, 17, false, "INVALID_TOPIC_EXCEPTION", "The topic's name is not valid.";
    RecordListTooLarge, 18, false, "RECORD_LIST_TOO_LARGE", "The batch is larger than segment.bytes.";
    NotEnoughReplicas, 19, true, "NOT_ENOUGH_REPLICAS", "The ISR has fewer members than min.insync.replicas; nothing was written.";
    NotEnoughReplicasAfterAppend, 20, true, "NOT_ENOUGH_REPLICAS_AFTER_APPEND", "The ISR fell below min.insync.replicas after the record was written.";
    InvalidRequiredAcks, 21, false, "INVALID_REQUIRED_ACKS", "acks must be 0, 1 or all.";
    IllegalGeneration, 22, false, "ILLEGAL_GENERATION", "The generation in the request is not the group's.";
    InconsistentGroupProtocol, 23, false, "INCONSISTENT_GROUP_PROTOCOL", "The member has no assignor in common with the group.";
    InvalidGroupId, 24, false, "INVALID_GROUP_ID", "The group id is empty.";
    UnknownMemberId, 25, false, "UNKNOWN_MEMBER_ID", "The coordinator does not know this member.";
    InvalidSessionTimeout, 26, false, "INVALID_SESSION_TIMEOUT", "session.timeout.ms is outside the bounds that the broker allows.";
    RebalanceInProgress, 27, false, "REBALANCE_IN_PROGRESS", "The group is rebalancing: join again.";
    InvalidCommitOffsetSize, 28, false, "INVALID_COMMIT_OFFSET_SIZE", "The offset commit is larger than the log accepts.";
    UnsupportedVersion, 35, false, "UNSUPPORTED_VERSION", "The broker does not support this version of the request, or not for this group.";
    TopicAlreadyExists, 36, false, "TOPIC_ALREADY_EXISTS", "A topic of this name exists.";
    InvalidPartitions, 37, false, "INVALID_PARTITIONS", "The number of partitions is not valid.";
    InvalidReplicationFactor, 38, false, "INVALID_REPLICATION_FACTOR", "The replication factor cannot be met.";
    InvalidReplicaAssignment, 39, false, "INVALID_REPLICA_ASSIGNMENT", "The replica assignment is not valid.";
    InvalidConfig, 40, false, "INVALID_CONFIG", "The setting or its value is not valid.";
    NotController, 41, true, "NOT_CONTROLLER", "This node is not the active controller, or it is behind.";
    InvalidRequest, 42, false, "INVALID_REQUEST", "The request makes no sense.";
    PolicyViolation, 44, false, "POLICY_VIOLATION", "The topic's settings do not allow it.";
    OutOfOrderSequenceNumber, 45, false, "OUT_OF_ORDER_SEQUENCE_NUMBER", "The sequence number is not the next one of this producer.";
    DuplicateSequenceNumber, 46, false, "DUPLICATE_SEQUENCE_NUMBER", "The batch has been written before.";
    InvalidProducerEpoch, 47, false, "INVALID_PRODUCER_EPOCH", "The producer's epoch is over: another instance has taken its place.";
    InvalidTxnState, 48, false, "INVALID_TXN_STATE", "The transaction is in a state that does not allow this.";
    InvalidProducerIdMapping, 49, false, "INVALID_PRODUCER_ID_MAPPING", "The transactional id belongs to another producer id.";
    InvalidTransactionTimeout, 50, false, "INVALID_TRANSACTION_TIMEOUT", "transaction.timeout.ms is larger than transaction.max.timeout.ms.";
    ConcurrentTransactions, 51, true, "CONCURRENT_TRANSACTIONS", "The transaction before has not ended yet: try again.";
    TransactionCoordinatorFenced, 52, false, "TRANSACTION_COORDINATOR_FENCED", "The marker comes from a coordinator that is one no longer.";
    OperationNotAttempted, 55, true, "OPERATION_NOT_ATTEMPTED", "The request was not tried, because something else went wrong first.";
    KafkaStorageError, 56, true, "KAFKA_STORAGE_ERROR", "The broker cannot use its disk.";
    NonEmptyGroup, 68, false, "NON_EMPTY_GROUP", "The group has members.";
    GroupIdNotFound, 69, false, "GROUP_ID_NOT_FOUND", "There is no group of this id.";
    FencedLeaderEpoch, 74, true, "FENCED_LEADER_EPOCH", "The request carries an older leader epoch than the broker knows.";
    UnknownLeaderEpoch, 75, true, "UNKNOWN_LEADER_EPOCH", "The request carries a newer leader epoch than the broker knows.";
    StaleBrokerEpoch, 77, false, "STALE_BROKER_EPOCH", "The broker epoch is not the registered one.";
    OffsetNotAvailable, 78, true, "OFFSET_NOT_AVAILABLE", "The high watermark has not yet reached the start of the leader's epoch.";
    MemberIdRequired, 79, false, "MEMBER_ID_REQUIRED", "Join again with the member id in this answer.";
    PreferredLeaderNotAvailable, 80, true, "PREFERRED_LEADER_NOT_AVAILABLE", "The preferred leader cannot lead now.";
    GroupMaxSizeReached, 81, false, "GROUP_MAX_SIZE_REACHED", "The group has group.max.size members.";
    FencedInstanceId, 82, false, "FENCED_INSTANCE_ID", "Another member has taken over this group.instance.id.";
    EligibleLeadersNotAvailable, 83, true, "ELIGIBLE_LEADERS_NOT_AVAILABLE", "No replica of the partition can lead now.";
    ElectionNotNeeded, 84, false, "ELECTION_NOT_NEEDED", "The partition has the leader that the election would give it.";
    InvalidRecord, 87, false, "INVALID_RECORD", "A record is not valid here: in a compacted topic each needs a key.";
    UnstableOffsetCommit, 88, true, "UNSTABLE_OFFSET_COMMIT", "A transactional commit of this offset is still open.";
    ProducerFenced, 90, false, "PRODUCER_FENCED", "A newer producer with the same transactional id has taken over.";
    InvalidUpdateVersion, 95, false, "INVALID_UPDATE_VERSION", "The partition epoch in the request is behind the controller's.";
    UnknownTopicId, 100, true, "UNKNOWN_TOPIC_ID", "There is no topic of this id (any more).";
    DuplicateBrokerRegistration, 101, false, "DUPLICATE_BROKER_REGISTRATION", "A broker with this id is registered and its session still runs.";
    BrokerIdNotRegistered, 102, false, "BROKER_ID_NOT_REGISTERED", "No broker of this id is registered.";
    IneligibleReplica, 107, false, "INELIGIBLE_REPLICA", "A replica in the new ISR is fenced or shutting down.";
    NewLeaderElected, 108, false, "NEW_LEADER_ELECTED", "The change was applied, and it made another replica leader.";
    FencedMemberEpoch, 110, false, "FENCED_MEMBER_EPOCH", "The member's epoch is not the one that the coordinator knows: give everything up and join again.";
    UnreleasedInstanceId, 111, false, "UNRELEASED_INSTANCE_ID", "Another member uses this group.instance.id and has not left.";
    UnsupportedAssignor, 112, false, "UNSUPPORTED_ASSIGNOR", "The coordinator has no assignor of this name.";
    StaleMemberEpoch, 113, false, "STALE_MEMBER_EPOCH", "The member's epoch has moved on: try again with the present one.";
    TransactionAbortable, 120, false, "TRANSACTION_ABORTABLE", "The transaction cannot go on; the application may abort it.";
}

impl ErrorCode {
    /// Whether the request succeeded.
    pub fn is_none(self) -> bool {
        self == Self::None
    }
}

impl fmt::Display for ErrorCode {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.name())
    }
}
