//! Incidents from the field, small enough to run: what was reported, and what the same cluster does
//! here. Brokers are numbered from 1.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::sync::Arc;
use terrarium_core::base::ids::{BrokerId, GroupId, RecordId, TopicPartition};
use terrarium_core::client::producer::partitioner::partition_for_key;
use terrarium_core::coordinator::partition_for;
use terrarium_core::kernel::time::SimTime;
use terrarium_core::sim::command::Command;
use terrarium_core::sim::simulation::Sim;
use terrarium_core::sim::view::{PartitionView, ProcessState, ReplicaView};
use terrarium_core::trace::event::{TraceEntry, TraceEvent};
use terrarium_core::wire::api::Response;
use terrarium_core::wire::error_code::ErrorCode;
use terrarium_tests::invariants::log_of;
use terrarium_tests::storyboard::Storyboard;

/// A storyboard that is run step by step.
pub(super) struct Case {
    pub(super) sim: Sim,
    /// What is still to be done, the latest first.
    actions: Vec<(SimTime, Command)>,
}

impl Case {
    pub(super) fn new(text: &str) -> Self {
        let board = Storyboard::parse(text).expect("a storyboard");
        let mut actions = board.actions();
        actions.reverse();
        let sim = Sim::new(board.scenario.clone()).expect("a scenario that can be run");
        Self { sim, actions }
    }

    /// Runs until `seconds`, with everything that is to be done up to then.
    pub(super) fn run_to(&mut self, seconds: i64) {
        self.run_to_ms(seconds * 1_000);
    }

    pub(super) fn run_to_ms(&mut self, millis: i64) {
        let until = SimTime::from_millis(u64::try_from(millis).expect("no time before the start"));
        while let Some((at, command)) = self.actions.pop_if(|(at, _)| *at <= until) {
            self.sim.run_until(at);
            self.sim
                .apply(command)
                .expect("what the incident did is possible");
        }
        self.sim.run_until(until);
    }

    fn partitions(&self, topic: &str) -> Vec<PartitionView> {
        let topics = self.sim.stage().topics;
        let found = topics.into_iter().find(|view| &*view.name == topic);
        found.expect("the topic exists").partitions
    }

    pub(super) fn partition(&self, topic: &str, number: usize) -> PartitionView {
        let found = self.partitions(topic).into_iter().nth(number);
        found.expect("the partition exists")
    }

    /// The numbers of the partitions that have fewer in-sync replicas than `min`.
    fn under_min_isr(&self, topic: &str, min: usize) -> Vec<u32> {
        let partitions = self.partitions(topic).into_iter();
        let under = partitions.filter(|view| view.isr.len() < min);
        under.map(|view| view.topic_partition.partition).collect()
    }

    /// How many partitions each broker leads; those without a leader are told as broker 0.
    fn leaders(&self, topic: &str) -> BTreeMap<u32, usize> {
        let mut counts = BTreeMap::new();
        for view in self.partitions(topic) {
            *counts.entry(view.leader.map_or(0, |id| id.0)).or_default() += 1;
        }
        counts
    }

    pub(super) fn events(&self, from_s: u64, to_s: u64) -> impl Iterator<Item = &TraceEntry> {
        let (from, to) = (
            SimTime::from_millis(from_s * 1_000),
            SimTime::from_millis(to_s * 1_000),
        );
        let all = self.sim.trace().since(0);
        all.filter(move |entry| from <= entry.at && entry.at < to)
    }

    /// When the ISR of a partition shrank, or grew.
    fn isr_changes(&self, name: &str, id: TopicPartition, from_s: u64, to_s: u64) -> Vec<u64> {
        let of_partition = self
            .events(from_s, to_s)
            .filter(|entry| match &entry.event {
                TraceEvent::IsrShrunk {
                    topic_partition, ..
                }
                | TraceEvent::IsrExpanded {
                    topic_partition, ..
                } => *topic_partition == id && entry.event.name() == name,
                _ => false,
            });
        of_partition.map(|entry| entry.at.as_millis()).collect()
    }

