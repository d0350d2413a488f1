//! The same run again, however one comes to it; and no input that makes a run panic.

use std::sync::Arc;
use terrarium_core::base::config::{BrokerConfig, ConsumerConfig, ProducerConfig, TopicConfig};
use terrarium_core::base::ids::{BrokerId, ClientId, ControllerId, NodeId, Offset};
use terrarium_core::kernel::time::{SimTime, Span};
use terrarium_core::sim::command::{AdminAction, Command};
use terrarium_core::sim::scenario::{CONTROLLER, Scenario};
use terrarium_core::sim::simulation::Sim;
use terrarium_core::sim::timeline::{Recording, Timeline};
use terrarium_tests::dice::Dice;
use terrarium_tests::fuzz::{FAULTS_END_MS, draw};
use terrarium_tests::storyboard::Storyboard;

const UNTIL: SimTime = SimTime::from_millis(32_000);

fn board(seed: u64) -> Storyboard {
    Storyboard::parse(&draw(seed, FAULTS_END_MS)).expect("what is drawn can be read")
}

/// A person plays the run: acts when the time has come, and takes a refusal.
fn played(board: &Storyboard) -> Timeline {
    let mut timeline = Timeline::new(board.scenario.clone()).expect("a scenario that can be run");
    for (at, command) in board.actions() {
        timeline.advance(at, u32::MAX);
        timeline.act(command).ok();
    }
    timeline.advance(UNTIL, u32::MAX);
    timeline
}

fn replayed(scenario: &Arc<Scenario>, recording: &Recording) -> Timeline {
    Timeline::replay(scenario.clone(), recording.clone()).expect("it has been run before")
}

#[test]
fn straight_replayed_and_from_a_snapshot_runs_are_one() {
    for seed in 0..20 {
        let board = board(seed);
        let mut timeline = played(&board);
        let (digest, state) = (timeline.sim().digest(), timeline.sim().stage());
        assert_eq!(timeline.playhead(), UNTIL, "seed {seed}");

        let mut again = replayed(&board.scenario, timeline.recording());
        while !again.advance(UNTIL, 997).reached {}
        assert_eq!(
            again.sim().digest(),
            digest,
            "seed {seed}: replayed in slices"
        );

        let mut dice = Dice::new(seed, "seek");
        for _ in 0..4 {
            let at = SimTime(dice.between(0, UNTIL.0));
            timeline.seek(at);
            let mut straight = replayed(&board.scenario, timeline.recording());
            straight.advance(at, u32::MAX);
            let place = format!("seed {seed}, sought {at}");
            assert_eq!(timeline.sim().digest(), straight.sim().digest(), "{place}");
            assert_eq!(timeline.sim().stage(), straight.sim().stage(), "{place}");

            let mut tail: Sim = timeline.sim().clone();
            for (action_at, command) in timeline.recording().actions.clone() {
                if at < action_at {
                    tail.run_until(action_at);
                    tail.apply_recorded(command);
                }
            }
            tail.run_until(UNTIL);
            assert_eq!(tail.digest(), digest, "{place}, then its tail");
        }
        timeline.seek(UNTIL);
        assert_eq!(
            timeline.sim().digest(),
            digest,
            "seed {seed}: back at the end"
        );
        assert_eq!(
            timeline.sim().stage(),
            state,
            "seed {seed}: back at the end"
        );
    }
}

/// Anything that a command can say, sensible or not.
fn any_command(dice: &mut Dice, scenario: &Scenario) -> Command {
    let clients = scenario.client_count() + 2;
    let broker = BrokerId(dice.below(7));
    let client = ClientId(dice.below(clients));
    let mut node = || match dice.below(5) {
        0 => NodeId::Controller(CONTROLLER),
        1 => NodeId::Controller(ControllerId(dice.below(3))),
        2 => NodeId::Client(ClientId(dice.below(clients))),
        _ => NodeId::Broker(BrokerId(dice.below(7))),
    };
    let (from, to) = (node(), node());
    let span = Span(dice.of(&[0, 1, 50_000, 3_000_000, 20_000_000, u64::MAX]));
    let topic: Arc<str> = Arc::from(dice.of(&["t0", "t1", "new", "", "__consumer_offsets"]));
    let controller = ControllerId(2_999 + dice.below(5));
    match dice.below(25) {
        0 => Command::KillBroker(broker),
        1 | 2 => Command::RestartBroker(broker),
        3 => Command::PauseBroker(broker, span),
        4 | 5 => Command::StartClient(client),
        6 => Command::StopClient(client),
        7 => Command::KillClient(client),
        8 => Command::RestartClient(client),
        9 => Command::PauseClient(client, span),
        10 => Command::CutLink(from, to),
        11 => Command::HealLink(from, to),
        13 => Command::StopBroker(broker),
        14 => Command::KillController(controller),
        15 => Command::RestartController(controller),
        16 => Command::PauseController(controller, span),
        17 => Command::StopController(controller),
        18 => Command::Admin(AdminAction::CreateTopic {
            name: topic,
            partitions: dice.one_in(2).then(|| dice.below(5)),
            replication_factor: dice.one_in(2).then(|| dice.below(5)),
            settings: Vec::new(),
        }),
        19 => Command::Admin(AdminAction::DeleteTopic(topic)),
        20 => Command::Admin(AdminAction::AddPartitions(topic, dice.below(9))),
        21 => Command::Admin(AdminAction::ElectLeaders {
            unclean: dice.one_in(2),
            topic: dice.one_in(2).then_some(topic),
            partition: dice.one_in(2).then(|| dice.below(6)),
        }),
        22 => Command::PowerLossBroker(broker),
        23 => Command::PowerLossAll,
        24 => Command::DeleteRecords {
            topic: Arc::from(dice.of(&["t0", "t1", "no such topic"])),
            partition: dice.below(6),
            before: Offset(i64::from(dice.below(40)) - 1),
        },
        _ => Command::Send {
            topic: Arc::from(dice.of(&["t0", "t1", "", "__consumer_offsets", "no such topic"])),
            key: dice
                .one_in(2)
                .then(|| Arc::from("\u{43a}\u{43b}\u{44e}\u{447}")),
            value: (!dice.one_in(9)).then(|| Arc::from("v".repeat(dice.of(&[0, 1, 4_096, 4_097])))),
            partition: dice.one_in(2).then(|| dice.below(6)),
            count: dice.below(40),
        },
    }
}

