//! The page's package: the web crate through cargo and wasm-bindgen.
//!
//! `wasm-pack build` would do the same two steps; calling them directly spares those who only
//! want to see the page the minutes that wasm-pack takes to install.

use std::ffi::OsStr;
use std::fs;
use std::path::Path;

use anyhow::Result;

use crate::place;
use crate::run::Tool;
use crate::rust::{WASM, WasmRust};
use crate::say::say;

/// How to build.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Profile {
    /// Quick to build, with checks.
    Dev,
    /// Small and fast.
    Release,
}

/// Builds the web crate and writes its JavaScript, wasm and TypeScript declarations to `out`.
pub(crate) fn build(rust: &WasmRust, profile: Profile, out: &Path) -> Result<()> {
    let (folder, flags): (_, &[&str]) = match profile {
        Profile::Dev => ("debug", &[]),
        Profile::Release => ("site", &["--profile", "site"]),
    };
    let cargo = Tool::new("cargo", &place::root())
        .args([
            "build",
            "--package",
            "terrarium-web",
            "--lib",
            "--target",
            WASM,
        ])
        .args(flags);
    // In these names generic functions differ by their types: the splitter tells them apart.
    let cargo = match profile {
        Profile::Dev => cargo,
        Profile::Release => cargo.env("RUSTFLAGS", "-C symbol-mangling-version=v0"),
    };
    rust.on(cargo).run()?;
    let wasm = place::wasm_target()
        .join(WASM)
        .join(folder)
        .join("terrarium_web.wasm");
    bindgen(&wasm, out)
}

fn bindgen(wasm: &Path, out: &Path) -> Result<()> {
    fs::create_dir_all(out)?;
    let args = [
        "wasm-bindgen",
        "--target",
        "web",
        "--out-name",
        NAME,
        "--out-dir",
    ];
    let args = args
        .iter()
        .map(Path::new)
        .chain([out, wasm])
        .map(Path::as_os_str);
    let shown: Vec<_> = args.clone().map(OsStr::to_string_lossy).collect();
    say(&format!("$ {}", shown.join(" ")));
    wasm_bindgen_cli::wasm_bindgen::run_cli_with_args(args)
}

/// The package's name: `pkg/terrarium_web.js` and `pkg/terrarium_web_bg.wasm`.
pub(crate) const NAME: &str = "terrarium_web";
