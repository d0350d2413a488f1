//! One partition of `__consumer_offsets` on its leader: append, replay, answer at the high
//! watermark.

use super::consumer_group::{ConsumerGroup, refusal};
use super::context::{Answer, Context, Then, Write};
use super::group::{ClassicGroup, join_error, sync_error};
use super::join::Join;
use super::records::{is_replayed_when_appended, replay};
use super::state::State;
use crate::base::ids::{GroupId, InstanceId, MemberId, Offset, TopicPartition};
use crate::base::timer::Timer;
use crate::kernel::time::SimTime;
use crate::trace::event::{GroupState, TraceEvent, Waiting};
use crate::trace::out::{Out, ReplyTo};
use crate::wire::api::{
    HeartbeatRequest, HeartbeatResponse, JoinGroupRequest, LeaveGroupRequest, LeaveGroupResponse,
    OffsetCommitResponse, OffsetFetchResponse, Response, SyncGroupRequest, TxnOffsetCommitResponse,
};
use crate::wire::error_code::ErrorCode;
use crate::wire::record::{ConsumerGroupPiece, ProducerStamp, Record, RecordValue};
use serde::Serialize;
use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

/// A partition of `__consumer_offsets` whose leader this broker is, with its groups.
#[derive(Clone, Debug, Serialize)]
pub struct CoordinatorPartition {
    /// Leader epoch in which this broker leads it.
    pub leader_epoch: i32,
    /// Whether its log has yet to be read; every group is unknown until then.
    pub is_loading: bool,
    /// Its groups of the classic protocol, and those that were made by commits alone.
    pub groups: BTreeMap<GroupId, ClassicGroup>,
    /// Its groups of the consumer protocol.
    pub consumer_groups: BTreeMap<GroupId, ConsumerGroup>,
    /// Records before this offset are replicated.
    pub high_watermark: Offset,
    /// Where the log ended after the last record that the coordinator wrote or read.
    pub last_written: Offset,
    /// When offsets are next checked for expiry; unset before it is loaded.
    pub offset_expiry_at: Option<SimTime>,
    /// Where new member ids come from.
    pub(super) member_ids: MemberIds,
    /// Writes that the broker has yet to append, by append id.
    unappended: Vec<(u64, Write)>,
    /// What waits for the high watermark, by ascending offset.
    deferred: VecDeque<Deferred>,
    /// Offsets that wait for the end of a transaction, by producer id.
    #[serde(skip)]
    open_offsets: Vec<(i64, Record)>,
}

/// Something that waits for the high watermark.
#[derive(Clone, Debug, Serialize)]
struct Deferred {
    /// The append, or the number of the answer that waits.
    append_id: u64,
    /// It waits until everything before this offset is replicated.
    offset: Offset,
    /// When it gives up.
    deadline: SimTime,
    /// What waits.
    write: Write,
}

/// Makes member ids: `<client id or instance id>-<number>`, where Kafka has a random UUID. The
/// number is of this partition and its leader epoch, so no other coordinator gives it out again.
#[derive(Clone, Debug, Default, Serialize)]
pub(super) struct MemberIds {
    leader_epoch: u32,
    issued: u64,
}

impl MemberIds {
    /// A new id for whoever sends this join.
    pub(super) fn next(&mut self, group: &ClassicGroup, request: &JoinGroupRequest) -> MemberId {
        let prefix = request
            .group_instance_id
            .as_ref()
            .map_or(&*request.client_id, InstanceId::as_str);
        self.next_for(prefix, |member_id| {
            group.member(member_id).is_some() || group.pending_members.contains_key(member_id)
        })
    }

    /// A new id that starts with `prefix`.
    pub(super) fn next_for(
        &mut self,
        prefix: &str,
        is_taken: impl Fn(&MemberId) -> bool,
    ) -> MemberId {
        loop {
            self.issued += 1;
            let number = (u64::from(self.leader_epoch) << 16) + self.issued;
            let member_id = MemberId::new(&format!("{prefix}-{number:04x}"));
            if !is_taken(&member_id) {
                return member_id;
            }
        }
    }

    fn set_leader_epoch(&mut self, leader_epoch: i32) {
        self.leader_epoch = u32::try_from(leader_epoch).unwrap_or_default();
    }
}

