//! A classic group: its data and the rules that follow from the data alone.

use super::context::Context;
use super::state::{JoinPhase, State, SyncPhase, may_become};
use crate::base::ids::{GroupId, InstanceId, MemberId, NodeId, TopicPartition};
use crate::base::timer::Timer;
use crate::kernel::time::{SimTime, Span};
use crate::trace::event::{GroupState, TraceEvent, Waiting};
use crate::trace::out::{Out, ReplyTo};
use crate::wire::api::{
    JoinGroupMember, JoinGroupRequest, JoinGroupResponse, Response, SyncGroupResponse,
};
use crate::wire::error_code::ErrorCode;
use crate::wire::record::{CommittedOffset, Subscription};
use serde::{Serialize, Serializer};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// The protocol type of consumers.
pub const CONSUMER_PROTOCOL_TYPE: &str = "consumer";

/// The assignors that a member offers, in its order of preference.
pub type Protocols = Vec<(Arc<str>, Arc<Subscription>)>;

/// Who gets what.
pub(super) type Assignments = Vec<(MemberId, Arc<Vec<TopicPartition>>)>;

/// A classic group on its coordinator.
///
/// Invariant: `leader` names a member whenever there are members. Every two members have an
/// assignor in common that all support.
#[derive(Clone, Debug, Serialize)]
pub struct ClassicGroup {
    /// Its id.
    pub group_id: GroupId,
    /// Its state. Only [`Self::become_state`] writes it.
    state: State,
    /// When it entered that state; what is left of an Empty group expires counting from here.
    pub current_state_at: SimTime,
    /// Number of the last completed join phase, the ones that left the group Empty included.
    pub generation_id: i32,
    /// `consumer` for consumers; unset for a group that was made by a commit alone.
    pub protocol_type: Option<Arc<str>>,
    /// The assignor that the last join phase has chosen; unset while the group is Empty.
    pub protocol_name: Option<Arc<str>>,
    /// The member that computes assignments; unset without members.
    pub leader: Option<MemberId>,
    /// Its members, in the order in which they came (Kafka: in hash order).
    pub members: Vec<Member>,
    /// Ids handed out with `MEMBER_ID_REQUIRED` that have not come back, and when each is
    /// forgotten.
    pub pending_members: BTreeMap<MemberId, SimTime>,
    /// Topics that its members subscribe to, as of the last join phase; unset when that is not
    /// known.
    pub subscribed_topics: Option<BTreeSet<Arc<str>>>,
    /// Whether a member was added in the round of the initial delay that runs. As in Kafka it can
    /// be left over from a last round that was cut short; the next initial phase is then extended
    /// once.
    pub new_member_added: bool,
    /// Committed offsets.
    #[serde(serialize_with = "serialize_offsets")]
    pub offsets: BTreeMap<TopicPartition, CommittedOffset>,
}

/// A member of a classic group.
#[derive(Clone, Debug, Serialize)]
pub struct Member {
    /// Its id.
    pub member_id: MemberId,
    /// Its `group.instance.id`; unset for a dynamic member.
    pub group_instance_id: Option<InstanceId>,
    /// Its `client.id`.
    pub client_id: Arc<str>,
    /// The process behind it (Kafka: `client_host`).
    pub client: NodeId,
    /// Its `max.poll.interval.ms`.
    pub rebalance_timeout: Span,
    /// Its `session.timeout.ms`.
    pub session_timeout: Span,
    /// What it offers. After a load only the assignor that was chosen.
    pub protocols: Protocols,
    /// Its partitions.
    pub assignment: Arc<Vec<TopicPartition>>,
    /// Its parked `JoinGroup`.
    pub join: Option<Parked>,
    /// Its parked `SyncGroup`.
    pub sync: Option<Parked>,
    /// Whether it waits in its first join phase.
    pub is_new: bool,
    /// When its `heartbeat` timer fires; unset when that has fired while a request was parked.
    pub session_timer_at: Option<SimTime>,
}

/// A request that waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Parked {
    /// Whom to answer.
    pub reply: ReplyTo,
    /// What it waits for.
    pub waiting: Waiting,
    /// Since when.
    pub since: SimTime,
    /// When it is answered at the latest; unset when something else decides.
    pub deadline: Option<SimTime>,
    /// Whether the trace knows of it: a request that is answered at once is never noted as parked.
    pub is_noted: bool,
    /// Whether it was answered with an error because the append that created the group timed out.
    /// It goes on counting as a parked join.
    pub is_answered: bool,
}

