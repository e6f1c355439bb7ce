//! The data object of a ledger in an object store: a sequence of adjacent blocks.
//!
//! A block begins with `u32 0xfbdbabcb | i64 128 | i64 length | i64 first entry | padding up to 128 bytes`. Then
//! `{i32 length | i64 entry | bytes}` follows for each entry. The bytes `fe dc de ad` are repeated up to the length of
//! the block. No entry crosses the end of a block. The source of the format is Pulsar's `DataBlockHeaderImpl` and
//! `BlockAwareSegmentInputStreamImpl`.

use super::object::split_i64;
use super::{EntryRange, MAX_STORED};
use crate::error::{ErrorKind, KernelError, Result};
use crate::wire::split_u32;

/// Length of a block's header in bytes.
pub const HEADER_LENGTH: u64 = 128;
const MAGIC: u32 = 0xfbdb_abcb;
const PADDING: u32 = 0xfedc_dead;
const ENTRY_HEADER: u64 = 12;

/// The location of one block in the data object.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Block {
    /// Id of the first entry in the block.
    pub first_entry: i64,
    /// Offset of the block in the data object, in bytes.
    pub offset: u64,
    /// Length of the block in bytes, with header and padding.
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

    /// Returns the offset after the last byte of the block.
    pub fn end(&self) -> u64 {
        self.offset.saturating_add(self.length)
    }
}

/// An incremental parser of adjacent blocks.
#[derive(Debug)]
pub struct Blocks {
    /// Blocks that are not completely parsed, in reverse order, so that the current block is the last.
    remaining: Vec<Block>,
    /// Number of parsed bytes of the current block; 0 before the block's header is parsed.
    position: u64,
    /// True after the first padding of the current block.
    is_padding: bool,
}

enum BlockStep {
    /// Number of bytes that were parsed.
    Used(usize),
    /// More bytes are needed.
    Wait,
}

impl Blocks {
    pub(super) fn new(mut blocks: Vec<Block>) -> Self {
        blocks.reverse();
        Self { remaining: blocks, position: 0, is_padding: false }
    }

    /// Parses the complete entries of `data` from byte `used` on into `range`, and moves `used` past them.
    ///
    /// `data` begins at the first byte that the previous call did not parse.
    pub(super) fn split(&mut self, data: &[u8], range: &mut EntryRange, used: &mut usize) -> Result<()> {
        while !range.is_done() {
            let Some(block) = self.remaining.last().copied() else { break };
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
        if self.position == 0 {
            return self.header(block, rest, range);
        }
        let left = block.length.saturating_sub(self.position);
        if self.is_padding || left < ENTRY_HEADER {
            return Ok(self.skip(left, rest));
        }
        let Some((length, after)) = split_u32(rest) else { return Ok(BlockStep::Wait) };
        if length == PADDING {
            if range.expected == Some(block.first_entry) {
                let why = format!(
                    "the block at byte {} contains padding only, because the offloader omits entries that are longer \
                     than a block",
                    block.offset
                );
                return Err(range.missing(block.first_entry, &why));
            }
            self.is_padding = true;
            return Ok(BlockStep::Used(0));
        }
        self.entry(u64::from(length), left - ENTRY_HEADER, after, range)
    }

    fn entry(&mut self, length: u64, room: u64, after: &[u8], range: &mut EntryRange) -> Result<BlockStep> {
        if length > room {
            return Err(KernelError::corrupt(format!(
                "expected an entry of at most {room} bytes in the rest of its block, got {length} bytes"
            )));
        }
        if length > MAX_STORED as u64 {
            return Err(KernelError::new(
                ErrorKind::Unsupported,
                format!("expected an entry of at most {MAX_STORED} bytes, got {length} bytes"),
            ));
        }
        let Some(data) = split_i64(after).and_then(|(id, data)| Some((id, data.get(..length as usize)?)))
        else {
            return Ok(BlockStep::Wait);
        };
        range.take(data.0, data.1)?;
        let bytes = ENTRY_HEADER + length;
        self.position += bytes;
        Ok(BlockStep::Used(bytes as usize))
    }

    fn header(&mut self, block: Block, rest: &[u8], range: &EntryRange) -> Result<BlockStep> {
        let Some(header) = rest.get(..HEADER_LENGTH as usize) else { return Ok(BlockStep::Wait) };
        let parsed = parse_header(header);
        let expected = (MAGIC, HEADER_LENGTH as i64, block.length as i64, block.first_entry);
        if parsed != Some(expected) {
            return Err(KernelError::corrupt(format!(
                "expected the header of the block that begins with entry {} and has {} bytes, got {}",
                block.first_entry,
                block.length,
                parsed.map_or("none".to_owned(), |parsed| format!("{parsed:x?}"))
            )));
        }
        if let Some(missing) = range.expected.filter(|expected| *expected != block.first_entry) {
            return Err(
                range.missing(missing, &format!("the next block begins with entry {}", block.first_entry))
            );
        }
        self.position = HEADER_LENGTH;
        Ok(BlockStep::Used(HEADER_LENGTH as usize))
    }

    fn skip(&mut self, left: u64, rest: &[u8]) -> BlockStep {
        let bytes = left.min(rest.len() as u64);
        self.position += bytes;
        if bytes == left {
            self.remaining.pop();
            self.position = 0;
            self.is_padding = false;
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
