//! Setting paths: `consumer.c1.max.poll.interval.ms`, `topic.*.min.insync.replicas`.
//!
//! Variants, attempts, links and `--set` change a scenario by path and text; `allow.settings`
//! names by path what a learner may change. `*` stands for every name.

use crate::base::config::{
    BrokerConfig, ConsumerConfig, HistoryConfig, ProducerConfig, SettingError, TopicConfig, nearest,
};
use crate::base::ids::BrokerId;
use crate::kernel::limits::{
    BROKERS_MAX, CLIENTS_MAX, PARTITIONS_MAX, RECORD_TEXT_BYTES_MAX, SIM_TIME_MAX_US,
};
use crate::kernel::rng::Ratio;
use crate::kernel::time::{SimTime, Span, parse_span};
use crate::sim::scenario::{Processing, ProcessingTime, Scenario};
use serde::Serialize;
use std::fmt;
use std::sync::Arc;

/// A setting that is not Kafka's: where it stands and what it does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct PathInfo {
    /// The path, with NAME for a name.
    pub path: &'static str,
    /// What a value looks like.
    pub expected: &'static str,
    /// What it does.
    pub doc: &'static str,
}

/// The settings that are not Kafka's.
pub const OWN_SETTINGS: &[PathInfo] = &[
    PathInfo {
        path: "seed",
        expected: "a whole number",
        doc: "Decides everything left to chance.",
    },
    PathInfo {
        path: "until",
        expected: TIME,
        doc: "Where the run ends.",
    },
    PathInfo {
        path: "network.latency",
        expected: TIME,
        doc: "Shortest time of a message.",
    },
    PathInfo {
        path: "network.jitter",
        expected: TIME,
        doc: "Added to the latency.",
    },
    PathInfo {
        path: "network.loss",
        expected: LOSS,
        doc: "How often a segment is lost.",
    },
    PathInfo {
        path: "topic.NAME.partitions",
        expected: "a whole number",
        doc: "How many partitions.",
    },
    PathInfo {
        path: "topic.NAME.replication-factor",
        expected: "a whole number",
        doc: "How many replicas of each.",
    },
    PathInfo {
        path: "producer.NAME.every",
        expected: TIME,
        doc: "Time between two records.",
    },
    PathInfo {
        path: "producer.NAME.start",
        expected: START,
        doc: "When its process starts.",
    },
    PathInfo {
        path: "consumer.NAME.start",
        expected: START,
        doc: "When its process starts.",
    },
    PathInfo {
        path: "consumer.NAME.processing",
        expected: PROCESSING,
        doc: "Time a record takes.",
    },
    PathInfo {
        path: "consumer.NAME.commit",
        expected: Processing::COMMIT.1,
        doc: Processing::COMMIT.2,
    },
    PathInfo {
        path: "consumer.NAME.on-commit-error",
        expected: Processing::ON_COMMIT_ERROR.1,
        doc: Processing::ON_COMMIT_ERROR.2,
    },
    PathInfo {
        path: "consumer.NAME.commit-on-revoke",
        expected: Processing::COMMIT_ON_REVOKE.1,
        doc: Processing::COMMIT_ON_REVOKE.2,
    },
    PathInfo {
        path: "consumer.NAME.read-ahead",
        expected: Processing::READ_AHEAD.1,
        doc: Processing::READ_AHEAD.2,
    },
    PathInfo {
        path: "consumer.NAME.assignor-time",
        expected: Processing::ASSIGNOR_TIME.1,
        doc: Processing::ASSIGNOR_TIME.2,
    },
];

/// Why a setting was not changed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum SetError {
    /// The path begins with nothing known, or ends too early.
    UnknownPath {
        /// The path.
        path: String,
        /// The known path that looks most like it.
        nearest: Option<String>,
    },
    /// The path names something that the scenario does not have.
    UnknownName {
        /// The path.
        path: String,
        /// What it names: `consumer`.
        kind: &'static str,
        /// The names that there are.
        known: Vec<String>,
    },
    /// Kafka's setting does not exist or does not take the value.
    Setting {
        /// The path.
        path: String,
        /// What is wrong.
        error: SettingError,
    },
    /// The value does not fit.
    Invalid {
        /// The path.
        path: String,
        /// The value.
        value: String,
        /// What was expected.
        expected: &'static str,
    },
    /// The lesson does not let a learner change it.
    NotAllowed {
        /// The path.
        path: String,
    },
}

