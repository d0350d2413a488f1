//! Where things are: the workspace, its target folder, and our part of the user's cargo home.

use std::path::PathBuf;

use anyhow::{Context, Result};

/// The root of the workspace.
pub(crate) fn root() -> PathBuf {
    let crate_folder = std::env::var_os("CARGO_MANIFEST_DIR")
        .map_or_else(|| PathBuf::from(env!("CARGO_MANIFEST_DIR")), PathBuf::from);
    crate_folder
        .parent()
        .map_or(crate_folder.clone(), PathBuf::from)
}

/// A folder or file under the workspace's `target/`.
pub(crate) fn target(part: &str) -> PathBuf {
    root().join("target").join(part)
}

/// What cargo builds for wasm goes to a folder of its own, so that `serve --watch` and an editor's
/// native check do not wait for each other's lock.
pub(crate) fn wasm_target() -> PathBuf {
    target("wasm")
}

/// Tools that every clone can share, in the user's cargo home.
pub(crate) fn shared(part: &str) -> Result<PathBuf> {
    let cargo_home = std::env::var_os("CARGO_HOME")
        .map(PathBuf::from)
        .or_else(|| std::env::home_dir().map(|home| home.join(".cargo")))
        .context("neither CARGO_HOME nor a home folder is known")?;
    Ok(cargo_home.join("terrarium").join(part))
}
