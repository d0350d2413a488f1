//! Space-time: a lane for each process, time to the right, messages as slanted lines.

mod arrows;
mod bands;
mod gate;
mod lanes;

use super::fit::Taken;
use super::scale::TimeScale;
use super::shape::{Align, Font, Geometry, Layer, Scene, Style, Type};
use super::theme::Ink;
use super::view::View;
use super::words;
pub(crate) use lanes::{Lane, Lanes, Role};
use terrarium_core::kernel::time::{SimTime, Span};

/// Which lanes show.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum LaneFilter {
    /// The coordinators of groups and the consumers.
    #[default]
    Group,
    /// The controller and the brokers.
    Replication,
    /// Every process.
    All,
}

/// What part of time shows, and which lanes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Window {
    /// Left edge in microseconds.
    pub from_us: f64,
    /// Right edge in microseconds.
    pub to_us: f64,
    /// Which lanes show.
    pub lanes: LaneFilter,
    /// Whether a question mark stands for what comes.
    pub hides_future: bool,
}

/// The picture and the scale that a pointer needs.
pub(crate) fn build(view: &View<'_>, window: &Window) -> (Scene, TimeScale) {
    let (width, height) = view.size;
    let mut scene = Scene::new(width, height);
    let scale = scale(view, window);
    let lanes = Lanes::of(view, window, &scale);
    let mut taken = Taken::default();
    draw_grid(&mut scene, view, &scale, &lanes);
    lanes::draw_heads(&mut scene, view, &scale, &lanes);
    gate::draw(&mut scene, view, &scale, &lanes, &mut taken);
    bands::draw(&mut scene, view, &scale, &lanes, &mut taken);
    arrows::draw(&mut scene, view, &scale, &lanes, &mut taken);
    if window.hides_future {
        draw_question(&mut scene, view, &scale, &lanes);
    }
    draw_playhead(&mut scene, view, &scale, &lanes);
    (scene.sorted(), scale)
}

/// Where time lies on the picture.
pub(crate) fn scale(view: &View<'_>, window: &Window) -> TimeScale {
    let (width, _) = view.size;
    let x_from = if view.is_narrow() { 66.0 } else { 100.0 };
    let margin = if view.is_narrow() { 14.0 } else { 20.0 };
    TimeScale {
        from_us: window.from_us,
        to_us: window.to_us,
        x_from,
        x_to: (width - margin).max(x_from + 10.0),
    }
}

fn draw_grid(scene: &mut Scene, view: &View<'_>, scale: &TimeScale, lanes: &Lanes) {
    let (ticks, step) = scale.ticks(if view.is_narrow() { 56.0 } else { 84.0 });
    let set = Type {
        font: Font::mono(105),
        align: Align::Middle,
    };
    for tick in ticks {
        let x = scale.x(tick);
        let line = Geometry::Line(vec![(x, lanes.top), (x, lanes.bottom)]);
        scene.push(Layer::Ground, line, Style::line(Ink::Hair, 1.0));
        let text = words::instant(tick, step);
        let half = view.measure.width(&text, set.font) / 2.0;
        let middle = x.min(view.size.0 - half - 2.0);
        scene.text((middle, lanes.bottom + 16.0), text, set, Ink::Faint);
    }
}

fn draw_playhead(scene: &mut Scene, view: &View<'_>, scale: &TimeScale, lanes: &Lanes) {
    let x = scale.x(view.now());
    if x < scale.x_from - 1.0 || scale.x_to + 1.0 < x {
        return;
    }
    let line = Geometry::Line(vec![(x, lanes.top - 3.0), (x, lanes.bottom)]);
    scene.push(Layer::Top, line, Style::line(Ink::Text, 1.2));
    scene.push(
        Layer::Top,
        Geometry::Circle((x, lanes.top - 3.0), 3.5),
        Style::fill(Ink::Text),
    );
}

fn draw_question(scene: &mut Scene, view: &View<'_>, scale: &TimeScale, lanes: &Lanes) {
    let from = scale.x_held(view.now());
    // Not upon the outline of a record that is being worked on.
    let is_quiet = |lane: &&Lane| {
        let past = view.history.lane(lane.node);
        lane.role == Role::Consumer
            && past.is_none_or(|past| past.work.current(view.clip()).next().is_none())
    };
    let Some(first) = lanes.all.iter().find(is_quiet) else {
        return;
    };
    let middle = f64::midpoint(from, scale.x_to);
    if scale.x_to - from < 60.0 {
        return;
    }
    let set = Type {
        font: Font::text(300),
        align: Align::Middle,
    };
    scene.text((middle, first.y + 10.0), "?", set, Ink::Faint);
    // Who is to come, and when.
    let set = Type {
        font: Font::text(120),
        align: Align::Start,
    };
    for lane in &lanes.all {
        let consumer = view
            .stage
            .consumers
            .iter()
            .find(|c| Some(c.client) == lane.node.client());
        let start = consumer.and_then(|consumer| view.next_start(consumer.client));
        if let Some(at) = start {
            let at_text = words::instant(at, Span(1_000_000));
            let text = view.say("stage.starts-at", &[("at", &at_text)]);
            scene.text(
                (scale.x(at).max(from + 10.0), lane.y + 4.0),
                text,
                set,
                Ink::Mute,
            );
        }
    }
}

/// The window that shows `length_us` and keeps the playhead in its last third.
pub(crate) fn following(now: SimTime, length_us: f64) -> (f64, f64) {
    let from = (super::scale::real(now.0) - length_us * 0.74).max(0.0);
    (from, from + length_us)
}
