//! The text form of an action: `8.5s kill-broker 2`, `31s send orders key=a value=wait`.
//!
//! Lessons, links, submissions and the console's history all write actions this way. Words are
//! separated by blanks; a word with blanks or quotes in it stands in double quotes, with `\"` and
//! `\\` inside.

use crate::base::config::nearest;
use crate::base::ids::{BrokerId, ClientId, NodeId};
use crate::kernel::limits::{RECORD_TEXT_BYTES_MAX, SIM_TIME_MAX_US};
use crate::kernel::time::{SimTime, Span, parse_span};
use crate::sim::command::Command;
use crate::sim::scenario::{CONTROLLER, Scenario};
use crate::wire::api::ApiKey;
use serde::Serialize;
use std::fmt;
use std::sync::Arc;

/// What an action is called and how it is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct ActionInfo {
    /// Its verb.
    pub verb: &'static str,
    /// What follows the verb.
    pub arguments: &'static str,
    /// What it does.
    pub doc: &'static str,
}

/// Every action.
pub const ACTIONS: &[ActionInfo] = &[
    ActionInfo {
        verb: "kill-broker",
        arguments: "ID",
        doc: "The broker's process dies; what it wrote stays on its disk.",
    },
    ActionInfo {
        verb: "restart-broker",
        arguments: "ID",
        doc: "Starts the process of a dead broker again.",
    },
    ActionInfo {
        verb: "pause-broker",
        arguments: "ID TIME",
        doc: "The process stands still, as in a long garbage collection.",
    },
    ActionInfo {
        verb: "start-consumer",
        arguments: "NAME",
        doc: "Starts a process that has not run, was stopped or has died.",
    },
    ActionInfo {
        verb: "stop-consumer",
        arguments: "NAME",
        doc: "The application calls close() and leaves its group.",
    },
    ActionInfo {
        verb: "kill-consumer",
        arguments: "NAME",
        doc: "The process dies without a word.",
    },
    ActionInfo {
        verb: "restart-consumer",
        arguments: "NAME",
        doc: "Kills the process if it runs, and starts it again at once.",
    },
    ActionInfo {
        verb: "pause-consumer",
        arguments: "NAME TIME",
        doc: "The process stands still, heartbeat thread included.",
    },
    ActionInfo {
        verb: "start-producer",
        arguments: "NAME",
        doc: "Starts a process that has not run, was stopped or has died.",
    },
    ActionInfo {
        verb: "stop-producer",
        arguments: "NAME",
        doc: "The application flushes and calls close().",
    },
    ActionInfo {
        verb: "kill-producer",
        arguments: "NAME",
        doc: "The process dies without a word.",
    },
    ActionInfo {
        verb: "restart-producer",
        arguments: "NAME",
        doc: "Kills the process if it runs, and starts it again at once.",
    },
    ActionInfo {
        verb: "pause-producer",
        arguments: "NAME TIME",
        doc: "The process stands still.",
    },
    ActionInfo {
        verb: "send",
        arguments: "TOPIC value=TEXT [key=TEXT] [partition=NUMBER] [count=NUMBER]",
        doc: "The console producer sends a record, or several.",
    },
    ActionInfo {
        verb: "cut-link",
        arguments: "NODE NODE",
        doc: "Nothing passes between the two, in either direction. A number is a broker, a name a client, controller the controller.",
    },
    ActionInfo {
        verb: "heal-link",
        arguments: "NODE NODE",
        doc: "Messages pass again; what was held arrives now.",
    },
    ActionInfo {
        verb: "drop-next",
        arguments: "NODE NODE API",
        doc: "The next request or response of this API, such as Produce, from the first node to the second is lost.",
    },
];

/// Why an action cannot be read.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ActionError {
    /// The action as it was given.
    pub text: String,
    /// The word at fault; empty when a word is missing.
    pub word: String,
    /// What was expected in its place.
    pub expected: String,
    /// The known name that looks most like the word.
    pub nearest: Option<String>,
}

