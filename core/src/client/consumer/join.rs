//! Finding the coordinator, joining, syncing.

use super::app::App;
use super::{Consumer, Purpose};
use crate::assignor::lag_aware::Weights;
use crate::assignor::{Assignor, AssignorMember, ClusterTopic};
use crate::base::ids::{MemberId, NodeId, TopicId, TopicPartition};
use crate::base::timer::Timer;
use crate::base::user_data::UserData;
use crate::kernel::time::Span;
use crate::trace::event::{MemberState, TraceEvent};
use crate::trace::out::Out;
use crate::wire::api::{
    FindCoordinatorRequest, FindCoordinatorResponse, JoinGroupMember, JoinGroupRequest,
    JoinGroupResponse, Request, SyncGroupRequest, SyncGroupResponse,
};
use crate::wire::error_code::ErrorCode;
use crate::wire::record::Subscription;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

impl Consumer {
    /// Asks for the coordinator, unless that is under way.
    pub(super) fn look_up(&mut self, out: &mut Out) {
        let is_busy = matches!(self.app, App::Processing(_));
        let has_thread = !self.settings.history.single_threaded_consumer;
        if self.coordinator.is_some() || self.is_looking_up || (is_busy && !has_thread) {
            return;
        }
        match self.metadata.pick_broker(out.now) {
            Ok(broker) => {
                let request = FindCoordinatorRequest {
                    transactional_id: None,
                    group_id: self.group(),
                };
                let body = Request::FindCoordinator(request);
                let timeout = self.request_timeout();
                let correlation = out.request(NodeId::Broker(broker), body, timeout);
                self.requests.insert(correlation, Purpose::FindCoordinator);
            }
            Err(retry_at) => out.arm_at(Timer::CoordinatorLookup, retry_at),
        }
        self.is_looking_up = true;
    }

    pub(super) fn on_find_coordinator(
        &mut self,
        response: &FindCoordinatorResponse,
        out: &mut Out,
    ) {
        let Some(coordinator) = response.coordinator else {
            self.lookup_failed(out);
            return;
        };
        self.is_looking_up = false;
        self.lookup_failures = 0;
        self.coordinator = Some(coordinator);
        let id = i32::MAX - i32::try_from(coordinator.0).unwrap_or_default();
        self.client_log(
            &format!("Discovered group coordinator broker {coordinator} (id: {id} rack: null)"),
            out,
        );
        self.reset_session(out);
    }

    pub(super) fn lookup_failed(&mut self, out: &mut Out) {
        self.lookup_failures += 1;
        let backoff = self.backoff();
        let wait = backoff.after(self.lookup_failures, &mut self.stream);
        self.is_looking_up = true;
        out.arm(Timer::CoordinatorLookup, wait);
        self.metadata.request_update(out);
    }

    /// Whoever coordinated the group does so no longer.
    pub(super) fn coordinator_unknown(&mut self, out: &mut Out) {
        if self.coordinator.take().is_some() {
            self.look_up(out);
        }
    }

    /// Wants to join (again).
    pub(super) fn request_rejoin(&mut self, reason: &str, out: &mut Out) {
        self.membership.rejoin_needed = true;
        self.membership.rejoin_reason = Arc::from(reason);
        out.trace(TraceEvent::RejoinRequested {
            reason: Arc::from(reason),
        });
        self.client_log(&format!("Request joining group due to: {reason}"), out);
    }

    pub(super) fn become_state(&mut self, state: MemberState, out: &mut Out) {
        let previous = self.membership.state;
        if previous != state {
            self.membership.state = state;
            let generation_id = self.membership.generation_id;
            out.trace(TraceEvent::MemberStateChanged {
                previous,
                state,
                generation_id,
            });
        }
    }

    /// The membership is gone; the member id too if `drops_member_id`.
    pub(super) fn forget_membership(&mut self, drops_member_id: bool, out: &mut Out) {
        self.membership.generation_id = -1;
        self.membership.protocol_name = None;
        if drops_member_id {
            self.membership.member_id = MemberId::default();
        }
        self.membership.needs_join_prepare = true;
        if self.membership.pending_assignment.take().is_some() {
            // The leader was waiting for metadata or for its assignor, not for an answer.
            self.membership.call_in_flight = false;
            out.cancel(Timer::AssignmentDone);
        }
        self.become_state(MemberState::Unjoined, out);
    }

