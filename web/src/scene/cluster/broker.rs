//! A broker and its replicas.

use super::places::Places;
use super::{Card, draw_card};
use crate::driver::selection::Selection;
use crate::scene::fit::{first_fitting, first_whole};
use crate::scene::place::Place;
use crate::scene::scale::{count, index, real, real_signed};
use crate::scene::shape::{Align, Font, Geometry, Layer, Scene, Style, Type};
use crate::scene::theme::Ink;
use crate::scene::view::View;
use crate::scene::words;
use terrarium_core::base::ids::{BrokerId, NodeId, TopicPartition};
use terrarium_core::sim::view::{BrokerView, FollowerView, ProcessState, ReplicaView};
use terrarium_core::trace::event::Waiting;

/// Draws a broker.
pub(super) fn draw(
    scene: &mut Scene,
    view: &View<'_>,
    places: &Places,
    (broker, place): (&BrokerView, Place),
) {
    let is_down = matches!(
        broker.process,
        ProcessState::Dead | ProcessState::Stopped | ProcessState::NotStarted
    );
    let look = match (is_down, broker.coordinates.is_empty()) {
        (true, _) => Card::Down,
        (false, false) => Card::Marked,
        (false, true) => Card::Plain,
    };
    draw_card(scene, view, (NodeId::Broker(broker.id), place), look);
    draw_head(scene, view, places, (broker, place));
    let window = places_window(view, places);
    for (partition, newest) in window {
        if let Some(replica) = broker
            .replicas
            .iter()
            .find(|replica| replica.topic_partition == partition)
        {
            draw_replica(
                scene,
                view,
                places,
                Strip {
                    broker,
                    replica,
                    newest,
                    is_down,
                },
            );
        }
    }
    draw_foot(scene, view, places, (broker, place));
}

/// Each partition that has a row, and where the longest of its logs ends.
fn places_window(view: &View<'_>, places: &Places) -> Vec<(TopicPartition, i64)> {
    let newest = |partition: TopicPartition| {
        let logs = view
            .stage
            .brokers
            .iter()
            .flat_map(|broker| &broker.replicas);
        let ends = logs.filter(|log| log.topic_partition == partition);
        ends.map(|log| log.log_end_offset.0)
            .max()
            .unwrap_or_default()
    };
    places
        .rows
        .iter()
        .map(|partition| (*partition, newest(*partition)))
        .collect()
}

fn draw_head(
    scene: &mut Scene,
    view: &View<'_>,
    places: &Places,
    (broker, place): (&BrokerView, Place),
) {
    let inset = if places.is_narrow { 8.0 } else { 14.0 };
    let y = place.y + if places.is_narrow { 18.0 } else { 23.0 };
    let font = Font::bold(if places.is_narrow { 120 } else { 130 });
    let room = place.width - 2.0 * inset;
    let full = view.node_name(NodeId::Broker(broker.id));
    let Some(name) = first_fitting(view.measure, &[full, broker.id.to_string()], font, room) else {
        return;
    };
    let name_width = view.measure.width(&name, font);
    scene.text(
        (place.x + inset, y),
        name,
        Type {
            font,
            align: Align::Start,
        },
        Ink::Text,
    );
    let (text, ink) = head_note(view, broker);
    let texts = text.unwrap_or_default();
    let left = room - name_width - 6.0;
    for font in [Font::text(115), Font::text(100)] {
        if let Some(text) = first_whole(view.measure, &texts, font, left) {
            let align = Align::End;
            scene.text(
                (place.right() - inset, y),
                text.clone(),
                Type { font, align },
                ink,
            );
            return;
        }
    }
}

