//! What happened, as intervals, messages and marks that pictures can draw.
//!
//! The index grows with the trace and never reads an entry twice. It knows the furthest future
//! that the branch has seen; a picture of an earlier instant passes the number of entries known
//! at that instant as `clip`, and everything later is invisible to it. Seeking costs nothing
//! therefore; only another branch cuts the index, down to what both branches share.

pub(crate) mod lane;
pub(crate) mod messages;
pub(crate) mod series;
pub(crate) mod track;

use lane::{Lane, Standstill};
use messages::{Fate, Message, Messages};
use series::SeriesSet;
use std::collections::BTreeMap;
use std::sync::Arc;
use terrarium_core::base::ids::{
    BrokerId, ClientId, CorrelationId, GroupId, MemberId, NodeId, TopicId, TopicPartition,
};
use terrarium_core::kernel::time::SimTime;
use terrarium_core::sim::scenario::Scenario;
use terrarium_core::trace::buffer::TraceBuffer;
use terrarium_core::trace::event::{GroupState, TraceEntry, TraceEvent, Waiting};
use terrarium_core::wire::error_code::ErrorCode;
use track::{Interval, Moment, Track};

/// The index.
#[derive(Clone, Debug)]
pub(crate) struct History {
    /// Group of each consumer.
    groups_of: BTreeMap<ClientId, GroupId>,
    /// Topics that Kafka keeps for itself: they bring no marks.
    internal: Vec<TopicId>,
    /// Index of the next trace entry to read.
    next_index: u64,
    lanes: BTreeMap<NodeId, Lane>,
    messages: Messages,
    parked: Track<Parked>,
    phases: Track<Phase>,
    members: Track<Member>,
    marks: Vec<Mark>,
    series: SeriesSet,
}

/// A request that waits at a broker.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Parked {
    /// The broker.
    pub at: NodeId,
    /// Who sent it.
    pub from: NodeId,
    /// Which of its requests.
    pub correlation: CorrelationId,
    /// Where it waits.
    pub waiting: Waiting,
    /// When it is answered at the latest.
    pub deadline: Option<SimTime>,
    /// The group, for a join or sync.
    pub group_id: Option<GroupId>,
}

/// A state that a group is in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Phase {
    /// The group.
    pub group_id: GroupId,
    /// Its coordinator.
    pub at: NodeId,
    /// The state.
    pub state: GroupState,
    /// Its generation.
    pub generation_id: i32,
    /// Why it came to be.
    pub reason: Arc<str>,
}

/// A member of a group.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Member {
    /// The group.
    pub group_id: GroupId,
    /// Its id.
    pub id: MemberId,
    /// The process behind it.
    pub client: NodeId,
}

/// Who is in and who is missing while a join phase lasts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Barrier {
    /// Since when the join phase is open.
    pub from: Moment,
    /// When everyone had joined, or time was up; unset while it is open.
    pub opened_at: Option<SimTime>,
    /// Each member.
    pub seats: Vec<Seat>,
}

/// A member in a join phase.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Seat {
    /// The process behind it.
    pub client: NodeId,
    /// Its id.
    pub member_id: MemberId,
    /// Whether the process has come back as another member since: this one will never join.
    pub is_former: bool,
    /// When its `JoinGroup` was parked.
    pub joined: Option<SimTime>,
}

/// Something worth a mark on the scrubber.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Mark {
    /// When, and the entry that tells.
    pub moment: Moment,
    /// Where.
    pub node: NodeId,
    /// What sort of thing.
    pub kind: MarkKind,
    /// Its name: an action's text, a group, an error.
    pub name: Arc<str>,
    /// The partition, for elections and changes of an ISR.
    pub partition: Option<TopicPartition>,
}

/// What sort of thing a mark tells of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum MarkKind {
    /// A person's or the scenario's action.
    Action,
    /// A group begins to rebalance.
    Rebalance,
    /// A partition changes its leader.
    Election,
    /// An ISR shrinks or grows.
    Isr,
    /// A process dies without having been told to, a batch is given up, a commit is refused.
    Error,
}

