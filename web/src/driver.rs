//! Between the clock on the wall and the simulation: playing, stepping, and the index of what
//! happened.
//!
//! Nothing here touches the browser; the wall's time is passed in.

pub(crate) mod history;
pub(crate) mod number;
pub(crate) mod playback;
pub(crate) mod selection;
pub(crate) mod speed;
