//! Numbers of a run: counters and gauges, kept from trace entries as they pass.
//!
//! Nothing here reads the state of the simulation, so a run in the page and a run without one
//! have the same numbers at every entry, however often anybody looks.

mod offsets;
mod ownership;
mod unanswered;

use super::scenario::Scenario;
use crate::base::ids::{BrokerId, ClientId, GroupId, NodeId, Offset, TopicId, TopicPartition};
use crate::kernel::time::{SimTime, Span};
use crate::trace::event::{GroupState, TraceEntry, TraceEvent};
use offsets::OffsetRanges;
use ownership::Ownership;
use serde::Serialize;
use std::collections::BTreeMap;
use std::sync::Arc;
use unanswered::Unanswered;

macro_rules! measures {
    ($( $name:ident $label:literal $unit:literal $kind:ident [$($filter:literal),*] $doc:literal; )*) => {
        /// A number of a run.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
        #[serde(rename_all = "kebab-case")]
        pub enum MeasureKind { $( #[doc = $doc] $name, )* }

        impl MeasureKind {
            /// Every measure.
            pub const ALL: &'static [Self] = &[ $( Self::$name, )* ];

            /// Its name in lessons.
            pub const fn name(self) -> &'static str {
                match self { $( Self::$name => $label, )* }
            }

            /// What it counts.
            pub const fn unit(self) -> &'static str {
                match self { $( Self::$name => $unit, )* }
            }

            /// What it means, in one sentence.
            pub const fn doc(self) -> &'static str {
                match self { $( Self::$name => $doc, )* }
            }

            /// Whether it only grows, so that a window has its own count.
            pub const fn nature(self) -> Nature {
                match self { $( Self::$name => Nature::$kind, )* }
            }

            /// The filters that it understands.
            pub const fn filters(self) -> &'static [&'static str] {
                match self { $( Self::$name => &[ $($filter),* ], )* }
            }
        }
    };
}

/// How a measure moves.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Nature {
    /// It only grows, at trace entries.
    Counter,
    /// It only grows, with time.
    Clock,
    /// It goes up and down, at trace entries.
    Gauge,
    /// It goes up and down, with time.
    Stopwatch,
}

measures! {
    RecordsQueued "records-queued" "records" Counter ["topic", "partition", "client"]
        "Records that applications handed to their producers.";
    RecordsAcknowledged "records-acknowledged" "records" Counter ["topic", "partition", "client"]
        "Records whose producer learnt that they are written.";
    RecordsFailed "records-failed" "records" Counter ["topic", "partition", "client"]
        "Records that their producer gave up.";
    BatchesAcknowledged "batches-acknowledged" "batches" Counter ["topic", "partition", "client"]
        "Batches whose producer learnt that they are written.";
    BatchesRetried "batches-retried" "batches" Counter ["topic", "partition", "client"]
        "Batches that a producer sent again.";
    RecordsAppended "records-appended" "records" Counter ["topic", "partition", "broker"]
        "Records that leaders wrote to their logs: what reaches a topic.";
    DuplicatesWritten "duplicates-written" "records" Counter ["topic", "partition", "broker"]
        "Records that leaders wrote although they stood in the log already.";
    RecordsLost "records-lost" "records" Counter ["topic", "partition", "broker"]
        "Records that a producer believes written and that are not in the log of the next leader; with acks=0 also those that no log ever held.";
    TransactionsCommitted "transactions-committed" "transactions" Counter ["client"]
        "Transactions that applications committed.";
    TransactionsAborted "transactions-aborted" "transactions" Counter ["client"]
        "Transactions that applications aborted.";
    RecordsTruncated "records-truncated" "records" Counter ["topic", "partition", "broker"]
        "Records that followers cut off the end of their logs.";
    RecordsProcessed "records-processed" "records" Counter ["topic", "partition", "group", "client"]
        "Records that applications finished, repetitions included.";
    Duplicates "duplicates" "records" Counter ["topic", "partition", "group", "client"]
        "Records that an application finished although one of its group had done so before.";
    Rebalances "rebalances" "rebalances" Counter ["group"]
        "Completed join phases with members, or new target assignments of the consumer protocol, after the group's first.";
    MembersRemoved "members-removed" "members" Counter ["group"]
        "Members that left a group or were removed from it.";
    Commits "commits" "commits" Counter ["topic", "partition", "group"]
        "Offsets stored in `__consumer_offsets`.";
    CommitsFailed "commits-failed" "commits" Counter ["group", "client"]
        "Commits that were refused.";
    PollTimeouts "poll-timeouts" "timeouts" Counter ["group", "client"]
        "Times that max.poll.interval.ms ran out.";
    FatalErrors "fatal-errors" "errors" Counter ["group", "client"]
        "Exceptions that an application did not survive.";
    ProcessStarts "process-starts" "starts" Counter ["client", "broker"]
        "Starts of processes.";
    ProcessDeaths "process-deaths" "deaths" Counter ["client", "broker"]
        "Processes that died without a word.";
    Requests "requests" "requests" Counter ["client", "broker"]
        "Requests that left their senders.";
    IsrShrinks "isr-shrinks" "changes" Counter ["topic", "partition"]
        "Committed ISR changes that made it smaller.";
    IsrExpands "isr-expands" "changes" Counter ["topic", "partition"]
        "Committed ISR changes that made it larger.";
    Elections "elections" "elections" Counter ["topic", "partition"]
        "Times that a partition got another leader.";
    UncleanElections "unclean-elections" "elections" Counter ["topic", "partition"]
        "Elections of a leader from outside the ISR.";
    StoppedPartitionMs "stopped-partition-ms" "ms" Clock ["topic", "partition", "group"]
        "Time, summed over partitions, in which no running member of the group owned the partition, since one first did.";
    StopMs "stop-ms" "ms" Stopwatch ["topic", "partition", "group"]
        "How long the partition that is stopped longest has been stopped now; 0 when none is.";
    LongestStopMs "longest-stop-ms" "ms" Stopwatch ["topic", "partition", "group"]
        "The longest stop of any one partition so far.";
    PartitionsStopped "partitions-stopped" "partitions" Gauge ["topic", "partition", "group"]
        "Partitions that are stopped now.";
    ConsumerLag "consumer-lag" "records" Gauge ["topic", "partition", "group"]
        "High watermark minus committed offset, summed over partitions that have been read.";
    ProcessingLag "processing-lag" "records" Gauge ["topic", "partition", "group"]
        "Records below the high watermark that no member has finished, from where the group began.";
    RecordsSkipped "records-skipped" "records" Gauge ["topic", "partition", "group"]
        "Records below the committed offset that no member has finished: lost to the group.";
    ReplicaLag "replica-lag" "records" Gauge ["topic", "partition", "broker"]
        "Log end offset of the leader minus that of the furthest follower.";
    IsrSize "isr-size" "replicas" Gauge ["topic", "partition"]
        "Members of the smallest ISR.";
    Members "members" "members" Gauge ["group"]
        "Members of the last completed join phase.";
    Generation "generation" "generation" Gauge ["group"]
        "Generation of the group.";
    AckMs "ack-ms" "ms" Gauge ["topic", "partition", "client"]
        "Time from `send()` to acknowledgement of the batch acknowledged last.";
    LongestAckMs "longest-ack-ms" "ms" Gauge ["topic", "partition", "client"]
        "The longest time from `send()` to acknowledgement so far.";
    AckP50Ms "ack-p50-ms" "ms" Gauge ["topic", "partition", "client"]
        "Half of the batches took no longer from `send()` to acknowledgement; to about a sixteenth.";
    AckP99Ms "ack-p99-ms" "ms" Gauge ["topic", "partition", "client"]
        "99 of 100 batches took no longer from `send()` to acknowledgement; to about a sixteenth.";
}