impl History {
    /// An empty index of a run of `scenario`.
    pub(crate) fn new(scenario: &Scenario) -> Self {
        let first = u32::try_from(scenario.producers.len()).unwrap_or(u32::MAX);
        let groups = scenario
            .consumers
            .iter()
            .zip(first..)
            .filter_map(|(consumer, id)| {
                let group = GroupId(consumer.config.group_id.clone()?);
                Some((ClientId(id), group))
            });
        Self {
            groups_of: groups.collect(),
            internal: Vec::new(),
            next_index: 0,
            lanes: BTreeMap::new(),
            messages: Messages::default(),
            parked: Track::new(INTERVALS_MAX),
            phases: Track::new(INTERVALS_MAX),
            members: Track::new(INTERVALS_MAX),
            marks: Vec::new(),
            series: SeriesSet::default(),
        }
    }

    /// Changes of this topic bring no marks.
    pub(crate) fn set_internal(&mut self, topic: TopicId) {
        if !self.internal.contains(&topic) {
            self.internal.push(topic);
        }
    }

    /// Reads what the trace holds beyond what is known.
    pub(crate) fn extend(&mut self, trace: &TraceBuffer) {
        if trace.next_index() <= self.next_index {
            return;
        }
        self.next_index = self.next_index.max(trace.first_index());
        for entry in trace.since(self.next_index) {
            self.read(entry, trace);
        }
        self.next_index = trace.next_index();
    }

    /// Forgets everything from the instant `at` on; `trace` tells where that is, and what of it
    /// still holds.
    pub(crate) fn cut(&mut self, trace: &TraceBuffer, at: SimTime) {
        let index = first_at(trace, at);
        if index < self.next_index {
            self.next_index = index;
            for lane in self.lanes.values_mut() {
                lane.cut(index);
            }
            self.messages.cut(index);
            self.parked.cut(index);
            self.phases.cut(index);
            self.members.cut(index);
            self.marks.retain(|mark| mark.moment.index < index);
        }
        self.series.cut(at);
    }

    /// What happened on a node's lane.
    pub(crate) fn lane(&self, node: NodeId) -> Option<&Lane> {
        self.lanes.get(&node)
    }

    /// Every lane.
    pub(crate) fn lanes(&self) -> impl Iterator<Item = (NodeId, &Lane)> {
        self.lanes.iter().map(|(node, lane)| (*node, lane))
    }

    /// Messages.
    pub(crate) const fn messages(&self) -> &Messages {
        &self.messages
    }

    /// Requests that waited at brokers.
    pub(crate) const fn parked(&self) -> &Track<Parked> {
        &self.parked
    }

    /// States of groups.
    pub(crate) const fn phases(&self) -> &Track<Phase> {
        &self.phases
    }

    /// Marks in the order of time.
    pub(crate) fn marks(&self) -> &[Mark] {
        &self.marks
    }

    /// Numbers over time.
    pub(crate) const fn series(&self) -> &SeriesSet {
        &self.series
    }

    /// Numbers over time, to add to.
    pub(crate) const fn series_mut(&mut self) -> &mut SeriesSet {
        &mut self.series
    }

    /// Partitions that nobody processes at the end of the known trace.
    pub(crate) fn stopped_now(&self) -> usize {
        self.lanes
            .values()
            .map(|lane| lane.stopped.lasting().count())
            .sum()
    }

    /// Who has joined and who is missing in the join phase `phase`.
    pub(crate) fn barrier(&self, phase: &Interval<Phase>, clip: u64) -> Barrier {
        let opened_at = phase.end(clip);
        let until = opened_at.unwrap_or(SimTime::MAX);
        let group = &phase.what.group_id;
        let mut seats: Vec<Seat> = Vec::new();
        let mut since: Vec<u64> = Vec::new();
        for member in self.members.seen(phase.from.at, until, clip) {
            // Whoever left before the join phase began, or during it, has no seat.
            let has_left = member.end(clip).is_some_and(|left| left < until);
            if member.what.group_id == *group && !has_left {
                seats.push(Seat {
                    client: member.what.client,
                    member_id: member.what.id.clone(),
                    is_former: false,
                    joined: None,
                });
                since.push(member.from.index);
            }
        }
        for parked in self.parked.seen(phase.from.at, until, clip) {
            let is_join = parked.what.waiting == Waiting::Join;
            if !is_join || parked.what.group_id.as_ref() != Some(group) || until < parked.from.at {
                continue;
            }
            // A process that has been restarted may have several members; the newest speaks.
            let mut own = seats.iter_mut().zip(&since).rev();
            let seat = own.find(|(seat, since)| {
                seat.client == parked.what.from && **since <= parked.from.index
            });
            if let Some((seat, _)) = seat {
                seat.joined = Some(parked.from.at);
            }
        }
        for place in 0..seats.len() {
            let later: Vec<NodeId> = seats.iter().skip(place + 1).map(|s| s.client).collect();
            if let Some(seat) = seats.get_mut(place) {
                seat.is_former = later.contains(&seat.client);
            }
        }
        Barrier {
            from: phase.from,
            opened_at,
            seats,
        }
    }

