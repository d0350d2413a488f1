//! Shapes on a canvas.

use crate::scene::fit::Measure;
use crate::scene::shape::{Align, Font, Geometry, Scene, Shape, Stroke};
use crate::scene::theme::{Ink, ThemeName};
use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::f64::consts::{FRAC_PI_2, TAU};
use std::fmt;
use wasm_bindgen::{JsCast, JsValue};
use web_sys::{CanvasPattern, CanvasRenderingContext2d, HtmlCanvasElement};

/// A canvas with its context.
pub(crate) struct Surface {
    canvas: HtmlCanvasElement,
    context: CanvasRenderingContext2d,
    ratio: Cell<f64>,
    /// The hatching of each theme.
    hatches: RefCell<BTreeMap<bool, CanvasPattern>>,
    /// Widths of texts that were measured; a figure is as wide as any other.
    widths: RefCell<BTreeMap<(Font, String), f64>>,
    /// The font that the context has now.
    font: Cell<Option<Font>>,
}

impl Surface {
    /// A surface on `canvas`; unset when the browser gives no context.
    pub(crate) fn new(canvas: HtmlCanvasElement) -> Option<Self> {
        let context = canvas.get_context("2d").ok()??.dyn_into().ok()?;
        Some(Self {
            canvas,
            context,
            ratio: Cell::new(1.0),
            hatches: RefCell::new(BTreeMap::new()),
            widths: RefCell::new(BTreeMap::new()),
            font: Cell::new(None),
        })
    }

    /// The canvas.
    pub(crate) const fn canvas(&self) -> &HtmlCanvasElement {
        &self.canvas
    }

    /// Width and height in CSS pixels as the page has laid it out.
    pub(crate) fn size(&self) -> (f64, f64) {
        (
            f64::from(self.canvas.client_width()),
            f64::from(self.canvas.client_height()),
        )
    }

    /// Gives the canvas as many pixels as the screen has there, and clears it. Tells whether
    /// anything can be seen at all.
    pub(crate) fn begin(&self) -> bool {
        let (width, height) = self.size();
        if width < 4.0 || height < 4.0 {
            return false;
        }
        let ratio = web_sys::window().map_or(1.0, |window| window.device_pixel_ratio());
        let ratio = ratio.clamp(1.0, 4.0);
        let (wide, high) = (pixels(width * ratio), pixels(height * ratio));
        if self.canvas.width() != wide || self.canvas.height() != high {
            self.canvas.set_width(wide);
            self.canvas.set_height(high);
        }
        self.ratio.set(ratio);
        self.font.set(None);
        self.context
            .set_transform(ratio, 0.0, 0.0, ratio, 0.0, 0.0)
            .ok();
        self.context.clear_rect(0.0, 0.0, width, height);
        true
    }

    /// From now on lengths are pixels of the screen, as plotters counts them.
    pub(crate) fn to_pixels(&self) {
        self.context
            .set_transform(1.0, 0.0, 0.0, 1.0, 0.0, 0.0)
            .ok();
        self.context.set_line_dash(&js_sys::Array::new()).ok();
        self.context.set_line_join("round");
    }

    /// From now on lengths are pixels of the page again.
    pub(crate) fn to_page(&self) {
        let ratio = self.ratio.get();
        self.context
            .set_transform(ratio, 0.0, 0.0, ratio, 0.0, 0.0)
            .ok();
        self.font.set(None);
    }

    /// Paints a scene. Shapes that follow each other and look alike become one path.
    pub(crate) fn paint(&self, scene: &Scene, theme: ThemeName) {
        let mut shapes = scene.shapes.as_slice();
        while let Some(first) = shapes.first() {
            let alike = shapes
                .iter()
                .take_while(|shape| is_alike(first, shape))
                .count()
                .max(1);
            let (now, rest) = shapes.split_at(alike);
            self.paint_alike(now, theme);
            shapes = rest;
        }
        self.context.set_global_alpha(1.0);
    }

