//! Where the replicas of a new topic go.

use crate::base::ids::BrokerId;
use crate::kernel::rng::Stream;
use crate::wire::metadata::MetadataImage;
use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

/// Spreads replicas over racks and brokers (`StripedReplicaPlacer`, KIP-631).
///
/// Made anew for each topic, as in Kafka.
#[derive(Clone, Debug)]
pub struct StripedReplicaPlacer {
    racks: Vec<Rack>,
    /// Placements since the last shuffle.
    epoch: u32,
    rack_offset: usize,
    broker_count: u32,
    unfenced_count: u32,
}

#[derive(Clone, Debug)]
struct Rack {
    fenced: BrokerList,
    unfenced: BrokerList,
}

#[derive(Clone, Debug)]
struct BrokerList {
    brokers: Vec<BrokerId>,
    epoch: u32,
    index: usize,
    offset: usize,
}

/// Why replicas cannot be placed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PlacementError {
    /// No replicas were asked for.
    NotPositive,
    /// There are fewer brokers than replicas.
    TooFewBrokers {
        /// Replicas asked for.
        wanted: u32,
        /// Brokers registered.
        registered: u32,
    },
    /// Nobody could lead.
    AllFenced,
}

impl fmt::Display for PlacementError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotPositive => write!(
                formatter,
                "Invalid replication factor 0: the replication factor must be positive."
            ),
            Self::TooFewBrokers { wanted, registered } => write!(
                formatter,
                "The target replication factor of {wanted} cannot be reached because only \
                 {registered} broker(s) are registered."
            ),
            Self::AllFenced => write!(formatter, "All brokers are currently fenced."),
        }
    }
}

/// The brokers of a rack: the fenced and the unfenced.
type RackBrokers = (Vec<BrokerId>, Vec<BrokerId>);

/// Where the placer's random numbers come from.
pub trait Draw {
    /// A number in `0..bound`; `bound` is not zero.
    fn draw(&mut self, bound: u64) -> u64;
}

impl Draw for Stream {
    fn draw(&mut self, bound: u64) -> u64 {
        self.below(bound)
    }
}

impl BrokerList {
    fn new(brokers: Vec<BrokerId>, stream: &mut impl Draw) -> Self {
        let offset = draw(stream, brokers.len());
        Self {
            brokers,
            epoch: 0,
            index: 0,
            offset,
        }
    }

    fn next(&mut self, epoch: u32) -> Option<BrokerId> {
        if self.brokers.is_empty() {
            return None;
        }
        if self.epoch != epoch {
            self.epoch = epoch;
            self.index = 0;
            self.offset = (self.offset + 1) % self.brokers.len();
        }
        if self.brokers.len() <= self.index {
            return None;
        }
        let chosen = self
            .brokers
            .get((self.index + self.offset) % self.brokers.len());
        self.index += 1;
        chosen.copied()
    }
}

impl StripedReplicaPlacer {
    /// A placer over the brokers that are registered and not leaving.
    pub fn new(image: &MetadataImage, stream: &mut impl Draw) -> Self {
        let mut by_rack: BTreeMap<Option<Arc<str>>, RackBrokers> = BTreeMap::new();
        for (id, broker) in &image.brokers {
            if broker.in_controlled_shutdown {
                continue;
            }
            let (fenced, unfenced) = by_rack.entry(broker.rack.clone()).or_default();
            if broker.fenced {
                fenced.push(*id);
            } else {
                unfenced.push(*id);
            }
        }
        let count = |lists: fn(&RackBrokers) -> usize| {
            u32::try_from(by_rack.values().map(lists).sum::<usize>()).unwrap_or(u32::MAX)
        };
        let broker_count = count(|(fenced, unfenced)| fenced.len() + unfenced.len());
        let unfenced_count = count(|(_, unfenced)| unfenced.len());
        let racks: Vec<Rack> = by_rack
            .into_values()
            .map(|(fenced, unfenced)| Rack {
                fenced: BrokerList::new(fenced, stream),
                unfenced: BrokerList::new(unfenced, stream),
            })
            .collect();
        let rack_offset = draw(stream, racks.len());
        Self {
            racks,
            epoch: 0,
            rack_offset,
            broker_count,
            unfenced_count,
        }
    }

