//! Reads which marks of a marked program are set when the first lesson stands, in every view:
//! `marks BASE COUNT`, run by `cargo xtask first-load`.

use std::collections::BTreeSet;
use std::time::Duration;

use anyhow::{Context, Result};
use support::{Page, View, with_page};

fn main() -> Result<()> {
    let mut arguments = std::env::args().skip(1);
    let base = arguments.next().context("the address of the first mark")?;
    let count = arguments.next().context("how many marks there are")?;
    let script = SCRIPT.replace("BASE", &base).replace("COUNT", &count);
    with_page(View::DEFAULT, async |page| {
        let mut marks = BTreeSet::new();
        for view in View::all() {
            page.look_as(view).await?;
            // Files come in another order on a slow network, and frames on a slow machine.
            for (latency_ms, slowness) in [(0, 1), (0, 1), (0, 6), (40, 1), (300, 1), (120, 4)] {
                page.slow_down(latency_ms, slowness).await?;
                marks.extend(read(page, &script).await?);
            }
        }
        page.slow_down(0, 1).await?;
        let marks: Vec<String> = marks.iter().map(ToString::to_string).collect();
        page.note("marks.txt", &marks.join("\n"))?;
        Ok(())
    })
}

async fn read(page: &Page, script: &str) -> Result<Vec<u32>> {
    page.open_slowly("", PATIENCE).await?;
    // A little of what runs then loads with it: the rest takes its time.
    tokio::time::sleep(Duration::from_secs(1)).await;
    page.run(script).await
}

/// A marked program is slow, and the machine is made slower still.
const PATIENCE: Duration = Duration::from_secs(90);

const SCRIPT: &str = "
    const marks = new Uint8Array(window.terrariumBoot.program.memory.buffer, BASE, COUNT);
    return Array.from(marks.keys()).filter((mark) => marks[mark] === 1);";