impl CoordinatorPartition {
    /// A partition that this broker has begun to lead and whose log has yet to be read.
    pub(super) fn new(leader_epoch: i32) -> Self {
        let mut member_ids = MemberIds::default();
        member_ids.set_leader_epoch(leader_epoch);
        Self {
            leader_epoch,
            is_loading: true,
            groups: BTreeMap::new(),
            consumer_groups: BTreeMap::new(),
            high_watermark: Offset::ZERO,
            last_written: Offset::ZERO,
            offset_expiry_at: None,
            member_ids,
            unappended: Vec::new(),
            deferred: VecDeque::new(),
            open_offsets: Vec::new(),
        }
    }

    /// The broker leads on, in another epoch.
    pub(super) fn set_leader_epoch(&mut self, leader_epoch: i32) {
        self.leader_epoch = leader_epoch;
        self.member_ids.set_leader_epoch(leader_epoch);
    }

    /// Takes what the log holds, and starts every member's session.
    pub(super) fn load<'a>(
        &mut self,
        records: impl IntoIterator<Item = (Offset, &'a Record)>,
        high_watermark: Offset,
        ctx: &mut Context<'_>,
    ) {
        self.high_watermark = high_watermark;
        self.last_written = high_watermark;
        for (offset, record) in records {
            self.replay(record, ctx.out.now);
            self.last_written = self.last_written.max(offset + 1);
        }
        self.is_loading = false;
        for group in self.groups.values_mut() {
            group.on_loaded(ctx);
        }
        self.load_consumer_groups(ctx);
        self.arm_offset_expiry(ctx);
    }

    /// Applies a record.
    ///
    /// # Source
    /// `GroupCoordinatorShard#replay` (Kafka 1eb7644).
    fn replay(&mut self, record: &Record, now: SimTime) {
        if let RecordValue::ConsumerGroup { group_id, piece } = &record.value {
            return self.replay_piece(group_id, piece, now);
        }
        if let RecordValue::OffsetCommit {
            group_id,
            topic_partition,
            committed,
        } = &record.value
            && let Some(group) = self.consumer_groups.get_mut(group_id)
        {
            match committed {
                Some(committed) => group.offsets.insert(*topic_partition, *committed),
                None => group.offsets.remove(topic_partition),
            };
            return;
        }
        replay(&mut self.groups, record, now);
    }

    /// `JoinGroup`; see [`ClassicGroup::join`]. A group that is not there is made for a member
    /// without an id.
    pub(super) fn join(
        &mut self,
        reply: ReplyTo,
        request: &JoinGroupRequest,
        ctx: &mut Context<'_>,
    ) {
        if self.handle_join_of_classic_member(reply, request, ctx) {
            return;
        }
        let written = ctx.writes.len();
        let is_new = !self.groups.contains_key(&request.group_id);
        if is_new && !request.member_id.is_empty() {
            let member_id = request.member_id.clone();
            return super::join::refuse(reply, ErrorCode::UnknownMemberId, member_id, ctx);
        }
        let group = self
            .groups
            .entry(request.group_id.clone())
            .or_insert_with(|| {
                let group = ClassicGroup::new(request.group_id.clone(), ctx.out.now);
                group.trace_state(GroupState::Dead, "first JoinGroup", ctx);
                group
            });
        group.join(Join { reply, request }, &mut self.member_ids, ctx);
        if is_new && ctx.writes.len() == written {
            // The group must outlive this coordinator even if nothing else is ever written of it.
            let record = group.new_group_record(ctx.out.now);
            ctx.write(&request.group_id, vec![record], Then::NewGroup { reply });
        } else if ctx.writes.len() == written {
            group.note_parked(reply, ctx);
        }
    }

    /// `SyncGroup`; see [`ClassicGroup::sync`].
    pub(super) fn sync(
        &mut self,
        reply: ReplyTo,
        request: &SyncGroupRequest,
        ctx: &mut Context<'_>,
    ) {
        if self.handle_sync_of_classic_member(reply, request, ctx) {
            return;
        }
        let group = self.groups.get_mut(&request.group_id);
        let Some(group) = group.filter(|group| !group.state().is_empty()) else {
            let response = sync_error(ErrorCode::UnknownMemberId);
            return ctx.out.respond(reply, Response::SyncGroup(response));
        };
        group.sync(reply, request, ctx);
        if ctx.writes.is_empty() {
            group.note_parked(reply, ctx);
        }
    }

