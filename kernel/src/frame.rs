//! The frames of a broker connection.
//!
//! A frame is `u32 total size | u32 command size | BaseCommand | rest`, big endian. Neither size includes its
//! own field. MESSAGE frames of added consumers are kept as entries, and MESSAGE frames of other consumers
//! are dropped. [`FrameDecoder::feed`] returns all other commands as bytes.

use std::collections::HashMap;

use crate::entry::{Entry, EntryBatch};
use crate::error::{KernelError, Result};
use crate::wire::{WireFields, split_u32};

const TYPE_FIELD: u32 = 1;
const MESSAGE_FIELD: u32 = 9;
const MESSAGE_TYPE: u64 = 9;

/// The decoder of one connection's bytes into frames.
#[derive(Debug)]
pub struct FrameDecoder {
    max_frame_bytes: usize,
    pending: Vec<u8>,
    /// A queue of entries for each consumer that was added and not dropped.
    queues: HashMap<u64, EntryBatch>,
    /// Number of bytes in all queues.
    buffered: usize,
}

impl FrameDecoder {
    /// Creates a decoder that refuses frames whose total size field is above `max_frame_bytes`.
    pub fn new(max_frame_bytes: usize) -> Self {
        Self { max_frame_bytes, pending: Vec::new(), queues: HashMap::new(), buffered: 0 }
    }

    /// Reads bytes from the socket, and returns the commands that they complete, except MESSAGE commands.
    pub fn feed(&mut self, data: &[u8]) -> Result<Vec<Vec<u8>>> {
        let mut commands = Vec::new();
        if self.pending.is_empty() {
            let used = self.split(data, &mut commands)?;
            self.pending.extend_from_slice(&data[used..]);
            return Ok(commands);
        }
        let mut pending = std::mem::take(&mut self.pending);
        pending.extend_from_slice(data);
        let used = self.split(&pending, &mut commands)?;
        pending.drain(..used);
        self.pending = pending;
        Ok(commands)
    }

    /// Removes and returns all entries queued for the consumer, oldest first.
    pub fn take_entries(&mut self, consumer_id: u64) -> Option<EntryBatch> {
        let queue = self.queues.get_mut(&consumer_id)?;
        if queue.entries.is_empty() {
            return None;
        }
        self.buffered -= queue.nbytes();
        Some(std::mem::take(queue))
    }

    /// Returns ledger and entry of the oldest entry queued for the consumer.
    pub fn first_entry(&self, consumer_id: u64) -> Option<(i64, i64)> {
        let oldest = self.queues.get(&consumer_id)?.entries.first()?;
        Some((oldest.ledger, oldest.entry))
    }

    /// Returns the number of bytes of all queued entries.
    pub fn buffered_bytes(&self) -> usize {
        self.buffered
    }

    /// Starts to keep the entries that arrive for the consumer.
    pub fn add_consumer(&mut self, consumer_id: u64) {
        self.queues.entry(consumer_id).or_default();
    }

    /// Removes the consumer and its entries. Entries that still arrive for the consumer are dropped.
    pub fn drop_consumer(&mut self, consumer_id: u64) {
        if let Some(queue) = self.queues.remove(&consumer_id) {
            self.buffered -= queue.nbytes();
        }
    }

    /// Returns the number of consumers that were added and not dropped.
    pub fn consumers(&self) -> usize {
        self.queues.len()
    }

    /// Handles all complete frames of `data`, and returns their length in bytes.
    fn split(&mut self, data: &[u8], commands: &mut Vec<Vec<u8>>) -> Result<usize> {
        let mut rest = data;
        while let Some((total, after)) = split_u32(rest) {
            let total = total as usize;
            if total > self.max_frame_bytes {
                return Err(KernelError::corrupt(format!(
                    "expected a frame of at most {} bytes, got {total} bytes, because the server is not a Pulsar broker or a byte was lost",
                    self.max_frame_bytes
                )));
            }
            let Some((frame, after)) = after.split_at_checked(total) else {
                break;
            };
            self.handle(frame, commands)?;
            rest = after;
        }
        Ok(data.len() - rest.len())
    }

    fn handle(&mut self, frame: &[u8], commands: &mut Vec<Vec<u8>>) -> Result<()> {
        let Some((command, body)) =
            split_u32(frame).and_then(|(size, rest)| rest.split_at_checked(size as usize))
        else {
            return Err(KernelError::corrupt(format!(
                "expected a command that fits into its frame of {} bytes, got a longer command",
                frame.len()
            )));
        };
        let Some(message) = message_command(command)? else {
            commands.push(command.to_vec());
            return Ok(());
        };
        let target = MessageTarget::parse(message)?;
        if let Some(queue) = self.queues.get_mut(&target.consumer_id) {
            let before = queue.nbytes();
            queue.push(Entry::new(target.ledger, target.entry, body.to_vec()));
            self.buffered += queue.nbytes() - before;
        }
        Ok(())
    }
}

/// Returns the bytes of the CommandMessage if the BaseCommand contains one.
fn message_command(command: &[u8]) -> Result<Option<&[u8]>> {
    let mut fields = WireFields::new(command);
    let (mut is_message, mut message) = (false, None);
    while let Some((number, value)) = fields.next_field()? {
        match number {
            TYPE_FIELD => {
                is_message = value.number("command type")? == MESSAGE_TYPE;
                if !is_message {
                    return Ok(None);
                }
            }
            MESSAGE_FIELD => message = Some(value.bytes("message")?),
            _ => {}
        }
    }
    if is_message && message.is_none() {
        return Err(KernelError::corrupt("expected a CommandMessage in a MESSAGE frame, got none"));
    }
    Ok(message.filter(|_| is_message))
}

/// The consumer and the entry of a MESSAGE frame.
struct MessageTarget {
    consumer_id: u64,
    ledger: i64,
    entry: i64,
}

impl MessageTarget {
    fn parse(message: &[u8]) -> Result<Self> {
        let (mut consumer_id, mut id) = (None, None);
        let mut fields = WireFields::new(message);
        while let Some((number, value)) = fields.next_field()? {
            match number {
                1 => consumer_id = Some(value.number("consumer_id")?),
                2 => id = Some(value.bytes("message_id")?),
                _ => {}
            }
        }
        let (Some(consumer_id), Some(id)) = (consumer_id, id) else {
            return Err(KernelError::corrupt(
                "expected a consumer id and a message id in a MESSAGE frame, got none",
            ));
        };
        let (mut ledger, mut entry) = (0, 0);
        let mut fields = WireFields::new(id);
        while let Some((number, value)) = fields.next_field()? {
            match number {
                1 => ledger = value.number("ledgerId")? as i64,
                2 => entry = value.number("entryId")? as i64,
                _ => {}
            }
        }
        Ok(Self { consumer_id, ledger, entry })
    }
}
