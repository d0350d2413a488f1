//! Members subscribe to different topics.

#![expect(
    clippy::indexing_slicing,
    reason = "members, topics and partitions are positions in tables that are built together"
)]

use super::super::Group;
use crate::assignor::{Assignment, number};

/// How often the topics are gone through at most.
const PASSES_MAX: u32 = 16;
/// Nobody.
const NONE: u32 = u32::MAX;

/// Members keep what they have and subscribe to. What is left goes topic by topic to the subscriber
/// with the fewest partitions; then each topic's subscribers are evened out.
///
/// # Source
/// `UniformHeterogeneousAssignmentBuilder` (Kafka 1eb7644); KIP-848.
pub(in super::super) fn assign(group: &Group<'_>) -> Assignment {
    let mut builder = Builder::new(group);
    builder.keep_owned();
    let topics = builder.sorted_topics();
    for topic in &topics {
        builder.assign_rest(*topic);
    }
    builder.balance(&topics);
    builder.finish()
}

/// Members stand for their position in the order in which they are walked.
struct Builder<'a> {
    group: &'a Group<'a>,
    /// How many partitions each member has.
    sizes: Vec<u32>,
    /// Subscribers of each topic, ascending.
    subscribers: Vec<Vec<u32>>,
    /// Who has each partition of each topic.
    owners: Vec<Vec<u32>>,
}

impl<'a> Builder<'a> {
    fn new(group: &'a Group<'a>) -> Self {
        let mut subscribers = vec![Vec::new(); group.topics.len()];
        for (member, id) in (0_u32..).zip(&group.order) {
            for topic in group.subscription(*id) {
                subscribers[*topic as usize].push(member);
            }
        }
        let counts = group
            .topics
            .iter()
            .map(|topic| topic.partition_count as usize);
        Self {
            group,
            sizes: vec![0; group.members.len()],
            subscribers,
            owners: counts.map(|count| vec![NONE; count]).collect(),
        }
    }

    fn keep_owned(&mut self) {
        for (member, id) in (0_u32..).zip(&self.group.order) {
            for (topic, partition) in self.group.owned(*id) {
                let owners = &mut self.owners[topic as usize];
                if let Some(owner) = owners.get_mut(partition.partition as usize) {
                    *owner = member;
                    self.sizes[member as usize] += 1;
                }
            }
        }
    }

    /// Topics that somebody subscribes to: those with many partitions a subscriber first, then
    /// those with few subscribers, then by id.
    fn sorted_topics(&self) -> Vec<u32> {
        let mut topics: Vec<u32> = (0..number(self.subscribers.len()))
            .filter(|topic| !self.subscribers[*topic as usize].is_empty())
            .collect();
        topics.sort_by(|one, other| {
            let counts = |topic: u32| {
                let partitions = u64::from(self.group.partition_count(topic));
                (partitions, self.subscribers[topic as usize].len() as u64)
            };
            let ((partitions, subscribers), (more, others)) = (counts(*one), counts(*other));
            (more * subscribers)
                .cmp(&(partitions * others))
                .then(subscribers.cmp(&others))
                .then_with(|| {
                    let id = |topic: u32| self.group.topics[topic as usize].topic;
                    id(*one).cmp(&id(*other))
                })
        });
        topics
    }

    fn assign_rest(&mut self, topic: u32) {
        let mut balancer = Balancer::new(&self.subscribers[topic as usize], &self.sizes);
        for partition in 0..self.owners[topic as usize].len() {
            if self.owners[topic as usize][partition] == NONE {
                let member = balancer.next_lightest(&self.sizes);
                self.owners[topic as usize][partition] = member;
                self.sizes[member as usize] += 1;
            }
        }
    }

    /// Goes round the topics with several subscribers until a whole round moves nothing.
    fn balance(&mut self, topics: &[u32]) {
        let is_shared = |topic: &&u32| 1 < self.subscribers[**topic as usize].len();
        let topics: Vec<u32> = topics.iter().filter(is_shared).copied().collect();
        let mut last_moved = None;
        for _ in 0..PASSES_MAX {
            for (place, topic) in topics.iter().enumerate() {
                if last_moved == Some(place) {
                    return;
                }
                if self.balance_topic(*topic) || last_moved.is_none() {
                    last_moved = Some(place);
                }
            }
        }
    }

