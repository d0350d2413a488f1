//! A hand-made run for tests: a fourth consumer joins while the third works on a long record.

use super::fit::Measure;
use super::shape::Font;
use super::view::{Options, View};
use super::words::Words;
use crate::driver::history::History;
use crate::driver::history::series::SeriesKey;
use crate::driver::selection::Selection;
use std::sync::Arc;
use terrarium_core::base::config::{BrokerConfig, ConsumerConfig, ProducerConfig, TopicConfig};
use terrarium_core::base::ids::*;
use terrarium_core::kernel::network::LinkConfig;
use terrarium_core::kernel::time::{SimTime, Span};
use terrarium_core::sim::scenario::*;
use terrarium_core::sim::view::*;
use terrarium_core::trace::buffer::TraceBuffer;
use terrarium_core::trace::event::{
    GroupState, MemberState, QuorumState, TraceEntry, TraceEvent, Waiting,
};
use terrarium_core::wire::api::{ApiKey, HeartbeatRequest, JoinGroupRequest, Request};
use terrarium_core::wire::record::ReconciliationState;

/// The run.
pub(crate) struct Film {
    pub scenario: Scenario,
    pub trace: TraceBuffer,
    packets: u64,
}

pub(crate) const TOPIC: TopicId = TopicId(0);

pub(crate) fn partition(number: u32) -> TopicPartition {
    TopicPartition::new(TOPIC, number)
}

pub(crate) fn consumer(number: u32) -> NodeId {
    NodeId::Client(ClientId(number))
}

pub(crate) fn broker(number: u32) -> NodeId {
    NodeId::Broker(BrokerId(number))
}

fn group() -> GroupId {
    GroupId::new("billing")
}

fn member(number: u32) -> MemberId {
    MemberId::new(&format!("c{number}-5f0e"))
}

pub(crate) fn at(millis: u64) -> SimTime {
    SimTime::from_millis(millis)
}

impl Film {
    pub(crate) fn new(scenario: Scenario) -> Self {
        Self {
            scenario,
            trace: TraceBuffer::default(),
            packets: 0,
        }
    }

    pub(crate) fn push(&mut self, millis: u64, node: NodeId, event: TraceEvent) -> u64 {
        let index = self.trace.next_index();
        self.trace.push(TraceEntry {
            index,
            at: at(millis),
            node,
            cause: None,
            event,
        });
        index
    }

    /// A request that arrives 350 ms later: slow enough to be seen.
    pub(crate) fn send(&mut self, millis: u64, from: NodeId, to: NodeId, body: Request) -> u64 {
        self.packets += 1;
        let packet = PacketId(self.packets);
        let correlation = CorrelationId(self.packets);
        let api = body.api_key();
        let due_at = Some(at(millis + 350));
        let body = Arc::new(body);
        let sent = TraceEvent::RequestSent {
            packet,
            to,
            correlation,
            body,
            due_at,
        };
        self.push(millis, from, sent);
        let arrived = TraceEvent::Delivered {
            packet,
            from,
            correlation,
            api,
            is_response: false,
        };
        self.push(millis + 350, to, arrived)
    }

    fn join(&mut self, millis: u64, number: u32) {
        self.send(millis, consumer(number), broker(2), join_request(number));
        self.push(
            millis + 350,
            broker(2),
            TraceEvent::RequestParked {
                from: consumer(number),
                correlation: CorrelationId(self.packets),
                waiting: Waiting::Join,
                deadline: Some(at(312_000)),
                group_id: Some(group()),
                partitions: Arc::from([]),
            },
        );
    }

    fn member_state(&mut self, millis: u64, number: u32, state: MemberState) {
        let previous = MemberState::Stable;
        let event = TraceEvent::MemberStateChanged {
            previous,
            state,
            generation_id: 3,
        };
        self.push(millis, consumer(number), event);
    }
}

fn join_request(number: u32) -> Request {
    Request::JoinGroup(JoinGroupRequest {
        group_id: group(),
        session_timeout_ms: 45_000,
        rebalance_timeout_ms: 300_000,
        member_id: member(number),
        group_instance_id: None,
        client_id: Arc::from("c"),
        protocol_type: Arc::from("consumer"),
        protocols: Vec::new(),
        reason: None,
        version: 9,
    })
}

