//! Decisions of a leader and of a follower's fetcher, row by row: the facts C13 to C19 and E1 to E28
//! of the replication spec that one broker decides by itself.

use std::collections::BTreeMap;
use std::sync::Arc;
use terrarium_core::base::config::{
    Acks, BrokerConfig, HistoryConfig, IsolationLevel, TopicConfig,
};
use terrarium_core::base::ids::{
    BrokerId, CorrelationId, NodeId, Offset, RecordId, TopicId, TopicPartition,
};
use terrarium_core::kernel::time::{SimTime, Span};
use terrarium_core::log::partition_log::{LogContext, PartitionLog};
use terrarium_core::node::replica_manager::ReplicaManager;
use terrarium_core::replication::partition::{AlterOutcome, Partition, Surroundings};
use terrarium_core::replication::remote::FollowerFetch;
use terrarium_core::sim::scenario::CONTROLLER;
use terrarium_core::trace::out::{Effect, Out, ReplyTo};
use terrarium_core::wire::api::{
    AlterPartitionResult, FetchPartition, FetchPartitionResponse, FetchRequest, FetchResponse,
    ListOffsetsPartitionResponse, ListOffsetsRequest, OffsetQuery, ProduceRequest, Request,
    Response,
};
use terrarium_core::wire::error_code::ErrorCode;
use terrarium_core::wire::metadata::{MetadataImage, MetadataRecord, PartitionRegistration};
use terrarium_core::wire::record::{Batch, Record};

const LEADER: BrokerId = BrokerId(1);
const F1: BrokerId = BrokerId(2);
const F2: BrokerId = BrokerId(3);
const ID: TopicPartition = TopicPartition::new(TopicId(0), 0);
const LAG_MS: u64 = 30_000;

fn batch(count: u64) -> Batch {
    let records: Arc<[Record]> = (0..count)
        .map(|id| Record::text(RecordId(id), None, Arc::from("v"), SimTime::ZERO))
        .collect();
    Batch {
        base_offset: Offset(0),
        leader_epoch: 0,
        ..Batch::new(records)
    }
}

fn registration(isr: &[BrokerId], leader: BrokerId, epochs: (i32, i32)) -> PartitionRegistration {
    PartitionRegistration {
        replicas: vec![LEADER, F1, F2],
        isr: isr.to_vec(),
        leader: Some(leader),
        leader_epoch: epochs.0,
        partition_epoch: epochs.1,
        ..PartitionRegistration::default()
    }
}

/// The records that make a cluster of three with one partition.
fn records(min_isr: i64, registration: PartitionRegistration) -> Vec<Arc<MetadataRecord>> {
    let mut records = Vec::new();
    for id in [LEADER, F1, F2] {
        let broker_epoch = i64::from(id.0);
        records.push(MetadataRecord::RegisterBroker {
            broker_id: id,
            broker_epoch,
            incarnation_id: 1,
            rack: None,
        });
        records.push(fencing(id, false));
    }
    records.push(MetadataRecord::Topic {
        topic_id: ID.topic,
        name: Arc::from("t"),
        config: Arc::new(TopicConfig {
            min_insync_replicas: min_isr,
            ..TopicConfig::default()
        }),
    });
    records.push(partition_record(registration));
    records.into_iter().map(Arc::new).collect()
}

fn partition_record(registration: PartitionRegistration) -> MetadataRecord {
    MetadataRecord::Partition {
        topic_partition: ID,
        registration: Arc::new(registration),
    }
}

const fn fencing(id: BrokerId, fenced: bool) -> MetadataRecord {
    MetadataRecord::BrokerRegistrationChange {
        broker_id: id,
        broker_epoch: id.0 as i64,
        fenced,
        in_controlled_shutdown: false,
    }
}

/// A leader with a log of ten records, epoch 5, partition epoch 1.
#[derive(Clone)]
struct Leading {
    partition: Partition,
    image: MetadataImage,
    now: SimTime,
    change_id: u64,
}

