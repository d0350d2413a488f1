//! Trace entries as sentences.

use super::Catalog;
use std::sync::Arc;
use terrarium_core::base::config::DeletionReason;
use terrarium_core::base::ids::{BrokerId, MemberId, NodeId, Offset, TopicId, TopicPartition};
use terrarium_core::sim::scenario::Scenario;
use terrarium_core::trace::event::{Disconnect, TraceEntry, TraceEvent, Waiting};
use terrarium_core::wire::api::Response;
use terrarium_core::wire::error_code::ErrorCode;

/// Who speaks: the words, and the names of a run's nodes and topics.
#[derive(Clone, Copy)]
pub(crate) struct Narrator<'a> {
    /// The texts.
    pub(crate) catalog: &'a Catalog,
    /// Names of the nodes.
    pub(crate) scenario: &'a Scenario,
    /// Names of the topics.
    pub(crate) topic_name: &'a dyn Fn(TopicId) -> Arc<str>,
}

impl std::fmt::Debug for Narrator<'_> {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter
            .debug_struct("Narrator")
            .field("locale", &self.catalog.locale())
            .finish_non_exhaustive()
    }
}

/// The arguments of a sentence.
type Args = Vec<(&'static str, String)>;

impl Narrator<'_> {
    /// What an entry says, in one sentence. The name of its node stands in it.
    pub(crate) fn sentence(&self, entry: &TraceEntry) -> String {
        let mut args = vec![("node", self.node(entry.node))];
        self.add_args(&entry.event, &mut args);
        let key = key(&entry.event);
        let borrowed: Vec<(&str, &str)> = args
            .iter()
            .map(|(name, value)| (*name, value.as_str()))
            .collect();
        self.catalog.text(&key, &borrowed)
    }

    /// A node's name on the stage.
    pub(crate) fn node(&self, node: NodeId) -> String {
        match node {
            NodeId::Controller(id) if 1 < self.scenario.controllers => {
                format!("{} {id}", self.catalog.t("name.controller"))
            }
            NodeId::Controller(_) => self.catalog.t("name.controller"),
            NodeId::Broker(id) => self.catalog.text("name.broker", &[("id", &id.to_string())]),
            NodeId::Client(id) => self.scenario.client_name(id).to_owned(),
        }
    }

    /// `orders-2`.
    pub(crate) fn partition(&self, which: TopicPartition) -> String {
        format!("{}-{}", (self.topic_name)(which.topic), which.partition)
    }

    /// `orders-0, orders-2`, or the word for none.
    pub(crate) fn partitions(&self, which: &[TopicPartition]) -> String {
        if which.is_empty() {
            return self.catalog.t("name.none");
        }
        let names: Vec<String> = which.iter().map(|one| self.partition(*one)).collect();
        names.join(", ")
    }

    fn broker_or_none(&self, which: Option<BrokerId>) -> String {
        match which {
            Some(id) => self.node(NodeId::Broker(id)),
            None => self.catalog.t("name.none"),
        }
    }

    /// Where a request waits.
    pub(crate) fn waiting(&self, waiting: Waiting) -> String {
        self.catalog.t(match waiting {
            Waiting::Join => "waiting.join",
            Waiting::Sync => "waiting.sync",
            Waiting::Produce => "waiting.produce",
            Waiting::Fetch => "waiting.fetch",
            Waiting::DeleteRecords => "waiting.delete-records",
            Waiting::CoordinatorAppend => "waiting.coordinator-append",
        })
    }

    fn disconnect(&self, reason: Disconnect) -> String {
        self.catalog.t(match reason {
            Disconnect::ConnectionRefused => "disconnect.connection-refused",
            Disconnect::PeerDied => "disconnect.peer-died",
            Disconnect::RequestTimedOut => "disconnect.request-timed-out",
            Disconnect::Closed => "disconnect.closed",
            Disconnect::Dropped => "disconnect.dropped",
        })
    }

    fn member(&self, member: &MemberId) -> String {
        if member.is_empty() {
            self.catalog.t("name.none")
        } else {
            member.to_string()
        }
    }

    fn add_args(&self, event: &TraceEvent, args: &mut Args) {
        match event {
            TraceEvent::Command { text } | TraceEvent::LogLine { text } => {
                args.push(("text", text.to_string()));
            }
            TraceEvent::TimerFired { timer } => args.push(("timer", timer_name(timer))),
            TraceEvent::ProcessStarted { incarnation } => {
                args.push(("count", incarnation.to_string()));
            }
            TraceEvent::ProcessKilled { reason } | TraceEvent::ProcessStopped { reason } => {
                args.push(("reason", reason.to_string()));
            }
            TraceEvent::ProcessPaused { until } => args.push(("until", until.to_string())),
            TraceEvent::ProcessResumed { backlog } => args.push(("count", backlog.to_string())),
            _ => {
                self.add_wire_args(event, args);
                self.add_cluster_args(event, args);
                self.add_replica_args(event, args);
                self.add_log_args(event, args);
                self.add_group_args(event, args);
                self.add_consumer_group_args(event, args);
                self.add_client_args(event, args);
                self.add_producer_args(event, args);
            }
        }
    }

    fn add_wire_args(&self, event: &TraceEvent, args: &mut Args) {
        match event {
            TraceEvent::RequestSent { to, body, .. } => {
                args.push(("to", self.node(*to)));
                args.push(("api", body.api_key().name().to_owned()));
            }
            TraceEvent::ResponseSent { to, body, .. } => {
                args.push(("to", self.node(*to)));
                args.push(("api", body.api_key().name().to_owned()));
                args.push(("error", error_of(body).name().to_owned()));
            }
            TraceEvent::Delivered { from, api, .. } => {
                args.push(("from", self.node(*from)));
                args.push(("api", api.name().to_owned()));
            }
            TraceEvent::PacketLost { to, reason, .. } => {
                args.push(("to", self.node(*to)));
                args.push(("reason", self.disconnect(*reason)));
            }
            TraceEvent::PacketResumed { due_at, .. } => args.push(("at", due_at.to_string())),
            TraceEvent::Disconnected {
                peer, api, reason, ..
            } => {
                args.push(("peer", self.node(*peer)));
                args.push(("api", api.name().to_owned()));
                args.push(("reason", self.disconnect(*reason)));
            }
            TraceEvent::RequestParked { from, waiting, .. }
            | TraceEvent::RequestReleased { from, waiting, .. } => {
                args.push(("from", self.node(*from)));
                args.push(("waiting", self.waiting(*waiting)));
            }
            TraceEvent::LinkChanged { to, .. } => args.push(("to", self.node(*to))),
            _ => {}
        }
    }

    fn add_cluster_args(&self, event: &TraceEvent, args: &mut Args) {
        match event {
            TraceEvent::BrokerRegistered { broker, .. }
            | TraceEvent::BrokerUnfenced { broker }
            | TraceEvent::ControlledShutdownStarted { broker } => {
                args.push(("broker", self.node(NodeId::Broker(*broker))));
            }
            TraceEvent::BrokerFenced {
                broker,
                last_contact_at,
            } => {
                args.push(("broker", self.node(NodeId::Broker(*broker))));
                args.push(("at", last_contact_at.to_string()));
            }
            TraceEvent::TopicDeleted { name } => args.push(("topic", name.to_string())),
            TraceEvent::TopicConfigChanged { name, settings } => {
                args.push(("topic", name.to_string()));
                args.push(("settings", settings.to_string()));
            }
            TraceEvent::QuorumStateChanged { state, epoch, .. } => {
                args.push(("state", state.name().to_owned()));
                args.push(("epoch", epoch.to_string()));
            }
            TraceEvent::ControllerActivated { epoch } => args.push(("epoch", epoch.to_string())),
            TraceEvent::AdminAnswered {
                api,
                error_code,
                text,
            } => {
                args.push(("api", api.name().to_owned()));
                args.push(("error", error_code.name().to_owned()));
                args.push(("text", text.to_string()));
            }
            TraceEvent::TopicCreated {
                name, partitions, ..
            } => {
                args.push(("topic", name.to_string()));
                args.push(("count", partitions.to_string()));
            }
            TraceEvent::LeaderElected {
                topic_partition,
                leader,
                leader_epoch,
                isr,
                ..
            } => {
                args.push(("partition", self.partition(*topic_partition)));
                args.push(("leader", self.broker_or_none(*leader)));
                args.push(("epoch", leader_epoch.to_string()));
                args.push(("isr", brokers(isr)));
            }
            TraceEvent::IsrShrunk {
                topic_partition,
                previous_isr,
                isr,
            }
            | TraceEvent::IsrExpanded {
                topic_partition,
                previous_isr,
                isr,
            } => {
                args.push(("partition", self.partition(*topic_partition)));
                args.push(("before", brokers(previous_isr)));
                args.push(("isr", brokers(isr)));
            }
            TraceEvent::IsrChangeRequested {
                topic_partition,
                isr,
                wanted_isr,
            } => {
                args.push(("partition", self.partition(*topic_partition)));
                args.push(("before", brokers(isr)));
                args.push(("isr", brokers(wanted_isr)));
            }
            TraceEvent::IsrChangeRefused {
                topic_partition,
                error_code,
            } => {
                args.push(("partition", self.partition(*topic_partition)));
                args.push(("error", error_code.name().to_owned()));
            }
            _ => {}
        }
    }

    fn add_replica_args(&self, event: &TraceEvent, args: &mut Args) {
        match event {
            TraceEvent::BecameLeader {
                topic_partition,
                leader_epoch,
                log_end_offset,
            } => {
                args.push(("partition", self.partition(*topic_partition)));
                args.push(("epoch", leader_epoch.to_string()));
                args.push(("offset", log_end_offset.to_string()));
            }
            TraceEvent::BecameFollower {
                topic_partition,
                leader_epoch,
                leader,
            } => {
                args.push(("partition", self.partition(*topic_partition)));
                args.push(("epoch", leader_epoch.to_string()));
                args.push(("leader", self.broker_or_none(*leader)));
            }
            TraceEvent::Appended {
                topic_partition,
                base_offset,
                log_end_offset,
                ..
            } => {
                args.push(("partition", self.partition(*topic_partition)));
                args.push(("offset", base_offset.to_string()));
                args.push(("end", log_end_offset.to_string()));
            }
            TraceEvent::Truncated {
                topic_partition,
                previous_log_end_offset,
                log_end_offset,
            } => {
                args.push(("partition", self.partition(*topic_partition)));
                args.push(("before", previous_log_end_offset.to_string()));
                args.push(("end", log_end_offset.to_string()));
            }
            TraceEvent::HighWatermarkAdvanced {
                topic_partition,
                high_watermark,
                ..
            } => {
                args.push(("partition", self.partition(*topic_partition)));
                args.push(("offset", high_watermark.to_string()));
            }
            _ => {}
        }
    }

    fn add_log_args(&self, event: &TraceEvent, args: &mut Args) {
        let Some((topic_partition, before, end)) = log_event(event) else {
            return;
        };
        args.push(("partition", self.partition(topic_partition)));
        args.push(("before", before));
        args.push(("end", end.to_string()));
    }

    fn add_group_args(&self, event: &TraceEvent, args: &mut Args) {
        match event {
            TraceEvent::GroupStateChanged {
                group_id,
                previous,
                state,
                generation_id,
                reason,
            } => {
                args.push(("group", group_id.to_string()));
                args.push(("before", previous.name().to_owned()));
                args.push(("state", state.name().to_owned()));
                args.push(("generation", generation_id.to_string()));
                args.push(("reason", reason.to_string()));
            }
            TraceEvent::MemberIdAssigned {
                group_id,
                member_id,
            } => {
                args.push(("group", group_id.to_string()));
                args.push(("member", self.member(member_id)));
            }
            TraceEvent::MemberAdded {
                group_id,
                member_id,
                client,
                ..
            } => {
                args.push(("group", group_id.to_string()));
                args.push(("member", self.member(member_id)));
                args.push(("client", self.node(*client)));
            }
            TraceEvent::MemberRemoved {
                group_id,
                member_id,
                reason,
            } => {
                args.push(("group", group_id.to_string()));
                args.push(("member", self.member(member_id)));
                args.push(("reason", reason.to_string()));
            }
            TraceEvent::StaticMemberReplaced {
                group_id,
                group_instance_id,
                member_id,
                ..
            } => {
                args.push(("group", group_id.to_string()));
                args.push(("instance", group_instance_id.to_string()));
                args.push(("member", self.member(member_id)));
            }
            TraceEvent::JoinPhaseCompleted {
                group_id,
                generation_id,
                members,
                leader,
            } => {
                args.push(("group", group_id.to_string()));
                args.push(("generation", generation_id.to_string()));
                args.push(("count", members.len().to_string()));
                let none = || self.catalog.t("name.none");
                args.push((
                    "leader",
                    leader.as_ref().map_or_else(none, |id| self.member(id)),
                ));
            }
            TraceEvent::OffsetCommitted {
                group_id,
                topic_partition,
                offset,
                ..
            } => {
                args.push(("group", group_id.to_string()));
                args.push(("partition", self.partition(*topic_partition)));
                args.push(("offset", offset.to_string()));
            }
            TraceEvent::CoordinatorLoaded { partition, groups } => {
                args.push(("partition", partition.to_string()));
                args.push(("count", groups.to_string()));
            }
            TraceEvent::CoordinatorUnloaded { partition } => {
                args.push(("partition", partition.to_string()));
            }
            _ => {}
        }
    }

    /// What the coordinator of a group of the consumer protocol does.
    fn add_consumer_group_args(&self, event: &TraceEvent, args: &mut Args) {
        match event {
            TraceEvent::TargetAssignmentComputed {
                group_id,
                assignor,
                target_assignment_epoch,
                members,
                ..
            } => {
                args.push(("group", group_id.to_string()));
                args.push(("assignor", assignor.to_string()));
                args.push(("epoch", target_assignment_epoch.to_string()));
                args.push(("count", members.to_string()));
            }
            TraceEvent::MemberReconciled {
                group_id,
                member_id,
                current,
            } => {
                args.push(("group", group_id.to_string()));
                args.push(("member", member_id.to_string()));
                args.push(("epoch", current.member_epoch.to_string()));
                args.push(("state", current.state.name().to_owned()));
                args.push(("partitions", self.partitions(&current.assigned)));
            }
            _ => {}
        }
    }

    fn add_client_args(&self, event: &TraceEvent, args: &mut Args) {
        match event {
            TraceEvent::MemberStateChanged {
                previous,
                state,
                generation_id,
            } => {
                args.push(("before", member_state_name(*previous).to_owned()));
                args.push(("state", member_state_name(*state).to_owned()));
                args.push(("generation", generation_id.to_string()));
            }
            TraceEvent::RejoinRequested { reason } => args.push(("reason", reason.to_string())),
            TraceEvent::PartitionsRevoked { partitions, .. }
            | TraceEvent::PartitionsLost { partitions } => {
                args.push(("partitions", self.partitions(partitions)));
            }
            TraceEvent::PartitionsAssigned {
                owned,
                generation_id,
                ..
            } => {
                args.push(("partitions", self.partitions(owned)));
                args.push(("generation", generation_id.to_string()));
            }
            TraceEvent::AssignmentComputed {
                assignor,
                assignments,
            } => {
                args.push(("assignor", assignor.to_string()));
                args.push(("count", assignments.len().to_string()));
            }
            TraceEvent::PositionSet {
                topic_partition,
                position,
                ..
            } => {
                args.push(("partition", self.partition(*topic_partition)));
                args.push(("offset", position.to_string()));
            }
            TraceEvent::PollReturned { records } => args.push(("count", records.to_string())),
            TraceEvent::ProcessingStarted {
                topic_partition,
                offset,
                value,
                until,
                ..
            } => {
                args.push(("partition", self.partition(*topic_partition)));
                args.push(("offset", offset.to_string()));
                args.push(("value", value.to_string()));
                args.push(("until", until.to_string()));
            }
            TraceEvent::RecordSkipped {
                topic_partition,
                offset,
                value,
                ..
            } => {
                args.push(("partition", self.partition(*topic_partition)));
                args.push(("offset", offset.to_string()));
                args.push(("value", value.to_string()));
            }
            TraceEvent::RecordProcessed {
                topic_partition,
                offset,
                ..
            } => {
                args.push(("partition", self.partition(*topic_partition)));
                args.push(("offset", offset.to_string()));
            }
            TraceEvent::CommitSucceeded { partitions } => {
                args.push(("count", partitions.to_string()));
            }
            TraceEvent::CommitFailed {
                error_code,
                exception,
            } => {
                args.push(("error", error_code.name().to_owned()));
                args.push(("exception", exception.as_deref().unwrap_or("").to_owned()));
            }
            TraceEvent::PollTimeoutExpired { last_poll_at } => {
                args.push(("at", last_poll_at.to_string()));
            }
            TraceEvent::FatalError { exception } => args.push(("exception", exception.to_string())),
            _ => {}
        }
    }

    fn add_producer_args(&self, event: &TraceEvent, args: &mut Args) {
        match event {
            TraceEvent::RecordQueued {
                topic_partition, ..
            } => {
                args.push(("partition", self.partition(*topic_partition)));
            }
            TraceEvent::BatchAcknowledged {
                topic_partition,
                base_offset,
                records,
                ..
            } => {
                args.push(("partition", self.partition(*topic_partition)));
                args.push(("offset", base_offset.to_string()));
                args.push(("count", records.to_string()));
            }
            TraceEvent::BatchRetried {
                topic_partition,
                error_code,
                attempts,
            } => {
                args.push(("partition", self.partition(*topic_partition)));
                args.push(("error", error_code.name().to_owned()));
                args.push(("count", attempts.to_string()));
            }
            TraceEvent::BatchFailed {
                topic_partition,
                error_code,
                records,
            } => {
                args.push(("partition", self.partition(*topic_partition)));
                args.push(("error", error_code.name().to_owned()));
                args.push(("count", records.to_string()));
            }
            _ => self.add_transaction_args(event, args),
        }
    }

    fn add_transaction_args(&self, event: &TraceEvent, args: &mut Args) {
        match event {
            TraceEvent::ProducerIdAssigned {
                producer_id,
                producer_epoch,
            } => {
                args.push(("id", producer_id.to_string()));
                args.push(("epoch", producer_epoch.to_string()));
            }
            TraceEvent::DuplicateFound {
                topic_partition,
                base_offset,
                ..
            } => {
                args.push(("partition", self.partition(*topic_partition)));
                args.push(("offset", base_offset.to_string()));
            }
            TraceEvent::DuplicateAppended {
                topic_partition,
                base_offset,
                records: count,
            } => {
                args.push(("partition", self.partition(*topic_partition)));
                args.push(("offset", base_offset.to_string()));
                args.push(("count", count.to_string()));
            }
            TraceEvent::RecordsDiscarded {
                from,
                topic_partition,
                records: count,
                error_code,
            } => {
                args.push(("from", self.node(*from)));
                args.push(("partition", self.partition(*topic_partition)));
                args.push(("count", count.to_string()));
                args.push(("error", error_code.name().to_owned()));
            }
            TraceEvent::BatchSplit {
                topic_partition,
                batches: count,
            } => {
                args.push(("partition", self.partition(*topic_partition)));
                args.push(("count", count.to_string()));
            }
            TraceEvent::SendFailed { exception, .. } => {
                args.push(("exception", exception.to_string()));
            }
            TraceEvent::TransactionStateChanged {
                transactional_id,
                previous,
                state,
                producer_epoch,
                ..
            } => {
                args.push(("id", transactional_id.to_string()));
                args.push(("before", previous.name().to_owned()));
                args.push(("state", state.name().to_owned()));
                args.push(("epoch", producer_epoch.to_string()));
            }
            TraceEvent::TransactionMarkerWritten {
                topic_partition,
                offset,
                ..
            } => {
                args.push(("partition", self.partition(*topic_partition)));
                args.push(("offset", offset.to_string()));
            }
            TraceEvent::TransactionBegun { transactional_id }
            | TraceEvent::TransactionEnded {
                transactional_id, ..
            } => {
                args.push(("id", transactional_id.to_string()));
            }
            _ => {}
        }
    }
}

