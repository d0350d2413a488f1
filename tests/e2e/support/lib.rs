//! What journeys through the page have in common: a browser, views of it, waits with deadlines.
//!
//! `cargo xtask test` serves the site, starts the driver and says by environment variables where
//! they are. A journey is a function of a [`Page`]; on failure it leaves a picture and the
//! browser's complaints in `target/screenshots/`.

mod axe;
mod page;
mod place;
mod view;

use std::time::Duration;

use anyhow::{Context, Result, bail};

pub use crate::axe::Violation;
pub use crate::page::Page;
pub use crate::place::Place;
pub use crate::view::{Locale, Theme, View, Width};

/// Runs one journey in a browser of its own, for at most two minutes.
///
/// # Errors
/// When the browser cannot be reached, and when the journey fails; then a picture is left behind.
pub fn journey(name: &str, view: View, walk: impl AsyncFnOnce(&Page) -> Result<()>) -> Result<()> {
    with_page(view, async |page| {
        let walked = tokio::time::timeout(LIMIT, walk(page)).await;
        let result = match walked {
            Ok(result) => result,
            Err(_) => bail_with_limit(),
        };
        if result.is_err() {
            page.leave_traces(name).await;
        }
        result.with_context(|| format!("journey {name} in {view}"))
    })
}

/// Opens a browser, hands its page to `work`, and closes it whatever comes of that.
///
/// # Errors
/// When the browser cannot be reached, and when `work` fails.
pub fn with_page(view: View, work: impl AsyncFnOnce(&Page) -> Result<()>) -> Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    runtime.block_on(async {
        let page = Page::start(Place::from_environment()?, view).await?;
        let result = work(&page).await;
        let closed = page.close().await;
        result.and(closed)
    })
}

fn bail_with_limit() -> Result<()> {
    bail!("it took over {} s", LIMIT.as_secs())
}

const LIMIT: Duration = Duration::from_secs(120);
