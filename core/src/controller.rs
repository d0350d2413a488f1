//! The controller: it keeps the metadata log, decides who lives, who leads and who is in sync.
//!
//! Of several controllers one is active: the leader of the quorum. It decides on what it has
//! written itself; what it says takes effect, and its answers leave, when the quorum has committed
//! that. The others only replay.

mod brokers;
pub mod partition_change;
mod partitions;
pub mod placement;
pub mod quorum;
pub mod registry;
mod topics;

use crate::base::config::BrokerConfig;
use crate::base::ids::{BrokerId, ControllerId, CorrelationId, NodeId, TopicId, TopicPartition};
use crate::base::timer::Timer;
use crate::kernel::rng::Stream;
use crate::kernel::time::{SimTime, Span};
use crate::trace::event::TraceEvent;
use crate::trace::out::{Out, ReplyTo};
use crate::wire::api::{
    AlterPartitionResponse, ApiKey, BrokerHeartbeatResponse, BrokerRegistrationResponse,
    CreateTopicsRequest, Request, Response,
};
use crate::wire::error_code::ErrorCode;
use crate::wire::metadata::{MetadataImage, MetadataRecord, PartitionRegistration};
use quorum::{Quorum, QuorumDisk};
use registry::Registry;
use serde::Serialize;
use std::sync::Arc;

/// A controller (`QuorumController`).
#[derive(Clone, Debug, Serialize)]
pub struct Controller {
    id: ControllerId,
    config: Arc<BrokerConfig>,
    quorum: Quorum,
    /// What a replay of the whole log gives, as the active controller has written it.
    image: MetadataImage,
    /// What a replay of the committed log gives; unset in a quorum of one, where it is the same.
    committed: Option<MetadataImage>,
    is_active: bool,
    registry: Registry,
    /// Answers that wait until the log is committed up to an offset.
    #[serde(skip)]
    deferred: Vec<(i64, ReplyTo, Response)>,
    /// Topics of the scenario, created as soon as every broker of it takes part.
    first_topics: Vec<CreateTopicsRequest>,
    /// Brokers that must take part before the scenario's topics are created.
    first_brokers: Vec<BrokerId>,
    /// Names that have an id from the start: the id is the place in this list.
    reserved_names: Arc<[Arc<str>]>,
    placement: Stream,
    /// Whether a run of the leader balancer is to come.
    is_balance_armed: bool,
    /// Whether a sweep for unclean elections is to come.
    is_sweep_armed: bool,
    /// Where the log ended when balancer and sweep were last thought of.
    swept_at: i64,
}

/// What a controller starts with.
#[derive(Clone, Debug)]
pub struct ControllerStart {
    /// Its `node.id`.
    pub id: ControllerId,
    /// Every voter of the quorum, itself included, ascending.
    pub voters: Vec<ControllerId>,
    /// What its disk holds.
    pub disk: QuorumDisk,
    /// The cluster's settings.
    pub config: Arc<BrokerConfig>,
    /// The scenario's topics.
    pub topics: Vec<CreateTopicsRequest>,
    /// The scenario's brokers.
    pub brokers: Vec<BrokerId>,
    /// Names of topics that have an id from the start, by id.
    pub reserved_names: Arc<[Arc<str>]>,
    /// Draws for the placement of replicas.
    pub placement: Stream,
    /// Draws for elections of the quorum.
    pub elections: Stream,
}

impl Controller {
    /// A controller that has just been started on what its disk holds.
    pub fn new(start: ControllerStart) -> Self {
        let is_alone = start.voters.len() == 1;
        let config = start.config.clone();
        let voters = (start.id, start.voters);
        Self {
            id: start.id,
            quorum: Quorum::new(voters, config, start.disk, start.elections),
            config: start.config,
            image: MetadataImage::default(),
            committed: (!is_alone).then(MetadataImage::default),
            is_active: false,
            registry: Registry::default(),
            deferred: Vec::new(),
            first_topics: start.topics,
            first_brokers: start.brokers,
            reserved_names: start.reserved_names,
            placement: start.placement,
            is_balance_armed: false,
            is_sweep_armed: false,
            swept_at: -1,
        }
    }

    /// What stays when the process is gone.
    pub fn into_disk(self) -> QuorumDisk {
        self.quorum.into_disk()
    }

