//! Requests that wait at a broker, and the barrier that holds them.

use super::{Lane, Lanes, Role};
use crate::driver::history::track::Interval;
use crate::driver::history::{Barrier, Parked, Phase, Seat};
use crate::driver::selection::Selection;
use crate::scene::fit::Taken;
use crate::scene::place::Place;
use crate::scene::scale::{TimeScale, count};
use crate::scene::shape::{Align, Font, Geometry, Layer, Scene, Style, Type};
use crate::scene::theme::Ink;
use crate::scene::view::View;
use crate::scene::words;
use terrarium_core::base::ids::{BrokerId, NodeId};
use terrarium_core::kernel::time::SimTime;
use terrarium_core::trace::event::{GroupState, Waiting};

/// Draws gates, states of groups and requests that wait.
pub(super) fn draw(
    scene: &mut Scene,
    view: &View<'_>,
    scale: &TimeScale,
    lanes: &Lanes,
    taken: &mut Taken,
) {
    let mut brush = Brush {
        scene,
        view,
        scale,
        lanes,
    };
    brush.draw_states();
    let phases: Vec<&Interval<Phase>> = view
        .history
        .phases()
        .seen(scale.from(), scale.to(), view.clip())
        .filter(|phase| phase.what.state == GroupState::PreparingRebalance)
        .collect();
    // The newest gates first: they get the room for words.
    for phase in phases.into_iter().rev().take(60) {
        brush.draw_barrier(phase, taken);
    }
    brush.draw_others();
}

struct Brush<'a, 'b> {
    scene: &'b mut Scene,
    view: &'b View<'a>,
    scale: &'b TimeScale,
    lanes: &'b Lanes,
}

impl Brush<'_, '_> {
    /// A thin strip under a coordinator's lane: the states of its groups.
    fn draw_states(&mut self) {
        let seen =
            self.view
                .history
                .phases()
                .seen(self.scale.from(), self.scale.to(), self.view.clip());
        let phases: Vec<&Interval<Phase>> = seen.collect();
        for phase in phases {
            let Some(lane) = self.lanes.of_node(phase.what.at) else {
                continue;
            };
            if lane.role != Role::Coordinator {
                continue;
            }
            let (ink, alpha) = match phase.what.state {
                GroupState::Empty | GroupState::Dead => (Ink::Line, 1.0),
                GroupState::PreparingRebalance => (Ink::Warn, 0.9),
                GroupState::CompletingRebalance
                | GroupState::Assigning
                | GroupState::Reconciling => (Ink::Accent, 1.0),
                GroupState::Stable => (Ink::Accent, 0.3),
            };
            let from = self.scale.x_held(phase.from.at);
            let to = self
                .scale
                .x_held(phase.end_or(self.view.clip(), self.view.now()));
            let target = self.scene.target(Selection::Entry(phase.from.index));
            let place = Place::new(from, lane.y + 2.0, (to - from).max(1.0), 3.5);
            self.scene.push_for(
                target,
                Layer::Body,
                place.rect(0.0),
                Style::fill(ink).alpha(alpha),
            );
        }
    }

    /// One join phase: the requests that wait, the gate, and its seats.
    fn draw_barrier(&mut self, phase: &Interval<Phase>, taken: &mut Taken) {
        let Some(lane) = self.lanes.of_node(phase.what.at).copied() else {
            return;
        };
        if lane.role != Role::Coordinator {
            return;
        }
        let mut barrier = self.view.history.barrier(phase, self.view.clip());
        // Who came first sits on top, who is missing at the bottom.
        barrier
            .seats
            .sort_by_key(|seat| (seat.joined.is_none(), seat.joined, seat.client));
        let is_open = barrier.opened_at.is_some();
        let gate_x = match barrier.opened_at {
            Some(at) => self.scale.x(at),
            None => self.expected(phase, &barrier),
        };
        let now_x = self.scale.x_held(self.view.now());
        let from_x = self.scale.x(phase.from.at);
        if gate_x < self.scale.x_from - 1.0 || (is_open && gate_x - from_x < 4.0) {
            self.draw_gate_line(&lane, gate_x, barrier.opened_at.is_some(), phase);
            return;
        }
        let rows = count(barrier.seats.len());
        let row = self.lanes.row;
        let top = lane.y - 7.0 - rows * row;
        for (index, seat) in barrier.seats.iter().enumerate() {
            let y = top + (count(index) + 0.5) * row;
            self.draw_seat(seat, (y, gate_x), &barrier, now_x);
        }
        self.draw_gate_line(&lane, gate_x, is_open, phase);
        self.write(&lane, &barrier, (gate_x, phase), taken);
    }

