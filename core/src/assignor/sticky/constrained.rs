//! All members subscribe to the same topics: everybody gets a share of the same size, or one more.

use super::{Claims, Outcome, Place};
use crate::assignor::input::{Input, NONE, Racks};
use crate::assignor::{Assignment, AssignorError, number};
use crate::base::ids::TopicPartition;

/// Keeps what members own up to their share and deals out the rest in turn.
///
/// # Source
/// `AbstractStickyAssignor.ConstrainedAssignmentBuilder` (Kafka 1eb7644).
pub(super) fn assign(
    input: &Input<'_>,
    claims: Claims<'_>,
    racks: Option<&Racks>,
) -> Result<Outcome, AssignorError> {
    let mut builder = Builder::new(input, claims, racks);
    builder.keep_owned();
    builder.sort_lists();
    match racks {
        None if builder.nobody_owns() => builder.deal_to_new_members(),
        None => builder.deal_all()?,
        Some(racks) => {
            let mut unassigned = builder.unassigned();
            builder.sort_by_near_members(racks, &mut unassigned);
            builder.deal_within_racks(racks, &mut unassigned);
            let mut turn = builder.turn();
            for place in unassigned {
                builder.deal(place, &mut turn)?;
            }
        }
    }
    builder.check()?;
    Ok(Outcome {
        assignment: builder.assignment,
        transferring: Some(builder.transferring),
    })
}

struct Builder<'a> {
    input: &'a Input<'a>,
    claims: Claims<'a>,
    racks: Option<&'a Racks>,
    /// What every member gets at least, and at most.
    min_quota: usize,
    max_quota: usize,
    /// How many members get more than the lower quota, and how many do so far.
    over_min_expected: usize,
    over_min: usize,
    /// Members below the lower quota.
    under_min: Vec<u32>,
    /// Members at the lower quota that may still get one more.
    at_min: Vec<u32>,
    /// Of each partition: whether its owner has kept it. Empty when nobody owns any.
    is_kept: Vec<bool>,
    /// Of each partition: which owner had to let it go. Empty when nobody had to.
    released_by: Vec<u32>,
    /// The first topic of which a partition is kept that does not exist.
    ghost_topic: u32,
    assignment: Assignment,
    transferring: Vec<(u32, TopicPartition)>,
}

impl<'a> Builder<'a> {
    fn new(input: &'a Input<'a>, claims: Claims<'a>, racks: Option<&'a Racks>) -> Self {
        let partition_count = claims.partition_count as usize;
        let member_count = input.members.len();
        let min_quota = partition_count / member_count;
        let max_quota = partition_count.div_ceil(member_count);
        let owned = claims.owned.iter().any(|owned| !owned.is_empty());
        let numbers = partition_count + claims.ghosts.len();
        Self {
            input,
            racks,
            min_quota,
            max_quota,
            over_min_expected: partition_count % member_count,
            over_min: 0,
            under_min: Vec::new(),
            at_min: Vec::new(),
            is_kept: vec![false; if owned { numbers } else { 0 }],
            released_by: Vec::new(),
            ghost_topic: u32::MAX,
            assignment: (0..member_count)
                .map(|_| Vec::with_capacity(max_quota))
                .collect(),
            transferring: Vec::new(),
            claims,
        }
    }

    /// Each member keeps of what it owns as much as its share allows, lower partition numbers
    /// first. With racks, only what is near to it.
    fn keep_owned(&mut self) {
        for member in self.claims.order.clone() {
            let mut owned = std::mem::take(&mut self.claims.owned[member as usize]);
            owned.retain(|place| self.may_keep(member, *place));
            owned.sort_unstable();
            let (kept, released) = if owned.len() < self.min_quota {
                self.under_min.push(member);
                (owned.as_slice(), &[][..])
            } else if self.max_quota <= owned.len() && self.over_min < self.over_min_expected {
                self.over_min += 1;
                if self.over_min == self.over_min_expected {
                    self.at_min.clear();
                }
                owned.split_at(self.max_quota)
            } else {
                if self.over_min < self.over_min_expected {
                    self.at_min.push(member);
                }
                owned.split_at(self.min_quota)
            };
            for place in kept {
                let number = self.number(*place);
                self.is_kept[number as usize] = true;
                if self.claims.partition_count <= number {
                    self.ghost_topic = self.ghost_topic.min(place.1);
                }
                self.assignment[member as usize].push(self.input.partition(place.1, place.0));
            }
            for place in released {
                self.note_release(self.number(*place), member);
            }
        }
    }

