//! Reading, for followers and consumers.

use super::ReplicaManager;
use crate::base::config::{IsolationLevel, ReplicaSelector};
use crate::base::ids::{BrokerId, Offset, TopicPartition};
use crate::base::timer::Timer;
use crate::kernel::time::{SimTime, Span};
use crate::node::purgatory::DelayedFetch;
use crate::replication::partition::{Partition, Surroundings};
use crate::replication::remote::FollowerFetch;
use crate::trace::event::{TraceEvent, Waiting};
use crate::trace::out::{Out, ReplyTo};
use crate::wire::api::{
    FetchPartition, FetchPartitionResponse, FetchRequest, FetchResponse,
    ListOffsetsPartitionResponse, ListOffsetsRequest, ListOffsetsResponse,
    OffsetForLeaderEpochRequest, OffsetForLeaderEpochResponse, OffsetQuery, Response,
};
use crate::wire::error_code::ErrorCode;
use std::sync::Arc;

/// A partition that may be read, and where the follower's log parts from its.
type Checked<'a> = (&'a Partition, Option<(i32, Offset)>);

impl ReplicaManager {
    /// Reads, or waits until there is something to read.
    ///
    /// # Errors sent
    /// `UNKNOWN_TOPIC_OR_PARTITION` (3), `NOT_LEADER_OR_FOLLOWER` (6), `FENCED_LEADER_EPOCH` (74),
    /// `UNKNOWN_LEADER_EPOCH` (75), `OFFSET_OUT_OF_RANGE` (1).
    /// # Source
    /// `ReplicaManager.fetchMessages`, `Partition.readRecords`, `DelayedFetch`.
    /// # Simplified
    /// No fetch sessions (KIP-227): each request lists all its partitions. A follower serves only
    /// consumers with a `client.rack` (KIP-392); Kafka serves every one that knows its epoch. A parked fetch at the log's end is completed by bytes, leadership and divergence.
    pub fn handle_fetch(&mut self, reply: ReplyTo, request: &FetchRequest, out: &mut Out) {
        let (mut response, bytes) = self.read(request, out.now);
        let mut answer_now = request.max_wait_ms <= 0
            || request.partitions.is_empty()
            || min_bytes(request) <= bytes;
        if let Some(follower) = request.replica_id {
            for (wanted, result) in request.partitions.iter().zip(&mut response.partitions) {
                if result.error_code.is_none() && result.diverging_epoch.is_none() {
                    result.error_code =
                        self.note_follower(follower, request.replica_epoch, wanted, out);
                }
            }
        }
        answer_now |= response.partitions.iter().any(|one| {
            !one.error_code.is_none()
                || one.diverging_epoch.is_some()
                || one.preferred_read_replica.is_some()
        });
        if answer_now {
            // The high watermark in the answer is the one before this fetch moved it: a follower
            // learns what its own fetch brought about from a later answer.
            self.count_read(request, bytes);
            out.respond(reply, Response::Fetch(response));
            return;
        }
        let id = self.next_delayed_id;
        self.next_delayed_id += 1;
        let deadline = out.now + Span::from_millis(request.max_wait_ms);
        let partitions: Arc<[TopicPartition]> = request
            .partitions
            .iter()
            .map(|wanted| wanted.topic_partition)
            .collect();
        out.trace(TraceEvent::RequestParked {
            from: reply.node,
            correlation: reply.correlation,
            waiting: Waiting::Fetch,
            deadline: Some(deadline),
            group_id: None,
            partitions,
        });
        out.arm_at(Timer::FetchExpiry(id), deadline);
        let delayed = DelayedFetch {
            reply,
            since: out.now,
            deadline,
            request: request.clone(),
        };
        self.delayed_fetches.park(id, delayed);
    }

    /// Takes in that `follower` has everything before its fetch offset: it may enter the ISR, and
    /// the high watermark may move.
    fn note_follower(
        &mut self,
        follower: BrokerId,
        broker_epoch: i64,
        wanted: &FetchPartition,
        out: &mut Out,
    ) -> ErrorCode {
        let around = Surroundings {
            broker: self.id,
            image: &self.image,
            lag_max: Span::from_millis(self.config.replica_lag_time_max_ms),
            history: self.history,
            now: out.now,
        };
        let fetch = FollowerFetch {
            fetch_offset: wanted.fetch_offset,
            log_start_offset: wanted.log_start_offset,
            broker_epoch,
        };
        let Some(partition) = self.partitions.get_mut(&wanted.topic_partition) else {
            return ErrorCode::NotLeaderOrFollower;
        };
        match partition.on_follower_fetch(follower, fetch, around) {
            Err(error_code) => error_code,
            Ok(moved) => {
                self.maybe_expand_isr(wanted.topic_partition, follower, out);
                self.complete_deletes(wanted.topic_partition, out);
                if moved && self.increment_high_watermark(wanted.topic_partition, out) {
                    self.complete_delayed(wanted.topic_partition, out);
                }
                ErrorCode::None
            }
        }
    }

