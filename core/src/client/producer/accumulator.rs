//! Batches that wait to be sent.

use crate::base::config::ProducerConfig;
use crate::base::ids::TopicPartition;
use crate::client::backoff::Backoff;
use crate::kernel::rng::Stream;
use crate::kernel::time::{SimTime, Span};
use crate::wire::record::{Batch, ProducerStamp, Record};
use serde::Serialize;
use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

/// A queue of batches for each partition (`RecordAccumulator`).
#[derive(Clone, Debug, Serialize)]
pub struct Accumulator {
    batch_size: u32,
    linger: Span,
    buffer_memory: u64,
    buffered_bytes: u64,
    queues: BTreeMap<TopicPartition, VecDeque<ProducerBatch>>,
}

/// A batch in the making, or on its way.
#[derive(Clone, Debug, Serialize)]
pub struct ProducerBatch {
    records: Vec<Record>,
    size_bytes: u32,
    created_at: SimTime,
    /// How often it has been sent in vain.
    attempts: u32,
    /// Not sent before this instant; unset for a batch that has not failed.
    retry_at: Option<SimTime>,
    skips_backoff: bool,
    /// Bytes that it holds of `buffer.memory`.
    allocated: u64,
    /// Id and epoch of its producer, and the sequence of its first record; unset before it is
    /// drained, and without idempotence.
    sequence: Option<(i64, i16, i32)>,
    /// Whether its sequence was replaced after it had been sent.
    is_reset: bool,
    /// Whether it is a part of a batch that was too large.
    is_part: bool,
}

impl ProducerBatch {
    const fn new(created_at: SimTime, allocated: u64) -> Self {
        Self {
            records: Vec::new(),
            size_bytes: Batch::HEADER_BYTES,
            created_at,
            attempts: 0,
            retry_at: None,
            skips_backoff: false,
            allocated,
            sequence: None,
            is_reset: false,
            is_part: false,
        }
    }

    /// The records that it holds.
    pub fn record_count(&self) -> u32 {
        u32::try_from(self.records.len()).unwrap_or(u32::MAX)
    }

    /// When its first record was handed over.
    pub const fn created_at(&self) -> SimTime {
        self.created_at
    }

    /// How often it has been sent in vain.
    pub const fn attempts(&self) -> u32 {
        self.attempts
    }

    /// The sequence of its first record, if it has one.
    pub fn base_sequence(&self) -> Option<i32> {
        self.sequence.map(|(_, _, sequence)| sequence)
    }

    /// Id and epoch of its producer; -1 without a sequence.
    pub fn identity(&self) -> (i64, i16) {
        self.sequence.map_or((-1, -1), |(id, epoch, _)| (id, epoch))
    }

    /// Whether its sequence was replaced after it had been sent.
    pub const fn is_reset(&self) -> bool {
        self.is_reset
    }

    /// Gives it its place among the sequences of its partition.
    pub fn set_identity(&mut self, (producer_id, epoch): (i64, i16), base_sequence: i32) {
        self.is_reset = self.sequence.is_some();
        self.sequence = Some((producer_id, epoch, base_sequence));
    }

    /// The leader has changed: the next try need not wait (KIP-951).
    pub const fn skip_backoff(&mut self) {
        self.skips_backoff = true;
    }

    /// Counts a failure and sets the time of the next try.
    pub fn schedule_retry(&mut self, backoff: Backoff, stream: &mut Stream, now: SimTime) -> u32 {
        self.attempts += 1;
        let wait = backoff.after(self.attempts, stream);
        self.retry_at = Some(if self.skips_backoff { now } else { now + wait });
        self.skips_backoff = false;
        self.attempts
    }

    /// The batch as a produce request carries it.
    pub fn to_wire(&self, is_transactional: bool) -> Batch {
        let mut stamp = ProducerStamp::NONE;
        if let Some((producer_id, producer_epoch, base_sequence)) = self.sequence {
            stamp = ProducerStamp {
                producer_id,
                producer_epoch,
                base_sequence,
                is_transactional,
                is_control: false,
            };
        }
        Batch {
            producer: stamp,
            ..Batch::new(Arc::from(self.records.as_slice()))
        }
    }
}

impl Accumulator {
    /// An empty accumulator.
    pub fn new(config: &ProducerConfig) -> Self {
        Self {
            batch_size: u32::try_from(config.batch_size).unwrap_or(u32::MAX),
            linger: Span::from_millis(config.linger_ms),
            buffer_memory: u64::try_from(config.buffer_memory).unwrap_or_default(),
            buffered_bytes: 0,
            queues: BTreeMap::new(),
        }
    }

