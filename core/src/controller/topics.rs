//! Topics: created, given more partitions, changed, deleted.

use super::Controller;
use super::placement::{PlacementError, StripedReplicaPlacer};
use crate::base::config::TopicConfig;
use crate::base::ids::{BrokerId, CONSUMER_OFFSETS, TRANSACTION_STATE, TopicId, TopicPartition};
use crate::kernel::limits::PARTITIONS_MAX;
use crate::trace::out::{Out, ReplyTo};
use crate::wire::api::{
    AdminResponse, CreatePartitionsRequest, CreateTopicsRequest, CreateTopicsResponse,
    DeleteTopicsRequest, IncrementalAlterConfigsRequest, Response,
};
use crate::wire::error_code::ErrorCode;
use crate::wire::metadata::{MetadataRecord, PartitionRegistration};
use std::sync::Arc;

/// What is wrong, and Kafka's sentence on it.
type Refusal = (ErrorCode, String);

impl Controller {
    /// Creates the scenario's topics once every broker of it takes part.
    pub(super) fn create_first_topics(&mut self, out: &mut Out) {
        let controller = self.id;
        let are_up = self
            .first_brokers
            .iter()
            .all(|id| self.image.is_active(*id));
        if !are_up {
            return;
        }
        for topic in std::mem::take(&mut self.first_topics) {
            if let Err((error_code, text)) = self.create_topic(&topic, out) {
                out.log(format!(
                    "[QuorumController id={controller}] Topic {} was not created: \
                     {error_code}: {text}",
                    topic.name
                ));
            }
        }
    }

    /// Creates a topic.
    ///
    /// # Errors sent
    /// `INVALID_TOPIC_EXCEPTION` (17), `TOPIC_ALREADY_EXISTS` (36), `INVALID_PARTITIONS` (37),
    /// `INVALID_REPLICATION_FACTOR` (38), `INVALID_REPLICA_ASSIGNMENT` (39), `INVALID_CONFIG` (40),
    /// `INVALID_REQUEST` (42).
    /// # Source
    /// `ReplicationControlManager.createTopic`.
    pub(super) fn handle_create_topics(
        &mut self,
        reply: ReplyTo,
        request: &CreateTopicsRequest,
        out: &mut Out,
    ) {
        let (error_code, error_message) = split(self.create_topic(request, out));
        let response = CreateTopicsResponse {
            error_code,
            error_message,
        };
        self.respond(reply, Response::CreateTopics(response), out);
    }

    fn create_topic(
        &mut self,
        request: &CreateTopicsRequest,
        out: &mut Out,
    ) -> Result<(), Refusal> {
        check_name(&request.name)?;
        if self.image.topic_by_name(&request.name).is_some() {
            let text = format!("Topic '{}' already exists.", request.name);
            return Err((ErrorCode::TopicAlreadyExists, text));
        }
        let config = self.new_config(request)?;
        let assignments = if request.assignments.is_empty() {
            self.place(request)?
        } else {
            self.check_assignments(request)?;
            request.assignments.clone()
        };
        self.check_partition_limit(assignments.len())?;
        let topic_id = self.new_topic_id(&request.name);
        let mut records = vec![MetadataRecord::Topic {
            topic_id,
            name: request.name.clone(),
            config: Arc::new(config),
        }];
        for (partition, replicas) in (0_u32..).zip(assignments) {
            let topic_partition = TopicPartition::new(topic_id, partition);
            records.push(self.new_partition(topic_partition, replicas));
        }
        self.append_all(records, out);
        Ok(())
    }

    /// The ISR of a new partition is its active replicas; the first of them leads.
    fn new_partition(
        &self,
        topic_partition: TopicPartition,
        replicas: Vec<BrokerId>,
    ) -> MetadataRecord {
        let active = replicas.iter().copied();
        let mut isr: Vec<BrokerId> = active.filter(|id| self.image.is_active(*id)).collect();
        let leader = isr.first().copied();
        isr.sort_unstable();
        MetadataRecord::Partition {
            topic_partition,
            registration: Arc::new(PartitionRegistration {
                replicas,
                isr,
                leader,
                ..PartitionRegistration::default()
            }),
        }
    }

