//! Values in a special JSON form, as Pulsar's Java client writes them.
//!
//! The client uses Jackson 2.17 with its modules for `java.time` and `java.util.Optional`. A number with a point or an
//! exponent is in seconds, which is the form of Java's `Instant`. The schema determines the unit of other numbers.
//! Dates and times without a zone are arrays of their parts. All dates and times may also be ISO 8601 texts.

use std::borrow::Cow;
use std::sync::Arc;

use arrow_array::ArrayRef;
use arrow_array::types::{Int32Type, Int64Type};
use arrow_schema::{DataType, TimeUnit};

use super::cursor::{JsonCursor, JsonResult, ValueStart, as_text};
use super::date_text;
use super::exact_number::WrittenNumber;
use super::values::push;
use crate::avro_schema::json_form::JsonForm;
use crate::conform::{ArrowResult, per_second};
use crate::decode::buffers::{BytesBuffer, NumberBuffer};

/// A column of one form.
pub struct FormColumn {
    form: JsonForm,
    values: FormValues,
}

enum FormValues {
    Long(NumberBuffer<Int64Type>),
    Int(NumberBuffer<Int32Type>),
    Text(BytesBuffer),
}

impl FormColumn {
    /// Creates a column for the form `name` of `data_type`, or returns `None` if no such form exists.
    pub fn new(name: &str, data_type: &DataType) -> Option<Self> {
        let (base, values) = match data_type {
            DataType::Int64 => ("long", FormValues::Long(NumberBuffer::default())),
            DataType::Int32 => ("int", FormValues::Int(NumberBuffer::default())),
            DataType::Utf8 => ("string", FormValues::Text(BytesBuffer::default())),
            _ => return None,
        };
        Some(Self { form: JsonForm::from_name(base, name)?, values })
    }

    /// Adds a null.
    pub fn append_null(&mut self) {
        match &mut self.values {
            FormValues::Long(n) => n.append_null(),
            FormValues::Int(n) => n.append_null(),
            FormValues::Text(b) => b.append_null(),
        }
    }

    /// Truncates the column to its first `rows` values.
    pub fn truncate(&mut self, rows: usize) {
        match &mut self.values {
            FormValues::Long(n) => n.truncate(rows),
            FormValues::Int(n) => n.truncate(rows),
            FormValues::Text(b) => b.truncate(rows),
        }
    }

    /// Returns the number of values.
    pub fn len(&self) -> usize {
        match &self.values {
            FormValues::Long(n) => n.len(),
            FormValues::Int(n) => n.len(),
            FormValues::Text(b) => b.len(),
        }
    }

    /// Returns the values as an Arrow array, and empties the column.
    pub fn finish(&mut self) -> ArrowResult<ArrayRef> {
        Ok(match &mut self.values {
            FormValues::Long(n) => Arc::new(n.finish()?),
            FormValues::Int(n) => Arc::new(n.finish()?),
            FormValues::Text(b) => Arc::new(b.finish_texts()?),
        })
    }

    /// Appends the value at the cursor, which must not be null.
    // The function is not inlined. So the reader of other columns stays small enough that the cursor's
    // methods are inlined there.
    #[inline(never)]
    pub fn read(&mut self, cursor: &mut JsonCursor<'_>, start: ValueStart) -> JsonResult<()> {
        let before = *cursor;
        match &mut self.values {
            FormValues::Long(n) => match time(self.form, cursor, start)? {
                Some(value) => n.push(value),
                None => return before.mismatch(description(self.form)),
            },
            FormValues::Int(n) => match date_or_character(self.form, cursor, start)? {
                Some(value) => n.push(value),
                None => return before.mismatch(description(self.form)),
            },
            FormValues::Text(b) => text(b, self.form, cursor, start)?,
        }
        Ok(())
    }
}

#[inline(never)]
fn quoted_text<'a>(cursor: &mut JsonCursor<'a>) -> JsonResult<Cow<'a, [u8]>> {
    cursor.text()
}

fn description(form: JsonForm) -> &'static str {
    match form {
        JsonForm::Instant(_) => {
            "an instant: a number, or an ISO 8601 text with an offset from UTC, from about the year -290000 to 294000"
        }
        JsonForm::LocalDateTime(_) => {
            "a local date and time: a whole number, an ISO 8601 text or an array of its parts"
        }
        JsonForm::TimeOfDay(_) => "a time of day: a whole number, an ISO 8601 text or an array of its parts",
        JsonForm::Date => {
            "a date: a whole number of days, an ISO 8601 text or an array of year, month and day"
        }
        JsonForm::Character => "one character, or the number of a UTF-16 code unit",
        JsonForm::Decimal => "a number",
        JsonForm::Integer => "a whole number",
        JsonForm::Any => "a value",
    }
}

