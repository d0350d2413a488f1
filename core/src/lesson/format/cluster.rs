//! Reads the tables that make up the scenario.

use crate::base::config::{
    BrokerConfig, ConsumerConfig, HistoryConfig, ProducerConfig, SettingError, TopicConfig,
};
use crate::base::ids::BrokerId;
use crate::kernel::limits::{
    ACTIONS_MAX, BROKERS_MAX, CLIENTS_MAX, CONTROLLERS_MAX, PARTITIONS_MAX, RECORD_TEXT_BYTES_MAX,
};
use crate::kernel::network::LinkConfig;
use crate::kernel::time::{SimTime, Span};
use crate::lesson::error::Problem;
use crate::lesson::reader::{Reader, Table, found, integer, plain};
use crate::lesson::settings::{self, SetError};
use crate::sim::action;
use crate::sim::command::{AdminAction, Command};
use crate::sim::scenario::{
    Arrivals, BrokerSpec, CONSOLE, ConsumerSpec, Keys, OutputSpec, Processing, ProcessingTime,
    ProducerSpec, RecordRule, RestartPolicy, Scenario, TopicSpec, Workload, parse_partition,
};
use std::sync::Arc;

/// The scenario of a lesson without a variant. Faults are in the reader; nothing is read when
/// what is missing would only bring forth more of them.
pub(super) fn read<'a>(reader: &mut Reader<'a>, lesson: &Table<'a>) -> Option<Scenario> {
    let seed = reader.number(lesson, "seed", 0..=i64::MAX).unwrap_or(1);
    reader.require(lesson, "until", "where the run ends, such as 90s")?;
    let until = reader.span(lesson, "until")?;
    reader.require(lesson, "cluster", "the table of the brokers")?;
    let cluster = reader.table(lesson, "cluster", "cluster")?;
    let brokers = read_brokers(reader, &cluster);
    let mut broker_config = BrokerConfig::default();
    configure(reader, &cluster, |name, value| {
        broker_config.set(name, value)
    });
    let history = read_history(reader, lesson);
    let controllers = reader.number(&cluster, "controllers", 1..=i64::from(CONTROLLERS_MAX));
    let mut scenario = Scenario {
        seed: u64::try_from(seed).unwrap_or(1),
        controllers: controllers.map_or(1, |count| u32::try_from(count).unwrap_or(1)),
        brokers,
        broker_config: Arc::new(broker_config),
        topics: Vec::new(),
        producers: Vec::new(),
        consumers: Vec::new(),
        network: LinkConfig::default(),
        links: Vec::new(),
        history,
        actions: Vec::new(),
        until: SimTime(until.0),
    };
    for table in reader.tables(lesson, "topic", "topic") {
        let topic = read_topic(reader, &table, &scenario.broker_config);
        scenario.topics.extend(topic);
    }
    for table in reader.tables(lesson, "producer", "producer") {
        let producer = read_producer(reader, &table, &scenario);
        scenario.producers.extend(producer);
    }
    for table in reader.tables(lesson, "consumer", "consumer") {
        let consumer = read_consumer(reader, &table, &scenario);
        scenario.consumers.extend(consumer);
    }
    check_names(reader, lesson, &scenario);
    read_network(reader, lesson, &mut scenario);
    scenario.actions = read_actions(reader, lesson, "at", &scenario);
    if let Err(faults) = settings::validate(&scenario) {
        for reason in faults {
            reader.fault(lesson.start, "", Problem::Contradiction { reason });
        }
    }
    Some(scenario)
}

