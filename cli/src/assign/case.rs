//! One case: who subscribes to what and owns what; and the answer of an assignor.

use super::wire::{self, Named, Subscription};
use serde::Deserialize;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use terrarium_core::assignor::lag_aware::Weights;
use terrarium_core::assignor::server::{
    ServerAssignor, SubscriptionType, TargetMember, TargetTopic,
};
use terrarium_core::assignor::{
    Assignment, Assignor, AssignorMember, ClusterTopic, compare_text, cooperative_target,
    java_order,
};
use terrarium_core::base::ids::{InstanceId, MemberId, TopicId, TopicPartition};
use terrarium_core::base::user_data::UserData;

/// A case as it is written: one JSON object. Fields that say what the answer should be are passed
/// over.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Case {
    /// Names the case in the answer.
    pub id: String,
    /// `range`, `roundrobin`, `sticky`, `cooperative-sticky`, `lag-aware`, `server-uniform` or
    /// `server-range`.
    pub assignor: String,
    /// Partitions of each topic that is in the metadata.
    pub topics: BTreeMap<String, u32>,
    /// Ids of topics, for the coordinator's assignors; a topic without one comes by its name.
    #[serde(default)]
    pub topic_ids: BTreeMap<String, String>,
    /// Racks of the replicas of each partition; `null` for a broker without a rack.
    #[serde(default)]
    pub racks: BTreeMap<String, Vec<Vec<Option<String>>>>,
    /// The members, in the order of the answer to JoinGroup.
    pub members: Vec<Member>,
}

/// A member of a case.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Member {
    /// Its member id.
    pub member_id: String,
    /// Its `group.instance.id`; unset for a dynamic member.
    pub instance_id: Option<String>,
    /// Its rack.
    pub rack: Option<String>,
    /// Topics that it subscribes to.
    pub topics: Vec<String>,
    /// What it was given last; unset when it does not say.
    pub owned: Option<Vec<Named>>,
    /// The generation in which it was given that.
    pub generation: Option<i32>,
    /// The generation in the subscription itself.
    pub subscription_generation: Option<i32>,
    /// Version of the subscription; 3 when unset.
    pub protocol_version: Option<i16>,
    /// User data byte by byte, in place of what the assignor would send.
    pub user_data_hex: Option<String>,
    /// The whole subscription byte by byte, in place of the fields above.
    pub wire: Option<String>,
}

/// An answer: who gets what by name, sorted.
pub type Answer = BTreeMap<String, Vec<Named>>;

/// What came of a case.
#[derive(Debug, PartialEq, Eq)]
pub enum Outcome {
    /// An assignment; for `cooperative-sticky` what is sent in this round, and what it leads to.
    Assigned {
        /// Who gets what.
        assignment: Answer,
        /// What a cooperative round leads to, where that is something else.
        target: Option<Answer>,
    },
    /// Kafka's assignor throws this exception.
    Exception(String),
}

/// Answers a case.
///
/// # Errors
/// What is wrong with the case, and what was expected.
pub fn answer(case: &Case) -> Result<Outcome, String> {
    check(case)?;
    if let Some(name) = case.assignor.strip_prefix("server-") {
        let assignor = ServerAssignor::by_name(name).ok_or_else(|| unknown(&case.assignor))?;
        return Ok(answer_server(case, assignor));
    }
    let assignor = Assignor::by_name(&case.assignor).ok_or_else(|| unknown(&case.assignor))?;
    answer_client(case, assignor)
}

fn unknown(name: &str) -> String {
    let clients = Assignor::ALL.map(Assignor::name).join(", ");
    let servers = ServerAssignor::ALL.map(|assignor| format!("server-{}", assignor.name()));
    format!(
        "unknown assignor {name:?}; expected one of {clients}, {}",
        servers.join(", ")
    )
}

/// Bounds what a case may ask for.
fn check(case: &Case) -> Result<(), String> {
    let total: u64 = case.topics.values().map(|count| u64::from(*count)).sum();
    if PARTITIONS_MAX < total {
        return Err(format!(
            "{total} partitions; at most {PARTITIONS_MAX} are taken"
        ));
    }
    let mut ids = BTreeSet::new();
    for member in &case.members {
        if !ids.insert(&member.member_id) {
            return Err(format!("two members are called {:?}", member.member_id));
        }
        let mut topics = BTreeSet::new();
        if let Some(topic) = member.topics.iter().find(|topic| !topics.insert(*topic)) {
            return Err(format!(
                "{:?} subscribes to {topic:?} twice",
                member.member_id
            ));
        }
    }
    Ok(())
}

