//! The hashes of the core's runs, in the browser.

#![cfg(target_arch = "wasm32")]

#[path = "../../core/tests/digests.rs"]
mod digests;

wasm_bindgen_test::wasm_bindgen_test_configure!(run_in_browser);
