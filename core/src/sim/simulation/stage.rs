//! Reading a run for a picture.

use super::Sim;
use super::slot::{Node, Slot};
use crate::base::ids::{
    BrokerId, CONSUMER_OFFSETS, ClientId, ControllerId, CorrelationId, GroupId, InstanceId,
    MemberId, NodeId, TRANSACTION_STATE, TopicPartition,
};
use crate::base::timer::Timer;
use crate::client::consumer::{App, Consumer, OwnedPartition, Work};
use crate::controller::Controller;
use crate::coordinator::{ClassicGroup, ConsumerGroup, ConsumerMember, JoinPhase};
use crate::kernel::time::Span;
use crate::log::partition_log::{LogContext, PartitionLog};
use crate::log::segment::Segment;
use crate::node::broker::Broker;
use crate::replication::partition::Partition;
use crate::sim::scenario::{BrokerSpec, ConsumerSpec};
use crate::sim::view::{
    Activity, BrokerView, ConsumerPartitionView, ConsumerView, ControllerView, FollowerView,
    GroupMemberView, GroupView, LogView, PacketView, ParkedView, PartitionView, ProcessState,
    ProducerView, ReconciliationView, ReplicaView, SegmentView, StageView, TimerView, TopicView,
    VoterView,
};
use crate::trace::event::{MemberState, Waiting};
use crate::wire::metadata::MetadataImage;
use std::sync::Arc;

impl Sim {
    /// The whole stage at the present instant.
    pub fn stage(&self) -> StageView {
        StageView {
            now: self.now,
            topics: self.topics(),
            controller: self.controller_view(),
            brokers: self
                .scenario
                .brokers
                .iter()
                .map(|spec| self.broker_view(spec))
                .collect(),
            groups: self.groups(),
            producers: self.producers(),
            consumers: self.consumers(),
            packets: self.packet_views(),
            parked: self.parked(),
        }
    }

    /// Every controller whose process runs.
    fn controllers(&self) -> impl Iterator<Item = (ControllerId, &Controller)> {
        self.nodes
            .iter()
            .filter_map(|(node, slot)| match (node, &slot.node) {
                (NodeId::Controller(id), Node::Controller(controller)) => {
                    Some((*id, controller.as_ref()))
                }
                _ => None,
            })
    }

    /// The active controller of the latest epoch; while there is none, the one that knows most.
    fn controller(&self) -> Option<&Controller> {
        let controllers = self.controllers().map(|(_, controller)| controller);
        controllers.max_by_key(|one| {
            let quorum = one.quorum();
            (one.is_active(), quorum.epoch(), quorum.high_watermark())
        })
    }

    /// The cluster as the controllers have committed it; unset while none of them runs.
    pub fn image(&self) -> Option<&MetadataImage> {
        self.controller().map(Controller::image)
    }

    fn broker(&self, id: BrokerId) -> Option<&Broker> {
        match &self.nodes.get(&NodeId::Broker(id))?.node {
            Node::Broker(broker) => Some(broker),
            Node::Controller(_)
            | Node::ControllerDisk(_)
            | Node::Client(_)
            | Node::BrokerDisk(_)
            | Node::ClientDown { .. } => None,
        }
    }

    fn topics(&self) -> Vec<TopicView> {
        let Some(controller) = self.controller() else {
            return Vec::new();
        };
        controller
            .image()
            .topics
            .iter()
            .map(|(topic_id, topic)| TopicView {
                topic_id: *topic_id,
                name: topic.name.clone(),
                is_internal: &*topic.name == CONSUMER_OFFSETS || &*topic.name == TRANSACTION_STATE,
                min_insync_replicas: u32::try_from(topic.config.min_insync_replicas).unwrap_or(1),
                partitions: (0_u32..)
                    .zip(&topic.partitions)
                    .map(|(partition, registration)| PartitionView {
                        topic_partition: TopicPartition::new(*topic_id, partition),
                        replicas: registration.replicas.clone(),
                        isr: registration.isr.clone(),
                        elr: registration.elr.clone(),
                        last_known_elr: registration.last_known_elr.clone(),
                        leader: registration.leader,
                        leader_epoch: registration.leader_epoch,
                        partition_epoch: registration.partition_epoch,
                    })
                    .collect(),
            })
            .collect()
    }