/// Which part of a measure: filters that are unset let everything through.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Query {
    /// Which measure.
    pub kind: MeasureKind,
    /// The topic; for a measure without `topic` among its filters always unset.
    pub topic: Option<Arc<str>>,
    /// The partition.
    pub partition: Option<u32>,
    /// The group.
    pub group: Option<Arc<str>>,
    /// The client.
    pub client: Option<ClientId>,
    /// The broker.
    pub broker: Option<BrokerId>,
}

impl Query {
    /// The whole of a measure.
    pub const fn all(kind: MeasureKind) -> Self {
        Self {
            kind,
            topic: None,
            partition: None,
            group: None,
            client: None,
            broker: None,
        }
    }

    fn takes(&self, key: &Key, topic: Option<TopicId>) -> bool {
        self.takes_partition(key.topic_partition, topic)
            && self
                .client
                .is_none_or(|id| key.node == Some(NodeId::Client(id)))
            && self
                .broker
                .is_none_or(|id| key.node == Some(NodeId::Broker(id)))
            && self.takes_group(key.group.as_ref())
    }

    fn takes_partition(&self, given: Option<TopicPartition>, topic: Option<TopicId>) -> bool {
        (self.topic.is_none() || given.is_some_and(|tp| Some(tp.topic) == topic))
            && self
                .partition
                .is_none_or(|id| given.is_some_and(|tp| tp.partition == id))
    }

    fn takes_owned(&self, owned: &(GroupId, TopicPartition), topic: Option<TopicId>) -> bool {
        self.takes_partition(Some(owned.1), topic) && self.takes_group(Some(&owned.0))
    }

    fn takes_group(&self, group: Option<&GroupId>) -> bool {
        self.group
            .as_ref()
            .is_none_or(|wanted| group.is_some_and(|group| group.0 == *wanted))
    }
}

