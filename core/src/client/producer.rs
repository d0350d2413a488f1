//! The producer: accumulator, sender, idempotence, transactions.

pub mod accumulator;
mod connection;
pub mod idempotence;
pub mod partitioner;
mod sender;
#[cfg(test)]
mod tests;
pub mod transaction;

use self::accumulator::{Accumulator, ProducerBatch};
use self::connection::Connection;
use self::idempotence::Idempotence;
use self::partitioner::{Choices, StickyPartitioner, partition_for_key};
use self::transaction::Transactions;
use super::backoff::Backoff;
use super::metadata::{ClientMetadata, MetadataConfig};
use crate::base::config::ProducerConfig;
use crate::base::ids::{BrokerId, CorrelationId, NodeId, TopicId, TopicPartition};
use crate::base::timer::Timer;
use crate::kernel::rng::Stream;
use crate::kernel::time::{SimTime, Span};
use crate::trace::event::{Disconnect, TraceEvent};
use crate::trace::out::Out;
use crate::wire::api::{InitProducerIdRequest, Request, Response};
use crate::wire::error_code::ErrorCode;
use crate::wire::record::Record;
use serde::Serialize;
use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

/// A producer (`KafkaProducer` and its `Sender`).
#[derive(Clone, Debug, Serialize)]
pub struct Producer {
    config: ProducerConfig,
    metadata: ClientMetadata,
    accumulator: Accumulator,
    sticky: StickyPartitioner,
    /// Id and sequences; unset without idempotence.
    idempotence: Option<Idempotence>,
    /// Unset without a transactional id.
    transactions: Option<Transactions>,
    /// The request for a producer id that has no answer yet, without transactions.
    id_request: Option<CorrelationId>,
    /// A producer id is not asked for before this instant.
    id_retry_at: SimTime,
    id_failures: u32,
    /// `send()` calls that wait for metadata or memory, oldest first.
    blocked: VecDeque<Blocked>,
    /// Whether the first of them waits for memory.
    waits_for_memory: bool,
    in_flight: BTreeMap<CorrelationId, InFlight>,
    /// By broker: where the next request begins in its list of partitions, and since when it takes
    /// no batches though some are ready.
    nodes: BTreeMap<BrokerId, NodeProgress>,
    /// Whether `close()` waits for everything to be sent: nothing lingers any more.
    is_closing: bool,
    stream: Stream,
    /// Records acknowledged so far.
    pub records_acknowledged: u64,
    /// Records given up so far.
    pub records_failed: u64,
    /// Records in batches that were sent, those sent again included.
    pub records_sent: u64,
    /// Records in batches that were put back to be sent again.
    pub records_retried: u64,
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
    /// Whether the trace says that it waits.
    is_noted: bool,
}

#[derive(Clone, Debug, Serialize)]
struct InFlight {
    broker: BrokerId,
    batches: Vec<(TopicPartition, ProducerBatch)>,
}

/// How the sender gets on with one broker.
#[derive(Clone, Copy, Debug, Default, Serialize)]
struct NodeProgress {
    /// Index of the partition that the last request looked at last.
    drain_index: u64,
    /// When it last had batches that were ready.
    ready_at: SimTime,
    /// When it last took some.
    drained_at: SimTime,
    /// The connection over which requests go that get no answer.
    connection: Connection,
}

impl Producer {
    /// A producer that knows the bootstrap list and the topics that it will write to.
    pub fn new(
        config: ProducerConfig,
        bootstrap: Vec<BrokerId>,
        topics: impl IntoIterator<Item = Arc<str>>,
        stream: Stream,
    ) -> Self {
        // A scenario with settings that contradict each other does not get this far.
        let config = config.effective().unwrap_or(config);
        let metadata = MetadataConfig {
            bootstrap,
            max_age: Span::from_millis(config.metadata_max_age_ms),
            may_create_topics: true,
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
            idempotence: (config.enable_idempotence == Some(true)).then(Idempotence::new),
            transactions: config
                .transactional_id
                .clone()
                .map(|id| Transactions::new(id, config.transaction_timeout_ms)),
            id_request: None,
            id_retry_at: SimTime::ZERO,
            id_failures: 0,
            blocked: VecDeque::new(),
            waits_for_memory: false,
            in_flight: BTreeMap::new(),
            nodes: BTreeMap::new(),
            is_closing: false,
            stream,
            records_acknowledged: 0,
            records_failed: 0,
            records_sent: 0,
            records_retried: 0,
            config,
        }
    }

    /// Its settings.
    pub const fn config(&self) -> &ProducerConfig {
        &self.config
    }

    /// What it knows of the cluster.
    pub const fn metadata(&self) -> &ClientMetadata {
        &self.metadata
    }

