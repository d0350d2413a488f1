//! From a scenario to processes.

use super::Sim;
use super::links::Connections;
use super::slot::{Event, Node, Slot};
use crate::base::config::{HistoryConfig, ProducerConfig};
use crate::base::ids::{
    BrokerId, CONSUMER_OFFSETS, ClientId, ControllerId, NodeId, TRANSACTION_STATE,
};
use crate::client::admin::Admin;
use crate::client::consumer::{
    CommitMode, Consumer, ConsumerSettings, ProcessingSettings, RecordEffect,
};
use crate::client::producer::Producer;
use crate::controller::quorum::QuorumDisk;
use crate::controller::{Controller, ControllerStart};
use crate::kernel::limits::{BROKERS_MAX, CLIENTS_MAX, CONTROLLERS_MAX, PARTITIONS_MAX};
use crate::kernel::network::Network;
use crate::kernel::queue::EventQueue;
use crate::kernel::rng::Stream;
use crate::kernel::time::SimTime;
use crate::node::broker::{Broker, BrokerStart};
use crate::node::client::{Client, ClientStart, Load};
use crate::sim::scenario::{
    Arrivals, CommitStyle, ConsumerSpec, Keys, Processing, ProcessingTime, ProducerSpec,
    RecordRule, Scenario,
};
use crate::trace::buffer::TraceBuffer;
use crate::wire::api::CreateTopicsRequest;
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::sync::Arc;

/// Why a scenario cannot be run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum ScenarioError {
    /// There must be brokers, but not too many.
    BrokerCount {
        /// How many there are.
        count: u32,
        /// How many there may be.
        count_max: u32,
    },
    /// Settings of a client's producer contradict each other.
    ProducerConfig {
        /// The client.
        name: Arc<str>,
        /// What Kafka's `ConfigException` says.
        reason: &'static str,
    },
    /// There must be controllers, but not too many.
    ControllerCount {
        /// How many there are.
        count: u32,
        /// How many there may be.
        count_max: u32,
    },
    /// Two brokers have one id.
    DuplicateBroker(BrokerId),
    /// There are too many clients.
    ClientCount {
        /// How many there are.
        count: u32,
        /// How many there may be.
        count_max: u32,
    },
    /// Two clients have one name.
    DuplicateClient(Arc<str>),
    /// Two topics have one name.
    DuplicateTopic(Arc<str>),
    /// There are too many partitions.
    PartitionCount {
        /// How many there are.
        count: u64,
        /// How many there may be.
        count_max: u32,
    },
}

impl fmt::Display for ScenarioError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::BrokerCount { count, count_max } => {
                write!(formatter, "{count} brokers: expected 1 to {count_max}")
            }
            Self::ProducerConfig { name, reason } => write!(formatter, "{name}: {reason}"),
            Self::ControllerCount { count, count_max } => {
                write!(formatter, "{count} controllers: expected 1 to {count_max}")
            }
            Self::DuplicateBroker(id) => write!(formatter, "two brokers have the id {id}"),
            Self::ClientCount { count, count_max } => {
                write!(formatter, "{count} clients: expected at most {count_max}")
            }
            Self::DuplicateClient(name) => write!(formatter, "two clients are called {name}"),
            Self::DuplicateTopic(name) => write!(formatter, "two topics are called {name}"),
            Self::PartitionCount { count, count_max } => {
                write!(
                    formatter,
                    "{count} partitions: expected at most {count_max}"
                )
            }
        }
    }
}

/// When the console producer starts: the brokers are up by then.
const CONSOLE_START: SimTime = SimTime(500_000);

impl Sim {
    /// A run at its start: nothing has happened, processes start when their time comes.
    ///
    /// # Errors
    /// The scenario contradicts itself or is too large.
    pub fn new(scenario: Arc<Scenario>) -> Result<Self, ScenarioError> {
        check(&scenario)?;
        let names = intern(&scenario);
        let mut network = Network::new(scenario.network, scenario.seed);
        for (from, to, config) in &scenario.links {
            network.set_link(*from, *to, *config);
        }
        let mut sim = Self {
            names: names.to_vec(),
            declared_names: names,
            metadata_traced: 0,
            now: SimTime::ZERO,
            queue: EventQueue::new(),
            network,
            nodes: BTreeMap::new(),
            connections: Connections::new(),
            packets: BTreeMap::new(),
            next_packet: 0,
            trace: TraceBuffer::default(),
            event_count: 0,
            events_at_now: 0,
            is_stuck: false,
            processed: BTreeMap::new(),
            drops: Vec::new(),
            delays: Vec::new(),
            scratch: Vec::new(),
            scenario,
        };
        sim.add_nodes();
        Ok(sim)
    }

