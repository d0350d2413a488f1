//! The reference of lesson files: what `docs/LESSONS.md` lists and `docs/lesson.schema.json` says.
//!
//! Both come from the tables that the reader itself uses, so they cannot lag behind.

use serde_json::{Map, Value, json};
use terrarium_core::base::config::{
    BrokerConfig, ConsumerConfig, HistoryConfig, ProducerConfig, SettingInfo, TopicConfig,
};
use terrarium_core::lesson::expression::EVENT_FILTERS;
use terrarium_core::lesson::grammar::{FieldInfo, Shape, TABLES, TableInfo};
use terrarium_core::lesson::settings::OWN_SETTINGS;
use terrarium_core::sim::action::ACTIONS;
use terrarium_core::sim::measure::{MeasureKind, Nature};
use terrarium_core::sim::metrics::METRICS;
use terrarium_core::trace::event::TraceEvent;
use terrarium_core::wire::api::ApiKey;
use terrarium_core::wire::error_code::ErrorCode;

/// The kinds of Kafka settings with their names in setting paths.
const SETTINGS: [(&str, &[SettingInfo]); 5] = [
    ("broker", BrokerConfig::SETTINGS),
    ("topic", TopicConfig::SETTINGS),
    ("producer", ProducerConfig::SETTINGS),
    ("consumer", ConsumerConfig::SETTINGS),
    ("history", HistoryConfig::SETTINGS),
];

/// The generated parts of the reference page, by the names of their markers.
pub fn sections() -> Vec<(&'static str, String)> {
    vec![
        ("tables", tables()),
        ("actions", actions()),
        ("settings", settings()),
        ("events", events()),
        ("measures", measures()),
        ("metrics", metrics()),
    ]
}

/// The page with each generated part replaced by what it should be.
///
/// # Errors
/// Names a marker that the page does not have.
pub fn fill(page: &str) -> Result<String, String> {
    let mut filled = page.to_owned();
    for (name, text) in sections() {
        let open = format!("<!-- generated: {name} -->\n");
        let close = format!("<!-- end: {name} -->");
        let (before, rest) = filled
            .split_once(&open)
            .ok_or_else(|| format!("no marker {}", open.trim_end()))?;
        let (_, after) = rest
            .split_once(&close)
            .ok_or_else(|| format!("no marker {close}"))?;
        filled = format!("{before}{open}\n{text}\n{close}{after}");
    }
    Ok(filled)
}

fn tables() -> String {
    let mut lines = Vec::new();
    for table in TABLES {
        let (name, doc) = (table.name, table.doc);
        let head = format!("### `{name}`\n\n{doc}\n\n| field | takes | meaning |\n|---|---|---|");
        lines.push(head);
        for field in table.fields {
            let needed = if field.is_needed { " **Needed.**" } else { "" };
            let (name, doc, takes) = (field.name, escape(field.doc), takes(field.shape));
            lines.push(format!("| `{name}` | {takes} | {doc}{needed} |"));
        }
        lines.push(String::new());
    }
    lines.join("\n")
}

fn takes(shape: Shape) -> String {
    match shape {
        Shape::Text => String::from("text"),
        Shape::Choice(words) => words
            .iter()
            .map(|word| format!("`{word}`"))
            .collect::<Vec<_>>()
            .join(", "),
        Shape::Event => String::from("[event](#events)"),
        Shape::Measure => String::from("[measure](#measures)"),
        Shape::Error => String::from("Kafka's error name"),
        Shape::Api => String::from("Kafka's API name"),
        Shape::Number => String::from("whole number"),
        Shape::Flag => String::from("`true`, `false`"),
        Shape::Time => String::from("time"),
        Shape::Moment => String::from("time, or event as a [condition](#condition)"),
        Shape::Texts => String::from("list of texts"),
        Shape::Actions => String::from("list of timed [actions](#actions)"),
        Shape::Replicas => String::from("list of lists of broker ids"),
        Shape::Conditions => String::from("list of [conditions](#condition)"),
        Shape::Goals => String::from("list of [expressions](#expression)"),
        Shape::Settings(kind) => format!("[{kind} settings](#settings)"),
        Shape::Overrides => String::from("values by [setting path](#settings)"),
        Shape::Rules => String::from("rules by record value"),
        Shape::Table(name) => format!("[{name}](#{name})"),
        Shape::Tables(name) => format!("list of [{name}](#{name})"),
        Shape::TextOr(name) => format!("text, or [{name}](#{name})"),
    }
}