impl fmt::Display for SetError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::UnknownPath {
                path,
                nearest: Some(nearest),
            } => {
                write!(formatter, "unknown setting {path}; did you mean {nearest}?")
            }
            Self::UnknownPath {
                path,
                nearest: None,
            } => write!(
                formatter,
                "unknown setting {path}; expected a path such as consumer.c1.max.poll.interval.ms"
            ),
            Self::UnknownName { path, kind, known } => write!(
                formatter,
                "{path}: expected the name of a {kind}: {}, or * for each",
                known.join(", ")
            ),
            Self::Setting {
                path,
                error:
                    SettingError::Unknown {
                        nearest: Some(nearest),
                        ..
                    },
            } => {
                write!(formatter, "unknown setting {path}; did you mean {nearest}?")
            }
            Self::Setting {
                path,
                error: SettingError::Unknown { nearest: None, .. },
            } => {
                write!(formatter, "unknown setting {path}")
            }
            Self::Setting {
                path,
                error:
                    SettingError::Invalid {
                        value, expected, ..
                    },
            } => {
                write!(formatter, "{path} = {value}: expected {expected}")
            }
            Self::Invalid {
                path,
                value,
                expected,
            } => {
                write!(formatter, "{path} = {value}: expected {expected}")
            }
            Self::NotAllowed { path } => {
                write!(
                    formatter,
                    "{path} is not a setting that this lesson lets you change"
                )
            }
        }
    }
}

/// A setting path with its new value, as text.
pub type Override = (Arc<str>, Arc<str>);

/// Changes one setting, for every name that `path` stands for.
///
/// # Errors
/// Path or value do not fit; nothing has changed then.
pub fn apply(scenario: &mut Scenario, path: &str, value: &str) -> Result<(), SetError> {
    let mut changed = scenario.clone();
    Setter {
        scenario: &mut changed,
        path,
        value,
    }
    .apply()?;
    *scenario = changed;
    Ok(())
}

/// The present value at `path`; for `*` the first one. Unset when there is no such setting.
pub fn value(scenario: &Scenario, path: &str) -> Option<String> {
    let (head, rest) = path.split_once('.').unwrap_or((path, ""));
    match head {
        "seed" => Some(scenario.seed.to_string()),
        "until" => Some(Span(scenario.until.0).to_string()),
        "network" => match rest {
            "latency" => Some(Span(scenario.network.latency_us).to_string()),
            "jitter" => Some(Span(scenario.network.jitter_us).to_string()),
            "loss" => Some(print_loss(scenario.network.loss)),
            _ => None,
        },
        "cluster" => scenario.broker_config.value(rest),
        "history" => scenario.history.value(rest),
        "topic" => {
            let topic = scenario
                .topics
                .iter()
                .find_map(|topic| Some((topic, strip_name(rest, &topic.name)?)));
            let (topic, rest) = topic?;
            match rest {
                "partitions" => Some(topic.partitions.to_string()),
                "replication-factor" => Some(topic.replication_factor.to_string()),
                _ => topic.config.value(rest),
            }
        }
        "producer" => {
            let (producer, rest) = scenario
                .producers
                .iter()
                .find_map(|producer| Some((producer, strip_name(rest, &producer.name)?)))?;
            match rest {
                "every" => Some(producer.workload.every.to_string()),
                "start" => Some(print_start(producer.start_at)),
                _ => producer.config.value(rest),
            }
        }
        "consumer" => {
            let (consumer, rest) = scenario
                .consumers
                .iter()
                .find_map(|consumer| Some((consumer, strip_name(rest, &consumer.name)?)))?;
            match rest {
                "start" => Some(print_start(consumer.start_at)),
                "processing" => Some(print_processing(consumer.processing.time)),
                _ => consumer
                    .processing
                    .value(rest)
                    .or_else(|| consumer.config.value(rest)),
            }
        }
        _ => None,
    }
}

