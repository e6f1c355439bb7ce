//! The beginning and the end of each entry.
//!
//! A [`PartitionWriter`] receives the messages of one partition, and has at most one open entry. An open entry
//! is a batch that is not yet a frame. Each call of `Encoder::encode` creates new writers.
//!
//! ```text
//! | state | event                                                | effect                                              |
//! |-------|------------------------------------------------------|-----------------------------------------------------|
//! | none  | a message that may share an entry                    | opens an entry                                      |
//! | open  | a message that may share an entry and fits           | joins the entry                                     |
//! | open  | a message that does not fit (`must_close_before`)    | closes the entry, and opens the next one            |
//! | open  | the entry reaches `max_messages` or `max_bytes`      | closes the entry, with the message that filled it   |
//! | any   | a message that may not share one, or must be chunked | closes the open entry, and is sent (`unbatched`)    |
//! | open  | the next key begins, with batching by key            | closes the entry                                    |
//! | open  | the call ends (`finish`)                             | closes the entry, so that all messages are returned |
//! ```
//!
//! A message may not share an entry if batching is off. The same applies to a message with a delivery time,
//! clusters for its replication, or a sequence id from its row. Such values are fields of the entry's
//! metadata. A message must be chunked if it is larger, with its metadata, than `chunk_bytes` or than the
//! broker's limit (`max_message_bytes`).
//!
//! The partition of a message is the row's partition. If the row names no partition, the key determines the
//! partition. Messages with neither are sent to the partitions in turn. When an entry closes, and at the end
//! of a call, the next partition is used.
//!
//! An entry never becomes too large:
//! * Before a message joins an entry, the code computes an upper limit on its size. The limit is the sum of
//!   payload, keys, properties and a fixed number of bytes for other fields. So an entry of several messages
//!   has at most `max_bytes`, and has room for its metadata (`overhead`).
//! * Compression never adds bytes, because `packing` sends the payload uncompressed if compression enlarges
//!   it. Encryption adds `encryption_bytes`.
//! * So only an entry of a single message can be too large. Without `chunk_bytes`, such a message is
//!   compressed first. It is an error if the compressed message is still too large.
//! * The rule for keys and properties is stricter (`check_metadata`). An entry of one message stores them
//!   uncompressed, and whether a message can be sent must not depend on the messages that share its entry.
//!
//! Every message and every chunk has the next sequence id. The metadata of an entry with several messages
//! contains the first of their ids, and the last id as `highest_sequence_id`. A receipt contains the first
//! id. The sequence ids of the producer advance only after the whole call succeeded. A call that fails drops
//! its writers and leaves the encoder unchanged.

use super::frame::{in_command, put_frame};
use super::packing::Packing;
use super::{Limits, Producer, SendFrames, too_large};
use crate::compression::Codec;
use crate::error::{ErrorKind, KernelError, Result};
use crate::metadata::{MessageMetadata, SingleMetadata};
use crate::wire::{put_bytes, put_number};

/// The frames that one call writes for one partition.
pub struct PartitionWriter<'a> {
    producer: &'a Producer,
    limits: Limits,
    publish_time: u64,
    frames: Vec<u8>,
    sequence_ids: Vec<u64>,
    ends: Vec<usize>,
    chunked: Vec<(usize, usize)>,
    num_messages: usize,
    /// The open entry: its messages, their number, and the row of its first message.
    messages: Vec<u8>,
    count: usize,
    first_row: usize,
    next_sequence_id: u64,
    /// The fields that contain the key of the open entry; empty without `by_key`.
    key_fields: Vec<u8>,
}

impl<'a> PartitionWriter<'a> {
    /// Creates a writer without frames.
    pub fn new(producer: &'a Producer, limits: Limits, publish_time: u64) -> Self {
        Self {
            producer,
            limits,
            publish_time,
            frames: Vec::new(),
            sequence_ids: Vec::new(),
            ends: Vec::new(),
            chunked: Vec::new(),
            num_messages: 0,
            messages: Vec::new(),
            count: 0,
            first_row: 0,
            next_sequence_id: producer.next_sequence_id,
            key_fields: Vec::new(),
        }
    }

