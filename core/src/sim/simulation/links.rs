//! Messages between processes: sending, arriving, waiting behind others, getting lost.

use super::Sim;
use super::slot::{Body, Event, OpenRequest, Packet};
use crate::base::ids::{CorrelationId, NodeId, PacketId};
use crate::kernel::network::Fate;
use crate::kernel::time::{SimTime, Span};
use crate::trace::event::{Disconnect, TraceEvent};
use crate::trace::out::ReplyTo;
use crate::wire::api::{ApiKey, Request, Response};
use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

/// Connections by both ends and purpose. A broker reads the next request of a connection only when
/// the one before has been answered (`SocketServer` mutes the channel), so a parked request holds
/// up those behind it.
pub(super) type Connections = BTreeMap<(NodeId, NodeId, u8), Connection>;

/// One connection, from the server's side.
#[derive(Clone, Debug, Default)]
pub(super) struct Connection {
    /// The request that has no answer yet.
    busy_with: Option<CorrelationId>,
    /// Requests that wait in the socket.
    waiting: VecDeque<PacketId>,
    /// The handshake of a client that learns of the connection's end although no request of it waits
    /// for an answer (`acks=0`).
    opened_by: Option<CorrelationId>,
}

/// Kafka's clients keep connections apart by purpose: a consumer's coordinator, a broker's
/// heartbeats and its fetches each have their own.
const fn channel(api: ApiKey) -> u8 {
    match api {
        ApiKey::Fetch
        | ApiKey::ListOffsets
        | ApiKey::OffsetForLeaderEpoch
        | ApiKey::Metadata
        | ApiKey::FindCoordinator => 0,
        ApiKey::JoinGroup
        | ApiKey::SyncGroup
        | ApiKey::Heartbeat
        | ApiKey::LeaveGroup
        | ApiKey::ConsumerGroupHeartbeat
        | ApiKey::OffsetCommit
        | ApiKey::OffsetFetch => 1,
        ApiKey::ApiVersions
        | ApiKey::Produce
        | ApiKey::InitProducerId
        | ApiKey::AddPartitionsToTxn
        | ApiKey::AddOffsetsToTxn
        | ApiKey::TxnOffsetCommit
        | ApiKey::EndTxn => 2,
        ApiKey::BrokerRegistration | ApiKey::BrokerHeartbeat => 3,
        ApiKey::AlterPartition => 4,
        ApiKey::FetchMetadataLog => 5,
        ApiKey::CreateTopics
        | ApiKey::DeleteTopics
        | ApiKey::CreatePartitions
        | ApiKey::IncrementalAlterConfigs
        | ApiKey::ElectLeaders => 6,
        ApiKey::WriteTxnMarkers => 7,
        ApiKey::Vote | ApiKey::BeginQuorumEpoch | ApiKey::EndQuorumEpoch => 8,
        ApiKey::DeleteRecords => 9,
    }
}

impl Sim {
    pub(super) fn send_request(
        &mut self,
        (from, to, correlation): (NodeId, NodeId, CorrelationId),
        body: Request,
        timeout: Option<Span>,
        cause: u64,
    ) {
        let body = Arc::new(body);
        let to_incarnation = self
            .nodes
            .get(&to)
            .filter(|slot| slot.is_up())
            .map(|slot| slot.incarnation);
        let api = body.api_key();
        self.put_on_wire(
            (from, to, correlation),
            Body::Request(body),
            (to_incarnation, timeout.is_some()),
            cause,
        );
        let Some(timeout) = timeout else { return };
        let deadline = self.now + timeout;
        let Some(slot) = self.nodes.get_mut(&from) else {
            return;
        };
        slot.open.insert(
            correlation,
            OpenRequest {
                to,
                api,
                deadline,
                parked: None,
            },
        );
        if slot.request_check_at.is_none_or(|at| deadline < at) {
            slot.request_check_at = Some(deadline);
            let incarnation = slot.incarnation;
            self.queue.push(
                deadline,
                Event::RequestCheck {
                    node: from,
                    incarnation,
                },
            );
        }
    }

