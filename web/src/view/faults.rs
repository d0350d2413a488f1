//! Tools that break and mend what is selected.

use super::control::{Choice, Pick, Press};
use super::{count_render, use_send, use_words};
use crate::model::msg::Msg;
use crate::model::panels::Faults;
use crate::model::ui::RecordForm;
use std::rc::Rc;
use terrarium_core::kernel::time::Span;
use yew::TargetCast as _;
use yew::prelude::{
    Callback, Html, InputEvent, Properties, SubmitEvent, component, html, use_callback,
};

/// What the [`FaultTools`] show.
#[derive(Clone, Debug, PartialEq, Properties)]
pub(crate) struct FaultProps {
    /// What can be done.
    pub(crate) faults: Rc<Faults>,
    /// How long a pause is.
    pub(crate) pause: Span,
    /// What the action line holds.
    pub(crate) action: String,
    /// The record form.
    pub(crate) record: RecordForm,
    /// Why the last action was impossible.
    pub(crate) refusal: Option<Rc<str>>,
}

/// How long a pause may be chosen to be, in milliseconds.
pub(crate) const PAUSES_MS: [i64; 8] = [100, 400, 600, 1_000, 5_000, 20_000, 60_000, 300_000];

/// Tools for what is selected, and the form for a record.
#[component]
pub(crate) fn FaultTools(props: &FaultProps) -> Html {
    count_render();
    let words = use_words();
    let faults = &props.faults;
    if faults.target.is_empty() && !faults.can_send && faults.actions.is_empty() {
        return Html::default();
    }
    let has_pause = faults
        .tools
        .iter()
        .any(|tool| matches!(tool.name, "pause" | "delay"));
    html! {
        <section class="faults" aria-label={words.t("faults.label")} data-test="faults">
            if faults.target.is_empty() {
                <p class="note">{ words.t("faults.select-first") }</p>
            } else {
                <h3>{ words.text("faults.of", &[("name", &faults.target)]) }</h3>
                <div class="row">
                    { for faults.tools.iter().map(|tool| html! {
                        <Press key={tool.name} class="btn small tool-button" msg={Msg::Act(tool.command.clone())}
                            text={words.t(tool_key(tool.name))}
                            refusal={tool.refusal.clone().map(yew::AttrValue::from)}
                            test={format!("fault-{}", tool.name)} />
                    }) }
                    if has_pause {
                        <Pick name={words.t("faults.pause-length")} test="pause-length" choices={pauses(props.pause)} />
                    }
                </div>
            }
            if !faults.actions.is_empty() {
                <ActionLine action={props.action.clone()} faults={Rc::clone(&props.faults)} />
            }
            if faults.can_send {
                <RecordFields record={props.record.clone()} topics={faults.topics.clone()} />
            }
            <p class="refusal" role="alert" data-test="refusal">
                if let Some(refusal) = &props.refusal { { refusal } }
            </p>
        </section>
    }
}

/// The key of a tool's name.
pub(crate) fn tool_key(name: &str) -> &'static str {
    match name {
        "kill" => "faults.kill",
        "restart" => "faults.restart",
        "pause" => "faults.pause",
        "start" => "faults.start",
        "power-loss" => "faults.power-loss",
        "drop" => "faults.drop",
        "delay" => "faults.delay",
        _ => "faults.stop",
    }
}

fn pauses(now: Span) -> Vec<Choice> {
    PAUSES_MS
        .into_iter()
        .map(Span::from_millis)
        .map(|span| Choice {
            text: crate::scene::words::span(span),
            msg: Msg::SetPause(span),
            is_on: span == now,
        })
        .collect()
}

#[derive(Clone, Debug, PartialEq, Properties)]
struct ActionProps {
    action: String,
    faults: Rc<Faults>,
}

