//! Messages as lines from lane to lane.

use super::{Lane, LaneFilter, Lanes, Role};
use crate::driver::history::messages::{Fate, Message};
use crate::driver::selection::Selection;
use crate::scene::fit::Taken;
use crate::scene::scale::{TimeScale, real, whole};
use crate::scene::shape::{Align, Font, Geometry, Layer, Scene, Style, Type};
use crate::scene::theme::Ink;
use crate::scene::view::View;
use std::collections::{BTreeMap, BTreeSet};
use terrarium_core::wire::api::ApiKey;
use terrarium_core::wire::error_code::ErrorCode;

/// How much a message says.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Weight {
    /// It comes and goes all the time.
    Light,
    /// It tells of a change.
    Heavy,
    /// It tells of trouble.
    Trouble,
}

/// Draws the messages that show.
pub(super) fn draw(
    scene: &mut Scene,
    view: &View<'_>,
    scale: &TimeScale,
    lanes: &Lanes,
    taken: &mut Taken,
) {
    let mut drawn: BTreeSet<(usize, usize, Weight, u64)> = BTreeSet::new();
    let mut named: Vec<(&'static str, f64)> = Vec::new();
    let mut troubles: BTreeMap<(usize, usize, &'static str), f64> = BTreeMap::new();
    let walls = walls(view, scale, lanes);
    for message in view
        .history
        .messages()
        .seen(scale.from(), scale.to(), view.clip())
    {
        let place = |node| lanes.all.iter().position(|lane| lane.node == node);
        let (Some(from), Some(to)) = (place(message.from), place(message.to)) else {
            continue;
        };
        let (Some(start), Some(stop)) = (lanes.all.get(from), lanes.all.get(to)) else {
            continue;
        };
        let selection = Selection::Packet {
            packet: message.packet,
            entry: message.sent.index,
        };
        let is_lit = view.is_lit(&selection);
        let weight = weight(message);
        let is_wall = walls.contains(&(from, to)) || !belongs(lanes, message.api);
        if weight == Weight::Light && is_wall && !is_lit {
            continue;
        }
        let name = name(message);
        let x = scale.x(message.sent.at);
        // The same trouble over and over is told now and then.
        let is_lost = matches!(message.end(view.clip()), Some((_, Fate::Lost)));
        if (weight == Weight::Trouble || is_lost) && !is_lit {
            let last = troubles.insert((from, to, name), x);
            if let Some(last) = last.filter(|last| x - last < PIXELS_PER_TROUBLE) {
                troubles.insert((from, to, name), last);
                continue;
            }
        }
        // Of messages on one pixel the first is drawn.
        let pixel =
            whole(scale.x(message.sent.at) / if weight == Weight::Light { 2.0 } else { 1.0 });
        if !drawn.insert((from, to, weight, pixel)) && !is_lit {
            continue;
        }
        if ARROWS_MAX < drawn.len() {
            break;
        }
        let arrow = Arrow {
            message,
            start,
            stop,
            weight,
            is_lit,
        };
        let target = scene.target(selection);
        draw_arrow(scene, view, scale, &arrow, target);
        // Of a crowd of equal messages the first is named.
        let apart = if weight == Weight::Trouble {
            400.0
        } else {
            110.0
        };
        let is_crowd = named
            .iter()
            .any(|(known, at)| *known == name && (x - at).abs() < apart);
        if weight != Weight::Light
            && (!is_crowd || is_lit)
            && named.len() < NAMES_MAX
            && draw_name(scene, view, scale, &arrow, taken)
        {
            named.push((name, x));
        }
    }
}

/// A message and its two lanes.
struct Arrow<'a> {
    message: &'a Message,
    start: &'a Lane,
    stop: &'a Lane,
    weight: Weight,
    is_lit: bool,
}

/// Pairs of lanes between which so many light messages pass that their lines would be a wall.
/// They show again when one zooms in.
fn walls(view: &View<'_>, scale: &TimeScale, lanes: &Lanes) -> BTreeSet<(usize, usize)> {
    let mut counts: BTreeMap<(usize, usize), u32> = BTreeMap::new();
    for message in view
        .history
        .messages()
        .seen(scale.from(), scale.to(), view.clip())
    {
        let place = |node| lanes.all.iter().position(|lane| lane.node == node);
        if weight(message) == Weight::Light
            && belongs(lanes, message.api)
            && let (Some(from), Some(to)) = (place(message.from), place(message.to))
        {
            *counts.entry((from, to)).or_default() += 1;
        }
    }
    let seen = scale.x_held(view.now()) - scale.x_from;
    let limit = seen / PIXELS_PER_LIGHT;
    counts
        .into_iter()
        .filter(|(_, count)| limit < f64::from(*count))
        .map(|(pair, _)| pair)
        .collect()
}

/// Whether light messages of an API have to do with what the lanes are about.
fn belongs(lanes: &Lanes, api: ApiKey) -> bool {
    lanes.filter != LaneFilter::Group
        || matches!(
            api,
            ApiKey::Heartbeat
                | ApiKey::OffsetCommit
                | ApiKey::OffsetFetch
                | ApiKey::FindCoordinator
        )
}

fn weight(message: &Message) -> Weight {
    // That a new member has to come again with its id is the usual way in (KIP-394).
    let is_usual = matches!(
        message.error_code,
        ErrorCode::None | ErrorCode::MemberIdRequired
    );
    if message.is_response && !is_usual {
        return Weight::Trouble;
    }
    match message.api {
        ApiKey::JoinGroup
        | ApiKey::SyncGroup
        | ApiKey::LeaveGroup
        | ApiKey::AlterPartition
        | ApiKey::BrokerRegistration => Weight::Heavy,
        _ => Weight::Light,
    }
}

/// What a message is called: a trouble by its error.
fn name(message: &Message) -> &'static str {
    match (message.is_response, message.error_code) {
        (true, ErrorCode::None) | (false, _) => message.api.name(),
        (true, code) => code.name(),
    }
}

