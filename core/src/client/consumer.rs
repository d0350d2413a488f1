//! The consumer: poll loop, membership, heartbeat thread, fetching, committing, and the
//! application around it.
//!
//! An application calls `poll`, works through what it returns, and calls `poll` again. The classic
//! consumer does everything but heartbeats inside `poll`, so a slow record holds up a rebalance.

mod app;
mod calls;
mod commit;
mod consumer_protocol;
mod fetch;
mod heartbeat;
mod join;
mod listener;
mod position;
mod read_ahead;

pub use app::{AfterCommit, App, Closing, Work};
pub use calls::{ApplicationCall, SeekTo};
pub use position::OwnedPartition;
pub use read_ahead::ReadAhead;

use self::consumer_protocol::GroupHeartbeat;
use self::heartbeat::HeartbeatThread;
use super::backoff::{Backoff, SHORTEST};
use super::metadata::{ClientMetadata, MetadataConfig};
use crate::base::config::{ConsumerConfig, HistoryConfig};
use crate::base::ids::{
    BrokerId, CorrelationId, GroupId, InstanceId, MemberId, Offset, TopicPartition,
};
use crate::base::timer::Timer;
use crate::base::user_data::UserData;
use crate::kernel::rng::Stream;
use crate::kernel::time::{SimTime, Span};
use crate::trace::event::{Disconnect, MemberState, TraceEvent};
use crate::trace::out::{Exit, Out};
use crate::wire::api::{JoinGroupResponse, OffsetCommitRequest, Response};
use crate::wire::record::Record;
use serde::Serialize;
use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

/// A consumer process (`ClassicKafkaConsumer` and the application that drives it).
#[derive(Clone, Debug, Serialize)]
pub struct Consumer {
    settings: ConsumerSettings,
    metadata: ClientMetadata,
    membership: Membership,
    heartbeat: HeartbeatThread,
    /// Of the consumer protocol.
    group_heartbeat: GroupHeartbeat,
    /// The coordinator; unset while it is unknown.
    coordinator: Option<BrokerId>,
    /// Whether a lookup is on its way or waits for its back-off.
    is_looking_up: bool,
    lookup_failures: u32,
    /// The partitions that it owns.
    partitions: BTreeMap<TopicPartition, OwnedPartition>,
    /// Partitions with buffered records, in the order in which they arrived.
    buffered: VecDeque<TopicPartition>,
    /// The fetch in flight to each broker.
    fetches: BTreeMap<BrokerId, CorrelationId>,
    requests: BTreeMap<CorrelationId, Purpose>,
    app: App,
    /// Until when `commitSync()` tries again; unset while it is not called.
    commit_until: Option<SimTime>,
    /// What follows when the commit is settled that the application waits for.
    after_commit: AfterCommit,
    /// Records that are being delivered beside `poll`; unset unless the application reads ahead.
    delivery: Option<Work>,
    /// Records delivered beside `poll` since the last commit.
    delivered: u32,
    /// What the application is to call when it is back at `poll`.
    calls: VecDeque<ApplicationCall>,
    /// Answers that nobody reads before the next `poll`.
    #[serde(skip)]
    unread: VecDeque<(CorrelationId, Response)>,
    /// Whether `close()` has been asked for and waits for the records in hand.
    stop_requested: bool,
    /// When the next automatic commit is due.
    auto_commit_at: SimTime,
    /// When `poll` was last called.
    last_poll_at: SimTime,
    /// An exception that the next `poll` throws.
    failure: Option<Arc<str>>,
    /// Positions are asked for again at this instant.
    positions_retry_at: SimTime,
    position_failures: u32,
    stream: Stream,
    records_processed: u64,
    /// The commit that a transaction is to carry.
    #[serde(skip)]
    transaction: Option<OffsetCommitRequest>,
    /// Processed records that go on to the output topic.
    #[serde(skip)]
    outputs: Vec<Record>,
}

/// What a consumer is made with.
#[derive(Clone, Debug, Serialize)]
pub struct ConsumerSettings {
    /// Its `client.id`.
    pub client_id: Arc<str>,
    /// Its settings.
    pub config: ConsumerConfig,
    /// Its subscription, sorted.
    pub topics: Vec<Arc<str>>,
    /// Partitions that it takes by hand with `assign()`, outside any group; then it subscribes to
    /// nothing.
    pub assign: Vec<(Arc<str>, u32)>,
    /// What its release did otherwise.
    pub history: HistoryConfig,
    /// How the application works.
    pub processing: ProcessingSettings,
    /// Whether processed records go on to an output topic.
    pub has_output: bool,
}

