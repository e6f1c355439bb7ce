//! The decoder from entries of one topic partition to Arrow record batches of one schema.

mod ascii;
mod avro;
mod bad_rows;
mod buffers;
mod completeness;
mod entry_columns;
mod intake;
pub mod json;
mod kept_payloads;
mod key_value;
mod list_column;
mod message_row;
mod metadata_columns;
mod options;
pub mod primitive;
mod properties_column;
mod protobuf;
mod repeated_keys;
mod value_columns;
mod values;

use std::collections::VecDeque;
use std::sync::Arc;

use arrow_array::{Array, ArrayRef, BooleanArray, RecordBatch, RecordBatchOptions, new_null_array};
use arrow_schema::{Field, FieldRef, SchemaRef};
use arrow_select::filter::filter_record_batch;

use crate::entry::{Entry, EntryBatch};
use crate::error::{KernelError, MessageRef, Result};
use crate::payload_schema::PayloadSchema;
use crate::selection::Selection;
pub use intake::{ChunkedMessage, IntakeOptions, LostMessage, MissingChunks, TransactionId};
use intake::{Intake, OpenEntry, OpenResult};
use message_row::MessageRow;
use metadata_columns::MetadataColumns;
pub use options::{BadRows, DecoderOptions};
pub use value_columns::BadRowCount;
use value_columns::{FinishedValues, ValueColumns};

/// Number of bytes at which a batch ends. The limit exists so that large messages do not overflow 32-bit
/// offsets or the memory.
const MAX_BATCH_BYTES: usize = 32 << 20;
/// Largest number of rows in a batch.
pub const MAX_BATCH_ROWS: usize = 1 << 20;

/// The source of an output column; values and metadata have an index.
enum OutputColumn {
    Value(usize),
    Metadata(usize),
    /// Payloads of bad rows.
    Corrupt,
    /// Kept payloads.
    Payload,
}

/// A decoder that returns the rows in the order of the entries.
pub struct Decoder {
    schema: SchemaRef,
    columns: Vec<OutputColumn>,
    metadata: MetadataColumns,
    values: ValueColumns,
    topic: String,
    drops_bad_rows: bool,
    batch_rows: usize,
    selection: Arc<Selection>,
    queue: VecDeque<Entry>,
    intake: Intake,
    open: Option<OpenEntry>,
    /// Buffer that assembles a message which is not stored in one piece.
    buffer: Vec<u8>,
    rows: Vec<MessageRef>,
    weight: usize,
    failure: Option<KernelError>,
}

impl Decoder {
    /// Creates a decoder; returns an error of the kind `schema` if the options contradict each other.
    pub fn new(options: DecoderOptions) -> Result<Self> {
        let rows = options.batch_rows;
        if rows == 0 || rows > MAX_BATCH_ROWS {
            return Err(KernelError::schema(format!(
                "batch_rows: expected 1 to {MAX_BATCH_ROWS}, got {rows}"
            )));
        }
        let mut value_fields: Vec<FieldRef> = Vec::new();
        let mut columns = Vec::new();
        let mut metadata = MetadataColumns::default();
        let mut metadata_count = 0;
        for field in options.output_schema.fields() {
            columns.push(if metadata.add(field, &options.topic, options.partition) {
                metadata_count += 1;
                OutputColumn::Metadata(metadata_count - 1)
            } else if Some(field.name()) == options.corrupt_column.as_ref() {
                OutputColumn::Corrupt
            } else if Some(field.name()) == options.payload_column.as_ref() {
                OutputColumn::Payload
            } else {
                value_fields.push(field.clone());
                OutputColumn::Value(value_fields.len() - 1)
            });
        }
        let values = ValueColumns::new(&options, value_fields)?;
        Ok(Self {
            schema: options.output_schema,
            columns,
            metadata,
            topic: options.topic,
            drops_bad_rows: options.bad_rows == BadRows::Drop,
            batch_rows: rows,
            selection: Arc::new(Selection { range: options.range, filter: options.filter }),
            values,
            queue: VecDeque::new(),
            // A kept payload must belong to one message, so an entry that cannot be opened must not become a row.
            intake: Intake::new(
                options.intake,
                options.bad_rows != BadRows::Fail && options.payload_column.is_none(),
            ),
            open: None,
            buffer: Vec::new(),
            rows: Vec::new(),
            weight: 0,
            failure: None,
        })
    }

    /// Adds a schema version; only avro, key_value and protobuf need this call.
    pub fn add_writer_schema(&mut self, version: &[u8], written: &PayloadSchema) -> Result<()> {
        self.values.add_version(version, written)
    }

    /// Keeps the payloads of all messages of a version, or of all versions, because the columns are incomplete.
    pub fn keep_payloads(&mut self, version: Option<&[u8]>) {
        self.values.keep_payloads(version);
    }

    /// Makes every message of a version a bad row, because it cannot be decoded; errors contain the reason `why`.
    pub fn refuse_version(&mut self, version: &[u8], why: &str) {
        self.values.refuse_version(version, why);
    }

    /// Returns the number of bad rows since the decoder was created or rewound.
    pub fn bad_rows(&self) -> &BadRowCount {
        self.values.bad_rows()
    }

