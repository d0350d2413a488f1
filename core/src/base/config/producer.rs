//! Producer settings.

use super::{SettingValue, settings};
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// Who must have a record before the producer hears that it is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Acks {
    /// Nobody: there is no answer.
    None,
    /// The leader.
    Leader,
    /// Every member of the ISR.
    All,
}

impl SettingValue for Acks {
    fn parse(text: &str) -> Result<Self, String> {
        match text.trim() {
            "0" => Ok(Self::None),
            "1" => Ok(Self::Leader),
            "all" | "-1" => Ok(Self::All),
            _ => Err(String::from("0, 1 or all")),
        }
    }
    fn render(&self) -> String {
        String::from(match self {
            Self::None => "0",
            Self::Leader => "1",
            Self::All => "all",
        })
    }
}

settings! {
    /// Settings of one producer.
    ProducerConfig {
        client_id: Option<Arc<str>> = None, "client.id", "a name", None,
            "Name that the brokers see; the process name when unset.";
        acks: Acks = Acks::All, "acks", "0, 1 or all", None,
            "Who must have a record before it counts as written; all since 3.0 (KIP-679).";
        batch_size: i64 = 16_384, "batch.size", "a number from 0 to 2147483647", Some(0..=2_147_483_647),
            "Bytes of one batch of a partition; 0 turns batching off.";
        linger_ms: i64 = 5, "linger.ms", "a number from 0 to 2147483647", Some(0..=2_147_483_647),
            "Milliseconds that a batch waits for more records; 5 since 4.0 (KIP-1030).";
        buffer_memory: i64 = 33_554_432, "buffer.memory", "a number from 0 to 9223372036854775807", Some(0..=i64::MAX),
            "Bytes that may wait in the producer; then `send()` blocks.";
        max_block_ms: i64 = 60_000, "max.block.ms", "a number from 0 to 2147483647", Some(0..=2_147_483_647),
            "Milliseconds that `send()` blocks for metadata or buffer memory before it throws.";
        max_in_flight_requests_per_connection: i64 = 5, "max.in.flight.requests.per.connection", "a number from 1 to 2147483647", Some(1..=2_147_483_647),
            "Produce requests on one connection that have no answer yet.";
        max_request_size: i64 = 1_048_576, "max.request.size", "a number from 0 to 2147483647", Some(0..=2_147_483_647),
            "Bytes in one produce request.";
        retries: i64 = 2_147_483_647, "retries", "a number from 0 to 2147483647", Some(0..=2_147_483_647),
            "How often a batch is sent again; delivery.timeout.ms is the bound that matters.";
        retry_backoff_ms: i64 = 100, "retry.backoff.ms", "a number from 0 to 2147483647", Some(0..=2_147_483_647),
            "Milliseconds before the first retry; it doubles from then on (KIP-580).";
        retry_backoff_max_ms: i64 = 1_000, "retry.backoff.max.ms", "a number from 0 to 2147483647", Some(0..=2_147_483_647),
            "Longest wait between two retries, in milliseconds.";
        request_timeout_ms: i64 = 30_000, "request.timeout.ms", "a number from 1 to 2147483647", Some(1..=2_147_483_647),
            "Milliseconds that a request may take; the broker also parks acks=all no longer.";
        delivery_timeout_ms: i64 = 120_000, "delivery.timeout.ms", "a number from 1 to 2147483647", Some(1..=2_147_483_647),
            "Milliseconds from `send()` after which a record that is not acknowledged fails.";
        metadata_max_age_ms: i64 = 300_000, "metadata.max.age.ms", "a number from 1 to 2147483647", Some(1..=2_147_483_647),
            "Milliseconds after which the metadata are asked for again without a reason.";
        reconnect_backoff_ms: i64 = 50, "reconnect.backoff.ms", "a number from 0 to 2147483647", Some(0..=2_147_483_647),
            "Milliseconds before a broker that refused a connection is tried again.";
    }
}