    /// `Heartbeat`; see [`ClassicGroup::heartbeat`].
    pub(super) fn heartbeat(
        &mut self,
        reply: ReplyTo,
        request: &HeartbeatRequest,
        ctx: &mut Context<'_>,
    ) {
        if self.handle_heartbeat_of_classic_member(reply, request, ctx) {
            return;
        }
        let result = match self.groups.get_mut(&request.group_id) {
            Some(group) => group.heartbeat(request, ctx),
            None => Err(ErrorCode::UnknownMemberId),
        };
        let respond = |error_code| Response::Heartbeat(HeartbeatResponse { error_code });
        match result {
            Ok(error_code) => self.answer(&request.group_id, reply, respond(error_code), ctx),
            Err(error_code) => ctx.out.respond(reply, respond(error_code)),
        }
    }

    /// `LeaveGroup`; see [`ClassicGroup::leave`]. The answer waits for what it has brought about.
    pub(super) fn leave(
        &mut self,
        reply: ReplyTo,
        request: &LeaveGroupRequest,
        ctx: &mut Context<'_>,
    ) {
        if self.handle_leave_of_classic_members(reply, request, ctx) {
            return;
        }
        let result = match self.groups.get_mut(&request.group_id) {
            Some(group) => group.leave(request, ctx),
            None => Ok(request
                .members
                .iter()
                .map(|it| {
                    let instance_id = it.group_instance_id.clone();
                    (
                        it.member_id.clone(),
                        instance_id,
                        ErrorCode::UnknownMemberId,
                    )
                })
                .collect()),
        };
        let (error_code, members) = match result {
            Ok(members) => (ErrorCode::None, members),
            Err(error_code) => (error_code, Vec::new()),
        };
        let response = Response::LeaveGroup(LeaveGroupResponse {
            error_code,
            members,
        });
        match ctx.writes.last_mut() {
            Some(write) => {
                write.answer = Some(Answer {
                    reply,
                    response,
                    since: None,
                });
            }
            None => self.answer(&request.group_id, reply, response, ctx),
        }
    }

    /// Answers a request that has written nothing: at once, or when what was written before it is
    /// replicated.
    ///
    /// # Source
    /// `CoordinatorRuntime.CoordinatorWriteEvent#run` (Kafka 1eb7644).
    pub(super) fn answer(
        &mut self,
        group_id: &GroupId,
        reply: ReplyTo,
        response: Response,
        ctx: &mut Context<'_>,
    ) {
        if self.last_written <= self.high_watermark {
            return ctx.out.respond(reply, response);
        }
        let answer = Some(Answer {
            reply,
            response,
            since: None,
        });
        let (records, group_id) = (Vec::new(), Some(group_id.clone()));
        let write = Write {
            records,
            producer: ProducerStamp::NONE,
            group_id,
            then: Then::Nothing,
            answer,
        };
        let append_id = ctx.append_id();
        self.defer(append_id, self.last_written, write, ctx);
    }

    fn defer(&mut self, append_id: u64, offset: Offset, mut write: Write, ctx: &mut Context<'_>) {
        let deadline = ctx.append_deadline();
        if let (Some(answer), Some(group_id)) = (&mut write.answer, &write.group_id) {
            answer.note(group_id, deadline, ctx.out);
        }
        ctx.out
            .arm_at(Timer::CoordinatorAppendExpiry(append_id), deadline);
        self.deferred.push_back(Deferred {
            append_id,
            offset,
            deadline,
            write,
        });
    }

    /// Keeps a write until the broker has appended it.
    pub(super) fn await_append(&mut self, append_id: u64, write: Write) {
        self.unappended.push((append_id, write));
    }

    /// Whether it waits for this append.
    pub(super) fn awaits_append(&self, append_id: u64) -> bool {
        self.unappended.iter().any(|(id, _)| *id == append_id)
    }

