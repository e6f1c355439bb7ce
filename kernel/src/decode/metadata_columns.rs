//! The `__` columns: what a message carries besides its value.

use std::str::Utf8Error;
use std::sync::Arc;

use arrow_array::types::Int64Type;
use arrow_array::{ArrayRef, Int32Array, Int64Array};
use arrow_schema::{ArrowError, DataType, Field, FieldRef, TimeUnit};

use super::ascii::checked_text;
use super::buffers::{BytesBuffer, NumberBuffer, hold};
use super::entry_columns::EntryColumn;
use super::message_row::MessageRow;
use super::properties_column::PropertiesColumn;
use crate::conform::conform_type;
use crate::error::{KernelError, MessageRef, Result};

/// The metadata columns of an open batch. Each has a place, which is its number among them.
#[derive(Debug, Default)]
pub struct MetadataColumns {
    fields: Vec<FieldRef>,
    of_entries: Vec<(usize, EntryColumn)>,
    of_messages: Vec<(usize, MessageColumn)>,
    run: Option<EntryRun>,
}

/// The last rows, as far as they are of one entry.
#[derive(Debug)]
struct EntryRun {
    ledger: i64,
    entry: i64,
    has_index: bool,
    rows: usize,
    /// What a column of entries cannot hold, and its place: the first such column counts.
    fault: Option<(usize, KernelError)>,
}

impl EntryRun {
    fn holds(&self, row: &MessageRow<'_>) -> bool {
        // Where an index is impossible, messages of one entry may differ in whether they have one.
        self.entry == row.at.entry
            && self.ledger == row.at.ledger
            && self.has_index == row.broker.index.is_some()
    }
}

impl MetadataColumns {
    /// Add a column; false when no metadata column is called so.
    pub fn add(&mut self, field: &FieldRef, topic: &str, partition: i32) -> bool {
        let place = self.fields.len();
        if let Some(column) = EntryColumn::new(field.name(), topic, partition) {
            self.of_entries.push((place, column));
        } else if let Some(column) = MessageColumn::new(field.name()) {
            self.of_messages.push((place, column));
        } else {
            return false;
        }
        self.fields.push(field.clone());
        true
    }

    /// The same columns, empty, of another partition.
    pub fn of_partition(&self, topic: &str, partition: i32) -> Self {
        let mut fresh = Self::default();
        for field in &self.fields {
            fresh.add(field, topic, partition);
        }
        fresh
    }

    /// Add one message. What a column cannot hold is null in it, and the error of the first such column says so.
    pub fn append(&mut self, row: &MessageRow<'_>) -> Result<()> {
        let mut fault = match &mut self.run {
            Some(run) if run.holds(row) => {
                run.rows += 1;
                run.fault.clone()
            }
            _ => self.begin_run(row),
        };
        for (place, column) in &mut self.of_messages {
            if let Err(error) = column.append(row)
                && fault.as_ref().is_none_or(|(first, _)| *place < *first)
            {
                fault = Some((*place, error));
            }
        }
        fault.map_or(Ok(()), |(_, error)| Err(error))
    }

    fn begin_run(&mut self, row: &MessageRow<'_>) -> Option<(usize, KernelError)> {
        self.end_run();
        let mut fault = None;
        for (place, column) in &mut self.of_entries {
            if let Err(error) = column.begin(row) {
                fault.get_or_insert((*place, error));
            }
        }
        let (MessageRef { ledger, entry, .. }, has_index) = (row.at, row.broker.index.is_some());
        self.run = Some(EntryRun { ledger, entry, has_index, rows: 1, fault: fault.clone() });
        fault
    }

    fn end_run(&mut self) {
        if let Some(run) = self.run.take() {
            self.of_entries.iter_mut().for_each(|(_, column)| column.extend(run.rows));
        }
    }

    /// The columns so far, in the order in which they were added, for the messages `at`; starts new ones.
    pub fn finish(&mut self, at: &[MessageRef]) -> Result<Vec<ArrayRef>> {
        self.end_run();
        let mut columns = Vec::with_capacity(self.fields.len());
        for (place, column) in &mut self.of_entries {
            columns.push((*place, column.finish(field_at(&self.fields, *place)?, at)?));
        }
        for (place, column) in &mut self.of_messages {
            columns.push((*place, column.finish(field_at(&self.fields, *place)?)?));
        }
        columns.sort_unstable_by_key(|(place, _)| *place);
        Ok(columns.into_iter().map(|(_, column)| column).collect())
    }
}

fn field_at(fields: &[FieldRef], place: usize) -> Result<&FieldRef> {
    fields.get(place).ok_or_else(|| KernelError::schema(format!("no metadata column has the place {place}")))
}

/// A metadata column under construction that differs from message to message.
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
    /// The column called `name`; `None` when no such column is.
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

    /// Add one message. What the column cannot hold is an error that says so, and null in the column.
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

    /// The column so far as `field`; starts a new one.
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
    let held = hold(column.push(bytes));
    if held.is_err() {
        column.append_null();
    }
    held
}

/// Unix milliseconds as `field`.
pub fn times(millis: ArrayRef, field: &Field) -> Result<ArrayRef> {
    let as_millis = conform_type(&millis, &DataType::Timestamp(TimeUnit::Millisecond, None))
        .map_err(|e| KernelError::schema(e.to_string()))?;
    fit(&as_millis, field)
}

/// `array` as `field`.
pub fn fit(array: &ArrayRef, field: &Field) -> Result<ArrayRef> {
    crate::conform::conform(array, field).map_err(|e| misfit(field, &e))
}

fn misfit(field: &Field, error: &ArrowError) -> KernelError {
    KernelError::schema(format!("column {}: {error}", field.name()))
}

/// Unix milliseconds, signed as in Pulsar's Java client, if they fit a 64-bit number of microseconds.
pub fn time(millis: u64, what: &str) -> Result<i64> {
    let millis = millis.cast_signed();
    match millis.checked_mul(1000) {
        Some(_) => Ok(millis),
        None => {
            Err(KernelError::payload(format!("{what}: expected a time in Spark's range, got {millis} ms")))
        }
    }
}

/// `bytes`, if they are text; called `what` in the error when they are none.
#[inline]
pub fn text<'a>(bytes: &'a [u8], what: &str) -> Result<&'a [u8]> {
    checked_text(bytes).map_err(|e| no_text(e, what))
}

/// What is called `what` is no text.
pub fn no_text(why: Utf8Error, what: &str) -> KernelError {
    KernelError::payload(format!("{what}: expected UTF-8: {why}"))
}
