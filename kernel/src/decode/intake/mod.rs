//! The way from an entry to its messages: select, decrypt, assemble and decompress.
//!
//! # Checks of an entry
//!
//! [`Intake::take`] answers these questions in this order, and the first answer "no" determines the result:
//!
//! 1. Can the entry contain a message of the range? Otherwise it has no row, and its checksum is not
//!    verified.
//! 2. Is the checksum correct, and can the metadata be parsed? Otherwise the bytes are damaged, which is always an
//!    error.
//! 3. Is the entry a message and not a marker? Otherwise it has no row. An abort marker of an unfiltered entry is
//!    recorded.
//! 4. Can the filter accept the entry? Otherwise it has no row. If the entry is a chunk, the other chunks of
//!    its message are removed from memory.
//! 5. Is the outcome of its transaction known? (*) Otherwise the entry waits for [`Need::Transactions`].
//! 6. Was its transaction not aborted? (*) Otherwise it has no row.
//! 7. Is a data key known that decrypts the entry? Otherwise the entry waits for [`Need::DataKeys`]. If every
//!    key was refused, the option `on_crypto_failure` determines the result: an error, no row, or one
//!    encrypted row.
//! 8. Is the entry a whole message or the last chunk of a message? Otherwise it has no row, and the chunk is added to
//!    `chunks`.
//! 9. Are the earlier chunks in memory? Otherwise the entry waits for [`Need::Chunks`].
//! 10. Can the payload be decompressed? Otherwise the result is an error or a bad row.
//!
//! (*) Checks 5 and 6 apply only to entries that are read from storage (`unfiltered`), because brokers do not
//! send messages of aborted transactions.
//!
//! # Waiting
//!
//! The kernel cannot obtain three things itself: the chunks before the range, the outcome of a transaction,
//! and an unwrapped data key. Only the owner of a private key can unwrap a data key. An entry that needs one
//! of these things returns to the front of the queue, and `Intake::need` contains the need. Then
//! [`Decoder::next_batch`](super::Decoder::next_batch) returns `None`, even with `flush`.
//!
//! The caller then calls `needed_data_keys`, `missing_chunks` and `undecided_transactions`, and one of these
//! functions returns the need. The caller supplies what is needed (`supply`), and calls `next_batch` again.
//! The checks of the same entry then start again with the first check.
//!
//! This procedure is correct for these reasons:
//! * *Order:* Rows have the order of the entries. So all entries after a waiting entry wait too, and one variable for
//!   one need is enough.
//! * *Repetition:* Until an entry is opened, its checks have no effect that a second pass could observe. Verification,
//!   recording an abort marker and removing a chunk are idempotent. [`Chunks::add`](chunks::Chunks::add) changes
//!   nothing if it reports missing chunks.
//! * *Termination:* An entry has each need at most once. The caller adds or refuses every wrapped key, and
//!   the keyring has room for all keys of an entry. After a search, the entry has [`Role::AfterLookBack`]. If
//!   chunks are missing even then, the message is lost. The outcome of a transaction is recorded for the rest
//!   of the range. A caller that cannot determine an outcome calls `give_up_transactions`, which drops the
//!   queue. Another source then continues at this entry.
//! * *No useless waits:* Range, filter and transaction are checked before keys and chunks.
//! * *Order of the steps:* Decryption, assembly and decompression reverse the steps of the producer. The
//!   producer compresses the whole message, cuts it, and encrypts each chunk.
//!
//! The chunks that a search found enter the queue before the waiting entry, as [`Role::EarlierChunk`]. These
//! chunks pass the same checks, except the checks of range and filter. They have no row.
//!
//! If a chunk fails and the filter may reject its message, the message is removed from memory. If the filter
//! accepts the message's last chunk, the search reads the failed chunk again, and reports its error.

mod chunks;
mod open_entry;
mod options;
mod supply;
mod transactions;

use std::borrow::Cow;

use super::bad_rows::is_of_message;
use crate::compression::{Codec, decompress_in};
use crate::encryption::{Decrypted, Keyring, OnFailure, WrappedKey, context_json, undecryptable_error};
use crate::entry::{Entry, EntryParts, Role};
use crate::error::{ErrorKind, KernelError, Result};
use crate::metadata::MessageMetadata;
use crate::selection::{Range, Selection};
use chunks::{ChunkStep, Chunks};
pub use chunks::{ChunkedMessage, LostMessage, MissingChunks};
pub use open_entry::OpenEntry;
pub use options::IntakeOptions;
use options::USUAL_MAX_MESSAGE;
pub use transactions::TransactionId;
use transactions::Transactions;

