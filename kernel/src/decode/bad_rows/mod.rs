//! The messages of the open batch, kept so that they can be decoded again.
//!
//! A value decoder is of no use after an error, and may find the fault only when the batch is finished. So a batch
//! that fails is decoded again in pieces by fresh decoders, until every message that is to blame stands alone.

mod payloads;

use std::collections::HashMap;

use arrow_array::builder::{ArrayBuilder, BinaryBuilder};
use arrow_array::{Array, ArrayRef, BinaryArray, UInt32Array, new_null_array};
use arrow_schema::FieldRef;
use arrow_select::{concat::concat, take::take};

use super::values::Values;
use crate::error::{ErrorKind, KernelError, MessageRef, Result};
use crate::payload_schema::PayloadSchema;
use payloads::Payloads;

/// The messages of the open batch, and what it takes to decode them.
pub struct BatchMessages {
    schema: PayloadSchema,
    fields: Vec<FieldRef>,
    /// What versions were written with, to make further decoders; and why a version is refused.
    versions: HashMap<Vec<u8>, Version>,
    payloads: Payloads,
}

enum Version {
    Known(PayloadSchema),
    Refused(KernelError),
}

/// What is left of a batch that fails.
pub struct Salvage {
    /// Bad rows null.
    pub columns: Vec<ArrayRef>,
    /// The payload of each bad row, null in the others.
    pub bad: BinaryArray,
    /// How many rows are bad.
    pub bad_rows: u64,
    /// The error of the first one.
    pub first: Option<KernelError>,
}

/// A piece of a batch that did not decode.
struct PieceFault {
    /// The row to blame, when that is known.
    row: Option<usize>,
    error: KernelError,
}

/// Rows `start..end` of a batch, decoded.
struct Piece {
    start: usize,
    end: usize,
    columns: Vec<ArrayRef>,
}

impl BatchMessages {
    /// None yet, of a schema and its columns.
    pub fn new(schema: PayloadSchema, fields: Vec<FieldRef>) -> Self {
        Self { schema, fields, versions: HashMap::new(), payloads: Payloads::default() }
    }

    /// Whether there are columns to decode.
    pub fn has_columns(&self) -> bool {
        !self.fields.is_empty()
    }

    /// Whether `learn` or `refuse` was called with this version.
    pub fn knows(&self, version: &[u8]) -> bool {
        self.versions.contains_key(version)
    }

    /// What messages of a version were written with; ignored when it is known or refused already.
    pub fn learn(&mut self, version: &[u8], written: &PayloadSchema) {
        self.versions.entry(version.to_vec()).or_insert_with(|| Version::Known(written.clone()));
    }

    /// Messages of this version do not decode; `why` is the reason.
    pub fn refuse(&mut self, version: &[u8], why: KernelError) {
        self.versions.insert(version.to_vec(), Version::Refused(why));
    }

    /// Keep one message; `None` is a null value.
    pub fn push(&mut self, payload: Option<&[u8]>, version: &[u8]) {
        self.payloads.push(payload, version);
    }

    /// The message that was kept last is bad, whatever its payload is.
    pub fn mark_bad(&mut self, fault: KernelError) {
        self.payloads.mark_bad(fault);
    }

    /// Let go of all messages.
    pub fn clear(&mut self) {
        self.payloads.clear();
    }

    /// Append to `values`, unless the version is refused.
    pub fn append(&self, values: &mut Values, payload: Option<&[u8]>, version: &[u8]) -> Result<()> {
        match self.versions.get(version) {
            // A null value means the same in every version.
            Some(Version::Refused(why)) if payload.is_some() => Err(why.clone()),
            _ => values.append(payload, version),
        }
    }

    /// An empty decoder that knows all versions.
    pub fn decoder(&self, batch_rows: usize) -> Result<Values> {
        let mut values = Values::new(&self.schema, self.fields.clone(), batch_rows)?;
        for (version, known) in &self.versions {
            if let Version::Known(written) = known {
                values.add_version(version, written)?;
            }
        }
        Ok(values)
    }

    /// Decode the messages without those that are bad. `at` names them; an error is not of a message.
    pub fn salvage(&self, at: &[MessageRef]) -> Result<Salvage> {
        let mut pieces = Vec::new();
        let mut bad = Vec::new();
        let mut first = None;
        // A stack, the earliest rows on top.
        let mut open = vec![(0, at.len())];
        while let Some((start, end)) = open.pop() {
            match self.decode(start, end, at) {
                Ok(columns) => pieces.push(Piece { start, end, columns }),
                Err(fault) if !is_of_message(&fault.error) => return Err(fault.error),
                Err(PieceFault { row: None, .. }) if end - start > 1 => {
                    let middle = start + (end - start) / 2;
                    open.extend([(middle, end), (start, middle)]);
                }
                Err(fault) => {
                    let row = fault.row.unwrap_or(start);
                    bad.push(row);
                    if first.as_ref().is_none_or(|(earliest, _)| row < *earliest) {
                        first = Some((row, fault.error));
                    }
                    open.extend([(row + 1, end), (start, row)].into_iter().filter(|(a, b)| a < b));
                }
            }
        }
        bad.sort_unstable();
        let first =
            first.and_then(|(row, error)| Some(named(error, self.payloads.version(row)).at(*at.get(row)?)));
        let columns = self.assemble(&mut pieces, at.len())?;
        let bad_rows = bad.len() as u64;
        Ok(Salvage { columns, bad: self.payloads_of(&bad, at.len()), bad_rows, first })
    }

