//! The producer: accumulator, sender, retries.

pub mod accumulator;
pub mod partitioner;

use self::accumulator::{Accumulator, ProducerBatch};
use self::partitioner::{StickyPartitioner, partition_for_key};
use super::backoff::Backoff;
use super::metadata::{ClientMetadata, MetadataConfig};
use crate::base::config::{Acks, ProducerConfig};
use crate::base::ids::{BrokerId, CorrelationId, NodeId, Offset, TopicPartition};
use crate::base::timer::Timer;
use crate::kernel::rng::Stream;
use crate::kernel::time::{SimTime, Span};
use crate::trace::event::{Disconnect, TraceEvent};
use crate::trace::out::Out;
use crate::wire::api::{ProducePartitionResponse, ProduceRequest, Request, Response};
use crate::wire::error_code::ErrorCode;
use crate::wire::record::Record;
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;

/// A producer (`KafkaProducer` and its `Sender`).
#[derive(Clone, Debug, Serialize)]
pub struct Producer {
    config: ProducerConfig,
    metadata: ClientMetadata,
    accumulator: Accumulator,
    sticky: StickyPartitioner,
    /// `send()` calls that wait for metadata or memory, oldest first.
    blocked: VecDeque<Blocked>,
    in_flight: BTreeMap<CorrelationId, InFlight>,
    /// Whether `close()` waits for everything to be sent: nothing lingers any more.
    is_closing: bool,
    stream: Stream,
    /// Records acknowledged so far.
    pub records_acknowledged: u64,
    /// Records given up so far.
    pub records_failed: u64,
}

/// A record and where it goes.
#[derive(Clone, Debug, Serialize)]
pub struct ToSend {
    /// The topic's name.
    pub topic: Arc<str>,
    /// Explicit partition; unset leaves it to key or partitioner.
    pub partition: Option<u32>,
    /// The record.
    pub record: Record,
}

#[derive(Clone, Debug, Serialize)]
struct Blocked {
    to_send: ToSend,
    since: SimTime,
}

#[derive(Clone, Debug, Serialize)]
struct InFlight {
    broker: BrokerId,
    batches: Vec<(TopicPartition, ProducerBatch)>,
}

impl Producer {
    /// A producer that knows the bootstrap list and the topics that it will write to.
    pub fn new(
        config: ProducerConfig,
        bootstrap: Vec<BrokerId>,
        topics: impl IntoIterator<Item = Arc<str>>,
        stream: Stream,
    ) -> Self {
        let metadata = MetadataConfig {
            bootstrap,
            max_age: Span::from_millis(config.metadata_max_age_ms),
            backoff: backoff(&config),
            reconnect: Backoff {
                first_ms: config.reconnect_backoff_ms,
                max_ms: 1_000,
            },
            request_timeout: Span::from_millis(config.request_timeout_ms),
            timer: Timer::ProducerMetadata,
        };
        Self {
            metadata: ClientMetadata::new(metadata, topics),
            accumulator: Accumulator::new(&config),
            sticky: StickyPartitioner::new(config.batch_size),
            blocked: VecDeque::new(),
            in_flight: BTreeMap::new(),
            is_closing: false,
            stream,
            records_acknowledged: 0,
            records_failed: 0,
            config,
        }
    }

    /// Its settings.
    pub const fn config(&self) -> &ProducerConfig {
        &self.config
    }

    /// Begins to look around.
    pub fn start(&mut self, out: &mut Out) {
        self.metadata.request_update(out);
    }

    /// Whether `send()` blocks now.
    pub fn is_blocked(&self) -> bool {
        !self.blocked.is_empty()
    }

    /// Records that wait: blocked, or in batches that have not been sent.
    pub fn records_queued(&self) -> u32 {
        u32::try_from(self.blocked.len()).unwrap_or(u32::MAX) + self.accumulator.record_count()
    }

    /// Records in requests that have no answer yet.
    pub fn records_in_flight(&self) -> u32 {
        self.in_flight
            .values()
            .flat_map(|request| &request.batches)
            .map(|(_, batch)| batch.record_count())
            .sum()
    }

    /// Bytes of buffer memory in use.
    pub const fn buffered_bytes(&self) -> u64 {
        self.accumulator.buffered_bytes()
    }

    /// `close()`: everything that waits is sent at once.
    ///
    /// # Source
    /// `KafkaProducer.close`, `Sender.initiateClose`.
    pub fn request_close(&mut self, out: &mut Out) {
        self.is_closing = true;
        self.pump(out);
    }

