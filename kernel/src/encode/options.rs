//! The options of an encoder, and how messages become entries.

use arrow_schema::SchemaRef;

use super::route::Hashing;
use crate::error::{KernelError, Result};
use crate::payload_schema::PayloadSchema;

/// The options of an encoder.
#[derive(Debug, Clone)]
pub struct EncoderOptions {
    /// Schema of every batch.
    pub input_schema: SchemaRef,
    /// Schema of the value, with its fields in the schema's order.
    pub value: PayloadSchema,
    /// Number of partitions of the topic; 1 for a topic without partitions.
    pub partitions: usize,
    /// Name of the codec.
    pub compression: String,
    /// Maximum number of messages in an entry.
    pub batching_max_messages: usize,
    /// Maximum number of uncompressed bytes of an entry with several messages.
    pub batching_max_bytes: usize,
    /// Maximum number of bytes of an entry in the form in which it is sent.
    pub max_message_bytes: usize,
}

/// The messages that can share an entry.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Batching {
    /// Consecutive messages.
    #[default]
    InOrder,
    /// Messages with the same ordering key, or the same key, as a Key_Shared subscription requires.
    ByKey,
    /// No messages: each message has an entry of its own.
    None,
}

impl Batching {
    /// Parses `default`, `key` or `none`.
    pub fn from_name(name: &str) -> Result<Self> {
        match name {
            "default" => Ok(Self::InOrder),
            "key" => Ok(Self::ByKey),
            "none" => Ok(Self::None),
            _ => Err(KernelError::schema(format!("batching: expected default, key or none, got {name:?}"))),
        }
    }
}

/// The settings of a producer besides the limits of entries.
#[derive(Debug, Clone, Copy, Default)]
pub struct Producing {
    /// The messages that can share an entry.
    pub batching: Batching,
    /// Largest number of bytes of a chunk. Larger messages are cut into chunks. With `None` a message above
    /// the broker's limit is an error.
    pub chunk_bytes: Option<usize>,
    /// The hash function that assigns keys to partitions.
    pub hashing: Hashing,
}
