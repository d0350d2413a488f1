//! Texts with a little markup: `code`, **strong**, and an empty line between paragraphs.

use yew::prelude::{Html, Properties, component, html};

/// A piece of a line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Piece<'a> {
    /// As it stands.
    Plain(&'a str),
    /// Between backticks.
    Code(&'a str),
    /// Between double asterisks.
    Strong(&'a str),
}

/// Splits a line into pieces. A mark without its partner stays as it stands.
pub(crate) fn pieces(line: &str) -> Vec<Piece<'_>> {
    let mut found = Vec::new();
    let mut rest = line;
    while !rest.is_empty() {
        let code = rest.find('`').and_then(|start| {
            let end = rest.get(start + 1..)?.find('`')? + start + 1;
            Some((start, end, 1))
        });
        let strong = rest.find("**").and_then(|start| {
            let end = rest.get(start + 2..)?.find("**")? + start + 2;
            Some((start, end, 2))
        });
        let next = match (code, strong) {
            (Some(code), Some(strong)) => Some(code.min(strong)),
            (code, strong) => code.or(strong),
        };
        let Some((start, end, width)) = next else {
            found.push(Piece::Plain(rest));
            break;
        };
        if 0 < start {
            found.push(Piece::Plain(rest.get(..start).unwrap_or_default()));
        }
        let inner = rest.get(start + width..end).unwrap_or_default();
        found.push(if width == 1 {
            Piece::Code(inner)
        } else {
            Piece::Strong(inner)
        });
        rest = rest.get(end + width..).unwrap_or_default();
    }
    found
}

/// One line with its markup.
pub(crate) fn line(text: &str) -> Html {
    pieces(text)
        .into_iter()
        .map(|piece| match piece {
            Piece::Plain(text) => html! { { text } },
            Piece::Code(text) => html! { <code>{ text }</code> },
            Piece::Strong(text) => html! { <b>{ text }</b> },
        })
        .collect()
}

/// What [`Rich`] shows.
#[derive(Clone, Debug, PartialEq, Eq, Properties)]
pub(crate) struct RichProps {
    /// The text.
    pub(crate) text: String,
    /// A class for each paragraph.
    #[prop_or_default]
    pub(crate) class: &'static str,
}

/// Paragraphs.
#[component]
pub(crate) fn Rich(props: &RichProps) -> Html {
    props
        .text
        .split("\n\n")
        .filter(|paragraph| !paragraph.trim().is_empty())
        .map(|paragraph| html! { <p class={props.class}>{ line(paragraph.trim()) }</p> })
        .collect()
}
