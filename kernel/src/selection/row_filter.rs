//! Which messages of a range a reader wants, by what they say of themselves.

use std::collections::HashSet;

use super::key_slot::{slot_of_key, slot_without_key};
use crate::metadata::{Key, MessageMetadata};

/// The default wants all messages.
#[derive(Debug, Clone, Default)]
pub struct RowFilter {
    /// Those published at this time or later, in Unix milliseconds.
    pub published_from: Option<i64>,
    /// Those published before this time, in Unix milliseconds.
    pub published_before: Option<i64>,
    /// Those with this event time or a later one, in Unix milliseconds: none without event time.
    pub event_from: Option<i64>,
    /// Those with an event time before this one, in Unix milliseconds, and those without event time.
    pub event_before: Option<i64>,
    /// Those with one of these keys, as the producer gave them.
    pub keys: Option<HashSet<Vec<u8>>>,
    /// Those whose key lies in these hash slots, the second exclusive.
    pub slots: Option<(u32, u32)>,
}

impl RowFilter {
    /// Whether nothing is filtered.
    pub fn wants_all(&self) -> bool {
        self.published_from.is_none()
            && self.published_before.is_none()
            && self.event_from.is_none()
            && self.event_before.is_none()
            && self.keys.is_none()
            && self.slots.is_none()
    }

    /// Whether the entry with this metadata can hold a wanted message. The publish time is that of all its
    /// messages, event time and key only those of a message outside a batch.
    pub fn may_want(&self, metadata: &MessageMetadata<'_>) -> bool {
        let published = metadata.publish_time as i64;
        let in_time = self.published_from.is_none_or(|from| published >= from)
            && self.published_before.is_none_or(|before| published < before);
        if !in_time || metadata.num_messages_in_batch.is_some() {
            // A batch has the keys of its first message, also where the others have different ones.
            return in_time;
        }
        let keyless = || slot_without_key(metadata.producer_name, metadata.sequence_id);
        self.wants_event(metadata.event_time)
            && self.wants_keys(metadata.key(), metadata.ordering_key, keyless)
    }

    /// Whether messages with this event time are wanted: as the wire has it, signed in two's complement, 0 for none.
    pub fn wants_event(&self, event_time: u64) -> bool {
        if event_time == 0 {
            return self.event_from.is_none();
        }
        let time = event_time.cast_signed();
        self.event_from.is_none_or(|from| time >= from)
            && self.event_before.is_none_or(|before| time < before)
    }

    /// Whether a message with these keys is wanted; `keyless` is its slot if it has none.
    pub fn wants_keys(
        &self,
        key: Option<Key<'_>>,
        ordering_key: Option<&[u8]>,
        keyless: impl FnOnce() -> u32,
    ) -> bool {
        if !self.wants_key(key) {
            return false;
        }
        let Some((first, behind)) = self.slots else { return true };
        let slot = match (ordering_key, key) {
            (Some(ordering_key), _) => slot_of_key(ordering_key),
            (None, Some(key)) => slot_of_key(key.bytes().as_ref()),
            (None, None) => keyless(),
        };
        first <= slot && slot < behind
    }

    /// Whether messages with this key are wanted.
    fn wants_key(&self, key: Option<Key<'_>>) -> bool {
        match (&self.keys, key) {
            (None, _) => true,
            (Some(_), None) => false,
            (Some(keys), Some(key)) => keys.contains(key.bytes().as_ref()),
        }
    }
}
