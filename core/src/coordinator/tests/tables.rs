//! Tables of the coordinator's pure rules, each over its whole input.

use super::bench::Bench;
use crate::base::ids::GroupId;
use crate::coordinator::{GroupCoordinator, client_error, may_become, partition_for};
use crate::trace::event::GroupState;
use crate::wire::error_code::ErrorCode;
#[cfg(target_arch = "wasm32")]
use wasm_bindgen_test::wasm_bindgen_test as test;

/// Lines: from; columns: to.
const EDGES: &str = "state               Empty Preparing Completing Stable Dead
Empty               -     yes       -          -      yes
PreparingRebalance  yes   -         yes        -      yes
CompletingRebalance -     yes       -          yes    yes
Stable              -     yes       -          -      yes
Dead                -     -         -          -      yes
";

#[test]
fn a_group_goes_from_state_to_state_only_along_these_edges() {
    const STATES: [GroupState; 5] = [
        GroupState::Empty,
        GroupState::PreparingRebalance,
        GroupState::CompletingRebalance,
        GroupState::Stable,
        GroupState::Dead,
    ];
    let head = format!("{:20}Empty Preparing Completing Stable Dead\n", "state");
    let lines = STATES.map(|from| {
        let [empty, preparing, completing, stable, dead] =
            STATES.map(|to| if may_become(from, to) { "yes" } else { "-" });
        let name = from.name();
        format!("{name:20}{empty:6}{preparing:10}{completing:11}{stable:7}{dead}\n")
    });
    let table = head + &lines.concat();
    assert_eq!(table, EDGES, "edges");
}

/// T87 and the table of partitions: group id, modulo 50, modulo 5.
#[test]
fn a_group_lives_in_the_partition_that_the_hash_of_its_id_says() {
    const TABLE: [(&str, u32, u32); 7] = [
        ("foo", 24, 4),
        ("test", 48, 3),
        ("my-group", 12, 2),
        ("orders", 31, 1),
        ("payments", 13, 3),
        ("group-1", 49, 4),
        // Its hash code is the smallest number of 32 bits, whose absolute value counts as 0.
        ("polygenelubricants", 0, 0),
    ];
    for (group_id, of_50, of_5) in TABLE {
        let group_id = GroupId::new(group_id);
        assert_eq!(partition_for(&group_id, 50), of_50, "T87: {group_id} of 50");
        assert_eq!(
            GroupCoordinator::partition_for(&group_id, 5),
            of_5,
            "{group_id} of 5"
        );
    }
}

/// T32, T33, and what decides a tie.
#[test]
fn the_members_vote_for_an_assignor_that_all_support() {
    const TABLE: [(&[&str], &str); 5] = [
        // T32: two votes against one.
        (
            &["range+roundrobin", "roundrobin+range", "roundrobin+range"],
            "roundrobin",
        ),
        // T33: the only one in common.
        (&["range+roundrobin", "roundrobin+foo"], "roundrobin"),
        // A tie: the leader's vote.
        (&["range+roundrobin", "roundrobin+range"], "range"),
        (&["roundrobin+range", "range+roundrobin"], "roundrobin"),
        // A vote goes to the first in a member's own list that all support.
        (&["x+b+a", "y+b+a", "a+b"], "b"),
    ];
    for (members, chosen) in TABLE {
        let mut bench = Bench::new();
        for (index, protocols) in members.iter().enumerate() {
            bench.line(&format!("enter c{index} p={protocols}"));
        }
        let group = bench
            .coordinator
            .group(&GroupId::new("g"))
            .expect("a group");
        assert_eq!(
            group.select_protocol().as_deref(),
            Some(chosen),
            "T32, T33: {members:?}"
        );
    }
}

/// The initial delay (KIP-134): settings, times of further joins, and when the phase ends.
#[test]
fn an_initial_join_phase_goes_on_in_rounds_until_nobody_comes_or_time_is_up() {
    const TABLE: [(u64, u64, &[u64], u64); 8] = [
        (3_000, 300_000, &[], 3_000),
        (3_000, 300_000, &[1_000], 6_000),
        (3_000, 300_000, &[2_999, 4_000], 9_000),
        (3_000, 10_000, &[1_000, 4_000, 7_000, 9_500], 10_000),
        (3_000, 7_000, &[1_000, 4_000, 6_500], 7_000),
        (3_000, 4_000, &[1_000, 3_500], 4_000),
        // The first round is not cut short by the rebalance timeout.
        (3_000, 1_000, &[500, 900], 3_000),
        (0, 300_000, &[], 0),
    ];
    for (delay, rebalance_timeout, joins, ends_at) in TABLE {
        let mut bench = Bench::new();
        bench.line(&format!("config group.initial.rebalance.delay.ms {delay}"));
        bench.line(&format!("enter c r={rebalance_timeout}"));
        for (index, at) in joins.iter().enumerate() {
            bench.line(&format!("@{at}"));
            bench.line(&format!("enter c{index} r={rebalance_timeout}"));
        }
        if 0 < ends_at {
            bench.line(&format!("@{}", ends_at - 1));
            let group = bench
                .coordinator
                .group(&GroupId::new("g"))
                .expect("a group");
            assert_eq!(
                group.generation_id, 0,
                "{delay} {rebalance_timeout} {joins:?}: before"
            );
        }
        bench.line(&format!("@{ends_at}"));
        let group = bench
            .coordinator
            .group(&GroupId::new("g"))
            .expect("a group");
        assert_eq!(
            group.generation_id, 1,
            "{delay} {rebalance_timeout} {joins:?}: after"
        );
    }
}

/// Every error that a broker can have on an append, and what the client is told.
#[test]
fn clients_are_told_of_a_failed_append_in_their_own_words() {
    for error in ErrorCode::ALL {
        let expected = match error.number() {
            3 | 19 | 7 => 15,
            6 | 56 => 16,
            10 | 28 => -1,
            other => other,
        };
        assert_eq!(client_error(*error).number(), expected, "{error}");
    }
}
