//! Where the served site, the driver and the browser are.

use std::path::PathBuf;

use anyhow::{Context, Result};

/// What `cargo xtask` says about the surroundings.
#[derive(Debug, Clone)]
pub struct Place {
    /// The site's address, with the path that it is served under.
    pub site: String,
    /// The driver's address.
    pub driver: String,
    /// The browser's program.
    pub chrome: String,
    /// axe's script.
    pub axe: PathBuf,
    /// Where pictures and notes go.
    pub out: PathBuf,
}

impl Place {
    /// Reads the variables that `cargo xtask test` and `cargo xtask shots` set.
    ///
    /// # Errors
    /// When one of them is not set.
    pub fn from_environment() -> Result<Self> {
        let get = |name: &str| {
            let value = std::env::var(format!("TERRARIUM_E2E_{name}"));
            value.with_context(|| format!("no TERRARIUM_E2E_{name}: run this by cargo xtask"))
        };
        Ok(Self {
            site: get("SITE")?,
            driver: get("DRIVER")?,
            chrome: get("CHROME")?,
            axe: get("AXE")?.into(),
            out: get("OUT")?.into(),
        })
    }
}
