//! Groups of the consumer protocol (KIP-848): the coordinator computes what each member is to own
//! and leads every member there by the answers to its heartbeats.
//!
//! A group is what its records say. A handler works out, from the group as it is, which pieces to
//! write and what to answer; the group changes when they are appended, by [`ConsumerGroup::replay`].
//! So a failover resumes in the middle of a hand-over.
//!
//! | module | holds |
//! |---|---|
//! | `heartbeat` | `ConsumerGroupHeartbeat`: joining, staying, leaving, static members |
//! | `target` | who is to own what |
//! | `reconcile` | one member's next step towards that |
//! | `classic_member` | members of the classic protocol, and changes of a group's protocol |
//! | `upkeep` | timers, loading, unloading, expiry |

pub(super) use heartbeat::refusal;

mod classic_member;
mod heartbeat;
mod reconcile;
mod target;
#[cfg(test)]
mod tests;
mod upkeep;

use super::context::Context;
use super::records::NO_RECORD_ID;
use crate::base::ids::{ClientId, GroupId, InstanceId, MemberId, NodeId, TopicId, TopicPartition};
use crate::kernel::time::SimTime;
use crate::trace::event::{GroupState, TraceEvent};
use crate::wire::api::OffsetCommitRequest;
use crate::wire::error_code::ErrorCode;
use crate::wire::record::{
    CommittedOffset, ConsumerGroupPiece, ConsumerMemberMetadata, CurrentAssignment,
    ReconciliationState, Record, RecordValue, SubscribedTopic,
};
use serde::{Serialize, Serializer};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// The epoch with which a member leaves.
pub const LEAVE_GROUP_MEMBER_EPOCH: i32 = -1;
/// The epoch with which a static member leaves for a while.
pub const LEAVE_GROUP_STATIC_MEMBER_EPOCH: i32 = -2;
/// The epoch of a partition that nobody has.
const FREE: i32 = -1;

/// A group of the consumer protocol on its coordinator.
///
/// Invariant: member epoch ≤ target assignment epoch ≤ group epoch. A partition is assigned to one
/// member or pending revocation at one, and has that member's epoch.
#[derive(Clone, Debug, Serialize)]
pub struct ConsumerGroup {
    /// Its id.
    pub group_id: GroupId,
    /// Raised by every change of members, subscriptions and subscribed topics.
    pub group_epoch: i32,
    /// The group epoch that the target assignment is for.
    pub target_assignment_epoch: i32,
    /// Its members by member id.
    pub members: Vec<ConsumerMember>,
    /// The subscribed topics that exist, by name, as the coordinator last looked at them.
    pub subscribed_topics: Arc<Vec<SubscribedTopic>>,
    /// Committed offsets.
    #[serde(serialize_with = "serialize_offsets")]
    pub offsets: BTreeMap<TopicPartition, CommittedOffset>,
    /// How many members subscribe to each topic.
    subscriber_counts: BTreeMap<Arc<str>, u32>,
    /// Epoch of each partition by topic: that of the member that has it, or has yet to give it up.
    #[serde(skip)]
    partition_epochs: Vec<(TopicId, Vec<i32>)>,
    /// Whether the topics have to be looked at again at the next heartbeat.
    pub is_metadata_refresh_due: bool,
    /// Members of the classic protocol that have been told to join again and have not.
    awaited_joins: BTreeSet<MemberId>,
    /// The state that the trace knows.
    noted_state: GroupState,
}

/// A member of a group of the consumer protocol.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ConsumerMember {
    /// Its id.
    pub member_id: MemberId,
    /// What it says of itself.
    pub metadata: Arc<ConsumerMemberMetadata>,
    /// What it is to own, sorted.
    pub target: Arc<Vec<TopicPartition>>,
    /// How far it has come.
    pub current: Arc<CurrentAssignment>,
}

fn serialize_offsets<S: Serializer>(
    offsets: &BTreeMap<TopicPartition, CommittedOffset>,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    serializer.collect_seq(offsets)
}

impl ConsumerMember {
    /// A member of which nothing is known yet.
    fn new(member_id: MemberId) -> Self {
        let metadata = ConsumerMemberMetadata {
            group_instance_id: None,
            rack_id: None,
            client_id: Arc::from(""),
            client: NodeId::Client(ClientId(0)),
            subscribed_topics: Vec::new(),
            server_assignor: None,
            rebalance_timeout_ms: -1,
            classic: None,
        };
        Self {
            member_id,
            metadata: Arc::new(metadata),
            target: Arc::new(Vec::new()),
            current: Arc::new(CurrentAssignment::default()),
        }
    }

