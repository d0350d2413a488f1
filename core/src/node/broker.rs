//! A broker process.

mod controllers;
mod front;
mod groups;
mod lifecycle;
mod transactions;

use self::controllers::Controllers;
use self::lifecycle::Lifecycle;
use self::transactions::Delivery;
use super::replica_manager::{LeadershipChange, ReplicaManager};
use crate::base::config::{BrokerConfig, HistoryConfig};
use crate::base::ids::{BrokerId, ControllerId, CorrelationId, NodeId, TopicId, TopicPartition};
use crate::base::timer::Timer;
use crate::coordinator::GroupCoordinator;
use crate::kernel::time::Span;
use crate::log::partition_log::PartitionLog;
use crate::trace::out::{Out, ReplyTo};
use crate::transaction::TransactionCoordinator;
use crate::wire::api::{ApiVersionsResponse, Request, Response};
use crate::wire::error_code::ErrorCode;
use serde::Serialize;
use std::collections::BTreeMap;
use std::sync::Arc;

/// A broker: its replicas, the groups that it coordinates, and its place in the cluster.
#[derive(Clone, Debug, Serialize)]
pub struct Broker {
    start: BrokerStart,
    lifecycle: Lifecycle,
    replicas: ReplicaManager,
    coordinator: GroupCoordinator,
    transactions: TransactionCoordinator,
    /// Markers on their way.
    deliveries: Vec<Delivery>,
    /// The quorum of controllers, as far as this broker knows it.
    controllers: Controllers,
    /// Requests that have no answer yet, but for those of the replicas.
    requests: BTreeMap<CorrelationId, Purpose>,
    /// Epoch of the last metadata entry that has been replayed; 0 before any.
    replayed_epoch: i32,
    /// Names of topics whose creation has been asked for.
    creating: Vec<(CorrelationId, Arc<str>)>,
    /// Whether the creation of `__consumer_offsets` has been asked for and may not be again yet.
    is_creating_offsets: bool,
    /// The same of `__transaction_state`.
    is_creating_transactions: bool,
}

/// What a broker process starts with.
#[derive(Clone, Debug, Serialize)]
pub struct BrokerStart {
    /// Its `node.id`.
    pub id: BrokerId,
    /// Its rack; unset when it has none.
    pub rack: Option<Arc<str>>,
    /// Its settings.
    pub config: Arc<BrokerConfig>,
    /// What an old release did otherwise.
    pub history: HistoryConfig,
    /// The voters of the quorum of controllers.
    pub controllers: Arc<[NodeId]>,
    /// Topics that an administrator creates at the start: their names, by interned id. Until then
    /// nobody else creates them.
    pub declared_topics: Arc<[Arc<str>]>,
    /// The registration with which the process before was closed in good order; -1 if it was not.
    pub previous_broker_epoch: i64,
    /// How long metadata records wait here before they are taken in.
    pub metadata_delay: Span,
    /// The interned name of `__consumer_offsets`.
    pub offsets_topic: TopicId,
    /// The interned name of `__transaction_state`.
    pub transaction_topic: TopicId,
    /// Identifies the process.
    pub incarnation_id: u64,
    /// The run's seed.
    pub seed: u64,
}

/// Why a request was sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
enum Purpose {
    Registration,
    Heartbeat,
    Metadata,
    CreateTopic,
    Markers,
    /// A client's request, passed on to the active controller.
    Forward(ReplyTo),
}

impl Broker {
    /// A process that has just been started on the logs that the disk holds.
    pub fn new(start: BrokerStart, disk: BTreeMap<TopicPartition, PartitionLog>) -> Self {
        let controllers = Controllers::new(start.controllers.clone());
        let mut replicas = ReplicaManager::new(
            (start.id, start.seed),
            NodeId::Controller(ControllerId::default()),
            start.config.clone(),
            disk,
        );
        replicas.set_controller(controllers.active());
        replicas.set_history(start.history);
        let mut coordinator = GroupCoordinator::new(start.id, start.config.clone());
        coordinator.set_history(start.history);
        let transactions = TransactionCoordinator::new(start.config.clone());
        Self {
            start,
            lifecycle: Lifecycle::default(),
            replicas,
            coordinator,
            transactions,
            deliveries: Vec::new(),
            controllers,
            requests: BTreeMap::new(),
            replayed_epoch: 0,
            creating: Vec::new(),
            is_creating_offsets: false,
            is_creating_transactions: false,
        }
    }

    /// The logs, as they stay on the disk when the process is gone.
    pub fn into_disk(self) -> BTreeMap<TopicPartition, PartitionLog> {
        self.replicas.into_disk()
    }

    /// Its replicas.
    pub const fn replicas(&self) -> &ReplicaManager {
        &self.replicas
    }

