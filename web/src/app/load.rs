//! Fetches texts, the map of lessons, and runs.

use super::session::Session;
use crate::i18n::{Catalog, Locale};
use crate::model::effect::RunOrder;
use crate::model::msg::Msg;
use crate::model::saved::SavedRun;
use crate::model::ui::{LessonMap, Notice, RunPlace, Words};
use crate::platform::{fetch, storage};
use serde::Deserialize;
use std::cell::RefCell;
use std::rc::Rc;
use terrarium_core::lesson::Lesson;
use yew::prelude::Callback;

/// Files of texts that every page needs, and what stands before their keys.
const TEXTS: [(&str, &str); 3] = [("ui", ""), ("stage", ""), ("index", "map.")];

/// Fetches the texts of a language, and those of a lesson.
pub(super) async fn words(send: Callback<Msg>, locale: Locale, lesson: Option<String>) {
    let mut catalog = Catalog::new(locale);
    for (name, prefix) in TEXTS {
        if let Err(detail) = add(&mut catalog, prefix, locale, name).await {
            send.emit(Msg::WordsFailed(detail));
            return;
        }
    }
    if let Some(id) = lesson {
        catalog.set_lesson(&id);
        if let Err(detail) = add(&mut catalog, "lesson.", locale, &id).await {
            send.emit(Msg::WordsFailed(detail));
        }
    }
    send.emit(Msg::WordsReady(Words(Rc::new(catalog))));
}

async fn add(
    catalog: &mut Catalog,
    prefix: &str,
    locale: Locale,
    name: &str,
) -> Result<(), String> {
    let path = format!("./strings/{}/{name}.toml", locale.tag());
    let text = fetch::text(&path).await?;
    catalog
        .add(prefix, &text)
        .map_err(|error| format!("{path}: {error}"))
}

#[derive(Deserialize)]
struct IndexFile {
    concept: Vec<Concept>,
}

#[derive(Deserialize)]
struct Concept {
    id: String,
    lessons: Vec<String>,
}

/// Fetches the map of lessons.
pub(super) async fn map(send: Callback<Msg>) {
    match fetch::text("./lessons/index.toml")
        .await
        .and_then(|text| read_map(&text))
    {
        Ok(map) => send.emit(Msg::MapReady(Rc::new(map))),
        Err(detail) => send.emit(Msg::WordsFailed(detail)),
    }
}

/// Reads the map of lessons.
pub(crate) fn read_map(text: &str) -> Result<LessonMap, String> {
    let file: IndexFile = toml::from_str(text).map_err(|error| error.to_string())?;
    let concepts = file
        .concept
        .into_iter()
        .map(|concept| (concept.id, concept.lessons));
    Ok(LessonMap {
        concepts: concepts.collect(),
    })
}

/// Fetches what a run starts from, and opens it.
pub(super) async fn run(
    send: Callback<Msg>,
    session: Rc<RefCell<Session>>,
    number: u32,
    order: RunOrder,
) {
    let path = match &order.place {
        RunPlace::Home(id) | RunPlace::Lesson(id) => format!("./lessons/{id}.toml"),
        RunPlace::Sandbox => String::from("./sandbox.toml"),
    };
    let failed = |key: &'static str, detail: String| Msg::RunFailed { key, detail };
    let text = match fetch::text(&path).await {
        Ok(text) => text,
        Err(detail) => {
            send.emit(failed("run.lesson-missing", detail));
            return;
        }
    };
    let lesson = match Lesson::parse(&path, &text) {
        Ok(lesson) => lesson,
        Err(errors) => {
            let lines: Vec<String> = errors.iter().map(ToString::to_string).collect();
            send.emit(failed("run.lesson-broken", lines.join("\n")));
            return;
        }
    };
    let saved = kept_run(&send, &order, &lesson);
    let Ok(mut session) = session.try_borrow_mut() else {
        return;
    };
    // Another run may have been asked for while this one was on its way.
    if !session.expects(number) {
        return;
    }
    match session.open(order, lesson, saved) {
        Ok(ready) => send.emit(Msg::RunReady(Box::new(ready))),
        Err((_, detail)) if session.has_run() => send.emit(Msg::RunKept(detail)),
        Err((key, detail)) => send.emit(failed(key, detail)),
    }
}

/// The run of an earlier visit, unless the link asks for another.
fn kept_run(send: &Callback<Msg>, order: &RunOrder, lesson: &Lesson) -> Option<SavedRun> {
    let is_plain = order.link == crate::model::route::RunLink::default();
    let key = order
        .place
        .storage_key()
        .filter(|_| order.may_resume && is_plain)?;
    let text = storage::load(&key).ok().flatten()?;
    match SavedRun::parse(&text, lesson) {
        Ok(saved) => Some(saved),
        Err(detail) => {
            // What cannot be read is kept aside: a newer page may read it.
            storage::save(&format!("{key}.unreadable"), &text).ok();
            let args = vec![("detail", detail)];
            send.emit(Msg::Tell(Notice::fault("notice.saved-unreadable", args)));
            None
        }
    }
}
