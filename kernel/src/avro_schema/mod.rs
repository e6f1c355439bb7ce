//! Avro schemas, as far as they can become Arrow columns.
//!
//! <https://avro.apache.org/docs/1.12.0/specification/>. A union of several non-null types becomes a struct
//! with one nullable member for each of them.
//!
//! A record that contains itself is a tree whose leaves refer back to it ([`AvroType::Reference`]). No column has
//! such a type: readers are given documents that end (`schema/avro/column_document.py`), writers' documents may recur.

pub mod json_form;
pub mod json_tags;
mod parse;

use std::collections::HashMap;

use arrow_schema::{DataType, Field, Fields, TimeUnit};
use serde_json::Value;

use crate::error::{KernelError, Result};
use json_form::JsonForm;
use parse::Parser;

/// Digits of the widest decimal that a column holds.
pub const MAX_DIGITS: u32 = 38;
/// JSON values inside each other in a schema's document: nothing deeper has a use, and the parser calls itself for each.
const MAX_JSON_DEPTH: usize = 1024;

/// The records that contain themselves, by full name.
pub type Recursive = HashMap<String, AvroType>;

/// One Avro type, names resolved.
#[derive(Debug, Clone, PartialEq)]
pub enum AvroType {
    /// `null`
    Null,
    /// `boolean`
    Boolean,
    /// `int` and what it stands for
    Int(LogicalType),
    /// `long` and what it stands for
    Long(LogicalType),
    /// `int`, `long` or `string` that JSON writes in a form of its own
    Json(JsonForm),
    /// `float`
    Float,
    /// `double`
    Double,
    /// `bytes`
    Bytes,
    /// `string`, also uuid
    String,
    /// `fixed`
    Fixed(FixedType),
    /// `uuid` on a fixed of 16 bytes
    Uuid(FixedType),
    /// `decimal` on bytes or on a fixed
    Decimal(DecimalType),
    /// A decimal of a reader whose column is text
    DecimalText(DecimalType),
    /// `enum`
    Enum(EnumType),
    /// `array`
    Array(Box<AvroType>),
    /// `map`
    Map(Box<AvroType>),
    /// `record`
    Record(RecordType),
    /// A union of null and one other type.
    Nullable {
        /// The other type.
        inner: Box<AvroType>,
        /// Index of `null` among the branches; the other one has the other index.
        null_branch: u8,
    },
    /// Any other union, its branches in the schema's order: at most one is null, at least one is not.
    Union(Vec<AvroType>),
    /// A record inside itself, by its full name
    Reference(String),
    /// A branch of a reader's union that has no member among the columns: its values are null
    Omitted(Box<AvroType>),
}

/// `decimal`
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DecimalType {
    /// Total digits, at least 1.
    pub precision: u32,
    /// Digits after the point, at most the total.
    pub scale: u32,
    /// The underlying fixed; `None` on bytes.
    pub fixed: Option<FixedType>,
}

impl DecimalType {
    /// Precision and scale as Arrow has them; `None` for more digits than a column holds.
    pub fn digits(&self) -> Option<(u8, i8)> {
        (self.precision <= MAX_DIGITS).then_some((self.precision as u8, self.scale as i8))
    }
}

/// What an `int` or `long` stands for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LogicalType {
    /// Itself.
    Number,
    /// Days since 1970.
    Date,
    /// Time since midnight, in this unit.
    TimeOfDay(TimeUnit),
    /// Time since 1970, in UTC or local, in this unit.
    Moment(TimeUnit),
}

/// Name of a record, enum or fixed.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TypeName {
    /// With the namespace.
    pub full: String,
    /// Other full names, by which writers may have called it.
    pub aliases: Vec<String>,
}

impl TypeName {
    /// Without the namespace.
    pub fn short(&self) -> &str {
        short(&self.full)
    }

    /// Whether a writer's type of name `writer` is this one. Namespaces do not count: producers of one topic
    /// are in different packages.
    pub fn accepts(&self, writer: &TypeName) -> bool {
        let written = writer.short();
        self.short() == written || self.aliases.iter().any(|alias| short(alias) == written)
    }
}