    /// A member may not keep what is far from it, nor what others claim as well.
    fn may_keep(&mut self, member: u32, place: Place) -> bool {
        if let Some(racks) = self.racks {
            let number = self.number(place);
            if !racks.may_match(member, number) {
                self.note_release(number, member);
                return false;
            }
        }
        self.claims.claimed_twice.is_empty() || !self.is_claimed_twice(self.number(place))
    }

    fn note_release(&mut self, number: u32, member: u32) {
        if self.released_by.is_empty() {
            self.released_by = vec![NONE; self.is_kept.len()];
        }
        self.released_by[number as usize] = member;
    }

    fn is_claimed_twice(&self, number: u32) -> bool {
        let claimed_twice = &self.claims.claimed_twice;
        !claimed_twice.is_empty() && claimed_twice.binary_search(&number).is_ok()
    }

    fn number(&self, place: Place) -> u32 {
        let number = self.claims.number(self.input, place);
        number.expect("invariant: what members own has a number")
    }

    /// Whether nobody has kept a partition.
    ///
    /// Kafka walks all partitions and the kept ones side by side. A kept one that does not exist
    /// is never met, so everything behind its topic counts as unassigned, kept or not.
    fn is_unassigned(&self, topic: u32, partition: u32) -> bool {
        let number = self.input.first[topic as usize] + partition;
        let is_kept = self.is_kept.get(number as usize).copied();
        self.ghost_topic < topic || !is_kept.unwrap_or(false)
    }

    /// What nobody has kept, by topic name and number.
    fn unassigned(&self) -> Vec<Place> {
        let all = self
            .input
            .sizes()
            .flat_map(|(topic, size)| (0..size).map(move |partition| (partition, topic)));
        all.filter(|(partition, topic)| self.is_unassigned(*topic, *partition))
            .collect()
    }

    fn sort_lists(&mut self) {
        let rank = &self.claims.rank;
        self.under_min
            .sort_unstable_by_key(|member| rank[*member as usize]);
        self.at_min
            .sort_unstable_by_key(|member| rank[*member as usize]);
    }

    /// Partitions with few members near to them come first.
    fn sort_by_near_members(&self, racks: &Racks, unassigned: &mut [Place]) {
        unassigned.sort_by_cached_key(|place| racks.near_member_count(self.number(*place)));
    }

    /// In turn, within racks, to members below the lower quota; then to those at it.
    fn deal_within_racks(&mut self, racks: &Racks, unassigned: &mut Vec<Place>) {
        let mut next = 0;
        let mut left = Vec::new();
        for place in unassigned.drain(..) {
            let partition = self.number(place);
            if let Some(at) = next_near(racks, partition, &self.under_min, next) {
                let member = self.under_min[at];
                next = at;
                let count = self.assignment[member as usize].len() + 1;
                if self.min_quota <= count {
                    self.under_min.remove(at);
                    if count < self.max_quota {
                        self.at_min.push(member);
                    }
                } else {
                    next += 1;
                }
                next = next.checked_rem(self.under_min.len()).unwrap_or(0);
                self.give(place, member);
                continue;
            }
            let may_exceed = self.over_min < self.over_min_expected;
            match next_near(racks, partition, &self.at_min, 0).filter(|_| may_exceed) {
                Some(at) => {
                    let member = self.at_min[at];
                    if self.assignment[member as usize].len() + 1 == self.max_quota {
                        self.at_min.remove(at);
                        self.over_min += 1;
                    }
                    self.give(place, member);
                }
                None => left.push(place),
            }
        }
        *unassigned = left;
    }

    /// Whether nobody owns, or says that it owns, anything.
    fn nobody_owns(&self) -> bool {
        self.is_kept.is_empty() && self.claims.claimed_twice.is_empty()
    }

