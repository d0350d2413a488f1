//! `JoinGroup`.

use super::context::{Context, StaticReplacement, Then, reason_text};
use super::group::{ClassicGroup, Member, Parked, join_error, rebalance_timeout};
use super::runtime::MemberIds;
use super::state::State;
use crate::base::ids::{InstanceId, MemberId};
use crate::kernel::time::Span;
use crate::trace::event::{TraceEvent, Waiting};
use crate::trace::out::ReplyTo;
use crate::wire::api::{JoinGroupRequest, Response};
use crate::wire::error_code::ErrorCode;
use std::sync::Arc;

/// A join: whom to answer, and what was asked.
#[derive(Clone, Copy, Debug)]
pub(super) struct Join<'a> {
    /// Whom to answer.
    pub(super) reply: ReplyTo,
    /// What was asked.
    pub(super) request: &'a JoinGroupRequest,
}

/// A member that has just been added may wait this long for the join phase to end.
pub const NEW_MEMBER_JOIN_TIMEOUT: Span = Span(300_000_000);

/// `JoinGroup` from this version on makes a dynamic member come back with the id it is given.
const MEMBER_ID_REQUIRED_VERSION: i16 = 4;

/// `JoinGroup` from this version on can tell a leader not to compute an assignment.
const SKIP_ASSIGNMENT_VERSION: i16 = 9;

impl ClassicGroup {
    /// Answers or parks `JoinGroup`, once the group is found or made.
    ///
    /// # Errors sent
    /// `GROUP_MAX_SIZE_REACHED` (81); `COORDINATOR_NOT_AVAILABLE` (15) dead group;
    /// `INCONSISTENT_GROUP_PROTOCOL` (23); `MEMBER_ID_REQUIRED` (79) with the id to come back with;
    /// `UNKNOWN_MEMBER_ID` (25); `FENCED_INSTANCE_ID` (82).
    /// # Source
    /// `GroupMetadataManager#classicGroupJoinToClassicGroup` (Kafka 1eb7644); KIP-345, KIP-389,
    /// KIP-394, KIP-814.
    pub(super) fn join(&mut self, join: Join<'_>, ids: &mut MemberIds, ctx: &mut Context<'_>) {
        let Join { reply, request } = join;
        if !self.accepts(&request.member_id, ctx.config.group_max_size) {
            // A member that has not joined yet is refused and dropped like a newcomer: who comes
            // last to an oversized group is out.
            self.remove(&request.member_id, "the group is full", ctx);
            let member_id = MemberId::default();
            return refuse(reply, ErrorCode::GroupMaxSizeReached, member_id, ctx);
        }
        let echo = request.member_id.clone();
        if self.state().is_dead() {
            return refuse(reply, ErrorCode::CoordinatorNotAvailable, echo, ctx);
        }
        if !self.supports_protocols(&request.protocol_type, &request.protocols) {
            return refuse(reply, ErrorCode::InconsistentGroupProtocol, echo, ctx);
        }
        if request.member_id.is_empty() {
            let member_id = ids.next(self, request);
            match &request.group_instance_id {
                Some(instance_id) => self.join_new_static(join, member_id, instance_id, ctx),
                None => self.join_new_dynamic(join, member_id, ctx),
            }
        } else {
            self.join_existing(join, ctx);
        }
    }

    fn join_new_static(
        &mut self,
        join: Join<'_>,
        member_id: MemberId,
        instance_id: &InstanceId,
        ctx: &mut Context<'_>,
    ) {
        let mapped = self
            .static_member(instance_id)
            .map(|member| member.member_id.clone());
        let Some(previous_id) = mapped else {
            return self.add_member(join, &member_id, ctx);
        };
        ctx.log(format_args!(
            "Static member with groupInstanceId={instance_id} and unknown member id joins group \
             {} in {} state. Replacing previously mapped member {previous_id} with this \
             groupInstanceId.",
            self.group_id,
            self.state().kind().name()
        ));
        self.replace_static(join, &previous_id, member_id, ctx);
    }

    fn join_new_dynamic(&mut self, join: Join<'_>, member_id: MemberId, ctx: &mut Context<'_>) {
        if join.request.version < MEMBER_ID_REQUIRED_VERSION {
            return self.add_member(join, &member_id, ctx);
        }
        ctx.log(format_args!(
            "Dynamic member with unknown member id joins group {} in {} state. Created a new \
             member id {member_id} and requesting the member to rejoin with this id.",
            self.group_id,
            self.state().kind().name()
        ));
        let session_timeout = Span::from_millis(join.request.session_timeout_ms);
        self.pending_members
            .insert(member_id.clone(), ctx.out.now + session_timeout);
        self.arm_session(&member_id, session_timeout, ctx.out);
        ctx.out.trace(TraceEvent::MemberIdAssigned {
            group_id: self.group_id.clone(),
            member_id: member_id.clone(),
        });
        refuse(join.reply, ErrorCode::MemberIdRequired, member_id, ctx);
    }