/// Timed actions in their text form, in order of time.
pub(super) fn read_actions<'a>(
    reader: &mut Reader<'a>,
    table: &Table<'a>,
    name: &str,
    scenario: &Scenario,
) -> Vec<(SimTime, Command)> {
    let items = reader.items(
        table,
        name,
        "a list of actions such as \"12s start-consumer c4\"",
    );
    if !within(reader, table, name, items.len(), ACTIONS_MAX) {
        return Vec::new();
    }
    let mut actions = Vec::new();
    for (index, item) in items.into_iter().enumerate() {
        let problem = match item.get_ref().as_str() {
            Some(text) => match action::parse_timed(text, scenario) {
                Ok(timed) => {
                    let unknown = unknown_topic(&timed.1, &actions, scenario);
                    actions.push(timed);
                    match unknown {
                        Some(problem) => problem,
                        None => continue,
                    }
                }
                Err(error) => Problem::Action(error),
            },
            None => Problem::expected("an action such as \"12s start-consumer c4\"", found(item)),
        };
        let entry = if table.path.is_empty() {
            name.to_owned()
        } else {
            format!("{}.{name}", table.path)
        };
        reader.fault(item.span().start, &format!("{entry}[{index}]"), problem);
    }
    actions.sort_by_key(|(at, _)| *at);
    actions
}

/// Records that are sent to a topic which is neither declared nor created before are a slip.
fn unknown_topic(
    command: &Command,
    before: &[(SimTime, Command)],
    scenario: &Scenario,
) -> Option<Problem> {
    let Command::Send { topic, .. } = command else {
        return None;
    };
    let created = |(_, command): &(SimTime, Command)| {
        if let Command::Admin(AdminAction::CreateTopic { name, .. }) = command {
            name == topic
        } else {
            false
        }
    };
    let is_known = scenario.topics.iter().any(|spec| spec.name == *topic)
        || before.iter().any(created)
        || scenario.actions.iter().any(created);
    let known = scenario.topics.iter().map(|spec| &*spec.name);
    (!is_known).then(|| Problem::unknown("topic", topic, known))
}

fn read_brokers<'a>(reader: &mut Reader<'a>, cluster: &Table<'a>) -> Vec<BrokerSpec> {
    let tables = reader.tables(cluster, "brokers", "broker");
    if tables.is_empty() {
        let problem = Problem::Missing {
            name: "brokers",
            expected: "at least one broker",
        };
        reader.fault(cluster.start, &cluster.path, problem);
    }
    let mut brokers: Vec<BrokerSpec> = Vec::new();
    if !within(reader, cluster, "brokers", tables.len(), BROKERS_MAX) {
        return brokers;
    }
    for table in &tables {
        if reader
            .require(table, "id", "the broker's node.id")
            .is_none()
        {
            continue;
        }
        let Some(id) = reader.small(table, "id", 0).map(BrokerId) else {
            continue;
        };
        if brokers.iter().any(|broker| broker.id == id) {
            let problem = Problem::Duplicate {
                kind: "broker",
                name: id.to_string(),
            };
            reader.fault_in(table, "id", problem);
        }
        brokers.push(BrokerSpec {
            id,
            rack: reader.text(table, "rack"),
            metadata_delay: reader.span(table, "metadata-delay").unwrap_or(Span::ZERO),
        });
    }
    brokers
}

fn read_topic<'a>(
    reader: &mut Reader<'a>,
    table: &Table<'a>,
    cluster: &BrokerConfig,
) -> Option<TopicSpec> {
    let name = reader.required_text(table, "name", "the topic's name")?;
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-');
    if name.is_empty()
        || TOPIC_CHARS_MAX < name.len()
        || !name.chars().all(plain)
        || &*name == "."
        || &*name == ".."
    {
        let expected = "at most 249 of ASCII letters, digits, '.', '_' and '-'";
        reader.fault_in(
            table,
            "name",
            Problem::expected(expected, format!("{name:?}")),
        );
    }
    if &*name == crate::base::ids::CONSUMER_OFFSETS || &*name == crate::base::ids::TRANSACTION_STATE
    {
        let reason = format!("{name} is Kafka's own; the cluster creates it");
        reader.fault_in(table, "name", Problem::Contradiction { reason });
    }
    let of_cluster = |number: i64| u32::try_from(number).unwrap_or(1);
    let assignments = read_assignments(reader, table);
    let count = |number: usize| u32::try_from(number).unwrap_or(u32::MAX);
    let partitions = match (
        reader.number(table, "partitions", 1..=i64::from(PARTITIONS_MAX)),
        assignments.is_empty(),
    ) {
        (Some(partitions), _) => of_cluster(partitions),
        (None, false) => count(assignments.len()),
        (None, true) => of_cluster(cluster.num_partitions),
    };
    let factor = reader.number(table, "replication-factor", 1..=i64::from(BROKERS_MAX));
    let replication_factor = match (factor, assignments.first()) {
        (Some(factor), _) => of_cluster(factor),
        (None, Some(replicas)) => count(replicas.len()),
        (None, None) => of_cluster(cluster.default_replication_factor),
    };
    let mut config = TopicConfig::of_broker(cluster);
    configure(reader, table, |name, value| config.set(name, value));
    Some(TopicSpec {
        name,
        partitions,
        replication_factor,
        assignments,
        config,
    })
}

