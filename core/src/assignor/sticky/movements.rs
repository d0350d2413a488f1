//! Which partitions were moved between which members while an assignment is being balanced.

use crate::assignor::java_order;

/// A move from one member to another.
type Pair = (u32, u32);

/// The moves so far. Of one topic, a partition is rather moved back than another one moved against
/// it.
///
/// # Source
/// `AbstractStickyAssignor.PartitionMovements` (Kafka 1eb7644).
#[derive(Default)]
pub(super) struct Movements {
    /// Partitions that are not where they began: from where to where, sorted by partition.
    moved: Vec<(u32, Pair)>,
    /// By topic and pair, sorted.
    sets: Vec<((u32, Pair), MoveSet)>,
}

/// Partitions of one topic that one member gave to another. Which one is moved back first is up to
/// the order of a Java hash set.
struct MoveSet {
    /// Partition and hash, in the order in which they were put in.
    partitions: Vec<(u32, i32)>,
    /// Slots of the table, which never shrinks.
    capacity: u32,
}

impl Movements {
    fn pair_of(&self, partition: u32) -> Option<(usize, Pair)> {
        let found = self
            .moved
            .binary_search_by_key(&partition, |(known, _)| *known);
        found.ok().and_then(|at| Some((at, self.moved.get(at)?.1)))
    }

    fn set(&self, topic: u32, pair: Pair) -> Result<usize, usize> {
        self.sets
            .binary_search_by_key(&(topic, pair), |(key, _)| *key)
    }

    /// What to move instead of this partition from its owner to this member: a partition that went
    /// the other way, if there is one.
    pub(super) fn actual(&self, topic: u32, partition: u32, (owner, member): Pair) -> u32 {
        let from = self.pair_of(partition).map_or(owner, |(_, (from, _))| from);
        let reverse = self.set(topic, (member, from)).ok();
        let set = reverse.and_then(|at| self.sets.get(at));
        set.and_then(|(_, set)| set.first()).unwrap_or(partition)
    }

    /// Notes that a partition with this hash moves.
    pub(super) fn note(&mut self, topic: u32, partition: u32, hash: i32, (from, to): Pair) {
        let pair = match self.pair_of(partition) {
            None => (from, to),
            Some((at, existing)) => {
                self.moved.remove(at);
                self.take_out(topic, partition, existing);
                if existing.0 == to {
                    return;
                }
                (existing.0, to)
            }
        };
        if let Err(at) = self
            .moved
            .binary_search_by_key(&partition, |(known, _)| *known)
        {
            self.moved.insert(at, (partition, pair));
        }
        let at = self.set(topic, pair).unwrap_or_else(|at| {
            let set = MoveSet {
                partitions: Vec::new(),
                capacity: 16,
            };
            self.sets.insert(at, ((topic, pair), set));
            at
        });
        if let Some((_, set)) = self.sets.get_mut(at) {
            set.partitions.push((partition, hash));
            set.capacity = java_order::table_capacity(set.partitions.len(), set.capacity);
        }
    }

    fn take_out(&mut self, topic: u32, partition: u32, pair: Pair) {
        let Ok(at) = self.set(topic, pair) else {
            return;
        };
        if let Some((_, set)) = self.sets.get_mut(at) {
            set.partitions.retain(|(known, _)| *known != partition);
            if set.partitions.is_empty() {
                self.sets.remove(at);
            }
        }
    }
}

impl MoveSet {
    fn first(&self) -> Option<u32> {
        let slot = |hash: i32| java_order::slot(hash, self.capacity);
        let first = self.partitions.iter().min_by_key(|(_, hash)| slot(*hash));
        first.map(|(partition, _)| *partition)
    }
}