    fn controller_view(&self) -> ControllerView {
        let voters = self.scenario.controller_ids().into_iter().map(|id| {
            let slot = self.nodes.get(&NodeId::Controller(id));
            let mut view = VoterView {
                id,
                process: slot.map_or(ProcessState::NotStarted, |slot| slot.process),
                state: None,
                epoch: 0,
                log_end_offset: 0,
                high_watermark: 0,
            };
            if let Some(Node::Controller(controller)) = slot.map(|slot| &slot.node) {
                let quorum = controller.quorum();
                view.state = Some(quorum.state());
                view.epoch = quorum.epoch();
                view.log_end_offset = quorum.log_end_offset();
                view.high_watermark = quorum.high_watermark();
            }
            view
        });
        let mut view = ControllerView {
            active: None,
            metadata_end_offset: 0,
            brokers: Vec::new(),
            voters: voters.collect(),
        };
        if let Some(controller) = self.controller() {
            let image = controller.image();
            view.active = controller.is_active().then(|| controller.id());
            view.metadata_end_offset = image.next_offset;
            let brokers = image.brokers.iter();
            view.brokers = brokers
                .map(|(id, broker)| (*id, broker.fenced, controller.last_contact_at(*id)))
                .collect();
        }
        view
    }

    fn is_fenced(&self, id: BrokerId) -> bool {
        self.controller()
            .and_then(|controller| controller.image().brokers.get(&id))
            .is_none_or(|broker| broker.fenced)
    }

    fn broker_view(&self, spec: &BrokerSpec) -> BrokerView {
        let slot = self.nodes.get(&NodeId::Broker(spec.id));
        let broker = self.broker(spec.id);
        let mut view = BrokerView {
            id: spec.id,
            rack: spec.rack.clone(),
            process: slot.map_or(ProcessState::NotStarted, |slot| slot.process),
            is_fenced: self.is_fenced(spec.id),
            replicas: Vec::new(),
            coordinates: Vec::new(),
            metadata_offset: broker.map_or(0, |broker| broker.replicas().image().next_offset),
            timers: slot.map_or_else(Vec::new, timers),
        };
        if let Some(broker) = broker {
            let partitions = broker.replicas().partitions().values();
            view.replicas = partitions.map(|part| self.replica_view(part)).collect();
            view.coordinates = broker.coordinator().group_ids().cloned().collect();
        } else if let Some(Slot {
            node: Node::BrokerDisk(disk),
            ..
        }) = slot
        {
            view.replicas = disk
                .iter()
                .map(|(id, log)| self.replica_view(&Partition::new(*id, log.clone())))
                .collect();
        }
        view
    }

    fn replica_view(&self, partition: &Partition) -> ReplicaView {
        let log = &partition.log;
        let mut view = ReplicaView {
            topic_partition: partition.topic_partition,
            is_leader: partition.is_leader(),
            leader_epoch: partition.leader_epoch,
            log_start_offset: log.log_start_offset(),
            high_watermark: log.high_watermark(),
            last_stable_offset: log.last_stable_offset(),
            log_end_offset: log.log_end_offset(),
            epochs: log.epochs().entries().to_vec(),
            isr: Vec::new(),
            wanted_isr: None,
            followers: Vec::new(),
        };
        if let Some(leader) = partition.leader() {
            view.isr.clone_from(&leader.isr.committed);
            view.wanted_isr = leader
                .isr
                .pending
                .as_ref()
                .map(|pending| pending.wanted.clone());
            view.followers = leader
                .remotes
                .iter()
                .map(|(broker, remote)| {
                    let is_caught_up = remote.log_end_offset == log.log_end_offset();
                    let last_caught_up_at = remote.last_caught_up_at.unwrap_or_default();
                    FollowerView {
                        broker: *broker,
                        log_end_offset: remote.log_end_offset,
                        last_caught_up_at,
                        lag_records: log.log_end_offset()
                            - remote.log_end_offset.max(log.log_start_offset()),
                        lag: if is_caught_up {
                            Span::ZERO
                        } else {
                            self.now.since(last_caught_up_at)
                        },
                        in_isr: leader.isr.committed.contains(broker),
                    }
                })
                .collect();
        }
        view
    }

