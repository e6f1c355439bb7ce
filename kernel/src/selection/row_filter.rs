//! A filter of messages by publish time, event time and key.

use std::collections::HashSet;

use super::key_slot::{slot_of_key, slot_without_key};
use crate::metadata::{Key, MessageMetadata};

/// Optional conditions that a message must meet; the default accepts all messages.
#[derive(Debug, Clone, Default)]
pub struct RowFilter {
    /// Earliest publish time, inclusive, in Unix milliseconds.
    pub published_from: Option<i64>,
    /// Latest publish time, exclusive, in Unix milliseconds.
    pub published_before: Option<i64>,
    /// Earliest event time, inclusive, in Unix milliseconds; rejects messages without an event time.
    pub event_from: Option<i64>,
    /// Latest event time, exclusive, in Unix milliseconds; accepts messages without an event time.
    pub event_before: Option<i64>,
    /// Accepted keys, as the bytes that the producer set.
    pub keys: Option<HashSet<Vec<u8>>>,
    /// First accepted hash slot, and the slot after the last accepted slot.
    pub slots: Option<(u32, u32)>,
}

impl RowFilter {
    /// Returns whether the filter accepts all messages.
    pub fn wants_all(&self) -> bool {
        self.published_from.is_none()
            && self.published_before.is_none()
            && self.event_from.is_none()
            && self.event_before.is_none()
            && self.keys.is_none()
            && self.slots.is_none()
    }

    /// Returns whether the entry with this metadata can contain a wanted message.
    ///
    /// All messages of an entry have its publish time. The entry's event time and key are compared only if
    /// the entry is not a batch.
    pub fn may_want(&self, metadata: &MessageMetadata<'_>) -> bool {
        let published = metadata.publish_time as i64;
        let in_time = self.published_from.is_none_or(|from| published >= from)
            && self.published_before.is_none_or(|before| published < before);
        if !in_time || metadata.num_messages_in_batch.is_some() {
            // The metadata of a batch contains the keys of its first message, but the other messages may have
            // different keys.
            return in_time;
        }
        let keyless = || slot_without_key(metadata.producer_name, metadata.sequence_id);
        self.wants_event(metadata.event_time)
            && self.wants_keys(metadata.key(), metadata.ordering_key, keyless)
    }

    /// Returns whether messages with this event time are wanted.
    ///
    /// `event_time` is the number on the wire: Unix milliseconds in two's complement, or 0 for no event time.
    pub fn wants_event(&self, event_time: u64) -> bool {
        if event_time == 0 {
            return self.event_from.is_none();
        }
        let time = event_time.cast_signed();
        self.event_from.is_none_or(|from| time >= from)
            && self.event_before.is_none_or(|before| time < before)
    }

    /// Returns whether a message with these keys is wanted; `keyless` returns the slot of a message without keys.
    pub fn wants_keys(
        &self,
        key: Option<Key<'_>>,
        ordering_key: Option<&[u8]>,
        keyless: impl FnOnce() -> u32,
    ) -> bool {
        if !self.wants_key(key) {
            return false;
        }
        let Some((first, end)) = self.slots else { return true };
        let slot = match (ordering_key, key) {
            (Some(ordering_key), _) => slot_of_key(ordering_key),
            (None, Some(key)) => slot_of_key(key.bytes().as_ref()),
            (None, None) => keyless(),
        };
        first <= slot && slot < end
    }

    /// Returns whether messages with this key are wanted.
    fn wants_key(&self, key: Option<Key<'_>>) -> bool {
        match (&self.keys, key) {
            (None, _) => true,
            (Some(_), None) => false,
            (Some(keys), Some(key)) => keys.contains(key.bytes().as_ref()),
        }
    }
}
