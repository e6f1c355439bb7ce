//! Splits the byte stream of a broker connection into frames.
//!
//! `u32 total size | u32 command size | BaseCommand | rest`, sizes without themselves, big endian.
//! MESSAGE frames stay inside as entries of the consumers that were added, and are dropped for all others; all other
//! commands are handed out as bytes.

use std::collections::HashMap;

use crate::entry::{Entry, EntryBatch};
use crate::error::{KernelError, Result};
use crate::wire::{WireFields, split_u32};

const TYPE_FIELD: u32 = 1;
const MESSAGE_FIELD: u32 = 9;
const MESSAGE_TYPE: u64 = 9;

/// Frames of one connection.
#[derive(Debug)]
pub struct FrameDecoder {
    max_frame_bytes: usize,
    pending: Vec<u8>,
    /// One queue for each consumer that was added and not dropped.
    queues: HashMap<u64, EntryBatch>,
    /// Bytes in all queues.
    buffered: usize,
}

impl FrameDecoder {
    /// Refuse frames above `max_frame_bytes` (their total size field).
    pub fn new(max_frame_bytes: usize) -> Self {
        Self { max_frame_bytes, pending: Vec::new(), queues: HashMap::new(), buffered: 0 }
    }

    /// Take what the socket gave; returns the commands that became complete, without MESSAGE.
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

    /// All entries queued for the consumer, oldest first.
    pub fn take_entries(&mut self, consumer_id: u64) -> Option<EntryBatch> {
        let queue = self.queues.get_mut(&consumer_id)?;
        if queue.entries.is_empty() {
            return None;
        }
        self.buffered -= queue.nbytes();
        Some(std::mem::take(queue))
    }

    /// Ledger and entry of the oldest entry queued for the consumer.
    pub fn first_entry(&self, consumer_id: u64) -> Option<(i64, i64)> {
        let oldest = self.queues.get(&consumer_id)?.entries.first()?;
        Some((oldest.ledger, oldest.entry))
    }

    /// Bytes of the entries that wait inside.
    pub fn buffered_bytes(&self) -> usize {
        self.buffered
    }

    /// Keep the entries that arrive for the consumer from now on.
    pub fn add_consumer(&mut self, consumer_id: u64) {
        self.queues.entry(consumer_id).or_default();
    }

    /// Forget the consumer, with its entries. What still arrives for it is dropped.
    pub fn drop_consumer(&mut self, consumer_id: u64) {
        if let Some(queue) = self.queues.remove(&consumer_id) {
            self.buffered -= queue.nbytes();
        }
    }

    /// The number of consumers that were added and not dropped.
    pub fn consumers(&self) -> usize {
        self.queues.len()
    }

    /// Handle all complete frames of `data`; returns how many bytes they took.
    fn split(&mut self, data: &[u8], commands: &mut Vec<Vec<u8>>) -> Result<usize> {
        let mut rest = data;
        while let Some((total, after)) = split_u32(rest) {
            let total = total as usize;
            if total > self.max_frame_bytes {
                return Err(KernelError::corrupt(format!(
                    "a frame of {total} bytes, above the limit of {}: not a Pulsar broker, or a lost byte",
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
                "a command that does not fit its frame of {} bytes",
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

/// The bytes of CommandMessage when the BaseCommand is one.
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
        return Err(KernelError::corrupt("a MESSAGE frame without its command"));
    }
    Ok(message.filter(|_| is_message))
}

/// Which consumer a MESSAGE is for, and which entry it is.
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
            return Err(KernelError::corrupt("a MESSAGE frame without consumer or message id"));
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
