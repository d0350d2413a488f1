//! The transaction coordinator: which producer holds a transactional id, and how its transaction
//! ends (KIP-98).
//!
//! A pure state machine, as the group coordinator is. Handlers queue records of `__transaction_state`
//! that the broker takes with [`TransactionCoordinator::take_appends`] and appends; a state holds,
//! and its answer leaves, when the record is replicated. When an end is decided the broker takes the
//! markers to be written with [`TransactionCoordinator::take_markers`], and says when they are.
//!
//! The rules are those of transaction version 1: the epoch rises with each `InitProducerId` and each
//! fencing, not with each transaction (KIP-890 part 2).

mod records;

use self::records::transaction_record;
use crate::base::config::BrokerConfig;
use crate::base::ids::{Offset, TopicPartition};
use crate::base::timer::Timer;
use crate::kernel::time::Span;
use crate::trace::event::TraceEvent;
use crate::trace::out::{Out, ReplyTo};
use crate::wire::api::{
    AddOffsetsToTxnResponse, AddPartitionsToTxnRequest, AddPartitionsToTxnResponse, EndTxnRequest,
    EndTxnResponse, InitProducerIdRequest, InitProducerIdResponse, Response,
};
use crate::wire::error_code::ErrorCode;
use crate::wire::record::{Record, RecordValue, TransactionMetadata, TransactionState};
use serde::Serialize;
use std::collections::BTreeMap;
use std::sync::Arc;

/// The transaction coordinator of one broker, which also gives out producer ids.
#[derive(Clone, Debug, Serialize)]
pub struct TransactionCoordinator {
    config: Arc<BrokerConfig>,
    /// The partitions of `__transaction_state` that the broker leads.
    partitions: BTreeMap<u32, CoordinatorShard>,
    /// The broker's registration; producer ids begin with it.
    broker_epoch: i64,
    /// Producer ids given out under this registration.
    producer_ids: i64,
    next_append_id: u64,
    /// Whether the look for transactions that take too long is due at some time.
    is_watching: bool,
    #[serde(skip)]
    appends: Vec<TransactionAppend>,
    #[serde(skip)]
    markers: Vec<Markers>,
}

/// A record that the broker is to append to a partition of `__transaction_state`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TransactionAppend {
    /// What the coordinator calls it.
    pub append_id: u64,
    /// Which partition.
    pub partition: u32,
    /// The record.
    pub record: Record,
}

/// Markers that the broker is to have written.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Markers {
    /// The partition of `__transaction_state`.
    pub partition: u32,
    /// Whose transaction.
    pub transactional_id: Arc<str>,
    /// The producer id.
    pub producer_id: i64,
    /// The epoch under which the transaction ends.
    pub producer_epoch: i16,
    /// Whether it is a commit.
    pub is_commit: bool,
    /// Leader epoch of the coordinator.
    pub coordinator_epoch: i32,
    /// Where a marker is missing.
    pub partitions: Vec<TopicPartition>,
}

/// A partition of `__transaction_state` on its leader.
#[derive(Clone, Debug, Serialize)]
pub struct CoordinatorShard {
    /// Leader epoch in which this broker leads it.
    pub coordinator_epoch: i32,
    high_watermark: Offset,
    /// By transactional id.
    pub transactions: BTreeMap<Arc<str>, Transaction>,
    waiting: Vec<Waiting>,
}

/// A transactional id.
#[derive(Clone, Debug, Serialize)]
pub struct Transaction {
    /// Where it stands.
    pub metadata: TransactionMetadata,
    /// Whether its next state is being written: nothing else is done with it meanwhile.
    pub is_moving: bool,
}

/// A record on its way to being replicated.
#[derive(Clone, Debug, Serialize)]
struct Waiting {
    append_id: u64,
    /// The end of its record; unset before it is appended.
    offset: Option<Offset>,
    transactional_id: Arc<str>,
    /// Where the id stands then; unset when it is forgotten.
    next: Option<TransactionMetadata>,
    then: Then,
}

