//! Where everything of the cluster is.

use crate::scene::place::Place;
use crate::scene::scale::count;
use crate::scene::view::View;
use terrarium_core::base::ids::{BrokerId, NodeId, TopicPartition};
use terrarium_core::sim::view::ProcessState;

/// The layout of the cluster.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Places {
    /// Producers on the left.
    pub producers: Vec<(NodeId, Place)>,
    /// Brokers in the middle.
    pub brokers: Vec<(BrokerId, Place)>,
    /// Consumers on the right.
    pub consumers: Vec<(NodeId, Place)>,
    /// The controllers, where there is room for them.
    pub controllers: Vec<(NodeId, Place)>,
    /// Partitions in the order of their rows.
    pub rows: Vec<TopicPartition>,
    /// Partitions for which there is no row.
    pub rows_left_out: usize,
    /// From the top of a broker to its first row.
    pub rows_top: f64,
    /// From one row to the next.
    pub row_pitch: f64,
    /// Whether it is the layout of small screens.
    pub is_narrow: bool,
}

impl Places {
    /// Lays the stage out.
    pub(super) fn of(view: &View<'_>) -> Self {
        let rows: Vec<TopicPartition> = view.partitions().map(|p| p.topic_partition).collect();
        let producers = producers(view);
        let consumers: Vec<NodeId> = view
            .stage
            .consumers
            .iter()
            .map(|c| NodeId::Client(c.client))
            .collect();
        let mut places = if view.is_narrow() {
            narrow(view, &producers, &consumers)
        } else {
            wide(view, &producers, &consumers)
        };
        places.fit_rows(rows, partitions_to_come(view));
        places
    }

    /// A process's card.
    pub(super) fn node(&self, node: NodeId) -> Option<Place> {
        match node {
            NodeId::Broker(id) => self
                .brokers
                .iter()
                .find(|(broker, _)| *broker == id)
                .map(|(_, place)| *place),
            NodeId::Client(_) => {
                let mut clients = self.producers.iter().chain(&self.consumers);
                clients
                    .find(|(client, _)| *client == node)
                    .map(|(_, place)| *place)
            }
            NodeId::Controller(_) => self
                .controllers
                .iter()
                .find(|(controller, _)| *controller == node)
                .map(|(_, place)| *place),
        }
    }

    /// The strip of a partition on a broker.
    pub(super) fn strip(&self, broker: BrokerId, partition: TopicPartition) -> Option<Place> {
        let card = self.node(NodeId::Broker(broker))?;
        let row = self.rows.iter().position(|row| *row == partition)?;
        let y = card.y + self.rows_top + count(row) * self.row_pitch;
        let inset = if self.is_narrow { 8.0 } else { 14.0 };
        let (top, height) = self.strip_shape();
        Some(Place::new(
            card.x + inset,
            y + top,
            card.width - 2.0 * inset,
            height,
        ))
    }

    /// From the top of a row to its strip, and the strip's height.
    pub(super) fn strip_shape(&self) -> (f64, f64) {
        if self.row_pitch < 20.0 {
            (1.0, (self.row_pitch - 4.0).max(3.0))
        } else if self.row_pitch < 40.0 {
            (13.0, (self.row_pitch - 18.0).clamp(5.0, 13.0))
        } else if self.row_pitch < 60.0 {
            (15.0, 15.0)
        } else {
            (16.0, 26.0)
        }
    }

    /// Whether there is room for a name above each strip.
    pub(super) fn has_names(&self) -> bool {
        20.0 <= self.row_pitch
    }

    /// Whether there is room for a line under each strip.
    pub(super) fn has_notes(&self) -> bool {
        44.0 <= self.row_pitch
    }

    fn fit_rows(&mut self, mut rows: Vec<TopicPartition>, to_come: usize) {
        // Topics that are still to be created have their room already: nothing jumps.
        let expected = rows.len().max(to_come);
        let card = self.brokers.first().map_or(0.0, |(_, place)| place.height);
        let foot = if self.is_narrow { 24.0 } else { 34.0 };
        let room = (card - self.rows_top - foot).max(0.0);
        let widest = match (self.is_narrow, card < 300.0) {
            (true, true) => 40.0,
            (true, false) => 58.0,
            (false, _) => 54.0,
        };
        // A few partitions may be drawn larger.
        let widest = if expected <= 2 && !self.is_narrow {
            84.0
        } else {
            widest
        };
        self.row_pitch = (room / count(expected.max(1))).clamp(9.0, widest);
        let fitting = crate::scene::scale::index(room / self.row_pitch).max(1);
        self.rows_left_out = rows.len().saturating_sub(fitting);
        rows.truncate(fitting);
        // Cards are no higher than what they hold.
        let needed = self.rows_top + count(expected.max(1)) * self.row_pitch + foot;
        for (_, place) in &mut self.brokers {
            place.height = place.height.min(needed);
        }
        if self.is_narrow {
            self.close_up();
        } else {
            self.lift_controllers();
        }
        self.rows = rows;
    }
}

