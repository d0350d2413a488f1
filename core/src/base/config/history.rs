//! Switches that bring back how Kafka behaved before.

use super::settings;

settings! {
    /// What an old release did otherwise. Each switch is off unless a scenario turns it on.
    #[derive(Copy)]
    HistoryConfig {
        replica_lag_max_messages: i64 = 0, "replica.lag.max.messages", "a number from 0 to 2147483647", Some(0..=2_147_483_647),
            "0.8.0 to 0.8.2: a follower that lacks this many records leaves the ISR at once, however short the time; 0, as since 0.9, looks at the time alone (KIP-16). 0.8 looked once in replica.lag.time.max.ms, for more than this many; here each append is looked at, so that a burst shows.";
        truncate_to_high_watermark: bool = false, "truncate.to.high.watermark", "true or false", None,
            "Before 0.11: a new follower cuts its log at its own high watermark, and nobody compares leader epochs; since then it asks where its log parts from the leader's (KIP-101).";
        high_watermark_below_min_isr: bool = false, "high.watermark.below.min.isr", "true or false", None,
            "Before 3.7: the high watermark goes on while the ISR is smaller than min.insync.replicas, so a waiting producer gets `NOT_ENOUGH_REPLICAS_AFTER_APPEND`; since then it stands still (KAFKA-15583).";
        single_threaded_consumer: bool = false, "single.threaded.consumer", "true or false", None,
            "0.9.0 to 0.10.0: a consumer has no heartbeat thread: it sends heartbeats and reads answers inside poll alone, so an application that is slow for session.timeout.ms is evicted while it works. session.timeout.ms is the rebalance timeout as well, max.poll.interval.ms and the initial rebalance delay do not exist, and onPartitionsRevoked is always called (KIP-62 ended it).";
        no_heartbeat_before_sync: bool = false, "no.heartbeat.before.sync", "true or false", None,
            "Before 2.7 and 2.6.1: a consumer sends no heartbeat from its JoinGroup until it has its assignment, so an assignor that takes longer than session.timeout.ms evicts the leader; and a coordinator answers `REBALANCE_IN_PROGRESS` while it awaits the assignment.";
    }
}

impl HistoryConfig {
    /// The versions that a switch is about, such as `0.8.0 to 0.8.2`.
    pub fn versions(name: &str) -> Option<&'static str> {
        let info = Self::SETTINGS.iter().find(|setting| setting.name == name)?;
        info.doc.split(':').next()
    }
}
