//! Fetching, and handing records to the application.

use super::position::{Buffered, OwnedPartition, Progress, Validation};
use super::{Consumer, Purpose};
use crate::base::config::AutoOffsetReset;
use crate::base::ids::{BrokerId, NodeId, Offset, TopicPartition};
use crate::base::timer::Timer;
use crate::kernel::time::Span;
use crate::trace::out::Out;
use crate::wire::api::{
    FetchPartition, FetchPartitionResponse, FetchRequest, FetchResponse, Request,
};
use crate::wire::error_code::ErrorCode;
use crate::wire::record::{Batch, Record, RecordValue};
use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

impl Consumer {
    /// While a commit before an eager rebalance is awaited, nothing more is fetched or returned.
    fn is_frozen(&self) -> bool {
        self.membership.preparing_until.is_some() && !self.is_cooperative()
    }

    /// Sends one fetch to each leader that has none in flight, for the partitions without
    /// buffered records.
    ///
    /// # Source
    /// `Fetcher.sendFetches`.
    pub(super) fn send_fetches(&mut self, out: &mut Out) {
        if self.is_frozen() {
            return;
        }
        let mut by_leader: BTreeMap<BrokerId, Vec<FetchPartition>> = BTreeMap::new();
        let mut is_leader_missing = false;
        for (topic_partition, owned) in &self.partitions {
            let Some(position) = owned.position() else {
                continue;
            };
            let is_settled = owned.validation == Validation::Settled;
            if owned.is_paused || !owned.buffered.is_empty() || !is_settled {
                continue;
            }
            let Some((leader, leader_epoch)) = self.metadata.leader(*topic_partition) else {
                is_leader_missing = true;
                continue;
            };
            let preferred = owned.preferred_read_replica(out.now);
            let leader = preferred
                .filter(|id| self.metadata.brokers().contains(id))
                .unwrap_or(leader);
            if self.fetches.contains_key(&leader) {
                continue;
            }
            if !self.metadata.is_reachable(leader, out.now) {
                let at = self.metadata.reachable_at(leader);
                out.arm_at(Timer::FetchBackoff(leader), at);
                continue;
            }
            by_leader.entry(leader).or_default().push(FetchPartition {
                topic_partition: *topic_partition,
                fetch_offset: position,
                log_start_offset: Offset::UNKNOWN,
                current_leader_epoch: leader_epoch,
                last_fetched_epoch: -1,
                partition_max_bytes: self.config().max_partition_fetch_bytes,
            });
        }
        for (leader, partitions) in by_leader {
            self.send_fetch(leader, partitions, out);
        }
        if is_leader_missing {
            self.metadata.request_update(out);
        }
    }

    fn send_fetch(&mut self, leader: BrokerId, partitions: Vec<FetchPartition>, out: &mut Out) {
        let config = self.config();
        let request = FetchRequest {
            replica_id: None,
            replica_epoch: -1,
            max_wait_ms: config.fetch_max_wait_ms,
            min_bytes: config.fetch_min_bytes,
            max_bytes: config.fetch_max_bytes,
            isolation_level: config.isolation_level,
            rack_id: config.client_rack.clone(),
            partitions,
        };
        let asked = request
            .partitions
            .iter()
            .map(|one| (one.topic_partition, one.fetch_offset))
            .collect();
        let body = Request::Fetch(request);
        let correlation = out.request(NodeId::Broker(leader), body, self.request_timeout());
        self.requests
            .insert(correlation, Purpose::Fetch(leader, asked));
        self.fetches.insert(leader, correlation);
    }

    /// Buffers what a broker sent, where the position is still the one that was asked for.
    pub(super) fn on_fetch_response(
        &mut self,
        broker: BrokerId,
        asked: &[(TopicPartition, Offset)],
        response: &FetchResponse,
        out: &mut Out,
    ) {
        self.fetches.remove(&broker);
        let mut failed = false;
        for (one, (_, fetch_offset)) in response.partitions.iter().zip(asked) {
            failed |= !self.take_in(broker, one, *fetch_offset, out);
        }
        if failed {
            let wait = self.retry_pause();
            // A fetch that fails at once would otherwise be sent again at once.
            self.metadata
                .on_connection_failed(broker, &mut self.stream, out.now);
            out.arm(Timer::FetchBackoff(broker), wait);
        }
    }

