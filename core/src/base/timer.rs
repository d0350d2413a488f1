//! Every timer that a node can arm.

use super::ids::{BrokerId, GroupId, MemberId, NodeId};
use serde::{Deserialize, Serialize};
use std::fmt;

/// A timer of one node. Arming it again replaces the earlier one.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Timer {
    /// Controller: the next broker session that may run out.
    SessionCheck,
    /// Controller: a parked fetch of the metadata log gives up waiting.
    MetadataFetchExpiry(NodeId),
    /// Controller: preferred leaders are put back (`auto.leader.rebalance.enable`).
    LeaderBalance,
    /// Controller: partitions without a leader are looked at for unclean elections.
    UncleanSweep,
    /// Controller: nobody leads the quorum, or an election has taken its time.
    QuorumElection,
    /// Controller: the quorum's leader has not answered a fetch for too long.
    QuorumFetchTimeout,
    /// Controller: the quorum's leader is fetched from again after a failure.
    QuorumFetchRetry,
    /// Controller: the quorum's leader makes sure of its majority.
    QuorumCheck,
    /// Controller: voters that do not fetch are told again who leads.
    QuorumBegin,
    /// Controller: appended records are handed to the voters (`controller.quorum.append.linger.ms`).
    QuorumLinger,
    /// Controller: an idle metadata log gets a record (`metadata.max.idle.interval.ms`).
    QuorumNoOp,
    /// Broker: the first registration must have succeeded by now.
    InitialRegistration,
    /// Broker: the controller has had its time to approve a controlled shutdown.
    ControlledShutdown,
    /// Broker: metadata that arrived a while ago are taken in (`metadata-delay`).
    MetadataReplay,
    /// Client: admin requests are sent, or sent again.
    AdminRetry,
    /// Broker: heartbeat to the controller.
    BrokerHeartbeat,
    /// Broker: registration is tried again.
    BrokerRegistration,
    /// Broker: the metadata log is fetched again after a failure.
    MetadataFetch,
    /// Broker: the scan for ISR members that lag, every half `replica.lag.time.max.ms`.
    IsrCheck,
    /// Broker: `AlterPartition` is sent again after a failure.
    AlterPartitionRetry,
    /// Broker: the fetcher for this leader goes on after its back-off.
    ReplicaFetch(BrokerId),
    /// Broker: a parked produce request gives up waiting.
    ProduceExpiry(u64),
    /// Broker: a parked fetch request gives up waiting.
    FetchExpiry(u64),
    /// Broker: the creation of `__consumer_offsets` may be asked for again.
    CreateOffsetsTopic,
    /// Transaction coordinator: markers that are missing are sent (again).
    TransactionMarkers,
    /// Transaction coordinator: transactions that have run out of time are looked for.
    TransactionTimeouts,
    /// Group coordinator: the join phase of a group closes (`join-<group>`).
    JoinPhase(GroupId),
    /// Group coordinator: members that did not sync are removed (`sync-<group>`).
    PendingSync(GroupId),
    /// Group coordinator: a member's session runs out (`heartbeat-<group>-<member>`).
    MemberSession(GroupId, MemberId),
    /// Group coordinator: a member of the consumer protocol has not given up partitions in time
    /// (`rebalance-timeout-<group>-<member>`).
    RebalanceTimeout(GroupId, MemberId),
    /// Group coordinator: offsets of the groups of one partition are checked for expiry.
    OffsetExpiry(u32),
    /// Group coordinator: an answer that waits for an append to be replicated gives up.
    CoordinatorAppendExpiry(u64),
    /// Broker: high watermarks are written to the checkpoint file.
    HighWatermarkCheckpoint,
    /// Broker: segments that may be deleted are looked for.
    LogRetention,
    /// Broker: the log cleaner looks for something to compact.
    LogCleaner,
    /// Broker: logs that have not been flushed for `flush.ms` are flushed.
    LogFlush,
    /// Broker: recovery points are written to the checkpoint file.
    RecoveryPointCheckpoint,
    /// Broker: starts of logs are written to the checkpoint file.
    LogStartCheckpoint,
    /// Broker: a parked delete-records request gives up waiting.
    DeleteRecordsExpiry(u64),
    /// Consumer: the metadata are asked for (again).
    MetadataRefresh,
    /// Producer: the metadata are asked for (again).
    ProducerMetadata,
    /// Consumer: the coordinator is looked up again.
    CoordinatorLookup,
    /// Producer: the next record of the workload is sent.
    ProducerTick,
    /// Producer: a batch has lingered long enough, its back-off is over, or its time is up.
    ProducerSend,
    /// Producer: `send()` has blocked for `max.block.ms`.
    ProducerBlocked,
    /// Consumer: the record in hand is done.
    RecordDone,
    /// Consumer: the heartbeat thread's next heartbeat is due.
    Heartbeat,
    /// Consumer: no successful heartbeat for `session.timeout.ms`.
    SessionTimeout,
    /// Consumer: `max.poll.interval.ms` since the last poll.
    PollTimeout,
    /// Consumer: `auto.commit.interval.ms` is over.
    AutoCommit,
    /// Consumer: a join, commit or offset fetch is tried again after its back-off.
    RetryBackoff,
    /// Consumer: the commit before a rebalance has had its time.
    PrepareCommit,
    /// Consumer: as leader of its group, its assignor has had its time.
    AssignmentDone,
    /// Consumer: a fetch from this broker is tried again after its back-off.
    FetchBackoff(BrokerId),
    /// Consumer: positions are asked for again after their back-off.
    PositionRetry,
}

