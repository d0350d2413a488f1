//! Transactions, on the producer's side (`TransactionManager`).

use super::Producer;
use crate::base::ids::{BrokerId, CorrelationId, GroupId, NodeId, TopicPartition};
use crate::client::backoff::Backoff;
use crate::kernel::time::{SimTime, Span};
use crate::trace::event::TraceEvent;
use crate::trace::out::Out;
use crate::wire::api::{
    AddOffsetsToTxnRequest, AddPartitionsToTxnRequest, EndTxnRequest, FindCoordinatorRequest,
    InitProducerIdRequest, OffsetCommitRequest, Request, Response, TxnOffsetCommitRequest,
};
use crate::wire::error_code::ErrorCode;
use serde::Serialize;
use std::sync::Arc;

/// What a producer with a transactional id keeps.
#[derive(Clone, Debug, Serialize)]
pub struct Transactions {
    transactional_id: Arc<str>,
    timeout_ms: i64,
    phase: TransactionPhase,
    /// The transaction coordinator; unset while it is unknown.
    coordinator: Option<BrokerId>,
    /// The coordinator of the group whose offsets belong to the transaction.
    group_coordinator: Option<BrokerId>,
    /// The one request that has no answer yet.
    request: Option<(CorrelationId, Call)>,
    /// Not before this instant.
    retry_at: SimTime,
    failures: u32,
    /// Partitions that the coordinator has made part of the transaction.
    added: Vec<TopicPartition>,
    /// Partitions that are to become part of it.
    wanted: Vec<TopicPartition>,
    /// A group's offsets that are to be committed with it.
    #[serde(skip)]
    offsets: Option<OffsetCommitRequest>,
    /// Whether the group's partition is part of it.
    has_added_offsets: bool,
    /// Whether a batch of it failed: the epoch is raised before the next one (KIP-360).
    needs_bump: bool,
    /// Transactions that were committed or aborted.
    pub ended: u64,
}

/// How far a transaction is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum TransactionPhase {
    /// `initTransactions()` waits for id and epoch.
    Initializing,
    /// No transaction is open.
    Ready,
    /// Records may be sent.
    Open,
    /// `commitTransaction()` waits.
    Committing,
    /// `abortTransaction()` waits.
    Aborting,
    /// Something failed: the application may only abort.
    Abortable(ErrorCode),
    /// The producer is of no more use; the exception that the application gets.
    Fatal(&'static str),
}

/// A request to a coordinator.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
enum Call {
    FindCoordinator,
    FindGroupCoordinator,
    Init,
    AddPartitions(Vec<TopicPartition>),
    AddOffsets,
    CommitOffsets,
    End,
}

/// What an error brings about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Reaction {
    /// The same request again, after a back-off.
    Retry,
    /// The coordinator is looked up, then the same request again.
    LookUp,
    /// The transaction can only be aborted.
    Abort,
    /// The producer can only be closed.
    Fatal(&'static str),
}

impl Transactions {
    /// Before `initTransactions()`, which is called at once.
    pub const fn new(transactional_id: Arc<str>, timeout_ms: i64) -> Self {
        Self {
            transactional_id,
            timeout_ms,
            phase: TransactionPhase::Initializing,
            coordinator: None,
            group_coordinator: None,
            request: None,
            retry_at: SimTime::ZERO,
            failures: 0,
            added: Vec::new(),
            wanted: Vec::new(),
            offsets: None,
            has_added_offsets: false,
            needs_bump: false,
            ended: 0,
        }
    }

    /// How far it is.
    pub const fn phase(&self) -> TransactionPhase {
        self.phase
    }

    /// Its transactional id.
    pub const fn transactional_id(&self) -> &Arc<str> {
        &self.transactional_id
    }

    /// When the next request may go; unset when none waits for its back-off.
    pub fn due_at(&self, now: SimTime) -> Option<SimTime> {
        (self.request.is_none() && now < self.retry_at).then_some(self.retry_at)
    }

    /// Whether batches of a partition may be sent.
    ///
    /// # Source
    /// `TransactionManager.isSendToPartitionAllowed`.
    pub fn allows(&self, topic_partition: TopicPartition) -> bool {
        !matches!(
            self.phase,
            TransactionPhase::Fatal(_) | TransactionPhase::Abortable(_)
        ) && self.added.contains(&topic_partition)
    }

    /// Whether batches go at once, because the transaction ends.
    pub const fn is_completing(&self) -> bool {
        matches!(
            self.phase,
            TransactionPhase::Committing | TransactionPhase::Aborting
        )
    }

    /// A record goes to this partition.
    pub fn on_record(&mut self, topic_partition: TopicPartition) {
        if !self.added.contains(&topic_partition) && !self.wanted.contains(&topic_partition) {
            self.wanted.push(topic_partition);
        }
    }

