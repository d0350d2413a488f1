//! Reads typed fields out of TOML, and remembers every fault with its line.

use super::error::{LoadError, Problem};
use super::grammar::{self, TableInfo};
use crate::kernel::limits::SIM_TIME_MAX_US;
use crate::kernel::time::{Span, parse_span};
use std::ops::RangeInclusive;
use std::sync::Arc;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

/// A value with its place in the file.
pub(super) type Value<'a> = Spanned<DeValue<'a>>;

/// A table that is being read.
#[derive(Clone, Debug)]
pub(super) struct Table<'a> {
    fields: &'a DeTable<'a>,
    /// Where it begins in the text, in bytes.
    pub(super) start: usize,
    /// What it is called in messages.
    pub(super) path: String,
    info: &'static TableInfo,
}

impl<'a> Table<'a> {
    /// The field called `name`, if it is given.
    pub(super) fn get(&self, name: &str) -> Option<&'a Value<'a>> {
        debug_assert!(
            self.info.fields.iter().any(|field| field.name == name),
            "{name} is not a field of {}",
            self.info.name
        );
        self.fields.get(name)
    }

    /// Whether tables of this kind have such a field.
    pub(super) fn knows(&self, name: &str) -> bool {
        self.info.fields.iter().any(|field| field.name == name)
    }

    /// Whether the field is given.
    pub(super) fn has(&self, name: &str) -> bool {
        self.get(name).is_some()
    }

    fn entry(&self, name: &str) -> String {
        if self.path.is_empty() {
            name.to_owned()
        } else {
            format!("{}.{name}", self.path)
        }
    }
}

/// The file, and the faults found in it so far.
#[derive(Debug)]
pub(super) struct Reader<'a> {
    file: Arc<str>,
    text: &'a str,
    /// The faults, in the order in which they were found.
    pub(super) errors: Vec<LoadError>,
}

impl<'a> Reader<'a> {
    pub(super) fn new(file: &str, text: &'a str) -> Self {
        Self {
            file: Arc::from(file),
            text,
            errors: Vec::new(),
        }
    }

    /// Remembers a fault at the byte `start`.
    pub(super) fn fault(&mut self, start: usize, entry: &str, problem: Problem) {
        let (line, column) = self.place(start);
        let file = self.file.clone();
        self.errors.push(LoadError {
            file,
            line,
            column,
            entry: entry.to_owned(),
            problem,
        });
    }

    /// Remembers that the file is not TOML.
    pub(super) fn syntax(&mut self, error: &toml::de::Error) {
        let start = error.span().map_or(0, |span| span.start);
        let message = error.message().replace('\n', " ");
        self.fault(start, "", Problem::Syntax { message });
    }

    /// Remembers a fault in a field, or in the table when the field is not given.
    pub(super) fn fault_in(&mut self, table: &Table<'a>, name: &str, problem: Problem) {
        let start = table
            .get(name)
            .map_or(table.start, |value| value.span().start);
        self.fault(start, &table.entry(name), problem);
    }

    fn place(&self, start: usize) -> (u32, u32) {
        let before = self.text.get(..start).unwrap_or(self.text);
        let count = |number: usize| u32::try_from(number + 1).unwrap_or(u32::MAX);
        let line = before.bytes().filter(|byte| *byte == b'\n').count();
        let column = before
            .rsplit('\n')
            .next()
            .unwrap_or_default()
            .chars()
            .count();
        (count(line), count(column))
    }

