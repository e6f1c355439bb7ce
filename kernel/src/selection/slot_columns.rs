//! Hash slots of the rows of a topic's table, whose keys are already columns.

use arrow_array::{BinaryArray, BooleanArray, Int64Array, StringArray};

use super::key_slot::{slot_of_key, slot_without_key};

/// The columns that determine the slot of each row; all have the same length.
#[derive(Debug)]
pub struct SlotColumns<'a> {
    /// Ordering keys, which determine the slot if they are not null.
    pub ordering_keys: &'a BinaryArray,
    /// Partition keys, which determine the slot of a row without an ordering key.
    pub keys: &'a BinaryArray,
    /// Producer names, which determine the slot of a row without keys, together with the sequence ids.
    pub producer_names: &'a StringArray,
    /// Sequence ids of the messages; each message of a batch has its own.
    pub sequence_ids: &'a Int64Array,
}

impl SlotColumns<'_> {
    /// Returns for each row whether its slot is in `first..end`. A `RowFilter` with these slots accepts the
    /// same rows.
    pub fn within(&self, first: u32, end: u32) -> BooleanArray {
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
                Some(first <= slot && slot < end)
            })
            .collect()
    }
}
