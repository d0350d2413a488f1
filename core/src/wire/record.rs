//! Records and batches.

use crate::base::ids::{
    GroupId, InstanceId, MemberId, NodeId, Offset, RecordId, TopicId, TopicPartition,
};
use crate::base::user_data::UserData;
use crate::kernel::time::SimTime;
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// One record.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize)]
pub struct Record {
    /// Identity that survives retries, for counting duplicates and losses; Kafka has no such field.
    pub record_id: RecordId,
    /// Key as text; unset for a record without a key.
    pub key: Option<Arc<str>>,
    /// What it carries.
    pub value: RecordValue,
    /// `CreateTime` of the record.
    pub timestamp: SimTime,
    /// Serialised size in bytes, headers included.
    pub size_bytes: u32,
}

/// What a record carries.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum RecordValue {
    /// An application's text.
    Text(Arc<str>),
    /// No value: in a compacted topic it removes its key (a tombstone).
    Null,
    /// `__consumer_offsets`: a committed offset; unset removes it.
    OffsetCommit {
        /// The group.
        group_id: GroupId,
        /// The partition whose offset it is.
        topic_partition: TopicPartition,
        /// What was committed; unset for a tombstone.
        committed: Option<CommittedOffset>,
    },
    /// `__consumer_offsets`: the state of a classic group; unset removes it.
    GroupMetadata {
        /// The group.
        group_id: GroupId,
        /// The state; unset for a tombstone.
        metadata: Option<Arc<GroupMetadata>>,
    },
    /// `__consumer_offsets`: a piece of what a group of the consumer protocol is (KIP-848).
    ConsumerGroup {
        /// The group.
        group_id: GroupId,
        /// Which piece, and what it is now.
        piece: ConsumerGroupPiece,
    },
    /// `__transaction_state`: where a transactional id stands; unset forgets it.
    Transaction {
        /// Whose.
        transactional_id: Arc<str>,
        /// Where it stands; unset for a tombstone.
        metadata: Option<Arc<TransactionMetadata>>,
    },
    /// A control record: the end of a transaction.
    EndTransaction {
        /// Whether it was committed; otherwise it was aborted.
        is_commit: bool,
        /// Epoch of the transaction coordinator that sent the marker.
        coordinator_epoch: i32,
    },
}

/// The state of a transactional id at its coordinator.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
pub enum TransactionState {
    /// It has had no transaction with this epoch.
    #[default]
    Empty,
    /// A transaction is open.
    Ongoing,
    /// Its commit is decided; markers are on their way.
    PrepareCommit,
    /// Its abort is decided; markers are on their way.
    PrepareAbort,
    /// Every partition has the marker of the commit.
    CompleteCommit,
    /// Every partition has the marker of the abort.
    CompleteAbort,
    /// It is about to be aborted under an epoch that fences its producer.
    PrepareEpochFence,
    /// It is forgotten.
    Dead,
}

impl TransactionState {
    /// Kafka's name.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Empty => "Empty",
            Self::Ongoing => "Ongoing",
            Self::PrepareCommit => "PrepareCommit",
            Self::PrepareAbort => "PrepareAbort",
            Self::CompleteCommit => "CompleteCommit",
            Self::CompleteAbort => "CompleteAbort",
            Self::PrepareEpochFence => "PrepareEpochFence",
            Self::Dead => "Dead",
        }
    }
}

/// A transactional id as it stands in `__transaction_state`.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize)]
pub struct TransactionMetadata {
    /// Its producer id.
    pub producer_id: i64,
    /// The epoch of its producer; -1 before its first.
    pub producer_epoch: i16,
    /// `transaction.timeout.ms` of the producer.
    pub timeout_ms: i64,
    /// Its state.
    pub state: TransactionState,
    /// The partitions of the transaction, sorted.
    pub partitions: Vec<TopicPartition>,
    /// When the transaction began; unset while there is none.
    pub started_at: Option<SimTime>,
    /// When this was written.
    pub updated_at: SimTime,
}

