//! The list of lessons: which there are, by concept, in teaching order.

use super::error::{LoadError, Problem};
use super::reader::Reader;
use serde::Serialize;
use std::sync::Arc;
use toml::de::DeTable;

/// Lessons by concept, in teaching order.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Catalog {
    /// The concepts.
    pub concepts: Vec<Concept>,
}

/// A concept and its lessons.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Concept {
    /// Its name.
    pub id: Arc<str>,
    /// Ids of its lessons.
    pub lessons: Vec<Arc<str>>,
}

impl Catalog {
    /// Reads a catalog file.
    ///
    /// # Errors
    /// Every fault in the file.
    pub fn parse(file: &str, text: &str) -> Result<Self, Vec<LoadError>> {
        let mut reader = Reader::new(file, text);
        let document = match DeTable::parse(text) {
            Ok(document) => document,
            Err(error) => {
                reader.syntax(&error);
                return Err(reader.errors);
            }
        };
        let mut catalog = Self::default();
        if let Some(root) = reader.open_fields(document.get_ref(), 0, "", "catalog") {
            for table in reader.tables(&root, "concept", "concept") {
                let id = reader.required_text(&table, "id", "the concept's name");
                let lessons = reader.texts(&table, "lessons");
                for name in &lessons {
                    let mut listed = catalog.lessons().chain(&lessons);
                    if 1 < listed.by_ref().filter(|other| *other == name).count() {
                        let problem = Problem::Duplicate {
                            kind: "lesson",
                            name: name.to_string(),
                        };
                        reader.fault_in(&table, "lessons", problem);
                    }
                }
                catalog
                    .concepts
                    .extend(id.map(|id| Concept { id, lessons }));
            }
        }
        if reader.errors.is_empty() {
            Ok(catalog)
        } else {
            Err(reader.errors)
        }
    }

    /// Every lesson's id, in teaching order.
    pub fn lessons(&self) -> impl Iterator<Item = &Arc<str>> {
        self.concepts.iter().flat_map(|concept| &concept.lessons)
    }
}

#[cfg(test)]
mod tests {
    #[cfg(target_arch = "wasm32")]
    use wasm_bindgen_test::wasm_bindgen_test as test;

    use super::Catalog;

    #[test]
    fn lessons_come_by_concept_and_each_once() {
        let text = "[[concept]]\nid = \"a\"\nlessons = [\"x\", \"y\"]\n[[concept]]\nid = \"b\"\nlessons = [\"z\"]\n";
        let catalog = Catalog::parse("index.toml", text).expect("a catalog");
        let lessons: Vec<&str> = catalog.lessons().map(|id| &**id).collect();
        assert_eq!(lessons, ["x", "y", "z"], "in order");
        let twice = text.replace("\"z\"", "\"x\"");
        let errors = Catalog::parse("index.toml", &twice).expect_err("x stands twice");
        assert_eq!(
            errors[0].to_string(),
            "index.toml:6:11: concept[1].lessons: there are two of lesson x; each needs its own name",
            "place"
        );
        let errors = Catalog::parse("index.toml", "[[concpt]]").expect_err("a misspelling");
        assert!(
            errors[0].to_string().contains("did you mean concept?"),
            "{}",
            errors[0]
        );
    }
}
