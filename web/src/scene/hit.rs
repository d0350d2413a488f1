//! What lies under a pointer, and what it is in one line.

use super::shape::{Geometry, Scene, Shape};
use super::view::View;
use super::words;
use crate::driver::selection::Selection;
use terrarium_core::base::ids::{BrokerId, NodeId, TopicPartition};
use terrarium_core::sim::view::{PacketView, ParkedView};
use terrarium_core::trace::event::{TraceEntry, TraceEvent, Waiting};
use terrarium_core::wire::error_code::ErrorCode;

/// The topmost thing at a point.
pub(crate) fn pick(scene: &Scene, x: f64, y: f64) -> Option<&Selection> {
    // Lines are thin: first what is hit, then what is nearly hit.
    [1.0, 5.0].into_iter().find_map(|reach| {
        let hit = scene
            .shapes
            .iter()
            .rev()
            .find(|shape| touches(shape, (x, y), reach))?;
        scene.targets.get(hit.target?)
    })
}

fn touches(shape: &Shape, (x, y): (f64, f64), reach: f64) -> bool {
    if shape.target.is_none() {
        return false;
    }
    match &shape.geometry {
        Geometry::Rect([left, top, width, height], _) => {
            let slack = reach - 1.0;
            left - slack <= x
                && x <= left + width + slack
                && top - slack <= y
                && y <= top + height + slack
        }
        Geometry::Line(points) => points
            .windows(2)
            .any(|pair| matches!(pair, [a, b] if distance((x, y), *a, *b) <= reach)),
        Geometry::Curve(curve) => {
            let points: Vec<(f64, f64)> = (0..=16_u8)
                .map(|step| bezier(*curve, f64::from(step) / 16.0))
                .collect();
            points
                .windows(2)
                .any(|pair| matches!(pair, [a, b] if distance((x, y), *a, *b) <= reach))
        }
        Geometry::Circle((cx, cy), radius) | Geometry::Arc((cx, cy), radius, _) => {
            (x - cx).hypot(y - cy) <= radius + reach - 1.0
        }
        Geometry::Text(..) => false,
    }
}

/// How far a point is from a stretch of a line.
fn distance((x, y): (f64, f64), (ax, ay): (f64, f64), (bx, by): (f64, f64)) -> f64 {
    let (dx, dy) = (bx - ax, by - ay);
    let length = dx * dx + dy * dy;
    let share = if length <= 0.0 {
        0.0
    } else {
        (((x - ax) * dx + (y - ay) * dy) / length).clamp(0.0, 1.0)
    };
    (x - ax - share * dx).hypot(y - ay - share * dy)
}

fn bezier([a, b, c, d]: [(f64, f64); 4], share: f64) -> (f64, f64) {
    let rest = 1.0 - share;
    let weigh = |a: f64, b: f64, c: f64, d: f64| {
        rest.powi(3) * a
            + 3.0 * rest.powi(2) * share * b
            + 3.0 * rest * share.powi(2) * c
            + share.powi(3) * d
    };
    (weigh(a.0, b.0, c.0, d.0), weigh(a.1, b.1, c.1, d.1))
}

/// One line that says what something is.
pub(crate) fn hint(view: &View<'_>, selection: &Selection) -> Option<String> {
    match selection {
        Selection::Node(node) => Some(node_hint(view, *node)),
        Selection::Replica(broker, partition) => replica_hint(view, *broker, *partition),
        Selection::Partition(partition) => partition_hint(view, *partition),
        Selection::Group(group) => {
            let known = view
                .stage
                .groups
                .iter()
                .find(|known| known.group_id == *group)?;
            let (generation, members) = (
                known.generation_id.to_string(),
                known.members.len().to_string(),
            );
            let args = [
                ("group", group.as_str()),
                ("state", known.state.name()),
                ("generation", &generation),
                ("members", &members),
            ];
            Some(view.say("stage.hint-group", &args))
        }
        Selection::Packet { packet, entry } => {
            let known = view
                .stage
                .packets
                .iter()
                .find(|known| known.packet == *packet);
            match known {
                Some(known) => Some(packet_hint(view, known)),
                None => past_packet_hint(view, *entry),
            }
        }
        Selection::Parked {
            at,
            from,
            correlation,
            entry,
        } => {
            let known = view.stage.parked.iter().find(|known| {
                known.at == *at && known.from == *from && known.correlation == *correlation
            });
            match known {
                Some(known) => Some(parked_hint(view, known)),
                None => view
                    .trace
                    .entry(*entry)
                    .map(|entry| entry_hint(view, entry)),
            }
        }
        Selection::Entry(index) => view
            .trace
            .entry(*index)
            .map(|entry| entry_hint(view, entry)),
    }
}

fn node_hint(view: &View<'_>, node: NodeId) -> String {
    let name = view.node_name(node);
    let consumer = view
        .stage
        .consumers
        .iter()
        .find(|known| Some(known.client) == node.client());
    match consumer {
        Some(consumer) => {
            let owned = words::list(
                consumer
                    .partitions
                    .iter()
                    .map(|p| view.partition_name(p.topic_partition)),
            );
            let processed = consumer.records_processed.to_string();
            let args = [
                ("name", name.as_str()),
                ("partitions", &owned),
                ("records", &processed),
            ];
            if owned.is_empty() {
                view.say("stage.hint-consumer-idle", &args)
            } else {
                view.say("stage.hint-consumer", &args)
            }
        }
        None => name,
    }
}

