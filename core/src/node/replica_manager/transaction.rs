//! Transactions in the logs of this broker: who may write, and where they end.

use super::produce::respond;
use super::{Purpose, ReplicaManager};
use crate::base::config::Acks;
use crate::base::ids::{
    BrokerId, CorrelationId, GroupId, NodeId, Offset, TRANSACTION_STATE, TopicPartition,
};
use crate::coordinator::partition_for;
use crate::kernel::time::Span;
use crate::node::purgatory::{Answering, DelayedPartition};
use crate::trace::event::TraceEvent;
use crate::trace::out::{Out, ReplyTo};
use crate::wire::api::{
    AddPartitionsToTxnRequest, ProducePartitionResponse, ProduceRequest, Request, Response,
    WriteTxnMarkersRequest,
};
use crate::wire::error_code::ErrorCode;
use crate::wire::record::Batch;
use serde::Serialize;

/// A produce request whose partitions the transaction coordinator is asked about.
#[derive(Clone, Debug, Serialize)]
pub(super) struct Verification {
    /// Whom to answer.
    reply: ReplyTo,
    /// What was asked.
    #[serde(skip)]
    request: ProduceRequest,
    /// The partitions that are not known to belong to the transaction.
    partitions: Vec<TopicPartition>,
}

impl ReplicaManager {
    /// The partitions of a request that this broker has to ask the coordinator about: the first
    /// batch of a transaction there.
    ///
    /// # Source
    /// `ReplicaManager.partitionEntriesForVerification` (KIP-890).
    pub(super) fn unverified(&self, request: &ProduceRequest) -> Vec<TopicPartition> {
        if request.transactional_id.is_none()
            || !self.config.transaction_partition_verification_enable
        {
            return Vec::new();
        }
        let is_first = |(id, batch): &&(TopicPartition, Batch)| {
            let partition = self.partitions.get(id);
            partition
                .filter(|part| part.is_leader())
                .is_some_and(|part| {
                    let known = part.log.producers().producer(batch.producer.producer_id);
                    known.is_none_or(|known| known.transaction_start.is_none())
                })
        };
        let batches = request.batches.iter().filter(is_first);
        batches.map(|(id, _)| *id).collect()
    }

    /// Asks the transaction coordinator whether partitions belong to a producer's transaction.
    ///
    /// # Source
    /// `AddPartitionsToTxnManager.verifyTransaction` (KIP-890).
    pub(super) fn verify(
        &mut self,
        reply: ReplyTo,
        request: &ProduceRequest,
        partitions: Vec<TopicPartition>,
        out: &mut Out,
    ) {
        let transactional_id = request.transactional_id.clone().unwrap_or_default();
        let stamp = request.batches.first().map(|(_, batch)| batch.producer);
        let verification = Verification {
            reply,
            request: request.clone(),
            partitions: partitions.clone(),
        };
        let (Some(coordinator), Some(stamp)) =
            (self.transaction_coordinator(&transactional_id), stamp)
        else {
            self.finish_verification(&verification, None, out);
            return;
        };
        let body = Request::AddPartitionsToTxn(AddPartitionsToTxnRequest {
            transactional_id,
            producer_id: stamp.producer_id,
            producer_epoch: stamp.producer_epoch,
            verify_only: true,
            partitions,
        });
        let timeout = Span::from_millis(request.timeout_ms);
        let correlation = out.request(NodeId::Broker(coordinator), body, timeout);
        self.requests.insert(correlation, Purpose::Verify);
        self.verifications.push((correlation, verification));
    }

    /// The leader of the partition of `__transaction_state` that a transactional id hashes to.
    pub fn transaction_coordinator(&self, transactional_id: &str) -> Option<BrokerId> {
        let (topic_id, topic) = self.image.topic_by_name(TRANSACTION_STATE)?;
        let count = u32::try_from(topic.partitions.len()).unwrap_or(u32::MAX);
        let partition = partition_for(&GroupId::new(transactional_id), count);
        let registration = self
            .image
            .partition(TopicPartition::new(topic_id, partition))?;
        let leader = registration.leader?;
        let is_alive = self.image.brokers.get(&leader).is_some_and(|it| !it.fenced);
        is_alive.then_some(leader)
    }

    pub(super) fn on_verification(
        &mut self,
        correlation: CorrelationId,
        answer: Option<&Response>,
        out: &mut Out,
    ) {
        let place = self
            .verifications
            .iter()
            .position(|(id, _)| *id == correlation);
        if let Some(place) = place {
            let (_, verification) = self.verifications.remove(place);
            self.finish_verification(&verification, answer, out);
        }
    }

