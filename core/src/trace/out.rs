//! What a handler wants done.
//!
//! Handlers decide; they touch neither the network nor a clock. They write effects here, in order,
//! and the simulation carries them out when the handler has returned.

use super::event::TraceEvent;
use crate::base::ids::{CorrelationId, NodeId};
use crate::base::timer::Timer;
use crate::kernel::time::{SimTime, Span};
use crate::wire::api::{Request, Response};
use std::sync::Arc;

/// One thing to be done.
#[derive(Clone, Debug)]
pub enum Effect {
    /// Put a request on the wire.
    Request {
        /// The receiver.
        to: NodeId,
        /// Pairs it with its response.
        correlation: CorrelationId,
        /// Its fields.
        body: Request,
        /// After this time without an answer the connection counts as lost; unset when no answer
        /// will come.
        timeout: Option<Span>,
    },
    /// Answer a request.
    Response {
        /// Whom, and which request.
        reply: ReplyTo,
        /// The answer.
        body: Response,
    },
    /// Close the connection that a request came over.
    Close(ReplyTo),
    /// Arm a timer, in place of an earlier one of the same name.
    Arm(Timer, SimTime),
    /// Cancel a timer, if it is armed.
    Cancel(Timer),
    /// Note what happened.
    Trace(TraceEvent),
    /// Note what the metadata record at this offset brings about, unless that has been noted.
    TraceCommitted(i64, Vec<TraceEvent>),
    /// The process ends.
    Exit(Exit),
}

/// How a process ends.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Exit {
    /// It crashes; a restart policy may bring it back.
    Crash(Arc<str>),
    /// It has closed everything.
    Stopped(Arc<str>),
}

/// Where an answer goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize)]
pub struct ReplyTo {
    /// Who asked.
    pub node: NodeId,
    /// Which of its requests.
    pub correlation: CorrelationId,
}

/// The effects of one handler.
#[derive(Debug)]
pub struct Out {
    /// The time at which the handler runs.
    pub now: SimTime,
    effects: Vec<Effect>,
    next_correlation: u64,
}

impl Out {
    /// Nothing yet, at `now`; requests are numbered from `next_correlation` on.
    pub const fn new(now: SimTime, effects: Vec<Effect>, next_correlation: u64) -> Self {
        Self {
            now,
            effects,
            next_correlation,
        }
    }

    /// Sends `body` to `to` and gives the id that the response will carry.
    pub fn request(&mut self, to: NodeId, body: Request, timeout: Span) -> CorrelationId {
        let correlation = CorrelationId(self.next_correlation);
        self.next_correlation += 1;
        self.effects.push(Effect::Request {
            to,
            correlation,
            body,
            timeout: Some(timeout),
        });
        correlation
    }

    /// Sends `body` to `to`, which will not answer (`acks=0`).
    pub fn send(&mut self, to: NodeId, body: Request) {
        let correlation = CorrelationId(self.next_correlation);
        self.next_correlation += 1;
        self.effects.push(Effect::Request {
            to,
            correlation,
            body,
            timeout: None,
        });
    }

    /// Answers a request.
    pub fn respond(&mut self, reply: ReplyTo, body: Response) {
        self.effects.push(Effect::Response { reply, body });
    }

    /// Closes the connection that a request came over, which gets no answer.
    pub fn close_connection(&mut self, reply: ReplyTo) {
        self.effects.push(Effect::Close(reply));
    }

    /// Arms `timer` to fire after `delay`.
    pub fn arm(&mut self, timer: Timer, delay: Span) {
        let due_at = self.now + delay;
        self.arm_at(timer, due_at);
    }

    /// Arms `timer` to fire at `due_at`.
    pub fn arm_at(&mut self, timer: Timer, due_at: SimTime) {
        self.effects.push(Effect::Arm(timer, due_at));
    }

    /// Cancels `timer`.
    pub fn cancel(&mut self, timer: Timer) {
        self.effects.push(Effect::Cancel(timer));
    }

    /// Notes what happened.
    pub fn trace(&mut self, event: TraceEvent) {
        self.effects.push(Effect::Trace(event));
    }

    /// Notes what the committed metadata record at `offset` brings about. Each controller that
    /// comes to lead says so; it is noted once.
    pub fn trace_committed(&mut self, offset: i64, events: Vec<TraceEvent>) {
        self.effects.push(Effect::TraceCommitted(offset, events));
    }

    /// Writes a line to the process's log.
    pub fn log(&mut self, text: String) {
        self.trace(TraceEvent::LogLine {
            text: Arc::from(text),
        });
    }

    /// Ends the process.
    pub fn exit(&mut self, exit: Exit) {
        self.effects.push(Effect::Exit(exit));
    }

    /// The effects so far, and the number of the next request.
    pub fn into_parts(self) -> (Vec<Effect>, u64) {
        (self.effects, self.next_correlation)
    }
}