    /// A batch of the transaction was given up.
    ///
    /// # Source
    /// `TransactionManager.maybeTransitionToErrorState`.
    pub const fn on_batch_failed(&mut self, error_code: ErrorCode) {
        self.needs_bump = true;
        if matches!(
            self.phase,
            TransactionPhase::Open | TransactionPhase::Committing
        ) {
            self.phase = TransactionPhase::Abortable(error_code);
        }
    }

    /// The request that is to be sent next.
    fn next_call(&self, has_batches: bool) -> Option<Call> {
        match self.phase {
            TransactionPhase::Fatal(_)
            | TransactionPhase::Abortable(_)
            | TransactionPhase::Ready => return None,
            TransactionPhase::Initializing => {
                return Some(if self.coordinator.is_none() {
                    Call::FindCoordinator
                } else {
                    Call::Init
                });
            }
            TransactionPhase::Open | TransactionPhase::Committing | TransactionPhase::Aborting => {}
        }
        let call = if !self.wanted.is_empty() {
            Call::AddPartitions(self.wanted.clone())
        } else if self.offsets.is_some() && !self.has_added_offsets {
            Call::AddOffsets
        } else if self.offsets.is_some() {
            return Some(if self.group_coordinator.is_none() {
                Call::FindGroupCoordinator
            } else {
                Call::CommitOffsets
            });
        } else if self.is_completing() && !has_batches {
            Call::End
        } else {
            return None;
        };
        Some(if self.coordinator.is_none() {
            Call::FindCoordinator
        } else {
            call
        })
    }

    /// Whether the coordinator knows of the transaction.
    const fn is_registered(&self) -> bool {
        !self.added.is_empty() || self.has_added_offsets
    }
}

impl Producer {
    /// Its transactions; unset without a transactional id.
    pub const fn transactions(&self) -> Option<&Transactions> {
        self.transactions.as_ref()
    }

    /// `beginTransaction()`. False while the producer is not ready for it.
    pub fn begin_transaction(&mut self, out: &mut Out) -> bool {
        let Some(transactions) = &mut self.transactions else {
            return false;
        };
        if transactions.phase != TransactionPhase::Ready {
            return false;
        }
        transactions.phase = TransactionPhase::Open;
        out.trace(TraceEvent::TransactionBegun {
            transactional_id: transactions.transactional_id.clone(),
        });
        true
    }

    /// `sendOffsetsToTransaction()`.
    pub fn send_offsets(&mut self, commit: OffsetCommitRequest, out: &mut Out) {
        if let Some(transactions) = &mut self.transactions
            && transactions.phase == TransactionPhase::Open
            && !commit.offsets.is_empty()
        {
            transactions.offsets = Some(commit);
            self.pump(out);
        }
    }

    /// `commitTransaction()`: what waits is sent, then the coordinator is asked.
    pub fn commit_transaction(&mut self, out: &mut Out) {
        if let Some(transactions) = &mut self.transactions
            && transactions.phase == TransactionPhase::Open
        {
            transactions.phase = TransactionPhase::Committing;
            self.pump(out);
        }
    }

    /// `abortTransaction()`: what has not been sent is dropped, then the coordinator is asked.
    ///
    /// # Source
    /// `TransactionManager.beginAbort`, `RecordAccumulator.abortUndrainedBatches`.
    pub fn abort_transaction(&mut self, out: &mut Out) {
        let Some(transactions) = &mut self.transactions else {
            return;
        };
        if !matches!(
            transactions.phase,
            TransactionPhase::Open | TransactionPhase::Abortable(_)
        ) {
            return;
        }
        transactions.phase = TransactionPhase::Aborting;
        transactions.wanted.clear();
        transactions.offsets = None;
        let needs_bump = transactions.needs_bump;
        self.blocked.clear();
        for (topic_partition, batch) in self.accumulator.take_all() {
            if let Some(idempotence) = &mut self.idempotence {
                idempotence.on_failed(topic_partition, &batch, false);
            }
            self.give_up(
                topic_partition,
                &batch,
                ErrorCode::TransactionAbortable,
                out,
            );
        }
        // Records that were never sent leave no gap.
        if let Some(transactions) = &mut self.transactions {
            transactions.needs_bump = needs_bump;
        }
        self.pump(out);
    }