/// What stands beside a broker's name: its trouble, or else its rack.
fn head_note(view: &View<'_>, broker: &BrokerView) -> (Option<Vec<String>>, Ink) {
    let note = match broker.process {
        ProcessState::Dead | ProcessState::Stopped => view.say("stage.down", &[]),
        ProcessState::NotStarted => view.say("stage.not-started", &[]),
        ProcessState::Paused(until) => {
            let left = words::span(until.since(view.now()));
            let long = view.say("stage.paused-for", &[("left", &left)]);
            return (Some(vec![long, view.say("stage.paused", &[])]), Ink::Warn);
        }
        ProcessState::Running if broker.is_fenced => view.say("stage.fenced", &[]),
        ProcessState::Running => {
            let rack = broker.rack.as_ref();
            let text = rack.map(|rack| vec![view.say("stage.rack", &[("rack", rack)])]);
            return (text, Ink::Mute);
        }
    };
    (Some(vec![note]), Ink::Warn)
}

/// What is needed to draw one replica.
#[derive(Clone, Copy)]
struct Strip<'a> {
    broker: &'a BrokerView,
    replica: &'a ReplicaView,
    /// Where the longest log of the partition ends.
    newest: i64,
    is_down: bool,
}

fn draw_replica(scene: &mut Scene, view: &View<'_>, places: &Places, strip: Strip<'_>) {
    let partition = strip.replica.topic_partition;
    let Some(place) = places.strip(strip.broker.id, partition) else {
        return;
    };
    let selection = Selection::Replica(strip.broker.id, partition);
    let target = scene.target(selection.clone());
    let grip = if places.has_names() {
        Place::new(place.x, place.y - 14.0, place.width, place.height + 16.0)
    } else {
        place.grown(1.5)
    };
    scene.push_for(target, Layer::Body, grip.rect(3.0), Style::GHOST);
    if view.is_partition_lit(partition) {
        let halo = place.grown(3.5).rect(5.0);
        scene.push(
            Layer::Card,
            halo,
            Style::fill(Ink::Glow).edged(Ink::Accent, 1.0),
        );
    }
    let is_out = leader_of(view, partition)
        .is_some_and(|(leader, isr)| leader != strip.broker.id && !isr.contains(&strip.broker.id));
    let window = Window::of(place, strip.newest);
    draw_cells(scene, view, &strip, &window, is_out);
    draw_marks(scene, &strip, &window);
    if places.has_names() {
        draw_name(scene, view, (&strip, place), is_out);
    }
    if places.has_notes() {
        draw_notes(scene, view, (&strip, place), &window);
    }
}

/// The part of a log that a strip shows.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Window {
    place: Place,
    /// Offset of the first cell.
    first: i64,
    /// How many cells.
    cells: i64,
    /// Width of a cell.
    cell: f64,
}

impl Window {
    /// The newest records of a log that ends at `newest` at the longest.
    fn of(place: Place, newest: i64) -> Self {
        let cells = i64::try_from(index(place.width / 12.5))
            .unwrap_or(10)
            .clamp(6, 16);
        let first = (newest - cells).max(0);
        Self {
            place,
            first,
            cells,
            cell: place.width / real_signed(cells),
        }
    }

    /// Where the boundary before `offset` is.
    fn x(&self, offset: i64) -> f64 {
        let place = real_signed((offset - self.first).clamp(0, self.cells));
        self.place.x + place * self.cell
    }
}

