#[cfg(target_arch = "wasm32")]
use wasm_bindgen_test::wasm_bindgen_test as test;

use super::lookup::ScannedBatch;
use super::partition_log::{LogChange, LogContext, PartitionLog};
use super::retention::BeyondHighWatermark;
use crate::base::config::{CleanupPolicy, DeletionReason, TimestampType, TopicConfig};
use crate::base::ids::{Offset, RecordId};
use crate::kernel::time::SimTime;
use crate::wire::record::{Batch, Record};
use std::sync::Arc;

/// A log with its settings and its clock.
struct Bench {
    log: PartitionLog,
    config: TopicConfig,
    now: SimTime,
    next_id: u64,
}

impl Bench {
    fn new(settings: &[(&str, &str)]) -> Self {
        let mut config = TopicConfig::default();
        for (name, value) in settings {
            config.set(name, value).expect("a setting of topics");
        }
        Self {
            log: PartitionLog::new(7, SimTime::ZERO),
            config,
            now: SimTime::ZERO,
            next_id: 0,
        }
    }

    fn at(&mut self, ms: u64) -> &mut Self {
        self.now = SimTime::from_millis(ms);
        self
    }

    fn around(&self) -> LogContext<'_> {
        LogContext {
            config: &self.config,
            now: self.now,
        }
    }

    fn batch(&mut self, keys: &[&str], at: SimTime) -> Batch {
        let records: Arc<[Record]> = keys
            .iter()
            .map(|key| {
                self.next_id += 1;
                let id = RecordId(self.next_id);
                let (key, is_tombstone) = match key.strip_prefix('-') {
                    Some(key) => (key, true),
                    None => (*key, false),
                };
                let key = (!key.is_empty()).then(|| Arc::from(key));
                if is_tombstone {
                    Record::tombstone(id, key, at)
                } else {
                    Record::text(id, key, Arc::from("v"), at)
                }
            })
            .collect();
        Batch::new(records)
    }

    /// Appends one batch with these keys, in leader epoch 0 and with the present as timestamp.
    fn append(&mut self, keys: &[&str]) -> Offset {
        let now = self.now;
        self.append_at(keys, 0, now)
    }

    fn append_at(&mut self, keys: &[&str], epoch: i32, timestamp: SimTime) -> Offset {
        let batch = self.batch(keys, timestamp);
        let around = LogContext {
            config: &self.config,
            now: self.now,
        };
        self.log.append_as_leader(batch, epoch, around)
    }

    fn delete(&mut self) {
        let around = LogContext {
            config: &self.config,
            now: self.now,
        };
        self.log.delete_old_segments(around);
    }

    fn clean(&mut self) {
        let around = LogContext {
            config: &self.config,
            now: self.now,
        };
        self.log.clean(around);
    }

    fn commit(&mut self) {
        self.log.update_high_watermark(Offset(i64::MAX));
    }

    fn segments(&self) -> Vec<i64> {
        self.log.segments().map(|one| one.base_offset().0).collect()
    }

    /// What is left: offsets with keys.
    fn left(&self) -> Vec<(i64, String)> {
        let key = |record: &Record| record.key.as_deref().unwrap_or_default().to_owned();
        self.log
            .records()
            .map(|(offset, record)| (offset.0, key(record)))
            .collect()
    }
}

/// Bytes of a batch of one record with value `v` and no key.
const SINGLE: u32 = Batch::HEADER_BYTES + Record::OVERHEAD_BYTES + 1;

/// Fifteen records, five to a segment, all below the high watermark.
fn fifteen(settings: &[(&str, &str)]) -> Bench {
    let segment_bytes = (5 * SINGLE).to_string();
    let mut bench = Bench::new(&[("segment.bytes", &segment_bytes)]);
    for (name, value) in settings {
        bench.config.set(name, value).expect("a setting of topics");
    }
    bench.at(10);
    for _ in 0..15 {
        bench.append(&[""]);
    }
    bench.commit();
    assert_eq!(bench.segments(), [0, 5, 10], "five records to a segment");
    bench
}

