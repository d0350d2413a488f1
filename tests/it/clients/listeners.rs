//! Rebalances as a consumer's listener sees them, eager and cooperative.

use super::*;
use terrarium_core::client::consumer::ApplicationCall;

const MANUAL: (&str, &str) = ("enable.auto.commit", "false");
const COOPERATIVE: (&str, &str) = ("partition.assignment.strategy", "cooperative-sticky");

/// A member of generation 1 that owns partitions 0 and 1, at offset 0.
fn owner(settings: &[(&str, &str)], change: impl FnOnce(&mut ConsumerSettings)) -> Bench {
    let mut bench = Bench::of(settings, change);
    bench.answer_join("m", 1, &["somebody else"]);
    bench.assign(&[0, 1]);
    bench.answer_offsets();
    bench.trace.clear();
    bench
}

/// The others are rebalancing: the consumer learns of it with its heartbeat.
fn told_to_rejoin(bench: &mut Bench) {
    bench.pass(3_000);
    bench.answer_heartbeat(ErrorCode::RebalanceInProgress);
}

fn two_partitions(settings: &mut ConsumerSettings) {
    settings.processing.time = (Span::from_millis(20_000), Span::from_millis(20_000), false);
}

#[test]
fn the_protocol_is_what_all_assignors_support_t109() {
    let rows = [
        ("range", true),
        ("range,cooperative-sticky", true),
        ("cooperative-sticky,range", true),
        ("cooperative-sticky", false),
    ];
    for (assignors, is_eager) in rows {
        let assignors = ("partition.assignment.strategy", assignors);
        let mut bench = owner(&[MANUAL, assignors], |_| {});
        told_to_rejoin(&mut bench);
        let is_revoked = bench.count("partitions-revoked") == 1;
        assert_eq!(is_revoked, is_eager, "T109: {assignors:?}");
        let owned = bench.join().protocols.first().expect("an assignor");
        let owned = owned.1.owned_partitions.len();
        assert_eq!(owned, if is_eager { 0 } else { 2 }, "T109: {assignors:?}");
        assert_eq!(
            bench.join().protocols[0].1.generation_id,
            1,
            "the generation goes with it"
        );
    }
}

#[test]
fn a_cooperative_rebalance_has_two_rounds_and_stops_nothing_else() {
    let mut bench = owner(&[MANUAL, COOPERATIVE], |_| {});
    told_to_rejoin(&mut bench);
    // JoinGroup is parked; poll goes on.
    bench.answer_fetch_of(0, 0, &["a"]);
    bench.pass(3_001);
    assert_eq!(bench.processed(), [0], "consumption goes on");
    bench.answer_join("m", 2, &["somebody else"]);
    bench.assign(&[0]);
    assert_eq!(
        bench.callbacks(),
        [
            "join: group is already rebalancing",
            "revoked [1]",
            "join: need to revoke partitions and re-join",
            "assigned [] of [0]",
        ]
    );
    let join = bench.join();
    assert_eq!(
        join.protocols[0].1.generation_id, 2,
        "group M7: in the same poll"
    );
    assert_eq!(
        join.reason.as_deref(),
        Some("need to revoke partitions and re-join")
    );
    bench.answer_join("m", 3, &["somebody else"]);
    bench.assign(&[0]);
    assert_eq!(
        bench.callbacks().last().map(String::as_str),
        Some("assigned [] of [0]"),
        "nothing is revoked in the second round"
    );
    assert_eq!(bench.consumer.member_state(), MemberState::Stable);
    assert!(bench.find(ApiKey::JoinGroup).is_none(), "and it ends there");
}

#[test]
fn the_second_round_waits_for_the_commit_that_comes_before_it() {
    let mut bench = owner(&[COOPERATIVE], |_| {});
    told_to_rejoin(&mut bench);
    assert!(
        bench.find(ApiKey::JoinGroup).is_none(),
        "the commit comes first"
    );
    bench.answer_commit(ErrorCode::None);
    bench.answer_join("m", 2, &["somebody else"]);
    bench.assign(&[0]);
    assert!(
        bench.find(ApiKey::JoinGroup).is_none(),
        "group M7: with automatic commits the second JoinGroup comes in a later poll"
    );
    assert_eq!(bench.committing(), [(0, 0)], "group M7");
    bench.answer_commit(ErrorCode::None);
    assert!(bench.find(ApiKey::JoinGroup).is_some(), "group M7");
}

