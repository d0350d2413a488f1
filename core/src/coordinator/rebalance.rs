//! The join phase: how it starts, what it waits for, and how it ends.

use super::context::{Context, Then};
use super::group::{ClassicGroup, join_error, sync_error};
use super::state::{InitialDelay, JoinPhase, State, SyncPhase};
use crate::base::ids::MemberId;
use crate::base::timer::Timer;
use crate::kernel::time::Span;
use crate::trace::event::TraceEvent;
use crate::wire::error_code::ErrorCode;
use std::sync::Arc;

impl ClassicGroup {
    /// Starts a rebalance if the state allows one; otherwise looks whether the join phase is over.
    pub(super) fn prepare_or_complete(&mut self, reason: &str, ctx: &mut Context<'_>) {
        if self.state().can_rebalance() {
            self.prepare_rebalance(reason, ctx);
        } else {
            self.maybe_complete_join(ctx);
        }
    }

    /// Starts a rebalance. Generation, assignor and assignments stay valid until it ends, except
    /// for an assignment that has not reached the members.
    ///
    /// # Source
    /// `GroupMetadataManager#prepareRebalance` (Kafka 1eb7644); KIP-134 for the initial delay.
    pub(super) fn prepare_rebalance(&mut self, reason: &str, ctx: &mut Context<'_>) {
        if matches!(self.state(), State::CompletingRebalance(_)) {
            self.fail_assignment(ErrorCode::RebalanceInProgress, ctx);
        }
        if self
            .state()
            .sync_phase()
            .is_some_and(|phase| phase.closes_at.is_some())
        {
            ctx.out.cancel(Timer::PendingSync(self.group_id.clone()));
        }
        let is_initial = matches!(self.state(), State::Empty);
        let phase = JoinPhase {
            is_initial,
            closes_at: None,
            extension: None,
        };
        self.become_state(State::PreparingRebalance(phase), reason, ctx);
        if is_initial {
            let delay = ctx.initial_delay();
            let remaining = self.rebalance_timeout() - delay;
            self.arm_join(delay, Some(InitialDelay { delay, remaining }), ctx);
        }
        ctx.log(format_args!(
            "Preparing to rebalance group {} in state PreparingRebalance with old generation {} \
             (reason: {reason}).",
            self.group_id, self.generation_id
        ));
        if is_initial {
            return;
        }
        if self.has_all_members_joined() {
            self.complete_join(false, ctx);
        } else {
            self.arm_join(self.rebalance_timeout(), None, ctx);
        }
    }

    /// Ends the join phase if everybody is there. An initial one waits for its timer.
    pub(super) fn maybe_complete_join(&mut self, ctx: &mut Context<'_>) {
        let is_later = self
            .state()
            .join_phase()
            .is_some_and(|phase| !phase.is_initial);
        if is_later && self.has_all_members_joined() {
            self.complete_join(false, ctx);
        }
    }

    fn arm_join(&mut self, delay: Span, extension: Option<InitialDelay>, ctx: &mut Context<'_>) {
        let due_at = ctx.out.now + delay;
        if let State::PreparingRebalance(phase) = self.state_data() {
            phase.closes_at = Some(due_at);
            phase.extension = extension;
            ctx.out
                .arm_at(Timer::JoinPhase(self.group_id.clone()), due_at);
        }
    }

    /// The `join` timer fires: an initial phase goes on for another round if members came in this
    /// one and time is left; any other phase ends.
    ///
    /// # Source
    /// `GroupMetadataManager#tryCompleteInitialRebalanceElseSchedule` (Kafka 1eb7644); KIP-134.
    pub(super) fn on_join_phase(&mut self, ctx: &mut Context<'_>) {
        let Some(phase) = self.state().join_phase() else {
            return;
        };
        if phase
            .closes_at
            .is_none_or(|closes_at| ctx.out.now < closes_at)
        {
            return;
        }
        match phase.extension {
            Some(InitialDelay { delay, remaining })
                if self.new_member_added && remaining != Span::ZERO =>
            {
                self.new_member_added = false;
                let configured = ctx.initial_delay();
                let next_delay = configured.min(remaining);
                let next = InitialDelay {
                    delay: next_delay,
                    remaining: remaining - delay,
                };
                self.arm_join(next_delay, Some(next), ctx);
            }
            Some(_) => self.complete_join(false, ctx),
            None => self.complete_join(true, ctx),
        }
    }