    /// A replica's log, on a broker that runs or on the disk of one that does not; unset where there
    /// is none.
    pub fn log(&self, broker: BrokerId, id: TopicPartition) -> Option<&PartitionLog> {
        match &self.nodes.get(&NodeId::Broker(broker))?.node {
            Node::Broker(broker) => broker.replicas().partitions().get(&id).map(|one| &one.log),
            Node::BrokerDisk(disk) => disk.get(&id),
            Node::Controller(_)
            | Node::Client(_)
            | Node::ClientDown { .. }
            | Node::ControllerDisk(_) => None,
        }
    }

    /// The files of a replica's log; unset where there is none.
    pub fn log_view(&self, broker: BrokerId, id: TopicPartition) -> Option<LogView> {
        let log = self.log(broker, id)?;
        let topic = self
            .broker(broker)
            .and_then(|broker| broker.replicas().image().topics.get(&id.topic));
        let cleanable = topic
            .filter(|topic| topic.config.cleanup_policy.compacts())
            .map(|topic| {
                log.cleanable(LogContext {
                    config: &topic.config,
                    now: self.now,
                })
            });
        let deleted = log.deleted().iter().filter(|one| self.now < one.removed_at);
        Some(LogView {
            log_start_offset: log.log_start_offset(),
            high_watermark: log.high_watermark(),
            log_end_offset: log.log_end_offset(),
            recovery_point: log.recovery_point(),
            flushed_offset: log.flushed_offset(),
            size_bytes: log.size_bytes(),
            segments: log.segments().map(segment_view).collect(),
            deleted: deleted.copied().collect(),
            cleanable,
        })
    }

    fn groups(&self) -> Vec<GroupView> {
        let mut groups: Vec<GroupView> = self
            .scenario
            .brokers
            .iter()
            .filter_map(|spec| self.broker(spec.id).map(|broker| (spec.id, broker)))
            .flat_map(|(id, broker)| {
                let coordinator = broker.coordinator();
                let classic = coordinator
                    .groups()
                    .map(move |(partition, group)| group_view(id, partition, group));
                let consumers = coordinator.consumer_groups();
                let slot = self.nodes.get(&NodeId::Broker(id));
                classic.chain(consumers.map(move |(partition, group)| {
                    consumer_group_view((id, slot), partition, group)
                }))
            })
            .collect();
        groups.sort_by(|left, right| left.group_id.cmp(&right.group_id));
        groups
    }

    fn producers(&self) -> Vec<ProducerView> {
        (0..self.scenario.client_count())
            .map(ClientId)
            .filter_map(|id| {
                let slot = self.nodes.get(&NodeId::Client(id))?;
                let mut view = ProducerView {
                    client: id,
                    name: Arc::from(self.scenario.client_name(id)),
                    process: slot.process,
                    records_queued: 0,
                    records_in_flight: 0,
                    buffered_bytes: 0,
                    records_acknowledged: 0,
                    records_failed: 0,
                    timers: Vec::new(),
                };
                if let Node::Client(client) = &slot.node
                    && let Some(producer) = client.producer()
                {
                    view.records_queued = producer.records_queued();
                    view.records_in_flight = producer.records_in_flight();
                    view.buffered_bytes = producer.buffered_bytes();
                    view.records_acknowledged = producer.records_acknowledged;
                    view.records_failed = producer.records_failed;
                    view.timers = timers(slot);
                } else if self
                    .scenario
                    .consumer(id)
                    .is_some_and(|spec| spec.output.is_none())
                {
                    return None;
                }
                Some(view)
            })
            .collect()
    }

    fn consumers(&self) -> Vec<ConsumerView> {
        (0..self.scenario.client_count())
            .map(ClientId)
            .filter_map(|id| {
                let spec = self.scenario.consumer(id)?;
                let slot = self.nodes.get(&NodeId::Client(id))?;
                let consumer = match &slot.node {
                    Node::Client(client) => client.consumer(),
                    Node::Controller(_)
                    | Node::ControllerDisk(_)
                    | Node::Broker(_)
                    | Node::BrokerDisk(_)
                    | Node::ClientDown { .. } => None,
                };
                let mut view = idle_consumer(id, spec, slot);
                if let Some(consumer) = consumer {
                    fill_consumer(&mut view, consumer);
                }
                Some(view)
            })
            .collect()
    }

    fn packet_views(&self) -> Vec<PacketView> {
        self.wire()
            .map(|packet| PacketView {
                packet: packet.id,
                from: packet.from,
                to: packet.to,
                api: packet.body.api_key(),
                is_response: packet.body.is_response(),
                sent_at: packet.sent_at,
                due_at: packet.due_at,
                entry: packet.entry,
            })
            .collect()
    }

