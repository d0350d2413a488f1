//! What each failure loses, and what it never does.
//!
//! Three brokers, one partition on all of them, one producer. For each way to write (`acks`, min
//! ISR, unclean elections) the leader crashes, the leader's machine loses power, or all machines do,
//! at a time that the seed draws. The followers are further from the leader than the producer is. In three seeds of four the followers are in trouble before: dead,
//! or cut off from the leader. When everything runs again, the records that the producer was told
//! are written are looked for in the log.
//!
//! Records are lost exactly where Kafka may lose them: never elsewhere, and at least once there.
//! `TERRARIUM_DURABILITY_SEEDS=500` runs more seeds than each test run does.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use terrarium_core::base::config::Acks;
use terrarium_core::base::ids::{RecordId, TopicPartition};
use terrarium_core::kernel::time::{SimTime, Span};
use terrarium_core::sim::command::Command;
use terrarium_core::sim::simulation::Sim;
use terrarium_core::trace::event::TraceEvent;
use terrarium_core::wire::api::Request;
use terrarium_tests::dice::Dice;
use terrarium_tests::invariants::log_of;
use terrarium_tests::storyboard::Storyboard;

/// What happens to the brokers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fault {
    /// The leader's process dies; what it wrote is in the page cache.
    LeaderCrash,
    /// The leader's machine loses power, and with it what was not flushed.
    LeaderPowerLoss,
    /// All machines lose power at once.
    ClusterPowerLoss,
}

/// How records are written, and what happens to them.
#[derive(Clone, Copy, Debug)]
struct Cell {
    acks: &'static str,
    min_isr: u32,
    is_unclean: bool,
    /// Eligible leader replicas (KIP-966).
    has_elr: bool,
    fault: Fault,
}

impl Cell {
    /// Why acknowledged records may be lost, if they may; with or without trouble of the followers
    /// before.
    fn may_lose(self, in_trouble: bool) -> Option<&'static str> {
        match (self.acks, self.fault) {
            ("0", _) => Some("nobody says whether it arrived; what a dead leader is sent is gone"),
            ("1", Fault::LeaderCrash) => Some("L1, L10: the leader alone may have it"),
            ("1", _) => Some("L1: one copy, and that is not flushed"),
            (_, Fault::ClusterPowerLoss) => Some("L6: no replica has flushed it"),
            // The ISR is whole: the others have it, and one of them is elected.
            _ if !in_trouble => None,
            (_, Fault::LeaderCrash) if self.is_unclean => {
                Some("L2: who leads then was outside the ISR")
            }
            // The last member of the ISR has everything on its disk, and the partition waits for it.
            (_, Fault::LeaderCrash) => None,
            _ if self.is_unclean => Some("L2: who leads then was outside the ISR"),
            // An ELR member has it, and who ended uncleanly is no candidate. With two that did (a
            // crash counts) nobody would be left but the last leader.
            _ if self.has_elr && self.min_isr == 2 => None,
            _ if self.min_isr == 1 => {
                Some("one copy is enough while the others are out of the ISR")
            }
            _ => Some("L5: the last member of the ISR comes back without its tail, and leads"),
        }
    }

    /// A run: the cluster, the producer, and what happens.
    fn storyboard(self, seed: u64, in_trouble: bool) -> String {
        let mut dice = Dice::new(seed, "durability");
        let mut text = format!(
            "cluster brokers=3 seed={seed} jitter=1ms broker.session.timeout.ms=1000 \
             broker.heartbeat.interval.ms=300 replica.lag.time.max.ms=400 \
             replica.fetch.backoff.ms=100 replica.fetch.wait.max.ms=100 \
             replica.socket.timeout.ms=500 auto.leader.rebalance.enable=false \
             eligible.leader.replicas.version={}\n\
             topic t assign=1,2,3 min.insync.replicas={} unclean.leader.election.enable={}\n\
             producer p topic=t every=20ms start=300ms records=150 acks={} linger.ms=0 \
             max.in.flight.requests.per.connection=1 request.timeout.ms=500 \
             delivery.timeout.ms=1500 retry.backoff.max.ms=100\n\
             link 1 2 latency=10ms\nlink 1 3 latency=10ms\n",
            u32::from(self.has_elr),
            self.min_isr,
            self.is_unclean,
            self.acks
        );
        if in_trouble {
            trouble(&mut dice, !self.has_elr, &mut text);
        }
        let at = dice.between(2_200, 3_000);
        let fault = match self.fault {
            Fault::LeaderCrash => "kill-broker 1",
            Fault::LeaderPowerLoss => "power-loss-broker 1",
            Fault::ClusterPowerLoss => "power-loss-all",
        };
        let _ = writeln!(text, "{at}ms {fault}");
        let is_all = self.fault == Fault::ClusterPowerLoss;
        for broker in 1..=if is_all { 3 } else { 1 } {
            let back = at + dice.between(50, 2_500);
            let _ = writeln!(text, "{back}ms restart-broker {broker}");
        }
        text
    }
}

