//! The null rows of a column.

use arrow_buffer::{BooleanBufferBuilder, NullBuffer};

/// Numbers of the null rows, ascending; most columns have few null rows.
#[derive(Debug, Default)]
pub struct Nulls {
    rows: Vec<usize>,
}

impl Nulls {
    /// Marks `row` as null; `row` must be higher than all rows that are already marked.
    pub fn push(&mut self, row: usize) {
        self.rows.push(row);
    }

    /// Removes the marks of all rows from row `rows` on.
    pub fn truncate(&mut self, rows: usize) {
        while self.rows.last().is_some_and(|row| *row >= rows) {
            self.rows.pop();
        }
    }

    /// Returns Arrow's null buffer for `rows` rows, and removes all marks.
    pub fn finish(&mut self, rows: usize) -> Option<NullBuffer> {
        if self.rows.is_empty() {
            return None;
        }
        let mut valid = BooleanBufferBuilder::new(rows);
        valid.append_n(rows, true);
        for row in self.rows.drain(..) {
            valid.set_bit(row, false);
        }
        Some(NullBuffer::new(valid.finish()))
    }
}
