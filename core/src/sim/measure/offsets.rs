//! Which offsets of a partition are done.

use crate::base::ids::Offset;
use std::collections::BTreeMap;

/// A set of offsets as ranges, from where a group began to read.
///
/// Invariant: ranges neither overlap nor touch.
#[derive(Clone, Debug)]
pub(super) struct OffsetRanges {
    start: Offset,
    /// First offset of each range, and the offset after its last.
    ranges: BTreeMap<Offset, Offset>,
}

impl OffsetRanges {
    /// No offset yet; those before `start` do not count.
    pub(super) fn starting_at(start: Offset) -> Self {
        Self {
            start,
            ranges: BTreeMap::new(),
        }
    }

    /// Where the group began.
    pub(super) const fn start(&self) -> Offset {
        self.start
    }

    /// Adds an offset.
    pub(super) fn insert(&mut self, offset: Offset) {
        let before = self
            .ranges
            .range(..=offset)
            .next_back()
            .map(|(from, to)| (*from, *to));
        let (from, mut to) = match before {
            Some((_, to)) if offset < to => return,
            Some((from, to)) if to == offset => (from, offset + 1),
            Some(_) | None => (offset, offset + 1),
        };
        if let Some(next) = self.ranges.remove(&to) {
            to = next;
        }
        self.ranges.insert(from, to);
    }

    /// How many offsets from the start up to `end` are not in the set.
    pub(super) fn missing_below(&self, end: Offset) -> i64 {
        let done: i64 = self
            .ranges
            .iter()
            .map(|(from, to)| ((*to).min(end) - (*from).max(self.start)).max(0))
            .sum();
        ((end - self.start).max(0) - done).max(0)
    }
}

#[cfg(test)]
mod tests {
    #[cfg(target_arch = "wasm32")]
    use wasm_bindgen_test::wasm_bindgen_test as test;

    use super::OffsetRanges;
    use crate::base::ids::Offset;

    #[test]
    fn ranges_join_whatever_the_order() {
        let orders: [&[i64]; 4] = [
            &[5, 6, 7, 9],
            &[9, 7, 6, 5],
            &[6, 5, 9, 7, 6],
            &[7, 9, 5, 6, 5],
        ];
        for order in orders {
            let mut ranges = OffsetRanges::starting_at(Offset(5));
            for offset in order {
                ranges.insert(Offset(*offset));
            }
            assert_eq!(
                ranges.ranges.len(),
                2,
                "{order:?} gives two ranges: {ranges:?}"
            );
            assert_eq!(ranges.missing_below(Offset(8)), 0, "5 to 7 are done");
            assert_eq!(ranges.missing_below(Offset(10)), 1, "8 is missing");
            assert_eq!(
                ranges.missing_below(Offset(12)),
                3,
                "8, 10 and 11 are missing"
            );
            assert_eq!(
                ranges.missing_below(Offset(2)),
                0,
                "nothing counts before the start"
            );
        }
    }
}
