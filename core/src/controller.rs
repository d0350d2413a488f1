//! The controller: it keeps the metadata log, decides who lives, who leads and who is in sync.
//!
//! One voter stands for the KRaft quorum: a record counts as committed as soon as it is appended.

pub mod election;
pub mod placement;
pub mod registry;

use crate::base::config::BrokerConfig;
use crate::base::ids::{
    BrokerId, CONSUMER_OFFSETS, ControllerId, NodeId, TRANSACTION_STATE, TopicPartition,
};
use crate::base::timer::Timer;
use crate::kernel::limits::PARTITIONS_MAX;
use crate::kernel::rng::Stream;
use crate::kernel::time::{SimTime, Span};
use crate::trace::event::TraceEvent;
use crate::trace::out::{Out, ReplyTo};
use crate::wire::api::{
    AlterPartitionItem, AlterPartitionRequest, AlterPartitionResponse, AlterPartitionResult,
    BrokerHeartbeatRequest, BrokerHeartbeatResponse, BrokerRegistrationRequest,
    BrokerRegistrationResponse, CreateTopicsRequest, CreateTopicsResponse, FetchMetadataLogRequest,
    FetchMetadataLogResponse, Request, Response,
};
use crate::wire::error_code::ErrorCode;
use crate::wire::metadata::{MetadataImage, MetadataRecord, PartitionRegistration};
use election::{Election, elect};
use placement::{PlacementError, StripedReplicaPlacer};
use registry::{Registry, Verdict};
use serde::Serialize;
use std::collections::BTreeMap;
use std::sync::Arc;

/// The active controller (`QuorumController`).
#[derive(Clone, Debug, Serialize)]
pub struct Controller {
    id: ControllerId,
    config: Arc<BrokerConfig>,
    #[serde(skip)]
    log: Vec<Arc<MetadataRecord>>,
    /// What a replay of the whole log gives.
    image: MetadataImage,
    registry: Registry,
    /// Fetches of the metadata log that wait for a record: the offset they want.
    parked_fetches: BTreeMap<BrokerId, (ReplyTo, i64)>,
    /// Topics of the scenario, created as soon as every broker of it takes part.
    first_topics: Vec<CreateTopicsRequest>,
    /// Brokers that must take part before the scenario's topics are created.
    first_brokers: Vec<BrokerId>,
    placement: Stream,
}

/// What a controller starts with.
#[derive(Clone, Debug)]
pub struct ControllerStart {
    /// Its `node.id`.
    pub id: ControllerId,
    /// The cluster's settings.
    pub config: Arc<BrokerConfig>,
    /// The scenario's topics.
    pub topics: Vec<CreateTopicsRequest>,
    /// The scenario's brokers.
    pub brokers: Vec<BrokerId>,
    /// Draws for the placement of replicas.
    pub placement: Stream,
}

impl Controller {
    /// A controller with an empty metadata log.
    pub fn new(start: ControllerStart) -> Self {
        Self {
            id: start.id,
            config: start.config,
            log: Vec::new(),
            image: MetadataImage::default(),
            registry: Registry::default(),
            parked_fetches: BTreeMap::new(),
            first_topics: start.topics,
            first_brokers: start.brokers,
            placement: start.placement,
        }
    }

    /// The cluster as the controller has it.
    pub const fn image(&self) -> &MetadataImage {
        &self.image
    }

    /// When a broker's last heartbeat came.
    pub fn last_contact_at(&self, broker: BrokerId) -> SimTime {
        self.registry.last_contact_at(broker)
    }

    /// Takes in a request.
    pub fn on_request(&mut self, reply: ReplyTo, request: &Request, out: &mut Out) {
        match request {
            Request::BrokerRegistration(request) => {
                self.handle_broker_registration(reply, request, out);
            }
            Request::BrokerHeartbeat(request) => self.handle_broker_heartbeat(reply, request, out),
            Request::AlterPartition(request) => self.handle_alter_partition(reply, request, out),
            Request::CreateTopics(request) => self.handle_create_topics(reply, request, out),
            Request::FetchMetadataLog(request) => {
                self.handle_fetch_metadata_log(reply, *request, out);
            }
            Request::Produce(_)
            | Request::Fetch(_)
            | Request::ListOffsets(_)
            | Request::Metadata(_)
            | Request::FindCoordinator(_)
            | Request::JoinGroup(_)
            | Request::SyncGroup(_)
            | Request::Heartbeat(_)
            | Request::LeaveGroup(_)
            | Request::OffsetCommit(_)
            | Request::OffsetFetch(_)
            | Request::InitProducerId(_)
            | Request::AddPartitionsToTxn(_)
            | Request::AddOffsetsToTxn(_)
            | Request::TxnOffsetCommit(_)
            | Request::EndTxn(_)
            | Request::WriteTxnMarkers(_) => {
                unreachable!("invariant: brokers and clients send these to brokers alone")
            }
        }
    }

