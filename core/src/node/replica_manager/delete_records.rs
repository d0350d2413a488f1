//! Giving up records at the start of a log.

use super::ReplicaManager;
use crate::base::ids::{Offset, TopicPartition};
use crate::base::timer::Timer;
use crate::kernel::time::Span;
use crate::node::purgatory::DelayedDeleteRecords;
use crate::trace::event::{TraceEvent, Waiting};
use crate::trace::out::{Out, ReplyTo};
use crate::wire::api::{
    DeleteRecordsPartitionResponse, DeleteRecordsRequest, DeleteRecordsResponse, Response,
};
use crate::wire::error_code::ErrorCode;
use std::sync::Arc;

impl ReplicaManager {
    /// Lets logs start later, and answers when every live replica does.
    ///
    /// # Errors sent
    /// `UNKNOWN_TOPIC_OR_PARTITION` (3), `NOT_LEADER_OR_FOLLOWER` (6), `POLICY_VIOLATION` (44) for a
    /// topic that is not deleted from, `OFFSET_OUT_OF_RANGE` (1) beyond the high watermark,
    /// `REQUEST_TIMED_OUT` (7) when a replica does not follow.
    /// # Source
    /// `ReplicaManager.deleteRecords`, `Partition.deleteRecordsOnLeader`, `DelayedDeleteRecords`
    /// (KIP-107).
    pub fn handle_delete_records(
        &mut self,
        reply: ReplyTo,
        request: &DeleteRecordsRequest,
        out: &mut Out,
    ) {
        let mut partitions = Vec::with_capacity(request.partitions.len());
        for (topic_partition, before) in &request.partitions {
            let (required, error_code) = match self.delete_records(*topic_partition, *before, out) {
                Ok(start) => (Some(start), ErrorCode::None),
                Err(error_code) => (None, error_code),
            };
            let response = DeleteRecordsPartitionResponse {
                topic_partition: *topic_partition,
                error_code,
                low_watermark: Offset::UNKNOWN,
            };
            partitions.push((required, response));
        }
        let mut delayed = DelayedDeleteRecords { reply, partitions };
        if self.settle_deletes(&mut delayed, false) {
            respond(delayed, out);
            return;
        }
        let id = self.next_delayed_id;
        self.next_delayed_id += 1;
        let deadline = out.now + Span::from_millis(request.timeout_ms);
        let waiting = delayed.partitions.iter().filter(|one| one.0.is_some());
        let partitions: Arc<[TopicPartition]> = waiting.map(|one| one.1.topic_partition).collect();
        out.trace(TraceEvent::RequestParked {
            from: reply.node,
            correlation: reply.correlation,
            waiting: Waiting::DeleteRecords,
            deadline: Some(deadline),
            group_id: None,
            partitions,
        });
        out.arm_at(Timer::DeleteRecordsExpiry(id), deadline);
        self.delayed_deletes.park(id, delayed);
    }

    /// Moves the start of one log; gives where it is to start everywhere.
    fn delete_records(
        &mut self,
        topic_partition: TopicPartition,
        before: Offset,
        out: &mut Out,
    ) -> Result<Offset, ErrorCode> {
        if self.image.partition(topic_partition).is_none() {
            return Err(ErrorCode::UnknownTopicOrPartition);
        }
        let config = self.topic_config(topic_partition);
        let partition = self.partitions.get_mut(&topic_partition);
        let partition = partition.ok_or(ErrorCode::NotLeaderOrFollower)?;
        if !partition.is_leader() {
            return Err(ErrorCode::NotLeaderOrFollower);
        }
        if !config.cleanup_policy.deletes() {
            return Err(ErrorCode::PolicyViolation);
        }
        let start = if before == Offset::UNKNOWN {
            partition.log.high_watermark()
        } else {
            before
        };
        if !start.is_known() || partition.log.raise_log_start_offset(start).is_err() {
            return Err(ErrorCode::OffsetOutOfRange);
        }
        partition.note_log_changes(out);
        Ok(start)
    }

    /// The least start of the log over this broker and the replicas on live brokers.
    fn low_watermark(&self, topic_partition: TopicPartition) -> Option<Offset> {
        let partition = self.partitions.get(&topic_partition)?;
        let mut least = partition.log.log_start_offset();
        for (broker, remote) in &partition.leader()?.remotes {
            if self.image.is_active(*broker) {
                least = least.min(remote.log_start_offset);
            }
        }
        Some(least)
    }

    /// Settles what can be settled of a request. True when all of it is.
    fn settle_deletes(&self, delayed: &mut DelayedDeleteRecords, expired: bool) -> bool {
        let mut is_settled = true;
        for (required, response) in &mut delayed.partitions {
            let Some(start) = *required else {
                continue;
            };
            match self.low_watermark(response.topic_partition) {
                None => response.error_code = ErrorCode::NotLeaderOrFollower,
                Some(low) if start <= low => response.low_watermark = low,
                Some(_) if expired => response.error_code = ErrorCode::RequestTimedOut,
                Some(_) => {
                    is_settled = false;
                    continue;
                }
            }
            *required = None;
        }
        is_settled
    }

    /// Answers the requests that need not wait for this partition any longer.
    pub(super) fn complete_deletes(&mut self, topic_partition: TopicPartition, out: &mut Out) {
        let ids = self.delayed_deletes.ids(|delayed| {
            let mut partitions = delayed.partitions.iter();
            partitions.any(|one| one.1.topic_partition == topic_partition)
        });
        for id in ids {
            self.try_complete_delete(id, false, out);
        }
    }

    /// Answers a request whose time is up.
    ///
    /// # Errors sent
    /// `REQUEST_TIMED_OUT` (7) for the logs that some replica still starts earlier.
    /// # Source
    /// `DelayedDeleteRecords.onExpiration`.
    pub(super) fn on_delete_records_expiry(&mut self, id: u64, out: &mut Out) {
        self.try_complete_delete(id, true, out);
    }

    fn try_complete_delete(&mut self, id: u64, expired: bool, out: &mut Out) {
        let Some(mut delayed) = self.delayed_deletes.take(id) else {
            return;
        };
        if !self.settle_deletes(&mut delayed, expired) {
            self.delayed_deletes.park(id, delayed);
            return;
        }
        out.cancel(Timer::DeleteRecordsExpiry(id));
        out.trace(TraceEvent::RequestReleased {
            from: delayed.reply.node,
            correlation: delayed.reply.correlation,
            waiting: Waiting::DeleteRecords,
            timed_out: expired,
        });
        respond(delayed, out);
    }
}

fn respond(delayed: DelayedDeleteRecords, out: &mut Out) {
    let partitions = delayed.partitions.into_iter().map(|one| one.1).collect();
    let response = DeleteRecordsResponse { partitions };
    out.respond(delayed.reply, Response::DeleteRecords(response));
}
