//! Producers, consumers and the controller.

use super::places::Places;
use super::{Card, draw_card};
use crate::driver::selection::Selection;
use crate::scene::fit::first_fitting;
use crate::scene::place::Place;
use crate::scene::scale::{count, real_signed};
use crate::scene::shape::{Align, Font, Geometry, Layer, Scene, Style, Type};
use crate::scene::theme::Ink;
use crate::scene::view::View;
use crate::scene::words;
use std::cmp::Reverse;
use terrarium_core::base::ids::NodeId;
use terrarium_core::sim::view::{
    Activity, ConsumerPartitionView, ConsumerView, ProcessState, ProducerView,
};
use terrarium_core::trace::event::MemberState;

/// Draws a producer or a consumer.
pub(super) fn draw(
    scene: &mut Scene,
    view: &View<'_>,
    places: &Places,
    (node, place): (NodeId, Place),
) {
    let Some(client) = node.client() else { return };
    if let Some(consumer) = view
        .stage
        .consumers
        .iter()
        .find(|known| known.client == client)
    {
        draw_consumer(scene, view, places, (consumer, place));
    } else if let Some(producer) = view.stage.producers.iter().find(|p| p.client == client) {
        draw_producer(scene, view, (producer, place));
    }
}

fn draw_producer(scene: &mut Scene, view: &View<'_>, (producer, place): (&ProducerView, Place)) {
    let node = NodeId::Client(producer.client);
    let is_down = !matches!(
        producer.process,
        ProcessState::Running | ProcessState::Paused(_)
    );
    draw_card(
        scene,
        view,
        (node, place),
        if is_down { Card::Down } else { Card::Plain },
    );
    let left = place.x + 12.0;
    let room = place.width - 22.0;
    let is_low = place.height < 44.0;
    let name_y = if is_low {
        place.centre().1 + 4.5
    } else {
        place.y + 21.0
    };
    let font = Font::bold(130);
    let start = |font| Type {
        font,
        align: Align::Start,
    };
    let name = first_fitting(view.measure, &[producer.name.to_string()], font, room);
    let Some(name) = name else { return };
    let name_width = view.measure.width(&name, font);
    scene.text((left, name_y), name, start(font), Ink::Text);
    if is_low {
        draw_buffer(
            scene,
            producer,
            (left + name_width + 8.0, name_y - 8.0),
            room - name_width,
        );
        return;
    }
    let small = Font::text(110);
    let (queued, in_flight) = (producer.records_queued, producer.records_in_flight);
    let state = match producer.process {
        ProcessState::Running => {
            let args = [
                ("queued", &*queued.to_string()),
                ("in_flight", &*in_flight.to_string()),
            ];
            vec![
                view.say("stage.producer-buffer", &args),
                view.say("stage.producer-queued", &args),
            ]
        }
        other => vec![process_word(view, other)],
    };
    let acknowledged = producer.records_acknowledged.to_string();
    let acknowledged = [("records", acknowledged.as_str())];
    let lines = [
        state,
        vec![
            view.say("stage.acknowledged", &acknowledged),
            view.say("stage.acknowledged-short", &acknowledged),
        ],
    ];
    let mut y = place.y + 38.0;
    for line in lines {
        if place.bottom() - 6.0 < y {
            break;
        }
        if let Some(text) = first_fitting(view.measure, &line, small, room) {
            scene.text((left, y), text, start(small), Ink::Mute);
        }
        y += 15.0;
    }
    if 0 < producer.records_failed && y - 2.0 < place.bottom() {
        let failed = producer.records_failed.to_string();
        let text = view.say("stage.failed", &[("records", &failed)]);
        if let Some(text) = first_fitting(view.measure, &[text], small, room) {
            scene.text((left, y), text, start(small), Ink::Loss);
        }
    } else if y - 4.0 < place.bottom() {
        draw_buffer(scene, producer, (left, y - 8.0), room);
    }
}

