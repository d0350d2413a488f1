//! Where to read on.

use super::{Consumer, Purpose};
use crate::base::config::{AutoOffsetReset, GroupProtocol, IsolationLevel};
use crate::base::ids::{BrokerId, MemberId, NodeId, Offset, TopicPartition};
use crate::base::timer::Timer;
use crate::kernel::time::SimTime;
use crate::trace::event::TraceEvent;
use crate::trace::out::Out;
use crate::wire::api::{
    ListOffsetsRequest, ListOffsetsResponse, OffsetFetchRequest, OffsetFetchResponse,
    OffsetForLeaderEpochRequest, OffsetForLeaderEpochResponse, OffsetQuery, Request,
};
use crate::wire::error_code::ErrorCode;
use crate::wire::record::Batch;
use serde::Serialize;
use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

/// A partition that the consumer owns, with its three cursors.
#[derive(Clone, Debug, Serialize)]
pub struct OwnedPartition {
    /// Whether and where it can be read.
    pub(super) progress: Progress,
    /// The offset after the last record that the application is done with.
    pub processed: Option<Offset>,
    /// The last offset that was committed, as this process knows it.
    pub committed: Option<Offset>,
    /// The high watermark in the last fetch answer.
    pub high_watermark: Option<Offset>,
    /// The last stable offset in the last fetch answer.
    pub last_stable_offset: Option<Offset>,
    /// The first offset of the log in the last fetch answer.
    pub log_start_offset: Option<Offset>,
    /// Epoch of the last record before the position; -1 when it is not known.
    pub(super) offset_epoch: i32,
    /// The leader and its epoch for which the position holds; unset before it is known.
    pub(super) leader: Option<(BrokerId, i32)>,
    /// Whether the position has to be compared with another leader's log (KIP-320).
    pub(super) validation: Validation,
    /// The replica to read from, and until when (KIP-392); unset reads from the leader.
    pub(super) preferred: Option<(BrokerId, SimTime)>,
    /// Whether `pause()` keeps it from being read.
    pub is_paused: bool,
    /// Where `seekToBeginning()` or `seekToEnd()` wants it; unset leaves it to the reset policy.
    #[serde(skip)]
    pub(super) seeks_to: Option<OffsetQuery>,
    #[serde(skip)]
    pub(super) buffered: VecDeque<Buffered>,
}

/// A batch that was fetched.
#[derive(Clone, Debug)]
pub(super) struct Buffered {
    /// The batch.
    pub(super) batch: Batch,
    /// Whether `poll` passes over it: a marker, or records of an aborted transaction.
    pub(super) is_hidden: bool,
}

/// How far the comparison of a position with a new leader's log has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Validation {
    /// There is nothing to compare.
    Settled,
    /// The leader has to be asked.
    Wanted,
    /// The leader has been asked, in this epoch of its.
    Asked(i32),
}

/// Whether and where a partition can be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Progress {
    /// The committed offset has to be asked for.
    Unknown,
    /// The committed offset or the log's end has been asked for.
    Asked,
    /// There is no committed offset: the reset policy decides.
    NeedsReset,
    /// The next offset that `poll` returns.
    At(Offset),
}

impl OwnedPartition {
    pub(super) const fn new() -> Self {
        Self {
            progress: Progress::Unknown,
            processed: None,
            committed: None,
            high_watermark: None,
            last_stable_offset: None,
            log_start_offset: None,
            offset_epoch: -1,
            leader: None,
            validation: Validation::Settled,
            preferred: None,
            is_paused: false,
            seeks_to: None,
            buffered: VecDeque::new(),
        }
    }

    /// The next offset that `poll` returns, once it is known.
    pub const fn position(&self) -> Option<Offset> {
        match self.progress {
            Progress::At(offset) => Some(offset),
            Progress::Unknown | Progress::Asked | Progress::NeedsReset => None,
        }
    }

    /// The replica that a leader named for reading, its lease left aside.
    pub fn preferred_replica(&self) -> Option<BrokerId> {
        self.preferred.map(|(replica, _)| replica)
    }

    /// The replica to read from instead of the leader, while its lease lasts.
    pub fn preferred_read_replica(&self, now: SimTime) -> Option<BrokerId> {
        let (replica, until) = self.preferred?;
        (now < until).then_some(replica)
    }

    /// Records fetched and not returned by `poll`.
    pub fn buffered_count(&self) -> u32 {
        let Some(position) = self.position() else {
            return 0;
        };
        let visible = self.buffered.iter().filter(|buffered| !buffered.is_hidden);
        let entries = visible.flat_map(|buffered| buffered.batch.entries());
        let count = entries.filter(|(offset, _)| position <= *offset).count();
        u32::try_from(count).unwrap_or(u32::MAX)
    }
}

