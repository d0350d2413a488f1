//! A replica of a partition on one broker.

use super::isr::{IsrState, PendingIsr};
use super::remote::{FollowerFetch, RemoteReplica};
use crate::base::config::HistoryConfig;
use crate::base::ids::{BrokerId, Offset, TopicPartition};
use crate::kernel::time::{SimTime, Span};
use crate::log::partition_log::{LogChange, PartitionLog};
use crate::trace::event::TraceEvent;
use crate::trace::out::Out;
use crate::wire::api::{AlterPartitionItem, AlterPartitionResult};
use crate::wire::error_code::ErrorCode;
use crate::wire::metadata::{MetadataImage, PartitionRegistration};
use serde::Serialize;
use std::collections::BTreeMap;
use std::sync::Arc;

/// A replica: its log, and what its broker does with it (`Partition`).
#[derive(Clone, Debug, Serialize)]
pub struct Partition {
    /// Which partition.
    pub topic_partition: TopicPartition,
    /// What is written.
    pub log: PartitionLog,
    /// Leader, follower, or neither yet.
    pub role: Role,
    /// The leader epoch that this broker has replayed; -1 before any.
    pub leader_epoch: i32,
    /// The partition epoch that this broker has replayed or been told; -1 before any.
    pub partition_epoch: i32,
    /// As a follower: the leader's high watermark minus the end of this log, at the last fetch
    /// answer; unset before one came.
    pub fetch_lag: Option<i64>,
}

/// What a broker does with a replica.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Role {
    /// It follows this leader; unset when the partition has none.
    Follower(Option<BrokerId>),
    /// It leads.
    Leader(LeaderState),
}

/// What only a leader has.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct LeaderState {
    /// Where its epoch began.
    pub epoch_start_offset: Offset,
    /// The ISR.
    pub isr: IsrState,
    /// The other replicas.
    pub remotes: BTreeMap<BrokerId, RemoteReplica>,
    /// `min.insync.replicas`, no more than there are replicas.
    pub effective_min_isr: u32,
}

/// Who asks, when, and what it knows: the surroundings of a decision.
#[derive(Clone, Copy, Debug)]
pub struct Surroundings<'a> {
    /// The broker that holds the replica.
    pub broker: BrokerId,
    /// The cluster as that broker has replayed it.
    pub image: &'a MetadataImage,
    /// `replica.lag.time.max.ms`.
    pub lag_max: Span,
    /// What an old release did otherwise.
    pub history: HistoryConfig,
    /// The time.
    pub now: SimTime,
}

impl Surroundings<'_> {
    /// Whether a follower may count towards the high watermark or enter the ISR: unfenced, not
    /// leaving, and its last fetch came from the process that is registered now.
    fn is_eligible(&self, broker: BrokerId, remote: &RemoteReplica) -> bool {
        let Some(registration) = self.image.brokers.get(&broker) else {
            return false;
        };
        self.image.is_active(broker)
            && remote
                .broker_epoch
                .is_some_and(|epoch| epoch == -1 || epoch == registration.broker_epoch)
    }
}

/// What becomes of an answer to `AlterPartition`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AlterOutcome {
    /// The ISR is the committed one; the high watermark may move. Whether it has grown.
    Committed(bool),
    /// The change failed: it is dropped, or waits for metadata, or the answer is too old.
    Failed,
    /// Metadata that overtook the answer have replaced what was pending.
    Replaced,
    /// The same change is asked for again.
    Retry,
}

impl Partition {
    /// A replica of which nothing is known yet, with the log that the disk holds.
    pub const fn new(topic_partition: TopicPartition, log: PartitionLog) -> Self {
        Self {
            topic_partition,
            log,
            role: Role::Follower(None),
            leader_epoch: -1,
            partition_epoch: -1,
            fetch_lag: None,
        }
    }

    /// The leader's part of the state, if this broker leads.
    pub const fn leader(&self) -> Option<&LeaderState> {
        match &self.role {
            Role::Leader(state) => Some(state),
            Role::Follower(_) => None,
        }
    }

    const fn leader_mut(&mut self) -> Option<&mut LeaderState> {
        match &mut self.role {
            Role::Leader(state) => Some(state),
            Role::Follower(_) => None,
        }
    }

    /// Takes in another `min.insync.replicas`.
    pub const fn set_effective_min_isr(&mut self, effective_min_isr: u32) {
        if let Role::Leader(state) = &mut self.role {
            state.effective_min_isr = effective_min_isr;
        }
    }

