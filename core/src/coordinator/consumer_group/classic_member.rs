//! Members that speak the classic protocol in a group of the consumer protocol, and groups that go
//! over from one protocol to the other.
//!
//! Such a member joins and syncs without a barrier: `JoinGroup` is its full heartbeat, `SyncGroup`
//! gives it what it may own now, and its heartbeat tells it to join again whenever there is
//! something to do. Its generation is its member epoch.

use super::ConsumerGroup;
use super::heartbeat::{Draft, look_up, tombstones};
use crate::base::ids::{GroupId, InstanceId, MemberId};
use crate::base::timer::Timer;
use crate::coordinator::context::{Answer, Context, Then, Write};
use crate::coordinator::group::{
    CONSUMER_PROTOCOL_TYPE, ClassicGroup, Member, join_error, rebalance_timeout, sync_error,
};
use crate::coordinator::records::group_record;
use crate::coordinator::runtime::CoordinatorPartition;
use crate::kernel::time::Span;
use crate::trace::event::TraceEvent;
use crate::trace::out::ReplyTo;
use crate::wire::api::{
    HeartbeatRequest, HeartbeatResponse, JoinGroupRequest, JoinGroupResponse, LeaveGroupRequest,
    LeaveGroupResponse, Response, SyncGroupRequest, SyncGroupResponse,
};
use crate::wire::error_code::ErrorCode;
use crate::wire::record::{
    ClassicMemberMetadata, ConsumerGroupPiece, ConsumerMemberMetadata, CurrentAssignment,
    ProducerStamp, ReconciliationState, Record, Subscription,
};
use std::sync::Arc;

/// `JoinGroup` from this version on has dynamic members come back with an id (KIP-394).
const MEMBER_ID_REQUIRED_VERSION: i16 = 4;

impl CoordinatorPartition {
    /// Answers `JoinGroup` of a group of the consumer protocol with members. False if the group is
    /// none; one without members gives way to a classic group.
    ///
    /// # Errors sent
    /// `GROUP_MAX_SIZE_REACHED` (81); `INCONSISTENT_GROUP_PROTOCOL` (23); `MEMBER_ID_REQUIRED` (79);
    /// `UNKNOWN_MEMBER_ID` (25); `FENCED_INSTANCE_ID` (82); `UNKNOWN_SERVER_ERROR` (-1) the assignor
    /// fails.
    /// # Source
    /// `GroupMetadataManager#classicGroupJoinToConsumerGroup` (Kafka 1eb7644); KIP-848.
    /// # Simplified
    /// A static member that comes back with the classic protocol as the last one of the consumer
    /// protocol does not make the group a classic one.
    pub(in crate::coordinator) fn handle_join_of_classic_member(
        &mut self,
        reply: ReplyTo,
        request: &JoinGroupRequest,
        ctx: &mut Context<'_>,
    ) -> bool {
        let Some(group) = self.consumer_groups.get(&request.group_id) else {
            return false;
        };
        if group.members.is_empty() {
            let records = group.tombstone_records(ctx);
            ctx.write(&request.group_id, records, Then::Nothing);
            return false;
        }
        let mut member_id = request.member_id.clone();
        if member_id.is_empty() {
            let instance_id = request.group_instance_id.as_ref();
            let prefix = instance_id.map_or(&*request.client_id, InstanceId::as_str);
            member_id = self
                .member_ids
                .next_for(prefix, |member_id| group.member(member_id).is_some());
        }
        match group.classic_join(reply, (request, &member_id), ctx) {
            Err(error_code) => {
                let is_known = error_code == ErrorCode::MemberIdRequired;
                let member_id = if is_known {
                    member_id
                } else {
                    request.member_id.clone()
                };
                let response = Response::JoinGroup(join_error(error_code, member_id));
                ctx.out.respond(reply, response);
            }
            Ok((records, response)) => {
                if let Some(group) = self.consumer_groups.get_mut(&request.group_id) {
                    group.is_metadata_refresh_due = false;
                    group.awaited_joins.remove(&member_id);
                }
                let response = Response::JoinGroup(response);
                self.answer_after(&request.group_id, records, (reply, response), ctx);
            }
        }
        true
    }

