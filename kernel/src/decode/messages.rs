//! The messages of one entry, which may be cut across record batches.

use crate::compression::{Codec, decompress};
use crate::decode::metadata_columns::Row;
use crate::entry::Entry;
use crate::error::{ErrorKind, KernelError, MessageRef, Result};
use crate::metadata::{MessageMetadata, SingleMetadata};
use crate::select::Range;
use crate::wire::split_u32;

/// An entry whose payload is decompressed, and how far it has been read.
#[derive(Debug)]
pub struct OpenEntry {
    entry: Entry,
    payload: Vec<u8>,
    offset: usize,
    index: i32,
}

impl OpenEntry {
    /// Verify and decompress; `None` when no message of the entry is wanted (outside the range, or a
    /// marker), which is known without decompressing.
    pub fn open(mut entry: Entry, range: &Range) -> Result<Option<Self>> {
        if !range.touches(entry.ledger, entry.entry, i32::MAX) {
            return Ok(None);
        }
        entry.verify()?;
        let at = entry.reference();
        let parts = entry.parts()?;
        let metadata = &parts.metadata;
        let count = metadata.num_messages_in_batch.unwrap_or(1);
        if metadata.marker_type.is_some() || !range.touches(entry.ledger, entry.entry, count) {
            return Ok(None);
        }
        refuse_unsupported(metadata).map_err(|e| e.at(at))?;
        if count < 1 {
            return Err(KernelError::corrupt(format!("a batch of {count} messages")).at(at));
        }
        let codec = Codec::from_number(metadata.compression).map_err(|e| e.at(at))?;
        let payload = match codec {
            Codec::None => parts.payload.to_vec(),
            _ => {
                decompress(codec, parts.payload, metadata.uncompressed_size as usize).map_err(|e| e.at(at))?
            }
        };
        Ok(Some(Self { entry, payload, offset: 0, index: 0 }))
    }

    /// Hand the wanted messages to `take` until it returns false; true when the entry is used up.
    pub fn each_message(
        &mut self,
        range: &Range,
        mut take: impl FnMut(&Row<'_>) -> Result<bool>,
    ) -> Result<bool> {
        let parts = self.entry.parts()?;
        let Some(count) = parts.metadata.num_messages_in_batch else {
            take(&unbatched_row(&self.entry, &parts.metadata, &self.payload))?;
            return Ok(true);
        };
        let mut single = SingleMetadata::default();
        while self.index < count {
            let at = MessageRef { batch_index: self.index, ..self.entry.reference() };
            let rest = self.payload.get(self.offset..).unwrap_or_default();
            let (body, rest) = split_message(rest, &mut single).map_err(|e| e.at(at))?;
            self.offset = self.payload.len() - rest.len();
            self.index += 1;
            if single.compacted_out || !range.contains(at.ledger, at.entry, at.batch_index) {
                continue;
            }
            if !take(&batched_row(at, &parts.metadata, &single, body))? {
                return Ok(self.index == count && self.check_end(rest_len(&self.payload, self.offset))?);
            }
        }
        self.check_end(rest_len(&self.payload, self.offset))
    }

    fn check_end(&self, left: usize) -> Result<bool> {
        if left > 0 {
            let why = format!("{left} bytes behind the last of {} messages of the batch", self.index);
            return Err(KernelError::corrupt(why).at(self.entry.reference()));
        }
        Ok(true)
    }
}

fn rest_len(payload: &[u8], offset: usize) -> usize {
    payload.len().saturating_sub(offset)
}

fn refuse_unsupported(metadata: &MessageMetadata<'_>) -> Result<()> {
    let why = if metadata.encrypted {
        "the message is encrypted; decryption is not supported"
    } else if metadata.num_chunks > 1 {
        "the message is chunked; chunks are not supported"
    } else {
        return Ok(());
    };
    Err(KernelError::new(ErrorKind::Unsupported, why))
}

/// Take `u32 size | SingleMessageMetadata | payload` off the front.
fn split_message<'a>(bytes: &'a [u8], single: &mut SingleMetadata<'a>) -> Result<(&'a [u8], &'a [u8])> {
    let cut_off = || KernelError::corrupt("the batched entry ends inside this message");
    let (size, rest) = split_u32(bytes).ok_or_else(cut_off)?;
    let (metadata, rest) = rest.split_at_checked(size as usize).ok_or_else(cut_off)?;
    single.parse_into(metadata)?;
    rest.split_at_checked(single.payload_size as usize).ok_or_else(cut_off)
}

fn batched_row<'a>(
    at: MessageRef,
    metadata: &MessageMetadata<'a>,
    single: &'a SingleMetadata<'a>,
    body: &'a [u8],
) -> Row<'a> {
    Row {
        at,
        key: single.key(),
        properties: &single.properties,
        publish_time: metadata.publish_time,
        event_time: single.event_time,
        ordering_key: single.ordering_key,
        producer_name: metadata.producer_name,
        sequence_id: single.sequence_id.unwrap_or(metadata.sequence_id.wrapping_add(at.batch_index as u64)),
        schema_version: metadata.schema_version.unwrap_or_default(),
        payload: (!single.null_value).then_some(body),
    }
}

fn unbatched_row<'a>(entry: &Entry, metadata: &'a MessageMetadata<'a>, payload: &'a [u8]) -> Row<'a> {
    Row {
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
    }
}
