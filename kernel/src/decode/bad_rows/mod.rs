//! The messages of the open batch, which are stored so that a failed batch can be decoded again.
//!
//! A value decoder is unusable after an error, and may find an error only at the end of the batch. So new
//! decoders decode a failed batch again in smaller and smaller pieces, until each bad message is the only
//! message of its piece.

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

/// The messages of the open batch, and the schemas to decode them.
pub struct BatchMessages {
    schema: PayloadSchema,
    fields: Vec<FieldRef>,
    /// The writer's schema of each version, or the reason why the version is refused.
    versions: HashMap<Vec<u8>, Version>,
    payloads: Payloads,
}

enum Version {
    Known(PayloadSchema),
    Refused(KernelError),
}

/// The rows of a failed batch, and its bad rows.
pub struct Salvage {
    /// Columns of all rows; bad rows are null.
    pub columns: Vec<ArrayRef>,
    /// Payloads of the bad rows, null in other rows.
    pub bad: BinaryArray,
    /// Number of bad rows.
    pub bad_rows: u64,
    /// Error of the first bad row.
    pub first: Option<KernelError>,
}

/// The error of a piece that could not be decoded.
struct PieceFault {
    /// Number of the bad row, if it is known.
    row: Option<usize>,
    error: KernelError,
}

/// The decoded rows `start..end` of a batch.
struct Piece {
    start: usize,
    end: usize,
    columns: Vec<ArrayRef>,
}

impl BatchMessages {
    /// Creates an empty store for messages of a schema, and the columns to decode.
    pub fn new(schema: PayloadSchema, fields: Vec<FieldRef>) -> Self {
        Self { schema, fields, versions: HashMap::new(), payloads: Payloads::default() }
    }

    /// Returns whether the batch has columns to decode.
    pub fn has_columns(&self) -> bool {
        !self.fields.is_empty()
    }

    /// Returns whether `learn` or `refuse` was already called for this version.
    pub fn knows(&self, version: &[u8]) -> bool {
        self.versions.contains_key(version)
    }

    /// Adds the writer's schema of a version, unless the version was added or refused before.
    pub fn learn(&mut self, version: &[u8], written: &PayloadSchema) {
        self.versions.entry(version.to_vec()).or_insert_with(|| Version::Known(written.clone()));
    }

    /// Refuses to decode messages of a version, for the reason `why`.
    pub fn refuse(&mut self, version: &[u8], why: KernelError) {
        self.versions.insert(version.to_vec(), Version::Refused(why));
    }

    /// Stores a message; `None` is a null value.
    pub fn push(&mut self, payload: Option<&[u8]>, version: &[u8]) {
        self.payloads.push(payload, version);
    }

    /// Marks the last message as bad, even if its payload can be decoded.
    pub fn mark_bad(&mut self, fault: KernelError) {
        self.payloads.mark_bad(fault);
    }

    /// Removes all messages.
    pub fn clear(&mut self) {
        self.payloads.clear();
    }

    /// Appends a message to `values`, or returns the reason if its version is refused.
    pub fn append(&self, values: &mut Values, payload: Option<&[u8]>, version: &[u8]) -> Result<()> {
        match self.versions.get(version) {
            // A null value is independent of its version.
            Some(Version::Refused(why)) if payload.is_some() => Err(why.clone()),
            _ => values.append(payload, version),
        }
    }

    /// Creates an empty decoder, and adds all versions to the decoder.
    pub fn decoder(&self, batch_rows: usize) -> Result<Values> {
        let mut values = Values::new(&self.schema, self.fields.clone(), batch_rows)?;
        for (version, known) in &self.versions {
            if let Version::Known(written) = known {
                values.add_version(version, written)?;
            }
        }
        Ok(values)
    }

    /// Decodes all good messages of the batch; `at` contains the position of each message.
    ///
    /// Returns an error if no message is the cause of the failure.
    pub fn salvage(&self, at: &[MessageRef]) -> Result<Salvage> {
        let mut pieces = Vec::new();
        let mut bad = Vec::new();
        let mut first = None;
        // The stack `open` contains the pieces that must still be decoded, with the earliest rows on top.
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
        let first = first
            .and_then(|(row, error)| Some(with_version(error, self.payloads.version(row)).at(*at.get(row)?)));
        let columns = self.assemble(&mut pieces, at.len())?;
        let bad_rows = bad.len() as u64;
        Ok(Salvage { columns, bad: self.payloads_of(&bad, at.len()), bad_rows, first })
    }

    /// Returns a column of `rows` rows with the payloads of the `bad` rows, which must be in ascending order.
    fn payloads_of(&self, bad: &[usize], rows: usize) -> BinaryArray {
        let mut out = BinaryBuilder::new();
        for &row in bad {
            out.append_nulls(row.saturating_sub(out.len()));
            out.append_value(self.payloads.payload(row).unwrap_or_default());
        }
        out.append_nulls(rows.saturating_sub(out.len()));
        out.finish()
    }

    /// Decodes the rows `start..end` of the batch with a new decoder.
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
            // Most pieces of a bad batch fail at their first row, so each version is added only when a row needs it.
            let added = match self.versions.get(version) {
                Some(Version::Known(written)) if !values.knows(version) => {
                    values.add_version(version, written)
                }
                _ => Ok(()),
            };
            added
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

    /// Joins the pieces into columns of `rows` rows; rows without a piece are null.
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
            KernelError::payload(format!("cannot join the rows that decoded: {e}"))
        })
    }

    /// Finds the first row that makes the batch fail with `error`, and returns the error of this row.
    pub fn blame(&self, error: KernelError, at: &[MessageRef]) -> KernelError {
        if error.at.is_some() || !is_of_message(&error) || self.payloads.len() != at.len() {
            return error;
        }
        // The batch fails, so the search continues in the half that fails. If no half fails, no message is the cause.
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
            (Err(fault), Some(at)) => with_version(fault.error, self.payloads.version(start)).at(*at),
            _ => error,
        }
    }
}

/// Returns whether the cause of the error is one message. Other causes are the schema of the read and the
/// entry.
pub fn is_of_message(error: &KernelError) -> bool {
    matches!(error.kind, ErrorKind::Payload | ErrorKind::Unsupported | ErrorKind::TooLarge)
}

/// Adds the schema version of the message to the error's text.
pub fn with_version(mut error: KernelError, version: &[u8]) -> KernelError {
    if is_of_message(&error) && !version.is_empty() {
        let text = match <[u8; 8]>::try_from(version) {
            Ok(number) => i64::from_be_bytes(number).to_string(),
            Err(_) => version.iter().map(|byte| format!("{byte:02x}")).collect(),
        };
        error.message = format!("{} (written with schema version {text})", error.message);
    }
    error
}