fn replica_hint(view: &View<'_>, broker: BrokerId, partition: TopicPartition) -> Option<String> {
    let replica = view.replica(broker, partition)?;
    let name = view.partition_name(partition);
    let (end, high_watermark) = (
        replica.log_end_offset.to_string(),
        replica.high_watermark.to_string(),
    );
    let (start, epoch) = (
        replica.log_start_offset.to_string(),
        replica.leader_epoch.to_string(),
    );
    let node = view.node_name(NodeId::Broker(broker));
    let args = [
        ("partition", name.as_str()),
        ("node", &node),
        ("end", &end),
        ("hw", &high_watermark),
        ("start", &start),
        ("epoch", &epoch),
    ];
    Some(if replica.is_leader {
        view.say("stage.hint-leader", &args)
    } else {
        view.say("stage.hint-follower", &args)
    })
}

fn partition_hint(view: &View<'_>, partition: TopicPartition) -> Option<String> {
    let mut all = view.stage.topics.iter().flat_map(|topic| &topic.partitions);
    let known = all.find(|known| known.topic_partition == partition)?;
    let name = view.partition_name(partition);
    let isr = words::list(&known.isr);
    let leader = known
        .leader
        .map_or_else(|| String::from("-1"), |leader| leader.to_string());
    let args = [
        ("partition", name.as_str()),
        ("leader", &leader),
        ("isr", &isr),
    ];
    Some(view.say("stage.hint-partition", &args))
}

fn packet_hint(view: &View<'_>, packet: &PacketView) -> String {
    let (from, to) = (view.node_name(packet.from), view.node_name(packet.to));
    let left = packet.due_at.map(|due| words::span(due.since(view.now())));
    let args = [
        ("message", packet.api.name()),
        ("from", from.as_str()),
        ("to", &to),
        ("left", left.as_deref().unwrap_or("")),
    ];
    match (left.is_some(), packet.is_response) {
        (false, _) => view.say("stage.hint-held", &args),
        (true, false) => view.say("stage.hint-request", &args),
        (true, true) => view.say("stage.hint-response", &args),
    }
}

fn past_packet_hint(view: &View<'_>, entry: u64) -> Option<String> {
    let entry = view.trace.entry(entry)?;
    let (to, name) = match &entry.event {
        TraceEvent::RequestSent { to, body, .. } => (*to, body.api_key().name().to_owned()),
        TraceEvent::ResponseSent { to, body, .. } => {
            let name = body.api_key().name();
            let text = match body.error_code() {
                ErrorCode::None => format!("{name} ✓"),
                code => format!("{name}: {}", code.name()),
            };
            (*to, text)
        }
        _ => return Some(entry_hint(view, entry)),
    };
    let (from, to) = (view.node_name(entry.node), view.node_name(to));
    let at = entry.at.to_string();
    let args = [
        ("message", name.as_str()),
        ("from", &from),
        ("to", &to),
        ("at", &at),
    ];
    Some(view.say("stage.hint-message", &args))
}

fn parked_hint(view: &View<'_>, parked: &ParkedView) -> String {
    let from = view.node_name(parked.from);
    let at = view.node_name(NodeId::Broker(parked.at));
    let time = words::span(view.now().since(parked.since));
    let others = words::list(
        parked
            .waiting_for
            .iter()
            .map(|b| view.node_name(NodeId::Broker(*b))),
    );
    let args = [
        ("from", from.as_str()),
        ("at", &at),
        ("time", &time),
        ("others", &others),
    ];
    match parked.waiting {
        Waiting::Join => view.say("stage.hint-parked-join", &args),
        Waiting::Sync => view.say("stage.hint-parked-sync", &args),
        Waiting::Produce if others.is_empty() => view.say("stage.hint-parked-append", &args),
        Waiting::Produce => view.say("stage.hint-parked-produce", &args),
        Waiting::Fetch => view.say("stage.hint-parked-fetch", &args),
        Waiting::DeleteRecords => view.say("stage.hint-parked-delete", &args),
        Waiting::CoordinatorAppend => view.say("stage.hint-parked-append", &args),
    }
}

fn entry_hint(view: &View<'_>, entry: &TraceEntry) -> String {
    let node = view.node_name(entry.node);
    let at = entry.at.to_string();
    match &entry.event {
        TraceEvent::GroupStateChanged {
            group_id,
            state,
            reason,
            ..
        } => {
            let args = [
                ("group", group_id.as_str()),
                ("state", state.name()),
                ("reason", reason),
                ("at", &at),
            ];
            view.say("stage.hint-state", &args)
        }
        TraceEvent::PartitionsAssigned { owned, .. } => {
            let names = words::list(owned.iter().map(|p| view.partition_name(*p)));
            let args = [("node", node.as_str()), ("partitions", &names), ("at", &at)];
            view.say("stage.hint-owned", &args)
        }
        TraceEvent::ProcessingStarted {
            topic_partition,
            offset,
            until,
            ..
        } => {
            let name = view.partition_name(*topic_partition);
            let (offset, time) = (offset.to_string(), words::span(until.since(entry.at)));
            let args = [
                ("node", node.as_str()),
                ("partition", &name),
                ("offset", &offset),
                ("time", &time),
            ];
            view.say("stage.hint-work", &args)
        }
        TraceEvent::BecameLeader {
            topic_partition,
            leader_epoch,
            ..
        } => {
            let name = view.partition_name(*topic_partition);
            let epoch = leader_epoch.to_string();
            let args = [
                ("node", node.as_str()),
                ("partition", &name),
                ("epoch", &epoch),
                ("at", &at),
            ];
            view.say("stage.hint-became-leader", &args)
        }
        TraceEvent::MemberStateChanged { .. } => {
            view.say("stage.hint-waits", &[("node", &node), ("at", &at)])
        }
        other => {
            let args = [
                ("event", other.name()),
                ("node", node.as_str()),
                ("at", &at),
            ];
            view.say("stage.hint-event", &args)
        }
    }
}
