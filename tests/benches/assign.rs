//! How long the assignors take on large groups. The scenarios are those for which Kafka's own times
//! are known (Java 17, median of five, milliseconds for `sticky`):
//!
//! | scenario | initial | one leaves | one joins |
//! | --- | --- | --- | --- |
//! | A: 1 topic, 100,000 partitions, 1,000 members | 26 | 80 | 85 |
//! | B: 500 topics of 2,000 partitions, 2,000 members | 96 | 5383 | 6151 |
//! | C1: 100 topics of 100, 200 members, each with a random half | 2968 | 34 | 2803 |
//! | C2: the same, only the last member has half of the topics | 24 | 26 | 129 |

use criterion::{Criterion, criterion_group, criterion_main};
use std::sync::Arc;
use terrarium_core::assignor::lag_aware::Weights;
use terrarium_core::assignor::{Assignment, Assignor, AssignorMember, ClusterTopic};
use terrarium_core::base::ids::{MemberId, TopicId};
use terrarium_core::base::user_data::UserData;
use terrarium_core::kernel::rng::Stream;

/// Which topics members subscribe to.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Subscribe {
    /// All.
    All,
    /// Each member a random half.
    Half,
    /// All but the last member, which has half of them.
    LastDiffers,
}

/// Topics, partitions of each, members, subscriptions.
type Size = (u32, u32, usize, Subscribe);

const SCENARIOS: [(&str, Size); 4] = [
    ("A", (1, 100_000, 1_000, Subscribe::All)),
    ("B", (500, 2_000, 2_000, Subscribe::All)),
    ("C1", (100, 100, 200, Subscribe::Half)),
    ("C2", (100, 100, 200, Subscribe::LastDiffers)),
];

#[derive(Clone)]
struct Group {
    topics: Vec<(Arc<str>, u32)>,
    members: Vec<(MemberId, Vec<Arc<str>>, Option<UserData>)>,
}

impl Group {
    fn new((topic_count, size, member_count, subscribe): Size, stream: &mut Stream) -> Self {
        let names = (0..topic_count).map(|topic| Arc::from(format!("topic{topic:04}")));
        let mut group = Self {
            topics: names.map(|name| (name, size)).collect(),
            members: Vec::new(),
        };
        for member in 0..member_count {
            let differs = subscribe == Subscribe::LastDiffers && member + 1 == member_count;
            group.join(subscribe == Subscribe::Half || differs, stream);
        }
        group
    }

    /// A member comes that subscribes to a random half of the topics, or to all.
    fn join(&mut self, to_half: bool, stream: &mut Stream) {
        let names = self.topics.iter().map(|(name, _)| name.clone());
        let topics = names.filter(|_| !to_half || stream.below(2) == 0).collect();
        let id = MemberId::new(&format!("consumer{:04}", self.members.len()));
        self.members.push((id, topics, None));
    }

    fn remember(&mut self, assignment: Assignment) {
        for ((_, _, data), partitions) in self.members.iter_mut().zip(assignment) {
            *data = Some(UserData {
                partitions,
                generation_id: 1,
                lags: Vec::new(),
            });
        }
    }

    fn inputs(&self, assignor: Assignor) -> (Vec<AssignorMember<'_>>, Vec<ClusterTopic<'_>>) {
        let is_cooperative = assignor == Assignor::CooperativeSticky;
        let members = self.members.iter().map(|(id, topics, data)| {
            let owned = data.as_ref().filter(|_| is_cooperative);
            AssignorMember {
                owned_partitions: owned.map_or(&[], |data| &data.partitions),
                generation_id: data.as_ref().map_or(-1, |data| data.generation_id),
                user_data: data.as_ref().filter(|_| !is_cooperative),
                ..AssignorMember::new(id, topics)
            }
        });
        let topics = (0..)
            .zip(&self.topics)
            .map(|(id, (name, size))| ClusterTopic {
                name,
                topic: TopicId(id),
                partition_count: *size,
                racks: &[],
            });
        (members.collect(), topics.collect())
    }
}

fn assign(criterion: &mut Criterion) {
    for (name, size) in SCENARIOS {
        for assignor in [Assignor::Sticky, Assignor::CooperativeSticky] {
            let mut stream = Stream::new(1, name);
            let mut initial = Group::new(size, &mut stream);
            let (members, topics) = initial.inputs(assignor);
            let assignment = assignor.assign(&members, &topics, Weights::default());
            let start = initial.clone();
            initial.remember(assignment.expect("nobody owns anything"));
            let mut smaller = initial.clone();
            smaller.members.remove(size.2 / 2);
            let mut larger = initial;
            larger.join(size.3 == Subscribe::Half, &mut stream);
            let mut group = criterion.benchmark_group(format!("{name}, {}", assignor.name()));
            group.sample_size(10);
            for (what, case) in [("initial", start), ("leave", smaller), ("join", larger)] {
                let (members, topics) = case.inputs(assignor);
                group.bench_function(what, |bencher| {
                    bencher.iter(|| assignor.assign(&members, &topics, Weights::default()));
                });
            }
            group.finish();
        }
    }
}

criterion_group!(benches, assign);
criterion_main!(benches);
