//! A scene as text, for tests and for people.

use super::shape::{Geometry, Scene, Style};
use std::fmt::Write;

impl Scene {
    /// The shapes as text, one a line, for tests and for people.
    pub(crate) fn print(&self) -> String {
        let mut out = String::new();
        for shape in &self.shapes {
            write!(out, "{:?} ", shape.layer).ok();
            print_geometry(&mut out, &shape.geometry);
            print_style(&mut out, &shape.style);
            if let Some(target) = shape.target.and_then(|index| self.targets.get(index)) {
                write!(out, " -> {target:?}").ok();
            }
            out.push('\n');
        }
        out
    }
}

fn print_geometry(out: &mut String, geometry: &Geometry) {
    match geometry {
        Geometry::Rect([x, y, width, height], radius) => {
            write!(
                out,
                "rect {x:.1} {y:.1} {width:.1}x{height:.1} r{radius:.0}"
            )
            .ok();
        }
        Geometry::Line(points) => {
            out.push_str("line");
            for (x, y) in points {
                write!(out, " {x:.1},{y:.1}").ok();
            }
        }
        Geometry::Curve(points) => {
            out.push_str("curve");
            for (x, y) in points {
                write!(out, " {x:.1},{y:.1}").ok();
            }
        }
        Geometry::Circle((x, y), radius) => {
            write!(out, "circle {x:.1},{y:.1} r{radius:.1}").ok();
        }
        Geometry::Arc((x, y), radius, share) => {
            write!(out, "arc {x:.1},{y:.1} r{radius:.1} {share:.2}").ok();
        }
        Geometry::Text((x, y), text, set) => {
            write!(out, "text {x:.1},{y:.1} {:?} {text:?}", set.align).ok();
        }
    }
}

fn print_style(out: &mut String, style: &Style) {
    if let Some(ink) = style.fill {
        write!(out, " {ink:?}").ok();
    }
    if let Some(stroke) = style.stroke {
        let dashed = if stroke.dash.is_some() { " dashed" } else { "" };
        write!(out, " edge {:?} {:.1}{dashed}", stroke.ink, stroke.width).ok();
    }
    if style.alpha < 1.0 && (style.fill.is_some() || style.stroke.is_some()) {
        write!(out, " alpha {:.2}", style.alpha).ok();
    }
}
