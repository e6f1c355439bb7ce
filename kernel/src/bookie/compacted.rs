//! Entries of a compacted ledger: `i32 length | MessageIdData | i32 length | entry`.
//!
//! The inner entry is the original entry, and the id is its position in the original ledger (`RawMessageImpl`
//! of Pulsar).

use crate::entry::{Entry, EntryBatch};
use crate::error::{KernelError, Result};
use crate::wire::{WireFields, split_u32};

/// Replaces each entry by the entry that it contains, with the original id.
///
/// `after` is the id before the first entry. Fails with an error of the kind `corrupt` if an entry does not
/// have this form. The same error is returned if the id of an entry is not above the previous id.
pub fn unwrap(entries: &mut EntryBatch, after: Option<(i64, i64)>) -> Result<()> {
    let mut last = after;
    for wrapped in entries.take() {
        let at = wrapped.reference();
        let entry = unwrap_one(&wrapped.data).map_err(|e| e.at(at))?;
        let id = (entry.ledger, entry.entry);
        if last.is_some_and(|last| id <= last) {
            let (ledger, entry) = last.unwrap_or_default();
            let why = format!(
                "compacted ledger: expected a message id above {ledger}:{entry}, got {}:{}",
                id.0, id.1
            );
            return Err(KernelError::corrupt(why).at(at));
        }
        last = Some(id);
        entries.push(entry);
    }
    Ok(())
}

fn unwrap_one(data: &[u8]) -> Result<Entry> {
    let short = || KernelError::corrupt("the entry of a compacted ledger is shorter than its length fields");
    let (length, rest) = split_u32(data).ok_or_else(short)?;
    let (id, rest) = rest.split_at_checked(length as usize).ok_or_else(short)?;
    let (length, rest) = split_u32(rest).ok_or_else(short)?;
    if rest.len() != length as usize {
        return Err(KernelError::corrupt(format!(
            "expected {length} bytes in the entry of a compacted ledger, got {}",
            rest.len()
        )));
    }
    let (ledger, entry) = message_id(id)?;
    Ok(Entry::new(ledger, entry, rest.to_vec()))
}

fn message_id(id: &[u8]) -> Result<(i64, i64)> {
    let (mut ledger, mut entry) = (None, None);
    let mut fields = WireFields::new(id);
    while let Some((number, value)) = fields.next_field()? {
        match number {
            1 => ledger = Some(value.number("ledgerId")? as i64),
            2 => entry = Some(value.number("entryId")? as i64),
            _ => {}
        }
    }
    match (ledger, entry) {
        (Some(ledger), Some(entry)) => Ok((ledger, entry)),
        _ => Err(KernelError::corrupt(
            "compacted ledger: expected a message id with ledger and entry, got an incomplete message id",
        )),
    }
}
