//! One message as the columns take it.

use crate::error::{KernelError, MessageRef};
use crate::metadata::{BrokerMetadata, Key, Property};

/// Everything a column may need of one message.
#[derive(Debug)]
pub struct MessageRow<'a> {
    /// Where the message lies.
    pub at: MessageRef,
    /// Its key.
    pub key: Option<Key<'a>>,
    /// Its properties.
    pub properties: &'a [Property<'a>],
    /// Unix milliseconds.
    pub publish_time: u64,
    /// Unix milliseconds, 0 is none.
    pub event_time: u64,
    /// Its ordering key.
    pub ordering_key: Option<&'a [u8]>,
    /// Its producer.
    pub producer_name: &'a [u8],
    /// Its sequence id.
    pub sequence_id: u64,
    /// Empty is none.
    pub schema_version: &'a [u8],
    /// `None` is a null value.
    pub payload: Option<&'a [u8]>,
    /// The payload is still encrypted.
    pub undecryptable: bool,
    /// Why the payload cannot be opened: then it is that of the whole entry, as stored.
    pub unopened: Option<&'a KernelError>,
    /// The cluster in which it was produced, when it came by replication.
    pub replicated_from: Option<&'a [u8]>,
    /// What the broker added, the index being the message's own.
    pub broker: BrokerMetadata,
}

impl MessageRow<'_> {
    /// Bytes the row may add to a batch; bounds its memory and its 32-bit offsets.
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
