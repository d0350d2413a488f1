//! The partitions of one broker: reading, writing, replicating.

mod alter;
mod delete_records;
mod fetch;
mod fetcher;
mod produce;
mod transaction;
mod upkeep;

pub use fetcher::Fetcher;
pub use produce::AppendError;

use self::alter::AlterPartitionManager;
use self::transaction::Verification;
use super::purgatory::{DelayedDeleteRecords, DelayedFetch, DelayedProduce, Purgatory};
use crate::base::config::{BrokerConfig, HistoryConfig, TopicConfig};
use crate::base::ids::{BrokerId, CorrelationId, NodeId, TopicPartition};
use crate::base::timer::Timer;
use crate::kernel::digest::Digest;
use crate::kernel::time::Span;
use crate::log::partition_log::PartitionLog;
use crate::replication::partition::{Partition, Role, Surroundings};
use crate::trace::out::Out;
use crate::wire::metadata::{MetadataImage, MetadataRecord, PartitionRegistration};
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// The replicas of a broker and everything that waits for them (`ReplicaManager`).
#[derive(Clone, Debug, Serialize)]
pub struct ReplicaManager {
    id: BrokerId,
    /// The active controller; unset while none is known.
    controller: Option<NodeId>,
    config: Arc<BrokerConfig>,
    /// What an old release did otherwise.
    history: HistoryConfig,
    /// What the broker's meters have counted.
    meters: Meters,
    /// Whether a controlled shutdown has begun.
    is_shutting_down: bool,
    /// What the topics that the metadata do not know (any more) are taken to have.
    topic_default: Arc<TopicConfig>,
    /// What the jitter of segments is drawn from.
    seed: u64,
    /// The broker's registration; -1 before it has one.
    broker_epoch: i64,
    /// The cluster as this broker has replayed it.
    image: MetadataImage,
    partitions: BTreeMap<TopicPartition, Partition>,
    fetchers: BTreeMap<BrokerId, Fetcher>,
    alter: AlterPartitionManager,
    delayed_produces: Purgatory<DelayedProduce>,
    delayed_fetches: Purgatory<DelayedFetch>,
    delayed_deletes: Purgatory<DelayedDeleteRecords>,
    next_delayed_id: u64,
    /// Requests to other brokers that have no answer yet.
    requests: BTreeMap<CorrelationId, Purpose>,
    /// Partitions whose high watermark has moved in this handler, for the group coordinator.
    moved_high_watermarks: BTreeSet<TopicPartition>,
    /// Produce requests that wait for the transaction coordinator.
    verifications: Vec<(CorrelationId, Verification)>,
    /// Transactions that have ended in this handler, for the group coordinator.
    ended_transactions: Vec<(TopicPartition, i64, bool)>,
}

/// What a broker's meters have counted since its process started.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Meters {
    /// Smaller ISRs that the controller confirmed to this leader.
    pub isr_shrinks: u64,
    /// Larger ISRs that the controller confirmed to this leader.
    pub isr_expands: u64,
    /// ISR changes that were refused or came to nothing.
    pub failed_isr_updates: u64,
    /// Records that clients wrote.
    pub messages_in: u64,
    /// Bytes that clients wrote.
    pub bytes_in: u64,
    /// Bytes that consumers read.
    pub bytes_out: u64,
    /// Bytes that came from leaders.
    pub replication_bytes_in: u64,
    /// Bytes that followers read.
    pub replication_bytes_out: u64,
    /// Appends that were refused for want of replicas, in Kafka's count.
    pub failed_produces: u64,
}

/// Why a request was sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
enum Purpose {
    /// Replication from this leader.
    Fetch(BrokerId),
    /// The end of this leader's log in this epoch, after a fetch out of range.
    EndOffset(BrokerId, TopicPartition, i32),
    /// The start of this leader's log in this epoch, after its end had been no help.
    StartOffset(BrokerId, TopicPartition, i32),
    /// A change of ISRs.
    AlterPartition,
    /// Whether partitions belong to a transaction.
    Verify,
}