    /// Begins to look around, and asks for a producer id.
    pub fn start(&mut self, out: &mut Out) {
        let conflict = self.config.idempotence_conflict();
        if let (None, Some(reason)) = (&self.idempotence, conflict) {
            let client_id = self.config.client_id.as_deref().unwrap_or_default();
            out.log(format!(
                "[Producer clientId={client_id}] Idempotence is disabled: {reason}"
            ));
        }
        self.metadata.request_update(out);
        self.pump(out);
    }

    /// Its id and epoch, with idempotence; -1 before it has them.
    pub fn producer_id(&self) -> Option<(i64, i16)> {
        let idempotence = self.idempotence.as_ref()?;
        Some((idempotence.producer_id, idempotence.producer_epoch))
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
        // `Sender`: "Aborting incomplete transaction due to shutdown".
        self.abort_transaction(out);
        self.pump(out);
    }

    /// Whether `close()` has been asked for and everything is acknowledged or given up.
    pub fn is_closed(&self) -> bool {
        self.is_closing
            && self.records_queued() == 0
            && self.records_in_flight() == 0
            && !self
                .transactions
                .as_ref()
                .is_some_and(Transactions::is_completing)
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
            is_noted: false,
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
        } else if self.on_transaction_response(correlation, response, out)
            || self.on_connected(from, correlation, response)
        {
            // Taken in.
        } else if let (Response::InitProducerId(response), true) =
            (response, self.id_request == Some(correlation))
        {
            self.id_request = None;
            if response.error_code.is_none() {
                self.id_failures = 0;
                self.take_producer_id((response.producer_id, response.producer_epoch), out);
            } else {
                self.back_off_id(out);
            }
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
        let was_id = self.id_request == Some(correlation);
        if was_id {
            self.id_request = None;
            self.back_off_id(out);
        }
        let was_transaction = self.on_transaction_disconnect(correlation, out);
        // A broker closes the connection when it cannot say no (`acks=0`).
        let is_closed = self.on_connection_closed(peer, correlation, reason);
        if !was_metadata && request.is_none() && !was_id && !was_transaction && !is_closed {
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

    /// Moves everything on that can move: blocked sends, the producer id, the transaction, expired
    /// batches, batches that are ready.
    ///
    /// # Source
    /// `Sender.runOnce`, `RecordAccumulator.ready` and `drain`.
    fn pump(&mut self, out: &mut Out) {
        self.unblock(out);
        self.resolve_sequences(out);
        self.ask_for_id(out);
        self.transaction_step(out);
        self.expire(out);
        // The sender's next round takes what this one had no room for.
        while self.send_ready(out) {}
        self.arm_next(out);
    }

    fn ask_for_id(&mut self, out: &mut Out) {
        let is_wanted = self.transactions.is_none()
            && self.id_request.is_none()
            && self
                .idempotence
                .as_ref()
                .is_some_and(|known| !known.has_id());
        if !is_wanted || out.now < self.id_retry_at {
            return;
        }
        match self.metadata.pick_broker(out.now) {
            Ok(broker) => {
                let request = InitProducerIdRequest {
                    transactional_id: None,
                    transaction_timeout_ms: self.config.transaction_timeout_ms,
                    producer_id: -1,
                    producer_epoch: -1,
                };
                let timeout = Span::from_millis(self.config.request_timeout_ms);
                let body = Request::InitProducerId(request);
                self.id_request = Some(out.request(NodeId::Broker(broker), body, timeout));
            }
            Err(retry_at) => self.id_retry_at = retry_at,
        }
    }

    fn back_off_id(&mut self, out: &Out) {
        self.id_failures += 1;
        let wait = backoff(&self.config).after(self.id_failures, &mut self.stream);
        self.id_retry_at = out.now + wait;
    }

    fn take_producer_id(&mut self, (producer_id, producer_epoch): (i64, i16), out: &mut Out) {
        if let Some(idempotence) = &mut self.idempotence {
            idempotence.set_identity(producer_id, producer_epoch);
            idempotence.reset_sequences();
        }
        out.trace(TraceEvent::ProducerIdAssigned {
            producer_id,
            producer_epoch,
        });
    }

    /// Puts blocked records into batches, as far as metadata and memory allow.
    ///
    /// # Source
    /// `KafkaProducer.doSend`, `RecordAccumulator.append`.
    fn unblock(&mut self, out: &mut Out) {
        let max_block = Span::from_millis(self.config.max_block_ms);
        self.waits_for_memory = false;
        while let Some(front) = self.blocked.front() {
            let since = front.since;
            let size = front.to_send.record.size_bytes;
            let limit = self.config.max_request_size.min(self.config.buffer_memory);
            if limit < i64::from(size) {
                self.throw("RecordTooLargeException", out);
                continue;
            }
            let target = self.partition_for_front();
            if let Some(topic_partition) = target {
                if self.accumulator.has_room(topic_partition, size) {
                    self.append_front(topic_partition, out);
                    continue;
                }
                self.waits_for_memory = true;
            }
            if since + max_block <= out.now {
                // Kafka 2.5 and later: both are `TimeoutException`s.
                let exception = match target {
                    Some(_) => "BufferExhaustedException",
                    None => "TimeoutException",
                };
                self.throw(exception, out);
                continue;
            }
            break;
        }
        let waits_for_memory = self.waits_for_memory;
        match self.blocked.front_mut() {
            Some(front) => {
                out.arm_at(Timer::ProducerBlocked, front.since + max_block);
                if !front.is_noted {
                    front.is_noted = true;
                    out.trace(TraceEvent::SendBlocked { waits_for_memory });
                }
            }
            None => out.cancel(Timer::ProducerBlocked),
        }
    }

    /// The first blocked `send()` throws.
    fn throw(&mut self, exception: &str, out: &mut Out) {
        if let Some(front) = self.blocked.pop_front() {
            self.records_failed += 1;
            out.trace(TraceEvent::SendFailed {
                topic: front.to_send.topic,
                exception: Arc::from(exception),
            });
            if let Some(transactions) = &mut self.transactions {
                transactions.on_batch_failed(ErrorCode::RequestTimedOut);
            }
        }
    }

    /// Where the first blocked record goes; unset while the metadata do not say.
    fn partition_for_front(&mut self) -> Option<TopicPartition> {
        let front = self.blocked.front()?;
        let (topic_id, topic) = self.metadata.topic_by_name(&front.to_send.topic)?;
        let count = u32::try_from(topic.partitions.len()).unwrap_or(u32::MAX);
        if count == 0 {
            return None;
        }
        let key = front.to_send.record.key.as_ref();
        let key = key.filter(|_| !self.config.partitioner_ignore_keys);
        let partition = match (front.to_send.partition, key) {
            (Some(partition), _) if partition < count => partition,
            // An explicit partition that does not exist (yet) waits for metadata.
            (Some(_), _) => return None,
            (None, Some(key)) => partition_for_key(key.as_bytes(), count),
            (None, None) => self.sticky_partition(topic_id, count),
        };
        Some(TopicPartition::new(topic_id, partition))
    }

    fn sticky_partition(&mut self, topic: TopicId, count: u32) -> u32 {
        if let Some(partition) = self.sticky.current(topic) {
            let id = TopicPartition::new(topic, partition);
            // The last look was before the batch was full, perhaps.
            let is_complete = self.accumulator.is_last_complete(id);
            self.sticky.on_append(topic, 0, is_complete);
        }
        if let Some(partition) = self.sticky.current(topic) {
            return partition;
        }
        let random = self.stream.below(u64::from(u32::MAX));
        let partition = self.choices(topic, count).pick(random);
        self.sticky.choose(topic, partition);
        partition
    }

    /// # Source
    /// `RecordAccumulator.partitionReady`, `BuiltInPartitioner.updatePartitionLoadStats`.
    fn choices(&self, topic: TopicId, count: u32) -> Choices {
        let patience = Span::from_millis(self.config.partitioner_availability_timeout_ms);
        let mut choices = Choices {
            count,
            available: Vec::new(),
            queues: None,
        };
        let mut queues = Vec::new();
        let mut are_all_known = self.config.partitioner_adaptive_partitioning_enable;
        for partition in 0..count {
            let id = TopicPartition::new(topic, partition);
            let length = self.accumulator.queue_length(id);
            are_all_known &= length.is_some();
            let Some((leader, _)) = self.metadata.leader(id) else {
                continue;
            };
            choices.available.push(partition);
            let node = self.nodes.get(&leader).copied().unwrap_or_default();
            let is_stuck = patience != Span::ZERO && node.drained_at + patience < node.ready_at;
            if !is_stuck {
                queues.push((partition, length.unwrap_or_default()));
            }
        }
        choices.queues = (are_all_known && !queues.is_empty()).then_some(queues);
        choices
    }

    fn append_front(&mut self, topic_partition: TopicPartition, out: &mut Out) {
        let Some(blocked) = self.blocked.pop_front() else {
            return;
        };
        let record = blocked.to_send.record;
        let (record_id, size) = (record.record_id, record.size_bytes);
        let has_key = record.key.is_some() && !self.config.partitioner_ignore_keys;
        self.accumulator
            .append(topic_partition, record, blocked.since);
        if blocked.to_send.partition.is_none() && !has_key {
            let is_complete = self.accumulator.is_last_complete(topic_partition);
            self.sticky
                .on_append(topic_partition.topic, size, is_complete);
        }
        if let Some(transactions) = &mut self.transactions {
            transactions.on_record(topic_partition);
        }
        out.trace(TraceEvent::RecordQueued {
            topic_partition,
            record_id,
        });
    }
}

const fn backoff(config: &ProducerConfig) -> Backoff {
    Backoff {
        first_ms: config.retry_backoff_ms,
        max_ms: config.retry_backoff_max_ms,
    }
}
