//! What a log knows of the producers that wrote to it: sequences, and transactions that are open.

use crate::base::ids::Offset;
use crate::kernel::time::{SimTime, Span};
use crate::wire::error_code::ErrorCode;
use crate::wire::record::{Batch, ProducerStamp, Record, RecordValue};
use serde::Serialize;

/// The producers of one log (`ProducerStateManager`). Every replica keeps its own, from the batches
/// alone, so it is there after a change of leader.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct ProducerStates {
    /// By producer id.
    producers: Vec<ProducerState>,
    /// Transactions that have ended and whose marker may not be replicated yet: first offset of the
    /// transaction, offset of its marker.
    unreplicated: Vec<(Offset, Offset)>,
    /// Transactions that were aborted, by the offset of their marker (the transaction index).
    aborted: Vec<AbortedTransaction>,
}

/// One producer, as a log knows it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ProducerState {
    /// Its id.
    pub producer_id: i64,
    /// The epoch of its last batch.
    pub producer_epoch: i16,
    /// Its last batches of that epoch, oldest first, no more than five.
    batches: Vec<WrittenBatch>,
    /// Where its open transaction begins; unset while it has none.
    pub transaction_start: Option<Offset>,
    /// Epoch of the coordinator that sent its last marker; -1 before any.
    pub coordinator_epoch: i32,
    /// When it last wrote.
    pub last_written_at: SimTime,
}

/// A batch that was written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
struct WrittenBatch {
    first_sequence: i32,
    last_sequence: i32,
    base_offset: Offset,
}

/// A transaction that was aborted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
pub struct AbortedTransaction {
    /// The producer.
    pub producer_id: i64,
    /// Offset of its first record.
    pub first_offset: Offset,
    /// Offset of its marker.
    pub last_offset: Offset,
}

/// What becomes of a batch that passed the checks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Checked {
    /// It is appended.
    New,
    /// It is in the log already, at this offset.
    Duplicate(Offset),
}

/// How many batches of a producer a log remembers, and a producer may have in flight.
pub const BATCHES_REMEMBERED: usize = 5;

impl ProducerState {
    const fn new(producer_id: i64) -> Self {
        Self {
            producer_id,
            producer_epoch: -1,
            batches: Vec::new(),
            transaction_start: None,
            coordinator_epoch: -1,
            last_written_at: SimTime::ZERO,
        }
    }

    /// Sequence of its last record; unset when only a marker is known of its epoch.
    pub fn last_sequence(&self) -> Option<i32> {
        self.batches.last().map(|batch| batch.last_sequence)
    }

    fn set_epoch(&mut self, producer_epoch: i16) {
        if self.producer_epoch != producer_epoch {
            self.producer_epoch = producer_epoch;
            self.batches.clear();
        }
    }

    fn check_sequence(&self, stamp: &ProducerStamp) -> Result<(), ErrorCode> {
        let expected = match self.last_sequence() {
            Some(last) if stamp.producer_epoch == self.producer_epoch => {
                ProducerStamp::advance(last, 1)
            }
            Some(_) | None => 0,
        };
        if stamp.base_sequence == expected {
            Ok(())
        } else {
            Err(ErrorCode::OutOfOrderSequenceNumber)
        }
    }
}

impl ProducerStates {
    /// Its producers, by id.
    pub fn producers(&self) -> &[ProducerState] {
        &self.producers
    }

    /// What is known of a producer.
    pub fn producer(&self, producer_id: i64) -> Option<&ProducerState> {
        let index = self.index_of(producer_id).ok()?;
        self.producers.get(index)
    }

    fn index_of(&self, producer_id: i64) -> Result<usize, usize> {
        self.producers
            .binary_search_by_key(&producer_id, |known| known.producer_id)
    }

    /// Forgets producers that have not written for `expiration`, unless a transaction is open.
    ///
    /// # Source
    /// `ProducerStateManager.removeExpiredProducers`.
    /// # Simplified
    /// It runs when a producer writes, and not every `producer.id.expiration.check.interval.ms`.
    pub fn expire(&mut self, now: SimTime, expiration: Span) {
        self.producers.retain(|known| {
            known.transaction_start.is_some() || now < known.last_written_at + expiration
        });
    }

