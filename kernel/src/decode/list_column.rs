//! Arrow lists and maps under construction, whatever their items grow in. Rows can be taken back.

use std::sync::Arc;

use arrow_array::{ArrayRef, ListArray, MapArray, StructArray};
use arrow_buffer::{NullBuffer, NullBufferBuilder, OffsetBuffer, ScalarBuffer};
use arrow_schema::{ArrowError, DataType};

type Result<T> = std::result::Result<T, ArrowError>;

/// A column under construction that can be the items of lists.
pub trait Items {
    /// Number of values so far.
    fn len(&self) -> usize;
    /// The column so far; starts a new one.
    fn finish(&mut self) -> Result<ArrayRef>;
}

/// Lists, or the values of maps.
pub struct ListColumn<C> {
    kind: DataType,
    /// Where each begins in `items`, and where the next will.
    offsets: Vec<i32>,
    nulls: NullBufferBuilder,
    /// All items one after the other.
    pub items: Box<C>,
}

impl<C: Items> ListColumn<C> {
    /// For `kind`, a list or map; `items` is empty.
    pub fn new(kind: DataType, items: C) -> Self {
        Self { kind, offsets: vec![0], nulls: NullBufferBuilder::new(0), items: Box::new(items) }
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
        self.nulls.append_non_null();
        true
    }

    /// Add a null.
    pub fn append_null(&mut self) {
        self.offsets.push(self.offsets.last().copied().unwrap_or(0));
        self.nulls.append_null();
    }

    /// Keep the first `rows` lists; returns how many items, and keys, the caller may keep.
    #[must_use]
    pub fn truncate(&mut self, rows: usize) -> usize {
        self.offsets.truncate(rows + 1);
        self.nulls.truncate(rows);
        self.offsets.last().map_or(0, |end| *end as usize)
    }

    /// The lists so far; starts new ones.
    pub fn finish(&mut self) -> Result<ArrayRef> {
        let DataType::List(item) = self.kind.clone() else { return Err(misshapen(&self.kind)) };
        let (offsets, nulls) = self.take();
        Ok(Arc::new(ListArray::try_new(item, offsets, self.items.finish()?, nulls)?))
    }

    /// As maps from `keys`, of which there is one for each item.
    pub fn finish_maps(&mut self, keys: ArrayRef) -> Result<ArrayRef> {
        let DataType::Map(entries, sorted) = self.kind.clone() else { return Err(misshapen(&self.kind)) };
        let DataType::Struct(fields) = entries.data_type() else { return Err(misshapen(&self.kind)) };
        let (offsets, nulls) = self.take();
        let pairs = StructArray::try_new(fields.clone(), vec![keys, self.items.finish()?], None)?;
        Ok(Arc::new(MapArray::try_new(entries, offsets, pairs, nulls, sorted)?))
    }

    fn take(&mut self) -> (OffsetBuffer<i32>, Option<NullBuffer>) {
        // The next batch will be about as long.
        let mut next = Vec::with_capacity(self.offsets.len());
        next.push(0);
        let offsets = std::mem::replace(&mut self.offsets, next);
        (OffsetBuffer::new(ScalarBuffer::from(offsets)), self.nulls.finish())
    }
}

fn misshapen(kind: &DataType) -> ArrowError {
    ArrowError::SchemaError(format!("expected a list or map, got {kind}"))
}
