//! The front page: one question, the run behind it, the verdict.

use std::time::Duration;

use anyhow::{Result, ensure};
use support::{Page, View, journey};

/// The run stands before the question.
const ASKED: &str = "document.querySelector('[data-test=clock]').textContent === '12.000 s'";
/// The barrier has opened and the answer is told.
const TOLD: &str = "document.querySelector('[data-test=verdict]')";
const SOON: Duration = Duration::from_secs(15);
/// The home page goes through a minute of the cluster's time at ten times its speed.
const RUN: Duration = Duration::from_secs(40);

#[test]
fn a_visitor_answers_and_sees_the_barrier_open() -> Result<()> {
    journey("home-mouse", View::DEFAULT, async |page| {
        page.open_ready("").await?;
        // Moment 1 runs by itself within five seconds of the page being there.
        let moves = "document.querySelector('[data-test=clock]').textContent !== '0.000 s'";
        page.wait_until("the cluster runs", moves, Duration::from_secs(5))
            .await?;
        page.wait_until("it stands before the question", ASKED, SOON)
            .await?;
        page.click("[data-test=answer-1]").await?;
        page.click("[data-test=lock-answer]").await?;
        page.wait_until("the verdict", TOLD, RUN).await?;
        check_verdict(page).await
    })
}

#[test]
fn the_same_with_the_keyboard_alone() -> Result<()> {
    journey("home-keyboard", View::DEFAULT, async |page| {
        page.open_ready("").await?;
        page.wait_until("it stands before the question", ASKED, SOON)
            .await?;
        page.tab_to("Only the partition of c3; the others carry on")
            .await?;
        page.press(&["ArrowDown"]).await?;
        let chosen = "document.querySelector('[data-test=answer-1]').ariaChecked === 'true'";
        page.wait_until("the second answer is marked", chosen, SOON)
            .await?;
        page.tab_to("Lock my answer and run").await?;
        page.press(&["Enter"]).await?;
        page.wait_until("the verdict", TOLD, RUN).await?;
        check_verdict(page).await?;
        page.tab_to("See why, step by step").await?;
        page.press(&["Enter"]).await?;
        let lesson = "location.hash === '#/lesson/the-barrier'";
        page.wait_until("the lesson opens", lesson, SOON).await
    })
}

async fn check_verdict(page: &Page) -> Result<()> {
    let right: bool = page
        .run("return document.querySelector('[data-test=verdict]').dataset.right === 'true'")
        .await?;
    ensure!(right, "all of them stop: the engine says otherwise");
    let why = page.text("[data-test=explanation]").await?;
    ensure!(
        why.contains("JoinGroup") && !why.contains('{'),
        "the explanation: {why}"
    );
    let now = page.text("[data-test=clock]").await?;
    let seconds: f64 = now.trim_end_matches(" s").parse()?;
    ensure!(
        59.0 < seconds,
        "the verdict comes when the barrier opens, not at {now}"
    );
    let complaints = page.complaints().await?;
    ensure!(complaints.is_empty(), "{}", complaints.join("\n"));
    Ok(())
}

#[test]
fn nothing_serious_keeps_anybody_out() -> Result<()> {
    journey("axe", View::DEFAULT, async |page| {
        let routes = [
            "",
            "#/lesson/the-barrier",
            "#/sandbox",
            "#/fidelity",
            "#/help",
            "#/nowhere",
        ];
        for view in View::all() {
            page.look_as(view).await?;
            for route in routes {
                page.open_ready(route).await?;
                let found = page.axe().await?;
                let found: Vec<String> = found.iter().map(ToString::to_string).collect();
                ensure!(found.is_empty(), "{route} in {view}:\n{}", found.join("\n"));
            }
        }
        Ok(())
    })
}