/// Records in a producer's buffer: sent ones solid, waiting ones hollow.
fn draw_buffer(scene: &mut Scene, producer: &ProducerView, (x, y): (f64, f64), room: f64) {
    let fitting = crate::scene::scale::index(room / 9.0).min(12);
    let in_flight = usize::try_from(producer.records_in_flight).unwrap_or(usize::MAX);
    let queued = usize::try_from(producer.records_queued).unwrap_or(usize::MAX);
    for cell in 0..fitting.min(in_flight.saturating_add(queued)) {
        let place = Place::new(x + count(cell) * 9.0, y, 6.5, 8.0);
        let style = if cell < in_flight {
            Style::fill(Ink::Faint)
        } else {
            Style::line(Ink::Faint, 1.0)
        };
        scene.push(Layer::Body, place.rect(1.5), style);
    }
}

fn draw_consumer(
    scene: &mut Scene,
    view: &View<'_>,
    places: &Places,
    (consumer, place): (&ConsumerView, Place),
) {
    let node = NodeId::Client(consumer.client);
    let is_down = !matches!(
        consumer.process,
        ProcessState::Running | ProcessState::Paused(_)
    );
    draw_card(
        scene,
        view,
        (node, place),
        if is_down { Card::Down } else { Card::Plain },
    );
    let inset = if places.is_narrow { 8.0 } else { 12.0 };
    let left = place.x + inset;
    let room = place.width - 2.0 * inset + 2.0;
    let is_low = place.height < 40.0;
    let name_y = place.y
        + if is_low {
            place.height / 2.0 + 4.5
        } else {
            20.0
        };
    let font = Font::bold(if places.is_narrow { 120 } else { 130 });
    let name = first_fitting(view.measure, &[consumer.name.to_string()], font, room);
    let Some(name) = name else { return };
    let name_width = view.measure.width(&name, font);
    scene.text(
        (left, name_y),
        name,
        Type {
            font,
            align: Align::Start,
        },
        Ink::Text,
    );
    let is_working = is_working(consumer);
    let chips_from = left + name_width + 9.0;
    let after = draw_chips(
        scene,
        view,
        (consumer, is_working),
        (chips_from, place.right() - 8.0, name_y),
    );
    let lines = doing(view, consumer);
    if is_low {
        let room = place.right() - 8.0 - after;
        let font = Font::text(105);
        if let Some((texts, ink)) = lines.into_iter().next_back()
            && let Some(text) = first_fitting(view.measure, &texts, font, room - 4.0)
        {
            let at = (place.right() - 10.0, name_y);
            scene.text(
                at,
                text,
                Type {
                    font,
                    align: Align::End,
                },
                ink,
            );
        }
        return;
    }
    let font = Font::text(if places.is_narrow { 100 } else { 110 });
    let mut y = name_y + if places.is_narrow { 16.0 } else { 17.0 };
    for (texts, ink) in lines {
        if place.bottom() - 4.0 < y {
            break;
        }
        if let Some(text) = first_fitting(view.measure, &texts, font, room) {
            scene.text(
                (left, y),
                text,
                Type {
                    font,
                    align: Align::Start,
                },
                ink,
            );
        }
        y += 14.0;
    }
    draw_cursors(
        scene,
        view,
        consumer,
        Place::new(left, y - 7.0, room, place.bottom() - y + 3.0),
    );
}

/// Whether the application may take records up.
fn is_working(consumer: &ConsumerView) -> bool {
    consumer.process == ProcessState::Running
        && (consumer.member_state == MemberState::Stable
            || consumer.group_id.is_none()
            || matches!(consumer.activity, Activity::Processing { .. }))
}

