//! The plan, which contains all information about a Protobuf message that decoder and encoder need.
//!
//! Python reads the descriptors, because it has the official library, and passes the plan as JSON.
//! `src/pyspark_pulsar/schema/protobuf/plan.py` writes and documents the JSON. A field is identified by its
//! number; its name is only the name of its column.
//! <https://protobuf.dev/programming-guides/encoding/>

mod compatible;
pub mod names;
mod parse;

use std::sync::Arc;

use arrow_schema::{DataType, Field, FieldRef, Fields, TimeUnit};

use crate::error::{KernelError, Result};
use names::EnumNames;
pub use parse::zigzag;

/// Largest depth of nested messages in a value. Most functions walk Arrow types recursively.
const MAX_DEPTH: usize = 64;
/// The wire type of a varint.
pub const VARINT: u32 = 0;
/// The wire type of a fixed number of 64 bits.
pub const FIXED64: u32 = 1;
/// The wire type of a length-delimited value.
pub const DELIMITED: u32 = 2;
/// The wire type of the start of a group.
pub const GROUP: u32 = 3;
/// The wire type of the end of a group.
pub const GROUP_END: u32 = 4;
/// The wire type of a fixed number of 32 bits.
pub const FIXED32: u32 = 5;

/// The message and enum types of a value. The first message is the value itself.
#[derive(Debug, Clone)]
pub struct ProtobufPlan {
    /// The schema version in the registry, in the form in which users write it; empty if it is unknown.
    pub version: String,
    /// The message types, to which kinds refer by index.
    pub messages: Vec<MessagePlan>,
    /// The enum types, to which kinds refer by index.
    pub enums: Vec<Arc<EnumNames>>,
}

/// A message type.
#[derive(Debug, Clone)]
pub struct MessagePlan {
    /// The full name.
    pub name: String,
    /// The type of its values in a column.
    pub meaning: Meaning,
    /// The names of its oneofs.
    pub oneofs: Vec<String>,
    /// The fields, in the order of the descriptor.
    pub fields: Vec<FieldPlan>,
}

/// The type of a message's value in a column.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Meaning {
    /// A struct.
    Struct,
    /// `google.protobuf.Timestamp`.
    Timestamp,
    /// `google.protobuf.Duration`.
    Duration,
    /// The type of the field `value` in `google.protobuf.Int32Value` and similar messages.
    Wrapper,
}

/// A field of a message.
#[derive(Debug, Clone)]
pub struct FieldPlan {
    /// The name in the descriptor.
    pub name: String,
    /// The number on the wire.
    pub number: u32,
    /// The type of a value, of a list's item, or of a map's entry.
    pub kind: Kind,
    /// The number of times that the field can occur.
    pub shape: Shape,
    /// True if repeated numbers are written in packed form. A reader accepts both forms.
    pub packed: bool,
    /// The index of the field's oneof in the message's oneofs; `None` outside a oneof.
    pub oneof: Option<usize>,
    /// The value of an absent field; `None` means null.
    pub absent: Option<Absent>,
}

/// The number of times that a field can occur in a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Shape {
    /// A field that occurs at most once. Zero is not written, so it cannot be distinguished from an absent
    /// field.
    Implicit,
    /// A field that occurs at most once. An absent field is distinguished from zero.
    Optional,
    /// A field that occurs exactly once, if the writer follows its schema.
    Required,
    /// A list.
    Repeated,
    /// A map: messages with the fields 1 (key) and 2 (value).
    Map,
}

/// The value of an absent field, in its wire format.
#[derive(Debug, Clone, PartialEq)]
pub enum Absent {
    /// A varint, or the bits of a fixed number.
    Number(u64),
    /// The content of a length-delimited value.
    Bytes(Vec<u8>),
}

/// The type of a value on the wire.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[allow(missing_docs)] // The variants are named as in descriptor.proto.
pub enum Kind {
    Double,
    Float,
    Int64,
    UInt64,
    Int32,
    Fixed64,
    Fixed32,
    Bool,
    String,
    Bytes,
    UInt32,
    SFixed32,
    SFixed64,
    SInt32,
    SInt64,
    /// An enum whose names are unknown, so that its values are numbers.
    EnumNumber,
    /// An enum, by the index of its type.
    Enum(usize),
    /// A message, by the index of its type.
    Message(usize),
    /// A group, by the index of its message type.
    Group(usize),
    /// A message of an unknown type, whose values are bytes.
    Opaque,
}

impl Kind {
    /// Returns the wire type of a value that is not packed.
    pub fn wire(self) -> u32 {
        match self {
            Self::Double | Self::Fixed64 | Self::SFixed64 => FIXED64,
            Self::Float | Self::Fixed32 | Self::SFixed32 => FIXED32,
            Self::String | Self::Bytes | Self::Message(_) | Self::Opaque => DELIMITED,
            Self::Group(_) => GROUP,
            _ => VARINT,
        }
    }

