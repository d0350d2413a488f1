//! What a client knows of the cluster, and how it keeps that fresh.

use super::backoff::Backoff;
use crate::base::ids::{BrokerId, CorrelationId, NodeId, TopicId, TopicPartition};
use crate::base::timer::Timer;
use crate::kernel::rng::Stream;
use crate::kernel::time::{SimTime, Span};
use crate::trace::out::Out;
use crate::wire::api::{MetadataPartition, MetadataRequest, MetadataResponse, Request};
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// A client's picture of the cluster (`Metadata`), possibly stale.
#[derive(Clone, Debug, Serialize)]
pub struct ClientMetadata {
    config: MetadataConfig,
    /// Brokers of the last answer; before any, the bootstrap list.
    brokers: Vec<BrokerId>,
    topics: BTreeMap<TopicId, KnownTopic>,
    wanted: BTreeSet<Arc<str>>,
    /// Counts answers.
    version: u64,
    /// Whether the last answer was about every topic that is wanted.
    covers_wanted: bool,
    in_flight: Option<CorrelationId>,
    /// Whether an answer newer than the last one is wanted.
    needs_update: bool,
    failures: u32,
    /// Not before this instant.
    retry_at: SimTime,
    /// Brokers that could not be reached: until when they are left alone, and how often in a row.
    unreachable: BTreeMap<BrokerId, (SimTime, u32)>,
    next_broker: u32,
}

/// A topic as a client knows it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct KnownTopic {
    /// Its name.
    pub name: Arc<str>,
    /// Its partitions, by number.
    pub partitions: Vec<MetadataPartition>,
}

/// What a client's metadata need to know.
#[derive(Clone, Debug, Serialize)]
pub struct MetadataConfig {
    /// `bootstrap.servers`.
    pub bootstrap: Vec<BrokerId>,
    /// `metadata.max.age.ms`.
    pub max_age: Span,
    /// `retry.backoff.ms` and its bound.
    pub backoff: Backoff,
    /// `reconnect.backoff.ms` and its bound.
    pub reconnect: Backoff,
    /// `request.timeout.ms`.
    pub request_timeout: Span,
    /// The timer that asks again.
    pub timer: Timer,
    /// Whether a topic that does not exist may be created (`allow.auto.create.topics`).
    pub may_create_topics: bool,
}

impl ClientMetadata {
    /// Knows nothing but the bootstrap list.
    pub fn new(config: MetadataConfig, wanted: impl IntoIterator<Item = Arc<str>>) -> Self {
        Self {
            brokers: config.bootstrap.clone(),
            config,
            topics: BTreeMap::new(),
            wanted: wanted.into_iter().collect(),
            version: 0,
            covers_wanted: false,
            in_flight: None,
            needs_update: true,
            failures: 0,
            retry_at: SimTime::ZERO,
            unreachable: BTreeMap::new(),
            next_broker: 0,
        }
    }

    /// Counts the answers so far.
    pub const fn version(&self) -> u64 {
        self.version
    }

    /// Whether the last answer was about every topic that is wanted now.
    pub const fn covers_wanted(&self) -> bool {
        self.covers_wanted
    }

    /// Whether an answer newer than the last one is on its way or wanted.
    pub const fn is_stale(&self) -> bool {
        self.needs_update || self.in_flight.is_some()
    }

    /// Brokers of the last answer; before any, the bootstrap list.
    pub fn brokers(&self) -> &[BrokerId] {
        &self.brokers
    }

    /// The topics that are known.
    pub const fn topics(&self) -> &BTreeMap<TopicId, KnownTopic> {
        &self.topics
    }

    /// The topic called `name`.
    pub fn topic_by_name(&self, name: &str) -> Option<(TopicId, &KnownTopic)> {
        self.topics
            .iter()
            .find(|(_, topic)| &*topic.name == name)
            .map(|(id, topic)| (*id, topic))
    }

