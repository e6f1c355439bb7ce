//! Arrow columns for JSON values.
//!
//! The last values of a column can be removed. This is needed if an object has two members with the same key,
//! because the last member replaces the first.

use std::sync::Arc;

use arrow_array::types::{
    Decimal128Type, Float32Type, Float64Type, Int8Type, Int16Type, Int32Type, Int64Type,
};
use arrow_array::{ArrayRef, NullArray};
use arrow_schema::{ArrowError, DataType, Field, FieldRef};

use super::forms::FormColumn;
use super::records::RecordColumn;
use super::types::{DIGITS, FORM, UNION};
use super::unions::UnionShape;
use crate::decode::buffers::{BooleanValues, BytesBuffer, NumberBuffer};
use crate::decode::list_column::{Items, ListColumn};

use crate::conform::ArrowResult;

/// A column under construction.
pub enum JsonColumn {
    /// Nulls; only the number of rows is stored
    Null(usize),
    /// Booleans
    Boolean(BooleanValues),
    /// Integers of 8 bits
    Byte(NumberBuffer<Int8Type>),
    /// Integers of 16 bits
    Short(NumberBuffer<Int16Type>),
    /// Integers of 32 bits
    Int(NumberBuffer<Int32Type>),
    /// Integers of 64 bits
    Long(NumberBuffer<Int64Type>),
    /// Floats of 32 bits
    Float(NumberBuffer<Float32Type>),
    /// Floats of 64 bits
    Double(NumberBuffer<Float64Type>),
    /// Times, dates, characters and texts in a special form
    Form(FormColumn),
    /// Decimals, with precision and scale
    Decimal(NumberBuffer<Decimal128Type>, u8, i8),
    /// Texts
    Text(BytesBuffer),
    /// Texts of numbers, as the message contains them
    Digits(BytesBuffer),
    /// Bytes
    Binary(BytesBuffer),
    /// Arrays
    List(ListColumn<JsonColumn>),
    /// Objects with arbitrary keys
    Map(ListColumn<JsonColumn>, BytesBuffer),
    /// Objects with known keys
    Record(RecordColumn),
    /// Unions, with one member for each branch
    Union(Arc<UnionShape>, RecordColumn),
}

impl JsonColumn {
    /// Creates an empty column for a field that [`JsonTypes`](super::types::JsonTypes) returned; `unions` are
    /// from the same [`JsonTypes`](super::types::JsonTypes).
    pub fn new(field: &Field, unions: &[Arc<UnionShape>]) -> ArrowResult<Self> {
        let list = |item: &FieldRef| {
            Ok::<_, ArrowError>(ListColumn::new(field.data_type().clone(), Self::new(item, unions)?))
        };
        if let Some(name) = field.metadata().get(FORM) {
            return FormColumn::new(name, field.data_type()).map(Self::Form).ok_or_else(|| unreadable(field));
        }
        Ok(match field.data_type() {
            DataType::Null => Self::Null(0),
            DataType::Boolean => Self::Boolean(BooleanValues::default()),
            DataType::Int8 => Self::Byte(NumberBuffer::default()),
            DataType::Int16 => Self::Short(NumberBuffer::default()),
            DataType::Int32 => Self::Int(NumberBuffer::default()),
            DataType::Int64 => Self::Long(NumberBuffer::default()),
            DataType::Float32 => Self::Float(NumberBuffer::default()),
            DataType::Float64 => Self::Double(NumberBuffer::default()),
            DataType::Decimal128(precision, scale) => {
                Self::Decimal(NumberBuffer::default(), *precision, *scale)
            }
            DataType::Utf8 if field.metadata().contains_key(DIGITS) => Self::Digits(BytesBuffer::default()),
            DataType::Utf8 => Self::Text(BytesBuffer::default()),
            DataType::Binary => Self::Binary(BytesBuffer::default()),
            DataType::List(item) => Self::List(list(item)?),
            DataType::Map(entries, _) => match entries.data_type() {
                DataType::Struct(pair) if pair.len() == 2 => match pair.last() {
                    Some(value) => Self::Map(list(value)?, BytesBuffer::default()),
                    None => return Err(unreadable(field)),
                },
                _ => return Err(unreadable(field)),
            },
            DataType::Struct(fields) => {
                let record = RecordColumn::new(fields, unions)?;
                match field.metadata().get(UNION).and_then(|index| unions.get(index.parse::<usize>().ok()?)) {
                    Some(shape) => Self::Union(shape.clone(), record),
                    None => Self::Record(record),
                }
            }
            _ => return Err(unreadable(field)),
        })
    }

