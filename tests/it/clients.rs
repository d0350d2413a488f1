//! The classic consumer against answers given by hand: the facts T90 to T113 of the group protocol
//! that are about the client, each in the test that names it.

mod applications;
mod listeners;

use std::collections::BTreeMap;
use std::sync::Arc;
use terrarium_core::base::config::{ConsumerConfig, HistoryConfig};
use terrarium_core::base::ids::{
    BrokerId, CorrelationId, MemberId, Offset, RecordId, TopicId, TopicPartition,
};
use terrarium_core::base::timer::Timer;
use terrarium_core::client::consumer::{
    CommitMode, Consumer, ConsumerSettings, OnCommitError, ProcessingSettings, ReadAhead,
};
use terrarium_core::kernel::rng::Stream;
use terrarium_core::kernel::time::{SimTime, Span};
use terrarium_core::trace::event::{Disconnect, MemberState, TraceEvent};
use terrarium_core::trace::out::{Effect, Out};
use terrarium_core::wire::api::{
    ApiKey, ConsumerGroupHeartbeatRequest, ConsumerGroupHeartbeatResponse, FetchPartitionResponse,
    FetchResponse, FindCoordinatorResponse, HeartbeatResponse, JoinGroupMember, JoinGroupRequest,
    JoinGroupResponse, MetadataPartition, MetadataResponse, MetadataTopic, OffsetCommitResponse,
    OffsetFetchResponse, Request, Response, SyncGroupResponse,
};
use terrarium_core::wire::error_code::ErrorCode;
use terrarium_core::wire::record::{Batch, Record, Subscription};

const BROKER: BrokerId = BrokerId(1);
const TOPIC: TopicId = TopicId(0);

/// A consumer of `t`, and everything that it does.
struct Bench {
    consumer: Consumer,
    now: SimTime,
    next_correlation: u64,
    open: Vec<(CorrelationId, Request, Span)>,
    timers: BTreeMap<Timer, SimTime>,
    trace: Vec<TraceEvent>,
}

impl Bench {
    fn new(settings: &[(&str, &str)], commit: CommitMode) -> Self {
        Self::of(settings, |it| it.processing.commit = commit)
    }

    /// A consumer with settings by name and others by hand, which knows its coordinator.
    fn of(settings: &[(&str, &str)], change: impl FnOnce(&mut ConsumerSettings)) -> Self {
        let mut config = ConsumerConfig::default();
        config.set("group.id", "g").expect("a setting");
        for (name, value) in settings {
            if *name == "partition.assignment.strategy" {
                // Whatever the assignors are: here the assignment is given by hand.
                let names = value.split(',').map(Arc::from);
                config.partition_assignment_strategy = names.collect();
            } else {
                config.set(name, value).expect("a setting");
            }
        }
        let mut settings = ConsumerSettings {
            client_id: Arc::from("c"),
            config,
            topics: vec![Arc::from("t")],
            assign: Vec::new(),
            history: HistoryConfig::default(),
            processing: ProcessingSettings {
                time: (Span::ZERO, Span::ZERO, false),
                rules: Vec::new(),
                commit: CommitMode::Never,
                on_commit_error: OnCommitError::GoOn,
                commits_on_revoke: false,
                read_ahead: ReadAhead::Never,
                assignor_time: Span::ZERO,
            },
            has_output: false,
        };
        change(&mut settings);
        let mut bench = Self {
            consumer: Consumer::new(settings, vec![BROKER], Stream::new(1, "consumer")),
            now: SimTime::ZERO,
            next_correlation: 0,
            open: Vec::new(),
            timers: BTreeMap::new(),
            trace: Vec::new(),
        };
        bench.run(Consumer::start);
        bench.answer_metadata(2);
        bench.answer(&Response::FindCoordinator(FindCoordinatorResponse {
            error_code: ErrorCode::None,
            coordinator: Some(BROKER),
        }));
        bench
    }

    /// In the group, generation 1, with partition 0, positioned at 0.
    fn stable(settings: &[(&str, &str)], commit: CommitMode) -> Self {
        Self::stable_of(settings, |it| it.processing.commit = commit)
    }