/// Names with numbers for them.
struct Names<'a> {
    /// By number.
    names: Vec<&'a str>,
    ids: BTreeMap<&'a str, TopicId>,
}

impl<'a> Names<'a> {
    /// Numbers the topics, in this order.
    fn new(names: Vec<&'a str>) -> Self {
        let ids = (0..)
            .zip(&names)
            .map(|(id, name)| (*name, TopicId(id)))
            .collect();
        Self { names, ids }
    }

    fn partition(&self, (topic, partition): &Named) -> Option<TopicPartition> {
        let topic = self.ids.get(topic.as_str())?;
        Some(TopicPartition::new(*topic, *partition))
    }

    fn answer(&self, case: &Case, assignment: Assignment) -> Answer {
        let named = |id: TopicPartition| {
            let name = self
                .names
                .get(id.topic.0 as usize)
                .copied()
                .unwrap_or_default();
            (name.to_owned(), id.partition)
        };
        let members = case.members.iter().zip(assignment);
        members
            .map(|(member, got)| {
                let mut got: Vec<Named> = got.into_iter().map(named).collect();
                got.sort_by(|(one, left), (other, right)| {
                    compare_text(one, other).then(left.cmp(right))
                });
                (member.member_id.clone(), got)
            })
            .collect()
    }
}

/// A member of a client's assignor, with all that [`AssignorMember`] borrows.
struct ClientMember {
    member_id: MemberId,
    instance_id: Option<InstanceId>,
    rack: Option<String>,
    topics: Vec<Arc<str>>,
    owned: Vec<TopicPartition>,
    generation_id: i32,
    user_data: Option<UserData>,
}

impl ClientMember {
    fn new(member: &Member, assignor: Assignor, names: &Names<'_>) -> Result<Self, String> {
        let said = Said::new(member, assignor)?;
        let numbers = |owned: &[Named]| {
            let owned = owned.iter().filter_map(|named| names.partition(named));
            owned.collect::<Vec<TopicPartition>>()
        };
        Ok(Self {
            member_id: MemberId::new(&member.member_id),
            instance_id: member.instance_id.as_deref().map(InstanceId::new),
            rack: said.rack,
            topics: said
                .topics
                .iter()
                .map(|topic| Arc::from(topic.as_str()))
                .collect(),
            owned: numbers(&said.owned),
            generation_id: said.generation_id,
            user_data: said.user_data.map(|(owned, generation_id)| UserData {
                partitions: numbers(&owned),
                generation_id,
                lags: Vec::new(),
            }),
        })
    }
}

/// What a member's subscription says, with the user data taken apart.
struct Said {
    topics: Vec<String>,
    owned: Vec<Named>,
    generation_id: i32,
    rack: Option<String>,
    user_data: Option<(Vec<Named>, i32)>,
}

impl Said {
    fn new(member: &Member, assignor: Assignor) -> Result<Self, String> {
        let bytes = |text: &str, what: &str| {
            let place = || format!("{what} of {:?}", member.member_id);
            wire::bytes_of_hex(text)
                .ok_or_else(|| format!("{}: expected pairs of hex digits", place()))
        };
        if let Some(text) = &member.wire {
            let subscription = Subscription::read(&bytes(text, "wire")?);
            let fault = || format!("wire of {:?}: expected a subscription", member.member_id);
            return Ok(Self::read(subscription.ok_or_else(fault)?, assignor));
        }
        let mut said = Self::from_fields(member, assignor);
        if let Some(text) = &member.user_data_hex {
            said.user_data = Some(read_user_data(&bytes(text, "userDataHex")?, assignor));
        }
        Ok(said)
    }

    fn read(subscription: Subscription, assignor: Assignor) -> Self {
        let data = subscription.user_data;
        Self {
            topics: subscription.topics,
            owned: subscription.owned,
            generation_id: subscription.generation_id,
            rack: subscription.rack,
            user_data: data.map(|data| read_user_data(&data, assignor)),
        }
    }