fn read_assignments<'a>(reader: &mut Reader<'a>, table: &Table<'a>) -> Vec<Vec<BrokerId>> {
    let mut assignments = Vec::new();
    for item in reader.items(table, "assignments", "a list of lists of broker ids") {
        let ids = item.get_ref().as_array().and_then(|ids| {
            let broker = |id: &crate::lesson::reader::Value<'_>| {
                u32::try_from(integer(id.get_ref())?).ok().map(BrokerId)
            };
            ids.iter().map(broker).collect::<Option<Vec<BrokerId>>>()
        });
        if let Some(ids) = ids {
            assignments.push(ids);
        } else {
            let problem = Problem::expected("a list of broker ids", found(item));
            reader.fault_in(table, "assignments", problem);
        }
    }
    assignments
}

fn read_producer<'a>(
    reader: &mut Reader<'a>,
    table: &Table<'a>,
    scenario: &Scenario,
) -> Option<ProducerSpec> {
    let name = reader.required_text(table, "name", "the producer's name")?;
    let topic = reader.required_text(table, "topic", "the topic that it sends to")?;
    check_topic(reader, table, "topic", &topic, scenario);
    let every = reader
        .span(table, "every")
        .unwrap_or(Span::from_millis(1_000));
    if every == Span::ZERO {
        reader.fault_in(
            table,
            "every",
            Problem::expected("a time longer than zero", "0s"),
        );
    }
    let arrivals = reader.choice(
        table,
        "arrivals",
        &[("even", Arrivals::Even), ("random", Arrivals::Random)],
    );
    let records = reader.number(table, "records", 0..=i64::MAX);
    let value_bytes = reader.number(table, "value-bytes", 0..=i64::from(RECORD_TEXT_BYTES_MAX));
    let mut config = ProducerConfig {
        client_id: Some(name.clone()),
        ..ProducerConfig::default()
    };
    configure(reader, table, |name, value| config.set(name, value));
    let workload = Workload {
        topic,
        every,
        arrivals: arrivals.unwrap_or(Arrivals::Even),
        records: records.and_then(|records| u64::try_from(records).ok()),
        keys: read_keys(reader, table),
        partition: reader.small(table, "partition", 0),
        value_bytes: value_bytes
            .and_then(|bytes| u32::try_from(bytes).ok())
            .unwrap_or(100),
        transaction_records: reader.small(table, "transaction-records", 1).unwrap_or(1),
        transaction_abort_every: reader.small(table, "transaction-abort-every", 1),
    };
    Some(ProducerSpec {
        name,
        config,
        start_at: read_start(reader, table),
        workload,
    })
}

fn read_keys<'a>(reader: &mut Reader<'a>, table: &Table<'a>) -> Keys {
    let Some(value) = table.get("keys") else {
        return Keys::None;
    };
    if value.get_ref().is_table() {
        let Some(keys) = reader.table(table, "keys", "keys") else {
            return Keys::None;
        };
        let prefix = reader
            .text(&keys, "prefix")
            .unwrap_or_else(|| Arc::from("key"));
        reader.require(&keys, "count", "how many keys there are");
        let count = reader.small(&keys, "count", 1).unwrap_or(1);
        return Keys::Cycle { prefix, count };
    }
    match value.get_ref().as_str() {
        Some("none") => Keys::None,
        Some("round-robin") => Keys::RoundRobin,
        Some(_) | None => {
            let expected = "none, round-robin or { prefix = \"user\", count = 10 }";
            reader.fault_in(table, "keys", Problem::expected(expected, found(value)));
            Keys::None
        }
    }
}

