//! The client-side assignors against tables.

use super::lag_aware::Weights;
use super::server::{
    ServerAssignor, ServerAssignorError, SubscriptionType, TargetMember, TargetTopic,
};
use super::{Assignment, Assignor, AssignorMember, ClusterTopic};
use crate::base::config::ConsumerConfig;
use crate::base::ids::{InstanceId, MemberId, TopicId, TopicPartition};
use crate::base::user_data::UserData;
use std::sync::Arc;
#[cfg(target_arch = "wasm32")]
use wasm_bindgen_test::wasm_bindgen_test as test;

/// Topics with their sizes, and members with their subscriptions and what they own.
#[derive(Default)]
struct Case {
    topics: Vec<(Arc<str>, u32)>,
    members: Vec<Member>,
}

/// A member as a case writes it: `id@instance[topic,…]{topic-partition,…}generation`.
struct Member {
    id: MemberId,
    instance_id: Option<InstanceId>,
    topics: Vec<Arc<str>>,
    data: Option<UserData>,
}

fn between(text: &str, open: char, close: char) -> Option<(&str, &str, &str)> {
    let (before, rest) = text.split_once(open)?;
    let (inside, after) = rest.split_once(close)?;
    Some((before, inside, after))
}

fn list(text: &str) -> impl Iterator<Item = &str> {
    text.split(',').filter(|name| !name.is_empty())
}

impl Case {
    fn new(topics: &str, members: &str) -> Self {
        let mut case = Self::default();
        for topic in topics.split(' ') {
            let (name, count) = topic.split_once('=').expect("a topic with its size");
            let count = count.parse().expect("a number");
            case.topics.push((Arc::from(name), count));
        }
        for member in members.split(' ') {
            let (id, topics, rest) = between(member, '[', ']').expect("a member with its topics");
            let (id, instance_id) = match id.split_once('@') {
                Some((id, instance_id)) => (id, Some(InstanceId::new(instance_id))),
                None => (id, None),
            };
            let data = between(rest, '{', '}').map(|(_, owned, generation)| UserData {
                partitions: list(owned).map(|name| case.partition(name)).collect(),
                generation_id: generation.parse().unwrap_or(1),
                lags: Vec::new(),
            });
            case.members.push(Member {
                id: MemberId::new(id),
                instance_id,
                topics: list(topics).map(Arc::from).collect(),
                data,
            });
        }
        case
    }

    /// `topic-partition`, perhaps with `=lag`.
    fn partition(&self, name: &str) -> TopicPartition {
        let (topic, partition) = name.rsplit_once('-').expect("a partition");
        let topic = self.topics.iter().position(|(known, _)| &**known == topic);
        let topic = TopicId(u32::try_from(topic.expect("a topic")).expect("few topics"));
        TopicPartition::new(topic, partition.parse().expect("a number"))
    }

    /// Who gets what, members in the order of their ids, partitions by topic and number.
    fn run(&self, assignor: Assignor, weights: Weights) -> String {
        let is_cooperative = assignor == Assignor::CooperativeSticky;
        let members: Vec<AssignorMember<'_>> = self
            .members
            .iter()
            .map(|member| {
                let data = member.data.as_ref();
                let owned = data.filter(|_| is_cooperative);
                AssignorMember {
                    group_instance_id: member.instance_id.as_ref(),
                    owned_partitions: owned.map_or(&[], |data| &data.partitions),
                    generation_id: data.map_or(-1, |data| data.generation_id),
                    user_data: data.filter(|_| !is_cooperative),
                    ..AssignorMember::new(&member.id, &member.topics)
                }
            })
            .collect();
        let topics: Vec<ClusterTopic<'_>> = (0..)
            .zip(&self.topics)
            .map(|(id, (name, partition_count))| ClusterTopic {
                name,
                topic: TopicId(id),
                partition_count: *partition_count,
                racks: &[],
            })
            .collect();
        let assignment = match assignor.assign(&members, &topics, weights) {
            Ok(assignment) => assignment,
            Err(error) => return error.to_string(),
        };
        self.show(assignment)
    }

