//! Which lanes there are, where they lie, and their heads.

use super::{LaneFilter, Window};
use crate::driver::selection::Selection;
use crate::scene::cluster::TOP;
use crate::scene::fit::{first_fitting, first_whole};
use crate::scene::place::Place;
use crate::scene::scale::{TimeScale, count, real};
use crate::scene::shape::{Align, Font, Geometry, Layer, Scene, Style, Type};
use crate::scene::theme::Ink;
use crate::scene::view::View;
use terrarium_core::base::ids::NodeId;
use terrarium_core::base::timer::Timer;
use terrarium_core::kernel::time::{SimTime, Span};
use terrarium_core::sim::view::{ConsumerView, GroupMemberView, ProcessState};

/// What a lane is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Role {
    /// A broker that coordinates a group.
    Coordinator,
    /// Another broker.
    Broker,
    /// The controller.
    Controller,
    /// A producer.
    Producer,
    /// A consumer.
    Consumer,
}

/// A lane.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Lane {
    /// Whose it is.
    pub node: NodeId,
    /// What it is for.
    pub role: Role,
    /// Its middle.
    pub y: f64,
    /// Half the height of its band.
    pub half: f64,
}

/// All lanes.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Lanes {
    /// From top to bottom.
    pub all: Vec<Lane>,
    /// Where the grid begins.
    pub top: f64,
    /// Where the grid ends.
    pub bottom: f64,
    /// From one row of waiting requests to the next, above a coordinator's lane.
    pub row: f64,
    /// From one lane to the next.
    pub pitch: f64,
    /// Which lanes were asked for.
    pub filter: LaneFilter,
}

impl Lanes {
    /// Lays the lanes out.
    pub(super) fn of(view: &View<'_>, window: &Window, scale: &TimeScale) -> Self {
        let nodes = nodes(view, window.lanes, scale);
        let (_, height) = view.size;
        let (top, bottom) = (TOP + 2.0, height - 26.0);
        let seats = view
            .stage
            .groups
            .iter()
            .map(|group| group.members.len())
            .max();
        let members = seats.unwrap_or(0).max(view.stage.consumers.len().min(6));
        let coordinators = nodes
            .iter()
            .filter(|(_, role)| *role == Role::Coordinator)
            .count();
        let room = bottom - top;
        // A coordinator's lane has room for the requests that wait above it.
        let wanted = (count(members) * 9.0 + 6.0).clamp(24.0, 64.0);
        let tray = wanted.min(room * 0.3 / count(coordinators.max(1)));
        let row = ((tray - 4.0) / count(members.max(1))).min(9.0);
        let free = room - tray * count(coordinators);
        let pitch = (free / count(nodes.len().max(1))).clamp(14.0, 92.0);
        // Brokers' lanes hold more stripes than consumers'.
        let thickest = if window.lanes == LaneFilter::Replication {
            16.0
        } else {
            11.0
        };
        let half = (pitch * 0.2).clamp(4.0, thickest);
        let mut y = top;
        let mut all = Vec::new();
        for (node, role) in nodes {
            if role == Role::Coordinator {
                y += tray;
                all.push(Lane {
                    node,
                    role,
                    y: y + pitch * 0.2,
                    half,
                });
            } else {
                all.push(Lane {
                    node,
                    role,
                    y: y + pitch * 0.54,
                    half,
                });
            }
            y += pitch;
        }
        Self {
            all,
            top,
            bottom: bottom.min(y + 4.0).max(top + 20.0),
            row,
            pitch,
            filter: window.lanes,
        }
    }

    /// The lane of a process.
    pub(crate) fn of_node(&self, node: NodeId) -> Option<&Lane> {
        self.all.iter().find(|lane| lane.node == node)
    }
}

