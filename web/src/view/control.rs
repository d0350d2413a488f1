//! Controls that send one message.

use super::icon::{Icon, icon};
use super::{use_send, use_words};
use crate::model::msg::Msg;
use yew::prelude::{
    AttrValue, Callback, Classes, Html, KeyboardEvent, MouseEvent, Properties, classes, component,
    html, use_callback,
};

/// What a [`Press`] is.
#[derive(Clone, Debug, PartialEq, Properties)]
pub(crate) struct PressProps {
    /// What it sends.
    pub(crate) msg: Msg,
    /// Its words; empty for an icon alone.
    #[prop_or_default]
    pub(crate) text: AttrValue,
    /// An icon before the words.
    #[prop_or_default]
    pub(crate) icon: Option<Icon>,
    /// Its name for a screen reader and on hovering, where the words do not say enough.
    #[prop_or_default]
    pub(crate) name: Option<AttrValue>,
    /// Its look.
    #[prop_or_default]
    pub(crate) class: Classes,
    /// Its mark for tests.
    #[prop_or_default]
    pub(crate) test: Option<AttrValue>,
    /// Why it cannot be used now; it stays where it is and can be focused, to be read.
    #[prop_or_default]
    pub(crate) refusal: Option<AttrValue>,
    /// For a switch: whether it is on.
    #[prop_or_default]
    pub(crate) pressed: Option<bool>,
}

/// A button.
#[component]
pub(crate) fn Press(props: &PressProps) -> Html {
    let send = use_send();
    let is_off = props.refusal.is_some();
    let onclick = use_callback(
        (props.msg.clone(), is_off, send),
        |_: MouseEvent, (msg, is_off, send): &(Msg, bool, Callback<Msg>)| {
            if !is_off {
                send.emit(msg.clone());
            }
        },
    );
    // Words that are seen are the name; a longer one only describes them.
    let has_text = !props.text.is_empty();
    let described = props
        .refusal
        .clone()
        .or_else(|| props.name.clone().filter(|_| has_text));
    let title = props.refusal.clone().or_else(|| props.name.clone());
    html! {
        <button type="button" class={props.class.clone()} data-test={props.test.clone()}
            aria-disabled={is_off.then_some("true")}
            aria-label={props.name.clone().filter(|_| !has_text)}
            aria-description={described}
            aria-pressed={props.pressed.map(|on| if on { "true" } else { "false" })}
            {title} {onclick}>
            if let Some(which) = props.icon { { icon(which) } }
            if !props.text.is_empty() { <span>{ &props.text }</span> }
        </button>
    }
}

/// One of several tabs.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Tab {
    /// What choosing it sends.
    pub(crate) msg: Msg,
    /// The key of its words.
    pub(crate) key: &'static str,
    /// Its name in marks for tests.
    pub(crate) name: &'static str,
    /// Whether it is the chosen one.
    pub(crate) is_on: bool,
    /// How many things it wants to be looked at for; zero for none.
    pub(crate) alarms: usize,
}

/// What [`Tabs`] is.
#[derive(Clone, Debug, PartialEq, Properties)]
pub(crate) struct TabsProps {
    /// The key of the name of the whole.
    pub(crate) label: &'static str,
    /// The tabs.
    pub(crate) tabs: Vec<Tab>,
    /// Its look.
    #[prop_or_default]
    pub(crate) class: Classes,
    /// Before each tab's mark for tests.
    pub(crate) test: &'static str,
}

/// Tabs: one stop for the tab key, arrows move between them, as the ARIA practices have it.
#[component]
pub(crate) fn Tabs(props: &TabsProps) -> Html {
    let words = use_words();
    let send = use_send();
    let onkeydown = use_callback(
        (props.tabs.clone(), send),
        |event: KeyboardEvent, (tabs, send): &(Vec<Tab>, Callback<Msg>)| {
            let place = tabs.iter().position(|tab| tab.is_on).unwrap_or_default();
            let count = tabs.len();
            let next = match event.key().as_str() {
                "ArrowRight" | "ArrowDown" => (place + 1) % count.max(1),
                "ArrowLeft" | "ArrowUp" => (place + count.saturating_sub(1)) % count.max(1),
                "Home" => 0,
                "End" => count.saturating_sub(1),
                _ => return,
            };
            event.prevent_default();
            event.stop_propagation();
            if let Some(tab) = tabs.get(next) {
                send.emit(tab.msg.clone());
                super::picture::focus_nth_child(&event, next);
            }
        },
    );
    html! {
        <div role="tablist" class={classes!("tabs", props.class.clone())}
            aria-label={words.t(props.label)} {onkeydown}>
            { for props.tabs.iter().map(|tab| html! {
                <TabButton key={tab.name} tab={tab.clone()} test={format!("{}-{}", props.test, tab.name)} />
            }) }
        </div>
    }
}

#[derive(Clone, Debug, PartialEq, Properties)]
struct TabButtonProps {
    tab: Tab,
    test: String,
}

#[component]
fn TabButton(props: &TabButtonProps) -> Html {
    let words = use_words();
    let send = use_send();
    let onclick = use_callback(
        (props.tab.msg.clone(), send),
        |_: MouseEvent, (msg, send): &(Msg, Callback<Msg>)| send.emit(msg.clone()),
    );
    let is_on = props.tab.is_on;
    html! {
        <button type="button" role="tab" aria-selected={if is_on { "true" } else { "false" }}
            tabindex={if is_on { "0" } else { "-1" }} data-test={props.test.clone()} {onclick}>
            { words.t(props.tab.key) }
            if 0 < props.tab.alarms {
                { " " }<b class="alarms" data-test="alarms">{ words.text("stage-page.alarms", &[("count", &props.tab.alarms.to_string())]) }</b>
            }
        </button>
    }
}

/// A choice of a [`Pick`].
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Choice {
    /// Its words.
    pub(crate) text: String,
    /// What choosing it sends.
    pub(crate) msg: Msg,
    /// Whether it is the chosen one.
    pub(crate) is_on: bool,
}

/// What a [`Pick`] is.
#[derive(Clone, Debug, PartialEq, Properties)]
pub(crate) struct PickProps {
    /// Its name for a screen reader.
    pub(crate) name: AttrValue,
    /// The choices.
    pub(crate) choices: Vec<Choice>,
    /// Its mark for tests.
    pub(crate) test: &'static str,
    /// Its look.
    #[prop_or_default]
    pub(crate) class: Classes,
}

/// A list to choose from.
#[component]
pub(crate) fn Pick(props: &PickProps) -> Html {
    let send = use_send();
    let onchange = use_callback(
        (props.choices.clone(), send),
        |event: yew::Event, (choices, send): &(Vec<Choice>, Callback<Msg>)| {
            let place = super::picture::selected_index(&event);
            if let Some(choice) = place.and_then(|place| choices.get(place)) {
                send.emit(choice.msg.clone());
            }
        },
    );
    html! {
        <select aria-label={props.name.clone()} title={props.name.clone()} data-test={props.test}
            class={props.class.clone()} {onchange}>
            { for props.choices.iter().enumerate().map(|(place, choice)| html! {
                <option key={place} value={place.to_string()} selected={choice.is_on}>{ &choice.text }</option>
            }) }
        </select>
    }
}
