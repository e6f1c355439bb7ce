//! A cursor over Avro bytes: <https://avro.apache.org/docs/1.12.0/specification/#binary-encoding>.

use crate::avro_schema::{AvroType, Recursive};

/// Maximum nesting depth of skipped values, as in the JSON decoder.
const MAX_DEPTH: usize = 1000;

/// A difference between a value and its schema.
#[derive(Debug)]
pub struct AvroFault {
    /// Path of the value: the names of its fields, from the outermost to the innermost.
    pub path: String,
    /// Error text of the form `expected ..., got ...`.
    pub why: String,
}

impl AvroFault {
    /// Removes the path. For a record that contains itself, the path can be as long as the message.
    pub fn without_path(mut self: Box<Self>) -> Box<Self> {
        self.path.clear();
        self
    }

    /// Prepends the field, item or key `step` to the path.
    pub fn below(mut self: Box<Self>, step: &str) -> Box<Self> {
        let dot = if self.path.is_empty() || self.path.starts_with(['[', '{']) { "" } else { "." };
        self.path = format!("{step}{dot}{}", self.path);
        self
    }
}

/// The result of reading a value.
pub type AvroResult<T> = Result<T, Box<AvroFault>>;

/// Returns a fault of the value itself, without a path.
pub fn fault<T>(why: impl Into<String>) -> AvroResult<T> {
    Err(Box::new(AvroFault { path: String::new(), why: why.into() }))
}

/// A cursor over the bytes of one message.
pub struct AvroCursor<'a> {
    rest: &'a [u8],
    /// Records of the writer's schema that contain themselves.
    recursive: Option<&'a Recursive>,
    /// Number of values that enclose the skipped value.
    depth: usize,
}

impl<'a> AvroCursor<'a> {
    /// Creates a cursor at the start of `payload`.
    pub fn new(payload: &'a [u8]) -> Self {
        Self { rest: payload, recursive: None, depth: 0 }
    }

    /// Creates a cursor over a message whose writer's schema has records that contain themselves.
    pub fn recursive(payload: &'a [u8], recursive: &'a Recursive) -> Self {
        Self { rest: payload, recursive: Some(recursive), depth: 0 }
    }

    /// Returns the record that a reference in the writer's schema names.
    pub fn record(&self, name: &str) -> AvroResult<&'a AvroType> {
        let record = self.recursive.and_then(|records| records.get(name));
        record.map_or_else(|| fault(format!("expected a known record, got {name}; report this as a bug")), Ok)
    }

    /// Calls `read` for the values inside the current value, and limits their depth.
    pub fn descend(&mut self, read: impl FnOnce(&mut Self) -> AvroResult<()>) -> AvroResult<()> {
        if self.depth == MAX_DEPTH {
            return fault(format!("expected at most {MAX_DEPTH} nested values, got more"));
        }
        self.depth += 1;
        read(self)?;
        self.depth -= 1;
        Ok(())
    }

    /// Returns the number of remaining bytes.
    pub fn len(&self) -> usize {
        self.rest.len()
    }

    /// Reads the next `count` bytes.
    #[inline]
    pub fn take(&mut self, count: usize) -> AvroResult<&'a [u8]> {
        let Some((bytes, rest)) = self.rest.split_at_checked(count) else { return self.end_fault(count) };
        self.rest = rest;
        Ok(bytes)
    }

    /// Reads the next `N` bytes.
    #[inline]
    pub fn array<const N: usize>(&mut self) -> AvroResult<[u8; N]> {
        let Some((bytes, rest)) = self.rest.split_first_chunk() else { return self.end_fault(N) };
        self.rest = rest;
        Ok(*bytes)
    }

    #[cold]
    fn end_fault<T>(&self, expected: usize) -> AvroResult<T> {
        fault(format!("expected {expected} more bytes, got {}", self.rest.len()))
    }

    /// Reads a zigzag number of at most ten bytes.
    #[inline]
    pub fn long(&mut self) -> AvroResult<i64> {
        // Most lengths and branch indexes are one byte long.
        if let Some((byte @ 0..0x80, rest)) = self.rest.split_first() {
            self.rest = rest;
            return Ok(i64::from(byte >> 1) ^ -i64::from(byte & 1));
        }
        self.long_of_several_bytes()
    }

    fn long_of_several_bytes(&mut self) -> AvroResult<i64> {
        let mut value = 0u64;
        for (i, byte) in self.rest.iter().take(10).enumerate() {
            value |= u64::from(byte & 0x7f) << (7 * i);
            if byte & 0x80 == 0 {
                if i == 9 && *byte > 1 {
                    return fault("expected a number of 64 bits, got more");
                }
                self.rest = self.rest.get(i + 1..).unwrap_or_default();
                return Ok((value >> 1) as i64 ^ -((value & 1) as i64));
            }
        }
        if self.rest.len() < 10 {
            return fault("expected a number, got the end of the message");
        }
        fault("expected a number of at most ten bytes, got more")
    }

    /// Reads an int.
    pub fn int(&mut self) -> AvroResult<i32> {
        let value = self.long()?;
        i32::try_from(value).or_else(|_| fault(format!("expected an int of 32 bits, got {value}")))
    }

    /// Reads a length, and then this number of bytes.
    #[inline]
    pub fn bytes(&mut self) -> AvroResult<&'a [u8]> {
        let length = self.long()?;
        match usize::try_from(length) {
            Ok(length) => self.take(length),
            Err(_) => fault(format!("expected a length, got {length}")),
        }
    }

    /// Reads a boolean.
    pub fn boolean(&mut self) -> AvroResult<bool> {
        match self.array()? {
            [0] => Ok(false),
            [1] => Ok(true),
            [other] => fault(format!("expected a boolean of 0 or 1, got {other}")),
        }
    }

    /// Reads an index, and returns the branch or symbol at this index.
    pub fn branch<'b, T>(&mut self, branches: &'b [T]) -> AvroResult<&'b T> {
        let index = self.long()?;
        let branch = usize::try_from(index).ok().and_then(|i| branches.get(i));
        branch.map_or_else(|| fault(format!("expected branch 0 to {}, got {index}", branches.len() - 1)), Ok)
    }

    /// Reads the header of the next block of an array or map: the number of items, and the size in bytes if present.
    ///
    /// A block with 0 items ends the array or map.
    pub fn block(&mut self) -> AvroResult<(u64, Option<i64>)> {
        let count = self.long()?;
        let size = if count < 0 { Some(self.long()?) } else { None };
        Ok((count.unsigned_abs(), size))
    }
}