    fn stable_of(settings: &[(&str, &str)], change: impl FnOnce(&mut ConsumerSettings)) -> Self {
        let mut bench = Self::of(settings, change);
        bench.answer_join("m", 1, &["m"]);
        bench.answer_sync(ErrorCode::None);
        bench.answer(&Response::OffsetFetch(OffsetFetchResponse {
            error_code: ErrorCode::None,
            offsets: vec![(TopicPartition::new(TOPIC, 0), Offset(0), -1)],
        }));
        bench
    }

    fn run(&mut self, handler: impl FnOnce(&mut Consumer, &mut Out)) {
        let mut out = Out::new(self.now, Vec::new(), self.next_correlation);
        handler(&mut self.consumer, &mut out);
        let (effects, next_correlation) = out.into_parts();
        self.next_correlation = next_correlation;
        for effect in effects {
            match effect {
                Effect::Request {
                    correlation,
                    body,
                    timeout,
                    ..
                } => {
                    self.open
                        .push((correlation, body, timeout.unwrap_or_default()));
                }
                Effect::Arm(timer, at) => {
                    self.timers.insert(timer, at);
                }
                Effect::Cancel(timer) => {
                    self.timers.remove(&timer);
                }
                Effect::Trace(event) => self.trace.push(event),
                Effect::Response { .. }
                | Effect::TraceCommitted(..)
                | Effect::Close(_)
                | Effect::Exit(_) => {}
            }
        }
    }

    /// The latest open request of an API.
    fn find(&self, api: ApiKey) -> Option<&(CorrelationId, Request, Span)> {
        let mut open = self.open.iter().rev();
        open.find(|(_, body, _)| body.api_key() == api)
    }

    fn take(&mut self, api: ApiKey) -> CorrelationId {
        let found = self.find(api).map(|(correlation, ..)| *correlation);
        let correlation = found.unwrap_or_else(|| panic!("no {api} is open: {:?}", self.open));
        self.open.retain(|(other, ..)| *other != correlation);
        correlation
    }

    fn answer(&mut self, response: &Response) {
        let correlation = self.take(response.api_key());
        self.run(|consumer, out| {
            assert!(
                consumer.on_response(BROKER, correlation, response, out),
                "it was asked for"
            );
        });
    }

    fn answer_metadata(&mut self, partitions: usize) {
        let partition = MetadataPartition {
            leader: Some(BROKER),
            leader_epoch: 0,
        };
        self.answer(&Response::Metadata(MetadataResponse {
            brokers: vec![BROKER],
            topics: vec![MetadataTopic {
                name: Arc::from("t"),
                topic_id: Some(TOPIC),
                error_code: ErrorCode::None,
                partitions: vec![partition; partitions],
            }],
        }));
    }

    fn answer_join(&mut self, member: &str, generation_id: i32, members: &[&str]) {
        let listed = members.iter().map(|id| JoinGroupMember {
            member_id: MemberId::new(id),
            group_instance_id: None,
            subscription: Arc::new(Subscription {
                topics: vec![Arc::from("t")],
                generation_id: -1,
                ..Subscription::default()
            }),
        });
        self.answer(&Response::JoinGroup(JoinGroupResponse {
            error_code: ErrorCode::None,
            generation_id,
            protocol_type: Some(Arc::from("consumer")),
            protocol_name: Some(Arc::from("range")),
            leader: MemberId::new(members.first().unwrap_or(&"somebody else")),
            skip_assignment: false,
            member_id: MemberId::new(member),
            members: listed.collect(),
        }));
    }

    fn refuse_join(&mut self, error_code: ErrorCode, member: &str) {
        self.answer(&Response::JoinGroup(JoinGroupResponse {
            error_code,
            generation_id: -1,
            protocol_type: None,
            protocol_name: None,
            leader: MemberId::default(),
            skip_assignment: false,
            member_id: MemberId::new(member),
            members: Vec::new(),
        }));
    }

    fn answer_sync(&mut self, error_code: ErrorCode) {
        self.answer(&Response::SyncGroup(SyncGroupResponse {
            error_code,
            protocol_type: None,
            protocol_name: None,
            assignment: Arc::new(vec![TopicPartition::new(TOPIC, 0)]),
        }));
    }

