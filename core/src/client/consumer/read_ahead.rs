//! An application that reads ahead of what it has delivered, as connectors do: one thread polls,
//! another delivers.

use super::app::Work;
use super::{CommitMode, Consumer, RecordEffect};
use crate::base::ids::{Offset, TopicPartition};
use crate::base::timer::Timer;
use crate::trace::event::TraceEvent;
use crate::trace::out::Out;
use crate::wire::record::Record;
use serde::Serialize;
use std::collections::VecDeque;
use std::sync::Arc;

/// Whether an application polls on while it delivers, and what its listener does with what it has
/// read when partitions are taken away.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum ReadAhead {
    /// It delivers what `poll` returned before it polls again.
    #[default]
    Never,
    /// It reads ahead, and delivers what it has read although the partition is not its own any more.
    DeliverLate,
    /// It reads ahead; its listener drops what it has not delivered of a partition that goes, so that
    /// whoever owns it next begins at the committed offset.
    Drop,
}

impl Consumer {
    /// Whether the records that wait for their delivery are enough for now.
    pub(super) fn has_read_enough(&self) -> bool {
        let waiting = self.delivery.as_ref().map_or(0, |work| work.queue.len());
        u64::try_from(waiting).is_ok_and(|waiting| self.max_poll_records() <= waiting)
    }

    fn max_poll_records(&self) -> u64 {
        u64::try_from(self.config().max_poll_records).unwrap_or(1)
    }

    /// Hands records over to the thread that delivers.
    pub(super) fn read_ahead(
        &mut self,
        records: VecDeque<(TopicPartition, Offset, Record)>,
        out: &mut Out,
    ) {
        match &mut self.delivery {
            Some(delivery) => delivery.queue.extend(records),
            None => self.deliver(records, out),
        }
    }

    /// Takes up the next record that waits.
    fn deliver(&mut self, mut queue: VecDeque<(TopicPartition, Offset, Record)>, out: &mut Out) {
        while let Some((topic_partition, offset, record)) = queue.pop_front() {
            let effect = self.effect_of(&record);
            if let RecordEffect::Skips { commits } = effect {
                // Nothing is sought: what comes after it has been read already.
                out.trace(TraceEvent::RecordSkipped {
                    topic_partition,
                    offset,
                    record_id: record.record_id,
                    value: record.as_text().cloned().unwrap_or_else(|| Arc::from("")),
                    commits,
                });
                continue;
            }
            let next = (topic_partition, offset, record);
            self.delivery = Some(self.work_on(next, effect, queue, out));
            return;
        }
    }

    /// A record is delivered. The application commits what is delivered, as often as it would commit
    /// batches.
    pub(super) fn on_delivered(&mut self, mut work: Work, out: &mut Out) {
        let queue = std::mem::take(&mut work.queue);
        self.finish_record(work, out);
        self.delivered += 1;
        let mode = self.settings.processing.commit;
        let is_due = queue.is_empty()
            || mode == CommitMode::SyncEach
            || self.max_poll_records() <= u64::from(self.delivered);
        if is_due && mode != CommitMode::Never {
            self.delivered = 0;
            self.commit_async(out);
        }
        self.deliver(queue, out);
    }

    /// The listener is told that partitions go.
    pub(super) fn drop_read_ahead(&mut self, partitions: &[TopicPartition], out: &mut Out) {
        if self.settings.processing.read_ahead != ReadAhead::Drop {
            return;
        }
        let Some(mut work) = self.delivery.take() else {
            return;
        };
        work.queue.retain(|(id, ..)| !partitions.contains(id));
        if partitions.contains(&work.topic_partition) {
            out.cancel(Timer::RecordDone);
            self.deliver(work.queue, out);
        } else {
            self.delivery = Some(work);
        }
    }
}
