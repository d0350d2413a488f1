//! Clients: what runs inside producer and consumer processes.

pub mod admin;
pub mod backoff;
pub mod consumer;
pub mod metadata;
pub mod producer;
pub mod record_deletion;
