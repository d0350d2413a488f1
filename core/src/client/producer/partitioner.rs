//! Which partition a record goes to.

use crate::base::ids::{TopicId, TopicPartition};
use crate::client::metadata::ClientMetadata;
use crate::kernel::rng::Stream;
use serde::Serialize;
use std::collections::BTreeMap;

/// The partition that Kafka's Java producer picks for a key, over all partitions of the topic.
///
/// # Source
/// `BuiltInPartitioner.partitionForKey`.
pub fn partition_for_key(key: &[u8], partition_count: u32) -> u32 {
    let positive = murmur2(key) & 0x7fff_ffff;
    positive.checked_rem(partition_count).unwrap_or_default()
}

/// 32-bit `MurmurHash2` with Kafka's seed.
///
/// # Source
/// `Utils.murmur2`.
pub fn murmur2(bytes: &[u8]) -> u32 {
    const SEED: u32 = 0x9747_b28c;
    const MULTIPLIER: u32 = 0x5bd1_e995;
    let length = u32::try_from(bytes.len()).unwrap_or(u32::MAX);
    let mut hash = SEED ^ length;
    let mut blocks = bytes.chunks_exact(4);
    for block in &mut blocks {
        let word = block
            .iter()
            .rev()
            .fold(0_u32, |word, byte| (word << 8) | u32::from(*byte));
        let mut mixed = word.wrapping_mul(MULTIPLIER);
        mixed ^= mixed >> 24;
        mixed = mixed.wrapping_mul(MULTIPLIER);
        hash = hash.wrapping_mul(MULTIPLIER) ^ mixed;
    }
    let tail = blocks.remainder();
    if !tail.is_empty() {
        hash ^= tail
            .iter()
            .rev()
            .fold(0_u32, |word, byte| (word << 8) | u32::from(*byte));
        hash = hash.wrapping_mul(MULTIPLIER);
    }
    hash ^= hash >> 13;
    hash = hash.wrapping_mul(MULTIPLIER);
    hash ^ (hash >> 15)
}

/// Keeps records without a key on one partition until it has had a batch's worth of bytes
/// (KIP-794).
///
/// The next partition is drawn evenly among those with a leader.
#[derive(Clone, Debug, Serialize)]
pub struct StickyPartitioner {
    batch_size: u64,
    current: BTreeMap<TopicId, Sticky>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
struct Sticky {
    partition: u32,
    bytes: u64,
}

impl StickyPartitioner {
    /// Switches after `batch_size` bytes.
    pub fn new(batch_size: i64) -> Self {
        Self {
            batch_size: u64::try_from(batch_size).unwrap_or_default().max(1),
            current: BTreeMap::new(),
        }
    }

    /// The partition for the next record of `topic`.
    pub fn partition(
        &mut self,
        topic: TopicId,
        metadata: &ClientMetadata,
        stream: &mut Stream,
    ) -> u32 {
        if let Some(sticky) = self.current.get(&topic)
            && sticky.bytes < self.batch_size
        {
            return sticky.partition;
        }
        let count = metadata
            .topics()
            .get(&topic)
            .map_or(0, |known| known.partitions.len());
        let count = u32::try_from(count).unwrap_or_default();
        let available: Vec<u32> = (0..count)
            .filter(|partition| {
                metadata
                    .leader(TopicPartition::new(topic, *partition))
                    .is_some()
            })
            .collect();
        let choices = if available.is_empty() {
            (0..count).collect()
        } else {
            available
        };
        let drawn = stream.below(u64::try_from(choices.len()).unwrap_or_default());
        let index = usize::try_from(drawn).unwrap_or_default();
        let partition = choices.get(index).copied().unwrap_or_default();
        self.current.insert(
            topic,
            Sticky {
                partition,
                bytes: 0,
            },
        );
        partition
    }

    /// Notes that the last chosen partition got a record of `bytes` bytes.
    pub fn on_append(&mut self, topic: TopicId, bytes: u32) {
        if let Some(sticky) = self.current.get_mut(&topic) {
            sticky.bytes += u64::from(bytes);
        }
    }
}

#[cfg(test)]
mod tests {
    #[cfg(target_arch = "wasm32")]
    use wasm_bindgen_test::wasm_bindgen_test as test;

    use super::{murmur2, partition_for_key};

    /// Key, murmur2 as i32, and its partition of 3, 6 and 12 (section 6.4 of the replication spec).
    const VECTORS: [(&str, i32, u32, u32, u32); 23] = [
        ("", 275_646_681, 0, 3, 9),
        ("a", -1_563_381_124, 1, 4, 4),
        ("ab", 316_155_434, 2, 2, 2),
        ("abc", 479_470_107, 0, 3, 3),
        ("21", -973_932_308, 0, 0, 0),
        ("0", 971_027_396, 2, 2, 8),
        ("1", -1_993_445_489, 0, 3, 3),
        ("2", 648_968_168, 2, 2, 8),
        ("42", 417_700_972, 1, 4, 4),
        ("key", -1_079_937_367, 1, 1, 1),
        ("foobar", -790_332_482, 0, 0, 6),
        ("user-1", 1_404_122_828, 2, 2, 8),
        ("user-2", -324_981_792, 2, 2, 8),
        ("user-42", 1_459_644_460, 1, 4, 4),
        ("order-1001", 297_523_878, 0, 0, 6),
        ("customer-7", -1_283_830_537, 1, 1, 7),
        ("alice", 1_951_417_749, 0, 3, 9),
        ("bob", -2_048_144_690, 0, 0, 6),
        ("carol", 271_431_602, 2, 2, 2),
        ("kafka", -798_503_068, 1, 4, 4),
        ("a-little-bit-long-string", -985_981_536, 2, 2, 8),
        ("a-little-bit-longer-string", -1_486_304_829, 2, 5, 11),
        ("naïve", 452_640_081, 0, 3, 9),
    ];

    #[test]
    fn keys_go_where_the_java_producer_sends_them() {
        for (key, hash, three, six, twelve) in VECTORS {
            let signed = i32::from_le_bytes(murmur2(key.as_bytes()).to_le_bytes());
            assert_eq!(signed, hash, "murmur2 of {key:?}");
            let partitions = [3, 6, 12].map(|count| partition_for_key(key.as_bytes(), count));
            assert_eq!(partitions, [three, six, twelve], "partitions of {key:?}");
        }
        let long = murmur2(b"lkjh234lh9fiuh90y23oiuhsafujhadof229phr9h19h89h8");
        assert_eq!(
            i32::from_le_bytes(long.to_le_bytes()),
            -58_897_971,
            "UtilsTest.testMurmur2"
        );
    }
}
