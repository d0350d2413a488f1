//! Every bound of the simulation in one place.

/// Most events that may wait in the queue at once.
pub const QUEUE_EVENTS_MAX: u32 = 1_000_000;
/// Most trace entries kept in memory; the oldest chunk goes first.
pub const TRACE_ENTRIES_MAX: u64 = 600_000;
/// Trace entries that a snapshot keeps once the trace is longer than what is kept.
pub const SNAPSHOT_TRACE_ENTRIES: u64 = 16_384;
/// Most events handled at one instant before the run is declared stuck.
pub const EVENTS_PER_INSTANT_MAX: u32 = 200_000;
/// Most brokers in one cluster.
pub const BROKERS_MAX: u32 = 64;
/// Most controllers in one quorum.
pub const CONTROLLERS_MAX: u32 = 5;
/// Most partitions over all topics.
pub const PARTITIONS_MAX: u32 = 20_000;
/// Most client processes.
pub const CLIENTS_MAX: u32 = 2_000;
/// Most actions in one recording.
pub const ACTIONS_MAX: u32 = 10_000;
/// Longest simulated time, in microseconds: 30 days.
pub const SIM_TIME_MAX_US: u64 = 30 * 24 * 3_600 * 1_000_000;
/// Snapshots kept by a timeline.
pub const SNAPSHOTS_MAX: u32 = 64;
/// Events between two snapshots while a run is short.
pub const SNAPSHOT_EVERY_EVENTS: u64 = 2_000;
/// Old futures kept by a timeline.
pub const BRANCHES_MAX: u32 = 32;
/// Longest text in a key or value of a record that a person sends, in bytes.
pub const RECORD_TEXT_BYTES_MAX: u32 = 4_096;
