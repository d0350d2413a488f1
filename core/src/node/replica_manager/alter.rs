//! Changes of ISRs: one request in flight, the rest waits.

use super::{Purpose, ReplicaManager};
use crate::base::ids::{BrokerId, TopicPartition};
use crate::base::timer::Timer;
use crate::kernel::time::{SimTime, Span};
use crate::replication::partition::{AlterOutcome, Surroundings};
use crate::trace::out::Out;
use crate::wire::api::{AlterPartitionRequest, AlterPartitionResponse, Request};
use serde::Serialize;
use std::collections::BTreeMap;

/// Changes that the controller has not confirmed (`AlterPartitionManager`).
#[derive(Clone, Debug, Default, Serialize)]
pub(super) struct AlterPartitionManager {
    /// Changes to be asked for, by partition.
    pending: BTreeMap<TopicPartition, u64>,
    /// What the request in flight asks for; empty when none is.
    in_flight: Vec<(TopicPartition, u64)>,
    next_change_id: u64,
}

/// After an answer that failed as a whole, the same changes are asked for again.
const RETRY: Span = Span(50_000);
/// Kafka sets no time; the controller's channel gives up after this.
const TIMEOUT: Span = Span(30_000_000);

impl ReplicaManager {
    /// Asks for smaller ISRs where followers lag.
    ///
    /// # Errors sent
    /// None.
    /// # Source
    /// `ReplicaManager.maybeShrinkIsr`, every half `replica.lag.time.max.ms`.
    pub(super) fn on_isr_check(&mut self, out: &mut Out) {
        let leading: Vec<TopicPartition> = self
            .partitions
            .iter()
            .filter(|(_, partition)| partition.is_leader())
            .map(|(topic_partition, _)| *topic_partition)
            .collect();
        self.shrink_isrs(&leading, out);
        out.arm(Timer::IsrCheck, self.isr_check_interval());
    }

    /// Before 0.9 a follower that lacks too many records leaves the ISR (`replica.lag.max.messages`).
    pub(super) fn shrink_by_messages(&mut self, topic_partition: TopicPartition, out: &mut Out) {
        if 0 < self.history.replica_lag_max_messages {
            self.shrink_isrs(&[topic_partition], out);
        }
    }

    fn shrink_isrs(&mut self, leading: &[TopicPartition], out: &mut Out) {
        for topic_partition in leading.iter().copied() {
            let around = Surroundings {
                broker: self.id,
                image: &self.image,
                lag_max: Span::from_millis(self.config.replica_lag_time_max_ms),
                history: self.history,
                now: out.now,
            };
            let Some(partition) = self.partitions.get(&topic_partition) else {
                continue;
            };
            if let Some((kept, out_of_sync)) = partition.shrunken_isr(around) {
                self.log_shrink(topic_partition, &kept, &out_of_sync, out);
                self.submit_isr(topic_partition, kept, out);
            }
        }
    }

    fn log_shrink(
        &self,
        topic_partition: TopicPartition,
        kept: &[BrokerId],
        out_of_sync: &[BrokerId],
        out: &mut Out,
    ) {
        let Some(partition) = self.partitions.get(&topic_partition) else {
            return;
        };
        let Some(leader) = partition.leader() else {
            return;
        };
        let name = self.partition_name(topic_partition);
        let lagging: Vec<String> = out_of_sync
            .iter()
            .filter_map(|id| leader.remotes.get(id).map(|remote| (id, remote)))
            .map(|(id, remote)| {
                let caught_up = remote.last_caught_up_at.map_or(0, SimTime::as_millis);
                let end = remote.log_end_offset;
                format!("(brokerId: {id}, endOffset: {end}, lastCaughtUpTimeMs: {caught_up})")
            })
            .collect();
        out.log(format!(
            "[Partition {name} broker={}] Shrinking ISR from {} to {}. Leader: (highWatermark: {}, \
             endOffset: {}). Out of sync replicas: {}.",
            self.id,
            joined(&leader.isr.committed),
            joined(kept),
            partition.log.high_watermark(),
            partition.log.log_end_offset(),
            lagging.join(" "),
        ));
    }

    /// Asks for a larger ISR if `follower` has earned its place.
    pub(super) fn maybe_expand_isr(
        &mut self,
        topic_partition: TopicPartition,
        follower: BrokerId,
        out: &mut Out,
    ) {
        let around = Surroundings {
            broker: self.id,
            image: &self.image,
            lag_max: Span::from_millis(self.config.replica_lag_time_max_ms),
            history: self.history,
            now: out.now,
        };
        let wanted = self
            .partitions
            .get(&topic_partition)
            .and_then(|partition| partition.expanded_isr(follower, around));
        if let Some(wanted) = wanted {
            self.submit_isr(topic_partition, wanted, out);
        }
    }

