//! Anything that can be serialised, as a tree of texts.
//!
//! JSON would do but for its keys: the engine's maps have keys of many kinds.

use serde::ser::{self, Serialize};
use std::fmt;

/// A value as a tree.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Tree {
    /// A plain value.
    Leaf(String),
    /// A whole number: it may be an instant.
    Number(u64),
    /// A list.
    List(Vec<Self>),
    /// Named values, in order.
    Map(Vec<(String, Self)>),
}

impl Tree {
    /// The tree of `thing`.
    pub(crate) fn of(thing: &(impl Serialize + ?Sized)) -> Self {
        thing
            .serialize(Maker)
            .unwrap_or_else(|error| Self::Leaf(error.0))
    }

    /// The tree in one line.
    pub(crate) fn line(&self) -> String {
        match self {
            Self::Leaf(text) => text.clone(),
            Self::Number(number) => number.to_string(),
            Self::List(items) => {
                let parts: Vec<String> = items.iter().map(Self::line).collect();
                format!("[{}]", parts.join(", "))
            }
            Self::Map(fields) => match fields.as_slice() {
                // A partition is named as Kafka's logs name it.
                [(topic, name), (partition, number)]
                    if topic == "topic" && partition == "partition" =>
                {
                    format!("{}-{}", name.line(), number.line())
                }
                fields => {
                    let parts: Vec<String> = fields
                        .iter()
                        .map(|(name, value)| format!("{name} {}", value.line()))
                        .collect();
                    parts.join(", ")
                }
            },
        }
    }

    /// The tree as JSON; keys become texts.
    pub(crate) fn json(&self) -> serde_json::Value {
        match self {
            Self::Leaf(text) => match text.as_str() {
                "null" => serde_json::Value::Null,
                "true" => true.into(),
                "false" => false.into(),
                text => match text.parse::<i64>() {
                    Ok(number) => number.into(),
                    Err(_not_a_number) => text.into(),
                },
            },
            Self::Number(number) => (*number).into(),
            Self::List(items) => items.iter().map(Self::json).collect(),
            Self::Map(fields) => fields
                .iter()
                .map(|(name, value)| (name.clone(), value.json()))
                .collect(),
        }
    }
}

/// Why something cannot be made a tree: what its own serialisation says.
#[derive(Debug)]
pub(crate) struct TreeError(String);

impl fmt::Display for TreeError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

impl std::error::Error for TreeError {}

impl ser::Error for TreeError {
    fn custom<T: fmt::Display>(message: T) -> Self {
        Self(message.to_string())
    }
}

struct Maker;

/// Most entries of one list or map; a log may have thousands, which nobody reads.
const ENTRIES_MAX: usize = 100;

/// Collects the parts of a list or a map.
struct Parts {
    /// The variant that holds them; unset for none.
    variant: Option<&'static str>,
    items: Vec<Tree>,
    fields: Vec<(String, Tree)>,
    key: String,
    /// Entries that were left out.
    skipped: usize,
}

impl Parts {
    const fn new(variant: Option<&'static str>) -> Self {
        Self {
            variant,
            items: Vec::new(),
            fields: Vec::new(),
            key: String::new(),
            skipped: 0,
        }
    }

    fn list(mut self) -> Tree {
        if 0 < self.skipped {
            self.items.push(Tree::Leaf(format!("… +{}", self.skipped)));
        }
        wrap(self.variant, Tree::List(self.items))
    }

    fn map(mut self) -> Tree {
        if 0 < self.skipped {
            let rest = Tree::Leaf(format!("+{}", self.skipped));
            self.fields.push((String::from("…"), rest));
        }
        wrap(self.variant, Tree::Map(self.fields))
    }

    /// Whether another entry has room.
    fn has_room(&mut self) -> bool {
        let has_room = self.items.len() + self.fields.len() < ENTRIES_MAX;
        self.skipped += usize::from(!has_room);
        has_room
    }
}

fn wrap(variant: Option<&'static str>, inner: Tree) -> Tree {
    match variant {
        Some(name) => Tree::Map(vec![(name.to_owned(), inner)]),
        None => inner,
    }
}

macro_rules! leaves {
    ($( $name:ident : $type:ty, )*) => {
        $( fn $name(self, value: $type) -> Result<Tree, TreeError> {
            Ok(Tree::Leaf(value.to_string()))
        } )*
    };
}

macro_rules! numbers {
    ($( $name:ident : $type:ty, )*) => {
        $( fn $name(self, value: $type) -> Result<Tree, TreeError> {
            Ok(Tree::Number(u64::from(value)))
        } )*
    };
}

impl ser::Serializer for Maker {
    type Ok = Tree;
    type Error = TreeError;
    type SerializeSeq = Parts;
    type SerializeTuple = Parts;
    type SerializeTupleStruct = Parts;
    type SerializeTupleVariant = Parts;
    type SerializeMap = Parts;
    type SerializeStruct = Parts;
    type SerializeStructVariant = Parts;

