//! Arrow columns that JSON values are appended to. A value can be taken back, since of two members of an object with
//! the same key the last one counts.

use std::collections::HashMap;
use std::sync::Arc;

use arrow_array::types::{
    Decimal128Type, Float32Type, Float64Type, Int8Type, Int16Type, Int32Type, Int64Type,
};
use arrow_array::{
    ArrayRef, BinaryArray, BooleanArray, ListArray, MapArray, NullArray, StringArray, StructArray,
};
use arrow_buffer::{BooleanBufferBuilder, NullBufferBuilder, OffsetBuffer};
use arrow_schema::{ArrowError, DataType, Field, FieldRef, Fields};

use super::json_buffers::{Bytes, Numbers, offsets};
use super::json_types::UNION;
use super::json_unions::UnionShape;

type Result<T> = std::result::Result<T, ArrowError>;

/// Records of more fields look their keys up by hash.
const FEW_FIELDS: usize = 16;

/// A column under construction.
pub enum Column {
    /// Only counted
    Null(usize),
    /// Booleans
    Boolean(BooleanBufferBuilder, NullBufferBuilder),
    /// 8 bits
    Byte(Numbers<Int8Type>),
    /// 16 bits
    Short(Numbers<Int16Type>),
    /// 32 bits
    Int(Numbers<Int32Type>),
    /// 64 bits
    Long(Numbers<Int64Type>),
    /// 32 bits
    Float(Numbers<Float32Type>),
    /// 64 bits
    Double(Numbers<Float64Type>),
    /// Precision and scale
    Decimal(Numbers<Decimal128Type>, u8, i8),
    /// Text
    Text(Bytes),
    /// Bytes
    Binary(Bytes),
    /// Arrays
    List(ListColumn),
    /// Objects with any keys
    Map(ListColumn, Bytes),
    /// Objects with known keys
    Record(RecordColumn),
    /// A member for each branch
    Union(Arc<UnionShape>, RecordColumn),
}

