//! The text form of an action: `8.5s kill-broker 2`, `31s send orders key=a value=wait`.
//!
//! Lessons, links, submissions and the console's history all write actions this way. Words are
//! separated by blanks; a word with blanks or quotes in it stands in double quotes, with `\"` and
//! `\\` inside.

use crate::base::config::{SettingError, TopicConfig, nearest};
use crate::base::ids::{BrokerId, ClientId, ControllerId, NodeId, Offset, PacketId};
use crate::client::consumer::{ApplicationCall, SeekTo};
use crate::kernel::limits::{BROKERS_MAX, PARTITIONS_MAX, RECORD_TEXT_BYTES_MAX, SIM_TIME_MAX_US};
use crate::kernel::time::{SimTime, Span, parse_span};
use crate::sim::command::{AdminAction, Command, Fault};
use crate::sim::scenario::{CONTROLLER, Scenario};
use crate::wire::api::ApiKey;
use serde::Serialize;
use std::fmt;
use std::fmt::Write as _;
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
        verb: "stop-broker",
        arguments: "ID",
        doc: "The process is asked to end: it hands its leaderships over, closes its logs and exits.",
    },
    ActionInfo {
        verb: "kill-controller",
        arguments: "ID",
        doc: "The controller's process dies; its log stays on its disk. Controllers count from 3000.",
    },
    ActionInfo {
        verb: "restart-controller",
        arguments: "ID",
        doc: "Starts the process of a controller that does not run.",
    },
    ActionInfo {
        verb: "pause-controller",
        arguments: "ID TIME",
        doc: "The process stands still.",
    },
    ActionInfo {
        verb: "stop-controller",
        arguments: "ID",
        doc: "The controller resigns, names its successors and exits.",
    },
    ActionInfo {
        verb: "create-topic",
        arguments: "NAME [partitions=NUMBER] [replication-factor=NUMBER] [SETTING=VALUE …]",
        doc: "An administrator creates a topic.",
    },
    ActionInfo {
        verb: "delete-topic",
        arguments: "NAME",
        doc: "An administrator deletes a topic with everything in it.",
    },
    ActionInfo {
        verb: "add-partitions",
        arguments: "NAME TOTAL",
        doc: "An administrator gives a topic more partitions: that many in all.",
    },
    ActionInfo {
        verb: "set-topic-config",
        arguments: "NAME SETTING=VALUE",
        doc: "An administrator changes a setting of a topic.",
    },
    ActionInfo {
        verb: "elect-leaders",
        arguments: "preferred|unclean [TOPIC [PARTITION]]",
        doc: "An administrator asks for elections, of all partitions, of a topic or of one.",
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
        verb: "seek-consumer",
        arguments: "NAME TOPIC PARTITION OFFSET|beginning|end|committed",
        doc: "The application calls seek() as soon as it is back at poll: it goes on at that offset.",
    },
    ActionInfo {
        verb: "pause-partition",
        arguments: "NAME TOPIC PARTITION",
        doc: "The application calls pause(): poll returns nothing of the partition, which it keeps.",
    },
    ActionInfo {
        verb: "resume-partition",
        arguments: "NAME TOPIC PARTITION",
        doc: "The application calls resume(): the partition is read again.",
    },
    ActionInfo {
        verb: "subscribe-consumer",
        arguments: "NAME [TOPIC …]",
        doc: "The application subscribes to exactly these topics; without any it unsubscribes and leaves its group.",
    },
    ActionInfo {
        verb: "rebalance-consumer",
        arguments: "NAME",
        doc: "The application calls enforceRebalance().",
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
        arguments: "TOPIC value=TEXT|tombstone [key=TEXT] [partition=NUMBER] [count=NUMBER]",
        doc: "The console producer sends a record, or several; a tombstone has no value and removes its key from a compacted topic.",
    },
    ActionInfo {
        verb: "delete-records",
        arguments: "TOPIC PARTITION OFFSET",
        doc: "The console asks the leader to give up the records before an offset; -1 stands for the high watermark.",
    },
    ActionInfo {
        verb: "power-loss-broker",
        arguments: "ID",
        doc: "The broker's machine loses power: its process dies, and of the records that were not flushed only a share is left on the disk.",
    },
    ActionInfo {
        verb: "power-loss-all",
        arguments: "",
        doc: "The machines of all brokers lose power at once.",
    },
    ActionInfo {
        verb: "cut-link",
        arguments: "NODE NODE [one-way]",
        doc: "Nothing passes between the two, or nothing from the first to the second. A number is a broker, a name a client, controller the controller (controller-3001 the second of several).",
    },
    ActionInfo {
        verb: "heal-link",
        arguments: "NODE NODE",
        doc: "Messages pass again as at the start, in both directions; what was held arrives now.",
    },
    ActionInfo {
        verb: "drop-next",
        arguments: "NODE NODE API",
        doc: "The next request or response of this API, such as Produce, from the first node to the second is lost.",
    },
    ActionInfo {
        verb: "delay-next",
        arguments: "NODE NODE API TIME",
        doc: "The next request or response of this API from the first node to the second takes this much longer.",
    },
    ActionInfo {
        verb: "drop-message",
        arguments: "NUMBER",
        doc: "The message with this number is lost, if it is on its way. A selected message shows its number, which is the same in every run with the same actions before.",
    },
    ActionInfo {
        verb: "delay-message",
        arguments: "NUMBER TIME",
        doc: "The message with this number, if it is on its way, arrives this much later.",
    },
    ActionInfo {
        verb: "delay-link",
        arguments: "NODE NODE TIME [one-way]",
        doc: "Every message between the two, or from the first to the second alone, takes this much longer.",
    },
    ActionInfo {
        verb: "lose-link",
        arguments: "NODE NODE PERCENT% [one-way]",
        doc: "Of the segments between the two, or from the first to the second alone, this many in a hundred are lost; TCP sends them again.",
    },
    ActionInfo {
        verb: "slow-disk",
        arguments: "ID TIME",
        doc: "Each append of the broker takes this long: records, committed offsets, markers, and what it replicates.",
    },
    ActionInfo {
        verb: "heal-disk",
        arguments: "ID",
        doc: "Appends of the broker take no time again.",
    },
    ActionInfo {
        verb: "slow-follower",
        arguments: "ID TIME",
        doc: "The broker's fetches from leaders leave this much later; 0s makes it fast again.",
    },
    ActionInfo {
        verb: "expire-timer",
        arguments: "NODE TIMER",
        doc: "A timer of the node, such as isr-check or replica-fetch:1, runs out now.",
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
        Command::StopBroker(id) => format!("stop-broker {id}"),
        Command::KillController(id) => format!("kill-controller {id}"),
        Command::RestartController(id) => format!("restart-controller {id}"),
        Command::PauseController(id, span) => {
            format!("pause-controller {id} {}", print_time(*span))
        }
        Command::StopController(id) => format!("stop-controller {id}"),
        Command::Admin(action) => print_admin(action),
        Command::StartClient(id) => client("start", id),
        Command::StopClient(id) => client("stop", id),
        Command::KillClient(id) => client("kill", id),
        Command::RestartClient(id) => client("restart", id),
        Command::PauseClient(id, span) => {
            format!("{} {}", client("pause", id), print_time(*span))
        }
        Command::Call(id, call) => print_call(scenario.client_name(*id), call),
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
            let value = value.as_ref().map_or_else(
                || String::from("tombstone"),
                |value| format!("value={}", quote(value)),
            );
            format!(
                "send {}{} {value}{}{}",
                quote(topic),
                key.unwrap_or_default(),
                partition.unwrap_or_default(),
                count.unwrap_or_default()
            )
        }
        Command::DeleteRecords {
            topic,
            partition,
            before,
        } => format!("delete-records {} {partition} {before}", quote(topic)),
        Command::PowerLossBroker(id) => format!("power-loss-broker {id}"),
        Command::PowerLossAll => String::from("power-loss-all"),
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
        Command::Fault(fault) => print_fault(fault, scenario),
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
        NodeId::Controller(id) if 1 < scenario.controllers => format!("{CONTROLLER_NAME}-{id}"),
        NodeId::Controller(_) => String::from(CONTROLLER_NAME),
        NodeId::Broker(id) => id.to_string(),
        NodeId::Client(id) => quote(scenario.client_name(id)),
    }
}