    /// Whether it has reached the target assignment of this epoch.
    pub fn is_reconciled_to(&self, target_assignment_epoch: i32) -> bool {
        self.current.state == ReconciliationState::Stable
            && self.current.member_epoch == target_assignment_epoch
    }
}

impl ConsumerGroup {
    /// A group without members.
    pub(super) fn new(group_id: GroupId) -> Self {
        Self {
            group_id,
            group_epoch: 0,
            target_assignment_epoch: 0,
            members: Vec::new(),
            subscribed_topics: Arc::new(Vec::new()),
            offsets: BTreeMap::new(),
            subscriber_counts: BTreeMap::new(),
            partition_epochs: Vec::new(),
            is_metadata_refresh_due: true,
            awaited_joins: BTreeSet::new(),
            noted_state: GroupState::Dead,
        }
    }

    /// The member of this id.
    pub fn member(&self, member_id: &MemberId) -> Option<&ConsumerMember> {
        let place = self.place(member_id).ok()?;
        self.members.get(place)
    }

    fn place(&self, member_id: &MemberId) -> Result<usize, usize> {
        self.members
            .binary_search_by(|member| member.member_id.cmp(member_id))
    }

    /// The static member of this instance id.
    pub fn static_member(&self, instance_id: &InstanceId) -> Option<&ConsumerMember> {
        self.members
            .iter()
            .find(|member| member.metadata.group_instance_id.as_ref() == Some(instance_id))
    }

    /// Its state, which follows from its epochs and members.
    ///
    /// # Source
    /// `ConsumerGroup#maybeUpdateGroupState` (Kafka 1eb7644).
    pub fn state(&self) -> GroupState {
        if self.members.is_empty() {
            return GroupState::Empty;
        }
        if self.target_assignment_epoch < self.group_epoch {
            return GroupState::Assigning;
        }
        let mut members = self.members.iter();
        if members.all(|member| member.is_reconciled_to(self.target_assignment_epoch)) {
            GroupState::Stable
        } else {
            GroupState::Reconciling
        }
    }

    /// Epoch of the member that has a partition, or has yet to give it up; -1 when nobody has it.
    /// A static member that is away holds its partitions with -2.
    pub fn partition_epoch(&self, topic_partition: TopicPartition) -> i32 {
        let TopicPartition { topic, partition } = topic_partition;
        let Ok(place) = self
            .partition_epochs
            .binary_search_by_key(&topic, |it| it.0)
        else {
            return FREE;
        };
        let epochs = self.partition_epochs.get(place);
        let index = usize::try_from(partition).unwrap_or(usize::MAX);
        epochs
            .and_then(|(_, epochs)| epochs.get(index))
            .copied()
            .unwrap_or(FREE)
    }

    fn set_partition_epochs(&mut self, current: &CurrentAssignment, is_held: bool) {
        let epoch = if is_held { current.member_epoch } else { FREE };
        for id in current.assigned.iter().chain(&current.pending_revocation) {
            let place = match self
                .partition_epochs
                .binary_search_by_key(&id.topic, |it| it.0)
            {
                Ok(place) => place,
                Err(place) => {
                    self.partition_epochs.insert(place, (id.topic, Vec::new()));
                    place
                }
            };
            let Some((_, epochs)) = self.partition_epochs.get_mut(place) else {
                continue;
            };
            let index = usize::try_from(id.partition).unwrap_or(usize::MAX);
            if epochs.len() <= index {
                epochs.resize(index + 1, FREE);
            }
            if let Some(slot) = epochs.get_mut(index) {
                *slot = epoch;
            }
        }
    }

