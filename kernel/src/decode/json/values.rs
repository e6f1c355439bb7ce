//! How single JSON values become Arrow values, as Jackson reads them, but for [forms](super::forms): integers are whole (but may be written 1.0 or
//! in quotes), bytes are base64, decimals are numbers (in quotes too) or base64 of the unscaled value, floats that
//! JSON has no numbers for are texts. No digit is lost but those that a float has not.

use std::str::FromStr;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;

use super::columns::JsonColumn;
use super::cursor::{JsonCursor, JsonResult, ValueStart, as_text};
use super::exact_number::{WrittenNumber, decimal_from_bytes};
use super::records::RecordColumn;
use super::unions::union;
use crate::decode::buffers::BytesBuffer;
use crate::decode::list_column::Items;

/// Append the value at the cursor, which may be null where that is `nullable`.
pub fn read(column: &mut JsonColumn, nullable: bool, cursor: &mut JsonCursor<'_>) -> JsonResult<()> {
    let start = cursor.start()?;
    match (column, start) {
        (_, ValueStart::Null) if !nullable => {
            return cursor.misfit("expected a value, got null; the schema does not allow null here");
        }
        (column, ValueStart::Null) => {
            cursor.null()?;
            column.append_null();
        }
        (JsonColumn::Null(_), _) => return cursor.expected("null"),
        (JsonColumn::Text(b), ValueStart::Text) => push(b, &cursor.text()?, cursor)?,
        (JsonColumn::Text(_), _) => return cursor.expected("a text"),
        (JsonColumn::Digits(b), ValueStart::Number) => push(b, cursor.number()?.as_bytes(), cursor)?,
        (JsonColumn::Digits(b), ValueStart::Text) => {
            let before = *cursor;
            let text = cursor.text()?;
            if WrittenNumber::parse(as_text(&text).trim_ascii()).is_none() {
                return before.expected("a number");
            }
            push(b, text.trim_ascii(), cursor)?;
        }
        (JsonColumn::Digits(_), _) => return cursor.expected("a number"),
        (JsonColumn::Long(n), _) => n.push(integer(cursor, start, "an integer of 64 bits")?),
        (JsonColumn::Int(n), _) => n.push(integer(cursor, start, "an integer of 32 bits")?),
        (JsonColumn::Short(n), _) => n.push(integer(cursor, start, "an integer of 16 bits")?),
        (JsonColumn::Byte(n), _) => n.push(integer(cursor, start, "an integer of 8 bits")?),
        (JsonColumn::Double(n), _) => n.push(double(cursor, start)?),
        (JsonColumn::Float(n), _) => n.push(float(cursor, start)?),
        (JsonColumn::Boolean(b), ValueStart::Boolean) => b.push(cursor.boolean()?),
        (JsonColumn::Boolean(_), _) => return cursor.expected("a boolean"),
        (JsonColumn::Binary(b), ValueStart::Text) => bytes(b, cursor)?,
        (JsonColumn::Binary(_), _) => return cursor.expected("bytes as base64 text"),
        (JsonColumn::Decimal(n, precision, scale), _) => n.push(decimal(cursor, start, *precision, *scale)?),
        (JsonColumn::Formed(column), _) => column.read(cursor, start)?,
        (JsonColumn::Record(fields), ValueStart::Object) => record(fields, cursor)?,
        (JsonColumn::Record(_), _) => return cursor.expected("an object"),
        (JsonColumn::Union(shape, members), _) => union(shape, members, cursor, start)?,
        (JsonColumn::List(list), ValueStart::Array) => {
            let nullable = list.nullable_items;
            cursor.items(|cursor| read(&mut list.items, nullable, cursor).map_err(|e| e.below("[]")))?;
            counted(list.close(), cursor)?;
        }
        (JsonColumn::List(_), _) => return cursor.expected("an array"),
        (JsonColumn::Map(list, keys), ValueStart::Object) => {
            let nullable = list.nullable_items;
            cursor.members(|cursor, key| {
                push(keys, &key, cursor)?;
                read(&mut list.items, nullable, cursor).map_err(|e| e.below(as_text(&key)))
            })?;
            counted(list.close_map(|entry| keys.get(entry)), cursor)?;
        }
        (JsonColumn::Map(..), _) => return cursor.expected("an object"),
    }
    Ok(())
}