    /// Records that a producer got acknowledged.
    fn acknowledged(&self, producer: &str, from_s: u64, to_s: u64) -> u32 {
        let client = self.sim.scenario().client_by_name(producer);
        let mine = self
            .events(from_s, to_s)
            .filter(|entry| entry.node.client() == client);
        let counts = mine.map(|entry| match &entry.event {
            TraceEvent::BatchAcknowledged { records, .. } => *records,
            _ => 0,
        });
        counts.sum()
    }

    /// Records that a producer gave up.
    fn rejected(&self, producer: &str) -> u64 {
        let producers = self.sim.stage().producers;
        let found = producers.iter().find(|view| &*view.name == producer);
        found.expect("the producer exists").records_failed
    }

    /// The partitions for which a producer was answered with this error.
    fn refused(&self, code: ErrorCode, from_s: u64, to_s: u64) -> BTreeSet<u32> {
        let mut partitions = BTreeSet::new();
        for entry in self.events(from_s, to_s) {
            if let TraceEvent::ResponseSent { body, .. } = &entry.event
                && let Response::Produce(produce) = &**body
            {
                let refused = produce.partitions.iter();
                let refused = refused.filter(|answer| answer.error_code == code);
                partitions.extend(refused.map(|answer| answer.topic_partition.partition));
            }
        }
        partitions
    }

    fn replica(&self, broker: u32, id: TopicPartition) -> ReplicaView {
        let brokers = self.sim.stage().brokers;
        let found = brokers.into_iter().find(|view| view.id == BrokerId(broker));
        let replicas = found.expect("the broker exists").replicas.into_iter();
        let mut mine = replicas.filter(|view| view.topic_partition == id);
        mine.next().expect("the replica exists")
    }
    fn log(&self, broker: u32, id: TopicPartition) -> Vec<(i64, RecordId)> {
        let log = log_of(&self.sim, BrokerId(broker), id).expect("the replica exists");
        let records = log.records();
        records
            .map(|(offset, record)| (offset.0, record.record_id))
            .collect()
    }
}

fn ids(list: &[u32]) -> Vec<BrokerId> {
    list.iter().copied().map(BrokerId).collect()
}

/// Whether stopping a leader leaves each partition that it leads its minimum.
fn is_safe_to_restart(case: &Case, topic: &str, broker: u32, min: usize) -> bool {
    let partitions = case.partitions(topic).into_iter();
    let mut led = partitions.filter(|view| view.leader == Some(BrokerId(broker)));
    led.all(|view| min < view.isr.len())
}

