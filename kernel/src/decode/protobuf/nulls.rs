//! The null rows of a column.

use arrow_buffer::{BooleanBufferBuilder, NullBuffer};

/// Numbers of the null rows, ascending; most columns have few null rows.
#[derive(Debug, Default)]
pub struct Nulls {
    rows: Vec<usize>,
}

impl Nulls {
    /// Marks `row` as null; it must be higher than all marked rows.
    pub fn push(&mut self, row: usize) {
        self.rows.push(row);
    }

    /// Removes the rows from `rows` on.
    pub fn truncate(&mut self, rows: usize) {
        while self.rows.last().is_some_and(|row| *row >= rows) {
            self.rows.pop();
        }
    }

    /// Returns Arrow's null buffer for `rows` rows, and empties the set.
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
