//! Protobuf's wire format of bound columns, by the plan of the topic's schema.
//!
//! Fields are written in the order of their numbers, as the official libraries do, so that equal rows have
//! equal bytes.

pub mod binding;

use super::binding::{EncodeResult, Refused, span};
use crate::protobuf::{DELIMITED, GROUP, GROUP_END, Shape, VARINT};
use crate::wire::put_varint;
use binding::{FieldWriter, MessageWriter, ProtobufColumn, Scalar};

/// Appends the fields of a message.
pub fn message(writer: &MessageWriter, row: usize, out: &mut Vec<u8>) -> EncodeResult {
    for (name, members) in &writer.oneofs {
        let set = |index: &&usize| writer.fields.get(**index).is_some_and(|f| !f.column.is_null(row));
        if members.iter().filter(set).count() > 1 {
            return Err(Refused::new(format!("expected at most one field of oneof {name}, got several")));
        }
    }
    for field in &writer.fields {
        write_field(field, row, out).map_err(|e| e.below(&field.name))?;
    }
    Ok(())
}

fn write_field(field: &FieldWriter, row: usize, out: &mut Vec<u8>) -> EncodeResult {
    if field.column.is_null(row) {
        return match field.shape {
            Shape::Required => Err(Refused::null()),
            _ => Ok(()),
        };
    }
    match &field.column {
        ProtobufColumn::List(list, items) => {
            let range = span(list.value_offsets(), row);
            if let ProtobufColumn::Scalar(scalar) = items.as_ref()
                && field.packed
                && !range.is_empty()
            {
                put_varint(out, u64::from(field.number << 3 | DELIMITED));
                return delimited(out, |out| {
                    range.clone().try_for_each(|item| item_value(scalar, item, out))
                });
            }
            for item in range {
                let present = (!items.is_null(item)).then_some(()).ok_or_else(no_null);
                present.and_then(|()| value(items, field.number, item, out)).map_err(|e| e.below("[]"))?;
            }
            Ok(())
        }
        ProtobufColumn::Map(map, keys, values) => {
            for entry in span(map.value_offsets(), row) {
                put_varint(out, u64::from(field.number << 3 | DELIMITED));
                delimited(out, |out| {
                    tagged(keys, 1, entry, out).map_err(|e| e.below("key"))?;
                    let present = (!values.is_null(entry)).then_some(()).ok_or_else(no_null);
                    present.and_then(|()| value(values, 2, entry, out)).map_err(|e| e.below("value"))
                })?;
            }
            Ok(())
        }
        ProtobufColumn::Scalar(scalar) if field.shape == Shape::Implicit && is_zero(scalar, row)? => Ok(()),
        column => value(column, field.number, row, out),
    }
}

fn no_null() -> Box<Refused> {
    Refused::new("expected a value, got null; Protobuf has no nulls in lists and maps")
}

fn item_value(scalar: &Scalar, item: usize, out: &mut Vec<u8>) -> EncodeResult {
    if scalar.is_null(item) {
        return Err(no_null().below("[]"));
    }
    scalar_value(scalar, item, out).map_err(|e| e.below("[]"))
}

/// Appends tag and value of one item.
fn value(column: &ProtobufColumn, number: u32, row: usize, out: &mut Vec<u8>) -> EncodeResult {
    let tag = |wire: u32| u64::from(number << 3 | wire);
    match column {
        ProtobufColumn::Scalar(scalar) => tagged(scalar, number, row, out),
        ProtobufColumn::Wrapped(scalar) => {
            put_varint(out, tag(DELIMITED));
            delimited(out, |out| if is_zero(scalar, row)? { Ok(()) } else { tagged(scalar, 1, row, out) })
        }
        ProtobufColumn::Timestamp(array) => {
            let micros = array.value(row);
            put_varint(out, tag(DELIMITED));
            delimited(out, |out| time(micros.div_euclid(1_000_000), micros.rem_euclid(1_000_000), out))
        }
        ProtobufColumn::Duration(array) => {
            let micros = array.value(row);
            put_varint(out, tag(DELIMITED));
            delimited(out, |out| time(micros / 1_000_000, micros % 1_000_000, out))
        }
        ProtobufColumn::Message(_, writer) => {
            put_varint(out, tag(DELIMITED));
            delimited(out, |out| message(writer, row, out))
        }
        ProtobufColumn::Group(_, writer) => {
            put_varint(out, tag(GROUP));
            message(writer, row, out)?;
            put_varint(out, tag(GROUP_END));
            Ok(())
        }
        ProtobufColumn::List(_, _) | ProtobufColumn::Map(_, _, _) => Ok(()),
    }
}

fn time(seconds: i64, micros: i64, out: &mut Vec<u8>) -> EncodeResult {
    for (number, value) in [(1u64, seconds), (2, micros * 1000)] {
        if value != 0 {
            put_varint(out, number << 3 | u64::from(VARINT));
            put_varint(out, value as u64);
        }
    }
    Ok(())
}

