#[cfg(target_arch = "wasm32")]
use wasm_bindgen_test::wasm_bindgen_test as test;

use super::accumulator::Accumulator;
use super::{Producer, ToSend};
use crate::base::config::ProducerConfig;
use crate::base::ids::{BrokerId, CorrelationId, Offset, RecordId, TopicId, TopicPartition};
use crate::base::timer::Timer;
use crate::kernel::rng::Stream;
use crate::kernel::time::SimTime;
use crate::trace::event::Disconnect;
use crate::trace::out::{Effect, Out};
use crate::wire::api::{
    InitProducerIdResponse, MetadataPartition, MetadataResponse, MetadataTopic,
    ProducePartitionResponse, ProduceResponse, Request, Response,
};
use crate::wire::error_code::ErrorCode;
use crate::wire::record::{ProducerStamp, Record};
use std::sync::Arc;

const BROKER: BrokerId = BrokerId(1);
const ID: TopicPartition = TopicPartition::new(TopicId(0), 0);

/// A producer whose broker is the test.
struct Bench {
    producer: Producer,
    now: SimTime,
    next_correlation: u64,
    sent: Vec<(CorrelationId, Request)>,
}

impl Bench {
    /// It knows its topic and has producer id 9.
    fn new(settings: &[(&str, &str)]) -> Self {
        let mut config = ProducerConfig {
            linger_ms: 0,
            ..ProducerConfig::default()
        };
        for (name, value) in settings {
            config.set(name, value).expect("a good setting");
        }
        let topic: Arc<str> = Arc::from("t");
        let stream = Stream::new(1, "test");
        let producer = Producer::new(config, vec![BROKER], [topic.clone()], stream);
        let mut bench = Self {
            producer,
            now: SimTime::ZERO,
            next_correlation: 0,
            sent: Vec::new(),
        };
        bench.run(Producer::start);
        for (correlation, request) in std::mem::take(&mut bench.sent) {
            let response = if let Request::Metadata(_) = request {
                Response::Metadata(MetadataResponse {
                    brokers: vec![BROKER],
                    topics: vec![MetadataTopic {
                        name: topic.clone(),
                        topic_id: Some(ID.topic),
                        error_code: ErrorCode::None,
                        partitions: vec![MetadataPartition {
                            leader: Some(BROKER),
                            leader_epoch: 0,
                        }],
                    }],
                })
            } else {
                Response::InitProducerId(InitProducerIdResponse {
                    error_code: ErrorCode::None,
                    producer_id: 9,
                    producer_epoch: 0,
                })
            };
            bench.run(|producer, out| {
                producer.on_response(BROKER, correlation, &response, out);
            });
        }
        bench
    }

    fn run(&mut self, act: impl FnOnce(&mut Producer, &mut Out)) {
        let mut out = Out::new(self.now, Vec::new(), self.next_correlation);
        act(&mut self.producer, &mut out);
        let (effects, next) = out.into_parts();
        self.next_correlation = next;
        for effect in effects {
            if let Effect::Request {
                correlation, body, ..
            } = effect
            {
                self.sent.push((correlation, body));
            }
        }
    }

    fn at(&mut self, ms: u64) {
        self.now = SimTime::from_millis(ms);
        self.run(|producer, out| {
            producer.on_timer(&Timer::ProducerSend, out);
        });
    }

    fn send(&mut self, record: u64) {
        let record = Record::text(RecordId(record), None, Arc::from("v"), self.now);
        let to_send = ToSend {
            topic: Arc::from("t"),
            partition: Some(0),
            record,
        };
        self.run(|producer, out| producer.send(to_send, out));
    }

    /// The last produce request, with what its batch says of the producer.
    fn last(&self) -> (CorrelationId, ProducerStamp) {
        let last = self.sent.iter().rev().find_map(|(correlation, request)| {
            let Request::Produce(produce) = request else {
                return None;
            };
            let (_, batch) = produce.batches.first()?;
            Some((*correlation, batch.producer))
        });
        last.expect("something was sent")
    }

    fn answer(&mut self, correlation: CorrelationId, error_code: ErrorCode) {
        let response = Response::Produce(ProduceResponse {
            partitions: vec![ProducePartitionResponse {
                topic_partition: ID,
                error_code,
                base_offset: Offset(0),
                current_leader: None,
            }],
        });
        self.run(|producer, out| {
            producer.on_response(BROKER, correlation, &response, out);
        });
    }

