//! Batches that wait to be sent.

use crate::base::config::ProducerConfig;
use crate::base::ids::TopicPartition;
use crate::client::backoff::Backoff;
use crate::kernel::rng::Stream;
use crate::kernel::time::{SimTime, Span};
use crate::wire::record::{Batch, Record};
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
}

impl ProducerBatch {
    const fn new(created_at: SimTime) -> Self {
        Self {
            records: Vec::new(),
            size_bytes: Batch::HEADER_BYTES,
            created_at,
            attempts: 0,
            retry_at: None,
            skips_backoff: false,
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
    pub fn to_wire(&self) -> Batch {
        Batch::new(Arc::from(self.records.as_slice()))
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
        self.queues
            .get(&topic_partition)
            .and_then(VecDeque::back)
            .is_some_and(|last| {
                last.attempts == 0 && last.size_bytes + size_bytes <= self.batch_size
            })
    }

    /// Bytes that a new batch takes from the pool.
    fn allocation(&self, size_bytes: u32) -> u64 {
        u64::from(self.batch_size.max(Batch::HEADER_BYTES + size_bytes))
    }

    /// Adds a record to the last batch of its partition, or to a new one.
    pub fn append(&mut self, topic_partition: TopicPartition, record: Record, since: SimTime) {
        let size_bytes = record.size_bytes;
        if !self.last_has_room(topic_partition, size_bytes) {
            self.buffered_bytes += self.allocation(size_bytes);
            let queue = self.queues.entry(topic_partition).or_default();
            queue.push_back(ProducerBatch::new(since));
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
    pub fn release(&mut self, batch: &ProducerBatch) {
        let first = batch.records.first().map_or(0, |record| record.size_bytes);
        self.buffered_bytes = self.buffered_bytes.saturating_sub(self.allocation(first));
    }

    /// Partitions with a batch that waits.
    pub fn partitions_with_batches(&self) -> Vec<TopicPartition> {
        self.queues
            .iter()
            .filter(|(_, queue)| !queue.is_empty())
            .map(|(id, _)| *id)
            .collect()
    }

    fn first(&self, topic_partition: TopicPartition) -> Option<&ProducerBatch> {
        self.queues.get(&topic_partition).and_then(VecDeque::front)
    }

    /// Whether the first batch of a partition makes its leader ready to be sent to.
    pub fn is_ready(
        &self,
        topic_partition: TopicPartition,
        is_exhausted: bool,
        now: SimTime,
    ) -> bool {
        let Some(batch) = self.first(topic_partition) else {
            return false;
        };
        match batch.retry_at {
            Some(retry_at) => retry_at <= now,
            None => {
                is_exhausted
                    || self.is_full(topic_partition, batch)
                    || batch.created_at + self.linger <= now
            }
        }
    }

    fn is_full(&self, topic_partition: TopicPartition, batch: &ProducerBatch) -> bool {
        self.batch_size <= batch.size_bytes
            || self
                .queues
                .get(&topic_partition)
                .is_some_and(|queue| 1 < queue.len())
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

    /// Puts a failed batch back at the front of its queue.
    pub fn put_back(&mut self, topic_partition: TopicPartition, batch: ProducerBatch) {
        self.queues
            .entry(topic_partition)
            .or_default()
            .push_front(batch);
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
