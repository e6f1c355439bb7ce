//! Entries: the bytes that a bookie stores, and that a MESSAGE frame contains after its command.
//!
//! `[0x0e02 | u32 n | BrokerEntryMetadata] [0x0e01 | u32 crc32c of all that follows]
//! u32 metadata size | MessageMetadata | payload`, big endian.
//!
//! A payload is compressed as a whole. In a batched entry it contains `{u32 n | SingleMessageMetadata |
//! payload_size bytes}` for each message.

use crate::error::{KernelError, MessageRef, Result};
use crate::metadata::{BrokerMetadata, MessageMetadata};
use crate::selection::{Range, Selection};
use crate::wire::split_u32;

const BROKER_METADATA_MAGIC: [u8; 2] = [0x0e, 0x02];
/// The magic bytes before the checksum of an entry.
pub const CHECKSUM_MAGIC: [u8; 2] = [0x0e, 0x01];

/// An entry, with its ledger and entry id.
#[derive(Debug)]
pub struct Entry {
    /// The BookKeeper ledger.
    pub ledger: i64,
    /// The entry in the ledger.
    pub entry: i64,
    /// The bytes of the entry.
    pub data: Vec<u8>,
    /// The reason why the entry is in the decoder's queue.
    pub(crate) role: Role,
    /// True if the source of the entry also returns messages of aborted transactions.
    pub(crate) unfiltered: bool,
    verified: bool,
}

/// The reason why an entry is in the decoder's queue.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum Role {
    /// The entry's messages become rows.
    #[default]
    InRange,
    /// An earlier chunk of a message, which a search before the range found. The chunk has no row.
    EarlierChunk,
    /// An entry in the range whose earlier chunks were searched in all earlier entries. A chunk that is still
    /// missing does not exist.
    AfterLookBack,
}

/// The parts of an entry, borrowed from its bytes.
#[derive(Debug)]
pub struct EntryParts<'a> {
    /// The metadata of the entry.
    pub metadata: MessageMetadata<'a>,
    /// The payload, still compressed.
    pub payload: &'a [u8],
    /// The bytes of the `BrokerEntryMetadata`; empty if the broker added none.
    broker: &'a [u8],
}

impl EntryParts<'_> {
    /// Parses the metadata that the broker added when it stored the entry.
    pub fn broker_metadata(&self) -> Result<BrokerMetadata> {
        BrokerMetadata::parse(self.broker)
    }
}

impl Entry {
    /// Creates the entry `entry` of `ledger` from its bytes, without reading them.
    pub fn new(ledger: i64, entry: i64, data: Vec<u8>) -> Self {
        Self { ledger, entry, data, role: Role::default(), unfiltered: false, verified: false }
    }

    /// Returns the position of the whole entry, for error messages.
    pub fn reference(&self) -> MessageRef {
        MessageRef { ledger: self.ledger, entry: self.entry, batch_index: -1 }
    }

    /// Verifies the checksum, unless an earlier call succeeded.
    pub fn verify(&mut self) -> Result<()> {
        if !self.verified {
            verify_checksum(&self.data).map_err(|e| e.at(self.reference()))?;
            self.verified = true;
        }
        Ok(())
    }

    /// Verifies the checksum. If the entry has none, verifies that its metadata can be read, because a
    /// flipped bit may have removed the magic bytes of the checksum.
    pub fn verify_whole(&mut self) -> Result<()> {
        self.verify()?;
        match split_checksum(&self.data) {
            Ok((Some(_), _)) => Ok(()),
            _ => self.parts().map(|_| ()),
        }
    }

    /// Returns whether the bytes were compared with a checksum, and so are what the producer sent.
    pub fn is_proven(&self) -> bool {
        self.verified && matches!(split_checksum(&self.data), Ok((Some(_), _)))
    }

    /// Splits the entry into metadata and payload, without verifying the checksum.
    pub fn parts(&self) -> Result<EntryParts<'_>> {
        parse(&self.data).map_err(|e| e.at(self.reference()))
    }
}

/// Whole entries, in the order of their `push` calls.
#[derive(Debug, Default)]
pub struct EntryBatch {
    /// The entries, oldest first.
    pub entries: Vec<Entry>,
    /// True if the entries come from storage, and may contain messages of aborted transactions. A broker
    /// would hide these messages.
    pub unfiltered: bool,
    nbytes: usize,
}

impl EntryBatch {
    /// Appends an entry.
    pub fn push(&mut self, entry: Entry) {
        self.nbytes = self.nbytes.saturating_add(entry.data.len());
        self.entries.push(entry);
    }

    /// Returns the number of bytes of all entries.
    pub fn nbytes(&self) -> usize {
        self.nbytes
    }

    /// Removes whole entries that cannot contain messages in `range`.
    pub fn trim(&mut self, range: &Range) {
        let outside = |e: &Entry| !range.touches(e.ledger, e.entry, i32::MAX);
        if self.entries.first().is_some_and(outside) || self.entries.last().is_some_and(outside) {
            self.entries.retain(|e| !outside(e));
            self.nbytes = self.entries.iter().map(|e| e.data.len()).fold(0, usize::saturating_add);
        }
    }

    /// Returns the gaps in the ids from `following` on. A gap consists of its first missing id and of the id
    /// after the gap. If the ledger of `following` is below 0, no gap is reported before the first entry.
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

    /// Removes and returns the entries.
    pub fn take(&mut self) -> Vec<Entry> {
        self.nbytes = 0;
        let mut entries = std::mem::take(&mut self.entries);
        entries.iter_mut().for_each(|entry| entry.unfiltered = self.unfiltered);
        entries
    }

    /// Returns the earliest and the latest publish time, in Unix milliseconds. Entries that cannot be read
    /// are ignored.
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

    /// Returns the number of messages in the same way in which a broker counts permits. An entry that cannot
    /// be read is counted as one message.
    pub fn num_messages(&self) -> usize {
        let count = |e: &Entry| match e.parts() {
            Ok(parts) => parts.metadata.num_messages_in_batch.unwrap_or(1).max(1) as usize,
            Err(_) => 1,
        };
        self.entries.iter().map(count).fold(0, usize::saturating_add)
    }

    /// Returns the distinct schema versions of entries that may contain selected messages, in order of first
    /// appearance. Empty bytes mean that messages name no version. Markers have no version.
    ///
    /// Verifies the checksums of the entries in the range.
    pub fn schema_versions(&mut self, selection: &Selection) -> Result<Vec<Vec<u8>>> {
        let mut versions: Vec<Vec<u8>> = Vec::new();
        // Entries outside of the range may be damaged, or have a version that the reader cannot resolve.
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

/// Splits off the bytes of the `BrokerEntryMetadata`, which are empty if the entry has none.
fn split_broker_metadata(data: &[u8]) -> Result<(&[u8], &[u8])> {
    let Some(rest) = data.strip_prefix(&BROKER_METADATA_MAGIC) else {
        return Ok((&[], data));
    };
    split_u32(rest)
        .and_then(|(length, rest)| rest.split_at_checked(length as usize))
        .ok_or_else(|| KernelError::corrupt("the broker entry metadata is longer than the entry"))
}

/// Splits off the checksum, if the entry has one, and returns the bytes that it covers.
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
            "checksum mismatch: expected {expected:#010x} from the entry, got {got:#010x} from its bytes"
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
            "expected metadata of at most {} bytes in the rest of the entry, got {length} bytes",
            rest.len()
        )));
    };
    Ok(EntryParts { metadata: MessageMetadata::parse(metadata)?, payload, broker })
}
