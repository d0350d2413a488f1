//! A group as its coordinator has it: the state machine, and each member with its timers.

use super::cluster::TOP;
use super::fit::first_fitting;
use super::place::Place;
use super::scale::{count, real};
use super::shape::{Align, Font, Geometry, Layer, Scene, Style, Type};
use super::theme::Ink;
use super::view::View;
use super::words;
use crate::driver::selection::Selection;
use terrarium_core::base::ids::NodeId;
use terrarium_core::kernel::time::{SimTime, Span};
use terrarium_core::sim::view::{GroupMemberView, GroupView, ReconciliationView};
use terrarium_core::trace::event::GroupState;
use terrarium_core::wire::record::ReconciliationState;

/// Draws the chosen group, or else the first.
pub(crate) fn build(view: &View<'_>) -> Scene {
    let (width, height) = view.size;
    let mut scene = Scene::new(width, height);
    let chosen = view
        .stage
        .groups
        .iter()
        .find(|group| view.is_lit(&Selection::Group(group.group_id.clone())));
    let Some(group) = chosen.or(view.stage.groups.first()) else {
        let set = Type {
            font: Font::text(125),
            align: Align::Middle,
        };
        scene.text(
            (width / 2.0, height / 2.0),
            view.say("stage.no-group", &[]),
            set,
            Ink::Mute,
        );
        return scene;
    };
    let margin = if view.is_narrow() { 12.0 } else { 24.0 };
    let machine = Place::new(margin, TOP + 6.0, width - 2.0 * margin, 66.0);
    draw_machine(&mut scene, view, group, machine);
    let facts_y = machine.bottom() + 24.0;
    draw_facts(&mut scene, view, group, (margin, facts_y));
    let members_top = facts_y + 16.0;
    let room = Place::new(
        margin,
        members_top,
        width - 2.0 * margin,
        height - members_top - 10.0,
    );
    draw_members(&mut scene, view, group, room);
    scene.sorted()
}

/// The four states of a living group in the order of a rebalance, and the way from one to the next.
fn draw_machine(scene: &mut Scene, view: &View<'_>, group: &GroupView, room: Place) {
    let (first, second) = match group.target_assignment_epoch {
        None => (
            GroupState::PreparingRebalance,
            GroupState::CompletingRebalance,
        ),
        Some(_) => (GroupState::Assigning, GroupState::Reconciling),
    };
    let states = [GroupState::Empty, first, second, GroupState::Stable];
    let gap = if view.is_narrow() { 12.0 } else { 34.0 };
    let width = (room.width - 3.0 * gap) / 4.0;
    let target = scene.target(Selection::Group(group.group_id.clone()));
    let mut places = Vec::new();
    for (index, state) in states.into_iter().enumerate() {
        let place = Place::new(
            room.x + count(index) * (width + gap),
            room.y + 16.0,
            width,
            40.0,
        );
        places.push(place);
        let is_now = group.state == state;
        let style = if is_now {
            Style::fill(Ink::AccentSoft).edged(Ink::Accent, 1.6)
        } else {
            Style::fill(Ink::Panel).edged(Ink::Line, 1.0)
        };
        scene.push_for(target, Layer::Card, place.rect(10.0), style);
        let font = if is_now {
            Font::bold(120)
        } else {
            Font::text(120)
        };
        let short = state.name().trim_end_matches("Rebalance").to_owned();
        let texts = [state.name().to_owned(), short];
        let (x, y) = place.centre();
        if let Some(text) = first_fitting(view.measure, &texts, font, width - 8.0) {
            let ink = if is_now { Ink::Accent } else { Ink::Mute };
            scene.text(
                (x, y + 4.0),
                text,
                Type {
                    font,
                    align: Align::Middle,
                },
                ink,
            );
        }
    }
    for pair in places.windows(2) {
        let [from, to] = pair else { continue };
        let y = from.centre().1;
        arrow(scene, (from.right() + 3.0, y), (to.x - 3.0, y));
    }
    // Back from Stable and from the state before it whenever a member comes, goes or asks.
    if let [_, preparing, completing, stable] = places.as_slice() {
        for (from, lift) in [(completing, 9.0), (stable, 15.0)] {
            let (x_from, x_to) = (from.centre().0, preparing.centre().0 + lift);
            let y = from.y - lift;
            let style = Style::line(Ink::Faint, 1.0);
            let path = vec![
                (x_from, from.y - 2.0),
                (x_from, y),
                (x_to, y),
                (x_to, from.y - 3.0),
            ];
            scene.push(Layer::Wire, Geometry::Line(path), style);
            let head = vec![
                (x_to - 3.0, from.y - 7.0),
                (x_to, from.y - 3.0),
                (x_to + 3.0, from.y - 7.0),
            ];
            scene.push(Layer::Wire, Geometry::Line(head), style);
        }
    }
}