/// A committed offset.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
pub struct CommittedOffset {
    /// Where the group goes on.
    pub offset: Offset,
    /// Leader epoch of the last record before it; -1 when unknown.
    pub leader_epoch: i32,
    /// When it was committed.
    pub committed_at: SimTime,
}

/// A classic group as it stands in `__consumer_offsets`.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize)]
pub struct GroupMetadata {
    /// `consumer` for consumers.
    pub protocol_type: Arc<str>,
    /// Generation of the last completed join phase.
    pub generation_id: i32,
    /// The assignor that the group has chosen; unset while the group is empty.
    pub protocol_name: Option<Arc<str>>,
    /// The member that computes assignments; unset while the group is empty.
    pub leader: Option<MemberId>,
    /// When the group entered its state.
    pub current_state_at: SimTime,
    /// Members in the order in which they joined.
    pub members: Vec<MemberMetadata>,
}

/// A member as it stands in `__consumer_offsets`.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize)]
pub struct MemberMetadata {
    /// Its member id.
    pub member_id: MemberId,
    /// Its `group.instance.id`; unset for a dynamic member.
    pub group_instance_id: Option<InstanceId>,
    /// Its `client.id`.
    pub client_id: Arc<str>,
    /// The process behind it (`client_host` in Kafka).
    pub client: NodeId,
    /// `max.poll.interval.ms` of the member.
    pub rebalance_timeout_ms: i64,
    /// `session.timeout.ms` of the member.
    pub session_timeout_ms: i64,
    /// Its subscription under the chosen assignor.
    pub subscription: Arc<Subscription>,
    /// The partitions it was given.
    pub assignment: Arc<Vec<TopicPartition>>,
}

/// A piece of a group of the consumer protocol, each with a key of its own in the log. An unset
/// value is a tombstone.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum ConsumerGroupPiece {
    /// A member as it describes itself.
    Member(MemberId, Option<Arc<ConsumerMemberMetadata>>),
    /// Id and partition count of each subscribed topic that exists, by name.
    Topics(Option<Arc<Vec<SubscribedTopic>>>),
    /// The group epoch.
    Epoch(Option<i32>),
    /// What a member is to own.
    Target(MemberId, Option<Arc<Vec<TopicPartition>>>),
    /// The group epoch that the target assignment was computed in.
    TargetEpoch(Option<i32>),
    /// How far a member has come on its way there.
    Current(MemberId, Option<Arc<CurrentAssignment>>),
}

/// A subscribed topic as the coordinator last saw it: its name, id and number of partitions.
pub type SubscribedTopic = (Arc<str>, TopicId, u32);

/// A member of the consumer protocol as it describes itself (`ConsumerGroupMemberMetadataValue`).
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize)]
pub struct ConsumerMemberMetadata {
    /// Its `group.instance.id`; unset for a dynamic member.
    pub group_instance_id: Option<InstanceId>,
    /// Its `client.rack`.
    pub rack_id: Option<Arc<str>>,
    /// Its `client.id`.
    pub client_id: Arc<str>,
    /// The process behind it (`client_host` in Kafka).
    pub client: NodeId,
    /// Names of the topics that it subscribes to, sorted.
    pub subscribed_topics: Vec<Arc<str>>,
    /// The assignor that it asks for; unset leaves that to the others.
    pub server_assignor: Option<Arc<str>>,
    /// Its `max.poll.interval.ms`; -1 before it has said so.
    pub rebalance_timeout_ms: i64,
    /// Set for a member that speaks the classic protocol.
    pub classic: Option<ClassicMemberMetadata>,
}

/// What a member of the classic protocol in a group of the consumer protocol says besides.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize)]
pub struct ClassicMemberMetadata {
    /// Its `session.timeout.ms`.
    pub session_timeout_ms: i64,
    /// The assignors that it offers, in its order of preference.
    pub protocols: Vec<(Arc<str>, Arc<Subscription>)>,
}