fn draw_cells(
    scene: &mut Scene,
    view: &View<'_>,
    strip: &Strip<'_>,
    window: &Window,
    is_out: bool,
) {
    let replica = strip.replica;
    let place = window.place;
    let ink = Ink::Hue(view.hue(replica.topic_partition));
    let faded = if replica.is_leader && !strip.is_down {
        1.0
    } else {
        0.32
    };
    let gap = if window.cell < 8.0 { 0.5 } else { 0.75 };
    if replica.log_end_offset <= replica.log_start_offset {
        // An empty log has its place too.
        scene.push(
            Layer::Body,
            place.rect(3.0),
            Style::fill(Ink::Hair).alpha(0.7),
        );
    }
    for cell in 0..window.cells {
        let offset = window.first + cell;
        if replica.log_end_offset.0 <= offset || offset < replica.log_start_offset.0 {
            continue;
        }
        let x = window.x(offset) + gap;
        let box_ = Place::new(x, place.y, window.cell - 2.0 * gap, place.height);
        // What lies above the high watermark is there, but not committed: it is paler, and has
        // an edge of dashes.
        let is_committed = offset < replica.high_watermark.0;
        let alpha = if is_committed { faded } else { faded * 0.45 };
        scene.push(Layer::Body, box_.rect(2.5), Style::fill(ink).alpha(alpha));
        if !is_committed {
            let inner = box_.grown(-0.5);
            scene.push(
                Layer::Body,
                inner.rect(2.0),
                Style::dashed(ink, 1.0, (2.0, 2.0)),
            );
        }
    }
    if is_out {
        let edge = place.grown(2.5).rect(4.0);
        scene.push(Layer::Mark, edge, Style::dashed(Ink::Warn, 1.1, (4.0, 3.0)));
    }
    // A copy so far behind that nothing of it shows.
    let missing = window.first - replica.log_end_offset.0;
    if 0 <= missing && 0 < strip.newest {
        let behind = strip.newest - replica.log_end_offset.0;
        let text = view.say("stage.behind", &[("records", &behind.to_string())]);
        let set = Type {
            font: Font::text(100),
            align: Align::Middle,
        };
        let room = place.width - 4.0;
        if let Some(text) =
            first_fitting(view.measure, &[text, format!("-{behind}")], set.font, room)
        {
            let (x, y) = place.centre();
            scene.text((x, y + 3.5), text, set, Ink::Mute);
        }
    }
}

/// Marks on the strip: high watermark, log start, changes of leader epoch.
fn draw_marks(scene: &mut Scene, strip: &Strip<'_>, window: &Window) {
    let (replica, place) = (strip.replica, window.place);
    let tall = if place.height < 10.0 { 1.5 } else { 3.5 };
    let (top, bottom) = (place.y - tall, place.bottom() + tall);
    let high_watermark = replica.high_watermark.0;
    if window.first <= high_watermark && 0 < strip.newest {
        let x = window.x(high_watermark);
        let line = Geometry::Line(vec![(x, top), (x, bottom)]);
        let style = Style::line(Ink::Text, 1.3).alpha(if strip.is_down { 0.4 } else { 1.0 });
        scene.push(Layer::Mark, line, style);
    }
    if window.first < replica.log_start_offset.0 {
        let x = window.x(replica.log_start_offset.0);
        let hook = vec![(x + 3.0, top), (x, top), (x, bottom), (x + 3.0, bottom)];
        scene.push(
            Layer::Mark,
            Geometry::Line(hook),
            Style::line(Ink::Mute, 1.2),
        );
    }
    for (_epoch, first) in replica.epochs.iter().skip(1) {
        if window.first < first.0 && first.0 <= window.first + window.cells {
            let x = window.x(first.0);
            let notch = vec![
                (x - 3.0, place.y - 3.0),
                (x, place.y + 1.5),
                (x + 3.0, place.y - 3.0),
            ];
            scene.push(
                Layer::Mark,
                Geometry::Line(notch),
                Style::line(Ink::Accent, 1.4),
            );
        }
    }
}