/// What follows a record.
#[derive(Clone, Debug, Serialize)]
enum Then {
    /// Nothing: the transaction is complete, or forgotten.
    Nothing,
    /// The producer gets its id and epoch.
    Init(ReplyTo),
    /// Partitions belong to the transaction.
    Added(ReplyTo, Vec<TopicPartition>),
    /// So does a group's partition of `__consumer_offsets`.
    AddedOffsets(ReplyTo),
    /// The end is decided; markers follow.
    Ended(ReplyTo),
    /// The same, for an `InitProducerId` that found a transaction open.
    FencedFor(ReplyTo),
    /// The same, because the transaction took too long.
    TimedOut,
}

/// Which producer a request says it comes from.
#[derive(Clone, Copy, Debug)]
struct Identity {
    producer_id: i64,
    producer_epoch: i16,
}

impl TransactionCoordinator {
    /// The coordinator of a broker that has just started.
    pub const fn new(config: Arc<BrokerConfig>) -> Self {
        Self {
            config,
            partitions: BTreeMap::new(),
            broker_epoch: -1,
            producer_ids: 0,
            next_append_id: 0,
            is_watching: false,
            appends: Vec::new(),
            markers: Vec::new(),
        }
    }

    /// Notes the broker's registration.
    pub const fn set_broker_epoch(&mut self, broker_epoch: i64) {
        self.broker_epoch = broker_epoch;
        self.producer_ids = 0;
    }

    /// The partitions that it coordinates, by number.
    pub const fn partitions(&self) -> &BTreeMap<u32, CoordinatorShard> {
        &self.partitions
    }

    /// A producer id that nobody has.
    ///
    /// # Source
    /// `ProducerIdManager` (KIP-730).
    /// # Simplified
    /// A block of ids is not asked for at the controller: the block of a registration is 1000 ids
    /// from 1000 times its broker epoch on.
    const fn next_producer_id(&mut self) -> i64 {
        let (block, within) = (self.producer_ids / BLOCK, self.producer_ids % BLOCK);
        self.producer_ids += 1;
        block * FAR + self.broker_epoch * BLOCK + within
    }

