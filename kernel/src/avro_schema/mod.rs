//! Avro schemas, as far as they can become Arrow columns.
//!
//! <https://avro.apache.org/docs/1.12.0/specification/>. A union of several non-null types becomes a struct
//! with one nullable member for each of them. Recursive types have no Arrow column and are refused with the
//! path of the field.

pub mod json_form;
pub mod json_tags;
mod parse;

use arrow_schema::{DataType, Field, Fields, TimeUnit};
use serde_json::Value;

use crate::error::{KernelError, Result};
use json_form::JsonForm;
use parse::Parser;

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
    Decimal {
        /// Total digits, at most 38.
        precision: u8,
        /// Digits behind the point.
        scale: i8,
        /// The underlying fixed; `None` on bytes.
        fixed: Option<FixedType>,
    },
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
    /// Other names, by which writers may have called it.
    pub aliases: Vec<String>,
}

impl TypeName {
    /// Without the namespace.
    pub fn short(&self) -> &str {
        short(&self.full)
    }

    /// Whether a writer's type of name `writer` is this one. Namespaces do not count: producers of one topic
    /// live in different packages.
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
    /// Parse a schema. Raises "schema" for what is not Avro or cannot become columns.
    pub fn parse(avro_schema: &str) -> Result<Self> {
        Self::parse_with(avro_schema, Parser::default())
    }

    /// Parse the schema of JSON payloads, in which types may name a [`JsonForm`].
    pub fn parse_for_json(avro_schema: &str) -> Result<Self> {
        Self::parse_with(avro_schema, Parser::for_json())
    }

    fn parse_with(avro_schema: &str, mut parser: Parser) -> Result<Self> {
        let value: Value = serde_json::from_str(avro_schema)
            .map_err(|e| KernelError::schema(format!("the Avro schema is not JSON: {e}")))?;
        parser.parse(&value, "", "")
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
            Self::Decimal { precision, scale, .. } => DataType::Decimal128(*precision, *scale),
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
            Self::Bytes | Self::Decimal { fixed: None, .. } => "bytes",
            Self::String => "string",
            Self::Array(_) => "array",
            Self::Map(_) => "map",
            Self::Fixed(fixed) | Self::Uuid(fixed) | Self::Decimal { fixed: Some(fixed), .. } => {
                &fixed.name.full
            }
            Self::Enum(kind) => &kind.name.full,
            Self::Record(record) => &record.name.full,
            Self::Nullable { .. } | Self::Union(_) => "union",
        }
    }

    /// Whether a value can take no bytes at all; an array of those could claim any length.
    pub fn may_be_empty(&self) -> bool {
        match self {
            Self::Null => true,
            Self::Fixed(fixed) | Self::Decimal { fixed: Some(fixed), .. } => fixed.size == 0,
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
    DataType::Struct(members.iter().enumerate().map(field).collect())
}
