//! Every field of what is selected, from its serialised form.

use super::Reading;
use crate::driver::selection::Selection;
use crate::model::panels::Field;
use serde::Serialize;
use serde_json::Value;
use terrarium_core::kernel::time::SimTime;
use terrarium_core::trace::event::TraceEvent;

/// Most rows of a tree. What comes after is said to be there.
const ROWS_MAX: usize = 400;

impl Reading<'_> {
    /// The fields of what is selected.
    pub(crate) fn fields(&self, selection: &Selection) -> Vec<Field> {
        match selection {
            Selection::Node(node) => tree(&self.sim.inspect(*node)),
            Selection::Replica(broker, which) => {
                let broker = self.stage.brokers.iter().find(|view| view.id == *broker);
                let replica = broker.and_then(|view| {
                    view.replicas
                        .iter()
                        .find(|one| one.topic_partition == *which)
                });
                replica.map_or_else(Vec::new, tree)
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
            Selection::Packet { entry, .. } => {
                match self.sim.trace().entry(*entry).map(|one| &one.event) {
                    Some(TraceEvent::RequestSent { body, .. }) => tree(&**body),
                    Some(TraceEvent::ResponseSent { body, .. }) => tree(&**body),
                    _ => Vec::new(),
                }
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
}

/// The fields of anything that can be serialised.
pub(crate) fn tree(thing: &impl Serialize) -> Vec<Field> {
    let mut fields = Vec::new();
    match serde_json::to_value(thing) {
        Ok(Value::Object(object)) => {
            for (name, value) in &object {
                add(&mut fields, 0, name, value);
            }
        }
        Ok(value) => add(&mut fields, 0, "", &value),
        Err(error) => fields.push(Field {
            depth: 0,
            name: String::from("?"),
            value: error.to_string(),
        }),
    }
    if ROWS_MAX < fields.len() {
        let rest = fields.len() - ROWS_MAX;
        fields.truncate(ROWS_MAX);
        fields.push(Field {
            depth: 0,
            name: String::from("…"),
            value: format!("+{rest}"),
        });
    }
    fields
}

fn add(fields: &mut Vec<Field>, depth: u8, name: &str, value: &Value) {
    // Far more than can be shown is not even looked at.
    if ROWS_MAX * 4 < fields.len() {
        return;
    }
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
        Value::Object(object) => {
            for (name, value) in object {
                add(fields, depth, name, value);
            }
        }
        Value::Array(items) => {
            for (place, value) in items.iter().enumerate() {
                add(fields, depth, &place.to_string(), value);
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

/// A value that fits into its line: a plain one, a short list of plain ones, a partition.
fn inline(name: &str, value: &Value) -> Option<String> {
    match value {
        Value::Null => Some(String::from("null")),
        Value::Bool(truth) => Some(truth.to_string()),
        Value::String(text) if text.is_empty() => Some(String::from("\"\"")),
        Value::String(text) => Some(text.clone()),
        Value::Number(number) => Some(match number.as_u64() {
            // Instants end in `_at` everywhere in the engine.
            Some(micros)
                if name.ends_with("_at")
                    || matches!(name, "at" | "until" | "now" | "since" | "deadline") =>
            {
                SimTime(micros).to_string()
            }
            _ => number.to_string(),
        }),
        Value::Array(items) if items.is_empty() => Some(String::from("[]")),
        Value::Array(items) => {
            let parts: Option<Vec<String>> = items
                .iter()
                .map(|item| {
                    if item.is_array() {
                        None
                    } else {
                        inline("", item)
                    }
                })
                .collect();
            let text = format!("[{}]", parts?.join(", "));
            (text.len() <= 40).then_some(text)
        }
        Value::Object(object) => match (object.len(), object.get("topic"), object.get("partition"))
        {
            (2, Some(topic), Some(partition)) => Some(format!("{topic}-{partition}")),
            (0, ..) => Some(String::from("{}")),
            (1, ..) => {
                let (name, value) = object.iter().next()?;
                let value = inline(name, value).filter(|_| !value.is_object())?;
                Some(format!("{name} {value}"))
            }
            _ => None,
        },
    }
}

#[cfg(test)]
mod tests {
    use super::tree;
    use serde_json::json;

    #[test]
    fn a_tree_keeps_the_order_and_shows_every_leaf() {
        let thing = json!({
            "leader_epoch": 3, "last_caught_up_at": 1_500_000, "isr": [1, 2],
            "nothing": null, "partition": {"topic": 1, "partition": 2},
            "followers": [{"broker": 2, "lag": 0}], "empty": [],
        });
        let rows: Vec<(u8, String, String)> = tree(&thing)
            .into_iter()
            .map(|field| (field.depth, field.name, field.value))
            .collect();
        let expected = [
            (0, "leader_epoch", "3"),
            (0, "last_caught_up_at", "1.500 s"),
            (0, "isr", "[1, 2]"),
            (0, "nothing", "null"),
            (0, "partition", "1-2"),
            (0, "followers", ""),
            (1, "0", ""),
            (2, "broker", "2"),
            (2, "lag", "0"),
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
        let thing: Vec<Vec<Vec<u32>>> = (0..1_000).map(|number| vec![vec![number]]).collect();
        let rows = tree(&thing);
        assert_eq!(rows.len(), 401, "rows and a remark");
        assert_eq!(
            rows.last().map(|row| row.name.as_str()),
            Some("…"),
            "the remark"
        );
    }
}
