//! Values with a special form in JSON, so that Pulsar's Java client reads the same value.
//!
//! Dates and times are ISO 8601 texts. A Java `Instant` would read a number as seconds, and other readers
//! would read it in the schema's unit. No reader confuses a text with another value.

use arrow_array::cast::AsArray;
use arrow_array::types::{Int32Type, Int64Type};
use arrow_array::{Array, ArrayRef, Int32Array, Int64Array, StringArray};

use super::text::{put_long, put_text};
use crate::avro_schema::json_form::JsonForm;
use crate::decode::json::exact_number::WrittenNumber;
use crate::decode::json::{is_number, is_value};
use crate::encode::binding::{EncodeResult, Refused};

const SECOND: i64 = 1_000_000;
const DAY: i64 = 86_400 * SECOND;

/// A column whose values have one form.
#[derive(Debug)]
pub struct BoundForm {
    form: JsonForm,
    values: FormArray,
}

#[derive(Debug)]
enum FormArray {
    Long(Int64Array),
    Int(Int32Array),
    Text(StringArray),
}

impl BoundForm {
    /// Binds `array`, which must have the form's physical type.
    pub fn new(form: JsonForm, array: &ArrayRef) -> Self {
        let values = match form.base() {
            "long" => FormArray::Long(array.as_primitive::<Int64Type>().clone()),
            "int" => FormArray::Int(array.as_primitive::<Int32Type>().clone()),
            _ => FormArray::Text(array.as_string::<i32>().clone()),
        };
        Self { form, values }
    }

    /// Returns whether the value in `row` is null.
    pub fn is_null(&self, row: usize) -> bool {
        match &self.values {
            FormArray::Long(a) => a.is_null(row),
            FormArray::Int(a) => a.is_null(row),
            FormArray::Text(a) => a.is_null(row),
        }
    }

    /// Appends the value in `row`, which is not null.
    pub fn write(&self, row: usize, out: &mut Vec<u8>) -> EncodeResult {
        match &self.values {
            FormArray::Long(a) => put_time(self.form, a.value(row), out),
            FormArray::Int(a) if self.form == JsonForm::Character => put_character(a.value(row), out)?,
            FormArray::Int(a) => {
                out.push(b'"');
                put_date(i64::from(a.value(row)), out);
                out.push(b'"');
            }
            FormArray::Text(a) => put_verbatim(self.form, a.value(row), out)?,
        }
        Ok(())
    }
}

/// Returns the ISO 8601 text of a time in microseconds.
pub fn time_text(form: JsonForm, micros: i64) -> String {
    let mut out = Vec::new();
    put_time(form, micros, &mut out);
    String::from_utf8_lossy(&out).trim_matches('"').to_owned()
}

fn put_time(form: JsonForm, micros: i64, out: &mut Vec<u8>) {
    out.push(b'"');
    if !matches!(form, JsonForm::TimeOfDay(_)) {
        put_date(micros.div_euclid(DAY), out);
        out.push(b'T');
    }
    put_time_of_day(micros.rem_euclid(DAY), out);
    if matches!(form, JsonForm::Instant(_)) {
        out.push(b'Z');
    }
    out.push(b'"');
}

fn put_time_of_day(micros: i64, out: &mut Vec<u8>) {
    let seconds = micros / SECOND;
    put_padded(seconds / 3600, 2, out);
    out.push(b':');
    put_padded(seconds / 60 % 60, 2, out);
    out.push(b':');
    put_padded(seconds % 60, 2, out);
    if micros % SECOND != 0 {
        out.push(b'.');
        put_padded(micros % SECOND, 6, out);
    }
}

/// Appends a date. A year with more than four digits has a sign, as in `java.time`.
fn put_date(days: i64, out: &mut Vec<u8>) {
    let (year, month, day) = year_month_day(days);
    match year {
        ..0 => out.push(b'-'),
        0..10_000 => {}
        _ => out.push(b'+'),
    }
    put_padded(year.abs(), 4, out);
    out.push(b'-');
    put_padded(month, 2, out);
    out.push(b'-');
    put_padded(day, 2, out);
}

fn put_padded(number: i64, digits: u32, out: &mut Vec<u8>) {
    for place in (1..digits).rev() {
        if number < 10i64.pow(place) {
            out.push(b'0');
        }
    }
    put_long(out, number);
}

/// Returns year, month and day of a number of days since 1970, in the Gregorian calendar.
fn year_month_day(days: i64) -> (i64, i64, i64) {
    const DAYS_OF_400_YEARS: i64 = 146_097;
    // Counting from March of the year 0 makes a leap day the last day of its year.
    let days = days + 719_468;
    let (cycle, day) = (days.div_euclid(DAYS_OF_400_YEARS), days.rem_euclid(DAYS_OF_400_YEARS));
    let year = (day - day / 1460 + day / 36_524 - day / 146_096) / 365;
    let day = day - (365 * year + year / 4 - year / 100);
    let month = (5 * day + 2) / 153;
    let day = day - (153 * month + 2) / 5 + 1;
    let year = 400 * cycle + year;
    if month < 10 { (year, month + 3, day) } else { (year + 1, month - 9, day) }
}

/// Appends a UTF-16 code unit as text. Half of a surrogate pair can only be written as an escape.
fn put_character(unit: i32, out: &mut Vec<u8>) -> EncodeResult {
    match u16::try_from(unit) {
        Ok(unit) => match char::from_u32(u32::from(unit)) {
            Some(character) => put_text(out, character.encode_utf8(&mut [0; 4])),
            None => out.extend_from_slice(format!("\"\\u{unit:04x}\"").as_bytes()),
        },
        Err(_) => return Err(Refused::new(format!("expected a UTF-16 code unit of 0 to 65535, got {unit}"))),
    }
    Ok(())
}

fn put_verbatim(form: JsonForm, text: &str, out: &mut Vec<u8>) -> EncodeResult {
    if form == JsonForm::Any {
        if !is_value(text) {
            return Err(Refused::new(format!("expected JSON, got {text:?}")));
        }
    } else {
        let number = WrittenNumber::parse(text);
        if !number.is_some_and(|number| form == JsonForm::Decimal || number.is_whole()) {
            let expected = if form == JsonForm::Decimal { "a number" } else { "a whole number" };
            return Err(Refused::new(format!("expected {expected} as text, got {text:?}")));
        }
        if !is_number(text) {
            // Java reads `+5` and `.5`, which are not numbers in JSON.
            put_text(out, text);
            return Ok(());
        }
    }
    out.extend_from_slice(text.as_bytes());
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(form: JsonForm, micros: i64) -> String {
        format!("\"{}\"", time_text(form, micros))
    }

    #[test]
    fn texts_are_those_of_java() {
        use arrow_schema::TimeUnit::Millisecond;
        let instant = JsonForm::Instant(Millisecond);
        assert_eq!(written(instant, 0), "\"1970-01-01T00:00:00Z\"");
        assert_eq!(written(instant, -1), "\"1969-12-31T23:59:59.999999Z\"");
        assert_eq!(written(instant, 1_714_979_289_000_500), "\"2024-05-06T07:08:09.000500Z\"");
        assert_eq!(written(instant, 253_402_300_800_000_000), "\"+10000-01-01T00:00:00Z\"");
        assert_eq!(
            written(JsonForm::LocalDateTime(Millisecond), -62_167_305_600_000_000),
            "\"-0001-12-31T00:00:00\""
        );
        assert_eq!(written(JsonForm::TimeOfDay(Millisecond), 25_689_000_001), "\"07:08:09.000001\"");
    }
}