/// Every number of one run up to the last entry it has seen.
#[derive(Clone, Debug, Serialize)]
pub struct Measures {
    /// When the last entry happened.
    now: SimTime,
    #[serde(skip)]
    topics: BTreeMap<Arc<str>, TopicId>,
    #[serde(skip)]
    internal_topics: Vec<TopicId>,
    /// The group of each client.
    #[serde(skip)]
    groups_of: Vec<Option<GroupId>>,
    #[serde(skip)]
    counters: BTreeMap<(MeasureKind, Key), u64>,
    #[serde(skip)]
    groups: BTreeMap<GroupId, GroupCount>,
    #[serde(skip)]
    ownership: BTreeMap<(GroupId, TopicPartition), Ownership>,
    #[serde(skip)]
    committed: BTreeMap<(GroupId, TopicPartition), Offset>,
    #[serde(skip)]
    finished: BTreeMap<(GroupId, TopicPartition), OffsetRanges>,
    #[serde(skip)]
    partitions: BTreeMap<TopicPartition, PartitionCount>,
    #[serde(skip)]
    acks: BTreeMap<Key, AckTime>,
    #[serde(skip)]
    unanswered: Unanswered,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
struct Key {
    topic_partition: Option<TopicPartition>,
    node: Option<NodeId>,
    group: Option<GroupId>,
}

#[derive(Clone, Copy, Debug, Default)]
struct GroupCount {
    generation_id: i32,
    members: u32,
    has_joined: bool,
}

/// Who works on a partition when.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Strip {
    /// The group whose members these are; unset for leaders of the partition.
    pub group: Option<GroupId>,
    /// The partition.
    pub topic_partition: TopicPartition,
    /// Stretches of time from the first owner on, without a gap: from, to, and who; nobody while it
    /// is stopped.
    pub spans: Vec<(SimTime, SimTime, Option<NodeId>)>,
}

#[derive(Clone, Debug, Default)]
struct PartitionCount {
    /// Who has led it: since when, and nobody while it is offline.
    led_by: Vec<(SimTime, Option<BrokerId>)>,
    leader: Option<BrokerId>,
    isr: Option<u32>,
    high_watermark: Offset,
    log_end_offsets: BTreeMap<BrokerId, Offset>,
    /// Offsets that producers believe written: first and one past the last, in order.
    acknowledged: Vec<(i64, i64)>,
}

impl PartitionCount {
    /// A producer has learnt that its records stand here.
    fn acknowledge(&mut self, base_offset: Offset, records: u64) {
        if !base_offset.is_known() {
            return;
        }
        let (from, to) = (base_offset.0, base_offset.0 + whole(records));
        match self.acknowledged.last_mut() {
            Some((first, last)) if *first <= from && from <= *last => *last = (*last).max(to),
            Some(_) | None => {
                let place = self
                    .acknowledged
                    .partition_point(|(first, _)| *first < from);
                self.acknowledged.insert(place, (from, to));
            }
        }
    }

    /// The log of a new leader ends here: how many records behind that were believed written.
    fn lose(&mut self, end: Offset) -> u64 {
        let mut lost = 0;
        for (from, to) in &mut self.acknowledged {
            let cut = (*to).min(end.0.max(*from));
            lost += *to - cut;
            *to = cut;
        }
        self.acknowledged.retain(|(from, to)| from < to);
        u64::try_from(lost).unwrap_or_default()
    }
}