    /// Answers once the records are replicated; at once when there are none.
    pub(super) fn answer_after(
        &mut self,
        group_id: &GroupId,
        records: Vec<Record>,
        (reply, response): (ReplyTo, Response),
        ctx: &mut Context<'_>,
    ) {
        if records.is_empty() {
            return self.answer(group_id, reply, response, ctx);
        }
        ctx.writes.push(Write {
            records,
            producer: ProducerStamp::NONE,
            group_id: Some(group_id.clone()),
            then: Then::Nothing,
            answer: Some(Answer {
                reply,
                response,
                since: None,
            }),
        });
    }

    /// Answers `SyncGroup` of a member of the classic protocol at once. False if the group is none
    /// of the consumer protocol.
    ///
    /// # Errors sent
    /// `UNKNOWN_MEMBER_ID` (25); `FENCED_INSTANCE_ID` (82); `ILLEGAL_GENERATION` (22);
    /// `INCONSISTENT_GROUP_PROTOCOL` (23); `REBALANCE_IN_PROGRESS` (27) the group epoch has moved on.
    /// # Source
    /// `GroupMetadataManager#classicGroupSyncToConsumerGroup` (Kafka 1eb7644); KIP-848.
    pub(in crate::coordinator) fn handle_sync_of_classic_member(
        &mut self,
        reply: ReplyTo,
        request: &SyncGroupRequest,
        ctx: &mut Context<'_>,
    ) -> bool {
        let Some(group) = self.consumer_groups.get_mut(&request.group_id) else {
            return false;
        };
        let response = match group.classic_sync(request, ctx) {
            Ok(response) => response,
            Err(error_code) => sync_error(error_code),
        };
        let response = Response::SyncGroup(response);
        self.answer(&request.group_id, reply, response, ctx);
        true
    }

    /// Answers `Heartbeat` of a member of the classic protocol. False if the group is none of the
    /// consumer protocol.
    ///
    /// # Errors sent
    /// `UNKNOWN_MEMBER_ID` (25); `FENCED_INSTANCE_ID` (82); `ILLEGAL_GENERATION` (22);
    /// `REBALANCE_IN_PROGRESS` (27) there is something to give up, or to take.
    /// # Source
    /// `GroupMetadataManager#classicGroupHeartbeatToConsumerGroup` (Kafka 1eb7644); KIP-848.
    pub(in crate::coordinator) fn handle_heartbeat_of_classic_member(
        &mut self,
        reply: ReplyTo,
        request: &HeartbeatRequest,
        ctx: &mut Context<'_>,
    ) -> bool {
        let Some(group) = self.consumer_groups.get_mut(&request.group_id) else {
            return false;
        };
        let error_code = group.classic_heartbeat(request, ctx);
        let response = Response::Heartbeat(HeartbeatResponse { error_code });
        self.answer(&request.group_id, reply, response, ctx);
        true
    }

    /// Answers `LeaveGroup` for a group of the consumer protocol: all that leave raise its epoch
    /// once. False if the group is none.
    ///
    /// # Errors sent
    /// Per member `UNKNOWN_MEMBER_ID` (25) and `FENCED_INSTANCE_ID` (82).
    /// # Source
    /// `GroupMetadataManager#classicGroupLeaveToConsumerGroup` (Kafka 1eb7644); KIP-848.
    pub(in crate::coordinator) fn handle_leave_of_classic_members(
        &mut self,
        reply: ReplyTo,
        request: &LeaveGroupRequest,
        ctx: &mut Context<'_>,
    ) -> bool {
        let Some(group) = self.consumer_groups.get(&request.group_id) else {
            return false;
        };
        let mut gone: Vec<MemberId> = Vec::new();
        let mut members = Vec::new();
        for leaving in &request.members {
            let instance_id = leaving.group_instance_id.as_ref();
            let found = if leaving.member_id.is_empty() {
                let named = instance_id.and_then(|id| group.static_member(id));
                named.ok_or(ErrorCode::UnknownMemberId)
            } else {
                group.known_member(&leaving.member_id, instance_id)
            };
            let error_code = match found {
                Ok(member) => {
                    gone.push(member.member_id.clone());
                    ErrorCode::None
                }
                Err(error_code) => error_code,
            };
            let id = leaving.member_id.clone();
            members.push((id, leaving.group_instance_id.clone(), error_code));
        }
        let records = group.removal_records(&gone, "it leaves", ctx);
        let response = Response::LeaveGroup(LeaveGroupResponse {
            error_code: ErrorCode::None,
            members,
        });
        self.answer_after(&request.group_id, records, (reply, response), ctx);
        true
    }
}

