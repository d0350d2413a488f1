//! What must hold in every run (replication 2.17, style C.10).
//!
//! A watch reads the trace as it grows and looks at the state now and then. The first breach is
//! kept as a sentence.

use std::collections::{BTreeMap, BTreeSet};
use terrarium_core::base::config::Acks;
use terrarium_core::base::ids::{
    BrokerId, CorrelationId, GroupId, NodeId, Offset, PacketId, RecordId, TopicPartition,
};
use terrarium_core::client::consumer::ReadAhead;
use terrarium_core::coordinator::NO_RECORD_ID;
use terrarium_core::kernel::time::{SimTime, Span};
use terrarium_core::log::partition_log::PartitionLog;
use terrarium_core::node::broker::Broker;
use terrarium_core::replication::partition::Partition;
use terrarium_core::sim::scenario::CommitStyle;
use terrarium_core::sim::simulation::{Node, Sim};
use terrarium_core::trace::event::{GroupState, QuorumState, TraceEntry, TraceEvent};
use terrarium_core::wire::api::{ApiKey, Request, Response};
use terrarium_core::wire::metadata::MetadataImage;
use terrarium_core::wire::record::{Batch, ProducerStamp};

/// Watches a run.
#[derive(Clone, Debug, Default)]
pub struct Watch {
    next_index: u64,
    /// Who acts as leader, by partition and epoch.
    leaders: BTreeMap<(TopicPartition, i32), BrokerId>,
    /// Whom the controller elected, by partition and epoch.
    elected: BTreeMap<(TopicPartition, i32), Option<BrokerId>>,
    /// The leader epoch and high watermark of each acting leader.
    high_watermarks: BTreeMap<(BrokerId, TopicPartition), (i32, Offset)>,
    /// Records below a high watermark that a leader has had: they stay for ever.
    committed: BTreeMap<TopicPartition, Vec<RecordId>>,
    /// Partitions that had an unclean election: anything may be lost there.
    unclean: BTreeSet<TopicPartition>,
    /// Whether some machine lost power.
    has_lost_power: bool,
    /// Whether records of coordinators may be lost: power, or an unclean election of their topics.
    lost_group_records: bool,
    /// The leader epoch and partition epoch of each partition at the last look.
    epochs: BTreeMap<TopicPartition, (i32, i32)>,
    /// How much of the metadata log had been committed at the last look.
    metadata_end: i64,
    /// Who led the quorum of controllers in each epoch.
    quorum_leaders: BTreeMap<i32, NodeId>,
    /// What each consumer owns, and in which generation.
    owned: BTreeMap<NodeId, (i32, BTreeSet<TopicPartition>)>,
    /// Which record consumers have read at an offset.
    read: BTreeMap<(TopicPartition, Offset), RecordId>,
    /// How far a group's members are done with a partition, or where they began.
    reached: BTreeMap<(GroupId, TopicPartition), Offset>,
    /// The generation that each coordinator has of a group.
    generations: BTreeMap<(NodeId, GroupId), i32>,
    /// The last generation of a group whose assignment was stored.
    stored_generations: BTreeMap<GroupId, i32>,
    /// Requests that have no answer: what, and when it was sent.
    open: BTreeMap<(NodeId, CorrelationId), (ApiKey, SimTime)>,
    commit_requests: BTreeMap<PacketId, (GroupId, i32)>,
    /// Commits of a generation that was over when they arrived.
    late_commits: BTreeSet<(NodeId, CorrelationId)>,
    /// How often each event has happened.
    pub counts: BTreeMap<&'static str, u64>,
    /// The first breach.
    pub breach: Option<String>,
}

impl Watch {
    /// Takes in what has happened since the last call.
    pub fn follow(&mut self, sim: &Sim) {
        let from = self.next_index;
        for entry in sim.trace().since(from) {
            self.next_index = entry.index + 1;
            *self.counts.entry(entry.event.name()).or_default() += 1;
            self.follow_quorum(entry);
            self.follow_replication(sim, entry);
            self.follow_groups(sim, entry);
            self.follow_requests(entry);
        }
    }

    /// Whether records of a partition may be lost: it had an unclean election, or a machine lost
    /// power, and with it what was not flushed.
    fn is_void(&self, id: TopicPartition) -> bool {
        self.has_lost_power || self.unclean.contains(&id)
    }

    fn break_at(&mut self, at: SimTime, what: &str) {
        self.breach.get_or_insert(format!("{at}: {what}"));
    }

