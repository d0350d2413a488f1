//! Plots, drawn with plotters.

use super::canvas::Surface;
use crate::scene::fit::Measure;
use crate::scene::plot::{Chart, Line, simplified, spread};
use crate::scene::scale::{TimeScale, real};
use crate::scene::shape::{Align, Font, Geometry, Layer, Scene, Style, Type};
use crate::scene::theme::{Ink, ThemeName};
use plotters::chart::ChartBuilder;
use plotters::drawing::IntoDrawingArea;
use plotters::series::LineSeries;
use plotters::style::{Color, RGBColor, ShapeStyle};
use plotters_canvas::CanvasBackend;

/// Draws `chart` on the part of the surface that `time` spans. The axis is our own, so that its
/// words look like those of the other pictures; the lines are plotters'.
pub(crate) fn draw(
    surface: &Surface,
    chart: &Chart,
    time: &TimeScale,
    theme: ThemeName,
    now_us: f64,
) {
    let (_, height) = surface.size();
    let (top, bottom) = (30.0, height - 12.0);
    if bottom - top < 20.0 {
        return;
    }
    surface.paint(&ground(surface, chart, time, (top, bottom)), theme);
    draw_lines(surface, chart, time, (top, bottom), theme);
    surface.paint(&front(surface, chart, time, (top, bottom), now_us), theme);
}

/// The grid with its labels, and the title.
fn ground(surface: &Surface, chart: &Chart, time: &TimeScale, (top, bottom): (f64, f64)) -> Scene {
    let (width, height) = surface.size();
    let mut scene = Scene::new(width, height);
    let font = Font::bold(125);
    let left = (time.x_from - 84.0).max(12.0);
    let title_width = surface.width(&chart.title, font);
    scene.text(
        (left, 21.0),
        chart.title.clone(),
        Type {
            font,
            align: Align::Start,
        },
        Ink::Mute,
    );
    let set = Type {
        font: Font::text(125),
        align: Align::Start,
    };
    scene.text(
        (left + title_width + 6.0, 21.0),
        chart.unit.clone(),
        set,
        Ink::Mute,
    );
    let mut value = 0;
    while value <= chart.top {
        let y = bottom - (bottom - top) * real(value) / real(chart.top.max(1));
        let line = Geometry::Line(vec![(time.x_from, y), (time.x_to, y)]);
        scene.push(Layer::Ground, line, Style::line(Ink::Hair, 1.0));
        let set = Type {
            font: Font::mono(105),
            align: Align::End,
        };
        scene.text(
            (time.x_from - 8.0, y + 3.5),
            value.to_string(),
            set,
            Ink::Faint,
        );
        value += chart.step.max(1);
    }
    scene
}

/// The playhead, and the names at the ends of the lines.
fn front(
    surface: &Surface,
    chart: &Chart,
    time: &TimeScale,
    (top, bottom): (f64, f64),
    now_us: f64,
) -> Scene {
    let (width, height) = surface.size();
    let mut scene = Scene::new(width, height);
    let x = time.x_us(now_us);
    if time.x_from <= x && x <= time.x_to + 1.0 {
        let line = Geometry::Line(vec![(x, top - 8.0), (x, bottom + 2.0)]);
        scene.push(Layer::Top, line, Style::line(Ink::Text, 1.0));
    }
    let named: Vec<&Line> = chart
        .lines
        .iter()
        .filter(|line| !line.name.is_empty())
        .collect();
    let ends: Vec<(f64, f64)> = named
        .iter()
        .filter_map(|line| line.points.last().copied())
        .collect();
    let y = |value: f64| bottom - (bottom - top) * value / real(chart.top.max(1));
    let wanted: Vec<f64> = ends.iter().map(|(_, value)| y(*value) + 3.5).collect();
    let places = spread(&wanted, 12.0, top + 2.0, bottom + 4.0);
    for ((line, end), place) in named.iter().zip(&ends).zip(places) {
        let set = Type {
            font: Font::text(110),
            align: Align::Start,
        };
        let x = time.x_us(end.0) + 8.0;
        let name_width = surface.width(&line.name, set.font);
        let ink = line.ink;
        if x + name_width < width {
            scene.text((x, place), line.name.clone(), set, ink);
        } else {
            let set = Type {
                font: set.font,
                align: Align::End,
            };
            scene.text(
                (time.x_us(end.0) - 8.0, place - 6.0),
                line.name.clone(),
                set,
                ink,
            );
        }
    }
    scene
}

fn draw_lines(
    surface: &Surface,
    chart: &Chart,
    time: &TimeScale,
    (top, bottom): (f64, f64),
    theme: ThemeName,
) {
    let Some(backend) = CanvasBackend::with_canvas_object(surface.canvas().clone()) else {
        return;
    };
    let root = backend.into_drawing_area();
    // Plotters counts in pixels of the canvas, which are finer than those of the page.
    let (pixels_wide, pixels_high) = root.dim_in_pixel();
    let (width, height) = surface.size();
    let ratio = f64::from(pixels_wide) / width.max(1.0);
    let edge = |length: f64| (length * ratio).round().max(0.0);
    let area = root.margin(
        edge(top),
        f64::from(pixels_high) - edge(bottom.min(height)),
        edge(time.x_from),
        f64::from(pixels_wide) - edge(time.x_to),
    );
    surface.to_pixels();
    let built = ChartBuilder::on(&area)
        .build_cartesian_2d(time.from_us..time.to_us, 0.0..real(chart.top.max(1)));
    if let Ok(mut context) = built {
        for line in &chart.lines {
            let alpha = if line.is_dim { 0.3 } else { 1.0 };
            let color = rgb(theme.css(line.ink)).mix(alpha);
            let style = ShapeStyle {
                color,
                filled: false,
                stroke_width: stroke(1.8 * ratio),
            };
            // Plotters rounds to whole pixels: long straight pieces stay straight, where each
            // point drawn for itself would make stairs.
            let (wide, high) = (time.us_per_pixel(), real(chart.top.max(1)) / (bottom - top));
            let seen: Vec<(f64, f64)> = line
                .points
                .iter()
                .map(|(at, value)| (at / wide, value / high))
                .collect();
            let points = simplified(&seen, 0.9)
                .into_iter()
                .map(|(x, y)| (x * wide, y * high));
            context.draw_series(LineSeries::new(points, style)).ok();
        }
    }
    root.present().ok();
    surface.to_page();
}

fn stroke(width: f64) -> u32 {
    u32::try_from(crate::scene::scale::whole(width.round()))
        .unwrap_or(2)
        .max(1)
}

/// `#1f6fb4` as plotters wants it.
fn rgb(css: &str) -> RGBColor {
    let part = |from: usize| {
        css.get(from..from + 2)
            .and_then(|digits| u8::from_str_radix(digits, 16).ok())
            .unwrap_or(0)
    };
    RGBColor(part(1), part(3), part(5))
}
