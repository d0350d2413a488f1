//! Produce requests that get no answer (`acks=0`): what becomes of the records in them.

use crate::base::config::Acks;
use crate::base::ids::{PacketId, TopicPartition};
use crate::trace::event::{TraceEntry, TraceEvent};
use crate::wire::api::Request;

/// The records of some partitions.
type Records = Vec<(TopicPartition, u64)>;

/// The requests that are on their way, and the one that arrived last.
#[derive(Clone, Debug, Default)]
pub(super) struct Unanswered {
    on_wire: Vec<(PacketId, Records)>,
    /// The entry of its arrival and its partitions.
    arrived: Option<(u64, Records)>,
}

impl Unanswered {
    /// Takes a message in. What is lost with it is returned.
    #[expect(
        clippy::wildcard_enum_match_arm,
        reason = "names the events that concern messages"
    )]
    pub(super) fn follow(&mut self, entry: &TraceEntry) -> Records {
        match &entry.event {
            TraceEvent::RequestSent { packet, body, .. } => {
                if let Request::Produce(request) = &**body
                    && request.acks == Acks::None
                {
                    let batches = request.batches.iter();
                    let records = batches.map(|(id, batch)| (*id, batch.records.len() as u64));
                    self.on_wire.push((*packet, records.collect()));
                }
                Records::new()
            }
            TraceEvent::Delivered { packet, .. } => {
                if let Some(records) = self.take(*packet) {
                    self.arrived = Some((entry.index, records));
                }
                Records::new()
            }
            TraceEvent::PacketLost { packet, .. } => self.take(*packet).unwrap_or_default(),
            _ => Records::new(),
        }
    }

    /// Whether the request that arrived last brought what a leader appends.
    pub(super) fn has_brought(&self, entry: &TraceEntry, topic_partition: TopicPartition) -> bool {
        self.arrived.as_ref().is_some_and(|(arrival, records)| {
            entry.cause == Some(*arrival) && records.iter().any(|(id, _)| *id == topic_partition)
        })
    }

    fn take(&mut self, packet: PacketId) -> Option<Records> {
        let place = self.on_wire.iter().position(|(id, _)| *id == packet)?;
        Some(self.on_wire.swap_remove(place).1)
    }
}
