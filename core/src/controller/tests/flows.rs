#[cfg(target_arch = "wasm32")]
use wasm_bindgen_test::wasm_bindgen_test as test;

use crate::base::config::{BrokerConfig, TopicConfig};
use crate::base::ids::{BrokerId, ControllerId, CorrelationId, NodeId, TopicPartition};
use crate::controller::quorum::QuorumDisk;
use crate::controller::{Controller, ControllerStart};
use crate::kernel::rng::Stream;
use crate::kernel::time::SimTime;
use crate::trace::out::{Effect, Out, ReplyTo};
use crate::wire::api::{
    AlterPartitionItem, AlterPartitionRequest, BrokerHeartbeatRequest, BrokerRegistrationRequest,
    CreatePartitionsRequest, CreateTopicsRequest, DeleteTopicsRequest, ElectLeadersRequest,
    IncrementalAlterConfigsRequest, Request, Response,
};
use crate::wire::error_code::ErrorCode;
use crate::wire::metadata::PartitionRegistration;
use std::sync::Arc;

/// A quorum of one, with what its tests ask of it.
struct Bench {
    controller: Controller,
    /// Registrations so far.
    incarnations: u64,
}

fn ids(numbers: &[u32]) -> Vec<BrokerId> {
    numbers.iter().copied().map(BrokerId).collect()
}

impl Bench {
    /// Brokers 0 to `brokers - 1`, all unfenced.
    fn new(brokers: u32, config: BrokerConfig) -> Self {
        let id = ControllerId(3_000);
        let controller = Controller::new(ControllerStart {
            id,
            voters: vec![id],
            disk: QuorumDisk::default(),
            config: Arc::new(config),
            topics: Vec::new(),
            brokers: Vec::new(),
            reserved_names: Arc::from(Vec::new()),
            placement: Stream::new(1, "placement"),
            elections: Stream::new(1, "elections"),
        });
        let mut bench = Self {
            controller,
            incarnations: 0,
        };
        bench.run(Controller::start);
        for broker in 0..brokers {
            bench.register(broker, -1);
            bench.unfence(broker);
        }
        bench
    }

    fn run(&mut self, handler: impl FnOnce(&mut Controller, &mut Out)) -> Vec<Effect> {
        let mut out = Out::new(SimTime::from_millis(1_000), Vec::new(), 0);
        handler(&mut self.controller, &mut out);
        out.into_parts().0
    }

    fn ask(&mut self, request: &Request) -> Response {
        let reply = ReplyTo {
            node: NodeId::Broker(BrokerId(0)),
            correlation: CorrelationId(1),
        };
        let effects = self.run(|controller, out| controller.on_request(reply, request, out));
        let answer = effects.into_iter().find_map(|effect| {
            if let Effect::Response { body, .. } = effect {
                Some(body)
            } else {
                None
            }
        });
        answer.expect("the controller answers at once")
    }

    fn register(&mut self, broker: u32, previous_broker_epoch: i64) {
        self.incarnations += 1;
        self.ask(&Request::BrokerRegistration(BrokerRegistrationRequest {
            broker_id: BrokerId(broker),
            incarnation_id: self.incarnations,
            rack: None,
            previous_broker_epoch,
        }));
    }

    fn epoch(&self, broker: u32) -> i64 {
        self.controller.image().brokers[&BrokerId(broker)].broker_epoch
    }

    fn heartbeat(&mut self, broker: u32, (want_fence, want_shut_down): (bool, bool)) -> Response {
        self.ask(&Request::BrokerHeartbeat(BrokerHeartbeatRequest {
            broker_id: BrokerId(broker),
            broker_epoch: self.epoch(broker),
            current_metadata_offset: self.controller.image().next_offset,
            want_fence,
            want_shut_down,
        }))
    }

    fn fence(&mut self, broker: u32) {
        self.heartbeat(broker, (true, false));
    }

    fn unfence(&mut self, broker: u32) {
        self.heartbeat(broker, (false, false));
    }

    fn create(&mut self, name: &str, assignments: &[&[u32]], config: TopicConfig) -> Response {
        self.ask(&Request::CreateTopics(CreateTopicsRequest {
            name: Arc::from(name),
            partition_count: None,
            replication_factor: None,
            assignments: assignments.iter().map(|list| ids(list)).collect(),
            config: Some(Arc::new(config)),
            overrides: Vec::new(),
        }))
    }