/// The state that is needed to open the entries of a range in order.
pub struct Intake {
    options: IntakeOptions,
    /// True if an undamaged entry that cannot be opened becomes a bad row. If false, such an entry is an
    /// error.
    tolerant: bool,
    keys: Keyring,
    chunks: Chunks,
    transactions: Transactions,
    need: Option<Need>,
    discarded: u64,
    /// Memory of an earlier payload, which the next payload reuses.
    spare: Vec<u8>,
}

/// The information that a waiting entry needs.
pub enum Need {
    /// Any one of these data keys.
    DataKeys(Vec<WrappedKey>),
    /// The earlier chunks of the entry's message.
    Chunks(MissingChunks),
    /// The outcomes of these transactions.
    Transactions(Vec<TransactionId>),
}

/// The result of opening an entry.
pub enum OpenResult {
    /// The entry has messages to return.
    Messages(OpenEntry),
    /// The entry has no row.
    Nothing,
    /// The entry must wait for the information in `Intake::need`.
    Waiting(Entry),
}

enum Outcome {
    Payload(Vec<u8>),
    Undecryptable { payload: Vec<u8>, context: String },
    Unopened { payload: Vec<u8>, fault: KernelError },
    Nothing,
    Waiting,
}

impl Intake {
    /// Creates an intake without keys and chunks.
    ///
    /// If `tolerant` is set, an undamaged entry that cannot be opened becomes a bad row. Otherwise, such an
    /// entry is an error.
    pub fn new(options: IntakeOptions, tolerant: bool) -> Self {
        let chunks = Chunks::new(options.max_open_chunked);
        Self {
            options,
            tolerant,
            keys: Keyring::default(),
            chunks,
            transactions: Transactions::default(),
            need: None,
            discarded: 0,
            spare: Vec::new(),
        }
    }

    /// Removes all keys, chunks and transactions, before the range of another reader starts.
    pub fn rewind(&mut self) {
        *self = Self::new(self.options, self.tolerant);
    }

    /// Reuses the memory of an entry whose messages were all returned.
    pub fn recycle(&mut self, open: OpenEntry) {
        let spare = open.into_payload();
        if spare.len() <= USUAL_MAX_MESSAGE {
            self.spare = spare;
        }
    }

    /// Returns whether an entry waits.
    pub fn is_waiting(&self) -> bool {
        self.need.is_some()
    }

    /// Opens an entry. The checksum of an entry outside the range is not verified.
    pub fn take(&mut self, mut entry: Entry, selection: &Selection) -> Result<OpenResult> {
        if entry.role != Role::EarlierChunk && !selection.range.touches(entry.ledger, entry.entry, i32::MAX) {
            return Ok(OpenResult::Nothing);
        }
        // The checksum is also verified before the filter is applied, because the filter cannot be applied to
        // damaged metadata.
        entry.verify()?;
        let outcome = self.examine(&entry, selection).map_err(|e| e.at(entry.reference()))?;
        Ok(match outcome {
            Outcome::Payload(payload) => OpenResult::Messages(OpenEntry::new(entry, payload)),
            Outcome::Undecryptable { payload, context } => {
                OpenResult::Messages(OpenEntry::undecryptable(entry, payload, context))
            }
            Outcome::Unopened { payload, fault } => {
                OpenResult::Messages(OpenEntry::unopened(entry, payload, fault))
            }
            Outcome::Nothing => OpenResult::Nothing,
            Outcome::Waiting => OpenResult::Waiting(entry),
        })
    }

    fn examine(&mut self, entry: &Entry, selection: &Selection) -> Result<Outcome> {
        let parts = entry.parts()?;
        let metadata = &parts.metadata;
        let count = metadata.num_messages_in_batch.unwrap_or(1);
        let earlier = entry.role == Role::EarlierChunk;
        let inside = earlier || selection.range.touches(entry.ledger, entry.entry, count);
        if metadata.marker_type.is_some() || !inside {
            if entry.unfiltered {
                self.transactions.learn(metadata);
            }
            return Ok(Outcome::Nothing);
        }
        if !earlier && !selection.filter.may_want(metadata) {
            self.chunks.skip(metadata);
            return Ok(Outcome::Nothing);
        }
        match self.transactions.is_aborted(metadata) {
            Err(id) if entry.unfiltered => {
                self.need = Some(Need::Transactions(vec![id]));
                return Ok(Outcome::Waiting);
            }
            Ok(true) if entry.unfiltered => return Ok(Outcome::Nothing),
            _ => {}
        }
        let opened = self.open(entry, &parts, &selection.range);
        // The filter may reject the message. If the filter accepts the last chunk, the search reads this
        // chunk again, and fails with the same error.
        let premature = !earlier && metadata.chunk_id + 1 < metadata.num_chunks;
        if opened.is_err() && premature && !selection.filter.wants_all() {
            self.chunks.skip(metadata);
            return Ok(Outcome::Nothing);
        }
        match opened {
            Err(fault) if self.tolerant && is_of_message(&fault) => {
                // The whole entry is one row at the position of its first message.
                let inside = !earlier && selection.range.contains(entry.ledger, entry.entry, 0);
                let payload = || parts.payload.to_vec();
                Ok(if inside { Outcome::Unopened { payload: payload(), fault } } else { Outcome::Nothing })
            }
            opened => opened,
        }
    }

