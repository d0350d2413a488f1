//! Requests that wait at a broker.

use crate::base::ids::{Offset, TopicPartition};
use crate::kernel::time::SimTime;
use crate::trace::out::ReplyTo;
use crate::wire::api::{DeleteRecordsPartitionResponse, FetchRequest, ProducePartitionResponse};
use serde::Serialize;
use std::collections::BTreeMap;

/// Parked requests of one kind, in the order of parking.
#[derive(Clone, Debug, Serialize)]
pub struct Purgatory<T> {
    waiting: BTreeMap<u64, T>,
}

impl<T> Default for Purgatory<T> {
    fn default() -> Self {
        Self {
            waiting: BTreeMap::new(),
        }
    }
}

impl<T> Purgatory<T> {
    /// Parks a request under `id`.
    pub fn park(&mut self, id: u64, request: T) {
        self.waiting.insert(id, request);
    }

    /// Takes a request out.
    pub fn take(&mut self, id: u64) -> Option<T> {
        self.waiting.remove(&id)
    }

    /// The ids of the requests for which `wanted` holds.
    pub fn ids(&self, mut wanted: impl FnMut(&T) -> bool) -> Vec<u64> {
        self.waiting
            .iter()
            .filter(|(_, request)| wanted(request))
            .map(|(id, _)| *id)
            .collect()
    }

    /// A parked request, to be changed in place.
    pub fn get_mut(&mut self, id: u64) -> Option<&mut T> {
        self.waiting.get_mut(&id)
    }

    /// A parked request.
    pub fn get(&self, id: u64) -> Option<&T> {
        self.waiting.get(&id)
    }

    /// How many requests wait.
    pub fn count(&self) -> i64 {
        i64::try_from(self.waiting.len()).unwrap_or(i64::MAX)
    }

    /// Every parked request, oldest first.
    pub fn iter(&self) -> impl Iterator<Item = &T> {
        self.waiting.values()
    }
}

/// What kind of answer a request that appends is waiting for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub enum Answering {
    /// That of a producer's request.
    Produce,
    /// That of a transaction coordinator's markers.
    WriteTxnMarkers,
}

/// A produce request with `acks=all` that waits for its replicas (`DelayedProduce`).
#[derive(Clone, Debug, Serialize)]
pub struct DelayedProduce {
    /// Whom to answer.
    pub reply: ReplyTo,
    /// How.
    pub answering: Answering,
    /// When it was parked.
    pub since: SimTime,
    /// When it is answered at the latest.
    pub deadline: SimTime,
    /// Its partitions.
    pub partitions: Vec<DelayedPartition>,
}

/// One partition of a parked produce request.
#[derive(Clone, Debug, Serialize)]
pub struct DelayedPartition {
    /// The high watermark that must be reached; unset once the answer stands.
    pub required_offset: Option<Offset>,
    /// The answer, as it stands.
    pub response: ProducePartitionResponse,
}

/// A fetch that waits for something to read (`DelayedFetch`).
#[derive(Clone, Debug, Serialize)]
pub struct DelayedFetch {
    /// Whom to answer.
    pub reply: ReplyTo,
    /// When it was parked.
    pub since: SimTime,
    /// When it is answered at the latest.
    pub deadline: SimTime,
    /// What was asked.
    pub request: FetchRequest,
}

/// A delete-records request that waits for the other replicas (`DelayedDeleteRecords`).
#[derive(Clone, Debug, Serialize)]
pub struct DelayedDeleteRecords {
    /// Whom to answer.
    pub reply: ReplyTo,
    /// Where each log must start, and the answer as it stands; the offset is unset once the answer
    /// is final.
    pub partitions: Vec<(Option<Offset>, DeleteRecordsPartitionResponse)>,
}

impl DelayedFetch {
    /// Whether it asks for this partition.
    pub fn wants(&self, topic_partition: TopicPartition) -> bool {
        self.request
            .partitions
            .iter()
            .any(|wanted| wanted.topic_partition == topic_partition)
    }
}