/// How an application works through records.
#[derive(Clone, Debug, Serialize)]
pub struct ProcessingSettings {
    /// Shortest and longest time for a record, and whether times are exponential with the first as
    /// their mean.
    pub time: (Span, Span, bool),
    /// What records of exactly this text do.
    pub rules: Vec<(Arc<str>, RecordEffect)>,
    /// When the application commits by itself.
    pub commit: CommitMode,
    /// What it does when `commitSync()` throws.
    pub on_commit_error: OnCommitError,
    /// Whether its listener commits in `onPartitionsRevoked`, and in `onPartitionsLost`.
    pub commits_on_revoke: bool,
    /// Whether it polls on while it delivers, and what its listener does with what it has read.
    pub read_ahead: ReadAhead,
    /// How long its assignor takes when it leads the group.
    pub assignor_time: Span,
}

/// What a record of a certain text does to the application.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum RecordEffect {
    /// It takes this long.
    Takes(Span),
    /// The process crashes when it takes the record up.
    Crashes,
    /// The application cannot handle it, and seeks past it.
    Skips {
        /// Whether it commits the offset after it, too.
        commits: bool,
    },
}

/// What an application does when `commitSync()` throws.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum OnCommitError {
    /// It goes on with the next record.
    #[default]
    GoOn,
    /// It drops the rest of the batch and polls; its position is past all of it.
    DropBatch,
    /// It drops the rest of the batch and seeks back to the first record that is not done.
    SeekBack,
}

/// When an application commits by itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum CommitMode {
    /// Never.
    Never,
    /// `commitSync()` after each batch.
    Sync,
    /// `commitSync()` after each record.
    SyncEach,
    /// `commitSync()` of a whole batch before the first of its records: at most once.
    SyncBefore,
    /// `commitAsync()` after each batch.
    Async,
    /// `sendOffsetsToTransaction()` after each batch.
    Transaction,
}

/// What a consumer knows of its place in the group (`AbstractCoordinator`).
#[derive(Clone, Debug, Serialize)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is a flag of its own in Kafka"
)]
struct Membership {
    state: MemberState,
    /// -1 for none. In the consumer protocol the member epoch: 0 while it joins.
    generation_id: i32,
    member_id: MemberId,
    protocol_name: Option<Arc<str>>,
    rejoin_needed: bool,
    /// Goes into the next JoinGroup; empty prints as `not provided`.
    rejoin_reason: Arc<str>,
    /// Whether `onJoinPrepare` has to run before the next JoinGroup.
    needs_join_prepare: bool,
    /// While the commit before a rebalance is awaited: until when at most.
    preparing_until: Option<SimTime>,
    /// How far that commit has come.
    prepare_commit: PrepareCommit,
    /// Whether JoinGroup or SyncGroup is on its way or parked.
    call_in_flight: bool,
    /// The assignment that a SyncGroup brought, until `onJoinComplete` has run, and the generation
    /// that it is of.
    assigned: Option<(i32, Arc<Vec<TopicPartition>>)>,
    /// The topics of the last JoinGroup; unset before the first.
    joined_topics: Option<Vec<Arc<str>>>,
    /// How far the commit in a callback has come.
    listener: Listener,
    /// The next try, after a failure with back-off.
    retry_at: SimTime,
    failures: u32,
    is_leader: bool,
    /// As leader: the members' subscriptions, while fresh metadata or the assignor are awaited.
    pending_assignment: Option<JoinGroupResponse>,
    /// As leader: until when the assignor takes its time; unset while it does not run.
    assignor_until: Option<SimTime>,
    /// As leader: partition counts that the assignment was computed with.
    assignment_snapshot: Option<BTreeMap<Arc<str>, u32>>,
    /// What each assignor remembers of the last assignment that it was the choice for.
    memories: Vec<(Arc<str>, UserData)>,
}

/// How far a commit in a callback of the listener has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
enum Listener {
    /// No callback runs.
    Idle,
    /// `commitSync()` in it has not returned.
    Committing,
    /// It has returned, or thrown.
    Done,
}

/// How far the commit before a rebalance has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
enum PrepareCommit {
    /// It has to be sent, for the first time or again.
    Wanted,
    /// It is on its way.
    InFlight,
    /// It is stored, or hopeless, or there is nothing to commit.
    Settled,
}