    /// Its groups.
    pub const fn coordinator(&self) -> &GroupCoordinator {
        &self.coordinator
    }

    /// Its transactions.
    pub const fn transactions(&self) -> &TransactionCoordinator {
        &self.transactions
    }

    /// Whether it accepts connections: not before the controller has unfenced it once.
    pub const fn is_listening(&self) -> bool {
        self.lifecycle.is_listening
    }

    /// Begins to work.
    pub fn start(&mut self, out: &mut Out) {
        self.replicas.start(out);
        let limit = self.start.config.initial_broker_registration_timeout_ms;
        out.arm(Timer::InitialRegistration, Span::from_millis(limit));
        if self.controllers.active().is_some() {
            self.send_registration(out);
        } else {
            // Who is active is learnt from the metadata log's fetches.
            self.fetch_metadata(out);
        }
    }

    /// Takes in a request.
    pub fn on_request(&mut self, reply: ReplyTo, request: &Request, out: &mut Out) {
        match request {
            Request::Produce(request) => self.replicas.handle_produce(reply, request, out),
            Request::Fetch(request) => self.replicas.handle_fetch(reply, request, out),
            Request::ListOffsets(request) => {
                self.replicas.handle_list_offsets(reply, request, out);
            }
            Request::DeleteRecords(request) => {
                self.replicas.handle_delete_records(reply, request, out);
            }
            Request::OffsetForLeaderEpoch(request) => {
                self.replicas
                    .handle_offset_for_leader_epoch(reply, request, out);
            }
            Request::ApiVersions(_) => {
                let error_code = ErrorCode::None;
                out.respond(
                    reply,
                    Response::ApiVersions(ApiVersionsResponse { error_code }),
                );
            }
            Request::Metadata(request) => self.handle_metadata(reply, request, out),
            Request::FindCoordinator(request) => self.handle_find_coordinator(reply, request, out),
            Request::JoinGroup(request) => {
                self.coordinator.handle_join_group(reply, request, out);
            }
            Request::SyncGroup(request) => {
                self.coordinator.handle_sync_group(reply, request, out);
            }
            Request::Heartbeat(request) => self.coordinator.handle_heartbeat(reply, request, out),
            Request::LeaveGroup(request) => {
                self.coordinator.handle_leave_group(reply, request, out);
            }
            Request::ConsumerGroupHeartbeat(request) => {
                self.coordinator
                    .handle_consumer_group_heartbeat(reply, request, out);
            }
            Request::OffsetCommit(request) => self.handle_offset_commit(reply, request, out),
            Request::OffsetFetch(request) => {
                self.coordinator.handle_offset_fetch(reply, request, out);
            }
            Request::TxnOffsetCommit(request) => {
                self.handle_txn_offset_commit(reply, request, out);
            }
            Request::InitProducerId(_)
            | Request::AddPartitionsToTxn(_)
            | Request::AddOffsetsToTxn(_)
            | Request::EndTxn(_)
            | Request::WriteTxnMarkers(_) => self.on_transaction_request(reply, request, out),
            Request::CreateTopics(_)
            | Request::DeleteTopics(_)
            | Request::CreatePartitions(_)
            | Request::IncrementalAlterConfigs(_)
            | Request::ElectLeaders(_) => self.forward(reply, request, out),
            Request::BrokerRegistration(_)
            | Request::BrokerHeartbeat(_)
            | Request::AlterPartition(_)
            | Request::FetchMetadataLog(_)
            | Request::Vote(_)
            | Request::BeginQuorumEpoch(_)
            | Request::EndQuorumEpoch(_) => {
                unreachable!("invariant: brokers send these to the controller alone")
            }
        }
        self.settle_groups(out);
    }

    /// Takes in a response.
    pub fn on_response(&mut self, correlation: CorrelationId, response: &Response, out: &mut Out) {
        if let Response::AlterPartition(response) = response
            && response.error_code == ErrorCode::NotController
        {
            self.lose_controller(out);
        }
        if !self.replicas.on_response(correlation, response, out)
            && let Some(purpose) = self.requests.remove(&correlation)
        {
            self.on_controller_response((correlation, purpose), response, out);
        }
        self.settle_groups(out);
    }

