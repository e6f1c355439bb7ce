//! Arrow columns bound to the Avro types of their written values.

pub mod union;

use arrow_array::cast::AsArray;
use arrow_array::types::{Decimal128Type, Float32Type, Float64Type, Int32Type, Int64Type};
use arrow_array::{
    Array, ArrayRef, BinaryArray, BooleanArray, Decimal128Array, FixedSizeBinaryArray, Float32Array,
    Float64Array, Int32Array, Int64Array, ListArray, MapArray, StringArray, StructArray,
};

use super::json::forms::BoundForm;
use super::json::text::Token;
use crate::avro_schema::AvroType;
use crate::error::{KernelError, Result};
use union::BoundUnion;

/// A column, or the values below a column, with its Avro type.
#[derive(Debug)]
pub enum Bound {
    /// Always null.
    Null,
    /// A value without a column. The value is always null, and is refused if the schema does not allow null.
    Unheld,
    /// `boolean`
    Boolean(BooleanArray),
    /// `int`
    Int(Int32Array),
    /// `long`
    Long(Int64Array),
    /// A type with a special form in JSON.
    Form(BoundForm),
    /// `float`
    Float(Float32Array),
    /// `double`
    Double(Float64Array),
    /// `bytes`
    Bytes(BinaryArray),
    /// `string`
    String(StringArray),
    /// `fixed`
    Fixed(FixedSizeBinaryArray),
    /// `uuid` on a fixed
    Uuid(FixedSizeBinaryArray),
    /// `decimal`, which is based on `fixed` with this number of bytes, or on `bytes` for `None`
    Decimal(Decimal128Array, Option<i32>),
    /// `enum` and its symbols
    Enum(StringArray, Vec<String>),
    /// `array` and its items
    Array(ListArray, Box<Bound>),
    /// `map`, its keys and its values
    Map(MapArray, StringArray, Box<Bound>),
    /// `record` and its fields
    Record(StructArray, Vec<BoundField>),
    /// A union of null and one other type, and the index of null among the branches.
    Nullable(Box<Bound>, u8),
    /// A union of one branch.
    Lone(Box<Bound>),
    /// A union of several branches besides null.
    Union(BoundUnion),
}

/// A field of a record.
#[derive(Debug)]
pub struct BoundField {
    /// The field's name.
    pub name: String,
    /// The name as a key in JSON, with a comma before the key and a colon after the key.
    pub json_key: Token,
    /// The field's values.
    pub values: Bound,
}

impl BoundField {
    /// Creates the field `name`.
    pub fn new(name: &str, values: Bound) -> Self {
        Self { name: name.to_owned(), json_key: Token::key(name), values }
    }
}

/// A value that does not fit its type.
#[derive(Debug)]
pub struct Refused {
    /// Names of the fields that contain the value, from the outermost to the innermost.
    pub path: String,
    /// The expected and the found value.
    pub why: String,
}

impl Refused {
    /// Creates the error of a value. The fields that contain the value add their names with `below`.
    pub fn new(why: impl Into<String>) -> Box<Self> {
        Box::new(Self { path: String::new(), why: why.into() })
    }

    /// Creates the error of a null value whose schema does not allow null.
    pub fn null() -> Box<Self> {
        Self::new("expected a value, got null; the schema does not allow null here")
    }

    /// Adds the name of the field that contains the value.
    pub fn below(mut self: Box<Self>, name: &str) -> Box<Self> {
        self.path = if self.path.is_empty() { name.to_owned() } else { format!("{name}.{}", self.path) };
        self
    }
}

/// The result of writing one value.
pub type EncodeResult = std::result::Result<(), Box<Refused>>;

