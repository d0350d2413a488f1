//! The declarations of a storyboard: cluster, topics, clients, links.

use std::sync::Arc;
use terrarium_core::base::config::{
    BrokerConfig, ConsumerConfig, ProducerConfig, SettingError, TopicConfig,
};
use terrarium_core::base::ids::BrokerId;
use terrarium_core::kernel::network::LinkConfig;
use terrarium_core::kernel::rng::Ratio;
use terrarium_core::kernel::time::{SimTime, Span, parse_span};
use terrarium_core::sim::action;
use terrarium_core::sim::scenario::{
    Arrivals, BrokerSpec, CommitStyle, ConsumerSpec, Keys, OutputSpec, Processing, ProcessingTime,
    ProducerSpec, RecordRule, RestartPolicy, Scenario, TopicSpec, Workload, parse_partition,
};

/// Reads the declarations among `lines`.
pub(super) fn scenario(lines: &[&str]) -> Result<Scenario, String> {
    let mut scenario = Scenario {
        seed: 1,
        controllers: 1,
        brokers: Vec::new(),
        broker_config: Arc::new(BrokerConfig::default()),
        topics: Vec::new(),
        producers: Vec::new(),
        consumers: Vec::new(),
        network: LinkConfig::default(),
        links: Vec::new(),
        history: terrarium_core::base::config::HistoryConfig::default(),
        actions: Vec::new(),
        until: SimTime::from_millis(60_000),
    };
    for line in lines {
        declare(line, &mut scenario).map_err(|error| format!("{line}: {error}"))?;
    }
    // Links name nodes, so they come last.
    for line in lines {
        if let Some(rest) = line.strip_prefix("link ") {
            link(rest, &mut scenario).map_err(|error| format!("{line}: {error}"))?;
        }
    }
    Ok(scenario)
}

fn declare(line: &str, scenario: &mut Scenario) -> Result<(), String> {
    let mut words = line.split_whitespace();
    match words.next().unwrap_or_default() {
        "cluster" => cluster(words, scenario),
        "topic" => {
            scenario.topics.push(topic(words, &scenario.broker_config)?);
            Ok(())
        }
        "producer" => {
            scenario.producers.push(producer(words)?);
            Ok(())
        }
        "consumer" => {
            scenario.consumers.push(consumer(words)?);
            Ok(())
        }
        _ => Ok(()),
    }
}

/// `brokers=3 controllers=3 racks=a,a,b metadata-delay=2:5s seed=7 latency=1ms jitter=0ms loss=1/100`,
/// and settings of the brokers.
fn cluster<'a>(
    words: impl Iterator<Item = &'a str>,
    scenario: &mut Scenario,
) -> Result<(), String> {
    let mut config = BrokerConfig::default();
    for word in words {
        let (name, value) = pair(word)?;
        match name {
            "brokers" => {
                scenario.brokers = (1..=number(value)?)
                    .map(|id| BrokerSpec {
                        id: BrokerId(id),
                        rack: None,
                        metadata_delay: Span::ZERO,
                    })
                    .collect();
            }
            "controllers" => scenario.controllers = number(value)?,
            "racks" => {
                for (broker, rack) in scenario.brokers.iter_mut().zip(value.split(',')) {
                    broker.rack = Some(Arc::from(rack));
                }
            }
            "metadata-delay" => {
                let (id, delay) = value
                    .split_once(':')
                    .ok_or("expected metadata-delay=2:5s")?;
                let id = BrokerId(number(id)?);
                let broker = scenario.brokers.iter_mut().find(|broker| broker.id == id);
                broker.ok_or("there is no such broker")?.metadata_delay =
                    Span(parse_span(delay)?.0);
            }
            "seed" => scenario.seed = u64::from(number(value)?),
            "latency" | "jitter" | "loss" => link_field(&mut scenario.network, name, value)?,
            _ => match name.strip_prefix("history.") {
                Some(name) => scenario.history.set(name, value).map_err(setting)?,
                None => config.set(name, value).map_err(setting)?,
            },
        }
    }
    scenario.broker_config = Arc::new(config);
    Ok(())
}