#[test]
fn what_is_returned_after_the_commit_is_not_committed_before_it_is_revoked() {
    let mut bench = owner(&[COOPERATIVE], |_| {});
    told_to_rejoin(&mut bench);
    bench.answer_commit(ErrorCode::None);
    bench.answer_fetch_of(1, 0, &["a"]);
    bench.pass(5_100);
    assert_eq!(bench.processed(), [0], "poll goes on");
    assert!(
        bench.committing().is_empty(),
        "group M3: no timed commit meanwhile"
    );
    bench.answer_join("m", 2, &["somebody else"]);
    bench.assign(&[0]);
    assert!(bench.callbacks().contains(&String::from("revoked [1]")));
    assert_eq!(
        bench.committing(),
        [(0, 0)],
        "group M3: the next owner of partition 1 reads the record again"
    );
}

#[test]
fn a_busy_application_learns_of_its_assignment_at_its_next_poll() {
    let mut bench = owner(&[MANUAL, COOPERATIVE], two_partitions);
    told_to_rejoin(&mut bench);
    bench.answer_fetch_of(0, 0, &["a"]);
    bench.answer_join("m", 2, &["somebody else"]);
    assert!(
        bench.find(ApiKey::SyncGroup).is_none(),
        "nobody reads the answer while the heartbeat thread sleeps"
    );
    bench.pass(23_001);
    assert!(bench.find(ApiKey::SyncGroup).is_some(), "poll does");
    bench.assign(&[0]);
    assert!(bench.callbacks().contains(&String::from("revoked [1]")));
}

#[test]
fn a_membership_that_ends_before_the_callbacks_starts_over_without_an_id() {
    let mut bench = owner(&[MANUAL, COOPERATIVE], two_partitions);
    told_to_rejoin(&mut bench);
    bench.answer_join("m", 2, &["somebody else"]);
    bench.answer_fetch_of(0, 0, &["a"]);
    bench.assign(&[0]);
    assert_eq!(
        bench.consumer.member_state(),
        MemberState::Stable,
        "the thread reads the answer"
    );
    bench.pass(6_000);
    bench.answer_heartbeat(ErrorCode::IllegalGeneration);
    bench.pass(23_001);
    assert!(bench.join().member_id.is_empty(), "group M6");
    let lost = String::from("lost [0, 1]");
    assert!(
        bench.callbacks().contains(&lost),
        "group M6: {:?}",
        bench.callbacks()
    );
    assert_eq!(bench.count("partitions-revoked"), 0, "group M6");
}

#[test]
fn an_assignment_of_another_subscription_is_dropped_t101() {
    let mut bench = Bench::new(&[MANUAL], CommitMode::Never);
    bench.answer_join("m", 1, &["somebody else"]);
    let other = ApplicationCall::Subscribe(vec![Arc::from("u")]);
    bench.run(|consumer, out| consumer.call(other, out));
    bench.trace.clear();
    bench.assign(&[0]);
    assert_eq!(
        bench.callbacks(),
        [
            "join: received assignment does not match the current subscription",
            "revoked []",
        ],
        "T101, group A12: no callback for the assignment; the eager rejoin revokes nothing"
    );
    assert_eq!(bench.join().protocols[0].1.topics, [Arc::from("u")], "T101");
    assert_eq!(bench.consumer.partitions().len(), 0, "T101");
}

#[test]
fn a_new_subscription_joins_again() {
    let mut bench = owner(&[MANUAL], |_| {});
    let more = ApplicationCall::Subscribe(vec![Arc::from("u"), Arc::from("t")]);
    bench.run(|consumer, out| consumer.call(more, out));
    assert_eq!(
        bench.join().reason.as_deref(),
        Some("subscription has changed")
    );
    let mut bench = owner(&[MANUAL, COOPERATIVE], |_| {});
    let other = ApplicationCall::Subscribe(vec![Arc::from("u")]);
    bench.run(|consumer, out| consumer.call(other, out));
    assert_eq!(
        bench.callbacks(),
        ["join: subscription has changed", "revoked [0, 1]"],
        "cooperatively what is not subscribed to goes before JoinGroup"
    );
    let mut bench = owner(&[MANUAL], |_| {});
    bench.run(|consumer, out| consumer.call(ApplicationCall::EnforceRebalance, out));
    assert_eq!(
        bench.join().reason.as_deref(),
        Some("rebalance enforced by user")
    );
}