impl Leading {
    fn new(isr: &[BrokerId], min_isr: i64) -> Self {
        let mut image = MetadataImage::default();
        for record in records(min_isr, registration(isr, LEADER, (5, 1))) {
            image.replay(&record);
        }
        let mut leading = Self {
            partition: Partition::new(ID, PartitionLog::new(0, SimTime::ZERO)),
            image,
            now: SimTime::ZERO,
            change_id: 0,
        };
        leading.apply(&registration(isr, LEADER, (5, 1)));
        leading.append(10);
        leading
    }

    fn with<T>(&mut self, act: impl FnOnce(&mut Partition, Surroundings<'_>, &mut Out) -> T) -> T {
        let mut out = Out::new(self.now, Vec::new(), 0);
        let around = Surroundings {
            broker: LEADER,
            image: &self.image,
            lag_max: Span::from_millis(30_000),
            history: HistoryConfig::default(),
            now: self.now,
        };
        act(&mut self.partition, around, &mut out)
    }

    fn apply(&mut self, registration: &PartitionRegistration) -> bool {
        self.with(|partition, around, out| partition.apply(registration, around, out))
    }

    fn append(&mut self, count: u64) {
        let epoch = self.partition.leader_epoch;
        let around = LogContext {
            config: &TopicConfig::default(),
            now: self.now,
        };
        let log = &mut self.partition.log;
        log.append_as_leader(batch(count), epoch, around);
        self.raise();
    }

    fn raise(&mut self) -> i64 {
        self.with(|partition, around, out| {
            partition.maybe_increment_high_watermark(around, out);
        });
        self.high_watermark()
    }

    /// A fetch by `follower`; the ISR that the leader wants after it, if another one.
    fn fetch(&mut self, follower: BrokerId, offset: i64) -> Option<Vec<BrokerId>> {
        let fetch = FollowerFetch {
            fetch_offset: Offset(offset),
            log_start_offset: Offset(0),
            broker_epoch: i64::from(follower.0),
        };
        let wanted = self.with(|partition, around, _| {
            let served = partition.on_follower_fetch(follower, fetch, around);
            served.expect("the follower is known");
            partition.expanded_isr(follower, around)
        });
        if let Some(wanted) = &wanted {
            self.ask(wanted.clone());
        }
        self.raise();
        wanted
    }

    /// The check for followers that lag; the ISR that the leader wants, if another one.
    fn check(&mut self) -> Option<Vec<BrokerId>> {
        let wanted = self.with(|partition, around, _| partition.shrunken_isr(around));
        let (kept, _) = wanted?;
        self.ask(kept.clone());
        Some(kept)
    }

    fn ask(&mut self, wanted: Vec<BrokerId>) {
        self.change_id += 1;
        let change_id = self.change_id;
        self.with(|partition, _, out| partition.request_isr(wanted, change_id, out));
    }

    fn answer(&mut self, error_code: ErrorCode, isr: &[BrokerId]) -> AlterOutcome {
        let result = AlterPartitionResult {
            topic_partition: ID,
            error_code,
            leader: Some(LEADER),
            leader_epoch: 5,
            isr: isr.to_vec(),
            partition_epoch: 2,
        };
        let change_id = self.change_id;
        let outcome =
            self.with(|partition, _, out| partition.on_alter_partition(change_id, &result, out));
        self.raise();
        outcome
    }

    fn high_watermark(&self) -> i64 {
        self.partition.log.high_watermark().0
    }

    fn isr(&self) -> Vec<BrokerId> {
        self.partition
            .leader()
            .expect("it leads")
            .isr
            .committed
            .clone()
    }

    fn is_pending(&self) -> bool {
        self.partition
            .leader()
            .expect("it leads")
            .isr
            .pending
            .is_some()
    }

    fn maximal(&self) -> u32 {
        self.partition
            .leader()
            .expect("it leads")
            .isr
            .maximal_count()
    }
}

#[test]
fn a_shrink_frees_nothing_before_it_is_confirmed_e1_e2_e5() {
    let mut one = Leading::new(&[LEADER, F1, F2], 1);
    one.fetch(F1, 10);
    one.now = SimTime::from_millis(LAG_MS + 1);
    assert_eq!(one.check(), Some(vec![LEADER, F1]), "E1");
    assert_eq!(
        (one.isr().len(), one.maximal(), one.high_watermark()),
        (3, 3, 0),
        "E1"
    );
    let mut refused = one.clone();
    assert_eq!(
        one.answer(ErrorCode::None, &[LEADER, F1]),
        AlterOutcome::Committed(false),
        "E2"
    );
    assert_eq!(
        (one.isr(), one.high_watermark()),
        (vec![LEADER, F1], 10),
        "E2"
    );
    assert_eq!(one.partition.partition_epoch, 2, "E2");
    assert_eq!(
        refused.answer(ErrorCode::InvalidUpdateVersion, &[]),
        AlterOutcome::Failed,
        "E5"
    );
    assert_eq!(
        (
            refused.is_pending(),
            refused.maximal(),
            refused.high_watermark()
        ),
        (true, 3, 0),
        "E5"
    );
    assert_eq!(
        refused.check(),
        None,
        "E5: nothing more while it is pending"
    );
}

#[test]
fn who_has_everything_or_had_it_lately_stays_e3_e4() {
    let mut one = Leading::new(&[LEADER, F1], 1);
    one.fetch(F1, 10);
    one.now = SimTime::from_millis(10 * LAG_MS);
    assert_eq!(one.check(), None, "E3: it has everything");
    let mut two = Leading::new(&[LEADER, F1], 1);
    two.now = SimTime::from_millis(5_000);
    two.fetch(F1, 5);
    two.append(5);
    two.now = SimTime::from_millis(15_000);
    two.fetch(F1, 10);
    two.now = SimTime::from_millis(34_999);
    assert_eq!(
        two.check(),
        None,
        "E4: its fetch before reached what was there then"
    );
    two.now = SimTime::from_millis(35_001);
    assert_eq!(two.check(), Some(vec![LEADER]), "E4: but not for ever");
}

#[test]
fn an_expansion_counts_at_once_and_is_confirmed_later_e6_to_e10() {
    let asked = || {
        let mut one = Leading::new(&[LEADER], 1);
        assert_eq!(one.high_watermark(), 10, "alone it has everything");
        assert_eq!(one.fetch(F1, 3), None, "E6");
        assert_eq!(one.fetch(F1, 10), Some(vec![LEADER, F1]), "E7");
        assert_eq!((one.isr(), one.maximal()), (vec![LEADER], 2), "E7");
        one
    };
    let mut accepted = asked();
    accepted.answer(ErrorCode::None, &[LEADER, F1]);
    assert_eq!(
        (accepted.isr(), accepted.is_pending()),
        (vec![LEADER, F1], false),
        "E8"
    );
    for error_code in [
        ErrorCode::UnknownTopicOrPartition,
        ErrorCode::InvalidUpdateVersion,
        ErrorCode::NewLeaderElected,
        ErrorCode::InvalidRequest,
        ErrorCode::FencedLeaderEpoch,
    ] {
        let mut refused = asked();
        assert_eq!(
            refused.answer(error_code, &[]),
            AlterOutcome::Failed,
            "E9, E11: {error_code}"
        );
        assert_eq!(
            (refused.isr(), refused.is_pending()),
            (vec![LEADER], true),
            "E9, E11"
        );
    }
    for error_code in [
        ErrorCode::IneligibleReplica,
        ErrorCode::OperationNotAttempted,
    ] {
        let mut refused = asked();
        refused.answer(error_code, &[]);
        assert_eq!(
            (refused.isr(), refused.is_pending()),
            (vec![LEADER], false),
            "E10: {error_code}"
        );
    }
    let mut unlucky = asked();
    assert_eq!(
        unlucky.answer(ErrorCode::NotController, &[]),
        AlterOutcome::Retry,
        "E12"
    );
}

#[test]
fn nobody_joins_with_what_earlier_epochs_left_e13() {
    let mut one = Leading::new(&[LEADER, F1, F2], 1);
    one.apply(&registration(&[LEADER], LEADER, (6, 2)));
    let start = one.partition.leader().expect("it leads").epoch_start_offset;
    assert_eq!(start, Offset(10), "the epoch begins at the end of the log");
    assert_eq!(one.fetch(F1, 9), None, "E13: before the epoch's start");
    assert_eq!(one.fetch(F1, 10), Some(vec![LEADER, F1]), "E13");
}

#[test]
fn the_fenced_and_the_stale_do_not_join_e14() {
    let mut fenced = Leading::new(&[LEADER], 1);
    fenced.image.replay(&fencing(F1, true));
    assert_eq!(fenced.fetch(F1, 10), None, "E14: fenced");
    let mut stale = Leading::new(&[LEADER], 1);
    stale.image.replay(&MetadataRecord::RegisterBroker {
        broker_id: F1,
        broker_epoch: 99,
        incarnation_id: 2,
        rack: None,
    });
    stale
        .image
        .replay(&MetadataRecord::BrokerRegistrationChange {
            broker_id: F1,
            broker_epoch: 99,
            fenced: false,
            in_controlled_shutdown: false,
        });
    let fetch = FollowerFetch {
        fetch_offset: Offset(10),
        log_start_offset: Offset(0),
        broker_epoch: i64::from(F1.0),
    };
    let answer = stale.with(|partition, around, _| partition.on_follower_fetch(F1, fetch, around));
    assert_eq!(
        answer,
        Err(ErrorCode::NotLeaderOrFollower),
        "E14: a process that is gone"
    );
}

#[test]
fn the_high_watermark_waits_for_who_is_about_to_return_e15() {
    for (is_fenced, expected) in [(false, 10), (true, 20)] {
        let mut one = Leading::new(&[LEADER], 1);
        one.fetch(F1, 10);
        one.answer(ErrorCode::IneligibleReplica, &[]);
        one.image.replay(&fencing(F1, is_fenced));
        one.append(10);
        assert_eq!(one.high_watermark(), expected, "E15: fenced {is_fenced}");
    }
}

#[test]
fn the_high_watermark_is_frozen_below_min_isr_e16_e17_e20() {
    let mut one = Leading::new(&[LEADER, F1], 3);
    one.fetch(F1, 10);
    assert_eq!(one.fetch(F2, 10), Some(vec![LEADER, F1, F2]), "E16");
    assert_eq!((one.maximal(), one.high_watermark()), (3, 0), "E16, E20");
    one.answer(ErrorCode::None, &[LEADER, F1, F2]);
    assert_eq!(one.high_watermark(), 10, "E17");
}

#[test]
fn metadata_replace_what_is_in_flight_e18_e28b_e28c() {
    let mut one = Leading::new(&[LEADER], 1);
    one.fetch(F1, 10);
    let remotes = one.partition.leader().expect("it leads").remotes.clone();
    assert!(
        !one.apply(&registration(&[LEADER, F2], LEADER, (5, 3))),
        "E28b: no new epoch"
    );
    assert_eq!(
        (one.isr(), one.is_pending()),
        (vec![LEADER, F2], false),
        "E18"
    );
    let after = one.partition.leader().expect("it leads");
    assert_eq!(
        (&after.remotes, after.epoch_start_offset),
        (&remotes, Offset(0)),
        "E28b"
    );
    one.answer(ErrorCode::None, &[LEADER, F1]);
    assert_eq!(one.isr(), [LEADER, F2], "E18: the answer comes too late");
    assert!(
        !one.apply(&registration(&[LEADER], LEADER, (6, 2))),
        "E28c: older metadata"
    );
    assert_eq!(
        (one.isr(), one.partition.leader_epoch),
        (vec![LEADER, F2], 5),
        "E28c"
    );
}

#[test]
fn requests_of_another_epoch_are_refused_c13() {
    let one = Leading::new(&[LEADER], 1);
    assert_eq!(
        one.partition.check_leader_epoch(4),
        Err(ErrorCode::FencedLeaderEpoch),
        "C13"
    );
    assert_eq!(
        one.partition.check_leader_epoch(6),
        Err(ErrorCode::UnknownLeaderEpoch),
        "C13"
    );
    assert_eq!(one.partition.check_leader_epoch(5), Ok(()), "C13");
    assert_eq!(
        one.partition.check_leader_epoch(-1),
        Ok(()),
        "none is given"
    );
}

/// A broker's replica manager, and what it sends.
struct Broker {
    manager: ReplicaManager,
    now: SimTime,
    next_correlation: u64,
    sent: Vec<(CorrelationId, Request)>,
    answers: Vec<(CorrelationId, Response)>,
}

impl Broker {
    fn new(id: BrokerId) -> Self {
        let config = Arc::new(BrokerConfig::default());
        let controller = NodeId::Controller(CONTROLLER);
        let mut manager = ReplicaManager::new((id, 1), controller, config, BTreeMap::new());
        manager.set_broker_epoch(i64::from(id.0));
        Self {
            manager,
            now: SimTime::ZERO,
            next_correlation: 0,
            sent: Vec::new(),
            answers: Vec::new(),
        }
    }

