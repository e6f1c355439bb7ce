//! Batched entries inside SEND frames.
//!
//! `u32 total | u32 command size | BaseCommand{SEND} | 0x0e01 | u32 crc32c | u32 metadata size |
//! MessageMetadata | payload`, big endian.

use super::packing::Packing;
use crate::compression::Codec;
use crate::entry::CHECKSUM_MAGIC;
use crate::error::{ErrorKind, KernelError, Result};
use crate::metadata::{MessageMetadata, SingleMetadata};
use crate::wire::{put_bytes, put_number};

const SEND: u64 = 6;
const SEND_FIELD: u32 = 6;

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
    pub seal_bytes: usize,
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
        names + self.key_fields.len() + self.limits.seal_bytes + 128
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
        let closed = packing.pack(&messages, |packed, sealer| {
            let mut metadata = self.metadata(packed.codec, messages.len());
            sealer.seal(&mut metadata, packed.payload, |metadata, payload| {
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
    pub fn send_alone(&mut self, metadata: &[u8], payload: &[u8], is_chunk: bool) {
        let command = self.command_alone(is_chunk);
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
        frame(&mut self.frames, command, metadata, payload);
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

    fn command_alone(&self, is_chunk: bool) -> Vec<u8> {
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

/// Message or chunk above what the broker takes.
pub fn too_large(most: usize, got: usize, row: usize) -> KernelError {
    KernelError::new(ErrorKind::TooLarge, format!("expected an entry of at most {most} bytes, got {got}"))
        .in_row(row)
}

fn in_command(send: &[u8]) -> Vec<u8> {
    let mut command = Vec::with_capacity(send.len() + 8);
    put_number(&mut command, 1, SEND);
    put_bytes(&mut command, SEND_FIELD, send);
    command
}

fn frame(out: &mut Vec<u8>, command: &[u8], metadata: &[u8], payload: &[u8]) {
    let body = metadata.len() + payload.len() + 10;
    out.extend_from_slice(&((4 + command.len() + body) as u32).to_be_bytes());
    out.extend_from_slice(&(command.len() as u32).to_be_bytes());
    out.extend_from_slice(command);
    out.extend_from_slice(&CHECKSUM_MAGIC);
    let size = (metadata.len() as u32).to_be_bytes();
    let checksum =
        [metadata, payload].iter().fold(crc32c::crc32c(&size), |sum, part| crc32c::crc32c_append(sum, part));
    out.extend_from_slice(&checksum.to_be_bytes());
    out.extend_from_slice(&size);
    out.extend_from_slice(metadata);
    out.extend_from_slice(payload);
}
