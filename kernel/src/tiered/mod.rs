//! Ledgers that were moved to tiered storage: what Pulsar's offloaders write, back to entries.
//!
//! [`object`] is the index object that lies beside each data object in S3, GCS, Azure and the like, [`blocks`] the
//! data object; [`map_file`] is what the file system offloader writes, on [`sequence_file`]. Either way the caller
//! fetches bytes from where [`StoredEntries::start`] says on, in pieces as it likes, and gets the wanted entries in
//! order and without a gap, or an error that names the one that is missing. Entries lie there as a bookie stores
//! them, without the bookie's own checksum, so each entry's checksum is verified here.

pub mod blocks;
pub mod map_file;
pub mod object;
pub mod sequence_file;

use crate::entry::{Entry, EntryBatch};
use crate::error::{KernelError, MessageRef, Result};

/// Longest entry, record or compressed block that is gathered in memory: 256 MiB. Brokers refuse messages above
/// `maxMessageSize`, 5 MiB by default.
pub const MAX_STORED: usize = 256 << 20;

/// Bytes of entries that come out at a time, about: what is stored compressed may be a thousand times as long.
const MAX_OUT: usize = 16 << 20;

/// Which entries of a ledger are wanted, and how far they have come.
#[derive(Debug)]
pub struct EntryRange {
    ledger: i64,
    first: i64,
    last: i64,
    /// The entry that must come next; unknown before the first where a file has to say it.
    expected: Option<i64>,
    batch: EntryBatch,
}

impl EntryRange {
    /// The entries `first` to `last` (inclusive) of `ledger`; the bytes begin with the entry `begins`.
    fn new(ledger: i64, first: i64, last: i64, begins: Option<i64>) -> Self {
        Self { ledger, first, last, expected: begins, batch: EntryBatch::default() }
    }

    /// The first wanted entry that did not come yet.
    pub fn next_entry(&self) -> i64 {
        self.expected.map_or(self.first, |expected| expected.max(self.first))
    }

    /// Whether all have come.
    pub fn is_done(&self) -> bool {
        self.next_entry() > self.last
    }

    /// Whether so much has come that it should go out first.
    fn is_full(&self) -> bool {
        self.batch.nbytes() >= MAX_OUT
    }

    /// Take the next stored entry; keep it when it is wanted.
    fn take(&mut self, entry: i64, data: &[u8]) -> Result<()> {
        let missing = match self.expected {
            Some(expected) => (entry != expected).then_some(expected),
            None => (entry > self.first).then_some(self.first),
        };
        if let Some(missing) = missing {
            return Err(self.missing(missing, &format!("entry {entry} follows in its place")));
        }
        if entry >= self.first {
            let mut stored = Entry::new(self.ledger, entry, data.to_vec());
            stored.verify_whole()?;
            self.batch.push(stored);
        }
        self.expected = Some(entry.saturating_add(1));
        Ok(())
    }

    fn missing(&self, entry: i64, why: &str) -> KernelError {
        KernelError::corrupt(format!("expected entry {entry} in the offloaded copy, which lacks it: {why}"))
            .at(self.reference(entry))
    }

    fn reference(&self, entry: i64) -> MessageRef {
        MessageRef { ledger: self.ledger, entry, batch_index: -1 }
    }
}

/// How the entries lie in the bytes.
#[derive(Debug)]
enum Layout {
    Blocks(blocks::Blocks),
    Records(sequence_file::Records),
}

/// The wanted entries out of the bytes from `start` on.
#[derive(Debug)]
pub struct StoredEntries {
    /// Where in the object or file the bytes begin that have to be fed.
    pub start: u64,
    /// Behind the last byte that has to be fed; `None`: as far as the file goes.
    pub end: Option<u64>,
    layout: Layout,
    range: EntryRange,
    /// Where the bytes in `pending` begin.
    position: u64,
    pending: Vec<u8>,
    failed: Option<KernelError>,
    /// Whether what was fed holds more than came out.
    pub has_more: bool,
}

impl StoredEntries {
    fn new(start: u64, end: Option<u64>, layout: Layout, range: EntryRange) -> Self {
        Self {
            start,
            end,
            layout,
            range,
            position: start,
            pending: Vec::new(),
            failed: None,
            has_more: false,
        }
    }

    /// The first wanted entry that did not come out yet.
    pub fn next_entry(&self) -> i64 {
        self.range.next_entry()
    }

    /// Whether all wanted entries came out; what follows need not be fed.
    pub fn is_done(&self) -> bool {
        self.range.is_done()
    }

    /// Take the bytes that follow, and give the entries that became complete, about 16 MiB at a time: while
    /// `has_more` is set, the next call has nothing to bring. What is before an error comes out first; the error
    /// comes at the next call.
    pub fn feed(&mut self, data: &[u8]) -> Result<EntryBatch> {
        if let Some(error) = &self.failed {
            return Err(error.clone());
        }
        if let Err(error) = self.parse(data) {
            let error = error.at(self.range.reference(self.range.next_entry()));
            self.failed = Some(error.clone());
            if self.range.batch.entries.is_empty() {
                return Err(error);
            }
        }
        self.has_more = self.failed.is_none() && self.range.is_full() && !self.range.is_done();
        Ok(std::mem::take(&mut self.range.batch))
    }

    /// Say that there are no more bytes. An error unless all wanted entries came out.
    pub fn finish(&self) -> Result<()> {
        match &self.failed {
            Some(error) => Err(error.clone()),
            None if self.range.is_done() => Ok(()),
            None => Err(self.range.missing(
                self.range.next_entry(),
                &format!("it ends before, and entries up to {} should follow", self.range.last),
            )),
        }
    }

    fn parse(&mut self, data: &[u8]) -> Result<()> {
        if self.pending.is_empty() {
            let used = self.split(data)?;
            self.pending.extend_from_slice(data.get(used..).unwrap_or_default());
            return Ok(());
        }
        let mut pending = std::mem::take(&mut self.pending);
        pending.extend_from_slice(data);
        let used = self.split(&pending)?;
        pending.drain(..used.min(pending.len()));
        self.pending = pending;
        Ok(())
    }

    /// Handle what is complete; returns how many bytes that took.
    fn split(&mut self, data: &[u8]) -> Result<usize> {
        if self.range.is_done() {
            return Ok(data.len());
        }
        let mut used = 0;
        let outcome = match &mut self.layout {
            Layout::Blocks(blocks) => blocks.split(data, &mut self.range, &mut used),
            Layout::Records(records) => records.split(data, &mut self.range, &mut used),
        };
        self.position = self.position.saturating_add(used as u64);
        outcome.map_err(|error| match error.at {
            Some(_) => error,
            None => error.within(&format!("at byte {}", self.position)),
        })?;
        Ok(used)
    }
}