    /// An answer says that the membership is gone. The member id is kept after
    /// `ILLEGAL_GENERATION` (since 3.2).
    pub(super) fn reset_membership(&mut self, error_code: ErrorCode, api: &str, out: &mut Out) {
        let keeps_member_id = error_code == ErrorCode::IllegalGeneration;
        let what = if keeps_member_id {
            "generation"
        } else {
            "generation and member id"
        };
        self.client_log(
            &format!("Resetting {what} due to: encountered {error_code} from {api} response"),
            out,
        );
        self.forget_membership(!keeps_member_id, out);
        self.request_rejoin(
            &format!("encountered {error_code} from {api} response"),
            out,
        );
    }

    /// As leader: partitions have been added since the assignment was computed.
    pub(super) fn check_metadata_change(&mut self, out: &mut Out) {
        let Some(snapshot) = &self.membership.assignment_snapshot else {
            return;
        };
        let is_new = |name: &&Arc<str>| {
            !snapshot.contains_key(*name) && self.metadata.topic_by_name(name).is_some()
        };
        let has_changed = snapshot
            .iter()
            .any(|(name, count)| self.partition_count(name) != *count)
            || self.settings.topics.iter().any(|name| is_new(&name));
        if has_changed && self.membership.is_leader && !self.membership.rejoin_needed {
            self.membership.assignment_snapshot = None;
            self.request_rejoin("cached metadata has changed", out);
        }
    }

    fn partition_count(&self, name: &str) -> u32 {
        let known = self.metadata.topic_by_name(name);
        known.map_or(0, |(_, topic)| {
            u32::try_from(topic.partitions.len()).unwrap_or(u32::MAX)
        })
    }

    /// The join procedure, as far as it gets without waiting.
    ///
    /// # Source
    /// `AbstractCoordinator.joinGroupIfNeeded`.
    pub(super) fn join_step(&mut self, out: &mut Out) {
        let is_wanted = self.membership.rejoin_needed && self.membership.assigned.is_none();
        if self.membership.call_in_flight || !is_wanted || self.app != App::Polling {
            return;
        }
        if out.now < self.membership.retry_at {
            out.arm_at(Timer::RetryBackoff, self.membership.retry_at);
            return;
        }
        if self.membership.needs_join_prepare {
            if !self.prepare_join(out) {
                return;
            }
            self.membership.needs_join_prepare = false;
        }
        self.send_join(out);
    }

    fn send_join(&mut self, out: &mut Out) {
        let Some(coordinator) = self.coordinator else {
            return;
        };
        self.client_log("(Re-)joining group", out);
        self.become_state(MemberState::PreparingRebalance, out);
        self.membership.joined_topics = Some(self.settings.topics.clone());
        let config = self.config();
        let has_reasons = !self.settings.history.single_threaded_consumer;
        let reason = &self.membership.rejoin_reason;
        let request = JoinGroupRequest {
            group_id: self.group(),
            session_timeout_ms: config.session_timeout_ms,
            rebalance_timeout_ms: config.max_poll_interval_ms,
            member_id: self.membership.member_id.clone(),
            group_instance_id: self.group_instance_id(),
            client_id: self.settings.client_id.clone(),
            protocol_type: Arc::from(PROTOCOL_TYPE),
            protocols: config
                .partition_assignment_strategy
                .iter()
                .map(|name| (name.clone(), Arc::new(self.subscription(name))))
                .collect(),
            reason: (has_reasons && !reason.is_empty()).then(|| shortened(reason)),
            version: if has_reasons {
                JOIN_GROUP_VERSION
            } else {
                JOIN_GROUP_VERSION_OF_OLD
            },
        };
        let longest = self.rebalance_timeout() + JOIN_GRACE;
        let timeout = self.request_timeout().max(longest);
        let body = Request::JoinGroup(request);
        let correlation = out.request(NodeId::Broker(coordinator), body, timeout);
        self.requests.insert(correlation, Purpose::Join);
        self.membership.call_in_flight = true;
    }