    /// Where an open gate is expected: when the last of the missing is done with its record, or
    /// else at the deadline.
    fn expected(&self, phase: &Interval<Phase>, barrier: &Barrier) -> f64 {
        let clip = self.view.clip();
        let mut latest = None;
        let group = self
            .view
            .stage
            .groups
            .iter()
            .find(|g| g.group_id == phase.what.group_id);
        for seat in barrier.seats.iter().filter(|seat| seat.joined.is_none()) {
            let lane = self.view.history.lane(seat.client);
            let work = lane.and_then(|lane| lane.work.current(clip).last());
            let is_gone = seat.is_former || lane.is_some_and(|l| l.life.current(clip).count() == 0);
            let members = group.into_iter().flat_map(|group| &group.members);
            let mut members = members.filter(|member| member.member_id == seat.member_id);
            let expires_at = members.find_map(|member| member.session_expires_at);
            // Who is busy comes when it is done; who is gone is given up when its session ends.
            let until = if is_gone {
                expires_at
            } else {
                work.map(|work| work.what.until)
            };
            if until.is_none() {
                latest = None;
                break;
            }
            latest = latest.max(until);
        }
        let deadline = group.and_then(|group| group.join_closes_at);
        let at = match (latest, deadline) {
            (Some(latest), Some(deadline)) => latest.min(deadline),
            (known, other) => known.or(other).unwrap_or(self.view.now()),
        };
        let right = self.scale.x_to - if self.view.is_narrow() { 18.0 } else { 22.0 };
        // Beyond the right edge the gate stands at the edge, and never behind the playhead.
        self.scale
            .x(at)
            .min(right)
            .max(self.scale.x_held(self.view.now()))
    }

    /// A row of the tray: the request that waits, and its seat at the gate.
    fn draw_seat(&mut self, seat: &Seat, (y, gate_x): (f64, f64), barrier: &Barrier, now_x: f64) {
        let (node, joined) = (seat.client, seat.joined);
        let thick = (self.lanes.row * 0.5).clamp(1.5, 4.0);
        let stop = if barrier.opened_at.is_some() {
            gate_x
        } else {
            now_x
        };
        let radius = (self.lanes.row * 0.33).clamp(1.5, 3.0);
        let is_lit = self.view.is_node_lit(node);
        if let Some(at) = joined {
            let from = self.scale.x_held(at);
            let target = self.parked_target(node, at);
            let line = Geometry::Line(vec![(from, y), (stop.max(from), y)]);
            let style = Style::line(Ink::Warn, if is_lit { thick + 1.5 } else { thick });
            self.scene.push_for(target, Layer::Body, line, style);
            if barrier.opened_at.is_none() && stop + 4.0 < gate_x {
                let thread = Geometry::Line(vec![(stop + 2.0, y), (gate_x - 4.0, y)]);
                let style = Style::dashed(Ink::Warn, 1.0, (1.0, 4.0)).alpha(0.6);
                self.scene.push(Layer::Body, thread, style);
            }
            self.scene.push(
                Layer::Mark,
                Geometry::Circle((gate_x, y), radius),
                Style::fill(Ink::Warn),
            );
        } else if barrier.opened_at.is_none() {
            let ring = Style::fill(Ink::Bg).edged(Ink::Warn, 1.4);
            self.scene
                .push(Layer::Mark, Geometry::Circle((gate_x, y), radius), ring);
        } else {
            return;
        }
        if 7.0 <= self.lanes.row {
            let font = Font::text(100);
            let name = self.seat_name(seat);
            let width = self.view.measure.width(&name, font);
            let ink = if joined.is_some() {
                Ink::Mute
            } else {
                Ink::Warn
            };
            // Names stand at the gate while it is closed; once it has opened, only if there is
            // room before the lane's next event.
            let is_tight =
                barrier.opened_at.is_some() && gate_x - self.scale.x_held(barrier.from.at) < 40.0;
            let x = gate_x + 7.0;
            if !is_tight && x + width < self.view.size.0 {
                self.scene.text(
                    (x, y + 3.3),
                    name,
                    Type {
                        font,
                        align: Align::Start,
                    },
                    ink,
                );
            }
        }
    }

