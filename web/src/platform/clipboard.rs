//! The clipboard.

use wasm_bindgen_futures::JsFuture;

/// Puts `text` on the clipboard; whether it worked.
pub(crate) async fn copy(text: &str) -> bool {
    let Some(window) = web_sys::window() else {
        return false;
    };
    // Without HTTPS `navigator.clipboard` is undefined, and a method call on it would throw.
    let navigator = window.navigator();
    let key = wasm_bindgen::JsValue::from_str("clipboard");
    match js_sys::Reflect::get(&navigator, &key) {
        Ok(value) if !value.is_undefined() => {
            JsFuture::from(navigator.clipboard().write_text(text))
                .await
                .is_ok()
        }
        _ => false,
    }
}
