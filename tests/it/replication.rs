//! Fetch validation, truncation, ISR changes and reading from followers, row by row: facts C1 to C16,
//! D11, E11, E12 and E28 to E32 of the replication spec, and M1.

use std::collections::BTreeMap;
use std::sync::Arc;
use terrarium_core::base::config::{
    BrokerConfig, HistoryConfig, IsolationLevel, ReplicaSelector, TopicConfig,
};
use terrarium_core::base::ids::{
    BrokerId, CorrelationId, NodeId, Offset, RecordId, TopicId, TopicPartition,
};
use terrarium_core::base::timer::Timer;
use terrarium_core::kernel::time::{SimTime, Span};
use terrarium_core::log::partition_log::{LogContext, PartitionLog};
use terrarium_core::node::replica_manager::ReplicaManager;
use terrarium_core::replication::partition::{AlterOutcome, Partition, Surroundings};
use terrarium_core::replication::remote::FollowerFetch;
use terrarium_core::sim::measure::{MeasureKind, Measures, Query};
use terrarium_core::sim::scenario::CONTROLLER;
use terrarium_core::sim::simulation::Sim;
use terrarium_core::trace::out::{Effect, Out, ReplyTo};
use terrarium_core::wire::api::{
    AlterPartitionItem, AlterPartitionResponse, AlterPartitionResult, FetchPartition,
    FetchPartitionResponse, FetchRequest, OffsetForLeaderEpochRequest, Request, Response,
};
use terrarium_core::wire::error_code::ErrorCode;
use terrarium_core::wire::metadata::{MetadataImage, MetadataRecord, PartitionRegistration};
use terrarium_core::wire::record::{Batch, Record};
use terrarium_tests::storyboard::Storyboard;

const LEADER: BrokerId = BrokerId(0);
const F1: BrokerId = BrokerId(1);
const F2: BrokerId = BrokerId(2);
const F3: BrokerId = BrokerId(3);
const RACKS: [(BrokerId, &str); 4] = [(LEADER, "a"), (F1, "a"), (F2, "b"), (F3, "b")];
const TOPIC: TopicId = TopicId(0);
const ID: TopicPartition = TopicPartition::new(TOPIC, 0);

fn batch(base_offset: i64, leader_epoch: i32) -> Batch {
    let record = Record::text(RecordId(1), None, Arc::from("v"), SimTime::ZERO);
    Batch {
        base_offset: Offset(base_offset),
        leader_epoch,
        ..Batch::new(Arc::from([record]))
    }
}

/// A follower's log with these epochs, one record an offset.
fn log(epochs: &[(i32, i64)], end: i64) -> PartitionLog {
    let mut log = PartitionLog::new(0, SimTime::ZERO);
    for offset in 0..end {
        let epoch = epochs.iter().rfind(|(_, start)| *start <= offset);
        let (epoch, _) = epoch.expect("an epoch");
        follow(&mut log, &batch(offset, *epoch));
    }
    log
}

fn follow(log: &mut PartitionLog, batch: &Batch) {
    let around = LogContext {
        config: &TopicConfig::default(),
        now: SimTime::ZERO,
    };
    log.append_as_follower(batch, around).expect("in order");
}

fn registration(isr: &[BrokerId], epochs: (i32, i32)) -> PartitionRegistration {
    PartitionRegistration {
        replicas: vec![LEADER, F1, F2, F3],
        isr: isr.to_vec(),
        leader: Some(LEADER),
        leader_epoch: epochs.0,
        partition_epoch: epochs.1,
        ..PartitionRegistration::default()
    }
}

