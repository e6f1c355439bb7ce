//! Count the messages and bytes of a range of entries, without keeping the entries.

use std::collections::VecDeque;

use crate::entry::{Entry, EntryBatch};
use crate::selection::Position;
use crate::selection::row_filter::RowFilter;

/// The number of messages of one entry that the filter accepts, and the entry's size.
#[derive(Debug, Clone, Copy)]
struct Count {
    ledger: i64,
    entry: i64,
    messages: u32,
    bytes: u32,
}

/// The first part of a range.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BacklogSlice {
    /// Position after the last message of the slice.
    pub end: Position,
    /// Number of messages in the slice.
    pub messages: u64,
    /// Number of stored bytes. The bytes of an entry are divided equally among its messages.
    pub bytes: u64,
}

/// The counted entries of one topic partition, in order.
#[derive(Debug, Default)]
pub struct Backlog {
    counts: VecDeque<Count>,
    filter: RowFilter,
}

impl Backlog {
    /// Creates an empty backlog. The backlog does not count the messages of an entry whose metadata `filter`
    /// refuses.
    pub fn new(filter: RowFilter) -> Self {
        Self { counts: VecDeque::new(), filter }
    }

    /// Counts entries and returns the numbers of their messages and bytes. Entries that were counted before
    /// are ignored.
    pub fn add(&mut self, entries: &mut EntryBatch) -> (u64, u64) {
        let (mut messages, mut bytes) = (0, 0);
        for entry in entries.take() {
            let place = (entry.ledger, entry.entry);
            if self.counts.back().is_some_and(|last| (last.ledger, last.entry) >= place) {
                continue;
            }
            let count = self.count(&entry);
            messages += u64::from(count.messages);
            bytes += u64::from(count.bytes);
            self.counts.push_back(count);
        }
        (messages, bytes)
    }

    /// Counts the messages of an entry. An unreadable entry is counted as one message. The task that reads
    /// this entry will fail.
    fn count(&self, entry: &Entry) -> Count {
        let messages = entry.parts().map_or(1, |parts| {
            let metadata = &parts.metadata;
            let is_part = metadata.chunk_id + 1 < metadata.num_chunks;
            if metadata.marker_type.is_some() || is_part || !self.filter.may_want(metadata) {
                return 0;
            }
            u32::try_from(metadata.num_messages_in_batch.unwrap_or(1)).unwrap_or(1).max(1)
        });
        let bytes = u32::try_from(entry.data.len()).unwrap_or(u32::MAX);
        Count { ledger: entry.ledger, entry: entry.entry, messages, bytes }
    }

    /// Removes the entries before the entry of the position.
    pub fn drop_before(&mut self, position: Position) {
        while self.counts.front().is_some_and(|first| (first.ledger, first.entry) < (position.0, position.1))
        {
            self.counts.pop_front();
        }
    }

    /// Returns the longest slice of counted entries from `start` to `end` (exclusive). The slice has at most
    /// `most` messages and bytes.
    ///
    /// The slice ends between entries, with two exceptions. The limit of messages may end the slice inside
    /// any entry. The limit of bytes may end the slice inside its first entry. With `at_least_one` the slice
    /// contains the first message, or the first entry if that entry has no messages, whatever its size.
    pub fn take(&self, start: Position, end: Position, most: (u64, u64), at_least_one: bool) -> BacklogSlice {
        let mut taken = BacklogSlice { end: start, messages: 0, bytes: 0 };
        let mut must = at_least_one;
        let from = self.counts.partition_point(|count| (count.ledger, count.entry) < (start.0, start.1));
        for count in self.counts.range(from..) {
            let Some(part) = Part::in_range(count, start, end) else { break };
            let left = (most.0.saturating_sub(taken.messages), most.1.saturating_sub(taken.bytes));
            let fitting = part.fitting(left, taken.messages == 0, must);
            must = false;
            let Some(fitting) = fitting else { break };
            taken.messages += u64::from(fitting);
            taken.bytes += part.bytes_of(fitting);
            if fitting < part.messages {
                let index = part.first + fitting;
                taken.end = (count.ledger, count.entry, i32::try_from(index).unwrap_or(i32::MAX));
                break;
            }
            taken.end = end.min((count.ledger, count.entry + 1, 0));
        }
        taken
    }
}

/// The messages of an entry that are in a range.
struct Part {
    first: u32,
    messages: u32,
    whole: Count,
}

impl Part {
    /// Returns the messages from `start` to `end`, or `None` if the entry is after the range.
    fn in_range(count: &Count, start: Position, end: Position) -> Option<Self> {
        let place = (count.ledger, count.entry);
        if (count.ledger, count.entry, 0) >= end {
            return None;
        }
        let index = |position: Position| u32::try_from(position.2).unwrap_or(0).min(count.messages);
        let first = if place == (start.0, start.1) { index(start) } else { 0 };
        let behind = if place == (end.0, end.1) { index(end) } else { count.messages };
        Some(Self { first, messages: behind.saturating_sub(first), whole: *count })
    }

    /// Returns the part of the entry's bytes that belongs to `messages` messages. If the entry has no
    /// messages, returns all of its bytes.
    fn bytes_of(&self, messages: u32) -> u64 {
        let bytes = u64::from(self.whole.bytes);
        match u64::from(self.whole.messages) {
            0 => bytes,
            all => (bytes * u64::from(messages)).div_ceil(all),
        }
    }

    /// Returns the number of messages that fit into the remaining limits, or `None` if the entry does not
    /// fit.
    fn fitting(&self, left: (u64, u64), is_first: bool, must: bool) -> Option<u32> {
        if self.messages == 0 {
            // The entry has no message in the range, so only its bytes are compared with the limits.
            let fits = self.bytes_of(0) <= left.1 && left.0 > 0;
            return (must || fits || self.whole.messages > 0).then_some(0);
        }
        let by_messages = u32::try_from(left.0).unwrap_or(u32::MAX).min(self.messages);
        let fits = self.bytes_of(by_messages) <= left.1;
        let by_bytes = if fits {
            by_messages
        } else if is_first {
            let part =
                left.1.saturating_mul(u64::from(self.whole.messages)) / u64::from(self.whole.bytes.max(1));
            u32::try_from(part).unwrap_or(u32::MAX).min(by_messages)
        } else {
            0
        };
        let fitting = if must { by_bytes.max(1) } else { by_bytes };
        (fitting > 0).then_some(fitting)
    }
}
