//! The network: when a message arrives, if it does.

use super::rng::{Ratio, Stream};
use super::time::{SimTime, Span};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};

/// How one direction of a link behaves.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct LinkConfig {
    /// Shortest time from one end to the other, in microseconds.
    pub latency_us: u64,
    /// Added to the latency: uniform in `0..=jitter_us`, in microseconds.
    pub jitter_us: u64,
    /// How often a segment is lost. The sender's TCP sends it again after `RETRANSMIT`, doubling.
    pub loss: Ratio,
}

impl Default for LinkConfig {
    fn default() -> Self {
        Self {
            latency_us: 500,
            jitter_us: 500,
            loss: Ratio::NEVER,
        }
    }
}

/// What becomes of a message that is put on the wire.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    /// It arrives at this instant.
    Arrives(SimTime),
    /// The link is cut: it waits in the sender's socket until the link heals or the connection
    /// is closed.
    Stalls,
}

/// Links between nodes of type `N`, each with its own behaviour, FIFO in each direction.
///
/// Invariant: two messages of one direction never arrive in another order than they were sent.
#[derive(Clone, Debug, Serialize)]
pub struct Network<N: Ord> {
    default_link: LinkConfig,
    #[serde(skip)]
    links: BTreeMap<(N, N), LinkConfig>,
    #[serde(skip)]
    cut: BTreeSet<(N, N)>,
    #[serde(skip)]
    last_arrival: BTreeMap<(N, N), SimTime>,
    stream: Stream,
}

impl<N: Ord + Copy> Network<N> {
    /// A network in which every link behaves as `default_link`.
    pub fn new(default_link: LinkConfig, seed: u64) -> Self {
        Self {
            default_link,
            links: BTreeMap::new(),
            cut: BTreeSet::new(),
            last_arrival: BTreeMap::new(),
            stream: Stream::new(seed, "network"),
        }
    }

    /// Gives the direction `from` to `to` its own behaviour.
    pub fn set_link(&mut self, from: N, to: N, config: LinkConfig) {
        self.links.insert((from, to), config);
    }

    /// The behaviour of the direction `from` to `to`.
    pub fn link(&self, from: N, to: N) -> LinkConfig {
        self.links
            .get(&(from, to))
            .copied()
            .unwrap_or(self.default_link)
    }

    /// Cuts or heals the direction `from` to `to`.
    pub fn set_cut(&mut self, from: N, to: N, is_cut: bool) {
        if is_cut {
            self.cut.insert((from, to));
        } else {
            self.cut.remove(&(from, to));
        }
    }

    /// Whether the direction `from` to `to` is cut.
    pub fn is_cut(&self, from: N, to: N) -> bool {
        self.cut.contains(&(from, to))
    }

    /// The directions that are cut now.
    pub fn cut_links(&self) -> impl Iterator<Item = (N, N)> + '_ {
        self.cut.iter().copied()
    }

    /// Puts a message on the wire at `now`.
    pub fn send(&mut self, now: SimTime, from: N, to: N) -> Fate {
        if from == to {
            return Fate::Arrives(now + LOOPBACK);
        }
        if self.is_cut(from, to) {
            return Fate::Stalls;
        }
        let config = self.link(from, to);
        let mut travel = config.latency_us;
        if config.jitter_us != 0 {
            travel = travel.saturating_add(self.stream.between(0, config.jitter_us));
        }
        let mut retransmit = RETRANSMIT.0;
        for _ in 0..RETRANSMITS_MAX {
            if !self.stream.chance(config.loss) {
                break;
            }
            travel = travel.saturating_add(retransmit);
            retransmit = retransmit.saturating_mul(2);
        }
        let last = self.last_arrival.entry((from, to)).or_insert(SimTime::ZERO);
        let arrival = (now + Span(travel)).max(*last);
        *last = arrival;
        Fate::Arrives(arrival)
    }
}

/// A message of a node to itself, which passes no link.
const LOOPBACK: Span = Span(50);
/// First retransmission of a lost segment (the usual minimum of Linux).
const RETRANSMIT: Span = Span(200_000);
/// After so many losses in a row the next copy gets through.
const RETRANSMITS_MAX: u32 = 8;

#[cfg(test)]
mod tests {
    #[cfg(target_arch = "wasm32")]
    use wasm_bindgen_test::wasm_bindgen_test as test;

    use super::{Fate, LinkConfig, Network};
    use crate::kernel::rng::Ratio;
    use crate::kernel::time::SimTime;

    #[test]
    fn messages_of_one_direction_keep_their_order() {
        let link = LinkConfig {
            latency_us: 100,
            jitter_us: 5_000,
            loss: Ratio::per_million(300_000),
        };
        let mut network = Network::new(link, 3);
        let mut previous = SimTime::ZERO;
        for step in 0..1_000 {
            match network.send(SimTime(step * 10), 1_u8, 2_u8) {
                Fate::Arrives(at) => {
                    assert!(previous <= at, "{at} overtakes {previous}");
                    assert!(SimTime(step * 10 + 100) <= at, "faster than the link");
                    previous = at;
                }
                Fate::Stalls => panic!("no link is cut"),
            }
        }
    }

    #[test]
    fn a_cut_stalls_one_direction_alone() {
        let mut network = Network::new(LinkConfig::default(), 3);
        network.set_cut(1_u8, 2_u8, true);
        assert_eq!(network.send(SimTime(0), 1, 2), Fate::Stalls, "cut");
        assert!(
            matches!(network.send(SimTime(0), 2, 1), Fate::Arrives(_)),
            "the way back is open"
        );
        network.set_cut(1, 2, false);
        assert!(
            matches!(network.send(SimTime(0), 1, 2), Fate::Arrives(_)),
            "healed"
        );
    }
}