    /// An epoch of the quorum has one leader.
    fn follow_quorum(&mut self, entry: &TraceEntry) {
        if let TraceEvent::QuorumStateChanged {
            state: QuorumState::Leader,
            epoch,
            ..
        } = entry.event
        {
            let leader = *self.quorum_leaders.entry(epoch).or_insert(entry.node);
            if leader != entry.node {
                let text = format!("{leader:?} and {:?} lead epoch {epoch}", entry.node);
                self.break_at(entry.at, &text);
            }
        }
    }

    /// What two controllers have committed is the same.
    fn look_at_controllers(&mut self, sim: &Sim) {
        let ids = sim.scenario().controller_ids();
        let running = ids
            .into_iter()
            .filter_map(|id| match sim.inspect(NodeId::Controller(id)) {
                Some(Node::Controller(controller)) => Some(controller.quorum()),
                _ => None,
            });
        let running: Vec<_> = running.collect();
        for (one, other) in running.iter().zip(running.iter().skip(1)) {
            let end = one.high_watermark().min(other.high_watermark());
            let differ = |offset: &i64| one.entry(*offset) != other.entry(*offset);
            if let Some(offset) = (0..end).rev().take(40).find(differ) {
                let text = format!("the controllers disagree on entry {offset}");
                self.break_at(sim.now(), &text);
            }
        }
    }

    fn follow_replication(&mut self, sim: &Sim, entry: &TraceEntry) {
        let broker = entry.node.broker().unwrap_or_default();
        match &entry.event {
            TraceEvent::LeaderElected {
                topic_partition,
                leader,
                leader_epoch,
                isr,
                unclean,
                ..
            } => {
                if *unclean {
                    self.unclean.insert(*topic_partition);
                    let name = sim.topic_name(topic_partition.topic);
                    self.lost_group_records |= name.starts_with("__");
                }
                let key = (*topic_partition, *leader_epoch);
                if self.elected.insert(key, *leader).is_some() {
                    self.break_at(entry.at, &format!("{key:?} is elected twice"));
                }
                if leader.is_some_and(|leader| !isr.contains(&leader)) {
                    self.break_at(
                        entry.at,
                        &format!("{leader:?} leads outside the ISR {isr:?}"),
                    );
                }
            }
            TraceEvent::ProcessKilled { reason } if &**reason == "power loss" => {
                self.has_lost_power = true;
                self.lost_group_records = true;
            }
            TraceEvent::BecameLeader {
                topic_partition,
                leader_epoch,
                ..
            } => {
                let key = (*topic_partition, *leader_epoch);
                let other = *self.leaders.entry(key).or_insert(broker);
                if other != broker {
                    self.break_at(entry.at, &format!("{broker} and {other} lead {key:?}"));
                }
                if self.elected.get(&key) != Some(&Some(broker)) {
                    self.break_at(
                        entry.at,
                        &format!("{broker} leads {key:?} without election"),
                    );
                }
                self.high_watermarks
                    .insert((broker, *topic_partition), (*leader_epoch, Offset::UNKNOWN));
            }
            TraceEvent::HighWatermarkAdvanced {
                topic_partition,
                high_watermark,
                as_leader: true,
            } => {
                let key = (broker, *topic_partition);
                if let Some((epoch, before)) = self.high_watermarks.get_mut(&key) {
                    let (epoch, last) = (*epoch, std::mem::replace(before, *high_watermark));
                    if *high_watermark < last {
                        let text = format!(
                            "high watermark of {topic_partition:?} on {broker} fell from {last} to \
                             {high_watermark} in epoch {epoch}"
                        );
                        self.break_at(entry.at, &text);
                    }
                }
                self.commit_records(sim, entry.at, key, *high_watermark);
            }
            TraceEvent::BatchAcknowledged {
                topic_partition,
                base_offset,
                records,
                ..
            } => self.check_acknowledged(sim, entry, *topic_partition, (*base_offset, *records)),
            _ => {}
        }
    }