    /// Asks for another ISR, unless an earlier change of this partition is still under way: metadata
    /// may have replaced what was pending before the answer to it came.
    fn submit_isr(
        &mut self,
        topic_partition: TopicPartition,
        wanted: Vec<BrokerId>,
        out: &mut Out,
    ) {
        let in_flight = self.alter.in_flight.iter();
        let is_under_way = self.alter.pending.contains_key(&topic_partition)
            || in_flight.clone().any(|(id, _)| *id == topic_partition);
        let change_id = self.alter.next_change_id;
        self.alter.next_change_id += 1;
        if let Some(partition) = self.partitions.get_mut(&topic_partition) {
            partition.request_isr(wanted, change_id, out);
            if is_under_way {
                partition.refuse_isr(out);
                self.meters.failed_isr_updates += 1;
                return;
            }
        }
        self.alter.pending.insert(topic_partition, change_id);
        self.send_alter_partition(out);
    }

    /// Sends everything that is pending, unless a request is in flight.
    pub(in crate::node) fn send_alter_partition(&mut self, out: &mut Out) {
        if !self.alter.in_flight.is_empty() || self.alter.pending.is_empty() {
            return;
        }
        let Some(controller) = self.controller else {
            return;
        };
        let around = Surroundings {
            broker: self.id,
            image: &self.image,
            lag_max: Span::from_millis(self.config.replica_lag_time_max_ms),
            history: self.history,
            now: out.now,
        };
        let pending = std::mem::take(&mut self.alter.pending);
        let mut items = Vec::new();
        for (topic_partition, change_id) in pending {
            let partition = self.partitions.get(&topic_partition);
            let still_wanted = partition
                .and_then(|part| part.leader())
                .is_some_and(|leader| {
                    leader
                        .isr
                        .pending
                        .as_ref()
                        .is_some_and(|change| change.change_id == change_id)
                });
            if let Some(item) = partition.and_then(|part| part.alter_partition_item(around))
                && still_wanted
            {
                items.push(item);
                self.alter.in_flight.push((topic_partition, change_id));
            }
        }
        if items.is_empty() {
            return;
        }
        let request = AlterPartitionRequest {
            broker_id: self.id,
            broker_epoch: self.broker_epoch,
            partitions: items,
        };
        let correlation = out.request(controller, Request::AlterPartition(request), TIMEOUT);
        self.requests.insert(correlation, Purpose::AlterPartition);
    }

    /// Takes in the controller's answer.
    ///
    /// # Errors sent
    /// None.
    /// # Source
    /// `AlterPartitionManager.handleAlterPartitionResponse`.
    pub(super) fn on_alter_partition_response(
        &mut self,
        response: &AlterPartitionResponse,
        out: &mut Out,
    ) {
        let sent = std::mem::take(&mut self.alter.in_flight);
        if !response.error_code.is_none() {
            self.retry_alter_partition(sent, out);
            return;
        }
        for (topic_partition, change_id) in sent {
            let result = response
                .partitions
                .iter()
                .find(|one| one.topic_partition == topic_partition);
            let (Some(result), Some(partition)) =
                (result, self.partitions.get_mut(&topic_partition))
            else {
                continue;
            };
            match partition.on_alter_partition(change_id, result, out) {
                AlterOutcome::Committed(has_grown) => {
                    if has_grown {
                        self.meters.isr_expands += 1;
                    } else {
                        self.meters.isr_shrinks += 1;
                    }
                    let name = self.partition_name(topic_partition);
                    out.log(format!(
                        "[Partition {name} broker={}] ISR updated to {}  and version updated to {}",
                        self.id,
                        joined(&result.isr),
                        result.partition_epoch
                    ));
                    if self.increment_high_watermark(topic_partition, out) {
                        self.complete_delayed(topic_partition, out);
                    } else {
                        self.complete_produces(topic_partition, out);
                    }
                }
                AlterOutcome::Retry => {
                    self.alter.pending.insert(topic_partition, change_id);
                }
                AlterOutcome::Failed => self.meters.failed_isr_updates += 1,
                AlterOutcome::Replaced => {}
            }
        }
        self.send_alter_partition(out);
    }

    /// The request got no answer: it is sent again after a while.
    pub(super) fn on_alter_partition_disconnect(&mut self, out: &mut Out) {
        let sent = std::mem::take(&mut self.alter.in_flight);
        self.retry_alter_partition(sent, out);
    }

    fn retry_alter_partition(&mut self, sent: Vec<(TopicPartition, u64)>, out: &mut Out) {
        for (topic_partition, change_id) in sent {
            self.alter
                .pending
                .entry(topic_partition)
                .or_insert(change_id);
        }
        out.arm(Timer::AlterPartitionRetry, RETRY);
    }

    /// `orders-0`.
    pub(super) fn partition_name(&self, topic_partition: TopicPartition) -> String {
        let topic = self
            .image
            .topics
            .get(&topic_partition.topic)
            .map_or("?", |topic| &topic.name);
        format!("{topic}-{}", topic_partition.partition)
    }
}

fn joined(ids: &[BrokerId]) -> String {
    ids.iter()
        .map(ToString::to_string)
        .collect::<Vec<_>>()
        .join(",")
}