/// The node that actions write as `text`.
pub fn node_by_text(text: &str, scenario: &Scenario) -> Option<NodeId> {
    if text == CONTROLLER_NAME && scenario.controllers == 1 {
        return Some(NodeId::Controller(CONTROLLER));
    }
    if let Some(id) = text.strip_prefix("controller-") {
        let id = ControllerId(id.parse().ok()?);
        let is_known = scenario.controller_ids().contains(&id);
        return is_known.then_some(NodeId::Controller(id));
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
        Command::StopBroker(_) => "stop-broker",
        Command::KillController(_) => "kill-controller",
        Command::RestartController(_) => "restart-controller",
        Command::PauseController(..) => "pause-controller",
        Command::StopController(_) => "stop-controller",
        Command::Admin(AdminAction::CreateTopic { .. }) => "create-topic",
        Command::Admin(AdminAction::DeleteTopic(_)) => "delete-topic",
        Command::Admin(AdminAction::AddPartitions(..)) => "add-partitions",
        Command::Admin(AdminAction::SetTopicConfig { .. }) => "set-topic-config",
        Command::Admin(AdminAction::ElectLeaders { .. }) => "elect-leaders",
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
        Command::Call(_, call) => call_verb(call),
        Command::Send { .. } => "send",
        Command::DeleteRecords { .. } => "delete-records",
        Command::PowerLossBroker(_) => "power-loss-broker",
        Command::PowerLossAll => "power-loss-all",
        Command::CutLink(..) => "cut-link",
        Command::HealLink(..) => "heal-link",
        Command::DropNext(..) => "drop-next",
        Command::Fault(fault) => fault_verb(fault),
    }
}

