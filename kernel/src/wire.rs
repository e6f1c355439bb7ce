//! The parts of the Protobuf wire format that Pulsar's metadata needs.
//!
//! The reader returns one field after the other, and borrows their bytes. A generated parser would copy every
//! string of every message. <https://protobuf.dev/programming-guides/encoding/>

use crate::error::{KernelError, Result};

/// The value of one field.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum WireValue<'a> {
    /// Wire type 0.
    Varint(u64),
    /// Wire type 2.
    Bytes(&'a [u8]),
    /// Wire types 1 and 5, which Pulsar's messages do not use.
    Fixed,
}

impl<'a> WireValue<'a> {
    /// Returns the number of a varint field. Fails for another wire type.
    pub fn number(self, field: &'static str) -> Result<u64> {
        match self {
            Self::Varint(v) => Ok(v),
            _ => Err(KernelError::corrupt(format!("{field}: expected a varint field"))),
        }
    }

    /// Returns the content of a length-delimited field. Fails for another wire type.
    pub fn bytes(self, field: &'static str) -> Result<&'a [u8]> {
        match self {
            Self::Bytes(v) => Ok(v),
            _ => Err(KernelError::corrupt(format!("{field}: expected a length-delimited field"))),
        }
    }
}

/// A reader of one message's fields, in order and including unknown fields.
pub struct WireFields<'a> {
    rest: &'a [u8],
}

impl<'a> WireFields<'a> {
    /// Creates a reader of the bytes of exactly one message.
    pub fn new(message: &'a [u8]) -> Self {
        Self { rest: message }
    }

    /// Returns the next field number and value, or `None` at the end of the message.
    // This function runs for each field of each message. Returning a result is expensive, because the error
    // type is large.
    #[inline(always)]
    pub fn next_field(&mut self) -> Result<Option<(u32, WireValue<'a>)>> {
        if self.rest.is_empty() {
            return Ok(None);
        }
        let tag = self.varint()?;
        let number = u32::try_from(tag >> 3).unwrap_or(0);
        if number == 0 {
            return Err(KernelError::corrupt(
                "expected a Protobuf field number of at least 1, got 0 or one above 32 bits",
            ));
        }
        let value = match tag & 7 {
            0 => WireValue::Varint(self.varint()?),
            2 => {
                let length = usize::try_from(self.varint()?).unwrap_or(usize::MAX);
                WireValue::Bytes(self.take(length)?)
            }
            1 => self.take(8).map(|_| WireValue::Fixed)?,
            5 => self.take(4).map(|_| WireValue::Fixed)?,
            other => {
                return Err(KernelError::corrupt(format!(
                    "Protobuf field {number}: expected a wire type that Pulsar uses, got {other}"
                )));
            }
        };
        Ok(Some((number, value)))
    }

    /// Returns the number of bytes after the last field that was read.
    pub fn remaining(&self) -> usize {
        self.rest.len()
    }

    #[inline(always)]
    fn varint(&mut self) -> Result<u64> {
        if let Some((&byte, rest)) = self.rest.split_first()
            && byte < 0x80
        {
            self.rest = rest;
            return Ok(u64::from(byte));
        }
        self.long_varint()
    }

    fn long_varint(&mut self) -> Result<u64> {
        let mut value = 0u64;
        for (i, &byte) in self.rest.iter().enumerate().take(10) {
            value |= u64::from(byte & 0x7f) << (7 * i);
            if byte < 0x80 {
                self.rest = self.rest.get(i + 1..).unwrap_or_default();
                return Ok(value);
            }
        }
        Err(KernelError::corrupt("expected the end of a Protobuf varint within ten bytes, got none"))
    }

    #[inline(always)]
    fn take(&mut self, length: usize) -> Result<&'a [u8]> {
        let Some((taken, rest)) = self.rest.split_at_checked(length) else {
            return Err(KernelError::corrupt(format!(
                "expected {length} more bytes in a Protobuf field, got {}",
                self.rest.len()
            )));
        };
        self.rest = rest;
        Ok(taken)
    }
}

/// Appends a varint.
#[inline]
pub fn put_varint(out: &mut Vec<u8>, mut value: u64) {
    if value < 0x80 {
        return out.push(value as u8);
    }
    // The lower 56 bits contain eight groups of seven bits. Each step spreads all groups at the same time.
    let low = value & 0x00ff_ffff_ffff_ffff;
    let halves = low & 0x0fff_ffff | (low >> 28) << 32;
    let quarters = halves & 0x0000_3fff_0000_3fff | (halves & 0x0fff_c000_0fff_c000) << 2;
    let groups = quarters & 0x007f_007f_007f_007f | (quarters & 0x3f80_3f80_3f80_3f80) << 1;
    if value == low {
        let length = varint_size(value);
        let more = 0x0080_8080_8080_8080 >> (64 - 8 * length);
        let end = out.len() + length;
        out.extend_from_slice(&(groups | more).to_le_bytes());
        return out.truncate(end);
    }
    out.extend_from_slice(&(groups | 0x8080_8080_8080_8080).to_le_bytes());
    value >>= 56;
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

/// Returns the number of bytes that [`put_bytes`] appends for a field number below 16.
#[inline]
pub fn bytes_field_size(value: &[u8]) -> usize {
    1 + varint_size(value.len() as u64) + value.len()
}

/// Returns the number of bytes of a varint.
#[inline]
fn varint_size(value: u64) -> usize {
    (64 - (value | 1).leading_zeros() as usize).div_ceil(7)
}

/// Appends a varint field.
#[inline]
pub fn put_number(out: &mut Vec<u8>, field: u32, value: u64) {
    // Most sizes and sequence ids fit one or two bytes. These paths check the capacity of `out` only once.
    if let (0..16, 0..0x80) = (field, value) {
        return out.extend_from_slice(&[(field << 3) as u8, value as u8]);
    }
    if let (0..16, 0..0x4000) = (field, value) {
        return out.extend_from_slice(&[(field << 3) as u8, value as u8 | 0x80, (value >> 7) as u8]);
    }
    put_varint(out, u64::from(field) << 3);
    put_varint(out, value);
}

/// Appends a length-delimited field.
#[inline]
pub fn put_bytes(out: &mut Vec<u8>, field: u32, value: &[u8]) {
    put_varint(out, u64::from(field) << 3 | 2);
    put_varint(out, value.len() as u64);
    out.extend_from_slice(value);
}

/// Splits a big-endian `u32` off the front of `bytes`; returns `None` if fewer than four bytes are left.
#[inline]
pub fn split_u32(bytes: &[u8]) -> Option<(u32, &[u8])> {
    let (head, rest) = bytes.split_first_chunk::<4>()?;
    Some((u32::from_be_bytes(*head), rest))
}
