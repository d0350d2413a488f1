//! What a trace event says, in the words of filters.

use super::Pattern;
use crate::base::ids::{BrokerId, ClientId, GroupId, NodeId, TopicPartition};
use crate::sim::measure::Measures;
use crate::trace::event::{TraceEntry, TraceEvent, Waiting};
use crate::wire::api::ApiKey;
use crate::wire::error_code::ErrorCode;

/// What an entry says, in the words of filters. Unset where the event says nothing of the kind.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Facts<'a> {
    /// The partitions that it concerns.
    pub partitions: &'a [TopicPartition],
    /// The name of the topic, where the event gives the name.
    pub topic_name: Option<&'a str>,
    /// The group that it names.
    pub group: Option<&'a GroupId>,
    /// The node at which it happens.
    pub node: Option<NodeId>,
    /// The other node that it names.
    pub other: Option<NodeId>,
    /// The error.
    pub error: Option<ErrorCode>,
    /// The new state.
    pub state: Option<&'a str>,
    /// The state before.
    pub previous: Option<&'a str>,
    /// The record's text.
    pub value: Option<&'a str>,
    /// The reason or text.
    pub text: Option<&'a str>,
    /// The API.
    pub api: Option<ApiKey>,
    /// Where a request waits.
    pub waiting: Option<Waiting>,
    /// Members of a join phase.
    pub members: Option<usize>,
    /// Members of the ISR.
    pub isr: Option<usize>,
    /// The new leader.
    pub leader: Option<Option<BrokerId>>,
    /// The truth value.
    pub flag: Option<bool>,
}

