//! What every picture is drawn from.

use super::fit::Measure;
use super::theme::HUES;
use super::words::Words;
use crate::driver::history::History;
use crate::driver::selection::Selection;
use terrarium_core::base::ids::{BrokerId, ClientId, NodeId, TopicPartition};
use terrarium_core::kernel::time::{SimTime, Span};
use terrarium_core::sim::command::Command;
use terrarium_core::sim::scenario::Scenario;
use terrarium_core::sim::view::{PartitionView, ReplicaView, StageView};
use terrarium_core::trace::buffer::TraceBuffer;

/// Everything that a picture is a function of, but its own layout.
#[derive(Clone, Copy)]
pub(crate) struct View<'a> {
    /// The run at the playhead.
    pub stage: &'a StageView,
    /// What the run started from.
    pub scenario: &'a Scenario,
    /// What happened up to the playhead.
    pub trace: &'a TraceBuffer,
    /// The index of what happened, perhaps beyond the playhead.
    pub history: &'a History,
    /// Texts.
    pub words: &'a dyn Words,
    /// Widths of texts.
    pub measure: &'a dyn Measure,
    /// What is chosen.
    pub selection: Option<&'a Selection>,
    /// What lies under the pointer.
    pub hovered: Option<&'a Selection>,
    /// Width and height in CSS pixels.
    pub size: (f64, f64),
    /// How it is to be drawn.
    pub options: Options,
}

/// How pictures are drawn.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Options {
    /// Whether topics that Kafka keeps for itself show.
    pub show_internal: bool,
    /// Whether messages stand at their ends instead of travelling.
    pub is_motion_reduced: bool,
    /// How long after its arrival a message's trail still shows.
    pub afterglow: Span,
}

impl View<'_> {
    /// The instant of the playhead.
    pub(crate) fn now(&self) -> SimTime {
        self.stage.now
    }

    /// How many trace entries are known at the playhead.
    pub(crate) fn clip(&self) -> u64 {
        self.trace.next_index()
    }

    /// Whether it is narrow enough to need the layout of small screens.
    pub(crate) fn is_narrow(&self) -> bool {
        self.size.0 < 560.0
    }

    /// A text.
    pub(crate) fn say(&self, key: &str, args: &[(&str, &str)]) -> String {
        self.words.text(key, args)
    }

    /// A process's name.
    pub(crate) fn node_name(&self, node: NodeId) -> String {
        match node {
            NodeId::Broker(id) => self.say("stage.broker", &[("id", &id.to_string())]),
            NodeId::Controller(id) if 1 < self.stage.controller.voters.len() => {
                self.say("stage.controller-id", &[("id", &id.to_string())])
            }
            NodeId::Controller(_) => self.say("stage.controller", &[]),
            NodeId::Client(id) => {
                let consumer = self.stage.consumers.iter().find(|c| c.client == id);
                let producer = self.stage.producers.iter().find(|p| p.client == id);
                let name = consumer.map(|c| &c.name).or(producer.map(|p| &p.name));
                name.map_or_else(|| node.to_string(), ToString::to_string)
            }
        }
    }

    /// When the scenario starts a client next.
    pub(crate) fn next_start(&self, client: ClientId) -> Option<SimTime> {
        let own = match self.scenario.consumer(client) {
            Some(consumer) => consumer.start_at,
            None => self
                .scenario
                .producer(client)
                .and_then(|producer| producer.start_at),
        };
        let actions = self
            .scenario
            .actions
            .iter()
            .filter_map(|(at, command)| match command {
                Command::StartClient(id) | Command::RestartClient(id) if *id == client => Some(*at),
                _ => None,
            });
        own.into_iter()
            .chain(actions)
            .filter(|at| self.now() < *at)
            .min()
    }

    /// Partitions that show, as the controller has them, topic by topic.
    pub(crate) fn partitions(&self) -> impl Iterator<Item = &PartitionView> {
        let show_internal = self.options.show_internal;
        self.stage
            .topics
            .iter()
            .filter(move |topic| show_internal || !topic.is_internal)
            .flat_map(|topic| &topic.partitions)
    }

    /// A partition's short name: `p0` of the first topic, `out-0` of others.
    pub(crate) fn partition_name(&self, partition: TopicPartition) -> String {
        let topic = self
            .stage
            .topics
            .iter()
            .find(|topic| topic.topic_id == partition.topic);
        match topic {
            Some(topic) if 0 < self.topic_rank(partition) => {
                format!("{}-{}", topic.name, partition.partition)
            }
            _ => format!("p{}", partition.partition),
        }
    }

    /// A partition's hue: topics after the first begin in the middle of the palette.
    pub(crate) fn hue(&self, partition: TopicPartition) -> u8 {
        let shift = self.topic_rank(partition).wrapping_mul(HUES / 2);
        u8::try_from(partition.partition.wrapping_add(shift) % HUES).unwrap_or_default()
    }

    /// How many topics of users stand before this partition's.
    fn topic_rank(&self, partition: TopicPartition) -> u32 {
        let users = self.stage.topics.iter().filter(|topic| !topic.is_internal);
        let before = users
            .take_while(|topic| topic.topic_id != partition.topic)
            .count();
        u32::try_from(before).unwrap_or_default()
    }

    /// A broker's copy of a partition.
    pub(crate) fn replica(&self, broker: BrokerId, of: TopicPartition) -> Option<&ReplicaView> {
        let broker = self.stage.brokers.iter().find(|view| view.id == broker)?;
        broker
            .replicas
            .iter()
            .find(|replica| replica.topic_partition == of)
    }

    /// Whether `selection` is chosen or under the pointer.
    pub(crate) fn is_lit(&self, selection: &Selection) -> bool {
        self.selection == Some(selection) || self.hovered == Some(selection)
    }

    /// Whether `selection` is chosen.
    pub(crate) fn is_selected(&self, selection: &Selection) -> bool {
        self.selection == Some(selection)
    }

    /// Whether this node is chosen or under the pointer.
    pub(crate) fn is_node_lit(&self, node: NodeId) -> bool {
        self.is_lit(&Selection::Node(node))
    }

    /// Whether this partition, or one copy of it, is chosen or under the pointer.
    pub(crate) fn is_partition_lit(&self, partition: TopicPartition) -> bool {
        let chosen = self.selection.and_then(Selection::partition);
        let hovered = self.hovered.and_then(Selection::partition);
        chosen == Some(partition) || hovered == Some(partition)
    }
}

impl std::fmt::Debug for View<'_> {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter
            .debug_struct("View")
            .field("now", &self.stage.now)
            .field("size", &self.size)
            .finish_non_exhaustive()
    }
}