/// Why a request was sent.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
enum Purpose {
    FindCoordinator,
    Join,
    Sync {
        generation_id: i32,
        member_id: MemberId,
    },
    Heartbeat {
        generation_id: i32,
        member_id: MemberId,
    },
    Leave,
    /// With the epoch that it carries.
    GroupHeartbeat(i32),
    Commit(commit::CommitCall),
    OffsetFetch(Vec<TopicPartition>),
    ListOffsets(Vec<TopicPartition>),
    /// Each partition with the leader's epoch and the position's.
    Validate(Vec<(TopicPartition, i32, i32)>),
    /// From this leader, each partition at this offset.
    Fetch(BrokerId, Vec<(TopicPartition, Offset)>),
}

impl Purpose {
    /// Whether the request went over the connection to the coordinator.
    const fn is_for_coordinator(&self) -> bool {
        match self {
            Self::Join
            | Self::Sync { .. }
            | Self::Heartbeat { .. }
            | Self::Leave
            | Self::GroupHeartbeat(_)
            | Self::Commit(_)
            | Self::OffsetFetch(_) => true,
            Self::FindCoordinator | Self::ListOffsets(_) | Self::Validate(_) | Self::Fetch(..) => {
                false
            }
        }
    }
}

impl Consumer {
    /// A consumer that has not looked around yet.
    pub fn new(settings: ConsumerSettings, bootstrap: Vec<BrokerId>, stream: Stream) -> Self {
        let config = &settings.config;
        let metadata = MetadataConfig {
            bootstrap,
            max_age: Span::from_millis(config.metadata_max_age_ms),
            may_create_topics: config.allow_auto_create_topics,
            backoff: Backoff {
                first_ms: config.retry_backoff_ms,
                max_ms: config.retry_backoff_max_ms,
            },
            reconnect: Backoff {
                first_ms: config.reconnect_backoff_ms,
                max_ms: 1_000,
            },
            request_timeout: Span::from_millis(config.request_timeout_ms),
            timer: Timer::MetadataRefresh,
        };
        Self {
            metadata: ClientMetadata::new(
                metadata,
                settings
                    .topics
                    .iter()
                    .chain(settings.assign.iter().map(|(topic, _)| topic))
                    .cloned(),
            ),
            membership: Membership::new(),
            heartbeat: HeartbeatThread::default(),
            group_heartbeat: GroupHeartbeat::default(),
            coordinator: None,
            is_looking_up: false,
            lookup_failures: 0,
            partitions: BTreeMap::new(),
            buffered: VecDeque::new(),
            fetches: BTreeMap::new(),
            requests: BTreeMap::new(),
            app: App::Polling,
            commit_until: None,
            after_commit: AfterCommit::Poll,
            delivery: None,
            delivered: 0,
            calls: VecDeque::new(),
            unread: VecDeque::new(),
            stop_requested: false,
            auto_commit_at: SimTime::ZERO,
            last_poll_at: SimTime::ZERO,
            failure: None,
            positions_retry_at: SimTime::ZERO,
            position_failures: 0,
            stream,
            records_processed: 0,
            transaction: None,
            outputs: Vec::new(),
            settings,
        }
    }

    /// Begins to poll.
    pub fn start(&mut self, out: &mut Out) {
        self.auto_commit_at = out.now + self.auto_commit_interval();
        self.metadata.request_update(out);
        self.poll(out);
    }

    const fn config(&self) -> &ConsumerConfig {
        &self.settings.config
    }

    /// Its group, if it has one.
    pub fn group_id(&self) -> Option<GroupId> {
        self.config().group_id.clone().map(GroupId)
    }

    fn group(&self) -> GroupId {
        self.group_id().unwrap_or_default()
    }

    /// Its instance id, if static.
    pub fn group_instance_id(&self) -> Option<InstanceId> {
        if self.settings.history.single_threaded_consumer {
            return None;
        }
        self.config().group_instance_id.clone().map(InstanceId)
    }

    /// What its membership is up to.
    pub const fn member_state(&self) -> MemberState {
        self.membership.state
    }

    /// Its member id; empty when it has none.
    pub const fn member_id(&self) -> &MemberId {
        &self.membership.member_id
    }

    /// The generation that it knows; -1 for none.
    pub const fn generation_id(&self) -> i32 {
        self.membership.generation_id
    }

