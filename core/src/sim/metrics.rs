//! What Kafka's JMX metrics say at an instant, by their names and definitions.
//!
//! Everything is read off the state of the processes that run: a process that does not run reports
//! nothing, as in life. What Kafka shows as a rate or an average over a window is given as the count
//! since the process started; a rate is the difference of two samples.

use super::simulation::{Node, Sim};
use crate::base::config::IsolationLevel;
use crate::base::ids::{BrokerId, ClientId, NodeId, TopicPartition};
use crate::client::consumer::{Consumer, OwnedPartition};
use crate::client::producer::Producer;
use crate::controller::Controller;
use crate::node::replica_manager::ReplicaManager;
use crate::replication::partition::{LeaderState, Partition};
use crate::wire::metadata::PartitionRegistration;
use serde::Serialize;

/// A metric: what it is called, what it says and where it comes from.
#[derive(Clone, Copy, Debug)]
pub struct Metric {
    /// The object's name; tags that tell one from the other are left out.
    pub jmx: &'static str,
    /// What it says, in one sentence.
    pub doc: &'static str,
    /// The class of Kafka that registers it.
    pub source: &'static str,
    /// Whether a value above zero is an alarm.
    pub is_alarm: bool,
    read: Read,
}

/// How a metric is read.
#[derive(Clone, Copy, Debug)]
enum Read {
    /// One number a broker.
    Broker(fn(&ReplicaManager) -> i64),
    /// One number for each partition that a broker leads.
    Led(fn(Led<'_>) -> i64),
    /// One number for each replica on a broker, where it has one.
    Replica(fn(&Partition) -> Option<i64>),
    /// One number a controller.
    Controller(fn(&Controller) -> i64),
    /// One number for each partition of a consumer, where it has one.
    Owned(fn(&OwnedPartition, IsolationLevel) -> Option<i64>),
    /// One number a consumer, where it has one.
    Consumer(fn(&Consumer, IsolationLevel) -> Option<i64>),
    /// One number a producer.
    Producer(fn(&Producer) -> i64),
}

/// A partition on its leader.
#[derive(Clone, Copy, Debug)]
struct Led<'a> {
    partition: &'a Partition,
    leader: &'a LeaderState,
    registration: &'a PartitionRegistration,
}

/// A metric's value at one instant.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Sample {
    /// The object's name.
    pub jmx: &'static str,
    /// Whose metric it is.
    pub node: NodeId,
    /// The partition; unset for a metric of the whole process.
    pub topic_partition: Option<TopicPartition>,
    /// The value.
    pub value: i64,
    /// Whether the value is an alarm.
    pub is_alarm: bool,
}

/// Whether a metric counts since its process started: once above zero it stays there.
pub fn is_counter(jmx: &str) -> bool {
    jmx.contains("PerSec")
}

macro_rules! metrics {
    ($( $jmx:literal $kind:ident($read:expr) $alarm:literal $source:literal $doc:literal; )*) => {
        /// Every metric.
        pub const METRICS: &[Metric] = &[ $( Metric {
            jmx: $jmx,
            doc: $doc,
            source: $source,
            is_alarm: $alarm,
            read: Read::$kind($read),
        }, )* ];
    };
}

