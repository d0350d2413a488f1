//! Members subscribe to different topics: partitions are dealt out and then moved, one by one,
//! until no move makes the assignment more even.

#![expect(
    clippy::indexing_slicing,
    reason = "members, topics and partitions are positions in tables that are built together"
)]

use super::movements::Movements;
use super::{Claims, Place, forget};
use crate::assignor::input::{Input, NONE, Racks};
use crate::assignor::{Assignment, AssignorError, java_order, number};
use std::cmp::Ordering;

/// Keeps what members own and may own, gives the rest to those with the fewest partitions, and
/// evens out.
///
/// # Source
/// `AbstractStickyAssignor.GeneralAssignmentBuilder` (Kafka 1eb7644).
pub(super) fn assign(
    input: &Input<'_>,
    claims: Claims<'_>,
    racks: Option<&Racks>,
) -> Result<Assignment, AssignorError> {
    let mut builder = Builder::new(input, claims);
    let unassigned = builder.keep_owned(racks);
    builder.sort_members();
    builder.balance(racks, unassigned)?;
    Ok(builder.finish())
}

struct Builder<'a> {
    input: &'a Input<'a>,
    claims: Claims<'a>,
    /// Topics by number of subscribers, then name.
    topic_order: Vec<u32>,
    subscriber_count: Vec<u32>,
    topic_of: Vec<u32>,
    /// Hash of each topic's name.
    topic_hash: Vec<i32>,
    /// Each member's partitions by number, in Kafka's order.
    lists: Vec<Vec<u32>>,
    /// Who has each partition that exists.
    owner: Vec<u32>,
    /// Members by number of partitions, then id; without those that take no part.
    sorted: Vec<u32>,
    /// Whether a member takes part in balancing.
    takes_part: Vec<bool>,
    holdings: Holdings,
    /// Who had a partition in an older generation, and in which.
    previous: Vec<(u32, i32)>,
    /// Whether a member has to give up a partition because it does not subscribe to it any more, or
    /// because it is in the wrong rack.
    revocation_required: bool,
    /// Whether partitions may stand in two lists.
    may_have_twins: bool,
    movements: Movements,
    /// Whether the assignment is balanced, when nothing has moved since that was found out.
    is_balanced: Option<bool>,
}

/// Of which topics each member has partitions, for quick comparison with subscriptions.
struct Holdings {
    topic_count: usize,
    /// Words of 64 topics a member.
    words: usize,
    /// By member and topic: how many partitions.
    counts: Vec<u32>,
    /// By member: topics with any.
    held: Vec<u64>,
    /// By subscription: its topics.
    wanted: Vec<u64>,
}

impl Holdings {
    fn new(input: &Input<'_>) -> Self {
        let topic_count = input.topics.len();
        let words = topic_count.div_ceil(64);
        let mut wanted = vec![0; words * input.subscriptions.len()];
        for (which, subscription) in input.subscriptions.iter().enumerate() {
            for topic in &subscription.topics {
                wanted[which * words + *topic as usize / 64] |= 1_u64 << (topic % 64);
            }
        }
        Self {
            topic_count,
            words,
            counts: vec![0; topic_count * input.members.len()],
            held: vec![0; words * input.members.len()],
            wanted,
        }
    }

    fn add(&mut self, member: u32, topic: u32) {
        self.counts[member as usize * self.topic_count + topic as usize] += 1;
        self.held[member as usize * self.words + topic as usize / 64] |= 1 << (topic % 64);
    }

    fn remove(&mut self, member: u32, topic: u32) {
        let count = &mut self.counts[member as usize * self.topic_count + topic as usize];
        *count = count.saturating_sub(1);
        if *count == 0 {
            self.held[member as usize * self.words + topic as usize / 64] &= !(1 << (topic % 64));
        }
    }

    /// Whether a member has a partition of a topic of this subscription.
    fn has_of(&self, member: u32, subscription: u32) -> bool {
        let held = &self.held[member as usize * self.words..][..self.words];
        let wanted = &self.wanted[subscription as usize * self.words..][..self.words];
        held.iter()
            .zip(wanted)
            .any(|(held, wanted)| held & wanted != 0)
    }
}