impl fmt::Display for ActionError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            formatter,
            "action `{}`: expected {}",
            self.text, self.expected
        )?;
        if self.word.is_empty() {
            formatter.write_str(" at its end")?;
        } else {
            write!(formatter, ", found `{}`", self.word)?;
        }
        match &self.nearest {
            Some(nearest) => write!(formatter, "; did you mean {nearest}?"),
            None => Ok(()),
        }
    }
}

/// Reads a timed action such as `8.5s kill-broker 2`.
///
/// # Errors
/// Names the word at fault and what was expected in its place.
pub fn parse_timed(text: &str, scenario: &Scenario) -> Result<(SimTime, Command), ActionError> {
    let mut words = Words::new(text, scenario)?;
    let time = words.span("a time such as 8.5s")?;
    if SIM_TIME_MAX_US < time.0 {
        let latest = SimTime(SIM_TIME_MAX_US);
        return Err(words.error(&time.to_string(), format!("a time up to {latest}")));
    }
    Ok((SimTime(time.0), words.command()?))
}

/// Reads an action such as `kill-broker 2`.
///
/// # Errors
/// Names the word at fault and what was expected in its place.
pub fn parse(text: &str, scenario: &Scenario) -> Result<Command, ActionError> {
    Words::new(text, scenario)?.command()
}

/// Writes a timed action so that [`parse_timed`] reads it back.
pub fn print_timed(at: SimTime, command: &Command, scenario: &Scenario) -> String {
    format!("{} {}", print_time(Span(at.0)), print(command, scenario))
}

/// A time in the shortest exact form with seconds as the largest unit: `8.5s`, `250ms`.
pub fn print_time(time: Span) -> String {
    let (seconds, rest) = (time.0 / 1_000_000, time.0 % 1_000_000);
    if rest == 0 || seconds == 0 {
        return time.to_string();
    }
    let fraction = format!("{rest:06}");
    format!("{seconds}.{}s", fraction.trim_end_matches('0'))
}

/// Writes an action so that [`parse`] reads it back.
pub fn print(command: &Command, scenario: &Scenario) -> String {
    let client = |verb: &str, id: &ClientId| {
        let kind = if scenario.consumer(*id).is_some() {
            "consumer"
        } else {
            "producer"
        };
        format!("{verb}-{kind} {}", quote(scenario.client_name(*id)))
    };
    match command {
        Command::KillBroker(id) => format!("kill-broker {id}"),
        Command::RestartBroker(id) => format!("restart-broker {id}"),
        Command::PauseBroker(id, span) => format!("pause-broker {id} {}", print_time(*span)),
        Command::StartClient(id) => client("start", id),
        Command::StopClient(id) => client("stop", id),
        Command::KillClient(id) => client("kill", id),
        Command::RestartClient(id) => client("restart", id),
        Command::PauseClient(id, span) => {
            format!("{} {}", client("pause", id), print_time(*span))
        }
        Command::Send {
            topic,
            key,
            value,
            partition,
            count,
        } => {
            let key = key.as_ref().map(|key| format!(" key={}", quote(key)));
            let partition = partition.map(|partition| format!(" partition={partition}"));
            let count = (*count != 1).then(|| format!(" count={count}"));
            format!(
                "send {}{} value={}{}{}",
                quote(topic),
                key.unwrap_or_default(),
                quote(value),
                partition.unwrap_or_default(),
                count.unwrap_or_default()
            )
        }
        Command::CutLink(from, to) => {
            format!(
                "cut-link {} {}",
                print_node(*from, scenario),
                print_node(*to, scenario)
            )
        }
        Command::DropNext(from, to, api) => {
            format!(
                "drop-next {} {} {api}",
                print_node(*from, scenario),
                print_node(*to, scenario)
            )
        }
        Command::HealLink(from, to) => {
            format!(
                "heal-link {} {}",
                print_node(*from, scenario),
                print_node(*to, scenario)
            )
        }
    }
}

/// A node as actions write it: `2`, `controller`, `c3`.
pub fn print_node(node: NodeId, scenario: &Scenario) -> String {
    match node {
        NodeId::Controller(_) => String::from(CONTROLLER_NAME),
        NodeId::Broker(id) => id.to_string(),
        NodeId::Client(id) => quote(scenario.client_name(id)),
    }
}

