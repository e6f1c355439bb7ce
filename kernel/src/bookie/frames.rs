//! The entries `first` to `last` of one ledger, in order, from any number of bookies.
//!
//! [`LedgerFrames`] knows neither sockets nor bookies. It builds requests, reads the bytes of the sockets,
//! and returns entries from [`next`](LedgerFrames::next) on without a gap. The caller decides which bookie
//! gets a request, and when a request is repeated.
//!
//! # An entry
//!
//! ```text
//! | state    | meaning                                  | ends with                                          |
//! |----------|------------------------------------------|----------------------------------------------------|
//! | missing  | at or after `next`, and not received     | an answer whose digest fits                        |
//! | received | verified and copied, perhaps after a gap | a call of `take`, after all before it are received |
//! | taken    | before `next`                            |                                                    |
//! ```
//!
//! Whether a request is pending is not part of the state. A request may be lost with its connection, be
//! repeated, or be sent to two bookies at the same time. These cases are harmless, because an answer for an
//! entry that is received or taken is verified and dropped. An answer about another ledger or after `last`,
//! which no request was sent for, is an error of the connection.
//!
//! # Two kinds of requests
//!
//! READ_ENTRY requests one entry, BATCH_READ a number of consecutive entries. Protocol 2 returns no request
//! id for READ_ENTRY; the entry id shows which request an answer belongs to. For BATCH_READ the request id
//! decides how the answer is reported:
//!
//! ```text
//! | request                           | id in the frame                   | reported as [`ReadOutcome`]                 |
//! |-----------------------------------|-----------------------------------|---------------------------------------------|
//! | READ_ENTRY (`read_requests`)      | none                              | only a refusal, or [`DAMAGED`]              |
//! | a group of them (`read_requests`) | minus the number of entries in it | each entry that it lacks, as for READ_ENTRY |
//! | BATCH_READ (`batch_request`)      | the caller's, 0 or more           | always, with the number of good entries     |
//! ```
//!
//! A group is a BATCH_READ whose only purpose is to save frames. The answer returns the negative id, and so
//! the size of the group. So no request has to be stored.
//!
//! The first entry that the answer lacks is reported with the code of the answer. The entries after it are
//! reported with [`OK`]: the bookie did not reach them, because an answer has at most 64 entries and 4 MiB.
//! The caller requests them again.
//!
//! # Frames
//!
//! The bytes of a connection arrive in pieces of any size. Whole frames are handled immediately. The
//! beginning of the next frame waits in `pending`, for each connection, until the rest arrives or the
//! connection is closed (`forget`). After an error no bytes of the connection are kept, because they can no
//! longer be split into frames.
//!
//! Damage is always detected, because an entry's bytes contain its ledger and entry id, and the digest covers
//! the ids and the data. So an answer with another entry is also [`DAMAGED`]. In a batch, nothing after a
//! damaged entry is kept, because the damage may be in its length. An answer without any entry is treated as
//! damaged, because otherwise the caller would repeat the request without end.

use std::collections::{BTreeMap, HashMap};
use std::ops::Range;

use crate::bookie::digest::Digest;
use crate::bookie::protocol::{OK, Response, parse, put_batch_read, put_read, split_body};
use crate::entry::{Entry, EntryBatch};
use crate::error::{KernelError, Result};
use crate::wire::split_u32;

/// The code of an answer whose entry is damaged or is another entry. Bookies do not use this code.
pub const DAMAGED: i32 = -1;

/// An answer that the caller must see: a refusal, damage, or the result of a BATCH_READ.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ReadOutcome {
    /// The id of a `batch_request`, and `None` for `read_requests`. Each answer to a `batch_request` is reported.
    pub request_id: Option<i64>,
    /// Id of the requested entry; for a BATCH_READ, id of the first requested entry.
    pub entry: i64,
    /// The code of the bookie, or [`DAMAGED`]. For an entry of a group, [`OK`] means that the bookie did not reach
    /// the entry after an earlier one failed.
    pub code: i32,
    /// Number of undamaged entries in the answer to a BATCH_READ. With [`DAMAGED`], only the entries before
    /// the damaged entry are counted.
    pub count: u32,
}

/// Maximum number of bytes of a group of entries.
const GROUP_BYTES: i64 = 4 << 20;
const GROUP_ENTRIES: i64 = 64;

/// A buffer that puts the entries from `next` to `last` in order.
#[derive(Debug)]
pub struct LedgerFrames {
    ledger: i64,
    next: i64,
    last: i64,
    digest: Digest,
    max_frame_bytes: usize,
    /// The bytes of an incomplete frame, for each connection.
    pending: HashMap<u32, Vec<u8>>,
    /// Entries that are received and not taken.
    received: BTreeMap<i64, Vec<u8>>,
    received_bytes: usize,
    groups: u64,
}

impl LedgerFrames {
    /// Creates a buffer for the entries `first` to `last`, both inclusive. Frames above `max_frame_bytes` are
    /// refused.
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

    /// Returns the first entry that was not taken; `last` plus 1 if all were taken.
    pub fn next(&self) -> i64 {
        self.next
    }

    /// Returns the number of buffered bytes, which belong to entries and to incomplete frames.
    pub fn buffered_bytes(&self) -> usize {
        self.pending.values().map(Vec::len).fold(self.received_bytes, usize::saturating_add)
    }

