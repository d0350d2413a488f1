//! Reads the panels off a run.

pub(crate) mod compare;
pub(crate) mod fields;
mod lookup;
pub(crate) mod metrics;
pub(crate) mod tables;
#[cfg(test)]
mod tests;
pub(crate) mod tree;

use super::panels::{EventRow, Faults, Inspector, Rule, Setting, TimerRow, Tool};
use crate::driver::selection::Selection;
use crate::i18n::Catalog;
use crate::i18n::narrate::{Narrator, timer_name};
use crate::scene::words::span;
use std::rc::Rc;
use terrarium_core::base::config::{BrokerConfig, ConsumerConfig, ProducerConfig, SettingInfo};
use terrarium_core::base::ids::{ClientId, NodeId};
use terrarium_core::kernel::time::{SimTime, Span};
use terrarium_core::lesson::Lesson;
use terrarium_core::sim::Sim;
use terrarium_core::sim::action::ACTIONS;
use terrarium_core::sim::command::{Command, CommandError, Fault};
use terrarium_core::sim::scenario::Scenario;
use terrarium_core::sim::view::{Activity, ParkedView, ProcessState, StageView, TimerView};
use terrarium_core::trace::event::{TraceEntry, TraceEvent};

/// A run as the panels read it.
#[derive(Clone, Copy)]
pub(crate) struct Reading<'a> {
    /// The state at the playhead.
    pub(crate) sim: &'a Sim,
    /// The stage at the playhead.
    pub(crate) stage: &'a StageView,
    /// The words.
    pub(crate) catalog: &'a Catalog,
    /// What is selected.
    pub(crate) selection: Option<&'a Selection>,
    /// The lesson; unset in the sandbox.
    pub(crate) lesson: Option<&'a Lesson>,
    /// How long a pause is.
    pub(crate) pause: Span,
    /// Whether the engine's whole state is looked at.
    pub(crate) is_deep: bool,
    /// The offset or time that is looked for in the selected replica.
    pub(crate) asked: &'a str,
}

impl std::fmt::Debug for Reading<'_> {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter
            .debug_struct("Reading")
            .field("now", &self.stage.now)
            .finish_non_exhaustive()
    }
}

/// Most events in a list.
const EVENTS_MAX: usize = 20;
/// Most log lines.
const LOG_MAX: usize = 8;
/// Most sentences told at once.
const SENTENCES_MAX: usize = 3;
/// Most causes in a chain.
const CAUSES_MAX: usize = 16;
/// How many entries of the trace are searched for events of the selected thing.
const SEARCHED_MAX: usize = 20_000;

