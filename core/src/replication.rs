//! One partition on one broker: leading it, following it, its ISR and its high watermark.

pub mod isr;
pub mod partition;
pub mod remote;
