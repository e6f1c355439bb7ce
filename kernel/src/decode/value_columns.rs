//! The value columns of an open batch, and the handling of bad rows.

use std::sync::Arc;

use arrow_array::{ArrayRef, BinaryArray};
use arrow_schema::FieldRef;

use super::bad_rows::{BatchMessages, is_of_message, with_version};
use super::kept_payloads::KeptPayloads;
use super::message_row::MessageRow;
use super::options::{BadRows, DecoderOptions};
use super::values::Values;
use crate::error::{KernelError, MessageRef, Result};
use crate::payload_schema::PayloadSchema;

/// The value columns of a finished batch.
pub struct FinishedValues {
    /// Columns in the order of the output schema; bad rows are null.
    pub columns: Vec<ArrayRef>,
    /// Payloads of the bad rows, null in other rows; `None` if no row is bad.
    pub bad: Option<BinaryArray>,
    /// Kept payloads, null in other rows; `None` if the decoder keeps no payloads.
    pub payloads: Option<ArrayRef>,
}

/// The number of bad rows, and the error of the first bad row.
#[derive(Debug, Clone, Default)]
pub struct BadRowCount {
    /// Number of bad rows.
    pub rows: u64,
    /// Error of the first bad row.
    pub first: Option<KernelError>,
}

/// The value columns under construction, and the messages of the batch that are needed to find bad rows.
pub struct ValueColumns {
    batch_rows: usize,
    mode: BadRows,
    values: Values,
    /// True if any schema version is refused.
    refuses: bool,
    messages: BatchMessages,
    /// True after `values` failed; until the end of the batch, its messages are then only stored.
    is_broken: bool,
    count: BadRowCount,
    kept: Option<KeptPayloads>,
    /// True if there is no value column, so that the version alone determines whether a payload is kept.
    keeps_all_of_a_version: bool,
}

impl ValueColumns {
    /// Creates the value columns `fields` of the output schema.
    pub fn new(options: &DecoderOptions, fields: Vec<FieldRef>) -> Result<Self> {
        let values = Values::new(&options.value, fields.clone(), options.batch_rows)?;
        let is_versioned = matches!(options.value.value_type.as_str(), "avro" | "key_value" | "protobuf");
        let keeps_all_of_a_version = options.payload_column.is_some() && fields.is_empty() && is_versioned;
        Ok(Self {
            keeps_all_of_a_version,
            batch_rows: options.batch_rows,
            mode: options.bad_rows,
            values,
            refuses: false,
            messages: BatchMessages::new(options.value.clone(), fields),
            is_broken: false,
            count: BadRowCount::default(),
            kept: options.payload_column.as_ref().map(|_| KeptPayloads::new(&options.value)).transpose()?,
        })
    }

    /// Returns whether the decoder needs the schema versions of messages.
    pub fn needs_versions(&self) -> bool {
        self.keeps_all_of_a_version || self.values.needs_versions()
    }

    /// Returns whether `add_version` or `refuse_version` was called with the version.
    pub fn knows(&self, version: &[u8]) -> bool {
        self.messages.knows(version) || (!self.keeps_all_of_a_version && self.values.knows(version))
    }

    /// Adds a schema version; does nothing if the decoder needs no versions.
    pub fn add_version(&mut self, version: &[u8], written: &PayloadSchema) -> Result<()> {
        self.values.add_version(version, written)?;
        self.messages.learn(version, written);
        Ok(())
    }

    /// Makes all messages of a version bad rows, for the reason `why`.
    ///
    /// In mode [`BadRows::Fail`], such a message is an error of the kind `schema`.
    pub fn refuse_version(&mut self, version: &[u8], why: &str) {
        self.messages.refuse(
            version,
            match self.mode {
                BadRows::Fail => KernelError::schema(why),
                BadRows::Null | BadRows::Drop => KernelError::payload(why),
            },
        );
        self.refuses = true;
    }

    /// Keeps the payloads of all messages of a version, or of all versions for `None`.
    pub fn keep_payloads(&mut self, version: Option<&[u8]>) {
        match (&mut self.kept, version) {
            (Some(kept), Some(version)) => kept.add_version(version),
            (Some(kept), None) => kept.keep_all(),
            (None, _) => {}
        }
    }

    /// Returns the number of bad rows of the finished batches.
    pub fn bad_rows(&self) -> &BadRowCount {
        &self.count
    }