    /// Returns whether the open entry has no room for a message of about `bytes` bytes.
    pub fn must_close_before(&self, bytes: usize) -> bool {
        if self.count == 0 {
            return false;
        }
        let after = self.messages.len().saturating_add(bytes);
        // The entry also needs room for metadata, and for the bytes that a codec adds to a payload that is
        // not compressible.
        let entry_limit = self.limits.max_message_bytes.saturating_sub(self.overhead());
        after > self.limits.max_bytes || after > entry_limit
    }

    /// Returns the largest number of bytes of an entry besides its messages.
    pub fn overhead(&self) -> usize {
        let names =
            self.producer.producer_name.len() + self.producer.schema_version.as_ref().map_or(0, Vec::len);
        names + self.key_fields.len() + self.limits.encryption_bytes + 128
    }

    /// Refuses a message whose properties and keys (`bytes`) are too large for an entry with only this
    /// message. A batch compresses them, but whether a message can be sent must not depend on the messages
    /// that share its entry.
    pub fn check_metadata(&self, bytes: usize, row: usize) -> Result<()> {
        let most = self.limits.max_message_bytes.saturating_sub(self.overhead());
        if bytes <= most {
            return Ok(());
        }
        let why = format!(
            "expected at most {most} bytes of key, ordering key and properties, got {bytes} bytes, which are \
             uncompressed in every entry and every chunk of a message"
        );
        Err(KernelError::new(ErrorKind::TooLarge, why).in_row(row))
    }

    /// Adds one message, and sets its sequence id. Returns true if the entry is full.
    pub fn append(&mut self, single: &mut SingleMetadata<'_>, payload: &[u8], row: usize) -> Result<bool> {
        single.payload_size = u32::try_from(payload.len()).map_err(|_| {
            KernelError::new(ErrorKind::TooLarge, "expected a message of at most 4 GiB, got a larger one")
                .in_row(row)
        })?;
        single.sequence_id = Some(self.next_sequence_id);
        if self.count == 0 {
            self.first_row = row;
            if self.limits.by_key {
                self.name_key(single);
            }
        }
        let start = self.messages.len();
        self.messages.extend_from_slice(&[0; 4]);
        single.write(&mut self.messages);
        let written = (self.messages.len() - start - 4) as u32;
        if let Some(size) = self.messages.get_mut(start..start + 4) {
            size.copy_from_slice(&written.to_be_bytes());
        }
        self.messages.extend_from_slice(payload);
        self.count += 1;
        self.next_sequence_id = self.next_sequence_id.wrapping_add(1);
        Ok(self.count >= self.limits.max_messages || self.messages.len() >= self.limits.max_bytes)
    }

    /// Sets the key fields that brokers use to dispatch an entry, as Java's `KEY_BASED` batcher does.
    fn name_key(&mut self, single: &SingleMetadata<'_>) {
        self.key_fields.clear();
        if let Some(key) = single.partition_key {
            put_bytes(&mut self.key_fields, 6, key);
        }
        if single.partition_key_base64 {
            put_number(&mut self.key_fields, 17, 1);
        }
        if let Some(key) = single.ordering_key {
            put_bytes(&mut self.key_fields, 18, key);
        }
    }

    /// Turns the open entry, if there is one, into a frame.
    pub fn close(&mut self, packing: &mut Packing<'_>) -> Result<()> {
        if self.count == 0 {
            return Ok(());
        }
        let messages = std::mem::take(&mut self.messages);
        let closed = packing.pack(&messages, |packed, encryptor| {
            let mut metadata = self.metadata(packed.codec, messages.len());
            encryptor.encrypt_entry(&mut metadata, packed.payload, |metadata, payload| {
                let entry_bytes = metadata.len() + payload.len() + 10;
                if entry_bytes > self.limits.max_message_bytes {
                    return Err(too_large(self.limits.max_message_bytes, entry_bytes, self.first_row));
                }
                let command = self.command();
                self.put_frame(self.first_of_entry(), &command, metadata, payload);
                Ok(())
            })
        });
        closed.map_err(|e| e.in_row(self.first_row))?;
        self.messages = messages;
        self.messages.clear();
        self.num_messages += self.count;
        self.count = 0;
        Ok(())
    }

