//! Settings by Kafka's names, with Kafka's defaults.
//!
//! Each struct is made by the `settings!` macro from one row a setting, so the name, the default,
//! the range and the sentence that explains it cannot part ways.

mod broker;
mod consumer;
mod history;
mod producer;
mod topic;

pub use broker::{BrokerConfig, MigrationPolicy, ReplicaSelector, ServerAssignor};
pub use consumer::{AutoOffsetReset, ConsumerConfig, GroupProtocol, IsolationLevel};
pub use history::HistoryConfig;
pub use producer::{Acks, ProducerConfig};
pub use topic::{CleanupPolicy, DeletionReason, TimestampType, TopicConfig};

use crate::kernel::rng::Ratio;
use serde::Serialize;
use std::fmt;
use std::sync::Arc;

/// What a setting is, for the inspector and the reference page.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct SettingInfo {
    /// Kafka's name.
    pub name: &'static str,
    /// What it does, in one sentence, with its source.
    pub doc: &'static str,
    /// What a value looks like: `a number from 0 to 9`, `true or false`, …
    pub expected: &'static str,
}

/// Why a setting was refused.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum SettingError {
    /// There is no setting of this name here.
    Unknown {
        /// The name that was given.
        name: String,
        /// The known name that looks most like it.
        nearest: Option<&'static str>,
    },
    /// The value does not fit.
    Invalid {
        /// The setting.
        name: &'static str,
        /// The value that was given.
        value: String,
        /// What was expected.
        expected: String,
    },
}

impl fmt::Display for SettingError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unknown {
                name,
                nearest: Some(nearest),
            } => {
                write!(formatter, "unknown setting {name}; did you mean {nearest}?")
            }
            Self::Unknown {
                name,
                nearest: None,
            } => write!(formatter, "unknown setting {name}"),
            Self::Invalid {
                name,
                value,
                expected,
            } => {
                write!(formatter, "{name} = {value}: expected {expected}")
            }
        }
    }
}

/// A type that a setting can have.
pub trait SettingValue: Sized {
    /// Reads the value from text, or says what was expected.
    ///
    /// # Errors
    /// What was expected, when `text` does not fit.
    fn parse(text: &str) -> Result<Self, String>;
    /// The value as Kafka prints it.
    fn render(&self) -> String;
    /// The value as a number, where it has bounds.
    fn number(&self) -> Option<i64> {
        None
    }
}

impl SettingValue for i64 {
    fn parse(text: &str) -> Result<Self, String> {
        text.trim()
            .parse()
            .map_err(|_not_a_number| String::from("a whole number"))
    }
    fn render(&self) -> String {
        self.to_string()
    }
    fn number(&self) -> Option<i64> {
        Some(*self)
    }
}

impl SettingValue for Option<i64> {
    fn parse(text: &str) -> Result<Self, String> {
        if text.trim() == "null" {
            Ok(None)
        } else {
            <i64 as SettingValue>::parse(text).map(Some)
        }
    }
    fn render(&self) -> String {
        self.map_or_else(|| String::from("null"), |number| number.to_string())
    }
    fn number(&self) -> Option<i64> {
        *self
    }
}

/// A share as a decimal fraction with up to six digits.
impl SettingValue for Ratio {
    fn parse(text: &str) -> Result<Self, String> {
        let expected = || String::from("a number from 0 to 1, such as 0.5");
        let (whole, digits) = text.trim().split_once('.').unwrap_or((text.trim(), ""));
        let is_number = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
        if whole.is_empty() || !is_number(whole) || !is_number(digits) || 6 < digits.len() {
            return Err(expected());
        }
        let mut per_million = whole.parse::<u32>().map_err(|_too_large| expected())?;
        let padding = ['0'; 6];
        for digit in digits.chars().chain(padding).take(6) {
            let digit = digit.to_digit(10).unwrap_or_default();
            per_million = per_million
                .checked_mul(10)
                .and_then(|number| number.checked_add(digit))
                .ok_or_else(expected)?;
        }
        if 1_000_000 < per_million {
            return Err(expected());
        }
        Ok(Self::per_million(per_million))
    }
    fn render(&self) -> String {
        let per_million =
            u64::from(self.numerator) * 1_000_000 / u64::from(self.denominator.max(1));
        let text = format!("{}.{:06}", per_million / 1_000_000, per_million % 1_000_000);
        let short = text.trim_end_matches('0');
        if short.ends_with('.') {
            format!("{short}0")
        } else {
            short.to_owned()
        }
    }
}

impl SettingValue for bool {
    fn parse(text: &str) -> Result<Self, String> {
        match text.trim() {
            "true" => Ok(true),
            "false" => Ok(false),
            _ => Err(String::from("true or false")),
        }
    }
    fn render(&self) -> String {
        self.to_string()
    }
}

impl SettingValue for Option<bool> {
    fn parse(text: &str) -> Result<Self, String> {
        match text.trim() {
            "" | "null" => Ok(None),
            text => bool::parse(text).map(Some),
        }
    }
    fn render(&self) -> String {
        String::from(match self {
            None => "null",
            Some(true) => "true",
            Some(false) => "false",
        })
    }
}