    /// Whether this broker leads.
    pub const fn is_leader(&self) -> bool {
        matches!(self.role, Role::Leader(_))
    }

    /// Takes in the partition's state from the metadata log. True if the leader epoch rose.
    ///
    /// # Source
    /// `Partition.makeLeader`, `Partition.makeFollower`.
    pub fn apply(
        &mut self,
        registration: &PartitionRegistration,
        around: Surroundings<'_>,
        out: &mut Out,
    ) -> bool {
        if registration.partition_epoch < self.partition_epoch {
            return false;
        }
        let is_new_epoch = self.leader_epoch < registration.leader_epoch;
        self.partition_epoch = registration.partition_epoch;
        if registration.leader == Some(around.broker) {
            self.lead(registration, is_new_epoch, around, out);
        } else {
            self.leader_epoch = registration.leader_epoch;
            if is_new_epoch {
                self.fetch_lag = None;
                self.role = Role::Follower(registration.leader);
                out.trace(TraceEvent::BecameFollower {
                    topic_partition: self.topic_partition,
                    leader_epoch: self.leader_epoch,
                    leader: registration.leader,
                });
            }
        }
        is_new_epoch
    }

    fn lead(
        &mut self,
        registration: &PartitionRegistration,
        is_new_epoch: bool,
        around: Surroundings<'_>,
        out: &mut Out,
    ) {
        let isr = IsrState::committed(registration.isr.clone());
        let effective_min_isr = around.image.effective_min_isr(self.topic_partition);
        if !is_new_epoch {
            if let Role::Leader(state) = &mut self.role {
                state.isr = isr;
                state.effective_min_isr = effective_min_isr;
            }
            return;
        }
        let epoch_start_offset = self.log.log_end_offset();
        self.fetch_lag = None;
        self.leader_epoch = registration.leader_epoch;
        self.log.begin_epoch(self.leader_epoch);
        let known = match &mut self.role {
            Role::Leader(state) => std::mem::take(&mut state.remotes),
            Role::Follower(_) => BTreeMap::new(),
        };
        let remotes = registration
            .replicas
            .iter()
            .filter(|id| **id != around.broker)
            .map(|id| {
                let in_isr = registration.isr.contains(id);
                let fresh = RemoteReplica::of_new_leader(in_isr, around.now);
                let remote = known.get(id).map_or(fresh, |before| {
                    let mut kept = *before;
                    kept.reelect(in_isr, epoch_start_offset, around.now);
                    kept
                });
                (*id, remote)
            })
            .collect();
        self.role = Role::Leader(LeaderState {
            epoch_start_offset,
            isr,
            remotes,
            effective_min_isr,
        });
        out.trace(TraceEvent::BecameLeader {
            topic_partition: self.topic_partition,
            leader_epoch: self.leader_epoch,
            log_end_offset: epoch_start_offset,
        });
    }

    /// Whether a request with this leader epoch may be served here.
    ///
    /// # Errors
    /// `FENCED_LEADER_EPOCH` for an older epoch, `UNKNOWN_LEADER_EPOCH` for a newer one.
    pub const fn check_leader_epoch(&self, current_leader_epoch: i32) -> Result<(), ErrorCode> {
        if current_leader_epoch == -1 || current_leader_epoch == self.leader_epoch {
            Ok(())
        } else if current_leader_epoch < self.leader_epoch {
            Err(ErrorCode::FencedLeaderEpoch)
        } else {
            Err(ErrorCode::UnknownLeaderEpoch)
        }
    }

    /// Where a follower's log parts from this one, if it does; an error if that cannot be said.
    ///
    /// # Errors
    /// `OFFSET_OUT_OF_RANGE` when the fetch lies outside the log or its epoch is unknown here.
    pub fn divergence(
        &self,
        fetch_offset: Offset,
        last_fetched_epoch: i32,
    ) -> Result<Option<(i32, Offset)>, ErrorCode> {
        if last_fetched_epoch != -1 {
            let log_end_offset = self.log.log_end_offset();
            let (epoch, end) = self
                .log
                .epochs()
                .end_offset_for(last_fetched_epoch, log_end_offset);
            if epoch == -1 || !end.is_known() {
                return Err(ErrorCode::OffsetOutOfRange);
            }
            if fetch_offset < self.log.log_start_offset() {
                return Err(ErrorCode::OffsetOutOfRange);
            }
            if epoch < last_fetched_epoch || end < fetch_offset {
                return Ok(Some((epoch, end)));
            }
        }
        if fetch_offset < self.log.log_start_offset() || self.log.log_end_offset() < fetch_offset {
            return Err(ErrorCode::OffsetOutOfRange);
        }
        Ok(None)
    }