impl<'a> Reading<'a> {
    /// Runs `speak` with a narrator for this run.
    fn with_narrator<T>(&self, speak: impl FnOnce(&Narrator<'_>) -> T) -> T {
        let topic_name = |id| std::sync::Arc::from(self.sim.topic_name(id));
        speak(&Narrator {
            catalog: self.catalog,
            scenario: self.sim.scenario(),
            topic_name: &topic_name,
        })
    }

    /// An entry as a sentence.
    pub(crate) fn sentence(&self, entry: &TraceEntry) -> String {
        self.with_narrator(|narrator| narrator.sentence(entry))
    }

    fn node_name(&self, node: NodeId) -> String {
        self.with_narrator(|narrator| narrator.node(node))
    }

    fn row(&self, entry: &TraceEntry) -> EventRow {
        EventRow {
            index: entry.index,
            at: entry.at,
            text: self.sentence(entry),
        }
    }

    /// Everything about what is selected.
    pub(crate) fn inspector(&self) -> Inspector {
        let Some(selection) = self.selection else {
            // With nothing selected, what matters of the whole run.
            let newest = self.sim.trace().since(0).rev().take(SEARCHED_MAX);
            let main = newest
                .filter(|entry| is_main(&entry.event))
                .take(EVENTS_MAX);
            let events = Rc::new(main.map(|entry| self.row(entry)).collect());
            return Inspector {
                events,
                ..Inspector::default()
            };
        };
        let events = self.events(selection);
        let (why, rule) = self.why(selection, events.first());
        let (title, subtitle) = self.title(selection);
        Inspector {
            title,
            subtitle,
            fields: Rc::new(self.fields(selection)),
            deep: Rc::new(if self.is_deep {
                self.deep()
            } else {
                Vec::new()
            }),
            settings: Rc::new(self.settings(selection)),
            timers: Rc::new(self.timers(selection)),
            events: Rc::new(events.iter().map(|entry| self.row(entry)).collect()),
            why: Rc::new(why),
            rule,
            log: Rc::new(self.log(selection)),
            lookup: self.lookup().map(Rc::new),
        }
    }

    /// The name of what is selected, and a line about it.
    pub(crate) fn title(&self, selection: &Selection) -> (String, String) {
        let catalog = self.catalog;
        match selection {
            Selection::Node(node) => (self.node_name(*node), self.node_line(*node)),
            Selection::Replica(broker, which) => {
                let partition = self.with_narrator(|narrator| narrator.partition(*which));
                let broker = self.node_name(NodeId::Broker(*broker));
                let args = [
                    ("partition", partition.as_str()),
                    ("broker", broker.as_str()),
                ];
                (catalog.text("inspect.replica", &args), String::new())
            }
            Selection::Partition(which) => {
                let partition = self.with_narrator(|narrator| narrator.partition(*which));
                (
                    catalog.text("inspect.partition", &[("partition", &partition)]),
                    String::new(),
                )
            }
            Selection::Group(group) => {
                let state = self
                    .stage
                    .groups
                    .iter()
                    .find(|view| view.group_id == *group);
                let line = state.map_or("", |view| view.state.name()).to_owned();
                (
                    catalog.text("inspect.group", &[("group", group.as_str())]),
                    line,
                )
            }
            Selection::Packet { entry, .. } => (self.packet_title(*entry), String::new()),
            Selection::Parked { from, entry, .. } => self.parked_title(*from, *entry),
            Selection::Entry(index) => match self.sim.trace().entry(*index) {
                Some(entry) => (self.sentence(entry), entry.at.to_string()),
                None => (catalog.t("inspect.gone"), String::new()),
            },
        }
    }

    fn packet_title(&self, index: u64) -> String {
        let Some(entry) = self.sim.trace().entry(index) else {
            return self.catalog.t("inspect.gone");
        };
        let from = self.node_name(entry.node);
        let (key, api, to) = match &entry.event {
            TraceEvent::RequestSent { body, to, .. } => ("inspect.message", body.api_key(), to),
            TraceEvent::ResponseSent { body, to, .. } => {
                ("inspect.message-answer", body.api_key(), to)
            }
            _ => return self.sentence(entry),
        };
        let to = self.node_name(*to);
        self.catalog
            .text(key, &[("api", api.name()), ("from", &from), ("to", &to)])
    }

    fn parked_title(&self, from: NodeId, index: u64) -> (String, String) {
        let from = self.node_name(from);
        let request = self.request_behind(index);
        let api = request.map_or("", |body| body.api_key().name());
        let title = self
            .catalog
            .text("inspect.parked", &[("api", api), ("from", &from)]);
        let line = match self.parked(index) {
            Some(parked) => {
                let since = span(self.stage.now.since(parked.since));
                self.catalog
                    .text("inspect.waits-since", &[("since", &since)])
            }
            None => self.catalog.t("inspect.gone"),
        };
        (title, line)
    }

    fn parked(&self, index: u64) -> Option<&'a ParkedView> {
        self.stage
            .parked
            .iter()
            .find(|parked| parked.entry == index)
    }