    /// Everything that the trace has told, as text.
    #[cfg(test)]
    pub(crate) fn facts(&self) -> String {
        let known = (
            &self.lanes,
            &self.parked,
            &self.phases,
            &self.members,
            &self.marks,
        );
        format!("{known:#?}{:#?}", self.messages.all())
    }

    fn lane_mut(&mut self, node: NodeId) -> &mut Lane {
        self.lanes.entry(node).or_default()
    }

    fn read(&mut self, entry: &TraceEntry, trace: &TraceBuffer) {
        let now = Moment {
            index: entry.index,
            at: entry.at,
        };
        self.read_wire(entry, now);
        self.read_process(entry, now);
        self.read_group(entry, now, trace);
        self.read_consumer(entry, now);
        self.read_replication(entry, now);
        self.read_mark(entry, now);
    }

    fn read_wire(&mut self, entry: &TraceEntry, sent: Moment) {
        let message = |packet, to, correlation, due_at| Message {
            packet,
            sent,
            due_at,
            resumed: None,
            end: None,
            from: entry.node,
            to,
            correlation,
            api: terrarium_core::wire::api::ApiKey::Produce,
            is_response: false,
            error_code: ErrorCode::None,
        };
        match &entry.event {
            TraceEvent::RequestSent {
                packet,
                to,
                correlation,
                body,
                due_at,
            } => {
                let message = message(*packet, *to, *correlation, *due_at);
                self.messages.send(Message {
                    api: body.api_key(),
                    ..message
                });
            }
            TraceEvent::ResponseSent {
                packet,
                to,
                correlation,
                body,
                due_at,
            } => {
                let message = message(*packet, *to, *correlation, *due_at);
                self.messages.send(Message {
                    api: body.api_key(),
                    is_response: true,
                    error_code: body.error_code(),
                    ..message
                });
            }
            TraceEvent::Delivered { packet, .. } => {
                self.messages.finish(*packet, sent, Fate::Delivered);
            }
            TraceEvent::PacketLost { packet, .. } => {
                self.messages.finish(*packet, sent, Fate::Lost);
            }
            TraceEvent::PacketResumed { packet, due_at } => {
                self.messages.resume(*packet, sent, *due_at);
            }
            TraceEvent::RequestParked {
                from,
                correlation,
                waiting,
                deadline,
                group_id,
                ..
            } => {
                let parked = Parked {
                    at: entry.node,
                    from: *from,
                    correlation: *correlation,
                    waiting: *waiting,
                    deadline: *deadline,
                    group_id: group_id.clone(),
                };
                self.parked.open(sent, parked);
            }
            TraceEvent::RequestReleased {
                from,
                correlation,
                waiting,
                ..
            } => {
                self.parked.close(sent, |parked| {
                    parked.at == entry.node
                        && parked.from == *from
                        && parked.correlation == *correlation
                        && parked.waiting == *waiting
                });
            }
            _ => {}
        }
    }

    fn read_process(&mut self, entry: &TraceEntry, now: Moment) {
        match &entry.event {
            TraceEvent::ProcessStarted { .. } => self.lane_mut(entry.node).start(now),
            TraceEvent::ProcessKilled { reason } => {
                self.parked.close(now, |parked| parked.at == entry.node);
                let lane = self.lane_mut(entry.node);
                lane.stand_still(
                    now,
                    Standstill::Down {
                        reason: Arc::clone(reason),
                    },
                );
            }
            TraceEvent::ProcessStopped { reason } => {
                self.parked.close(now, |parked| parked.at == entry.node);
                let lane = self.lane_mut(entry.node);
                lane.stand_still(
                    now,
                    Standstill::Closed {
                        reason: Arc::clone(reason),
                    },
                );
            }
            TraceEvent::ProcessPaused { until } => {
                self.lane_mut(entry.node)
                    .stand_still(now, Standstill::Paused { until: *until });
            }
            TraceEvent::ProcessResumed { .. } => self.lane_mut(entry.node).resume(now),
            TraceEvent::FatalError { exception } => {
                let lane = self.lane_mut(entry.node);
                lane.stand_still(
                    now,
                    Standstill::Down {
                        reason: Arc::clone(exception),
                    },
                );
            }
            _ => {}
        }
    }

