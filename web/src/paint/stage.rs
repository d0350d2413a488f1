//! All pictures of the stage: drawn when something changed, and asked what lies under a pointer.

use super::canvas::Surface;
use super::charts;
use crate::driver::playback::Playback;
use crate::driver::selection::Selection;
use crate::scene::plot::Plot;
use crate::scene::scale::{TimeScale, real};
use crate::scene::scrubber::Extent;
use crate::scene::shape::Scene;
pub(crate) use crate::scene::space_time::LaneFilter;
use crate::scene::space_time::{self, Window};
use crate::scene::theme::ThemeName;
use crate::scene::view::{Options, View};
use crate::scene::words::Words;
use crate::scene::{cluster, group, hit, home, plot, scrubber};
use std::collections::BTreeMap;
use std::fmt;
use terrarium_core::kernel::time::{SimTime, Span};
use terrarium_core::sim::view::StageView;
use web_sys::HtmlCanvasElement;

/// A picture; each has a canvas of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Picture {
    /// Brokers, clients, and what travels between them.
    Cluster,
    /// A group as its coordinator has it.
    Group,
    /// Lanes over time.
    SpaceTime,
    /// Numbers over time.
    Plots,
    /// The run as a line.
    Scrubber,
    /// The lanes of a run before its question is answered.
    Home,
}

/// What the pictures are drawn from.
#[derive(Clone, Copy)]
pub(crate) struct StageInput<'a> {
    /// The run.
    pub playback: &'a Playback,
    /// What is chosen.
    pub selection: Option<&'a Selection>,
    /// What lies under the pointer.
    pub hovered: Option<&'a Selection>,
    /// Which lanes show.
    pub lanes: LaneFilter,
    /// Texts. A change of language needs `invalidate`.
    pub words: &'a dyn Words,
    /// Colours.
    pub theme: ThemeName,
    /// Right edge of the lanes; unset lets them follow the playhead.
    pub view_end: Option<SimTime>,
    /// Right edge of the scrubber.
    pub scrub_end: SimTime,
    /// How much is shown.
    pub shows: Shows,
}

/// What is shown, and how.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Shows {
    /// Messages stand at their ends instead of travelling.
    pub reduced_motion: bool,
    /// Nothing beyond the playhead is given away.
    pub hide_future: bool,
    /// Kafka's own topics show too.
    pub internal: bool,
}

/// The pictures and their canvases.
#[derive(Default)]
pub(crate) struct Stage {
    surfaces: BTreeMap<Picture, Surface>,
    drawn: BTreeMap<Picture, Drawn>,
    /// The run at the playhead, as of a revision.
    seen: Option<(u64, StageView)>,
    reach: Reach,
    /// When plots were drawn last, in milliseconds.
    plotted_at_ms: f64,
}

/// What is on a canvas.
struct Drawn {
    key: Key,
    scene: Scene,
    scale: Option<TimeScale>,
}

/// What a drawn picture depends on.
#[derive(Clone, Debug, PartialEq)]
struct Key {
    revision: u64,
    size: (f64, f64),
    ratio: f64,
    theme: ThemeName,
    selection: Option<Selection>,
    hovered: Option<Selection>,
    lanes: LaneFilter,
    window: (f64, f64),
    ends: (Option<SimTime>, SimTime),
    shows: Shows,
}

/// Which part of time the lanes show.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
enum Reach {
    /// All of a lesson, or else what is around the playhead.
    #[default]
    Fit,
    /// What is around the playhead, so many microseconds.
    Following(f64),
    /// From here to there, in microseconds.
    Fixed(f64, f64),
}

impl Stage {
    /// No canvas yet.
    pub(crate) fn new() -> Self {
        Self::default()
    }

    /// Draws `picture` on `canvas` from now on.
    pub(crate) fn mount(&mut self, picture: Picture, canvas: HtmlCanvasElement) {
        self.drawn.remove(&picture);
        if self
            .surfaces
            .get(&picture)
            .is_some_and(|surface| *surface.canvas() == canvas)
        {
            return;
        }
        if let Some(surface) = Surface::new(canvas) {
            self.surfaces.insert(picture, surface);
        }
    }

    /// Draws `picture` no longer.
    pub(crate) fn unmount(&mut self, picture: Picture) {
        self.surfaces.remove(&picture);
        self.drawn.remove(&picture);
    }

    /// Draws everything anew in the next frame.
    pub(crate) fn invalidate(&mut self) {
        self.drawn.clear();
        self.plotted_at_ms = 0.0;
    }

    /// Another run: forgets what was drawn, and where the lanes were.
    pub(crate) fn reset(&mut self) {
        self.invalidate();
        self.seen = None;
        self.reach = Reach::Fit;
    }