    /// Bytes in use, batches in flight included.
    pub const fn buffered_bytes(&self) -> u64 {
        self.buffered_bytes
    }

    /// Records in batches that have not been sent.
    pub fn record_count(&self) -> u32 {
        self.queues
            .values()
            .flatten()
            .map(ProducerBatch::record_count)
            .sum()
    }

    /// Whether a record fits into the last batch of its partition, or memory allows a new one.
    pub fn has_room(&self, topic_partition: TopicPartition, size_bytes: u32) -> bool {
        self.last_has_room(topic_partition, size_bytes)
            || self.buffered_bytes + self.allocation(size_bytes) <= self.buffer_memory
    }

    fn last_has_room(&self, topic_partition: TopicPartition, size_bytes: u32) -> bool {
        self.last(topic_partition).is_some_and(|last| {
            !last.is_closed() && last.size_bytes + size_bytes <= self.batch_size
        })
    }

    fn last(&self, topic_partition: TopicPartition) -> Option<&ProducerBatch> {
        self.queues.get(&topic_partition).and_then(VecDeque::back)
    }

    /// Bytes that a new batch takes from the pool.
    fn allocation(&self, size_bytes: u32) -> u64 {
        u64::from(self.batch_size.max(Batch::HEADER_BYTES + size_bytes))
    }

    /// Adds a record to the last batch of its partition, or to a new one.
    pub fn append(&mut self, topic_partition: TopicPartition, record: Record, since: SimTime) {
        let size_bytes = record.size_bytes;
        if !self.last_has_room(topic_partition, size_bytes) {
            let allocated = self.allocation(size_bytes);
            self.buffered_bytes += allocated;
            let queue = self.queues.entry(topic_partition).or_default();
            queue.push_back(ProducerBatch::new(since, allocated));
        }
        if let Some(batch) = self
            .queues
            .get_mut(&topic_partition)
            .and_then(VecDeque::back_mut)
        {
            batch.size_bytes += size_bytes;
            batch.records.push(record);
        }
    }

    /// Gives back the memory of a batch that is acknowledged or given up.
    pub const fn release(&mut self, batch: &ProducerBatch) {
        self.buffered_bytes = self.buffered_bytes.saturating_sub(batch.allocated);
    }

    /// Partitions with a batch that waits.
    pub fn partitions_with_batches(&self) -> Vec<TopicPartition> {
        self.queues
            .iter()
            .filter(|(_, queue)| !queue.is_empty())
            .map(|(id, _)| *id)
            .collect()
    }

    /// How many batches wait for a partition; unset for one that never had a record.
    pub fn queue_length(&self, topic_partition: TopicPartition) -> Option<u32> {
        let queue = self.queues.get(&topic_partition)?;
        Some(u32::try_from(queue.len()).unwrap_or(u32::MAX))
    }

    /// Whether the last batch of a partition takes no more; so does no batch at all.
    pub fn is_last_complete(&self, topic_partition: TopicPartition) -> bool {
        self.last(topic_partition)
            .is_none_or(|last| last.is_closed() || self.batch_size <= last.size_bytes)
    }

    /// The first batch of a partition.
    pub fn first(&self, topic_partition: TopicPartition) -> Option<&ProducerBatch> {
        self.queues.get(&topic_partition).and_then(VecDeque::front)
    }

    /// Whether the first batch of a partition makes its leader ready to be sent to. One that is
    /// tried again is closed and so counts as full; it waits for its back-off alone.
    ///
    /// # Source
    /// `RecordAccumulator.batchReady`.
    pub fn is_ready(&self, topic_partition: TopicPartition, flushes: bool, now: SimTime) -> bool {
        let Some(batch) = self.first(topic_partition) else {
            return false;
        };
        match batch.retry_at {
            Some(retry_at) => retry_at <= now,
            None => {
                flushes
                    || batch.is_closed()
                    || self.batch_size <= batch.size_bytes
                    || self.queue_length(topic_partition) != Some(1)
                    || batch.created_at + self.linger <= now
            }
        }
    }

    /// Whether the first batch of a partition may go with others to a leader that is ready.
    pub fn may_drain(&self, topic_partition: TopicPartition, now: SimTime) -> bool {
        self.first(topic_partition)
            .is_some_and(|batch| batch.retry_at.is_none_or(|retry_at| retry_at <= now))
    }

    /// Size of the first batch of a partition.
    pub fn first_size(&self, topic_partition: TopicPartition) -> u64 {
        self.first(topic_partition)
            .map_or(0, |batch| u64::from(batch.size_bytes))
    }