/// Which filters an event understands: event, then filters. Events of a broker take `broker`,
/// events of a client `client` and `group`.
pub const EVENT_FILTERS: &[(&str, &[&str])] = &[
    ("command", &["contains"]),
    ("request-sent", &["client", "broker", "api"]),
    ("response-sent", &["client", "broker", "api"]),
    ("delivered", &["client", "broker", "api", "flag"]),
    ("packet-lost", &["client", "broker"]),
    ("packet-resumed", &["client", "broker"]),
    ("disconnected", &["client", "broker", "api"]),
    (
        "request-parked",
        &["client", "broker", "waiting", "group", "topic", "partition"],
    ),
    ("request-released", &["client", "broker", "waiting", "flag"]),
    ("timer-fired", &["client", "broker"]),
    ("process-started", &["client", "broker", "group"]),
    ("process-killed", &["client", "broker", "group", "contains"]),
    (
        "process-stopped",
        &["client", "broker", "group", "contains"],
    ),
    ("process-paused", &["client", "broker", "group"]),
    ("process-resumed", &["client", "broker", "group"]),
    ("link-changed", &["client", "broker", "flag"]),
    ("broker-registered", &["broker"]),
    ("broker-unfenced", &["broker"]),
    ("broker-fenced", &["broker"]),
    ("topic-created", &["topic"]),
    ("topic-deleted", &["topic"]),
    ("topic-config-changed", &["topic", "contains"]),
    ("controlled-shutdown-started", &["broker"]),
    ("quorum-state-changed", &[]),
    ("controller-activated", &[]),
    ("admin-answered", &["api", "error", "contains"]),
    (
        "leader-elected",
        &["topic", "partition", "leader", "isr", "flag"],
    ),
    ("isr-shrunk", &["topic", "partition", "isr"]),
    ("isr-expanded", &["topic", "partition", "isr"]),
    (
        "isr-change-requested",
        &["broker", "topic", "partition", "isr"],
    ),
    (
        "isr-change-refused",
        &["broker", "topic", "partition", "error"],
    ),
    ("became-leader", &["broker", "topic", "partition"]),
    (
        "became-follower",
        &["broker", "topic", "partition", "leader"],
    ),
    ("appended", &["broker", "topic", "partition", "flag"]),
    ("truncated", &["broker", "topic", "partition"]),
    ("segment-rolled", &["broker", "topic", "partition"]),
    ("segments-deleted", &["broker", "topic", "partition"]),
    (
        "log-start-offset-advanced",
        &["broker", "topic", "partition"],
    ),
    ("log-cleaned", &["broker", "topic", "partition"]),
    ("log-flushed", &["broker", "topic", "partition"]),
    ("log-recovered", &["broker", "topic", "partition"]),
    ("unflushed-tail-lost", &["broker", "topic", "partition"]),
    ("log-started-anew", &["broker", "topic", "partition"]),
    (
        "high-watermark-advanced",
        &["broker", "topic", "partition", "flag"],
    ),
    (
        "group-state-changed",
        &["broker", "group", "state", "previous", "contains"],
    ),
    ("member-id-assigned", &["broker", "group"]),
    ("member-added", &["broker", "group", "client"]),
    ("member-removed", &["broker", "group", "contains"]),
    ("static-member-replaced", &["broker", "group", "flag"]),
    ("join-phase-completed", &["broker", "group", "members"]),
    (
        "offset-committed",
        &["broker", "group", "topic", "partition"],
    ),
    ("coordinator-loaded", &["broker"]),
    ("coordinator-unloaded", &["broker"]),
    ("log-line", &["client", "broker", "contains"]),
    (
        "member-state-changed",
        &["client", "group", "state", "previous"],
    ),
    ("rejoin-requested", &["client", "group", "contains"]),
    (
        "partitions-revoked",
        &["client", "group", "topic", "partition"],
    ),
    (
        "partitions-lost",
        &["client", "group", "topic", "partition"],
    ),
    (
        "partitions-assigned",
        &["client", "group", "topic", "partition"],
    ),
    ("assignment-computed", &["client", "group", "contains"]),
    ("target-assignment-computed", &["group", "contains"]),
    (
        "member-reconciled",
        &["group", "state", "topic", "partition"],
    ),
    (
        "position-set",
        &["client", "group", "topic", "partition", "flag"],
    ),
    ("poll-returned", &["client", "group"]),
    (
        "processing-started",
        &["client", "group", "topic", "partition", "value"],
    ),
    (
        "record-processed",
        &["client", "group", "topic", "partition", "flag"],
    ),
    (
        "record-skipped",
        &["client", "group", "topic", "partition", "value", "flag"],
    ),
    ("commit-succeeded", &["client", "group"]),
    ("commit-failed", &["client", "group", "error", "contains"]),
    ("poll-timeout-expired", &["client", "group"]),
    ("fatal-error", &["client", "group", "contains"]),
    ("producer-id-assigned", &["client"]),
    ("duplicate-found", &["broker", "topic", "partition"]),
    ("records-discarded", &["broker", "topic", "partition"]),
    ("duplicate-appended", &["broker", "topic", "partition"]),
    ("send-blocked", &["client", "flag"]),
    ("send-failed", &["client", "contains"]),
    ("batch-split", &["client", "topic", "partition"]),
    (
        "transaction-state-changed",
        &["broker", "state", "previous", "contains"],
    ),
    (
        "transaction-marker-written",
        &["broker", "topic", "partition", "flag"],
    ),
    ("transaction-begun", &["client", "contains"]),
    ("transaction-ended", &["client", "flag", "contains"]),
    ("record-queued", &["client", "topic", "partition"]),
    ("batch-acknowledged", &["client", "topic", "partition"]),
    ("batch-retried", &["client", "topic", "partition", "error"]),
    ("batch-failed", &["client", "topic", "partition", "error"]),
];

impl<'a> Facts<'a> {
    /// What `entry` says.
    pub fn of(entry: &'a TraceEntry) -> Self {
        let base = Self {
            node: Some(entry.node),
            ..Self::default()
        };
        base.of_messages(&entry.event)
            .of_logs(&entry.event)
            .of_groups(&entry.event)
            .of_members(&entry.event)
    }

