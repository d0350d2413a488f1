#[cfg(target_arch = "wasm32")]
use wasm_bindgen_test::wasm_bindgen_test as test;

use super::Checked;
use crate::base::config::TopicConfig;
use crate::base::ids::{Offset, RecordId};
use crate::kernel::time::{SimTime, Span};
use crate::log::partition_log::{LogContext, PartitionLog};
use crate::wire::error_code::ErrorCode;
use crate::wire::record::{Batch, ProducerStamp, Record};
use std::sync::Arc;

const PRODUCER: i64 = 7;

fn around() -> LogContext<'static> {
    LogContext {
        config: Box::leak(Box::new(TopicConfig::default())),
        now: SimTime::ZERO,
    }
}

fn records(count: u64) -> Arc<[Record]> {
    (0..count)
        .map(|id| Record::text(RecordId(id), None, Arc::from("v"), SimTime::ZERO))
        .collect()
}

fn with_stamp(count: u64, producer: ProducerStamp) -> Batch {
    Batch {
        producer,
        ..Batch::new(records(count))
    }
}

fn batch(producer_epoch: i16, base_sequence: i32, count: u64) -> Batch {
    let stamp = ProducerStamp {
        producer_id: PRODUCER,
        producer_epoch,
        base_sequence,
        ..ProducerStamp::NONE
    };
    with_stamp(count, stamp)
}

fn in_transaction(producer_id: i64, base_sequence: i32, count: u64) -> Batch {
    let stamp = ProducerStamp {
        producer_id,
        producer_epoch: 0,
        base_sequence,
        is_transactional: true,
        is_control: false,
    };
    with_stamp(count, stamp)
}

fn marker(producer_id: i64, producer_epoch: i16, is_commit: bool) -> Batch {
    Batch::end_of_transaction((producer_id, producer_epoch), is_commit, 0, SimTime::ZERO)
}

/// What the leader says of a batch; it is appended if that is `New`.
fn append(log: &mut PartitionLog, batch: Batch) -> Result<Checked, ErrorCode> {
    let checked = log.producers().check(&batch)?;
    if checked == Checked::New {
        log.append_as_leader(batch, 0, around());
    }
    Ok(checked)
}

const OUT_OF_ORDER: Result<Checked, ErrorCode> = Err(ErrorCode::OutOfOrderSequenceNumber);

#[test]
fn sequences_and_epochs_j6_j7() {
    let mut log = PartitionLog::new(0, SimTime::ZERO);
    for sequence in [0, 1] {
        assert_eq!(
            append(&mut log, batch(0, sequence, 1)),
            Ok(Checked::New),
            "J6: the first ones"
        );
    }
    // A batch of two records that begins at 1 is no duplicate of anything.
    assert_eq!(
        append(&mut log, batch(0, 1, 2)),
        OUT_OF_ORDER,
        "J6: 1 again"
    );
    assert_eq!(append(&mut log, batch(0, 5, 1)), OUT_OF_ORDER, "J6: a gap");
    assert_eq!(
        append(&mut log, batch(1, 3, 1)),
        OUT_OF_ORDER,
        "a new epoch begins with 0"
    );
    assert_eq!(
        append(&mut log, batch(1, 0, 1)),
        Ok(Checked::New),
        "J7: the next epoch"
    );
    assert_eq!(
        append(&mut log, batch(0, 0, 1)),
        Err(ErrorCode::InvalidProducerEpoch),
        "J7: the epoch before is over"
    );
}

#[test]
fn the_sequence_wraps_j8() {
    for (next, expected) in [(0, Ok(Checked::New)), (1, OUT_OF_ORDER)] {
        let mut log = PartitionLog::new(0, SimTime::ZERO);
        let first = append(&mut log, batch(0, i32::MAX, 1));
        assert_eq!(
            first,
            Ok(Checked::New),
            "an unknown producer may begin anywhere"
        );
        assert_eq!(
            append(&mut log, batch(0, next, 1)),
            expected,
            "J8: {next} after the largest"
        );
    }
    assert_eq!(
        ProducerStamp::advance(i32::MAX - 1, 3),
        1,
        "J8: a batch across the end"
    );
}

#[test]
fn only_a_marker_is_known_j9() {
    let mut log = PartitionLog::new(0, SimTime::ZERO);
    assert_eq!(
        append(&mut log, marker(PRODUCER, 2, true)),
        Ok(Checked::New),
        "J9: the marker"
    );
    let old = append(&mut log, batch(0, 0, 1));
    assert_eq!(old, Err(ErrorCode::InvalidProducerEpoch), "J9: epoch 0");
    assert_eq!(
        append(&mut log, batch(2, 17, 1)),
        OUT_OF_ORDER,
        "J9: epoch 2, sequence 17"
    );
    assert_eq!(
        append(&mut log, batch(2, 0, 1)),
        Ok(Checked::New),
        "J9: epoch 2, sequence 0"
    );
}

