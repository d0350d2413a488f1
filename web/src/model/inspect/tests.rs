use super::{Reading, rule_of};
use crate::driver::selection::Selection;
use crate::i18n::{Catalog, Locale};
use crate::model::panels::{Faults, Inspector, Table};
use std::sync::Arc;
use terrarium_core::base::ids::{BrokerId, ClientId, GroupId, NodeId, Offset, TopicPartition};
use terrarium_core::kernel::time::{SimTime, Span};
use terrarium_core::lesson::Lesson;
use terrarium_core::sim::Sim;
use terrarium_core::sim::command::Command;
use terrarium_core::trace::event::TraceEvent;

fn words() -> Catalog {
    let mut words = Catalog::new(Locale::En);
    words
        .add("", include_str!("../../../../static/strings/en/ui.toml"))
        .expect("the texts");
    words
}

/// The sandbox after some time.
fn sandbox(until: SimTime) -> Sim {
    let text = include_str!("../../../../static/sandbox.toml");
    let lesson = Lesson::parse("sandbox.toml", text).expect("the sandbox");
    let scenario = lesson.scenario(None, &[]).expect("its scenario");
    let mut sim = Sim::new(Arc::new(scenario)).expect("a sound scenario");
    sim.run_until(until);
    sim
}

/// All panels of a run at an instant.
struct Read {
    inspector: Inspector,
    faults: Faults,
    tables: Vec<Table>,
    /// The number of alarms, alarms and metrics.
    metrics: (usize, Vec<Table>),
}

fn read(sim: &Sim, selection: Option<&Selection>) -> Read {
    let (stage, catalog) = (sim.stage(), words());
    let pause = Span::from_millis(5_000);
    let reading = Reading {
        sim,
        stage: &stage,
        catalog: &catalog,
        selection,
        lesson: None,
        pause,
        is_deep: true,
        asked: "10",
    };
    Read {
        inspector: reading.inspector(),
        faults: reading.faults(),
        tables: reading.tables(),
        metrics: (reading.alarm_count(), reading.metric_tables()),
    }
}

const LATE: SimTime = SimTime(20_000_000);

#[test]
fn a_consumer_shows_its_fields_timers_events_and_their_causes() {
    let sim = sandbox(LATE);
    let consumer = sim.scenario().client_by_name("c1").expect("c1");
    let selection = Selection::Node(NodeId::Client(consumer));
    let shown = read(&sim, Some(&selection)).inspector;
    assert_eq!(shown.title, "c1", "its name");
    assert!(10 < shown.fields.len(), "fields: {:?}", shown.fields);
    let beats = shown.timers.iter().find(|timer| timer.name == "heartbeat");
    let beats = beats.unwrap_or_else(|| panic!("no heartbeat in {:?}", shown.timers));
    assert!(beats.percent <= 100 && LATE <= beats.due_at, "{beats:?}");
    assert!(!shown.events.is_empty(), "recent events");
    assert!(
        shown
            .events
            .is_sorted_by(|one, other| other.index < one.index),
        "newest first"
    );
    let why: Vec<u64> = shown.why.iter().map(|row| row.index).collect();
    assert_eq!(
        why.last(),
        shown.events.first().map(|row| &row.index),
        "ends with the latest"
    );
    assert!(
        why.is_sorted() && 1 < why.len(),
        "causes come before effects: {why:?}"
    );
    assert!(
        shown
            .settings
            .iter()
            .any(|one| one.name == "max.poll.records" && one.value == "20")
    );
}

#[test]
fn a_broker_a_replica_a_partition_and_a_group_have_names_and_fields() {
    let sim = sandbox(LATE);
    let topic = sim.topic_id("orders").expect("the topic exists");
    let which = TopicPartition::new(topic, 2);
    let cases = [
        (Selection::Node(NodeId::Broker(BrokerId(2))), "broker 2"),
        (
            Selection::Replica(BrokerId(2), which),
            "orders-2 on broker 2",
        ),
        (Selection::Partition(which), "Partition orders-2"),
        (Selection::Group(GroupId::new("billing")), "Group billing"),
    ];
    for (selection, title) in cases {
        let shown = read(&sim, Some(&selection)).inspector;
        assert_eq!(shown.title, title, "{selection:?}");
        assert!(!shown.fields.is_empty(), "{title} has no fields");
    }
    let replica = Selection::Replica(BrokerId(2), which);
    let fields = read(&sim, Some(&replica)).inspector.fields;
    for name in ["high_watermark", "segments", "flushed_offset"] {
        let number = fields
            .iter()
            .filter(|field| field.name == name && field.depth == 0)
            .count();
        assert_eq!(number, 1, "{name}: {fields:?}");
    }
}

