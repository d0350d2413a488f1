//! What travels between processes, and requests that wait.

use super::places::Places;
use crate::driver::selection::Selection;
use crate::scene::fit::Taken;
use crate::scene::place::Place;
use crate::scene::scale::real;
use crate::scene::shape::{Align, Font, Geometry, Layer, Scene, Style, Type};
use crate::scene::theme::Ink;
use crate::scene::view::View;
use terrarium_core::base::ids::{NodeId, TopicPartition};
use terrarium_core::kernel::time::SimTime;
use terrarium_core::sim::view::{PacketView, ParkedView};
use terrarium_core::trace::event::{TraceEvent, Waiting};
use terrarium_core::wire::api::{ApiKey, Request, Response};
use terrarium_core::wire::error_code::ErrorCode;

/// Draws requests that wait at brokers as threads.
pub(super) fn draw_parked(scene: &mut Scene, view: &View<'_>, places: &Places) {
    for parked in &view.stage.parked {
        let selection = Selection::Parked {
            at: parked.at,
            from: parked.from,
            correlation: parked.correlation,
            entry: parked.entry,
        };
        let is_lit = view.is_lit(&selection) || view.is_node_lit(parked.from);
        // Fetches wait all the time; that is their nature and no news.
        let is_news = match parked.waiting {
            Waiting::Join | Waiting::Sync | Waiting::Produce | Waiting::DeleteRecords => true,
            Waiting::Fetch | Waiting::CoordinatorAppend => is_lit,
        };
        let ends = (
            places.node(parked.from),
            places.node(NodeId::Broker(parked.at)),
        );
        if let (true, (Some(from), Some(to))) = (is_news, ends) {
            let target = scene.target(selection);
            let thread = Thread {
                parked,
                from,
                to,
                is_lit,
            };
            draw_thread(scene, places, &thread, target);
            draw_awaited(scene, places, &thread, target);
        }
    }
}

/// A request that waits, and where its two ends are.
struct Thread<'a> {
    parked: &'a ParkedView,
    from: Place,
    to: Place,
    is_lit: bool,
}

fn draw_thread(scene: &mut Scene, places: &Places, thread: &Thread<'_>, target: usize) {
    let ink = if thread.parked.waiting == Waiting::Sync {
        Ink::Accent
    } else {
        Ink::Warn
    };
    let width = if thread.is_lit { 1.8 } else { 1.2 };
    let style = Style::dashed(ink, width, (3.0, 4.0)).alpha(if thread.is_lit { 1.0 } else { 0.75 });
    let (from, to) = (thread.from, thread.to);
    let mut push = |geometry| scene.push_for(target, Layer::Wire, geometry, style);
    if places.is_narrow {
        let start = (from.centre().0, from.y);
        let end = (to.centre().0, to.bottom());
        let half = f64::midpoint(start.1, end.1);
        push(Geometry::Curve([
            start,
            (start.0, half),
            (end.0, half),
            end,
        ]));
        return;
    }
    let is_consumer = places
        .consumers
        .iter()
        .any(|(node, _)| *node == thread.parked.from);
    if !is_consumer {
        let partition = thread.parked.partitions.first();
        let strip = partition
            .and_then(|p| places.strip(thread.parked.at, *p))
            .unwrap_or(to);
        let start = (from.right(), from.centre().1);
        let end = (strip.x - 2.0, strip.centre().1);
        let half = f64::midpoint(start.0, end.0);
        push(Geometry::Curve([
            start,
            (half, start.1),
            (half, end.1),
            end,
        ]));
        return;
    }
    // From the consumer down into the channel under the brokers, along it, and up.
    let last = places.brokers.last().map_or(to, |(_, place)| *place);
    let floor = to.bottom() + 12.0;
    let start = (from.x, from.centre().1);
    let turn = (last.right() - 34.0, floor);
    let gap = from.x - last.right();
    let lean = (from.x - gap * 0.9, start.1);
    push(Geometry::Curve([
        start,
        lean,
        (last.right() + gap * 0.2, floor),
        turn,
    ]));
    let (x, _) = to.centre();
    if x + 14.0 < turn.0 {
        push(Geometry::Line(vec![turn, (x + 12.0, floor)]));
    }
    let corner = (x + 12.0, floor);
    push(Geometry::Curve([
        corner,
        (x, floor),
        (x, floor - 2.0),
        (x, to.bottom()),
    ]));
}

