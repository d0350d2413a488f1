//! The root: messages in, effects out, and the one frame loop.

pub(crate) mod effects;
pub(crate) mod load;
pub(crate) mod session;

use crate::i18n::Locale;
use crate::model::msg::Msg;
use crate::model::saved::{Prefs, SavedProgress};
use crate::model::ui::{LessonProgress, Progress, ThemeChoice, UiModel};
use crate::model::update::update;
use crate::platform::keys::KeyWatch;
use crate::platform::raf::FrameLoop;
use crate::platform::router::{self, HashWatch};
use crate::platform::{media, storage};
use crate::view::page::Page;
use crate::view::picture::PictureEvent;
use gloo_timers::callback::Timeout;
use session::Session;
use std::cell::RefCell;
use std::rc::Rc;
use yew::prelude::{Callback, Component, Context, Html, html};

/// The root component: the only one with state.
pub(crate) struct App {
    model: UiModel,
    session: Rc<RefCell<Session>>,
    send: Callback<Msg>,
    port: Callback<PictureEvent, bool>,
    /// The run is kept when it fires.
    save: Option<Timeout>,
    /// The title of the document.
    title: String,
    /// The link to the run, for when there is no clipboard.
    link: String,
    /// They end when they are dropped.
    _watches: (
        FrameLoop,
        HashWatch,
        KeyWatch,
        media::DarkWatch,
        media::LeaveWatch,
    ),
}

impl std::fmt::Debug for App {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter
            .debug_struct("App")
            .field("model", &self.model)
            .finish_non_exhaustive()
    }
}

impl Component for App {
    type Message = Msg;
    type Properties = ();

    fn create(context: &Context<Self>) -> Self {
        let send = context.link().callback(|msg: Msg| msg);
        let model = first_model();
        let session = Rc::new(RefCell::new(Session::new(send.clone())));
        session.borrow_mut().look_at(&model);
        let port = {
            let session = Rc::downgrade(&session);
            Callback::from(move |event: PictureEvent| {
                let session = session.upgrade();
                session.is_some_and(|session| match session.try_borrow_mut() {
                    Ok(mut session) => session.on_picture(event),
                    Err(_busy) => false,
                })
            })
        };
        let frames = {
            let session = Rc::downgrade(&session);
            FrameLoop::start(move |now_ms| {
                if let Some(session) = session.upgrade()
                    && let Ok(mut session) = session.try_borrow_mut()
                {
                    session.frame(now_ms);
                }
            })
        };
        let leave = {
            let session = Rc::downgrade(&session);
            media::LeaveWatch::start(move || {
                if let Some(session) = session.upgrade()
                    && let Ok(mut session) = session.try_borrow_mut()
                {
                    session.save();
                }
            })
        };
        let watches = (
            frames,
            HashWatch::start(emit(&send, Msg::HashChanged)),
            KeyWatch::start(emit(&send, Msg::Key)),
            media::DarkWatch::start(emit(&send, |is_dark| Msg::SystemTheme { is_dark })),
            leave,
        );
        let mut app = Self {
            model,
            session,
            send,
            port,
            save: None,
            link: String::new(),
            title: String::new(),
            _watches: watches,
        };
        app.begin();
        app
    }

    fn update(&mut self, _context: &Context<Self>, msg: Msg) -> bool {
        let before = self.model.clone();
        let effects = update(&mut self.model, msg);
        self.session.borrow_mut().look_at(&self.model);
        for effect in effects {
            self.run(effect);
        }
        self.model != before
    }

    fn view(&self, _context: &Context<Self>) -> Html {
        html! {
            <Page model={self.model.clone()} link={self.link.clone()} send={self.send.clone()}
                port={self.port.clone()} />
        }
    }

    fn rendered(&mut self, _context: &Context<Self>, _is_first: bool) {
        // Pages without a picture are ready when their words stand there.
        if self.model.run.is_none() && self.model.words.has("nav.home") {
            media::mark_root("data-ready", "1");
        }
        media::mark_root("data-page", self.model.route.name());
        let is_playing = self.model.panels.clock.is_playing;
        media::mark_root("data-playing", if is_playing { "1" } else { "0" });
        if cfg!(debug_assertions) {
            media::mark_root("data-renders", &crate::view::render_count().to_string());
        }
        let title = crate::view::page::title(&self.model);
        if self.title != title {
            media::set_title(&title);
            self.title = title;
        }
    }
}

fn emit<T: 'static>(
    send: &Callback<Msg>,
    wrap: impl Fn(T) -> Msg + 'static,
) -> Box<dyn Fn(T) + 'static> {
    let send = send.clone();
    Box::new(move |value| send.emit(wrap(value)))
}

/// What is known before anything has been fetched.
fn first_model() -> UiModel {
    let prefs: Prefs = storage::load("prefs")
        .ok()
        .flatten()
        .and_then(|text| serde_json::from_str(&text).ok())
        .unwrap_or_default();
    let chosen = router::query("lang").or(prefs.locale);
    let asked = chosen.into_iter().chain(media::languages());
    let theme = router::query("theme").or(prefs.theme);
    UiModel {
        locale: asked
            .into_iter()
            .find_map(|tag| Locale::of(&tag))
            .unwrap_or_default(),
        theme: theme
            .and_then(|name| ThemeChoice::of(&name))
            .unwrap_or_default(),
        system_is_dark: media::prefers_dark(),
        reduced_motion: media::reduced_motion(),
        embed: router::query("embed").is_some_and(|value| value == "1"),
        progress: Rc::new(kept_progress()),
        ..UiModel::default()
    }
}

fn kept_progress() -> Progress {
    let saved: Option<SavedProgress> = storage::load("progress")
        .ok()
        .flatten()
        .and_then(|text| serde_json::from_str(&text).ok());
    let lessons = saved.unwrap_or_default().lessons.into_iter();
    let lessons = lessons.map(|(id, (goals, goal_count))| {
        (
            id,
            LessonProgress {
                goals,
                goal_count,
                answers: Vec::new(),
            },
        )
    });
    Progress {
        lessons: lessons.collect(),
    }
}
