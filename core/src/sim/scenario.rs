//! What a run starts from: the cluster, its clients and what they do.

use super::command::Command;
use crate::base::config::{
    BrokerConfig, ConsumerConfig, HistoryConfig, ProducerConfig, TopicConfig,
};
use crate::base::ids::{BrokerId, ClientId, ControllerId, NodeId};
use crate::client::consumer::{OnCommitError, ReadAhead};
use crate::kernel::limits::SIM_TIME_MAX_US;
use crate::kernel::network::LinkConfig;
use crate::kernel::time::{SimTime, Span, parse_span};
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
    /// Partitions that it takes by hand with `assign()`, outside any group; then it subscribes to
    /// nothing.
    pub assign: Vec<(Arc<str>, u32)>,
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
    /// When the application commits by itself (with auto commit off).
    pub commit: CommitStyle,
    /// What it does when `commitSync()` throws.
    pub on_commit_error: OnCommitError,
    /// Whether its listener commits what is done when partitions are taken away.
    pub commits_on_revoke: bool,
    /// Whether it polls on while it delivers.
    pub read_ahead: ReadAhead,
    /// How long its assignor takes when it leads the group.
    pub assignor_time: Span,
}

impl Default for Processing {
    fn default() -> Self {
        Self {
            time: ProcessingTime::Fixed(Span::ZERO),
            rules: Vec::new(),
            commit: CommitStyle::None,
            on_commit_error: OnCommitError::GoOn,
            commits_on_revoke: false,
            read_ahead: ReadAhead::Never,
            assignor_time: Span::ZERO,
        }
    }
}

/// A name, what it takes, and what it means.
type Setting = (&'static str, &'static str, &'static str);

impl Processing {
    /// When the application commits by itself: the name, what it takes, and what it means.
    pub const COMMIT: Setting = (
        "commit",
        "none, sync-after-batch, sync-after-record, sync-before-batch or async-after-batch",
        "When the application commits by itself.",
    );
    /// What it does when `commitSync()` throws.
    pub const ON_COMMIT_ERROR: Setting = (
        "on-commit-error",
        "go-on, drop-batch or seek-back",
        "What it does with the rest of a batch when commitSync() throws.",
    );
    /// Whether its listener commits.
    pub const COMMIT_ON_REVOKE: Setting = (
        "commit-on-revoke",
        "true or false",
        "Whether its listener commits what is done when partitions are taken away.",
    );
    /// Whether it reads ahead.
    pub const READ_AHEAD: Setting = (
        "read-ahead",
        "never, deliver-late or drop",
        "Whether it polls on while it delivers, and what becomes of what it has read when its partition goes.",
    );
    /// How long its assignor takes.
    pub const ASSIGNOR_TIME: Setting = (
        "assignor-time",
        "a time such as 11s",
        "How long its assignor takes when it leads the group.",
    );
    /// What of an application can be changed by name.
    pub const SETTINGS: [Setting; 5] = [
        Self::COMMIT,
        Self::ON_COMMIT_ERROR,
        Self::COMMIT_ON_REVOKE,
        Self::READ_AHEAD,
        Self::ASSIGNOR_TIME,
    ];

    /// Changes one of [`Self::SETTINGS`]. False when `value` does not fit, unset when there is no such
    /// name.
    pub fn set(&mut self, name: &str, value: &str) -> Option<bool> {
        let find = |words: &[&str]| words.iter().position(|word| *word == value);
        Some(match name {
            "commit" => {
                let found = COMMIT_STYLES.iter().find(|(word, _)| *word == value);
                self.commit = found.map_or(self.commit, |(_, style)| *style);
                found.is_some()
            }
            "on-commit-error" => {
                let found = COMMIT_ERRORS.iter().find(|(word, _)| *word == value);
                self.on_commit_error = found.map_or(self.on_commit_error, |(_, style)| *style);
                found.is_some()
            }
            "read-ahead" => {
                let found = READ_AHEADS.iter().find(|(word, _)| *word == value);
                self.read_ahead = found.map_or(self.read_ahead, |(_, style)| *style);
                found.is_some()
            }
            "commit-on-revoke" => {
                let found = find(&["false", "true"]);
                self.commits_on_revoke = found.map_or(self.commits_on_revoke, |at| at == 1);
                found.is_some()
            }
            "assignor-time" => {
                let found = parse_span(value).ok();
                let found = found.filter(|time| time.0 <= SIM_TIME_MAX_US);
                self.assignor_time = found.unwrap_or(self.assignor_time);
                found.is_some()
            }
            _ => return None,
        })
    }

    /// The present value of one of [`Self::SETTINGS`].
    pub fn value(&self, name: &str) -> Option<String> {
        fn word<T: PartialEq>(words: &[(&str, T)], wanted: &T) -> String {
            let mut found = words.iter().filter(|(_, style)| style == wanted);
            found
                .next()
                .map_or_else(String::new, |(word, _)| String::from(*word))
        }
        Some(match name {
            "commit" => word(COMMIT_STYLES, &self.commit),
            "on-commit-error" => word(COMMIT_ERRORS, &self.on_commit_error),
            "read-ahead" => word(READ_AHEADS, &self.read_ahead),
            "commit-on-revoke" => self.commits_on_revoke.to_string(),
            "assignor-time" => self.assignor_time.to_string(),
            _ => return None,
        })
    }
}

/// The words for [`Processing::commit`].
pub const COMMIT_STYLES: &[(&str, CommitStyle)] = &[
    ("none", CommitStyle::None),
    ("sync-after-batch", CommitStyle::SyncAfterBatch),
    ("sync-after-record", CommitStyle::SyncAfterRecord),
    ("sync-before-batch", CommitStyle::SyncBeforeBatch),
    ("async-after-batch", CommitStyle::AsyncAfterBatch),
];

/// The words for [`Processing::on_commit_error`].
pub const COMMIT_ERRORS: &[(&str, OnCommitError)] = &[
    ("go-on", OnCommitError::GoOn),
    ("drop-batch", OnCommitError::DropBatch),
    ("seek-back", OnCommitError::SeekBack),
];

/// The words for [`Processing::read_ahead`].
pub const READ_AHEADS: &[(&str, ReadAhead)] = &[
    ("never", ReadAhead::Never),
    ("deliver-late", ReadAhead::DeliverLate),
    ("drop", ReadAhead::Drop),
];

/// When an application commits by itself.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum CommitStyle {
    /// Never; `enable.auto.commit` decides.
    #[default]
    None,
    /// `commitSync()` after the records of a poll are processed.
    SyncAfterBatch,
    /// `commitSync()` after each record.
    SyncAfterRecord,
    /// `commitSync()` of what a poll returned before the first record of it is processed.
    SyncBeforeBatch,
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
    /// The application seeks past it.
    Skips,
    /// The application seeks past it and commits that.
    SkipsAndCommits,
}

impl RecordRule {
    /// Reads `crash`, `skip`, `skip-and-commit` or a time.
    pub fn parse(text: &str) -> Option<Self> {
        match text {
            "crash" => Some(Self::Crashes),
            "skip" => Some(Self::Skips),
            "skip-and-commit" => Some(Self::SkipsAndCommits),
            _ => parse_span(text).ok().map(Self::Takes),
        }
    }
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

/// Reads a partition by name: `orders-0`.
pub fn parse_partition(text: &str) -> Option<(Arc<str>, u32)> {
    let (topic, partition) = text.rsplit_once('-')?;
    let partition = partition.parse().ok()?;
    (!topic.is_empty()).then(|| (Arc::from(topic), partition))
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