    fn read_group(&mut self, entry: &TraceEntry, now: Moment, trace: &TraceBuffer) {
        match &entry.event {
            TraceEvent::GroupStateChanged {
                group_id,
                state,
                generation_id,
                reason,
                ..
            } => {
                self.phases.close(now, |phase| phase.group_id == *group_id);
                let phase = Phase {
                    group_id: group_id.clone(),
                    at: entry.node,
                    state: *state,
                    generation_id: *generation_id,
                    reason: Arc::clone(reason),
                };
                self.phases.open(now, phase);
            }
            TraceEvent::MemberAdded {
                group_id,
                member_id,
                client,
                ..
            } => {
                self.add_member(now, group_id, member_id, *client);
            }
            TraceEvent::MemberRemoved {
                group_id,
                member_id,
                ..
            } => {
                self.members
                    .close(now, |m| m.group_id == *group_id && m.id == *member_id);
            }
            TraceEvent::StaticMemberReplaced {
                group_id,
                previous_member_id,
                member_id,
                ..
            } => {
                let known = self.members.lasting().find(|member| {
                    member.what.group_id == *group_id && member.what.id == *previous_member_id
                });
                let client = sender_of(entry, trace).or(known.map(|member| member.what.client));
                self.members.close(now, |m| {
                    m.group_id == *group_id && m.id == *previous_member_id
                });
                if let Some(client) = client {
                    self.add_member(now, group_id, member_id, client);
                }
            }
            _ => {}
        }
    }

    fn add_member(&mut self, now: Moment, group: &GroupId, member_id: &MemberId, client: NodeId) {
        let group_id = group.clone();
        self.members.open(
            now,
            Member {
                group_id,
                id: member_id.clone(),
                client,
            },
        );
    }

    fn read_consumer(&mut self, entry: &TraceEntry, now: Moment) {
        match &entry.event {
            TraceEvent::PartitionsAssigned { owned, .. } => self.assign(entry.node, now, owned),
            TraceEvent::PartitionsRevoked { partitions, .. }
            | TraceEvent::PartitionsLost { partitions } => {
                self.lane_mut(entry.node).give_up(now, partitions);
            }
            TraceEvent::MemberStateChanged { state, .. } => {
                self.lane_mut(entry.node).become_member(now, *state);
            }
            TraceEvent::ProcessingStarted {
                topic_partition,
                offset,
                record_id,
                value,
                until,
            } => {
                let work = lane::Work {
                    topic_partition: *topic_partition,
                    offset: *offset,
                    record_id: *record_id,
                    value: Arc::clone(value),
                    until: *until,
                };
                self.lane_mut(entry.node).begin_work(now, work);
            }
            TraceEvent::RecordProcessed { .. } => self.lane_mut(entry.node).end_work(now),
            _ => {}
        }
    }

    /// A consumer has its partitions: it owns them, and nobody in its group misses them any more.
    fn assign(&mut self, node: NodeId, now: Moment, owned: &[TopicPartition]) {
        let group_of = |node: NodeId| self.groups_of.get(&node.client()?);
        let group = group_of(node).cloned();
        for (other, lane) in &mut self.lanes {
            let other_group = other
                .client()
                .and_then(|client| self.groups_of.get(&client));
            if other_group == group.as_ref() {
                lane.stopped
                    .close(now, |stop| owned.contains(&stop.topic_partition));
            }
        }
        self.lane_mut(node).own(now, owned);
    }

