//! Avro schemas that can become Arrow columns. The source is
//! <https://avro.apache.org/docs/1.12.0/specification/>.
//!
//! A union of several non-null types becomes a struct with one nullable member for each type.
//!
//! A record that contains itself is a tree whose leaves refer back to the record ([`AvroType::Reference`]). No column
//! has such a type. So `schema/avro/column_document.py` makes the reader's document finite. A writer's document may be recursive.

pub mod json_form;
pub mod json_tags;
mod parse;

use std::collections::HashMap;

use arrow_schema::{DataType, Field, Fields, TimeUnit};
use serde_json::Value;

use crate::error::{KernelError, Result};
use json_form::JsonForm;
use parse::Parser;

/// Maximum number of digits of a decimal in a column.
pub const MAX_DIGITS: u32 = 38;
/// Maximum depth of the JSON of a schema. The limit exists because the parser is recursive.
const MAX_JSON_DEPTH: usize = 1024;

/// Map from the full name of each record that contains itself to the record.
pub type Recursive = HashMap<String, AvroType>;

/// An Avro type with resolved names.
#[derive(Debug, Clone, PartialEq)]
pub enum AvroType {
    /// `null`
    Null,
    /// `boolean`
    Boolean,
    /// `int` with a logical type
    Int(LogicalType),
    /// `long` with a logical type
    Long(LogicalType),
    /// `int`, `long` or `string` with a special form in JSON
    Json(JsonForm),
    /// `float`
    Float,
    /// `double`
    Double,
    /// `bytes`
    Bytes,
    /// `string`, with or without the logical type uuid
    String,
    /// `fixed`
    Fixed(FixedType),
    /// `fixed` of 16 bytes with the logical type `uuid`
    Uuid(FixedType),
    /// `bytes` or `fixed` with the logical type `decimal`
    Decimal(DecimalType),
    /// A decimal whose column in the reader is text
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
        /// Index of `null` among the two branches, 0 or 1.
        null_branch: u8,
    },
    /// Any other union: its branches in the schema's order, with at most one null and at least one other type.
    Union(Vec<AvroType>),
    /// A reference to a record from inside this record, by its full name
    Reference(String),
    /// A branch of a reader's union without a column, so that its values are read as null
    Omitted(Box<AvroType>),
}

/// A type with the logical type `decimal`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DecimalType {
    /// Total number of digits, at least 1.
    pub precision: u32,
    /// Number of digits after the decimal point, at most the precision.
    pub scale: u32,
    /// The underlying type `fixed`; `None` if the underlying type is `bytes`.
    pub fixed: Option<FixedType>,
}

impl DecimalType {
    /// Returns precision and scale in Arrow's types, or `None` if the decimal has too many digits for a
    /// column.
    pub fn digits(&self) -> Option<(u8, i8)> {
        (self.precision <= MAX_DIGITS).then_some((self.precision as u8, self.scale as i8))
    }
}

/// The meaning of an `int` or `long`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LogicalType {
    /// A number without a logical type.
    Number,
    /// Days since 1970.
    Date,
    /// Time since midnight, counted in this unit.
    TimeOfDay(TimeUnit),
    /// Time since 1970 in UTC or local time, counted in this unit.
    Moment(TimeUnit),
}

/// The name of a record, enum or fixed.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TypeName {
    /// Name with the namespace.
    pub full: String,
    /// Other full names that writers may have used for the type.
    pub aliases: Vec<String>,
}

impl TypeName {
    /// Returns the name without the namespace.
    pub fn short(&self) -> &str {
        short(&self.full)
    }

    /// Returns whether this name or an alias equals the writer's name.
    ///
    /// Namespaces are ignored, because producers of one topic may have their classes in different packages.
    pub fn accepts(&self, writer: &TypeName) -> bool {
        let written = writer.short();
        self.short() == written || self.aliases.iter().any(|alias| short(alias) == written)
    }
}

fn short(name: &str) -> &str {
    name.rsplit_once('.').map_or(name, |(_, last)| last)
}

/// A type `fixed`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FixedType {
    /// Name of the type.
    pub name: TypeName,
    /// Length of a value in bytes.
    pub size: i32,
}

/// A type `enum`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EnumType {
    /// Name of the type.
    pub name: TypeName,
    /// Symbols in the schema's order.
    pub symbols: Vec<String>,
    /// Symbol that replaces an unknown symbol.
    pub default: Option<String>,
}