    /// The request whose parking the entry tells of: its cause's cause.
    fn request_behind(&self, index: u64) -> Option<&'a terrarium_core::wire::api::Request> {
        let trace = self.sim.trace();
        let mut entry = trace.entry(index)?;
        for _step in 0..4 {
            if let TraceEvent::RequestSent { body, .. } = &entry.event {
                return Some(body);
            }
            entry = trace.entry(entry.cause?)?;
        }
        None
    }

    /// What a process does, in a line.
    fn node_line(&self, node: NodeId) -> String {
        let catalog = self.catalog;
        let process = match node {
            NodeId::Controller(_) => return catalog.t("inspect.state-running"),
            NodeId::Broker(id) => {
                let broker = self.stage.brokers.iter().find(|broker| broker.id == id);
                if broker.is_some_and(|broker| {
                    broker.is_fenced && broker.process == ProcessState::Running
                }) {
                    return catalog.t("inspect.state-fenced");
                }
                broker.map(|broker| broker.process)
            }
            NodeId::Client(id) => {
                if let Some(line) = self.busy_line(id) {
                    return line;
                }
                let consumers = self
                    .stage
                    .consumers
                    .iter()
                    .map(|one| (one.client, one.process));
                let producers = self
                    .stage
                    .producers
                    .iter()
                    .map(|one| (one.client, one.process));
                consumers
                    .chain(producers)
                    .find(|(client, _)| *client == id)
                    .map(|(_, state)| state)
            }
        };
        process.map_or_else(String::new, |process| process_text(catalog, process))
    }

    /// A consumer at work, or at the barrier.
    fn busy_line(&self, client: ClientId) -> Option<String> {
        let consumer = self
            .stage
            .consumers
            .iter()
            .find(|one| one.client == client)?;
        if consumer.process != ProcessState::Running {
            return None;
        }
        if let Activity::Processing {
            topic_partition,
            offset,
            until,
            ..
        } = &consumer.activity
        {
            let partition = self.with_narrator(|narrator| narrator.partition(*topic_partition));
            let left = span(until.since(self.stage.now));
            let args = [
                ("partition", partition.as_str()),
                ("offset", &offset.to_string()),
                ("left", &left),
            ];
            return Some(self.catalog.text("inspect.busy", &args));
        }
        let node = NodeId::Client(client);
        let mut waits = self
            .stage
            .parked
            .iter()
            .filter(|parked| parked.from == node);
        let parked = waits.find(|parked| parked.group_id.is_some())?;
        let since = span(self.stage.now.since(parked.since));
        Some(
            self.catalog
                .text("inspect.waits-join", &[("since", &since)]),
        )
    }

    /// Entries that tell of the selected thing, newest first.
    fn events(&self, selection: &Selection) -> Vec<&'a TraceEntry> {
        let newest = self.sim.trace().since(0).rev().take(SEARCHED_MAX);
        newest
            .filter(|entry| selection.is_changed_by(entry))
            .take(EVENTS_MAX)
            .collect()
    }

    /// The chain of causes of the selected or latest event, and the rule behind it.
    fn why(
        &self,
        selection: &Selection,
        latest: Option<&&'a TraceEntry>,
    ) -> (Vec<EventRow>, Option<Rule>) {
        let trace = self.sim.trace();
        let start = match selection {
            Selection::Entry(index) => trace.entry(*index),
            Selection::Packet { entry, .. } | Selection::Parked { entry, .. } => {
                trace.entry(*entry)
            }
            _ => latest.copied(),
        };
        let Some(start) = start else {
            return (Vec::new(), None);
        };
        let mut chain = vec![self.row(start)];
        let mut entry = start;
        while let Some(cause) = entry.cause.and_then(|index| trace.entry(index)) {
            // A clock that ticks has no further cause worth telling.
            if chain.len() == CAUSES_MAX || is_same_clock(entry, cause) {
                break;
            }
            chain.push(self.row(cause));
            entry = cause;
        }
        chain.reverse();
        (chain, rule_of(&start.event))
    }

    fn timers(&self, selection: &Selection) -> Vec<TimerRow> {
        let now = self.stage.now;
        let mut timers: Vec<TimerRow> = match selection {
            Selection::Node(node) => {
                let timers = self.node_timers(*node).iter();
                let expire = |one: &TimerView| self.expire_now(*node, one);
                timers
                    .map(|one| TimerRow {
                        expire: expire(one),
                        ..timer_row(one, now)
                    })
                    .collect()
            }
            Selection::Group(group) => {
                let coordinator = self
                    .stage
                    .groups
                    .iter()
                    .find(|view| view.group_id == *group);
                let timers = coordinator
                    .map(|view| self.node_timers(NodeId::Broker(view.coordinator)))
                    .unwrap_or_default();
                let of_group = timers
                    .iter()
                    .filter(|timer| names_group(&timer.timer, group));
                of_group.map(|one| timer_row(one, now)).collect()
            }
            Selection::Parked { entry, .. } => match self.parked(*entry) {
                Some(ParkedView {
                    since,
                    deadline: Some(deadline),
                    ..
                }) => {
                    vec![bar(
                        self.catalog.t("table.deadline"),
                        *since,
                        *deadline,
                        now,
                    )]
                }
                _ => Vec::new(),
            },
            _ => Vec::new(),
        };
        timers.sort_by(|one, other| (one.due_at, &one.name).cmp(&(other.due_at, &other.name)));
        timers
    }

    /// The action that lets a timer run out now, where it may be taken.
    fn expire_now(&self, node: NodeId, timer: &TimerView) -> Option<Command> {
        let name = std::sync::Arc::from(timer.timer.to_string());
        let command = Command::Fault(Fault::ExpireTimer(node, name));
        let is_allowed = self
            .lesson
            .is_none_or(|lesson| lesson.allows_action(&command));
        is_allowed.then_some(command)
    }

    fn node_timers(&self, node: NodeId) -> &'a [TimerView] {
        match node {
            NodeId::Controller(_) => &[],
            NodeId::Broker(id) => {
                let broker = self.stage.brokers.iter().find(|broker| broker.id == id);
                broker.map_or(&[], |broker| &broker.timers)
            }
            NodeId::Client(id) => {
                let consumer = self.stage.consumers.iter().find(|one| one.client == id);
                let producer = self.stage.producers.iter().find(|one| one.client == id);
                match (consumer, producer) {
                    (Some(consumer), _) => &consumer.timers,
                    (None, Some(producer)) => &producer.timers,
                    (None, None) => &[],
                }
            }
        }
    }

    fn settings(&self, selection: &Selection) -> Vec<Setting> {
        let scenario = self.sim.scenario();
        let Some(node) = selection.node() else {
            return Vec::new();
        };
        match node {
            NodeId::Controller(_) | NodeId::Broker(_) => {
                let config = &scenario.broker_config;
                settings_of(BrokerConfig::SETTINGS, |name| config.value(name))
            }
            NodeId::Client(id) => match (scenario.consumer(id), scenario.producer(id)) {
                (Some(consumer), _) => {
                    settings_of(ConsumerConfig::SETTINGS, |name| consumer.config.value(name))
                }
                (None, Some(producer)) => {
                    settings_of(ProducerConfig::SETTINGS, |name| producer.config.value(name))
                }
                (None, None) => Vec::new(),
            },
        }
    }

    /// The process that has to do with the selected thing.
    pub(crate) fn process_of(&self, selection: &Selection) -> Option<NodeId> {
        match selection {
            Selection::Group(group) => {
                let view = self
                    .stage
                    .groups
                    .iter()
                    .find(|view| view.group_id == *group);
                view.map(|view| NodeId::Broker(view.coordinator))
            }
            Selection::Parked { at, .. } => Some(NodeId::Broker(*at)),
            Selection::Entry(index) => self.sim.trace().entry(*index).map(|entry| entry.node),
            other => other.node(),
        }
    }

    /// Lines of the process that has to do with the selected thing, newest first.
    fn log(&self, selection: &Selection) -> Vec<EventRow> {
        let node = self.process_of(selection);
        let newest = self.sim.trace().since(0).rev().take(SEARCHED_MAX);
        let lines = newest.filter(|entry| {
            Some(entry.node) == node && matches!(entry.event, TraceEvent::LogLine { .. })
        });
        lines.take(LOG_MAX).map(|entry| self.row(entry)).collect()
    }

    /// The latest main events since an entry, in words; empty for none.
    pub(crate) fn narration(&self, from: u64) -> String {
        let newest = self.sim.trace().since(from).rev();
        let main = newest
            .filter(|entry| is_main(&entry.event))
            .take(SENTENCES_MAX);
        let mut sentences: Vec<String> = main.map(|entry| self.sentence(entry)).collect();
        sentences.reverse();
        sentences.join(". ")
    }

    /// What can be done to the selected thing, and what there is to select.
    pub(crate) fn faults(&self) -> Faults {
        let scenario = self.sim.scenario();
        let node = self.selection.and_then(Selection::node);
        let (target, commands) = match (self.selection, node) {
            (Some(Selection::Packet { packet, entry }), _) => {
                let commands = [
                    ("drop", Fault::DropMessage(*packet)),
                    ("delay", Fault::DelayMessage(*packet, self.pause)),
                ];
                let commands = commands.map(|(name, fault)| (name, Command::Fault(fault)));
                (self.packet_title(*entry), commands.to_vec())
            }
            (_, Some(node)) => (self.node_name(node), self.commands(node)),
            (_, None) => (String::new(), Vec::new()),
        };
        let target = if commands.is_empty() {
            String::new()
        } else {
            target
        };
        let tools = commands.into_iter().map(|(name, command)| Tool {
            name,
            refusal: self.refusal(&command),
            command,
        });
        let topics = scenario
            .topics
            .iter()
            .map(|topic| topic.name.to_string())
            .collect();
        Faults {
            target,
            tools: tools.collect(),
            topics,
            nodes: self.nodes(),
            actions: ACTIONS
                .iter()
                .filter(|info| {
                    let allowed = |lesson: &Lesson| {
                        let mut verbs = lesson.allow.actions.iter();
                        verbs.any(|verb| **verb == *info.verb)
                    };
                    self.lesson.is_none_or(allowed)
                })
                .copied()
                .collect(),
            can_send: self
                .lesson
                .is_none_or(|lesson| lesson.allow.actions.iter().any(|verb| **verb == *"send")),
        }
    }

    fn nodes(&self) -> Vec<(Selection, String)> {
        let scenario = self.sim.scenario();
        let brokers = scenario
            .brokers
            .iter()
            .map(|broker| NodeId::Broker(broker.id));
        let clients = (0..scenario.client_count()).map(|id| NodeId::Client(ClientId(id)));
        let controllers = scenario
            .controller_ids()
            .into_iter()
            .map(NodeId::Controller);
        let mut list: Vec<(Selection, String)> = brokers
            .chain(controllers)
            .chain(clients)
            .map(|node| (Selection::Node(node), self.node_name(node)))
            .collect();
        for group in &self.stage.groups {
            let selection = Selection::Group(group.group_id.clone());
            let name = self.title(&selection).0;
            list.push((selection, name));
        }
        for topic in self.stage.topics.iter().filter(|topic| !topic.is_internal) {
            for partition in &topic.partitions {
                let selection = Selection::Partition(partition.topic_partition);
                let name = self.title(&selection).0;
                list.push((selection, name));
            }
        }
        list
    }

    fn commands(&self, node: NodeId) -> Vec<(&'static str, Command)> {
        match node {
            NodeId::Controller(id) => vec![
                ("kill", Command::KillController(id)),
                ("stop", Command::StopController(id)),
                ("restart", Command::RestartController(id)),
                ("pause", Command::PauseController(id, self.pause)),
            ],
            NodeId::Broker(id) => vec![
                ("stop", Command::StopBroker(id)),
                ("kill", Command::KillBroker(id)),
                ("restart", Command::RestartBroker(id)),
                ("power-loss", Command::PowerLossBroker(id)),
                ("pause", Command::PauseBroker(id, self.pause)),
            ],
            NodeId::Client(id) if id == self.sim.scenario().console() => Vec::new(),
            NodeId::Client(id) => vec![
                ("start", Command::StartClient(id)),
                ("stop", Command::StopClient(id)),
                ("kill", Command::KillClient(id)),
                ("restart", Command::RestartClient(id)),
                ("pause", Command::PauseClient(id, self.pause)),
            ],
        }
    }

    /// Why an action cannot be taken now, in words.
    pub(crate) fn refusal(&self, command: &Command) -> Option<String> {
        if self
            .lesson
            .is_some_and(|lesson| !lesson.allows_action(command))
        {
            return Some(self.catalog.t("faults.not-allowed"));
        }
        let error = self.sim.check(command).err()?;
        Some(command_error(self.catalog, self.sim.scenario(), &error))
    }
}