/// The report is of 2019: RF 1 under a minimum of 2. Since 3.7 the minimum that counts is no more
/// than the replicas (E21), so the same topic takes `acks=all`. What was reported is what a topic
/// does whose second replica is away.
#[test]
fn inc_19_a_minimum_that_the_topic_cannot_have() {
    let mut case = Case::new(
        "cluster brokers=6 min.insync.replicas=2 jitter=0ms\n\
         topic t partitions=10 rf=1 min.insync.replicas=2\n\
         producer pAll topic=t every=100ms start=1s acks=all request.timeout.ms=20000 \
         delivery.timeout.ms=30000\n\
         producer pOne topic=t every=100ms start=1s acks=1\n",
    );
    case.run_to(61);
    let partitions = case.partitions("t");
    assert!(
        partitions
            .iter()
            .all(|view| view.isr.len() == 1 && view.replicas.len() == 1)
    );
    let refused = case.refused(ErrorCode::NotEnoughReplicas, 0, 61);
    assert!(
        refused.is_empty(),
        "INC-19: since 3.7 nothing is refused, but {refused:?} is"
    );
    assert!(590 <= case.acknowledged("pAll", 0, 61), "INC-19: since 3.7");
    assert!(590 <= case.acknowledged("pOne", 0, 61), "INC-19");
    for broker in 1..=6 {
        let leads = case.leaders("t").contains_key(&broker);
        let is_safe = is_safe_to_restart(&case, "t", broker, 2);
        assert_eq!(
            is_safe, !leads,
            "INC-19: broker {broker} cannot be rolled while it leads"
        );
    }

    // The refusal itself, and the remedy.
    let mut case = Case::new(
        "cluster brokers=6 jitter=0ms\n\
         topic t assign=1,6;2,6;3,6;4,6;5,6 min.insync.replicas=2\n\
         producer pAll topic=t every=100ms start=21s acks=all request.timeout.ms=20000 \
         delivery.timeout.ms=30000\n\
         producer pOne topic=t every=100ms start=21s acks=1\n\
         5s kill-broker 6\n\
         80s set-topic-config t min.insync.replicas=1\n",
    );
    case.run_to(80);
    assert_eq!(
        case.under_min_isr("t", 2).len(),
        5,
        "INC-19: one replica is in sync everywhere"
    );
    assert_eq!(
        case.acknowledged("pAll", 20, 80),
        0,
        "INC-19: all of acks=all is refused"
    );
    let refused = case.refused(ErrorCode::NotEnoughReplicas, 20, 80);
    assert_eq!(
        refused.len(),
        5,
        "INC-19: NOT_ENOUGH_REPLICAS on each partition"
    );
    assert!(
        580 <= case.acknowledged("pOne", 20, 80),
        "INC-19: acks=1 works"
    );
    case.run_to(140);
    assert!(
        0 < case.acknowledged("pAll", 85, 140),
        "INC-19: the remedy works"
    );
}

/// A run in which all brokers stop hard and broker 1 loses the unflushed end of its log; the
/// partition, and what stood in the other logs.
fn blackout(history: &str) -> (Case, TopicPartition, Vec<(i64, RecordId)>) {
    let story = |seed: u32| {
        format!(
            "cluster brokers=3 seed={seed} jitter=0ms{history}\n\
         topic t assign=3,1,2 flush.messages=100\n\
         producer p topic=t every=10ms start=3s records=100 acks=1 linger.ms=0 batch.size=0\n\
         producer q topic=t every=1ms start=8s records=3 acks=1 linger.ms=20 partition=0\n\
         producer r topic=t every=100ms start=60s records=20 acks=1\n\
         10s kill-broker 2\n\
         10s kill-broker 3\n\
         12.1s power-loss-broker 1\n\
         30s restart-broker 1\n\
         90s restart-broker 2\n\
         90s restart-broker 3\n",
        )
    };
    // How much of the unflushed end is left is a matter of luck: here nothing is.
    let mut cases = (1..50).map(|seed| {
        let mut case = Case::new(&story(seed));
        case.run_to_ms(9_900);
        let id = case.partition("t", 0).topic_partition;
        let isr = case.partition("t", 0).isr;
        assert_eq!(isr, ids(&[1, 2, 3]), "INC-21: before the outage");
        let before = case.log(3, id);
        assert_eq!(before.len(), 103, "INC-21: written with acks=1");
        case.run_to_ms(12_200);
        (case, id, before)
    });
    let lost_it = cases.find(|(case, id, _)| {
        [1, 2, 3].map(|broker| case.log(broker, *id).len()) == [100, 103, 103]
    });
    lost_it.expect("INC-21: broker 1 lost what was not flushed")
}

/// Before 0.11 followers cut at their own high watermark, and nobody compared epochs.
#[test]
fn inc_21_logs_part_for_ever_when_they_are_cut_at_the_high_watermark() {
    let (mut case, id, before) = blackout(" history.truncate.to.high.watermark=true");
    case.run_to(150);
    let logs = [1, 2, 3].map(|broker| case.log(broker, id));
    let apart = |one: &[(i64, RecordId)], other: &[(i64, RecordId)]| -> Vec<i64> {
        let pairs = one.iter().zip(other);
        let apart = pairs.filter(|(one, other)| one.0 == other.0 && one.1 != other.1);
        apart.map(|(one, _)| one.0).collect()
    };
    assert_eq!(
        apart(&logs[0], &logs[1]),
        [100, 101, 102],
        "INC-21: the same offsets, other records"
    );
    assert_eq!(
        logs[1].get(..103),
        Some(&before[..]),
        "INC-21: the old ones"
    );
}

