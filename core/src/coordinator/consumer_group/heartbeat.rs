//! `ConsumerGroupHeartbeat`: joining, staying and leaving.

use super::classic_member::note_removed;
use super::reconcile::{Goal, next_step};
use super::{
    ConsumerGroup, ConsumerMember, LEAVE_GROUP_MEMBER_EPOCH, LEAVE_GROUP_STATIC_MEMBER_EPOCH,
};
use crate::base::config::{BrokerConfig, ServerAssignor};
use crate::base::ids::{GroupId, InstanceId, MemberId, NodeId, TopicPartition};
use crate::base::timer::Timer;
use crate::coordinator::context::Context;
use crate::coordinator::group::ClassicGroup;
use crate::coordinator::records::group_record;
use crate::coordinator::runtime::CoordinatorPartition;
use crate::kernel::time::Span;
use crate::trace::event::TraceEvent;
use crate::trace::out::ReplyTo;
use crate::wire::api::{ConsumerGroupHeartbeatRequest, ConsumerGroupHeartbeatResponse, Response};
use crate::wire::error_code::ErrorCode;
use crate::wire::record::{
    ConsumerGroupPiece, CurrentAssignment, ReconciliationState, Record, SubscribedTopic,
};
use std::sync::Arc;

/// A heartbeat on its way to an answer: what is to be written and noted, and the member as it will
/// be.
#[derive(Debug)]
pub(super) struct Draft<'a> {
    /// The group as it is.
    pub(super) group: &'a ConsumerGroup,
    /// The member as it will be.
    pub(super) member: ConsumerMember,
    /// The static member whose place it takes.
    pub(super) replaced: Option<MemberId>,
    /// What is to be written, in order.
    pub(super) pieces: Vec<ConsumerGroupPiece>,
    /// What the trace will know if the heartbeat is accepted.
    pub(super) events: Vec<TraceEvent>,
}

/// The answer to a heartbeat that is not accepted.
pub(in crate::coordinator) fn refusal(error_code: ErrorCode) -> ConsumerGroupHeartbeatResponse {
    ConsumerGroupHeartbeatResponse {
        error_code,
        member_id: MemberId::default(),
        member_epoch: 0,
        heartbeat_interval_ms: 0,
        assignment: None,
    }
}

/// What a heartbeat brings about: records in order, and the answer.
type Outcome = (Vec<Record>, ConsumerGroupHeartbeatResponse);

impl CoordinatorPartition {
    /// Answers `ConsumerGroupHeartbeat` once what it brings about is replicated.
    ///
    /// # Errors sent
    /// `INVALID_REQUEST` (42) a field is missing or makes no sense; `UNSUPPORTED_ASSIGNOR` (112);
    /// `GROUP_ID_NOT_FOUND` (69) no such group of this protocol; `GROUP_MAX_SIZE_REACHED` (81);
    /// `UNKNOWN_MEMBER_ID` (25); `FENCED_MEMBER_EPOCH` (110); `FENCED_INSTANCE_ID` (82);
    /// `UNRELEASED_INSTANCE_ID` (111); `UNKNOWN_SERVER_ERROR` (-1) the assignor fails. None of them
    /// changes anything.
    /// # Source
    /// `GroupMetadataManager#consumerGroupHeartbeat` (Kafka 1eb7644); KIP-848.
    /// # Simplified
    /// New member ids are the client's name and a number, where Kafka has a random UUID. Responses
    /// carry no error message. A subscription by pattern is refused, as at 1eb7644. Settings of
    /// single groups (`consumer.session.timeout.ms`, `consumer.heartbeat.interval.ms`) are not
    /// modelled.
    pub(in crate::coordinator) fn handle_consumer_group_heartbeat(
        &mut self,
        reply: ReplyTo,
        request: &ConsumerGroupHeartbeatRequest,
        ctx: &mut Context<'_>,
    ) {
        let result = check_request(request, ctx.config).and_then(|()| {
            if request.member_epoch < 0 {
                self.leave_consumer_group(request, ctx)
            } else {
                self.keep_consumer_member(reply, request, ctx)
            }
        });
        let (records, response) = match result {
            Ok(outcome) => outcome,
            Err(error_code) => {
                let response = Response::ConsumerGroupHeartbeat(refusal(error_code));
                return ctx.out.respond(reply, response);
            }
        };
        let group_id = &request.group_id;
        let response = Response::ConsumerGroupHeartbeat(response);
        self.answer_after(group_id, records, (reply, response), ctx);
    }

