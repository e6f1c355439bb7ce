//! A message, as the columns read it.

use crate::error::{KernelError, MessageRef};
use crate::metadata::{BrokerMetadata, Key, Property};

/// The payload and the metadata of one message.
#[derive(Debug)]
pub struct MessageRow<'a> {
    /// Position of the message.
    pub at: MessageRef,
    /// Partition key.
    pub key: Option<Key<'a>>,
    /// Properties.
    pub properties: &'a [Property<'a>],
    /// Publish time in Unix milliseconds.
    pub publish_time: u64,
    /// Event time in Unix milliseconds; 0 is none.
    pub event_time: u64,
    /// Ordering key.
    pub ordering_key: Option<&'a [u8]>,
    /// Name of the producer.
    pub producer_name: &'a [u8],
    /// Sequence id.
    pub sequence_id: u64,
    /// Schema version; empty is none.
    pub schema_version: &'a [u8],
    /// Payload; `None` is a null value.
    pub payload: Option<&'a [u8]>,
    /// True if the payload is still encrypted.
    pub undecryptable: bool,
    /// Reason why the entry cannot be opened; then `payload` is the stored payload of the whole entry.
    pub unopened: Option<&'a KernelError>,
    /// Source cluster of a replicated message.
    pub replicated_from: Option<&'a [u8]>,
    /// Metadata from the broker, with the index of this message.
    pub broker: BrokerMetadata,
}

impl MessageRow<'_> {
    /// Returns the maximum number of bytes that the row adds to a batch, which limits its memory and 32-bit offsets.
    pub fn weight(&self) -> usize {
        let properties: usize = self.properties.iter().map(|(k, v)| k.len() + v.len()).sum();
        self.payload.map_or(0, <[u8]>::len)
            + self.key.map_or(0, |k| k.text.len())
            + self.ordering_key.map_or(0, <[u8]>::len)
            + self.producer_name.len()
            + self.replicated_from.map_or(0, <[u8]>::len)
            + properties
    }
}
