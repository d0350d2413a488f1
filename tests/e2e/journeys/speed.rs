//! Any instant of a long run, in the browser's release build: the same state as a straight run, and
//! how long it takes. The times are printed and never judged.

use anyhow::{Result, ensure};
use serde::Deserialize;
use support::{View, journey};

/// What the browser found.
#[derive(Debug, Deserialize)]
struct Found {
    events: u64,
    seeks: u32,
    /// Instants at which trace or state differ from those of the straight run.
    different: Vec<f64>,
    mean_ms: f64,
    longest_ms: f64,
    /// Simulated seconds in a second of the straight run.
    speed: f64,
}

#[test]
fn two_hundred_seeks_equal_a_straight_run() -> Result<()> {
    journey("speed", View::DEFAULT, async |page| {
        // A file without the page's root: nothing starts, the engine is there to be used.
        page.open("boot.js").await?;
        let found: Found = page.run(SCRIPT).await?;
        ensure!(found.different.is_empty(), "not equal: {found:?}");
        ensure!(
            100_000 <= found.events,
            "a run that is too short: {found:?}"
        );
        let line = format!(
            "{} seeks in a run of {} trace entries: {:.1} ms on average, {:.1} ms at most; a \
             straight run does {:.0} simulated seconds a second",
            found.seeks, found.events, found.mean_ms, found.longest_ms, found.speed
        );
        page.note("speed.txt", &line)
    })
}

const SCRIPT: &str = r"
return (async () => {
  const engine = await import(new URL('pkg/terrarium_web.js', location.href).href);
  await engine.default();
  const url = new URL('lessons/wait-and-crash.toml', location.href).href;
  const lesson = await (await fetch(url)).text();
  const look = (sandbox) => sandbox.traceHash() + JSON.stringify(sandbox.state());
  const seeks = 200, end = 1080;
  // A small generator of our own, so that the instants are the same every time.
  let draw = 12345;
  const next = () => (draw = (draw * 1103515245 + 12345) % 2147483648) / 2147483648;
  const instants = Array.from({ length: seeks }, () => Math.floor(next() * end * 1000) / 1000);
  const straight = engine.Sandbox.load(lesson);
  const expected = new Map();
  let before = performance.now();
  let running = 0;
  for (const at of [...instants].sort((a, b) => a - b)) {
    before = performance.now();
    straight.runUntil(at);
    running += performance.now() - before;
    expected.set(at, look(straight));
  }
  straight.runUntil(end);
  // The lesson's run has more; objects for all of them would take longer than the run.
  const events = 160000 + straight.events(160000).length;
  const seeking = engine.Sandbox.load(lesson);
  seeking.runUntil(end);
  const times = [];
  const different = [];
  for (const at of instants) {
    before = performance.now();
    seeking.seek(at);
    times.push(performance.now() - before);
    if (look(seeking) !== expected.get(at)) different.push(at);
  }
  return {
    events, seeks, different,
    mean_ms: times.reduce((sum, time) => sum + time, 0) / seeks,
    longest_ms: Math.max(...times),
    speed: Math.max(...instants) / (running / 1000),
  };
})();
";
