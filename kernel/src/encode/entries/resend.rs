//! Chunks that are sent a second time.
//!
//! # The problem
//!
//! A producer that loses its connection does not know which of its unconfirmed frames the broker stored, and
//! sends all of them again. In the worst case, a batch is then stored twice. A chunked message is different,
//! because readers join chunks by `uuid`, and not all readers accept a chunk twice. Java's client ignores the
//! second copy. The C++ client, on which the official Python client is built, drops the whole message.
//!
//! # The protocol
//!
//! The caller (`client/broker/unconfirmed.py`) sends the last chunk of a message only after all other chunks
//! are confirmed.
//!
//! ```text
//! | the connection breaks                        | the broker stores        | the producer sends                            |
//! |----------------------------------------------|--------------------------|-----------------------------------------------|
//! | before any chunk was sent                    | no part of the message   | the message unchanged                         |
//! | before all chunks but the last are confirmed | some chunks, never all   | all chunks, with the uuid of the next attempt |
//! | after that                                   | all but perhaps the last | the last chunk, with the same uuid            |
//! ```
//!
//! In the second row no reader can have joined the first attempt, because its last chunk was never sent. The
//! chunks of the first attempt remain in the topic, and every client drops them. The new attempt is another
//! message with its own uuid, so none of its chunks arrives twice. In the third row only the last chunk may
//! arrive twice. At that time a reader already has the whole message, or receives it now.
//!
//! # The bytes
//!
//! A uuid is `producer name - sequence id of the first chunk - attempt`. The attempt is 8 hexadecimal digits
//! at its end (attempts 0 to 2^32 - 1), so all attempts have the same length. Lengths, `ends` and sequence
//! ids do not change; only the digits and the checksum of each frame do. Encrypted chunks stay valid, because
//! AES-GCM authenticates the payload and not the metadata.

use crate::entry::CHECKSUM_MAGIC;
use crate::error::{KernelError, Result};
use crate::wire::{WireFields, split_u32};

/// Number of hexadecimal digits of the attempt at the end of a uuid.
const DIGITS: usize = 8;
const UUID: u32 = 26;

/// Returns the uuid of a message's first attempt. `sequence_id` is the sequence id of its first chunk.
pub fn chunk_uuid(producer_name: &[u8], sequence_id: u64) -> String {
    format!("{}-{sequence_id}-{}", String::from_utf8_lossy(producer_name), digits(0))
}

fn digits(attempt: u32) -> String {
    format!("{attempt:0width$x}", width = DIGITS)
}

/// Returns the SEND frames of a message's chunks with the uuid of another attempt. Attempt 0 has the original
/// uuid. Only the uuid and the checksums change. Fails with an error of the kind `corrupt` for other frames.
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

/// Renames the chunk in the first frame, and returns the length of the frame.
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

/// Returns the end of the uuid in a `MessageMetadata`.
fn uuid_end(metadata: &[u8]) -> Option<usize> {
    let mut fields = WireFields::new(metadata);
    while let Ok(Some((number, value))) = fields.next_field() {
        if number == UUID {
            let uuid = value.bytes("uuid").ok()?;
            return (uuid.len() >= DIGITS).then(|| metadata.len() - fields.remaining());
        }
    }
    None
}
