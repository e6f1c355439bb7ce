//! Which messages of a range a reader wants, by what they say of themselves.

use std::collections::HashSet;

use crate::error::Result;
use crate::metadata::{Key, MessageMetadata};

/// The default wants all messages.
#[derive(Debug, Clone, Default)]
pub struct RowFilter {
    /// Those published at this time or later, in Unix milliseconds.
    pub published_from: Option<i64>,
    /// Those published before this time, in Unix milliseconds.
    pub published_before: Option<i64>,
    /// Those with one of these keys, as the producer gave them.
    pub keys: Option<HashSet<Vec<u8>>>,
}

impl RowFilter {
    /// Whether nothing is filtered.
    pub fn wants_all(&self) -> bool {
        self.published_from.is_none() && self.published_before.is_none() && self.keys.is_none()
    }

    /// Whether the entry with this metadata can hold a wanted message. The publish time is that of all its
    /// messages, the key only that of a message outside a batch.
    pub fn may_want(&self, metadata: &MessageMetadata<'_>) -> Result<bool> {
        let published = i64::try_from(metadata.publish_time).unwrap_or(i64::MAX);
        let in_time = self.published_from.is_none_or(|from| published >= from)
            && self.published_before.is_none_or(|before| published < before);
        Ok(in_time && (metadata.num_messages_in_batch.is_some() || self.wants_key(metadata.key())?))
    }

    /// Whether messages with this key are wanted. An error for a key whose bytes are not known.
    pub fn wants_key(&self, key: Option<Key<'_>>) -> Result<bool> {
        match (&self.keys, key) {
            (None, _) => Ok(true),
            (Some(_), None) => Ok(false),
            (Some(keys), Some(key)) => Ok(keys.contains(key.decoded()?.as_ref())),
        }
    }
}