pub(crate) fn scenario() -> Scenario {
    let named = |name: &str, start: Option<u64>| ConsumerSpec {
        name: Arc::from(name),
        config: ConsumerConfig {
            group_id: Some(Arc::from("billing")),
            ..ConsumerConfig::default()
        },
        topics: vec![Arc::from("orders")],
        assign: Vec::new(),
        start_at: start.map(at),
        processing: Processing {
            time: ProcessingTime::Fixed(Span::from_millis(50)),
            rules: Vec::new(),
            commit: CommitStyle::None,
            ..Processing::default()
        },
        restart: RestartPolicy::Never,
        output: None,
    };
    Scenario {
        seed: 7,
        controllers: 1,
        brokers: ["a", "b", "c"]
            .iter()
            .zip(1..)
            .map(|(rack, id)| BrokerSpec {
                id: BrokerId(id),
                rack: Some(Arc::from(*rack)),
                metadata_delay: Span::ZERO,
            })
            .collect(),
        broker_config: Arc::new(BrokerConfig::default()),
        topics: vec![TopicSpec {
            name: Arc::from("orders"),
            partitions: 4,
            replication_factor: 3,
            assignments: Vec::new(),
            config: TopicConfig::default(),
        }],
        producers: vec![ProducerSpec {
            name: Arc::from("producer"),
            config: ProducerConfig::default(),
            start_at: Some(SimTime::ZERO),
            workload: Workload {
                topic: Arc::from("orders"),
                every: Span::from_millis(50),
                arrivals: Arrivals::Even,
                records: None,
                keys: Keys::RoundRobin,
                partition: None,
                value_bytes: 100,
                transaction_records: 1,
                transaction_abort_every: None,
            },
        }],
        consumers: vec![
            named("c1", Some(0)),
            named("c2", Some(0)),
            named("c3", Some(0)),
            named("c4", Some(12_000)),
        ],
        network: LinkConfig::default(),
        links: Vec::new(),
        history: terrarium_core::base::config::HistoryConfig::default(),
        actions: Vec::new(),
        until: at(64_000),
    }
}

/// Moment 1 up to 46.7 s: c4 has joined at 12 s, c1 and c2 wait, c3 works until 60 s.
pub(crate) fn barrier() -> Film {
    let mut film = Film::new(scenario());
    for number in 1..=3 {
        film.push(
            0,
            consumer(number),
            TraceEvent::ProcessStarted { incarnation: 1 },
        );
        film.push(
            20,
            broker(2),
            TraceEvent::MemberAdded {
                group_id: group(),
                member_id: member(number),
                group_instance_id: None,
                client: consumer(number),
            },
        );
    }
    for number in 0..4_u32 {
        let leader = broker([1, 2, 3, 1][number as usize]);
        let event = TraceEvent::BecameLeader {
            topic_partition: partition(number),
            leader_epoch: 0,
            log_end_offset: Offset(0),
        };
        film.push(20, leader, event);
    }
    group_state(&mut film, 30, GroupState::Stable, 3);
    for (number, owned) in [(1, vec![0]), (2, vec![1]), (3, vec![2, 3])] {
        let owned: Vec<TopicPartition> = owned.into_iter().map(partition).collect();
        film.push(
            40,
            consumer(number),
            TraceEvent::PartitionsAssigned {
                added: Arc::from(owned.clone()),
                owned: Arc::from(owned),
                generation_id: 3,
            },
        );
        film.member_state(40, number, MemberState::Stable);
    }
    for beat in [3_000, 6_000, 9_000] {
        for number in 1..=3 {
            let request = HeartbeatRequest {
                group_id: group(),
                generation_id: 3,
                member_id: member(number),
                group_instance_id: None,
            };
            film.send(
                beat + u64::from(number) * 200,
                consumer(number),
                broker(2),
                Request::Heartbeat(request),
            );
        }
    }
    film.push(
        11_800,
        consumer(3),
        TraceEvent::ProcessingStarted {
            topic_partition: partition(2),
            offset: Offset(214),
            record_id: RecordId(900),
            value: Arc::from("slow"),
            until: at(60_000),
        },
    );
    rebalance(&mut film);
    film.push(
        46_700,
        broker(1),
        TraceEvent::Appended {
            topic_partition: partition(0),
            base_offset: Offset(19),
            log_end_offset: Offset(20),
            as_leader: true,
        },
    );
    film
}

