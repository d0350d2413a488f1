//! One line for one trace entry.

use std::fmt::Display;
use terrarium_core::base::ids::{BrokerId, MemberId, NodeId, TopicPartition};
use terrarium_core::kernel::time::SimTime;
use terrarium_core::sim::simulation::Sim;
use terrarium_core::trace::event::{TraceEntry, TraceEvent};
use terrarium_core::wire::api::{Request, Response};

/// `8.503s`.
pub(super) fn time(at: SimTime) -> String {
    format!("{}.{:03}s", at.0 / 1_000_000, at.0 / 1_000 % 1_000)
}

/// `[1,2,3]`.
pub(super) fn list<T: Display>(items: impl IntoIterator<Item = T>) -> String {
    let items: Vec<String> = items.into_iter().map(|item| item.to_string()).collect();
    format!("[{}]", items.join(","))
}

/// `orders-0`.
pub(super) fn partition(sim: &Sim, id: TopicPartition) -> String {
    format!("{}-{}", sim.topic_name(id.topic), id.partition)
}

pub(super) fn partitions(sim: &Sim, ids: &[TopicPartition]) -> String {
    list(ids.iter().map(|id| partition(sim, *id)))
}

/// A trace entry as a line: time, node, event, and what it says.
pub(super) fn line(sim: &Sim, entry: &TraceEntry) -> String {
    let node = node(sim, entry.node);
    let name = entry.event.name();
    let said = said(sim, entry);
    let line = format!("{} {node} {name} {said}", time(entry.at));
    line.trim_end().to_owned()
}

pub(super) fn node(sim: &Sim, node: NodeId) -> String {
    sim.scenario().node_name(node)
}

fn leader(leader: Option<BrokerId>) -> String {
    leader.map_or_else(|| String::from("-1"), |id| id.to_string())
}

fn member(member: Option<&MemberId>) -> &str {
    member.map_or("none", MemberId::as_str)
}

