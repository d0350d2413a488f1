//! Reads expressions out of a lesson file.

use super::{
    Bound, Condition, EVENT_FILTERS, Expression, Moment, Operator, Pattern, Window, Windowed,
};
use crate::base::ids::{BrokerId, CONSUMER_OFFSETS, ClientId};
use crate::kernel::limits::SIM_TIME_MAX_US;
use crate::kernel::time::{SimTime, parse_span};
use crate::lesson::error::Problem;
use crate::lesson::reader::{Reader, Table, found, integer};
use crate::sim::measure::{MeasureKind, Query};
use crate::sim::scenario::Scenario;
use crate::trace::event::{TraceEvent, Waiting};
use crate::wire::api::ApiKey;
use crate::wire::error_code::ErrorCode;
use std::sync::Arc;

/// Reads expressions that speak of the nodes of one scenario.
#[derive(Debug)]
pub(in crate::lesson) struct ExpressionReader<'s> {
    /// The scenario.
    pub(in crate::lesson) scenario: &'s Scenario,
}

impl ExpressionReader<'_> {
    /// The expression in a field of a table.
    pub(in crate::lesson) fn field<'a>(
        &self,
        reader: &mut Reader<'a>,
        table: &Table<'a>,
        name: &'static str,
    ) -> Option<Expression> {
        reader.require(
            table,
            name,
            "an expression such as { reach = { event = \"isr-shrunk\" } }",
        )?;
        let inner = reader.table(table, name, "expression")?;
        self.expression(reader, &inner, 0)
    }

    fn expression<'a>(
        &self,
        reader: &mut Reader<'a>,
        table: &Table<'a>,
        depth: u32,
    ) -> Option<Expression> {
        let operators = OPERATORS.iter().filter(|name| table.has(name));
        let given: Vec<&str> = operators.copied().collect();
        let [operator] = given.as_slice() else {
            let problem = Problem::expected(
                format!("exactly one of {}", OPERATORS.join(", ")),
                if given.is_empty() {
                    String::from("none")
                } else {
                    given.join(", ")
                },
            );
            reader.fault(table.start, &table.path, problem);
            return None;
        };
        check_companions(reader, table, operator);
        match *operator {
            "all" => Some(Expression::All(
                self.expressions(reader, table, "all", depth)?,
            )),
            "any" => Some(Expression::Any(
                self.expressions(reader, table, "any", depth)?,
            )),
            _ => {
                let window = Window {
                    from: self.moment(reader, table, "from"),
                    to: self.moment(reader, table, "to"),
                };
                if let (Some(Moment::At(from)), Some(Moment::At(to))) = (&window.from, &window.to)
                    && to <= from
                {
                    let reason = format!("the window closes at {to}, before it opens at {from}");
                    reader.fault_in(table, "to", Problem::Contradiction { reason });
                }
                let operator = self.operator(reader, table, operator)?;
                Some(Expression::Over(Box::new(Windowed { window, operator })))
            }
        }
    }

    fn expressions<'a>(
        &self,
        reader: &mut Reader<'a>,
        table: &Table<'a>,
        name: &'static str,
        depth: u32,
    ) -> Option<Vec<Expression>> {
        let inner = reader.tables(table, name, "expression");
        if inner.is_empty() || DEPTH_MAX <= depth {
            let expected = format!("a list of expressions, nested at most {DEPTH_MAX} deep");
            reader.fault_in(table, name, Problem::expected(expected, "another list"));
            return None;
        }
        let read = inner
            .iter()
            .filter_map(|table| self.expression(reader, table, depth + 1));
        Some(read.collect())
    }

    fn operator<'a>(
        &self,
        reader: &mut Reader<'a>,
        table: &Table<'a>,
        operator: &str,
    ) -> Option<Operator> {
        match operator {
            "reach" => Some(Operator::Reach(self.condition_in(reader, table, "reach")?)),
            "never" => Some(Operator::Never(self.condition_in(reader, table, "never")?)),
            "hold" => match self.condition_in(reader, table, "hold")? {
                Condition::Measure(bound) => Some(Operator::Hold {
                    bound,
                    span: reader.span(table, "for"),
                }),
                Condition::Event(_) => {
                    let problem = Problem::expected("a measure with a bound", "an event");
                    reader.fault_in(table, "hold", problem);
                    None
                }
            },
            "count" => {
                let min = reader.number(table, "min", 0..=i64::MAX);
                let max = reader.number(table, "max", 0..=i64::MAX);
                if min.is_none() && max.is_none() {
                    let problem = Problem::Missing {
                        name: "min",
                        expected: "min or max",
                    };
                    reader.fault(table.start, &table.path, problem);
                }
                Some(Operator::Count {
                    pattern: self.pattern_in(reader, table, "count")?,
                    min: min.and_then(|min| u64::try_from(min).ok()).unwrap_or(0),
                    max: max.and_then(|max| u64::try_from(max).ok()),
                })
            }
            "before" => {
                let conditions = reader.tables(table, "before", "condition");
                let [first, second] = conditions.as_slice() else {
                    let problem = Problem::expected("two conditions", conditions.len().to_string());
                    reader.fault_in(table, "before", problem);
                    return None;
                };
                let first = self.condition(reader, first);
                let second = self.condition(reader, second);
                Some(Operator::Before(first?, second?))
            }
            _ => {
                reader.require(
                    table,
                    "after",
                    "the event after which the condition must be met",
                )?;
                reader.require(table, "span", "how soon the condition must be met")?;
                Some(Operator::Within {
                    after: self.pattern_in(reader, table, "after")?,
                    condition: self.condition_in(reader, table, "within")?,
                    span: reader.span(table, "span")?,
                })
            }
        }
    }

    /// The instant or event in a field.
    pub(in crate::lesson) fn moment<'a>(
        &self,
        reader: &mut Reader<'a>,
        table: &Table<'a>,
        name: &str,
    ) -> Option<Moment> {
        let value = table.get(name)?;
        if value.get_ref().is_table() {
            return Some(Moment::On(self.pattern_in(reader, table, name)?));
        }
        let at = value
            .get_ref()
            .as_str()
            .and_then(|text| parse_span(text).ok());
        let Some(at) = at.filter(|at| at.0 <= SIM_TIME_MAX_US) else {
            let expected = "an instant such as 12s, or an event such as { event = \"isr-shrunk\" }";
            reader.fault_in(table, name, Problem::expected(expected, found(value)));
            return None;
        };
        Some(Moment::At(SimTime(at.0)))
    }

    fn pattern_in<'a>(
        &self,
        reader: &mut Reader<'a>,
        table: &Table<'a>,
        name: &str,
    ) -> Option<Pattern> {
        let inner = reader.table(table, name, "condition")?;
        match self.condition(reader, &inner)? {
            Condition::Event(pattern) => Some(pattern),
            Condition::Measure(_) => {
                let problem = Problem::expected("an event", "a measure");
                reader.fault_in(table, name, problem);
                None
            }
        }
    }

    fn condition_in<'a>(
        &self,
        reader: &mut Reader<'a>,
        table: &Table<'a>,
        name: &str,
    ) -> Option<Condition> {
        let inner = reader.table(table, name, "condition")?;
        self.condition(reader, &inner)
    }

    fn condition<'a>(&self, reader: &mut Reader<'a>, table: &Table<'a>) -> Option<Condition> {
        match (table.has("event"), table.has("measure")) {
            (true, false) => Some(Condition::Event(self.pattern(reader, table)?)),
            (false, true) => {
                let query = parse_query(reader, table, self.scenario)?;
                Some(Condition::Measure(bound(reader, table, query)?))
            }
            (true, true) | (false, false) => {
                let problem = Problem::expected("either event or measure", "both or neither");
                reader.fault(table.start, &table.path, problem);
                None
            }
        }
    }

    fn pattern<'a>(&self, reader: &mut Reader<'a>, table: &Table<'a>) -> Option<Pattern> {
        let name = reader.text(table, "event")?;
        let Some(kind) = TraceEvent::KINDS.iter().find(|kind| kind.name == &*name) else {
            let known = TraceEvent::KINDS.iter().map(|kind| kind.name);
            reader.fault_in(table, "event", Problem::unknown("event", &name, known));
            return None;
        };
        let filters = EVENT_FILTERS.iter().find(|(event, _)| *event == kind.name);
        check_filters(
            reader,
            table,
            kind.name,
            filters.map_or(&[], |(_, filters)| *filters),
        );
        Some(Pattern {
            event: kind.name,
            topic: topic(reader, table, self.scenario),
            partition: reader.small(table, "partition", 0),
            group: group(reader, table, self.scenario),
            client: client(reader, table, self.scenario),
            broker: broker(reader, table, "broker", self.scenario),
            error: named(reader, table, "error", ErrorCode::ALL, ErrorCode::name),
            state: state(reader, table, "state", kind.name),
            previous: state(reader, table, "previous", kind.name),
            value: reader.text(table, "value"),
            contains: reader.text(table, "contains"),
            api: named(reader, table, "api", ApiKey::ALL, ApiKey::name),
            waiting: reader.choice(table, "waiting", &WAITING),
            members: reader.small(table, "members", 0),
            isr: reader.small(table, "isr", 0),
            leader: self.leader(reader, table),
            flag: reader.flag(table, "flag"),
        })
    }

    #[expect(
        clippy::option_option,
        reason = "unset lets all through; inner unset is -1"
    )]
    fn leader<'a>(&self, reader: &mut Reader<'a>, table: &Table<'a>) -> Option<Option<BrokerId>> {
        let is_none = table
            .get("leader")
            .and_then(|value| integer(value.get_ref()));
        if is_none == Some(-1) {
            return Some(None);
        }
        broker(reader, table, "leader", self.scenario).map(Some)
    }
}