    /// The coordinator that it knows.
    pub const fn coordinator(&self) -> Option<BrokerId> {
        self.coordinator
    }

    /// What the application does.
    pub const fn app(&self) -> &App {
        &self.app
    }

    /// What it delivers beside `poll`; unset unless its application reads ahead.
    pub const fn delivery(&self) -> Option<&Work> {
        self.delivery.as_ref()
    }

    /// The partitions that it owns.
    pub const fn partitions(&self) -> &BTreeMap<TopicPartition, OwnedPartition> {
        &self.partitions
    }

    /// When `poll` was last called.
    pub const fn last_poll_at(&self) -> SimTime {
        self.last_poll_at
    }

    /// Records processed so far by this process.
    pub const fn records_processed(&self) -> u64 {
        self.records_processed
    }

    /// What a transaction is to commit, when a batch is done and nobody has asked yet.
    pub fn take_transaction(&mut self) -> Option<OffsetCommitRequest> {
        self.transaction.take()
    }

    /// The transaction with this batch's offsets is committed: the application polls again.
    pub fn on_transaction_committed(&mut self, out: &mut Out) {
        if self.app == App::Committing {
            for owned in self.partitions.values_mut() {
                owned.committed = owned.processed.or(owned.committed);
            }
            self.after_sync_commit(true, out);
            self.poll(out);
        }
    }

    /// Processed records for the output topic, since the last call.
    pub fn take_outputs(&mut self) -> Vec<Record> {
        std::mem::take(&mut self.outputs)
    }

    /// One pass of `poll`: as far as it gets without waiting. Returns records to the application
    /// if there are any.
    ///
    /// # Source
    /// `ClassicKafkaConsumer.poll`, `ConsumerCoordinator.poll`.
    fn poll(&mut self, out: &mut Out) {
        if self.app != App::Polling {
            return;
        }
        self.last_poll_at = out.now;
        self.read_answers(out);
        if self.app != App::Polling {
            return;
        }
        if let Some(exception) = self.failure.take() {
            if self.membership.state == MemberState::Fatal {
                self.lose_partitions(out);
            }
            self.fail(&exception, out);
            return;
        }
        if self.stop_requested {
            self.begin_close(out);
            return;
        }
        self.make_calls(out);
        if self.coordinator_step(out) {
            self.update_positions(out);
        }
        self.validate_positions(out);
        if self.app != App::Polling {
            return;
        }
        let records = if self.has_read_enough() {
            VecDeque::new()
        } else {
            self.collect()
        };
        // With records in hand the next fetches go out before `poll` returns.
        self.send_fetches(out);
        if !records.is_empty() {
            self.process(records, out);
        }
    }

    /// The group's part of a pass. True if the consumer is in its group and may look up positions.
    fn coordinator_step(&mut self, out: &mut Out) -> bool {
        let subscribes = !self.settings.topics.is_empty() && !self.is_outside_group();
        if self.config().group_id.is_none() || !subscribes {
            return self.manual_step(out);
        }
        if self.has_consumer_protocol() {
            return self.consumer_protocol_step(out);
        }
        self.check_metadata_change(out);
        self.check_subscription(out);
        if self.coordinator.is_none() {
            self.look_up(out);
            return false;
        }
        self.beat_if_due(out);
        if self.is_rejoining() {
            self.complete_join(out);
            self.join_step(out);
            return !self.is_rejoining();
        }
        self.maybe_auto_commit(out);
        true
    }

    /// Whether a rejoin is needed or has not come to its end.
    const fn is_rejoining(&self) -> bool {
        self.membership.rejoin_needed
            || self.membership.call_in_flight
            || self.membership.assigned.is_some()
    }

    /// Takes in an expired timer. False if it is not one of these.
    pub fn on_timer(&mut self, timer: &Timer, out: &mut Out) -> bool {
        if *timer == Timer::MetadataRefresh {
            self.metadata.on_timer(out);
        } else if *timer == Timer::CoordinatorLookup {
            self.is_looking_up = false;
            self.look_up(out);
        } else if *timer == Timer::Heartbeat {
            if !self.has_consumer_protocol() {
                self.on_heartbeat_timer(out);
            }
        } else if *timer == Timer::SessionTimeout {
            self.on_session_timeout(out);
        } else if *timer == Timer::PollTimeout {
            self.on_poll_timeout(out);
        } else if *timer == Timer::RecordDone {
            self.on_record_done(out);
        } else if *timer == Timer::AssignmentDone {
            self.resume_assignment(out);
        } else if let Timer::FetchBackoff(_)
        | Timer::AutoCommit
        | Timer::RetryBackoff
        | Timer::PrepareCommit
        | Timer::PositionRetry = timer
        {
            self.retry_sync_commit(out);
        } else {
            return false;
        }
        self.background(out);
        self.poll(out);
        true
    }