#[test]
fn no_list_of_commands_makes_a_run_panic_and_refused_ones_change_nothing() {
    let (mut refused, mut accepted) = (0, 0);
    for seed in 0..60 {
        let board = board(seed + 10_000);
        let mut dice = Dice::new(seed, "fuzz");
        let mut sim = Sim::new(board.scenario.clone()).expect("a scenario that can be run");
        let mut at = SimTime::ZERO;
        for _ in 0..60 {
            at += Span(dice.between(0, 900_000));
            sim.run_until(at);
            let command = any_command(&mut dice, &board.scenario);
            let before = sim.digest();
            let possible = sim.check(&command);
            assert_eq!(sim.digest(), before, "seed {seed}: asking changes nothing");
            let done = sim.apply(command.clone());
            assert_eq!(done, possible, "seed {seed}: {command:?}");
            if done.is_err() {
                refused += 1;
                assert_eq!(sim.digest(), before, "seed {seed}: refused {command:?}");
            } else {
                accepted += 1;
            }
            assert!(
                !sim.stage().topics.is_empty() || at.0 < 60_000_000,
                "seed {seed}"
            );
        }
        sim.run_until(at + Span(20_000_000));
        assert!(!sim.is_stuck(), "seed {seed}");
    }
    assert!(
        1_000 < refused && 1_000 < accepted,
        "{refused} refused, {accepted} accepted"
    );
}

/// Settings at their bounds, several at once; what does not fit is refused by the setting itself.
fn with_odd_settings(scenario: &Scenario, dice: &mut Dice) -> (Scenario, Vec<String>) {
    let mut scenario = scenario.clone();
    let mut said = Vec::new();
    for _ in 0..3 {
        let value = dice.of(&["0", "1", "2", "1000", "2147483647", "true", "false", "none"]);
        let kind = dice.below(4);
        let settings = match kind {
            0 => BrokerConfig::SETTINGS,
            1 => TopicConfig::SETTINGS,
            2 => ProducerConfig::SETTINGS,
            _ => ConsumerConfig::SETTINGS,
        };
        let name = dice.of(settings).name;
        match kind {
            0 => {
                Arc::make_mut(&mut scenario.broker_config)
                    .set(name, value)
                    .ok();
            }
            1 => scenario.topics.iter_mut().for_each(|topic| {
                topic.config.set(name, value).ok();
            }),
            2 => scenario.producers.iter_mut().for_each(|producer| {
                producer.config.set(name, value).ok();
            }),
            _ => scenario.consumers.iter_mut().for_each(|consumer| {
                consumer.config.set(name, value).ok();
            }),
        }
        said.push(format!("{name}={value}"));
    }
    // No latency and no back-off at all would be a run that tries again within one instant for
    // ever; the simulation ends such a run and says so.
    if dice.one_in(4) {
        scenario.network.latency_us = 50;
        scenario.network.jitter_us = 0;
        said.push(String::from("latency=50us jitter=0us"));
    }
    (scenario, said)
}

#[test]
fn no_settings_make_a_run_panic_or_stand_still() {
    let (mut runs, mut impossible) = (0, 0);
    for seed in 0..150 {
        let board = board(seed + 20_000);
        let mut dice = Dice::new(seed, "settings");
        let (scenario, said) = with_odd_settings(&board.scenario, &mut dice);
        let Ok(mut sim) = Sim::new(Arc::new(scenario)) else {
            impossible += 1;
            continue;
        };
        runs += 1;
        for (at, command) in board.actions() {
            sim.run_until(at.min(SimTime::from_millis(12_000)));
            sim.apply(command).ok();
        }
        assert!(!sim.is_stuck(), "seed {seed}: {said:?} at {}", sim.now());
        assert!(
            sim.event_count() < 3_000_000,
            "seed {seed}: {said:?} is busy for nothing"
        );
    }
    assert!(100 < runs, "{runs} runs, {impossible} impossible");
}