fn actions() -> String {
    let mut lines = vec![String::from("| action | does |\n|---|---|")];
    lines.extend(ACTIONS.iter().map(|action| {
        let (verb, arguments, doc) = (action.verb, escape(action.arguments), escape(action.doc));
        format!("| `{verb} {arguments}` | {doc} |")
    }));
    lines.push(String::new());
    lines.join("\n")
}

fn settings() -> String {
    let mut lines = vec![String::from("| path | takes | does |\n|---|---|---|")];
    lines.extend(OWN_SETTINGS.iter().map(|own| {
        format!(
            "| `{}` | {} | {} |",
            own.path,
            own.expected,
            escape(own.doc)
        )
    }));
    for (kind, settings) in SETTINGS {
        let prefix = if kind == "broker" {
            String::from("cluster")
        } else if kind == "history" {
            String::from(kind)
        } else {
            format!("{kind}.NAME")
        };
        lines.extend(settings.iter().map(|setting| {
            let (name, expected, doc) = (setting.name, setting.expected, escape(setting.doc));
            format!("| `{prefix}.{name}` | {expected} | {doc} |")
        }));
    }
    lines.push(String::new());
    lines.join("\n")
}

fn events() -> String {
    let mut lines = vec![String::from(
        "| event | filters | happens when | Kafka |\n|---|---|---|---|",
    )];
    lines.extend(TraceEvent::KINDS.iter().map(|kind| {
        let filters = EVENT_FILTERS.iter().find(|(event, _)| *event == kind.name);
        let filters = filters.map_or_else(String::new, |(_, filters)| filters.join(", "));
        let doc = escape(kind.doc.trim());
        format!("| `{}` | {filters} | {doc} | {} |", kind.name, kind.source)
    }));
    lines.push(String::new());
    lines.join("\n")
}

fn measures() -> String {
    let head = "| measure | unit | kind | filters | meaning |\n|---|---|---|---|---|";
    let mut lines = vec![String::from(head)];
    lines.extend(MeasureKind::ALL.iter().map(|kind| {
        let nature = match kind.nature() {
            Nature::Counter => "counter",
            Nature::Clock => "clock",
            Nature::Gauge => "gauge",
            Nature::Stopwatch => "stopwatch",
        };
        let (filters, doc) = (kind.filters().join(", "), escape(kind.doc()));
        format!(
            "| `{}` | {} | {nature} | {filters} | {doc} |",
            kind.name(),
            kind.unit()
        )
    }));
    lines.push(String::new());
    lines.join("\n")
}

fn metrics() -> String {
    let head = "| metric | alarm | meaning | Kafka |\n|---|---|---|---|";
    let mut lines = vec![String::from(head)];
    lines.extend(METRICS.iter().map(|metric| {
        let alarm = if metric.is_alarm { "above 0" } else { "" };
        let doc = escape(metric.doc);
        format!("| `{}` | {alarm} | {doc} | {} |", metric.jmx, metric.source)
    }));
    lines.push(String::new());
    lines.join("\n")
}

fn escape(text: &str) -> String {
    text.replace('|', "\\|")
}

/// The JSON schema of lesson files.
pub fn schema() -> Value {
    let mut definitions = Map::new();
    let is_other = |table: &&TableInfo| !["lesson", "catalog", "concept"].contains(&table.name);
    for table in TABLES.iter().filter(is_other) {
        definitions.insert(table.name.to_owned(), table_schema(table));
    }
    for (kind, settings) in SETTINGS {
        definitions.insert(format!("{kind}-settings"), settings_schema(settings));
    }
    let mut root = Map::new();
    root.insert(
        String::from("$schema"),
        json!("https://json-schema.org/draft/2020-12/schema"),
    );
    root.insert(String::from("title"), json!("Terrarium lesson, format 1"));
    for table in TABLES.iter().filter(|table| table.name == "lesson") {
        if let Value::Object(lesson) = table_schema(table) {
            root.extend(lesson);
        }
    }
    root.insert(String::from("$defs"), Value::Object(definitions));
    Value::Object(root)
}

