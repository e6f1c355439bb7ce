//! Entries: what a bookie stores and a MESSAGE frame carries behind its command.
//!
//! `[0x0e02 | u32 n | BrokerEntryMetadata] [0x0e01 | u32 crc32c of all that follows]
//! u32 metadata size | MessageMetadata | payload`, big endian. A payload is compressed as a whole; in a
//! batched entry it holds `{u32 n | SingleMessageMetadata | payload_size bytes}` per message.

use crate::error::{KernelError, MessageRef, Result};
use crate::metadata::{BrokerMetadata, MessageMetadata};
use crate::selection::{Range, Selection};
use crate::wire::split_u32;

const BROKER_METADATA_MAGIC: [u8; 2] = [0x0e, 0x02];
/// Announces the checksum of an entry.
pub const CHECKSUM_MAGIC: [u8; 2] = [0x0e, 0x01];

/// One entry and where it is stored.
#[derive(Debug)]
pub struct Entry {
    /// BookKeeper ledger.
    pub ledger: i64,
    /// Entry in the ledger.
    pub entry: i64,
    /// The bytes of the entry.
    pub data: Vec<u8>,
    /// What the decoder is to do with it.
    pub(crate) role: Role,
    /// It comes from where messages of aborted transactions are as well.
    pub(crate) unfiltered: bool,
    verified: bool,
}

/// Why an entry is in the decoder's queue.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum Role {
    /// For the messages in it.
    #[default]
    InRange,
    /// Looked back for: a chunk before the one that completes a message; gives no row itself.
    EarlierChunk,
    /// As `InRange`, after all that could be found before it: what is missing now is missing for good.
    AfterLookBack,
}

/// An entry taken apart; everything is borrowed from it.
#[derive(Debug)]
pub struct EntryParts<'a> {
    /// Metadata of the entry.
    pub metadata: MessageMetadata<'a>,
    /// Payload, still compressed.
    pub payload: &'a [u8],
    /// `BrokerEntryMetadata`; empty where the broker added none.
    broker: &'a [u8],
}

impl EntryParts<'_> {
    /// What the broker that stored the entry added to it.
    pub fn broker_metadata(&self) -> Result<BrokerMetadata> {
        BrokerMetadata::parse(self.broker)
    }
}

impl Entry {
    /// Store `data` as the entry `entry` of `ledger`; nothing is looked at yet.
    pub fn new(ledger: i64, entry: i64, data: Vec<u8>) -> Self {
        Self { ledger, entry, data, role: Role::default(), unfiltered: false, verified: false }
    }

    /// The entry as a whole, for error messages.
    pub fn reference(&self) -> MessageRef {
        MessageRef { ledger: self.ledger, entry: self.entry, batch_index: -1 }
    }

    /// Verify the checksum, once: later calls only look the result up.
    pub fn verify(&mut self) -> Result<()> {
        if !self.verified {
            verify_checksum(&self.data).map_err(|e| e.at(self.reference()))?;
            self.verified = true;
        }
        Ok(())
    }

    /// Verify the checksum, or for an entry without one that its metadata can be read: what a flipped bit in the
    /// announcement of the checksum leaves.
    pub fn verify_whole(&mut self) -> Result<()> {
        self.verify()?;
        match split_checksum(&self.data) {
            Ok((Some(_), _)) => Ok(()),
            _ => self.parts().map(|_| ()),
        }
    }

    /// Whether its bytes were compared with a checksum: then they are what the producer sent.
    pub fn is_proven(&self) -> bool {
        self.verified && matches!(split_checksum(&self.data), Ok((Some(_), _)))
    }

    /// Metadata and payload, without looking at the checksum.
    pub fn parts(&self) -> Result<EntryParts<'_>> {
        parse(&self.data).map_err(|e| e.at(self.reference()))
    }
}

/// Whole entries in the order in which they were pushed.
#[derive(Debug, Default)]
pub struct EntryBatch {
    /// The entries, oldest first.
    pub entries: Vec<Entry>,
    /// The entries come from storage and not from a broker, which hides the messages of aborted transactions.
    pub unfiltered: bool,
    nbytes: usize,
}

impl EntryBatch {
    /// Add one entry at the end.
    pub fn push(&mut self, entry: Entry) {
        self.nbytes = self.nbytes.saturating_add(entry.data.len());
        self.entries.push(entry);
    }

    /// Bytes of all entries.
    pub fn nbytes(&self) -> usize {
        self.nbytes
    }

    /// Drop whole entries that cannot have messages in `range`.
    pub fn trim(&mut self, range: &Range) {
        let outside = |e: &Entry| !range.touches(e.ledger, e.entry, i32::MAX);
        if self.entries.first().is_some_and(outside) || self.entries.last().is_some_and(outside) {
            self.entries.retain(|e| !outside(e));
            self.nbytes = self.entries.iter().map(|e| e.data.len()).fold(0, usize::saturating_add);
        }
    }