    /// The id that is kept for a name, once; else one that no topic has had.
    fn new_topic_id(&self, name: &str) -> TopicId {
        let is_fresh = |id: TopicId| {
            !self.image.topics.contains_key(&id) && !self.image.retired_topics.contains(&id)
        };
        let reserved = (0_u32..).zip(self.reserved_names.iter());
        for (id, kept) in reserved {
            if **kept == *name && is_fresh(TopicId(id)) {
                return TopicId(id);
            }
        }
        let used = self.image.topics.keys().chain(&self.image.retired_topics);
        let last = used.map(|id| id.0 + 1).max().unwrap_or_default();
        TopicId(last.max(u32::try_from(self.reserved_names.len()).unwrap_or(u32::MAX)))
    }

    fn new_config(&self, request: &CreateTopicsRequest) -> Result<TopicConfig, Refusal> {
        let mut config = match &request.config {
            Some(config) => TopicConfig::clone(config),
            None => TopicConfig::of_broker(&self.config),
        };
        for (name, value) in &request.overrides {
            config
                .set(name, value)
                .map_err(|error| (ErrorCode::InvalidConfig, error.to_string()))?;
        }
        Ok(config)
    }

    fn check_partition_limit(&self, added: usize) -> Result<(), Refusal> {
        let existing = self.image.partitions().count();
        let count = u32::try_from(existing + added).unwrap_or(u32::MAX);
        if PARTITIONS_MAX < count {
            let text = format!("A cluster has at most {PARTITIONS_MAX} partitions here.");
            return Err((ErrorCode::InvalidPartitions, text));
        }
        Ok(())
    }

    /// Replicas for every partition, by the placer.
    fn place(&mut self, request: &CreateTopicsRequest) -> Result<Vec<Vec<BrokerId>>, Refusal> {
        let default = |number: i64| u32::try_from(number).unwrap_or(1);
        let partitions = request.partition_count;
        let partitions = partitions.unwrap_or_else(|| default(self.config.num_partitions));
        let factor = request.replication_factor;
        let factor = factor.unwrap_or_else(|| default(self.config.default_replication_factor));
        if partitions == 0 {
            let text = "Number of partitions was set to an invalid non-positive value.";
            return Err((ErrorCode::InvalidPartitions, text.to_owned()));
        }
        if factor == 0 {
            let text = "Replication factor must be larger than 0, or -1 to use the default value.";
            return Err((ErrorCode::InvalidReplicationFactor, text.to_owned()));
        }
        self.check_partition_limit(usize::try_from(partitions).unwrap_or(usize::MAX / 2))?;
        self.place_new(&request.name, partitions, factor)
    }

    fn place_new(
        &mut self,
        name: &str,
        partitions: u32,
        factor: u32,
    ) -> Result<Vec<Vec<BrokerId>>, Refusal> {
        let mut placer = StripedReplicaPlacer::new(&self.image, &mut self.placement);
        let factor = if name == CONSUMER_OFFSETS || name == TRANSACTION_STATE {
            factor.min(placer.usable_count().max(1))
        } else {
            factor
        };
        (0..partitions)
            .map(|_| placer.place(factor, &mut self.placement))
            .collect::<Result<_, PlacementError>>()
            .map_err(|error| {
                let text = format!("Unable to replicate the partition {factor} time(s): {error}");
                (ErrorCode::InvalidReplicationFactor, text)
            })
    }

