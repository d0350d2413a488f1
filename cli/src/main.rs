//! The `terrarium` command.

use clap::{Parser, Subcommand};
use std::io::Write as _;
use std::process::ExitCode;
use terrarium_cli::{Failure, assign, check, fuzz, hash, partition, run};

/// Runs Terrarium's lessons and scenarios without a browser.
#[derive(Debug, Parser)]
#[command(name = "terrarium", version, arg_required_else_help = true)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Runs a lesson; prints its goals, answers and measures. Exits 0 when its goals are met, 1
    /// when not, 2 on bad input.
    Run(run::Options),
    /// Prints the hash of the whole event trace, which is the same on every platform.
    Hash(hash::Options),
    /// Validates lessons and runs every recorded solution and wrong attempt.
    Check(check::Options),
    /// Runs random clusters with random faults and watches the invariants. Exits 1 when one is
    /// broken, or when a healed cluster does not come to rest.
    Fuzz(fuzz::Options),
    /// Reads assignor cases, one JSON object a line, and prints who gets what. Exits 2 when a line is
    /// no case.
    Assign(assign::Options),
    /// Prints the partition that a Java producer picks for each key.
    Partition(partition::Options),
}

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    let mut output = std::io::BufWriter::new(std::io::stdout().lock());
    let result = match &arguments.command {
        Command::Run(options) => run::run(options, &mut output),
        Command::Hash(options) => hash::run(options, &mut output),
        Command::Check(options) => check::run(options, &mut output),
        Command::Fuzz(options) => fuzz::run(options, &mut output),
        Command::Assign(options) => {
            assign::run(*options, &mut std::io::stdin().lock(), &mut output)
        }
        Command::Partition(options) => partition::run(options, &mut output),
    };
    let result = result.and_then(|ending| {
        output.flush()?;
        Ok(ending)
    });
    match result {
        Ok(ending) => ending.into(),
        Err(failure) if failure.is_closed_pipe() => ExitCode::SUCCESS,
        Err(failure) => fail(&failure),
    }
}

fn fail(failure: &Failure) -> ExitCode {
    writeln!(std::io::stderr().lock(), "{failure}").ok();
    ExitCode::from(2)
}
