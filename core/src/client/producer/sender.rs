//! Sending batches, and what becomes of them.

use super::accumulator::ProducerBatch;
use super::{InFlight, Producer, backoff};
use crate::base::config::Acks;
use crate::base::ids::{BrokerId, NodeId, Offset, TopicPartition};
use crate::base::timer::Timer;
use crate::kernel::time::{SimTime, Span};
use crate::trace::event::TraceEvent;
use crate::trace::out::Out;
use crate::wire::api::{ProducePartitionResponse, ProduceRequest, Request};
use crate::wire::error_code::ErrorCode;

impl Producer {
    /// Sequences after a batch that expired: either all is well, or a new epoch begins.
    ///
    /// # Source
    /// `TransactionManager.maybeResolveSequences`, `bumpIdempotentEpochAndResetIdIfNeeded`.
    pub(super) fn resolve_sequences(&mut self, out: &mut Out) {
        let is_transactional = self.transactions.is_some();
        let Some(idempotence) = &mut self.idempotence else {
            return;
        };
        let gaps = idempotence.resolve();
        if is_transactional {
            if let (Some(transactions), false) = (&mut self.transactions, gaps.is_empty()) {
                transactions.on_batch_failed(ErrorCode::OutOfOrderSequenceNumber);
            }
            return;
        }
        for topic_partition in gaps {
            idempotence.request_bump(topic_partition);
        }
        let restarting = idempotence.bump();
        if restarting.is_empty() {
            return;
        }
        out.trace(TraceEvent::ProducerIdAssigned {
            producer_id: idempotence.producer_id,
            producer_epoch: idempotence.producer_epoch,
        });
        for topic_partition in restarting {
            self.restart_sequences(topic_partition);
        }
    }

    /// Batches of a partition that have a sequence, on their way or tried again, get new ones.
    fn restart_sequences(&mut self, topic_partition: TopicPartition) {
        let Some(idempotence) = &mut self.idempotence else {
            return;
        };
        let on_their_way = self
            .in_flight
            .values_mut()
            .flat_map(|request| &mut request.batches)
            .filter(|(id, _)| *id == topic_partition)
            .map(|(_, batch)| batch);
        let queued = self.accumulator.sequenced_mut(topic_partition);
        let mut batches: Vec<&mut ProducerBatch> = on_their_way.chain(queued).collect();
        batches.sort_by_key(|batch| batch.base_sequence());
        let counts: Vec<u32> = batches.iter().map(|batch| batch.record_count()).collect();
        let renumbered = idempotence.restart(topic_partition, &counts);
        let identity = (idempotence.producer_id, idempotence.producer_epoch);
        for (batch, sequence) in batches.into_iter().zip(renumbered) {
            batch.set_identity(identity, sequence);
        }
    }

    /// Batches that have waited for `delivery.timeout.ms` fail, in the queue and on their way; an
    /// answer that comes later finds nobody.
    ///
    /// # Source
    /// `Sender.sendProducerData`, `getExpiredInflightBatches`.
    pub(super) fn expire(&mut self, out: &mut Out) {
        let limit = Span::from_millis(self.config.delivery_timeout_ms);
        let mut late = Vec::new();
        for request in self.in_flight.values_mut() {
            let batches = std::mem::take(&mut request.batches);
            let (expired, kept) = batches
                .into_iter()
                .partition(|(_, batch)| batch.created_at() + limit <= out.now);
            request.batches = kept;
            late.push(expired);
        }
        late.push(self.accumulator.take_expired(out.now, limit));
        for (topic_partition, batch) in late.into_iter().flatten() {
            if let Some(idempotence) = &mut self.idempotence {
                idempotence.on_failed(topic_partition, &batch, false);
                if 0 < batch.attempts() {
                    idempotence.mark_unresolved(topic_partition, &batch);
                }
            }
            self.give_up(topic_partition, &batch, ErrorCode::RequestTimedOut, out);
        }
    }