fn arrow(scene: &mut Scene, from: (f64, f64), to: (f64, f64)) {
    let style = Style::line(Ink::Faint, 1.2);
    scene.push(Layer::Wire, Geometry::Line(vec![from, to]), style);
    let head = vec![(to.0 - 5.0, to.1 - 3.0), to, (to.0 - 5.0, to.1 + 3.0)];
    scene.push(Layer::Wire, Geometry::Line(head), style);
}

fn draw_facts(scene: &mut Scene, view: &View<'_>, group: &GroupView, (x, y): (f64, f64)) {
    let coordinator = view.node_name(NodeId::Broker(group.coordinator));
    let generation = group.generation_id.to_string();
    let protocol = group.protocol_name.as_deref().unwrap_or("-");
    let leader = group.leader.as_ref().and_then(|leader| {
        let member = group
            .members
            .iter()
            .find(|member| member.member_id == *leader)?;
        Some(view.node_name(member.client))
    });
    let args = [
        ("group", group.group_id.as_str()),
        ("coordinator", &coordinator),
        ("generation", &generation),
        ("protocol", protocol),
        ("leader", leader.as_deref().unwrap_or("-")),
    ];
    let font = Font::text(120);
    let texts = match group.target_assignment_epoch {
        None => [
            view.say("stage.group-facts", &args),
            view.say("stage.group-facts-short", &args),
        ],
        Some(target) => {
            let target = target.to_string();
            let args = [
                ("group", group.group_id.as_str()),
                ("coordinator", &*coordinator),
                ("epoch", &*generation),
                ("target", &*target),
            ];
            [
                view.say("stage.group-epochs", &args),
                view.say("stage.group-epochs-short", &args),
            ]
        }
    };
    let room = view.size.0 - 2.0 * x;
    let Some(text) = first_fitting(view.measure, &texts, font, room) else {
        return;
    };
    scene.text(
        (x, y),
        text,
        Type {
            font,
            align: Align::Start,
        },
        Ink::Text,
    );
}

fn draw_members(scene: &mut Scene, view: &View<'_>, group: &GroupView, room: Place) {
    let rows = count(group.members.len().max(1));
    let pitch = (room.height / rows).min(30.0);
    for (index, member) in group.members.iter().enumerate() {
        let y = room.y + (count(index) + 0.5) * pitch;
        if room.bottom() + 4.0 < y {
            return;
        }
        draw_member(
            scene,
            view,
            member,
            Place::new(room.x, y - pitch / 2.0, room.width, pitch),
        );
    }
}

fn draw_member(scene: &mut Scene, view: &View<'_>, member: &GroupMemberView, room: Place) {
    let y = room.centre().1 + 4.0;
    let selection = Selection::Node(member.client);
    let is_lit = view.is_lit(&selection);
    let target = scene.target(selection);
    let style = if is_lit {
        Style::fill(Ink::Glow)
    } else {
        Style::GHOST
    };
    scene.push_for(target, Layer::Ground, room.rect(6.0), style);
    let line = vec![(room.x, room.y), (room.right(), room.y)];
    scene.push(
        Layer::Ground,
        Geometry::Line(line),
        Style::line(Ink::Hair, 1.0),
    );
    let start = |font| Type {
        font,
        align: Align::Start,
    };
    let name = view.node_name(member.client);
    scene.text((room.x + 4.0, y), name, start(Font::bold(120)), Ink::Text);
    let columns = if view.is_narrow() {
        [54.0, 150.0, 228.0]
    } else {
        [90.0, 300.0, 440.0]
    };
    let [state_x, timer_x, owned_x] = columns.map(|offset| room.x + offset);
    let (texts, ink) = if let Some(progress) = &member.reconciliation {
        progress_texts(view, progress)
    } else if member.join_parked {
        let short = view.say("stage.tray-short", &[]);
        (vec![view.say("stage.tray-join", &[]), short], Ink::Warn)
    } else if member.sync_parked {
        let short = view.say("stage.tray-sync-short", &[]);
        (vec![view.say("stage.tray-sync", &[]), short], Ink::Accent)
    } else if member.sync_pending {
        (vec![view.say("stage.sync-awaited", &[])], Ink::Mute)
    } else {
        (vec![view.say("stage.tray-none", &[])], Ink::Mute)
    };
    let font = Font::text(115);
    if let Some(text) = first_fitting(view.measure, &texts, font, timer_x - state_x - 10.0) {
        scene.text((state_x, y), text, start(font), ink);
    }
    if let Some(expires_at) = member.session_expires_at {
        let left = expires_at.since(view.now());
        let share = share_left(expires_at, view.now(), member.session_timeout);
        let centre = (timer_x, y - 4.0);
        let ink = if share < 0.25 { Ink::Warn } else { Ink::Accent };
        scene.push(
            Layer::Mark,
            Geometry::Circle(centre, 5.5),
            Style::line(Ink::Line, 2.2),
        );
        scene.push(
            Layer::Mark,
            Geometry::Arc(centre, 5.5, share),
            Style::line(ink, 2.2),
        );
        let text = words::span(left);
        scene.text((timer_x + 11.0, y), text, start(Font::mono(110)), Ink::Mute);
    }
    let row = Place::new(owned_x, room.y, room.right() - owned_x, room.height);
    draw_chips(scene, view, member, row);
}

