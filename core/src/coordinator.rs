//! The group coordinator: the classic protocol (`JoinGroup`, `SyncGroup`, `Heartbeat`,
//! `LeaveGroup`), the consumer protocol (`ConsumerGroupHeartbeat`, KIP-848) and
//! committed offsets, for the groups whose partition of `__consumer_offsets` this broker leads.
//!
//! A pure state machine. Handlers change groups, answer and park through [`Out`], and queue records
//! that the broker drains with [`GroupCoordinator::take_appends`] after every call and appends to
//! its log. What depends on a record waits until the high watermark has passed it. The append
//! linger of Kafka (`group.coordinator.append.linger.ms`) is 0 here.
//!
//! Modelled on Kafka's Java coordinator (`GroupMetadataManager`, `OffsetMetadataManager`,
//! `CoordinatorRuntime` at 1eb7644), accidents of its behaviour included:
//! - a flag left over from an initial rebalance can extend the next one by a round;
//! - a session that runs out can end an initial rebalance early;
//! - the former id of a static member that never synced still brings the `sync` timer down;
//! - a parked `SyncGroup` of a member that leaves is never answered.
//!
//! | module | holds |
//! |---|---|
//! | `state` | the states of a group and the edges between them |
//! | `group` | a group's data and the rules that follow from the data alone |
//! | `join` | `JoinGroup`, static members included |
//! | `rebalance` | the join phase, its timers, sessions |
//! | `session` | `SyncGroup`, `Heartbeat`, `LeaveGroup` |
//! | `consumer_group` | groups of the consumer protocol |
//! | `offsets` | `OffsetCommit`, `OffsetFetch`, expiry |
//! | `records` | records of `__consumer_offsets` and their replay |
//! | `runtime` | one partition: append, replay, answer at the high watermark |

mod consumer_group;
mod context;
mod group;
mod join;
mod offsets;
mod rebalance;
mod records;
mod runtime;
mod session;
mod state;
#[cfg(test)]
mod tests;

pub use consumer_group::{
    ConsumerGroup, ConsumerMember, LEAVE_GROUP_MEMBER_EPOCH, LEAVE_GROUP_STATIC_MEMBER_EPOCH,
};
pub use group::{CONSUMER_PROTOCOL_TYPE, ClassicGroup, Member, Parked, Protocols};
pub use join::NEW_MEMBER_JOIN_TIMEOUT;
pub use records::NO_RECORD_ID;
pub use runtime::{CoordinatorPartition, ParkedRequest, client_error};
pub use state::{InitialDelay, JoinPhase, State, SyncPhase, may_become};

use crate::base::config::{BrokerConfig, HistoryConfig};
use crate::base::ids::{BrokerId, GroupId, MemberId, Offset, TopicId};
use crate::base::timer::Timer;
use crate::trace::event::TraceEvent;
use crate::trace::out::{Out, ReplyTo};
use crate::wire::api::{
    ConsumerGroupHeartbeatRequest, HeartbeatRequest, HeartbeatResponse, JoinGroupRequest,
    LeaveGroupRequest, LeaveGroupResponse, OffsetCommitRequest, OffsetCommitResponse,
    OffsetFetchRequest, OffsetFetchResponse, Response, SyncGroupRequest, TxnOffsetCommitRequest,
    TxnOffsetCommitResponse,
};
use crate::wire::error_code::ErrorCode;
use crate::wire::record::{ProducerStamp, Record};
use context::Context;
use serde::Serialize;
use std::collections::BTreeMap;
use std::sync::Arc;

/// The group coordinator of one broker.
#[derive(Clone, Debug, Serialize)]
pub struct GroupCoordinator {
    /// The broker.
    broker_id: BrokerId,
    /// Its settings.
    config: Arc<BrokerConfig>,
    /// What its release did otherwise.
    history: HistoryConfig,
    /// Whether it serves requests; not after [`Self::shutdown`].
    is_active: bool,
    /// The partitions of `__consumer_offsets` that the broker leads.
    partitions: BTreeMap<u32, CoordinatorPartition>,
    /// Names of topics, for record keys and for knowing which offsets a subscription needs.
    topic_names: BTreeMap<TopicId, Arc<str>>,
    /// The topics that exist, each with its id and number of partitions.
    #[serde(skip)]
    topics: BTreeMap<Arc<str>, (TopicId, u32)>,
    /// The id of the next append or waiting answer.
    next_append_id: u64,
    /// Appends that the broker has yet to take.
    #[serde(skip)]
    appends: Vec<CoordinatorAppend>,
}

