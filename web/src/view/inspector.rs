//! The panel on the right: everything about what is selected.

use super::control::{Choice, Pick, Press};
use super::{count_render, use_send, use_words};
use crate::model::msg::Msg;
use crate::model::panels::{EventRow, Faults, Inspector, Rule};
use std::rc::Rc;
use yew::TargetCast as _;
use yew::prelude::{Callback, Html, InputEvent, Properties, component, html, use_callback};

/// What the [`InspectorPanel`] shows.
#[derive(Clone, Debug, PartialEq, Properties)]
pub(crate) struct InspectorProps {
    /// What is known of the selected thing.
    pub(crate) inspector: Rc<Inspector>,
    /// What there is to select.
    pub(crate) faults: Rc<Faults>,
}

/// The list of things to select, and the name of what is selected.
#[component]
pub(crate) fn InspectorHead(props: &InspectorProps) -> Html {
    count_render();
    let words = use_words();
    let shown = &props.inspector;
    html! {
        <>
            <div class="inspect-head">
                <h2>{ words.t("inspect.selected") }</h2>
                <Pick name={words.t("inspect.select")} test="select-node" choices={choices(props, &words)} class="grow" />
            </div>
            if shown.title.is_empty() {
                <p class="note" data-test="inspect-empty">{ words.t("inspect.empty") }</p>
            } else {
                <h3 class="inspect-title" data-test="inspect-title">{ &shown.title }
                    if !shown.subtitle.is_empty() { <small>{ &shown.subtitle }</small> }
                </h3>
            }
        </>
    }
}

/// What a panel about the selected thing is made from.
#[derive(Clone, Debug, PartialEq, Properties)]
pub(crate) struct DetailsProps {
    /// What is known of the selected thing.
    pub(crate) inspector: Rc<Inspector>,
    /// Whether the engine's whole state is open.
    pub(crate) is_deep: bool,
    /// What is looked for in the selected replica's log.
    #[prop_or_default]
    pub(crate) asked: String,
}

/// Timers, causes, fields, settings, events and log of what is selected.
#[component]
pub(crate) fn InspectorDetails(props: &DetailsProps) -> Html {
    count_render();
    let shown = &props.inspector;
    html! {
        <>
            <Timers inspector={Rc::clone(shown)} />
            <Why inspector={Rc::clone(shown)} />
            if let Some(steps) = &shown.lookup {
                <LookUp asked={props.asked.clone()} steps={Rc::clone(steps)} />
            }
            <Fields inspector={Rc::clone(shown)} />
            <Events title={if shown.title.is_empty() { "inspect.main-events" } else { "inspect.events" }}
                rows={Rc::clone(&shown.events)} test="events" />
            <Log rows={Rc::clone(&shown.log)} />
            <Settings inspector={Rc::clone(shown)} />
            if !shown.title.is_empty() {
                <Deep fields={Rc::clone(&shown.deep)} is_open={props.is_deep} />
            }
        </>
    }
}

fn choices(props: &InspectorProps, words: &crate::i18n::Catalog) -> Vec<Choice> {
    let title = &props.inspector.title;
    let known = props.faults.nodes.iter().any(|(_, name)| name == title);
    let nothing = if title.is_empty() || known {
        words.t("inspect.nothing")
    } else {
        title.clone()
    };
    let first = Choice {
        text: nothing,
        msg: Msg::Select(None),
        is_on: !known,
    };
    let nodes = props.faults.nodes.iter().map(|(selection, name)| Choice {
        text: name.clone(),
        msg: Msg::Select(Some(selection.clone())),
        is_on: name == title,
    });
    std::iter::once(first).chain(nodes).collect()
}

#[derive(Clone, Debug, PartialEq, Properties)]
struct PartProps {
    inspector: Rc<Inspector>,
}