#[test]
fn what_is_not_there_yet_is_said_to_be_gone() {
    let sim = sandbox(SimTime(1_000));
    let selection = Selection::Entry(999_999);
    let shown = read(&sim, Some(&selection)).inspector;
    assert_eq!(
        shown.title, "It is no longer there at this instant.",
        "an entry of the future"
    );
    assert!(
        shown.why.is_empty() && shown.fields.is_empty(),
        "and nothing else is said"
    );
}

#[test]
fn tools_that_cannot_be_used_say_why() {
    let mut sim = sandbox(LATE);
    let broker = Selection::Node(NodeId::Broker(BrokerId(2)));
    let refusals = |sim: &Sim| {
        let faults = read(sim, Some(&broker)).faults;
        let tools = faults.tools.into_iter();
        tools
            .map(|tool| (tool.name, tool.refusal))
            .collect::<Vec<_>>()
    };
    let running = Some(String::from("Broker 2 is running already."));
    let down = Some(String::from("Broker 2 is down already."));
    let before = [
        ("stop", None),
        ("kill", None),
        ("restart", running),
        ("power-loss", None),
        ("pause", None),
    ];
    assert_eq!(refusals(&sim), before, "while it runs");
    sim.apply(Command::KillBroker(BrokerId(2)))
        .expect("it can be killed");
    let after = [
        ("stop", down.clone()),
        ("kill", down.clone()),
        ("restart", None),
        // Its machine still holds what the process wrote.
        ("power-loss", None),
        ("pause", down),
    ];
    assert_eq!(refusals(&sim), after, "once it is dead");
}

#[test]
fn everything_can_be_selected_without_a_pointer() {
    let sim = sandbox(LATE);
    let faults = read(&sim, None).faults;
    let names: Vec<&str> = faults.nodes.iter().map(|(_, name)| name.as_str()).collect();
    for wanted in [
        "broker 1",
        "controller",
        "producer",
        "c4",
        "Group billing",
        "Partition orders-3",
    ] {
        assert!(names.contains(&wanted), "{wanted} is not in {names:?}");
    }
    assert!(
        faults.target.is_empty() && faults.tools.is_empty(),
        "nothing is selected"
    );
}

#[test]
fn the_tables_say_what_the_picture_shows() {
    let sim = sandbox(LATE);
    let tables = read(&sim, None).tables;
    let rows = |key: &str| {
        let table = tables.iter().find(|table| table.key == key);
        let table = table.unwrap_or_else(|| panic!("no table {key}"));
        for row in &table.rows {
            assert_eq!(row.len(), table.heads.len(), "{key}: {row:?}");
        }
        table.rows.clone()
    };
    assert_eq!(rows("table.brokers").len(), 3, "brokers");
    let replicas = rows("table.replicas");
    assert_eq!(
        replicas.len(),
        18,
        "three copies of six partitions: {replicas:?}"
    );
    assert_eq!(
        rows("table.consumers").len(),
        4,
        "consumers, c4 that does not run included"
    );
    assert_eq!(rows("table.members").len(), 3, "members");
    assert_eq!(
        rows("table.groups")
            .first()
            .map(|row| row[1].clone())
            .as_deref(),
        Some("Stable")
    );
}

#[test]
fn a_rule_names_its_kips() {
    let event = TraceEvent::Truncated {
        topic_partition: TopicPartition::default(),
        previous_log_end_offset: Offset(2),
        log_end_offset: Offset(1),
    };
    let rule = rule_of(&event).expect("every event has a rule");
    assert_eq!(
        (rule.event, rule.kips),
        ("truncated", vec![101, 279]),
        "KIPs"
    );
}

#[test]
fn the_console_cannot_be_broken() {
    let sim = sandbox(SimTime(1_000));
    let console: ClientId = sim.scenario().console();
    let selection = Selection::Node(NodeId::Client(console));
    let faults = read(&sim, Some(&selection)).faults;
    assert!(faults.tools.is_empty(), "it is the person's own");
}