    /// Opens a table of the kind `kind` and reports every field that it does not know.
    pub(super) fn open(
        &mut self,
        value: &'a Value<'a>,
        path: &str,
        kind: &'static str,
    ) -> Option<Table<'a>> {
        let start = value.span().start;
        let Some(fields) = value.get_ref().as_table() else {
            self.fault(start, path, Problem::expected("a table", found(value)));
            return None;
        };
        self.open_fields(fields, start, path, kind)
    }

    /// Opens the fields of a table; see [`Self::open`].
    pub(super) fn open_fields(
        &mut self,
        fields: &'a DeTable<'a>,
        start: usize,
        path: &str,
        kind: &'static str,
    ) -> Option<Table<'a>> {
        let info = grammar::table(kind)?;
        let table = Table {
            fields,
            start,
            path: path.to_owned(),
            info,
        };
        for key in fields.keys() {
            let name: &str = key.get_ref();
            if info.fields.iter().all(|field| field.name != name) {
                let known = info.fields.iter().map(|field| field.name);
                let problem = Problem::unknown("field", name, known);
                self.fault(key.span().start, &table.entry(name), problem);
            }
        }
        Some(table)
    }

    /// A table inside a table.
    pub(super) fn table(
        &mut self,
        table: &Table<'a>,
        name: &str,
        kind: &'static str,
    ) -> Option<Table<'a>> {
        let value = table.get(name)?;
        self.open(value, &table.entry(name), kind)
    }

    /// A list of tables inside a table; nothing when the field is not given.
    pub(super) fn tables(
        &mut self,
        table: &Table<'a>,
        name: &str,
        kind: &'static str,
    ) -> Vec<Table<'a>> {
        let items = self.items(table, name, "a list of tables");
        let entry = table.entry(name);
        items
            .into_iter()
            .enumerate()
            .filter_map(|(index, item)| self.open(item, &format!("{entry}[{index}]"), kind))
            .collect()
    }

    /// The items of a list; nothing when the field is not given.
    pub(super) fn items(
        &mut self,
        table: &Table<'a>,
        name: &str,
        expected: &str,
    ) -> Vec<&'a Value<'a>> {
        let Some(value) = table.get(name) else {
            return Vec::new();
        };
        let Some(items) = value.get_ref().as_array() else {
            self.fault_in(table, name, Problem::expected(expected, found(value)));
            return Vec::new();
        };
        items.iter().collect()
    }

    /// A text.
    pub(super) fn text(&mut self, table: &Table<'a>, name: &str) -> Option<Arc<str>> {
        let value = table.get(name)?;
        let text = value.get_ref().as_str();
        if text.is_none() {
            self.fault_in(table, name, Problem::expected("a text", found(value)));
        }
        text.map(Arc::from)
    }

    /// A text that must be there.
    pub(super) fn required_text(
        &mut self,
        table: &Table<'a>,
        name: &'static str,
        expected: &'static str,
    ) -> Option<Arc<str>> {
        self.require(table, name, expected)?;
        self.text(table, name)
    }

    /// Reports a field that must be there and is not.
    pub(super) fn require(
        &mut self,
        table: &Table<'a>,
        name: &'static str,
        expected: &'static str,
    ) -> Option<()> {
        if !table.has(name) {
            let problem = Problem::Missing { name, expected };
            self.fault(table.start, &table.path, problem);
            return None;
        }
        Some(())
    }

    /// A list of texts.
    pub(super) fn texts(&mut self, table: &Table<'a>, name: &str) -> Vec<Arc<str>> {
        let mut texts = Vec::new();
        for (index, item) in self
            .items(table, name, "a list of texts")
            .into_iter()
            .enumerate()
        {
            if let Some(text) = item.get_ref().as_str() {
                texts.push(Arc::from(text));
            } else {
                let entry = format!("{}[{index}]", table.entry(name));
                let problem = Problem::expected("a text", found(item));
                self.fault(item.span().start, &entry, problem);
            }
        }
        texts
    }

    /// One of some words.
    pub(super) fn choice<T: Copy>(
        &mut self,
        table: &Table<'a>,
        name: &str,
        choices: &[(&str, T)],
    ) -> Option<T> {
        let text = self.text(table, name)?;
        let choice = choices
            .iter()
            .find(|(word, _)| *word == &*text)
            .map(|(_, value)| *value);
        if choice.is_none() {
            let words: Vec<&str> = choices.iter().map(|(word, _)| *word).collect();
            self.fault_in(
                table,
                name,
                Problem::expected(words.join(", "), format!("{text:?}")),
            );
        }
        choice
    }

    /// A whole number within bounds.
    pub(super) fn number(
        &mut self,
        table: &Table<'a>,
        name: &str,
        range: RangeInclusive<i64>,
    ) -> Option<i64> {
        let value = table.get(name)?;
        let number = integer(value.get_ref()).filter(|number| range.contains(number));
        if number.is_none() {
            let expected = format!("a whole number from {} to {}", range.start(), range.end());
            self.fault_in(table, name, Problem::expected(expected, found(value)));
        }
        number
    }

    /// A whole number from zero up to the largest of 32 bits.
    pub(super) fn small(&mut self, table: &Table<'a>, name: &str, min: u32) -> Option<u32> {
        let number = self.number(table, name, i64::from(min)..=i64::from(u32::MAX))?;
        u32::try_from(number).ok()
    }

    /// A truth value.
    pub(super) fn flag(&mut self, table: &Table<'a>, name: &str) -> Option<bool> {
        let value = table.get(name)?;
        let flag = value.get_ref().as_bool();
        if flag.is_none() {
            self.fault_in(
                table,
                name,
                Problem::expected("true or false", found(value)),
            );
        }
        flag
    }

    /// A time with its unit, no longer than a run may last.
    pub(super) fn span(&mut self, table: &Table<'a>, name: &str) -> Option<Span> {
        let value = table.get(name)?;
        let span = value
            .get_ref()
            .as_str()
            .and_then(|text| parse_span(text).ok());
        let span = span.filter(|span| span.0 <= SIM_TIME_MAX_US);
        if span.is_none() {
            let expected = "a time with its unit, such as 8.5s, 250ms, 2m or 1h, up to 720h";
            self.fault_in(table, name, Problem::expected(expected, found(value)));
        }
        span
    }

    /// Names and plain values of a table in which dots in names may also be nested tables, as
    /// `group.id = "billing"` is in TOML. Sorted by name, with the place of each.
    pub(super) fn pairs(&mut self, table: &Table<'a>, name: &str) -> Vec<(String, String, usize)> {
        let mut pairs = Vec::new();
        if let Some(value) = table.get(name) {
            if let Some(fields) = value.get_ref().as_table() {
                self.flatten(fields, "", &table.entry(name), &mut pairs);
            } else {
                let problem = Problem::expected("a table of names and values", found(value));
                self.fault_in(table, name, problem);
            }
        }
        pairs
    }

    fn flatten(
        &mut self,
        fields: &'a DeTable<'a>,
        prefix: &str,
        entry: &str,
        pairs: &mut Vec<(String, String, usize)>,
    ) {
        for (key, value) in fields {
            let name = format!("{prefix}{}", key.get_ref());
            match (value.get_ref().as_table(), plain(value.get_ref())) {
                (Some(inner), _) => self.flatten(inner, &format!("{name}."), entry, pairs),
                (None, Some(text)) => pairs.push((name, text, key.span().start)),
                (None, None) => {
                    let problem =
                        Problem::expected("a text, a number, true or false", found(value));
                    self.fault(value.span().start, &format!("{entry}.{name}"), problem);
                }
            }
        }
    }
}