impl SettingValue for Option<Arc<str>> {
    fn parse(text: &str) -> Result<Self, String> {
        let text = text.trim();
        Ok(if text.is_empty() || text == "null" {
            None
        } else {
            Some(Arc::from(text))
        })
    }
    fn render(&self) -> String {
        self.as_deref().unwrap_or("null").to_owned()
    }
}

/// The known name that is nearest to `name`, if any is near.
pub fn nearest<'a>(name: &str, known: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    let limit = 2 + name.len() / 4;
    known
        .map(|candidate| (edit_distance(name, candidate), candidate))
        .filter(|(distance, _)| *distance <= limit)
        .min()
        .map(|(_, candidate)| candidate)
}

fn edit_distance(left: &str, right: &str) -> usize {
    let mut row: Vec<usize> = (0..=right.chars().count()).collect();
    for (index, from) in left.chars().enumerate() {
        let mut diagonal = index;
        let mut previous = index + 1;
        if let Some(first) = row.first_mut() {
            *first = previous;
        }
        for (cell, to) in row.iter_mut().skip(1).zip(right.chars()) {
            let cost = diagonal + usize::from(from != to);
            diagonal = *cell;
            *cell = cost.min(previous + 1).min(diagonal + 1);
            previous = *cell;
        }
    }
    row.last().copied().unwrap_or_default()
}

/// Makes a settings struct: one row is `field: type = default, "kafka.name", range, "doc";`.
macro_rules! settings {
    (
        $(#[$doc:meta])* $name:ident {
            $( $field:ident : $type:ty = $default:expr, $key:literal, $expected:literal, $range:expr, $text:literal; )*
        }
    ) => {
        $(#[$doc])*
        #[derive(Clone, Debug, PartialEq, Eq, Hash, serde::Serialize)]
        pub struct $name {
            $( #[doc = $text] pub $field: $type, )*
        }

        impl Default for $name {
            fn default() -> Self {
                Self { $( $field: $default, )* }
            }
        }

        impl $name {
            /// Every setting of this kind.
            pub const SETTINGS: &'static [crate::base::config::SettingInfo] = &[
                $( crate::base::config::SettingInfo { name: $key, doc: $text, expected: $expected }, )*
            ];

            /// Sets `name` to the value that `text` stands for.
            ///
            /// # Errors
            /// The name is unknown, or the value does not fit; nothing has changed then.
            pub fn set(&mut self, name: &str, text: &str) -> Result<(), crate::base::config::SettingError> {
                use crate::base::config::{SettingError, SettingValue, nearest};
                match name {
                    $( $key => {
                        let invalid = || SettingError::Invalid {
                            name: $key,
                            value: text.to_owned(),
                            expected: String::from($expected),
                        };
                        let value = <$type as SettingValue>::parse(text).map_err(|_expected| invalid())?;
                        let range: Option<std::ops::RangeInclusive<i64>> = $range;
                        if let (Some(number), Some(range)) = (value.number(), range)
                            && !range.contains(&number)
                        {
                            return Err(invalid());
                        }
                        self.$field = value;
                        Ok(())
                    } )*
                    _ => Err(SettingError::Unknown {
                        name: name.to_owned(),
                        nearest: nearest(name, Self::SETTINGS.iter().map(|setting| setting.name)),
                    }),
                }
            }

            /// The value of `name` as Kafka prints it.
            pub fn value(&self, name: &str) -> Option<String> {
                use crate::base::config::SettingValue;
                match name {
                    $( $key => Some(self.$field.render()), )*
                    _ => None,
                }
            }
        }
    };
}
pub(crate) use settings;

#[cfg(test)]
mod tests {
    #[cfg(target_arch = "wasm32")]
    use wasm_bindgen_test::wasm_bindgen_test as test;

    use super::{
        BrokerConfig, ConsumerConfig, HistoryConfig, ProducerConfig, SettingError, TopicConfig,
    };

    #[test]
    fn every_default_reads_back_as_itself() {
        macro_rules! check {
            ($($config:ty),*) => { $(
                let original = <$config>::default();
                for setting in <$config>::SETTINGS {
                    let mut copy = original.clone();
                    let text = original.value(setting.name).expect("a listed setting has a value");
                    assert_eq!(copy.set(setting.name, &text), Ok(()), "{}", setting.name);
                    assert_eq!(copy, original, "{} = {text}", setting.name);
                }
            )* };
        }
        check!(
            BrokerConfig,
            TopicConfig,
            ProducerConfig,
            ConsumerConfig,
            HistoryConfig
        );
    }

    #[test]
    fn a_misspelled_setting_names_the_nearest_one() {
        let error = BrokerConfig::default().set("replica.lag.time.max", "1");
        assert_eq!(
            error,
            Err(SettingError::Unknown {
                name: String::from("replica.lag.time.max"),
                nearest: Some("replica.lag.time.max.ms"),
            }),
            "the nearest name is named"
        );
        let error = ConsumerConfig::default()
            .set("max.poll.records", "0")
            .expect_err("too small");
        assert_eq!(
            error.to_string(),
            "max.poll.records = 0: expected a number from 1 to 2147483647",
            "the message names place and range"
        );
    }
}
