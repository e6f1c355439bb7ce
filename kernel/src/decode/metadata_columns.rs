//! The `__` columns, which contain the metadata of messages.

use std::str::Utf8Error;
use std::sync::Arc;

use arrow_array::types::Int64Type;
use arrow_array::{ArrayRef, Int32Array, Int64Array};
use arrow_schema::{ArrowError, DataType, Field, FieldRef, TimeUnit};

use super::ascii::checked_text;
use super::buffers::{BytesBuffer, NumberBuffer, check_room};
use super::entry_columns::EntryColumn;
use super::message_row::MessageRow;
use super::properties_column::PropertiesColumn;
use crate::conform::conform_type;
use crate::error::{KernelError, MessageRef, Result};

/// The metadata columns of an open batch, with the index of each column.
#[derive(Debug, Default)]
pub struct MetadataColumns {
    fields: Vec<FieldRef>,
    entry_columns: Vec<(usize, EntryColumn)>,
    message_columns: Vec<(usize, MessageColumn)>,
    run: Option<EntryRun>,
}

/// The latest rows, which all belong to one entry.
#[derive(Debug)]
struct EntryRun {
    ledger: i64,
    entry: i64,
    has_index: bool,
    rows: usize,
    /// Index and error of the first entry column that the run's value does not fit.
    fault: Option<(usize, KernelError)>,
}

impl EntryRun {
    fn holds(&self, row: &MessageRow<'_>) -> bool {
        // A message has no index if the computed index is impossible. So only some messages of an entry may
        // have an index.
        self.entry == row.at.entry
            && self.ledger == row.at.ledger
            && self.has_index == row.broker.index.is_some()
    }
}

impl MetadataColumns {
    /// Adds a column; returns false if no metadata column has its name.
    pub fn add(&mut self, field: &FieldRef, topic: &str, partition: i32) -> bool {
        let index = self.fields.len();
        if let Some(column) = EntryColumn::new(field.name(), topic, partition) {
            self.entry_columns.push((index, column));
        } else if let Some(column) = MessageColumn::new(field.name()) {
            self.message_columns.push((index, column));
        } else {
            return false;
        }
        self.fields.push(field.clone());
        true
    }

    /// Returns new empty columns with the same names, for another partition.
    pub fn for_partition(&self, topic: &str, partition: i32) -> Self {
        let mut fresh = Self::default();
        for field in &self.fields {
            fresh.add(field, topic, partition);
        }
        fresh
    }

    /// Adds a message.
    ///
    /// A value that does not fit its column becomes null. The result is then the error of the first such column.
    pub fn append(&mut self, row: &MessageRow<'_>) -> Result<()> {
        let mut fault = match &mut self.run {
            Some(run) if run.holds(row) => {
                run.rows += 1;
                run.fault.clone()
            }
            _ => self.begin_run(row),
        };
        for (index, column) in &mut self.message_columns {
            if let Err(error) = column.append(row)
                && fault.as_ref().is_none_or(|(first, _)| *index < *first)
            {
                fault = Some((*index, error));
            }
        }
        fault.map_or(Ok(()), |(_, error)| Err(error))
    }

    fn begin_run(&mut self, row: &MessageRow<'_>) -> Option<(usize, KernelError)> {
        self.end_run();
        let mut fault = None;
        for (index, column) in &mut self.entry_columns {
            if let Err(error) = column.begin(row) {
                fault.get_or_insert((*index, error));
            }
        }
        let (MessageRef { ledger, entry, .. }, has_index) = (row.at, row.broker.index.is_some());
        self.run = Some(EntryRun { ledger, entry, has_index, rows: 1, fault: fault.clone() });
        fault
    }

    fn end_run(&mut self) {
        if let Some(run) = self.run.take() {
            self.entry_columns.iter_mut().for_each(|(_, column)| column.extend(run.rows));
        }
    }

    /// Returns the columns for the messages `at`, in the order of the `add` calls, and starts new columns.
    pub fn finish(&mut self, at: &[MessageRef]) -> Result<Vec<ArrayRef>> {
        self.end_run();
        let mut columns = Vec::with_capacity(self.fields.len());
        for (index, column) in &mut self.entry_columns {
            columns.push((*index, column.finish(field_at(&self.fields, *index)?, at)?));
        }
        for (index, column) in &mut self.message_columns {
            columns.push((*index, column.finish(field_at(&self.fields, *index)?)?));
        }
        columns.sort_unstable_by_key(|(index, _)| *index);
        Ok(columns.into_iter().map(|(_, column)| column).collect())
    }
}

fn field_at(fields: &[FieldRef], index: usize) -> Result<&FieldRef> {
    fields.get(index).ok_or_else(|| {
        KernelError::schema(format!("expected a metadata column with the index {index}, got none"))
    })
}

