//! A column of texts or bytes under construction.

use arrow_buffer::{Buffer, OffsetBuffer};

use super::leaf::take_values;

/// A column of texts or bytes, whose last value can be replaced or extended.
#[derive(Debug)]
pub struct BytesColumn {
    /// Start of each row in `data`, and then the end of the last row.
    offsets: Vec<i32>,
    data: Vec<u8>,
}

impl Default for BytesColumn {
    fn default() -> Self {
        Self { offsets: vec![0], data: Vec::new() }
    }
}

impl BytesColumn {
    /// Returns the number of rows.
    #[inline]
    pub fn len(&self) -> usize {
        self.offsets.len() - 1
    }

    /// Sets the value of `row`, which must be the last or the next row.
    #[inline]
    pub fn set(&mut self, row: usize, value: &[u8]) -> Result<(), String> {
        if self.len() > row {
            self.truncate(row);
        }
        self.data.extend_from_slice(value);
        self.close()
    }

    /// Extends the value of `row`, which must be the last or the next row.
    pub fn extend(&mut self, row: usize, value: &[u8]) -> Result<(), String> {
        if self.len() > row {
            self.offsets.truncate(row + 1);
        }
        self.data.extend_from_slice(value);
        self.close()
    }

    #[inline]
    fn close(&mut self) -> Result<(), String> {
        let end = i32::try_from(self.data.len()).map_err(|_| {
            "expected at most 2 GiB in a column of a batch, got more; read smaller batches".to_owned()
        })?;
        self.offsets.push(end);
        Ok(())
    }

    /// Appends an empty value.
    pub fn push_empty(&mut self) {
        let end = self.offsets.last().copied().unwrap_or_default();
        self.offsets.push(end);
    }

    /// Truncates the column to its first `rows` rows.
    pub fn truncate(&mut self, rows: usize) {
        self.offsets.truncate(rows + 1);
        self.data.truncate(self.offsets.last().copied().unwrap_or_default() as usize);
    }

    /// Returns the value of a row.
    pub fn get(&self, row: usize) -> &[u8] {
        match self.offsets.get(row..) {
            Some([start, end, ..]) => self.data.get(*start as usize..*end as usize).unwrap_or_default(),
            _ => &[],
        }
    }

    /// Returns the buffers of an Arrow array, and starts a new column.
    pub fn finish(&mut self) -> (OffsetBuffer<i32>, Buffer) {
        let offsets = take_values(&mut self.offsets);
        self.offsets.push(0);
        (OffsetBuffer::new(offsets.into()), Buffer::from_vec(take_values(&mut self.data)))
    }
}
