//! What `sticky` and `cooperative-sticky` share: who owns what, and which algorithm deals out the
//! rest. With equal subscriptions that is [`constrained`], otherwise [`general`].

#![expect(
    clippy::indexing_slicing,
    reason = "members, topics and partitions are positions in tables that are built together"
)]

use super::input::{Input, NONE, Racks};
use super::{Assignment, AssignorError, AssignorMember, compare_text, java_order, number};
use crate::base::ids::{TopicId, TopicPartition};

mod constrained;
mod general;
mod movements;

/// Where members say what they own.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Memory {
    /// In the user data (`StickyAssignor#memberData`).
    UserData,
    /// In the subscription; the generation too, if it has one there
    /// (`CooperativeStickyAssignor#memberData`).
    Subscription,
}

/// An assignment, and which partitions change hands in it.
pub(super) struct Outcome {
    pub(super) assignment: Assignment,
    /// Partitions that somebody still owns, with the members that are to get them. Unset when that
    /// has to be found by comparing (general path).
    pub(super) transferring: Option<Vec<(u32, TopicPartition)>>,
}

/// Deals out what is left when every member has kept what it may keep of what it owned.
///
/// # Source
/// `AbstractStickyAssignor#assignPartitions` (Kafka 1eb7644); KIP-54, KIP-341, KIP-881.
pub(super) fn assign(input: &Input<'_>, memory: Memory) -> Result<Outcome, AssignorError> {
    if input.members.is_empty() {
        return Ok(Outcome {
            assignment: Assignment::new(),
            transferring: None,
        });
    }
    let claims = Claims::read(input, memory);
    let everybody: Vec<u32> = claims.order.clone();
    let racks = Racks::new(input);
    let racks =
        racks.filter(|racks| racks.make_a_difference(&everybody, 0, claims.partition_count));
    if claims.subscribe_alike {
        constrained::assign(input, claims, racks.as_ref())
    } else {
        let assignment = general::assign(input, claims, racks.as_ref())?;
        Ok(Outcome {
            assignment,
            transferring: None,
        })
    }
}

/// A partition by number and topic, in the order in which a member's own partitions are kept.
type Place = (u32, u32);

/// What members say that they own, conflicts settled.
struct Claims<'a> {
    /// Members as Kafka's hash map hands them out.
    order: Vec<u32>,
    /// Each member's place among the member ids.
    rank: Vec<u32>,
    /// What each member says.
    said: Vec<Said<'a>>,
    /// What each member still owns, in the order in which it says so.
    owned: Vec<Vec<Place>>,
    /// Partitions that exist.
    partition_count: u32,
    /// Partitions that somebody owns but that do not exist, because their topic is smaller now.
    /// Their numbers follow those that exist.
    ghosts: Vec<Place>,
    /// Partitions that several members of one generation claim, sorted.
    claimed_twice: Vec<u32>,
    /// The highest generation that a member names; -1 for none.
    max_generation: i32,
    /// Whether all subscriptions count as equal.
    subscribe_alike: bool,
    topics: TopicIndex,
}

/// What a member says that it owns, and since when.
#[derive(Clone, Copy)]
struct Said<'a> {
    partitions: &'a [TopicPartition],
    generation_id: i32,
}

impl<'a> Said<'a> {
    fn read(member: &AssignorMember<'a>, memory: Memory) -> Self {
        let data = member.user_data;
        let generation_in_data = data.map_or(-1, |data| data.generation_id);
        match memory {
            Memory::UserData => Self {
                partitions: data.map_or(&[], |data| &data.partitions),
                generation_id: generation_in_data,
            },
            Memory::Subscription => Self {
                partitions: member.owned_partitions,
                generation_id: if 0 <= member.generation_id {
                    member.generation_id
                } else {
                    generation_in_data
                },
            },
        }
    }
}

impl<'a> Claims<'a> {
    fn read(input: &Input<'a>, memory: Memory) -> Self {
        let ids = input.members.iter().map(|member| member.member_id.as_str());
        let hashes: Vec<i32> = ids.map(java_order::string_hash).collect();
        let order = java_order::map_order(&hashes, 16);
        let said = input
            .members
            .iter()
            .map(|member| Said::read(member, memory));
        let partition_count = input.first.last().copied().unwrap_or_default();
        let mut claims = Self {
            rank: ranks(input),
            said: said.collect(),
            owned: vec![Vec::new(); input.members.len()],
            partition_count,
            ghosts: Vec::new(),
            claimed_twice: Vec::new(),
            max_generation: -1,
            subscribe_alike: subscribe_alike(input, &order),
            topics: TopicIndex::new(input),
            order,
        };
        claims.settle(input);
        claims
    }