    /// Takes in a response. False if the request was not sent from here.
    pub fn on_response(
        &mut self,
        from: BrokerId,
        correlation: CorrelationId,
        response: &Response,
        out: &mut Out,
    ) -> bool {
        if let Response::Metadata(response) = response
            && self
                .metadata
                .on_response(correlation, response, &mut self.stream, out)
        {
            self.metadata.on_connection_works(from);
            self.resume_assignment(out);
            self.take_assigned(out);
            self.check_leaders(out);
            self.background(out);
            self.poll(out);
            return true;
        }
        let Some(purpose) = self.requests.get(&correlation) else {
            return false;
        };
        self.metadata.on_connection_works(from);
        if self.is_unread(purpose) {
            self.unread.push_back((correlation, response.clone()));
            return true;
        }
        self.take_in_answer(correlation, response, out);
        self.background(out);
        self.poll(out);
        true
    }

    /// Whether an answer waits for the next `poll`: nobody reads it while the application is busy
    /// and the heartbeat thread asleep, or without such a thread.
    fn is_unread(&self, purpose: &Purpose) -> bool {
        let has_thread = !self.settings.history.single_threaded_consumer;
        let is_busy = matches!(self.app, App::Processing(_));
        is_busy && (!has_thread || *purpose == Purpose::Join)
    }

    /// Reads the answers that have come while the application was busy.
    fn read_answers(&mut self, out: &mut Out) {
        while let Some((correlation, response)) = self.unread.pop_front() {
            self.take_in_answer(correlation, &response, out);
        }
    }

    fn take_in_answer(&mut self, correlation: CorrelationId, response: &Response, out: &mut Out) {
        let Some(purpose) = self.requests.remove(&correlation) else {
            return;
        };
        match (purpose, response) {
            (Purpose::FindCoordinator, Response::FindCoordinator(response)) => {
                self.on_find_coordinator(response, out);
            }
            (Purpose::Join, Response::JoinGroup(response)) => {
                self.on_join_response(response, out);
            }
            (
                Purpose::Sync {
                    generation_id,
                    member_id,
                },
                Response::SyncGroup(response),
            ) => {
                self.on_sync_response(generation_id, &member_id, response, out);
            }
            (
                Purpose::Heartbeat {
                    generation_id,
                    member_id,
                },
                Response::Heartbeat(response),
            ) => {
                self.on_heartbeat_response(generation_id, &member_id, response.error_code, out);
            }
            (Purpose::Leave, Response::LeaveGroup(_)) => self.on_left(out),
            (Purpose::GroupHeartbeat(epoch), Response::ConsumerGroupHeartbeat(response)) => {
                self.on_group_heartbeat((correlation, epoch), response, out);
            }
            (Purpose::Commit(call), Response::OffsetCommit(response)) => {
                self.on_commit_response(&call, response, out);
            }
            (Purpose::OffsetFetch(partitions), Response::OffsetFetch(response)) => {
                self.on_offset_fetch(&partitions, response, out);
            }
            (Purpose::ListOffsets(partitions), Response::ListOffsets(response)) => {
                self.on_list_offsets(&partitions, response, out);
            }
            (Purpose::Validate(asked), Response::OffsetForLeaderEpoch(response)) => {
                self.on_validation(&asked, Some(response), out);
            }
            (Purpose::Fetch(broker, asked), Response::Fetch(response)) => {
                self.on_fetch_response(broker, &asked, response, out);
            }
            (purpose, _) => {
                unreachable!("invariant: a response has the API of its request, {purpose:?}")
            }
        }
    }