    /// Takes in one partition's answer. False if it failed and is worth another try.
    ///
    /// # Source
    /// `FetchCollector.handleInitializeErrors`.
    #[expect(
        clippy::wildcard_enum_match_arm,
        reason = "Kafka treats every code without a rule of its own alike"
    )]
    fn take_in(
        &mut self,
        broker: BrokerId,
        response: &FetchPartitionResponse,
        fetch_offset: Offset,
        out: &mut Out,
    ) -> bool {
        let topic_partition = response.topic_partition;
        let Some(owned) = self.partitions.get_mut(&topic_partition) else {
            return true;
        };
        let position = owned.position();
        if owned.validation != Validation::Settled {
            // Nothing counts that came from before the position was validated.
            return true;
        }
        owned.leader = owned.leader.or(self.metadata.leader(topic_partition));
        let lease = Span::from_millis(self.settings.config.metadata_max_age_ms);
        match response.error_code {
            // An answer to an earlier position, before a reset or another assignment.
            ErrorCode::None | ErrorCode::OffsetOutOfRange if position != Some(fetch_offset) => true,
            ErrorCode::None => {
                owned.high_watermark = Some(response.high_watermark);
                owned.last_stable_offset = Some(response.last_stable_offset);
                owned.log_start_offset = Some(response.log_start_offset);
                if let Some(replica) = response.preferred_read_replica {
                    let until = out.now + lease;
                    owned.preferred = Some((replica, until));
                    let (name, until) = (self.names(&[topic_partition]), until.as_millis());
                    self.client_log(
                        &format!(
                            "Updating preferred read replica for partition {name} to {replica}, \
                             set to expire at {until}"
                        ),
                        out,
                    );
                    return true;
                }
                if response.batches.is_empty() || !owned.buffered.is_empty() {
                    return true;
                }
                owned
                    .buffered
                    .extend(visible(&response.batches, &response.aborted));
                self.buffered.push_back(topic_partition);
                true
            }
            // A follower may be behind, or have started later: the leader has the last word.
            ErrorCode::OffsetOutOfRange if owned.preferred.take().is_some() => {
                let name = self.names(&[topic_partition]);
                self.client_log(
                    &format!(
                        "Unset the preferred read replica {broker} for partition {name} since we got \
                         OFFSET_OUT_OF_RANGE when fetching {fetch_offset}"
                    ),
                    out,
                );
                true
            }
            ErrorCode::OffsetOutOfRange
                if self.settings.config.auto_offset_reset == AutoOffsetReset::None =>
            {
                self.fail(&Arc::from("OffsetOutOfRangeException"), out);
                true
            }
            ErrorCode::OffsetOutOfRange => {
                owned.progress = Progress::NeedsReset;
                owned.offset_epoch = -1;
                let name = self.names(&[topic_partition]);
                self.client_log(
                    &format!(
                        "Fetch position {fetch_offset} is out of range for partition {name}, \
                         resetting offset"
                    ),
                    out,
                );
                true
            }
            // The broker is behind: it will hear of the epoch, nothing is to be learnt elsewhere.
            ErrorCode::UnknownLeaderEpoch => false,
            _ => {
                owned.preferred = None;
                let is_news = response
                    .current_leader
                    .is_some_and(|(leader, leader_epoch)| {
                        self.metadata
                            .update_leader(topic_partition, leader, leader_epoch)
                    });
                if is_news {
                    self.check_leaders(out);
                } else {
                    self.metadata.request_update(out);
                }
                is_news
            }
        }
    }

    /// A fetch got no answer.
    pub(super) fn fetch_failed(
        &mut self,
        broker: BrokerId,
        asked: &[(TopicPartition, Offset)],
        out: &mut Out,
    ) {
        self.fetches.remove(&broker);
        for (topic_partition, _) in asked {
            if let Some(owned) = self.partitions.get_mut(topic_partition) {
                owned.preferred = None;
            }
        }
        let at = self.metadata.reachable_at(broker).max(out.now);
        out.arm_at(Timer::FetchBackoff(broker), at);
    }

    /// The first partition with buffered records that is not paused, and its place. What was fetched
    /// of a paused partition waits.
    fn next_buffered(&self) -> Option<(usize, TopicPartition)> {
        let is_paused = |id| {
            let owned = self.partitions.get(id);
            owned.is_some_and(|owned: &OwnedPartition| owned.is_paused)
        };
        let mut buffered = self.buffered.iter().enumerate();
        let next = buffered.find(|(_, id)| !is_paused(id));
        next.map(|(at, id)| (at, *id))
    }

    /// The records that `poll` returns: buffered partitions one after another, up to
    /// `max.poll.records`. Positions move past them.
    ///
    /// # Source
    /// `FetchCollector.collectFetch`.
    pub(super) fn collect(&mut self) -> VecDeque<(TopicPartition, Offset, Record)> {
        let mut records = VecDeque::new();
        if self.is_frozen() {
            return records;
        }
        let max = usize::try_from(self.config().max_poll_records).unwrap_or(usize::MAX);
        while records.len() < max
            && let Some((at, topic_partition)) = self.next_buffered()
        {
            let Some(owned) = self.partitions.get_mut(&topic_partition) else {
                self.buffered.remove(at);
                continue;
            };
            let Progress::At(mut position) = owned.progress else {
                owned.buffered.clear();
                self.buffered.remove(at);
                continue;
            };
            while records.len() < max
                && let Some(Buffered { batch, is_hidden }) = owned.buffered.front()
            {
                if *is_hidden {
                    position = position.max(batch.next_offset());
                    owned.buffered.pop_front();
                    continue;
                }
                let mut next = position;
                let mut rest = batch.entries().filter(|(offset, _)| position <= *offset);
                while records.len() < max
                    && let Some((offset, record)) = rest.next()
                {
                    records.push_back((topic_partition, offset, record.clone()));
                    next = offset + 1;
                }
                if position < next {
                    owned.offset_epoch = batch.leader_epoch;
                }
                if rest.next().is_none() {
                    // Compaction may have taken the last records: their offsets are passed over.
                    next = batch.next_offset().max(position);
                    drop(rest);
                    owned.buffered.pop_front();
                }
                position = next;
            }
            owned.progress = Progress::At(position);
            if owned.buffered.is_empty() {
                self.buffered.remove(at);
            }
        }
        records
    }
}

