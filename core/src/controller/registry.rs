//! Which brokers live.

use crate::base::ids::BrokerId;
use crate::kernel::time::{SimTime, Span};
use crate::wire::api::BrokerHeartbeatRequest;
use crate::wire::metadata::{BrokerRegistration, MetadataImage};
use serde::Serialize;
use std::collections::BTreeMap;

/// What heartbeats tell of each broker (`BrokerHeartbeatManager`).
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Registry {
    brokers: BTreeMap<BrokerId, Contact>,
}

/// A broker as its heartbeats show it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
struct Contact {
    last_at: SimTime,
    /// The last offset of the metadata log that it has replayed; -1 for none.
    metadata_offset: i64,
    /// Where the metadata log ended when its controlled shutdown began; -1 before.
    shutdown_offset: i64,
}

/// What becomes of a broker (`BrokerControlState`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BrokerState {
    /// It may not take part.
    Fenced,
    /// It takes part.
    Unfenced,
    /// It hands its leaderships over.
    ControlledShutdown,
    /// It may end.
    ShutdownNow,
}

impl Registry {
    /// Notes a registration or a heartbeat, also one that has waited long for the controller:
    /// otherwise a slow controller would fence everybody.
    pub fn touch(&mut self, broker: BrokerId, now: SimTime) {
        self.contact(broker).last_at = now;
    }

    /// Notes how far a broker has replayed the metadata log.
    pub fn note_offset(&mut self, broker: BrokerId, metadata_offset: i64) {
        self.contact(broker).metadata_offset = metadata_offset;
    }

    /// Notes where the metadata log ends as a broker's controlled shutdown begins.
    pub fn note_shutdown(&mut self, broker: BrokerId, offset: i64) {
        self.contact(broker).shutdown_offset = offset;
    }

    fn contact(&mut self, broker: BrokerId) -> &mut Contact {
        self.brokers.entry(broker).or_insert(Contact {
            last_at: SimTime::ZERO,
            metadata_offset: -1,
            shutdown_offset: -1,
        })
    }

    /// Forgets a broker that has been fenced.
    pub fn remove(&mut self, broker: BrokerId) {
        self.brokers.remove(&broker);
    }

    /// When a broker was last heard of; the start of the run if never.
    pub fn last_contact_at(&self, broker: BrokerId) -> SimTime {
        let contact = self.brokers.get(&broker);
        contact.map_or(SimTime::ZERO, |contact| contact.last_at)
    }

    /// Whether a broker's session runs: exactly at the timeout it still does.
    pub fn has_valid_session(&self, broker: BrokerId, session: Span, now: SimTime) -> bool {
        let contact = self.brokers.get(&broker);
        contact.is_some_and(|contact| now <= contact.last_at + session)
    }

    /// The unfenced broker that has been silent longest, and since when.
    pub fn oldest_contact(&self, image: &MetadataImage) -> Option<(BrokerId, SimTime)> {
        self.brokers
            .iter()
            .filter(|(id, _)| image.brokers.get(id).is_some_and(|broker| !broker.fenced))
            .map(|(id, contact)| (*id, contact.last_at))
            .min_by_key(|(id, at)| (*at, *id))
    }

    /// The unfenced broker that has been silent longest, if its session has run out.
    pub fn stale(&self, image: &MetadataImage, session: Span, now: SimTime) -> Option<BrokerId> {
        let (id, at) = self.oldest_contact(image)?;
        (at + session < now).then_some(id)
    }

    /// What becomes of a broker that sends this heartbeat.
    ///
    /// # Source
    /// `BrokerHeartbeatManager.calculateNextBrokerState`.
    pub fn next_state(
        &self,
        image: &MetadataImage,
        registration: &BrokerRegistration,
        request: &BrokerHeartbeatRequest,
    ) -> BrokerState {
        let leads = || {
            let mut partitions = image.partitions();
            partitions.any(|(_, part)| part.leader == Some(request.broker_id))
        };
        if registration.fenced {
            let is_caught_up = registration.broker_epoch < request.current_metadata_offset;
            return if request.want_shut_down {
                BrokerState::ShutdownNow
            } else if !request.want_fence && is_caught_up {
                BrokerState::Unfenced
            } else {
                BrokerState::Fenced
            };
        }
        if registration.in_controlled_shutdown {
            let contact = self.brokers.get(&request.broker_id);
            let began_at = contact.map_or(-1, |contact| contact.shutdown_offset);
            return if leads() || self.lowest_active_offset(image) < began_at {
                BrokerState::ControlledShutdown
            } else {
                BrokerState::ShutdownNow
            };
        }
        match (request.want_fence, request.want_shut_down) {
            (true, false) => BrokerState::Fenced,
            (false, true) if leads() => BrokerState::ControlledShutdown,
            (true | false, true) => BrokerState::ShutdownNow,
            (false, false) => BrokerState::Unfenced,
        }
    }

    /// How far the slowest active broker has replayed the metadata log.
    fn lowest_active_offset(&self, image: &MetadataImage) -> i64 {
        let active = self.brokers.iter().filter(|(id, _)| image.is_active(**id));
        let offsets = active.map(|(_, contact)| contact.metadata_offset);
        offsets.min().unwrap_or(i64::MAX)
    }
}

#[cfg(test)]
mod tests {
    #[cfg(target_arch = "wasm32")]
    use wasm_bindgen_test::wasm_bindgen_test as test;

