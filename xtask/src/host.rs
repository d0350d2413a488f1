//! This machine: programs on the path, Debian packages.

use std::path::{Path, PathBuf};

use anyhow::{Result, bail};

use crate::place;
use crate::run::{Missing, Tool, minutes};
use crate::say::say;

/// The first of these programs that is on the search path.
pub(crate) fn find(names: &[&str]) -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    let folders: Vec<PathBuf> = std::env::split_paths(&path).collect();
    let candidates = names
        .iter()
        .flat_map(|name| folders.iter().map(move |dir| dir.join(name)));
    candidates
        .flat_map(|file| [file.with_extension(std::env::consts::EXE_EXTENSION), file])
        .find(|file| file.is_file())
}

/// Installs Debian packages where apt and root allow; otherwise says what to do.
pub(crate) fn apt_install(packages: &[&str], why: &str) -> Result<()> {
    if packages.iter().all(|package| is_installed(package)) {
        return Ok(());
    }
    let command = format!(
        "apt-get install -y --no-install-recommends {}",
        packages.join(" ")
    );
    let names = packages.join(", ");
    if find(&["apt-get"]).is_none() {
        bail!(Missing::new(
            why,
            format!("install your system's packages like Debian's {names}")
        ));
    }
    if !is_root() {
        bail!(Missing::new(why, format!("sudo {command}")));
    }
    say(&format!(
        "Installing Debian's {names} ({why}); half a minute to three minutes."
    ));
    // A list that cannot be refreshed may still do.
    let refreshed = apt(&["update"]).run();
    let installed = apt(&["install", "-y", "--no-install-recommends"])
        .args(packages)
        .run();
    match refreshed.and(installed) {
        Ok(()) => Ok(()),
        Err(_) if packages.iter().all(|package| is_installed(package)) => Ok(()),
        Err(error) => Err(error.context(Missing::new(why, command))),
    }
}

fn apt(args: &[&str]) -> Tool {
    Tool::new("apt-get", &place::root())
        .args(["-qq", "-o", "DPkg::Lock::Timeout=300"])
        .args(args)
        .env("DEBIAN_FRONTEND", "noninteractive")
        .limit(minutes(10))
}

fn is_installed(package: &str) -> bool {
    Tool::new("dpkg-query", Path::new("."))
        .args(["-W", "-f=${db:Status-Abbrev}", package])
        .quiet()
        .is_ok_and(|status| status.starts_with("ii"))
}

fn is_root() -> bool {
    Tool::new("id", Path::new("."))
        .args(["-u"])
        .quiet()
        .is_ok_and(|id| id.trim() == "0")
}