    /// What it says of itself under one of its assignors.
    fn subscription(&self, assignor: &Arc<str>) -> Subscription {
        let mut memories = self.membership.memories.iter();
        let memory = memories.find(|(name, _)| name == assignor);
        let user_data = Assignor::by_name(assignor)
            .and_then(|assignor| assignor.user_data(memory.map(|(_, memory)| memory)));
        Subscription {
            topics: self.settings.topics.clone(),
            owned_partitions: self.partitions.keys().copied().collect(),
            generation_id: self.membership.generation_id,
            rack_id: None,
            user_data: user_data.map(Arc::new),
        }
    }

    /// The assignor in use learns what its member was given.
    pub(super) fn remember(&mut self, assignment: &[TopicPartition]) {
        let Some(name) = self.membership.protocol_name.clone() else {
            return;
        };
        let memory = UserData {
            partitions: assignment.to_vec(),
            generation_id: self.membership.generation_id,
            lags: Vec::new(),
        };
        let memories = &mut self.membership.memories;
        memories.retain(|(known, _)| *known != name);
        memories.push((name, memory));
    }

    /// For assignors that look at it: how far behind it is, as it knows.
    pub(super) fn remember_lags(&mut self) {
        for (_, memory) in &mut self.membership.memories {
            let lags = memory.partitions.iter().map(|id| {
                let owned = self.partitions.get(id);
                let ends = owned.and_then(|owned| Some((owned.high_watermark?, owned.position()?)));
                ends.map_or(0, |(end, position)| {
                    u64::try_from(end - position).unwrap_or(0)
                })
            });
            memory.lags = lags.collect();
        }
    }