/// The line above a strip: which partition, what the copy is, where its log ends.
fn draw_name(
    scene: &mut Scene,
    view: &View<'_>,
    (strip, place): (&Strip<'_>, Place),
    is_out: bool,
) {
    let replica = strip.replica;
    let is_leader = replica.is_leader && !strip.is_down;
    let y = place.y - 6.0;
    let end = replica.log_end_offset.to_string();
    let figures = Type {
        font: Font::mono(105),
        align: Align::End,
    };
    let end_width = view.measure.width(&end, figures.font);
    scene.text((place.right(), y), end, figures, Ink::Mute);
    let name = view.partition_name(replica.topic_partition);
    let font = if is_leader {
        Font::bold(115)
    } else {
        Font::text(115)
    };
    let room = place.width - end_width - 10.0;
    let texts = if is_leader {
        vec![
            view.say("stage.leader-of", &[("partition", &name)]),
            name.clone(),
        ]
    } else {
        vec![name.clone()]
    };
    let Some(text) = first_fitting(view.measure, &texts, font, room) else {
        return;
    };
    let text_width = view.measure.width(&text, font);
    let ink = if is_leader { Ink::Text } else { Ink::Mute };
    scene.text(
        (place.x, y),
        text,
        Type {
            font,
            align: Align::Start,
        },
        ink,
    );
    if !is_leader && !strip.is_down {
        let badge = view.say(
            if is_out {
                "stage.out-of-isr"
            } else {
                "stage.in-isr"
            },
            &[],
        );
        draw_badge(
            scene,
            view,
            (place.x + text_width + 6.0, y),
            (badge, is_out),
            room - text_width,
        );
    }
}

/// The small word in a box that tells whether a copy is in the ISR.
fn draw_badge(
    scene: &mut Scene,
    view: &View<'_>,
    (x, y): (f64, f64),
    (text, is_out): (String, bool),
    room: f64,
) {
    let font = Font::text(90);
    let width = view.measure.width(&text, font);
    if room - 8.0 < width + 8.0 {
        return;
    }
    let set = Type {
        font,
        align: Align::Start,
    };
    if is_out {
        scene.text((x, y), text, set, Ink::Warn);
        return;
    }
    let place = Place::new(x, y - 8.5, width + 7.0, 11.5);
    scene.push(Layer::Mark, place.rect(3.0), Style::fill(Ink::Hair));
    scene.text((x + 3.5, y), text, set, Ink::Mute);
}

/// The line under a strip: the leader's high watermark, or what the leader believes of a follower.
fn draw_notes(
    scene: &mut Scene,
    view: &View<'_>,
    (strip, place): (&Strip<'_>, Place),
    window: &Window,
) {
    let replica = strip.replica;
    let y = place.bottom() + 12.5;
    let font = Font::mono(92);
    if strip.is_down {
        return;
    }
    if replica.is_leader {
        let texts = leader_notes(view, strip);
        let Some(text) = first_fitting(view.measure, &texts, font, place.width) else {
            return;
        };
        let width = view.measure.width(&text, font);
        let x = (window.x(replica.high_watermark.0) - width / 2.0)
            .clamp(place.x, (place.right() - width).max(place.x));
        scene.text(
            (x, y),
            text,
            Type {
                font,
                align: Align::Start,
            },
            Ink::Mute,
        );
        return;
    }
    let Some(belief) = belief_of(view, replica.topic_partition, strip.broker.id) else {
        return;
    };
    let fetch = belief.log_end_offset.to_string();
    let records = belief.lag_records.to_string();
    let lag = words::span(belief.lag);
    let known = view.say("stage.fetch-offset", &[("offset", &fetch)]);
    let texts = if belief.lag.0 == 0 {
        vec![known]
    } else {
        let args = [
            ("offset", fetch.as_str()),
            ("records", &records),
            ("lag", &lag),
        ];
        vec![
            view.say("stage.fetch-lag", &args),
            view.say("stage.lag", &args),
            view.say("stage.lag-short", &args),
        ]
    };
    let ink = if belief.in_isr { Ink::Mute } else { Ink::Warn };
    if let Some(text) = first_fitting(view.measure, &texts, font, place.width) {
        scene.text(
            (place.x, y),
            text,
            Type {
                font,
                align: Align::Start,
            },
            ink,
        );
    }
}

/// What stands under a leader's strip: the ISR that it asks for, or its high watermark, with its
/// epoch once there has been more than one, the last stable offset where a transaction holds it
/// back, and the requests that wait for replicas.
fn leader_notes(view: &View<'_>, strip: &Strip<'_>) -> Vec<String> {
    let replica = strip.replica;
    if let Some(isr) = &replica.wanted_isr {
        return vec![view.say("stage.asks-isr", &[("isr", &words::list(isr))])];
    }
    let mark = format!("HW {}", replica.high_watermark);
    let mut full = mark.clone();
    if replica.last_stable_offset < replica.high_watermark {
        full = format!("{full} · LSO {}", replica.last_stable_offset);
    }
    let waiting = view.stage.parked.iter().filter(|parked| {
        parked.waiting == Waiting::Produce
            && parked.at == strip.broker.id
            && parked.partitions.contains(&replica.topic_partition)
    });
    let deadline = waiting.clone().filter_map(|parked| parked.deadline).min();
    let mut texts = Vec::new();
    if let Some(deadline) = deadline {
        let number = waiting.count().to_string();
        let left = words::span(deadline.since(view.now()));
        let args = [("count", number.as_str()), ("left", &left)];
        let note = view.say("stage.purgatory", &args);
        texts.push(format!("{full} · {note}"));
        texts.push(note);
    }
    if 0 < replica.leader_epoch {
        let epoch = replica.leader_epoch.to_string();
        let note = view.say("stage.leader-epoch", &[("epoch", &epoch)]);
        texts.push(format!("{full} · {note}"));
    }
    texts.extend([full, mark]);
    texts
}

/// What the leader of a partition believes of a follower.
fn belief_of<'a>(
    view: &View<'a>,
    partition: TopicPartition,
    follower: BrokerId,
) -> Option<&'a FollowerView> {
    let stage = view.stage;
    let logs = stage
        .brokers
        .iter()
        .filter(|broker| broker.process == ProcessState::Running);
    let leader = logs
        .flat_map(|broker| &broker.replicas)
        .filter(|log| log.topic_partition == partition && log.is_leader)
        .max_by_key(|log| log.leader_epoch)?;
    leader
        .followers
        .iter()
        .find(|known| known.broker == follower)
}

