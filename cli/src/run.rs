//! `terrarium run`: a lesson's run without a browser.

mod report;

use crate::{Ending, Failure, load};
use clap::Args;
use report::Report;
use std::fs::File;
use std::io::{BufWriter, Write};
use std::sync::Arc;
use terrarium_core::kernel::limits::SIM_TIME_MAX_US;
use terrarium_core::kernel::time::{SimTime, Span, parse_span};
use terrarium_core::lesson::Outcome;
use terrarium_core::lesson::format::{Attempt, Goal, Lesson, Task};
use terrarium_core::lesson::link::Link;
use terrarium_core::lesson::predict::Forecast;
use terrarium_core::lesson::settings::{self, Override};
use terrarium_core::sim::scenario::Scenario;

/// Which run.
#[derive(Clone, Debug, Args)]
pub struct RunOptions {
    /// A lesson file.
    pub file: String,
    /// Another seed than the lesson's.
    #[arg(long)]
    pub seed: Option<u64>,
    /// Another end than the lesson's, such as 60s.
    #[arg(long, value_parser = parse_until)]
    pub until: Option<Span>,
    /// A setting by path, such as consumer.c1.max.poll.interval.ms=8000. May be given often.
    #[arg(long, value_name = "NAME=VALUE", value_parser = parse_set)]
    pub set: Vec<Override>,
    /// A variant of the lesson.
    #[arg(long)]
    pub variant: Option<String>,
}

/// What `terrarium run` takes.
#[derive(Clone, Debug, Args)]
pub struct Options {
    /// The run.
    #[command(flatten)]
    pub run: RunOptions,
    /// A solution or wrong attempt that the lesson records.
    #[arg(long, value_name = "ID", conflicts_with = "actions")]
    pub solution: Option<String>,
    /// A file of actions, one a line, or with a link.
    #[arg(long, value_name = "FILE")]
    pub actions: Option<String>,
    /// A goal that the run is expected to pass. May be given often. Default: those of the
    /// solution; with actions all that the run can reach; otherwise those that one just watches.
    #[arg(long, value_name = "ID")]
    pub goal: Vec<String>,
    /// Writes every trace entry to this file, one JSON object a line.
    #[arg(long, value_name = "OUT.jsonl")]
    pub trace: Option<String>,
    /// Writes Kafka's metrics to this file, one JSON object a value, sampled on the run's clock.
    #[arg(long, value_name = "OUT.jsonl", conflicts_with = "trace")]
    pub metrics: Option<String>,
    /// Time between two samples of the metrics.
    #[arg(long, value_name = "TIME", value_parser = parse_every, default_value = "100ms")]
    pub metrics_every: Span,
    /// Prints JSON.
    #[arg(long)]
    pub json: bool,
}

/// Runs a lesson and prints what came of it.
///
/// # Errors
/// The input is wrong, or a file cannot be read or written. An action that was impossible is told
/// after the run, which goes on without it.
pub fn run(options: &Options, output: &mut impl Write) -> Result<Ending, Failure> {
    let lesson = load::lesson(&options.run.file)?;
    let wanted = wanted_goals(options, &lesson)?;
    let attempt = attempt(options, &lesson)?;
    let mut forecast = begin(&options.run, &lesson, &attempt)?;
    match (&options.trace, &options.metrics) {
        (None, None) => forecast.finish(),
        (None, Some(path)) => {
            let sampled = sample_to(path, options.metrics_every, &mut forecast);
            sampled.map_err(|error| Failure::File {
                path: path.clone(),
                error,
            })?;
        }
        (Some(path), _) => {
            trace_to(path, &mut forecast).map_err(|error| Failure::File {
                path: path.clone(),
                error,
            })?;
        }
    }
    let report = Report::new(&lesson, attempt.variant.as_deref(), &forecast, &wanted);
    if options.json {
        report.write_json(output)?;
    } else {
        report.write_text(output)?;
    }
    if !forecast.refused().is_empty() {
        output.flush()?;
        let refusals = forecast.refused().iter().map(|refusal| {
            let (number, at, error) = (refusal.number, refusal.at, &refusal.error);
            format!("action {number} at {at} is impossible: {error}; the run went on without it")
        });
        return Err(Failure::Input(refusals.collect()));
    }
    let is_met = forecast
        .verdicts()
        .iter()
        .all(|(id, verdict)| verdict.outcome == Outcome::Pass || !wanted.contains(id));
    Ok(if is_met { Ending::Met } else { Ending::NotMet })
}

