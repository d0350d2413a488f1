//! What a broker answers from its copy of the metadata.

use super::{Broker, Purpose};
use crate::base::config::{CleanupPolicy, TopicConfig};
use crate::base::ids::{BrokerId, CONSUMER_OFFSETS, TRANSACTION_STATE, TopicId, TopicPartition};
use crate::base::timer::Timer;
use crate::coordinator::GroupCoordinator;
use crate::kernel::time::Span;
use crate::trace::out::{Out, ReplyTo};
use crate::wire::api::{
    CreateTopicsRequest, FindCoordinatorRequest, FindCoordinatorResponse, MetadataPartition,
    MetadataRequest, MetadataResponse, MetadataTopic, Request, Response,
};
use crate::wire::error_code::ErrorCode;
use std::sync::Arc;

impl Broker {
    /// Tells a client who leads what, as far as this broker has heard; has a topic created that does
    /// not exist, if the client and the cluster allow it.
    ///
    /// # Errors sent
    /// `UNKNOWN_TOPIC_OR_PARTITION` (3) for a topic that it does not know, also while it is created.
    /// # Source
    /// `KafkaApis.handleTopicMetadataRequest`, `AutoTopicCreationManager`.
    pub(super) fn handle_metadata(
        &mut self,
        reply: ReplyTo,
        request: &MetadataRequest,
        out: &mut Out,
    ) {
        if request.allow_auto_topic_creation && self.start.config.auto_create_topics_enable {
            for name in &request.topics {
                self.maybe_create_topic(name, out);
            }
        }
        let topics = request.topics.iter().map(|name| self.topic(name)).collect();
        let image = self.replicas.image();
        let brokers = image
            .brokers
            .keys()
            .copied()
            .filter(|id| self.is_alive(*id))
            .collect();
        out.respond(
            reply,
            Response::Metadata(MetadataResponse { brokers, topics }),
        );
    }

    fn topic(&self, name: &Arc<str>) -> MetadataTopic {
        let Some((topic_id, topic)) = self.replicas.image().topic_by_name(name) else {
            return MetadataTopic {
                name: name.clone(),
                topic_id: None,
                error_code: ErrorCode::UnknownTopicOrPartition,
                partitions: Vec::new(),
            };
        };
        let partitions = topic.partitions.iter().map(|part| MetadataPartition {
            leader: part.leader.filter(|leader| self.is_alive(*leader)),
            leader_epoch: part.leader_epoch,
        });
        MetadataTopic {
            name: name.clone(),
            topic_id: Some(topic_id),
            error_code: ErrorCode::None,
            partitions: partitions.collect(),
        }
    }

    /// Has a topic created, unless that has been asked for or an administrator is about to do it.
    fn maybe_create_topic(&mut self, name: &Arc<str>, out: &mut Out) {
        let image = self.replicas.image();
        let declared = (0_u32..).zip(self.start.declared_topics.iter());
        let is_awaited = declared
            .filter(|(_, declared)| *declared == name)
            .any(|(id, _)| !image.retired_topics.contains(&TopicId(id)));
        if is_awaited
            || &**name == CONSUMER_OFFSETS
            || &**name == TRANSACTION_STATE
            || image.topic_by_name(name).is_some()
            || self.creating.iter().any(|(_, creating)| creating == name)
        {
            return;
        }
        self.create_topic(new_topic(name.clone()), out);
    }

    pub(super) fn is_alive(&self, broker: BrokerId) -> bool {
        self.replicas
            .image()
            .brokers
            .get(&broker)
            .is_some_and(|registration| !registration.fenced)
    }

