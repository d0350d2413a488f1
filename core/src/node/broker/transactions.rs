//! The transaction coordinator, its log and its markers.

use super::{Broker, Purpose};
use crate::base::config::Acks;
use crate::base::ids::{BrokerId, CorrelationId, GroupId, NodeId, TopicPartition};
use crate::base::timer::Timer;
use crate::coordinator::partition_for;
use crate::kernel::time::Span;
use crate::trace::out::{Out, ReplyTo};
use crate::transaction::Markers;
use crate::wire::api::{
    AddOffsetsToTxnRequest, Request, WriteTxnMarkersRequest, WriteTxnMarkersResponse,
};
use crate::wire::error_code::ErrorCode;
use crate::wire::record::Batch;
use serde::Serialize;
use std::sync::Arc;

/// Markers on their way to the leaders of their partitions.
#[derive(Clone, Debug, Serialize)]
pub(super) struct Delivery {
    /// What is to be written; its partitions are those without a marker yet.
    markers: Markers,
    /// Requests that have no answer yet, with what they are about.
    in_flight: Vec<(CorrelationId, Vec<TopicPartition>)>,
}

impl Broker {
    /// The partition of `__transaction_state` that a transactional id lives in.
    fn transaction_partition(&self, transactional_id: &str) -> u32 {
        let count = self.start.config.transaction_state_log_num_partitions;
        let count = u32::try_from(count).unwrap_or(1);
        partition_for(&GroupId::new(transactional_id), count)
    }

    /// Hands a request about transactions to the coordinator.
    pub(super) fn on_transaction_request(
        &mut self,
        reply: ReplyTo,
        request: &Request,
        out: &mut Out,
    ) {
        if let Request::InitProducerId(request) = request {
            let id = request.transactional_id.as_deref().unwrap_or_default();
            let partition = self.transaction_partition(id);
            self.transactions
                .handle_init_producer_id(reply, request, partition, out);
        } else if let Request::AddPartitionsToTxn(request) = request {
            let partition = self.transaction_partition(&request.transactional_id);
            self.transactions
                .handle_add_partitions(reply, request, partition, out);
        } else if let Request::AddOffsetsToTxn(request) = request {
            self.add_offsets(reply, request, out);
        } else if let Request::EndTxn(request) = request {
            let partition = self.transaction_partition(&request.transactional_id);
            self.transactions
                .handle_end_txn(reply, request, partition, out);
        } else if let Request::WriteTxnMarkers(request) = request {
            self.replicas.handle_write_txn_markers(reply, request, out);
        }
    }

    fn add_offsets(&mut self, reply: ReplyTo, request: &AddOffsetsToTxnRequest, out: &mut Out) {
        let partition = self.transaction_partition(&request.transactional_id);
        let group = self.coordinator.partition_of(&request.group_id);
        let offsets = TopicPartition::new(self.start.offsets_topic, group);
        let who = (
            &request.transactional_id,
            request.producer_id,
            request.producer_epoch,
        );
        self.transactions
            .handle_add_offsets(reply, who, (partition, offsets), out);
    }

    /// Writes what the coordinator wants written, and sends the markers that it wants sent.
    pub(super) fn settle_transactions(&mut self, out: &mut Out) {
        for append in self.transactions.take_appends() {
            let id = TopicPartition::new(self.start.transaction_topic, append.partition);
            let batch = Batch::new(Arc::from([append.record]));
            match self.replicas.append(id, batch, Acks::All, out) {
                Ok(base_offset) => {
                    self.transactions.on_appended(
                        append.partition,
                        append.append_id,
                        base_offset + 1,
                    );
                    self.replicas.wake_followers(id, out);
                    if let Some(partition) = self.replicas.partitions().get(&id) {
                        let high_watermark = partition.log.high_watermark();
                        self.transactions
                            .on_high_watermark(append.partition, high_watermark, out);
                    }
                }
                Err(error) => self.transactions.on_append_failed(
                    append.partition,
                    append.append_id,
                    error.error_code,
                    out,
                ),
            }
        }
        let taken = self.transactions.take_markers();
        let has_taken = !taken.is_empty();
        let is_new = taken.iter().any(|markers| !markers.partitions.is_empty());
        for markers in taken {
            self.deliveries.push(Delivery {
                markers,
                in_flight: Vec::new(),
            });
        }
        if is_new {
            self.send_markers(out);
        } else if has_taken {
            // Only the record of the end is missing: it could not be written a moment ago.
            out.arm(Timer::TransactionMarkers, MARKER_RETRY);
        }
    }