    fn take_unappended(&mut self, append_id: u64) -> Option<Write> {
        let index = self
            .unappended
            .iter()
            .position(|(id, _)| *id == append_id)?;
        Some(self.unappended.remove(index).1)
    }

    /// The broker has appended a write, whose records end before `next_offset`: offsets and
    /// tombstones take effect, and the rest follows when it is replicated.
    pub(super) fn on_appended(
        &mut self,
        append_id: u64,
        next_offset: Offset,
        ctx: &mut Context<'_>,
    ) {
        let Some(mut write) = self.take_unappended(append_id) else {
            return;
        };
        self.last_written = self.last_written.max(next_offset);
        let mut is_downgrade = false;
        for record in std::mem::take(&mut write.records) {
            if let RecordValue::ConsumerGroup { piece, .. } = &record.value {
                is_downgrade |= matches!(piece, ConsumerGroupPiece::Epoch(None));
            } else if is_downgrade {
                self.downgrade(&record, ctx);
                continue;
            }
            if write.producer.has_id() {
                self.open_offsets.push((write.producer.producer_id, record));
            } else if is_replayed_when_appended(&record) {
                self.replay_appended(&record, ctx);
            }
        }
        let parked = write.then.parked_request();
        let group_id = write.group_id.clone();
        let consumers = group_id.as_ref();
        if let Some(group) = consumers.and_then(|id| self.consumer_groups.get_mut(id)) {
            group.note_state(ctx);
        }
        if next_offset <= self.high_watermark && self.deferred.is_empty() {
            self.finish(write, Ok(()), ctx);
        } else {
            self.defer(append_id, next_offset, write, ctx);
            self.release(ctx);
        }
        let group = group_id.and_then(|group_id| self.groups.get_mut(&group_id));
        if let (Some(reply), Some(group)) = (parked, group) {
            group.note_parked(reply, ctx);
        }
    }

    /// The record of the classic group that a group of the consumer protocol becomes.
    fn downgrade(&mut self, record: &Record, ctx: &mut Context<'_>) {
        self.replay(record, ctx.out.now);
        if let RecordValue::GroupMetadata { group_id, .. } = &record.value
            && let Some(group) = self.groups.get_mut(group_id)
        {
            group.trace_state(GroupState::Dead, "it was one of the consumer protocol", ctx);
            group.on_downgraded(ctx);
        }
    }

    /// An offset in the log waits for the end of a transaction.
    pub(super) fn await_end(&mut self, producer_id: i64, record: Record) {
        self.open_offsets.push((producer_id, record));
    }

    /// Whether an offset of this partition waits for the end of a transaction.
    pub(super) fn is_open(&self, group: &GroupId, partition: TopicPartition) -> bool {
        self.open_offsets.iter().any(|(_, record)| {
            matches!(&record.value, RecordValue::OffsetCommit { group_id, topic_partition, .. }
                if group_id == group && *topic_partition == partition)
        })
    }

    /// The partitions of a group whose offsets wait for the end of a transaction.
    pub(super) fn open_partitions(&self, group: &GroupId) -> Vec<TopicPartition> {
        let open = self
            .open_offsets
            .iter()
            .filter_map(|(_, record)| match &record.value {
                RecordValue::OffsetCommit {
                    group_id,
                    topic_partition,
                    ..
                } if group_id == group => Some(*topic_partition),
                RecordValue::OffsetCommit { .. }
                | RecordValue::GroupMetadata { .. }
                | RecordValue::ConsumerGroup { .. }
                | RecordValue::Text(_)
                | RecordValue::Null
                | RecordValue::Transaction { .. }
                | RecordValue::EndTransaction { .. } => None,
            });
        open.collect()
    }

    /// A transaction has ended: its offsets count, or are gone.
    ///
    /// # Source
    /// `OffsetMetadataManager#replayEndTransactionMarker` (Kafka 1eb7644).
    pub(super) fn on_transaction_ended(
        &mut self,
        (producer_id, is_commit): (i64, bool),
        ctx: &mut Context<'_>,
    ) {
        let offsets = std::mem::take(&mut self.open_offsets);
        for (owner, record) in offsets {
            if owner != producer_id {
                self.open_offsets.push((owner, record));
                continue;
            }
            if !is_commit {
                continue;
            }
            self.replay_appended(&record, ctx);
            if let RecordValue::OffsetCommit {
                group_id,
                topic_partition,
                committed: Some(committed),
            } = record.value
            {
                ctx.out.trace(TraceEvent::OffsetCommitted {
                    group_id,
                    topic_partition,
                    offset: committed.offset,
                    member_id: MemberId::default(),
                    generation_id: -1,
                });
            }
        }
    }