impl ConsumerGroup {
    fn classic_join(
        &self,
        reply: ReplyTo,
        (request, member_id): (&JoinGroupRequest, &MemberId),
        ctx: &mut Context<'_>,
    ) -> Result<(Vec<Record>, JoinGroupResponse), ErrorCode> {
        if self.is_full_for(&request.member_id, ctx.config) {
            return Err(ErrorCode::GroupMaxSizeReached);
        }
        let Some((protocol_name, subscription)) = request.protocols.first() else {
            return Err(ErrorCode::InconsistentGroupProtocol);
        };
        if !self.supports(&request.member_id, request) {
            return Err(ErrorCode::InconsistentGroupProtocol);
        }
        let is_new = request.member_id.is_empty();
        let instance_id = request.group_instance_id.as_ref();
        if is_new && instance_id.is_none() && MEMBER_ID_REQUIRED_VERSION <= request.version {
            return Err(ErrorCode::MemberIdRequired);
        }
        let mut draft = match instance_id {
            Some(_) if !is_new => {
                let member = self.known_member(member_id, instance_id)?;
                Draft::new(self, member.clone())
            }
            Some(id) if self.static_member(id).is_some() => {
                let former = self.static_member(id).ok_or(ErrorCode::UnknownMemberId)?;
                Draft::replace(self, former, member_id, self.target_assignment_epoch)
            }
            Some(_) | None => Draft::of(self, member_id),
        };
        let metadata = ConsumerMemberMetadata {
            group_instance_id: request.group_instance_id.clone(),
            rack_id: subscription.rack_id.clone(),
            client_id: request.client_id.clone(),
            client: reply.node,
            subscribed_topics: subscription.topics.clone(),
            server_assignor: None,
            rebalance_timeout_ms: i64::try_from(rebalance_timeout(request).as_millis())
                .unwrap_or(i64::MAX),
            classic: Some(ClassicMemberMetadata {
                session_timeout_ms: request.session_timeout_ms,
                protocols: request.protocols.clone(),
            }),
        };
        let bumps = draft.set_metadata(metadata);
        let mut owned = subscription.owned_partitions.clone();
        owned.sort_unstable();
        draft.settle(bumps, Some(&owned), ctx)?;
        draft.note(ctx);
        let session = Timer::MemberSession(self.group_id.clone(), member_id.clone());
        ctx.out
            .arm(session, Span::from_millis(request.session_timeout_ms));
        // From the join until the sync.
        let timer = Timer::RebalanceTimeout(self.group_id.clone(), member_id.clone());
        ctx.out.arm(timer, rebalance_timeout(request));
        let response = JoinGroupResponse {
            error_code: ErrorCode::None,
            generation_id: draft.member.current.member_epoch,
            protocol_type: Some(Arc::from(CONSUMER_PROTOCOL_TYPE)),
            protocol_name: Some(Arc::clone(protocol_name)),
            leader: MemberId::default(),
            skip_assignment: false,
            member_id: member_id.clone(),
            members: Vec::new(),
        };
        let now = ctx.out.now;
        let pieces = std::mem::take(&mut draft.pieces);
        let records = pieces.into_iter().map(|piece| self.record(piece, now));
        Ok((records.collect(), response))
    }