    use super::{BrokerState, Registry};
    use crate::base::config::TopicConfig;
    use crate::base::ids::{BrokerId, TopicId, TopicPartition};
    use crate::kernel::time::{SimTime, Span};
    use crate::wire::api::BrokerHeartbeatRequest;
    use crate::wire::metadata::{
        BrokerRegistration, MetadataImage, MetadataRecord, PartitionRegistration,
    };
    use std::sync::Arc;

    const fn registration((fenced, in_controlled_shutdown): (bool, bool)) -> BrokerRegistration {
        BrokerRegistration {
            broker_epoch: 100,
            incarnation_id: 1,
            rack: None,
            fenced,
            in_controlled_shutdown,
        }
    }

    const fn heartbeat(
        offset: i64,
        (want_fence, want_shut_down): (bool, bool),
    ) -> BrokerHeartbeatRequest {
        BrokerHeartbeatRequest {
            broker_id: BrokerId(1),
            broker_epoch: 100,
            // The next offset to replay; Kafka sends the last one replayed.
            current_metadata_offset: offset + 1,
            want_fence,
            want_shut_down,
        }
    }

    /// A cluster in which broker 1 leads a partition, or nothing.
    fn image(leads: bool) -> MetadataImage {
        let mut image = MetadataImage::default();
        let topic_id = TopicId(0);
        image.replay(&MetadataRecord::Topic {
            topic_id,
            name: Arc::from("foo"),
            config: Arc::new(TopicConfig::default()),
        });
        let leader = BrokerId(if leads { 1 } else { 2 });
        image.replay(&MetadataRecord::Partition {
            topic_partition: TopicPartition::new(topic_id, 0),
            registration: Arc::new(PartitionRegistration {
                replicas: vec![leader],
                isr: vec![leader],
                leader: Some(leader),
                ..PartitionRegistration::default()
            }),
        });
        image
    }

    #[test]
    fn next_states_h23_to_h26() {
        use BrokerState::{ControlledShutdown, Fenced, ShutdownNow, Unfenced};
        let (fenced, unfenced) = (registration((true, false)), registration((false, false)));
        let leaving = registration((false, true));
        let rows = [
            (
                "H23",
                false,
                &fenced,
                heartbeat(100, (false, false)),
                Unfenced,
            ),
            ("H23", false, &fenced, heartbeat(50, (false, false)), Fenced),
            ("H23", false, &fenced, heartbeat(100, (true, false)), Fenced),
            (
                "H24",
                true,
                &unfenced,
                heartbeat(100, (false, true)),
                ControlledShutdown,
            ),
            (
                "H24",
                false,
                &unfenced,
                heartbeat(100, (false, true)),
                ShutdownNow,
            ),
            (
                "H24",
                true,
                &unfenced,
                heartbeat(100, (true, true)),
                ShutdownNow,
            ),
            (
                "H24",
                true,
                &unfenced,
                heartbeat(100, (true, false)),
                Fenced,
            ),
            (
                "stays",
                true,
                &unfenced,
                heartbeat(50, (false, false)),
                Unfenced,
            ),
            (
                "still leads",
                true,
                &leaving,
                heartbeat(100, (false, true)),
                ControlledShutdown,
            ),
            (
                "H26",
                false,
                &fenced,
                heartbeat(100, (false, true)),
                ShutdownNow,
            ),
        ];
        for (id, leads, registration, request, expected) in rows {
            let found = Registry::default().next_state(&image(leads), registration, &request);
            assert_eq!(found, expected, "{id}");
        }
    }

    #[test]
    fn a_leaving_broker_waits_for_the_others_h25() {
        let mut image = image(false);
        image
            .brokers
            .insert(BrokerId(1), registration((false, true)));
        image
            .brokers
            .insert(BrokerId(2), registration((false, false)));
        let mut registry = Registry::default();
        registry.note_shutdown(BrokerId(1), 99);
        let request = heartbeat(200, (false, true));
        let leaving = registration((false, true));
        for (offset, expected) in [
            (98, BrokerState::ControlledShutdown),
            (99, BrokerState::ShutdownNow),
        ] {
            registry.note_offset(BrokerId(2), offset);
            let found = registry.next_state(&image, &leaving, &request);
            assert_eq!(found, expected, "H25: lowest active offset {offset}");
        }
        image
            .brokers
            .insert(BrokerId(2), registration((true, false)));
        registry.note_offset(BrokerId(2), 7);
        let found = registry.next_state(&image, &leaving, &request);
        assert_eq!(found, BrokerState::ShutdownNow, "nobody is waited for");
    }

    #[test]
    fn a_session_is_valid_up_to_its_last_instant_a2() {
        let mut registry = Registry::default();
        let session = Span::from_millis(9_000);
        registry.touch(BrokerId(1), SimTime::from_millis(5));
        let at = SimTime::from_millis(9_005);
        let mut image = MetadataImage::default();
        image
            .brokers
            .insert(BrokerId(1), registration((false, false)));
        assert!(
            registry.has_valid_session(BrokerId(1), session, at),
            "A2: still valid"
        );
        assert_eq!(registry.stale(&image, session, at), None, "A2: not stale");
        let late = at + Span::from_millis(1);
        assert_eq!(
            registry.stale(&image, session, late),
            Some(BrokerId(1)),
            "A2: stale one ms later"
        );
        image
            .brokers
            .insert(BrokerId(1), registration((true, false)));
        assert_eq!(
            registry.stale(&image, session, late),
            None,
            "a fenced broker is not fenced again"
        );
    }
}
