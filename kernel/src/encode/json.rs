//! JSON encoding of bound columns, as Jackson writes a Pulsar JSON schema: logical types as numbers in the
//! document's unit, decimals as numbers, bytes as base64, fields in the document's order.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde::Serialize;
use serde_json::to_writer;

use super::bind::{Bound, BoundField, Refused, Written, span};
use super::bind_union::BoundUnion;
use crate::conform::uuid_text;

/// Append the value in `row`, which must not be null unless its type is nullable.
pub fn write(node: &Bound, row: usize, out: &mut Vec<u8>) -> Written {
    match node {
        Bound::Null => out.extend_from_slice(b"null"),
        Bound::Nullable(inner, _) if inner.is_null(row) => out.extend_from_slice(b"null"),
        Bound::Nullable(inner, _) | Bound::Lone(inner) => write(inner, row, out)?,
        Bound::Union(members) => union(members, row, out)?,
        _ if node.is_null(row) => return Err(Refused::null()),
        Bound::Boolean(a) => out.extend_from_slice(if a.value(row) { b"true" } else { b"false" }),
        Bound::Int(a) => put(out, &a.value(row))?,
        Bound::Long(a) => put(out, &a.value(row))?,
        Bound::Float(a) => match odd_number(f64::from(a.value(row))) {
            Some(name) => put(out, name)?,
            None => put(out, &a.value(row))?,
        },
        Bound::Double(a) => match odd_number(a.value(row)) {
            Some(name) => put(out, name)?,
            None => put(out, &a.value(row))?,
        },
        Bound::Bytes(a) => put_base64(out, a.value(row)),
        Bound::Fixed(a) => put_base64(out, a.value(row)),
        Bound::Uuid(a) => put_text(out, &uuid_text(a.value(row))),
        Bound::String(a) => put_text(out, a.value(row)),
        Bound::Decimal(a, _) => out.extend_from_slice(a.value_as_string(row).as_bytes()),
        Bound::Enum(a, symbols) => {
            let text = a.value(row);
            if !symbols.iter().any(|s| s == text) {
                return Err(Refused::new(format!("expected one of {symbols:?}, got {text:?}")));
            }
            put_text(out, text);
        }
        Bound::Array(a, items) => array(span(a.value_offsets(), row), items, out)?,
        Bound::Map(a, keys, values) => {
            out.push(b'{');
            for (i, item) in span(a.value_offsets(), row).enumerate() {
                separate(out, i);
                put_text(out, keys.value(item));
                out.push(b':');
                write(values, item, out).map_err(|e| e.below(keys.value(item)))?;
            }
            out.push(b'}');
        }
        Bound::Record(_, fields) => record(fields, row, out)?,
    }
    Ok(())
}

/// Bare where the value tells its branch, else as `{"branch": value}`.
fn union(union: &BoundUnion, row: usize, out: &mut Vec<u8>) -> Written {
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
    if member.told_by_value && !misleading {
        return write(&member.values, row, out);
    }
    out.push(b'{');
    put_text(out, &member.tag);
    out.push(b':');
    write(&member.values, row, out)?;
    out.push(b'}');
    Ok(())
}

/// Append an object of the fields.
pub fn record(fields: &[BoundField], row: usize, out: &mut Vec<u8>) -> Written {
    out.push(b'{');
    for (i, field) in fields.iter().enumerate() {
        separate(out, i);
        out.extend_from_slice(&field.json_key);
        write(&field.values, row, out).map_err(|e| e.below(&field.name))?;
    }
    out.push(b'}');
    Ok(())
}

fn array(range: std::ops::Range<usize>, items: &Bound, out: &mut Vec<u8>) -> Written {
    out.push(b'[');
    for (i, item) in range.enumerate() {
        separate(out, i);
        write(items, item, out).map_err(|e| e.below("[]"))?;
    }
    out.push(b']');
    Ok(())
}

fn separate(out: &mut Vec<u8>, index: usize) {
    if index > 0 {
        out.push(b',');
    }
}

/// Append text in quotes. Runs without anything to escape are copied as they are.
pub fn put_text(out: &mut Vec<u8>, text: &str) {
    out.push(b'"');
    let mut rest = text.as_bytes();
    while let Some(at) = rest.iter().position(|byte| *byte < 0x20 || *byte == b'"' || *byte == b'\\') {
        let (run, tail) = rest.split_at(at);
        out.extend_from_slice(run);
        let Some((&byte, tail)) = tail.split_first() else { break };
        match byte {
            b'"' | b'\\' => out.extend_from_slice(&[b'\\', byte]),
            0x08 => out.extend_from_slice(b"\\b"),
            0x0c => out.extend_from_slice(b"\\f"),
            b'\n' => out.extend_from_slice(b"\\n"),
            b'\r' => out.extend_from_slice(b"\\r"),
            b'\t' => out.extend_from_slice(b"\\t"),
            other => {
                let digit = |nibble: u8| char::from_digit(u32::from(nibble), 16).map_or(b'0', |c| c as u8);
                out.extend_from_slice(&[b'\\', b'u', b'0', b'0', digit(other >> 4), digit(other & 0xf)]);
            }
        }
        rest = tail;
    }
    out.extend_from_slice(rest);
    out.push(b'"');
}

fn put<T: Serialize + ?Sized>(out: &mut Vec<u8>, value: &T) -> Written {
    to_writer(out, value).map_err(|e| Refused::new(e.to_string()))
}

/// JSON has no number for these; Jackson writes and reads them as names.
fn odd_number(value: f64) -> Option<&'static str> {
    if value.is_nan() {
        Some("NaN")
    } else if value.is_infinite() {
        Some(if value > 0.0 { "Infinity" } else { "-Infinity" })
    } else {
        None
    }
}

fn put_base64(out: &mut Vec<u8>, bytes: &[u8]) {
    out.push(b'"');
    out.extend_from_slice(STANDARD.encode(bytes).as_bytes());
    out.push(b'"');
}
