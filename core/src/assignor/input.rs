//! The members and topics of one assignment with small numbers in place of names.

use super::{Assignment, AssignorMember, ClusterTopic, compare_ids, compare_text, number};
use crate::base::ids::TopicPartition;
use std::cmp::Ordering;
use std::sync::Arc;

/// No member, no topic, no rack.
pub(super) const NONE: u32 = u32::MAX;

/// What all client-side assignors work on.
///
/// Invariant: `topics` are those that somebody subscribes to and that have partitions, sorted by
/// name; a topic is its position there. A partition is `first[topic]` plus its number.
pub(super) struct Input<'a> {
    pub(super) members: &'a [AssignorMember<'a>],
    pub(super) topics: Vec<&'a ClusterTopic<'a>>,
    /// Where each topic's partitions begin; one entry more than topics, the last is their count.
    pub(super) first: Vec<u32>,
    /// The different subscriptions.
    pub(super) subscriptions: Vec<Subscription>,
    /// Which of them each member has.
    pub(super) subscription_of: Vec<u32>,
}

/// What some members subscribe to.
pub(super) struct Subscription {
    /// Topics with partitions, in the order in which the member lists them.
    pub(super) topics: Vec<u32>,
    /// Whether it has a topic.
    pub(super) has: Vec<bool>,
    /// A member that has it.
    example: usize,
}

impl<'a> Input<'a> {
    pub(super) fn new(members: &'a [AssignorMember<'a>], topics: &'a [ClusterTopic<'a>]) -> Self {
        let mut known: Vec<&ClusterTopic<'_>> = topics
            .iter()
            .filter(|topic| 0 < topic.partition_count)
            .collect();
        known.sort_by(|one, other| compare_text(one.name, other.name));
        let mut input = Self {
            members,
            topics: known,
            first: Vec::new(),
            subscriptions: Vec::new(),
            subscription_of: Vec::with_capacity(members.len()),
        };
        input.read_subscriptions();
        input.drop_unsubscribed();
        let mut next = 0;
        for topic in &input.topics {
            input.first.push(next);
            next += topic.partition_count;
        }
        input.first.push(next);
        input
    }

    /// Members mostly subscribe alike, so each subscription is compared with those before.
    fn read_subscriptions(&mut self) {
        for (index, member) in self.members.iter().enumerate() {
            let same = self.subscriptions.iter().rposition(|known| {
                let example = self.members.get(known.example);
                example.is_some_and(|example| are_same(example.topics, member.topics))
            });
            let found = same.unwrap_or_else(|| {
                self.subscriptions.push(Subscription {
                    topics: member
                        .topics
                        .iter()
                        .filter_map(|name| self.topic(name))
                        .collect(),
                    has: Vec::new(),
                    example: index,
                });
                self.subscriptions.len() - 1
            });
            self.subscription_of.push(number(found));
        }
    }

    fn topic(&self, name: &str) -> Option<u32> {
        let found = self
            .topics
            .binary_search_by(|topic| compare_text(topic.name, name));
        found.ok().map(number)
    }

    fn drop_unsubscribed(&mut self) {
        let mut position = vec![NONE; self.topics.len()];
        for topic in self
            .subscriptions
            .iter()
            .flat_map(|subscription| &subscription.topics)
        {
            if let Some(place) = position.get_mut(*topic as usize) {
                *place = 0;
            }
        }
        let used = position.iter_mut().filter(|place| **place == 0);
        for (number, place) in (0..).zip(used) {
            *place = number;
        }
        let mut places = position.iter();
        self.topics
            .retain(|_| places.next().is_some_and(|place| *place != NONE));
        for subscription in &mut self.subscriptions {
            subscription.has = vec![false; self.topics.len()];
            for topic in &mut subscription.topics {
                *topic = position.get(*topic as usize).copied().unwrap_or(NONE);
                if let Some(has) = subscription.has.get_mut(*topic as usize) {
                    *has = true;
                }
            }
        }
    }

    /// What a member subscribes to.
    pub(super) fn subscription(&self, member: u32) -> &Subscription {
        let which = self.subscription_of.get(member as usize);
        which
            .and_then(|which| self.subscriptions.get(*which as usize))
            .expect("invariant: every member has a subscription")
    }

    /// Whether a member subscribes to a topic.
    pub(super) fn has(&self, member: u32, topic: u32) -> bool {
        let subscription = self.subscription(member);
        subscription
            .has
            .get(topic as usize)
            .copied()
            .unwrap_or(false)
    }

    /// Members in member order: static ones by instance id, then dynamic ones by member id.
    pub(super) fn sorted_members(&self) -> Vec<u32> {
        let mut members: Vec<(u32, &AssignorMember<'_>)> = (0..).zip(self.members).collect();
        members.sort_by(|(_, one), (_, other)| {
            compare_ids(
                (one.group_instance_id, one.member_id),
                (other.group_instance_id, other.member_id),
            )
        });
        members.into_iter().map(|(index, _)| index).collect()
    }

    /// Topics by number, with their sizes.
    pub(super) fn sizes(&self) -> impl Iterator<Item = (u32, u32)> {
        (0..).zip(self.topics.iter().map(|topic| topic.partition_count))
    }

    /// The partition with this number of a topic.
    pub(super) fn partition(&self, topic: u32, partition: u32) -> TopicPartition {
        let topic = self.topics.get(topic as usize).map(|topic| topic.topic);
        TopicPartition::new(topic.unwrap_or_default(), partition)
    }

    /// An assignment that gives nobody anything.
    pub(super) fn nothing(&self) -> Assignment {
        vec![Vec::new(); self.members.len()]
    }
}

