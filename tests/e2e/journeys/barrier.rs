//! The first lesson: answer, run, see the barrier open, see the verdict.

use std::time::Duration;

use anyhow::{Result, ensure};
use support::{Page, View, journey};

/// The barrier opens 60 simulated seconds into the run; the home page plays several a second.
const RUN: Duration = Duration::from_secs(60);

#[test]
fn a_visitor_answers_runs_and_sees_the_verdict() -> Result<()> {
    journey("home", View::DEFAULT, async |page| {
        page.open_ready("").await?;
        let lock = page.find("[data-test=lock-answer]").await?;
        ensure!(
            lock.attr("aria-disabled").await?.as_deref() == Some("true"),
            "nothing can be locked before an answer is chosen"
        );
        page.click("[data-test=answer-1]").await?;
        page.click("[data-test=lock-answer]").await?;
        the_barrier_opens(page).await
    })
}

#[test]
fn the_keyboard_alone_is_enough() -> Result<()> {
    journey("keyboard", View::DEFAULT, async |page| {
        page.open_ready("").await?;
        focus(page, "answer-0").await?;
        // The answers are one stop; arrows move within them and choose.
        page.press(&["ArrowDown"]).await?;
        let chosen = "document.querySelector('[data-test=answer-1]')\
                      .getAttribute('aria-checked') === 'true'";
        page.wait_until(
            "the second answer is chosen",
            chosen,
            Duration::from_secs(5),
        )
        .await?;
        focus(page, "lock-answer").await?;
        page.press(&["Enter"]).await?;
        the_barrier_opens(page).await?;
        // On into the lesson, and its playback by the space bar.
        focus(page, "to-lesson").await?;
        page.press(&["Enter"]).await?;
        let lesson = "document.documentElement.dataset.page === 'lesson'\
                      && document.querySelector('[data-test=clock]') !== null";
        page.wait_until("the lesson is open", lesson, Duration::from_secs(10))
            .await
    })
}

#[test]
fn axe_finds_no_serious_fault() -> Result<()> {
    journey("axe", View::DEFAULT, async |page| {
        for route in [
            "",
            "#/lesson/the-barrier",
            "#/lesson/wait-and-crash",
            "#/lesson/short-pause-long-pause",
            "#/sandbox",
            "#/fidelity",
            "#/help",
        ] {
            page.open_ready(route).await?;
            let violations = page.axe().await?;
            ensure!(violations.is_empty(), "{route:?}: {violations:#?}");
        }
        Ok(())
    })
}

/// The locked answer is kept, the engine runs, and its own outcome is the key.
async fn the_barrier_opens(page: &Page) -> Result<()> {
    let locked = "document.querySelector('[data-test=locked], [data-test=verdict]') !== null";
    page.wait_until("the answer is locked", locked, Duration::from_secs(5))
        .await?;
    let verdict = "document.querySelector('[data-test=verdict]') !== null";
    page.wait_until("the barrier has opened", verdict, RUN)
        .await?;
    let right: Option<String> = page
        .find("[data-test=verdict]")
        .await?
        .attr("data-right")
        .await?;
    ensure!(
        right.as_deref() == Some("true"),
        "all partitions stop, and that was the answer"
    );
    let complaints = page.complaints().await?;
    ensure!(complaints.is_empty(), "{}", complaints.join("\n"));
    Ok(())
}

/// Presses Tab until the focus is on the element with this hook.
async fn focus(page: &Page, hook: &str) -> Result<()> {
    for _ in 0..60 {
        page.press(&["Tab"]).await?;
        let focused: Option<String> = page
            .run("return document.activeElement && document.activeElement.dataset.test || null;")
            .await?;
        if focused.as_deref() == Some(hook) {
            return Ok(());
        }
    }
    ensure!(false, "Tab never came to {hook}");
    Ok(())
}
