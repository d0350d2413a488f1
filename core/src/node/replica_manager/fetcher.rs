//! Following: one fetcher for each leader.

use super::{Purpose, ReplicaManager};
use crate::base::config::{IsolationLevel, TopicConfig};
use crate::base::ids::{BrokerId, CorrelationId, NodeId, Offset, TopicPartition};
use crate::base::timer::Timer;
use crate::kernel::time::{SimTime, Span};
use crate::log::partition_log::LogContext;
use crate::replication::partition::Partition;
use crate::trace::event::TraceEvent;
use crate::trace::out::Out;
use crate::wire::api::{
    FetchPartition, FetchPartitionResponse, FetchRequest, FetchResponse, ListOffsetsRequest,
    ListOffsetsResponse, OffsetQuery, Request, Response,
};
use crate::wire::error_code::ErrorCode;
use serde::Serialize;
use std::collections::BTreeMap;

/// The fetcher thread for one leader (`ReplicaFetcherThread`).
#[derive(Clone, Debug, Default, Serialize)]
pub struct Fetcher {
    partitions: BTreeMap<TopicPartition, FetchState>,
    /// The request in flight, with the offset that it asks for of each partition and the leader
    /// epoch that it names.
    in_flight: Option<(CorrelationId, Vec<(Offset, i32)>)>,
}

/// Whether a partition may be fetched.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
enum FetchState {
    /// Now.
    Fetching,
    /// Not before this instant.
    Delayed(SimTime),
    /// While another question about it is open, in this leader epoch.
    Asking(i32),
    /// Not until metadata bring a new leader epoch.
    Failed,
}

impl Fetcher {
    /// Partitions that are not fetched until metadata bring a new leader epoch.
    pub fn failed_count(&self) -> usize {
        let states = self.partitions.values();
        states.filter(|state| **state == FetchState::Failed).count()
    }

    /// Drops a partition.
    pub(super) fn remove(&mut self, topic_partition: TopicPartition) {
        self.partitions.remove(&topic_partition);
    }

    /// Drops every partition that is not among `wanted` (sorted).
    pub(super) fn retain(&mut self, wanted: &[TopicPartition]) {
        self.partitions
            .retain(|topic_partition, _| wanted.binary_search(topic_partition).is_ok());
    }

    /// Takes partitions in. True if one is new.
    pub(super) fn add_all(&mut self, partitions: &[TopicPartition]) -> bool {
        let before = self.partitions.len();
        for topic_partition in partitions {
            self.partitions
                .entry(*topic_partition)
                .or_insert(FetchState::Fetching);
        }
        before < self.partitions.len()
    }
}

impl ReplicaManager {
    /// Fetches from `leader` whatever may be fetched, unless a fetch is in flight.
    pub(super) fn send_fetch(&mut self, leader: BrokerId, out: &mut Out) {
        let Some(fetcher) = self.fetchers.get_mut(&leader) else {
            return;
        };
        if fetcher.in_flight.is_some() {
            return;
        }
        let mut wanted = Vec::new();
        let mut next_at: Option<SimTime> = None;
        for (topic_partition, state) in &mut fetcher.partitions {
            if let FetchState::Delayed(until) = *state {
                if out.now < until {
                    next_at = Some(next_at.map_or(until, |at| at.min(until)));
                    continue;
                }
                *state = FetchState::Fetching;
            }
            if *state == FetchState::Fetching
                && let Some(partition) = self.partitions.get(topic_partition)
            {
                wanted.push(FetchPartition {
                    topic_partition: *topic_partition,
                    fetch_offset: partition.log.log_end_offset(),
                    log_start_offset: partition.log.log_start_offset(),
                    current_leader_epoch: partition.leader_epoch,
                    last_fetched_epoch: if self.history.truncate_to_high_watermark {
                        -1
                    } else {
                        partition.log.epochs().latest_epoch()
                    },
                    partition_max_bytes: self.config.replica_fetch_max_bytes,
                });
            }
        }
        if let Some(at) = next_at {
            out.arm_at(Timer::ReplicaFetch(leader), at);
        }
        if wanted.is_empty() {
            return;
        }
        let sent = wanted
            .iter()
            .map(|one| (one.fetch_offset, one.current_leader_epoch))
            .collect();
        let request = FetchRequest {
            isolation_level: IsolationLevel::ReadUncommitted,
            rack_id: None,
            replica_id: Some(self.id),
            replica_epoch: self.broker_epoch,
            max_wait_ms: self.config.replica_fetch_wait_max_ms,
            min_bytes: self.config.replica_fetch_min_bytes,
            max_bytes: self.config.replica_fetch_response_max_bytes,
            partitions: wanted,
        };
        let timeout = Span::from_millis(self.config.replica_socket_timeout_ms);
        let correlation = out.request(NodeId::Broker(leader), Request::Fetch(request), timeout);
        fetcher.in_flight = Some((correlation, sent));
        self.requests.insert(correlation, Purpose::Fetch(leader));
    }