/// Which batches of a fetch the application sees: no markers, and nothing of the transactions that
/// are listed as aborted.
///
/// # Source
/// `CompletedFetch.nextFetchedRecord`, `consumeAbortedTransactionsUpTo`.
fn visible(batches: &[Batch], aborted: &[(i64, Offset)]) -> Vec<Buffered> {
    let mut pending: Vec<(i64, Offset)> = aborted.to_vec();
    let mut aborting: Vec<i64> = Vec::new();
    let mut buffered = Vec::with_capacity(batches.len());
    for batch in batches {
        let last = batch.last_offset();
        pending.retain(|(producer_id, first_offset)| {
            let is_due = *first_offset <= last;
            if is_due {
                aborting.push(*producer_id);
            }
            !is_due
        });
        let stamp = &batch.producer;
        let is_abort = batch.records.first().is_some_and(|record| {
            matches!(
                record.value,
                RecordValue::EndTransaction {
                    is_commit: false,
                    ..
                }
            )
        });
        if is_abort {
            aborting.retain(|id| *id != stamp.producer_id);
        }
        let is_aborted = stamp.is_transactional && aborting.contains(&stamp.producer_id);
        buffered.push(Buffered {
            batch: batch.clone(),
            is_hidden: stamp.is_control || is_aborted,
        });
    }
    buffered
}