    /// One round of the sender. True if a batch was sent.
    pub(super) fn send_ready(&mut self, out: &mut Out) -> bool {
        let mut has_sent = false;
        let mut ready: Vec<BrokerId> = Vec::new();
        let mut is_leader_missing = false;
        let is_ending = self
            .transactions
            .as_ref()
            .is_some_and(super::transaction::Transactions::is_completing);
        let flushes = self.waits_for_memory || self.is_closing || is_ending;
        for topic_partition in self.accumulator.partitions_with_batches() {
            match self.metadata.leader(topic_partition) {
                None => is_leader_missing = true,
                Some((leader, _)) => {
                    if !ready.contains(&leader)
                        && self.accumulator.is_ready(topic_partition, flushes, out.now)
                        && !self.is_muted(topic_partition)
                    {
                        ready.push(leader);
                    }
                }
            }
        }
        if is_leader_missing {
            self.metadata.request_update(out);
        }
        ready.sort_unstable();
        for leader in ready {
            let may_send = self.may_send_to(leader, out.now);
            let node = self.nodes.entry(leader).or_default();
            node.ready_at = out.now;
            // A broker that is not connected is asked first; its batches wait.
            if may_send && self.is_connected(leader, out) {
                let node = self.nodes.entry(leader).or_default();
                node.drained_at = out.now;
                has_sent |= self.send_to(leader, out);
            }
        }
        has_sent
    }

    fn may_send_to(&self, broker: BrokerId, now: SimTime) -> bool {
        let in_flight = self
            .in_flight
            .values()
            .filter(|one| one.broker == broker)
            .count();
        let limit = self.config.max_in_flight_requests_per_connection;
        i64::try_from(in_flight).unwrap_or(i64::MAX) < limit
            && self.metadata.is_reachable(broker, now)
    }

    /// With one request in flight, a partition waits for its batch before the next one goes.
    fn is_muted(&self, topic_partition: TopicPartition) -> bool {
        self.config.max_in_flight_requests_per_connection == 1
            && self
                .in_flight
                .values()
                .any(|request| request.batches.iter().any(|(id, _)| *id == topic_partition))
    }

    /// Takes at most one batch of each partition that a broker leads, in turn from where the last
    /// request stopped.
    ///
    /// # Source
    /// `RecordAccumulator.drainBatchesForOneNode`.
    fn drain(&mut self, broker: BrokerId, now: SimTime) -> Vec<(TopicPartition, ProducerBatch)> {
        let partitions = self.metadata.led_by(broker);
        let count = u64::try_from(partitions.len()).unwrap_or_default().max(1);
        let first = self.nodes.get(&broker).map_or(0, |node| node.drain_index) % count;
        let limit = u64::try_from(self.config.max_request_size).unwrap_or_default();
        let mut batches = Vec::new();
        let mut bytes = 0;
        for step in 0..count {
            let index = (first + step) % count;
            if let Some(node) = self.nodes.get_mut(&broker) {
                node.drain_index = index;
            }
            let at = usize::try_from(index).unwrap_or_default();
            let Some(topic_partition) = partitions.get(at).copied() else {
                break;
            };
            if !self.accumulator.may_drain(topic_partition, now) || self.is_muted(topic_partition) {
                continue;
            }
            let size = self.accumulator.first_size(topic_partition);
            if !batches.is_empty() && limit < bytes + size {
                break;
            }
            // A batch that waits for another one holds up the whole broker.
            if self.must_wait(topic_partition) {
                break;
            }
            let Some(mut batch) = self.accumulator.take_first(topic_partition) else {
                continue;
            };
            if let Some(idempotence) = &mut self.idempotence {
                idempotence.assign(topic_partition, &mut batch);
            }
            bytes += size;
            batches.push((topic_partition, batch));
        }
        batches
    }

    fn must_wait(&self, topic_partition: TopicPartition) -> bool {
        if let Some(transactions) = &self.transactions
            && !transactions.allows(topic_partition)
        {
            return true;
        }
        match (&self.idempotence, self.accumulator.first(topic_partition)) {
            (Some(idempotence), Some(batch)) => idempotence.blocks(topic_partition, batch),
            (None | Some(_), _) => false,
        }
    }