#[expect(clippy::too_many_lines, reason = "one arm an event")]
fn said(sim: &Sim, entry: &TraceEntry) -> String {
    use TraceEvent as E;
    let part = |id: &TopicPartition| partition(sim, *id);
    match &entry.event {
        E::Command { text } | E::LogLine { text } => text.to_string(),
        E::RequestSent { to, body, .. } => format!("{} {}", node(sim, *to), request(sim, body)),
        E::ResponseSent { to, body, .. } => format!("{} {}", node(sim, *to), response(sim, body)),
        E::Delivered {
            from,
            api,
            is_response,
            ..
        } => {
            let kind = if *is_response { "response" } else { "request" };
            format!("{api} {kind} of {}", node(sim, *from))
        }
        E::Disconnected {
            peer, api, reason, ..
        } => format!("{} {api} {reason:?}", node(sim, *peer)),
        E::RequestParked { from, waiting, .. } => format!("{waiting:?} of {}", node(sim, *from)),
        E::RequestReleased {
            from,
            waiting,
            timed_out,
            ..
        } => {
            let how = if *timed_out { "timed out" } else { "satisfied" };
            format!("{waiting:?} of {} {how}", node(sim, *from))
        }
        E::ProcessKilled { reason }
        | E::ProcessStopped { reason }
        | E::RejoinRequested { reason } => reason.to_string(),
        E::ProcessPaused { until } => format!("until {}", time(*until)),
        E::LinkChanged { to, is_cut } => {
            format!(
                "{} {}",
                node(sim, *to),
                if *is_cut { "cut" } else { "healed" }
            )
        }
        E::BrokerRegistered { broker, .. } | E::BrokerUnfenced { broker } => {
            format!("broker {broker}")
        }
        E::BrokerFenced {
            broker,
            last_contact_at,
        } => {
            format!(
                "broker {broker}, last heard of at {}",
                time(*last_contact_at)
            )
        }
        E::LeaderElected {
            topic_partition,
            leader: now,
            previous_leader,
            leader_epoch,
            isr,
            unclean,
        } => {
            let how = if *unclean { " unclean" } else { "" };
            format!(
                "{} {} -> {} epoch={leader_epoch} isr={}{how}",
                part(topic_partition),
                leader(*previous_leader),
                leader(*now),
                list(isr.iter())
            )
        }
        E::IsrShrunk {
            topic_partition,
            previous_isr,
            isr,
        }
        | E::IsrExpanded {
            topic_partition,
            previous_isr,
            isr,
        } => {
            format!(
                "{} {} -> {}",
                part(topic_partition),
                list(previous_isr.iter()),
                list(isr.iter())
            )
        }
        E::IsrChangeRequested {
            topic_partition,
            isr,
            wanted_isr,
        } => {
            format!(
                "{} {} -> {}",
                part(topic_partition),
                list(isr.iter()),
                list(wanted_isr.iter())
            )
        }
        E::IsrChangeRefused {
            topic_partition,
            error_code,
        } => {
            format!("{} {error_code}", part(topic_partition))
        }
        E::BecameLeader {
            topic_partition,
            leader_epoch,
            log_end_offset,
        } => {
            format!(
                "{} epoch={leader_epoch} leo={log_end_offset}",
                part(topic_partition)
            )
        }
        E::BecameFollower {
            topic_partition,
            leader_epoch,
            leader: of,
        } => {
            format!(
                "{} epoch={leader_epoch} of {}",
                part(topic_partition),
                leader(*of)
            )
        }
        E::Appended {
            topic_partition,
            base_offset,
            log_end_offset,
            as_leader,
        } => {
            let role = if *as_leader { "leader" } else { "follower" };
            format!(
                "{} {base_offset}..{log_end_offset} as {role}",
                part(topic_partition)
            )
        }
        E::Truncated {
            topic_partition,
            previous_log_end_offset,
            log_end_offset,
        } => {
            format!(
                "{} {previous_log_end_offset} -> {log_end_offset}",
                part(topic_partition)
            )
        }
        E::SegmentRolled {
            topic_partition,
            base_offset,
        } => format!("{} {:020}", part(topic_partition), base_offset.0),
        E::SegmentsDeleted {
            topic_partition,
            segments,
            reason,
            log_start_offset,
        } => format!(
            "{} {segments} by {reason:?}, start={log_start_offset}",
            part(topic_partition)
        ),
        E::LogStartOffsetAdvanced {
            topic_partition,
            log_start_offset,
        } => format!("{} start={log_start_offset}", part(topic_partition)),
        E::LogCleaned {
            topic_partition,
            first_dirty_offset,
            end_offset,
            bytes_before,
            bytes_after,
        } => format!(
            "{} {first_dirty_offset}..{end_offset}, {bytes_before} -> {bytes_after} bytes",
            part(topic_partition)
        ),
        E::LogFlushed {
            topic_partition,
            recovery_point,
        } => format!("{} below {recovery_point}", part(topic_partition)),
        E::LogRecovered {
            topic_partition,
            recovery_point,
            log_end_offset,
        } => format!(
            "{} {recovery_point}..{log_end_offset}",
            part(topic_partition)
        ),
        E::UnflushedTailLost {
            topic_partition,
            previous_log_end_offset,
            log_end_offset,
        }
        | E::LogStartedAnew {
            topic_partition,
            previous_log_end_offset,
            log_start_offset: log_end_offset,
        } => format!(
            "{} {previous_log_end_offset} -> {log_end_offset}",
            part(topic_partition)
        ),
        E::HighWatermarkAdvanced {
            topic_partition,
            high_watermark,
            as_leader,
        } => {
            let role = if *as_leader { "leader" } else { "follower" };
            format!("{} {high_watermark} as {role}", part(topic_partition))
        }
        E::GroupStateChanged {
            group_id,
            previous,
            state,
            generation_id,
            reason,
        } => {
            format!(
                "{group_id} {} -> {} generation={generation_id}: {reason}",
                previous.name(),
                state.name()
            )
        }
        E::MemberAdded {
            group_id,
            member_id,
            ..
        } => format!("{group_id} {member_id}"),
        E::MemberRemoved {
            group_id,
            member_id,
            reason,
        } => format!("{group_id} {member_id}: {reason}"),
        E::StaticMemberReplaced {
            group_id,
            previous_member_id,
            member_id,
            rebalances,
            ..
        } => {
            let how = if *rebalances {
                "rebalances"
            } else {
                "no rebalance"
            };
            format!("{group_id} {previous_member_id} -> {member_id}, {how}")
        }
        E::JoinPhaseCompleted {
            group_id,
            generation_id,
            members,
            leader,
        } => {
            format!(
                "{group_id} generation={generation_id} {} leader={}",
                list(members.iter()),
                member(leader.as_ref())
            )
        }
        E::TargetAssignmentComputed {
            group_id,
            assignor,
            target_assignment_epoch,
            changed,
            ..
        } => {
            let changed = changed
                .iter()
                .map(|(id, got)| format!("{id}={}", partitions(sim, got)));
            format!(
                "{group_id} {assignor} epoch={target_assignment_epoch} {}",
                list(changed)
            )
        }
        E::MemberReconciled {
            group_id,
            member_id,
            current,
        } => {
            let revoking = if current.pending_revocation.is_empty() {
                String::new()
            } else {
                format!(" revoking {}", partitions(sim, &current.pending_revocation))
            };
            format!(
                "{group_id} {member_id} {} epoch={} {}{revoking}",
                current.state.name(),
                current.member_epoch,
                partitions(sim, &current.assigned)
            )
        }
        E::OffsetCommitted {
            group_id,
            topic_partition,
            offset,
            generation_id,
            ..
        } => {
            format!(
                "{group_id} {} {offset} generation={generation_id}",
                part(topic_partition)
            )
        }
        E::CoordinatorLoaded { partition, groups } => {
            format!("partition={partition} groups={groups}")
        }
        E::CoordinatorUnloaded { partition } => format!("partition={partition}"),
        E::MemberStateChanged {
            previous,
            state,
            generation_id,
        } => {
            format!("{previous:?} -> {state:?} generation={generation_id}")
        }
        E::PartitionsRevoked {
            partitions: which,
            generation_id,
        } => {
            format!("{} generation={generation_id}", partitions(sim, which))
        }
        E::PartitionsLost { partitions: which } => partitions(sim, which),
        E::PartitionsAssigned {
            owned,
            generation_id,
            ..
        } => {
            format!("{} generation={generation_id}", partitions(sim, owned))
        }
        E::PositionSet {
            topic_partition,
            position,
            from_commit,
        } => {
            let source = if *from_commit { "committed" } else { "reset" };
            format!("{} {position} {source}", part(topic_partition))
        }
        E::PollReturned { records } => format!("{records} records"),
        E::ProcessingStarted {
            topic_partition,
            offset,
            value,
            until,
            ..
        } => {
            format!(
                "{} {offset} {value:?} until {}",
                part(topic_partition),
                time(*until)
            )
        }
        E::RecordProcessed {
            topic_partition,
            offset,
            duplicate,
            ..
        } => {
            let again = if *duplicate { " again" } else { "" };
            format!("{} {offset}{again}", part(topic_partition))
        }
        E::CommitFailed {
            error_code,
            exception,
        } => {
            format!("{error_code} {}", exception.as_deref().unwrap_or("retried"))
        }
        E::PollTimeoutExpired { last_poll_at } => format!("last poll at {}", time(*last_poll_at)),
        E::FatalError { exception } => exception.to_string(),
        E::BatchAcknowledged {
            topic_partition,
            base_offset,
            records,
            queued_at,
        } => {
            let after = entry.at.since(*queued_at).as_millis();
            format!(
                "{} at {base_offset}, {records} records, after {after}ms",
                part(topic_partition)
            )
        }
        E::BatchRetried {
            topic_partition,
            error_code,
            attempts,
        } => {
            format!("{} {error_code} attempt {attempts}", part(topic_partition))
        }
        E::BatchFailed {
            topic_partition,
            error_code,
            records,
        } => {
            format!("{} {error_code}, {records} records", part(topic_partition))
        }
        E::ProducerIdAssigned {
            producer_id,
            producer_epoch,
        } => format!("id={producer_id} epoch={producer_epoch}"),
        E::DuplicateFound {
            topic_partition,
            base_sequence,
            base_offset,
            ..
        } => format!(
            "{} sequence={base_sequence} at {base_offset}",
            part(topic_partition)
        ),
        E::DuplicateAppended {
            topic_partition,
            base_offset,
            records,
        } => format!(
            "{} at {base_offset}, {records} records",
            part(topic_partition)
        ),
        E::RecordsDiscarded {
            from,
            topic_partition,
            records,
            error_code,
        } => format!(
            "{} of {}, {records} records, {error_code:?}",
            part(topic_partition),
            node(sim, *from)
        ),
        E::SendBlocked { waits_for_memory } => String::from(if *waits_for_memory {
            "for memory"
        } else {
            "for metadata"
        }),
        E::SendFailed { topic, exception } => format!("{topic} {exception}"),
        E::BatchSplit {
            topic_partition,
            batches,
        } => format!("{} into {batches}", part(topic_partition)),
        E::TransactionStateChanged {
            transactional_id,
            previous,
            state,
            producer_id,
            producer_epoch,
        } => format!(
            "{transactional_id} {} -> {} id={producer_id} epoch={producer_epoch}",
            previous.name(),
            state.name()
        ),
        E::TransactionMarkerWritten {
            topic_partition,
            offset,
            is_commit,
            ..
        } => {
            let how = if *is_commit { "commit" } else { "abort" };
            format!("{} {how} at {offset}", part(topic_partition))
        }
        E::TransactionBegun { transactional_id } => transactional_id.to_string(),
        E::TransactionEnded {
            transactional_id,
            is_commit,
        } => {
            let how = if *is_commit { "committed" } else { "aborted" };
            format!("{transactional_id} {how}")
        }
        E::TimerFired { timer } => format!("{timer:?}"),
        E::ControlledShutdownStarted { broker } => format!("broker {broker}"),
        E::TopicDeleted { name } => name.to_string(),
        E::TopicConfigChanged { name, settings } => format!("{name} {settings}"),
        E::QuorumStateChanged {
            state,
            epoch,
            leader,
        } => {
            let leader = leader.map_or_else(|| String::from("none"), |id| id.to_string());
            format!("{} epoch={epoch} leader={leader}", state.name())
        }
        E::ControllerActivated { epoch } => format!("epoch={epoch}"),
        E::AdminAnswered {
            api,
            error_code,
            text,
        } => format!("{api} {error_code} {text:?}"),
        E::TopicCreated {
            name, partitions, ..
        } => format!("{name} partitions={partitions}"),
        E::PacketLost { to, reason, .. } => format!("to {} {reason:?}", node(sim, *to)),
        _ => String::new(),
    }
}

