//! Messages that share no entry with other messages: delayed messages, chunked messages, and messages without
//! batching.
//!
//! The entry's metadata contains the fields that `SingleMessageMetadata` contains for a batched message.

use super::batch::PartitionWriter;
use super::packing::{Packing, put_property};
use super::resend::chunk_uuid;
use super::{Limits, too_large};
use crate::error::Result;
use crate::metadata::{MessageMetadata, SingleMetadata};
use crate::wire::{put_bytes, put_number};

/// Number of bytes to reserve for numbers that differ between chunks, and for the frame of an entry.
const SPARE_BYTES: usize = 64;

/// The fields that an entry of one message has besides the fields of a batched message.
#[derive(Debug, Clone, Default)]
pub struct UnbatchedFields<'a> {
    /// Time in Unix milliseconds before which shared subscriptions do not receive the message.
    pub deliver_at: Option<u64>,
    /// The clusters that receive the message by replication. If empty, the topic's policy decides.
    pub replicate_to: Vec<&'a str>,
    /// The sequence id that the row names.
    pub sequence_id: Option<u64>,
}

impl UnbatchedFields<'_> {
    /// Returns whether the message can share an entry with other messages. The metadata of a shared entry
    /// apply to all its messages.
    pub fn is_default(&self) -> bool {
        self.deliver_at.is_none() && self.replicate_to.is_empty() && self.sequence_id.is_none()
    }
}

impl PartitionWriter<'_> {
    /// Returns whether a message of about `bytes` bytes, with its own metadata, must be cut into chunks.
    pub fn must_chunk(&self, bytes: usize) -> bool {
        let limits = self.limits();
        limits.chunk_bytes.is_some_and(|most| bytes + self.overhead() > most.min(limits.max_message_bytes))
    }

    /// Closes the open entry, and then sends one message in one or more separate entries.
    pub fn append_unbatched(
        &mut self,
        single: &SingleMetadata<'_>,
        own_fields: &UnbatchedFields<'_>,
        payload: &[u8],
        row: usize,
        packing: &mut Packing<'_>,
    ) -> Result<()> {
        self.close(packing)?;
        if let Some(id) = own_fields.sequence_id {
            self.take_sequence_id(id, row)?;
        }
        let limits = self.limits();
        let sent = packing.pack(payload, |packed, encryptor| {
            let mut fields = Vec::with_capacity(256);
            put_message_fields(&mut fields, single, own_fields);
            let head = |writer: &Self| {
                let entry = MessageMetadata {
                    compression: packed.codec.number(),
                    uncompressed_size: payload.len() as u32,
                    ..writer.own_metadata()
                };
                let mut head = Vec::with_capacity(fields.len() + 256);
                entry.write(&mut head, entry.sequence_id);
                head.extend_from_slice(&fields);
                (head, chunk_uuid(entry.producer_name, entry.sequence_id))
            };
            let (first, uuid) = head(self);
            let overhead = first.len() + uuid.len() + limits.encryption_bytes + SPARE_BYTES;
            let pieces = pieces(packed.payload, overhead, &limits, row)?;
            for (index, piece) in pieces.iter().enumerate() {
                // Each chunk has its own sequence id. A broker that loads the topic again continues from the
                // last id in the topic. If the chunks had the same id, the broker would drop them as
                // duplicates.
                let (mut metadata, _) = head(self);
                if pieces.len() > 1 {
                    put_chunk(&mut metadata, &uuid, pieces.len(), packed.payload.len(), index);
                }
                encryptor.encrypt_entry(&mut metadata, piece, |metadata, piece| {
                    self.send_unbatched(metadata, piece, pieces.len() > 1);
                    Ok(())
                })?;
            }
            self.end_message(pieces.len());
            Ok(())
        });
        sent.map_err(|e| e.in_row(row))
    }
}

/// Cuts the payload into as few parts as possible, in order. The result has at least one part.
fn pieces<'p>(payload: &'p [u8], overhead: usize, limits: &Limits, row: usize) -> Result<Vec<&'p [u8]>> {
    let most = limits.chunk_bytes.unwrap_or(usize::MAX).min(limits.max_message_bytes);
    if payload.len().saturating_add(overhead) <= most {
        return Ok(vec![payload]);
    }
    let room = most.saturating_sub(overhead);
    if limits.chunk_bytes.is_none() || room == 0 {
        return Err(too_large(most, payload.len() + overhead, row));
    }
    Ok(payload.chunks(room).collect())
}

/// Appends the fields of a message that a batch would store for each of its messages.
fn put_message_fields(out: &mut Vec<u8>, single: &SingleMetadata<'_>, own_fields: &UnbatchedFields<'_>) {
    for (key, value) in &single.properties {
        put_property(out, 4, key, value);
    }
    if let Some(key) = single.partition_key {
        put_bytes(out, 6, key);
    }
    for cluster in &own_fields.replicate_to {
        put_bytes(out, 7, cluster.as_bytes());
    }
    if single.event_time != 0 {
        put_number(out, 12, single.event_time);
    }
    if single.partition_key_base64 {
        put_number(out, 17, 1);
    }
    if let Some(key) = single.ordering_key {
        put_bytes(out, 18, key);
    }
    if let Some(at) = own_fields.deliver_at {
        put_number(out, 19, at);
    }
    if single.null_value {
        put_number(out, 25, 1);
    }
    if single.null_partition_key {
        put_number(out, 30, 1);
    }
}

fn put_chunk(out: &mut Vec<u8>, uuid: &str, chunks: usize, total: usize, index: usize) {
    put_bytes(out, 26, uuid.as_bytes());
    put_number(out, 27, chunks as u64);
    put_number(out, 28, total as u64);
    put_number(out, 29, index as u64);
}
