//! Carries effects out.

use super::App;
use super::load;
use crate::i18n::Locale;
use crate::model::effect::Effect;
use crate::model::msg::Msg;
use crate::model::saved::{Prefs, SavedProgress};
use crate::model::ui::{Notice, Offer, ThemeChoice};
use crate::platform::storage::{self, StorageError};
use crate::platform::{clipboard, media, rescue, router, tip};
use gloo_timers::callback::Timeout;
use std::rc::Rc;
use wasm_bindgen_futures::spawn_local;

/// How long the page waits for more to save, in milliseconds.
const SAVE_AFTER_MS: u32 = 500;

impl App {
    /// Dresses the document, and fetches what every page needs.
    pub(super) fn begin(&mut self) {
        self.dress();
        spawn_local(load::words(self.send.clone(), self.model.locale, None));
        spawn_local(load::map(self.send.clone()));
        self.send.emit(Msg::HashChanged(router::hash()));
    }

    /// Carries an effect out.
    pub(super) fn run(&mut self, effect: Effect) {
        match effect {
            Effect::LoadWords(locale, lesson) => {
                spawn_local(load::words(self.send.clone(), locale, lesson));
            }
            Effect::LoadRun(order) => {
                let number = self.session.borrow_mut().expect_run();
                let session = Rc::clone(&self.session);
                spawn_local(load::run(self.send.clone(), session, number, *order));
            }
            Effect::FailToStart(detail) => rescue::fail_to_start(&detail),
            Effect::CloseRun => {
                self.session.borrow_mut().close();
                rescue::forget();
            }
            Effect::Dress(theme, locale) => {
                self.dress();
                Self::keep_prefs(theme, locale);
            }
            Effect::SaveRun => self.save_soon(),
            Effect::ForgetRun(place) => {
                self.save = None;
                if let Some(key) = place.storage_key() {
                    storage::remove(&key);
                }
            }
            Effect::CopyLink => self.copy_link(),
            Effect::SaveProgress => self.keep_progress(),
            Effect::Announce(text) => tip::announce(&text),
            Effect::Play
            | Effect::Pause
            | Effect::Step(..)
            | Effect::StepBack
            | Effect::Seek(_)
            | Effect::SeekEntry(_)
            | Effect::SeekHorizon
            | Effect::SetSpeed(_)
            | Effect::Act(_)
            | Effect::TakeAction(_)
            | Effect::SendRecord(_)
            | Effect::SwitchBranch(_)
            | Effect::LockAnswer(..)
            | Effect::Download
            | Effect::Upload(_)
            | Effect::RefreshPanels
            | Effect::Redraw => self.session.borrow_mut().run(effect),
        }
    }

    fn dress(&self) {
        use crate::scene::theme::ThemeName;
        let theme = match self.model.theme_name() {
            ThemeName::Light => "light",
            ThemeName::Dark => "dark",
        };
        media::mark_root("data-theme", theme);
        media::mark_root("lang", self.model.locale.tag());
    }

    fn keep_prefs(theme: ThemeChoice, locale: Locale) {
        let prefs = Prefs {
            theme: (theme != ThemeChoice::System).then(|| theme.name().to_owned()),
            locale: Some(locale.tag().to_owned()),
        };
        let text = serde_json::to_string(&prefs).unwrap_or_default();
        // A choice that is not kept is no loss of work: nothing needs to be said.
        storage::save("prefs", &text).ok();
    }

    fn keep_progress(&mut self) {
        let lessons = self.model.progress.lessons.iter();
        let lessons = lessons.map(|(id, done)| (id.clone(), (done.goals.clone(), done.goal_count)));
        let saved = SavedProgress {
            lessons: lessons.collect(),
        };
        let text = serde_json::to_string(&saved).unwrap_or_default();
        if let Err(error) = storage::save("progress", &text) {
            self.send.emit(Msg::Tell(storage_notice(error)));
        }
    }

    fn save_soon(&mut self) {
        let session = Rc::clone(&self.session);
        // A new timeout takes the place of the old one, which is cancelled when it is dropped.
        self.save = Some(Timeout::new(SAVE_AFTER_MS, move || {
            if let Ok(mut session) = session.try_borrow_mut() {
                session.save();
            }
        }));
    }

    fn copy_link(&mut self) {
        let Some(hash) = self.session.borrow().link() else {
            return;
        };
        self.link = format!("{}{hash}", router::base());
        let (link, send) = (self.link.clone(), self.send.clone());
        spawn_local(async move {
            let is_copied = clipboard::copy(&link).await;
            send.emit(Msg::Shared(is_copied));
        });
    }
}

/// What is said when work cannot be kept.
pub(super) fn storage_notice(error: StorageError) -> Notice {
    let key = match error {
        StorageError::Full => "notice.storage-full",
        StorageError::Blocked => "notice.storage-blocked",
    };
    let mut notice = Notice::fault(key, Vec::new());
    notice.offer = Some(Offer::Download);
    notice
}