impl<'a> Builder<'a> {
    fn new(input: &'a Input<'a>, claims: Claims<'a>) -> Self {
        let mut subscriber_count = vec![0; input.topics.len()];
        for which in &input.subscription_of {
            for topic in &input.subscriptions[*which as usize].topics {
                subscriber_count[*topic as usize] += 1;
            }
        }
        let mut topic_order: Vec<u32> = (0..number(input.topics.len())).collect();
        topic_order.sort_by_key(|topic| subscriber_count[*topic as usize]);
        let topic_of = input
            .sizes()
            .flat_map(|(topic, size)| (0..size).map(move |_| topic));
        let names = input.topics.iter().map(|topic| topic.name);
        let member_count = input.members.len();
        let mut builder = Self {
            input,
            topic_order,
            subscriber_count,
            topic_of: topic_of.collect(),
            topic_hash: names.map(java_order::string_hash).collect(),
            lists: vec![Vec::new(); member_count],
            owner: vec![NONE; claims.partition_count as usize],
            sorted: Vec::new(),
            takes_part: vec![true; member_count],
            holdings: Holdings::new(input),
            previous: Vec::new(),
            revocation_required: false,
            may_have_twins: false,
            movements: Movements::default(),
            is_balanced: None,
            claims,
        };
        builder.read_previous();
        builder
    }

    /// Claims of older generations: of two the newer counts, then the one of the member met first.
    fn read_previous(&mut self) {
        let newest = self.claims.max_generation;
        let said = self.claims.said.iter();
        if !said
            .clone()
            .any(|said| said.generation_id < newest && !said.partitions.is_empty())
        {
            return;
        }
        self.previous = vec![(NONE, i32::MIN); self.owner.len()];
        for member in self.claims.order.clone() {
            let said = self.claims.said[member as usize];
            if newest <= said.generation_id {
                continue;
            }
            for partition in said.partitions {
                let place = self.claims.topics.place(*partition);
                let known = place.and_then(|place| self.claims.number(self.input, place));
                let known = known.and_then(|known| self.previous.get_mut(known as usize));
                if let Some(previous) = known.filter(|known| known.1 < said.generation_id.max(-1)) {
                    *previous = (member, said.generation_id.max(-1));
                }
            }
        }
    }

    /// Members keep what they own, subscribe to, and are near to. Returns what is unassigned, in
    /// the order of topics.
    fn keep_owned(&mut self, racks: Option<&Racks>) -> Vec<u32> {
        let mut is_kept = vec![false; self.owner.len()];
        let mut ghost_topic = None;
        let topic_rank = inverse(&self.topic_order);
        for member in self.claims.order.clone() {
            for place in std::mem::take(&mut self.claims.owned[member as usize]) {
                let found = self.claims.number(self.input, place);
                let partition = found.expect("invariant: what members own has a number");
                let is_far = racks.is_some_and(|racks| !racks.may_match(member, partition));
                if is_far || !self.input.has(member, place.1) {
                    self.revocation_required = true;
                    continue;
                }
                self.lists[member as usize].push(partition);
                self.holdings.add(member, place.1);
                if let Some(owner) = self.owner.get_mut(partition as usize) {
                    *owner = member;
                    is_kept[partition as usize] = true;
                } else {
                    let rank = topic_rank[place.1 as usize];
                    ghost_topic = Some(ghost_topic.map_or(rank, |known: u32| known.min(rank)));
                }
            }
        }
        // As in the constrained path: behind a kept partition that does not exist all count as
        // unassigned.
        self.may_have_twins = ghost_topic.is_some();
        let blind_from = ghost_topic.map_or(u32::MAX, |rank| rank + 1);
        let all = self.partitions_in_order();
        all.into_iter()
            .filter(|partition| {
                let rank = topic_rank[self.topic_of[*partition as usize] as usize];
                blind_from <= rank || !is_kept[*partition as usize]
            })
            .collect()
    }

    fn partitions_in_order(&self) -> Vec<u32> {
        let first = &self.input.first;
        let topics = self.topic_order.iter().map(|topic| *topic as usize);
        topics
            .flat_map(|topic| first[topic]..first[topic + 1])
            .collect()
    }

    fn size(&self, member: u32) -> usize {
        self.lists[member as usize].len()
    }

    fn compare(&self, one: u32, other: u32) -> Ordering {
        let key = |member: u32| (self.size(member), self.claims.rank[member as usize]);
        key(one).cmp(&key(other))
    }

    fn sort_members(&mut self) {
        let mut sorted = self.claims.order.clone();
        sorted.sort_unstable_by(|one, other| self.compare(*one, *other));
        self.sorted = sorted;
    }

    fn unsort(&mut self, member: u32) {
        let found = self
            .sorted
            .binary_search_by(|known| self.compare(*known, member));
        if let Ok(at) = found {
            self.sorted.remove(at);
        }
    }