/// A metadata column under construction whose value differs between messages of an entry.
#[derive(Debug)]
enum MessageColumn {
    /// `__key`
    Key(BytesBuffer),
    /// `__eventTime`
    EventTime(NumberBuffer<Int64Type>),
    /// `__messageProperties`
    Properties(PropertiesColumn),
    /// `__orderingKey`
    OrderingKey(BytesBuffer),
    /// `__sequenceId`
    SequenceId(Vec<i64>),
    /// `__messageSize`
    MessageSize(Vec<i32>),
}

impl MessageColumn {
    /// Creates the column `name`, or returns `None` if no column of this kind has the name.
    fn new(name: &str) -> Option<Self> {
        Some(match name {
            "__key" => Self::Key(BytesBuffer::default()),
            "__eventTime" => Self::EventTime(NumberBuffer::default()),
            "__messageProperties" => Self::Properties(PropertiesColumn::default()),
            "__orderingKey" => Self::OrderingKey(BytesBuffer::default()),
            "__sequenceId" => Self::SequenceId(Vec::new()),
            "__messageSize" => Self::MessageSize(Vec::new()),
            _ => return None,
        })
    }

    /// Adds a message; a value that does not fit the column becomes null, and the result is the error.
    fn append(&mut self, row: &MessageRow<'_>) -> Result<()> {
        match self {
            Self::Key(b) => match row.key {
                Some(key) => return append_bytes(b, &key.bytes()),
                None => b.append_null(),
            },
            Self::OrderingKey(b) => match row.ordering_key {
                Some(key) => return append_bytes(b, key),
                None => b.append_null(),
            },
            Self::EventTime(b) if row.event_time == 0 => b.append_null(),
            Self::EventTime(b) => match time(row.event_time, "event time") {
                Ok(millis) => b.push(millis),
                Err(error) => {
                    b.append_null();
                    return Err(error);
                }
            },
            Self::Properties(b) => return b.append(row.properties),
            Self::SequenceId(v) => v.push(row.sequence_id as i64),
            Self::MessageSize(v) => v.push(row.payload.map_or(0, <[u8]>::len) as i32),
        }
        Ok(())
    }

    /// Returns the column in the type of `field`, and starts a new column.
    fn finish(&mut self, field: &Field) -> Result<ArrayRef> {
        let array: ArrayRef = match self {
            Self::Key(b) | Self::OrderingKey(b) => Arc::new(b.finish().map_err(|e| misfit(field, &e))?),
            Self::EventTime(b) => {
                return times(Arc::new(b.finish().map_err(|e| misfit(field, &e))?), field);
            }
            Self::Properties(b) => Arc::new(b.finish().map_err(|e| misfit(field, &e))?),
            Self::SequenceId(v) => Arc::new(Int64Array::from(std::mem::take(v))),
            Self::MessageSize(v) => Arc::new(Int32Array::from(std::mem::take(v))),
        };
        fit(&array, field)
    }
}

fn append_bytes(column: &mut BytesBuffer, bytes: &[u8]) -> Result<()> {
    let outcome = check_room(column.push(bytes));
    if outcome.is_err() {
        column.append_null();
    }
    outcome
}

/// Converts Unix milliseconds to the type of `field`.
pub fn times(millis: ArrayRef, field: &Field) -> Result<ArrayRef> {
    let as_millis = conform_type(&millis, &DataType::Timestamp(TimeUnit::Millisecond, None))
        .map_err(|e| KernelError::schema(e.to_string()))?;
    fit(&as_millis, field)
}

/// Converts `array` to the type of `field`.
pub fn fit(array: &ArrayRef, field: &Field) -> Result<ArrayRef> {
    crate::conform::conform(array, field).map_err(|e| misfit(field, &e))
}

fn misfit(field: &Field, error: &ArrowError) -> KernelError {
    KernelError::schema(format!("column {}: {error}", field.name()))
}

/// Returns signed Unix milliseconds, as in Pulsar's Java client, if they fit a 64-bit number of microseconds.
pub fn time(millis: u64, what: &str) -> Result<i64> {
    let milliseconds = millis.cast_signed();
    match milliseconds.checked_mul(1000) {
        Some(_) => Ok(milliseconds),
        None => Err(KernelError::payload(format!(
            "{what}: expected a time in Spark's range, got {milliseconds} ms"
        ))),
    }
}

/// Returns `bytes` if they are UTF-8, or an error that names the value `what`.
#[inline]
pub fn text<'a>(bytes: &'a [u8], what: &str) -> Result<&'a [u8]> {
    checked_text(bytes).map_err(|e| text_error(e, what))
}

/// Returns the error that the value `what` is not UTF-8.
pub fn text_error(why: Utf8Error, what: &str) -> KernelError {
    KernelError::payload(format!("{what}: expected UTF-8: {why}"))
}