    /// A partition's leader and its epoch.
    pub fn leader(&self, topic_partition: TopicPartition) -> Option<(BrokerId, i32)> {
        let index = usize::try_from(topic_partition.partition).ok()?;
        let partition = self
            .topics
            .get(&topic_partition.topic)?
            .partitions
            .get(index)?;
        partition
            .leader
            .map(|leader| (leader, partition.leader_epoch))
    }

    /// The partitions that a broker leads, in order.
    pub fn led_by(&self, broker: BrokerId) -> Vec<TopicPartition> {
        let mut led = Vec::new();
        for (topic, known) in &self.topics {
            for (number, partition) in (0..).zip(&known.partitions) {
                if partition.leader == Some(broker) {
                    led.push(TopicPartition::new(*topic, number));
                }
            }
        }
        led
    }

    /// Takes in a leader that an error named (KIP-951). True if it was news.
    pub fn update_leader(
        &mut self,
        topic_partition: TopicPartition,
        leader: BrokerId,
        leader_epoch: i32,
    ) -> bool {
        let Ok(index) = usize::try_from(topic_partition.partition) else {
            return false;
        };
        let partition = self
            .topics
            .get_mut(&topic_partition.topic)
            .and_then(|topic| topic.partitions.get_mut(index));
        match partition {
            Some(partition) if partition.leader_epoch < leader_epoch => {
                *partition = MetadataPartition {
                    leader: Some(leader),
                    leader_epoch,
                };
                true
            }
            Some(_) | None => false,
        }
    }

    /// Adds a topic to those asked for. True if it is new.
    pub fn want(&mut self, name: &Arc<str>) -> bool {
        let is_new = self.wanted.insert(name.clone());
        self.needs_update |= is_new;
        self.covers_wanted &= !is_new;
        is_new
    }

    /// Whether every topic asked for is known.
    pub fn knows_all_wanted(&self) -> bool {
        self.wanted
            .iter()
            .all(|name| self.topic_by_name(name).is_some())
    }

    /// Asks for news, as soon as the back-off allows.
    pub fn request_update(&mut self, out: &mut Out) {
        self.needs_update = true;
        self.send_if_due(out);
    }

    /// The timer fired: asks if the back-off is over, or if the last answer is too old.
    pub fn on_timer(&mut self, out: &mut Out) {
        self.needs_update = true;
        self.send_if_due(out);
    }

    fn send_if_due(&mut self, out: &mut Out) {
        if !self.needs_update || self.in_flight.is_some() {
            return;
        }
        if out.now < self.retry_at {
            out.arm_at(self.config.timer.clone(), self.retry_at);
            return;
        }
        match self.pick_broker(out.now) {
            Ok(broker) => {
                let request = MetadataRequest {
                    topics: self.wanted.iter().cloned().collect(),
                    allow_auto_topic_creation: self.config.may_create_topics,
                };
                let to = NodeId::Broker(broker);
                let timeout = self.config.request_timeout;
                self.in_flight = Some(out.request(to, Request::Metadata(request), timeout));
            }
            Err(retry_at) => out.arm_at(self.config.timer.clone(), retry_at),
        }
    }

    /// A broker to ask: in turn, without those that could not be reached a moment ago.
    ///
    /// # Errors
    /// When the first of them may be tried again.
    pub fn pick_broker(&mut self, now: SimTime) -> Result<BrokerId, SimTime> {
        let count = u32::try_from(self.brokers.len()).unwrap_or(u32::MAX).max(1);
        for step in 0..count {
            let index = usize::try_from((self.next_broker + step) % count).unwrap_or_default();
            if let Some(broker) = self.brokers.get(index)
                && self.is_reachable(*broker, now)
            {
                self.next_broker = (self.next_broker + step + 1) % count;
                return Ok(*broker);
            }
        }
        let earliest = self
            .brokers
            .iter()
            .filter_map(|id| self.unreachable.get(id).map(|(until, _)| *until))
            .min();
        Err(earliest.unwrap_or(now + Span::from_millis(self.config.backoff.first_ms)))
    }

