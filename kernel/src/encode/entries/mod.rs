//! Messages to entries inside SEND frames.
//!
//! [`batch`] collects the messages of one partition and decides where an entry begins and ends. [`unbatched`]
//! sends each message in a separate entry, and cuts a message into chunks if one entry has no room.
//! [`packing`] compresses and encrypts the payload of an entry, [`frame`] adds the frame, and [`resend`]
//! renames chunks that are sent again.

pub mod batch;
mod frame;
pub mod packing;
pub mod resend;
pub mod unbatched;

use crate::compression::Codec;
use crate::error::{ErrorKind, KernelError};

/// The limits at which an entry closes, and its compression.
#[derive(Debug, Clone, Copy)]
pub struct Limits {
    /// Codec of the payload.
    pub codec: Codec,
    /// Maximum number of messages in an entry.
    pub max_messages: usize,
    /// Maximum number of uncompressed bytes of an entry with several messages.
    pub max_bytes: usize,
    /// Maximum number of bytes of an entry in the form in which it is sent.
    pub max_message_bytes: usize,
    /// Maximum number of bytes of a chunk. Larger messages are cut into chunks; if `None`, larger messages
    /// are an error.
    pub chunk_bytes: Option<usize>,
    /// True if all messages of an entry have the same key, which the entry's metadata contains too.
    pub by_key: bool,
    /// Number of bytes that encryption adds to an entry.
    pub encryption_bytes: usize,
}

/// The producer of a partition.
#[derive(Debug, Clone)]
pub struct Producer {
    /// Id of the producer on its connection.
    pub producer_id: u64,
    /// Name of the producer.
    pub producer_name: String,
    /// Sequence id of the next message.
    pub next_sequence_id: u64,
    /// Version of the messages' schema.
    pub schema_version: Option<Vec<u8>>,
    /// Most and least significant bits of the id of the transaction to which the messages belong.
    pub transaction: Option<(u64, u64)>,
}

/// SEND frames for one partition, in order of sequence id.
#[derive(Debug)]
pub struct SendFrames {
    /// Index of the partition.
    pub partition: usize,
    /// Whole frames, one after the other.
    pub frames: Vec<u8>,
    /// Sequence id of the first message.
    pub first_sequence_id: u64,
    /// Sequence id of the last message.
    pub last_sequence_id: u64,
    /// Sequence id of each frame; no two are equal.
    pub sequence_ids: Vec<u64>,
    /// Offset in `frames` of the end of each frame.
    pub ends: Vec<usize>,
    /// The frames of each chunked message: the index of its first frame, and the index after its last frame.
    pub chunked: Vec<(usize, usize)>,
    /// Number of messages in all frames.
    pub num_messages: usize,
}

/// Returns the error for a message or chunk above the broker's limit.
pub fn too_large(most: usize, got: usize, row: usize) -> KernelError {
    KernelError::new(ErrorKind::TooLarge, format!("expected an entry of at most {most} bytes, got {got}"))
        .in_row(row)
}