    /// Applies a piece of the group's state.
    ///
    /// # Source
    /// `GroupMetadataManager#replay`, `ConsumerGroup` (Kafka 1eb7644).
    pub(super) fn replay(&mut self, piece: &ConsumerGroupPiece) {
        match piece {
            ConsumerGroupPiece::Epoch(epoch) => self.group_epoch = epoch.unwrap_or_default(),
            ConsumerGroupPiece::TargetEpoch(epoch) => {
                self.target_assignment_epoch = epoch.unwrap_or_default();
            }
            ConsumerGroupPiece::Topics(topics) => {
                self.subscribed_topics = topics.clone().unwrap_or_default();
            }
            ConsumerGroupPiece::Member(member_id, None) => {
                if let Ok(place) = self.place(member_id) {
                    let member = self.members.remove(place);
                    self.awaited_joins.remove(member_id);
                    self.count_subscriber(&member.metadata, false);
                    self.set_partition_epochs(&member.current, false);
                }
            }
            ConsumerGroupPiece::Member(member_id, Some(metadata)) => {
                let metadata = Arc::clone(metadata);
                self.count_subscriber(&metadata, true);
                let member = self.member_or_new(member_id);
                let former = std::mem::replace(&mut member.metadata, metadata);
                self.count_subscriber(&former, false);
            }
            ConsumerGroupPiece::Target(member_id, None) => {
                if let Ok(place) = self.place(member_id)
                    && let Some(member) = self.members.get_mut(place)
                {
                    member.target = Arc::new(Vec::new());
                }
            }
            ConsumerGroupPiece::Target(member_id, Some(target)) => {
                self.member_or_new(member_id).target = Arc::clone(target);
            }
            ConsumerGroupPiece::Current(member_id, None) => {
                if self.place(member_id).is_ok() {
                    self.replay_current(member_id, &Arc::new(CurrentAssignment::default()));
                }
            }
            ConsumerGroupPiece::Current(member_id, Some(current)) => {
                self.replay_current(member_id, current);
            }
        }
    }

    fn replay_current(&mut self, member_id: &MemberId, current: &Arc<CurrentAssignment>) {
        let member = self.member_or_new(member_id);
        let former = std::mem::replace(&mut member.current, Arc::clone(current));
        self.set_partition_epochs(&former, false);
        self.set_partition_epochs(current, true);
    }

    fn member_or_new(&mut self, member_id: &MemberId) -> &mut ConsumerMember {
        let place = match self.place(member_id) {
            Ok(place) => place,
            Err(place) => {
                let member = ConsumerMember::new(member_id.clone());
                self.members.insert(place, member);
                place
            }
        };
        self.members
            .get_mut(place)
            .expect("invariant: the place was just found")
    }

    fn count_subscriber(&mut self, metadata: &ConsumerMemberMetadata, is_there: bool) {
        for name in &metadata.subscribed_topics {
            if is_there {
                *self.subscriber_counts.entry(name.clone()).or_default() += 1;
            } else if let Some(count) = self.subscriber_counts.get_mut(name) {
                *count -= 1;
                if *count == 0 {
                    self.subscriber_counts.remove(name);
                }
            }
        }
    }

    /// Whether some member subscribes to this topic.
    pub(super) fn is_subscribed_to(&self, name: &Arc<str>) -> bool {
        self.subscriber_counts.contains_key(name)
    }

    /// Partition epochs follow from the members; after a load they are counted anew, because a
    /// compacted log need not tell the hand-overs in their order.
    fn count_partition_epochs(&mut self) {
        self.partition_epochs.clear();
        for place in 0..self.members.len() {
            let current = self.members.get(place).map(|it| Arc::clone(&it.current));
            self.set_partition_epochs(&current.unwrap_or_default(), true);
        }
    }

    /// Notes the state, if it is another one than the trace knows.
    pub(super) fn note_state(&mut self, ctx: &mut Context<'_>) {
        let state = self.state();
        let previous = std::mem::replace(&mut self.noted_state, state);
        if previous == state {
            return;
        }
        let reason = match state {
            GroupState::Empty => "its last member is gone",
            GroupState::Assigning => "its epoch is ahead of its target assignment",
            GroupState::Reconciling => "members go over to the target assignment",
            GroupState::Stable => "every member has its target assignment",
            GroupState::Dead | GroupState::PreparingRebalance | GroupState::CompletingRebalance => {
                "nothing is left of it"
            }
        };
        ctx.out.trace(TraceEvent::GroupStateChanged {
            group_id: self.group_id.clone(),
            previous,
            state,
            generation_id: self.group_epoch,
            reason: Arc::from(reason),
        });
    }

