//! A broker process.

mod front;
mod groups;
mod lifecycle;
mod transactions;

use self::lifecycle::Lifecycle;
use self::transactions::Delivery;
use super::replica_manager::{LeadershipChange, ReplicaManager};
use crate::base::config::BrokerConfig;
use crate::base::ids::{BrokerId, CorrelationId, NodeId, TopicId, TopicPartition};
use crate::base::timer::Timer;
use crate::coordinator::GroupCoordinator;
use crate::kernel::time::Span;
use crate::log::partition_log::PartitionLog;
use crate::trace::out::{Out, ReplyTo};
use crate::transaction::TransactionCoordinator;
use crate::wire::api::{FetchMetadataLogRequest, Request, Response};
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
    /// Requests that have no answer yet, but for those of the replicas.
    requests: BTreeMap<CorrelationId, Purpose>,
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
    /// The controller.
    pub controller: NodeId,
    /// The interned name of `__consumer_offsets`.
    pub offsets_topic: TopicId,
    /// The interned name of `__transaction_state`.
    pub transaction_topic: TopicId,
    /// Identifies the process.
    pub incarnation_id: u64,
}

/// Why a request was sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
enum Purpose {
    Registration,
    Heartbeat,
    Metadata,
    CreateTopic,
    Markers,
}

impl Broker {
    /// A process that has just been started on the logs that the disk holds.
    pub fn new(start: BrokerStart, disk: BTreeMap<TopicPartition, PartitionLog>) -> Self {
        let replicas = ReplicaManager::new(start.id, start.controller, start.config.clone(), disk);
        let coordinator = GroupCoordinator::new(start.id, start.config.clone());
        let transactions = TransactionCoordinator::new(start.config.clone());
        Self {
            start,
            lifecycle: Lifecycle::default(),
            replicas,
            coordinator,
            transactions,
            deliveries: Vec::new(),
            requests: BTreeMap::new(),
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
        self.send_registration(out);
    }

    /// Takes in a request.
    pub fn on_request(&mut self, reply: ReplyTo, request: &Request, out: &mut Out) {
        match request {
            Request::Produce(request) => self.replicas.handle_produce(reply, request, out),
            Request::Fetch(request) => self.replicas.handle_fetch(reply, request, out),
            Request::ListOffsets(request) => {
                self.replicas.handle_list_offsets(reply, request, out);
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
            | Request::BrokerRegistration(_)
            | Request::BrokerHeartbeat(_)
            | Request::AlterPartition(_)
            | Request::FetchMetadataLog(_) => {
                unreachable!("invariant: brokers send these to the controller alone")
            }
        }
        self.settle_groups(out);
    }

    /// Takes in a response.
    pub fn on_response(&mut self, correlation: CorrelationId, response: &Response, out: &mut Out) {
        if !self.replicas.on_response(correlation, response, out)
            && let Some(purpose) = self.requests.remove(&correlation)
        {
            match (purpose, response) {
                (Purpose::Registration, Response::BrokerRegistration(response)) => {
                    self.on_registration(*response, out);
                }
                (Purpose::Heartbeat, Response::BrokerHeartbeat(response)) => {
                    self.on_heartbeat(*response, out);
                }
                (Purpose::Metadata, Response::FetchMetadataLog(response)) => {
                    if response.base_offset == self.replicas.image().next_offset {
                        let changes = self.replicas.on_metadata(&response.records, out);
                        self.apply_leadership(&changes, out);
                    }
                    self.fetch_metadata(out);
                    self.maybe_ask_to_be_unfenced(out);
                }
                (Purpose::CreateTopic, Response::CreateTopics(_)) => {}
                (Purpose::Markers, Response::WriteTxnMarkers(response)) => {
                    self.on_markers_answered(correlation, Some(response), out);
                }
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
        self.settle_groups(out);
    }

    /// Takes in that a request gets no answer.
    pub fn on_disconnect(&mut self, correlation: CorrelationId, out: &mut Out) {
        if !self.replicas.on_disconnect(correlation, out) {
            match self.requests.remove(&correlation) {
                Some(Purpose::Registration) => self.retry_registration(out),
                Some(Purpose::Heartbeat) => self.retry_heartbeat(out),
                Some(Purpose::Metadata) => out.arm(Timer::MetadataFetch, METADATA_BACKOFF),
                Some(Purpose::Markers) => self.on_markers_answered(correlation, None, out),
                Some(Purpose::CreateTopic) | None => {}
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

    fn fetch_metadata(&mut self, out: &mut Out) {
        let request = FetchMetadataLogRequest {
            broker_id: self.start.id,
            fetch_offset: self.replicas.image().next_offset,
            max_wait_ms: METADATA_WAIT_MS,
        };
        let body = Request::FetchMetadataLog(request);
        let correlation = out.request(self.start.controller, body, METADATA_TIMEOUT);
        self.requests.insert(correlation, Purpose::Metadata);
    }

    /// Tells the group coordinator what topics there are, and which partitions of
    /// `__consumer_offsets` and `__transaction_state` this broker leads.
    fn apply_leadership(&mut self, changes: &[LeadershipChange], out: &mut Out) {
        for (topic_id, topic) in &self.replicas.image().topics {
            self.coordinator
                .on_topic_named(*topic_id, topic.name.clone());
        }
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

/// How long the controller may park a fetch of its log (`controller.quorum.fetch.timeout.ms` / 4).
const METADATA_WAIT_MS: i64 = 500;
/// `controller.quorum.request.timeout.ms`.
const METADATA_TIMEOUT: Span = Span(2_000_000);
/// `controller.quorum.retry.backoff.ms` is 20; a dead controller does not need so many questions.
const METADATA_BACKOFF: Span = Span(100_000);
