//! What happened: every message, every change of state, each with its cause.

pub mod buffer;
pub mod event;
pub mod out;
