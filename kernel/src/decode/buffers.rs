//! Growing buffers for columns of numbers, booleans and bytes, from which the last values can be removed.

use arrow_array::{ArrowPrimitiveType, BinaryArray, BooleanArray, PrimitiveArray, StringArray};
use arrow_buffer::{BooleanBufferBuilder, NullBuffer, OffsetBuffer, ScalarBuffer};

use crate::conform::ArrowResult;
use crate::error::{KernelError, Result};

/// The null rows of a column. Rows with values use no memory.
#[derive(Debug, Default)]
pub struct NullRows {
    /// Numbers of the null rows, in ascending order. Arrow's row numbers have at most 32 bits.
    rows: Vec<u32>,
}

impl NullRows {
    /// Marks `row` as null; `row` must be higher than all rows that are already marked.
    #[inline]
    pub fn push(&mut self, row: usize) {
        self.rows.push(row as u32);
    }

    /// Removes the marks of all rows from row `rows` on.
    pub fn truncate(&mut self, rows: usize) {
        while self.rows.last().is_some_and(|row| *row as usize >= rows) {
            self.rows.pop();
        }
    }

    /// Returns Arrow's null buffer for a column of `rows` rows, and removes all marks.
    pub fn finish(&mut self, rows: usize) -> Option<NullBuffer> {
        if self.rows.is_empty() {
            return None;
        }
        if self.rows.len() == rows {
            self.rows.clear();
            return Some(NullBuffer::new_null(rows));
        }
        let mut valid = BooleanBufferBuilder::new(rows);
        valid.append_n(rows, true);
        for row in self.rows.drain(..) {
            valid.set_bit(row as usize, false);
        }
        Some(NullBuffer::new(valid.finish()))
    }
}

/// A growing column of numbers of one type.
#[derive(Debug)]
pub struct NumberBuffer<T: ArrowPrimitiveType> {
    values: Vec<T::Native>,
    nulls: NullRows,
}

impl<T: ArrowPrimitiveType> Default for NumberBuffer<T> {
    fn default() -> Self {
        Self { values: Vec::new(), nulls: NullRows::default() }
    }
}

impl<T: ArrowPrimitiveType> NumberBuffer<T> {
    /// Adds a number.
    #[inline]
    pub fn push(&mut self, value: T::Native) {
        self.values.push(value);
    }

    /// Returns the number of values.
    #[inline]
    pub fn len(&self) -> usize {
        self.values.len()
    }

    /// Adds a null.
    #[inline]
    pub fn append_null(&mut self) {
        self.nulls.push(self.values.len());
        self.values.push(T::Native::default());
    }

    /// Truncates the column to its first `rows` values.
    pub fn truncate(&mut self, rows: usize) {
        self.values.truncate(rows);
        self.nulls.truncate(rows);
    }

    /// Returns the values as an Arrow array, and empties the buffer.
    pub fn finish(&mut self) -> ArrowResult<PrimitiveArray<T>> {
        let nulls = self.nulls.finish(self.values.len());
        PrimitiveArray::try_new(ScalarBuffer::from(take_values(&mut self.values)), nulls)
    }
}

/// A growing column of booleans.
#[derive(Debug)]
pub struct BooleanValues {
    values: BooleanBufferBuilder,
    nulls: NullRows,
}

impl Default for BooleanValues {
    fn default() -> Self {
        Self { values: BooleanBufferBuilder::new(0), nulls: NullRows::default() }
    }
}

impl BooleanValues {
    /// Adds a boolean.
    #[inline]
    pub fn push(&mut self, value: bool) {
        self.values.append(value);
    }

    /// Returns the number of values.
    #[inline]
    pub fn len(&self) -> usize {
        self.values.len()
    }

    /// Adds a null.
    pub fn append_null(&mut self) {
        self.nulls.push(self.values.len());
        self.values.append(false);
    }

    /// Truncates the column to its first `rows` values.
    pub fn truncate(&mut self, rows: usize) {
        self.values.truncate(rows);
        self.nulls.truncate(rows);
    }

    /// Returns the values as an Arrow array, and empties the buffer.
    pub fn finish(&mut self) -> BooleanArray {
        let nulls = self.nulls.finish(self.values.len());
        BooleanArray::new(self.values.finish(), nulls)
    }
}

