//! A client process: a producer, a consumer, or a consumer with a producer inside.

use crate::base::ids::{BrokerId, CorrelationId, NodeId, Offset, RecordId};
use crate::base::timer::Timer;
use crate::client::admin::Admin;
use crate::client::consumer::{ApplicationCall, Consumer};
use crate::client::producer::transaction::TransactionPhase;
use crate::client::producer::{Producer, ToSend};
use crate::client::record_deletion::RecordDeletion;
use crate::kernel::rng::Stream;
use crate::kernel::time::Span;
use crate::trace::event::{Disconnect, TraceEvent};
use crate::trace::out::{Exit, Out};
use crate::wire::api::{Request, Response};
use crate::wire::record::{Record, RecordValue};
use serde::Serialize;
use std::sync::Arc;

/// A client process.
#[derive(Clone, Debug, Serialize)]
pub struct Client {
    /// Its producer; unset for a consumer without an output topic.
    producer: Option<Producer>,
    /// Its consumer; unset for a producer.
    consumer: Option<Consumer>,
    /// The administrator's tools; unset for all but the console.
    admin: Option<Admin>,
    /// What the application sends by itself; unset for a consumer and the console.
    load: Option<Load>,
    /// Where a consumer's processed records go.
    output_topic: Option<Arc<str>>,
    /// What the console has asked partitions' leaders for.
    deletions: RecordDeletion,
    /// The id of the next record; it outlives the process.
    next_record_id: u64,
    /// How many transactions the producer had ended when a consumer's present one began; unset
    /// while there is none.
    transaction_since: Option<u64>,
}

/// What a client process starts with.
#[derive(Clone, Debug)]
pub struct ClientStart {
    /// Its producer, if it has one.
    pub producer: Option<Producer>,
    /// Its consumer, if it has one.
    pub consumer: Option<Consumer>,
    /// The administrator's tools, for the console.
    pub admin: Option<Admin>,
    /// What the application sends by itself.
    pub load: Option<Load>,
    /// Where a consumer's processed records go.
    pub output_topic: Option<Arc<str>>,
    /// The id of the next record.
    pub next_record_id: u64,
}

/// An application that sends records.
#[derive(Clone, Debug, Serialize)]
pub struct Load {
    /// Where to.
    pub topic: Arc<str>,
    /// Time between two records.
    pub every: Span,
    /// Whether that time is a mean.
    pub is_random: bool,
    /// Records that are still to come; unset for ever.
    pub records_left: Option<u64>,
    /// Keys: what they begin with, and how many there are.
    pub keys: Option<(Arc<str>, u32)>,
    /// Always this partition.
    pub partition: Option<u32>,
    /// Partitions in turn, that many.
    pub round_robin: Option<u32>,
    /// Size of each value in bytes.
    pub value_bytes: u32,
    /// Records sent so far.
    pub sent: u64,
    /// With transactions: records in one, and every how many of them one is aborted.
    pub transactions: (u32, Option<u32>),
    /// Records of the transaction that is open.
    pub in_transaction: u32,
    /// Transactions that the application has ended.
    pub transactions_ended: u32,
    /// Draws for the time between records.
    pub stream: Stream,
}

impl Client {
    /// A process that has just been started.
    pub fn new(start: ClientStart) -> Self {
        Self {
            producer: start.producer,
            consumer: start.consumer,
            admin: start.admin,
            load: start.load,
            output_topic: start.output_topic,
            deletions: RecordDeletion::default(),
            next_record_id: start.next_record_id,
            transaction_since: None,
        }
    }

    /// Its producer.
    pub const fn producer(&self) -> Option<&Producer> {
        self.producer.as_ref()
    }

    /// Its consumer.
    pub const fn consumer(&self) -> Option<&Consumer> {
        self.consumer.as_ref()
    }

    /// The id of the next record.
    pub const fn next_record_id(&self) -> u64 {
        self.next_record_id
    }

    /// Begins to work.
    pub fn start(&mut self, out: &mut Out) {
        if let Some(producer) = &mut self.producer {
            producer.start(out);
        }
        if let Some(consumer) = &mut self.consumer {
            consumer.start(out);
        }
        if let Some(load) = &self.load {
            out.arm(Timer::ProducerTick, load.every);
        }
    }

    /// Takes in a response.
    pub fn on_response(
        &mut self,
        from: BrokerId,
        correlation: CorrelationId,
        response: &Response,
        out: &mut Out,
    ) {
        if let Some(admin) = &mut self.admin
            && admin.on_response(correlation, response, out)
        {
            return;
        }
        let taken = self
            .consumer
            .as_mut()
            .is_some_and(|consumer| consumer.on_response(from, correlation, response, out));
        let taken = taken || self.deletions.on_response(correlation, response, out);
        if !taken && let Some(producer) = &mut self.producer {
            producer.on_response(from, correlation, response, out);
        }
        self.forward_outputs(out);
        self.settle_transaction(out);
        self.maybe_end(out);
    }

