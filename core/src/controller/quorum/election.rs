//! Elections of the quorum.

use super::{Candidacy, Leadership, Quorum, Role, VoterState};
use crate::base::ids::ControllerId;
use crate::base::timer::Timer;
use crate::kernel::time::Span;
use crate::trace::out::{Out, ReplyTo};
use crate::wire::api::{
    BeginQuorumEpochRequest, EndQuorumEpochRequest, QuorumEpochResponse, Request, Response,
    VoteRequest, VoteResponse,
};
use crate::wire::error_code::ErrorCode;
use crate::wire::metadata::{MetadataEntry, MetadataRecord};
use std::sync::Arc;

/// The first wait between two candidacies.
const BACKOFF_MS: u64 = 100;

impl Quorum {
    /// Nobody leads, for as long as an election may take: a time between the setting and twice it.
    pub(super) fn arm_election(&mut self, out: &mut Out) {
        let timeout = Span::from_millis(self.config.controller_quorum_election_timeout_ms).0;
        let drawn = self.stream.between(timeout, timeout.saturating_mul(2) - 1);
        self.deadline = out.now + Span(drawn);
        out.arm_at(Timer::QuorumElection, self.deadline);
    }

    /// Nobody has been elected, or the wait between two candidacies is over.
    ///
    /// # Errors sent
    /// None.
    /// # Source
    /// `KafkaRaftClient.pollCandidate`, `pollUnattached`, `pollResigned` (KIP-595).
    /// # Simplified
    /// No pre-vote (KIP-996): a controller that comes back from the cold bumps the epoch.
    pub(super) fn on_election_timer(&mut self, out: &mut Out) {
        match &self.role {
            Role::Unattached | Role::Resigned => self.stand(1, out),
            Role::Candidate(candidacy) => {
                let tries = candidacy.tries;
                if candidacy.is_backing_off {
                    self.stand(tries + 1, out);
                } else {
                    self.back_off(out);
                }
            }
            Role::Leader(_) | Role::Follower(_) => {}
        }
    }

    fn back_off(&mut self, out: &mut Out) {
        let Role::Candidate(candidacy) = &mut self.role else {
            return;
        };
        candidacy.is_backing_off = true;
        let bound = 2_u64 << (candidacy.tries - 1).min(20);
        let most = self.config.controller_quorum_election_backoff_max_ms;
        let wait = BACKOFF_MS * self.stream.below(bound);
        let wait = wait.min(u64::try_from(most).unwrap_or_default());
        out.arm(Timer::QuorumElection, Span(wait * 1_000));
    }

    /// Stands for election in a new epoch.
    pub(super) fn stand(&mut self, tries: u32, out: &mut Out) {
        self.epoch += 1;
        self.voted_for = Some(self.id);
        self.leave_role(out);
        self.role = Role::Candidate(Candidacy {
            granted: vec![self.id],
            rejected: Vec::new(),
            tries,
            is_backing_off: false,
        });
        self.note_state(out);
        self.arm_election(out);
        let request = VoteRequest {
            epoch: self.epoch,
            last_epoch: self.last_epoch(),
            last_epoch_end_offset: self.log_end_offset(),
        };
        for voter in self.others() {
            self.send(voter, Request::Vote(request), out);
        }
    }

    /// Gives its vote, if the candidate's log is as good as its own and the vote is still free.
    ///
    /// # Errors sent
    /// None: a vote is granted or not.
    /// # Source
    /// `KafkaRaftClient.handleVoteRequest`.
    pub(super) fn handle_vote(
        &mut self,
        (reply, candidate): (ReplyTo, ControllerId),
        request: VoteRequest,
        out: &mut Out,
    ) {
        if self.epoch < request.epoch {
            self.become_unattached(request.epoch, out);
        }
        let is_free =
            self.role == Role::Unattached && self.voted_for.is_none_or(|voted| voted == candidate);
        let own = (self.last_epoch(), self.log_end_offset());
        let is_up_to_date = own <= (request.last_epoch, request.last_epoch_end_offset);
        let is_granted = request.epoch == self.epoch && is_free && is_up_to_date;
        if is_granted {
            self.voted_for = Some(candidate);
            self.arm_election(out);
        }
        let response = VoteResponse {
            epoch: self.epoch,
            leader: self.leader(),
            is_granted,
        };
        out.respond(reply, Response::Vote(response));
    }

