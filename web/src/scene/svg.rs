//! A scene as SVG, for looking at what tests draw.

use super::shape::{Align, Geometry, Scene, Shape};
use super::theme::{Ink, ThemeName};
use std::fmt::Write;

/// The whole picture.
pub(crate) fn render(scene: &Scene, theme: ThemeName) -> String {
    let mut out = String::new();
    let (width, height) = (scene.width, scene.height);
    write!(
        out,
        "<svg xmlns='http://www.w3.org/2000/svg' width='{width}' height='{height}'>\
         <defs><pattern id='h{theme:?}' width='6' height='6' patternUnits='userSpaceOnUse' \
         patternTransform='rotate(45)'><rect width='6' height='6' fill='{}'/><rect width='1.6' \
         height='6' fill='{}'/></pattern></defs><rect width='100%' height='100%' fill='{}'/>",
        theme.css(Ink::Hatch),
        theme.css(Ink::HatchStripe),
        theme.css(Ink::Bg)
    )
    .unwrap();
    for shape in &scene.shapes {
        draw(&mut out, shape, theme);
    }
    out.push_str("</svg>");
    out
}

fn draw(out: &mut String, shape: &Shape, theme: ThemeName) {
    let style = shape.style;
    if style.fill.is_none() && style.stroke.is_none() {
        return;
    }
    let mut look = match style.fill {
        Some(Ink::Hatch) => format!("fill='url(#h{theme:?})'"),
        Some(ink) => format!("fill='{}'", theme.css(ink)),
        None => String::from("fill='none'"),
    };
    if let Some(stroke) = style.stroke {
        let css = theme.css(stroke.ink);
        write!(
            look,
            " stroke='{css}' stroke-width='{}' stroke-linejoin='round'",
            stroke.width
        )
        .unwrap();
        if let Some((dash, gap)) = stroke.dash {
            write!(look, " stroke-dasharray='{dash} {gap}'").unwrap();
            if dash <= 1.0 {
                look.push_str(" stroke-linecap='round'");
            }
        } else if 2.0 <= stroke.width {
            look.push_str(" stroke-linecap='round'");
        }
    }
    write!(look, " opacity='{}'", style.alpha).unwrap();
    match &shape.geometry {
        Geometry::Rect([x, y, width, height], radius) => {
            write!(
                out,
                "<rect x='{x}' y='{y}' width='{width}' height='{height}' rx='{radius}' {look}/>"
            )
            .unwrap();
        }
        Geometry::Line(points) => {
            let places: Vec<String> = points.iter().map(|(x, y)| format!("{x},{y}")).collect();
            let path = places.join(" ");
            write!(out, "<polyline points='{path}' {look}/>").unwrap();
        }
        Geometry::Curve([a, b, c, d]) => {
            write!(
                out,
                "<path d='M{} {}C{} {} {} {} {} {}' {look}/>",
                a.0, a.1, b.0, b.1, c.0, c.1, d.0, d.1
            )
            .unwrap();
        }
        Geometry::Circle((x, y), radius) => {
            write!(out, "<circle cx='{x}' cy='{y}' r='{radius}' {look}/>").unwrap();
        }
        Geometry::Arc((x, y), radius, part) => {
            let angle = part * std::f64::consts::TAU;
            let end = (x + radius * angle.sin(), y - radius * angle.cos());
            let large = u8::from(0.5 < *part);
            write!(
                out,
                "<path d='M{x} {}A{radius} {radius} 0 {large} 1 {} {}' {look}/>",
                y - radius,
                end.0,
                end.1
            )
            .unwrap();
        }
        Geometry::Text((x, y), text, set) => {
            let anchor = match set.align {
                Align::Start => "start",
                Align::Middle => "middle",
                Align::End => "end",
            };
            let family = if set.font.is_mono {
                "DejaVu Sans Mono"
            } else {
                "system-ui"
            };
            let weight = if set.font.is_bold { 600 } else { 400 };
            let text = text.replace('&', "&amp;").replace('<', "&lt;");
            write!(
                out,
                "<text x='{x}' y='{y}' font-family='{family}' font-weight='{weight}' \
                 font-size='{}' text-anchor='{anchor}' {look}>{text}</text>",
                set.font.size()
            )
            .unwrap();
        }
    }
}
