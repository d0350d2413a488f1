//! `cargo xtask`: builds, serves and tests Terrarium.
//!
//! - `serve` builds the page and serves it from this machine;
//! - `dist` makes the static site and weighs it;
//! - `first-load` finds out what the page needs at first, for `dist` to cut the program there;
//! - `bench` measures how fast the engine is;
//! - `test` runs every check that the project has;
//! - `shots` takes pictures of the page.
//!
//! Each command installs what it needs and lacks (`rust.rs`, `tools.rs`), once, in the user's cargo
//! home or in `target/`. Where it cannot, it says in one line what is missing and how to get it,
//! and exits with 2.

mod bench;
mod budget;
mod count;
mod dist;
mod first_load;
mod harness;
mod host;
mod page;
mod place;
mod run;
mod rust;
mod say;
mod serve;
mod server;
mod shots;
mod split;
mod stages;
mod tools;

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::Result;
use clap::{Parser, Subcommand};

use crate::run::Missing;

fn main() -> ExitCode {
    if let Some(result) = as_wasm_bindgen() {
        return exit_code(result.map(|()| true));
    }
    run::stop_children_on_interrupt();
    exit_code(command(Cli::parse()))
}

#[derive(Debug, Parser)]
#[command(
    name = "cargo xtask",
    bin_name = "cargo xtask",
    about = "Builds, serves and tests Terrarium",
    version
)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Build the page and serve it on 127.0.0.1.
    Serve(serve::Options),
    /// Make the static site in dist/ and weigh it.
    Dist,
    /// Measure how fast the engine is, natively and in wasm.
    Bench,
    /// Find out which functions the page runs until its first lesson stands.
    FirstLoad,
    /// Run every check: format, lints, native tests, wasm tests, browser tests, end-to-end tests.
    Test(stages::Options),
    /// Take pictures of the page in dist/: light and dark, wide and narrow, English and Chinese.
    Shots(shots::Options),
}

/// Runs one command; `false` means that a check failed and has said so.
fn command(cli: Cli) -> Result<bool> {
    match cli.command {
        Command::Serve(options) => serve::serve(&options).map(|()| true),
        Command::Dist => dist::dist(),
        Command::Bench => bench::bench().map(|()| true),
        Command::FirstLoad => first_load::keep().map(|()| true),
        Command::Test(options) => stages::test(&options),
        Command::Shots(options) => shots::shots(&options),
    }
}

/// wasm-pack looks for `wasm-bindgen` and its test runner on the path; under those names this
/// program is these tools, in the version that Cargo.lock pins (see `tools::bindgen_folder`).
fn as_wasm_bindgen() -> Option<Result<()>> {
    let args: Vec<OsString> = std::env::args_os().collect();
    let name = PathBuf::from(args.first()?);
    match name.file_stem().and_then(|stem| Path::new(stem).to_str())? {
        "wasm-bindgen" => Some(wasm_bindgen_cli::wasm_bindgen::run_cli_with_args(args)),
        "wasm-bindgen-test-runner" => {
            Some(wasm_bindgen_cli::wasm_bindgen_test_runner::run_cli_with_args(args))
        }
        _ => None,
    }
}

fn exit_code(result: Result<bool>) -> ExitCode {
    match result {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            say::complain(&format!("{error:#}"));
            match error.downcast_ref::<Missing>() {
                Some(_) => ExitCode::from(2),
                None => ExitCode::FAILURE,
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    #[test]
    fn the_command_line_is_well_formed() {
        Cli::command().debug_assert();
    }

    #[test]
    fn serve_takes_its_options_and_refuses_others() {
        let good = ["xtask", "serve", "--port", "0", "--release", "--watch"];
        assert!(Cli::try_parse_from(good).is_ok(), "{good:?}");
        for bad in [
            vec!["xtask"],
            vec!["xtask", "serve", "--port", "70000"],
            vec!["xtask", "srve"],
        ] {
            assert!(Cli::try_parse_from(&bad).is_err(), "{bad:?}");
        }
    }

    #[test]
    fn a_missing_thing_exits_with_two_and_a_failed_check_with_one() {
        let missing = Missing::new("npm", "apt-get install npm").into();
        assert_eq!(exit_code(Err(missing)), ExitCode::from(2), "missing");
        assert_eq!(exit_code(Ok(false)), ExitCode::FAILURE, "failed check");
        assert_eq!(exit_code(Ok(true)), ExitCode::SUCCESS, "all well");
    }
}