    /// Takes in an expired timer.
    pub fn on_timer(&mut self, timer: &Timer, out: &mut Out) {
        if let Timer::MetadataFetchExpiry(broker) = timer {
            self.on_metadata_fetch_expiry(*broker, out);
        } else if *timer == Timer::SessionCheck {
            self.on_session_check(out);
        }
    }

    /// Registers a broker process; it is fenced until it asks not to be.
    ///
    /// # Errors sent
    /// `DUPLICATE_BROKER_REGISTRATION` (101) while the session of another process with this id
    /// still runs.
    /// # Source
    /// `ClusterControlManager.registerBroker` (KIP-631).
    fn handle_broker_registration(
        &mut self,
        reply: ReplyTo,
        request: &BrokerRegistrationRequest,
        out: &mut Out,
    ) {
        let id = request.broker_id;
        let session = Span::from_millis(self.config.broker_session_timeout_ms);
        if let Some(before) = self.image.brokers.get(&id)
            && before.incarnation_id != request.incarnation_id
            && !before.fenced
            && self.registry.has_valid_session(id, session, out.now)
        {
            let response = BrokerRegistrationResponse {
                error_code: ErrorCode::DuplicateBrokerRegistration,
                broker_epoch: -1,
            };
            out.respond(reply, Response::BrokerRegistration(response));
            return;
        }
        if let Some(same) = self
            .image
            .brokers
            .get(&id)
            .filter(|known| known.incarnation_id == request.incarnation_id)
        {
            // The answer to an earlier request was lost: the registration stands.
            let response = BrokerRegistrationResponse {
                error_code: ErrorCode::None,
                broker_epoch: same.broker_epoch,
            };
            self.registry.touch(id, out.now);
            out.respond(reply, Response::BrokerRegistration(response));
            return;
        }
        // Another process must not inherit a place in an ISR: its log may have lost its tail.
        self.leave_partitions(id, out);
        let broker_epoch = self.image.next_offset;
        self.append(MetadataRecord::RegisterBroker {
            broker_id: id,
            broker_epoch,
            incarnation_id: request.incarnation_id,
            rack: request.rack.clone(),
        });
        self.registry.touch(id, out.now);
        out.trace(TraceEvent::BrokerRegistered {
            broker: id,
            broker_epoch,
        });
        let response = BrokerRegistrationResponse {
            error_code: ErrorCode::None,
            broker_epoch,
        };
        out.respond(reply, Response::BrokerRegistration(response));
        self.wake_fetches(out);
    }

    /// Notes that a broker lives, and lets it take part once it has replayed its registration.
    ///
    /// # Errors sent
    /// `STALE_BROKER_EPOCH` (77) when this is not the registered process.
    /// # Source
    /// `BrokerHeartbeatManager.calculateNextBrokerState`.
    /// # Simplified
    /// Controlled shutdown is not modelled yet: a broker stops by being killed.
    fn handle_broker_heartbeat(
        &mut self,
        reply: ReplyTo,
        request: &BrokerHeartbeatRequest,
        out: &mut Out,
    ) {
        let id = request.broker_id;
        let registration = self.image.brokers.get(&id);
        let Some(registration) =
            registration.filter(|broker| broker.broker_epoch == request.broker_epoch)
        else {
            let response = BrokerHeartbeatResponse {
                error_code: ErrorCode::StaleBrokerEpoch,
                is_caught_up: false,
                is_fenced: true,
                should_shut_down: false,
            };
            out.respond(reply, Response::BrokerHeartbeat(response));
            return;
        };
        let (broker_epoch, fenced) = (registration.broker_epoch, registration.fenced);
        let verdict = Registry::verdict(registration, request);
        let is_caught_up = broker_epoch < request.current_metadata_offset;
        self.registry.touch(id, out.now);
        if fenced && verdict == Verdict::Unfenced {
            self.unfence(id, broker_epoch, out);
        } else if !fenced && verdict == Verdict::Fenced {
            self.fence(id, out);
        }
        let response = BrokerHeartbeatResponse {
            error_code: ErrorCode::None,
            is_caught_up,
            is_fenced: verdict == Verdict::Fenced,
            should_shut_down: false,
        };
        out.respond(reply, Response::BrokerHeartbeat(response));
        self.arm_session_check(out);
        self.wake_fetches(out);
    }

