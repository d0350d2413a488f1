//! The whole page.

use super::header::{Header, NoticeLine};
use super::home::Home;
use super::other::{BadLink, Fidelity, Help, NoRun};
use super::overlay::SheetView;
use super::stage::Stage;
use super::{Send, use_words};
use crate::model::route::Route;
use crate::model::ui::{RunPlace, RunState, RunUi, UiModel, Words};
use std::rc::Rc;
use yew::prelude::{Callback, ContextProvider, Html, Properties, component, html};

use super::picture::{PictureEvent, PicturePort};
use crate::model::msg::Msg;

/// What the [`Page`] shows.
#[derive(Clone, Debug, PartialEq, Properties)]
pub(crate) struct PageProps {
    /// Everything.
    pub(crate) model: UiModel,
    /// The link to the run, while it is shown.
    #[prop_or_default]
    pub(crate) link: String,
    /// Where messages go.
    pub(crate) send: Callback<Msg>,
    /// Where events of pictures go.
    pub(crate) port: Callback<PictureEvent, bool>,
}

/// The whole page.
#[component]
pub(crate) fn Page(props: &PageProps) -> Html {
    html! {
        <ContextProvider<Send> context={Send(props.send.clone())}>
            <ContextProvider<PicturePort> context={PicturePort(props.port.clone())}>
                <ContextProvider<Words> context={props.model.words.clone()}>
                    <Body model={props.model.clone()} link={props.link.clone()} />
                </ContextProvider<Words>>
            </ContextProvider<PicturePort>>
        </ContextProvider<Send>>
    }
}

#[derive(Clone, Debug, PartialEq, Properties)]
struct BodyProps {
    model: UiModel,
    link: String,
}

#[component]
fn Body(props: &BodyProps) -> Html {
    let words = use_words();
    let model = &props.model;
    if words.t("nav.home") == "nav.home" && model.notice.is_none() {
        // No words yet: what stands in index.html says so.
        return html! { <div class="boot" role="status" aria-busy="true"></div> };
    }
    let is_stage = matches!(model.route, Route::Lesson { .. } | Route::Sandbox { .. });
    let class = if is_stage { "app on-stage" } else { "app" };
    html! {
        <div {class}>
            <a class="skip" href="#main" onclick={Callback::from(|event| skip(&event))}>{ words.t("nav.skip") }</a>
            if !model.embed { { header(model, &words) } }
            <NoticeLine notice={model.notice.clone()} />
            { content(model) }
            if let Some(sheet) = model.sheet { <SheetView {sheet} link={props.link.clone()} /> }
            <div id="narration" class="sr" role="log" aria-live="polite" data-test="narration"></div>
            <div id="tip" class="tip" hidden=true></div>
        </div>
    }
}

/// Goes to the main part without touching the address, which is the page's own.
fn skip(event: &yew::MouseEvent) {
    event.prevent_default();
    let main = web_sys::window().and_then(|window| window.document()?.get_element_by_id("main"));
    if let Some(main) =
        main.and_then(|main| wasm_bindgen::JsCast::dyn_into::<web_sys::HtmlElement>(main).ok())
    {
        main.set_attribute("tabindex", "-1").ok();
        main.focus().ok();
    }
}

/// The title of the document.
pub(crate) fn title(model: &UiModel) -> String {
    let words = &model.words;
    let here = match (&model.route, &model.run) {
        _ if !words.has("nav.home") => return String::from("Terrarium"),
        (Route::Lesson { .. }, Some(run)) => lesson_title(run, words),
        (Route::Sandbox { .. }, _) => words.t("sandbox.title"),
        (Route::Fidelity, _) => words.t("nav.fidelity"),
        (Route::Help, _) => words.t("keys.title"),
        (Route::Bad(_), _) => words.t("link.title"),
        (Route::Home | Route::Lesson { .. }, _) => words.t("home.title"),
    };
    format!("{here} · Terrarium")
}

fn header(model: &UiModel, words: &Words) -> Html {
    let (title, steps) = match (&model.route, &model.run) {
        (Route::Lesson { .. }, Some(run)) => (lesson_title(run, words), steps(run, words)),
        (Route::Sandbox { .. }, _) => (words.t("sandbox.title"), Vec::new()),
        _ => (String::new(), Vec::new()),
    };
    let has_run = model
        .run
        .as_ref()
        .is_some_and(|run| run.is_ready() && !matches!(run.place, RunPlace::Home(_)));
    html! {
        <Header {title} {steps} step_index={model.panels.step_index} {has_run} theme={model.theme} />
    }
}

fn lesson_title(run: &RunUi, words: &Words) -> String {
    let id = run.place.lesson_id().unwrap_or_default();
    let key = format!("map.lesson.{id}");
    if words.has(&key) {
        words.t(&key)
    } else {
        id.to_owned()
    }
}

fn steps(run: &RunUi, words: &Words) -> Vec<String> {
    let Some(lesson) = &run.lesson else {
        return Vec::new();
    };
    lesson
        .steps
        .iter()
        .map(|step| first_line(&words.t(&format!("lesson.steps.{step}"))))
        .collect()
}

/// A step's text may be long: its first sentence names it.
fn first_line(text: &str) -> String {
    let text = text.trim();
    let end = text
        .find(['\n', '。'])
        .or_else(|| text.find(". "))
        .unwrap_or(text.len());
    text.get(..end).unwrap_or(text).to_owned()
}

fn content(model: &UiModel) -> Html {
    match (&model.route, &model.run) {
        (Route::Bad(error), _) => html! { <BadLink error={error.clone()} /> },
        (Route::Fidelity, _) => html! { <Fidelity /> },
        (Route::Help, _) => html! { <Help /> },
        (Route::Home, run) => html! {
            <Home run={run.clone()} panels={Rc::clone(&model.panels)} map={Rc::clone(&model.map)}
                progress={Rc::clone(&model.progress)} />
        },
        (Route::Lesson { .. } | Route::Sandbox { .. }, Some(run)) => match &run.state {
            RunState::Failed { key, detail } => {
                html! { <NoRun text={*key} detail={detail.clone()} /> }
            }
            RunState::Loading | RunState::Ready => html! {
                <Stage run={run.clone()} panels={Rc::clone(&model.panels)} is_embedded={model.embed}
                    next={next_lesson(model, run)} />
            },
        },
        (Route::Lesson { .. } | Route::Sandbox { .. }, None) => Html::default(),
    }
}

fn next_lesson(model: &UiModel, run: &RunUi) -> Option<String> {
    model.map.after(run.place.lesson_id()?).map(str::to_owned)
}