    /// Sends the next request of the transaction, if one is due.
    ///
    /// # Source
    /// `Sender.maybeSendAndPollTransactionalRequest`.
    pub(super) fn transaction_step(&mut self, out: &mut Out) {
        let has_batches = 0 < self.records_queued() || !self.in_flight.is_empty();
        let Some(transactions) = &mut self.transactions else {
            return;
        };
        if transactions.request.is_some() || out.now < transactions.retry_at {
            return;
        }
        let Some(call) = transactions.next_call(has_batches) else {
            return;
        };
        if call == Call::End && !transactions.is_registered() {
            self.finish_transaction(out);
            return;
        }
        let Some((broker, body)) = self.transaction_request(&call, out.now) else {
            return;
        };
        let timeout = Span::from_millis(self.config.request_timeout_ms);
        let correlation = out.request(NodeId::Broker(broker), body, timeout);
        if let Some(transactions) = &mut self.transactions {
            transactions.request = Some((correlation, call));
        }
    }

    /// Whom to send a request to, and what it says. Nobody while no broker can be reached: the
    /// producer then tries again when one can.
    fn transaction_request(&mut self, call: &Call, now: SimTime) -> Option<(BrokerId, Request)> {
        let idempotence = self.idempotence.as_ref()?;
        let (producer_id, producer_epoch) = (idempotence.producer_id, idempotence.producer_epoch);
        let transactions = self.transactions.as_mut()?;
        let transactional_id = transactions.transactional_id.clone();
        let is_group = *call == Call::FindGroupCoordinator || *call == Call::CommitOffsets;
        let known = if is_group {
            transactions.group_coordinator
        } else {
            transactions.coordinator
        };
        let is_lookup = *call == Call::FindCoordinator || *call == Call::FindGroupCoordinator;
        let target = if is_lookup {
            self.metadata.pick_broker(now)
        } else {
            let broker = known?;
            if self.metadata.is_reachable(broker, now) {
                Ok(broker)
            } else {
                Err(self.metadata.reachable_at(broker))
            }
        };
        let broker = match target {
            Ok(broker) => broker,
            Err(retry_at) => {
                transactions.retry_at = retry_at;
                return None;
            }
        };
        let group_id = transactions
            .offsets
            .as_ref()
            .map_or_else(GroupId::default, |commit| commit.group_id.clone());
        let body = match call {
            Call::FindCoordinator => Request::FindCoordinator(FindCoordinatorRequest {
                group_id: GroupId::default(),
                transactional_id: Some(transactional_id),
            }),
            Call::FindGroupCoordinator => Request::FindCoordinator(FindCoordinatorRequest {
                group_id,
                transactional_id: None,
            }),
            Call::Init => Request::InitProducerId(InitProducerIdRequest {
                transactional_id: Some(transactional_id),
                transaction_timeout_ms: transactions.timeout_ms,
                producer_id,
                producer_epoch,
            }),
            Call::AddPartitions(partitions) => {
                Request::AddPartitionsToTxn(AddPartitionsToTxnRequest {
                    transactional_id,
                    producer_id,
                    producer_epoch,
                    verify_only: false,
                    partitions: partitions.clone(),
                })
            }
            Call::AddOffsets => Request::AddOffsetsToTxn(AddOffsetsToTxnRequest {
                transactional_id,
                producer_id,
                producer_epoch,
                group_id,
            }),
            Call::CommitOffsets => Request::TxnOffsetCommit(TxnOffsetCommitRequest {
                transactional_id,
                producer_id,
                producer_epoch,
                commit: transactions.offsets.clone()?,
            }),
            Call::End => Request::EndTxn(EndTxnRequest {
                transactional_id,
                producer_id,
                producer_epoch,
                is_commit: transactions.phase == TransactionPhase::Committing,
            }),
        };
        Some((broker, body))
    }

    /// Takes in a coordinator's answer. False if it is none.
    pub(super) fn on_transaction_response(
        &mut self,
        correlation: CorrelationId,
        response: &Response,
        out: &mut Out,
    ) -> bool {
        let Some(transactions) = &mut self.transactions else {
            return false;
        };
        let Some((sent, call)) = transactions.request.take() else {
            return false;
        };
        if sent != correlation {
            transactions.request = Some((sent, call));
            return false;
        }
        let error_code = response.error_code();
        if error_code.is_none() {
            transactions.failures = 0;
            self.transaction_succeeded(call, response, out);
        } else {
            self.transaction_failed(&call, error_code, out);
        }
        true
    }

    fn transaction_succeeded(&mut self, call: Call, response: &Response, out: &mut Out) {
        let Some(transactions) = &mut self.transactions else {
            return;
        };
        if let Response::FindCoordinator(found) = response {
            if call == Call::FindGroupCoordinator {
                transactions.group_coordinator = found.coordinator;
            } else {
                transactions.coordinator = found.coordinator;
            }
            return;
        }
        if let Response::InitProducerId(given) = response {
            transactions.phase = TransactionPhase::Ready;
            transactions.needs_bump = false;
            self.take_producer_id((given.producer_id, given.producer_epoch), out);
            return;
        }
        match call {
            Call::AddPartitions(partitions) => {
                transactions.wanted.retain(|id| !partitions.contains(id));
                transactions.added.extend(partitions);
            }
            Call::AddOffsets => transactions.has_added_offsets = true,
            Call::CommitOffsets => transactions.offsets = None,
            Call::End => self.finish_transaction(out),
            Call::FindCoordinator | Call::FindGroupCoordinator | Call::Init => {}
        }
    }

