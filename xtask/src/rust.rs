//! A Rust compiler that can build for the web.
//!
//! In order: the default toolchain, if it has the target; the one that an earlier run built;
//! `rustup target add`; and where rustup cannot download, Debian's `rustc-web` with a standard
//! library that we build from Debian's sources, without a download. That one lives in the user's
//! cargo home, once for all clones, and is used for wasm alone: native code stays with the default
//! toolchain.

use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};

use crate::run::{Missing, Tool, minutes};
use crate::say::say;
use crate::{host, place};

/// The target of the page.
pub(crate) const WASM: &str = "wasm32-unknown-unknown";

/// How to reach a compiler for wasm.
#[derive(Debug, Clone)]
pub(crate) enum WasmRust {
    /// The default toolchain does it.
    Default,
    /// A sysroot of ours around Debian's compiler.
    Debian(PathBuf),
}

impl WasmRust {
    /// Finds a compiler for wasm, installing one if need be.
    pub(crate) fn ready() -> Result<Self> {
        // Lets the project's own developers try either way on one machine.
        let forced = std::env::var("TERRARIUM_WASM_RUST").unwrap_or_default();
        let debian_only = forced == "debian";
        if !debian_only && default_has_wasm() {
            return Ok(Self::Default);
        }
        if let Some(sysroot) = debian_sysroot()?.filter(|sysroot| is_sound(sysroot)) {
            return Ok(Self::Debian(sysroot));
        }
        if !debian_only && rustup_adds_wasm() {
            return Ok(Self::Default);
        }
        debian_toolchain().map(Self::Debian)
    }

    /// Points cargo, and what asks for `rustc` itself, to this compiler.
    pub(crate) fn on(&self, tool: Tool) -> Tool {
        let tool = tool.env("CARGO_TARGET_DIR", place::wasm_target());
        match self {
            Self::Default => tool,
            Self::Debian(sysroot) => {
                let bin = sysroot.join("bin");
                tool.env("RUSTC", bin.join("rustc"))
                    .env("RUSTDOC", bin.join("rustdoc"))
                    .path(&bin)
            }
        }
    }
}

fn default_has_wasm() -> bool {
    Tool::new("rustc", &place::root())
        .args(["--print", "target-libdir", "--target", WASM])
        .quiet()
        .is_ok_and(|folder| has_rlib(Path::new(folder.trim()), "libstd-"))
}

fn rustup_adds_wasm() -> bool {
    if host::find(&["rustup"]).is_none() {
        return false;
    }
    say("Adding Rust's wasm target with rustup (20 MB; a few seconds to a minute).");
    let added = Tool::new("rustup", &place::root())
        .args(["target", "add", WASM])
        .limit(minutes(5))
        .run();
    match added {
        Ok(()) => default_has_wasm(),
        Err(error) => {
            say(&format!(
                "rustup cannot add it ({error}): trying Debian's compiler instead."
            ));
            false
        }
    }
}

/// Where our toolchain around the installed Debian compiler is or would be.
fn debian_sysroot() -> Result<Option<PathBuf>> {
    match Tool::new(DEBIAN_RUSTC, Path::new("/"))
        .args(["--version"])
        .quiet()
    {
        Ok(version) => {
            let number = version.split_whitespace().nth(1).unwrap_or("unknown");
            Ok(Some(place::shared(&format!("wasm-rust-{number}"))?))
        }
        Err(_) => Ok(None),
    }
}

fn debian_toolchain() -> Result<PathBuf> {
    let why = "Rust's wasm target (rustup target add wasm32-unknown-unknown)";
    host::apt_install(&["rustc-web", "rust-web-src"], why)?;
    let Some(sysroot) = debian_sysroot()? else {
        bail!(Missing::new(
            why,
            "rustup target add wasm32-unknown-unknown"
        ));
    };
    if is_sound(&sysroot) {
        return Ok(sysroot);
    }
    say("Building Rust's standard library for wasm, once (one to two minutes).");
    let work = place::shared(&format!("work-{}", std::process::id()))?;
    let built = build_std(&work).and_then(|()| assemble(&work, &sysroot));
    let _ = fs::remove_dir_all(&work);
    built?;
    if !is_sound(&sysroot) {
        bail!(Missing::new(
            why,
            "rustup target add wasm32-unknown-unknown"
        ));
    }
    Ok(sysroot)
}

