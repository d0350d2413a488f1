//! What a `show` line prints.

use super::events::{line, list, node, partition, partitions, time};
use std::fmt::Write as _;
use terrarium_core::base::ids::{BrokerId, NodeId, Offset, TopicPartition};
use terrarium_core::kernel::time::{SimTime, parse_span};
use terrarium_core::sim::action;
use terrarium_core::sim::measure::{MeasureKind, Measures, Query};
use terrarium_core::sim::simulation::{Node, Sim};
use terrarium_core::sim::view::{BrokerView, ProcessState, ReplicaView};
use terrarium_core::trace::event::TraceEntry;
use terrarium_core::wire::record::RecordValue;

/// Prints what a `show` line asks for.
pub(super) fn show(sim: &Sim, what: &str) -> Result<String, String> {
    let words: Vec<&str> = what.split_whitespace().collect();
    match words.as_slice() {
        ["brokers"] => Ok(brokers(sim)),
        ["controllers"] => Ok(controllers(sim)),
        ["topics"] => Ok(topics(sim)),
        ["partition", name] => show_partition(sim, named_partition(sim, name)?),
        ["log", name, "on", id] => show_log(sim, named_partition(sim, name)?, id),
        ["segments", name] => Ok(show_segments(sim, named_partition(sim, name)?)),
        ["lookup", name, "on", id, target] => {
            show_lookup(sim, named_partition(sim, name)?, (id, target))
        }
        ["group", name] => show_group(sim, name),
        ["consumer", name] => show_consumer(sim, name),
        ["producer", name] => show_producer(sim, name),
        ["parked"] => Ok(parked(sim)),
        ["events", rest @ ..] => {
            let filter = Filter::parse(sim, rest)?;
            let lines = filter.entries(sim).map(|entry| line(sim, entry) + "\n");
            Ok(lines.collect())
        }
        ["count", rest @ ..] => {
            let filter = Filter::parse(sim, rest)?;
            Ok(format!("{}\n", filter.entries(sim).count()))
        }
        ["measure", name] => show_measure(sim, name),
        _ => Err(String::from("there is nothing of this kind to show")),
    }
}

/// A measure over the whole trace, as lessons know it.
fn show_measure(sim: &Sim, name: &str) -> Result<String, String> {
    let kind = MeasureKind::ALL.iter().find(|kind| kind.name() == name);
    let kind = kind.ok_or_else(|| format!("there is no measure {name}"))?;
    let mut measures = Measures::new(sim.scenario());
    for entry in sim.trace().since(0) {
        measures.observe(entry);
    }
    Ok(format!("{}\n", measures.value(&Query::all(*kind))))
}

/// Which trace entries are wanted: names (with `*`), `of NODE`, `with TEXT`, `from`, `to`, `first`.
#[derive(Debug, Default)]
struct Filter {
    names: Vec<String>,
    nodes: Vec<NodeId>,
    texts: Vec<String>,
    without: Vec<String>,
    from: SimTime,
    to: Option<SimTime>,
    first: Option<usize>,
}

impl Filter {
    fn parse(sim: &Sim, words: &[&str]) -> Result<Self, String> {
        let mut filter = Self::default();
        let mut words = words.iter();
        while let Some(word) = words.next() {
            let mut value = || words.next().copied().ok_or("a value is missing");
            match *word {
                "of" => {
                    let name = value()?;
                    let found = action::node_by_text(name, sim.scenario());
                    filter
                        .nodes
                        .push(found.ok_or_else(|| format!("there is no {name}"))?);
                }
                "with" => filter.texts.push(value()?.to_owned()),
                "without" => filter.without.push(value()?.to_owned()),
                "from" => filter.from = SimTime(parse_span(value()?)?.0),
                "to" => filter.to = Some(SimTime(parse_span(value()?)?.0)),
                "first" => {
                    let count = value()?
                        .parse()
                        .map_err(|error| format!("first: {error}"))?;
                    filter.first = Some(count);
                }
                name => filter.names.push(name.to_owned()),
            }
        }
        Ok(filter)
    }