/// A run without a learner, before its first event.
///
/// # Errors
/// The input is wrong.
pub fn start(options: &RunOptions) -> Result<(Lesson, Forecast), Failure> {
    let lesson = load::lesson(&options.file)?;
    let attempt = own_attempt(options);
    let forecast = begin(options, &lesson, &attempt)?;
    Ok((lesson, forecast))
}

fn own_attempt(options: &RunOptions) -> Attempt {
    let variant = options.variant.as_deref().map(Arc::from);
    Attempt {
        variant,
        ..Attempt::default()
    }
}

fn begin(options: &RunOptions, lesson: &Lesson, attempt: &Attempt) -> Result<Forecast, Failure> {
    let scenario = scenario(options, lesson, attempt)?;
    let variant = attempt.variant.as_deref();
    Forecast::new(lesson, variant, Arc::new(scenario), &attempt.actions)
        .map_err(|error| Failure::input(format!("{}: {error}", options.file)))
}

fn scenario(options: &RunOptions, lesson: &Lesson, attempt: &Attempt) -> Result<Scenario, Failure> {
    let refuse = |reason: String| Failure::input(format!("{}: {reason}", options.file));
    let set: Vec<Override> = attempt.set.iter().chain(&options.set).cloned().collect();
    let scenario = lesson.scenario(attempt.variant.as_deref(), &set);
    let mut scenario = scenario.map_err(|error| refuse(error.to_string()))?;
    if let Some(seed) = options.seed {
        scenario.seed = seed;
    }
    if let Some(until) = options.until {
        scenario.until = SimTime(until.0);
    }
    settings::validate(&scenario).map_err(|faults| refuse(faults.join("; ")))?;
    Ok(scenario)
}

/// What the learner did.
fn attempt(options: &Options, lesson: &Lesson) -> Result<Attempt, Failure> {
    let mut attempt = own_attempt(&options.run);
    if let Some(id) = &options.solution {
        attempt = recorded(lesson, id)
            .ok_or_else(|| Failure::input(unknown_attempt(&options.run.file, lesson, id)))?;
    }
    if let Some(path) = &options.actions {
        let refuse = |error| Failure::input(format!("{path}: {error}"));
        let link = Link::from_text(&load::text(path)?, lesson).map_err(refuse)?;
        let opened = link.open(lesson).map_err(refuse)?;
        attempt.set = link.set;
        if let Some(seed) = link.seed {
            attempt
                .set
                .push((Arc::from("seed"), Arc::from(seed.to_string())));
        }
        attempt.variant = link.variant.or(attempt.variant);
        attempt.actions = opened.actions;
    }
    if options.run.variant.is_some() {
        attempt.variant = options.run.variant.as_deref().map(Arc::from);
    }
    Ok(attempt)
}

fn recorded(lesson: &Lesson, id: &str) -> Option<Attempt> {
    let solution = lesson.solutions.iter().find(|solution| &*solution.id == id);
    let wrong = lesson.wrong.iter().find(|wrong| &*wrong.id == id);
    let attempt = solution
        .map(|found| &found.attempt)
        .or(wrong.map(|found| &found.attempt));
    attempt.cloned()
}