    pub(super) fn send_response(
        &mut self,
        from: NodeId,
        reply: ReplyTo,
        body: Response,
        cause: u64,
    ) {
        let api = body.api_key();
        let to = reply.node;
        let open = self.nodes.get_mut(&to).map(|slot| {
            let request = slot.open.get_mut(&reply.correlation);
            let is_open = request.is_some();
            if let Some(request) = request {
                request.parked = None;
            }
            (slot.incarnation, is_open)
        });
        self.free_connection((to, from, channel(api)), reply.correlation);
        // Nobody waits for an answer to a connection that has been closed.
        let Some((incarnation, true)) = open else {
            return;
        };
        self.put_on_wire(
            (from, to, reply.correlation),
            Body::Response(Arc::new(body)),
            (Some(incarnation), false),
            cause,
        );
    }

    fn put_on_wire(
        &mut self,
        (from, to, correlation): (NodeId, NodeId, CorrelationId),
        body: Body,
        (to_incarnation, wants_answer): (Option<u32>, bool),
        cause: u64,
    ) {
        let id = PacketId(self.next_packet);
        self.next_packet += 1;
        let wanted = (from, to, body.api_key());
        let dropped = self.drops.iter().position(|drop| *drop == wanted);
        let extra = self.extra_delay(from, to, &body);
        let due_at = match self.network.send(self.now, from, to) {
            _ if dropped.is_some() => None,
            Fate::Arrives(at) => Some(at + extra),
            Fate::Stalls => None,
        };
        let event = match &body {
            Body::Request(body) => TraceEvent::RequestSent {
                packet: id,
                to,
                correlation,
                body: body.clone(),
                due_at,
            },
            Body::Response(body) => TraceEvent::ResponseSent {
                packet: id,
                to,
                correlation,
                body: body.clone(),
                due_at,
            },
        };
        let entry = self.note(from, Some(cause), event);
        if let Some(place) = dropped {
            // Its sender does not notice, its receiver waits in vain.
            self.drops.remove(place);
            let reason = Disconnect::Dropped;
            let lost = TraceEvent::PacketLost {
                packet: id,
                to,
                reason,
            };
            self.note(from, Some(entry), lost);
            return;
        }
        if let Some(at) = due_at {
            self.queue.push(at, Event::Deliver(id));
        }
        let from_incarnation = self.nodes.get(&from).map_or(0, |slot| slot.incarnation);
        let packet = Packet {
            id,
            from,
            to,
            correlation,
            body,
            to_incarnation,
            from_incarnation,
            sent_at: self.now,
            due_at,
            entry,
            wants_answer,
            has_passed_disk: false,
        };
        self.packets.insert(id, packet);
    }

    /// A message arrives.
    pub(super) fn deliver(&mut self, id: PacketId) {
        let now = self.now;
        let packet = self.packets.get(&id);
        // One that somebody delays arrives when that is over.
        let arrived = packet.filter(|packet| packet.due_at.is_none_or(|due_at| due_at <= now));
        let Some(to) = arrived.map(|packet| packet.to) else {
            return;
        };
        let Some(slot) = self.nodes.get_mut(&to) else {
            return;
        };
        if slot.defer(|| Event::Deliver(id)) {
            return;
        }
        if self.waits_for_disk(id) {
            return;
        }
        let Some(packet) = self.packets.remove(&id) else {
            return;
        };
        match &packet.body {
            Body::Request(body) => self.deliver_request(&packet, &body.clone()),
            Body::Response(body) => self.deliver_response(&packet, &body.clone()),
        }
    }

