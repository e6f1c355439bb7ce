//! Messages that were too large for one entry, put together from their chunks.
//!
//! A producer compresses the whole message, cuts it, and sends each piece as an entry with the same `uuid`; chunks of
//! several producers lie between each other. The message lies where its last chunk lies: there it is a row, or waits.
//!
//! What is remembered of a message (producer and `uuid` together name it), and what the next chunk of it does, `next`
//! being the first chunk that has not been there:
//!
//! | state   | chunk 0      | chunk before `next` | chunk `next`                     | chunk behind `next`              |
//! |---------|--------------|---------------------|----------------------------------|----------------------------------|
//! | unknown | becomes open | -                   | -                                | ignored; if it is the last, below|
//! | open    | begins anew  | ignored             | added; the last: whole, now done | now broken; the last: lost       |
//! | done    | begins anew  | ignored             | ignored                          | ignored                          |
//! | broken  | begins anew  | ignored             | ignored; the last: lost          | ignored; the last: lost          |
//!
//! As in Pulsar's own clients, chunk 0 always begins anew, a chunk that was already there is ignored, and a gap ends the
//! message: it will never be whole.
//!
//! A last chunk of an unknown message says that the chunks before it are not remembered: they lie before the range, were
//! let go by the filter, or gave way to others (`max_open`). That is no loss: it waits until the reader has looked back
//! for them ([`ChunkStep::Missing`]). Who looks back brings runs of entries that reach further and further back;
//! [`Chunks::look_back`] keeps the chunks of this message from the last chunk 0 on. Then they come in again as
//! [`Role::EarlierChunk`], and the waiting one as [`Role::AfterLookBack`]: if the message is still unknown, it is lost.
//!
//! Memory: at most `max_open` messages are open, the oldest is forgotten for more; of messages that ended only the name
//! and the end are remembered, at most `MAX_ENDED` of them.

use std::collections::HashMap;

use crate::entry::{Entry, EntryBatch, Role};
use crate::error::{KernelError, MessageRef, Result};
use crate::metadata::MessageMetadata;

/// Messages of which only the end is remembered; above it they are forgotten and would be looked back for.
const MAX_ENDED: usize = 10_000;
/// Java's clients count bytes of a chunked message in 32 bits.
const MAX_TOTAL: u64 = i32::MAX as u64;

/// A chunked message that cannot be put together.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LostMessage {
    /// Its last chunk.
    pub at: MessageRef,
    /// What its producer called it.
    pub uuid: String,
    /// Chunks that the message has.
    pub chunks: u64,
    /// Whether its first chunk is there: then a chunk between is missing, and the message never was whole.
    pub has_first: bool,
}

/// The last chunk of a message whose earlier chunks are not remembered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MissingChunks {
    /// Where the last chunk lies.
    pub at: MessageRef,
    /// Chunks that the message has.
    pub chunks: u64,
}

/// What is known of a chunked message of the range.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChunkedMessage {
    /// Names it, within its topic partition.
    pub id: Vec<u8>,
    /// Where its first chunk lies, if it is open: chunks are still to come. `None`: it has ended.
    pub open_since: Option<MessageRef>,
}

/// What a chunk led to.
pub enum ChunkStep {
    /// The message is not complete, or was already.
    NoMessage,
    /// The payload of the message, still compressed.
    Whole(Vec<u8>),
    /// Earlier chunks must be looked for.
    Missing,
    /// The message will never be whole.
    Lost,
}

enum ChunkedState {
    /// Chunks from 0 on, without a gap.
    Open { bytes: Vec<u8>, next: u64, chunks: u64, age: u64, first: MessageRef },
    /// All chunks have been there.
    Done,
    /// A chunk was missing.
    Broken,
}

struct Search {
    id: Vec<u8>,
    before: MessageRef,
    has_first: bool,
    chunks: Vec<Entry>,
}

/// All chunked messages of one topic partition that are on their way.
pub struct Chunks {
    states: HashMap<Vec<u8>, ChunkedState>,
    open: usize,
    max_open: usize,
    age: u64,
    search: Option<Search>,
    lost: Vec<LostMessage>,
}

