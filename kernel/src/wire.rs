//! The protobuf wire format, as far as Pulsar's metadata needs it.
//!
//! Field by field over borrowed bytes: a generated parser would copy every string of every message.
//! <https://protobuf.dev/programming-guides/encoding/>

use crate::error::{KernelError, Result};

/// Value of one field.
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
    /// The number of a varint field. An error for another wire type.
    pub fn number(self, field: &'static str) -> Result<u64> {
        match self {
            Self::Varint(v) => Ok(v),
            _ => Err(KernelError::corrupt(format!("{field}: expected a varint field"))),
        }
    }

    /// The content of a length-delimited field. An error for another wire type.
    pub fn bytes(self, field: &'static str) -> Result<&'a [u8]> {
        match self {
            Self::Bytes(v) => Ok(v),
            _ => Err(KernelError::corrupt(format!("{field}: expected a length-delimited field"))),
        }
    }
}

/// Reads the fields of one message in order; unknown fields come out like known ones.
pub struct WireFields<'a> {
    rest: &'a [u8],
}

impl<'a> WireFields<'a> {
    /// Over the bytes of exactly one message.
    pub fn new(message: &'a [u8]) -> Self {
        Self { rest: message }
    }

    /// The next field number and value; `None` at the end of the message.
    // Called for each field of each message: the error's size makes returning a result expensive.
    #[inline(always)]
    pub fn next_field(&mut self) -> Result<Option<(u32, WireValue<'a>)>> {
        if self.rest.is_empty() {
            return Ok(None);
        }
        let tag = self.varint()?;
        let number = u32::try_from(tag >> 3).unwrap_or(0);
        if number == 0 {
            return Err(KernelError::corrupt("a protobuf field with an impossible number"));
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
                    "protobuf field {number} has wire type {other}, which Pulsar does not use"
                )));
            }
        };
        Ok(Some((number, value)))
    }

    /// Bytes behind the last field.
    pub fn left(&self) -> usize {
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
        Err(KernelError::corrupt("a protobuf varint without an end"))
    }

    #[inline(always)]
    fn take(&mut self, length: usize) -> Result<&'a [u8]> {
        let Some((taken, rest)) = self.rest.split_at_checked(length) else {
            return Err(KernelError::corrupt(format!(
                "a protobuf field of {length} bytes where {} are left",
                self.rest.len()
            )));
        };
        self.rest = rest;
        Ok(taken)
    }
}

/// Append a varint.
#[inline]
pub fn put_varint(out: &mut Vec<u8>, mut value: u64) {
    if value < 0x80 {
        return out.push(value as u8);
    }
    // Eight groups of seven bits at once, which lie in the lower 56 bits.
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

/// Bytes that [`put_bytes`] appends for a field below 16.
#[inline]
pub fn bytes_field_size(value: &[u8]) -> usize {
    1 + varint_size(value.len() as u64) + value.len()
}

/// Bytes of a varint.
#[inline]
fn varint_size(value: u64) -> usize {
    (64 - (value | 1).leading_zeros() as usize).div_ceil(7)
}

/// Append a varint field.
#[inline]
pub fn put_number(out: &mut Vec<u8>, field: u32, value: u64) {
    // The sizes and sequence ids of every message; the room is looked for once.
    if let (0..16, 0..0x80) = (field, value) {
        return out.extend_from_slice(&[(field << 3) as u8, value as u8]);
    }
    if let (0..16, 0..0x4000) = (field, value) {
        return out.extend_from_slice(&[(field << 3) as u8, value as u8 | 0x80, (value >> 7) as u8]);
    }
    put_varint(out, u64::from(field) << 3);
    put_varint(out, value);
}

/// Append a length-delimited field.
#[inline]
pub fn put_bytes(out: &mut Vec<u8>, field: u32, value: &[u8]) {
    put_varint(out, u64::from(field) << 3 | 2);
    put_varint(out, value.len() as u64);
    out.extend_from_slice(value);
}

/// Split a big-endian `u32` off the front; `None` when fewer than four bytes are left.
#[inline]
pub fn split_u32(bytes: &[u8]) -> Option<(u32, &[u8])> {
    let (head, rest) = bytes.split_first_chunk::<4>()?;
    Some((u32::from_be_bytes(*head), rest))
}
