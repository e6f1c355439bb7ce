//! The data object of a ledger in an object store: blocks, one behind the other.
//!
//! Block: `u32 0xfbdbabcb | i64 128 | i64 length | i64 first entry | padding up to 128 bytes`, then
//! `{i32 length | i64 entry | bytes}` for each entry, then `fe dc de ad` over and over up to the block's length.
//! No entry crosses a block's end. After Pulsar's `DataBlockHeaderImpl` and `BlockAwareSegmentInputStreamImpl`.

use super::object::split_i64;
use super::{EntryRange, MAX_STORED};
use crate::error::{ErrorKind, KernelError, Result};
use crate::wire::split_u32;

/// Bytes of a block's header.
pub const HEADER_LENGTH: u64 = 128;
const MAGIC: u32 = 0xfbdb_abcb;
const PADDING: u32 = 0xfedc_dead;
const ENTRY_HEADER: u64 = 12;

/// Where one block lies.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Block {
    /// Its first entry.
    pub first_entry: i64,
    /// Its first byte in the data object.
    pub offset: u64,
    /// Its bytes, with header and padding.
    pub length: u64,
}

impl Block {
    pub(super) fn new(first_entry: i64, offset: u64, length: u64) -> Result<Self> {
        if length < HEADER_LENGTH {
            return Err(KernelError::corrupt(format!(
                "expected a block of at least {HEADER_LENGTH} bytes at byte {offset}, got {length}"
            )));
        }
        Ok(Self { first_entry, offset, length })
    }

    /// Behind its last byte.
    pub fn end(&self) -> u64 {
        self.offset.saturating_add(self.length)
    }
}

/// Goes over the bytes of adjacent blocks.
#[derive(Debug)]
pub struct Blocks {
    /// Those that are left, the present one last.
    left: Vec<Block>,
    /// Bytes of the present block that are behind us; 0 before its header.
    at: u64,
    padded: bool,
}

enum BlockStep {
    /// So many bytes were handled.
    Used(usize),
    /// More bytes are needed.
    Wait,
}

impl Blocks {
    pub(super) fn new(mut blocks: Vec<Block>) -> Self {
        blocks.reverse();
        Self { left: blocks, at: 0, padded: false }
    }

    /// Handle what is complete of `data`, which begins where the last call ended; `used` counts its bytes.
    pub(super) fn split(&mut self, data: &[u8], range: &mut EntryRange, used: &mut usize) -> Result<()> {
        while !range.is_done() {
            let Some(block) = self.left.last().copied() else { break };
            let rest = data.get(*used..).unwrap_or_default();
            match self.step(block, rest, range)? {
                BlockStep::Wait => return Ok(()),
                BlockStep::Used(bytes) => *used += bytes,
            }
        }
        *used = data.len();
        Ok(())
    }

    fn step(&mut self, block: Block, rest: &[u8], range: &mut EntryRange) -> Result<BlockStep> {
        if self.at == 0 {
            return self.header(block, rest, range);
        }
        let left = block.length.saturating_sub(self.at);
        if self.padded || left < ENTRY_HEADER {
            return Ok(self.skip(left, rest));
        }
        let Some((length, after)) = split_u32(rest) else { return Ok(BlockStep::Wait) };
        if length == PADDING {
            if range.expected == Some(block.first_entry) {
                let why = format!(
                    "the block at byte {} holds padding only: the offloader leaves entries out that are longer than \
                     a block",
                    block.offset
                );
                return Err(range.missing(block.first_entry, &why));
            }
            self.padded = true;
            return Ok(BlockStep::Used(0));
        }
        self.entry(u64::from(length), left - ENTRY_HEADER, after, range)
    }

    fn entry(&mut self, length: u64, room: u64, after: &[u8], range: &mut EntryRange) -> Result<BlockStep> {
        if length > room {
            return Err(KernelError::corrupt(format!(
                "expected an entry in the {room} bytes that are left of its block, got one of {length}"
            )));
        }
        if length > MAX_STORED as u64 {
            return Err(KernelError::new(
                ErrorKind::Unsupported,
                format!("an entry of {length} bytes; the limit is {MAX_STORED}"),
            ));
        }
        let Some(data) = split_i64(after).and_then(|(id, data)| Some((id, data.get(..length as usize)?)))
        else {
            return Ok(BlockStep::Wait);
        };
        range.take(data.0, data.1)?;
        let bytes = ENTRY_HEADER + length;
        self.at += bytes;
        Ok(BlockStep::Used(bytes as usize))
    }

    fn header(&mut self, block: Block, rest: &[u8], range: &EntryRange) -> Result<BlockStep> {
        let Some(header) = rest.get(..HEADER_LENGTH as usize) else { return Ok(BlockStep::Wait) };
        let said = parse_header(header);
        let expected = (MAGIC, HEADER_LENGTH as i64, block.length as i64, block.first_entry);
        if said != Some(expected) {
            return Err(KernelError::corrupt(format!(
                "expected the header of the block with entry {} of {} bytes, got {}",
                block.first_entry,
                block.length,
                said.map_or("none".to_owned(), |said| format!("{said:x?}"))
            )));
        }
        if let Some(missing) = range.expected.filter(|expected| *expected != block.first_entry) {
            return Err(
                range.missing(missing, &format!("the next block begins with entry {}", block.first_entry))
            );
        }
        self.at = HEADER_LENGTH;
        Ok(BlockStep::Used(HEADER_LENGTH as usize))
    }

    fn skip(&mut self, left: u64, rest: &[u8]) -> BlockStep {
        let bytes = left.min(rest.len() as u64);
        self.at += bytes;
        if bytes == left {
            self.left.pop();
            self.at = 0;
            self.padded = false;
        } else if bytes == 0 {
            return BlockStep::Wait;
        }
        BlockStep::Used(bytes as usize)
    }
}

fn parse_header(header: &[u8]) -> Option<(u32, i64, i64, i64)> {
    let (magic, rest) = split_u32(header)?;
    let (header_length, rest) = split_i64(rest)?;
    let (length, rest) = split_i64(rest)?;
    let (first_entry, _) = split_i64(rest)?;
    Some((magic, header_length, length, first_entry))
}