/// The records of a cluster of four with a topic of three partitions.
fn records(isr: &[BrokerId]) -> Vec<Arc<MetadataRecord>> {
    let mut records = Vec::new();
    for (id, rack) in RACKS {
        records.push(MetadataRecord::RegisterBroker {
            broker_id: id,
            broker_epoch: 2,
            incarnation_id: 1,
            rack: Some(Arc::from(rack)),
        });
        records.push(MetadataRecord::BrokerRegistrationChange {
            broker_id: id,
            broker_epoch: 2,
            fenced: false,
            in_controlled_shutdown: false,
        });
    }
    records.push(MetadataRecord::Topic {
        topic_id: TOPIC,
        name: Arc::from("t"),
        config: Arc::new(TopicConfig::default()),
    });
    records.extend((0..3).map(|partition| change(partition, registration(isr, (5, 1)))));
    records.into_iter().map(Arc::new).collect()
}

fn change(partition: u32, registration: PartitionRegistration) -> MetadataRecord {
    MetadataRecord::Partition {
        topic_partition: TopicPartition::new(TOPIC, partition),
        registration: Arc::new(registration),
    }
}

/// A leader of a partition in epoch 5, partition epoch 1.
struct Leading {
    partition: Partition,
    image: MetadataImage,
}

impl Leading {
    fn new(isr: &[BrokerId], count: i64) -> Self {
        let mut image = MetadataImage::default();
        for record in records(isr) {
            image.replay(&record);
        }
        let partition = Partition::new(ID, log(&[(4, 0)], count));
        let mut leading = Self { partition, image };
        let registered = registration(isr, (5, 1));
        leading.with(|partition, around, out| partition.apply(&registered, around, out));
        leading
    }