    /// Whether `close()` has been asked for and everything is acknowledged or given up.
    pub fn is_closed(&self) -> bool {
        self.is_closing && self.records_queued() == 0 && self.records_in_flight() == 0
    }

    /// Takes a record.
    ///
    /// # Source
    /// `KafkaProducer.doSend`.
    pub fn send(&mut self, to_send: ToSend, out: &mut Out) {
        if self.metadata.want(&to_send.topic) {
            self.metadata.request_update(out);
        }
        self.blocked.push_back(Blocked {
            to_send,
            since: out.now,
        });
        self.pump(out);
    }

    /// Takes in an expired timer. False if it is not one of these.
    pub fn on_timer(&mut self, timer: &Timer, out: &mut Out) -> bool {
        if *timer == Timer::ProducerMetadata {
            self.metadata.on_timer(out);
        } else if *timer != Timer::ProducerSend && *timer != Timer::ProducerBlocked {
            return false;
        }
        self.pump(out);
        true
    }

    /// Takes in a response. False if the request was not sent from here.
    pub fn on_response(
        &mut self,
        from: BrokerId,
        correlation: CorrelationId,
        response: &Response,
        out: &mut Out,
    ) -> bool {
        if let Response::Metadata(response) = response {
            if !self
                .metadata
                .on_response(correlation, response, &mut self.stream, out)
            {
                return false;
            }
        } else if let Response::Produce(response) = response {
            let Some(request) = self.in_flight.remove(&correlation) else {
                return false;
            };
            self.complete(request, &response.partitions, out);
        } else {
            return false;
        }
        self.metadata.on_connection_works(from);
        self.pump(out);
        true
    }

    /// Takes in that a request gets no answer. False if it was not sent from here.
    pub fn on_disconnect(
        &mut self,
        peer: BrokerId,
        correlation: CorrelationId,
        reason: Disconnect,
        out: &mut Out,
    ) -> bool {
        let was_metadata = self
            .metadata
            .on_disconnect(correlation, &mut self.stream, out);
        let request = self.in_flight.remove(&correlation);
        if !was_metadata && request.is_none() {
            return false;
        }
        if reason != Disconnect::RequestTimedOut {
            self.metadata
                .on_connection_failed(peer, &mut self.stream, out.now);
        }
        if let Some(request) = request {
            for (topic_partition, batch) in request.batches.into_iter().rev() {
                self.retry_or_fail(topic_partition, batch, ErrorCode::NetworkException, out);
            }
        }
        self.metadata.request_update(out);
        self.pump(out);
        true
    }

    /// Moves everything on that can move: blocked sends, expired batches, batches that are ready.
    ///
    /// # Source
    /// `Sender.runOnce`, `RecordAccumulator.ready` and `drain`.
    fn pump(&mut self, out: &mut Out) {
        self.unblock(out);
        self.expire(out);
        self.send_ready(out);
        self.arm_next(out);
    }

    fn unblock(&mut self, out: &mut Out) {
        let max_block = Span::from_millis(self.config.max_block_ms);
        while let Some(front) = self.blocked.front() {
            let size = front.to_send.record.size_bytes;
            let known = self.metadata.topic_by_name(&front.to_send.topic);
            let target = known.and_then(|(topic_id, topic)| {
                let count = u32::try_from(topic.partitions.len()).unwrap_or(u32::MAX);
                (count != 0).then_some((topic_id, count))
            });
            if let Some((topic_id, count)) = target {
                let partition = match (front.to_send.partition, &front.to_send.record.key) {
                    (Some(partition), _) if partition < count => partition,
                    (None, Some(key)) => partition_for_key(key.as_bytes(), count),
                    // An explicit partition that does not exist (yet) waits for metadata.
                    (Some(_), _) => break,
                    (None, None) => {
                        self.sticky
                            .partition(topic_id, &self.metadata, &mut self.stream)
                    }
                };
                let topic_partition = TopicPartition::new(topic_id, partition);
                if self.accumulator.has_room(topic_partition, size) {
                    let Some(blocked) = self.blocked.pop_front() else {
                        break;
                    };
                    let record = blocked.to_send.record;
                    let record_id = record.record_id;
                    if blocked.to_send.partition.is_none() && record.key.is_none() {
                        self.sticky.on_append(topic_id, size);
                    }
                    self.accumulator
                        .append(topic_partition, record, blocked.since);
                    out.trace(TraceEvent::RecordQueued {
                        topic_partition,
                        record_id,
                    });
                    continue;
                }
            }
            if out.now < front.since + max_block {
                break;
            }
            // TimeoutException or BufferExhaustedException, after max.block.ms.
            let topic = known.map_or_else(Default::default, |(topic_id, _)| topic_id);
            self.blocked.pop_front();
            self.records_failed += 1;
            out.trace(TraceEvent::BatchFailed {
                topic_partition: TopicPartition::new(topic, 0),
                error_code: ErrorCode::RequestTimedOut,
                records: 1,
            });
        }
        match self.blocked.front() {
            Some(front) => out.arm_at(Timer::ProducerBlocked, front.since + max_block),
            None => out.cancel(Timer::ProducerBlocked),
        }
    }

