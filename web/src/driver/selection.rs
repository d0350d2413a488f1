//! What a person has pointed at.

use terrarium_core::base::ids::{
    BrokerId, CorrelationId, GroupId, NodeId, PacketId, TopicPartition,
};
use terrarium_core::trace::event::{TraceEntry, TraceEvent};

/// Something on the stage that can be chosen; chosen in one picture, it is chosen in all.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Selection {
    /// A broker, a controller or a client.
    Node(NodeId),
    /// One broker's copy of a partition.
    Replica(BrokerId, TopicPartition),
    /// A partition, wherever its copies are.
    Partition(TopicPartition),
    /// A consumer group.
    Group(GroupId),
    /// A message.
    Packet {
        /// Which.
        packet: PacketId,
        /// The trace entry of its sending.
        entry: u64,
    },
    /// A request that waits at a broker.
    Parked {
        /// The broker.
        at: BrokerId,
        /// Who sent it.
        from: NodeId,
        /// Which of its requests.
        correlation: CorrelationId,
        /// The trace entry of its parking.
        entry: u64,
    },
    /// Something that happened, by its place in the trace.
    Entry(u64),
}

impl Selection {
    /// The node that this is, or is on.
    pub(crate) fn node(&self) -> Option<NodeId> {
        match self {
            Self::Node(node) => Some(*node),
            Self::Replica(broker, _) => Some(NodeId::Broker(*broker)),
            Self::Partition(_)
            | Self::Group(_)
            | Self::Packet { .. }
            | Self::Parked { .. }
            | Self::Entry(_) => None,
        }
    }

    /// The partition that this is, or is a copy of.
    pub(crate) fn partition(&self) -> Option<TopicPartition> {
        match self {
            Self::Replica(_, topic_partition) | Self::Partition(topic_partition) => {
                Some(*topic_partition)
            }
            Self::Node(_)
            | Self::Group(_)
            | Self::Packet { .. }
            | Self::Parked { .. }
            | Self::Entry(_) => None,
        }
    }

    /// Whether `entry` tells of a change of this thing. Messages that merely pass do not count
    /// for a node.
    pub(crate) fn is_changed_by(&self, entry: &TraceEntry) -> bool {
        match self {
            Self::Node(node) => entry.node == *node && !is_traffic(&entry.event),
            Self::Replica(broker, topic_partition) => {
                entry.node == NodeId::Broker(*broker)
                    && partition_of(&entry.event) == Some(*topic_partition)
            }
            Self::Partition(topic_partition) => {
                partition_of(&entry.event) == Some(*topic_partition)
            }
            Self::Group(group) => group_of(&entry.event) == Some(group),
            Self::Packet { packet, .. } => packet_of(&entry.event) == Some(*packet),
            Self::Parked {
                at,
                from,
                correlation,
                ..
            } => match &entry.event {
                TraceEvent::RequestReleased {
                    from: sender,
                    correlation: request,
                    ..
                } => entry.node == NodeId::Broker(*at) && sender == from && request == correlation,
                _ => false,
            },
            Self::Entry(index) => entry.cause == Some(*index),
        }
    }
}

fn is_traffic(event: &TraceEvent) -> bool {
    matches!(
        event,
        TraceEvent::RequestSent { .. }
            | TraceEvent::ResponseSent { .. }
            | TraceEvent::Delivered { .. }
            | TraceEvent::TimerFired { .. }
            | TraceEvent::RequestParked { .. }
            | TraceEvent::RequestReleased { .. }
    )
}

fn packet_of(event: &TraceEvent) -> Option<PacketId> {
    match event {
        TraceEvent::Delivered { packet, .. }
        | TraceEvent::PacketLost { packet, .. }
        | TraceEvent::PacketResumed { packet, .. } => Some(*packet),
        _ => None,
    }
}

fn group_of(event: &TraceEvent) -> Option<&GroupId> {
    match event {
        TraceEvent::GroupStateChanged { group_id, .. }
        | TraceEvent::MemberIdAssigned { group_id, .. }
        | TraceEvent::MemberAdded { group_id, .. }
        | TraceEvent::MemberRemoved { group_id, .. }
        | TraceEvent::StaticMemberReplaced { group_id, .. }
        | TraceEvent::JoinPhaseCompleted { group_id, .. }
        | TraceEvent::TargetAssignmentComputed { group_id, .. }
        | TraceEvent::MemberReconciled { group_id, .. }
        | TraceEvent::OffsetCommitted { group_id, .. } => Some(group_id),
        TraceEvent::RequestParked { group_id, .. } => group_id.as_ref(),
        _ => None,
    }
}

fn partition_of(event: &TraceEvent) -> Option<TopicPartition> {
    match event {
        TraceEvent::LeaderElected {
            topic_partition, ..
        }
        | TraceEvent::IsrShrunk {
            topic_partition, ..
        }
        | TraceEvent::IsrExpanded {
            topic_partition, ..
        }
        | TraceEvent::IsrChangeRequested {
            topic_partition, ..
        }
        | TraceEvent::IsrChangeRefused {
            topic_partition, ..
        }
        | TraceEvent::BecameLeader {
            topic_partition, ..
        }
        | TraceEvent::BecameFollower {
            topic_partition, ..
        }
        | TraceEvent::Appended {
            topic_partition, ..
        }
        | TraceEvent::Truncated {
            topic_partition, ..
        }
        | TraceEvent::HighWatermarkAdvanced {
            topic_partition, ..
        }
        | TraceEvent::OffsetCommitted {
            topic_partition, ..
        }
        | TraceEvent::PositionSet {
            topic_partition, ..
        }
        | TraceEvent::ProcessingStarted {
            topic_partition, ..
        }
        | TraceEvent::RecordProcessed {
            topic_partition, ..
        }
        | TraceEvent::RecordSkipped {
            topic_partition, ..
        }
        | TraceEvent::RecordQueued {
            topic_partition, ..
        }
        | TraceEvent::BatchAcknowledged {
            topic_partition, ..
        }
        | TraceEvent::BatchRetried {
            topic_partition, ..
        }
        | TraceEvent::DuplicateFound {
            topic_partition, ..
        }
        | TraceEvent::DuplicateAppended {
            topic_partition, ..
        }
        | TraceEvent::RecordsDiscarded {
            topic_partition, ..
        }
        | TraceEvent::BatchSplit {
            topic_partition, ..
        }
        | TraceEvent::TransactionMarkerWritten {
            topic_partition, ..
        }
        | TraceEvent::BatchFailed {
            topic_partition, ..
        } => Some(*topic_partition),
        _ => event.kept_log().copied(),
    }
}