fn tagged(scalar: &Scalar, number: u32, row: usize, out: &mut Vec<u8>) -> EncodeResult {
    put_varint(out, u64::from(number << 3 | scalar.wire()));
    scalar_value(scalar, row, out)
}

/// Returns whether the value is the default. A field without presence is omitted if it has the default.
fn is_zero(scalar: &Scalar, row: usize) -> Result<bool, Box<Refused>> {
    Ok(match scalar {
        Scalar::Int32(a) | Scalar::ZigZag32(a) | Scalar::SFixed32(a) => a.value(row) == 0,
        Scalar::Int64(a) | Scalar::ZigZag64(a) | Scalar::SFixed64(a) => a.value(row) == 0,
        Scalar::UInt32(a) | Scalar::Fixed32(a) => a.value(row) == 0,
        Scalar::UInt64(a) | Scalar::Fixed64(a) => a.value(row) == 0,
        // Negative zero is not the default.
        Scalar::Float(a) => a.value(row).to_bits() == 0,
        Scalar::Double(a) => a.value(row).to_bits() == 0,
        Scalar::Bool(a) => !a.value(row),
        Scalar::Text(a) => a.value(row).is_empty(),
        Scalar::Binary(a) => a.value(row).is_empty(),
        Scalar::Names(_, _) => number_of(scalar, row)? == 0,
    })
}

fn scalar_value(scalar: &Scalar, row: usize, out: &mut Vec<u8>) -> EncodeResult {
    match scalar {
        Scalar::Int32(a) => put_varint(out, i64::from(a.value(row)) as u64),
        Scalar::ZigZag32(a) => {
            let value = a.value(row);
            put_varint(out, u64::from(((value << 1) ^ (value >> 31)) as u32));
        }
        Scalar::SFixed32(a) => out.extend_from_slice(&a.value(row).to_le_bytes()),
        Scalar::Int64(a) => put_varint(out, a.value(row) as u64),
        Scalar::ZigZag64(a) => put_varint(out, crate::protobuf::zigzag(a.value(row))),
        Scalar::SFixed64(a) => out.extend_from_slice(&a.value(row).to_le_bytes()),
        Scalar::UInt32(a) => put_varint(out, u64::from(unsigned::<u32>(a.value(row), u32::MAX)?)),
        Scalar::Fixed32(a) => out.extend_from_slice(&unsigned::<u32>(a.value(row), u32::MAX)?.to_le_bytes()),
        Scalar::UInt64(a) => put_varint(out, unsigned::<u64>(a.value(row), u64::MAX)?),
        Scalar::Fixed64(a) => out.extend_from_slice(&unsigned::<u64>(a.value(row), u64::MAX)?.to_le_bytes()),
        Scalar::Float(a) => out.extend_from_slice(&a.value(row).to_le_bytes()),
        Scalar::Double(a) => out.extend_from_slice(&a.value(row).to_le_bytes()),
        Scalar::Bool(a) => out.push(u8::from(a.value(row))),
        Scalar::Text(a) => put_bytes(out, a.value(row).as_bytes()),
        Scalar::Binary(a) => put_bytes(out, a.value(row)),
        Scalar::Names(_, _) => put_varint(out, i64::from(number_of(scalar, row)?) as u64),
    }
    Ok(())
}

fn number_of(scalar: &Scalar, row: usize) -> Result<i32, Box<Refused>> {
    let Scalar::Names(texts, names) = scalar else { return Ok(0) };
    let text = texts.value(row);
    names.number(text).ok_or_else(|| Refused::new(format!("expected {}, got {text:?}", names.expected())))
}

fn unsigned<T: TryFrom<i128>>(
    value: impl Into<i128>,
    most: impl std::fmt::Display,
) -> Result<T, Box<Refused>> {
    let value = value.into();
    T::try_from(value).map_err(|_| Refused::new(format!("expected a number from 0 to {most}, got {value}")))
}

fn put_bytes(out: &mut Vec<u8>, bytes: &[u8]) {
    put_varint(out, bytes.len() as u64);
    out.extend_from_slice(bytes);
}

/// Appends the output of `write` after its length. One byte is reserved for the length before the call, and
/// most lengths fit into this byte.
fn delimited(out: &mut Vec<u8>, write: impl FnOnce(&mut Vec<u8>) -> EncodeResult) -> EncodeResult {
    let start = out.len() + 1;
    out.push(0);
    write(out)?;
    let end = out.len();
    let length = end - start;
    if length >= 0x80 {
        // Make room for the rest of the varint.
        let more = (length.ilog2() / 7) as usize;
        out.resize(end + more, 0);
        out.copy_within(start..end, start + more);
    }
    let mut rest = length;
    for byte in out.iter_mut().skip(start - 1).take((length.max(1).ilog2() / 7) as usize + 1) {
        *byte = (rest & 0x7f) as u8 | if rest >= 0x80 { 0x80 } else { 0 };
        rest >>= 7;
    }
    Ok(())
}
