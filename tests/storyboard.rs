//! Storyboards: a cluster, what is done to it, and what is to be seen, as text.
//!
//! A storyboard has one word of its own at the start of each line: `cluster`, `topic`, `producer`,
//! `consumer`, `link`, `run`, `show`; a line that begins with a time is an action in the product's
//! text form. What comes after `----` is what the storyboard shows.

mod declare;
mod events;
mod show;

use terrarium_core::kernel::time::{SimTime, parse_span};
use terrarium_core::sim::action;
use terrarium_core::sim::command::Command;
use terrarium_core::sim::scenario::Scenario;
use terrarium_core::sim::simulation::Sim;

use std::fmt::Write as _;
use std::sync::Arc;

/// A storyboard that has been read.
#[derive(Clone, Debug)]
pub struct Storyboard {
    /// The cluster and its clients.
    pub scenario: Arc<Scenario>,
    /// What is done and shown, in the order of the lines.
    pub steps: Vec<Step>,
}

/// One line of a storyboard that is not a declaration.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Step {
    /// An action at its time.
    Act(SimTime, Command),
    /// Time passes up to this instant.
    RunUntil(SimTime),
    /// Something is shown.
    Show(String),
}

impl Storyboard {
    /// Reads a storyboard; what stands after `----` is not looked at.
    ///
    /// # Errors
    /// The line at fault and what is wrong with it.
    pub fn parse(text: &str) -> Result<Self, String> {
        let script = text.split("\n----").next().unwrap_or_default();
        let lines: Vec<&str> = script
            .lines()
            .map(str::trim)
            .filter(|line| !line.is_empty() && !line.starts_with('#'))
            .collect();
        let scenario = Arc::new(declare::scenario(&lines)?);
        let mut steps = Vec::new();
        for line in lines {
            steps.extend(step(line, &scenario).map_err(|error| format!("{line}: {error}"))?);
        }
        Ok(Self { scenario, steps })
    }

    /// The actions with their times, in order of time.
    pub fn actions(&self) -> Vec<(SimTime, Command)> {
        let mut actions: Vec<(SimTime, Command)> = self
            .steps
            .iter()
            .filter_map(|step| match step {
                Step::Act(at, command) => Some((*at, command.clone())),
                Step::RunUntil(_) | Step::Show(_) => None,
            })
            .collect();
        actions.sort_by_key(|(at, _)| *at);
        actions
    }

    /// Runs the storyboard; gives what it shows.
    ///
    /// # Errors
    /// The scenario is impossible, or a `show` asks for something that is not there.
    pub fn run(&self) -> Result<String, String> {
        let mut sim = Sim::new(self.scenario.clone()).map_err(|error| error.to_string())?;
        let mut pending: Vec<(SimTime, Command)> = Vec::new();
        let mut shown = String::new();
        for step in &self.steps {
            match step {
                Step::Act(at, command) => {
                    let place = pending.partition_point(|(other, _)| other <= at);
                    pending.insert(place, (*at, command.clone()));
                }
                Step::RunUntil(until) => {
                    let due = pending.partition_point(|(at, _)| at <= until);
                    for (at, command) in pending.drain(..due) {
                        sim.run_until(at);
                        let text = action::print_timed(at, &command, &self.scenario);
                        if let Err(error) = sim.apply(command) {
                            let _ = writeln!(shown, "! {text}: {error}");
                        }
                    }
                    sim.run_until(*until);
                }
                Step::Show(what) => {
                    let _ = writeln!(shown, "{} show {what}", events::time(sim.now()));
                    let text =
                        show::show(&sim, what).map_err(|error| format!("{what}: {error}"))?;
                    for line in text.lines() {
                        let _ = writeln!(shown, "  {line}");
                    }
                }
            }
        }
        Ok(shown)
    }
}

fn step(line: &str, scenario: &Scenario) -> Result<Option<Step>, String> {
    let (word, rest) = line.split_once(' ').unwrap_or((line, ""));
    match word {
        "cluster" | "topic" | "producer" | "consumer" | "link" => Ok(None),
        "run" => {
            let until = rest
                .strip_prefix("until ")
                .ok_or("expected `run until TIME`")?;
            Ok(Some(Step::RunUntil(SimTime(parse_span(until)?.0))))
        }
        "show" => Ok(Some(Step::Show(rest.to_owned()))),
        _ => action::parse_timed(line, scenario)
            .map(|(at, command)| Some(Step::Act(at, command)))
            .map_err(|error| error.to_string()),
    }
}