metrics! {
    "kafka.server:type=ReplicaManager,name=UnderReplicatedPartitions" Broker(|it| led(it, is_under_replicated)) true "ReplicaManager"
        "Partitions that the broker leads whose ISR is smaller than the replicas that are not being added; nobody counts a partition without a leader.";
    "kafka.server:type=ReplicaManager,name=UnderMinIsrPartitionCount" Broker(|it| led(it, is_under_min_isr)) true "ReplicaManager"
        "Partitions that the broker leads whose ISR is smaller than min.insync.replicas, or than all replicas if those are fewer.";
    "kafka.server:type=ReplicaManager,name=AtMinIsrPartitionCount" Broker(|it| led(it, is_at_min_isr)) false "ReplicaManager"
        "Partitions that the broker leads whose ISR is just min.insync.replicas, or all replicas if those are fewer.";
    "kafka.server:type=ReplicaManager,name=LeaderCount" Broker(|it| led(it, |_led| true)) false "ReplicaManager"
        "Partitions that the broker leads.";
    "kafka.server:type=ReplicaManager,name=PartitionCount" Broker(|it| size(it.partitions().len())) false "ReplicaManager"
        "Partitions of which the broker holds a replica.";
    "kafka.server:type=ReplicaManager,name=ReassigningPartitions" Broker(|it| led(it, is_reassigning)) false "ReplicaManager"
        "Partitions that the broker leads and that replicas are being added to or taken from.";
    "kafka.server:type=ReplicaManager,name=IsrShrinksPerSec" Broker(|it| count(it.meters().isr_shrinks)) true "ReplicaManager"
        "Smaller ISRs that the controller confirmed to this leader; those that the controller made itself do not count.";
    "kafka.server:type=ReplicaManager,name=IsrExpandsPerSec" Broker(|it| count(it.meters().isr_expands)) false "ReplicaManager"
        "Larger ISRs that the controller confirmed to this leader.";
    "kafka.server:type=ReplicaManager,name=FailedIsrUpdatesPerSec" Broker(|it| count(it.meters().failed_isr_updates)) false "ReplicaManager"
        "ISR changes that were refused, or whose answer came too late.";
    "kafka.cluster:type=Partition,name=UnderReplicated" Led(|it| i64::from(is_under_replicated(it))) false "Partition"
        "1 if the ISR is smaller than the replicas that are not being added.";
    "kafka.cluster:type=Partition,name=UnderMinIsr" Led(|it| i64::from(is_under_min_isr(it))) false "Partition"
        "1 if the ISR is smaller than the effective min.insync.replicas.";
    "kafka.cluster:type=Partition,name=AtMinIsr" Led(|it| i64::from(is_at_min_isr(it))) false "Partition"
        "1 if the ISR is just the effective min.insync.replicas.";
    "kafka.cluster:type=Partition,name=InSyncReplicasCount" Led(|it| size(it.leader.isr.committed.len())) false "Partition"
        "Members of the ISR.";
    "kafka.cluster:type=Partition,name=ReplicasCount" Led(|it| size(it.registration.replicas.len())) false "Partition"
        "Replicas of the partition.";
    "kafka.cluster:type=Partition,name=LastStableOffsetLag" Led(|it| it.partition.log.high_watermark() - it.partition.log.last_stable_offset()) false "Partition"
        "High watermark minus last stable offset.";
    "kafka.server:type=FetcherLagMetrics,name=ConsumerLag,clientId=Replica" Replica(|it| it.fetch_lag) false "FetcherLagStats"
        "As a follower: the leader's high watermark minus the end of the own log, at the last fetch answer.";
    "kafka.server:type=ReplicaFetcherManager,name=MaxLag,clientId=Replica" Broker(|it| it.partitions().values().filter_map(|part| part.fetch_lag).max().unwrap_or(0)) false "AbstractFetcherManager"
        "The largest ConsumerLag of the broker's fetchers.";
    "kafka.server:type=ReplicaFetcherManager,name=FailedPartitionsCount,clientId=Replica" Broker(|it| size(it.failed_partitions())) false "AbstractFetcherManager"
        "Partitions that are not fetched until metadata bring a new leader epoch.";
    "kafka.server:type=BrokerTopicMetrics,name=MessagesInPerSec" Broker(|it| count(it.meters().messages_in)) false "BrokerTopicMetrics"
        "Records that clients wrote.";
    "kafka.server:type=BrokerTopicMetrics,name=BytesInPerSec" Broker(|it| count(it.meters().bytes_in)) false "BrokerTopicMetrics"
        "Bytes that clients wrote.";
    "kafka.server:type=BrokerTopicMetrics,name=BytesOutPerSec" Broker(|it| count(it.meters().bytes_out)) false "BrokerTopicMetrics"
        "Bytes that consumers read; replication does not count.";
    "kafka.server:type=BrokerTopicMetrics,name=ReplicationBytesInPerSec" Broker(|it| count(it.meters().replication_bytes_in)) false "BrokerTopicMetrics"
        "Bytes that came from leaders.";
    "kafka.server:type=BrokerTopicMetrics,name=ReplicationBytesOutPerSec" Broker(|it| count(it.meters().replication_bytes_out)) false "BrokerTopicMetrics"
        "Bytes that followers read.";
    "kafka.server:type=BrokerTopicMetrics,name=FailedProduceRequestsPerSec" Broker(|it| count(it.meters().failed_produces)) true "BrokerTopicMetrics"
        "Appends that failed; not those of clients that ask the wrong broker, for an unknown topic, or with batches that are too large.";
    "kafka.server:type=DelayedOperationPurgatory,name=PurgatorySize,delayedOperation=Produce" Broker(|it| it.delayed_produces().count()) false "DelayedOperationPurgatory"
        "Produce requests that wait for replicas.";
    "kafka.server:type=DelayedOperationPurgatory,name=PurgatorySize,delayedOperation=Fetch" Broker(|it| it.delayed_fetches().count()) false "DelayedOperationPurgatory"
        "Fetch requests that wait for something to read.";
    "kafka.log:type=Log,name=Size" Replica(|it| Some(count(it.log.size_bytes()))) false "UnifiedLog"
        "Bytes in the log.";
    "kafka.log:type=Log,name=NumLogSegments" Replica(|it| Some(size(it.log.segments().count()))) false "UnifiedLog"
        "Segments of the log.";
    "kafka.log:type=Log,name=LogStartOffset" Replica(|it| Some(it.log.log_start_offset().0)) false "UnifiedLog"
        "First offset that can be read.";
    "kafka.log:type=Log,name=LogEndOffset" Replica(|it| Some(it.log.log_end_offset().0)) false "UnifiedLog"
        "The next offset to be written.";
    "kafka.controller:type=KafkaController,name=ActiveControllerCount" Controller(|it| i64::from(it.is_active())) false "QuorumControllerMetrics"
        "1 on the active controller; the sum over all must be 1.";
    "kafka.controller:type=KafkaController,name=OfflinePartitionsCount" Controller(|it| registered(it, |part| part.leader.is_none())) true "ControllerMetadataMetrics"
        "Partitions without a leader.";
    "kafka.controller:type=KafkaController,name=PreferredReplicaImbalanceCount" Controller(|it| registered(it, |part| part.leader != part.replicas.first().copied())) false "ControllerMetadataMetrics"
        "Partitions whose leader is not their first replica; those without a leader count.";
    "kafka.controller:type=KafkaController,name=ActiveBrokerCount" Controller(|it| brokers(it, false)) false "ControllerMetadataMetrics"
        "Registered brokers that are not fenced.";
    "kafka.controller:type=KafkaController,name=FencedBrokerCount" Controller(|it| brokers(it, true)) false "ControllerMetadataMetrics"
        "Registered brokers that are fenced.";
    "kafka.controller:type=KafkaController,name=GlobalTopicCount" Controller(|it| size(it.image().topics.len())) false "ControllerMetadataMetrics"
        "Topics of the cluster.";
    "kafka.controller:type=KafkaController,name=GlobalPartitionCount" Controller(|it| registered(it, |_part| true)) false "ControllerMetadataMetrics"
        "Partitions of the cluster.";
    "kafka.server:type=raft-metrics,name=current-epoch" Controller(|it| i64::from(it.quorum().epoch())) false "KafkaRaftMetrics"
        "Epoch of the quorum that the controller knows.";
    "kafka.server:type=raft-metrics,name=high-watermark" Controller(|it| it.quorum().high_watermark()) false "KafkaRaftMetrics"
        "High watermark of the metadata log that the controller knows.";
    "kafka.server:type=raft-metrics,name=log-end-offset" Controller(|it| it.quorum().log_end_offset()) false "KafkaRaftMetrics"
        "End of the controller's metadata log.";
    "kafka.consumer:type=consumer-fetch-manager-metrics,name=records-lag" Owned(records_lag) false "FetchMetricsManager"
        "High watermark, or last stable offset for read_committed, minus position, as the last fetch answer said; nothing before one came.";
    "kafka.consumer:type=consumer-fetch-manager-metrics,name=records-lead" Owned(|it, _level| Some(it.position()? - it.log_start_offset?)) false "FetchMetricsManager"
        "Position minus the first offset of the log.";
    "kafka.consumer:type=consumer-fetch-manager-metrics,name=preferred-read-replica" Owned(|it, _level| Some(it.preferred_replica().map_or(-1, |id| i64::from(id.0)))) false "FetchMetricsManager"
        "The replica that is read from instead of the leader; -1 for the leader.";
    "kafka.consumer:type=consumer-fetch-manager-metrics,name=records-lag-max" Consumer(|it, level| it.partitions().values().filter_map(|part| records_lag(part, level)).max()) false "FetchMetricsManager"
        "The largest records-lag of the consumer now; Kafka's is the largest of a window.";
    "kafka.consumer:type=consumer-coordinator-metrics,name=assigned-partitions" Consumer(|it, _level| Some(size(it.partitions().len()))) false "ConsumerCoordinatorMetrics"
        "Partitions that the consumer owns.";
    "kafka.producer:type=producer-metrics,name=buffer-total-bytes" Producer(|it| it.config().buffer_memory) false "RecordAccumulator"
        "buffer.memory.";
    "kafka.producer:type=producer-metrics,name=buffer-available-bytes" Producer(|it| it.config().buffer_memory - count(it.buffered_bytes())) false "RecordAccumulator"
        "Bytes of buffer.memory that are free.";
    "kafka.producer:type=producer-metrics,name=record-send-total" Producer(|it| count(it.records_sent)) false "SenderMetricsRegistry"
        "Records in batches that were sent, those sent again included.";
    "kafka.producer:type=producer-metrics,name=record-retry-total" Producer(|it| count(it.records_retried)) false "SenderMetricsRegistry"
        "Records in batches that were put back to be sent again.";
    "kafka.producer:type=producer-metrics,name=record-error-total" Producer(|it| count(it.records_failed)) false "SenderMetricsRegistry"
        "Records that the producer gave up.";
}