impl Consumer {
    /// These are not owned any more.
    pub(super) fn drop_partitions(&mut self, going: &[TopicPartition]) {
        self.partitions.retain(|id, _| !going.contains(id));
        self.buffered.retain(|id| !going.contains(id));
    }

    /// Owns exactly `assignment` from now on; what it owned before keeps its cursors.
    pub(super) fn take_partitions(&mut self, assignment: &[TopicPartition]) {
        self.partitions.retain(|id, _| assignment.contains(id));
        self.buffered.retain(|id| assignment.contains(id));
        for topic_partition in assignment {
            self.partitions
                .entry(*topic_partition)
                .or_insert_with(OwnedPartition::new);
        }
    }

    fn with_progress(&self, wanted: Progress) -> Vec<TopicPartition> {
        self.partitions
            .iter()
            .filter(|(_, owned)| owned.progress == wanted)
            .map(|(id, _)| *id)
            .collect()
    }

    /// Asks for the positions that are missing.
    ///
    /// # Source
    /// `ConsumerCoordinator.initWithCommittedOffsetsIfNeeded`, `OffsetFetcher.resetPositionsIfNeeded`.
    pub(super) fn update_positions(&mut self, out: &mut Out) {
        if out.now < self.positions_retry_at {
            return;
        }
        let unknown = self.with_progress(Progress::Unknown);
        if !unknown.is_empty() {
            if self.config().group_id.is_none() {
                self.set_progress(&unknown, Progress::NeedsReset);
            } else if let Some(coordinator) = self.coordinator {
                let (member_id, member_epoch) = self.reader();
                let request = OffsetFetchRequest {
                    group_id: self.group(),
                    member_id,
                    member_epoch,
                    partitions: unknown.clone(),
                };
                let body = Request::OffsetFetch(request);
                let to = NodeId::Broker(coordinator);
                let correlation = out.request(to, body, self.request_timeout());
                self.set_progress(&unknown, Progress::Asked);
                self.requests
                    .insert(correlation, Purpose::OffsetFetch(unknown));
            }
        }
        let resetting = self.with_progress(Progress::NeedsReset);
        if !resetting.is_empty() {
            self.reset_positions(&resetting, out);
        }
    }

    /// Who asks for committed offsets: a member of the consumer protocol says so.
    fn reader(&self) -> (MemberId, i32) {
        match self.config().group_protocol {
            GroupProtocol::Classic => (MemberId::default(), -1),
            GroupProtocol::Consumer => {
                let membership = &self.membership;
                (membership.member_id.clone(), membership.generation_id)
            }
        }
    }

    fn set_progress(&mut self, partitions: &[TopicPartition], progress: Progress) {
        for topic_partition in partitions {
            if let Some(owned) = self.partitions.get_mut(topic_partition) {
                owned.progress = progress;
            }
        }
    }

    /// Where a partition without a committed offset is read from; unset when the application must
    /// decide.
    fn query_for(&self, id: TopicPartition) -> Option<OffsetQuery> {
        let sought = self.partitions.get(&id).and_then(|owned| owned.seeks_to);
        let latest = if self.config().isolation_level == IsolationLevel::ReadCommitted {
            OffsetQuery::LastStable
        } else {
            OffsetQuery::Latest
        };
        match (sought, self.config().auto_offset_reset) {
            (Some(OffsetQuery::Latest), _) | (None, AutoOffsetReset::Latest) => Some(latest),
            (Some(sought), _) => Some(sought),
            (None, AutoOffsetReset::Earliest) => Some(OffsetQuery::Earliest),
            (None, AutoOffsetReset::None) => None,
        }
    }

    fn reset_positions(&mut self, partitions: &[TopicPartition], out: &mut Out) {
        if partitions.iter().any(|id| self.query_for(*id).is_none()) {
            self.fail(&Arc::from("NoOffsetForPartitionException"), out);
            return;
        }
        let mut by_leader: BTreeMap<BrokerId, Vec<TopicPartition>> = BTreeMap::new();
        let mut is_leader_missing = false;
        for topic_partition in partitions {
            match self.metadata.leader(*topic_partition) {
                Some((leader, _)) if self.metadata.is_reachable(leader, out.now) => {
                    by_leader.entry(leader).or_default().push(*topic_partition);
                }
                Some(_) | None => is_leader_missing = true,
            }
        }
        for (leader, partitions) in by_leader {
            let request = ListOffsetsRequest {
                partitions: partitions
                    .iter()
                    .filter_map(|id| Some((*id, self.query_for(*id)?)))
                    .collect(),
            };
            let body = Request::ListOffsets(request);
            let correlation = out.request(NodeId::Broker(leader), body, self.request_timeout());
            self.set_progress(&partitions, Progress::Asked);
            self.requests
                .insert(correlation, Purpose::ListOffsets(partitions));
        }
        if is_leader_missing {
            self.metadata.request_update(out);
            self.back_off_positions(out);
        }
    }