    #[expect(
        clippy::wildcard_enum_match_arm,
        reason = "names the events of nodes and messages"
    )]
    fn of_messages(self, event: &'a TraceEvent) -> Self {
        match event {
            TraceEvent::RequestSent { to, body, .. } => Self {
                other: Some(*to),
                api: Some(body.api_key()),
                ..self
            },
            TraceEvent::ResponseSent { to, body, .. } => Self {
                other: Some(*to),
                api: Some(body.api_key()),
                ..self
            },
            TraceEvent::Delivered {
                from,
                api,
                is_response,
                ..
            } => Self {
                other: Some(*from),
                api: Some(*api),
                flag: Some(*is_response),
                ..self
            },
            TraceEvent::PacketLost { to, .. } => Self {
                other: Some(*to),
                ..self
            },
            TraceEvent::Disconnected { peer, api, .. } => Self {
                other: Some(*peer),
                api: Some(*api),
                ..self
            },
            TraceEvent::RequestParked {
                from,
                waiting,
                group_id,
                partitions,
                ..
            } => Self {
                other: Some(*from),
                waiting: Some(*waiting),
                group: group_id.as_ref(),
                partitions,
                ..self
            },
            TraceEvent::RequestReleased {
                from,
                waiting,
                timed_out,
                ..
            } => Self {
                other: Some(*from),
                waiting: Some(*waiting),
                flag: Some(*timed_out),
                ..self
            },
            TraceEvent::ProcessKilled { reason } | TraceEvent::ProcessStopped { reason } => Self {
                text: Some(reason),
                ..self
            },
            TraceEvent::LinkChanged { to, is_cut } => Self {
                other: Some(*to),
                flag: Some(*is_cut),
                ..self
            },
            TraceEvent::BrokerRegistered { broker, .. }
            | TraceEvent::BrokerUnfenced { broker }
            | TraceEvent::ControlledShutdownStarted { broker }
            | TraceEvent::BrokerFenced { broker, .. } => Self {
                other: Some(NodeId::Broker(*broker)),
                ..self
            },
            TraceEvent::Command { text } | TraceEvent::LogLine { text } => Self {
                text: Some(text),
                ..self
            },
            TraceEvent::AdminAnswered {
                api,
                error_code,
                text,
            } => Self {
                api: Some(*api),
                error: Some(*error_code),
                text: Some(text),
                ..self
            },
            _ => self,
        }
    }

    #[expect(
        clippy::wildcard_enum_match_arm,
        reason = "names the events of partitions"
    )]
    fn of_logs(self, event: &'a TraceEvent) -> Self {
        match event {
            TraceEvent::TopicConfigChanged { name, settings } => Self {
                topic_name: Some(name),
                text: Some(settings),
                ..self
            },
            TraceEvent::TopicCreated { name, .. } | TraceEvent::TopicDeleted { name } => Self {
                topic_name: Some(name),
                ..self
            },
            TraceEvent::LeaderElected {
                topic_partition,
                leader,
                isr,
                unclean,
                ..
            } => Self {
                leader: Some(*leader),
                isr: Some(isr.len()),
                flag: Some(*unclean),
                ..self.on(topic_partition)
            },
            TraceEvent::IsrShrunk {
                topic_partition,
                isr,
                ..
            }
            | TraceEvent::IsrExpanded {
                topic_partition,
                isr,
                ..
            }
            | TraceEvent::IsrChangeRequested {
                topic_partition,
                wanted_isr: isr,
                ..
            } => Self {
                isr: Some(isr.len()),
                ..self.on(topic_partition)
            },
            TraceEvent::IsrChangeRefused {
                topic_partition,
                error_code,
            }
            | TraceEvent::BatchRetried {
                topic_partition,
                error_code,
                ..
            }
            | TraceEvent::BatchFailed {
                topic_partition,
                error_code,
                ..
            } => Self {
                error: Some(*error_code),
                ..self.on(topic_partition)
            },
            TraceEvent::BecameFollower {
                topic_partition,
                leader,
                ..
            } => Self {
                leader: Some(*leader),
                ..self.on(topic_partition)
            },
            TraceEvent::Appended {
                topic_partition,
                as_leader,
                ..
            }
            | TraceEvent::HighWatermarkAdvanced {
                topic_partition,
                as_leader,
                ..
            } => Self {
                flag: Some(*as_leader),
                ..self.on(topic_partition)
            },
            TraceEvent::BecameLeader {
                topic_partition, ..
            }
            | TraceEvent::Truncated {
                topic_partition, ..
            }
            | TraceEvent::RecordQueued {
                topic_partition, ..
            }
            | TraceEvent::BatchAcknowledged {
                topic_partition, ..
            } => self.on(topic_partition),
            _ => self.of_transactions(event),
        }
    }

    #[expect(
        clippy::wildcard_enum_match_arm,
        reason = "names the events of transactions"
    )]
    fn of_transactions(self, event: &'a TraceEvent) -> Self {
        match event {
            TraceEvent::DuplicateFound {
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
            } => self.on(topic_partition),
            TraceEvent::TransactionMarkerWritten {
                topic_partition,
                is_commit,
                ..
            } => Self {
                flag: Some(*is_commit),
                ..self.on(topic_partition)
            },
            TraceEvent::TransactionStateChanged {
                transactional_id,
                previous,
                state,
                ..
            } => Self {
                previous: Some(previous.name()),
                state: Some(state.name()),
                text: Some(transactional_id),
                ..self
            },
            TraceEvent::TransactionBegun { transactional_id } => Self {
                text: Some(transactional_id),
                ..self
            },
            TraceEvent::TransactionEnded {
                transactional_id,
                is_commit,
            } => Self {
                flag: Some(*is_commit),
                text: Some(transactional_id),
                ..self
            },
            TraceEvent::SendBlocked { waits_for_memory } => Self {
                flag: Some(*waits_for_memory),
                ..self
            },
            TraceEvent::SendFailed { exception, .. } => Self {
                text: Some(exception),
                ..self
            },
            _ => match event.kept_log() {
                Some(topic_partition) => self.on(topic_partition),
                None => self,
            },
        }
    }

    #[expect(clippy::wildcard_enum_match_arm, reason = "names the events of groups")]
    fn of_groups(self, event: &'a TraceEvent) -> Self {
        match event {
            TraceEvent::GroupStateChanged {
                group_id,
                previous,
                state,
                reason,
                ..
            } => Self {
                group: Some(group_id),
                previous: Some(previous.name()),
                state: Some(state.name()),
                text: Some(reason),
                ..self
            },
            TraceEvent::MemberIdAssigned { group_id, .. } => Self {
                group: Some(group_id),
                ..self
            },
            TraceEvent::MemberAdded {
                group_id, client, ..
            } => Self {
                group: Some(group_id),
                other: Some(*client),
                ..self
            },
            TraceEvent::MemberRemoved {
                group_id, reason, ..
            } => Self {
                group: Some(group_id),
                text: Some(reason),
                ..self
            },
            TraceEvent::StaticMemberReplaced {
                group_id,
                rebalances,
                ..
            } => Self {
                group: Some(group_id),
                flag: Some(*rebalances),
                ..self
            },
            TraceEvent::TargetAssignmentComputed {
                group_id, assignor, ..
            } => Self {
                group: Some(group_id),
                text: Some(assignor),
                ..self
            },
            TraceEvent::MemberReconciled {
                group_id, current, ..
            } => Self {
                group: Some(group_id),
                state: Some(current.state.name()),
                partitions: &current.assigned,
                ..self
            },
            TraceEvent::JoinPhaseCompleted {
                group_id, members, ..
            } => Self {
                group: Some(group_id),
                members: Some(members.len()),
                ..self
            },
            TraceEvent::OffsetCommitted {
                group_id,
                topic_partition,
                ..
            } => Self {
                group: Some(group_id),
                ..self.on(topic_partition)
            },
            _ => self,
        }
    }

    #[expect(
        clippy::wildcard_enum_match_arm,
        reason = "names the events of members and applications"
    )]
    fn of_members(self, event: &'a TraceEvent) -> Self {
        match event {
            TraceEvent::MemberStateChanged {
                previous, state, ..
            } => Self {
                previous: Some(previous.name()),
                state: Some(state.name()),
                ..self
            },
            TraceEvent::RejoinRequested { reason } => Self {
                text: Some(reason),
                ..self
            },
            TraceEvent::PartitionsRevoked { partitions, .. }
            | TraceEvent::PartitionsLost { partitions }
            | TraceEvent::PartitionsAssigned {
                owned: partitions, ..
            } => Self { partitions, ..self },
            TraceEvent::AssignmentComputed { assignor, .. } => Self {
                text: Some(assignor),
                ..self
            },
            TraceEvent::PositionSet {
                topic_partition,
                from_commit,
                ..
            } => Self {
                flag: Some(*from_commit),
                ..self.on(topic_partition)
            },
            TraceEvent::ProcessingStarted {
                topic_partition,
                value,
                ..
            } => Self {
                value: Some(value),
                ..self.on(topic_partition)
            },
            TraceEvent::RecordSkipped {
                topic_partition,
                value,
                commits,
                ..
            } => Self {
                value: Some(value),
                flag: Some(*commits),
                ..self.on(topic_partition)
            },
            TraceEvent::RecordProcessed {
                topic_partition,
                duplicate,
                ..
            } => Self {
                flag: Some(*duplicate),
                ..self.on(topic_partition)
            },
            TraceEvent::CommitFailed {
                error_code,
                exception,
            } => Self {
                error: Some(*error_code),
                text: exception.as_deref(),
                ..self
            },
            TraceEvent::FatalError { exception } => Self {
                text: Some(exception),
                ..self
            },
            _ => self,
        }
    }

    fn on(self, topic_partition: &'a TopicPartition) -> Self {
        Self {
            partitions: std::slice::from_ref(topic_partition),
            ..self
        }
    }

    fn names(&self, node: NodeId) -> bool {
        self.node == Some(node) || self.other == Some(node)
    }

    fn names_client(&self, client: ClientId) -> bool {
        self.names(NodeId::Client(client))
    }
}

