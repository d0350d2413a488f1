//! Assignors: who gets which partitions. Pure functions.
//!
//! [`Assignor`] are those that a client's group leader runs (classic protocol). [`server`] holds
//! those that the coordinator runs (KIP-848).
//!
//! Inside, members, topics and partitions are small numbers ([`input`]); names are compared once.

use crate::base::ids::{InstanceId, MemberId, TopicId, TopicPartition};
use crate::base::user_data::UserData;
use std::cmp::Ordering;
use std::fmt;
use std::sync::Arc;

mod cooperative_sticky;
mod input;
pub mod java_order;
pub mod lag_aware;
mod range;
mod round_robin;
pub mod server;
mod sticky;

#[cfg(test)]
mod tests;

use cooperative_sticky::Rounds;
use input::Input;
use lag_aware::Weights;
use sticky::Memory;

/// An assignor that a group's leader runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Assignor {
    /// Each topic by itself, in contiguous ranges (`RangeAssignor`).
    Range,
    /// All partitions in turn (`RoundRobinAssignor`).
    RoundRobin,
    /// Balanced, moving little; everything stops (`StickyAssignor`, KIP-54).
    Sticky,
    /// Balanced, moving little; only what moves stops (`CooperativeStickyAssignor`, KIP-429).
    CooperativeSticky,
    /// By lag: an example of an assignor of one's own, which Kafka does not have.
    LagAware,
}

/// How members give up partitions (`RebalanceProtocol`, KIP-429).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RebalanceProtocol {
    /// Everything before JoinGroup.
    Eager,
    /// What the new assignment takes away, after SyncGroup.
    Cooperative,
}

/// A member as an assignor sees it.
#[derive(Clone, Copy, Debug)]
pub struct AssignorMember<'a> {
    /// Its member id.
    pub member_id: &'a MemberId,
    /// Its `group.instance.id`; unset for a dynamic member.
    pub group_instance_id: Option<&'a InstanceId>,
    /// Its `client.rack`; unset or empty when it has none.
    pub rack_id: Option<&'a str>,
    /// Names of the topics that it subscribes to.
    pub topics: &'a [Arc<str>],
    /// `owned_partitions` of its subscription; empty with the eager protocol.
    pub owned_partitions: &'a [TopicPartition],
    /// `generation_id` of its subscription; -1 for none.
    pub generation_id: i32,
    /// What its assignor has added; unset for none.
    pub user_data: Option<&'a UserData>,
}

impl<'a> AssignorMember<'a> {
    /// A dynamic member that owns nothing.
    pub const fn new(member_id: &'a MemberId, topics: &'a [Arc<str>]) -> Self {
        Self {
            member_id,
            group_instance_id: None,
            rack_id: None,
            topics,
            owned_partitions: &[],
            generation_id: -1,
            user_data: None,
        }
    }

    /// Its rack; an empty one counts as none.
    fn rack(&self) -> Option<&'a str> {
        self.rack_id.filter(|rack| !rack.is_empty())
    }
}

/// A topic as the leader knows it from its metadata.
#[derive(Clone, Copy, Debug)]
pub struct ClusterTopic<'a> {
    /// Its name.
    pub name: &'a str,
    /// Its interned name.
    pub topic: TopicId,
    /// How many partitions it has.
    pub partition_count: u32,
    /// For each partition the racks of its replicas, as far as the brokers have racks; shorter or
    /// empty where nothing is known.
    pub racks: &'a [Vec<Arc<str>>],
}

/// Who gets what: one entry a member, in the order of the members given.
pub type Assignment = Vec<Vec<TopicPartition>>;

/// Why there is no assignment. Kafka's leader ends with the same exception.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AssignorError {
    /// `IllegalStateException`: more partitions to deal out than the quotas allow. Happens when
    /// members claim partitions that their topic does not have.
    NoMoreUnfilledConsumers,
    /// `IllegalStateException`: too few members came above the lower quota.
    TooFewAboveMinQuota,
    /// `IllegalStateException`: this member is below the lower quota.
    BelowMinQuota(MemberId),
    /// `NullPointerException`: a partition has no owner, or an earlier owner takes no part.
    NoOwner,
}

impl AssignorError {
    /// The name of the exception's class.
    pub const fn exception(&self) -> &'static str {
        match self {
            Self::NoMoreUnfilledConsumers | Self::TooFewAboveMinQuota | Self::BelowMinQuota(_) => {
                "IllegalStateException"
            }
            Self::NoOwner => "NullPointerException",
        }
    }
}

impl fmt::Display for AssignorError {
    /// The exception's message; empty when it has none.
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoMoreUnfilledConsumers => {
                formatter.write_str("No more unfilled consumers to be assigned.")
            }
            Self::TooFewAboveMinQuota => formatter.write_str(
                "We haven't reached the expected number of members with more than the minQuota \
                 partitions, but no more partitions to be assigned",
            ),
            Self::BelowMinQuota(member_id) => write!(
                formatter,
                "Consumer: [{member_id}] doesn't reach minQuota partitions, and no more partitions \
                 to be assigned"
            ),
            Self::NoOwner => Ok(()),
        }
    }
}