    /// Moves partitions of one topic from its heaviest subscribers to its lightest ones. True if
    /// any has moved.
    fn balance_topic(&mut self, topic: u32) -> bool {
        let topic = topic as usize;
        let mut balancer = Balancer::new(&self.subscribers[topic], &self.sizes);
        if balancer.difference(&self.sizes) <= 1 {
            return false;
        }
        let mut by_owner: Vec<(u32, usize)> = self.owners[topic].iter().copied().zip(0..).collect();
        by_owner.sort_unstable();
        let mut given = vec![0; self.sizes.len()];
        let mut has_moved = false;
        loop {
            let Some((from, partition)) = balancer.next_giver(&self.sizes, &by_owner, &mut given)
            else {
                return has_moved;
            };
            let to = balancer.next_lightest(&self.sizes);
            if balancer.is_balanced() {
                return has_moved;
            }
            self.owners[topic][partition] = to;
            self.sizes[from as usize] -= 1;
            self.sizes[to as usize] += 1;
            has_moved = true;
        }
    }

    fn finish(&self) -> Assignment {
        let mut assignment = self.group.nothing();
        for (topic, owners) in (0..).zip(&self.owners) {
            for (partition, owner) in (0..).zip(owners) {
                if let Some(member) = self.group.order.get(*owner as usize) {
                    assignment[*member as usize].push(self.group.partition(topic, partition));
                }
            }
        }
        assignment
    }
}

/// A topic's subscribers between those that get and those that give. Of equally light ones the one
/// gets first that was lighter when the topic's turn came; of equally heavy ones the heavier gives
/// first.
struct Balancer {
    /// By size when the topic's turn came, then by position.
    members: Vec<u32>,
    /// The light ones are `members[..light_end]`, all at `light_level` once round.
    light_end: usize,
    light_level: i64,
    next_light: usize,
    /// The heavy ones are `members[heavy_start..heavy_end]`, all at `heavy_level` once round; those
    /// behind have nothing to give.
    heavy_start: usize,
    heavy_end: usize,
    heavy_level: i64,
    /// The next heavy one is the one before this position.
    next_heavy: usize,
}

impl Balancer {
    fn new(subscribers: &[u32], sizes: &[u32]) -> Self {
        let mut members = subscribers.to_vec();
        members.sort_by_key(|member| sizes[*member as usize]);
        let size =
            |member: Option<&u32>| member.map_or(0, |member| i64::from(sizes[*member as usize]));
        Self {
            light_end: 0,
            light_level: size(members.first()) - 1,
            next_light: 0,
            heavy_start: members.len(),
            heavy_end: members.len(),
            heavy_level: size(members.last()) + 1,
            next_heavy: members.len(),
            members,
        }
    }

    fn size(&self, at: usize, sizes: &[u32]) -> i64 {
        i64::from(sizes[self.members[at] as usize])
    }

    /// How much larger the heaviest is than the lightest.
    fn difference(&self, sizes: &[u32]) -> i64 {
        self.size(self.members.len() - 1, sizes) - self.size(0, sizes)
    }

    /// Who gets the next partition.
    fn next_lightest(&mut self, sizes: &[u32]) -> u32 {
        if self.light_end <= self.next_light {
            self.light_level += 1;
            while self.light_end < self.members.len()
                && self.size(self.light_end, sizes) == self.light_level
            {
                self.light_end += 1;
            }
            self.next_light = 0;
        }
        self.next_light += 1;
        self.members[self.next_light - 1]
    }

    /// Who gives the next partition, if anybody is left that has one.
    fn next_heaviest(&mut self, sizes: &[u32]) -> Option<u32> {
        if self.next_heavy <= self.heavy_start {
            if self.heavy_end <= self.heavy_start && 0 < self.heavy_start {
                self.heavy_level = self.size(self.heavy_start - 1, sizes);
            } else {
                self.heavy_level -= 1;
            }
            while 0 < self.heavy_start && self.size(self.heavy_start - 1, sizes) == self.heavy_level
            {
                self.heavy_start -= 1;
            }
            self.next_heavy = self.heavy_end;
        }
        self.next_heavy = self.next_heavy.checked_sub(1)?;
        Some(self.members[self.next_heavy])
    }

    /// Who gives which partition next: its last one of the topic that it has not given yet. Those
    /// that have none are put behind the heavy ones.
    fn next_giver(
        &mut self,
        sizes: &[u32],
        by_owner: &[(u32, usize)],
        given: &mut [usize],
    ) -> Option<(u32, usize)> {
        loop {
            let member = self.next_heaviest(sizes)?;
            let start = by_owner.partition_point(|(owner, _)| *owner < member);
            let end = by_owner.partition_point(|(owner, _)| *owner <= member);
            let given = &mut given[member as usize];
            if *given < end - start {
                *given += 1;
                return Some((member, by_owner[end - *given].1));
            }
            self.heavy_end -= 1;
            self.members.swap(self.next_heavy, self.heavy_end);
        }
    }

    fn is_balanced(&self) -> bool {
        self.heavy_level - self.light_level <= 1
    }
}