    /// Returns whether repeated values can be packed.
    pub fn is_packable(self) -> bool {
        !matches!(self.wire(), DELIMITED | GROUP)
    }
}

impl ProtobufPlan {
    /// Returns the message type of the value.
    pub fn root(&self) -> Result<&MessagePlan> {
        self.message(0)
    }

    /// Returns the message type with the index.
    pub fn message(&self, index: usize) -> Result<&MessagePlan> {
        self.messages.get(index).ok_or_else(|| {
            KernelError::schema(format!("the Protobuf plan: expected a message with index {index}, got none"))
        })
    }

    /// Returns the enum type with the index.
    pub fn names(&self, index: usize) -> Result<&Arc<EnumNames>> {
        self.enums.get(index).ok_or_else(|| {
            KernelError::schema(format!("the Protobuf plan: expected an enum with index {index}, got none"))
        })
    }

    /// Returns key and value of a map's entries.
    pub fn entry(&self, field: &FieldPlan) -> Result<(&FieldPlan, &FieldPlan)> {
        let entry = match field.kind {
            Kind::Message(index) => self.message(index)?.fields.as_slice(),
            _ => &[],
        };
        match entry {
            [key, value] if (key.number, value.number) == (1, 2) => Ok((key, value)),
            _ => Err(KernelError::schema(format!(
                "field {}: expected map entries with the fields 1 and 2",
                field.name
            ))),
        }
    }

    /// Returns the type of the column that contains a field. All parts of the type except map keys are
    /// nullable.
    pub fn arrow_type(&self, field: &FieldPlan) -> Result<DataType> {
        self.type_at(field, 0)
    }

    fn type_at(&self, field: &FieldPlan, depth: usize) -> Result<DataType> {
        Ok(match field.shape {
            Shape::Repeated => DataType::List(list_item(self.item_type(field, depth)?)),
            Shape::Map => {
                let (key, value) = self.entry(field)?;
                let (key, value) = (self.item_type(key, depth)?, self.item_type(value, depth)?);
                DataType::Map(map_entries(key, value), false)
            }
            _ => self.item_type(field, depth)?,
        })
    }

    /// Returns the type of one item of a field.
    pub fn item_type(&self, field: &FieldPlan, depth: usize) -> Result<DataType> {
        let depth = nested(field, depth)?;
        Ok(match field.kind {
            Kind::Double => DataType::Float64,
            Kind::Float => DataType::Float32,
            Kind::Int64 | Kind::SFixed64 | Kind::SInt64 | Kind::UInt32 | Kind::Fixed32 => DataType::Int64,
            Kind::UInt64 | Kind::Fixed64 => DataType::Decimal128(20, 0),
            Kind::Int32 | Kind::SFixed32 | Kind::SInt32 | Kind::EnumNumber => DataType::Int32,
            Kind::Bool => DataType::Boolean,
            Kind::String | Kind::Enum(_) => DataType::Utf8,
            Kind::Bytes | Kind::Opaque => DataType::Binary,
            Kind::Message(index) | Kind::Group(index) => {
                let message = self.message(index)?;
                match message.meaning {
                    Meaning::Timestamp => DataType::Timestamp(TimeUnit::Microsecond, Some("UTC".into())),
                    Meaning::Duration => DataType::Duration(TimeUnit::Microsecond),
                    Meaning::Wrapper => self.item_type(wrapped(message)?, depth)?,
                    Meaning::Struct => {
                        let child = |field: &FieldPlan| {
                            Ok(Arc::new(Field::new(&field.name, self.type_at(field, depth)?, true)))
                        };
                        DataType::Struct(message.fields.iter().map(child).collect::<Result<Fields>>()?)
                    }
                }
            }
        })
    }
}

/// Returns the depth below `field`. Fails for a type that contains itself or is nested too deeply.
pub fn nested(field: &FieldPlan, depth: usize) -> Result<usize> {
    if depth >= MAX_DEPTH {
        return Err(KernelError::schema(format!(
            "field {}: expected at most {MAX_DEPTH} messages inside each other",
            field.name
        )));
    }
    Ok(depth + 1)
}

/// Returns the only field of a wrapper.
pub fn wrapped(message: &MessagePlan) -> Result<&FieldPlan> {
    match message.fields.as_slice() {
        [value] if value.number == 1 => Ok(value),
        _ => Err(KernelError::schema(format!("{}: expected the one field `value`", message.name))),
    }
}

/// Returns the field for the items of a list, with Spark's name for this field.
pub fn list_item(kind: DataType) -> FieldRef {
    Arc::new(Field::new("element", kind, true))
}

/// Returns the field for the entries of a map, with Spark's names for key and value.
pub fn map_entries(key: DataType, value: DataType) -> FieldRef {
    let pair = vec![Field::new("key", key, false), Field::new("value", value, true)];
    Arc::new(Field::new("entries", DataType::Struct(pair.into()), false))
}