    /// Draws what changed. Tells whether anything did.
    pub(crate) fn paint(&mut self, input: &StageInput<'_>) -> bool {
        let revision = input.playback.revision();
        if self
            .seen
            .as_ref()
            .is_none_or(|(known, _)| *known != revision)
        {
            self.seen = Some((revision, input.playback.sim().stage()));
        }
        self.hold_playhead(input);
        let window = self.window(input);
        let pictures: Vec<Picture> = self.surfaces.keys().copied().collect();
        let mut has_painted = false;
        for picture in pictures {
            has_painted |= self.paint_one(picture, input, window);
        }
        has_painted
    }

    /// What lies under a point, given in CSS pixels from the left top corner of the canvas.
    pub(crate) fn pick(&self, picture: Picture, x: f64, y: f64) -> Option<Selection> {
        hit::pick(&self.drawn.get(&picture)?.scene, x, y).cloned()
    }

    /// One line that says what lies under a point.
    pub(crate) fn hover(
        &self,
        picture: Picture,
        (x, y): (f64, f64),
        input: &StageInput<'_>,
    ) -> Option<String> {
        let selection = self.pick(picture, x, y)?;
        let surface = self.surfaces.get(&picture)?;
        let (_, stage) = self.seen.as_ref()?;
        hit::hint(&view(input, stage, surface), &selection)
    }

    /// The instant at a place of a picture that has a time axis.
    pub(crate) fn time_at(&self, picture: Picture, x: f64) -> Option<SimTime> {
        Some(self.drawn.get(&picture)?.scale?.at(x))
    }

    /// Zooms or pans the lanes. Tells whether the wheel was used.
    pub(crate) fn wheel(&mut self, picture: Picture, x: f64, (dx, dy): (f64, f64)) -> bool {
        if !matches!(picture, Picture::SpaceTime | Picture::Plots) {
            return false;
        }
        let Some(scale) = self.drawn.get(&picture).and_then(|drawn| drawn.scale) else {
            return false;
        };
        if dy.abs() < dx.abs() {
            self.pan(&scale, -dx);
            return true;
        }
        let factor = (dy * 0.0016).clamp(-1.0, 1.0).exp();
        let length = ((scale.to_us - scale.from_us) * factor).clamp(LENGTH_US_MIN, LENGTH_US_MAX);
        if let Reach::Following(_) = self.reach {
            self.reach = Reach::Following(length);
            return true;
        }
        let share = ((x - scale.x_from) / (scale.x_to - scale.x_from).max(1.0)).clamp(0.0, 1.0);
        let at_us = scale.from_us + (scale.to_us - scale.from_us) * share;
        let from = (at_us - length * share).max(0.0);
        self.reach = Reach::Fixed(from, from + length);
        true
    }

    /// Moves the lanes with a pointer.
    pub(crate) fn drag(&mut self, picture: Picture, dx: f64) {
        if let Some(scale) = self.drawn.get(&picture).and_then(|drawn| drawn.scale)
            && matches!(picture, Picture::SpaceTime | Picture::Plots)
        {
            self.pan(&scale, dx);
        }
    }

    /// Back to the part of time that shows by itself.
    pub(crate) fn zoom_fit(&mut self, picture: Picture) {
        if matches!(picture, Picture::SpaceTime | Picture::Plots) {
            self.reach = Reach::Fit;
        }
    }

    fn pan(&mut self, scale: &TimeScale, dx: f64) {
        let length = scale.to_us - scale.from_us;
        let from = (scale.from_us - dx * scale.us_per_pixel()).max(0.0);
        self.reach = Reach::Fixed(from, from + length);
    }

    /// While it plays, the playhead does not leave the lanes to the right.
    fn hold_playhead(&mut self, input: &StageInput<'_>) {
        let now_us = real(input.playback.playhead().0);
        match self.reach {
            Reach::Fixed(from, to) if input.playback.is_playing() && to < now_us => {
                self.reach = Reach::Following(to - from);
            }
            Reach::Fit | Reach::Following(_) | Reach::Fixed(..) => {}
        }
    }

    fn window(&self, input: &StageInput<'_>) -> (f64, f64) {
        let now = input.playback.playhead();
        match (self.reach, input.view_end) {
            (Reach::Fixed(from, to), _) => (from, to),
            (Reach::Following(length), _) => space_time::following(now, length),
            (Reach::Fit, Some(end)) => (0.0, real(end.max(now).0).max(1_000.0)),
            (Reach::Fit, None) => space_time::following(now, LENGTH_US),
        }
    }

