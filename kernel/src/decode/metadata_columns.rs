//! The `__` columns: what a message carries besides its value.

use std::sync::Arc;

use arrow_array::builder::{BinaryBuilder, Int64Builder, MapBuilder, MapFieldNames, StringBuilder};
use arrow_array::{Array, ArrayRef, Int32Array, Int64Array, StringArray, StructArray, UInt32Array};
use arrow_schema::{DataType, Field, TimeUnit};
use arrow_select::take::take;

use super::message_row::MessageRow;
use super::repeated_keys::find_overwritten;
use crate::conform::conform_type;
use crate::error::{KernelError, MessageRef, Result};
use crate::metadata::Property;

/// One metadata column under construction.
#[derive(Debug)]
pub enum MetadataColumn {
    /// `__key`
    Key(BinaryBuilder),
    /// `__topic`: the same text in all rows
    Topic(ConstantColumn),
    /// `__partition`: the same number in all rows
    Partition(ConstantColumn),
    /// `__messageId`
    MessageId(MessageIdColumn),
    /// `__publishTime`
    PublishTime(Int64Builder),
    /// `__eventTime`
    EventTime(Int64Builder),
    /// `__messageProperties`
    Properties(Box<MapBuilder<StringBuilder, StringBuilder>>),
    /// `__orderingKey`
    OrderingKey(BinaryBuilder),
    /// `__producerName`
    ProducerName(ProducerNames),
    /// `__sequenceId`
    SequenceId(Vec<i64>),
    /// `__schemaVersion`
    SchemaVersion(Int64Builder),
    /// `__messageSize`
    MessageSize(Vec<i32>),
    /// `__replicatedFrom`
    ReplicatedFrom(StringBuilder),
    /// `__index`
    Index(Int64Builder),
    /// `__brokerPublishTime`
    BrokerPublishTime(Int64Builder),
}

impl MetadataColumn {
    /// The column called `name`; `None` when no metadata column is.
    pub fn new(name: &str, topic: &str, partition: i32) -> Option<Self> {
        Some(match name {
            "__key" => Self::Key(BinaryBuilder::new()),
            "__topic" => Self::Topic(ConstantColumn::new(Arc::new(StringArray::from(vec![topic])))),
            "__partition" => {
                Self::Partition(ConstantColumn::new(Arc::new(Int32Array::from(vec![partition]))))
            }
            "__messageId" => Self::MessageId(MessageIdColumn { partition, ..MessageIdColumn::default() }),
            "__publishTime" => Self::PublishTime(Int64Builder::new()),
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
            "__producerName" => Self::ProducerName(ProducerNames::default()),
            "__sequenceId" => Self::SequenceId(Vec::new()),
            "__schemaVersion" => Self::SchemaVersion(Int64Builder::new()),
            "__messageSize" => Self::MessageSize(Vec::new()),
            "__replicatedFrom" => Self::ReplicatedFrom(StringBuilder::new()),
            "__index" => Self::Index(Int64Builder::new()),
            "__brokerPublishTime" => Self::BrokerPublishTime(Int64Builder::new()),
            _ => return None,
        })
    }

    /// Add one message. What the column cannot hold is an error that says so, and null in the column.
    pub fn append(&mut self, row: &MessageRow<'_>) -> Result<()> {
        match self {
            Self::Key(b) => b.append_option(row.key.map(|key| key.bytes())),
            Self::Topic(same) | Self::Partition(same) => same.rows += 1,
            Self::MessageId(ids) => ids.append(row.at),
            Self::PublishTime(b) => return append_time(b, row.publish_time, "publish time"),
            Self::EventTime(b) if row.event_time == 0 => b.append_null(),
            Self::EventTime(b) => return append_time(b, row.event_time, "event time"),
            Self::Properties(b) => return append_properties(b, row.properties),
            Self::OrderingKey(b) => b.append_option(row.ordering_key),
            Self::ProducerName(names) => return names.append(row.producer_name),
            Self::SequenceId(v) => v.push(row.sequence_id as i64),
            Self::SchemaVersion(b) => return append_version(b, row.schema_version),
            Self::MessageSize(v) => v.push(row.payload.map_or(0, <[u8]>::len) as i32),
            Self::ReplicatedFrom(b) => return append_text(b, row.replicated_from, "replicated from"),
            Self::Index(b) => b.append_option(row.broker.index.map(|index| index as i64)),
            Self::BrokerPublishTime(b) => match row.broker.timestamp {
                Some(time) => return append_time(b, time, "broker publish time"),
                None => b.append_null(),
            },
        }
        Ok(())
    }

    /// The column so far as `field`; starts a new one.
    pub fn finish(&mut self, field: &Field) -> Result<ArrayRef> {
        let array: ArrayRef = match self {
            Self::Key(b) | Self::OrderingKey(b) => Arc::new(b.finish()),
            Self::Topic(same) | Self::Partition(same) => same.finish()?,
            Self::MessageId(ids) => ids.finish(),
            Self::PublishTime(b) | Self::EventTime(b) | Self::BrokerPublishTime(b) => {
                return times(Arc::new(b.finish()), field);
            }
            Self::Properties(b) => Arc::new(b.finish()),
            Self::ProducerName(names) => names.finish()?,
            Self::SequenceId(v) => Arc::new(Int64Array::from(std::mem::take(v))),
            Self::SchemaVersion(b) | Self::Index(b) => Arc::new(b.finish()),
            Self::ReplicatedFrom(b) => Arc::new(b.finish()),
            Self::MessageSize(v) => Arc::new(Int32Array::from(std::mem::take(v))),
        };
        fit(&array, field)
    }
}