impl Places {
    /// Puts the controllers beside the foot of the brokers, below the producers.
    fn lift_controllers(&mut self) {
        let foot = self
            .brokers
            .iter()
            .map(|(_, place)| place.bottom())
            .fold(0.0, f64::max);
        let floor = self
            .producers
            .iter()
            .map(|(_, place)| place.bottom())
            .fold(0.0, f64::max);
        let (Some((_, first)), Some((_, last))) =
            (self.controllers.first(), self.controllers.last())
        else {
            return;
        };
        let height = last.bottom() - first.y;
        let top = (foot - height).max(floor + 14.0).min(first.y);
        let shift = first.y - top;
        for (_, place) in &mut self.controllers {
            place.y -= shift;
        }
    }

    /// Brings consumers below brokers nearer to them on a tall screen.
    fn close_up(&mut self) {
        let bottom = self
            .brokers
            .iter()
            .map(|(_, place)| place.bottom())
            .fold(0.0, f64::max);
        let top = self
            .consumers
            .iter()
            .map(|(_, place)| place.y)
            .fold(f64::INFINITY, f64::min);
        let shift = (top - bottom - 64.0).max(0.0);
        for (_, place) in &mut self.consumers {
            place.y -= shift;
        }
    }
}

/// Partitions of the scenario's topics.
fn partitions_to_come(view: &View<'_>) -> usize {
    let partitions = view
        .scenario
        .topics
        .iter()
        .map(|topic| topic.partitions)
        .sum::<u32>();
    usize::try_from(partitions).unwrap_or_default()
}

/// Producers that show: the console's only once it has been used.
fn producers(view: &View<'_>) -> Vec<NodeId> {
    let consumers: Vec<_> = view.stage.consumers.iter().map(|c| c.client).collect();
    let console = view.stage.producers.last().map(|producer| producer.client);
    let shows = view.stage.producers.iter().filter(|producer| {
        let is_used = producer.records_queued != 0
            || producer.records_in_flight != 0
            || producer.records_acknowledged != 0
            || producer.records_failed != 0;
        // A producer inside a consumer's application has no card of its own.
        !consumers.contains(&producer.client)
            && (Some(producer.client) != console || is_used)
            && (producer.process != ProcessState::NotStarted || Some(producer.client) != console)
    });
    shows
        .map(|producer| NodeId::Client(producer.client))
        .collect()
}

fn wide(view: &View<'_>, producers: &[NodeId], consumers: &[NodeId]) -> Places {
    let (width, height) = view.size;
    let top = TOP;
    let bottom = height - 24.0;
    let (left, right) = (16.0, width - 14.0);
    let consumer_width = (width * 0.165).clamp(128.0, 190.0);
    let producer_width = (width * 0.145).clamp(112.0, 150.0);
    let brokers_from = left + producer_width + 34.0;
    let brokers_to = if consumers.is_empty() {
        right
    } else {
        right - consumer_width - 40.0
    };
    let broker_count = count(view.stage.brokers.len().max(1));
    let gap = if broker_count <= 4.0 { 20.0 } else { 10.0 };
    let room = brokers_to - brokers_from;
    let broker_width = ((room - gap * (broker_count - 1.0)) / broker_count)
        .min(if consumers.is_empty() { 320.0 } else { 250.0 });
    let used = broker_width * broker_count + gap * (broker_count - 1.0);
    let shift = ((room - used) / 2.0).max(0.0);
    let brokers = view
        .stage
        .brokers
        .iter()
        .enumerate()
        .map(|(index, broker)| {
            let x = brokers_from + shift + count(index) * (broker_width + gap);
            (broker.id, Place::new(x, top, broker_width, bottom - top))
        });
    let quorum = controllers(view);
    let card = if quorum.len() == 1 { 40.0 } else { 32.0 };
    let quorum_height = count(quorum.len()) * (card + 6.0) - 6.0;
    let quorum_room = Place::new(left, bottom - quorum_height, producer_width, quorum_height);
    let producer_height = bottom - top - quorum_height - 16.0;
    let producer_room = Place::new(left, top, producer_width, producer_height);
    let consumer_room = Place::new(right - consumer_width, top, consumer_width, bottom - top);
    Places {
        producers: stacked(producers, producer_room, 78.0, true),
        brokers: brokers.collect(),
        consumers: stacked(consumers, consumer_room, 84.0, false),
        controllers: quorum
            .into_iter()
            .enumerate()
            .map(|(index, node)| {
                let y = quorum_room.y + count(index) * (card + 6.0);
                (node, Place::new(left, y, producer_width, card))
            })
            .collect(),
        rows: Vec::new(),
        rows_left_out: 0,
        rows_top: 42.0,
        row_pitch: 54.0,
        is_narrow: false,
    }
}