    /// Takes in the answer to JoinGroup.
    ///
    /// # Source
    /// `AbstractCoordinator.JoinGroupResponseHandler`.
    #[expect(
        clippy::wildcard_enum_match_arm,
        reason = "Kafka treats every code without a rule of its own alike"
    )]
    pub(super) fn on_join_response(&mut self, response: &JoinGroupResponse, out: &mut Out) {
        self.membership.call_in_flight = false;
        match response.error_code {
            ErrorCode::None => {
                if self.membership.state == MemberState::PreparingRebalance {
                    self.on_joined(response, out);
                } else {
                    self.join_failed("UnjoinedGroupException", true, out);
                }
            }
            ErrorCode::MemberIdRequired => {
                let member_id = response.member_id.clone();
                let reason = format!("need to re-join with the given member-id: {member_id}");
                self.membership.member_id = member_id;
                self.membership.generation_id = -1;
                self.request_rejoin(&reason, out);
            }
            ErrorCode::UnknownMemberId => {
                self.reset_membership(response.error_code, "JOIN_GROUP", out);
                self.join_failed("UnknownMemberIdException", false, out);
            }
            ErrorCode::RebalanceInProgress => {
                self.join_failed("RebalanceInProgressException", false, out);
            }
            ErrorCode::CoordinatorLoadInProgress => {
                self.join_failed("CoordinatorLoadInProgressException", true, out);
            }
            ErrorCode::CoordinatorNotAvailable | ErrorCode::NotCoordinator => {
                self.coordinator_unknown(out);
                self.join_failed("NotCoordinatorException", true, out);
            }
            ErrorCode::FencedInstanceId => self.fatal("FencedInstanceIdException"),
            ErrorCode::GroupMaxSizeReached => self.fatal("GroupMaxSizeReachedException"),
            ErrorCode::InconsistentGroupProtocol => {
                self.fatal("InconsistentGroupProtocolException");
            }
            ErrorCode::InvalidSessionTimeout => self.fatal("InvalidSessionTimeoutException"),
            ErrorCode::InvalidGroupId => self.fatal("InvalidGroupIdException"),
            _ => self.fatal("KafkaException"),
        }
    }

    fn fatal(&mut self, exception: &str) {
        self.failure = Some(Arc::from(exception));
    }

    /// The join came to nothing: at once again, or after a back-off.
    pub(super) fn join_failed(&mut self, exception: &str, backs_off: bool, out: &mut Out) {
        self.request_rejoin(&format!("rebalance failed due to {exception}"), out);
        if backs_off {
            self.membership.failures += 1;
            let backoff = self.backoff();
            let wait = backoff.after(self.membership.failures, &mut self.stream);
            self.membership.retry_at = out.now + wait;
            out.arm_at(Timer::RetryBackoff, self.membership.retry_at);
        }
    }

    fn on_joined(&mut self, response: &JoinGroupResponse, out: &mut Out) {
        self.membership.generation_id = response.generation_id;
        self.membership.member_id = response.member_id.clone();
        self.membership
            .protocol_name
            .clone_from(&response.protocol_name);
        self.become_state(MemberState::CompletingRebalance, out);
        if !self.settings.history.no_heartbeat_before_sync {
            self.enable_heartbeat(out);
        }
        let text = format!(
            "Successfully joined group with generation {}",
            self.generation_text()
        );
        self.client_log(&text, out);
        self.membership.is_leader = response.leader == response.member_id;
        if !self.membership.is_leader {
            self.membership.assignment_snapshot = None;
            self.send_sync(Vec::new(), out);
        } else if response.skip_assignment {
            self.watch_group_topics(&response.members, out);
            self.note_snapshot();
            self.send_sync(Vec::new(), out);
        } else if self.watch_group_topics(&response.members, out) {
            // The leader waits for metadata of topics that are new to it.
            self.membership.pending_assignment = Some(response.clone());
            self.membership.call_in_flight = true;
        } else {
            self.begin_assignment(response, out);
        }
    }

    /// The assignor begins; it may take its time.
    fn begin_assignment(&mut self, response: &JoinGroupResponse, out: &mut Out) {
        let takes = self.settings.processing.assignor_time;
        if takes == Span::ZERO {
            self.compute_assignment(&response.members, out);
            return;
        }
        self.membership.pending_assignment = Some(response.clone());
        self.membership.call_in_flight = true;
        self.membership.assignor_until = Some(out.now + takes);
        out.arm(Timer::AssignmentDone, takes);
    }

    fn generation_text(&self) -> String {
        let protocol = self.membership.protocol_name.as_deref().unwrap_or("null");
        format!(
            "Generation{{generationId={}, memberId='{}', protocol='{protocol}'}}",
            self.membership.generation_id, self.membership.member_id
        )
    }

    /// The leader watches every topic that some member subscribes to. True if it must wait for
    /// metadata first.
    fn watch_group_topics(&mut self, members: &[JoinGroupMember], out: &mut Out) -> bool {
        let mut is_new = false;
        for name in members
            .iter()
            .flat_map(|member| &member.subscription.topics)
        {
            is_new |= self.metadata.want(name);
        }
        if is_new {
            self.metadata.request_update(out);
        }
        // Without any answer so far the leader knows no partitions at all.
        self.metadata.is_stale() && (is_new || self.metadata.version() == 0)
    }

    /// Metadata have come, or the assignor has had its time: the assignment can be computed if they
    /// cover the group's topics.
    pub(super) fn resume_assignment(&mut self, out: &mut Out) {
        let until = self.membership.assignor_until;
        if !self.metadata.covers_wanted() || until.is_some_and(|until| out.now < until) {
            return;
        }
        if let Some(response) = self.membership.pending_assignment.take() {
            self.membership.call_in_flight = false;
            if until.is_some() {
                self.membership.assignor_until = None;
                self.compute_assignment(&response.members, out);
            } else {
                self.begin_assignment(&response, out);
            }
        }
    }

    /// `onLeaderElected`: runs the assignor and brings the result to the coordinator.
    fn compute_assignment(&mut self, members: &[JoinGroupMember], out: &mut Out) {
        let Some(assignor) = self.membership.protocol_name.clone() else {
            return;
        };
        let names: BTreeSet<&Arc<str>> = members
            .iter()
            .flat_map(|member| &member.subscription.topics)
            .collect();
        let sizes: BTreeMap<Arc<str>, (TopicId, u32)> = names
            .into_iter()
            .filter_map(|name| {
                let (topic_id, topic) = self.metadata.topic_by_name(name)?;
                let count = u32::try_from(topic.partitions.len()).ok()?;
                Some((name.clone(), (topic_id, count)))
            })
            .collect();
        let Some(assignments) = self.run_assignor(&assignor, members, &sizes) else {
            return;
        };
        self.membership.assignment_snapshot = Some(
            sizes
                .iter()
                .map(|(name, (_, count))| (name.clone(), *count))
                .collect(),
        );
        let listed: Vec<String> = assignments
            .iter()
            .map(|(id, parts)| format!("{id}=Assignment(partitions=[{}])", self.names(parts)))
            .collect();
        self.client_log(
            &format!(
                "Finished assignment for group at generation {}: {{{}}}",
                self.membership.generation_id,
                listed.join(", ")
            ),
            out,
        );
        out.trace(TraceEvent::AssignmentComputed {
            assignor,
            assignments: Arc::from(assignments.as_slice()),
        });
        self.send_sync(assignments, out);
    }

    /// Who gets what, by member id. Unset when the assignor throws an exception, which `poll` passes
    /// on.
    fn run_assignor(
        &mut self,
        name: &str,
        members: &[JoinGroupMember],
        sizes: &BTreeMap<Arc<str>, (TopicId, u32)>,
    ) -> Option<Vec<(MemberId, Arc<Vec<TopicPartition>>)>> {
        let inputs: Vec<AssignorMember<'_>> = members
            .iter()
            .map(|member| AssignorMember {
                member_id: &member.member_id,
                group_instance_id: member.group_instance_id.as_ref(),
                rack_id: member.subscription.rack_id.as_deref(),
                topics: &member.subscription.topics,
                owned_partitions: &member.subscription.owned_partitions,
                generation_id: member.subscription.generation_id,
                user_data: member.subscription.user_data.as_deref(),
            })
            .collect();
        let topics: Vec<ClusterTopic<'_>> = sizes
            .iter()
            .map(|(name, (topic, partition_count))| ClusterTopic {
                name,
                topic: *topic,
                partition_count: *partition_count,
                racks: &[],
            })
            .collect();
        let assignor = Assignor::by_name(name)?;
        match assignor.assign(&inputs, &topics, self.weights()) {
            Ok(assignment) => {
                let ids = members.iter().map(|member| member.member_id.clone());
                let mut assignments: Vec<_> =
                    ids.zip(assignment.into_iter().map(Arc::new)).collect();
                assignments.sort_unstable();
                Some(assignments)
            }
            Err(error) => {
                self.fatal(error.exception());
                None
            }
        }
    }

    fn weights(&self) -> Weights {
        let weight = |weight| u32::try_from(weight).unwrap_or_default();
        let config = self.config();
        Weights {
            lag: weight(config.lag_aware_lag_weight),
            partition: weight(config.lag_aware_partition_weight),
            stickiness: weight(config.lag_aware_stickiness),
        }
    }

    fn note_snapshot(&mut self) {
        self.membership.assignment_snapshot = Some(
            self.metadata
                .topics()
                .values()
                .map(|topic| {
                    let count = u32::try_from(topic.partitions.len()).unwrap_or(u32::MAX);
                    (topic.name.clone(), count)
                })
                .collect(),
        );
    }

    fn send_sync(&mut self, assignments: Vec<(MemberId, Arc<Vec<TopicPartition>>)>, out: &mut Out) {
        let Some(coordinator) = self.coordinator else {
            self.join_failed("CoordinatorNotAvailableException", true, out);
            return;
        };
        let generation_id = self.membership.generation_id;
        let member_id = self.membership.member_id.clone();
        let request = SyncGroupRequest {
            group_id: self.group(),
            generation_id,
            member_id: member_id.clone(),
            group_instance_id: self.group_instance_id(),
            protocol_type: Some(Arc::from(PROTOCOL_TYPE)),
            protocol_name: self.membership.protocol_name.clone(),
            assignments,
        };
        let longest = self.rebalance_timeout() + JOIN_GRACE;
        let timeout = self.request_timeout().max(longest);
        let body = Request::SyncGroup(request);
        let correlation = out.request(NodeId::Broker(coordinator), body, timeout);
        self.requests.insert(
            correlation,
            Purpose::Sync {
                generation_id,
                member_id,
            },
        );
        self.membership.call_in_flight = true;
    }

    /// How long a member may take to join again.
    pub(super) fn rebalance_timeout(&self) -> Span {
        let config = self.config();
        Span::from_millis(if self.settings.history.single_threaded_consumer {
            config.session_timeout_ms
        } else {
            config.max_poll_interval_ms
        })
    }

    /// The assignment has come: the consumer is in its group. The callbacks run in `poll`.
    fn on_synced(
        &mut self,
        generation_id: i32,
        assignment: &Arc<Vec<TopicPartition>>,
        out: &mut Out,
    ) {
        self.membership.rejoin_needed = false;
        self.membership.rejoin_reason = Arc::from("");
        self.membership.failures = 0;
        self.membership.assigned = Some((generation_id, assignment.clone()));
        let text = format!(
            "Successfully synced group in generation {}",
            self.generation_text()
        );
        self.client_log(&text, out);
        self.become_state(MemberState::Stable, out);
        if self.settings.history.no_heartbeat_before_sync {
            self.enable_heartbeat(out);
        }
        if self.app == App::Polling {
            self.complete_join(out);
        }
    }

    /// Takes in the answer to SyncGroup.
    ///
    /// # Source
    /// `AbstractCoordinator.SyncGroupResponseHandler`.
    #[expect(
        clippy::wildcard_enum_match_arm,
        reason = "Kafka treats every code without a rule of its own alike"
    )]
    pub(super) fn on_sync_response(
        &mut self,
        generation_id: i32,
        member_id: &MemberId,
        response: &SyncGroupResponse,
        out: &mut Out,
    ) {
        self.membership.call_in_flight = false;
        let is_current = self.is_current(generation_id, member_id);
        match response.error_code {
            ErrorCode::None => {
                if is_current && self.membership.state == MemberState::CompletingRebalance {
                    self.on_synced(generation_id, &response.assignment, out);
                } else {
                    self.join_failed("IllegalGenerationException", false, out);
                }
            }
            ErrorCode::RebalanceInProgress => {
                self.join_failed("RebalanceInProgressException", false, out);
            }
            ErrorCode::UnknownMemberId | ErrorCode::IllegalGeneration => {
                if is_current {
                    self.reset_membership(response.error_code, "SYNC_GROUP", out);
                }
                let exception = if response.error_code == ErrorCode::UnknownMemberId {
                    "UnknownMemberIdException"
                } else {
                    "IllegalGenerationException"
                };
                self.join_failed(exception, false, out);
            }
            ErrorCode::CoordinatorNotAvailable | ErrorCode::NotCoordinator => {
                self.coordinator_unknown(out);
                self.join_failed("NotCoordinatorException", true, out);
            }
            ErrorCode::FencedInstanceId => self.fatal("FencedInstanceIdException"),
            _ => self.fatal("KafkaException"),
        }
    }
}

/// At most as much of a reason as a request carries (KIP-800).
fn shortened(reason: &Arc<str>) -> Arc<str> {
    match reason.char_indices().nth(REASON_CHARS_MAX) {
        Some((end, _)) => Arc::from(reason.get(..end).unwrap_or_default()),
        None => reason.clone(),
    }
}

const REASON_CHARS_MAX: usize = 255;
/// What consumers call their kind of group.
const PROTOCOL_TYPE: &str = "consumer";
/// Added to the rebalance timeout: JoinGroup and SyncGroup may take so much longer.
const JOIN_GRACE: Span = Span(5_000_000);
/// `JoinGroup` of 0.9 and 0.10.0: the session timeout is the rebalance timeout, too.
const JOIN_GROUP_VERSION_OF_OLD: i16 = 0;
/// `JoinGroup` with `MEMBER_ID_REQUIRED`, reasons and `SkipAssignment`.
const JOIN_GROUP_VERSION: i16 = 9;