/// Whether both tell of the same timer, which armed itself anew.
fn is_same_clock(entry: &TraceEntry, cause: &TraceEntry) -> bool {
    match (&entry.event, &cause.event) {
        (TraceEvent::TimerFired { timer }, TraceEvent::TimerFired { timer: other }) => {
            entry.node == cause.node && timer == other
        }
        _ => false,
    }
}

/// A process's state in words.
pub(crate) fn process_text(catalog: &Catalog, process: ProcessState) -> String {
    match process {
        ProcessState::NotStarted => catalog.t("inspect.state-not-started"),
        ProcessState::Running => catalog.t("inspect.state-running"),
        ProcessState::Paused(until) => {
            catalog.text("inspect.state-paused", &[("until", &until.to_string())])
        }
        ProcessState::Dead => catalog.t("inspect.state-dead"),
        ProcessState::Stopped => catalog.t("inspect.state-stopped"),
    }
}

/// Why an action is impossible, in words.
pub(crate) fn command_error(
    catalog: &Catalog,
    scenario: &Scenario,
    error: &CommandError,
) -> String {
    let say = |key: &str, args: &[(&str, &str)]| catalog.text(key, args);
    match error {
        CommandError::UnknownBroker(id) => {
            say("command-error.unknown-broker", &[("id", &id.to_string())])
        }
        CommandError::BrokerIsDown(id) => {
            say("command-error.broker-is-down", &[("id", &id.to_string())])
        }
        CommandError::BrokerIsUp(id) => {
            say("command-error.broker-is-up", &[("id", &id.to_string())])
        }
        CommandError::UnknownController(id) => say(
            "command-error.unknown-controller",
            &[("id", &id.to_string())],
        ),
        CommandError::ControllerIsDown(id) => say(
            "command-error.controller-is-down",
            &[("id", &id.to_string())],
        ),
        CommandError::ControllerIsUp(id) => {
            say("command-error.controller-is-up", &[("id", &id.to_string())])
        }
        CommandError::InternalTopic(name) => say("command-error.internal-topic", &[("name", name)]),
        CommandError::UnknownClient(_) => say("command-error.unknown-client", &[]),
        CommandError::ClientIsDown(name) => say("command-error.client-is-down", &[("name", name)]),
        CommandError::ClientIsUp(name) => say("command-error.client-is-up", &[("name", name)]),
        CommandError::UnknownTopic(name) => say("command-error.unknown-topic", &[("name", name)]),
        CommandError::UnknownPartition {
            topic,
            partition,
            partitions,
        } => say(
            "command-error.unknown-partition",
            &[
                ("topic", topic),
                ("partition", &partition.to_string()),
                ("partitions", &partitions.to_string()),
            ],
        ),
        CommandError::TextTooLong { bytes, bytes_max } => say(
            "command-error.text-too-long",
            &[
                ("bytes", &bytes.to_string()),
                ("max", &bytes_max.to_string()),
            ],
        ),
        CommandError::NoSuchTimer { timer, pending } => say(
            "command-error.no-such-timer",
            &[("timer", timer), ("pending", &pending.join(", "))],
        ),
        CommandError::NoSuchMessage(id) => say(
            "command-error.no-such-message",
            &[("id", &id.0.to_string())],
        ),
        CommandError::LinkToItself => say("command-error.link-to-itself", &[]),
        CommandError::TooManyActions { actions_max } => say(
            "command-error.too-many-actions",
            &[("max", &actions_max.to_string())],
        ),
        CommandError::TooLate { latest } => {
            let latest = (*latest).min(scenario.until.max(*latest)).to_string();
            say("command-error.too-late", &[("latest", &latest)])
        }
    }
}