#[test]
fn what_a_monitoring_system_would_show_follows_the_run() {
    let mut sim = sandbox(LATE);
    let broker = Selection::Node(NodeId::Broker(BrokerId(2)));
    let tables = |sim: &Sim, selection: Option<&Selection>| read(sim, selection).metrics;
    let names = |tables: &[Table], at: usize| -> Vec<String> {
        tables.get(at).map_or_else(Vec::new, |table| {
            let rows = table.rows.iter();
            rows.map(|row| row.first().cloned().unwrap_or_default())
                .collect()
        })
    };
    let (count, quiet) = tables(&sim, None);
    assert_eq!((count, names(&quiet, 0)), (0, vec![String::from("None")]));
    sim.apply(Command::KillBroker(BrokerId(3)))
        .expect("it can be killed");
    sim.run_until(sim.now() + Span::from_millis(20_000));
    let (count, shown) = tables(&sim, Some(&broker));
    assert!(0 < count, "a broker is dead");
    let warned = names(&shown, 0);
    assert!(
        warned
            .iter()
            .any(|name| name == "UnderReplicatedPartitions"),
        "{warned:?}"
    );
    let own = shown.get(1).map(|table| &table.rows);
    let own = own.expect("the metrics of broker 2");
    assert!(
        own.iter()
            .all(|row| row.get(1).is_some_and(|node| node == "broker 2")),
        "{own:?}"
    );
    assert!(
        own.iter()
            .any(|row| row.first().is_some_and(|name| name == "LogEndOffset")),
        "of its partitions too: {own:?}"
    );
}

#[test]
fn a_selected_message_can_be_lost_or_delayed_and_a_timer_run_out() {
    let mut sim = sandbox(LATE);
    while sim.stage().packets.is_empty() {
        sim.step().expect("something happens");
    }
    let packet = *sim.stage().packets.first().expect("a message");
    let message = Selection::Packet {
        packet: packet.packet,
        entry: packet.entry,
    };
    let shown = read(&sim, Some(&message));
    let tools: Vec<_> = shown.faults.tools.iter().map(|tool| tool.name).collect();
    assert_eq!(tools, ["drop", "delay"]);
    let number = shown
        .inspector
        .fields
        .first()
        .map(|field| field.value.clone());
    assert_eq!(number, Some(packet.packet.0.to_string()), "its number");
    for tool in &shown.faults.tools {
        assert_eq!(tool.refusal, None, "{} is possible", tool.name);
    }
    sim.apply(shown.faults.tools[0].command.clone())
        .expect("it is on its way");
    let gone = read(&sim, Some(&message)).faults;
    let refusal = gone.tools.first().and_then(|tool| tool.refusal.clone());
    assert!(
        refusal.is_some_and(|text| text.contains(&packet.packet.0.to_string())),
        "it cannot be lost twice"
    );

    let broker = Selection::Node(NodeId::Broker(BrokerId(1)));
    let timers = read(&sim, Some(&broker)).inspector.timers;
    assert!(!timers.is_empty(), "a broker has timers");
    for timer in timers.iter() {
        let expire = timer.expire.clone().expect("anything goes in the sandbox");
        assert_eq!(sim.check(&expire), Ok(()), "{}", timer.name);
    }
}

#[test]
fn an_offset_is_found_in_a_replica_step_by_step_qa15() {
    let sim = sandbox(LATE);
    let view = sim.stage();
    let of = |topic_partition| Selection::Replica(BrokerId(1), topic_partition);
    let broker = view.brokers.iter().find(|one| one.id == BrokerId(1));
    let mut replicas = broker.expect("broker 1").replicas.iter();
    let replica = replicas
        .find(|one| Offset(10) < one.log_end_offset)
        .expect("a replica with eleven records");
    let steps = read(&sim, Some(&of(replica.topic_partition)))
        .inspector
        .lookup;
    let steps = steps.expect("a replica is selected");
    let first = steps.first().expect("a step");
    assert!(first.contains("00000000000000000000"), "QA15: {first}");
    let last = steps.last().expect("a step");
    assert!(last.contains("offset 10"), "QA15: {last}");
    let broker = Selection::Node(NodeId::Broker(BrokerId(1)));
    assert_eq!(read(&sim, Some(&broker)).inspector.lookup, None);
}
