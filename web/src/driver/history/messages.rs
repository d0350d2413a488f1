//! Messages that were on the wire.

use super::track::Moment;
use std::collections::VecDeque;
use terrarium_core::base::ids::{CorrelationId, NodeId, PacketId};
use terrarium_core::kernel::time::{SimTime, Span};
use terrarium_core::wire::api::ApiKey;
use terrarium_core::wire::error_code::ErrorCode;

/// A message from its sending on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Message {
    /// Which.
    pub packet: PacketId,
    /// The entry of its sending.
    pub sent: Moment,
    /// When it arrives, as its sending told; unset when a cut link held it.
    pub due_at: Option<SimTime>,
    /// When a held message went on, and when it arrives then.
    pub resumed: Option<(Moment, SimTime)>,
    /// What became of it; unset while it is on its way.
    pub end: Option<(Moment, Fate)>,
    /// Its sender.
    pub from: NodeId,
    /// Its receiver.
    pub to: NodeId,
    /// Pairs request and response.
    pub correlation: CorrelationId,
    /// Its API.
    pub api: ApiKey,
    /// Whether it is a response.
    pub is_response: bool,
    /// The error that a response of the group coordinator carries.
    pub error_code: ErrorCode,
}

/// What became of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fate {
    /// It arrived.
    Delivered,
    /// It never will.
    Lost,
}

impl Message {
    /// What became of it, for someone who knows only the first `clip` entries.
    pub(crate) fn end(&self, clip: u64) -> Option<(Moment, Fate)> {
        self.end.filter(|(moment, _)| moment.index < clip)
    }

    /// When it arrives, or arrived; unset while a cut link holds it.
    pub(crate) fn arrival(&self, clip: u64) -> Option<SimTime> {
        let resumed = self
            .resumed
            .filter(|(moment, _)| moment.index < clip)
            .map(|(_, due)| due);
        self.end(clip)
            .map(|(moment, _)| moment.at)
            .or(resumed)
            .or(self.due_at)
    }
}

/// Messages in the order of sending; the oldest are dropped beyond a limit.
#[derive(Clone, Debug, Default)]
pub(crate) struct Messages {
    items: VecDeque<Message>,
    /// The longest that a message was on its way, for finding those under way at an instant.
    longest: Span,
}

impl Messages {
    /// A message is sent.
    pub(crate) fn send(&mut self, message: Message) {
        self.items.push_back(message);
        if MESSAGES_MAX < self.items.len() {
            self.items.drain(..MESSAGES_MAX / 4);
        }
    }

    /// A message arrives or is lost.
    pub(crate) fn finish(&mut self, packet: PacketId, at: Moment, fate: Fate) {
        let mut sent_at = None;
        if let Some(message) = self.find_mut(packet) {
            message.end = Some((at, fate));
            sent_at = Some(message.sent.at);
        }
        if let Some(sent_at) = sent_at {
            self.longest = self.longest.max(at.at.since(sent_at));
        }
    }

    /// A held message is on its way again.
    pub(crate) fn resume(&mut self, packet: PacketId, at: Moment, due_at: SimTime) {
        if let Some(message) = self.find_mut(packet) {
            message.resumed = Some((at, due_at));
        }
    }

    /// Those on the wire at some time between `from` and `to`, as the first `clip` entries tell.
    pub(crate) fn seen(
        &self,
        from: SimTime,
        to: SimTime,
        clip: u64,
    ) -> impl Iterator<Item = &Message> {
        let earliest = SimTime(from.0.saturating_sub(self.longest.0));
        let first = self
            .items
            .partition_point(|message| message.sent.at < earliest);
        let last = self.items.partition_point(|message| message.sent.at <= to);
        self.items
            .range(first..last.max(first))
            .filter(move |message| {
                message.sent.index < clip
                    && message
                        .end(clip)
                        .is_none_or(|(moment, _)| from <= moment.at)
            })
    }

    /// Forgets what the entries from `index` on told.
    pub(crate) fn cut(&mut self, index: u64) {
        while self
            .items
            .back()
            .is_some_and(|message| index <= message.sent.index)
        {
            self.items.pop_back();
        }
        for message in &mut self.items {
            if message.end.is_some_and(|(moment, _)| index <= moment.index) {
                message.end = None;
            }
            if message
                .resumed
                .is_some_and(|(moment, _)| index <= moment.index)
            {
                message.resumed = None;
            }
        }
    }

    /// All that it holds, in the order of sending.
    #[cfg(test)]
    pub(crate) fn all(&self) -> &VecDeque<Message> {
        &self.items
    }

    fn find_mut(&mut self, packet: PacketId) -> Option<&mut Message> {
        let place = self
            .items
            .partition_point(|message| message.packet < packet);
        self.items
            .get_mut(place)
            .filter(|message| message.packet == packet)
    }
}

const MESSAGES_MAX: usize = 160_000;