/// How far a member of the consumer protocol has come
/// (`ConsumerGroupCurrentMemberAssignmentValue`).
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize)]
pub struct CurrentAssignment {
    /// Its epoch; -2 while a static member is away.
    pub member_epoch: i32,
    /// Its epoch before the last step.
    pub previous_member_epoch: i32,
    /// What it waits for.
    pub state: ReconciliationState,
    /// What it may own, sorted.
    pub assigned: Vec<TopicPartition>,
    /// What it has been told to give up and has not acknowledged, sorted.
    pub pending_revocation: Vec<TopicPartition>,
}

/// What a member of the consumer protocol waits for, at the coordinator (`MemberState`).
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum ReconciliationState {
    /// For nothing: it has reached its epoch.
    #[default]
    Stable,
    /// The coordinator waits for it to give up partitions.
    UnrevokedPartitions,
    /// It waits for others to give up partitions.
    UnreleasedPartitions,
    /// A newer coordinator wrote a state that this one does not know.
    Unknown,
}

impl ReconciliationState {
    /// Kafka's name.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Stable => "STABLE",
            Self::UnrevokedPartitions => "UNREVOKED_PARTITIONS",
            Self::UnreleasedPartitions => "UNRELEASED_PARTITIONS",
            Self::Unknown => "UNKNOWN",
        }
    }
}

impl ConsumerGroupPiece {
    /// Which kind of piece it is, as in the record's key, and which member it is about.
    pub const fn key(&self) -> (u8, Option<&MemberId>) {
        match self {
            Self::Epoch(_) => (3, None),
            Self::Topics(_) => (4, None),
            Self::Member(member_id, _) => (5, Some(member_id)),
            Self::TargetEpoch(_) => (6, None),
            Self::Target(member_id, _) => (7, Some(member_id)),
            Self::Current(member_id, _) => (8, Some(member_id)),
        }
    }

    /// Whether it removes the piece.
    pub const fn is_tombstone(&self) -> bool {
        match self {
            Self::Epoch(value) | Self::TargetEpoch(value) => value.is_none(),
            Self::Topics(value) => value.is_none(),
            Self::Member(_, value) => value.is_none(),
            Self::Target(_, value) => value.is_none(),
            Self::Current(_, value) => value.is_none(),
        }
    }
}

/// What a member says of itself under one assignor (`ConsumerProtocolSubscription`).
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize)]
pub struct Subscription {
    /// Subscribed topic names, sorted.
    pub topics: Vec<Arc<str>>,
    /// Partitions that the member owned when it joined, sorted; empty for eager assignors.
    pub owned_partitions: Vec<TopicPartition>,
    /// Generation in which it owned them; -1 when there was none.
    pub generation_id: i32,
    /// `client.rack`; unset when the client has none.
    pub rack_id: Option<Arc<str>>,
    /// What the assignor has added; unset when it adds nothing.
    pub user_data: Option<Arc<UserData>>,
}