fn time(form: JsonForm, cursor: &mut JsonCursor<'_>, start: ValueStart) -> JsonResult<Option<i64>> {
    let value = match (form, start) {
        (JsonForm::Instant(unit), ValueStart::Number) => match cursor.short_integer() {
            Some(number) => to_micros(number, unit),
            None => seconds_to_micros(cursor.number()?),
        },
        (JsonForm::Instant(_), ValueStart::Text) => {
            let text = quoted_text(cursor)?;
            let text = as_text(&text);
            // A whole number in quotes is refused, because Java reads such a number as seconds, but other
            // readers use the schema's unit.
            if text.contains('.') && !text.contains('T') {
                seconds_to_micros(text)
            } else {
                date_text::instant(text)
            }
        }
        (JsonForm::LocalDateTime(unit) | JsonForm::TimeOfDay(unit), ValueStart::Number) => {
            let number = cursor.short_integer();
            number.and_then(|number| to_micros(number, unit))
        }
        (JsonForm::LocalDateTime(_), ValueStart::Text) => {
            date_text::local_date_time(as_text(&quoted_text(cursor)?))
        }
        (JsonForm::TimeOfDay(_), ValueStart::Text) => date_text::time_of_day(as_text(&quoted_text(cursor)?)),
        (JsonForm::LocalDateTime(_), ValueStart::Array) => match parts(cursor)?.as_deref() {
            Some([year, month, day, time @ ..]) => {
                let days = date_text::days(*year, *month, *day);
                days.zip(time_of_parts(time)).and_then(|(days, nanos)| date_text::micros(days, nanos))
            }
            _ => None,
        },
        (JsonForm::TimeOfDay(_), ValueStart::Array) => {
            parts(cursor)?.and_then(|parts| time_of_parts(&parts)).map(|nanos| nanos / 1000)
        }
        _ => None,
    };
    let is_time_of_day = matches!(form, JsonForm::TimeOfDay(_));
    Ok(value.filter(|value| !is_time_of_day || (0..date_text::DAY).contains(value)))
}

/// Returns the nanoseconds since midnight from hours, minutes, and optional seconds and nanoseconds.
fn time_of_parts(parts: &[i64]) -> Option<i64> {
    match parts {
        [hours, minutes] => date_text::nanos(*hours, *minutes, 0, 0),
        [hours, minutes, seconds] => date_text::nanos(*hours, *minutes, *seconds, 0),
        [hours, minutes, seconds, nanos] => date_text::nanos(*hours, *minutes, *seconds, *nanos),
        _ => None,
    }
}

/// Reads an array of at most seven whole numbers, or returns `None` for another array.
fn parts(cursor: &mut JsonCursor<'_>) -> JsonResult<Option<Vec<i64>>> {
    let mut found = Some(Vec::with_capacity(7));
    cursor.items(|cursor| {
        let number = if cursor.start()? == ValueStart::Number { cursor.short_integer() } else { None };
        match (number, &mut found) {
            (Some(number), Some(numbers)) if numbers.len() < 7 => numbers.push(number),
            (None, _) => {
                found = None;
                cursor.skip()?;
            }
            _ => found = None,
        }
        Ok(())
    })?;
    Ok(found)
}

/// Converts a number of a unit to microseconds, rounded down towards the past.
fn to_micros(number: i64, unit: TimeUnit) -> Option<i64> {
    const MICROS: i64 = 1_000_000;
    match per_second(unit) {
        per_second if per_second > MICROS => Some(number.div_euclid(per_second / MICROS)),
        per_second => number.checked_mul(MICROS / per_second),
    }
}

/// Converts the text of a number of seconds to microseconds.
fn seconds_to_micros(text: &str) -> Option<i64> {
    let nanos = WrittenNumber::parse(text)?.java_nanos()?;
    i64::try_from(nanos.div_euclid(1000)).ok()
}

fn date_or_character(
    form: JsonForm,
    cursor: &mut JsonCursor<'_>,
    start: ValueStart,
) -> JsonResult<Option<i32>> {
    let value = match (form, start) {
        (JsonForm::Date | JsonForm::Character, ValueStart::Number) => cursor.short_integer(),
        (JsonForm::Date, ValueStart::Text) => date_text::date(as_text(&quoted_text(cursor)?)),
        (JsonForm::Date, ValueStart::Array) => match parts(cursor)?.as_deref() {
            Some([year, month, day]) => date_text::days(*year, *month, *day),
            _ => None,
        },
        (JsonForm::Character, ValueStart::Text) => code_unit(cursor)?,
        _ => None,
    };
    let value = value.filter(|value| form == JsonForm::Date || (0..=0xffff).contains(value));
    Ok(value.and_then(|value| i32::try_from(value).ok()))
}

/// Reads a text of one UTF-16 code unit. An escape may also represent half of a surrogate pair.
fn code_unit(cursor: &mut JsonCursor<'_>) -> JsonResult<Option<i64>> {
    if let Some(unit) = escaped_unit(cursor.rest()) {
        cursor.offset += 8;
        return Ok(Some(unit));
    }
    let text = quoted_text(cursor)?;
    let mut units = as_text(&text).encode_utf16();
    Ok(units.next().filter(|_| units.next().is_none()).map(i64::from))
}

fn escaped_unit(text: &[u8]) -> Option<i64> {
    let digits = text.strip_prefix(b"\"\\u")?;
    let (digits, rest) = digits.split_at_checked(4)?;
    let is_whole = digits.iter().all(u8::is_ascii_hexdigit) && rest.first() == Some(&b'"');
    is_whole.then(|| i64::from_str_radix(as_text(digits), 16).ok())?
}

fn text(
    column: &mut BytesBuffer,
    form: JsonForm,
    cursor: &mut JsonCursor<'_>,
    start: ValueStart,
) -> JsonResult<()> {
    let before = *cursor;
    if form == JsonForm::Any {
        cursor.skip()?;
        return push(column, cursor.text.get(before.offset..cursor.offset).unwrap_or_default(), cursor);
    }
    let is_number = |text: &str| match WrittenNumber::parse(text) {
        Some(number) => form == JsonForm::Decimal || number.is_whole(),
        None => false,
    };
    match start {
        ValueStart::Number => {
            let number = cursor.number()?;
            if is_number(number) {
                return push(column, number.as_bytes(), cursor);
            }
        }
        ValueStart::Text => {
            let text = quoted_text(cursor)?;
            if is_number(as_text(&text)) {
                return push(column, &text, cursor);
            }
        }
        _ => {}
    }
    before.mismatch(description(form))
}