    fn paint_alike(&self, shapes: &[Shape], theme: ThemeName) {
        let Some(first) = shapes.first() else { return };
        let style = first.style;
        if style.alpha <= 0.0 {
            return;
        }
        self.context.set_global_alpha(style.alpha);
        if let Geometry::Text(..) = first.geometry {
            if let Some(ink) = style.fill {
                self.context.set_fill_style_str(theme.css(ink));
            }
            for shape in shapes {
                self.paint_text(shape);
            }
            return;
        }
        self.context.begin_path();
        for shape in shapes {
            self.trace(shape);
        }
        if let Some(ink) = style.fill {
            self.fill_with(ink, theme);
            self.context.fill();
        }
        if let Some(stroke) = style.stroke {
            self.stroke_with(stroke, theme);
            self.context.stroke();
        }
    }

    fn paint_text(&self, shape: &Shape) {
        let Geometry::Text((x, y), text, set) = &shape.geometry else {
            return;
        };
        self.use_font(set.font);
        self.context.set_text_align(match set.align {
            Align::Start => "left",
            Align::Middle => "center",
            Align::End => "right",
        });
        self.context.fill_text(text, *x, *y).ok();
    }

    fn use_font(&self, font: Font) {
        if self.font.get() != Some(font) {
            self.context.set_font(&css_font(font));
            self.font.set(Some(font));
        }
    }

    /// Adds a shape to the path.
    fn trace(&self, shape: &Shape) {
        let context = &self.context;
        let stroke = shape.style.stroke;
        match &shape.geometry {
            Geometry::Rect([x, y, width, height], radius) => {
                let crisp = stroke.map_or(0.0, |stroke| self.nudge(stroke.width));
                let (x, y) = (self.snap(*x) + crisp, self.snap(*y) + crisp);
                let radius = radius.min(width / 2.0).min(height / 2.0).max(0.0);
                if radius < 0.5 {
                    context.rect(x, y, *width, *height);
                } else {
                    context
                        .round_rect_with_f64(x, y, *width, *height, radius)
                        .ok();
                }
            }
            Geometry::Line(points) => self.trace_line(points, stroke),
            Geometry::Curve([from, one, two, to]) => {
                context.move_to(from.0, from.1);
                context.bezier_curve_to(one.0, one.1, two.0, two.1, to.0, to.1);
            }
            Geometry::Circle((x, y), radius) => {
                context.move_to(x + radius, *y);
                context.arc(*x, *y, *radius, 0.0, TAU).ok();
            }
            Geometry::Arc((x, y), radius, part) => {
                let start = -FRAC_PI_2;
                context.move_to(x + radius * start.cos(), y + radius * start.sin());
                context
                    .arc(*x, *y, *radius, start, start + TAU * part.clamp(0.0, 1.0))
                    .ok();
            }
            Geometry::Text(..) => {}
        }
    }

    /// Straight lines along an axis lie on whole pixels, so that they are sharp.
    fn trace_line(&self, points: &[(f64, f64)], stroke: Option<Stroke>) {
        let width = stroke.map_or(1.0, |stroke| stroke.width);
        let is_plain = match points {
            [(ax, ay), (bx, by)] => same(*ax, *bx) || same(*ay, *by),
            _ => false,
        };
        let shift = self.nudge(width);
        for (index, (x, y)) in points.iter().enumerate() {
            let (x, y) = match points {
                [(ax, _), (bx, _)] if is_plain && same(*ax, *bx) => (self.snap(*x) + shift, *y),
                _ if is_plain => (*x, self.snap(*y) + shift),
                _ => (*x, *y),
            };
            if index == 0 {
                self.context.move_to(x, y);
            } else {
                self.context.line_to(x, y);
            }
        }
    }

    /// The nearest whole pixel of the screen.
    fn snap(&self, at: f64) -> f64 {
        let ratio = self.ratio.get();
        (at * ratio).round() / ratio
    }

    /// Half a pixel for lines of an odd width.
    fn nudge(&self, width: f64) -> f64 {
        let ratio = self.ratio.get();
        let wide = (width * ratio).round().max(1.0);
        if wide % 2.0 < 0.5 { 0.0 } else { 0.5 / ratio }
    }

    fn fill_with(&self, ink: Ink, theme: ThemeName) {
        if ink == Ink::Hatch
            && let Some(pattern) = self.hatch(theme)
        {
            self.context.set_fill_style_canvas_pattern(&pattern);
            return;
        }
        self.context.set_fill_style_str(theme.css(ink));
    }