    /// Returns the number of groups that bookies returned completely.
    pub fn groups(&self) -> u64 {
        self.groups
    }

    /// Returns groups of `size` consecutive entries (at most 64), which begin at `first`, `first + step`, and
    /// so on. Entries at or after `stop`, or after `last`, are left out.
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

    /// Returns the number of entries of these groups that are not received yet.
    pub fn missing(&self, first: i64, stop: i64, step: usize, size: usize) -> usize {
        self.groups_of(first, stop, step, size).flatten().filter(|entry| self.is_missing(*entry)).count()
    }

    /// Builds a request for the missing entries of each group: READ_ENTRY for one entry, otherwise
    /// BATCH_READ.
    pub fn read_requests(&self, first: i64, stop: i64, step: usize, size: usize) -> Vec<u8> {
        let mut out = Vec::new();
        for group in self.groups_of(first, stop, step, size) {
            let mut missing = group.filter(|entry| self.is_missing(*entry));
            let Some(begin) = missing.next() else { continue };
            match missing.next_back().map_or(1, |end| end - begin + 1) {
                1 => put_read(&mut out, self.ledger, begin),
                // The answer repeats the request id, and so contains the number of entries.
                count => {
                    let most = i32::try_from(count).unwrap_or(i32::MAX);
                    put_batch_read(&mut out, self.ledger, begin, -i64::from(most), most, GROUP_BYTES);
                }
            }
        }
        out
    }

    /// Builds one BATCH_READ request for the entries from `first` to `stop` (exclusive), up to `last`.
    pub fn batch_request(&self, first: i64, stop: i64, request_id: i64, max_bytes: i64) -> Vec<u8> {
        let count = stop.min(self.last.saturating_add(1)).saturating_sub(first);
        let count = i32::try_from(count.max(1)).unwrap_or(i32::MAX);
        let mut out = Vec::new();
        put_batch_read(&mut out, self.ledger, first, request_id, count, max_bytes);
        out
    }

    /// Reads bytes from the socket of this connection. After an error the connection cannot be used: call
    /// `forget`.
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

    /// Drops the incomplete frame of a closed connection.
    pub fn forget(&mut self, connection: u32) {
        self.pending.remove(&connection);
    }

    /// Removes and returns the entries from `next` up to the first gap; `None` if `next` is missing.
    pub fn take(&mut self) -> Option<EntryBatch> {
        let mut taken = EntryBatch::default();
        while let Some(data) = self.received.remove(&self.next) {
            self.received_bytes = self.received_bytes.saturating_sub(data.len());
            taken.push(Entry::new(self.ledger, self.next, data));
            self.next = self.next.saturating_add(1);
        }
        (!taken.entries.is_empty()).then_some(taken)
    }

    /// Handles all complete frames of `data`, and returns their length in bytes.
    fn split(&mut self, data: &[u8], outcomes: &mut Vec<ReadOutcome>) -> Result<usize> {
        let mut rest = data;
        while let Some((length, after)) = split_u32(rest) {
            let length = length as usize;
            if length > self.max_frame_bytes {
                return Err(KernelError::corrupt(format!(
                    "expected an answer of at most {} bytes, got {length} bytes, because the server is not a bookie or a byte was lost",
                    self.max_frame_bytes
                )));
            }
            let Some((frame, after)) = after.split_at_checked(length) else { break };
            let response = parse(frame)?;
            if response.ledger != self.ledger {
                return Err(KernelError::corrupt(format!(
                    "expected an answer about ledger {}, got an answer about ledger {}",
                    self.ledger, response.ledger
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

    /// Handles the answer for a group of `size` entries. Each entry that the answer lacks is reported as an
    /// outcome of its own.
    fn handle_group(
        &mut self,
        response: &Response<'_>,
        size: i64,
        outcomes: &mut Vec<ReadOutcome>,
    ) -> Result<()> {
        if size > GROUP_ENTRIES {
            return Err(KernelError::corrupt(format!(
                "expected an answer for at most {GROUP_ENTRIES} entries, got {size}"
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

    /// Stores the entries of a BATCH_READ before the first damaged entry. Returns the code, and the number of
    /// undamaged entries.
    fn keep_all(&mut self, response: &Response<'_>) -> Result<(i32, u32)> {
        if response.code != OK {
            return Ok((response.code, 0));
        }
        let (mut rest, mut count) = (response.rest, 0u32);
        while !rest.is_empty() {
            let Some((body, after)) = split_body(rest) else {
                return Err(KernelError::corrupt(
                    "expected an entry that fits into the answer of the bookie, got a longer entry",
                ));
            };
            if !self.keep(response.entry.saturating_add(i64::from(count)), body)? {
                return Ok((DAMAGED, count));
            }
            count += 1;
            rest = after;
        }
        // An answer without entries is treated as damaged, because otherwise the caller would repeat the
        // request without end.
        Ok((if count == 0 { DAMAGED } else { OK }, count))
    }

    /// Stores an entry, and returns false if the entry is damaged. An entry that was received before is
    /// dropped.
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
            "expected entries of ledger {} up to {}, got entry {entry}",
            self.ledger, self.last
        ))
    }
}