    fn open(&mut self, entry: &Entry, parts: &EntryParts<'_>, range: &Range) -> Result<Outcome> {
        let metadata = &parts.metadata;
        let count = metadata.num_messages_in_batch.unwrap_or(1);
        if count < 1 {
            return Err(KernelError::corrupt(format!("expected a batch of at least 1 message, got {count}")));
        }
        let payload = if metadata.encryption_keys.is_empty() {
            Cow::Borrowed(parts.payload)
        } else {
            match self.keys.decrypt(metadata, parts.payload)? {
                Decrypted::Clear(payload) => Cow::Owned(payload),
                Decrypted::Unknown(keys) => {
                    self.need = Some(Need::DataKeys(keys));
                    return Ok(Outcome::Waiting);
                }
                Decrypted::Undecryptable(why) => return self.undecryptable(entry, parts, range, &why),
            }
        };
        if metadata.num_chunks > 1 {
            return self.chunk(entry, metadata, &payload);
        }
        self.unpack(entry, metadata, payload).map(Outcome::Payload)
    }

    fn unpack(
        &mut self,
        entry: &Entry,
        metadata: &MessageMetadata<'_>,
        payload: Cow<'_, [u8]>,
    ) -> Result<Vec<u8>> {
        match Codec::from_number(metadata.compression)? {
            Codec::None => Ok(payload.into_owned()),
            codec => {
                let spare = std::mem::take(&mut self.spare);
                let limit = self.options.uncompressed_limit(payload.len());
                let size = metadata.uncompressed_size as usize;
                // If the checksum proves that the bytes are not damaged, the producer compressed them wrongly.
                decompress_in(spare, codec, &payload, size, limit).map_err(|error| match error.kind {
                    ErrorKind::Corrupt if entry.is_proven() => KernelError::payload(error.message),
                    _ => error,
                })
            }
        }
    }

    fn chunk(&mut self, entry: &Entry, metadata: &MessageMetadata<'_>, piece: &[u8]) -> Result<Outcome> {
        let at = entry.reference();
        let step = self.chunks.add(metadata, piece, entry.role, at);
        if step.is_err() {
            self.chunks.break_off(metadata);
        }
        match step? {
            // The message becomes a row if its last chunk is in the range.
            ChunkStep::Whole(payload) if entry.role != Role::EarlierChunk => {
                self.unpack(entry, metadata, Cow::Owned(payload)).map(Outcome::Payload)
            }
            ChunkStep::NoMessage | ChunkStep::Whole(_) => Ok(Outcome::Nothing),
            ChunkStep::Missing => {
                self.chunks.wait(metadata, at);
                self.need = Some(Need::Chunks(MissingChunks { at, chunks: metadata.num_chunks }));
                Ok(Outcome::Waiting)
            }
            ChunkStep::Lost => {
                if entry.role != Role::EarlierChunk {
                    self.chunks.report(metadata, at);
                }
                Ok(Outcome::Nothing)
            }
        }
    }

    fn undecryptable(
        &mut self,
        entry: &Entry,
        parts: &EntryParts<'_>,
        range: &Range,
        why: &str,
    ) -> Result<Outcome> {
        let metadata = &parts.metadata;
        if self.options.on_crypto_failure == OnFailure::Fail {
            return Err(undecryptable_error(metadata, why));
        }
        if metadata.num_chunks > 1 {
            self.chunks.break_off(metadata);
        }
        // The whole entry is one row at the position of its first message.
        let in_range = entry.role != Role::EarlierChunk && range.contains(entry.ledger, entry.entry, 0);
        if !in_range {
            return Ok(Outcome::Nothing);
        }
        if self.options.on_crypto_failure == OnFailure::Discard {
            self.discarded += 1;
            return Ok(Outcome::Nothing);
        }
        Ok(Outcome::Undecryptable { payload: parts.payload.to_vec(), context: context_json(metadata)? })
    }
}