    fn unfence(&mut self, id: BrokerId, broker_epoch: i64, out: &mut Out) {
        let controller = self.id;
        out.log(format!(
            "[QuorumController id={controller}] The request from broker {id} to unfence has been \
             granted because it has caught up with the offset of its register broker record \
             {broker_epoch}."
        ));
        self.append(MetadataRecord::BrokerRegistrationChange {
            broker_id: id,
            broker_epoch,
            fenced: false,
            in_controlled_shutdown: false,
        });
        out.trace(TraceEvent::BrokerUnfenced { broker: id });
        // Unfencing anyone re-runs the election of every partition without a leader.
        let leaderless: Vec<TopicPartition> = self
            .image
            .partitions()
            .filter(|(_, registration)| registration.leader.is_none())
            .map(|(topic_partition, _)| topic_partition)
            .collect();
        for topic_partition in leaderless {
            self.change_partition(topic_partition, None, out);
        }
        if self
            .first_brokers
            .iter()
            .all(|broker| self.image.is_active(*broker))
        {
            for topic in std::mem::take(&mut self.first_topics) {
                let created = self.create_topic(&topic, out);
                if let Err((error_code, text)) = created {
                    out.log(format!(
                        "[QuorumController id={controller}] Topic {} was not created: \
                         {error_code}: {text}",
                        topic.name
                    ));
                }
            }
        }
    }

    fn fence(&mut self, id: BrokerId, out: &mut Out) {
        let Some(broker_epoch) = self
            .image
            .brokers
            .get(&id)
            .map(|broker| broker.broker_epoch)
        else {
            return;
        };
        let last_contact_at = self.registry.last_contact_at(id);
        out.trace(TraceEvent::BrokerFenced {
            broker: id,
            last_contact_at,
        });
        self.append(MetadataRecord::BrokerRegistrationChange {
            broker_id: id,
            broker_epoch,
            fenced: true,
            in_controlled_shutdown: false,
        });
        self.registry.remove(id);
        self.leave_partitions(id, out);
    }

    /// Takes a broker out of every ISR, and elects new leaders where it led.
    fn leave_partitions(&mut self, id: BrokerId, out: &mut Out) {
        let affected: Vec<(TopicPartition, Vec<BrokerId>)> = self
            .image
            .partitions()
            .filter(|(_, part)| part.isr.contains(&id) || part.leader == Some(id))
            .map(|(topic_partition, part)| {
                (
                    topic_partition,
                    part.isr
                        .iter()
                        .copied()
                        .filter(|other| *other != id)
                        .collect(),
                )
            })
            .collect();
        for (topic_partition, target_isr) in affected {
            self.change_partition(topic_partition, Some(target_isr), out);
        }
    }

    /// Fences the broker whose session ran out longest ago; one broker a check.
    ///
    /// # Errors sent
    /// None.
    /// # Source
    /// `QuorumController.rescheduleMaybeFenceStaleBrokers`: a session is still valid exactly
    /// `broker.session.timeout.ms` after the last heartbeat.
    fn on_session_check(&mut self, out: &mut Out) {
        let session = Span::from_millis(self.config.broker_session_timeout_ms);
        if let Some(id) = self.registry.stale(&self.image, session, out.now) {
            let controller = self.id;
            out.log(format!(
                "[QuorumController id={controller}] Fencing broker {id} because its session has \
                 timed out."
            ));
            self.fence(id, out);
            self.wake_fetches(out);
        }
        self.arm_session_check(out);
    }

    fn arm_session_check(&self, out: &mut Out) {
        let session = Span::from_millis(self.config.broker_session_timeout_ms);
        match self.registry.oldest_contact_at(&self.image) {
            // A millisecond past the timeout, when the session is no longer valid.
            Some(at) => out.arm_at(Timer::SessionCheck, at + session + Span::from_millis(1)),
            None => out.cancel(Timer::SessionCheck),
        }
    }

