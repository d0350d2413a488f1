use super::{MeasureKind, Measures, Nature, Query};
use crate::base::config::{BrokerConfig, ConsumerConfig};
use crate::base::ids::{
    BrokerId, ClientId, GroupId, MemberId, NodeId, Offset, RecordId, TopicId, TopicPartition,
};
use crate::kernel::network::LinkConfig;
use crate::kernel::time::{SimTime, Span};
use crate::sim::scenario::{
    CommitStyle, ConsumerSpec, Processing, ProcessingTime, RestartPolicy, Scenario,
};
use crate::trace::event::{TraceEntry, TraceEvent};
use std::collections::BTreeSet;
use std::sync::Arc;
#[cfg(target_arch = "wasm32")]
use wasm_bindgen_test::wasm_bindgen_test as test;

const FOO: TopicPartition = TopicPartition::new(TopicId(0), 0);
const BROKER: NodeId = NodeId::Broker(BrokerId(1));
const CONSUMER: NodeId = NodeId::Client(ClientId(0));

/// Two consumers of the group `g`.
fn scenario() -> Scenario {
    let consumer = |name: &str| ConsumerSpec {
        name: Arc::from(name),
        config: ConsumerConfig {
            group_id: Some(Arc::from("g")),
            ..ConsumerConfig::default()
        },
        topics: vec![Arc::from("foo")],
        assign: Vec::new(),
        start_at: None,
        processing: Processing {
            time: ProcessingTime::Fixed(Span::ZERO),
            rules: Vec::new(),
            commit: CommitStyle::None,
            ..Processing::default()
        },
        restart: RestartPolicy::Never,
        output: None,
    };
    Scenario {
        seed: 1,
        controllers: 1,
        brokers: Vec::new(),
        broker_config: Arc::new(BrokerConfig::default()),
        topics: Vec::new(),
        producers: Vec::new(),
        consumers: vec![consumer("c1"), consumer("c2")],
        network: LinkConfig::default(),
        links: Vec::new(),
        history: crate::base::config::HistoryConfig::default(),
        actions: Vec::new(),
        until: SimTime::ZERO,
    }
}

struct Run {
    measures: Measures,
    next_index: u64,
}

impl Run {
    fn new() -> Self {
        let mut measures = Measures::new(&scenario());
        measures.name_topic("foo", TopicId(0));
        Self {
            measures,
            next_index: 0,
        }
    }

    fn see(&mut self, node: NodeId, event: TraceEvent) {
        let (index, at) = (self.next_index, SimTime::from_millis(self.next_index * 10));
        self.next_index += 1;
        self.measures.observe(&TraceEntry {
            index,
            at,
            node,
            cause: None,
            event,
        });
    }

    fn value(&self, kind: MeasureKind) -> i64 {
        self.measures.value(&Query::all(kind))
    }
}

fn joined(generation_id: i32, members: &[&str]) -> TraceEvent {
    TraceEvent::JoinPhaseCompleted {
        group_id: GroupId::new("g"),
        generation_id,
        members: members.iter().map(|member| MemberId::new(member)).collect(),
        leader: None,
    }
}

fn processed(offset: i64, duplicate: bool) -> TraceEvent {
    TraceEvent::RecordProcessed {
        topic_partition: FOO,
        offset: Offset(offset),
        record_id: RecordId(0),
        generation_id: 1,
        duplicate,
    }
}

#[test]
fn a_rebalance_is_a_join_phase_with_members_after_the_first() {
    let mut run = Run::new();
    run.see(BROKER, joined(1, &["a", "b"]));
    assert_eq!(
        run.value(MeasureKind::Rebalances),
        0,
        "the first assignment is none"
    );
    run.see(BROKER, joined(2, &["a"]));
    run.see(BROKER, joined(3, &[]));
    assert_eq!(
        run.value(MeasureKind::Rebalances),
        1,
        "an empty group shares nothing out"
    );
    assert_eq!(run.value(MeasureKind::Members), 0, "nobody is left");
    run.see(BROKER, joined(4, &["a"]));
    assert_eq!(run.value(MeasureKind::Rebalances), 2, "somebody came back");
    assert_eq!(run.value(MeasureKind::Generation), 4, "generation");
    let other = Query {
        group: Some(Arc::from("h")),
        ..Query::all(MeasureKind::Rebalances)
    };
    assert_eq!(run.measures.value(&other), 0, "another group has none");
}