    /// Takes in a follower's fetch that was served. True if its log end offset is another one now.
    ///
    /// # Errors
    /// `NOT_LEADER_OR_FOLLOWER` when the fetch comes from a process that is no longer registered.
    pub fn on_follower_fetch(
        &mut self,
        follower: BrokerId,
        fetch: FollowerFetch,
        around: Surroundings<'_>,
    ) -> Result<bool, ErrorCode> {
        let registered = around
            .image
            .brokers
            .get(&follower)
            .map_or(-1, |b| b.broker_epoch);
        let leader_end = self.log.log_end_offset();
        let Some(state) = self.leader_mut() else {
            return Err(ErrorCode::NotLeaderOrFollower);
        };
        let Some(remote) = state.remotes.get_mut(&follower) else {
            return Err(ErrorCode::UnknownLeaderEpoch);
        };
        if fetch.broker_epoch != -1 && fetch.broker_epoch < registered {
            return Err(ErrorCode::NotLeaderOrFollower);
        }
        let moved = remote.log_end_offset != fetch.fetch_offset;
        remote.update(fetch, leader_end, around.now);
        Ok(moved)
    }

    /// Moves the leader's high watermark as far as its followers allow. True if it moved.
    ///
    /// # Source
    /// `Partition.maybeIncrementLeaderHW`; frozen below min ISR since 3.7 (KAFKA-15583).
    pub fn maybe_increment_high_watermark(
        &mut self,
        around: Surroundings<'_>,
        out: &mut Out,
    ) -> bool {
        let log_end = self.log.log_end_offset();
        let Some(state) = self.leader() else {
            return false;
        };
        let in_sync = u32::try_from(state.isr.committed.len()).unwrap_or(u32::MAX);
        if in_sync < state.effective_min_isr && !around.history.high_watermark_below_min_isr {
            return false;
        }
        let mut reached = log_end;
        for (broker, remote) in &state.remotes {
            let counts = state.isr.is_maximal_member(*broker)
                || (remote.is_caught_up(log_end, around.now, around.lag_max)
                    && around.is_eligible(*broker, remote));
            if counts && remote.log_end_offset < reached {
                reached = remote.log_end_offset;
            }
        }
        if reached <= self.log.high_watermark() {
            return false;
        }
        self.log.update_high_watermark(reached);
        out.trace(TraceEvent::HighWatermarkAdvanced {
            topic_partition: self.topic_partition,
            high_watermark: reached,
            as_leader: true,
        });
        true
    }

    /// The ISR without the followers that lag, if any does and no change is in flight.
    ///
    /// # Source
    /// `Partition.maybeShrinkIsr`.
    pub fn shrunken_isr(&self, around: Surroundings<'_>) -> Option<(Vec<BrokerId>, Vec<BrokerId>)> {
        let state = self.leader()?;
        if state.isr.pending.is_some() {
            return None;
        }
        let log_end = self.log.log_end_offset();
        let messages_max = around.history.replica_lag_max_messages;
        let (kept, out_of_sync): (Vec<_>, Vec<_>) =
            state.isr.committed.iter().copied().partition(|id| {
                let Some(remote) = state.remotes.get(id) else {
                    return true;
                };
                let lacks = log_end - remote.log_end_offset;
                let lacks_too_many =
                    0 < messages_max && remote.log_end_offset.is_known() && messages_max <= lacks;
                !lacks_too_many && remote.is_caught_up(log_end, around.now, around.lag_max)
            });
        if out_of_sync.is_empty() {
            None
        } else {
            Some((kept, out_of_sync))
        }
    }

    /// The ISR with `follower`, if it has earned its place.
    ///
    /// # Source
    /// `Partition.maybeExpandIsr`.
    pub fn expanded_isr(
        &self,
        follower: BrokerId,
        around: Surroundings<'_>,
    ) -> Option<Vec<BrokerId>> {
        let state = self.leader()?;
        let remote = state.remotes.get(&follower)?;
        let earned = state.isr.pending.is_none()
            && !state.isr.committed.contains(&follower)
            && around.is_eligible(follower, remote)
            && self.log.high_watermark() <= remote.log_end_offset
            && state.epoch_start_offset <= remote.log_end_offset;
        if !earned {
            return None;
        }
        let mut isr = state.isr.committed.clone();
        isr.push(follower);
        isr.sort_unstable();
        Some(isr)
    }