fn serialize_offsets<S: Serializer>(
    offsets: &BTreeMap<TopicPartition, CommittedOffset>,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    serializer.collect_seq(offsets)
}

impl Parked {
    /// A request that waits from now on.
    pub(super) const fn new(reply: ReplyTo, waiting: Waiting, now: SimTime) -> Self {
        Self {
            reply,
            waiting,
            since: now,
            deadline: None,
            is_noted: false,
            is_answered: false,
        }
    }

    /// Notes that it waits.
    pub(super) fn note(&mut self, group_id: &GroupId, deadline: Option<SimTime>, out: &mut Out) {
        if self.is_noted || self.is_answered {
            return;
        }
        self.is_noted = true;
        self.deadline = deadline;
        out.trace(TraceEvent::RequestParked {
            from: self.reply.node,
            correlation: self.reply.correlation,
            waiting: self.waiting,
            deadline,
            group_id: Some(group_id.clone()),
            partitions: Arc::from([]),
        });
    }

    /// Notes that it waits no longer.
    pub(super) fn release(&self, timed_out: bool, out: &mut Out) {
        if !self.is_noted || self.is_answered {
            return;
        }
        out.trace(TraceEvent::RequestReleased {
            from: self.reply.node,
            correlation: self.reply.correlation,
            waiting: self.waiting,
            timed_out,
        });
    }

    /// Answers it; nothing more is sent if it has been answered.
    pub(super) fn answer(&self, response: Response, timed_out: bool, out: &mut Out) {
        if self.is_answered {
            return;
        }
        self.release(timed_out, out);
        out.respond(self.reply, response);
    }
}

impl Member {
    /// Whether a parked request stands for its heartbeat. A new member's does not, so that one
    /// that never comes back does not hold the join phase for ever.
    pub const fn has_satisfied_heartbeat(&self) -> bool {
        !self.is_new && (self.join.is_some() || self.sync.is_some())
    }

    /// When its session runs out; unset while a parked request stands for its heartbeat.
    pub const fn session_expires_at(&self) -> Option<SimTime> {
        if self.has_satisfied_heartbeat() {
            None
        } else {
            self.session_timer_at
        }
    }

    /// Whether it lists this assignor.
    pub fn supports(&self, protocol: &str) -> bool {
        self.protocols.iter().any(|(name, _)| &**name == protocol)
    }

    /// What it says under this assignor.
    pub fn subscription(&self, protocol: &str) -> Option<&Arc<Subscription>> {
        self.protocols
            .iter()
            .find(|(name, _)| &**name == protocol)
            .map(|(_, said)| said)
    }

    /// Answers its parked join, if there is one.
    pub(super) fn answer_join(
        &mut self,
        response: JoinGroupResponse,
        timed_out: bool,
        out: &mut Out,
    ) {
        if let Some(parked) = self.join.take() {
            parked.answer(Response::JoinGroup(response), timed_out, out);
        }
    }

    /// Answers its parked sync, if there is one, and says whether there was.
    pub(super) fn answer_sync(
        &mut self,
        response: SyncGroupResponse,
        timed_out: bool,
        out: &mut Out,
    ) -> bool {
        match self.sync.take() {
            Some(parked) => {
                parked.answer(Response::SyncGroup(response), timed_out, out);
                true
            }
            None => false,
        }
    }

    /// Parks its join in place of an earlier one, which nobody answers.
    pub(super) fn park_join(&mut self, parked: Parked, out: &mut Out) {
        if let Some(former) = self.join.replace(parked) {
            former.release(false, out);
        }
    }

    /// Parks its sync in place of an earlier one, which nobody answers.
    pub(super) fn park_sync(&mut self, parked: Parked, out: &mut Out) {
        if let Some(former) = self.sync.replace(parked) {
            former.release(false, out);
        }
    }

    /// Takes what a join says of it.
    pub(super) fn update(&mut self, request: &JoinGroupRequest) {
        self.protocols.clone_from(&request.protocols);
        self.rebalance_timeout = rebalance_timeout(request);
        self.session_timeout = Span::from_millis(request.session_timeout_ms);
    }
}