/// What a metadata record did to a replica here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LeadershipChange {
    /// This broker leads from now on, in a new epoch.
    Elected(TopicPartition, i32),
    /// This broker led, and does not any more.
    Resigned(TopicPartition),
}

impl ReplicaManager {
    /// A manager over the logs that the broker's disk holds; segments draw their jitter from the
    /// run's seed.
    pub fn new(
        (id, seed): (BrokerId, u64),
        controller: NodeId,
        config: Arc<BrokerConfig>,
        disk: BTreeMap<TopicPartition, PartitionLog>,
    ) -> Self {
        let partitions = disk
            .into_iter()
            .map(|(topic_partition, log)| (topic_partition, Partition::new(topic_partition, log)))
            .collect();
        let topic_default = Arc::new(TopicConfig::of_broker(&config));
        Self {
            id,
            controller: Some(controller),
            config,
            history: HistoryConfig::default(),
            meters: Meters::default(),
            is_shutting_down: false,
            topic_default,
            seed,
            broker_epoch: -1,
            image: MetadataImage::default(),
            partitions,
            fetchers: BTreeMap::new(),
            alter: AlterPartitionManager::default(),
            delayed_produces: Purgatory::default(),
            delayed_fetches: Purgatory::default(),
            delayed_deletes: Purgatory::default(),
            next_delayed_id: 0,
            requests: BTreeMap::new(),
            moved_high_watermarks: BTreeSet::new(),
            verifications: Vec::new(),
            ended_transactions: Vec::new(),
        }
    }

    /// The logs, as they stay on the disk when the process is gone.
    pub fn into_disk(self) -> BTreeMap<TopicPartition, PartitionLog> {
        self.partitions
            .into_iter()
            .map(|(id, partition)| (id, partition.log))
            .collect()
    }

    /// The cluster as this broker has replayed it.
    pub const fn image(&self) -> &MetadataImage {
        &self.image
    }

    /// The replicas.
    pub const fn partitions(&self) -> &BTreeMap<TopicPartition, Partition> {
        &self.partitions
    }

    /// Partitions that are not fetched until metadata bring a new leader epoch.
    pub fn failed_partitions(&self) -> usize {
        self.fetchers.values().map(Fetcher::failed_count).sum()
    }

    /// What its meters have counted.
    pub const fn meters(&self) -> Meters {
        self.meters
    }

    /// Takes in what an old release did otherwise.
    pub const fn set_history(&mut self, history: HistoryConfig) {
        self.history = history;
    }

    /// Produce requests that wait for replicas.
    pub const fn delayed_produces(&self) -> &Purgatory<DelayedProduce> {
        &self.delayed_produces
    }

    /// Fetch requests that wait for something to read.
    pub const fn delayed_fetches(&self) -> &Purgatory<DelayedFetch> {
        &self.delayed_fetches
    }

    /// Notes the broker's registration.
    pub const fn set_broker_epoch(&mut self, broker_epoch: i64) {
        self.broker_epoch = broker_epoch;
    }

    /// Notes who is the active controller; unset when none is known.
    pub const fn set_controller(&mut self, controller: Option<NodeId>) {
        self.controller = controller;
    }

    /// Notes that a controlled shutdown has begun.
    pub const fn begin_shutdown(&mut self) {
        self.is_shutting_down = true;
    }

    /// Opens the logs and starts the regular work.
    pub fn start(&mut self, out: &mut Out) {
        for partition in self.partitions.values_mut() {
            partition.log.reopen(out.now);
            partition.note_log_changes(out);
        }
        self.start_upkeep(out);
        // The phase of the check differs between brokers, so that they do not act in step.
        let phase = Span::from_millis(i64::from(self.id.0));
        out.arm(Timer::IsrCheck, self.isr_check_interval() + phase);
        self.arm_checkpoint(out);
    }

    fn isr_check_interval(&self) -> Span {
        Span((Span::from_millis(self.config.replica_lag_time_max_ms).0 / 2).max(1))
    }

