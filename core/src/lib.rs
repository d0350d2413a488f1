//! A deterministic Kafka cluster.
