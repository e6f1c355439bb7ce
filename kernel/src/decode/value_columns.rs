//! The value columns of an open batch, whatever their type, and what happens to messages that do not decode.
//!
//! Value decoders work batch-wise, may choke on a message only when the batch is finished, and are of no use
//! after an error. So the payloads of the open batch are kept, and a batch that fails is decoded again in
//! pieces by fresh decoders, until every message that is to blame stands alone.

use std::collections::HashMap;

use arrow_array::builder::{ArrayBuilder, BinaryBuilder};
use arrow_array::{Array, ArrayRef, BinaryArray, UInt32Array, new_null_array};
use arrow_schema::FieldRef;
use arrow_select::{concat::concat, take::take};

use super::DecoderOptions;
use super::metadata_columns::Row;
use super::payloads::Payloads;
use super::values::Values;
use crate::error::{ErrorKind, KernelError, MessageRef, Result};
use crate::payload_schema::PayloadSchema;

/// Stands for the version of messages that are still encrypted; longer than any version of a registry.
const SEALED: &[u8] = b"the message is still encrypted";

/// What becomes of a message that is whole but whose value does not decode.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum BadRows {
    /// It is an error.
    #[default]
    Fail,
    /// Its value columns are null.
    Null,
    /// It yields no row.
    Drop,
}

impl BadRows {
    /// By its name in Python: "fail", "null" or "drop".
    pub fn from_name(name: &str) -> Result<Self> {
        Ok(match name {
            "fail" => Self::Fail,
            "null" => Self::Null,
            "drop" => Self::Drop,
            _ => {
                return Err(KernelError::schema(format!(
                    "bad_rows: expected fail, null or drop, got {name:?}"
                )));
            }
        })
    }
}

/// The value columns of a finished batch.
pub struct FinishedValues {
    /// In the order of the output schema, bad rows null.
    pub columns: Vec<ArrayRef>,
    /// The payload of each bad row, null in the others; `None` when no row is bad.
    pub bad: Option<BinaryArray>,
}

/// How many messages were bad so far, and why the first one was.
#[derive(Debug, Clone, Default)]
pub struct BadRowCount {
    /// Messages.
    pub rows: u64,
    /// The first one's error.
    pub first: Option<KernelError>,
}

/// Value columns under construction.
pub struct ValueColumns {
    schema: PayloadSchema,
    batch_rows: usize,
    mode: BadRows,
    fields: Vec<FieldRef>,
    values: Values,
    /// What versions were written with, to make further decoders; and why a version is refused.
    versions: HashMap<Vec<u8>, Version>,
    /// Whether some version that messages may have is refused.
    refuses: bool,
    kept: Payloads,
    /// `values` failed: the rows of the batch are only kept, until it is finished.
    broken: bool,
    count: BadRowCount,
}

enum Version {
    Known(PayloadSchema),
    Refused(KernelError),
}

/// A piece of a batch that did not decode.
struct Fault {
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

impl ValueColumns {
    /// For the value columns `fields` of the output schema.
    pub fn new(options: &DecoderOptions, fields: Vec<FieldRef>) -> Result<Self> {
        let values = Values::new(&options.value, fields.clone(), options.batch_rows)?;
        Ok(Self {
            schema: options.value.clone(),
            batch_rows: options.batch_rows,
            mode: options.bad_rows,
            fields,
            values,
            versions: HashMap::from([(SEALED.to_vec(), Version::Refused(sealed()))]),
            refuses: false,
            kept: Payloads::default(),
            broken: false,
            count: BadRowCount::default(),
        })
    }

    /// Whether schema versions matter.
    pub fn needs_versions(&self) -> bool {
        self.values.needs_versions()
    }

    /// Whether `add_version` or `refuse_version` was called with it.
    pub fn knows(&self, version: &[u8]) -> bool {
        self.versions.contains_key(version) || self.values.knows(version)
    }

    /// Make a version known; ignored where versions do not matter.
    pub fn add_version(&mut self, version: &[u8], written: &PayloadSchema) -> Result<()> {
        self.values.add_version(version, written)?;
        self.versions.entry(version.to_vec()).or_insert_with(|| Version::Known(written.clone()));
        Ok(())
    }

    /// Make all messages of a version bad rows; `why` is the reason.
    pub fn refuse_version(&mut self, version: &[u8], why: &str) {
        let refused = Version::Refused(KernelError::payload(why));
        self.versions.insert(version.to_vec(), refused);
        self.refuses = true;
    }

    /// What `append` takes of a message; see [`Values::payload`].
    pub fn payload<'a>(&self, row: &Row<'a>, joined: &'a mut Vec<u8>) -> Result<Option<&'a [u8]>> {
        self.values.payload(row, joined)
    }

    /// Bad rows of all finished batches.
    pub fn bad_rows(&self) -> &BadRowCount {
        &self.count
    }

    /// Count bad rows anew.
    pub fn reset_count(&mut self) {
        self.count = BadRowCount::default();
    }

    /// Add one message; `None` is a null value. In mode [`BadRows::Fail`] a message that is known to be bad
    /// already is an error.
    pub fn append(&mut self, payload: Option<&[u8]>, version: &[u8]) -> Result<()> {
        if self.keeps_payloads() {
            self.kept.push(payload, version);
        }
        if self.broken {
            return Ok(());
        }
        let appended = if self.refuses || version == SEALED {
            append(&mut self.values, &self.versions, payload, version)
        } else {
            self.values.append(payload, version)
        };
        match appended {
            Err(error) if self.tolerates(&error) => self.broken = true,
            Err(error) => return Err(named(error, version)),
            Ok(()) => {}
        }
        Ok(())
    }