    /// Reads every partition of a request within its budget.
    fn read(&self, request: &FetchRequest, now: SimTime) -> (FetchResponse, u64) {
        let mut budget = u64::try_from(request.max_bytes).unwrap_or_default();
        let mut total = 0;
        let mut partitions = Vec::with_capacity(request.partitions.len());
        for wanted in &request.partitions {
            let (one, bytes) = match self.check_fetch(request, wanted) {
                Err(error_code) => (self.failed(wanted.topic_partition, error_code), 0),
                Ok((partition, Some(diverging))) => {
                    let mut one = success(wanted.topic_partition, partition);
                    one.diverging_epoch = Some(diverging);
                    (one, 0)
                }
                Ok((partition, None))
                    if let preferred @ Some(_) = self.preferred(request, wanted, now) =>
                {
                    let mut one = success(wanted.topic_partition, partition);
                    one.preferred_read_replica = preferred;
                    (one, 0)
                }
                Ok((partition, None)) => {
                    let limit = readable_end(request, partition);
                    let partition_max = u64::try_from(wanted.partition_max_bytes);
                    let max_bytes = budget.min(partition_max.unwrap_or_default());
                    let (batches, bytes) =
                        partition
                            .log
                            .read(wanted.fetch_offset, limit, max_bytes, total == 0);
                    let mut one = success(wanted.topic_partition, partition);
                    if request.isolation_level == IsolationLevel::ReadCommitted
                        && let Some(last) = batches.last()
                    {
                        let (from, to) = (wanted.fetch_offset, last.next_offset());
                        let aborted = partition.log.producers().aborted_between(from, to);
                        let pairs = aborted.iter().map(|it| (it.producer_id, it.first_offset));
                        one.aborted = pairs.collect();
                    }
                    one.batches = batches;
                    (one, bytes)
                }
            };
            total += bytes;
            budget = budget.saturating_sub(bytes);
            partitions.push(one);
        }
        (FetchResponse { partitions }, total)
    }

    /// Where a consumer is to read instead.
    fn preferred(
        &self,
        request: &FetchRequest,
        wanted: &FetchPartition,
        now: SimTime,
    ) -> Option<BrokerId> {
        let rack = request.rack_id.as_deref()?;
        if self.config.replica_selector_class != ReplicaSelector::RackAware {
            return None;
        }
        let around = Surroundings {
            broker: self.id,
            image: &self.image,
            lag_max: Span::from_millis(self.config.replica_lag_time_max_ms),
            history: self.history,
            now,
        };
        let partition = self.partitions.get(&wanted.topic_partition)?;
        partition.preferred_read_replica(rack, wanted.fetch_offset, around)
    }

    const fn count_read(&mut self, request: &FetchRequest, bytes: u64) {
        if request.replica_id.is_some() {
            self.meters.replication_bytes_out += bytes;
        } else {
            self.meters.bytes_out += bytes;
        }
    }