    fn send_to(&mut self, broker: BrokerId, out: &mut Out) -> bool {
        let batches = self.drain(broker, out.now);
        if batches.is_empty() {
            return false;
        }
        let sent = batches
            .iter()
            .map(|(_, batch)| u64::from(batch.record_count()));
        self.records_sent += sent.sum::<u64>();
        let is_transactional = self.transactions.is_some();
        let retried = batches.iter().filter(|(_, batch)| 0 < batch.attempts());
        let request = ProduceRequest {
            acks: self.config.acks,
            timeout_ms: self.config.request_timeout_ms,
            transactional_id: self.config.transactional_id.clone(),
            retried: retried.map(|(id, _)| *id).collect(),
            batches: batches
                .iter()
                .map(|(id, batch)| (*id, batch.to_wire(is_transactional)))
                .collect(),
        };
        let to = NodeId::Broker(broker);
        let body = Request::Produce(request);
        if self.config.acks == Acks::None {
            out.send(to, body);
            for (topic_partition, batch) in batches {
                self.acknowledge(topic_partition, &batch, Offset::UNKNOWN, out);
            }
            return true;
        }
        let timeout = Span::from_millis(self.config.request_timeout_ms);
        let correlation = out.request(to, body, timeout);
        self.in_flight
            .insert(correlation, InFlight { broker, batches });
        true
    }

    /// The next instant at which something becomes ready or expires.
    pub(super) fn arm_next(&self, out: &mut Out) {
        let limit = Span::from_millis(self.config.delivery_timeout_ms);
        let on_their_way = self.in_flight.values().flat_map(|request| &request.batches);
        let expiry = on_their_way.map(|(_, batch)| batch.created_at() + limit);
        let transaction = self.transactions.as_ref();
        let is_id_due =
            self.id_request.is_none() && self.idempotence.as_ref().is_some_and(|it| !it.has_id());
        let id = is_id_due.then_some(self.id_retry_at);
        let mut next = self
            .accumulator
            .next_due(out.now, limit)
            .into_iter()
            .chain(expiry)
            .chain(transaction.and_then(|it| it.due_at(out.now)))
            .chain(id.filter(|at| out.now < *at))
            .min();
        for topic_partition in self.accumulator.partitions_with_batches() {
            if let Some((leader, _)) = self.metadata.leader(topic_partition)
                && !self.metadata.is_reachable(leader, out.now)
            {
                let at = self.metadata.reachable_at(leader);
                next = Some(next.map_or(at, |known| known.min(at)));
            }
        }
        match next {
            Some(at) => out.arm_at(Timer::ProducerSend, at),
            None => out.cancel(Timer::ProducerSend),
        }
    }

    /// Takes in what became of a request's batches.
    ///
    /// # Source
    /// `Sender.completeBatch`.
    pub(super) fn complete(
        &mut self,
        request: InFlight,
        answers: &[ProducePartitionResponse],
        out: &mut Out,
    ) {
        // Later batches go back first, so that the queue keeps its order.
        for (topic_partition, batch) in request.batches.into_iter().rev() {
            let answer = answers
                .iter()
                .find(|one| one.topic_partition == topic_partition);
            let Some(answer) = answer else { continue };
            let is_duplicate = answer.error_code == ErrorCode::DuplicateSequenceNumber;
            if answer.error_code.is_none() || is_duplicate {
                self.acknowledge(topic_partition, &batch, answer.base_offset, out);
                continue;
            }
            if answer.error_code == ErrorCode::MessageTooLarge && 1 < batch.record_count() {
                self.split(topic_partition, batch, out);
                continue;
            }
            let mut batch = batch;
            if let Some((leader, leader_epoch)) = answer.current_leader
                && self
                    .metadata
                    .update_leader(topic_partition, leader, leader_epoch)
            {
                batch.skip_backoff();
            }
            if REFRESHING.contains(&answer.error_code) {
                self.metadata.request_update(out);
            }
            self.retry_or_fail(topic_partition, batch, answer.error_code, out);
        }
    }