    /// An assignment of these partitions.
    fn assign(&mut self, partitions: &[u32]) {
        let partitions = partitions.iter().map(|id| TopicPartition::new(TOPIC, *id));
        self.answer(&Response::SyncGroup(SyncGroupResponse {
            error_code: ErrorCode::None,
            protocol_type: None,
            protocol_name: None,
            assignment: Arc::new(partitions.collect()),
        }));
    }

    /// Every partition that is asked for was committed at 0.
    fn answer_offsets(&mut self) {
        let asked = match self.find(ApiKey::OffsetFetch) {
            Some((_, Request::OffsetFetch(request), _)) => request.partitions.clone(),
            _ => panic!("no OffsetFetch is open: {:?}", self.open),
        };
        self.answer(&Response::OffsetFetch(OffsetFetchResponse {
            error_code: ErrorCode::None,
            offsets: asked.into_iter().map(|id| (id, Offset(0), -1)).collect(),
        }));
    }

    fn answer_heartbeat(&mut self, error_code: ErrorCode) {
        self.answer(&Response::Heartbeat(HeartbeatResponse { error_code }));
    }

    fn answer_commit(&mut self, error_code: ErrorCode) {
        self.answer(&Response::OffsetCommit(OffsetCommitResponse {
            partitions: vec![(TopicPartition::new(TOPIC, 0), error_code)],
        }));
    }

    /// Hands over one record.
    fn answer_fetch(&mut self, offset: i64) {
        self.answer_fetch_of(0, offset, &["v"]);
    }

    /// Hands over records of a partition.
    fn answer_fetch_of(&mut self, partition: u32, offset: i64, values: &[&str]) {
        let records = values
            .iter()
            .map(|value| Record::text(RecordId(7), None, Arc::from(*value), self.now));
        let end = offset + i64::try_from(values.len()).expect("few records");
        let batch = Batch {
            base_offset: Offset(offset),
            leader_epoch: 0,
            ..Batch::new(records.collect())
        };
        self.answer_fetch_with(partition, end, &[batch]);
    }

    fn answer_fetch_with(&mut self, partition: u32, end: i64, batches: &[Batch]) {
        let mine = TopicPartition::new(TOPIC, partition);
        let asked = match self.find(ApiKey::Fetch) {
            Some((_, Request::Fetch(request), _)) => request.partitions.clone(),
            _ => panic!("no Fetch is open: {:?}", self.open),
        };
        let answers = asked.iter().map(|asked| FetchPartitionResponse {
            topic_partition: asked.topic_partition,
            error_code: ErrorCode::None,
            high_watermark: Offset(end),
            last_stable_offset: Offset(end),
            log_start_offset: Offset(0),
            diverging_epoch: None,
            preferred_read_replica: None,
            current_leader: None,
            aborted: Vec::new(),
            batches: if asked.topic_partition == mine {
                batches.to_vec()
            } else {
                Vec::new()
            },
        });
        let partitions = answers.collect();
        self.answer(&Response::Fetch(FetchResponse { partitions }));
    }

    fn disconnect(&mut self, api: ApiKey) {
        let correlation = self.take(api);
        self.run(|consumer, out| {
            consumer.on_disconnect(BROKER, correlation, Disconnect::PeerDied, out);
        });
    }

    /// Lets time pass up to `millis`; timers fire when they are due.
    fn pass(&mut self, millis: u64) {
        let until = SimTime::from_millis(millis);
        while let Some((timer, at)) = self
            .timers
            .iter()
            .min_by_key(|(_, at)| **at)
            .filter(|(_, at)| **at <= until)
            .map(|(timer, at)| (timer.clone(), *at))
        {
            self.timers.remove(&timer);
            self.now = self.now.max(at);
            self.run(|consumer, out| {
                consumer.on_timer(&timer, out);
            });
        }
        self.now = until;
    }

    fn join(&self) -> &JoinGroupRequest {
        match self.find(ApiKey::JoinGroup) {
            Some((_, Request::JoinGroup(request), _)) => request,
            _ => panic!("no JoinGroup is open: {:?}", self.open),
        }
    }

    /// What the last refused commit looked like to the application.
    fn commit_exception(&self) -> Option<&str> {
        self.trace.iter().rev().find_map(|event| match event {
            TraceEvent::CommitFailed { exception, .. } => exception.as_deref(),
            _ => None,
        })
    }

    fn count(&self, name: &str) -> usize {
        self.trace
            .iter()
            .filter(|event| event.name() == name)
            .count()
    }