    fn from_fields(member: &Member, assignor: Assignor) -> Self {
        let version = member.protocol_version.unwrap_or(3);
        let generation_id = member.generation.unwrap_or(-1);
        let owned = member.owned.clone();
        let (owned, user_data) = if assignor == Assignor::CooperativeSticky {
            let owned = owned.filter(|_| 1 <= version);
            (owned.unwrap_or_default(), Some((Vec::new(), generation_id)))
        } else {
            (Vec::new(), owned.map(|owned| (owned, generation_id)))
        };
        Self {
            topics: member.topics.clone(),
            owned,
            generation_id: member
                .subscription_generation
                .filter(|_| 2 <= version)
                .unwrap_or(-1),
            rack: member.rack.clone().filter(|_| 3 <= version),
            user_data,
        }
    }
}

fn read_user_data(bytes: &[u8], assignor: Assignor) -> (Vec<Named>, i32) {
    if assignor == Assignor::CooperativeSticky {
        (Vec::new(), wire::cooperative_user_data(bytes))
    } else {
        wire::sticky_user_data(bytes)
    }
}

fn answer_client(case: &Case, assignor: Assignor) -> Result<Outcome, String> {
    // Topics that only occur as owned have no number: they are gone.
    let names = Names::new(case.topics.keys().map(String::as_str).collect());
    let members: Result<Vec<ClientMember>, String> = case
        .members
        .iter()
        .map(|member| ClientMember::new(member, assignor, &names))
        .collect();
    let members = members?;
    let members: Vec<AssignorMember<'_>> = members
        .iter()
        .map(|member| AssignorMember {
            member_id: &member.member_id,
            group_instance_id: member.instance_id.as_ref(),
            rack_id: member.rack.as_deref(),
            topics: &member.topics,
            owned_partitions: &member.owned,
            generation_id: member.generation_id,
            user_data: member.user_data.as_ref(),
        })
        .collect();
    let racks: Vec<Vec<Vec<Arc<str>>>> = case.topics.keys().map(|name| racks(case, name)).collect();
    let topics: Vec<ClusterTopic<'_>> = (0..)
        .zip(case.topics.iter().zip(&racks))
        .map(|(id, ((name, partition_count), racks))| ClusterTopic {
            name,
            topic: TopicId(id),
            partition_count: *partition_count,
            racks,
        })
        .collect();
    let assignment = match assignor.assign(&members, &topics, Weights::default()) {
        Ok(assignment) => names.answer(case, assignment),
        Err(error) => {
            return Ok(Outcome::Exception(format!(
                "java.lang.{}: {error}",
                error.exception()
            )));
        }
    };
    let target = match assignor {
        Assignor::CooperativeSticky => cooperative_target(&members, &topics).ok(),
        Assignor::Range | Assignor::RoundRobin | Assignor::Sticky | Assignor::LagAware => None,
    };
    let target = target.map(|target| names.answer(case, target));
    Ok(Outcome::Assigned {
        target: target.filter(|target| *target != assignment),
        assignment,
    })
}

/// The racks of each partition's replicas, as far as they are known.
fn racks(case: &Case, topic: &str) -> Vec<Vec<Arc<str>>> {
    let partitions = case.racks.get(topic).into_iter().flatten();
    let known = partitions.map(|racks| racks.iter().flatten().map(|rack| Arc::from(rack.as_str())));
    known.map(Iterator::collect).collect()
}

/// A topic id as Kafka compares and hashes it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Uuid(i64, i64);

impl Uuid {
    /// The id of a topic; one without is taken from its name.
    fn of(case: &Case, topic: &str) -> Self {
        let text = case.topic_ids.get(topic);
        let digits: String = text.map_or_else(String::new, |text| text.replace('-', ""));
        match u128::from_str_radix(&digits, 16) {
            Ok(value) => Self(half(value >> 64), half(value)),
            Err(_) => Self(0, i64::from(java_order::string_hash(topic))),
        }
    }

    fn hash(self) -> i32 {
        java_order::uuid_hash(self.0.cast_unsigned(), self.1.cast_unsigned())
    }
}

fn half(value: u128) -> i64 {
    u64::try_from(value & u128::from(u64::MAX))
        .unwrap_or_default()
        .cast_signed()
}

