//! What travels between nodes: requests, responses, error codes and records.

pub mod api;
pub mod error_code;
pub mod metadata;
pub mod record;
