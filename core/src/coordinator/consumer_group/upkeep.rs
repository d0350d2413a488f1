//! What happens to groups of the consumer protocol besides heartbeats: timers, loading, unloading,
//! topics that change, expiry.

use super::{ConsumerGroup, ConsumerMember};
use crate::base::ids::{GroupId, MemberId, TopicPartition};
use crate::base::timer::Timer;
use crate::coordinator::context::{Context, Then};
use crate::coordinator::group::ClassicGroup;
use crate::coordinator::records::offset_record;
use crate::coordinator::runtime::CoordinatorPartition;
use crate::kernel::time::Span;
use crate::trace::event::{GroupState, TraceEvent};
use crate::wire::record::{ConsumerGroupPiece, ReconciliationState, Record};
use std::sync::Arc;

/// When a timer is tried again whose records could not be appended.
const TIMER_RETRY: Span = Span::from_millis(500);

impl CoordinatorPartition {
    /// A member's session has run out, or its time to give up partitions: it is removed.
    ///
    /// # Source
    /// `GroupMetadataManager#scheduleConsumerGroupSessionTimeout`,
    /// `#scheduleConsumerGroupRebalanceTimeout` (Kafka 1eb7644).
    pub(in crate::coordinator) fn on_consumer_timer(
        &mut self,
        timer: &Timer,
        (group_id, member_id): (&GroupId, &MemberId),
        ctx: &mut Context<'_>,
    ) {
        let group = self.consumer_groups.get(group_id);
        let Some((group, member)) = group.and_then(|it| Some((it, it.member(member_id)?))) else {
            return;
        };
        let is_session = matches!(timer, Timer::MemberSession(..));
        let current = &member.current;
        let must_revoke =
            current.state == ReconciliationState::UnrevokedPartitions && 0 <= current.member_epoch;
        // One of the classic protocol has been told to join, or has joined and not synced.
        let must_revoke = must_revoke || member.metadata.classic.is_some();
        if !is_session && !must_revoke {
            return;
        }
        let reason = if is_session {
            "its session has run out"
        } else {
            "it has not given up its partitions within the rebalance timeout"
        };
        ctx.log(format_args!(
            "[GroupId {group_id}] Member {member_id} is fenced from the group: {reason}."
        ));
        // Appending may fail; whoever is still there then is removed by the next try.
        ctx.out.arm(timer.clone(), TIMER_RETRY);
        let records = group.removal_records(std::slice::from_ref(member_id), reason, ctx);
        ctx.write(group_id, records, Then::Nothing);
    }

    /// Applies a piece of a group. The first one makes the group, with the offsets that were
    /// committed before; the end of its epoch removes it, but not its offsets.
    ///
    /// # Source
    /// `GroupMetadataManager#replay` (Kafka 1eb7644).
    pub(in crate::coordinator) fn replay_piece(
        &mut self,
        group_id: &GroupId,
        piece: &ConsumerGroupPiece,
        now: crate::kernel::time::SimTime,
    ) {
        if let ConsumerGroupPiece::Epoch(None) = piece {
            let Some(group) = self.consumer_groups.remove(group_id) else {
                return;
            };
            if !group.offsets.is_empty() {
                // A classic group may have taken its place already.
                let heir = self.groups.entry(group_id.clone());
                let heir = heir.or_insert_with(|| ClassicGroup::new(group_id.clone(), now));
                heir.offsets.extend(group.offsets);
            }
            return;
        }
        if !self.consumer_groups.contains_key(group_id) {
            if piece.is_tombstone() {
                return;
            }
            let mut group = ConsumerGroup::new(group_id.clone());
            if let Some(former) = self.groups.remove(group_id) {
                group.offsets = former.offsets;
            }
            self.consumer_groups.insert(group_id.clone(), group);
        }
        if let Some(group) = self.consumer_groups.get_mut(group_id) {
            group.replay(piece);
        }
    }

    /// A piece that this coordinator has written takes effect.
    pub(in crate::coordinator) fn piece_appended(
        &mut self,
        group_id: &GroupId,
        piece: &ConsumerGroupPiece,
        ctx: &mut Context<'_>,
    ) {
        match piece {
            ConsumerGroupPiece::Member(member_id, None) => {
                cancel_timers(group_id, member_id, ctx);
            }
            ConsumerGroupPiece::Current(member_id, Some(current)) => {
                ctx.out.trace(TraceEvent::MemberReconciled {
                    group_id: group_id.clone(),
                    member_id: member_id.clone(),
                    current: Arc::clone(current),
                });
            }
            ConsumerGroupPiece::Epoch(None) => {
                if let Some(group) = self.consumer_groups.get_mut(group_id) {
                    group.become_dead("nothing is left of it", ctx);
                }
            }
            ConsumerGroupPiece::Member(..)
            | ConsumerGroupPiece::Topics(_)
            | ConsumerGroupPiece::Epoch(_)
            | ConsumerGroupPiece::Target(..)
            | ConsumerGroupPiece::TargetEpoch(_)
            | ConsumerGroupPiece::Current(_, None) => {}
        }
        self.replay_piece(group_id, piece, ctx.out.now);
    }