    fn wants(&self, sim: &Sim, entry: &TraceEntry) -> bool {
        let is_named = |pattern: &String| match pattern.strip_suffix('*') {
            Some(prefix) => entry.event.name().starts_with(prefix),
            None => entry.event.name() == pattern,
        };
        let at_right_time = self.from <= entry.at && self.to.is_none_or(|to| entry.at < to);
        if !at_right_time
            || !self.names.iter().any(is_named)
            || !(self.nodes.is_empty() || self.nodes.contains(&entry.node))
        {
            return false;
        }
        let text = line(sim, entry);
        self.texts.iter().all(|wanted| text.contains(wanted))
            && !self.without.iter().any(|unwanted| text.contains(unwanted))
    }

    fn entries<'a>(&'a self, sim: &'a Sim) -> impl Iterator<Item = &'a TraceEntry> {
        sim.trace()
            .since(0)
            .filter(|entry| self.wants(sim, entry))
            .take(self.first.unwrap_or(usize::MAX))
    }
}

fn named_partition(sim: &Sim, name: &str) -> Result<TopicPartition, String> {
    let missing = || format!("there is no partition {name}");
    let (topic, number) = name.rsplit_once('-').ok_or_else(missing)?;
    let topic = sim.topic_id(topic).ok_or_else(missing)?;
    let number = number.parse().map_err(|_not_a_number| missing())?;
    Ok(TopicPartition::new(topic, number))
}

fn process(state: ProcessState) -> String {
    match state {
        ProcessState::NotStarted => String::from("not started"),
        ProcessState::Running => String::from("running"),
        ProcessState::Paused(until) => format!("paused until {}", time(until)),
        ProcessState::Dead => String::from("dead"),
        ProcessState::Stopped => String::from("stopped"),
    }
}

fn brokers(sim: &Sim) -> String {
    let mut text = String::new();
    for broker in sim.stage().brokers {
        let fenced = if broker.is_fenced {
            "fenced"
        } else {
            "unfenced"
        };
        let _ = writeln!(
            text,
            "broker {} {} {fenced}",
            broker.id,
            process(broker.process)
        );
    }
    text
}

fn controllers(sim: &Sim) -> String {
    let mut text = String::new();
    let view = sim.stage().controller;
    for voter in view.voters {
        let state = voter.state.map_or("-", |state| state.name());
        let active = if view.active == Some(voter.id) {
            " active"
        } else {
            ""
        };
        let _ = writeln!(
            text,
            "controller {} {} {state} epoch={}{active}",
            voter.id,
            process(voter.process),
            voter.epoch
        );
    }
    text
}

fn topics(sim: &Sim) -> String {
    let mut text = String::new();
    for topic in sim.stage().topics {
        for part in &topic.partitions {
            let leader = part.leader.map_or(-1, |id| i64::from(id.0));
            let _ = writeln!(
                text,
                "{}-{} leader={leader} replicas={} isr={}",
                topic.name,
                part.topic_partition.partition,
                list(&part.replicas),
                list(&part.isr)
            );
        }
    }
    text
}

fn show_partition(sim: &Sim, id: TopicPartition) -> Result<String, String> {
    let stage = sim.stage();
    let mut known = stage.topics.iter().flat_map(|topic| &topic.partitions);
    let view = known
        .find(|part| part.topic_partition == id)
        .ok_or("the controller does not know it")?;
    let leader = view
        .leader
        .map_or_else(|| String::from("-1"), |id| id.to_string());
    let mut text = format!(
        "{} leader={leader} epoch={} isr={} replicas={}\n",
        partition(sim, id),
        view.leader_epoch,
        list(&view.isr),
        list(&view.replicas)
    );
    if !view.elr.is_empty() || !view.last_known_elr.is_empty() {
        let end = format!(
            " elr={} last known={}\n",
            list(&view.elr),
            list(&view.last_known_elr)
        );
        text = text.trim_end().to_owned() + &end;
    }
    for broker in &stage.brokers {
        let held = broker.replicas.iter().find(|one| one.topic_partition == id);
        if let Some(replica) = held {
            text.push_str(&show_replica(broker, replica));
        }
    }
    Ok(text)
}