    /// Goes on after a back-off.
    ///
    /// # Errors sent
    /// None.
    /// # Source
    /// `AbstractFetcherThread.doWork`.
    pub(super) fn on_replica_fetch(&mut self, leader: BrokerId, out: &mut Out) {
        self.send_fetch(leader, out);
    }

    /// Takes in a response. False if the request was not sent from here.
    pub fn on_response(
        &mut self,
        correlation: CorrelationId,
        response: &Response,
        out: &mut Out,
    ) -> bool {
        let Some(purpose) = self.requests.remove(&correlation) else {
            return false;
        };
        match (purpose, response) {
            (Purpose::Fetch(leader), Response::Fetch(response)) => {
                self.on_fetch_response(leader, correlation, response, out);
            }
            (Purpose::EndOffset(leader, id, leader_epoch), Response::ListOffsets(response)) => {
                self.on_end_offset(leader, (id, leader_epoch), answered(response), out);
            }
            (Purpose::StartOffset(leader, id, leader_epoch), Response::ListOffsets(response)) => {
                self.on_start_offset(leader, (id, leader_epoch), answered(response), out);
            }
            (Purpose::AlterPartition, Response::AlterPartition(response)) => {
                self.on_alter_partition_response(response, out);
            }
            (Purpose::Verify, response) => {
                self.on_verification(correlation, Some(response), out);
            }
            (
                Purpose::Fetch(_)
                | Purpose::EndOffset(..)
                | Purpose::StartOffset(..)
                | Purpose::AlterPartition,
                _,
            ) => unreachable!("invariant: a response has the API of its request"),
        }
        true
    }

    /// Takes in that a request gets no answer. False if it was not sent from here.
    pub fn on_disconnect(&mut self, correlation: CorrelationId, out: &mut Out) -> bool {
        let Some(purpose) = self.requests.remove(&correlation) else {
            return false;
        };
        match purpose {
            Purpose::Fetch(leader) => self.on_fetch_failure(leader, correlation, out),
            Purpose::EndOffset(leader, topic_partition, leader_epoch) => {
                self.on_end_offset(leader, (topic_partition, leader_epoch), None, out);
            }
            Purpose::StartOffset(leader, topic_partition, leader_epoch) => {
                self.on_start_offset(leader, (topic_partition, leader_epoch), None, out);
            }
            Purpose::AlterPartition => self.on_alter_partition_disconnect(out),
            Purpose::Verify => self.on_verification(correlation, None, out),
        }
        true
    }

    /// A failed request delays every partition of the fetcher.
    fn on_fetch_failure(&mut self, leader: BrokerId, correlation: CorrelationId, out: &mut Out) {
        let until = out.now + Span::from_millis(self.config.replica_fetch_backoff_ms);
        let Some(fetcher) = self.fetchers.get_mut(&leader) else {
            return;
        };
        if fetcher
            .in_flight
            .as_ref()
            .is_none_or(|(sent, _)| *sent != correlation)
        {
            return;
        }
        fetcher.in_flight = None;
        for state in fetcher.partitions.values_mut() {
            if *state == FetchState::Fetching {
                *state = FetchState::Delayed(until);
            }
        }
        self.send_fetch(leader, out);
    }

