//! Incidents from the field, small enough to run: what was reported, and what the same cluster does
//! here. Brokers are numbered from 1.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use terrarium_core::base::ids::{BrokerId, RecordId, TopicPartition};
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
struct Case {
    sim: Sim,
    /// What is still to be done, the latest first.
    actions: Vec<(SimTime, Command)>,
}

impl Case {
    fn new(text: &str) -> Self {
        let board = Storyboard::parse(text).expect("a storyboard");
        let mut actions = board.actions();
        actions.reverse();
        let sim = Sim::new(board.scenario.clone()).expect("a scenario that can be run");
        Self { sim, actions }
    }

    /// Runs until `seconds`, with everything that is to be done up to then.
    fn run_to(&mut self, seconds: i64) {
        self.run_to_ms(seconds * 1_000);
    }

    fn run_to_ms(&mut self, millis: i64) {
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

    fn partition(&self, topic: &str, number: usize) -> PartitionView {
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

    fn events(&self, from_s: u64, to_s: u64) -> impl Iterator<Item = &TraceEntry> {
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

/// All brokers stop hard and one of them loses the unflushed end of its log; it is the one that is
/// left in the ISR, so it leads, cleanly. Leader epochs make the longer logs follow it; before 0.11
/// they parted for ever.
#[test]
fn inc_21_the_shortest_log_leads_after_a_blackout() {
    let mut case = Case::new(
        "cluster brokers=3 jitter=0ms\n\
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
    );
    case.run_to_ms(9_900);
    let id = case.partition("t", 0).topic_partition;
    assert_eq!(
        case.partition("t", 0).isr,
        ids(&[1, 2, 3]),
        "INC-21: before the outage"
    );
    let before = case.log(3, id);
    assert_eq!(before.len(), 103, "INC-21: written with acks=1");
    case.run_to_ms(12_200);
    let ends = [1, 2, 3].map(|broker| case.log(broker, id).len());
    assert_eq!(
        ends,
        [100, 103, 103],
        "INC-21: broker 1 lost what was not flushed"
    );
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

/// Bursts that the followers work off for two seconds: the rule of time never counts them out, the
/// rule of messages (until 0.8) did. A follower that stands still leaves once and comes back once.
#[test]
fn inc_22_bursts_shrink_no_isr() {
    let mut text = String::from(
        "cluster brokers=3 jitter=0ms replica.fetch.max.bytes=10000\n\
         topic t assign=1,2,3;2,1,3;1,2,3\n\
         link 1 2 latency=40ms\nlink 1 3 latency=40ms\nlink 2 3 latency=40ms\n\
         120s cut-link 3 1\n120s cut-link 3 2\n180s heal-link 3 1\n180s heal-link 3 2\n",
    );
    for second in (5..240).step_by(5) {
        for partition in 0..3 {
            let _ = writeln!(
                text,
                "producer p{partition}at{second} topic=t partition={partition} start={second}s \
                 every=1ms records=200 bytes=1000 acks=1 linger.ms=0"
            );
        }
    }
    let mut case = Case::new(&text);
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