#[test]
fn lags_and_skips_follow_high_watermark_commits_and_work() {
    let mut run = Run::new();
    let committed = |offset: i64| TraceEvent::OffsetCommitted {
        group_id: GroupId::new("g"),
        topic_partition: FOO,
        offset: Offset(offset),
        member_id: MemberId::new("a"),
        generation_id: 1,
    };
    run.see(
        CONSUMER,
        TraceEvent::PositionSet {
            topic_partition: FOO,
            position: Offset(10),
            from_commit: false,
        },
    );
    run.see(
        BROKER,
        TraceEvent::HighWatermarkAdvanced {
            topic_partition: FOO,
            high_watermark: Offset(20),
            as_leader: true,
        },
    );
    assert_eq!(
        run.value(MeasureKind::ProcessingLag),
        10,
        "from where the group began"
    );
    for offset in [10, 11, 13, 11] {
        run.see(
            CONSUMER,
            processed(offset, offset == 11 && run.next_index == 5),
        );
    }
    run.see(BROKER, committed(12));
    assert_eq!(
        run.value(MeasureKind::ConsumerLag),
        8,
        "high watermark 20, committed 12"
    );
    assert_eq!(
        run.value(MeasureKind::ProcessingLag),
        7,
        "10, 11 and 13 are done"
    );
    assert_eq!(
        run.value(MeasureKind::RecordsSkipped),
        0,
        "everything below 12 is done"
    );
    run.see(BROKER, committed(15));
    assert_eq!(
        run.value(MeasureKind::RecordsSkipped),
        2,
        "12 and 14 were never done"
    );
    assert_eq!(
        run.value(MeasureKind::RecordsProcessed),
        4,
        "repetitions included"
    );
    assert_eq!(run.value(MeasureKind::Duplicates), 1, "one of them");
}

#[test]
fn replicas_lag_behind_the_leader_and_elections_are_counted() {
    let mut run = Run::new();
    let elected = |leader: Option<u32>, previous: Option<u32>| TraceEvent::LeaderElected {
        topic_partition: FOO,
        leader: leader.map(BrokerId),
        previous_leader: previous.map(BrokerId),
        leader_epoch: 0,
        isr: Arc::from([BrokerId(1), BrokerId(2)]),
        unclean: false,
    };
    let appended = |base: i64, end: i64, as_leader: bool| TraceEvent::Appended {
        topic_partition: FOO,
        base_offset: Offset(base),
        log_end_offset: Offset(end),
        as_leader,
    };
    run.see(BROKER, elected(Some(1), None));
    assert_eq!(
        run.value(MeasureKind::Elections),
        0,
        "the first leader is no election"
    );
    run.see(BROKER, appended(0, 5, true));
    run.see(BROKER, appended(5, 9, true));
    run.see(NodeId::Broker(BrokerId(2)), appended(0, 6, false));
    assert_eq!(
        run.value(MeasureKind::RecordsAppended),
        9,
        "leaders alone count"
    );
    assert_eq!(run.value(MeasureKind::ReplicaLag), 3, "9 less 6");
    run.see(BROKER, elected(None, Some(1)));
    run.see(BROKER, elected(Some(2), None));
    assert_eq!(
        run.value(MeasureKind::Elections),
        1,
        "after a time without a leader"
    );
    assert_eq!(
        run.value(MeasureKind::IsrSize),
        2,
        "the ISR that came with it"
    );
}

#[test]
fn acknowledgements_keep_their_last_and_longest_time() {
    let mut run = Run::new();
    let acknowledged = |queued_ms: u64| TraceEvent::BatchAcknowledged {
        topic_partition: FOO,
        base_offset: Offset(0),
        records: 2,
        queued_at: SimTime::from_millis(queued_ms),
    };
    run.next_index = 10;
    run.see(CONSUMER, acknowledged(20));
    run.see(CONSUMER, acknowledged(100));
    assert_eq!(run.value(MeasureKind::AckMs), 10, "the last");
    assert_eq!(run.value(MeasureKind::LongestAckMs), 80, "the longest");
    assert_eq!(
        run.value(MeasureKind::RecordsAcknowledged),
        4,
        "records, not batches"
    );
}

#[test]
fn names_are_unique_and_filters_are_known() {
    let names: BTreeSet<&str> = MeasureKind::ALL.iter().map(|kind| kind.name()).collect();
    assert_eq!(names.len(), MeasureKind::ALL.len(), "each has its own name");
    for kind in MeasureKind::ALL {
        for filter in kind.filters() {
            let known = ["topic", "partition", "group", "client", "broker"].contains(filter);
            assert!(known, "{}: {filter}", kind.name());
        }
        let moves_with_time = matches!(kind.nature(), Nature::Clock | Nature::Stopwatch);
        assert_eq!(
            moves_with_time,
            kind.name().contains("stop") && kind.unit() == "ms",
            "{kind:?}"
        );
    }
}

#[test]
fn a_group_of_the_consumer_protocol_rebalances_with_each_new_target() {
    let mut run = Run::new();
    let computed =
        |target_assignment_epoch: i32, members: u32| TraceEvent::TargetAssignmentComputed {
            group_id: GroupId(Arc::from("billing")),
            assignor: Arc::from("uniform"),
            target_assignment_epoch,
            members,
            changed: Arc::from([]),
        };
    run.see(BROKER, computed(1, 1));
    assert_eq!(run.value(MeasureKind::Rebalances), 0, "the first is none");
    run.see(BROKER, computed(2, 2));
    assert_eq!(run.value(MeasureKind::Rebalances), 1, "a second member");
    assert_eq!(run.value(MeasureKind::Members), 2, "members");
    assert_eq!(run.value(MeasureKind::Generation), 2, "the epoch");
    run.see(BROKER, computed(3, 0));
    assert_eq!(run.value(MeasureKind::Rebalances), 1, "nobody is left");
}