/// The node that actions write as `text`.
pub fn node_by_text(text: &str, scenario: &Scenario) -> Option<NodeId> {
    if text == CONTROLLER_NAME {
        return Some(NodeId::Controller(CONTROLLER));
    }
    if let Ok(id) = text.parse() {
        let id = BrokerId(id);
        return scenario
            .brokers
            .iter()
            .any(|broker| broker.id == id)
            .then_some(NodeId::Broker(id));
    }
    scenario.client_by_name(text).map(NodeId::Client)
}

/// The verb of an action as `allow` writes it.
pub fn verb(command: &Command, scenario: &Scenario) -> &'static str {
    let is_consumer = |id: &ClientId| scenario.consumer(*id).is_some();
    match command {
        Command::KillBroker(_) => "kill-broker",
        Command::RestartBroker(_) => "restart-broker",
        Command::PauseBroker(..) => "pause-broker",
        Command::StartClient(id) if is_consumer(id) => "start-consumer",
        Command::StartClient(_) => "start-producer",
        Command::StopClient(id) if is_consumer(id) => "stop-consumer",
        Command::StopClient(_) => "stop-producer",
        Command::KillClient(id) if is_consumer(id) => "kill-consumer",
        Command::KillClient(_) => "kill-producer",
        Command::RestartClient(id) if is_consumer(id) => "restart-consumer",
        Command::RestartClient(_) => "restart-producer",
        Command::PauseClient(id, _) if is_consumer(id) => "pause-consumer",
        Command::PauseClient(..) => "pause-producer",
        Command::Send { .. } => "send",
        Command::CutLink(..) => "cut-link",
        Command::HealLink(..) => "heal-link",
        Command::DropNext(..) => "drop-next",
    }
}

fn quote(text: &str) -> String {
    let is_plain = |c: char| !c.is_whitespace() && !c.is_control() && c != '"' && c != '\\';
    if !text.is_empty() && text.chars().all(is_plain) {
        return text.to_owned();
    }
    let mut quoted = String::from("\"");
    for c in text.chars() {
        match c {
            '"' | '\\' => quoted.extend(['\\', c]),
            '\n' => quoted.push_str("\\n"),
            '\t' => quoted.push_str("\\t"),
            '\r' => quoted.push_str("\\r"),
            _ => quoted.push(c),
        }
    }
    quoted.push('"');
    quoted
}

struct Words<'a> {
    text: &'a str,
    rest: std::vec::IntoIter<String>,
    scenario: &'a Scenario,
}

impl<'a> Words<'a> {
    fn new(text: &'a str, scenario: &'a Scenario) -> Result<Self, ActionError> {
        let words = split_words(text).map_err(|expected| ActionError {
            text: shorten(text),
            word: String::new(),
            expected: String::from(expected),
            nearest: None,
        })?;
        Ok(Self {
            text,
            rest: words.into_iter(),
            scenario,
        })
    }

    fn command(&mut self) -> Result<Command, ActionError> {
        let verb = self.word("an action such as kill-broker")?;
        let command = match verb.as_str() {
            "kill-broker" => Command::KillBroker(self.broker()?),
            "restart-broker" => Command::RestartBroker(self.broker()?),
            "pause-broker" => Command::PauseBroker(self.broker()?, self.span(PAUSE)?),
            "start-consumer" => Command::StartClient(self.consumer()?),
            "stop-consumer" => Command::StopClient(self.consumer()?),
            "kill-consumer" => Command::KillClient(self.consumer()?),
            "restart-consumer" => Command::RestartClient(self.consumer()?),
            "pause-consumer" => Command::PauseClient(self.consumer()?, self.span(PAUSE)?),
            "start-producer" => Command::StartClient(self.producer()?),
            "stop-producer" => Command::StopClient(self.producer()?),
            "kill-producer" => Command::KillClient(self.producer()?),
            "restart-producer" => Command::RestartClient(self.producer()?),
            "pause-producer" => Command::PauseClient(self.producer()?, self.span(PAUSE)?),
            "send" => self.send()?,
            "cut-link" => {
                let (from, to) = self.ends()?;
                Command::CutLink(from, to)
            }
            "heal-link" => {
                let (from, to) = self.ends()?;
                Command::HealLink(from, to)
            }
            "drop-next" => {
                let (from, to) = self.ends()?;
                Command::DropNext(from, to, self.api()?)
            }
            _ => {
                let verbs = || ACTIONS.iter().map(|action| action.verb);
                return Err(self.unknown(&verb, "an action such as kill-broker", verbs()));
            }
        };
        match self.rest.next() {
            None => Ok(command),
            Some(extra) => Err(self.error(&extra, String::from("the end of the action"))),
        }
    }

