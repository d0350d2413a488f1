//! What applications do with their consumers: when they commit, what they do with an error, how they
//! move their positions.

use super::*;
use terrarium_core::client::consumer::{ApplicationCall, RecordEffect, SeekTo};

const MANUAL: (&str, &str) = ("enable.auto.commit", "false");

fn call(bench: &mut Bench, call: ApplicationCall) {
    bench.run(|consumer, out| consumer.call(call, out));
}

/// Where the open fetch asks to begin in partition 0.
fn fetch_offset(bench: &Bench) -> Option<i64> {
    match bench.find(ApiKey::Fetch) {
        Some((_, Request::Fetch(request), _)) => {
            let mut partitions = request.partitions.iter();
            partitions.next().map(|one| one.fetch_offset.0)
        }
        _ => None,
    }
}

#[test]
fn a_commit_after_each_record() {
    let mut bench = Bench::stable(&[MANUAL], CommitMode::SyncEach);
    bench.answer_fetch_of(0, 0, &["a", "b"]);
    bench.pass(1);
    assert_eq!(bench.processed(), [0], "the second waits");
    assert_eq!(bench.committing(), [(0, 1)]);
    bench.answer_commit(ErrorCode::None);
    bench.pass(2);
    assert_eq!(bench.processed(), [0, 1]);
    assert_eq!(bench.committing(), [(0, 2)]);
}

#[test]
fn a_commit_before_the_first_record_is_at_most_once() {
    let mut bench = Bench::stable(&[MANUAL], CommitMode::SyncBefore);
    bench.answer_fetch_of(0, 0, &["a", "b"]);
    bench.pass(1);
    assert!(bench.processed().is_empty(), "the commit comes first");
    assert_eq!(bench.committing(), [(0, 2)]);
    bench.answer_commit(ErrorCode::None);
    bench.pass(2);
    assert_eq!(bench.processed(), [0, 1]);
}

#[test]
fn what_becomes_of_a_batch_whose_commit_fails() {
    let rows = [
        (OnCommitError::GoOn, vec![0, 1, 2], 3),
        (OnCommitError::DropBatch, vec![0], 3),
        (OnCommitError::SeekBack, vec![0], 1),
    ];
    for (policy, processed, position) in rows {
        let mut bench = Bench::stable_of(&[MANUAL], |it| {
            it.processing.commit = CommitMode::SyncEach;
            it.processing.on_commit_error = policy;
        });
        bench.answer_fetch_of(0, 0, &["a", "b", "c"]);
        bench.pass(1);
        bench.answer_commit(ErrorCode::InvalidCommitOffsetSize);
        for later in 2..6 {
            bench.pass(later);
            if !bench.committing().is_empty() {
                bench.answer_commit(ErrorCode::None);
            }
        }
        assert_eq!(bench.processed(), processed, "{policy:?}");
        let owned = &bench.consumer.partitions()[&TopicPartition::new(TOPIC, 0)];
        assert_eq!(owned.position(), Some(Offset(position)), "{policy:?}");
    }
}

#[test]
fn a_record_that_is_too_much_is_skipped_until_the_next_start_or_for_good() {
    for commits in [false, true] {
        let mut bench = Bench::stable_of(&[MANUAL], |it| {
            it.processing.commit = CommitMode::SyncEach;
            let effect = RecordEffect::Skips { commits };
            it.processing.rules = vec![(Arc::from("poison"), effect)];
        });
        bench.answer_fetch_of(0, 0, &["poison", "b"]);
        bench.pass(1);
        assert_eq!(bench.count("record-skipped"), 1);
        if commits {
            assert_eq!(bench.committing(), [(0, 1)]);
            bench.answer_commit(ErrorCode::None);
        }
        assert!(
            bench.committing().is_empty(),
            "a seek alone commits nothing"
        );
        // The fetch that was under way counts no more.
        bench.answer_fetch_of(0, 2, &["c"]);
        assert_eq!(fetch_offset(&bench), Some(1), "the rest is read again");
        bench.answer_fetch_of(0, 1, &["b"]);
        bench.pass(2);
        assert_eq!(bench.processed(), [1]);
    }
}

#[test]
fn an_application_seeks_when_it_is_back_at_poll() {
    let topic: Arc<str> = Arc::from("t");
    let seek = |to| ApplicationCall::Seek(topic.clone(), 0, to);
    let mut bench = Bench::stable_of(&[MANUAL], |it| {
        it.processing.time = (Span::from_millis(10), Span::from_millis(10), false);
    });
    bench.answer_fetch_of(0, 0, &["a", "b", "c"]);
    call(&mut bench, seek(SeekTo::Offset(Offset(1))));
    bench.pass(30);
    assert_eq!(bench.processed(), [0, 1, 2], "first what it holds");
    // The fetch that was under way counts no more.
    bench.answer_fetch_of(0, 3, &["d"]);
    assert_eq!(fetch_offset(&bench), Some(1), "then it reads from there");
    call(&mut bench, seek(SeekTo::Beginning));
    assert!(bench.find(ApiKey::ListOffsets).is_some(), "it asks where");
    call(&mut bench, seek(SeekTo::Committed));
    assert!(
        bench.find(ApiKey::OffsetFetch).is_some(),
        "and where it was"
    );
    call(
        &mut bench,
        ApplicationCall::Seek(topic.clone(), 9, SeekTo::End),
    );
    let is_told = bench.trace.iter().any(|event| {
        matches!(event, TraceEvent::LogLine { text }
            if text.contains("No current assignment for partition t-9"))
    });
    assert!(is_told, "not its partition");
}