    /// The broker leads a partition of `__transaction_state`; these are its records.
    ///
    /// # Source
    /// `TransactionCoordinator.onElection`, `TransactionStateManager.loadTransactionsForTxnTopicPartition`.
    pub fn on_elected<'a>(
        &mut self,
        (partition, coordinator_epoch): (u32, i32),
        records: impl Iterator<Item = &'a Record>,
        high_watermark: Offset,
        out: &mut Out,
    ) {
        let mut shard = CoordinatorShard {
            coordinator_epoch,
            high_watermark,
            transactions: BTreeMap::new(),
            waiting: Vec::new(),
        };
        records.for_each(|record| shard.replay(record));
        for (transactional_id, transaction) in &mut shard.transactions {
            let metadata = &transaction.metadata;
            if is_ending(metadata.state) {
                transaction.is_moving = true;
                let who = (partition, coordinator_epoch, transactional_id.clone());
                self.markers.push(Markers::of(who, metadata));
            }
        }
        self.partitions.insert(partition, shard);
        if !self.is_watching {
            self.is_watching = true;
            self.arm(out);
        }
    }

    /// The broker leads a partition no longer.
    ///
    /// # Source
    /// `TransactionCoordinator.onResignation`.
    pub fn on_resigned(&mut self, partition: u32, out: &mut Out) {
        let Some(shard) = self.partitions.remove(&partition) else {
            return;
        };
        self.appends.retain(|append| append.partition != partition);
        self.markers
            .retain(|markers| markers.partition != partition);
        for waiting in shard.waiting {
            refuse(waiting.then, ErrorCode::NotCoordinator, out);
        }
    }

    fn arm(&self, out: &mut Out) {
        let interval = self
            .config
            .transaction_abort_timed_out_transaction_cleanup_interval_ms;
        out.arm(Timer::TransactionTimeouts, Span::from_millis(interval));
    }

    /// Answers `InitProducerId`: a new id, or the next epoch of one, under which every earlier
    /// instance is fenced. An open transaction is aborted first.
    ///
    /// # Errors sent
    /// `NOT_COORDINATOR` (16), `INVALID_TRANSACTION_TIMEOUT` (50), `CONCURRENT_TRANSACTIONS` (51)
    /// while a transaction ends, `PRODUCER_FENCED` (90) for an instance that a later one has
    /// replaced.
    /// # Source
    /// `TransactionCoordinator.handleInitProducerId` (KIP-98, KIP-360).
    pub fn handle_init_producer_id(
        &mut self,
        reply: ReplyTo,
        request: &InitProducerIdRequest,
        partition: u32,
        out: &mut Out,
    ) {
        let Some(transactional_id) = request.transactional_id.clone() else {
            let producer_id = self.next_producer_id();
            return init(reply, Ok((producer_id, 0)), out);
        };
        let longest = self.config.transaction_max_timeout_ms;
        if longest < request.transaction_timeout_ms {
            return init(reply, Err(ErrorCode::InvalidTransactionTimeout), out);
        }
        let fresh_id = self.next_producer_id();
        let Some(shard) = self.partitions.get_mut(&partition) else {
            return init(reply, Err(ErrorCode::NotCoordinator), out);
        };
        let known = shard.transactions.get(&transactional_id);
        let mut next = match known.map(|known| &known.metadata) {
            None => TransactionMetadata {
                producer_id: fresh_id,
                producer_epoch: -1,
                timeout_ms: 0,
                state: TransactionState::Empty,
                partitions: Vec::new(),
                started_at: None,
                updated_at: out.now,
            },
            Some(metadata) => metadata.clone(),
        };
        let is_late = 0 <= request.producer_id
            && (request.producer_id != next.producer_id
                || request.producer_epoch < next.producer_epoch);
        if known.is_some_and(|known| known.is_moving) || is_ending(next.state) {
            return init(reply, Err(ErrorCode::ConcurrentTransactions), out);
        }
        if is_late {
            return init(reply, Err(ErrorCode::ProducerFenced), out);
        }
        next.updated_at = out.now;
        if next.state == TransactionState::Ongoing {
            fence(&mut next);
            self.write(
                partition,
                (transactional_id, Some(next)),
                Then::FencedFor(reply),
            );
            return;
        }
        next.timeout_ms = request.transaction_timeout_ms;
        next.state = TransactionState::Empty;
        next.started_at = None;
        next.partitions.clear();
        if next.producer_epoch < i16::MAX - 1 {
            next.producer_epoch += 1;
        } else {
            next.producer_id = fresh_id;
            next.producer_epoch = 0;
        }
        self.write(partition, (transactional_id, Some(next)), Then::Init(reply));
    }

    /// Answers `AddPartitionsToTxn`: the transaction is open from its first partition on. To a
    /// broker that asks, says whether partitions belong to it.
    ///
    /// # Errors sent
    /// Per partition: `NOT_COORDINATOR` (16), `INVALID_PRODUCER_ID_MAPPING` (49),
    /// `CONCURRENT_TRANSACTIONS` (51), `PRODUCER_FENCED` (90), `TRANSACTION_ABORTABLE` (120) for a
    /// partition that does not belong to it.
    /// # Source
    /// `TransactionCoordinator.handleAddPartitionsToTransaction`,
    /// `handleVerifyPartitionsInTransaction`.
    pub fn handle_add_partitions(
        &mut self,
        reply: ReplyTo,
        request: &AddPartitionsToTxnRequest,
        partition: u32,
        out: &mut Out,
    ) {
        let identity = Identity {
            producer_id: request.producer_id,
            producer_epoch: request.producer_epoch,
        };
        let checked = self.check(partition, &request.transactional_id, identity);
        let metadata = match checked {
            Ok(metadata) => metadata,
            Err(error_code) => return added(reply, &request.partitions, error_code, out),
        };
        if request.verify_only {
            let belongs = |id: &TopicPartition| {
                let is_there = metadata.partitions.contains(id);
                let code = if is_there {
                    ErrorCode::None
                } else {
                    ErrorCode::TransactionAbortable
                };
                (*id, code)
            };
            let partitions = request.partitions.iter().map(belongs).collect();
            let response = AddPartitionsToTxnResponse { partitions };
            return out.respond(reply, Response::AddPartitionsToTxn(response));
        }
        let wanted = request.partitions.clone();
        match Self::with_partitions(metadata, &wanted, out) {
            Err(error_code) => added(reply, &wanted, error_code, out),
            Ok(next) => {
                let id = request.transactional_id.clone();
                self.write(partition, (id, Some(next)), Then::Added(reply, wanted));
            }
        }
    }

    /// Answers `AddOffsetsToTxn`: the group's partition of `__consumer_offsets` belongs to the
    /// transaction.
    ///
    /// # Errors sent
    /// As for `AddPartitionsToTxn`.
    /// # Source
    /// `KafkaApis.handleAddOffsetsToTxnRequest`.
    pub fn handle_add_offsets(
        &mut self,
        reply: ReplyTo,
        (transactional_id, producer_id, producer_epoch): (&Arc<str>, i64, i16),
        (partition, offsets_partition): (u32, TopicPartition),
        out: &mut Out,
    ) {
        let identity = Identity {
            producer_id,
            producer_epoch,
        };
        let checked = self.check(partition, transactional_id, identity);
        let next =
            checked.and_then(|metadata| Self::with_partitions(metadata, &[offsets_partition], out));
        match next {
            Err(error_code) => {
                let response = AddOffsetsToTxnResponse { error_code };
                out.respond(reply, Response::AddOffsetsToTxn(response));
            }
            Ok(next) => {
                let id = transactional_id.clone();
                self.write(partition, (id, Some(next)), Then::AddedOffsets(reply));
            }
        }
    }

    /// The transaction with these partitions; the error is `NONE` when they belong to it already.
    fn with_partitions(
        mut metadata: TransactionMetadata,
        wanted: &[TopicPartition],
        out: &Out,
    ) -> Result<TransactionMetadata, ErrorCode> {
        if is_ending(metadata.state) {
            return Err(ErrorCode::ConcurrentTransactions);
        }
        let is_open = metadata.state == TransactionState::Ongoing;
        if is_open && wanted.iter().all(|id| metadata.partitions.contains(id)) {
            return Err(ErrorCode::None);
        }
        if !is_open {
            metadata.partitions.clear();
            metadata.started_at = Some(out.now);
        }
        metadata.state = TransactionState::Ongoing;
        metadata.partitions.extend(wanted);
        metadata.partitions.sort_unstable();
        metadata.partitions.dedup();
        metadata.updated_at = out.now;
        Ok(metadata)
    }

    /// Answers `EndTxn` as soon as the end is decided; the markers follow.
    ///
    /// # Errors sent
    /// `NOT_COORDINATOR` (16), `INVALID_TXN_STATE` (48), `INVALID_PRODUCER_ID_MAPPING` (49),
    /// `CONCURRENT_TRANSACTIONS` (51) while the markers are on their way, `PRODUCER_FENCED` (90).
    /// # Source
    /// `TransactionCoordinator.endTransaction`.
    pub fn handle_end_txn(
        &mut self,
        reply: ReplyTo,
        request: &EndTxnRequest,
        partition: u32,
        out: &mut Out,
    ) {
        let identity = Identity {
            producer_id: request.producer_id,
            producer_epoch: request.producer_epoch,
        };
        let checked = self.check(partition, &request.transactional_id, identity);
        let outcome = checked.and_then(|metadata| {
            let is_commit = request.is_commit;
            let (prepared, complete) = if is_commit {
                (
                    TransactionState::PrepareCommit,
                    TransactionState::CompleteCommit,
                )
            } else {
                (
                    TransactionState::PrepareAbort,
                    TransactionState::CompleteAbort,
                )
            };
            if metadata.state == TransactionState::Ongoing {
                Ok(TransactionMetadata {
                    state: prepared,
                    updated_at: out.now,
                    ..metadata
                })
            } else if metadata.state == prepared {
                Err(ErrorCode::ConcurrentTransactions)
            } else if metadata.state == complete {
                Err(ErrorCode::None)
            } else {
                Err(ErrorCode::InvalidTxnState)
            }
        });
        match outcome {
            Err(error_code) => out.respond(reply, Response::EndTxn(EndTxnResponse { error_code })),
            Ok(next) => {
                let id = request.transactional_id.clone();
                self.write(partition, (id, Some(next)), Then::Ended(reply));
            }
        }
    }

    /// Where a transactional id stands, if the request comes from its producer and nothing is under
    /// way.
    fn check(
        &self,
        partition: u32,
        transactional_id: &Arc<str>,
        identity: Identity,
    ) -> Result<TransactionMetadata, ErrorCode> {
        let shard = self.partitions.get(&partition);
        let shard = shard.ok_or(ErrorCode::NotCoordinator)?;
        let known = shard.transactions.get(transactional_id);
        let known = known.ok_or(ErrorCode::InvalidProducerIdMapping)?;
        if known.metadata.producer_id != identity.producer_id {
            return Err(ErrorCode::InvalidProducerIdMapping);
        }
        if known.metadata.producer_epoch != identity.producer_epoch {
            return Err(ErrorCode::ProducerFenced);
        }
        if known.is_moving {
            return Err(ErrorCode::ConcurrentTransactions);
        }
        Ok(known.metadata.clone())
    }

    /// Has the next state written.
    fn write(
        &mut self,
        partition: u32,
        (transactional_id, next): (Arc<str>, Option<TransactionMetadata>),
        then: Then,
    ) {
        let Some(shard) = self.partitions.get_mut(&partition) else {
            return;
        };
        let append_id = self.next_append_id;
        self.next_append_id += 1;
        let record = transaction_record(&transactional_id, next.as_ref());
        if let Some(known) = shard.transactions.get_mut(&transactional_id) {
            known.is_moving = true;
        } else if let Some(next) = &next {
            // Until its first record is replicated it is in no state.
            let metadata = TransactionMetadata {
                producer_epoch: -1,
                ..next.clone()
            };
            let fresh = Transaction {
                metadata,
                is_moving: true,
            };
            shard.transactions.insert(transactional_id.clone(), fresh);
        }
        shard.waiting.push(Waiting {
            append_id,
            offset: None,
            transactional_id,
            next,
            then,
        });
        self.appends.push(TransactionAppend {
            append_id,
            partition,
            record,
        });
    }

    /// Records to be appended, since the last call.
    pub fn take_appends(&mut self) -> Vec<TransactionAppend> {
        std::mem::take(&mut self.appends)
    }

    /// Markers to be written, since the last call.
    pub fn take_markers(&mut self) -> Vec<Markers> {
        std::mem::take(&mut self.markers)
    }

    /// The broker has appended a record, which ends before `next_offset`.
    pub fn on_appended(&mut self, partition: u32, append_id: u64, next_offset: Offset) {
        if let Some(shard) = self.partitions.get_mut(&partition)
            && let Some(waiting) = shard
                .waiting
                .iter_mut()
                .find(|it| it.append_id == append_id)
        {
            waiting.offset = Some(next_offset);
        }
    }

    /// The broker could not append a record: the state stays as it was. The completion of a
    /// transaction is tried again.
    ///
    /// # Source
    /// `TransactionStateManager.appendTransactionToLog`.
    pub fn on_append_failed(
        &mut self,
        partition: u32,
        append_id: u64,
        error_code: ErrorCode,
        out: &mut Out,
    ) {
        let Some(shard) = self.partitions.get_mut(&partition) else {
            return;
        };
        let Some(place) = shard
            .waiting
            .iter()
            .position(|it| it.append_id == append_id)
        else {
            return;
        };
        let waiting = shard.waiting.remove(place);
        let id = waiting.transactional_id;
        let Some(known) = shard.transactions.get_mut(&id) else {
            return;
        };
        if is_ending(known.metadata.state) {
            let who = (partition, shard.coordinator_epoch, id);
            let mut markers = Markers::of(who, &known.metadata);
            markers.partitions.clear();
            self.markers.push(markers);
            return;
        }
        known.is_moving = false;
        if known.metadata.producer_epoch < 0 {
            shard.transactions.remove(&id);
        }
        let is_lost = error_code == ErrorCode::NotLeaderOrFollower;
        let told = if is_lost {
            ErrorCode::NotCoordinator
        } else {
            ErrorCode::CoordinatorNotAvailable
        };
        refuse(waiting.then, told, out);
    }

    /// Records before `high_watermark` are replicated: their states hold.
    ///
    /// # Source
    /// `TransactionMetadata.completeTransitionTo`.
    pub fn on_high_watermark(&mut self, partition: u32, high_watermark: Offset, out: &mut Out) {
        let Some(shard) = self.partitions.get_mut(&partition) else {
            return;
        };
        shard.high_watermark = shard.high_watermark.max(high_watermark);
        let mut done = Vec::new();
        while let Some(first) = shard.waiting.first()
            && first.offset.is_some_and(|end| end <= shard.high_watermark)
        {
            done.push(shard.waiting.remove(0));
        }
        for waiting in done {
            self.complete(partition, waiting, out);
        }
    }

    fn complete(&mut self, partition: u32, waiting: Waiting, out: &mut Out) {
        let Some(shard) = self.partitions.get_mut(&partition) else {
            return;
        };
        let id = waiting.transactional_id;
        let Some(known) = shard.transactions.get_mut(&id) else {
            return;
        };
        let previous = known.metadata.state;
        let next = waiting.next.unwrap_or_else(|| TransactionMetadata {
            state: TransactionState::Dead,
            ..known.metadata.clone()
        });
        if previous != next.state || known.metadata.producer_epoch != next.producer_epoch {
            out.trace(TraceEvent::TransactionStateChanged {
                transactional_id: id.clone(),
                previous,
                state: next.state,
                producer_id: next.producer_id,
                producer_epoch: next.producer_epoch,
            });
        }
        known.is_moving = is_ending(next.state);
        if known.is_moving {
            let who = (partition, shard.coordinator_epoch, id.clone());
            self.markers.push(Markers::of(who, &next));
        }
        let identity = (next.producer_id, next.producer_epoch);
        if next.state == TransactionState::Dead {
            shard.transactions.remove(&id);
        } else {
            known.metadata = next;
        }
        match waiting.then {
            Then::Nothing | Then::TimedOut => {}
            Then::Init(reply) => init(reply, Ok(identity), out),
            Then::Added(reply, partitions) => added(reply, &partitions, ErrorCode::None, out),
            Then::AddedOffsets(reply) => {
                let error_code = ErrorCode::None;
                let response = AddOffsetsToTxnResponse { error_code };
                out.respond(reply, Response::AddOffsetsToTxn(response));
            }
            Then::Ended(reply) => {
                let error_code = ErrorCode::None;
                out.respond(reply, Response::EndTxn(EndTxnResponse { error_code }));
            }
            Then::FencedFor(reply) => init(reply, Err(ErrorCode::ConcurrentTransactions), out),
        }
    }

    /// Every partition of a transaction has its marker.
    ///
    /// # Source
    /// `TransactionMarkerChannelManager.writeTxnCompletion`.
    pub fn on_markers_written(&mut self, markers: &Markers, out: &Out) {
        let Some(shard) = self.partitions.get(&markers.partition) else {
            return;
        };
        let Some(known) = shard.transactions.get(&markers.transactional_id) else {
            return;
        };
        if shard.coordinator_epoch != markers.coordinator_epoch || !is_ending(known.metadata.state)
        {
            return;
        }
        let next = TransactionMetadata {
            state: if markers.is_commit {
                TransactionState::CompleteCommit
            } else {
                TransactionState::CompleteAbort
            },
            partitions: Vec::new(),
            started_at: None,
            updated_at: out.now,
            ..known.metadata.clone()
        };
        let id = markers.transactional_id.clone();
        self.write(markers.partition, (id, Some(next)), Then::Nothing);
    }

    /// Transactions that have been open for too long are aborted under an epoch that fences their
    /// producer; ids that were not used for long are forgotten.
    ///
    /// # Source
    /// `TransactionCoordinator.abortTimedOutTransactions`,
    /// `TransactionStateManager.removeExpiredTransactionalIds`.
    /// # Simplified
    /// One look does both; Kafka looks for unused ids once an hour.
    pub fn on_timeouts(&mut self, out: &mut Out) {
        let expiration = Span::from_millis(self.config.transactional_id_expiration_ms);
        let mut late = Vec::new();
        for (partition, shard) in &self.partitions {
            for (id, known) in &shard.transactions {
                let metadata = &known.metadata;
                let limit = Span::from_millis(metadata.timeout_ms);
                if known.is_moving {
                    continue;
                }
                if metadata.state == TransactionState::Ongoing {
                    if metadata.started_at.is_some_and(|at| at + limit < out.now) {
                        let mut next = metadata.clone();
                        next.updated_at = out.now;
                        fence(&mut next);
                        late.push((*partition, id.clone(), Some(next)));
                    }
                } else if metadata.updated_at + expiration <= out.now {
                    late.push((*partition, id.clone(), None));
                }
            }
        }
        for (partition, id, next) in late {
            let then = if next.is_some() {
                Then::TimedOut
            } else {
                Then::Nothing
            };
            self.write(partition, (id, next), then);
        }
        self.arm(out);
    }
}

