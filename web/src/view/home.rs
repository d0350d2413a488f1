//! The home page: one question beside a running cluster, and the map of the lessons.

use super::icon::{Icon, icon};
use super::lesson::Question;
use super::picture::Canvas;
use super::text::Rich;
use super::{count_render, use_words};
use crate::model::panels::Panels;
use crate::model::ui::{LessonMap, LessonProgress, Progress, RunState, RunUi};
use crate::paint::stage::Picture;
use std::rc::Rc;
use yew::prelude::{Html, Properties, classes, component, html};

/// What [`Home`] shows.
#[derive(Clone, Debug, PartialEq, Properties)]
pub(crate) struct HomeProps {
    /// The run behind the question.
    pub(crate) run: Option<RunUi>,
    /// Its panels.
    pub(crate) panels: Rc<Panels>,
    /// The lessons.
    pub(crate) map: Rc<LessonMap>,
    /// What was done of them.
    pub(crate) progress: Rc<Progress>,
}

/// The home page.
#[component]
pub(crate) fn Home(props: &HomeProps) -> Html {
    let words = use_words();
    html! {
        <main id="main" class="home">
            <div class="hero">
                <div class="ask">
                    <h1>{ words.t("home.title") }</h1>
                    <Rich text={words.t("home.intro")} />
                    <Ask run={props.run.clone()} panels={Rc::clone(&props.panels)} />
                </div>
                <Glass run={props.run.clone()} panels={Rc::clone(&props.panels)} />
            </div>
            <div class="wrap">
                <Lessons map={Rc::clone(&props.map)} progress={Rc::clone(&props.progress)} />
                <div class="cards">
                    <Card key_of="sandbox" href="#/sandbox" />
                    <Card key_of="fidelity" href="#/fidelity" />
                    <Card key_of="keys" href="#/help" />
                </div>
            </div>
        </main>
    }
}

#[derive(Clone, Debug, PartialEq, Properties)]
struct AskProps {
    run: Option<RunUi>,
    panels: Rc<Panels>,
}

/// The question with its options; after the run, the verdict and the way on.
#[component]
fn Ask(props: &AskProps) -> Html {
    count_render();
    let words = use_words();
    let lesson = props
        .run
        .as_ref()
        .filter(|run| words.lesson() == run.place.lesson_id())
        .and_then(|run| run.lesson.clone().map(|lesson| (run, lesson)));
    let Some((run, lesson)) = lesson else {
        // The place of the options is kept, so that nothing jumps when they come.
        return html! { <div class="question bare waiting" aria-busy="true"></div> };
    };
    let outcome = props.panels.outcomes.first().cloned().unwrap_or_default();
    let is_told = outcome.right.is_some();
    html! {
        <>
            <Question {lesson} index={0} answer={run.answers.first().cloned().unwrap_or_default()}
                {outcome} lock="home.lock" is_headless=true />
            if !props.panels.debrief.is_empty() && run.answers.first().is_some_and(|answer| answer.locked_at.is_some()) {
                <div class="why-text" data-test="explanation"><Rich text={first_paragraphs(&props.panels.debrief)} /></div>
            }
            <p class="row">
                if is_told {
                    <a class="btn" href="#/lesson/the-barrier" data-test="to-lesson">{ words.t("home.to-lesson") }</a>
                }
                <a class="link" href="#/sandbox" data-test="to-sandbox">{ words.t("home.to-sandbox") }</a>
            </p>
        </>
    }
}

/// The two paragraphs that explain; the lesson has the rest.
fn first_paragraphs(text: &str) -> String {
    let paragraphs: Vec<&str> = text.trim().split("\n\n").take(2).collect();
    paragraphs.join("\n\n")
}