/// The partitions that a consumer owns, as chips; gives where they end.
fn draw_chips(
    scene: &mut Scene,
    view: &View<'_>,
    (consumer, is_working): (&ConsumerView, bool),
    (from, to, baseline): (f64, f64, f64),
) -> f64 {
    let font = Font::text(95);
    let mut x = from;
    let mut owned: Vec<&ConsumerPartitionView> = consumer.partitions.iter().collect();
    owned.sort_by_key(|partition| partition.topic_partition);
    for (place, partition) in owned.iter().enumerate() {
        let name = view.partition_name(partition.topic_partition);
        let width = view.measure.width(&name, font).max(12.0) + 8.0;
        let left = owned.len() - place;
        let more = format!("+{left}");
        let more_width = if 1 < left {
            view.measure.width(&more, font) + 6.0
        } else {
            0.0
        };
        if to < x + width + more_width {
            if x + view.measure.width(&more, font) <= to {
                let set = Type {
                    font,
                    align: Align::Start,
                };
                scene.text((x, baseline), more, set, Ink::Mute);
            }
            return to;
        }
        let hue = view.hue(partition.topic_partition);
        let chip = Place::new(x, baseline - 10.5, width, 14.0);
        let selection = Selection::Partition(partition.topic_partition);
        let target = scene.target(selection);
        let mut style = Style::fill(Ink::Hue(hue)).alpha(if is_working { 1.0 } else { 0.26 });
        if view.is_partition_lit(partition.topic_partition) {
            style = style.edged(Ink::Accent, 1.5);
        }
        scene.push_for(target, Layer::Body, chip.rect(3.5), style);
        let ink = if is_working {
            Ink::OnHue(hue)
        } else {
            Ink::Text
        };
        let set = Type {
            font,
            align: Align::Middle,
        };
        scene.text((chip.centre().0, baseline - 0.3), name, set, ink);
        x += width + 4.0;
    }
    x
}

/// What a consumer is up to, a line each; of each line, the first text that fits is taken.
fn doing(view: &View<'_>, consumer: &ConsumerView) -> Vec<(Vec<String>, Ink)> {
    match consumer.process {
        ProcessState::Running => {}
        ProcessState::Paused(until) => {
            let left = words::span(until.since(view.now()));
            let long = view.say("stage.paused-for", &[("left", &left)]);
            return vec![(vec![long, view.say("stage.paused", &[])], Ink::Warn)];
        }
        ProcessState::NotStarted | ProcessState::Dead | ProcessState::Stopped => {
            return vec![(down(view, consumer), Ink::Mute)];
        }
    }
    if let Activity::Processing {
        offset,
        value,
        until,
        ..
    } = &consumer.activity
    {
        let left = words::span(until.since(view.now()));
        let offset = offset.to_string();
        // A record that a lesson has given a meaning is known by its text.
        let is_plain = value.is_empty() || 8 < value.chars().count();
        let name = if is_plain {
            view.say("stage.record", &[("offset", &offset)])
        } else {
            view.say(
                "stage.record-value",
                &[("offset", &offset), ("value", value)],
            )
        };
        if until.since(view.now()) < terrarium_core::kernel::time::Span(400_000) {
            return vec![(vec![name], Ink::Mute)];
        }
        let rest = view.say("stage.left", &[("left", &left)]);
        return vec![(vec![name], Ink::Mute), (vec![rest], Ink::Warn)];
    }
    if let Activity::Failed(exception) = &consumer.activity {
        return vec![(vec![exception.to_string()], Ink::Loss)];
    }
    let key = match (consumer.member_state, &consumer.activity) {
        (_, Activity::Committing) => "stage.commits",
        (MemberState::PreparingRebalance, _) => "stage.waits-join",
        (MemberState::CompletingRebalance, _) => "stage.waits-sync",
        (MemberState::Unjoined, _) if consumer.group_id.is_some() => "stage.unjoined",
        (MemberState::Stable, _) if consumer.partitions.is_empty() => "stage.idle",
        _ => "stage.polls",
    };
    let short = view.say("stage.waits", &[]);
    let is_waiting = matches!(
        consumer.member_state,
        MemberState::PreparingRebalance | MemberState::CompletingRebalance
    );
    let mut texts = vec![match key {
        "stage.commits" => view.say("stage.commits", &[]),
        "stage.waits-join" => view.say("stage.waits-join", &[]),
        "stage.waits-sync" => view.say("stage.waits-sync", &[]),
        "stage.unjoined" => view.say("stage.unjoined", &[]),
        "stage.idle" => view.say("stage.idle", &[]),
        _ => view.say("stage.polls", &[]),
    }];
    if is_waiting {
        texts.push(short);
    }
    vec![(texts, Ink::Mute)]
}

