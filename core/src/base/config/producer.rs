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
        enable_idempotence: Option<bool> = None, "enable.idempotence", "true or false", None,
            "Whether a batch that is sent again is written once. When unset it is on, as since 3.0 (KIP-679), unless acks, retries or the requests in flight rule it out.";
        transactional_id: Option<Arc<str>> = None, "transactional.id", "a name", None,
            "Makes the producer send in transactions; a later producer of the same name fences it (KIP-98).";
        transaction_timeout_ms: i64 = 60_000, "transaction.timeout.ms", "a number from 1 to 2147483647", Some(1..=2_147_483_647),
            "Milliseconds after which the coordinator aborts a transaction that is still open.";
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
        partitioner_adaptive_partitioning_enable: bool = true, "partitioner.adaptive.partitioning.enable", "true or false", None,
            "Whether partitions with shorter queues get more of the records without a key (KIP-794).";
        partitioner_ignore_keys: bool = false, "partitioner.ignore.keys", "true or false", None,
            "Whether keys have no say in the choice of partition (KIP-794).";
        partitioner_availability_timeout_ms: i64 = 0, "partitioner.availability.timeout.ms", "a number from 0 to 2147483647", Some(0..=2_147_483_647),
            "Milliseconds after which a broker that takes no batches gets no records without a key; 0 turns this off (KIP-794).";
        metadata_max_age_ms: i64 = 300_000, "metadata.max.age.ms", "a number from 1 to 2147483647", Some(1..=2_147_483_647),
            "Milliseconds after which the metadata are asked for again without a reason.";
        reconnect_backoff_ms: i64 = 50, "reconnect.backoff.ms", "a number from 0 to 2147483647", Some(0..=2_147_483_647),
            "Milliseconds before a broker that refused a connection is tried again.";
    }
}

impl ProducerConfig {
    /// The settings as the producer works with them: `enable.idempotence` decided, and
    /// `delivery.timeout.ms` no shorter than `linger.ms` and `request.timeout.ms` together.
    ///
    /// # Errors
    /// Settings that contradict each other, as a `ConfigException` would say it.
    ///
    /// # Source
    /// `ProducerConfig.postProcessAndValidateIdempotenceConfigs`,
    /// `KafkaProducer.configureDeliveryTimeout`.
    /// # Simplified
    /// `delivery.timeout.ms` at its default counts as unset. More than 5 requests in flight turn
    /// idempotence off, as up to 3.9; 4.0 refuses them.
    pub fn effective(&self) -> Result<Self, &'static str> {
        let mut config = self.clone();
        let shortest = config.linger_ms.saturating_add(config.request_timeout_ms);
        if config.delivery_timeout_ms < shortest {
            if config.delivery_timeout_ms != Self::default().delivery_timeout_ms {
                return Err(
                    "delivery.timeout.ms should be equal to or larger than linger.ms + request.timeout.ms",
                );
            }
            config.delivery_timeout_ms = shortest;
        }
        let conflict = self.idempotence_conflict();
        let is_needed = self.transactional_id.is_some() || self.enable_idempotence == Some(true);
        if self.transactional_id.is_some() && self.enable_idempotence == Some(false) {
            return Err("Cannot set a transactional.id without also enabling idempotence.");
        }
        if let (true, Some(reason)) = (is_needed, conflict) {
            return Err(reason);
        }
        let is_on = self.enable_idempotence.unwrap_or(conflict.is_none());
        config.enable_idempotence = Some(is_on);
        Ok(config)
    }

    /// What rules idempotence out, if anything does.
    pub fn idempotence_conflict(&self) -> Option<&'static str> {
        if self.acks != Acks::All {
            Some("Must set acks to all in order to use the idempotent producer.")
        } else if self.retries == 0 {
            Some("Must set retries to non-zero when using the idempotent producer.")
        } else if 5 < self.max_in_flight_requests_per_connection {
            Some(
                "Must set max.in.flight.requests.per.connection to at most 5 to use the idempotent producer.",
            )
        } else {
            None
        }
    }
}

#[cfg(test)]
mod tests {
    #[cfg(target_arch = "wasm32")]
    use wasm_bindgen_test::wasm_bindgen_test as test;

    use super::ProducerConfig;

    fn set(settings: &[(&str, &str)]) -> ProducerConfig {
        let mut config = ProducerConfig::default();
        for (name, value) in settings {
            config.set(name, value).expect("a good setting");
        }
        config
    }

    #[test]
    fn idempotence_gives_way_unless_it_was_asked_for_a18() {
        for conflict in [
            ("acks", "1"),
            ("acks", "0"),
            ("retries", "0"),
            ("max.in.flight.requests.per.connection", "6"),
        ] {
            let silent = set(&[conflict]).effective().expect("it gives way");
            assert_eq!(silent.enable_idempotence, Some(false), "A18: {conflict:?}");
            for wanted in [("enable.idempotence", "true"), ("transactional.id", "t")] {
                let refused = set(&[conflict, wanted]).effective();
                assert!(refused.is_err(), "A18: {conflict:?} with {wanted:?}");
            }
        }
        let plain = set(&[]).effective().expect("the defaults are good");
        assert_eq!(
            plain.enable_idempotence,
            Some(true),
            "on by default since 3.0"
        );
        let off = set(&[("enable.idempotence", "false"), ("transactional.id", "t")]);
        assert!(off.effective().is_err(), "transactions need idempotence");
    }

    #[test]
    fn acks_are_0_1_or_all_e22() {
        for (acks, is_good) in [
            ("0", true),
            ("1", true),
            ("all", true),
            ("-1", true),
            ("2", false),
        ] {
            let set = ProducerConfig::default().set("acks", acks);
            assert_eq!(
                set.is_ok(),
                is_good,
                "E22: acks={acks} is refused before it is sent"
            );
        }
    }

    #[test]
    fn a_delivery_takes_at_least_its_linger_and_one_request() {
        let short = set(&[("delivery.timeout.ms", "30000")]);
        assert!(short.effective().is_err(), "30000 < 5 + 30000");
        let long = set(&[("request.timeout.ms", "200000")]);
        let raised = long.effective().expect("an unset one is raised");
        assert_eq!(
            raised.delivery_timeout_ms, 200_005,
            "linger.ms + request.timeout.ms"
        );
    }
}
