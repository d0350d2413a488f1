//! What a learner did, as a text and as a link.
//!
//! The text has one entry a line: `lesson the-barrier rev 1`, `seed 7`, `variant static`,
//! `set consumer.c4.start = 62s`, then actions such as `22s restart-broker 2`. Empty lines and
//! lines that begin with `#` say nothing.
//!
//! The link is `#/lesson/ID?rev=R&seed=N&variant=V&set=PATH=VALUE&log=…`. The log is plain while
//! short: actions separated by `;`, blanks as `+`. A longer one is `z1.` and the deflated text in
//! URL-safe base64. A plain log begins with a digit, so the two cannot be confused.

use super::error::Problem;
use super::format::{Lesson, SetupError};
use super::settings::{Override, SetError};
use crate::kernel::limits::ACTIONS_MAX;
use crate::kernel::time::SimTime;
use crate::sim::action::{self, ActionError};
use crate::sim::command::Command;
use crate::sim::scenario::Scenario;
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde::Serialize;
use std::fmt;
use std::sync::Arc;

/// A run of a lesson that can be handed on: what was set, and what was done.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Link {
    /// The lesson.
    pub lesson: Arc<str>,
    /// The lesson's revision.
    pub revision: u32,
    /// The seed; unset for the lesson's own.
    pub seed: Option<u64>,
    /// The variant; unset for the first, if there is one.
    pub variant: Option<Arc<str>>,
    /// Settings that were changed.
    pub set: Vec<Override>,
    /// Actions in their text form.
    pub log: Vec<String>,
}

/// A run that a link stands for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Opened {
    /// The scenario with variant, settings and seed.
    pub scenario: Scenario,
    /// The learner's actions, in order of time.
    pub actions: Vec<(SimTime, Command)>,
}

/// Why a link or recording is refused.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum LinkError {
    /// It does not begin as a lesson's link does.
    NotALessonLink,
    /// A part that links do not have, or a part that is not what it should be.
    Part {
        /// The part as it was given.
        part: String,
        /// What is wrong with it.
        problem: Problem,
    },
    /// The compressed log is damaged.
    DamagedLog,
    /// It belongs to another lesson.
    OtherLesson {
        /// The lesson that it names.
        given: Arc<str>,
        /// The lesson that is open.
        expected: Arc<str>,
    },
    /// The lesson has changed since.
    OtherRevision {
        /// The revision that it names.
        given: u32,
        /// The lesson's revision.
        expected: u32,
    },
    /// Variant and settings cannot be set up.
    Setup(SetupError),
    /// An entry of the log cannot be read.
    Entry {
        /// Its number, from 1.
        number: u32,
        /// What is wrong.
        error: ActionError,
    },
    /// An entry of the log is not among the actions that the lesson allows.
    NotAllowed {
        /// Its number, from 1.
        number: u32,
        /// The entry.
        entry: String,
    },
}

impl fmt::Display for LinkError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotALessonLink => {
                formatter.write_str("expected a link such as #/lesson/ID?rev=1")
            }
            Self::Part { part, problem } => write!(formatter, "`{part}`: {problem}"),
            Self::DamagedLog => formatter.write_str("the log in the link is damaged or cut short"),
            Self::OtherLesson { given, expected } => {
                write!(
                    formatter,
                    "it belongs to the lesson {given}, not to {expected}"
                )
            }
            Self::OtherRevision { given, expected } => write!(
                formatter,
                "it was made with revision {given} of the lesson, which has revision {expected} now"
            ),
            Self::Setup(error) => error.fmt(formatter),
            Self::Entry { number, error } => write!(formatter, "entry {number}: {error}"),
            Self::NotAllowed { number, entry } => {
                write!(
                    formatter,
                    "entry {number}: `{entry}` is not allowed in this lesson"
                )
            }
        }
    }
}

impl Link {
    /// What a learner did in this lesson.
    pub fn new(
        lesson: &Lesson,
        variant: Option<&str>,
        set: &[Override],
        seed: Option<u64>,
        actions: &[(SimTime, Command)],
    ) -> Self {
        let print =
            |(at, command): &(SimTime, Command)| action::print_timed(*at, command, &lesson.base);
        Self {
            lesson: lesson.id.clone(),
            revision: lesson.revision,
            seed,
            variant: variant.map(Arc::from),
            set: set.to_vec(),
            log: actions.iter().map(print).collect(),
        }
    }

