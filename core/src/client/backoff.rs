//! How long to wait before the next try.

use crate::kernel::rng::Stream;
use crate::kernel::time::Span;
use serde::Serialize;

/// Exponential back-off with jitter (KIP-580).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Backoff {
    /// Before the first retry, in milliseconds.
    pub first_ms: i64,
    /// The longest, in milliseconds.
    pub max_ms: i64,
}

impl Backoff {
    /// The wait after `failures` failures in a row (at least one): doubling, plus or minus a fifth,
    /// but never nothing.
    pub fn after(self, failures: u32, stream: &mut Stream) -> Span {
        let doubled = Span::from_millis(self.first_ms)
            .times(1 << failures.saturating_sub(1).min(20))
            .min(Span::from_millis(self.max_ms.max(self.first_ms)));
        let fifth = doubled.0 / 5;
        Span(stream.between(doubled.0 - fifth, doubled.0 + fifth)).max(SHORTEST)
    }
}

/// A client that waits for nothing still goes once around its loop; without this a setting of zero
/// would try again within one instant for ever.
pub const SHORTEST: Span = Span(1_000);

#[cfg(test)]
mod tests {
    #[cfg(target_arch = "wasm32")]
    use wasm_bindgen_test::wasm_bindgen_test as test;

    use super::Backoff;
    use crate::kernel::rng::Stream;

    #[test]
    fn it_doubles_up_to_its_bound_within_a_fifth() {
        let backoff = Backoff {
            first_ms: 100,
            max_ms: 1_000,
        };
        let mut stream = Stream::new(1, "backoff");
        for (failures, millis) in [
            (1, 100),
            (2, 200),
            (3, 400),
            (4, 800),
            (5, 1_000),
            (90, 1_000),
        ] {
            for _ in 0..50 {
                let wait = backoff.after(failures, &mut stream).0;
                let range = millis * 800..=millis * 1_200;
                assert!(range.contains(&wait), "{failures} failures: {wait} us");
            }
        }
    }
}