    fn show(&self, assignment: Assignment) -> String {
        let mut shown: Vec<String> = self
            .members
            .iter()
            .zip(assignment)
            .map(|(member, mut got)| {
                got.sort_unstable();
                let names = got.iter().map(|id| {
                    let (name, _) = &self.topics[id.topic.0 as usize];
                    format!("{name}-{}", id.partition)
                });
                format!("{}={}", member.id, names.collect::<Vec<_>>().join(","))
            })
            .collect();
        shown.sort_unstable();
        shown.join(" ")
    }
}

/// One line a case: fact and assignor; topics; members; the result.
const TABLE: &[(&str, &str, &str, &str)] = &[
    (
        "T114 range",
        "t1=3 t2=3",
        "c1[t1,t2] c2[t1,t2]",
        "c1=t1-0,t1-1,t2-0,t2-1 c2=t1-2,t2-2",
    ),
    (
        "T115 roundrobin",
        "t1=3 t2=3",
        "c1[t1,t2] c2[t1,t2]",
        "c1=t1-0,t1-2,t2-1 c2=t1-1,t2-0,t2-2",
    ),
    // T121: the rows that were run through Kafka's assignors.
    (
        "T121 range",
        "t0=3 t1=3",
        "C0[t0,t1] C1[t0,t1]",
        "C0=t0-0,t0-1,t1-0,t1-1 C1=t0-2,t1-2",
    ),
    (
        "T121 range",
        "t=7",
        "A[t] B[t] C[t]",
        "A=t-0,t-1,t-2 B=t-3,t-4 C=t-5,t-6",
    ),
    (
        "T121 range",
        "t=10",
        "A[t] B[t] C[t] D[t]",
        "A=t-0,t-1,t-2 B=t-3,t-4,t-5 C=t-6,t-7 D=t-8,t-9",
    ),
    ("T121 range", "t=2", "A[t] B[t] C[t]", "A=t-0 B=t-1 C="),
    (
        "T121 range",
        "a=1 b=1 c=1",
        "A[a,b,c] B[a,b,c]",
        "A=a-0,b-0,c-0 B=",
    ),
    (
        "T121 range",
        "t=2 u=3",
        "A[t,u] B[u]",
        "A=t-0,t-1,u-0,u-1 B=u-2",
    ),
    (
        "T121 range",
        "t=4",
        "m9@i-a[t] m1[t] m5[t]",
        "m1=t-2 m5=t-3 m9=t-0,t-1",
    ),
    (
        "T121 roundrobin",
        "t0=3 t1=3",
        "C0[t0,t1] C1[t0,t1]",
        "C0=t0-0,t0-2,t1-1 C1=t0-1,t1-0,t1-2",
    ),
    (
        "T121 roundrobin",
        "t0=1 t1=2 t2=3",
        "C0[t0] C1[t0,t1] C2[t0,t1,t2]",
        "C0=t0-0 C1=t1-0 C2=t1-1,t2-0,t2-1,t2-2",
    ),
    (
        "T121 roundrobin",
        "t0=2 t1=2 t2=2 t3=2",
        "C0[t0,t1,t2,t3] C1[t0,t1,t2,t3] C2[t0,t1,t2,t3]",
        "C0=t0-0,t1-1,t3-0 C1=t0-1,t2-0,t3-1 C2=t1-0,t2-1",
    ),
    (
        "T121 roundrobin",
        "t0=2 t1=2 t2=2 t3=2",
        "C0[t0,t1,t2,t3] C2[t0,t1,t2,t3]",
        "C0=t0-0,t1-0,t2-0,t3-0 C2=t0-1,t1-1,t2-1,t3-1",
    ),
    (
        "T121 roundrobin",
        "t=2 u=3",
        "A[t,u] B[u]",
        "A=t-0,t-1,u-1 B=u-0,u-2",
    ),
    (
        "T116 sticky",
        "t=4",
        "c1[t]{t-0,t-1} c2[t]{t-2} c3[t]",
        "c1=t-0,t-1 c2=t-2 c3=t-3",
    ),
    (
        "T116 cooperative-sticky",
        "t=4",
        "c1[t]{t-0,t-1} c2[t]{t-2} c3[t]",
        "c1=t-0,t-1 c2=t-2 c3=t-3",
    ),
    (
        "T117 sticky",
        "topic1=2 topic2=3",
        "c1[topic1,topic2]{topic1-0,topic2-1} c2[topic1,topic2]{topic1-1,topic2-2}",
        "c1=topic1-0,topic2-0,topic2-1 c2=topic1-1,topic2-2",
    ),
    (
        "T117 cooperative-sticky",
        "topic1=2 topic2=3",
        "c1[topic1,topic2]{topic1-0,topic2-1} c2[topic1,topic2]{topic1-1,topic2-2}",
        "c1=topic1-0,topic2-0,topic2-1 c2=topic1-1,topic2-2",
    ),
    (
        "T118 sticky",
        "t=3",
        "c1[t]{t-0,t-1,t-2} c2[t]",
        "c1=t-0,t-1 c2=t-2",
    ),
    (
        "T118 cooperative-sticky",
        "t=3",
        "c1[t]{t-0,t-1,t-2} c2[t]",
        "c1=t-0,t-1 c2=",
    ),
    (
        "T119 sticky",
        "t=6",
        "A[t]{t-0,t-1,t-2}10 B[t]{t-0,t-1,t-2}9",
        "A=t-0,t-1,t-2 B=t-3,t-4,t-5",
    ),
    (
        "T119 cooperative-sticky",
        "t=6",
        "A[t]{t-0,t-1,t-2}10 B[t]{t-0,t-1,t-2}9",
        "A=t-0,t-1,t-2 B=t-3,t-4,t-5",
    ),
    (
        "T120 sticky",
        "t=4",
        "A[t]{t-0,t-1} B[t]{t-0,t-2} C[t]",
        "A=t-1,t-3 B=t-2 C=t-0",
    ),
    (
        "T120 cooperative-sticky",
        "t=4",
        "A[t]{t-0,t-1} B[t]{t-0,t-2} C[t]",
        "A=t-1,t-3 B=t-2 C=",
    ),
    (
        "T121 sticky",
        "t=6",
        "A[t] B[t]",
        "A=t-0,t-2,t-4 B=t-1,t-3,t-5",
    ),
    (
        "T121 cooperative-sticky",
        "t=6",
        "A[t] B[t]",
        "A=t-0,t-2,t-4 B=t-1,t-3,t-5",
    ),
    (
        "T121 sticky",
        "t=7",
        "A[t] B[t] C[t]",
        "A=t-0,t-3,t-6 B=t-1,t-4 C=t-2,t-5",
    ),
    (
        "T121 cooperative-sticky",
        "t=7",
        "A[t] B[t] C[t]",
        "A=t-0,t-3,t-6 B=t-1,t-4 C=t-2,t-5",
    ),
    (
        "T121 sticky",
        "t=3 u=3",
        "A[t,u] B[t,u]",
        "A=t-0,t-2,u-1 B=t-1,u-0,u-2",
    ),
    (
        "T121 cooperative-sticky",
        "t=3 u=3",
        "A[t,u] B[t,u]",
        "A=t-0,t-2,u-1 B=t-1,u-0,u-2",
    ),
    (
        "T121 sticky",
        "t0=2 t1=2 t2=2 t3=2",
        "C0[t0,t1,t2,t3] C1[t0,t1,t2,t3] C2[t0,t1,t2,t3]",
        "C0=t0-0,t1-1,t3-0 C1=t0-1,t2-0,t3-1 C2=t1-0,t2-1",
    ),
    (
        "T121 sticky",
        "t0=2 t1=2 t2=2 t3=2",
        "C0[t0,t1,t2,t3]{t0-0,t1-1,t3-0} C2[t0,t1,t2,t3]{t1-0,t2-1}",
        "C0=t0-0,t0-1,t1-1,t3-0 C2=t1-0,t2-0,t2-1,t3-1",
    ),
    (
        "T121 sticky",
        "t0=1 t1=2 t2=3",
        "C0[t0] C1[t0,t1] C2[t0,t1,t2]",
        "C0=t0-0 C1=t1-0,t1-1 C2=t2-0,t2-1,t2-2",
    ),
    (
        "T121 sticky",
        "t0=1 t1=2 t2=3",
        "C1[t0,t1]{t1-0,t1-1} C2[t0,t1,t2]{t2-0,t2-1,t2-2}",
        "C1=t0-0,t1-0,t1-1 C2=t2-0,t2-1,t2-2",
    ),
    (
        "T121 sticky",
        "t=2 u=3",
        "A[t,u] B[u]",
        "A=t-0,t-1,u-2 B=u-0,u-1",
    ),
    (
        "T121 sticky",
        "t=6",
        "A[t]{t-0,t-2,t-4} B[t]{t-1,t-3,t-5} C[t]",
        "A=t-0,t-2 B=t-1,t-3 C=t-4,t-5",
    ),
    (
        "T121 cooperative-sticky",
        "t=6",
        "A[t]{t-0,t-2,t-4} B[t]{t-1,t-3,t-5} C[t]",
        "A=t-0,t-2 B=t-1,t-3 C=",
    ),
    (
        "T121 cooperative-sticky",
        "t=6",
        "A[t]{t-0,t-2}2 B[t]{t-1,t-3}2 C[t]{}2",
        "A=t-0,t-2 B=t-1,t-3 C=t-4,t-5",
    ),
    (
        "T121 cooperative-sticky",
        "t=6",
        "A[t]{t-0,t-1,t-2,t-3,t-4,t-5} B[t] C[t]",
        "A=t-0,t-1 B= C=",
    ),
    (
        "T121 cooperative-sticky",
        "t=6",
        "A[t]{t-0,t-1}2 B[t]{}2 C[t]{}2",
        "A=t-0,t-1 B=t-2,t-4 C=t-3,t-5",
    ),
    (
        "T121 cooperative-sticky",
        "t=4",
        "A[t]{t-0,t-1} B[t]{t-2,t-3} C[t]",
        "A=t-0,t-1 B=t-2 C=",
    ),
    (
        "T121 cooperative-sticky",
        "t=5",
        "A[t]{t-0,t-1,t-2,t-3,t-4} B[t]",
        "A=t-0,t-1,t-2 B=",
    ),
    (
        "T121 cooperative-sticky",
        "t=6",
        "A[t]{t-0,t-2} B[t]{t-1,t-3}",
        "A=t-0,t-2,t-4 B=t-1,t-3,t-5",
    ),
    (
        "T121 cooperative-sticky",
        "t=3",
        "A[t]{t-0} B[t]{t-1} C[t]{t-2} D[t]",
        "A=t-0 B=t-1 C=t-2 D=",
    ),
    (
        "T121 cooperative-sticky",
        "t=8",
        "A[t]{t-0,t-2,t-4} B[t]{t-1,t-3,t-5}",
        "A=t-0,t-2,t-4,t-6 B=t-1,t-3,t-5,t-7",
    ),
    (
        "T121 sticky",
        "topic1=2 topic2=2",
        "consumer1[topic1,topic2]{topic1-0,topic2-0} consumer2[topic1,topic2]{topic1-1,topic2-1} consumer3[topic1,topic2]",
        "consumer1=topic1-0 consumer2=topic1-1,topic2-1 consumer3=topic2-0",
    ),
    // Partitions that the topic does not have are kept; what is left then fits nobody's share.
    (
        "sticky",
        "t=2",
        "A[t]{t-0,t-1} B[t]{t-2,t-3}",
        "No more unfilled consumers to be assigned.",
    ),
    // Topics that nobody has, or that have no partitions, are left out.
    ("range", "t=0", "A[t,missing]", "A="),
    ("range", "t=2", "A[]", "A="),
    ("roundrobin", "t=2", "A[missing] B[]", "A= B="),
    // By instance id first, whatever order they are listed in.
    (
        "range",
        "t=5",
        "z@a[t] b[t] a[t] y@b[t]",
        "a=t-3 b=t-4 y=t-2 z=t-0,t-1",
    ),
];