/// The broker that lost the end of its log is the one that is left in the ISR, so it leads, cleanly.
/// Leader epochs make the longer logs follow it.
#[test]
fn inc_21_the_shortest_log_leads_after_a_blackout() {
    let (mut case, id, before) = blackout("");
    case.run_to(55);
    let partition = case.partition("t", 0);
    assert_eq!(
        partition.leader,
        Some(BrokerId(1)),
        "INC-21: the shortest log leads"
    );
    let unclean = case.events(0, 55).any(|entry| {
        matches!(&entry.event, TraceEvent::LeaderElected { topic_partition, unclean: true, .. }
            if *topic_partition == id)
    });
    assert!(!unclean, "INC-21: by a clean election");
    case.run_to(150);
    let logs = [1, 2, 3].map(|broker| case.log(broker, id));
    assert_eq!(logs[0], logs[1], "INC-21: no divergence");
    assert_eq!(logs[0], logs[2], "INC-21: no divergence");
    let offsets: Vec<i64> = logs[0].iter().map(|(offset, _)| *offset).collect();
    let expected: Vec<i64> = (0..120).collect();
    assert_eq!(offsets, expected, "INC-21: offsets rise");
    let mut cut = BTreeMap::new();
    for entry in case.events(85, 150) {
        if let TraceEvent::Truncated {
            topic_partition,
            previous_log_end_offset: from,
            log_end_offset: to,
        } = &entry.event
            && *topic_partition == id
        {
            cut.insert(entry.node.broker(), from.0 - to.0);
        }
    }
    let expected = BTreeMap::from([(Some(BrokerId(2)), 3), (Some(BrokerId(3)), 3)]);
    assert_eq!(
        cut, expected,
        "INC-21: each of the others cuts three records"
    );
    let kept: BTreeSet<RecordId> = logs[0].iter().map(|(_, record)| *record).collect();
    let lost = before.iter().filter(|(_, record)| !kept.contains(record));
    let lost: Vec<i64> = lost.map(|(offset, _)| *offset).collect();
    assert_eq!(
        lost,
        [100, 101, 102],
        "INC-21: acknowledged with acks=1, and gone"
    );
    let brokers = case.sim.stage().brokers;
    assert!(
        brokers
            .iter()
            .all(|view| view.process == ProcessState::Running),
        "INC-21: every broker runs"
    );
}

/// Bursts of 200 records every five seconds on each of three partitions, far from their followers.
fn bursts(until: usize, history: &str) -> String {
    let mut text = format!(
        "cluster brokers=3 jitter=0ms replica.fetch.max.bytes=10000{history}\n\
         topic t assign=1,2,3;2,1,3;1,2,3\n\
         link 1 2 latency=40ms\nlink 1 3 latency=40ms\nlink 2 3 latency=40ms\n\
         120s cut-link 3 1\n120s cut-link 3 2\n180s heal-link 3 1\n180s heal-link 3 2\n"
    );
    for second in (5..until).step_by(5) {
        for partition in 0..3 {
            let _ = writeln!(
                text,
                "producer p{partition}at{second} topic=t partition={partition} start={second}s \
                 every=1ms records=200 bytes=1000 acks=1 linger.ms=0"
            );
        }
    }
    text
}

