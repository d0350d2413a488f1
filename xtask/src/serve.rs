//! `cargo xtask serve`: the page from the sources, on this machine.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use anyhow::Result;
use clap::Args;

use crate::page::{self, Profile};
use crate::place;
use crate::rust::WasmRust;
use crate::say::{complain, say};
use crate::server::{self, Site};

/// What `serve` takes.
#[derive(Debug, Args)]
pub(crate) struct Options {
    /// The port on 127.0.0.1; 0 takes a free one.
    #[arg(long, default_value_t = 8080)]
    port: u16,
    /// Build small and fast code; takes longer.
    #[arg(long)]
    release: bool,
    /// Build again when a source file changes.
    #[arg(long)]
    watch: bool,
}

/// Builds the page, serves it, and stays.
pub(crate) fn serve(options: &Options) -> Result<()> {
    let profile = if options.release {
        Profile::Release
    } else {
        Profile::Dev
    };
    let package = place::target(if options.release {
        "page/release"
    } else {
        "page/dev"
    });
    let folders = vec![
        ("", place::root().join("static")),
        ("pkg/", package.clone()),
    ];
    // Before the build: a port that is taken should not cost minutes to find out.
    let served = server::start(
        Site {
            base: "/".to_owned(),
            folders,
            awaits: Some("pkg/terrarium_web_bg.wasm"),
        },
        options.port,
    )?;
    let rust = WasmRust::ready()?;
    say("Building the page (cold: two to five minutes; later: seconds).");
    let mut seen = sources();
    page::build(&rust, profile, &package)?;
    say(&format!(
        "\nTerrarium is at {}  (Ctrl-C ends it)",
        served.address
    ));
    loop {
        std::thread::sleep(LOOK);
        let now = if options.watch { sources() } else { continue };
        if now != seen {
            seen = now;
            match page::build(&rust, profile, &package) {
                Ok(()) => say(&format!("Built again; reload {}", served.address)),
                Err(error) => complain(&format!("{error:#}; waiting for the next change")),
            }
        }
    }
}

/// When each file that the page is built from was last changed. A look at some hundred files twice
/// a second costs nothing and works on every file system, which notification services do not.
fn sources() -> BTreeMap<PathBuf, SystemTime> {
    let mut found = BTreeMap::new();
    for part in ["core", "web", "Cargo.toml", "Cargo.lock"] {
        collect(&place::root().join(part), &mut found);
    }
    found
}

fn collect(path: &Path, found: &mut BTreeMap<PathBuf, SystemTime>) {
    match fs::read_dir(path) {
        Ok(entries) => entries
            .flatten()
            .for_each(|entry| collect(&entry.path(), found)),
        Err(_) => {
            if let Ok(time) = fs::metadata(path).and_then(|meta| meta.modified()) {
                found.insert(path.to_path_buf(), time);
            }
        }
    }
}

const LOOK: Duration = Duration::from_millis(500);
