//! The next step of a member, over the cases of Kafka's own tests.

#[cfg(target_arch = "wasm32")]
use wasm_bindgen_test::wasm_bindgen_test as test;

use super::reconcile::{Goal, next_step};
use crate::base::ids::{TopicId, TopicPartition};
use crate::wire::error_code::ErrorCode;
use crate::wire::record::{CurrentAssignment, ReconciliationState};
use std::fmt::Write as _;
use std::sync::Arc;

/// `1:2,3 2:5`: partitions 2 and 3 of topic 1, and 5 of topic 2.
fn partitions(text: &str) -> Vec<TopicPartition> {
    let mut found = Vec::new();
    for word in text.split_whitespace() {
        let (topic, numbers) = word.split_once(':').expect("topic:partitions");
        let topic = TopicId(topic.parse().expect("a number"));
        for number in numbers.split(',') {
            found.push(TopicPartition::new(
                topic,
                number.parse().expect("a number"),
            ));
        }
    }
    found
}

fn show(partitions: &[TopicPartition]) -> String {
    let mut text = String::new();
    let mut last = None;
    for TopicPartition { topic, partition } in partitions {
        let sign = if last == Some(*topic) {
            String::from(",")
        } else if last.is_none() {
            format!("{topic}:")
        } else {
            format!(" {topic}:")
        };
        last = Some(*topic);
        write!(text, "{sign}{partition}").expect("text grows");
    }
    text
}

/// A member: epoch, previous epoch, state, assigned, pending revocation.
type Member<'a> = (i32, i32, ReconciliationState, &'a str, &'a str);

/// Fact, member, target epoch and target, what it says that it owns, partitions of others, and
/// what becomes of the member.
type Case<'a> = (
    &'a str,
    Member<'a>,
    (i32, &'a str),
    Option<&'a str>,
    &'a str,
    Member<'a>,
);

fn current(
    (member_epoch, previous_member_epoch, state, assigned, pending): Member<'_>,
) -> CurrentAssignment {
    CurrentAssignment {
        member_epoch,
        previous_member_epoch,
        state,
        assigned: partitions(assigned),
        pending_revocation: partitions(pending),
    }
}

const STABLE: ReconciliationState = ReconciliationState::Stable;
const UNREVOKED: ReconciliationState = ReconciliationState::UnrevokedPartitions;
const UNRELEASED: ReconciliationState = ReconciliationState::UnreleasedPartitions;
const A: &str = "1:1,2,3 2:4,5,6";
const HALF: &str = "1:2,3 2:5,6";

const CASES: &[Case<'_>] = &[
    (
        "at its target nothing happens",
        (10, 9, STABLE, A, ""),
        (10, A),
        None,
        "",
        (10, 9, STABLE, A, ""),
    ),
    (
        "a new epoch with the same target",
        (10, 9, STABLE, A, ""),
        (11, A),
        None,
        "",
        (11, 10, STABLE, A, ""),
    ),
    (
        "new partitions are handed out at once",
        (10, 9, STABLE, HALF, ""),
        (11, A),
        None,
        "",
        (11, 10, STABLE, A, ""),
    ),
    (
        "T141",
        (10, 9, STABLE, A, ""),
        (11, "1:2,3,4 2:5,6,7"),
        None,
        "",
        (10, 10, UNREVOKED, HALF, "1:1 2:4"),
    ),
    (
        "T142",
        (10, 9, STABLE, A, ""),
        (11, "1:1,2,3 2:4,5,7"),
        Some(""),
        "2:7",
        (11, 10, UNRELEASED, "1:1,2,3 2:4,5", ""),
    ),
    (
        "some are free, some are not",
        (10, 9, STABLE, "1:1", ""),
        (11, "1:1,2,3"),
        None,
        "1:2",
        (11, 10, UNRELEASED, "1:1,3", ""),
    ),
    (
        "T143: it does not say what it owns",
        (10, 10, UNREVOKED, HALF, "1:1 2:4"),
        (12, HALF),
        None,
        "",
        (10, 10, UNREVOKED, HALF, "1:1 2:4"),
    ),
    (
        "T143: it still owns one",
        (10, 10, UNREVOKED, HALF, "1:1 2:4"),
        (12, HALF),
        Some("1:1"),
        "",
        (10, 10, UNREVOKED, HALF, "1:1 2:4"),
    ),
    (
        "T143: it still owns the other",
        (10, 10, UNREVOKED, HALF, "1:1 2:4"),
        (12, HALF),
        Some("2:4"),
        "",
        (10, 10, UNREVOKED, HALF, "1:1 2:4"),
    ),
    (
        "T144",
        (10, 10, UNREVOKED, HALF, "1:1 2:4"),
        (12, "1:3 2:6"),
        Some(HALF),
        "",
        (11, 10, UNREVOKED, "1:3 2:6", "1:2 2:5"),
    ),
    (
        "an acknowledgement reaches the target",
        (10, 10, UNREVOKED, HALF, "1:1 2:4"),
        (11, "1:2,3,4 2:5,6,7"),
        Some(HALF),
        "",
        (11, 10, STABLE, "1:2,3,4 2:5,6,7", ""),
    ),
    (
        "an acknowledgement, and others have not given up",
        (10, 10, UNREVOKED, HALF, "1:1 2:4"),
        (11, "1:2,3,4 2:5,6,7"),
        Some(HALF),
        "1:4 2:7",
        (11, 10, UNRELEASED, HALF, ""),
    ),
    (
        "T145: the first such heartbeat only moves the previous epoch",
        (11, 10, UNRELEASED, HALF, ""),
        (11, A),
        None,
        "1:1 2:4",
        (11, 11, UNRELEASED, HALF, ""),
    ),
    (
        "T145",
        (11, 11, UNRELEASED, HALF, ""),
        (11, A),
        None,
        "1:1 2:4",
        (11, 11, UNRELEASED, HALF, ""),
    ),
    (
        "what has been released is handed out",
        (11, 11, UNRELEASED, HALF, ""),
        (11, A),
        None,
        "2:4",
        (11, 11, UNRELEASED, "1:1,2,3 2:5,6", ""),
    ),
    (
        "T146",
        (11, 10, UNRELEASED, HALF, ""),
        (12, "1:3 2:6"),
        None,
        "",
        (11, 11, UNREVOKED, "1:3 2:6", "1:2 2:5"),
    ),
];