    fn keep_consumer_member(
        &mut self,
        reply: ReplyTo,
        request: &ConsumerGroupHeartbeatRequest,
        ctx: &mut Context<'_>,
    ) -> Result<Outcome, ErrorCode> {
        let founded;
        let (group, mut records) = match self.consumer_groups.get(&request.group_id) {
            Some(group) => (group, Vec::new()),
            None if request.member_epoch != 0 => return Err(ErrorCode::GroupIdNotFound),
            None => {
                let former = self.groups.get(&request.group_id);
                let (group, records) = found_group(&request.group_id, former, ctx)?;
                founded = group;
                (&founded, records)
            }
        };
        let mut member_id = request.member_id.clone();
        if group.is_full_for(&member_id, ctx.config) {
            return Err(ErrorCode::GroupMaxSizeReached);
        }
        if member_id.is_empty() {
            let prefix = &*request.client_id;
            member_id = self
                .member_ids
                .next_for(prefix, |member_id| group.member(member_id).is_some());
        }
        let mut draft = Draft::find(group, request, &member_id)?;
        let (pieces, response) = draft.heartbeat(reply.node, request, ctx)?;
        let now = ctx.out.now;
        records.extend(pieces.into_iter().map(|piece| group.record(piece, now)));
        if let Some(classic) = self.groups.get_mut(&request.group_id) {
            classic.on_replaced(ctx);
            classic.on_upgraded(ctx);
            for member in &group.members {
                member.arm_classic_session(&group.group_id, ctx);
            }
        }
        if let Some(group) = self.consumer_groups.get_mut(&request.group_id) {
            group.is_metadata_refresh_due = false;
        }
        Ok((records, response))
    }

    /// A member leaves: for good with -1, for a while with -2.
    fn leave_consumer_group(
        &mut self,
        request: &ConsumerGroupHeartbeatRequest,
        ctx: &mut Context<'_>,
    ) -> Result<Outcome, ErrorCode> {
        let group = self.consumer_groups.get(&request.group_id);
        let group = group.ok_or(ErrorCode::GroupIdNotFound)?;
        let member = group.known_member(&request.member_id, request.group_instance_id.as_ref())?;
        let now = ctx.out.now;
        let records = if request.member_epoch == LEAVE_GROUP_STATIC_MEMBER_EPOCH {
            let current = CurrentAssignment {
                member_epoch: LEAVE_GROUP_STATIC_MEMBER_EPOCH,
                pending_revocation: Vec::new(),
                ..(*member.current).clone()
            };
            let piece =
                ConsumerGroupPiece::Current(member.member_id.clone(), Some(Arc::new(current)));
            vec![group.record(piece, now)]
        } else {
            group.removal_records(std::slice::from_ref(&request.member_id), "it leaves", ctx)
        };
        let response = ConsumerGroupHeartbeatResponse {
            error_code: ErrorCode::None,
            member_id: request.member_id.clone(),
            member_epoch: request.member_epoch,
            heartbeat_interval_ms: 0,
            assignment: None,
        };
        Ok((records, response))
    }
}

/// What a request must carry, by its epoch.
fn check_request(
    request: &ConsumerGroupHeartbeatRequest,
    config: &BrokerConfig,
) -> Result<(), ErrorCode> {
    let is_blank = |text: Option<&str>| text.is_some_and(|text| text.trim().is_empty());
    let instance_id = request.group_instance_id.as_ref().map(InstanceId::as_str);
    let epoch = request.member_epoch;
    let owns_nothing = request.topic_partitions.as_ref();
    let owns_nothing = owns_nothing.is_some_and(|owned| owned.is_empty());
    let topics = request.subscribed_topic_names.as_ref();
    let subscribes = topics.is_some_and(|topics| !topics.is_empty());
    let is_join = epoch == 0;
    let is_invalid = request.group_id.is_empty()
        || is_blank(instance_id)
        || is_blank(request.rack_id.as_deref())
        || request.subscribed_topic_regex.is_some()
        || (!is_join && request.member_id.is_empty())
        || (is_join && (request.rebalance_timeout_ms == -1 || !owns_nothing || !subscribes))
        || (epoch == LEAVE_GROUP_STATIC_MEMBER_EPOCH && instance_id.is_none())
        || epoch < LEAVE_GROUP_STATIC_MEMBER_EPOCH;
    if is_invalid {
        return Err(ErrorCode::InvalidRequest);
    }
    let is_offered = |name: &str| {
        let mut offered = config.group_consumer_assignors.iter();
        offered.any(|it: &ServerAssignor| it.name() == name)
    };
    match request.server_assignor.as_deref() {
        Some(name) if LEAVE_GROUP_MEMBER_EPOCH < epoch && !is_offered(name) => {
            Err(ErrorCode::UnsupportedAssignor)
        }
        Some(_) | None => Ok(()),
    }
}