const fn call_verb(call: &ApplicationCall) -> &'static str {
    match call {
        ApplicationCall::Seek(..) => "seek-consumer",
        ApplicationCall::Pause(..) => "pause-partition",
        ApplicationCall::Resume(..) => "resume-partition",
        ApplicationCall::Subscribe(_) => "subscribe-consumer",
        ApplicationCall::EnforceRebalance => "rebalance-consumer",
    }
}

fn print_call(name: &str, call: &ApplicationCall) -> String {
    let mut text = format!("{} {}", call_verb(call), quote(name));
    match call {
        ApplicationCall::Seek(topic, partition, to) => {
            let _ = write!(text, " {topic} {partition} ");
            match to {
                SeekTo::Offset(offset) => text.push_str(&offset.to_string()),
                SeekTo::Beginning => text.push_str("beginning"),
                SeekTo::End => text.push_str("end"),
                SeekTo::Committed => text.push_str("committed"),
            }
        }
        ApplicationCall::Pause(topic, partition) | ApplicationCall::Resume(topic, partition) => {
            let _ = write!(text, " {topic} {partition}");
        }
        ApplicationCall::Subscribe(topics) => {
            for topic in topics {
                text.push(' ');
                text.push_str(topic);
            }
        }
        ApplicationCall::EnforceRebalance => {}
    }
    text
}