    /// Whether this join has an assignor in common with the other members of the classic protocol.
    fn supports(&self, member_id: &MemberId, request: &JoinGroupRequest) -> bool {
        let others = self.members.iter().filter(|it| it.member_id != *member_id);
        let classic: Vec<&ClassicMemberMetadata> = others
            .filter_map(|it| it.metadata.classic.as_ref())
            .collect();
        let lists = |member: &ClassicMemberMetadata, name: &Arc<str>| {
            member.protocols.iter().any(|(other, _)| other == name)
        };
        let mut offered = request.protocols.iter();
        &*request.protocol_type == CONSUMER_PROTOCOL_TYPE
            && offered.any(|(name, _)| classic.iter().all(|member| lists(member, name)))
    }

    /// The member of the classic protocol that sends a request in this generation.
    fn classic_member(
        &self,
        (member_id, instance_id): (&MemberId, Option<&InstanceId>),
        generation_id: i32,
    ) -> Result<(&super::ConsumerMember, &ClassicMemberMetadata), ErrorCode> {
        let member = self.known_member(member_id, instance_id)?;
        let classic = member.metadata.classic.as_ref();
        let classic = classic.ok_or(ErrorCode::UnknownMemberId)?;
        if member.current.member_epoch != generation_id {
            return Err(ErrorCode::IllegalGeneration);
        }
        Ok((member, classic))
    }

    fn classic_sync(
        &mut self,
        request: &SyncGroupRequest,
        ctx: &mut Context<'_>,
    ) -> Result<SyncGroupResponse, ErrorCode> {
        let id = (&request.member_id, request.group_instance_id.as_ref());
        let (member, classic) = self.classic_member(id, request.generation_id)?;
        let protocol_name = classic.protocols.first().map(|(name, _)| Arc::clone(name));
        let has_other_type = request
            .protocol_type
            .as_deref()
            .is_some_and(|it| it != CONSUMER_PROTOCOL_TYPE);
        if has_other_type
            || (request.protocol_name.is_some() && request.protocol_name != protocol_name)
        {
            return Err(ErrorCode::InconsistentGroupProtocol);
        }
        let is_behind = member.current.member_epoch < self.group_epoch;
        let timer = (self.group_id.clone(), request.member_id.clone());
        if is_behind && member.current.state != ReconciliationState::UnrevokedPartitions {
            let timeout = Span::from_millis(member.metadata.rebalance_timeout_ms);
            self.await_join(&request.member_id, timeout, ctx);
            return Err(ErrorCode::RebalanceInProgress);
        }
        ctx.out
            .cancel(Timer::RebalanceTimeout(timer.0.clone(), timer.1.clone()));
        let session = Span::from_millis(classic.session_timeout_ms);
        ctx.out.arm(Timer::MemberSession(timer.0, timer.1), session);
        Ok(SyncGroupResponse {
            error_code: ErrorCode::None,
            protocol_type: Some(Arc::from(CONSUMER_PROTOCOL_TYPE)),
            protocol_name,
            assignment: Arc::new(member.current.assigned.clone()),
        })
    }

    fn classic_heartbeat(
        &mut self,
        request: &HeartbeatRequest,
        ctx: &mut Context<'_>,
    ) -> ErrorCode {
        let id = (&request.member_id, request.group_instance_id.as_ref());
        let (member, classic) = match self.classic_member(id, request.generation_id) {
            Ok(found) => found,
            Err(error_code) => return error_code,
        };
        let session = Span::from_millis(classic.session_timeout_ms);
        let timer = Timer::MemberSession(self.group_id.clone(), request.member_id.clone());
        ctx.out.arm(timer, session);
        let current = &member.current;
        let has_blocked = || {
            let mut missing = member
                .target
                .iter()
                .filter(|id| current.assigned.binary_search(id).is_err());
            missing.any(|id| self.partition_epoch(*id) != super::FREE)
        };
        let must_join = current.member_epoch < self.group_epoch
            || current.state == ReconciliationState::UnrevokedPartitions
            || (current.state == ReconciliationState::UnreleasedPartitions && !has_blocked());
        if !must_join {
            return ErrorCode::None;
        }
        let timeout = Span::from_millis(member.metadata.rebalance_timeout_ms);
        self.await_join(&request.member_id, timeout, ctx);
        ErrorCode::RebalanceInProgress
    }