/// The rule behind an event, with the KIPs that its source names.
pub(crate) fn rule_of(event: &TraceEvent) -> Option<Rule> {
    let kind = TraceEvent::KINDS
        .iter()
        .find(|kind| kind.name == event.name())?;
    let kips = kind.source.split("KIP-").skip(1).filter_map(|rest| {
        let digits: String = rest.chars().take_while(char::is_ascii_digit).collect();
        digits.parse().ok()
    });
    Some(Rule {
        event: kind.name,
        doc: kind.doc,
        source: kind.source,
        kips: kips.collect(),
    })
}

fn settings_of(
    known: &'static [SettingInfo],
    value: impl Fn(&str) -> Option<String>,
) -> Vec<Setting> {
    known
        .iter()
        .map(|setting| Setting {
            name: setting.name,
            value: value(setting.name).unwrap_or_default(),
            doc: setting.doc,
        })
        .collect()
}

fn names_group(
    timer: &terrarium_core::base::timer::Timer,
    group: &terrarium_core::base::ids::GroupId,
) -> bool {
    use terrarium_core::base::timer::Timer;
    match timer {
        Timer::JoinPhase(of) | Timer::PendingSync(of) | Timer::MemberSession(of, _) => of == group,
        _ => false,
    }
}

fn timer_row(timer: &TimerView, now: SimTime) -> TimerRow {
    use terrarium_core::base::timer::Timer;
    let name = timer_name(&timer.timer);
    let name = match &timer.timer {
        Timer::MemberSession(_, member) => format!("{name} {member}"),
        Timer::JoinPhase(group) | Timer::PendingSync(group) => format!("{name} {group}"),
        Timer::MetadataFetchExpiry(node) => format!("{name} {node}"),
        Timer::ReplicaFetch(broker) | Timer::FetchBackoff(broker) => {
            format!("{name} {broker}")
        }
        Timer::ProduceExpiry(number) | Timer::FetchExpiry(number) => format!("{name} {number}"),
        Timer::OffsetExpiry(partition) => format!("{name} {partition}"),
        _ => name,
    };
    bar(name, timer.armed_at, timer.due_at, now)
}