    /// Callbacks and requests to join, in order: `revoked [0]`, `assigned [] of [0]`, `lost [0]`,
    /// `join: …`.
    fn callbacks(&self) -> Vec<String> {
        let list = |ids: &[TopicPartition]| {
            let ids: Vec<u32> = ids.iter().map(|id| id.partition).collect();
            format!("{ids:?}")
        };
        let mut told = Vec::new();
        for event in &self.trace {
            match event {
                TraceEvent::PartitionsRevoked { partitions, .. } => {
                    told.push(format!("revoked {}", list(partitions)));
                }
                TraceEvent::PartitionsLost { partitions } => {
                    told.push(format!("lost {}", list(partitions)));
                }
                TraceEvent::PartitionsAssigned { added, owned, .. } => {
                    told.push(format!("assigned {} of {}", list(added), list(owned)));
                }
                TraceEvent::RejoinRequested { reason } => told.push(format!("join: {reason}")),
                _ => {}
            }
        }
        told
    }

    /// Offsets of partition 0 that were processed, in order.
    fn processed(&self) -> Vec<i64> {
        let processed = self.trace.iter().filter_map(|event| match event {
            TraceEvent::RecordProcessed { offset, .. } => Some(offset.0),
            _ => None,
        });
        processed.collect()
    }

    /// The offsets in the commit that is open.
    fn committing(&self) -> Vec<(u32, i64)> {
        match self.find(ApiKey::OffsetCommit) {
            Some((_, Request::OffsetCommit(commit), _)) => {
                let offsets = commit.offsets.iter();
                offsets.map(|(id, at, _)| (id.partition, at.0)).collect()
            }
            _ => Vec::new(),
        }
    }

    fn has_failed_with(&self, wanted: &str) -> bool {
        self.trace.iter().any(
            |event| matches!(event, TraceEvent::FatalError { exception } if &**exception == wanted),
        )
    }
}

/// A member that has read a record and committed it; the answer is outstanding.
fn committing(commit: CommitMode) -> Bench {
    let mut bench = Bench::stable(&[("enable.auto.commit", "false")], commit);
    bench.answer_fetch(0);
    bench.pass(1);
    assert!(
        bench.find(ApiKey::OffsetCommit).is_some(),
        "the commit is on its way"
    );
    bench
}

#[test]
fn a_new_member_comes_back_with_its_id_t90_t92() {
    let mut bench = Bench::new(&[], CommitMode::Never);
    assert!(bench.join().member_id.is_empty(), "a new member has no id");
    bench.refuse_join(ErrorCode::MemberIdRequired, "c-1");
    assert_eq!(
        bench.join().member_id.as_str(),
        "c-1",
        "T90: at once, with the id"
    );
    assert_eq!(bench.consumer.generation_id(), -1, "T90");
    bench.disconnect(ApiKey::JoinGroup);
    bench.pass(2_000);
    bench.answer(&Response::FindCoordinator(FindCoordinatorResponse {
        error_code: ErrorCode::None,
        coordinator: Some(BROKER),
    }));
    assert_eq!(
        bench.join().member_id.as_str(),
        "c-1",
        "T92: the id is kept"
    );
}

#[test]
fn a_join_may_take_as_long_as_a_rebalance_t91() {
    for (max_poll, expected) in [("1000", 30_000), ("60000", 65_000)] {
        let bench = Bench::new(&[("max.poll.interval.ms", max_poll)], CommitMode::Never);
        let (_, _, timeout) = bench.find(ApiKey::JoinGroup).expect("it joins");
        assert_eq!(*timeout, Span::from_millis(expected), "T91: {max_poll}");
    }
}

#[test]
fn the_first_join_revokes_nothing_t93() {
    let mut bench = Bench::new(&[], CommitMode::Never);
    bench.answer_join("m", 1, &["somebody else"]);
    bench.answer_sync(ErrorCode::None);
    assert_eq!(bench.count("partitions-revoked"), 0, "T93");
    assert_eq!(bench.count("partitions-assigned"), 1, "T93");
}