    /// The member has been told to join: it has its rebalance timeout from the first time on.
    fn await_join(&mut self, member_id: &MemberId, timeout: Span, ctx: &mut Context<'_>) {
        if self.awaited_joins.insert(member_id.clone()) {
            let timer = Timer::RebalanceTimeout(self.group_id.clone(), member_id.clone());
            ctx.out.arm(timer, timeout);
        }
    }

    /// The group of the consumer protocol that a classic one becomes, and the records that make it
    /// so: every member goes on with the classic protocol, its epoch is the generation.
    ///
    /// # Source
    /// `ConsumerGroup#fromClassicGroup`, `GroupMetadataManager#convertToConsumerGroup` (Kafka
    /// 1eb7644).
    pub(super) fn upgraded(classic: &ClassicGroup, ctx: &Context<'_>) -> (Self, Vec<Record>) {
        let mut group = Self::new(classic.group_id.clone());
        let epoch = classic.generation_id;
        let protocol = classic.protocol_name.as_deref().unwrap_or_default();
        let mut pieces = Vec::new();
        for member in &classic.members {
            let said = member.subscription(protocol);
            let said = said.or(member.protocols.first().map(|(_, said)| said));
            let said = said.cloned().unwrap_or_default();
            let id = member.member_id.clone();
            let mut assigned = member.assignment.to_vec();
            assigned.sort_unstable();
            let current = CurrentAssignment {
                member_epoch: epoch,
                previous_member_epoch: epoch,
                assigned: assigned.clone(),
                ..CurrentAssignment::default()
            };
            pieces.push(ConsumerGroupPiece::Member(
                id.clone(),
                Some(Arc::new(described(member, &said))),
            ));
            pieces.push(ConsumerGroupPiece::Target(
                id.clone(),
                Some(Arc::new(assigned)),
            ));
            pieces.push(ConsumerGroupPiece::Current(id, Some(Arc::new(current))));
        }
        pieces.push(ConsumerGroupPiece::Epoch(Some(epoch)));
        pieces.push(ConsumerGroupPiece::TargetEpoch(Some(epoch)));
        for piece in &pieces {
            group.replay(piece);
        }
        let names = group.topic_names(&[], &[]);
        let topics = ConsumerGroupPiece::Topics(Some(Arc::new(look_up(&names, ctx))));
        group.replay(&topics);
        pieces.push(topics);
        let now = ctx.out.now;
        let mut records = vec![group_record(&classic.group_id, None, now)];
        records.extend(pieces.into_iter().map(|piece| group.record(piece, now)));
        (group, records)
    }

    /// Whether the group becomes a classic one when these members go: nobody else speaks the
    /// consumer protocol.
    pub(super) fn downgrades_without(&self, gone: &[MemberId], ctx: &Context<'_>) -> bool {
        let count = i64::try_from(self.members.len() - gone.len()).unwrap_or(i64::MAX);
        let mut rest = self
            .members
            .iter()
            .filter(|it| !gone.contains(&it.member_id));
        ctx.config
            .group_consumer_migration_policy
            .allows_downgrade()
            && 0 < count
            && count <= ctx.config.group_max_size
            && rest.all(|it| it.metadata.classic.is_some())
    }

