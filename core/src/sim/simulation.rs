//! The simulation: one queue of events, nodes that handle them, and a trace of what happened.

mod build;
mod commands;
mod drain;
mod faults;
mod links;
mod slot;
mod stage;

pub use build::ScenarioError;
pub use slot::Node;

use self::links::Connections;
use self::slot::{Event, Slot};
use super::scenario::Scenario;
use crate::base::ids::{GroupId, NodeId, PacketId, TopicId, TopicPartition};
use crate::kernel::digest::Digest;
use crate::kernel::limits::EVENTS_PER_INSTANT_MAX;
use crate::kernel::network::Network;
use crate::kernel::queue::EventQueue;
use crate::kernel::time::{SimTime, Span};
use crate::trace::buffer::TraceBuffer;
use crate::trace::event::{TraceEntry, TraceEvent};
use crate::trace::out::{Effect, Out};
use crate::wire::api::ApiKey;
use slot::Packet;
use std::collections::BTreeMap;
use std::sync::Arc;

/// A running cluster with its clients.
///
/// The same scenario and the same commands at the same instants give the same trace, on every
/// platform. A copy is a snapshot: it shares what never changes again.
#[derive(Clone, Debug)]
pub struct Sim {
    scenario: Arc<Scenario>,
    /// Topic names by id: those of the scenario, then those of topics created meanwhile.
    names: Vec<Arc<str>>,
    /// Those that have an id from the start.
    declared_names: Arc<[Arc<str>]>,
    /// Records of the metadata log below this offset are in the trace.
    metadata_traced: i64,
    now: SimTime,
    queue: EventQueue<Event>,
    network: Network<NodeId>,
    nodes: BTreeMap<NodeId, Slot>,
    connections: Connections,
    /// Messages on the wire, those that a cut link holds included.
    packets: BTreeMap<PacketId, Packet>,
    next_packet: u64,
    trace: TraceBuffer,
    event_count: u64,
    /// Events handled at `now`.
    events_at_now: u32,
    /// Set when the run does not leave an instant: a bug of ours, and the run ends.
    is_stuck: bool,
    /// Offsets that some member of a group is done with, as ranges: first to one past the last.
    processed: BTreeMap<(GroupId, TopicPartition), BTreeMap<i64, i64>>,
    /// Messages that a person wants lost: from, to, and which API.
    drops: Vec<(NodeId, NodeId, ApiKey)>,
    /// Messages that a person wants late: from, to, which API, and by how much.
    delays: Vec<(NodeId, NodeId, ApiKey, Span)>,
    /// Reused for every handler.
    scratch: Vec<Effect>,
}

impl Sim {
    /// The present.
    pub const fn now(&self) -> SimTime {
        self.now
    }

    /// What the run started from.
    pub const fn scenario(&self) -> &Arc<Scenario> {
        &self.scenario
    }

    /// What happened so far.
    pub const fn trace(&self) -> &TraceBuffer {
        &self.trace
    }

    /// Gives up old entries of the trace, but none of the last `kept`. The run goes on as it would.
    pub(super) fn keep_last_of_trace(&mut self, kept: u64) {
        self.trace.keep_last(kept);
    }

    /// Events handled so far.
    pub const fn event_count(&self) -> u64 {
        self.event_count
    }

    /// Whether the run came to a standstill within one instant.
    pub const fn is_stuck(&self) -> bool {
        self.is_stuck
    }

    /// When the next event is due.
    pub fn next_due(&self) -> Option<SimTime> {
        if self.is_stuck {
            None
        } else {
            self.queue.next_due()
        }
    }

    /// A topic's name.
    pub fn topic_name(&self, topic: TopicId) -> &str {
        usize::try_from(topic.0)
            .ok()
            .and_then(|index| self.names.get(index))
            .map_or("?", |n| n)
    }

    /// The id of the topic that is, or was last, called so.
    pub fn topic_id(&self, name: &str) -> Option<TopicId> {
        let index = self.names.iter().rposition(|known| &**known == name)?;
        u32::try_from(index).ok().map(TopicId)
    }

    /// Everything that a node's process holds in memory, for reading.
    pub fn inspect(&self, node: NodeId) -> Option<&Node> {
        self.nodes.get(&node).map(|slot| &slot.node)
    }

    /// A hash of trace and state, the same on every platform.
    pub fn digest(&self) -> u64 {
        let mut digest = Digest::new();
        digest.fold(&(
            self.trace.digest(),
            self.now,
            self.event_count,
            self.next_packet,
        ));
        for slot in self.nodes.values() {
            slot.fold(&mut digest);
        }
        digest.value()
    }

