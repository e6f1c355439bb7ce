//! Readers of ledgers that Pulsar's offloaders moved to tiered storage.
//!
//! Object stores such as S3, GCS and Azure store a data object ([`blocks`]) and an index object ([`object`])
//! for each ledger. The file system offloader writes a [`map_file`], which consists of [`sequence_file`]s.
//!
//! For both formats, the caller fetches bytes from [`StoredEntries::start`] on, in pieces of any length. The reader
//! returns the wanted entries in order and without a gap, or an error that names the missing entry. Entries are stored
//! as on a bookie, but without the bookie's checksum. So the reader verifies the checksum inside each entry.

pub mod blocks;
pub mod map_file;
pub mod object;
pub mod sequence_file;

use crate::entry::{Entry, EntryBatch};
use crate::error::{KernelError, MessageRef, Result};

/// Longest entry, record or compressed block that the reader collects in memory: 256 MiB.
///
/// Brokers refuse messages above `maxMessageSize`, which is 5 MiB by default.
pub const MAX_STORED: usize = 256 << 20;

/// Approximate maximum number of bytes of entries that one call returns. A limit is needed because
/// decompressed bytes may be a thousand times as long as the input.
const MAX_OUT: usize = 16 << 20;

/// A range of entries of a ledger, and the entries of the range that were read.
#[derive(Debug)]
pub struct EntryRange {
    ledger: i64,
    first: i64,
    last: i64,
    /// Id of the entry that must follow; `None` before the first entry of a MapFile, which can be any earlier entry.
    expected: Option<i64>,
    batch: EntryBatch,
}

impl EntryRange {
    /// Creates the range of the entries `first` to `last`, inclusive; the bytes begin with the entry `begins`.
    fn new(ledger: i64, first: i64, last: i64, begins: Option<i64>) -> Self {
        Self { ledger, first, last, expected: begins, batch: EntryBatch::default() }
    }

    /// Returns the first wanted entry that was not read yet.
    pub fn next_entry(&self) -> i64 {
        self.expected.map_or(self.first, |expected| expected.max(self.first))
    }

    /// Returns whether all wanted entries were read.
    pub fn is_done(&self) -> bool {
        self.next_entry() > self.last
    }

    /// Returns whether the read entries must be returned to the caller before more entries are read.
    fn is_full(&self) -> bool {
        self.batch.nbytes() >= MAX_OUT
    }

    /// Checks that the stored entry is the expected entry, and stores the entry if it is wanted.
    fn take(&mut self, entry: i64, data: &[u8]) -> Result<()> {
        let missing = match self.expected {
            Some(expected) => (entry != expected).then_some(expected),
            None => (entry > self.first).then_some(self.first),
        };
        if let Some(missing) = missing {
            return Err(self.missing(missing, &format!("entry {entry} follows")));
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
        KernelError::corrupt(format!("expected entry {entry} in the offloaded copy, got none: {why}"))
            .at(self.reference(entry))
    }

    fn reference(&self, entry: i64) -> MessageRef {
        MessageRef { ledger: self.ledger, entry, batch_index: -1 }
    }
}

/// A parser for one of the two stored formats.
#[derive(Debug)]
enum Layout {
    Blocks(blocks::Blocks),
    Records(sequence_file::Records),
}

/// A reader of wanted entries, which receives the stored bytes from `start` on.
#[derive(Debug)]
pub struct StoredEntries {
    /// Offset in the object or file of the first byte to feed.
    pub start: u64,
    /// Offset after the last byte to feed; `None` is the end of the file.
    pub end: Option<u64>,
    layout: Layout,
    range: EntryRange,
    /// Offset in the object or file of the bytes in `pending`.
    position: u64,
    pending: Vec<u8>,
    failure: Option<KernelError>,
    /// True if the bytes fed until now contain more entries than were returned.
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
            failure: None,
            has_more: false,
        }
    }

    /// Returns the first wanted entry that was not returned yet.
    pub fn next_entry(&self) -> i64 {
        self.range.next_entry()
    }

    /// Returns whether all wanted entries were returned, so that no more bytes are needed.
    pub fn is_done(&self) -> bool {
        self.range.is_done()
    }

    /// Parses the next bytes, and returns about 16 MiB of the entries that are complete.
    ///
    /// While `has_more` is set, call again with empty `data`. Entries before an error are returned first, and the next
    /// call returns the error.
    pub fn feed(&mut self, data: &[u8]) -> Result<EntryBatch> {
        if let Some(error) = &self.failure {
            return Err(error.clone());
        }
        if let Err(error) = self.parse(data) {
            let error = error.at(self.range.reference(self.range.next_entry()));
            self.failure = Some(error.clone());
            if self.range.batch.entries.is_empty() {
                return Err(error);
            }
        }
        self.has_more = self.failure.is_none() && self.range.is_full() && !self.range.is_done();
        Ok(std::mem::take(&mut self.range.batch))
    }

    /// Ends the input; returns an error unless all wanted entries were returned.
    pub fn finish(&self) -> Result<()> {
        match &self.failure {
            Some(error) => Err(error.clone()),
            None if self.range.is_done() => Ok(()),
            None => Err(self.range.missing(
                self.range.next_entry(),
                &format!("the copy ends too early, and lacks all entries up to {}", self.range.last),
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

    /// Parses the complete entries of `data`, and returns the number of parsed bytes.
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