impl ClassicGroup {
    /// A group that a request has brought about: Empty, generation 0.
    pub(super) fn new(group_id: GroupId, now: SimTime) -> Self {
        Self {
            group_id,
            state: State::Empty,
            current_state_at: now,
            generation_id: 0,
            protocol_type: None,
            protocol_name: None,
            leader: None,
            members: Vec::new(),
            pending_members: BTreeMap::new(),
            subscribed_topics: None,
            new_member_added: false,
            offsets: BTreeMap::new(),
        }
    }

    /// The state that replay gives it: a group with members is Stable, whatever was under way.
    pub(super) fn with_loaded_state(mut self) -> Self {
        self.state = if self.members.is_empty() {
            State::Empty
        } else {
            State::Stable(SyncPhase::default())
        };
        self.subscribed_topics = self.compute_subscribed_topics();
        self
    }

    /// Its state.
    pub const fn state(&self) -> &State {
        &self.state
    }

    /// As [`Self::state`], to change what the state holds.
    pub(super) const fn state_data(&mut self) -> &mut State {
        &mut self.state
    }

    /// Goes over to `next` because of `reason`.
    pub(super) fn become_state(&mut self, next: State, reason: &str, ctx: &mut Context<'_>) {
        let (previous, state) = (self.state.kind(), next.kind());
        assert!(
            may_become(previous, state),
            "group {} must not go from {} to {}",
            self.group_id,
            previous.name(),
            state.name()
        );
        self.state = next;
        self.current_state_at = ctx.out.now;
        self.trace_state(previous, reason, ctx);
    }

    /// Notes the state that it is in now.
    pub(super) fn trace_state(&self, previous: GroupState, reason: &str, ctx: &mut Context<'_>) {
        ctx.out.trace(TraceEvent::GroupStateChanged {
            group_id: self.group_id.clone(),
            previous,
            state: self.state.kind(),
            generation_id: self.generation_id,
            reason: Arc::from(reason),
        });
    }

    /// The member of this id.
    pub fn member(&self, member_id: &MemberId) -> Option<&Member> {
        self.members
            .iter()
            .find(|member| member.member_id == *member_id)
    }

    /// The member of this id, to change it.
    pub(super) fn member_mut(&mut self, member_id: &MemberId) -> Option<&mut Member> {
        self.members
            .iter_mut()
            .find(|member| member.member_id == *member_id)
    }

    /// The static member of this instance id.
    pub fn static_member(&self, instance_id: &InstanceId) -> Option<&Member> {
        self.members
            .iter()
            .find(|member| member.group_instance_id.as_ref() == Some(instance_id))
    }

    /// Whether this member computes assignments.
    pub fn is_leader(&self, member_id: &MemberId) -> bool {
        self.leader.as_ref() == Some(member_id)
    }

    /// Members whose join is parked.
    pub fn awaiting_join_count(&self) -> usize {
        self.members
            .iter()
            .filter(|member| member.join.is_some())
            .count()
    }

    /// Whether every member has joined and no id is pending.
    pub fn has_all_members_joined(&self) -> bool {
        self.pending_members.is_empty() && self.members.iter().all(|member| member.join.is_some())
    }

    /// The longest rebalance timeout of its members; zero without members.
    pub fn rebalance_timeout(&self) -> Span {
        self.members
            .iter()
            .map(|member| member.rebalance_timeout)
            .max()
            .unwrap_or_default()
    }

    /// Whether it is a consumers' group.
    pub fn is_consumer_group(&self) -> bool {
        self.protocol_type.as_deref() == Some(CONSUMER_PROTOCOL_TYPE)
    }

    /// Whether a join with these protocols fits in.
    pub(super) fn supports_protocols(&self, protocol_type: &str, protocols: &Protocols) -> bool {
        if matches!(self.state, State::Empty) {
            return !protocol_type.is_empty() && !protocols.is_empty();
        }
        self.protocol_type.as_deref() == Some(protocol_type)
            && protocols.iter().any(|(name, _)| self.all_support(name))
    }

    fn all_support(&self, protocol: &str) -> bool {
        self.members.iter().all(|member| member.supports(protocol))
    }

