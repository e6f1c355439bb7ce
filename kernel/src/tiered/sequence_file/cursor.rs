//! A cursor over the bytes of a SequenceFile that were read until now.

use crate::error::{KernelError, Result};
use crate::wire::split_u32;

/// Length limit in bytes for a text of the header, such as the name of a class.
const MAX_TEXT: usize = 4096;

/// A position in bytes that may be incomplete; its methods return `None` if bytes are missing at the end.
#[derive(Clone, Copy)]
pub struct ByteCursor<'a> {
    /// The available bytes.
    pub data: &'a [u8],
    /// Offset of the next byte to read.
    pub offset: usize,
}

impl<'a> ByteCursor<'a> {
    /// Reads the next `count` bytes.
    pub fn bytes(&mut self, count: usize) -> Option<&'a [u8]> {
        let bytes = self.data.get(self.offset..)?.get(..count)?;
        self.offset += count;
        Some(bytes)
    }

    /// Reads a big-endian `u32`.
    pub fn u32(&mut self) -> Option<u32> {
        self.bytes(4).and_then(split_u32).map(|(value, _)| value)
    }

    /// Reads a vint that is a length or a count.
    ///
    /// A first byte from -112 to 127 is the number itself. A lower first byte encodes the sign, and the number of
    /// bytes that follow.
    pub fn length(&mut self) -> Result<Option<usize>> {
        let Some(&[first]) = self.bytes(1).and_then(|b| b.first_chunk::<1>()) else { return Ok(None) };
        let first = first as i8;
        let value = match first {
            0.. => first as u64,
            -120..=-113 => {
                let Some(bytes) = self.bytes((-112 - i32::from(first)) as usize) else { return Ok(None) };
                bytes.iter().fold(0u64, |value, byte| value << 8 | u64::from(*byte))
            }
            _ => return Err(KernelError::corrupt("expected a length, got a negative number")),
        };
        match usize::try_from(value).ok().filter(|value| *value <= i32::MAX as usize) {
            Some(value) => Ok(Some(value)),
            None => Err(KernelError::corrupt(format!("expected a length below 2 GiB, got {value}"))),
        }
    }

    /// Reads a text of the header.
    pub fn text(&mut self) -> Result<Option<String>> {
        let Some(length) = self.length()? else { return Ok(None) };
        if length > MAX_TEXT {
            return Err(KernelError::corrupt(format!(
                "expected texts of at most {MAX_TEXT} bytes in the file's header, got {length} bytes"
            )));
        }
        Ok(self.bytes(length).map(|bytes| String::from_utf8_lossy(bytes).into_owned()))
    }
}