/// Whether two subscriptions name the same topics in the same order. Members mostly share the
/// names themselves.
fn are_same(one: &[Arc<str>], other: &[Arc<str>]) -> bool {
    let mut pairs = one.iter().zip(other);
    one.len() == other.len() && pairs.all(|(one, other)| Arc::ptr_eq(one, other) || one == other)
}

/// Racks by number: of members, and of the replicas of each partition.
pub(super) struct Racks {
    /// Each member's rack, or `NONE`.
    pub(super) of_member: Vec<u32>,
    /// The racks that hold a replica of each partition, sorted.
    pub(super) of_partition: Vec<Vec<u32>>,
}

impl Racks {
    /// What is known of racks; unset when no member has one.
    pub(super) fn new(input: &Input<'_>) -> Option<Self> {
        let mut names: Vec<&str> = input
            .members
            .iter()
            .filter_map(AssignorMember::rack)
            .collect();
        names.sort_unstable();
        names.dedup();
        if names.is_empty() {
            return None;
        }
        let members = input.members.iter().map(|member| {
            let rack = member
                .rack()
                .and_then(|rack| names.binary_search(&rack).ok());
            rack.map_or(NONE, number)
        });
        let of_member = members.collect();
        let mut foreign: Vec<&str> = Vec::new();
        let mut of_partition = Vec::new();
        for topic in &input.topics {
            for partition in 0..topic.partition_count as usize {
                let racks = topic.racks.get(partition).map_or(&[][..], Vec::as_slice);
                of_partition.push(rack_numbers(racks, &names, &mut foreign));
            }
        }
        Some(Self {
            of_member,
            of_partition,
        })
    }

    /// Whether racks make a difference: some member is in a rack that has replicas, and not every
    /// one of these partitions has replicas in the same racks.
    ///
    /// # Source
    /// `AbstractPartitionAssignor#useRackAwareAssignment` (Kafka 1eb7644); KIP-881.
    pub(super) fn make_a_difference(&self, members: &[u32], first: u32, end: u32) -> bool {
        let partitions = self.of_partition.get(first as usize..end as usize);
        let partitions = partitions.unwrap_or_default();
        let mut all: Vec<u32> = partitions.iter().flatten().copied().collect();
        all.sort_unstable();
        all.dedup();
        let mut member_racks = members
            .iter()
            .filter_map(|member| self.of_member.get(*member as usize));
        member_racks.any(|rack| all.binary_search(rack).is_ok())
            && partitions.iter().any(|racks| *racks != all)
    }

    /// Whether a member has no rack, or one that holds a replica of the partition.
    pub(super) fn may_match(&self, member: u32, partition: u32) -> bool {
        self.rack(member) == NONE || self.match_each_other(member, partition)
    }

    /// Whether a member has a rack that holds a replica of the partition.
    pub(super) fn match_each_other(&self, member: u32, partition: u32) -> bool {
        let racks = self.of_partition.get(partition as usize);
        racks.is_some_and(|racks| racks.binary_search(&self.rack(member)).is_ok())
    }

    /// How many members have a rack that holds a replica of the partition.
    pub(super) fn near_member_count(&self, partition: u32) -> usize {
        let racks = self.of_partition.get(partition as usize);
        let racks = racks.map_or(&[][..], Vec::as_slice);
        let members = self.of_member.iter();
        members
            .filter(|rack| racks.binary_search(rack).is_ok())
            .count()
    }

    fn rack(&self, member: u32) -> u32 {
        self.of_member.get(member as usize).copied().unwrap_or(NONE)
    }
}

/// Numbers of racks, sorted: those of members by position, then others as they are met.
fn rack_numbers<'a>(racks: &'a [Arc<str>], names: &[&str], foreign: &mut Vec<&'a str>) -> Vec<u32> {
    let mut numbers: Vec<u32> = Vec::with_capacity(racks.len());
    for rack in racks {
        let known = names.binary_search(&&**rack).ok();
        let found = known.unwrap_or_else(|| {
            let met = foreign.iter().position(|name| *name == &**rack);
            names.len()
                + met.unwrap_or_else(|| {
                    foreign.push(rack);
                    foreign.len() - 1
                })
        });
        numbers.push(number(found));
    }
    numbers.sort_unstable();
    numbers.dedup();
    numbers
}

/// The order of two numbers, the larger first.
pub(super) fn descending(one: u64, other: u64) -> Ordering {
    other.cmp(&one)
}
