//! From an entry to a payload that can be taken apart: decrypted, put together, decompressed.
//!
//! Some entries need what the kernel does not have: a data key that only the holder of a private key can
//! unwrap, chunks that lie before the range, or the outcome of a transaction. Such an entry waits, everything behind it waits with it, and
//! the decoder yields no batch until its caller has supplied what [`Decoder::wanted_data_keys`],
//! [`Decoder::missing_chunks`] and [`Decoder::wanted_transactions`] name.

use std::borrow::Cow;

use super::Decoder;
use super::chunks::{Chunks, LostMessage, MissingChunks, Step};
use super::kept_rows::is_of_message;
use super::messages::OpenEntry;
use super::transactions::{TransactionId, Transactions};
use crate::compression::{Codec, decompress_in};
use crate::encryption::{Decrypted, Keyring, OnFailure, WrappedKey, context_json, sealed_error};
use crate::entry::{Entry, EntryBatch, EntryParts, Role};
use crate::error::{ErrorKind, KernelError, Result};
use crate::metadata::MessageMetadata;
use crate::select::{Range, Selection};

/// Most bytes of a message that brokers take by default; also, most that are kept for the payload of the next entry.
const USUAL_MAX_MESSAGE: usize = 5 << 20;

/// A payload may unpack to so many times what the broker takes for a message: producers compare with that what they
/// have compressed.
const MAX_RATIO: usize = 16;

/// Options of [`Intake`].
#[derive(Debug, Clone, Copy)]
pub struct IntakeOptions {
    /// Chunked messages to keep chunks of at the same time; 0 is no limit.
    pub max_open_chunked: usize,
    /// What to do with an entry that cannot be decrypted.
    pub on_crypto_failure: OnFailure,
    /// Most bytes that the payload of one entry, or of one chunked message, may unpack to. `None`: 16 times 5 MiB,
    /// the largest message of a broker by default, or 16 times its bytes as stored, where that is more.
    pub max_uncompressed: Option<usize>,
}

impl IntakeOptions {
    /// Most bytes to which so many may unpack.
    fn uncompressed_limit(&self, packed: usize) -> usize {
        self.max_uncompressed.unwrap_or_else(|| packed.max(USUAL_MAX_MESSAGE).saturating_mul(MAX_RATIO))
    }
}

impl Default for IntakeOptions {
    fn default() -> Self {
        Self { max_open_chunked: 10, on_crypto_failure: OnFailure::Fail, max_uncompressed: None }
    }
}

/// Opens entries in order.
pub struct Intake {
    options: IntakeOptions,
    /// Whether an entry that cannot be opened, though its bytes are whole, is a bad row; else an error.
    tolerant: bool,
    keys: Keyring,
    chunks: Chunks,
    pub(super) transactions: Transactions,
    pub(super) need: Option<Need>,
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
pub enum Taken {
    /// Messages to hand out.
    Messages(OpenEntry),
    /// It gives no row.
    Nothing,
    /// It needs something first.
    Waiting(Entry),
}

enum Outcome {
    Payload(Vec<u8>),
    Sealed { payload: Vec<u8>, context: String },
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
    pub fn take(&mut self, mut entry: Entry, wanted: &Selection) -> Result<Taken> {
        if entry.role != Role::Earlier && !wanted.range.touches(entry.ledger, entry.entry, i32::MAX) {
            return Ok(Taken::Nothing);
        }
        // Before a filter too: where its metadata is damaged, nobody knows whether the entry is wanted.
        entry.verify()?;
        let outcome = self.look_at(&entry, wanted).map_err(|e| e.at(entry.reference()))?;
        Ok(match outcome {
            Outcome::Payload(payload) => Taken::Messages(OpenEntry::new(entry, payload)),
            Outcome::Sealed { payload, context } => {
                Taken::Messages(OpenEntry::sealed(entry, payload, context))
            }
            Outcome::Unopened { payload, fault } => {
                Taken::Messages(OpenEntry::unopened(entry, payload, fault))
            }
            Outcome::Nothing => Taken::Nothing,
            Outcome::Waiting => Taken::Waiting(entry),
        })
    }

