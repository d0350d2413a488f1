//! Telling when an element changes its size.

use std::fmt;
use wasm_bindgen::JsCast;
use wasm_bindgen::closure::Closure;
use web_sys::{Element, ResizeObserver};

/// Calls a function whenever an element's size changes, until it is dropped.
pub(crate) struct ResizeWatch {
    observer: Option<ResizeObserver>,
    _on_change: Closure<dyn FnMut()>,
}

impl ResizeWatch {
    /// Starts to watch `element`.
    pub(crate) fn start(element: &Element, on_change: impl FnMut() + 'static) -> Self {
        let on_change = Closure::new(on_change);
        let observer = ResizeObserver::new(on_change.as_ref().unchecked_ref()).ok();
        if let Some(observer) = &observer {
            observer.observe(element);
        }
        Self {
            observer,
            _on_change: on_change,
        }
    }
}

impl Drop for ResizeWatch {
    fn drop(&mut self) {
        if let Some(observer) = &self.observer {
            observer.disconnect();
        }
    }
}

impl fmt::Debug for ResizeWatch {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("ResizeWatch")
            .finish_non_exhaustive()
    }
}
