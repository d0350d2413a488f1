//! The application: it works through records, one after another.

use super::position::Progress;
use super::{CommitMode, Consumer, Listener, OnCommitError, Purpose, ReadAhead, RecordEffect};
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

/// What follows when the commit is settled that the application waits for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum AfterCommit {
    /// It polls.
    Poll,
    /// It takes these records up.
    TakeUp(VecDeque<(TopicPartition, Offset, Record)>),
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
        let processing = &self.settings.processing;
        if processing.read_ahead != ReadAhead::Never {
            self.read_ahead(records, out);
            return;
        }
        if !self.settings.history.single_threaded_consumer {
            let max_poll_interval = Span::from_millis(self.config().max_poll_interval_ms);
            out.arm(Timer::PollTimeout, max_poll_interval);
        }
        if self.settings.processing.commit == CommitMode::SyncBefore {
            self.await_commit(AfterCommit::TakeUp(records), out);
        } else {
            self.take_up(records, out);
        }
    }

    /// Commits, and does the rest when the commit is settled.
    fn await_commit(&mut self, then: AfterCommit, out: &mut Out) {
        self.app = App::Committing;
        self.after_commit = then;
        self.commit_sync(out);
    }

    /// Takes up the next record, or goes back to `poll`.
    fn take_up(&mut self, mut queue: VecDeque<(TopicPartition, Offset, Record)>, out: &mut Out) {
        let Some((topic_partition, offset, record)) = queue.pop_front() else {
            self.finish_batch(out);
            return;
        };
        let effect = self.effect_of(&record);
        if let RecordEffect::Skips { commits } = effect {
            self.skip((topic_partition, offset, record), commits, queue, out);
            return;
        }
        let work = self.work_on((topic_partition, offset, record), effect, queue, out);
        self.app = App::Processing(work);
    }

    /// Begins with a record.
    pub(super) fn work_on(
        &self,
        (topic_partition, offset, record): (TopicPartition, Offset, Record),
        effect: RecordEffect,
        queue: VecDeque<(TopicPartition, Offset, Record)>,
        out: &mut Out,
    ) -> Work {
        let until = match effect {
            RecordEffect::Takes(time) => out.now + time,
            RecordEffect::Crashes | RecordEffect::Skips { .. } => out.now,
        };
        out.trace(TraceEvent::ProcessingStarted {
            topic_partition,
            offset,
            record_id: record.record_id,
            value: record.as_text().cloned().unwrap_or_else(|| Arc::from("")),
            until,
        });
        if effect == RecordEffect::Crashes {
            out.exit(Exit::Crash(Arc::from("crash record")));
        } else {
            out.arm_at(Timer::RecordDone, until);
        }
        Work {
            topic_partition,
            offset,
            record,
            since: out.now,
            until,
            generation_id: self.membership.generation_id,
            queue,
        }
    }

    /// The application cannot handle a record: it seeks past it, and what `poll` returned after it
    /// of its partition is read again. Only a commit makes the skip last.
    fn skip(
        &mut self,
        (topic_partition, offset, record): (TopicPartition, Offset, Record),
        commits: bool,
        mut queue: VecDeque<(TopicPartition, Offset, Record)>,
        out: &mut Out,
    ) {
        out.trace(TraceEvent::RecordSkipped {
            topic_partition,
            offset,
            record_id: record.record_id,
            value: record.as_text().cloned().unwrap_or_else(|| Arc::from("")),
            commits,
        });
        queue.retain(|(id, ..)| *id != topic_partition);
        self.rewind(topic_partition, offset + 1, out);
        let owned = self.partitions.get_mut(&topic_partition);
        if let Some(owned) = owned.filter(|_| commits) {
            owned.processed = Some(offset + 1);
            self.await_commit(AfterCommit::TakeUp(queue), out);
        } else {
            self.take_up(queue, out);
        }
    }

    /// `seek()` while the application holds records: the position is `offset`.
    fn rewind(&mut self, topic_partition: TopicPartition, position: Offset, out: &mut Out) {
        if let Some(owned) = self.partitions.get_mut(&topic_partition) {
            owned.progress = Progress::At(position);
            owned.buffered.clear();
            out.trace(TraceEvent::PositionSet {
                topic_partition,
                position,
                from_commit: false,
            });
        }
        self.buffered.retain(|id| *id != topic_partition);
    }

    /// What a record does.
    pub(super) fn effect_of(&mut self, record: &Record) -> RecordEffect {
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
        RecordEffect::Takes(if is_exponential {
            Span(self.stream.exponential(low.0))
        } else if low == high {
            low
        } else {
            Span(self.stream.between(low.0, high.0))
        })
    }

    /// The record in hand is done.
    pub(super) fn on_record_done(&mut self, out: &mut Out) {
        if let Some(delivery) = self.delivery.take() {
            self.on_delivered(delivery, out);
            return;
        }
        let App::Processing(_) = &self.app else {
            return;
        };
        let App::Processing(mut work) = std::mem::replace(&mut self.app, App::Polling) else {
            return;
        };
        let queue = std::mem::take(&mut work.queue);
        self.finish_record(work, out);
        if self.settings.processing.commit == CommitMode::SyncEach {
            self.await_commit(AfterCommit::TakeUp(queue), out);
        } else {
            self.take_up(queue, out);
        }
    }

    /// A record is done.
    pub(super) fn finish_record(&mut self, work: Work, out: &mut Out) {
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
    }

    /// All records of a poll are done: the application commits, if it does so by itself, and
    /// polls again.
    fn finish_batch(&mut self, out: &mut Out) {
        self.app = App::Polling;
        match self.settings.processing.commit {
            CommitMode::Never | CommitMode::SyncEach | CommitMode::SyncBefore => {}
            CommitMode::Sync => self.await_commit(AfterCommit::Poll, out),
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

    /// `commitSync()` has returned or thrown; the application goes on.
    pub(super) fn after_sync_commit(&mut self, is_stored: bool, out: &mut Out) {
        self.app = App::Polling;
        self.commit_until = None;
        out.cancel(Timer::RetryBackoff);
        if self.membership.listener == Listener::Committing {
            self.membership.listener = Listener::Done;
            return;
        }
        let then = std::mem::replace(&mut self.after_commit, AfterCommit::Poll);
        let AfterCommit::TakeUp(mut queue) = then else {
            out.cancel(Timer::PollTimeout);
            return;
        };
        let policy = self.settings.processing.on_commit_error;
        if !is_stored && policy != OnCommitError::GoOn {
            if policy == OnCommitError::SeekBack {
                for (topic_partition, offset, _) in queue.iter().rev() {
                    self.rewind(*topic_partition, *offset, out);
                }
            }
            queue.clear();
        }
        self.take_up(queue, out);
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
        self.delivery = None;
        if self.has_consumer_protocol() {
            return self.close_membership(out);
        }
        self.leave_prepare(out);
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
