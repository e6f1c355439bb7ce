//! What an encoder is made of, and how messages become entries.

use arrow_schema::SchemaRef;

use super::route::Hashing;
use crate::error::{KernelError, Result};
use crate::payload_schema::PayloadSchema;

/// What an encoder is made of.
#[derive(Debug, Clone)]
pub struct EncoderOptions {
    /// Schema of every batch.
    pub input_schema: SchemaRef,
    /// The value, its fields in the schema's order.
    pub value: PayloadSchema,
    /// Partitions of the topic; 1 for a topic without.
    pub partitions: usize,
    /// Name of the codec.
    pub compression: String,
    /// Most messages of an entry.
    pub batching_max_messages: usize,
    /// Most uncompressed bytes of an entry of several messages.
    pub batching_max_bytes: usize,
    /// Most bytes of an entry as sent.
    pub max_message_bytes: usize,
}

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
