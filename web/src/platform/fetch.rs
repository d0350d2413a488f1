//! Files of the site.

use wasm_bindgen::JsCast;
use wasm_bindgen_futures::JsFuture;

/// Fetches a text file of the site, by its path relative to the page.
///
/// # Errors
/// A sentence with the path and what went wrong.
pub(crate) async fn text(path: &str) -> Result<String, String> {
    let window = web_sys::window().ok_or_else(|| String::from("no window"))?;
    let failed = |what: &str| format!("{path}: {what}");
    let mut answer = JsFuture::from(window.fetch_with_str(path)).await;
    for _ in 0..RETRIES {
        // A connection that was closed at the wrong moment; the next one is another.
        if answer.is_ok() {
            break;
        }
        answer = JsFuture::from(window.fetch_with_str(path)).await;
    }
    let response = answer.map_err(|_js| failed("no connection, and no copy is kept"))?;
    let response: web_sys::Response = response
        .dyn_into()
        .map_err(|_js| failed("an answer of an unknown kind"))?;
    if !response.ok() {
        return Err(failed(&format!(
            "the server answered {}",
            response.status()
        )));
    }
    let promise = response.text().map_err(|_js| failed("unreadable"))?;
    let text = JsFuture::from(promise)
        .await
        .map_err(|_js| failed("broken off"))?;
    text.as_string().ok_or_else(|| failed("no text"))
}

/// How often a request without any answer is sent again.
const RETRIES: u32 = 2;
