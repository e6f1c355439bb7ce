//! The conversion of JSON values to Arrow values, with the rules of Jackson; [forms](super::forms) have other rules.
//!
//! * Integers are whole numbers. They may have a form such as `1.0`, and may be in quotes.
//! * Bytes are base64.
//! * Decimals are numbers, also in quotes, or the base64 of the unscaled value.
//! * Floats that JSON cannot write as a number, such as NaN, are texts.
//!
//! The conversion loses no digits except digits that a float cannot represent.

use std::str::FromStr;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;

use super::columns::JsonColumn;
use super::cursor::{JsonCursor, JsonResult, ValueStart, as_text};
use super::exact_number::{WrittenNumber, decimal_from_bytes};
use super::records::RecordColumn;
use super::unions::read_union;
use crate::decode::buffers::BytesBuffer;
use crate::decode::list_column::Items;

/// Appends the value at the cursor. The value may be null only if `nullable` is set.
pub fn read(column: &mut JsonColumn, nullable: bool, cursor: &mut JsonCursor<'_>) -> JsonResult<()> {
    let start = cursor.start()?;
    match (column, start) {
        (_, ValueStart::Null) if !nullable => {
            return cursor.schema_fault("expected a value, got null; the schema does not allow null here");
        }
        (column, ValueStart::Null) => {
            cursor.null()?;
            column.append_null();
        }
        (JsonColumn::Null(_), _) => return cursor.mismatch("null"),
        (JsonColumn::Text(b), ValueStart::Text) => push(b, &cursor.text()?, cursor)?,
        (JsonColumn::Text(_), _) => return cursor.mismatch("a text"),
        (JsonColumn::Digits(b), ValueStart::Number) => push(b, cursor.number()?.as_bytes(), cursor)?,
        (JsonColumn::Digits(b), ValueStart::Text) => {
            let before = *cursor;
            let text = cursor.text()?;
            if WrittenNumber::parse(as_text(&text).trim_ascii()).is_none() {
                return before.mismatch("a number");
            }
            push(b, text.trim_ascii(), cursor)?;
        }
        (JsonColumn::Digits(_), _) => return cursor.mismatch("a number"),
        (JsonColumn::Long(n), _) => n.push(integer(cursor, start, "an integer of 64 bits")?),
        (JsonColumn::Int(n), _) => n.push(integer(cursor, start, "an integer of 32 bits")?),
        (JsonColumn::Short(n), _) => n.push(integer(cursor, start, "an integer of 16 bits")?),
        (JsonColumn::Byte(n), _) => n.push(integer(cursor, start, "an integer of 8 bits")?),
        (JsonColumn::Double(n), _) => n.push(double(cursor, start)?),
        (JsonColumn::Float(n), _) => n.push(float(cursor, start)?),
        (JsonColumn::Boolean(b), ValueStart::Boolean) => b.push(cursor.boolean()?),
        (JsonColumn::Boolean(_), _) => return cursor.mismatch("a boolean"),
        (JsonColumn::Binary(b), ValueStart::Text) => bytes(b, cursor)?,
        (JsonColumn::Binary(_), _) => return cursor.mismatch("bytes as base64 text"),
        (JsonColumn::Decimal(n, precision, scale), _) => n.push(decimal(cursor, start, *precision, *scale)?),
        (JsonColumn::Form(column), _) => column.read(cursor, start)?,
        (JsonColumn::Record(fields), ValueStart::Object) => read_record(fields, cursor)?,
        (JsonColumn::Record(_), _) => return cursor.mismatch("an object"),
        (JsonColumn::Union(shape, members), _) => read_union(shape, members, cursor, start)?,
        (JsonColumn::List(list), ValueStart::Array) => {
            let nullable = list.nullable_items;
            cursor.items(|cursor| read(&mut list.items, nullable, cursor).map_err(|e| e.below("[]")))?;
            check_count(list.close(), cursor)?;
        }
        (JsonColumn::List(_), _) => return cursor.mismatch("an array"),
        (JsonColumn::Map(list, keys), ValueStart::Object) => {
            let nullable = list.nullable_items;
            cursor.members(|cursor, key| {
                push(keys, &key, cursor)?;
                read(&mut list.items, nullable, cursor).map_err(|e| e.below(as_text(&key)))
            })?;
            check_count(list.close_map(|entry| keys.get(entry)), cursor)?;
        }
        (JsonColumn::Map(..), _) => return cursor.mismatch("an object"),
    }
    Ok(())
}

