//! Addresses of the page: what stands after the `#`.

#[cfg(test)]
mod tests;

use std::fmt;
use std::fmt::Write as _;
use std::sync::Arc;
use terrarium_core::base::config::nearest;
use terrarium_core::kernel::time::{SimTime, parse_span};
use terrarium_core::lesson::link;

/// A place of the page.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) enum Route {
    /// The question of moment 1, and the map of lessons.
    #[default]
    Home,
    /// A lesson.
    Lesson {
        /// Its id: the name of its file.
        id: String,
        /// What the link asks of it.
        link: RunLink,
    },
    /// A cluster without a lesson.
    Sandbox {
        /// What the link asks of it.
        link: RunLink,
    },
    /// What is modelled and what is left out.
    Fidelity,
    /// The keys.
    Help,
    /// An address that is none of these.
    Bad(LinkError),
}

/// What a link says about a run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct RunLink {
    /// The seed; unset leaves the lesson's own.
    pub(crate) seed: Option<u64>,
    /// The revision of the lesson that the link was made with.
    pub(crate) rev: Option<u32>,
    /// The variant of the lesson; unset for its first.
    pub(crate) variant: Option<String>,
    /// Settings that were changed: path and value.
    pub(crate) settings: Vec<(String, String)>,
    /// Actions in their text form.
    pub(crate) log: Vec<String>,
    /// Where the playhead stands.
    pub(crate) at: Option<SimTime>,
}

/// Why an address is refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct LinkError {
    /// The part that is wrong, as it stands in the address.
    pub(crate) entry: String,
    /// What is wrong with it.
    pub(crate) fault: LinkFault,
}

/// What is wrong with a part of an address.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum LinkFault {
    /// There is no such page; the nearest one, if any is near.
    UnknownPage(Option<&'static str>),
    /// A lesson's address has no id.
    NoLesson,
    /// There is no such name; the nearest one, if any is near.
    UnknownName(Option<&'static str>),
    /// The name stands there twice.
    Twice,
    /// The value is no whole number.
    NotANumber,
    /// The value is no time.
    NotATime,
    /// A `%` is not followed by two hexadecimal digits, or the bytes are no UTF-8.
    BadEscape,
    /// A setting or the log cannot be read: what the engine says about it.
    Unreadable(String),
}

impl fmt::Display for LinkError {
    /// For logs; the page has its own words.
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}: {:?}", self.entry, self.fault)
    }
}

const PAGES: [&str; 5] = ["lesson", "sandbox", "fidelity", "help", "lessons"];
const NAMES: [&str; 6] = ["seed", "rev", "variant", "set", "log", "at"];

impl Route {
    /// Reads what stands after the `#`.
    pub(crate) fn parse(hash: &str) -> Self {
        match Self::read(hash) {
            Ok(route) => route,
            Err(error) => Self::Bad(error),
        }
    }

    fn read(hash: &str) -> Result<Self, LinkError> {
        let path = hash.strip_prefix('#').unwrap_or(hash);
        let (path, query) = path.split_once('?').unwrap_or((path, ""));
        let mut parts = path.split('/').filter(|part| !part.is_empty());
        let page = parts.next();
        let (first, second) = (parts.next(), parts.next());
        let wrong = |entry: &str, fault| {
            Err(LinkError {
                entry: entry.to_owned(),
                fault,
            })
        };
        if let Some(extra) = second {
            return wrong(extra, LinkFault::UnknownPage(None));
        }
        match (page, first) {
            (Some("lesson"), Some(id)) => Ok(Self::Lesson {
                id: decode(id)?,
                link: RunLink::read(query)?,
            }),
            (Some("lesson"), None) => wrong(path, LinkFault::NoLesson),
            (Some("sandbox"), None) => Ok(Self::Sandbox {
                link: RunLink::read(query)?,
            }),
            (_, Some(extra)) => wrong(extra, LinkFault::UnknownPage(None)),
            (_, None) if !query.is_empty() => wrong(query, LinkFault::UnknownName(None)),
            (None | Some("lessons"), None) => Ok(Self::Home),
            (Some("fidelity"), None) => Ok(Self::Fidelity),
            (Some("help"), None) => Ok(Self::Help),
            (Some(other), None) => wrong(
                other,
                LinkFault::UnknownPage(nearest(other, PAGES.into_iter())),
            ),
        }
    }

    /// The address, `#` included.
    pub(crate) fn hash(&self) -> String {
        match self {
            Self::Home | Self::Bad(_) => String::from("#/"),
            Self::Lesson { id, link } => format!("#/lesson/{}{}", encode(id), link.query()),
            Self::Sandbox { link } => format!("#/sandbox{}", link.query()),
            Self::Fidelity => String::from("#/fidelity"),
            Self::Help => String::from("#/help"),
        }
    }

    /// The name of the page, as the document bears it.
    pub(crate) const fn name(&self) -> &'static str {
        match self {
            Self::Home => "home",
            Self::Lesson { .. } => "lesson",
            Self::Sandbox { .. } => "sandbox",
            Self::Fidelity => "fidelity",
            Self::Help => "help",
            Self::Bad(_) => "bad-link",
        }
    }
}

