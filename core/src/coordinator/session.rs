//! `SyncGroup`, `Heartbeat` and `LeaveGroup`.

use super::context::{Context, Then, WrittenAssignment, reason_text};
use super::group::{ClassicGroup, Parked, sync_error};
use super::state::State;
use crate::base::ids::{InstanceId, MemberId};
use crate::base::timer::Timer;
use crate::trace::event::Waiting;
use crate::trace::out::ReplyTo;
use crate::wire::api::{
    HeartbeatRequest, LeaveGroupRequest, LeavingMember, Response, SyncGroupRequest,
};
use crate::wire::error_code::ErrorCode;
use std::collections::BTreeSet;
use std::sync::Arc;

/// What became of each member of a `LeaveGroup`.
type Left = Vec<(MemberId, Option<InstanceId>, ErrorCode)>;

impl ClassicGroup {
    /// Answers or parks `SyncGroup`; the leader's brings the assignment, which is written first.
    ///
    /// # Errors sent
    /// `COORDINATOR_NOT_AVAILABLE` (15) dead group; `UNKNOWN_MEMBER_ID` (25);
    /// `FENCED_INSTANCE_ID` (82); `ILLEGAL_GENERATION` (22); `INCONSISTENT_GROUP_PROTOCOL` (23);
    /// `REBALANCE_IN_PROGRESS` (27).
    /// # Source
    /// `GroupMetadataManager#classicGroupSyncToClassicGroup` (Kafka 1eb7644).
    pub(super) fn sync(
        &mut self,
        reply: ReplyTo,
        request: &SyncGroupRequest,
        ctx: &mut Context<'_>,
    ) {
        let member_id = &request.member_id;
        if let Err(error) = self.check_sync(request) {
            return ctx
                .out
                .respond(reply, Response::SyncGroup(sync_error(error)));
        }
        match self.state() {
            State::CompletingRebalance(_) => {
                let parked = Parked::new(reply, Waiting::Sync, ctx.out.now);
                if let Some(member) = self.member_mut(member_id) {
                    member.park_sync(parked, ctx.out);
                }
                self.sync_received(member_id, ctx);
                if self.is_leader(member_id) {
                    self.write_assignment(reply, request, ctx);
                }
            }
            State::Stable(_) => {
                self.sync_received(member_id, ctx);
                if let Some(member) = self.member(member_id) {
                    let response = self.sync_response(member);
                    ctx.out.respond(reply, Response::SyncGroup(response));
                }
            }
            State::Empty | State::PreparingRebalance(_) | State::Dead => {
                let error = ErrorCode::RebalanceInProgress;
                ctx.out
                    .respond(reply, Response::SyncGroup(sync_error(error)));
            }
        }
    }

    fn check_sync(&self, request: &SyncGroupRequest) -> Result<(), ErrorCode> {
        if self.state().is_dead() {
            return Err(ErrorCode::CoordinatorNotAvailable);
        }
        self.check_member(&request.member_id, request.group_instance_id.as_ref())?;
        if request.generation_id != self.generation_id {
            return Err(ErrorCode::IllegalGeneration);
        }
        let differs =
            |sent: &Option<Arc<str>>, own: &Option<Arc<str>>| sent.is_some() && sent != own;
        if differs(&request.protocol_type, &self.protocol_type)
            || differs(&request.protocol_name, &self.protocol_name)
        {
            return Err(ErrorCode::InconsistentGroupProtocol);
        }
        Ok(())
    }

    /// This member is no longer awaited; the `sync` timer goes with the last one.
    fn sync_received(&mut self, member_id: &MemberId, ctx: &mut Context<'_>) {
        let timer = Timer::PendingSync(self.group_id.clone());
        let Some(phase) = self.state_data().sync_phase_mut() else {
            return;
        };
        phase.pending.remove(member_id);
        if phase.pending.is_empty() && phase.closes_at.take().is_some() {
            ctx.out.cancel(timer);
        }
    }

    fn write_assignment(&self, reply: ReplyTo, request: &SyncGroupRequest, ctx: &mut Context<'_>) {
        let static_count = self
            .members
            .iter()
            .filter(|it| it.group_instance_id.is_some())
            .count();
        ctx.log(format_args!(
            "Assignment received from leader {} for group {} for generation {}. The group has {} \
             members, {static_count} of which are static.",
            request.member_id,
            self.group_id,
            self.generation_id,
            self.members.len(),
        ));
        let record = self.metadata_record(Some(&request.assignments), ctx.out.now);
        let written = WrittenAssignment {
            reply,
            leader: request.member_id.clone(),
            generation_id: request.generation_id,
            assignments: request.assignments.clone(),
        };
        ctx.write(&self.group_id, vec![record], Then::Assignment(written));
    }

    /// The leader's assignment is stored, or it is not. Nothing happens if another rebalance has
    /// begun meanwhile.
    pub(super) fn on_assignment_written(
        &mut self,
        written: &WrittenAssignment,
        result: Result<(), ErrorCode>,
        ctx: &mut Context<'_>,
    ) {
        let WrittenAssignment {
            leader,
            generation_id,
            assignments,
            ..
        } = written;
        let State::CompletingRebalance(phase) = self.state() else {
            return;
        };
        if *generation_id != self.generation_id {
            return;
        }
        if let Err(error) = result {
            self.fail_assignment(error, ctx);
            let reason = format!(
                "Error {error} when storing group assignment during SyncGroup (member: {leader})."
            );
            return self.prepare_or_complete(&reason, ctx);
        }
        let phase = phase.clone();
        for member in &mut self.members {
            let got = assignments
                .iter()
                .rev()
                .find(|(id, _)| *id == member.member_id);
            member.assignment = got.map(|(_, got)| Arc::clone(got)).unwrap_or_default();
        }
        self.answer_syncs(None, false, ctx);
        self.become_state(
            State::Stable(phase),
            "the leader's assignment is stored",
            ctx,
        );
    }