impl Sim {
    /// Every metric of every process that runs, at the present instant.
    pub fn metrics(&self) -> Vec<Sample> {
        let mut samples = Vec::new();
        for metric in METRICS {
            self.read_metric(metric, &mut samples);
        }
        samples
    }

    /// The values that are alarms; too few or too many active controllers is one as well.
    pub fn alarms(&self) -> Vec<Sample> {
        let mut samples = Vec::new();
        for metric in METRICS {
            if metric.is_alarm || metric.jmx.ends_with(ACTIVE) {
                self.read_metric(metric, &mut samples);
            }
        }
        let active = samples.iter().filter(|one| one.jmx.ends_with(ACTIVE));
        let is_led = active.map(|one| one.value).sum::<i64>() == 1;
        let is_alarm = |one: &Sample| one.is_alarm || (!is_led && one.jmx.ends_with(ACTIVE));
        samples.into_iter().filter(is_alarm).collect()
    }

    fn read_metric(&self, metric: &Metric, samples: &mut Vec<Sample>) {
        let mut add = |node, topic_partition, value| {
            samples.push(Sample {
                jmx: metric.jmx,
                node,
                topic_partition,
                value,
                is_alarm: metric.is_alarm && 0 < value,
            });
        };
        match metric.read {
            Read::Broker(read) => {
                for (id, manager) in self.managers() {
                    add(NodeId::Broker(id), None, read(manager));
                }
            }
            Read::Led(read) => {
                for (id, manager) in self.managers() {
                    for (of, led) in led_partitions(manager) {
                        add(NodeId::Broker(id), Some(of), read(led));
                    }
                }
            }
            Read::Replica(read) => {
                for (id, manager) in self.managers() {
                    for (of, partition) in manager.partitions() {
                        if let Some(value) = read(partition) {
                            add(NodeId::Broker(id), Some(*of), value);
                        }
                    }
                }
            }
            Read::Controller(read) => {
                for id in self.scenario().controller_ids() {
                    let node = NodeId::Controller(id);
                    if let Some(Node::Controller(controller)) = self.inspect(node) {
                        add(node, None, read(controller));
                    }
                }
            }
            Read::Owned(read) => {
                for (node, consumer, level) in self.running_consumers() {
                    for (of, owned) in consumer.partitions() {
                        if let Some(value) = read(owned, level) {
                            add(node, Some(*of), value);
                        }
                    }
                }
            }
            Read::Consumer(read) => {
                for (node, consumer, level) in self.running_consumers() {
                    if let Some(value) = read(consumer, level) {
                        add(node, None, value);
                    }
                }
            }
            Read::Producer(read) => {
                for id in (0..self.scenario().client_count()).map(ClientId) {
                    if let Some(Node::Client(client)) = self.inspect(NodeId::Client(id))
                        && let Some(producer) = client.producer()
                    {
                        add(NodeId::Client(id), None, read(producer));
                    }
                }
            }
        }
    }

