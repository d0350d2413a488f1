//! Yew components. They hold no state of the run and decide nothing: small models in, messages out.

#[cfg(all(test, target_arch = "wasm32"))]
mod browser_tests;
mod compare;
pub(crate) mod control;
pub(crate) mod faults;
pub(crate) mod header;
pub(crate) mod home;
pub(crate) mod icon;
pub(crate) mod inspector;
pub(crate) mod lesson;
pub(crate) mod other;
pub(crate) mod overlay;
pub(crate) mod page;
pub(crate) mod picture;
pub(crate) mod stage;
pub(crate) mod table;
#[cfg(all(test, not(target_arch = "wasm32")))]
mod tests;
pub(crate) mod text;
pub(crate) mod transport;

use crate::model::msg::Msg;
use crate::model::ui::Words;
use std::cell::Cell;
use yew::prelude::{Callback, hook, use_context};

/// Where components send their messages. It is made once and never changes.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Send(pub(crate) Callback<Msg>);

/// The words of the page.
#[hook]
pub(crate) fn use_words() -> Words {
    use_context::<Words>().unwrap_or_default()
}

/// Where messages go; nowhere in a component that stands alone.
#[hook]
pub(crate) fn use_send() -> Callback<Msg> {
    use_context::<Send>().map_or_else(Callback::noop, |send| send.0)
}

thread_local! {
    static RENDERS: Cell<u32> = const { Cell::new(0) };
}

/// Counts a render of a panel, in debug builds: playing must not raise it above the panel rate.
pub(crate) fn count_render() {
    if cfg!(debug_assertions) {
        RENDERS.with(|renders| renders.set(renders.get().wrapping_add(1)));
    }
}

/// Renders of panels so far, in debug builds.
pub(crate) fn render_count() -> u32 {
    RENDERS.with(Cell::get)
}
