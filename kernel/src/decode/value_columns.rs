//! The value columns of an open batch, whatever their type, and what happens to messages that do not decode.

use std::sync::Arc;

use arrow_array::{ArrayRef, BinaryArray};
use arrow_schema::FieldRef;

use super::bad_rows::{BatchMessages, is_of_message, named};
use super::kept_payloads::KeptPayloads;
use super::message_row::MessageRow;
use super::options::{BadRows, DecoderOptions};
use super::values::Values;
use crate::error::{KernelError, MessageRef, Result};
use crate::payload_schema::PayloadSchema;

/// The value columns of a finished batch.
pub struct FinishedValues {
    /// In the order of the output schema, bad rows null.
    pub columns: Vec<ArrayRef>,
    /// The payload of each bad row, null in the others; `None` when no row is bad.
    pub bad: Option<BinaryArray>,
    /// The payloads of which the columns do not tell all, and of bad rows; `None` unless they are kept.
    pub payloads: Option<ArrayRef>,
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
    batch_rows: usize,
    mode: BadRows,
    values: Values,
    /// Whether some version that messages may have is refused.
    refuses: bool,
    messages: BatchMessages,
    /// `values` failed: the rows of the batch are only kept, until it is finished.
    broken: bool,
    count: BadRowCount,
    kept: Option<KeptPayloads>,
    /// There is no value column, so the version of a message alone tells whether its payload is kept.
    keeps_all_of_a_version: bool,
}

impl ValueColumns {
    /// For the value columns `fields` of the output schema.
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
            broken: false,
            count: BadRowCount::default(),
            kept: options.payload_column.as_ref().map(|_| KeptPayloads::new(&options.value)).transpose()?,
        })
    }

    /// Whether schema versions matter.
    pub fn needs_versions(&self) -> bool {
        self.keeps_all_of_a_version || self.values.needs_versions()
    }

    /// Whether `add_version` or `refuse_version` was called with it.
    pub fn knows(&self, version: &[u8]) -> bool {
        self.messages.knows(version) || (!self.keeps_all_of_a_version && self.values.knows(version))
    }

    /// Make a version known; ignored where versions do not matter.
    pub fn add_version(&mut self, version: &[u8], written: &PayloadSchema) -> Result<()> {
        self.values.add_version(version, written)?;
        self.messages.learn(version, written);
        Ok(())
    }

    /// Make all messages of a version bad rows, or in mode [`BadRows::Fail`] an error of the schema; `why` is the
    /// reason.
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

    /// Keep the payloads of all messages of a version, or of any version.
    pub fn keep_payloads(&mut self, version: Option<&[u8]>) {
        match (&mut self.kept, version) {
            (Some(kept), Some(version)) => kept.add_version(version),
            (Some(kept), None) => kept.keep_all(),
            (None, _) => {}
        }
    }

    /// Bad rows of all finished batches.
    pub fn bad_rows(&self) -> &BadRowCount {
        &self.count
    }

    /// Count bad rows anew.
    pub fn reset_count(&mut self) {
        self.count = BadRowCount::default();
    }

    /// Add one message; what does not lie in one piece is put together in `joined`. `fault` says why the message is
    /// bad, whatever its value is. In mode [`BadRows::Fail`] a message that is known to be bad already is an error.
    pub fn append(
        &mut self,
        row: &MessageRow<'_>,
        fault: Option<KernelError>,
        joined: &mut Vec<u8>,
    ) -> Result<()> {
        if row.undecryptable && !self.values.shows_undecryptable() {
            let undecryptable =
                || KernelError::payload("the message is still encrypted, so its value is not known");
            self.keep_whole(row.payload);
            return self.append_bad(row.payload, fault.unwrap_or_else(undecryptable));
        }
        // A message that stays encrypted names a version, but is not of it.
        let version = if row.undecryptable { &[] } else { row.schema_version };
        let payload = match fault {
            Some(fault) => Err(fault),
            None if row.undecryptable => Ok(row.payload),
            None => self.values.payload(row, joined),
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
        if self.broken {
            return Ok(());
        }
        let appended = match self.refuses {
            true => self.messages.append(&mut self.values, payload, version),
            false => self.values.append(payload, version),
        };
        match appended {
            Err(error) if self.tolerates(&error) => self.broken = true,
            Err(error) => return Err(named(error, version)),
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
        self.broken = true;
        Ok(())
    }

    /// Without columns only the number of messages counts.
    fn keep(&mut self, payload: Option<&[u8]>, version: &[u8]) {
        self.messages.push(payload.filter(|_| self.messages.has_columns()), version);
    }

    /// The columns so far; starts new ones. `at` names the rows' messages.
    pub fn finish(&mut self, at: &[MessageRef]) -> Result<FinishedValues> {
        if !self.broken {
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
        self.broken = false;
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

    /// Whether a message with this fault is a bad row; else the read is at fault.
    fn tolerates(&self, error: &KernelError) -> bool {
        self.mode != BadRows::Fail && is_of_message(error)
    }
}
