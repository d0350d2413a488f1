//! What slows or loses messages on purpose: disks, followers, links, single messages, timers.

use super::Sim;
use super::slot::{Body, Event, Packet};
use crate::base::ids::{NodeId, PacketId};
use crate::kernel::network::LinkConfig;
use crate::kernel::rng::Ratio;
use crate::kernel::time::{SimTime, Span};
use crate::sim::command::{CommandError, Fault};
use crate::sim::view::ProcessState;
use crate::trace::event::{Disconnect, TraceEvent};
use crate::wire::api::{Request, Response};

/// What a person has made slow at one node.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Handicap {
    /// Each append takes this long; nothing for a healthy disk.
    disk: Span,
    /// When the disk is done with the appends that it has.
    disk_free_at: SimTime,
    /// Each fetch from a leader leaves this much later.
    fetch: Span,
}

impl Sim {
    /// Whether a fault is possible now.
    pub(super) fn check_fault(&self, fault: &Fault) -> Result<(), CommandError> {
        match fault {
            Fault::SlowDisk(id, _) | Fault::HealDisk(id) | Fault::SlowFollower(id, _) => {
                self.known_broker(*id).map(|_process| ())
            }
            Fault::CutWay(from, to)
            | Fault::DelayLink { from, to, .. }
            | Fault::LoseLink { from, to, .. }
            | Fault::DelayNext(from, to, ..) => self.check_link(*from, *to),
            Fault::DropMessage(id) | Fault::DelayMessage(id, _) => {
                let is_on_its_way = |packet: &Packet| self.wire().any(|one| one.id == packet.id);
                let packet = self.packets.get(id).filter(|packet| is_on_its_way(packet));
                packet
                    .map(|_packet| ())
                    .ok_or(CommandError::NoSuchMessage(*id))
            }
            Fault::ExpireTimer(node, timer) => {
                self.check_process(*node)?;
                let pending = self.pending_timers(*node);
                let is_meant = |name: &&String| means(timer, name);
                if pending.iter().filter(is_meant).count() == 1 {
                    return Ok(());
                }
                let timer = timer.clone();
                Err(CommandError::NoSuchTimer { timer, pending })
            }
        }
    }

    /// Both ends of a link must exist, and differ.
    pub(super) fn check_link(&self, from: NodeId, to: NodeId) -> Result<(), CommandError> {
        for node in [from, to] {
            match node {
                NodeId::Controller(id) => self.known_controller(id)?,
                NodeId::Broker(id) => self.known_broker(id)?,
                NodeId::Client(id) => self.known_client(id)?,
            };
        }
        if from == to {
            Err(CommandError::LinkToItself)
        } else {
            Ok(())
        }
    }

    fn check_process(&self, node: NodeId) -> Result<(), CommandError> {
        match node {
            NodeId::Controller(id) => self.check_controller(id, true),
            NodeId::Broker(id) => self.check_broker(id, true),
            NodeId::Client(id) => self.check_client(id, true),
        }
    }

    /// The armed timers of a node, as `expire-timer` names them.
    fn pending_timers(&self, node: NodeId) -> Vec<String> {
        let slot = self.nodes.get(&node);
        let timers = slot.into_iter().flat_map(|slot| slot.timers.keys());
        timers.map(ToString::to_string).collect()
    }

    /// Brings a fault about.
    pub(super) fn apply_fault(&mut self, fault: &Fault, cause: u64) {
        match *fault {
            Fault::SlowDisk(id, time) => self.handicap(NodeId::Broker(id)).disk = time,
            Fault::HealDisk(id) => self.handicap(NodeId::Broker(id)).disk = Span::ZERO,
            Fault::SlowFollower(id, time) => self.handicap(NodeId::Broker(id)).fetch = time,
            Fault::CutWay(from, to) => self.cut_way(from, to, true, cause),
            Fault::DelayLink {
                from,
                to,
                delay,
                one_way,
            } => {
                for (from, to) in ways(from, to, one_way) {
                    let own = self.own_link(from, to);
                    let mut link = self.network.link(from, to);
                    link.latency_us = own.latency_us.saturating_add(delay.0);
                    self.network.set_link(from, to, link);
                }
            }
            Fault::LoseLink {
                from,
                to,
                percent,
                one_way,
            } => {
                for (from, to) in ways(from, to, one_way) {
                    let mut link = self.network.link(from, to);
                    link.loss = Ratio {
                        numerator: percent,
                        denominator: 100,
                    };
                    self.network.set_link(from, to, link);
                }
            }
            Fault::DelayNext(from, to, api, time) => self.delays.push((from, to, api, time)),
            Fault::DropMessage(id) => {
                // Its sender does not notice, its receiver waits in vain.
                if let Some(packet) = self.packets.remove(&id) {
                    let (to, reason) = (packet.to, Disconnect::Dropped);
                    let lost = TraceEvent::PacketLost {
                        packet: id,
                        to,
                        reason,
                    };
                    self.note(packet.from, Some(cause), lost);
                }
            }
            Fault::DelayMessage(id, time) => self.delay_message(id, time, cause),
            Fault::ExpireTimer(node, ref timer) => self.expire_timer(node, timer),
        }
    }