    fn add_nodes(&mut self) {
        let scenario = self.scenario.clone();
        for id in scenario.controller_ids() {
            self.add_node(
                NodeId::Controller(id),
                Node::ControllerDisk(QuorumDisk::default()),
                Some(SimTime::ZERO),
            );
        }
        for broker in &scenario.brokers {
            let node = NodeId::Broker(broker.id);
            self.add_node(node, Node::BrokerDisk(BTreeMap::new()), Some(SimTime::ZERO));
        }
        for id in (0..scenario.client_count()).map(ClientId) {
            let start_at = match (scenario.producer(id), scenario.consumer(id)) {
                (Some(producer), _) => producer.start_at,
                (None, Some(consumer)) => consumer.start_at,
                (None, None) => Some(CONSOLE_START),
            };
            // Ids of records tell their origin, so that no two clients hand out the same.
            let next_record_id = (u64::from(id.0) + 1) << 40;
            self.add_node(
                NodeId::Client(id),
                Node::ClientDown { next_record_id },
                start_at,
            );
        }
        for (at, command) in &scenario.actions {
            self.queue.push(*at, Event::Command(command.clone()));
        }
    }

    fn add_node(&mut self, node: NodeId, process: Node, start_at: Option<SimTime>) {
        self.nodes.insert(node, Slot::new(process));
        if let Some(at) = start_at {
            self.queue.push(at, Event::Start { node });
        }
    }

    /// A new process for a node.
    pub(super) fn build_process(&mut self, node: NodeId, incarnation: u32) -> Option<Node> {
        let scenario = self.scenario.clone();
        match node {
            NodeId::Controller(id) => {
                let slot = self.nodes.get_mut(&node)?;
                let empty = Node::ControllerDisk(QuorumDisk::default());
                let Node::ControllerDisk(disk) = std::mem::replace(&mut slot.node, empty) else {
                    return None;
                };
                let start = self.controller_start((id, incarnation), disk);
                Some(Node::Controller(Box::new(Controller::new(start))))
            }
            NodeId::Broker(id) => {
                let spec = scenario.brokers.iter().find(|broker| broker.id == id)?;
                let slot = self.nodes.get_mut(&node)?;
                let previous_broker_epoch = std::mem::replace(&mut slot.clean_broker_epoch, -1);
                let empty = Node::BrokerDisk(BTreeMap::new());
                let Node::BrokerDisk(disk) = std::mem::replace(&mut slot.node, empty) else {
                    return None;
                };
                let start = BrokerStart {
                    id,
                    rack: spec.rack.clone(),
                    config: scenario.broker_config.clone(),
                    history: scenario.history,
                    controllers: scenario
                        .controller_ids()
                        .into_iter()
                        .map(NodeId::Controller)
                        .collect(),
                    declared_topics: scenario
                        .topics
                        .iter()
                        .map(|topic| topic.name.clone())
                        .collect(),
                    previous_broker_epoch,
                    metadata_delay: spec.metadata_delay,
                    offsets_topic: self.topic_id(CONSUMER_OFFSETS)?,
                    transaction_topic: self.topic_id(TRANSACTION_STATE)?,
                    incarnation_id: u64::from(incarnation),
                    seed: scenario.seed,
                };
                Some(Node::Broker(Box::new(Broker::new(start, disk))))
            }
            NodeId::Client(id) => {
                let slot = self.nodes.get(&node)?;
                let Node::ClientDown { next_record_id } = slot.node else {
                    return None;
                };
                let start = self.client_start(id, incarnation, next_record_id);
                Some(Node::Client(Box::new(Client::new(start))))
            }
        }
    }