    /// The assignor that the members would choose: each votes for the first in its own list that
    /// all support. A tie goes to the leader's vote, then to the earlier member's (Kafka: hash
    /// order). Unset without members.
    pub fn select_protocol(&self) -> Option<Arc<str>> {
        let leader = self
            .members
            .iter()
            .filter(|member| self.is_leader(&member.member_id));
        let others = self
            .members
            .iter()
            .filter(|member| !self.is_leader(&member.member_id));
        let mut votes: Vec<(&Arc<str>, u32)> = Vec::new();
        for member in leader.chain(others) {
            let choice = member.protocols.iter().map(|(name, _)| name);
            let Some(choice) = choice.into_iter().find(|name| self.all_support(name)) else {
                continue;
            };
            match votes.iter_mut().find(|(name, _)| *name == choice) {
                Some((_, count)) => *count += 1,
                None => votes.push((choice, 1)),
            }
        }
        let most = votes.iter().map(|(_, count)| *count).max()?;
        votes
            .iter()
            .find(|(_, count)| *count == most)
            .map(|(name, _)| Arc::clone(name))
    }

    /// Topics that its members subscribe to under the chosen assignor.
    pub(super) fn compute_subscribed_topics(&self) -> Option<BTreeSet<Arc<str>>> {
        let protocol_type = self.protocol_type.as_deref()?;
        if self.members.is_empty() {
            return Some(BTreeSet::new());
        }
        if protocol_type != CONSUMER_PROTOCOL_TYPE {
            return None;
        }
        let protocol = self.protocol_name.as_deref()?;
        let said = self
            .members
            .iter()
            .filter_map(|member| member.subscription(protocol));
        Some(
            said.flat_map(|subscription| subscription.topics.iter().cloned())
                .collect(),
        )
    }

    /// Whether a member may need the offsets of this topic. An unknown name counts as needed.
    pub(super) fn is_subscribed_to(&self, topic: Option<&Arc<str>>) -> bool {
        match (&self.subscribed_topics, topic) {
            (Some(topics), Some(topic)) => topics.contains(topic),
            (Some(topics), None) => !topics.is_empty(),
            (None, _) => self.is_consumer_group(),
        }
    }

    /// Whether this member, under this instance id, is the one that the group knows.
    pub(super) fn check_member(
        &self,
        member_id: &MemberId,
        group_instance_id: Option<&InstanceId>,
    ) -> Result<(), ErrorCode> {
        if let Some(instance_id) = group_instance_id {
            match self.static_member(instance_id) {
                None => return Err(ErrorCode::UnknownMemberId),
                Some(member) if member.member_id != *member_id => {
                    return Err(ErrorCode::FencedInstanceId);
                }
                Some(_) => {}
            }
        }
        self.member(member_id)
            .map(|_| ())
            .ok_or(ErrorCode::UnknownMemberId)
    }

    /// Whether the group takes this member in, by `group.max.size` (KIP-389).
    pub(super) fn accepts(&self, member_id: &MemberId, size_max: i64) -> bool {
        let is_below = |count: usize| i64::try_from(count).unwrap_or(i64::MAX) < size_max;
        match self.state {
            State::Empty | State::Dead => true,
            State::PreparingRebalance(_) => {
                self.member(member_id)
                    .is_some_and(|member| member.join.is_some())
                    || is_below(self.awaiting_join_count())
            }
            State::CompletingRebalance(_) | State::Stable(_) => {
                self.member(member_id).is_some() || is_below(self.members.len())
            }
        }
    }

    /// Takes an id out of the group, be it a member's or a pending one. Timers and parked requests
    /// are the caller's business, except that a parked request stops waiting.
    pub(super) fn remove(&mut self, member_id: &MemberId, reason: &str, ctx: &mut Context<'_>) {
        if let Some(index) = self
            .members
            .iter()
            .position(|member| member.member_id == *member_id)
        {
            let member = self.members.remove(index);
            for parked in member.join.iter().chain(&member.sync) {
                parked.release(false, ctx.out);
            }
            ctx.out.trace(TraceEvent::MemberRemoved {
                group_id: self.group_id.clone(),
                member_id: member_id.clone(),
                reason: Arc::from(reason),
            });
        }
        if self.is_leader(member_id) {
            self.leader = self.members.first().map(|member| member.member_id.clone());
        }
        self.pending_members.remove(member_id);
        if let Some(phase) = self.state.sync_phase_mut() {
            phase.pending.remove(member_id);
        }
    }

