//! Beside the pictures: experiments side by side, and Kafka's metrics.

use std::time::Duration;

use anyhow::{Result, ensure};
use support::{View, journey};

#[test]
fn experiments_are_compared_once_the_question_is_answered() -> Result<()> {
    journey("compare", View::DEFAULT, async |page| {
        page.open_ready("#/lesson/wait-and-crash").await?;
        page.click("[data-test=tab-compare]").await?;
        page.wait_for_text("[data-test=compare-text]", "Answer", Duration::from_secs(5))
            .await?;
        let questions: usize = page
            .run("return document.querySelectorAll('[data-test=lock-answer]').length")
            .await?;
        for _ in 0..questions {
            page.click("[data-test=answer-0]").await?;
            page.click("[data-test=lock-answer]").await?;
        }
        page.wait_for_text(
            "[data-test=compare-text]",
            "First difference",
            Duration::from_secs(60),
        )
        .await?;
        let strips: Vec<usize> = page
            .run(
                "return [...document.querySelectorAll('.compared')]\
                 .map((run) => run.querySelectorAll('.strip').length)",
            )
            .await?;
        ensure!(
            2 <= strips.len() && strips.iter().all(|count| 1 <= *count),
            "each experiment has its strips: {strips:?}"
        );
        let violations = page.axe().await?;
        ensure!(violations.is_empty(), "{violations:#?}");
        page.picture("compare").await?;
        Ok(())
    })
}

#[test]
fn metrics_and_alarms_follow_what_breaks() -> Result<()> {
    journey("metrics", View::DEFAULT, async |page| {
        page.open_ready("#/sandbox").await?;
        page.click("[data-test=tab-metrics]").await?;
        page.wait_for_text(
            "[data-test='table.metrics']",
            "UnderReplicatedPartitions",
            Duration::from_secs(5),
        )
        .await?;
        let violations = page.axe().await?;
        ensure!(violations.is_empty(), "{violations:#?}");
        page.picture("metrics").await?;
        Ok(())
    })
}