#[test]
fn who_is_out_of_the_group_has_lost_its_partitions_t94() {
    for error_code in [ErrorCode::IllegalGeneration, ErrorCode::UnknownMemberId] {
        let mut bench = Bench::stable(&[], CommitMode::Never);
        bench.pass(3_000);
        bench.answer_heartbeat(error_code);
        assert_eq!(bench.count("partitions-lost"), 1, "T94: {error_code}");
        assert_eq!(bench.count("partitions-revoked"), 0, "T94: {error_code}");
        let keeps = error_code == ErrorCode::IllegalGeneration;
        assert_eq!(
            bench.join().member_id.is_empty(),
            !keeps,
            "T94: {error_code}"
        );
    }
}

#[test]
fn a_refused_sync_joins_again_t95_to_t97() {
    let rows = [
        (ErrorCode::UnknownMemberId, "", -1, "T95"),
        (ErrorCode::IllegalGeneration, "m", -1, "T96"),
        (ErrorCode::RebalanceInProgress, "m", 1, "T97"),
    ];
    for (error_code, member, generation_id, fact) in rows {
        let mut bench = Bench::new(&[], CommitMode::Never);
        bench.answer_join("m", 1, &[]);
        bench.answer_sync(error_code);
        assert_eq!(bench.join().member_id.as_str(), member, "{fact}: at once");
        assert_eq!(bench.consumer.generation_id(), generation_id, "{fact}");
    }
}

#[test]
fn answers_to_an_older_generation_are_ignored_t98() {
    for error_code in [
        ErrorCode::IllegalGeneration,
        ErrorCode::UnknownMemberId,
        ErrorCode::FencedInstanceId,
    ] {
        let mut bench = Bench::stable(&[("enable.auto.commit", "false")], CommitMode::Never);
        bench.pass(3_000);
        let late = bench.take(ApiKey::Heartbeat);
        bench.pass(6_000);
        bench.answer_heartbeat(ErrorCode::RebalanceInProgress);
        bench.answer_join("m", 2, &["m"]);
        bench.answer_sync(ErrorCode::None);
        let response = Response::Heartbeat(HeartbeatResponse { error_code });
        bench.run(|consumer, out| {
            consumer.on_response(BROKER, late, &response, out);
        });
        assert_eq!(
            bench.consumer.member_state(),
            MemberState::Stable,
            "T98: {error_code}"
        );
        assert_eq!(bench.consumer.generation_id(), 2, "T98: {error_code}");
    }
}

#[test]
fn heartbeats_go_on_while_the_sync_is_parked_t99() {
    let mut bench = Bench::new(&[], CommitMode::Never);
    bench.answer_join("m", 1, &[]);
    assert_eq!(
        bench.consumer.member_state(),
        MemberState::CompletingRebalance,
        "T99"
    );
    assert!(bench.find(ApiKey::Heartbeat).is_none(), "T99: not yet");
    bench.pass(3_000);
    assert!(bench.find(ApiKey::Heartbeat).is_some(), "T99");
    bench.answer_heartbeat(ErrorCode::RebalanceInProgress);
    assert!(
        bench.find(ApiKey::JoinGroup).is_none(),
        "ignored while it syncs"
    );
}

#[test]
fn a_leader_watches_the_number_of_partitions_t100() {
    let mut bench = Bench::stable(
        &[
            ("enable.auto.commit", "false"),
            ("metadata.max.age.ms", "2000"),
        ],
        CommitMode::Never,
    );
    bench.pass(2_000);
    bench.answer_metadata(3);
    let reason = bench.join().reason.clone();
    assert_eq!(
        reason.as_deref(),
        Some("cached metadata has changed"),
        "T100"
    );
}

#[test]
fn a_synchronous_commit_that_comes_too_late_fails_t102_t103() {
    for (error_code, member) in [
        (ErrorCode::IllegalGeneration, "m"),
        (ErrorCode::UnknownMemberId, ""),
    ] {
        let mut bench = committing(CommitMode::Sync);
        bench.answer_commit(error_code);
        assert_eq!(
            bench.commit_exception(),
            Some("CommitFailedException"),
            "T102: {error_code}"
        );
        assert_eq!(
            bench.join().member_id.as_str(),
            member,
            "T103: {error_code}"
        );
        assert_eq!(bench.consumer.generation_id(), -1, "T103: {error_code}");
    }
}

