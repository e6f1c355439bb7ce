//! Arrow columns for Avro values, in the types of the reader's schema.

use std::sync::Arc;

use arrow_array::builder::FixedSizeBinaryBuilder;
use arrow_array::types::{Decimal128Type, Float32Type, Float64Type, Int32Type, Int64Type};
use arrow_array::{ArrayRef, NullArray, StructArray};
use arrow_schema::{ArrowError, DataType, Fields};

use crate::avro_schema::AvroType;
use crate::decode::buffers::{BooleanValues, BytesBuffer, NullRows, NumberBuffer};
use crate::decode::list_column::{Items, ListColumn};

/// A column under construction, of the type that [`AvroType::physical`] returns.
pub enum AvroColumn {
    /// `null`; only the number of rows is stored
    Null(usize),
    /// `boolean`
    Boolean(BooleanValues),
    /// `int`
    Int(NumberBuffer<Int32Type>),
    /// `long`
    Long(NumberBuffer<Int64Type>),
    /// `float`
    Float(NumberBuffer<Float32Type>),
    /// `double`
    Double(NumberBuffer<Float64Type>),
    /// `bytes`
    Bytes(BytesBuffer),
    /// `string` and `enum`
    Text(BytesBuffer),
    /// `fixed`
    Fixed(FixedSizeBinaryBuilder),
    /// `decimal`
    Decimal(NumberBuffer<Decimal128Type>, DataType),
    /// `array`
    List(ListColumn<AvroColumn>),
    /// `map`: the values, and then the keys
    Map(ListColumn<AvroColumn>, BytesBuffer),
    /// `record`, or the members of a union of several non-null types
    Struct(StructColumn),
}

/// A column of structs under construction.
pub struct StructColumn {
    fields: Fields,
    len: usize,
    nulls: NullRows,
    /// Columns of the fields; all of these columns have the same length.
    pub children: Vec<AvroColumn>,
}

impl AvroColumn {
    /// Creates an empty column for values of `kind`.
    pub fn new(kind: &AvroType) -> Self {
        match kind {
            AvroType::Null => Self::Null(0),
            AvroType::Boolean => Self::Boolean(BooleanValues::default()),
            AvroType::Int(_) => Self::Int(NumberBuffer::default()),
            AvroType::Long(_) => Self::Long(NumberBuffer::default()),
            AvroType::Json(form) => Self::new(&form.plain()),
            AvroType::Float => Self::Float(NumberBuffer::default()),
            AvroType::Double => Self::Double(NumberBuffer::default()),
            AvroType::Bytes => Self::Bytes(BytesBuffer::default()),
            AvroType::String | AvroType::Enum(_) | AvroType::DecimalText(_) => {
                Self::Text(BytesBuffer::default())
            }
            AvroType::Fixed(fixed) | AvroType::Uuid(fixed) => {
                Self::Fixed(FixedSizeBinaryBuilder::new(fixed.size))
            }
            AvroType::Decimal(decimal) if decimal.digits().is_some() => {
                Self::Decimal(NumberBuffer::default(), kind.physical())
            }
            AvroType::Decimal(_) | AvroType::Reference(_) | AvroType::Omitted(_) => Self::Null(0),
            AvroType::Array(item) => Self::List(ListColumn::new(kind.physical(), Self::new(item))),
            AvroType::Map(value) => {
                Self::Map(ListColumn::new(kind.physical(), Self::new(value)), BytesBuffer::default())
            }
            AvroType::Record(record) => {
                Self::Struct(StructColumn::new(kind, record.fields.iter().map(|f| &f.kind)))
            }
            AvroType::Nullable { inner, .. } => Self::new(inner),
            AvroType::Union(_) => match kind.members().as_slice() {
                [only] => Self::new(only),
                members => {
                    let held = members.iter().copied().filter(|member| member.is_held());
                    Self::Struct(StructColumn::new(kind, held))
                }
            },
        }
    }

    /// Adds a null; all child columns also get a null.
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
            Self::Decimal(b, _) => b.append_null(),
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
            Self::Decimal(b, _) => b.len(),
            Self::List(list) | Self::Map(list, _) => list.len(),
            Self::Struct(s) => s.len,
        }
    }

    fn finish(&mut self) -> Result<ArrayRef, ArrowError> {
        Ok(match self {
            Self::Null(rows) => Arc::new(NullArray::new(std::mem::take(rows))),
            Self::Boolean(b) => Arc::new(b.finish()),
            Self::Int(b) => Arc::new(b.finish()?),
            Self::Long(b) => Arc::new(b.finish()?),
            Self::Float(b) => Arc::new(b.finish()?),
            Self::Double(b) => Arc::new(b.finish()?),
            Self::Bytes(b) => Arc::new(b.finish()?),
            Self::Text(b) => Arc::new(b.finish_texts()?),
            Self::Fixed(b) => Arc::new(b.finish()),
            Self::Decimal(b, kind) => Arc::new(b.finish()?.with_data_type(kind.clone())),
            Self::List(list) => list.finish()?,
            Self::Map(list, keys) => list.finish_maps(Arc::new(keys.finish_texts()?))?,
            Self::Struct(s) => Arc::new(s.finish()?),
        })
    }
}

impl StructColumn {
    fn new<'a>(kind: &AvroType, children: impl Iterator<Item = &'a AvroType>) -> Self {
        let DataType::Struct(fields) = kind.physical() else {
            return Self::with_children(Fields::empty(), Vec::new());
        };
        Self::with_children(fields, children.map(AvroColumn::new).collect())
    }

    fn with_children(fields: Fields, children: Vec<AvroColumn>) -> Self {
        Self { fields, len: 0, nulls: NullRows::default(), children }
    }

    /// Ends a row in which every child already has a value; the row is null unless `valid` is set.
    pub fn close(&mut self, valid: bool) {
        if !valid {
            self.nulls.push(self.len);
        }
        self.len += 1;
    }

    /// Returns the rows as an Arrow array, and empties the column.
    pub fn finish(&mut self) -> Result<StructArray, ArrowError> {
        let len = std::mem::take(&mut self.len);
        let nulls = self.nulls.finish(len);
        let columns = self.children.iter_mut().map(AvroColumn::finish).collect::<Result<Vec<_>, _>>()?;
        if columns.is_empty() {
            return Ok(StructArray::new_empty_fields(len, nulls));
        }
        StructArray::try_new(self.fields.clone(), columns, nulls)
    }
}