#[test]
fn t114_to_t121_partitions_are_dealt_out_as_the_table_says() {
    for (what, topics, members, expected) in TABLE {
        let name = what.rsplit(' ').next().expect("an assignor");
        let assignor = Assignor::by_name(name).expect("an assignor");
        let case = Case::new(topics, members);
        let got = case.run(assignor, Weights::default());
        assert_eq!(got, *expected, "{what}: {topics} for {members}");
    }
}

#[test]
fn the_order_of_the_members_in_the_answer_does_not_matter() {
    for (what, topics, members, expected) in TABLE {
        let name = what.rsplit(' ').next().expect("an assignor");
        let assignor = Assignor::by_name(name).expect("an assignor");
        let mut case = Case::new(topics, members);
        case.members.reverse();
        let got = case.run(assignor, Weights::default());
        assert_eq!(got, *expected, "{what}, reversed: {topics} for {members}");
    }
}

#[test]
fn every_assignor_has_a_name_that_a_consumer_can_list() {
    for assignor in Assignor::ALL {
        let name = assignor.name();
        assert_eq!(Assignor::by_name(name), Some(assignor), "{name}");
    }
    assert_eq!(Assignor::by_name("uniform"), None, "a server-side assignor");
    let mut names = Assignor::ALL.map(Assignor::name);
    names.reverse();
    let mut config = ConsumerConfig::default();
    config
        .set("partition.assignment.strategy", &names.join(", "))
        .expect("all are known");
    let listed: Vec<&str> = config
        .partition_assignment_strategy
        .iter()
        .map(|name| &**name)
        .collect();
    assert_eq!(listed, names, "in the order of preference");
}

