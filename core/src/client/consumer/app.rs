//! The application: it works through records, one after another.

use super::{CommitMode, Consumer, Purpose};
use crate::base::ids::{NodeId, Offset, TopicPartition};
use crate::base::timer::Timer;
use crate::kernel::time::{SimTime, Span};
use crate::trace::event::{MemberState, TraceEvent};
use crate::trace::out::{Exit, Out};
use crate::wire::api::{LeaveGroupRequest, LeavingMember, Request};
use crate::wire::record::Record;
use serde::Serialize;
use std::collections::VecDeque;
use std::sync::Arc;

/// What the application's thread does.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum App {
    /// It is in `poll`.
    Polling,
    /// It works on a record.
    Processing(Work),
    /// It waits for `commitSync()`.
    Committing,
    /// It is in `close()`.
    Closing(Closing),
    /// It met an exception that it does not survive.
    Failed(Arc<str>),
}

/// How far `close()` has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Closing {
    /// It waits for its last commit.
    Committing,
    /// It waits for the answer to LeaveGroup.
    Leaving,
}

/// The records of one poll that are not done.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Work {
    /// Which partition the record in hand is of.
    pub topic_partition: TopicPartition,
    /// Its offset.
    pub offset: Offset,
    /// The record in hand.
    pub record: Record,
    /// When work on it began.
    pub since: SimTime,
    /// When it will be done.
    pub until: SimTime,
    /// The generation in which the records were polled; -1 for none.
    pub generation_id: i32,
    /// The records after it.
    pub queue: VecDeque<(TopicPartition, Offset, Record)>,
}

impl Consumer {
    /// Takes up the records that `poll` returned.
    pub(super) fn process(
        &mut self,
        records: VecDeque<(TopicPartition, Offset, Record)>,
        out: &mut Out,
    ) {
        let count = u32::try_from(records.len()).unwrap_or(u32::MAX);
        out.trace(TraceEvent::PollReturned { records: count });
        let max_poll_interval = Span::from_millis(self.config().max_poll_interval_ms);
        out.arm(Timer::PollTimeout, max_poll_interval);
        self.take_up(records, out);
    }

    /// Takes up the next record, or goes back to `poll`.
    fn take_up(&mut self, mut queue: VecDeque<(TopicPartition, Offset, Record)>, out: &mut Out) {
        let Some((topic_partition, offset, record)) = queue.pop_front() else {
            self.finish_batch(out);
            return;
        };
        let time = self.time_for(&record);
        let until = out.now + time.unwrap_or_default();
        out.trace(TraceEvent::ProcessingStarted {
            topic_partition,
            offset,
            record_id: record.record_id,
            value: record.as_text().cloned().unwrap_or_else(|| Arc::from("")),
            until,
        });
        let generation_id = self.membership.generation_id;
        let work = Work {
            topic_partition,
            offset,
            record,
            since: out.now,
            until,
            generation_id,
            queue,
        };
        self.app = App::Processing(work);
        if time.is_none() {
            out.exit(Exit::Crash(Arc::from("crash record")));
        } else {
            out.arm_at(Timer::RecordDone, until);
        }
    }

    /// How long a record takes; unset when it crashes the process.
    fn time_for(&mut self, record: &Record) -> Option<Span> {
        let rule = record.as_text().and_then(|text| {
            self.settings
                .processing
                .rules
                .iter()
                .find(|(value, _)| value == text)
        });
        if let Some((_, effect)) = rule {
            return *effect;
        }
        let (low, high, is_exponential) = self.settings.processing.time;
        Some(if is_exponential {
            Span(self.stream.exponential(low.0))
        } else if low == high {
            low
        } else {
            Span(self.stream.between(low.0, high.0))
        })
    }