fn answer_server(case: &Case, assignor: ServerAssignor) -> Outcome {
    // Numbers follow the order of the ids.
    let mut sorted: Vec<&str> = case.topics.keys().map(String::as_str).collect();
    sorted.sort_by_key(|name| Uuid::of(case, name));
    let names = Names::new(sorted);
    let walked = walked_topics(case);
    let topics: Vec<TargetTopic> = walked
        .iter()
        .filter_map(|name| {
            Some(TargetTopic {
                topic: *names.ids.get(name)?,
                partition_count: *case.topics.get(*name)?,
            })
        })
        .collect();
    let inputs: Vec<_> = case
        .members
        .iter()
        .map(|member| {
            let subscribed = member
                .topics
                .iter()
                .filter_map(|name| names.ids.get(name.as_str()));
            let subscribed: Vec<TopicId> = subscribed.copied().collect();
            let owned = walked_owned(case, member, &names);
            let instance_id = member.instance_id.as_deref().map(InstanceId::new);
            (
                MemberId::new(&member.member_id),
                instance_id,
                subscribed,
                owned,
            )
        })
        .collect();
    let members: Vec<TargetMember<'_>> = inputs
        .iter()
        .map(|(member_id, instance_id, topics, owned)| TargetMember {
            member_id,
            group_instance_id: instance_id.as_ref(),
            topics,
            owned,
        })
        .collect();
    match assignor.assign(&members, &topics, subscription_type(case)) {
        Ok(assignment) => Outcome::Assigned {
            assignment: names.answer(case, assignment),
            target: None,
        },
        Err(error) => Outcome::Exception(error.to_string()),
    }
}

fn subscription_type(case: &Case) -> SubscriptionType {
    let mut subscribers: BTreeMap<&str, usize> = BTreeMap::new();
    for topic in case.members.iter().flat_map(|member| &member.topics) {
        *subscribers.entry(topic).or_default() += 1;
    }
    if subscribers
        .values()
        .all(|count| *count == case.members.len())
    {
        SubscriptionType::Homogeneous
    } else {
        SubscriptionType::Heterogeneous
    }
}

/// Sorts by the order in which a Java hash map hands out keys that are put in as they stand.
fn map_sorted<T: Copy>(keys: &[T], hash: impl Fn(T) -> i32, capacity: u32) -> Vec<T> {
    let hashes: Vec<i32> = keys.iter().map(|key| hash(*key)).collect();
    let order = java_order::map_order(&hashes, capacity);
    order
        .iter()
        .filter_map(|at| keys.get(*at as usize))
        .copied()
        .collect()
}

/// Topics in the order of the set of subscribed topic ids: names resolved in the order of a set of
/// names, the ids put into a set.
fn walked_topics(case: &Case) -> Vec<&str> {
    let subscribed = case.members.iter().flat_map(|member| &member.topics);
    let subscribed: BTreeSet<&str> = subscribed.map(String::as_str).collect();
    let subscribed: Vec<&str> = subscribed.into_iter().collect();
    let names = map_sorted(&subscribed, java_order::string_hash, 16);
    let known: Vec<&str> = names
        .into_iter()
        .filter(|name| case.topics.contains_key(*name))
        .collect();
    let capacity = java_order::copy_capacity(known.len());
    map_sorted(&known, |name| Uuid::of(case, name).hash(), capacity)
}

/// What a member owns, topics in the order of a map of topic ids.
fn walked_owned(case: &Case, member: &Member, names: &Names<'_>) -> Vec<TopicPartition> {
    let owned = member.owned.as_deref().unwrap_or_default();
    let mut topics: Vec<&str> = owned.iter().map(|(topic, _)| topic.as_str()).collect();
    topics.dedup();
    let topics = map_sorted(&topics, |name| Uuid::of(case, name).hash(), 16);
    let of_topic = |topic: &str| {
        let topic = topic.to_owned();
        owned.iter().filter(move |(name, _)| *name == topic)
    };
    let walked = topics.into_iter().flat_map(of_topic);
    walked.filter_map(|named| names.partition(named)).collect()
}

/// Partitions of one case at most.
const PARTITIONS_MAX: u64 = 10_000_000;