    /// As a link.
    pub fn print(&self) -> String {
        let mut parts = vec![format!("rev={}", self.revision)];
        parts.extend(self.seed.map(|seed| format!("seed={seed}")));
        parts.extend(
            self.variant
                .as_ref()
                .map(|name| format!("variant={}", escape(name))),
        );
        let set = |(path, value): &Override| format!("set={}={}", escape(path), escape(value));
        parts.extend(self.set.iter().map(set));
        if !self.log.is_empty() {
            let entries: Vec<String> = self.log.iter().map(|entry| escape(entry)).collect();
            let plain = entries.join(";");
            let log = if plain.len() <= PLAIN_CHARS_MAX {
                plain
            } else {
                let text = self.log.join("\n");
                let deflated = miniz_oxide::deflate::compress_to_vec(text.as_bytes(), 9);
                format!("{COMPRESSED}{}", URL_SAFE_NO_PAD.encode(deflated))
            };
            parts.push(format!("log={log}"));
        }
        format!("{PREFIX}{}?{}", self.lesson, parts.join("&"))
    }

    /// Reads a link. What comes before its `#` does not matter.
    ///
    /// # Errors
    /// Names the part that is wrong.
    pub fn parse(text: &str) -> Result<Self, LinkError> {
        let text = text.trim();
        let start = text.find(PREFIX).ok_or(LinkError::NotALessonLink)?;
        let rest = text.get(start + PREFIX.len()..).unwrap_or_default();
        let (id, query) = rest.split_once('?').unwrap_or((rest, ""));
        if id.is_empty() {
            return Err(LinkError::NotALessonLink);
        }
        let mut link = Self {
            lesson: Arc::from(id),
            revision: 1,
            ..Self::default()
        };
        for part in query.split('&').filter(|part| !part.is_empty()) {
            let (name, value) = part.split_once('=').unwrap_or((part, ""));
            match name {
                "rev" => link.revision = number(part, value)?,
                "seed" => link.seed = Some(number(part, value)?),
                "variant" => link.variant = Some(Arc::from(unescape(part, value)?)),
                "set" => {
                    let (path, value) = value
                        .split_once('=')
                        .ok_or_else(|| expected(part, "set=PATH=VALUE"))?;
                    let path = Arc::from(unescape(part, path)?);
                    link.set.push((path, Arc::from(unescape(part, value)?)));
                }
                "log" => link.log = read_log(part, value)?,
                _ => return Err(unknown(part, name, &PARTS)),
            }
        }
        link.check_length()?;
        Ok(link)
    }

    /// As a text with one entry a line.
    pub fn to_text(&self) -> String {
        let mut lines = vec![format!("lesson {} rev {}", self.lesson, self.revision)];
        lines.extend(self.seed.map(|seed| format!("seed {seed}")));
        lines.extend(self.variant.as_ref().map(|name| format!("variant {name}")));
        lines.extend(
            self.set
                .iter()
                .map(|(path, value)| format!("set {path} = {value}")),
        );
        lines.extend(self.log.iter().cloned());
        lines.push(String::new());
        lines.join("\n")
    }

    /// Reads a text with one entry a line, or one that holds nothing but a link. A text that does
    /// not name its lesson is taken for one of `lesson`.
    ///
    /// # Errors
    /// Names the line that is wrong.
    pub fn from_text(text: &str, lesson: &Lesson) -> Result<Self, LinkError> {
        if text.contains(PREFIX) {
            return Self::parse(text);
        }
        let mut link = Self {
            lesson: lesson.id.clone(),
            revision: lesson.revision,
            ..Self::default()
        };
        let lines = text.lines().map(str::trim);
        for line in lines.filter(|line| !line.is_empty() && !line.starts_with('#')) {
            let (word, rest) = line
                .split_once(' ')
                .map_or((line, ""), |(w, r)| (w, r.trim()));
            match word {
                "lesson" => {
                    let (id, revision) = rest.split_once(" rev ").unwrap_or((rest, "1"));
                    link.lesson = Arc::from(id.trim());
                    link.revision = number(line, revision.trim())?;
                }
                "seed" => link.seed = Some(number(line, rest)?),
                "variant" => link.variant = Some(Arc::from(rest)),
                "set" => {
                    let (path, value) = rest
                        .split_once('=')
                        .ok_or_else(|| expected(line, "set PATH = VALUE"))?;
                    link.set
                        .push((Arc::from(path.trim()), Arc::from(value.trim())));
                }
                _ if word.starts_with(|c: char| c.is_ascii_digit()) => {
                    link.log.push(line.to_owned());
                }
                _ => return Err(unknown(line, word, &WORDS)),
            }
        }
        link.check_length()?;
        Ok(link)
    }

