//! Rebuild an array in a target type: the last step of decoding and the first step of encoding.
//!
//! If only a label differs (time zone, field names, nullability), the result shares the buffers of the
//! source. Otherwise `arrow-cast` converts the values. A value that does not fit is an error, never a null.

use std::sync::Arc;

use arrow_array::builder::{FixedSizeBinaryBuilder, StringBuilder};
use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;
use arrow_array::{
    Array, ArrayRef, FixedSizeBinaryArray, LargeListArray, ListArray, MapArray, StructArray, new_null_array,
};
use arrow_buffer::NullBuffer;
use arrow_cast::{CastOptions, cast_with_options};
use arrow_schema::{ArrowError, DataType, Field, FieldRef, Fields, TimeUnit};

/// The result of functions that fail with an error of Arrow.
pub type ArrowResult<T> = Result<T, ArrowError>;

/// Converts `array` to the type of `field`. Fails if the array contains a null that `field` forbids.
pub fn conform(array: &ArrayRef, field: &Field) -> ArrowResult<ArrayRef> {
    let out = conform_type(array, field.data_type())?;
    if !field.is_nullable() && out.logical_null_count() > 0 {
        return Err(ArrowError::InvalidArgumentError(format!(
            "field {}: expected no nulls, got {}",
            field.name(),
            out.logical_null_count()
        )));
    }
    Ok(out)
}

/// Converts `array` to the type `target`.
pub fn conform_type(array: &ArrayRef, target: &DataType) -> ArrowResult<ArrayRef> {
    if array.data_type() == target {
        return Ok(array.clone());
    }
    match (array.data_type(), target) {
        (DataType::Null, _) => Ok(new_null_array(target, array.len())),
        (DataType::Struct(_), DataType::Struct(fields)) => structure(array.as_struct(), fields),
        (DataType::List(_), DataType::List(item)) => {
            let (_, offsets, values, nulls) = array.as_list::<i32>().clone().into_parts();
            Ok(Arc::new(ListArray::try_new(item.clone(), offsets, conform(&values, item)?, nulls)?))
        }
        (DataType::LargeList(_), DataType::LargeList(item)) => {
            let (_, offsets, values, nulls) = array.as_list::<i64>().clone().into_parts();
            Ok(Arc::new(LargeListArray::try_new(item.clone(), offsets, conform(&values, item)?, nulls)?))
        }
        (DataType::List(own), DataType::LargeList(item))
        | (DataType::LargeList(own), DataType::List(item)) => {
            let relabelled = match target {
                DataType::List(_) => DataType::List(own.clone()),
                _ => DataType::LargeList(own.clone()),
            };
            let array = cast(array, &relabelled)?;
            debug_assert_eq!(own.name(), item.name());
            conform_type(&array, target)
        }
        (DataType::Map(_, _), DataType::Map(entries, sorted)) => map(array.as_map(), entries, *sorted),
        (DataType::Timestamp(from, zone), DataType::Timestamp(to, _)) => {
            timestamp(array, *from, zone.is_some(), *to, target)
        }
        (DataType::FixedSizeBinary(16), DataType::Utf8) => Ok(Arc::new(uuid_texts(array)?)),
        (DataType::Utf8, DataType::FixedSizeBinary(16)) => Ok(Arc::new(uuid_bytes(array)?)),
        (DataType::FixedSizeBinary(_), DataType::Utf8 | DataType::LargeUtf8) => Err(mismatch(array, target)),
        (DataType::Dictionary(_, value), _) => {
            let value = value.as_ref().clone();
            conform_type(&cast(array, &value)?, target)
        }
        (DataType::Int32, DataType::Time32(unit)) | (DataType::Int64, DataType::Time64(unit)) => {
            time_of_day(array, *unit, target)
        }
        (DataType::Time32(_), DataType::Int64) => cast(&cast(array, &DataType::Int32)?, target),
        (_, DataType::Timestamp(unit, Some(_))) => {
            let plain = cast(array, &DataType::Timestamp(*unit, None))?;
            relabel(&plain, target)
        }
        _ => cast(array, target),
    }
}

fn cast(array: &ArrayRef, target: &DataType) -> ArrowResult<ArrayRef> {
    // With `safe`, arrow would replace values that do not fit by nulls, and so lose them silently.
    cast_with_options(array, target, &CastOptions { safe: false, ..CastOptions::default() })
}

fn mismatch(array: &ArrayRef, target: &DataType) -> ArrowError {
    ArrowError::CastError(format!("expected {target}, got {}", array.data_type()))
}

/// Returns the same buffers under another type with the same layout.
fn relabel(array: &ArrayRef, target: &DataType) -> ArrowResult<ArrayRef> {
    Ok(arrow_array::make_array(array.to_data().into_builder().data_type(target.clone()).build()?))
}

/// Converts between time units. The time zone is only a label here, because arrow would need a time zone
/// database to interpret the zone.
fn timestamp(
    array: &ArrayRef,
    from: TimeUnit,
    zoned: bool,
    to: TimeUnit,
    target: &DataType,
) -> ArrowResult<ArrayRef> {
    if from == to {
        return relabel(array, target);
    }
    let (from_ticks, to_ticks) = (per_second(from), per_second(to));
    if from_ticks > to_ticks {
        // Digits are rounded down towards the past, also before 1970. Arrow would round towards 1970.
        let numbers = relabel(array, &DataType::Int64)?;
        let cut = numbers
            .as_primitive::<Int64Type>()
            .unary::<_, Int64Type>(|n| n.div_euclid(from_ticks / to_ticks));
        return relabel(&(Arc::new(cut) as ArrayRef), target);
    }
    let plain = if zoned { relabel(array, &DataType::Timestamp(from, None))? } else { array.clone() };
    relabel(&cast(&plain, &DataType::Timestamp(to, None))?, target)
}

