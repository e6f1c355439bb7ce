//! Batched entries inside SEND frames.
//!
//! `u32 total | u32 command size | BaseCommand{SEND} | 0x0e01 | u32 crc32c | u32 metadata size |
//! MessageMetadata | payload`, big endian.

use crate::compression::{Codec, Compressor};
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
    /// Sequence id of each frame.
    pub sequence_ids: Vec<u64>,
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
    /// The entry under construction: its messages, their number, and the row of its first.
    messages: Vec<u8>,
    count: usize,
    first_row: usize,
    next_sequence_id: u64,
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
            messages: Vec::new(),
            count: 0,
            first_row: 0,
            next_sequence_id: producer.next_sequence_id,
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

    fn overhead(&self) -> usize {
        let names =
            self.producer.producer_name.len() + self.producer.schema_version.as_ref().map_or(0, Vec::len);
        names + 128
    }

    /// Add one message; true when the entry is full with it. The sequence id is set here.
    pub fn append(&mut self, single: &mut SingleMetadata<'_>, payload: &[u8], row: usize) -> Result<bool> {
        single.payload_size = u32::try_from(payload.len())
            .map_err(|_| KernelError::new(ErrorKind::TooLarge, "a message above 4 GiB").in_row(row))?;
        single.sequence_id = Some(self.next_sequence_id);
        if self.count == 0 {
            self.first_row = row;
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

    /// Turn the open entry into a frame; nothing happens when there is none.
    pub fn close(&mut self, compressor: &mut Compressor) -> Result<()> {
        if self.count == 0 {
            return Ok(());
        }
        let mut codec = self.limits.codec;
        let mut payload = compressor.compress(&self.messages).map_err(|e| e.in_row(self.first_row))?;
        if payload.len() > self.messages.len() {
            (codec, payload) = (Codec::None, &self.messages);
        }
        let metadata = self.metadata(codec);
        let entry_bytes = metadata.len() + payload.len() + 10;
        if entry_bytes > self.limits.max_message_bytes {
            return Err(KernelError::new(
                ErrorKind::TooLarge,
                format!("expected at most {} bytes, got {entry_bytes}", self.limits.max_message_bytes),
            )
            .in_row(self.first_row));
        }
        let command = self.command();
        frame(&mut self.frames, &command, &metadata, payload);
        self.sequence_ids.push(self.first_of_entry());
        self.messages.clear();
        self.count = 0;
        Ok(())
    }

    fn first_of_entry(&self) -> u64 {
        self.next_sequence_id.wrapping_sub(self.count as u64)
    }

    fn metadata(&self, codec: Codec) -> Vec<u8> {
        let metadata = MessageMetadata {
            producer_name: self.producer.producer_name.as_bytes(),
            sequence_id: self.first_of_entry(),
            publish_time: self.publish_time,
            compression: codec.number(),
            uncompressed_size: self.messages.len() as u32,
            num_messages_in_batch: Some(self.count as i32),
            schema_version: self.producer.schema_version.as_deref(),
            txn_most: self.producer.transaction.map(|(most, _)| most),
            txn_least: self.producer.transaction.map(|(_, least)| least),
            ..MessageMetadata::default()
        };
        let mut out = Vec::with_capacity(self.overhead());
        metadata.write(&mut out, self.next_sequence_id.wrapping_sub(1));
        out
    }

    fn command(&self) -> Vec<u8> {
        let mut send = Vec::with_capacity(40);
        put_number(&mut send, 1, self.producer.producer_id);
        put_number(&mut send, 2, self.first_of_entry());
        put_number(&mut send, 3, self.count as u64);
        if let Some((most, least)) = self.producer.transaction {
            put_number(&mut send, 4, least);
            put_number(&mut send, 5, most);
        }
        put_number(&mut send, 6, self.next_sequence_id.wrapping_sub(1));
        let mut command = Vec::with_capacity(48);
        put_number(&mut command, 1, SEND);
        put_bytes(&mut command, SEND_FIELD, &send);
        command
    }

    /// Close the open entry and hand out the frames; `None` when nothing was written.
    pub fn finish(mut self, partition: usize, compressor: &mut Compressor) -> Result<Option<SendFrames>> {
        self.close(compressor)?;
        let Some(&first) = self.sequence_ids.first() else {
            return Ok(None);
        };
        Ok(Some(SendFrames {
            partition,
            frames: self.frames,
            first_sequence_id: first,
            last_sequence_id: self.next_sequence_id.wrapping_sub(1),
            sequence_ids: self.sequence_ids,
            num_messages: self.next_sequence_id.wrapping_sub(first) as usize,
        }))
    }
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