#[test]
fn offsets_and_high_watermark_b1_to_b5() {
    let mut first = Bench::new(&[]);
    first.append(&["", "", ""]);
    assert_eq!(first.log.log_end_offset(), Offset(3), "B1");
    assert_eq!(first.log.high_watermark(), Offset(0), "B1: not moved");
    first.log.update_high_watermark(Offset(1));
    first.log.update_high_watermark(Offset(5));
    assert_eq!(first.log.high_watermark(), Offset(3), "B2: clamped");

    let mut second = Bench::new(&[]);
    for _ in 0..6 {
        second.append(&[""]);
    }
    second.commit();
    assert!(second.log.truncate_to(Offset(3), SimTime::ZERO), "B3");
    let ends = |log: &PartitionLog| (log.log_start_offset(), log.log_end_offset());
    assert_eq!(ends(&second.log), (Offset(0), Offset(3)), "B3");
    assert_eq!(second.log.high_watermark(), Offset(3), "B3");
    second
        .log
        .truncate_fully_and_start_at(Offset(4), SimTime::ZERO);
    assert_eq!(ends(&second.log), (Offset(4), Offset(4)), "B4");
    assert_eq!(second.log.high_watermark(), Offset(4), "B4");

    let mut third = Bench::new(&[]);
    for _ in 0..100 {
        third.append(&[""]);
    }
    third.log.update_high_watermark(Offset(99));
    assert!(
        !third.log.update_high_watermark(Offset(99)),
        "B5: no change"
    );
    assert!(third.log.update_high_watermark(Offset(100)), "B5");
    assert!(!third.log.update_high_watermark(Offset(101)), "B5: clamped");
}

#[test]
fn the_start_moves_and_segments_go_b6() {
    let mut bench = fifteen(&[]);
    for (start, segments) in [(1, 3), (6, 2), (15, 1)] {
        let raised = bench.log.raise_log_start_offset(Offset(start));
        assert_eq!(raised, Ok(()), "B6: start {start}");
        bench.delete();
        assert_eq!(bench.segments().len(), segments, "B6: start {start}");
        assert_eq!(bench.log.log_start_offset(), Offset(start), "B6");
    }
}

#[test]
fn retention_by_size_b7() {
    for (records, segments) in [(10, 2), (15, 3)] {
        let bytes = (records * SINGLE).to_string();
        let mut bench = fifteen(&[("retention.bytes", &bytes)]);
        bench.delete();
        assert_eq!(bench.segments().len(), segments, "B7: {records} records");
    }
}

#[test]
fn retention_by_time_b8_b9_b10() {
    let mut bench = fifteen(&[("retention.ms", "10000")]);
    bench.at(10_010).delete();
    assert_eq!(bench.segments(), [0, 5, 10], "B8: exactly retention.ms old");
    bench.at(10_011).delete();
    assert_eq!(bench.segments(), [15], "B8: one empty segment");
    assert_eq!(bench.log.log_start_offset(), Offset(15), "B8");
    assert_eq!(bench.log.size_bytes(), 0, "B8");

    let compact = ("cleanup.policy", "compact");
    let mut compacted = fifteen(&[("retention.ms", "10000"), compact]);
    compacted.at(99_999).delete();
    assert_eq!(compacted.segments(), [0, 5, 10], "B9");
    compacted
        .log
        .raise_log_start_offset(Offset(5))
        .expect("below the high watermark");
    compacted.delete();
    assert_eq!(compacted.segments(), [5, 10], "B10");
}

#[test]
fn nothing_beyond_the_high_watermark_is_deleted_b11_b12() {
    for high_watermark in 0..=15 {
        let mut bench = Bench::new(&[
            ("segment.bytes", &(5 * SINGLE).to_string()),
            ("retention.ms", "1"),
        ]);
        for _ in 0..15 {
            bench.append(&[""]);
        }
        bench.log.update_high_watermark(Offset(high_watermark));
        bench.at(99_999).delete();
        let start = bench.log.log_start_offset();
        assert!(start <= Offset(high_watermark), "B11: {high_watermark}");
        assert_eq!(start, Offset(high_watermark / 5 * 5), "B11");
        let is_all = high_watermark == 15;
        assert_eq!(bench.segments() == [15], is_all, "B11: one empty segment");
    }
    let mut bench = Bench::new(&[]);
    for _ in 0..100 {
        bench.append(&[""]);
    }
    bench.log.update_high_watermark(Offset(25));
    let refused = bench.log.raise_log_start_offset(Offset(26));
    assert_eq!(refused, Err(BeyondHighWatermark), "B12");
    assert_eq!(bench.log.log_start_offset(), Offset(0), "B12");
}

