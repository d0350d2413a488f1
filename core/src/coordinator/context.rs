//! What a group works with: effects, settings, and records that it wants written.

use super::group::{Assignments, Member};
use crate::base::config::{BrokerConfig, HistoryConfig};
use crate::base::ids::{
    BrokerId, CONSUMER_OFFSETS, GroupId, MemberId, Offset, TopicId, TopicPartition,
};
use crate::kernel::time::{SimTime, Span};
use crate::trace::out::{Out, ReplyTo};
use crate::wire::api::Response;
use crate::wire::record::{ProducerStamp, Record};
use serde::{Serialize, Serializer};
use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

/// What surrounds one handler.
#[derive(Debug)]
pub(super) struct Context<'a> {
    /// Effects.
    pub(super) out: &'a mut Out,
    /// The broker's settings.
    pub(super) config: &'a BrokerConfig,
    /// What its release did otherwise.
    pub(super) history: HistoryConfig,
    /// The broker.
    pub(super) broker_id: BrokerId,
    /// The partition of `__consumer_offsets` that the group lives in.
    pub(super) partition: u32,
    /// Names of topics.
    pub(super) topic_names: &'a BTreeMap<TopicId, Arc<str>>,
    /// The topics that exist, each with its id and number of partitions.
    pub(super) topics: &'a BTreeMap<Arc<str>, (TopicId, u32)>,
    /// The id of the next append or waiting answer.
    pub(super) next_append_id: &'a mut u64,
    /// What is to be written, in order.
    pub(super) writes: Vec<Write>,
}

/// Records to be appended as one batch, and what hangs on them.
#[derive(Clone, Debug, Serialize)]
pub(super) struct Write {
    /// The records.
    #[serde(skip)]
    pub(super) records: Vec<Record>,
    /// Whose transaction they belong to; nobody's for most.
    pub(super) producer: ProducerStamp,
    /// The group; unset for a write that is about several.
    pub(super) group_id: Option<GroupId>,
    /// What follows when they are replicated, or when they are not.
    pub(super) then: Then,
    /// A request that is answered at that moment.
    pub(super) answer: Option<Answer>,
}

/// What follows a write.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "kebab-case", tag = "then")]
pub(super) enum Then {
    /// Nothing. The answer alone waits, or nobody does.
    Nothing,
    /// The record of a group without members; a failure is only worth a line in the log.
    EmptyGroup,
    /// The first record of a group that this request has brought about. The group goes again if
    /// the record cannot be appended.
    NewGroup {
        /// The join, which may be parked.
        reply: ReplyTo,
    },
    /// The leader's assignment: members get theirs and the group becomes Stable.
    Assignment(WrittenAssignment),
    /// A static member's new id: its join is answered without a rebalance.
    StaticMember(Box<StaticReplacement>),
    /// Committed offsets.
    Commit {
        /// The member that commits; empty outside a group.
        member_id: MemberId,
        /// Its generation; -1 outside a group.
        generation_id: i32,
        /// What it commits.
        offsets: Vec<(TopicPartition, Offset)>,
    },
}

/// A leader's assignment on its way to the log.
#[derive(Clone, Debug, Serialize)]
pub(super) struct WrittenAssignment {
    /// The leader's sync.
    pub(super) reply: ReplyTo,
    /// The leader.
    pub(super) leader: MemberId,
    /// The generation that it is for.
    pub(super) generation_id: i32,
    /// Who gets what.
    pub(super) assignments: Assignments,
}

/// What is needed to finish or to undo the replacement of a static member.
#[derive(Clone, Debug, Serialize)]
pub(super) struct StaticReplacement {
    /// The join of the new process.
    pub(super) reply: ReplyTo,
    /// Version of that join.
    pub(super) version: i16,
    /// The new id.
    pub(super) member_id: MemberId,
    /// The leader before.
    pub(super) previous_leader: Option<MemberId>,
    /// The member as it was, under its former id.
    pub(super) former: Member,
}

/// An answer that waits.
#[derive(Clone, Debug, Serialize)]
pub(super) struct Answer {
    /// Whom to answer.
    pub(super) reply: ReplyTo,
    /// The answer, if the write succeeds.
    #[serde(serialize_with = "serialize_api")]
    pub(super) response: Response,
    /// Since when it waits; unset while nothing says that it does.
    pub(super) since: Option<SimTime>,
}

fn serialize_api<S: Serializer>(response: &Response, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(response.api_key().name())
}

impl Context<'_> {
    /// Writes a line to the broker's log.
    pub(super) fn log(&mut self, line: fmt::Arguments<'_>) {
        self.out.log(format!(
            "[GroupCoordinator id={} topic={CONSUMER_OFFSETS} partition={}] {line}",
            self.broker_id, self.partition
        ));
    }

    /// Asks for records to be appended.
    pub(super) fn write(&mut self, group_id: &GroupId, records: Vec<Record>, then: Then) {
        self.writes.push(Write {
            records,
            producer: ProducerStamp::NONE,
            group_id: Some(group_id.clone()),
            then,
            answer: None,
        });
    }

    /// A number that no other append or waiting answer of this coordinator has.
    pub(super) const fn append_id(&mut self) -> u64 {
        let append_id = *self.next_append_id;
        *self.next_append_id += 1;
        append_id
    }

    /// `group.initial.rebalance.delay.ms`, which 0.9 and 0.10.0 do not have.
    pub(super) fn initial_delay(&self) -> Span {
        if self.history.single_threaded_consumer {
            return Span::ZERO;
        }
        Span::from_millis(self.config.group_initial_rebalance_delay_ms)
    }

    /// When an append that starts now must be replicated.
    pub(super) fn append_deadline(&self) -> SimTime {
        self.out.now + Span::from_millis(self.config.offsets_commit_timeout_ms)
    }
}

/// A client's reason, as the log shows it.
pub(super) fn reason_text(reason: Option<&Arc<str>>) -> &str {
    reason.map_or(NOT_PROVIDED, |reason| &**reason)
}

/// What stands for a reason that a client does not give.
pub(super) const NOT_PROVIDED: &str = "not provided";