    fn send(&mut self) -> Result<Command, ActionError> {
        let topics: Vec<Arc<str>> = self
            .scenario
            .topics
            .iter()
            .map(|topic| topic.name.clone())
            .collect();
        let name = self.word("a topic")?;
        let Some(topic) = topics.iter().find(|topic| ***topic == *name).cloned() else {
            return Err(self.unknown(&name, "a topic", topics.iter().map(|topic| &**topic)));
        };
        let (mut key, mut value, mut partition, mut count) = (None, None, None, None);
        while let Some(word) = self.rest.next() {
            let Some((field, text)) = word.split_once('=') else {
                return Err(self.unknown(&word, SEND_FIELDS, SEND_NAMES.iter().copied()));
            };
            match field {
                "key" if key.is_none() => key = Some(self.record_text(text)?),
                "value" if value.is_none() => value = Some(self.record_text(text)?),
                "partition" if partition.is_none() => {
                    partition = Some(self.number(&word, text, 0, u32::MAX)?);
                }
                "count" if count.is_none() => {
                    count = Some(self.number(&word, text, 1, SEND_COUNT_MAX)?);
                }
                "key" | "value" | "partition" | "count" => {
                    return Err(self.error(&word, format!("only one {field}")));
                }
                _ => return Err(self.unknown(field, SEND_FIELDS, SEND_NAMES.iter().copied())),
            }
        }
        let value = value.ok_or_else(|| self.error("", String::from("value=TEXT")))?;
        Ok(Command::Send {
            topic,
            key,
            value,
            partition,
            count: count.unwrap_or(1),
        })
    }

    fn record_text(&self, text: &str) -> Result<Arc<str>, ActionError> {
        let bytes = u32::try_from(text.len()).unwrap_or(u32::MAX);
        if RECORD_TEXT_BYTES_MAX < bytes {
            let expected = format!("at most {RECORD_TEXT_BYTES_MAX} bytes of text");
            return Err(self.error(&shorten(text), expected));
        }
        Ok(Arc::from(text))
    }

    fn number(&self, word: &str, text: &str, min: u32, max: u32) -> Result<u32, ActionError> {
        match text.parse() {
            Ok(number) if (min..=max).contains(&number) => Ok(number),
            Ok(_) | Err(_) => Err(self.error(word, format!("a number from {min} to {max}"))),
        }
    }

    fn word(&mut self, expected: &str) -> Result<String, ActionError> {
        self.rest
            .next()
            .ok_or_else(|| self.error("", expected.to_owned()))
    }

    fn span(&mut self, expected: &str) -> Result<Span, ActionError> {
        let word = self.word(expected)?;
        parse_span(&word).map_err(|_sentence| self.error(&word, expected.to_owned()))
    }

    fn broker(&mut self) -> Result<BrokerId, ActionError> {
        let word = self.word("a broker's id")?;
        let known = self.scenario.brokers.iter().map(|broker| broker.id);
        if let Ok(id) = word.parse()
            && known.clone().any(|broker| broker == BrokerId(id))
        {
            return Ok(BrokerId(id));
        }
        let ids: Vec<String> = known.map(|id| id.to_string()).collect();
        Err(self.error(&word, format!("a broker's id: {}", ids.join(", "))))
    }

