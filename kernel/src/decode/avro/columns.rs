//! Arrow columns that Avro values are appended to, shaped by the reader's schema.

use std::sync::Arc;

use arrow_array::builder::{
    BinaryBuilder, BooleanBuilder, Decimal128Builder, FixedSizeBinaryBuilder, Float32Builder, Float64Builder,
    Int32Builder, Int64Builder, StringBuilder,
};
use arrow_array::{ArrayRef, NullArray, StructArray};
use arrow_buffer::NullBufferBuilder;
use arrow_schema::{ArrowError, DataType, Fields};

use crate::avro_schema::AvroType;
use crate::decode::list_column::{Items, ListColumn};

/// A column under construction, in the type [`AvroType::physical`] gives.
pub enum AvroColumn {
    /// `null`: only counted
    Null(usize),
    /// `boolean`
    Boolean(BooleanBuilder),
    /// `int`
    Int(Int32Builder),
    /// `long`
    Long(Int64Builder),
    /// `float`
    Float(Float32Builder),
    /// `double`
    Double(Float64Builder),
    /// `bytes`
    Bytes(BinaryBuilder),
    /// `string` and `enum`
    Text(StringBuilder),
    /// `fixed`
    Fixed(FixedSizeBinaryBuilder),
    /// `decimal`
    Decimal(Decimal128Builder),
    /// `array`
    List(ListColumn<AvroColumn>),
    /// `map`
    Map(ListColumn<AvroColumn>, StringBuilder),
    /// `record`, and a union of several non-null types: its members
    Struct(StructColumn),
}

/// Children of equal length.
pub struct StructColumn {
    fields: Fields,
    len: usize,
    nulls: NullBufferBuilder,
    /// One for each field.
    pub children: Vec<AvroColumn>,
}

impl AvroColumn {
    /// An empty column for values of `kind`.
    pub fn new(kind: &AvroType) -> Self {
        match kind {
            AvroType::Null => Self::Null(0),
            AvroType::Boolean => Self::Boolean(BooleanBuilder::new()),
            AvroType::Int(_) => Self::Int(Int32Builder::new()),
            AvroType::Long(_) => Self::Long(Int64Builder::new()),
            AvroType::Float => Self::Float(Float32Builder::new()),
            AvroType::Double => Self::Double(Float64Builder::new()),
            AvroType::Bytes => Self::Bytes(BinaryBuilder::new()),
            AvroType::String | AvroType::Enum(_) => Self::Text(StringBuilder::new()),
            AvroType::Fixed(fixed) | AvroType::Uuid(fixed) => {
                Self::Fixed(FixedSizeBinaryBuilder::new(fixed.size))
            }
            AvroType::Decimal { .. } => {
                Self::Decimal(Decimal128Builder::new().with_data_type(kind.physical()))
            }
            AvroType::Array(item) => Self::List(ListColumn::new(kind.physical(), Self::new(item))),
            AvroType::Map(value) => {
                Self::Map(ListColumn::new(kind.physical(), Self::new(value)), StringBuilder::new())
            }
            AvroType::Record(record) => {
                Self::Struct(StructColumn::new(kind, record.fields.iter().map(|f| &f.kind)))
            }
            AvroType::Nullable { inner, .. } => Self::new(inner),
            AvroType::Union(_) => match kind.members().as_slice() {
                [only] => Self::new(only),
                members => Self::Struct(StructColumn::new(kind, members.iter().copied())),
            },
        }
    }

    /// Add a null, below which everything is null.
    pub fn append_null(&mut self) {
        match self {
            Self::Null(rows) => *rows += 1,
            Self::Boolean(b) => b.append_null(),
            Self::Int(b) => b.append_null(),
            Self::Long(b) => b.append_null(),
            Self::Float(b) => b.append_null(),
            Self::Double(b) => b.append_null(),
            Self::Bytes(b) => b.append_null(),
            Self::Text(b) => b.append_null(),
            Self::Fixed(b) => b.append_null(),
            Self::Decimal(b) => b.append_null(),
            Self::List(list) | Self::Map(list, _) => list.append_null(),
            Self::Struct(s) => {
                s.children.iter_mut().for_each(Self::append_null);
                s.close(false);
            }
        }
    }
}

impl Items for AvroColumn {
    fn len(&self) -> usize {
        use arrow_array::builder::ArrayBuilder;
        match self {
            Self::Null(rows) => *rows,
            Self::Boolean(b) => b.len(),
            Self::Int(b) => b.len(),
            Self::Long(b) => b.len(),
            Self::Float(b) => b.len(),
            Self::Double(b) => b.len(),
            Self::Bytes(b) => b.len(),
            Self::Text(b) => b.len(),
            Self::Fixed(b) => b.len(),
            Self::Decimal(b) => b.len(),
            Self::List(list) | Self::Map(list, _) => list.len(),
            Self::Struct(s) => s.len,
        }
    }

    fn finish(&mut self) -> Result<ArrayRef, ArrowError> {
        Ok(match self {
            Self::Null(rows) => Arc::new(NullArray::new(std::mem::take(rows))),
            Self::Boolean(b) => Arc::new(b.finish()),
            Self::Int(b) => Arc::new(b.finish()),
            Self::Long(b) => Arc::new(b.finish()),
            Self::Float(b) => Arc::new(b.finish()),
            Self::Double(b) => Arc::new(b.finish()),
            Self::Bytes(b) => Arc::new(b.finish()),
            Self::Text(b) => Arc::new(b.finish()),
            Self::Fixed(b) => Arc::new(b.finish()),
            Self::Decimal(b) => Arc::new(b.finish()),
            Self::List(list) => list.finish()?,
            Self::Map(list, keys) => list.finish_maps(Arc::new(keys.finish()))?,
            Self::Struct(s) => Arc::new(s.finish()?),
        })
    }
}

impl StructColumn {
    fn new<'a>(kind: &AvroType, children: impl Iterator<Item = &'a AvroType>) -> Self {
        let DataType::Struct(fields) = kind.physical() else {
            return Self::of(Fields::empty(), Vec::new());
        };
        Self::of(fields, children.map(AvroColumn::new).collect())
    }

    fn of(fields: Fields, children: Vec<AvroColumn>) -> Self {
        Self { fields, len: 0, nulls: NullBufferBuilder::new(0), children }
    }

    /// End a row to which every child has got its value.
    pub fn close(&mut self, valid: bool) {
        self.len += 1;
        self.nulls.append(valid);
    }

    /// The rows so far; starts new ones.
    pub fn finish(&mut self) -> Result<StructArray, ArrowError> {
        let nulls = self.nulls.finish();
        let len = std::mem::take(&mut self.len);
        let columns = self.children.iter_mut().map(AvroColumn::finish).collect::<Result<Vec<_>, _>>()?;
        if columns.is_empty() {
            return Ok(StructArray::new_empty_fields(len, nulls));
        }
        StructArray::try_new(self.fields.clone(), columns, nulls)
    }
}