impl Markers {
    fn of(
        (partition, coordinator_epoch, transactional_id): (u32, i32, Arc<str>),
        metadata: &TransactionMetadata,
    ) -> Self {
        Self {
            partition,
            transactional_id,
            producer_id: metadata.producer_id,
            producer_epoch: metadata.producer_epoch,
            is_commit: metadata.state == TransactionState::PrepareCommit,
            coordinator_epoch,
            partitions: metadata.partitions.clone(),
        }
    }
}

impl CoordinatorShard {
    /// Takes in a record of the log.
    ///
    /// # Source
    /// `TransactionStateManager.loadTransactionMetadata`.
    fn replay(&mut self, record: &Record) {
        if let RecordValue::Transaction {
            transactional_id,
            metadata,
        } = &record.value
        {
            match metadata {
                None => {
                    self.transactions.remove(transactional_id);
                }
                Some(metadata) => {
                    let known = Transaction {
                        metadata: TransactionMetadata::clone(metadata),
                        is_moving: false,
                    };
                    self.transactions.insert(transactional_id.clone(), known);
                }
            }
        }
    }
}

/// The transaction is to be aborted, under an epoch that its producer does not have.
///
/// # Source
/// `TransactionMetadata.prepareFenceProducerEpoch`.
fn fence(metadata: &mut TransactionMetadata) {
    metadata.producer_epoch = metadata.producer_epoch.saturating_add(1);
    metadata.state = TransactionState::PrepareAbort;
}