#[test]
fn a_commit_of_an_older_generation_resets_nothing_t104() {
    let mut bench = committing(CommitMode::Async);
    let late = bench.take(ApiKey::OffsetCommit);
    bench.pass(3_000);
    bench.answer_heartbeat(ErrorCode::RebalanceInProgress);
    bench.answer_join("m", 2, &["m"]);
    bench.answer_sync(ErrorCode::None);
    bench.pass(6_000);
    bench.answer_heartbeat(ErrorCode::RebalanceInProgress);
    assert_eq!(
        bench.consumer.member_state(),
        MemberState::PreparingRebalance,
        "T104"
    );
    let response = Response::OffsetCommit(OffsetCommitResponse {
        partitions: vec![(TopicPartition::new(TOPIC, 0), ErrorCode::IllegalGeneration)],
    });
    bench.run(|consumer, out| {
        consumer.on_response(BROKER, late, &response, out);
    });
    assert_eq!(
        bench.commit_exception(),
        Some("RebalanceInProgressException"),
        "T104"
    );
    assert_eq!(bench.consumer.generation_id(), 2, "T104: no reset");
    assert_eq!(bench.consumer.member_id().as_str(), "m", "T104: no reset");
}

#[test]
fn a_commit_during_a_rebalance_asks_to_join_t105() {
    let mut bench = committing(CommitMode::Sync);
    bench.answer_commit(ErrorCode::RebalanceInProgress);
    assert_eq!(
        bench.commit_exception(),
        Some("RebalanceInProgressException"),
        "T105"
    );
    assert_eq!(bench.join().member_id.as_str(), "m", "T105");
    assert_eq!(
        bench.consumer.generation_id(),
        1,
        "T105: the generation is kept"
    );
}

#[test]
fn who_leaves_says_so_unless_it_is_static_t106_t107() {
    let mut bench = Bench::new(&[], CommitMode::Never);
    bench.refuse_join(ErrorCode::MemberIdRequired, "c-1");
    bench.run(Consumer::request_close);
    match bench.find(ApiKey::LeaveGroup) {
        Some((_, Request::LeaveGroup(leave), _)) => {
            let ids: Vec<&str> = leave
                .members
                .iter()
                .map(|it| it.member_id.as_str())
                .collect();
            assert_eq!(ids, ["c-1"], "T106");
        }
        _ => panic!("T106: it does not leave"),
    }
    let mut bench = Bench::stable(&[("group.instance.id", "i")], CommitMode::Never);
    bench.run(Consumer::request_close);
    bench.answer_commit(ErrorCode::None);
    assert!(bench.find(ApiKey::LeaveGroup).is_none(), "T107");
    assert_eq!(
        bench.count("partitions-revoked"),
        1,
        "callbacks all the same"
    );
}

#[test]
fn an_automatic_commit_is_tried_again_soon_t108() {
    let mut bench = Bench::stable(&[], CommitMode::Never);
    bench.answer_fetch(0);
    bench.pass(5_000);
    bench.answer_commit(ErrorCode::CoordinatorLoadInProgress);
    bench.pass(5_099);
    assert!(
        bench.find(ApiKey::OffsetCommit).is_none(),
        "T108: not at once"
    );
    bench.pass(5_100);
    assert!(
        bench.find(ApiKey::OffsetCommit).is_some(),
        "T108: after retry.backoff.ms"
    );
}

#[test]
fn a_leader_that_is_told_to_skip_brings_no_assignment_t111() {
    let mut bench = Bench::new(
        &[
            ("enable.auto.commit", "false"),
            ("metadata.max.age.ms", "2000"),
        ],
        CommitMode::Never,
    );
    bench.answer(&Response::JoinGroup(JoinGroupResponse {
        error_code: ErrorCode::None,
        generation_id: 1,
        protocol_type: Some(Arc::from("consumer")),
        protocol_name: Some(Arc::from("range")),
        leader: MemberId::new("m"),
        skip_assignment: true,
        member_id: MemberId::new("m"),
        members: Vec::new(),
    }));
    match bench.find(ApiKey::SyncGroup) {
        Some((_, Request::SyncGroup(sync), _)) => {
            assert!(sync.assignments.is_empty(), "T111: {:?}", sync.assignments);
        }
        _ => panic!("T111: it does not sync"),
    }
    assert_eq!(bench.count("assignment-computed"), 0, "T111");
    bench.answer_sync(ErrorCode::None);
    bench.pass(2_000);
    bench.answer_metadata(3);
    assert!(
        bench.find(ApiKey::JoinGroup).is_some(),
        "T111: it watches the partitions"
    );
}