#[test]
fn rolling_by_time_b13_to_b16() {
    let settings = [("segment.ms", "1000")];
    // A batch that compaction has emptied has no timestamp: the clock decides.
    let mut clock = Bench::new(&settings);
    clock.at(5_000).append(&[]);
    assert_eq!(clock.segments(), [0], "B13: an empty segment is not rolled");
    clock.at(10_000).append(&[]);
    assert_eq!(clock.segments(), [0, 1], "B13");

    let stamp = SimTime::from_millis(100);
    let mut stamped = Bench::new(&settings);
    stamped.at(100).append_at(&[""], 0, stamp);
    stamped.at(9_000).append_at(&[""], 0, stamp);
    assert_eq!(
        stamped.segments(),
        [0],
        "B14: the records' clock stands still"
    );
    stamped.append_at(&[""], 0, SimTime::from_millis(1_100));
    assert_eq!(stamped.segments(), [0], "B15: not more than segment.ms");
    stamped.append_at(&[""], 0, SimTime::from_millis(1_101));
    assert_eq!(stamped.segments(), [0, 3], "B15");

    let before = stamped.log.log_end_offset();
    stamped.at(99_000);
    assert!(
        stamped.log.read(before, before, 1, true).0.is_empty(),
        "B16"
    );
    assert_eq!(
        stamped.segments(),
        [0, 3],
        "B16: without an append, no roll"
    );
}

#[test]
fn first_timestamp_is_the_largest_of_the_first_append_a12_of_the_corrections() {
    let mut bench = Bench::new(&[("segment.ms", "1000")]);
    let mut first = bench.batch(&["", ""], SimTime::from_millis(500));
    let records = first
        .records
        .iter()
        .enumerate()
        .map(|(index, record)| Record {
            timestamp: SimTime::from_millis(if index == 0 { 0 } else { 500 }),
            ..record.clone()
        });
    first.records = records.collect();
    let around = LogContext {
        config: &bench.config,
        now: bench.now,
    };
    bench.log.append_as_leader(first, 0, around);
    bench.append_at(&[""], 0, SimTime::from_millis(1_500));
    assert_eq!(bench.segments(), [0], "1000 ms after the larger timestamp");
    bench.append_at(&[""], 0, SimTime::from_millis(1_501));
    assert_eq!(bench.segments(), [0, 3], "1001 ms after it");
}

#[test]
fn the_leader_stamps_its_epoch_b19() {
    let mut bench = Bench::new(&[("message.timestamp.type", "LogAppendTime")]);
    bench.log.begin_epoch(72);
    bench.at(40).append_at(&["", ""], 72, SimTime::ZERO);
    let (read, _) = bench.log.read(Offset(0), Offset(2), 1_000, true);
    assert!(read.iter().all(|batch| batch.leader_epoch == 72), "B19");
    assert_eq!(bench.log.epochs().entries(), [(72, Offset(0))], "B19");
    assert_eq!(
        bench.config.message_timestamp_type,
        TimestampType::LogAppendTime
    );
    let stamps: Vec<u64> = bench
        .log
        .records()
        .map(|(_, record)| record.timestamp.as_millis())
        .collect();
    assert_eq!(stamps, [40, 40], "the leader's clock");
}

#[test]
fn deleting_segments_keeps_the_epochs_of_what_is_left_a16_a17() {
    for (id, starts, expected) in [
        ("A16", [0, 7, 10], vec![(0, 5), (1, 7), (2, 10)]),
        ("A17", [0, 5, 10], vec![(1, 5), (2, 10)]),
    ] {
        let mut bench = Bench::new(&[
            ("segment.bytes", &(5 * SINGLE).to_string()),
            ("retention.bytes", &(10 * SINGLE).to_string()),
        ]);
        for offset in 0..15 {
            let epoch = starts.iter().rposition(|start| *start <= offset);
            let epoch = i32::try_from(epoch.expect("the first starts at 0")).expect("small");
            bench.append_at(&[""], epoch, SimTime::ZERO);
        }
        bench.commit();
        bench.delete();
        assert_eq!(bench.log.log_start_offset(), Offset(5), "{id}");
        let expected: Vec<(i32, Offset)> =
            expected.into_iter().map(|(e, o)| (e, Offset(o))).collect();
        assert_eq!(bench.log.epochs().entries(), expected, "{id}");
    }
}

