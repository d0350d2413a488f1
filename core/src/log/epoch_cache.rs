//! Which leader epoch begins at which offset.

use crate::base::ids::Offset;
use serde::Serialize;

/// Start offsets of leader epochs, ascending in both (`LeaderEpochFileCache`, KIP-101).
///
/// Invariant: epochs and start offsets both rise strictly.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct EpochCache {
    pub(super) entries: Vec<(i32, Offset)>,
}

impl EpochCache {
    /// The entries: epoch and its first offset.
    pub fn entries(&self) -> &[(i32, Offset)] {
        &self.entries
    }

    /// The latest epoch; -1 when there is none.
    pub fn latest_epoch(&self) -> i32 {
        self.entries.last().map_or(-1, |(epoch, _)| *epoch)
    }

    /// Notes that `epoch` starts at `start`, and forgets what contradicts it.
    pub fn assign(&mut self, epoch: i32, start: Offset) {
        if let Some((latest, latest_start)) = self.entries.last()
            && *latest == epoch
            && *latest_start <= start
        {
            return;
        }
        while let Some((last_epoch, last_start)) = self.entries.last() {
            if *last_epoch < epoch && *last_start < start {
                break;
            }
            self.entries.pop();
        }
        self.entries.push((epoch, start));
    }

    /// The end offset of `epoch`, or of the largest epoch below it that is known; -1 and -1 when
    /// that cannot be said.
    pub fn end_offset_for(&self, epoch: i32, log_end_offset: Offset) -> (i32, Offset) {
        const UNDEFINED: (i32, Offset) = (-1, Offset::UNKNOWN);
        if epoch == -1 {
            return UNDEFINED;
        }
        if epoch == self.latest_epoch() {
            return (epoch, log_end_offset);
        }
        let Some((_, next_start)) = self.entries.iter().find(|(other, _)| epoch < *other) else {
            return UNDEFINED;
        };
        let floor = self.entries.iter().rev().find(|(other, _)| *other <= epoch);
        // Without a lower entry Kafka answers with the epoch that was asked for.
        (floor.map_or(epoch, |(found, _)| *found), *next_start)
    }

    /// Forgets every epoch that starts at `end` or later.
    pub fn truncate_from_end(&mut self, end: Offset) {
        self.entries.retain(|(_, start)| *start < end);
    }

    /// Forgets what lies before `start`; the epoch that holds it begins there from now on.
    pub fn truncate_from_start(&mut self, start: Offset) {
        let before = self
            .entries
            .iter()
            .filter(|(_, first)| *first <= start)
            .count();
        if let Some(holding) = before.checked_sub(1) {
            self.entries.drain(..holding);
            if let Some((_, first)) = self.entries.first_mut() {
                *first = start;
            }
        }
    }

    /// Forgets everything.
    pub fn clear(&mut self) {
        self.entries.clear();
    }
}

#[cfg(test)]
mod tests {
    #[cfg(target_arch = "wasm32")]
    use wasm_bindgen_test::wasm_bindgen_test as test;

    use super::EpochCache;
    use crate::base::ids::Offset;

    /// Id, entries, epoch asked for, log end offset, expected answer.
    type EndOffsetRow<'a> = (&'a str, &'a [(i32, i64)], i32, i64, (i32, i64));
    /// Id, new start, expected entries.
    type TruncationRow<'a> = (&'a str, i64, &'a [(i32, i64)]);

    fn cache(entries: &[(i32, i64)]) -> EpochCache {
        EpochCache {
            entries: entries.iter().map(|(e, o)| (*e, Offset(*o))).collect(),
        }
    }

    fn assigned(before: &[(i32, i64)], epoch: i32, start: i64) -> EpochCache {
        let mut cache = cache(before);
        cache.assign(epoch, Offset(start));
        cache
    }

    #[test]
    fn assigning_an_epoch_a2_a4_a5_a6_a8() {
        assert_eq!(assigned(&[(2, 11)], 2, 12), cache(&[(2, 11)]), "A2");
        assert_eq!(assigned(&[(2, 9)], 3, 9), cache(&[(3, 9)]), "A4");
        assert_eq!(assigned(&[(2, 6)], 3, 5), cache(&[(3, 5)]), "A5");
        assert_eq!(assigned(&[(1, 5), (2, 6)], 1, 7), cache(&[(1, 7)]), "A6");
        let eighth = assigned(&[(5, 11), (6, 12), (7, 13)], 7, 12);
        assert_eq!(eighth, cache(&[(5, 11), (7, 12)]), "A8");
        assert_eq!(eighth.end_offset_for(5, Offset(14)), (5, Offset(12)), "A8");
        assert_eq!(eighth.end_offset_for(6, Offset(14)), (5, Offset(12)), "A8");
    }

    #[test]
    fn end_offsets_a1_to_a3_a7_a9_to_a12() {
        let rows: &[EndOffsetRow<'_>] = &[
            ("A1", &[], 0, 0, (-1, -1)),
            ("A2", &[(2, 11)], 2, 14, (2, 14)),
            ("A3", &[(2, 11), (3, 12)], -1, 0, (-1, -1)),
            ("A6", &[(1, 7)], 1, 8, (1, 8)),
            ("A6", &[(1, 7)], 2, 8, (-1, -1)),
            ("A7", &[(5, 11), (6, 12), (7, 13)], 4, 0, (4, 11)),
            ("A9", &[(0, 10), (2, 13), (4, 17)], 1, 20, (0, 13)),
            ("A9", &[(0, 10), (2, 13), (4, 17)], 2, 20, (2, 17)),
            ("A9", &[(0, 10), (2, 13), (4, 17)], 3, 20, (2, 17)),
            ("A10", &[(2, 100)], 3, 100, (-1, -1)),
            ("A11", &[(1, 11), (2, 13), (3, 15)], 2, 17, (2, 15)),
            ("A12", &[(1, 0)], 1, 0, (1, 0)),
            ("A12", &[(1, 0)], 0, 0, (0, 0)),
        ];
        for (id, entries, epoch, log_end, (expected_epoch, expected_end)) in rows {
            assert_eq!(
                cache(entries).end_offset_for(*epoch, Offset(*log_end)),
                (*expected_epoch, Offset(*expected_end)),
                "{id}: end of epoch {epoch} in {entries:?}"
            );
        }
    }

    #[test]
    fn truncation_a13_to_a15() {
        let base = [(2, 6), (3, 8), (4, 11)];
        let mut end = cache(&base);
        end.truncate_from_end(Offset(8));
        assert_eq!(end, cache(&[(2, 6)]), "A13");
        let rows: &[TruncationRow<'_>] = &[
            ("A14", 8, &[(3, 8), (4, 11)]),
            ("A14", 9, &[(3, 9), (4, 11)]),
            ("A15", 1, &[(2, 6), (3, 8), (4, 11)]),
            ("A15", 6, &[(2, 6), (3, 8), (4, 11)]),
            ("A15", 11, &[(4, 11)]),
            ("A15", 15, &[(4, 15)]),
        ];
        for (id, start, expected) in rows {
            let mut cut = cache(&base);
            cut.truncate_from_start(Offset(*start));
            assert_eq!(cut, cache(expected), "{id}: from {start}");
        }
    }
}