/// Pending timers as bars that drain.
#[component]
fn Timers(props: &PartProps) -> Html {
    let words = use_words();
    let timers = &props.inspector.timers;
    if timers.is_empty() {
        return Html::default();
    }
    html! {
        <section aria-label={words.t("inspect.timers")} data-test="timers">
            <h3>{ words.t("inspect.timers") }</h3>
            <ul class="timers">
                { for timers.iter().map(|timer| html! {
                    <li key={timer.name.clone()}>
                        <code>{ &timer.name }</code><span class="num">{ &timer.left }</span>
                        if let Some(command) = &timer.expire {
                            <Press class="link expire" msg={Msg::Act(command.clone())} text={words.t("inspect.expire")}
                                name={words.text("inspect.expire-name", &[("timer", &timer.name)])} test="expire" />
                        }
                        <i class="bar" aria-hidden="true"><b style={format!("width:{}%", timer.percent)}></b></i>
                    </li>
                }) }
            </ul>
        </section>
    }
}

/// The chain of causes, and the rule behind its end.
#[component]
fn Why(props: &PartProps) -> Html {
    let words = use_words();
    let why = &props.inspector.why;
    if why.is_empty() {
        return Html::default();
    }
    html! {
        <section aria-label={words.t("inspect.why")} data-test="why">
            <h3>{ words.t("inspect.why") }</h3>
            <ol class="why">
                { for why.iter().map(|row| html! { <EventLine key={row.index} row={row.clone()} test="why-link" /> }) }
            </ol>
            if let Some(rule) = &props.inspector.rule {
                { rule_line(rule, &words) }
            }
        </section>
    }
}

fn rule_line(rule: &Rule, words: &crate::i18n::Catalog) -> Html {
    let key = format!("rule.{}", rule.event);
    let text = if words.has(&key) {
        words.t(&key)
    } else {
        rule.doc.trim().to_owned()
    };
    html! {
        <p class="note" data-test="rule">
            { words.t("inspect.rule") }{ " " }{ text }{ " " }<code>{ rule.source }</code>
            { for rule.kips.iter().map(|kip| html! {
                <>{ " " }<a href={format!("https://cwiki.apache.org/confluence/display/KAFKA/KIP-{kip}")}
                    rel="noreferrer" target="_blank">{ format!("KIP-{kip}") }</a></>
            }) }
        </p>
    }
}

/// A tree of fields.
fn field_tree(fields: &[crate::model::panels::Field]) -> Html {
    html! {
        <dl class="tree">
            { for fields.iter().enumerate().map(|(place, field)| html! {
                <div key={place} style={format!("padding-left:{}px", u32::from(field.depth) * 9)}>
                    <dt>{ breakable(&field.name) }</dt><dd>{ &field.value }</dd>
                </div>
            }) }
        </dl>
    }
}

/// A name that may go on in the next line after each underscore or dot.
fn breakable(name: &str) -> Html {
    let pieces = name.split_inclusive(['_', '.', '-']);
    pieces.map(|piece| html! { <>{ piece }<wbr/></> }).collect()
}

#[component]
fn Fields(props: &PartProps) -> Html {
    let words = use_words();
    let fields = &props.inspector.fields;
    if fields.is_empty() {
        return Html::default();
    }
    html! {
        <details class="fields" open=true data-test="fields">
            <summary>{ words.t("inspect.fields") }</summary>
            { field_tree(fields) }
        </details>
    }
}

#[derive(Clone, Debug, PartialEq, Properties)]
struct LookUpProps {
    asked: String,
    steps: Rc<Vec<String>>,
}

