//! Hadoop's SequenceFile, version 6: pairs of a key and a value.
//!
//! This module reads the part of the format that Pulsar's file system offloader uses. Keys are `LongWritable`: 8 bytes,
//! big endian. The codec is `DefaultCodec`, which is zlib. The sources of the format are
//! <https://hadoop.apache.org/docs/stable/api/org/apache/hadoop/io/SequenceFile.html> and `WritableUtils.readVLong`.
//!
//! The header is `"SEQ" | u8 6 | key class | value class | u8 compressed | u8 in blocks | codec class, if compressed |
//! i32 n | n pairs of texts | 16 bytes of sync`. A class name or text is a vint length and UTF-8.
//!
//! Without block compression, the records `{i32 length of key and value | i32 length of key | key | value}` follow. A
//! length of -1 announces the sync bytes, and the record follows these bytes.
//!
//! With block compression, the blocks `{i32 -1 | sync | vint n | lengths of keys | keys | lengths of values | values}`
//! follow. Each of the last four parts is a vint length and this number of compressed bytes.

mod cursor;
mod header;

use flate2::{Decompress, FlushDecompress, Status};

use super::object::split_i64;
use super::{EntryRange, MAX_STORED};
use crate::error::{ErrorKind, KernelError, Result};
use crate::wire::split_u32;
use cursor::ByteCursor;
use header::SYNC_LENGTH;
pub use header::{Compression, Header};

const SYNC_ESCAPE: u32 = u32::MAX;
const KEY_LENGTH: usize = 8;
/// The key under which the offloader stores the ledger's metadata, before the first entry.
const METADATA_KEY: i64 = -1;

/// A consumer of the records of a file.
pub(super) trait Sink {
    /// Returns whether any key up to `last` is wanted; values of unwanted keys are not decompressed.
    fn wants(&self, last: i64) -> bool;
    /// Returns whether no more records are wanted.
    fn is_done(&self) -> bool;
    /// Returns whether the parser must stop until the caller has received the records.
    fn is_full(&self) -> bool;
    /// Consumes a record; `value` is in the format of the value class.
    fn record(&mut self, key: i64, value: &[u8]) -> Result<()>;
    /// Consumes the keys of records whose values are not wanted.
    fn skipped(&mut self, keys: &mut dyn Iterator<Item = i64>) -> Result<()>;
}

impl Sink for EntryRange {
    fn wants(&self, last: i64) -> bool {
        last >= self.first
    }

    fn is_done(&self) -> bool {
        EntryRange::is_done(self)
    }

    fn is_full(&self) -> bool {
        EntryRange::is_full(self)
    }

    fn record(&mut self, key: i64, value: &[u8]) -> Result<()> {
        if key == METADATA_KEY && self.expected.is_none() {
            self.expected = Some(0);
            return Ok(());
        }
        check_key(key)?;
        // BytesWritable repeats the length of its bytes.
        let (length, data) = split_u32(value).ok_or_else(|| {
            KernelError::corrupt(format!("the value of entry {key} ends inside its length field"))
        })?;
        if length as usize != data.len() {
            return Err(KernelError::corrupt(format!(
                "expected {length} bytes in the value of entry {key}, got {}",
                data.len()
            )));
        }
        self.take(key, data)
    }

    fn skipped(&mut self, keys: &mut dyn Iterator<Item = i64>) -> Result<()> {
        for key in keys.filter(|key| *key != METADATA_KEY) {
            check_key(key)?;
            if let Some(expected) = self.expected.filter(|expected| *expected != key) {
                return Err(self.missing(expected, &format!("entry {key} follows")));
            }
            self.expected = Some(key.saturating_add(1));
        }
        Ok(())
    }
}

fn check_key(key: i64) -> Result<()> {
    if key < 0 {
        return Err(KernelError::corrupt(format!("expected an entry id as the key, got {key}")));
    }
    Ok(())
}

/// A parser of the records of a file, which can begin at any record, block or sync.
#[derive(Debug)]
pub struct Records {
    header: Header,
}

impl Records {
    pub(super) fn new(header: Header) -> Self {
        Self { header }
    }

    /// Passes the complete records of `data` from byte `used` on to `sink`, and moves `used` past them.
    ///
    /// `data` begins at the first byte that the previous call did not parse.
    pub(super) fn split(&self, data: &[u8], sink: &mut impl Sink, used: &mut usize) -> Result<()> {
        while !sink.is_done() {
            let mut cursor = ByteCursor { data, offset: *used };
            let complete = match self.header.compression {
                Compression::Block => self.block(&mut cursor, sink)?,
                _ => self.record(&mut cursor, sink)?,
            };
            if complete.is_none() {
                return Ok(());
            }
            *used = cursor.offset;
            if sink.is_full() {
                return Ok(());
            }
        }
        *used = data.len();
        Ok(())
    }

