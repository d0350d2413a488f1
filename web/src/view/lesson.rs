//! The panel on the left: what a lesson says and asks.

use super::control::Press;
use super::icon::{Icon, icon};
use super::text::{Rich, line};
use super::{count_render, use_send, use_words};
use crate::i18n::Catalog;
use crate::model::msg::Msg;
use crate::model::panels::{Clock, Goal, Outcome, Panels, Verdict};
use crate::model::ui::{Answer, LessonModel, RunUi};
use std::rc::Rc;
use terrarium_core::kernel::time::SimTime;
use yew::TargetCast as _;
use yew::prelude::{
    Callback, Html, KeyboardEvent, MouseEvent, Properties, classes, component, html, use_callback,
};

/// What the [`LessonPanel`] shows.
#[derive(Clone, Debug, PartialEq, Properties)]
pub(crate) struct LessonProps {
    /// The lesson.
    pub(crate) lesson: Rc<LessonModel>,
    /// The variant that runs.
    pub(crate) variant: Option<String>,
    /// Settings that were changed.
    pub(crate) settings: Vec<(String, String)>,
    /// The answers.
    pub(crate) answers: Vec<Answer>,
    /// What is known of the questions.
    pub(crate) outcomes: Rc<Vec<Outcome>>,
    /// Verdicts of the goals.
    pub(crate) goals: Rc<Vec<Goal>>,
    /// Which hints may be opened.
    pub(crate) hints_allowed: Rc<Vec<bool>>,
    /// How many rungs are open, by goal.
    pub(crate) hints_open: std::collections::BTreeMap<String, u32>,
    /// The step in which the playhead stands.
    pub(crate) step_index: usize,
    /// Whether time goes on.
    pub(crate) pace: Pace,
    /// The text of the end.
    pub(crate) debrief: Rc<str>,
    /// The next lesson.
    pub(crate) next: Option<String>,
}

/// Whether time goes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Pace {
    /// It stands, and can go on.
    Stands,
    /// It goes on.
    Plays,
    /// It waits for an answer.
    Asks,
    /// The run is over.
    Over,
}

impl Pace {
    fn of(clock: &Clock) -> Self {
        if clock.is_playing {
            Self::Plays
        } else if clock.awaits.is_some() {
            Self::Asks
        } else if SimTime::ZERO < clock.end && clock.end <= clock.now {
            Self::Over
        } else {
            Self::Stands
        }
    }
}

impl LessonProps {
    /// What a run shows of its lesson; nothing in the sandbox.
    pub(crate) fn of(run: &RunUi, panels: &Panels, next: Option<String>) -> Option<Self> {
        Some(Self {
            lesson: Rc::clone(run.lesson.as_ref()?),
            variant: run.variant.clone(),
            settings: run.settings.clone(),
            answers: run.answers.clone(),
            outcomes: Rc::clone(&panels.outcomes),
            goals: Rc::clone(&panels.goals),
            hints_allowed: Rc::clone(&panels.hints_allowed),
            hints_open: run.hints_open.clone(),
            step_index: panels.step_index,
            pace: Pace::of(&panels.clock),
            debrief: Rc::clone(&panels.debrief),
            next,
        })
    }
}