    pub(super) fn on_vote_response(
        &mut self,
        (from, sent_in): (ControllerId, i32),
        response: VoteResponse,
        out: &mut Out,
    ) {
        if self.meet_epoch(response.epoch, response.leader, out) || sent_in != self.epoch {
            return;
        }
        let Role::Candidate(candidacy) = &mut self.role else {
            return;
        };
        if candidacy.is_backing_off {
            return;
        }
        let votes = if response.is_granted {
            &mut candidacy.granted
        } else {
            &mut candidacy.rejected
        };
        if !votes.contains(&from) {
            votes.push(from);
        }
        let (granted, rejected) = (candidacy.granted.len(), candidacy.rejected.len());
        if self.is_majority(granted) {
            self.lead(out);
        } else if self.is_majority(rejected) {
            self.back_off(out);
        }
    }

    /// Leads from now on: the first entry of the epoch says so.
    fn lead(&mut self, out: &mut Out) {
        self.leave_role(out);
        let epoch_start = self.log_end_offset();
        let state = |id| VoterState {
            id,
            log_end_offset: -1,
            last_fetch_at: None,
        };
        self.role = Role::Leader(Leadership {
            epoch_start,
            voters: self.others().into_iter().map(state).collect(),
            fetched: Vec::new(),
        });
        self.note_state(out);
        self.log.push(MetadataEntry {
            epoch: self.epoch,
            record: Arc::new(MetadataRecord::LeaderChange { leader: self.id }),
        });
        self.drain(out);
        self.arm_check(out);
        self.begin_epoch(out);
    }

    /// Tells the voters that have not fetched of late who leads.
    pub(super) fn begin_epoch(&mut self, out: &mut Out) {
        let Role::Leader(leadership) = &self.role else {
            return;
        };
        let interval =
            Span(Span::from_millis(self.config.controller_quorum_fetch_timeout_ms).0 / 2);
        let silent: Vec<ControllerId> = leadership
            .voters
            .iter()
            .filter(|voter| voter.last_fetch_at.is_none_or(|at| at + interval < out.now))
            .map(|voter| voter.id)
            .collect();
        let request = BeginQuorumEpochRequest { epoch: self.epoch };
        for voter in silent {
            self.send(voter, Request::BeginQuorumEpoch(request), out);
        }
        out.arm(Timer::QuorumBegin, interval.max(Span(1)));
    }

    /// Follows the new leader.
    ///
    /// # Errors sent
    /// `FENCED_LEADER_EPOCH` (74) when there is a later epoch.
    /// # Source
    /// `KafkaRaftClient.handleBeginQuorumEpochRequest`.
    pub(super) fn handle_begin_quorum_epoch(
        &mut self,
        (reply, from): (ReplyTo, ControllerId),
        request: BeginQuorumEpochRequest,
        out: &mut Out,
    ) {
        self.meet_epoch(request.epoch, Some(from), out);
        let response = self.epoch_response(request.epoch);
        out.respond(reply, Response::BeginQuorumEpoch(response));
    }

    /// Stands for election soon: at once as the first successor, else after the ones before.
    ///
    /// # Errors sent
    /// `FENCED_LEADER_EPOCH` (74) when there is a later epoch.
    /// # Source
    /// `KafkaRaftClient.handleEndQuorumEpochRequest`, `endEpochElectionBackoff`.
    pub(super) fn handle_end_quorum_epoch(
        &mut self,
        (reply, from): (ReplyTo, ControllerId),
        request: &EndQuorumEpochRequest,
        out: &mut Out,
    ) {
        self.meet_epoch(request.epoch, Some(from), out);
        let response = self.epoch_response(request.epoch);
        out.respond(reply, Response::EndQuorumEpoch(response));
        if self.role != Role::Follower(from) || self.epoch != request.epoch {
            return;
        }
        let successors = &request.preferred_successors;
        let place = successors.iter().position(|id| *id == self.id);
        let most = Span::from_millis(self.config.controller_quorum_election_backoff_max_ms);
        let wait = match place {
            Some(0) => Span::ZERO,
            Some(place) => {
                // The last of the successors waits as long as anyone may.
                let halvings = successors.len() - place;
                Span(most.0 >> halvings.min(20))
            }
            None => most,
        };
        self.deadline = out.now + wait;
        out.arm_at(Timer::QuorumFetchTimeout, self.deadline);
    }

