//! Producer id, epoch and sequences of a producer with idempotence.

use super::accumulator::ProducerBatch;
use crate::base::ids::TopicPartition;
use crate::wire::record::ProducerStamp;
use serde::Serialize;

/// What an idempotent producer keeps to write each batch once (`TransactionManager`,
/// `TxnPartitionMap`).
#[derive(Clone, Debug, Serialize)]
pub struct Idempotence {
    /// -1 before the broker has given one.
    pub producer_id: i64,
    /// -1 before there is an id.
    pub producer_epoch: i16,
    /// By partition.
    partitions: Vec<(TopicPartition, Sequences)>,
    /// Partitions whose sequences begin anew, with the next epoch.
    bumping: Vec<TopicPartition>,
}

/// Sequences of one partition.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
struct Sequences {
    /// The id and epoch that they are of; they may lag behind the producer's.
    identity: (i64, i16),
    /// The sequence of the next record.
    next: i32,
    /// The last sequence that was acknowledged; -1 for none.
    last_acknowledged: i64,
    /// First sequences of the batches that have one and are not done, in order.
    in_flight: Vec<i32>,
    /// The sequence after a batch that expired after a retry: nobody knows whether it was written.
    unresolved: Option<i32>,
}

impl Idempotence {
    /// Without an id yet.
    pub const fn new() -> Self {
        Self {
            producer_id: -1,
            producer_epoch: -1,
            partitions: Vec::new(),
            bumping: Vec::new(),
        }
    }

    /// Whether it has an id.
    pub const fn has_id(&self) -> bool {
        0 <= self.producer_id
    }

    /// Takes a new id or epoch; sequences of every partition begin anew.
    pub fn set_identity(&mut self, producer_id: i64, producer_epoch: i16) {
        self.producer_id = producer_id;
        self.producer_epoch = producer_epoch;
    }

    /// Transactions: every partition begins anew with the next epoch.
    pub fn reset_sequences(&mut self) {
        self.partitions.clear();
        self.bumping.clear();
    }

    fn sequences(&self, topic_partition: TopicPartition) -> Option<&Sequences> {
        let index = self.index_of(topic_partition).ok()?;
        self.partitions.get(index).map(|(_, sequences)| sequences)
    }

    fn index_of(&self, topic_partition: TopicPartition) -> Result<usize, usize> {
        self.partitions
            .binary_search_by_key(&topic_partition, |(id, _)| *id)
    }

    fn sequences_mut(&mut self, topic_partition: TopicPartition) -> Option<&mut Sequences> {
        let identity = (self.producer_id, self.producer_epoch);
        let index = match self.index_of(topic_partition) {
            Ok(index) => index,
            Err(index) => {
                let fresh = Sequences::starting(identity);
                self.partitions.insert(index, (topic_partition, fresh));
                index
            }
        };
        self.partitions
            .get_mut(index)
            .map(|(_, sequences)| sequences)
    }

    /// Whether nothing of a partition, and of no other partition of its node, may be sent now: a
    /// batch must wait for the one before it, or for the end of the epoch before.
    ///
    /// # Source
    /// `RecordAccumulator.shouldStopDrainBatchesForPartition`.
    pub fn blocks(&self, topic_partition: TopicPartition, batch: &ProducerBatch) -> bool {
        if !self.has_id() {
            return true;
        }
        let Some(sequences) = self.sequences(topic_partition) else {
            return false;
        };
        match batch.base_sequence() {
            None => {
                let is_stale = sequences.identity != (self.producer_id, self.producer_epoch);
                (is_stale && !sequences.in_flight.is_empty()) || sequences.unresolved.is_some()
            }
            Some(sequence) => sequences
                .in_flight
                .first()
                .is_some_and(|first| *first != sequence),
        }
    }

    /// Gives a batch its place among the sequences of its partition, if it has none.
    pub fn assign(&mut self, topic_partition: TopicPartition, batch: &mut ProducerBatch) {
        if batch.base_sequence().is_some() {
            return;
        }
        let identity = (self.producer_id, self.producer_epoch);
        let Some(sequences) = self.sequences_mut(topic_partition) else {
            return;
        };
        if sequences.identity != identity && sequences.in_flight.is_empty() {
            *sequences = Sequences::starting(identity);
        }
        let sequence = sequences.next;
        sequences.next = ProducerStamp::advance(sequence, i64::from(batch.record_count()));
        sequences.in_flight.push(sequence);
        batch.set_identity(sequences.identity, sequence);
    }

    /// A batch is replaced by its parts.
    pub fn on_split(&mut self, topic_partition: TopicPartition, whole: i32, parts: &[i32]) {
        if let Some(sequences) = self.sequences_mut(topic_partition)
            && let Some(index) = sequences.in_flight.iter().position(|one| *one == whole)
        {
            sequences
                .in_flight
                .splice(index..=index, parts.iter().copied());
        }
    }