/// Followers die, where `they_die`, or are cut off from the leader, together or one well after the
/// other.
fn trouble(dice: &mut Dice, they_die: bool, text: &mut String) {
    let first = dice.between(500, 700);
    let second = first + dice.of(&[0, 800, 800, 800]);
    let followers = dice.of(&[(2, 3), (3, 2)]);
    let both = !dice.one_in(4);
    for (broker, at) in [(followers.0, first), (followers.1, second)] {
        if broker == followers.1 && !both {
            continue;
        }
        let _ = match dice.of(&["cut", "cut", "kill"]) {
            "kill" if they_die => writeln!(text, "{at}ms kill-broker {broker}"),
            _ => writeln!(text, "{at}ms cut-link 1 {broker}"),
        };
    }
}

/// Runs a storyboard to its end, with everything healed; gives how many acknowledged records the
/// log lacks.
fn lost(text: &str) -> Result<usize, String> {
    let board = Storyboard::parse(text)?;
    let mut sim = Sim::new(board.scenario.clone()).map_err(|error| error.to_string())?;
    for (at, command) in board.actions() {
        sim.run_until(at);
        // A broker that is up already needs no restart.
        sim.apply(command).ok();
    }
    sim.run_until(SimTime::from_millis(6_000));
    for (_, command) in board.actions() {
        if let Command::CutLink(from, to) = command {
            sim.apply(Command::HealLink(from, to)).ok();
        }
    }
    for broker in &board.scenario.brokers {
        sim.apply(Command::RestartBroker(broker.id)).ok();
    }
    let mut rest_by = sim.now();
    while rest_by < SimTime::from_millis(20_000) {
        rest_by += Span::from_millis(500);
        sim.run_until(rest_by);
        if let Some(log) = settled_log(&sim) {
            return Ok(acknowledged(&sim).difference(&log).count());
        }
    }
    Err(format!("no rest: {:?}", sim.stage().topics))
}

/// What the leader's log holds, once the ISR is whole, every log as long, and the producer done.
fn settled_log(sim: &Sim) -> Option<BTreeSet<RecordId>> {
    let stage = sim.stage();
    let partition = stage.topics.first()?.partitions.first()?;
    let leader = partition.leader.filter(|_| partition.isr.len() == 3)?;
    let producer = stage.producers.first()?;
    if 0 < producer.records_queued + producer.records_in_flight {
        return None;
    }
    let id = partition.topic_partition;
    let logs = partition
        .isr
        .iter()
        .filter_map(|broker| log_of(sim, *broker, id));
    let held: Vec<BTreeSet<RecordId>> = logs
        .map(|log| log.records().map(|(_, record)| record.record_id).collect())
        .collect();
    let of_leader = log_of(sim, leader, id)?;
    let of_leader: BTreeSet<RecordId> = of_leader.records().map(|(_, it)| it.record_id).collect();
    held.iter()
        .all(|one| *one == of_leader)
        .then_some(of_leader)
}