/// Producer and `uuid`, which together name a message.
fn id_of(metadata: &MessageMetadata<'_>) -> Vec<u8> {
    [metadata.producer_name, b"\0", metadata.uuid].concat()
}

impl Chunks {
    /// `max_open`: messages to keep chunks of at the same time; 0 is no limit.
    pub fn new(max_open: usize) -> Self {
        Self { states: HashMap::new(), open: 0, max_open, age: 0, search: None, lost: Vec::new() }
    }

    /// All that is remembered, in no order.
    pub fn messages(&self) -> Vec<ChunkedMessage> {
        let since = |state: &ChunkedState| match state {
            ChunkedState::Open { first, .. } => Some(*first),
            ChunkedState::Done | ChunkedState::Broken => None,
        };
        let messages = self.states.iter();
        messages.map(|(id, state)| ChunkedMessage { id: id.clone(), open_since: since(state) }).collect()
    }

    /// Add the chunk with this metadata, which lies at `at`; `piece` is its payload, decrypted.
    pub fn add(
        &mut self,
        metadata: &MessageMetadata<'_>,
        piece: &[u8],
        role: Role,
        at: MessageRef,
    ) -> Result<ChunkStep> {
        check(metadata, piece)?;
        let id = id_of(metadata);
        let last = metadata.chunk_id + 1 == metadata.num_chunks;
        if metadata.chunk_id == 0 {
            self.begin(id, metadata, piece, at);
            return Ok(ChunkStep::NoMessage);
        }
        let (step, now) = match self.states.get_mut(&id) {
            Some(ChunkedState::Open { bytes, next, chunks, .. }) => {
                if *chunks != metadata.num_chunks {
                    return Err(KernelError::payload(format!(
                        "a chunk of {} where the first chunk of its message says {chunks}",
                        metadata.num_chunks
                    )));
                }
                if metadata.chunk_id < *next {
                    return Ok(ChunkStep::NoMessage);
                }
                if metadata.chunk_id > *next {
                    (if last { ChunkStep::Lost } else { ChunkStep::NoMessage }, ChunkedState::Broken)
                } else {
                    append(bytes, metadata, piece)?;
                    *next += 1;
                    if !last {
                        return Ok(ChunkStep::NoMessage);
                    }
                    (ChunkStep::Whole(std::mem::take(bytes)), ChunkedState::Done)
                }
            }
            Some(ChunkedState::Done) => return Ok(ChunkStep::NoMessage),
            Some(ChunkedState::Broken) => {
                return Ok(if last { ChunkStep::Lost } else { ChunkStep::NoMessage });
            }
            None if !last => return Ok(ChunkStep::NoMessage),
            None if role == Role::InRange => return Ok(ChunkStep::Missing),
            None => return Ok(ChunkStep::Lost),
        };
        self.end(id, now);
        Ok(step)
    }

    /// A chunk of the message cannot be had.
    pub fn break_off(&mut self, metadata: &MessageMetadata<'_>) {
        self.end(id_of(metadata), ChunkedState::Broken);
    }

    /// Let the chunks of a message go; its last chunk, if it is wanted, waits until they were looked back for.
    pub fn skip(&mut self, metadata: &MessageMetadata<'_>) {
        if metadata.num_chunks > 1 {
            self.forget(&id_of(metadata));
        }
    }

    fn begin(&mut self, id: Vec<u8>, metadata: &MessageMetadata<'_>, piece: &[u8], first: MessageRef) {
        self.forget(&id);
        if self.max_open > 0 && self.open >= self.max_open {
            self.forget_oldest();
        }
        self.age += 1;
        let (bytes, chunks) = (piece.to_vec(), metadata.num_chunks);
        let state = ChunkedState::Open { bytes, next: 1, chunks, age: self.age, first };
        self.states.insert(id, state);
        self.open += 1;
    }

    fn end(&mut self, id: Vec<u8>, state: ChunkedState) {
        self.forget(&id);
        if self.states.len() - self.open >= MAX_ENDED {
            self.states.retain(|_, state| matches!(state, ChunkedState::Open { .. }));
        }
        self.states.insert(id, state);
    }

    fn forget(&mut self, id: &[u8]) {
        if let Some(ChunkedState::Open { .. }) = self.states.remove(id) {
            self.open -= 1;
        }
    }

