//! What the browser offers, each behind a small interface.

pub(crate) mod raf;
pub(crate) mod resize;
