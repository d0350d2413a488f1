//! What a run starts from: the cluster, its clients and what they do.

use super::command::Command;
use crate::base::config::{
    BrokerConfig, ConsumerConfig, HistoryConfig, ProducerConfig, TopicConfig,
};
use crate::base::ids::{BrokerId, ClientId, ControllerId, NodeId};
use crate::kernel::network::LinkConfig;
use crate::kernel::time::{SimTime, Span};
use serde::Serialize;
use std::sync::Arc;

/// A cluster, its clients, and the actions that a lesson takes by itself.
///
/// Client ids number the producers first, then the consumers, then the console producer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Scenario {
    /// Decides everything that is left to chance.
    pub seed: u64,
    /// How many controllers make up the quorum.
    pub controllers: u32,
    /// The brokers.
    pub brokers: Vec<BrokerSpec>,
    /// Settings of every broker.
    pub broker_config: Arc<BrokerConfig>,
    /// What an old release did otherwise; nothing unless a lesson is about it.
    pub history: HistoryConfig,
    /// The topics, created as soon as the brokers are up.
    pub topics: Vec<TopicSpec>,
    /// The producers.
    pub producers: Vec<ProducerSpec>,
    /// The consumers.
    pub consumers: Vec<ConsumerSpec>,
    /// How links behave that are not in `links`.
    pub network: LinkConfig,
    /// Links that behave in their own way, by direction.
    pub links: Vec<(NodeId, NodeId, LinkConfig)>,
    /// Actions that the scenario takes by itself, in order of time.
    pub actions: Vec<(SimTime, Command)>,
    /// Where the run ends when nothing else is said.
    pub until: SimTime,
}

/// A broker.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct BrokerSpec {
    /// Its `node.id`.
    pub id: BrokerId,
    /// Its `broker.rack`; unset when it has none.
    pub rack: Option<Arc<str>>,
    /// How long records of the metadata log wait at this broker before it acts on them.
    pub metadata_delay: Span,
}

/// A topic.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct TopicSpec {
    /// Its name.
    pub name: Arc<str>,
    /// How many partitions.
    pub partitions: u32,
    /// How many replicas of each.
    pub replication_factor: u32,
    /// Replicas by hand, one list a partition; empty leaves the placement to the controller.
    pub assignments: Vec<Vec<BrokerId>>,
    /// Its settings.
    pub config: TopicConfig,
}

/// A producer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ProducerSpec {
    /// Its name on the stage.
    pub name: Arc<str>,
    /// Its settings.
    pub config: ProducerConfig,
    /// When its process starts; unset waits for an action.
    pub start_at: Option<SimTime>,
    /// What it sends.
    pub workload: Workload,
}

/// What a producer sends.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Workload {
    /// Where to.
    pub topic: Arc<str>,
    /// Time between two records.
    pub every: Span,
    /// How the time between two records varies.
    pub arrivals: Arrivals,
    /// Records in all; unset goes on for ever.
    pub records: Option<u64>,
    /// Keys.
    pub keys: Keys,
    /// Always this partition; unset leaves it to key or partitioner.
    pub partition: Option<u32>,
    /// Size of each value in bytes.
    pub value_bytes: u32,
    /// Records in one transaction, with `transactional.id`.
    pub transaction_records: u32,
    /// Every how many transactions one is aborted; unset for never.
    pub transaction_abort_every: Option<u32>,
}

/// How the time between two records varies.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Arrivals {
    /// Always the same.
    Even,
    /// Exponentially distributed, as independent customers come.
    Random,
}

/// Which keys a producer gives its records.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Keys {
    /// None.
    None,
    /// `prefix-0` to `prefix-(count-1)` in turn.
    Cycle {
        /// What they begin with.
        prefix: Arc<str>,
        /// How many.
        count: u32,
    },
    /// None, but partitions in turn: partition 0, 1, 2, …
    RoundRobin,
}

/// A consumer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ConsumerSpec {
    /// Its name on the stage.
    pub name: Arc<str>,
    /// Its settings.
    pub config: ConsumerConfig,
    /// The topics that it subscribes to, sorted.
    pub topics: Vec<Arc<str>>,
    /// When its process starts; unset waits for an action.
    pub start_at: Option<SimTime>,
    /// How long a record takes.
    pub processing: Processing,
    /// What happens after a crash.
    pub restart: RestartPolicy,
    /// Where a copy of each processed record goes; unset for nowhere.
    pub output: Option<OutputSpec>,
}

