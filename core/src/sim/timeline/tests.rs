//! Any instant again.

use super::{Recording, Timeline};
use crate::base::config::{BrokerConfig, ConsumerConfig, ProducerConfig, TopicConfig};
use crate::base::ids::{BrokerId, ClientId};
use crate::kernel::network::LinkConfig;
use crate::kernel::time::{SimTime, Span};
use crate::sim::command::Command;
use crate::sim::scenario::{
    Arrivals, BrokerSpec, CommitStyle, ConsumerSpec, Keys, Processing, ProcessingTime,
    ProducerSpec, RestartPolicy, Scenario, TopicSpec, Workload,
};
use std::sync::Arc;

fn scenario(seed: u64) -> Arc<Scenario> {
    let mut broker_config = BrokerConfig::default();
    broker_config
        .set("offsets.topic.num.partitions", "2")
        .expect("a known setting");
    let consumer = |name: &str| {
        let mut config = ConsumerConfig::default();
        for (key, value) in [("group.id", "billing"), ("auto.offset.reset", "earliest")] {
            config.set(key, value).expect("a known setting");
        }
        ConsumerSpec {
            name: Arc::from(name),
            config,
            topics: vec![Arc::from("orders")],
            start_at: Some(SimTime::from_millis(1_000)),
            processing: Processing {
                time: ProcessingTime::Fixed(Span::from_millis(20)),
                rules: vec![],
                commit: CommitStyle::None,
            },
            restart: RestartPolicy::Never,
            output: None,
        }
    };
    Arc::new(Scenario {
        seed,
        brokers: (1..=3)
            .map(|id| BrokerSpec {
                id: BrokerId(id),
                rack: None,
            })
            .collect(),
        broker_config: Arc::new(broker_config),
        topics: vec![TopicSpec {
            name: Arc::from("orders"),
            partitions: 4,
            replication_factor: 3,
            assignments: vec![],
            config: TopicConfig::default(),
        }],
        producers: vec![ProducerSpec {
            name: Arc::from("p1"),
            config: ProducerConfig::default(),
            start_at: Some(SimTime::from_millis(1_000)),
            workload: Workload {
                topic: Arc::from("orders"),
                every: Span::from_millis(50),
                arrivals: Arrivals::Even,
                records: None,
                keys: Keys::RoundRobin,
                partition: None,
                value_bytes: 100,
            },
        }],
        consumers: vec![consumer("c1"), consumer("c2"), consumer("c3")],
        network: LinkConfig::default(),
        links: vec![],
        actions: vec![],
        until: SimTime::from_millis(60_000),
    })
}

#[test]
fn smoke() {
    let mut timeline = Timeline::new(scenario(7)).expect("the scenario is sound");
    timeline.seek(SimTime::from_millis(20_000));
    for entry in timeline.sim().trace().since(0) {
        println!("{} {} {:?}", entry.at, entry.node, entry.event);
    }
    let stage = timeline.sim().stage();
    println!("{stage:#?}");
    println!("{} events", timeline.sim().event_count());
    let _ = (
        Recording::default(),
        Command::KillBroker(BrokerId(1)),
        ClientId(0),
    );
}