impl RunLink {
    fn read(query: &str) -> Result<Self, LinkError> {
        let mut link = Self::default();
        let mut seen: Vec<&str> = Vec::new();
        for entry in query.split('&').filter(|entry| !entry.is_empty()) {
            let wrong = |fault| LinkError {
                entry: entry.to_owned(),
                fault,
            };
            let (name, value) = entry.split_once('=').unwrap_or((entry, ""));
            // Only settings may come several times, each with its own path.
            if name != "set" && seen.contains(&name) {
                return Err(wrong(LinkFault::Twice));
            }
            seen.push(name);
            let value = decode(value).map_err(|error| wrong(error.fault))?;
            match name {
                "seed" => {
                    link.seed = Some(number(&value).ok_or_else(|| wrong(LinkFault::NotANumber))?);
                }
                "rev" => {
                    link.rev = Some(number(&value).ok_or_else(|| wrong(LinkFault::NotANumber))?);
                }
                "variant" => link.variant = Some(value).filter(|value| !value.is_empty()),
                "set" | "log" => {
                    let part = core_link(entry).map_err(wrong)?;
                    let set = part.set.iter();
                    link.settings
                        .extend(set.map(|(path, value)| (path.to_string(), value.to_string())));
                    link.log.extend(part.log);
                }
                "at" => {
                    let span =
                        parse_span(&value).map_err(|_sentence| wrong(LinkFault::NotATime))?;
                    link.at = Some(SimTime::ZERO + span);
                }
                _ => {
                    let near = nearest(name, NAMES.into_iter());
                    return Err(wrong(LinkFault::UnknownName(near)));
                }
            }
        }
        Ok(link)
    }

    /// `?rev=…&log=…`; empty when the link asks for nothing.
    fn query(&self) -> String {
        if *self == Self::default() {
            return String::new();
        }
        let printed = self.to_core("x").print();
        let query = printed.split_once('?').map_or("", |(_, query)| query);
        // A revision that nobody asked for would refuse the link once the lesson changes.
        let parts = query
            .split('&')
            .filter(|part| self.rev.is_some() || !part.starts_with("rev="));
        let at = self.at.map(|at| format!("at={}", at.since(SimTime::ZERO)));
        let parts: Vec<String> = parts.map(str::to_owned).chain(at).collect();
        format!("?{}", parts.join("&"))
    }

    /// The same as the engine has it, but for the playhead.
    pub(crate) fn to_core(&self, lesson: &str) -> link::Link {
        let set = self.settings.iter();
        link::Link {
            lesson: Arc::from(lesson),
            revision: self.rev.unwrap_or(1),
            seed: self.seed,
            variant: self.variant.as_deref().map(Arc::from),
            set: set
                .map(|(path, value)| (Arc::from(&**path), Arc::from(&**value)))
                .collect(),
            log: self.log.clone(),
        }
    }

    /// The same as the page has it.
    pub(crate) fn of_core(link: &link::Link) -> Self {
        let set = link.set.iter();
        Self {
            seed: link.seed,
            rev: Some(link.revision),
            variant: link.variant.as_ref().map(ToString::to_string),
            settings: set
                .map(|(path, value)| (path.to_string(), value.to_string()))
                .collect(),
            log: link.log.clone(),
            at: None,
        }
    }
}

/// Has the engine read one entry of a link.
fn core_link(entry: &str) -> Result<link::Link, LinkFault> {
    link::Link::parse(&format!("#/lesson/x?{entry}")).map_err(|error| match error {
        link::LinkError::Part { problem, .. } => LinkFault::Unreadable(problem.to_string()),
        other => LinkFault::Unreadable(other.to_string()),
    })
}

fn number<T: std::str::FromStr>(text: &str) -> Option<T> {
    let digits = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    text.parse().ok().filter(|_| digits)
}

/// Escapes what may not stand in an address; keeps an action readable.
fn encode(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for byte in text.bytes() {
        match byte {
            b'A'..=b'Z'
            | b'a'..=b'z'
            | b'0'..=b'9'
            | b'-'
            | b'_'
            | b'.'
            | b'~'
            | b';'
            | b','
            | b':'
            | b'/' => out.push(char::from(byte)),
            b' ' => out.push('+'),
            _ => {
                write!(out, "%{byte:02X}").ok();
            }
        }
    }
    out
}

fn decode(text: &str) -> Result<String, LinkError> {
    let bad = || LinkError {
        entry: text.to_owned(),
        fault: LinkFault::BadEscape,
    };
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        match byte {
            b'+' => bytes.push(b' '),
            b'%' => {
                let mut digit = || rest.next().and_then(|byte| char::from(byte).to_digit(16));
                let (high, low) = digit().zip(digit()).ok_or_else(bad)?;
                bytes.push(u8::try_from(high * 16 + low).map_err(|_large| bad())?);
            }
            _ => bytes.push(byte),
        }
    }
    String::from_utf8(bytes).map_err(|_utf8| bad())
}