/// A column with the same value in all rows.
#[derive(Debug)]
pub struct ConstantColumn {
    /// As many rows as the largest batch so far had, at least one.
    longest: ArrayRef,
    rows: usize,
}

impl ConstantColumn {
    fn new(value: ArrayRef) -> Self {
        Self { longest: value, rows: 0 }
    }

    /// Batches share the memory of the values.
    fn finish(&mut self) -> Result<ArrayRef> {
        let rows = std::mem::take(&mut self.rows);
        if self.longest.len() < rows {
            let first = UInt32Array::from(vec![0; rows]);
            self.longest =
                take(&self.longest, &first, None).map_err(|e| KernelError::schema(e.to_string()))?;
        }
        Ok(self.longest.slice(0, rows))
    }
}

/// Texts of which many in a row are the same.
#[derive(Debug, Default)]
pub struct ProducerNames {
    /// Texts, null where there is none, and how often they repeat.
    runs: Vec<(Option<String>, usize)>,
    /// The text of the last batch that had only one.
    only: Option<(Option<String>, ConstantColumn)>,
}

impl ProducerNames {
    fn append(&mut self, name: &[u8]) -> Result<()> {
        match self.runs.last_mut() {
            Some((Some(last), rows)) if last.as_bytes() == name => *rows += 1,
            _ => {
                let text = utf8(name, "producer name").map(str::to_owned);
                let fault = text.as_ref().err().cloned();
                self.runs.push((text.ok(), 1));
                return fault.map_or(Ok(()), Err);
            }
        }
        Ok(())
    }

    fn finish(&mut self) -> Result<ArrayRef> {
        let runs = std::mem::take(&mut self.runs);
        let [(name, rows)] = runs.as_slice() else {
            let texts = runs.iter().flat_map(|(name, rows)| std::iter::repeat_n(name.as_deref(), *rows));
            return Ok(Arc::new(texts.collect::<StringArray>()));
        };
        let known = self.only.take().filter(|(known, _)| known == name);
        let fresh =
            || (name.clone(), ConstantColumn::new(Arc::new(StringArray::from(vec![name.as_deref()]))));
        let (_, same) = self.only.insert(known.unwrap_or_else(fresh));
        same.rows = *rows;
        same.finish()
    }
}

/// The children of `__messageId`.
#[derive(Debug, Default)]
pub struct MessageIdColumn {
    ledgers: Vec<i64>,
    entries: Vec<i64>,
    indexes: Vec<i32>,
    partition: i32,
}

impl MessageIdColumn {
    fn append(&mut self, at: MessageRef) {
        self.ledgers.push(at.ledger);
        self.entries.push(at.entry);
        self.indexes.push(at.batch_index);
    }

    fn finish(&mut self) -> ArrayRef {
        let partitions = vec![self.partition; self.ledgers.len()];
        let child = |name: &str, kind| Arc::new(Field::new(name, kind, true));
        Arc::new(StructArray::from(vec![
            (
                child("ledger", DataType::Int64),
                Arc::new(Int64Array::from(std::mem::take(&mut self.ledgers))) as ArrayRef,
            ),
            (
                child("entry", DataType::Int64),
                Arc::new(Int64Array::from(std::mem::take(&mut self.entries))) as ArrayRef,
            ),
            (
                child("batchIndex", DataType::Int32),
                Arc::new(Int32Array::from(std::mem::take(&mut self.indexes))) as ArrayRef,
            ),
            (child("partition", DataType::Int32), Arc::new(Int32Array::from(partitions)) as ArrayRef),
        ]))
    }
}

fn times(millis: ArrayRef, field: &Field) -> Result<ArrayRef> {
    let as_millis = conform_type(&millis, &DataType::Timestamp(TimeUnit::Millisecond, None))
        .map_err(|e| KernelError::schema(e.to_string()))?;
    fit(&as_millis, field)
}

fn fit(array: &ArrayRef, field: &Field) -> Result<ArrayRef> {
    crate::conform::conform(array, field)
        .map_err(|e| KernelError::schema(format!("column {}: {e}", field.name())))
}

/// Unix milliseconds, signed as in Pulsar's Java client, if they fit a 64-bit number of microseconds.
fn append_time(builder: &mut Int64Builder, millis: u64, what: &str) -> Result<()> {
    let millis = millis as i64;
    let fits = millis.checked_mul(1000).is_some();
    builder.append_option(fits.then_some(millis));
    match fits {
        true => Ok(()),
        false => {
            Err(KernelError::payload(format!("{what}: expected a time in Spark's range, got {millis} ms")))
        }
    }
}

fn append_text(builder: &mut StringBuilder, bytes: Option<&[u8]>, what: &str) -> Result<()> {
    let text = bytes.map(|bytes| utf8(bytes, what)).transpose();
    builder.append_option(text.as_ref().ok().copied().flatten());
    text.map(|_| ())
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

/// Empty is none.
fn append_version(builder: &mut Int64Builder, version: &[u8]) -> Result<()> {
    let number = version.try_into().ok().map(i64::from_be_bytes);
    builder.append_option(number);
    match number {
        None if !version.is_empty() => {
            let why = format!("schema version: expected 8 bytes, got {}", version.len());
            Err(KernelError::payload(why))
        }
        _ => Ok(()),
    }
}

fn utf8<'a>(bytes: &'a [u8], what: &str) -> Result<&'a str> {
    std::str::from_utf8(bytes).map_err(|e| KernelError::payload(format!("{what}: expected UTF-8: {e}")))
}