    /// A column of `rows` rows with the payloads of the rows `bad`, which ascend.
    fn payloads_of(&self, bad: &[usize], rows: usize) -> BinaryArray {
        let mut out = BinaryBuilder::new();
        for &row in bad {
            out.append_nulls(row.saturating_sub(out.len()));
            out.append_value(self.payloads.payload(row).unwrap_or_default());
        }
        out.append_nulls(rows.saturating_sub(out.len()));
        out.finish()
    }

    /// Rows `start..end` of the batch on their own.
    fn decode(
        &self,
        start: usize,
        end: usize,
        at: &[MessageRef],
    ) -> std::result::Result<Vec<ArrayRef>, PieceFault> {
        let mut values = Values::new(&self.schema, self.fields.clone(), end - start)
            .map_err(|error| PieceFault { row: None, error })?;
        for row in start..end {
            let version = self.payloads.version(row);
            // Versions are learnt when they are met: most pieces of a bad batch end at their first row.
            let learnt = match self.versions.get(version) {
                Some(Version::Known(written)) if !values.knows(version) => {
                    values.add_version(version, written)
                }
                _ => Ok(()),
            };
            learnt
                .and_then(|()| self.payloads.fault(row).map_or(Ok(()), |fault| Err(fault.clone())))
                .and_then(|()| self.append(&mut values, self.payloads.payload(row), version))
                .map_err(|error| PieceFault { row: Some(row), error })?;
        }
        let messages = at.get(start..end).unwrap_or_default();
        values.finish(messages).map_err(|error| {
            let row = messages.iter().position(|message| Some(*message) == error.at);
            PieceFault { row: row.map(|row| start + row), error }
        })
    }

    /// All `rows` rows of the batch, null where no piece has them.
    fn assemble(&self, pieces: &mut [Piece], rows: usize) -> Result<Vec<ArrayRef>> {
        pieces.sort_unstable_by_key(|piece| piece.start);
        let mut indices: Vec<Option<u32>> = vec![None; rows];
        let mut next = 0;
        for piece in pieces.iter() {
            for index in indices.iter_mut().take(piece.end).skip(piece.start) {
                *index = Some(next);
                next += 1;
            }
        }
        let indices = UInt32Array::from(indices);
        let column = |(i, field): (usize, &FieldRef)| {
            let parts: Vec<&dyn Array> =
                pieces.iter().filter_map(|p| p.columns.get(i)).map(AsRef::as_ref).collect();
            if parts.is_empty() {
                return Ok(new_null_array(field.data_type(), rows));
            }
            take(&concat(&parts)?, &indices, None)
        };
        let columns = self.fields.iter().enumerate().map(column);
        columns.collect::<std::result::Result<_, _>>().map_err(|e: arrow_schema::ArrowError| {
            KernelError::payload(format!("the rows that decode cannot be put together: {e}"))
        })
    }

    /// The error of the first row that is to blame for `error` of the whole batch.
    pub fn blame(&self, error: KernelError, at: &[MessageRef]) -> KernelError {
        if error.at.is_some() || !is_of_message(&error) || self.payloads.len() != at.len() {
            return error;
        }
        // The batch fails, so one of its halves does; when none does, no single message is to blame.
        let (mut start, mut end) = (0, at.len());
        while end - start > 1 {
            let middle = start + (end - start) / 2;
            match self.decode(start, middle, at) {
                Err(PieceFault { row: Some(row), .. }) => (start, end) = (row, row + 1),
                Err(PieceFault { row: None, .. }) => end = middle,
                Ok(_) => start = middle,
            }
        }
        match (self.decode(start, end, at), at.get(start)) {
            (Err(fault), Some(at)) => named(fault.error, self.payloads.version(start)).at(*at),
            _ => error,
        }
    }
}

/// Whether one message is at fault, and not the schema of the read or the entry around the message.
pub fn is_of_message(error: &KernelError) -> bool {
    matches!(error.kind, ErrorKind::Payload | ErrorKind::Unsupported | ErrorKind::TooLarge)
}

/// Say which version the message names.
pub fn named(mut error: KernelError, version: &[u8]) -> KernelError {
    if is_of_message(&error) && !version.is_empty() {
        let text = match <[u8; 8]>::try_from(version) {
            Ok(number) => i64::from_be_bytes(number).to_string(),
            Err(_) => version.iter().map(|byte| format!("{byte:02x}")).collect(),
        };
        error.message = format!("{} (written with schema version {text})", error.message);
    }
    error
}
