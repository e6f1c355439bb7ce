//! The entries of one run of a ledger, from any number of bookies, in order.

use std::collections::{BTreeMap, HashMap};

use crate::bookie::digest::Digest;
use crate::bookie::protocol::{OK, Response, parse, put_batch_read, put_read, split_body};
use crate::entry::{Entry, EntryBatch};
use crate::error::{KernelError, Result};
use crate::wire::split_u32;

/// The code of an answer whose entry is damaged, or is another one; bookies do not know this code.
pub const DAMAGED: i32 = -1;

/// An answer that is not just an entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Answer {
    /// Of a BATCH_READ; each of them is told, also when it went well.
    pub request_id: Option<i64>,
    /// Entry asked for; of a BATCH_READ the first.
    pub entry: i64,
    /// What the bookie said about it, or [`DAMAGED`].
    pub code: i32,
    /// Good entries in the answer to a BATCH_READ; with [`DAMAGED`], those before the damaged one.
    pub count: u32,
}

/// Puts the entries from `next` to `last` in order.
#[derive(Debug)]
pub struct LedgerFrames {
    ledger: i64,
    next: i64,
    last: i64,
    digest: Digest,
    max_frame_bytes: usize,
    /// The beginning of a frame, for each connection.
    pending: HashMap<u32, Vec<u8>>,
    /// Entries that are here and were not taken.
    here: BTreeMap<i64, Vec<u8>>,
    here_bytes: usize,
}

impl LedgerFrames {
    /// For the entries `first` to `last`, both inclusive. Frames above `max_frame_bytes` are refused.
    pub fn new(ledger: i64, first: i64, last: i64, digest: Digest, max_frame_bytes: usize) -> Self {
        let (pending, here) = (HashMap::new(), BTreeMap::new());
        Self { ledger, next: first, last, digest, max_frame_bytes, pending, here, here_bytes: 0 }
    }

    /// The first entry that was not taken; behind `last` when all were.
    pub fn next(&self) -> i64 {
        self.next
    }

    /// Bytes that wait inside: entries, and beginnings of frames.
    pub fn buffered_bytes(&self) -> usize {
        self.pending.values().map(Vec::len).fold(self.here_bytes, usize::saturating_add)
    }