/// Finds an offset or a time in the files of a replica, step by step.
#[component]
fn LookUp(props: &LookUpProps) -> Html {
    let words = use_words();
    let send = use_send();
    let oninput = use_callback(send, |event: InputEvent, send: &Callback<Msg>| {
        if let Some(input) = event.target_dyn_into::<web_sys::HtmlInputElement>() {
            send.emit(Msg::LookUp(input.value()));
        }
    });
    html! {
        <section class="record" aria-label={words.t("lookup.label")} data-test="lookup">
            <div class="row fields-row">
                <label class="wide"><span>{ words.t("lookup.label") }</span>
                    <input type="text" autocomplete="off" autocapitalize="off" spellcheck="false"
                        placeholder={words.t("lookup.example")} data-test="lookup-for"
                        value={props.asked.clone()} {oninput} />
                </label>
            </div>
            if !props.steps.is_empty() {
                <ol class="why" aria-live="polite" data-test="lookup-steps">
                    { for props.steps.iter().enumerate().map(|(place, step)| html! { <li key={place}>{ step }</li> }) }
                </ol>
            }
        </section>
    }
}

#[derive(Clone, Debug, PartialEq, Properties)]
struct DeepProps {
    fields: Rc<Vec<crate::model::panels::Field>>,
    is_open: bool,
}

/// The engine's whole state, read only while it is open.
#[component]
fn Deep(props: &DeepProps) -> Html {
    let words = use_words();
    html! {
        <section class="fields deep">
            <Press class="link" msg={Msg::SetDeep(!props.is_open)} pressed={props.is_open} test="deep"
                text={words.t(if props.is_open { "inspect.deep-close" } else { "inspect.deep-open" })} />
            if props.is_open { { field_tree(&props.fields) } }
        </section>
    }
}

#[component]
fn Settings(props: &PartProps) -> Html {
    let words = use_words();
    let settings = &props.inspector.settings;
    if settings.is_empty() {
        return Html::default();
    }
    html! {
        <details class="fields" data-test="inspect-settings">
            <summary>{ words.t("inspect.settings") }</summary>
            <dl class="tree">
                { for settings.iter().map(|setting| html! {
                    <div key={setting.name} title={setting.doc}><dt>{ breakable(setting.name) }</dt><dd>{ &setting.value }</dd></div>
                }) }
            </dl>
        </details>
    }
}

#[derive(Clone, Debug, PartialEq, Properties)]
struct EventsProps {
    title: &'static str,
    rows: Rc<Vec<EventRow>>,
    test: &'static str,
}

/// Recent events, newest first.
#[component]
fn Events(props: &EventsProps) -> Html {
    let words = use_words();
    if props.rows.is_empty() {
        return Html::default();
    }
    html! {
        <section aria-label={words.t(props.title)} data-test={props.test}>
            <h3>{ words.t(props.title) }</h3>
            <ol class="why">
                { for props.rows.iter().map(|row| html! { <EventLine key={row.index} row={row.clone()} test="event-link" /> }) }
            </ol>
        </section>
    }
}

#[derive(Clone, Debug, PartialEq, Properties)]
struct EventLineProps {
    row: EventRow,
    test: &'static str,
}

/// An event: its time is a link that takes the playhead there.
#[component]
fn EventLine(props: &EventLineProps) -> Html {
    let words = use_words();
    let at = props.row.at.to_string();
    html! {
        <li>
            <Press class="link time" msg={Msg::SeekEntry(props.row.index)} text={at.clone()}
                name={words.text("inspect.seek", &[("at", &at), ("text", &props.row.text)])} test={props.test} />
            { " " }{ &props.row.text }
        </li>
    }
}

#[derive(Clone, Debug, PartialEq, Properties)]
struct LogProps {
    rows: Rc<Vec<EventRow>>,
}

/// The lines that the process has written to its log.
#[component]
fn Log(props: &LogProps) -> Html {
    let words = use_words();
    if props.rows.is_empty() {
        return Html::default();
    }
    html! {
        <section aria-label={words.t("inspect.log")} data-test="log">
            <h3>{ words.t("inspect.log") }</h3>
            <div class="log">
                { for props.rows.iter().map(|row| html! {
                    <p key={row.index}><b>{ row.at.to_string() }</b>{ " " }{ &row.text }</p>
                }) }
            </div>
        </section>
    }
}