fn nodes(view: &View<'_>, filter: LaneFilter, scale: &TimeScale) -> Vec<(NodeId, Role)> {
    let coordinators = coordinators(view, scale);
    let role = |node: NodeId| {
        if coordinators.contains(&node) {
            Role::Coordinator
        } else {
            Role::Broker
        }
    };
    let brokers = view
        .stage
        .brokers
        .iter()
        .map(|broker| NodeId::Broker(broker.id));
    let consumers = view
        .stage
        .consumers
        .iter()
        .filter(|consumer| consumer.group_id.is_some());
    let consumers = consumers.map(|consumer| (NodeId::Client(consumer.client), Role::Consumer));
    let controllers = view.history.lanes().map(|(node, _)| node);
    let controllers = controllers.filter(|node| matches!(node, NodeId::Controller(_)));
    let controllers = controllers.map(|node| (node, Role::Controller));
    match filter {
        LaneFilter::Group => {
            let coordinators = coordinators.iter().map(|node| (*node, Role::Coordinator));
            coordinators.chain(consumers).collect()
        }
        LaneFilter::Replication => controllers
            .chain(brokers.map(|node| (node, Role::Broker)))
            .collect(),
        LaneFilter::All => {
            let everyone = view.stage.consumers.iter().map(|consumer| consumer.client);
            let everyone: Vec<_> = everyone.collect();
            let producers = view.stage.producers.iter().filter(|producer| {
                producer.process != ProcessState::NotStarted && !everyone.contains(&producer.client)
            });
            let producers = producers.map(|p| (NodeId::Client(p.client), Role::Producer));
            producers
                .chain(controllers)
                .chain(brokers.map(|node| (node, role(node))))
                .chain(consumers)
                .collect()
        }
    }
}

/// Brokers that coordinate a group now, or did so in the time that shows.
fn coordinators(view: &View<'_>, scale: &TimeScale) -> Vec<NodeId> {
    let now = view
        .stage
        .groups
        .iter()
        .map(|group| NodeId::Broker(group.coordinator));
    let phases = view
        .history
        .phases()
        .seen(scale.from(), scale.to(), view.clip());
    let mut all: Vec<NodeId> = now.chain(phases.map(|phase| phase.what.at)).collect();
    all.sort_unstable();
    all.dedup();
    if all.is_empty() {
        // Nobody has asked for the coordinator yet: the lane keeps its place.
        all.extend(
            view.stage
                .brokers
                .first()
                .map(|broker| NodeId::Broker(broker.id)),
        );
    }
    all
}

/// Draws lines and names, and the timers that matter as draining arcs.
pub(super) fn draw_heads(scene: &mut Scene, view: &View<'_>, scale: &TimeScale, lanes: &Lanes) {
    for lane in &lanes.all {
        draw_head(scene, view, scale, lane);
        draw_line(scene, view, scale, lane);
        if let Some(share) = timer_share(view, lane) {
            draw_arc(scene, (scale.x_from - 10.0, lane.y), share);
        }
    }
}

fn draw_head(scene: &mut Scene, view: &View<'_>, scale: &TimeScale, lane: &Lane) {
    let selection = Selection::Node(lane.node);
    let is_lit = view.is_lit(&selection);
    let target = scene.target(selection);
    let grip = Place::new(0.0, lane.y - 11.0, scale.x_from - 2.0, 22.0);
    scene.push_for(target, Layer::Ground, grip.rect(0.0), Style::GHOST);
    let is_bold = lane.role == Role::Coordinator || is_lit;
    let font = if is_bold {
        Font::bold(125)
    } else {
        Font::text(125)
    };
    let ink = if is_lit { Ink::Accent } else { Ink::Text };
    let room = scale.x_from - 24.0;
    let set = Type {
        font,
        align: Align::End,
    };
    let right = scale.x_from - 20.0;
    let mut names = vec![view.node_name(lane.node)];
    if let Some(id) = lane.node.broker() {
        names.push(view.say("stage.broker-short", &[("id", &id.to_string())]));
    }
    if let Some(name) = first_fitting(view.measure, &names, font, room) {
        scene.text((right, lane.y + 4.0), name, set, ink);
    }
    if lane.role == Role::Coordinator && 9.0 <= lane.half * 2.0 {
        let font = Font::text(105);
        let texts = [view.say("stage.coordinator", &[])];
        if let Some(text) = first_whole(view.measure, &texts, font, room) {
            scene.text(
                (right, lane.y + 18.0),
                text.clone(),
                Type {
                    font,
                    align: Align::End,
                },
                Ink::Mute,
            );
        }
    }
}

