//! The values of Pulsar's primitive schemas, in the format of its Java client.

use arrow_array::cast::AsArray;
use arrow_array::types::{
    Date32Type, Date64Type, Float32Type, Float64Type, Int8Type, Int16Type, Int32Type, Int64Type,
    Time32MillisecondType, Time64NanosecondType, TimestampMicrosecondType, TimestampMillisecondType,
};
use arrow_array::{Array, ArrayRef};
use arrow_schema::{DataType, TimeUnit};

/// Appends the value in `row`. Returns false if the value is null.
///
/// The type of `array` must be a result of [`physical_type`](crate::decode::primitive::physical_type).
pub fn write(array: &ArrayRef, row: usize, out: &mut Vec<u8>) -> bool {
    if array.is_null(row) {
        return false;
    }
    match array.data_type() {
        DataType::Binary => out.extend_from_slice(array.as_binary::<i32>().value(row)),
        DataType::Utf8 => out.extend_from_slice(array.as_string::<i32>().value(row).as_bytes()),
        DataType::Boolean => out.push(u8::from(array.as_boolean().value(row))),
        DataType::Int8 => out.extend_from_slice(&array.as_primitive::<Int8Type>().value(row).to_be_bytes()),
        DataType::Int16 => out.extend_from_slice(&array.as_primitive::<Int16Type>().value(row).to_be_bytes()),
        DataType::Int32 => out.extend_from_slice(&array.as_primitive::<Int32Type>().value(row).to_be_bytes()),
        DataType::Int64 => out.extend_from_slice(&array.as_primitive::<Int64Type>().value(row).to_be_bytes()),
        DataType::Float32 => {
            out.extend_from_slice(&array.as_primitive::<Float32Type>().value(row).to_be_bytes())
        }
        DataType::Float64 => {
            out.extend_from_slice(&array.as_primitive::<Float64Type>().value(row).to_be_bytes())
        }
        DataType::Date64 => put_long(out, array.as_primitive::<Date64Type>().value(row)),
        DataType::Time32(_) => {
            put_long(out, i64::from(array.as_primitive::<Time32MillisecondType>().value(row)));
        }
        DataType::Timestamp(TimeUnit::Millisecond, _) => {
            put_long(out, array.as_primitive::<TimestampMillisecondType>().value(row));
        }
        DataType::Date32 => put_long(out, i64::from(array.as_primitive::<Date32Type>().value(row))),
        DataType::Time64(_) => put_long(out, array.as_primitive::<Time64NanosecondType>().value(row)),
        DataType::Timestamp(_, zone) => {
            let micros = array.as_primitive::<TimestampMicrosecondType>().value(row);
            if zone.is_some() { put_instant(out, micros) } else { put_local_date_time(out, micros) }
        }
        _ => return false,
    }
    true
}

fn put_long(out: &mut Vec<u8>, value: i64) {
    out.extend_from_slice(&value.to_be_bytes());
}

/// Appends seconds since 1970, and the nanoseconds of the second.
fn put_instant(out: &mut Vec<u8>, micros: i64) {
    put_long(out, micros.div_euclid(1_000_000));
    out.extend_from_slice(&((micros.rem_euclid(1_000_000) * 1000) as i32).to_be_bytes());
}

/// Appends days since 1970, and the nanoseconds of the day.
fn put_local_date_time(out: &mut Vec<u8>, micros: i64) {
    put_long(out, micros.div_euclid(86_400_000_000));
    put_long(out, micros.rem_euclid(86_400_000_000) * 1000);
}
