//! Randomness: one seed, named streams.

use super::digest::Digest;
use rand_core::{Rng as _, SeedableRng as _};
use rand_pcg::Pcg32;
use serde::{Deserialize, Serialize};

/// A generator that gives the same values on every platform.
///
/// Each purpose has its own stream, so a new draw in one place shifts no other.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Stream(Pcg32);

/// A probability as a fraction, so that no float enters the simulation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Ratio {
    /// How many out of `denominator` times; never larger than it.
    pub numerator: u32,
    /// Zero stands for "never".
    pub denominator: u32,
}

impl Ratio {
    /// Never.
    pub const NEVER: Self = Self {
        numerator: 0,
        denominator: 1,
    };

    /// `per_million` out of a million times.
    pub const fn per_million(per_million: u32) -> Self {
        Self {
            numerator: per_million,
            denominator: 1_000_000,
        }
    }
}

impl Stream {
    /// The stream called `name` of the run with this seed.
    pub fn new(seed: u64, name: &str) -> Self {
        let mut digest = Digest::new();
        digest.fold(&seed);
        digest.fold(name);
        Self(Pcg32::seed_from_u64(digest.value()))
    }

    /// A number in `0..bound`, uniform; zero when `bound` is zero.
    pub fn below(&mut self, bound: u64) -> u64 {
        if bound == 0 {
            return 0;
        }
        // Rejection keeps it uniform; the zone is the largest multiple of `bound`.
        let zone = u64::MAX - u64::MAX % bound;
        loop {
            let draw = self.0.next_u64();
            if draw < zone {
                return draw % bound;
            }
        }
    }

    /// A number in `low..=high`, uniform; `low` when the bounds are crossed.
    pub fn between(&mut self, low: u64, high: u64) -> u64 {
        low + self.below(high.saturating_sub(low).saturating_add(1))
    }

    /// True with probability `ratio`.
    pub fn chance(&mut self, ratio: Ratio) -> bool {
        ratio.numerator != 0
            && self.below(u64::from(ratio.denominator)) < u64::from(ratio.numerator)
    }

    /// An exponentially distributed span of mean `mean_us`, by an integer table of quantiles.
    pub fn exponential(&mut self, mean_us: u64) -> u64 {
        let index = usize::try_from(self.below(16)).unwrap_or_default();
        let permille = EXPONENTIAL_PERMILLE.get(index).copied().unwrap_or(1_000);
        let next = EXPONENTIAL_PERMILLE
            .get(index + 1)
            .copied()
            .unwrap_or(permille);
        let point = self.between(permille, next);
        mean_us.saturating_mul(point) / 1_000
    }
}

/// Quantiles 0/16 to 16/16 of the exponential distribution, in thousandths of its mean, scaled
/// so that the piecewise-linear draw has the mean it is asked for.
const EXPONENTIAL_PERMILLE: [u64; 17] = [
    0, 64, 132, 205, 284, 370, 465, 569, 685, 815, 963, 1_135, 1_341, 1_592, 1_932, 2_500, 4_900,
];

#[cfg(test)]
mod tests {
    #[cfg(target_arch = "wasm32")]
    use wasm_bindgen_test::wasm_bindgen_test as test;

    use super::{Ratio, Stream};

    #[test]
    fn streams_have_golden_values_and_do_not_disturb_each_other() {
        let mut network = Stream::new(7, "network");
        let mut election = Stream::new(7, "election");
        let drawn: Vec<u64> = (0..4).map(|_| network.below(1_000_000)).collect();
        let other: Vec<u64> = (0..4).map(|_| election.below(1_000_000)).collect();
        assert_eq!(drawn, GOLDEN_NETWORK, "the generator must not change");
        assert_eq!(other, GOLDEN_ELECTION, "streams are separate");
    }

    #[test]
    fn draws_stay_in_their_bounds_and_chances_are_near_their_ratio() {
        let mut stream = Stream::new(1, "bounds");
        assert!(
            (0..1_000).all(|_| (3..=9).contains(&stream.between(3, 9))),
            "within bounds"
        );
        assert_eq!(stream.below(0), 0, "an empty range gives zero");
        let hits = (0..100_000)
            .filter(|_| stream.chance(Ratio::per_million(250_000)))
            .count();
        assert!(
            (24_000..26_000).contains(&hits),
            "a quarter of 100,000, got {hits}"
        );
        let sum: u64 = (0..100_000).map(|_| stream.exponential(1_000)).sum();
        assert!(
            (95_000_000..105_000_000).contains(&sum),
            "mean 1,000, got {}",
            sum / 100_000
        );
    }

    const GOLDEN_NETWORK: [u64; 4] = [914_536, 957_887, 980_757, 627_743];
    const GOLDEN_ELECTION: [u64; 4] = [792_842, 21_880, 981_564, 521_380];
}
