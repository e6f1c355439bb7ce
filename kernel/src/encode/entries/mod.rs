//! Messages to entries inside SEND frames.
//!
//! [`batch`] gathers the messages of one partition and decides where an entry begins and ends; [`unbatched`] sends
//! messages that have entries of their own, in chunks where one entry has no room; [`packing`] compresses and encrypts
//! what goes into an entry, [`frame`] puts the frame around it, and [`resend`] renames chunks that are sent once more.

pub mod batch;
mod frame;
pub mod packing;
pub mod resend;
pub mod unbatched;

use crate::compression::Codec;
use crate::error::{ErrorKind, KernelError};

/// When an entry closes, and how it is compressed.
#[derive(Debug, Clone, Copy)]
pub struct Limits {
    /// Codec of the payload.
    pub codec: Codec,
    /// Most messages of an entry.
    pub max_messages: usize,
    /// Most uncompressed bytes of an entry of several messages.
    pub max_bytes: usize,
    /// Most bytes of an entry as sent.
    pub max_message_bytes: usize,
    /// Larger messages are cut into chunks of at most so many bytes; `None`: they are an error.
    pub chunk_bytes: Option<usize>,
    /// All messages of an entry have one key, which the entry's metadata names too.
    pub by_key: bool,
    /// Bytes that encryption adds to an entry.
    pub encryption_bytes: usize,
}

/// Who sends to a partition.
#[derive(Debug, Clone)]
pub struct Producer {
    /// Id of the producer on its connection.
    pub producer_id: u64,
    /// Its name.
    pub producer_name: String,
    /// Sequence id of the next message.
    pub next_sequence_id: u64,
    /// Version of the schema its messages have.
    pub schema_version: Option<Vec<u8>>,
    /// Most and least significant bits of the transaction that its messages belong to.
    pub transaction: Option<(u64, u64)>,
}

/// SEND frames for one partition, in order of sequence id.
#[derive(Debug)]
pub struct SendFrames {
    /// The partition.
    pub partition: usize,
    /// Whole frames, one after the other.
    pub frames: Vec<u8>,
    /// Sequence id of the first message.
    pub first_sequence_id: u64,
    /// Sequence id of the last message.
    pub last_sequence_id: u64,
    /// Sequence id of each frame; no two are equal.
    pub sequence_ids: Vec<u64>,
    /// Where each frame ends in `frames`.
    pub ends: Vec<usize>,
    /// The frames of each chunked message: its first, and the one behind its last.
    pub chunked: Vec<(usize, usize)>,
    /// Messages in all frames.
    pub num_messages: usize,
}

/// Message or chunk above what the broker takes.
pub fn too_large(most: usize, got: usize, row: usize) -> KernelError {
    KernelError::new(ErrorKind::TooLarge, format!("expected an entry of at most {most} bytes, got {got}"))
        .in_row(row)
}