fn whole(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

/// The bucket of a time in milliseconds: exact up to 16, then sixteen to an octave.
fn bucket(ms: u64) -> usize {
    let octave = (ms | 15).ilog2() - 3;
    let within = (ms >> octave.saturating_sub(1)) & 15;
    let index = if octave == 0 {
        ms
    } else {
        u64::from(octave) * 16 + within
    };
    usize::try_from(index).unwrap_or(usize::MAX)
}

/// The longest time in milliseconds that falls into a bucket.
fn bucket_end(index: usize) -> u64 {
    let index = u64::try_from(index).unwrap_or_default();
    let (octave, within) = (index / 16, index % 16);
    if octave == 0 {
        within
    } else {
        ((16 + within + 1) << (octave - 1)) - 1
    }
}

#[derive(Clone, Debug, Default)]
struct AckTime {
    last: Span,
    longest: Span,
    at: SimTime,
    /// How many batches took how long, by [`bucket`].
    buckets: Vec<u32>,
}

impl Measures {
    /// The numbers of a run that has not begun.
    pub fn new(scenario: &Scenario) -> Self {
        let group_of = |client| {
            let consumer = scenario.consumer(ClientId(client))?;
            consumer
                .config
                .group_id
                .as_ref()
                .map(|group| GroupId(group.clone()))
        };
        Self {
            now: SimTime::ZERO,
            topics: BTreeMap::new(),
            internal_topics: Vec::new(),
            groups_of: (0..scenario.client_count()).map(group_of).collect(),
            counters: BTreeMap::new(),
            groups: BTreeMap::new(),
            ownership: BTreeMap::new(),
            committed: BTreeMap::new(),
            finished: BTreeMap::new(),
            partitions: BTreeMap::new(),
            acks: BTreeMap::new(),
            unanswered: Unanswered::default(),
        }
    }

    /// Learns the id of a topic. A query that names a topic sees nothing before.
    pub fn name_topic(&mut self, name: &str, topic: TopicId) {
        let internal = [
            crate::base::ids::CONSUMER_OFFSETS,
            crate::base::ids::TRANSACTION_STATE,
        ];
        if internal.contains(&name) && !self.internal_topics.contains(&topic) {
            self.internal_topics.push(topic);
        }
        self.topics.entry(Arc::from(name)).or_insert(topic);
    }

    /// The id of a topic that it has learnt.
    pub fn topic(&self, name: &str) -> Option<TopicId> {
        self.topics.get(name).copied()
    }

    /// The group of a client.
    pub fn group_of(&self, node: NodeId) -> Option<&GroupId> {
        let index = usize::try_from(node.client()?.0).ok()?;
        self.groups_of.get(index)?.as_ref()
    }

    /// The instant of the last entry.
    pub const fn now(&self) -> SimTime {
        self.now
    }

    /// Takes an entry in. Returns whether it can have moved a measure other than `requests`:
    /// most entries are messages, and cannot.
    pub fn observe(&mut self, entry: &TraceEntry) -> bool {
        self.now = entry.at;
        if is_message(&entry.event) {
            if matches!(entry.event, TraceEvent::RequestSent { .. }) {
                self.add(MeasureKind::Requests, entry, Key::default(), 1);
            }
            return self.follow_unanswered(entry);
        }
        self.count(entry);
        self.follow_logs(entry);
        self.follow_groups(entry);
        self.follow_owners(entry);
        true
    }

    /// The number that a query asks for, at the last entry.
    pub fn value(&self, query: &Query) -> i64 {
        self.value_at(query, self.now)
    }

    /// The number that a query asks for, at `now`, which no later entry precedes.
    pub fn value_at(&self, query: &Query, now: SimTime) -> i64 {
        let topic = query.topic.as_ref().and_then(|name| self.topic(name));
        let owned = || self.ownership_of(query, topic);
        match query.kind {
            MeasureKind::StoppedPartitionMs => {
                whole(owned().map(|part| part.stopped(now).0).sum::<u64>() / 1_000)
            }
            MeasureKind::StopMs => whole(
                owned()
                    .map(|part| part.stop(now).as_millis())
                    .max()
                    .unwrap_or_default(),
            ),
            MeasureKind::LongestStopMs => whole(
                owned()
                    .map(|part| part.longest(now).as_millis())
                    .max()
                    .unwrap_or_default(),
            ),
            MeasureKind::PartitionsStopped => {
                whole(owned().map(|part| u64::from(part.is_stopped())).sum())
            }
            MeasureKind::ConsumerLag => self.consumer_lag(query, topic),
            MeasureKind::ProcessingLag => self.processing_lag(query, topic),
            MeasureKind::RecordsSkipped => self.records_skipped(query, topic),
            MeasureKind::ReplicaLag => self.replica_lag(query, topic),
            MeasureKind::IsrSize => {
                let sizes = self
                    .partitions_of(query, topic)
                    .filter_map(|(_, part)| part.isr);
                sizes.min().map_or(0, i64::from)
            }
            MeasureKind::Members => whole(
                self.groups_of_query(query)
                    .map(|group| u64::from(group.members))
                    .sum(),
            ),
            MeasureKind::Generation => {
                let generations = self.groups_of_query(query).map(|group| group.generation_id);
                generations.max().map_or(0, i64::from)
            }
            MeasureKind::AckMs => {
                let latest = self.acks_of(query, topic).max_by_key(|ack| ack.at);
                whole(latest.map_or(0, |ack| ack.last.as_millis()))
            }
            MeasureKind::LongestAckMs => {
                let longest = self
                    .acks_of(query, topic)
                    .map(|ack| ack.longest.as_millis());
                whole(longest.max().unwrap_or_default())
            }
            MeasureKind::AckP50Ms => whole(self.ack_quantile(query, topic, 50)),
            MeasureKind::AckP99Ms => whole(self.ack_quantile(query, topic, 99)),
            MeasureKind::RecordsQueued
            | MeasureKind::BatchesAcknowledged
            | MeasureKind::DuplicatesWritten
            | MeasureKind::RecordsLost
            | MeasureKind::TransactionsCommitted
            | MeasureKind::TransactionsAborted
            | MeasureKind::RecordsAcknowledged
            | MeasureKind::RecordsFailed
            | MeasureKind::BatchesRetried
            | MeasureKind::RecordsAppended
            | MeasureKind::RecordsTruncated
            | MeasureKind::RecordsProcessed
            | MeasureKind::Duplicates
            | MeasureKind::Rebalances
            | MeasureKind::MembersRemoved
            | MeasureKind::Commits
            | MeasureKind::CommitsFailed
            | MeasureKind::PollTimeouts
            | MeasureKind::FatalErrors
            | MeasureKind::ProcessStarts
            | MeasureKind::ProcessDeaths
            | MeasureKind::Requests
            | MeasureKind::IsrShrinks
            | MeasureKind::IsrExpands
            | MeasureKind::Elections
            | MeasureKind::UncleanElections => {
                let first = (query.kind, Key::default());
                let counters = self.counters.range(first..);
                let own = counters.take_while(|((kind, _), _)| *kind == query.kind);
                whole(
                    own.filter(|((_, key), _)| query.takes(key, topic))
                        .map(|(_, n)| n)
                        .sum(),
                )
            }
        }
    }

    fn add(&mut self, kind: MeasureKind, entry: &TraceEntry, key: Key, number: u64) {
        let group = key.group.or_else(|| self.group_of(entry.node).cloned());
        let key = Key {
            group,
            node: Some(entry.node),
            ..key
        };
        let counter = self.counters.entry((kind, key)).or_default();
        *counter = counter.saturating_add(number);
    }

    /// Counters that need little but the entry.
    #[expect(
        clippy::wildcard_enum_match_arm,
        reason = "names the events that are counted"
    )]
    fn count(&mut self, entry: &TraceEntry) {
        use MeasureKind as Kind;
        let on = |topic_partition: &TopicPartition| Key {
            topic_partition: Some(*topic_partition),
            ..Key::default()
        };
        match &entry.event {
            TraceEvent::ProcessStarted { .. } => {
                self.add(Kind::ProcessStarts, entry, Key::default(), 1);
            }
            TraceEvent::ProcessKilled { .. } => {
                self.add(Kind::ProcessDeaths, entry, Key::default(), 1);
            }
            TraceEvent::RecordQueued {
                topic_partition, ..
            } => {
                self.add(Kind::RecordsQueued, entry, on(topic_partition), 1);
            }
            TraceEvent::BatchAcknowledged {
                topic_partition,
                records,
                queued_at,
                base_offset,
            } => {
                let records = u64::from(*records);
                self.add(
                    Kind::RecordsAcknowledged,
                    entry,
                    on(topic_partition),
                    records,
                );
                self.add(Kind::BatchesAcknowledged, entry, on(topic_partition), 1);
                self.acknowledge(entry, on(topic_partition), entry.at.since(*queued_at));
                self.partitions
                    .entry(*topic_partition)
                    .or_default()
                    .acknowledge(*base_offset, records);
            }
            TraceEvent::BatchFailed {
                topic_partition,
                records,
                ..
            } => {
                self.add(
                    Kind::RecordsFailed,
                    entry,
                    on(topic_partition),
                    u64::from(*records),
                );
            }
            TraceEvent::BatchRetried {
                topic_partition, ..
            } => {
                self.add(Kind::BatchesRetried, entry, on(topic_partition), 1);
            }
            TraceEvent::Appended {
                topic_partition,
                base_offset,
                log_end_offset,
                as_leader: true,
            } => {
                let records = distance(*base_offset, *log_end_offset);
                if self.unanswered.has_brought(entry, *topic_partition) {
                    let part = self.partitions.entry(*topic_partition).or_default();
                    part.acknowledge(*base_offset, records);
                }
                self.add(Kind::RecordsAppended, entry, on(topic_partition), records);
            }
            TraceEvent::Truncated {
                topic_partition,
                previous_log_end_offset,
                log_end_offset,
            } => {
                let records = distance(*log_end_offset, *previous_log_end_offset);
                self.add(Kind::RecordsTruncated, entry, on(topic_partition), records);
            }
            TraceEvent::RecordProcessed {
                topic_partition,
                duplicate,
                ..
            } => {
                self.add(Kind::RecordsProcessed, entry, on(topic_partition), 1);
                if *duplicate {
                    self.add(Kind::Duplicates, entry, on(topic_partition), 1);
                }
            }
            _ => self.count_more(entry),
        }
    }

    /// What else concerns producers and their transactions.
    #[expect(
        clippy::wildcard_enum_match_arm,
        reason = "names the events that are counted"
    )]
    fn count_producers(&mut self, entry: &TraceEntry) {
        use MeasureKind as Kind;
        let on = |topic_partition: &TopicPartition| Key {
            topic_partition: Some(*topic_partition),
            ..Key::default()
        };
        match &entry.event {
            TraceEvent::SendFailed { topic, .. } => {
                let topic_partition = self.topic(topic).map(|id| TopicPartition::new(id, 0));
                let key = Key {
                    topic_partition,
                    ..Key::default()
                };
                self.add(Kind::RecordsFailed, entry, key, 1);
            }
            TraceEvent::DuplicateAppended {
                topic_partition,
                records,
                ..
            } => {
                let records = u64::from(*records);
                self.add(Kind::DuplicatesWritten, entry, on(topic_partition), records);
            }
            TraceEvent::RecordsDiscarded {
                topic_partition,
                records,
                ..
            } => {
                let records = u64::from(*records);
                self.add(Kind::RecordsLost, entry, on(topic_partition), records);
            }
            TraceEvent::TransactionEnded { is_commit, .. } => {
                let kind = if *is_commit {
                    Kind::TransactionsCommitted
                } else {
                    Kind::TransactionsAborted
                };
                self.add(kind, entry, Key::default(), 1);
            }
            TraceEvent::BecameLeader {
                topic_partition,
                log_end_offset,
                ..
            } => {
                let part = self.partitions.entry(*topic_partition).or_default();
                let lost = part.lose(*log_end_offset);
                if lost != 0 {
                    self.add(Kind::RecordsLost, entry, on(topic_partition), lost);
                }
            }
            _ => {}
        }
    }

    #[expect(
        clippy::wildcard_enum_match_arm,
        reason = "names the events that are counted"
    )]
    fn count_more(&mut self, entry: &TraceEntry) {
        use MeasureKind as Kind;
        let on = |topic_partition: &TopicPartition| Key {
            topic_partition: Some(*topic_partition),
            ..Key::default()
        };
        let of = |group_id: &GroupId| Key {
            group: Some(group_id.clone()),
            ..Key::default()
        };
        match &entry.event {
            TraceEvent::MemberRemoved { group_id, .. } => {
                self.add(Kind::MembersRemoved, entry, of(group_id), 1);
            }
            TraceEvent::OffsetCommitted {
                group_id,
                topic_partition,
                ..
            } => {
                let key = Key {
                    topic_partition: Some(*topic_partition),
                    ..of(group_id)
                };
                self.add(Kind::Commits, entry, key, 1);
            }
            TraceEvent::CommitFailed { .. } => {
                self.add(Kind::CommitsFailed, entry, Key::default(), 1);
            }
            TraceEvent::PollTimeoutExpired { .. } => {
                self.add(Kind::PollTimeouts, entry, Key::default(), 1);
            }
            TraceEvent::FatalError { .. } => self.add(Kind::FatalErrors, entry, Key::default(), 1),
            TraceEvent::IsrShrunk {
                topic_partition, ..
            } => {
                self.add(Kind::IsrShrinks, entry, on(topic_partition), 1);
            }
            TraceEvent::IsrExpanded {
                topic_partition, ..
            } => {
                self.add(Kind::IsrExpands, entry, on(topic_partition), 1);
            }
            TraceEvent::LeaderElected {
                topic_partition,
                leader,
                previous_leader,
                unclean,
                ..
            } if leader.is_some()
                && leader != previous_leader
                && self.was_led(*topic_partition) =>
            {
                self.add(Kind::Elections, entry, on(topic_partition), 1);
                if *unclean {
                    self.add(Kind::UncleanElections, entry, on(topic_partition), 1);
                }
            }
            _ => self.count_producers(entry),
        }
    }

    /// Requests without an answer: their producer believes the records written once they are sent.
    /// True if some are lost with their message.
    fn follow_unanswered(&mut self, entry: &TraceEntry) -> bool {
        let lost = self.unanswered.follow(entry);
        for (topic_partition, records) in &lost {
            let key = Key {
                topic_partition: Some(*topic_partition),
                ..Key::default()
            };
            self.add(MeasureKind::RecordsLost, entry, key, *records);
        }
        !lost.is_empty()
    }

    fn acknowledge(&mut self, entry: &TraceEntry, key: Key, took: Span) {
        let key = Key {
            node: Some(entry.node),
            ..key
        };
        let ack = self.acks.entry(key).or_default();
        ack.last = took;
        ack.longest = ack.longest.max(took);
        ack.at = entry.at;
        let index = bucket(took.as_millis());
        if ack.buckets.len() <= index {
            ack.buckets.resize(index + 1, 0);
        }
        if let Some(count) = ack.buckets.get_mut(index) {
            *count += 1;
        }
    }

    /// The time within which `percent` of the batches were acknowledged.
    fn ack_quantile(&self, query: &Query, topic: Option<TopicId>, percent: u64) -> u64 {
        let mut sums: Vec<u64> = Vec::new();
        for ack in self.acks_of(query, topic) {
            sums.resize(sums.len().max(ack.buckets.len()), 0);
            for (sum, count) in sums.iter_mut().zip(&ack.buckets) {
                *sum += u64::from(*count);
            }
        }
        let total: u64 = sums.iter().sum();
        let wanted = (total * percent).div_ceil(100);
        let mut seen = 0;
        for (index, count) in sums.iter().enumerate() {
            seen += count;
            if wanted <= seen && seen != 0 {
                return bucket_end(index);
            }
        }
        0
    }

    /// Who works on each partition when, up to `now`: members of groups, and where no group reads a
    /// partition, its leaders. Kafka's own topics are left out.
    pub fn strips(&self, now: SimTime) -> Vec<Strip> {
        let mut strips = Vec::new();
        for ((group, topic_partition), part) in &self.ownership {
            let since = part.history().iter();
            let since = since.map(|(at, client)| (*at, client.map(NodeId::Client)));
            strips.push(Strip {
                group: Some(group.clone()),
                topic_partition: *topic_partition,
                spans: spans(since, now),
            });
        }
        for (topic_partition, part) in &self.partitions {
            let is_internal = self.internal_topics.contains(&topic_partition.topic);
            let is_read = strips
                .iter()
                .any(|strip| strip.topic_partition == *topic_partition);
            if is_internal || is_read {
                continue;
            }
            let since = part.led_by.iter();
            let since = since.map(|(at, broker)| (*at, broker.map(NodeId::Broker)));
            strips.push(Strip {
                group: None,
                topic_partition: *topic_partition,
                spans: spans(since, now),
            });
        }
        strips
    }

    fn was_led(&self, topic_partition: TopicPartition) -> bool {
        self.partitions
            .get(&topic_partition)
            .is_some_and(|part| part.leader.is_some())
    }

    /// Leaders, ISRs, high watermarks and log ends.
    #[expect(
        clippy::wildcard_enum_match_arm,
        reason = "names the events that move logs"
    )]
    fn follow_logs(&mut self, entry: &TraceEntry) {
        let broker = entry.node.broker();
        match &entry.event {
            TraceEvent::LeaderElected {
                topic_partition,
                leader,
                isr,
                ..
            } => {
                let part = self.partitions.entry(*topic_partition).or_default();
                if part.led_by.last().is_none_or(|(_, last)| last != leader) {
                    part.led_by.push((entry.at, *leader));
                }
                part.leader = leader.or(part.leader);
                part.isr = Some(count(isr.len()));
            }
            TraceEvent::IsrShrunk {
                topic_partition,
                isr,
                ..
            }
            | TraceEvent::IsrExpanded {
                topic_partition,
                isr,
                ..
            } => {
                self.partitions.entry(*topic_partition).or_default().isr = Some(count(isr.len()));
            }
            TraceEvent::BecameLeader {
                topic_partition,
                log_end_offset,
                ..
            } => {
                let part = self.partitions.entry(*topic_partition).or_default();
                part.leader = broker;
                part.end(broker, *log_end_offset);
            }
            TraceEvent::Appended {
                topic_partition,
                log_end_offset,
                ..
            }
            | TraceEvent::Truncated {
                topic_partition,
                log_end_offset,
                ..
            }
            | TraceEvent::UnflushedTailLost {
                topic_partition,
                log_end_offset,
                ..
            }
            | TraceEvent::LogStartedAnew {
                topic_partition,
                log_start_offset: log_end_offset,
                ..
            } => {
                let part = self.partitions.entry(*topic_partition).or_default();
                part.end(broker, *log_end_offset);
            }
            TraceEvent::HighWatermarkAdvanced {
                topic_partition,
                high_watermark,
                as_leader: true,
            } => {
                let part = self.partitions.entry(*topic_partition).or_default();
                part.high_watermark = part.high_watermark.max(*high_watermark);
            }
            _ => {}
        }
    }

    /// Generations, commits and finished records.
    #[expect(
        clippy::wildcard_enum_match_arm,
        reason = "names the events that concern groups"
    )]
    fn follow_groups(&mut self, entry: &TraceEntry) {
        match &entry.event {
            TraceEvent::JoinPhaseCompleted {
                group_id,
                generation_id,
                members,
                ..
            } => self.regroup(entry, group_id, (*generation_id, count(members.len()))),
            TraceEvent::TargetAssignmentComputed {
                group_id,
                target_assignment_epoch,
                members,
                ..
            } => self.regroup(entry, group_id, (*target_assignment_epoch, *members)),
            TraceEvent::GroupStateChanged {
                group_id,
                state: GroupState::Empty,
                ..
            } => {
                self.groups.entry(group_id.clone()).or_default().members = 0;
            }
            TraceEvent::OffsetCommitted {
                group_id,
                topic_partition,
                offset,
                ..
            } => {
                self.committed
                    .insert((group_id.clone(), *topic_partition), *offset);
            }
            TraceEvent::PositionSet {
                topic_partition,
                position,
                ..
            } => {
                if let Some(group) = self.group_of(entry.node).cloned() {
                    let ranges = self.finished.entry((group, *topic_partition));
                    ranges.or_insert_with(|| OffsetRanges::starting_at(*position));
                }
            }
            TraceEvent::RecordProcessed {
                topic_partition,
                offset,
                ..
            } => {
                if let Some(group) = self.group_of(entry.node).cloned() {
                    let ranges = self.finished.entry((group, *topic_partition));
                    ranges
                        .or_insert_with(|| OffsetRanges::starting_at(*offset))
                        .insert(*offset);
                }
            }
            _ => {}
        }
    }

    /// A group has a new generation, or a new target assignment.
    fn regroup(&mut self, entry: &TraceEntry, group_id: &GroupId, (epoch, members): (i32, u32)) {
        let group = self.groups.entry(group_id.clone()).or_default();
        let is_rebalance = group.has_joined && 0 < members;
        group.has_joined |= 0 < members;
        group.members = members;
        group.generation_id = epoch;
        if is_rebalance {
            let key = Key {
                group: Some(group_id.clone()),
                ..Key::default()
            };
            self.add(MeasureKind::Rebalances, entry, key, 1);
        }
    }

    /// Who owns which partition and may process it.
    #[expect(
        clippy::wildcard_enum_match_arm,
        reason = "names the events that move partitions"
    )]
    fn follow_owners(&mut self, entry: &TraceEntry) {
        let Some(client) = entry.node.client() else {
            return;
        };
        let Some(group) = self.group_of(entry.node).cloned() else {
            return;
        };
        let now = entry.at;
        match &entry.event {
            TraceEvent::PartitionsAssigned { owned, .. } => {
                for topic_partition in owned.iter() {
                    let key = (group.clone(), *topic_partition);
                    self.ownership.entry(key).or_default().take(client, now);
                }
                self.each_owned(&group, |topic_partition, part| {
                    if !owned.contains(topic_partition) {
                        part.leave(client, now);
                    }
                });
            }
            TraceEvent::PartitionsRevoked { partitions, .. }
            | TraceEvent::PartitionsLost { partitions } => {
                self.each_owned(&group, |topic_partition, part| {
                    if partitions.contains(topic_partition) {
                        part.leave(client, now);
                    }
                });
            }
            TraceEvent::ProcessKilled { .. }
            | TraceEvent::ProcessStopped { .. }
            | TraceEvent::FatalError { .. } => {
                self.each_owned(&group, |_, part| part.leave(client, now));
            }
            TraceEvent::ProcessPaused { .. } => {
                self.each_owned(&group, |_, part| part.halt(client, now));
            }
            TraceEvent::ProcessResumed { .. } => {
                self.each_owned(&group, |_, part| part.resume(client, now));
            }
            _ => {}
        }
    }

    fn each_owned(
        &mut self,
        group: &GroupId,
        mut change: impl FnMut(&TopicPartition, &mut Ownership),
    ) {
        for ((owner, topic_partition), part) in &mut self.ownership {
            if owner == group {
                change(topic_partition, part);
            }
        }
    }

    fn ownership_of<'a>(
        &'a self,
        query: &'a Query,
        topic: Option<TopicId>,
    ) -> impl Iterator<Item = &'a Ownership> {
        self.ownership
            .iter()
            .filter(move |(owned, _)| query.takes_owned(owned, topic))
            .map(|(_, part)| part)
    }

    fn groups_of_query<'a>(&'a self, query: &'a Query) -> impl Iterator<Item = &'a GroupCount> {
        self.groups
            .iter()
            .filter(|(group, _)| query.takes_group(Some(group)))
            .map(|(_, count)| count)
    }

    /// The partitions of applications that a query takes, or the ones of the topic that it names.
    fn partitions_of<'a>(
        &'a self,
        query: &'a Query,
        topic: Option<TopicId>,
    ) -> impl Iterator<Item = (TopicPartition, &'a PartitionCount)> {
        self.partitions
            .iter()
            .filter(move |(topic_partition, _)| {
                let is_internal = self.internal_topics.contains(&topic_partition.topic);
                let key = Key {
                    topic_partition: Some(**topic_partition),
                    ..Key::default()
                };
                let query = Query {
                    broker: None,
                    ..query.clone()
                };
                query.takes(&key, topic) && (query.topic.is_some() || !is_internal)
            })
            .map(|(topic_partition, part)| (*topic_partition, part))
    }

    fn acks_of<'a>(
        &'a self,
        query: &'a Query,
        topic: Option<TopicId>,
    ) -> impl Iterator<Item = &'a AckTime> {
        self.acks
            .iter()
            .filter(move |(key, _)| query.takes(key, topic))
            .map(|(_, ack)| ack)
    }

    fn high_watermark(&self, topic_partition: TopicPartition) -> Offset {
        self.partitions
            .get(&topic_partition)
            .map_or(Offset::ZERO, |part| part.high_watermark)
    }

    fn consumer_lag(&self, query: &Query, topic: Option<TopicId>) -> i64 {
        let read = self.finished_of(query, topic);
        read.map(|(key, ranges)| {
            let committed = self.committed.get(key).copied().unwrap_or(ranges.start());
            (self.high_watermark(key.1) - committed).max(0)
        })
        .sum()
    }

    fn processing_lag(&self, query: &Query, topic: Option<TopicId>) -> i64 {
        let read = self.finished_of(query, topic);
        read.map(|(key, ranges)| ranges.missing_below(self.high_watermark(key.1)))
            .sum()
    }

    fn records_skipped(&self, query: &Query, topic: Option<TopicId>) -> i64 {
        let read = self.finished_of(query, topic);
        read.map(|(key, ranges)| {
            self.committed
                .get(key)
                .map_or(0, |committed| ranges.missing_below(*committed))
        })
        .sum()
    }

    fn finished_of<'a>(
        &'a self,
        query: &'a Query,
        topic: Option<TopicId>,
    ) -> impl Iterator<Item = (&'a (GroupId, TopicPartition), &'a OffsetRanges)> {
        self.finished
            .iter()
            .filter(move |(read, _)| query.takes_owned(read, topic))
    }

    fn replica_lag(&self, query: &Query, topic: Option<TopicId>) -> i64 {
        let lag_of = |part: &PartitionCount| {
            let leader = part.leader?;
            let end = *part.log_end_offsets.get(&leader)?;
            let followers = part.log_end_offsets.iter().filter(|(broker, _)| {
                **broker != leader && query.broker.is_none_or(|wanted| wanted == **broker)
            });
            followers.map(|(_, follower)| end - *follower).max()
        };
        let lags = self
            .partitions_of(query, topic)
            .filter_map(|(_, part)| lag_of(part));
        lags.max().unwrap_or_default().max(0)
    }
}