/// The rule of 0.8: the bound is a fifth of a burst, as 4,000 messages were of 20,000.
#[test]
fn inc_22_bursts_shrink_the_isr_by_the_rule_of_messages() {
    let mut case = Case::new(&bursts(120, " history.replica.lag.max.messages=40"));
    case.run_to(120);
    let mut alone = 0;
    for view in case.partitions("t") {
        let shrunk = case.isr_changes("isr-shrunk", view.topic_partition, 0, 120);
        assert!(10 <= shrunk.len(), "INC-22: it flaps, but {shrunk:?}");
        alone += case
            .events(0, 120)
            .filter(|entry| {
                matches!(&entry.event, TraceEvent::IsrShrunk { topic_partition, isr, .. }
                    if *topic_partition == view.topic_partition && isr.len() == 1)
            })
            .count();
    }
    assert!(0 < alone, "INC-22: at moments down to the leader alone");
}

/// Bursts that the followers work off for two seconds: the rule of time never counts them out, the
/// rule of messages (until 0.8) did. A follower that stands still leaves once and comes back once.
#[test]
fn inc_22_bursts_shrink_no_isr() {
    let mut case = Case::new(&bursts(240, ""));
    case.run_to_ms(5_300);
    let id = case.partition("t", 0).topic_partition;
    let ends = |case: &Case| [1, 3].map(|broker| case.replica(broker, id).log_end_offset.0);
    let [leader, follower] = ends(&case);
    assert!(
        follower + 50 < leader,
        "INC-22: behind after a burst: {follower} of {leader}"
    );
    case.run_to(8);
    let [leader, follower] = ends(&case);
    assert_eq!(leader, follower, "INC-22: caught up two seconds later");
    case.run_to(120);
    for view in case.partitions("t") {
        let shrunk = case.isr_changes("isr-shrunk", view.topic_partition, 0, 120);
        assert!(
            shrunk.is_empty(),
            "INC-22: bursts alone never shrink, but {shrunk:?}"
        );
    }
    case.run_to(240);
    for view in case.partitions("t") {
        let id = view.topic_partition;
        let shrunk = case.isr_changes("isr-shrunk", id, 120, 240);
        assert_eq!(shrunk.len(), 1, "INC-22: {id:?} shrinks once: {shrunk:?}");
        assert!(
            (150_000..=167_000).contains(&shrunk[0]),
            "INC-22: 1.0 to 1.5 of the limit after it was last caught up: {shrunk:?}"
        );
        let expanded = case.isr_changes("isr-expanded", id, 180, 240);
        assert_eq!(expanded.len(), 1, "INC-22: {id:?} grows once: {expanded:?}");
        assert_eq!(view.isr.len(), 3, "INC-22");
    }
}

/// Broker 2 was stopped in good order and has returned. It counts as a candidate again when broker
/// 1 is stopped; in the report its old mark was kept, and nobody could lead.
#[test]
fn inc_24_a_mark_of_shutdown_ends_with_the_next_start() {
    let cluster = "cluster brokers=2 jitter=0ms\n\
         topic t assign=1,2 min.insync.replicas=1\n\
         producer p topic=t every=100ms start=1s acks=all\n\
         30s stop-broker 2\n\
         60s restart-broker 2\n";
    let mut case = Case::new(&format!("{cluster}120s stop-broker 1\n"));
    case.run_to(90);
    assert_eq!(case.partition("t", 0).isr, ids(&[1, 2]), "INC-24: at 90 s");
    case.run_to(125);
    assert_eq!(
        case.partition("t", 0).leader,
        Some(BrokerId(2)),
        "INC-24: at 125 s"
    );
    case.run_to(180);
    let id = case.partition("t", 0).topic_partition;
    let leaderless = case.events(30, 180).any(|entry| {
        matches!(&entry.event, TraceEvent::LeaderElected { topic_partition, leader: None, .. }
            if *topic_partition == id)
    });
    assert!(!leaderless, "INC-24: never without a leader");
    assert_eq!(case.rejected("p"), 0, "INC-24: retries help");

    // Broker 1 is stopped before broker 2 is back in the ISR.
    let mut case = Case::new(&format!("{cluster}60.005s stop-broker 1\n"));
    case.run_to_ms(60_004);
    assert_eq!(case.partition("t", 0).isr, ids(&[1]), "INC-24: too early");
    for at in [65, 100, 180] {
        case.run_to(at);
        assert_eq!(
            case.partition("t", 0).leader,
            None,
            "INC-24: nobody leads at {at} s"
        );
    }
}

