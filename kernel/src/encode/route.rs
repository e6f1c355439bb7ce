//! Which partition a message goes to: as the official clients decide.

use crate::error::{KernelError, Result};

/// `java.lang.String.hashCode()` of UTF-8 text: over UTF-16 code units, wrapping.
pub fn java_string_hash(text: &str) -> i32 {
    text.encode_utf16().fold(0i32, |hash, unit| hash.wrapping_mul(31).wrapping_add(i32::from(unit)))
}

/// Partition of a keyed message: JavaStringHash modulo the number of partitions, which must not be 0.
pub fn partition_of_key(text: &str, partitions: usize) -> usize {
    if partitions == 1 {
        return 0;
    }
    let hash = (java_string_hash(text) & i32::MAX) as usize;
    hash.checked_rem(partitions).unwrap_or(0)
}

/// Where messages without a key begin their round: differs between producers, so that many short-lived
/// ones do not all fill partition 0.
pub fn first_partition(producer_name: &str, partitions: usize) -> usize {
    partition_of_key(producer_name, partitions)
}

/// The hashes that the official clients know, by the Java client's names.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Hashing {
    /// `String.hashCode`, the default of the Java and Python clients.
    #[default]
    JavaString,
    /// Murmur3 with 32 bits, seed 0.
    Murmur3,
}

impl Hashing {
    /// From `JavaStringHash` or `Murmur3_32Hash`.
    pub fn from_name(name: &str) -> Result<Self> {
        match name {
            "JavaStringHash" => Ok(Self::JavaString),
            "Murmur3_32Hash" => Ok(Self::Murmur3),
            _ => Err(KernelError::schema(format!(
                "hashing: expected JavaStringHash or Murmur3_32Hash, got {name:?}"
            ))),
        }
    }

    /// Partition of a keyed message.
    pub fn partition_of(self, text: &str, partitions: usize) -> usize {
        match self {
            Self::JavaString => partition_of_key(text, partitions),
            Self::Murmur3 => {
                let hash = (murmur3_32(text.as_bytes()) & 0x7fff_ffff) as usize;
                hash.checked_rem(partitions).unwrap_or(0)
            }
        }
    }
}

/// MurmurHash3_x86_32 with seed 0. Source: Austin Appleby's description, in the public domain.
pub fn murmur3_32(bytes: &[u8]) -> u32 {
    let mixed = |word: u32| word.wrapping_mul(0xcc9e_2d51).rotate_left(15).wrapping_mul(0x1b87_3593);
    let (words, tail) = bytes.as_chunks::<4>();
    let mut hash = words.iter().fold(0u32, |hash, word| {
        let hash = hash ^ mixed(u32::from_le_bytes(*word));
        hash.rotate_left(13).wrapping_mul(5).wrapping_add(0xe654_6b64)
    });
    let rest = tail.iter().rev().fold(0u32, |rest, byte| rest << 8 | u32::from(*byte));
    hash ^= mixed(rest);
    hash ^= bytes.len() as u32;
    hash = (hash ^ hash >> 16).wrapping_mul(0x85eb_ca6b);
    hash = (hash ^ hash >> 13).wrapping_mul(0xc2b2_ae35);
    hash ^ hash >> 16
}