#[test]
fn truncating_forgets_epochs_a18() {
    let mut base = Bench::new(&[]);
    for (epoch, count) in [(0, 10), (1, 6), (2, 4)] {
        for _ in 0..count {
            base.append_at(&[""], epoch, SimTime::ZERO);
        }
    }
    for (end, entries) in [(20, 3), (11, 2), (10, 1), (0, 0)] {
        let mut cut = base.log.clone();
        cut.truncate_to(Offset(end), SimTime::ZERO);
        assert_eq!(cut.epochs().entries().len(), entries, "A18: {end}");
        assert_eq!(cut.log_end_offset(), Offset(end), "A18: {end}");
    }
}

#[test]
fn reading_and_truncating_agree_across_chunks_and_segments() {
    for segment_bytes in ["1073741824", "9000"] {
        let mut bench = Bench::new(&[("segment.bytes", segment_bytes)]);
        for _ in 0..1_000 {
            bench.append(&["", ""]);
        }
        let log = &mut bench.log;
        for from in [0, 1, 511, 512, 1_023, 1_024, 1_998, 1_999] {
            let (batches, _) = log.read(Offset(from), Offset(2_000), u64::MAX, false);
            let first = batches.first().expect("there is a batch");
            assert!(first.base_offset <= Offset(from), "the batch holds {from}");
            assert!(Offset(from) < first.next_offset(), "the batch holds {from}");
            let last = batches.last().expect("one").next_offset();
            assert_eq!(last, Offset(2_000), "to the end");
        }
        let end = Offset(2_000);
        assert!(
            log.read(end, end, 9, true).0.is_empty(),
            "nothing at the end"
        );
        for end in [1_998, 1_500, 1_024, 514, 512, 6, 0] {
            log.truncate_to(Offset(end), SimTime::ZERO);
            let count = log.records().count();
            assert_eq!(i64::try_from(count), Ok(end), "cut to {end}");
            let bytes: u64 = log
                .segments()
                .map(super::segment::Segment::size_bytes)
                .sum();
            assert_eq!(log.size_bytes(), bytes, "cut to {end}");
        }
    }
}

#[test]
fn the_first_batch_may_exceed_the_budget() {
    let mut bench = Bench::new(&[]);
    for _ in 0..3 {
        bench.append(&["", "", "", ""]);
    }
    let (none, _) = bench.log.read(Offset(0), Offset(12), 1, false);
    assert!(none.is_empty(), "a later partition keeps the budget");
    let (one, bytes) = bench.log.read(Offset(0), Offset(12), 1, true);
    assert_eq!(one.len(), 1, "the first partition gives one batch");
    assert_eq!(bytes, u64::from(one[0].size_bytes), "its bytes are counted");
    let counted = bench.log.bytes_between(Offset(0), Offset(12), 1);
    assert_eq!(counted, bytes, "enough is enough");
}

#[test]
fn index_entries_are_sparse() {
    // An append is indexed when more than two batches' bytes have gone by before it.
    let interval = (2 * SINGLE).to_string();
    let mut bench = Bench::new(&[("index.interval.bytes", &interval)]);
    for _ in 0..8 {
        bench.append(&[""]);
    }
    let segment = bench.log.segments().next().expect("one");
    let index: Vec<(i64, u64)> = segment.index().map(|(o, p)| (o.0, p)).collect();
    let size = u64::from(SINGLE);
    assert_eq!(
        index,
        [(3, 3 * size), (6, 6 * size)],
        "never the first append"
    );
    let times: Vec<i64> = segment.time_index().map(|(_, o)| o.0).collect();
    assert_eq!(
        times,
        [0],
        "a timestamp that stands there is not added again"
    );
}