    /// The first batch expires after it was sent twice, with a second one on its way; gives the
    /// request of that.
    fn with_unresolved() -> (Self, CorrelationId) {
        let settings = [
            ("delivery.timeout.ms", "2000"),
            ("request.timeout.ms", "1500"),
        ];
        let mut bench = Self::new(&settings);
        bench.send(1);
        let (first, stamp) = bench.last();
        assert_eq!(stamp.base_sequence, 0, "the first batch");
        bench.now = SimTime::from_millis(100);
        bench.run(|producer, out| {
            producer.on_disconnect(BROKER, first, Disconnect::RequestTimedOut, out);
        });
        bench.at(1_000);
        bench.send(2);
        let (second, stamp) = bench.last();
        assert_eq!(stamp.base_sequence, 1, "the second batch is on its way");
        bench.at(2_000);
        assert_eq!(bench.producer.records_failed, 1, "the first has expired");
        (bench, second)
    }

    fn epoch(&self) -> Option<(i64, i16)> {
        self.producer.producer_id()
    }
}

#[test]
fn a_batch_lingers_j14() {
    let config = ProducerConfig {
        linger_ms: 10,
        ..ProducerConfig::default()
    };
    let mut accumulator = Accumulator::new(&config);
    let record = Record::text(RecordId(1), None, Arc::from("v"), SimTime::ZERO);
    accumulator.append(ID, record, SimTime::ZERO);
    for (micros, is_ready) in [(0, false), (9_999, false), (10_000, true), (50_000, true)] {
        let ready = accumulator.is_ready(ID, false, SimTime(micros));
        assert_eq!(ready, is_ready, "J14: after {micros} us");
    }
}

#[test]
fn later_batches_that_succeed_resolve_the_sequence_j15_w9() {
    let (mut bench, second) = Bench::with_unresolved();
    bench.send(3);
    let (waiting, _) = bench.last();
    assert_eq!(
        waiting, second,
        "J15: nothing new goes while it is unresolved"
    );
    bench.answer(second, ErrorCode::None);
    assert_eq!(bench.epoch(), Some((9, 0)), "J15: no new epoch");
    let (_, stamp) = bench.last();
    assert_eq!(
        (stamp.producer_epoch, stamp.base_sequence),
        (0, 2),
        "J15: the third goes on"
    );
}

#[test]
fn later_batches_that_fail_begin_a_new_epoch_j16() {
    let (mut bench, second) = Bench::with_unresolved();
    bench.answer(second, ErrorCode::OutOfOrderSequenceNumber);
    assert_eq!(bench.epoch(), Some((9, 1)), "J16: a new epoch");
    bench.at(2_900);
    let (_, stamp) = bench.last();
    assert_eq!(
        (stamp.producer_epoch, stamp.base_sequence),
        (1, 0),
        "J16: sequences begin anew"
    );
}

#[test]
fn a_first_attempt_that_expires_is_not_unresolved_w9() {
    let settings = [
        ("delivery.timeout.ms", "2000"),
        ("request.timeout.ms", "2000"),
    ];
    let mut bench = Bench::new(&settings);
    bench.send(1);
    bench.at(1_000);
    bench.send(2);
    let (second, _) = bench.last();
    bench.at(2_000);
    bench.send(3);
    let (third, stamp) = bench.last();
    assert_ne!(third, second, "W9: the next one does not wait");
    assert_eq!(stamp.base_sequence, 2, "W9: and has the next sequence");
}

#[test]
fn a_duplicate_is_a_success_j17() {
    let mut bench = Bench::new(&[]);
    bench.send(1);
    let (first, _) = bench.last();
    bench.answer(first, ErrorCode::DuplicateSequenceNumber);
    assert_eq!(bench.producer.records_acknowledged, 1, "J17");
    assert_eq!(bench.producer.records_failed, 0, "J17");
}

#[test]
fn a_batch_that_waits_for_another_holds_up_its_broker_m14() {
    // The retry of the second batch comes before the first one is done.
    let mut bench = Bench::new(&[]);
    bench.send(1);
    let (first, _) = bench.last();
    bench.send(2);
    let (second, _) = bench.last();
    bench.answer(second, ErrorCode::OutOfOrderSequenceNumber);
    let count = bench.sent.len();
    bench.at(1_000);
    assert_eq!(
        bench.sent.len(),
        count,
        "M14: it waits for the first in flight"
    );
    bench.answer(first, ErrorCode::None);
    let (_, stamp) = bench.last();
    assert_eq!(
        (bench.sent.len(), stamp.base_sequence),
        (count + 1, 1),
        "M14: now it goes"
    );
}
