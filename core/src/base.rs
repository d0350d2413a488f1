//! Words that every role shares: identifiers, settings, timers, what assignors remember.

pub mod config;
pub mod ids;
pub mod timer;
pub mod user_data;
