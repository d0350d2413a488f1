//! Where the words of a picture come from.

use std::fmt;
use terrarium_core::kernel::time::{SimTime, Span};

/// A table of texts.
pub(crate) trait Words {
    /// The text called `key`, with each `{name}` in it replaced.
    fn text(&self, key: &str, args: &[(&str, &str)]) -> String;
}

impl<F: Fn(&str, &[(&str, &str)]) -> String> Words for F {
    fn text(&self, key: &str, args: &[(&str, &str)]) -> String {
        self(key, args)
    }
}

/// A span as people read it: `31.8 s`, `640 ms`, `4 min 10 s`.
pub(crate) fn span(span: Span) -> String {
    let millis = span.as_millis();
    if millis < 1_000 {
        format!("{millis} ms")
    } else if millis < 100_000 {
        format!("{}.{} s", millis / 1_000, millis / 100 % 10)
    } else if millis < 3_600_000 {
        minutes(millis / 1_000, "min", "s")
    } else {
        minutes(millis / 60_000, "h", "min")
    }
}

/// An instant with a precision that suits a step of `step` between two marks.
pub(crate) fn instant(at: SimTime, step: Span) -> String {
    let millis = at.as_millis();
    match step.0 {
        0..1_000 => format!("{}.{:03} ms", at.0 / 1_000, at.0 % 1_000),
        1_000..10_000 => format!("{}.{:03} s", millis / 1_000, millis % 1_000),
        10_000..100_000 => format!("{}.{:02} s", millis / 1_000, millis / 10 % 100),
        100_000..1_000_000 => format!("{}.{} s", millis / 1_000, millis / 100 % 10),
        _ if step.0 < 60_000_000 || millis < 120_000 => format!("{} s", millis / 1_000),
        _ => minutes(millis / 1_000, "min", "s"),
    }
}

fn minutes(small: u64, large_unit: &str, small_unit: &str) -> String {
    match (small / 60, small % 60) {
        (large, 0) => format!("{large} {large_unit}"),
        (large, rest) => format!("{large} {large_unit} {rest} {small_unit}"),
    }
}

/// Writes `items` as a list: `p0, p1`.
pub(crate) fn list<T: fmt::Display>(items: impl IntoIterator<Item = T>) -> String {
    let mut text = String::new();
    for item in items {
        if !text.is_empty() {
            text.push_str(", ");
        }
        text.push_str(&item.to_string());
    }
    text
}
