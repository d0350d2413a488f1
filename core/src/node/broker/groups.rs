//! The group coordinator and its log.

use super::Broker;
use crate::base::config::Acks;
use crate::base::ids::TopicPartition;
use crate::trace::out::{Out, ReplyTo};
use crate::wire::api::{
    OffsetCommitRequest, OffsetCommitResponse, Response, TxnOffsetCommitRequest,
    TxnOffsetCommitResponse,
};
use crate::wire::error_code::ErrorCode;
use crate::wire::record::Batch;
use std::sync::Arc;

impl Broker {
    /// Hands a commit to the coordinator, unless it names partitions that do not exist.
    ///
    /// # Errors sent
    /// `UNKNOWN_TOPIC_OR_PARTITION` (3); the rest is the coordinator's.
    /// # Source
    /// `KafkaApis.handleOffsetCommitRequest`.
    /// # Simplified
    /// One unknown partition refuses the whole request, not itself alone.
    pub(super) fn handle_offset_commit(
        &mut self,
        reply: ReplyTo,
        request: &OffsetCommitRequest,
        out: &mut Out,
    ) {
        let image = self.replicas.image();
        if request
            .offsets
            .iter()
            .all(|(id, _, _)| image.partition(*id).is_some())
        {
            self.coordinator.handle_offset_commit(reply, request, out);
            return;
        }
        let partitions = request
            .offsets
            .iter()
            .map(|(id, _, _)| (*id, ErrorCode::UnknownTopicOrPartition))
            .collect();
        out.respond(
            reply,
            Response::OffsetCommit(OffsetCommitResponse { partitions }),
        );
    }

    /// Hands a commit within a transaction to the coordinator, unless it names partitions that do
    /// not exist.
    ///
    /// # Errors sent
    /// `UNKNOWN_TOPIC_OR_PARTITION` (3); the rest is the coordinator's.
    /// # Source
    /// `KafkaApis.handleTxnOffsetCommitRequest`.
    /// # Simplified
    /// The transaction coordinator is not asked whether the partition of `__consumer_offsets` belongs
    /// to the transaction.
    pub(super) fn handle_txn_offset_commit(
        &mut self,
        reply: ReplyTo,
        request: &TxnOffsetCommitRequest,
        out: &mut Out,
    ) {
        let image = self.replicas.image();
        let offsets = &request.commit.offsets;
        if offsets
            .iter()
            .all(|(id, _, _)| image.partition(*id).is_some())
        {
            self.coordinator
                .handle_txn_offset_commit(reply, request, out);
            return;
        }
        let partitions = offsets
            .iter()
            .map(|(id, _, _)| (*id, ErrorCode::UnknownTopicOrPartition))
            .collect();
        out.respond(
            reply,
            Response::TxnOffsetCommit(TxnOffsetCommitResponse { partitions }),
        );
    }

    /// Writes what the coordinator wants written, and tells it what is replicated by now.
    pub(super) fn settle_groups(&mut self, out: &mut Out) {
        loop {
            self.settle_transactions(out);
            for (id, producer_id, is_commit) in self.replicas.take_ended_transactions() {
                if id.topic == self.start.offsets_topic {
                    self.coordinator.on_transaction_ended(
                        id.partition,
                        (producer_id, is_commit),
                        out,
                    );
                }
            }
            for moved in self.replicas.take_moved_high_watermarks() {
                if moved.topic == self.start.offsets_topic
                    && let Some(partition) = self.replicas.partitions().get(&moved)
                {
                    let high_watermark = partition.log.high_watermark();
                    self.coordinator
                        .on_high_watermark(moved.partition, high_watermark, out);
                }
                if moved.topic == self.start.transaction_topic
                    && let Some(partition) = self.replicas.partitions().get(&moved)
                {
                    let high_watermark = partition.log.high_watermark();
                    self.transactions
                        .on_high_watermark(moved.partition, high_watermark, out);
                }
            }
            self.settle_transactions(out);
            let appends = self.coordinator.take_appends();
            if appends.is_empty() {
                return;
            }
            for append in appends {
                let id = TopicPartition::new(self.start.offsets_topic, append.partition);
                let batch = Batch {
                    producer: append.producer,
                    ..Batch::new(Arc::from(append.records))
                };
                let count = batch.count();
                match self.replicas.append(id, batch, Acks::All, out) {
                    Ok(base_offset) => {
                        self.coordinator
                            .on_appended(append.append_id, base_offset + count, out);
                        self.replicas.wake_followers(id, out);
                        if let Some(partition) = self.replicas.partitions().get(&id) {
                            let high_watermark = partition.log.high_watermark();
                            self.coordinator
                                .on_high_watermark(id.partition, high_watermark, out);
                        }
                    }
                    Err(error) => {
                        self.coordinator
                            .on_append_failed(append.append_id, error.error_code, out);
                    }
                }
            }
        }
    }
}