    fn controller_start(
        &self,
        (id, incarnation): (ControllerId, u32),
        disk: QuorumDisk,
    ) -> ControllerStart {
        let scenario = &self.scenario;
        let topics = scenario.topics.iter().map(|topic| {
            let is_placed = topic.assignments.is_empty();
            CreateTopicsRequest {
                name: topic.name.clone(),
                partition_count: is_placed.then_some(topic.partitions),
                replication_factor: is_placed.then_some(topic.replication_factor),
                assignments: topic.assignments.clone(),
                config: Some(Arc::new(topic.config.clone())),
                overrides: Vec::new(),
            }
        });
        let elections = format!("elections of controller {id}, start {incarnation}");
        ControllerStart {
            id,
            voters: scenario.controller_ids(),
            disk,
            config: scenario.broker_config.clone(),
            topics: topics.collect(),
            brokers: scenario.brokers.iter().map(|broker| broker.id).collect(),
            reserved_names: self.declared_names.clone(),
            placement: Stream::new(scenario.seed, "placement"),
            elections: Stream::new(scenario.seed, &elections),
        }
    }

    fn client_start(&self, id: ClientId, incarnation: u32, next_record_id: u64) -> ClientStart {
        let scenario = &self.scenario;
        let stream = |purpose: &str| {
            Stream::new(
                scenario.seed,
                &format!("{purpose} of client {id}, start {incarnation}"),
            )
        };
        let bootstrap: Vec<BrokerId> = scenario.brokers.iter().map(|broker| broker.id).collect();
        let mut start = ClientStart {
            producer: None,
            consumer: None,
            admin: None,
            load: None,
            output_topic: None,
            next_record_id,
        };
        if let Some(spec) = scenario.producer(id) {
            let topics = [spec.workload.topic.clone()];
            let config = spec.config.clone();
            start.producer = Some(Producer::new(config, bootstrap, topics, stream("producer")));
            start.load = Some(self.load(spec, stream("load")));
        } else if let Some(spec) = scenario.consumer(id) {
            if let Some(output) = &spec.output {
                let topics = [output.topic.clone()];
                let config = output.config.clone();
                let producer = Producer::new(config, bootstrap.clone(), topics, stream("output"));
                start.producer = Some(producer);
                start.output_topic = Some(output.topic.clone());
            }
            let settings = consumer_settings(spec, scenario.history);
            start.consumer = Some(Consumer::new(settings, bootstrap, stream("consumer")));
        } else {
            let config = ProducerConfig {
                linger_ms: 0,
                ..ProducerConfig::default()
            };
            let topics = scenario.topics.iter().map(|topic| topic.name.clone());
            start.admin = Some(Admin::new(bootstrap.clone()));
            start.producer = Some(Producer::new(config, bootstrap, topics, stream("producer")));
        }
        start
    }

    fn load(&self, spec: &ProducerSpec, stream: Stream) -> Load {
        let workload = &spec.workload;
        let topic = self
            .scenario
            .topics
            .iter()
            .find(|topic| topic.name == workload.topic);
        let (keys, round_robin) = match &workload.keys {
            Keys::None => (None, None),
            Keys::Cycle { prefix, count } => (Some((prefix.clone(), *count)), None),
            Keys::RoundRobin => (None, Some(topic.map_or(1, |topic| topic.partitions))),
        };
        Load {
            topic: workload.topic.clone(),
            every: workload.every,
            is_random: workload.arrivals == Arrivals::Random,
            records_left: workload.records,
            keys,
            partition: workload.partition,
            round_robin,
            value_bytes: workload.value_bytes,
            sent: 0,
            transactions: (
                workload.transaction_records,
                workload.transaction_abort_every,
            ),
            in_transaction: 0,
            transactions_ended: 0,
            stream,
        }
    }
}