    fn replay_appended(&mut self, record: &Record, ctx: &mut Context<'_>) {
        match &record.value {
            RecordValue::ConsumerGroup { group_id, piece } => {
                return self.piece_appended(group_id, piece, ctx);
            }
            RecordValue::GroupMetadata {
                group_id,
                metadata: None,
            } => {
                if let Some(group) = self.groups.get_mut(group_id) {
                    group.become_state(State::Dead, "nothing is left of it", ctx);
                }
            }
            RecordValue::OffsetCommit {
                group_id,
                committed: Some(_),
                ..
            } if !self.groups.contains_key(group_id)
                && !self.consumer_groups.contains_key(group_id) =>
            {
                let group = ClassicGroup::new(group_id.clone(), ctx.out.now);
                group.trace_state(GroupState::Dead, "first OffsetCommit", ctx);
            }
            RecordValue::OffsetCommit { .. }
            | RecordValue::GroupMetadata { .. }
            | RecordValue::Text(_)
            | RecordValue::Null
            | RecordValue::Transaction { .. }
            | RecordValue::EndTransaction { .. } => {}
        }
        self.replay(record, ctx.out.now);
    }

    /// The broker could not append a write: what hangs on it fails, and a group that it was to
    /// make is gone again.
    pub(super) fn on_append_failed(
        &mut self,
        append_id: u64,
        error_code: ErrorCode,
        ctx: &mut Context<'_>,
    ) {
        let Some(write) = self.take_unappended(append_id) else {
            return;
        };
        let is_new_group = matches!(write.then, Then::NewGroup { .. });
        let group_id = write.group_id.clone().filter(|_| is_new_group);
        self.finish(write, Err(error_code), ctx);
        if let Some(mut group) = group_id.and_then(|group_id| self.groups.remove(&group_id)) {
            group.cancel_timers(ctx.out);
            group.become_state(State::Dead, "its first record could not be written", ctx);
        }
    }

    /// Records before `high_watermark` are replicated.
    pub(super) fn on_high_watermark(&mut self, high_watermark: Offset, ctx: &mut Context<'_>) {
        self.high_watermark = self.high_watermark.max(high_watermark);
        self.release(ctx);
    }

    fn release(&mut self, ctx: &mut Context<'_>) {
        while self
            .deferred
            .front()
            .is_some_and(|front| front.offset <= self.high_watermark)
        {
            let Some(Deferred {
                append_id, write, ..
            }) = self.deferred.pop_front()
            else {
                break;
            };
            ctx.out.cancel(Timer::CoordinatorAppendExpiry(append_id));
            self.finish(write, Ok(()), ctx);
        }
    }

    /// An append was not replicated in time: what waits for it gets an error. Its records stay in
    /// the log, and commits take effect all the same when they are replicated.
    pub(super) fn on_append_expiry(&mut self, append_id: u64, ctx: &mut Context<'_>) {
        let now = ctx.out.now;
        let expired = self
            .deferred
            .iter_mut()
            .find(|deferred| deferred.append_id == append_id && deferred.deadline <= now);
        let Some(deferred) = expired else { return };
        let answer = deferred.write.answer.take();
        let then = match &deferred.write.then {
            Then::Commit { .. } => Then::Nothing,
            Then::Nothing
            | Then::EmptyGroup
            | Then::NewGroup { .. }
            | Then::Assignment(_)
            | Then::StaticMember(_) => std::mem::replace(&mut deferred.write.then, Then::Nothing),
        };
        let group_id = deferred.write.group_id.clone();
        let write = Write {
            records: Vec::new(),
            producer: ProducerStamp::NONE,
            group_id,
            then,
            answer,
        };
        self.finish(write, Err(ErrorCode::RequestTimedOut), ctx);
    }