    /// Commits the ISR that a leader asks for, if everything it knows is current.
    ///
    /// # Errors sent
    /// `STALE_BROKER_EPOCH` (77) for the request; for a partition `UNKNOWN_TOPIC_OR_PARTITION` (3),
    /// `NOT_CONTROLLER` (41), `FENCED_LEADER_EPOCH` (74), `INVALID_REQUEST` (42),
    /// `INVALID_UPDATE_VERSION` (95), `INELIGIBLE_REPLICA` (107), `NEW_LEADER_ELECTED` (108).
    /// # Source
    /// `ReplicationControlManager.alterPartition` (KIP-497, KIP-903).
    fn handle_alter_partition(
        &mut self,
        reply: ReplyTo,
        request: &AlterPartitionRequest,
        out: &mut Out,
    ) {
        let registered = self
            .image
            .brokers
            .get(&request.broker_id)
            .map(|broker| broker.broker_epoch);
        let mut response = AlterPartitionResponse {
            error_code: ErrorCode::None,
            partitions: Vec::new(),
        };
        if registered == Some(request.broker_epoch) {
            for item in &request.partitions {
                let result = self.alter_one(request.broker_id, item, out);
                response.partitions.push(result);
            }
        } else {
            response.error_code = ErrorCode::StaleBrokerEpoch;
        }
        out.respond(reply, Response::AlterPartition(response));
        self.wake_fetches(out);
    }

    fn alter_one(
        &mut self,
        sender: BrokerId,
        item: &AlterPartitionItem,
        out: &mut Out,
    ) -> AlterPartitionResult {
        let error_code = self.check_alter(sender, item);
        if error_code.is_none() {
            let isr = item.new_isr.iter().map(|(id, _)| *id).collect();
            self.change_partition(item.topic_partition, Some(isr), out);
        }
        let now = self.image.partition(item.topic_partition);
        let new_leader = error_code.is_none() && now.is_some_and(|p| p.leader != Some(sender));
        AlterPartitionResult {
            topic_partition: item.topic_partition,
            error_code: if new_leader {
                ErrorCode::NewLeaderElected
            } else {
                error_code
            },
            leader: now.and_then(|partition| partition.leader),
            leader_epoch: now.map_or(-1, |partition| partition.leader_epoch),
            isr: now.map_or_else(Vec::new, |partition| partition.isr.clone()),
            partition_epoch: now.map_or(-1, |partition| partition.partition_epoch),
        }
    }

    fn check_alter(&self, sender: BrokerId, item: &AlterPartitionItem) -> ErrorCode {
        let Some(partition) = self.image.partition(item.topic_partition) else {
            return ErrorCode::UnknownTopicOrPartition;
        };
        let ids = || item.new_isr.iter().map(|(id, _)| *id);
        let is_duplicate = ids()
            .enumerate()
            .any(|(at, id)| ids().take(at).any(|b| b == id));
        if partition.leader_epoch < item.leader_epoch
            || partition.partition_epoch < item.partition_epoch
        {
            ErrorCode::NotController
        } else if item.leader_epoch < partition.leader_epoch {
            ErrorCode::FencedLeaderEpoch
        } else if partition.leader != Some(sender) {
            ErrorCode::InvalidRequest
        } else if item.partition_epoch < partition.partition_epoch {
            ErrorCode::InvalidUpdateVersion
        } else if is_duplicate
            || ids().any(|id| !partition.replicas.contains(&id))
            || !ids().any(|id| id == sender)
        {
            ErrorCode::InvalidRequest
        } else if item
            .new_isr
            .iter()
            .any(|(id, epoch)| !self.is_eligible(*id, *epoch))
        {
            ErrorCode::IneligibleReplica
        } else {
            ErrorCode::None
        }
    }

    fn is_eligible(&self, id: BrokerId, broker_epoch: i64) -> bool {
        self.image.is_active(id)
            && self
                .image
                .brokers
                .get(&id)
                .is_some_and(|broker| broker_epoch == -1 || broker.broker_epoch == broker_epoch)
    }