/// Whether `allowed`, in which `*` stands for any name, covers `path`.
pub fn covers(allowed: &str, path: &str) -> bool {
    let mut pieces = allowed.split(".*.");
    let Some(first) = pieces.next() else {
        return false;
    };
    match pieces.next() {
        None => allowed == path,
        Some(last) => path
            .strip_prefix(first)
            .and_then(|rest| rest.strip_prefix('.'))
            .and_then(|rest| rest.strip_suffix(last))
            .is_some_and(|middle| 1 < middle.len() && middle.ends_with('.')),
    }
}

/// What a value at `path` looks like, and what the setting does. Names in it need not exist.
pub fn describe(path: &str) -> Option<(&'static str, &'static str)> {
    let own = OWN_SETTINGS
        .iter()
        .find(|own| covers(&own.path.replace("NAME", "*"), path));
    if let Some(own) = own {
        return Some((own.expected, own.doc));
    }
    let (head, rest) = path.split_once('.')?;
    let known = match head {
        "cluster" => BrokerConfig::SETTINGS,
        "history" => HistoryConfig::SETTINGS,
        "topic" => TopicConfig::SETTINGS,
        "producer" => ProducerConfig::SETTINGS,
        "consumer" => ConsumerConfig::SETTINGS,
        _ => return None,
    };
    let ends = |name: &str| {
        rest == name
            || rest
                .strip_suffix(name)
                .is_some_and(|rest| rest.ends_with('.') && 1 < rest.len())
    };
    known
        .iter()
        .filter(|setting| ends(setting.name))
        .max_by_key(|setting| setting.name.len())
        .map(|setting| (setting.expected, setting.doc))
}

/// Reads `5ms`, `uniform 1ms 5ms` or `exponential 5ms`.
pub fn parse_processing(text: &str) -> Option<ProcessingTime> {
    let span = |text: &str| {
        parse_span(text)
            .ok()
            .filter(|span| span.0 <= SIM_TIME_MAX_US)
    };
    let words: Vec<&str> = text.split_whitespace().collect();
    match words.as_slice() {
        [fixed] | ["fixed", fixed] => Some(ProcessingTime::Fixed(span(fixed)?)),
        ["uniform", low, high] => {
            let (low, high) = (span(low)?, span(high)?);
            (low <= high).then_some(ProcessingTime::Uniform(low, high))
        }
        ["exponential", mean] => Some(ProcessingTime::Exponential(span(mean)?)),
        _ => None,
    }
}

/// Reads `0.5%` as a ratio.
pub fn parse_loss(text: &str) -> Option<Ratio> {
    let number = text.trim().strip_suffix('%')?.trim();
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    let is_number = |part: &str| part.bytes().all(|byte| byte.is_ascii_digit());
    if whole.is_empty() || !is_number(whole) || !is_number(fraction) || 4 < fraction.len() {
        return None;
    }
    // A percent is 10,000 per million, so four decimals are exact.
    let whole: u32 = whole.parse().ok()?;
    let fraction: u32 = format!("{fraction:0<4}").parse().ok()?;
    let per_million = whole.checked_mul(10_000)?.checked_add(fraction)?;
    (per_million < 1_000_000).then_some(Ratio::per_million(per_million))
}

/// Reads when a process starts: a time, or `by-action` for never by itself.
pub fn parse_start(text: &str) -> Option<Option<SimTime>> {
    if text == BY_ACTION {
        return Some(None);
    }
    let at = parse_span(text)
        .ok()
        .filter(|span| span.0 <= SIM_TIME_MAX_US)?;
    Some(Some(SimTime(at.0)))
}

fn print_start(at: Option<SimTime>) -> String {
    at.map_or_else(|| String::from(BY_ACTION), |at| Span(at.0).to_string())
}

fn print_processing(time: ProcessingTime) -> String {
    match time {
        ProcessingTime::Fixed(span) => span.to_string(),
        ProcessingTime::Uniform(low, high) => format!("uniform {low} {high}"),
        ProcessingTime::Exponential(mean) => format!("exponential {mean}"),
    }
}