    fn on_controller_response(
        &mut self,
        (correlation, purpose): (CorrelationId, Purpose),
        response: &Response,
        out: &mut Out,
    ) {
        if response.error_code() == ErrorCode::NotController {
            self.lose_controller(out);
        }
        match (purpose, response) {
            (Purpose::Registration, Response::BrokerRegistration(response)) => {
                self.on_registration(*response, out);
            }
            (Purpose::Heartbeat, Response::BrokerHeartbeat(response)) => {
                self.on_heartbeat(*response, out);
            }
            (Purpose::Metadata, Response::FetchMetadataLog(response)) => {
                self.on_metadata_response(response, out);
            }
            (Purpose::Markers, Response::WriteTxnMarkers(response)) => {
                self.on_markers_answered(correlation, Some(response), out);
            }
            (Purpose::CreateTopic, Response::CreateTopics(_)) => {
                self.creating.retain(|(sent, _)| *sent != correlation);
            }
            (Purpose::Forward(reply), _) => out.respond(reply, response.clone()),
            (
                Purpose::Registration
                | Purpose::Heartbeat
                | Purpose::Metadata
                | Purpose::CreateTopic
                | Purpose::Markers,
                _,
            ) => unreachable!("invariant: a response has the API of its request"),
        }
    }

    /// Takes in that a request gets no answer.
    pub fn on_disconnect(&mut self, correlation: CorrelationId, out: &mut Out) {
        if !self.replicas.on_disconnect(correlation, out) {
            match self.requests.remove(&correlation) {
                Some(Purpose::Registration) => self.retry_registration(out),
                Some(Purpose::Heartbeat) => self.retry_heartbeat(out),
                Some(Purpose::Metadata) => self.retry_metadata(out),
                Some(Purpose::Markers) => self.on_markers_answered(correlation, None, out),
                Some(Purpose::CreateTopic) => {
                    self.creating.retain(|(sent, _)| *sent != correlation);
                }
                // The client's own request times out; it asks again.
                Some(Purpose::Forward(_)) | None => {}
            }
        }
        self.settle_groups(out);
    }

    /// Takes in an expired timer.
    pub fn on_timer(&mut self, timer: &Timer, out: &mut Out) {
        if !self.replicas.on_timer(timer, out) {
            if *timer == Timer::BrokerRegistration {
                self.send_registration(out);
            } else if *timer == Timer::BrokerHeartbeat {
                self.send_heartbeat(out);
            } else if *timer == Timer::MetadataFetch {
                self.fetch_metadata(out);
            } else if *timer == Timer::MetadataReplay {
                self.on_metadata_replay(out);
            } else if *timer == Timer::InitialRegistration {
                self.on_initial_registration_timeout(out);
            } else if *timer == Timer::ControlledShutdown {
                self.on_controlled_shutdown_timeout(out);
            } else if *timer == Timer::CreateOffsetsTopic {
                self.is_creating_offsets = false;
                self.is_creating_transactions = false;
            } else if *timer == Timer::TransactionMarkers {
                self.send_markers(out);
            } else if *timer == Timer::TransactionTimeouts {
                self.transactions.on_timeouts(out);
            } else {
                self.coordinator.on_timer(timer, out);
            }
        }
        self.settle_groups(out);
    }

    /// Tells the group coordinator what topics there are, and which partitions of
    /// `__consumer_offsets` and `__transaction_state` this broker leads.
    fn apply_leadership(&mut self, changes: &[LeadershipChange], out: &mut Out) {
        for (topic_id, topic) in &self.replicas.image().topics {
            self.coordinator
                .on_topic_named(*topic_id, topic.name.clone());
        }
        let topics = self.replicas.image().topics.iter();
        let topics = topics.map(|(topic_id, topic)| {
            let count = u32::try_from(topic.partitions.len()).unwrap_or(u32::MAX);
            (topic.name.clone(), (*topic_id, count))
        });
        self.coordinator.on_topics(topics.collect());
        for change in changes {
            match change {
                LeadershipChange::Elected(id, leader_epoch) => {
                    if id.topic == self.start.offsets_topic
                        && let Some(partition) = self.replicas.partitions().get(id)
                    {
                        self.coordinator
                            .on_elected(id.partition, *leader_epoch, out);
                        let (records, open) = partition.log.settled_records();
                        let end = partition.log.high_watermark();
                        self.coordinator.on_loaded(id.partition, records, end, out);
                        for (producer_id, record) in open {
                            self.coordinator
                                .on_open_offsets(id.partition, producer_id, record);
                        }
                    }
                    if id.topic == self.start.transaction_topic
                        && let Some(partition) = self.replicas.partitions().get(id)
                    {
                        let records = partition.log.records().map(|(_, record)| record);
                        let end = partition.log.high_watermark();
                        self.transactions.on_elected(
                            (id.partition, *leader_epoch),
                            records,
                            end,
                            out,
                        );
                    }
                }
                LeadershipChange::Resigned(id) => {
                    if id.topic == self.start.offsets_topic {
                        self.coordinator.on_resigned(id.partition, out);
                    }
                    if id.topic == self.start.transaction_topic {
                        self.transactions.on_resigned(id.partition, out);
                    }
                }
            }
        }
    }
}