/// Weights, lags, result.
type Lags = ((u32, u32, u32), &'static [u64], &'static str);

/// `lag-aware`: weights (lag, partition, stickiness); lags of what A and B own; the result.
const LAGS: &[Lags] = &[
    // One partition carries as much as all others.
    ((1, 0, 0), &[90, 10, 40, 40], "A=t-0 B=t-1,t-2,t-3"),
    // With lag at no weight the number of partitions decides, and an owner wins a tie.
    ((0, 1, 0), &[90, 10, 40, 40], "A=t-0,t-1 B=t-2,t-3"),
    // An owner keeps what is not too heavy for it.
    ((1, 1, 0), &[90, 10, 0, 0], "A=t-0 B=t-1,t-2,t-3"),
    ((1, 1, 100), &[90, 10, 0, 0], "A=t-0,t-1 B=t-2,t-3"),
];

#[test]
fn lag_aware_weighs_what_it_is_told_to_weigh() {
    for ((lag, partition, stickiness), lags, expected) in LAGS {
        let mut case = Case::new("t=4", "B[t]{t-2,t-3}5 A[t]{t-0,t-1}5");
        let [b, a] = case.members.as_mut_slice() else {
            panic!("two members");
        };
        a.data.as_mut().expect("it owns").lags = lags[..2].to_vec();
        b.data.as_mut().expect("it owns").lags = lags[2..].to_vec();
        let weights = Weights {
            lag: *lag,
            partition: *partition,
            stickiness: *stickiness,
        };
        let got = case.run(Assignor::LagAware, weights);
        assert_eq!(got, *expected, "{weights:?} {lags:?}");
    }
}