fn narrow(view: &View<'_>, producers: &[NodeId], consumers: &[NodeId]) -> Places {
    let (width, height) = view.size;
    let (left, right) = (10.0, width - 10.0);
    let broker_count = count(view.stage.brokers.len().max(1));
    let gap = 8.0;
    let broker_width = (right - left - gap * (broker_count - 1.0)) / broker_count;
    let lines = if consumers.len() <= 4 { 1.0 } else { 2.0 };
    let consumer_height = if height < 430.0 { 50.0 } else { 84.0 };
    let consumers_top = height - 10.0 - lines * (consumer_height + gap) + gap;
    let producers_top = TOP;
    let brokers_top = producers_top + 40.0;
    let brokers = view
        .stage
        .brokers
        .iter()
        .enumerate()
        .map(|(index, broker)| {
            let x = left + count(index) * (broker_width + gap);
            (
                broker.id,
                Place::new(
                    x,
                    brokers_top,
                    broker_width,
                    consumers_top - 26.0 - brokers_top,
                ),
            )
        });
    let producer_room = Place::new(left, producers_top, right - left - 100.0, 30.0);
    let consumer_room = Place::new(
        left,
        consumers_top,
        right - left,
        lines * (consumer_height + gap) - gap,
    );
    let quorum = controllers(view);
    let room = Place::new(right - 92.0, producers_top, 92.0, 30.0);
    let controllers = beside(&quorum, room, 1);
    Places {
        producers: beside(producers, producer_room, 1),
        brokers: brokers.collect(),
        consumers: beside(consumers, consumer_room, if lines < 2.0 { 1 } else { 2 }),
        controllers,
        rows: Vec::new(),
        rows_left_out: 0,
        rows_top: 28.0,
        row_pitch: 34.0,
        is_narrow: true,
    }
}

/// The voters of the quorum.
fn controllers(view: &View<'_>) -> Vec<NodeId> {
    let voters = view.stage.controller.voters.iter();
    voters.map(|voter| NodeId::Controller(voter.id)).collect()
}

/// Cards one above the other, at most `tallest` high each, with a gap that closes as they grow in
/// number.
fn stacked(nodes: &[NodeId], room: Place, tallest: f64, is_centred: bool) -> Vec<(NodeId, Place)> {
    let number = count(nodes.len().max(1));
    let gap = if number <= 5.0 { 10.0 } else { 4.0 };
    let height = ((room.height - gap * (number - 1.0)) / number).min(tallest);
    let used = number * height + gap * (number - 1.0);
    let top = if is_centred {
        room.y + (room.height - used).max(0.0) / 2.0
    } else {
        room.y
    };
    let place = |index: usize| {
        let y = top + count(index) * (height + gap);
        Place::new(room.x, y, room.width, height)
    };
    nodes
        .iter()
        .enumerate()
        .map(|(index, node)| (*node, place(index)))
        .collect()
}

/// Cards side by side in `lines` lines.
fn beside(nodes: &[NodeId], room: Place, lines: usize) -> Vec<(NodeId, Place)> {
    let in_line = nodes.len().div_ceil(lines).max(1);
    let gap = 6.0;
    let width = ((room.width - gap * count(in_line - 1)) / count(in_line)).min(170.0);
    let height = (room.height - gap * count(lines - 1)) / count(lines);
    let place = |index: usize| {
        let (line, column) = (index / in_line, index % in_line);
        let x = room.x + count(column) * (width + gap);
        Place::new(x, room.y + count(line) * (height + gap), width, height)
    };
    nodes
        .iter()
        .enumerate()
        .map(|(index, node)| (*node, place(index)))
        .collect()
}

/// The strip at the top that belongs to the section's title and tabs.
pub(in crate::scene) const TOP: f64 = 42.0;
