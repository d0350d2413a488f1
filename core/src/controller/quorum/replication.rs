//! How the metadata log reaches voters and brokers, and when an entry is committed.

use super::{FETCH_WAIT_MS, Quorum, RETRY, Role};
use crate::base::ids::{ControllerId, NodeId};
use crate::base::timer::Timer;
use crate::kernel::time::Span;
use crate::trace::out::{Out, ReplyTo};
use crate::wire::api::{FetchMetadataLogRequest, FetchMetadataLogResponse, Request, Response};
use crate::wire::error_code::ErrorCode;

impl Quorum {
    /// As follower: asks the leader for what comes after the own log.
    pub(super) fn fetch(&mut self, out: &mut Out) {
        let Role::Follower(leader) = self.role else {
            return;
        };
        let request = FetchMetadataLogRequest {
            current_leader_epoch: self.epoch,
            fetch_offset: self.log_end_offset(),
            last_fetched_epoch: self.last_epoch(),
            max_wait_ms: FETCH_WAIT_MS,
        };
        self.send(leader, Request::FetchMetadataLog(request), out);
    }

    pub(super) fn arm_fetch_timeout(&mut self, out: &mut Out) {
        let timeout = self.config.controller_quorum_fetch_timeout_ms;
        self.deadline = out.now + Span::from_millis(timeout);
        out.arm_at(Timer::QuorumFetchTimeout, self.deadline);
    }

    /// As follower: writes what the leader sends, or cuts off what the leader does not have.
    pub(super) fn on_fetch_response(
        &mut self,
        (from, sent_in): (ControllerId, i32),
        response: &FetchMetadataLogResponse,
        out: &mut Out,
    ) {
        let is_news = self.meet_epoch(response.leader_epoch, response.leader, out);
        if is_news || sent_in != self.epoch || self.role != Role::Follower(from) {
            return;
        }
        if !response.error_code.is_none() {
            out.arm(Timer::QuorumFetchRetry, RETRY);
            return;
        }
        if let Some((epoch, end)) = response.diverging_epoch {
            let own_end = self.end_offset_for(epoch).map_or(0, |(_, own)| own);
            let kept = end.min(own_end).max(self.high_watermark);
            self.log
                .truncate(usize::try_from(kept).unwrap_or(usize::MAX));
        } else if response.base_offset == self.log_end_offset() {
            self.log.extend_from_slice(&response.entries);
        }
        let known = response.high_watermark.min(self.log_end_offset());
        self.high_watermark = self.high_watermark.max(known);
        self.arm_fetch_timeout(out);
        self.fetch(out);
    }

    /// The largest epoch up to `epoch` that the log holds, and where it ends.
    fn end_offset_for(&self, epoch: i32) -> Option<(i32, i64)> {
        let end = self.log.partition_point(|entry| entry.epoch <= epoch);
        let last = self.log.get(end.checked_sub(1)?)?;
        Some((last.epoch, i64::try_from(end).unwrap_or(i64::MAX)))
    }

    /// Hands out entries of the metadata log, or waits until there is one.
    ///
    /// # Errors sent
    /// `NOT_LEADER_OR_FOLLOWER` (6), `FENCED_LEADER_EPOCH` (74), `UNKNOWN_LEADER_EPOCH` (75); the
    /// answer tells who leads.
    /// # Source
    /// `KafkaRaftClient.handleFetchRequest` (KIP-595).
    /// # Simplified
    /// No snapshots (KIP-630): the log is kept whole.
    pub fn handle_fetch_metadata_log(
        &mut self,
        reply: ReplyTo,
        request: FetchMetadataLogRequest,
        out: &mut Out,
    ) {
        let error_code = self.check_fetch(request.current_leader_epoch);
        if !error_code.is_none() {
            out.respond(reply, self.fetch_response(request, error_code, None));
            return;
        }
        let diverging = self.divergence(request);
        if diverging.is_some() {
            out.respond(reply, self.fetch_response(request, error_code, diverging));
            return;
        }
        if let NodeId::Controller(voter) = reply.node {
            self.note_voter(voter, request.fetch_offset, out);
        }
        if request.fetch_offset < self.drained_end {
            out.respond(reply, self.fetch_response(request, error_code, None));
            return;
        }
        self.parked.insert(reply.node, (reply, request));
        let timer = Timer::MetadataFetchExpiry(reply.node);
        out.arm(timer, Span::from_millis(request.max_wait_ms));
    }

    fn check_fetch(&self, epoch: i32) -> ErrorCode {
        if !matches!(self.role, Role::Leader(_)) {
            ErrorCode::NotLeaderOrFollower
        } else if self.is_alone() || epoch == self.epoch {
            ErrorCode::None
        } else if epoch < self.epoch {
            ErrorCode::FencedLeaderEpoch
        } else {
            ErrorCode::UnknownLeaderEpoch
        }
    }