#[test]
fn a_member_steps_towards_its_target_t141_t142_t143_t144_t145_t146() {
    for (fact, member, (epoch, target), owned, taken, expected) in CASES {
        let (target, taken) = (partitions(target), partitions(taken));
        let owned = owned.map(partitions);
        let member = Arc::new(current(*member));
        let held = |id: TopicPartition| {
            let own = member.assigned.contains(&id) || member.pending_revocation.contains(&id);
            if own {
                member.member_epoch
            } else if taken.contains(&id) {
                8
            } else {
                -1
            }
        };
        let goal = Goal {
            epoch: *epoch,
            target: &target,
            owned: owned.as_deref(),
        };
        let step = next_step(&member, &goal, &held).expect("a known state");
        assert_eq!(
            *step,
            current(*expected),
            "{fact}: {}",
            show(&step.assigned)
        );
    }
}

#[test]
fn a_partition_of_a_static_member_that_is_away_is_not_free_m16() {
    let member = Arc::new(CurrentAssignment {
        member_epoch: 4,
        ..CurrentAssignment::default()
    });
    let target = partitions("1:1,2");
    let goal = Goal {
        epoch: 5,
        target: &target,
        owned: None,
    };
    let away = |id: TopicPartition| if id.partition == 1 { -2 } else { -1 };
    let step = next_step(&member, &goal, &away).expect("a known state");
    assert_eq!(
        (step.state, show(&step.assigned)),
        (
            ReconciliationState::UnreleasedPartitions,
            String::from("1:2")
        ),
        "group M16: only -1 is free"
    );
}

#[test]
fn what_a_newer_target_gives_back_is_blocked_by_its_own_member_for_a_step_m17() {
    use ReconciliationState::{Stable, UnreleasedPartitions, UnrevokedPartitions};
    let target = partitions("1:1,2");
    let mut member = Arc::new(current((10, 10, UnrevokedPartitions, "1:2", "1:1")));
    let owned = partitions("1:2");
    let mut seen = Vec::new();
    for owned in [None, Some(&*owned), None] {
        let before = Arc::clone(&member);
        let held = |id: TopicPartition| {
            let own = before.assigned.contains(&id) || before.pending_revocation.contains(&id);
            if own { before.member_epoch } else { -1 }
        };
        let goal = Goal {
            epoch: 12,
            target: &target,
            owned,
        };
        member = next_step(&member, &goal, &held).expect("a known state");
        seen.push((member.state, member.member_epoch, show(&member.assigned)));
    }
    let expected = [
        (UnrevokedPartitions, 10, "1:2"),
        (UnreleasedPartitions, 12, "1:2"),
        (Stable, 12, "1:1,2"),
    ];
    let expected = expected.map(|(state, epoch, owns)| (state, epoch, String::from(owns)));
    assert_eq!(seen, expected, "group M17");
}

#[test]
fn a_member_in_an_unknown_state_starts_over_t147() {
    let member = Arc::new(current((11, 10, ReconciliationState::Unknown, "1:1", "")));
    let target = partitions("1:1,2");
    let own = partitions("1:1");
    for (owned, expected) in [
        (None, Err(ErrorCode::FencedMemberEpoch)),
        (Some(&*own), Err(ErrorCode::FencedMemberEpoch)),
        (Some(&[][..]), Ok((ReconciliationState::Stable, 12))),
    ] {
        let goal = Goal {
            epoch: 12,
            target: &target,
            owned,
        };
        let step = next_step(&member, &goal, &|_| -1);
        let step = step.map(|step| (step.state, step.member_epoch));
        assert_eq!(step, expected, "T147: it says that it owns {owned:?}");
    }
}
