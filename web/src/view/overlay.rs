//! What lies over the page, and the files of a run.

use super::control::Press;
use super::icon::{Icon, icon};
use super::other::KeyList;
use super::{use_send, use_words};
use crate::model::msg::Msg;
use crate::model::ui::Sheet;
use yew::TargetCast as _;
use yew::prelude::{
    Callback, Html, KeyboardEvent, Properties, component, html, use_callback, use_effect_with,
    use_node_ref,
};

/// What a [`SheetView`] shows.
#[derive(Clone, Debug, PartialEq, Properties)]
pub(crate) struct SheetProps {
    /// Which.
    pub(crate) sheet: Sheet,
    /// The link to the run.
    #[prop_or_default]
    pub(crate) link: String,
}

/// A box over the page. It takes the focus, keeps it, and gives it back.
#[component]
pub(crate) fn SheetView(props: &SheetProps) -> Html {
    let words = use_words();
    let send = use_send();
    let node = use_node_ref();
    {
        let node = node.clone();
        use_effect_with((), move |()| {
            let before = focused();
            if let Some(element) = node.cast::<web_sys::HtmlElement>() {
                element.focus().ok();
            }
            move || {
                if let Some(element) = before {
                    element.focus().ok();
                }
            }
        });
    }
    let onkeydown = use_callback(send, |event: KeyboardEvent, send: &Callback<Msg>| {
        if event.key() == "Escape" {
            event.stop_propagation();
            send.emit(Msg::SetSheet(None));
        }
    });
    let title = match props.sheet {
        Sheet::Keys => words.t("keys.title"),
        Sheet::Link => words.t("share.title"),
    };
    html! {
        <div class="veil">
            <div class="sheet" role="dialog" aria-modal="true" aria-label={title.clone()} tabindex="-1"
                ref={node} {onkeydown} data-test="sheet">
                <div class="sheet-head"><h2>{ title }</h2>
                    <Press class="tool" msg={Msg::SetSheet(None)} icon={Icon::Close} name={words.t("notice.dismiss")} test="sheet-close" />
                </div>
                { match props.sheet {
                    Sheet::Keys => html! { <KeyList /> },
                    Sheet::Link => html! {
                        <>
                            <p>{ words.t("share.by-hand") }</p>
                            <textarea readonly=true rows="4" aria-label={words.t("share.title")} data-test="share-link"
                                value={props.link.clone()} />
                        </>
                    },
                } }
            </div>
        </div>
    }
}

fn focused() -> Option<web_sys::HtmlElement> {
    use wasm_bindgen::JsCast;
    web_sys::window()?
        .document()?
        .active_element()?
        .dyn_into()
        .ok()
}

/// Download and upload of the recording.
#[component]
pub(crate) fn Files() -> Html {
    let words = use_words();
    let send = use_send();
    let onchange = use_callback(send, |event: yew::Event, send: &Callback<Msg>| {
        let Some(input) = event.target_dyn_into::<web_sys::HtmlInputElement>() else {
            return;
        };
        let send = send.clone();
        wasm_bindgen_futures::spawn_local(async move {
            if let Some(text) = crate::platform::download::read_chosen(&input).await {
                send.emit(Msg::Upload(text));
            }
        });
    });
    html! {
        <section class="files" aria-label={words.t("files.label")}>
            <Press class="btn quiet small" icon={Icon::Download} msg={Msg::Download} text={words.t("files.download")} test="download" />
            <label class="btn quiet small file">
                { icon(Icon::Upload) }<span>{ words.t("files.upload") }</span>
                <input type="file" accept=".txt,text/plain" {onchange} data-test="upload" />
            </label>
        </section>
    }
}