fn request(sim: &Sim, request: &Request) -> String {
    match request {
        Request::Fetch(body) => {
            let parts = body.partitions.iter().map(|one| {
                let part = partition(sim, one.topic_partition);
                format!(
                    "{part} from {} epoch={}",
                    one.fetch_offset, one.current_leader_epoch
                )
            });
            format!("Fetch {}", list(parts))
        }
        Request::Produce(body) => {
            let parts = body.batches.iter().map(|(id, batch)| {
                format!("{} {} records", partition(sim, *id), batch.records.len())
            });
            format!("Produce acks={:?} {}", body.acks, list(parts))
        }
        Request::ApiVersions(_) => String::from("ApiVersions"),
        Request::ListOffsets(body) => {
            let parts = body
                .partitions
                .iter()
                .map(|(id, query)| format!("{} {query:?}", partition(sim, *id)));
            format!("ListOffsets {}", list(parts))
        }
        Request::OffsetCommit(body) => {
            let parts = body
                .offsets
                .iter()
                .map(|(id, offset, _)| format!("{} {offset}", partition(sim, *id)));
            format!(
                "OffsetCommit generation={} {}",
                body.generation_id,
                list(parts)
            )
        }
        Request::ConsumerGroupHeartbeat(body) => {
            let owned = body.topic_partitions.as_ref();
            let owned = owned.map_or_else(|| String::from("-"), |it| partitions(sim, it));
            format!("ConsumerGroupHeartbeat epoch={} {owned}", body.member_epoch)
        }
        other => other.api_key().name().to_owned(),
    }
}

