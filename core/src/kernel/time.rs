//! Simulated time in microseconds.

use serde::{Deserialize, Serialize};
use std::fmt;
use std::ops::{Add, AddAssign, Sub};

/// An instant: microseconds since the start of the simulation.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[serde(transparent)]
pub struct SimTime(pub u64);

/// A length of time in microseconds.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[serde(transparent)]
pub struct Span(pub u64);

impl SimTime {
    /// The start of every simulation.
    pub const ZERO: Self = Self(0);
    /// Later than any instant that a simulation reaches.
    pub const MAX: Self = Self(u64::MAX);

    /// The instant `millis` milliseconds after the start.
    pub const fn from_millis(millis: u64) -> Self {
        Self(millis.saturating_mul(1_000))
    }

    /// Whole milliseconds since the start, rounded down.
    pub const fn as_millis(self) -> u64 {
        self.0 / 1_000
    }

    /// The time that has passed since `earlier`; zero if `earlier` lies ahead.
    pub const fn since(self, earlier: Self) -> Span {
        Span(self.0.saturating_sub(earlier.0))
    }
}

impl Span {
    /// No time at all.
    pub const ZERO: Self = Self(0);

    /// A span of `millis` milliseconds; a negative number counts as zero.
    pub const fn from_millis(millis: i64) -> Self {
        if millis <= 0 {
            Self(0)
        } else {
            Self(millis.unsigned_abs().saturating_mul(1_000))
        }
    }

    /// A span of `micros` microseconds.
    pub const fn from_micros(micros: u64) -> Self {
        Self(micros)
    }

    /// Whole milliseconds, rounded down.
    pub const fn as_millis(self) -> u64 {
        self.0 / 1_000
    }

    /// This span `factor` times, saturating.
    #[must_use]
    pub const fn times(self, factor: u64) -> Self {
        Self(self.0.saturating_mul(factor))
    }
}

impl Add<Span> for SimTime {
    type Output = Self;
    fn add(self, span: Span) -> Self {
        Self(self.0.saturating_add(span.0))
    }
}

impl AddAssign<Span> for SimTime {
    fn add_assign(&mut self, span: Span) {
        *self = *self + span;
    }
}

impl Add for Span {
    type Output = Self;
    fn add(self, other: Self) -> Self {
        Self(self.0.saturating_add(other.0))
    }
}

impl Sub for Span {
    type Output = Self;
    fn sub(self, other: Self) -> Self {
        Self(self.0.saturating_sub(other.0))
    }
}

impl fmt::Display for SimTime {
    /// Seconds with three decimals: `8.500 s`.
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            formatter,
            "{}.{:03} s",
            self.0 / 1_000_000,
            self.0 / 1_000 % 1_000
        )
    }
}

impl fmt::Display for Span {
    /// The shortest exact unit: `90s`, `1500ms`, `250us`.
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0.is_multiple_of(1_000_000) {
            write!(formatter, "{}s", self.0 / 1_000_000)
        } else if self.0.is_multiple_of(1_000) {
            write!(formatter, "{}ms", self.0 / 1_000)
        } else {
            write!(formatter, "{}us", self.0)
        }
    }
}

/// Reads `1.5s`, `250ms`, `10us`, `2m` or `1h` as a span.
///
/// # Errors
/// A sentence that says what was expected, when `text` is none of these.
pub fn parse_span(text: &str) -> Result<Span, &'static str> {
    const EXPECTED: &str = "a time with its unit, such as 8.5s, 250ms, 2m or 1h";
    let text = text.trim();
    let split = text
        .find(|c: char| c.is_ascii_alphabetic())
        .ok_or(EXPECTED)?;
    let (number, unit) = text.split_at(split);
    let micros_per_unit: u64 = match unit {
        "us" => 1,
        "ms" => 1_000,
        "s" => 1_000_000,
        "m" | "min" => 60_000_000,
        "h" => 3_600_000_000,
        _ => return Err(EXPECTED),
    };
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    let digits = |part: &str| part.bytes().all(|b| b.is_ascii_digit());
    if whole.is_empty() || !digits(whole) || !digits(fraction) || 9 < fraction.len() {
        return Err(EXPECTED);
    }
    let whole: u64 = whole.parse().map_err(|_overflow| EXPECTED)?;
    let mut micros = whole.checked_mul(micros_per_unit).ok_or(EXPECTED)?;
    if !fraction.is_empty() {
        let scale = 10_u64.pow(u32::try_from(fraction.len()).map_err(|_long| EXPECTED)?);
        let part: u64 = fraction.parse().map_err(|_overflow| EXPECTED)?;
        let part = part.checked_mul(micros_per_unit).ok_or(EXPECTED)? / scale;
        micros = micros.checked_add(part).ok_or(EXPECTED)?;
    }
    Ok(Span(micros))
}

#[cfg(test)]
mod tests {
    #[cfg(target_arch = "wasm32")]
    use wasm_bindgen_test::wasm_bindgen_test as test;

    use super::{SimTime, Span, parse_span};

    #[test]
    fn spans_read_back_what_they_print() {
        for span in [
            Span(0),
            Span(1),
            Span(1_500),
            Span(2_000_000),
            Span(90_000_000),
        ] {
            assert_eq!(parse_span(&span.to_string()), Ok(span), "{span}");
        }
        assert_eq!(
            parse_span("8.5s"),
            Ok(Span(8_500_000)),
            "a fraction of a second"
        );
        assert_eq!(parse_span("2m"), Ok(Span(120_000_000)), "minutes");
        assert_eq!(
            SimTime(8_500_000).to_string(),
            "8.500 s",
            "instants print as seconds"
        );
    }

    #[test]
    fn a_span_without_a_number_or_a_unit_is_refused() {
        for text in [
            "",
            "s",
            "5",
            "5x",
            "-1s",
            "1.s5",
            "99999999999999999999s",
            "1e3s",
        ] {
            assert!(parse_span(text).is_err(), "{text:?} must be refused");
        }
    }
}