/// After a broker was stopped and started leaderships stay where they went, until somebody asks
/// for the preferred leaders, or the balancer does. The hour of the report is five minutes here.
#[test]
fn inc_25_a_broker_that_returns_leads_nothing() {
    let orders = ["1,2,3", "2,3,1", "3,1,2"];
    let assign: Vec<&str> = orders.into_iter().cycle().take(320).collect();
    let cluster = |settings: &str| {
        format!(
            "cluster brokers=3 jitter=0ms replica.fetch.wait.max.ms=5000 {settings}\n\
             topic t assign={}\n60s stop-broker 3\n120s restart-broker 3\n",
            assign.join(";")
        )
    };
    let by_hand = cluster("auto.leader.rebalance.enable=false");
    let mut case = Case::new(&format!("{by_hand}400s elect-leaders preferred\n"));
    case.run_to(30);
    let preferred = BTreeMap::from([(1, 107), (2, 107), (3, 106)]);
    assert_eq!(case.leaders("t"), preferred, "INC-25: at 30 s");
    case.run_to(100);
    assert_eq!(case.leaders("t").get(&3), None, "INC-25: while it is down");
    case.run_to(300);
    let whole = case.partitions("t").iter().all(|view| view.isr.len() == 3);
    assert!(whole, "INC-25: every ISR is whole at 300 s");
    case.run_to(399);
    assert_eq!(case.leaders("t").get(&3), None, "INC-25: it leads nothing");
    case.run_to(410);
    assert_eq!(case.leaders("t"), preferred, "INC-25: after the election");

    let balanced = cluster("leader.imbalance.check.interval.seconds=100");
    let mut case = Case::new(&balanced);
    case.run_to(130);
    assert!(
        case.partitions("t").iter().all(|view| view.isr.len() == 3),
        "INC-25"
    );
    case.run_to(230);
    assert_eq!(
        case.leaders("t"),
        preferred,
        "INC-25: the balancer, one interval later"
    );
}

/// Replicas by broker number ignore the zones: with brokers 3 and 4, of one zone, two of six
/// partitions lose their minimum. Brokers alternating by zone lose none.
#[test]
fn inc_31_a_zone_with_two_of_three_replicas() {
    let cluster = |assign: &str| {
        format!(
            "cluster brokers=6 racks=z1,z1,z2,z2,z3,z3 jitter=0ms\n\
             topic canary assign={assign} min.insync.replicas=2\n\
             producer p topic=canary every=16ms start=1s acks=all delivery.timeout.ms=120000\n\
             60s kill-broker 3\n60s kill-broker 4\n\
             180s restart-broker 3\n180s restart-broker 4\n"
        )
    };
    let mut case = Case::new(&cluster("1,2,3;2,3,4;3,4,5;4,5,6;5,6,1;6,1,2"));
    case.run_to(120);
    assert_eq!(case.under_min_isr("canary", 2), [1, 2], "INC-31: at 120 s");
    let leaders = case.leaders("canary");
    assert!(
        !leaders.contains_key(&0),
        "INC-31: everything has a leader: {leaders:?}"
    );
    assert_eq!(
        case.partition("canary", 0).isr,
        ids(&[1, 2]),
        "INC-31: canary-0"
    );
    assert_eq!(
        case.partition("canary", 3).isr,
        ids(&[5, 6]),
        "INC-31: canary-3"
    );
    case.run_to(290);
    assert!(
        case.under_min_isr("canary", 2).is_empty(),
        "INC-31: at 290 s"
    );
    case.run_to(300);
    let refused = case.refused(ErrorCode::NotEnoughReplicas, 0, 300);
    assert_eq!(
        refused,
        BTreeSet::from([1, 2]),
        "INC-31: NOT_ENOUGH_REPLICAS"
    );

    // 1, 3, 5, 2, 4, 6: zones in turn.
    let mut case = Case::new(&cluster("1,3,5;3,5,2;5,2,4;2,4,6;4,6,1;6,1,3"));
    case.run_to(120);
    assert!(
        case.under_min_isr("canary", 2).is_empty(),
        "INC-31: alternated by zone"
    );
}