    /// Tells a client who coordinates its group or its transactions; the first to ask has
    /// `__consumer_offsets` or `__transaction_state` created.
    ///
    /// # Errors sent
    /// `INVALID_GROUP_ID` (24) never; `COORDINATOR_NOT_AVAILABLE` (15) while the topic is missing
    /// or its partition has no live leader.
    /// # Source
    /// `KafkaApis.getCoordinator`.
    pub(super) fn handle_find_coordinator(
        &mut self,
        reply: ReplyTo,
        request: &FindCoordinatorRequest,
        out: &mut Out,
    ) {
        let topic = self.replicas.image().topics.get(&self.start.offsets_topic);
        let coordinator = match topic {
            _ if request.transactional_id.is_some() => {
                let id = request.transactional_id.as_deref().unwrap_or_default();
                let topic = self.start.transaction_topic;
                if !self.replicas.image().topics.contains_key(&topic) {
                    self.create_transaction_topic(out);
                }
                self.replicas.transaction_coordinator(id)
            }
            None => {
                self.create_offsets_topic(out);
                None
            }
            Some(topic) => {
                let count = u32::try_from(topic.partitions.len()).unwrap_or(u32::MAX);
                let partition = GroupCoordinator::partition_for(&request.group_id, count);
                let id = TopicPartition::new(self.start.offsets_topic, partition);
                let leader = self
                    .replicas
                    .image()
                    .partition(id)
                    .and_then(|part| part.leader);
                leader.filter(|leader| self.is_alive(*leader))
            }
        };
        let error_code = match coordinator {
            Some(_) => ErrorCode::None,
            None => ErrorCode::CoordinatorNotAvailable,
        };
        let response = FindCoordinatorResponse {
            error_code,
            coordinator,
        };
        out.respond(reply, Response::FindCoordinator(response));
    }

    fn create_offsets_topic(&mut self, out: &mut Out) {
        if self.is_creating_offsets {
            return;
        }
        self.is_creating_offsets = true;
        out.arm(Timer::CreateOffsetsTopic, CREATE_AGAIN);
        let config = &self.start.config;
        let mut request = new_topic(Arc::from(CONSUMER_OFFSETS));
        request.partition_count = Some(count(config.offsets_topic_num_partitions));
        request.replication_factor = Some(count(config.offsets_topic_replication_factor));
        request.config = Some(Arc::new(TopicConfig {
            cleanup_policy: CleanupPolicy::Compact,
            segment_bytes: config.offsets_topic_segment_bytes,
            ..TopicConfig::of_broker(config)
        }));
        self.create_topic(request, out);
    }

    fn create_transaction_topic(&mut self, out: &mut Out) {
        if self.is_creating_transactions {
            return;
        }
        self.is_creating_transactions = true;
        out.arm(Timer::CreateOffsetsTopic, CREATE_AGAIN);
        let config = &self.start.config;
        let mut request = new_topic(Arc::from(TRANSACTION_STATE));
        request.partition_count = Some(count(config.transaction_state_log_num_partitions));
        request.replication_factor = Some(count(config.transaction_state_log_replication_factor));
        request.config = Some(Arc::new(TopicConfig {
            min_insync_replicas: config.transaction_state_log_min_isr,
            cleanup_policy: CleanupPolicy::Compact,
            segment_bytes: config.transaction_state_log_segment_bytes,
            ..TopicConfig::of_broker(config)
        }));
        self.create_topic(request, out);
    }

    fn create_topic(&mut self, request: CreateTopicsRequest, out: &mut Out) {
        let Some(controller) = self.controllers.active() else {
            return;
        };
        let name = request.name.clone();
        let body = Request::CreateTopics(request);
        let correlation = out.request(controller, body, CREATE_TIMEOUT);
        self.requests.insert(correlation, Purpose::CreateTopic);
        self.creating.push((correlation, name));
    }
}

/// A topic that sets nothing itself.
const fn new_topic(name: Arc<str>) -> CreateTopicsRequest {
    CreateTopicsRequest {
        name,
        partition_count: None,
        replication_factor: None,
        assignments: Vec::new(),
        config: None,
        overrides: Vec::new(),
    }
}

fn count(number: i64) -> u32 {
    u32::try_from(number).unwrap_or(1)
}

/// A creation that came to nothing may be asked for again after this.
const CREATE_AGAIN: Span = Span(1_000_000);
/// `request.timeout.ms` of the broker.
const CREATE_TIMEOUT: Span = Span(30_000_000);