    /// Batches that have waited for `delivery.timeout.ms` fail, in the queue and on their way; an
    /// answer that comes later finds nobody.
    ///
    /// # Source
    /// `Sender.sendProducerData`, `getExpiredInflightBatches`.
    fn expire(&mut self, out: &mut Out) {
        let limit = Span::from_millis(self.config.delivery_timeout_ms);
        let mut late = Vec::new();
        for request in self.in_flight.values_mut() {
            let batches = std::mem::take(&mut request.batches);
            let (expired, kept) = batches
                .into_iter()
                .partition(|(_, batch)| batch.created_at() + limit <= out.now);
            request.batches = kept;
            late.push(expired);
        }
        for (topic_partition, batch) in late.into_iter().flatten() {
            self.fail(topic_partition, &batch, ErrorCode::RequestTimedOut, out);
        }
        for (topic_partition, batch) in self.accumulator.take_expired(out.now, limit) {
            self.fail(topic_partition, &batch, ErrorCode::RequestTimedOut, out);
        }
    }

    fn send_ready(&mut self, out: &mut Out) {
        let mut by_leader: BTreeMap<BrokerId, Vec<TopicPartition>> = BTreeMap::new();
        let mut ready: BTreeSet<BrokerId> = BTreeSet::new();
        let mut is_leader_missing = false;
        let flushes = self.is_blocked() || self.is_closing;
        for topic_partition in self.accumulator.partitions_with_batches() {
            match self.metadata.leader(topic_partition) {
                None => is_leader_missing = true,
                Some((leader, _)) => {
                    if self.accumulator.is_ready(topic_partition, flushes, out.now) {
                        ready.insert(leader);
                    }
                    by_leader.entry(leader).or_default().push(topic_partition);
                }
            }
        }
        if is_leader_missing {
            self.metadata.request_update(out);
        }
        for leader in ready {
            if self.may_send_to(leader, out.now)
                && let Some(partitions) = by_leader.get(&leader)
            {
                self.send_to(leader, partitions, out);
            }
        }
    }

    fn may_send_to(&self, broker: BrokerId, now: SimTime) -> bool {
        let in_flight = self
            .in_flight
            .values()
            .filter(|one| one.broker == broker)
            .count();
        let limit = self.config.max_in_flight_requests_per_connection;
        i64::try_from(in_flight).unwrap_or(i64::MAX) < limit
            && self.metadata.is_reachable(broker, now)
    }

    /// One request with at most one batch of each partition that this broker leads.
    fn send_to(&mut self, broker: BrokerId, partitions: &[TopicPartition], out: &mut Out) {
        let mut batches = Vec::new();
        let mut bytes = 0;
        let keeps_order = self.config.max_in_flight_requests_per_connection == 1;
        for topic_partition in partitions {
            let is_muted = keeps_order && self.is_in_flight(*topic_partition);
            if is_muted || !self.accumulator.may_drain(*topic_partition, out.now) {
                continue;
            }
            let size = self.accumulator.first_size(*topic_partition);
            let limit = u64::try_from(self.config.max_request_size).unwrap_or_default();
            if !batches.is_empty() && limit < bytes + size {
                break;
            }
            if let Some(batch) = self.accumulator.take_first(*topic_partition) {
                bytes += size;
                batches.push((*topic_partition, batch));
            }
        }
        if batches.is_empty() {
            return;
        }
        let request = ProduceRequest {
            acks: self.config.acks,
            timeout_ms: self.config.request_timeout_ms,
            batches: batches
                .iter()
                .map(|(id, batch)| (*id, batch.to_wire()))
                .collect(),
        };
        let to = NodeId::Broker(broker);
        let body = Request::Produce(request);
        if self.config.acks == Acks::None {
            out.send(to, body);
            for (topic_partition, batch) in batches {
                self.acknowledge(topic_partition, &batch, Offset::UNKNOWN, out);
            }
            return;
        }
        let timeout = Span::from_millis(self.config.request_timeout_ms);
        let correlation = out.request(to, body, timeout);
        self.in_flight
            .insert(correlation, InFlight { broker, batches });
    }