fn draw_arrow(
    scene: &mut Scene,
    view: &View<'_>,
    scale: &TimeScale,
    arrow: &Arrow<'_>,
    target: usize,
) {
    let message = arrow.message;
    let is_down = arrow.start.y < arrow.stop.y;
    let lean = |lane: &Lane, towards_down: bool| {
        let gap = if lane.role == Role::Consumer {
            lane.half + 1.0
        } else {
            1.5
        };
        if towards_down {
            lane.y + gap
        } else {
            lane.y - gap
        }
    };
    let y_from = lean(arrow.start, is_down);
    let y_to = lean(arrow.stop, !is_down);
    let x_from = scale.x(message.sent.at);
    let arrival = message.arrival(view.clip());
    let end = message.end(view.clip());
    let x_to = arrival.map_or(x_from, |at| scale.x(at));
    // A message under way is drawn as far as it has come.
    let share = match (end, arrival) {
        (Some(_), _) => 1.0,
        (None, Some(at)) => {
            let all = real(at.since(message.sent.at).0.max(1));
            (real(view.now().since(message.sent.at).0) / all).clamp(0.0, 1.0)
        }
        (None, None) => 0.5,
    };
    let tip = (
        x_from + (x_to - x_from) * share,
        y_from + (y_to - y_from) * share,
    );
    if tip.0 < scale.x_from - 1.0 || scale.x_to + 1.0 < x_from {
        return;
    }
    let is_lost = matches!(end, Some((_, Fate::Lost)));
    let (ink, width, alpha) = look(arrow, is_lost);
    let line = Geometry::Line(vec![(x_from, y_from), tip]);
    let style = if is_lost || arrival.is_none() {
        Style::dashed(ink, width, (3.0, 3.0)).alpha(alpha)
    } else {
        Style::line(ink, width).alpha(alpha)
    };
    scene.push_for(target, Layer::Wire, line, style);
    if end.is_none() {
        scene.push_for(
            target,
            Layer::Token,
            Geometry::Circle(tip, 3.0),
            Style::fill(ink),
        );
    } else if is_lost {
        let (x, y) = (f64::midpoint(x_from, x_to), f64::midpoint(y_from, y_to));
        for side in [-1.0, 1.0] {
            let cross = vec![(x - 3.0, y - 3.0 * side), (x + 3.0, y + 3.0 * side)];
            scene.push(
                Layer::Token,
                Geometry::Line(cross),
                Style::line(Ink::Loss, 1.4),
            );
        }
    } else if arrow.weight != Weight::Light && 14.0 < (y_to - y_from).abs() {
        let back = if is_down { -5.0 } else { 5.0 };
        let slope = (x_to - x_from) / (y_to - y_from) * back;
        let head = vec![
            (tip.0 + slope - 3.0, tip.1 + back),
            tip,
            (tip.0 + slope + 3.0, tip.1 + back),
        ];
        scene.push(
            Layer::Wire,
            Geometry::Line(head),
            Style::line(ink, width).alpha(alpha),
        );
    }
}

fn look(arrow: &Arrow<'_>, is_lost: bool) -> (Ink, f64, f64) {
    if is_lost {
        return (Ink::Loss, 1.2, 0.9);
    }
    if arrow.is_lit {
        return (Ink::Text, 1.8, 1.0);
    }
    match (arrow.weight, arrow.message.is_response) {
        (Weight::Light, _) => (Ink::Faint, 1.0, 0.3),
        (Weight::Heavy, false) => (Ink::Accent, 1.4, 1.0),
        (Weight::Heavy, true) => (Ink::Accent, 1.1, 0.6),
        (Weight::Trouble, _) => (Ink::Warn, 1.0, 0.55),
    }
}

/// Writes what a message is, if there is room beside it.
fn draw_name(
    scene: &mut Scene,
    view: &View<'_>,
    scale: &TimeScale,
    arrow: &Arrow<'_>,
    taken: &mut Taken,
) -> bool {
    let message = arrow.message;
    if message.is_response && arrow.weight != Weight::Trouble && !arrow.is_lit {
        return false;
    }
    let text = name(message);
    let font = Font::text(105);
    let width = view.measure.width(text, font);
    let x = scale.x(message.sent.at);
    // Close to the lane of a broker there is more room than between consumers.
    let upper = if arrow.start.y < arrow.stop.y {
        arrow.start
    } else {
        arrow.stop
    };
    let y = upper.y + 23.0;
    let ink = if arrow.weight == Weight::Trouble {
        Ink::Warn
    } else {
        Ink::Accent
    };
    let sides = [
        (x - 5.0 - width, x - 5.0, Align::End),
        (x + 5.0, x + 5.0, Align::Start),
    ];
    for (left, anchor, align) in sides {
        // What happened is not named in what is to come.
        let limit = scale.x_held(view.now()).max(x).min(scale.x_to);
        let is_inside = scale.x_from - 4.0 <= left && left + width <= limit;
        if is_inside && taken.take([left - 3.0, y - 10.0, width + 6.0, 13.0]) {
            scene.text((anchor, y), text, Type { font, align }, ink);
            return true;
        }
    }
    false
}

/// More lines than this are a wall.
const ARROWS_MAX: usize = 3_000;
/// Light messages may lie so close on average.
const PIXELS_PER_LIGHT: f64 = 18.0;
/// Answers with the same error lie at least so far apart.
const PIXELS_PER_TROUBLE: f64 = 20.0;
/// More names than this nobody reads.
const NAMES_MAX: usize = 40;
