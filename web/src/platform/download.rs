//! Files to and from the person's disk.

use wasm_bindgen::{JsCast, JsValue};
use wasm_bindgen_futures::JsFuture;

/// Offers `text` as a file called `name`.
///
/// # Errors
/// The browser refuses; nothing was offered.
pub(crate) fn offer(name: &str, text: &str) -> Result<(), JsValue> {
    let parts = js_sys::Array::of1(&JsValue::from_str(text));
    let options = web_sys::BlobPropertyBag::new();
    options.set_type("text/plain");
    let blob = web_sys::Blob::new_with_str_sequence_and_options(&parts, &options)?;
    let address = web_sys::Url::create_object_url_with_blob(&blob)?;
    let document = web_sys::window().and_then(|window| window.document());
    if let Some(document) = document {
        let link: web_sys::HtmlAnchorElement = document.create_element("a")?.unchecked_into();
        link.set_href(&address);
        link.set_download(name);
        link.click();
    }
    web_sys::Url::revoke_object_url(&address)
}

/// The text of the first file that a file field holds.
pub(crate) async fn read_chosen(input: &web_sys::HtmlInputElement) -> Option<String> {
    let file = input.files()?.get(0)?;
    let text = JsFuture::from(file.text()).await.ok()?;
    // The same file may be chosen again after a mistake in it is put right.
    input.set_value("");
    text.as_string()
}