    /// Where ids are missing from `following` on: the first that is, and the one that came instead. A `following`
    /// below 0 is followed by anything.
    pub fn gaps(&self, following: (i64, i64)) -> Vec<((i64, i64), (i64, i64))> {
        let mut gaps = Vec::new();
        let mut next = following;
        for entry in &self.entries {
            let here = (entry.ledger, entry.entry);
            if here > next && next.0 >= 0 {
                gaps.push((next, here));
            }
            next = next.max((entry.ledger, entry.entry.saturating_add(1)));
        }
        gaps
    }

    /// Take the entries out.
    pub fn take(&mut self) -> Vec<Entry> {
        self.nbytes = 0;
        let mut entries = std::mem::take(&mut self.entries);
        entries.iter_mut().for_each(|entry| entry.unfiltered = self.unfiltered);
        entries
    }

    /// The earliest and the latest publish time, in Unix milliseconds; entries that cannot be read tell none.
    pub fn published(&self) -> Option<(i64, i64)> {
        let times =
            self.entries.iter().filter_map(|e| e.parts().ok()).map(|parts| parts.metadata.publish_time);
        let span = times.fold(None, |span, time| {
            span.map_or(Some((time, time)), |(first, last): (u64, u64)| {
                Some((first.min(time), last.max(time)))
            })
        });
        let signed = |time| i64::try_from(time).unwrap_or(i64::MAX);
        span.map(|(first, last)| (signed(first), signed(last)))
    }

    /// Messages as a broker counts permits; an entry that cannot be read counts as one.
    pub fn num_messages(&self) -> usize {
        let count = |e: &Entry| match e.parts() {
            Ok(parts) => parts.metadata.num_messages_in_batch.unwrap_or(1).max(1) as usize,
            Err(_) => 1,
        };
        self.entries.iter().map(count).fold(0, usize::saturating_add)
    }

    /// Distinct schema versions of the entries that may have wanted messages, in order of first sight;
    /// empty bytes stand for none. Verifies the checksums of those entries. Markers have none.
    pub fn schema_versions(&mut self, selection: &Selection) -> Result<Vec<Vec<u8>>> {
        let mut versions: Vec<Vec<u8>> = Vec::new();
        // What lies outside is not read: it may be damaged, or of a version that the reader cannot resolve.
        let inside = |e: &&mut Entry| selection.range.touches(e.ledger, e.entry, i32::MAX);
        for entry in self.entries.iter_mut().filter(inside) {
            entry.verify()?;
            let metadata = entry.parts()?.metadata;
            if !selection.filter.may_want(&metadata) {
                continue;
            }
            let version = metadata.schema_version.unwrap_or_default();
            if metadata.marker_type.is_none() && !versions.iter().any(|v| v == version) {
                versions.push(version.to_vec());
            }
        }
        Ok(versions)
    }
}

/// The `BrokerEntryMetadata`, empty where there is none, and what follows.
fn split_broker_metadata(data: &[u8]) -> Result<(&[u8], &[u8])> {
    let Some(rest) = data.strip_prefix(&BROKER_METADATA_MAGIC) else {
        return Ok((&[], data));
    };
    split_u32(rest)
        .and_then(|(length, rest)| rest.split_at_checked(length as usize))
        .ok_or_else(|| KernelError::corrupt("the broker entry metadata is longer than the entry"))
}

/// The checksummed part of an entry and its checksum, when it has one.
fn split_checksum(data: &[u8]) -> Result<(Option<u32>, &[u8])> {
    let (_, data) = split_broker_metadata(data)?;
    let Some(rest) = data.strip_prefix(&CHECKSUM_MAGIC) else {
        return Ok((None, data));
    };
    let (checksum, rest) =
        split_u32(rest).ok_or_else(|| KernelError::corrupt("the entry ends inside its checksum"))?;
    Ok((Some(checksum), rest))
}

fn verify_checksum(data: &[u8]) -> Result<()> {
    let (checksum, rest) = split_checksum(data)?;
    match checksum.map(|expected| (expected, crc32c::crc32c(rest))) {
        Some((expected, got)) if expected != got => Err(KernelError::corrupt(format!(
            "checksum mismatch: the entry says {expected:#010x}, its bytes give {got:#010x}"
        ))),
        _ => Ok(()),
    }
}

fn parse(data: &[u8]) -> Result<EntryParts<'_>> {
    let (broker, data) = split_broker_metadata(data)?;
    let (_, rest) = split_checksum(data)?;
    let (length, rest) =
        split_u32(rest).ok_or_else(|| KernelError::corrupt("the entry ends before its metadata"))?;
    let Some((metadata, payload)) = rest.split_at_checked(length as usize) else {
        return Err(KernelError::corrupt(format!(
            "metadata of {length} bytes in an entry with {} bytes left",
            rest.len()
        )));
    };
    Ok(EntryParts { metadata: MessageMetadata::parse(metadata)?, payload, broker })
}