    /// The records that make the group a classic one, without these members. Its generation is the
    /// group epoch.
    ///
    /// # Source
    /// `ClassicGroup#fromConsumerGroup`, `GroupMetadataManager#convertToClassicGroup` (Kafka
    /// 1eb7644).
    pub(super) fn downgrade_records(&self, gone: &[MemberId], ctx: &Context<'_>) -> Vec<Record> {
        let now = ctx.out.now;
        let mut classic = ClassicGroup::new(self.group_id.clone(), now);
        classic.generation_id = self.group_epoch;
        classic.protocol_type = Some(Arc::from(CONSUMER_PROTOCOL_TYPE));
        let rest = self
            .members
            .iter()
            .filter(|it| !gone.contains(&it.member_id));
        for member in rest {
            let Some(said) = &member.metadata.classic else {
                continue;
            };
            classic.members.push(Member {
                member_id: member.member_id.clone(),
                group_instance_id: member.metadata.group_instance_id.clone(),
                client_id: member.metadata.client_id.clone(),
                client: member.metadata.client,
                rebalance_timeout: Span::from_millis(member.metadata.rebalance_timeout_ms),
                session_timeout: Span::from_millis(said.session_timeout_ms),
                protocols: said.protocols.clone(),
                assignment: Arc::clone(&member.target),
                join: None,
                sync: None,
                is_new: false,
                session_timer_at: None,
            });
        }
        classic.leader = classic.members.first().map(|it| it.member_id.clone());
        classic.protocol_name = classic.select_protocol();
        let pieces = self.members.iter().flat_map(|it| tombstones(&it.member_id));
        let mut records: Vec<Record> = pieces.map(|piece| self.record(piece, now)).collect();
        records.extend(self.tombstone_records(ctx));
        records.push(classic.metadata_record(None, now));
        records
    }
}

/// What the consumer protocol keeps of a classic member.
fn described(member: &Member, said: &Subscription) -> ConsumerMemberMetadata {
    let millis = |span: Span| i64::try_from(span.as_millis()).unwrap_or(i64::MAX);
    ConsumerMemberMetadata {
        group_instance_id: member.group_instance_id.clone(),
        rack_id: said.rack_id.clone(),
        client_id: member.client_id.clone(),
        client: member.client,
        subscribed_topics: said.topics.clone(),
        server_assignor: None,
        rebalance_timeout_ms: millis(member.rebalance_timeout),
        classic: Some(ClassicMemberMetadata {
            session_timeout_ms: millis(member.session_timeout),
            protocols: member.protocols.clone(),
        }),
    }
}

impl ClassicGroup {
    /// A group of the consumer protocol has become this one: its members join anew.
    pub(in crate::coordinator) fn on_downgraded(&mut self, ctx: &mut Context<'_>) {
        let members: Vec<MemberId> = self.members.iter().map(|it| it.member_id.clone()).collect();
        for member_id in &members {
            self.restart_session(member_id, ctx.out);
        }
        let reason = format!(
            "Downgrade group {} from consumer to classic.",
            self.group_id
        );
        self.prepare_rebalance(&reason, ctx);
    }

    /// A group of the consumer protocol takes its place: whoever waits joins again.
    pub(in crate::coordinator) fn on_upgraded(&mut self, ctx: &mut Context<'_>) {
        let error_code = ErrorCode::RebalanceInProgress;
        for member in &mut self.members {
            let refusal = join_error(error_code, member.member_id.clone());
            member.answer_join(refusal, false, ctx.out);
            member.answer_sync(sync_error(error_code), false, ctx.out);
        }
    }

    /// Whether a member of the consumer protocol may make it a group of that protocol.
    pub(super) fn may_upgrade(&self, ctx: &Context<'_>) -> bool {
        let count = i64::try_from(self.members.len()).unwrap_or(i64::MAX);
        ctx.config.group_consumer_migration_policy.allows_upgrade()
            && self.is_consumer_group()
            && count <= ctx.config.group_consumer_max_size
    }
}

/// Notes that a member is gone.
pub(super) fn note_removed(
    group_id: &GroupId,
    member_id: &MemberId,
    reason: &str,
    ctx: &mut Context<'_>,
) {
    ctx.out.trace(TraceEvent::MemberRemoved {
        group_id: group_id.clone(),
        member_id: member_id.clone(),
        reason: Arc::from(reason),
    });
}
