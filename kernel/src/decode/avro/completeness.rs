//! Whether the columns of an Avro message tell all that the message says, as far as its bytes decide that.
//!
//! A message is what its writer's schema says, so the caller compares schemas. Two values may say more than their
//! columns: a map that has a key twice, and a decimal in more bytes than it needs, which another schema may read as
//! bytes.

use std::collections::HashSet;

use super::cursor::{AvroCursor, AvroResult};
use super::skip::skip;
use crate::avro_schema::{AvroType, DecimalType};
use crate::error::Result;

/// What to look for in messages of one schema.
#[derive(Debug)]
pub struct AvroCompleteness {
    /// `None` where the columns tell all values of the schema.
    odd: Option<AvroType>,
}

impl AvroCompleteness {
    /// Raises "schema" for a definition that is not valid.
    pub fn new(definition: &str) -> Result<Self> {
        let kind = AvroType::parse(definition)?;
        Ok(Self { odd: may_be_odd(&kind).then_some(kind) })
    }

    /// Whether the columns tell all of a payload. False for a payload without bytes: its columns could be those of a
    /// null value.
    pub fn is_complete(&self, payload: &[u8]) -> bool {
        let is_whole = |kind| whole(kind, &mut AvroCursor::new(payload)).unwrap_or(false);
        !payload.is_empty() && self.odd.as_ref().is_none_or(is_whole)
    }
}

fn may_be_odd(kind: &AvroType) -> bool {
    match kind {
        AvroType::Map(_) | AvroType::Decimal(DecimalType { fixed: None, .. }) => true,
        AvroType::Array(item) => may_be_odd(item),
        AvroType::Nullable { inner, .. } => may_be_odd(inner),
        AvroType::Union(branches) => branches.iter().any(may_be_odd),
        AvroType::Record(record) => record.fields.iter().any(|field| may_be_odd(&field.kind)),
        _ => false,
    }
}

fn whole(kind: &AvroType, cursor: &mut AvroCursor<'_>) -> AvroResult<bool> {
    match kind {
        AvroType::Decimal(DecimalType { fixed: None, .. }) => {
            // The sign is the first bit, so a byte before it that repeats it says nothing.
            Ok(!matches!(cursor.bytes()?, [] | [0, 0..0x80, ..] | [0xff, 0x80..=0xff, ..]))
        }
        AvroType::Record(record) => {
            let mut all = true;
            for field in &record.fields {
                all = all && whole(&field.kind, cursor)?;
            }
            Ok(all)
        }
        AvroType::Nullable { inner, null_branch } => {
            Ok(cursor.long()? == i64::from(*null_branch) || whole(inner, cursor)?)
        }
        AvroType::Union(branches) => whole(cursor.branch(branches)?, cursor),
        // Items without bytes could be of any number.
        AvroType::Array(item) if item.may_be_empty() => Ok(false),
        AvroType::Array(item) => blocks(cursor, |cursor| whole(item, cursor)),
        AvroType::Map(value) => {
            let mut keys = HashSet::new();
            blocks(cursor, |cursor| Ok(keys.insert(cursor.bytes()?) && whole(value, cursor)?))
        }
        _ => skip(kind, cursor).map(|()| true),
    }
}

/// Whether all items of an array or map are whole.
fn blocks<'a>(
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
