//! Arrow lists and maps under construction, with items of any column; the last rows can be removed.

use std::sync::Arc;

use arrow_array::{ArrayRef, ListArray, MapArray, StructArray};
use arrow_buffer::{NullBuffer, OffsetBuffer, ScalarBuffer};
use arrow_schema::{ArrowError, DataType};

use super::buffers::NullRows;
use super::repeated_keys::{find_overwritten, remove_overwritten};

use crate::conform::ArrowResult;

/// A column under construction that can contain the items of lists.
pub trait Items {
    /// Returns the number of values.
    fn len(&self) -> usize;
    /// Returns the values as an Arrow array, and empties the column.
    fn finish(&mut self) -> ArrowResult<ArrayRef>;
}

/// A column of lists or maps; for maps, `items` are the values.
pub struct ListColumn<C> {
    kind: DataType,
    /// Start of each list in `items`, and then the start of the next list.
    offsets: Vec<i32>,
    nulls: NullRows,
    /// Numbers of the map entries whose key is repeated later in the map, ascending. These entries are
    /// removed.
    overwritten: Vec<usize>,
    /// True if items may be null.
    pub nullable_items: bool,
    /// Items of all lists in sequence.
    pub items: Box<C>,
}

impl<C: Items> ListColumn<C> {
    /// Creates an empty column of the type `kind`, a list or map; `items` must be empty.
    pub fn new(kind: DataType, items: C) -> Self {
        let nullable_items = match &kind {
            DataType::List(item) => item.is_nullable(),
            DataType::Map(entries, _) => match entries.data_type() {
                DataType::Struct(pair) => pair.last().is_some_and(|value| value.is_nullable()),
                _ => true,
            },
            _ => true,
        };
        Self {
            kind,
            offsets: vec![0],
            nulls: NullRows::default(),
            overwritten: Vec::new(),
            nullable_items,
            items: Box::new(items),
        }
    }

    /// Returns the number of lists.
    #[inline]
    pub fn len(&self) -> usize {
        self.offsets.len() - 1
    }

    /// Ends a list of the items since the previous list; returns false if the items exceed Arrow's 32-bit offsets.
    #[must_use]
    pub fn close(&mut self) -> bool {
        let Ok(end) = i32::try_from(self.items.len()) else { return false };
        self.offsets.push(end);
        true
    }

    /// Ends a map like `close`; `key` returns the key of an entry by its number.
    #[must_use]
    pub fn close_map<'k>(&mut self, key: impl Fn(usize) -> &'k [u8]) -> bool {
        let start = self.offsets.last().map_or(0, |end| *end as usize);
        find_overwritten(start..self.items.len(), key, &mut self.overwritten);
        self.close()
    }

    /// Adds a null.
    pub fn append_null(&mut self) {
        self.nulls.push(self.len());
        self.offsets.push(self.offsets.last().copied().unwrap_or(0));
    }

    /// Keeps the first `rows` lists, and returns the number of items and keys that the caller must keep.
    #[must_use]
    pub fn truncate(&mut self, rows: usize) -> usize {
        self.offsets.truncate(rows + 1);
        self.nulls.truncate(rows);
        let items = self.offsets.last().map_or(0, |end| *end as usize);
        while self.overwritten.last().is_some_and(|entry| *entry >= items) {
            self.overwritten.pop();
        }
        items
    }

    /// Returns the lists as an Arrow array, and empties the column.
    pub fn finish(&mut self) -> ArrowResult<ArrayRef> {
        let DataType::List(item) = self.kind.clone() else { return Err(type_error(&self.kind)) };
        let (offsets, nulls) = self.take();
        let offsets = OffsetBuffer::new(ScalarBuffer::from(offsets));
        Ok(Arc::new(ListArray::try_new(item, offsets, self.items.finish()?, nulls)?))
    }

    /// Returns the maps, and starts a new column; `keys` has one key for each item.
    pub fn finish_maps(&mut self, keys: ArrayRef) -> ArrowResult<ArrayRef> {
        let DataType::Map(entries, sorted) = self.kind.clone() else { return Err(type_error(&self.kind)) };
        let DataType::Struct(fields) = entries.data_type() else { return Err(type_error(&self.kind)) };
        let (mut offsets, nulls) = self.take();
        let (keys, values) =
            remove_overwritten(&mut self.overwritten, &mut offsets, keys, self.items.finish()?)?;
        let pairs = StructArray::try_new(fields.clone(), vec![keys, values], None)?;
        let offsets = OffsetBuffer::new(ScalarBuffer::from(offsets));
        Ok(Arc::new(MapArray::try_new(entries, offsets, pairs, nulls, sorted)?))
    }

    fn take(&mut self) -> (Vec<i32>, Option<NullBuffer>) {
        let nulls = self.nulls.finish(self.len());
        // The next batch probably has a similar length.
        let mut next = Vec::with_capacity(self.offsets.len());
        next.push(0);
        let offsets = std::mem::replace(&mut self.offsets, next);
        (offsets, nulls)
    }
}

fn type_error(kind: &DataType) -> ArrowError {
    ArrowError::SchemaError(format!("expected a list or map, got {kind}"))
}