fn print_loss(loss: Ratio) -> String {
    let denominator = u64::from(loss.denominator).max(1);
    let per_million = u64::from(loss.numerator) * 1_000_000 / denominator;
    let text = format!("{}.{:04}", per_million / 10_000, per_million % 10_000);
    format!("{}%", text.trim_end_matches('0').trim_end_matches('.'))
}

fn strip_name<'p>(rest: &'p str, name: &str) -> Option<&'p str> {
    let prefix = rest.strip_prefix("*.");
    prefix.or_else(|| rest.strip_prefix(name)?.strip_prefix('.'))
}

struct Setter<'a> {
    scenario: &'a mut Scenario,
    path: &'a str,
    value: &'a str,
}

impl Setter<'_> {
    fn apply(&mut self) -> Result<(), SetError> {
        let path = self.path;
        let (head, rest) = path.split_once('.').unwrap_or((path, ""));
        match (head, rest) {
            ("seed", "") => self.scenario.seed = self.number(0, u64::MAX)?,
            ("until", "") => self.scenario.until = SimTime(self.span()?.0),
            ("network", "latency") => self.scenario.network.latency_us = self.span()?.0,
            ("network", "jitter") => self.scenario.network.jitter_us = self.span()?.0,
            ("network", "loss") => {
                self.scenario.network.loss =
                    parse_loss(self.value).ok_or_else(|| self.invalid(LOSS))?;
            }
            ("cluster", _) if !rest.is_empty() => {
                let mut config: BrokerConfig = (*self.scenario.broker_config).clone();
                config
                    .set(rest, self.value)
                    .map_err(|error| self.setting(error))?;
                self.scenario.broker_config = Arc::new(config);
            }
            ("history", _) if !rest.is_empty() => {
                let mut history = self.scenario.history;
                history
                    .set(rest, self.value)
                    .map_err(|error| self.setting(error))?;
                self.scenario.history = history;
            }
            ("topic", _) if !rest.is_empty() => self.topics(rest)?,
            ("producer", _) if !rest.is_empty() => self.producers(rest)?,
            ("consumer", _) if !rest.is_empty() => self.consumers(rest)?,
            _ => {
                let heads = OWN_SETTINGS.iter().map(|own| own.path);
                let nearest = nearest(path, heads).map(str::to_owned);
                return Err(SetError::UnknownPath {
                    path: path.to_owned(),
                    nearest,
                });
            }
        }
        Ok(())
    }

    fn topics(&mut self, rest: &str) -> Result<(), SetError> {
        let names: Vec<Arc<str>> = self
            .scenario
            .topics
            .iter()
            .map(|t| t.name.clone())
            .collect();
        let chosen = self.chosen("topic", rest, &names)?;
        for (index, name) in chosen {
            let number = self.number(1, u64::from(PARTITIONS_MAX));
            let Some(topic) = self.scenario.topics.get_mut(index) else {
                continue;
            };
            match name.as_str() {
                "partitions" => topic.partitions = u32::try_from(number?).unwrap_or(u32::MAX),
                "replication-factor" => {
                    topic.replication_factor = u32::try_from(number?).unwrap_or(u32::MAX);
                }
                _ => {
                    let result = topic.config.set(&name, self.value);
                    result.map_err(|error| self.setting(error))?;
                }
            }
        }
        Ok(())
    }

    fn producers(&mut self, rest: &str) -> Result<(), SetError> {
        let names: Vec<Arc<str>> = self
            .scenario
            .producers
            .iter()
            .map(|p| p.name.clone())
            .collect();
        for (index, name) in self.chosen("producer", rest, &names)? {
            let every = match self.span() {
                Ok(Span::ZERO) => Err(self.invalid(TIME)),
                other => other,
            };
            let start = self.start();
            let Some(producer) = self.scenario.producers.get_mut(index) else {
                continue;
            };
            match name.as_str() {
                "every" => producer.workload.every = every?,
                "start" => producer.start_at = start?,
                _ => {
                    let result = producer.config.set(&name, self.value);
                    result.map_err(|error| self.setting(error))?;
                }
            }
        }
        Ok(())
    }

    fn consumers(&mut self, rest: &str) -> Result<(), SetError> {
        let names: Vec<Arc<str>> = self
            .scenario
            .consumers
            .iter()
            .map(|c| c.name.clone())
            .collect();
        for (index, name) in self.chosen("consumer", rest, &names)? {
            let start = self.start();
            let processing = parse_processing(self.value).ok_or_else(|| self.invalid(PROCESSING));
            let Some(consumer) = self.scenario.consumers.get_mut(index) else {
                continue;
            };
            match name.as_str() {
                "start" => consumer.start_at = start?,
                "processing" => consumer.processing.time = processing?,
                _ if Processing::SETTINGS.iter().any(|it| it.0 == name) => {
                    if consumer.processing.set(&name, self.value) == Some(false) {
                        let setting = Processing::SETTINGS.iter().find(|it| it.0 == name);
                        return Err(self.invalid(setting.map_or("", |it| it.1)));
                    }
                }
                _ => {
                    let result = consumer.config.set(&name, self.value);
                    result.map_err(|error| self.setting(error))?;
                }
            }
        }
        Ok(())
    }

    /// What `rest` names: index and setting. The longest name wins, as names may hold dots.
    fn chosen(
        &self,
        kind: &'static str,
        rest: &str,
        names: &[Arc<str>],
    ) -> Result<Vec<(usize, String)>, SetError> {
        if let Some(setting) = rest.strip_prefix("*.") {
            let all = (0..names.len()).map(|index| (index, setting.to_owned()));
            return Ok(all.collect());
        }
        let longest = names
            .iter()
            .enumerate()
            .filter_map(|(index, name)| Some((name, index, strip_name(rest, name)?)))
            .max_by_key(|(name, ..)| name.len());
        match longest {
            Some((_, index, setting)) => Ok(vec![(index, setting.to_owned())]),
            None => Err(SetError::UnknownName {
                path: self.path.to_owned(),
                kind,
                known: names.iter().map(ToString::to_string).collect(),
            }),
        }
    }

    fn number(&self, min: u64, max: u64) -> Result<u64, SetError> {
        let number = self.value.trim().parse().ok();
        number
            .filter(|number| (min..=max).contains(number))
            .ok_or_else(|| self.invalid("a whole number that the simulator can hold"))
    }

    fn span(&self) -> Result<Span, SetError> {
        let span = parse_span(self.value)
            .ok()
            .filter(|span| span.0 <= SIM_TIME_MAX_US);
        span.ok_or_else(|| self.invalid(TIME))
    }

    fn start(&self) -> Result<Option<SimTime>, SetError> {
        parse_start(self.value).ok_or_else(|| self.invalid(START))
    }

    fn invalid(&self, expected: &'static str) -> SetError {
        let value = self.value.to_owned();
        SetError::Invalid {
            path: self.path.to_owned(),
            value,
            expected,
        }
    }

    fn setting(&self, error: SettingError) -> SetError {
        SetError::Setting {
            path: self.path.to_owned(),
            error,
        }
    }
}