    /// What lies below a leader's high watermark is committed: nobody may ever have another
    /// record there.
    fn commit_records(
        &mut self,
        sim: &Sim,
        at: SimTime,
        (broker, id): (BrokerId, TopicPartition),
        high_watermark: Offset,
    ) {
        if self.is_void(id) {
            return;
        }
        let Some(log) = log_of(sim, broker, id) else {
            return;
        };
        let known = self.committed.entry(id).or_default();
        let from = Offset(i64::try_from(known.len()).unwrap_or(i64::MAX));
        let mut offset = from;
        while offset < high_watermark {
            let Some(record) = log.record(offset) else {
                break;
            };
            known.push(record.record_id);
            offset += 1;
        }
        // A new leader must have what the one before had shown.
        let last = from + -1;
        let expected = known
            .get(usize::try_from(last.0).unwrap_or(usize::MAX))
            .copied();
        if expected.is_some()
            && last < high_watermark
            && log.record(last).map(|record| record.record_id) != expected
        {
            self.break_at(
                at,
                &format!("{id:?} at {last} is another record on leader {broker}"),
            );
        }
    }

    fn check_acknowledged(
        &mut self,
        sim: &Sim,
        entry: &TraceEntry,
        id: TopicPartition,
        (base_offset, records): (Offset, u32),
    ) {
        let client = entry.node.client();
        let spec = client.and_then(|client| sim.scenario().producer(client));
        if !base_offset.is_known() || self.is_void(id) {
            return;
        }
        if spec.is_some_and(|spec| spec.config.acks == Acks::All) {
            let end = base_offset + i64::from(records);
            let committed = self.committed.get(&id).map_or(0, Vec::len);
            if i64::try_from(committed).unwrap_or(i64::MAX) < end.0 {
                let text =
                    format!("{id:?} is acknowledged up to {end}, committed up to {committed}");
                self.break_at(entry.at, &text);
            }
        }
    }

    fn follow_groups(&mut self, sim: &Sim, entry: &TraceEntry) {
        let group = || {
            let consumer = sim.scenario().consumer(entry.node.client()?)?;
            consumer.config.group_id.clone().map(GroupId)
        };
        match &entry.event {
            TraceEvent::PartitionsAssigned {
                owned,
                generation_id,
                ..
            } => {
                let mine: BTreeSet<TopicPartition> = owned.iter().copied().collect();
                let others = self.owned.iter().filter(|(node, _)| **node != entry.node);
                let twice = others
                    .filter(|(_, (generation, _))| generation == generation_id)
                    .find(|(node, (_, theirs))| {
                        group_of(sim, **node) == group() && !theirs.is_disjoint(&mine)
                    })
                    .map(|(node, _)| *node);
                // A coordinator's log that lost its end counts generations again.
                if let Some(other) = twice.filter(|_| !self.lost_group_records) {
                    let text = format!(
                        "{:?} and {other:?} own the same partitions in generation {generation_id}",
                        entry.node
                    );
                    self.break_at(entry.at, &text);
                }
                self.owned.insert(entry.node, (*generation_id, mine));
            }
            TraceEvent::PartitionsRevoked { partitions, .. }
            | TraceEvent::PartitionsLost { partitions } => {
                if let Some((_, owned)) = self.owned.get_mut(&entry.node) {
                    owned.retain(|id| !partitions.contains(id));
                }
            }
            TraceEvent::ProcessKilled { .. } | TraceEvent::ProcessStopped { .. } => {
                self.owned.remove(&entry.node);
            }
            TraceEvent::PositionSet {
                topic_partition,
                position,
                ..
            } => self.reach(group(), *topic_partition, *position),
            TraceEvent::ProcessingStarted {
                topic_partition, ..
            } => self.check_owner(sim, entry, *topic_partition),
            TraceEvent::RecordProcessed {
                topic_partition,
                offset,
                record_id,
                ..
            } => {
                self.reach(group(), *topic_partition, *offset + 1);
                self.check_read(entry.at, *topic_partition, (*offset, *record_id));
            }
            TraceEvent::GroupStateChanged {
                group_id,
                previous,
                state,
                generation_id,
                ..
            } => {
                let key = (entry.node, group_id.clone());
                self.generations.insert(key, *generation_id);
                if *previous == GroupState::CompletingRebalance && *state == GroupState::Stable {
                    let stored = self.stored_generations.entry(group_id.clone()).or_default();
                    if *generation_id <= *stored && !self.lost_group_records {
                        let text = format!("generation {generation_id} of {group_id} comes twice");
                        self.breach.get_or_insert(text);
                    }
                    *stored = (*stored).max(*generation_id);
                }
            }
            TraceEvent::OffsetCommitted {
                group_id,
                topic_partition,
                offset,
                ..
            } => {
                let key = (group_id.clone(), *topic_partition);
                let mut reached = self.reached.get(&key).copied().unwrap_or(Offset::UNKNOWN);
                // Nobody reads the markers of transactions: a position passes over them.
                let records = self.committed.get(topic_partition);
                while let Ok(index) = usize::try_from(reached.0)
                    && records.and_then(|records| records.get(index)) == Some(&NO_RECORD_ID)
                {
                    reached += 1;
                }
                let may_pass = commits_before(sim, group_id);
                if reached < *offset && !may_pass && !self.is_void(*topic_partition) {
                    let text =
                        format!("{key:?} is committed at {offset}, but read up to {reached}");
                    self.break_at(entry.at, &text);
                }
            }
            _ => {}
        }
    }