/// The running cluster in a frame, with its clock.
#[component]
fn Glass(props: &AskProps) -> Html {
    count_render();
    let words = use_words();
    let clock = &props.panels.clock;
    let failed = match props.run.as_ref().map(|run| &run.state) {
        Some(RunState::Failed { key, detail }) => Some((*key, detail.clone())),
        _ => None,
    };
    let lesson = props
        .run
        .as_ref()
        .and_then(|run| run.lesson.clone())
        .unwrap_or_default();
    html! {
        <figure class="glass" aria-label={words.t("home.glass")}>
            if let Some((key, detail)) = failed {
                <div class="fault-box" role="alert"><p>{ words.t(key) }</p><pre>{ detail }</pre></div>
            } else {
                <Canvas picture={Picture::Home} label="home.picture" test="picture-home" />
            }
            <figcaption>
                <output data-test="clock">{ clock.now.to_string() }</output>
                <span class="space"></span>
                <span>{ words.text("home.seed", &[("seed", &lesson.seed.to_string())]) }</span>
                <span>{ words.text("home.version", &[("version", &lesson.kafka)]) }</span>
            </figcaption>
        </figure>
    }
}

#[derive(Clone, Debug, PartialEq, Properties)]
struct LessonsProps {
    map: Rc<LessonMap>,
    progress: Rc<Progress>,
}

/// The lessons by concept, with what is done of them.
#[component]
fn Lessons(props: &LessonsProps) -> Html {
    count_render();
    let words = use_words();
    let is_done = |id: &str| {
        props
            .progress
            .lessons
            .get(id)
            .is_some_and(LessonProgress::is_done)
    };
    let next = props
        .map
        .lessons()
        .find(|id| !is_done(id))
        .map(str::to_owned);
    html! {
        <section class="map" aria-labelledby="lessons-title">
            <h2 id="lessons-title">{ words.t("home.lessons") }</h2>
            { for props.map.concepts.iter().map(|(concept, lessons)| {
                let done = lessons.iter().filter(|id| is_done(id)).count();
                let count = lessons.len().to_string();
                let key = if done == 0 { "home.count" } else { "home.count-done" };
                html! {
                    <div class="concept" key={concept.clone()}>
                        <h3>{ words.t(&format!("map.concept.{concept}")) }
                            <small>{ words.text(key, &[("count", &count), ("done", &done.to_string())]) }</small>
                        </h3>
                        <ul>
                            { for lessons.iter().map(|id| html! {
                                <LessonChip key={id.clone()} id={id.clone()}
                                    progress={props.progress.lessons.get(id).cloned().unwrap_or_default()}
                                    is_next={next.as_ref() == Some(id)} />
                            }) }
                        </ul>
                    </div>
                }
            }) }
        </section>
    }
}

#[derive(Clone, Debug, PartialEq, Properties)]
struct ChipProps {
    id: String,
    progress: LessonProgress,
    is_next: bool,
}

#[component]
fn LessonChip(props: &ChipProps) -> Html {
    let words = use_words();
    let done = &props.progress;
    let passed = done.goals.len().to_string();
    let count = done.goal_count.to_string();
    let state = if done.is_done() {
        words.t("home.done")
    } else if done.goals.is_empty() {
        String::new()
    } else {
        words.text("home.partly", &[("passed", &passed), ("count", &count)])
    };
    let class = classes!(
        "chip",
        "lesson-chip",
        done.is_done().then_some("done"),
        props.is_next.then_some("next")
    );
    html! {
        <li>
            <a {class} href={format!("#/lesson/{}", props.id)} data-test={format!("lesson-{}", props.id)}>
                if done.is_done() { { icon(Icon::Met) } }
                <span>
                    { words.t(&format!("map.lesson.{}", props.id)) }
                    <small>{ words.t(&format!("map.about.{}", props.id)) }</small>
                </span>
                if !state.is_empty() { <em>{ state }</em> }
            </a>
        </li>
    }
}

#[derive(Clone, Debug, PartialEq, Properties)]
struct CardProps {
    key_of: &'static str,
    href: &'static str,
}

#[component]
fn Card(props: &CardProps) -> Html {
    let words = use_words();
    let name = props.key_of;
    html! {
        <a class="card" href={props.href} data-test={format!("card-{name}")}>
            <h3>{ words.t(&format!("home.card-{name}")) }</h3>
            <p>{ words.t(&format!("home.card-{name}-text")) }</p>
            <span class="link">{ words.t(&format!("home.card-{name}-open")) }</span>
        </a>
    }
}
