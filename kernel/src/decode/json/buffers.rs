//! What the columns of JSON values grow in: numbers, and bytes of any length. Values can be taken back.

use arrow_array::{ArrowPrimitiveType, PrimitiveArray};
use arrow_buffer::{NullBuffer, NullBufferBuilder, OffsetBuffer, ScalarBuffer};

use crate::conform::ArrowResult;

/// Numbers of one type.
pub struct NumberBuffer<T: ArrowPrimitiveType> {
    values: Vec<T::Native>,
    nulls: NullBufferBuilder,
}

impl<T: ArrowPrimitiveType> Default for NumberBuffer<T> {
    fn default() -> Self {
        Self { values: Vec::new(), nulls: NullBufferBuilder::new(0) }
    }
}

impl<T: ArrowPrimitiveType> NumberBuffer<T> {
    /// Add a number.
    #[inline]
    pub fn push(&mut self, value: T::Native) {
        self.values.push(value);
        self.nulls.append_non_null();
    }

    /// Number of values.
    #[inline]
    pub fn len(&self) -> usize {
        self.values.len()
    }

    /// Add a null.
    pub fn append_null(&mut self) {
        self.values.push(T::Native::default());
        self.nulls.append_null();
    }

    /// Keep the first `rows` values.
    pub fn truncate(&mut self, rows: usize) {
        self.values.truncate(rows);
        self.nulls.truncate(rows);
    }

    /// What was added; starts anew.
    pub fn finish(&mut self) -> ArrowResult<PrimitiveArray<T>> {
        PrimitiveArray::try_new(ScalarBuffer::from(emptied(&mut self.values)), self.nulls.finish())
    }
}

/// Texts or byte strings.
pub struct BytesBuffer {
    /// Where each ends in `data`.
    ends: Vec<i32>,
    data: Vec<u8>,
    nulls: NullBufferBuilder,
}

impl Default for BytesBuffer {
    fn default() -> Self {
        Self { ends: Vec::new(), data: Vec::new(), nulls: NullBufferBuilder::new(0) }
    }
}

impl BytesBuffer {
    /// Add a value; false when there are more bytes than Arrow can count.
    #[must_use]
    #[inline]
    pub fn push(&mut self, value: &[u8]) -> bool {
        let Ok(end) = i32::try_from(self.data.len().saturating_add(value.len())) else { return false };
        self.data.extend_from_slice(value);
        self.ends.push(end);
        self.nulls.append_non_null();
        true
    }

    /// Number of values.
    #[inline]
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// A value; empty when it is null.
    pub fn get(&self, row: usize) -> &[u8] {
        let end_of = |row: usize| self.ends.get(row).map_or(0, |end| *end as usize);
        let start = row.checked_sub(1).map_or(0, end_of);
        self.data.get(start..end_of(row)).unwrap_or_default()
    }

    /// Add a null.
    pub fn append_null(&mut self) {
        self.ends.push(self.ends.last().copied().unwrap_or(0));
        self.nulls.append_null();
    }

    /// Keep the first `rows` values.
    pub fn truncate(&mut self, rows: usize) {
        self.ends.truncate(rows);
        self.data.truncate(self.ends.last().map_or(0, |end| *end as usize));
        self.nulls.truncate(rows);
    }

    /// What was added; starts anew.
    pub fn finish(&mut self) -> (OffsetBuffer<i32>, Vec<u8>, Option<NullBuffer>) {
        (offsets(&mut self.ends), emptied(&mut self.data), self.nulls.finish())
    }
}

/// Take the content; the next batch will be about as long.
fn emptied<T>(values: &mut Vec<T>) -> Vec<T> {
    let next = Vec::with_capacity(values.len());
    std::mem::replace(values, next)
}

/// Offsets from where each value ends; starts anew.
fn offsets(ends: &mut Vec<i32>) -> OffsetBuffer<i32> {
    let mut all = Vec::with_capacity(ends.len() + 1);
    all.push(0);
    all.extend_from_slice(ends);
    ends.clear();
    OffsetBuffer::new(ScalarBuffer::from(all))
}