    /// A member works on nothing but what is its own.
    fn check_owner(&mut self, sim: &Sim, entry: &TraceEntry, id: TopicPartition) {
        let owned = self.owned.get(&entry.node);
        let is_owner = owned.is_some_and(|(_, owned)| owned.contains(&id));
        if !is_owner && subscribes(sim, entry.node) {
            let text = format!("{:?} works on {id:?}, which is not its own", entry.node);
            self.break_at(entry.at, &text);
        }
    }

    /// What has been read at an offset once is read there for ever.
    fn check_read(
        &mut self,
        at: SimTime,
        id: TopicPartition,
        (offset, record_id): (Offset, RecordId),
    ) {
        if self.is_void(id) {
            return;
        }
        let before = *self.read.entry((id, offset)).or_insert(record_id);
        if before != record_id {
            let text = format!("{id:?} at {offset} was {before:?} and is read as {record_id:?}");
            self.break_at(at, &text);
        }
    }

    fn reach(&mut self, group: Option<GroupId>, id: TopicPartition, offset: Offset) {
        if let Some(group) = group {
            let reached = self.reached.entry((group, id)).or_insert(offset);
            *reached = (*reached).max(offset);
        }
    }

    fn follow_requests(&mut self, entry: &TraceEntry) {
        match &entry.event {
            TraceEvent::RequestSent {
                packet,
                correlation,
                body,
                ..
            } => {
                let wants_answer = match &**body {
                    Request::Produce(produce) => produce.acks != Acks::None,
                    Request::OffsetCommit(commit) => {
                        let key = (commit.group_id.clone(), commit.generation_id);
                        self.commit_requests.insert(*packet, key);
                        true
                    }
                    _ => true,
                };
                if wants_answer {
                    let key = (entry.node, *correlation);
                    self.open.insert(key, (body.api_key(), entry.at));
                }
            }
            TraceEvent::Delivered {
                packet,
                from,
                correlation,
                is_response,
                ..
            } => {
                if *is_response {
                    self.open.remove(&(entry.node, *correlation));
                } else if let Some((group, generation)) = self.commit_requests.remove(packet) {
                    let stored = self.stored_generations.get(&group).copied();
                    let here = self.generations.get(&(entry.node, group)).copied();
                    if stored.max(here).is_some_and(|now| generation < now) {
                        self.late_commits.insert((*from, *correlation));
                    }
                }
            }
            TraceEvent::ResponseSent {
                to,
                correlation,
                body,
                ..
            } => {
                let landed = match &**body {
                    Response::OffsetCommit(commit) => {
                        commit.partitions.iter().any(|(_, code)| code.is_none())
                    }
                    _ => false,
                };
                if self.late_commits.remove(&(*to, *correlation))
                    && landed
                    && !self.lost_group_records
                {
                    let text = format!("a commit of {to:?} of an older generation has landed");
                    self.break_at(entry.at, &text);
                }
            }
            TraceEvent::Disconnected { correlation, .. } => {
                self.open.remove(&(entry.node, *correlation));
            }
            TraceEvent::ProcessKilled { .. } | TraceEvent::ProcessStopped { .. } => {
                self.open.retain(|(node, _), _| *node != entry.node);
            }
            _ => {}
        }
    }

    /// Looks at the state: ISRs among the replicas, high watermarks within the logs.
    pub fn look(&mut self, sim: &Sim) {
        let now = sim.now();
        if sim.is_stuck() {
            self.break_at(now, "the run does not leave this instant");
        }
        self.look_at_controllers(sim);
        self.look_at_partitions(sim);
        for broker in brokers(sim) {
            for (id, partition) in broker.replicas().partitions() {
                self.look_at_leader(sim, *id, partition);
                let log = &partition.log;
                if log.log_end_offset() < log.high_watermark()
                    || log.high_watermark() < log.log_start_offset()
                {
                    self.break_at(now, &format!("{id:?}: high watermark beyond the log"));
                }
            }
        }
    }

