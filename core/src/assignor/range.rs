//! The `range` assignor.

use super::Assignment;
use super::input::{Input, Racks};

/// Deals out each topic by itself: its partitions in order, in contiguous ranges of equal length,
/// to its subscribers in member order; the first ones get one more if it does not come out even.
/// Topics of equal size with the same subscribers are therefore split alike.
///
/// Where racks make a difference for some topic, partitions with a replica in a member's rack are
/// dealt out first, up to the same quotas; topics of equal size with the same subscribers together,
/// so that they stay split alike. A member without a rack counts as near to every partition.
///
/// # Source
/// `RangeAssignor#assignPartitions` (Kafka 1eb7644); KIP-881.
pub(super) fn assign(input: &Input<'_>) -> Assignment {
    let members = input.sorted_members();
    let racks = Racks::new(input);
    let mut states: Vec<TopicState> = input
        .sizes()
        .map(|(topic, size)| TopicState::new(input, topic, size, &members))
        .collect();
    let mut assignment = input.nothing();
    let racks = racks.filter(|racks| {
        let mut some = false;
        for state in &mut states {
            let end = state.first + state.partition_count;
            state.needs_racks = racks.make_a_difference(&state.subscribers, state.first, end);
            some |= state.needs_racks;
        }
        some
    });
    if let Some(racks) = &racks {
        assign_with_racks(input, racks, &mut states, &mut assignment);
    }
    for state in &mut states {
        state.assign_ranges(None, input, &mut assignment);
    }
    if racks.is_some() {
        sort(input, &mut assignment);
    }
    assignment
}

/// Topics of one size with the same subscribers are dealt out together.
fn assign_with_racks(
    input: &Input<'_>,
    racks: &Racks,
    states: &mut [TopicState],
    assignment: &mut Assignment,
) {
    states.sort_by(|one, other| {
        let key = |state: &TopicState| (state.partition_count, state.topic);
        let subscribers = one.subscribers.cmp(&other.subscribers);
        subscribers.then_with(|| key(one).cmp(&key(other)))
    });
    let alike = |one: &TopicState, other: &TopicState| {
        one.partition_count == other.partition_count && one.subscribers == other.subscribers
    };
    for group in states.chunk_by_mut(alike) {
        match group {
            [state] if state.needs_racks => state.assign_ranges(Some(racks), input, assignment),
            [_] => {}
            _ => assign_together(input, racks, group, assignment),
        }
    }
    states.sort_by_key(|state| state.topic);
}

/// Partition by partition, to the first subscriber that is near to it in every topic.
fn assign_together(
    input: &Input<'_>,
    racks: &Racks,
    states: &mut [TopicState],
    assignment: &mut Assignment,
) {
    let Some(state) = states.first() else {
        return;
    };
    let mut remaining: Vec<(usize, u32)> = state.subscribers.iter().copied().enumerate().collect();
    for partition in 0..state.partition_count {
        let found = remaining.iter().position(|(position, member)| {
            states.iter().all(|state| {
                racks.may_match(*member, state.first + partition)
                    && 0 < state.max_assignable(*position)
            })
        });
        let Some((position, member)) = found.and_then(|found| remaining.get(found).copied()) else {
            continue;
        };
        for state in &mut *states {
            state.unassigned.retain(|left| *left != partition);
            state.note_assigned(position, 1);
            if let Some(got) = assignment.get_mut(member as usize) {
                got.push(input.partition(state.topic, partition));
            }
        }
        if states
            .iter()
            .all(|state| state.max_assignable(position) == 0)
        {
            remaining.retain(|(other, _)| *other != position);
        }
    }
}

/// How far a topic has been dealt out.
struct TopicState {
    topic: u32,
    /// Its first partition's place among all.
    first: u32,
    partition_count: u32,
    /// Its subscribers in member order.
    subscribers: Vec<u32>,
    /// How many partitions each of them has got.
    assigned: Vec<u32>,
    /// Partitions not yet dealt out, ascending.
    unassigned: Vec<u32>,
    quota: u32,
    /// How many members may still get one above the quota.
    extra: u32,
    /// Whether racks make a difference for it.
    needs_racks: bool,
}

impl TopicState {
    fn new(input: &Input<'_>, topic: u32, partition_count: u32, members: &[u32]) -> Self {
        let subscribers = members
            .iter()
            .copied()
            .filter(|member| input.has(*member, topic));
        let subscribers: Vec<u32> = subscribers.collect();
        let subscriber_count = super::number(subscribers.len()).max(1);
        Self {
            topic,
            first: input.first.get(topic as usize).copied().unwrap_or_default(),
            partition_count,
            assigned: vec![0; subscribers.len()],
            subscribers,
            unassigned: (0..partition_count).collect(),
            quota: partition_count / subscriber_count,
            extra: partition_count % subscriber_count,
            needs_racks: false,
        }
    }

    /// How many more the subscriber at this position may get.
    fn max_assignable(&self, position: usize) -> u32 {
        let assigned = self.assigned.get(position).copied().unwrap_or_default();
        (self.quota + u32::from(0 < self.extra)).saturating_sub(assigned)
    }

    fn note_assigned(&mut self, position: usize, count: u32) {
        if let Some(assigned) = self.assigned.get_mut(position) {
            *assigned += count;
            if self.quota < *assigned {
                self.extra = self.extra.saturating_sub(1);
            }
        }
    }

    /// Gives each subscriber as much as it may get, in order; with racks, only what is near to it.
    fn assign_ranges(&mut self, racks: Option<&Racks>, input: &Input<'_>, out: &mut Assignment) {
        let mut unassigned = std::mem::take(&mut self.unassigned);
        for position in 0..self.subscribers.len() {
            let member = self.subscribers.get(position).copied().unwrap_or_default();
            let Some(got) = out.get_mut(member as usize) else {
                continue;
            };
            let most = self.max_assignable(position) as usize;
            let before = got.len();
            let mut take = |partition: u32| {
                got.push(input.partition(self.topic, partition));
            };
            match racks {
                None => unassigned
                    .drain(..most.min(unassigned.len()))
                    .for_each(take),
                Some(racks) => {
                    let mut room = most;
                    unassigned.retain(|partition| {
                        let is_taken = 0 < room && racks.may_match(member, self.first + partition);
                        if is_taken {
                            room -= 1;
                            take(*partition);
                        }
                        !is_taken
                    });
                }
            }
            let count = super::number(got.len() - before);
            if 0 < count {
                self.note_assigned(position, count);
            }
        }
        self.unassigned = unassigned;
    }
}

/// By topic name, then partition.
fn sort(input: &Input<'_>, assignment: &mut Assignment) {
    let mut rank: Vec<_> = (0_u32..)
        .zip(&input.topics)
        .map(|(rank, topic)| (topic.topic, rank))
        .collect();
    rank.sort_unstable();
    let rank_of = |topic| {
        let found = rank.binary_search_by_key(&topic, |(topic, _)| *topic);
        found
            .ok()
            .and_then(|place| rank.get(place))
            .map(|(_, rank)| *rank)
    };
    for partitions in assignment {
        partitions.sort_by_key(|partition| (rank_of(partition.topic), partition.partition));
    }
}