#[test]
fn a_long_reason_is_cut_t112() {
    let mut bench = Bench::new(&[], CommitMode::Never);
    bench.refuse_join(ErrorCode::MemberIdRequired, &"c".repeat(300));
    let reason = bench.join().reason.clone().expect("there is a reason");
    assert_eq!(reason.len(), 255, "T112");
    assert_eq!(
        bench.join().member_id.as_str().len(),
        300,
        "the id is whole"
    );
}

#[test]
fn refusals_that_end_a_consumer_t113() {
    let rows = [
        (
            ErrorCode::GroupMaxSizeReached,
            "GroupMaxSizeReachedException",
        ),
        (ErrorCode::FencedInstanceId, "FencedInstanceIdException"),
        (
            ErrorCode::InconsistentGroupProtocol,
            "InconsistentGroupProtocolException",
        ),
        (
            ErrorCode::InvalidSessionTimeout,
            "InvalidSessionTimeoutException",
        ),
    ];
    for (error_code, exception) in rows {
        let mut bench = Bench::new(&[], CommitMode::Never);
        bench.refuse_join(error_code, "");
        assert!(bench.has_failed_with(exception), "T113: {error_code}");
    }
}

/// A member of the consumer protocol in epoch 5, with partition 0, positioned at 0.
fn member(settings: &[(&str, &str)], commit: CommitMode) -> Bench {
    let mut bench = Bench::new(
        &[&[("group.protocol", "consumer")], settings].concat(),
        commit,
    );
    bench.answer_beat(ErrorCode::None, 5, Some(&[0]));
    bench.answer(&Response::OffsetFetch(OffsetFetchResponse {
        error_code: ErrorCode::None,
        offsets: vec![(TopicPartition::new(TOPIC, 0), Offset(0), -1)],
    }));
    // The acknowledgement.
    bench.answer_beat(ErrorCode::None, 5, None);
    bench
}

impl Bench {
    fn answer_beat(&mut self, error_code: ErrorCode, member_epoch: i32, owns: Option<&[u32]>) {
        let assignment = owns.map(|numbers| {
            let owned = numbers.iter().map(|it| TopicPartition::new(TOPIC, *it));
            Arc::new(owned.collect())
        });
        self.answer(&Response::ConsumerGroupHeartbeat(
            ConsumerGroupHeartbeatResponse {
                error_code,
                member_id: MemberId::new("m"),
                member_epoch,
                heartbeat_interval_ms: 5_000,
                assignment,
            },
        ));
    }

    fn beat(&self) -> Option<&ConsumerGroupHeartbeatRequest> {
        match self.find(ApiKey::ConsumerGroupHeartbeat) {
            Some((_, Request::ConsumerGroupHeartbeat(request), _)) => Some(request),
            _ => None,
        }
    }
}

#[test]
fn when_a_failed_heartbeat_of_the_consumer_protocol_is_sent_again_t148_t151() {
    let mut bench = member(&[], CommitMode::Never);
    bench.pass(5_000);
    assert!(bench.beat().is_some(), "a heartbeat each interval");
    bench.answer_beat(ErrorCode::CoordinatorLoadInProgress, 0, None);
    bench.pass(5_070);
    assert!(bench.beat().is_none(), "T148: 14 waits for the back-off");
    bench.pass(5_130);
    let again = bench.beat().expect("T148: then it is sent again");
    assert_eq!(again.member_epoch, 5, "T148: in its epoch");
    assert!(
        again.topic_partitions.is_some() && again.subscribed_topic_names.is_some(),
        "T148: and says everything"
    );
    for error_code in [
        ErrorCode::NotCoordinator,
        ErrorCode::CoordinatorNotAvailable,
    ] {
        bench.answer_beat(error_code, 0, None);
        assert!(bench.beat().is_none(), "T148: the coordinator is looked up");
        bench.answer(&Response::FindCoordinator(FindCoordinatorResponse {
            error_code: ErrorCode::None,
            coordinator: Some(BROKER),
        }));
        assert!(bench.beat().is_some(), "T148: {error_code}: then at once");
    }
    for error_code in [ErrorCode::UnknownMemberId, ErrorCode::FencedMemberEpoch] {
        bench.answer_beat(error_code, 0, None);
        let again = bench.beat().expect("T148: at once");
        assert_eq!(
            (again.member_id.as_str(), again.member_epoch),
            ("m", 0),
            "T151: {error_code}: the id is kept, the epoch is 0"
        );
    }
    assert_eq!(bench.count("partitions-lost"), 1, "T151: what it had");
}

