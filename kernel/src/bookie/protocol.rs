//! Requests to bookies, and their answers.
//!
//! ```text
//! READ_ENTRY  request  i64 ledger | i64 entry
//!             answer   i32 code | i64 ledger | i64 entry | body
//! BATCH_READ  request  i64 ledger | i64 first entry | i64 request id | i32 most entries | i64 most bytes
//!             answer   i32 code | i64 ledger | i64 first entry | i64 request id | { i32 length | body }*
//! ```
//! Requests never have the fencing flag, which would close the ledger to its writer.

use crate::error::{KernelError, Result};
use crate::wire::split_u32;

const VERSION: u32 = 2;
const READ_ENTRY: u32 = 2;
const BATCH_READ: u32 = 7;
/// The code of an answer with the requested entries.
pub const OK: i32 = 0;

/// Appends a READ_ENTRY request.
pub fn put_read(out: &mut Vec<u8>, ledger: i64, entry: i64) {
    out.extend_from_slice(&20u32.to_be_bytes());
    out.extend_from_slice(&(VERSION << 24 | READ_ENTRY << 16).to_be_bytes());
    out.extend_from_slice(&ledger.to_be_bytes());
    out.extend_from_slice(&entry.to_be_bytes());
}

/// Appends a BATCH_READ request for `count` entries from `first` on. The bookie returns fewer entries if an
/// entry is missing, or if the entries together exceed `max_bytes`. The first entry is returned whatever its
/// size.
pub fn put_batch_read(
    out: &mut Vec<u8>,
    ledger: i64,
    first: i64,
    request_id: i64,
    count: i32,
    max_bytes: i64,
) {
    out.extend_from_slice(&40u32.to_be_bytes());
    out.extend_from_slice(&(VERSION << 24 | BATCH_READ << 16).to_be_bytes());
    out.extend_from_slice(&ledger.to_be_bytes());
    out.extend_from_slice(&first.to_be_bytes());
    out.extend_from_slice(&request_id.to_be_bytes());
    out.extend_from_slice(&count.to_be_bytes());
    out.extend_from_slice(&max_bytes.to_be_bytes());
}

/// An answer, borrowed from its frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Response<'a> {
    /// The request id of a BATCH_READ; `None` for a READ_ENTRY.
    pub request_id: Option<i64>,
    /// [`OK`], or the reason why the answer has no entry; `BookieProtocol` of BookKeeper names the codes.
    pub code: i32,
    /// The requested ledger.
    pub ledger: i64,
    /// The requested entry, or the first one of a BATCH_READ.
    pub entry: i64,
    /// A body, or several bodies with their lengths.
    pub rest: &'a [u8],
}

/// Splits the frame of an answer, without its length field, into its parts.
pub fn parse(frame: &[u8]) -> Result<Response<'_>> {
    let short = || {
        KernelError::corrupt(format!(
            "expected a bookie's answer with all its fields, got {} bytes",
            frame.len()
        ))
    };
    let (header, rest) = split_u32(frame).ok_or_else(short)?;
    let (version, operation) = (header >> 24, header >> 16 & 0xff);
    if version != VERSION || !(operation == READ_ENTRY || operation == BATCH_READ) {
        return Err(KernelError::corrupt(format!(
            "expected an answer of BookKeeper's protocol 2 to a read, got version {version}, operation {operation}"
        )));
    }
    let (code, rest) = split_u32(rest).ok_or_else(short)?;
    let (ledger, rest) = split_i64(rest).ok_or_else(short)?;
    let (entry, rest) = split_i64(rest).ok_or_else(short)?;
    let (request_id, rest) = if operation == BATCH_READ {
        let (id, rest) = split_i64(rest).ok_or_else(short)?;
        (Some(id), rest)
    } else {
        (None, rest)
    };
    Ok(Response { request_id, code: code as i32, ledger, entry, rest })
}

/// Splits the next body off the bodies of a BATCH_READ; returns `None` if its length does not fit.
pub fn split_body(bytes: &[u8]) -> Option<(&[u8], &[u8])> {
    let (length, rest) = split_u32(bytes)?;
    rest.split_at_checked(length as usize)
}

/// Splits a big-endian `i64` off the front of `bytes`; returns `None` if fewer than eight bytes are left.
pub fn split_i64(bytes: &[u8]) -> Option<(i64, &[u8])> {
    let (head, rest) = bytes.split_first_chunk::<8>()?;
    Some((i64::from_be_bytes(*head), rest))
}