    /// The coordinator has answered, or nobody has: what belongs to the transaction is appended.
    fn finish_verification(
        &mut self,
        verification: &Verification,
        answer: Option<&Response>,
        out: &mut Out,
    ) {
        let answers = match answer {
            Some(Response::AddPartitionsToTxn(response)) => response.partitions.as_slice(),
            Some(_) | None => &[],
        };
        let refused: Vec<(TopicPartition, ErrorCode)> = verification
            .partitions
            .iter()
            .map(|id| {
                let said = answers.iter().find(|(about, _)| about == id);
                (
                    *id,
                    said.map_or(ErrorCode::NetworkException, |(_, code)| *code),
                )
            })
            .filter(|(_, error_code)| !error_code.is_none())
            .map(|(id, error_code)| (id, verification_error(error_code)))
            .collect();
        self.append_all(verification.reply, &verification.request, &refused, out);
    }

    /// Appends the marker that ends a transaction to each of its partitions here, and answers when
    /// the markers are replicated.
    ///
    /// # Errors sent
    /// Per partition: `NOT_LEADER_OR_FOLLOWER` (6), `NOT_ENOUGH_REPLICAS` (19), after the append
    /// `NOT_ENOUGH_REPLICAS_AFTER_APPEND` (20) and `REQUEST_TIMED_OUT` (7),
    /// `INVALID_PRODUCER_EPOCH` (47), `TRANSACTION_COORDINATOR_FENCED` (52).
    /// # Source
    /// `KafkaApis.handleWriteTxnMarkersRequest`.
    pub fn handle_write_txn_markers(
        &mut self,
        reply: ReplyTo,
        request: &WriteTxnMarkersRequest,
        out: &mut Out,
    ) {
        let mut partitions = Vec::new();
        for topic_partition in &request.partitions {
            let batch = Batch::end_of_transaction(
                (request.producer_id, request.producer_epoch),
                request.is_commit,
                request.coordinator_epoch,
                out.now,
            );
            let appended = self.append(*topic_partition, batch, Acks::All, out);
            if let Ok(offset) = appended {
                out.trace(TraceEvent::TransactionMarkerWritten {
                    topic_partition: *topic_partition,
                    producer_id: request.producer_id,
                    offset,
                    is_commit: request.is_commit,
                });
                let end = (*topic_partition, request.producer_id, request.is_commit);
                self.ended_transactions.push(end);
            }
            partitions.push(DelayedPartition {
                required_offset: appended.ok().map(|offset| offset + 1),
                response: ProducePartitionResponse {
                    topic_partition: *topic_partition,
                    error_code: appended.err().map_or(ErrorCode::None, |it| it.error_code),
                    base_offset: appended.unwrap_or(Offset::UNKNOWN),
                    current_leader: None,
                },
            });
        }
        if partitions.iter().all(|one| one.required_offset.is_none()) {
            respond(reply, Answering::WriteTxnMarkers, partitions, out);
        } else {
            let answering = (reply, Answering::WriteTxnMarkers);
            self.park_produce(answering, MARKER_TIMEOUT_MS, partitions, out);
        }
        for topic_partition in &request.partitions {
            self.complete_delayed(*topic_partition, out);
        }
    }

    /// Transactions whose marker was appended here since the last call: partition, producer id, and
    /// whether it is a commit.
    pub fn take_ended_transactions(&mut self) -> Vec<(TopicPartition, i64, bool)> {
        std::mem::take(&mut self.ended_transactions)
    }
}

/// What a producer is told when the coordinator could not be asked: to try again.
///
/// # Source
/// `ReplicaManager.appendRecordsWithTransactionVerification`, M8 of the replication spec.
fn verification_error(error_code: ErrorCode) -> ErrorCode {
    let passes = [
        ErrorCode::ConcurrentTransactions,
        ErrorCode::CoordinatorLoadInProgress,
        ErrorCode::CoordinatorNotAvailable,
        ErrorCode::NotCoordinator,
        ErrorCode::NetworkException,
    ];
    if passes.contains(&error_code) {
        ErrorCode::NotEnoughReplicas
    } else if error_code == ErrorCode::ProducerFenced {
        ErrorCode::InvalidProducerEpoch
    } else {
        error_code
    }
}

/// `request.timeout.ms` of the broker.
const MARKER_TIMEOUT_MS: i64 = 30_000;