impl Timer {
    /// Its name, without what it is about.
    pub const fn name(&self) -> &'static str {
        match self {
            Self::SessionCheck => "session-check",
            Self::MetadataFetchExpiry(_) => "metadata-fetch-expiry",
            Self::LeaderBalance => "leader-balance",
            Self::UncleanSweep => "unclean-sweep",
            Self::QuorumElection => "quorum-election",
            Self::QuorumFetchTimeout => "quorum-fetch-timeout",
            Self::QuorumFetchRetry => "quorum-fetch-retry",
            Self::QuorumCheck => "quorum-check",
            Self::QuorumBegin => "quorum-begin",
            Self::QuorumLinger => "quorum-linger",
            Self::QuorumNoOp => "quorum-no-op",
            Self::InitialRegistration => "initial-registration",
            Self::ControlledShutdown => "controlled-shutdown",
            Self::MetadataReplay => "metadata-replay",
            Self::AdminRetry => "admin-retry",
            Self::BrokerHeartbeat => "broker-heartbeat",
            Self::BrokerRegistration => "broker-registration",
            Self::MetadataFetch => "metadata-fetch",
            Self::IsrCheck => "isr-check",
            Self::AlterPartitionRetry => "alter-partition-retry",
            Self::ReplicaFetch(_) => "replica-fetch",
            Self::ProduceExpiry(_) => "produce-expiry",
            Self::FetchExpiry(_) => "fetch-expiry",
            Self::CreateOffsetsTopic => "create-offsets-topic",
            Self::TransactionMarkers => "transaction-markers",
            Self::TransactionTimeouts => "transaction-timeouts",
            Self::JoinPhase(_) => "join-phase",
            Self::PendingSync(_) => "pending-sync",
            Self::MemberSession(..) => "member-session",
            Self::RebalanceTimeout(..) => "rebalance-timeout",
            Self::OffsetExpiry(_) => "offset-expiry",
            Self::LogRetention => "log-retention",
            Self::LogCleaner => "log-cleaner",
            Self::LogFlush => "log-flush",
            Self::RecoveryPointCheckpoint => "recovery-point-checkpoint",
            Self::LogStartCheckpoint => "log-start-checkpoint",
            Self::DeleteRecordsExpiry(_) => "delete-records-expiry",
            Self::CoordinatorAppendExpiry(_) => "coordinator-append-expiry",
            Self::HighWatermarkCheckpoint => "high-watermark-checkpoint",
            Self::MetadataRefresh => "metadata-refresh",
            Self::ProducerMetadata => "producer-metadata",
            Self::CoordinatorLookup => "coordinator-lookup",
            Self::ProducerTick => "producer-tick",
            Self::ProducerSend => "producer-send",
            Self::ProducerBlocked => "producer-blocked",
            Self::RecordDone => "record-done",
            Self::Heartbeat => "heartbeat",
            Self::SessionTimeout => "session-timeout",
            Self::PollTimeout => "poll-timeout",
            Self::AutoCommit => "auto-commit",
            Self::RetryBackoff => "retry-backoff",
            Self::PrepareCommit => "prepare-commit",
            Self::AssignmentDone => "assignment-done",
            Self::FetchBackoff(_) => "fetch-backoff",
            Self::PositionRetry => "position-retry",
        }
    }
}

/// As `expire-timer` names it: `isr-check`, `replica-fetch:2`, `join-phase:orders`.
impl fmt::Display for Timer {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.name())?;
        if let Self::MetadataFetchExpiry(of) = self {
            write!(formatter, ":{of}")
        } else if let Self::ReplicaFetch(of) | Self::FetchBackoff(of) = self {
            write!(formatter, ":{of}")
        } else if let Self::JoinPhase(of) | Self::PendingSync(of) = self {
            write!(formatter, ":{of}")
        } else if let Self::ProduceExpiry(of)
        | Self::FetchExpiry(of)
        | Self::DeleteRecordsExpiry(of)
        | Self::CoordinatorAppendExpiry(of) = self
        {
            write!(formatter, ":{of}")
        } else if let Self::OffsetExpiry(of) = self {
            write!(formatter, ":{of}")
        } else if let Self::MemberSession(group, member) | Self::RebalanceTimeout(group, member) =
            self
        {
            write!(formatter, ":{group}:{member}")
        } else {
            Ok(())
        }
    }
}
