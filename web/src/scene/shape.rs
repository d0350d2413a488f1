//! Shapes: what a scene is made of.

use super::fit::Measure;
use super::theme::Ink;
use crate::driver::selection::Selection;

/// A picture, ready to be painted and asked what lies under a pointer.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Scene {
    /// Width in CSS pixels.
    pub width: f64,
    /// Height in CSS pixels.
    pub height: f64,
    /// What is painted, lowest layer first.
    pub shapes: Vec<Shape>,
    /// What shapes stand for.
    pub targets: Vec<Selection>,
}

/// A shape.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Shape {
    /// What lies above what.
    pub layer: Layer,
    /// Its outline.
    pub geometry: Geometry,
    /// How it looks.
    pub style: Style,
    /// What it stands for: an index into the scene's targets.
    pub target: Option<usize>,
}

/// What lies above what.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Layer {
    /// Grids and axes.
    Ground,
    /// Cards.
    Card,
    /// What cards hold: strips, bands.
    Body,
    /// Marks upon bodies.
    Mark,
    /// Lines between things.
    Wire,
    /// What moves.
    Token,
    /// Words.
    Label,
    /// The playhead and what is chosen.
    Top,
}

/// An outline.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Geometry {
    /// A box: left, top, width, height, and the radius of its corners.
    Rect([f64; 4], f64),
    /// A chain of straight lines.
    Line(Vec<(f64, f64)>),
    /// A cubic curve: start, two handles, end.
    Curve([(f64, f64); 4]),
    /// A disc: centre and radius.
    Circle((f64, f64), f64),
    /// A part of a circle, clockwise from the top: centre, radius, and the share of a full turn.
    Arc((f64, f64), f64, f64),
    /// A line of text: anchor on the baseline, the text, how it is set.
    Text((f64, f64), String, Type),
}

/// How a text is set.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Type {
    /// The font.
    pub font: Font,
    /// Which end of the text the anchor is.
    pub align: Align,
}

/// A font.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Font {
    /// Size in tenths of a pixel.
    pub tenths: u16,
    /// Whether it is heavier.
    pub is_bold: bool,
    /// Whether all figures have one width.
    pub is_mono: bool,
}

/// Which end of a text its anchor is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Align {
    /// It begins there.
    Start,
    /// It lies around it.
    Middle,
    /// It ends there.
    End,
}

/// How a shape looks.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Style {
    /// What fills it.
    pub fill: Option<Ink>,
    /// The line around it.
    pub stroke: Option<Stroke>,
    /// From 0, not to be seen, to 1.
    pub alpha: f64,
}

/// A line.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Stroke {
    /// Its colour.
    pub ink: Ink,
    /// Its width in pixels.
    pub width: f64,
    /// Lengths of dash and gap; unset for a whole line.
    pub dash: Option<(f64, f64)>,
}

impl Font {
    /// Text of this size.
    pub(crate) const fn text(tenths: u16) -> Self {
        Self {
            tenths,
            is_bold: false,
            is_mono: false,
        }
    }

    /// Heavier text of this size.
    pub(crate) const fn bold(tenths: u16) -> Self {
        Self {
            tenths,
            is_bold: true,
            is_mono: false,
        }
    }

    /// Figures of this size.
    pub(crate) const fn mono(tenths: u16) -> Self {
        Self {
            tenths,
            is_bold: false,
            is_mono: true,
        }
    }

    /// Size in pixels.
    pub(crate) fn size(self) -> f64 {
        f64::from(self.tenths) / 10.0
    }
}

impl Style {
    /// Not to be seen; only a pointer feels it.
    pub(crate) const GHOST: Self = Self {
        fill: None,
        stroke: None,
        alpha: 0.0,
    };

    /// Filled.
    pub(crate) const fn fill(ink: Ink) -> Self {
        Self {
            fill: Some(ink),
            stroke: None,
            alpha: 1.0,
        }
    }

    /// A line.
    pub(crate) const fn line(ink: Ink, width: f64) -> Self {
        Self {
            fill: None,
            stroke: Some(Stroke {
                ink,
                width,
                dash: None,
            }),
            alpha: 1.0,
        }
    }

    /// A dashed line.
    pub(crate) const fn dashed(ink: Ink, width: f64, dash: (f64, f64)) -> Self {
        Self {
            fill: None,
            stroke: Some(Stroke {
                ink,
                width,
                dash: Some(dash),
            }),
            alpha: 1.0,
        }
    }

    /// The same with a line around it.
    #[must_use]
    pub(crate) const fn edged(mut self, ink: Ink, width: f64) -> Self {
        self.stroke = Some(Stroke {
            ink,
            width,
            dash: None,
        });
        self
    }

    /// The same, see-through.
    #[must_use]
    pub(crate) const fn alpha(mut self, alpha: f64) -> Self {
        self.alpha = alpha;
        self
    }
}

impl Shape {
    /// The box (left, top, width, height) that a text's small letters fill; unset for other
    /// shapes.
    pub(crate) fn text_box(&self, measure: &dyn Measure) -> Option<[f64; 4]> {
        let Geometry::Text((x, y), text, set) = &self.geometry else {
            return None;
        };
        let width = measure.width(text, set.font);
        let left = match set.align {
            Align::Start => *x,
            Align::Middle => x - width / 2.0,
            Align::End => x - width,
        };
        let height = set.font.size() * 0.62;
        Some([left, y - height, width, height])
    }
}

impl Scene {
    /// Nothing yet.
    pub(crate) fn new(width: f64, height: f64) -> Self {
        Self {
            width,
            height,
            shapes: Vec::new(),
            targets: Vec::new(),
        }
    }

    /// Adds a shape.
    pub(crate) fn push(&mut self, layer: Layer, geometry: Geometry, style: Style) {
        self.shapes.push(Shape {
            layer,
            geometry,
            style,
            target: None,
        });
    }

    /// Adds a shape that stands for `target`.
    pub(crate) fn push_for(
        &mut self,
        target: usize,
        layer: Layer,
        geometry: Geometry,
        style: Style,
    ) {
        self.shapes.push(Shape {
            layer,
            geometry,
            style,
            target: Some(target),
        });
    }

    /// A new thing to point at; shapes name it by the number given back.
    pub(crate) fn target(&mut self, target: Selection) -> usize {
        self.targets.push(target);
        self.targets.len() - 1
    }

    /// Adds a text.
    pub(crate) fn text(&mut self, at: (f64, f64), text: impl Into<String>, set: Type, ink: Ink) {
        let geometry = Geometry::Text(at, text.into(), set);
        self.push(Layer::Label, geometry, Style::fill(ink));
    }

    /// Brings the shapes into the order in which they are painted.
    #[must_use]
    pub(crate) fn sorted(mut self) -> Self {
        self.shapes.sort_by_key(|shape| shape.layer);
        self
    }
}
