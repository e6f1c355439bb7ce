//! Columns of scalars under construction.
//!
//! The value of an open row may be set again, because a column contains the last value in the message. The
//! open row has a value if the column's length is greater than the number of the row.

use std::sync::Arc;

use arrow_array::types::{Decimal128Type, Float32Type, Float64Type, Int32Type, Int64Type};
use arrow_array::{ArrayRef, BinaryArray, BooleanArray, Decimal128Array, PrimitiveArray, StringArray};

use super::bytes::BytesColumn;
use super::nulls::Nulls;
use crate::error::{KernelError, Result};
use crate::protobuf::names::EnumNames;
use crate::protobuf::{Absent, FieldPlan, Kind, ProtobufPlan};

/// The values of a column, for each combination of wire format and Arrow type.
#[derive(Debug)]
enum ScalarStore {
    /// Signed varint or fixed of 32 bits.
    Int32(Vec<i32>),
    /// Varint of 32 bits with the sign in the last bit.
    ZigZag32(Vec<i32>),
    /// Signed varint or fixed of 64 bits.
    Int64(Vec<i64>),
    /// Varint of 64 bits with the sign in the last bit.
    ZigZag64(Vec<i64>),
    /// Unsigned varint or fixed of 32 bits.
    Unsigned32(Vec<i64>),
    /// Unsigned varint or fixed of 64 bits, which become decimals because Spark has no such integer.
    Unsigned64(Vec<i128>),
    Float(Vec<f32>),
    Double(Vec<f64>),
    Bool(Vec<bool>),
    Text(BytesColumn),
    Binary(BytesColumn),
    /// Encoded messages; several encodings in a row are the encoding of the merged message.
    Opaque(BytesColumn),
    /// Names of enum numbers.
    Names(BytesColumn, Arc<EnumNames>),
}

/// A column of scalars.
#[derive(Debug)]
pub struct ScalarColumn {
    store: ScalarStore,
    nulls: Nulls,
    absent: Option<Absent>,
    /// Wire type of the values.
    pub wire: u32,
}

macro_rules! every {
    ($store:expr, $values:ident => $action:expr) => {
        match $store {
            ScalarStore::Int32($values) | ScalarStore::ZigZag32($values) => $action,
            ScalarStore::Int64($values)
            | ScalarStore::ZigZag64($values)
            | ScalarStore::Unsigned32($values) => $action,
            ScalarStore::Unsigned64($values) => $action,
            ScalarStore::Float($values) => $action,
            ScalarStore::Double($values) => $action,
            ScalarStore::Bool($values) => $action,
            ScalarStore::Text($values) | ScalarStore::Binary($values) | ScalarStore::Opaque($values) => {
                $action
            }
            ScalarStore::Names($values, _) => $action,
        }
    };
}

impl ScalarColumn {
    /// Creates a column for the items of `field`, which must not be messages.
    pub fn new(plan: &ProtobufPlan, field: &FieldPlan) -> Result<Self> {
        let store = match field.kind {
            Kind::Int32 | Kind::SFixed32 | Kind::EnumNumber => ScalarStore::Int32(Vec::new()),
            Kind::SInt32 => ScalarStore::ZigZag32(Vec::new()),
            Kind::Int64 | Kind::SFixed64 => ScalarStore::Int64(Vec::new()),
            Kind::SInt64 => ScalarStore::ZigZag64(Vec::new()),
            Kind::UInt32 | Kind::Fixed32 => ScalarStore::Unsigned32(Vec::new()),
            Kind::UInt64 | Kind::Fixed64 => ScalarStore::Unsigned64(Vec::new()),
            Kind::Float => ScalarStore::Float(Vec::new()),
            Kind::Double => ScalarStore::Double(Vec::new()),
            Kind::Bool => ScalarStore::Bool(Vec::new()),
            Kind::String => ScalarStore::Text(BytesColumn::default()),
            Kind::Bytes => ScalarStore::Binary(BytesColumn::default()),
            Kind::Opaque => ScalarStore::Opaque(BytesColumn::default()),
            Kind::Enum(index) => ScalarStore::Names(BytesColumn::default(), plan.names(index)?.clone()),
            Kind::Message(_) | Kind::Group(_) => {
                return Err(KernelError::schema(format!(
                    "field {}: expected a scalar, got a message",
                    field.name
                )));
            }
        };
        Ok(Self { store, nulls: Nulls::default(), absent: field.absent.clone(), wire: field.kind.wire() })
    }