    /// The replica that a consumer in `rack` is to read from, when it is not this one.
    ///
    /// # Source
    /// `ReplicaManager.findPreferredReadReplica`, `RackAwareReplicaSelector` (KIP-392).
    pub fn preferred_read_replica(
        &self,
        rack: &str,
        fetch_offset: Offset,
        around: Surroundings<'_>,
    ) -> Option<BrokerId> {
        let state = self.leader()?;
        let is_near = |id: &BrokerId| {
            let registered = around.image.brokers.get(id);
            registered.is_some_and(|broker| broker.rack.as_deref() == Some(rack))
        };
        if is_near(&around.broker) {
            return None;
        }
        let mut best: Option<(Offset, Option<SimTime>, BrokerId)> = None;
        for (id, remote) in &state.remotes {
            let may_serve = state.isr.committed.contains(id)
                && remote.log_start_offset <= fetch_offset
                && fetch_offset <= remote.log_end_offset;
            let candidate = (remote.log_end_offset, remote.last_caught_up_at, *id);
            if may_serve && is_near(id) && best.is_none_or(|best| best < candidate) {
                best = Some(candidate);
            }
        }
        best.map(|(_, _, id)| id)
    }

    /// The ISR change that was just put in flight is not even sent: another one still is.
    pub fn refuse_isr(&mut self, out: &mut Out) {
        let topic_partition = self.topic_partition;
        if let Some(state) = self.leader_mut() {
            state.isr.pending = None;
            out.trace(TraceEvent::IsrChangeRefused {
                topic_partition,
                error_code: ErrorCode::OperationNotAttempted,
            });
        }
    }

    /// Puts a change of the ISR in flight.
    pub fn request_isr(&mut self, wanted: Vec<BrokerId>, change_id: u64, out: &mut Out) {
        let topic_partition = self.topic_partition;
        let Some(state) = self.leader_mut() else {
            return;
        };
        out.trace(TraceEvent::IsrChangeRequested {
            topic_partition,
            isr: Arc::from(state.isr.committed.as_slice()),
            wanted_isr: Arc::from(wanted.as_slice()),
        });
        state.isr.pending = Some(PendingIsr { wanted, change_id });
    }

    /// The change in flight as the controller is asked for it.
    pub fn alter_partition_item(&self, around: Surroundings<'_>) -> Option<AlterPartitionItem> {
        let state = self.leader()?;
        let pending = state.isr.pending.as_ref()?;
        let epoch_of = |id: &BrokerId| {
            if *id == around.broker {
                return around
                    .image
                    .brokers
                    .get(id)
                    .map_or(-1, |broker| broker.broker_epoch);
            }
            state
                .remotes
                .get(id)
                .and_then(|remote| remote.broker_epoch)
                .unwrap_or(-1)
        };
        Some(AlterPartitionItem {
            topic_partition: self.topic_partition,
            leader_epoch: self.leader_epoch,
            partition_epoch: self.partition_epoch,
            new_isr: pending
                .wanted
                .iter()
                .map(|id| (*id, epoch_of(id)))
                .collect(),
            // A leader is ready as soon as it leads: there is nothing to recover from.
            is_recovering: false,
        })
    }

    /// Takes in the controller's answer to the change `change_id`.
    ///
    /// # Source
    /// `Partition.handleAlterPartitionUpdate`, `handleAlterPartitionError`.
    pub fn on_alter_partition(
        &mut self,
        change_id: u64,
        result: &AlterPartitionResult,
        out: &mut Out,
    ) -> AlterOutcome {
        let (topic_partition, leader_epoch) = (self.topic_partition, self.leader_epoch);
        let partition_epoch = self.partition_epoch;
        let Some(state) = self.leader_mut() else {
            return AlterOutcome::Replaced;
        };
        // Metadata that overtook the answer have replaced the pending state: nothing to do.
        if state
            .isr
            .pending
            .as_ref()
            .is_none_or(|pending| pending.change_id != change_id)
        {
            return AlterOutcome::Replaced;
        }
        if result.error_code.is_none() {
            if result.leader_epoch != leader_epoch || result.partition_epoch < partition_epoch {
                return AlterOutcome::Failed;
            }
            let has_grown = state.isr.committed.len() < result.isr.len();
            state.isr = IsrState::committed(result.isr.clone());
            self.partition_epoch = result.partition_epoch;
            return AlterOutcome::Committed(has_grown);
        }
        out.trace(TraceEvent::IsrChangeRefused {
            topic_partition,
            error_code: result.error_code,
        });
        if REVERTING.contains(&result.error_code) {
            state.isr.pending = None;
            return AlterOutcome::Failed;
        }
        if STAYING.contains(&result.error_code) {
            return AlterOutcome::Failed;
        }
        AlterOutcome::Retry
    }

