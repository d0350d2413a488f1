//! Carrying out what handlers want.

use super::Sim;
use super::slot::{Armed, Event, Parked};
use crate::base::ids::{NodeId, Offset, TopicPartition};
use crate::base::timer::Timer;
use crate::kernel::time::SimTime;
use crate::trace::event::TraceEvent;
use crate::trace::out::{Effect, Exit};

impl Sim {
    /// Carries out the effects of one handler, in order.
    pub(super) fn drain(&mut self, node: NodeId, cause: u64, effects: &mut Vec<Effect>) {
        let mut exit = None;
        for effect in effects.drain(..) {
            match effect {
                Effect::Request {
                    to,
                    correlation,
                    body,
                    timeout,
                } => {
                    self.send_request((node, to, correlation), body, timeout, cause);
                }
                Effect::Response { reply, body } => self.send_response(node, reply, body, cause),
                Effect::Close(reply) => self.close_from(node, reply),
                Effect::Arm(timer, due_at) => self.arm(node, timer, due_at, cause),
                Effect::Cancel(timer) => {
                    if let Some(slot) = self.nodes.get_mut(&node) {
                        slot.timers.remove(&timer);
                    }
                }
                Effect::Trace(event) => self.note_effect(node, cause, event),
                Effect::TraceCommitted(offset, events) => {
                    if self.metadata_traced <= offset {
                        self.metadata_traced = offset + 1;
                        for event in events {
                            self.note_effect(node, cause, event);
                        }
                    }
                }
                Effect::Exit(how) => exit = Some(how),
            }
        }
        match exit {
            Some(Exit::Crash(reason)) => {
                self.end_process(node, Some(cause), TraceEvent::ProcessKilled { reason });
                self.schedule_restart(node);
            }
            Some(Exit::Stopped(reason)) => {
                self.end_process(node, Some(cause), TraceEvent::ProcessStopped { reason });
            }
            None => {}
        }
    }

    fn arm(&mut self, node: NodeId, timer: Timer, due_at: SimTime, cause: u64) {
        let now = self.now;
        let Some(slot) = self.nodes.get_mut(&node) else {
            return;
        };
        let due_at = due_at.max(now);
        // Arming again for the same instant changes nothing; the event in the queue serves.
        if slot
            .timers
            .get(&timer)
            .is_some_and(|armed| armed.due_at == due_at)
        {
            return;
        }
        let stamp = slot.next_stamp;
        slot.next_stamp += 1;
        slot.timers.insert(
            timer.clone(),
            Armed {
                due_at,
                since: now,
                stamp,
                cause,
            },
        );
        self.queue.push(due_at, Event::Timer { node, timer, stamp });
    }

    /// Notes an event; remembers what is parked where, and who is done with what.
    fn note_effect(&mut self, node: NodeId, cause: u64, mut event: TraceEvent) {
        if let TraceEvent::TopicCreated { topic_id, name, .. } = &event {
            let index = usize::try_from(topic_id.0).unwrap_or(usize::MAX);
            if index == self.names.len() {
                self.names.push(name.clone());
            }
        }
        if let TraceEvent::RecordProcessed {
            topic_partition,
            offset,
            duplicate,
            ..
        } = &mut event
        {
            *duplicate = self.was_processed(node, *topic_partition, *offset);
        }
        let parked = if let TraceEvent::RequestParked {
            from,
            correlation,
            waiting,
            deadline,
            group_id,
            partitions,
        } = &event
        {
            Some((
                *from,
                *correlation,
                Parked {
                    waiting: *waiting,
                    since: self.now,
                    deadline: *deadline,
                    group_id: group_id.clone(),
                    partitions: partitions.clone(),
                    entry: self.trace.next_index(),
                },
            ))
        } else {
            None
        };
        if let TraceEvent::RequestReleased {
            from, correlation, ..
        } = &event
            && let Some(request) = self
                .nodes
                .get_mut(from)
                .and_then(|slot| slot.open.get_mut(correlation))
        {
            request.parked = None;
        }
        self.note(node, Some(cause), event);
        if let Some((from, correlation, parked)) = parked
            && let Some(request) = self
                .nodes
                .get_mut(&from)
                .and_then(|slot| slot.open.get_mut(&correlation))
        {
            request.parked = Some(parked);
        }
    }

    /// Whether some member of the consumer's group was done with this offset before; from now on
    /// one is.
    fn was_processed(
        &mut self,
        node: NodeId,
        topic_partition: TopicPartition,
        offset: Offset,
    ) -> bool {
        let Some(group_id) = self.group_of(node) else {
            return false;
        };
        let ranges = self
            .processed
            .entry((group_id, topic_partition))
            .or_default();
        let at = offset.0;
        let before = ranges
            .range(..=at)
            .next_back()
            .map(|(start, end)| (*start, *end));
        if before.is_some_and(|(_, end)| at < end) {
            return true;
        }
        let after_end = ranges.remove(&(at + 1)).unwrap_or(at + 1);
        match before {
            Some((start, end)) if end == at => ranges.insert(start, after_end),
            Some(_) | None => ranges.insert(at, after_end),
        };
        false
    }
}
