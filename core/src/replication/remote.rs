//! What a leader knows of a follower.

use crate::base::ids::Offset;
use crate::kernel::time::{SimTime, Span};
use serde::Serialize;

/// A follower as its leader sees it (`Replica.ReplicaState`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct RemoteReplica {
    /// The follower's log end offset as its last fetch said; -1 before its first.
    pub log_end_offset: Offset,
    /// The follower's log start offset; -1 before its first fetch.
    pub log_start_offset: Offset,
    /// Where the leader's log ended at the follower's last fetch; -1 before its first.
    pub last_fetch_leader_log_end_offset: Offset,
    /// When it last fetched; unset before its first.
    pub last_fetch_at: Option<SimTime>,
    /// When it last had everything; unset when that was never so.
    pub last_caught_up_at: Option<SimTime>,
    /// The broker epoch of its last fetch; unset before its first.
    pub broker_epoch: Option<i64>,
}

impl RemoteReplica {
    /// A follower of which a new leader knows nothing. In the ISR it gets a full lag period of
    /// grace.
    pub fn of_new_leader(in_isr: bool, now: SimTime) -> Self {
        Self {
            log_end_offset: Offset::UNKNOWN,
            log_start_offset: Offset::UNKNOWN,
            last_fetch_leader_log_end_offset: Offset::UNKNOWN,
            last_fetch_at: None,
            last_caught_up_at: in_isr.then_some(now),
            broker_epoch: None,
        }
    }

    /// The same leader was elected again in a new epoch.
    pub fn reelect(&mut self, in_isr: bool, epoch_start: Offset, now: SimTime) {
        self.last_fetch_leader_log_end_offset = epoch_start;
        self.last_fetch_at = in_isr.then_some(now);
        self.last_caught_up_at = in_isr.then_some(now);
    }

    /// Takes in a fetch at `fetch_offset` that found the leader's log ending at `leader_end`.
    ///
    /// Reaching the end that the log had at the *previous* fetch proves that the follower was
    /// caught up then.
    pub fn update(&mut self, fetch: FollowerFetch, leader_end: Offset, now: SimTime) {
        if leader_end <= fetch.fetch_offset {
            self.last_caught_up_at = self.last_caught_up_at.max(Some(now));
        } else if self.last_fetch_leader_log_end_offset <= fetch.fetch_offset {
            self.last_caught_up_at = self.last_caught_up_at.max(self.last_fetch_at);
        }
        self.log_start_offset = fetch.log_start_offset;
        self.log_end_offset = fetch.fetch_offset;
        self.last_fetch_leader_log_end_offset =
            self.last_fetch_leader_log_end_offset.max(leader_end);
        self.last_fetch_at = Some(now);
        self.broker_epoch = Some(fetch.broker_epoch);
    }

    /// Whether it has everything now, or had it no longer ago than `lag_max`.
    pub fn is_caught_up(&self, leader_end: Offset, now: SimTime, lag_max: Span) -> bool {
        self.log_end_offset == leader_end
            || self
                .last_caught_up_at
                .is_some_and(|at| now.since(at) <= lag_max)
    }
}

/// What a follower's fetch says of the follower.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FollowerFetch {
    /// It has everything before this offset.
    pub fetch_offset: Offset,
    /// The first offset that it has.
    pub log_start_offset: Offset,
    /// Its broker epoch.
    pub broker_epoch: i64,
}

#[cfg(test)]
mod tests {
    #[cfg(target_arch = "wasm32")]
    use wasm_bindgen_test::wasm_bindgen_test as test;

    use super::{FollowerFetch, RemoteReplica};
    use crate::base::ids::Offset;
    use crate::kernel::time::{SimTime, Span};

    const LAG_MAX: Span = Span(30_000_000);

    fn fetch(replica: &mut RemoteReplica, offset: i64, leader_end: i64, at_ms: u64) {
        let fetch = FollowerFetch {
            fetch_offset: Offset(offset),
            log_start_offset: Offset(0),
            broker_epoch: 1,
        };
        replica.update(fetch, Offset(leader_end), SimTime::from_millis(at_ms));
    }