    fn deliver_request(&mut self, packet: &Packet, body: &Arc<Request>) {
        let Some(slot) = self.nodes.get(&packet.to) else {
            return;
        };
        if !slot.is_up() || slot.node.refuses() {
            self.lose(packet, Disconnect::ConnectionRefused);
            return;
        }
        if packet
            .to_incarnation
            .is_some_and(|incarnation| incarnation != slot.incarnation)
        {
            self.lose(packet, Disconnect::PeerDied);
            return;
        }
        if packet.wants_answer {
            let key = (packet.from, packet.to, channel(body.api_key()));
            let connection = self.connections.entry(key).or_default();
            if connection
                .busy_with
                .is_some_and(|busy| busy != packet.correlation)
            {
                connection.waiting.push_back(packet.id);
                self.packets.insert(packet.id, packet.clone());
                return;
            }
            connection.busy_with = Some(packet.correlation);
            if matches!(**body, Request::ApiVersions(_)) {
                connection.opened_by = Some(packet.correlation);
            }
        }
        let cause = self.note_delivery(packet);
        let reply = ReplyTo {
            node: packet.from,
            correlation: packet.correlation,
        };
        self.run_handler(packet.to, cause, |node, out| {
            node.on_request(reply, body, out);
        });
    }

    fn deliver_response(&mut self, packet: &Packet, body: &Arc<Response>) {
        let Some(slot) = self.nodes.get_mut(&packet.to) else {
            return;
        };
        let is_same_process = slot.is_up()
            && packet
                .to_incarnation
                .is_none_or(|one| one == slot.incarnation);
        if !is_same_process || slot.open.remove(&packet.correlation).is_none() {
            let reason = if is_same_process {
                Disconnect::RequestTimedOut
            } else {
                Disconnect::PeerDied
            };
            let lost = TraceEvent::PacketLost {
                packet: packet.id,
                to: packet.to,
                reason,
            };
            self.note(packet.from, Some(packet.entry), lost);
            return;
        }
        let cause = self.note_delivery(packet);
        self.run_handler(packet.to, cause, |node, out| {
            node.on_response(packet.from, packet.correlation, body, out);
        });
    }

    fn note_delivery(&mut self, packet: &Packet) -> u64 {
        let delivered = TraceEvent::Delivered {
            packet: packet.id,
            from: packet.from,
            correlation: packet.correlation,
            api: packet.body.api_key(),
            is_response: packet.body.is_response(),
        };
        self.note(packet.to, Some(packet.entry), delivered)
    }

    /// A broker closes the connection over which it got a request: what is on its way there is lost,
    /// and the client hears of it one trip later.
    pub(super) fn close_from(&mut self, node: NodeId, reply: ReplyTo) {
        let client = reply.node;
        self.close_connection((client, node, channel(ApiKey::Produce)));
        let on_wire: Vec<PacketId> = self
            .packets
            .values()
            .filter(|one| one.from == client && one.to == node && !one.wants_answer)
            .filter(|one| !one.body.is_response())
            .map(|one| one.id)
            .collect();
        for id in on_wire {
            if let Some(packet) = self.packets.remove(&id) {
                let reason = Disconnect::Closed;
                let lost = TraceEvent::PacketLost {
                    packet: id,
                    to: node,
                    reason,
                };
                self.note(packet.from, Some(packet.entry), lost);
            }
        }
        self.announce_closed(client, (node, reply.correlation));
    }

    /// A client is to learn that a broker has closed its connection, one trip later.
    fn announce_closed(&mut self, client: NodeId, reply: (NodeId, CorrelationId)) {
        let Some(incarnation) = self.nodes.get(&client).map(|slot| slot.incarnation) else {
            return;
        };
        if let Fate::Arrives(at) = self.network.send(self.now, reply.0, client) {
            let event = Event::Closed {
                node: client,
                incarnation,
                reply,
            };
            self.queue.push(at, event);
        }
    }

    /// A client learns that a broker has closed its connection.
    pub(super) fn closed(
        &mut self,
        node: NodeId,
        incarnation: u32,
        (peer, correlation): (NodeId, CorrelationId),
    ) {
        let Some(slot) = self.nodes.get_mut(&node) else {
            return;
        };
        if slot.incarnation != incarnation || !slot.is_up() {
            return;
        }
        let reply = (peer, correlation);
        if slot.defer(|| Event::Closed {
            node,
            incarnation,
            reply,
        }) {
            return;
        }
        let reason = Disconnect::Closed;
        let event = TraceEvent::Disconnected {
            peer,
            correlation,
            api: ApiKey::Produce,
            reason,
        };
        let cause = self.note(node, None, event);
        self.run_handler(node, cause, |process, out| {
            process.on_disconnect(peer, correlation, reason, out);
        });
    }

