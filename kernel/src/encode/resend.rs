//! Chunks that are sent a second time.
//!
//! Readers put chunks with one `uuid` together, and let the message go when one of them comes again: so does the C++
//! client, on which the Python one is built. Where nobody knows which chunks of a message are stored, all of them are
//! sent again as another message, with another uuid.

use crate::entry::CHECKSUM_MAGIC;
use crate::error::{KernelError, Result};
use crate::wire::{Fields, split_u32};

/// Hexadecimal digits at the end of a uuid that say how often the message was begun.
const DIGITS: usize = 8;
const UUID: u32 = 26;

/// The uuid of a message that is sent for the first time; `sequence_id` is that of its first chunk.
pub fn chunk_uuid(producer_name: &[u8], sequence_id: u64) -> String {
    format!("{}-{sequence_id}-{}", String::from_utf8_lossy(producer_name), digits(0))
}

fn digits(attempt: u32) -> String {
    format!("{attempt:0width$x}", width = DIGITS)
}

/// SEND frames of the chunks of one message, with the uuid of its `attempt`: 0 is the one they were made with. No
/// other byte changes, but for the checksums. Raises "corrupt" for other frames.
pub fn renew_chunks(frames: &[u8], attempt: u32) -> Result<Vec<u8>> {
    let mut out = frames.to_vec();
    let mut start = 0;
    while start < out.len() {
        let rest = out.get_mut(start..).unwrap_or_default();
        start +=
            renew(rest, attempt).ok_or_else(|| KernelError::corrupt("expected SEND frames of chunks"))?;
    }
    Ok(out)
}

/// Of the first frame; how long that is.
fn renew(frames: &mut [u8], attempt: u32) -> Option<usize> {
    let (total, rest) = split_u32(frames)?;
    let size = 4 + total as usize;
    let (command, _) = split_u32(rest)?;
    let body = frames.get_mut(8 + command as usize..size)?;
    let checked = body.strip_prefix(&CHECKSUM_MAGIC)?.get(4..)?;
    let (length, rest) = split_u32(checked)?;
    let metadata = rest.get(..length as usize)?;
    let end = uuid_end(metadata)?;
    let behind = CHECKSUM_MAGIC.len() + 8 + end;
    body.get_mut(behind.checked_sub(DIGITS)?..behind)?.copy_from_slice(digits(attempt).as_bytes());
    let checksum = crc32c::crc32c(body.get(6..)?);
    body.get_mut(2..6)?.copy_from_slice(&checksum.to_be_bytes());
    Some(size)
}

/// Where the uuid ends in a `MessageMetadata`.
fn uuid_end(metadata: &[u8]) -> Option<usize> {
    let mut fields = Fields::new(metadata);
    while let Ok(Some((number, value))) = fields.next_field() {
        if number == UUID {
            let uuid = value.bytes("uuid").ok()?;
            return (uuid.len() >= DIGITS).then(|| metadata.len() - fields.left());
        }
    }
    None
}