/// Whether markers are on their way.
fn is_ending(state: TransactionState) -> bool {
    state == TransactionState::PrepareCommit || state == TransactionState::PrepareAbort
}

fn init(reply: ReplyTo, result: Result<(i64, i16), ErrorCode>, out: &mut Out) {
    let error_code = result.err().unwrap_or_default();
    let (producer_id, producer_epoch) = result.unwrap_or((-1, -1));
    let response = InitProducerIdResponse {
        error_code,
        producer_id,
        producer_epoch,
    };
    out.respond(reply, Response::InitProducerId(response));
}

fn added(reply: ReplyTo, partitions: &[TopicPartition], error_code: ErrorCode, out: &mut Out) {
    let partitions = partitions.iter().map(|id| (*id, error_code)).collect();
    let response = AddPartitionsToTxnResponse { partitions };
    out.respond(reply, Response::AddPartitionsToTxn(response));
}

/// Whoever waits for a record that will not be written is told so.
fn refuse(then: Then, error_code: ErrorCode, out: &mut Out) {
    match then {
        Then::Nothing | Then::TimedOut => {}
        Then::Init(reply) | Then::FencedFor(reply) => init(reply, Err(error_code), out),
        Then::Added(reply, partitions) => added(reply, &partitions, error_code, out),
        Then::AddedOffsets(reply) => {
            let response = AddOffsetsToTxnResponse { error_code };
            out.respond(reply, Response::AddOffsetsToTxn(response));
        }
        Then::Ended(reply) => out.respond(reply, Response::EndTxn(EndTxnResponse { error_code })),
    }
}

/// Ids in one block (`ProducerIdsBlock.PRODUCER_ID_BLOCK_SIZE`).
const BLOCK: i64 = 1_000;
/// Beyond the blocks of every registration.
const FAR: i64 = 1_000_000_000_000;
