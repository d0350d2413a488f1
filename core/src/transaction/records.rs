//! Records of `__transaction_state`.

use crate::base::ids::RecordId;
use crate::kernel::time::SimTime;
use crate::wire::record::{Record, RecordValue, TransactionMetadata};
use std::sync::Arc;

/// The record of a transactional id; a tombstone without `metadata`.
pub(super) fn transaction_record(
    transactional_id: &Arc<str>,
    metadata: Option<&TransactionMetadata>,
) -> Record {
    let count = metadata.map_or(0, |metadata| metadata.partitions.len());
    let length = KEY_BYTES + transactional_id.len() + count * PARTITION_BYTES;
    let value_bytes = if metadata.is_some() { VALUE_BYTES } else { 0 };
    Record {
        record_id: RecordId(u64::MAX),
        key: Some(transactional_id.clone()),
        timestamp: metadata.map_or(SimTime::ZERO, |metadata| metadata.updated_at),
        size_bytes: Record::OVERHEAD_BYTES
            + value_bytes
            + u32::try_from(length).unwrap_or(u32::MAX / 4),
        value: RecordValue::Transaction {
            transactional_id: transactional_id.clone(),
            metadata: metadata.cloned().map(Arc::new),
        },
    }
}

/// Version and length of the key's text.
const KEY_BYTES: usize = 4;
/// Version, id, epoch, timeout, state, length of the list, two times.
const VALUE_BYTES: u32 = 2 + 8 + 2 + 4 + 1 + 4 + 8 + 8;
/// A topic's name counts as eight bytes, as it does in `__consumer_offsets`.
const PARTITION_BYTES: usize = 2 + 8 + 4 + 4;