fn show_replica(broker: &BrokerView, replica: &ReplicaView) -> String {
    let role = match broker.process {
        ProcessState::Running | ProcessState::Paused(_) if replica.is_leader => "leads",
        ProcessState::Running | ProcessState::Paused(_) => "follows",
        ProcessState::NotStarted | ProcessState::Dead | ProcessState::Stopped => "is down",
    };
    let epochs = replica
        .epochs
        .iter()
        .map(|(epoch, start)| format!("{epoch}@{start}"));
    let mut text = format!(
        "broker {} {role} hw={} leo={} epochs={}",
        broker.id,
        replica.high_watermark,
        replica.log_end_offset,
        list(epochs)
    );
    if replica.last_stable_offset != replica.high_watermark {
        let _ = write!(text, " lso={}", replica.last_stable_offset);
    }
    if replica.is_leader {
        let _ = write!(
            text,
            " epoch={} isr={}",
            replica.leader_epoch,
            list(&replica.isr)
        );
        if let Some(wanted) = &replica.wanted_isr {
            let _ = write!(text, " wants {}", list(wanted));
        }
        let followers = replica
            .followers
            .iter()
            .map(|one| format!("{}:{}", one.broker, one.log_end_offset));
        let _ = write!(text, " followers={}", list(followers));
    }
    text + "\n"
}

fn show_log(sim: &Sim, id: TopicPartition, broker: &str) -> Result<String, String> {
    let node = action::node_by_text(broker, sim.scenario()).ok_or("there is no such broker")?;
    let log = match sim.inspect(node) {
        Some(Node::Broker(broker)) => broker
            .replicas()
            .partitions()
            .get(&id)
            .map(|part| &part.log),
        Some(Node::BrokerDisk(disk)) => disk.get(&id),
        Some(
            Node::Controller(_)
            | Node::ControllerDisk(_)
            | Node::Client(_)
            | Node::ClientDown { .. },
        )
        | None => None,
    };
    let log = log.ok_or("it has no such log")?;
    let records = log.records().map(|(offset, record)| match &record.value {
        RecordValue::EndTransaction {
            is_commit: true, ..
        } => format!("{offset} commit\n"),
        RecordValue::EndTransaction { .. } => format!("{offset} abort\n"),
        _ => format!("{offset} {:?}\n", record.as_text().map_or("", |text| text)),
    });
    Ok(records.collect())
}

/// Where each replica's log starts and ends, what of it is flushed, and its segments.
fn show_segments(sim: &Sim, id: TopicPartition) -> String {
    let mut text = String::new();
    for broker in &sim.scenario().brokers {
        let Some(view) = sim.log_view(broker.id, id) else {
            continue;
        };
        let _ = writeln!(
            text,
            "broker {} start={} hw={} leo={} recovery={} flushed={} {} bytes",
            broker.id,
            view.log_start_offset,
            view.high_watermark,
            view.log_end_offset,
            view.recovery_point,
            view.flushed_offset,
            view.size_bytes
        );
        for segment in &view.segments {
            let index = segment.index.iter().map(|(o, p)| format!("{o}@{p}"));
            let _ = writeln!(
                text,
                "  {} {} bytes index={}",
                segment.file,
                segment.size_bytes,
                list(index)
            );
        }
        for gone in &view.deleted {
            let _ = writeln!(
                text,
                "  {:020}.log.deleted until {}",
                gone.base_offset.0,
                time(gone.removed_at)
            );
        }
        if let Some(cleanable) = view.cleanable {
            let _ = writeln!(
                text,
                "  dirty {}..{} {} of {} bytes",
                cleanable.first_dirty_offset,
                cleanable.first_uncleanable_offset,
                cleanable.cleanable_bytes,
                cleanable.clean_bytes + cleanable.cleanable_bytes
            );
        }
    }
    text
}

/// The steps of a lookup by offset, or by time when the target has a unit.
fn show_lookup(
    sim: &Sim,
    id: TopicPartition,
    (broker, target): (&str, &str),
) -> Result<String, String> {
    let broker = broker
        .parse()
        .map_err(|error| format!("{broker}: {error}"))?;
    let log = sim.log(BrokerId(broker), id).ok_or("it has no such log")?;
    let lookup = match target.parse() {
        Ok(offset) => log.look_up_offset(Offset(offset)),
        Err(_) => log.look_up_timestamp(SimTime(parse_span(target)?.0)),
    };
    let Some(lookup) = lookup else {
        return Ok(String::from("not in the log\n"));
    };
    let mut text = format!("segment {:020}\n", lookup.segment.0);
    if let Some((timestamp, offset)) = lookup.time_index_entry {
        let _ = writeln!(text, "time index entry {} -> {offset}", time(timestamp));
    }
    if let Some((offset, position)) = lookup.index_entry {
        let _ = writeln!(text, "index entry {offset} -> position {position}");
    }
    for batch in &lookup.scanned {
        let _ = writeln!(
            text,
            "batch {}..{} at position {}",
            batch.base_offset, batch.last_offset, batch.position
        );
    }
    if let Some((offset, timestamp)) = lookup.found {
        let _ = writeln!(text, "found {offset} of {}", time(timestamp));
    }
    Ok(text)
}