/// Appends the object at the cursor; keys without a field are skipped.
pub fn read_record(record: &mut RecordColumn, cursor: &mut JsonCursor<'_>) -> JsonResult<()> {
    let row = record.len();
    let (mut position, mut filled) = (0, 0);
    cursor.open();
    let mut first = true;
    while cursor.has_next(first, b'}')? {
        first = false;
        let field = match record.members.expected_member(position) {
            Some(member) if cursor.is_key(&member.quoted) => {
                position += 1;
                member.field
            }
            _ => {
                let (field, next) = record.members.unexpected(position, cursor)?;
                position = next;
                field
            }
        };
        let nullable = record.is_nullable(field);
        let Some(child) = record.children.get_mut(field) else {
            cursor.skip()?;
            continue;
        };
        if child.len() > row {
            child.truncate(row);
        } else {
            filled += 1;
        }
        read(child, nullable, cursor).map_err(|e| e.below(record.name(field)))?;
    }
    record.close(filled, cursor)
}

pub fn push(column: &mut BytesBuffer, value: &[u8], cursor: &JsonCursor<'_>) -> JsonResult<()> {
    check_count(column.push(value), cursor)
}

fn check_count(fits: bool, cursor: &JsonCursor<'_>) -> JsonResult<()> {
    if fits {
        Ok(())
    } else {
        cursor.schema_fault(
            "expected at most 2 GiB or 2^31 items in a column of a batch, got more; read smaller batches",
        )
    }
}

/// Reads an integer, which may be in quotes, as in Jackson.
#[inline]
fn integer<T: TryFrom<i64>>(cursor: &mut JsonCursor<'_>, start: ValueStart, expected: &str) -> JsonResult<T> {
    let before = *cursor;
    let value = match start {
        ValueStart::Number => match cursor.short_integer() {
            Some(value) => Some(value),
            None => parse_whole(cursor.number()?),
        },
        ValueStart::Text => parse_whole(as_text(&cursor.text()?)),
        _ => None,
    };
    match value.and_then(|value| T::try_from(value).ok()) {
        Some(value) => Ok(value),
        None => before.mismatch(expected),
    }
}

/// Parses a whole number, which may have a form such as 1.0 or 2e3.
fn parse_whole(text: &str) -> Option<i64> {
    WrittenNumber::parse(text.trim_ascii())?.integer()
}

#[inline]
fn double(cursor: &mut JsonCursor<'_>, start: ValueStart) -> JsonResult<f64> {
    match start {
        ValueStart::Number => cursor.short_fraction().map_or_else(|| float(cursor, start), Ok),
        _ => float(cursor, start),
    }
}

fn float<T: FromStr + Into<f64> + Copy>(cursor: &mut JsonCursor<'_>, start: ValueStart) -> JsonResult<T> {
    let before = *cursor;
    let value = match start {
        ValueStart::Number => parse_finite(cursor.number()?),
        ValueStart::Text => parse_named_or_finite(as_text(&cursor.text()?).trim_ascii()),
        _ => return before.mismatch("a number"),
    };
    value.map_or_else(|| before.mismatch("a number in the range of its type"), Ok)
}

/// Parses a number to the nearest float, or returns `None` if the result would be infinite.
fn parse_finite<T: FromStr + Into<f64> + Copy>(text: &str) -> Option<T> {
    text.parse().ok().filter(|value: &T| (*value).into().is_finite())
}

fn parse_named_or_finite<T: FromStr + Into<f64> + Copy>(text: &str) -> Option<T> {
    match text {
        "NaN" | "Infinity" | "-Infinity" | "INF" | "-INF" => text.parse().ok(),
        _ => WrittenNumber::parse(text).and_then(|_| parse_finite(text)),
    }
}

fn bytes(column: &mut BytesBuffer, cursor: &mut JsonCursor<'_>) -> JsonResult<()> {
    let before = *cursor;
    match STANDARD.decode(cursor.text()?) {
        Ok(bytes) => push(column, &bytes, cursor),
        Err(_) => before.mismatch("bytes as base64 text"),
    }
}

/// Reads a decimal; text that is not a number must be the base64 of the unscaled value.
fn decimal(cursor: &mut JsonCursor<'_>, start: ValueStart, precision: u8, scale: i8) -> JsonResult<i128> {
    let before = *cursor;
    let value = match start {
        ValueStart::Number => exact_decimal(cursor.number()?, precision, scale).flatten(),
        ValueStart::Text => {
            let text = cursor.text()?;
            exact_decimal(as_text(&text).trim_ascii(), precision, scale).unwrap_or_else(|| {
                let unscaled = STANDARD.decode(&text).ok().and_then(|bytes| decimal_from_bytes(&bytes));
                let limit = 10u128.checked_pow(u32::from(precision)).unwrap_or(u128::MAX);
                unscaled.filter(|value| value.unsigned_abs() < limit)
            })
        }
        _ => return before.mismatch("a decimal"),
    };
    match value {
        Some(value) => Ok(value),
        None => before.mismatch(&format!("a decimal of {precision} digits, {scale} after the point")),
    }
}

/// Returns the unscaled value. The outer `None` means that the text is not a number; the inner `None` means
/// that the number does not fit.
fn exact_decimal(text: &str, precision: u8, scale: i8) -> Option<Option<i128>> {
    Some(WrittenNumber::parse(text)?.decimal(precision, scale))
}