/// Draws from a produce request that waits at a leader to the replicas that it waits for.
fn draw_awaited(scene: &mut Scene, places: &Places, thread: &Thread<'_>, target: usize) {
    let parked = thread.parked;
    for partition in &parked.partitions {
        let Some(from) = places.strip(parked.at, *partition) else {
            continue;
        };
        for broker in &parked.waiting_for {
            let Some(to) = places.strip(*broker, *partition) else {
                continue;
            };
            let is_right = from.x < to.x;
            let (start, end) = if is_right {
                (from.right(), to.x)
            } else {
                (from.x, to.right())
            };
            let y = from.bottom() - 2.0;
            let sag = y + 16.0;
            let style = Style::dashed(Ink::Warn, if thread.is_lit { 1.8 } else { 1.3 }, (2.0, 3.0));
            let curve = Geometry::Curve([(start, y), (start, sag), (end, sag), (end, y)]);
            scene.push_for(target, Layer::Wire, curve, style);
            // A ring around what is missed.
            let ring = to.grown(2.5).rect(4.0);
            scene.push_for(target, Layer::Mark, ring, Style::line(Ink::Warn, 1.1));
        }
    }
}

/// Draws the trails of messages that arrived a moment ago, so that at speed one sees who spoke to
/// whom.
pub(super) fn draw_trails(scene: &mut Scene, view: &View<'_>, places: &Places, taken: &mut Taken) {
    let afterglow = view.options.afterglow;
    if afterglow.0 == 0 {
        return;
    }
    let from = SimTime(view.now().0.saturating_sub(afterglow.0));
    // The newest message of each pair in each direction stands for all.
    let mut shown: Vec<(NodeId, NodeId)> = Vec::new();
    let seen: Vec<_> = view
        .history
        .messages()
        .seen(from, view.now(), view.clip())
        .collect();
    for message in seen.into_iter().rev().take(400) {
        let Some((end, _fate)) = message.end(view.clip()) else {
            continue;
        };
        let pair = (message.from, message.to);
        let is_news = is_news(message.api) || message.error_code != ErrorCode::None;
        if shown.contains(&pair) || 24 <= shown.len() {
            continue;
        }
        let (Some(start), Some(stop)) = (places.node(message.from), places.node(message.to)) else {
            continue;
        };
        shown.push(pair);
        let age = real(view.now().since(end.at).0) / real(afterglow.0.max(1));
        let alpha = (1.0 - age).clamp(0.0, 1.0);
        let ends = (
            start.edge_towards(stop.centre()),
            stop.edge_towards(start.centre()),
        );
        let ink = if is_news { Ink::Accent } else { Ink::Faint };
        let strength = if is_news { 0.9 } else { 0.45 };
        let line = Geometry::Line(vec![ends.0, ends.1]);
        scene.push(
            Layer::Ground,
            line,
            Style::line(ink, 1.2).alpha(alpha * strength),
        );
        if is_news && 0.25 < alpha {
            let middle = between(ends.0, ends.1, 0.5);
            let text = label(message.api, message.is_response, message.error_code);
            draw_label(scene, view, taken, (middle, text));
        }
    }
}

/// Draws messages on the wire as tokens.
pub(super) fn draw_packets(scene: &mut Scene, view: &View<'_>, places: &Places, taken: &mut Taken) {
    let mut drawn = 0;
    for packet in &view.stage.packets {
        let (Some(from), Some(to)) = (places.node(packet.from), places.node(packet.to)) else {
            continue;
        };
        drawn += 1;
        if TOKENS_MAX < drawn {
            break;
        }
        let body = body_of(view, packet);
        let strip = |node: NodeId, card: Place| {
            let strip = body.partition.and_then(|p| places.strip(node.broker()?, p));
            strip.map_or(card, |strip| {
                Place::new(card.x, strip.y, card.width, strip.height)
            })
        };
        let (from, to) = (strip(packet.from, from), strip(packet.to, to));
        let start = from.edge_towards(to.centre());
        let stop = to.edge_towards(from.centre());
        draw_token(
            scene,
            view,
            taken,
            &Token {
                packet,
                body,
                start,
                stop,
            },
        );
    }
}

/// A message on its way.
struct Token<'a> {
    packet: &'a PacketView,
    body: Body,
    start: (f64, f64),
    stop: (f64, f64),
}

/// What of a message's body shows.
#[derive(Clone, Copy)]
struct Body {
    /// The partition that it is about.
    partition: Option<TopicPartition>,
    /// The error that it carries.
    error_code: ErrorCode,
}