/// What a lesson says and asks, in the order in which it is done.
#[component]
pub(crate) fn LessonPanel(props: &LessonProps) -> Html {
    count_render();
    let words = use_words();
    let lesson = &props.lesson;
    let step = lesson
        .steps
        .get(props.step_index)
        .map(|step| format!("lesson.steps.{step}"));
    html! {
        <>
            <h2 class="lead">{ words.t("lesson.title") }</h2>
            if words.has("lesson.summary") {
                <Rich text={words.t("lesson.summary")} />
            }
            if !lesson.variants.is_empty() {
                <Variants lesson={Rc::clone(lesson)} variant={props.variant.clone()} />
            }
            if let Some(key) = step {
                <div class="step-text" aria-live="polite"><Rich text={words.t(&key)} /></div>
                <p class="row go-on">
                    <Press class="btn small" msg={Msg::Toggle} test="go-on"
                        icon={if props.pace == Pace::Plays { Icon::Pause } else { Icon::Play }}
                        text={words.t(if props.pace == Pace::Plays { "lesson-page.going" } else { "lesson-page.go-on" })}
                        refusal={match props.pace {
                            Pace::Stands | Pace::Plays => None,
                            Pace::Asks => Some(yew::AttrValue::from(words.t("notice.answer-first"))),
                            Pace::Over => Some(yew::AttrValue::from(words.t("lesson-page.over"))),
                        }} />
                </p>
            }
            { for lesson.questions.iter().enumerate().map(|(index, _)| html! {
                <Question key={index} lesson={Rc::clone(lesson)} {index}
                    answer={props.answers.get(index).cloned().unwrap_or_default()}
                    outcome={props.outcomes.get(index).cloned().unwrap_or_default()} />
            }) }
            if !lesson.goals.is_empty() {
                <Goals lesson={Rc::clone(lesson)} goals={Rc::clone(&props.goals)} variant={props.variant.clone()} />
            }
            if !lesson.settings.is_empty() {
                <Settings lesson={Rc::clone(lesson)} changed={props.settings.clone()} />
            }
            <Hints lesson={Rc::clone(lesson)} allowed={Rc::clone(&props.hints_allowed)} open={props.hints_open.clone()} />
            if !props.debrief.is_empty() {
                <section class="debrief" data-test="debrief">
                    <h3>{ words.t("lesson-page.debrief") }</h3>
                    <Rich text={props.debrief.to_string()} />
                    if let Some(next) = &props.next {
                        <p><a class="btn" href={format!("#/lesson/{next}")} data-test="next-lesson">
                            { words.text("lesson-page.next", &[("name", &words.t(&format!("map.lesson.{next}")))]) }
                        </a></p>
                    }
                </section>
            }
            <Scope lesson={Rc::clone(lesson)} />
            <p class="row">
                <Press class="btn quiet" msg={Msg::StartOver} text={words.t("lesson-page.start-over")} test="start-over" />
            </p>
        </>
    }
}

#[derive(Clone, Debug, PartialEq, Properties)]
struct VariantsProps {
    lesson: Rc<LessonModel>,
    variant: Option<String>,
}

/// Experiments on the same stage, one click apart.
#[component]
fn Variants(props: &VariantsProps) -> Html {
    let words = use_words();
    html! {
        <div class="variants" role="group" aria-label={words.t("lesson-page.variants")}>
            { for props.lesson.variants.iter().map(|variant| html! {
                <Press key={variant.clone()} msg={Msg::SetVariant(variant.clone())} class="chip"
                    text={words.t(&format!("lesson.variants.{variant}"))}
                    pressed={props.variant.as_ref() == Some(variant)} test={format!("variant-{variant}")} />
            }) }
        </div>
    }
}

/// What a [`Question`] shows.
#[derive(Clone, Debug, PartialEq, Properties)]
pub(crate) struct QuestionProps {
    /// The lesson.
    pub(crate) lesson: Rc<LessonModel>,
    /// Its place in the lesson.
    pub(crate) index: usize,
    /// The answer.
    pub(crate) answer: Answer,
    /// What is known of it.
    pub(crate) outcome: Outcome,
    /// The key of the words of the button that locks.
    #[prop_or("lesson-page.lock")]
    pub(crate) lock: &'static str,
    /// Whether the question itself stands elsewhere already.
    #[prop_or_default]
    pub(crate) is_headless: bool,
}

/// A question with its options; then the answer that was locked, beside what happened.
#[component]
pub(crate) fn Question(props: &QuestionProps) -> Html {
    let words = use_words();
    let Some(question) = props.lesson.questions.get(props.index) else {
        return Html::default();
    };
    let prefix = format!("lesson.predict.{}", question.id);
    let text = words.t(&format!("{prefix}.question"));
    let is_locked = props.answer.locked_at.is_some();
    let send = use_send();
    let onkeydown = use_callback(
        (
            props.index,
            props.answer.clone(),
            question.options.len(),
            send,
        ),
        |event: KeyboardEvent,
         (index, answer, count, send): &(usize, Answer, usize, Callback<Msg>)| {
            let last = count.saturating_sub(1);
            // The focus stands on the chosen answer, or on the first one.
            let place = answer.chosen.unwrap_or(0);
            let next = match event.key().as_str() {
                "ArrowDown" | "ArrowRight" => {
                    if place < last {
                        place + 1
                    } else {
                        0
                    }
                }
                "ArrowUp" | "ArrowLeft" => place.checked_sub(1).unwrap_or(last),
                _ => return,
            };
            event.prevent_default();
            event.stop_propagation();
            if answer.locked_at.is_none() {
                send.emit(Msg::Choose(*index, next));
                super::picture::focus_nth_child(&event, next);
            }
        },
    );
    let class = if props.is_headless {
        "question bare"
    } else {
        "question"
    };
    html! {
        <section {class} data-test={format!("question-{}", question.id)}>
            if !props.is_headless { <h3>{ line(&text) }</h3> }
            <div role="radiogroup" aria-label={text} aria-disabled={is_locked.then_some("true")} {onkeydown}>
                { for question.options.iter().enumerate().map(|(place, option)| html! {
                    <OptionRow key={option.clone()} question={props.index} {place}
                        text={words.t(&format!("{prefix}.options.{option}"))}
                        mark={mark(props, place)} {is_locked}
                        is_stop={props.answer.chosen.unwrap_or(0) == place}
                        is_chosen={props.answer.chosen == Some(place)} />
                }) }
            </div>
            { below(props, &words) }
        </section>
    }
}

