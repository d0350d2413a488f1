//! Every field of what is selected, from its serialised form.

use super::Reading;
use super::tree::Tree;
use crate::driver::selection::Selection;
use crate::model::panels::Field;
use serde::Serialize;
use terrarium_core::base::ids::NodeId;
use terrarium_core::kernel::time::SimTime;
use terrarium_core::trace::event::TraceEvent;

/// Most rows of a tree. What comes after is said to be there.
const ROWS_MAX: usize = 400;

impl Reading<'_> {
    /// The fields of what is selected.
    pub(crate) fn fields(&self, selection: &Selection) -> Vec<Field> {
        match selection {
            Selection::Node(node) => self.node_fields(*node),
            Selection::Replica(id, which) => {
                let broker = self.stage.brokers.iter().find(|view| view.id == *id);
                let replica = broker.and_then(|view| {
                    view.replicas
                        .iter()
                        .find(|one| one.topic_partition == *which)
                });
                let mut fields = replica.map_or_else(Vec::new, tree);
                // Offsets that stand in both are said once.
                if let Some(log) = self.sim.log_view(*id, *which) {
                    let files = tree(&log).into_iter();
                    let known: Vec<String> = fields.iter().map(|one| one.name.clone()).collect();
                    fields.extend(files.filter(|one| one.depth != 0 || !known.contains(&one.name)));
                }
                fields
            }
            Selection::Partition(which) => {
                let partitions = self.stage.topics.iter().flat_map(|topic| &topic.partitions);
                let partition = partitions
                    .into_iter()
                    .find(|one| one.topic_partition == *which);
                partition.map_or_else(Vec::new, tree)
            }
            Selection::Group(group) => {
                let group = self
                    .stage
                    .groups
                    .iter()
                    .find(|view| view.group_id == *group);
                group.map_or_else(Vec::new, tree)
            }
            Selection::Packet { packet, entry } => {
                // The name that drop-message and delay-message take.
                let mut fields = vec![Field {
                    depth: 0,
                    name: self.catalog.t("inspect.number"),
                    value: packet.0.to_string(),
                }];
                match self.sim.trace().entry(*entry).map(|one| &one.event) {
                    Some(TraceEvent::RequestSent { body, .. }) => fields.extend(tree(&**body)),
                    Some(TraceEvent::ResponseSent { body, .. }) => fields.extend(tree(&**body)),
                    _ => {}
                }
                fields
            }
            Selection::Parked { entry, .. } => {
                let mut fields = self.parked(*entry).map_or_else(Vec::new, tree);
                if let Some(body) = self.request_behind(*entry) {
                    fields.extend(tree(body));
                }
                fields
            }
            Selection::Entry(index) => self.sim.trace().entry(*index).map_or_else(Vec::new, tree),
        }
    }

    /// What the picture shows of a process, in fields.
    fn node_fields(&self, node: NodeId) -> Vec<Field> {
        let stage = self.stage;
        match node {
            NodeId::Controller(_) => tree(&stage.controller),
            NodeId::Broker(id) => {
                let broker = stage.brokers.iter().find(|view| view.id == id);
                broker.map_or_else(Vec::new, |view| {
                    without(tree(view), &["timers", "replicas"])
                })
            }
            NodeId::Client(id) => {
                let consumer = stage.consumers.iter().find(|view| view.client == id);
                let producer = stage.producers.iter().find(|view| view.client == id);
                match (consumer, producer) {
                    (Some(consumer), _) => without(tree(consumer), &["timers"]),
                    (None, Some(producer)) => without(tree(producer), &["timers"]),
                    (None, None) => Vec::new(),
                }
            }
        }
    }

    /// The whole state of the process that has to do with the selected thing, as the engine has
    /// it. A record log may be long: see [`tree`].
    pub(crate) fn deep(&self) -> Vec<Field> {
        let node = self
            .selection
            .and_then(|selection| self.process_of(selection));
        match node.and_then(|node| self.sim.inspect(node)) {
            Some(state) => tree(state),
            None => Vec::new(),
        }
    }
}

/// The fields but those of these names, which stand elsewhere; what lies under them goes too.
fn without(fields: Vec<Field>, names: &[&str]) -> Vec<Field> {
    let mut is_left_out = false;
    let keep = fields.into_iter().filter(|field| {
        if field.depth == 0 {
            is_left_out = names.contains(&field.name.as_str());
        }
        !is_left_out
    });
    keep.collect()
}

/// The fields of anything that can be serialised.
pub(crate) fn tree(thing: &(impl Serialize + ?Sized)) -> Vec<Field> {
    let mut fields = Vec::new();
    match Tree::of(thing) {
        Tree::Map(named) => {
            for (name, value) in &named {
                add(&mut fields, 0, name, value);
            }
        }
        other => add(&mut fields, 0, "", &other),
    }
    if ROWS_MAX < fields.len() {
        let rest = fields.len() - ROWS_MAX;
        fields.truncate(ROWS_MAX);
        let value = format!("+{rest}");
        fields.push(Field {
            depth: 0,
            name: String::from("…"),
            value,
        });
    }
    fields
}

