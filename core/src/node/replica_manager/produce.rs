//! Writing.

use super::ReplicaManager;
use crate::base::config::{Acks, TopicConfig};
use crate::base::ids::{BrokerId, Offset, TopicPartition};
use crate::base::timer::Timer;
use crate::kernel::time::Span;
use crate::log::partition_log::LogContext;
use crate::log::producer_state::Checked;
use crate::node::purgatory::{Answering, DelayedPartition, DelayedProduce};
use crate::replication::partition::Role;
use crate::trace::event::{TraceEvent, Waiting};
use crate::trace::out::{Out, ReplyTo};
use crate::wire::api::{
    ProducePartitionResponse, ProduceRequest, ProduceResponse, Response, WriteTxnMarkersResponse,
};
use crate::wire::error_code::ErrorCode;
use crate::wire::record::{Batch, Record};
use std::sync::Arc;

/// Why a batch was not appended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AppendError {
    /// What the client is told.
    pub error_code: ErrorCode,
    /// The leader that this broker knows, when it is another one.
    pub current_leader: Option<(BrokerId, i32)>,
}

impl From<ErrorCode> for AppendError {
    fn from(error_code: ErrorCode) -> Self {
        Self {
            error_code,
            current_leader: None,
        }
    }
}

impl ReplicaManager {
    /// Appends a producer's batches, and answers when their replicas have them.
    ///
    /// # Errors sent
    /// `UNKNOWN_TOPIC_OR_PARTITION` (3), `NOT_LEADER_OR_FOLLOWER` (6), `MESSAGE_TOO_LARGE` (10),
    /// `RECORD_LIST_TOO_LARGE` (18), `INVALID_RECORD` (87) for a record without a key in a compacted
    /// topic, `OUT_OF_ORDER_SEQUENCE_NUMBER` (45), `INVALID_PRODUCER_EPOCH` (47),
    /// `INVALID_TXN_STATE` (48), `NOT_ENOUGH_REPLICAS` (19) before the append,
    /// `NOT_ENOUGH_REPLICAS_AFTER_APPEND` (20) and
    /// `REQUEST_TIMED_OUT` (7) after it.
    /// # Source
    /// `ReplicaManager.appendRecords`, `DelayedProduce`.
    pub fn handle_produce(&mut self, reply: ReplyTo, request: &ProduceRequest, out: &mut Out) {
        let unverified = self.unverified(request);
        if unverified.is_empty() {
            self.append_all(reply, request, &[], out);
        } else {
            self.verify(reply, request, unverified, out);
        }
    }

    /// Appends what may be appended of a request; `refused` lists partitions that may not.
    pub(super) fn append_all(
        &mut self,
        reply: ReplyTo,
        request: &ProduceRequest,
        refused: &[(TopicPartition, ErrorCode)],
        out: &mut Out,
    ) {
        let mut partitions = Vec::with_capacity(request.batches.len());
        for (topic_partition, batch) in &request.batches {
            let refusal = refused.iter().find(|(id, _)| id == topic_partition);
            let appended = if let Some((_, error_code)) = refusal {
                Err((*error_code).into())
            } else {
                let is_known = request.retried.contains(topic_partition)
                    && self.holds(*topic_partition, batch);
                let appended = self.append(*topic_partition, batch.clone(), request.acks, out);
                if let (Ok(base_offset), true) = (appended, is_known) {
                    out.trace(TraceEvent::DuplicateAppended {
                        topic_partition: *topic_partition,
                        base_offset,
                        records: u32::try_from(batch.records.len()).unwrap_or(u32::MAX),
                    });
                }
                appended
            };
            partitions.push(match appended {
                Ok(base_offset) => DelayedPartition {
                    required_offset: Some(base_offset + batch.count()),
                    response: ProducePartitionResponse {
                        topic_partition: *topic_partition,
                        error_code: ErrorCode::None,
                        base_offset,
                        current_leader: None,
                    },
                },
                Err(error) => DelayedPartition {
                    required_offset: None,
                    response: ProducePartitionResponse {
                        topic_partition: *topic_partition,
                        error_code: error.error_code,
                        base_offset: Offset::UNKNOWN,
                        current_leader: error.current_leader,
                    },
                },
            });
        }
        match request.acks {
            // The one way to tell a producer that waits for no answer.
            Acks::None => {
                if discard(reply, request, &partitions, out) {
                    out.close_connection(reply);
                }
            }
            Acks::Leader => respond(reply, Answering::Produce, partitions, out),
            Acks::All => {
                self.park_produce(
                    (reply, Answering::Produce),
                    request.timeout_ms,
                    partitions,
                    out,
                );
            }
        }
        for (topic_partition, _) in &request.batches {
            self.complete_delayed(*topic_partition, out);
        }
    }