    /// Replay is over: sessions and rebalance timeouts start anew, in full.
    pub(in crate::coordinator) fn load_consumer_groups(&mut self, ctx: &mut Context<'_>) {
        for group in self.consumer_groups.values_mut() {
            group.count_partition_epochs();
            group.is_metadata_refresh_due = true;
            group.note_state(ctx);
            for member in &group.members {
                let id = (group.group_id.clone(), member.member_id.clone());
                if member.metadata.classic.is_some() {
                    member.arm_classic_session(&group.group_id, ctx);
                    continue;
                }
                let session = Span::from_millis(ctx.config.group_consumer_session_timeout_ms);
                let timer = Timer::MemberSession(id.0.clone(), id.1.clone());
                ctx.out.arm(timer, session);
                if member.current.state == ReconciliationState::UnrevokedPartitions {
                    let timeout = Span::from_millis(member.metadata.rebalance_timeout_ms);
                    ctx.out.arm(Timer::RebalanceTimeout(id.0, id.1), timeout);
                }
            }
        }
    }

    /// The groups live elsewhere from now on.
    pub(in crate::coordinator) fn unload_consumer_groups(&mut self, ctx: &mut Context<'_>) {
        for (_, mut group) in std::mem::take(&mut self.consumer_groups) {
            for member in &group.members {
                cancel_timers(&group.group_id, &member.member_id, ctx);
            }
            group.become_dead("the coordinator has lost its partition", ctx);
        }
    }

    /// Topics have come, gone or grown: groups that subscribe to one of them look at their topics
    /// at the next heartbeat.
    ///
    /// # Source
    /// `GroupMetadataManager#onNewMetadataImage` (Kafka 1eb7644).
    pub(in crate::coordinator) fn on_topics_changed(&mut self, names: &[Arc<str>]) {
        for group in self.consumer_groups.values_mut() {
            if names.iter().any(|name| group.is_subscribed_to(name)) {
                group.is_metadata_refresh_due = true;
            }
        }
    }
}

fn cancel_timers(group_id: &GroupId, member_id: &MemberId, ctx: &mut Context<'_>) {
    let id = (group_id.clone(), member_id.clone());
    ctx.out.cancel(Timer::MemberSession(id.0, id.1));
    let id = (group_id.clone(), member_id.clone());
    ctx.out.cancel(Timer::RebalanceTimeout(id.0, id.1));
}

impl ConsumerMember {
    /// Starts the session of a member of the classic protocol.
    pub(super) fn arm_classic_session(&self, group_id: &GroupId, ctx: &mut Context<'_>) {
        if let Some(classic) = &self.metadata.classic {
            let timer = Timer::MemberSession(group_id.clone(), self.member_id.clone());
            ctx.out
                .arm(timer, Span::from_millis(classic.session_timeout_ms));
        }
    }
}

impl ConsumerGroup {
    fn become_dead(&mut self, reason: &str, ctx: &mut Context<'_>) {
        ctx.out.trace(TraceEvent::GroupStateChanged {
            group_id: self.group_id.clone(),
            previous: self.noted_state,
            state: GroupState::Dead,
            generation_id: self.group_epoch,
            reason: Arc::from(reason),
        });
        self.noted_state = GroupState::Dead;
    }

    /// Tombstones of offsets that are older than the retention and of no subscribed topic; of the
    /// group itself if it is empty and no offset is left. `open` are the partitions that an open
    /// transaction commits.
    ///
    /// # Source
    /// `ConsumerGroup#offsetExpirationCondition`, `#createGroupTombstoneRecords` (Kafka 1eb7644).
    pub(in crate::coordinator) fn expired_records(
        &self,
        open: &[TopicPartition],
        ctx: &Context<'_>,
    ) -> Vec<Record> {
        let now = ctx.out.now;
        let minutes = ctx.config.offsets_retention_minutes;
        let retention = Span::from_millis(minutes.saturating_mul(60_000));
        let mut records = Vec::new();
        for (id, committed) in &self.offsets {
            let name = ctx.topic_names.get(&id.topic);
            let is_subscribed = name.is_some_and(|name| self.is_subscribed_to(name));
            let is_old = committed.committed_at + retention <= now;
            if is_old && !open.contains(id) && !is_subscribed {
                records.push(offset_record(&self.group_id, *id, name, None, now));
            }
        }
        let is_left_alone = open.is_empty() || self.offsets.is_empty();
        if self.members.is_empty() && is_left_alone && records.len() == self.offsets.len() {
            records.extend(self.tombstone_records(ctx));
        }
        records
    }

    /// What removes a group without members from the log.
    pub(in crate::coordinator) fn tombstone_records(&self, ctx: &Context<'_>) -> Vec<Record> {
        let now = ctx.out.now;
        let pieces = [
            ConsumerGroupPiece::TargetEpoch(None),
            ConsumerGroupPiece::Topics(None),
            ConsumerGroupPiece::Epoch(None),
        ];
        pieces
            .into_iter()
            .map(|piece| self.record(piece, now))
            .collect()
    }
}