    fn is_in_flight(&self, topic_partition: TopicPartition) -> bool {
        self.in_flight
            .values()
            .any(|request| request.batches.iter().any(|(id, _)| *id == topic_partition))
    }

    /// The next instant at which something becomes ready or expires.
    fn arm_next(&self, out: &mut Out) {
        let limit = Span::from_millis(self.config.delivery_timeout_ms);
        let on_their_way = self.in_flight.values().flat_map(|request| &request.batches);
        let expiry = on_their_way.map(|(_, batch)| batch.created_at() + limit);
        let mut next = self
            .accumulator
            .next_due(out.now, limit)
            .into_iter()
            .chain(expiry)
            .min();
        for topic_partition in self.accumulator.partitions_with_batches() {
            if let Some((leader, _)) = self.metadata.leader(topic_partition)
                && !self.metadata.is_reachable(leader, out.now)
            {
                let at = self.metadata.reachable_at(leader);
                next = Some(next.map_or(at, |known| known.min(at)));
            }
        }
        match next {
            Some(at) => out.arm_at(Timer::ProducerSend, at),
            None => out.cancel(Timer::ProducerSend),
        }
    }

    /// Takes in what became of a request's batches.
    ///
    /// # Source
    /// `Sender.completeBatch`, `canRetry`.
    /// # Simplified
    /// A batch that is too large fails; Kafka splits it and tries on.
    fn complete(&mut self, request: InFlight, answers: &[ProducePartitionResponse], out: &mut Out) {
        // Later batches go back first, so that the queue keeps its order.
        for (topic_partition, batch) in request.batches.into_iter().rev() {
            let answer = answers
                .iter()
                .find(|one| one.topic_partition == topic_partition);
            let Some(answer) = answer else { continue };
            if answer.error_code.is_none() {
                self.acknowledge(topic_partition, &batch, answer.base_offset, out);
                continue;
            }
            let mut batch = batch;
            if let Some((leader, leader_epoch)) = answer.current_leader
                && self
                    .metadata
                    .update_leader(topic_partition, leader, leader_epoch)
            {
                batch.skip_backoff();
            }
            if REFRESHING.contains(&answer.error_code) {
                self.metadata.request_update(out);
            }
            self.retry_or_fail(topic_partition, batch, answer.error_code, out);
        }
    }

    fn retry_or_fail(
        &mut self,
        topic_partition: TopicPartition,
        mut batch: ProducerBatch,
        error_code: ErrorCode,
        out: &mut Out,
    ) {
        let limit = Span::from_millis(self.config.delivery_timeout_ms);
        let may_retry = error_code.is_retriable()
            && i64::from(batch.attempts()) < self.config.retries
            && out.now < batch.created_at() + limit;
        if !may_retry {
            self.fail(topic_partition, &batch, error_code, out);
            return;
        }
        let backoff = backoff(&self.config);
        let attempts = batch.schedule_retry(backoff, &mut self.stream, out.now);
        out.trace(TraceEvent::BatchRetried {
            topic_partition,
            error_code,
            attempts,
        });
        self.accumulator.put_back(topic_partition, batch);
    }

    fn acknowledge(
        &mut self,
        topic_partition: TopicPartition,
        batch: &ProducerBatch,
        base_offset: Offset,
        out: &mut Out,
    ) {
        self.accumulator.release(batch);
        self.records_acknowledged += u64::from(batch.record_count());
        out.trace(TraceEvent::BatchAcknowledged {
            topic_partition,
            base_offset,
            records: batch.record_count(),
            queued_at: batch.created_at(),
        });
    }

    fn fail(
        &mut self,
        topic_partition: TopicPartition,
        batch: &ProducerBatch,
        error_code: ErrorCode,
        out: &mut Out,
    ) {
        self.accumulator.release(batch);
        self.records_failed += u64::from(batch.record_count());
        out.trace(TraceEvent::BatchFailed {
            topic_partition,
            error_code,
            records: batch.record_count(),
        });
    }
}

const fn backoff(config: &ProducerConfig) -> Backoff {
    Backoff {
        first_ms: config.retry_backoff_ms,
        max_ms: config.retry_backoff_max_ms,
    }
}

/// Errors that say that the metadata are stale (`InvalidMetadataException`).
const REFRESHING: [ErrorCode; 4] = [
    ErrorCode::NotLeaderOrFollower,
    ErrorCode::LeaderNotAvailable,
    ErrorCode::UnknownTopicOrPartition,
    ErrorCode::KafkaStorageError,
];