    /// The cluster as far as it is committed.
    pub fn image(&self) -> &MetadataImage {
        self.committed.as_ref().unwrap_or(&self.image)
    }

    /// Its `node.id`.
    pub const fn id(&self) -> ControllerId {
        self.id
    }

    /// Its part in the quorum.
    pub const fn quorum(&self) -> &Quorum {
        &self.quorum
    }

    /// Whether it is the active controller, as far as it knows.
    pub const fn is_active(&self) -> bool {
        self.is_active
    }

    /// When a broker's last heartbeat came.
    pub fn last_contact_at(&self, broker: BrokerId) -> SimTime {
        self.registry.last_contact_at(broker)
    }

    /// The node that this controller is.
    pub const fn node(&self) -> NodeId {
        NodeId::Controller(self.id)
    }

    /// Begins to work.
    pub fn start(&mut self, out: &mut Out) {
        self.quorum.start(out);
        self.settle(out);
    }

    /// Gives leadership up before the process ends.
    pub fn shut_down(&mut self, out: &mut Out) {
        self.quorum.resign(out);
        self.settle(out);
    }

    /// Takes in a request.
    pub fn on_request(&mut self, reply: ReplyTo, request: &Request, out: &mut Out) {
        if let Request::FetchMetadataLog(request) = request {
            self.quorum.handle_fetch_metadata_log(reply, *request, out);
        } else if !self.quorum.on_request(reply, request, out) {
            if self.is_active {
                self.decide(reply, request, out);
            } else if let Some(response) = refusal(request.api_key()) {
                out.respond(reply, response);
            }
        }
        self.settle(out);
    }

    fn decide(&mut self, reply: ReplyTo, request: &Request, out: &mut Out) {
        if let Request::BrokerRegistration(request) = request {
            self.handle_broker_registration(reply, request, out);
        } else if let Request::BrokerHeartbeat(request) = request {
            self.handle_broker_heartbeat(reply, request, out);
        } else if let Request::AlterPartition(request) = request {
            self.handle_alter_partition(reply, request, out);
        } else if let Request::CreateTopics(request) = request {
            self.handle_create_topics(reply, request, out);
        } else if let Request::DeleteTopics(request) = request {
            self.handle_delete_topics(reply, request, out);
        } else if let Request::CreatePartitions(request) = request {
            self.handle_create_partitions(reply, request, out);
        } else if let Request::IncrementalAlterConfigs(request) = request {
            self.handle_incremental_alter_configs(reply, request, out);
        } else if let Request::ElectLeaders(request) = request {
            self.handle_elect_leaders(reply, request, out);
        } else {
            unreachable!("invariant: brokers and clients send these to brokers alone")
        }
    }

    /// Takes in an answer of another controller.
    pub fn on_response(&mut self, correlation: CorrelationId, response: &Response, out: &mut Out) {
        self.quorum.on_response(correlation, response, out);
        self.settle(out);
    }

    /// Takes in that a request to another controller gets no answer.
    pub fn on_disconnect(&mut self, correlation: CorrelationId, out: &mut Out) {
        self.quorum.on_disconnect(correlation, out);
        self.settle(out);
    }

    /// Takes in an expired timer.
    pub fn on_timer(&mut self, timer: &Timer, out: &mut Out) {
        if !self.quorum.on_timer(timer, out) && self.is_active {
            if *timer == Timer::SessionCheck {
                self.on_session_check(out);
            } else if *timer == Timer::LeaderBalance {
                self.on_leader_balance(out);
            } else if *timer == Timer::UncleanSweep {
                self.on_unclean_sweep(out);
            } else if *timer == Timer::QuorumNoOp {
                self.append(MetadataRecord::NoOp, out);
                self.arm_no_op(out);
            }
        }
        self.settle(out);
    }

    /// Writes a record and acts on it from now on.
    fn append(&mut self, record: MetadataRecord, out: &mut Out) {
        self.append_all(vec![record], out);
    }

    /// Writes records that belong together.
    fn append_all(&mut self, records: Vec<MetadataRecord>, out: &mut Out) {
        let records: Vec<Arc<MetadataRecord>> = records.into_iter().map(Arc::new).collect();
        for record in &records {
            self.quorum.append(record.clone(), out);
        }
        for record in records {
            if self.committed.is_none() {
                self.announce(&self.image, self.image.next_offset, out);
            }
            self.image.replay(&record);
        }
    }