/// The group that a first member brings about, with the records that go before its own. It takes
/// the place of a classic group without members, and may make one with members its own.
fn found_group(
    group_id: &GroupId,
    former: Option<&ClassicGroup>,
    ctx: &Context<'_>,
) -> Result<(ConsumerGroup, Vec<Record>), ErrorCode> {
    let group = ConsumerGroup::new(group_id.clone());
    match former {
        None => Ok((group, Vec::new())),
        Some(classic) if classic.state().is_empty() => {
            let tombstone = group_record(group_id, None, ctx.out.now);
            Ok((group, vec![tombstone]))
        }
        Some(classic) if classic.may_upgrade(ctx) => Ok(ConsumerGroup::upgraded(classic, ctx)),
        Some(_) => Err(ErrorCode::GroupIdNotFound),
    }
}

impl ConsumerGroup {
    /// Whether there is no room for this member, by `group.consumer.max.size`. As in Kafka a static
    /// member that comes back under a new id counts as another one.
    pub(super) fn is_full_for(&self, member_id: &MemberId, config: &BrokerConfig) -> bool {
        let count = i64::try_from(self.members.len()).unwrap_or(i64::MAX);
        config.group_consumer_max_size <= count && self.member(member_id).is_none()
    }

    /// The member of this id, under this instance id if it names one.
    pub(super) fn known_member(
        &self,
        member_id: &MemberId,
        instance_id: Option<&InstanceId>,
    ) -> Result<&ConsumerMember, ErrorCode> {
        let member = match instance_id {
            None => self.member(member_id),
            Some(instance_id) => match self.static_member(instance_id) {
                Some(member) if member.member_id != *member_id => {
                    return Err(ErrorCode::FencedInstanceId);
                }
                member => member,
            },
        };
        member.ok_or(ErrorCode::UnknownMemberId)
    }
}

impl ConsumerMember {
    /// Whether a heartbeat may carry this epoch: the member's own, or the one before it, if that
    /// heartbeat only shows that an answer was lost.
    ///
    /// # Source
    /// `GroupMetadataManager#throwIfConsumerGroupMemberEpochIsInvalid` (Kafka 1eb7644).
    fn check_epoch(&self, request: &ConsumerGroupHeartbeatRequest) -> Result<(), ErrorCode> {
        let (received, current) = (request.member_epoch, &*self.current);
        if received == current.member_epoch {
            return Ok(());
        }
        let owned = request.topic_partitions.as_ref();
        let owns_no_other = owned.is_some_and(|owned| {
            let mut owned = owned.iter();
            owned.all(|id| current.assigned.binary_search(id).is_ok())
        });
        let is_behind = received < current.member_epoch;
        if is_behind && received == current.previous_member_epoch && owns_no_other {
            Ok(())
        } else {
            Err(ErrorCode::FencedMemberEpoch)
        }
    }
}

impl<'a> Draft<'a> {
    pub(super) fn new(group: &'a ConsumerGroup, member: ConsumerMember) -> Self {
        Self {
            group,
            member,
            replaced: None,
            pieces: Vec::new(),
            events: Vec::new(),
        }
    }

    /// The member of this id, or a new one.
    pub(super) fn of(group: &'a ConsumerGroup, member_id: &MemberId) -> Self {
        let member = group.member(member_id).cloned();
        let member = member.unwrap_or_else(|| ConsumerMember::new(member_id.clone()));
        Self::new(group, member)
    }