    /// A request reaches nobody: its sender hears of it, if the way back is open.
    fn lose(&mut self, packet: &Packet, reason: Disconnect) {
        let lost = TraceEvent::PacketLost {
            packet: packet.id,
            to: packet.to,
            reason,
        };
        self.note(packet.from, Some(packet.entry), lost);
        self.announce_disconnect(packet.to, packet.from, packet.correlation, reason);
    }

    /// Tells `node` that its request to `peer` gets no answer, one trip later.
    fn announce_disconnect(
        &mut self,
        peer: NodeId,
        node: NodeId,
        correlation: CorrelationId,
        reason: Disconnect,
    ) {
        let Some(incarnation) = self.nodes.get(&node).map(|slot| slot.incarnation) else {
            return;
        };
        if let Fate::Arrives(at) = self.network.send(self.now, peer, node) {
            self.queue.push(
                at,
                Event::Disconnect {
                    node,
                    incarnation,
                    correlation,
                    reason,
                },
            );
        }
    }

    /// A node learns that a request gets no answer.
    pub(super) fn disconnect(
        &mut self,
        node: NodeId,
        correlation: CorrelationId,
        reason: Disconnect,
    ) {
        let Some(slot) = self.nodes.get_mut(&node) else {
            return;
        };
        let Some(request) = slot.open.remove(&correlation) else {
            return;
        };
        let key = (node, request.to, channel(request.api));
        self.close_connection(key);
        let event = TraceEvent::Disconnected {
            peer: request.to,
            correlation,
            api: request.api,
            reason,
        };
        let cause = self.note(node, None, event);
        self.run_handler(node, cause, |process, out| {
            process.on_disconnect(request.to, correlation, reason, out);
        });
    }

    /// Ends the wait for answers whose time is up; each closes its whole connection.
    pub(super) fn check_requests(&mut self, node: NodeId, incarnation: u32) {
        let Some(slot) = self.nodes.get_mut(&node) else {
            return;
        };
        if slot.incarnation != incarnation || !slot.is_up() {
            return;
        }
        if slot.defer(|| Event::RequestCheck { node, incarnation }) {
            return;
        }
        let now = self.now;
        let expired: Vec<(NodeId, u8)> = slot
            .open
            .values()
            .filter(|request| request.deadline <= now)
            .map(|request| (request.to, channel(request.api)))
            .collect();
        let closing: Vec<CorrelationId> = slot
            .open
            .iter()
            .filter(|(_, request)| expired.contains(&(request.to, channel(request.api))))
            .map(|(correlation, _)| *correlation)
            .collect();
        for correlation in closing {
            self.disconnect(node, correlation, Disconnect::RequestTimedOut);
        }
        let Some(slot) = self.nodes.get_mut(&node) else {
            return;
        };
        slot.request_check_at = slot.open.values().map(|request| request.deadline).min();
        if let Some(at) = slot.request_check_at {
            self.queue
                .push(at.max(now), Event::RequestCheck { node, incarnation });
        }
    }

    /// A request has been answered: the next one on its connection is read.
    fn free_connection(&mut self, key: (NodeId, NodeId, u8), correlation: CorrelationId) {
        let Some(connection) = self.connections.get_mut(&key) else {
            return;
        };
        if connection.busy_with != Some(correlation) {
            return;
        }
        connection.busy_with = None;
        if let Some(next) = connection.waiting.pop_front() {
            connection.busy_with = self.packets.get(&next).map(|packet| packet.correlation);
            self.queue.push(self.now, Event::Deliver(next));
        }
    }