    fn look_at(&mut self, entry: &Entry, wanted: &Selection) -> Result<Outcome> {
        let parts = entry.parts()?;
        let metadata = &parts.metadata;
        let count = metadata.num_messages_in_batch.unwrap_or(1);
        let earlier = entry.role == Role::Earlier;
        let inside = earlier || wanted.range.touches(entry.ledger, entry.entry, count);
        if metadata.marker_type.is_some() || !inside {
            if entry.unfiltered {
                self.transactions.learn(metadata);
            }
            return Ok(Outcome::Nothing);
        }
        if !earlier && !wanted.filter.may_want(metadata) {
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
        let opened = self.open(entry, &parts, &wanted.range);
        // The message may not be wanted: if its last chunk is, this chunk is looked back for, and fails again.
        let premature = !earlier && metadata.chunk_id + 1 < metadata.num_chunks;
        if opened.is_err() && premature && !wanted.filter.wants_all() {
            self.chunks.skip(metadata);
            return Ok(Outcome::Nothing);
        }
        match opened {
            Err(fault) if self.tolerant && is_of_message(&fault) => {
                // One row for the whole entry, whose place is that of its first message.
                let inside = !earlier && wanted.range.contains(entry.ledger, entry.entry, 0);
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
                Decrypted::Sealed(why) => return self.sealed(entry, parts, range, &why),
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
        let step = self.chunks.add(metadata, piece, entry.role);
        if step.is_err() {
            self.chunks.break_off(metadata);
        }
        match step? {
            // The whole message is a row where its last chunk is wanted.
            Step::Whole(payload) if entry.role != Role::Earlier => {
                self.unpack(entry, metadata, Cow::Owned(payload)).map(Outcome::Payload)
            }
            Step::Kept | Step::Whole(_) => Ok(Outcome::Nothing),
            Step::Missing => {
                self.chunks.wait(metadata, at);
                self.need = Some(Need::Chunks(MissingChunks { at, chunks: metadata.num_chunks }));
                Ok(Outcome::Waiting)
            }
            Step::Lost => {
                if entry.role != Role::Earlier {
                    self.chunks.report(metadata, at);
                }
                Ok(Outcome::Nothing)
            }
        }
    }

    fn sealed(&mut self, entry: &Entry, parts: &EntryParts<'_>, range: &Range, why: &str) -> Result<Outcome> {
        let metadata = &parts.metadata;
        if self.options.on_crypto_failure == OnFailure::Fail {
            return Err(sealed_error(metadata, why));
        }
        if metadata.num_chunks > 1 {
            self.chunks.break_off(metadata);
        }
        // One row for the whole entry, whose place is that of its first message.
        let wanted = entry.role != Role::Earlier && range.contains(entry.ledger, entry.entry, 0);
        if !wanted {
            return Ok(Outcome::Nothing);
        }
        if self.options.on_crypto_failure == OnFailure::Discard {
            self.discarded += 1;
            return Ok(Outcome::Nothing);
        }
        Ok(Outcome::Sealed { payload: parts.payload.to_vec(), context: context_json(metadata)? })
    }
}

impl Decoder {
    /// The wrapped data keys of the waiting entry: each must be given to `add_data_key` or
    /// `refuse_data_key`; one that is added is enough.
    pub fn wanted_data_keys(&self) -> &[WrappedKey] {
        match &self.intake.need {
            Some(Need::DataKeys(keys)) => keys,
            _ => &[],
        }
    }

    /// Make a data key known.
    pub fn add_data_key(&mut self, wrapped: &[u8], key: &[u8]) {
        self.intake.keys.add(wrapped, key);
        self.keys_changed();
    }

    /// Say why a data key cannot be unwrapped; errors repeat it.
    pub fn refuse_data_key(&mut self, wrapped: &[u8], why: &str) {
        self.intake.keys.refuse(wrapped, why);
        self.keys_changed();
    }

    fn keys_changed(&mut self) {
        if matches!(self.intake.need, Some(Need::DataKeys(_))) {
            self.intake.need = None;
        }
    }

    /// The message whose earlier chunks must be looked for with `look_back`.
    pub fn missing_chunks(&self) -> Option<&MissingChunks> {
        match &self.intake.need {
            Some(Need::Chunks(missing)) => Some(missing),
            _ => None,
        }
    }

    /// Search `entries`, which lie in order before the waiting message, for its chunks; `anew` begins a
    /// search that reaches further back. True when its first chunk was found.
    pub fn look_back(&mut self, entries: &mut EntryBatch, anew: bool) -> Result<bool> {
        self.intake.chunks.look_back(entries, anew)
    }

    /// Go on with what was found.
    pub fn end_look_back(&mut self) {
        if !matches!(self.intake.need, Some(Need::Chunks(_))) {
            return;
        }
        self.intake.need = None;
        if let Some(waiting) = self.queue.front_mut() {
            waiting.role = Role::LookedBack;
        }
        for found in self.intake.chunks.end_look_back().into_iter().rev() {
            self.queue.push_front(found);
        }
    }

    /// Chunked messages of the range that will never be whole, since the last call.
    pub fn take_lost(&mut self) -> Vec<LostMessage> {
        self.intake.chunks.take_lost()
    }

    /// Entries of the range that were discarded because they cannot be decrypted.
    pub fn discarded(&self) -> u64 {
        self.intake.discarded
    }
}