    /// A member by its process, or by its id when the process goes by another one now.
    fn seat_name(&self, seat: &Seat) -> String {
        if seat.is_former {
            return self
                .view
                .say("stage.former", &[("member", seat.member_id.as_str())]);
        }
        self.view.node_name(seat.client)
    }

    fn parked_target(&mut self, node: NodeId, at: SimTime) -> usize {
        let parked = self.view.history.parked();
        let found = parked
            .seen(at, at, self.view.clip())
            .filter(|parked| parked.what.from == node && parked.what.waiting == Waiting::Join)
            .last();
        let selection = found.map_or(Selection::Node(node), selection_of);
        self.scene.target(selection)
    }

    fn draw_gate_line(&mut self, lane: &Lane, x: f64, is_open: bool, phase: &Interval<Phase>) {
        if x < self.scale.x_from - 1.0 || self.scale.x_to + 4.0 < x {
            return;
        }
        let seats = count(self.view.stage.consumers.len().min(6));
        let top = (lane.y - 10.0 - seats * self.lanes.row).max(self.lanes.top - 2.0);
        let target = self
            .scene
            .target(Selection::Group(phase.what.group_id.clone()));
        let stroke = Geometry::Line(vec![(x, top), (x, lane.y + 9.0)]);
        let style = if is_open {
            Style::line(Ink::Accent, 1.6)
        } else {
            Style::dashed(Ink::Accent, 3.0, (1.0, 6.0))
        };
        let grip = Place::new(x - 5.0, top, 10.0, lane.y + 9.0 - top);
        self.scene
            .push_for(target, Layer::Body, grip.rect(0.0), Style::GHOST);
        self.scene.push_for(target, Layer::Mark, stroke, style);
    }

    /// Says who is in and who is missing, or how the gate opened.
    fn write(
        &mut self,
        lane: &Lane,
        barrier: &Barrier,
        (gate_x, phase): (f64, &Interval<Phase>),
        taken: &mut Taken,
    ) {
        let view = self.view;
        let joined = barrier
            .seats
            .iter()
            .filter(|seat| seat.joined.is_some())
            .count();
        let all = barrier.seats.len().to_string();
        let joined = joined.to_string();
        let missing = barrier.seats.iter().filter(|seat| seat.joined.is_none());
        let names = words::list(missing.take(4).map(|seat| self.seat_name(seat)));
        let args = [
            ("joined", joined.as_str()),
            ("all", &all),
            ("missing", &names),
        ];
        let (texts, font, ink) = if barrier.opened_at.is_none() {
            let texts = if names.is_empty() {
                vec![view.say("stage.joined", &args)]
            } else {
                vec![
                    view.say("stage.joined-missing", &args),
                    view.say("stage.joined", &args),
                ]
            };
            (texts, Font::bold(110), Ink::Text)
        } else {
            let span = barrier
                .opened_at
                .map(|at| at.since(barrier.from.at))
                .unwrap_or_default();
            let time = words::span(span);
            let generation = (phase.what.generation_id + 1).to_string();
            let args = [("time", time.as_str()), ("generation", &generation)];
            (
                vec![view.say("stage.barrier-took", &args), time.clone()],
                Font::text(105),
                Ink::Mute,
            )
        };
        let y = lane.y + 22.0;
        let now_x = self.scale.x(self.view.now());
        for text in texts {
            let width = self.view.measure.width(&text, font);
            let spots = if barrier.opened_at.is_some() {
                if gate_x - self.scale.x_held(barrier.from.at) < width {
                    continue;
                }
                vec![gate_x - 4.0]
            } else {
                // At the gate; but the playhead must not strike the words through.
                vec![gate_x + 2.0, gate_x + 10.0 + width, now_x - 6.0]
            };
            for right in spots {
                let left = right - width;
                let is_struck = left - 3.0 < now_x && now_x < right + 3.0;
                let is_inside = self.scale.x_from <= left && right <= self.scale.x_to + 10.0;
                let is_free = is_inside && (!is_struck || barrier.opened_at.is_some());
                if is_free && taken.take([left - 3.0, y - 11.0, width + 6.0, 14.0]) {
                    let align = Align::End;
                    self.scene.text((right, y), text, Type { font, align }, ink);
                    return;
                }
            }
        }
    }