#[test]
fn a_lookup_by_offset_shows_its_steps() {
    // 2048 records to a segment: offset 2049 lies in the segment that starts at 2048.
    let segment_bytes = (2_048 * SINGLE).to_string();
    let interval = (100 * SINGLE).to_string();
    let mut bench = Bench::new(&[
        ("segment.bytes", &segment_bytes),
        ("index.interval.bytes", &interval),
    ]);
    for _ in 0..5_000 {
        bench.append(&[""]);
    }
    assert_eq!(bench.segments(), [0, 2_048, 4_096], "segments");
    let size = u64::from(SINGLE);
    let scanned = |offset: i64, position: u64| ScannedBatch {
        base_offset: Offset(offset),
        last_offset: Offset(offset),
        position: position * size,
        size_bytes: SINGLE,
    };
    let near = bench.log.look_up_offset(Offset(2_049)).expect("in the log");
    assert_eq!(near.segment, Offset(2_048), "QA15: the segment");
    assert_eq!(near.index_entry, None, "QA15: before the first entry");
    assert_eq!(near.scanned, [scanned(2_048, 0), scanned(2_049, 1)], "QA15");
    let far = bench.log.look_up_offset(Offset(2_250)).expect("in the log");
    assert_eq!(
        far.index_entry,
        Some((Offset(2_250), 202 * size)),
        "the entry"
    );
    assert_eq!(far.scanned, [scanned(2_250, 202)], "one batch is read");
    assert_eq!(bench.log.look_up_offset(Offset(5_000)), None, "the end");
}

#[test]
fn a_lookup_by_timestamp_finds_the_earliest_offset() {
    let mut bench = Bench::new(&[("segment.bytes", &(4 * SINGLE).to_string())]);
    for ms in [10, 30, 20, 40, 50, 45, 60, 70] {
        bench.append_at(&[""], 0, SimTime::from_millis(ms));
    }
    let found = |ms| {
        let lookup = bench.log.look_up_timestamp(SimTime::from_millis(ms));
        lookup.and_then(|one| one.found).map(|(offset, _)| offset.0)
    };
    let rows = [(0, Some(0)), (20, Some(1)), (31, Some(3)), (41, Some(4))];
    for (ms, offset) in rows
        .into_iter()
        .chain([(46, Some(4)), (70, Some(7)), (71, None)])
    {
        assert_eq!(found(ms), offset, "first record at {ms} ms or later");
    }
    let largest = bench.log.max_timestamp();
    assert_eq!(largest, Some((Offset(7), SimTime::from_millis(70))), "-3");
}

#[test]
fn compaction_keeps_the_last_record_of_each_key() {
    let mut bench = Bench::new(&[("cleanup.policy", "compact"), ("segment.bytes", "300")]);
    assert_eq!(bench.config.cleanup_policy, CleanupPolicy::Compact);
    for keys in [["a", "b"], ["a", "c"], ["b", "a"], ["c", "d"], ["a", "e"]] {
        bench.append(&keys);
    }
    bench.log.update_high_watermark(Offset(10));
    let dirty = bench.log.cleanable(bench.around());
    assert_eq!(dirty.first_dirty_offset, Offset(0));
    assert_eq!(bench.segments(), [0, 6], "the active segment begins at 6");
    assert!(dirty.is_due(bench.config.min_cleanable_dirty_ratio));
    bench.clean();
    let owned = |rows: &[(i64, &str)]| -> Vec<(i64, String)> {
        rows.iter().map(|(o, k)| (*o, (*k).to_owned())).collect()
    };
    let rest = [(6, "c"), (7, "d"), (8, "a"), (9, "e")];
    let expected = [&[(3, "c"), (4, "b"), (5, "a")], &rest[..]].concat();
    assert_eq!(bench.left(), owned(&expected), "offsets stay");
    assert_eq!(bench.log.log_end_offset(), Offset(10), "the end stays");
    let after = bench.log.cleanable(bench.around());
    assert_eq!(after.first_dirty_offset, Offset(6), "the checkpoint");
    assert!(!after.is_due(bench.config.min_cleanable_dirty_ratio));

    // Readers pass over the gaps.
    let (read, _) = bench.log.read(Offset(0), Offset(10), u64::MAX, true);
    let offsets: Vec<i64> = read
        .iter()
        .flat_map(Batch::entries)
        .map(|(offset, _)| offset.0)
        .collect();
    assert_eq!(offsets, [3, 4, 5, 6, 7, 8, 9]);
    assert_eq!(bench.log.record(Offset(2)), None, "a gap");
    let mut follower = Bench::new(&[]);
    for batch in &read {
        let around = LogContext {
            config: &follower.config,
            now: follower.now,
        };
        let appended = follower.log.append_as_follower(batch, around);
        assert_eq!(appended, Ok(()), "gaps are legal");
    }
    assert_eq!(follower.left(), bench.left(), "the follower has the same");
}