    fn managers(&self) -> Vec<(BrokerId, &ReplicaManager)> {
        let mut found = Vec::new();
        for spec in &self.scenario().brokers {
            if let Some(Node::Broker(broker)) = self.inspect(NodeId::Broker(spec.id)) {
                found.push((spec.id, broker.replicas()));
            }
        }
        found
    }

    fn running_consumers(&self) -> Vec<(NodeId, &Consumer, IsolationLevel)> {
        let mut found = Vec::new();
        for id in (0..self.scenario().client_count()).map(ClientId) {
            let node = NodeId::Client(id);
            if let Some(Node::Client(client)) = self.inspect(node)
                && let Some(consumer) = client.consumer()
                && let Some(spec) = self.scenario().consumer(id)
            {
                found.push((node, consumer, spec.config.isolation_level));
            }
        }
        found
    }
}

fn led_partitions(manager: &ReplicaManager) -> Vec<(TopicPartition, Led<'_>)> {
    let mut found = Vec::new();
    for (id, partition) in manager.partitions() {
        if let (Some(leader), Some(registration)) =
            (partition.leader(), manager.image().partition(*id))
        {
            let led = Led {
                partition,
                leader,
                registration,
            };
            found.push((*id, led));
        }
    }
    found
}

/// How many of the partitions that a broker leads are so.
fn led(manager: &ReplicaManager, is_so: fn(Led<'_>) -> bool) -> i64 {
    let led = led_partitions(manager);
    size(led.iter().filter(|(_, led)| is_so(*led)).count())
}

/// How many partitions are so as the controller has them.
fn registered(controller: &Controller, is_so: fn(&PartitionRegistration) -> bool) -> i64 {
    let partitions = controller.image().partitions();
    size(partitions.filter(|(_, part)| is_so(part)).count())
}

fn brokers(controller: &Controller, fenced: bool) -> i64 {
    let brokers = controller.image().brokers.values();
    size(brokers.filter(|broker| broker.fenced == fenced).count())
}

fn is_under_replicated(led: Led<'_>) -> bool {
    let staying = led.registration.replicas.len() - led.registration.adding_replicas.len();
    led.leader.isr.committed.len() < staying
}

fn is_under_min_isr(led: Led<'_>) -> bool {
    size(led.leader.isr.committed.len()) < i64::from(led.leader.effective_min_isr)
}

fn is_at_min_isr(led: Led<'_>) -> bool {
    size(led.leader.isr.committed.len()) == i64::from(led.leader.effective_min_isr)
}

const fn is_reassigning(led: Led<'_>) -> bool {
    !led.registration.adding_replicas.is_empty() || !led.registration.removing_replicas.is_empty()
}

fn records_lag(owned: &OwnedPartition, level: IsolationLevel) -> Option<i64> {
    let end = match level {
        IsolationLevel::ReadUncommitted => owned.high_watermark,
        IsolationLevel::ReadCommitted => owned.last_stable_offset,
    };
    Some((end? - owned.position()?).max(0))
}

fn size(count: usize) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX)
}

