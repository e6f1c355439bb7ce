//! Avro binary encoding of bound columns.
//!
//! The encoder follows the topic's own schema, which has its own order of fields and union branches.
//! <https://avro.apache.org/docs/1.12.0/specification/#binary-encoding>

use arrow_array::Array;

use super::binding::{Bound, BoundField, EncodeResult, Refused, span};

/// Appends the value in `row`, which must not be null unless its type is nullable.
pub fn write(node: &Bound, row: usize, out: &mut Vec<u8>) -> EncodeResult {
    let mut node = node;
    if let Bound::Nullable(inner, null_branch) = node {
        if inner.is_null(row) {
            put_long(out, i64::from(*null_branch));
            return Ok(());
        }
        put_long(out, 1 - i64::from(*null_branch));
        node = inner;
    }
    match node {
        Bound::Int(a) if a.is_valid(row) => put_long(out, i64::from(a.value(row))),
        Bound::Long(a) if a.is_valid(row) => put_long(out, a.value(row)),
        Bound::Double(a) if a.is_valid(row) => out.extend_from_slice(&a.value(row).to_le_bytes()),
        Bound::String(a) if a.is_valid(row) => put_bytes(out, a.value(row).as_bytes()),
        Bound::Boolean(a) if a.is_valid(row) => out.push(u8::from(a.value(row))),
        _ => return put_rarer(node, row, out),
    }
    Ok(())
}

/// Appends values of rarer types, and handles nulls. [`write`] handles the frequent types itself.
#[inline(never)]
fn put_rarer(node: &Bound, row: usize, out: &mut Vec<u8>) -> EncodeResult {
    if let Bound::Union(union) = node {
        let Some(member) = union.chosen(row)? else {
            put_long(out, union.null_branch.unwrap_or_default() as i64);
            return Ok(());
        };
        put_long(out, member.branch as i64);
        return write(&member.values, row, out);
    }
    if node.is_null(row) && !matches!(node, Bound::Null) {
        return Err(Refused::null());
    }
    match node {
        Bound::Lone(inner) => {
            put_long(out, 0);
            write(inner, row, out)?;
        }
        Bound::Float(a) => out.extend_from_slice(&a.value(row).to_le_bytes()),
        Bound::Bytes(a) => put_bytes(out, a.value(row)),
        Bound::Fixed(a) | Bound::Uuid(a) => out.extend_from_slice(a.value(row)),
        Bound::Decimal(a, fixed) => decimal(a.value(row), *fixed, out)?,
        Bound::Enum(a, symbols) => put_long(out, symbol(a.value(row), symbols)?),
        Bound::Array(a, items) => {
            let range = span(a.value_offsets(), row);
            block(out, range.len());
            for item in range.clone() {
                write(items, item, out).map_err(|e| e.below("[]"))?;
            }
            out.push(0);
        }
        Bound::Map(a, keys, values) => {
            let range = span(a.value_offsets(), row);
            block(out, range.len());
            for item in range.clone() {
                put_bytes(out, keys.value(item).as_bytes());
                write(values, item, out).map_err(|e| e.below(keys.value(item)))?;
            }
            out.push(0);
        }
        Bound::Record(_, fields) => record(fields, row, out)?,
        // The types of an Avro payload have no JSON forms.
        Bound::Form(_)
        | Bound::Null
        | Bound::Unheld
        | Bound::Nullable(_, _)
        | Bound::Union(_)
        | Bound::Boolean(_)
        | Bound::Int(_)
        | Bound::Long(_)
        | Bound::Double(_)
        | Bound::String(_) => {}
    }
    Ok(())
}

/// Appends the fields of a record one after the other.
pub fn record(fields: &[BoundField], row: usize, out: &mut Vec<u8>) -> EncodeResult {
    for field in fields {
        write(&field.values, row, out).map_err(|e| e.below(&field.name))?;
    }
    Ok(())
}

fn put_long(out: &mut Vec<u8>, value: i64) {
    crate::wire::put_varint(out, ((value << 1) ^ (value >> 63)) as u64);
}

fn put_bytes(out: &mut Vec<u8>, bytes: &[u8]) {
    put_long(out, bytes.len() as i64);
    out.extend_from_slice(bytes);
}

/// Appends the head of the single block that contains all items. An empty list has no block. After the block,
/// a zero ends the list.
fn block(out: &mut Vec<u8>, items: usize) {
    if items > 0 {
        put_long(out, items as i64);
    }
}

fn symbol(text: &str, symbols: &[String]) -> Result<i64, Box<Refused>> {
    let index = symbols.iter().position(|s| s == text);
    index.map(|i| i as i64).ok_or_else(|| Refused::new(format!("expected one of {symbols:?}, got {text:?}")))
}

/// Appends the number in two's complement, big endian. For `fixed`, the number is sign-extended. For `bytes`,
/// the number has as few bytes as possible.
fn decimal(value: i128, fixed: Option<i32>, out: &mut Vec<u8>) -> EncodeResult {
    let bytes = value.to_be_bytes();
    let sign = if value < 0 { 0xff } else { 0 };
    let redundant =
        bytes.windows(2).take_while(|pair| pair[0] == sign && (pair[0] ^ pair[1]) & 0x80 == 0).count();
    let shortest = bytes.get(redundant..).unwrap_or_default();
    let Some(size) = fixed else {
        put_bytes(out, shortest);
        return Ok(());
    };
    let Some(padding) = (size as usize).checked_sub(shortest.len()) else {
        return Err(Refused::new(format!(
            "expected a decimal that fits {size} bytes, got {value} (unscaled)"
        )));
    };
    out.extend(std::iter::repeat_n(sign, padding));
    out.extend_from_slice(shortest);
    Ok(())
}