    /// Whether a broker may be tried.
    pub fn is_reachable(&self, broker: BrokerId, now: SimTime) -> bool {
        self.unreachable
            .get(&broker)
            .is_none_or(|(until, _)| *until <= now)
    }

    /// When a broker may be tried again.
    pub fn reachable_at(&self, broker: BrokerId) -> SimTime {
        self.unreachable
            .get(&broker)
            .map_or(SimTime::ZERO, |(until, _)| *until)
    }

    /// A connection to `broker` failed.
    pub fn on_connection_failed(&mut self, broker: BrokerId, stream: &mut Stream, now: SimTime) {
        let failures = self
            .unreachable
            .get(&broker)
            .map_or(0, |(_, failures)| *failures)
            + 1;
        let until = now + self.config.reconnect.after(failures, stream);
        self.unreachable.insert(broker, (until, failures));
    }

    /// A broker has answered.
    pub fn on_connection_works(&mut self, broker: BrokerId) {
        self.unreachable.remove(&broker);
    }

    /// Takes in an answer. False if the request was not sent from here.
    pub fn on_response(
        &mut self,
        correlation: CorrelationId,
        response: &MetadataResponse,
        stream: &mut Stream,
        out: &mut Out,
    ) -> bool {
        if self.in_flight != Some(correlation) {
            return false;
        }
        self.in_flight = None;
        self.version += 1;
        if !response.brokers.is_empty() {
            self.brokers.clone_from(&response.brokers);
        }
        let mut is_complete = !response.brokers.is_empty();
        for topic in &response.topics {
            match topic.topic_id {
                Some(topic_id) if topic.error_code.is_none() => {
                    is_complete &= topic.partitions.iter().all(|part| part.leader.is_some());
                    // A topic of this name that was deleted had another id.
                    self.topics
                        .retain(|id, known| *id == topic_id || known.name != topic.name);
                    self.take_in(topic_id, &topic.name, &topic.partitions);
                }
                Some(_) | None => {
                    self.topics.retain(|_, known| known.name != topic.name);
                    is_complete = false;
                }
            }
        }
        let is_covered = |name: &Arc<str>| response.topics.iter().any(|topic| topic.name == *name);
        self.covers_wanted = self.wanted.iter().all(is_covered);
        self.needs_update = !is_complete || !self.covers_wanted;
        if !self.covers_wanted {
            // A topic was added while the request was on its way (a partial update in Kafka).
            self.retry_at = out.now;
            self.send_if_due(out);
        } else if is_complete {
            self.failures = 0;
            self.retry_at = out.now + Span::from_millis(self.config.backoff.first_ms);
            out.arm(self.config.timer.clone(), self.config.max_age);
        } else {
            self.back_off(stream, out);
        }
        true
    }

    /// Keeps the newer of what is known and what is said.
    fn take_in(&mut self, topic_id: TopicId, name: &Arc<str>, partitions: &[MetadataPartition]) {
        let known = self.topics.entry(topic_id).or_insert_with(|| KnownTopic {
            name: name.clone(),
            partitions: Vec::new(),
        });
        let before = std::mem::take(&mut known.partitions);
        known.partitions = partitions
            .iter()
            .enumerate()
            .map(|(index, said)| match before.get(index) {
                Some(known) if said.leader_epoch < known.leader_epoch => *known,
                Some(_) | None => *said,
            })
            .collect();
    }

    /// The request got no answer. False if it was not sent from here.
    pub fn on_disconnect(
        &mut self,
        correlation: CorrelationId,
        stream: &mut Stream,
        out: &mut Out,
    ) -> bool {
        if self.in_flight != Some(correlation) {
            return false;
        }
        self.in_flight = None;
        self.needs_update = true;
        self.back_off(stream, out);
        true
    }

    fn back_off(&mut self, stream: &mut Stream, out: &mut Out) {
        self.failures += 1;
        self.retry_at = out.now + self.config.backoff.after(self.failures, stream);
        out.arm_at(self.config.timer.clone(), self.retry_at);
    }
}