    /// Takes in committed offsets.
    pub(super) fn on_offset_fetch(
        &mut self,
        asked: &[TopicPartition],
        response: &OffsetFetchResponse,
        out: &mut Out,
    ) {
        if !response.error_code.is_none() {
            let passes = [
                ErrorCode::CoordinatorLoadInProgress,
                ErrorCode::UnstableOffsetCommit,
                // The member's epoch has moved on, or its next heartbeat will tell that it is out.
                ErrorCode::StaleMemberEpoch,
                ErrorCode::UnknownMemberId,
            ];
            if !passes.contains(&response.error_code) {
                self.coordinator_unknown(out);
            }
            self.positions_failed(asked, out);
            return;
        }
        self.position_failures = 0;
        for (topic_partition, offset, epoch) in &response.offsets {
            let Some(owned) = self.asked_mut(*topic_partition) else {
                continue;
            };
            if offset.is_known() {
                owned.progress = Progress::At(*offset);
                owned.committed = Some(*offset);
                owned.offset_epoch = *epoch;
                out.trace(TraceEvent::PositionSet {
                    topic_partition: *topic_partition,
                    position: *offset,
                    from_commit: true,
                });
            } else {
                owned.progress = Progress::NeedsReset;
                let name = self.names(&[*topic_partition]);
                self.client_log(
                    &format!("Found no committed offset for partition {name}"),
                    out,
                );
            }
        }
    }

    fn asked_mut(&mut self, topic_partition: TopicPartition) -> Option<&mut OwnedPartition> {
        self.partitions
            .get_mut(&topic_partition)
            .filter(|owned| owned.progress == Progress::Asked)
    }

    /// Takes in first or last offsets.
    pub(super) fn on_list_offsets(
        &mut self,
        asked: &[TopicPartition],
        response: &ListOffsetsResponse,
        out: &mut Out,
    ) {
        let mut failed = Vec::new();
        for one in &response.partitions {
            let (topic_partition, offset) = (&one.topic_partition, &one.offset);
            if !one.error_code.is_none() {
                failed.push(*topic_partition);
                continue;
            }
            let Some(owned) = self.asked_mut(*topic_partition) else {
                continue;
            };
            owned.progress = Progress::At(*offset);
            owned.seeks_to = None;
            let name = self.names(&[*topic_partition]);
            self.client_log(
                &format!("Resetting offset for partition {name} to position {offset}."),
                out,
            );
            out.trace(TraceEvent::PositionSet {
                topic_partition: *topic_partition,
                position: *offset,
                from_commit: false,
            });
        }
        if !failed.is_empty() {
            failed.retain(|id| asked.contains(id));
            for topic_partition in &failed {
                if let Some(owned) = self.asked_mut(*topic_partition) {
                    owned.progress = Progress::NeedsReset;
                }
            }
            self.metadata.request_update(out);
            self.back_off_positions(out);
        }
    }

    /// The question got no good answer: it is asked again after a back-off.
    pub(super) fn positions_failed(&mut self, partitions: &[TopicPartition], out: &mut Out) {
        for topic_partition in partitions {
            if let Some(owned) = self.asked_mut(*topic_partition) {
                owned.progress = if owned.seeks_to.is_some() {
                    Progress::NeedsReset
                } else {
                    Progress::Unknown
                };
            }
        }
        self.back_off_positions(out);
    }

    fn back_off_positions(&mut self, out: &mut Out) {
        self.position_failures += 1;
        let backoff = self.backoff();
        let wait = backoff.after(self.position_failures, &mut self.stream);
        self.positions_retry_at = out.now + wait;
        out.arm(Timer::PositionRetry, wait);
    }

    /// Compares the leaders in the metadata with those for which the positions hold: another leader,
    /// or another epoch of it, may have another log.
    ///
    /// # Source
    /// `SubscriptionState.maybeValidatePositionForCurrentLeader` (KIP-320).
    /// # Simplified
    /// Committed offsets carry no leader epoch, so a position is validated only after records have
    /// been read.
    pub(super) fn check_leaders(&mut self, out: &mut Out) {
        for (topic_partition, owned) in &mut self.partitions {
            let Some(now) = self.metadata.leader(*topic_partition) else {
                continue;
            };
            let Progress::At(_) = owned.progress else {
                owned.leader = None;
                owned.validation = Validation::Settled;
                continue;
            };
            let before = owned.leader.replace(now);
            if before.is_none() || before == Some(now) {
                continue;
            }
            owned.preferred = None;
            if owned.offset_epoch != -1 {
                owned.validation = Validation::Wanted;
                owned.buffered.clear();
            }
        }
        self.validate_positions(out);
    }

