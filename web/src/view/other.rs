//! The pages without a stage: fidelity, keys, bad links, runs that cannot be had.

use super::text::{Rich, line};
use super::use_words;
use crate::i18n::Catalog;
use crate::model::route::{LinkError, LinkFault};
use yew::prelude::{Html, Properties, component, html};

/// What the keys do.
pub(crate) const KEYS: [(&str, &str); 10] = [
    ("Space", "keys.space"),
    ("→", "keys.right"),
    ("←", "keys.left"),
    ("Home", "keys.home"),
    ("End", "keys.end"),
    ("+ −", "keys.speed"),
    ("U", "keys.unit"),
    ("1 2 3", "keys.tabs"),
    ("?", "keys.question"),
    ("Esc", "keys.escape"),
];

/// The keys as a list.
#[component]
pub(crate) fn KeyList() -> Html {
    let words = use_words();
    html! {
        <dl class="keys-list">
            { for KEYS.iter().map(|(key, text)| html! {
                <div key={*text}><dt><kbd>{ key }</kbd></dt><dd>{ words.t(text) }</dd></div>
            }) }
        </dl>
    }
}

/// The page of the keys.
#[component]
pub(crate) fn Help() -> Html {
    let words = use_words();
    html! {
        <main id="main" class="page">
            <h1>{ words.t("keys.title") }</h1>
            <Rich text={words.t("keys.intro")} />
            <KeyList />
            <h2>{ words.t("keys.stage-title") }</h2>
            <Rich text={words.t("keys.stage")} />
            <h2>{ words.t("keys.work-title") }</h2>
            <Rich text={words.t("keys.work")} />
        </main>
    }
}

/// Parts of Kafka, and how many lines the texts have on each: what is modelled, what is left out.
pub(crate) const FIDELITY: [&str; 7] = [
    "time",
    "replication",
    "controller",
    "producer",
    "group",
    "consumer",
    "network",
];

/// What is modelled and what is left out.
#[component]
pub(crate) fn Fidelity() -> Html {
    let words = use_words();
    html! {
        <main id="main" class="page">
            <h1>{ words.t("fidelity.title") }</h1>
            <Rich text={words.t("fidelity.intro")} />
            { for FIDELITY.iter().map(|part| html! {
                <section key={*part} class="fidelity-part">
                    <h2>{ words.t(&format!("fidelity.{part}.title")) }</h2>
                    <div class="two">
                        <div><h3>{ words.t("fidelity.modelled") }</h3>{ list(&words, &format!("fidelity.{part}.modelled")) }</div>
                        <div><h3>{ words.t("fidelity.left-out") }</h3>{ list(&words, &format!("fidelity.{part}.left-out")) }</div>
                    </div>
                </section>
            }) }
        </main>
    }
}

/// The texts `key.0`, `key.1`, … as a list.
fn list(words: &Catalog, key: &str) -> Html {
    let keys = (0..100)
        .map(|place| format!("{key}.{place}"))
        .take_while(|key| words.has(key));
    html! { <ul>{ for keys.map(|key| html! { <li>{ line(&words.t(&key)) }</li> }) }</ul> }
}

/// What [`BadLink`] shows.
#[derive(Clone, Debug, PartialEq, Eq, Properties)]
pub(crate) struct BadLinkProps {
    /// What is wrong.
    pub(crate) error: LinkError,
}

/// A link that was refused: which entry, and why.
#[component]
pub(crate) fn BadLink(props: &BadLinkProps) -> Html {
    let words = use_words();
    html! {
        <main id="main" class="page" data-test="bad-link">
            <h1>{ words.t("link.title") }</h1>
            <p>{ words.t("link.intro") }</p>
            <pre tabindex="0">{ &props.error.entry }</pre>
            <p role="alert">{ fault_text(&words, &props.error.fault) }</p>
            <p class="row"><a class="btn" href="#/">{ words.t("nav.home") }</a>
                <a class="link" href="#/sandbox">{ words.t("nav.sandbox") }</a></p>
        </main>
    }
}

/// What is wrong with an entry of a link, in words.
pub(crate) fn fault_text(words: &Catalog, fault: &LinkFault) -> String {
    match fault {
        LinkFault::UnknownPage(Some(near)) => {
            words.text("link.unknown-page-near", &[("near", near)])
        }
        LinkFault::UnknownPage(None) => words.t("link.unknown-page"),
        LinkFault::NoLesson => words.t("link.no-lesson"),
        LinkFault::UnknownName(Some(near)) => {
            words.text("link.unknown-name-near", &[("near", near)])
        }
        LinkFault::UnknownName(None) => words.t("link.unknown-name"),
        LinkFault::Twice => words.t("link.twice"),
        LinkFault::NotANumber => words.t("link.not-a-number"),
        LinkFault::NotATime => words.t("link.not-a-time"),
        LinkFault::BadEscape => words.t("link.bad-escape"),
        LinkFault::Unreadable(detail) => words.text("link.unreadable", &[("detail", detail)]),
    }
}

/// What [`NoRun`] shows.
#[derive(Clone, Debug, PartialEq, Eq, Properties)]
pub(crate) struct NoRunProps {
    /// The key of what went wrong.
    pub(crate) text: &'static str,
    /// What exactly, and where.
    pub(crate) detail: String,
}

/// A run that cannot be had.
#[component]
pub(crate) fn NoRun(props: &NoRunProps) -> Html {
    let words = use_words();
    html! {
        <main id="main" class="page" data-test="no-run">
            <h1>{ words.t("run.failed-title") }</h1>
            <p role="alert">{ words.t(props.text) }</p>
            if !props.detail.is_empty() { <pre tabindex="0">{ &props.detail }</pre> }
            <p class="row">
                <a class="btn" href="#/" data-test="go-home">{ words.t("nav.home") }</a>
            </p>
        </main>
    }
}