/// What a record is known by when its log is compacted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum RecordKey<'a> {
    /// An application's key.
    Text(&'a str),
    /// A committed offset: group and partition.
    Offset(&'a GroupId, TopicPartition),
    /// A group.
    Group(&'a GroupId),
    /// A piece of a group of the consumer protocol: which kind, and of which member.
    ConsumerGroup(&'a GroupId, u8, Option<&'a MemberId>),
}

/// A batch of records as it stands in a log.
///
/// Invariant: the offsets of its records lie between `base_offset` and `last_offset()` and rise.
/// They are consecutive unless compaction has taken records out; then `offset_deltas` says which
/// are left, and the batch may be empty.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize)]
pub struct Batch {
    /// Offset of its first record, removed ones included.
    pub base_offset: Offset,
    /// Offset of its last record, removed ones included, counted from `base_offset`.
    pub last_offset_delta: u32,
    /// Epoch of the leader that appended it.
    pub leader_epoch: i32,
    /// Size in bytes: header and records.
    pub size_bytes: u32,
    /// When the leader appended it.
    pub appended_at: SimTime,
    /// From when on compaction removes its tombstones; unset before it has seen any.
    pub delete_horizon_at: Option<SimTime>,
    /// Who wrote it, as far as the log must know.
    pub producer: ProducerStamp,
    /// Its records. Shared: replicas and answers point at the same ones.
    #[serde(serialize_with = "serialize_records")]
    pub records: Arc<[Record]>,
    /// Offsets of its records counted from `base_offset`; unset while they are consecutive.
    #[serde(skip)]
    pub offset_deltas: Option<Arc<[u32]>>,
}

/// What a batch's header says of its producer (KIP-98).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
pub struct ProducerStamp {
    /// The producer's id; -1 for one without idempotence.
    pub producer_id: i64,
    /// Its epoch; -1 without an id.
    pub producer_epoch: i16,
    /// Sequence of the first record; -1 without an id, and in a control batch.
    pub base_sequence: i32,
    /// Whether the records belong to a transaction.
    pub is_transactional: bool,
    /// Whether the batch holds a marker that ends a transaction, which no application sees.
    pub is_control: bool,
}

impl ProducerStamp {
    /// A producer without idempotence.
    pub const NONE: Self = Self {
        producer_id: -1,
        producer_epoch: -1,
        base_sequence: -1,
        is_transactional: false,
        is_control: false,
    };

    /// Whether the broker keeps state about the producer.
    pub const fn has_id(&self) -> bool {
        0 <= self.producer_id
    }

    /// The sequence `count` records after `sequence`; after the largest comes 0.
    ///
    /// # Source
    /// `DefaultRecordBatch.incrementSequence`.
    pub fn advance(sequence: i32, count: i64) -> i32 {
        let next = (i64::from(sequence) + count) % (i64::from(i32::MAX) + 1);
        i32::try_from(next).unwrap_or_default()
    }
}

fn serialize_records<S: serde::Serializer>(
    records: &Arc<[Record]>,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    serializer.collect_seq(records.iter())
}

impl Batch {
    /// The control batch that ends a transaction of the producer with this id and epoch.
    pub fn end_of_transaction(
        (producer_id, producer_epoch): (i64, i16),
        is_commit: bool,
        coordinator_epoch: i32,
        now: SimTime,
    ) -> Self {
        let record = Record {
            record_id: RecordId(u64::MAX),
            key: None,
            value: RecordValue::EndTransaction {
                is_commit,
                coordinator_epoch,
            },
            timestamp: now,
            size_bytes: Record::OVERHEAD_BYTES + 7,
        };
        let producer = ProducerStamp {
            producer_id,
            producer_epoch,
            base_sequence: -1,
            is_transactional: true,
            is_control: true,
        };
        Self {
            producer,
            appended_at: now,
            ..Self::new(Arc::from([record]))
        }
    }

    /// Bytes of a batch's header.
    pub const HEADER_BYTES: u32 = 61;

    /// A batch of these records as a producer sends it: offsets, epoch and time of the append are
    /// the leader's to fill in.
    pub fn new(records: Arc<[Record]>) -> Self {
        let count = u32::try_from(records.len()).unwrap_or(u32::MAX);
        Self {
            base_offset: Offset::UNKNOWN,
            last_offset_delta: count.saturating_sub(1),
            leader_epoch: -1,
            size_bytes: Self::size_of(&records),
            appended_at: SimTime::ZERO,
            delete_horizon_at: None,
            producer: ProducerStamp::NONE,
            records,
            offset_deltas: None,
        }
    }

    /// Bytes of a batch of these records.
    pub fn size_of(records: &[Record]) -> u32 {
        let payload: u32 = records.iter().map(|record| record.size_bytes).sum();
        Self::HEADER_BYTES + payload
    }

    /// The offsets that it covers, those of removed records included.
    pub fn count(&self) -> i64 {
        i64::from(self.last_offset_delta) + 1
    }

    /// Offset of its last record, removed ones included.
    pub fn last_offset(&self) -> Offset {
        self.base_offset + i64::from(self.last_offset_delta)
    }

    /// The offset after its last record.
    pub fn next_offset(&self) -> Offset {
        self.base_offset + self.count()
    }

    /// Its records with their offsets.
    pub fn entries(&self) -> impl Iterator<Item = (Offset, &Record)> + '_ {
        let mut next = 0;
        self.records.iter().enumerate().map(move |(index, record)| {
            let kept = self
                .offset_deltas
                .as_deref()
                .map(|deltas| deltas.get(index));
            let delta = kept.flatten().map_or(next, |delta| i64::from(*delta));
            next = delta + 1;
            (self.base_offset + delta, record)
        })
    }

    /// The largest timestamp of its records and the offset of the first that has it; unset when
    /// compaction has left no record.
    pub fn max_timestamp(&self) -> Option<(SimTime, Offset)> {
        let mut largest: Option<(SimTime, Offset)> = None;
        for (offset, record) in self.entries() {
            if largest.is_none_or(|(timestamp, _)| timestamp < record.timestamp) {
                largest = Some((record.timestamp, offset));
            }
        }
        largest
    }
}

impl Record {
    /// Bytes of a record beside its key and value.
    pub const OVERHEAD_BYTES: u32 = 10;

    /// An application's record with its serialised size.
    pub fn text(record_id: RecordId, key: Option<Arc<str>>, value: Arc<str>, at: SimTime) -> Self {
        let length = key.as_ref().map_or(0, |key| key.len()) + value.len();
        let size_bytes = Self::OVERHEAD_BYTES + u32::try_from(length).unwrap_or(u32::MAX / 2);
        Self {
            record_id,
            key,
            value: RecordValue::Text(value),
            timestamp: at,
            size_bytes,
        }
    }

    /// A record without a value: in a compacted topic it removes its key.
    pub fn tombstone(record_id: RecordId, key: Option<Arc<str>>, at: SimTime) -> Self {
        let length = key.as_ref().map_or(0, |key| key.len());
        let length = u32::try_from(length).unwrap_or(u32::MAX / 2);
        Self {
            record_id,
            key,
            value: RecordValue::Null,
            timestamp: at,
            size_bytes: Self::OVERHEAD_BYTES + length,
        }
    }

    /// The text that an application put in; unset for a tombstone and the coordinator's records.
    pub fn as_text(&self) -> Option<&Arc<str>> {
        match &self.value {
            RecordValue::Text(text) => Some(text),
            RecordValue::Null
            | RecordValue::OffsetCommit { .. }
            | RecordValue::GroupMetadata { .. }
            | RecordValue::ConsumerGroup { .. }
            | RecordValue::Transaction { .. }
            | RecordValue::EndTransaction { .. } => None,
        }
    }

    /// What compaction knows it by; unset for an application's record without a key and for
    /// control records.
    pub fn compaction_key(&self) -> Option<RecordKey<'_>> {
        match &self.value {
            RecordValue::Text(_) | RecordValue::Null => self.key.as_deref().map(RecordKey::Text),
            RecordValue::OffsetCommit {
                group_id,
                topic_partition,
                ..
            } => Some(RecordKey::Offset(group_id, *topic_partition)),
            RecordValue::GroupMetadata { group_id, .. } => Some(RecordKey::Group(group_id)),
            RecordValue::ConsumerGroup { group_id, piece } => {
                let (kind, member_id) = piece.key();
                Some(RecordKey::ConsumerGroup(group_id, kind, member_id))
            }
            RecordValue::Transaction {
                transactional_id, ..
            } => Some(RecordKey::Text(transactional_id)),
            RecordValue::EndTransaction { .. } => None,
        }
    }

    /// Whether it removes its key from a compacted topic.
    pub const fn is_tombstone(&self) -> bool {
        match &self.value {
            RecordValue::Null => true,
            RecordValue::Text(_) | RecordValue::EndTransaction { .. } => false,
            RecordValue::OffsetCommit { committed, .. } => committed.is_none(),
            RecordValue::GroupMetadata { metadata, .. } => metadata.is_none(),
            RecordValue::ConsumerGroup { piece, .. } => piece.is_tombstone(),
            RecordValue::Transaction { metadata, .. } => metadata.is_none(),
        }
    }
}
