//! `cargo xtask bench`: how fast the engine is, natively and in wasm under Node.js.

use anyhow::Result;

use crate::page::{self, Profile};
use crate::run::{Tool, minutes};
use crate::rust::WasmRust;
use crate::{place, tools};

/// Runs the benchmarks and prints what they measure.
pub(crate) fn bench() -> Result<()> {
    Tool::new("cargo", &place::root())
        .args([
            "bench",
            "--package",
            "terrarium-tests",
            "--features",
            "bench",
        ])
        .limit(minutes(30))
        .run()?;
    tools::node()?;
    let package = place::target("page/release");
    page::build(&WasmRust::ready()?, Profile::Release, &package)?;
    let scenario = place::root().join("tests/benches/replication.toml");
    Tool::new("node", &place::root())
        .args([
            place::root().join("xtask/bench/node.mjs"),
            package,
            scenario,
        ])
        .limit(minutes(30))
        .run()
}