    /// Answers when everything that has been written so far is committed.
    fn respond(&mut self, reply: ReplyTo, response: Response, out: &mut Out) {
        let end = self.quorum.log_end_offset();
        if end <= self.quorum.high_watermark() {
            out.respond(reply, response);
        } else {
            self.deferred.push((end, reply, response));
        }
    }

    /// After each event: takes in what is committed by now, and whether this is still, or newly,
    /// the active controller.
    fn settle(&mut self, out: &mut Out) {
        self.replay_committed(out);
        if self.is_active && !self.quorum.leads_committed() {
            self.renounce(out);
        } else if !self.is_active && self.quorum.leads_committed() {
            self.claim(out);
        }
        let high_watermark = self.quorum.high_watermark();
        while self
            .deferred
            .first()
            .is_some_and(|(end, _, _)| *end <= high_watermark)
        {
            let (_, reply, response) = self.deferred.remove(0);
            out.respond(reply, response);
        }
        if self.is_active {
            self.arm_sweeps(out);
            if self.quorum.is_alone() {
                self.quorum.wake_fetches(out);
            }
        }
    }

    fn replay_committed(&mut self, out: &mut Out) {
        let Some(mut committed) = self.committed.take() else {
            return;
        };
        let leads = self.quorum.leads_committed();
        while committed.next_offset < self.quorum.high_watermark()
            && let Some(entry) = self.quorum.entry(committed.next_offset)
        {
            let record = entry.record.clone();
            if leads {
                self.announce(&committed, committed.next_offset, out);
            }
            if let MetadataRecord::Topic { name, .. } = &*record {
                self.first_topics.retain(|topic| topic.name != *name);
            }
            committed.replay(&record);
        }
        self.committed = Some(committed);
    }

    /// Becomes the active controller: it has replayed everything of earlier epochs, and gives every
    /// registered broker a new session.
    ///
    /// # Source
    /// `QuorumController.claim`, `ClusterControlManager.activate`.
    fn claim(&mut self, out: &mut Out) {
        self.is_active = true;
        if let Some(committed) = &self.committed {
            self.image = committed.clone();
            out.trace(TraceEvent::ControllerActivated {
                epoch: self.quorum.epoch(),
            });
            self.arm_no_op(out);
        } else {
            // A quorum of one replays its disk; a first start has nothing to replay.
            while let Some(entry) = self.quorum.entry(self.image.next_offset) {
                let record = entry.record.clone();
                if let MetadataRecord::Topic { name, .. } = &*record {
                    self.first_topics.retain(|topic| topic.name != *name);
                }
                self.image.replay(&record);
            }
        }
        for (id, broker) in &self.image.brokers {
            if !broker.fenced {
                self.registry.touch(*id, out.now);
            }
        }
        if self.image.brokers.values().any(|broker| !broker.fenced) {
            self.arm_session_check(out);
        }
        self.create_first_topics(out);
    }

    /// Is the active controller no more: what was not committed may be lost, and its callers hear
    /// of that.
    ///
    /// # Source
    /// `QuorumController.renounce`.
    fn renounce(&mut self, out: &mut Out) {
        self.is_active = false;
        self.registry = Registry::default();
        self.image = MetadataImage::default();
        self.is_balance_armed = false;
        self.is_sweep_armed = false;
        self.swept_at = -1;
        for timer in [
            Timer::SessionCheck,
            Timer::LeaderBalance,
            Timer::UncleanSweep,
            Timer::QuorumNoOp,
        ] {
            out.cancel(timer);
        }
        for (_, reply, response) in std::mem::take(&mut self.deferred) {
            if let Some(response) = refusal(response.api_key()) {
                out.respond(reply, response);
            }
        }
    }

    fn arm_no_op(&self, out: &mut Out) {
        let interval = self.config.metadata_max_idle_interval_ms;
        out.arm(Timer::QuorumNoOp, Span::from_millis(interval));
    }

