//! Committed offsets: commits, reads and expiry.

use super::context::{Answer, Context, Then, Write};
use super::group::ClassicGroup;
use super::records::{group_record, offset_record};
use super::runtime::CoordinatorPartition;
use super::state::State;
use crate::base::ids::{Offset, TopicPartition};
use crate::base::timer::Timer;
use crate::kernel::time::{SimTime, Span};
use crate::trace::out::ReplyTo;
use crate::wire::api::{
    OffsetCommitRequest, OffsetCommitResponse, OffsetFetchRequest, OffsetFetchResponse, Response,
    TxnOffsetCommitResponse,
};
use crate::wire::error_code::ErrorCode;
use crate::wire::record::{CommittedOffset, ProducerStamp, Record};

/// `OffsetCommit` from this version on calls an unknown group by its name.
const GROUP_ID_NOT_FOUND_VERSION: i16 = 9;

impl ClassicGroup {
    /// Whether a member, or a consumer outside the group, may commit now. A transaction may commit
    /// for a group without naming a member, and while the assignment is awaited.
    ///
    /// # Source
    /// `ClassicGroup#validateOffsetCommit` (Kafka 1eb7644).
    fn check_commit(
        &self,
        request: &OffsetCommitRequest,
        is_transactional: bool,
    ) -> Result<(), ErrorCode> {
        if self.state().is_dead() {
            return Err(ErrorCode::CoordinatorNotAvailable);
        }
        if request.generation_id < 0 && self.state().is_empty() {
            return Ok(());
        }
        let names_a_member = 0 <= request.generation_id
            || !request.member_id.is_empty()
            || request.group_instance_id.is_some();
        if names_a_member {
            self.check_member(&request.member_id, request.group_instance_id.as_ref())?;
            if request.generation_id != self.generation_id {
                return Err(ErrorCode::IllegalGeneration);
            }
        } else if !is_transactional && !self.state().is_empty() {
            return Err(ErrorCode::UnknownMemberId);
        }
        match self.state() {
            State::CompletingRebalance(_) if !is_transactional => {
                Err(ErrorCode::RebalanceInProgress)
            }
            State::Empty
            | State::PreparingRebalance(_)
            | State::CompletingRebalance(_)
            | State::Stable(_)
            | State::Dead => Ok(()),
        }
    }

    /// The instant from which the age of an offset counts; unset while it cannot expire (KIP-211).
    fn expiry_base(&self, committed: &CommittedOffset) -> Option<SimTime> {
        let is_empty = self.state().is_empty();
        if self.protocol_type.is_none() {
            return Some(committed.committed_at);
        }
        if is_empty {
            return Some(self.current_state_at);
        }
        let is_known_stable = matches!(self.state(), State::Stable(_))
            && self.is_consumer_group()
            && self.subscribed_topics.is_some();
        is_known_stable.then_some(committed.committed_at)
    }

    /// Tombstones of what has expired; of the group itself if it is Empty and no offset is left.
    /// `open` are the partitions that an open transaction commits: their offsets stay, and with them
    /// the group, unless it had no offset at all.
    fn expired_records(&self, open: &[TopicPartition], ctx: &Context<'_>) -> Vec<Record> {
        let now = ctx.out.now;
        let minutes = ctx.config.offsets_retention_minutes;
        let retention = Span::from_millis(minutes.saturating_mul(60_000));
        let mut records = Vec::new();
        for (topic_partition, committed) in &self.offsets {
            let topic_name = ctx.topic_names.get(&topic_partition.topic);
            let is_old = self
                .expiry_base(committed)
                .is_some_and(|base| base + retention <= now && base <= now);
            if is_old && !open.contains(topic_partition) && !self.is_subscribed_to(topic_name) {
                let record = offset_record(&self.group_id, *topic_partition, topic_name, None, now);
                records.push(record);
            }
        }
        let is_left_alone = open.is_empty() || self.offsets.is_empty();
        if self.state().is_empty() && is_left_alone && records.len() == self.offsets.len() {
            records.push(group_record(&self.group_id, None, now));
        }
        records
    }
}

