//! How single JSON values become Arrow values, as Jackson reads them: integers are whole (but may be written 1.0 or
//! in quotes), bytes are base64, decimals are numbers or base64 of the unscaled value, floats that JSON has no
//! numbers for are texts.

use std::str::FromStr;

use arrow_array::types::Decimal128Type;
use arrow_cast::parse::parse_decimal;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;

use super::json_buffers::Bytes;
use super::json_columns::Column;
use super::json_cursor::{Cursor, Read, Start};
use super::json_records::RecordColumn;
use super::json_unions::union;
use super::list_column::Items;

/// Append the value at the cursor.
pub fn read(column: &mut Column, cursor: &mut Cursor<'_>) -> Read<()> {
    let start = cursor.start()?;
    match (column, start) {
        (column, Start::Null) => {
            cursor.null()?;
            column.append_null();
        }
        (Column::Null(_), _) => return cursor.expected("null"),
        (Column::Text(b), Start::Text) => push(b, cursor.text()?.as_bytes(), cursor)?,
        (Column::Text(_), _) => return cursor.expected("a text"),
        (Column::Long(n), _) => n.push(integer(cursor, start, "an integer of 64 bits")?),
        (Column::Int(n), _) => n.push(integer(cursor, start, "an integer of 32 bits")?),
        (Column::Short(n), _) => n.push(integer(cursor, start, "an integer of 16 bits")?),
        (Column::Byte(n), _) => n.push(integer(cursor, start, "an integer of 8 bits")?),
        (Column::Double(n), _) => n.push(double(cursor, start)?),
        (Column::Float(n), _) => n.push(float(cursor, start)?),
        (Column::Boolean(values, nulls), Start::Boolean) => {
            values.append(cursor.boolean()?);
            nulls.append_non_null();
        }
        (Column::Boolean(..), _) => return cursor.expected("a boolean"),
        (Column::Binary(b), Start::Text) => bytes(b, cursor)?,
        (Column::Binary(_), _) => return cursor.expected("bytes as base64 text"),
        (Column::Decimal(n, precision, scale), _) => n.push(decimal(cursor, start, *precision, *scale)?),
        (Column::Record(fields), Start::Object) => record(fields, cursor)?,
        (Column::Record(_), _) => return cursor.expected("an object"),
        (Column::Union(shape, members), _) => union(shape, members, cursor, start)?,
        (Column::List(list), Start::Array) => {
            cursor.items(|cursor| read(&mut list.items, cursor).map_err(|e| e.below("[]")))?;
            counted(list.close(), cursor)?;
        }
        (Column::List(_), _) => return cursor.expected("an array"),
        (Column::Map(list, keys), Start::Object) => {
            cursor.members(|cursor, key| {
                push(keys, key.as_bytes(), cursor)?;
                read(&mut list.items, cursor).map_err(|e| e.below(&key))
            })?;
            counted(list.close(), cursor)?;
        }
        (Column::Map(..), _) => return cursor.expected("an object"),
    }
    Ok(())
}

/// Append the object at the cursor; keys that are no field are skipped.
pub fn record(record: &mut RecordColumn, cursor: &mut Cursor<'_>) -> Read<()> {
    let row = record.len();
    let mut guess = 0;
    cursor.open();
    let mut first = true;
    while cursor.more(first, b'}')? {
        first = false;
        let found = if cursor.is_key(record.quoted(guess)) {
            Some(guess)
        } else {
            let key = cursor.key()?;
            record.position(&key)
        };
        let Some((index, child)) = found.and_then(|index| Some((index, record.children.get_mut(index)?)))
        else {
            cursor.skip()?;
            continue;
        };
        if child.len() > row {
            child.truncate(row);
        }
        read(child, cursor).map_err(|e| e.below(record.name(index)))?;
        guess = index + 1;
    }
    record.close();
    Ok(())
}

fn push(column: &mut Bytes, value: &[u8], cursor: &Cursor<'_>) -> Read<()> {
    counted(column.push(value), cursor)
}

fn counted(fits: bool, cursor: &Cursor<'_>) -> Read<()> {
    if fits { Ok(()) } else { cursor.misfit("a batch with more than 32 bits count; read smaller batches") }
}

/// A number; Jackson reads one in quotes as well.
#[inline]
fn integer<T: TryFrom<i64>>(cursor: &mut Cursor<'_>, start: Start, expected: &str) -> Read<T> {
    let before = *cursor;
    let value = match start {
        Start::Number => match cursor.short_integer() {
            Some(value) => Some(value),
            None => whole(cursor.number()?),
        },
        Start::Text => whole(&cursor.text()?),
        _ => None,
    };
    match value.and_then(|value| T::try_from(value).ok()) {
        Some(value) => Ok(value),
        None => before.expected(expected),
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

#[inline]
fn double(cursor: &mut Cursor<'_>, start: Start) -> Read<f64> {
    match start {
        Start::Number => cursor.short_fraction().map_or_else(|| float(cursor, start), Ok),
        _ => float(cursor, start),
    }
}

fn float<T: FromStr>(cursor: &mut Cursor<'_>, start: Start) -> Read<T> {
    let before = *cursor;
    let value = match start {
        Start::Number => cursor.number()?.parse().ok(),
        Start::Text => cursor.text()?.parse().ok(),
        _ => None,
    };
    value.map_or_else(|| before.expected("a number"), Ok)
}

fn bytes(column: &mut Bytes, cursor: &mut Cursor<'_>) -> Read<()> {
    let before = *cursor;
    let text = cursor.text()?;
    match STANDARD.decode(text.as_bytes()).ok().or_else(|| code_points(&text)) {
        Some(bytes) => push(column, &bytes, cursor),
        None => before.expected("bytes as base64 text"),
    }
}

/// Avro's own JSON encoding of bytes: one character per byte.
fn code_points(text: &str) -> Option<Vec<u8>> {
    text.chars().map(|c| u8::try_from(u32::from(c)).ok()).collect()
}

fn decimal(cursor: &mut Cursor<'_>, start: Start, precision: u8, scale: i8) -> Read<i128> {
    let before = *cursor;
    let number = |text: &str| parse_decimal::<Decimal128Type>(text, precision, scale).ok();
    let value = match start {
        Start::Number => number(cursor.number()?),
        Start::Text => {
            let text = cursor.text()?;
            let unscaled = STANDARD.decode(text.as_bytes()).ok().and_then(|bytes| big_endian(&bytes));
            unscaled.or_else(|| number(&text))
        }
        _ => return before.expected("a decimal"),
    };
    let limit = 10u128.checked_pow(u32::from(precision)).unwrap_or(u128::MAX);
    match value.filter(|value| value.unsigned_abs() < limit) {
        Some(value) => Ok(value),
        None => before.expected(&format!("a decimal of {precision} digits, {scale} behind the point")),
    }
}

/// Two's complement of 1 to 16 bytes.
fn big_endian(bytes: &[u8]) -> Option<i128> {
    let first = *bytes.first()?;
    let mut wide = [if first & 0x80 == 0 { 0 } else { 0xff }; 16];
    wide.get_mut(16usize.checked_sub(bytes.len())?..)?.copy_from_slice(bytes);
    Some(i128::from_be_bytes(wide))
}