    /// The checks of a fetch, in Kafka's order; where the logs part, if they do.
    fn check_fetch(
        &self,
        request: &FetchRequest,
        wanted: &FetchPartition,
    ) -> Result<Checked<'_>, ErrorCode> {
        let Some(partition) = self.partitions.get(&wanted.topic_partition) else {
            let known = self.image.partition(wanted.topic_partition).is_some();
            return Err(if known {
                ErrorCode::NotLeaderOrFollower
            } else {
                ErrorCode::UnknownTopicOrPartition
            });
        };
        partition.check_leader_epoch(wanted.current_leader_epoch)?;
        let leader = partition.leader();
        if leader.is_none() && request.rack_id.is_none() {
            return Err(ErrorCode::NotLeaderOrFollower);
        }
        if let Some(follower) = request.replica_id
            && leader.is_none_or(|leader| !leader.remotes.contains_key(&follower))
        {
            return Err(if wanted.current_leader_epoch == -1 {
                ErrorCode::NotLeaderOrFollower
            } else {
                ErrorCode::UnknownLeaderEpoch
            });
        }
        let last_fetched_epoch = if request.replica_id.is_some() {
            wanted.last_fetched_epoch
        } else {
            -1
        };
        let diverging = partition.divergence(wanted.fetch_offset, last_fetched_epoch)?;
        Ok((partition, diverging))
    }

    fn failed(
        &self,
        topic_partition: TopicPartition,
        error_code: ErrorCode,
    ) -> FetchPartitionResponse {
        let registration = self.image.partition(topic_partition);
        FetchPartitionResponse {
            topic_partition,
            error_code,
            high_watermark: Offset::UNKNOWN,
            last_stable_offset: Offset::UNKNOWN,
            log_start_offset: Offset::UNKNOWN,
            diverging_epoch: None,
            preferred_read_replica: None,
            current_leader: registration
                .and_then(|part| part.leader.map(|leader| (leader, part.leader_epoch))),
            aborted: Vec::new(),
            batches: Vec::new(),
        }
    }

    /// Answers the parked fetches that this partition's change satisfies.
    pub(super) fn complete_fetches(&mut self, topic_partition: TopicPartition, out: &mut Out) {
        let ids = self
            .delayed_fetches
            .ids(|delayed| delayed.wants(topic_partition) && self.is_satisfied(&delayed.request));
        for id in ids {
            self.complete_fetch(id, false, out);
        }
    }

    fn is_satisfied(&self, request: &FetchRequest) -> bool {
        let min_bytes = min_bytes(request);
        let mut bytes = 0;
        for wanted in &request.partitions {
            match self.check_fetch(request, wanted) {
                Err(_) | Ok((_, Some(_))) => return true,
                Ok((partition, None)) => {
                    let limit = readable_end(request, partition);
                    if wanted.fetch_offset < limit {
                        let enough = min_bytes - bytes;
                        bytes += partition
                            .log
                            .bytes_between(wanted.fetch_offset, limit, enough);
                    }
                }
            }
            if min_bytes <= bytes {
                return true;
            }
        }
        false
    }

    /// Answers a parked fetch whose time is up with what there is.
    ///
    /// # Errors sent
    /// None.
    /// # Source
    /// `DelayedFetch.onExpiration`.
    pub(super) fn on_fetch_expiry(&mut self, id: u64, out: &mut Out) {
        self.complete_fetch(id, true, out);
    }

    fn complete_fetch(&mut self, id: u64, expired: bool, out: &mut Out) {
        let Some(delayed) = self.delayed_fetches.take(id) else {
            return;
        };
        out.cancel(Timer::FetchExpiry(id));
        out.trace(TraceEvent::RequestReleased {
            from: delayed.reply.node,
            correlation: delayed.reply.correlation,
            waiting: Waiting::Fetch,
            timed_out: expired,
        });
        let (response, bytes) = self.read(&delayed.request, out.now);
        self.count_read(&delayed.request, bytes);
        out.respond(delayed.reply, Response::Fetch(response));
    }

    /// Tells a consumer where the log ends in a leader epoch.
    ///
    /// # Errors sent
    /// `UNKNOWN_TOPIC_OR_PARTITION` (3), `NOT_LEADER_OR_FOLLOWER` (6), `FENCED_LEADER_EPOCH` (74),
    /// `UNKNOWN_LEADER_EPOCH` (75).
    /// # Source
    /// `Partition.lastOffsetForLeaderEpoch` (KIP-320).
    pub fn handle_offset_for_leader_epoch(
        &self,
        reply: ReplyTo,
        request: &OffsetForLeaderEpochRequest,
        out: &mut Out,
    ) {
        let partitions = request.partitions.iter();
        let answers = partitions.map(|(id, current_epoch, epoch)| {
            match self.end_of_epoch(*id, *current_epoch, *epoch) {
                Ok((epoch, end)) => (*id, ErrorCode::None, epoch, end),
                Err(error_code) => (*id, error_code, -1, Offset::UNKNOWN),
            }
        });
        let partitions = answers.collect();
        let response = OffsetForLeaderEpochResponse { partitions };
        out.respond(reply, Response::OffsetForLeaderEpoch(response));
    }

    fn end_of_epoch(
        &self,
        topic_partition: TopicPartition,
        current_epoch: i32,
        epoch: i32,
    ) -> Result<(i32, Offset), ErrorCode> {
        if self.image.partition(topic_partition).is_none() {
            return Err(ErrorCode::UnknownTopicOrPartition);
        }
        let partition = self.partitions.get(&topic_partition);
        let partition = partition.ok_or(ErrorCode::NotLeaderOrFollower)?;
        partition.check_leader_epoch(current_epoch)?;
        if !partition.is_leader() {
            return Err(ErrorCode::NotLeaderOrFollower);
        }
        let log = &partition.log;
        Ok(log.epochs().end_offset_for(epoch, log.log_end_offset()))
    }

    /// Tells first and last offsets, and the first record from a timestamp on.
    ///
    /// # Errors sent
    /// `UNKNOWN_TOPIC_OR_PARTITION` (3), `NOT_LEADER_OR_FOLLOWER` (6), `OFFSET_NOT_AVAILABLE` (78)
    /// while the high watermark lies before the leader's epoch.
    /// # Source
    /// `Partition.fetchOffsetForTimestamp` (KIP-79, KIP-207, KIP-734).
    pub fn handle_list_offsets(&self, reply: ReplyTo, request: &ListOffsetsRequest, out: &mut Out) {
        let partitions = request
            .partitions
            .iter()
            .map(|(topic_partition, query)| {
                let answer = self.offset_for(*topic_partition, *query);
                let (error_code, offset, timestamp) = match answer {
                    Ok((offset, timestamp)) => (ErrorCode::None, offset, timestamp),
                    Err(error_code) => (error_code, Offset::UNKNOWN, None),
                };
                ListOffsetsPartitionResponse {
                    topic_partition: *topic_partition,
                    error_code,
                    offset,
                    timestamp,
                }
            })
            .collect();
        out.respond(
            reply,
            Response::ListOffsets(ListOffsetsResponse { partitions }),
        );
    }

    fn offset_for(
        &self,
        topic_partition: TopicPartition,
        query: OffsetQuery,
    ) -> Result<(Offset, Option<SimTime>), ErrorCode> {
        if self.image.partition(topic_partition).is_none() {
            return Err(ErrorCode::UnknownTopicOrPartition);
        }
        let partition = self
            .partitions
            .get(&topic_partition)
            .ok_or(ErrorCode::NotLeaderOrFollower)?;
        let leader = partition.leader().ok_or(ErrorCode::NotLeaderOrFollower)?;
        let log = &partition.log;
        let found = match query {
            OffsetQuery::Earliest => return Ok((log.log_start_offset(), None)),
            OffsetQuery::LogEnd => return Ok((log.log_end_offset(), None)),
            OffsetQuery::Latest | OffsetQuery::LastStable => None,
            OffsetQuery::MaxTimestamp => log.max_timestamp(),
            OffsetQuery::Timestamp(timestamp) => {
                log.look_up_timestamp(timestamp).and_then(|one| one.found)
            }
        };
        if let Some((offset, timestamp)) = found
            && offset < log.high_watermark()
        {
            return Ok((offset, Some(timestamp)));
        }
        if log.high_watermark() < leader.epoch_start_offset {
            return Err(ErrorCode::OffsetNotAvailable);
        }
        Ok(match query {
            OffsetQuery::Latest => (log.high_watermark(), None),
            OffsetQuery::LastStable => (log.last_stable_offset(), None),
            OffsetQuery::Earliest
            | OffsetQuery::LogEnd
            | OffsetQuery::MaxTimestamp
            | OffsetQuery::Timestamp(_) => (Offset::UNKNOWN, None),
        })
    }
}

/// Bytes to wait for: never more than the answer may hold.
fn min_bytes(request: &FetchRequest) -> u64 {
    u64::try_from(request.min_bytes.min(request.max_bytes)).unwrap_or_default()
}

/// Followers read to the log's end, consumers to the high watermark, or to the last stable offset.
fn readable_end(request: &FetchRequest, partition: &Partition) -> Offset {
    if request.replica_id.is_some() {
        partition.log.log_end_offset()
    } else if request.isolation_level == IsolationLevel::ReadCommitted {
        partition.log.last_stable_offset()
    } else {
        partition.log.high_watermark()
    }
}

fn success(topic_partition: TopicPartition, partition: &Partition) -> FetchPartitionResponse {
    FetchPartitionResponse {
        topic_partition,
        error_code: ErrorCode::None,
        high_watermark: partition.log.high_watermark(),
        last_stable_offset: partition.log.last_stable_offset(),
        log_start_offset: partition.log.log_start_offset(),
        diverging_epoch: None,
        preferred_read_replica: None,
        current_leader: None,
        aborted: Vec::new(),
        batches: Vec::new(),
    }
}
