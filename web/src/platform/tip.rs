//! Two places that are written outside Yew: the line beside the pointer, and what a screen reader
//! is told.

use wasm_bindgen::JsCast;
use web_sys::{Element, HtmlElement};

/// Shows `text` beside a place of an element; the empty text hides it.
pub(crate) fn show(text: &str, over: &Element, x: f64, y: f64) {
    let Some(tip) = by_id("tip").and_then(|tip| tip.dyn_into::<HtmlElement>().ok()) else {
        return;
    };
    tip.set_hidden(text.is_empty());
    if text.is_empty() {
        return;
    }
    tip.set_text_content(Some(text));
    let frame = over.get_bounding_client_rect();
    let (left, top) = (frame.left() + x, frame.top() + y);
    // It stays within the window, and out of the pointer's way.
    let width = f64::from(tip.offset_width());
    let height = f64::from(tip.offset_height());
    let room = web_sys::window().and_then(|window| window.inner_width().ok()?.as_f64());
    let left = (left + 14.0)
        .min(room.unwrap_or(1e4) - width - 8.0)
        .max(8.0);
    let top = if top + 18.0 + height < view_height() {
        top + 18.0
    } else {
        top - height - 12.0
    };
    let style = tip.style();
    style.set_property("left", &format!("{left:.0}px")).ok();
    style.set_property("top", &format!("{top:.0}px")).ok();
}

/// Hides the line beside the pointer.
pub(crate) fn hide() {
    if let Some(tip) = by_id("tip").and_then(|tip| tip.dyn_into::<HtmlElement>().ok()) {
        tip.set_hidden(true);
    }
}

/// Has a screen reader say `text`, after what it is saying.
pub(crate) fn announce(text: &str) {
    let Some(place) = by_id("narration") else {
        return;
    };
    let Some(document) = place.owner_document() else {
        return;
    };
    if let Ok(line) = document.create_element("p") {
        line.set_text_content(Some(text));
        place.append_child(&line).ok();
    }
    while NARRATED < place.child_element_count() {
        match place.first_element_child() {
            Some(oldest) => oldest.remove(),
            None => break,
        }
    }
}

/// Lines that the narration keeps.
const NARRATED: u32 = 12;

fn view_height() -> f64 {
    web_sys::window()
        .and_then(|window| window.inner_height().ok()?.as_f64())
        .unwrap_or(1e4)
}

fn by_id(id: &str) -> Option<Element> {
    web_sys::window()?.document()?.get_element_by_id(id)
}