    fn sort_in(&mut self, member: u32) {
        let found = self
            .sorted
            .binary_search_by(|known| self.compare(*known, member));
        if let Err(at) = found {
            self.sorted.insert(at, member);
        }
    }

    fn balance(
        &mut self,
        racks: Option<&Racks>,
        unassigned: Vec<u32>,
    ) -> Result<(), AssignorError> {
        let is_initial = self
            .sorted
            .last()
            .is_none_or(|member| self.size(*member) == 0);
        let mut left = unassigned.clone();
        if racks.is_some() {
            left.retain(|partition| !self.give(*partition, racks));
        }
        for partition in left {
            self.give(partition, None);
        }
        for member in self.claims.order.clone() {
            if !self.can_take_part(member) {
                self.takes_part[member as usize] = false;
                self.unsort(member);
            }
        }
        let before = self.lists.clone();
        let can_move = |partition: &u32| {
            1 < self.subscriber_count[self.topic_of[*partition as usize] as usize]
        };
        let added: Vec<u32> = unassigned.into_iter().filter(can_move).collect();
        let all: Vec<u32> = self
            .partitions_in_order()
            .into_iter()
            .filter(can_move)
            .collect();
        if !self.revocation_required {
            self.move_while_it_helps(&added)?;
        }
        let has_moved = self.move_while_it_helps(&all)?;
        if !is_initial && has_moved && self.score(&before) <= self.score(&self.lists) {
            self.lists = before;
        }
        Ok(())
    }

    /// Gives a partition to the subscriber with the fewest; with racks, to one that is near to it.
    fn give(&mut self, partition: u32, racks: Option<&Racks>) -> bool {
        let topic = self.topic_of[partition as usize];
        let mut members = self.sorted.iter().copied();
        let found = members.find(|member| {
            self.input.has(*member, topic)
                && racks.is_none_or(|racks| racks.may_match(*member, partition))
        });
        let Some(member) = found else {
            return false;
        };
        self.unsort(member);
        self.lists[member as usize].push(partition);
        self.owner[partition as usize] = member;
        self.holdings.add(member, topic);
        self.sort_in(member);
        true
    }

    /// How many partitions a member could have at most.
    fn max_size(&self, member: u32) -> usize {
        let topics = self.input.subscription(member).topics.iter();
        topics
            .map(|topic| self.input.topics[*topic as usize].partition_count as usize)
            .sum()
    }

    /// A member takes no part if it has all it could have, and nobody else could have any of it.
    fn can_take_part(&self, member: u32) -> bool {
        let list = &self.lists[member as usize];
        list.len() < self.max_size(member)
            || list
                .iter()
                .any(|partition| 1 < self.subscriber_count[self.topic(*partition) as usize])
    }

    fn topic(&self, partition: u32) -> u32 {
        match self.topic_of.get(partition as usize) {
            Some(topic) => *topic,
            None => self.place(partition).1,
        }
    }

    /// Number and topic of a partition.
    fn place(&self, partition: u32) -> Place {
        match self.topic_of.get(partition as usize) {
            Some(topic) => (partition - self.input.first[*topic as usize], *topic),
            None => self.claims.ghosts[(partition - self.claims.partition_count) as usize],
        }
    }

    /// Passes over partitions, moving each to a member that has at least two fewer, until a pass
    /// moves none or the assignment is balanced.
    fn move_while_it_helps(&mut self, partitions: &[u32]) -> Result<bool, AssignorError> {
        let mut has_moved_any = false;
        loop {
            let mut has_moved = false;
            for partition in partitions {
                if self.is_balanced()? {
                    break;
                }
                has_moved |= self.move_if_it_helps(*partition)?;
            }
            has_moved_any |= has_moved;
            if !has_moved {
                return Ok(has_moved_any);
            }
        }
    }

    fn move_if_it_helps(&mut self, partition: u32) -> Result<bool, AssignorError> {
        let owner = self.owner[partition as usize];
        if owner == NONE || !self.takes_part[owner as usize] {
            return Err(AssignorError::NoOwner);
        }
        let size = self.size(owner);
        let previous = self
            .previous
            .get(partition as usize)
            .map_or(NONE, |(member, _)| *member);
        if previous != NONE {
            if !self.takes_part[previous as usize] {
                return Err(AssignorError::NoOwner);
            }
            if self.size(previous) + 1 < size {
                self.reassign(partition, previous);
                return Ok(true);
            }
        }
        let topic = self.topic_of[partition as usize];
        let mut members = self.sorted.iter().copied();
        let lightest = members.find(|member| self.input.has(*member, topic));
        match lightest {
            Some(member) if self.size(member) + 1 < size => {
                self.reassign(partition, member);
                Ok(true)
            }
            _ => Ok(false),
        }
    }

