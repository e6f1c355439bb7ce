//! The decoder of Pulsar's primitive schemas, in the encoding of its Java client: big endian, strings as UTF-8.
//!
//! Dates and times become the types that Spark exchanges; a time outside Spark's range is an error. Digits below a
//! microsecond are rounded down, towards the past.

use std::sync::Arc;

use arrow_array::builder::{
    BinaryBuilder, BooleanBuilder, Date32Builder, Float32Builder, Float64Builder, Int8Builder, Int16Builder,
    Int32Builder, Int64Builder, Time64NanosecondBuilder, TimestampMicrosecondBuilder,
};
use arrow_array::{ArrayRef, new_null_array};
use arrow_schema::{DataType, TimeUnit};

use super::ascii::checked_text;
use super::buffers::{BytesBuffer, check_room};
use crate::conform::ArrowResult;
use crate::error::{KernelError, Result};

/// A column of primitive values under construction.
#[derive(Debug)]
pub enum PrimitiveValues {
    /// "bytes"
    Bytes(BinaryBuilder),
    /// "string"
    String(BytesBuffer),
    /// "boolean"
    Boolean(BooleanBuilder),
    /// "int8"
    Int8(Int8Builder),
    /// "int16"
    Int16(Int16Builder),
    /// "int32"
    Int32(Int32Builder),
    /// "int64"
    Int64(Int64Builder),
    /// "float"
    Float(Float32Builder),
    /// "double"
    Double(Float64Builder),
    /// "date" and "local_date", with a function that reads days since 1970 from a payload
    Day(Date32Builder, fn(&[u8]) -> Result<i32>),
    /// `time` and `local_time`, with a function that reads nanoseconds since midnight from a payload
    TimeOfDay(Time64NanosecondBuilder, fn(&[u8]) -> Result<i64>),
    /// "timestamp", "instant" and "local_date_time", with a function that reads microseconds since 1970
    Micros(TimestampMicrosecondBuilder, fn(&[u8]) -> Result<i64>),
    /// Number of rows, if the value is not an output column.
    Skipped(usize),
}

/// Returns the Arrow type that a primitive schema is encoded from, or `None` if the name is not a primitive schema.
///
/// Schemas with different encodings have different types.
pub fn physical_type(value_type: &str) -> Option<DataType> {
    Some(match value_type {
        "bytes" => DataType::Binary,
        "string" => DataType::Utf8,
        "boolean" => DataType::Boolean,
        "int8" => DataType::Int8,
        "int16" => DataType::Int16,
        "int32" => DataType::Int32,
        "int64" => DataType::Int64,
        "float" => DataType::Float32,
        "double" => DataType::Float64,
        "date" => DataType::Date64,
        "time" => DataType::Time32(TimeUnit::Millisecond),
        "timestamp" => DataType::Timestamp(TimeUnit::Millisecond, None),
        "instant" => DataType::Timestamp(TimeUnit::Microsecond, Some("UTC".into())),
        "local_date" => DataType::Date32,
        "local_time" => DataType::Time64(TimeUnit::Nanosecond),
        "local_date_time" => DataType::Timestamp(TimeUnit::Microsecond, None),
        _ => return None,
    })
}

impl PrimitiveValues {
    /// Creates the column for a name that [`physical_type`] knows, or returns `None` for other names.
    pub fn new(value_type: &str) -> Option<Self> {
        Some(match value_type {
            "bytes" => Self::Bytes(BinaryBuilder::new()),
            "string" => Self::String(BytesBuffer::default()),
            "boolean" => Self::Boolean(BooleanBuilder::new()),
            "int8" => Self::Int8(Int8Builder::new()),
            "int16" => Self::Int16(Int16Builder::new()),
            "int32" => Self::Int32(Int32Builder::new()),
            "int64" => Self::Int64(Int64Builder::new()),
            "float" => Self::Float(Float32Builder::new()),
            "double" => Self::Double(Float64Builder::new()),
            "date" => Self::Day(Date32Builder::new(), date),
            "time" => Self::TimeOfDay(Time64NanosecondBuilder::new(), time),
            "timestamp" => Self::Micros(TimestampMicrosecondBuilder::new(), timestamp),
            "instant" => Self::Micros(TimestampMicrosecondBuilder::new(), instant),
            "local_date" => Self::Day(Date32Builder::new(), |payload| epoch_day(long(payload)?)),
            "local_time" => Self::TimeOfDay(Time64NanosecondBuilder::new(), local_time),
            "local_date_time" => Self::Micros(TimestampMicrosecondBuilder::new(), local_date_time),
            _ => return None,
        })
    }

    /// Appends the value of a message; a payload of `None` is a null value.
    pub fn append(&mut self, payload: Option<&[u8]>) -> Result<()> {
        match self {
            Self::Bytes(b) => b.append_option(payload),
            Self::String(b) => match payload {
                Some(payload) => return check_room(b.push(text(payload)?)),
                None => b.append_null(),
            },
            Self::Boolean(b) => b.append_option(payload.map(boolean).transpose()?),
            Self::Int8(b) => b.append_option(payload.map(exact_bytes).transpose()?.map(i8::from_be_bytes)),
            Self::Int16(b) => b.append_option(payload.map(exact_bytes).transpose()?.map(i16::from_be_bytes)),
            Self::Int32(b) => b.append_option(payload.map(exact_bytes).transpose()?.map(i32::from_be_bytes)),
            Self::Int64(b) => b.append_option(payload.map(exact_bytes).transpose()?.map(i64::from_be_bytes)),
            Self::Float(b) => b.append_option(payload.map(exact_bytes).transpose()?.map(f32::from_be_bytes)),
            Self::Double(b) => b.append_option(payload.map(exact_bytes).transpose()?.map(f64::from_be_bytes)),
            Self::Day(b, read) => b.append_option(payload.map(read).transpose()?),
            Self::TimeOfDay(b, read) => b.append_option(payload.map(read).transpose()?),
            Self::Micros(b, read) => b.append_option(payload.map(read).transpose()?),
            Self::Skipped(rows) => *rows += 1,
        }
        Ok(())
    }