    /// Does what follows a write.
    fn finish(&mut self, write: Write, result: Result<(), ErrorCode>, ctx: &mut Context<'_>) {
        let Write {
            group_id,
            then,
            answer,
            ..
        } = write;
        let mapped = result.map_err(client_error);
        let group = group_id
            .as_ref()
            .and_then(|group_id| self.groups.get_mut(group_id));
        match (then, group) {
            (
                Then::Commit {
                    member_id,
                    generation_id,
                    offsets,
                },
                _,
            ) => {
                if let (Ok(()), Some(group_id)) = (result, &group_id) {
                    for (topic_partition, offset) in offsets {
                        ctx.out.trace(TraceEvent::OffsetCommitted {
                            group_id: group_id.clone(),
                            topic_partition,
                            offset,
                            member_id: member_id.clone(),
                            generation_id,
                        });
                    }
                }
            }
            (Then::EmptyGroup, Some(group)) => group.warn_empty_group(result, ctx),
            (Then::NewGroup { reply }, Some(group)) => {
                group.warn_empty_group(result, ctx);
                if let Err(error) = mapped {
                    let timed_out = result == Err(ErrorCode::RequestTimedOut);
                    group.fail_new_group(reply, error, timed_out, ctx);
                }
            }
            (Then::Assignment(written), Some(group)) => {
                group.on_assignment_written(&written, mapped, ctx);
            }
            (Then::StaticMember(replacement), Some(group)) => match mapped {
                Ok(()) => group.on_static_stored(&replacement, ctx),
                Err(error) => group.on_static_failed(&replacement, error, ctx),
            },
            (
                Then::Nothing
                | Then::EmptyGroup
                | Then::NewGroup { .. }
                | Then::Assignment(_)
                | Then::StaticMember(_),
                _,
            ) => {}
        }
        if let Some(answer) = answer {
            answer.send(result, ctx.out);
        }
    }

    /// The broker leads the partition no longer: whoever waits is sent away.
    ///
    /// # Source
    /// `CoordinatorRuntime.CoordinatorContext#unload`, `GroupMetadataManager#onUnloaded` (Kafka
    /// 1eb7644).
    pub(super) fn unload(&mut self, ctx: &mut Context<'_>) {
        let error = ErrorCode::NotCoordinator;
        let unappended = std::mem::take(&mut self.unappended);
        let deferred = std::mem::take(&mut self.deferred);
        for Deferred { append_id, .. } in &deferred {
            ctx.out.cancel(Timer::CoordinatorAppendExpiry(*append_id));
        }
        let deferred = deferred.into_iter().map(|deferred| deferred.write);
        for write in deferred.chain(unappended.into_iter().map(|(_, write)| write)) {
            let group_id = write.group_id.as_ref();
            let group = group_id.and_then(|group_id| self.groups.get_mut(group_id));
            match (write.then, group) {
                (Then::NewGroup { reply }, Some(group)) => {
                    group.fail_new_group(reply, error, false, ctx);
                }
                (Then::StaticMember(replacement), Some(group)) => {
                    group.on_static_failed(&replacement, error, ctx);
                    group.cancel_session(&replacement.member_id, ctx.out);
                }
                (
                    Then::Nothing
                    | Then::EmptyGroup
                    | Then::NewGroup { .. }
                    | Then::Assignment(_)
                    | Then::StaticMember(_)
                    | Then::Commit { .. },
                    _,
                ) => {}
            }
            if let Some(answer) = write.answer {
                answer.send(Err(error), ctx.out);
            }
        }
        if self.offset_expiry_at.take().is_some() {
            ctx.out.cancel(Timer::OffsetExpiry(ctx.partition));
        }
        for (_, mut group) in std::mem::take(&mut self.groups) {
            group.on_unloaded(ctx);
        }
        self.unload_consumer_groups(ctx);
    }