    fn with<T>(&mut self, act: impl FnOnce(&mut Partition, Surroundings<'_>, &mut Out) -> T) -> T {
        let around = Surroundings {
            broker: LEADER,
            image: &self.image,
            lag_max: Span::from_millis(30_000),
            history: HistoryConfig::default(),
            now: SimTime::from_millis(1),
        };
        let mut out = Out::new(around.now, Vec::new(), 0);
        act(&mut self.partition, around, &mut out)
    }

    fn fetch(
        &mut self,
        follower: BrokerId,
        offset: i64,
        broker_epoch: i64,
    ) -> Result<bool, ErrorCode> {
        let fetch = FollowerFetch {
            fetch_offset: Offset(offset),
            log_start_offset: Offset(0),
            broker_epoch,
        };
        self.with(|partition, around, _out| partition.on_follower_fetch(follower, fetch, around))
    }
}

#[test]
fn where_logs_part_c1_to_c7() {
    let epochs = [(0, 0), (3, 2), (4, 8), (7, 13), (9, 14)];
    let mut partition = Partition::new(ID, log(&epochs, 17));
    partition.log.begin_epoch(10);
    let at = |epoch, end| Ok(Some((epoch, Offset(end))));
    let rows = [
        ("C1", 5, 2, at(0, 2)),
        ("C2", 4, 0, at(0, 2)),
        ("C3", 6, 6, at(4, 13)),
        ("C4", 9, 5, at(4, 13)),
        ("C5", 18, 10, at(10, 17)),
        ("C6", 2, 0, Ok(None)),
        ("C6", 14, 7, Ok(None)),
        ("C6", 17, 9, Ok(None)),
        ("C6", 17, 10, Ok(None)),
        ("C7", 5, 11, Err(ErrorCode::OffsetOutOfRange)),
    ];
    for (id, offset, epoch, expected) in rows {
        let found = partition.divergence(Offset(offset), epoch);
        assert_eq!(found, expected, "{id}: ({offset}, {epoch})");
    }
}

#[test]
fn where_logs_part_after_a_raised_start_c8_to_c11() {
    let epochs = [(0, 0), (3, 2), (4, 8), (7, 13), (9, 14)];
    let mut partition = Partition::new(ID, log(&epochs, 17));
    partition.log.begin_epoch(10);
    partition.log.update_high_watermark(Offset(17));
    let out_of_range = Err(ErrorCode::OffsetOutOfRange);
    let rows = [
        ("C8", 5, 8, 2, Ok(Some((2, Offset(5))))),
        ("C9", 5, 5, 0, Ok(None)),
        ("C9", 5, 5, 3, Ok(None)),
        ("C10", 5, 0, 0, out_of_range),
        ("C11", 10, 6, 5, out_of_range),
        ("C11", 10, 6, 3, out_of_range),
    ];
    for (id, start, offset, epoch, expected) in rows {
        let raised = partition.log.raise_log_start_offset(Offset(start));
        raised.expect("below the high watermark");
        let found = partition.divergence(Offset(offset), epoch);
        assert_eq!(found, expected, "{id}: start {start}, ({offset}, {epoch})");
    }
}

#[test]
fn a_fetch_that_fails_says_nothing_of_the_follower_c12() {
    let mut broker = Broker::new(ReplicaSelector::Leader, &[LEADER, F1]);
    broker.append(3);
    let known = |broker: &Broker| {
        let partition = &broker.manager.partitions()[&ID];
        partition.leader().expect("it leads").remotes[&F1]
    };
    let before = known(&broker);
    for (offset, last_epoch) in [(9, -1), (1, 9), (2, 4)] {
        let mut fetch = fetch(Some(F1), offset);
        fetch.partitions[0].last_fetched_epoch = last_epoch;
        let answer = broker.fetch(&fetch).expect("an answer at once");
        let has_failed = !answer.error_code.is_none() || answer.diverging_epoch.is_some();
        assert!(has_failed, "C12: {offset} {last_epoch}");
        assert_eq!(known(&broker), before, "C12: {offset} {last_epoch}");
    }
    broker.fetch(&fetch(Some(F1), 1)).expect("records");
    assert_ne!(known(&broker), before, "C12: a good one does");
}

#[test]
fn a_follower_cuts_where_the_leader_says_c14() {
    let mut follower = Partition::new(ID, log(&[(1, 0)], 4));
    let mut out = Out::new(SimTime::ZERO, Vec::new(), 0);
    follower.truncate_to_divergence(1, Offset(2), &mut out);
    let log = &follower.log;
    assert_eq!(
        (log.log_end_offset(), log.epochs().latest_epoch()),
        (Offset(2), 1),
        "C14"
    );
}

/// Fetches from a leader until both logs are the same; gives the last fetched epochs of the rounds.
fn converge(follower: &mut Partition, leader: &Partition) -> Vec<i32> {
    let mut out = Out::new(SimTime::ZERO, Vec::new(), 0);
    let mut epochs = Vec::new();
    for _ in 0..10 {
        let (end, last) = (
            follower.log.log_end_offset(),
            follower.log.epochs().latest_epoch(),
        );
        epochs.push(last);
        match leader.divergence(end, last).expect("within the log") {
            Some((epoch, offset)) => follower.truncate_to_divergence(epoch, offset, &mut out),
            None if end == leader.log.log_end_offset() => return epochs,
            None => {
                let (batches, _) = leader.log.read(end, leader.log.log_end_offset(), 1, true);
                for batch in batches {
                    follow(&mut follower.log, &batch);
                }
            }
        }
    }
    panic!("the logs do not meet: {epochs:?}")
}

#[test]
fn one_round_an_epoch_until_the_logs_meet_c15() {
    let mut follower = Partition::new(ID, log(&[(0, 0), (2, 1), (4, 2)], 3));
    let leader = Partition::new(ID, log(&[(1, 0), (3, 1), (5, 2)], 3));
    let epochs = converge(&mut follower, &leader);
    assert_eq!(epochs, [4, 2, 0, -1, 1, 3, 5], "C15: down, and up again");
    assert_eq!(follower.log.epochs(), leader.log.epochs(), "C15");
}

#[test]
fn the_last_fetched_epoch_falls_and_rises_c16() {
    let mut follower = Partition::new(ID, log(&[(0, 0), (2, 1), (4, 2)], 4));
    let leader = Partition::new(ID, log(&[(0, 0), (2, 1), (5, 2)], 3));
    let epochs = converge(&mut follower, &leader);
    assert_eq!(epochs, [4, 2, 5], "C16");
}

#[test]
fn a_process_that_is_gone_is_not_heard_d11() {
    let mut leading = Leading::new(&[LEADER, F1], 1);
    let heard = leading.fetch(F1, 1, 2);
    assert_eq!(heard, Ok(true), "D11: the registered one is heard");
    let stale = leading.fetch(F1, 1, 1);
    assert_eq!(stale, Err(ErrorCode::NotLeaderOrFollower), "D11");
}

#[test]
fn what_becomes_of_a_refused_isr_e11_e12() {
    let rows = [
        (
            ErrorCode::UnknownTopicOrPartition,
            AlterOutcome::Failed,
            "E11",
        ),
        (ErrorCode::UnknownTopicId, AlterOutcome::Failed, "E11"),
        (ErrorCode::InvalidUpdateVersion, AlterOutcome::Failed, "E11"),
        (ErrorCode::NewLeaderElected, AlterOutcome::Failed, "E11"),
        (ErrorCode::InvalidRequest, AlterOutcome::Failed, "E11"),
        (ErrorCode::UnknownServerError, AlterOutcome::Retry, "E12"),
        (ErrorCode::NotController, AlterOutcome::Retry, "E12"),
    ];
    for (error_code, expected, id) in rows {
        let mut leading = Leading::new(&[LEADER], 10);
        leading.with(|partition, _around, out| partition.request_isr(vec![LEADER, F1], 7, out));
        let result = AlterPartitionResult {
            topic_partition: ID,
            error_code,
            leader: Some(LEADER),
            leader_epoch: 5,
            isr: vec![LEADER],
            partition_epoch: 1,
        };
        let found = leading.with(|partition, _, out| partition.on_alter_partition(7, &result, out));
        assert_eq!(found, expected, "{id}: {error_code}");
        let isr = &leading.partition.leader().expect("it leads").isr;
        assert!(isr.pending.is_some(), "{id}: {error_code} stays pending");
        assert_eq!(isr.maximal_count(), 2, "{id}: {error_code}");
    }
}

/// A broker's replica manager that leads three partitions, and what it sends.
struct Broker {
    manager: ReplicaManager,
    now: SimTime,
    next_correlation: u64,
    altered: Vec<(CorrelationId, Vec<AlterPartitionItem>)>,
    answers: Vec<Response>,
    retry_at: Option<SimTime>,
}

impl Broker {
    fn new(selector: ReplicaSelector, isr: &[BrokerId]) -> Self {
        let config = Arc::new(BrokerConfig {
            replica_selector_class: selector,
            ..BrokerConfig::default()
        });
        let controller = NodeId::Controller(CONTROLLER);
        let mut manager = ReplicaManager::new((LEADER, 1), controller, config, BTreeMap::new());
        manager.set_broker_epoch(2);
        let mut broker = Self {
            manager,
            now: SimTime::ZERO,
            next_correlation: 0,
            altered: Vec::new(),
            answers: Vec::new(),
            retry_at: None,
        };
        broker.replay(&records(isr));
        broker
    }

