//! The line at the bottom: time.

use super::control::{Choice, Pick, Press};
use super::icon::Icon;
use super::picture::Canvas;
use super::{count_render, use_send, use_words};
use crate::driver::speed::Speed;
use crate::model::msg::Msg;
use crate::model::panels::{BranchRow, Clock};
use crate::model::ui::StepUnit;
use crate::paint::stage::Picture;
use std::rc::Rc;
use terrarium_core::kernel::time::{SimTime, Span};
use yew::prelude::{Callback, Html, KeyboardEvent, Properties, component, html, use_callback};

/// What the [`Transport`] shows.
#[derive(Clone, Debug, PartialEq, Properties)]
pub(crate) struct TransportProps {
    /// The clock.
    pub(crate) clock: Clock,
    /// How fast time goes.
    pub(crate) speed: Speed,
    /// What a step is.
    pub(crate) unit: StepUnit,
    /// Whether something is selected, whose changes can be steps.
    pub(crate) has_selection: bool,
    /// Runs that were left for another future.
    pub(crate) branches: Rc<Vec<BranchRow>>,
}

/// Play, pause, step, speed, clock and scrubber. Every control keeps its place.
#[component]
pub(crate) fn Transport(props: &TransportProps) -> Html {
    count_render();
    let words = use_words();
    let clock = &props.clock;
    let (play_icon, play_name) = if clock.is_playing {
        (Icon::Pause, words.t("transport.pause"))
    } else {
        (Icon::Play, words.t("transport.play"))
    };
    let waits = clock.awaits.map(|_| words.t("notice.answer-first"));
    let unit = words.t(unit_key(props.unit));
    html! {
        <footer class="transport" aria-label={words.t("transport.label")}>
            <div class="keys" role="group" aria-label={words.t("transport.label")}>
                <Press class="key" msg={Msg::ToStart} icon={Icon::Start} name={words.t("transport.to-start")} test="to-start" />
                <Press class="key" msg={Msg::StepBack} icon={Icon::Back} name={words.t("transport.step-back")} test="step-back" />
                <Press class="key play" msg={Msg::Toggle} icon={play_icon} name={play_name} refusal={waits.clone()} test="play" />
                <Press class="key" msg={Msg::Step} icon={Icon::Step}
                    name={words.text("transport.step", &[("unit", &unit)])} refusal={waits} test="step" />
                <Press class="key" msg={Msg::ToHorizon} icon={Icon::End} name={words.t("transport.to-horizon")} test="to-end" />
            </div>
            <output class="clock" data-test="clock" aria-live="off">{ clock.now.to_string() }</output>
            <Scrubber now={clock.now} end={clock.end} horizon={clock.horizon} />
            <div class="settings">
                <label><span>{ words.t("transport.unit") }</span>
                    <Pick name={words.t("transport.unit-name")} test="unit" choices={units(props, &words)} />
                </label>
                <label><span>{ words.t("transport.speed") }</span>
                    <Pick name={words.t("transport.speed-name")} test="speed" choices={speeds(props.speed)} />
                </label>
                if !props.branches.is_empty() {
                    <label><span>{ words.t("transport.branch") }</span>
                        <Pick name={words.t("transport.branch-name")} test="branch" choices={branches(props, &words)} />
                    </label>
                }
            </div>
        </footer>
    }
}

/// The key of a unit's name.
pub(crate) const fn unit_key(unit: StepUnit) -> &'static str {
    match unit {
        StepUnit::Event => "transport.event",
        StepUnit::Message => "transport.message",
        StepUnit::Change => "transport.change",
    }
}

fn units(props: &TransportProps, words: &crate::i18n::Catalog) -> Vec<Choice> {
    StepUnit::ALL
        .into_iter()
        .map(|unit| Choice {
            text: words.t(unit_key(unit)),
            msg: Msg::SetUnit(unit),
            is_on: props.unit == unit,
        })
        .collect()
}

fn speeds(now: Speed) -> Vec<Choice> {
    Speed::ALL
        .into_iter()
        .map(|speed| Choice {
            text: speed.label(),
            msg: Msg::SetSpeed(speed),
            is_on: speed == now,
        })
        .collect()
}

/// The current run first, then what was left.
fn branches(props: &TransportProps, words: &crate::i18n::Catalog) -> Vec<Choice> {
    let current = Choice {
        text: words.t("transport.branch-current"),
        msg: Msg::Done,
        is_on: true,
    };
    let left = props.branches.iter().map(|branch| {
        let at = branch.forked_at.to_string();
        let count = branch.actions.to_string();
        Choice {
            text: words.text("transport.branch-left", &[("at", &at), ("count", &count)]),
            msg: Msg::SwitchBranch(branch.index),
            is_on: false,
        }
    });
    std::iter::once(current).chain(left).collect()
}

#[derive(Clone, Debug, PartialEq, Eq, Properties)]
struct ScrubberProps {
    now: SimTime,
    end: SimTime,
    horizon: SimTime,
}

/// The line of time. To a keyboard and to a screen reader it is a slider.
#[component]
fn Scrubber(props: &ScrubberProps) -> Html {
    let words = use_words();
    let send = use_send();
    let onkeydown = use_callback(
        (props.clone(), send),
        |event: KeyboardEvent, (props, send): &(ScrubberProps, Callback<Msg>)| {
            let Some(to) = slide(props, &event.key(), event.shift_key()) else {
                return;
            };
            event.prevent_default();
            event.stop_propagation();
            send.emit(Msg::Seek(to));
        },
    );
    html! {
        <div class="scrub" role="slider" tabindex="0" data-test="scrubber"
            aria-label={words.t("transport.scrubber")}
            aria-valuemin="0" aria-valuemax={seconds(props.end)} aria-valuenow={seconds(props.now)}
            aria-valuetext={words.text("transport.at", &[("now", &props.now.to_string()), ("end", &props.end.to_string())])}
            {onkeydown}>
            <Canvas picture={Picture::Scrubber} label="transport.scrubber-picture" test="picture-scrubber" />
        </div>
    }
}

fn seconds(at: SimTime) -> String {
    format!("{}.{:03}", at.0 / 1_000_000, at.0 / 1_000 % 1_000)
}

/// Where a key takes the slider: arrows a hundredth of the run, pages a tenth.
fn slide(props: &ScrubberProps, key: &str, is_far: bool) -> Option<SimTime> {
    let part = |parts: u64| Span((props.end.0 / parts).max(1));
    let small = if is_far { part(10) } else { part(100) };
    let back = |way: Span| SimTime(props.now.0.saturating_sub(way.0));
    let ahead = |way: Span| (props.now + way).min(props.end);
    match key {
        "ArrowLeft" | "ArrowDown" => Some(back(small)),
        "ArrowRight" | "ArrowUp" => Some(ahead(small)),
        "PageDown" => Some(back(part(10))),
        "PageUp" => Some(ahead(part(10))),
        "Home" => Some(SimTime::ZERO),
        "End" => Some(props.horizon),
        _ => None,
    }
}