/// Reports fields that mean nothing beside the operator.
fn check_companions<'a>(reader: &mut Reader<'a>, table: &Table<'a>, operator: &str) {
    let owners: [(&str, &[&str]); 7] = [
        ("from", &WINDOWED),
        ("to", &WINDOWED),
        ("for", &["hold"]),
        ("min", &["count"]),
        ("max", &["count"]),
        ("after", &["within"]),
        ("span", &["within"]),
    ];
    for (name, operators) in owners {
        if table.has(name) && !operators.contains(&operator) {
            let reason = format!("{name} means nothing beside {operator}");
            reader.fault_in(table, name, Problem::Contradiction { reason });
        }
    }
}

/// A measure with filters.
pub(in crate::lesson) fn parse_query<'a>(
    reader: &mut Reader<'a>,
    table: &Table<'a>,
    scenario: &Scenario,
) -> Option<Query> {
    reader.require(table, "measure", "the name of a measure")?;
    let kind = named(
        reader,
        table,
        "measure",
        MeasureKind::ALL,
        MeasureKind::name,
    )?;
    check_filters(reader, table, kind.name(), kind.filters());
    Some(Query {
        kind,
        topic: topic(reader, table, scenario),
        partition: reader.small(table, "partition", 0),
        group: group(reader, table, scenario),
        client: client(reader, table, scenario),
        broker: broker(reader, table, "broker", scenario),
    })
}