    /// Requests that wait here, as the trace shows them: joins and syncs by group and member, then
    /// answers that wait for an append.
    pub fn parked(&self) -> impl Iterator<Item = ParkedRequest<'_>> {
        let at_barriers = self.groups.values().flat_map(|group| {
            let members = group.members.iter();
            let parked = members.flat_map(|member| member.join.iter().chain(&member.sync));
            let noted = parked.filter(|parked| parked.is_noted && !parked.is_answered);
            noted.map(|parked| ParkedRequest {
                reply: parked.reply,
                waiting: parked.waiting,
                since: parked.since,
                deadline: parked.deadline,
                group_id: Some(&group.group_id),
            })
        });
        let answers = self.deferred.iter().filter_map(|deferred| {
            let answer = deferred.write.answer.as_ref()?;
            Some(ParkedRequest {
                reply: answer.reply,
                waiting: Waiting::CoordinatorAppend,
                since: answer.since?,
                deadline: Some(deferred.deadline),
                group_id: deferred.write.group_id.as_ref(),
            })
        });
        at_barriers.chain(answers)
    }
}

/// A request that waits at a coordinator.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ParkedRequest<'a> {
    /// Whom to answer.
    pub reply: ReplyTo,
    /// What it waits for.
    pub waiting: Waiting,
    /// Since when.
    pub since: SimTime,
    /// When it is answered at the latest; unset when something else decides.
    pub deadline: Option<SimTime>,
    /// The group.
    pub group_id: Option<&'a GroupId>,
}

impl ClassicGroup {
    /// Replay is over: every session starts anew, and a group that has become too large rebalances.
    fn on_loaded(&mut self, ctx: &mut Context<'_>) {
        self.trace_state(GroupState::Dead, "its records were read", ctx);
        let members: Vec<MemberId> = self.members.iter().map(|it| it.member_id.clone()).collect();
        for member_id in &members {
            self.restart_session(member_id, ctx.out);
        }
        let size_max = ctx.config.group_max_size;
        if size_max < i64::try_from(members.len()).unwrap_or(i64::MAX) {
            let reason = format!(
                "Freshly-loaded group {} (size {}) is over capacity {size_max}. Rebalancing in \
                 order to give a chance for consumers to commit offsets",
                self.group_id,
                members.len()
            );
            self.prepare_rebalance(&reason, ctx);
        }
    }

    fn on_unloaded(&mut self, ctx: &mut Context<'_>) {
        self.cancel_timers(ctx.out);
        for member in &mut self.members {
            let member_id = member.member_id.clone();
            member.answer_join(
                join_error(ErrorCode::NotCoordinator, member_id),
                false,
                ctx.out,
            );
            member.answer_sync(sync_error(ErrorCode::NotCoordinator), false, ctx.out);
        }
        self.become_state(State::Dead, "the coordinator has lost its partition", ctx);
    }

    /// A group of the consumer protocol takes its place.
    pub(super) fn on_replaced(&mut self, ctx: &mut Context<'_>) {
        self.cancel_timers(ctx.out);
    }

    fn cancel_timers(&self, out: &mut Out) {
        if self.state().join_phase().is_some() {
            out.cancel(Timer::JoinPhase(self.group_id.clone()));
        }
        if self
            .state()
            .sync_phase()
            .is_some_and(|phase| phase.closes_at.is_some())
        {
            out.cancel(Timer::PendingSync(self.group_id.clone()));
        }
        for member in &self.members {
            self.cancel_session(&member.member_id, out);
        }
        for member_id in self.pending_members.keys() {
            self.cancel_session(member_id, out);
        }
    }

    /// A failure is not worth more: without the record, the last generation that was written
    /// becomes valid again after a change of coordinator, and its members time out.
    fn warn_empty_group(&self, result: Result<(), ErrorCode>, ctx: &mut Context<'_>) {
        if let Err(error) = result {
            ctx.log(format_args!(
                "Failed to write empty metadata for group {}: {error}",
                self.group_id
            ));
        }
    }

    /// The record of a new group is not stored: the join that has made it, if it is parked, gets
    /// the error. It goes on counting as a join.
    fn fail_new_group(
        &mut self,
        reply: ReplyTo,
        error_code: ErrorCode,
        timed_out: bool,
        ctx: &mut Context<'_>,
    ) {
        let joins = self
            .members
            .iter_mut()
            .filter_map(|member| member.join.as_mut());
        for parked in joins.filter(|parked| parked.reply == reply) {
            let response = join_error(error_code, MemberId::default());
            parked.answer(Response::JoinGroup(response), timed_out, ctx.out);
            parked.is_answered = true;
        }
    }
}

