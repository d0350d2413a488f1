//! The one frame loop of the page.

use std::cell::{Cell, RefCell};
use std::fmt;
use std::rc::Rc;
use wasm_bindgen::JsCast;
use wasm_bindgen::closure::Closure;

type Tick = RefCell<Option<Closure<dyn FnMut(f64)>>>;

/// Calls a function before each repaint of the browser, until it is dropped.
pub(crate) struct FrameLoop {
    id: Rc<Cell<Option<i32>>>,
    /// One closure, used again for each frame. It holds only a weak reference to itself, so that
    /// dropping the loop frees it.
    _tick: Rc<Tick>,
}

impl FrameLoop {
    /// Starts to call `frame` with the timestamp of each repaint in milliseconds.
    pub(crate) fn start(mut frame: impl FnMut(f64) + 'static) -> Self {
        let id = Rc::new(Cell::new(None));
        let tick: Rc<Tick> = Rc::new(RefCell::new(None));
        let (next_id, next_tick) = (Rc::clone(&id), Rc::downgrade(&tick));
        *tick.borrow_mut() = Some(Closure::new(move |now_ms: f64| {
            next_id.set(None);
            frame(now_ms);
            // The loop may have been dropped by what `frame` did.
            if let Some(tick) = next_tick.upgrade() {
                next_id.set(request(&tick));
            }
        }));
        id.set(request(&tick));
        Self { id, _tick: tick }
    }
}

fn request(tick: &Tick) -> Option<i32> {
    let tick = tick.borrow();
    let callback = tick.as_ref()?.as_ref().unchecked_ref();
    web_sys::window()?.request_animation_frame(callback).ok()
}

impl Drop for FrameLoop {
    fn drop(&mut self) {
        if let (Some(id), Some(window)) = (self.id.take(), web_sys::window()) {
            window.cancel_animation_frame(id).ok();
        }
    }
}

impl fmt::Debug for FrameLoop {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("FrameLoop")
            .field("id", &self.id)
            .finish_non_exhaustive()
    }
}
