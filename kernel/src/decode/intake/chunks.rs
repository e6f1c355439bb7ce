//! The assembly of messages from chunks, which are the parts of messages that were too large for one entry.
//!
//! A producer compresses the whole message, cuts it, and sends each piece as an entry with the same `uuid`.
//! Chunks of several producers may alternate. The position of the message is the position of its last chunk.
//! After this chunk, the message becomes a row, or waits.
//!
//! # States of a message
//!
//! Producer and `uuid` together identify a message. `next` is the index of the message's first chunk that was
//! not read yet. The state of the message determines the effect of a chunk:
//!
//! * Any state, chunk 0: the message is open from now on, and contains only this chunk.
//! * Unknown, any other chunk: the chunk is ignored, unless it is the message's last chunk (see below).
//! * Open, a chunk before `next`: the chunk is ignored.
//! * Open, the chunk `next`: the chunk is added. After the last chunk, the message is complete, and its state
//!   is done.
//! * Open, a chunk after `next`: the state becomes broken. If the chunk is the message's last chunk, the
//!   message is lost.
//! * Done, any other chunk: the chunk is ignored.
//! * Broken, any other chunk: the chunk is ignored. If it is the message's last chunk, the message is lost.
//!
//! As in Pulsar's own clients, chunk 0 always starts the message again, and a repeated chunk is ignored.
//! After a gap, the message can never be complete.
//!
//! # The search for earlier chunks
//!
//! If the last chunk of an unknown message is read, the message's earlier chunks are not in memory. There are
//! three causes: the chunks are before the range, the filter skipped them, or other messages replaced them
//! (`max_open`). So the message is not lost, but waits until the reader has searched for the chunks
//! ([`ChunkStep::Missing`]).
//!
//! The reader passes several batches of earlier entries to the search, and each batch begins further back.
//! [`Chunks::look_back`] collects the chunks of the waiting message, from the latest chunk 0 on. Then these
//! chunks enter the queue as [`Role::EarlierChunk`], and after them the waiting chunk as
//! [`Role::AfterLookBack`]. If chunks are missing even then, the message is lost.
//!
//! # Memory
//!
//! At most `max_open` messages are open; a further message replaces the oldest open message. For done and
//! broken messages, only the name and the state are in memory, for at most `MAX_ENDED` messages.

use std::collections::HashMap;

use crate::entry::{Entry, EntryBatch, Role};
use crate::error::{KernelError, MessageRef, Result};
use crate::metadata::MessageMetadata;

/// Maximum number of done and broken messages in memory. When this number is exceeded, all of these messages
/// are removed.
///
/// A later chunk of a removed message may then cause a search for its earlier chunks.
const MAX_ENDED: usize = 10_000;
/// Maximum number of bytes of a chunked message, because Java's clients store the number in 32 bits.
const MAX_TOTAL: u64 = i32::MAX as u64;

/// A chunked message that cannot be assembled.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LostMessage {
    /// Position of the message's last chunk.
    pub at: MessageRef,
    /// The field `uuid`, which the producer chose for the message.
    pub uuid: String,
    /// Total number of the message's chunks.
    pub chunks: u64,
    /// True if the first chunk exists. Then a later chunk is missing, and the topic never contained the
    /// complete message.
    pub has_first: bool,
}

/// The last chunk of a message whose earlier chunks are not in memory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MissingChunks {
    /// Position of the message's last chunk.
    pub at: MessageRef,
    /// Total number of the message's chunks.
    pub chunks: u64,
}

/// The state of a chunked message of the range.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChunkedMessage {
    /// Id of the message, unique in its topic partition.
    pub id: Vec<u8>,
    /// Position of the first chunk while the message is open, because more chunks follow; `None` for a done
    /// or broken message.
    pub open_since: Option<MessageRef>,
}

/// The result of adding a chunk.
pub enum ChunkStep {
    /// The message is not complete yet, or an earlier chunk completed it.
    NoMessage,
    /// The payload of the complete message, still compressed.
    Whole(Vec<u8>),
    /// The earlier chunks are not in memory, so the caller must search for them.
    Missing,
    /// The message can never be complete.
    Lost,
}