impl PartitionCount {
    fn end(&mut self, broker: Option<BrokerId>, log_end_offset: Offset) {
        if let Some(broker) = broker {
            self.log_end_offsets.insert(broker, log_end_offset);
        }
    }
}

/// Whether it is one of the events that make up most of a trace and move no state.
const fn is_message(event: &TraceEvent) -> bool {
    matches!(
        event,
        TraceEvent::RequestSent { .. }
            | TraceEvent::ResponseSent { .. }
            | TraceEvent::Delivered { .. }
            | TraceEvent::PacketLost { .. }
            | TraceEvent::PacketResumed { .. }
            | TraceEvent::Disconnected { .. }
            | TraceEvent::RequestParked { .. }
            | TraceEvent::RequestReleased { .. }
            | TraceEvent::TimerFired { .. }
            | TraceEvent::LogLine { .. }
    )
}

/// Stretches from their beginnings; what takes no time is left out.
fn spans(
    since: impl Iterator<Item = (SimTime, Option<NodeId>)>,
    now: SimTime,
) -> Vec<(SimTime, SimTime, Option<NodeId>)> {
    let mut spans: Vec<(SimTime, SimTime, Option<NodeId>)> = Vec::new();
    for (at, who) in since {
        if let Some((from, to, _)) = spans.last_mut() {
            *to = at;
            if *from == at {
                spans.pop();
            }
        }
        spans.push((at, now, who));
    }
    spans
}

fn count(number: usize) -> u32 {
    u32::try_from(number).unwrap_or(u32::MAX)
}

fn distance(from: Offset, to: Offset) -> u64 {
    u64::try_from(to - from).unwrap_or_default()
}

#[cfg(test)]
mod tests;
