//! The rest of the program. `cargo xtask dist` keeps what the first picture does without in a second
//! file.

use wasm_bindgen::JsValue;
use wasm_bindgen::prelude::wasm_bindgen;

#[wasm_bindgen(module = "/src/platform/rest.js")]
extern "C" {
    #[wasm_bindgen(js_name = loadRest)]
    fn load(program: &JsValue);
    #[wasm_bindgen(js_name = fetchRest)]
    fn fetch(program: &JsValue);
}

/// Waits for the rest of the program, if it comes in two files and that has not come yet. The
/// program calls it by itself before it needs a function of the rest.
#[wasm_bindgen(js_name = loadRest)]
pub fn load_rest() {
    load(&wasm_bindgen::exports());
}

/// Fetches the rest of the program, if it comes in two files, and does not wait for it.
#[wasm_bindgen(js_name = fetchRest)]
pub fn fetch_rest() {
    fetch(&wasm_bindgen::exports());
}