fn add(fields: &mut Vec<Field>, depth: u8, name: &str, value: &Tree) {
    if let Some(value) = inline(name, value) {
        fields.push(Field {
            depth,
            name: name.to_owned(),
            value,
        });
        return;
    }
    fields.push(Field {
        depth,
        name: name.to_owned(),
        value: String::new(),
    });
    let depth = depth.saturating_add(1);
    match value {
        Tree::Map(named) => {
            for (name, value) in named {
                add(fields, depth, name, value);
            }
        }
        Tree::List(items) => {
            for (place, value) in items.iter().enumerate() {
                add(fields, depth, &place.to_string(), value);
            }
        }
        Tree::Leaf(_) | Tree::Number(_) => {}
    }
}

/// A value that fits into its line: a plain one, a partition, a short list of such.
fn inline(name: &str, value: &Tree) -> Option<String> {
    match value {
        Tree::Leaf(text) if text.is_empty() => Some(String::from("\"\"")),
        Tree::Leaf(text) => Some(text.clone()),
        // Instants end in `_at` everywhere in the engine, but for a few short words.
        Tree::Number(micros)
            if name.ends_with("_at")
                || matches!(name, "at" | "until" | "now" | "since" | "deadline") =>
        {
            Some(SimTime(*micros).to_string())
        }
        Tree::Number(number) => Some(number.to_string()),
        Tree::List(items) if items.is_empty() => Some(String::from("[]")),
        Tree::List(items) => {
            let is_flat = items.iter().all(is_plain);
            Some(value.line()).filter(|line| is_flat && line.len() <= LINE_MAX)
        }
        Tree::Map(fields) if fields.is_empty() => Some(String::from("{}")),
        Tree::Map(fields) => {
            let is_flat = fields.len() <= 2 && fields.iter().all(|(_, field)| is_plain(field));
            Some(value.line()).filter(|line| is_flat && line.len() <= LINE_MAX)
        }
    }
}

/// Longest list or map that stands in one line, in bytes.
const LINE_MAX: usize = 40;

fn is_plain(value: &Tree) -> bool {
    match value {
        Tree::Leaf(_) | Tree::Number(_) => true,
        Tree::Map(fields) => {
            fields.len() == 2
                && fields
                    .iter()
                    .all(|(_, field)| !matches!(field, Tree::Map(_) | Tree::List(_)))
        }
        Tree::List(_) => false,
    }
}

#[cfg(test)]
mod tests {
    use super::tree;
    use serde::Serialize;
    use std::collections::BTreeMap;
    use terrarium_core::base::ids::{BrokerId, TopicId, TopicPartition};
    use terrarium_core::kernel::time::SimTime;

    #[derive(Serialize)]
    struct Thing {
        leader_epoch: i32,
        last_caught_up_at: SimTime,
        isr: Vec<BrokerId>,
        nothing: Option<u32>,
        partition: TopicPartition,
        followers: Vec<BTreeMap<&'static str, u32>>,
        by_partition: BTreeMap<TopicPartition, Vec<i64>>,
        empty: Vec<u32>,
    }

    #[test]
    fn a_tree_keeps_the_order_and_shows_every_leaf() {
        let which = TopicPartition::new(TopicId(1), 2);
        let thing = Thing {
            leader_epoch: -1,
            last_caught_up_at: SimTime(1_500_000),
            isr: vec![BrokerId(1), BrokerId(2)],
            nothing: None,
            partition: which,
            followers: vec![BTreeMap::from([("a", 2), ("b", 0), ("c", 7)])],
            by_partition: BTreeMap::from([(which, vec![7])]),
            empty: Vec::new(),
        };
        let rows: Vec<(u8, String, String)> = tree(&thing)
            .into_iter()
            .map(|field| (field.depth, field.name, field.value))
            .collect();
        let expected = [
            (0, "leader_epoch", "-1"),
            (0, "last_caught_up_at", "1.500 s"),
            (0, "isr", "[1, 2]"),
            (0, "nothing", "null"),
            (0, "partition", "1-2"),
            (0, "followers", ""),
            (1, "0", ""),
            (2, "a", "2"),
            (2, "b", "0"),
            (2, "c", "7"),
            (0, "by_partition", ""),
            (1, "1-2", "[7]"),
            (0, "empty", "[]"),
        ];
        let expected: Vec<(u8, String, String)> = expected
            .into_iter()
            .map(|(depth, name, value)| (depth, name.to_owned(), value.to_owned()))
            .collect();
        assert_eq!(rows, expected, "rows of the tree");
    }

    #[test]
    fn a_huge_state_says_how_much_is_left_out() {
        let list: Vec<Vec<Vec<u32>>> = (0..1_000).map(|number| vec![vec![number]]).collect();
        let rows = tree(&list);
        assert_eq!(
            rows.len(),
            202,
            "the list, a hundred of its items with theirs, and a remark"
        );
        assert_eq!(
            rows.last().map(|row| row.value.as_str()),
            Some("… +900"),
            "the remark"
        );
        let lists: BTreeMap<u32, &Vec<Vec<Vec<u32>>>> = (0..10).map(|key| (key, &list)).collect();
        let rows = tree(&lists);
        assert_eq!(rows.len(), 401, "no tree is longer");
        assert_eq!(
            rows.last().map(|row| row.name.as_str()),
            Some("…"),
            "and it says so"
        );
    }
}