fn show_group(sim: &Sim, name: &str) -> Result<String, String> {
    let stage = sim.stage();
    let group = stage
        .groups
        .iter()
        .find(|group| group.group_id.as_str() == name);
    let group = group.ok_or("no coordinator knows it")?;
    let leader = group.leader.as_ref().map_or("none", |id| id.as_str());
    let (kind, coordinator) = (group.state.name(), group.coordinator);
    let epoch = group.generation_id;
    let mut text = match group.target_assignment_epoch {
        None => {
            format!("{name} {kind} generation={epoch} coordinator={coordinator} leader={leader}\n")
        }
        Some(target) => {
            format!("{name} {kind} epoch={epoch} target={target} coordinator={coordinator}\n")
        }
    };
    for member in &group.members {
        let mut notes = Vec::new();
        notes.extend(member.join_parked.then_some("join parked"));
        notes.extend(member.sync_parked.then_some("sync parked"));
        notes.extend(member.sync_pending.then_some("sync pending"));
        notes.extend(member.group_instance_id.is_some().then_some("static"));
        let mut notes: Vec<String> = notes.into_iter().map(String::from).collect();
        if let Some(it) = &member.reconciliation {
            notes.extend(it.is_classic.then(|| String::from("classic")));
            notes.push(format!("{} epoch={}", it.state.name(), it.member_epoch));
            if !it.pending_revocation.is_empty() {
                notes.push(format!(
                    "revoking {}",
                    partitions(sim, &it.pending_revocation)
                ));
            }
            if !it.unreleased.is_empty() {
                notes.push(format!("waiting for {}", partitions(sim, &it.unreleased)));
            }
        }
        let owned = partitions(sim, &member.assignment);
        let line = format!("{} {owned} {}", member.member_id, notes.join(", "));
        let _ = writeln!(text, "{}", line.trim_end());
    }
    for (id, offset) in &group.committed {
        let _ = writeln!(text, "committed {} {offset}", partition(sim, *id));
    }
    Ok(text)
}

fn show_consumer(sim: &Sim, name: &str) -> Result<String, String> {
    let stage = sim.stage();
    let consumer = stage
        .consumers
        .iter()
        .find(|consumer| &*consumer.name == name);
    let consumer = consumer.ok_or("there is no such consumer")?;
    let mut text = format!(
        "{name} {} {:?} generation={} member={} processed={}\n",
        process(consumer.process),
        consumer.member_state,
        consumer.generation_id,
        consumer.member_id,
        consumer.records_processed
    );
    for one in &consumer.partitions {
        let offset = |offset: Option<_>| {
            offset.map_or_else(|| String::from("?"), |it: Offset| it.to_string())
        };
        let _ = writeln!(
            text,
            "{} position={} processed={} committed={}",
            partition(sim, one.topic_partition),
            offset(one.position),
            offset(one.processed),
            offset(one.committed)
        );
    }
    Ok(text)
}

fn show_producer(sim: &Sim, name: &str) -> Result<String, String> {
    let stage = sim.stage();
    let producer = stage
        .producers
        .iter()
        .find(|producer| &*producer.name == name);
    let producer = producer.ok_or("there is no such producer")?;
    Ok(format!(
        "{name} {} acknowledged={} failed={} queued={} in flight={}\n",
        process(producer.process),
        producer.records_acknowledged,
        producer.records_failed,
        producer.records_queued,
        producer.records_in_flight
    ))
}

fn parked(sim: &Sim) -> String {
    let mut text = String::new();
    for one in sim.stage().parked {
        let from = node(sim, one.from);
        let waiting_for = if one.waiting_for.is_empty() {
            String::new()
        } else {
            format!(" for {}", list(&one.waiting_for))
        };
        let _ = writeln!(
            text,
            "broker {}: {:?} of {from} since {}{waiting_for}",
            one.at,
            one.waiting,
            time(one.since)
        );
    }
    text
}