#[test]
fn five_batches_are_remembered_j10_to_j13() {
    let mut log = PartitionLog::new(0, SimTime::ZERO);
    for sequence in 0..6 {
        let appended = append(&mut log, batch(0, sequence, 1));
        assert_eq!(appended, Ok(Checked::New), "sequence {sequence}");
    }
    assert_eq!(append(&mut log, batch(0, 6, 3)), Ok(Checked::New), "6 to 8");
    let rows = [
        (
            "J10: 6 to 8 again",
            batch(0, 6, 3),
            Ok(Checked::Duplicate(Offset(6))),
        ),
        ("J11: 7 to 8, a part", batch(0, 7, 2), OUT_OF_ORDER),
        (
            "J12: 2, the fifth newest",
            batch(0, 2, 1),
            Ok(Checked::Duplicate(Offset(2))),
        ),
        ("J13: 1, the sixth newest", batch(0, 1, 1), OUT_OF_ORDER),
    ];
    for (fact, again, expected) in rows {
        assert_eq!(append(&mut log, again), expected, "{fact}");
        assert_eq!(
            log.log_end_offset(),
            Offset(9),
            "{fact}: nothing is appended"
        );
    }
}

#[test]
fn a_producer_is_forgotten_after_its_expiration() {
    let mut log = PartitionLog::new(0, SimTime::ZERO);
    assert_eq!(
        append(&mut log, batch(0, 0, 1)),
        Ok(Checked::New),
        "it writes"
    );
    log.expire_producers(SimTime(999), Span(1_000));
    assert_eq!(
        append(&mut log, batch(0, 9, 1)),
        OUT_OF_ORDER,
        "it is still known"
    );
    log.expire_producers(SimTime(1_000), Span(1_000));
    assert_eq!(
        append(&mut log, batch(0, 9, 1)),
        Ok(Checked::New),
        "it may begin anywhere"
    );
}

#[test]
fn a_follower_and_a_cut_log_know_what_their_batches_say() {
    let mut leader = PartitionLog::new(0, SimTime::ZERO);
    let mut follower = PartitionLog::new(0, SimTime::ZERO);
    for sequence in 0..4 {
        assert_eq!(
            append(&mut leader, batch(0, sequence, 1)),
            Ok(Checked::New),
            "written"
        );
    }
    let (batches, _) = leader.read(Offset(0), Offset(4), u64::MAX, true);
    for one in &batches {
        follower
            .append_as_follower(one, around())
            .expect("it follows");
    }
    assert_eq!(
        follower.producers(),
        leader.producers(),
        "the same batches, the same state"
    );
    assert_eq!(
        append(&mut follower, batch(0, 3, 1)),
        Ok(Checked::Duplicate(Offset(3))),
        "a new leader knows what it replicated"
    );
    follower.truncate_to(Offset(2), SimTime::ZERO);
    assert_eq!(
        append(&mut follower, batch(0, 4, 1)),
        OUT_OF_ORDER,
        "2 and 3 are gone"
    );
    assert_eq!(
        append(&mut follower, batch(0, 2, 1)),
        Ok(Checked::New),
        "2 comes again"
    );
}

#[test]
fn a_transaction_is_unstable_until_its_marker_is_replicated_b17() {
    let mut log = PartitionLog::new(0, SimTime::ZERO);
    log.append_as_leader(in_transaction(1, 0, 3), 0, around());
    log.append_as_leader(with_stamp(1, ProducerStamp::NONE), 0, around());
    log.append_as_leader(marker(1, 0, true), 0, around());
    for high_watermark in [2, 3, 4] {
        log.update_high_watermark(Offset(high_watermark));
        assert_eq!(
            log.producers().first_unstable(),
            Some(Offset(0)),
            "B17: at {high_watermark}"
        );
        assert_eq!(
            log.last_stable_offset(),
            Offset(0),
            "B17: at {high_watermark}"
        );
    }
    log.update_high_watermark(Offset(5));
    assert_eq!(
        log.producers().first_unstable(),
        None,
        "B17: the marker is replicated"
    );
    assert_eq!(
        log.last_stable_offset(),
        Offset(5),
        "B17: the marker is replicated"
    );
}

#[test]
fn the_oldest_open_transaction_bounds_the_stable_part_b18() {
    let mut log = PartitionLog::new(0, SimTime::ZERO);
    log.append_as_leader(in_transaction(1, 0, 3), 0, around());
    log.append_as_leader(with_stamp(3, ProducerStamp::NONE), 0, around());
    log.append_as_leader(in_transaction(2, 0, 3), 0, around());
    log.append_as_leader(marker(1, 0, false), 0, around());
    log.update_high_watermark(Offset(10));
    assert_eq!(log.producers().first_unstable(), Some(Offset(6)), "B18");
    assert_eq!(log.last_stable_offset(), Offset(6), "B18");
    let aborted = log.producers().aborted_between(Offset(0), Offset(6));
    let found: Vec<(i64, Offset)> = aborted
        .iter()
        .map(|it| (it.producer_id, it.first_offset))
        .collect();
    assert_eq!(found, [(1, Offset(0))], "the aborted transaction is listed");
    let later = log.producers().aborted_between(Offset(10), Offset(20));
    assert!(later.is_empty(), "nothing of it lies behind its marker");
}