    /// Goes through the members and settles who owns a partition that several claim.
    ///
    /// The later claimant's generation is the one that it says; the earlier one's is the generation
    /// field of its subscription, which may differ.
    fn settle(&mut self, input: &Input<'_>) {
        if self.said.iter().all(|said| said.partitions.is_empty()) {
            let generations = self.said.iter().map(|said| said.generation_id);
            self.max_generation = generations.max().unwrap_or(-1).max(-1);
            return;
        }
        let mut claimant = vec![NONE; self.partition_count as usize];
        for member in self.order.clone() {
            let Said {
                partitions,
                generation_id,
            } = self.said[member as usize];
            self.max_generation = self.max_generation.max(generation_id);
            self.owned[member as usize].reserve(partitions.len());
            for partition in partitions {
                let Some(place) = self.topics.place(*partition) else {
                    continue;
                };
                let number = self.number_or_ghost(input, place) as usize;
                if claimant.len() <= number {
                    claimant.push(NONE);
                }
                let other = claimant[number];
                if other == NONE {
                    self.owned[member as usize].push(place);
                    claimant[number] = member;
                    continue;
                }
                let other_generation = input.members[other as usize].generation_id.max(-1);
                if generation_id < other_generation {
                    continue;
                }
                if generation_id == other_generation {
                    self.claimed_twice.push(super::number(number));
                } else {
                    self.owned[member as usize].push(place);
                }
                forget(&mut self.owned[other as usize], place);
                claimant[number] = member;
            }
        }
        self.claimed_twice.sort_unstable();
        self.claimed_twice.dedup();
    }

    /// A partition's number; a ghost that is not known yet gets the next one.
    fn number_or_ghost(&mut self, input: &Input<'_>, place: Place) -> u32 {
        self.number(input, place).unwrap_or_else(|| {
            self.ghosts.push(place);
            self.partition_count + number(self.ghosts.len()) - 1
        })
    }

    /// A partition's number, if it exists or is a known ghost.
    fn number(&self, input: &Input<'_>, (partition, topic): Place) -> Option<u32> {
        let (first, end) = (input.first[topic as usize], input.first[topic as usize + 1]);
        if partition < end - first {
            return Some(first + partition);
        }
        let ghost = self
            .ghosts
            .iter()
            .position(|ghost| *ghost == (partition, topic));
        ghost.map(|ghost| self.partition_count + number(ghost))
    }
}

/// Takes the first entry of this value out of a list, as `List#remove(Object)` does.
fn forget<T: Copy + PartialEq>(list: &mut Vec<T>, entry: T) {
    if let Some(at) = list.iter().position(|known| *known == entry) {
        list.remove(at);
    }
}

/// Each member's place among the member ids.
fn ranks(input: &Input<'_>) -> Vec<u32> {
    let mut sorted: Vec<(u32, &str)> = (0..)
        .zip(input.members.iter().map(|member| member.member_id.as_str()))
        .collect();
    sorted.sort_by(|(_, one), (_, other)| compare_text(one, other));
    let mut rank = vec![0; sorted.len()];
    for (place, (member, _)) in (0..).zip(sorted) {
        rank[member as usize] = place;
    }
    rank
}

/// Whether every subscription names the topics of the first one that names any. Members before
/// that one, which name none, are not looked at again: they then count as subscribed alike.
fn subscribe_alike(input: &Input<'_>, order: &[u32]) -> bool {
    let topics = |which: u32| {
        let member = input.subscription_of.iter().position(|of| *of == which);
        let mut topics: Vec<&str> = member
            .map_or(&[][..], |member| input.members[member].topics)
            .iter()
            .map(|topic| &**topic)
            .collect();
        topics.sort_unstable();
        topics
    };
    let mut first: Option<(u32, Vec<&str>)> = None;
    let mut last_alike = NONE;
    for member in order {
        let which = input.subscription_of[*member as usize];
        match &first {
            None => {
                let named = topics(which);
                if !named.is_empty() {
                    first = Some((which, named));
                }
            }
            Some((known, _)) if *known == which || last_alike == which => {}
            Some((_, named)) => {
                if topics(which) != *named {
                    return false;
                }
                last_alike = which;
            }
        }
    }
    true
}

/// Topics by interned name.
struct TopicIndex {
    /// Sorted.
    topics: Vec<(TopicId, u32)>,
    last: usize,
}

impl TopicIndex {
    fn new(input: &Input<'_>) -> Self {
        let mut topics: Vec<(TopicId, u32)> = input
            .topics
            .iter()
            .map(|topic| topic.topic)
            .zip(0..)
            .collect();
        topics.sort_unstable();
        Self { topics, last: 0 }
    }

    /// Number and topic of a partition whose topic is known. Neighbours are mostly of one topic, or
    /// of topics that follow each other.
    fn place(&mut self, partition: TopicPartition) -> Option<Place> {
        let is_at = |at: usize| {
            self.topics
                .get(at)
                .is_some_and(|(id, _)| *id == partition.topic)
        };
        if !is_at(self.last) {
            self.last = if is_at(self.last + 1) {
                self.last + 1
            } else {
                let found = self
                    .topics
                    .binary_search_by_key(&partition.topic, |(id, _)| *id);
                found.ok()?
            };
        }
        Some((partition.partition, self.topics[self.last].1))
    }
}
