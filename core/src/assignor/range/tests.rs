//! The `range` assignor against tables and against Kafka's own.

use super::assign;
use crate::assignor::{Assignment, AssignorMember};
use crate::base::ids::{InstanceId, MemberId, TopicId, TopicPartition};
use std::collections::BTreeMap;
use std::sync::Arc;
#[cfg(target_arch = "wasm32")]
use wasm_bindgen_test::wasm_bindgen_test as test;

/// Topics with their sizes, and members with their subscriptions.
#[derive(Default)]
struct Case {
    topics: BTreeMap<String, (TopicId, u32)>,
    members: Vec<(MemberId, Option<InstanceId>, Vec<Arc<str>>)>,
}

impl Case {
    fn topic(&mut self, name: &str, partition_count: u32) {
        let id = TopicId(u32::try_from(self.topics.len()).expect("few topics"));
        self.topics.insert(name.to_owned(), (id, partition_count));
    }

    fn member(&mut self, member_id: &str, instance_id: Option<&str>, topics: &str) {
        let topics = topics
            .split([' ', ','])
            .filter(|name| !name.is_empty())
            .map(Arc::from);
        let instance_id = instance_id.map(InstanceId::new);
        self.members
            .push((MemberId::new(member_id), instance_id, topics.collect()));
    }

    fn assign(&self) -> Assignment {
        let members: Vec<AssignorMember<'_>> = self
            .members
            .iter()
            .map(|(member_id, instance_id, topics)| AssignorMember {
                member_id,
                group_instance_id: instance_id.as_ref(),
                topics,
            })
            .collect();
        assign(&members, |name| self.topics.get(name).copied())
    }

    /// `t:0-1 u:0-0`, in the order of the assignment.
    fn show(&self, partitions: &[TopicPartition]) -> String {
        let mut ranges: Vec<(TopicId, u32, u32)> = Vec::new();
        for TopicPartition { topic, partition } in partitions {
            match ranges.last_mut() {
                Some((last_topic, _, last)) if last_topic == topic && *last + 1 == *partition => {
                    *last = *partition;
                }
                _ => ranges.push((*topic, *partition, *partition)),
            }
        }
        let name = |id: TopicId| {
            let found = self.topics.iter().find(|(_, (topic, _))| *topic == id);
            found.map_or("?", |(name, _)| name.as_str())
        };
        let ranges = ranges
            .iter()
            .map(|(topic, first, last)| format!("{}:{first}-{last}", name(*topic)));
        ranges.collect::<Vec<_>>().join(" ")
    }
}

/// One line a case: topics; members with subscriptions; the result.
const TABLE: &[(&str, &str, &str)] = &[
    // T114: RangeAssignorTest.testTwoConsumersTwoTopicsSixPartitions.
    (
        "t1=3 t2=3",
        "c1[t1,t2] c2[t1,t2]",
        "c1=t1:0-1 t2:0-1; c2=t1:2-2 t2:2-2",
    ),
    // T121: the rows that were run through Kafka's assignor.
    (
        "t0=3 t1=3",
        "C0[t0,t1] C1[t0,t1]",
        "C0=t0:0-1 t1:0-1; C1=t0:2-2 t1:2-2",
    ),
    ("t=7", "A[t] B[t] C[t]", "A=t:0-2; B=t:3-4; C=t:5-6"),
    (
        "t=10",
        "A[t] B[t] C[t] D[t]",
        "A=t:0-2; B=t:3-5; C=t:6-7; D=t:8-9",
    ),
    ("t=2", "A[t] B[t] C[t]", "A=t:0-0; B=t:1-1; C="),
    (
        "a=1 b=1 c=1",
        "A[a,b,c] B[a,b,c]",
        "A=a:0-0 b:0-0 c:0-0; B=",
    ),
    ("t=2 u=3", "A[t,u] B[u]", "A=t:0-1 u:0-1; B=u:2-2"),
    (
        "t=4",
        "m9@i-a[t] m1[t] m5[t]",
        "m1=t:2-2; m5=t:3-3; m9=t:0-1",
    ),
    // Topics that nobody has, or that have no partitions, are left out.
    ("t=0", "A[t,missing]", "A="),
    ("t=2", "A[]", "A="),
];

#[test]
fn ranges_are_dealt_out_as_the_table_says() {
    for (topics, members, expected) in TABLE {
        let mut case = Case::default();
        for topic in topics.split(' ') {
            let (name, count) = topic.split_once('=').expect("a topic with its size");
            case.topic(name, count.parse().expect("a number"));
        }
        for member in members.split(' ') {
            let (id, topics) = member.split_once('[').expect("a member with its topics");
            let (id, instance_id) = match id.split_once('@') {
                Some((id, instance_id)) => (id, Some(instance_id)),
                None => (id, None),
            };
            case.member(id, instance_id, topics.trim_end_matches(']'));
        }
        let assigned = case.assign();
        let shown = assigned
            .iter()
            .map(|(id, got)| format!("{id}={}", case.show(got)));
        assert_eq!(
            shown.collect::<Vec<_>>().join("; "),
            *expected,
            "{topics} for {members}"
        );
    }
}

/// Cases of Kafka's own assignor whose members have no rack. The others (88) need KIP-881.
const VECTORS: &str = include_str!("../../../../tests/vectors/range.txt");

#[test]
fn every_recorded_case_without_racks_comes_out_as_in_kafka() {
    let (mut case, mut name, mut expected) = (Case::default(), "", BTreeMap::new());
    let (mut compared, mut skipped) = (0, 0);
    for line in VECTORS.lines().filter(|line| !line.starts_with('#')) {
        let fields: Vec<&str> = line.split('\t').collect();
        match *fields.as_slice() {
            ["topic", topic, count] => case.topic(topic, count.parse().expect("a number")),
            ["member", id, instance_id, topics, got] => {
                case.member(id, instance_id.strip_prefix('='), topics);
                expected.insert(MemberId::new(id), got.to_owned());
            }
            ["case" | "skipped", next] => {
                if !name.is_empty() {
                    compare(&case, name, &expected);
                    compared += 1;
                }
                skipped = next.parse().unwrap_or(0);
                (case, name, expected) = (Case::default(), next, BTreeMap::new());
            }
            _ => panic!("{line:?} is no line of a case"),
        }
    }
    assert_eq!(
        (compared, skipped),
        (186, 88),
        "cases compared, and left out for their racks"
    );
}

fn compare(case: &Case, name: &str, expected: &BTreeMap<MemberId, String>) {
    let assigned = case.assign();
    let shown: BTreeMap<MemberId, String> = assigned
        .iter()
        .map(|(id, got)| {
            // The vectors sort by name as Java does; so do assignments.
            (id.clone(), case.show(got))
        })
        .collect();
    assert_eq!(shown, *expected, "{name}");
}

#[test]
fn the_order_of_the_members_in_the_answer_does_not_matter() {
    let mut case = Case::default();
    case.topic("t", 5);
    for (id, instance_id) in [("z", Some("a")), ("b", None), ("a", None), ("y", Some("b"))] {
        case.member(id, instance_id, "t");
    }
    let assigned = case.assign();
    case.members.reverse();
    assert_eq!(case.assign(), assigned, "reversed");
    let shown: Vec<String> = assigned
        .iter()
        .map(|(id, got)| format!("{id}={}", case.show(got)))
        .collect();
    assert_eq!(
        shown.join("; "),
        "a=t:3-3; b=t:4-4; y=t:2-2; z=t:0-1",
        "static members first"
    );
}