    /// Appends a batch as the leader.
    ///
    /// # Errors
    /// See `handle_produce`; nothing is appended then.
    pub fn append(
        &mut self,
        topic_partition: TopicPartition,
        batch: Batch,
        acks: Acks,
        out: &mut Out,
    ) -> Result<Offset, AppendError> {
        let Some(topic) = self.image.topics.get(&topic_partition.topic) else {
            return Err(ErrorCode::UnknownTopicOrPartition.into());
        };
        let Some(registration) = self.image.partition(topic_partition) else {
            return Err(ErrorCode::UnknownTopicOrPartition.into());
        };
        let not_leader = AppendError {
            error_code: ErrorCode::NotLeaderOrFollower,
            current_leader: registration
                .leader
                .map(|id| (id, registration.leader_epoch)),
        };
        let config = topic.config.clone();
        let Some(partition) = self.partitions.get_mut(&topic_partition) else {
            return Err(not_leader);
        };
        let Role::Leader(leader) = &partition.role else {
            return Err(not_leader);
        };
        let in_sync = u32::try_from(leader.isr.committed.len()).unwrap_or(u32::MAX);
        let min_isr = leader.effective_min_isr;
        if acks == Acks::All && in_sync < min_isr {
            let isr: Vec<String> = leader
                .isr
                .committed
                .iter()
                .map(ToString::to_string)
                .collect();
            let name = self.partition_name(topic_partition);
            out.log(format!(
                "[ReplicaManager broker={}] Error processing append operation on partition {name} \
                 NotEnoughReplicasException: The size of the current ISR Set({}) is insufficient \
                 to satisfy the min.isr requirement of {min_isr} for partition {name}",
                self.id,
                isr.join(", "),
            ));
            self.meters.failed_produces += 1;
            return Err(ErrorCode::NotEnoughReplicas.into());
        }
        check_batch(&batch, &config)?;
        let expiration = Span::from_millis(self.config.producer_id_expiration_ms);
        partition.log.expire_producers(out.now, expiration);
        match partition.log.producers().check(&batch)? {
            Checked::New => {}
            Checked::Duplicate(base_offset) => {
                out.trace(TraceEvent::DuplicateFound {
                    topic_partition,
                    producer_id: batch.producer.producer_id,
                    base_sequence: batch.producer.base_sequence,
                    base_offset,
                });
                return Ok(base_offset);
            }
        }
        let (records, bytes) = (batch.count(), u64::from(batch.size_bytes));
        let around = LogContext {
            config: &config,
            now: out.now,
        };
        let leader_epoch = partition.leader_epoch;
        let base_offset = partition.log.append_as_leader(batch, leader_epoch, around);
        partition.note_log_changes(out);
        out.trace(TraceEvent::Appended {
            topic_partition,
            base_offset,
            log_end_offset: partition.log.log_end_offset(),
            as_leader: true,
        });
        self.meters.messages_in += u64::try_from(records).unwrap_or_default();
        self.meters.bytes_in += bytes;
        self.increment_high_watermark(topic_partition, out);
        self.shrink_by_messages(topic_partition, out);
        Ok(base_offset)
    }

    pub(super) fn park_produce(
        &mut self,
        (reply, answering): (ReplyTo, Answering),
        timeout_ms: i64,
        partitions: Vec<DelayedPartition>,
        out: &mut Out,
    ) {
        let id = self.next_delayed_id;
        self.next_delayed_id += 1;
        let deadline = out.now + Span::from_millis(timeout_ms);
        let mut delayed = DelayedProduce {
            reply,
            answering,
            since: out.now,
            deadline,
            partitions,
        };
        if self.settle_produce(&mut delayed, false) {
            respond(reply, answering, delayed.partitions, out);
            return;
        }
        out.trace(TraceEvent::RequestParked {
            from: reply.node,
            correlation: reply.correlation,
            waiting: Waiting::Produce,
            deadline: Some(deadline),
            group_id: None,
            partitions: waiting_partitions(&delayed),
        });
        out.arm_at(Timer::ProduceExpiry(id), deadline);
        self.delayed_produces.park(id, delayed);
    }

    /// Settles what can be settled of a produce request. True when all of it is.
    fn settle_produce(&self, delayed: &mut DelayedProduce, expired: bool) -> bool {
        let mut is_settled = true;
        for one in &mut delayed.partitions {
            let Some(required) = one.required_offset else {
                continue;
            };
            let topic_partition = one.response.topic_partition;
            let partition = self.partitions.get(&topic_partition);
            let answer = match partition.and_then(|part| part.leader().map(|lead| (part, lead))) {
                None if self.image.partition(topic_partition).is_none() => {
                    Some(ErrorCode::UnknownTopicOrPartition)
                }
                None => Some(ErrorCode::NotLeaderOrFollower),
                Some((part, leader)) if required <= part.log.high_watermark() => {
                    let enough = leader.effective_min_isr <= leader.isr.maximal_count();
                    Some(if enough {
                        ErrorCode::None
                    } else {
                        ErrorCode::NotEnoughReplicasAfterAppend
                    })
                }
                Some(_) if expired => Some(ErrorCode::RequestTimedOut),
                Some(_) => None,
            };
            match answer {
                Some(error_code) => {
                    one.required_offset = None;
                    one.response.error_code = error_code;
                    if !error_code.is_none() {
                        one.response.base_offset = Offset::UNKNOWN;
                        one.response.current_leader = self.other_leader(topic_partition);
                    }
                }
                None => is_settled = false,
            }
        }
        is_settled
    }

