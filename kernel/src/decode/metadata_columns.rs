//! The `__` columns: what a message carries besides its value.

use std::sync::Arc;

use arrow_array::builder::{BinaryBuilder, Int64Builder, MapBuilder, MapFieldNames, StringBuilder};
use arrow_array::{ArrayRef, Int32Array, Int64Array};
use arrow_schema::{DataType, Field, FieldRef, TimeUnit};

use super::entry_columns::EntryColumn;
use super::message_row::MessageRow;
use super::repeated_keys::find_overwritten;
use crate::conform::conform_type;
use crate::error::{KernelError, MessageRef, Result};
use crate::metadata::Property;

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
    Key(BinaryBuilder),
    /// `__eventTime`
    EventTime(Int64Builder),
    /// `__messageProperties`
    Properties(Box<MapBuilder<StringBuilder, StringBuilder>>),
    /// `__orderingKey`
    OrderingKey(BinaryBuilder),
    /// `__sequenceId`
    SequenceId(Vec<i64>),
    /// `__messageSize`
    MessageSize(Vec<i32>),
}

impl MessageColumn {
    /// The column called `name`; `None` when no such column is.
    fn new(name: &str) -> Option<Self> {
        Some(match name {
            "__key" => Self::Key(BinaryBuilder::new()),
            "__eventTime" => Self::EventTime(Int64Builder::new()),
            "__messageProperties" => {
                let names =
                    MapFieldNames { entry: "entries".into(), key: "key".into(), value: "value".into() };
                Self::Properties(Box::new(MapBuilder::new(
                    Some(names),
                    StringBuilder::new(),
                    StringBuilder::new(),
                )))
            }
            "__orderingKey" => Self::OrderingKey(BinaryBuilder::new()),
            "__sequenceId" => Self::SequenceId(Vec::new()),
            "__messageSize" => Self::MessageSize(Vec::new()),
            _ => return None,
        })
    }

    /// Add one message. What the column cannot hold is an error that says so, and null in the column.
    fn append(&mut self, row: &MessageRow<'_>) -> Result<()> {
        match self {
            Self::Key(b) => b.append_option(row.key.map(|key| key.bytes())),
            Self::EventTime(b) if row.event_time == 0 => b.append_null(),
            Self::EventTime(b) => {
                let millis = time(row.event_time, "event time");
                b.append_option(millis.as_ref().ok().copied());
                return millis.map(|_| ());
            }
            Self::Properties(b) => return append_properties(b, row.properties),
            Self::OrderingKey(b) => b.append_option(row.ordering_key),
            Self::SequenceId(v) => v.push(row.sequence_id as i64),
            Self::MessageSize(v) => v.push(row.payload.map_or(0, <[u8]>::len) as i32),
        }
        Ok(())
    }

    /// The column so far as `field`; starts a new one.
    fn finish(&mut self, field: &Field) -> Result<ArrayRef> {
        let array: ArrayRef = match self {
            Self::Key(b) | Self::OrderingKey(b) => Arc::new(b.finish()),
            Self::EventTime(b) => return times(Arc::new(b.finish()), field),
            Self::Properties(b) => Arc::new(b.finish()),
            Self::SequenceId(v) => Arc::new(Int64Array::from(std::mem::take(v))),
            Self::MessageSize(v) => Arc::new(Int32Array::from(std::mem::take(v))),
        };
        fit(&array, field)
    }
}

/// Unix milliseconds as `field`.
pub fn times(millis: ArrayRef, field: &Field) -> Result<ArrayRef> {
    let as_millis = conform_type(&millis, &DataType::Timestamp(TimeUnit::Millisecond, None))
        .map_err(|e| KernelError::schema(e.to_string()))?;
    fit(&as_millis, field)
}

/// `array` as `field`.
pub fn fit(array: &ArrayRef, field: &Field) -> Result<ArrayRef> {
    crate::conform::conform(array, field)
        .map_err(|e| KernelError::schema(format!("column {}: {e}", field.name())))
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

/// Of equal keys the last counts.
fn append_properties(
    builder: &mut MapBuilder<StringBuilder, StringBuilder>,
    properties: &[Property<'_>],
) -> Result<()> {
    let mut sides =
        properties.iter().flat_map(|(key, value)| [(key, "property key"), (value, "property value")]);
    let fault = sides.find_map(|(bytes, what)| utf8(bytes, what).err());
    let mut overwritten = Vec::new();
    if fault.is_none() {
        find_overwritten(
            0..properties.len(),
            |index| properties.get(index).map(|(key, _)| key),
            &mut overwritten,
        );
        for (index, (key, value)) in properties.iter().enumerate() {
            if overwritten.binary_search(&index).is_err() {
                builder.keys().append_value(utf8(key, "property key")?);
                builder.values().append_value(utf8(value, "property value")?);
            }
        }
    }
    builder.append(fault.is_none()).map_err(|e| KernelError::schema(e.to_string()))?;
    fault.map_or(Ok(()), Err)
}

/// `bytes` as text, called `what` in the error when they are none.
pub fn utf8<'a>(bytes: &'a [u8], what: &str) -> Result<&'a str> {
    std::str::from_utf8(bytes).map_err(|e| KernelError::payload(format!("{what}: expected UTF-8: {e}")))
}