    fn partition(&self, name: &str, partition: u32) -> PartitionRegistration {
        let image = self.controller.image();
        let (topic_id, _) = image.topic_by_name(name).expect("there is such a topic");
        let id = TopicPartition::new(topic_id, partition);
        image
            .partition(id)
            .expect("there is such a partition")
            .clone()
    }

    /// Leader (-1 for none) and ISR.
    fn state(&self, name: &str, partition: u32) -> (i64, Vec<u32>) {
        let part = self.partition(name, partition);
        let leader = part.leader.map_or(-1, |id| i64::from(id.0));
        (leader, part.isr.iter().map(|id| id.0).collect())
    }

    fn elr(&self, name: &str) -> Vec<u32> {
        let part = self.partition(name, 0);
        part.elr.iter().map(|id| id.0).collect()
    }

    fn elect(&mut self, unclean: bool, partitions: &[(&str, u32)]) -> Vec<(ErrorCode, String)> {
        let partitions = partitions.iter().map(|(name, id)| (Arc::from(*name), *id));
        let request = Request::ElectLeaders(ElectLeadersRequest {
            unclean,
            partitions: Some(partitions.collect()),
        });
        let Response::ElectLeaders(response) = self.ask(&request) else {
            panic!("an answer to ElectLeaders");
        };
        let text = |text: Option<Arc<str>>| text.map_or_else(String::new, |text| text.to_string());
        let results = response.results.into_iter();
        results
            .map(|one| (one.error_code, text(one.error_message)))
            .collect()
    }

    fn offset(&self) -> i64 {
        self.controller.image().next_offset
    }

    fn alter(&mut self, sender: u32, name: &str, isr: &[u32]) -> ErrorCode {
        let (topic_id, _) = self
            .controller
            .image()
            .topic_by_name(name)
            .expect("a topic");
        let part = self.partition(name, 0);
        let item = AlterPartitionItem {
            topic_partition: TopicPartition::new(topic_id, 0),
            leader_epoch: part.leader_epoch,
            partition_epoch: part.partition_epoch,
            new_isr: isr.iter().map(|id| (BrokerId(*id), -1)).collect(),
            is_recovering: false,
        };
        let request = AlterPartitionRequest {
            broker_id: BrokerId(sender),
            broker_epoch: self.epoch(sender),
            partitions: vec![item],
        };
        self.ask(&Request::AlterPartition(request)).error_code()
    }
}

fn with_elr() -> BrokerConfig {
    BrokerConfig {
        eligible_leader_replicas_version: 1,
        ..BrokerConfig::default()
    }
}

fn min_isr(min_insync_replicas: i64) -> TopicConfig {
    TopicConfig {
        min_insync_replicas,
        ..TopicConfig::default()
    }
}

fn h1() -> Bench {
    let mut bench = Bench::new(5, BrokerConfig::default());
    let foo: &[&[u32]] = &[&[1, 2, 3], &[2, 3, 4], &[0, 2, 1]];
    bench.create("foo", foo, TopicConfig::default());
    for broker in [2, 3, 1] {
        bench.fence(broker);
    }
    bench
}

#[test]
fn unclean_elections_by_hand_h1_to_h3() {
    let mut bench = h1();
    assert_eq!(bench.state("foo", 0), (-1, vec![1]), "H1");
    assert_eq!(bench.state("foo", 1), (4, vec![4]), "H1");
    assert_eq!(bench.state("foo", 2), (0, vec![0]), "H1");
    let all = [("foo", 0), ("foo", 1), ("foo", 2)];
    let before = bench.offset();
    let codes: Vec<ErrorCode> = bench
        .elect(true, &all)
        .into_iter()
        .map(|one| one.0)
        .collect();
    let expected = [
        ErrorCode::EligibleLeadersNotAvailable,
        ErrorCode::ElectionNotNeeded,
        ErrorCode::ElectionNotNeeded,
    ];
    assert_eq!(codes, expected, "H2");
    assert_eq!(bench.offset(), before, "H2: no record");
    bench.unfence(2);
    let before = bench.offset();
    assert_eq!(bench.state("foo", 0), (-1, vec![1]), "H3: not by itself");
    let codes: Vec<ErrorCode> = bench
        .elect(true, &all)
        .into_iter()
        .map(|one| one.0)
        .collect();
    let none_needed = ErrorCode::ElectionNotNeeded;
    assert_eq!(codes, [ErrorCode::None, none_needed, none_needed], "H3");
    assert_eq!(bench.offset(), before + 1, "H3: one record");
    assert_eq!(bench.state("foo", 0), (2, vec![2]), "H3");
}