/// Whether a scenario is one that the simulator can run; otherwise every reason why not.
///
/// # Errors
/// One sentence for each fault.
pub fn validate(scenario: &Scenario) -> Result<(), Vec<String>> {
    let mut faults = Vec::new();
    let mut limit = |what: &str, count: u64, count_max: u32| {
        if u64::from(count_max) < count {
            faults.push(format!("{count} {what}; at most {count_max} are allowed"));
        }
    };
    let brokers = scenario.brokers.len();
    let count = |number: usize| u64::try_from(number).unwrap_or(u64::MAX);
    limit("brokers", count(brokers), BROKERS_MAX);
    limit("clients", u64::from(scenario.client_count()), CLIENTS_MAX);
    let internal = u64::try_from(scenario.broker_config.offsets_topic_num_partitions).unwrap_or(0);
    let partitions = scenario
        .topics
        .iter()
        .map(|topic| u64::from(topic.partitions));
    limit(
        "partitions over all topics",
        partitions.sum::<u64>() + internal,
        PARTITIONS_MAX,
    );
    limit(
        "actions",
        count(scenario.actions.len()),
        crate::kernel::limits::ACTIONS_MAX,
    );
    if scenario.brokers.is_empty() {
        faults.push(String::from("a cluster needs a broker"));
    }
    if SIM_TIME_MAX_US < scenario.until.0 {
        faults.push(format!(
            "a run ends at {} at the latest",
            SimTime(SIM_TIME_MAX_US)
        ));
    }
    for (name, reason) in scenario.producer_faults() {
        faults.push(format!("{name}: {reason}"));
    }
    for topic in &scenario.topics {
        if count(brokers) < u64::from(topic.replication_factor) {
            faults.push(format!(
                "topic {}: replication-factor {} needs as many brokers; there are {brokers}",
                topic.name, topic.replication_factor
            ));
        }
        if !topic.assignments.is_empty()
            && (count(topic.assignments.len()) != u64::from(topic.partitions)
                || topic
                    .assignments
                    .iter()
                    .any(|replicas| count(replicas.len()) != u64::from(topic.replication_factor)))
        {
            faults.push(format!(
                "topic {}: assignments must have {} lists of {} brokers",
                topic.name, topic.partitions, topic.replication_factor
            ));
        }
        for id in topic.assignments.iter().flatten() {
            if scenario.brokers.iter().all(|broker| broker.id != *id) {
                faults.push(format!("topic {}: there is no broker {id}", topic.name));
            }
        }
        if topic.assignments.iter().any(|replicas| has_twice(replicas)) {
            faults.push(format!(
                "topic {}: a broker stands twice in one list",
                topic.name
            ));
        }
    }
    faults.extend(client_faults(scenario));
    if faults.is_empty() {
        Ok(())
    } else {
        Err(faults)
    }
}

