//! The rest of the program. `cargo xtask dist` keeps what the first picture does without in a second
//! file; `boot.js` fetches it as soon as that picture stands.

use wasm_bindgen::prelude::wasm_bindgen;

#[wasm_bindgen]
extern "C" {
    #[wasm_bindgen(js_namespace = ["window", "terrariumBoot"], js_name = "loadRest")]
    fn load_rest();
}

/// Waits for the rest of the program, if it has one and that has not come yet. The program does so
/// by itself when it comes to a function that is missing; this is for those who would rather wait
/// at once.
#[wasm_bindgen(js_name = "loadRest")]
pub fn load_rest_now() {
    load_rest();
}