enum ChunkedState {
    /// Chunks from 0 on were read, without a gap.
    Open { bytes: Vec<u8>, next: u64, chunks: u64, age: u64, first: MessageRef },
    /// The last chunk was read, without a gap.
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

/// The chunked messages of one topic partition that are in memory.
pub struct Chunks {
    states: HashMap<Vec<u8>, ChunkedState>,
    open: usize,
    max_open: usize,
    age: u64,
    search: Option<Search>,
    lost: Vec<LostMessage>,
}

/// Returns the id of a message, which consists of producer and `uuid`.
fn id_of(metadata: &MessageMetadata<'_>) -> Vec<u8> {
    [metadata.producer_name, b"\0", metadata.uuid].concat()
}

impl Chunks {
    /// Creates an empty store for at most `max_open` open messages; 0 is no limit.
    pub fn new(max_open: usize) -> Self {
        Self { states: HashMap::new(), open: 0, max_open, age: 0, search: None, lost: Vec::new() }
    }

    /// Returns all messages in memory, in any order.
    pub fn messages(&self) -> Vec<ChunkedMessage> {
        let since = |state: &ChunkedState| match state {
            ChunkedState::Open { first, .. } => Some(*first),
            ChunkedState::Done | ChunkedState::Broken => None,
        };
        let messages = self.states.iter();
        messages.map(|(id, state)| ChunkedMessage { id: id.clone(), open_since: since(state) }).collect()
    }

    /// Adds the chunk at the position `at`; `piece` is its decrypted payload.
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
                        "expected a message of {chunks} chunks, as its first chunk states, got {} chunks",
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

    /// Marks a message as broken, because one of its chunks is unusable.
    pub fn break_off(&mut self, metadata: &MessageMetadata<'_>) {
        self.end(id_of(metadata), ChunkedState::Broken);
    }

    /// Removes the chunks of a message. If the filter accepts the message's last chunk later, a search finds
    /// the removed chunks again.
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

    /// Starts the search for the chunks before `at`, which is the last chunk of its message.
    pub fn wait(&mut self, metadata: &MessageMetadata<'_>, at: MessageRef) {
        self.search = Some(Search { id: id_of(metadata), before: at, has_first: false, chunks: Vec::new() });
    }

    /// Collects the chunks of the waiting message from `entries`, which must be earlier entries, in order.
    ///
    /// If `restart` is set, the chunks that an earlier call found are removed first. Returns true if the
    /// first chunk was found.
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

    /// Ends the search, and returns the chunks that were found.
    pub fn end_look_back(&mut self) -> Vec<Entry> {
        self.search.take().map_or_else(Vec::new, |search| search.chunks)
    }

    /// Records a message that can never be complete.
    pub fn report(&mut self, metadata: &MessageMetadata<'_>, at: MessageRef) {
        self.lost.push(LostMessage {
            at,
            uuid: String::from_utf8_lossy(metadata.uuid).into_owned(),
            chunks: metadata.num_chunks,
            has_first: self.states.contains_key(&id_of(metadata)),
        });
    }

    /// Returns the messages that were reported since the last call.
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
            // Damage of an entry outside the range is harmless unless the entry is a chunk of the message.
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
        "expected a chunk or a batch, got an entry that claims to be both".to_owned()
    } else if metadata.uuid.is_empty() {
        "expected a chunk with the uuid of its message, got none".to_owned()
    } else if metadata.chunk_id >= metadata.num_chunks {
        format!("expected a chunk id below {}, got {}", metadata.num_chunks, metadata.chunk_id)
    } else if metadata.total_chunk_size > MAX_TOTAL {
        let size = metadata.total_chunk_size;
        format!("expected a chunked message of at most {MAX_TOTAL} bytes, got {size} bytes")
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
    format!("expected chunks with {} bytes in total, got at least {got} bytes", metadata.total_chunk_size)
}
