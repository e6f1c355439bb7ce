//! The check whether the columns of an Avro message determine its values.
//!
//! The caller compares the writer's and the reader's schema, so this check examines only the bytes. The
//! columns do not determine two kinds of values. One is a map with a repeated key. The other is a decimal
//! that is stored with redundant leading bytes, because another schema may read the decimal as bytes.

use std::collections::HashSet;

use super::cursor::{AvroCursor, AvroResult};
use super::skip::skip;
use crate::avro_schema::{AvroType, DecimalType};
use crate::error::Result;

/// The check for messages of one schema.
#[derive(Debug)]
pub struct AvroCompleteness {
    /// The schema, or `None` if columns determine all of its values.
    kind: Option<AvroType>,
}

impl AvroCompleteness {
    /// Creates the check; returns an error of the kind `schema` if the definition is not valid.
    pub fn new(definition: &str) -> Result<Self> {
        let kind = AvroType::parse(definition)?;
        Ok(Self { kind: may_be_incomplete(&kind).then_some(kind) })
    }

    /// Returns whether the columns determine a payload.
    ///
    /// The result is false for an empty payload, because the columns of a null value may be the same.
    pub fn is_complete(&self, payload: &[u8]) -> bool {
        let is_complete = |kind| is_value_complete(kind, &mut AvroCursor::new(payload)).unwrap_or(false);
        !payload.is_empty() && self.kind.as_ref().is_none_or(is_complete)
    }
}

fn may_be_incomplete(kind: &AvroType) -> bool {
    match kind {
        AvroType::Map(_) | AvroType::Decimal(DecimalType { fixed: None, .. }) => true,
        AvroType::Array(item) => may_be_incomplete(item),
        AvroType::Nullable { inner, .. } => may_be_incomplete(inner),
        AvroType::Union(branches) => branches.iter().any(may_be_incomplete),
        AvroType::Record(record) => record.fields.iter().any(|field| may_be_incomplete(&field.kind)),
        _ => false,
    }
}

fn is_value_complete(kind: &AvroType, cursor: &mut AvroCursor<'_>) -> AvroResult<bool> {
    match kind {
        AvroType::Decimal(DecimalType { fixed: None, .. }) => {
            // The first bit is the sign, so a first byte that only repeats the sign of the next byte is redundant.
            Ok(!matches!(cursor.bytes()?, [] | [0, 0..0x80, ..] | [0xff, 0x80..=0xff, ..]))
        }
        AvroType::Record(record) => {
            let mut all = true;
            for field in &record.fields {
                all = all && is_value_complete(&field.kind, cursor)?;
            }
            Ok(all)
        }
        AvroType::Nullable { inner, null_branch } => {
            Ok(cursor.long()? == i64::from(*null_branch) || is_value_complete(inner, cursor)?)
        }
        AvroType::Union(branches) => is_value_complete(cursor.branch(branches)?, cursor),
        // If the items of an array have no bytes, the payload could state any number of items.
        AvroType::Array(item) if item.may_be_empty() => Ok(false),
        AvroType::Array(item) => are_items_complete(cursor, |cursor| is_value_complete(item, cursor)),
        AvroType::Map(value) => {
            let mut keys = HashSet::new();
            are_items_complete(cursor, |cursor| {
                Ok(keys.insert(cursor.bytes()?) && is_value_complete(value, cursor)?)
            })
        }
        _ => skip(kind, cursor).map(|()| true),
    }
}

/// Returns whether `item` returns true for each item of an array or map.
fn are_items_complete<'a>(
    cursor: &mut AvroCursor<'a>,
    mut item: impl FnMut(&mut AvroCursor<'a>) -> AvroResult<bool>,
) -> AvroResult<bool> {
    loop {
        let (count, _) = cursor.block()?;
        if count == 0 {
            return Ok(true);
        }
        for _ in 0..count {
            if !item(cursor)? {
                return Ok(false);
            }
        }
    }
}