    fn parked(&self) -> Vec<ParkedView> {
        let mut parked: Vec<ParkedView> = self
            .nodes
            .iter()
            .flat_map(|(from, slot)| slot.open.iter().map(move |open| (*from, open)))
            .filter_map(|(from, (correlation, request))| {
                let at = request.to.broker()?;
                let wait = request.parked.as_ref()?;
                Some(ParkedView {
                    at,
                    from,
                    correlation: *correlation,
                    waiting: wait.waiting,
                    since: wait.since,
                    deadline: wait.deadline,
                    group_id: wait.group_id.clone(),
                    partitions: wait.partitions.to_vec(),
                    waiting_for: self.waiting_for(at, wait.waiting, from, *correlation),
                    entry: wait.entry,
                })
            })
            .collect();
        parked.sort_by_key(|view| view.entry);
        parked
    }

    /// The followers whose fetches a parked produce request still needs.
    fn waiting_for(
        &self,
        at: BrokerId,
        waiting: Waiting,
        from: NodeId,
        correlation: CorrelationId,
    ) -> Vec<BrokerId> {
        if waiting != Waiting::Produce {
            return Vec::new();
        }
        let Some(broker) = self.broker(at) else {
            return Vec::new();
        };
        let delayed = broker
            .replicas()
            .delayed_produces()
            .iter()
            .find(|one| one.reply.node == from && one.reply.correlation == correlation);
        let mut needed: Vec<BrokerId> = delayed
            .into_iter()
            .flat_map(|one| &one.partitions)
            .filter_map(|one| {
                let required = one.required_offset?;
                let partition = broker.replicas().partitions();
                let leader = partition.get(&one.response.topic_partition)?.leader()?;
                Some(leader.remotes.iter().filter_map(move |(id, remote)| {
                    let lacks = remote.log_end_offset < required;
                    (lacks && leader.isr.is_maximal_member(*id)).then_some(*id)
                }))
            })
            .flatten()
            .collect();
        needed.sort_unstable();
        needed.dedup();
        needed
    }
}

fn timers(slot: &Slot) -> Vec<TimerView> {
    slot.timers
        .iter()
        .map(|(timer, armed)| TimerView {
            timer: timer.clone(),
            armed_at: armed.since,
            due_at: armed.due_at,
        })
        .collect()
}

fn group_view(coordinator: BrokerId, offsets_partition: u32, group: &ClassicGroup) -> GroupView {
    let sync_phase = group.state().sync_phase();
    GroupView {
        group_id: group.group_id.clone(),
        coordinator,
        offsets_partition,
        state: group.state().kind(),
        generation_id: group.generation_id,
        target_assignment_epoch: None,
        protocol_name: group.protocol_name.clone(),
        leader: group.leader.clone(),
        join_closes_at: group.state().join_phase().and_then(JoinPhase::latest_end),
        sync_closes_at: sync_phase.and_then(|phase| phase.closes_at),
        members: group
            .members
            .iter()
            .map(|member| GroupMemberView {
                member_id: member.member_id.clone(),
                group_instance_id: member.group_instance_id.clone(),
                client: member.client,
                join_parked: member.join.is_some(),
                sync_parked: member.sync.is_some(),
                sync_pending: sync_phase
                    .is_some_and(|phase| phase.pending.contains(&member.member_id)),
                session_expires_at: member.session_expires_at(),
                session_timeout: member.session_timeout,
                rebalance_timeout: member.rebalance_timeout,
                assignment: member.assignment.to_vec(),
                reconciliation: None,
            })
            .collect(),
        pending_members: group.pending_members.keys().cloned().collect(),
        committed: group
            .offsets
            .iter()
            .map(|(id, committed)| (*id, committed.offset))
            .collect(),
    }
}

fn consumer_group_view(
    (coordinator, slot): (BrokerId, Option<&Slot>),
    offsets_partition: u32,
    group: &ConsumerGroup,
) -> GroupView {
    let committed = group.offsets.iter();
    GroupView {
        group_id: group.group_id.clone(),
        coordinator,
        offsets_partition,
        state: group.state(),
        generation_id: group.group_epoch,
        target_assignment_epoch: Some(group.target_assignment_epoch),
        protocol_name: None,
        leader: None,
        join_closes_at: None,
        sync_closes_at: None,
        members: group
            .members
            .iter()
            .map(|member| consumer_member_view(slot, group, member))
            .collect(),
        pending_members: Vec::new(),
        committed: committed
            .map(|(id, committed)| (*id, committed.offset))
            .collect(),
    }
}