/// How an option turned out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mark {
    Unknown,
    Right,
    Wrong,
}

fn mark(props: &QuestionProps, place: usize) -> Mark {
    match &props.outcome.right {
        Some(right) if props.answer.locked_at.is_some() => {
            if right.contains(&place) {
                Mark::Right
            } else if props.answer.chosen == Some(place) {
                Mark::Wrong
            } else {
                Mark::Unknown
            }
        }
        _ => Mark::Unknown,
    }
}

/// Under the options: the button that locks, or since when it is locked, or the verdict.
fn below(props: &QuestionProps, words: &Catalog) -> Html {
    let Some(locked_at) = props.answer.locked_at else {
        let refusal = props
            .answer
            .chosen
            .is_none()
            .then(|| words.t("lesson-page.choose-first"));
        return html! {
            <p class="row">
                <Press class="btn" msg={Msg::Lock(props.index)} text={words.t(props.lock)}
                    refusal={refusal.map(yew::AttrValue::from)} test="lock-answer" />
            </p>
        };
    };
    match &props.outcome.right {
        None => html! {
            <p class="lock" data-test="locked">
                { icon(Icon::Lock) }
                { words.text("lesson-page.locked", &[("at", &locked_at.to_string())]) }
            </p>
        },
        Some(right) => verdict(props, right, words),
    }
}

/// Whether the answer was right, the reply to a misconception, and the explanation.
fn verdict(props: &QuestionProps, right: &[usize], words: &Catalog) -> Html {
    let Some(question) = props.lesson.questions.get(props.index) else {
        return Html::default();
    };
    let chosen = props.answer.chosen;
    let is_right = chosen.is_some_and(|chosen| right.contains(&chosen));
    let reply = chosen.filter(|_| !is_right).and_then(|chosen| {
        let option = question.options.get(chosen)?;
        let trap = props
            .lesson
            .traps
            .iter()
            .find(|(_, of, answer)| *of == question.id && answer == option);
        trap.map(|(id, _, _)| words.t(&format!("lesson.traps.{id}")))
    });
    let why = format!("lesson.predict.{}.explain", question.id);
    let (class, key) = match (is_right, right.is_empty()) {
        (true, _) => ("verdict right", "lesson-page.right"),
        (false, true) => ("verdict wrong", "lesson-page.none-right"),
        (false, false) => ("verdict wrong", "lesson-page.wrong"),
    };
    html! {
        <div {class} role="status" data-test="verdict" data-right={if is_right { "true" } else { "false" }}>
            <p class="verdict-head">{ icon(if is_right { Icon::Met } else { Icon::Missed }) }{ words.t(key) }</p>
            if let Some(reply) = reply { <Rich text={reply} /> }
            if words.has(&why) { <Rich text={words.t(&why)} /> }
        </div>
    }
}

#[derive(Clone, Debug, PartialEq, Properties)]
struct OptionRowProps {
    question: usize,
    place: usize,
    text: String,
    mark: Mark,
    is_locked: bool,
    is_chosen: bool,
    /// Whether the tab key stops here.
    is_stop: bool,
}

