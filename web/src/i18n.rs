//! Texts for people, by language.
//!
//! A catalog is a flat list of key and text, read from TOML files that are fetched on demand. A
//! text may hold `{name}`, which an argument of that name replaces, and `{name|one|many}`, which
//! becomes `one` if the argument is `1` and `many` otherwise.

pub(crate) mod narrate;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

/// A language that the page speaks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Locale {
    /// English.
    #[default]
    En,
    /// Simplified Chinese.
    ZhCn,
}

impl Locale {
    /// Every language, in the order of the switch.
    pub(crate) const ALL: [Self; 2] = [Self::En, Self::ZhCn];

    /// The tag for `<html lang>`, for the folder of the texts and for `?lang=`.
    pub(crate) const fn tag(self) -> &'static str {
        match self {
            Self::En => "en",
            Self::ZhCn => "zh-CN",
        }
    }

    /// What the switch shows.
    pub(crate) const fn label(self) -> &'static str {
        match self {
            Self::En => "EN",
            Self::ZhCn => "中",
        }
    }

    /// The language of a tag such as `zh`, `zh-Hans` or `en-GB`.
    pub(crate) fn of(tag: &str) -> Option<Self> {
        let tag = tag.to_ascii_lowercase();
        match tag.split(['-', '_']).next() {
            Some("zh") => Some(Self::ZhCn),
            Some("en") => Some(Self::En),
            _ => None,
        }
    }
}

/// The texts of one language.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Catalog {
    locale: Locale,
    /// The lesson whose texts are in, under `lesson.`; unset for none.
    lesson: Option<String>,
    texts: BTreeMap<String, String>,
}

impl Catalog {
    /// No texts yet.
    pub(crate) const fn new(locale: Locale) -> Self {
        Self {
            locale,
            lesson: None,
            texts: BTreeMap::new(),
        }
    }

    /// The language.
    pub(crate) const fn locale(&self) -> Locale {
        self.locale
    }

    /// The lesson whose texts are in.
    pub(crate) fn lesson(&self) -> Option<&str> {
        self.lesson.as_deref()
    }

    /// The texts of this lesson are in, or will never be.
    pub(crate) fn set_lesson(&mut self, id: &str) {
        self.lesson = Some(id.to_owned());
    }

    /// Adds the texts of a TOML file. Tables make keys with dots; an array of texts makes keys
    /// that end in `.0`, `.1`, … Each key gets `prefix` in front.
    ///
    /// # Errors
    /// A sentence with the place, when the file is no TOML or holds something else than texts.
    pub(crate) fn add(&mut self, prefix: &str, file: &str) -> Result<(), String> {
        let table: toml::Table = toml::from_str(file).map_err(|error| error.to_string())?;
        for (key, value) in table {
            self.add_value(format!("{prefix}{key}"), value)?;
        }
        Ok(())
    }

    fn add_value(&mut self, key: String, value: toml::Value) -> Result<(), String> {
        match value {
            toml::Value::String(text) => {
                self.texts.insert(key, text);
            }
            toml::Value::Table(table) => {
                for (inner, value) in table {
                    self.add_value(format!("{key}.{inner}"), value)?;
                }
            }
            toml::Value::Array(values) => {
                for (index, value) in values.into_iter().enumerate() {
                    self.add_value(format!("{key}.{index}"), value)?;
                }
            }
            _ => return Err(format!("{key}: expected a text")),
        }
        Ok(())
    }

    /// Whether there is a text for `key`.
    pub(crate) fn has(&self, key: &str) -> bool {
        self.texts.contains_key(key)
    }

    /// Every key.
    #[cfg(test)]
    pub(crate) fn keys(&self) -> impl Iterator<Item = &str> {
        self.texts.keys().map(String::as_str)
    }

    /// The text of `key`; the key itself where there is none, so that the hole can be seen.
    pub(crate) fn t(&self, key: &str) -> String {
        self.text(key, &[])
    }

    /// The text of `key` with its arguments put in.
    pub(crate) fn text(&self, key: &str, args: &[(&str, &str)]) -> String {
        match self.texts.get(key) {
            Some(text) => fill(text, args),
            None => key.to_owned(),
        }
    }
}

/// Puts arguments into a text. What names no argument stays as it is.
fn fill(text: &str, args: &[(&str, &str)]) -> String {
    let mut filled = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('{') {
        filled.push_str(before);
        let Some((inner, tail)) = after.split_once('}') else {
            filled.push('{');
            rest = after;
            continue;
        };
        if let Some(value) = place(inner, args) {
            filled.push_str(value);
        } else {
            filled.push('{');
            filled.push_str(inner);
            filled.push('}');
        }
        rest = tail;
    }
    filled.push_str(rest);
    filled
}

fn place<'a>(inner: &'a str, args: &[(&str, &'a str)]) -> Option<&'a str> {
    let mut parts = inner.split('|');
    let name = parts.next()?;
    let (_, value) = args.iter().find(|(arg, _)| *arg == name)?;
    match (parts.next(), parts.next()) {
        (Some(one), Some(many)) => Some(if *value == "1" { one } else { many }),
        _ => Some(value),
    }
}
