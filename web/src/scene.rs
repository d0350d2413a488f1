//! What the stage shows, as lists of shapes.
//!
//! Every function here is pure: the same run, layout and words give the same shapes. Colours are
//! tokens that a theme resolves when the shapes are painted; words come from a table.

pub(crate) mod cluster;
pub(crate) mod fit;
pub(crate) mod group;
pub(crate) mod hit;
pub(crate) mod home;
pub(crate) mod place;
pub(crate) mod plot;
pub(crate) mod scale;
pub(crate) mod scrubber;
pub(crate) mod shape;
pub(crate) mod space_time;
pub(crate) mod theme;
pub(crate) mod view;
pub(crate) mod words;

#[cfg(test)]
pub(crate) mod fixture;
#[cfg(test)]
mod print;
#[cfg(test)]
mod svg;
#[cfg(test)]
mod tests;