    /// Every member with what it says under the chosen assignor, for the leader. A member that
    /// came while a static leader's record was being replicated may not list that assignor; it
    /// shows without topics.
    pub(super) fn join_members(&self) -> Vec<JoinGroupMember> {
        let protocol = self.protocol_name.as_deref().unwrap_or_default();
        self.members
            .iter()
            .map(|member| JoinGroupMember {
                member_id: member.member_id.clone(),
                group_instance_id: member.group_instance_id.clone(),
                subscription: member.subscription(protocol).cloned().unwrap_or_default(),
            })
            .collect()
    }

    /// The answer to a join with the current generation; with all members for the leader.
    pub(super) fn join_response(&self, member_id: &MemberId) -> JoinGroupResponse {
        let is_leader = self.is_leader(member_id);
        JoinGroupResponse {
            error_code: ErrorCode::None,
            generation_id: self.generation_id,
            protocol_type: self.protocol_type.clone(),
            protocol_name: self.protocol_name.clone(),
            leader: self.leader.clone().unwrap_or_default(),
            skip_assignment: false,
            member_id: member_id.clone(),
            members: if is_leader {
                self.join_members()
            } else {
                Vec::new()
            },
        }
    }

    /// The answer to a sync with this member's assignment.
    pub(super) fn sync_response(&self, member: &Member) -> SyncGroupResponse {
        SyncGroupResponse {
            error_code: ErrorCode::None,
            protocol_type: self.protocol_type.clone(),
            protocol_name: self.protocol_name.clone(),
            assignment: Arc::clone(&member.assignment),
        }
    }

    /// Starts a member's session anew.
    pub(super) fn restart_session(&mut self, member_id: &MemberId, out: &mut Out) {
        if let Some(member) = self.member(member_id) {
            let timeout = member.session_timeout;
            self.arm_session(member_id, timeout, out);
        }
    }

    /// Arms a member's `heartbeat` timer.
    pub(super) fn arm_session(&mut self, member_id: &MemberId, delay: Span, out: &mut Out) {
        let due_at = out.now + delay;
        out.arm_at(
            Timer::MemberSession(self.group_id.clone(), member_id.clone()),
            due_at,
        );
        if let Some(member) = self.member_mut(member_id) {
            member.session_timer_at = Some(due_at);
        }
    }

    /// Cancels the `heartbeat` timer of a member or of a pending id.
    pub(super) fn cancel_session(&self, member_id: &MemberId, out: &mut Out) {
        out.cancel(Timer::MemberSession(
            self.group_id.clone(),
            member_id.clone(),
        ));
    }

    /// Notes the request `reply` as parked, if it is.
    pub(super) fn note_parked(&mut self, reply: ReplyTo, ctx: &mut Context<'_>) {
        let join_deadline = self.state.join_phase().and_then(JoinPhase::latest_end);
        let sync_deadline = self.state.sync_phase().and_then(|phase| phase.closes_at);
        let append_deadline = Some(ctx.append_deadline());
        let group_id = &self.group_id;
        let parked = self
            .members
            .iter_mut()
            .flat_map(|member| member.join.iter_mut().chain(member.sync.iter_mut()));
        for parked in parked.filter(|parked| parked.reply == reply) {
            let deadline = match parked.waiting {
                Waiting::Join => join_deadline,
                Waiting::Sync => sync_deadline,
                Waiting::CoordinatorAppend => append_deadline,
                Waiting::Produce | Waiting::Fetch | Waiting::DeleteRecords => None,
            };
            parked.note(group_id, deadline, ctx.out);
        }
    }
}

/// How long a member may take to join again. `JoinGroup` version 0 knows only the session.
pub(super) fn rebalance_timeout(request: &JoinGroupRequest) -> Span {
    if request.version < 1 {
        return Span::from_millis(request.session_timeout_ms);
    }
    Span::from_millis(request.rebalance_timeout_ms)
}

/// The answer to a join that failed.
pub(super) fn join_error(error_code: ErrorCode, member_id: MemberId) -> JoinGroupResponse {
    JoinGroupResponse {
        error_code,
        generation_id: -1,
        protocol_type: None,
        protocol_name: None,
        leader: MemberId::default(),
        skip_assignment: false,
        member_id,
        members: Vec::new(),
    }
}

/// The answer to a sync that failed.
pub(super) fn sync_error(error_code: ErrorCode) -> SyncGroupResponse {
    SyncGroupResponse {
        error_code,
        protocol_type: None,
        protocol_name: None,
        assignment: Arc::new(Vec::new()),
    }
}
