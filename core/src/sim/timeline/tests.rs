//! Any instant again.

use super::{Recording, Timeline};
use crate::base::config::{BrokerConfig, ConsumerConfig, ProducerConfig, TopicConfig};
use crate::base::ids::{BrokerId, ClientId};
use crate::kernel::network::LinkConfig;
use crate::kernel::rng::Stream;
use crate::kernel::time::{SimTime, Span};
use crate::sim::command::{Command, CommandError, Fault};
use crate::sim::scenario::{
    Arrivals, BrokerSpec, CommitStyle, ConsumerSpec, Keys, Processing, ProcessingTime,
    ProducerSpec, RestartPolicy, Scenario, TopicSpec, Workload,
};
use crate::sim::simulation::Sim;
use crate::trace::event::TraceEvent;
use std::sync::Arc;
#[cfg(target_arch = "wasm32")]
use wasm_bindgen_test::wasm_bindgen_test as test;

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
            assign: Vec::new(),
            start_at: Some(SimTime::from_millis(1_000)),
            processing: Processing {
                time: ProcessingTime::Fixed(Span::from_millis(20)),
                rules: vec![],
                commit: CommitStyle::None,
                ..Processing::default()
            },
            restart: RestartPolicy::Never,
            output: None,
        }
    };
    Arc::new(Scenario {
        controllers: 1,
        seed,
        brokers: (1..=3)
            .map(|id| BrokerSpec {
                id: BrokerId(id),
                rack: None,
                metadata_delay: Span::ZERO,
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
                transaction_records: 1,
                transaction_abort_every: None,
            },
        }],
        consumers: vec![consumer("c1"), consumer("c2"), consumer("c3")],
        network: LinkConfig::default(),
        links: vec![],
        history: crate::base::config::HistoryConfig::default(),
        actions: vec![],
        until: SimTime::from_millis(60_000),
    })
}

fn actions() -> Vec<(SimTime, Command)> {
    vec![
        (
            SimTime::from_millis(9_000),
            Command::PauseBroker(BrokerId(3), Span::from_millis(700)),
        ),
        (
            SimTime::from_millis(11_000),
            Command::KillBroker(BrokerId(2)),
        ),
        (
            SimTime::from_millis(14_000),
            Command::KillClient(ClientId(2)),
        ),
        (
            SimTime::from_millis(24_000),
            Command::RestartBroker(BrokerId(2)),
        ),
        (
            SimTime::from_millis(26_000),
            Command::StartClient(ClientId(2)),
        ),
        (
            SimTime::from_millis(30_000),
            Command::StopClient(ClientId(1)),
        ),
    ]
}

/// Everything that can be seen of a run at an instant.
fn seen(timeline: &Timeline) -> (u64, u64, String) {
    let sim = timeline.sim();
    (
        sim.trace().next_index(),
        sim.digest(),
        format!("{:?}", sim.stage()),
    )
}

#[test]
fn seeking_equals_a_straight_run_at_any_instant() {
    let recording = Recording { actions: actions() };
    let replay = || Timeline::replay(scenario(11), recording.clone()).expect("sound");
    let mut seeking = replay();
    seeking.seek(SimTime::from_millis(60_000));
    let mut stream = Stream::new(5, "instants");
    for _ in 0..25 {
        let at = SimTime(stream.below(60_000_000));
        seeking.seek(at);
        let mut straight = replay();
        straight.seek(at);
        assert_eq!(
            seeking.playhead(),
            at,
            "the playhead stands where it was sent"
        );
        assert_eq!(seen(&seeking), seen(&straight), "seek to {at}");
    }
}

#[test]
fn a_live_run_equals_its_replay() {
    let mut live = Timeline::new(scenario(12)).expect("sound");
    for (at, command) in actions() {
        while !live.advance(at, 37).reached {}
        live.act(command).expect("the action is possible");
    }
    live.seek(SimTime::from_millis(45_000));
    let mut again = Timeline::replay(scenario(12), live.recording().clone()).expect("sound");
    while !again.advance(SimTime::from_millis(45_000), 1).reached {}
    assert_eq!(
        seen(&live),
        seen(&again),
        "the recording gives the run again"
    );
    assert!(
        live.branches().is_empty(),
        "acting at the tip leaves nothing behind"
    );
}

#[test]
fn acting_in_the_past_keeps_the_old_future() {
    let mut timeline = Timeline::new(scenario(13)).expect("sound");
    timeline.seek(SimTime::from_millis(12_000));
    timeline
        .act(Command::KillBroker(BrokerId(1)))
        .expect("possible");
    timeline.seek(SimTime::from_millis(30_000));
    let old_future = seen(&timeline);
    timeline.seek(SimTime::from_millis(11_000));
    timeline
        .act(Command::KillBroker(BrokerId(2)))
        .expect("possible");
    timeline.seek(SimTime::from_millis(30_000));
    assert_ne!(seen(&timeline), old_future, "another broker died");
    assert_eq!(timeline.branches().len(), 1, "the old future is a branch");
    assert!(timeline.switch_branch(0), "there is one");
    assert_eq!(
        timeline.playhead(),
        SimTime::from_millis(11_000),
        "where the runs part"
    );
    timeline.seek(SimTime::from_millis(30_000));
    assert_eq!(seen(&timeline), old_future, "the old future is as it was");
    assert_eq!(
        timeline.branches().len(),
        1,
        "the other run is a branch now"
    );
    assert!(!timeline.switch_branch(1), "there is no second one");
}

