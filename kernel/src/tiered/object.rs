//! The index object of a ledger in an object store, format version 1.
//!
//! The bytes are `u32 0xde47de47 | i32 length | i64 length of the data object | i64 length of a block's header |
//! i32 n | i32 m | LedgerMetadataFormat of m bytes | n times {i64 first entry | i32 part | i64 offset}`. All numbers
//! are big endian. The source of the format is Pulsar's `OffloadIndexBlockImpl`.

use super::blocks::{Block, Blocks, HEADER_LENGTH};
use super::{EntryRange, Layout, StoredEntries};
use crate::error::{ErrorKind, KernelError, MessageRef, Result};
use crate::wire::{WireFields, split_u32};

const MAGIC: u32 = 0xde47_de47;
/// Magic number of a streaming offload's index, which contains several ledgers; brokers do not write such an index.
const STREAMING_MAGIC: u32 = 0x3d1f_b0bc;
const FIXED: usize = 32;
const BLOCK_ENTRY: usize = 20;
const LAST_ENTRY_FIELD: u32 = 4;

/// The index of a ledger's data object.
#[derive(Debug)]
pub struct ObjectIndex {
    ledger: i64,
    /// Length of the data object in bytes.
    pub data_length: u64,
    /// Id of the ledger's last entry, from the ledger metadata.
    pub last_entry: i64,
    /// Blocks that have bytes in the data object, in order.
    pub blocks: Vec<Block>,
    /// First entry that the data object lacks, if the offloader stopped before the last entry.
    ///
    /// For an entry that is longer than a block, the offloader writes a block of padding and reports success.
    pub first_missing: Option<i64>,
}

impl ObjectIndex {
    /// Parses the bytes of the index object; an error names the ledger but no entry.
    pub fn parse(ledger: i64, data: &[u8]) -> Result<Self> {
        parse(ledger, data).map_err(|error| {
            error.within("the index object").at(MessageRef { ledger, entry: -1, batch_index: -1 })
        })
    }

    /// Returns a reader of the entries `first` to `last`, both inclusive.
    pub fn entries(&self, first: i64, last: i64) -> Result<StoredEntries> {
        if first < 0 || last < first || last > self.last_entry {
            return Err(KernelError::corrupt(format!(
                "expected a range of the entries 0 to {} of ledger {}, got {first} to {last}",
                self.last_entry, self.ledger
            )));
        }
        let begin = self.blocks.partition_point(|block| block.first_entry <= first).saturating_sub(1);
        let end = self.blocks.partition_point(|block| block.first_entry <= last);
        let blocks = self.blocks.get(begin..end).unwrap_or_default().to_vec();
        let start = blocks.first().map_or(0, |block| block.offset);
        let end = blocks.last().map_or(0, Block::end);
        let range = EntryRange::new(self.ledger, first, last, blocks.first().map(|block| block.first_entry));
        Ok(StoredEntries::new(start, Some(end), Layout::Blocks(Blocks::new(blocks)), range))
    }
}

fn parse(ledger: i64, data: &[u8]) -> Result<ObjectIndex> {
    let head = Head::parse(data)?;
    let rest = data.get(FIXED..).unwrap_or_default();
    let Some((metadata, table)) = rest.split_at_checked(head.metadata_length) else {
        return Err(KernelError::corrupt(format!(
            "expected ledger metadata of {} bytes, got {}",
            head.metadata_length,
            rest.len()
        )));
    };
    let table_bytes = head.block_count.saturating_mul(BLOCK_ENTRY);
    if table.len() < table_bytes {
        return Err(KernelError::corrupt(format!(
            "expected {} blocks in {table_bytes} bytes, got {} bytes",
            head.block_count,
            table.len()
        )));
    }
    let last_entry = last_entry(metadata)?;
    let starts = starts(table.get(..table_bytes).unwrap_or_default(), last_entry)?;
    let (stored, void): (Vec<_>, Vec<_>) = starts.into_iter().partition(|(_, at)| *at < head.data_length);
    Ok(ObjectIndex {
        ledger,
        data_length: head.data_length,
        last_entry,
        blocks: blocks(&stored, head.data_length)?,
        first_missing: void.first().map(|(first, _)| *first),
    })
}

struct Head {
    data_length: u64,
    block_count: usize,
    metadata_length: usize,
}

