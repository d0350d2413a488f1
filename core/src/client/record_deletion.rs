//! Giving up records: a person asks a partition's leader through the console.

use super::metadata::ClientMetadata;
use crate::base::ids::{CorrelationId, NodeId, Offset, TopicPartition};
use crate::kernel::time::Span;
use crate::trace::event::TraceEvent;
use crate::trace::out::Out;
use crate::wire::api::{ApiKey, DeleteRecordsRequest, Request, Response};
use crate::wire::error_code::ErrorCode;
use serde::Serialize;
use std::sync::Arc;

/// Requests that have no answer yet (`kafka-delete-records.sh`).
#[derive(Clone, Debug, Default, Serialize)]
pub struct RecordDeletion {
    /// Each with the partition as people write it.
    in_flight: Vec<(CorrelationId, Arc<str>)>,
}

impl RecordDeletion {
    /// Asks a partition's leader to give up the records before an offset.
    ///
    /// # Source
    /// `DeleteRecordsCommand`, `KafkaAdminClient.deleteRecords`.
    /// # Simplified
    /// One try: an error is shown, and nothing is asked again.
    pub fn delete_records(
        &mut self,
        metadata: &ClientMetadata,
        (topic, partition): (&Arc<str>, u32),
        before: Offset,
        out: &mut Out,
    ) {
        let name = Arc::from(format!("{topic}-{partition}"));
        let known = metadata.topic_by_name(topic);
        let id = known.map(|(topic_id, _)| TopicPartition::new(topic_id, partition));
        let leader = id.and_then(|id| metadata.leader(id));
        let (Some(id), Some((leader, _))) = (id, leader) else {
            say(&name, ErrorCode::LeaderNotAvailable, Offset::UNKNOWN, out);
            return;
        };
        let timeout_ms = REQUEST_TIMEOUT_MS;
        let request = DeleteRecordsRequest {
            partitions: vec![(id, before)],
            timeout_ms,
        };
        let body = Request::DeleteRecords(request);
        // The broker answers in the end; the client waits a little longer than it.
        let timeout = Span::from_millis(timeout_ms + 1_000);
        let correlation = out.request(NodeId::Broker(leader), body, timeout);
        self.in_flight.push((correlation, name));
    }

    /// Takes in a response. False if the request was not sent from here.
    pub fn on_response(
        &mut self,
        correlation: CorrelationId,
        response: &Response,
        out: &mut Out,
    ) -> bool {
        let Some(name) = self.take(correlation) else {
            return false;
        };
        if let Response::DeleteRecords(response) = response {
            for one in &response.partitions {
                say(&name, one.error_code, one.low_watermark, out);
            }
        }
        true
    }

    /// Takes in that a request gets no answer. False if it was not sent from here.
    pub fn on_disconnect(&mut self, correlation: CorrelationId, out: &mut Out) -> bool {
        let name = self.take(correlation);
        if let Some(name) = &name {
            say(name, ErrorCode::NetworkException, Offset::UNKNOWN, out);
        }
        name.is_some()
    }

    fn take(&mut self, correlation: CorrelationId) -> Option<Arc<str>> {
        let index = self.in_flight.iter().position(|one| one.0 == correlation)?;
        Some(self.in_flight.remove(index).1)
    }
}

/// What Kafka's tool prints.
fn say(name: &str, error_code: ErrorCode, low_watermark: Offset, out: &mut Out) {
    let text = if error_code.is_none() {
        format!("partition: {name}\tlow_watermark: {low_watermark}")
    } else {
        format!("partition: {name}\terror: {error_code}")
    };
    out.trace(TraceEvent::AdminAnswered {
        api: ApiKey::DeleteRecords,
        error_code,
        text: Arc::from(text),
    });
}

const REQUEST_TIMEOUT_MS: i64 = 30_000;