/// A growing column of texts or byte strings.
#[derive(Debug, Default)]
pub struct BytesBuffer {
    /// Offset of the end of each value in `data`.
    ends: Vec<i32>,
    data: Vec<u8>,
    nulls: NullRows,
}

impl BytesBuffer {
    /// Adds a value. If the column would exceed Arrow's limit of 2 GiB, returns false and adds nothing.
    #[must_use]
    #[inline]
    pub fn push(&mut self, value: &[u8]) -> bool {
        let Ok(end) = i32::try_from(self.data.len().saturating_add(value.len())) else { return false };
        self.data.extend_from_slice(value);
        self.ends.push(end);
        true
    }

    /// Returns the number of values.
    #[inline]
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// Returns the value of a row. The result is empty for a null.
    pub fn get(&self, row: usize) -> &[u8] {
        let end_of = |row: usize| self.ends.get(row).map_or(0, |end| *end as usize);
        let start = row.checked_sub(1).map_or(0, end_of);
        self.data.get(start..end_of(row)).unwrap_or_default()
    }

    /// Adds a null.
    #[inline]
    pub fn append_null(&mut self) {
        self.nulls.push(self.ends.len());
        self.ends.push(self.ends.last().copied().unwrap_or(0));
    }

    /// Truncates the column to its first `rows` values.
    pub fn truncate(&mut self, rows: usize) {
        self.ends.truncate(rows);
        self.data.truncate(self.ends.last().map_or(0, |end| *end as usize));
        self.nulls.truncate(rows);
    }

    /// Returns the values as an Arrow array, and empties the buffer.
    pub fn finish(&mut self) -> ArrowResult<BinaryArray> {
        let (offsets, data, nulls) = self.take();
        BinaryArray::try_new(offsets, data.into(), nulls)
    }

    /// Returns the values as an Arrow array of strings, and empties the buffer. All values must be UTF-8.
    pub fn finish_texts(&mut self) -> ArrowResult<StringArray> {
        let (offsets, data, nulls) = self.take();
        StringArray::try_new(offsets, data.into(), nulls)
    }

    fn take(&mut self) -> (OffsetBuffer<i32>, Vec<u8>, Option<NullBuffer>) {
        let nulls = self.nulls.finish(self.ends.len());
        (offsets(&mut self.ends), take_values(&mut self.data), nulls)
    }
}

/// Returns an error if `has_room` is false, because the column had no room for a value.
pub fn check_room(has_room: bool) -> Result<()> {
    match has_room {
        true => Ok(()),
        false => Err(KernelError::payload(
            "expected at most 2 GiB in a column of a batch, got more; read smaller batches",
        )),
    }
}

/// Returns the values, and replaces them by an empty vector with room for the next batch.
///
/// The next batch probably has a similar length. Room for slightly more values avoids that a longer batch
/// copies all values.
fn take_values<T>(values: &mut Vec<T>) -> Vec<T> {
    let next = Vec::with_capacity(values.len() + values.len() / 16);
    std::mem::replace(values, next)
}

/// Returns Arrow's offsets from the end of each value, and empties `ends`.
fn offsets(ends: &mut Vec<i32>) -> OffsetBuffer<i32> {
    let mut all = Vec::with_capacity(ends.len() + 1);
    all.push(0);
    all.extend_from_slice(ends);
    ends.clear();
    OffsetBuffer::new(ScalarBuffer::from(all))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nulls_are_where_they_were_pushed() {
        for (pattern, kept) in (0..1u32 << 9).flat_map(|pattern| (0..=9).map(move |kept| (pattern, kept))) {
            let is_valid = |row: &usize| pattern >> row & 1 == 0;
            let mut nulls = NullRows::default();
            (0..9).filter(|row| !is_valid(row)).for_each(|row| nulls.push(row));
            nulls.truncate(kept);
            let expected: Vec<bool> = (0..kept).map(|row| is_valid(&row)).chain([false, true]).collect();
            nulls.push(kept);
            let arrow = nulls.finish(kept + 2).unwrap();
            assert_eq!(arrow.iter().collect::<Vec<_>>(), expected, "{pattern:b}, {kept} kept");
            assert!(nulls.finish(kept).is_none());
        }
        let mut nulls = NullRows::default();
        (0..70).for_each(|row| nulls.push(row));
        assert_eq!(nulls.finish(70).map(|arrow| arrow.null_count()), Some(70));
    }
}