    /// Returns the number of rows, including the open row if it has a value.
    #[inline]
    pub fn len(&self) -> usize {
        every!(&self.store, values => values.len())
    }

    /// Sets the value of `row` from a varint or the bits of a fixed field; an error is a text "expected ...".
    #[inline]
    pub fn set_number(&mut self, row: usize, raw: u64) -> std::result::Result<(), String> {
        match &mut self.store {
            ScalarStore::Int32(values) => set_or_push(values, row, raw as i32),
            ScalarStore::ZigZag32(values) => {
                set_or_push(values, row, decode_zigzag(u64::from(raw as u32)) as i32)
            }
            ScalarStore::Int64(values) => set_or_push(values, row, raw as i64),
            ScalarStore::ZigZag64(values) => set_or_push(values, row, decode_zigzag(raw)),
            ScalarStore::Unsigned32(values) => set_or_push(values, row, i64::from(raw as u32)),
            ScalarStore::Unsigned64(values) => set_or_push(values, row, i128::from(raw)),
            ScalarStore::Float(values) => set_or_push(values, row, f32::from_bits(raw as u32)),
            ScalarStore::Double(values) => set_or_push(values, row, f64::from_bits(raw)),
            ScalarStore::Bool(values) => set_or_push(values, row, raw != 0),
            // An unknown enum number becomes the text of the number, so that no value is lost silently.
            ScalarStore::Names(values, names) => match names.name(raw as i32) {
                Some(name) => return values.set(row, name.as_bytes()),
                None => return values.set(row, (raw as i32).to_string().as_bytes()),
            },
            ScalarStore::Text(_) | ScalarStore::Binary(_) | ScalarStore::Opaque(_) => {
                return Err("expected bytes, got a number".to_owned());
            }
        }
        Ok(())
    }

    /// Sets the value of `row` from the content of a length-delimited field.
    #[inline]
    pub fn set_bytes(&mut self, row: usize, bytes: &[u8]) -> std::result::Result<(), String> {
        match &mut self.store {
            ScalarStore::Text(values) => match std::str::from_utf8(bytes) {
                Ok(_) => values.set(row, bytes),
                Err(error) => Err(format!("expected UTF-8 text: {error}")),
            },
            ScalarStore::Binary(values) => values.set(row, bytes),
            ScalarStore::Opaque(values) => values.extend(row, bytes),
            _ => Err("expected a number, got bytes".to_owned()),
        }
    }

    /// Sets the value of `row` to zero if `row` has no value yet.
    pub fn ensure_value(&mut self, row: usize) -> std::result::Result<(), String> {
        if self.len() > row {
            return Ok(());
        }
        if self.wire == crate::protobuf::DELIMITED {
            self.set_bytes(row, b"")
        } else {
            self.set_number(row, 0)
        }
    }

    /// Ends `row`; without a value, it gets the default or null.
    #[inline]
    pub fn end_row(&mut self, row: usize) -> std::result::Result<(), String> {
        if self.len() > row {
            return Ok(());
        }
        match self.absent.take() {
            None => self.push_null(),
            Some(Absent::Number(raw)) => {
                self.set_number(row, raw)?;
                self.absent = Some(Absent::Number(raw));
            }
            Some(Absent::Bytes(bytes)) => {
                self.set_bytes(row, &bytes)?;
                self.absent = Some(Absent::Bytes(bytes));
            }
        }
        Ok(())
    }

    /// Appends a null.
    pub fn push_null(&mut self) {
        self.nulls.push(self.len());
        match &mut self.store {
            ScalarStore::Int32(values) | ScalarStore::ZigZag32(values) => values.push(0),
            ScalarStore::Int64(values) | ScalarStore::ZigZag64(values) | ScalarStore::Unsigned32(values) => {
                values.push(0)
            }
            ScalarStore::Unsigned64(values) => values.push(0),
            ScalarStore::Float(values) => values.push(0.0),
            ScalarStore::Double(values) => values.push(0.0),
            ScalarStore::Bool(values) => values.push(false),
            ScalarStore::Text(values) | ScalarStore::Binary(values) | ScalarStore::Opaque(values) => {
                values.push_empty()
            }
            ScalarStore::Names(values, _) => values.push_empty(),
        }
    }