/// One line a case of the coordinator's assignors, as above. All are rows of T121.
const SERVER_TABLE: &[(&str, &str, &str, &str)] = &[
    ("uniform", "t=6", "A[t] B[t]", "A=t-0,t-1,t-2 B=t-3,t-4,t-5"),
    (
        "uniform",
        "t=10",
        "A[t] B[t] C[t] D[t]",
        "A=t-0,t-1,t-2 B=t-3,t-4,t-5 C=t-6,t-7 D=t-8,t-9",
    ),
    (
        "uniform",
        "t=7",
        "A[t] B[t] C[t]",
        "A=t-0,t-1,t-2 B=t-3,t-4 C=t-5,t-6",
    ),
    (
        "uniform",
        "t=6",
        "A[t]{t-0,t-1,t-2} B[t]{t-3,t-4,t-5} C[t]",
        "A=t-0,t-1 B=t-3,t-4 C=t-2,t-5",
    ),
    (
        "uniform",
        "t=6",
        "A[t]{t-0,t-1,t-2} B[t]{t-3,t-4,t-5} C[t] D[t]",
        "A=t-0,t-1 B=t-3,t-4 C=t-2 D=t-5",
    ),
    (
        "uniform",
        "t=7",
        "A[t]{t-0,t-1,t-2} B[t]{t-3,t-4} C[t]{t-5,t-6} D[t]",
        "A=t-0,t-1 B=t-3,t-4 C=t-5,t-6 D=t-2",
    ),
    (
        "uniform",
        "t=6",
        "A[t]{t-0,t-1} B[t]{t-3,t-4}",
        "A=t-0,t-1,t-2 B=t-3,t-4,t-5",
    ),
    (
        "uniform",
        "t=7",
        "A[t]{t-0,t-1,t-2} B[t]{t-3,t-4,t-5}",
        "A=t-0,t-1,t-2,t-6 B=t-3,t-4,t-5",
    ),
    (
        "uniform",
        "p=5",
        "A[p]{p-0,p-1} B[p]{p-2,p-3,p-4}",
        "A=p-0,p-1,p-4 B=p-2,p-3",
    ),
    (
        "uniform",
        "t=6 u=3",
        "A[t] B[t,u]",
        "A=t-0,t-1,t-2,t-3,t-5 B=t-4,u-0,u-1,u-2",
    ),
    (
        "uniform",
        "t=6 u=3 v=2",
        "A[t,v] B[t,u] C[u]",
        "A=t-0,t-2,v-0,v-1 B=t-1,t-3,t-4,t-5 C=u-0,u-1,u-2",
    ),
    (
        "uniform",
        "t=6 u=3",
        "A[t,u] B[t]",
        "A=t-4,u-0,u-1,u-2 B=t-0,t-1,t-2,t-3,t-5",
    ),
    (
        "range",
        "t=6 u=3",
        "A[t,u] B[t,u]",
        "A=t-0,t-1,t-2,u-0,u-1 B=t-3,t-4,t-5,u-2",
    ),
    (
        "range",
        "u=3",
        "A[u] B[u] C[u] D[u]",
        "A=u-0 B=u-1 C=u-2 D=",
    ),
    ("range", "u=3", "A[u] B@i1[u] C@i0[u]", "A=u-2 B=u-1 C=u-0"),
];