fn response(sim: &Sim, response: &Response) -> String {
    match response {
        Response::Fetch(body) => {
            let parts = body.partitions.iter().map(|one| {
                let records: usize = one.batches.iter().map(|batch| batch.records.len()).sum();
                let diverging = one
                    .diverging_epoch
                    .map_or_else(String::new, |(epoch, end)| {
                        format!(" diverging={epoch}@{end}")
                    });
                let (part, hw) = (partition(sim, one.topic_partition), one.high_watermark);
                format!(
                    "{part} {} hw={hw} {records} records{diverging}",
                    one.error_code
                )
            });
            format!("Fetch {}", list(parts))
        }
        Response::Produce(body) => {
            let parts = body.partitions.iter().map(|one| {
                let part = partition(sim, one.topic_partition);
                format!("{part} {} at {}", one.error_code, one.base_offset)
            });
            format!("Produce {}", list(parts))
        }
        Response::ApiVersions(body) => format!("ApiVersions {:?}", body.error_code),
        Response::ListOffsets(body) => {
            let parts = body.partitions.iter().map(|one| {
                let part = partition(sim, one.topic_partition);
                format!("{part} {} {}", one.error_code, one.offset)
            });
            format!("ListOffsets {}", list(parts))
        }
        Response::DeleteRecords(body) => {
            let parts = body.partitions.iter().map(|one| {
                let part = partition(sim, one.topic_partition);
                format!("{part} {} low={}", one.error_code, one.low_watermark)
            });
            format!("DeleteRecords {}", list(parts))
        }
        Response::OffsetCommit(body) => {
            let parts = body
                .partitions
                .iter()
                .map(|(id, code)| format!("{} {code}", partition(sim, *id)));
            format!("OffsetCommit {}", list(parts))
        }
        Response::BrokerRegistration(body) => format!("BrokerRegistration {}", body.error_code),
        Response::JoinGroup(body) => format!(
            "JoinGroup {} generation={}",
            body.error_code, body.generation_id
        ),
        Response::SyncGroup(body) => format!("SyncGroup {}", body.error_code),
        Response::ConsumerGroupHeartbeat(body) => {
            let assignment = body.assignment.as_ref();
            let assignment = assignment.map_or_else(|| String::from("-"), |it| partitions(sim, it));
            let (code, epoch) = (body.error_code, body.member_epoch);
            format!("ConsumerGroupHeartbeat {code} epoch={epoch} {assignment}")
        }
        Response::Heartbeat(body) => format!("Heartbeat {}", body.error_code),
        Response::AlterPartition(body) => {
            let parts = body
                .partitions
                .iter()
                .map(|one| format!("{} {}", partition(sim, one.topic_partition), one.error_code));
            format!("AlterPartition {} {}", body.error_code, list(parts))
        }
        other => other.api_key().name().to_owned(),
    }
}