    fn check_assignments(&self, request: &CreateTopicsRequest) -> Result<(), Refusal> {
        let invalid = |text: String| Err((ErrorCode::InvalidReplicaAssignment, text));
        let lists = &request.assignments;
        let count = |items: usize| u32::try_from(items).unwrap_or(u32::MAX);
        let first = lists.first().map_or(0, Vec::len);
        if request
            .replication_factor
            .is_some_and(|factor| factor != count(first))
        {
            let text = "A manual partition assignment was specified, but replication factor was \
                        not set to -1.";
            return Err((ErrorCode::InvalidRequest, text.to_owned()));
        }
        if request
            .partition_count
            .is_some_and(|wanted| wanted != count(lists.len()))
        {
            let text = "A manual partition assignment was specified, but numPartitions was not \
                        set to -1.";
            return Err((ErrorCode::InvalidRequest, text.to_owned()));
        }
        for (partition, replicas) in lists.iter().enumerate() {
            if replicas.is_empty() {
                return invalid(
                    "The manual partition assignment includes an empty replica list.".to_owned(),
                );
            }
            for (at, id) in replicas.iter().enumerate() {
                if !self.image.brokers.contains_key(id) {
                    return invalid(format!(
                        "The manual partition assignment includes broker {id}, but no such broker \
                         is registered."
                    ));
                }
                if replicas.iter().take(at).any(|earlier| earlier == id) {
                    return invalid(format!(
                        "The manual partition assignment includes the broker {id} more than once."
                    ));
                }
            }
            if replicas.len() != first {
                return invalid(format!(
                    "The manual partition assignment includes a partition with {} replica(s), but \
                     this is not consistent with previous partitions, which have {first} \
                     replica(s).",
                    replicas.len()
                ));
            }
            if !replicas.iter().any(|id| self.image.is_active(*id)) {
                return invalid(format!(
                    "All brokers specified in the manual partition assignment for partition \
                     {partition} are fenced or in controlled shutdown."
                ));
            }
        }
        Ok(())
    }

    /// Deletes a topic with everything in it.
    ///
    /// # Errors sent
    /// `UNKNOWN_TOPIC_OR_PARTITION` (3).
    /// # Source
    /// `ReplicationControlManager.deleteTopics`.
    pub(super) fn handle_delete_topics(
        &mut self,
        reply: ReplyTo,
        request: &DeleteTopicsRequest,
        out: &mut Out,
    ) {
        let done = match self.image.topic_by_name(&request.name) {
            Some((topic_id, _)) => {
                self.append(MetadataRecord::RemoveTopic { topic_id }, out);
                Ok(())
            }
            None => Err(unknown_topic()),
        };
        self.respond(reply, Response::DeleteTopics(admin(done)), out);
    }

    /// Gives a topic more partitions. Keys may fall on other partitions from then on.
    ///
    /// # Errors sent
    /// `UNKNOWN_TOPIC_OR_PARTITION` (3), `INVALID_PARTITIONS` (37),
    /// `INVALID_REPLICATION_FACTOR` (38).
    /// # Source
    /// `ReplicationControlManager.createPartitions`.
    /// # Simplified
    /// No replicas by hand for the new partitions.
    pub(super) fn handle_create_partitions(
        &mut self,
        reply: ReplyTo,
        request: &CreatePartitionsRequest,
        out: &mut Out,
    ) {
        let done = self.create_partitions(request, out);
        self.respond(reply, Response::CreatePartitions(admin(done)), out);
    }

    fn create_partitions(
        &mut self,
        request: &CreatePartitionsRequest,
        out: &mut Out,
    ) -> Result<(), Refusal> {
        let name = &request.name;
        let Some((topic_id, topic)) = self.image.topic_by_name(name) else {
            return Err(unknown_topic());
        };
        let before = u32::try_from(topic.partitions.len()).unwrap_or(u32::MAX);
        let invalid = |text: String| Err((ErrorCode::InvalidPartitions, text));
        if request.count == before {
            return invalid(format!("Topic already has {before} partition(s)."));
        }
        if request.count < before {
            return invalid(format!(
                "The topic {name} currently has {before} partition(s); {} would not be an increase.",
                request.count
            ));
        }
        let added = request.count - before;
        self.check_partition_limit(usize::try_from(added).unwrap_or(usize::MAX / 2))?;
        let first = topic.partitions.first();
        let factor = first.map_or(1, |part| u32::try_from(part.replicas.len()).unwrap_or(1));
        let placed = self.place_new("", added, factor)?;
        let mut records = Vec::new();
        for (partition, replicas) in (before..).zip(placed) {
            let topic_partition = TopicPartition::new(topic_id, partition);
            records.push(self.new_partition(topic_partition, replicas));
        }
        self.append_all(records, out);
        Ok(())
    }

