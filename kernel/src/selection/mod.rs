//! The messages of a topic partition that a reader wants: a range of positions and a filter.

pub mod key_slot;
pub mod row_filter;
pub mod slot_columns;

use row_filter::RowFilter;

/// Ledger id, entry id and batch index of the next message to read; the index is 0 outside a batch.
pub type Position = (i64, i64, i32);

/// A half-open range of positions.
#[derive(Debug, Clone, Copy, Default)]
pub struct Range {
    /// First position of the range; `None` is unbounded.
    pub start: Option<Position>,
    /// First position after the range; `None` is unbounded.
    pub end: Option<Position>,
}

/// The messages of a range that pass a filter; the default selects all messages.
#[derive(Debug, Clone, Default)]
pub struct Selection {
    /// Positions of the messages.
    pub range: Range,
    /// Condition on the metadata of each message.
    pub filter: RowFilter,
}

impl From<Range> for Selection {
    fn from(range: Range) -> Self {
        Self { range, filter: RowFilter::default() }
    }
}

impl Range {
    /// Returns whether the range contains a message; a batch index of -1 is treated as 0.
    pub fn contains(&self, ledger: i64, entry: i64, batch_index: i32) -> bool {
        let position = (ledger, entry, batch_index.max(0));
        self.start.is_none_or(|start| position >= start) && self.end.is_none_or(|end| position < end)
    }

    /// Returns whether the range contains any of the `count` messages of an entry.
    pub fn touches(&self, ledger: i64, entry: i64, count: i32) -> bool {
        let last = (ledger, entry, count.saturating_sub(1).max(0));
        self.start.is_none_or(|start| last >= start) && self.end.is_none_or(|end| (ledger, entry, 0) < end)
    }
}