    fn finish_transaction(&mut self, out: &mut Out) {
        let Some(transactions) = &mut self.transactions else {
            return;
        };
        let is_commit = transactions.phase == TransactionPhase::Committing;
        transactions.added.clear();
        transactions.wanted.clear();
        transactions.has_added_offsets = false;
        transactions.ended += 1;
        transactions.phase = if transactions.needs_bump {
            TransactionPhase::Initializing
        } else {
            TransactionPhase::Ready
        };
        out.trace(TraceEvent::TransactionEnded {
            transactional_id: transactions.transactional_id.clone(),
            is_commit,
        });
        self.transaction_step(out);
    }

    fn transaction_failed(&mut self, call: &Call, error_code: ErrorCode, out: &mut Out) {
        let backoff = super::backoff(&self.config);
        let is_add = matches!(call, Call::AddPartitions(_));
        let wait = if is_add && error_code == ErrorCode::ConcurrentTransactions {
            // The markers of the transaction before are on their way: a moment is enough.
            Backoff {
                first_ms: CONCURRENT_RETRY_MS,
                max_ms: CONCURRENT_RETRY_MS,
            }
        } else {
            backoff
        };
        let Some(transactions) = &mut self.transactions else {
            return;
        };
        match reaction(call, error_code) {
            Reaction::Retry => {}
            Reaction::LookUp if *call == Call::CommitOffsets => {
                transactions.group_coordinator = None;
            }
            Reaction::LookUp => transactions.coordinator = None,
            Reaction::Abort => {
                transactions.needs_bump = true;
                transactions.phase = TransactionPhase::Abortable(error_code);
                return;
            }
            Reaction::Fatal(exception) => {
                transactions.phase = TransactionPhase::Fatal(exception);
                return;
            }
        }
        transactions.failures += 1;
        transactions.retry_at = out.now + wait.after(transactions.failures, &mut self.stream);
    }

    /// A request to a coordinator gets no answer. False if it was none.
    pub(super) fn on_transaction_disconnect(
        &mut self,
        correlation: CorrelationId,
        out: &mut Out,
    ) -> bool {
        let Some(transactions) = &mut self.transactions else {
            return false;
        };
        let Some((sent, call)) = transactions.request.take() else {
            return false;
        };
        if sent != correlation {
            transactions.request = Some((sent, call));
            return false;
        }
        let is_lookup = call == Call::FindCoordinator || call == Call::FindGroupCoordinator;
        let error_code = if is_lookup {
            ErrorCode::NetworkException
        } else {
            ErrorCode::CoordinatorNotAvailable
        };
        self.transaction_failed(&call, error_code, out);
        true
    }
}

/// What an error of a request brings about.
///
/// # Source
/// `TransactionManager.TxnRequestHandler` and its subclasses.
#[expect(
    clippy::wildcard_enum_match_arm,
    reason = "Kafka treats every code without a rule of its own alike"
)]
fn reaction(call: &Call, error_code: ErrorCode) -> Reaction {
    let is_lookup = *call == Call::FindCoordinator || *call == Call::FindGroupCoordinator;
    match error_code {
        _ if is_lookup && error_code.is_retriable() => Reaction::Retry,
        ErrorCode::NotCoordinator
        | ErrorCode::CoordinatorNotAvailable
        | ErrorCode::RequestTimedOut => Reaction::LookUp,
        ErrorCode::ProducerFenced | ErrorCode::InvalidProducerEpoch => {
            Reaction::Fatal("ProducerFencedException")
        }
        ErrorCode::InvalidProducerIdMapping if *call != Call::Init => Reaction::Abort,
        ErrorCode::TransactionAbortable
        | ErrorCode::UnknownMemberId
        | ErrorCode::IllegalGeneration
        | ErrorCode::FencedInstanceId => Reaction::Abort,
        ErrorCode::InvalidTxnState => Reaction::Fatal("InvalidTxnStateException"),
        ErrorCode::InvalidTransactionTimeout => Reaction::Fatal("InvalidTxnTimeoutException"),
        _ if error_code.is_retriable() => Reaction::Retry,
        _ => Reaction::Fatal("KafkaException"),
    }
}

/// `TransactionManager.ADD_PARTITIONS_RETRY_BACKOFF_MS`.
const CONCURRENT_RETRY_MS: i64 = 20;