    /// The member that sends this request, if it may.
    fn find(
        group: &'a ConsumerGroup,
        request: &ConsumerGroupHeartbeatRequest,
        member_id: &MemberId,
    ) -> Result<Self, ErrorCode> {
        let instance_id = request.group_instance_id.as_ref();
        if request.member_epoch != 0 {
            let member = group.known_member(member_id, instance_id)?;
            member.check_epoch(request)?;
            return Ok(Self::new(group, member.clone()));
        }
        let Some(instance_id) = instance_id else {
            if let Some(member) = group.member(member_id) {
                member.check_epoch(request)?;
            }
            return Ok(Self::of(group, member_id));
        };
        match group.static_member(instance_id) {
            None => Ok(Self::of(group, member_id)),
            Some(former) => {
                let is_away = former.current.member_epoch == LEAVE_GROUP_STATIC_MEMBER_EPOCH;
                // A holder of the classic protocol cannot say that it leaves for a while.
                if !is_away && former.metadata.classic.is_none() {
                    return Err(ErrorCode::UnreleasedInstanceId);
                }
                Ok(Self::replace(group, former, member_id, 0))
            }
        }
    }

    /// A static member that takes the place of its former self, at `member_epoch`.
    pub(super) fn replace(
        group: &'a ConsumerGroup,
        former: &ConsumerMember,
        member_id: &MemberId,
        member_epoch: i32,
    ) -> Self {
        let current = CurrentAssignment {
            member_epoch,
            previous_member_epoch: 0,
            ..(*former.current).clone()
        };
        let member = ConsumerMember {
            member_id: member_id.clone(),
            metadata: Arc::clone(&former.metadata),
            target: Arc::clone(&former.target),
            current: Arc::new(current),
        };
        let mut draft = Self::new(group, member);
        draft.replaced = Some(former.member_id.clone());
        draft.pieces.extend(tombstones(&former.member_id));
        let ConsumerMember {
            metadata,
            target,
            current,
            ..
        } = &draft.member;
        draft.pieces.extend([
            ConsumerGroupPiece::Member(member_id.clone(), Some(Arc::clone(metadata))),
            ConsumerGroupPiece::Target(member_id.clone(), Some(Arc::clone(target))),
            ConsumerGroupPiece::Current(member_id.clone(), Some(Arc::clone(current))),
        ]);
        if let Some(group_instance_id) = former.metadata.group_instance_id.clone() {
            draft.events.push(TraceEvent::StaticMemberReplaced {
                group_id: group.group_id.clone(),
                group_instance_id,
                previous_member_id: former.member_id.clone(),
                member_id: member_id.clone(),
                rebalances: false,
            });
        }
        draft
    }

    /// Carries the heartbeat through; what it brings about is written and noted by the caller.
    fn heartbeat(
        &mut self,
        client: NodeId,
        request: &ConsumerGroupHeartbeatRequest,
        ctx: &mut Context<'_>,
    ) -> Result<(Vec<ConsumerGroupPiece>, ConsumerGroupHeartbeatResponse), ErrorCode> {
        let bumps = self.describe(client, request);
        let owned = request.topic_partitions.as_ref().map(|owned| &***owned);
        let has_changed = self.settle(bumps, owned, ctx)?;
        self.note(ctx);
        let timeout = Span::from_millis(ctx.config.group_consumer_session_timeout_ms);
        let session =
            Timer::MemberSession(self.group.group_id.clone(), self.member.member_id.clone());
        ctx.out.arm(session, timeout);
        let is_full = request.member_epoch == 0
            || (request.rebalance_timeout_ms != -1
                && request.subscribed_topic_names.is_some()
                && request.topic_partitions.is_some());
        let current = &self.member.current;
        let response = ConsumerGroupHeartbeatResponse {
            error_code: ErrorCode::None,
            member_id: self.member.member_id.clone(),
            member_epoch: current.member_epoch,
            heartbeat_interval_ms: ctx.config.group_consumer_heartbeat_interval_ms,
            assignment: (is_full || has_changed).then(|| Arc::new(current.assigned.clone())),
        };
        Ok((std::mem::take(&mut self.pieces), response))
    }

