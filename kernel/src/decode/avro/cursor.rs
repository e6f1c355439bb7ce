//! Avro bytes, value by value: <https://avro.apache.org/docs/1.12.0/specification/#binary-encoding>.

use crate::avro_schema::{AvroType, Recursive};

/// Values inside each other that are skipped; as many as JSON may have.
const MAX_DEPTH: usize = 1000;

/// A value that is not what its schema says.
#[derive(Debug)]
pub struct AvroFault {
    /// Field names, outermost first.
    pub path: String,
    /// Expected and got.
    pub why: String,
}

impl AvroFault {
    /// Without the path below a record that is inside of itself, which can be as long as the message.
    pub fn of_outermost(mut self: Box<Self>) -> Box<Self> {
        self.path.clear();
        self
    }

    /// Below the field, item or key `step`.
    pub fn below(mut self: Box<Self>, step: &str) -> Box<Self> {
        let dot = if self.path.is_empty() || self.path.starts_with(['[', '{']) { "" } else { "." };
        self.path = format!("{step}{dot}{}", self.path);
        self
    }
}

/// Result of reading one value.
pub type AvroResult<T> = Result<T, Box<AvroFault>>;

/// A fault of the value itself.
pub fn fault<T>(why: impl Into<String>) -> AvroResult<T> {
    Err(Box::new(AvroFault { path: String::new(), why: why.into() }))
}

/// The bytes of one message that are not read yet.
pub struct AvroCursor<'a> {
    rest: &'a [u8],
    /// The records of the writer that contain themselves.
    recursive: Option<&'a Recursive>,
    /// Values around the one that is skipped.
    depth: usize,
}

impl<'a> AvroCursor<'a> {
    /// At the start of `payload`.
    pub fn new(payload: &'a [u8]) -> Self {
        Self { rest: payload, recursive: None, depth: 0 }
    }

    /// The same, of a writer with records that contain themselves.
    pub fn recursive(payload: &'a [u8], recursive: &'a Recursive) -> Self {
        Self { rest: payload, recursive: Some(recursive), depth: 0 }
    }

    /// What a reference of the writer's schema refers to.
    pub fn record(&self, name: &str) -> AvroResult<&'a AvroType> {
        let record = self.recursive.and_then(|records| records.get(name));
        record.map_or_else(|| fault(format!("record {name} is not known here; please report this")), Ok)
    }

    /// Do something with what is inside of the present value.
    pub fn inside(&mut self, what: impl FnOnce(&mut Self) -> AvroResult<()>) -> AvroResult<()> {
        if self.depth == MAX_DEPTH {
            return fault(format!("expected values at most {MAX_DEPTH} deep, got more"));
        }
        self.depth += 1;
        what(self)?;
        self.depth -= 1;
        Ok(())
    }

    /// Bytes that are left.
    pub fn len(&self) -> usize {
        self.rest.len()
    }

    /// The next `count` bytes.
    #[inline]
    pub fn take(&mut self, count: usize) -> AvroResult<&'a [u8]> {
        let Some((taken, rest)) = self.rest.split_at_checked(count) else { return self.cut_off(count) };
        self.rest = rest;
        Ok(taken)
    }

    /// The next `N` bytes.
    #[inline]
    pub fn array<const N: usize>(&mut self) -> AvroResult<[u8; N]> {
        let Some((taken, rest)) = self.rest.split_first_chunk() else { return self.cut_off(N) };
        self.rest = rest;
        Ok(*taken)
    }

    #[cold]
    fn cut_off<T>(&self, expected: usize) -> AvroResult<T> {
        fault(format!("expected {expected} more bytes, got {}", self.rest.len()))
    }

    /// A zigzag number of at most ten bytes.
    #[inline]
    pub fn long(&mut self) -> AvroResult<i64> {
        // Lengths and branches are mostly of one byte.
        if let Some((byte @ 0..0x80, rest)) = self.rest.split_first() {
            self.rest = rest;
            return Ok(i64::from(byte >> 1) ^ -i64::from(byte & 1));
        }
        self.longer()
    }

    fn longer(&mut self) -> AvroResult<i64> {
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

    /// An int.
    pub fn int(&mut self) -> AvroResult<i32> {
        let value = self.long()?;
        i32::try_from(value).or_else(|_| fault(format!("expected an int of 32 bits, got {value}")))
    }

    /// Bytes behind their length.
    #[inline]
    pub fn bytes(&mut self) -> AvroResult<&'a [u8]> {
        let length = self.long()?;
        match usize::try_from(length) {
            Ok(length) => self.take(length),
            Err(_) => fault(format!("expected a length, got {length}")),
        }
    }

    /// A boolean.
    pub fn boolean(&mut self) -> AvroResult<bool> {
        match self.array()? {
            [0] => Ok(false),
            [1] => Ok(true),
            [other] => fault(format!("expected a boolean of 0 or 1, got {other}")),
        }
    }

    /// What the index of a branch or symbol here means.
    pub fn branch<'b, T>(&mut self, branches: &'b [T]) -> AvroResult<&'b T> {
        let index = self.long()?;
        let branch = usize::try_from(index).ok().and_then(|i| branches.get(i));
        branch.map_or_else(|| fault(format!("expected branch 0 to {}, got {index}", branches.len() - 1)), Ok)
    }

    /// Items of the next block of an array or map; 0 ends it. The second is its size in bytes if it says so.
    pub fn block(&mut self) -> AvroResult<(u64, Option<i64>)> {
        let count = self.long()?;
        let size = if count < 0 { Some(self.long()?) } else { None };
        Ok((count.unsigned_abs(), size))
    }
}
