//! A client process: a producer, a consumer, or a consumer with a producer inside.

use crate::base::ids::{BrokerId, CorrelationId, NodeId, RecordId};
use crate::base::timer::Timer;
use crate::client::consumer::Consumer;
use crate::client::producer::{Producer, ToSend};
use crate::kernel::rng::Stream;
use crate::kernel::time::Span;
use crate::trace::event::Disconnect;
use crate::trace::out::{Exit, Out};
use crate::wire::api::Response;
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
    /// What the application sends by itself; unset for a consumer and the console.
    load: Option<Load>,
    /// Where a consumer's processed records go.
    output_topic: Option<Arc<str>>,
    /// The id of the next record; it outlives the process.
    next_record_id: u64,
}

/// What a client process starts with.
#[derive(Clone, Debug)]
pub struct ClientStart {
    /// Its producer, if it has one.
    pub producer: Option<Producer>,
    /// Its consumer, if it has one.
    pub consumer: Option<Consumer>,
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
    /// Draws for the time between records.
    pub stream: Stream,
}

impl Client {
    /// A process that has just been started.
    pub fn new(start: ClientStart) -> Self {
        Self {
            producer: start.producer,
            consumer: start.consumer,
            load: start.load,
            output_topic: start.output_topic,
            next_record_id: start.next_record_id,
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
        let taken = self
            .consumer
            .as_mut()
            .is_some_and(|consumer| consumer.on_response(from, correlation, response, out));
        if !taken && let Some(producer) = &mut self.producer {
            producer.on_response(from, correlation, response, out);
        }
        self.forward_outputs(out);
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
        let Some(peer) = peer.broker() else { return };
        let taken = self
            .consumer
            .as_mut()
            .is_some_and(|consumer| consumer.on_disconnect(peer, correlation, reason, out));
        if !taken && let Some(producer) = &mut self.producer {
            producer.on_disconnect(peer, correlation, reason, out);
        }
        self.forward_outputs(out);
        self.maybe_end(out);
    }

    /// Takes in an expired timer.
    pub fn on_timer(&mut self, timer: &Timer, out: &mut Out) {
        if *timer == Timer::ProducerTick {
            self.on_tick(out);
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
        self.maybe_end(out);
    }

    /// Sends a record that a person typed: key, value and explicit partition.
    pub fn send(
        &mut self,
        topic: &Arc<str>,
        (key, value, partition): (Option<Arc<str>>, Arc<str>, Option<u32>),
        out: &mut Out,
    ) {
        let record_id = self.take_record_id();
        let record = Record::text(record_id, key, value, out.now);
        if let Some(producer) = &mut self.producer {
            let to_send = ToSend {
                topic: topic.clone(),
                partition,
                record,
            };
            producer.send(to_send, out);
        }
    }

    /// Closes the consumer, or else the producer once it has sent what it has. False if the process
    /// may end now.
    pub fn request_close(&mut self, out: &mut Out) -> bool {
        if let Some(consumer) = &mut self.consumer {
            consumer.request_close(out);
            self.forward_outputs(out);
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
        producer.send(
            ToSend {
                topic: load.topic.clone(),
                partition,
                record,
            },
            out,
        );
    }

    /// Hands processed records on to the output topic, under ids of their own.
    fn forward_outputs(&mut self, out: &mut Out) {
        let Some(consumer) = &mut self.consumer else {
            return;
        };
        let outputs = consumer.take_outputs();
        if outputs.is_empty() {
            return;
        }
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
