//! The order of rows for batching by key.

use std::collections::HashMap;
use std::collections::hash_map::Entry;

use super::input::Input;
use crate::error::Result;

/// Returns the rows in groups, in order of first appearance. Rows are grouped by the ordering key, or by the
/// key if the row has no ordering key. Rows without any key are one group.
pub fn rows_by_key(input: &Input, rows: usize) -> Result<Vec<Vec<usize>>> {
    let mut groups: Vec<Vec<usize>> = Vec::new();
    let mut places = HashMap::new();
    for row in 0..rows {
        let key = match input.ordering_key(row) {
            Some(key) => Some(key.to_vec()),
            None => input.key(row)?.map(|(text, _)| text.into_owned().into_bytes()),
        };
        let place = match places.entry(key) {
            Entry::Occupied(known) => *known.get(),
            Entry::Vacant(new) => {
                groups.push(Vec::new());
                *new.insert(groups.len() - 1)
            }
        };
        if let Some(group) = groups.get_mut(place) {
            group.push(row);
        }
    }
    Ok(groups)
}
