//! The SEND frame of an entry.
//!
//! `u32 total | u32 command size | BaseCommand{SEND} | 0x0e01 | u32 crc32c | u32 metadata size |
//! MessageMetadata | payload`, big endian. The checksum covers all bytes after it.

use crate::entry::CHECKSUM_MAGIC;
use crate::wire::{put_bytes, put_number};

const SEND: u64 = 6;
const SEND_FIELD: u32 = 6;

/// Returns a BaseCommand that contains a CommandSend.
pub fn in_command(send: &[u8]) -> Vec<u8> {
    let mut command = Vec::with_capacity(send.len() + 8);
    put_number(&mut command, 1, SEND);
    put_bytes(&mut command, SEND_FIELD, send);
    command
}

/// Appends one frame.
pub fn put_frame(out: &mut Vec<u8>, command: &[u8], metadata: &[u8], payload: &[u8]) {
    let body = metadata.len() + payload.len() + 10;
    out.extend_from_slice(&((4 + command.len() + body) as u32).to_be_bytes());
    out.extend_from_slice(&(command.len() as u32).to_be_bytes());
    out.extend_from_slice(command);
    out.extend_from_slice(&CHECKSUM_MAGIC);
    let size = (metadata.len() as u32).to_be_bytes();
    let checksum =
        [metadata, payload].iter().fold(crc32c::crc32c(&size), |sum, part| crc32c::crc32c_append(sum, part));
    out.extend_from_slice(&checksum.to_be_bytes());
    out.extend_from_slice(&size);
    out.extend_from_slice(metadata);
    out.extend_from_slice(payload);
}