    /// Takes what the request says of the member. True if its subscription has changed.
    fn describe(&mut self, client: NodeId, request: &ConsumerGroupHeartbeatRequest) -> bool {
        let before = Arc::clone(&self.member.metadata);
        let mut metadata = (*before).clone();
        metadata.client = client;
        metadata.client_id = request.client_id.clone();
        metadata.classic = None;
        if request.group_instance_id.is_some() {
            metadata
                .group_instance_id
                .clone_from(&request.group_instance_id);
        }
        if request.rack_id.is_some() {
            metadata.rack_id.clone_from(&request.rack_id);
        }
        if request.rebalance_timeout_ms != -1 {
            metadata.rebalance_timeout_ms = request.rebalance_timeout_ms;
        }
        if let Some(topics) = &request.subscribed_topic_names {
            metadata.subscribed_topics.clone_from(topics);
        }
        if request.server_assignor.is_some() {
            metadata
                .server_assignor
                .clone_from(&request.server_assignor);
        }
        self.set_metadata(metadata)
    }

    /// The member describes itself like this from now on. True if its subscription has changed.
    pub(super) fn set_metadata(
        &mut self,
        metadata: crate::wire::record::ConsumerMemberMetadata,
    ) -> bool {
        let before = std::mem::replace(&mut self.member.metadata, Arc::new(metadata));
        let after = Arc::clone(&self.member.metadata);
        if before == after {
            return false;
        }
        let has_changed = before.subscribed_topics != after.subscribed_topics;
        let member_id = self.member.member_id.clone();
        if self.replaced.is_none() && self.group.member(&member_id).is_none() {
            self.events.push(TraceEvent::MemberAdded {
                group_id: self.group.group_id.clone(),
                member_id: member_id.clone(),
                group_instance_id: after.group_instance_id.clone(),
                client: after.client,
            });
        }
        let piece = ConsumerGroupPiece::Member(member_id, Some(after));
        self.pieces.push(piece);
        has_changed
    }

    /// Raises the group epoch if it must be, computes the target assignment if it is behind, and
    /// takes the member a step nearer to it. True if what the member may own has changed.
    pub(super) fn settle(
        &mut self,
        bumps: bool,
        owned: Option<&[TopicPartition]>,
        ctx: &mut Context<'_>,
    ) -> Result<bool, ErrorCode> {
        let group = self.group;
        let mut topics = Arc::clone(&group.subscribed_topics);
        let mut group_epoch = group.group_epoch;
        if bumps || group.is_metadata_refresh_due {
            let former = match &self.replaced {
                Some(_) => None,
                None => group.member(&self.member.member_id),
            };
            let former = former.map_or(&[][..], |it| &it.metadata.subscribed_topics);
            let names = group.topic_names(former, &self.member.metadata.subscribed_topics);
            let found = look_up(&names, ctx);
            let differs = found != *topics;
            if differs {
                topics = Arc::new(found);
                let piece = ConsumerGroupPiece::Topics(Some(Arc::clone(&topics)));
                self.pieces.push(piece);
            }
            if bumps || differs {
                group_epoch += 1;
                self.pieces
                    .push(ConsumerGroupPiece::Epoch(Some(group_epoch)));
            }
        }
        let mut target_epoch = group.target_assignment_epoch;
        if target_epoch < group_epoch {
            target_epoch = group_epoch;
            self.compute_target(group_epoch, &topics, ctx)?;
        }
        self.reconcile(target_epoch, owned, ctx)
    }

    fn compute_target(
        &mut self,
        group_epoch: i32,
        topics: &[SubscribedTopic],
        ctx: &Context<'_>,
    ) -> Result<(), ErrorCode> {
        let group = self.group;
        let left_out = self.replaced.as_ref();
        let target = group.compute_target(&self.member, left_out, topics, ctx.config)?;
        for (member_id, partitions) in &target.changed {
            if *member_id == self.member.member_id {
                self.member.target = Arc::clone(partitions);
            }
            let piece = ConsumerGroupPiece::Target(member_id.clone(), Some(Arc::clone(partitions)));
            self.pieces.push(piece);
        }
        self.pieces
            .push(ConsumerGroupPiece::TargetEpoch(Some(group_epoch)));
        self.events.push(TraceEvent::TargetAssignmentComputed {
            group_id: group.group_id.clone(),
            assignor: Arc::from(target.assignor.name()),
            target_assignment_epoch: group_epoch,
            members: target.members,
            changed: Arc::from(target.changed),
        });
        Ok(())
    }