    /// The broker finds the batch too large: its records go in smaller ones, and that is no retry.
    fn split(&mut self, topic_partition: TopicPartition, whole: ProducerBatch, out: &mut Out) {
        let sequence = whole.base_sequence();
        let parts = self.accumulator.split(topic_partition, whole);
        let firsts: Vec<i32> = parts
            .iter()
            .filter_map(ProducerBatch::base_sequence)
            .collect();
        if let (Some(idempotence), Some(sequence)) = (&mut self.idempotence, sequence) {
            idempotence.on_split(topic_partition, sequence, &firsts);
        }
        out.trace(TraceEvent::BatchSplit {
            topic_partition,
            batches: u32::try_from(parts.len()).unwrap_or(u32::MAX),
        });
    }

    pub(super) fn retry_or_fail(
        &mut self,
        topic_partition: TopicPartition,
        mut batch: ProducerBatch,
        error_code: ErrorCode,
        out: &mut Out,
    ) {
        let limit = Span::from_millis(self.config.delivery_timeout_ms);
        let has_tries = i64::from(batch.attempts()) < self.config.retries;
        let may_retry = has_tries
            && out.now < batch.created_at() + limit
            && self.is_worth_a_retry(topic_partition, &batch, error_code);
        if !may_retry {
            if let Some(idempotence) = &mut self.idempotence {
                let leaves_gap = has_tries && self.transactions.is_none();
                idempotence.on_failed(topic_partition, &batch, leaves_gap);
            }
            self.give_up(topic_partition, &batch, error_code, out);
            return;
        }
        let backoff = backoff(&self.config);
        self.records_retried += u64::from(batch.record_count());
        let attempts = batch.schedule_retry(backoff, &mut self.stream, out.now);
        out.trace(TraceEvent::BatchRetried {
            topic_partition,
            error_code,
            attempts,
        });
        self.accumulator.put_back(topic_partition, batch);
    }

    /// Whether a failure may pass. A batch that came out of order is retried: one before it is, too,
    /// or a new epoch begins.
    ///
    /// # Source
    /// `TransactionManager.canRetry`.
    fn is_worth_a_retry(
        &mut self,
        topic_partition: TopicPartition,
        batch: &ProducerBatch,
        error_code: ErrorCode,
    ) -> bool {
        let (Some(idempotence), ErrorCode::OutOfOrderSequenceNumber, Some(sequence)) =
            (&mut self.idempotence, error_code, batch.base_sequence())
        else {
            return error_code.is_retriable();
        };
        let unresolved = idempotence.unresolved(topic_partition);
        let is_next = idempotence.is_next(topic_partition, sequence);
        if unresolved.is_none() && (batch.is_reset() || !is_next) {
            return true;
        }
        if self.transactions.is_some() {
            return false;
        }
        if unresolved.is_none_or(|after| after == sequence) {
            idempotence.request_bump(topic_partition);
        }
        true
    }

    fn acknowledge(
        &mut self,
        topic_partition: TopicPartition,
        batch: &ProducerBatch,
        base_offset: Offset,
        out: &mut Out,
    ) {
        if let Some(idempotence) = &mut self.idempotence {
            idempotence.on_acknowledged(topic_partition, batch);
        }
        self.accumulator.release(batch);
        self.records_acknowledged += u64::from(batch.record_count());
        out.trace(TraceEvent::BatchAcknowledged {
            topic_partition,
            base_offset,
            records: batch.record_count(),
            queued_at: batch.created_at(),
        });
    }

    /// The application gets an exception for each record.
    pub(super) fn give_up(
        &mut self,
        topic_partition: TopicPartition,
        batch: &ProducerBatch,
        error_code: ErrorCode,
        out: &mut Out,
    ) {
        if let Some(transactions) = &mut self.transactions {
            transactions.on_batch_failed(error_code);
        }
        self.accumulator.release(batch);
        self.records_failed += u64::from(batch.record_count());
        out.trace(TraceEvent::BatchFailed {
            topic_partition,
            error_code,
            records: batch.record_count(),
        });
    }
}

/// Errors that say that the metadata are stale (`InvalidMetadataException`).
const REFRESHING: [ErrorCode; 4] = [
    ErrorCode::NotLeaderOrFollower,
    ErrorCode::LeaderNotAvailable,
    ErrorCode::UnknownTopicOrPartition,
    ErrorCode::KafkaStorageError,
];