fn unknown_attempt(file: &str, lesson: &Lesson, id: &str) -> String {
    let solutions = lesson.solutions.iter().map(|solution| &*solution.id);
    let known: Vec<&str> = solutions
        .chain(lesson.wrong.iter().map(|wrong| &*wrong.id))
        .collect();
    format!(
        "{file}: unknown solution {id}; expected one of {}",
        known.join(", ")
    )
}

/// The goals that the run is expected to pass.
fn wanted_goals(options: &Options, lesson: &Lesson) -> Result<Vec<Arc<str>>, Failure> {
    let known: Vec<&str> = lesson.goals.iter().map(|goal| &*goal.id).collect();
    if let Some(unknown) = options
        .goal
        .iter()
        .find(|goal| !known.contains(&goal.as_str()))
    {
        let (file, known) = (&options.run.file, known.join(", "));
        return Err(Failure::input(format!(
            "{file}: unknown goal {unknown}; expected {known}"
        )));
    }
    if !options.goal.is_empty() {
        return Ok(options
            .goal
            .iter()
            .map(|goal| Arc::from(goal.as_str()))
            .collect());
    }
    if let Some(id) = &options.solution {
        let solutions = lesson
            .solutions
            .iter()
            .filter(|solution| *solution.id == **id);
        let wrong = lesson.wrong.iter().filter(|wrong| *wrong.id == **id);
        let passes = solutions.flat_map(|solution| solution.passes.iter().cloned());
        return Ok(passes
            .chain(wrong.map(|wrong| wrong.fails.clone()))
            .collect());
    }
    let is_wanted = |goal: &&Goal| options.actions.is_some() || goal.task == Task::Watch;
    Ok(lesson
        .goals
        .iter()
        .filter(is_wanted)
        .map(|goal| goal.id.clone())
        .collect())
}

/// Runs to the end and writes every entry as it comes, so that none is dropped.
fn trace_to(path: &str, forecast: &mut Forecast) -> std::io::Result<()> {
    let mut file = BufWriter::new(File::create(path)?);
    let mut cursor = 0;
    loop {
        let is_over = forecast.advance(SLICE_EVENTS);
        for entry in forecast.sim().trace().since(cursor) {
            serde_json::to_writer(&mut file, entry)?;
            file.write_all(b"\n")?;
        }
        cursor = forecast.sim().trace().next_index();
        if is_over {
            return file.flush();
        }
    }
}

/// Runs to the end and writes the metrics of each sampled instant: what stands when everything that
/// is due then has happened.
fn sample_to(path: &str, every: Span, forecast: &mut Forecast) -> std::io::Result<()> {
    let mut file = BufWriter::new(File::create(path)?);
    let until = forecast.sim().scenario().until;
    let mut at = SimTime::ZERO;
    loop {
        let next = forecast.next_at();
        while at <= until && next.is_none_or(|next| at < next) {
            for line in report::metrics(forecast.sim(), at) {
                serde_json::to_writer(&mut file, &line)?;
                file.write_all(b"\n")?;
            }
            at += every;
        }
        if forecast.advance(1) {
            return file.flush();
        }
    }
}

fn parse_every(text: &str) -> Result<Span, String> {
    let span = parse_span(text)?;
    if span < EVERY_MIN {
        return Err(format!("expected a time from {EVERY_MIN} on"));
    }
    Ok(span)
}

fn parse_until(text: &str) -> Result<Span, String> {
    let span = parse_span(text)?;
    let latest = SimTime(SIM_TIME_MAX_US);
    if SIM_TIME_MAX_US < span.0 {
        Err(format!("a run ends at {latest} at the latest"))
    } else {
        Ok(span)
    }
}

fn parse_set(text: &str) -> Result<Override, String> {
    let (path, value) = text.split_once('=').ok_or("expected NAME=VALUE")?;
    Ok((Arc::from(path.trim()), Arc::from(value.trim())))
}

const SLICE_EVENTS: u32 = 20_000;
/// Shortest time between two samples.
const EVERY_MIN: Span = Span(1_000);
