//! What an assignor hands from one rebalance to the next, inside a member's subscription.

use super::ids::TopicPartition;
use serde::Serialize;

/// The `user_data` of a subscription, taken apart. Kafka sends bytes that only the assignor reads;
/// here each assignor fills the fields that it reads.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize)]
pub struct UserData {
    /// `sticky`, `lag-aware`: what the member was last given; empty otherwise.
    pub partitions: Vec<TopicPartition>,
    /// The generation in which it was given that; -1 when none was noted.
    pub generation_id: i32,
    /// `lag-aware`: records that the member had not yet read of each of `partitions`, in the same
    /// order; empty otherwise.
    pub lags: Vec<u64>,
}