    fn join_existing(&mut self, join: Join<'_>, ctx: &mut Context<'_>) {
        let Join { reply, request } = join;
        let member_id = &request.member_id;
        if self.pending_members.contains_key(member_id) {
            if request.group_instance_id.is_some() {
                // Only dynamic members are given an id to come back with; Kafka treats this as an
                // internal error.
                return refuse(
                    reply,
                    ErrorCode::UnknownServerError,
                    MemberId::default(),
                    ctx,
                );
            }
            ctx.log(format_args!(
                "Pending dynamic member with id {member_id} joins group {} in {} state. Adding to \
                 the group now.",
                self.group_id,
                self.state().kind().name()
            ));
            return self.add_member(join, member_id, ctx);
        }
        if let Err(error) = self.check_member(member_id, request.group_instance_id.as_ref()) {
            return refuse(reply, error, member_id.clone(), ctx);
        }
        let has_changed = self
            .member(member_id)
            .is_some_and(|member| member.protocols != request.protocols);
        let is_leader = self.is_leader(member_id);
        let client_reason = reason_text(join_reason(request));
        let state = self.state().kind().name();
        let reason = match self.state() {
            State::Stable(_) if is_leader => format!(
                "Leader {member_id} re-joining group during {state}; client reason: {client_reason}"
            ),
            State::CompletingRebalance(_) | State::Stable(_) if has_changed => format!(
                "Updating metadata for member {member_id} during {state}; client reason: \
                 {client_reason}"
            ),
            State::PreparingRebalance(_) => format!(
                "Member {member_id} is joining group during {state}; client reason: {client_reason}"
            ),
            State::CompletingRebalance(_) | State::Stable(_) => {
                // The answer to the same join was lost: the client gets it again.
                let response = self.join_response(member_id);
                return ctx.out.respond(reply, Response::JoinGroup(response));
            }
            State::Empty | State::Dead => {
                return refuse(reply, ErrorCode::UnknownMemberId, member_id.clone(), ctx);
            }
        };
        self.update_member(join, ctx);
        self.prepare_or_complete(&reason, ctx);
    }

    fn update_member(&mut self, join: Join<'_>, ctx: &mut Context<'_>) {
        let parked = Parked::new(join.reply, Waiting::Join, ctx.out.now);
        if let Some(member) = self.member_mut(&join.request.member_id) {
            member.update(join.request);
            member.park_join(parked, ctx.out);
        }
    }

    /// Adds a member, parks its join and starts a rebalance or goes on with the one that runs.
    ///
    /// # Source
    /// `GroupMetadataManager#addMemberThenRebalanceOrCompleteJoin` (Kafka 1eb7644).
    fn add_member(&mut self, join: Join<'_>, member_id: &MemberId, ctx: &mut Context<'_>) {
        let Join { reply, request } = join;
        if self
            .state()
            .join_phase()
            .is_some_and(|phase| phase.is_initial)
        {
            self.new_member_added = true;
        }
        if self.members.is_empty() {
            self.protocol_type = Some(Arc::clone(&request.protocol_type));
        }
        if self.leader.is_none() {
            self.leader = Some(member_id.clone());
        }
        self.pending_members.remove(member_id);
        self.members.push(Member {
            member_id: member_id.clone(),
            group_instance_id: request.group_instance_id.clone(),
            client_id: Arc::clone(&request.client_id),
            client: reply.node,
            rebalance_timeout: rebalance_timeout(request),
            session_timeout: Span::from_millis(request.session_timeout_ms),
            protocols: request.protocols.clone(),
            assignment: Arc::new(Vec::new()),
            join: Some(Parked::new(reply, Waiting::Join, ctx.out.now)),
            sync: None,
            is_new: true,
            session_timer_at: None,
        });
        ctx.out.trace(TraceEvent::MemberAdded {
            group_id: self.group_id.clone(),
            member_id: member_id.clone(),
            group_instance_id: request.group_instance_id.clone(),
            client: reply.node,
        });
        self.arm_session(member_id, NEW_MEMBER_JOIN_TIMEOUT, ctx.out);
        let instance_id = request
            .group_instance_id
            .as_ref()
            .map_or("null", InstanceId::as_str);
        let reason = format!(
            "Adding new member {member_id} with group instance id {instance_id}; client reason: {}",
            reason_text(join_reason(request))
        );
        self.prepare_or_complete(&reason, ctx);
    }