#[component]
fn OptionRow(props: &OptionRowProps) -> Html {
    let words = use_words();
    let send = use_send();
    let onclick = use_callback(
        (props.question, props.place, props.is_locked, send),
        |_: MouseEvent,
         (question, place, is_locked, send): &(usize, usize, bool, Callback<Msg>)| {
            if !is_locked {
                send.emit(Msg::Choose(*question, *place));
            }
        },
    );
    let (shape, note) = match props.mark {
        Mark::Unknown => ("", ""),
        Mark::Right => ("right", "lesson-page.mark-right"),
        Mark::Wrong => ("wrong", "lesson-page.mark-wrong"),
    };
    html! {
        <button type="button" role="radio" aria-checked={if props.is_chosen { "true" } else { "false" }}
            aria-disabled={props.is_locked.then_some("true")}
            tabindex={if props.is_stop { "0" } else { "-1" }}
            class={classes!("option", shape, props.is_chosen.then_some("chosen"))}
            data-test={format!("answer-{}", props.place)} {onclick}>
            <i class="radio" aria-hidden="true"></i>
            <span>{ line(&props.text) }</span>
            if !note.is_empty() { <em>{ words.t(note) }</em> }
        </button>
    }
}

#[derive(Clone, Debug, PartialEq, Properties)]
struct GoalsProps {
    lesson: Rc<LessonModel>,
    goals: Rc<Vec<Goal>>,
    variant: Option<String>,
}

/// The goals, with their verdicts as the run goes.
#[component]
fn Goals(props: &GoalsProps) -> Html {
    let words = use_words();
    html! {
        <section aria-label={words.t("lesson-page.goals")}>
            <h3>{ words.t("lesson-page.goals") }</h3>
            <ul class="goals">
                { for props.lesson.goals.iter().enumerate().map(|(index, goal)| {
                    let state = props.goals.get(index).cloned().unwrap_or_default();
                    let other = goal.variant.as_ref().filter(|variant| props.variant.as_ref() != Some(*variant));
                    html! {
                        <GoalRow key={goal.id.clone()} id={goal.id.clone()} verdict={state.verdict}
                            decided_by={state.decided_by} decided_at={state.decided_at}
                            elsewhere={other.cloned()} />
                    }
                }) }
            </ul>
        </section>
    }
}

#[derive(Clone, Debug, PartialEq, Properties)]
struct GoalRowProps {
    id: String,
    verdict: Verdict,
    decided_by: Option<u64>,
    decided_at: Option<SimTime>,
    /// The variant that alone can reach it, when another one runs.
    elsewhere: Option<String>,
}

#[component]
fn GoalRow(props: &GoalRowProps) -> Html {
    let words = use_words();
    let (shape, state, key) = match props.verdict {
        Verdict::Open => (Icon::Open, "open", "lesson-page.goal-open"),
        Verdict::Pass => (Icon::Met, "pass", "lesson-page.goal-pass"),
        Verdict::Fail => (Icon::Missed, "fail", "lesson-page.goal-fail"),
    };
    html! {
        <li class={classes!("goal", state)} data-test={format!("goal-{}", props.id)} data-verdict={state}>
            { icon(shape) }
            <span>
                <span class="sr">{ words.t(key) }{ ": " }</span>
                { line(&words.t(&format!("lesson.goals.{}", props.id))) }
                if let Some(variant) = &props.elsewhere {
                    <small>{ words.text("lesson-page.goal-elsewhere",
                        &[("variant", &words.t(&format!("lesson.variants.{variant}")))]) }</small>
                }
                if let (Some(index), Some(at)) = (props.decided_by, props.decided_at) {
                    <Press class="link small" msg={Msg::SeekEntry(index)} text={at.to_string()}
                        name={words.text("lesson-page.goal-seek", &[("at", &at.to_string())])} />
                }
            </span>
        </li>
    }
}

#[derive(Clone, Debug, PartialEq, Properties)]
struct SettingsProps {
    lesson: Rc<LessonModel>,
    changed: Vec<(String, String)>,
}

/// The settings that a lesson lets the learner change. A change starts the run over.
#[component]
fn Settings(props: &SettingsProps) -> Html {
    let words = use_words();
    html! {
        <section aria-label={words.t("lesson-page.settings")}>
            <h3>{ words.t("lesson-page.settings") }</h3>
            { for props.lesson.settings.iter().map(|(path, value)| {
                let changed = props.changed.iter().find(|(known, _)| known == path).map(|(_, value)| value.clone());
                html! { <SettingRow key={path.clone()} path={path.clone()} own={value.clone()} {changed} /> }
            }) }
            <p class="note">{ words.t("lesson-page.settings-note") }</p>
        </section>
    }
}