    /// As `deal_all` when nobody owns anything: of n members each gets every n-th partition. Members are filled one by one, which is quicker than in turn.
    fn deal_to_new_members(&mut self) {
        let member_count = self.assignment.len();
        for (member, rank) in self.claims.rank.iter().enumerate() {
            let got = &mut self.assignment[member];
            let mut next = *rank as usize;
            for (topic, size) in self.input.sizes() {
                let size = size as usize;
                if next < size {
                    let numbers = (number(next)..number(size)).step_by(member_count);
                    next += numbers.len() * member_count;
                    got.extend(numbers.map(|partition| self.input.partition(topic, partition)));
                }
                next -= size;
            }
        }
        self.under_min.clear();
    }

    /// Deals out what nobody has kept, by topic name and number.
    fn deal_all(&mut self) -> Result<(), AssignorError> {
        let mut turn = self.turn();
        for (topic, size) in self.input.sizes() {
            for partition in 0..size {
                if self.is_unassigned(topic, partition) {
                    self.deal((partition, topic), &mut turn)?;
                }
            }
        }
        Ok(())
    }

    fn turn(&mut self) -> Turn {
        Turn {
            next: 0,
            at_min: std::mem::take(&mut self.at_min),
            next_at_min: 0,
        }
    }

    /// In turn to members below the lower quota; when there is none left, one each to those at it.
    fn deal(&mut self, place: Place, turn: &mut Turn) -> Result<(), AssignorError> {
        if turn.next == self.under_min.len() {
            turn.next = 0;
        }
        let under_min = self.under_min.get(turn.next).copied();
        let Some(member) = under_min.or_else(|| turn.next_at_min()) else {
            return Err(AssignorError::NoMoreUnfilledConsumers);
        };
        let count = self.give(place, member);
        if under_min.is_none() {
            self.over_min += usize::from(count == self.max_quota);
        } else if count == self.min_quota {
            self.under_min.remove(turn.next);
            turn.at_min.push(member);
        } else {
            turn.next += 1;
        }
        Ok(())
    }

    /// Gives a member a partition; how many it has now. The partition changes hands if another
    /// member had to let it go, or if several members claim it.
    fn give(&mut self, place: Place, member: u32) -> usize {
        let (partition, topic) = place;
        let id = self.input.partition(topic, partition);
        if self.changes_hands(place, member) {
            self.transferring.push((member, id));
        }
        let got = &mut self.assignment[member as usize];
        got.push(id);
        got.len()
    }

    fn changes_hands(&self, (partition, topic): Place, member: u32) -> bool {
        if self.released_by.is_empty() && self.claims.claimed_twice.is_empty() {
            return false;
        }
        let number = self.input.first[topic as usize] + partition;
        let released_by = self.released_by.get(number as usize).copied();
        let released_by = released_by.unwrap_or(NONE);
        released_by != NONE && released_by != member || self.is_claimed_twice(number)
    }

    /// Nobody may be left below the lower quota.
    fn check(&self) -> Result<(), AssignorError> {
        if self.under_min.is_empty() {
            return Ok(());
        }
        if self.over_min != self.over_min_expected {
            return Err(AssignorError::TooFewAboveMinQuota);
        }
        let below = self.under_min.iter().map(|member| *member as usize);
        let mut below = below.filter(|member| self.assignment[*member].len() != self.min_quota);
        match below.next() {
            None => Ok(()),
            Some(member) => {
                let member_id = self.input.members[member].member_id.clone();
                Err(AssignorError::BelowMinQuota(member_id))
            }
        }
    }
}

/// Whose turn it is.
struct Turn {
    /// Position among those below the lower quota.
    next: usize,
    /// Those at it, and the position among them.
    at_min: Vec<u32>,
    next_at_min: usize,
}

impl Turn {
    fn next_at_min(&mut self) -> Option<u32> {
        let member = self.at_min.get(self.next_at_min).copied();
        self.next_at_min += 1;
        member
    }
}

/// The first member near to a partition, from a position on and round.
fn next_near(racks: &Racks, partition: u32, members: &[u32], from: usize) -> Option<usize> {
    let positions = (from..members.len()).chain(0..from.min(members.len()));
    let mut near = positions.filter(|at| racks.match_each_other(members[*at], partition));
    near.next()
}