fn link(rest: &str, scenario: &mut Scenario) -> Result<(), String> {
    let mut words = rest.split_whitespace();
    let mut end = || {
        let word = words.next().ok_or("a link has two ends")?;
        action::node_by_text(word, scenario).ok_or_else(|| format!("there is no {word}"))
    };
    let (from, to) = (end()?, end()?);
    let mut config = scenario.network;
    for word in words {
        let (name, value) = pair(word)?;
        link_field(&mut config, name, value)?;
    }
    scenario.links.push((from, to, config));
    scenario.links.push((to, from, config));
    Ok(())
}

fn link_field(config: &mut LinkConfig, name: &str, value: &str) -> Result<(), String> {
    match name {
        "latency" => config.latency_us = parse_span(value)?.0,
        "jitter" => config.jitter_us = parse_span(value)?.0,
        "loss" => {
            let (numerator, denominator) = value.split_once('/').ok_or("expected loss=1/100")?;
            config.loss = Ratio {
                numerator: number(numerator)?,
                denominator: number(denominator)?,
            };
        }
        _ => return Err(format!("a link has no {name}")),
    }
    Ok(())
}

/// `orders partitions=2 rf=3 assign=1,2,3;2,3,1`, and settings of the topic.
fn topic<'a>(
    mut words: impl Iterator<Item = &'a str>,
    cluster: &BrokerConfig,
) -> Result<TopicSpec, String> {
    let mut spec = TopicSpec {
        name: Arc::from(words.next().ok_or("a topic has a name")?),
        partitions: 1,
        replication_factor: 1,
        assignments: Vec::new(),
        config: TopicConfig::of_broker(cluster),
    };
    for word in words {
        let (name, value) = pair(word)?;
        match name {
            "partitions" => spec.partitions = number(value)?,
            "rf" => spec.replication_factor = number(value)?,
            "assign" => {
                spec.assignments = value
                    .split(';')
                    .map(|list| {
                        list.split(',')
                            .map(|id| number(id).map(BrokerId))
                            .collect::<Result<_, _>>()
                    })
                    .collect::<Result<_, _>>()?;
                let replicas = spec.assignments.first().map_or(1, Vec::len);
                spec.partitions = u32::try_from(spec.assignments.len()).unwrap_or(1);
                spec.replication_factor = u32::try_from(replicas).unwrap_or(1);
            }
            _ => spec.config.set(name, value).map_err(setting)?,
        }
    }
    Ok(spec)
}

/// `p1 topic=orders every=100ms start=1s records=50 keys=user:3 partition=0`, and settings.
fn producer<'a>(mut words: impl Iterator<Item = &'a str>) -> Result<ProducerSpec, String> {
    let mut spec = ProducerSpec {
        name: Arc::from(words.next().ok_or("a producer has a name")?),
        config: ProducerConfig::default(),
        start_at: Some(SimTime::from_millis(1_000)),
        workload: Workload {
            topic: Arc::from(""),
            every: Span::from_millis(100),
            arrivals: Arrivals::Even,
            records: None,
            keys: Keys::RoundRobin,
            partition: None,
            value_bytes: 0,
            transaction_records: 1,
            transaction_abort_every: None,
        },
    };
    for word in words {
        let (name, value) = pair(word)?;
        match name {
            "topic" => spec.workload.topic = Arc::from(value),
            "every" => spec.workload.every = parse_span(value)?,
            "start" => spec.start_at = start(value)?,
            "records" => spec.workload.records = Some(u64::from(number(value)?)),
            "arrivals" => {
                spec.workload.arrivals = match value {
                    "random" => Arrivals::Random,
                    "even" => Arrivals::Even,
                    _ => return Err(String::from("expected arrivals=random or arrivals=even")),
                };
            }
            "keys" => {
                spec.workload.keys = match value.split_once(':') {
                    Some((prefix, count)) => Keys::Cycle {
                        prefix: Arc::from(prefix),
                        count: number(count)?,
                    },
                    None => Keys::None,
                };
            }
            "partition" => spec.workload.partition = Some(number(value)?),
            "transaction-records" => spec.workload.transaction_records = number(value)?,
            "transaction-abort-every" => {
                spec.workload.transaction_abort_every = Some(number(value)?);
            }
            "bytes" => spec.workload.value_bytes = number(value)?,
            _ => spec.config.set(name, value).map_err(setting)?,
        }
    }
    Ok(spec)
}

