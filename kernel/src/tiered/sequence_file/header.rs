//! The header of a SequenceFile; `super` says how it lies in bytes.

use super::cursor::ByteCursor;
use crate::error::{ErrorKind, KernelError, Result};

/// Bytes of a sync.
pub const SYNC_LENGTH: usize = 16;
const KEY_CLASS: &str = "org.apache.hadoop.io.LongWritable";
const CODEC: &str = "org.apache.hadoop.io.compress.DefaultCodec";

/// How the values are compressed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Compression {
    /// Not at all.
    None,
    /// Each value by itself.
    Record,
    /// Many records together, keys and values apart.
    Block,
}

/// What a file says about itself at its beginning.
#[derive(Debug, Clone)]
pub struct Header {
    /// How the values are compressed.
    pub compression: Compression,
    /// Class of the values.
    pub value_class: String,
    /// Bytes of the header; records begin behind them.
    pub length: usize,
    /// What stands before each block, and now and then between records.
    pub(super) sync: [u8; SYNC_LENGTH],
}

impl Header {
    /// From the first bytes of a file, which must hold all of the header.
    pub fn parse(data: &[u8]) -> Result<Self> {
        let mut cursor = ByteCursor { data, at: 0 };
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
    Ok(Some(Header { compression, value_class, length: cursor.at, sync }))
}
