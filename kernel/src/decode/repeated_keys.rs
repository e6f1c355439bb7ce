//! Removal of repeated keys from maps.
//!
//! Spark's maps must not contain equal keys. If a key is repeated, the last entry is used, as in the maps of
//! Pulsar's Java client.

use std::collections::HashMap;
use std::hash::Hash;
use std::ops::Range;

use arrow_array::{Array, ArrayRef, BooleanArray};
use arrow_schema::ArrowError;
use arrow_select::filter::filter;

/// Largest number of entries for which keys are compared pair by pair, instead of by a hash map.
const MAX_PAIRWISE: usize = 16;

/// Adds to `overwritten`, in ascending order, the `entries` of one map whose key is repeated later in the map.
pub fn find_overwritten<K: Eq + Hash>(
    entries: Range<usize>,
    key: impl Fn(usize) -> K,
    overwritten: &mut Vec<usize>,
) {
    let Range { start, end } = entries;
    if end - start <= MAX_PAIRWISE {
        let repeats = |entry: &usize| (entry + 1..end).any(|later| key(*entry) == key(later));
        return overwritten.extend((start..end).filter(repeats));
    }
    let mut last = HashMap::with_capacity(end - start);
    for entry in start..end {
        last.insert(key(entry), entry);
    }
    if last.len() < end - start {
        overwritten.extend((start..end).filter(|entry| last.get(&key(*entry)) != Some(entry)));
    }
}

/// Returns `keys` and `values` without the `overwritten` entries, and adjusts `offsets`.
///
/// `overwritten` must be in ascending order, and is empty afterwards.
pub fn remove_overwritten(
    overwritten: &mut Vec<usize>,
    offsets: &mut [i32],
    keys: ArrayRef,
    values: ArrayRef,
) -> Result<(ArrayRef, ArrayRef), ArrowError> {
    if overwritten.is_empty() {
        return Ok((keys, values));
    }
    let mut counts = vec![true; keys.len()];
    for entry in overwritten.iter() {
        if let Some(slot) = counts.get_mut(*entry) {
            *slot = false;
        }
    }
    for offset in offsets {
        *offset -= overwritten.partition_point(|entry| *entry < *offset as usize) as i32;
    }
    overwritten.clear();
    let counts = BooleanArray::from(counts);
    Ok((filter(&keys, &counts)?, filter(&values, &counts)?))
}