    leaves! {
        serialize_bool: bool, serialize_i8: i8, serialize_i16: i16, serialize_i32: i32,
        serialize_i64: i64, serialize_f32: f32, serialize_f64: f64, serialize_char: char,
        serialize_str: &str,
    }

    numbers! {
        serialize_u8: u8, serialize_u16: u16, serialize_u32: u32, serialize_u64: u64,
    }

    fn serialize_bytes(self, value: &[u8]) -> Result<Tree, TreeError> {
        Ok(Tree::Leaf(format!("{} bytes", value.len())))
    }

    fn serialize_none(self) -> Result<Tree, TreeError> {
        self.serialize_unit()
    }

    fn serialize_some<T: Serialize + ?Sized>(self, value: &T) -> Result<Tree, TreeError> {
        value.serialize(self)
    }

    fn serialize_unit(self) -> Result<Tree, TreeError> {
        Ok(Tree::Leaf(String::from("null")))
    }

    fn serialize_unit_struct(self, _name: &'static str) -> Result<Tree, TreeError> {
        self.serialize_unit()
    }

    fn serialize_unit_variant(
        self,
        _name: &'static str,
        _index: u32,
        variant: &'static str,
    ) -> Result<Tree, TreeError> {
        Ok(Tree::Leaf(variant.to_owned()))
    }

    fn serialize_newtype_struct<T: Serialize + ?Sized>(
        self,
        _name: &'static str,
        value: &T,
    ) -> Result<Tree, TreeError> {
        value.serialize(self)
    }

    fn serialize_newtype_variant<T: Serialize + ?Sized>(
        self,
        _name: &'static str,
        _index: u32,
        variant: &'static str,
        value: &T,
    ) -> Result<Tree, TreeError> {
        Ok(wrap(Some(variant), value.serialize(self)?))
    }

    fn serialize_seq(self, _length: Option<usize>) -> Result<Parts, TreeError> {
        Ok(Parts::new(None))
    }

    fn serialize_tuple(self, _length: usize) -> Result<Parts, TreeError> {
        Ok(Parts::new(None))
    }

    fn serialize_tuple_struct(
        self,
        _name: &'static str,
        _length: usize,
    ) -> Result<Parts, TreeError> {
        Ok(Parts::new(None))
    }

    fn serialize_tuple_variant(
        self,
        _name: &'static str,
        _index: u32,
        variant: &'static str,
        _length: usize,
    ) -> Result<Parts, TreeError> {
        Ok(Parts::new(Some(variant)))
    }

    fn serialize_map(self, _length: Option<usize>) -> Result<Parts, TreeError> {
        Ok(Parts::new(None))
    }

    fn serialize_struct(self, _name: &'static str, _length: usize) -> Result<Parts, TreeError> {
        Ok(Parts::new(None))
    }

    fn serialize_struct_variant(
        self,
        _name: &'static str,
        _index: u32,
        variant: &'static str,
        _length: usize,
    ) -> Result<Parts, TreeError> {
        Ok(Parts::new(Some(variant)))
    }
}

macro_rules! lists {
    ($( $part:ident $method:ident, )*) => {
        $( impl ser::$part for Parts {
            type Ok = Tree;
            type Error = TreeError;

            fn $method<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), TreeError> {
                if self.has_room() {
                    self.items.push(value.serialize(Maker)?);
                }
                Ok(())
            }

            fn end(self) -> Result<Tree, TreeError> {
                Ok(self.list())
            }
        } )*
    };
}

lists! {
    SerializeSeq serialize_element,
    SerializeTuple serialize_element,
    SerializeTupleStruct serialize_field,
    SerializeTupleVariant serialize_field,
}

macro_rules! structs {
    ($( $part:ident, )*) => {
        $( impl ser::$part for Parts {
            type Ok = Tree;
            type Error = TreeError;

            fn serialize_field<T: Serialize + ?Sized>(
                &mut self,
                name: &'static str,
                value: &T,
            ) -> Result<(), TreeError> {
                self.fields.push((name.to_owned(), value.serialize(Maker)?));
                Ok(())
            }

            fn end(self) -> Result<Tree, TreeError> {
                Ok(self.map())
            }
        } )*
    };
}

structs! { SerializeStruct, SerializeStructVariant, }

impl ser::SerializeMap for Parts {
    type Ok = Tree;
    type Error = TreeError;

    fn serialize_key<T: Serialize + ?Sized>(&mut self, key: &T) -> Result<(), TreeError> {
        self.key = key.serialize(Maker)?.line();
        Ok(())
    }

    fn serialize_value<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), TreeError> {
        let key = std::mem::take(&mut self.key);
        if self.has_room() {
            self.fields.push((key, value.serialize(Maker)?));
        }
        Ok(())
    }

    fn end(self) -> Result<Tree, TreeError> {
        Ok(self.map())
    }
}