fn draw_token(scene: &mut Scene, view: &View<'_>, taken: &mut Taken, sent: &Token<'_>) {
    let packet = sent.packet;
    let share = match packet.due_at {
        // A held message waits half way, where the link is cut.
        None => 0.5,
        Some(_) if view.options.is_motion_reduced => 1.0,
        Some(due_at) => {
            let all = real(due_at.since(packet.sent_at).0.max(1));
            (real(view.now().since(packet.sent_at).0) / all).clamp(0.0, 1.0)
        }
    };
    let at = between(sent.start, sent.stop, share);
    let selection = Selection::Packet {
        packet: packet.packet,
        entry: packet.entry,
    };
    let is_lit = view.is_lit(&selection);
    let target = scene.target(selection);
    let line = Geometry::Line(vec![sent.start, sent.stop]);
    let wire = if is_lit {
        Style::line(Ink::Accent, 1.4)
    } else {
        Style::line(Ink::Line, 1.2)
    };
    scene.push(Layer::Ground, line, wire);
    let ink = match (sent.body.error_code, sent.body.partition) {
        (ErrorCode::None, Some(partition)) => Ink::Hue(view.hue(partition)),
        (ErrorCode::None, None) => Ink::Accent,
        _ => Ink::Warn,
    };
    let radius = if is_lit { 5.5 } else { 4.2 };
    scene.push_for(
        target,
        Layer::Token,
        Geometry::Circle(at, radius + 5.0),
        Style::GHOST,
    );
    // A request is a disc, its answer a ring.
    let style = if packet.is_response {
        Style::fill(Ink::Panel).edged(ink, 2.0)
    } else {
        Style::fill(ink).edged(Ink::Panel, 1.0)
    };
    scene.push_for(target, Layer::Token, Geometry::Circle(at, radius), style);
    let mut text = label(packet.api, packet.is_response, sent.body.error_code);
    if packet.due_at.is_none() {
        text = view.say("stage.held", &[("message", &text)]);
    } else if let Some(partition) = sent.body.partition {
        text = format!("{text} {}", view.partition_name(partition));
    }
    draw_label(scene, view, taken, (at, text));
}

/// Writes beside a token if there is room.
fn draw_label(
    scene: &mut Scene,
    view: &View<'_>,
    taken: &mut Taken,
    (at, text): ((f64, f64), String),
) {
    let font = Font::text(105);
    let width = view.measure.width(&text, font);
    let (canvas, _) = view.size;
    let held = |left: f64| left.clamp(2.0, (canvas - width - 2.0).max(2.0));
    let middle = held(at.0 - width / 2.0);
    let spots = [
        (middle, at.1 - 20.0),
        (middle, at.1 + 8.0),
        (held(at.0 + 9.0), at.1 - 6.0),
        (held(at.0 - width - 9.0), at.1 - 6.0),
        (middle, at.1 - 34.0),
        (middle, at.1 + 22.0),
    ];
    for (left, top) in spots {
        let place = Place::new(left, top, width, 12.0);
        if taken.take(place.boxed()) {
            let paper = place.grown(2.0).rect(3.0);
            scene.push(Layer::Token, paper, Style::fill(Ink::Panel).alpha(0.85));
            let set = Type {
                font,
                align: Align::Start,
            };
            scene.text((left, top + 9.5), text, set, Ink::Mute);
            return;
        }
    }
}

fn label(api: ApiKey, is_response: bool, error_code: ErrorCode) -> String {
    match (is_response, error_code) {
        (true, ErrorCode::None) => format!("{} ✓", api.name()),
        (true, code) => code.name().to_owned(),
        (false, _) => api.name().to_owned(),
    }
}

/// Whether a message tells of a change; the others come and go all the time.
fn is_news(api: ApiKey) -> bool {
    matches!(
        api,
        ApiKey::JoinGroup
            | ApiKey::SyncGroup
            | ApiKey::LeaveGroup
            | ApiKey::AlterPartition
            | ApiKey::FindCoordinator
            | ApiKey::CreateTopics
            | ApiKey::BrokerRegistration
    )
}

fn body_of(view: &View<'_>, packet: &PacketView) -> Body {
    let mut body = Body {
        partition: None,
        error_code: ErrorCode::None,
    };
    let Some(entry) = view.trace.entry(packet.entry) else {
        return body;
    };
    match &entry.event {
        TraceEvent::RequestSent { body: request, .. } => match request.as_ref() {
            Request::Produce(produce) => {
                body.partition = produce.batches.first().map(|(partition, _)| *partition);
            }
            Request::Fetch(fetch) => {
                body.partition = match fetch.partitions.as_slice() {
                    [only] => Some(only.topic_partition),
                    _ => None,
                };
            }
            _ => {}
        },
        TraceEvent::ResponseSent { body: response, .. } => {
            body.error_code = response.error_code();
            match response.as_ref() {
                Response::Produce(produce) => {
                    body.partition = produce.partitions.first().map(|p| p.topic_partition);
                }
                Response::Fetch(fetch) => {
                    let mut full = fetch.partitions.iter().filter(|p| !p.batches.is_empty());
                    body.partition = match (full.next(), full.next()) {
                        (Some(only), None) => Some(only.topic_partition),
                        _ => None,
                    };
                }
                _ => {}
            }
        }
        _ => {}
    }
    let shows = |partition: &TopicPartition| {
        view.partitions()
            .any(|known| known.topic_partition == *partition)
    };
    body.partition = body.partition.filter(shows);
    body
}

fn between(from: (f64, f64), to: (f64, f64), share: f64) -> (f64, f64) {
    (
        from.0 + (to.0 - from.0) * share,
        from.1 + (to.1 - from.1) * share,
    )
}

/// More tokens than this at once are a cloud, not a picture.
const TOKENS_MAX: usize = 120;
