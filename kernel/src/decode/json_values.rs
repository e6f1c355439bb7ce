//! How single JSON values become Arrow values, as Jackson reads them: integers are whole (but may be written 1.0 or
//! in quotes), bytes are base64, decimals are numbers (in quotes too) or base64 of the unscaled value, floats that
//! JSON has no numbers for are texts. No digit is lost but those that a float has not.

use std::str::FromStr;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;

use super::decimal_bytes::from_big_endian;
use super::exact_number::Written;
use super::json_buffers::Bytes;
use super::json_columns::Column;
use super::json_cursor::{Cursor, Read, Start};
use super::json_records::RecordColumn;
use super::json_unions::union;
use super::list_column::Items;

/// Append the value at the cursor, which may be null where that is `nullable`.
pub fn read(column: &mut Column, nullable: bool, cursor: &mut Cursor<'_>) -> Read<()> {
    let start = cursor.start()?;
    match (column, start) {
        (_, Start::Null) if !nullable => {
            return cursor.misfit("expected a value, got null; the schema does not allow null here");
        }
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
            let nullable = list.nullable_items;
            cursor.items(|cursor| read(&mut list.items, nullable, cursor).map_err(|e| e.below("[]")))?;
            counted(list.close(), cursor)?;
        }
        (Column::List(_), _) => return cursor.expected("an array"),
        (Column::Map(list, keys), Start::Object) => {
            let nullable = list.nullable_items;
            cursor.members(|cursor, key| {
                push(keys, key.as_bytes(), cursor)?;
                read(&mut list.items, nullable, cursor).map_err(|e| e.below(&key))
            })?;
            counted(list.close_map(|entry| keys.get(entry)), cursor)?;
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
        let nullable = record.is_nullable(index);
        let Some(child) = record.children.get_mut(index) else { continue };
        read(child, nullable, cursor).map_err(|e| e.below(record.name(index)))?;
        guess = index + 1;
    }
    record.close(cursor)
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
    Written::parse(text.trim_ascii())?.integer()
}

#[inline]
fn double(cursor: &mut Cursor<'_>, start: Start) -> Read<f64> {
    match start {
        Start::Number => cursor.short_fraction().map_or_else(|| float(cursor, start), Ok),
        _ => float(cursor, start),
    }
}

fn float<T: FromStr + Into<f64> + Copy>(cursor: &mut Cursor<'_>, start: Start) -> Read<T> {
    let before = *cursor;
    let value = match start {
        Start::Number => finite(cursor.number()?),
        Start::Text => named_or_finite(cursor.text()?.trim_ascii()),
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
        _ => Written::parse(text).and_then(|_| finite(text)),
    }
}

fn bytes(column: &mut Bytes, cursor: &mut Cursor<'_>) -> Read<()> {
    let before = *cursor;
    match STANDARD.decode(cursor.text()?.as_bytes()) {
        Ok(bytes) => push(column, &bytes, cursor),
        Err(_) => before.expected("bytes as base64 text"),
    }
}

/// Text that is a number is a number, whether or not it is base64 too; other text is the base64 of the unscaled value.
fn decimal(cursor: &mut Cursor<'_>, start: Start, precision: u8, scale: i8) -> Read<i128> {
    let before = *cursor;
    let value = match start {
        Start::Number => exact(cursor.number()?, precision, scale).flatten(),
        Start::Text => {
            let text = cursor.text()?;
            exact(text.trim_ascii(), precision, scale).unwrap_or_else(|| {
                let unscaled =
                    STANDARD.decode(text.as_bytes()).ok().and_then(|bytes| from_big_endian(&bytes));
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
    Some(Written::parse(text)?.decimal(precision, scale))
}
