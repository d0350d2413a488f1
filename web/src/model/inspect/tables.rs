//! The pictures as tables.

use super::{Reading, process_text};
use crate::i18n::narrate::member_state_name;
use crate::model::panels::Table;
use crate::scene::words::{list, span};
use terrarium_core::base::ids::{MemberId, NodeId, Offset};
use terrarium_core::kernel::time::SimTime;
use terrarium_core::sim::view::{Activity, ConsumerView, GroupMemberView, ReplicaView};

impl Reading<'_> {
    /// Every table, in the order of the picture: brokers, their replicas, groups, clients.
    pub(crate) fn tables(&self) -> Vec<Table> {
        let mut tables = vec![
            self.brokers(),
            self.replicas(),
            self.groups(),
            self.members(),
            self.consumers(),
            self.producers(),
        ];
        let parked = self.parked_table();
        if !parked.rows.is_empty() {
            tables.push(parked);
        }
        tables
    }

    fn brokers(&self) -> Table {
        let rows = self.stage.brokers.iter().map(|broker| {
            let leads = broker
                .replicas
                .iter()
                .filter(|one| one.is_leader && !self.is_internal(one));
            let leads = leads
                .map(|one| self.with_narrator(|narrator| narrator.partition(one.topic_partition)));
            let state = if broker.is_fenced {
                format!(
                    "{}, {}",
                    process_text(self.catalog, broker.process),
                    self.catalog.t("inspect.state-fenced")
                )
            } else {
                process_text(self.catalog, broker.process)
            };
            vec![
                self.node_name(NodeId::Broker(broker.id)),
                state,
                broker.rack.as_deref().unwrap_or("").to_owned(),
                list(leads),
                list(&broker.coordinates),
            ]
        });
        Table {
            key: "table.brokers",
            heads: vec![
                "table.name",
                "table.state",
                "table.rack",
                "table.leads",
                "table.coordinates",
            ],
            rows: rows.collect(),
        }
    }

    fn is_internal(&self, replica: &ReplicaView) -> bool {
        let topic = replica.topic_partition.topic;
        self.stage
            .topics
            .iter()
            .any(|view| view.topic_id == topic && view.is_internal)
    }

    fn replicas(&self) -> Table {
        let mut rows = Vec::new();
        for broker in &self.stage.brokers {
            for replica in broker.replicas.iter().filter(|one| !self.is_internal(one)) {
                let lag = self.belief(broker.id, replica);
                let role = if replica.is_leader {
                    "table.role-leader"
                } else {
                    "table.role-follower"
                };
                let epoch = replica.leader_epoch.to_string();
                rows.push((
                    replica.topic_partition,
                    vec![
                        self.with_narrator(|narrator| narrator.partition(replica.topic_partition)),
                        broker.id.to_string(),
                        self.catalog.text(role, &[("epoch", &epoch)]),
                        replica.log_start_offset.to_string(),
                        replica.high_watermark.to_string(),
                        replica.log_end_offset.to_string(),
                        if replica.is_leader {
                            list(&replica.isr)
                        } else {
                            String::new()
                        },
                        lag,
                    ],
                ));
            }
        }
        rows.sort_by_key(|(partition, _)| *partition);
        Table {
            key: "table.replicas",
            heads: vec![
                "table.partition",
                "table.broker",
                "table.role",
                "table.log-start",
                "table.high-watermark",
                "table.log-end",
                "table.isr",
                "table.lag",
            ],
            rows: rows.into_iter().map(|(_, row)| row).collect(),
        }
    }

    /// What the leader believes that a follower lacks.
    fn belief(&self, broker: terrarium_core::base::ids::BrokerId, replica: &ReplicaView) -> String {
        let all = self.stage.brokers.iter().flat_map(|view| &view.replicas);
        let leader = all
            .into_iter()
            .filter(|one| one.is_leader && one.topic_partition == replica.topic_partition)
            .max_by_key(|one| one.leader_epoch);
        let follower =
            leader.and_then(|one| one.followers.iter().find(|view| view.broker == broker));
        follower.map_or_else(String::new, |view| view.lag_records.max(0).to_string())
    }

    fn groups(&self) -> Table {
        let rows = self.stage.groups.iter().map(|group| {
            vec![
                group.group_id.to_string(),
                group.state.name().to_owned(),
                group.generation_id.to_string(),
                group.coordinator.to_string(),
                group
                    .leader
                    .as_ref()
                    .map_or_else(String::new, MemberId::to_string),
                group.protocol_name.as_deref().unwrap_or("").to_owned(),
                group
                    .join_closes_at
                    .map_or_else(String::new, |at| at.to_string()),
            ]
        });
        Table {
            key: "table.groups",
            heads: vec![
                "table.group",
                "table.state",
                "table.generation",
                "table.coordinator",
                "table.leader",
                "table.protocol",
                "table.deadline",
            ],
            rows: rows.collect(),
        }
    }

    fn members(&self) -> Table {
        let members = self.stage.groups.iter().flat_map(|group| {
            group
                .members
                .iter()
                .map(move |member| (group.group_id.to_string(), member))
        });
        let rows = members.map(|(group, member)| {
            vec![
                self.node_name(member.client),
                group,
                member.member_id.to_string(),
                self.seat(member),
                self.with_narrator(|narrator| narrator.partitions(&member.assignment)),
                instant(member.session_expires_at),
            ]
        });
        Table {
            key: "table.members",
            heads: vec![
                "table.name",
                "table.group",
                "table.member",
                "table.waiting",
                "table.owns",
                "table.session",
            ],
            rows: rows.collect(),
        }
    }

    fn seat(&self, member: &GroupMemberView) -> String {
        if member.join_parked {
            self.catalog.t("waiting.join")
        } else if member.sync_parked {
            self.catalog.t("waiting.sync")
        } else {
            String::new()
        }
    }

    fn consumers(&self) -> Table {
        let rows = self.stage.consumers.iter().map(|consumer| {
            let owns: Vec<_> = consumer
                .partitions
                .iter()
                .map(|one| one.topic_partition)
                .collect();
            let cursor =
                |pick: fn(&terrarium_core::sim::view::ConsumerPartitionView) -> Option<Offset>| {
                    list(consumer.partitions.iter().map(|one| offset(pick(one))))
                };
            vec![
                consumer.name.to_string(),
                process_text(self.catalog, consumer.process),
                member_state_name(consumer.member_state).to_owned(),
                consumer.generation_id.to_string(),
                self.activity(consumer),
                self.with_narrator(|narrator| narrator.partitions(&owns)),
                cursor(|one| one.position),
                cursor(|one| one.processed),
                cursor(|one| one.committed),
            ]
        });
        Table {
            key: "table.consumers",
            heads: vec![
                "table.name",
                "table.state",
                "table.member",
                "table.generation",
                "table.activity",
                "table.owns",
                "table.position",
                "table.processed",
                "table.committed",
            ],
            rows: rows.collect(),
        }
    }

    fn activity(&self, consumer: &ConsumerView) -> String {
        match &consumer.activity {
            Activity::Down => self.catalog.t("table.activity-down"),
            Activity::Polling => self.catalog.t("table.activity-polling"),
            Activity::Processing {
                topic_partition,
                offset,
                until,
                ..
            } => {
                let partition = self.with_narrator(|narrator| narrator.partition(*topic_partition));
                let left = span(until.since(self.stage.now));
                let offset = offset.to_string();
                let args = [
                    ("partition", partition.as_str()),
                    ("offset", &offset),
                    ("left", &left),
                ];
                self.catalog.text("table.activity-processing", &args)
            }
            Activity::Committing => self.catalog.t("table.activity-committing"),
            Activity::Failed(exception) => self
                .catalog
                .text("table.activity-failed", &[("exception", exception)]),
        }
    }

    fn producers(&self) -> Table {
        let rows = self.stage.producers.iter().map(|producer| {
            vec![
                producer.name.to_string(),
                process_text(self.catalog, producer.process),
                producer.records_queued.to_string(),
                producer.records_in_flight.to_string(),
                producer.records_acknowledged.to_string(),
                producer.records_failed.to_string(),
            ]
        });
        Table {
            key: "table.producers",
            heads: vec![
                "table.name",
                "table.state",
                "table.queued",
                "table.in-flight",
                "table.acknowledged",
                "table.failed",
            ],
            rows: rows.collect(),
        }
    }

    fn parked_table(&self) -> Table {
        let rows = self.stage.parked.iter().map(|parked| {
            vec![
                self.node_name(parked.from),
                self.with_narrator(|narrator| narrator.waiting(parked.waiting)),
                self.node_name(NodeId::Broker(parked.at)),
                span(self.stage.now.since(parked.since)),
                instant(parked.deadline),
                list(&parked.waiting_for),
            ]
        });
        Table {
            key: "table.parked",
            heads: vec![
                "table.name",
                "table.waiting",
                "table.broker",
                "table.since",
                "table.deadline",
                "table.for-whom",
            ],
            rows: rows.collect(),
        }
    }
}

fn instant(at: Option<SimTime>) -> String {
    at.map_or_else(String::new, |at| at.to_string())
}

/// An offset, or Kafka's dash for none.
fn offset(offset: Option<Offset>) -> String {
    offset.map_or_else(|| String::from("-"), |offset| offset.to_string())
}