    /// A connection is closed: what waits in its socket is gone.
    fn close_connection(&mut self, key: (NodeId, NodeId, u8)) {
        let Some(connection) = self.connections.remove(&key) else {
            return;
        };
        for id in connection.waiting {
            if let Some(packet) = self.packets.remove(&id) {
                let reason = Disconnect::RequestTimedOut;
                let lost = TraceEvent::PacketLost {
                    packet: id,
                    to: packet.to,
                    reason,
                };
                self.note(packet.from, Some(packet.entry), lost);
            }
        }
    }

    /// A process is gone: its connections break, and whoever waits for its answers hears of it.
    pub(super) fn break_connections(&mut self, node: NodeId) {
        let keys: Vec<_> = self
            .connections
            .keys()
            .filter(|(from, to, _)| *from == node || *to == node)
            .copied()
            .collect();
        for key in keys {
            let opened_by = self.connections.get(&key).and_then(|one| one.opened_by);
            self.close_connection(key);
            if let (Some(correlation), (client, true)) = (opened_by, (key.0, key.1 == node)) {
                self.announce_closed(client, (node, correlation));
            }
        }
        let on_wire: Vec<(NodeId, CorrelationId)> = self
            .packets
            .values()
            .filter(|packet| packet.from == node && packet.body.is_response())
            .map(|packet| (packet.to, packet.correlation))
            .collect();
        let mut waiting: Vec<(NodeId, CorrelationId)> = Vec::new();
        for (requester, slot) in &self.nodes {
            for (correlation, request) in &slot.open {
                // An answer that is on the wire still arrives.
                let is_answered = on_wire.contains(&(*requester, *correlation));
                if request.to == node && !is_answered && self.was_received(*requester, *correlation)
                {
                    waiting.push((*requester, *correlation));
                }
            }
        }
        for (requester, correlation) in waiting {
            self.announce_disconnect(node, requester, correlation, Disconnect::PeerDied);
        }
    }

    /// Whether a request is no longer on the wire.
    fn was_received(&self, requester: NodeId, correlation: CorrelationId) -> bool {
        !self.packets.values().any(|packet| {
            packet.from == requester
                && packet.correlation == correlation
                && !packet.body.is_response()
        })
    }

    /// A link passes messages again: what it held is on its way, unless nobody wants it any more.
    pub(super) fn release_stalled(&mut self, from: NodeId, to: NodeId, cause: u64) {
        let held: Vec<PacketId> = self
            .packets
            .values()
            .filter(|packet| packet.from == from && packet.to == to && packet.due_at.is_none())
            .map(|packet| packet.id)
            .collect();
        for id in held {
            let Some(packet) = self.packets.get(&id) else {
                continue;
            };
            let is_wanted = match packet.body {
                Body::Request(_) => self.nodes.get(&from).is_some_and(|slot| {
                    slot.incarnation == packet.from_incarnation
                        && (!packet.wants_answer || slot.open.contains_key(&packet.correlation))
                }),
                Body::Response(_) => true,
            };
            let entry = packet.entry;
            let fate = self.network.send(self.now, from, to);
            match fate {
                Fate::Arrives(due_at) if is_wanted => {
                    if let Some(packet) = self.packets.get_mut(&id) {
                        packet.due_at = Some(due_at);
                    }
                    self.note(
                        from,
                        Some(cause),
                        TraceEvent::PacketResumed { packet: id, due_at },
                    );
                    self.queue.push(due_at, Event::Deliver(id));
                }
                Fate::Arrives(_) | Fate::Stalls => {
                    self.packets.remove(&id);
                    let reason = Disconnect::RequestTimedOut;
                    let lost = TraceEvent::PacketLost {
                        packet: id,
                        to,
                        reason,
                    };
                    self.note(from, Some(entry), lost);
                }
            }
        }
    }

    /// Messages on the wire with the time of their arrival; one that waits in a socket has arrived.
    pub(super) fn wire(&self) -> impl Iterator<Item = &Packet> {
        let now: SimTime = self.now;
        self.packets
            .values()
            .filter(move |packet| packet.due_at.is_none_or(|due| now <= due))
    }
}