#[test]
fn unsubscribing_leaves_the_group() {
    let mut bench = owner(&[MANUAL], |_| {});
    let nothing = ApplicationCall::Subscribe(Vec::new());
    bench.run(|consumer, out| consumer.call(nothing, out));
    assert_eq!(bench.callbacks(), ["revoked [0, 1]"]);
    match bench.find(ApiKey::LeaveGroup) {
        Some((_, Request::LeaveGroup(leave), _)) => assert_eq!(
            leave.members[0].reason.as_deref(),
            Some("the consumer unsubscribed from all topics")
        ),
        _ => panic!("it does not leave"),
    }
    bench.pass(60_000);
    assert!(bench.find(ApiKey::JoinGroup).is_none(), "it stays away");
    let again = ApplicationCall::Subscribe(vec![Arc::from("t")]);
    bench.run(|consumer, out| consumer.call(again, out));
    assert!(bench.join().member_id.is_empty(), "until it subscribes");
}

/// A member that has processed offset 0 of partition 1 and not committed it.
fn uncommitted(settings: &[(&str, &str)]) -> Bench {
    let mut bench = owner(settings, |it| it.processing.commits_on_revoke = true);
    bench.answer_fetch_of(1, 0, &["a"]);
    bench.pass(1);
    assert_eq!(bench.processed(), [0], "it is done");
    bench
}

#[test]
fn a_listener_may_commit_before_the_join_and_after_the_sync() {
    let mut bench = uncommitted(&[MANUAL]);
    told_to_rejoin(&mut bench);
    assert_eq!(
        bench.committing(),
        [(1, 1)],
        "group M2: the old generation is still good"
    );
    assert_eq!(bench.count("partitions-revoked"), 0, "commitSync() first");
    bench.answer_commit(ErrorCode::None);
    assert_eq!(
        bench.callbacks(),
        ["join: group is already rebalancing", "revoked [0, 1]"]
    );
    assert_eq!(bench.join().member_id.as_str(), "m", "then it joins");

    let mut bench = uncommitted(&[MANUAL, COOPERATIVE]);
    told_to_rejoin(&mut bench);
    bench.answer_join("m", 2, &["somebody else"]);
    bench.assign(&[0]);
    match bench.find(ApiKey::OffsetCommit) {
        Some((_, Request::OffsetCommit(commit), _)) => {
            assert_eq!(commit.generation_id, 2, "group M2: in the new generation");
        }
        _ => panic!("group M2: the listener commits"),
    }
    assert_eq!(bench.count("partitions-revoked"), 0, "commitSync() first");
    bench.answer_commit(ErrorCode::None);
    assert!(bench.callbacks().contains(&String::from("revoked [1]")));
    assert!(bench.find(ApiKey::JoinGroup).is_some(), "then it goes on");
}

#[test]
fn a_listener_that_has_lost_its_partitions_cannot_commit() {
    let mut bench = uncommitted(&[MANUAL]);
    bench.pass(3_000);
    bench.answer_heartbeat(ErrorCode::UnknownMemberId);
    assert!(bench.committing().is_empty(), "group M2: no request");
    assert_eq!(
        bench.commit_exception(),
        Some("CommitFailedException"),
        "group M1, group M2: onPartitionsLost does what onPartitionsRevoked does"
    );
    assert_eq!(bench.count("partitions-lost"), 1, "group M1");
}

#[test]
fn a_commit_between_join_and_sync_is_refused_at_home() {
    let mut bench = owner(&[MANUAL, COOPERATIVE], |it| {
        it.processing.commit = CommitMode::Sync;
    });
    told_to_rejoin(&mut bench);
    bench.answer_fetch_of(0, 0, &["a"]);
    bench.pass(3_001);
    assert_eq!(bench.processed(), [0]);
    assert!(bench.committing().is_empty(), "group M2: no request");
    assert_eq!(
        bench.commit_exception(),
        Some("RebalanceInProgressException"),
        "group M2"
    );
}

#[test]
fn a_commit_that_is_refused_for_another_reason_resets_nothing() {
    let mut bench = committing(CommitMode::Sync);
    bench.answer_commit(ErrorCode::GroupIdNotFound);
    assert_eq!(bench.commit_exception(), Some("KafkaException"), "group M8");
    assert_eq!(
        bench.consumer.member_state(),
        MemberState::Stable,
        "group M8"
    );
    assert_eq!(bench.consumer.generation_id(), 1, "group M8");
}
