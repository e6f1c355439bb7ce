//! How single JSON values become Arrow values, where `arrow-json`'s own rule is not Pulsar's.
//!
//! Integers must be whole (arrow-json would cut 1.5 to 1), bytes are base64 (it reads hexadecimal),
//! decimals are numbers or base64 of the unscaled value.

use std::marker::PhantomData;
use std::sync::Arc;

use arrow_array::ArrayRef;
use arrow_array::builder::{BinaryBuilder, Decimal128Builder, PrimitiveBuilder};
use arrow_array::types::{ArrowPrimitiveType, Decimal128Type, Int8Type, Int16Type, Int32Type, Int64Type};
use arrow_cast::parse::parse_decimal;
use arrow_json::reader::{ArrayDecoder, DecoderContext, DecoderFactory, Tape, TapeElement};
use arrow_schema::{ArrowError, DataType, FieldRef};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;

use super::json_types::UNION;
use super::json_unions::{UnionShape, UnionValues};

type Result<T> = std::result::Result<T, ArrowError>;

/// Chooses the decoders of this module.
#[derive(Debug)]
pub struct PulsarValues {
    /// The unions that fields refer to by number.
    pub unions: Vec<Arc<UnionShape>>,
}

impl DecoderFactory for PulsarValues {
    fn make_default_decoder(
        &self,
        context: &DecoderContext,
        field: &FieldRef,
        _is_nullable: bool,
    ) -> Result<Option<Box<dyn ArrayDecoder>>> {
        Ok(Some(match field.data_type() {
            DataType::Int8 => Box::new(Integers::<Int8Type>(PhantomData)),
            DataType::Int16 => Box::new(Integers::<Int16Type>(PhantomData)),
            DataType::Int32 => Box::new(Integers::<Int32Type>(PhantomData)),
            DataType::Int64 => Box::new(Integers::<Int64Type>(PhantomData)),
            DataType::Binary => Box::new(Bytes),
            DataType::Decimal128(precision, scale) => {
                Box::new(Decimals { precision: *precision, scale: *scale })
            }
            DataType::Struct(members) => match self.union(field) {
                Some(shape) => Box::new(UnionValues::new(context, shape, members)?),
                None => return Ok(None),
            },
            _ => return Ok(None),
        }))
    }
}

impl PulsarValues {
    fn union(&self, field: &FieldRef) -> Option<&Arc<UnionShape>> {
        self.unions.get(field.metadata().get(UNION)?.parse::<usize>().ok()?)
    }
}

struct Integers<T>(PhantomData<fn(T) -> T>);

impl<T: ArrowPrimitiveType> ArrayDecoder for Integers<T>
where
    T::Native: TryFrom<i64>,
{
    fn decode(&mut self, tape: &Tape<'_>, positions: &[u32]) -> Result<ArrayRef> {
        let mut out = PrimitiveBuilder::<T>::with_capacity(positions.len());
        for &position in positions {
            let text = match tape.get(position) {
                TapeElement::Null => {
                    out.append_null();
                    continue;
                }
                // Jackson reads a number in quotes as well.
                TapeElement::Number(index) | TapeElement::String(index) => tape.get_string(index),
                _ => return Err(tape.error(position, "an integer")),
            };
            let value = whole(text).and_then(|v| T::Native::try_from(v).ok());
            out.append_value(value.ok_or_else(|| refused(text, &T::DATA_TYPE))?);
        }
        Ok(Arc::new(out.finish()))
    }
}

/// A whole number, also when written like 1.0 or 2e3.
fn whole(text: &str) -> Option<i64> {
    if let Ok(value) = text.parse::<i64>() {
        return Some(value);
    }
    let value = text.parse::<f64>().ok()?;
    // Above 2^53 a double no longer holds every integer.
    (value.fract() == 0.0 && value.abs() <= 9_007_199_254_740_992.0).then_some(value as i64)
}

struct Bytes;

impl ArrayDecoder for Bytes {
    fn decode(&mut self, tape: &Tape<'_>, positions: &[u32]) -> Result<ArrayRef> {
        let mut out = BinaryBuilder::with_capacity(positions.len(), 0);
        for &position in positions {
            match tape.get(position) {
                TapeElement::Null => out.append_null(),
                TapeElement::String(index) => {
                    let text = tape.get_string(index);
                    let bytes = STANDARD.decode(text).ok().or_else(|| code_points(text));
                    out.append_value(bytes.ok_or_else(|| refused(text, &DataType::Binary))?);
                }
                _ => return Err(tape.error(position, "bytes as base64 text")),
            }
        }
        Ok(Arc::new(out.finish()))
    }
}

/// Avro's own JSON encoding of bytes: one character per byte.
fn code_points(text: &str) -> Option<Vec<u8>> {
    text.chars().map(|c| u8::try_from(u32::from(c)).ok()).collect()
}

struct Decimals {
    precision: u8,
    scale: i8,
}

impl ArrayDecoder for Decimals {
    fn decode(&mut self, tape: &Tape<'_>, positions: &[u32]) -> Result<ArrayRef> {
        let mut out = Decimal128Builder::with_capacity(positions.len());
        for &position in positions {
            match tape.get(position) {
                TapeElement::Null => out.append_null(),
                TapeElement::Number(index) => out.append_value(self.number(tape.get_string(index))?),
                TapeElement::String(index) => {
                    let text = tape.get_string(index);
                    let unscaled = STANDARD.decode(text).ok().and_then(|bytes| big_endian(&bytes));
                    out.append_value(unscaled.map_or_else(|| self.number(text), Ok)?);
                }
                _ => return Err(tape.error(position, "a decimal")),
            }
        }
        let out = out.finish().with_precision_and_scale(self.precision, self.scale)?;
        out.validate_decimal_precision(self.precision)?;
        Ok(Arc::new(out))
    }
}

impl Decimals {
    fn number(&self, text: &str) -> Result<i128> {
        parse_decimal::<Decimal128Type>(text, self.precision, self.scale)
    }
}

/// Two's complement of 1 to 16 bytes.
fn big_endian(bytes: &[u8]) -> Option<i128> {
    let first = *bytes.first()?;
    let mut wide = [if first & 0x80 == 0 { 0 } else { 0xff }; 16];
    wide.get_mut(16usize.checked_sub(bytes.len())?..)?.copy_from_slice(bytes);
    Some(i128::from_be_bytes(wide))
}

fn refused(text: &str, expected: &DataType) -> ArrowError {
    let shown: String = text.chars().take(64).collect();
    ArrowError::JsonError(format!("expected {expected}, got {shown:?}"))
}
