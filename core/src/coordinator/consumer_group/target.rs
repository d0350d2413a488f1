//! The target assignment: who is to own what.

use super::{ConsumerGroup, ConsumerMember};
use crate::assignor::Assignment;
use crate::assignor::server::{self, SubscriptionType, TargetMember, TargetTopic};
use crate::base::config::{BrokerConfig, ServerAssignor};
use crate::base::ids::{MemberId, TopicId, TopicPartition};
use crate::wire::error_code::ErrorCode;
use crate::wire::record::SubscribedTopic;
use std::sync::Arc;

/// A target assignment as far as it is new.
#[derive(Debug)]
pub(super) struct Target {
    /// The assignor that computed it.
    pub(super) assignor: ServerAssignor,
    /// How many members it is for.
    pub(super) members: u32,
    /// The members whose target has changed, and what they are to own.
    pub(super) changed: Vec<(MemberId, Arc<Vec<TopicPartition>>)>,
}

impl ConsumerGroup {
    /// Computes what each member is to own, with `updated` in place of the member of its id, or
    /// besides the others, and without `left_out`.
    ///
    /// # Errors
    /// `UNKNOWN_SERVER_ERROR` when the assignor fails.
    /// # Source
    /// `TargetAssignmentBuilder#build` (Kafka 1eb7644).
    pub(super) fn compute_target(
        &self,
        updated: &ConsumerMember,
        left_out: Option<&MemberId>,
        topics: &[SubscribedTopic],
        config: &BrokerConfig,
    ) -> Result<Target, ErrorCode> {
        let mut members: Vec<&ConsumerMember> = self
            .members
            .iter()
            .filter(|it| Some(&it.member_id) != left_out)
            .collect();
        match members.binary_search_by(|it| it.member_id.cmp(&updated.member_id)) {
            Ok(place) => {
                if let Some(slot) = members.get_mut(place) {
                    *slot = updated;
                }
            }
            Err(place) => members.insert(place, updated),
        }
        let assignor = preferred_assignor(&members, config);
        let assignment = assign(assignor, &members, topics)?;
        let mut changed = Vec::new();
        for (member, mut partitions) in members.iter().zip(assignment) {
            partitions.sort_unstable();
            if partitions != *member.target {
                changed.push((member.member_id.clone(), Arc::new(partitions)));
            }
        }
        Ok(Target {
            assignor,
            members: u32::try_from(members.len()).unwrap_or(u32::MAX),
            changed,
        })
    }
}

/// The assignor that most members name; one that nobody names only if nobody names any. Of two with
/// as many votes, the one that stands first in `group.consumer.assignors`.
fn preferred_assignor(members: &[&ConsumerMember], config: &BrokerConfig) -> ServerAssignor {
    let votes = |assignor: &ServerAssignor| {
        let name = assignor.name();
        let named = members
            .iter()
            .filter(|it| it.metadata.server_assignor.as_deref() == Some(name));
        named.count()
    };
    let mut best = (0, ServerAssignor::Uniform);
    for (place, assignor) in config.group_consumer_assignors.iter().enumerate() {
        let count = votes(assignor);
        if place == 0 || best.0 < count {
            best = (count, *assignor);
        }
    }
    best.1
}

/// What the assignor gives each member, in the members' order.
fn assign(
    assignor: ServerAssignor,
    members: &[&ConsumerMember],
    topics: &[SubscribedTopic],
) -> Result<Assignment, ErrorCode> {
    let mut known: Vec<TargetTopic> = topics
        .iter()
        .map(|(_, topic, partition_count)| TargetTopic {
            topic: *topic,
            partition_count: *partition_count,
        })
        .collect();
    known.sort_unstable_by_key(|it| it.topic);
    let first = members.first().map(|it| &it.metadata.subscribed_topics);
    let mut subscriptions: Vec<Vec<TopicId>> = Vec::new();
    let mut is_homogeneous = true;
    for member in members {
        let names = &member.metadata.subscribed_topics;
        is_homogeneous &= Some(names) == first;
        let ids = match subscriptions.last() {
            Some(ids) if is_homogeneous => ids.clone(),
            Some(_) | None => topic_ids(names, topics),
        };
        subscriptions.push(ids);
    }
    let said = members.iter().zip(&subscriptions);
    let inputs: Vec<TargetMember<'_>> = said
        .map(|(member, topics)| TargetMember {
            member_id: &member.member_id,
            group_instance_id: member.metadata.group_instance_id.as_ref(),
            topics,
            owned: &member.target,
        })
        .collect();
    let subscription_type = if is_homogeneous {
        SubscriptionType::Homogeneous
    } else {
        SubscriptionType::Heterogeneous
    };
    let assignor = match assignor {
        ServerAssignor::Uniform => server::ServerAssignor::Uniform,
        ServerAssignor::Range => server::ServerAssignor::Range,
    };
    let assignment = assignor.assign(&inputs, &known, subscription_type);
    assignment.map_err(|_failed| ErrorCode::UnknownServerError)
}

/// The ids of the topics of these names that exist.
fn topic_ids(names: &[Arc<str>], topics: &[SubscribedTopic]) -> Vec<TopicId> {
    let found = names.iter().filter_map(|name| {
        let place = topics.binary_search_by(|(known, _, _)| known.cmp(name));
        topics.get(place.ok()?).map(|(_, topic, _)| *topic)
    });
    found.collect()
}