    fn on_fetch_response(
        &mut self,
        leader: BrokerId,
        correlation: CorrelationId,
        response: &FetchResponse,
        out: &mut Out,
    ) {
        let Some(fetcher) = self.fetchers.get_mut(&leader) else {
            return;
        };
        let Some((sent, asked)) = fetcher.in_flight.take() else {
            return;
        };
        if sent != correlation {
            fetcher.in_flight = Some((sent, asked));
            return;
        }
        for (one, asked) in response.partitions.iter().zip(&asked) {
            self.take_in(leader, one, *asked, out);
            // Consumers that read here wait for the high watermark of this replica.
            self.complete_fetches(one.topic_partition, out);
        }
        self.send_fetch(leader, out);
    }

    /// Takes in what a leader sent of one partition, unless the replica has moved on.
    #[expect(
        clippy::wildcard_enum_match_arm,
        reason = "Kafka treats every code without a rule of its own alike"
    )]
    fn take_in(
        &mut self,
        leader: BrokerId,
        response: &FetchPartitionResponse,
        (fetch_offset, leader_epoch): (Offset, i32),
        out: &mut Out,
    ) {
        let topic_partition = response.topic_partition;
        let config = self.topic_config(topic_partition);
        let Some(state) = self
            .fetchers
            .get_mut(&leader)
            .and_then(|fetcher| fetcher.partitions.get_mut(&topic_partition))
        else {
            return;
        };
        let Some(partition) = self.partitions.get_mut(&topic_partition) else {
            return;
        };
        if *state != FetchState::Fetching || partition.log.log_end_offset() != fetch_offset {
            return;
        }
        let delay = Span::from_millis(self.config.replica_fetch_backoff_ms);
        match response.error_code {
            ErrorCode::None => {
                if let Some((epoch, end)) = response.diverging_epoch {
                    partition.truncate_to_divergence(epoch, end, out);
                } else if !follow(partition, response, &config, out) {
                    *state = FetchState::Failed;
                }
                let sizes = response.batches.iter().map(|one| u64::from(one.size_bytes));
                self.meters.replication_bytes_in += sizes.sum::<u64>();
            }
            ErrorCode::OffsetOutOfRange => {
                let leader_epoch = partition.leader_epoch;
                *state = FetchState::Asking(leader_epoch);
                let purpose = Purpose::EndOffset(leader, topic_partition, leader_epoch);
                self.ask_offset(purpose, OffsetQuery::LogEnd, out);
            }
            // Of an older epoch it says nothing about the present one: try again.
            ErrorCode::FencedLeaderEpoch if leader_epoch == partition.leader_epoch => {
                *state = FetchState::Failed;
            }
            _ => *state = FetchState::Delayed(out.now + delay),
        }
    }

    fn ask_offset(&mut self, purpose: Purpose, query: OffsetQuery, out: &mut Out) {
        let (Purpose::EndOffset(leader, topic_partition, _)
        | Purpose::StartOffset(leader, topic_partition, _)) = purpose
        else {
            return;
        };
        let request = ListOffsetsRequest {
            partitions: vec![(topic_partition, query)],
        };
        let timeout = Span::from_millis(self.config.replica_socket_timeout_ms);
        let correlation = out.request(
            NodeId::Broker(leader),
            Request::ListOffsets(request),
            timeout,
        );
        self.requests.insert(correlation, purpose);
    }

    /// The leader's log ends before this one: the rest goes. Otherwise it may begin later than this
    /// one ends.
    ///
    /// # Source
    /// `AbstractFetcherThread.fetchOffsetAndTruncate`.
    fn on_end_offset(
        &mut self,
        leader: BrokerId,
        (topic_partition, leader_epoch): (TopicPartition, i32),
        end: Option<Offset>,
        out: &mut Out,
    ) {
        if !self.is_asking(leader, topic_partition, leader_epoch) {
            return;
        }
        let delay = Span::from_millis(self.config.replica_fetch_backoff_ms);
        let state = match (end, self.partitions.get_mut(&topic_partition)) {
            (Some(end), Some(partition)) if end < partition.log.log_end_offset() => {
                partition.truncate_to(end, out);
                FetchState::Fetching
            }
            (Some(_), Some(_)) => {
                let purpose = Purpose::StartOffset(leader, topic_partition, leader_epoch);
                self.ask_offset(purpose, OffsetQuery::Earliest, out);
                return;
            }
            (None, _) | (Some(_), None) => FetchState::Delayed(out.now + delay),
        };
        self.set_fetch_state(leader, topic_partition, state, out);
    }

    /// The leader's log begins after the end of this one: nothing of this one is of use.
    ///
    /// # Source
    /// `AbstractFetcherThread.fetchOffsetAndTruncate`.
    fn on_start_offset(
        &mut self,
        leader: BrokerId,
        (topic_partition, leader_epoch): (TopicPartition, i32),
        start: Option<Offset>,
        out: &mut Out,
    ) {
        if !self.is_asking(leader, topic_partition, leader_epoch) {
            return;
        }
        let delay = Span::from_millis(self.config.replica_fetch_backoff_ms);
        let state = match (start, self.partitions.get_mut(&topic_partition)) {
            (Some(start), Some(partition)) => {
                if partition.log.log_end_offset() < start {
                    partition.start_anew(start, out);
                }
                FetchState::Fetching
            }
            (None, _) | (Some(_), None) => FetchState::Delayed(out.now + delay),
        };
        self.set_fetch_state(leader, topic_partition, state, out);
    }

    /// Whether an answer is still wanted: in another epoch it is about a log that is led no more.
    fn is_asking(&self, leader: BrokerId, id: TopicPartition, leader_epoch: i32) -> bool {
        let fetcher = self.fetchers.get(&leader);
        let state = fetcher.and_then(|fetcher| fetcher.partitions.get(&id));
        state == Some(&FetchState::Asking(leader_epoch))
    }

    fn set_fetch_state(
        &mut self,
        leader: BrokerId,
        topic_partition: TopicPartition,
        state: FetchState,
        out: &mut Out,
    ) {
        if let Some(fetcher) = self.fetchers.get_mut(&leader) {
            fetcher.partitions.insert(topic_partition, state);
        }
        self.send_fetch(leader, out);
    }
}

