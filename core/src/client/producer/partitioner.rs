//! Which partition a record goes to.

use crate::base::ids::TopicId;
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

/// What the next choice of a partition is made from.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Choices {
    /// How many partitions the topic has.
    pub count: u32,
    /// Partitions with a leader.
    pub available: Vec<u32>,
    /// For adaptive partitioning: partitions that may be chosen with the lengths of their queues;
    /// unset while some partition of the topic has had no record yet, and when it is off.
    pub queues: Option<Vec<(u32, u32)>>,
}

impl Choices {
    /// The partition that `random` stands for.
    ///
    /// # Source
    /// `BuiltInPartitioner.nextPartition`, `updatePartitionLoadStats`.
    pub fn pick(&self, random: u64) -> u32 {
        if let Some(cumulative) = self.weights() {
            let total = cumulative.last().copied().unwrap_or(1).max(1);
            let place = cumulative.partition_point(|weight| *weight <= random % total);
            let queue = self.queues.as_ref().and_then(|queues| queues.get(place));
            return queue.map_or(0, |(partition, _)| *partition);
        }
        let available = u64::try_from(self.available.len()).unwrap_or_default();
        if available == 0 {
            let partition = random % u64::from(self.count.max(1));
            return u32::try_from(partition).unwrap_or_default();
        }
        let index = usize::try_from(random % available).unwrap_or_default();
        self.available.get(index).copied().unwrap_or_default()
    }

    /// Running sums of the weights: a queue counts for as much as it is shorter than the longest,
    /// and one more. Unset when the queues say nothing.
    pub fn weights(&self) -> Option<Vec<u64>> {
        let queues = self.queues.as_ref()?;
        let longest = queues.iter().map(|(_, length)| *length).max()?;
        let are_equal = queues.iter().all(|(_, length)| *length == longest);
        let is_whole = u32::try_from(queues.len()) == Ok(self.count);
        if self.count < 2 || (are_equal && is_whole) {
            return None;
        }
        let mut sum = 0;
        let weights = queues.iter().map(|(_, length)| {
            sum += u64::from(longest + 1 - *length);
            sum
        });
        Some(weights.collect())
    }
}

impl StickyPartitioner {
    /// Switches after `batch_size` bytes.
    pub fn new(batch_size: i64) -> Self {
        Self {
            batch_size: u64::try_from(batch_size).unwrap_or_default().max(1),
            current: BTreeMap::new(),
        }
    }

    /// The partition of `topic` that it stays on; unset when the next one has to be chosen.
    pub fn current(&self, topic: TopicId) -> Option<u32> {
        self.current.get(&topic).map(|sticky| sticky.partition)
    }

    /// Stays on `partition` from now on.
    pub fn choose(&mut self, topic: TopicId, partition: u32) {
        self.current.insert(
            topic,
            Sticky {
                partition,
                bytes: 0,
            },
        );
    }

    /// Notes that the current partition got `bytes` more. It is left once it has had a batch's worth
    /// and its last batch is complete, and at twice that in any case.
    ///
    /// # Source
    /// `BuiltInPartitioner.updatePartitionInfo`.
    pub fn on_append(&mut self, topic: TopicId, bytes: u32, is_last_complete: bool) {
        let Some(sticky) = self.current.get_mut(&topic) else {
            return;
        };
        sticky.bytes += u64::from(bytes);
        let is_due = self.batch_size <= sticky.bytes && is_last_complete;
        if is_due || self.batch_size.saturating_mul(2) <= sticky.bytes {
            self.current.remove(&topic);
        }
    }
}

#[cfg(test)]
mod tests {
    #[cfg(target_arch = "wasm32")]
    use wasm_bindgen_test::wasm_bindgen_test as test;

    use super::{Choices, StickyPartitioner, murmur2, partition_for_key};
    use crate::base::ids::TopicId;

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
            assert_eq!(signed, hash, "J1: murmur2 of {key:?}");
            let partitions = [3, 6, 12].map(|count| partition_for_key(key.as_bytes(), count));
            assert_eq!(partitions, [three, six, twelve], "partitions of {key:?}");
        }
        let long = murmur2(b"lkjh234lh9fiuh90y23oiuhsafujhadof229phr9h19h89h8");
        assert_eq!(
            i32::from_le_bytes(long.to_le_bytes()),
            -58_897_971,
            "J1: UtilsTest.testMurmur2"
        );
    }

    const TOPIC: TopicId = TopicId(0);

    #[test]
    fn it_stays_for_a_batch_of_bytes_j2_a7() {
        let mut sticky = StickyPartitioner::new(3);
        sticky.choose(TOPIC, 1);
        for bytes in [1, 2] {
            sticky.on_append(TOPIC, 1, true);
            assert_eq!(sticky.current(TOPIC), Some(1), "J2: after {bytes} bytes");
        }
        sticky.on_append(TOPIC, 1, true);
        assert_eq!(sticky.current(TOPIC), None, "J2: after 3 bytes");
        sticky.choose(TOPIC, 2);
        for bytes in [3, 5] {
            sticky.on_append(TOPIC, if bytes == 3 { 3 } else { 2 }, false);
            assert_eq!(
                sticky.current(TOPIC),
                Some(2),
                "A7: the last batch has room, {bytes}"
            );
        }
        sticky.on_append(TOPIC, 0, true);
        assert_eq!(
            sticky.current(TOPIC),
            None,
            "A7: looked at again, and it is full"
        );
        sticky.choose(TOPIC, 0);
        sticky.on_append(TOPIC, 6, false);
        assert_eq!(
            sticky.current(TOPIC),
            None,
            "A7: twice the size in any case"
        );
    }

    #[test]
    fn partitions_without_a_leader_are_left_out_j3_j4() {
        let mut choices = Choices {
            count: 3,
            available: vec![0, 2],
            queues: None,
        };
        for random in 0..100 {
            assert_ne!(choices.pick(random), 1, "J3: 1 has no leader");
        }
        choices.available.clear();
        for random in 0..100 {
            assert!(choices.pick(random) < 3, "J4: one of them all the same");
        }
    }

    #[test]
    fn shorter_queues_get_more_j5_a7() {
        let of = |lengths: &[u32], count| {
            let queues = (0..).zip(lengths.iter().copied()).collect();
            Choices {
                count,
                available: Vec::new(),
                queues: Some(queues),
            }
        };
        let choices = of(&[5, 0, 3, 0, 1], 5);
        let mut frequencies = [0; 5];
        for random in 0..21 {
            let index = usize::try_from(choices.pick(random)).expect("small");
            frequencies[index] += 1;
        }
        assert_eq!(frequencies, [1, 6, 3, 6, 5], "J5");
        assert_eq!(
            of(&[0, 3, 1], 3).weights(),
            Some(vec![4, 5, 8]),
            "J5: cumulative"
        );
        assert_eq!(
            of(&[2, 2, 2], 3).weights(),
            None,
            "equal queues say nothing"
        );
        let without_one = of(&[2, 2], 3).weights();
        assert_eq!(
            without_one,
            Some(vec![1, 2]),
            "A7: equal, but one is left out"
        );
        assert_eq!(of(&[2], 1).weights(), None, "there is only one");
    }
}