/// What is said of a process that does not run: when it comes back, if that is known.
fn down(view: &View<'_>, consumer: &ConsumerView) -> Vec<String> {
    let word = process_word(view, consumer.process);
    let next = consumer
        .restart_at
        .or_else(|| view.next_start(consumer.client));
    let Some(at) = next else { return vec![word] };
    let left = words::span(at.since(view.now()));
    let long = if consumer.process == ProcessState::NotStarted {
        view.say("stage.starts-in", &[("left", &left)])
    } else {
        view.say("stage.restarts-in", &[("left", &left)])
    };
    vec![long, word]
}

fn process_word(view: &View<'_>, process: ProcessState) -> String {
    match process {
        ProcessState::NotStarted => view.say("stage.not-started", &[]),
        ProcessState::Running => view.say("stage.running", &[]),
        ProcessState::Paused(_) => view.say("stage.paused", &[]),
        ProcessState::Dead => view.say("stage.down", &[]),
        ProcessState::Stopped => view.say("stage.closed", &[]),
    }
}

/// The three cursors of a consumer on each partition: committed, processed, and the position of
/// the next poll, on the way to the high watermark.
fn draw_cursors(scene: &mut Scene, view: &View<'_>, consumer: &ConsumerView, room: Place) {
    let mut shown: Vec<&ConsumerPartitionView> = consumer
        .partitions
        .iter()
        .filter(|p| p.high_watermark.is_some())
        .collect();
    shown.sort_by_key(|partition| Reverse(lag(partition)));
    shown.truncate(crate::scene::scale::index(room.height / 10.0));
    shown.sort_by_key(|partition| partition.topic_partition);
    for (line, partition) in shown.into_iter().enumerate() {
        let y = room.y + count(line) * 10.0;
        draw_cursor_line(
            scene,
            view,
            partition,
            Place::new(room.x, y, room.width, 10.0),
        );
    }
}

/// Records between the oldest cursor and the high watermark.
fn lag(partition: &ConsumerPartitionView) -> i64 {
    let known = [partition.committed, partition.processed, partition.position];
    let oldest = known.into_iter().flatten().min();
    match (oldest, partition.high_watermark) {
        (Some(oldest), Some(high_watermark)) => high_watermark - oldest,
        _ => 0,
    }
}

fn draw_cursor_line(
    scene: &mut Scene,
    view: &View<'_>,
    partition: &ConsumerPartitionView,
    room: Place,
) {
    let Some(high_watermark) = partition.high_watermark else {
        return;
    };
    let ink = Ink::Hue(view.hue(partition.topic_partition));
    let behind = lag(partition).max(0);
    let font = Font::mono(90);
    let text = format!("{behind}");
    let set = Type {
        font,
        align: Align::End,
    };
    scene.text((room.right() - 2.0, room.y + 7.5), text, set, Ink::Mute);
    let track = Place::new(room.x, room.y + 3.0, room.width - 32.0, 3.0);
    // The track spans a round number of records, so that cursors move and the scale stands.
    let span = u64::try_from(behind)
        .unwrap_or_default()
        .max(8)
        .next_power_of_two();
    let span = real_signed(i64::try_from(span).unwrap_or(i64::MAX));
    let x = |offset: terrarium_core::base::ids::Offset| {
        let back = real_signed((high_watermark - offset).max(0)) / span;
        track.right() - track.width * back.min(1.0)
    };
    scene.push(Layer::Body, track.rect(1.5), Style::fill(Ink::Line));
    if let Some(processed) = partition.processed {
        let done = Place::new(track.x, track.y, x(processed) - track.x, track.height);
        scene.push(Layer::Body, done.rect(1.5), Style::fill(ink).alpha(0.45));
    }
    if let Some(committed) = partition.committed {
        let kept = Place::new(track.x, track.y, x(committed) - track.x, track.height);
        scene.push(Layer::Body, kept.rect(1.5), Style::fill(ink));
    }
    if let Some(position) = partition.position {
        let at = x(position);
        let mark = Geometry::Line(vec![(at, track.y - 2.0), (at, track.bottom() + 2.0)]);
        scene.push(Layer::Mark, mark, Style::line(Ink::Text, 1.2));
    }
}