#[derive(Clone, Debug, PartialEq, Properties)]
struct SettingRowProps {
    path: String,
    own: String,
    changed: Option<String>,
}

#[component]
fn SettingRow(props: &SettingRowProps) -> Html {
    let send = use_send();
    let onchange = use_callback(
        (props.path.clone(), send),
        |event: yew::Event, (path, send): &(String, Callback<Msg>)| {
            if let Some(input) = event.target_dyn_into::<web_sys::HtmlInputElement>() {
                send.emit(Msg::SetSetting(
                    path.clone(),
                    input.value().trim().to_owned(),
                ));
            }
        },
    );
    let value = props.changed.clone().unwrap_or_else(|| props.own.clone());
    html! {
        <label class={classes!("setting", props.changed.is_some().then_some("changed"))}>
            <code>{ &props.path }</code>
            <input type="text" inputmode="text" autocomplete="off" spellcheck="false" {value} {onchange}
                data-test={format!("setting-{}", props.path)} />
        </label>
    }
}

#[derive(Clone, Debug, PartialEq, Properties)]
struct HintsProps {
    lesson: Rc<LessonModel>,
    allowed: Rc<Vec<bool>>,
    open: std::collections::BTreeMap<String, u32>,
}

/// Hints, goal by goal, rung by rung.
#[component]
fn Hints(props: &HintsProps) -> Html {
    let words = use_words();
    let mut goals: Vec<&str> = Vec::new();
    for hint in &props.lesson.hints {
        if !goals.contains(&hint.goal.as_str()) {
            goals.push(&hint.goal);
        }
    }
    html! {
        { for goals.into_iter().map(|goal| {
            let open = props.open.get(goal).copied().unwrap_or_default();
            let open = usize::try_from(open).unwrap_or_default();
            let rungs: Vec<(usize, &str)> = props.lesson.hints.iter().enumerate()
                .filter(|(_, hint)| hint.goal == goal).map(|(place, hint)| (place, hint.rung.as_str())).collect();
            let owner = if goal.is_empty() { "lesson" } else { goal };
            let next = rungs.get(open);
            let may = next.is_some_and(|(place, _)| props.allowed.get(*place).copied().unwrap_or_default());
            html! {
                <section class="hints" key={goal.to_owned()} data-test={format!("hints-{owner}")}>
                    { for rungs.iter().take(open).map(|(_, rung)| html! {
                        <div class="hint" key={(*rung).to_owned()}>
                            <b>{ words.t(rung_key(rung)) }</b>
                            <Rich text={words.t(&format!("lesson.hints.{owner}.{rung}"))} />
                        </div>
                    }) }
                    if next.is_some() {
                        <Press class="btn quiet" icon={Icon::Hint} msg={Msg::OpenHint(goal.to_owned())}
                            text={if goal.is_empty() { words.t("lesson-page.hint") } else {
                                words.text("lesson-page.hint-for", &[("goal", &words.t(&format!("lesson.goals.{goal}")))])
                            }}
                            refusal={(!may).then(|| yew::AttrValue::from(words.t("lesson-page.hint-later")))}
                            test={format!("hint-{owner}")} />
                    }
                </section>
            }
        }) }
    }
}

/// The key of a rung's name.
fn rung_key(rung: &str) -> &'static str {
    match rung {
        "nudge" => "lesson-page.rung-nudge",
        "place" => "lesson-page.rung-place",
        "principle" => "lesson-page.rung-principle",
        "worked" => "lesson-page.rung-worked",
        _ => "lesson-page.rung-solution",
    }
}

#[derive(Clone, Debug, PartialEq, Properties)]
struct ScopeProps {
    lesson: Rc<LessonModel>,
}

/// The version that the lesson models, and what it leaves out.
#[component]
fn Scope(props: &ScopeProps) -> Html {
    let words = use_words();
    let kafka = &props.lesson.kafka;
    html! {
        <details class="scope">
            <summary>{ words.text("lesson-page.scope", &[("version", kafka)]) }</summary>
            <ul>
                { for props.lesson.fidelity.iter().map(|id| html! {
                    <li key={id.clone()}>{ line(&words.t(&format!("lesson.fidelity.{id}"))) }</li>
                }) }
            </ul>
            <p><a href="#/fidelity">{ words.t("lesson-page.scope-more") }</a></p>
        </details>
    }
}
