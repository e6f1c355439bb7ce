//! The messages of one opened entry, which may be distributed over several record batches.

use crate::decode::message_row::MessageRow;
use crate::encryption::CONTEXT_PROPERTY;
use crate::entry::Entry;
use crate::error::{KernelError, MessageRef, Result};
use crate::metadata::{BrokerMetadata, MessageMetadata, SingleMetadata};
use crate::selection::Selection;
use crate::selection::key_slot::slot_without_key;
use crate::wire::split_u32;

/// An entry with its decompressed payload, and the position of the next message.
#[derive(Debug)]
pub struct OpenEntry {
    entry: Entry,
    payload: Vec<u8>,
    offset: usize,
    index: i32,
    state: EntryContent,
}

/// The content of a payload.
#[derive(Debug)]
enum EntryContent {
    /// Messages that can be read.
    Open,
    /// Encrypted bytes, and the property that describes their encryption.
    Undecryptable(String),
    /// The stored payload, and the reason why its messages cannot be read.
    Unopened(KernelError),
}

impl OpenEntry {
    /// Creates an opened entry.
    ///
    /// `payload` is the decompressed payload of the entry. If the entry is the last chunk of a message,
    /// `payload` is the payload of the whole message.
    pub fn new(entry: Entry, payload: Vec<u8>) -> Self {
        Self { entry, payload, offset: 0, index: 0, state: EntryContent::Open }
    }

    /// Creates one row for an entry that remains encrypted; `context` is added to its properties.
    pub fn undecryptable(entry: Entry, payload: Vec<u8>, context: String) -> Self {
        Self { entry, payload, offset: 0, index: 0, state: EntryContent::Undecryptable(context) }
    }

    /// Creates one row for an entry whose stored payload cannot be opened.
    pub fn unopened(entry: Entry, payload: Vec<u8>, fault: KernelError) -> Self {
        Self { entry, payload, offset: 0, index: 0, state: EntryContent::Unopened(fault) }
    }

    /// Returns the memory of the payload.
    pub fn into_payload(self) -> Vec<u8> {
        self.payload
    }

    /// Calls `take` for each wanted message until `take` returns false. Returns true if the end of the entry
    /// was reached.
    pub fn each_message(
        &mut self,
        selection: &Selection,
        mut take: impl FnMut(&MessageRow<'_>) -> Result<bool>,
    ) -> Result<bool> {
        let mut parts = self.entry.parts()?;
        let broker = parts.broker_metadata().map_err(|e| e.at(self.entry.reference()))?;
        let (undecryptable, unopened) = match &self.state {
            EntryContent::Open => (false, None),
            EntryContent::Undecryptable(context) => {
                parts.metadata.properties.push((CONTEXT_PROPERTY, context.as_bytes()));
                (true, None)
            }
            EntryContent::Unopened(fault) => (false, Some(fault)),
        };
        if undecryptable || unopened.is_some() {
            parts.metadata.null_value = false;
            let row = unbatched_row(&self.entry, &parts.metadata, broker, &self.payload);
            let keyless = || slot_without_key(parts.metadata.producer_name, row.sequence_id);
            let keys = selection.filter.wants_keys(row.key, row.ordering_key, keyless);
            if selection.filter.wants_event(row.event_time) && keys {
                take(&MessageRow { undecryptable, unopened, ..row })?;
            }
            return Ok(true);
        }
        let Some(count) = parts.metadata.num_messages_in_batch else {
            take(&unbatched_row(&self.entry, &parts.metadata, broker, &self.payload))?;
            return Ok(true);
        };
        let mut single = SingleMetadata::default();
        while self.index < count {
            let at = MessageRef { batch_index: self.index, ..self.entry.reference() };
            let rest = self.payload.get(self.offset..).unwrap_or_default();
            let (body, rest) = split_message(rest, &mut single).map_err(|e| e.at(at))?;
            self.offset = self.payload.len() - rest.len();
            self.index += 1;
            let inside = selection.range.contains(at.ledger, at.entry, at.batch_index);
            if single.compacted_out || !inside || !selection.filter.wants_event(single.event_time) {
                continue;
            }
            let keyless =
                || slot_without_key(parts.metadata.producer_name, sequence_id(&parts.metadata, at, &single));
            if !selection.filter.wants_keys(single.key(), single.ordering_key, keyless) {
                continue;
            }
            let broker = broker.of_message(at.batch_index, count);
            if !take(&batched_row(at, &parts.metadata, broker, &single, body))? {
                return Ok(self.index == count && self.check_end(rest_len(&self.payload, self.offset))?);
            }
        }
        self.check_end(rest_len(&self.payload, self.offset))
    }

    fn check_end(&self, left: usize) -> Result<bool> {
        if left > 0 {
            let why =
                format!("expected the end after {} messages of the batch, got {left} more bytes", self.index);
            return Err(KernelError::corrupt(why).at(self.entry.reference()));
        }
        Ok(true)
    }
}

fn rest_len(payload: &[u8], offset: usize) -> usize {
    payload.len().saturating_sub(offset)
}

/// Splits `u32 size | SingleMessageMetadata | payload` off the front of `bytes`. Returns the payload and the
/// remaining bytes.
fn split_message<'a>(bytes: &'a [u8], single: &mut SingleMetadata<'a>) -> Result<(&'a [u8], &'a [u8])> {
    let cut_off = || KernelError::corrupt("the batched entry ends inside this message");
    let (size, rest) = split_u32(bytes).ok_or_else(cut_off)?;
    let (metadata, rest) = rest.split_at_checked(size as usize).ok_or_else(cut_off)?;
    single.parse_into(metadata)?;
    rest.split_at_checked(single.payload_size as usize).ok_or_else(cut_off)
}

/// Returns the sequence id of a message in a batch.
fn sequence_id(metadata: &MessageMetadata<'_>, at: MessageRef, single: &SingleMetadata<'_>) -> u64 {
    single.sequence_id.unwrap_or(metadata.sequence_id.wrapping_add(at.batch_index as u64))
}

fn batched_row<'a>(
    at: MessageRef,
    metadata: &MessageMetadata<'a>,
    broker: BrokerMetadata,
    single: &'a SingleMetadata<'a>,
    body: &'a [u8],
) -> MessageRow<'a> {
    MessageRow {
        at,
        key: single.key(),
        properties: &single.properties,
        publish_time: metadata.publish_time,
        event_time: single.event_time,
        ordering_key: single.ordering_key,
        producer_name: metadata.producer_name,
        sequence_id: sequence_id(metadata, at, single),
        schema_version: metadata.schema_version.unwrap_or_default(),
        payload: (!single.null_value).then_some(body),
        undecryptable: false,
        unopened: None,
        replicated_from: metadata.replicated_from,
        broker,
    }
}

fn unbatched_row<'a>(
    entry: &Entry,
    metadata: &'a MessageMetadata<'a>,
    broker: BrokerMetadata,
    payload: &'a [u8],
) -> MessageRow<'a> {
    MessageRow {
        at: entry.reference(),
        key: metadata.key(),
        properties: &metadata.properties,
        publish_time: metadata.publish_time,
        event_time: metadata.event_time,
        ordering_key: metadata.ordering_key,
        producer_name: metadata.producer_name,
        sequence_id: metadata.sequence_id,
        schema_version: metadata.schema_version.unwrap_or_default(),
        payload: (!metadata.null_value).then_some(payload),
        undecryptable: false,
        unopened: None,
        replicated_from: metadata.replicated_from,
        broker,
    }
}
