//! A cursor over a message in Protobuf's wire format, which adds positions to errors.

use crate::protobuf::{DELIMITED, FIXED32, FIXED64, GROUP, GROUP_END, VARINT};

/// Depth limit for skipped groups.
const MAX_UNKNOWN_DEPTH: usize = 100;

/// An error in a payload, and its position.
#[derive(Debug)]
pub struct ProtobufFault {
    /// Path of the value: the names of its fields, from the outermost to the innermost; empty outside known
    /// fields.
    pub path: String,
    /// Error text of the form `expected ..., got ...`.
    pub why: String,
    /// Offset in the payload, in bytes.
    pub position: usize,
}

impl ProtobufFault {
    /// Prepends the field `name` to the path.
    pub fn below(mut self: Box<Self>, name: &str) -> Box<Self> {
        self.path = if self.path.is_empty() { name.to_owned() } else { format!("{name}.{}", self.path) };
        self
    }
}

/// The result of reading a part of a payload.
pub type ProtobufResult<T> = std::result::Result<T, Box<ProtobufFault>>;

/// A cursor over one message, which may be inside another message.
pub struct ProtobufCursor<'a> {
    /// The payload up to the end of the message.
    bytes: &'a [u8],
    /// Offset of the next byte in the payload.
    position: usize,
}

impl<'a> ProtobufCursor<'a> {
    /// Creates a cursor over a whole payload.
    pub fn new(payload: &'a [u8]) -> Self {
        Self { bytes: payload, position: 0 }
    }

    /// Returns whether the cursor is at the end of the message.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.position >= self.bytes.len()
    }

    /// Returns an error at the position of the cursor.
    pub fn fault<T>(&self, why: impl Into<String>) -> ProtobufResult<T> {
        Err(Box::new(ProtobufFault { path: String::new(), why: why.into(), position: self.position }))
    }

    /// Reads the tag of the next field, which is its number and its wire type.
    #[inline]
    pub fn tag(&mut self) -> ProtobufResult<u32> {
        let start = self.position;
        match u32::try_from(self.varint()?) {
            Ok(tag) if tag >> 3 != 0 => Ok(tag),
            _ => {
                self.position = start;
                self.fault("expected a field number from 1 to 536870911, got another number")
            }
        }
    }

    /// Reads a number of the given wire type.
    #[inline]
    pub fn number(&mut self, wire: u32) -> ProtobufResult<u64> {
        match wire {
            VARINT => self.varint(),
            FIXED32 => self.chunk::<4>().map(|bytes| u64::from(u32::from_le_bytes(bytes))),
            FIXED64 => self.chunk::<8>().map(u64::from_le_bytes),
            _ => self.fault(format!("expected a number, got wire type {wire}")),
        }
    }

    /// Returns whether the varint at the cursor has as few bytes as possible.
    #[inline]
    pub fn is_shortest(&self) -> bool {
        let rest = self.bytes.get(self.position..).unwrap_or_default();
        match rest.iter().take(10).position(|byte| *byte < 0x80) {
            None | Some(0) => true,
            // The tenth byte contains the last of 64 bits.
            Some(last) => rest.get(last).is_some_and(|byte| *byte != 0 && (last < 9 || *byte == 1)),
        }
    }

    /// Reads a varint, which is wire type 0.
    #[inline]
    pub fn varint(&mut self) -> ProtobufResult<u64> {
        match self.bytes.get(self.position) {
            Some(&byte) if byte < 0x80 => {
                self.position += 1;
                Ok(u64::from(byte))
            }
            _ => self.long_varint(),
        }
    }

    fn long_varint(&mut self) -> ProtobufResult<u64> {
        let rest = self.bytes.get(self.position..).unwrap_or_default();
        let mut value = 0u64;
        for (i, &byte) in rest.iter().enumerate().take(10) {
            value |= u64::from(byte & 0x7f) << (7 * i);
            if byte < 0x80 {
                self.position += i + 1;
                return Ok(value);
            }
        }
        match rest.len() {
            0..10 => self.fault("expected a whole number, got the end of the message"),
            _ => self.fault("expected a varint of at most 10 bytes, got more"),
        }
    }

    #[inline]
    fn chunk<const N: usize>(&mut self) -> ProtobufResult<[u8; N]> {
        match self.bytes.get(self.position..).and_then(|rest| rest.first_chunk::<N>()) {
            Some(chunk) => {
                self.position += N;
                Ok(*chunk)
            }
            None => self.fault(format!("expected {N} bytes, got the end of the message")),
        }
    }

    /// Reads the content of a length-delimited field.
    #[inline]
    pub fn delimited(&mut self) -> ProtobufResult<&'a [u8]> {
        let inner = self.message()?;
        Ok(inner.bytes.get(inner.position..).unwrap_or_default())
    }

    /// Reads a length-delimited field, and returns a cursor over the message in it.
    #[inline]
    pub fn message(&mut self) -> ProtobufResult<ProtobufCursor<'a>> {
        let start = self.position;
        let length = self.varint()?;
        let end = usize::try_from(length).ok().and_then(|length| self.position.checked_add(length));
        match end.and_then(|end| self.bytes.get(..end)) {
            Some(bytes) => {
                let inner = ProtobufCursor { bytes, position: self.position };
                self.position = bytes.len();
                Ok(inner)
            }
            None => {
                let left = self.bytes.len() - self.position;
                self.position = start;
                self.fault(format!("expected a field of {length} bytes, got {left} bytes"))
            }
        }
    }

    /// Returns the bytes of the next field with its tag, and does not move the cursor.
    pub fn next_field(&self) -> ProtobufResult<&'a [u8]> {
        let mut lookahead = Self { bytes: self.bytes, position: self.position };
        let tag = lookahead.tag()?;
        lookahead.skip(tag)?;
        Ok(self.bytes.get(self.position..lookahead.position).unwrap_or_default())
    }

    /// Skips the value of a field.
    pub fn skip(&mut self, tag: u32) -> ProtobufResult<()> {
        self.skip_below(tag, MAX_UNKNOWN_DEPTH)
    }

    fn skip_below(&mut self, tag: u32, depth: usize) -> ProtobufResult<()> {
        match tag & 7 {
            VARINT => self.varint().map(|_| ()),
            FIXED64 => self.chunk::<8>().map(|_| ()),
            DELIMITED => self.message().map(|_| ()),
            FIXED32 => self.chunk::<4>().map(|_| ()),
            GROUP if depth == 0 => {
                self.fault(format!("expected at most {MAX_UNKNOWN_DEPTH} nested groups, got more"))
            }
            GROUP => loop {
                let inner = self.tag()?;
                if inner & 7 == GROUP_END {
                    return self.end_group(inner, tag >> 3);
                }
                self.skip_below(inner, depth - 1)?;
            },
            GROUP_END => {
                self.fault(format!("expected a field, got the end of group {}, which is not open", tag >> 3))
            }
            wire => self.fault(format!("expected a wire type from 0 to 5, got {wire} in field {}", tag >> 3)),
        }
    }

    /// Checks that `tag` is the end of the `open` group.
    pub fn end_group(&self, tag: u32, open: u32) -> ProtobufResult<()> {
        if tag >> 3 == open {
            return Ok(());
        }
        self.fault(format!("expected the end of group {open}, got the end of group {}", tag >> 3))
    }
}
