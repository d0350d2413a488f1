//! A deterministic Kafka cluster.

#![deny(
    clippy::float_arithmetic,
    clippy::wildcard_enum_match_arm,
    clippy::disallowed_types,
    clippy::disallowed_methods
)]

pub mod base;
pub mod controller;
pub mod kernel;
pub mod log;
pub mod replication;
pub mod sim;
pub mod trace;
pub mod wire;