    /// Changes a setting of a topic. Another `min.insync.replicas` clears its eligible leader
    /// replicas.
    ///
    /// # Errors sent
    /// `UNKNOWN_TOPIC_OR_PARTITION` (3), `INVALID_CONFIG` (40).
    /// # Source
    /// `ConfigurationControlManager.incrementalAlterConfigs` (KIP-339, KIP-966). An unclean election
    /// that is allowed now takes place at the next unfencing or sweep.
    /// # Simplified
    /// Only settings of topics, one a request; no deletion of an override.
    pub(super) fn handle_incremental_alter_configs(
        &mut self,
        reply: ReplyTo,
        request: &IncrementalAlterConfigsRequest,
        out: &mut Out,
    ) {
        let done = self.alter_config(request, out);
        self.respond(reply, Response::IncrementalAlterConfigs(admin(done)), out);
    }

    fn alter_config(
        &mut self,
        request: &IncrementalAlterConfigsRequest,
        out: &mut Out,
    ) -> Result<(), Refusal> {
        let Some((topic_id, topic)) = self.image.topic_by_name(&request.name) else {
            let text = format!("The topic '{}' does not exist.", request.name);
            return Err((ErrorCode::UnknownTopicOrPartition, text));
        };
        let mut config = TopicConfig::clone(&topic.config);
        config
            .set(&request.setting, &request.value)
            .map_err(|error| (ErrorCode::InvalidConfig, error.to_string()))?;
        if config == *topic.config {
            return Ok(());
        }
        let clears_elr =
            self.features().elr && config.min_insync_replicas != topic.config.min_insync_replicas;
        let count = u32::try_from(topic.partitions.len()).unwrap_or(u32::MAX);
        let config = Arc::new(config);
        self.append(MetadataRecord::TopicConfig { topic_id, config }, out);
        if clears_elr {
            for partition in 0..count {
                let id = TopicPartition::new(topic_id, partition);
                self.clear_elr(id, out);
            }
        }
        Ok(())
    }

    fn clear_elr(&mut self, topic_partition: TopicPartition, out: &mut Out) {
        let Some(before) = self.image.partition(topic_partition) else {
            return;
        };
        if before.elr.is_empty() && before.last_known_elr.is_empty() {
            return;
        }
        let registration = Arc::new(PartitionRegistration {
            elr: Vec::new(),
            last_known_elr: Vec::new(),
            partition_epoch: before.partition_epoch + 1,
            ..before.clone()
        });
        let record = MetadataRecord::Partition {
            topic_partition,
            registration,
        };
        self.append(record, out);
    }
}

/// What has changed between two settings of a topic: `name=value`, with commas between.
pub(super) fn differences(before: &TopicConfig, after: &TopicConfig) -> Arc<str> {
    let mut text = String::new();
    for setting in TopicConfig::SETTINGS {
        let value = after.value(setting.name);
        if value != before.value(setting.name) {
            if !text.is_empty() {
                text.push_str(", ");
            }
            text.push_str(setting.name);
            text.push('=');
            text.push_str(&value.unwrap_or_default());
        }
    }
    Arc::from(text)
}

fn unknown_topic() -> Refusal {
    let text = "This server does not host this topic-partition.";
    (ErrorCode::UnknownTopicOrPartition, text.to_owned())
}

fn split(done: Result<(), Refusal>) -> (ErrorCode, Option<Arc<str>>) {
    match done {
        Ok(()) => (ErrorCode::None, None),
        Err((error_code, text)) => (error_code, Some(Arc::from(text))),
    }
}

fn admin(done: Result<(), Refusal>) -> AdminResponse {
    let (error_code, error_message) = split(done);
    AdminResponse {
        error_code,
        error_message,
    }
}

/// Whether Kafka allows a topic of this name.
fn check_name(name: &str) -> Result<(), Refusal> {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-');
    let is_fine = !name.is_empty()
        && name.len() <= NAME_CHARS_MAX
        && name != "."
        && name != ".."
        && name.chars().all(is_plain);
    if is_fine {
        Ok(())
    } else {
        let text = format!(
            "Topic name is invalid: '{name}' has to be at most {NAME_CHARS_MAX} of ASCII letters, \
             digits, '.', '_' and '-'."
        );
        Err((ErrorCode::InvalidTopicException, text))
    }
}

const NAME_CHARS_MAX: usize = 249;