    /// Notes what the record at `offset` brings about, once it is committed.
    fn announce(&self, before: &MetadataImage, offset: i64, out: &mut Out) {
        let Some(entry) = self.quorum.entry(offset) else {
            return;
        };
        let mut events = Vec::new();
        match &*entry.record {
            MetadataRecord::RegisterBroker {
                broker_id,
                broker_epoch,
                ..
            } => events.push(TraceEvent::BrokerRegistered {
                broker: *broker_id,
                broker_epoch: *broker_epoch,
            }),
            MetadataRecord::BrokerRegistrationChange {
                broker_id: broker,
                fenced,
                in_controlled_shutdown,
                ..
            } => {
                let broker = *broker;
                events.push(if *fenced {
                    TraceEvent::BrokerFenced {
                        broker,
                        last_contact_at: self.registry.last_contact_at(broker),
                    }
                } else if *in_controlled_shutdown {
                    TraceEvent::ControlledShutdownStarted { broker }
                } else {
                    TraceEvent::BrokerUnfenced { broker }
                });
            }
            MetadataRecord::Topic { topic_id, name, .. } => events.push(TraceEvent::TopicCreated {
                topic_id: *topic_id,
                name: name.clone(),
                partitions: self.new_partitions(*topic_id, offset),
            }),
            MetadataRecord::Partition {
                topic_partition,
                registration,
            } => partition_events(before, *topic_partition, registration, &mut events),
            MetadataRecord::RemoveTopic { topic_id } => {
                if let Some(topic) = before.topics.get(topic_id) {
                    let name = topic.name.clone();
                    events.push(TraceEvent::TopicDeleted { name });
                }
            }
            MetadataRecord::TopicConfig { topic_id, config } => {
                if let Some(topic) = before.topics.get(topic_id) {
                    events.push(TraceEvent::TopicConfigChanged {
                        name: topic.name.clone(),
                        settings: topics::differences(&topic.config, config),
                    });
                }
            }
            MetadataRecord::NoOp | MetadataRecord::LeaderChange { .. } => return,
        }
        out.trace_committed(offset, events);
    }

    /// How many partitions follow the record that creates a topic.
    fn new_partitions(&self, topic_id: TopicId, offset: i64) -> u32 {
        let mut count = 0;
        while let Some(entry) = self.quorum.entry(offset + 1 + i64::from(count))
            && let MetadataRecord::Partition {
                topic_partition, ..
            } = &*entry.record
            && topic_partition.topic == topic_id
        {
            count += 1;
        }
        count
    }
}

fn partition_events(
    image: &MetadataImage,
    topic_partition: TopicPartition,
    after: &PartitionRegistration,
    events: &mut Vec<TraceEvent>,
) {
    let isr: Arc<[BrokerId]> = Arc::from(after.isr.as_slice());
    let before = image.partition(topic_partition);
    if let Some(before) = before {
        let previous_isr: Arc<[BrokerId]> = Arc::from(before.isr.as_slice());
        if after.isr.len() < before.isr.len() {
            events.push(TraceEvent::IsrShrunk {
                topic_partition,
                previous_isr,
                isr: isr.clone(),
            });
        } else if before.isr.len() < after.isr.len() {
            events.push(TraceEvent::IsrExpanded {
                topic_partition,
                previous_isr,
                isr: isr.clone(),
            });
        }
    }
    if before.is_none_or(|before| after.leader_epoch != before.leader_epoch) {
        let previous_leader = before.and_then(|before| before.leader);
        events.push(TraceEvent::LeaderElected {
            topic_partition,
            leader: after.leader,
            previous_leader,
            leader_epoch: after.leader_epoch,
            isr,
            unclean: after.is_recovering && after.leader != previous_leader,
        });
    }
}

/// The answer of a controller that is not the active one.
fn refusal(api: ApiKey) -> Option<Response> {
    let error_code = ErrorCode::NotController;
    if api == ApiKey::BrokerRegistration {
        return Some(Response::BrokerRegistration(BrokerRegistrationResponse {
            error_code,
            broker_epoch: -1,
        }));
    }
    if api == ApiKey::BrokerHeartbeat {
        return Some(Response::BrokerHeartbeat(BrokerHeartbeatResponse {
            error_code,
            is_caught_up: false,
            is_fenced: true,
            should_shut_down: false,
        }));
    }
    if api == ApiKey::AlterPartition {
        return Some(Response::AlterPartition(AlterPartitionResponse {
            error_code,
            partitions: Vec::new(),
        }));
    }
    Response::admin_error(api, error_code)
}

#[cfg(test)]
mod tests;
