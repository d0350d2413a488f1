//! Clusters at random, with faults at random.
//!
//! Each seed draws which faults exist and how often they strike, runs them while the invariants are
//! watched, then heals everything and demands rest within a bound. What a seed draws is a
//! storyboard, so a failure reproduces as text.

mod draw;
mod shorten;

pub use draw::draw;
pub use shorten::shorten;

use crate::invariants::Watch;
use crate::storyboard::Storyboard;
use std::collections::BTreeSet;
use terrarium_core::kernel::time::{SimTime, Span};
use terrarium_core::sim::command::{Command, Fault};
use terrarium_core::sim::scenario::{ProcessingTime, RecordRule};
use terrarium_core::sim::simulation::Sim;
use terrarium_core::sim::view::{ProcessState, StageView};
use terrarium_core::trace::event::GroupState;

/// When the faults end if nothing else is said, in milliseconds.
pub const FAULTS_END_MS: u64 = 30_000;
/// The shortest time that faults may have, in milliseconds.
pub const FAULTS_END_MS_MIN: u64 = 10_000;
/// The longest time that faults may have, in milliseconds.
pub const FAULTS_END_MS_MAX: u64 = 3_600_000;

/// Runs a storyboard under watch; gives the watch and the end.
///
/// # Errors
/// The invariant that does not hold, or what does not come to rest.
pub fn run(board: &Storyboard, faults_end_ms: u64) -> Result<(Watch, Sim), String> {
    let mut sim = Sim::new(board.scenario.clone()).map_err(|error| error.to_string())?;
    let mut watch = Watch::default();
    for (at, command) in board.actions() {
        advance(&mut sim, &mut watch, at)?;
        // What has died meanwhile cannot be killed: that is no fault of the run's.
        sim.apply(command).ok();
    }
    let faults_end = SimTime::from_millis(faults_end_ms);
    advance(&mut sim, &mut watch, faults_end)?;
    heal(&mut sim, board);
    let rest_by = faults_end + rest_bound(board);
    let mut restless = None;
    let mut at = faults_end + Span::from_millis(5_000);
    while at <= rest_by {
        advance(&mut sim, &mut watch, at)?;
        start_all(&mut sim);
        restless = unrest(&sim.stage());
        if restless.is_none() {
            break;
        }
        at += Span::from_millis(1_000);
    }
    if let Some(what) = restless {
        return Err(format!("no rest: {what}"));
    }
    watch.check_logs(&sim);
    if let Some(what) = watch.overdue(sim.now(), Span::from_millis(REQUEST_MS_MAX)) {
        return Err(what);
    }
    match watch.breach.take() {
        Some(breach) => Err(breach),
        None => Ok((watch, sim)),
    }
}

/// Every link passes messages as at the start, and nothing is slow any more.
fn heal(sim: &mut Sim, board: &Storyboard) {
    for (_, command) in board.actions() {
        let remedy = match command {
            Command::CutLink(from, to)
            | Command::Fault(
                Fault::CutWay(from, to)
                | Fault::DelayLink { from, to, .. }
                | Fault::LoseLink { from, to, .. },
            ) => Command::HealLink(from, to),
            Command::Fault(Fault::SlowDisk(broker, _)) => Command::Fault(Fault::HealDisk(broker)),
            Command::Fault(Fault::SlowFollower(broker, _)) => {
                Command::Fault(Fault::SlowFollower(broker, Span::ZERO))
            }
            _ => continue,
        };
        sim.apply(remedy).ok();
    }
}

/// By when everything is at rest, counted from the end of the faults: each timer runs out once, one
/// after the other, and the slowest consumer works off what has been written.
fn rest_bound(board: &Storyboard) -> Span {
    let scenario = &board.scenario;
    let cluster = &scenario.broker_config;
    let mut bound_ms = PAUSE_MS_MAX
        + cluster.broker_session_timeout_ms
        + cluster.replica_lag_time_max_ms
        + cluster.replica_fetch_backoff_ms
        + cluster.replica_socket_timeout_ms
        + cluster.offsets_commit_timeout_ms
        + cluster.group_initial_rebalance_delay_ms
        + 2 * cluster.controller_quorum_fetch_timeout_ms
        + 2 * cluster.controller_quorum_election_timeout_ms;
    let producers = scenario.producers.iter().map(|spec| &spec.config);
    let slowest = producers.map(|config| {
        let has_transactions = config.transactional_id.is_some();
        let transaction = config.transaction_timeout_ms
            + cluster.transaction_abort_timed_out_transaction_cleanup_interval_ms;
        let in_transaction = if has_transactions { transaction } else { 0 };
        config.delivery_timeout_ms + config.request_timeout_ms + in_transaction
    });
    bound_ms += slowest.max().unwrap_or_default();
    let members = scenario.consumers.iter().map(|spec| &spec.config);
    let slowest = members.map(|config| {
        config.session_timeout_ms + config.max_poll_interval_ms + config.request_timeout_ms
    });
    bound_ms += slowest.max().unwrap_or_default();
    Span::from_millis(bound_ms) + backlog(board)
}