/// A type `record`.
#[derive(Debug, Clone, PartialEq)]
pub struct RecordType {
    /// Name of the type.
    pub name: TypeName,
    /// Fields in the schema's order.
    pub fields: Vec<AvroField>,
}

/// A field of a record.
#[derive(Debug, Clone, PartialEq)]
pub struct AvroField {
    /// Name of the field.
    pub name: String,
    /// Other names that writers may have used for the field.
    pub aliases: Vec<String>,
    /// Type of the field.
    pub kind: AvroType,
    /// Value that a reader uses if the writer's schema lacks the field.
    pub default: Option<Value>,
}

impl AvroType {
    /// Parses a schema; returns an error of the kind `schema` if the text is not an Avro schema.
    pub fn parse(avro_schema: &str) -> Result<Self> {
        Self::parse_recursive(avro_schema).map(|(kind, _)| kind)
    }

    /// Parses the schema of JSON payloads, in which types may have a [`JsonForm`].
    pub fn parse_for_json(avro_schema: &str) -> Result<Self> {
        Parser::for_json().parse(&json_document(avro_schema)?, "", "")
    }

    /// Parses a schema with records that may contain themselves, and also returns these records.
    pub fn parse_recursive(avro_schema: &str) -> Result<(Self, Recursive)> {
        let value = json_document(avro_schema)?;
        let mut parser = Parser::default();
        let kind = parser.parse(&value, "", "")?;
        Ok((kind, parser.recursive()))
    }

    /// Parses a schema, and ignores its aliases.
    pub fn parse_unaliased(avro_schema: &str) -> Result<Self> {
        Parser::unaliased().parse(&json_document(avro_schema)?, "", "")
    }

    /// Returns whether a column can contain values of the type.
    ///
    /// If not, the encoder writes null for every value of the type, and the decoder reads null for every
    /// value.
    pub fn is_held(&self) -> bool {
        match self {
            Self::Reference(_) | Self::Omitted(_) => false,
            Self::Decimal(decimal) => decimal.digits().is_some(),
            _ => true,
        }
    }

    /// Returns the fields of a record, or an error for any other type.
    pub fn fields(&self) -> Result<&[AvroField]> {
        match self {
            Self::Record(record) => Ok(&record.fields),
            other => Err(KernelError::schema(format!(
                "expected a record at the top of the schema, got {}",
                other.branch_name()
            ))),
        }
    }

    /// Returns the branches of a union that are not null, in the schema's order. For another type, returns
    /// only the type itself.
    pub fn members(&self) -> Vec<&AvroType> {
        match self {
            Self::Union(branches) => branches.iter().filter(|b| **b != Self::Null).collect(),
            Self::Nullable { inner, .. } => vec![inner],
            other => vec![other],
        }
    }

    /// Returns the Arrow type that an encoder reads, in which numbers have no logical type.
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

    /// Returns the name that identifies the type among the branches of a union: a named type's full name.
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

    /// Returns whether an encoded value can have no bytes. If so, an array of such values could state any
    /// number of items.
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

/// Returns the struct type for a union. The members have the same names as in Spark's Avro source.
fn union_type(members: &[&AvroType]) -> DataType {
    let field = |(i, kind): (usize, &&AvroType)| Field::new(format!("member{i}"), kind.physical(), true);
    DataType::Struct(members.iter().enumerate().filter(|(_, kind)| kind.is_held()).map(field).collect())
}

/// Parses the JSON of a document, and returns an error if its depth exceeds the limit.
fn json_document(text: &str) -> Result<Value> {
    if json_depth(text) > MAX_JSON_DEPTH {
        let why = format!(
            "the Avro schema: expected at most {MAX_JSON_DEPTH} nested JSON values, got more; use a flatter schema"
        );
        return Err(KernelError::schema(why));
    }
    let mut deserializer = serde_json::Deserializer::from_str(text);
    deserializer.disable_recursion_limit();
    let mut values = deserializer.into_iter::<Value>();
    let faulty = |why: &str| KernelError::schema(format!("the Avro schema is not JSON: {why}"));
    let value =
        values.next().ok_or_else(|| faulty("the text is empty"))?.map_err(|e| faulty(&e.to_string()))?;
    match values.next() {
        None => Ok(value),
        Some(_) => Err(faulty("expected one JSON value, got more")),
    }
}

/// Returns the largest number of arrays and objects that are open at the same time.
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