fn check(scenario: &Scenario) -> Result<(), ScenarioError> {
    let brokers = u32::try_from(scenario.brokers.len()).unwrap_or(u32::MAX);
    if brokers == 0 || BROKERS_MAX < brokers {
        return Err(ScenarioError::BrokerCount {
            count: brokers,
            count_max: BROKERS_MAX,
        });
    }
    if scenario.controllers == 0 || CONTROLLERS_MAX < scenario.controllers {
        return Err(ScenarioError::ControllerCount {
            count: scenario.controllers,
            count_max: CONTROLLERS_MAX,
        });
    }
    for (index, broker) in scenario.brokers.iter().enumerate() {
        if scenario
            .brokers
            .iter()
            .skip(index + 1)
            .any(|other| other.id == broker.id)
        {
            return Err(ScenarioError::DuplicateBroker(broker.id));
        }
    }
    let clients = scenario.client_count();
    if CLIENTS_MAX < clients {
        return Err(ScenarioError::ClientCount {
            count: clients,
            count_max: CLIENTS_MAX,
        });
    }
    let mut seen = BTreeSet::new();
    for id in (0..clients).map(ClientId) {
        let name = scenario.client_name(id);
        if !seen.insert(name) {
            return Err(ScenarioError::DuplicateClient(Arc::from(name)));
        }
    }
    for (index, topic) in scenario.topics.iter().enumerate() {
        if scenario
            .topics
            .iter()
            .skip(index + 1)
            .any(|other| other.name == topic.name)
        {
            return Err(ScenarioError::DuplicateTopic(topic.name.clone()));
        }
    }
    if let Some((name, reason)) = scenario.producer_faults().into_iter().next() {
        return Err(ScenarioError::ProducerConfig { name, reason });
    }
    let partitions: u64 = scenario
        .topics
        .iter()
        .map(|topic| u64::from(topic.partitions))
        .sum();
    if u64::from(PARTITIONS_MAX) < partitions {
        let count_max = PARTITIONS_MAX;
        return Err(ScenarioError::PartitionCount {
            count: partitions,
            count_max,
        });
    }
    Ok(())
}

/// Every topic name that can come up: the scenario's, Kafka's own, and those that clients name.
fn intern(scenario: &Scenario) -> Arc<[Arc<str>]> {
    let mut names: Vec<Arc<str>> = Vec::new();
    let mut add = |name: &Arc<str>| {
        if !names.contains(name) {
            names.push(name.clone());
        }
    };
    scenario.topics.iter().for_each(|topic| add(&topic.name));
    add(&Arc::from(CONSUMER_OFFSETS));
    scenario
        .producers
        .iter()
        .for_each(|producer| add(&producer.workload.topic));
    for consumer in &scenario.consumers {
        consumer.topics.iter().for_each(&mut add);
        consumer.assign.iter().for_each(|(topic, _)| add(topic));
        consumer.output.iter().for_each(|output| add(&output.topic));
    }
    add(&Arc::from(TRANSACTION_STATE));
    Arc::from(names)
}

fn consumer_settings(spec: &ConsumerSpec, history: HistoryConfig) -> ConsumerSettings {
    let client_id = spec
        .config
        .client_id
        .clone()
        .unwrap_or_else(|| spec.name.clone());
    let mut topics = spec.topics.clone();
    topics.sort_unstable();
    let output = spec.output.as_ref();
    let is_transactional = output.is_some_and(|it| it.config.transactional_id.is_some());
    let mut config = spec.config.clone();
    // Offsets that go with a transaction are not committed beside it.
    config.enable_auto_commit &= !is_transactional;
    ConsumerSettings {
        client_id,
        config,
        topics,
        assign: spec.assign.clone(),
        history,
        processing: processing_settings(&spec.processing, is_transactional),
        has_output: spec.output.is_some(),
    }
}

fn processing_settings(processing: &Processing, is_transactional: bool) -> ProcessingSettings {
    let time = match processing.time {
        ProcessingTime::Fixed(span) => (span, span, false),
        ProcessingTime::Uniform(low, high) => (low, high, false),
        ProcessingTime::Exponential(mean) => (mean, mean, true),
    };
    let rules: Vec<(Arc<str>, RecordEffect)> = processing
        .rules
        .iter()
        .map(|(value, rule)| {
            let effect = match rule {
                RecordRule::Takes(span) => RecordEffect::Takes(*span),
                RecordRule::Crashes => RecordEffect::Crashes,
                RecordRule::Skips => RecordEffect::Skips { commits: false },
                RecordRule::SkipsAndCommits => RecordEffect::Skips { commits: true },
            };
            (value.clone(), effect)
        })
        .collect();
    let commit = match processing.commit {
        CommitStyle::None => CommitMode::Never,
        CommitStyle::SyncAfterBatch => CommitMode::Sync,
        CommitStyle::SyncAfterRecord => CommitMode::SyncEach,
        CommitStyle::SyncBeforeBatch => CommitMode::SyncBefore,
        CommitStyle::AsyncAfterBatch => CommitMode::Async,
    };
    let commit = if is_transactional {
        CommitMode::Transaction
    } else {
        commit
    };
    ProcessingSettings {
        time,
        rules,
        commit,
        on_commit_error: processing.on_commit_error,
        commits_on_revoke: processing.commits_on_revoke,
        read_ahead: processing.read_ahead,
        assignor_time: processing.assignor_time,
    }
}
