//! A lesson and the sandbox: acting, keeping, links.

use std::time::Duration;

use anyhow::{Result, ensure};
use support::{Page, View, journey};

const SOON: Duration = Duration::from_secs(15);

async fn clock(page: &Page) -> Result<f64> {
    Ok(page
        .text("[data-test=clock]")
        .await?
        .trim_end_matches(" s")
        .parse()?)
}

#[test]
fn a_lesson_locks_its_question_and_decides_its_goals() -> Result<()> {
    journey("lesson", View::DEFAULT, async |page| {
        page.open_ready("#/lesson/the-barrier").await?;
        let opened = clock(page).await?;
        ensure!(
            (clock(page).await? - opened).abs() < 0.001,
            "pause is the resting state of a lesson"
        );
        // Nobody sees the future of a question that is not answered.
        page.run::<()>("document.querySelector('[data-test=scrubber]').focus()")
            .await?;
        page.press(&["PageUp", "PageUp", "PageUp"]).await?;
        let stands = "document.querySelector('[data-test=clock]').textContent === '12.000 s'";
        page.wait_until("it stands before the question", stands, SOON)
            .await?;
        page.click("[data-test=answer-0]").await?;
        page.click("[data-test=lock-answer]").await?;
        page.find("[data-test=locked]").await?;
        page.run::<()>("document.querySelector('[data-test=scrubber]').focus()")
            .await?;
        page.press(&["PageUp", "PageUp", "PageUp", "PageUp", "PageUp", "PageUp"])
            .await?;
        page.wait_for_text("[data-test=verdict]", "", SOON).await?;
        let wrong = "document.querySelector('[data-test=verdict]').dataset.right === 'false'";
        page.wait_until("the answer was wrong", wrong, SOON).await?;
        let watched = "document.querySelector('[data-test=goal-watch]').dataset.verdict === 'pass'";
        page.wait_until("the barrier was seen opening", watched, SOON)
            .await
    })
}

#[test]
fn a_broker_is_killed_and_the_run_is_there_again_on_the_next_visit() -> Result<()> {
    journey("sandbox", View::DEFAULT, async |page| {
        page.open_ready("#/sandbox").await?;
        page.run::<()>("document.querySelector('[data-test=scrubber]').focus()")
            .await?;
        page.press(&["Home", "PageUp", "PageUp"]).await?;
        let moved = "document.querySelector('[data-test=clock]').textContent === '12.000 s'";
        page.wait_until("twelve seconds have passed", moved, SOON)
            .await?;
        let select = "const list = document.querySelector('[data-test=select-node]');
            list.selectedIndex = [...list.options].findIndex(one => one.text === 'broker 2');
            list.dispatchEvent(new Event('change', { bubbles: true }));";
        page.run::<()>(select).await?;
        page.wait_for_text("[data-test=inspect-title]", "broker 2", SOON)
            .await?;
        page.click("[data-test=fault-kill]").await?;
        page.wait_for_text("[data-test=inspect-title]", "dead", SOON)
            .await?;
        let refused = "document.querySelector('[data-test=fault-kill]').ariaDisabled === 'true'";
        page.wait_until("a dead broker cannot be killed", refused, SOON)
            .await?;
        let kept = "(localStorage['terrarium.v1.saved.sandbox'] || '').includes('kill-broker 2')";
        page.wait_until("the run is kept", kept, SOON).await?;
        page.open_ready("#/sandbox").await?;
        page.wait_for_text("[data-test=notice]", "back where you left", SOON)
            .await?;
        ensure!(
            (clock(page).await? - 12.0).abs() < 0.001,
            "at the instant of before"
        );
        let complaints = page.complaints().await?;
        ensure!(complaints.is_empty(), "{}", complaints.join("\n"));
        Ok(())
    })
}

#[test]
fn a_link_brings_the_same_run_and_a_bad_one_names_its_fault() -> Result<()> {
    journey("links", View::DEFAULT, async |page| {
        page.open_ready("#/sandbox?seed=7&log=8.5s+kill-broker+2&at=10s")
            .await?;
        ensure!(
            (clock(page).await? - 10.0).abs() < 0.001,
            "at the instant of the link"
        );
        page.open("#/sandbox?log=8.5s+kill-brokr+2").await?;
        page.wait_for_text("[data-test=no-run]", "kill-brokr", SOON)
            .await?;
        page.open("#/sandbox?sed=7").await?;
        page.wait_for_text("[data-test=bad-link]", "sed=7", SOON)
            .await?;
        page.open("#/lesson/no-such-lesson").await?;
        page.wait_for_text("[data-test=no-run]", "no-such-lesson", SOON)
            .await
    })
}
