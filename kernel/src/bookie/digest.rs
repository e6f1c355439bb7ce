//! The bytes that bookies store for an entry: `i64 ledger | i64 entry | i64 last confirmed | i64 length so
//! far | digest | data`.
//!
//! The writer computes the digest over the 32 bytes before it and the data after it (`DigestManager` of
//! BookKeeper). A CRC32C digest has 4 bytes, a CRC32 digest has 8 bytes, and DUMMY has no digest. An HMAC
//! needs the password of the ledger.

use crate::bookie::protocol::split_i64;
use crate::error::{KernelError, Result};
use crate::wire::split_u32;

const HEADER: usize = 32;

/// The digest type of a ledger.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Digest {
    /// CRC32C, 4 bytes: Pulsar's default.
    Crc32c,
    /// CRC32 as a number of 8 bytes: compacted ledgers.
    Crc32,
    /// No digest.
    Dummy,
    /// An unknown type: the digest may be CRC32C or CRC32.
    EitherCrc,
}

impl Digest {
    /// Returns the digest type with BookKeeper's name, or [`Digest::EitherCrc`] without a name. Fails for
    /// types that need a password.
    pub fn from_name(name: Option<&str>) -> Result<Self> {
        match name {
            Some("CRC32C") => Ok(Self::Crc32c),
            Some("CRC32") => Ok(Self::Crc32),
            Some("DUMMY") => Ok(Self::Dummy),
            None => Ok(Self::EitherCrc),
            Some(other) => Err(KernelError::new(
                crate::ErrorKind::Unsupported,
                format!(
                    "digest {other}: expected CRC32C, CRC32 or DUMMY, because other digests need the ledger's password"
                ),
            )),
        }
    }

    /// Returns the data of `body` if `body` belongs to the entry and its digest fits, otherwise `None`.
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
