//! The scrubber: the whole run as one line, with marks and old futures.

use super::fit::{Taken, first_fitting};
use super::place::Place;
use super::scale::{TimeScale, count, real};
use super::shape::{Align, Font, Geometry, Layer, Scene, Style, Type};
use super::theme::Ink;
use super::view::View;
use crate::driver::history::{Mark, MarkKind};
use crate::driver::selection::Selection;
use terrarium_core::kernel::time::SimTime;

/// What the scrubber spans.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Extent<'a> {
    /// Where it ends.
    pub end: SimTime,
    /// The furthest instant simulated on this branch.
    pub horizon: SimTime,
    /// Old futures: where each left this one, and how far it goes.
    pub branches: &'a [(SimTime, SimTime)],
    /// Whether what was simulated beyond the playhead is kept secret.
    pub hides_future: bool,
}

/// Draws the scrubber.
pub(crate) fn build(view: &View<'_>, extent: &Extent<'_>) -> (Scene, TimeScale) {
    let (width, height) = view.size;
    let mut scene = Scene::new(width, height);
    let latest = extent.branches.iter().map(|(_, horizon)| *horizon).max();
    let end = extent
        .end
        .max(extent.horizon)
        .max(latest.unwrap_or_default());
    let to_us = real(end.0).max(1_000.0);
    let scale = TimeScale {
        from_us: 0.0,
        to_us,
        x_from: 8.0,
        x_to: (width - 8.0).max(9.0),
    };
    let y = (height * 0.55).round();
    draw_track(&mut scene, view, extent, (&scale, y));
    draw_branches(&mut scene, extent, &scale, y);
    draw_marks(&mut scene, view, extent, (&scale, y));
    (scene.sorted(), scale)
}

fn draw_track(
    scene: &mut Scene,
    view: &View<'_>,
    extent: &Extent<'_>,
    (scale, y): (&TimeScale, f64),
) {
    let bar = |from: f64, to: f64| Place::new(from, y - 2.0, (to - from).max(0.0), 4.0).rect(2.0);
    let now = scale.x_held(view.now());
    scene.push(
        Layer::Card,
        bar(scale.x_from, scale.x_to),
        Style::fill(Ink::Line),
    );
    if view.now() < extent.horizon && !extent.hides_future {
        let known = bar(scale.x_from, scale.x_held(extent.horizon));
        scene.push(Layer::Card, known, Style::fill(Ink::Faint).alpha(0.55));
    }
    scene.push(
        Layer::Body,
        bar(scale.x_from, now),
        Style::fill(Ink::Accent),
    );
    let knob = Style::fill(Ink::Panel).edged(Ink::Accent, 2.5);
    scene.push(Layer::Top, Geometry::Circle((now, y), 7.0), knob);
}

fn draw_branches(scene: &mut Scene, extent: &Extent<'_>, scale: &TimeScale, y: f64) {
    for (line, (forked_at, horizon)) in extent.branches.iter().rev().take(3).enumerate() {
        let (from, to) = (scale.x_held(*forked_at), scale.x_held(*horizon));
        let low = y + 8.0 + count(line) * 4.0;
        let reach = (to - from).clamp(2.0, 30.0);
        let bend = [
            (from, y + 2.0),
            (from + reach * 0.3, low + 1.0),
            (from + reach * 0.5, low),
            (from + reach, low),
        ];
        scene.push(
            Layer::Body,
            Geometry::Curve(bend),
            Style::line(Ink::Faint, 1.5),
        );
        if from + reach < to {
            let rest = Geometry::Line(vec![(from + reach, low), (to, low)]);
            scene.push(Layer::Body, rest, Style::line(Ink::Faint, 1.5));
        }
    }
}

fn draw_marks(
    scene: &mut Scene,
    view: &View<'_>,
    extent: &Extent<'_>,
    (scale, y): (&TimeScale, f64),
) {
    let limit = if extent.hides_future {
        view.now()
    } else {
        SimTime::MAX
    };
    let mut last: [f64; 5] = [f64::NEG_INFINITY; 5];
    let mut names: Vec<(f64, &Mark)> = Vec::new();
    for mark in view
        .history
        .marks()
        .iter()
        .filter(|mark| mark.moment.at <= limit)
    {
        let x = scale.x(mark.moment.at);
        let line = mark.kind as usize;
        let Some(before) = last.get_mut(line) else {
            continue;
        };
        // Marks of one kind on one spot are one mark.
        if x - *before < 3.0 {
            continue;
        }
        *before = x;
        draw_mark(scene, mark, (x, y));
        if mark.kind == MarkKind::Action {
            names.push((x, mark));
        }
    }
    let mut taken = Taken::default();
    let font = Font::text(100);
    for (place, (x, mark)) in names.iter().enumerate() {
        let next = names.get(place + 1).map_or(scale.x_to, |(next, _)| *next);
        let right_room = (next - x - 8.0).min(150.0);
        let texts = [mark.name.to_string()];
        let needed = 36.0_f64.min(view.measure.width(&mark.name, font));
        if needed <= right_room
            && let Some(text) = first_fitting(view.measure, &texts, font, right_room)
        {
            let width = view.measure.width(&text, font);
            if taken.take([x + 4.0, y - 20.0, width, 11.0]) {
                let set = Type {
                    font,
                    align: Align::Start,
                };
                scene.text((x + 4.0, y - 10.0), text, set, Ink::Mute);
            }
        }
    }
}

fn draw_mark(scene: &mut Scene, mark: &Mark, (x, y): (f64, f64)) {
    let target = scene.target(Selection::Entry(mark.moment.index));
    let tick = |from: f64, to: f64| Geometry::Line(vec![(x, y + from), (x, y + to)]);
    let grip = Place::new(x - 4.0, y - 14.0, 8.0, 26.0).rect(0.0);
    scene.push_for(target, Layer::Mark, grip, Style::GHOST);
    let (geometry, style) = match mark.kind {
        MarkKind::Action => (tick(-11.0, 11.0), Style::line(Ink::Text, 1.3)),
        MarkKind::Rebalance => (tick(-7.0, 7.0), Style::line(Ink::Warn, 1.6)),
        MarkKind::Error => (tick(-9.0, 9.0), Style::line(Ink::Loss, 1.6)),
        MarkKind::Election => {
            let head = vec![(x - 3.5, y - 9.0), (x, y - 4.0), (x + 3.5, y - 9.0)];
            (Geometry::Line(head), Style::line(Ink::Accent, 1.6))
        }
        MarkKind::Isr => (Geometry::Circle((x, y - 6.5), 1.9), Style::fill(Ink::Mute)),
    };
    scene.push(Layer::Mark, geometry, style);
}