    /// Whether the log holds the records of a batch already, and no sequence tells.
    fn holds(&self, topic_partition: TopicPartition, batch: &Batch) -> bool {
        let Some(partition) = self.partitions.get(&topic_partition) else {
            return false;
        };
        let log = &partition.log;
        let first = batch.records.first().map(|record| record.record_id);
        let mut records = log.records();
        log.producers().check(batch) == Ok(Checked::New)
            && records.any(|(_, record)| Some(record.record_id) == first)
    }

    fn other_leader(&self, topic_partition: TopicPartition) -> Option<(BrokerId, i32)> {
        let registration = self.image.partition(topic_partition)?;
        let leader = registration.leader.filter(|leader| *leader != self.id)?;
        Some((leader, registration.leader_epoch))
    }

    /// Answers the produce requests that need not wait for this partition any longer.
    pub(super) fn complete_produces(&mut self, topic_partition: TopicPartition, out: &mut Out) {
        let ids = self.delayed_produces.ids(|delayed| {
            delayed
                .partitions
                .iter()
                .any(|one| one.response.topic_partition == topic_partition)
        });
        for id in ids {
            self.try_complete_produce(id, false, out);
        }
    }

    /// Answers a produce request whose time is up.
    ///
    /// # Errors sent
    /// `REQUEST_TIMED_OUT` (7) for what is not replicated; the records stay in the log.
    /// # Source
    /// `DelayedProduce.onExpiration`.
    pub(super) fn on_produce_expiry(&mut self, id: u64, out: &mut Out) {
        self.try_complete_produce(id, true, out);
    }

    fn try_complete_produce(&mut self, id: u64, expired: bool, out: &mut Out) {
        let Some(mut delayed) = self.delayed_produces.take(id) else {
            return;
        };
        if !self.settle_produce(&mut delayed, expired) {
            self.delayed_produces.park(id, delayed);
            return;
        }
        out.cancel(Timer::ProduceExpiry(id));
        out.trace(TraceEvent::RequestReleased {
            from: delayed.reply.node,
            correlation: delayed.reply.correlation,
            waiting: Waiting::Produce,
            timed_out: expired,
        });
        respond(delayed.reply, delayed.answering, delayed.partitions, out);
    }
}

/// Whether the log takes a batch of this size and with these keys.
fn check_batch(batch: &Batch, config: &TopicConfig) -> Result<(), ErrorCode> {
    let is_keyless = |record: &Record| record.compaction_key().is_none();
    if config.max_message_bytes < i64::from(batch.size_bytes) {
        Err(ErrorCode::MessageTooLarge)
    } else if config.segment_bytes < i64::from(batch.size_bytes) {
        Err(ErrorCode::RecordListTooLarge)
    } else if config.cleanup_policy.compacts()
        && !batch.producer.is_control
        && batch.records.iter().any(is_keyless)
    {
        Err(ErrorCode::InvalidRecord)
    } else {
        Ok(())
    }
}

pub(super) fn respond(
    reply: ReplyTo,
    answering: Answering,
    partitions: Vec<DelayedPartition>,
    out: &mut Out,
) {
    let answers = partitions.into_iter().map(|one| one.response);
    let response = match answering {
        Answering::Produce => {
            let partitions = answers.collect();
            Response::Produce(ProduceResponse { partitions })
        }
        Answering::WriteTxnMarkers => {
            let partitions = answers.map(|one| (one.topic_partition, one.error_code));
            let partitions = partitions.collect();
            Response::WriteTxnMarkers(WriteTxnMarkersResponse { partitions })
        }
    };
    out.respond(reply, response);
}

fn waiting_partitions(delayed: &DelayedProduce) -> Arc<[TopicPartition]> {
    delayed
        .partitions
        .iter()
        .filter(|one| one.required_offset.is_some())
        .map(|one| one.response.topic_partition)
        .collect()
}

/// Notes which records of a request without an answer could not be appended. True if there are any.
fn discard(
    reply: ReplyTo,
    request: &ProduceRequest,
    partitions: &[DelayedPartition],
    out: &mut Out,
) -> bool {
    let mut has_any = false;
    for ((topic_partition, batch), one) in request.batches.iter().zip(partitions) {
        let error_code = one.response.error_code;
        if error_code.is_none() {
            continue;
        }
        has_any = true;
        out.trace(TraceEvent::RecordsDiscarded {
            from: reply.node,
            topic_partition: *topic_partition,
            records: u32::try_from(batch.records.len()).unwrap_or(u32::MAX),
            error_code,
        });
    }
    has_any
}