fn read_consumer<'a>(
    reader: &mut Reader<'a>,
    table: &Table<'a>,
    scenario: &Scenario,
) -> Option<ConsumerSpec> {
    let name = reader.required_text(table, "name", "the consumer's name")?;
    let assign = read_assign(reader, table, scenario);
    if assign.is_empty() {
        reader.require(table, "topics", "the topics that it subscribes to");
    }
    let mut topics = reader.texts(table, "topics");
    topics.sort();
    topics.dedup();
    for topic in &topics {
        check_topic(reader, table, "topics", topic, scenario);
    }
    let mut config = ConsumerConfig {
        client_id: Some(name.clone()),
        ..ConsumerConfig::default()
    };
    configure(reader, table, |name, value| config.set(name, value));
    let time = match reader.text(table, "processing") {
        None => ProcessingTime::Fixed(Span::from_millis(1)),
        Some(text) => settings::parse_processing(&text).unwrap_or_else(|| {
            let expected = "5ms, uniform 1ms 5ms or exponential 5ms";
            let problem = Problem::expected(expected, format!("{text:?}"));
            reader.fault_in(table, "processing", problem);
            ProcessingTime::Fixed(Span::ZERO)
        }),
    };
    let mut processing = Processing {
        time,
        rules: read_rules(reader, table),
        ..Processing::default()
    };
    for (name, expected, _) in Processing::SETTINGS {
        let given = table.get(name).and_then(|value| plain(value.get_ref()));
        if let Some(value) = given
            && processing.set(name, &value) == Some(false)
        {
            let problem = Problem::expected(expected, format!("{value:?}"));
            reader.fault_in(table, name, problem);
        }
    }
    Some(ConsumerSpec {
        output: read_output(reader, table, &name, scenario),
        restart: read_restart(reader, table),
        start_at: read_start(reader, table),
        name,
        config,
        topics,
        assign,
        processing,
    })
}

/// Partitions by hand: `orders-0`.
fn read_assign<'a>(
    reader: &mut Reader<'a>,
    table: &Table<'a>,
    scenario: &Scenario,
) -> Vec<(Arc<str>, u32)> {
    let mut assign = Vec::new();
    for text in reader.texts(table, "assign") {
        let Some(partition) = parse_partition(&text) else {
            let expected = "partitions such as orders-0";
            reader.fault_in(
                table,
                "assign",
                Problem::expected(expected, format!("{text:?}")),
            );
            continue;
        };
        check_topic(reader, table, "assign", &partition.0, scenario);
        assign.push(partition);
    }
    if !assign.is_empty() && table.get("topics").is_some() {
        let reason = String::from("a consumer either subscribes to topics or assigns partitions");
        reader.fault_in(table, "assign", Problem::Contradiction { reason });
    }
    assign
}

fn read_rules<'a>(reader: &mut Reader<'a>, table: &Table<'a>) -> Vec<(Arc<str>, RecordRule)> {
    let mut rules = Vec::new();
    for (value, text, start) in reader.pairs(table, "on") {
        if let Some(rule) = RecordRule::parse(&text) {
            rules.push((Arc::from(value), rule));
        } else {
            let expected = "a time such as 15m, crash, skip or skip-and-commit";
            let problem = Problem::expected(expected, format!("{text:?}"));
            reader.fault(start, &format!("{}.on.{value}", table.path), problem);
        }
    }
    rules
}