    /// The run that it stands for, checked against the lesson.
    ///
    /// # Errors
    /// Names the entry that the lesson does not take.
    pub fn open(&self, lesson: &Lesson) -> Result<Opened, LinkError> {
        if self.lesson != lesson.id {
            let (given, expected) = (self.lesson.clone(), lesson.id.clone());
            return Err(LinkError::OtherLesson { given, expected });
        }
        if self.revision != lesson.revision {
            let (given, expected) = (self.revision, lesson.revision);
            return Err(LinkError::OtherRevision { given, expected });
        }
        for (path, _) in &self.set {
            if !lesson.allows_setting(path) {
                let error = SetError::NotAllowed {
                    path: path.to_string(),
                };
                return Err(LinkError::Setup(SetupError::Set(error)));
            }
        }
        let scenario = lesson.scenario(self.variant.as_deref(), &self.set);
        let mut scenario = scenario.map_err(LinkError::Setup)?;
        if let Some(seed) = self.seed {
            scenario.seed = seed;
        }
        let mut actions = Vec::new();
        for (number, entry) in (1..).zip(&self.log) {
            let timed = action::parse_timed(entry, &scenario);
            let timed = timed.map_err(|error| LinkError::Entry { number, error })?;
            if !lesson.allows_action(&timed.1) {
                return Err(LinkError::NotAllowed {
                    number,
                    entry: entry.clone(),
                });
            }
            actions.push(timed);
        }
        actions.sort_by_key(|(at, _)| *at);
        Ok(Opened { scenario, actions })
    }

    fn check_length(&self) -> Result<(), LinkError> {
        let count = u64::try_from(self.log.len()).unwrap_or(u64::MAX);
        let count_max = u64::from(ACTIONS_MAX);
        if count_max < count {
            let problem = Problem::TooMany {
                what: "actions",
                count,
                count_max,
            };
            return Err(LinkError::Part {
                part: String::from("log"),
                problem,
            });
        }
        Ok(())
    }
}

fn read_log(part: &str, value: &str) -> Result<Vec<String>, LinkError> {
    if let Some(encoded) = value.strip_prefix(COMPRESSED) {
        let damaged = || LinkError::DamagedLog;
        let deflated = URL_SAFE_NO_PAD
            .decode(encoded)
            .map_err(|_not_base64| damaged())?;
        let text = miniz_oxide::inflate::decompress_to_vec_with_limit(&deflated, LOG_BYTES_MAX)
            .map_err(|_not_deflate| damaged())?;
        let text = String::from_utf8(text).map_err(|_not_utf8| damaged())?;
        return Ok(text.lines().map(str::to_owned).collect());
    }
    let entries = value.split(';').filter(|entry| !entry.is_empty());
    entries.map(|entry| unescape(part, entry)).collect()
}

/// Leaves what links may hold, writes `+` for a blank and `%XX` for each byte of the rest.
fn escape(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for byte in text.bytes() {
        match byte {
            b' ' => escaped.push('+'),
            b'-' | b'_' | b'.' | b'~' | b'*' | b':' | b'=' | b'"' => escaped.push(char::from(byte)),
            _ if byte.is_ascii_alphanumeric() => escaped.push(char::from(byte)),
            _ => {
                let digit = |nibble: u8| char::from_digit(u32::from(nibble), 16).unwrap_or('0');
                let digits = [digit(byte >> 4), digit(byte & 15)];
                escaped.push('%');
                escaped.extend(digits.map(|digit| digit.to_ascii_uppercase()));
            }
        }
    }
    escaped
}

fn unescape(part: &str, text: &str) -> Result<String, LinkError> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        match byte {
            b'+' => bytes.push(b' '),
            b'%' => {
                let digit = |byte: Option<u8>| char::from(byte?).to_digit(16);
                let pair = digit(rest.next()).zip(digit(rest.next()));
                let decoded = pair.and_then(|(high, low)| u8::try_from(high * 16 + low).ok());
                let escape = "two hexadecimal digits after each %";
                bytes.push(decoded.ok_or_else(|| expected(part, escape))?);
            }
            _ => bytes.push(byte),
        }
    }
    String::from_utf8(bytes).map_err(|_not_utf8| expected(part, "text in UTF-8"))
}

fn number<T: std::str::FromStr>(part: &str, text: &str) -> Result<T, LinkError> {
    text.parse()
        .map_err(|_not_a_number| expected(part, "a whole number"))
}

fn expected(part: &str, what: &str) -> LinkError {
    let problem = Problem::expected(what, "something else");
    LinkError::Part {
        part: shorten(part),
        problem,
    }
}

fn unknown(part: &str, name: &str, known: &[&str]) -> LinkError {
    let problem = Problem::unknown("part", &shorten(name), known.iter().copied());
    LinkError::Part {
        part: shorten(part),
        problem,
    }
}

fn shorten(text: &str) -> String {
    text.chars().take(SHOWN_CHARS_MAX).collect()
}

const PREFIX: &str = "#/lesson/";
const PARTS: [&str; 5] = ["rev", "seed", "variant", "set", "log"];
const WORDS: [&str; 4] = ["lesson", "seed", "variant", "set"];
/// Marks a compressed log, and its version.
const COMPRESSED: &str = "z1.";
/// A log longer than this is compressed.
const PLAIN_CHARS_MAX: usize = 1_500;
/// A log that unpacks to more than this is refused.
const LOG_BYTES_MAX: usize = 64 << 20;
const SHOWN_CHARS_MAX: usize = 80;

#[cfg(test)]
mod tests;