    fn stroke_with(&self, stroke: Stroke, theme: ThemeName) {
        let context = &self.context;
        context.set_stroke_style_str(theme.css(stroke.ink));
        context.set_line_width(stroke.width);
        context.set_line_cap(if stroke.dash.is_some() || stroke.width < 2.0 {
            if stroke.dash.is_some_and(|(dash, _)| dash <= 1.0) {
                "round"
            } else {
                "butt"
            }
        } else {
            "round"
        });
        context.set_line_join("round");
        let dashes = js_sys::Array::new();
        if let Some((dash, gap)) = stroke.dash {
            dashes.push(&JsValue::from_f64(dash));
            dashes.push(&JsValue::from_f64(gap));
        }
        context.set_line_dash(&dashes).ok();
    }

    /// Slanted stripes: what stands still.
    fn hatch(&self, theme: ThemeName) -> Option<CanvasPattern> {
        let is_dark = theme == ThemeName::Dark;
        if let Some(pattern) = self.hatches.borrow().get(&is_dark) {
            return Some(pattern.clone());
        }
        let tile = web_sys::window()?
            .document()?
            .create_element("canvas")
            .ok()?;
        let tile: HtmlCanvasElement = tile.dyn_into().ok()?;
        tile.set_width(8);
        tile.set_height(8);
        let context: CanvasRenderingContext2d = tile.get_context("2d").ok()??.dyn_into().ok()?;
        context.set_fill_style_str(theme.css(Ink::Hatch));
        context.fill_rect(0.0, 0.0, 8.0, 8.0);
        context.set_stroke_style_str(theme.css(Ink::HatchStripe));
        context.set_line_width(1.9);
        for shift in [-8.0, 0.0, 8.0] {
            context.begin_path();
            context.move_to(shift - 2.0, 10.0);
            context.line_to(shift + 10.0, -2.0);
            context.stroke();
        }
        let pattern = self
            .context
            .create_pattern_with_html_canvas_element(&tile, "repeat")
            .ok()??;
        self.hatches.borrow_mut().insert(is_dark, pattern.clone());
        Some(pattern)
    }
}

impl Measure for Surface {
    fn width(&self, text: &str, font: Font) -> f64 {
        let shape: String = text
            .chars()
            .map(|letter| if letter.is_ascii_digit() { '0' } else { letter })
            .collect();
        let key = (font, shape);
        if let Some(width) = self.widths.borrow().get(&key) {
            return *width;
        }
        self.use_font(font);
        let measured = self.context.measure_text(&key.1);
        let width = measured.map_or(0.0, |metrics| metrics.width());
        let mut widths = self.widths.borrow_mut();
        if WIDTHS_MAX < widths.len() {
            widths.clear();
        }
        widths.insert(key, width);
        width
    }
}

impl fmt::Debug for Surface {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("Surface")
            .field("size", &self.size())
            .finish_non_exhaustive()
    }
}

/// A font as CSS writes it.
pub(crate) fn css_font(font: Font) -> String {
    let weight = if font.is_bold { "600 " } else { "" };
    let family = if font.is_mono { MONO } else { SANS };
    format!("{weight}{}px {family}", font.size())
}

/// Whether two shapes can share a path: no text with another, no see-through fill with another.
fn is_alike(first: &Shape, next: &Shape) -> bool {
    let is_text = |shape: &Shape| matches!(shape.geometry, Geometry::Text(..));
    // Edges of filled shapes would lie under the fill of their neighbours.
    let is_both = first.style.fill.is_some() && first.style.stroke.is_some();
    first.style == next.style && is_text(first) == is_text(next) && !is_both
        || std::ptr::eq(first, next)
}

fn same(a: f64, b: f64) -> bool {
    (a - b).abs() < 0.01
}

fn pixels(length: f64) -> u32 {
    u32::try_from(crate::scene::scale::whole(length.round()))
        .unwrap_or(1)
        .max(1)
}

const WIDTHS_MAX: usize = 4_000;
const SANS: &str = "system-ui,-apple-system,\"Segoe UI\",\"Noto Sans\",\"PingFang SC\",\
                    \"Microsoft YaHei\",\"Noto Sans CJK SC\",sans-serif";
const MONO: &str =
    "ui-monospace,\"SF Mono\",\"Cascadia Mono\",\"DejaVu Sans Mono\",Consolas,monospace";