/// Who handled records when, in milliseconds.
fn handled_at(case: &Case, consumer: &str, from_s: u64, to_s: u64) -> Vec<u64> {
    let client = case.sim.scenario().client_by_name(consumer);
    let mine = case
        .events(from_s, to_s)
        .filter(|entry| entry.node.client() == client && entry.event.name() == "record-processed");
    mine.map(|entry| entry.at.as_millis()).collect()
}

/// The longest time without a record, from the first of them to the last.
fn stall_ms(handled: &[u64]) -> u64 {
    let gaps = handled.iter().zip(handled.iter().skip(1));
    gaps.map(|(one, next)| next - one).max().unwrap_or(u64::MAX)
}

fn coordinator_of(case: &Case, group: &str) -> Option<BrokerId> {
    let partition = partition_for(&GroupId(Arc::from(group)), 50);
    let views = case.partitions("__consumer_offsets");
    let mut mine = views
        .iter()
        .filter(|view| view.topic_partition.partition == partition);
    mine.next().and_then(|view| view.leader)
}

/// Broker 3 dies. Every partition of the topic has a leader again, but one group's partition of
/// `__consumer_offsets` lived there alone: who restarts in that group reads nothing.
#[test]
fn inc_16_the_coordinators_partition_is_gone() {
    let story = |rf: u32, groups: (&str, &str), restart: &str| {
        format!(
            "cluster brokers=3 jitter=0ms offsets.topic.replication.factor={rf} \
             min.insync.replicas=1\n\
             topic t assign=2,3;3,1\n\
             producer p topic=t every=100ms start=1s acks=all\n\
             consumer a group={} topics=t start=2s session.timeout.ms=10000\n\
             consumer b group={} topics=t start=2s session.timeout.ms=10000\n\
             60s kill-broker 3\n{restart}180s restart-broker 3\n",
            groups.0, groups.1
        )
    };
    let mut probe = Case::new(&story(1, ("x", "y"), ""));
    probe.run_to(20);
    let names: Vec<String> = (0..200).map(|number| format!("g{number}")).collect();
    let led_by = |broker: u32| {
        let mut mine = names
            .iter()
            .filter(|name| coordinator_of(&probe, name) == Some(BrokerId(broker)));
        mine.next().expect("each broker leads some of 50").as_str()
    };
    let groups = (led_by(3), led_by(1));
    let mut case = Case::new(&story(1, groups, "75s restart-consumer a\n"));
    case.run_to(50);
    assert_eq!(
        coordinator_of(&case, groups.0),
        Some(BrokerId(3)),
        "INC-16: the same draw"
    );
    assert!(
        !handled_at(&case, "a", 20, 50).is_empty(),
        "INC-16: it works before"
    );
    case.run_to(90);
    assert_eq!(
        case.partition("t", 1).leader,
        Some(BrokerId(1)),
        "INC-16: t-1 is led"
    );
    case.run_to(120);
    assert_eq!(
        case.partition("t", 1).isr,
        ids(&[1]),
        "INC-16: by its only member"
    );
    case.run_to(240);
    let client = case.sim.scenario().client_by_name("a");
    let refused = case.events(75, 180).filter(|entry| match &entry.event {
        TraceEvent::ResponseSent { to, body, .. } if to.client() == client => {
            matches!(&**body, Response::FindCoordinator(answer)
                if answer.error_code == ErrorCode::CoordinatorNotAvailable)
        }
        _ => false,
    });
    let refused = refused.count();
    assert!(
        10 <= refused,
        "INC-16: COORDINATOR_NOT_AVAILABLE, but {refused} times"
    );
    assert!(
        handled_at(&case, "a", 76, 180).is_empty(),
        "INC-16: it reads nothing"
    );
    assert!(
        stall_ms(&handled_at(&case, "b", 20, 240)) <= 15_000,
        "INC-16: the other group"
    );
    assert!(
        !handled_at(&case, "a", 180, 200).is_empty(),
        "INC-16: within 20 s of its return"
    );
    assert_eq!(case.rejected("p"), 0, "INC-16: nothing is given up");
    let views = case.partitions("t");
    let leaders = views.iter().map(|view| (view.leader, view.topic_partition));
    let written: usize = leaders
        .map(|(leader, id)| case.log(leader.map_or(0, |leader| leader.0), id).len())
        .sum();
    let acknowledged = case.acknowledged("p", 0, 240);
    assert!(
        usize::try_from(acknowledged).expect("few") <= written,
        "INC-16: nothing is lost"
    );

    let mut case = Case::new(&story(3, groups, ""));
    case.run_to(180);
    assert!(
        stall_ms(&handled_at(&case, "a", 20, 180)) <= 20_000,
        "INC-16: with three replicas"
    );
}