    fn run<T>(&mut self, act: impl FnOnce(&mut ReplicaManager, &mut Out) -> T) -> T {
        let mut out = Out::new(self.now, Vec::new(), self.next_correlation);
        let result = act(&mut self.manager, &mut out);
        let (effects, next_correlation) = out.into_parts();
        self.next_correlation = next_correlation;
        for effect in effects {
            match effect {
                Effect::Request {
                    correlation,
                    body: Request::AlterPartition(body),
                    ..
                } => self.altered.push((correlation, body.partitions)),
                Effect::Response { body, .. } => self.answers.push(body),
                Effect::Arm(Timer::AlterPartitionRetry, at) => self.retry_at = Some(at),
                _ => {}
            }
        }
        result
    }

    fn replay(&mut self, records: &[Arc<MetadataRecord>]) {
        self.run(|manager, out| {
            manager.on_metadata(records, out);
        });
    }

    fn append(&mut self, count: i64) {
        for _ in 0..count {
            let acks = terrarium_core::base::config::Acks::Leader;
            self.run(|manager, out| manager.append(ID, batch(0, 0), acks, out))
                .expect("it leads");
        }
    }

    /// The answer to a fetch of one partition, if it comes at once.
    fn fetch(&mut self, request: &FetchRequest) -> Option<FetchPartitionResponse> {
        self.answers.clear();
        let reply = ReplyTo {
            node: NodeId::Broker(F1),
            correlation: CorrelationId(self.now.0 + 100),
        };
        self.run(|manager, out| manager.handle_fetch(reply, request, out));
        match self.answers.pop() {
            Some(Response::Fetch(mut body)) => body.partitions.pop(),
            Some(other) => panic!("{other:?}"),
            None => None,
        }
    }

