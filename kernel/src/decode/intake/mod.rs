//! From an entry to a payload whose messages can be taken out: visible, decrypted, put together, decompressed.
//!
//! # What an entry goes through
//!
//! [`Intake::take`] asks these questions in this order, and the first that says no ends it:
//!
//! | question                                        | if not                                                     |
//! |-------------------------------------------------|------------------------------------------------------------|
//! | Does it touch the range?                        | no row; not even its checksum is verified                  |
//! | Does its checksum fit, and its metadata parse?  | an error, always: the bytes are damaged                    |
//! | Is it a message, and no marker?                 | no row; an abort marker of an unfiltered entry is learnt   |
//! | May the filter want it?                         | no row; a chunk of it is let go                            |
//! | Is its transaction known? *                     | it waits for [`Need::Transactions`]                        |
//! | Is its transaction not aborted? *               | no row                                                     |
//! | Is a data key known that decrypts it?           | it waits for [`Need::DataKeys`]; if each was refused:      |
//! |                                                 | error, no row or one encrypted row, as the option says     |
//! | Is it whole, or the last chunk of its message?  | no row; the chunk is remembered (`chunks`)                 |
//! | Are the chunks before it remembered?            | it waits for [`Need::Chunks`]                              |
//! | Does it decompress?                             | an error, or a bad row                                     |
//!
//! \* Only for entries from storage (`unfiltered`): brokers do not send messages of aborted transactions.
//!
//! # Waiting
//!
//! Three things the kernel does not have: a data key that only the holder of a private key can unwrap, chunks that
//! lie before the range, and the outcome of a transaction. Then the entry goes back to the front of the queue,
//! [`Intake::need`](Intake) says what it needs, and [`Decoder::next_batch`](super::Decoder::next_batch) returns `None`,
//! also when it flushes. The caller asks `needed_data_keys`, `missing_chunks` and `undecided_transactions`, supplies what
//! they name (`supply`), and calls again; the same entry then starts with the first question. At most one of the three is
//! set.
//!
//! Why this is right:
//! * *Order.* Rows come out in the order of entries. So everything behind a waiting entry waits as well, and one place
//!   for one need is enough.
//! * *Starting over does no harm.* Until an entry is opened, the questions change nothing that a second pass would see
//!   otherwise: verifying, learning an abort marker and letting a chunk go are idempotent, and
//!   [`Chunks::add`](chunks::Chunks::add) changes nothing when it answers that chunks are missing.
//! * *It ends.* Each need is met once. Every wrapped key is either added or refused, and an entry has fewer keys than the
//!   keyring holds. After a look back the entry has [`Role::AfterLookBack`]: what is missing now is lost. The outcome of
//!   a transaction, once told, stays for the range; who cannot tell it calls `give_up_transactions`, which drops the
//!   queue, and another source goes on there.
//! * *Nobody waits for what is not wanted.* Range, filter and transaction come before keys and chunks.
//! * *Decrypt, put together, decompress* is the reverse of the producer's order: it compresses the whole message, cuts it,
//!   and encrypts each chunk.
//!
//! The chunks that a look back found are put before the waiting entry, as [`Role::EarlierChunk`]: they go through the
//! same questions but for range and filter, and give no row. A failed chunk of a message that the filter may not want is
//! let go: if the last chunk is wanted, it looks back, and meets the failure again.

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

/// Opens entries in order.
pub struct Intake {
    options: IntakeOptions,
    /// Whether an entry that cannot be opened, though its bytes are whole, is a bad row; else an error.
    tolerant: bool,
    keys: Keyring,
    chunks: Chunks,
    transactions: Transactions,
    need: Option<Need>,
    discarded: u64,
    /// Memory of a payload that was used up.
    spare: Vec<u8>,
}

/// What an entry waits for.
pub enum Need {
    DataKeys(Vec<WrappedKey>),
    Chunks(MissingChunks),
    /// Whether each was aborted.
    Transactions(Vec<TransactionId>),
}

/// What became of an entry.
pub enum Opened {
    /// Messages to hand out.
    Messages(OpenEntry),
    /// It gives no row.
    Nothing,
    /// It needs something first.
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
    /// Without keys and chunks. `tolerant`: an entry that cannot be opened, though its bytes are whole, is a bad row,
    /// and no error.
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

    /// Forget all keys, chunks and transactions, since the range of another reader comes.
    pub fn rewind(&mut self) {
        *self = Self::new(self.options, self.tolerant);
    }

    /// Take back the memory of an entry that is used up.
    pub fn recycle(&mut self, open: OpenEntry) {
        let spare = open.into_payload();
        if spare.len() <= USUAL_MAX_MESSAGE {
            self.spare = spare;
        }
    }

    /// Whether an entry waits.
    pub fn is_waiting(&self) -> bool {
        self.need.is_some()
    }

    /// Open an entry. One outside the range is not even verified.
    pub fn take(&mut self, mut entry: Entry, selection: &Selection) -> Result<Opened> {
        if entry.role != Role::EarlierChunk && !selection.range.touches(entry.ledger, entry.entry, i32::MAX) {
            return Ok(Opened::Nothing);
        }
        // Before a filter too: where its metadata is damaged, nobody knows whether the entry is wanted.
        entry.verify()?;
        let outcome = self.examine(&entry, selection).map_err(|e| e.at(entry.reference()))?;
        Ok(match outcome {
            Outcome::Payload(payload) => Opened::Messages(OpenEntry::new(entry, payload)),
            Outcome::Undecryptable { payload, context } => {
                Opened::Messages(OpenEntry::undecryptable(entry, payload, context))
            }
            Outcome::Unopened { payload, fault } => {
                Opened::Messages(OpenEntry::unopened(entry, payload, fault))
            }
            Outcome::Nothing => Opened::Nothing,
            Outcome::Waiting => Opened::Waiting(entry),
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
        match self.transactions.hides(metadata) {
            Err(id) if entry.unfiltered => {
                self.need = Some(Need::Transactions(vec![id]));
                return Ok(Outcome::Waiting);
            }
            Ok(true) if entry.unfiltered => return Ok(Outcome::Nothing),
            _ => {}
        }
        let opened = self.open(entry, &parts, &selection.range);
        // The message may not be wanted: if its last chunk is, this chunk is looked back for, and fails again.
        let premature = !earlier && metadata.chunk_id + 1 < metadata.num_chunks;
        if opened.is_err() && premature && !selection.filter.wants_all() {
            self.chunks.skip(metadata);
            return Ok(Outcome::Nothing);
        }
        match opened {
            Err(fault) if self.tolerant && is_of_message(&fault) => {
                // One row for the whole entry, whose place is that of its first message.
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
            return Err(KernelError::corrupt(format!("a batch of {count} messages")));
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
                // Bytes that are as their producer sent them are not damaged: it compressed them wrongly.
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
            // The whole message is a row where its last chunk is wanted.
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
        // One row for the whole entry, whose place is that of its first message.
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