    /// Takes in that a request gets no answer.
    pub fn on_disconnect(
        &mut self,
        peer: NodeId,
        correlation: CorrelationId,
        reason: Disconnect,
        out: &mut Out,
    ) {
        if let Some(admin) = &mut self.admin
            && admin.on_disconnect(correlation, out)
        {
            return;
        }
        let Some(peer) = peer.broker() else { return };
        let taken = self
            .consumer
            .as_mut()
            .is_some_and(|consumer| consumer.on_disconnect(peer, correlation, reason, out));
        let taken = taken || self.deletions.on_disconnect(correlation, out);
        if !taken && let Some(producer) = &mut self.producer {
            producer.on_disconnect(peer, correlation, reason, out);
        }
        self.forward_outputs(out);
        self.settle_transaction(out);
        self.maybe_end(out);
    }

    /// Takes in an expired timer.
    pub fn on_timer(&mut self, timer: &Timer, out: &mut Out) {
        if *timer == Timer::ProducerTick {
            self.on_tick(out);
            return;
        }
        if let Some(admin) = &mut self.admin
            && *timer == Timer::AdminRetry
        {
            admin.send_all(out);
            return;
        }
        let taken = self
            .consumer
            .as_mut()
            .is_some_and(|consumer| consumer.on_timer(timer, out));
        if !taken && let Some(producer) = &mut self.producer {
            producer.on_timer(timer, out);
        }
        self.forward_outputs(out);
        self.settle_transaction(out);
        self.maybe_end(out);
    }

    /// Sends an administrator's request.
    pub fn administer(&mut self, request: Request, out: &mut Out) {
        if let Some(admin) = &mut self.admin {
            admin.submit(request, out);
        }
    }

    /// Sends a record that a person typed: key, value and explicit partition. Without a value it is
    /// a tombstone.
    pub fn send(
        &mut self,
        topic: &Arc<str>,
        (key, value, partition): (Option<Arc<str>>, Option<Arc<str>>, Option<u32>),
        out: &mut Out,
    ) {
        let record_id = self.take_record_id();
        let record = match value {
            Some(value) => Record::text(record_id, key, value, out.now),
            None => Record::tombstone(record_id, key, out.now),
        };
        if let Some(producer) = &mut self.producer {
            let to_send = ToSend {
                topic: topic.clone(),
                partition,
                record,
            };
            producer.send(to_send, out);
        }
    }

    /// The application calls its consumer.
    pub fn call(&mut self, call: ApplicationCall, out: &mut Out) {
        if let Some(consumer) = &mut self.consumer {
            consumer.call(call, out);
            self.forward_outputs(out);
            self.settle_transaction(out);
        }
    }

    /// Asks for the records of a partition before an offset to be given up.
    pub fn delete_records(
        &mut self,
        (topic, partition): (&Arc<str>, u32),
        before: Offset,
        out: &mut Out,
    ) {
        if let Some(producer) = &self.producer {
            let metadata = producer.metadata();
            self.deletions
                .delete_records(metadata, (topic, partition), before, out);
        }
    }

    /// Closes the consumer, or else the producer once it has sent what it has. False if the process
    /// may end now.
    pub fn request_close(&mut self, out: &mut Out) -> bool {
        if let Some(consumer) = &mut self.consumer {
            consumer.request_close(out);
            self.forward_outputs(out);
            self.settle_transaction(out);
            return true;
        }
        self.load = None;
        match &mut self.producer {
            Some(producer) => {
                producer.request_close(out);
                !producer.is_closed()
            }
            None => false,
        }
    }

    /// A producer that has been asked to close ends when nothing of it is on its way.
    fn maybe_end(&self, out: &mut Out) {
        if self.consumer.is_none() && self.producer.as_ref().is_some_and(Producer::is_closed) {
            out.exit(Exit::Stopped(Arc::from("closed")));
        }
    }

    const fn take_record_id(&mut self) -> RecordId {
        let record_id = RecordId(self.next_record_id);
        self.next_record_id += 1;
        record_id
    }

    /// The application sends its next record, unless `send()` still blocks on the one before.
    fn on_tick(&mut self, out: &mut Out) {
        let Some(load) = &mut self.load else { return };
        if load.records_left == Some(0) {
            return;
        }
        let (per_transaction, _) = load.transactions;
        let wait = if load.is_random {
            Span(load.stream.exponential(load.every.0))
        } else {
            load.every
        };
        out.arm(Timer::ProducerTick, Span(wait.0.max(1)));
        let Some(producer) = &mut self.producer else {
            return;
        };
        if producer.is_blocked() {
            return;
        }
        if let Some(transactions) = producer.transactions() {
            // `send()` comes after `beginTransaction()`, which comes after what went before.
            match transactions.phase() {
                TransactionPhase::Open => {}
                TransactionPhase::Ready => {
                    producer.begin_transaction(out);
                }
                TransactionPhase::Initializing
                | TransactionPhase::Committing
                | TransactionPhase::Aborting
                | TransactionPhase::Abortable(_)
                | TransactionPhase::Fatal(_) => return,
            }
            load.in_transaction += 1;
        }
        let record_id = RecordId(self.next_record_id);
        self.next_record_id += 1;
        let key = load.keys.as_ref().map(|(prefix, count)| {
            Arc::from(format!(
                "{prefix}-{}",
                load.sent % u64::from((*count).max(1))
            ))
        });
        let partition = load.partition.or_else(|| {
            let count = u64::from(load.round_robin?.max(1));
            u32::try_from(load.sent % count).ok()
        });
        let mut record = Record::text(
            record_id,
            key,
            Arc::from(format!("record {}", load.sent)),
            out.now,
        );
        record.size_bytes = record
            .size_bytes
            .max(Record::OVERHEAD_BYTES + load.value_bytes);
        load.sent += 1;
        load.records_left = load.records_left.map(|left| left - 1);
        let is_last = per_transaction <= load.in_transaction || load.records_left == Some(0);
        producer.send(
            ToSend {
                topic: load.topic.clone(),
                partition,
                record,
            },
            out,
        );
        if is_last {
            self.end_transaction(out);
        }
    }