    /// Whether a member, or a consumer outside the group, may commit now. A transaction knows no
    /// stale epoch.
    ///
    /// # Source
    /// `ConsumerGroup#validateOffsetCommit`, `OffsetMetadataManager#validateTransactionalOffsetCommit`
    /// (Kafka 1eb7644).
    pub(super) fn check_commit(
        &self,
        request: &OffsetCommitRequest,
        is_transactional: bool,
    ) -> Result<(), ErrorCode> {
        if request.generation_id < 0 && self.members.is_empty() {
            return Ok(());
        }
        if is_transactional && request.generation_id < 0 && request.member_id.is_empty() {
            return Ok(());
        }
        let member = self
            .member(&request.member_id)
            .ok_or(ErrorCode::UnknownMemberId)?;
        let is_classic = member.metadata.classic.is_some();
        if !is_classic && !is_transactional && request.version < MEMBER_EPOCH_VERSION {
            return Err(ErrorCode::UnsupportedVersion);
        }
        let is_stale = member.current.member_epoch != request.generation_id;
        match (is_stale, is_classic || is_transactional) {
            (false, _) => Ok(()),
            (true, true) => Err(ErrorCode::IllegalGeneration),
            (true, false) => Err(ErrorCode::StaleMemberEpoch),
        }
    }

    /// Whether this reader may know the group's offsets. One that names no member may.
    ///
    /// # Source
    /// `ConsumerGroup#validateOffsetFetch` (Kafka 1eb7644).
    pub(super) fn check_fetch(&self, member_id: &MemberId, epoch: i32) -> Result<(), ErrorCode> {
        if member_id.is_empty() && epoch < 0 {
            return Ok(());
        }
        let member = self.member(member_id).ok_or(ErrorCode::UnknownMemberId)?;
        match member.current.member_epoch == epoch {
            true => Ok(()),
            false if member.metadata.classic.is_some() => Err(ErrorCode::IllegalGeneration),
            false => Err(ErrorCode::StaleMemberEpoch),
        }
    }

    /// The record of a piece.
    pub(super) fn record(&self, piece: ConsumerGroupPiece, now: SimTime) -> Record {
        let key_bytes = 4 + self.group_id.as_str().len();
        let (_, member_id) = piece.key();
        let member_bytes = member_id.map_or(0, |id| 2 + id.as_str().len());
        let size = key_bytes + member_bytes + value_bytes(&piece);
        Record {
            record_id: NO_RECORD_ID,
            key: Some(Arc::clone(&self.group_id.0)),
            size_bytes: Record::OVERHEAD_BYTES + u32::try_from(size).unwrap_or(u32::MAX / 4),
            value: RecordValue::ConsumerGroup {
                group_id: self.group_id.clone(),
                piece,
            },
            timestamp: now,
        }
    }
}

/// Size of a piece's value: ids of topics take 16 bytes, numbers 4.
fn value_bytes(piece: &ConsumerGroupPiece) -> usize {
    let partitions = |list: &[TopicPartition]| {
        let mut count = 0;
        let mut last = None;
        for id in list {
            count += usize::from(last != Some(id.topic));
            last = Some(id.topic);
        }
        4 + count * (16 + 4) + list.len() * 4
    };
    match piece {
        ConsumerGroupPiece::Epoch(None)
        | ConsumerGroupPiece::TargetEpoch(None)
        | ConsumerGroupPiece::Topics(None)
        | ConsumerGroupPiece::Member(_, None)
        | ConsumerGroupPiece::Target(_, None)
        | ConsumerGroupPiece::Current(_, None) => 0,
        ConsumerGroupPiece::Epoch(Some(_)) | ConsumerGroupPiece::TargetEpoch(Some(_)) => 2 + 4,
        ConsumerGroupPiece::Topics(Some(topics)) => {
            let names = topics
                .iter()
                .map(|(name, _, _)| 16 + 2 + name.len() + 4 + 4);
            2 + 4 + names.sum::<usize>()
        }
        ConsumerGroupPiece::Member(_, Some(metadata)) => {
            let names = metadata.subscribed_topics.iter().map(|name| 2 + name.len());
            let instance_id = metadata.group_instance_id.as_ref();
            2 + 3 * 2
                + 4
                + metadata.client_id.len()
                + instance_id.map_or(0, |id| id.as_str().len())
                + names.sum::<usize>()
        }
        ConsumerGroupPiece::Target(_, Some(target)) => 2 + partitions(target),
        ConsumerGroupPiece::Current(_, Some(current)) => {
            2 + 4 + 4 + 1 + partitions(&current.assigned) + partitions(&current.pending_revocation)
        }
    }
}

/// `OffsetCommit` from this version on knows member epochs.
const MEMBER_EPOCH_VERSION: i16 = 9;