/// Has cargo build the standard library as a dependency of an empty crate. `test` is in, or tests
/// in wasm find no harness; bitcode is in, or link-time optimisation fails.
fn build_std(work: &Path) -> Result<()> {
    fs::create_dir_all(work.join("src"))?;
    fs::write(work.join("src/lib.rs"), "#![no_std]\n")?;
    let manifest =
        "[package]\nname = \"s\"\nversion = \"0.0.0\"\nedition = \"2021\"\n[workspace]\n";
    fs::write(work.join("Cargo.toml"), manifest)?;
    Tool::new("cargo", work)
        .args([
            "build",
            "--release",
            "-Zbuild-std=std,panic_abort,test",
            "--target",
            WASM,
        ])
        .env("RUSTC", DEBIAN_RUSTC)
        .env("RUSTC_BOOTSTRAP", "1")
        .env("RUSTFLAGS", "-Cembed-bitcode=yes")
        .env("CARGO_TARGET_DIR", work.join("t"))
        .run()
}

/// Lays out a sysroot under a temporary name and moves it into place at once.
fn assemble(work: &Path, sysroot: &Path) -> Result<()> {
    let (new, rustlib) = (work.join("sysroot"), work.join("sysroot/lib/rustlib"));
    let host = host_triple()?;
    let (wasm_lib, host_lib) = (rustlib.join(WASM).join("lib"), rustlib.join(&host));
    for folder in [&new.join("bin"), &wasm_lib, &host_lib.join("bin")] {
        fs::create_dir_all(folder)?;
    }
    for tool in ["rustc", "rustdoc"] {
        let sysroot = sysroot.display();
        let wrapper = format!("#!/bin/sh\nexec /usr/bin/{tool} --sysroot '{sysroot}' \"$@\"\n");
        fs::write(new.join("bin").join(tool), wrapper)?;
        Tool::new("chmod", &new.join("bin"))
            .args(["+x", tool])
            .quiet()?;
    }
    let debian = Path::new("/usr/lib/rustlib").join(&host).join("lib");
    link(&debian, &host_lib.join("lib"))?;
    link(&linker(&host)?, &host_lib.join("bin/rust-lld"))?;
    for library in fs::read_dir(work.join("t").join(WASM).join("release/deps"))? {
        let library = library?.path();
        let name = library
            .file_name()
            .and_then(OsStr::to_str)
            .unwrap_or_default();
        if library.extension() == Some(OsStr::new("rlib")) && !name.starts_with("libs-") {
            fs::copy(&library, wasm_lib.join(name))?;
        }
    }
    Tool::new("chmod", work)
        .args(["+x", "sysroot/bin/rustc"])
        .quiet()?;
    let _ = fs::remove_dir_all(sysroot);
    fs::rename(&new, sysroot).with_context(|| format!("cannot write {}", sysroot.display()))
}

/// The default toolchain's linker for wasm.
fn linker(host: &str) -> Result<PathBuf> {
    let sysroot = Tool::new("rustc", &place::root())
        .args(["--print", "sysroot"])
        .quiet()?;
    let linker = Path::new(sysroot.trim())
        .join("lib/rustlib")
        .join(host)
        .join("bin/rust-lld");
    if !linker.is_file() {
        bail!(Missing::new(
            "rust-lld in the Rust toolchain",
            "install Rust with rustup"
        ));
    }
    Ok(linker)
}

fn host_triple() -> Result<String> {
    let version = Tool::new(DEBIAN_RUSTC, Path::new("/"))
        .args(["-vV"])
        .quiet()?;
    let host = version.lines().find_map(|line| line.strip_prefix("host: "));
    host.map(str::to_owned).context("rustc -vV names no host")
}

/// A toolchain is sound if it links an empty page.
fn is_sound(sysroot: &Path) -> bool {
    let rustc = sysroot.join("bin/rustc");
    let out = std::env::temp_dir().join(format!("terrarium-{}.wasm", std::process::id()));
    let source = place::root().join("xtask/src/rust/empty.rs");
    let linked = rustc.is_file()
        && Tool::new(rustc, Path::new("/"))
            .args(["--target", WASM, "--crate-type", "cdylib", "-o"])
            .args([&out, &source])
            .quiet()
            .is_ok();
    let _ = fs::remove_file(out);
    linked
}

fn has_rlib(folder: &Path, prefix: &str) -> bool {
    fs::read_dir(folder).is_ok_and(|mut entries| {
        entries.any(|entry| {
            entry.is_ok_and(|entry| entry.file_name().to_string_lossy().starts_with(prefix))
        })
    })
}

#[cfg(unix)]
fn link(from: &Path, to: &Path) -> Result<()> {
    std::os::unix::fs::symlink(from, to).with_context(|| format!("link to {}", from.display()))
}

#[cfg(not(unix))]
fn link(from: &Path, _to: &Path) -> Result<()> {
    bail!("cannot link to {} on this system", from.display())
}

const DEBIAN_RUSTC: &str = "/usr/bin/rustc";