    fn arm_checkpoint(&self, out: &mut Out) {
        let interval = self.config.replica_high_watermark_checkpoint_interval_ms;
        out.arm(Timer::HighWatermarkCheckpoint, Span::from_millis(interval));
    }

    /// Takes in an expired timer. False if it is not one of these.
    pub fn on_timer(&mut self, timer: &Timer, out: &mut Out) -> bool {
        if let Timer::ReplicaFetch(leader) = timer {
            self.on_replica_fetch(*leader, out);
        } else if let Timer::ProduceExpiry(id) = timer {
            self.on_produce_expiry(*id, out);
        } else if let Timer::FetchExpiry(id) = timer {
            self.on_fetch_expiry(*id, out);
        } else if *timer == Timer::IsrCheck {
            self.on_isr_check(out);
        } else if *timer == Timer::AlterPartitionRetry {
            self.send_alter_partition(out);
        } else if *timer == Timer::HighWatermarkCheckpoint {
            self.partitions
                .values_mut()
                .for_each(|part| part.log.checkpoint_high_watermark());
            self.arm_checkpoint(out);
        } else if let Timer::DeleteRecordsExpiry(id) = timer {
            self.on_delete_records_expiry(*id, out);
        } else {
            return self.on_upkeep(timer, out);
        }
        true
    }

    /// Takes in records of the metadata log.
    ///
    /// # Source
    /// `ReplicaManager.applyDelta`.
    pub fn on_metadata(
        &mut self,
        records: &[Arc<MetadataRecord>],
        out: &mut Out,
    ) -> Vec<LeadershipChange> {
        let mut changed: BTreeMap<TopicPartition, Arc<PartitionRegistration>> = BTreeMap::new();
        for record in records {
            self.image.replay(record);
            if let MetadataRecord::Partition {
                topic_partition,
                registration,
            } = &**record
                && registration.replicas.contains(&self.id)
            {
                changed.insert(*topic_partition, registration.clone());
            }
        }
        let mut leadership = self.drop_deleted(&mut changed, out);
        self.reread_min_isr(records);
        for (topic_partition, registration) in &changed {
            leadership.extend(self.apply_registration(*topic_partition, registration, out));
        }
        self.assign_fetchers(out);
        for topic_partition in changed.keys() {
            self.increment_high_watermark(*topic_partition, out);
            self.complete_delayed(*topic_partition, out);
        }
        leadership
    }

    /// Deleted topics take their logs with them; whoever waits for them hears that they are unknown.
    fn drop_deleted(
        &mut self,
        changed: &mut BTreeMap<TopicPartition, Arc<PartitionRegistration>>,
        out: &mut Out,
    ) -> Vec<LeadershipChange> {
        changed.retain(|id, _| self.image.partition(*id).is_some());
        let gone: Vec<TopicPartition> = self
            .partitions
            .keys()
            .filter(|id| self.image.retired_topics.contains(&id.topic))
            .copied()
            .collect();
        let mut resigned = Vec::new();
        for id in gone {
            if let Some(partition) = self.partitions.remove(&id)
                && partition.is_leader()
            {
                resigned.push(LeadershipChange::Resigned(id));
            }
            for fetcher in self.fetchers.values_mut() {
                fetcher.remove(id);
            }
            self.complete_delayed(id, out);
        }
        resigned
    }

    /// Leaders of topics whose settings have changed count the ISR against the new minimum.
    fn reread_min_isr(&mut self, records: &[Arc<MetadataRecord>]) {
        for record in records {
            if let MetadataRecord::TopicConfig { topic_id, .. } = &**record {
                for (id, partition) in &mut self.partitions {
                    if id.topic == *topic_id {
                        partition.set_effective_min_isr(self.image.effective_min_isr(*id));
                    }
                }
            }
        }
    }