    /// Gives a partition the ISR `target_isr` (or keeps its ISR), elects, and appends the change
    /// if there is one.
    fn change_partition(
        &mut self,
        topic_partition: TopicPartition,
        target_isr: Option<Vec<BrokerId>>,
        out: &mut Out,
    ) {
        let Some(before) = self.image.partition(topic_partition).cloned() else {
            return;
        };
        let unclean_allowed = self
            .image
            .topics
            .get(&topic_partition.topic)
            .is_some_and(|topic| topic.config.unclean_leader_election_enable);
        let mut target = target_isr.unwrap_or_else(|| before.isr.clone());
        target.sort_unstable();
        let election = if unclean_allowed {
            Election::Unclean
        } else {
            Election::Online
        };
        let choice = elect(election, &before, &target, |id| self.image.is_active(id));
        let mut after = before.clone();
        after.leader = choice.leader;
        if choice.unclean {
            after.isr = choice.leader.into_iter().collect();
        } else if !target.is_empty() {
            // Without any ISR member left the last one stays: it may lead again when it returns.
            after.isr = target;
        }
        if after.leader != before.leader {
            after.leader_epoch += 1;
        }
        if after == before {
            return;
        }
        after.partition_epoch += 1;
        trace_partition_change(topic_partition, &before, &after, choice.unclean, out);
        let registration = Arc::new(after);
        self.append(MetadataRecord::Partition {
            topic_partition,
            registration,
        });
    }

    /// Creates a topic.
    ///
    /// # Errors sent
    /// `TOPIC_ALREADY_EXISTS` (36), `INVALID_PARTITIONS` (37), `INVALID_REPLICATION_FACTOR` (38),
    /// `INVALID_REPLICA_ASSIGNMENT` (39).
    /// # Source
    /// `ReplicationControlManager.createTopic`.
    fn handle_create_topics(
        &mut self,
        reply: ReplyTo,
        request: &CreateTopicsRequest,
        out: &mut Out,
    ) {
        let (error_code, error_message) = match self.create_topic(request, out) {
            Ok(()) => (ErrorCode::None, None),
            Err((error_code, text)) => (error_code, Some(Arc::from(text))),
        };
        let response = CreateTopicsResponse {
            error_code,
            error_message,
        };
        out.respond(reply, Response::CreateTopics(response));
        self.wake_fetches(out);
    }

    fn create_topic(
        &mut self,
        request: &CreateTopicsRequest,
        out: &mut Out,
    ) -> Result<(), (ErrorCode, String)> {
        if self.image.topics.contains_key(&request.topic_id) {
            let text = format!("Topic '{}' already exists.", request.name);
            return Err((ErrorCode::TopicAlreadyExists, text));
        }
        let existing = u32::try_from(self.image.partitions().count()).unwrap_or(u32::MAX);
        if request.partition_count == 0 || PARTITIONS_MAX < existing + request.partition_count {
            let text = "Number of partitions was set to an invalid non-positive value.".to_owned();
            return Err((ErrorCode::InvalidPartitions, text));
        }
        let assignments = self.assignments(request)?;
        out.trace(TraceEvent::TopicCreated {
            name: request.name.clone(),
            partitions: request.partition_count,
        });
        self.append(MetadataRecord::Topic {
            topic_id: request.topic_id,
            name: request.name.clone(),
            config: request.config.clone(),
        });
        for (partition, replicas) in (0_u32..).zip(assignments) {
            let mut isr: Vec<BrokerId> = replicas
                .iter()
                .copied()
                .filter(|id| self.image.is_active(*id))
                .collect();
            let leader = isr.first().copied();
            isr.sort_unstable();
            let registration = PartitionRegistration {
                replicas,
                isr,
                leader,
                leader_epoch: 0,
                partition_epoch: 0,
            };
            let topic_partition = TopicPartition::new(request.topic_id, partition);
            out.trace(TraceEvent::LeaderElected {
                topic_partition,
                leader,
                previous_leader: None,
                leader_epoch: 0,
                isr: Arc::from(registration.isr.as_slice()),
                unclean: false,
            });
            let registration = Arc::new(registration);
            self.append(MetadataRecord::Partition {
                topic_partition,
                registration,
            });
        }
        Ok(())
    }