/// The key of an event's sentence. Some events have a second sentence for a special case.
fn key(event: &TraceEvent) -> String {
    let variant = match event {
        TraceEvent::ResponseSent { body, .. } if error_of(body) != ErrorCode::None => ".error",
        TraceEvent::TransactionMarkerWritten {
            is_commit: false, ..
        }
        | TraceEvent::TransactionEnded {
            is_commit: false, ..
        } => ".abort",
        TraceEvent::SendBlocked {
            waits_for_memory: true,
        } => ".memory",
        TraceEvent::Delivered {
            is_response: true, ..
        } => ".response",
        TraceEvent::RequestReleased {
            timed_out: true, ..
        } => ".timed-out",
        TraceEvent::LeaderElected { leader: None, .. }
        | TraceEvent::BecameFollower { leader: None, .. } => ".none",
        TraceEvent::LeaderElected { unclean: true, .. } => ".unclean",
        TraceEvent::LinkChanged { is_cut: true, .. } => ".cut",
        TraceEvent::RecordProcessed {
            duplicate: true, ..
        } => ".duplicate",
        TraceEvent::PositionSet {
            from_commit: true, ..
        }
        | TraceEvent::RecordSkipped { commits: true, .. } => ".committed",
        TraceEvent::Appended {
            as_leader: true, ..
        }
        | TraceEvent::HighWatermarkAdvanced {
            as_leader: true, ..
        } => ".leader",
        _ => "",
    };
    format!("event.{}{variant}", event.name())
}