    fn read_replication(&mut self, entry: &TraceEntry, now: Moment) {
        match &entry.event {
            TraceEvent::BecameLeader {
                topic_partition,
                leader_epoch,
                ..
            } => {
                self.lane_mut(entry.node)
                    .lead(now, *topic_partition, *leader_epoch);
            }
            TraceEvent::BecameFollower {
                topic_partition, ..
            } => {
                self.lane_mut(entry.node).follow(now, *topic_partition);
            }
            TraceEvent::BrokerFenced { broker, .. } => {
                self.lane_mut(NodeId::Broker(*broker)).fence(now);
            }
            TraceEvent::BrokerUnfenced { broker } => {
                self.lane_mut(NodeId::Broker(*broker)).unfence(now);
            }
            TraceEvent::IsrShrunk {
                topic_partition,
                previous_isr,
                isr,
            }
            | TraceEvent::IsrExpanded {
                topic_partition,
                previous_isr,
                isr,
            } => {
                self.change_isr(now, *topic_partition, previous_isr, isr);
            }
            TraceEvent::LeaderElected {
                topic_partition,
                isr,
                ..
            } => {
                let known: Vec<BrokerId> = self.lanes.keys().filter_map(|n| n.broker()).collect();
                let back: Vec<BrokerId> = known.into_iter().filter(|b| isr.contains(b)).collect();
                self.change_isr(now, *topic_partition, &[], &back);
            }
            _ => {}
        }
    }

    fn change_isr(
        &mut self,
        now: Moment,
        topic_partition: TopicPartition,
        previous: &[BrokerId],
        isr: &[BrokerId],
    ) {
        for broker in previous.iter().filter(|broker| !isr.contains(broker)) {
            let lane = self.lane_mut(NodeId::Broker(*broker));
            lane.out_of_isr.open(now, topic_partition);
        }
        for broker in isr {
            let lane = self.lane_mut(NodeId::Broker(*broker));
            lane.out_of_isr.close(now, |out| *out == topic_partition);
        }
    }

    fn read_mark(&mut self, entry: &TraceEntry, moment: Moment) {
        let Some((kind, name, partition)) = mark_of(&entry.event) else {
            return;
        };
        if partition.is_some_and(|partition| self.internal.contains(&partition.topic)) {
            return;
        }
        if self.marks.len() < MARKS_MAX {
            self.marks.push(Mark {
                moment,
                node: entry.node,
                kind,
                name,
                partition,
            });
        }
    }
}

/// What an entry brings to the scrubber.
fn mark_of(event: &TraceEvent) -> Option<(MarkKind, Arc<str>, Option<TopicPartition>)> {
    let none: Arc<str> = Arc::from("");
    match event {
        TraceEvent::Command { text } => Some((MarkKind::Action, Arc::clone(text), None)),
        TraceEvent::GroupStateChanged {
            group_id,
            state: GroupState::PreparingRebalance,
            ..
        } => Some((MarkKind::Rebalance, Arc::clone(&group_id.0), None)),
        // The first leader of a new partition is no news.
        TraceEvent::LeaderElected {
            topic_partition,
            leader_epoch,
            ..
        } if 0 < *leader_epoch => Some((MarkKind::Election, none, Some(*topic_partition))),
        TraceEvent::IsrShrunk {
            topic_partition, ..
        }
        | TraceEvent::IsrExpanded {
            topic_partition, ..
        } => Some((
            MarkKind::Isr,
            Arc::from(event.name()),
            Some(*topic_partition),
        )),
        TraceEvent::BatchFailed {
            topic_partition,
            error_code,
            ..
        } => Some((
            MarkKind::Error,
            Arc::from(error_code.name()),
            Some(*topic_partition),
        )),
        TraceEvent::CommitFailed {
            exception: Some(exception),
            ..
        }
        | TraceEvent::SendFailed { exception, .. }
        | TraceEvent::FatalError { exception } => {
            Some((MarkKind::Error, Arc::clone(exception), None))
        }
        TraceEvent::ProcessKilled { reason } => Some((MarkKind::Error, Arc::clone(reason), None)),
        _ => None,
    }
}

/// Who sent the message that brought `entry` about.
fn sender_of(entry: &TraceEntry, trace: &TraceBuffer) -> Option<NodeId> {
    let mut cause = entry.cause;
    // The delivery is a step or two back at most; a loop would be a fault of the trace.
    for _step in 0..4 {
        let before = trace.entry(cause?)?;
        if let TraceEvent::Delivered {
            from,
            is_response: false,
            ..
        } = &before.event
        {
            return Some(*from);
        }
        cause = before.cause;
    }
    None
}

/// Index of the first entry at `at` or later.
fn first_at(trace: &TraceBuffer, at: SimTime) -> u64 {
    let (mut low, mut high) = (trace.first_index(), trace.next_index());
    while low < high {
        let middle = low + (high - low) / 2;
        if trace.entry(middle).is_some_and(|entry| entry.at < at) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    low
}

const INTERVALS_MAX: usize = 60_000;
const MARKS_MAX: usize = 20_000;
