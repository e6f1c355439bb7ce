//! Which rows of a column are null.

use arrow_buffer::{BooleanBufferBuilder, NullBuffer};

/// Positions of the nulls, ascending: most columns have few or none.
#[derive(Debug, Default)]
pub struct Nulls {
    rows: Vec<usize>,
}

impl Nulls {
    /// `row` is null; it is above all others.
    pub fn push(&mut self, row: usize) {
        self.rows.push(row);
    }

    /// Forget the rows from `rows` on.
    pub fn truncate(&mut self, rows: usize) {
        while self.rows.last().is_some_and(|row| *row >= rows) {
            self.rows.pop();
        }
    }

    /// As Arrow has it, for `rows` rows; starts anew.
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