    /// Ends the join phase: dynamic members that have not joined are out, the others form the next
    /// generation. `timed_out` says whether the rebalance timeout brought it about.
    ///
    /// # Source
    /// `GroupMetadataManager#completeClassicGroupJoin` (Kafka 1eb7644).
    pub(super) fn complete_join(&mut self, timed_out: bool, ctx: &mut Context<'_>) {
        ctx.out.cancel(Timer::JoinPhase(self.group_id.clone()));
        self.remove_members_not_rejoined(ctx);
        if self.state().is_dead() {
            return;
        }
        if !self.elect_joined_leader() && !self.members.is_empty() {
            // Only static members are left, and none of them is back. The phase goes on until one
            // joins or their sessions run out.
            ctx.log(format_args!(
                "Group {} could not complete rebalance because no members rejoined.",
                self.group_id
            ));
            self.arm_join(self.rebalance_timeout(), None, ctx);
            return;
        }
        self.generation_id += 1;
        if self.members.is_empty() {
            self.complete_join_as_empty(ctx);
        } else {
            self.complete_join_with_members(timed_out, ctx);
        }
    }

    fn remove_members_not_rejoined(&mut self, ctx: &mut Context<'_>) {
        let is_late = |member: &&super::group::Member| {
            member.join.is_none() && member.group_instance_id.is_none()
        };
        let late: Vec<MemberId> = self
            .members
            .iter()
            .filter(is_late)
            .map(|member| member.member_id.clone())
            .collect();
        if late.is_empty() {
            return;
        }
        for member_id in &late {
            self.remove(member_id, "did not join before the rebalance timeout", ctx);
            self.cancel_session(member_id, ctx.out);
        }
        ctx.log(format_args!(
            "Group {} removed dynamic members who haven't joined: {}",
            self.group_id,
            id_list(&late)
        ));
    }

    /// Makes sure that the leader has joined, and says whether there is one that has.
    fn elect_joined_leader(&mut self) -> bool {
        let leader = self.leader.as_ref().and_then(|leader| self.member(leader));
        match leader {
            None => false,
            Some(leader) if leader.join.is_some() => true,
            Some(_) => {
                let joined = self.members.iter().find(|member| member.join.is_some());
                let joined = joined.map(|member| member.member_id.clone());
                let is_found = joined.is_some();
                if is_found {
                    self.leader = joined;
                }
                is_found
            }
        }
    }

    fn complete_join_as_empty(&mut self, ctx: &mut Context<'_>) {
        self.protocol_name = None;
        self.subscribed_topics = self.compute_subscribed_topics();
        self.become_state(State::Empty, "the join phase ended without members", ctx);
        ctx.log(format_args!(
            "Group {} with generation {} is now empty.",
            self.group_id, self.generation_id
        ));
        self.trace_join_phase(ctx);
        let record = self.metadata_record(None, ctx.out.now);
        ctx.write(&self.group_id, vec![record], Then::EmptyGroup);
    }

    fn complete_join_with_members(&mut self, timed_out: bool, ctx: &mut Context<'_>) {
        self.protocol_name = self.select_protocol();
        self.subscribed_topics = self.compute_subscribed_topics();
        let pending = self
            .members
            .iter()
            .map(|member| member.member_id.clone())
            .collect();
        let timeout = self.rebalance_timeout();
        // 0.9 and 0.10.0 wait for a SyncGroup for as long as the session lasts.
        let has_timer = !ctx.history.single_threaded_consumer;
        let closes_at = has_timer.then_some(ctx.out.now + timeout);
        let phase = SyncPhase { pending, closes_at };
        let reason = if timed_out {
            "the join timer fired"
        } else {
            "the join phase is over"
        };
        self.become_state(State::CompletingRebalance(phase), reason, ctx);
        ctx.log(format_args!(
            "Stabilized group {} generation {} with {} members.",
            self.group_id,
            self.generation_id,
            self.members.len()
        ));
        self.trace_join_phase(ctx);
        let members: Vec<MemberId> = self
            .members
            .iter()
            .map(|member| member.member_id.clone())
            .collect();
        for member_id in &members {
            let response = self.join_response(member_id);
            if let Some(member) = self.member_mut(member_id) {
                member.answer_join(response, timed_out, ctx.out);
                member.is_new = false;
            }
            self.restart_session(member_id, ctx.out);
        }
        if has_timer {
            ctx.out
                .arm(Timer::PendingSync(self.group_id.clone()), timeout);
        }
    }

    fn trace_join_phase(&self, ctx: &mut Context<'_>) {
        ctx.out.trace(TraceEvent::JoinPhaseCompleted {
            group_id: self.group_id.clone(),
            generation_id: self.generation_id,
            members: self
                .members
                .iter()
                .map(|member| member.member_id.clone())
                .collect(),
            leader: self.leader.clone(),
        });
    }

    /// Takes back what the leader has assigned, and tells those who wait for it.
    pub(super) fn fail_assignment(&mut self, error_code: ErrorCode, ctx: &mut Context<'_>) {
        self.answer_syncs(Some(error_code), false, ctx);
    }