/// The partitions of a topic become six, and keys move to new ones, where offsets begin at 0. A sink
/// that takes offsets for versions ignores what comes from there: what was deleted stays.
#[test]
fn inc_37_offsets_are_no_versions_across_partitions() {
    let mut case = Case::new(
        "cluster brokers=1 jitter=0ms\n\
         topic t partitions=4\n\
         producer p topic=t every=5ms start=1s records=10000 keys=item:100\n\
         60s add-partitions t 6\n\
         390s send t value=update key=item-5\n\
         400s send t tombstone key=item-1\n\
         400s send t tombstone key=item-2\n\
         400s send t tombstone key=item-7\n",
    );
    // The producer knows of the new partitions once its metadata are older than five minutes.
    case.run_to(420);
    let places = [
        ("item-1", 3, 3),
        ("item-2", 3, 5),
        ("item-5", 3, 1),
        ("item-7", 0, 4),
    ];
    for (key, before, after) in places {
        let found = [4, 6].map(|count| partition_for_key(key.as_bytes(), count));
        assert_eq!(found, [before, after], "INC-37: {key}");
    }
    let moved = (0..100).filter(|number| {
        let key = format!("item-{number}");
        partition_for_key(key.as_bytes(), 4) != partition_for_key(key.as_bytes(), 6)
    });
    assert_eq!(moved.count(), 64, "INC-37: of 100 keys");
    // The sink: the version and whether there is a document, by key.
    let mut sink: BTreeMap<Arc<str>, (i64, bool)> = BTreeMap::new();
    let mut deleted_at = BTreeMap::new();
    for view in case.partitions("t") {
        let log = log_of(&case.sim, BrokerId(1), view.topic_partition).expect("it is there");
        for (offset, record) in log.records() {
            let key = record.key.clone().expect("every record has a key");
            if record.is_tombstone() {
                deleted_at.insert(key.clone(), offset.0);
            }
            let stored = sink.get(&key).map_or(-1, |(version, _)| *version);
            if stored < offset.0 {
                sink.insert(key, (offset.0, !record.is_tombstone()));
            }
        }
    }
    for key in ["item-2", "item-7"] {
        let at = deleted_at.get(key).copied();
        assert!(
            at.is_some_and(|at| at < 100),
            "INC-37: {key} is deleted at {at:?}"
        );
        let is_there = sink.get(key).is_some_and(|(_, is_there)| *is_there);
        assert!(is_there, "INC-37: {key} is still found");
    }
    let is_there = sink.get("item-1").is_some_and(|(_, is_there)| *is_there);
    assert!(!is_there, "INC-37: item-1 has not moved, and is deleted");
}