/// `c1 group=g topics=a,b processing=20ms start=2s static rule=wait:20s rule=crash restart=5s
/// commit=sync output=out`, and settings.
fn consumer<'a>(mut words: impl Iterator<Item = &'a str>) -> Result<ConsumerSpec, String> {
    let mut spec = ConsumerSpec {
        name: Arc::from(words.next().ok_or("a consumer has a name")?),
        config: ConsumerConfig::default(),
        topics: Vec::new(),
        assign: Vec::new(),
        start_at: Some(SimTime::from_millis(1_000)),
        processing: Processing::default(),
        restart: RestartPolicy::Never,
        output: None,
    };
    for word in words {
        if word == "static" {
            spec.config.group_instance_id = Some(spec.name.clone());
            continue;
        }
        let (name, value) = pair(word)?;
        match name {
            "group" => spec.config.group_id = Some(Arc::from(value)),
            "topics" => spec.topics = value.split(',').map(Arc::from).collect(),
            "assign" => {
                spec.assign = value
                    .split(',')
                    .map(|name| parse_partition(name).ok_or("expected assign=orders-0"))
                    .collect::<Result<_, _>>()?;
            }
            "processing" => {
                spec.processing.time = match value.split_once("..") {
                    Some((low, high)) => {
                        ProcessingTime::Uniform(parse_span(low)?, parse_span(high)?)
                    }
                    None => ProcessingTime::Fixed(parse_span(value)?),
                };
            }
            "rule" => {
                let (text, effect) = value.split_once(':').unwrap_or((value, "crash"));
                let rule = RecordRule::parse(effect).ok_or("expected rule=text:5s")?;
                spec.processing.rules.push((Arc::from(text), rule));
            }
            "commit" => {
                spec.processing.commit = match value {
                    "sync" => CommitStyle::SyncAfterBatch,
                    "each" => CommitStyle::SyncAfterRecord,
                    "before" => CommitStyle::SyncBeforeBatch,
                    "async" => CommitStyle::AsyncAfterBatch,
                    _ => {
                        let expected = "expected commit=sync, each, before or async";
                        return Err(String::from(expected));
                    }
                };
            }
            "on-commit-error" | "commit-on-revoke" | "read-ahead" | "assignor-time" => {
                if spec.processing.set(name, value) != Some(true) {
                    return Err(format!("{word} is not understood"));
                }
            }
            "start" => spec.start_at = start(value)?,
            "restart" => {
                let delay = parse_span(value)?;
                let delay_max = delay.times(32);
                spec.restart = RestartPolicy::Always { delay, delay_max };
            }
            "output" => {
                spec.output = Some(OutputSpec {
                    topic: Arc::from(value),
                    config: ProducerConfig::default(),
                });
            }
            "transactional.id" => {
                let output = spec
                    .output
                    .as_mut()
                    .ok_or("transactional.id needs output=")?;
                output.config.set(name, value).map_err(setting)?;
            }
            _ => spec.config.set(name, value).map_err(setting)?,
        }
    }
    Ok(spec)
}

fn start(value: &str) -> Result<Option<SimTime>, String> {
    match value {
        "never" => Ok(None),
        _ => Ok(Some(SimTime(parse_span(value)?.0))),
    }
}

fn pair(word: &str) -> Result<(&str, &str), String> {
    word.split_once('=')
        .ok_or_else(|| format!("expected name=value, found {word}"))
}

fn number(text: &str) -> Result<u32, String> {
    text.parse()
        .map_err(|error| format!("{text}: expected a number: {error}"))
}

#[expect(
    clippy::needless_pass_by_value,
    reason = "the shape that map_err wants"
)]
fn setting(error: SettingError) -> String {
    error.to_string()
}