/// The offset in the answer about one partition, unless it is an error.
fn answered(response: &ListOffsetsResponse) -> Option<Offset> {
    let answer = response.partitions.first()?;
    answer.error_code.is_none().then_some(answer.offset)
}

/// Appends a leader's batches and takes over its high watermark and the start of its log. False if
/// they do not fit.
fn follow(
    partition: &mut Partition,
    response: &FetchPartitionResponse,
    config: &TopicConfig,
    out: &mut Out,
) -> bool {
    let topic_partition = partition.topic_partition;
    let around = LogContext {
        config,
        now: out.now,
    };
    let base_offset = partition.log.log_end_offset();
    for batch in &response.batches {
        if partition.log.append_as_follower(batch, around).is_err() {
            return false;
        }
    }
    partition.note_log_changes(out);
    let log_end_offset = partition.log.log_end_offset();
    partition.fetch_lag = Some(response.high_watermark.max(log_end_offset) - log_end_offset);
    if base_offset < log_end_offset {
        out.trace(TraceEvent::Appended {
            topic_partition,
            base_offset,
            log_end_offset,
            as_leader: false,
        });
    }
    if partition.log.update_high_watermark(response.high_watermark) {
        out.trace(TraceEvent::HighWatermarkAdvanced {
            topic_partition,
            high_watermark: partition.log.high_watermark(),
            as_leader: false,
        });
    }
    // The leader's start lies no further on than its high watermark, which this log has taken over.
    let start = response.log_start_offset;
    if partition.log.raise_log_start_offset(start).is_ok() {
        partition.note_log_changes(out);
    }
    true
}