    /// Whether a batch may be appended by the leader, or is there already.
    ///
    /// # Errors
    /// `INVALID_PRODUCER_EPOCH` for an epoch that is over, `OUT_OF_ORDER_SEQUENCE_NUMBER` for a gap
    /// or a duplicate that is no longer remembered, `INVALID_TXN_STATE` for a record outside the
    /// producer's open transaction, `TRANSACTION_COORDINATOR_FENCED` for a marker from a coordinator
    /// that is one no longer.
    /// # Source
    /// `ProducerAppendInfo.maybeValidateDataBatch`, `ProducerStateEntry.findDuplicateBatch`.
    pub fn check(&self, batch: &Batch) -> Result<Checked, ErrorCode> {
        let stamp = &batch.producer;
        if !stamp.has_id() {
            return Ok(Checked::New);
        }
        let Some(known) = self.producer(stamp.producer_id) else {
            return Ok(Checked::New);
        };
        let last_sequence = ProducerStamp::advance(stamp.base_sequence, batch.count() - 1);
        if 0 <= stamp.base_sequence && stamp.producer_epoch == known.producer_epoch {
            let found = known.batches.iter().find(|written| {
                written.first_sequence == stamp.base_sequence
                    && written.last_sequence == last_sequence
            });
            if let Some(written) = found {
                return Ok(Checked::Duplicate(written.base_offset));
            }
        }
        if stamp.producer_epoch < known.producer_epoch {
            return Err(ErrorCode::InvalidProducerEpoch);
        }
        if stamp.is_control {
            let is_stale = end_of_transaction(batch)
                .is_some_and(|(_, coordinator_epoch)| coordinator_epoch < known.coordinator_epoch);
            return if is_stale {
                Err(ErrorCode::TransactionCoordinatorFenced)
            } else {
                Ok(Checked::New)
            };
        }
        // A coordinator's own records have no sequence.
        if 0 <= stamp.base_sequence {
            known.check_sequence(stamp)?;
        }
        if known.transaction_start.is_some() && !stamp.is_transactional {
            return Err(ErrorCode::InvalidTxnState);
        }
        Ok(Checked::New)
    }

    /// Takes in a batch that stands in the log now, on a leader or a follower.
    ///
    /// # Source
    /// `ProducerAppendInfo.append`, `ProducerStateManager.completeTxn`.
    pub fn on_append(&mut self, batch: &Batch) {
        let stamp = &batch.producer;
        if !stamp.has_id() {
            return;
        }
        let index = match self.index_of(stamp.producer_id) {
            Ok(index) => index,
            Err(index) => {
                let fresh = ProducerState::new(stamp.producer_id);
                self.producers.insert(index, fresh);
                index
            }
        };
        let Some(known) = self.producers.get_mut(index) else {
            return;
        };
        known.set_epoch(stamp.producer_epoch);
        known.last_written_at = known.last_written_at.max(batch.appended_at);
        if stamp.is_control {
            let Some((is_commit, coordinator_epoch)) = end_of_transaction(batch) else {
                return;
            };
            known.coordinator_epoch = coordinator_epoch;
            if let Some(first_offset) = known.transaction_start.take() {
                self.end_transaction(stamp.producer_id, (first_offset, batch), is_commit);
            }
            return;
        }
        if 0 <= stamp.base_sequence {
            if known.batches.len() == BATCHES_REMEMBERED {
                known.batches.remove(0);
            }
            known.batches.push(WrittenBatch {
                first_sequence: stamp.base_sequence,
                last_sequence: ProducerStamp::advance(stamp.base_sequence, batch.count() - 1),
                base_offset: batch.base_offset,
            });
        }
        if stamp.is_transactional && known.transaction_start.is_none() {
            known.transaction_start = Some(batch.base_offset);
        }
    }

    fn end_transaction(
        &mut self,
        producer_id: i64,
        (first_offset, marker): (Offset, &Batch),
        is_commit: bool,
    ) {
        self.unreplicated.push((first_offset, marker.base_offset));
        if !is_commit {
            self.aborted.push(AbortedTransaction {
                producer_id,
                first_offset,
                last_offset: marker.base_offset,
            });
        }
    }

    /// Offsets below the high watermark are replicated: markers among them count.
    ///
    /// # Source
    /// `ProducerStateManager.onHighWatermarkUpdated`.
    pub fn on_high_watermark(&mut self, high_watermark: Offset) {
        if !self.unreplicated.is_empty() {
            self.unreplicated
                .retain(|(_, marker)| high_watermark <= *marker);
        }
    }

    /// The first offset of the oldest transaction that is open, or that has ended with a marker
    /// that is not replicated.
    ///
    /// # Source
    /// `ProducerStateManager.firstUnstableOffset`.
    pub fn first_unstable(&self) -> Option<Offset> {
        let ended = self.unreplicated.iter().map(|(first, _)| *first);
        let open = self.producers.iter();
        let open = open.filter_map(|known| known.transaction_start);
        ended.chain(open).min()
    }

    /// Aborted transactions that have records in `from..to`.
    ///
    /// # Source
    /// `TransactionIndex.collectAbortedTxns`.
    pub fn aborted_between(&self, from: Offset, to: Offset) -> Vec<AbortedTransaction> {
        let skipped = self.aborted.partition_point(|one| one.last_offset < from);
        let later = self.aborted.get(skipped..).unwrap_or_default();
        let within = later.iter().filter(|one| one.first_offset < to);
        within.copied().collect()
    }

    /// Where the last batch of a producer begins that its sequence is known by.
    pub fn last_batch(&self, producer_id: i64) -> Option<Offset> {
        let last = self.producer(producer_id)?.batches.last()?;
        Some(last.base_offset)
    }

    /// Forgets everything; the batches that are left are taken in anew after this.
    pub fn clear(&mut self) {
        *self = Self::default();
    }
}

/// What a control batch says: whether the transaction is committed, and the coordinator's epoch.
fn end_of_transaction(batch: &Batch) -> Option<(bool, i32)> {
    match batch.records.first() {
        Some(Record {
            value:
                RecordValue::EndTransaction {
                    is_commit,
                    coordinator_epoch,
                },
            ..
        }) => Some((*is_commit, *coordinator_epoch)),
        Some(_) | None => None,
    }
}

#[cfg(test)]
mod tests;
