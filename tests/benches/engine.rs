//! How fast the engine runs, and how fast any instant is reached.

use criterion::{BatchSize, Criterion, Throughput, criterion_group, criterion_main};
use std::io::Write as _;
use std::sync::Arc;
use std::time::{Duration, Instant};
use terrarium_core::kernel::rng::Stream;
use terrarium_core::kernel::time::SimTime;
use terrarium_core::lesson::Lesson;
use terrarium_core::sim::Sim;
use terrarium_core::sim::scenario::Scenario;
use terrarium_core::sim::timeline::Timeline;

/// Events of the run that is sought through.
const EVENTS: u64 = 100_000;
/// Instants that are sought.
const SEEKS: u32 = 200;

fn barrier() -> Arc<Scenario> {
    let text = include_str!("../../static/lessons/the-barrier.toml");
    let lesson = Lesson::parse("the-barrier.toml", text).expect("the lesson is sound");
    Arc::new(
        lesson
            .scenario(None, &[])
            .expect("the lesson's own settings"),
    )
}

fn long_run() -> Timeline {
    let mut timeline = Timeline::new(barrier()).expect("the scenario is sound");
    let mut until = SimTime::ZERO;
    while timeline.sim().event_count() < EVENTS {
        until = SimTime(until.0 + 1_000_000);
        timeline.seek(until);
    }
    timeline
}

fn run(criterion: &mut Criterion) {
    let start = Sim::new(barrier()).expect("the scenario is sound");
    let mut counted = start.clone();
    counted.run_until(SimTime::from_millis(60_000));
    let mut group = criterion.benchmark_group("engine");
    group
        .sample_size(20)
        .throughput(Throughput::Elements(counted.event_count()));
    group.bench_function("a minute of the first lesson, events", |bencher| {
        bencher.iter_batched(
            || start.clone(),
            |mut sim| sim.run_until(SimTime::from_millis(60_000)),
            BatchSize::LargeInput,
        );
    });
    group.finish();
}

/// One simulated hour of replication, once: how fast, and how much memory at most.
fn hour(_: &mut Criterion) {
    let text = include_str!("replication.toml");
    let lesson = Lesson::parse("replication.toml", text).expect("the scenario is sound");
    let scenario = lesson.scenario(None, &[]).expect("its own settings");
    let mut sim = Sim::new(Arc::new(scenario)).expect("the scenario is sound");
    let before = Instant::now();
    sim.run_until(SimTime::from_millis(3_600_000));
    let took = before.elapsed().as_millis().max(1);
    let mut out = std::io::stdout();
    let _ = writeln!(
        out,
        "an hour of replication: {took} ms, {} simulated seconds a second, {} events a second ({} \
         events), peak memory {}",
        3_600_000 / took,
        u128::from(sim.event_count()) * 1_000 / took,
        sim.event_count(),
        peak_memory(),
    );
}

/// The most memory that this process has had, where the system tells (Linux).
fn peak_memory() -> String {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    line.map_or_else(|| "unknown".to_owned(), |peak| peak.trim().to_owned())
}

fn seek(criterion: &mut Criterion) {
    let mut timeline = long_run();
    let horizon = timeline.horizon().0;
    let mut stream = Stream::new(1, "instants");
    let mut longest = Duration::ZERO;
    let mut total = Duration::ZERO;
    for _ in 0..SEEKS {
        let at = SimTime(stream.below(horizon));
        let before = Instant::now();
        timeline.seek(at);
        let took = before.elapsed();
        longest = longest.max(took);
        total += took;
    }
    let mut out = std::io::stdout();
    let _ = writeln!(
        out,
        "{SEEKS} seeks in a run of {EVENTS} events: {:?} on average, {longest:?} at most",
        total / SEEKS
    );
    let mut group = criterion.benchmark_group("timeline");
    group.sample_size(50);
    group.bench_function("seek to a random instant of 100,000 events", |bencher| {
        bencher.iter(|| timeline.seek(SimTime(stream.below(horizon))));
    });
    group.bench_function("snapshot", |bencher| {
        bencher.iter(|| timeline.sim().clone())
    });
    group.finish();
}

criterion_group!(benches, hour, run, seek);
criterion_main!(benches);