    /// A follower reaches the end of a partition.
    fn catch_up(&mut self, partition: u32) {
        let mut request = fetch(Some(F1), 0);
        let wanted = request.partitions.first_mut().expect("one");
        wanted.topic_partition = TopicPartition::new(TOPIC, partition);
        self.fetch(&request);
    }

    fn take_altered(&mut self) -> Vec<(CorrelationId, Vec<u32>)> {
        let altered = std::mem::take(&mut self.altered);
        let numbers = |items: Vec<AlterPartitionItem>| {
            items
                .iter()
                .map(|one| one.topic_partition.partition)
                .collect()
        };
        altered
            .into_iter()
            .map(|(id, items)| (id, numbers(items)))
            .collect()
    }

    fn answer(&mut self, correlation: CorrelationId, error_code: ErrorCode, partitions: &[u32]) {
        let confirmed = |partition: &u32| AlterPartitionResult {
            topic_partition: TopicPartition::new(TOPIC, *partition),
            error_code: ErrorCode::None,
            leader: Some(LEADER),
            leader_epoch: 5,
            isr: vec![LEADER, F1],
            partition_epoch: 2,
        };
        let response = Response::AlterPartition(AlterPartitionResponse {
            error_code,
            partitions: partitions.iter().map(confirmed).collect(),
        });
        self.run(|manager, out| manager.on_response(correlation, &response, out));
    }
}

fn fetch(replica_id: Option<BrokerId>, offset: i64) -> FetchRequest {
    FetchRequest {
        replica_id,
        replica_epoch: if replica_id.is_some() { 2 } else { -1 },
        max_wait_ms: 500,
        min_bytes: 1,
        max_bytes: 1_000_000,
        isolation_level: IsolationLevel::ReadUncommitted,
        rack_id: None,
        partitions: vec![FetchPartition {
            topic_partition: ID,
            fetch_offset: Offset(offset),
            log_start_offset: Offset(0),
            current_leader_epoch: 5,
            last_fetched_epoch: -1,
            partition_max_bytes: 1_000_000,
        }],
    }
}

#[test]
fn one_request_in_flight_carries_what_gathered_meanwhile_e28() {
    let mut broker = Broker::new(ReplicaSelector::Leader, &[LEADER]);
    broker.catch_up(0);
    let first = broker.take_altered();
    assert_eq!(first.len(), 1, "E28: A is asked for");
    assert_eq!(first[0].1, [0], "E28: A is asked for");
    broker.catch_up(1);
    broker.catch_up(2);
    assert!(broker.take_altered().is_empty(), "E28: B and C wait for A");
    broker.answer(first[0].0, ErrorCode::None, &[0]);
    let second = broker.take_altered();
    assert_eq!(second.len(), 1, "E28: one request");
    assert_eq!(second[0].1, [1, 2], "E28: B and C together");
    assert_eq!(
        broker.manager.meters().isr_expands,
        1,
        "it is counted when confirmed"
    );
}

#[test]
fn a_stale_epoch_is_tried_again_after_50_ms_e29() {
    let mut broker = Broker::new(ReplicaSelector::Leader, &[LEADER]);
    broker.catch_up(0);
    let first = broker.take_altered();
    broker.now = SimTime::from_millis(10);
    broker.answer(first[0].0, ErrorCode::StaleBrokerEpoch, &[]);
    assert!(broker.take_altered().is_empty(), "E29: not at once");
    assert_eq!(broker.retry_at, Some(SimTime::from_millis(60)), "E29");
    broker.now = SimTime::from_millis(60);
    broker.run(|manager, out| manager.on_timer(&Timer::AlterPartitionRetry, out));
    let again = broker.take_altered();
    assert_eq!(again.len(), 1, "E29");
    assert_eq!(again[0].1, first[0].1, "E29: the same request");
}

#[test]
fn a_second_change_is_not_even_sent_m1_m2() {
    let mut broker = Broker::new(ReplicaSelector::Leader, &[LEADER]);
    broker.catch_up(0);
    let first = broker.take_altered();
    // Metadata replace what is pending; the follower asks to come in again before the answer.
    broker.replay(&[Arc::new(change(0, registration(&[LEADER], (5, 3))))]);
    broker.catch_up(0);
    assert!(broker.take_altered().is_empty(), "M1: it is refused here");
    let isr = |broker: &Broker| {
        broker.manager.partitions()[&ID]
            .leader()
            .expect("leads")
            .isr
            .clone()
    };
    assert!(isr(&broker).pending.is_none(), "M1: and taken back");
    assert_eq!(broker.manager.meters().failed_isr_updates, 1, "M1");
    broker.answer(first[0].0, ErrorCode::None, &[0]);
    assert_eq!(
        isr(&broker).committed,
        [LEADER],
        "M2: the answer has no effect"
    );
    assert_eq!(
        broker.manager.meters().isr_expands,
        0,
        "M2: and is not counted"
    );
    broker.catch_up(0);
    assert_eq!(broker.take_altered().len(), 1, "M1: now it is asked for");
}

#[test]
fn the_replica_of_the_same_rack_that_has_most_e30_e31() {
    let all = [LEADER, F1, F2, F3];
    let choose = |isr: &[BrokerId], rack: &str, ends: [i64; 3], offset: i64| {
        let mut leading = Leading::new(isr, 4);
        for (follower, end) in [F1, F2, F3].into_iter().zip(ends) {
            leading.fetch(follower, end, 2).expect("heard");
        }
        leading.with(|partition, around, _out| {
            partition.preferred_read_replica(rack, Offset(offset), around)
        })
    };
    assert_eq!(choose(&all, "b", [2, 3, 4], 0), Some(F3), "E30: rack b");
    assert_eq!(
        choose(&all, "c", [2, 3, 4], 0),
        None,
        "E30: no rack matches: the leader"
    );
    assert_eq!(
        choose(&all, "a", [2, 3, 4], 0),
        None,
        "E30: rack a: the leader itself"
    );
    assert_eq!(
        choose(&all, "b", [2, 4, 3], 0),
        Some(F2),
        "E30: the greatest end"
    );
    assert_eq!(
        choose(&all, "b", [2, 4, 4], 0),
        Some(F3),
        "E30: then the greatest id"
    );
    assert_eq!(
        choose(&all, "b", [2, 2, 3], 4),
        None,
        "E30: nobody has offset 4"
    );
    assert_eq!(
        choose(&[LEADER, F1], "b", [2, 3, 4], 0),
        None,
        "E31: nobody in the ISR"
    );
    assert_eq!(
        choose(&[LEADER, F2], "b", [2, 3, 4], 0),
        Some(F2),
        "E31: F3 is not in it"
    );
}

#[test]
fn a_preferred_replica_is_told_at_once_e32() {
    let mut broker = Broker::new(ReplicaSelector::RackAware, &[LEADER, F2]);
    broker.fetch(&fetch(Some(F2), 0));
    let mut request = fetch(None, 0);
    assert_eq!(broker.fetch(&request), None, "without a rack it waits");
    request.rack_id = Some(Arc::from("b"));
    let answer = broker.fetch(&request).expect("E32: at once");
    assert_eq!(answer.preferred_read_replica, Some(F2), "E32");
    assert!(
        answer.batches.is_empty() && answer.error_code.is_none(),
        "E32: no records"
    );
    request.rack_id = Some(Arc::from("a"));
    assert_eq!(
        broker.fetch(&request),
        None,
        "E32: the leader is as near: it waits"
    );
}

#[test]
fn the_end_of_an_epoch_for_clients_w1() {
    let mut broker = Broker::new(ReplicaSelector::Leader, &[LEADER]);
    broker.append(3);
    let mut ask = |current: i32, epoch: i32| {
        let request = OffsetForLeaderEpochRequest {
            partitions: vec![(ID, current, epoch)],
        };
        let reply = ReplyTo {
            node: NodeId::Broker(F1),
            correlation: CorrelationId(1),
        };
        broker.run(|manager, out| manager.handle_offset_for_leader_epoch(reply, &request, out));
        match broker.answers.pop() {
            Some(Response::OffsetForLeaderEpoch(body)) => body.partitions[0],
            other => panic!("{other:?}"),
        }
    };
    assert_eq!(
        ask(5, 5),
        (ID, ErrorCode::None, 5, Offset(3)),
        "W1: the present epoch"
    );
    assert_eq!(
        ask(5, 6),
        (ID, ErrorCode::None, -1, Offset(-1)),
        "W1: an epoch to come"
    );
    assert_eq!(ask(4, 5).1, ErrorCode::FencedLeaderEpoch, "W1");
    assert_eq!(ask(6, 5).1, ErrorCode::UnknownLeaderEpoch, "W1");
}

/// What the metrics say of `foo-0`: the lag of the furthest follower, and the size of the ISR.
fn by_metrics(sim: &Sim) -> (i64, i64) {
    let samples = sim.metrics();
    let of = |name: &str| -> Vec<(NodeId, i64)> {
        let wanted = samples.iter().filter(|one| {
            let topic = one.topic_partition.map(|id| sim.topic_name(id.topic));
            one.jmx.ends_with(name) && topic == Some("foo")
        });
        wanted.map(|one| (one.node, one.value)).collect()
    };
    let isr = of("name=InSyncReplicasCount");
    let ends = of("name=LogEndOffset");
    let leader = isr.first().map(|(node, _)| *node);
    let end = ends.iter().find(|(node, _)| Some(*node) == leader);
    let least = ends.iter().map(|(_, end)| *end).min();
    let lag = end.zip(least).map_or(0, |((_, end), least)| end - least);
    (lag, isr.first().map_or(0, |(_, size)| *size))
}

/// The same as the inspector has it.
fn by_inspector(sim: &Sim) -> (i64, i64) {
    let stage = sim.stage();
    let held = stage.brokers.iter().flat_map(|broker| &broker.replicas);
    let replicas: Vec<_> = held
        .filter(|one| sim.topic_name(one.topic_partition.topic) == "foo")
        .collect();
    let leader = replicas.iter().find(|one| one.is_leader);
    let least = replicas.iter().map(|one| one.log_end_offset.0).min();
    let lag = leader
        .zip(least)
        .map_or(0, |(leader, least)| leader.log_end_offset.0 - least);
    let isr = leader.map_or(0, |leader| i64::try_from(leader.isr.len()).expect("few"));
    (lag, isr)
}

#[test]
fn metrics_inspector_and_plot_agree_shows_6() {
    let board = Storyboard::parse(
        "cluster brokers=3 replica.lag.time.max.ms=2000\n\
         topic foo assign=1,2,3\n\
         producer p1 topic=foo every=50ms start=3s records=300 acks=1\n\
         5s slow-follower 3 700ms\n\
         8s slow-follower 3 4s\n\
         14s slow-follower 3 0s\n",
    )
    .expect("it can be read");
    let mut actions = board.actions().into_iter().peekable();
    let mut sim = Sim::new(board.scenario.clone()).expect("it can be run");
    let mut measures = Measures::new(&board.scenario);
    measures.name_topic("foo", TopicId(0));
    let (mut cursor, mut largest, mut smallest) = (0, 0, 3);
    for step in 0..200 {
        let now = SimTime::from_millis(step * 100);
        while let Some((at, command)) = actions.next_if(|(at, _)| *at <= now) {
            sim.run_until(at);
            sim.apply(command).expect("it is possible");
        }
        sim.run_until(now);
        for entry in sim.trace().since(cursor) {
            measures.observe(entry);
        }
        cursor = sim.trace().next_index();
        let query = Query {
            topic: Some(Arc::from("foo")),
            ..Query::all(MeasureKind::ReplicaLag)
        };
        let plotted = measures.value_at(&query, now);
        let (lag, isr) = by_metrics(&sim);
        assert_eq!((lag, isr), by_inspector(&sim), "shows 6: at {now}");
        assert_eq!(lag, plotted, "shows 6: at {now}");
        largest = largest.max(lag);
        if 3 <= now.as_millis() / 1_000 {
            smallest = smallest.min(isr);
        }
        let under = sim.metrics().into_iter().find(|one| {
            one.jmx.ends_with("name=UnderReplicatedPartitions") && one.node == NodeId::Broker(F1)
        });
        let is_small = i64::from(0 < isr && isr < 3);
        let expected = by_others(&sim) + is_small;
        assert_eq!(
            under.map_or(0, |one| one.value),
            expected,
            "shows 6: at {now}"
        );
    }
    assert!(20 < largest, "the follower was slow: {largest}");
    assert_eq!(smallest, 2, "it left the ISR");
    assert_eq!(by_metrics(&sim), (0, 3), "and came back");
}

/// Partitions of other topics that broker 1 leads and that are under-replicated.
fn by_others(sim: &Sim) -> i64 {
    let samples = sim.metrics();
    let of_others = samples.iter().filter(|one| {
        let topic = one.topic_partition.map(|id| sim.topic_name(id.topic));
        one.jmx.ends_with("name=UnderReplicated")
            && one.node == NodeId::Broker(F1)
            && topic != Some("foo")
    });
    of_others.map(|one| one.value).sum()
}

#[test]
fn alarms_tell_what_is_wrong() {
    let board = Storyboard::parse(
        "cluster brokers=3 replica.lag.time.max.ms=1000\n\
         topic foo assign=1,2,3 min.insync.replicas=3\n\
         producer p1 topic=foo every=100ms start=3s request.timeout.ms=1500\n\
         5s kill-broker 3\n\
         20s kill-broker 2\n\
         20s kill-broker 1\n",
    )
    .expect("it can be read");
    let mut sim = Sim::new(board.scenario.clone()).expect("it can be run");
    let named = |sim: &Sim| -> Vec<String> {
        let alarms = sim.alarms();
        let names = alarms.iter().filter_map(|one| one.jmx.rsplit_once("name="));
        names.map(|(_, name)| name.to_owned()).collect()
    };
    sim.run_until(SimTime::from_millis(4_000));
    assert!(named(&sim).is_empty(), "all is well: {:?}", named(&sim));
    let mut actions = board.actions().into_iter();
    let (at, command) = actions.next().expect("the first");
    sim.run_until(at);
    sim.apply(command).expect("it is possible");
    sim.run_until(SimTime::from_millis(8_000));
    let found = named(&sim);
    for name in [
        "UnderReplicatedPartitions",
        "UnderMinIsrPartitionCount",
        "IsrShrinksPerSec",
        "FailedProduceRequestsPerSec",
    ] {
        assert!(found.iter().any(|one| one == name), "{name} in {found:?}");
    }
    for (at, command) in actions {
        sim.run_until(at);
        sim.apply(command).expect("it is possible");
    }
    sim.run_until(SimTime::from_millis(40_000));
    let found = named(&sim);
    assert!(
        found.iter().any(|one| one == "OfflinePartitionsCount"),
        "nobody leads: {found:?}"
    );
}