impl Bound {
    /// Binds `array`, whose type must be `kind.physical()`.
    pub fn new(kind: &AvroType, array: &ArrayRef) -> Result<Self> {
        if array.data_type() != &kind.physical() {
            return Err(KernelError::schema(format!(
                "expected {}, got {}",
                kind.physical(),
                array.data_type()
            )));
        }
        Ok(match kind {
            AvroType::Null => Self::Null,
            AvroType::Boolean => Self::Boolean(array.as_boolean().clone()),
            AvroType::Int(_) => Self::Int(array.as_primitive::<Int32Type>().clone()),
            AvroType::Long(_) => Self::Long(array.as_primitive::<Int64Type>().clone()),
            AvroType::Json(form) => Self::Form(BoundForm::new(*form, array)),
            AvroType::Float => Self::Float(array.as_primitive::<Float32Type>().clone()),
            AvroType::Double => Self::Double(array.as_primitive::<Float64Type>().clone()),
            AvroType::Bytes => Self::Bytes(array.as_binary::<i32>().clone()),
            AvroType::String => Self::String(array.as_string::<i32>().clone()),
            AvroType::Fixed(_) => Self::Fixed(array.as_fixed_size_binary().clone()),
            AvroType::Uuid(_) => Self::Uuid(array.as_fixed_size_binary().clone()),
            kind if !kind.is_held() => Self::Unheld,
            AvroType::Reference(_) | AvroType::Omitted(_) => Self::Unheld,
            AvroType::DecimalText(_) => {
                return Err(KernelError::schema(
                    "expected a decimal that can be written, got a decimal as text; report this as a bug",
                ));
            }
            AvroType::Decimal(decimal) => {
                let size = decimal.fixed.as_ref().map(|fixed| fixed.size);
                Self::Decimal(array.as_primitive::<Decimal128Type>().clone(), size)
            }
            AvroType::Enum(kind) => Self::Enum(array.as_string::<i32>().clone(), kind.symbols.clone()),
            AvroType::Array(item) => {
                let list = array.as_list::<i32>();
                Self::Array(list.clone(), Box::new(Self::new(item, list.values())?))
            }
            AvroType::Map(value) => {
                let map = array.as_map();
                let keys = map.keys().as_string::<i32>().clone();
                Self::Map(map.clone(), keys, Box::new(Self::new(value, map.values())?))
            }
            AvroType::Record(kind) => {
                let record = array.as_struct();
                let bind = |(field, column): (&crate::avro_schema::AvroField, &ArrayRef)| {
                    Ok(BoundField::new(&field.name, Self::new(&field.kind, column)?))
                };
                let children = kind.fields.iter().zip(record.columns()).map(bind).collect::<Result<_>>()?;
                Self::Record(record.clone(), children)
            }
            AvroType::Nullable { inner, null_branch } => {
                Self::Nullable(Box::new(Self::new(inner, array)?), *null_branch)
            }
            AvroType::Union(branches) => match branches.as_slice() {
                [only] => Self::Lone(Box::new(Self::new(only, array)?)),
                _ => Self::Union(BoundUnion::new(branches, array.as_struct())?),
            },
        })
    }

    /// Returns whether the value in `row` is null.
    #[inline]
    pub fn is_null(&self, row: usize) -> bool {
        match self {
            Self::Null | Self::Unheld => true,
            Self::Boolean(a) => a.is_null(row),
            Self::Int(a) => a.is_null(row),
            Self::Long(a) => a.is_null(row),
            Self::Form(a) => a.is_null(row),
            Self::Float(a) => a.is_null(row),
            Self::Double(a) => a.is_null(row),
            Self::Bytes(a) => a.is_null(row),
            Self::String(a) | Self::Enum(a, _) => a.is_null(row),
            Self::Fixed(a) | Self::Uuid(a) => a.is_null(row),
            Self::Decimal(a, _) => a.is_null(row),
            Self::Array(a, _) => a.is_null(row),
            Self::Map(a, _, _) => a.is_null(row),
            Self::Record(a, _) => a.is_null(row),
            Self::Nullable(inner, _) | Self::Lone(inner) => inner.is_null(row),
            Self::Union(union) => union.is_null(row),
        }
    }
}

/// Returns the range of the items in a row of a list or map.
#[inline]
pub fn span(offsets: &[i32], row: usize) -> std::ops::Range<usize> {
    match offsets.get(row..) {
        Some([start, end, ..]) => *start as usize..*end as usize,
        _ => 0..0,
    }
}