    /// Resets the number of bad rows to 0.
    pub fn reset_count(&mut self) {
        self.count = BadRowCount::default();
    }

    /// Adds a message, which is assembled in `buffer` if it is not stored in one piece.
    ///
    /// `fault` is a reason why the message is bad that does not depend on its value. In mode [`BadRows::Fail`], the
    /// result is an error if the message is already known to be bad.
    pub fn append(
        &mut self,
        row: &MessageRow<'_>,
        fault: Option<KernelError>,
        buffer: &mut Vec<u8>,
    ) -> Result<()> {
        if row.undecryptable && !self.values.shows_undecryptable() {
            let undecryptable = || {
                KernelError::payload("expected a decrypted message, got a message that is still encrypted")
            };
            self.keep_whole(row.payload);
            return self.append_bad(row.payload, fault.unwrap_or_else(undecryptable));
        }
        // The schema version of an encrypted message does not describe its encrypted bytes.
        let version = if row.undecryptable { &[] } else { row.schema_version };
        let payload = match fault {
            Some(fault) => Err(fault),
            None if row.undecryptable => Ok(row.payload),
            None => self.values.payload(row, buffer),
        };
        match payload {
            Ok(payload) => {
                if let Some(kept) = &mut self.kept {
                    kept.append(row.payload, payload, version);
                }
                self.append_value(payload, version)
            }
            Err(fault) => {
                self.keep_whole(row.payload);
                self.append_bad(row.payload, fault)
            }
        }
    }

    fn keep_whole(&mut self, payload: Option<&[u8]>) {
        if let Some(kept) = &mut self.kept {
            kept.append_whole(payload);
        }
    }

    fn append_value(&mut self, payload: Option<&[u8]>, version: &[u8]) -> Result<()> {
        if self.keeps_payloads() {
            self.keep(payload, version);
        }
        if self.is_broken {
            return Ok(());
        }
        let appended = match self.refuses {
            true => self.messages.append(&mut self.values, payload, version),
            false => self.values.append(payload, version),
        };
        match appended {
            Err(error) if self.tolerates(&error) => self.is_broken = true,
            Err(error) => return Err(with_version(error, version)),
            Ok(()) => {}
        }
        Ok(())
    }

    fn append_bad(&mut self, payload: Option<&[u8]>, fault: KernelError) -> Result<()> {
        if !self.tolerates(&fault) {
            return Err(fault);
        }
        self.keep(payload, &[]);
        self.messages.mark_bad(fault);
        self.is_broken = true;
        Ok(())
    }

    /// Stores the message until the end of the batch. Without columns, the payload is not stored, because
    /// only the number of messages is needed.
    fn keep(&mut self, payload: Option<&[u8]>, version: &[u8]) {
        self.messages.push(payload.filter(|_| self.messages.has_columns()), version);
    }

    /// Returns the columns, and starts new columns; `at` contains the position of each row's message.
    pub fn finish(&mut self, at: &[MessageRef]) -> Result<FinishedValues> {
        if !self.is_broken {
            match self.values.finish(at) {
                Ok(columns) => {
                    self.messages.clear();
                    let payloads = self.payloads(None);
                    return Ok(FinishedValues { columns, bad: None, payloads });
                }
                Err(error) if self.tolerates(&error) => {}
                Err(error) => return Err(self.messages.blame(error, at)),
            }
        }
        let salvage = self.messages.salvage(at)?;
        self.count.rows += salvage.bad_rows;
        self.count.first = self.count.first.take().or(salvage.first);
        self.messages.clear();
        self.is_broken = false;
        self.values = self.messages.decoder(self.batch_rows)?;
        let payloads = self.payloads(Some(&salvage.bad));
        Ok(FinishedValues { columns: salvage.columns, bad: Some(salvage.bad), payloads })
    }

    fn payloads(&mut self, bad: Option<&BinaryArray>) -> Option<ArrayRef> {
        let payloads = self.kept.as_mut()?.finish(bad);
        Some(Arc::new(payloads))
    }

    fn keeps_payloads(&self) -> bool {
        self.mode != BadRows::Fail || (self.messages.has_columns() && self.values.fails_late())
    }

    /// Returns whether a message with this error becomes a bad row; otherwise the read fails.
    fn tolerates(&self, error: &KernelError) -> bool {
        self.mode != BadRows::Fail && is_of_message(error)
    }
}