    /// What `Heartbeat` is answered; the member's session starts anew. An error in `Err` is sent
    /// at once, one in `Ok` like any other answer.
    ///
    /// # Errors sent
    /// `COORDINATOR_NOT_AVAILABLE` (15) dead group; `UNKNOWN_MEMBER_ID` (25);
    /// `FENCED_INSTANCE_ID` (82); `ILLEGAL_GENERATION` (22); `REBALANCE_IN_PROGRESS` (27) while
    /// members may still join.
    /// # Source
    /// `GroupMetadataManager#classicGroupHeartbeatToClassicGroup` (Kafka 1eb7644); KIP-62.
    pub(super) fn heartbeat(
        &mut self,
        request: &HeartbeatRequest,
        ctx: &mut Context<'_>,
    ) -> Result<ErrorCode, ErrorCode> {
        let is_old = ctx.history.single_threaded_consumer;
        if self.state().is_dead() {
            return Err(if is_old {
                ErrorCode::UnknownMemberId
            } else {
                ErrorCode::CoordinatorNotAvailable
            });
        }
        // 0.9 and 0.10.0: whoever asks, and no session starts anew.
        if is_old && !matches!(self.state(), State::Stable(_)) {
            return Err(ErrorCode::RebalanceInProgress);
        }
        self.check_member(&request.member_id, request.group_instance_id.as_ref())?;
        if request.generation_id != self.generation_id {
            return Err(ErrorCode::IllegalGeneration);
        }
        match self.state() {
            State::Empty | State::Dead => Err(ErrorCode::UnknownMemberId),
            State::CompletingRebalance(_) if ctx.history.no_heartbeat_before_sync => {
                self.restart_session(&request.member_id, ctx.out);
                Ok(ErrorCode::RebalanceInProgress)
            }
            State::PreparingRebalance(_) => {
                self.restart_session(&request.member_id, ctx.out);
                Ok(ErrorCode::RebalanceInProgress)
            }
            State::CompletingRebalance(_) | State::Stable(_) => {
                self.restart_session(&request.member_id, ctx.out);
                Ok(ErrorCode::None)
            }
        }
    }

    /// Takes members out at their own wish, or static ones by their instance id, and starts one
    /// rebalance for all of them.
    ///
    /// # Errors sent
    /// `COORDINATOR_NOT_AVAILABLE` (15) dead group, for the whole request; per member
    /// `UNKNOWN_MEMBER_ID` (25) and `FENCED_INSTANCE_ID` (82).
    /// # Source
    /// `GroupMetadataManager#classicGroupLeaveToClassicGroup` (Kafka 1eb7644).
    pub(super) fn leave(
        &mut self,
        request: &LeaveGroupRequest,
        ctx: &mut Context<'_>,
    ) -> Result<Left, ErrorCode> {
        if self.state().is_dead() {
            return Err(ErrorCode::CoordinatorNotAvailable);
        }
        let mut answers = Left::new();
        for leaving in &request.members {
            let error = self
                .leave_one(leaving, ctx)
                .err()
                .unwrap_or(ErrorCode::None);
            answers.push((
                leaving.member_id.clone(),
                leaving.group_instance_id.clone(),
                error,
            ));
        }
        let gone: Vec<&str> = answers
            .iter()
            .filter(|(_, _, error)| error.is_none())
            .map(|(member_id, _, _)| member_id.as_str())
            .collect();
        if !gone.is_empty() {
            let reason = format!(
                "explicit `LeaveGroup` request for ({}) members.",
                gone.join(", ")
            );
            match self.state() {
                State::CompletingRebalance(_) | State::Stable(_) => {
                    self.prepare_rebalance(&reason, ctx);
                }
                State::PreparingRebalance(_) => self.maybe_complete_join(ctx),
                State::Empty | State::Dead => {}
            }
        }
        Ok(answers)
    }

    fn leave_one(
        &mut self,
        leaving: &LeavingMember,
        ctx: &mut Context<'_>,
    ) -> Result<(), ErrorCode> {
        let LeavingMember {
            member_id,
            group_instance_id,
            reason,
        } = leaving;
        let reason = reason_text(reason.as_ref());
        if member_id.is_empty() {
            let named = group_instance_id
                .as_ref()
                .and_then(|id| self.static_member(id));
            let member_id = named.map(|member| member.member_id.clone());
            let member_id = member_id.ok_or(ErrorCode::UnknownMemberId)?;
            self.remove_leaving(&member_id, reason, ctx);
            return Ok(());
        }
        if self.pending_members.contains_key(member_id) {
            self.remove(member_id, "it leaves", ctx);
            self.cancel_session(member_id, ctx.out);
            return Ok(());
        }
        self.check_member(member_id, group_instance_id.as_ref())?;
        self.remove_leaving(member_id, reason, ctx);
        Ok(())
    }

    fn remove_leaving(&mut self, member_id: &MemberId, reason: &str, ctx: &mut Context<'_>) {
        self.cancel_session(member_id, ctx.out);
        ctx.log(format_args!(
            "[Group {}] Member {member_id} has left group through explicit `LeaveGroup` request; \
             client reason: {reason}",
            self.group_id
        ));
        self.expel(member_id, "it leaves", ctx);
    }

    /// Members that the current `sync` timer waits for.
    pub fn awaited_syncs(&self) -> Option<&BTreeSet<MemberId>> {
        self.state().sync_phase().map(|phase| &phase.pending)
    }
}