    fn forget_oldest(&mut self) {
        let ages = self.states.iter().filter_map(|(id, state)| match state {
            ChunkedState::Open { age, .. } => Some((*age, id)),
            _ => None,
        });
        if let Some(id) = ages.min().map(|(_, id)| id.clone()) {
            self.forget(&id);
        }
    }

    /// Wait for the chunks before `at`, the last of its message.
    pub fn wait(&mut self, metadata: &MessageMetadata<'_>, at: MessageRef) {
        self.search = Some(Search { id: id_of(metadata), before: at, has_first: false, chunks: Vec::new() });
    }

    /// Keep what the waiting message needs of `entries`, which lie before it, in order; `restart` forgets what
    /// was kept so far. True when the first chunk is among what is kept.
    pub fn look_back(&mut self, entries: &mut EntryBatch, restart: bool) -> Result<bool> {
        let Some(search) = &mut self.search else {
            entries.take();
            return Ok(false);
        };
        if restart {
            search.chunks.clear();
            search.has_first = false;
        }
        for entry in entries.take() {
            search.offer(entry)?;
        }
        Ok(search.has_first)
    }

    /// The chunks that were found, once the reader has looked back as far as it can.
    pub fn end_look_back(&mut self) -> Vec<Entry> {
        self.search.take().map_or_else(Vec::new, |search| search.chunks)
    }

    /// Remember a message that will never be whole.
    pub fn report(&mut self, metadata: &MessageMetadata<'_>, at: MessageRef) {
        self.lost.push(LostMessage {
            at,
            uuid: String::from_utf8_lossy(metadata.uuid).into_owned(),
            chunks: metadata.num_chunks,
            has_first: self.states.contains_key(&id_of(metadata)),
        });
    }

    /// What was reported since the last call.
    pub fn take_lost(&mut self) -> Vec<LostMessage> {
        std::mem::take(&mut self.lost)
    }
}

impl Search {
    fn offer(&mut self, mut entry: Entry) -> Result<()> {
        if (entry.ledger, entry.entry) >= (self.before.ledger, self.before.entry) {
            return Ok(());
        }
        let (matches, first) = match entry.parts() {
            Ok(parts) => {
                let metadata = &parts.metadata;
                let chunk = metadata.num_chunks > 1 && metadata.marker_type.is_none();
                (chunk && id_of(metadata) == self.id, metadata.chunk_id == 0)
            }
            // Outside the range, only what belongs to the message matters.
            Err(_) => (false, false),
        };
        if !matches || !(first || self.has_first) {
            return Ok(());
        }
        entry.verify()?;
        if first {
            self.chunks.clear();
            self.has_first = true;
        }
        entry.role = Role::EarlierChunk;
        self.chunks.push(entry);
        Ok(())
    }
}

fn check(metadata: &MessageMetadata<'_>, piece: &[u8]) -> Result<()> {
    let why = if metadata.num_messages_in_batch.is_some() {
        "a chunk that says it is a batch as well".to_owned()
    } else if metadata.uuid.is_empty() {
        "a chunk without the uuid of its message".to_owned()
    } else if metadata.chunk_id >= metadata.num_chunks {
        format!("chunk {} of a message of {} chunks", metadata.chunk_id, metadata.num_chunks)
    } else if metadata.total_chunk_size > MAX_TOTAL {
        format!("a chunked message of {} bytes; the limit is {MAX_TOTAL}", metadata.total_chunk_size)
    } else if piece.len() as u64 > metadata.total_chunk_size {
        too_long(metadata, piece.len())
    } else {
        return Ok(());
    };
    Err(KernelError::payload(why))
}

fn append(bytes: &mut Vec<u8>, metadata: &MessageMetadata<'_>, piece: &[u8]) -> Result<()> {
    let length = bytes.len().saturating_add(piece.len());
    if length as u64 > metadata.total_chunk_size {
        return Err(KernelError::payload(too_long(metadata, length)));
    }
    bytes.extend_from_slice(piece);
    Ok(())
}

fn too_long(metadata: &MessageMetadata<'_>, got: usize) -> String {
    format!("{got} bytes in chunks of a message of {} bytes", metadata.total_chunk_size)
}
