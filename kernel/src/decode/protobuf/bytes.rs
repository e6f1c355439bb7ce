//! Texts or bytes of a column under construction.

use arrow_buffer::{Buffer, OffsetBuffer};

use super::leaf::renew;

/// Values one behind the other.
#[derive(Debug)]
pub struct BytesColumn {
    /// Where each row begins, and where the last one ends.
    offsets: Vec<i32>,
    data: Vec<u8>,
}

impl Default for BytesColumn {
    fn default() -> Self {
        Self { offsets: vec![0], data: Vec::new() }
    }
}

impl BytesColumn {
    /// Rows.
    #[inline]
    pub fn len(&self) -> usize {
        self.offsets.len() - 1
    }

    /// Set the value of `row`, which is the last one or the next.
    #[inline]
    pub fn set(&mut self, row: usize, value: &[u8]) -> Result<(), String> {
        if self.len() > row {
            self.truncate(row);
        }
        self.data.extend_from_slice(value);
        self.close()
    }

    /// Append to the value of `row`, which is the last one or the next.
    pub fn extend(&mut self, row: usize, value: &[u8]) -> Result<(), String> {
        if self.len() > row {
            self.offsets.truncate(row + 1);
        }
        self.data.extend_from_slice(value);
        self.close()
    }

    #[inline]
    fn close(&mut self) -> Result<(), String> {
        let end = i32::try_from(self.data.len())
            .map_err(|_| "expected at most 2 GiB in one column of a batch, got more".to_owned())?;
        self.offsets.push(end);
        Ok(())
    }

    /// Append an empty value.
    pub fn push_empty(&mut self) {
        let end = self.offsets.last().copied().unwrap_or_default();
        self.offsets.push(end);
    }

    /// Forget the rows from `rows` on.
    pub fn truncate(&mut self, rows: usize) {
        self.offsets.truncate(rows + 1);
        self.data.truncate(self.offsets.last().copied().unwrap_or_default() as usize);
    }

    /// One value.
    pub fn get(&self, row: usize) -> &[u8] {
        match self.offsets.get(row..) {
            Some([start, end, ..]) => self.data.get(*start as usize..*end as usize).unwrap_or_default(),
            _ => &[],
        }
    }

    /// What Arrow makes an array of; starts anew.
    pub fn finish(&mut self) -> (OffsetBuffer<i32>, Buffer) {
        let offsets = renew(&mut self.offsets);
        self.offsets.push(0);
        (OffsetBuffer::new(offsets.into()), Buffer::from_vec(renew(&mut self.data)))
    }
}