    fn consumer(&mut self) -> Result<ClientId, ActionError> {
        let word = self.word("a consumer's name")?;
        let client = self.scenario.client_by_name(&word);
        let consumer = client.filter(|id| self.scenario.consumer(*id).is_some());
        let known = || {
            self.scenario
                .consumers
                .iter()
                .map(|consumer| &*consumer.name)
        };
        consumer.ok_or_else(|| self.unknown(&word, "a consumer's name", known()))
    }

    fn producer(&mut self) -> Result<ClientId, ActionError> {
        let word = self.word("a producer's name")?;
        let client = self.scenario.client_by_name(&word);
        let producer = client.filter(|id| self.scenario.producer(*id).is_some());
        let known = || {
            self.scenario
                .producers
                .iter()
                .map(|producer| &*producer.name)
        };
        producer.ok_or_else(|| self.unknown(&word, "a producer's name", known()))
    }

    fn api(&mut self) -> Result<ApiKey, ActionError> {
        let expected = "an API such as Produce";
        let word = self.word(expected)?;
        let known = || ApiKey::ALL.iter().map(|api| api.name());
        let found = ApiKey::ALL.iter().find(|api| api.name() == word);
        found
            .copied()
            .ok_or_else(|| self.unknown(&word, expected, known()))
    }

    fn ends(&mut self) -> Result<(NodeId, NodeId), ActionError> {
        let from = self.node()?;
        let to = self.node()?;
        if from == to {
            return Err(self.error(
                &print_node(to, self.scenario),
                String::from("another node at the other end of the link"),
            ));
        }
        Ok((from, to))
    }

    fn node(&mut self) -> Result<NodeId, ActionError> {
        let word = self.word(NODE)?;
        let scenario = self.scenario;
        node_by_text(&word, scenario).ok_or_else(|| {
            let clients = (0..scenario.client_count()).map(|id| scenario.client_name(ClientId(id)));
            self.unknown(&word, NODE, clients.chain([CONTROLLER_NAME]))
        })
    }

    fn error(&self, word: &str, expected: String) -> ActionError {
        ActionError {
            text: shorten(self.text),
            word: shorten(word),
            expected,
            nearest: None,
        }
    }

    fn unknown<'n>(
        &self,
        word: &str,
        expected: &str,
        known: impl Iterator<Item = &'n str>,
    ) -> ActionError {
        let word = shorten(word);
        let nearest = nearest(&word, known).map(str::to_owned);
        ActionError {
            nearest,
            ..self.error(&word, expected.to_owned())
        }
    }
}

/// Splits at blanks that are not inside quotes, and takes the quotes away.
fn split_words(text: &str) -> Result<Vec<String>, &'static str> {
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut is_quoted = false;
    let mut chars = text.chars();
    while let Some(c) = chars.next() {
        match c {
            '"' => {
                is_quoted = !is_quoted;
                word.get_or_insert_default();
            }
            '\\' => {
                let escaped = match chars.next().ok_or("a character after the backslash")? {
                    'n' => '\n',
                    't' => '\t',
                    'r' => '\r',
                    other => other,
                };
                word.get_or_insert_default().push(escaped);
            }
            _ if c.is_whitespace() && !is_quoted => words.extend(word.take()),
            _ => word.get_or_insert_default().push(c),
        }
    }
    if is_quoted {
        return Err("a closing quote");
    }
    words.extend(word);
    Ok(words)
}

/// At most as much of a text as an error message should repeat.
fn shorten(text: &str) -> String {
    match text.char_indices().nth(SHOWN_CHARS_MAX) {
        Some((end, _)) => format!("{}…", text.get(..end).unwrap_or_default()),
        None => text.to_owned(),
    }
}

const CONTROLLER_NAME: &str = "controller";
const NODE: &str = "a broker's id, a client's name or controller";
const PAUSE: &str = "a time such as 20s";
const SEND_FIELDS: &str = "key=, value=, partition= or count=";
const SEND_NAMES: [&str; 4] = ["key", "value", "partition", "count"];
/// Most records that one `send` sends.
const SEND_COUNT_MAX: u32 = 100_000;
const SHOWN_CHARS_MAX: usize = 120;

#[cfg(test)]
mod tests;
