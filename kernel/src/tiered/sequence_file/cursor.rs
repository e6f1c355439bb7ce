//! The parts of a SequenceFile's bytes, one after the other.

use crate::error::{KernelError, Result};
use crate::wire::split_u32;

/// Longest name of a class or text of the header.
const MAX_TEXT: usize = 4096;

/// A place in bytes of which the end may not have come yet: `None` when they do not reach.
#[derive(Clone, Copy)]
pub struct ByteCursor<'a> {
    /// All bytes.
    pub data: &'a [u8],
    /// How many of them were taken.
    pub at: usize,
}

impl<'a> ByteCursor<'a> {
    /// The next `count` bytes.
    pub fn bytes(&mut self, count: usize) -> Option<&'a [u8]> {
        let taken = self.data.get(self.at..)?.get(..count)?;
        self.at += count;
        Some(taken)
    }

    /// Big endian.
    pub fn u32(&mut self) -> Option<u32> {
        self.bytes(4).and_then(split_u32).map(|(value, _)| value)
    }

    /// A vint that is a length or a count. The first byte is the number itself from -112 to 127; below, it says the
    /// sign and how many bytes follow.
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

    /// A text of the header.
    pub fn text(&mut self) -> Result<Option<String>> {
        let Some(length) = self.length()? else { return Ok(None) };
        if length > MAX_TEXT {
            return Err(KernelError::corrupt(format!("a text of {length} bytes in the file's header")));
        }
        Ok(self.bytes(length).map(|bytes| String::from_utf8_lossy(bytes).into_owned()))
    }
}