fn three_fenced(unclean: bool) -> Bench {
    let mut bench = Bench::new(5, BrokerConfig::default());
    let config = TopicConfig {
        unclean_leader_election_enable: unclean,
        ..TopicConfig::default()
    };
    bench.create("foo", &[&[1, 2, 4], &[1, 3, 4], &[0, 2, 4]], config);
    for broker in 0..5 {
        bench.fence(broker);
    }
    bench.unfence(2);
    bench
}

#[test]
fn an_unclean_election_at_unfencing_or_in_the_sweep_h4_h5_w2_w3() {
    let bench = three_fenced(true);
    assert_eq!(bench.state("foo", 0), (2, vec![2]), "H4");
    assert_eq!(bench.state("foo", 1), (-1, vec![4]), "H4");
    assert_eq!(bench.state("foo", 2), (2, vec![2]), "H4");
    let mut bench = three_fenced(false);
    for partition in 0..3 {
        assert_eq!(bench.state("foo", partition), (-1, vec![4]), "H5");
    }
    let change = IncrementalAlterConfigsRequest {
        name: Arc::from("foo"),
        setting: Arc::from("unclean.leader.election.enable"),
        value: Arc::from("true"),
    };
    bench.ask(&Request::IncrementalAlterConfigs(change));
    assert_eq!(bench.state("foo", 0), (-1, vec![4]), "H5: not at once");
    let mut later = bench.controller.clone();
    bench.run(|controller, out| {
        controller.on_timer(&crate::base::timer::Timer::UncleanSweep, out);
    });
    assert_eq!(bench.state("foo", 0), (2, vec![2]), "H5: the sweep elects");
    assert_eq!(bench.state("foo", 1), (-1, vec![4]), "H5");
    std::mem::swap(&mut bench.controller, &mut later);
    // W2: unfencing anyone looks at every partition without a leader.
    bench.register(0, -1);
    bench.unfence(0);
    assert_eq!(bench.state("foo", 0), (2, vec![2]), "W2");
}

#[test]
fn balancing_does_not_elect_uncleanly_h6_w3() {
    let mut bench = Bench::new(4, BrokerConfig::default());
    let config = TopicConfig {
        unclean_leader_election_enable: false,
        ..TopicConfig::default()
    };
    bench.create("foo", &[&[1, 2, 3]], config);
    for broker in [2, 3, 1] {
        bench.fence(broker);
    }
    bench.unfence(2);
    bench.unfence(3);
    assert_eq!(bench.state("foo", 0), (-1, vec![1]), "H6");
    let found = bench.elect(false, &[("foo", 0)]);
    assert_eq!(found[0].0, ErrorCode::PreferredLeaderNotAvailable, "H6");
    bench.run(|controller, out| {
        controller.on_timer(&crate::base::timer::Timer::LeaderBalance, out);
    });
    assert_eq!(bench.state("foo", 0), (-1, vec![1]), "H6");
}

#[test]
fn preferred_elections_by_hand_h7_a5() {
    let mut bench = Bench::new(5, BrokerConfig::default());
    let foo: &[&[u32]] = &[&[1, 2, 3], &[2, 3, 4], &[0, 2, 1]];
    bench.create("foo", foo, TopicConfig::default());
    bench.fence(0);
    bench.heartbeat(1, (false, true));
    assert_eq!(bench.state("foo", 0), (2, vec![2, 3]), "H7: handed over");
    let wanted = [("foo", 0), ("foo", 1), ("foo", 2), ("bar", 0)];
    let found = bench.elect(false, &wanted);
    let expected = [
        (ErrorCode::PreferredLeaderNotAvailable, ""),
        (ErrorCode::ElectionNotNeeded, ""),
        (ErrorCode::PreferredLeaderNotAvailable, ""),
        (ErrorCode::UnknownTopicOrPartition, "No such topic as bar"),
    ];
    for (found, (code, text)) in found.iter().zip(expected) {
        assert_eq!((found.0, found.1.as_str()), (code, text), "H7");
    }
    // A5: an election that gives a partition some other leader is not refused.
    let mut bench = h1();
    bench.unfence(1);
    assert_eq!(
        bench.state("foo", 0),
        (1, vec![1]),
        "the last of the ISR is back"
    );
}

