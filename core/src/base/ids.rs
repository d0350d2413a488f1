//! Identifiers and offsets.

use serde::{Deserialize, Serialize};
use std::fmt;
use std::ops::{Add, AddAssign, Sub};
use std::sync::Arc;

macro_rules! number_id {
    ($(#[$doc:meta])* $name:ident, $inner:ty) => {
        $(#[$doc])*
        #[derive(
            Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
        )]
        #[serde(transparent)]
        pub struct $name(pub $inner);

        impl fmt::Display for $name {
            fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(formatter, "{}", self.0)
            }
        }
    };
}

macro_rules! text_id {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        #[serde(transparent)]
        pub struct $name(pub Arc<str>);

        impl $name {
            /// The identifier with this text.
            pub fn new(text: &str) -> Self {
                Self(Arc::from(text))
            }

            /// The text.
            pub fn as_str(&self) -> &str {
                &self.0
            }

            /// Whether the text is empty, which in the protocol means "none yet".
            pub fn is_empty(&self) -> bool {
                self.0.is_empty()
            }
        }

        impl Default for $name {
            fn default() -> Self {
                Self::new("")
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                formatter.write_str(&self.0)
            }
        }
    };
}

number_id!(
    /// A broker's `node.id`.
    BrokerId,
    u32
);
number_id!(
    /// A controller's `node.id`.
    ControllerId,
    u32
);
number_id!(
    /// A client process, numbered in the order of the scenario: producers, then consumers.
    ClientId,
    u32
);
number_id!(
    /// A topic name, interned: the n-th name that the simulation has heard of.
    TopicId,
    u32
);
number_id!(
    /// One message on the wire, numbered in the order of sending.
    PacketId,
    u64
);
number_id!(
    /// A request of one node, unique within that node.
    CorrelationId,
    u64
);
number_id!(
    /// One record that an application handed to a producer, unique in the simulation. A retry
    /// that is written twice shows as the same id at two offsets.
    RecordId,
    u64
);

text_id!(
    /// `group.id`.
    GroupId
);
text_id!(
    /// The member id that the group coordinator hands out; empty before it has.
    MemberId
);
text_id!(
    /// `group.instance.id` of a static member.
    InstanceId
);

/// Whoever sends and receives messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum NodeId {
    /// A controller of the KRaft quorum.
    Controller(ControllerId),
    /// A broker.
    Broker(BrokerId),
    /// A producer or consumer process.
    Client(ClientId),
}

impl NodeId {
    /// The broker, if it is one.
    pub const fn broker(self) -> Option<BrokerId> {
        match self {
            Self::Broker(id) => Some(id),
            Self::Controller(_) | Self::Client(_) => None,
        }
    }

    /// The client, if it is one.
    pub const fn client(self) -> Option<ClientId> {
        match self {
            Self::Client(id) => Some(id),
            Self::Controller(_) | Self::Broker(_) => None,
        }
    }
}

impl fmt::Display for NodeId {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Controller(id) => write!(formatter, "controller {id}"),
            Self::Broker(id) => write!(formatter, "broker {id}"),
            Self::Client(id) => write!(formatter, "client {id}"),
        }
    }
}

/// A partition of a topic.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
pub struct TopicPartition {
    /// Which topic.
    pub topic: TopicId,
    /// Partition number, from 0.
    pub partition: u32,
}

impl TopicPartition {
    /// Partition `partition` of `topic`.
    pub const fn new(topic: TopicId, partition: u32) -> Self {
        Self { topic, partition }
    }
}

/// A position in a partition's log.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[serde(transparent)]
pub struct Offset(pub i64);

impl Offset {
    /// The first offset of every log.
    pub const ZERO: Self = Self(0);
    /// Kafka's -1: unknown, or none.
    pub const UNKNOWN: Self = Self(-1);

    /// Whether this is a real offset.
    pub const fn is_known(self) -> bool {
        0 <= self.0
    }
}

impl Add<i64> for Offset {
    type Output = Self;
    fn add(self, count: i64) -> Self {
        Self(self.0 + count)
    }
}

impl AddAssign<i64> for Offset {
    fn add_assign(&mut self, count: i64) {
        self.0 += count;
    }
}

impl Sub for Offset {
    type Output = i64;
    fn sub(self, other: Self) -> i64 {
        self.0 - other.0
    }
}

impl fmt::Display for Offset {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}", self.0)
    }
}

/// The topic that holds the states of transactions.
pub const TRANSACTION_STATE: &str = "__transaction_state";

/// The topic that holds committed offsets and group metadata.
pub const CONSUMER_OFFSETS: &str = "__consumer_offsets";
