//! What happened to one process.

use super::track::{Moment, Track};
use std::sync::Arc;
use terrarium_core::base::ids::{Offset, RecordId, TopicPartition};
use terrarium_core::kernel::time::{SimTime, Span};
use terrarium_core::trace::event::MemberState;

/// The lane of one process. A consumer's and a broker's differ in what they use of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Lane {
    /// Partitions that a consumer owns, as it believes.
    pub owned: Track<TopicPartition>,
    /// Records that take long.
    pub work: Track<Work>,
    /// Partitions that stand still since this consumer let go of them.
    pub stopped: Track<Stop>,
    /// What a consumer's membership is up to.
    pub member: Track<MemberState>,
    /// When the process does not run.
    pub still: Track<Standstill>,
    /// When the process runs, paused or not.
    pub life: Track<()>,
    /// Partitions that a broker leads, with the leader epoch.
    pub leads: Track<(TopicPartition, i32)>,
    /// Partitions that a broker follows.
    pub follows: Track<TopicPartition>,
    /// Partitions in whose ISR a broker is missing.
    pub out_of_isr: Track<TopicPartition>,
    /// When the controller keeps a broker out.
    pub fenced: Track<()>,
}

/// A record in an application's hands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Work {
    /// Its partition.
    pub topic_partition: TopicPartition,
    /// Its offset.
    pub offset: Offset,
    /// Its identity.
    pub record_id: RecordId,
    /// Its text.
    pub value: Arc<str>,
    /// When it will be done.
    pub until: SimTime,
}

/// A partition that nobody processes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Stop {
    /// Which.
    pub topic_partition: TopicPartition,
    /// Why.
    pub cause: StopCause,
}

/// Why a partition is not processed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum StopCause {
    /// Its consumer gave it up for a rebalance.
    GivenUp,
    /// Its consumer does not run.
    Down,
    /// Its consumer is paused.
    Paused,
}

/// Why a process does not run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Standstill {
    /// It died.
    Down {
        /// What killed it.
        reason: Arc<str>,
    },
    /// It was closed in good order.
    Closed {
        /// Why.
        reason: Arc<str>,
    },
    /// It is paused.
    Paused {
        /// Until when.
        until: SimTime,
    },
}

impl Default for Lane {
    fn default() -> Self {
        Self {
            owned: Track::new(LIMIT),
            work: Track::new(LIMIT),
            stopped: Track::new(LIMIT),
            member: Track::new(LIMIT),
            still: Track::new(LIMIT),
            life: Track::new(LIMIT),
            leads: Track::new(LIMIT),
            follows: Track::new(LIMIT),
            out_of_isr: Track::new(LIMIT),
            fenced: Track::new(LIMIT),
        }
    }
}

impl Lane {
    /// The process starts.
    pub(super) fn start(&mut self, now: Moment) {
        self.still.close(now, |_any| true);
        self.life.close(now, |()| true);
        self.life.open(now, ());
    }

    /// The process ends or is paused.
    pub(super) fn stand_still(&mut self, now: Moment, why: Standstill) {
        let is_pause = matches!(why, Standstill::Paused { .. });
        let cause = if is_pause {
            StopCause::Paused
        } else {
            StopCause::Down
        };
        self.still.close(now, |_any| true);
        self.still.open(now, why);
        self.stopped
            .close(now, |stop| stop.cause == StopCause::Paused);
        let owned: Vec<TopicPartition> = self.owned.lasting().map(|owned| owned.what).collect();
        for topic_partition in owned {
            self.stopped.open(
                now,
                Stop {
                    topic_partition,
                    cause,
                },
            );
        }
        if !is_pause {
            self.life.close(now, |()| true);
            self.owned.close(now, |_any| true);
            self.work.close(now, |_any| true);
            self.member.close(now, |_any| true);
            self.leads.close(now, |_any| true);
            self.follows.close(now, |_any| true);
        }
    }

    /// A paused process goes on.
    pub(super) fn resume(&mut self, now: Moment) {
        self.still
            .close(now, |still| matches!(still, Standstill::Paused { .. }));
        self.stopped
            .close(now, |stop| stop.cause == StopCause::Paused);
    }

    /// The consumer owns exactly `owned`.
    pub(super) fn own(&mut self, now: Moment, owned: &[TopicPartition]) {
        self.owned
            .close(now, |topic_partition| !owned.contains(topic_partition));
        for topic_partition in owned {
            if self
                .owned
                .lasting()
                .all(|known| known.what != *topic_partition)
            {
                self.owned.open(now, *topic_partition);
            }
        }
    }

    /// The consumer lets go of `partitions`.
    pub(super) fn give_up(&mut self, now: Moment, partitions: &[TopicPartition]) {
        for topic_partition in partitions {
            let ended = self.owned.close(now, |owned| owned == topic_partition);
            if 0 < ended
                && self
                    .stopped
                    .lasting()
                    .all(|s| s.what.topic_partition != *topic_partition)
            {
                let cause = StopCause::GivenUp;
                self.stopped.open(
                    now,
                    Stop {
                        topic_partition: *topic_partition,
                        cause,
                    },
                );
            }
        }
    }

    /// The consumer's membership changes.
    pub(super) fn become_member(&mut self, now: Moment, state: MemberState) {
        self.member.close(now, |_any| true);
        self.member.open(now, state);
    }

    /// The application takes up a record; short ones are not kept.
    pub(super) fn begin_work(&mut self, now: Moment, work: Work) {
        self.work.close(now, |_any| true);
        if LONG <= work.until.since(now.at) {
            self.work.open(now, work);
        }
    }

    /// The application is done with its record.
    pub(super) fn end_work(&mut self, now: Moment) {
        self.work.close(now, |_any| true);
    }

    /// The broker leads a partition.
    pub(super) fn lead(&mut self, now: Moment, topic_partition: TopicPartition, epoch: i32) {
        self.leads.close(now, |(led, _)| *led == topic_partition);
        self.leads.open(now, (topic_partition, epoch));
        self.follows
            .close(now, |followed| *followed == topic_partition);
    }

    /// The broker follows the leader of a partition.
    pub(super) fn follow(&mut self, now: Moment, topic_partition: TopicPartition) {
        self.leads.close(now, |(led, _)| *led == topic_partition);
        if self
            .follows
            .lasting()
            .all(|followed| followed.what != topic_partition)
        {
            self.follows.open(now, topic_partition);
        }
    }

    /// The controller shuts the broker out.
    pub(super) fn fence(&mut self, now: Moment) {
        self.fenced.close(now, |()| true);
        self.fenced.open(now, ());
    }

    /// The controller lets the broker take part.
    pub(super) fn unfence(&mut self, now: Moment) {
        self.fenced.close(now, |()| true);
    }

    /// Forgets what the entries from `index` on told.
    pub(super) fn cut(&mut self, index: u64) {
        self.owned.cut(index);
        self.work.cut(index);
        self.stopped.cut(index);
        self.member.cut(index);
        self.still.cut(index);
        self.life.cut(index);
        self.leads.cut(index);
        self.follows.cut(index);
        self.out_of_isr.cut(index);
        self.fenced.cut(index);
    }
}

/// Records that take less are too many to be named one by one.
const LONG: Span = Span(200_000);
const LIMIT: usize = 20_000;
