//! The page opens.

use std::time::Duration;

use anyhow::{Result, ensure};
use support::{View, journey};

#[test]
fn the_page_opens_under_any_path_without_complaints() -> Result<()> {
    journey("opening", View::DEFAULT, async |page| {
        // A file that comes in an order that no profile has seen may have the program ask for its
        // rest earlier: the rule is that it does not.
        let mut early = true;
        for _ in 0..3 {
            page.open_ready("").await?;
            let [first, _] = page.loaded().await?;
            early = first.iter().any(|file| file == REST);
            if !early {
                break;
            }
        }
        ensure!(
            !early,
            "the program needs its rest before the first picture: run cargo xtask first-load"
        );
        let loaded = "document.readyState === 'complete' && window.performance";
        page.wait_until("the page has loaded", loaded, Duration::from_secs(10))
            .await?;
        // `cargo xtask test` compares this with what it weighs as the first load.
        let [first, then] = page.loaded().await?;
        page.note("first-load.txt", &first.join("\n"))?;
        // What the program does without until then, it fetches then.
        let rest = then.iter().any(|file| file == REST);
        ensure!(
            rest,
            "the rest of the program comes after the picture: {then:?}"
        );
        let is_whole = "window.terrariumBoot.program.restIsHere.value === 1";
        page.wait_until("the program is whole", is_whole, Duration::from_secs(10))
            .await?;
        let complaints = page.complaints().await?;
        ensure!(complaints.is_empty(), "{}", complaints.join("\n"));
        Ok(())
    })
}

const REST: &str = "pkg/terrarium_web_rest.wasm";
