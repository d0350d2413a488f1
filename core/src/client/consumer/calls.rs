//! What an application calls on its consumer besides `poll` and commits.

use super::app::App;
use super::position::{OwnedPartition, Progress};
use super::{Consumer, Listener};
use crate::base::ids::{Offset, TopicPartition};
use crate::trace::event::{MemberState, TraceEvent};
use crate::trace::out::Out;
use crate::wire::api::OffsetQuery;
use serde::Serialize;
use std::sync::Arc;

/// A call.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum ApplicationCall {
    /// `seek()`, `seekToBeginning()` or `seekToEnd()`.
    Seek(Arc<str>, u32, SeekTo),
    /// `pause()`: `poll` returns nothing of the partition.
    Pause(Arc<str>, u32),
    /// `resume()`.
    Resume(Arc<str>, u32),
    /// `subscribe()` to exactly these topics; `unsubscribe()` without any.
    Subscribe(Vec<Arc<str>>),
    /// `enforceRebalance()`.
    EnforceRebalance,
}

/// Where to go on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum SeekTo {
    /// At this offset.
    Offset(Offset),
    /// At the first record that is there.
    Beginning,
    /// At the end.
    End,
    /// At the committed offset.
    Committed,
}

impl Consumer {
    /// Makes a call as soon as the application is back at `poll`: only its own thread may.
    pub fn call(&mut self, call: ApplicationCall, out: &mut Out) {
        self.calls.push_back(call);
        self.poll(out);
    }

    /// Whether it takes partitions by hand, outside any group.
    pub(super) const fn is_outside_group(&self) -> bool {
        !self.settings.assign.is_empty()
    }

    /// Makes the calls that wait.
    pub(super) fn make_calls(&mut self, out: &mut Out) {
        while self.app == App::Polling
            && let Some(call) = self.calls.pop_front()
        {
            match call {
                ApplicationCall::Seek(topic, partition, to) => {
                    if let Some(id) = self.owned_id(&topic, partition, out) {
                        self.seek(id, to, out);
                    }
                }
                ApplicationCall::Pause(topic, partition) => {
                    self.set_paused(&topic, partition, true, out);
                }
                ApplicationCall::Resume(topic, partition) => {
                    self.set_paused(&topic, partition, false, out);
                }
                ApplicationCall::Subscribe(topics) => self.subscribe(topics, out),
                ApplicationCall::EnforceRebalance => {
                    self.request_rejoin("rebalance enforced by user", out);
                }
            }
        }
    }

    /// The id of a partition that it owns; otherwise the call fails.
    fn owned_id(&self, topic: &str, partition: u32, out: &mut Out) -> Option<TopicPartition> {
        let known = self.metadata.topic_by_name(topic);
        let id = known.map(|(topic, _)| TopicPartition::new(topic, partition));
        let owned = id.filter(|id| self.partitions.contains_key(id));
        if owned.is_none() {
            self.client_log(
                &format!("No current assignment for partition {topic}-{partition}"),
                out,
            );
        }
        owned
    }

    fn set_paused(&mut self, topic: &str, partition: u32, is_paused: bool, out: &mut Out) {
        let id = self.owned_id(topic, partition, out);
        if let Some(owned) = id.and_then(|id| self.partitions.get_mut(&id)) {
            owned.is_paused = is_paused;
        }
    }

    fn seek(&mut self, id: TopicPartition, to: SeekTo, out: &mut Out) {
        let Some(owned) = self.partitions.get_mut(&id) else {
            return;
        };
        owned.buffered.clear();
        owned.offset_epoch = -1;
        owned.processed = None;
        owned.seeks_to = None;
        owned.progress = match to {
            SeekTo::Offset(offset) => Progress::At(offset),
            SeekTo::Committed => Progress::Unknown,
            SeekTo::Beginning => {
                owned.seeks_to = Some(OffsetQuery::Earliest);
                Progress::NeedsReset
            }
            SeekTo::End => {
                owned.seeks_to = Some(OffsetQuery::Latest);
                Progress::NeedsReset
            }
        };
        self.buffered.retain(|other| *other != id);
        if let SeekTo::Offset(position) = to {
            out.trace(TraceEvent::PositionSet {
                topic_partition: id,
                position,
                from_commit: false,
            });
        }
    }

    fn subscribe(&mut self, mut topics: Vec<Arc<str>>, out: &mut Out) {
        topics.sort();
        topics.dedup();
        for name in &topics {
            self.metadata.want(name);
        }
        self.settings.topics = topics;
        if self.settings.topics.is_empty() {
            self.unsubscribe(out);
            return;
        }
        self.metadata.request_update(out);
    }

    /// Gives everything up and leaves the group.
    ///
    /// # Source
    /// `ClassicKafkaConsumer.unsubscribe`, `ConsumerCoordinator.onLeavePrepare`.
    fn unsubscribe(&mut self, out: &mut Out) {
        self.leave_prepare(out);
        self.leave_group("the consumer unsubscribed from all topics", out);
        self.heartbeat.disable(out);
        self.membership.joined_topics = None;
        self.membership.call_in_flight = false;
        self.membership.assigned = None;
        self.membership.listener = Listener::Idle;
        if self.membership.state != MemberState::Unjoined {
            self.forget_membership(true, out);
        }
        self.membership.rejoin_needed = true;
    }

    /// Asks for a rebalance when the subscription is another than the group knows.
    pub(super) fn check_subscription(&mut self, out: &mut Out) {
        let joined = self.membership.joined_topics.as_ref();
        let differs = joined.is_some_and(|joined| *joined != self.settings.topics);
        if differs && !self.membership.rejoin_needed {
            self.request_rejoin("subscription has changed", out);
        }
    }

    /// A pass of `poll` with partitions taken by hand: no membership, no heartbeats. The coordinator
    /// is needed for offsets alone.
    ///
    /// # Source
    /// `ConsumerCoordinator.poll`, `SubscriptionState.assignFromUser`.
    pub(super) fn manual_step(&mut self, out: &mut Out) -> bool {
        if self.config().group_id.is_none() {
            return true;
        }
        if self.coordinator.is_none() {
            self.look_up(out);
        } else {
            self.maybe_auto_commit(out);
        }
        true
    }

    /// Takes the partitions that `assign()` names, as far as they exist.
    pub(super) fn take_assigned(&mut self, out: &mut Out) {
        let mut added = Vec::new();
        for (name, partition) in &self.settings.assign {
            let Some((topic, known)) = self.metadata.topic_by_name(name) else {
                continue;
            };
            let id = TopicPartition::new(topic, *partition);
            let count = u32::try_from(known.partitions.len()).unwrap_or(u32::MAX);
            if *partition < count && !self.partitions.contains_key(&id) {
                self.partitions.insert(id, OwnedPartition::new());
                added.push(id);
            }
        }
        if !added.is_empty() {
            let names = self.names(&added);
            self.client_log(&format!("Assigned to partition(s): {names}"), out);
        }
    }
}
