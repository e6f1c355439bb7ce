//! The entries `first` to `last` of one ledger, from any number of bookies, in order.
//!
//! [`LedgerFrames`] knows no socket and no bookie. It makes requests, takes what the sockets give, and hands out entries
//! from [`next`](LedgerFrames::next) on without a gap. Which bookie is asked, and when again, is its caller's decision.
//!
//! # An entry
//!
//! | state    | it is                                                        | leaves it by                            |
//! |----------|--------------------------------------------------------------|-----------------------------------------|
//! | missing  | at `next` or behind it, and not received                     | an answer whose digest fits             |
//! | received | verified and copied, perhaps behind a gap                    | `take`, when all before it are received |
//! | taken    | before `next`                                                |                                         |
//!
//! Asked for or not is no state here: a request may be lost with its connection, be repeated, or be sent to two bookies
//! at once. An answer for an entry that is received or taken is verified and dropped, so that any of this is harmless.
//! What nobody asked for cannot come in: an answer about another ledger, or behind `last`, is an error of the connection.
//!
//! # Two kinds of requests
//!
//! READ_ENTRY asks for one entry, BATCH_READ for a number of them in a row. Protocol 2 returns no request id for
//! READ_ENTRY; the entry tells which request an answer belongs to. For BATCH_READ the id tells how it is reported:
//!
//! | request                            | id in the frame                    | reported as [`ReadOutcome`]                      |
//! |------------------------------------|------------------------------------|--------------------------------------------------|
//! | READ_ENTRY (`read_requests`)       | none                               | only a refusal, or [`DAMAGED`]                   |
//! | a group of them (`read_requests`)  | minus the number of entries in it  | each entry that it lacks, as for READ_ENTRY       |
//! | BATCH_READ (`batch_request`)       | the caller's, 0 or more            | always, with the number of good entries          |
//!
//! A group is a BATCH_READ that saves frames and nothing else: its negative id brings its own size back, so that nothing
//! has to be remembered about it. The first entry that it lacks gets the code of the answer; those behind it get
//! [`OK`], which means that the bookie did not get to them (64 entries and 4 MiB are the most), and are asked for again.
//!
//! # Frames
//!
//! Bytes of a connection come in any pieces. Whole frames are handled at once, and the beginning of the next one waits
//! in `pending` for each connection until the rest comes, or the connection is gone (`forget`). An error leaves nothing
//! of the connection behind: its bytes cannot be split any more.
//!
//! Why damage cannot pass: the bytes of an entry name their ledger and entry, and the digest covers both and the data. So
//! an entry in the place of another one is [`DAMAGED`] as well. In a batch nothing behind a damaged entry is kept, since its length may be what is damaged. An
//! answer without any entry counts as damaged, or it would be asked for without end.

use std::collections::{BTreeMap, HashMap};
use std::ops::Range;

use crate::bookie::digest::Digest;
use crate::bookie::protocol::{OK, Response, parse, put_batch_read, put_read, split_body};
use crate::entry::{Entry, EntryBatch};
use crate::error::{KernelError, Result};
use crate::wire::split_u32;

/// The code of an answer whose entry is damaged, or is another one; bookies do not know this code.
pub const DAMAGED: i32 = -1;

/// An answer that is not just an entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ReadOutcome {
    /// Of a BATCH_READ that was asked for as such; each of them is told, also when it went well.
    pub request_id: Option<i64>,
    /// Entry asked for; of a BATCH_READ the first.
    pub entry: i64,
    /// What the bookie said about it, or [`DAMAGED`]; [`OK`] of an entry that it did not get to, behind another one of
    /// its group.
    pub code: i32,
    /// Good entries in the answer to a BATCH_READ; with [`DAMAGED`], those before the damaged one.
    pub count: u32,
}

/// A group of entries is never more than this.
const GROUP_BYTES: i64 = 4 << 20;
const GROUP_ENTRIES: i64 = 64;

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
    received: BTreeMap<i64, Vec<u8>>,
    received_bytes: usize,
    groups: u64,
}

impl LedgerFrames {
    /// For the entries `first` to `last`, both inclusive. Frames above `max_frame_bytes` are refused.
    pub fn new(ledger: i64, first: i64, last: i64, digest: Digest, max_frame_bytes: usize) -> Self {
        let (pending, received) = (HashMap::new(), BTreeMap::new());
        Self {
            ledger,
            next: first,
            last,
            digest,
            max_frame_bytes,
            pending,
            received,
            received_bytes: 0,
            groups: 0,
        }
    }

    /// The first entry that was not taken; behind `last` when all were.
    pub fn next(&self) -> i64 {
        self.next
    }

    /// Bytes that wait inside: entries, and beginnings of frames.
    pub fn buffered_bytes(&self) -> usize {
        self.pending.values().map(Vec::len).fold(self.received_bytes, usize::saturating_add)
    }

    /// How many groups of entries were given whole.
    pub fn groups(&self) -> u64 {
        self.groups
    }

    /// The groups of `size` entries in a row (64 at most) that begin with `first`, `first + step`, ..., as far as they lie in the run
    /// and below `stop`.
    fn groups_of(
        &self,
        first: i64,
        stop: i64,
        step: usize,
        size: usize,
    ) -> impl Iterator<Item = Range<i64>> + use<> {
        let stop = stop.min(self.last.saturating_add(1));
        let size = i64::try_from(size).unwrap_or(i64::MAX).clamp(1, GROUP_ENTRIES);
        (first..stop).step_by(step.max(1)).map(move |begin| begin..begin.saturating_add(size).min(stop))
    }

