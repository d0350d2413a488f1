//! What is left to do when the program panics: keep the run, and say so outside Yew.

use super::storage;
use std::cell::RefCell;
use std::panic::PanicHookInfo;
use wasm_bindgen::JsValue;

thread_local! {
    /// Where the run is kept, and its text: up to the action or step before the present one.
    static BEFORE: RefCell<Option<(String, String)>> = const { RefCell::new(None) };
}

/// Notes what to bring back if the next step panics.
pub(crate) fn remember(key: &str, saved: String) {
    BEFORE.with(|before| {
        if let Ok(mut before) = before.try_borrow_mut() {
            *before = Some((key.to_owned(), saved));
        }
    });
}

/// Nothing runs any more that could be saved.
pub(crate) fn forget() {
    BEFORE.with(|before| {
        if let Ok(mut before) = before.try_borrow_mut() {
            *before = None;
        }
    });
}

/// The panic hook: saves the recording and has `boot.js` show a plain overlay.
pub(crate) fn hook(info: &PanicHookInfo<'_>) {
    let before = BEFORE.with(|before| before.try_borrow().ok().and_then(|before| before.clone()));
    let recording = match &before {
        Some((key, saved)) => {
            storage::save(key, saved).ok();
            saved.as_str()
        }
        None => "",
    };
    show(&info.to_string(), recording);
}

fn show(message: &str, recording: &str) {
    call("panicked", message, recording).ok();
}

/// Has `boot.js` say that the page cannot start.
pub(crate) fn fail_to_start(detail: &str) {
    call("failed", detail, "").ok();
}

fn call(name: &str, first: &str, second: &str) -> Result<(), JsValue> {
    let window = web_sys::window().ok_or(JsValue::NULL)?;
    let boot = js_sys::Reflect::get(&window, &"terrariumBoot".into())?;
    let function = js_sys::Reflect::get(&boot, &name.into())?;
    let function: js_sys::Function = wasm_bindgen::JsCast::dyn_into(function)?;
    function.call2(&boot, &first.into(), &second.into())?;
    Ok(())
}
