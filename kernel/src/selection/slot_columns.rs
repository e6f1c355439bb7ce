//! The slots of rows that are columns already: of a topic's table.

use arrow_array::{BinaryArray, BooleanArray, Int64Array, StringArray};

use super::key_slot::{slot_of_key, slot_without_key};

/// What decides about the slots of rows; all of one length.
#[derive(Debug)]
pub struct SlotColumns<'a> {
    /// Decide where they are not null.
    pub ordering_keys: &'a BinaryArray,
    /// Decide where there is no ordering key.
    pub keys: &'a BinaryArray,
    /// Decide, with the sequence ids, where there is no key.
    pub producer_names: &'a StringArray,
    /// Of each message, also in a batch.
    pub sequence_ids: &'a Int64Array,
}

impl SlotColumns<'_> {
    /// Which rows lie in these slots, `behind` exclusive: those whose messages a `RowFilter` with them wants.
    pub fn within(&self, first: u32, behind: u32) -> BooleanArray {
        let keys = self.ordering_keys.iter().zip(self.keys).map(|(ordering_key, key)| ordering_key.or(key));
        let others = self.producer_names.iter().zip(self.sequence_ids);
        keys.zip(others)
            .map(|(key, (producer_name, sequence_id))| {
                let slot = match key {
                    Some(key) => slot_of_key(key),
                    None => slot_without_key(
                        producer_name.unwrap_or_default().as_bytes(),
                        sequence_id.unwrap_or_default().cast_unsigned(),
                    ),
                };
                Some(first <= slot && slot < behind)
            })
            .collect()
    }
}
