//! Draws for tests, the same on every machine.

use terrarium_core::kernel::rng::Stream;

/// A seeded source of choices.
#[derive(Clone, Debug)]
pub struct Dice(Stream);

impl Dice {
    /// The draws that `seed` gives for `purpose`.
    pub fn new(seed: u64, purpose: &str) -> Self {
        Self(Stream::new(seed, purpose))
    }

    /// A number below `count`.
    ///
    /// # Panics
    /// `count` does not fit.
    pub fn below(&mut self, count: u32) -> u32 {
        u32::try_from(self.0.below(u64::from(count))).expect("it is below a u32")
    }

    /// A number from `low` to `high`, both included.
    pub fn between(&mut self, low: u64, high: u64) -> u64 {
        self.0.between(low, high)
    }

    /// True once in `count` times.
    pub fn one_in(&mut self, count: u32) -> bool {
        self.below(count) == 0
    }

    /// One of `choices`.
    ///
    /// # Panics
    /// There is nothing to choose from.
    pub fn of<T: Copy>(&mut self, choices: &[T]) -> T {
        let count = u32::try_from(choices.len()).expect("a short list");
        let index = usize::try_from(self.below(count)).expect("a short list");
        *choices.get(index).expect("a list with something in it")
    }
}
