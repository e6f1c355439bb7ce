//! The payloads of an open batch that are kept beside its columns.

use std::collections::HashSet;

use arrow_array::builder::BinaryBuilder;
use arrow_array::{Array, BinaryArray};

use super::completeness::Completeness;
use crate::error::Result;
use crate::payload_schema::PayloadSchema;

/// All payloads of the batch, and which of them are kept for sure; which rows are bad is known at the end.
pub struct KeptPayloads {
    completeness: Completeness,
    /// Versions of which all messages are kept.
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
    /// Of messages that are read by `schema`. Raises "schema" for a definition that is not valid.
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

    /// Keep all messages of a version.
    pub fn add_version(&mut self, version: &[u8]) {
        self.versions.insert(version.to_vec());
    }

    /// Keep all messages.
    pub fn keep_all(&mut self) {
        self.keeps_all = true;
    }

    /// Add one message by its own payload, and by the `value` that columns are made of; `None` is a null value.
    pub fn append(&mut self, payload: Option<&[u8]>, value: Option<&[u8]>, version: &[u8]) {
        let is_kept = value.is_some_and(|value| {
            self.keeps_all
                || (!self.versions.is_empty() && self.versions.contains(version))
                || !self.completeness.tells_all(value)
        });
        self.push(payload, is_kept);
    }

    /// Add one message whose payload is kept in any case.
    pub fn append_whole(&mut self, payload: Option<&[u8]>) {
        self.push(payload, true);
    }

    fn push(&mut self, payload: Option<&[u8]>, is_kept: bool) {
        self.bytes.extend_from_slice(payload.unwrap_or_default());
        self.rows.push(KeptRow { end: self.bytes.len(), is_null: payload.is_none(), is_kept });
    }

    /// The payloads that are kept, also those of rows that are `bad`, null in the others; starts a new batch.
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