    /// Truncates the column to its first `rows` rows.
    pub fn truncate(&mut self, rows: usize) {
        every!(&mut self.store, values => values.truncate(rows));
        self.nulls.truncate(rows);
    }

    /// Returns the value of a row as a map's key; keys are never floats.
    pub fn key(&self, row: usize) -> MapKey<'_> {
        match &self.store {
            ScalarStore::Int32(values) | ScalarStore::ZigZag32(values) => number_key(values, row),
            ScalarStore::Int64(values) | ScalarStore::ZigZag64(values) | ScalarStore::Unsigned32(values) => {
                number_key(values, row)
            }
            ScalarStore::Unsigned64(values) => number_key(values, row),
            ScalarStore::Bool(values) => number_key(values, row),
            ScalarStore::Text(values) | ScalarStore::Binary(values) => MapKey::Bytes(values.get(row)),
            ScalarStore::Opaque(values) | ScalarStore::Names(values, _) => MapKey::Bytes(values.get(row)),
            ScalarStore::Float(_) | ScalarStore::Double(_) => MapKey::Number(row as i128),
        }
    }

    /// Returns the values as an Arrow array, and empties the column.
    pub fn finish(&mut self) -> Result<ArrayRef> {
        let nulls = self.nulls.finish(self.len());
        Ok(match &mut self.store {
            ScalarStore::Int32(v) | ScalarStore::ZigZag32(v) => {
                Arc::new(PrimitiveArray::<Int32Type>::new(take_values(v).into(), nulls))
            }
            ScalarStore::Int64(v) | ScalarStore::ZigZag64(v) | ScalarStore::Unsigned32(v) => {
                Arc::new(PrimitiveArray::<Int64Type>::new(take_values(v).into(), nulls))
            }
            ScalarStore::Unsigned64(v) => {
                let array: Decimal128Array =
                    PrimitiveArray::<Decimal128Type>::new(take_values(v).into(), nulls);
                let decimals = array.with_precision_and_scale(20, 0);
                Arc::new(decimals.map_err(|e| KernelError::schema(e.to_string()))?)
            }
            ScalarStore::Float(v) => {
                Arc::new(PrimitiveArray::<Float32Type>::new(take_values(v).into(), nulls))
            }
            ScalarStore::Double(v) => {
                Arc::new(PrimitiveArray::<Float64Type>::new(take_values(v).into(), nulls))
            }
            ScalarStore::Bool(v) => Arc::new(BooleanArray::new(take_values(v).into(), nulls)),
            ScalarStore::Text(v) | ScalarStore::Names(v, _) => {
                let (offsets, data) = v.finish();
                let text = StringArray::try_new(offsets, data, nulls);
                Arc::new(text.map_err(|e| KernelError::payload(e.to_string()))?)
            }
            ScalarStore::Binary(v) | ScalarStore::Opaque(v) => {
                let (offsets, data) = v.finish();
                let array = BinaryArray::try_new(offsets, data, nulls);
                Arc::new(array.map_err(|e| KernelError::payload(e.to_string()))?)
            }
        })
    }
}

/// The key of a map, which can be compared.
#[derive(Debug, PartialEq, Eq, Hash)]
pub enum MapKey<'a> {
    /// An integer or a boolean.
    Number(i128),
    /// A text.
    Bytes(&'a [u8]),
}

fn number_key<T: Copy + Into<i128>>(values: &[T], row: usize) -> MapKey<'static> {
    MapKey::Number(values.get(row).copied().map_or(0, Into::into))
}

#[inline]
fn set_or_push<T>(values: &mut Vec<T>, row: usize, value: T) {
    match values.get_mut(row) {
        Some(slot) => *slot = value,
        None => values.push(value),
    }
}

/// Returns the values, and replaces them by an empty vector with room for the same number.
pub fn take_values<T>(values: &mut Vec<T>) -> Vec<T> {
    let next = Vec::with_capacity(values.len());
    std::mem::replace(values, next)
}

#[inline]
fn decode_zigzag(raw: u64) -> i64 {
    (raw >> 1) as i64 ^ -((raw & 1) as i64)
}
