//! Entries of one topic partition to Arrow record batches of one fixed schema.

mod avro;
mod json;
mod json_values;
mod key_value;
mod messages;
mod metadata_columns;
mod payloads;
pub mod primitive;
mod protobuf;
mod values;

use std::collections::VecDeque;

use arrow_array::{ArrayRef, RecordBatch, RecordBatchOptions};
use arrow_schema::{FieldRef, SchemaRef};

use crate::entry::{Entry, EntryBatch};
use crate::error::{KernelError, MessageRef, Result};
use crate::payload_schema::PayloadSchema;
use crate::select::Range;
use messages::OpenEntry;
use metadata_columns::{MetadataColumn, Row};
use values::Values;

/// A batch also closes when its rows weigh this much: 32-bit offsets must not overflow, and memory is
/// bounded by bytes where messages are large.
const MAX_BATCH_BYTES: usize = 256 << 20;
/// Most rows of a batch.
pub const MAX_BATCH_ROWS: usize = 1 << 20;

/// What a decoder is made of.
#[derive(Debug, Clone)]
pub struct DecoderOptions {
    /// Value columns and then metadata columns, exactly as they come out.
    pub output_schema: SchemaRef,
    /// Text of `__topic`.
    pub topic: String,
    /// Partition of the topic, -1 when not partitioned.
    pub partition: i32,
    /// The value; messages of other versions are resolved to its document.
    pub value: PayloadSchema,
    /// Rows of a full batch.
    pub batch_rows: usize,
    /// Messages wanted.
    pub range: Range,
}

/// Where an output column comes from.
enum Column {
    Value(usize),
    Metadata(MetadataColumn),
}

/// Decodes entries in the order in which they are pushed.
pub struct Decoder {
    schema: SchemaRef,
    columns: Vec<Column>,
    values: Values,
    batch_rows: usize,
    range: Range,
    queue: VecDeque<Entry>,
    open: Option<OpenEntry>,
    /// Where a message is put together that does not lie in one piece.
    joined: Vec<u8>,
    rows: Vec<MessageRef>,
    weight: usize,
    failed: Option<KernelError>,
}

impl Decoder {
    /// Raises "schema" when the options contradict each other.
    pub fn new(options: DecoderOptions) -> Result<Self> {
        let rows = options.batch_rows;
        if rows == 0 || rows > MAX_BATCH_ROWS {
            return Err(KernelError::schema(format!(
                "batch_rows: expected 1 to {MAX_BATCH_ROWS}, got {rows}"
            )));
        }
        let mut value_fields: Vec<FieldRef> = Vec::new();
        let mut columns = Vec::new();
        for field in options.output_schema.fields() {
            columns.push(match MetadataColumn::new(field.name(), &options.topic, options.partition) {
                Some(column) => Column::Metadata(column),
                None => {
                    value_fields.push(field.clone());
                    Column::Value(value_fields.len() - 1)
                }
            });
        }
        let values = Values::new(&options.value, value_fields, rows)?;
        Ok(Self {
            schema: options.output_schema,
            columns,
            values,
            batch_rows: rows,
            range: options.range,
            queue: VecDeque::new(),
            open: None,
            joined: Vec::new(),
            rows: Vec::new(),
            weight: 0,
            failed: None,
        })
    }

    /// Make a schema version known; only avro and key_value need it.
    pub fn add_writer_schema(&mut self, version: &[u8], written: &PayloadSchema) -> Result<()> {
        self.values.add_version(version, written)
    }

    /// Versions in `entries` that `add_writer_schema` must be called with before `push`.
    pub fn unknown_versions(&self, entries: &mut EntryBatch) -> Result<Vec<Vec<u8>>> {
        if !self.values.needs_versions() {
            return Ok(Vec::new());
        }
        let mut versions = entries.schema_versions()?;
        versions.retain(|version| !self.values.knows(version));
        Ok(versions)
    }

    /// Take over the entries.
    pub fn push(&mut self, entries: &mut EntryBatch) {
        self.queue.extend(entries.take());
    }

    /// `batch_rows` rows (fewer when they weigh more than 256 MiB); with `flush` the remaining rows; `None`
    /// when there are not enough. After an error every call repeats it.
    pub fn next_batch(&mut self, flush: bool) -> Result<Option<RecordBatch>> {
        if let Some(error) = &self.failed {
            return Err(error.clone());
        }
        let result = self.fill().and_then(|()| {
            let ready = self.is_full() || (flush && !self.rows.is_empty());
            ready.then(|| self.finish()).transpose()
        });
        if let Err(error) = &result {
            self.failed = Some(error.clone());
        }
        result
    }

    fn is_full(&self) -> bool {
        self.rows.len() >= self.batch_rows || self.weight >= MAX_BATCH_BYTES
    }

    /// Decode messages until the batch is full or the entries are used up.
    fn fill(&mut self) -> Result<()> {
        while !self.is_full() {
            if self.open.is_none() {
                let Some(entry) = self.queue.pop_front() else { return Ok(()) };
                self.open = OpenEntry::open(entry, &self.range)?;
            }
            let Some(mut open) = self.open.take() else { continue };
            let range = self.range;
            let finished = open.each_message(&range, |row| {
                self.append(row).map_err(|e| e.at(row.at))?;
                Ok(!self.is_full())
            })?;
            if !finished {
                self.open = Some(open);
            }
        }
        Ok(())
    }

    fn append(&mut self, row: &Row<'_>) -> Result<()> {
        let payload = self.values.payload(row, &mut self.joined)?;
        self.values.append(payload, row.schema_version)?;
        for column in &mut self.columns {
            if let Column::Metadata(column) = column {
                column.append(row)?;
            }
        }
        self.rows.push(row.at);
        self.weight = self.weight.saturating_add(row.weight());
        Ok(())
    }

    fn finish(&mut self) -> Result<RecordBatch> {
        let values = self.values.finish(&self.rows)?;
        let mut arrays: Vec<ArrayRef> = Vec::with_capacity(self.columns.len());
        for (column, field) in self.columns.iter_mut().zip(self.schema.fields()) {
            arrays.push(match column {
                Column::Metadata(column) => column.finish(field)?,
                Column::Value(index) => values
                    .get(*index)
                    .cloned()
                    .ok_or_else(|| KernelError::schema(format!("column {} was not decoded", field.name())))?,
            });
        }
        let options = RecordBatchOptions::new().with_row_count(Some(self.rows.len()));
        let batch = RecordBatch::try_new_with_options(self.schema.clone(), arrays, &options)
            .map_err(|e| KernelError::schema(format!("the output schema cannot be produced: {e}")))?;
        self.rows.clear();
        self.weight = 0;
        Ok(batch)
    }
}