    fn record(&self, cursor: &mut ByteCursor<'_>, sink: &mut impl Sink) -> Result<Option<()>> {
        let Some(mut length) = cursor.u32() else { return Ok(None) };
        if length == SYNC_ESCAPE {
            if self.sync(cursor)?.is_none() {
                return Ok(None);
            }
            let Some(next) = cursor.u32() else { return Ok(None) };
            length = next;
        }
        let Some(key_length) = cursor.u32() else { return Ok(None) };
        if key_length as usize != KEY_LENGTH || length < key_length {
            return Err(KernelError::corrupt(format!(
                "expected a record with a key of {KEY_LENGTH} bytes, got a key of {key_length} bytes in {length} bytes"
            )));
        }
        let Some(record) = cursor.bytes(bounded(length as usize)?) else { return Ok(None) };
        let (key, value) = split_i64(record)
            .ok_or_else(|| KernelError::corrupt("expected a record with a key, got none"))?;
        if !sink.wants(key) {
            sink.skipped(&mut std::iter::once(key))?;
        } else if self.header.compression == Compression::Record {
            sink.record(key, &inflate(value, MAX_STORED)?)?;
        } else {
            sink.record(key, value)?;
        }
        Ok(Some(()))
    }

    fn block(&self, cursor: &mut ByteCursor<'_>, sink: &mut impl Sink) -> Result<Option<()>> {
        let Some(escape) = cursor.u32() else { return Ok(None) };
        if escape != SYNC_ESCAPE {
            return Err(KernelError::corrupt(format!("expected a sync before the block, got {escape:#x}")));
        }
        if self.sync(cursor)?.is_none() {
            return Ok(None);
        }
        let Some(count) = cursor.length()? else { return Ok(None) };
        let mut buffers: [&[u8]; 4] = [&[]; 4];
        for buffer in &mut buffers {
            let Some(length) = cursor.length()? else { return Ok(None) };
            let Some(bytes) = cursor.bytes(bounded(length)?) else { return Ok(None) };
            *buffer = bytes;
        }
        let [key_lengths, keys, lengths, values] = buffers;
        // A vint below 128 is one byte.
        if exactly(key_lengths, count, "lengths of keys")?.iter().any(|length| *length as usize != KEY_LENGTH)
        {
            return Err(KernelError::corrupt(format!(
                "expected keys of {KEY_LENGTH} bytes, got other lengths"
            )));
        }
        let keys = exactly(keys, bounded(count.saturating_mul(KEY_LENGTH))?, "keys")?;
        let mut keys = keys.chunks_exact(KEY_LENGTH).filter_map(split_i64).map(|(key, _)| key);
        if keys.clone().next_back().is_some_and(|last| sink.wants(last)) {
            records(&mut keys, lengths, values, sink)?;
        } else {
            sink.skipped(&mut keys)?;
        }
        Ok(Some(()))
    }

    fn sync(&self, cursor: &mut ByteCursor<'_>) -> Result<Option<()>> {
        match cursor.bytes(SYNC_LENGTH) {
            Some(sync) if sync == self.header.sync => Ok(Some(())),
            Some(_) => {
                Err(KernelError::corrupt("expected the sync bytes of the file's header, got other bytes"))
            }
            None => Ok(None),
        }
    }
}

/// Decompresses the values of one block, and passes its records to `sink`.
fn records(
    keys: &mut impl Iterator<Item = i64>,
    lengths: &[u8],
    values: &[u8],
    sink: &mut impl Sink,
) -> Result<()> {
    let lengths = inflate(lengths, MAX_STORED)?;
    let values = inflate(values, MAX_STORED)?;
    let mut lengths = ByteCursor { data: &lengths, offset: 0 };
    let mut values = ByteCursor { data: &values, offset: 0 };
    for key in keys {
        let value = lengths.length()?.and_then(|length| values.bytes(length));
        let value =
            value.ok_or_else(|| KernelError::corrupt(format!("the block lacks the value of entry {key}")))?;
        sink.record(key, value)?;
        if sink.is_done() {
            break;
        }
    }
    Ok(())
}

fn bounded(length: usize) -> Result<usize> {
    if length > MAX_STORED {
        let text = format!("expected a record or block of at most {MAX_STORED} bytes, got {length} bytes");
        return Err(KernelError::new(ErrorKind::Unsupported, text));
    }
    Ok(length)
}

fn exactly(data: &[u8], length: usize, what: &str) -> Result<Vec<u8>> {
    let out = inflate(data, length)?;
    if out.len() != length {
        return Err(KernelError::corrupt(format!("expected {length} bytes of {what}, got {}", out.len())));
    }
    Ok(out)
}

/// Decompresses one whole zlib stream into at most `most` bytes.
fn inflate(data: &[u8], most: usize) -> Result<Vec<u8>> {
    let damaged = |why: &str| KernelError::corrupt(format!("cannot decompress the zlib data: {why}"));
    // A damaged length must not determine the size of the buffer; zlib compresses at most 1032 to 1.
    let mut out =
        Vec::with_capacity(data.len().saturating_mul(4).clamp(64, 4 << 20).min(most.saturating_add(1)));
    let mut inflater = Decompress::new(true);
    loop {
        let input = data.get(inflater.total_in() as usize..).unwrap_or_default();
        let before = (inflater.total_in(), out.len());
        let status = inflater
            .decompress_vec(input, &mut out, FlushDecompress::None)
            .map_err(|e| damaged(&e.to_string()))?;
        if out.len() > most {
            return Err(damaged(&format!("expected at most {most} decompressed bytes, got more")));
        }
        if status == Status::StreamEnd {
            return Ok(out);
        }
        if out.len() == out.capacity() {
            out.reserve(out.capacity());
        } else if before == (inflater.total_in(), out.len()) {
            return Err(damaged("the stream ends too early"));
        }
    }
}
