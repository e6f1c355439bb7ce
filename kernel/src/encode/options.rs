//! How messages become entries.

use super::route::Hashing;
use crate::error::{KernelError, Result};

/// What shares an entry.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Batching {
    /// Messages that follow each other.
    #[default]
    InOrder,
    /// Messages of one ordering key, or key, so that a Key_Shared subscription stays right.
    ByKey,
    /// Nothing: each message has an entry of its own.
    None,
}

impl Batching {
    /// From `default`, `key` or `none`.
    pub fn from_name(name: &str) -> Result<Self> {
        match name {
            "default" => Ok(Self::InOrder),
            "key" => Ok(Self::ByKey),
            "none" => Ok(Self::None),
            _ => Err(KernelError::schema(format!("batching: expected default, key or none, got {name:?}"))),
        }
    }
}

/// What a producer can be told besides the limits of entries.
#[derive(Debug, Clone, Copy, Default)]
pub struct Producing {
    /// What shares an entry.
    pub batching: Batching,
    /// Larger messages are cut into chunks of at most so many bytes; `None`: above the broker's limit they are an
    /// error.
    pub chunk_bytes: Option<usize>,
    /// Key to partition.
    pub hashing: Hashing,
}