    fn look_at_partitions(&mut self, sim: &Sim) {
        let now = sim.now();
        // A controller that has just taken over may not know yet what is committed.
        let Some(image) = image(sim).filter(|image| self.metadata_end <= image.next_offset) else {
            return;
        };
        self.metadata_end = image.next_offset;
        let keeps_elr = sim
            .scenario()
            .broker_config
            .eligible_leader_replicas_version
            == 1;
        for (id, registration) in image.partitions() {
            let strangers: Vec<&BrokerId> = registration
                .isr
                .iter()
                .filter(|member| !registration.replicas.contains(member))
                .collect();
            let is_empty = registration.isr.is_empty();
            if !strangers.is_empty() || (is_empty && !keeps_elr) {
                self.break_at(now, &format!("{id:?} has a wrong ISR: {registration:?}"));
            }
            let has_fenced = registration.isr.iter().any(|id| !image.is_active(*id));
            let leads_outside = registration
                .leader
                .is_some_and(|leader| !registration.isr.contains(&leader));
            let in_both = registration
                .isr
                .iter()
                .any(|id| registration.elr.contains(id));
            let in_sync = u32::try_from(registration.isr.len()).unwrap_or(u32::MAX);
            let is_large = image.effective_min_isr(id) <= in_sync;
            if leads_outside || in_both || (is_large && !registration.elr.is_empty()) {
                let text = format!("{id:?}: leader, ISR and ELR do not fit: {registration:?}");
                self.break_at(now, &text);
            }
            if registration.leader.is_some() && has_fenced {
                let text = format!("{id:?} has a fenced member in its ISR: {registration:?}");
                self.break_at(now, &text);
            }
            let epochs = (registration.leader_epoch, registration.partition_epoch);
            let before = self.epochs.insert(id, epochs).unwrap_or(epochs);
            if epochs.0 < before.0
                || epochs.1 < before.1
                || (before.0 < epochs.0 && epochs.1 == before.1)
            {
                self.break_at(
                    now,
                    &format!("{id:?}: epochs went from {before:?} to {epochs:?}"),
                );
            }
        }
    }

    /// While a leader knows the controller's state its maximal ISR holds the controller's ISR: the
    /// high watermark waits for everybody who may be elected.
    fn look_at_leader(&mut self, sim: &Sim, id: TopicPartition, partition: &Partition) {
        let known = image(sim).and_then(|image| image.partition(id));
        let (Some(leader), Some(registration)) = (partition.leader(), known) else {
            return;
        };
        let is_current = partition.partition_epoch == registration.partition_epoch;
        let mut missing = registration.isr.iter();
        if is_current && missing.any(|member| !leader.isr.is_maximal_member(*member)) {
            let text = format!(
                "{id:?}: the leader forgets members of {:?}",
                registration.isr
            );
            self.break_at(sim.now(), &text);
        }
    }

    /// Requests that have been open longer than any of their timers allows.
    pub fn overdue(&self, now: SimTime, longest: Span) -> Option<String> {
        self.open
            .iter()
            .find(|(_, (_, since))| longest < now.since(*since))
            .map(|((node, _), (api, since))| format!("{api} of {node:?} is open since {since}"))
    }

    /// Whatever was committed is in every replica's log up to its high watermark.
    pub fn check_logs(&mut self, sim: &Sim) {
        let committed = std::mem::take(&mut self.committed);
        for (id, records) in &committed {
            if self.is_void(*id) {
                continue;
            }
            for broker in brokers(sim) {
                let Some(partition) = broker.replicas().partitions().get(id) else {
                    continue;
                };
                let log = &partition.log;
                let held: Vec<RecordId> = log
                    .records()
                    .take_while(|(offset, _)| *offset < log.high_watermark())
                    .map(|(_, record)| record.record_id)
                    .collect();
                let is_complete = !partition.is_leader() || records.len() <= held.len();
                let agrees = held.iter().zip(records).all(|(one, other)| one == other);
                if !is_complete || !agrees {
                    self.break_at(sim.now(), &format!("{id:?}: committed records are gone"));
                }
            }
        }
        self.committed = committed;
        self.check_sequences(sim);
    }