/// What a member of the consumer protocol waits for.
fn progress_texts(view: &View<'_>, progress: &ReconciliationView) -> (Vec<String>, Ink) {
    let epoch = progress.member_epoch.to_string();
    let args = [("epoch", &*epoch)];
    let (key, short, ink) = match progress.state {
        ReconciliationState::Stable | ReconciliationState::Unknown => {
            ("stage.epoch-stable", "stage.epoch-short", Ink::Mute)
        }
        ReconciliationState::UnrevokedPartitions => (
            "stage.epoch-unrevoked",
            "stage.epoch-unrevoked-short",
            Ink::Warn,
        ),
        ReconciliationState::UnreleasedPartitions => (
            "stage.epoch-unreleased",
            "stage.epoch-unreleased-short",
            Ink::Accent,
        ),
    };
    (vec![view.say(key, &args), view.say(short, &args)], ink)
}

/// The partitions of a member: what it has, full; what it is to give up, pale with a dashed edge;
/// what it waits for, an empty frame.
fn draw_chips(scene: &mut Scene, view: &View<'_>, member: &GroupMemberView, room: Place) {
    let y = room.centre().1 + 4.0;
    let progress = member.reconciliation.as_ref();
    let leaving = progress.map_or(&[][..], |one| &one.pending_revocation);
    let awaited = progress.map_or(&[][..], |one| &one.unreleased);
    let kept = member.assignment.iter().map(|id| (*id, Hold::Owned));
    let leaving = leaving.iter().map(|id| (*id, Hold::Leaving));
    let awaited = awaited.iter().map(|id| (*id, Hold::Awaited));
    let mut x = room.x;
    for (partition, hold) in kept.chain(leaving).chain(awaited) {
        let name = view.partition_name(partition);
        let font = Font::text(100);
        let width = view.measure.width(&name, font) + 9.0;
        if room.right() < x + width {
            break;
        }
        let hue = view.hue(partition);
        let target = scene.target(Selection::Partition(partition));
        let chip = Place::new(x, y - 11.5, width, 15.0);
        let (style, ink) = match hold {
            Hold::Owned => (Style::fill(Ink::Hue(hue)), Ink::OnHue(hue)),
            Hold::Leaving => (Style::dashed(Ink::Hue(hue), 1.6, (3.0, 2.0)), Ink::Warn),
            Hold::Awaited => (Style::line(Ink::Hue(hue), 1.2), Ink::Mute),
        };
        scene.push_for(target, Layer::Body, chip.rect(3.5), style);
        let set = Type {
            font,
            align: Align::Middle,
        };
        scene.text((chip.centre().0, y - 0.6), name, set, ink);
        x += width + 4.0;
    }
}

/// How a member holds a partition.
#[derive(Clone, Copy, Debug)]
enum Hold {
    /// It owns it.
    Owned,
    /// It has been told to give it up.
    Leaving,
    /// It is to get it once the owner has given it up.
    Awaited,
}

fn share_left(expires_at: SimTime, now: SimTime, all: Span) -> f64 {
    (real(expires_at.since(now).0) / real(all.0.max(1))).clamp(0.0, 1.0)
}
