//! The address: hash and query.

use wasm_bindgen::JsCast;
use wasm_bindgen::closure::Closure;

/// The part after `#`; empty without one.
pub(crate) fn hash() -> String {
    web_sys::window()
        .and_then(|window| window.location().hash().ok())
        .unwrap_or_default()
}

/// The value of a name in the query before the `#`.
pub(crate) fn query(name: &str) -> Option<String> {
    let search = web_sys::window()?.location().search().ok()?;
    web_sys::UrlSearchParams::new_with_str(&search)
        .ok()?
        .get(name)
}

/// The address without its hash.
pub(crate) fn base() -> String {
    let href = web_sys::window().and_then(|window| window.location().href().ok());
    href.unwrap_or_default()
        .split('#')
        .next()
        .unwrap_or_default()
        .to_owned()
}

/// Calls `changed` with each new hash until it is dropped.
pub(crate) struct HashWatch {
    closure: Closure<dyn FnMut()>,
}

impl HashWatch {
    /// Starts to watch.
    pub(crate) fn start(changed: impl Fn(String) + 'static) -> Self {
        let closure: Closure<dyn FnMut()> = Closure::new(move || changed(hash()));
        if let Some(window) = web_sys::window() {
            let listener = closure.as_ref().unchecked_ref();
            window
                .add_event_listener_with_callback("hashchange", listener)
                .ok();
        }
        Self { closure }
    }
}

impl Drop for HashWatch {
    fn drop(&mut self) {
        if let Some(window) = web_sys::window() {
            let listener = self.closure.as_ref().unchecked_ref();
            window
                .remove_event_listener_with_callback("hashchange", listener)
                .ok();
        }
    }
}