impl CoordinatorPartition {
    /// Answers `OffsetCommit` once its records are replicated.
    ///
    /// # Errors sent
    /// Per partition: `GROUP_ID_NOT_FOUND` (69), before version 9 `ILLEGAL_GENERATION` (22), for an
    /// unknown group; `COORDINATOR_NOT_AVAILABLE` (15) dead group; `UNKNOWN_MEMBER_ID` (25);
    /// `FENCED_INSTANCE_ID` (82); `ILLEGAL_GENERATION` (22); `REBALANCE_IN_PROGRESS` (27) while the
    /// assignment is awaited.
    /// # Source
    /// `OffsetMetadataManager#commitOffset` (Kafka 1eb7644).
    /// # Simplified
    /// Commits carry no metadata text, so `OFFSET_METADATA_TOO_LARGE` is never sent.
    pub(super) fn commit(
        &mut self,
        reply: ReplyTo,
        request: &OffsetCommitRequest,
        ctx: &mut Context<'_>,
    ) {
        self.commit_for(reply, request, ProducerStamp::NONE, ctx);
    }

    /// A commit, by itself or as part of the transaction of `producer`.
    ///
    /// # Source
    /// `OffsetMetadataManager#commitTransactionalOffset` (Kafka 1eb7644).
    pub(super) fn commit_for(
        &mut self,
        reply: ReplyTo,
        request: &OffsetCommitRequest,
        producer: ProducerStamp,
        ctx: &mut Context<'_>,
    ) {
        let is_transactional = producer.has_id();
        let respond = |error_code| {
            let OffsetCommitResponse { partitions } = commit_response(request, error_code);
            if is_transactional {
                Response::TxnOffsetCommit(TxnOffsetCommitResponse { partitions })
            } else {
                Response::OffsetCommit(OffsetCommitResponse { partitions })
            }
        };
        let OffsetCommitRequest {
            group_id,
            generation_id,
            member_id,
            ..
        } = request;
        let checked = match self.consumer_groups.get(group_id) {
            Some(group) => group.check_commit(request, is_transactional),
            None => self.check_classic_commit(request, is_transactional, ctx),
        };
        if let Err(error) = checked {
            return ctx.out.respond(reply, respond(error));
        }
        let response = respond(ErrorCode::None);
        if request.offsets.is_empty() {
            return self.answer(group_id, reply, response, ctx);
        }
        let now = ctx.out.now;
        let records = request
            .offsets
            .iter()
            .map(|(topic_partition, offset, leader_epoch)| {
                let committed = CommittedOffset {
                    offset: *offset,
                    leader_epoch: *leader_epoch,
                    committed_at: now,
                };
                let topic_name = ctx.topic_names.get(&topic_partition.topic);
                offset_record(group_id, *topic_partition, topic_name, Some(committed), now)
            });
        let offsets = request
            .offsets
            .iter()
            .map(|(partition, offset, _)| (*partition, *offset));
        let write = Write {
            records: records.collect(),
            producer,
            group_id: Some(group_id.clone()),
            // An offset of a transaction is committed when the transaction is.
            then: if is_transactional {
                Then::Nothing
            } else {
                Then::Commit {
                    member_id: member_id.clone(),
                    generation_id: *generation_id,
                    offsets: offsets.collect(),
                }
            },
            answer: Some(Answer {
                reply,
                response,
                since: None,
            }),
        };
        ctx.writes.push(write);
    }

    fn check_classic_commit(
        &mut self,
        request: &OffsetCommitRequest,
        is_transactional: bool,
        ctx: &mut Context<'_>,
    ) -> Result<(), ErrorCode> {
        let Some(group) = self.groups.get_mut(&request.group_id) else {
            return if request.generation_id < 0 {
                // A consumer that assigns by itself: the commit makes the group when it is stored.
                Ok(())
            } else if request.version < GROUP_ID_NOT_FOUND_VERSION {
                Err(ErrorCode::IllegalGeneration)
            } else {
                Err(ErrorCode::GroupIdNotFound)
            };
        };
        group.check_commit(request, is_transactional)?;
        match group.state() {
            State::Stable(_) | State::PreparingRebalance(_) => {
                group.restart_session(&request.member_id, ctx.out);
            }
            State::Empty | State::CompletingRebalance(_) | State::Dead => {}
        }
        Ok(())
    }