#[test]
fn a_paused_partition_is_kept_and_not_read() {
    let topic: Arc<str> = Arc::from("t");
    let mut bench = Bench::stable_of(&[MANUAL], |it| {
        it.processing.time = (Span::from_millis(10), Span::from_millis(10), false);
    });
    bench.answer_fetch_of(0, 0, &["a"]);
    bench.answer_fetch_of(0, 1, &["b"]);
    call(&mut bench, ApplicationCall::Pause(topic.clone(), 0));
    bench.pass(1_000);
    assert_eq!(bench.processed(), [0], "what was fetched waits");
    assert!(bench.find(ApiKey::Fetch).is_none(), "nothing is asked for");
    call(&mut bench, ApplicationCall::Resume(topic, 0));
    bench.pass(2_000);
    assert_eq!(bench.processed(), [0, 1]);
}

#[test]
fn partitions_by_hand_need_no_group() {
    let assign = |it: &mut ConsumerSettings| {
        it.topics.clear();
        it.assign = vec![(Arc::from("t"), 0)];
    };
    let mut bench = Bench::of(&[MANUAL, ("auto.offset.reset", "earliest")], assign);
    assert!(bench.find(ApiKey::JoinGroup).is_none(), "no member");
    bench.answer_offsets();
    bench.answer_fetch(0);
    bench.pass(1);
    assert_eq!(bench.processed(), [0]);
    // It commits for its group id without being a member.
    let mut bench = Bench::of(&[], |it| {
        assign(it);
        it.config.auto_offset_reset = terrarium_core::base::config::AutoOffsetReset::Earliest;
    });
    bench.answer_offsets();
    bench.answer_fetch(0);
    bench.pass(6_000);
    match bench.find(ApiKey::OffsetCommit) {
        Some((_, Request::OffsetCommit(commit), _)) => {
            assert_eq!((commit.generation_id, commit.member_id.as_str()), (-1, ""));
        }
        _ => panic!("it commits"),
    }
    assert!(bench.find(ApiKey::Heartbeat).is_none(), "no heartbeats");
    bench.answer_commit(ErrorCode::UnknownMemberId);
    assert_eq!(bench.commit_exception(), Some("CommitFailedException"));
    assert!(bench.find(ApiKey::JoinGroup).is_none(), "it joins nothing");
}

/// A connector that has read `a`, `b`, `c` of partition 0 and delivers each in 10 s.
fn connector(read_ahead: ReadAhead) -> Bench {
    let mut bench = Bench::stable_of(&[MANUAL], |it| {
        it.processing.time = (Span::from_millis(10_000), Span::from_millis(10_000), false);
        it.processing.read_ahead = read_ahead;
        it.processing.commit = CommitMode::Async;
    });
    bench.answer_fetch_of(0, 0, &["a", "b", "c"]);
    bench.pass(3_000);
    bench.answer_heartbeat(ErrorCode::RebalanceInProgress);
    bench
}

#[test]
fn a_connector_polls_on_while_it_delivers() {
    for read_ahead in [ReadAhead::DeliverLate, ReadAhead::Drop] {
        let mut bench = connector(read_ahead);
        assert_eq!(
            bench.count("partitions-revoked"),
            1,
            "it rebalances at once"
        );
        bench.answer_join("m", 2, &["somebody else"]);
        bench.assign(&[]);
        bench.pass(40_000);
        let delivered: &[i64] = match read_ahead {
            ReadAhead::DeliverLate => &[0, 1, 2],
            _ => &[],
        };
        assert_eq!(bench.processed(), delivered, "{read_ahead:?}");
        assert!(bench.committing().is_empty(), "not its partition any more");
    }
}

#[test]
fn without_a_thread_heartbeats_wait_for_poll() {
    let mut bench = Bench::stable_of(&[MANUAL, ("session.timeout.ms", "10000")], |it| {
        it.processing.time = (Span::from_millis(20_000), Span::from_millis(20_000), false);
        it.history.single_threaded_consumer = true;
    });
    let first = bench
        .trace
        .iter()
        .find(|it| it.name() == "partitions-revoked");
    assert!(first.is_some(), "called at the first join, too");
    bench.answer_fetch_of(0, 0, &["a"]);
    bench.pass(19_000);
    assert!(bench.find(ApiKey::Heartbeat).is_none(), "it is busy");
    bench.pass(20_000);
    assert!(bench.find(ApiKey::Heartbeat).is_some(), "poll sends it");
    bench.answer_heartbeat(ErrorCode::UnknownMemberId);
    let join = bench.join();
    assert_eq!((join.version, join.member_id.as_str()), (0, ""));
    assert_eq!(join.reason, None, "no reasons then");
    assert_eq!(bench.count("partitions-lost"), 0, "nor onPartitionsLost");
    assert_eq!(bench.count("poll-timeout-expired"), 0);
}

#[test]
fn before_2_7_heartbeats_wait_for_the_assignment() {
    for is_old in [false, true] {
        let mut bench = Bench::of(&[MANUAL], |it| it.history.no_heartbeat_before_sync = is_old);
        bench.answer_join("m", 1, &["somebody else"]);
        bench.pass(3_000);
        assert_eq!(bench.find(ApiKey::Heartbeat).is_none(), is_old);
        bench.assign(&[0]);
        bench.pass(6_000);
        assert!(bench.find(ApiKey::Heartbeat).is_some());
    }
}

#[test]
fn an_assignor_takes_its_time() {
    let mut bench = Bench::of(&[MANUAL], |it| {
        it.processing.assignor_time = Span::from_millis(11_000);
    });
    bench.answer_join("m", 1, &["m"]);
    bench.pass(10_999);
    assert!(bench.find(ApiKey::SyncGroup).is_none(), "it computes");
    assert!(bench.find(ApiKey::Heartbeat).is_some(), "the thread beats");
    bench.pass(11_000);
    assert!(bench.find(ApiKey::SyncGroup).is_some());
}