    fn is_missing(&self, entry: i64) -> bool {
        entry >= self.next && !self.received.contains_key(&entry)
    }

    /// How many of their entries are not here yet.
    pub fn missing(&self, first: i64, stop: i64, step: usize, size: usize) -> usize {
        self.groups_of(first, stop, step, size).flatten().filter(|entry| self.is_missing(*entry)).count()
    }

    /// A request for what is missing of each group: READ_ENTRY for one entry, else BATCH_READ.
    pub fn read_requests(&self, first: i64, stop: i64, step: usize, size: usize) -> Vec<u8> {
        let mut out = Vec::new();
        for group in self.groups_of(first, stop, step, size) {
            let mut missing = group.filter(|entry| self.is_missing(*entry));
            let Some(begin) = missing.next() else { continue };
            match missing.next_back().map_or(1, |end| end - begin + 1) {
                1 => put_read(&mut out, self.ledger, begin),
                // What is asked for says itself in the answer how much it was.
                count => {
                    let most = i32::try_from(count).unwrap_or(i32::MAX);
                    put_batch_read(&mut out, self.ledger, begin, -i64::from(most), most, GROUP_BYTES);
                }
            }
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
    pub fn feed(&mut self, connection: u32, data: &[u8]) -> Result<Vec<ReadOutcome>> {
        let mut outcomes = Vec::new();
        let mut pending = self.pending.remove(&connection).unwrap_or_default();
        let rest = if pending.is_empty() {
            let used = self.split(data, &mut outcomes)?;
            data.get(used..).unwrap_or_default().to_vec()
        } else {
            pending.extend_from_slice(data);
            let used = self.split(&pending, &mut outcomes)?;
            pending.drain(..used);
            pending
        };
        if !rest.is_empty() {
            self.pending.insert(connection, rest);
        }
        Ok(outcomes)
    }

    /// The connection is gone: drop the beginning of the frame that it left.
    pub fn forget(&mut self, connection: u32) {
        self.pending.remove(&connection);
    }

    /// The entries from `next` on, as far as they are here without a gap.
    pub fn take(&mut self) -> Option<EntryBatch> {
        let mut taken = EntryBatch::default();
        while let Some(data) = self.received.remove(&self.next) {
            self.received_bytes = self.received_bytes.saturating_sub(data.len());
            taken.push(Entry::new(self.ledger, self.next, data));
            self.next = self.next.saturating_add(1);
        }
        (!taken.entries.is_empty()).then_some(taken)
    }

    /// Handle all complete frames of `data`; returns how many bytes they took.
    fn split(&mut self, data: &[u8], outcomes: &mut Vec<ReadOutcome>) -> Result<usize> {
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
            self.handle(&response, outcomes)?;
            rest = after;
        }
        Ok(data.len() - rest.len())
    }

    fn handle(&mut self, response: &Response<'_>, outcomes: &mut Vec<ReadOutcome>) -> Result<()> {
        let Response { request_id, entry, code, .. } = *response;
        match request_id {
            Some(id) if id < 0 => self.handle_group(response, id.saturating_neg(), outcomes)?,
            Some(_) => {
                let (code, count) = self.keep_all(response)?;
                outcomes.push(ReadOutcome { request_id, entry, code, count });
            }
            None if code != OK => outcomes.push(ReadOutcome { request_id, entry, code, count: 0 }),
            None => {
                if !self.keep(entry, response.rest)? {
                    outcomes.push(ReadOutcome { request_id, entry, code: DAMAGED, count: 0 });
                }
            }
        }
        Ok(())
    }

    /// The answer for a group of `size` entries: told is each that it lacks, as if it had been asked for by itself.
    fn handle_group(
        &mut self,
        response: &Response<'_>,
        size: i64,
        outcomes: &mut Vec<ReadOutcome>,
    ) -> Result<()> {
        if size > GROUP_ENTRIES {
            return Err(KernelError::corrupt(format!(
                "an answer for {size} entries, more than are asked for"
            )));
        }
        let stop = response.entry.saturating_add(size);
        if stop > self.last.saturating_add(1) {
            return Err(self.beyond(stop.saturating_sub(1)));
        }
        let (code, count) = self.keep_all(response)?;
        let lacking = response.entry.saturating_add(i64::from(count))..stop;
        self.groups += u64::from(lacking.is_empty());
        let failed = lacking.start;
        outcomes.extend(lacking.map(|entry| {
            let code = if entry == failed { code } else { OK };
            ReadOutcome { request_id: None, entry, code, count: 0 }
        }));
        Ok(())
    }

    /// Keep the entries of a BATCH_READ up to the first that is damaged; its code, and how many.
    fn keep_all(&mut self, response: &Response<'_>) -> Result<(i32, u32)> {
        if response.code != OK {
            return Ok((response.code, 0));
        }
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
            return Err(self.beyond(entry));
        }
        if entry >= self.next && !self.received.contains_key(&entry) {
            self.received_bytes = self.received_bytes.saturating_add(data.len());
            self.received.insert(entry, data.to_vec());
        }
        Ok(true)
    }

    fn beyond(&self, entry: i64) -> KernelError {
        KernelError::corrupt(format!(
            "entry {entry} of ledger {} where at most {} was asked for",
            self.ledger, self.last
        ))
    }
}