impl Assignor {
    /// All of them.
    pub const ALL: [Self; 5] = [
        Self::Range,
        Self::RoundRobin,
        Self::Sticky,
        Self::CooperativeSticky,
        Self::LagAware,
    ];

    /// The assignor with this name in `partition.assignment.strategy` and on the wire.
    pub fn by_name(name: &str) -> Option<Self> {
        Self::ALL
            .into_iter()
            .find(|assignor| assignor.name() == name)
    }

    /// Its name.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Range => "range",
            Self::RoundRobin => "roundrobin",
            Self::Sticky => "sticky",
            Self::CooperativeSticky => "cooperative-sticky",
            Self::LagAware => "lag-aware",
        }
    }

    /// The protocols that it supports, the preferred one last. A consumer uses the last one that
    /// all assignors of its list support.
    ///
    /// # Source
    /// `ConsumerPartitionAssignor#supportedProtocols`; `ConsumerCoordinator` (Kafka 1eb7644).
    pub const fn supported_protocols(self) -> &'static [RebalanceProtocol] {
        match self {
            Self::Range | Self::RoundRobin | Self::Sticky | Self::LagAware => {
                &[RebalanceProtocol::Eager]
            }
            Self::CooperativeSticky => &[RebalanceProtocol::Eager, RebalanceProtocol::Cooperative],
        }
    }

    /// What it sends with the next JoinGroup, given what its member was last assigned while this
    /// assignor was the group's choice. That memory outlives revocation and loss; a new process has
    /// none.
    ///
    /// # Source
    /// `ConsumerPartitionAssignor#subscriptionUserData` and `#onAssignment` of `StickyAssignor` and
    /// `CooperativeStickyAssignor` (Kafka 1eb7644).
    pub fn user_data(self, memory: Option<&UserData>) -> Option<UserData> {
        match self {
            Self::Range | Self::RoundRobin => None,
            Self::Sticky => memory.map(|memory| UserData {
                lags: Vec::new(),
                ..memory.clone()
            }),
            // Kafka sends a generation of -1 before the first assignment, which says the same.
            Self::CooperativeSticky => memory.map(|memory| UserData {
                generation_id: memory.generation_id,
                ..UserData::default()
            }),
            Self::LagAware => memory.cloned(),
        }
    }

    /// Runs the assignor on the members, in the order of the answer to JoinGroup, and on what the
    /// leader knows of the topics. Topics without partitions count as unknown.
    ///
    /// # Errors
    /// Where Kafka's assignor throws an exception.
    pub fn assign(
        self,
        members: &[AssignorMember<'_>],
        topics: &[ClusterTopic<'_>],
        weights: Weights,
    ) -> Result<Assignment, AssignorError> {
        let input = Input::new(members, topics);
        match self {
            Self::Range => Ok(range::assign(&input)),
            Self::RoundRobin => Ok(round_robin::assign(&input)),
            Self::Sticky => sticky::assign(&input, Memory::UserData).map(|found| found.assignment),
            Self::CooperativeSticky => cooperative_sticky::assign(&input).map(Rounds::now),
            Self::LagAware => Ok(lag_aware::assign(&input, weights)),
        }
    }
}

/// What `cooperative-sticky` aims at: the assignment before partitions are withheld that change
/// hands.
///
/// # Errors
/// Where Kafka's assignor throws an exception.
pub fn cooperative_target(
    members: &[AssignorMember<'_>],
    topics: &[ClusterTopic<'_>],
) -> Result<Assignment, AssignorError> {
    cooperative_sticky::assign(&Input::new(members, topics)).map(|found| found.target)
}

/// Static members come first, by instance id; then dynamic ones by member id. Member id and
/// instance id are never compared with each other.
///
/// # Source
/// `AbstractPartitionAssignor.MemberInfo#compareTo` (Kafka 1eb7644).
fn compare_ids(
    (one_instance, one): (Option<&InstanceId>, &MemberId),
    (other_instance, other): (Option<&InstanceId>, &MemberId),
) -> Ordering {
    match (one_instance, other_instance) {
        (Some(one), Some(other)) => compare_text(one.as_str(), other.as_str()),
        (Some(_), None) => Ordering::Less,
        (None, Some(_)) => Ordering::Greater,
        (None, None) => compare_text(one.as_str(), other.as_str()),
    }
}

/// The order of Java strings: by UTF-16 code unit, which is not that of UTF-8 bytes.
pub fn compare_text(one: &str, other: &str) -> Ordering {
    one.encode_utf16().cmp(other.encode_utf16())
}

/// A position as a number.
fn number(position: usize) -> u32 {
    u32::try_from(position).expect("limits keep members and partitions below 2^32")
}