impl Head {
    fn parse(data: &[u8]) -> Result<Self> {
        let (magic, rest) = split_u32(data).ok_or_else(|| too_short(data))?;
        if magic == STREAMING_MAGIC {
            let text =
                "expected an offloaded object with one ledger, got a streaming offload of several ledgers";
            return Err(KernelError::new(ErrorKind::Unsupported, text));
        }
        if magic != MAGIC {
            return Err(KernelError::corrupt(format!(
                "expected the magic number {MAGIC:#x} at the beginning, got {magic:#x}"
            )));
        }
        let (_, rest) = split_u32(rest).ok_or_else(|| too_short(data))?;
        let (data_length, rest) = split_i64(rest).ok_or_else(|| too_short(data))?;
        let (header_length, rest) = split_i64(rest).ok_or_else(|| too_short(data))?;
        let (block_count, rest) = split_u32(rest).ok_or_else(|| too_short(data))?;
        let (metadata_length, _) = split_u32(rest).ok_or_else(|| too_short(data))?;
        if header_length != HEADER_LENGTH as i64 {
            return Err(KernelError::new(
                ErrorKind::Unsupported,
                format!("expected block headers of {HEADER_LENGTH} bytes, got {header_length}"),
            ));
        }
        let data_length = u64::try_from(data_length).map_err(|_| {
            KernelError::corrupt(format!("expected the length of the data object, got {data_length}"))
        })?;
        Ok(Self { data_length, block_count: block_count as usize, metadata_length: metadata_length as usize })
    }
}

fn too_short(data: &[u8]) -> KernelError {
    KernelError::corrupt(format!("expected at least {FIXED} bytes, got {}", data.len()))
}

/// Returns the first entry and the offset of each block.
fn starts(table: &[u8], last_entry: i64) -> Result<Vec<(i64, u64)>> {
    let mut out: Vec<(i64, u64)> = Vec::with_capacity(table.len() / BLOCK_ENTRY);
    for row in table.chunks_exact(BLOCK_ENTRY) {
        let parsed = split_i64(row)
            .and_then(|(first, rest)| rest.get(4..).and_then(split_i64).map(|(offset, _)| (first, offset)));
        let Some((first, offset)) = parsed else { continue };
        let offset = u64::try_from(offset)
            .map_err(|_| KernelError::corrupt(format!("expected the offset of a block, got {offset}")))?;
        let in_order = match out.last() {
            None => (first, offset) == (0, 0),
            Some((before, at)) => first > *before && first <= last_entry && offset > *at,
        };
        if !in_order {
            return Err(KernelError::corrupt(format!(
                "expected blocks in order from entry 0 at byte 0 to entry {last_entry}, got block {} with entry \
                 {first} at byte {offset}",
                out.len()
            )));
        }
        out.push((first, offset));
    }
    if out.is_empty() {
        return Err(KernelError::corrupt("expected at least one block, got none"));
    }
    Ok(out)
}

fn blocks(starts: &[(i64, u64)], data_length: u64) -> Result<Vec<Block>> {
    let ends = starts.iter().skip(1).map(|(_, offset)| *offset).chain([data_length]);
    starts
        .iter()
        .zip(ends)
        .map(|((first_entry, offset), end)| Block::new(*first_entry, *offset, end.saturating_sub(*offset)))
        .collect()
}

/// Returns the last entry in `LedgerMetadataFormat` of BookKeeper's DataFormats.proto; offloaded ledgers are closed.
fn last_entry(metadata: &[u8]) -> Result<i64> {
    let mut fields = WireFields::new(metadata);
    while let Some((number, value)) = fields.next_field()? {
        if number == LAST_ENTRY_FIELD {
            let last = value.number("lastEntryId")? as i64;
            if last >= 0 {
                return Ok(last);
            }
        }
    }
    Err(KernelError::corrupt("expected the ledger metadata of a closed ledger, got none with a last entry"))
}

/// Splits a big-endian `i64` off the front of `bytes`; returns `None` if fewer than eight bytes are left.
pub(super) fn split_i64(bytes: &[u8]) -> Option<(i64, &[u8])> {
    let (head, rest) = bytes.split_first_chunk::<8>()?;
    Some((i64::from_be_bytes(*head), rest))
}