#[test]
fn a_refused_action_changes_nothing() {
    let mut timeline = Timeline::new(scenario(14)).expect("sound");
    timeline.seek(SimTime::from_millis(12_000));
    timeline
        .act(Command::KillBroker(BrokerId(1)))
        .expect("possible");
    timeline.seek(SimTime::from_millis(20_000));
    let before = seen(&timeline);
    let refused = timeline.act(Command::KillBroker(BrokerId(1)));
    assert_eq!(
        refused,
        Err(CommandError::BrokerIsDown(BrokerId(1))),
        "it is dead already"
    );
    assert_eq!(seen(&timeline), before, "nothing has changed");
    assert_eq!(timeline.recording().actions.len(), 1, "nothing is recorded");
}

#[test]
fn steps_go_forth_and_back() {
    let mut timeline =
        Timeline::replay(scenario(15), Recording { actions: actions() }).expect("sound");
    timeline.seek(SimTime::from_millis(13_990));
    for _ in 0..60 {
        let before = seen(&timeline);
        assert!(timeline.step_event(), "something is left");
        let after = seen(&timeline);
        assert!(timeline.step_back(), "there is something before");
        assert_eq!(
            timeline.sim().trace().next_index(),
            before.0,
            "as before the step"
        );
        assert!(timeline.step_event(), "and forth");
        assert_eq!(seen(&timeline), after, "the same again");
    }
    let deliveries = |timeline: &Timeline| {
        let trace = timeline.sim().trace();
        trace
            .since(0)
            .filter(|entry| entry.event.name() == "delivered")
            .count()
    };
    let before = deliveries(&timeline);
    assert!(timeline.step_message(), "a message arrives");
    assert_eq!(deliveries(&timeline), before + 1, "exactly one");
}

#[test]
fn a_run_goes_on_the_same_without_the_old_part_of_its_trace() {
    let mut whole = Sim::new(scenario(3)).expect("a sound scenario");
    whole.run_until(SimTime::from_millis(20_000));
    let kept = 2_000;
    assert!(2 * kept < whole.trace().next_index(), "the trace is long");
    let mut trimmed = whole.clone();
    trimmed.keep_last_of_trace(kept);
    let first = trimmed.trace().first_index();
    assert!(0 < first, "something is dropped");
    assert!(kept <= trimmed.trace().next_index() - first, "not too much");
    for sim in [&mut whole, &mut trimmed] {
        sim.run_until(SimTime::from_millis(30_000));
    }
    assert_eq!(whole.trace().digest(), trimmed.trace().digest());
    let of = |sim: &Sim| sim.trace().since(first).cloned().collect::<Vec<_>>();
    assert_eq!(of(&whole), of(&trimmed), "the rest of the trace");
    assert_eq!(trimmed.trace().entry(first), whole.trace().entry(first));
    assert_eq!(trimmed.trace().entry(first - 1), None, "it is gone");
}

#[test]
fn a_message_on_its_way_can_be_lost_or_delayed() {
    let mut sim = Sim::new(scenario(3)).expect("a sound scenario");
    sim.run_until(SimTime::from_millis(5_000));
    let mut on_wire = Vec::new();
    for _ in 0..10_000 {
        on_wire = sim.stage().packets;
        if 2 <= on_wire.len() {
            break;
        }
        sim.step();
    }
    let [one, other, ..] = on_wire.as_slice() else {
        panic!("two messages are on their way: {on_wire:?}");
    };
    let (lost, late) = (one.packet, other.packet);
    let due_at = other.due_at.expect("no link is cut");
    let delay = Span::from_millis(700);
    sim.apply(Command::Fault(Fault::DropMessage(lost)))
        .expect("it is on its way");
    sim.apply(Command::Fault(Fault::DelayMessage(late, delay)))
        .expect("it is on its way");
    sim.run_until(due_at + delay);
    let mut arrivals = Vec::new();
    let mut losses = Vec::new();
    for entry in sim.trace().since(0) {
        if let TraceEvent::Delivered { packet, .. } = entry.event
            && [lost, late].contains(&packet)
        {
            arrivals.push((packet, entry.at));
        } else if let TraceEvent::PacketLost { packet, .. } = entry.event {
            losses.push(packet);
        }
    }
    assert_eq!(arrivals, [(late, due_at + delay)], "late, and once");
    assert_eq!(losses, [lost], "lost");
    for gone in [lost, late] {
        let refused = sim.apply(Command::Fault(Fault::DropMessage(gone)));
        assert_eq!(refused, Err(CommandError::NoSuchMessage(gone)));
    }
}