impl Column {
    /// An empty column for `field` of [`JsonTypes`](super::json_types::JsonTypes), which found `unions`.
    pub fn new(field: &Field, unions: &[Arc<UnionShape>]) -> Result<Self> {
        let list = |item: &FieldRef| ListColumn::new(field.data_type(), item, unions);
        Ok(match field.data_type() {
            DataType::Null => Self::Null(0),
            DataType::Boolean => Self::Boolean(BooleanBufferBuilder::new(0), NullBufferBuilder::new(0)),
            DataType::Int8 => Self::Byte(Numbers::default()),
            DataType::Int16 => Self::Short(Numbers::default()),
            DataType::Int32 => Self::Int(Numbers::default()),
            DataType::Int64 => Self::Long(Numbers::default()),
            DataType::Float32 => Self::Float(Numbers::default()),
            DataType::Float64 => Self::Double(Numbers::default()),
            DataType::Decimal128(precision, scale) => Self::Decimal(Numbers::default(), *precision, *scale),
            DataType::Utf8 => Self::Text(Bytes::default()),
            DataType::Binary => Self::Binary(Bytes::default()),
            DataType::List(item) => Self::List(list(item)?),
            DataType::Map(entries, _) => match entries.data_type() {
                DataType::Struct(pair) if pair.len() == 2 => match pair.last() {
                    Some(value) => Self::Map(list(value)?, Bytes::default()),
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

    /// Number of values so far.
    #[inline]
    pub fn len(&self) -> usize {
        match self {
            Self::Null(rows) => *rows,
            Self::Boolean(values, _) => values.len(),
            Self::Byte(n) => n.len(),
            Self::Short(n) => n.len(),
            Self::Int(n) => n.len(),
            Self::Long(n) => n.len(),
            Self::Float(n) => n.len(),
            Self::Double(n) => n.len(),
            Self::Decimal(n, ..) => n.len(),
            Self::Text(b) | Self::Binary(b) => b.len(),
            Self::List(list) | Self::Map(list, _) => list.offsets.len(),
            Self::Record(record) | Self::Union(_, record) => record.len,
        }
    }

    /// Add a null, below which everything is null.
    pub fn append_null(&mut self) {
        match self {
            Self::Null(rows) => *rows += 1,
            Self::Boolean(values, nulls) => {
                values.append(false);
                nulls.append_null();
            }
            Self::Byte(n) => n.append_null(),
            Self::Short(n) => n.append_null(),
            Self::Int(n) => n.append_null(),
            Self::Long(n) => n.append_null(),
            Self::Float(n) => n.append_null(),
            Self::Double(n) => n.append_null(),
            Self::Decimal(n, ..) => n.append_null(),
            Self::Text(b) | Self::Binary(b) => b.append_null(),
            Self::List(list) | Self::Map(list, _) => list.append_null(),
            Self::Record(record) | Self::Union(_, record) => record.append_null(),
        }
    }

    /// Keep the first `rows` values.
    pub fn truncate(&mut self, rows: usize) {
        match self {
            Self::Null(all) => *all = rows.min(*all),
            Self::Boolean(values, nulls) => {
                values.truncate(rows);
                nulls.truncate(rows);
            }
            Self::Byte(n) => n.truncate(rows),
            Self::Short(n) => n.truncate(rows),
            Self::Int(n) => n.truncate(rows),
            Self::Long(n) => n.truncate(rows),
            Self::Float(n) => n.truncate(rows),
            Self::Double(n) => n.truncate(rows),
            Self::Decimal(n, ..) => n.truncate(rows),
            Self::Text(b) | Self::Binary(b) => b.truncate(rows),
            Self::List(list) => _ = list.truncate(rows),
            Self::Map(list, keys) => keys.truncate(list.truncate(rows)),
            Self::Record(record) | Self::Union(_, record) => record.truncate(rows),
        }
    }

    /// The column so far; starts a new one.
    pub fn finish(&mut self) -> Result<ArrayRef> {
        Ok(match self {
            Self::Null(rows) => Arc::new(NullArray::new(std::mem::take(rows))),
            Self::Boolean(values, nulls) => Arc::new(BooleanArray::new(values.finish(), nulls.finish())),
            Self::Byte(n) => Arc::new(n.finish()?),
            Self::Short(n) => Arc::new(n.finish()?),
            Self::Int(n) => Arc::new(n.finish()?),
            Self::Long(n) => Arc::new(n.finish()?),
            Self::Float(n) => Arc::new(n.finish()?),
            Self::Double(n) => Arc::new(n.finish()?),
            Self::Decimal(n, precision, scale) => {
                Arc::new(n.finish()?.with_precision_and_scale(*precision, *scale)?)
            }
            Self::Text(b) => {
                let (offsets, data, nulls) = b.finish();
                Arc::new(StringArray::try_new(offsets, data.into(), nulls)?)
            }
            Self::Binary(b) => {
                let (offsets, data, nulls) = b.finish();
                Arc::new(BinaryArray::try_new(offsets, data.into(), nulls)?)
            }
            Self::List(list) => {
                let DataType::List(item) = list.kind.clone() else { return Err(misshapen(&list.kind)) };
                let (offsets, nulls) = list.take();
                Arc::new(ListArray::try_new(item, offsets, list.items.finish()?, nulls)?)
            }
            Self::Map(list, keys) => map(list, keys)?,
            Self::Record(record) | Self::Union(_, record) => Arc::new(record.finish()?),
        })
    }
}

fn map(list: &mut ListColumn, keys: &mut Bytes) -> Result<ArrayRef> {
    let DataType::Map(entries, sorted) = list.kind.clone() else { return Err(misshapen(&list.kind)) };
    let DataType::Struct(fields) = entries.data_type() else { return Err(misshapen(&list.kind)) };
    let (key_ends, data, _) = keys.finish();
    let keys: ArrayRef = Arc::new(StringArray::try_new(key_ends, data.into(), None)?);
    let (offsets, nulls) = list.take();
    let pairs = StructArray::try_new(fields.clone(), vec![keys, list.items.finish()?], None)?;
    Ok(Arc::new(MapArray::try_new(entries, offsets, pairs, nulls, sorted)?))
}

/// Lists, or the values of maps.
pub struct ListColumn {
    kind: DataType,
    /// Where each ends in `items`.
    offsets: Vec<i32>,
    nulls: NullBufferBuilder,
    /// All items one after the other.
    pub items: Box<Column>,
}

impl ListColumn {
    fn new(kind: &DataType, item: &Field, unions: &[Arc<UnionShape>]) -> Result<Self> {
        let items = Box::new(Column::new(item, unions)?);
        Ok(Self { kind: kind.clone(), offsets: Vec::new(), nulls: NullBufferBuilder::new(0), items })
    }

    /// The items since the last list make up one; false when there are more than Arrow can count.
    #[must_use]
    pub fn close(&mut self) -> bool {
        let Ok(end) = i32::try_from(self.items.len()) else { return false };
        self.offsets.push(end);
        self.nulls.append_non_null();
        true
    }

    fn append_null(&mut self) {
        self.offsets.push(self.offsets.last().copied().unwrap_or(0));
        self.nulls.append_null();
    }

    /// Returns how many items are left.
    fn truncate(&mut self, rows: usize) -> usize {
        self.offsets.truncate(rows);
        self.nulls.truncate(rows);
        let items = self.offsets.last().map_or(0, |end| *end as usize);
        self.items.truncate(items);
        items
    }

    fn take(&mut self) -> (OffsetBuffer<i32>, Option<arrow_buffer::NullBuffer>) {
        (offsets(&mut self.offsets), self.nulls.finish())
    }
}

/// Objects, a column for each of their known keys.
pub struct RecordColumn {
    fields: Fields,
    quoted: Vec<Vec<u8>>,
    /// Only for many fields.
    by_name: HashMap<String, usize>,
    len: usize,
    nulls: NullBufferBuilder,
    /// One for each field.
    pub children: Vec<Column>,
}

impl RecordColumn {
    /// For the keys `fields`.
    pub fn new(fields: &Fields, unions: &[Arc<UnionShape>]) -> Result<Self> {
        let children = fields.iter().map(|field| Column::new(field, unions)).collect::<Result<_>>()?;
        let named = fields.iter().enumerate().map(|(index, field)| (field.name().clone(), index));
        let by_name = if fields.len() > FEW_FIELDS { named.collect() } else { HashMap::new() };
        // Names that need escapes are never found this way, but by `position`.
        let quoted = fields.iter().map(|field| format!("\"{}\":", field.name()).into_bytes()).collect();
        let nulls = NullBufferBuilder::new(0);
        Ok(Self { fields: fields.clone(), quoted, by_name, len: 0, nulls, children })
    }

    /// Rows so far.
    pub fn len(&self) -> usize {
        self.len
    }

    /// The name of a field as a key that needs no escapes, with the colon. Writers keep the order of their
    /// fields, so the next key can be guessed.
    #[inline]
    pub fn quoted(&self, index: usize) -> &[u8] {
        // No key looks like this.
        self.quoted.get(index).map_or(b"}", Vec::as_slice)
    }

    /// The name of a field.
    pub fn name(&self, index: usize) -> &str {
        self.fields.get(index).map_or("", |field| field.name())
    }

    /// Which field `key` is.
    pub fn position(&self, key: &str) -> Option<usize> {
        if self.fields.len() > FEW_FIELDS {
            return self.by_name.get(key).copied();
        }
        self.fields.iter().position(|field| field.name() == key)
    }

    /// End a row; children without a value for it get a null.
    #[inline]
    pub fn close(&mut self) {
        for child in &mut self.children {
            if child.len() == self.len {
                child.append_null();
            }
        }
        self.len += 1;
        self.nulls.append_non_null();
    }

    /// Add a null, below which everything is null.
    pub fn append_null(&mut self) {
        self.children.iter_mut().for_each(Column::append_null);
        self.len += 1;
        self.nulls.append_null();
    }

    fn truncate(&mut self, rows: usize) {
        self.children.iter_mut().for_each(|child| child.truncate(rows));
        self.len = self.len.min(rows);
        self.nulls.truncate(rows);
    }

    /// The rows so far; starts new ones.
    pub fn finish(&mut self) -> Result<StructArray> {
        let nulls = self.nulls.finish();
        let len = std::mem::take(&mut self.len);
        let columns = self.children.iter_mut().map(Column::finish).collect::<Result<Vec<_>>>()?;
        if columns.is_empty() {
            return Ok(StructArray::new_empty_fields(len, nulls));
        }
        StructArray::try_new(self.fields.clone(), columns, nulls)
    }
}

fn unreadable(field: &Field) -> ArrowError {
    ArrowError::SchemaError(format!("field {}: {} cannot be read from JSON", field.name(), field.data_type()))
}

fn misshapen(kind: &DataType) -> ArrowError {
    ArrowError::SchemaError(format!("expected a list or map, got {kind}"))
}
