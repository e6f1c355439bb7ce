//! The metadata columns whose value is the same for all messages of an entry, or increases by one with each
//! message.
//!
//! The columns grow by runs: consecutive rows of one entry. The first message of a run determines the shared
//! values, so the other messages cause no work until the run ends.

use std::sync::Arc;

use arrow_array::{Array, ArrayRef, Int32Array, Int64Array, StringArray, StructArray, UInt32Array};
use arrow_buffer::NullBufferBuilder;
use arrow_schema::{DataType, Field};
use arrow_select::take::take;

use super::message_row::MessageRow;
use super::metadata_columns::{fit, text_error, time, times};
use crate::error::{KernelError, MessageRef, Result};

/// A column under construction that grows by runs.
#[derive(Debug)]
pub enum EntryColumn {
    /// `__topic` and `__partition`, which have the same value in all rows
    Constant(ConstantColumn),
    /// `__messageId`, with the partition
    MessageId(i32),
    /// `__publishTime` and `__brokerPublishTime`: the values, a function that reads them, and the name in errors
    Time(NumberRuns, fn(&MessageRow<'_>) -> Option<u64>, &'static str),
    /// `__producerName` and `__replicatedFrom`: the values, a function that reads them, and the name in errors
    Text(TextRuns, for<'a> fn(&MessageRow<'a>) -> Option<&'a [u8]>, &'static str),
    /// `__schemaVersion`
    SchemaVersion(NumberRuns),
    /// `__index` minus the batch index; the difference is the same for all messages of an entry
    Index(NumberRuns),
}

impl EntryColumn {
    /// Creates the column `name`, or returns `None` if no column of this kind has the name.
    pub fn new(name: &str, topic: &str, partition: i32) -> Option<Self> {
        let numbers = NumberRuns::default;
        let texts = TextRuns::default;
        Some(match name {
            "__topic" => Self::Constant(ConstantColumn::new(Arc::new(StringArray::from(vec![topic])))),
            "__partition" => Self::Constant(ConstantColumn::new(Arc::new(Int32Array::from(vec![partition])))),
            "__messageId" => Self::MessageId(partition),
            "__publishTime" => Self::Time(numbers(), |row| Some(row.publish_time), "publish time"),
            "__brokerPublishTime" => Self::Time(numbers(), |row| row.broker.timestamp, "broker publish time"),
            "__producerName" => Self::Text(texts(), |row| Some(row.producer_name), "producer name"),
            "__replicatedFrom" => Self::Text(texts(), |row| row.replicated_from, "replicated from"),
            "__schemaVersion" => Self::SchemaVersion(numbers()),
            "__index" => Self::Index(numbers()),
            _ => return None,
        })
    }

    /// Begins a run with this message.
    ///
    /// If the value does not fit the column, it becomes null, and the result is the error.
    pub fn begin(&mut self, row: &MessageRow<'_>) -> Result<()> {
        let (runs, value) = match self {
            Self::Constant(_) | Self::MessageId(_) => return Ok(()),
            Self::Text(runs, read, what) => return runs.begin(read(row), what),
            Self::Time(runs, read, what) => (runs, read(row).map(|millis| time(millis, what)).transpose()),
            Self::SchemaVersion(runs) => (runs, version(row.schema_version)),
            Self::Index(runs) => {
                let batch_index = i64::from(row.at.batch_index);
                (runs, Ok(row.broker.index.map(|index| index.cast_signed().wrapping_sub(batch_index))))
            }
        };
        runs.begin(value.as_ref().ok().copied().flatten());
        value.map(|_| ())
    }

    /// Adds `rows` rows to the current run.
    pub fn extend(&mut self, rows: usize) {
        match self {
            Self::Constant(_) | Self::MessageId(_) => {}
            Self::Text(runs, ..) => runs.extend(rows),
            Self::Time(runs, ..) | Self::SchemaVersion(runs) | Self::Index(runs) => runs.extend(rows),
        }
    }

    /// Returns the column for the messages `at`, converted to the type of `field`, and empties the column.
    pub fn finish(&mut self, field: &Field, at: &[MessageRef]) -> Result<ArrayRef> {
        let array: ArrayRef = match self {
            Self::Constant(constant) => constant.of_length(at.len())?,
            Self::MessageId(partition) => message_ids(at, *partition),
            Self::Time(runs, ..) => return times(Arc::new(runs.finish()), field),
            Self::Text(runs, ..) => runs.finish()?,
            Self::SchemaVersion(runs) => Arc::new(runs.finish()),
            Self::Index(runs) => Arc::new(indexes(&runs.finish(), at)),
        };
        fit(&array, field)
    }
}

/// A column with the same value in all rows.
#[derive(Debug)]
pub struct ConstantColumn {
    /// The value, repeated once for each row of the largest batch until now, but at least once.
    longest: ArrayRef,
}

impl ConstantColumn {
    fn new(value: ArrayRef) -> Self {
        Self { longest: value }
    }