/// The leader of a partition and its ISR, as the controller has them.
fn leader_of<'a>(view: &View<'a>, partition: TopicPartition) -> Option<(BrokerId, &'a [BrokerId])> {
    let stage = view.stage;
    let mut all = stage.topics.iter().flat_map(|topic| &topic.partitions);
    let found = all.find(|known| known.topic_partition == partition)?;
    Some((
        found.leader.unwrap_or(BrokerId(u32::MAX)),
        found.isr.as_slice(),
    ))
}

/// The foot of a broker: groups that it coordinates, partitions that have no row.
fn draw_foot(
    scene: &mut Scene,
    view: &View<'_>,
    places: &Places,
    (broker, place): (&BrokerView, Place),
) {
    let inset = if places.is_narrow { 6.0 } else { 13.0 };
    let mut bottom = place.bottom() - if places.is_narrow { 4.0 } else { 9.0 };
    let font = Font::text(110);
    for group in broker.coordinates.iter().take(2) {
        let texts = [
            view.say("stage.coordinates", &[("group", group.as_str())]),
            group.as_str().to_owned(),
        ];
        let room = place.width - 2.0 * inset;
        let Some(text) = first_fitting(view.measure, &texts, font, room - 8.0) else {
            continue;
        };
        let badge = Place::new(place.x + inset, bottom - 19.0, room, 19.0);
        let selection = Selection::Group(group.clone());
        let is_lit = view.is_lit(&selection);
        let target = scene.target(selection);
        let mut style = Style::fill(Ink::AccentSoft);
        if is_lit {
            style = style.edged(Ink::Accent, 1.2);
        }
        scene.push_for(target, Layer::Body, badge.rect(5.0), style);
        let middle = badge.centre().0;
        let set = Type {
            font,
            align: Align::Middle,
        };
        scene.text((middle, bottom - 5.5), text, set, Ink::Accent);
        bottom -= 22.0;
    }
    if 0 < places.rows_left_out {
        let more = real(u64::try_from(places.rows_left_out).unwrap_or_default());
        let text = view.say("stage.more-partitions", &[("count", &format!("{more:.0}"))]);
        let y = place.y + places.rows_top + count(places.rows.len()) * places.row_pitch + 9.0;
        let set = Type {
            font: Font::text(95),
            align: Align::Start,
        };
        scene.text((place.x + inset, y.min(bottom)), text, set, Ink::Mute);
    }
}
