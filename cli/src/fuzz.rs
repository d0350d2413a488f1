//! `terrarium fuzz`: random clusters, clients, settings and faults, under the eyes of the invariants.

use crate::{Ending, Failure};
use clap::Args;
use std::collections::BTreeMap;
use std::io::Write;
use terrarium_core::kernel::time::{Span, parse_span};
use terrarium_tests::fuzz::{self, FAULTS_END_MS, FAULTS_END_MS_MAX, FAULTS_END_MS_MIN};
use terrarium_tests::storyboard::Storyboard;

/// What `terrarium fuzz` takes.
#[derive(Clone, Debug, Args)]
pub struct Options {
    /// How many runs, each with its own seed.
    #[arg(long, default_value_t = 200, value_parser = clap::value_parser!(u64).range(1..=RUNS_MAX))]
    pub runs: u64,
    /// The first seed.
    #[arg(long, default_value_t = 0, value_parser = clap::value_parser!(u64).range(..=SEED_MAX))]
    pub from: u64,
    /// Until when things go wrong, such as 120s; then everything is healed and must come to rest.
    /// Default: 30s.
    #[arg(long, value_parser = parse_until)]
    pub until: Option<Span>,
    /// Goes on after a failure, to the last run.
    #[arg(long)]
    pub keep_going: bool,
}

/// Runs seed after seed. A failure is printed with its seed, what is wrong, and a storyboard with
/// no more actions than it needs.
///
/// # Errors
/// The output cannot be written.
pub fn run(options: &Options, output: &mut impl Write) -> Result<Ending, Failure> {
    let faults_end_ms = options.until.map_or(FAULTS_END_MS, Span::as_millis);
    let mut counts: BTreeMap<&str, u64> = BTreeMap::new();
    let (mut runs, mut failures) = (0, 0);
    for seed in options.from..options.from + options.runs {
        runs += 1;
        let text = fuzz::draw(seed, faults_end_ms);
        match outcome(&text, faults_end_ms) {
            Ok(found) => {
                for (name, count) in found {
                    *counts.entry(name).or_default() += count;
                }
            }
            Err(what) => {
                failures += 1;
                tell(seed, &what, (&text, faults_end_ms), output)?;
                if !options.keep_going {
                    break;
                }
            }
        }
    }
    let events: u64 = counts.values().sum();
    writeln!(
        output,
        "{runs} runs, {failures} failures, {events} trace events"
    )?;
    Ok(if failures == 0 {
        Ending::Met
    } else {
        Ending::NotMet
    })
}

/// How often each trace event happened in a run, or what is wrong with it.
fn outcome(text: &str, faults_end_ms: u64) -> Result<BTreeMap<&'static str, u64>, String> {
    let board = Storyboard::parse(text)?;
    let (watch, _) = fuzz::run(&board, faults_end_ms)?;
    Ok(watch.counts)
}

fn tell(
    seed: u64,
    what: &str,
    (text, faults_end_ms): (&str, u64),
    output: &mut impl Write,
) -> Result<(), Failure> {
    writeln!(output, "seed {seed}: {what}")?;
    output.flush()?;
    if let Some((text, what)) = fuzz::shorten(text, faults_end_ms, SHORTENING_RUNS_MAX) {
        writeln!(output, "shortened, it is: {what}\n{text}")?;
        output.flush()?;
    }
    Ok(())
}

fn parse_until(text: &str) -> Result<Span, String> {
    let span = parse_span(text)?;
    if (FAULTS_END_MS_MIN..=FAULTS_END_MS_MAX).contains(&span.as_millis()) {
        Ok(span)
    } else {
        let (shortest, longest) = (FAULTS_END_MS_MIN / 1_000, FAULTS_END_MS_MAX / 1_000);
        Err(format!("expected a time from {shortest}s to {longest}s"))
    }
}

/// Most runs of one call.
const RUNS_MAX: u64 = 1_000_000;
/// The largest first seed: a storyboard's seed has 32 bits.
const SEED_MAX: u64 = 4_000_000_000;
/// Most runs that are spent on making a failure shorter.
const SHORTENING_RUNS_MAX: u32 = 200;

#[cfg(test)]
mod tests {
    use super::{Options, parse_until, run};
    use crate::Ending;

    #[test]
    fn good_runs_are_counted() {
        let options = Options {
            runs: 2,
            from: 7,
            until: Some(parse_until("10s").expect("a good time")),
            keep_going: false,
        };
        let mut output = Vec::new();
        let ending = run(&options, &mut output).expect("a vector takes everything");
        let text = String::from_utf8(output).expect("UTF-8");
        assert!(text.contains("2 runs, 0 failures"), "{text}");
        assert_eq!(ending, Ending::Met, "{text}");
    }

    #[test]
    fn faults_have_their_time() {
        for (text, is_good) in [("10s", true), ("9s", false), ("3601s", false), ("x", false)] {
            assert_eq!(parse_until(text).is_ok(), is_good, "{text}");
        }
    }
}