    /// Where the sender's log parts from this one.
    fn divergence(&self, request: FetchMetadataLogRequest) -> Option<(i32, i64)> {
        if self.is_alone() || request.fetch_offset == 0 {
            return None;
        }
        let (epoch, end) = self
            .end_offset_for(request.last_fetched_epoch)
            .unwrap_or((0, 0));
        (epoch < request.last_fetched_epoch || end < request.fetch_offset).then_some((epoch, end))
    }

    fn fetch_response(
        &self,
        request: FetchMetadataLogRequest,
        error_code: ErrorCode,
        diverging_epoch: Option<(i32, i64)>,
    ) -> Response {
        let from = usize::try_from(request.fetch_offset).unwrap_or(usize::MAX);
        let to = usize::try_from(self.drained_end).unwrap_or_default();
        let is_read = error_code.is_none() && diverging_epoch.is_none();
        let entries = self.log.get(from..to).filter(|_| is_read);
        Response::FetchMetadataLog(FetchMetadataLogResponse {
            error_code,
            leader: self.leader(),
            leader_epoch: self.epoch,
            high_watermark: self.high_watermark,
            diverging_epoch,
            base_offset: request.fetch_offset,
            entries: entries.unwrap_or_default().to_vec(),
        })
    }

    /// A voter has everything before `fetch_offset`: entries may be committed, and the majority is
    /// made sure of.
    fn note_voter(&mut self, voter: ControllerId, fetch_offset: i64, out: &mut Out) {
        let Role::Leader(leadership) = &mut self.role else {
            return;
        };
        let Some(state) = leadership.voters.iter_mut().find(|one| one.id == voter) else {
            return;
        };
        state.log_end_offset = fetch_offset;
        state.last_fetch_at = Some(out.now);
        if !leadership.fetched.contains(&voter) {
            leadership.fetched.push(voter);
        }
        let fetched = leadership.fetched.len() + 1;
        if self.is_majority(fetched) {
            if let Role::Leader(leadership) = &mut self.role {
                leadership.fetched.clear();
            }
            self.arm_check(out);
        }
        self.advance_high_watermark();
    }

    /// Without a majority for one and a half times the fetch timeout, the leader resigns.
    pub(super) fn arm_check(&self, out: &mut Out) {
        let timeout = Span::from_millis(self.config.controller_quorum_fetch_timeout_ms);
        out.arm(Timer::QuorumCheck, Span(timeout.0 + timeout.0 / 2));
    }

    /// An entry is committed when a majority has it and one of the leader's own epoch.
    ///
    /// # Source
    /// `LeaderState.maybeUpdateHighWatermark`.
    fn advance_high_watermark(&mut self) {
        let Role::Leader(leadership) = &self.role else {
            return;
        };
        let mut ends: Vec<i64> = leadership.voters.iter().map(|v| v.log_end_offset).collect();
        ends.push(self.drained_end);
        ends.sort_unstable();
        // The middle of the descending order: n / 2.
        let reached = ends.iter().rev().nth(ends.len() / 2).copied();
        let reached = reached.filter(|end| leadership.epoch_start < *end);
        self.high_watermark = self.high_watermark.max(reached.unwrap_or_default());
    }

    /// What has lingered may be fetched.
    pub(super) fn drain(&mut self, out: &mut Out) {
        self.drained_end = self.log_end_offset();
        out.cancel(Timer::QuorumLinger);
        self.wake_fetches(out);
    }

    /// Answers a parked fetch of the metadata log with nothing.
    ///
    /// # Errors sent
    /// None.
    /// # Source
    /// `KafkaRaftClient.handleFetchRequest` (KIP-595).
    pub(super) fn on_fetch_expiry(&mut self, node: NodeId, out: &mut Out) {
        if let Some((reply, request)) = self.parked.remove(&node) {
            out.respond(reply, self.fetch_response(request, ErrorCode::None, None));
        }
    }

    /// Answers the fetches that wait for an entry that is there now.
    pub fn wake_fetches(&mut self, out: &mut Out) {
        let end = self.drained_end;
        let ready: Vec<NodeId> = self
            .parked
            .iter()
            .filter(|(_, (_, request))| request.fetch_offset < end)
            .map(|(node, _)| *node)
            .collect();
        for node in ready {
            out.cancel(Timer::MetadataFetchExpiry(node));
            self.on_fetch_expiry(node, out);
        }
    }

    /// Whoever waits here is told to ask another controller.
    pub(super) fn refuse_parked(&mut self, out: &mut Out) {
        for (node, (reply, request)) in std::mem::take(&mut self.parked) {
            out.cancel(Timer::MetadataFetchExpiry(node));
            let error_code = ErrorCode::NotLeaderOrFollower;
            out.respond(reply, self.fetch_response(request, error_code, None));
        }
    }
}