fn rebalance(film: &mut Film) {
    film.push(
        12_000,
        consumer(4),
        TraceEvent::Command {
            text: Arc::from("start-consumer c4"),
        },
    );
    film.push(
        12_000,
        consumer(4),
        TraceEvent::ProcessStarted { incarnation: 1 },
    );
    film.member_state(12_000, 4, MemberState::PreparingRebalance);
    film.send(12_000, consumer(4), broker(2), join_request(4));
    film.push(
        12_350,
        broker(2),
        TraceEvent::MemberAdded {
            group_id: group(),
            member_id: member(4),
            group_instance_id: None,
            client: consumer(4),
        },
    );
    group_state(film, 12_350, GroupState::PreparingRebalance, 3);
    film.push(
        12_350,
        broker(2),
        TraceEvent::RequestParked {
            from: consumer(4),
            correlation: CorrelationId(film.packets),
            waiting: Waiting::Join,
            deadline: Some(at(312_000)),
            group_id: Some(group()),
            partitions: Arc::from([]),
        },
    );
    for (millis, number, given) in [(13_400, 2, 1), (14_900, 1, 0)] {
        film.push(
            millis,
            consumer(number),
            TraceEvent::PartitionsRevoked {
                partitions: Arc::from([partition(given)]),
                generation_id: 3,
            },
        );
        film.member_state(millis, number, MemberState::PreparingRebalance);
        film.join(millis, number);
    }
}

fn group_state(film: &mut Film, millis: u64, state: GroupState, generation_id: i32) {
    film.push(
        millis,
        broker(2),
        TraceEvent::GroupStateChanged {
            group_id: group(),
            previous: GroupState::Empty,
            state,
            generation_id,
            reason: Arc::from("Adding new member c4-91ab"),
        },
    );
}

/// What the simulation would say of its state at the end of `barrier`.
pub(crate) fn stage(film: &Film) -> StageView {
    let now = at(46_700);
    let ends = [[19, 18, 19], [21, 22, 21], [31, 31, 31], [17, 17, 17]];
    let leaders = [1, 2, 3, 1];
    let brokers = (1..=3_u32).map(|id| BrokerView {
        id: BrokerId(id),
        rack: Some(Arc::from(["a", "b", "c"][id as usize - 1])),
        process: ProcessState::Running,
        is_fenced: false,
        replicas: (0..4_u32)
            .map(|number| replica(id, number, &ends, &leaders))
            .collect(),
        coordinates: if id == 2 { vec![group()] } else { Vec::new() },
        metadata_offset: 40,
        timers: Vec::new(),
    });
    StageView {
        now,
        topics: vec![TopicView {
            topic_id: TOPIC,
            name: Arc::from("orders"),
            is_internal: false,
            min_insync_replicas: 2,
            partitions: (0..4_u32)
                .map(|number| PartitionView {
                    topic_partition: partition(number),
                    replicas: vec![BrokerId(1), BrokerId(2), BrokerId(3)],
                    isr: if number == 0 {
                        vec![BrokerId(1), BrokerId(3)]
                    } else {
                        vec![BrokerId(1), BrokerId(2), BrokerId(3)]
                    },
                    elr: Vec::new(),
                    last_known_elr: Vec::new(),
                    leader: Some(BrokerId(leaders[number as usize])),
                    leader_epoch: 0,
                    partition_epoch: 0,
                })
                .collect(),
        }],
        controller: ControllerView {
            active: None,
            metadata_end_offset: 40,
            brokers: Vec::new(),
            voters: vec![VoterView {
                id: ControllerId::default(),
                process: ProcessState::Running,
                state: Some(QuorumState::Leader),
                epoch: 1,
                log_end_offset: 40,
                high_watermark: 40,
            }],
        },
        brokers: brokers.collect(),
        groups: vec![group_view()],
        producers: vec![ProducerView {
            client: ClientId(0),
            name: Arc::from("producer"),
            process: ProcessState::Running,
            records_queued: 2,
            records_in_flight: 3,
            buffered_bytes: 500,
            records_acknowledged: 88,
            records_failed: 0,
            timers: Vec::new(),
        }],
        consumers: (1..=4).map(consumer_view).collect(),
        packets: vec![
            packet(
                1,
                (consumer(0), broker(1)),
                ApiKey::Produce,
                (46_500, 46_900),
            ),
            packet(2, (broker(3), broker(1)), ApiKey::Fetch, (46_400, 46_800)),
        ],
        parked: parked(film),
    }
}