fn read_restart<'a>(reader: &mut Reader<'a>, table: &Table<'a>) -> RestartPolicy {
    let Some(value) = table.get("restart") else {
        return RestartPolicy::Never;
    };
    if value.get_ref().is_table() {
        let Some(restart) = reader.table(table, "restart", "restart") else {
            return RestartPolicy::Never;
        };
        reader.require(
            &restart,
            "delay",
            "the time from the first crash to the next start",
        );
        let delay = reader.span(&restart, "delay").unwrap_or(Span::ZERO);
        let longest = reader
            .span(&restart, "delay-max")
            .unwrap_or(RESTART_DELAY_MAX);
        return RestartPolicy::Always {
            delay,
            delay_max: longest.max(delay),
        };
    }
    if value.get_ref().as_str() != Some("never") {
        let expected = "never or { delay = \"10s\" }";
        reader.fault_in(table, "restart", Problem::expected(expected, found(value)));
    }
    RestartPolicy::Never
}

fn read_output<'a>(
    reader: &mut Reader<'a>,
    table: &Table<'a>,
    consumer: &Arc<str>,
    scenario: &Scenario,
) -> Option<OutputSpec> {
    let value = table.get("output")?;
    let client_id = Some(Arc::from(format!("{consumer}-output")));
    let mut config = ProducerConfig {
        client_id,
        ..ProducerConfig::default()
    };
    let topic = if value.get_ref().is_table() {
        let output = reader.table(table, "output", "output")?;
        configure(reader, &output, |name, value| config.set(name, value));
        reader.required_text(&output, "topic", "the topic")?
    } else {
        reader.text(table, "output")?
    };
    check_topic(reader, table, "output", &topic, scenario);
    Some(OutputSpec { topic, config })
}

fn read_start<'a>(reader: &mut Reader<'a>, table: &Table<'a>) -> Option<SimTime> {
    let Some(text) = reader.text(table, "start") else {
        return Some(SimTime::ZERO);
    };
    settings::parse_start(&text).unwrap_or_else(|| {
        let expected = "a time such as 12s, or by-action";
        reader.fault_in(
            table,
            "start",
            Problem::expected(expected, format!("{text:?}")),
        );
        None
    })
}

fn read_network<'a>(reader: &mut Reader<'a>, lesson: &Table<'a>, scenario: &mut Scenario) {
    let Some(network) = reader.table(lesson, "network", "network") else {
        return;
    };
    scenario.network = read_link(reader, &network, LinkConfig::default());
    for table in reader.tables(&network, "link", "link") {
        let config = read_link(reader, &table, scenario.network);
        let from = read_node(reader, &table, "from", scenario);
        let to = read_node(reader, &table, "to", scenario);
        let is_one_way = reader.flag(&table, "one-way").unwrap_or(false);
        let (Some(from), Some(to)) = (from, to) else {
            continue;
        };
        if from == to {
            let reason = String::from("a link needs two different ends");
            reader.fault_in(&table, "to", Problem::Contradiction { reason });
        }
        scenario.links.push((from, to, config));
        if !is_one_way {
            scenario.links.push((to, from, config));
        }
    }
}

fn read_link<'a>(reader: &mut Reader<'a>, table: &Table<'a>, base: LinkConfig) -> LinkConfig {
    let latency = reader.span(table, "latency");
    let jitter = reader.span(table, "jitter");
    let loss = reader.text(table, "loss").map(|text| {
        settings::parse_loss(&text).unwrap_or_else(|| {
            let expected = "a share below 100%, such as 0.5%";
            reader.fault_in(
                table,
                "loss",
                Problem::expected(expected, format!("{text:?}")),
            );
            base.loss
        })
    });
    LinkConfig {
        latency_us: latency.map_or(base.latency_us, |span| span.0),
        jitter_us: jitter.map_or(base.jitter_us, |span| span.0),
        loss: loss.unwrap_or(base.loss),
    }
}

fn read_node<'a>(
    reader: &mut Reader<'a>,
    table: &Table<'a>,
    name: &'static str,
    scenario: &Scenario,
) -> Option<crate::base::ids::NodeId> {
    let expected = "a broker's id, a client's name or controller";
    reader.require(table, name, expected)?;
    let value = table.get(name)?;
    let text = plain(value.get_ref());
    let node = text
        .as_deref()
        .and_then(|text| action::node_by_text(text, scenario));
    if node.is_none() {
        reader.fault_in(table, name, Problem::expected(expected, found(value)));
    }
    node
}

