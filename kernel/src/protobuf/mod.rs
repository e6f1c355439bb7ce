//! What decoder and encoder must know of a Protobuf message: the plan.
//!
//! Descriptors are read in Python, which has the official library; the kernel is given their essence as
//! JSON (`src/pyspark_pulsar/schema/protobuf/plan.py` writes it and documents it). A field is known by its
//! number; its name is only that of its column.
//! <https://protobuf.dev/programming-guides/encoding/>

mod compatible;
pub mod names;
mod parse;

use std::sync::Arc;

use arrow_schema::{DataType, Field, FieldRef, Fields, TimeUnit};

use crate::error::{KernelError, Result};
use names::EnumNames;
pub use parse::zigzag;

/// Messages below messages that a value may have. Arrow types are walked recursively everywhere.
const MAX_DEPTH: usize = 64;
/// Wire type 0.
pub const VARINT: u32 = 0;
/// Wire type 1.
pub const FIXED64: u32 = 1;
/// Wire type 2.
pub const DELIMITED: u32 = 2;
/// Wire type 3, the start of a group.
pub const GROUP: u32 = 3;
/// Wire type 4, the end of a group.
pub const GROUP_END: u32 = 4;
/// Wire type 5.
pub const FIXED32: u32 = 5;

/// All message and enum types of a value; the first message is the value.
#[derive(Debug, Clone)]
pub struct ProtobufPlan {
    /// Registry version, as people know it; empty when there is none.
    pub version: String,
    /// Message types; kinds refer to them by index.
    pub messages: Vec<MessagePlan>,
    /// Enum types; kinds refer to them by index.
    pub enums: Vec<Arc<EnumNames>>,
}

/// A message type.
#[derive(Debug, Clone)]
pub struct MessagePlan {
    /// Full name.
    pub name: String,
    /// What its value is.
    pub meaning: Meaning,
    /// Names of its oneofs.
    pub oneofs: Vec<String>,
    /// In the descriptor's order.
    pub fields: Vec<FieldPlan>,
}

/// What the value of a message is in a column.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Meaning {
    /// A struct.
    Struct,
    /// `google.protobuf.Timestamp`.
    Timestamp,
    /// `google.protobuf.Duration`.
    Duration,
    /// The field `value` of `google.protobuf.Int32Value` and its like.
    Wrapper,
}

/// One field of a message.
#[derive(Debug, Clone)]
pub struct FieldPlan {
    /// Name in the descriptor.
    pub name: String,
    /// Number on the wire.
    pub number: u32,
    /// Type of a value, or of one item or entry.
    pub kind: Kind,
    /// How often it may come.
    pub shape: Shape,
    /// Whether repeated numbers are written packed; both are read.
    pub packed: bool,
    /// Index among the message's oneofs.
    pub oneof: Option<usize>,
    /// What an absent field stands for; `None` is null.
    pub absent: Option<Absent>,
}

/// How often a field comes in a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Shape {
    /// Absent and zero are the same.
    Implicit,
    /// Presence is known.
    Optional,
    /// Always there, says the writer.
    Required,
    /// A list.
    Repeated,
    /// Entries, which are messages with the fields 1 and 2.
    Map,
}

/// The value of an absent field, as the wire would carry it.
#[derive(Debug, Clone, PartialEq)]
pub enum Absent {
    /// A varint or the bits of a fixed field.
    Number(u64),
    /// The content of a length-delimited field.
    Bytes(Vec<u8>),
}

/// Type of a value on the wire.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[allow(missing_docs)] // The names of descriptor.proto.
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
    /// An enum whose names are unknown: its number.
    EnumNumber,
    /// An enum, by index.
    Enum(usize),
    /// A message, by index.
    Message(usize),
    /// A group, by index of its message.
    Group(usize),
    /// A message of unknown type: its bytes.
    Opaque,
}

impl Kind {
    /// The wire type of a value that is not packed.
    pub fn wire(self) -> u32 {
        match self {
            Self::Double | Self::Fixed64 | Self::SFixed64 => FIXED64,
            Self::Float | Self::Fixed32 | Self::SFixed32 => FIXED32,
            Self::String | Self::Bytes | Self::Message(_) | Self::Opaque => DELIMITED,
            Self::Group(_) => GROUP,
            _ => VARINT,
        }
    }

    /// Whether repeated values may be packed.
    pub fn is_packable(self) -> bool {
        !matches!(self.wire(), DELIMITED | GROUP)
    }
}

impl ProtobufPlan {
    /// The message that values are.
    pub fn root(&self) -> Result<&MessagePlan> {
        self.message(0)
    }

    /// A message by index.
    pub fn message(&self, index: usize) -> Result<&MessagePlan> {
        self.messages
            .get(index)
            .ok_or_else(|| KernelError::schema(format!("the Protobuf plan has no message of index {index}")))
    }

    /// An enum by index.
    pub fn names(&self, index: usize) -> Result<&Arc<EnumNames>> {
        self.enums
            .get(index)
            .ok_or_else(|| KernelError::schema(format!("the Protobuf plan has no enum of index {index}")))
    }

    /// Key and value of a map's entries.
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

    /// The type of the column that holds a field; everything in it is nullable but map keys.
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

    /// The type of one item of a field.
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

/// The depth below `field`; an error for a type that contains itself, or lies too deep.
pub fn nested(field: &FieldPlan, depth: usize) -> Result<usize> {
    if depth >= MAX_DEPTH {
        return Err(KernelError::schema(format!(
            "field {}: expected at most {MAX_DEPTH} messages inside each other",
            field.name
        )));
    }
    Ok(depth + 1)
}

/// The only field of a wrapper.
pub fn wrapped(message: &MessagePlan) -> Result<&FieldPlan> {
    match message.fields.as_slice() {
        [value] if value.number == 1 => Ok(value),
        _ => Err(KernelError::schema(format!("{}: expected the one field `value`", message.name))),
    }
}

/// The item of a list, as Spark names it.
pub fn list_item(kind: DataType) -> FieldRef {
    Arc::new(Field::new("element", kind, true))
}

/// The entries of a map, as Spark names them.
pub fn map_entries(key: DataType, value: DataType) -> FieldRef {
    let pair = vec![Field::new("key", key, false), Field::new("value", value, true)];
    Arc::new(Field::new("entries", DataType::Struct(pair.into()), false))
}