    /// What an idempotent producer wrote stands in each log once, and without a gap (KIP-98).
    fn check_sequences(&mut self, sim: &Sim) {
        for broker in brokers(sim) {
            for (id, partition) in broker.replicas().partitions() {
                if self.is_void(*id) {
                    continue;
                }
                let batches = partition.log.batches_from(partition.log.log_start_offset());
                if let Some((offset, stamp)) = broken_sequence(batches) {
                    let what = format!("{id:?}: {stamp:?} at {offset} does not follow");
                    self.break_at(sim.now(), &what);
                }
            }
        }
    }
}

/// The first batch whose sequence does not follow that of the batch before it from the same producer
/// and epoch.
fn broken_sequence<'a>(
    batches: impl Iterator<Item = &'a Batch>,
) -> Option<(Offset, ProducerStamp)> {
    let mut next: BTreeMap<(i64, i16), i64> = BTreeMap::new();
    for batch in batches {
        let stamp = batch.producer;
        if stamp.producer_id < 0 || stamp.is_control {
            continue;
        }
        let sequence = i64::from(stamp.base_sequence);
        let after = sequence + i64::from(batch.last_offset_delta) + 1;
        let expected = next.insert((stamp.producer_id, stamp.producer_epoch), after);
        if expected.is_some_and(|expected| expected != sequence) {
            return Some((batch.base_offset, stamp));
        }
    }
    None
}

#[test]
fn a_gap_or_a_repetition_in_a_sequence_is_seen() {
    // Base offset, base sequence, number of records.
    type Log<'a> = &'a [(i64, i32, u32)];

    let batch = |base_offset: i64, base_sequence: i32, records: u32| Batch {
        base_offset: Offset(base_offset),
        last_offset_delta: records - 1,
        leader_epoch: 0,
        size_bytes: 100,
        appended_at: SimTime::ZERO,
        delete_horizon_at: None,
        producer: ProducerStamp {
            producer_id: 7,
            producer_epoch: 0,
            base_sequence,
            is_transactional: false,
            is_control: false,
        },
        records: Vec::new().into(),
        offset_deltas: None,
    };
    let rows: &[(Log<'_>, bool)] = &[
        (&[(0, 0, 2), (2, 2, 1), (3, 3, 5)], false),
        (&[(4, 9, 2), (6, 11, 1)], false),
        (&[(0, 0, 2), (2, 3, 1)], true),
        (&[(0, 0, 2), (2, 0, 2)], true),
    ];
    for (row, is_broken) in rows {
        let log: Vec<Batch> = row.iter().map(|one| batch(one.0, one.1, one.2)).collect();
        assert_eq!(broken_sequence(log.iter()).is_some(), *is_broken, "{row:?}");
    }
}

fn group_of(sim: &Sim, node: NodeId) -> Option<GroupId> {
    let consumer = sim.scenario().consumer(node.client()?)?;
    consumer.config.group_id.clone().map(GroupId)
}

/// Whether a consumer is a member of its group, and delivers nothing late.
fn subscribes(sim: &Sim, node: NodeId) -> bool {
    let consumer = node.client().and_then(|id| sim.scenario().consumer(id));
    consumer.is_some_and(|spec| {
        spec.config.group_id.is_some()
            && spec.assign.is_empty()
            && spec.processing.read_ahead != ReadAhead::DeliverLate
    })
}

/// Whether some member of a group commits before it processes.
fn commits_before(sim: &Sim, group: &GroupId) -> bool {
    let mut members = sim.scenario().consumers.iter();
    members.any(|spec| {
        spec.config.group_id.as_ref() == Some(&group.0)
            && spec.processing.commit == CommitStyle::SyncBeforeBatch
    })
}

/// The cluster as the controllers have committed it; unset while none of them runs.
pub fn image(sim: &Sim) -> Option<&MetadataImage> {
    sim.image()
}

/// The brokers whose processes run.
pub fn brokers(sim: &Sim) -> impl Iterator<Item = &Broker> {
    let ids = sim.scenario().brokers.iter().map(|broker| broker.id);
    ids.filter_map(|id| match sim.inspect(NodeId::Broker(id)) {
        Some(Node::Broker(broker)) => Some(&**broker),
        _ => None,
    })
}

/// A replica's log, whether its broker runs or not.
pub fn log_of(sim: &Sim, broker: BrokerId, id: TopicPartition) -> Option<&PartitionLog> {
    match sim.inspect(NodeId::Broker(broker)) {
        Some(Node::Broker(broker)) => broker.replicas().partitions().get(&id).map(|one| &one.log),
        Some(Node::BrokerDisk(disk)) => disk.get(&id),
        _ => None,
    }
}