    /// Brokers that can hold a replica.
    pub const fn usable_count(&self) -> u32 {
        self.broker_count
    }

    /// The replicas of the next partition; the first is unfenced.
    ///
    /// # Errors
    /// There are too few brokers, or all are fenced.
    pub fn place(
        &mut self,
        replication_factor: u32,
        stream: &mut impl Draw,
    ) -> Result<Vec<BrokerId>, PlacementError> {
        if replication_factor == 0 {
            return Err(PlacementError::NotPositive);
        }
        if self.broker_count < replication_factor {
            return Err(PlacementError::TooFewBrokers {
                wanted: replication_factor,
                registered: self.broker_count,
            });
        }
        if self.unfenced_count == 0 {
            return Err(PlacementError::AllFenced);
        }
        if self.epoch == self.unfenced_count && 1 < self.unfenced_count {
            self.shuffle(stream);
        }
        if self.rack_offset == self.racks.len() {
            self.rack_offset = 0;
        }
        let mut replicas = Vec::new();
        let mut leader_rack = self.rack_offset;
        while replicas.is_empty() {
            if let Some(rack) = self.racks.get_mut(leader_rack)
                && let Some(leader) = rack.unfenced.next(self.epoch)
            {
                replicas.push(leader);
            } else {
                leader_rack = (leader_rack + 1) % self.racks.len();
            }
        }
        let mut skip_leader_rack = true;
        let mut current = self.rack_offset;
        let wanted = usize::try_from(replication_factor).unwrap_or(usize::MAX);
        while replicas.len() < wanted {
            if skip_leader_rack && current == leader_rack {
                skip_leader_rack = false;
            } else if let Some(rack) = self.racks.get_mut(current)
                && let Some(id) = rack
                    .unfenced
                    .next(self.epoch)
                    .or_else(|| rack.fenced.next(self.epoch))
            {
                replicas.push(id);
            }
            current = (current + 1) % self.racks.len();
        }
        self.epoch += 1;
        self.rack_offset += 1;
        Ok(replicas)
    }

    fn shuffle(&mut self, stream: &mut impl Draw) {
        shuffle(&mut self.racks, stream);
        for rack in &mut self.racks {
            for list in [&mut rack.fenced, &mut rack.unfenced] {
                shuffle(&mut list.brokers, stream);
            }
        }
        self.epoch = 0;
    }
}

fn draw(stream: &mut impl Draw, bound: usize) -> usize {
    let bound = u64::try_from(bound).unwrap_or(u64::MAX);
    if bound == 0 {
        0
    } else {
        usize::try_from(stream.draw(bound)).unwrap_or_default()
    }
}

fn shuffle<T>(items: &mut [T], stream: &mut impl Draw) {
    for end in (2..=items.len()).rev() {
        let other = draw(stream, end);
        items.swap(end - 1, other);
    }
}

#[cfg(test)]
mod tests {
    #[cfg(target_arch = "wasm32")]
    use wasm_bindgen_test::wasm_bindgen_test as test;

    use super::{Draw, PlacementError, StripedReplicaPlacer};
    use crate::base::ids::BrokerId;
    use crate::kernel::rng::Stream;
    use crate::wire::metadata::{MetadataImage, MetadataRecord};
    use std::collections::BTreeMap;
    use std::sync::Arc;

    fn image(brokers: &[(u32, &str, bool)]) -> MetadataImage {
        let mut image = MetadataImage::default();
        for (id, rack, fenced) in brokers {
            let broker_epoch = image.next_offset;
            image.replay(&MetadataRecord::RegisterBroker {
                broker_id: BrokerId(*id),
                broker_epoch,
                incarnation_id: 1,
                rack: (!rack.is_empty()).then(|| Arc::from(*rack)),
            });
            image.replay(&MetadataRecord::BrokerRegistrationChange {
                broker_id: BrokerId(*id),
                broker_epoch,
                fenced: *fenced,
                in_controlled_shutdown: false,
            });
        }
        image
    }