    /// Adds a null; all child columns also get a null.
    pub fn append_null(&mut self) {
        match self {
            Self::Null(rows) => *rows += 1,
            Self::Boolean(b) => b.append_null(),
            Self::Byte(n) => n.append_null(),
            Self::Short(n) => n.append_null(),
            Self::Int(n) => n.append_null(),
            Self::Long(n) => n.append_null(),
            Self::Float(n) => n.append_null(),
            Self::Double(n) => n.append_null(),
            Self::Form(column) => column.append_null(),
            Self::Decimal(n, ..) => n.append_null(),
            Self::Text(b) | Self::Digits(b) | Self::Binary(b) => b.append_null(),
            Self::List(list) | Self::Map(list, _) => list.append_null(),
            Self::Record(record) | Self::Union(_, record) => record.append_null(),
        }
    }

    /// Truncates the column to its first `rows` values.
    pub fn truncate(&mut self, rows: usize) {
        match self {
            Self::Null(all) => *all = rows.min(*all),
            Self::Boolean(b) => b.truncate(rows),
            Self::Byte(n) => n.truncate(rows),
            Self::Short(n) => n.truncate(rows),
            Self::Int(n) => n.truncate(rows),
            Self::Long(n) => n.truncate(rows),
            Self::Float(n) => n.truncate(rows),
            Self::Double(n) => n.truncate(rows),
            Self::Form(column) => column.truncate(rows),
            Self::Decimal(n, ..) => n.truncate(rows),
            Self::Text(b) | Self::Digits(b) | Self::Binary(b) => b.truncate(rows),
            Self::List(list) => {
                let items = list.truncate(rows);
                list.items.truncate(items);
            }
            Self::Map(list, keys) => {
                let items = list.truncate(rows);
                list.items.truncate(items);
                keys.truncate(items);
            }
            Self::Record(record) | Self::Union(_, record) => record.truncate(rows),
        }
    }
}

impl Items for JsonColumn {
    #[inline]
    fn len(&self) -> usize {
        match self {
            Self::Null(rows) => *rows,
            Self::Boolean(b) => b.len(),
            Self::Byte(n) => n.len(),
            Self::Short(n) => n.len(),
            Self::Int(n) => n.len(),
            Self::Long(n) => n.len(),
            Self::Float(n) => n.len(),
            Self::Double(n) => n.len(),
            Self::Form(column) => column.len(),
            Self::Decimal(n, ..) => n.len(),
            Self::Text(b) | Self::Digits(b) | Self::Binary(b) => b.len(),
            Self::List(list) | Self::Map(list, _) => list.len(),
            Self::Record(record) | Self::Union(_, record) => record.len(),
        }
    }

    fn finish(&mut self) -> ArrowResult<ArrayRef> {
        Ok(match self {
            Self::Null(rows) => Arc::new(NullArray::new(std::mem::take(rows))),
            Self::Boolean(b) => Arc::new(b.finish()),
            Self::Byte(n) => Arc::new(n.finish()?),
            Self::Short(n) => Arc::new(n.finish()?),
            Self::Int(n) => Arc::new(n.finish()?),
            Self::Long(n) => Arc::new(n.finish()?),
            Self::Float(n) => Arc::new(n.finish()?),
            Self::Double(n) => Arc::new(n.finish()?),
            Self::Form(column) => column.finish()?,
            Self::Decimal(n, precision, scale) => {
                Arc::new(n.finish()?.with_precision_and_scale(*precision, *scale)?)
            }
            Self::Text(b) | Self::Digits(b) => Arc::new(b.finish_texts()?),
            Self::Binary(b) => Arc::new(b.finish()?),
            Self::List(list) => list.finish()?,
            Self::Map(list, keys) => list.finish_maps(Arc::new(keys.finish_texts()?))?,
            Self::Record(record) | Self::Union(_, record) => Arc::new(record.finish()?),
        })
    }
}

fn unreadable(field: &Field) -> ArrowError {
    ArrowError::SchemaError(format!("field {}: cannot read {} from JSON", field.name(), field.data_type()))
}