    /// Handles the next event; gives its instant, or nothing when there is none.
    pub fn step(&mut self) -> Option<SimTime> {
        if self.is_stuck {
            return None;
        }
        let (due_at, event) = self.queue.pop()?;
        if self.now < due_at {
            self.now = due_at;
            self.events_at_now = 0;
        }
        self.event_count += 1;
        self.events_at_now += 1;
        if EVENTS_PER_INSTANT_MAX < self.events_at_now {
            self.is_stuck = true;
            let text = format!("[Terrarium] the run does not leave {}", self.now);
            let node = self.first_node();
            self.note(
                node,
                None,
                TraceEvent::LogLine {
                    text: Arc::from(text),
                },
            );
            return None;
        }
        self.handle_event(event);
        Some(self.now)
    }

    /// Handles every event that is due at `until` or before; the present is `until` then.
    pub fn run_until(&mut self, until: SimTime) {
        while self.next_due().is_some_and(|due| due <= until) && self.step().is_some() {}
        self.advance_clock(until);
    }

    /// Moves the present to `until` if nothing happens before.
    pub fn advance_clock(&mut self, until: SimTime) {
        if self.now < until && self.next_due().is_none_or(|due| until < due) {
            self.now = until;
            self.events_at_now = 0;
        }
    }

    fn first_node(&self) -> NodeId {
        self.nodes
            .keys()
            .next()
            .copied()
            .expect("invariant: there is a controller")
    }

    /// Appends to the trace; gives the entry's index.
    fn note(&mut self, node: NodeId, cause: Option<u64>, event: TraceEvent) -> u64 {
        let index = self.trace.next_index();
        self.trace.push(TraceEntry {
            index,
            at: self.now,
            node,
            cause,
            event,
        });
        index
    }

    fn handle_event(&mut self, event: Event) {
        match event {
            Event::Deliver(packet) => self.deliver(packet),
            Event::Timer { node, timer, stamp } => {
                let Some(slot) = self.nodes.get_mut(&node) else {
                    return;
                };
                if slot
                    .timers
                    .get(&timer)
                    .is_none_or(|armed| armed.stamp != stamp)
                {
                    return;
                }
                if slot.defer(|| Event::Timer {
                    node,
                    timer: timer.clone(),
                    stamp,
                }) {
                    return;
                }
                let Some(armed) = slot.timers.remove(&timer) else {
                    return;
                };
                let fired = TraceEvent::TimerFired {
                    timer: timer.clone(),
                };
                let cause = self.note(node, Some(armed.cause), fired);
                self.run_handler(node, cause, |process, out| process.on_timer(&timer, out));
            }
            Event::Disconnect {
                node,
                incarnation,
                correlation,
                reason,
            } => {
                let Some(slot) = self.nodes.get_mut(&node) else {
                    return;
                };
                if slot.incarnation != incarnation {
                    return;
                }
                if slot.defer(|| Event::Disconnect {
                    node,
                    incarnation,
                    correlation,
                    reason,
                }) {
                    return;
                }
                self.disconnect(node, correlation, reason);
            }
            Event::Closed {
                node,
                incarnation,
                reply,
            } => self.closed(node, incarnation, reply),
            Event::RequestCheck { node, incarnation } => self.check_requests(node, incarnation),
            Event::Resume { node, incarnation } => self.resume(node, incarnation),
            Event::Start { node } => self.start_process(node, None),
            Event::Restart {
                node,
                after_incarnation,
            } => {
                let is_due = self
                    .nodes
                    .get(&node)
                    .is_some_and(|slot| !slot.is_up() && slot.incarnation == after_incarnation);
                if is_due {
                    self.start_process(node, None);
                }
            }
            Event::Command(command) => self.apply_recorded(command),
        }
    }

    /// Runs a handler of a process and carries out what it wants.
    fn run_handler(&mut self, node: NodeId, cause: u64, handler: impl FnOnce(&mut Node, &mut Out)) {
        let Some(slot) = self.nodes.get_mut(&node) else {
            return;
        };
        let effects = std::mem::take(&mut self.scratch);
        let mut out = Out::new(self.now, effects, slot.next_correlation);
        handler(&mut slot.node, &mut out);
        let (mut effects, next_correlation) = out.into_parts();
        slot.next_correlation = next_correlation;
        self.drain(node, cause, &mut effects);
        effects.clear();
        self.scratch = effects;
    }
}