impl Then {
    /// The request that may be parked while this is written.
    const fn parked_request(&self) -> Option<ReplyTo> {
        match self {
            Self::NewGroup { reply } => Some(*reply),
            Self::Assignment(written) => Some(written.reply),
            Self::StaticMember(replacement) => Some(replacement.reply),
            Self::Nothing | Self::EmptyGroup | Self::Commit { .. } => None,
        }
    }
}

impl Answer {
    fn note(&mut self, group_id: &GroupId, deadline: SimTime, out: &mut Out) {
        self.since = Some(out.now);
        out.trace(TraceEvent::RequestParked {
            from: self.reply.node,
            correlation: self.reply.correlation,
            waiting: Waiting::CoordinatorAppend,
            deadline: Some(deadline),
            group_id: Some(group_id.clone()),
            partitions: Arc::from([]),
        });
    }

    fn send(self, result: Result<(), ErrorCode>, out: &mut Out) {
        let Self {
            reply,
            response,
            since,
        } = self;
        if since.is_some() {
            out.trace(TraceEvent::RequestReleased {
                from: reply.node,
                correlation: reply.correlation,
                waiting: Waiting::CoordinatorAppend,
                timed_out: result == Err(ErrorCode::RequestTimedOut),
            });
        }
        let response = match result {
            Ok(()) => response,
            Err(error_code) => failed(response, error_code),
        };
        out.respond(reply, response);
    }
}

/// What a client is told of a failed append.
///
/// # Source
/// `CoordinatorOperationExceptionHelper`, `GroupMetadataManager#appendGroupMetadataErrorToResponseError`
/// (Kafka 1eb7644).
pub fn client_error(error_code: ErrorCode) -> ErrorCode {
    if [
        ErrorCode::UnknownTopicOrPartition,
        ErrorCode::NotEnoughReplicas,
        ErrorCode::RequestTimedOut,
    ]
    .contains(&error_code)
    {
        return ErrorCode::CoordinatorNotAvailable;
    }
    if [ErrorCode::NotLeaderOrFollower, ErrorCode::KafkaStorageError].contains(&error_code) {
        return ErrorCode::NotCoordinator;
    }
    if [
        ErrorCode::MessageTooLarge,
        ErrorCode::InvalidCommitOffsetSize,
    ]
    .contains(&error_code)
    {
        return ErrorCode::UnknownServerError;
    }
    error_code
}

/// The answer that takes the place of `response` when the write that it waits for fails.
fn failed(response: Response, error_code: ErrorCode) -> Response {
    let error_code = client_error(error_code);
    if let Response::Heartbeat(_) = response {
        return Response::Heartbeat(HeartbeatResponse { error_code });
    }
    if let Response::ConsumerGroupHeartbeat(_) = response {
        return Response::ConsumerGroupHeartbeat(refusal(error_code));
    }
    if let Response::LeaveGroup(_) = response {
        return Response::LeaveGroup(LeaveGroupResponse {
            error_code,
            members: Vec::new(),
        });
    }
    if let Response::OffsetCommit(OffsetCommitResponse { partitions }) = response {
        let partitions = partitions
            .into_iter()
            .map(|(it, _)| (it, error_code))
            .collect();
        return Response::OffsetCommit(OffsetCommitResponse { partitions });
    }
    if let Response::TxnOffsetCommit(TxnOffsetCommitResponse { partitions }) = response {
        let partitions = partitions
            .into_iter()
            .map(|(it, _)| (it, error_code))
            .collect();
        return Response::TxnOffsetCommit(TxnOffsetCommitResponse { partitions });
    }
    if let Response::OffsetFetch(_) = response {
        // Old consumers do not expect COORDINATOR_NOT_AVAILABLE in this answer.
        let is_unexpected = error_code == ErrorCode::CoordinatorNotAvailable;
        let error_code = if is_unexpected {
            ErrorCode::NotCoordinator
        } else {
            error_code
        };
        return Response::OffsetFetch(OffsetFetchResponse {
            error_code,
            offsets: Vec::new(),
        });
    }
    response
}