    fn assignments(
        &mut self,
        request: &CreateTopicsRequest,
    ) -> Result<Vec<Vec<BrokerId>>, (ErrorCode, String)> {
        if request.assignments.is_empty() {
            let mut placer = StripedReplicaPlacer::new(&self.image, &mut self.placement);
            let factor =
                if &*request.name == CONSUMER_OFFSETS || &*request.name == TRANSACTION_STATE {
                    request.replication_factor.min(placer.usable_count())
                } else {
                    request.replication_factor
                };
            return (0..request.partition_count)
                .map(|_| placer.place(factor, &mut self.placement))
                .collect::<Result<_, PlacementError>>()
                .map_err(|error| {
                    let text =
                        format!("Unable to replicate the partition {factor} time(s): {error}");
                    (ErrorCode::InvalidReplicationFactor, text)
                });
        }
        for (partition, replicas) in request.assignments.iter().enumerate() {
            if replicas.is_empty() {
                let text = "The manual partition assignment includes an empty replica list.";
                return Err((ErrorCode::InvalidReplicaAssignment, text.to_owned()));
            }
            if let Some(id) = replicas
                .iter()
                .find(|id| !self.image.brokers.contains_key(id))
            {
                let text = format!(
                    "The manual partition assignment includes broker {id}, but no such broker is \
                     registered."
                );
                return Err((ErrorCode::InvalidReplicaAssignment, text));
            }
            if !replicas.iter().any(|id| self.image.is_active(*id)) {
                let text = format!(
                    "All brokers specified in the manual partition assignment for partition \
                     {partition} are fenced or in controlled shutdown."
                );
                return Err((ErrorCode::InvalidReplicaAssignment, text));
            }
        }
        Ok(request.assignments.clone())
    }

    /// Hands out metadata records, or waits until there is one.
    ///
    /// # Errors sent
    /// None.
    /// # Source
    /// `KafkaRaftClient.handleFetchRequest` (KIP-595).
    fn handle_fetch_metadata_log(
        &mut self,
        reply: ReplyTo,
        request: FetchMetadataLogRequest,
        out: &mut Out,
    ) {
        if request.fetch_offset < self.image.next_offset {
            self.answer_fetch(reply, request.fetch_offset, out);
            return;
        }
        self.parked_fetches
            .insert(request.broker_id, (reply, request.fetch_offset));
        let timer = Timer::MetadataFetchExpiry(request.broker_id);
        out.arm(timer, Span::from_millis(request.max_wait_ms));
    }

    /// Answers a parked fetch of the metadata log with nothing.
    ///
    /// # Errors sent
    /// None.
    /// # Source
    /// `KafkaRaftClient.handleFetchRequest` (KIP-595).
    fn on_metadata_fetch_expiry(&mut self, broker: BrokerId, out: &mut Out) {
        if let Some((reply, fetch_offset)) = self.parked_fetches.remove(&broker) {
            self.answer_fetch(reply, fetch_offset, out);
        }
    }

    fn answer_fetch(&self, reply: ReplyTo, fetch_offset: i64, out: &mut Out) {
        let from = usize::try_from(fetch_offset).unwrap_or(usize::MAX);
        let response = FetchMetadataLogResponse {
            base_offset: fetch_offset,
            records: self.log.iter().skip(from).cloned().collect(),
        };
        out.respond(reply, Response::FetchMetadataLog(response));
    }

    fn wake_fetches(&mut self, out: &mut Out) {
        let end = self.image.next_offset;
        let ready: Vec<BrokerId> = self
            .parked_fetches
            .iter()
            .filter(|(_, (_, wanted))| *wanted < end)
            .map(|(broker, _)| *broker)
            .collect();
        for broker in ready {
            out.cancel(Timer::MetadataFetchExpiry(broker));
            self.on_metadata_fetch_expiry(broker, out);
        }
    }

    fn append(&mut self, record: MetadataRecord) {
        self.image.replay(&record);
        self.log.push(Arc::new(record));
    }

    /// The node that this controller is.
    pub const fn node(&self) -> NodeId {
        NodeId::Controller(self.id)
    }
}

fn trace_partition_change(
    topic_partition: TopicPartition,
    before: &PartitionRegistration,
    after: &PartitionRegistration,
    unclean: bool,
    out: &mut Out,
) {
    let isr: Arc<[BrokerId]> = Arc::from(after.isr.as_slice());
    let previous_isr: Arc<[BrokerId]> = Arc::from(before.isr.as_slice());
    if after.isr.len() < before.isr.len() {
        out.trace(TraceEvent::IsrShrunk {
            topic_partition,
            previous_isr,
            isr: isr.clone(),
        });
    } else if before.isr.len() < after.isr.len() {
        out.trace(TraceEvent::IsrExpanded {
            topic_partition,
            previous_isr,
            isr: isr.clone(),
        });
    }
    if after.leader_epoch != before.leader_epoch {
        out.trace(TraceEvent::LeaderElected {
            topic_partition,
            leader: after.leader,
            previous_leader: before.leader,
            leader_epoch: after.leader_epoch,
            isr,
            unclean,
        });
    }
}