    /// Answers every parked sync: with the member's assignment, or with an error, which also
    /// clears the assignments. Sessions start anew then, for a timer that fired meanwhile was
    /// ignored.
    pub(super) fn answer_syncs(
        &mut self,
        error_code: Option<ErrorCode>,
        timed_out: bool,
        ctx: &mut Context<'_>,
    ) {
        let members: Vec<MemberId> = self
            .members
            .iter()
            .map(|member| member.member_id.clone())
            .collect();
        for member_id in &members {
            let Some(member) = self.member_mut(member_id) else {
                continue;
            };
            if error_code.is_some() {
                member.assignment = Arc::new(Vec::new());
            }
            if member.sync.is_none() {
                continue;
            }
            let response = match (error_code, self.member(member_id)) {
                (None, Some(member)) => self.sync_response(member),
                (Some(error_code), _) => sync_error(error_code),
                (None, None) => sync_error(ErrorCode::UnknownMemberId),
            };
            let was_parked = self
                .member_mut(member_id)
                .is_some_and(|member| member.answer_sync(response, timed_out, ctx.out));
            if was_parked {
                self.restart_session(member_id, ctx.out);
            }
        }
    }

    /// The `sync` timer fires: members that have not asked for their assignment are out, static
    /// ones included, and the others rebalance.
    ///
    /// # Source
    /// `GroupMetadataManager#expirePendingSync` (Kafka 1eb7644); KAFKA-12890.
    pub(super) fn on_pending_sync(&mut self, ctx: &mut Context<'_>) {
        let now = ctx.out.now;
        let Some(phase) = self.state().sync_phase() else {
            return;
        };
        if phase.closes_at.is_none_or(|closes_at| now < closes_at) || phase.pending.is_empty() {
            return;
        }
        let pending: Vec<MemberId> = phase.pending.iter().cloned().collect();
        let reason = format!(
            "Removing {} on pending sync request expiration",
            id_list(&pending)
        );
        for member_id in &pending {
            self.remove(member_id, "did not sync before the rebalance timeout", ctx);
            self.cancel_session(member_id, ctx.out);
        }
        if matches!(self.state(), State::CompletingRebalance(_)) {
            self.answer_syncs(Some(ErrorCode::RebalanceInProgress), true, ctx);
        }
        self.prepare_rebalance(&reason, ctx);
    }

    /// A `heartbeat` timer fires: a pending id is forgotten; a member is out unless a parked
    /// request stands for its heartbeat. As in Kafka this can end even an initial join phase early.
    ///
    /// # Source
    /// `GroupMetadataManager#expireClassicGroupMemberHeartbeat` (Kafka 1eb7644).
    pub(super) fn on_member_session(&mut self, member_id: &MemberId, ctx: &mut Context<'_>) {
        let now = ctx.out.now;
        if self.state().is_dead() {
            return;
        }
        if let Some(due_at) = self.pending_members.get(member_id) {
            if now < *due_at {
                return;
            }
            ctx.log(format_args!(
                "Pending member {member_id} in group {} has been removed after session timeout \
                 expiration.",
                self.group_id
            ));
            self.remove(member_id, "session timeout", ctx);
            self.complete_join_if_all_joined(ctx);
            return;
        }
        let Some(member) = self.member_mut(member_id) else {
            return;
        };
        if member.session_timer_at.is_none_or(|due_at| now < due_at) {
            return;
        }
        member.session_timer_at = None;
        if member.has_satisfied_heartbeat() {
            return;
        }
        ctx.log(format_args!(
            "Member {member_id} in group {} has failed, removing it from the group.",
            self.group_id
        ));
        let reason = format!("removing member {member_id} on heartbeat expiration.");
        self.expel(member_id, "session timeout", ctx);
        if self.state().can_rebalance() && !self.state().is_empty() {
            self.prepare_rebalance(&reason, ctx);
        } else {
            self.complete_join_if_all_joined(ctx);
        }
    }

    fn complete_join_if_all_joined(&mut self, ctx: &mut Context<'_>) {
        if self.state().join_phase().is_some() && self.has_all_members_joined() {
            self.complete_join(false, ctx);
        }
    }

    /// Takes a member out; its parked join gets `UNKNOWN_MEMBER_ID`, so that a client that is
    /// still there starts over. A parked sync is never answered, as in Kafka.
    pub(super) fn expel(&mut self, member_id: &MemberId, reason: &str, ctx: &mut Context<'_>) {
        if let Some(member) = self.member_mut(member_id) {
            let response = join_error(ErrorCode::UnknownMemberId, MemberId::default());
            member.answer_join(response, false, ctx.out);
        }
        self.remove(member_id, reason, ctx);
    }
}

/// `[a, b]`.
fn id_list(ids: &[MemberId]) -> String {
    let ids: Vec<&str> = ids.iter().map(MemberId::as_str).collect();
    format!("[{}]", ids.join(", "))
}