    /// Those of the entries `first`, `first + step`, ... below `stop` that are not here yet.
    fn missing_entries(&self, first: i64, stop: i64, step: usize) -> impl Iterator<Item = i64> + '_ {
        let stop = stop.min(self.last.saturating_add(1));
        let (next, here) = (self.next, &self.here);
        (first..stop).step_by(step.max(1)).filter(move |id| *id >= next && !here.contains_key(id))
    }

    /// How many of the entries `first`, `first + step`, ... below `stop` are not here yet.
    pub fn missing(&self, first: i64, stop: i64, step: usize) -> usize {
        self.missing_entries(first, stop, step).count()
    }

    /// A READ_ENTRY request for each of them.
    pub fn read_requests(&self, first: i64, stop: i64, step: usize) -> Vec<u8> {
        let mut out = Vec::new();
        for entry in self.missing_entries(first, stop, step) {
            put_read(&mut out, self.ledger, entry);
        }
        out
    }

    /// One BATCH_READ request for the entries from `first` on, up to `last`.
    pub fn batch_request(&self, first: i64, stop: i64, request_id: i64, max_bytes: i64) -> Vec<u8> {
        let count = stop.min(self.last.saturating_add(1)).saturating_sub(first);
        let count = i32::try_from(count.max(1)).unwrap_or(i32::MAX);
        let mut out = Vec::new();
        put_batch_read(&mut out, self.ledger, first, request_id, count, max_bytes);
        out
    }

    /// Take what the socket of this connection gave. An error leaves the connection of no use: `forget` it.
    pub fn feed(&mut self, connection: u32, data: &[u8]) -> Result<Vec<Answer>> {
        let mut answers = Vec::new();
        let mut pending = self.pending.remove(&connection).unwrap_or_default();
        let rest = if pending.is_empty() {
            let used = self.split(data, &mut answers)?;
            data.get(used..).unwrap_or_default().to_vec()
        } else {
            pending.extend_from_slice(data);
            let used = self.split(&pending, &mut answers)?;
            pending.drain(..used);
            pending
        };
        if !rest.is_empty() {
            self.pending.insert(connection, rest);
        }
        Ok(answers)
    }

    /// The connection is gone: drop the beginning of the frame that it left.
    pub fn forget(&mut self, connection: u32) {
        self.pending.remove(&connection);
    }

    /// The entries from `next` on, as far as they are here without a gap.
    pub fn take(&mut self) -> Option<EntryBatch> {
        let mut taken = EntryBatch::default();
        while let Some(data) = self.here.remove(&self.next) {
            self.here_bytes = self.here_bytes.saturating_sub(data.len());
            taken.push(Entry::new(self.ledger, self.next, data));
            self.next = self.next.saturating_add(1);
        }
        (!taken.entries.is_empty()).then_some(taken)
    }

    /// Handle all complete frames of `data`; returns how many bytes they took.
    fn split(&mut self, data: &[u8], answers: &mut Vec<Answer>) -> Result<usize> {
        let mut rest = data;
        while let Some((length, after)) = split_u32(rest) {
            let length = length as usize;
            if length > self.max_frame_bytes {
                return Err(KernelError::corrupt(format!(
                    "an answer of {length} bytes, above the limit of {}: not a bookie, or a lost byte",
                    self.max_frame_bytes
                )));
            }
            let Some((frame, after)) = after.split_at_checked(length) else { break };
            let response = parse(frame)?;
            if response.ledger != self.ledger {
                return Err(KernelError::corrupt(format!(
                    "an answer about ledger {} where ledger {} was asked for",
                    response.ledger, self.ledger
                )));
            }
            answers.extend(self.handle(&response)?);
            rest = after;
        }
        Ok(data.len() - rest.len())
    }

    fn handle(&mut self, response: &Response<'_>) -> Result<Option<Answer>> {
        let Response { request_id, entry, code, .. } = *response;
        if code != OK || request_id.is_some() {
            let (code, count) = if code == OK { self.keep_all(response)? } else { (code, 0) };
            return Ok(Some(Answer { request_id, entry, code, count }));
        }
        let kept = self.keep(entry, response.rest)?;
        Ok((!kept).then_some(Answer { request_id, entry, code: DAMAGED, count: 0 }))
    }

    /// Keep the entries of a BATCH_READ up to the first that is damaged.
    fn keep_all(&mut self, response: &Response<'_>) -> Result<(i32, u32)> {
        let (mut rest, mut count) = (response.rest, 0u32);
        while !rest.is_empty() {
            let Some((body, after)) = split_body(rest) else {
                return Err(KernelError::corrupt("an entry that is longer than the answer it is in"));
            };
            if !self.keep(response.entry.saturating_add(i64::from(count)), body)? {
                return Ok((DAMAGED, count));
            }
            count += 1;
            rest = after;
        }
        // An answer without entries would be asked for again without end.
        Ok((if count == 0 { DAMAGED } else { OK }, count))
    }

    /// False when it is damaged. What was already there is dropped.
    fn keep(&mut self, entry: i64, body: &[u8]) -> Result<bool> {
        let Some(data) = self.digest.verified(body, self.ledger, entry) else {
            return Ok(false);
        };
        if entry > self.last {
            return Err(KernelError::corrupt(format!(
                "entry {entry} of ledger {} where at most {} was asked for",
                self.ledger, self.last
            )));
        }
        if entry >= self.next && !self.here.contains_key(&entry) {
            self.here_bytes = self.here_bytes.saturating_add(data.len());
            self.here.insert(entry, data.to_vec());
        }
        Ok(true)
    }
}
