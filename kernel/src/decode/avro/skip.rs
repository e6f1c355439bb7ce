//! The functions that skip values which the reader does not need.

use super::cursor::{AvroCursor, AvroFault, AvroResult, fault};
use crate::avro_schema::{AvroType, DecimalType};

/// Skips a value of the type `kind`.
pub fn skip(kind: &AvroType, cursor: &mut AvroCursor<'_>) -> AvroResult<()> {
    match kind {
        AvroType::Null => {}
        AvroType::Boolean => _ = cursor.take(1)?,
        AvroType::Int(_) | AvroType::Long(_) | AvroType::Enum(_) => _ = cursor.long()?,
        AvroType::Json(form) => skip(&form.plain(), cursor)?,
        AvroType::Float => _ = cursor.take(4)?,
        AvroType::Double => _ = cursor.take(8)?,
        AvroType::Bytes | AvroType::String => _ = cursor.bytes()?,
        AvroType::Decimal(DecimalType { fixed, .. }) | AvroType::DecimalText(DecimalType { fixed, .. }) => {
            match fixed {
                Some(fixed) => _ = cursor.take(fixed.size as usize)?,
                None => _ = cursor.bytes()?,
            }
        }
        AvroType::Fixed(fixed) | AvroType::Uuid(fixed) => _ = cursor.take(fixed.size as usize)?,
        AvroType::Array(item) => skip_array(item, cursor)?,
        AvroType::Map(value) => cursor.descend(|cursor| {
            skip_blocks(cursor, |cursor| {
                cursor.bytes()?;
                skip(value, cursor).map(|()| true)
            })
        })?,
        AvroType::Record(record) => cursor.descend(|cursor| {
            record
                .fields
                .iter()
                .try_for_each(|field| skip(&field.kind, cursor).map_err(|e| e.below(&field.name)))
        })?,
        AvroType::Nullable { inner, null_branch } => match cursor.long()? {
            index if index == i64::from(*null_branch) => {}
            0 | 1 => skip(inner, cursor)?,
            other => return fault(format!("expected branch 0 or 1, got {other}")),
        },
        AvroType::Union(branches) => skip(cursor.branch(branches)?, cursor)?,
        AvroType::Reference(name) => skip(cursor.record(name)?, cursor).map_err(AvroFault::without_path)?,
        AvroType::Omitted(kind) => skip(kind, cursor)?,
    }
    Ok(())
}

fn skip_array(item: &AvroType, cursor: &mut AvroCursor<'_>) -> AvroResult<()> {
    // If the items have no bytes, the count could be any number, so the loop must end early.
    let has_bytes = !item.may_be_empty();
    cursor.descend(|cursor| {
        skip_blocks(cursor, |cursor| if has_bytes { skip(item, cursor).map(|()| true) } else { Ok(false) })
    })
}

/// Skips all blocks of an array or map.
///
/// `item` skips one item, and returns whether the rest of the block can contain more bytes.
fn skip_blocks<'a>(
    cursor: &mut AvroCursor<'a>,
    mut item: impl FnMut(&mut AvroCursor<'a>) -> AvroResult<bool>,
) -> AvroResult<()> {
    loop {
        match cursor.block()? {
            (0, _) => return Ok(()),
            (_, Some(size)) => match usize::try_from(size) {
                Ok(size) => _ = cursor.take(size)?,
                Err(_) => return fault(format!("expected the size of a block in bytes, got {size}")),
            },
            (count, None) => {
                for _ in 0..count {
                    if !item(cursor)? {
                        break;
                    }
                }
            }
        }
    }
}