impl Case {
    /// As `run`, by an assignor of the coordinator.
    fn run_server(&self, assignor: ServerAssignor) -> Result<String, ServerAssignorError> {
        let position = |name: &str| self.topics.iter().position(|(known, _)| &**known == name);
        let topic = |name: &Arc<str>| {
            let position = position(name).and_then(|position| u32::try_from(position).ok());
            TopicId(position.unwrap_or(99))
        };
        let subscribed: Vec<Vec<TopicId>> = self
            .members
            .iter()
            .map(|member| member.topics.iter().map(topic).collect())
            .collect();
        let members: Vec<TargetMember<'_>> = self
            .members
            .iter()
            .zip(&subscribed)
            .map(|(member, topics)| TargetMember {
                member_id: &member.id,
                group_instance_id: member.instance_id.as_ref(),
                topics,
                owned: member.data.as_ref().map_or(&[], |data| &data.partitions),
            })
            .collect();
        let topics: Vec<TargetTopic> = (0..)
            .zip(&self.topics)
            .map(|(id, (_, partition_count))| TargetTopic {
                topic: TopicId(id),
                partition_count: *partition_count,
            })
            .collect();
        let is_alike = subscribed.windows(2).all(|pair| pair[0] == pair[1]);
        let subscription_type = if is_alike {
            SubscriptionType::Homogeneous
        } else {
            SubscriptionType::Heterogeneous
        };
        let assignment = assignor.assign(&members, &topics, subscription_type)?;
        Ok(self.show(assignment))
    }
}

#[test]
fn t121_the_coordinator_deals_out_as_the_table_says() {
    for (name, topics, members, expected) in SERVER_TABLE {
        let assignor = ServerAssignor::by_name(name).expect("an assignor");
        let got = Case::new(topics, members).run_server(assignor);
        assert_eq!(
            got.as_deref(),
            Ok(*expected),
            "T121 {name}: {topics} for {members}"
        );
    }
}

#[test]
fn the_coordinators_assignors_refuse_a_topic_without_metadata() {
    for assignor in ServerAssignor::ALL {
        let got = Case::new("t=2", "A[t,missing]").run_server(assignor);
        let expected = Err(ServerAssignorError::UnknownTopic(TopicId(99)));
        assert_eq!(got, expected, "{}", assignor.name());
        let got = Case::new("t=2", "A[] B[]").run_server(assignor);
        assert_eq!(got.as_deref(), Ok("A= B="), "{}", assignor.name());
    }
}
