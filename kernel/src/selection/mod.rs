//! Which messages of a topic partition a reader wants.

pub mod key_slot;
pub mod row_filter;
pub mod slot_columns;

use row_filter::RowFilter;

/// `(ledger, entry, batch index)` of the next message to read; index 0 outside a batch.
pub type Position = (i64, i64, i32);

/// Start inclusive, end exclusive; `None` is unbounded.
#[derive(Debug, Clone, Copy, Default)]
pub struct Range {
    /// First position inside.
    pub start: Option<Position>,
    /// First position behind.
    pub end: Option<Position>,
}

/// The messages of a range that a filter lets through; the default is all messages.
#[derive(Debug, Clone, Default)]
pub struct Selection {
    /// Where they lie.
    pub range: Range,
    /// What they say of themselves.
    pub filter: RowFilter,
}

impl From<Range> for Selection {
    fn from(range: Range) -> Self {
        Self { range, filter: RowFilter::default() }
    }
}

impl Range {
    /// Whether the message is inside; index -1 counts as 0.
    pub fn contains(&self, ledger: i64, entry: i64, batch_index: i32) -> bool {
        let position = (ledger, entry, batch_index.max(0));
        self.start.is_none_or(|start| position >= start) && self.end.is_none_or(|end| position < end)
    }

    /// Whether any of the `count` messages of an entry is inside.
    pub fn touches(&self, ledger: i64, entry: i64, count: i32) -> bool {
        let last = (ledger, entry, count.saturating_sub(1).max(0));
        self.start.is_none_or(|start| last >= start) && self.end.is_none_or(|end| (ledger, entry, 0) < end)
    }
}