    /// Requests that wait for something else: the assignment, a high watermark, new records.
    fn draw_others(&mut self) {
        let clip = self.view.clip();
        let seen = self
            .view
            .history
            .parked()
            .seen(self.scale.from(), self.scale.to(), clip);
        let parked: Vec<&Interval<Parked>> = seen
            .filter(|parked| parked.what.waiting != Waiting::Join)
            .collect();
        // Each row keeps the right edge of the last request in it.
        let mut rows: Vec<(NodeId, Vec<f64>)> = Vec::new();
        for parked in parked.into_iter().take(PARKED_MAX) {
            let Some(lane) = self.lanes.of_node(parked.what.at).copied() else {
                continue;
            };
            let from = self.scale.x_held(parked.from.at);
            let to = self.scale.x_held(parked.end_or(clip, self.view.now()));
            let (ink, thick, least) = match parked.what.waiting {
                Waiting::Sync => (Ink::Accent, 3.0, 1.0),
                Waiting::Produce | Waiting::DeleteRecords => (Ink::Warn, 3.0, 1.5),
                Waiting::CoordinatorAppend => (Ink::Mute, 2.0, 3.0),
                Waiting::Join | Waiting::Fetch => (Ink::Faint, 1.6, 24.0),
            };
            if to - from < least {
                continue;
            }
            let slot = slot(&mut rows, parked.what.at, from, to);
            if ROWS_MAX <= slot {
                continue;
            }
            let y = lane.y - 5.0 - lane.half * 0.5 - count(slot) * 4.5;
            let target = self.scene.target(selection_of(parked));
            let wait = Geometry::Line(vec![(from, y), (to, y)]);
            let alpha = if parked.what.waiting == Waiting::Fetch {
                0.7
            } else {
                1.0
            };
            self.scene.push_for(
                target,
                Layer::Body,
                wait,
                Style::line(ink, thick).alpha(alpha),
            );
        }
    }
}

/// The first row of a lane that is free from `from` on.
fn slot(rows: &mut Vec<(NodeId, Vec<f64>)>, node: NodeId, from: f64, to: f64) -> usize {
    let place = rows
        .iter()
        .position(|(known, _)| *known == node)
        .unwrap_or_else(|| {
            rows.push((node, Vec::new()));
            rows.len() - 1
        });
    let Some((_, ends)) = rows.get_mut(place) else {
        return 0;
    };
    if let Some(free) = ends.iter_mut().position(|end| *end + 1.0 < from) {
        if let Some(end) = ends.get_mut(free) {
            *end = to;
        }
        free
    } else {
        ends.push(to);
        ends.len() - 1
    }
}

fn selection_of(parked: &Interval<Parked>) -> Selection {
    Selection::Parked {
        at: parked.what.at.broker().unwrap_or(BrokerId(0)),
        from: parked.what.from,
        correlation: parked.what.correlation,
        entry: parked.from.index,
    }
}

/// Rows of waiting requests above one lane.
const ROWS_MAX: usize = 4;
/// More than this is a wall.
const PARKED_MAX: usize = 2_500;