/// The time that one consumer takes for everything that is written.
fn backlog(board: &Storyboard) -> Span {
    let scenario = &board.scenario;
    let written = scenario.producers.iter().map(|spec| spec.workload.records);
    let records: u64 = written.map(Option::unwrap_or_default).sum();
    let times = scenario.consumers.iter().map(|spec| spec.processing.time);
    let longest = times.map(|time| match time {
        ProcessingTime::Fixed(span) | ProcessingTime::Exponential(span) => span.0,
        ProcessingTime::Uniform(_, high) => high.0,
    });
    let rules = scenario
        .consumers
        .iter()
        .flat_map(|spec| &spec.processing.rules);
    let slow = rules.filter_map(|(_, rule)| match rule {
        RecordRule::Takes(span) => Some(span.0),
        RecordRule::Crashes | RecordRule::Skips | RecordRule::SkipsAndCommits => None,
    });
    let actions = board.actions();
    let sent = actions.iter().map(|(_, command)| match command {
        Command::Send { count, .. } => u64::from(*count),
        _ => 0,
    });
    Span(records * longest.max().unwrap_or(0) + sent.sum::<u64>() * slow.max().unwrap_or(0))
}

/// Starts whatever does not run; what a restart policy is about to start is started earlier.
fn start_all(sim: &mut Sim) {
    let scenario = sim.scenario().clone();
    for controller in scenario.controller_ids() {
        sim.apply(Command::RestartController(controller)).ok();
    }
    for broker in &scenario.brokers {
        sim.apply(Command::RestartBroker(broker.id)).ok();
    }
    for consumer in &scenario.consumers {
        let client = scenario.client_by_name(&consumer.name);
        sim.apply(Command::StartClient(
            client.expect("a consumer is a client"),
        ))
        .ok();
    }
}

fn advance(sim: &mut Sim, watch: &mut Watch, until: SimTime) -> Result<(), String> {
    while sim.next_due().is_some_and(|due| due <= until) && sim.step().is_some() {
        watch.follow(sim);
        if sim.event_count().is_multiple_of(50) {
            watch.look(sim);
        }
        if let Some(breach) = watch.breach.take() {
            return Err(breach);
        }
    }
    sim.advance_clock(until);
    Ok(())
}

/// What is not at rest yet.
fn unrest(stage: &StageView) -> Option<String> {
    for topic in &stage.topics {
        for partition in &topic.partitions {
            if partition.leader.is_none() || partition.isr.len() < partition.replicas.len() {
                return Some(format!("{} {partition:?}", topic.name));
            }
        }
    }
    for producer in &stage.producers {
        if 0 < producer.records_queued + producer.records_in_flight {
            return Some(format!("{producer:?}"));
        }
    }
    for group in &stage.groups {
        if group.state != GroupState::Stable && group.state != GroupState::Empty {
            return Some(format!("{group:?}"));
        }
    }
    unrest_of_consumers(stage)
}

fn unrest_of_consumers(stage: &StageView) -> Option<String> {
    let mut owned = BTreeSet::new();
    for consumer in &stage.consumers {
        if consumer.process != ProcessState::Running {
            return Some(format!("{} does not run", consumer.name));
        }
        for one in &consumer.partitions {
            owned.insert((consumer.group_id.clone(), one.topic_partition));
            let end = stage
                .brokers
                .iter()
                .flat_map(|broker| &broker.replicas)
                .filter(|replica| replica.is_leader)
                .find(|replica| replica.topic_partition == one.topic_partition)
                .map(|replica| replica.high_watermark);
            if one.position != end {
                return Some(format!("{} lags: {one:?}, end {end:?}", consumer.name));
            }
        }
    }
    // Somebody reads the first topic for every group that has members.
    let first = stage.topics.iter().find(|topic| &*topic.name == "t0")?;
    for consumer in &stage.consumers {
        for partition in &first.partitions {
            if !owned.contains(&(consumer.group_id.clone(), partition.topic_partition)) {
                return Some(format!("nobody reads {:?}", partition.topic_partition));
            }
        }
    }
    None
}

/// Longest pause that is drawn, in milliseconds: one that begins at the end goes on.
const PAUSE_MS_MAX: i64 = 12_000;
/// A request that is open longer has been forgotten: the longest timeout of one, and a round trip.
const REQUEST_MS_MAX: i64 = 40_000;