fn short(name: &str) -> &str {
    name.rsplit_once('.').map_or(name, |(_, last)| last)
}

/// `fixed`
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FixedType {
    /// Its name.
    pub name: TypeName,
    /// Bytes.
    pub size: i32,
}

/// `enum`
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EnumType {
    /// Its name.
    pub name: TypeName,
    /// In the schema's order.
    pub symbols: Vec<String>,
    /// What an unknown symbol is read as.
    pub default: Option<String>,
}

/// `record`
#[derive(Debug, Clone, PartialEq)]
pub struct RecordType {
    /// Its name.
    pub name: TypeName,
    /// In the schema's order.
    pub fields: Vec<AvroField>,
}

/// A field of a record.
#[derive(Debug, Clone, PartialEq)]
pub struct AvroField {
    /// Its name.
    pub name: String,
    /// Other names, by which writers may have called it.
    pub aliases: Vec<String>,
    /// Its type.
    pub kind: AvroType,
    /// What it is where a writer lacks it.
    pub default: Option<Value>,
}

impl AvroType {
    /// Parse a schema. Raises "schema" for what is not Avro.
    pub fn parse(avro_schema: &str) -> Result<Self> {
        Self::parse_recursive(avro_schema).map(|(kind, _)| kind)
    }

    /// Parse the schema of JSON payloads, in which types may name a [`JsonForm`].
    pub fn parse_for_json(avro_schema: &str) -> Result<Self> {
        Parser::for_json().parse(&json_document(avro_schema)?, "", "")
    }

    /// Parse a schema that may contain itself. Raises "schema" for what is not Avro.
    pub fn parse_recursive(avro_schema: &str) -> Result<(Self, Recursive)> {
        let value = json_document(avro_schema)?;
        let mut parser = Parser::default();
        let kind = parser.parse(&value, "", "")?;
        Ok((kind, parser.recursive()))
    }

    /// Parse a schema without the aliases in it.
    pub fn parse_unaliased(avro_schema: &str) -> Result<Self> {
        Parser::unaliased().parse(&json_document(avro_schema)?, "", "")
    }

    /// Whether a column has such values; else only nulls of it are written, and none are read.
    pub fn is_held(&self) -> bool {
        match self {
            Self::Reference(_) | Self::Omitted(_) => false,
            Self::Decimal(decimal) => decimal.digits().is_some(),
            _ => true,
        }
    }

    /// The fields, when it is a record.
    pub fn fields(&self) -> Result<&[AvroField]> {
        match self {
            Self::Record(record) => Ok(&record.fields),
            other => Err(KernelError::schema(format!(
                "expected a record at the top of the schema, got {}",
                other.branch_name()
            ))),
        }
    }

    /// The branches of a union that are not null, in order; the type itself when it is no union.
    pub fn members(&self) -> Vec<&AvroType> {
        match self {
            Self::Union(branches) => branches.iter().filter(|b| **b != Self::Null).collect(),
            Self::Nullable { inner, .. } => vec![inner],
            other => vec![other],
        }
    }

    /// The Arrow type an encoder walks: numbers bare, without their logical meaning.
    pub fn physical(&self) -> DataType {
        match self {
            Self::Null => DataType::Null,
            Self::Boolean => DataType::Boolean,
            Self::Int(_) => DataType::Int32,
            Self::Long(_) => DataType::Int64,
            Self::Json(form) => form.plain().physical(),
            Self::Float => DataType::Float32,
            Self::Double => DataType::Float64,
            Self::Bytes => DataType::Binary,
            Self::String | Self::Enum(_) => DataType::Utf8,
            Self::Fixed(fixed) | Self::Uuid(fixed) => DataType::FixedSizeBinary(fixed.size),
            Self::Decimal(decimal) => {
                decimal.digits().map_or(DataType::Null, |(digits, scale)| DataType::Decimal128(digits, scale))
            }
            Self::DecimalText(_) => DataType::Utf8,
            Self::Reference(_) | Self::Omitted(_) => DataType::Null,
            Self::Array(item) => DataType::new_list(item.physical(), true),
            Self::Map(value) => map_type(value.physical()),
            Self::Record(record) => DataType::Struct(
                record.fields.iter().map(|f| Field::new(&f.name, f.kind.physical(), true)).collect(),
            ),
            Self::Nullable { inner, .. } => inner.physical(),
            Self::Union(_) => match self.members().as_slice() {
                [only] => only.physical(),
                members => union_type(members),
            },
        }
    }