/// Records that the broker is to append to a partition of `__consumer_offsets`, as one batch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CoordinatorAppend {
    /// What [`GroupCoordinator::on_appended`] and [`GroupCoordinator::on_append_failed`] call it.
    pub append_id: u64,
    /// Which partition.
    pub partition: u32,
    /// The records.
    pub records: Vec<Record>,
    /// Whose transaction they belong to; nobody's for most.
    pub producer: ProducerStamp,
}

/// The partition of `__consumer_offsets` that a group lives in: Java's `String.hashCode` of its id,
/// without the sign, modulo the number of partitions.
///
/// # Source
/// `GroupCoordinatorService#partitionFor`, `Utils#abs` (Kafka 1eb7644).
pub fn partition_for(group_id: &GroupId, partition_count: u32) -> u32 {
    let hash = group_id.as_str().encode_utf16().fold(0_i32, |hash, unit| {
        hash.wrapping_mul(31).wrapping_add(i32::from(unit))
    });
    let hash = hash.checked_abs().map_or(0, i32::unsigned_abs);
    hash % partition_count.max(1)
}

impl GroupCoordinator {
    /// The coordinator of a broker that has just started: it leads no partition yet.
    pub fn new(broker_id: BrokerId, config: Arc<BrokerConfig>) -> Self {
        Self {
            broker_id,
            config,
            history: HistoryConfig::default(),
            is_active: true,
            partitions: BTreeMap::new(),
            topic_names: BTreeMap::new(),
            topics: BTreeMap::new(),
            next_append_id: 0,
            appends: Vec::new(),
        }
    }

    /// Makes it the coordinator of an older release.
    pub const fn set_history(&mut self, history: HistoryConfig) {
        self.history = history;
    }

    /// The partition of `__consumer_offsets` that a group lives in.
    pub fn partition_for(group_id: &GroupId, partition_count: u32) -> u32 {
        partition_for(group_id, partition_count)
    }

    /// The partition of this group, by `offsets.topic.num.partitions`.
    pub fn partition_of(&self, group_id: &GroupId) -> u32 {
        let count = u32::try_from(self.config.offsets_topic_num_partitions).unwrap_or(1);
        partition_for(group_id, count)
    }

    /// The partitions that it coordinates, by number.
    pub fn partitions(&self) -> impl Iterator<Item = (u32, &CoordinatorPartition)> {
        self.partitions
            .iter()
            .map(|(index, partition)| (*index, partition))
    }

    /// Its groups with the partition that each lives in.
    pub fn groups(&self) -> impl Iterator<Item = (u32, &ClassicGroup)> {
        self.partitions
            .iter()
            .flat_map(|(index, partition)| partition.groups.values().map(|group| (*index, group)))
    }

    /// Its groups of the consumer protocol with the partition that each lives in.
    pub fn consumer_groups(&self) -> impl Iterator<Item = (u32, &ConsumerGroup)> {
        self.partitions.iter().flat_map(|(index, partition)| {
            let groups = partition.consumer_groups.values();
            groups.map(|group| (*index, group))
        })
    }

    /// The ids of all its groups.
    pub fn group_ids(&self) -> impl Iterator<Item = &GroupId> {
        self.partitions.values().flat_map(|partition| {
            let classic = partition.groups.keys();
            classic.chain(partition.consumer_groups.keys())
        })
    }

    /// The group of the consumer protocol of this id, if it is here.
    pub fn consumer_group(&self, group_id: &GroupId) -> Option<&ConsumerGroup> {
        self.partitions
            .get(&self.partition_of(group_id))?
            .consumer_groups
            .get(group_id)
    }