/// Returns the number of ticks of a unit in a second.
pub fn per_second(unit: TimeUnit) -> i64 {
    match unit {
        TimeUnit::Second => 1,
        TimeUnit::Millisecond => 1_000,
        TimeUnit::Microsecond => 1_000_000,
        TimeUnit::Nanosecond => 1_000_000_000,
    }
}

/// Converts ticks since midnight. A value outside of one day is an error, because Spark has no such time.
fn time_of_day(array: &ArrayRef, unit: TimeUnit, target: &DataType) -> ArrowResult<ArrayRef> {
    let limit = 86_400 * per_second(unit);
    let numbers = cast(array, &DataType::Int64)?;
    if let Some(odd) = numbers.as_primitive::<Int64Type>().iter().flatten().find(|n| !(0..limit).contains(n))
    {
        let why = format!("expected a time of day of 0 to {} {unit:?}s, got {odd}", limit - 1);
        return Err(ArrowError::CastError(why));
    }
    cast(array, target)
}

/// Rebuilds a struct, whose children are matched by name. A field that the source lacks becomes null.
fn structure(array: &StructArray, fields: &Fields) -> ArrowResult<ArrayRef> {
    let columns = fields
        .iter()
        .map(|field| match array.column_by_name(field.name()) {
            // A child may contain nulls below a null parent, even if its field is not nullable.
            Some(column) if array.null_count() > 0 => {
                conform_type(&masked(column, array.nulls())?, field.data_type())
            }
            Some(column) => conform(column, field),
            None => conform(&new_null_array(field.data_type(), array.len()), field),
        })
        .collect::<ArrowResult<Vec<_>>>()?;
    if fields.is_empty() {
        return Ok(Arc::new(StructArray::new_empty_fields(array.len(), array.nulls().cloned())));
    }
    Ok(Arc::new(StructArray::try_new(fields.clone(), columns, array.nulls().cloned())?))
}

/// Returns `column` with nulls wherever `parent` is null. Below a null parent, some writers store empty
/// values, which need not fit the target type.
pub fn masked(column: &ArrayRef, parent: Option<&NullBuffer>) -> ArrowResult<ArrayRef> {
    let Some(parent) = parent else { return Ok(column.clone()) };
    if column.data_type() == &DataType::Null || column.nulls().is_some_and(|own| own.contains(parent)) {
        return Ok(column.clone());
    }
    let nulls = NullBuffer::union(column.nulls(), Some(parent));
    Ok(arrow_array::make_array(column.to_data().into_builder().nulls(nulls).build()?))
}

fn map(array: &MapArray, entries: &FieldRef, sorted: bool) -> ArrowResult<ArrayRef> {
    let DataType::Struct(fields) = entries.data_type() else {
        return Err(ArrowError::SchemaError("map entries must be a struct".into()));
    };
    let [key, value] = fields.as_ref() else {
        return Err(ArrowError::SchemaError("map entries must have two fields".into()));
    };
    let columns = vec![conform(array.keys(), key)?, conform(array.values(), value)?];
    let rebuilt = StructArray::try_new(fields.clone(), columns, None)?;
    let (offsets, nulls) = (array.offsets().clone(), array.nulls().cloned());
    Ok(Arc::new(MapArray::try_new(entries.clone(), offsets, rebuilt, nulls, sorted)?))
}

fn uuid_texts(array: &ArrayRef) -> ArrowResult<arrow_array::StringArray> {
    let array: &FixedSizeBinaryArray = array.as_fixed_size_binary();
    let mut out = StringBuilder::with_capacity(array.len(), array.len() * 36);
    for value in array.iter() {
        out.append_option(value.map(uuid_text));
    }
    Ok(out.finish())
}

/// Returns the hexadecimal digits of a UUID with hyphens.
pub fn uuid_text(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(36);
    for (i, byte) in bytes.iter().enumerate() {
        if matches!(i, 4 | 6 | 8 | 10) {
            text.push('-');
        }
        text.extend([byte >> 4, byte & 15].map(|d| char::from_digit(u32::from(d), 16).unwrap_or('0')));
    }
    text
}

fn uuid_bytes(array: &ArrayRef) -> ArrowResult<FixedSizeBinaryArray> {
    let mut out = FixedSizeBinaryBuilder::with_capacity(array.len(), 16);
    for value in array.as_string::<i32>().iter() {
        let Some(text) = value else {
            out.append_null();
            continue;
        };
        let digits: Vec<u8> =
            text.chars().filter(|c| *c != '-').filter_map(|c| c.to_digit(16)).map(|d| d as u8).collect();
        if digits.len() != 32 || text.len() != 36 {
            return Err(ArrowError::CastError(format!("expected a UUID of 36 characters, got {text:?}")));
        }
        let bytes: Vec<u8> = digits.chunks_exact(2).map(|pair| pair[0] << 4 | pair[1]).collect();
        out.append_value(bytes)?;
    }
    Ok(out.finish())
}