    fn paint_one(&mut self, picture: Picture, input: &StageInput<'_>, window: (f64, f64)) -> bool {
        let (Some(surface), Some((_, stage))) = (self.surfaces.get(&picture), &self.seen) else {
            return false;
        };
        let key = key(surface, input, window);
        if self
            .drawn
            .get(&picture)
            .is_some_and(|drawn| drawn.key == key)
        {
            return false;
        }
        if picture == Picture::Plots {
            let now_ms = js_sys::Date::now();
            if (now_ms - self.plotted_at_ms).abs() < PLOT_EVERY_MS {
                return false;
            }
            self.plotted_at_ms = now_ms;
        }
        if !surface.begin() {
            return false;
        }
        let view = view(input, stage, surface);
        let shown = Window {
            from_us: window.0,
            to_us: window.1,
            lanes: input.lanes,
            hides_future: input.shows.hide_future,
        };
        let (scene, scale) = match picture {
            Picture::Cluster => (cluster::build(&view), None),
            Picture::Group => (group::build(&view), None),
            Picture::SpaceTime => with_scale(space_time::build(&view, &shown)),
            Picture::Plots => {
                let scale = draw_plots(surface, &view, &shown, input.theme);
                (Scene::new(view.size.0, view.size.1), Some(scale))
            }
            Picture::Scrubber => with_scale(draw_scrubber(&view, input)),
            Picture::Home => {
                let until = input.view_end.unwrap_or(SimTime(64_000_000));
                with_scale(home::build(&view, until, input.shows.hide_future))
            }
        };
        surface.paint(&scene, input.theme);
        self.drawn.insert(picture, Drawn { key, scene, scale });
        true
    }
}

impl fmt::Debug for Stage {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("Stage")
            .field("surfaces", &self.surfaces)
            .field("reach", &self.reach)
            .finish_non_exhaustive()
    }
}

fn with_scale((scene, scale): (Scene, TimeScale)) -> (Scene, Option<TimeScale>) {
    (scene, Some(scale))
}

fn view<'a>(input: &StageInput<'a>, stage: &'a StageView, surface: &'a Surface) -> View<'a> {
    let afterglow = crate::scene::scale::whole(input.playback.speed().micros(AFTERGLOW_MS));
    View {
        stage,
        scenario: input.playback.sim().scenario(),
        trace: input.playback.sim().trace(),
        history: input.playback.history(),
        words: input.words,
        measure: surface,
        selection: input.selection,
        hovered: input.hovered,
        size: surface.size(),
        options: Options {
            show_internal: input.shows.internal,
            is_motion_reduced: input.shows.reduced_motion,
            afterglow: Span(afterglow),
        },
    }
}

fn key(surface: &Surface, input: &StageInput<'_>, window: (f64, f64)) -> Key {
    Key {
        revision: input.playback.revision(),
        size: surface.size(),
        ratio: web_sys::window().map_or(1.0, |window| window.device_pixel_ratio()),
        theme: input.theme,
        selection: input.selection.cloned(),
        hovered: input.hovered.cloned(),
        lanes: input.lanes,
        window,
        ends: (input.view_end, input.scrub_end),
        shows: input.shows,
    }
}

fn draw_scrubber(view: &View<'_>, input: &StageInput<'_>) -> (Scene, TimeScale) {
    let branches: Vec<(SimTime, SimTime)> = input
        .playback
        .branches()
        .iter()
        .map(|b| (b.forked_at, b.horizon))
        .collect();
    let extent = Extent {
        end: input.scrub_end,
        horizon: input.playback.horizon(),
        branches: &branches,
        hides_future: input.shows.hide_future,
    };
    scrubber::build(view, &extent)
}

/// One plot, or two side by side, as the lanes have it. Gives the scale of the first.
fn draw_plots(surface: &Surface, view: &View<'_>, window: &Window, theme: ThemeName) -> TimeScale {
    let whole = space_time::scale(view, window);
    let plots: &[Plot] = match window.lanes {
        LaneFilter::Group => &[Plot::ConsumerLag],
        LaneFilter::Replication => &[Plot::ReplicaLagMs, Plot::ReplicaLagRecords],
        LaneFilter::All => &[Plot::ConsumerLag, Plot::ReplicaLagMs],
    };
    let fitting = if view.is_narrow() { 1 } else { plots.len() };
    let margin = whole.x_from;
    let wide = (view.size.0 - 20.0) / crate::scene::scale::count(fitting.max(1));
    let mut first = whole;
    for (place, plot) in plots.iter().take(fitting).enumerate() {
        let left = wide * crate::scene::scale::count(place);
        let scale = if fitting == 1 {
            whole
        } else {
            TimeScale {
                x_from: left + margin * 0.9,
                x_to: left + wide - 56.0,
                ..whole
            }
        };
        if place == 0 {
            first = scale;
        }
        let chart = plot::build(view, *plot, scale.from(), scale.to());
        charts::draw(surface, &chart, &scale, theme, real(view.now().0));
    }
    first
}

/// How much of a run shows when nothing else is said, in microseconds.
const LENGTH_US: f64 = 64_000_000.0;
const LENGTH_US_MIN: f64 = 200.0;
const LENGTH_US_MAX: f64 = 2_592_000_000_000.0;
/// Plots are refreshed ten times a second at most.
const PLOT_EVERY_MS: f64 = 100.0;
/// How long a message's trail stays, in milliseconds of the wall.
const AFTERGLOW_MS: f64 = 120.0;

#[cfg(all(test, target_arch = "wasm32"))]
mod tests;