    #[test]
    fn catching_up_d1_to_d4() {
        let mut replica = RemoteReplica::of_new_leader(false, SimTime::ZERO);
        assert_eq!(replica.log_end_offset, Offset(-1), "D1");
        assert_eq!(replica.last_caught_up_at, None, "D1");
        fetch(&mut replica, 5, 10, 100);
        assert_eq!(replica.last_caught_up_at, None, "D2");
        fetch(&mut replica, 10, 15, 200);
        assert_eq!(
            replica.last_caught_up_at,
            Some(SimTime::from_millis(100)),
            "D3: time of before"
        );
        fetch(&mut replica, 15, 15, 300);
        assert_eq!(
            replica.last_caught_up_at,
            Some(SimTime::from_millis(300)),
            "D4"
        );
    }

    #[test]
    fn in_sync_by_offset_or_by_time_d5_d6() {
        let late = SimTime::from_millis(40_001);
        let mut idle = RemoteReplica::of_new_leader(false, SimTime::ZERO);
        fetch(&mut idle, 10, 10, 10_000);
        assert!(
            idle.is_caught_up(Offset(10), late, LAG_MAX),
            "D5: equality is enough"
        );
        let mut slow = RemoteReplica::of_new_leader(false, SimTime::ZERO);
        fetch(&mut slow, 5, 10, 10_000);
        fetch(&mut slow, 10, 15, 10_000);
        assert!(
            slow.is_caught_up(Offset(16), SimTime::from_millis(10_000), LAG_MAX),
            "D6 now"
        );
        assert!(!slow.is_caught_up(Offset(16), late, LAG_MAX), "D6 later");
    }

    #[test]
    fn elections_reset_what_is_known_d7_to_d10() {
        let now = SimTime::from_millis(50);
        let mut kept = RemoteReplica::of_new_leader(false, SimTime::ZERO);
        fetch(&mut kept, 10, 10, 10);
        let mut in_isr = kept;
        in_isr.reelect(true, Offset(11), now);
        assert_eq!(in_isr.log_end_offset, Offset(10), "D7");
        assert_eq!(in_isr.last_fetch_leader_log_end_offset, Offset(11), "D7");
        assert_eq!(
            (in_isr.last_fetch_at, in_isr.last_caught_up_at),
            (Some(now), Some(now)),
            "D7"
        );
        kept.reelect(false, Offset(11), now);
        assert_eq!(
            (kept.last_fetch_at, kept.last_caught_up_at),
            (None, None),
            "D8"
        );
        let fresh = RemoteReplica::of_new_leader(true, now);
        assert_eq!(
            (fresh.log_end_offset, fresh.last_caught_up_at),
            (Offset(-1), Some(now)),
            "D9"
        );
        assert_eq!(fresh.broker_epoch, None, "D9");
        assert_eq!(
            RemoteReplica::of_new_leader(false, now).last_caught_up_at,
            None,
            "D10"
        );
    }

    #[test]
    fn expiry_d12_to_d15() {
        let lag = Span::from_millis(100);
        let at = SimTime::from_millis;
        let mut stuck = RemoteReplica::of_new_leader(true, at(0));
        fetch(&mut stuck, 9, 10, 0);
        assert!(!stuck.is_caught_up(Offset(10), at(150), lag), "D12");
        let mut slow = RemoteReplica::of_new_leader(true, at(0));
        fetch(&mut slow, 8, 10, 0);
        fetch(&mut slow, 9, 10, 75);
        assert!(!slow.is_caught_up(Offset(10), at(150), lag), "D13");
        fetch(&mut slow, 10, 10, 160);
        assert!(slow.is_caught_up(Offset(10), at(160), lag), "D13: back");
        let mut quiet = RemoteReplica::of_new_leader(true, at(0));
        fetch(&mut quiet, 10, 10, 0);
        assert!(quiet.is_caught_up(Offset(10), at(150), lag), "D14");
        let never = RemoteReplica::of_new_leader(true, at(0));
        assert!(!never.is_caught_up(Offset(10), at(150), lag), "D15");
    }
}
