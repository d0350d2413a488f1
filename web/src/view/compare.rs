//! The experiments of a lesson side by side: a strip a partition, and what each costs.

use super::{count_render, use_words};
use crate::model::panels::{Compare, ComparedRun, Stretch};
use std::rc::Rc;
use yew::prelude::{Html, Properties, classes, component, html};

/// What the [`CompareView`] shows.
#[derive(Clone, Debug, PartialEq, Properties)]
pub(crate) struct CompareProps {
    /// The experiments.
    pub(crate) compare: Rc<Compare>,
}

/// All experiments on one clock.
#[component]
pub(crate) fn CompareView(props: &CompareProps) -> Html {
    count_render();
    let words = use_words();
    let compare = &props.compare;
    let titles = compare.runs.iter().map(|run| &run.title);
    html! {
        <div class="tables compare" tabindex="0" data-test="compare">
            <p class="note" role="status" data-test="compare-text">{ &compare.text }</p>
            { for compare.runs.iter().map(|run| html! { <Run key={run.id.clone()} run={run.clone()} now={compare.now} /> }) }
            if !compare.marks.is_empty() {
                <div class="strip marks" aria-hidden="true"><b></b><span class="bar">
                    { for compare.marks.iter().map(|(at, text)| html! { <i key={*at} style={percent("left", *at)}>{ text }</i> }) }
                </span></div>
            }
            if let Some(table) = &compare.table {
                <div class="table-frame"><table data-test="compare-costs">
                    <caption>{ words.t(table.key) }</caption>
                    <thead><tr>
                        { for table.heads.iter().map(|head| html! { <th key={*head} scope="col">{ words.t(head) }</th> }) }
                        { for titles.map(|title| html! { <th key={title.clone()} scope="col">{ title }</th> }) }
                    </tr></thead>
                    <tbody>
                        { for table.rows.iter().enumerate().map(|(place, cells)| html! { <tr key={place}>{ row(cells) }</tr> }) }
                    </tbody>
                </table></div>
            }
        </div>
    }
}

fn row(cells: &[String]) -> Html {
    let cells = cells.iter().enumerate();
    cells
        .map(|(place, cell)| match place {
            0 => html! { <th key={place} scope="row">{ cell }</th> },
            _ => html! { <td key={place} class="num">{ cell }</td> },
        })
        .collect()
}

#[derive(Clone, Debug, PartialEq, Properties)]
struct RunProps {
    run: ComparedRun,
    now: u32,
}

#[component]
fn Run(props: &RunProps) -> Html {
    let run = &props.run;
    html! {
        <section class="compared" aria-label={run.title.clone()} data-test={format!("compared-{}", run.id)}>
            <h3>{ &run.title }{ " " }<small>{ &run.stopped }</small></h3>
            { for run.strips.iter().map(|(name, stretches)| html! {
                <div key={name.clone()} class="strip">
                    <b>{ name }</b>
                    <span class="bar">
                        { for stretches.iter().map(stretch) }
                        <u style={percent("left", props.now)}></u>
                    </span>
                </div>
            }) }
        </section>
    }
}

fn stretch(stretch: &Stretch) -> Html {
    let hue = format!("hue{}", stretch.hue);
    let class = if stretch.who.is_empty() {
        classes!("dark")
    } else {
        classes!(hue)
    };
    let style = format!(
        "{};{}",
        percent("left", stretch.from),
        percent("width", stretch.length)
    );
    html! {
        <i key={stretch.from} {class} {style} title={stretch.hint.clone()}>
            <span class="sr">{ &stretch.hint }</span><em aria-hidden="true">{ &stretch.who }</em>
        </i>
    }
}

/// Thousandths as a length.
fn percent(what: &str, thousandths: u32) -> String {
    format!("{what}:{}.{}%", thousandths / 10, thousandths % 10)
}
