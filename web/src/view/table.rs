//! The pictures as tables: the same facts for a screen reader, and for those who like numbers.

use super::{count_render, use_words};
use crate::model::panels::Table;
use std::rc::Rc;
use yew::prelude::{Html, Properties, component, html};

/// What the [`Tables`] show.
#[derive(Clone, Debug, PartialEq, Properties)]
pub(crate) struct TablesProps {
    /// The tables.
    pub(crate) tables: Rc<Vec<Table>>,
}

/// All tables, one below the other.
#[component]
pub(crate) fn Tables(props: &TablesProps) -> Html {
    count_render();
    html! {
        <div class="tables" tabindex="0" data-test="tables">
            { for props.tables.iter().map(|table| html! { <OneTable key={table.key} table={table.clone()} /> }) }
        </div>
    }
}

#[derive(Clone, Debug, PartialEq, Properties)]
struct OneTableProps {
    table: Table,
}

#[component]
fn OneTable(props: &OneTableProps) -> Html {
    let words = use_words();
    let table = &props.table;
    html! {
        <div class="table-frame">
            <table data-test={table.key}>
                <caption>{ words.t(table.key) }</caption>
                <thead><tr>
                    { for table.heads.iter().map(|head| html! { <th key={*head} scope="col">{ words.t(head) }</th> }) }
                </tr></thead>
                <tbody>
                    { for table.rows.iter().enumerate().map(|(place, row)| html! { <Row key={place} cells={row.clone()} /> }) }
                </tbody>
            </table>
        </div>
    }
}

#[derive(Clone, Debug, PartialEq, Properties)]
struct RowProps {
    cells: Vec<String>,
}

#[component]
fn Row(props: &RowProps) -> Html {
    html! {
        <tr>
            { for props.cells.iter().enumerate().map(|(place, cell)| if place == 0 {
                html! { <th key={place} scope="row">{ cell }</th> }
            } else {
                html! { <td key={place}>{ cell }</td> }
            }) }
        </tr>
    }
}