    /// Returns a column of `rows` rows, which shares its memory with other batches.
    fn of_length(&mut self, rows: usize) -> Result<ArrayRef> {
        if self.longest.len() < rows {
            let first = UInt32Array::from(vec![0; rows]);
            self.longest =
                take(&self.longest, &first, None).map_err(|e| KernelError::schema(e.to_string()))?;
        }
        Ok(self.longest.slice(0, rows))
    }
}

/// Numbers or nulls, each with the number of its repetitions.
#[derive(Debug, Default)]
pub struct NumberRuns {
    runs: Vec<(Option<i64>, usize)>,
}

impl NumberRuns {
    fn begin(&mut self, number: Option<i64>) {
        if self.runs.last().is_none_or(|(last, _)| *last != number) {
            self.runs.push((number, 0));
        }
    }

    fn extend(&mut self, more: usize) {
        if let Some((_, rows)) = self.runs.last_mut() {
            *rows += more;
        }
    }

    fn finish(&mut self) -> Int64Array {
        let rows = self.runs.iter().map(|(_, rows)| rows).sum();
        let mut numbers = Vec::with_capacity(rows);
        let mut nulls = NullBufferBuilder::new(rows);
        for (number, rows) in self.runs.drain(..) {
            numbers.extend(std::iter::repeat_n(number.unwrap_or_default(), rows));
            match number {
                Some(_) => nulls.append_n_non_nulls(rows),
                None => nulls.append_n_nulls(rows),
            }
        }
        Int64Array::new(numbers.into(), nulls.finish())
    }
}

/// Texts or nulls, each with the number of its repetitions.
#[derive(Debug, Default)]
pub struct TextRuns {
    runs: Vec<(Option<String>, usize)>,
    /// Text and column of the last batch in which all rows had the same text.
    only: Option<(Option<String>, ConstantColumn)>,
}

impl TextRuns {
    fn begin(&mut self, bytes: Option<&[u8]>, what: &str) -> Result<()> {
        if self.runs.last().is_some_and(|(last, _)| last.as_deref().map(str::as_bytes) == bytes) {
            return Ok(());
        }
        let text = bytes.map(std::str::from_utf8).transpose();
        self.runs.push((text.ok().flatten().map(str::to_owned), 0));
        text.map(|_| ()).map_err(|e| text_error(e, what))
    }

    fn extend(&mut self, more: usize) {
        if let Some((_, rows)) = self.runs.last_mut() {
            *rows += more;
        }
    }

    fn finish(&mut self) -> Result<ArrayRef> {
        let runs = std::mem::take(&mut self.runs);
        let [(text, rows)] = runs.as_slice() else {
            let texts = runs.iter().flat_map(|(text, rows)| std::iter::repeat_n(text.as_deref(), *rows));
            return Ok(Arc::new(texts.collect::<StringArray>()));
        };
        let known = self.only.take().filter(|(known, _)| known == text);
        let fresh =
            || (text.clone(), ConstantColumn::new(Arc::new(StringArray::from(vec![text.as_deref()]))));
        let (_, constant) = self.only.insert(known.unwrap_or_else(fresh));
        constant.of_length(*rows)
    }
}

fn message_ids(at: &[MessageRef], partition: i32) -> ArrayRef {
    let child = |name: &str, kind| Arc::new(Field::new(name, kind, true));
    let longs = |of: fn(&MessageRef) -> i64| Arc::new(Int64Array::from_iter_values(at.iter().map(of)));
    let batch_indexes = Int32Array::from_iter_values(at.iter().map(|at| at.batch_index));
    let partitions = Int32Array::from(vec![partition; at.len()]);
    Arc::new(StructArray::from(vec![
        (child("ledger", DataType::Int64), longs(|at| at.ledger) as ArrayRef),
        (child("entry", DataType::Int64), longs(|at| at.entry)),
        (child("batchIndex", DataType::Int32), Arc::new(batch_indexes)),
        (child("partition", DataType::Int32), Arc::new(partitions)),
    ]))
}

/// Adds the batch index of each message to its base, and returns the resulting indexes in the topic.
fn indexes(bases: &Int64Array, at: &[MessageRef]) -> Int64Array {
    if bases.null_count() == bases.len() {
        return bases.clone();
    }
    let sums = bases.values().iter().zip(at).map(|(bases, at)| bases.wrapping_add(at.batch_index.into()));
    Int64Array::new(sums.collect(), bases.nulls().cloned())
}

/// Returns the schema version as a number, or `None` if it is empty.
fn version(version: &[u8]) -> Result<Option<i64>> {
    match version.try_into() {
        Ok(number) => Ok(Some(i64::from_be_bytes(number))),
        Err(_) if version.is_empty() => Ok(None),
        Err(_) => {
            let why = format!("schema version: expected 8 bytes, got {}", version.len());
            Err(KernelError::payload(why))
        }
    }
}
