//! The texts of a lesson in one language.
//!
//! A strings file is TOML: tables and texts, so that `[steps]` with `watch = "…"` is the key
//! `steps.watch`. Texts hold paragraphs separated by an empty line, `code` in backticks and
//! **strong** words between double asterisks; `{name}` stands for a number of the run.

use super::error::{LoadError, Problem};
use super::reader::{Reader, found};
use serde::Serialize;
use std::collections::BTreeMap;
use toml::de::{DeTable, DeValue};

/// Texts by key.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Strings(BTreeMap<String, String>);

impl Strings {
    /// Reads a strings file.
    ///
    /// # Errors
    /// Every fault in the file.
    pub fn parse(file: &str, text: &str) -> Result<Self, Vec<LoadError>> {
        let mut reader = Reader::new(file, text);
        let mut strings = BTreeMap::new();
        let document = match DeTable::parse(text) {
            Ok(document) => document,
            Err(error) => {
                reader.syntax(&error);
                return Err(reader.errors);
            }
        };
        flatten(&mut reader, document.get_ref(), "", &mut strings);
        if reader.errors.is_empty() {
            Ok(Self(strings))
        } else {
            Err(reader.errors)
        }
    }

    /// The text of a key.
    pub fn get(&self, key: &str) -> Option<&str> {
        self.0.get(key).map(String::as_str)
    }

    /// Every key with its text, sorted by key.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        self.0
            .iter()
            .map(|(key, text)| (key.as_str(), text.as_str()))
    }

    /// The text of a key with `{name}` replaced by the number that `value` knows by this name.
    pub fn fill(&self, key: &str, value: impl Fn(&str) -> Option<String>) -> Option<String> {
        let mut rest = self.get(key)?;
        let mut filled = String::with_capacity(rest.len());
        while let Some((before, after)) = rest.split_once('{') {
            filled.push_str(before);
            let known = after
                .split_once('}')
                .and_then(|(name, tail)| Some((value(name)?, tail)));
            if let Some((number, tail)) = known {
                filled.push_str(&number);
                rest = tail;
            } else {
                filled.push('{');
                rest = after;
            }
        }
        filled.push_str(rest);
        Some(filled)
    }
}

fn flatten<'a>(
    reader: &mut Reader<'a>,
    table: &'a DeTable<'a>,
    prefix: &str,
    strings: &mut BTreeMap<String, String>,
) {
    for (key, value) in table {
        let name = format!("{prefix}{}", key.get_ref());
        match value.get_ref() {
            DeValue::Table(inner) => flatten(reader, inner, &format!("{name}."), strings),
            DeValue::String(text) => {
                strings.insert(name, text.trim().to_owned());
            }
            DeValue::Integer(_)
            | DeValue::Float(_)
            | DeValue::Boolean(_)
            | DeValue::Datetime(_)
            | DeValue::Array(_) => {
                let problem = Problem::expected("a text or a table of texts", found(value));
                reader.fault(value.span().start, &name, problem);
            }
        }
    }
}

#[cfg(test)]
mod tests;
