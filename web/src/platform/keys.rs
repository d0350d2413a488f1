//! Keys that no control takes.

use crate::model::msg::Key;
use wasm_bindgen::JsCast;
use wasm_bindgen::closure::Closure;
use web_sys::{Element, KeyboardEvent};

/// Listens to the whole page until it is dropped.
pub(crate) struct KeyWatch {
    closure: Closure<dyn FnMut(KeyboardEvent)>,
}

impl KeyWatch {
    /// Starts to listen.
    pub(crate) fn start(pressed: impl Fn(Key) + 'static) -> Self {
        let closure: Closure<dyn FnMut(KeyboardEvent)> =
            Closure::new(move |event: KeyboardEvent| {
                if let Some(key) = key_of(&event) {
                    event.prevent_default();
                    pressed(key);
                }
            });
        if let Some(window) = web_sys::window() {
            let listener = closure.as_ref().unchecked_ref();
            window
                .add_event_listener_with_callback("keydown", listener)
                .ok();
        }
        Self { closure }
    }
}

impl Drop for KeyWatch {
    fn drop(&mut self) {
        if let Some(window) = web_sys::window() {
            let listener = self.closure.as_ref().unchecked_ref();
            window
                .remove_event_listener_with_callback("keydown", listener)
                .ok();
        }
    }
}

impl std::fmt::Debug for KeyWatch {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("KeyWatch").finish_non_exhaustive()
    }
}

/// What a key means, unless a control or the browser wants it.
fn key_of(event: &KeyboardEvent) -> Option<Key> {
    if event.default_prevented() || event.ctrl_key() || event.alt_key() || event.meta_key() {
        return None;
    }
    let target = event
        .target()
        .and_then(|target| target.dyn_into::<Element>().ok());
    let taken = |selector: &str| {
        target
            .as_ref()
            .is_some_and(|target| target.matches(selector).unwrap_or_default())
    };
    let name = event.key();
    if name == "Escape" {
        return Some(Key::Escape);
    }
    if taken("input,textarea,select") {
        return None;
    }
    let key = match name.as_str() {
        " " => Key::Space,
        "ArrowLeft" => Key::Left,
        "ArrowRight" => Key::Right,
        "Home" => Key::Home,
        "End" => Key::End,
        "?" => Key::Question,
        "+" | "=" => Key::Plus,
        "-" => Key::Minus,
        "u" => Key::Unit,
        digit => match digit.parse() {
            Ok(number @ 1..=3) => Key::Digit(number),
            _ => return None,
        },
    };
    // A button that has the focus takes the space bar; lists that scroll take Home and End.
    let is_theirs = match key {
        Key::Space => taken("button,a,summary"),
        Key::Home | Key::End => taken(".tables,.panel,pre"),
        _ => false,
    };
    (!is_theirs).then_some(key)
}