    /// Takes the first batch of a partition.
    pub fn take_first(&mut self, topic_partition: TopicPartition) -> Option<ProducerBatch> {
        self.queues
            .get_mut(&topic_partition)
            .and_then(VecDeque::pop_front)
    }

    /// Puts a failed batch back: to the front of its queue, or behind those with lower sequences.
    ///
    /// # Source
    /// `RecordAccumulator.insertInSequenceOrder`.
    pub fn put_back(&mut self, topic_partition: TopicPartition, batch: ProducerBatch) {
        let queue = self.queues.entry(topic_partition).or_default();
        let lower = |other: &ProducerBatch| {
            batch.identity() == other.identity() && other.base_sequence() < batch.base_sequence()
        };
        let place = if batch.sequence.is_some() {
            queue.iter().take_while(|other| lower(other)).count()
        } else {
            0
        };
        queue.insert(place, batch);
    }

    /// Splits a batch that is too large, into batches of `batch.size`, or halves if it is a part
    /// already, and puts them back. Gives their first sequences.
    ///
    /// # Source
    /// `RecordAccumulator.splitAndReenqueue` (KAFKA-8350).
    pub fn split(
        &mut self,
        topic_partition: TopicPartition,
        whole: ProducerBatch,
    ) -> Vec<ProducerBatch> {
        let target = if whole.is_part {
            whole.size_bytes / 2
        } else {
            self.batch_size
        };
        self.release(&whole);
        let (created_at, identity) = (whole.created_at, whole.sequence);
        let mut parts: Vec<ProducerBatch> = Vec::new();
        for record in whole.records {
            let size_bytes = record.size_bytes;
            let fits = parts
                .last()
                .is_some_and(|part| part.size_bytes + size_bytes <= target);
            if !fits {
                parts.push(ProducerBatch {
                    is_part: true,
                    ..ProducerBatch::new(created_at, 0)
                });
            }
            if let Some(part) = parts.last_mut() {
                part.size_bytes += size_bytes;
                part.records.push(record);
            }
        }
        let mut sequence = identity;
        for part in &mut parts {
            part.allocated = u64::from(self.batch_size.max(part.size_bytes));
            self.buffered_bytes += part.allocated;
            part.sequence = sequence;
            sequence = sequence.map(|(id, epoch, first)| {
                let next = ProducerStamp::advance(first, i64::from(part.record_count()));
                (id, epoch, next)
            });
        }
        let queue = self.queues.entry(topic_partition).or_default();
        for part in parts.iter().rev() {
            queue.push_front(part.clone());
        }
        parts
    }

    /// Every batch of a partition that waits and has a sequence.
    pub fn sequenced_mut(
        &mut self,
        topic_partition: TopicPartition,
    ) -> impl Iterator<Item = &mut ProducerBatch> {
        let queue = self.queues.get_mut(&topic_partition);
        let batches = queue.into_iter().flatten();
        batches.filter(|batch| batch.sequence.is_some())
    }

    /// Takes every batch that waits.
    pub fn take_all(&mut self) -> Vec<(TopicPartition, ProducerBatch)> {
        let mut taken = Vec::new();
        for (topic_partition, queue) in &mut self.queues {
            taken.extend(queue.drain(..).map(|batch| (*topic_partition, batch)));
        }
        taken
    }

    /// Takes the batches that have waited for `limit`.
    pub fn take_expired(
        &mut self,
        now: SimTime,
        limit: Span,
    ) -> Vec<(TopicPartition, ProducerBatch)> {
        let mut expired = Vec::new();
        for (topic_partition, queue) in &mut self.queues {
            while queue
                .front()
                .is_some_and(|batch| batch.created_at + limit <= now)
            {
                expired.extend(queue.pop_front().map(|batch| (*topic_partition, batch)));
            }
        }
        expired
    }

    /// When the next batch becomes ready or expires, later than `now`.
    pub fn next_due(&self, now: SimTime, limit: Span) -> Option<SimTime> {
        self.queues
            .values()
            .filter_map(VecDeque::front)
            .flat_map(|batch| {
                let ready_at = batch.retry_at.unwrap_or(batch.created_at + self.linger);
                [ready_at, batch.created_at + limit]
            })
            .filter(|at| now < *at)
            .min()
    }
}

impl ProducerBatch {
    /// Whether it takes no more records: it has been sent, or is a part of one that was.
    const fn is_closed(&self) -> bool {
        0 < self.attempts || self.is_part || self.sequence.is_some()
    }
}