/// Any action, as it is written in lessons and links.
#[component]
fn ActionLine(props: &ActionProps) -> Html {
    let words = use_words();
    let send = use_send();
    let onsubmit = use_callback(send.clone(), |event: SubmitEvent, send: &Callback<Msg>| {
        event.prevent_default();
        send.emit(Msg::TakeAction);
    });
    let oninput = use_callback(send, |event: InputEvent, send: &Callback<Msg>| {
        if let Some(input) = event.target_dyn_into::<web_sys::HtmlInputElement>() {
            send.emit(Msg::TypeAction(input.value()));
        }
    });
    html! {
        <form class="record" aria-label={words.t("faults.action")} {onsubmit}>
            <div class="row fields-row">
                <label class="wide"><span>{ words.t("faults.action") }</span>
                    <input type="text" list="actions" autocomplete="off" autocapitalize="off" spellcheck="false"
                        placeholder={words.t("faults.action-example")} data-test="action"
                        value={props.action.clone()} {oninput} />
                </label>
                <button type="submit" class="btn small" data-test="action-do">{ words.t("faults.do") }</button>
            </div>
            <datalist id="actions">
                { for props.faults.actions.iter().map(|info| html! {
                    <option key={info.verb} value={format!("{} ", info.verb)}>{ info.arguments }</option>
                }) }
            </datalist>
        </form>
    }
}

#[derive(Clone, Debug, PartialEq, Properties)]
struct RecordProps {
    record: RecordForm,
    topics: Vec<String>,
}

/// A record of the console producer: topic, key, value, partition.
#[component]
fn RecordFields(props: &RecordProps) -> Html {
    let words = use_words();
    let send = use_send();
    let onsubmit = use_callback(send, |event: SubmitEvent, send: &Callback<Msg>| {
        event.prevent_default();
        send.emit(Msg::SendRecord);
    });
    let topics = props
        .topics
        .iter()
        .enumerate()
        .map(|(place, topic)| Choice {
            text: topic.clone(),
            msg: Msg::EditRecord(RecordForm {
                topic: topic.clone(),
                ..props.record.clone()
            }),
            is_on: props.record.topic == *topic || (props.record.topic.is_empty() && place == 0),
        });
    let preset = |value: &str| {
        Msg::EditRecord(RecordForm {
            value: value.to_owned(),
            ..props.record.clone()
        })
    };
    html! {
        <form class="record" aria-label={words.t("faults.record")} {onsubmit}>
            <h3>{ words.t("faults.record") }</h3>
            <div class="row">
                <Pick name={words.t("faults.topic")} test="record-topic" choices={topics.collect::<Vec<_>>()} />
                <Press class="chip" msg={preset("wait")} text="wait" name={words.t("faults.wait")} test="record-wait" />
                <Press class="chip" msg={preset("crash")} text="crash" name={words.t("faults.crash")} test="record-crash" />
            </div>
            <div class="row fields-row">
                <RecordField part={Part::Key} record={props.record.clone()} />
                <RecordField part={Part::Value} record={props.record.clone()} />
                <RecordField part={Part::Partition} record={props.record.clone()} />
                <button type="submit" class="btn small" data-test="record-send">{ words.t("faults.send") }</button>
            </div>
        </form>
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Part {
    Key,
    Value,
    Partition,
}

#[derive(Clone, Debug, PartialEq, Properties)]
struct RecordFieldProps {
    part: Part,
    record: RecordForm,
}

#[component]
fn RecordField(props: &RecordFieldProps) -> Html {
    let words = use_words();
    let send = use_send();
    let oninput = use_callback(
        (props.part, props.record.clone(), send),
        |event: InputEvent, (part, record, send): &(Part, RecordForm, Callback<Msg>)| {
            let Some(input) = event.target_dyn_into::<web_sys::HtmlInputElement>() else {
                return;
            };
            let mut record = record.clone();
            match part {
                Part::Key => record.key = input.value(),
                Part::Value => record.value = input.value(),
                Part::Partition => record.partition = input.value(),
            }
            send.emit(Msg::EditRecord(record));
        },
    );
    let (key, test, value) = match props.part {
        Part::Key => ("faults.key", "record-key", &props.record.key),
        Part::Value => ("faults.value", "record-value", &props.record.value),
        Part::Partition => (
            "faults.partition",
            "record-partition",
            &props.record.partition,
        ),
    };
    let mode = if props.part == Part::Partition {
        "numeric"
    } else {
        "text"
    };
    html! {
        <label><span>{ words.t(key) }</span>
            <input type="text" inputmode={mode} autocomplete="off" spellcheck="false" data-test={test}
                value={value.clone()} {oninput} />
        </label>
    }
}