    /// The application has sent the records of a transaction: it commits, or now and then aborts.
    fn end_transaction(&mut self, out: &mut Out) {
        let (Some(load), Some(producer)) = (&mut self.load, &mut self.producer) else {
            return;
        };
        if producer.transactions().is_none() {
            return;
        }
        load.in_transaction = 0;
        load.transactions_ended += 1;
        let (_, abort_every) = load.transactions;
        if abort_every.is_some_and(|every| load.transactions_ended % every.max(1) == 0) {
            producer.abort_transaction(out);
        } else {
            producer.commit_transaction(out);
        }
    }

    /// Reacts to what has become of the producer's transaction: an application that cannot commit
    /// aborts and goes on, one that was fenced ends; a consumer polls again when its offsets are
    /// committed.
    fn settle_transaction(&mut self, out: &mut Out) {
        let Some(producer) = &mut self.producer else {
            return;
        };
        let Some(transactions) = producer.transactions() else {
            return;
        };
        let (phase, ended) = (transactions.phase(), transactions.ended);
        match phase {
            TransactionPhase::Fatal(exception) => Self::fail(exception, out),
            TransactionPhase::Abortable(_) if self.consumer.is_some() => {
                Self::fail("KafkaException", out);
            }
            TransactionPhase::Abortable(_) => {
                if let Some(load) = &mut self.load {
                    load.in_transaction = 0;
                }
                producer.abort_transaction(out);
            }
            TransactionPhase::Ready => {
                if self.transaction_since.is_some_and(|since| since < ended) {
                    self.transaction_since = None;
                    if let Some(consumer) = &mut self.consumer {
                        consumer.on_transaction_committed(out);
                    }
                }
                self.begin_consumed(ended, out);
            }
            TransactionPhase::Initializing
            | TransactionPhase::Open
            | TransactionPhase::Committing
            | TransactionPhase::Aborting => {}
        }
    }

    /// A consumer has worked through what `poll` returned: its results and its offsets go out in one
    /// transaction (exactly once).
    fn begin_consumed(&mut self, ended: u64, out: &mut Out) {
        let Some(consumer) = &mut self.consumer else {
            return;
        };
        let Some(commit) = consumer.take_transaction() else {
            return;
        };
        let outputs = consumer.take_outputs();
        self.transaction_since = Some(ended);
        if let Some(producer) = &mut self.producer {
            producer.begin_transaction(out);
        }
        self.send_outputs(outputs, out);
        if let Some(producer) = &mut self.producer {
            producer.send_offsets(commit, out);
            producer.commit_transaction(out);
        }
    }

    /// The application meets an exception that it does not survive.
    fn fail(exception: &str, out: &mut Out) {
        let exception: Arc<str> = Arc::from(exception);
        out.trace(TraceEvent::FatalError {
            exception: exception.clone(),
        });
        out.exit(Exit::Crash(exception));
    }

    /// Hands processed records on to the output topic, under ids of their own.
    fn forward_outputs(&mut self, out: &mut Out) {
        let Some(consumer) = &mut self.consumer else {
            return;
        };
        // Those of a transaction wait for its end.
        let is_transactional = |producer: &Producer| producer.transactions().is_some();
        if self.producer.as_ref().is_some_and(is_transactional) {
            return;
        }
        let outputs = consumer.take_outputs();
        self.send_outputs(outputs, out);
    }

    fn send_outputs(&mut self, outputs: Vec<Record>, out: &mut Out) {
        let Some(topic) = self.output_topic.clone() else {
            return;
        };
        for input in outputs {
            let record_id = self.take_record_id();
            let record = match &input.value {
                RecordValue::Text(text) => {
                    Record::text(record_id, input.key.clone(), text.clone(), out.now)
                }
                RecordValue::Null
                | RecordValue::OffsetCommit { .. }
                | RecordValue::GroupMetadata { .. }
                | RecordValue::ConsumerGroup { .. }
                | RecordValue::Transaction { .. }
                | RecordValue::EndTransaction { .. } => continue,
            };
            if let Some(producer) = &mut self.producer {
                producer.send(
                    ToSend {
                        topic: topic.clone(),
                        partition: None,
                        record,
                    },
                    out,
                );
            }
        }
    }
}