    fn reconcile(
        &mut self,
        target_epoch: i32,
        owned: Option<&[TopicPartition]>,
        ctx: &mut Context<'_>,
    ) -> Result<bool, ErrorCode> {
        let goal = Goal {
            epoch: target_epoch,
            target: &self.member.target,
            owned,
        };
        let before = Arc::clone(&self.member.current);
        let after = next_step(&before, &goal, &|id| self.group.partition_epoch(id))?;
        if before == after {
            return Ok(false);
        }
        self.member.current = Arc::clone(&after);
        let (group_id, member_id) = (self.group.group_id.clone(), self.member.member_id.clone());
        let piece = ConsumerGroupPiece::Current(member_id.clone(), Some(Arc::clone(&after)));
        self.pieces.push(piece);
        if self.member.metadata.classic.is_some() {
            // It has its time to join and to sync instead.
            return Ok(before.assigned != after.assigned);
        }
        let timer = Timer::RebalanceTimeout(group_id, member_id);
        if after.state == ReconciliationState::UnrevokedPartitions {
            let timeout = Span::from_millis(self.member.metadata.rebalance_timeout_ms);
            ctx.out.arm(timer, timeout);
        } else if before.state == ReconciliationState::UnrevokedPartitions {
            ctx.out.cancel(timer);
        }
        Ok(before.assigned != after.assigned)
    }

    /// Notes what the heartbeat has brought about.
    pub(super) fn note(&mut self, ctx: &mut Context<'_>) {
        for event in std::mem::take(&mut self.events) {
            ctx.out.trace(event);
        }
    }
}

/// What removes a member from the log.
pub(super) fn tombstones(member_id: &MemberId) -> [ConsumerGroupPiece; 3] {
    [
        ConsumerGroupPiece::Current(member_id.clone(), None),
        ConsumerGroupPiece::Target(member_id.clone(), None),
        ConsumerGroupPiece::Member(member_id.clone(), None),
    ]
}

/// The topics of these names, as far as they exist.
pub(super) fn look_up(names: &[&Arc<str>], ctx: &Context<'_>) -> Vec<SubscribedTopic> {
    let known = names.iter().filter_map(|name| {
        let (topic_id, count) = ctx.topics.get(*name)?;
        Some((Arc::clone(name), *topic_id, *count))
    });
    known.collect()
}

impl ConsumerGroup {
    /// Names of the topics that somebody subscribes to, if one member gives up the subscription
    /// `former` for `latter`.
    pub(super) fn topic_names<'a>(
        &'a self,
        former: &[Arc<str>],
        latter: &'a [Arc<str>],
    ) -> Vec<&'a Arc<str>> {
        let counts = self.subscriber_counts.iter();
        let kept = counts.filter(|(name, count)| 1 < **count || !former.contains(name));
        let mut names: Vec<&Arc<str>> = kept.map(|(name, _)| name).chain(latter).collect();
        names.sort_unstable();
        names.dedup();
        names
    }

    /// The records that remove members, whose partitions are free at once. If nobody is left but
    /// members of the classic protocol the group may become a classic one.
    ///
    /// # Source
    /// `GroupMetadataManager#consumerGroupFenceMember`, `#removeMember` (Kafka 1eb7644).
    pub(super) fn removal_records(
        &self,
        gone: &[MemberId],
        reason: &str,
        ctx: &mut Context<'_>,
    ) -> Vec<Record> {
        if gone.is_empty() {
            return Vec::new();
        }
        for member_id in gone {
            note_removed(&self.group_id, member_id, reason, ctx);
        }
        if self.downgrades_without(gone, ctx) {
            return self.downgrade_records(gone, ctx);
        }
        let mut pieces: Vec<ConsumerGroupPiece> = gone.iter().flat_map(tombstones).collect();
        let rest = self
            .members
            .iter()
            .filter(|it| !gone.contains(&it.member_id));
        let mut names: Vec<&Arc<str>> = Vec::new();
        for member in rest {
            for name in &member.metadata.subscribed_topics {
                if let Err(place) = names.binary_search(&name) {
                    names.insert(place, name);
                }
            }
        }
        let found = look_up(&names, ctx);
        if found != *self.subscribed_topics {
            pieces.push(ConsumerGroupPiece::Topics(Some(Arc::new(found))));
        }
        pieces.push(ConsumerGroupPiece::Epoch(Some(self.group_epoch + 1)));
        let now = ctx.out.now;
        pieces
            .into_iter()
            .map(|piece| self.record(piece, now))
            .collect()
    }
}
