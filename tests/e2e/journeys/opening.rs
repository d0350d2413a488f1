//! The page opens.

use std::time::Duration;

use anyhow::{Result, ensure};
use support::{View, journey};

#[test]
fn the_page_opens_under_any_path_without_complaints() -> Result<()> {
    journey("opening", View::DEFAULT, async |page| {
        page.open_ready("").await?;
        let loaded = "document.readyState === 'complete' && window.performance";
        page.wait_until("the page has loaded", loaded, Duration::from_secs(10))
            .await?;
        // `cargo xtask test` compares this with what it weighs as the first load.
        page.note("first-load.txt", &page.loaded().await?.join("\n"))?;
        let complaints = page.complaints().await?;
        ensure!(complaints.is_empty(), "{}", complaints.join("\n"));
        Ok(())
    })
}
