//! JSON encoding of bound columns, in the format of a Pulsar JSON schema in Jackson.
//!
//! Logical types are numbers in the schema's unit unless they have a [form](forms). Decimals are numbers,
//! bytes are base64, and fields are in the schema's order.

pub mod forms;
pub mod text;

use std::ops::Range;

use arrow_array::{Array, StringArray};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;

use super::binding::union::BoundUnion;
use super::binding::{Bound, BoundField, EncodeResult, Refused, span};
use crate::conform::uuid_text;
use text::{odd_number, put_bool, put_double, put_float, put_long, put_text, put_text_at};

/// Appends the value in `row`, which must not be null unless its type is nullable.
pub fn write(node: &Bound, row: usize, out: &mut Vec<u8>) -> EncodeResult {
    let (value, nullable) = match node {
        Bound::Nullable(inner, _) => (inner.as_ref(), true),
        _ => (node, matches!(node, Bound::Null)),
    };
    match put_value(value, row, out)? {
        true => {}
        false if nullable => out.extend_from_slice(b"null"),
        false => return Err(Refused::null()),
    }
    Ok(())
}

/// Appends the value in `row`. Returns false for a null, and appends nothing.
#[inline(always)]
fn put_value(node: &Bound, row: usize, out: &mut Vec<u8>) -> Result<bool, Box<Refused>> {
    match node {
        Bound::Int(a) if a.is_valid(row) => put_long(out, i64::from(a.value(row))),
        Bound::Long(a) if a.is_valid(row) => put_long(out, a.value(row)),
        Bound::Double(a) if a.is_valid(row) => put_double(out, a.value(row)),
        Bound::String(a) if a.is_valid(row) => {
            let text = span(a.value_offsets(), row);
            put_text_at(out, a.value_data(), text.start, text.len());
        }
        Bound::Boolean(a) if a.is_valid(row) => put_bool(out, a.value(row)),
        // These types handle null themselves.
        Bound::Lone(inner) => write(inner, row, out)?,
        Bound::Union(members) => union(members, row, out)?,
        _ if node.is_null(row) => return Ok(false),
        _ => put_rarer(node, row, out)?,
    }
    Ok(true)
}

/// Appends the value in `row`, which is not null, of a type that [`put_value`] does not handle itself.
#[inline(never)]
fn put_rarer(node: &Bound, row: usize, out: &mut Vec<u8>) -> EncodeResult {
    match node {
        Bound::Form(a) => a.write(row, out)?,
        Bound::Float(a) => put_float(out, a.value(row)),
        Bound::Bytes(a) => put_base64(out, a.value(row)),
        Bound::Fixed(a) => put_base64(out, a.value(row)),
        Bound::Uuid(a) => put_text(out, &uuid_text(a.value(row))),
        Bound::Decimal(a, _) => out.extend_from_slice(a.value_as_string(row).as_bytes()),
        Bound::Enum(a, symbols) => {
            let text = a.value(row);
            if !symbols.iter().any(|s| s == text) {
                return Err(Refused::new(format!("expected one of {symbols:?}, got {text:?}")));
            }
            put_text(out, text);
        }
        Bound::Array(a, items) => array(span(a.value_offsets(), row), items, out)?,
        Bound::Map(a, keys, values) => map(span(a.value_offsets(), row), keys, values, out)?,
        Bound::Record(_, fields) => record(fields, row, out)?,
        Bound::Null
        | Bound::Unheld
        | Bound::Nullable(_, _)
        | Bound::Lone(_)
        | Bound::Union(_)
        | Bound::Boolean(_)
        | Bound::Int(_)
        | Bound::Long(_)
        | Bound::Double(_)
        | Bound::String(_) => {}
    }
    Ok(())
}

/// Appends the bare value if the value determines its branch, otherwise `{"branch": value}`.
fn union(union: &BoundUnion, row: usize, out: &mut Vec<u8>) -> EncodeResult {
    let Some(member) = union.chosen(row)? else {
        out.extend_from_slice(b"null");
        return Ok(());
    };
    let odd = |value: f64| odd_number(value).is_some() && union.has_text();
    let misleading = match &member.values {
        Bound::Float(a) => odd(f64::from(a.value(row))),
        Bound::Double(a) => odd(a.value(row)),
        Bound::Map(a, keys, _) => match span(a.value_offsets(), row) {
            one if one.len() == 1 => union.is_tag(keys.value(one.start)),
            _ => false,
        },
        Bound::Record(_, fields) => matches!(fields.as_slice(), [only] if union.is_tag(&only.name)),
        _ => false,
    };
    if member.evident_from_value && !misleading {
        let start = out.len();
        write(&member.values, row, out)?;
        if !union.is_odd_number(&member.values, &out[start..]) {
            return Ok(());
        }
        out.truncate(start);
    }
    out.push(b'{');
    put_text(out, &member.tag);
    out.push(b':');
    write(&member.values, row, out)?;
    out.push(b'}');
    Ok(())
}

/// Appends an object with the fields.
pub fn record(fields: &[BoundField], row: usize, out: &mut Vec<u8>) -> EncodeResult {
    let start = out.len();
    for field in fields {
        field.json_key.put(out);
        write(&field.values, row, out).map_err(|e| e.below(&field.name))?;
    }
    // Each key begins with a comma; the comma of the first key is replaced by the brace.
    match out.get_mut(start) {
        Some(first) => *first = b'{',
        None => out.push(b'{'),
    }
    out.push(b'}');
    Ok(())
}

fn array(range: Range<usize>, items: &Bound, out: &mut Vec<u8>) -> EncodeResult {
    out.push(b'[');
    for (i, item) in range.enumerate() {
        separate(out, i);
        write(items, item, out).map_err(|e| e.below("[]"))?;
    }
    out.push(b']');
    Ok(())
}

fn map(range: Range<usize>, keys: &StringArray, values: &Bound, out: &mut Vec<u8>) -> EncodeResult {
    out.push(b'{');
    for (i, item) in range.enumerate() {
        separate(out, i);
        put_text(out, keys.value(item));
        out.push(b':');
        write(values, item, out).map_err(|e| e.below(keys.value(item)))?;
    }
    out.push(b'}');
    Ok(())
}

fn separate(out: &mut Vec<u8>, index: usize) {
    if index > 0 {
        out.push(b',');
    }
}

fn put_base64(out: &mut Vec<u8>, bytes: &[u8]) {
    out.push(b'"');
    out.extend_from_slice(STANDARD.encode(bytes).as_bytes());
    out.push(b'"');
}