    /// A batch is written.
    pub fn on_acknowledged(&mut self, topic_partition: TopicPartition, batch: &ProducerBatch) {
        let Some(sequence) = batch.base_sequence() else {
            return;
        };
        let last = ProducerStamp::advance(sequence, i64::from(batch.record_count()) - 1);
        if let Some(sequences) = self.sequences_mut(topic_partition) {
            sequences.in_flight.retain(|one| *one != sequence);
            if sequences.identity == batch.identity() {
                sequences.last_acknowledged = sequences.last_acknowledged.max(i64::from(last));
            }
        }
    }

    /// A batch is given up. `leaves_gap` says that a later one would come out of order.
    pub fn on_failed(
        &mut self,
        topic_partition: TopicPartition,
        batch: &ProducerBatch,
        leaves_gap: bool,
    ) {
        let Some(sequence) = batch.base_sequence() else {
            return;
        };
        if let Some(sequences) = self.sequences_mut(topic_partition) {
            sequences.in_flight.retain(|one| *one != sequence);
        }
        if leaves_gap {
            self.request_bump(topic_partition);
        }
    }

    /// The batch expired after it had been sent again: whether it is in the log is not known.
    ///
    /// # Source
    /// `TransactionManager.markSequenceUnresolved`.
    pub fn mark_unresolved(&mut self, topic_partition: TopicPartition, batch: &ProducerBatch) {
        let Some(sequence) = batch.base_sequence() else {
            return;
        };
        let next = ProducerStamp::advance(sequence, i64::from(batch.record_count()));
        if let Some(sequences) = self.sequences_mut(topic_partition) {
            let later = sequences.unresolved.map_or(next, |known| known.max(next));
            sequences.unresolved = Some(later);
        }
    }

    /// Whether a batch follows directly on what is acknowledged.
    pub fn is_next(&self, topic_partition: TopicPartition, sequence: i32) -> bool {
        let last = self
            .sequences(topic_partition)
            .map_or(-1, |known| known.last_acknowledged);
        i64::from(sequence) == last + 1
    }

    /// Whether a batch of this partition is unresolved; with `sequence`, whether this batch comes
    /// directly after it.
    pub fn unresolved(&self, topic_partition: TopicPartition) -> Option<i32> {
        self.sequences(topic_partition)?.unresolved
    }

    /// The partition's sequences begin anew, with the next epoch.
    pub fn request_bump(&mut self, topic_partition: TopicPartition) {
        if !self.bumping.contains(&topic_partition) {
            self.bumping.push(topic_partition);
        }
    }

    /// Looks at the partitions with an unresolved batch and nothing in flight: if all that came
    /// later was written, so was the batch; otherwise there is a gap. Gives the partitions with one.
    ///
    /// # Source
    /// `TransactionManager.maybeResolveSequences`.
    pub fn resolve(&mut self) -> Vec<TopicPartition> {
        let mut gaps = Vec::new();
        for (topic_partition, sequences) in &mut self.partitions {
            if sequences.unresolved.is_some() && sequences.in_flight.is_empty() {
                sequences.unresolved = None;
                if i64::from(sequences.next) != sequences.last_acknowledged + 1 {
                    gaps.push(*topic_partition);
                }
            }
        }
        gaps
    }

    /// Begins the next epoch if some partition needs it; gives those partitions. At the last epoch
    /// the id goes, and a new one has to be asked for.
    ///
    /// # Source
    /// `TransactionManager.bumpIdempotentEpochAndResetIdIfNeeded`.
    pub fn bump(&mut self) -> Vec<TopicPartition> {
        if self.bumping.is_empty() || !self.has_id() {
            return Vec::new();
        }
        if self.producer_epoch == i16::MAX {
            self.producer_id = -1;
            self.producer_epoch = -1;
            self.reset_sequences();
            return Vec::new();
        }
        self.producer_epoch += 1;
        std::mem::take(&mut self.bumping)
    }

    /// A partition's sequences begin at 0, and the batches that have one, of these many records in
    /// their order, get new ones. Gives the new ones.
    ///
    /// # Source
    /// `TxnPartitionMap.startSequencesAtBeginning`.
    pub fn restart(&mut self, topic_partition: TopicPartition, counts: &[u32]) -> Vec<i32> {
        let identity = (self.producer_id, self.producer_epoch);
        let mut fresh = Sequences::starting(identity);
        for count in counts {
            fresh.in_flight.push(fresh.next);
            fresh.next = ProducerStamp::advance(fresh.next, i64::from(*count));
        }
        let renumbered = fresh.in_flight.clone();
        if let Some(sequences) = self.sequences_mut(topic_partition) {
            *sequences = fresh;
        }
        renumbered
    }
}

impl Default for Idempotence {
    fn default() -> Self {
        Self::new()
    }
}

impl Sequences {
    const fn starting(identity: (i64, i16)) -> Self {
        Self {
            identity,
            next: 0,
            last_acknowledged: -1,
            in_flight: Vec::new(),
            unresolved: None,
        }
    }
}