fn check_topic<'a>(
    reader: &mut Reader<'a>,
    table: &Table<'a>,
    field: &str,
    name: &str,
    scenario: &Scenario,
) {
    let known = || scenario.topics.iter().map(|topic| &*topic.name);
    if !known().any(|topic| topic == name) {
        reader.fault_in(table, field, Problem::unknown("topic", name, known()));
    }
}

/// Clients share one set of names, and topics another.
fn check_names<'a>(reader: &mut Reader<'a>, lesson: &Table<'a>, scenario: &Scenario) {
    let producers = scenario.producers.iter().map(|producer| &producer.name);
    let consumers = scenario.consumers.iter().map(|consumer| &consumer.name);
    let clients: Vec<&Arc<str>> = producers.chain(consumers).collect();
    let topics: Vec<&Arc<str>> = scenario.topics.iter().map(|topic| &topic.name).collect();
    for (kind, field, names) in [
        ("client", "consumer", &clients),
        ("topic", "topic", &topics),
    ] {
        for (index, name) in names.iter().enumerate() {
            if names.iter().take(index).any(|earlier| earlier == name) {
                let problem = Problem::Duplicate {
                    kind,
                    name: name.to_string(),
                };
                reader.fault_in(lesson, field, problem);
            }
        }
    }
    for name in clients {
        let is_plain = |c: char| c.is_alphanumeric() || matches!(c, '-' | '_' | '.');
        let is_taken = &**name == CONSOLE || &**name == "controller";
        let is_number = name.bytes().all(|byte| byte.is_ascii_digit());
        if is_taken || is_number || CLIENT_CHARS_MAX < name.len() || !name.chars().all(is_plain) {
            let expected = "a client's name of letters, digits, '-', '_' and '.', not a number, and neither console nor controller";
            reader.fault_in(
                lesson,
                "consumer",
                Problem::expected(expected, format!("{name:?}")),
            );
        }
    }
    within(
        reader,
        lesson,
        "consumer",
        scenario.producers.len() + scenario.consumers.len() + 1,
        CLIENTS_MAX,
    );
}

fn within<'a>(
    reader: &mut Reader<'a>,
    table: &Table<'a>,
    name: &str,
    count: usize,
    count_max: u32,
) -> bool {
    let count = u64::try_from(count).unwrap_or(u64::MAX);
    let fits = count <= u64::from(count_max);
    if !fits {
        let what = match name {
            "brokers" => "brokers",
            "consumer" => "clients",
            _ => "actions",
        };
        let problem = Problem::TooMany {
            what,
            count,
            count_max: u64::from(count_max),
        };
        reader.fault_in(table, name, problem);
    }
    fits
}

/// Sets every entry of a table's `config`.
fn read_history<'a>(reader: &mut Reader<'a>, lesson: &Table<'a>) -> HistoryConfig {
    let mut history = HistoryConfig::default();
    for (name, value, start) in reader.pairs(lesson, "history") {
        if let Err(error) = history.set(&name, &value) {
            let path = name.clone();
            let problem = Problem::Setting(SetError::Setting { path, error });
            reader.fault(start, "history", problem);
        }
    }
    history
}

fn configure<'a>(
    reader: &mut Reader<'a>,
    table: &Table<'a>,
    mut set: impl FnMut(&str, &str) -> Result<(), SettingError>,
) {
    for (name, value, start) in reader.pairs(table, "config") {
        if let Err(error) = set(&name, &value) {
            let path = name.clone();
            let problem = Problem::Setting(SetError::Setting { path, error });
            reader.fault(start, &format!("{}.config", table.path), problem);
        }
    }
}

const TOPIC_CHARS_MAX: usize = 249;
const CLIENT_CHARS_MAX: usize = 40;
/// Kubernetes' longest back-off of a crash loop.
const RESTART_DELAY_MAX: Span = Span(300_000_000);
