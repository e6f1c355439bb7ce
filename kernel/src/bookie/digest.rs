//! What bookies store of an entry: `i64 ledger | i64 entry | i64 last confirmed | i64 length so far | digest | data`.
//!
//! The digest is made by the writer over the 32 bytes before it and the data behind it (`DigestManager` of
//! BookKeeper): CRC32C in 4 bytes, CRC32 in 8, nothing for DUMMY. An HMAC needs the password of the ledger.

use crate::bookie::protocol::split_i64;
use crate::error::{KernelError, Result};
use crate::wire::split_u32;

const HEADER: usize = 32;

/// How the entries of a ledger are protected.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Digest {
    /// Four bytes; Pulsar's default.
    Crc32c,
    /// A number of eight bytes; compacted ledgers.
    Crc32,
    /// None at all.
    Dummy,
    /// Not told: one of the two that can be recognised.
    EitherCrc,
}

impl Digest {
    /// By BookKeeper's name; no name stands for [`Digest::EitherCrc`]. An error for those that need a password.
    pub fn from_name(name: Option<&str>) -> Result<Self> {
        match name {
            Some("CRC32C") => Ok(Self::Crc32c),
            Some("CRC32") => Ok(Self::Crc32),
            Some("DUMMY") => Ok(Self::Dummy),
            None => Ok(Self::EitherCrc),
            Some(other) => Err(KernelError::new(
                crate::ErrorKind::Unsupported,
                format!("digest {other}: expected CRC32C, CRC32 or DUMMY; others need the ledger's password"),
            )),
        }
    }

    /// The data of the body when it belongs to that entry and its digest fits, else `None`.
    pub fn verified(self, body: &[u8], ledger: i64, entry: i64) -> Option<&[u8]> {
        let (header, rest) = body.split_at_checked(HEADER)?;
        let (its_ledger, after) = split_i64(header)?;
        let (its_entry, _) = split_i64(after)?;
        if (its_ledger, its_entry) != (ledger, entry) {
            return None;
        }
        match self {
            Self::Crc32c => crc32c_data(header, rest),
            Self::Crc32 => crc32_data(header, rest),
            Self::Dummy => Some(rest),
            Self::EitherCrc => crc32c_data(header, rest).or_else(|| crc32_data(header, rest)),
        }
    }
}

fn crc32c_data<'a>(header: &[u8], rest: &'a [u8]) -> Option<&'a [u8]> {
    let (expected, data) = split_u32(rest)?;
    let got = crc32c::crc32c_append(crc32c::crc32c(header), data);
    (expected == got).then_some(data)
}

fn crc32_data<'a>(header: &[u8], rest: &'a [u8]) -> Option<&'a [u8]> {
    let (expected, data) = split_i64(rest)?;
    let mut got = flate2::Crc::new();
    got.update(header);
    got.update(data);
    (expected == i64::from(got.sum())).then_some(data)
}