fn bound<'a>(reader: &mut Reader<'a>, table: &Table<'a>, query: Query) -> Option<Bound> {
    let whole = i64::MIN..=i64::MAX;
    let at_least = reader.number(table, "at-least", whole.clone());
    let at_most = reader.number(table, "at-most", whole.clone());
    let equals = reader.number(table, "equals", whole);
    let is_bounded = table.has("at-least") || table.has("at-most") || table.has("equals");
    if !is_bounded {
        let problem = Problem::Missing {
            name: "at-least",
            expected: "at-least, at-most or equals",
        };
        reader.fault(table.start, &table.path, problem);
        return None;
    }
    Some(Bound {
        query,
        at_least: equals.or(at_least),
        at_most: equals.or(at_most),
    })
}

/// Reports filters and bounds that `what` does not understand: they would let nothing through.
fn check_filters<'a>(reader: &mut Reader<'a>, table: &Table<'a>, what: &str, filters: &[&str]) {
    for name in FILTERS {
        if table.knows(name) && table.has(name) && !filters.contains(&name) {
            let understood = match filters {
                [] => String::from("no filter"),
                _ => filters.join(", "),
            };
            let reason = format!("{what} says nothing of {name}; it understands {understood}");
            reader.fault_in(table, name, Problem::Contradiction { reason });
        }
    }
    for name in ["at-least", "at-most", "equals"] {
        if table.knows(name) && table.has(name) && table.has("event") {
            let reason = format!("{name} bounds a measure; an event just happens");
            reader.fault_in(table, name, Problem::Contradiction { reason });
        }
    }
}