#[test]
fn a_tombstone_stays_until_its_horizon_and_the_last_offset_stays() {
    let mut bench = Bench::new(&[
        ("cleanup.policy", "compact"),
        ("segment.bytes", "150"),
        ("delete.retention.ms", "1000"),
    ]);
    for key in ["a", "-a", "b", "b", "b", "b"] {
        bench.append(&[key]);
    }
    bench.commit();
    assert_eq!(bench.segments(), [0, 2, 4], "two records to a segment");
    bench.at(100).clean();
    let keys = |bench: &Bench| bench.left().into_iter().map(|(o, _)| o).collect::<Vec<_>>();
    assert_eq!(
        keys(&bench),
        [1, 3, 4, 5],
        "the first pass keeps the tombstone"
    );
    for key in ["b", "b"] {
        bench.append(&[key]);
    }
    bench.commit();
    bench.at(1_099).clean();
    assert_eq!(keys(&bench), [1, 5, 6, 7], "before its horizon");
    for key in ["c", "c", "d", "d"] {
        bench.append(&[key]);
    }
    bench.commit();
    bench.at(1_100).clean();
    assert_eq!(keys(&bench), [7, 9, 10, 11], "at its horizon it goes");

    // The last batch of the range is kept even when nothing of it is.
    let mut empty = Bench::new(&[("cleanup.policy", "compact"), ("segment.bytes", "150")]);
    empty.config.delete_retention_ms = 0;
    for key in ["a", "-a", "x"] {
        empty.append(&[key]);
    }
    empty.commit();
    empty.clean();
    empty.log.cleaner_checkpoint = Offset(0);
    empty.at(1).clean();
    assert_eq!(keys(&empty), [2], "the tombstone is gone");
    let first = empty.log.batches_from(Offset(0)).next().expect("a batch");
    assert_eq!(first.records.len(), 0, "an empty batch");
    assert_eq!(first.last_offset(), Offset(1), "with the last offset");
}

#[test]
fn compaction_lags_bound_what_is_cleaned() {
    let mut bench = Bench::new(&[
        ("cleanup.policy", "compact"),
        ("segment.bytes", "150"),
        ("min.compaction.lag.ms", "1000"),
        ("max.compaction.lag.ms", "5000"),
        ("min.cleanable.dirty.ratio", "1.0"),
    ]);
    bench.config.segment_ms = 604_800_000;
    for ms in [0, 10, 800, 900, 950] {
        bench.at(ms).append(&["a"]);
    }
    bench.commit();
    assert_eq!(bench.segments(), [0, 2, 4], "segments");
    let ratio = bench.config.min_cleanable_dirty_ratio;
    bench.at(1_010);
    let cleanable = bench.log.cleanable(bench.around());
    assert_eq!(cleanable.first_uncleanable_offset, Offset(2), "too young");
    assert!(!cleanable.is_due(ratio), "no ratio exceeds 1");
    bench.at(5_000);
    let cleanable = bench.log.cleanable(bench.around());
    assert_eq!(cleanable.first_uncleanable_offset, Offset(4), "old enough");
    assert!(!cleanable.is_due(ratio), "exactly the longest lag");
    bench.at(5_001);
    let cleanable = bench.log.cleanable(bench.around());
    assert!(cleanable.is_due(ratio), "longer than the longest lag");
}