/// The line of a lane: all along for brokers, while it lives for a client.
fn draw_line(scene: &mut Scene, view: &View<'_>, scale: &TimeScale, lane: &Lane) {
    let stretch = |from: f64, to: f64| Geometry::Line(vec![(from, lane.y), (to, lane.y)]);
    match lane.role {
        Role::Coordinator | Role::Broker | Role::Controller => {
            scene.push(
                Layer::Card,
                stretch(scale.x_from, scale.x_to),
                Style::line(Ink::Faint, 1.0).alpha(0.8),
            );
        }
        Role::Producer | Role::Consumer => {
            let Some(history) = view.history.lane(lane.node) else {
                return;
            };
            for life in history.life.seen(scale.from(), scale.to(), view.clip()) {
                let from = scale.x_held(life.from.at);
                let to = scale.x_held(life.end_or(view.clip(), view.now()));
                scene.push(Layer::Card, stretch(from, to), Style::line(Ink::Line, 1.0));
            }
        }
    }
}

/// How much is left of the timer that matters most to a lane, from 0 to 1.
fn timer_share(view: &View<'_>, lane: &Lane) -> Option<f64> {
    let now = view.now();
    let share = |due: SimTime, all: Span| real(due.since(now).0) / real(all.0.max(1));
    match lane.role {
        Role::Coordinator => {
            let broker = lane.node.broker()?;
            let mut groups = view
                .stage
                .groups
                .iter()
                .filter(|group| group.coordinator == broker);
            let group = groups.find(|group| group.join_closes_at.is_some())?;
            let all = group
                .members
                .iter()
                .map(|member| member.rebalance_timeout)
                .max()?;
            Some(share(group.join_closes_at?, all))
        }
        Role::Consumer => {
            let consumer = view
                .stage
                .consumers
                .iter()
                .find(|known| Some(known.client) == lane.node.client())?;
            let member = member_of(view, consumer);
            let session = member
                .and_then(|member| Some(share(member.session_expires_at?, member.session_timeout)));
            let poll = consumer
                .timers
                .iter()
                .find(|timer| timer.timer == Timer::PollTimeout);
            let poll = poll.map(|timer| share(timer.due_at, timer.due_at.since(timer.armed_at)));
            match (session, poll) {
                (Some(session), Some(poll)) => Some(session.min(poll)),
                (session, poll) => session.or(poll),
            }
        }
        Role::Broker | Role::Controller | Role::Producer => None,
    }
}

/// The member that a coordinator knows for a consumer.
fn member_of<'a>(view: &View<'a>, consumer: &ConsumerView) -> Option<&'a GroupMemberView> {
    let groups = view.stage.groups.iter();
    let mut members = groups
        .filter(|group| Some(&group.group_id) == consumer.group_id.as_ref())
        .flat_map(|group| &group.members);
    members.find(|member| member.client == NodeId::Client(consumer.client))
}

fn draw_arc(scene: &mut Scene, at: (f64, f64), share: f64) {
    let share = share.clamp(0.0, 1.0);
    let ink = if share < 0.25 { Ink::Warn } else { Ink::Accent };
    scene.push(
        Layer::Mark,
        Geometry::Circle(at, 4.5),
        Style::line(Ink::Line, 2.0),
    );
    scene.push(
        Layer::Mark,
        Geometry::Arc(at, 4.5, share),
        Style::line(ink, 2.0),
    );
}