    /// Returns the metadata that do not depend on the messages. An entry of one unbatched message needs no
    /// other metadata.
    pub fn own_metadata(&self) -> MessageMetadata<'a> {
        MessageMetadata {
            producer_name: self.producer.producer_name.as_bytes(),
            sequence_id: self.next_sequence_id,
            publish_time: self.publish_time,
            schema_version: self.producer.schema_version.as_deref(),
            txn_most: self.producer.transaction.map(|(most, _)| most),
            txn_least: self.producer.transaction.map(|(_, least)| least),
            ..MessageMetadata::default()
        }
    }

    /// Sends one entry of a message with the next sequence id, and advances the id.
    pub fn send_unbatched(&mut self, metadata: &[u8], payload: &[u8], is_chunk: bool) {
        let command = self.unbatched_command(is_chunk);
        self.put_frame(self.next_sequence_id, &command, metadata, payload);
        self.next_sequence_id = self.next_sequence_id.wrapping_add(1);
    }

    /// Ends a message that consists of the last `entries` entries.
    pub fn end_message(&mut self, entries: usize) {
        self.num_messages += 1;
        if entries > 1 {
            let behind = self.ends.len();
            self.chunked.push((behind.saturating_sub(entries), behind));
        }
    }

    /// Sets the sequence id of the next message. The ids of a producer must increase.
    pub fn take_sequence_id(&mut self, id: u64, row: usize) -> Result<()> {
        if id < self.next_sequence_id {
            let why = format!(
                "__sequenceId: expected at least {} here, because ids must increase in each topic partition, got {id}",
                self.next_sequence_id
            );
            return Err(KernelError::payload(why).in_row(row));
        }
        self.next_sequence_id = id;
        Ok(())
    }

    fn put_frame(&mut self, sequence_id: u64, command: &[u8], metadata: &[u8], payload: &[u8]) {
        put_frame(&mut self.frames, command, metadata, payload);
        self.sequence_ids.push(sequence_id);
        self.ends.push(self.frames.len());
    }

    /// Returns the limits at which entries close.
    pub fn limits(&self) -> Limits {
        self.limits
    }

    fn first_of_entry(&self) -> u64 {
        self.next_sequence_id.wrapping_sub(self.count as u64)
    }

    fn metadata(&self, codec: Codec, uncompressed: usize) -> Vec<u8> {
        let metadata = MessageMetadata {
            sequence_id: self.first_of_entry(),
            compression: codec.number(),
            uncompressed_size: uncompressed as u32,
            num_messages_in_batch: Some(self.count as i32),
            ..self.own_metadata()
        };
        let mut out = Vec::with_capacity(self.overhead());
        metadata.write(&mut out, self.next_sequence_id.wrapping_sub(1));
        out.extend_from_slice(&self.key_fields);
        out
    }

    fn command(&self) -> Vec<u8> {
        let mut send = self.send_fields(self.first_of_entry(), self.count);
        put_number(&mut send, 6, self.next_sequence_id.wrapping_sub(1));
        in_command(&send)
    }

    fn unbatched_command(&self, is_chunk: bool) -> Vec<u8> {
        let mut send = self.send_fields(self.next_sequence_id, 1);
        if is_chunk {
            put_number(&mut send, 7, 1);
        }
        in_command(&send)
    }

    /// Returns the fields of `CommandSend` that every entry has.
    fn send_fields(&self, sequence_id: u64, messages: usize) -> Vec<u8> {
        let mut send = Vec::with_capacity(64);
        put_number(&mut send, 1, self.producer.producer_id);
        put_number(&mut send, 2, sequence_id);
        put_number(&mut send, 3, messages as u64);
        if let Some((most, least)) = self.producer.transaction {
            put_number(&mut send, 4, least);
            put_number(&mut send, 5, most);
        }
        send
    }

    /// Closes the open entry and returns the frames; `None` if no message was added.
    pub fn finish(mut self, partition: usize, packing: &mut Packing<'_>) -> Result<Option<SendFrames>> {
        self.close(packing)?;
        let Some(&first) = self.sequence_ids.first() else {
            return Ok(None);
        };
        Ok(Some(SendFrames {
            partition,
            frames: self.frames,
            first_sequence_id: first,
            last_sequence_id: self.next_sequence_id.wrapping_sub(1),
            sequence_ids: self.sequence_ids,
            ends: self.ends,
            chunked: self.chunked,
            num_messages: self.num_messages,
        }))
    }
}