#[test]
fn eligible_leader_replicas_h19_h20() {
    let mut bench = Bench::new(4, with_elr());
    bench.create("foo", &[&[0, 1, 2]], min_isr(2));
    assert_eq!(bench.alter(0, "foo", &[0]), ErrorCode::None, "H19");
    assert_eq!(bench.elr("foo"), [1, 2], "H19");
    assert_eq!(bench.alter(0, "foo", &[0, 1]), ErrorCode::None, "H19");
    assert_eq!(bench.elr("foo"), [0; 0], "H19");
    bench.create("bar", &[&[0, 1, 2, 3]], min_isr(3));
    bench.fence(2);
    bench.fence(3);
    assert_eq!(bench.elr("bar"), [3], "H20");
    bench.fence(1);
    assert_eq!(bench.elr("bar"), [1, 3], "H20");
    let change = IncrementalAlterConfigsRequest {
        name: Arc::from("bar"),
        setting: Arc::from("min.insync.replicas"),
        value: Arc::from("2"),
    };
    bench.ask(&Request::IncrementalAlterConfigs(change));
    assert_eq!(bench.elr("bar"), [0; 0], "another minimum clears the ELR");
}

#[test]
fn the_last_replica_standing_with_elr_l5_g25() {
    let mut bench = Bench::new(4, with_elr());
    bench.create("foo", &[&[1, 2, 3]], min_isr(2));
    bench.fence(3);
    assert_eq!(
        (bench.state("foo", 0), bench.elr("foo")),
        ((1, vec![1, 2]), vec![]),
        "L5"
    );
    bench.fence(2);
    assert_eq!(
        (bench.state("foo", 0), bench.elr("foo")),
        ((1, vec![1]), vec![2]),
        "L5"
    );
    bench.fence(1);
    let expected = ((-1, vec![]), vec![1, 2]);
    assert_eq!((bench.state("foo", 0), bench.elr("foo")), expected, "L5");
    assert_eq!(bench.partition("foo", 0).last_known_elr, ids(&[1]), "L5");
    let clean = bench.controller.clone();
    bench.register(1, -1);
    assert_eq!(bench.elr("foo"), [2], "G25: after a power loss");
    bench.unfence(1);
    assert_eq!(
        bench.state("foo", 0),
        (-1, vec![]),
        "L5: it may have lost records"
    );
    bench.unfence(2);
    assert_eq!(
        (bench.state("foo", 0), bench.elr("foo")),
        ((2, vec![2]), vec![]),
        "L5"
    );
    bench.controller = clean;
    let epoch = bench.epoch(1);
    bench.register(1, epoch);
    assert_eq!(
        bench.elr("foo"),
        [1, 2],
        "closed in good order, it stays eligible"
    );
    bench.unfence(1);
    assert_eq!(
        bench.state("foo", 0),
        (1, vec![1]),
        "and leads without loss"
    );
}

#[test]
fn topics_with_all_brokers_fenced_h22() {
    let mut bench = Bench::new(2, BrokerConfig::default());
    bench.fence(0);
    bench.fence(1);
    let Response::CreateTopics(response) = bench.create("foo", &[&[0, 1]], TopicConfig::default())
    else {
        panic!("an answer to CreateTopics");
    };
    assert_eq!(
        response.error_code,
        ErrorCode::InvalidReplicaAssignment,
        "H22"
    );
    assert_eq!(
        response.error_message.as_deref(),
        Some(
            "All brokers specified in the manual partition assignment for partition 0 are fenced \
             or in controlled shutdown."
        ),
        "H22"
    );
}

#[test]
fn new_leader_elected_also_for_nobody_a15() {
    let mut bench = Bench::new(3, BrokerConfig::default());
    bench.create("foo", &[&[0, 1]], TopicConfig::default());
    // The leader leaves itself out: refused before anything changes.
    assert_eq!(
        bench.alter(0, "foo", &[1]),
        ErrorCode::InvalidRequest,
        "A15"
    );
    assert_eq!(bench.state("foo", 0), (0, vec![0, 1]), "A15: unchanged");
}

#[test]
fn heartbeats_of_strangers_are_stale_w4() {
    let mut bench = Bench::new(1, BrokerConfig::default());
    for (broker, broker_epoch) in [(0, 99), (7, 0)] {
        let answer = bench.ask(&Request::BrokerHeartbeat(BrokerHeartbeatRequest {
            broker_id: BrokerId(broker),
            broker_epoch,
            current_metadata_offset: 100,
            want_fence: false,
            want_shut_down: false,
        }));
        assert_eq!(
            answer.error_code(),
            ErrorCode::StaleBrokerEpoch,
            "W4: broker {broker}"
        );
    }
}

/// Assignments, partitions, factor, error, text.
type CreationRow<'a> = (
    &'a [&'a [u32]],
    Option<u32>,
    Option<u32>,
    ErrorCode,
    &'a str,
);

