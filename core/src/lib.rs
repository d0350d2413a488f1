//! A deterministic Kafka cluster.

#![deny(
    clippy::float_arithmetic,
    clippy::wildcard_enum_match_arm,
    clippy::disallowed_types,
    clippy::disallowed_methods
)]

pub mod assignor;
pub mod base;
pub mod client;
pub mod controller;
pub mod coordinator;
pub mod kernel;
pub mod lesson;
pub mod log;
pub mod node;
pub mod replication;
pub mod sim;
pub mod trace;
pub mod transaction;
pub mod wire;