/// `[1, 2]`.
fn brokers(which: &[BrokerId]) -> String {
    let names: Vec<String> = which.iter().map(ToString::to_string).collect();
    format!("[{}]", names.join(", "))
}

/// A membership state as Kafka's client writes it.
pub(crate) const fn member_state_name(
    state: terrarium_core::trace::event::MemberState,
) -> &'static str {
    state.name()
}

/// A timer's name as its serialised form has it: `member-session`.
pub(crate) fn timer_name(timer: &terrarium_core::base::timer::Timer) -> String {
    match serde_json::to_value(timer) {
        Ok(serde_json::Value::String(name)) => name,
        Ok(serde_json::Value::Object(fields)) => fields.keys().next().cloned().unwrap_or_default(),
        _ => format!("{timer:?}"),
    }
}

/// The error of a response: its own, or the first one of its partitions.
pub(crate) fn error_of(body: &Response) -> ErrorCode {
    body.error_code()
}

/// What an event of a log is about: the partition, what was before or why, and where it ends.
fn log_event(event: &TraceEvent) -> Option<(TopicPartition, String, Offset)> {
    Some(match event {
        TraceEvent::SegmentRolled {
            topic_partition,
            base_offset,
        } => (
            *topic_partition,
            format!("{:020}", base_offset.0),
            *base_offset,
        ),
        TraceEvent::SegmentsDeleted {
            topic_partition,
            reason,
            log_start_offset,
            ..
        } => {
            let reason = match reason {
                DeletionReason::StartOffset => "log start offset",
                DeletionReason::Size => "retention.bytes",
                DeletionReason::Time => "retention.ms",
            };
            (*topic_partition, reason.to_owned(), *log_start_offset)
        }
        TraceEvent::LogStartOffsetAdvanced {
            topic_partition,
            log_start_offset,
        } => (*topic_partition, String::new(), *log_start_offset),
        TraceEvent::LogCleaned {
            topic_partition,
            bytes_before,
            bytes_after,
            end_offset,
            ..
        } => (
            *topic_partition,
            format!("{bytes_before} → {bytes_after}"),
            *end_offset,
        ),
        TraceEvent::LogFlushed {
            topic_partition,
            recovery_point,
        } => (*topic_partition, String::new(), *recovery_point),
        TraceEvent::LogRecovered {
            topic_partition,
            recovery_point: before,
            log_end_offset: end,
        }
        | TraceEvent::UnflushedTailLost {
            topic_partition,
            previous_log_end_offset: before,
            log_end_offset: end,
        }
        | TraceEvent::LogStartedAnew {
            topic_partition,
            previous_log_end_offset: before,
            log_start_offset: end,
        } => (*topic_partition, before.to_string(), *end),
        _ => return None,
    })
}
