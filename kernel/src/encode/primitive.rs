//! Values of Pulsar's primitive schemas, as its Java client writes them.

use arrow_array::cast::AsArray;
use arrow_array::types::{Float32Type, Float64Type, Int8Type, Int16Type, Int32Type, Int64Type};
use arrow_array::{Array, ArrayRef};
use arrow_schema::DataType;

/// Append the value in `row`; false when it is null. `array` has a type that
/// [`physical_type`](crate::decode::primitive::physical_type) gives.
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
        _ => return false,
    }
    true
}