    /// Sends markers that are missing to the leaders of their partitions, and reports the
    /// transactions that have all of theirs.
    ///
    /// # Source
    /// `TransactionMarkerChannelManager.addTxnMarkersToBrokerQueue`.
    /// # Simplified
    /// One request a transaction and broker; Kafka puts those of several into one.
    pub(super) fn send_markers(&mut self, out: &mut Out) {
        let mut deliveries = std::mem::take(&mut self.deliveries);
        for delivery in &mut deliveries {
            self.send_markers_of(delivery, out);
        }
        let is_done = |delivery: &Delivery| delivery.markers.partitions.is_empty();
        for delivery in deliveries.iter().filter(|it| is_done(it)) {
            self.transactions.on_markers_written(&delivery.markers, out);
        }
        deliveries.retain(|delivery| {
            let shard = self
                .transactions
                .partitions()
                .get(&delivery.markers.partition);
            let epoch = shard.map(|shard| shard.coordinator_epoch);
            !is_done(delivery) && epoch == Some(delivery.markers.coordinator_epoch)
        });
        if !deliveries.is_empty() {
            out.arm(Timer::TransactionMarkers, MARKER_RETRY);
        }
        self.deliveries = deliveries;
    }

    fn send_markers_of(&mut self, delivery: &mut Delivery, out: &mut Out) {
        let image = self.replicas.image();
        // Of a partition that is gone nothing can be read any more.
        delivery
            .markers
            .partitions
            .retain(|id| image.partition(*id).is_some());
        let mut by_leader: Vec<(BrokerId, Vec<TopicPartition>)> = Vec::new();
        for id in &delivery.markers.partitions {
            let is_asked = delivery
                .in_flight
                .iter()
                .any(|(_, asked)| asked.contains(id));
            let leader = image.partition(*id).and_then(|part| part.leader);
            let Some(leader) = leader.filter(|leader| !is_asked && self.is_alive(*leader)) else {
                continue;
            };
            match by_leader.iter_mut().find(|(known, _)| *known == leader) {
                Some((_, partitions)) => partitions.push(*id),
                None => by_leader.push((leader, vec![*id])),
            }
        }
        for (leader, partitions) in by_leader {
            let request = WriteTxnMarkersRequest {
                producer_id: delivery.markers.producer_id,
                producer_epoch: delivery.markers.producer_epoch,
                is_commit: delivery.markers.is_commit,
                coordinator_epoch: delivery.markers.coordinator_epoch,
                partitions: partitions.clone(),
            };
            let body = Request::WriteTxnMarkers(request);
            let correlation = out.request(NodeId::Broker(leader), body, MARKER_TIMEOUT);
            self.requests.insert(correlation, Purpose::Markers);
            delivery.in_flight.push((correlation, partitions));
        }
    }

    /// Takes in which markers are written. A transaction that somebody else ends by now is let go.
    ///
    /// # Source
    /// `TransactionMarkerRequestCompletionHandler`.
    pub(super) fn on_markers_answered(
        &mut self,
        correlation: CorrelationId,
        response: Option<&WriteTxnMarkersResponse>,
        out: &mut Out,
    ) {
        for delivery in &mut self.deliveries {
            let place = delivery
                .in_flight
                .iter()
                .position(|(sent, _)| *sent == correlation);
            let Some(place) = place else { continue };
            delivery.in_flight.remove(place);
            let answers = response.map_or(&[][..], |response| &response.partitions);
            for (id, error_code) in answers {
                if error_code.is_none() || *error_code == ErrorCode::InvalidProducerEpoch {
                    delivery.markers.partitions.retain(|missing| missing != id);
                }
            }
        }
        let is_complete = response.is_some_and(|response| {
            let mut codes = response.partitions.iter().map(|(_, code)| *code);
            codes.all(ErrorCode::is_none)
        });
        if is_complete {
            self.send_markers(out);
        } else {
            out.arm(Timer::TransactionMarkers, MARKER_RETRY);
        }
    }
}

/// Markers that could not be written are sent again after this.
const MARKER_RETRY: Span = Span(100_000);
/// `request.timeout.ms` of the broker.
const MARKER_TIMEOUT: Span = Span(30_000_000);