    /// The name by which Avro tells the branches of a union apart; a named type's full name.
    pub fn branch_name(&self) -> &str {
        match self {
            Self::Null => "null",
            Self::Boolean => "boolean",
            Self::Int(_) => "int",
            Self::Long(_) => "long",
            Self::Json(form) => form.base(),
            Self::Float => "float",
            Self::Double => "double",
            Self::Bytes => "bytes",
            Self::String => "string",
            Self::Array(_) => "array",
            Self::Map(_) => "map",
            Self::Decimal(decimal) | Self::DecimalText(decimal) => {
                decimal.fixed.as_ref().map_or("bytes", |fixed| &fixed.name.full)
            }
            Self::Fixed(fixed) | Self::Uuid(fixed) => &fixed.name.full,
            Self::Enum(kind) => &kind.name.full,
            Self::Reference(name) => name,
            Self::Omitted(kind) => kind.branch_name(),
            Self::Record(record) => &record.name.full,
            Self::Nullable { .. } | Self::Union(_) => "union",
        }
    }

    /// Whether a value can take no bytes at all; an array of those could claim any length.
    pub fn may_be_empty(&self) -> bool {
        match self {
            Self::Null => true,
            Self::Fixed(fixed) | Self::Decimal(DecimalType { fixed: Some(fixed), .. }) => fixed.size == 0,
            Self::Record(record) => record.fields.iter().all(|f| f.kind.may_be_empty()),
            _ => false,
        }
    }
}

fn map_type(value: DataType) -> DataType {
    let fields =
        Fields::from(vec![Field::new("key", DataType::Utf8, false), Field::new("value", value, true)]);
    DataType::Map(Field::new("entries", DataType::Struct(fields), false).into(), false)
}

/// Members as Spark's own Avro source names them.
fn union_type(members: &[&AvroType]) -> DataType {
    let field = |(i, kind): (usize, &&AvroType)| Field::new(format!("member{i}"), kind.physical(), true);
    DataType::Struct(members.iter().enumerate().filter(|(_, kind)| kind.is_held()).map(field).collect())
}

/// A document as JSON of bounded depth.
fn json_document(text: &str) -> Result<Value> {
    if json_depth(text) > MAX_JSON_DEPTH {
        let why = format!(
            "the Avro schema: expected at most {MAX_JSON_DEPTH} JSON values inside each other, got more"
        );
        return Err(KernelError::schema(why));
    }
    let mut deserializer = serde_json::Deserializer::from_str(text);
    deserializer.disable_recursion_limit();
    let mut values = deserializer.into_iter::<Value>();
    let faulty = |why: &str| KernelError::schema(format!("the Avro schema is not JSON: {why}"));
    let value = values.next().ok_or_else(|| faulty("it is empty"))?.map_err(|e| faulty(&e.to_string()))?;
    match values.next() {
        None => Ok(value),
        Some(_) => Err(faulty("expected one value, got more")),
    }
}

/// How many arrays and objects are open at most.
fn json_depth(text: &str) -> usize {
    let (mut depth, mut deepest, mut quoted, mut escaped) = (0usize, 0, false, false);
    for byte in text.bytes() {
        match byte {
            _ if escaped => escaped = false,
            b'\\' if quoted => escaped = true,
            b'"' => quoted = !quoted,
            b'[' | b'{' if !quoted => {
                depth += 1;
                deepest = deepest.max(depth);
            }
            b']' | b'}' if !quoted => depth = depth.saturating_sub(1),
            _ => {}
        }
    }
    deepest
}