/// What a value is, for a message.
pub(super) fn found(value: &Value<'_>) -> String {
    match plain(value.get_ref()) {
        Some(text) if text.chars().count() <= SHOWN_CHARS_MAX => match value.get_ref() {
            DeValue::String(_) => format!("{text:?}"),
            DeValue::Integer(_)
            | DeValue::Float(_)
            | DeValue::Boolean(_)
            | DeValue::Datetime(_)
            | DeValue::Array(_)
            | DeValue::Table(_) => text,
        },
        Some(_) | None => format!("a {}", value.get_ref().type_str()),
    }
}

/// A value that is neither list nor table, as text.
pub(super) fn plain(value: &DeValue<'_>) -> Option<String> {
    match value {
        DeValue::String(text) => Some(text.clone().into_owned()),
        DeValue::Integer(_) => integer(value).map(|number| number.to_string()),
        DeValue::Float(number) => Some(number.as_str().to_owned()),
        DeValue::Boolean(flag) => Some(flag.to_string()),
        DeValue::Datetime(_) | DeValue::Array(_) | DeValue::Table(_) => None,
    }
}

/// A whole number.
pub(super) fn integer(value: &DeValue<'_>) -> Option<i64> {
    let number = value.as_integer()?;
    i64::from_str_radix(number.as_str(), number.radix()).ok()
}

const SHOWN_CHARS_MAX: usize = 60;