/// The records that the producer counts as written. One request is in flight at a time, so what is
/// acknowledged was in the last one.
fn acknowledged(sim: &Sim) -> BTreeSet<RecordId> {
    let mut in_flight: Vec<RecordId> = Vec::new();
    let mut acknowledged = BTreeSet::new();
    for entry in sim.trace().since(0) {
        match &entry.event {
            TraceEvent::RequestSent { body, .. } => {
                if let Request::Produce(produce) = &**body {
                    let of_t = |(id, _): &&(TopicPartition, _)| id.partition == 0;
                    let batches = produce.batches.iter().filter(of_t);
                    in_flight = batches
                        .flat_map(|(_, batch)| batch.records.iter().map(|it| it.record_id))
                        .collect();
                    if produce.acks == Acks::None {
                        acknowledged.extend(in_flight.iter().copied());
                    }
                }
            }
            TraceEvent::BatchAcknowledged { records, .. } => {
                let count = u32::try_from(in_flight.len()).expect("a small request");
                assert_eq!(
                    *records, count,
                    "what is acknowledged is what was sent last"
                );
                acknowledged.extend(in_flight.iter().copied());
            }
            _ => {}
        }
    }
    acknowledged
}

/// Runs every cell of one way to acknowledge; gives what is not as expected.
fn run(acks: &'static str) -> String {
    let wish = std::env::var("TERRARIUM_DURABILITY_SEEDS");
    let seeds = wish.map_or(SEEDS, |text| text.parse().expect("a number of seeds"));
    let mut faults = String::new();
    let mut cells = Vec::new();
    for fault in [
        Fault::LeaderCrash,
        Fault::LeaderPowerLoss,
        Fault::ClusterPowerLoss,
    ] {
        let ways = [(1, false), (1, true), (2, false), (2, true)];
        let cell = |(min_isr, is_unclean)| Cell {
            acks,
            min_isr,
            is_unclean,
            has_elr: false,
            fault,
        };
        cells.extend(ways.map(cell));
        if acks == "all" {
            let has_elr = true;
            let way = cell((2, false));
            cells.push(Cell { has_elr, ..way });
        }
    }
    for cell in cells {
        // Runs, and runs that lost something, without trouble and with it.
        let (mut calm, mut troubled) = ((0, 0), (0, 0));
        for seed in 0..seeds {
            let in_trouble = seed % 4 != 0;
            let text = cell.storyboard(seed, in_trouble);
            let lost =
                lost(&text).unwrap_or_else(|what| panic!("{cell:?}, {seed}: {what}\n{text}"));
            let (runs, losses) = if in_trouble { &mut troubled } else { &mut calm };
            *runs += 1;
            *losses += u32::from(0 < lost);
            if 0 < lost && cell.may_lose(in_trouble).is_none() {
                let _ = writeln!(faults, "{cell:?}: {lost} records are lost in\n{text}");
            }
        }
        for (in_trouble, (runs, losses)) in [(false, calm), (true, troubled)] {
            if let Some(why) = cell.may_lose(in_trouble)
                && losses == 0
            {
                let _ = writeln!(
                    faults,
                    "{cell:?}, trouble {in_trouble}: none of {runs} runs loses anything, though {why}"
                );
            }
        }
        eprintln!("{cell:?}: of runs lossy ones {calm:?}, in trouble {troubled:?}");
    }
    faults
}

#[test]
fn acks_0_loses_whatever_is_on_its_way() {
    let faults = run("0");
    assert!(faults.is_empty(), "{faults}");
}

#[test]
fn acks_1_loses_what_the_leader_alone_has() {
    let faults = run("1");
    assert!(faults.is_empty(), "{faults}");
}

#[test]
fn acks_all_loses_nothing_but_by_power_and_unclean_elections() {
    let faults = run("all");
    assert!(faults.is_empty(), "{faults}");
}

/// Seeds of each cell in a test run.
const SEEDS: u64 = 100;
