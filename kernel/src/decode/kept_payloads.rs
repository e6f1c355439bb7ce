//! The kept payloads of an open batch.

use std::collections::HashSet;

use arrow_array::builder::BinaryBuilder;
use arrow_array::{Array, BinaryArray};

use super::completeness::Completeness;
use crate::error::Result;
use crate::payload_schema::PayloadSchema;

/// The payloads of an open batch, until its end determines which of them are kept.
///
/// At the end of the batch, the payloads of all bad rows are kept, in addition to the payloads that are
/// already marked.
pub struct KeptPayloads {
    completeness: Completeness,
    /// Schema versions whose messages are all kept.
    versions: HashSet<Vec<u8>>,
    keeps_all: bool,
    bytes: Vec<u8>,
    rows: Vec<KeptRow>,
}

struct KeptRow {
    /// End offset in `bytes`.
    end: usize,
    is_null: bool,
    is_kept: bool,
}

impl KeptPayloads {
    /// Creates the buffer for messages of `schema`; returns an error of the kind `schema` if it is not valid.
    pub fn new(schema: &PayloadSchema) -> Result<Self> {
        let completeness = Completeness::new(schema)?;
        Ok(Self {
            completeness,
            versions: HashSet::new(),
            keeps_all: false,
            bytes: Vec::new(),
            rows: Vec::new(),
        })
    }

    /// Keeps all messages of a version.
    pub fn add_version(&mut self, version: &[u8]) {
        self.versions.insert(version.to_vec());
    }

    /// Keeps all messages.
    pub fn keep_all(&mut self) {
        self.keeps_all = true;
    }

    /// Adds a message: its payload, and the `value` that the columns are decoded from.
    ///
    /// `None` is a null value. Payload and value differ only for a key-value message with a separate key.
    pub fn append(&mut self, payload: Option<&[u8]>, value: Option<&[u8]>, version: &[u8]) {
        let is_kept = value.is_some_and(|value| {
            self.keeps_all
                || (!self.versions.is_empty() && self.versions.contains(version))
                || !self.completeness.is_complete(value)
        });
        self.push(payload, is_kept);
    }

    /// Adds a message, and always keeps its payload.
    pub fn append_whole(&mut self, payload: Option<&[u8]>) {
        self.push(payload, true);
    }

    fn push(&mut self, payload: Option<&[u8]>, is_kept: bool) {
        self.bytes.extend_from_slice(payload.unwrap_or_default());
        self.rows.push(KeptRow { end: self.bytes.len(), is_null: payload.is_none(), is_kept });
    }

    /// Returns the kept payloads, including all `bad` rows, with null for other rows, and starts a new batch.
    pub fn finish(&mut self, bad: Option<&BinaryArray>) -> BinaryArray {
        let mut out = BinaryBuilder::new();
        let mut start = 0;
        for (index, row) in self.rows.iter().enumerate() {
            let is_bad = bad.is_some_and(|bad| bad.is_valid(index));
            match self.bytes.get(start..row.end) {
                Some(payload) if (row.is_kept || is_bad) && !row.is_null => out.append_value(payload),
                _ => out.append_null(),
            }
            start = row.end;
        }
        self.bytes.clear();
        self.rows.clear();
        out.finish()
    }
}