#[test]
fn topics_are_refused_in_kafkas_words_f7_h11_a11_m16() {
    use ErrorCode as E;
    let mut bench = Bench::new(3, BrokerConfig::default());
    bench.create("foo", &[&[0, 1]], TopicConfig::default());
    let rows: &[CreationRow<'_>] = &[
        (
            &[],
            Some(0),
            None,
            E::InvalidPartitions,
            "Number of partitions was set to an invalid non-positive value.",
        ),
        (
            &[],
            None,
            Some(0),
            E::InvalidReplicationFactor,
            "Replication factor must be larger than 0, or -1 to use the default value.",
        ),
        (
            &[],
            None,
            Some(4),
            E::InvalidReplicationFactor,
            "Unable to replicate the partition 4 time(s): The target replication factor of 4 cannot be reached because only 3 broker(s) are registered.",
        ),
        (
            &[&[5, 6, 7]],
            None,
            None,
            E::InvalidReplicaAssignment,
            "The manual partition assignment includes broker 5, but no such broker is registered.",
        ),
        (
            &[&[]],
            None,
            None,
            E::InvalidReplicaAssignment,
            "The manual partition assignment includes an empty replica list.",
        ),
        (
            &[&[0], &[0, 1]],
            None,
            None,
            E::InvalidReplicaAssignment,
            "The manual partition assignment includes a partition with 2 replica(s), but this is not consistent with previous partitions, which have 1 replica(s).",
        ),
        (
            &[&[0, 0]],
            None,
            None,
            E::InvalidReplicaAssignment,
            "The manual partition assignment includes the broker 0 more than once.",
        ),
        (
            &[&[0]],
            Some(3),
            None,
            E::InvalidRequest,
            "A manual partition assignment was specified, but numPartitions was not set to -1.",
        ),
        (
            &[&[0]],
            None,
            Some(3),
            E::InvalidRequest,
            "A manual partition assignment was specified, but replication factor was not set to -1.",
        ),
    ];
    for (assignments, partition_count, replication_factor, code, text) in rows {
        let request = Request::CreateTopics(CreateTopicsRequest {
            name: Arc::from("bar"),
            partition_count: *partition_count,
            replication_factor: *replication_factor,
            assignments: assignments.iter().map(|list| ids(list)).collect(),
            config: None,
            overrides: Vec::new(),
        });
        let Response::CreateTopics(response) = bench.ask(&request) else {
            panic!("an answer to CreateTopics");
        };
        let found = (response.error_code, response.error_message.as_deref());
        assert_eq!(found, (*code, Some(*text)), "H11, A11, M16");
    }
    let Response::CreateTopics(response) = bench.create("foo", &[&[0]], TopicConfig::default())
    else {
        panic!("an answer to CreateTopics");
    };
    let text = response.error_message.as_deref();
    assert_eq!(text, Some("Topic 'foo' already exists."), "A11");
}

#[test]
fn partitions_are_added_and_topics_deleted() {
    let mut bench = Bench::new(3, BrokerConfig::default());
    bench.create("foo", &[&[0, 1], &[1, 2]], TopicConfig::default());
    let rows = [
        (2, Some("Topic already has 2 partition(s).")),
        (
            1,
            Some("The topic foo currently has 2 partition(s); 1 would not be an increase."),
        ),
        (4, None),
    ];
    for (count, expected) in rows {
        let name = Arc::from("foo");
        let request = Request::CreatePartitions(CreatePartitionsRequest { name, count });
        let Response::CreatePartitions(response) = bench.ask(&request) else {
            panic!("an answer to CreatePartitions");
        };
        assert_eq!(
            response.error_message.as_deref(),
            expected,
            "{count} in all"
        );
    }
    assert_eq!(
        bench.partition("foo", 3).replicas.len(),
        2,
        "two replicas again"
    );
    let first = bench
        .controller
        .image()
        .topic_by_name("foo")
        .expect("foo")
        .0;
    let delete = Request::DeleteTopics(DeleteTopicsRequest {
        name: Arc::from("foo"),
    });
    assert_eq!(bench.ask(&delete).error_code(), ErrorCode::None, "deleted");
    let again = bench.ask(&delete).error_code();
    assert_eq!(again, ErrorCode::UnknownTopicOrPartition, "it is gone");
    bench.create("foo", &[&[0]], TopicConfig::default());
    let second = bench
        .controller
        .image()
        .topic_by_name("foo")
        .expect("foo")
        .0;
    assert_ne!(first, second, "a topic of the same name is another topic");
}