    fn epoch_response(&self, epoch: i32) -> QuorumEpochResponse {
        QuorumEpochResponse {
            error_code: if epoch < self.epoch {
                ErrorCode::FencedLeaderEpoch
            } else {
                ErrorCode::None
            },
            epoch: self.epoch,
            leader: self.leader(),
        }
    }

    /// Takes in which epoch another voter knows, and who leads in it. True if that was news.
    pub(super) fn meet_epoch(
        &mut self,
        epoch: i32,
        leader: Option<ControllerId>,
        out: &mut Out,
    ) -> bool {
        if epoch < self.epoch {
            return false;
        }
        match leader.filter(|leader| *leader != self.id) {
            Some(leader) if self.epoch < epoch || self.leader().is_none() => {
                // Who has resigned from this epoch does not follow in it.
                if self.epoch == epoch && self.role == Role::Resigned {
                    return false;
                }
                self.follow(epoch, leader, out);
                true
            }
            None if self.epoch < epoch => {
                self.become_unattached(epoch, out);
                true
            }
            Some(_) | None => false,
        }
    }

    fn follow(&mut self, epoch: i32, leader: ControllerId, out: &mut Out) {
        if self.epoch < epoch {
            self.voted_for = None;
        }
        self.epoch = epoch;
        self.leave_role(out);
        self.role = Role::Follower(leader);
        self.note_state(out);
        self.arm_fetch_timeout(out);
        self.fetch(out);
    }

    /// Takes in a later epoch of which no leader is known. Its patience goes on: otherwise a
    /// candidate that cannot win would keep the others from standing.
    fn become_unattached(&mut self, epoch: i32, out: &mut Out) {
        self.epoch = epoch;
        self.voted_for = None;
        let has_led = matches!(self.role, Role::Leader(_));
        self.leave_role(out);
        self.role = Role::Unattached;
        self.note_state(out);
        if has_led {
            self.arm_election(out);
        } else {
            out.arm_at(Timer::QuorumElection, self.deadline.max(out.now));
        }
    }

    /// Gives leadership up: a majority has not fetched for too long, or the process ends.
    ///
    /// # Errors sent
    /// None.
    /// # Source
    /// `KafkaRaftClient.pollLeader`, `LeaderState.timeUntilCheckQuorumExpires` (KIP-835).
    pub fn resign(&mut self, out: &mut Out) {
        let Role::Leader(leadership) = &mut self.role else {
            return;
        };
        leadership
            .voters
            .sort_by_key(|voter| (std::cmp::Reverse(voter.log_end_offset), voter.id));
        let successors: Vec<ControllerId> = leadership.voters.iter().map(|one| one.id).collect();
        self.leave_role(out);
        self.role = Role::Resigned;
        self.note_state(out);
        self.arm_election(out);
        for voter in successors.clone() {
            let request = EndQuorumEpochRequest {
                epoch: self.epoch,
                preferred_successors: successors.clone(),
            };
            self.send(voter, Request::EndQuorumEpoch(request), out);
        }
    }

    /// Lets go of what only the present role needs.
    fn leave_role(&mut self, out: &mut Out) {
        for timer in [
            Timer::QuorumElection,
            Timer::QuorumFetchTimeout,
            Timer::QuorumFetchRetry,
            Timer::QuorumCheck,
            Timer::QuorumBegin,
            Timer::QuorumLinger,
        ] {
            out.cancel(timer);
        }
        self.role = Role::Unattached;
        self.requests.clear();
        self.refuse_parked(out);
    }
}
