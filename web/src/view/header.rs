//! The line at the top.

use super::control::Press;
use super::icon::{Icon, brand_mark, icon};
use super::{count_render, use_words};
use crate::i18n::Locale;
use crate::model::msg::Msg;
use crate::model::ui::{Sheet, ThemeChoice};
use std::cmp::Ordering;
use yew::prelude::{Html, Properties, component, html};

/// What the [`Header`] shows.
#[derive(Clone, Debug, PartialEq, Properties)]
pub(crate) struct HeaderProps {
    /// The title of a lesson or of the sandbox; empty elsewhere.
    #[prop_or_default]
    pub(crate) title: String,
    /// Names of the lesson's steps.
    #[prop_or_default]
    pub(crate) steps: Vec<String>,
    /// The step in which the playhead stands.
    #[prop_or_default]
    pub(crate) step_index: usize,
    /// Whether there is a run to share.
    pub(crate) has_run: bool,
    /// The theme.
    pub(crate) theme: ThemeChoice,
}

/// The line at the top: where we are, and what is there on every page.
#[component]
pub(crate) fn Header(props: &HeaderProps) -> Html {
    count_render();
    let words = use_words();
    html! {
        <header class="top">
            <a class="brand" href="#/" aria-label={words.t("nav.home")} data-test="home-link">
                { brand_mark() }<span>{ "Terrarium" }</span>
            </a>
            if !props.title.is_empty() {
                <h1 class="where">{ &props.title }</h1>
            }
            if !props.steps.is_empty() {
                <Steps steps={props.steps.clone()} now={props.step_index} />
            }
            <div class="space"></div>
            <nav class="links" aria-label={words.t("nav.label")}>
                <a href="#/" class="wide">{ words.t("nav.lessons") }</a>
                <a href="#/sandbox" class="wide">{ words.t("nav.sandbox") }</a>
                <a href="#/fidelity" class="wide">{ words.t("nav.fidelity") }</a>
            </nav>
            <Language />
            <Press class="tool" msg={Msg::NextTheme} icon={Icon::Theme} name={words.t("nav.theme")} test="theme" />
            if props.has_run {
                <Press class="tool" msg={Msg::Share} icon={Icon::Share} text={words.t("nav.share")}
                    name={words.t("nav.share-name")} test="share" />
            }
            <Press class="tool" msg={Msg::SetSheet(Some(Sheet::Keys))} text="?" name={words.t("nav.keys")} test="keys" />
        </header>
    }
}

#[derive(Clone, Debug, PartialEq, Properties)]
struct StepsProps {
    steps: Vec<String>,
    now: usize,
}

/// The steps of a lesson as short bars; the words are there for a screen reader and on hovering.
#[component]
fn Steps(props: &StepsProps) -> Html {
    let words = use_words();
    let place = (props.now + 1).min(props.steps.len()).to_string();
    let count = props.steps.len().to_string();
    let name = props.steps.get(props.now).cloned().unwrap_or_default();
    let label = words.text(
        "lesson-page.step-of",
        &[("n", &place), ("count", &count), ("name", &name)],
    );
    html! {
        <div class="steps" role="img" aria-label={label.clone()} title={label} data-test="steps">
            { for props.steps.iter().enumerate().map(|(index, step)| {
                let class = match index.cmp(&props.now) {
                    Ordering::Less => "on",
                    Ordering::Equal => "now",
                    Ordering::Greater => "",
                };
                html! { <i key={index} {class} title={step.clone()}></i> }
            }) }
        </div>
    }
}

/// The switch between the languages: each in its own words, so that it can be found.
#[component]
fn Language() -> Html {
    let words = use_words();
    html! {
        <div class="language" role="group" aria-label={words.t("nav.language")}>
            { for Locale::ALL.into_iter().map(|locale| html! {
                <Press key={locale.tag()} class="tool" msg={Msg::SetLocale(locale)} text={locale.label()}
                    name={match locale { Locale::En => "English", Locale::ZhCn => "简体中文" }}
                    pressed={words.locale() == locale} test={format!("lang-{}", locale.tag())} />
            }) }
        </div>
    }
}

/// What the [`NoticeLine`] shows.
#[derive(Clone, Debug, PartialEq, Properties)]
pub(crate) struct NoticeProps {
    /// The line; unset for none.
    pub(crate) notice: Option<crate::model::ui::Notice>,
}

/// A quiet line above everything. Its place is there even when it is empty, for screen readers.
#[component]
pub(crate) fn NoticeLine(props: &NoticeProps) -> Html {
    use crate::model::ui::Offer;
    let words = use_words();
    html! {
        <div class="notice-place" role="status" aria-live="polite">
            if let Some(notice) = &props.notice {
                <div class={if notice.is_fault { "notice fault" } else { "notice" }} data-test="notice">
                    if notice.is_fault { { icon(Icon::Warning) } }
                    <span>{ text_of(&words, notice) }</span>
                    if let Some(offer) = notice.offer {
                        <Press class="btn small" msg={Msg::TakeOffer(offer)} test="notice-offer"
                            text={words.t(match offer {
                                Offer::Download => "notice.offer-download",
                                Offer::StartOver => "notice.offer-start-over",
                                Offer::Retry => "notice.offer-retry",
                            })} />
                    }
                    <Press class="tool" msg={Msg::DismissNotice} icon={Icon::Close} name={words.t("notice.dismiss")}
                        test="notice-dismiss" />
                </div>
            }
        </div>
    }
}

fn text_of(words: &crate::i18n::Catalog, notice: &crate::model::ui::Notice) -> String {
    let args: Vec<(&str, &str)> = notice
        .args
        .iter()
        .map(|(name, value)| (*name, value.as_str()))
        .collect();
    words.text(notice.key, &args)
}