fn consumer_member_view(
    slot: Option<&Slot>,
    group: &ConsumerGroup,
    member: &ConsumerMember,
) -> GroupMemberView {
    let (metadata, current) = (&member.metadata, &member.current);
    let timer = Timer::MemberSession(group.group_id.clone(), member.member_id.clone());
    let armed = slot.and_then(|slot| slot.timers.get(&timer));
    let unreleased = member
        .target
        .iter()
        .filter(|id| current.assigned.binary_search(id).is_err());
    GroupMemberView {
        member_id: member.member_id.clone(),
        group_instance_id: metadata.group_instance_id.clone(),
        client: metadata.client,
        join_parked: false,
        sync_parked: false,
        sync_pending: false,
        session_expires_at: armed.map(|armed| armed.due_at),
        session_timeout: armed.map_or(Span::ZERO, |armed| armed.due_at.since(armed.since)),
        rebalance_timeout: Span::from_millis(metadata.rebalance_timeout_ms.max(0)),
        assignment: current.assigned.clone(),
        reconciliation: Some(ReconciliationView {
            member_epoch: current.member_epoch,
            state: current.state,
            pending_revocation: current.pending_revocation.clone(),
            unreleased: unreleased.copied().collect(),
            target: member.target.to_vec(),
            is_classic: metadata.classic.is_some(),
        }),
    }
}

fn idle_consumer(id: ClientId, spec: &ConsumerSpec, slot: &Slot) -> ConsumerView {
    ConsumerView {
        client: id,
        name: spec.name.clone(),
        process: slot.process,
        restart_at: slot.restart_at.filter(|_| !slot.is_up()),
        group_id: spec.config.group_id.clone().map(GroupId),
        member_state: MemberState::Unjoined,
        member_id: MemberId::default(),
        group_instance_id: spec.config.group_instance_id.clone().map(InstanceId),
        generation_id: -1,
        coordinator: None,
        activity: Activity::Down,
        partitions: Vec::new(),
        records_buffered: 0,
        records_processed: 0,
        last_poll_at: slot.started_at,
        timers: timers(slot),
    }
}

fn fill_consumer(view: &mut ConsumerView, consumer: &Consumer) {
    view.member_state = consumer.member_state();
    view.member_id = consumer.member_id().clone();
    view.generation_id = consumer.generation_id();
    view.coordinator = consumer.coordinator();
    view.activity = match (consumer.app(), consumer.delivery()) {
        (App::Polling | App::Committing, Some(work)) | (App::Processing(work), _) => working(work),
        (App::Polling | App::Closing(_), _) => Activity::Polling,
        (App::Committing, None) => Activity::Committing,
        (App::Failed(exception), _) => Activity::Failed(exception.clone()),
    };
    view.partitions = consumer
        .partitions()
        .iter()
        .map(
            |(id, owned): (&TopicPartition, &OwnedPartition)| ConsumerPartitionView {
                topic_partition: *id,
                position: owned.position(),
                processed: owned.processed,
                committed: owned.committed,
                high_watermark: owned.high_watermark,
                is_paused: owned.is_paused,
            },
        )
        .collect();
    view.records_buffered = consumer.records_buffered();
    view.records_processed = consumer.records_processed();
    view.last_poll_at = consumer.last_poll_at();
}

fn working(work: &Work) -> Activity {
    Activity::Processing {
        topic_partition: work.topic_partition,
        offset: work.offset,
        record_id: work.record.record_id,
        value: work
            .record
            .as_text()
            .cloned()
            .unwrap_or_else(|| Arc::from("")),
        since: work.since,
        until: work.until,
        records_left: u32::try_from(work.queue.len()).unwrap_or(u32::MAX),
    }
}

fn segment_view(segment: &Segment) -> SegmentView {
    SegmentView {
        base_offset: segment.base_offset(),
        file: format!("{:020}.log", segment.base_offset().0),
        size_bytes: segment.size_bytes(),
        largest_timestamp: segment.largest().map(|(timestamp, _)| timestamp),
        index: segment.index().collect(),
        time_index: segment.time_index().collect(),
    }
}
