//! Goals as data: conditions over trace events and measures, within windows of time.

mod facts;
mod parse;

pub use facts::{EVENT_FILTERS, Facts};
pub(super) use parse::{ExpressionReader, parse_query};

use crate::base::ids::{BrokerId, ClientId};
use crate::kernel::time::{SimTime, Span};
use crate::sim::measure::Query;
use crate::trace::event::Waiting;
use crate::wire::api::ApiKey;
use crate::wire::error_code::ErrorCode;
use serde::Serialize;
use std::sync::Arc;

/// What must be true of a run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Expression {
    /// An operator over a window.
    Over(Box<Windowed>),
    /// Every one passes.
    All(Vec<Self>),
    /// One passes.
    Any(Vec<Self>),
}

/// An operator over a window.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Windowed {
    /// The part of the run that it looks at.
    pub window: Window,
    /// What is asked of it.
    pub operator: Operator,
}

/// A part of a run.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Window {
    /// Where it opens; unset for the start of the run. An event itself is not in the window.
    pub from: Option<Moment>,
    /// Where it closes; unset for the end of the run. An instant itself is in the window.
    pub to: Option<Moment>,
}

/// A point of a run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Moment {
    /// An instant.
    At(SimTime),
    /// The first such event, or the first within the window.
    On(Pattern),
}

/// What is asked of a window.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Operator {
    /// The condition is met.
    Reach(Condition),
    /// The condition is never met.
    Never(Condition),
    /// The bound is kept: all the time, or for a span without a break.
    Hold {
        /// The bound.
        bound: Bound,
        /// How long; unset for the whole window.
        span: Option<Span>,
    },
    /// How often an event happens.
    Count {
        /// The event.
        pattern: Pattern,
        /// At least so often.
        min: u64,
        /// At most so often; unset for no bound.
        max: Option<u64>,
    },
    /// The first condition is met, and not later than the second.
    Before(Condition, Condition),
    /// After each event the condition is met soon, and there is such an event.
    Within {
        /// The event.
        after: Pattern,
        /// The condition.
        condition: Condition,
        /// How soon.
        span: Span,
    },
}

/// Something that can be met at a trace entry.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Condition {
    /// An event happens.
    Event(Pattern),
    /// A measure is within bounds.
    Measure(Bound),
}

/// A measure within bounds. A counter counts from where the window opens.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Bound {
    /// The measure.
    pub query: Query,
    /// At least this; unset for no bound.
    pub at_least: Option<i64>,
    /// At most this; unset for no bound.
    pub at_most: Option<i64>,
}

impl Bound {
    /// Whether `value` keeps the bound.
    pub fn is_kept_by(&self, value: i64) -> bool {
        self.at_least.is_none_or(|least| least <= value)
            && self.at_most.is_none_or(|most| value <= most)
    }
}

/// A trace event with filters; filters that are unset let everything through.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Pattern {
    /// The event's name.
    pub event: &'static str,
    /// The topic.
    pub topic: Option<Arc<str>>,
    /// The partition.
    pub partition: Option<u32>,
    /// The group.
    pub group: Option<Arc<str>>,
    /// The client at which it happens, or that it names.
    pub client: Option<ClientId>,
    /// The broker at which it happens, or that it names.
    pub broker: Option<BrokerId>,
    /// The error.
    pub error: Option<ErrorCode>,
    /// The new state.
    pub state: Option<Arc<str>>,
    /// The state before.
    pub previous: Option<Arc<str>>,
    /// The record's text.
    pub value: Option<Arc<str>>,
    /// A part of the reason or text.
    pub contains: Option<Arc<str>>,
    /// The API of the message.
    pub api: Option<ApiKey>,
    /// Where the request waits.
    pub waiting: Option<Waiting>,
    /// How many members a join phase had.
    pub members: Option<u32>,
    /// How many members the ISR has.
    pub isr: Option<u32>,
    /// The new leader; the inner unset value stands for -1.
    pub leader: Option<Option<BrokerId>>,
    /// The event's truth value.
    pub flag: Option<bool>,
}
