//! Words that every role shares: identifiers, settings, timers.

pub mod config;
pub mod ids;
pub mod timer;
