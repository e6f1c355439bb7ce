//! The header of a SequenceFile; the head of `super` documents its bytes.

use super::cursor::ByteCursor;
use crate::error::{ErrorKind, KernelError, Result};

/// Length of the sync bytes.
pub const SYNC_LENGTH: usize = 16;
const KEY_CLASS: &str = "org.apache.hadoop.io.LongWritable";
const CODEC: &str = "org.apache.hadoop.io.compress.DefaultCodec";

/// The compression of a SequenceFile's records.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Compression {
    /// No compression.
    None,
    /// Compression of each value by itself.
    Record,
    /// Compression of many records together, with keys and values separate.
    Block,
}

/// The header at the beginning of a SequenceFile.
#[derive(Debug, Clone)]
pub struct Header {
    /// Compression of the records.
    pub compression: Compression,
    /// Java class of the values.
    pub value_class: String,
    /// Length of the header in bytes; the records follow.
    pub length: usize,
    /// Sync bytes of this file, which precede each block, and are at intervals between records.
    pub(super) sync: [u8; SYNC_LENGTH],
}

impl Header {
    /// Parses the first bytes of a file, which must contain the whole header.
    pub fn parse(data: &[u8]) -> Result<Self> {
        let mut cursor = ByteCursor { data, offset: 0 };
        let header = parse_header(&mut cursor)?;
        header.ok_or_else(|| {
            KernelError::corrupt(format!(
                "expected the header of a SequenceFile, got the end after {} bytes",
                data.len()
            ))
        })
    }
}

fn parse_header(cursor: &mut ByteCursor<'_>) -> Result<Option<Header>> {
    let Some(magic) = cursor.bytes(4) else { return Ok(None) };
    if magic != b"SEQ\x06" {
        return Err(KernelError::corrupt(format!("expected a SequenceFile of version 6, got {magic:x?}")));
    }
    let Some(key_class) = cursor.text()? else { return Ok(None) };
    let Some(value_class) = cursor.text()? else { return Ok(None) };
    if key_class != KEY_CLASS {
        return Err(KernelError::corrupt(format!("expected keys of {KEY_CLASS}, got {key_class:?}")));
    }
    let Some(&[compressed, blocks]) = cursor.bytes(2).and_then(|b| b.first_chunk::<2>()) else {
        return Ok(None);
    };
    if compressed != 0 {
        let Some(codec) = cursor.text()? else { return Ok(None) };
        if codec != CODEC {
            let text = format!("expected the codec {CODEC}, got {codec:?}");
            return Err(KernelError::new(ErrorKind::Unsupported, text));
        }
    }
    let compression = match (compressed, blocks) {
        (0, _) => Compression::None,
        (_, 0) => Compression::Record,
        _ => Compression::Block,
    };
    let Some(pairs) = cursor.u32() else { return Ok(None) };
    for _ in 0..u64::from(pairs) * 2 {
        if cursor.text()?.is_none() {
            return Ok(None);
        }
    }
    let Some(sync) = cursor.bytes(SYNC_LENGTH).and_then(|b| b.first_chunk()).copied() else {
        return Ok(None);
    };
    Ok(Some(Header { compression, value_class, length: cursor.offset, sync }))
}
