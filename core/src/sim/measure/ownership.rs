//! How long a partition has nobody who may process it.

use crate::base::ids::ClientId;
use crate::kernel::time::{SimTime, Span};
use std::collections::BTreeMap;

/// Who owns a partition within a group, as the consumers see it.
#[derive(Clone, Debug, Default)]
pub(super) struct Ownership {
    /// Each owner, and whether its process stands still.
    owners: BTreeMap<ClientId, bool>,
    /// Since when nobody may process it; unset while somebody may, and before anybody owned it.
    stopped_since: Option<SimTime>,
    /// Stops that are over, in all.
    stopped: Span,
    /// The longest stop that is over.
    longest: Span,
    /// Who has worked on it: since when, and nobody while it is stopped.
    history: Vec<(SimTime, Option<ClientId>)>,
}

impl Ownership {
    /// `client` owns it from now on.
    pub(super) fn take(&mut self, client: ClientId, now: SimTime) {
        self.owners.insert(client, false);
        self.settle(now);
    }

    /// `client` does not own it any more.
    pub(super) fn leave(&mut self, client: ClientId, now: SimTime) {
        if self.owners.remove(&client).is_some() {
            self.settle(now);
        }
    }

    /// The process of `client` stands still.
    pub(super) fn halt(&mut self, client: ClientId, now: SimTime) {
        self.set_halted(client, true, now);
    }

    /// The process of `client` goes on.
    pub(super) fn resume(&mut self, client: ClientId, now: SimTime) {
        self.set_halted(client, false, now);
    }

    /// Whether nobody may process it.
    pub(super) const fn is_stopped(&self) -> bool {
        self.stopped_since.is_some()
    }

    /// How long it has been stopped now.
    pub(super) fn stop(&self, now: SimTime) -> Span {
        self.stopped_since
            .map_or(Span::ZERO, |since| now.since(since))
    }

    /// How long it has been stopped in all.
    pub(super) fn stopped(&self, now: SimTime) -> Span {
        self.stopped + self.stop(now)
    }

    /// Its longest stop.
    pub(super) fn longest(&self, now: SimTime) -> Span {
        self.longest.max(self.stop(now))
    }

    fn set_halted(&mut self, client: ClientId, is_halted: bool, now: SimTime) {
        if let Some(halted) = self.owners.get_mut(&client) {
            *halted = is_halted;
            self.settle(now);
        }
    }

    /// Who has worked on it since when; nobody while it is stopped.
    pub(super) fn history(&self) -> &[(SimTime, Option<ClientId>)] {
        &self.history
    }

    fn settle(&mut self, now: SimTime) {
        let working = self.owners.iter().find(|(_, is_halted)| !**is_halted);
        let working = working.map(|(client, _)| *client);
        if self.history.last().is_none_or(|(_, last)| *last != working) {
            self.history.push((now, working));
        }
        let is_stopped = self.owners.values().all(|is_halted| *is_halted);
        match self.stopped_since {
            Some(since) if !is_stopped => {
                let stop = now.since(since);
                self.stopped = self.stopped + stop;
                self.longest = self.longest.max(stop);
                self.stopped_since = None;
            }
            None if is_stopped => self.stopped_since = Some(now),
            Some(_) | None => {}
        }
    }
}

#[cfg(test)]
mod tests {
    #[cfg(target_arch = "wasm32")]
    use wasm_bindgen_test::wasm_bindgen_test as test;

    use super::Ownership;
    use crate::base::ids::ClientId;
    use crate::kernel::time::{SimTime, Span};

    #[test]
    fn a_partition_stops_when_its_last_owner_leaves_or_halts() {
        let at = SimTime::from_millis;
        let mut part = Ownership::default();
        assert_eq!(part.stop(at(9)), Span::ZERO, "nobody has owned it yet");
        part.take(ClientId(1), at(10));
        part.take(ClientId(2), at(20));
        part.leave(ClientId(1), at(30));
        assert!(!part.is_stopped(), "the second owner goes on");
        part.halt(ClientId(2), at(40));
        assert_eq!(
            part.stop(at(45)),
            Span::from_millis(5),
            "its process stands still"
        );
        part.resume(ClientId(2), at(50));
        part.leave(ClientId(2), at(60));
        part.leave(ClientId(2), at(65));
        assert_eq!(
            part.longest(at(90)),
            Span::from_millis(30),
            "the present stop is the longest"
        );
        part.take(ClientId(1), at(100));
        assert_eq!(
            part.stopped(at(200)),
            Span::from_millis(50),
            "10 ms halted, 40 ms without"
        );
        assert_eq!(
            part.longest(at(200)),
            Span::from_millis(40),
            "the longest of the two"
        );
        assert_eq!(part.stop(at(200)), Span::ZERO, "it runs");
        let (one, two) = (Some(ClientId(1)), Some(ClientId(2)));
        let times = [
            (10, one),
            (30, two),
            (40, None),
            (50, two),
            (60, None),
            (100, one),
        ];
        let times = times.map(|(ms, who)| (at(ms), who));
        assert_eq!(part.history(), times, "who worked on it");
    }
}