fn topic<'a>(reader: &mut Reader<'a>, table: &Table<'a>, scenario: &Scenario) -> Option<Arc<str>> {
    let name = reader.text(table, "topic")?;
    let known = || {
        scenario
            .topics
            .iter()
            .map(|topic| &*topic.name)
            .chain([CONSUMER_OFFSETS])
    };
    if !known().any(|topic| topic == &*name) {
        reader.fault_in(table, "topic", Problem::unknown("topic", &name, known()));
        return None;
    }
    Some(name)
}

fn group<'a>(reader: &mut Reader<'a>, table: &Table<'a>, scenario: &Scenario) -> Option<Arc<str>> {
    let name = reader.text(table, "group")?;
    let known = || {
        scenario
            .consumers
            .iter()
            .filter_map(|c| c.config.group_id.as_deref())
    };
    if !known().any(|group| group == &*name) {
        reader.fault_in(table, "group", Problem::unknown("group", &name, known()));
        return None;
    }
    Some(name)
}

fn client<'a>(reader: &mut Reader<'a>, table: &Table<'a>, scenario: &Scenario) -> Option<ClientId> {
    let name = reader.text(table, "client")?;
    let client = scenario.client_by_name(&name);
    if client.is_none() {
        let known = (0..scenario.client_count()).map(|id| scenario.client_name(ClientId(id)));
        reader.fault_in(table, "client", Problem::unknown("client", &name, known));
    }
    client
}

fn broker<'a>(
    reader: &mut Reader<'a>,
    table: &Table<'a>,
    name: &str,
    scenario: &Scenario,
) -> Option<BrokerId> {
    let id = BrokerId(reader.small(table, name, 0)?);
    if scenario.brokers.iter().all(|broker| broker.id != id) {
        let ids: Vec<String> = scenario.brokers.iter().map(|b| b.id.to_string()).collect();
        let problem = Problem::expected(format!("a broker: {}", ids.join(", ")), id.to_string());
        reader.fault_in(table, name, problem);
        return None;
    }
    Some(id)
}

/// One of the values that `all` lists, by its name.
fn named<'a, T: Copy>(
    reader: &mut Reader<'a>,
    table: &Table<'a>,
    field: &'static str,
    all: &[T],
    name_of: impl Fn(T) -> &'static str,
) -> Option<T> {
    let name = reader.text(table, field)?;
    let value = all.iter().copied().find(|value| name_of(*value) == &*name);
    if value.is_none() {
        let known = all.iter().map(|value| name_of(*value));
        reader.fault_in(table, field, Problem::unknown(field, &name, known));
    }
    value
}

fn state<'a>(
    reader: &mut Reader<'a>,
    table: &Table<'a>,
    field: &'static str,
    event: &str,
) -> Option<Arc<str>> {
    let name = reader.text(table, field)?;
    let known: &[&str] = if event == "member-state-changed" {
        &MEMBER_STATES
    } else {
        &GROUP_STATES
    };
    if !known.contains(&&*name) {
        let problem = Problem::unknown("state", &name, known.iter().copied());
        reader.fault_in(table, field, problem);
        return None;
    }
    Some(name)
}

/// How deep `all` and `any` may be nested.
const DEPTH_MAX: u32 = 4;
const OPERATORS: [&str; 8] = [
    "reach", "never", "hold", "count", "before", "within", "all", "any",
];
const WINDOWED: [&str; 6] = ["reach", "never", "hold", "count", "before", "within"];
const FILTERS: [&str; 16] = [
    "topic",
    "partition",
    "group",
    "client",
    "broker",
    "error",
    "state",
    "previous",
    "value",
    "contains",
    "api",
    "waiting",
    "members",
    "isr",
    "leader",
    "flag",
];
const WAITING: [(&str, Waiting); 5] = [
    ("join", Waiting::Join),
    ("sync", Waiting::Sync),
    ("produce", Waiting::Produce),
    ("fetch", Waiting::Fetch),
    ("coordinator-append", Waiting::CoordinatorAppend),
];
const GROUP_STATES: [&str; 5] = [
    "Empty",
    "PreparingRebalance",
    "CompletingRebalance",
    "Stable",
    "Dead",
];
const MEMBER_STATES: [&str; 4] = [
    "UNJOINED",
    "PREPARING_REBALANCE",
    "COMPLETING_REBALANCE",
    "STABLE",
];