fn bar(name: String, from: SimTime, until: SimTime, now: SimTime) -> TimerRow {
    let whole = until.since(from).0.max(1);
    let left = until.since(now);
    let percent = u8::try_from((left.0.saturating_mul(100) / whole).min(100)).unwrap_or(100);
    TimerRow {
        name,
        due_at: until,
        left: span(left),
        percent,
        expire: None,
    }
}

/// Whether an event is worth telling to somebody who does not see the picture.
fn is_main(event: &TraceEvent) -> bool {
    matches!(
        event,
        TraceEvent::Command { .. }
            | TraceEvent::ProcessStarted { .. }
            | TraceEvent::ProcessKilled { .. }
            | TraceEvent::ProcessStopped { .. }
            | TraceEvent::ProcessPaused { .. }
            | TraceEvent::ProcessResumed { .. }
            | TraceEvent::LinkChanged { .. }
            | TraceEvent::BrokerFenced { .. }
            | TraceEvent::LeaderElected { .. }
            | TraceEvent::IsrShrunk { .. }
            | TraceEvent::IsrExpanded { .. }
            | TraceEvent::GroupStateChanged { .. }
            | TraceEvent::MemberRemoved { .. }
            | TraceEvent::JoinPhaseCompleted { .. }
            | TraceEvent::PartitionsAssigned { .. }
            | TraceEvent::PartitionsRevoked { .. }
            | TraceEvent::PartitionsLost { .. }
            | TraceEvent::CommitFailed { .. }
            | TraceEvent::RecordSkipped { .. }
            | TraceEvent::PollTimeoutExpired { .. }
            | TraceEvent::FatalError { .. }
            | TraceEvent::BatchFailed { .. }
            | TraceEvent::SendFailed { .. }
            | TraceEvent::DuplicateAppended { .. }
            | TraceEvent::RecordsDiscarded { .. }
            | TraceEvent::TransactionEnded { .. }
    )
}