    fn run<T>(&mut self, act: impl FnOnce(&mut ReplicaManager, &mut Out) -> T) -> T {
        let mut out = Out::new(self.now, Vec::new(), self.next_correlation);
        let result = act(&mut self.manager, &mut out);
        let (effects, next_correlation) = out.into_parts();
        self.next_correlation = next_correlation;
        for effect in effects {
            match effect {
                Effect::Request {
                    correlation, body, ..
                } => self.sent.push((correlation, body)),
                Effect::Response { reply, body } => self.answers.push((reply.correlation, body)),
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

    fn change(&mut self, registration: PartitionRegistration) {
        self.replay(&[Arc::new(partition_record(registration))]);
    }

    fn produce(&mut self, correlation: u64, acks: Acks) {
        let request = ProduceRequest {
            acks,
            timeout_ms: 30_000,
            transactional_id: None,
            retried: Vec::new(),
            batches: vec![(ID, batch(1))],
        };
        self.run(|manager, out| manager.handle_produce(client(correlation), &request, out));
    }

    fn produced(&self, correlation: u64) -> Option<ErrorCode> {
        self.answers
            .iter()
            .find(|(id, _)| *id == CorrelationId(correlation))
            .map(|(_, body)| match body {
                Response::Produce(body) => body.partitions.first().expect("one").error_code,
                other => panic!("{other:?}"),
            })
    }

    /// The fetch in flight: its correlation, offset and leader epoch.
    fn fetching(&mut self) -> Option<(CorrelationId, i64, i32)> {
        self.sent
            .drain(..)
            .find_map(|(correlation, body)| match body {
                Request::Fetch(fetch) => {
                    let one = fetch.partitions.first().expect("one");
                    Some((correlation, one.fetch_offset.0, one.current_leader_epoch))
                }
                _ => None,
            })
    }

    fn answer_fetch(
        &mut self,
        correlation: CorrelationId,
        error_code: ErrorCode,
        batches: Vec<Batch>,
    ) {
        let response = Response::Fetch(FetchResponse {
            partitions: vec![FetchPartitionResponse {
                topic_partition: ID,
                error_code,
                high_watermark: Offset(0),
                last_stable_offset: Offset(0),
                log_start_offset: Offset(0),
                diverging_epoch: None,
                preferred_read_replica: None,
                current_leader: None,
                aborted: Vec::new(),
                batches,
            }],
        });
        self.run(|manager, out| manager.on_response(correlation, &response, out));
    }
}

fn client(correlation: u64) -> ReplyTo {
    ReplyTo {
        node: NodeId::Client(terrarium_core::base::ids::ClientId(0)),
        correlation: CorrelationId(correlation),
    }
}

#[test]
fn min_isr_and_acks_e19_e20_e21() {
    let mut broker = Broker::new(LEADER);
    broker.replay(&records(2, registration(&[LEADER], LEADER, (0, 0))));
    broker.produce(1, Acks::All);
    assert_eq!(
        broker.produced(1),
        Some(ErrorCode::NotEnoughReplicas),
        "E19"
    );
    let end = |broker: &Broker| broker.manager.partitions()[&ID].log.log_end_offset().0;
    assert_eq!(end(&broker), 0, "E19: nothing is appended");
    broker.produce(2, Acks::Leader);
    assert_eq!(
        (broker.produced(2), end(&broker)),
        (Some(ErrorCode::None), 1),
        "E20"
    );
    assert_eq!(
        broker.manager.partitions()[&ID].log.high_watermark(),
        Offset(0),
        "E20"
    );

    let mut alone = Broker::new(LEADER);
    let mut one_replica = registration(&[LEADER], LEADER, (0, 0));
    one_replica.replicas = vec![LEADER];
    alone.replay(&records(2, one_replica));
    alone.produce(1, Acks::All);
    assert_eq!(alone.produced(1), Some(ErrorCode::None), "E21");
}

#[test]
fn the_end_is_not_told_before_the_epoch_is_caught_up_e23() {
    let mut broker = Broker::new(LEADER);
    broker.replay(&records(1, registration(&[LEADER, F1], LEADER, (0, 0))));
    broker.produce(1, Acks::Leader);
    broker.change(registration(&[LEADER, F1], LEADER, (1, 1)));
    let ask = |broker: &mut Broker, correlation: u64| {
        let request = ListOffsetsRequest {
            partitions: vec![(ID, OffsetQuery::Latest)],
        };
        broker.run(|manager, out| manager.handle_list_offsets(client(correlation), &request, out));
        match broker.answers.last() {
            Some((_, Response::ListOffsets(body))) => {
                (body.partitions[0].error_code, body.partitions[0].offset)
            }
            other => panic!("{other:?}"),
        }
    };
    assert_eq!(
        ask(&mut broker, 2),
        (ErrorCode::OffsetNotAvailable, Offset(-1)),
        "E23"
    );
    let fetch = follower_fetch(1, 1);
    let reply = ReplyTo {
        node: NodeId::Broker(F1),
        correlation: CorrelationId(3),
    };
    broker.run(|manager, out| manager.handle_fetch(reply, &fetch, out));
    assert_eq!(
        ask(&mut broker, 4),
        (ErrorCode::None, Offset(1)),
        "E23: now it is known"
    );
}

fn follower_fetch(offset: i64, epoch: i32) -> FetchRequest {
    FetchRequest {
        replica_id: Some(F1),
        replica_epoch: i64::from(F1.0),
        max_wait_ms: 500,
        min_bytes: 1,
        max_bytes: 1_000_000,
        isolation_level: IsolationLevel::ReadUncommitted,
        rack_id: None,
        partitions: vec![FetchPartition {
            topic_partition: ID,
            fetch_offset: Offset(offset),
            log_start_offset: Offset(0),
            current_leader_epoch: epoch,
            last_fetched_epoch: -1,
            partition_max_bytes: 1_000_000,
        }],
    }
}

#[test]
fn who_leads_no_more_answers_what_is_parked_e24_e25() {
    let mut broker = Broker::new(LEADER);
    broker.replay(&records(1, registration(&[LEADER, F1], LEADER, (0, 0))));
    broker.produce(1, Acks::All);
    assert_eq!(broker.produced(1), None, "it waits for the follower");
    let fetch = FetchRequest {
        replica_id: None,
        replica_epoch: -1,
        ..follower_fetch(0, -1)
    };
    broker.run(|manager, out| manager.handle_fetch(client(2), &fetch, out));
    assert!(broker.answers.is_empty(), "there is nothing to read yet");
    broker.change(registration(&[LEADER, F1], F1, (1, 1)));
    assert_eq!(
        broker.produced(1),
        Some(ErrorCode::NotLeaderOrFollower),
        "E24"
    );
    let fetched = broker
        .answers
        .iter()
        .find(|(id, _)| *id == CorrelationId(2));
    match fetched {
        Some((_, Response::Fetch(body))) => {
            assert_eq!(
                body.partitions[0].error_code,
                ErrorCode::NotLeaderOrFollower,
                "E25"
            );
        }
        other => panic!("E25: {other:?}"),
    }
}

#[test]
fn another_isr_does_not_restart_a_fetcher_e26() {
    let mut follower = Broker::new(F1);
    follower.replay(&records(1, registration(&[LEADER, F1], LEADER, (0, 0))));
    let (first, offset, epoch) = follower.fetching().expect("it fetches");
    assert_eq!((offset, epoch), (0, 0), "from its log's end");
    follower.change(registration(&[LEADER, F1, F2], LEADER, (0, 1)));
    assert_eq!(follower.fetching(), None, "E26");
    follower.answer_fetch(first, ErrorCode::None, vec![batch(3)]);
    let (_, offset, _) = follower.fetching().expect("it goes on");
    assert_eq!(offset, 3, "E26: the answer counts");
}

#[test]
fn a_fenced_fetch_fails_for_its_own_epoch_alone_c19() {
    let mut follower = Broker::new(F1);
    follower.replay(&records(1, registration(&[LEADER, F1], LEADER, (0, 0))));
    let (first, ..) = follower.fetching().expect("it fetches");
    follower.answer_fetch(first, ErrorCode::FencedLeaderEpoch, Vec::new());
    assert_eq!(follower.fetching(), None, "C19: failed");
    follower.change(registration(&[LEADER, F1], LEADER, (1, 1)));
    let (second, _, epoch) = follower.fetching().expect("C19: a new epoch begins anew");
    assert_eq!(epoch, 1, "C19");

    // The answer to a fetch of epoch 1 comes when epoch 2 has begun: it is tried again later.
    follower.change(registration(&[LEADER, F1], LEADER, (2, 2)));
    follower.answer_fetch(second, ErrorCode::FencedLeaderEpoch, Vec::new());
    assert_eq!(follower.fetching(), None, "it backs off");
    follower.now = SimTime::from_millis(1_000);
    let timer = terrarium_core::base::timer::Timer::ReplicaFetch(LEADER);
    follower.run(|manager, out| manager.on_timer(&timer, out));
    let (_, _, epoch) = follower
        .fetching()
        .expect("an old answer says nothing of the new epoch");
    assert_eq!(epoch, 2, "it names the new epoch");
}

#[test]
fn a_log_that_is_too_long_is_cut_at_the_leaders_end_c17() {
    let mut follower = Broker::new(F1);
    follower.replay(&records(1, registration(&[LEADER, F1], LEADER, (0, 0))));
    let (first, ..) = follower.fetching().expect("it fetches");
    follower.answer_fetch(first, ErrorCode::None, vec![batch(5)]);
    let (second, offset, _) = follower.fetching().expect("it goes on");
    assert_eq!(offset, 5, "it has five records");
    let ask = |follower: &mut Broker, correlation| {
        follower.answer_fetch(correlation, ErrorCode::OffsetOutOfRange, Vec::new());
        let (question, body) = follower.sent.pop().expect("it asks for the end");
        assert!(matches!(body, Request::ListOffsets(_)), "C17: {body:?}");
        question
    };
    let question = ask(&mut follower, second);
    let answer = |end| {
        let partitions = vec![ListOffsetsPartitionResponse {
            topic_partition: ID,
            error_code: ErrorCode::None,
            offset: Offset(end),
            timestamp: None,
        }];
        Response::ListOffsets(terrarium_core::wire::api::ListOffsetsResponse { partitions })
    };
    follower.run(|manager, out| manager.on_response(question, &answer(3), out));
    let (third, offset, _) = follower.fetching().expect("it goes on");
    assert_eq!(offset, 3, "C17");

    // Another epoch begins before the answer: it is about a log that is led no more.
    let question = ask(&mut follower, third);
    follower.change(registration(&[LEADER, F1], LEADER, (1, 1)));
    follower.run(|manager, out| manager.on_response(question, &answer(1), out));
    let log = &follower.manager.partitions()[&ID].log;
    assert_eq!(
        log.log_end_offset(),
        Offset(3),
        "nothing is cut for an older epoch"
    );
}

#[test]
fn offsets_are_told_by_timestamp() {
    let mut alone = Broker::new(LEADER);
    let mut one_replica = registration(&[LEADER], LEADER, (0, 0));
    one_replica.replicas = vec![LEADER];
    alone.replay(&records(1, one_replica));
    let ask = |broker: &mut Broker, query| {
        let request = ListOffsetsRequest {
            partitions: vec![(ID, query)],
        };
        broker.run(|manager, out| manager.handle_list_offsets(client(9), &request, out));
        match broker.answers.pop() {
            Some((_, Response::ListOffsets(body))) => {
                let one = body.partitions[0];
                assert_eq!(one.error_code, ErrorCode::None, "{query:?}");
                (one.offset.0, one.timestamp.map(SimTime::as_millis))
            }
            other => panic!("{other:?}"),
        }
    };
    assert_eq!(
        ask(&mut alone, OffsetQuery::MaxTimestamp),
        (-1, None),
        "empty"
    );
    for (correlation, ms) in [(1, 10), (2, 30), (3, 20)] {
        let at = SimTime::from_millis(ms);
        let record = Record::text(RecordId(correlation), None, Arc::from("v"), at);
        let request = ProduceRequest {
            acks: Acks::Leader,
            timeout_ms: 30_000,
            batches: vec![(ID, Batch::new(Arc::from([record])))],
            retried: Vec::new(),
            transactional_id: None,
        };
        alone.run(|manager, out| manager.handle_produce(client(correlation), &request, out));
    }
    let by = |ms| OffsetQuery::Timestamp(SimTime::from_millis(ms));
    let rows = [
        (OffsetQuery::Earliest, (0, None)),
        (OffsetQuery::Latest, (3, None)),
        (OffsetQuery::MaxTimestamp, (1, Some(30))),
        (by(0), (0, Some(10))),
        (by(11), (1, Some(30))),
        (by(20), (1, Some(30))),
        (by(31), (-1, None)),
    ];
    for (query, expected) in rows {
        assert_eq!(ask(&mut alone, query), expected, "{query:?}");
    }
}

#[test]
fn more_bytes_than_the_answer_may_hold_are_not_waited_for_m10_of_the_corrections() {
    let mut broker = Broker::new(LEADER);
    broker.replay(&records(1, registration(&[LEADER, F1], LEADER, (0, 0))));
    broker.produce(1, Acks::Leader);
    let mut request = follower_fetch(0, 0);
    request.min_bytes = 1_000_000;
    request.max_bytes = 50;
    broker.run(|manager, out| manager.handle_fetch(client(2), &request, out));
    let fetched = broker.answers.iter().any(|(id, body)| {
        *id == CorrelationId(2)
            && matches!(body, Response::Fetch(body) if body.partitions[0].batches.len() == 1)
    });
    assert!(fetched, "M10: min bytes are capped by max bytes");
}

fn offsets_answer(offset: i64) -> Response {
    let partitions = vec![ListOffsetsPartitionResponse {
        topic_partition: ID,
        error_code: ErrorCode::None,
        offset: Offset(offset),
        timestamp: None,
    }];
    Response::ListOffsets(terrarium_core::wire::api::ListOffsetsResponse { partitions })
}

#[test]
fn a_log_that_ends_before_the_leaders_begins_starts_anew_c18() {
    let mut follower = Broker::new(F1);
    follower.replay(&records(1, registration(&[LEADER, F1], LEADER, (0, 0))));
    let (first, ..) = follower.fetching().expect("it fetches");
    follower.answer_fetch(first, ErrorCode::None, vec![batch(3)]);
    let (second, ..) = follower.fetching().expect("it goes on");
    follower.answer_fetch(second, ErrorCode::OffsetOutOfRange, Vec::new());
    for offset in [20, 10] {
        let (question, body) = follower.sent.pop().expect("C18: it asks");
        assert!(matches!(body, Request::ListOffsets(_)), "C18: {body:?}");
        let answer = offsets_answer(offset);
        follower.run(|manager, out| manager.on_response(question, &answer, out));
    }
    let log = &follower.manager.partitions()[&ID].log;
    let bounds = (log.log_start_offset(), log.log_end_offset());
    assert_eq!(bounds, (Offset(10), Offset(10)), "C18");
    let (_, offset, _) = follower.fetching().expect("it goes on");
    assert_eq!(offset, 10, "C18");
}