    /// Cuts the log where it parts from the leader's, after the leader's answer `{epoch, end}`.
    ///
    /// # Source
    /// `AbstractFetcherThread.getOffsetTruncationState` (KIP-279).
    pub fn truncate_to_divergence(&mut self, epoch: i32, end: Offset, out: &mut Out) {
        let own_end = self.log.log_end_offset();
        let (own_epoch, own_epoch_end) = self.log.epochs().end_offset_for(epoch, own_end);
        let target = truncation_target(own_epoch, own_epoch_end, own_end, epoch, end);
        self.truncate_to(target, out);
    }

    /// Notes what the log has done by itself since the last call.
    pub fn note_log_changes(&mut self, out: &mut Out) {
        for change in self.log.take_changes() {
            out.trace(log_event(self.topic_partition, change));
        }
    }

    /// Drops the whole log and begins anew at `start`.
    pub fn start_anew(&mut self, start: Offset, out: &mut Out) {
        self.log.truncate_fully_and_start_at(start, out.now);
        self.note_log_changes(out);
    }

    /// Cuts the log at `target`.
    pub fn truncate_to(&mut self, target: Offset, out: &mut Out) {
        let previous_log_end_offset = self.log.log_end_offset();
        if self.log.truncate_to(target, out.now) {
            self.note_log_changes(out);
            out.trace(TraceEvent::Truncated {
                topic_partition: self.topic_partition,
                previous_log_end_offset,
                log_end_offset: self.log.log_end_offset(),
            });
        }
    }
}

/// What a log did by itself, as the trace says it.
pub const fn log_event(topic_partition: TopicPartition, change: LogChange) -> TraceEvent {
    match change {
        LogChange::Rolled(base_offset) => TraceEvent::SegmentRolled {
            topic_partition,
            base_offset,
        },
        LogChange::Flushed(recovery_point) => TraceEvent::LogFlushed {
            topic_partition,
            recovery_point,
        },
        LogChange::Deleted(segments, reason, log_start_offset) => TraceEvent::SegmentsDeleted {
            topic_partition,
            segments,
            reason,
            log_start_offset,
        },
        LogChange::StartMoved(log_start_offset) => TraceEvent::LogStartOffsetAdvanced {
            topic_partition,
            log_start_offset,
        },
        LogChange::Cleaned(first_dirty_offset, end_offset, bytes_before, bytes_after) => {
            TraceEvent::LogCleaned {
                topic_partition,
                first_dirty_offset,
                end_offset,
                bytes_before,
                bytes_after,
            }
        }
        LogChange::Recovered(recovery_point, log_end_offset) => TraceEvent::LogRecovered {
            topic_partition,
            recovery_point,
            log_end_offset,
        },
        LogChange::TailLost(previous_log_end_offset, log_end_offset) => {
            TraceEvent::UnflushedTailLost {
                topic_partition,
                previous_log_end_offset,
                log_end_offset,
            }
        }
        LogChange::StartedAnew(previous_log_end_offset, log_start_offset) => {
            TraceEvent::LogStartedAnew {
                topic_partition,
                previous_log_end_offset,
                log_start_offset,
            }
        }
    }
}

/// Where a follower cuts its log: its own end of the leader's epoch, but not beyond the leader's
/// end of it. When it has no such epoch, only what lies above its own lower epoch goes, and the
/// next fetch asks again.
fn truncation_target(
    own_epoch: i32,
    own_epoch_end: Offset,
    own_end: Offset,
    epoch: i32,
    end: Offset,
) -> Offset {
    if !own_epoch_end.is_known() {
        end.min(own_end)
    } else if own_epoch == epoch {
        own_epoch_end.min(end).min(own_end)
    } else {
        own_epoch_end.min(own_end)
    }
}

/// Refusals after which the leader goes back to the committed ISR.
const REVERTING: [ErrorCode; 2] = [
    ErrorCode::IneligibleReplica,
    ErrorCode::OperationNotAttempted,
];

/// Refusals after which the change stays pending until metadata arrive.
const STAYING: [ErrorCode; 6] = [
    ErrorCode::UnknownTopicId,
    ErrorCode::UnknownTopicOrPartition,
    ErrorCode::FencedLeaderEpoch,
    ErrorCode::InvalidUpdateVersion,
    ErrorCode::InvalidRequest,
    ErrorCode::NewLeaderElected,
];