fn has_twice(replicas: &[BrokerId]) -> bool {
    replicas
        .iter()
        .enumerate()
        .any(|(index, id)| replicas.iter().skip(index + 1).any(|o| o == id))
}

fn client_faults(scenario: &Scenario) -> Vec<String> {
    let mut faults = Vec::new();
    let topic = |name: &str| scenario.topics.iter().find(|topic| &*topic.name == name);
    for producer in &scenario.producers {
        let (name, workload) = (&producer.name, &producer.workload);
        match (topic(&workload.topic), workload.partition) {
            (None, _) => faults.push(format!("producer {name}: no topic {}", workload.topic)),
            (Some(topic), Some(partition)) if topic.partitions <= partition => {
                faults.push(format!(
                    "producer {name}: {} has no partition {partition}; it has {}, from 0",
                    topic.name, topic.partitions
                ));
            }
            (Some(_), _) => {}
        }
        if RECORD_TEXT_BYTES_MAX < workload.value_bytes {
            faults.push(format!(
                "producer {name}: value-bytes {}; at most {RECORD_TEXT_BYTES_MAX} are allowed",
                workload.value_bytes
            ));
        }
    }
    for consumer in &scenario.consumers {
        let output = consumer.output.iter().map(|output| &output.topic);
        for name in consumer.topics.iter().chain(output) {
            if topic(name).is_none() {
                faults.push(format!("consumer {}: no topic {name}", consumer.name));
            }
        }
        for (name, partition) in &consumer.assign {
            if topic(name).is_none_or(|topic| topic.partitions <= *partition) {
                faults.push(format!(
                    "consumer {}: no partition {name}-{partition}",
                    consumer.name
                ));
            }
        }
    }
    faults
}

const BY_ACTION: &str = "by-action";
const TIME: &str = "a time with its unit, such as 8.5s, 250ms, 2m or 1h";
const START: &str = "a time such as 12s, or by-action";
const LOSS: &str = "a share below 100%, such as 0.5%";
const PROCESSING: &str = "5ms, uniform 1ms 5ms or exponential 5ms";

#[cfg(test)]
mod tests;