fn count(count: u64) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX)
}

const ACTIVE: &str = "ActiveControllerCount";

#[cfg(test)]
mod tests {
    #[cfg(target_arch = "wasm32")]
    use wasm_bindgen_test::wasm_bindgen_test as test;

    use super::{Led, is_at_min_isr, is_reassigning, is_under_min_isr, is_under_replicated};
    use crate::base::ids::{BrokerId, Offset, TopicId, TopicPartition};
    use crate::kernel::time::SimTime;
    use crate::log::partition_log::PartitionLog;
    use crate::replication::isr::IsrState;
    use crate::replication::partition::{LeaderState, Partition};
    use crate::wire::metadata::PartitionRegistration;
    use std::collections::BTreeMap;

    /// Replicas, those being added, ISR, min ISR; what is so.
    type Row<'a> = (&'a [u32], &'a [u32], &'a [u32], u32, [bool; 3]);

    fn ids(ids: &[u32]) -> Vec<BrokerId> {
        ids.iter().copied().map(BrokerId).collect()
    }

    #[test]
    fn replicas_that_are_being_added_do_not_count_e27() {
        let partition = Partition::new(
            TopicPartition::new(TopicId(0), 0),
            PartitionLog::new(0, SimTime::ZERO),
        );
        // Replicas, adding, ISR, min ISR; under-replicated, under min ISR, at min ISR.
        let rows: &[Row<'_>] = &[
            (&[1, 2, 3, 4], &[4], &[1, 2, 3], 2, [false, false, false]),
            (&[1, 2, 3], &[], &[1, 2], 2, [true, false, true]),
            (&[1, 2, 3], &[], &[1], 2, [true, true, false]),
            (&[1, 2, 3], &[], &[1, 2, 3], 3, [false, false, true]),
        ];
        for (replicas, adding, isr, min_isr, expected) in rows {
            let registration = PartitionRegistration {
                replicas: ids(replicas),
                adding_replicas: ids(adding),
                ..PartitionRegistration::default()
            };
            let leader = LeaderState {
                epoch_start_offset: Offset(0),
                isr: IsrState::committed(ids(isr)),
                remotes: BTreeMap::new(),
                effective_min_isr: *min_isr,
            };
            let led = Led {
                partition: &partition,
                leader: &leader,
                registration: &registration,
            };
            let found = [
                is_under_replicated(led),
                is_under_min_isr(led),
                is_at_min_isr(led),
            ];
            assert_eq!(found, *expected, "E27: {replicas:?} {adding:?} {isr:?}");
            assert_eq!(is_reassigning(led), !adding.is_empty(), "E27: {adding:?}");
        }
    }
}