fn replica(id: u32, number: u32, ends: &[[i64; 3]; 4], leaders: &[u32; 4]) -> ReplicaView {
    let line = ends[number as usize];
    let is_leader = leaders[number as usize] == id;
    let high_watermark = Offset(line.iter().copied().min().unwrap());
    let end = line[id as usize - 1];
    let follower = |broker: u32| FollowerView {
        broker: BrokerId(broker),
        log_end_offset: Offset(line[broker as usize - 1]),
        last_caught_up_at: at(46_000),
        lag_records: end - line[broker as usize - 1],
        lag: Span::from_millis(if end == line[broker as usize - 1] {
            0
        } else {
            640
        }),
        in_isr: number != 0 || broker != 2,
    };
    ReplicaView {
        topic_partition: partition(number),
        is_leader,
        leader_epoch: 0,
        log_start_offset: Offset(0),
        high_watermark,
        last_stable_offset: high_watermark,
        log_end_offset: Offset(end),
        epochs: vec![(0, Offset(0)), (1, Offset(28))],
        isr: Vec::new(),
        wanted_isr: None,
        followers: if is_leader {
            (1..=3).filter(|other| *other != id).map(follower).collect()
        } else {
            Vec::new()
        },
    }
}

/// The same group under the consumer protocol: one gives up a partition for which another waits.
pub(super) fn reconciling() -> GroupView {
    let mut group = group_view();
    group.state = GroupState::Reconciling;
    group.generation_id = 12;
    group.target_assignment_epoch = Some(12);
    group.protocol_name = None;
    group.leader = None;
    group.join_closes_at = None;
    for member in &mut group.members {
        let owned = member.assignment.clone();
        let (state, epoch) = match owned.len() {
            0 => (ReconciliationState::UnreleasedPartitions, 12),
            2 => (ReconciliationState::UnrevokedPartitions, 11),
            _ => (ReconciliationState::Stable, 12),
        };
        let leaving = owned.get(1..).unwrap_or_default().to_vec();
        member.join_parked = false;
        member.session_expires_at = Some(at(80_000));
        member.assignment.truncate(1);
        member.reconciliation = Some(ReconciliationView {
            member_epoch: epoch,
            state,
            pending_revocation: leaving,
            unreleased: if owned.is_empty() {
                vec![partition(3)]
            } else {
                Vec::new()
            },
            target: Vec::new(),
            is_classic: false,
        });
    }
    group
}

fn group_view() -> GroupView {
    GroupView {
        group_id: group(),
        coordinator: BrokerId(2),
        offsets_partition: 13,
        state: GroupState::PreparingRebalance,
        generation_id: 3,
        target_assignment_epoch: None,
        protocol_name: Some(Arc::from("range")),
        leader: Some(member(1)),
        join_closes_at: Some(at(312_000)),
        sync_closes_at: None,
        members: (1..=4)
            .map(|number| GroupMemberView {
                member_id: member(number),
                group_instance_id: None,
                client: consumer(number),
                join_parked: number != 3,
                sync_parked: false,
                sync_pending: false,
                session_expires_at: (number == 3).then(|| at(80_000)),
                session_timeout: Span::from_millis(45_000),
                rebalance_timeout: Span::from_millis(300_000),
                assignment: match number {
                    1 => vec![partition(0)],
                    2 => vec![partition(1)],
                    3 => vec![partition(2), partition(3)],
                    _ => Vec::new(),
                },
                reconciliation: None,
            })
            .collect(),
        pending_members: Vec::new(),
        committed: Vec::new(),
    }
}

fn consumer_view(number: u32) -> ConsumerView {
    let is_busy = number == 3;
    let owned: &[u32] = if is_busy { &[2, 3] } else { &[] };
    ConsumerView {
        client: ClientId(number),
        name: Arc::from(format!("c{number}")),
        process: ProcessState::Running,
        restart_at: None,
        group_id: Some(group()),
        member_state: if is_busy {
            MemberState::Stable
        } else {
            MemberState::PreparingRebalance
        },
        member_id: member(number),
        group_instance_id: None,
        generation_id: 3,
        coordinator: Some(BrokerId(2)),
        activity: if is_busy {
            Activity::Processing {
                topic_partition: partition(2),
                offset: Offset(214),
                record_id: RecordId(900),
                value: Arc::from("slow"),
                since: at(11_800),
                until: at(60_000),
                records_left: 3,
            }
        } else {
            Activity::Polling
        },
        partitions: owned
            .iter()
            .map(|number| ConsumerPartitionView {
                topic_partition: partition(*number),
                position: Some(Offset(28)),
                processed: Some(Offset(24)),
                committed: Some(Offset(20)),
                high_watermark: Some(Offset(31)),
                is_paused: false,
            })
            .collect(),
        records_buffered: 0,
        records_processed: 214,
        last_poll_at: at(11_700),
        timers: Vec::new(),
    }
}

