//! The page: a Yew frontend over the deterministic core.
//!
//! `model` knows what the page shows and decides what follows from a message; `driver` lets time
//! go; `scene` turns a run into shapes and `paint` puts them on canvases; `view` holds the Yew
//! components and `platform` what the browser offers. `app` joins them.

mod app;
mod driver;
mod i18n;
mod model;
mod paint;
mod platform;
mod sandbox;
mod scene;
mod view;

pub use platform::rest::{fetch_rest, load_rest};
pub use sandbox::Sandbox;
use wasm_bindgen::prelude::wasm_bindgen;

/// Starts the page in the element with the id `app`, if there is one.
#[wasm_bindgen]
pub fn start() {
    let document = web_sys::window().and_then(|window| window.document());
    let root = document.and_then(|document| document.get_element_by_id("app"));
    if let Some(root) = root {
        yew::set_custom_panic_hook(Box::new(platform::rescue::hook));
        root.set_inner_html("");
        yew::Renderer::<app::App>::with_root(root).render();
    }
}
