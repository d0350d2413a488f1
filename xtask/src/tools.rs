//! Tools that are no crates of ours: wasm-pack, npm's wasm-opt and axe, the browser.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};

use crate::run::{Missing, Tool, minutes};
use crate::say::say;
use crate::{host, place};

/// The version that the tests were tried with.
const WASM_PACK: &str = "0.15.1";

/// wasm-pack of the version above: the user's own, or one in the cargo home, built there once.
pub(crate) fn wasm_pack() -> Result<PathBuf> {
    if let Some(own) = host::find(&["wasm-pack"]).filter(|own| is_wasm_pack(own)) {
        return Ok(own);
    }
    let folder = place::shared(&format!("wasm-pack-{WASM_PACK}"))?;
    let binary = folder.join("bin/wasm-pack");
    if is_wasm_pack(&binary) {
        return Ok(binary);
    }
    say("Building wasm-pack from source, once (three to five minutes).");
    // Unoptimised: it only starts other programs, and builds in half the time.
    Tool::new("cargo", &place::root())
        .args([
            "install",
            "wasm-pack",
            "--version",
            WASM_PACK,
            "--locked",
            "--debug",
            "--root",
        ])
        .args([&folder])
        .limit(minutes(20))
        .run()
        .with_context(|| {
            Missing::new(
                "wasm-pack",
                format!("cargo install wasm-pack --version {WASM_PACK}"),
            )
        })?;
    Ok(binary)
}

fn is_wasm_pack(binary: &Path) -> bool {
    let version = Tool::new(binary, &place::root())
        .args(["--version"])
        .quiet();
    version.is_ok_and(|version| version.trim() == format!("wasm-pack {WASM_PACK}"))
}

/// A folder in which this very program stands under the names that wasm-pack looks for: it holds
/// wasm-bindgen as a library, in the version of Cargo.lock, so nothing needs to be installed.
pub(crate) fn bindgen_folder() -> Result<PathBuf> {
    let folder = place::target("bindgen");
    fs::create_dir_all(&folder)?;
    let own = std::env::current_exe()?;
    for name in ["wasm-bindgen", "wasm-bindgen-test-runner"] {
        let file = folder
            .join(name)
            .with_extension(std::env::consts::EXE_EXTENSION);
        let _ = fs::remove_file(&file);
        fs::hard_link(&own, &file).or_else(|_| fs::copy(&own, &file).map(drop))?;
    }
    Ok(folder)
}

/// Node, to run wasm tests and wasm-opt.
pub(crate) fn node() -> Result<()> {
    match host::find(&["node"]) {
        Some(_) => Ok(()),
        None => host::apt_install(&["nodejs"], "node"),
    }
}

/// The folder `node_modules` with what xtask/npm/package-lock.json pins.
pub(crate) fn node_modules() -> Result<PathBuf> {
    node()?;
    if host::find(&["npm"]).is_none() {
        host::apt_install(&["npm"], "npm")?;
    }
    let (from, to) = (place::root().join("xtask/npm"), place::target("npm"));
    let lock = fs::read(from.join("package-lock.json"))?;
    let installed = to.join("installed.json");
    if fs::read(&installed).is_ok_and(|old| old == lock) {
        return Ok(to.join("node_modules"));
    }
    say("Installing wasm-opt and axe from npm into target/npm (110 MB; 10 to 60 seconds).");
    fs::create_dir_all(&to)?;
    for file in ["package.json", "package-lock.json"] {
        fs::copy(from.join(file), to.join(file))?;
    }
    Tool::new("npm", &to)
        .args(["ci", "--no-audit", "--no-fund", "--ignore-scripts"])
        .run()
        .with_context(|| Missing::new("npm's packages", "cd xtask/npm && npm ci"))?;
    fs::write(installed, lock)?;
    Ok(to.join("node_modules"))
}

/// A browser and the driver that tests steer it with.
#[derive(Debug)]
pub(crate) struct Browser {
    pub(crate) driver: PathBuf,
    pub(crate) chrome: PathBuf,
}

/// Chromium and its driver: what is on the path, or Debian's.
pub(crate) fn browser() -> Result<Browser> {
    if found_browser().is_none() {
        host::apt_install(
            &["chromium", "chromium-driver"],
            "Chromium and chromedriver",
        )?;
    }
    // Without it Chinese shows as boxes. Pictures want it, tests do not: so no more than a try.
    if host::find(&["fc-list"]).is_none() || !has_chinese_font() {
        let _ = host::apt_install(&["fonts-noto-cjk", "fontconfig"], "a font for Chinese");
    }
    match found_browser() {
        Some(browser) => Ok(browser),
        None => bail!(Missing::new(
            "Chromium and chromedriver on the path",
            "apt-get install chromium chromium-driver, or your system's packages of these names"
        )),
    }
}

fn found_browser() -> Option<Browser> {
    let driver = host::find(&["chromedriver"])?;
    let chrome = host::find(&["chromium", "chromium-browser", "google-chrome", "chrome"])?;
    Some(Browser { driver, chrome })
}

fn has_chinese_font() -> bool {
    let fonts = Tool::new("fc-list", Path::new("."))
        .args([":lang=zh-cn", "family"])
        .quiet();
    fonts.is_ok_and(|fonts| !fonts.trim().is_empty())
}
