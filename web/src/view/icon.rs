//! Icons, drawn: media symbols are missing in many fonts.

use yew::prelude::{Html, html};

/// An icon.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Icon {
    /// To the start.
    Start,
    /// One step back.
    Back,
    /// Play.
    Play,
    /// Pause.
    Pause,
    /// One step ahead.
    Step,
    /// To the end of what has been simulated.
    End,
    /// Half dark, half light.
    Theme,
    /// A link to share.
    Share,
    /// A tick in a disc: met.
    Met,
    /// A ring: open.
    Open,
    /// A cross in a disc: missed.
    Missed,
    /// A closed lock.
    Lock,
    /// A cross: close.
    Close,
    /// Down into a tray.
    Download,
    /// Up out of a tray.
    Upload,
    /// A bulb.
    Hint,
    /// An exclamation mark in a triangle.
    Warning,
    /// An arrow to the right.
    Arrow,
}

/// Draws an icon. It says nothing to a screen reader: the control around it has a name.
pub(crate) fn icon(which: Icon) -> Html {
    let body = match which {
        Icon::Start => html! { <path d="M3.2 3v10M13 3 5.8 8 13 13z" class="i-both"/> },
        Icon::Back => html! { <path d="M11.5 3 4.5 8l7 5z" class="i-both"/> },
        Icon::Play => html! { <path d="M4.8 2.6 13 8l-8.2 5.4z" class="i-both"/> },
        Icon::Pause => html! { <path d="M5 3v10M11 3v10" class="i-thick"/> },
        Icon::Step => html! { <path d="m4.5 3 7 5-7 5z" class="i-both"/> },
        Icon::End => html! { <path d="m3 3 7.2 5L3 13zM12.8 3v10" class="i-both"/> },
        Icon::Theme => html! {
            <><circle cx="8" cy="8" r="6.2" class="i-line"/><path d="M8 1.8a6.2 6.2 0 0 1 0 12.4z" class="i-fill"/></>
        },
        Icon::Share => html! {
            <path d="M6.7 9.3a2.8 2.8 0 0 0 4 0l2.5-2.5a2.8 2.8 0 0 0-4-4L8 4M9.3 6.7a2.8 2.8 0 0 0-4 0L2.8 9.2a2.8 2.8 0 0 0 4 4L8 12" class="i-line"/>
        },
        Icon::Met => html! {
            <><circle cx="8" cy="8" r="7" class="i-disc"/><path d="m4.8 8.2 2.2 2.2 4.2-4.6" class="i-on"/></>
        },
        Icon::Open => html! { <circle cx="8" cy="8" r="6.3" class="i-ring"/> },
        Icon::Missed => html! {
            <><circle cx="8" cy="8" r="7" class="i-loss"/><path d="m5.4 5.4 5.2 5.2m0-5.2-5.2 5.2" class="i-on"/></>
        },
        Icon::Lock => html! {
            <><rect x="3" y="7" width="10" height="7" rx="1.6" class="i-fill"/><path d="M5 7V5a3 3 0 0 1 6 0v2" class="i-line"/></>
        },
        Icon::Close => html! { <path d="m4 4 8 8m0-8-8 8" class="i-line"/> },
        Icon::Download => html! { <path d="M8 2v8m-3-3 3 3 3-3M2.5 12v2h11v-2" class="i-line"/> },
        Icon::Upload => html! { <path d="M8 10V2M5 5l3-3 3 3M2.5 12v2h11v-2" class="i-line"/> },
        Icon::Hint => html! {
            <path d="M5.6 10.4a4.4 4.4 0 1 1 4.8 0V12H5.6zM6 14h4" class="i-line"/>
        },
        Icon::Warning => {
            html! { <path d="M8 2 14.5 13.5h-13zM8 6.5v3.2m0 1.5v.6" class="i-line"/> }
        }
        Icon::Arrow => html! { <path d="M3 8h10M9 4l4 4-4 4" class="i-line"/> },
    };
    html! {
        <svg class="icon" width="16" height="16" viewBox="0 0 16 16" aria-hidden="true" focusable="false">
            { body }
        </svg>
    }
}

/// The mark of Terrarium: a glass bell with three partitions in it.
pub(crate) fn brand_mark() -> Html {
    html! {
        <svg width="22" height="22" viewBox="0 0 20 20" aria-hidden="true" focusable="false">
            <path d="M3 15V9a7 7 0 0 1 14 0v6" fill="none" stroke="var(--accent)" stroke-width="1.8"/>
            <path d="M1.5 16.5h17" stroke="var(--ink)" stroke-width="2" stroke-linecap="round"/>
            <circle cx="7" cy="12" r="1.6" fill="var(--p0)"/>
            <circle cx="10" cy="9" r="1.6" fill="var(--p1)"/>
            <circle cx="13" cy="12.4" r="1.6" fill="var(--p2)"/>
        </svg>
    }
}
