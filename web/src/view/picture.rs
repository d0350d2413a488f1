//! A canvas that is painted outside Yew, and what pointers and keys do on it.

use super::use_words;
use crate::paint::stage::Picture;
use wasm_bindgen::JsCast;
use web_sys::{HtmlCanvasElement, HtmlElement, HtmlSelectElement};
use yew::TargetCast as _;
use yew::prelude::{
    Callback, Html, KeyboardEvent, NodeRef, PointerEvent, Properties, WheelEvent, component, html,
    use_callback, use_context, use_effect_with, use_mut_ref, use_node_ref,
};

/// Something that happens on a canvas. Places are in CSS pixels from its upper left corner.
#[derive(Clone, Debug)]
pub(crate) enum PictureEvent {
    /// The canvas stands in the document.
    Mounted(Picture, HtmlCanvasElement),
    /// It is gone.
    Unmounted(Picture),
    /// The pointer rests or moves on it with no button held.
    Hover(Picture, f64, f64),
    /// The pointer has left it.
    Leave,
    /// It was clicked.
    Click(Picture, f64, f64),
    /// It is dragged along the axis of time: the place, and the way since the last event.
    Drag {
        /// Which.
        picture: Picture,
        /// Where the pointer is.
        x: f64,
        /// The way to the right.
        dx: f64,
    },
    /// The wheel is turned on it.
    Wheel {
        /// Which.
        picture: Picture,
        /// Where the pointer is.
        at: (f64, f64),
        /// The way to the right and down.
        way: (f64, f64),
        /// Whether it zooms: with the control key, or by pinching.
        zooms: bool,
    },
    /// Zoom by a button: in or out, about this place.
    Zoom(Picture, bool, f64),
    /// Show everything again.
    Fit(Picture),
}

/// Where events of canvases go: to the pictures, not through the page's messages. The answer says
/// whether the event was used.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct PicturePort(pub(crate) Callback<PictureEvent, bool>);

/// What a [`Canvas`] is.
#[derive(Clone, Debug, PartialEq, Properties)]
pub(crate) struct CanvasProps {
    /// Which picture.
    pub(crate) picture: Picture,
    /// The key of what it is, for a screen reader.
    pub(crate) label: &'static str,
    /// Its mark for tests.
    pub(crate) test: &'static str,
}

/// How far a pointer may move and still click, in CSS pixels.
const CLICK_WAY: f64 = 4.0;

#[derive(Debug, Default)]
struct Hold {
    last: Option<(f64, f64)>,
    way: f64,
}

/// A canvas. What it shows also stands in the tables, so to a screen reader it is one image.
#[component]
pub(crate) fn Canvas(props: &CanvasProps) -> Html {
    let words = use_words();
    let port = use_context::<PicturePort>();
    let node = use_node_ref();
    let hold = use_mut_ref(Hold::default);
    let picture = props.picture;
    use_mount(&node, picture, port.clone());

    let deps = (port, picture);
    let onpointerdown = {
        let hold = hold.clone();
        use_callback(deps.clone(), move |event: PointerEvent, _| {
            *hold.borrow_mut() = Hold {
                last: Some(place(&event)),
                way: 0.0,
            };
            if let Some(canvas) = event.target_dyn_into::<HtmlElement>() {
                canvas.set_pointer_capture(event.pointer_id()).ok();
            }
        })
    };
    let onpointermove = {
        let hold = hold.clone();
        use_callback(deps.clone(), move |event: PointerEvent, (port, picture)| {
            let (x, y) = place(&event);
            let mut hold = hold.borrow_mut();
            let told = match hold.last {
                None => PictureEvent::Hover(*picture, x, y),
                Some((from_x, from_y)) => {
                    let (dx, dy) = (x - from_x, y - from_y);
                    hold.way += dx.abs() + dy.abs();
                    if hold.way < CLICK_WAY {
                        return;
                    }
                    hold.last = Some((x, y));
                    PictureEvent::Drag {
                        picture: *picture,
                        x,
                        dx,
                    }
                }
            };
            drop(hold);
            tell(port.as_ref(), told);
        })
    };
    let onpointerup = {
        let hold = hold.clone();
        use_callback(deps.clone(), move |event: PointerEvent, (port, picture)| {
            let held = std::mem::take(&mut *hold.borrow_mut());
            if held.last.is_some() && held.way < CLICK_WAY {
                let (x, y) = place(&event);
                tell(port.as_ref(), PictureEvent::Click(*picture, x, y));
            }
        })
    };
    let onpointerleave = use_callback(deps.clone(), |_: PointerEvent, (port, _)| {
        tell(port.as_ref(), PictureEvent::Leave);
    });
    let onpointercancel = use_callback((), move |_: PointerEvent, ()| {
        *hold.borrow_mut() = Hold::default();
    });
    let onwheel = use_callback(deps, |event: WheelEvent, (port, picture)| {
        let told = PictureEvent::Wheel {
            picture: *picture,
            at: (f64::from(event.offset_x()), f64::from(event.offset_y())),
            way: (event.delta_x(), event.delta_y()),
            zooms: event.ctrl_key() || event.meta_key(),
        };
        if tell(port.as_ref(), told) {
            event.prevent_default();
        }
    });
    html! {
        <canvas ref={node} class="picture" role="img" aria-label={words.t(props.label)}
            data-test={props.test} {onpointerdown} {onpointermove} {onpointerup}
            {onpointerleave} {onpointercancel} {onwheel} />
    }
}

/// Tells the pictures of the canvas while it stands in the document.
#[yew::hook]
fn use_mount(node: &NodeRef, picture: Picture, port: Option<PicturePort>) {
    let node = node.clone();
    use_effect_with((picture, port), move |(picture, port)| {
        let (picture, port) = (*picture, port.clone());
        if let Some(canvas) = node.cast::<HtmlCanvasElement>() {
            tell(port.as_ref(), PictureEvent::Mounted(picture, canvas));
        }
        move || {
            tell(port.as_ref(), PictureEvent::Unmounted(picture));
        }
    });
}

fn tell(port: Option<&PicturePort>, event: PictureEvent) -> bool {
    port.is_some_and(|port| port.0.emit(event))
}

fn place(event: &PointerEvent) -> (f64, f64) {
    (f64::from(event.offset_x()), f64::from(event.offset_y()))
}

/// Moves the focus to the n-th child of the element that listens to a key.
pub(crate) fn focus_nth_child(event: &KeyboardEvent, place: usize) {
    let button = event.target_dyn_into::<web_sys::Element>();
    let list = button.and_then(|button| button.closest("[role=tablist],[role=radiogroup]").ok()?);
    let child = list.and_then(|list| {
        let place = u32::try_from(place).ok()?;
        list.query_selector_all("[role=tab],[role=radio]")
            .ok()?
            .item(place)
    });
    if let Some(child) = child.and_then(|child| child.dyn_into::<HtmlElement>().ok()) {
        child.focus().ok();
    }
}

/// Which entry of a list was chosen.
pub(crate) fn selected_index(event: &yew::Event) -> Option<usize> {
    let list = event.target_dyn_into::<HtmlSelectElement>()?;
    usize::try_from(list.selected_index()).ok()
}
