//! The encoder that writes the defaults of a reader's fields as Avro bytes, so that defaults are decoded like
//! other values.
//!
//! The source is the table "field default values" of
//! <https://avro.apache.org/docs/1.12.0/specification/#complex-types>.

use serde_json::Value;

use crate::avro_schema::{AvroType, DecimalType, RecordType};
use crate::wire::put_varint;

/// Appends the Avro encoding of `value`, which must be a value of the type `kind`, to `out`.
///
/// The error is a text of the form `expected ..., got ...`. After an error, `out` is unusable.
pub fn encode_default(kind: &AvroType, value: &Value, out: &mut Vec<u8>) -> Result<(), String> {
    let mismatch = || format!("expected a default of the type {}, got {value}", kind.branch_name());
    match (kind, value) {
        (AvroType::Null, Value::Null) => {}
        (AvroType::Boolean, Value::Bool(flag)) => out.push(u8::from(*flag)),
        (AvroType::Json(form), _) => {
            encode_default(&form.plain(), value, out)?;
        }
        (AvroType::Int(_), Value::Number(_)) => {
            let number = whole_number(value).and_then(|n| i32::try_from(n).ok()).ok_or_else(mismatch)?;
            put_long(out, i64::from(number));
        }
        (AvroType::Long(_), Value::Number(_)) => put_long(out, whole_number(value).ok_or_else(mismatch)?),
        (AvroType::Float, _) => {
            out.extend_from_slice(&(float(value).ok_or_else(mismatch)? as f32).to_le_bytes());
        }
        (AvroType::Double, _) => out.extend_from_slice(&float(value).ok_or_else(mismatch)?.to_le_bytes()),
        (AvroType::String, Value::String(text)) => put_bytes(out, text.as_bytes()),
        (AvroType::Omitted(kind), _) => encode_default(kind, value, out)?,
        (
            AvroType::Bytes
            | AvroType::Decimal(DecimalType { fixed: None, .. })
            | AvroType::DecimalText(DecimalType { fixed: None, .. }),
            Value::String(text),
        ) => {
            put_bytes(out, &code_points(text).ok_or_else(mismatch)?);
        }
        (
            AvroType::Fixed(fixed)
            | AvroType::Uuid(fixed)
            | AvroType::Decimal(DecimalType { fixed: Some(fixed), .. })
            | AvroType::DecimalText(DecimalType { fixed: Some(fixed), .. }),
            Value::String(text),
        ) => {
            let bytes = code_points(text).filter(|bytes| bytes.len() == fixed.size as usize);
            out.extend_from_slice(&bytes.ok_or_else(mismatch)?);
        }
        (AvroType::Enum(kind), Value::String(text)) => {
            let index = kind.symbols.iter().position(|symbol| symbol == text).ok_or_else(mismatch)?;
            put_long(out, index as i64);
        }
        (AvroType::Array(item), Value::Array(values)) => {
            put_block(out, values.len());
            values.iter().try_for_each(|value| encode_default(item, value, out))?;
            out.push(0);
        }
        (AvroType::Map(item), Value::Object(values)) => {
            put_block(out, values.len());
            for (key, value) in values {
                put_bytes(out, key.as_bytes());
                encode_default(item, value, out)?;
            }
            out.push(0);
        }
        (AvroType::Record(record), Value::Object(_)) => encode_record(record, value, out)?,
        (AvroType::Nullable { inner, null_branch }, _) => {
            let null = AvroType::Null;
            let branches: [&AvroType; 2] = if *null_branch == 0 { [&null, inner] } else { [inner, &null] };
            encode_branch(&branches, value, out).ok_or_else(mismatch)?;
        }
        (AvroType::Union(branches), _) => {
            encode_branch(&branches.iter().collect::<Vec<_>>(), value, out).ok_or_else(mismatch)?;
        }
        _ => return Err(mismatch()),
    }
    Ok(())
}

/// Encodes a record; a field that `value` omits gets the default of the field.
fn encode_record(record: &RecordType, value: &Value, out: &mut Vec<u8>) -> Result<(), String> {
    for field in &record.fields {
        let own = value.get(&field.name).or(field.default.as_ref());
        let own =
            own.ok_or_else(|| format!("expected a default with the field {}, got {value}", field.name))?;
        encode_default(&field.kind, own, out)?;
    }
    Ok(())
}

/// Encodes a value of a union as the first branch that the value fits.
///
/// This is the rule since Avro 1.12; earlier versions required that the value fits the first branch.
fn encode_branch(branches: &[&AvroType], value: &Value, out: &mut Vec<u8>) -> Option<()> {
    branches.iter().enumerate().find_map(|(index, branch)| {
        let mut bytes = Vec::new();
        encode_default(branch, value, &mut bytes).ok()?;
        put_long(out, index as i64);
        out.extend_from_slice(&bytes);
        Some(())
    })
}

fn whole_number(value: &Value) -> Option<i64> {
    let truncated = || value.as_f64().filter(|f| f.fract() == 0.0 && f.abs() < 9e15).map(|f| f as i64);
    value.as_i64().or_else(truncated)
}

fn float(value: &Value) -> Option<f64> {
    match value {
        Value::String(name) if matches!(name.as_str(), "NaN" | "Infinity" | "-Infinity") => name.parse().ok(),
        other => other.as_f64(),
    }
}

/// Returns the bytes of a text in which each character represents one byte, as in Avro's JSON.
pub fn code_points(text: &str) -> Option<Vec<u8>> {
    text.chars().map(|c| u8::try_from(u32::from(c)).ok()).collect()
}

fn put_long(out: &mut Vec<u8>, value: i64) {
    put_varint(out, ((value << 1) ^ (value >> 63)) as u64);
}

fn put_bytes(out: &mut Vec<u8>, bytes: &[u8]) {
    put_long(out, bytes.len() as i64);
    out.extend_from_slice(bytes);
}

fn put_block(out: &mut Vec<u8>, items: usize) {
    if items > 0 {
        put_long(out, items as i64);
    }
}