    /// Requests that wait here, as the trace shows them.
    pub fn parked(&self) -> impl Iterator<Item = ParkedRequest<'_>> {
        self.partitions
            .values()
            .flat_map(CoordinatorPartition::parked)
    }

    /// The group of this id, if it is here.
    pub fn group(&self, group_id: &GroupId) -> Option<&ClassicGroup> {
        self.partitions
            .get(&self.partition_of(group_id))?
            .groups
            .get(group_id)
    }

    /// Tells the name of a topic. Offsets of a topic whose name is unknown do not expire while
    /// their group has members.
    pub fn on_topic_named(&mut self, topic_id: TopicId, name: Arc<str>) {
        self.topic_names.insert(topic_id, name);
    }

    /// Tells which topics exist, each with its id and number of partitions, by name. Groups of the
    /// consumer protocol that subscribe to one that has changed look again at their next heartbeat.
    pub fn on_topics(&mut self, topics: BTreeMap<Arc<str>, (TopicId, u32)>) {
        if topics == self.topics {
            return;
        }
        let former = std::mem::replace(&mut self.topics, topics);
        let names = former.keys().chain(self.topics.keys());
        let changed: Vec<Arc<str>> = names
            .filter(|name| former.get(*name) != self.topics.get(*name))
            .cloned()
            .collect();
        for partition in self.partitions.values_mut() {
            partition.on_topics_changed(&changed);
        }
    }

    /// The broker leads a partition of `__consumer_offsets`; its log is to be read next.
    ///
    /// # Source
    /// `CoordinatorRuntime#scheduleLoadOperation` (Kafka 1eb7644).
    pub fn on_elected(&mut self, partition: u32, leader_epoch: i32, _out: &mut Out) {
        match self.partitions.get_mut(&partition) {
            Some(known) => known.set_leader_epoch(leader_epoch),
            None => {
                self.partitions
                    .insert(partition, CoordinatorPartition::new(leader_epoch));
            }
        }
    }

    /// The log of a partition has been read: groups are as its records say, members' sessions start
    /// anew.
    ///
    /// # Source
    /// `CoordinatorLoaderImpl#load`, `GroupMetadataManager#onLoaded` (Kafka 1eb7644).
    pub fn on_loaded<'a>(
        &mut self,
        partition: u32,
        records: impl IntoIterator<Item = (Offset, &'a Record)>,
        high_watermark: Offset,
        out: &mut Out,
    ) {
        self.on_partition(partition, out, |loading, ctx| {
            if !loading.is_loading {
                return;
            }
            loading.load(records, high_watermark, ctx);
            let groups = loading.groups.len() + loading.consumer_groups.len();
            let groups = u32::try_from(groups).unwrap_or(u32::MAX);
            ctx.out
                .trace(TraceEvent::CoordinatorLoaded { partition, groups });
        });
    }

    /// The broker leads a partition no longer: its groups are Dead here, and whoever waits is sent
    /// away with `NOT_COORDINATOR`.
    ///
    /// # Source
    /// `CoordinatorRuntime#scheduleUnloadOperation` (Kafka 1eb7644).
    pub fn on_resigned(&mut self, partition: u32, out: &mut Out) {
        if !self.partitions.contains_key(&partition) {
            return;
        }
        self.on_partition(partition, out, CoordinatorPartition::unload);
        self.partitions.remove(&partition);
        self.appends.retain(|append| append.partition != partition);
        out.trace(TraceEvent::CoordinatorUnloaded { partition });
    }

    /// The broker stops in good order: every partition is given up, and requests are answered
    /// `COORDINATOR_NOT_AVAILABLE` from now on.
    pub fn shutdown(&mut self, out: &mut Out) {
        self.is_active = false;
        let partitions: Vec<u32> = self.partitions.keys().copied().collect();
        for partition in partitions {
            self.on_resigned(partition, out);
        }
    }

    /// Answers or parks `JoinGroup`.
    ///
    /// # Errors sent
    /// `COORDINATOR_NOT_AVAILABLE` (15) shut down; `INVALID_GROUP_ID` (24);
    /// `INVALID_SESSION_TIMEOUT` (26); `COORDINATOR_LOAD_IN_PROGRESS` (14); `NOT_COORDINATOR` (16);
    /// then those of [`ClassicGroup`]'s join.
    /// # Source
    /// `GroupCoordinatorService#joinGroup` (Kafka 1eb7644).
    pub fn handle_join_group(&mut self, reply: ReplyTo, request: &JoinGroupRequest, out: &mut Out) {
        let sessions =
            self.config.group_min_session_timeout_ms..=self.config.group_max_session_timeout_ms;
        let early = if !self.is_active {
            Err(ErrorCode::CoordinatorNotAvailable)
        } else if request.group_id.is_empty() {
            Err(ErrorCode::InvalidGroupId)
        } else if !sessions.contains(&request.session_timeout_ms) {
            Err(ErrorCode::InvalidSessionTimeout)
        } else {
            Ok(())
        };
        let refuse =
            |error_code, member_id| Response::JoinGroup(group::join_error(error_code, member_id));
        if let Err(error) = early {
            return out.respond(reply, refuse(error, request.member_id.clone()));
        }
        match self.active_partition(&request.group_id) {
            Err(error) => out.respond(reply, refuse(error, MemberId::default())),
            Ok(partition) => {
                self.on_partition(partition, out, |partition, ctx| {
                    partition.join(reply, request, ctx);
                });
            }
        }
    }

    /// Answers or parks `SyncGroup`.
    ///
    /// # Errors sent
    /// `COORDINATOR_NOT_AVAILABLE` (15) shut down; `INVALID_GROUP_ID` (24);
    /// `COORDINATOR_LOAD_IN_PROGRESS` (14), where older brokers sent `REBALANCE_IN_PROGRESS`;
    /// `NOT_COORDINATOR` (16); `UNKNOWN_MEMBER_ID` (25) no such group, or an Empty one; then those
    /// of [`ClassicGroup`]'s sync.
    /// # Source
    /// `GroupCoordinatorService#syncGroup` (Kafka 1eb7644).
    pub fn handle_sync_group(&mut self, reply: ReplyTo, request: &SyncGroupRequest, out: &mut Out) {
        match self.named_partition(&request.group_id) {
            Err(error) => out.respond(reply, Response::SyncGroup(group::sync_error(error))),
            Ok(partition) => {
                self.on_partition(partition, out, |partition, ctx| {
                    partition.sync(reply, request, ctx);
                });
            }
        }
    }

    /// Answers `Heartbeat`. While the partition is being read every heartbeat is good.
    ///
    /// # Errors sent
    /// `COORDINATOR_NOT_AVAILABLE` (15) shut down; `INVALID_GROUP_ID` (24); `NOT_COORDINATOR` (16);
    /// `UNKNOWN_MEMBER_ID` (25) no such group; then those of [`ClassicGroup`]'s heartbeat.
    /// # Source
    /// `GroupCoordinatorService#heartbeat` (Kafka 1eb7644).
    pub fn handle_heartbeat(&mut self, reply: ReplyTo, request: &HeartbeatRequest, out: &mut Out) {
        match self.named_partition(&request.group_id) {
            Err(error) => {
                let is_loading = error == ErrorCode::CoordinatorLoadInProgress;
                let error_code = if is_loading { ErrorCode::None } else { error };
                out.respond(reply, Response::Heartbeat(HeartbeatResponse { error_code }));
            }
            Ok(partition) => {
                self.on_partition(partition, out, |partition, ctx| {
                    partition.heartbeat(reply, request, ctx);
                });
            }
        }
    }

    /// Answers `LeaveGroup`.
    ///
    /// # Errors sent
    /// `COORDINATOR_NOT_AVAILABLE` (15) shut down; `INVALID_GROUP_ID` (24);
    /// `COORDINATOR_LOAD_IN_PROGRESS` (14); `NOT_COORDINATOR` (16); then those of
    /// [`ClassicGroup`]'s leave.
    /// # Source
    /// `GroupCoordinatorService#leaveGroup` (Kafka 1eb7644).
    pub fn handle_leave_group(
        &mut self,
        reply: ReplyTo,
        request: &LeaveGroupRequest,
        out: &mut Out,
    ) {
        match self.named_partition(&request.group_id) {
            Err(error_code) => {
                let response = LeaveGroupResponse {
                    error_code,
                    members: Vec::new(),
                };
                out.respond(reply, Response::LeaveGroup(response));
            }
            Ok(partition) => {
                self.on_partition(partition, out, |partition, ctx| {
                    partition.leave(reply, request, ctx);
                });
            }
        }
    }

    /// Answers `ConsumerGroupHeartbeat`.
    ///
    /// # Errors sent
    /// `COORDINATOR_NOT_AVAILABLE` (15) shut down; `COORDINATOR_LOAD_IN_PROGRESS` (14);
    /// `NOT_COORDINATOR` (16); then those of the partition's.
    /// # Source
    /// `GroupCoordinatorService#consumerGroupHeartbeat` (Kafka 1eb7644); KIP-848.
    pub fn handle_consumer_group_heartbeat(
        &mut self,
        reply: ReplyTo,
        request: &ConsumerGroupHeartbeatRequest,
        out: &mut Out,
    ) {
        match self.active_partition(&request.group_id) {
            Err(error) => {
                let response = consumer_group::refusal(error);
                out.respond(reply, Response::ConsumerGroupHeartbeat(response));
            }
            Ok(partition) => {
                self.on_partition(partition, out, |partition, ctx| {
                    partition.handle_consumer_group_heartbeat(reply, request, ctx);
                });
            }
        }
    }

    /// Answers `OffsetCommit`. The empty group id is a group like any other here. Whether topics
    /// exist is for the broker to see to before.
    ///
    /// # Errors sent
    /// Per partition: `COORDINATOR_NOT_AVAILABLE` (15) shut down;
    /// `COORDINATOR_LOAD_IN_PROGRESS` (14); `NOT_COORDINATOR` (16); then those of the partition's
    /// commit.
    /// # Source
    /// `GroupCoordinatorService#commitOffsets` (Kafka 1eb7644).
    pub fn handle_offset_commit(
        &mut self,
        reply: ReplyTo,
        request: &OffsetCommitRequest,
        out: &mut Out,
    ) {
        match self.active_partition(&request.group_id) {
            Err(error) => {
                let response = offsets::commit_response(request, error);
                out.respond(reply, Response::OffsetCommit(response));
            }
            Ok(partition) => {
                self.on_partition(partition, out, |partition, ctx| {
                    partition.commit(reply, request, ctx);
                });
            }
        }
    }

    /// Answers `TxnOffsetCommit`: the offsets wait for the end of the transaction.
    ///
    /// # Errors sent
    /// As for `OffsetCommit`.
    /// # Source
    /// `GroupCoordinatorService#commitTransactionalOffsets` (Kafka 1eb7644).
    pub fn handle_txn_offset_commit(
        &mut self,
        reply: ReplyTo,
        request: &TxnOffsetCommitRequest,
        out: &mut Out,
    ) {
        let commit = &request.commit;
        let producer = ProducerStamp {
            producer_id: request.producer_id,
            producer_epoch: request.producer_epoch,
            base_sequence: -1,
            is_transactional: true,
            is_control: false,
        };
        match self.active_partition(&commit.group_id) {
            Err(error) => {
                let OffsetCommitResponse { partitions } = offsets::commit_response(commit, error);
                let response = TxnOffsetCommitResponse { partitions };
                out.respond(reply, Response::TxnOffsetCommit(response));
            }
            Ok(partition) => {
                self.on_partition(partition, out, |partition, ctx| {
                    partition.commit_for(reply, commit, producer, ctx);
                });
            }
        }
    }

    /// A record that the log holds waits for the end of a transaction.
    pub fn on_open_offsets(&mut self, partition: u32, producer_id: i64, record: &Record) {
        if let Some(partition) = self.partitions.get_mut(&partition) {
            partition.await_end(producer_id, record.clone());
        }
    }

    /// A marker was appended: the offsets of this producer's transaction are committed, or gone.
    ///
    /// # Source
    /// `GroupCoordinatorService#completeTransaction` (Kafka 1eb7644).
    pub fn on_transaction_ended(&mut self, partition: u32, end: (i64, bool), out: &mut Out) {
        self.on_partition(partition, out, |partition, ctx| {
            partition.on_transaction_ended(end, ctx);
        });
    }

    /// Answers `OffsetFetch`.
    ///
    /// # Errors sent
    /// `COORDINATOR_NOT_AVAILABLE` (15) shut down; `COORDINATOR_LOAD_IN_PROGRESS` (14);
    /// `NOT_COORDINATOR` (16), also when commits under way are not replicated in time.
    /// # Source
    /// `GroupCoordinatorService#fetchOffsets` (Kafka 1eb7644).
    pub fn handle_offset_fetch(
        &mut self,
        reply: ReplyTo,
        request: &OffsetFetchRequest,
        out: &mut Out,
    ) {
        match self.active_partition(&request.group_id) {
            Err(error_code) => {
                let response = OffsetFetchResponse {
                    error_code,
                    offsets: Vec::new(),
                };
                out.respond(reply, Response::OffsetFetch(response));
            }
            Ok(partition) => {
                self.on_partition(partition, out, |partition, ctx| {
                    partition.fetch_offsets(reply, request, ctx);
                });
            }
        }
    }

    /// A timer of the coordinator fires. One that has lost its purpose does nothing.
    pub fn on_timer(&mut self, timer: &Timer, out: &mut Out) {
        if let Timer::JoinPhase(group_id) = timer {
            self.on_group(group_id, out, ClassicGroup::on_join_phase);
        } else if let Timer::PendingSync(group_id) = timer {
            self.on_group(group_id, out, ClassicGroup::on_pending_sync);
        } else if let Timer::MemberSession(group_id, member_id)
        | Timer::RebalanceTimeout(group_id, member_id) = timer
        {
            self.on_partition(
                self.partition_of(group_id),
                out,
                |partition, ctx| match partition.groups.get_mut(group_id) {
                    Some(group) => group.on_member_session(member_id, ctx),
                    None => partition.on_consumer_timer(timer, (group_id, member_id), ctx),
                },
            );
        } else if let Timer::OffsetExpiry(partition) = timer {
            self.on_partition(*partition, out, CoordinatorPartition::on_offset_expiry);
        } else if let Timer::CoordinatorAppendExpiry(append_id) = timer {
            let partitions: Vec<u32> = self.partitions.keys().copied().collect();
            for index in partitions {
                self.on_partition(index, out, |partition, ctx| {
                    partition.on_append_expiry(*append_id, ctx);
                });
            }
        }
    }

    /// What is to be appended to the broker's logs. The broker takes it after every call and says
    /// of each how it went before it calls anything else.
    pub fn take_appends(&mut self) -> Vec<CoordinatorAppend> {
        std::mem::take(&mut self.appends)
    }

    /// The broker has appended a write to its own log, which ends at `next_offset` now.
    pub fn on_appended(&mut self, append_id: u64, next_offset: Offset, out: &mut Out) {
        if let Some(index) = self.partition_of_append(append_id) {
            self.on_partition(index, out, |partition, ctx| {
                partition.on_appended(append_id, next_offset, ctx);
            });
        }
    }

    /// The broker could not append a write; nothing of it is in the log.
    pub fn on_append_failed(&mut self, append_id: u64, error_code: ErrorCode, out: &mut Out) {
        if let Some(index) = self.partition_of_append(append_id) {
            self.on_partition(index, out, |partition, ctx| {
                partition.on_append_failed(append_id, error_code, ctx);
            });
        }
    }

    /// The high watermark of a partition of `__consumer_offsets` has moved: what waited for it is
    /// answered.
    pub fn on_high_watermark(&mut self, partition: u32, high_watermark: Offset, out: &mut Out) {
        self.on_partition(partition, out, |partition, ctx| {
            partition.on_high_watermark(high_watermark, ctx);
        });
    }

    fn partition_of_append(&self, append_id: u64) -> Option<u32> {
        let mut partitions = self.partitions.iter();
        partitions
            .find(|(_, partition)| partition.awaits_append(append_id))
            .map(|(index, _)| *index)
    }

    /// The partition of a group, if it can be served now.
    fn active_partition(&self, group_id: &GroupId) -> Result<u32, ErrorCode> {
        if !self.is_active {
            return Err(ErrorCode::CoordinatorNotAvailable);
        }
        let index = self.partition_of(group_id);
        match self.partitions.get(&index) {
            None => Err(ErrorCode::NotCoordinator),
            Some(partition) if partition.is_loading => Err(ErrorCode::CoordinatorLoadInProgress),
            Some(_) => Ok(index),
        }
    }

    /// As [`Self::active_partition`]; the group must have a name too.
    fn named_partition(&self, group_id: &GroupId) -> Result<u32, ErrorCode> {
        if self.is_active && group_id.is_empty() {
            return Err(ErrorCode::InvalidGroupId);
        }
        self.active_partition(group_id)
    }

    fn on_group(
        &mut self,
        group_id: &GroupId,
        out: &mut Out,
        act: impl FnOnce(&mut ClassicGroup, &mut Context<'_>),
    ) {
        self.on_partition(self.partition_of(group_id), out, |partition, ctx| {
            if let Some(group) = partition.groups.get_mut(group_id) {
                act(group, ctx);
            }
        });
    }

    /// Lets a partition act, if it is here, and queues what it wants written.
    fn on_partition(
        &mut self,
        index: u32,
        out: &mut Out,
        act: impl FnOnce(&mut CoordinatorPartition, &mut Context<'_>),
    ) {
        let Some(partition) = self.partitions.get_mut(&index) else {
            return;
        };
        let mut ctx = Context {
            out,
            config: &self.config,
            history: self.history,
            broker_id: self.broker_id,
            partition: index,
            topic_names: &self.topic_names,
            topics: &self.topics,
            next_append_id: &mut self.next_append_id,
            writes: Vec::new(),
        };
        act(partition, &mut ctx);
        for write in std::mem::take(&mut ctx.writes) {
            let append_id = ctx.append_id();
            let records = write.records.clone();
            self.appends.push(CoordinatorAppend {
                append_id,
                partition: index,
                records,
                producer: write.producer,
            });
            partition.await_append(append_id, write);
        }
    }
}
