//! Which brokers live.

use crate::base::ids::BrokerId;
use crate::kernel::time::{SimTime, Span};
use crate::wire::api::BrokerHeartbeatRequest;
use crate::wire::metadata::{BrokerRegistration, MetadataImage};
use serde::Serialize;
use std::collections::BTreeMap;

/// When each broker was last heard of (`BrokerHeartbeatManager`).
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Registry {
    last_contact_at: BTreeMap<BrokerId, SimTime>,
}

/// What a heartbeat leads to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// The broker may not take part.
    Fenced,
    /// The broker takes part.
    Unfenced,
}

impl Registry {
    /// Notes a registration or a heartbeat.
    pub fn touch(&mut self, broker: BrokerId, now: SimTime) {
        self.last_contact_at.insert(broker, now);
    }

    /// Forgets a broker that has been fenced.
    pub fn remove(&mut self, broker: BrokerId) {
        self.last_contact_at.remove(&broker);
    }

    /// When a broker was last heard of; the start of the run if never.
    pub fn last_contact_at(&self, broker: BrokerId) -> SimTime {
        self.last_contact_at
            .get(&broker)
            .copied()
            .unwrap_or_default()
    }

    /// Whether a broker's session runs: exactly at the timeout it still does.
    pub fn has_valid_session(&self, broker: BrokerId, session: Span, now: SimTime) -> bool {
        self.last_contact_at
            .get(&broker)
            .is_some_and(|at| now <= *at + session)
    }

    /// The unfenced broker that has been silent longest, if its session has run out.
    pub fn stale(&self, image: &MetadataImage, session: Span, now: SimTime) -> Option<BrokerId> {
        let (id, at) = self
            .last_contact_at
            .iter()
            .filter(|(id, _)| image.brokers.get(id).is_some_and(|broker| !broker.fenced))
            .min_by_key(|(id, at)| (**at, **id))?;
        (*at + session < now).then_some(*id)
    }

    /// When the broker that has been silent longest was last heard of, among the unfenced.
    pub fn oldest_contact_at(&self, image: &MetadataImage) -> Option<SimTime> {
        self.last_contact_at
            .iter()
            .filter(|(id, _)| image.brokers.get(id).is_some_and(|broker| !broker.fenced))
            .map(|(_, at)| *at)
            .min()
    }

    /// What becomes of a broker that sends this heartbeat.
    pub const fn verdict(
        registration: &BrokerRegistration,
        request: &BrokerHeartbeatRequest,
    ) -> Verdict {
        let is_caught_up = registration.broker_epoch < request.current_metadata_offset;
        if request.want_fence || (registration.fenced && !is_caught_up) {
            Verdict::Fenced
        } else {
            Verdict::Unfenced
        }
    }
}

#[cfg(test)]
mod tests {
    #[cfg(target_arch = "wasm32")]
    use wasm_bindgen_test::wasm_bindgen_test as test;

    use super::{Registry, Verdict};
    use crate::base::ids::BrokerId;
    use crate::kernel::time::{SimTime, Span};
    use crate::wire::api::BrokerHeartbeatRequest;
    use crate::wire::metadata::{BrokerRegistration, MetadataImage};

    #[test]
    fn a_broker_is_unfenced_once_it_has_replayed_its_registration_h23() {
        let heartbeat = |current_metadata_offset| BrokerHeartbeatRequest {
            broker_id: BrokerId(0),
            broker_epoch: 100,
            current_metadata_offset,
            want_fence: false,
            want_shut_down: false,
        };
        let registration = |fenced| BrokerRegistration {
            broker_epoch: 100,
            incarnation_id: 1,
            rack: None,
            fenced,
            in_controlled_shutdown: false,
        };
        let verdict = |fenced, offset| Registry::verdict(&registration(fenced), &heartbeat(offset));
        assert_eq!(verdict(true, 101), Verdict::Unfenced, "H23");
        assert_eq!(verdict(true, 50), Verdict::Fenced, "H23");
        assert_eq!(verdict(false, 50), Verdict::Unfenced, "stays unfenced");
    }

    #[test]
    fn a_session_is_valid_up_to_its_last_instant() {
        let mut registry = Registry::default();
        let session = Span::from_millis(9_000);
        registry.touch(BrokerId(1), SimTime::from_millis(5));
        let at = SimTime::from_millis(9_005);
        let mut image = MetadataImage::default();
        let registration = |fenced| BrokerRegistration {
            broker_epoch: 100,
            incarnation_id: 1,
            rack: None,
            fenced,
            in_controlled_shutdown: false,
        };
        image.brokers.insert(BrokerId(1), registration(false));
        assert!(
            registry.has_valid_session(BrokerId(1), session, at),
            "still valid"
        );
        assert_eq!(registry.stale(&image, session, at), None, "not stale");
        let late = at + Span::from_millis(1);
        assert_eq!(
            registry.stale(&image, session, late),
            Some(BrokerId(1)),
            "stale one ms later"
        );
        image.brokers.insert(BrokerId(1), registration(true));
        assert_eq!(
            registry.stale(&image, session, late),
            None,
            "a fenced broker is not fenced again"
        );
    }
}