    /// Moves a partition to a member, or in its place one that went the other way before.
    fn reassign(&mut self, partition: u32, member: u32) {
        let topic = self.topic_of[partition as usize];
        let owner = self.owner[partition as usize];
        let partition = self.movements.actual(topic, partition, (owner, member));
        let owner = self.owner[partition as usize];
        self.unsort(owner);
        self.unsort(member);
        let place = partition - self.input.first[topic as usize];
        let hash = java_order::partition_hash(self.topic_hash[topic as usize], place);
        self.movements.note(topic, partition, hash, (owner, member));
        forget(&mut self.lists[owner as usize], partition);
        self.holdings.remove(owner, topic);
        self.lists[member as usize].push(partition);
        self.holdings.add(member, topic);
        self.owner[partition as usize] = member;
        self.sort_in(member);
        self.sort_in(owner);
        self.is_balanced = None;
    }

    /// Sizes differ by one at most, or no member could take a partition from one with at least two
    /// more.
    fn is_balanced(&mut self) -> Result<bool, AssignorError> {
        if let Some(is_balanced) = self.is_balanced {
            return Ok(is_balanced);
        }
        let (Some(least), Some(most)) = (self.sorted.first(), self.sorted.last()) else {
            return Err(AssignorError::NoOwner);
        };
        let is_balanced = self.size(*most) <= self.size(*least) + 1 || !self.can_improve();
        self.is_balanced = Some(is_balanced);
        Ok(is_balanced)
    }

    fn can_improve(&self) -> bool {
        if self.may_have_twins {
            return self.can_improve_among_twins();
        }
        self.sorted.iter().any(|member| {
            let size = self.size(*member);
            let subscription = self.input.subscription_of[*member as usize];
            let heavier = self
                .sorted
                .iter()
                .rev()
                .take_while(|other| size + 1 < self.size(**other));
            size != self.max_size(*member)
                && heavier
                    .into_iter()
                    .any(|other| self.holdings.has_of(*other, subscription))
        })
    }

    /// As `can_improve`, partition by partition: of two members with the same one Kafka sees the one
    /// that its hash map hands out last.
    fn can_improve_among_twins(&self) -> bool {
        let mut holders = vec![NONE; self.owner.len()];
        let takes_part = |member: &&u32| self.takes_part[**member as usize];
        for member in self.claims.order.iter().filter(takes_part) {
            for partition in &self.lists[*member as usize] {
                if let Some(holder) = holders.get_mut(*partition as usize) {
                    *holder = *member;
                }
            }
        }
        let first = &self.input.first;
        self.sorted.iter().any(|member| {
            let (size, list) = (self.size(*member), &self.lists[*member as usize]);
            let topics = self.input.subscription(*member).topics.iter();
            let mut wanted = topics
                .flat_map(|topic| first[*topic as usize]..first[*topic as usize + 1])
                .filter(|partition| !list.contains(partition))
                .map(|partition| holders[partition as usize]);
            size != self.max_size(*member)
                && wanted.any(|holder| holder != NONE && size + 1 < self.size(holder))
        })
    }

    /// Sum of the differences in size of all pairs of members that take part.
    fn score(&self, lists: &[Vec<u32>]) -> u64 {
        let members = lists.iter().zip(&self.takes_part);
        let mut sizes: Vec<u64> = members
            .filter(|(_, takes_part)| **takes_part)
            .map(|(list, _)| list.len() as u64)
            .collect();
        sizes.sort_unstable();
        let mut below = 0;
        let mut score = 0;
        for (count, size) in (0..).zip(sizes) {
            score += count * size - below;
            below += size;
        }
        score
    }

    fn finish(self) -> Assignment {
        let name = |partition: &u32| {
            let (partition, topic) = self.place(*partition);
            self.input.partition(topic, partition)
        };
        self.lists
            .iter()
            .map(|list| list.iter().map(name).collect())
            .collect()
    }
}

/// Where each number stands in a list of all numbers.
fn inverse(order: &[u32]) -> Vec<u32> {
    let mut places = vec![0; order.len()];
    for (place, number) in (0..).zip(order) {
        places[*number as usize] = place;
    }
    places
}