const fn fault_verb(fault: &Fault) -> &'static str {
    match fault {
        Fault::SlowDisk(..) => "slow-disk",
        Fault::HealDisk(_) => "heal-disk",
        Fault::SlowFollower(..) => "slow-follower",
        Fault::CutWay(..) => "cut-link",
        Fault::DelayLink { .. } => "delay-link",
        Fault::LoseLink { .. } => "lose-link",
        Fault::DelayNext(..) => "delay-next",
        Fault::DropMessage(_) => "drop-message",
        Fault::DelayMessage(..) => "delay-message",
        Fault::ExpireTimer(..) => "expire-timer",
    }
}

fn print_fault(fault: &Fault, scenario: &Scenario) -> String {
    let verb = fault_verb(fault);
    let node = |node: NodeId| print_node(node, scenario);
    let way = |one_way: bool| if one_way { " one-way" } else { "" };
    match fault {
        Fault::SlowDisk(id, time) | Fault::SlowFollower(id, time) => {
            format!("{verb} {id} {}", print_time(*time))
        }
        Fault::HealDisk(id) => format!("{verb} {id}"),
        Fault::CutWay(from, to) => format!("{verb} {} {}{}", node(*from), node(*to), way(true)),
        Fault::DelayLink {
            from,
            to,
            delay,
            one_way,
        } => {
            let (time, way) = (print_time(*delay), way(*one_way));
            format!("{verb} {} {} {time}{way}", node(*from), node(*to))
        }
        Fault::LoseLink {
            from,
            to,
            percent,
            one_way,
        } => {
            let way = way(*one_way);
            format!("{verb} {} {} {percent}%{way}", node(*from), node(*to))
        }
        Fault::DelayNext(from, to, api, time) => {
            let time = print_time(*time);
            format!(
                "{verb} {} {} {} {time}",
                node(*from),
                node(*to),
                quote(api.name())
            )
        }
        Fault::DropMessage(id) => format!("{verb} {}", id.0),
        Fault::DelayMessage(id, time) => format!("{verb} {} {}", id.0, print_time(*time)),
        Fault::ExpireTimer(on, timer) => format!("{verb} {} {}", node(*on), quote(timer)),
    }
}

