//! Addresses of the page: what stands after the `#`.

#[cfg(test)]
mod tests;

use std::fmt;
use std::fmt::Write as _;
use terrarium_core::base::config::nearest;
use terrarium_core::kernel::time::{SimTime, parse_span};

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
    /// A changed setting is not written `path=value`.
    NotASetting,
    /// The value is no time.
    NotATime,
    /// A `%` is not followed by two hexadecimal digits, or the bytes are no UTF-8.
    BadEscape,
    /// An action cannot be read: what the action language says about it.
    BadAction(String),
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

    /// A lesson as it stands in its file.
    pub(crate) fn lesson(id: &str) -> Self {
        Self::Lesson {
            id: id.to_owned(),
            link: RunLink::default(),
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
            if seen.contains(&name) {
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
                "set" => {
                    for one in value.split(';').filter(|text| !text.is_empty()) {
                        let pair = one
                            .split_once('=')
                            .ok_or_else(|| wrong(LinkFault::NotASetting))?;
                        link.settings.push((pair.0.to_owned(), pair.1.to_owned()));
                    }
                }
                "log" => {
                    let actions = value
                        .split(';')
                        .map(str::trim)
                        .filter(|text| !text.is_empty());
                    link.log = actions.map(str::to_owned).collect();
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

    /// `?seed=…&log=…`; empty when the link asks for nothing.
    fn query(&self) -> String {
        let mut query = String::new();
        let mut add = |name: &str, value: &str| {
            query.push(if query.is_empty() { '?' } else { '&' });
            query.push_str(name);
            query.push('=');
            query.push_str(&encode(value));
        };
        if let Some(rev) = self.rev {
            add("rev", &rev.to_string());
        }
        if let Some(seed) = self.seed {
            add("seed", &seed.to_string());
        }
        if let Some(variant) = &self.variant {
            add("variant", variant);
        }
        if !self.settings.is_empty() {
            let pairs: Vec<String> = self
                .settings
                .iter()
                .map(|(path, value)| format!("{path}={value}"))
                .collect();
            add("set", &pairs.join(";"));
        }
        if !self.log.is_empty() {
            add("log", &self.log.join(";"));
        }
        if let Some(at) = self.at {
            add("at", &at.since(SimTime::ZERO).to_string());
        }
        query
    }
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