    /// Starts another selection, of the same or another partition of the topic.
    ///
    /// Returns an error of the kind `schema` unless every row of the current selection was returned.
    pub fn rewind(&mut self, partition: i32, selection: impl Into<Selection>) -> Result<()> {
        if self.failure.is_some() || !self.queue.is_empty() || self.open.is_some() || !self.rows.is_empty() {
            return Err(KernelError::schema(
                "expected a decoder that is at the end of its range, got one inside its range",
            ));
        }
        self.metadata = self.metadata.for_partition(&self.topic, partition);
        self.selection = Arc::new(selection.into());
        self.intake.rewind();
        self.values.reset_count();
        Ok(())
    }

    /// Returns the versions in `entries` that `add_writer_schema` or `refuse_version` needs before `push`.
    ///
    /// Messages outside the selection need no version.
    pub fn unknown_versions(&self, entries: &mut EntryBatch) -> Result<Vec<Vec<u8>>> {
        if !self.values.needs_versions() {
            return Ok(Vec::new());
        }
        let mut versions = entries.schema_versions(&self.selection)?;
        versions.retain(|version| !self.values.knows(version));
        Ok(versions)
    }

    /// Moves the entries into the decoder's queue.
    pub fn push(&mut self, entries: &mut EntryBatch) {
        self.queue.extend(entries.take());
    }

    /// Returns the next `batch_rows` rows, or fewer rows if the batch would exceed 32 MiB. With `flush`, the
    /// last batch may have fewer rows.
    ///
    /// Returns `None` if more entries are needed, or if an entry waits. `needed_data_keys`, `missing_chunks` or
    /// `undecided_transactions` then return the reason. After an error, every call returns this error.
    pub fn next_batch(&mut self, flush: bool) -> Result<Option<RecordBatch>> {
        if let Some(error) = &self.failure {
            return Err(error.clone());
        }
        let result = self.decode_next(flush);
        if let Err(error) = &result {
            self.failure = Some(error.clone());
        }
        result
    }

    fn decode_next(&mut self, flush: bool) -> Result<Option<RecordBatch>> {
        loop {
            self.fill()?;
            let ready = self.is_full() || (flush && !self.intake.is_waiting() && !self.rows.is_empty());
            if !ready {
                return Ok(None);
            }
            let batch = self.finish()?;
            if batch.num_rows() > 0 {
                return Ok(Some(batch));
            }
        }
    }

    fn is_full(&self) -> bool {
        self.rows.len() >= self.batch_rows || self.weight >= MAX_BATCH_BYTES
    }

    /// Decodes messages until the batch is full or the queue is empty.
    fn fill(&mut self) -> Result<()> {
        let selection = Arc::clone(&self.selection);
        while !self.is_full() {
            if self.open.is_none() {
                let Some(entry) = self.queue.pop_front() else { return Ok(()) };
                match self.intake.take(entry, &selection)? {
                    OpenResult::Messages(open) => self.open = Some(open),
                    OpenResult::Nothing => {}
                    OpenResult::Waiting(entry) => {
                        self.queue.push_front(entry);
                        if !self.learn_from_queue() {
                            return Ok(());
                        }
                    }
                }
            }
            let Some(mut open) = self.open.take() else { continue };
            let finished = open.each_message(&selection, |row| {
                self.append(row).map_err(|e| e.at(row.at))?;
                Ok(!self.is_full())
            })?;
            if finished {
                self.intake.recycle(open);
            } else {
                self.open = Some(open);
            }
        }
        Ok(())
    }

    fn append(&mut self, row: &MessageRow<'_>) -> Result<()> {
        let mut fault = row.unopened.cloned();
        if let Err(error) = self.metadata.append(row) {
            fault.get_or_insert(error);
        }
        self.values.append(row, fault, &mut self.buffer)?;
        self.rows.push(row.at);
        self.weight = self.weight.saturating_add(row.weight());
        Ok(())
    }

    fn finish(&mut self) -> Result<RecordBatch> {
        let rows = self.rows.len();
        let values = self.values.finish(&self.rows)?;
        let metadata = self.metadata.finish(&self.rows)?;
        let mut arrays: Vec<ArrayRef> = Vec::with_capacity(self.columns.len());
        for (column, field) in self.columns.iter().zip(self.schema.fields()) {
            arrays.push(column.finished(&values, &metadata, field, rows)?);
        }
        self.rows.clear();
        self.weight = 0;
        let unusable = |e| KernelError::schema(format!("cannot produce the output schema: {e}"));
        let options = RecordBatchOptions::new().with_row_count(Some(rows));
        let batch =
            RecordBatch::try_new_with_options(self.schema.clone(), arrays, &options).map_err(unusable)?;
        match values.bad {
            Some(bad) if self.drops_bad_rows => {
                let good: BooleanArray = (0..rows).map(|row| Some(bad.is_null(row))).collect();
                filter_record_batch(&batch, &good).map_err(unusable)
            }
            _ => Ok(batch),
        }
    }
}

impl OutputColumn {
    fn finished(
        &self,
        values: &FinishedValues,
        metadata: &[ArrayRef],
        field: &Field,
        rows: usize,
    ) -> Result<ArrayRef> {
        let found = |column: Option<&ArrayRef>| {
            let missing = || KernelError::schema(format!("column {} was not decoded", field.name()));
            column.cloned().ok_or_else(missing)
        };
        match self {
            Self::Metadata(index) => found(metadata.get(*index)),
            Self::Value(index) => found(values.columns.get(*index)),
            Self::Corrupt => match &values.bad {
                Some(payloads) => Ok(Arc::new(payloads.clone())),
                None => Ok(new_null_array(field.data_type(), rows)),
            },
            Self::Payload => found(values.payloads.as_ref()),
        }
    }
}