    /// The generator of Kafka's own placement tests.
    struct MockRandom(u64);

    impl Draw for MockRandom {
        fn draw(&mut self, bound: u64) -> u64 {
            loop {
                self.0 = self
                    .0
                    .wrapping_mul(2_862_933_555_777_941_757)
                    .wrapping_add(3_037_000_493);
                let bits = self.0 >> 33;
                if bound.is_power_of_two() {
                    return (bound * bits) >> 31;
                }
                let drawn = bits % bound;
                if bits - drawn + (bound - 1) < 1 << 31 {
                    return drawn;
                }
            }
        }
    }

    fn placed(brokers: &[(u32, &str, bool)], count: usize, factor: u32) -> Vec<Vec<u32>> {
        let image = image(brokers);
        let mut random = MockRandom(17);
        let mut placer = StripedReplicaPlacer::new(&image, &mut random);
        (0..count)
            .map(|_| {
                let replicas = placer
                    .place(factor, &mut random)
                    .expect("there are enough brokers");
                replicas.iter().map(|id| id.0).collect()
            })
            .collect()
    }

    #[test]
    fn placement_is_kafkas_f1_to_f6() {
        let four = [
            (0, "", false),
            (1, "", false),
            (2, "", false),
            (3, "", false),
        ];
        assert_eq!(
            placed(&four, 5, 3),
            [[2, 3, 0], [3, 0, 1], [0, 1, 2], [1, 2, 3], [1, 0, 2]],
            "F1"
        );
        assert_eq!(
            placed(&[(3, "", false), (1, "", true), (2, "", false)], 4, 3),
            [[3, 2, 1], [2, 3, 1], [3, 2, 1], [2, 3, 1]],
            "F2"
        );
        let three_racks = [
            (10, "1", false),
            (11, "1", false),
            (20, "2", true),
            (21, "2", false),
            (30, "3", false),
            (31, "3", false),
        ];
        assert_eq!(
            placed(&three_racks, 3, 4),
            [[11, 21, 31, 10], [21, 30, 10, 20], [31, 11, 21, 30]],
            "F3"
        );
        let bad_racks = [
            (10, "1", false),
            (11, "1", false),
            (20, "2", true),
            (21, "2", true),
            (30, "3", true),
            (31, "3", true),
            (40, "4", true),
            (41, "4", false),
        ];
        assert_eq!(
            placed(&bad_racks, 3, 4),
            [[41, 11, 21, 30], [10, 20, 31, 41], [41, 21, 30, 11]],
            "F4"
        );
        assert_eq!(
            placed(&[(0, "", false), (1, "", true)], 3, 1),
            [[0], [0], [0]],
            "F5"
        );
        let mut pairs: BTreeMap<Vec<u32>, u32> = BTreeMap::new();
        for pair in placed(&four, 200, 2) {
            *pairs.entry(pair).or_default() += 1;
        }
        let counts: Vec<u32> = pairs.into_values().collect();
        assert_eq!(
            counts,
            [14, 22, 14, 17, 17, 16, 13, 17, 20, 20, 19, 11],
            "F6"
        );
    }

    #[test]
    fn impossible_factors_are_refused_in_kafkas_words_f7() {
        let image = image(&[(1, "", false), (2, "", true)]);
        let mut stream = Stream::new(1, "placement");
        let mut placer = StripedReplicaPlacer::new(&image, &mut stream);
        let error = placer.place(3, &mut stream).expect_err("too many");
        assert_eq!(
            error.to_string(),
            "The target replication factor of 3 cannot be reached because only 2 broker(s) are \
             registered.",
            "too few brokers"
        );
        assert_eq!(
            placer.place(0, &mut stream),
            Err(PlacementError::NotPositive),
            "zero"
        );
        let replicas = placer
            .place(2, &mut stream)
            .expect("a fenced broker may follow");
        assert_eq!(
            replicas,
            [BrokerId(1), BrokerId(2)],
            "the unfenced broker leads"
        );
    }
}