#[test]
fn a_crash_keeps_the_page_cache_and_a_power_loss_does_not() {
    let mut bench = Bench::new(&[("segment.bytes", &(4 * SINGLE).to_string())]);
    for _ in 0..10 {
        bench.append(&[""]);
    }
    bench.log.update_high_watermark(Offset(9));
    bench.log.checkpoint_high_watermark();
    bench.commit();
    assert_eq!(bench.log.recovery_point(), Offset(8), "rolled up to 8");
    bench.log.checkpoint_recovery_point();

    let mut crashed = bench.log.clone();
    crashed.reopen(bench.now);
    assert_eq!(
        crashed.log_end_offset(),
        Offset(10),
        "the page cache survives"
    );
    assert_eq!(crashed.high_watermark(), Offset(9), "of the checkpoint");
    let changes = crashed.take_changes();
    assert_eq!(changes, [LogChange::Recovered(Offset(8), Offset(10))]);

    for (kept, end) in [(0, 8), (1, 9), (2, 10)] {
        let mut lost = bench.log.clone();
        assert_eq!(lost.unflushed_batches(), 2, "two batches are not flushed");
        lost.take_changes();
        lost.lose_power(kept, bench.now);
        lost.reopen(bench.now);
        assert_eq!(lost.log_end_offset(), Offset(end), "kept {kept}");
        assert_eq!(lost.high_watermark(), Offset(end.min(9)), "kept {kept}");
        assert_eq!(lost.unflushed_batches(), 0, "what is left is on the disk");
    }

    let mut closed = bench.log.clone();
    closed.close(bench.now);
    closed.lose_power(0, bench.now);
    assert_eq!(
        closed.log_end_offset(),
        Offset(10),
        "everything was flushed"
    );
}

#[test]
fn flushing_by_count_and_by_time() {
    let mut bench = Bench::new(&[("flush.messages", "3"), ("flush.ms", "1000")]);
    bench.append(&["", ""]);
    assert_eq!(bench.log.recovery_point(), Offset(0), "two of three");
    bench.append(&["", ""]);
    assert_eq!(bench.log.recovery_point(), Offset(4), "three or more");
    bench.append(&[""]);
    bench
        .log
        .flush_if_due(&bench.config, SimTime::from_millis(999));
    assert_eq!(bench.log.recovery_point(), Offset(4), "too early");
    bench
        .log
        .flush_if_due(&bench.config, SimTime::from_millis(1_000));
    assert_eq!(
        bench.log.recovery_point(),
        Offset(5),
        "flush.ms after the last"
    );
}

#[test]
fn truncation_lowers_the_recovery_point_m12_of_the_corrections() {
    let mut bench = Bench::new(&[("flush.messages", "1")]);
    for _ in 0..6 {
        bench.append(&[""]);
    }
    assert_eq!(bench.log.recovery_point(), Offset(6));
    bench.log.truncate_to(Offset(4), SimTime::ZERO);
    assert_eq!(bench.log.recovery_point(), Offset(4), "M12");
    assert_eq!(bench.log.flushed_offset(), Offset(4), "M12");
}

#[test]
fn a_start_that_was_not_checkpointed_goes_back_after_a_crash() {
    let mut bench = fifteen(&[("file.delete.delay.ms", "60000")]);
    bench
        .log
        .raise_log_start_offset(Offset(7))
        .expect("committed");
    bench.log.checkpoint_high_watermark();
    let mut crashed = bench.log.clone();
    crashed.reopen(bench.now);
    assert_eq!(crashed.log_start_offset(), Offset(0), "no checkpoint");
    bench.delete();
    assert_eq!(bench.log.deleted().len(), 1, "its files wait to be removed");
    let changes = bench.log.take_changes();
    let deleted = LogChange::Deleted(1, DeletionReason::StartOffset, Offset(7));
    assert_eq!(changes.last(), Some(&deleted));
    let mut deleted = bench.log.clone();
    deleted.reopen(bench.now);
    assert_eq!(deleted.log_start_offset(), Offset(5), "the first segment");
    bench.log.checkpoint_log_start_offset();
    bench.log.reopen(bench.now);
    assert_eq!(bench.log.log_start_offset(), Offset(7), "the checkpoint");
}

#[test]
fn a_follower_takes_a_batch_that_its_leader_starts_in_the_middle_of() {
    let mut bench = Bench::new(&[]);
    let mut batch = bench.batch(&["", "", ""], SimTime::ZERO);
    batch.base_offset = Offset(5);
    let around = LogContext {
        config: &bench.config,
        now: bench.now,
    };
    bench
        .log
        .truncate_fully_and_start_at(Offset(6), SimTime::ZERO);
    assert_eq!(bench.log.append_as_follower(&batch, around), Ok(()));
    let ends = (bench.log.log_start_offset(), bench.log.log_end_offset());
    assert_eq!(ends, (Offset(5), Offset(8)), "it begins with the batch");
    let again = bench.log.append_as_follower(&batch, around);
    assert!(again.is_err(), "not twice");
}