    /// Returns the values as an Arrow array, and empties the column.
    pub fn finish(&mut self) -> ArrowResult<ArrayRef> {
        Ok(match self {
            Self::Bytes(b) => Arc::new(b.finish()),
            Self::String(b) => Arc::new(b.finish_texts()?),
            Self::Boolean(b) => Arc::new(b.finish()),
            Self::Int8(b) => Arc::new(b.finish()),
            Self::Int16(b) => Arc::new(b.finish()),
            Self::Int32(b) => Arc::new(b.finish()),
            Self::Int64(b) => Arc::new(b.finish()),
            Self::Float(b) => Arc::new(b.finish()),
            Self::Double(b) => Arc::new(b.finish()),
            Self::Day(b, _) => Arc::new(b.finish()),
            Self::TimeOfDay(b, _) => Arc::new(b.finish()),
            Self::Micros(b, _) => Arc::new(b.finish()),
            Self::Skipped(rows) => new_null_array(&DataType::Null, std::mem::take(rows)),
        })
    }
}

fn text(payload: &[u8]) -> Result<&[u8]> {
    checked_text(payload).map_err(|e| KernelError::payload(format!("expected UTF-8 text: {e}")))
}

fn boolean(payload: &[u8]) -> Result<bool> {
    exact_bytes::<1>(payload).map(|[byte]| byte != 0)
}

fn exact_bytes<const N: usize>(payload: &[u8]) -> Result<[u8; N]> {
    payload.try_into().map_err(|_| {
        KernelError::payload(format!("expected {N} bytes for the schema's type, got {}", payload.len()))
    })
}

const MILLIS_OF_DAY: i64 = 86_400_000;
const MICROS_OF_DAY: i64 = 86_400_000_000;
const NANOS_OF_DAY: i64 = 86_400_000_000_000;

fn long(payload: &[u8]) -> Result<i64> {
    exact_bytes(payload).map(i64::from_be_bytes)
}

/// Reads a `java.util.Date`, an instant in milliseconds, and returns its day in UTC.
fn date(payload: &[u8]) -> Result<i32> {
    epoch_day(long(payload)?.div_euclid(MILLIS_OF_DAY))
}

/// Reads a `java.sql.Time`, an instant in milliseconds, and returns its time of day in UTC.
fn time(payload: &[u8]) -> Result<i64> {
    Ok(long(payload)?.rem_euclid(MILLIS_OF_DAY) * 1_000_000)
}

/// Reads a `java.sql.Timestamp`, an instant in milliseconds.
fn timestamp(payload: &[u8]) -> Result<i64> {
    let millis = long(payload)?;
    millis.checked_mul(1000).ok_or_else(|| beyond("timestamp", format!("{millis} ms since 1970")))
}

/// Reads a `java.time.Instant`, which consists of seconds and then nanoseconds.
fn instant(payload: &[u8]) -> Result<i64> {
    let bytes = exact_bytes::<12>(payload)?;
    let (seconds, nanos) = bytes.split_at(8);
    let (seconds, nanos) =
        (exact_bytes(seconds).map(i64::from_be_bytes)?, exact_bytes(nanos).map(i32::from_be_bytes)?);
    let micros =
        seconds.checked_mul(1_000_000).and_then(|m| m.checked_add(i64::from(nanos.div_euclid(1000))));
    micros.ok_or_else(|| beyond("timestamp", format!("{seconds} s since 1970")))
}

/// Converts a `java.time.LocalDate`, which is the number of days since 1970-01-01.
fn epoch_day(day: i64) -> Result<i32> {
    i32::try_from(day).map_err(|_| beyond("date", format!("{day} days since 1970")))
}

/// Reads a `java.time.LocalTime`: nanoseconds since midnight.
fn local_time(payload: &[u8]) -> Result<i64> {
    let nanos = long(payload)?;
    if !(0..NANOS_OF_DAY).contains(&nanos) {
        let why = format!("expected a time of day of 0 to {} ns, got {nanos} ns", NANOS_OF_DAY - 1);
        return Err(KernelError::payload(why));
    }
    Ok(nanos - nanos % 1000)
}

/// Reads a `java.time.LocalDateTime`: a `LocalDate` and a `LocalTime`.
fn local_date_time(payload: &[u8]) -> Result<i64> {
    let bytes = exact_bytes::<16>(payload)?;
    let (day, nanos) = bytes.split_at(8);
    let (day, nanos) = (long(day)?, local_time(nanos)?);
    let micros = day.checked_mul(MICROS_OF_DAY).and_then(|m| m.checked_add(nanos / 1000));
    micros.ok_or_else(|| beyond("timestamp_ntz", format!("{day} days since 1970")))
}

fn beyond(kind: &str, got: String) -> KernelError {
    KernelError::payload(format!("expected a {kind} in Spark's range, got {got}"))
}