fn print_admin(action: &AdminAction) -> String {
    match action {
        AdminAction::CreateTopic {
            name,
            partitions,
            replication_factor,
            settings,
        } => {
            let mut text = format!("create-topic {name}");
            if let Some(count) = partitions {
                let _ = write!(text, " partitions={count}");
            }
            if let Some(factor) = replication_factor {
                let _ = write!(text, " replication-factor={factor}");
            }
            for (setting, value) in settings {
                let _ = write!(text, " {setting}={value}");
            }
            text
        }
        AdminAction::DeleteTopic(name) => format!("delete-topic {name}"),
        AdminAction::AddPartitions(name, count) => format!("add-partitions {name} {count}"),
        AdminAction::SetTopicConfig {
            name,
            setting,
            value,
        } => format!("set-topic-config {name} {setting}={value}"),
        AdminAction::ElectLeaders {
            unclean,
            topic,
            partition,
        } => {
            let kind = if *unclean { "unclean" } else { "preferred" };
            let topic = topic
                .as_ref()
                .map_or_else(String::new, |name| format!(" {name}"));
            let partition = partition.map_or_else(String::new, |number| format!(" {number}"));
            format!("elect-leaders {kind}{topic}{partition}")
        }
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
            "stop-broker" => Command::StopBroker(self.broker()?),
            "kill-controller" => Command::KillController(self.controller()?),
            "restart-controller" => Command::RestartController(self.controller()?),
            "pause-controller" => Command::PauseController(self.controller()?, self.span(PAUSE)?),
            "stop-controller" => Command::StopController(self.controller()?),
            "create-topic" => Command::Admin(self.create_topic()?),
            "delete-topic" => Command::Admin(AdminAction::DeleteTopic(self.topic()?)),
            "add-partitions" => {
                let name = self.topic()?;
                let word = self.word("how many partitions in all")?;
                let count = self.number(&word, &word, 1, PARTITIONS_MAX)?;
                Command::Admin(AdminAction::AddPartitions(name, count))
            }
            "set-topic-config" => Command::Admin(self.set_topic_config()?),
            "elect-leaders" => Command::Admin(self.elect_leaders()?),
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
            "seek-consumer" | "pause-partition" | "resume-partition" | "subscribe-consumer"
            | "rebalance-consumer" => Command::Call(self.consumer()?, self.call(&verb)?),
            "send" => self.send()?,
            "delete-records" => self.delete_records()?,
            "power-loss-broker" => Command::PowerLossBroker(self.broker()?),
            "power-loss-all" => Command::PowerLossAll,
            "cut-link" => {
                let (from, to) = self.ends()?;
                if self.one_way()? {
                    Command::Fault(Fault::CutWay(from, to))
                } else {
                    Command::CutLink(from, to)
                }
            }
            "heal-link" => {
                let (from, to) = self.ends()?;
                Command::HealLink(from, to)
            }
            "drop-next" => {
                let (from, to) = self.ends()?;
                Command::DropNext(from, to, self.api()?)
            }
            "delay-next" | "delay-link" | "lose-link" | "slow-disk" | "heal-disk"
            | "slow-follower" | "expire-timer" | "drop-message" | "delay-message" => {
                Command::Fault(self.fault(&verb)?)
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

    fn delete_records(&mut self) -> Result<Command, ActionError> {
        let topic = self.topic()?;
        let partition = self.word("a partition's number")?;
        let partition = self.number(&partition, &partition, 0, u32::MAX)?;
        let word = self.word("an offset, or -1 for the high watermark")?;
        match word.parse() {
            Ok(offset) if -1 <= offset => Ok(Command::DeleteRecords {
                topic,
                partition,
                before: Offset(offset),
            }),
            Ok(_) | Err(_) => {
                let expected = String::from("an offset, or -1 for the high watermark");
                Err(self.error(&word, expected))
            }
        }
    }

    fn message(&mut self) -> Result<PacketId, ActionError> {
        let word = self.word(MESSAGE)?;
        match word.parse() {
            Ok(number) => Ok(PacketId(number)),
            Err(_) => Err(self.error(&word, String::from(MESSAGE))),
        }
    }

    fn call(&mut self, verb: &str) -> Result<ApplicationCall, ActionError> {
        Ok(match verb {
            "rebalance-consumer" => ApplicationCall::EnforceRebalance,
            "subscribe-consumer" => {
                let mut topics = Vec::new();
                while !self.rest.as_slice().is_empty() {
                    topics.push(self.topic()?);
                }
                ApplicationCall::Subscribe(topics)
            }
            _ => {
                let topic = self.topic()?;
                let word = self.word("a partition's number")?;
                let partition = self.number(&word, &word, 0, PARTITIONS_MAX)?;
                match verb {
                    "pause-partition" => ApplicationCall::Pause(topic, partition),
                    "resume-partition" => ApplicationCall::Resume(topic, partition),
                    _ => ApplicationCall::Seek(topic, partition, self.seek_to()?),
                }
            }
        })
    }

    fn seek_to(&mut self) -> Result<SeekTo, ActionError> {
        let word = self.word(SEEK_TO)?;
        Ok(match word.as_str() {
            "beginning" => SeekTo::Beginning,
            "end" => SeekTo::End,
            "committed" => SeekTo::Committed,
            _ => match word.parse() {
                Ok(offset) if 0 <= offset => SeekTo::Offset(Offset(offset)),
                Ok(_) | Err(_) => return Err(self.error(&word, String::from(SEEK_TO))),
            },
        })
    }

    fn fault(&mut self, verb: &str) -> Result<Fault, ActionError> {
        Ok(match verb {
            "slow-disk" => Fault::SlowDisk(self.broker()?, self.delay()?),
            "heal-disk" => Fault::HealDisk(self.broker()?),
            "slow-follower" => Fault::SlowFollower(self.broker()?, self.delay()?),
            "expire-timer" => {
                let node = self.node()?;
                let timer = self.word(TIMER)?;
                if TIMER_CHARS_MAX < timer.len() {
                    return Err(self.error(&timer, String::from(TIMER)));
                }
                Fault::ExpireTimer(node, Arc::from(timer))
            }
            "drop-message" => Fault::DropMessage(self.message()?),
            "delay-message" => Fault::DelayMessage(self.message()?, self.delay()?),
            "delay-next" => {
                let (from, to) = self.ends()?;
                Fault::DelayNext(from, to, self.api()?, self.delay()?)
            }
            "delay-link" => {
                let (from, to) = self.ends()?;
                let delay = self.delay()?;
                let one_way = self.one_way()?;
                Fault::DelayLink {
                    from,
                    to,
                    delay,
                    one_way,
                }
            }
            _ => {
                let (from, to) = self.ends()?;
                let word = self.word(PERCENT)?;
                let percent = word.strip_suffix('%').and_then(|text| text.parse().ok());
                let percent = percent.filter(|percent| (0..=100).contains(percent));
                let percent = percent.ok_or_else(|| self.error(&word, String::from(PERCENT)))?;
                let one_way = self.one_way()?;
                Fault::LoseLink {
                    from,
                    to,
                    percent,
                    one_way,
                }
            }
        })
    }

    /// Whether `one-way` comes next.
    fn one_way(&mut self) -> Result<bool, ActionError> {
        match self.rest.next() {
            None => Ok(false),
            Some(word) if word == ONE_WAY => Ok(true),
            Some(word) => Err(self.unknown(&word, "one-way or the end", [ONE_WAY].into_iter())),
        }
    }

    fn delay(&mut self) -> Result<Span, ActionError> {
        let expected = "a time such as 20ms";
        let time = self.span(expected)?;
        if SIM_TIME_MAX_US < time.0 {
            return Err(self.error(&time.to_string(), String::from(expected)));
        }
        Ok(time)
    }

    fn send(&mut self) -> Result<Command, ActionError> {
        let topic = self.topic()?;
        let (mut key, mut value, mut partition, mut count) = (None, None, None, None);
        let mut is_tombstone = false;
        while let Some(word) = self.rest.next() {
            if word == "tombstone" && !is_tombstone && value.is_none() {
                is_tombstone = true;
                continue;
            }
            let Some((field, text)) = word.split_once('=') else {
                return Err(self.unknown(&word, SEND_FIELDS, SEND_NAMES.iter().copied()));
            };
            match field {
                "key" if key.is_none() => key = Some(self.record_text(text)?),
                "value" if value.is_none() && !is_tombstone => {
                    value = Some(self.record_text(text)?);
                }
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
        if value.is_none() && !is_tombstone {
            return Err(self.error("", String::from("value=TEXT")));
        }
        Ok(Command::Send {
            topic,
            key,
            value,
            partition,
            count: count.unwrap_or(1),
        })
    }

    /// A topic's name. Whether there is such a topic shows when the action is carried out.
    fn topic(&mut self) -> Result<Arc<str>, ActionError> {
        let name = self.word("a topic")?;
        let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-');
        if name.is_empty() || TOPIC_CHARS_MAX < name.len() || !name.chars().all(is_plain) {
            let expected = "a topic's name of ASCII letters, digits, '.', '_' and '-'";
            return Err(self.error(&name, String::from(expected)));
        }
        Ok(Arc::from(name))
    }

    fn create_topic(&mut self) -> Result<AdminAction, ActionError> {
        let name = self.topic()?;
        let (mut partitions, mut replication_factor) = (None, None);
        let mut settings: Vec<(Arc<str>, Arc<str>)> = Vec::new();
        while let Some(word) = self.rest.next() {
            let Some((field, text)) = word.split_once('=') else {
                return Err(self.error(&word, String::from(CREATE_FIELDS)));
            };
            match field {
                "partitions" if partitions.is_none() => {
                    partitions = Some(self.number(&word, text, 1, PARTITIONS_MAX)?);
                }
                "replication-factor" if replication_factor.is_none() => {
                    replication_factor = Some(self.number(&word, text, 1, BROKERS_MAX)?);
                }
                "partitions" | "replication-factor" => {
                    return Err(self.error(&word, format!("only one {field}")));
                }
                _ => settings.push(self.topic_setting(&word, field, text)?),
            }
        }
        Ok(AdminAction::CreateTopic {
            name,
            partitions,
            replication_factor,
            settings,
        })
    }

    fn topic_setting(
        &self,
        word: &str,
        setting: &str,
        value: &str,
    ) -> Result<(Arc<str>, Arc<str>), ActionError> {
        match TopicConfig::default().set(setting, value) {
            Ok(()) => Ok((Arc::from(setting), Arc::from(value))),
            Err(SettingError::Unknown { .. }) => {
                let known = TopicConfig::SETTINGS.iter().map(|setting| setting.name);
                Err(self.unknown(setting, "a topic's setting", known))
            }
            Err(SettingError::Invalid { expected, .. }) => Err(self.error(word, expected)),
        }
    }

    fn set_topic_config(&mut self) -> Result<AdminAction, ActionError> {
        let name = self.topic()?;
        let expected = "a setting such as min.insync.replicas=2";
        let word = self.word(expected)?;
        let Some((setting, value)) = word.split_once('=') else {
            return Err(self.error(&word, String::from(expected)));
        };
        let (setting, value) = self.topic_setting(&word, setting, value)?;
        Ok(AdminAction::SetTopicConfig {
            name,
            setting,
            value,
        })
    }

    fn elect_leaders(&mut self) -> Result<AdminAction, ActionError> {
        let kinds = ["preferred", "unclean"];
        let word = self.word("preferred or unclean")?;
        if !kinds.contains(&word.as_str()) {
            return Err(self.unknown(&word, "preferred or unclean", kinds.into_iter()));
        }
        let (mut topic, mut partition) = (None, None);
        if !self.rest.as_slice().is_empty() {
            topic = Some(self.topic()?);
        }
        if let Some(number) = self.rest.next() {
            partition = Some(self.number(&number, &number, 0, u32::MAX)?);
        }
        Ok(AdminAction::ElectLeaders {
            unclean: word == "unclean",
            topic,
            partition,
        })
    }

    fn controller(&mut self) -> Result<ControllerId, ActionError> {
        let word = self.word("a controller's id")?;
        let known = self.scenario.controller_ids();
        match word.parse() {
            Ok(id) if known.contains(&ControllerId(id)) => Ok(ControllerId(id)),
            Ok(_) | Err(_) => {
                let ids: Vec<String> = known.iter().map(ToString::to_string).collect();
                Err(self.error(&word, format!("a controller's id: {}", ids.join(", "))))
            }
        }
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
const SEEK_TO: &str = "an offset, beginning, end or committed";
const ONE_WAY: &str = "one-way";
const MESSAGE: &str = "the number of a message";
const PERCENT: &str = "a share from 0% to 100%";
const TIMER: &str = "a timer such as isr-check";
const TIMER_CHARS_MAX: usize = 200;
const NODE: &str = "a broker's id, a client's name or controller";
const CREATE_FIELDS: &str = "partitions=, replication-factor= or a setting of topics";
const TOPIC_CHARS_MAX: usize = 249;
const PAUSE: &str = "a time such as 20s";
const SEND_FIELDS: &str = "key=, value=, partition= or count=";
const SEND_NAMES: [&str; 4] = ["key", "value", "partition", "count"];
/// Most records that one `send` sends.
const SEND_COUNT_MAX: u32 = 100_000;
const SHOWN_CHARS_MAX: usize = 120;

#[cfg(test)]
mod tests;