/// Append the object at the cursor; keys that are no field are skipped.
pub fn record(record: &mut RecordColumn, cursor: &mut JsonCursor<'_>) -> JsonResult<()> {
    let row = record.len();
    let (mut place, mut filled) = (0, 0);
    cursor.open();
    let mut first = true;
    while cursor.more(first, b'}')? {
        first = false;
        let field = match record.members.expected(place) {
            Some(member) if cursor.is_key(&member.quoted) => {
                place += 1;
                member.field
            }
            _ => {
                let (field, next) = record.members.unexpected(place, cursor)?;
                place = next;
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
    counted(column.push(value), cursor)
}

fn counted(fits: bool, cursor: &JsonCursor<'_>) -> JsonResult<()> {
    if fits { Ok(()) } else { cursor.misfit("a batch with more than 32 bits count; read smaller batches") }
}

/// A number; Jackson reads one in quotes as well.
#[inline]
fn integer<T: TryFrom<i64>>(cursor: &mut JsonCursor<'_>, start: ValueStart, expected: &str) -> JsonResult<T> {
    let before = *cursor;
    let value = match start {
        ValueStart::Number => match cursor.short_integer() {
            Some(value) => Some(value),
            None => whole(cursor.number()?),
        },
        ValueStart::Text => whole(as_text(&cursor.text()?)),
        _ => None,
    };
    match value.and_then(|value| T::try_from(value).ok()) {
        Some(value) => Ok(value),
        None => before.expected(expected),
    }
}

/// A whole number, also when written like 1.0 or 2e3.
fn whole(text: &str) -> Option<i64> {
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
        ValueStart::Number => finite(cursor.number()?),
        ValueStart::Text => named_or_finite(as_text(&cursor.text()?).trim_ascii()),
        _ => return before.expected("a number"),
    };
    value.map_or_else(|| before.expected("a number in the range of its type"), Ok)
}

/// The nearest value; `None` for a number so large that it would be infinite.
fn finite<T: FromStr + Into<f64> + Copy>(text: &str) -> Option<T> {
    text.parse().ok().filter(|value: &T| (*value).into().is_finite())
}

fn named_or_finite<T: FromStr + Into<f64> + Copy>(text: &str) -> Option<T> {
    match text {
        "NaN" | "Infinity" | "-Infinity" | "INF" | "-INF" => text.parse().ok(),
        _ => WrittenNumber::parse(text).and_then(|_| finite(text)),
    }
}

fn bytes(column: &mut BytesBuffer, cursor: &mut JsonCursor<'_>) -> JsonResult<()> {
    let before = *cursor;
    match STANDARD.decode(cursor.text()?) {
        Ok(bytes) => push(column, &bytes, cursor),
        Err(_) => before.expected("bytes as base64 text"),
    }
}

/// Text that is a number is a number, whether or not it is base64 too; other text is the base64 of the unscaled value.
fn decimal(cursor: &mut JsonCursor<'_>, start: ValueStart, precision: u8, scale: i8) -> JsonResult<i128> {
    let before = *cursor;
    let value = match start {
        ValueStart::Number => exact(cursor.number()?, precision, scale).flatten(),
        ValueStart::Text => {
            let text = cursor.text()?;
            exact(as_text(&text).trim_ascii(), precision, scale).unwrap_or_else(|| {
                let unscaled = STANDARD.decode(&text).ok().and_then(|bytes| decimal_from_bytes(&bytes));
                let limit = 10u128.checked_pow(u32::from(precision)).unwrap_or(u128::MAX);
                unscaled.filter(|value| value.unsigned_abs() < limit)
            })
        }
        _ => return before.expected("a decimal"),
    };
    match value {
        Some(value) => Ok(value),
        None => before.expected(&format!("a decimal of {precision} digits, {scale} behind the point")),
    }
}

/// The unscaled value, if it fits; the outer `None` is for text that is no number.
fn exact(text: &str, precision: u8, scale: i8) -> Option<Option<i128>> {
    Some(WrittenNumber::parse(text)?.decimal(precision, scale))
}