    /// Puts a restarted static member in the place of its former self.
    ///
    /// # Source
    /// `GroupMetadataManager#updateStaticMemberThenRebalanceOrCompleteJoin`,
    /// `ClassicGroup#replaceStaticMember` (Kafka 1eb7644); KIP-345, KIP-814.
    fn replace_static(
        &mut self,
        join: Join<'_>,
        previous_id: &MemberId,
        member_id: MemberId,
        ctx: &mut Context<'_>,
    ) {
        let Join { reply, request } = join;
        let previous_leader = self.leader.clone();
        let Some(former) = self.rename_static(previous_id, &member_id, ctx) else {
            return;
        };
        let waits_for_append = matches!(self.state(), State::Stable(_));
        if let Some(member) = self.member_mut(&member_id) {
            member.client = reply.node;
            member.update(request);
            member.park_join(Parked::new(reply, Waiting::Join, ctx.out.now), ctx.out);
        }
        let keeps_protocol = self.select_protocol() == self.protocol_name;
        let instance_id = request
            .group_instance_id
            .as_ref()
            .map_or("null", |instance_id| instance_id.as_str());
        let client_reason = reason_text(join_reason(request));
        ctx.out.trace(TraceEvent::StaticMemberReplaced {
            group_id: self.group_id.clone(),
            group_instance_id: InstanceId::new(instance_id),
            previous_member_id: previous_id.clone(),
            member_id: member_id.clone(),
            rebalances: !(waits_for_append && keeps_protocol),
        });
        if waits_for_append && keeps_protocol {
            if let Some(parked) = self.member_mut(&member_id).and_then(|it| it.join.as_mut()) {
                parked.waiting = Waiting::CoordinatorAppend;
            }
            let record = self.metadata_record(None, ctx.out.now);
            let version = request.version;
            let replacement = StaticReplacement {
                reply,
                version,
                member_id,
                previous_leader,
                former,
            };
            return ctx.write(
                &self.group_id,
                vec![record],
                Then::StaticMember(Box::new(replacement)),
            );
        }
        let reason = if waits_for_append {
            format!(
                "Group's selectedProtocol will change because static member {member_id} with \
                 instance id {instance_id} joined with change of protocol; client reason: \
                 {client_reason}"
            )
        } else {
            format!(
                "Updating metadata for static member {member_id} with instance id {instance_id}; \
                 client reason: {client_reason}"
            )
        };
        self.prepare_or_complete(&reason, ctx);
    }

    /// Gives a static member another id and fences the former one, whose parked requests are
    /// answered. The former id's session timer is left to fire without effect; the new id's starts
    /// with the former session timeout. Gives the member as it was.
    pub(super) fn rename_static(
        &mut self,
        previous_id: &MemberId,
        member_id: &MemberId,
        ctx: &mut Context<'_>,
    ) -> Option<Member> {
        let member = self.member_mut(previous_id)?;
        let fenced = join_error(ErrorCode::FencedInstanceId, previous_id.clone());
        member.answer_join(fenced, false, ctx.out);
        member.answer_sync(
            super::group::sync_error(ErrorCode::FencedInstanceId),
            false,
            ctx.out,
        );
        let former = member.clone();
        member.member_id = member_id.clone();
        member.is_new = false;
        if self.is_leader(previous_id) {
            self.leader = Some(member_id.clone());
        }
        self.restart_session(member_id, ctx.out);
        Some(former)
    }

    /// The new id of a static member is stored: its join is answered with the generation that goes
    /// on. Version 9 lets a leader stay leader without computing an assignment; before it, a
    /// leader is told the id that it had before, and so takes itself for a follower.
    pub(super) fn on_static_stored(
        &mut self,
        replacement: &StaticReplacement,
        ctx: &mut Context<'_>,
    ) {
        let StaticReplacement {
            version,
            member_id,
            previous_leader,
            ..
        } = replacement;
        let mut response = self.join_response(member_id);
        if SKIP_ASSIGNMENT_VERSION <= *version {
            response.skip_assignment = self.is_leader(member_id);
        } else {
            response.leader = previous_leader.clone().unwrap_or_default();
            response.members = Vec::new();
        }
        if let Some(member) = self.member_mut(member_id) {
            member.answer_join(response, false, ctx.out);
        }
    }

    /// The new id of a static member could not be stored: the former one is back.
    pub(super) fn on_static_failed(
        &mut self,
        replacement: &StaticReplacement,
        error_code: ErrorCode,
        ctx: &mut Context<'_>,
    ) {
        let StaticReplacement {
            reply,
            member_id,
            former,
            ..
        } = replacement;
        if self.member(member_id).is_none() {
            return;
        }
        ctx.log(format_args!(
            "Failed to persist metadata for group {} static member {member_id} with group instance \
             id {} due to {error_code}. Reverting to old member id {}.",
            self.group_id,
            former
                .group_instance_id
                .as_ref()
                .map_or("null", InstanceId::as_str),
            former.member_id
        ));
        let Some(member) = self.member_mut(member_id) else {
            return;
        };
        if member.join.is_some_and(|parked| parked.reply == *reply) {
            member.answer_join(join_error(error_code, MemberId::default()), false, ctx.out);
        } else if let Some(parked) = member.join.take() {
            parked.release(false, ctx.out);
        }
        member.protocols.clone_from(&former.protocols);
        member.rebalance_timeout = former.rebalance_timeout;
        member.session_timeout = former.session_timeout;
        member.client = former.client;
        self.rename_static(member_id, &former.member_id, ctx);
    }
}

/// The client's reason; an empty text is none.
fn join_reason(request: &JoinGroupRequest) -> Option<&Arc<str>> {
    request.reason.as_ref().filter(|reason| !reason.is_empty())
}

/// Answers a join with an error.
pub(super) fn refuse(
    reply: ReplyTo,
    error_code: ErrorCode,
    member_id: MemberId,
    ctx: &mut Context<'_>,
) {
    ctx.out.respond(
        reply,
        Response::JoinGroup(join_error(error_code, member_id)),
    );
}