/// Where processed records go.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct OutputSpec {
    /// The topic.
    pub topic: Arc<str>,
    /// Settings of the embedded producer.
    pub config: ProducerConfig,
}

/// How long a record takes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Processing {
    /// For every record that no rule names.
    pub time: ProcessingTime,
    /// For records whose value is exactly this text.
    pub rules: Vec<(Arc<str>, RecordRule)>,
    /// Whether the application commits synchronously after each batch (with auto commit off).
    pub commit: CommitStyle,
}

/// When an application commits by itself.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum CommitStyle {
    /// Never; `enable.auto.commit` decides.
    #[default]
    None,
    /// `commitSync()` after the records of a poll are processed.
    SyncAfterBatch,
    /// `commitAsync()` after the records of a poll are processed.
    AsyncAfterBatch,
}

/// A processing time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum ProcessingTime {
    /// Always the same.
    Fixed(Span),
    /// Uniform between two bounds.
    Uniform(Span, Span),
    /// Exponentially distributed with this mean.
    Exponential(Span),
}

/// What a record does to the application.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum RecordRule {
    /// It takes this long.
    Takes(Span),
    /// The process crashes when it takes the record up.
    Crashes,
}

/// What happens after a crash.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum RestartPolicy {
    /// Nothing.
    Never,
    /// A new process starts after a while, like a pod.
    Always {
        /// Time from the first crash to the next start.
        delay: Span,
        /// The delay doubles with each crash up to this (Kubernetes: 5 minutes).
        delay_max: Span,
    },
}

impl Scenario {
    /// The id of the producer that sends what a person types: the last client.
    pub fn console(&self) -> ClientId {
        ClientId(self.client_count() - 1)
    }

    /// Producers whose settings contradict each other, by the client's name, and how.
    pub fn producer_faults(&self) -> Vec<(Arc<str>, &'static str)> {
        let producers = self.producers.iter().map(|it| (&it.name, &it.config));
        let outputs = self.consumers.iter();
        let outputs = outputs.filter_map(|it| Some((&it.name, &it.output.as_ref()?.config)));
        let checked = producers.chain(outputs);
        checked
            .filter_map(|(name, config)| Some((name.clone(), config.effective().err()?)))
            .collect()
    }

    /// Clients in all, the console producer included.
    pub fn client_count(&self) -> u32 {
        u32::try_from(self.producers.len() + self.consumers.len() + 1).unwrap_or(u32::MAX)
    }

    /// The client called `name`.
    pub fn client_by_name(&self, name: &str) -> Option<ClientId> {
        (0..self.client_count())
            .map(ClientId)
            .find(|id| self.client_name(*id) == name)
    }

    /// A client's name on the stage.
    pub fn client_name(&self, client: ClientId) -> &str {
        match self.producer(client) {
            Some(producer) => &producer.name,
            None => self
                .consumer(client)
                .map_or(CONSOLE, |consumer| &consumer.name),
        }
    }

    /// The producer with this id.
    pub fn producer(&self, client: ClientId) -> Option<&ProducerSpec> {
        self.producers.get(usize::try_from(client.0).ok()?)
    }

    /// The consumer with this id.
    pub fn consumer(&self, client: ClientId) -> Option<&ConsumerSpec> {
        let index = usize::try_from(client.0)
            .ok()?
            .checked_sub(self.producers.len())?;
        self.consumers.get(index)
    }

    /// The controllers' ids: 3000, 3001, …
    pub fn controller_ids(&self) -> Vec<ControllerId> {
        let first = CONTROLLER.0;
        (first..first + self.controllers)
            .map(ControllerId)
            .collect()
    }

    /// A node's name on the stage: `broker 2`, `controller`, `controller 3001`, `c3`.
    pub fn node_name(&self, node: NodeId) -> String {
        match node {
            NodeId::Controller(id) if 1 < self.controllers => format!("controller {id}"),
            NodeId::Controller(_) => String::from("controller"),
            NodeId::Broker(id) => format!("broker {id}"),
            NodeId::Client(id) => self.client_name(id).to_owned(),
        }
    }
}

/// The `node.id` of the first controller; further ones count up from it.
pub const CONTROLLER: ControllerId = ControllerId(3_000);

/// The name of the producer that sends what a person types.
pub const CONSOLE: &str = "console";