fn table_schema(table: &TableInfo) -> Value {
    let properties: Map<String, Value> = table
        .fields
        .iter()
        .map(|field| (field.name.to_owned(), field_schema(field)))
        .collect();
    let needed: Vec<&str> = table
        .fields
        .iter()
        .filter(|field| field.is_needed)
        .map(|field| field.name)
        .collect();
    json!({
        "type": "object",
        "description": table.doc,
        "properties": properties,
        "required": needed,
        "additionalProperties": false,
    })
}

fn field_schema(field: &FieldInfo) -> Value {
    let mut schema = shape_schema(field.shape);
    if let Value::Object(schema) = &mut schema {
        schema.insert(String::from("description"), json!(field.doc));
        if field.name == "format" {
            schema.insert(String::from("const"), json!(1));
        }
    }
    schema
}

fn shape_schema(shape: Shape) -> Value {
    let list = |items: Value| json!({ "type": "array", "items": items });
    let of = |name: &str| json!({ "$ref": format!("#/$defs/{name}") });
    let one_of = |names: Vec<&str>| json!({ "type": "string", "enum": names });
    let time = || json!({ "type": "string", "pattern": "^[0-9]+(\\.[0-9]+)?(us|ms|s|m|min|h)$" });
    match shape {
        Shape::Text => json!({ "type": "string" }),
        Shape::Choice(words) => one_of(words.to_vec()),
        Shape::Event => one_of(TraceEvent::KINDS.iter().map(|kind| kind.name).collect()),
        Shape::Measure => one_of(MeasureKind::ALL.iter().map(|kind| kind.name()).collect()),
        Shape::Error => one_of(ErrorCode::ALL.iter().map(|code| code.name()).collect()),
        Shape::Api => one_of(ApiKey::ALL.iter().map(|api| api.name()).collect()),
        Shape::Number => json!({ "type": "integer" }),
        Shape::Flag => json!({ "type": "boolean" }),
        Shape::Time => time(),
        Shape::Moment => json!({ "anyOf": [time(), of("condition")] }),
        Shape::Texts => list(json!({ "type": "string" })),
        Shape::Actions => {
            let verbs: Vec<&str> = ACTIONS.iter().map(|action| action.verb).collect();
            list(json!({
                "type": "string",
                "pattern": format!("^\\s*[0-9.]+(us|ms|s|m|min|h)\\s+({})(\\s|$)", verbs.join("|")),
            }))
        }
        Shape::Replicas => list(list(json!({ "type": "integer" }))),
        Shape::Conditions => list(of("condition")),
        Shape::Goals => list(of("expression")),
        Shape::Settings(kind) => of(&format!("{kind}-settings")),
        Shape::Overrides | Shape::Rules => json!({ "type": "object" }),
        Shape::Table(name) => of(name),
        Shape::Tables(name) => list(of(name)),
        Shape::TextOr(name) => json!({ "anyOf": [{ "type": "string" }, of(name)] }),
    }
}

/// Settings by name. TOML reads a dotted name without quotes as nested tables, so those pass too.
fn settings_schema(settings: &[SettingInfo]) -> Value {
    let properties: Map<String, Value> = settings
        .iter()
        .map(|setting| {
            let doc = format!("{} Takes {}.", setting.doc, setting.expected);
            let types = json!(["string", "integer", "boolean", "object"]);
            (
                setting.name.to_owned(),
                json!({ "type": types, "description": doc }),
            )
        })
        .collect();
    json!({
        "type": "object",
        "properties": properties,
        "additionalProperties": { "type": "object" },
    })
}
