//! Chunks that are sent a second time.
//!
//! # The problem
//!
//! A producer that loses its connection does not know which of its unconfirmed frames the broker stored, and sends all
//! of them again. A batch is then stored twice at worst. For a chunked message it is not: readers put chunks
//! together by `uuid`, and not all of them forgive a chunk that comes twice. Java's client ignores it; the C++ client,
//! on which the official Python one is built, lets the whole message go.
//!
//! # The protocol
//!
//! The caller (`client/broker/unconfirmed.py`) holds the last chunk of a message back until all others are confirmed.
//!
//! | the connection breaks                       | stored is                | then it sends                                |
//! |---------------------------------------------|--------------------------|----------------------------------------------|
//! | before any chunk was sent                   | nothing of the message   | the message as it is                         |
//! | before all chunks but the last are confirmed| some chunks, never all   | all chunks, with the uuid of the next attempt|
//! | after that                                  | all but perhaps the last | the last chunk, with the same uuid           |
//!
//! Why this is right: in the second row no reader can have put the first attempt together, since its last chunk was
//! never sent. Its chunks remain as rubbish that every client drops. The new attempt is another message with its own
//! uuid, so that none of its chunks comes twice. In the third row the chunk that may come twice is the last one: by then
//! the message is whole and handed out, or it becomes whole now.
//!
//! # The bytes
//!
//! A uuid is `producer name - sequence id of the first chunk - attempt`, the attempt as 8 hexadecimal digits at its end
//! (attempts 0 to 2^32 - 1). So another attempt has the same length: lengths, `ends` and sequence ids stay as they are,
//! and only the digits and the checksum of each frame change. Encrypted chunks stay valid, since AES-GCM
//! authenticates the payload and not the metadata.

use crate::entry::CHECKSUM_MAGIC;
use crate::error::{KernelError, Result};
use crate::wire::{WireFields, split_u32};

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
    let mut fields = WireFields::new(metadata);
    while let Ok(Some((number, value))) = fields.next_field() {
        if number == UUID {
            let uuid = value.bytes("uuid").ok()?;
            return (uuid.len() >= DIGITS).then(|| metadata.len() - fields.left());
        }
    }
    None
}