fn packet(
    id: u64,
    (from, to): (NodeId, NodeId),
    api: ApiKey,
    (sent, due): (u64, u64),
) -> PacketView {
    PacketView {
        packet: PacketId(1_000 + id),
        from,
        to,
        api,
        is_response: false,
        sent_at: at(sent),
        due_at: Some(at(due)),
        entry: 0,
    }
}

fn parked(film: &Film) -> Vec<ParkedView> {
    let parked = film.trace.since(0).filter_map(|entry| match &entry.event {
        TraceEvent::RequestParked {
            from, correlation, ..
        } => Some(ParkedView {
            at: BrokerId(2),
            from: *from,
            correlation: *correlation,
            waiting: Waiting::Join,
            since: entry.at,
            deadline: Some(at(312_000)),
            group_id: Some(group()),
            partitions: Vec::new(),
            waiting_for: Vec::new(),
            entry: entry.index,
        }),
        _ => None,
    });
    parked.collect()
}

/// The words as the English table has them.
pub(crate) struct English(toml::Table);

impl English {
    pub(crate) fn new() -> Self {
        let text = include_str!("../../../static/strings/en/stage.toml");
        Self(text.parse().expect("the English words are a table"))
    }
}

impl Words for English {
    fn text(&self, key: &str, args: &[(&str, &str)]) -> String {
        let found = self.0.get(key).and_then(toml::Value::as_str);
        let mut text = found
            .unwrap_or_else(|| panic!("{key} is not in the table"))
            .to_owned();
        for (name, value) in args {
            text = text.replace(&format!("{{{name}}}"), value);
        }
        assert!(!text.contains('{'), "{key} misses an argument: {text}");
        text
    }
}

/// A view of the film's end.
pub(crate) struct Seat {
    pub film: Film,
    pub stage: StageView,
    pub history: History,
    pub words: English,
    pub selection: Option<Selection>,
}

impl Seat {
    pub(crate) fn new() -> Self {
        let film = barrier();
        let stage = stage(&film);
        let mut history = History::new(&film.scenario);
        history.extend(&film.trace);
        for tenth in 0..=467_u64 {
            let lag = |from: u64, slope: i64| {
                let over = i64::try_from(tenth.saturating_sub(from)).unwrap();
                3 + i64::try_from(tenth % 5).unwrap() + over * slope / 10
            };
            let values = [(0, 149, 7), (1, 134, 9), (2, 118, 6), (3, 118, 4)];
            let values = values.map(|(number, from, slope)| {
                (
                    SeriesKey::ConsumerLag(group(), partition(number)),
                    lag(from, slope),
                )
            });
            history.series_mut().sample(at(tenth * 100), values);
        }
        Self {
            film,
            stage,
            history,
            words: English::new(),
            selection: None,
        }
    }

    pub(crate) fn view(&self, width: f64, height: f64) -> View<'_> {
        View {
            stage: &self.stage,
            scenario: &self.film.scenario,
            trace: &self.film.trace,
            history: &self.history,
            words: &self.words,
            measure: &Estimate,
            selection: self.selection.as_ref(),
            hovered: None,
            size: (width, height),
            options: Options::default(),
        }
    }
}

/// A guess that needs no browser: good enough for tests.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Estimate;

impl Measure for Estimate {
    fn width(&self, text: &str, font: Font) -> f64 {
        let ems: f64 = text.chars().map(|letter| ems(letter, font.is_mono)).sum();
        let weight = if font.is_bold { 1.06 } else { 1.0 };
        ems * font.size() * weight
    }
}

fn ems(letter: char, is_mono: bool) -> f64 {
    match letter {
        '\u{2e80}'.. => 1.0,
        _ if is_mono => 0.6,
        'i' | 'l' | 'j' | 't' | 'f' | ' ' | '.' | ',' | ':' | '\'' | '|' => 0.31,
        'm' | 'w' | 'M' | 'W' => 0.86,
        'A'..='Z' => 0.66,
        _ => 0.56,
    }
}