    fn apply_registration(
        &mut self,
        topic_partition: TopicPartition,
        registration: &PartitionRegistration,
        out: &mut Out,
    ) -> Option<LeadershipChange> {
        let around = Surroundings {
            broker: self.id,
            image: &self.image,
            lag_max: Span::from_millis(self.config.replica_lag_time_max_ms),
            history: self.history,
            now: out.now,
        };
        let partition = self.partitions.entry(topic_partition).or_insert_with(|| {
            let mut digest = Digest::new();
            digest.fold(&(self.seed, self.id, topic_partition));
            Partition::new(topic_partition, PartitionLog::new(digest.value(), out.now))
        });
        let led_before = partition.is_leader();
        let is_new_epoch = partition.apply(registration, around, out);
        let leads_now = partition.is_leader();
        if is_new_epoch && !leads_now && self.history.truncate_to_high_watermark {
            partition.truncate_to(partition.log.high_watermark(), out);
        }
        if is_new_epoch {
            for fetcher in self.fetchers.values_mut() {
                fetcher.remove(topic_partition);
            }
        }
        if leads_now && is_new_epoch {
            Some(LeadershipChange::Elected(
                topic_partition,
                registration.leader_epoch,
            ))
        } else if led_before && !leads_now {
            Some(LeadershipChange::Resigned(topic_partition))
        } else {
            None
        }
    }

    /// Every follower partition belongs to the fetcher of its leader, if that one lives.
    fn assign_fetchers(&mut self, out: &mut Out) {
        let mut wanted: BTreeMap<BrokerId, Vec<TopicPartition>> = BTreeMap::new();
        for (topic_partition, partition) in &self.partitions {
            if let Role::Follower(Some(leader)) = partition.role
                && self
                    .image
                    .brokers
                    .get(&leader)
                    .is_some_and(|broker| !broker.fenced)
                && self.may_follow(*topic_partition)
            {
                wanted.entry(leader).or_default().push(*topic_partition);
            }
        }
        for (leader, fetcher) in &mut self.fetchers {
            fetcher.retain(wanted.get(leader).map_or(&[], Vec::as_slice));
        }
        for (leader, partitions) in wanted {
            let fetcher = self.fetchers.entry(leader).or_default();
            if fetcher.add_all(&partitions) {
                self.send_fetch(leader, out);
            }
        }
    }

    /// A broker in controlled shutdown does not follow where it has left the ISR.
    fn may_follow(&self, topic_partition: TopicPartition) -> bool {
        let registration = self.image.partition(topic_partition);
        !self.is_shutting_down || registration.is_none_or(|part| part.isr.contains(&self.id))
    }

    /// Moves the high watermark of a partition that this broker leads, if its followers allow.
    fn increment_high_watermark(&mut self, topic_partition: TopicPartition, out: &mut Out) -> bool {
        let around = Surroundings {
            broker: self.id,
            image: &self.image,
            lag_max: Span::from_millis(self.config.replica_lag_time_max_ms),
            history: self.history,
            now: out.now,
        };
        let moved = self
            .partitions
            .get_mut(&topic_partition)
            .is_some_and(|partition| partition.maybe_increment_high_watermark(around, out));
        if moved {
            self.moved_high_watermarks.insert(topic_partition);
        }
        moved
    }

    /// Answers the fetches that wait for this partition to grow.
    pub fn wake_followers(&mut self, topic_partition: TopicPartition, out: &mut Out) {
        self.complete_fetches(topic_partition, out);
    }

    /// The settings of a partition's topic.
    fn topic_config(&self, topic_partition: TopicPartition) -> Arc<TopicConfig> {
        let topic = self.image.topics.get(&topic_partition.topic);
        topic.map_or_else(|| self.topic_default.clone(), |topic| topic.config.clone())
    }

    /// Answers what waits for this partition and need not wait any longer.
    fn complete_delayed(&mut self, topic_partition: TopicPartition, out: &mut Out) {
        self.complete_deletes(topic_partition, out);
        self.complete_produces(topic_partition, out);
        self.complete_fetches(topic_partition, out);
    }

    /// Partitions whose high watermark has moved since the last call.
    pub fn take_moved_high_watermarks(&mut self) -> BTreeSet<TopicPartition> {
        std::mem::take(&mut self.moved_high_watermarks)
    }
}