#[test]
fn commits_of_the_consumer_protocol_change_no_membership_m18() {
    let rows = [
        (
            ErrorCode::UnknownMemberId,
            Some("CommitFailedException"),
            false,
        ),
        (
            ErrorCode::FencedInstanceId,
            Some("CommitFailedException"),
            false,
        ),
        (
            ErrorCode::StaleMemberEpoch,
            Some("CommitFailedException"),
            false,
        ),
        (ErrorCode::CoordinatorLoadInProgress, None, false),
        (ErrorCode::UnknownTopicOrPartition, None, false),
        (ErrorCode::NotCoordinator, None, true),
        (ErrorCode::CoordinatorNotAvailable, None, true),
        (ErrorCode::RequestTimedOut, None, true),
        (
            ErrorCode::OffsetMetadataTooLarge,
            Some("KafkaException"),
            false,
        ),
    ];
    for (error_code, exception, looks_up) in rows {
        let mut bench = member(&[("enable.auto.commit", "false")], CommitMode::Sync);
        bench.answer_fetch(0);
        bench.pass(1);
        bench.answer_commit(error_code);
        assert_eq!(
            bench.commit_exception(),
            exception,
            "group M18: {error_code}"
        );
        assert_eq!(
            bench.consumer.member_state(),
            MemberState::Stable,
            "group M18: {error_code}: only heartbeats fence"
        );
        assert_eq!(
            bench.find(ApiKey::FindCoordinator).is_some(),
            looks_up,
            "group M18: {error_code}"
        );
    }
}

#[test]
fn close_revokes_in_an_epoch_and_loses_without_one_m19_t150() {
    let mut bench = member(&[("enable.auto.commit", "false")], CommitMode::Never);
    bench.run(Consumer::request_close);
    assert_eq!(bench.count("partitions-revoked"), 1, "group M19");
    let leave = bench.beat().expect("it leaves");
    assert_eq!(leave.member_epoch, -1, "T150: for good");
    let settings = [
        ("enable.auto.commit", "false"),
        ("group.instance.id", "one"),
    ];
    let mut bench = member(&settings, CommitMode::Never);
    bench.run(Consumer::request_close);
    let leave = bench.beat().expect("it leaves");
    assert_eq!(leave.member_epoch, -2, "T150: for a while");
    let mut bench = Bench::new(&[("group.protocol", "consumer")], CommitMode::Never);
    bench.run(Consumer::request_close);
    let calls = bench.count("partitions-revoked") + bench.count("partitions-lost");
    assert_eq!(calls, 0, "group M19: nothing is called about nothing");
}

#[test]
fn what_cannot_be_resolved_stays_pending_and_the_rest_is_acknowledged_m20() {
    let mut bench = member(&[("enable.auto.commit", "false")], CommitMode::Never);
    bench.pass(5_000);
    let unknown = TopicPartition::new(TopicId(7), 0);
    bench.answer(&Response::ConsumerGroupHeartbeat(
        ConsumerGroupHeartbeatResponse {
            error_code: ErrorCode::None,
            member_id: MemberId::new("m"),
            member_epoch: 6,
            heartbeat_interval_ms: 5_000,
            assignment: Some(Arc::new(vec![TopicPartition::new(TOPIC, 0), unknown])),
        },
    ));
    let beat = bench.beat().expect("group M20: it acknowledges at once");
    assert_eq!(
        beat.topic_partitions.as_deref(),
        Some(&vec![TopicPartition::new(TOPIC, 0)]),
        "group M20: what it has"
    );
    assert_eq!(
        bench.consumer.member_state(),
        MemberState::Reconciling,
        "group M20: with the rest pending"
    );
    bench.answer_beat(ErrorCode::None, 6, None);
    assert!(bench.beat().is_none(), "group M20: once");
}