    /// Add a message that is still encrypted: its bytes where bytes are the value, else a bad row.
    pub fn append_sealed(&mut self, payload: Option<&[u8]>) -> Result<()> {
        let version = if self.values.takes_sealed() { &[] } else { SEALED };
        self.append(payload, version)
    }

    /// The columns so far; starts new ones. `at` names the rows' messages.
    pub fn finish(&mut self, at: &[MessageRef]) -> Result<FinishedValues> {
        if !self.broken {
            match self.values.finish(at) {
                Ok(columns) => {
                    self.kept.clear();
                    return Ok(FinishedValues { columns, bad: None });
                }
                Err(error) if self.tolerates(&error) => {}
                Err(error) => return Err(self.blame(error, at)),
            }
        }
        let finished = self.salvage(at)?;
        self.kept.clear();
        self.broken = false;
        self.values = self.fresh()?;
        Ok(finished)
    }

    fn keeps_payloads(&self) -> bool {
        !self.fields.is_empty() && (self.mode != BadRows::Fail || self.values.fails_late())
    }

    /// Whether a message with this fault is a bad row; else the read is at fault.
    fn tolerates(&self, error: &KernelError) -> bool {
        self.mode != BadRows::Fail && is_of_message(error)
    }

    /// Decode the kept rows without those that are bad.
    fn salvage(&mut self, at: &[MessageRef]) -> Result<FinishedValues> {
        let mut pieces = Vec::new();
        let mut bad = Vec::new();
        let mut first = None;
        // A stack, the earliest rows on top.
        let mut open = vec![(0, at.len())];
        while let Some((start, end)) = open.pop() {
            match self.decode(start, end, at) {
                Ok(columns) => pieces.push(Piece { start, end, columns }),
                Err(fault) if !is_of_message(&fault.error) => return Err(fault.error),
                Err(Fault { row: None, .. }) if end - start > 1 => {
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
        self.count.rows += bad.len() as u64;
        if let (None, Some((row, error))) = (&self.count.first, first) {
            self.count.first = at.get(row).map(|at| named(error, self.kept.version(row)).at(*at));
        }
        let columns = self.assemble(&mut pieces, at.len())?;
        Ok(FinishedValues { columns, bad: Some(self.payloads_of(&bad, at.len())) })
    }

    /// A column of `rows` rows with the payloads of the rows `bad`, which ascend.
    fn payloads_of(&self, bad: &[usize], rows: usize) -> BinaryArray {
        let mut out = BinaryBuilder::new();
        for &row in bad {
            out.append_nulls(row.saturating_sub(out.len()));
            out.append_value(self.kept.payload(row).unwrap_or_default());
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
    ) -> std::result::Result<Vec<ArrayRef>, Fault> {
        let mut values = Values::new(&self.schema, self.fields.clone(), end - start)
            .map_err(|error| Fault { row: None, error })?;
        for row in start..end {
            let version = self.kept.version(row);
            // Versions are learnt when they are met: most pieces of a bad batch end at their first row.
            let learnt = match self.versions.get(version) {
                Some(Version::Known(written)) if !values.knows(version) => {
                    values.add_version(version, written)
                }
                _ => Ok(()),
            };
            learnt
                .and_then(|()| append(&mut values, &self.versions, self.kept.payload(row), version))
                .map_err(|error| Fault { row: Some(row), error })?;
        }
        let messages = at.get(start..end).unwrap_or_default();
        values.finish(messages).map_err(|error| {
            let row = messages.iter().position(|message| Some(*message) == error.at);
            Fault { row: row.map(|row| start + row), error }
        })
    }

    /// A decoder like the present one.
    fn fresh(&self) -> Result<Values> {
        let mut values = Values::new(&self.schema, self.fields.clone(), self.batch_rows)?;
        for (version, known) in &self.versions {
            if let Version::Known(written) = known {
                values.add_version(version, written)?;
            }
        }
        Ok(values)
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
    fn blame(&self, error: KernelError, at: &[MessageRef]) -> KernelError {
        if error.at.is_some() || !is_of_message(&error) || self.kept.len() != at.len() {
            return error;
        }
        // The batch fails, so one of its halves does; when none does, no single message is to blame.
        let (mut start, mut end) = (0, at.len());
        while end - start > 1 {
            let middle = start + (end - start) / 2;
            match self.decode(start, middle, at) {
                Err(Fault { row: Some(row), .. }) => (start, end) = (row, row + 1),
                Err(Fault { row: None, .. }) => end = middle,
                Ok(_) => start = middle,
            }
        }
        match (self.decode(start, end, at), at.get(start)) {
            (Err(fault), Some(at)) => named(fault.error, self.kept.version(start)).at(*at),
            _ => error,
        }
    }
}

fn append(
    values: &mut Values,
    versions: &HashMap<Vec<u8>, Version>,
    payload: Option<&[u8]>,
    version: &[u8],
) -> Result<()> {
    match versions.get(version) {
        // A null value means the same in every version.
        Some(Version::Refused(why)) if payload.is_some() => Err(why.clone()),
        _ => values.append(payload, version),
    }
}

/// Whether one message is at fault, and not the schema of the read or the entry around the message.
fn is_of_message(error: &KernelError) -> bool {
    matches!(error.kind, ErrorKind::Payload | ErrorKind::Unsupported)
}

fn sealed() -> KernelError {
    KernelError::payload("the message is still encrypted, so its value is not known")
}

/// Say which version the message names.
fn named(mut error: KernelError, version: &[u8]) -> KernelError {
    if is_of_message(&error) && !version.is_empty() && version != SEALED {
        let text = match <[u8; 8]>::try_from(version) {
            Ok(number) => i64::from_be_bytes(number).to_string(),
            Err(_) => version.iter().map(|byte| format!("{byte:02x}")).collect(),
        };
        error.message = format!("{} (written with schema version {text})", error.message);
    }
    error
}