    /// Takes in that a request gets no answer. False if it was not sent from here.
    pub fn on_disconnect(
        &mut self,
        peer: BrokerId,
        correlation: CorrelationId,
        reason: Disconnect,
        out: &mut Out,
    ) -> bool {
        let was_metadata = self
            .metadata
            .on_disconnect(correlation, &mut self.stream, out);
        let purpose = self.requests.remove(&correlation);
        if !was_metadata && purpose.is_none() {
            return false;
        }
        if reason != Disconnect::RequestTimedOut {
            self.metadata
                .on_connection_failed(peer, &mut self.stream, out.now);
        }
        // The coordinator has a connection of its own: a request that times out on another one
        // says nothing about it. A process that is gone has closed them all.
        let is_coordinators = purpose.as_ref().is_some_and(Purpose::is_for_coordinator);
        if self.coordinator == Some(peer)
            && (is_coordinators || reason != Disconnect::RequestTimedOut)
        {
            self.coordinator_unknown(out);
        }
        match purpose {
            None => {}
            Some(Purpose::FindCoordinator) => self.lookup_failed(out),
            Some(Purpose::Join | Purpose::Sync { .. }) => {
                self.membership.call_in_flight = false;
                self.join_failed("DisconnectException", true, out);
            }
            Some(Purpose::Heartbeat { .. }) => self.heartbeat_failed(out),
            Some(Purpose::Leave) => self.on_left(out),
            Some(Purpose::GroupHeartbeat(_)) => self.group_heartbeat_lost(correlation, out),
            Some(Purpose::Commit(call)) => self.commit_disconnected(&call, out),
            Some(Purpose::OffsetFetch(partitions) | Purpose::ListOffsets(partitions)) => {
                self.positions_failed(&partitions, out);
            }
            Some(Purpose::Validate(asked)) => self.on_validation(&asked, None, out),
            Some(Purpose::Fetch(broker, asked)) => self.fetch_failed(broker, &asked, out),
        }
        self.metadata.request_update(out);
        self.background(out);
        self.poll(out);
        true
    }

    /// Asks for `close()`: it happens as soon as the application is back at `poll`.
    pub fn request_close(&mut self, out: &mut Out) {
        self.stop_requested = true;
        self.poll(out);
    }

    /// The application meets an exception that it does not survive; the process ends.
    fn fail(&mut self, exception: &Arc<str>, out: &mut Out) {
        out.trace(TraceEvent::FatalError {
            exception: exception.clone(),
        });
        self.app = App::Failed(exception.clone());
        out.exit(Exit::Crash(exception.clone()));
    }

    fn client_log(&self, text: &str, out: &mut Out) {
        let client_id = &self.settings.client_id;
        let group = self.config().group_id.as_deref().unwrap_or("null");
        out.log(format!(
            "[Consumer clientId={client_id}, groupId={group}] {text}"
        ));
    }

    /// Settings that decide how long a failed request waits.
    const fn backoff(&self) -> Backoff {
        Backoff {
            first_ms: self.settings.config.retry_backoff_ms,
            max_ms: self.settings.config.retry_backoff_max_ms,
        }
    }

    /// `retry.backoff.ms`, but never nothing.
    fn retry_pause(&self) -> Span {
        Span::from_millis(self.config().retry_backoff_ms).max(SHORTEST)
    }

    /// `auto.commit.interval.ms`, but never nothing.
    fn auto_commit_interval(&self) -> Span {
        Span::from_millis(self.config().auto_commit_interval_ms).max(SHORTEST)
    }

    const fn request_timeout(&self) -> Span {
        Span::from_millis(self.settings.config.request_timeout_ms)
    }

    /// Records fetched and not returned by `poll`.
    pub fn records_buffered(&self) -> u32 {
        self.partitions
            .values()
            .map(OwnedPartition::buffered_count)
            .sum()
    }

    /// The names of partitions as a log line lists them.
    fn names(&self, partitions: &[TopicPartition]) -> String {
        let names: Vec<String> = partitions
            .iter()
            .map(|id| {
                let topic = self.metadata.topics().get(&id.topic);
                format!(
                    "{}-{}",
                    topic.map_or("?", |topic| &topic.name),
                    id.partition
                )
            })
            .collect();
        names.join(", ")
    }
}

impl Membership {
    fn new() -> Self {
        Self {
            state: MemberState::Unjoined,
            generation_id: -1,
            member_id: MemberId::default(),
            protocol_name: None,
            rejoin_needed: true,
            rejoin_reason: Arc::from(""),
            needs_join_prepare: true,
            preparing_until: None,
            prepare_commit: PrepareCommit::Settled,
            call_in_flight: false,
            assigned: None,
            joined_topics: None,
            listener: Listener::Idle,
            retry_at: SimTime::ZERO,
            failures: 0,
            is_leader: false,
            pending_assignment: None,
            assignor_until: None,
            assignment_snapshot: None,
            memories: Vec::new(),
        }
    }
}