impl Pattern {
    /// Whether the entry is such an event. `measures` knows topics by name and clients' groups.
    pub fn matches(&self, entry: &TraceEntry, measures: &Measures) -> bool {
        if entry.event.name() != self.event {
            return false;
        }
        let facts = Facts::of(entry);
        let count = |number: Option<usize>| number.and_then(|number| u32::try_from(number).ok());
        self.matches_partitions(&facts, measures)
            && self.group.as_ref().is_none_or(|wanted| {
                let group = facts.group.or_else(|| measures.group_of(entry.node));
                group.is_some_and(|group| group.0 == *wanted)
            })
            && self.client.is_none_or(|client| facts.names_client(client))
            && self
                .broker
                .is_none_or(|broker| facts.names(NodeId::Broker(broker)))
            && self.error.is_none_or(|error| facts.error == Some(error))
            && same(self.state.as_deref(), facts.state)
            && same(self.previous.as_deref(), facts.previous)
            && same(self.value.as_deref(), facts.value)
            && self
                .contains
                .as_deref()
                .is_none_or(|part| facts.text.is_some_and(|text| text.contains(part)))
            && self.api.is_none_or(|api| facts.api == Some(api))
            && self
                .waiting
                .is_none_or(|waiting| facts.waiting == Some(waiting))
            && self
                .members
                .is_none_or(|members| count(facts.members) == Some(members))
            && self.isr.is_none_or(|isr| count(facts.isr) == Some(isr))
            && self
                .leader
                .is_none_or(|leader| facts.leader == Some(leader))
            && self.flag.is_none_or(|flag| facts.flag == Some(flag))
    }

    fn matches_partitions(&self, facts: &Facts<'_>, measures: &Measures) -> bool {
        if self.topic.is_none() && self.partition.is_none() {
            return true;
        }
        if let Some(name) = facts.topic_name {
            return same(self.topic.as_deref(), Some(name)) && self.partition.is_none();
        }
        let topic = self.topic.as_ref().map(|name| measures.topic(name));
        facts.partitions.iter().any(|topic_partition| {
            topic.is_none_or(|topic| topic == Some(topic_partition.topic))
                && self
                    .partition
                    .is_none_or(|partition| partition == topic_partition.partition)
        })
    }
}

fn same(wanted: Option<&str>, given: Option<&str>) -> bool {
    wanted.is_none_or(|wanted| given == Some(wanted))
}