    /// The record in hand is done.
    pub(super) fn on_record_done(&mut self, out: &mut Out) {
        let App::Processing(_) = &self.app else {
            return;
        };
        let App::Processing(work) = std::mem::replace(&mut self.app, App::Polling) else {
            return;
        };
        out.trace(TraceEvent::RecordProcessed {
            topic_partition: work.topic_partition,
            offset: work.offset,
            record_id: work.record.record_id,
            generation_id: work.generation_id,
            duplicate: false,
        });
        self.records_processed += 1;
        if let Some(owned) = self.partitions.get_mut(&work.topic_partition) {
            owned.processed = Some(work.offset + 1);
        }
        if self.settings.has_output {
            self.outputs.push(work.record);
        }
        self.take_up(work.queue, out);
    }

    /// All records of a poll are done: the application commits, if it does so by itself, and
    /// polls again.
    fn finish_batch(&mut self, out: &mut Out) {
        self.app = App::Polling;
        match self.settings.processing.commit {
            CommitMode::Never => {}
            CommitMode::Sync => {
                self.app = App::Committing;
                self.commit_sync(out);
            }
            CommitMode::Async => self.commit_async(out),
            CommitMode::Transaction => {
                self.transaction = self.transaction_commit();
                if self.transaction.is_some() {
                    self.app = App::Committing;
                }
            }
        }
        if self.app == App::Polling {
            out.cancel(Timer::PollTimeout);
        }
    }

    /// `commitSync()` has returned or thrown; the application polls again.
    pub(super) fn after_sync_commit(&mut self, out: &mut Out) {
        self.app = App::Polling;
        out.cancel(Timer::PollTimeout);
    }

    /// Begins `close()`: a last commit, then callbacks and LeaveGroup.
    pub(super) fn begin_close(&mut self, out: &mut Out) {
        self.app = App::Closing(Closing::Committing);
        if !self.commit_on_close(out) {
            self.finish_close(out);
        }
    }

    /// The last commit is done or hopeless.
    pub(super) fn finish_close(&mut self, out: &mut Out) {
        self.heartbeat.disable(out);
        let owned: Arc<[TopicPartition]> = self.partitions.keys().copied().collect();
        let generation_id = self.membership.generation_id;
        if !owned.is_empty() {
            let is_valid = generation_id != -1 && self.membership.state == MemberState::Stable;
            out.trace(if is_valid {
                TraceEvent::PartitionsRevoked {
                    partitions: owned,
                    generation_id,
                }
            } else {
                TraceEvent::PartitionsLost { partitions: owned }
            });
        }
        self.drop_partitions();
        if self.leave_group("the consumer is being closed", out) {
            self.app = App::Closing(Closing::Leaving);
        } else {
            out.exit(Exit::Stopped(Arc::from("closed")));
        }
    }

    /// Sends LeaveGroup, if there is a membership to leave. Static members never leave.
    pub(super) fn leave_group(&mut self, reason: &str, out: &mut Out) -> bool {
        let Some(coordinator) = self.coordinator else {
            return false;
        };
        if self.group_instance_id().is_some()
            || self.membership.state == MemberState::Unjoined
            || self.membership.member_id.is_empty()
        {
            return false;
        }
        self.client_log(
            &format!(
                "Member {} sending LeaveGroup request to coordinator {coordinator} due to {reason}",
                self.membership.member_id
            ),
            out,
        );
        let request = LeaveGroupRequest {
            group_id: self.group(),
            members: vec![LeavingMember {
                member_id: self.membership.member_id.clone(),
                group_instance_id: None,
                reason: Some(Arc::from(reason)),
            }],
        };
        let body = Request::LeaveGroup(request);
        let correlation = out.request(NodeId::Broker(coordinator), body, self.request_timeout());
        self.requests.insert(correlation, Purpose::Leave);
        true
    }

    /// LeaveGroup has been answered, or never will be.
    pub(super) fn on_left(&self, out: &mut Out) {
        if self.app == App::Closing(Closing::Leaving) {
            out.exit(Exit::Stopped(Arc::from("closed")));
        }
    }
}
