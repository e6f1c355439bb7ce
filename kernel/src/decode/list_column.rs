//! Arrow lists and maps under construction, whatever their items grow in. Rows can be taken back.

use std::sync::Arc;

use arrow_array::{ArrayRef, ListArray, MapArray, StructArray};
use arrow_buffer::{NullBuffer, OffsetBuffer, ScalarBuffer};
use arrow_schema::{ArrowError, DataType};

use super::buffers::NullRows;
use super::repeated_keys::{find_overwritten, remove_overwritten};

use crate::conform::ArrowResult;

/// A column under construction that can be the items of lists.
pub trait Items {
    /// Number of values so far.
    fn len(&self) -> usize;
    /// The column so far; starts a new one.
    fn finish(&mut self) -> ArrowResult<ArrayRef>;
}

/// Lists, or the values of maps.
pub struct ListColumn<C> {
    kind: DataType,
    /// Where each begins in `items`, and where the next will.
    offsets: Vec<i32>,
    nulls: NullRows,
    /// Entries of maps, ascending, whose key comes again in their map: the last one counts.
    overwritten: Vec<usize>,
    /// Whether items may be null.
    pub nullable_items: bool,
    /// All items one after the other.
    pub items: Box<C>,
}

impl<C: Items> ListColumn<C> {
    /// For `kind`, a list or map; `items` is empty.
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

    /// Number of lists so far.
    #[inline]
    pub fn len(&self) -> usize {
        self.offsets.len() - 1
    }

    /// The items since the last list make up one; false when there are more than Arrow can count.
    #[must_use]
    pub fn close(&mut self) -> bool {
        let Ok(end) = i32::try_from(self.items.len()) else { return false };
        self.offsets.push(end);
        true
    }

    /// As `close`, for a map whose entry of a number has this key.
    #[must_use]
    pub fn close_map<'k>(&mut self, key: impl Fn(usize) -> &'k [u8]) -> bool {
        let start = self.offsets.last().map_or(0, |end| *end as usize);
        find_overwritten(start..self.items.len(), key, &mut self.overwritten);
        self.close()
    }

    /// Add a null.
    pub fn append_null(&mut self) {
        self.nulls.push(self.len());
        self.offsets.push(self.offsets.last().copied().unwrap_or(0));
    }

    /// Keep the first `rows` lists; returns how many items, and keys, the caller may keep.
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

    /// The lists so far; starts new ones.
    pub fn finish(&mut self) -> ArrowResult<ArrayRef> {
        let DataType::List(item) = self.kind.clone() else { return Err(misshapen(&self.kind)) };
        let (offsets, nulls) = self.take();
        let offsets = OffsetBuffer::new(ScalarBuffer::from(offsets));
        Ok(Arc::new(ListArray::try_new(item, offsets, self.items.finish()?, nulls)?))
    }

    /// As maps from `keys`, of which there is one for each item.
    pub fn finish_maps(&mut self, keys: ArrayRef) -> ArrowResult<ArrayRef> {
        let DataType::Map(entries, sorted) = self.kind.clone() else { return Err(misshapen(&self.kind)) };
        let DataType::Struct(fields) = entries.data_type() else { return Err(misshapen(&self.kind)) };
        let (mut offsets, nulls) = self.take();
        let (keys, values) =
            remove_overwritten(&mut self.overwritten, &mut offsets, keys, self.items.finish()?)?;
        let pairs = StructArray::try_new(fields.clone(), vec![keys, values], None)?;
        let offsets = OffsetBuffer::new(ScalarBuffer::from(offsets));
        Ok(Arc::new(MapArray::try_new(entries, offsets, pairs, nulls, sorted)?))
    }

    fn take(&mut self) -> (Vec<i32>, Option<NullBuffer>) {
        let nulls = self.nulls.finish(self.len());
        // The next batch will be about as long.
        let mut next = Vec::with_capacity(self.offsets.len());
        next.push(0);
        let offsets = std::mem::replace(&mut self.offsets, next);
        (offsets, nulls)
    }
}

fn misshapen(kind: &DataType) -> ArrowError {
    ArrowError::SchemaError(format!("expected a list or map, got {kind}"))
}
