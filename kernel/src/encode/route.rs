//! The partition of a message, chosen as the official clients do.

use crate::error::{KernelError, Result};
use crate::selection::key_slot::murmur3_32;

/// Returns the result of `java.lang.String.hashCode()`, which is computed from UTF-16 code units and wraps
/// around.
pub fn java_string_hash(text: &str) -> i32 {
    text.encode_utf16().fold(0i32, |hash, unit| hash.wrapping_mul(31).wrapping_add(i32::from(unit)))
}

/// Returns the partition of a message with a key: JavaStringHash modulo the number of partitions, which must
/// not be 0.
pub fn partition_of_key(text: &str, partitions: usize) -> usize {
    if partitions == 1 {
        return 0;
    }
    let hash = (java_string_hash(text) & i32::MAX) as usize;
    hash.checked_rem(partitions).unwrap_or(0)
}

/// Returns the partition of the first message without a key. The partition depends on the producer's name, so
/// that many short-lived producers do not all fill partition 0.
pub fn first_partition(producer_name: &str, partitions: usize) -> usize {
    partition_of_key(producer_name, partitions)
}

/// The hash functions of the official clients, with the names of the Java client.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Hashing {
    /// `String.hashCode`, the default of the Java client.
    #[default]
    JavaString,
    /// Murmur3 with 32 bits and seed 0.
    Murmur3,
}

impl Hashing {
    /// Parses `JavaStringHash` or `Murmur3_32Hash`.
    pub fn from_name(name: &str) -> Result<Self> {
        match name {
            "JavaStringHash" => Ok(Self::JavaString),
            "Murmur3_32Hash" => Ok(Self::Murmur3),
            _ => Err(KernelError::schema(format!(
                "hashing: expected JavaStringHash or Murmur3_32Hash, got {name:?}"
            ))),
        }
    }

    /// Returns the partition of a message with a key.
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