    /// The message arrives later than it would. One that a cut link holds goes on waiting.
    fn delay_message(&mut self, id: PacketId, time: Span, cause: u64) {
        let Some(packet) = self.packets.get_mut(&id) else {
            return;
        };
        let from = packet.from;
        if let Some(due_at) = packet.due_at.map(|due_at| due_at + time) {
            packet.due_at = Some(due_at);
            self.note(
                from,
                Some(cause),
                TraceEvent::PacketResumed { packet: id, due_at },
            );
            self.queue.push(due_at, Event::Deliver(id));
        }
    }

    fn handicap(&mut self, node: NodeId) -> &mut Handicap {
        let slot = self.nodes.get_mut(&node);
        &mut slot
            .expect("invariant: the command has been checked")
            .handicap
    }

    /// The timer runs out now instead of later.
    fn expire_timer(&mut self, node: NodeId, name: &str) {
        let now = self.now;
        let Some(slot) = self.nodes.get_mut(&node) else {
            return;
        };
        let stamp = slot.next_stamp;
        let mut timers = slot.timers.iter_mut();
        if let Some((timer, armed)) = timers.find(|(timer, _)| means(name, &timer.to_string())) {
            slot.next_stamp += 1;
            armed.stamp = stamp;
            armed.due_at = now;
            let timer = timer.clone();
            self.queue.push(now, Event::Timer { node, timer, stamp });
        }
    }

    /// How the scenario makes a direction behave.
    fn own_link(&self, from: NodeId, to: NodeId) -> LinkConfig {
        let mut own = self.scenario.links.iter().rev();
        let found = own.find(|link| (link.0, link.1) == (from, to));
        found.map_or(self.scenario.network, |link| link.2)
    }

    /// Cuts or heals one direction; a healed one is as the scenario made it.
    pub(super) fn cut_way(&mut self, from: NodeId, to: NodeId, is_cut: bool, cause: u64) {
        self.network.set_cut(from, to, is_cut);
        let changed = TraceEvent::LinkChanged { to, is_cut };
        self.note(from, Some(cause), changed);
        if !is_cut {
            let own = self.own_link(from, to);
            self.network.set_link(from, to, own);
            self.release_stalled(from, to, cause);
        }
    }

    /// How much later than the link alone makes it a message arrives.
    pub(super) fn extra_delay(&mut self, from: NodeId, to: NodeId, body: &Body) -> Span {
        let mut extra = Span::ZERO;
        if let Body::Request(request) = body
            && let Request::Fetch(fetch) = &**request
            && fetch.replica_id.is_some()
        {
            let slot = self.nodes.get(&from);
            extra = slot.map_or(Span::ZERO, |slot| slot.handicap.fetch);
        }
        let wanted = (from, to, body.api_key());
        let mut delays = self.delays.iter();
        let place = delays.position(|(from, to, api, _)| (*from, *to, *api) == wanted);
        if let Some(place) = place {
            extra = extra + self.delays.remove(place).3;
        }
        extra
    }

    /// Whether a message that has arrived must wait for the disk before it is worked on: a broker
    /// with a slow disk takes up one append after another.
    pub(super) fn waits_for_disk(&mut self, id: PacketId) -> bool {
        let now = self.now;
        let Some(packet) = self.packets.get_mut(&id) else {
            return false;
        };
        let Some(slot) = self.nodes.get_mut(&packet.to) else {
            return false;
        };
        let is_slow = slot.handicap.disk != Span::ZERO && slot.process == ProcessState::Running;
        if !is_slow || packet.has_passed_disk || !appends(packet) {
            return false;
        }
        let done_at = slot.handicap.disk_free_at.max(now) + slot.handicap.disk;
        slot.handicap.disk_free_at = done_at;
        packet.has_passed_disk = true;
        packet.due_at = Some(done_at);
        self.queue.push(done_at, Event::Deliver(id));
        true
    }
}

/// Whether `text`, which a person wrote, means the timer called `name`: all of it, or without what
/// stands after the colon.
fn means(text: &str, name: &str) -> bool {
    let kind = name.split_once(':').map_or(name, |(kind, _)| kind);
    text == name || text == kind
}

/// The directions that a fault is about.
fn ways(from: NodeId, to: NodeId, one_way: bool) -> Vec<(NodeId, NodeId)> {
    if one_way {
        vec![(from, to)]
    } else {
        vec![(from, to), (to, from)]
    }
}

/// Whether taking a message in makes a broker append to a partition: records of a producer, offsets
/// of a group, the end of a transaction, or what a leader sent to its follower.
fn appends(packet: &Packet) -> bool {
    match &packet.body {
        Body::Request(request) => matches!(
            **request,
            Request::Produce(_)
                | Request::OffsetCommit(_)
                | Request::TxnOffsetCommit(_)
                | Request::WriteTxnMarkers(_)
        ),
        Body::Response(response) => {
            if let Response::Fetch(fetch) = &**response {
                let mut partitions = fetch.partitions.iter();
                packet.to.broker().is_some() && partitions.any(|one| !one.batches.is_empty())
            } else {
                false
            }
        }
    }
}
