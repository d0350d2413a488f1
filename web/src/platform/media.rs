//! What the person's system prefers, and the document's own marks.

use wasm_bindgen::JsCast;
use wasm_bindgen::closure::Closure;

/// Whether a media query holds now.
pub(crate) fn matches(query: &str) -> bool {
    web_sys::window()
        .and_then(|window| window.match_media(query).ok().flatten())
        .is_some_and(|list| list.matches())
}

/// Whether the system asks for less motion.
pub(crate) fn reduced_motion() -> bool {
    matches("(prefers-reduced-motion: reduce)")
}

/// Whether the system prefers dark colours.
pub(crate) fn prefers_dark() -> bool {
    matches("(prefers-color-scheme: dark)")
}

/// Milliseconds on the clock of animation frames.
pub(crate) fn now_ms() -> f64 {
    web_sys::window()
        .and_then(|window| js_sys::Reflect::get(&window, &"performance".into()).ok())
        .and_then(|performance| {
            let now = js_sys::Reflect::get(&performance, &"now".into()).ok()?;
            let now: js_sys::Function = now.dyn_into().ok()?;
            now.call0(&performance).ok()?.as_f64()
        })
        .unwrap_or_default()
}

/// Sets an attribute of `<html>`.
pub(crate) fn mark_root(name: &str, value: &str) {
    if let Some(root) = root() {
        root.set_attribute(name, value).ok();
    }
}

/// Sets the title of the document.
pub(crate) fn set_title(title: &str) {
    if let Some(document) = web_sys::window().and_then(|window| window.document()) {
        document.set_title(title);
    }
}

/// The languages that the browser asks for, first choice first.
pub(crate) fn languages() -> Vec<String> {
    let Some(window) = web_sys::window() else {
        return Vec::new();
    };
    window
        .navigator()
        .languages()
        .iter()
        .filter_map(|tag| tag.as_string())
        .collect()
}

fn root() -> Option<web_sys::Element> {
    web_sys::window()?.document()?.document_element()
}

/// Calls `changed` when the system prefers other colours, until it is dropped.
pub(crate) struct DarkWatch {
    list: Option<web_sys::MediaQueryList>,
    closure: Closure<dyn FnMut()>,
}

impl DarkWatch {
    /// Starts to watch.
    pub(crate) fn start(changed: impl Fn(bool) + 'static) -> Self {
        let closure: Closure<dyn FnMut()> = Closure::new(move || changed(prefers_dark()));
        let query = "(prefers-color-scheme: dark)";
        let list = web_sys::window().and_then(|window| window.match_media(query).ok().flatten());
        if let Some(list) = &list {
            let listener = closure.as_ref().unchecked_ref();
            list.add_event_listener_with_callback("change", listener)
                .ok();
        }
        Self { list, closure }
    }
}

impl Drop for DarkWatch {
    fn drop(&mut self) {
        if let Some(list) = &self.list {
            let listener = self.closure.as_ref().unchecked_ref();
            list.remove_event_listener_with_callback("change", listener)
                .ok();
        }
    }
}

/// Calls `leaving` when the page is hidden or left, until it is dropped: the last chance to save.
pub(crate) struct LeaveWatch {
    closure: Closure<dyn FnMut()>,
}

impl LeaveWatch {
    /// Starts to watch.
    pub(crate) fn start(leaving: impl Fn() + 'static) -> Self {
        let closure: Closure<dyn FnMut()> = Closure::new(leaving);
        if let Some(window) = web_sys::window() {
            let listener = closure.as_ref().unchecked_ref();
            window
                .add_event_listener_with_callback("pagehide", listener)
                .ok();
        }
        Self { closure }
    }
}

impl Drop for LeaveWatch {
    fn drop(&mut self) {
        if let Some(window) = web_sys::window() {
            let listener = self.closure.as_ref().unchecked_ref();
            window
                .remove_event_listener_with_callback("pagehide", listener)
                .ok();
        }
    }
}
