//! Boxes on a picture.

use super::shape::Geometry;

/// A box.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Place {
    /// Left edge.
    pub x: f64,
    /// Top edge.
    pub y: f64,
    /// Width.
    pub width: f64,
    /// Height.
    pub height: f64,
}

impl Place {
    /// A box by its left top corner and its size.
    pub(crate) const fn new(x: f64, y: f64, width: f64, height: f64) -> Self {
        Self {
            x,
            y,
            width,
            height,
        }
    }

    /// Right edge.
    pub(crate) fn right(&self) -> f64 {
        self.x + self.width
    }

    /// Bottom edge.
    pub(crate) fn bottom(&self) -> f64 {
        self.y + self.height
    }

    /// Middle.
    pub(crate) fn centre(&self) -> (f64, f64) {
        (self.x + self.width / 2.0, self.y + self.height / 2.0)
    }

    /// The same with `edge` more on every side.
    #[must_use]
    pub(crate) fn grown(&self, edge: f64) -> Self {
        let twice = 2.0 * edge;
        Self::new(
            self.x - edge,
            self.y - edge,
            self.width + twice,
            self.height + twice,
        )
    }

    /// Its outline with round corners.
    pub(crate) fn rect(&self, radius: f64) -> Geometry {
        Geometry::Rect([self.x, self.y, self.width, self.height], radius)
    }

    /// As `Taken` wants it.
    pub(crate) const fn boxed(&self) -> [f64; 4] {
        [self.x, self.y, self.width, self.height]
    }

    /// Where the straight line from the middle to `other` leaves the box.
    pub(crate) fn edge_towards(&self, other: (f64, f64)) -> (f64, f64) {
        let (x, y) = self.centre();
        let (dx, dy) = (other.0 - x, other.1 - y);
        let across = if dx == 0.0 {
            f64::INFINITY
        } else {
            self.width / 2.0 / dx.abs()
        };
        let along = if dy == 0.0 {
            f64::INFINITY
        } else {
            self.height / 2.0 / dy.abs()
        };
        let share = across.min(along).min(1.0);
        (x + dx * share, y + dy * share)
    }
}