    /// Asks the leaders where their logs end in the epochs of the positions.
    pub(super) fn validate_positions(&mut self, out: &mut Out) {
        if out.now < self.positions_retry_at {
            return;
        }
        let mut by_leader: BTreeMap<BrokerId, Vec<(TopicPartition, i32, i32)>> = BTreeMap::new();
        for (topic_partition, owned) in &mut self.partitions {
            if owned.validation == Validation::Wanted
                && let Some((leader, leader_epoch)) = self.metadata.leader(*topic_partition)
                && self.metadata.is_reachable(leader, out.now)
            {
                owned.validation = Validation::Asked(leader_epoch);
                let asked = (*topic_partition, leader_epoch, owned.offset_epoch);
                by_leader.entry(leader).or_default().push(asked);
            }
        }
        for (leader, partitions) in by_leader {
            let asked = partitions.clone();
            let body = Request::OffsetForLeaderEpoch(OffsetForLeaderEpochRequest { partitions });
            let correlation = out.request(NodeId::Broker(leader), body, self.request_timeout());
            self.requests.insert(correlation, Purpose::Validate(asked));
        }
        let is_stuck = |owned: &OwnedPartition| owned.validation == Validation::Wanted;
        if self.partitions.values().any(is_stuck) {
            self.metadata.request_update(out);
            self.back_off_positions(out);
        }
    }

    /// Takes in where the leaders' logs end; nothing when no answer came.
    ///
    /// # Source
    /// `OffsetsForLeaderEpochUtils`, `SubscriptionState.maybeCompleteValidation`.
    pub(super) fn on_validation(
        &mut self,
        asked: &[(TopicPartition, i32, i32)],
        response: Option<&OffsetForLeaderEpochResponse>,
        out: &mut Out,
    ) {
        let mut failed = false;
        for (topic_partition, leader_epoch, epoch) in asked {
            let Some(owned) = self.partitions.get_mut(topic_partition) else {
                continue;
            };
            let is_current = owned.validation == Validation::Asked(*leader_epoch)
                && owned.offset_epoch == *epoch;
            let Progress::At(position) = owned.progress else {
                owned.validation = Validation::Settled;
                continue;
            };
            if !is_current {
                continue;
            }
            let answers = response.map(|response| response.partitions.as_slice());
            let mut answers = answers.unwrap_or_default().iter();
            let answer = answers.find(|one| one.0 == *topic_partition);
            if let Some((_, ErrorCode::None, found, end)) = answer {
                owned.validation = Validation::Settled;
                self.position_failures = 0;
                if *found == -1 || !end.is_known() || *end < position {
                    let end = (*found != -1 && end.is_known()).then_some((*found, *end));
                    self.on_log_truncation(*topic_partition, position, end, out);
                }
            } else {
                owned.validation = Validation::Wanted;
                failed = true;
            }
        }
        if failed {
            self.metadata.request_update(out);
            self.back_off_positions(out);
        }
    }

    /// The log that was read is not the leader's any more.
    fn on_log_truncation(
        &mut self,
        topic_partition: TopicPartition,
        position: Offset,
        end: Option<(i32, Offset)>,
        out: &mut Out,
    ) {
        let has_policy = self.config().auto_offset_reset != AutoOffsetReset::None;
        let name = self.names(&[topic_partition]);
        let Some(owned) = self.partitions.get_mut(&topic_partition) else {
            return;
        };
        owned.buffered.clear();
        let found = format!("Truncation detected for partition {name} at offset {position}");
        if !has_policy {
            self.client_log(&found, out);
            self.failure = Some(Arc::from("LogTruncationException"));
        } else if let Some((epoch, end)) = end {
            owned.progress = Progress::At(end);
            owned.offset_epoch = epoch;
            let text =
                format!("{found}, resetting offset to the first offset known to diverge {end}");
            self.client_log(&text, out);
            out.trace(TraceEvent::PositionSet {
                topic_partition,
                position: end,
                from_commit: false,
            });
        } else {
            owned.progress = Progress::NeedsReset;
            owned.offset_epoch = -1;
            self.client_log(&format!("{found}, resetting offset"), out);
        }
    }
}
