//! From shapes to pixels. The only place that draws on a canvas.

pub(crate) mod canvas;
pub(crate) mod charts;
pub(crate) mod stage;
