//! When an entry begins and ends.
//!
//! One [`PartitionWriter`] takes the messages that one call of [`Encoder::encode`](crate::encode::Encoder::encode) sends
//! to one partition. It has at most one open entry: the messages of a batch that is not yet a frame.
//!
//! | state | event                                                | then                                              |
//! |-------|------------------------------------------------------|---------------------------------------------------|
//! | none  | a message that may share an entry                    | it opens an entry                                 |
//! | open  | the same, and it has room                            | it joins the entry                                |
//! | open  | the same, and it has no room (`must_close_before`)   | the entry closes, the message opens the next      |
//! | open  | the entry has `max_messages`, or `max_bytes`         | it closes, with the message that filled it        |
//! | any   | a message that may not share one, or must be chunked | the open entry closes; it is sent (`unbatched`)   |
//! | open  | the next key begins, with batching by key            | the entry closes                                  |
//! | open  | the call ends (`finish`)                             | the entry closes: nothing is held back            |
//!
//! A message may not share an entry if batching is off, or if it has a delivery time, clusters to which it is
//! replicated, or a sequence id of its row: these are fields of the entry's metadata, which is for all its messages. It must be chunked if with its metadata
//! it is larger than `chunk_bytes`, or than what the broker takes (`max_message_bytes`).
//!
//! Which partition: that of the row, else that of the key. Messages without either take turns, and the turn passes to the
//! next partition when an entry closes and at the end of a call, so that a turn is one whole entry.
//!
//! Why an entry never becomes too large:
//! * Before a message joins, its size is estimated from above: payload, keys, properties and a fixed sum for the fields
//!   around them. An entry of several messages therefore has at most `max_bytes`, and leaves room for its metadata
//!   (`overhead`).
//! * Compression never adds: where it would, `packing` sends the bytes as they are. Encryption adds `encryption_bytes`.
//! * So only an entry of a single message can be too large. Without `chunk_bytes` it is compressed first, and is an error
//!   only if it is too large even so. The rule for keys and properties is stricter
//!   (`check_metadata`): they lie uncompressed in an entry of one message, and whether a message can be sent must not
//!   depend on what shares its entry.
//!
//! Sequence ids: every message has the next one, every chunk as well. An entry of several messages names its first in
//! `MessageMetadata` and its last as `highest_sequence_id`; a receipt carries the first. The ids of the producer advance
//! only when the whole call went well: the writers of a call that fails are dropped, and nothing has happened.

use super::frame::{in_command, put_frame};
use super::packing::Packing;
use super::{Limits, Producer, SendFrames, too_large};
use crate::compression::Codec;
use crate::error::{ErrorKind, KernelError, Result};
use crate::metadata::{MessageMetadata, SingleMetadata};
use crate::wire::{put_bytes, put_number};

/// What one call writes to one partition.
pub struct PartitionWriter<'a> {
    producer: &'a Producer,
    limits: Limits,
    publish_time: u64,
    frames: Vec<u8>,
    sequence_ids: Vec<u64>,
    ends: Vec<usize>,
    chunked: Vec<(usize, usize)>,
    num_messages: usize,
    /// The entry under construction: its messages, their number, and the row of its first.
    messages: Vec<u8>,
    count: usize,
    first_row: usize,
    next_sequence_id: u64,
    /// With `by_key`: the fields that name the key of the entry under construction.
    key_fields: Vec<u8>,
}

impl<'a> PartitionWriter<'a> {
    /// Nothing written yet.
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

    /// Whether the open entry has no room for a message of about `bytes` bytes.
    pub fn must_close_before(&self, bytes: usize) -> bool {
        if self.count == 0 {
            return false;
        }
        let after = self.messages.len().saturating_add(bytes);
        // Room for metadata, and for what a codec adds to bytes it cannot compress.
        let entry_limit = self.limits.max_message_bytes.saturating_sub(self.overhead());
        after > self.limits.max_bytes || after > entry_limit
    }

    /// Most bytes of an entry besides its messages.
    pub fn overhead(&self) -> usize {
        let names =
            self.producer.producer_name.len() + self.producer.schema_version.as_ref().map_or(0, Vec::len);
        names + self.key_fields.len() + self.limits.encryption_bytes + 128
    }

    /// Refuse a message with so many bytes of properties and keys that no entry of its own has room for them. Only a
    /// batch compresses them; whether a message can be sent must not depend on what shares its entry.
    pub fn check_metadata(&self, bytes: usize, row: usize) -> Result<()> {
        let most = self.limits.max_message_bytes.saturating_sub(self.overhead());
        if bytes <= most {
            return Ok(());
        }
        let why = format!(
            "expected at most {most} bytes of key, ordering key and properties, got {bytes}; they lie uncompressed in \
             every entry and every chunk of a message"
        );
        Err(KernelError::new(ErrorKind::TooLarge, why).in_row(row))
    }

    /// Add one message; true when the entry is full with it. The sequence id is set here.
    pub fn append(&mut self, single: &mut SingleMetadata<'_>, payload: &[u8], row: usize) -> Result<bool> {
        single.payload_size = u32::try_from(payload.len())
            .map_err(|_| KernelError::new(ErrorKind::TooLarge, "a message above 4 GiB").in_row(row))?;
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

    /// As Java's KEY_BASED batches: brokers dispatch an entry by these fields.
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

    /// Turn the open entry into a frame; nothing happens when there is none.
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

    /// What does not depend on the messages: whole for an entry with one message that is no batch.
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

    /// One entry of a message with the next sequence id, which it takes.
    pub fn send_unbatched(&mut self, metadata: &[u8], payload: &[u8], is_chunk: bool) {
        let command = self.unbatched_command(is_chunk);
        self.put_frame(self.next_sequence_id, &command, metadata, payload);
        self.next_sequence_id = self.next_sequence_id.wrapping_add(1);
    }

    /// The last so many entries are those of one message.
    pub fn end_message(&mut self, entries: usize) {
        self.num_messages += 1;
        if entries > 1 {
            let behind = self.ends.len();
            self.chunked.push((behind.saturating_sub(entries), behind));
        }
    }

    /// Let the next message have this sequence id. Messages of a producer must rise in it.
    pub fn take_sequence_id(&mut self, id: u64, row: usize) -> Result<()> {
        if id < self.next_sequence_id {
            let why = format!(
                "__sequenceId: expected at least {} here, since ids must rise in each topic partition, got {id}",
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

    /// When entries close.
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

    /// The fields of `CommandSend` that every entry has.
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

    /// Close the open entry and hand out the frames; `None` when nothing was written.
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