    /// Answers `OffsetFetch`, whoever asks and whatever the group does. It waits for commits that
    /// are under way, as a consumer's `require_stable` read does.
    ///
    /// # Errors sent
    /// `UNKNOWN_MEMBER_ID` (25), `STALE_MEMBER_EPOCH` (113) a member of the consumer protocol;
    /// `UNSTABLE_OFFSET_COMMIT` (88) while a transaction with one of the offsets is open (KIP-447);
    /// an unknown group or partition has offset -1.
    /// # Source
    /// `OffsetMetadataManager#fetchOffsets` (Kafka 1eb7644).
    pub(super) fn fetch_offsets(
        &mut self,
        reply: ReplyTo,
        request: &OffsetFetchRequest,
        ctx: &mut Context<'_>,
    ) {
        let group = self
            .groups
            .get(&request.group_id)
            .filter(|group| !group.state().is_dead());
        let consumers = self.consumer_groups.get(&request.group_id);
        let checked = consumers.map(|it| it.check_fetch(&request.member_id, request.member_epoch));
        if let Some(Err(error_code)) = checked {
            let response = OffsetFetchResponse {
                error_code,
                offsets: Vec::new(),
            };
            return ctx.out.respond(reply, Response::OffsetFetch(response));
        }
        let offsets = consumers.map(|group| &group.offsets);
        let offsets = offsets.or(group.map(|group| &group.offsets));
        let read = |topic_partition: &TopicPartition| {
            let committed = offsets.and_then(|offsets| offsets.get(topic_partition));
            committed.map_or((*topic_partition, Offset::UNKNOWN, -1), |committed| {
                (*topic_partition, committed.offset, committed.leader_epoch)
            })
        };
        let mut asked = request.partitions.iter();
        let response = if asked.any(|id| self.is_open(&request.group_id, *id)) {
            OffsetFetchResponse {
                error_code: ErrorCode::UnstableOffsetCommit,
                offsets: Vec::new(),
            }
        } else {
            OffsetFetchResponse {
                error_code: ErrorCode::None,
                offsets: request.partitions.iter().map(read).collect(),
            }
        };
        self.answer(
            &request.group_id,
            reply,
            Response::OffsetFetch(response),
            ctx,
        );
    }

    /// Removes what has expired from every group of this partition, and groups of which nothing is
    /// left, at once and not after the retention.
    ///
    /// # Source
    /// `GroupCoordinatorShard#cleanupExpiredOffsets`, `#maybeDeleteGroup` (Kafka 1eb7644); KIP-211.
    pub(super) fn on_offset_expiry(&mut self, ctx: &mut Context<'_>) {
        if self
            .offset_expiry_at
            .is_none_or(|due_at| ctx.out.now < due_at)
        {
            return;
        }
        let groups = self.groups.values();
        let records: Vec<Record> = groups
            .flat_map(|group| group.expired_records(&self.open_partitions(&group.group_id), ctx))
            .chain(self.consumer_groups.values().flat_map(|group| {
                let open = self.open_partitions(&group.group_id);
                group.expired_records(&open, ctx)
            }))
            .collect();
        if !records.is_empty() {
            let (then, answer) = (Then::Nothing, None);
            ctx.writes.push(Write {
                records,
                producer: ProducerStamp::NONE,
                group_id: None,
                then,
                answer,
            });
        }
        self.arm_offset_expiry(ctx);
    }

    /// Arms the next check of committed offsets.
    pub(super) fn arm_offset_expiry(&mut self, ctx: &mut Context<'_>) {
        let interval = Span::from_millis(ctx.config.offsets_retention_check_interval_ms);
        let due_at = ctx.out.now + interval;
        self.offset_expiry_at = Some(due_at);
        ctx.out.arm_at(Timer::OffsetExpiry(ctx.partition), due_at);
    }
}

/// The same outcome for every partition of a commit.
pub(super) fn commit_response(
    request: &OffsetCommitRequest,
    error_code: ErrorCode,
) -> OffsetCommitResponse {
    let partitions = request
        .offsets
        .iter()
        .map(|(partition, _, _)| (*partition, error_code));
    OffsetCommitResponse {
        partitions: partitions.collect(),
    }
}
