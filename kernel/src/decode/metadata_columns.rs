//! The `__` columns: what a message carries besides its value.

use std::sync::Arc;

use arrow_array::builder::{BinaryBuilder, Int64Builder, MapBuilder, MapFieldNames, StringBuilder};
use arrow_array::{Array, ArrayRef, Int32Array, Int64Array, StringArray, StructArray, UInt32Array};
use arrow_schema::{DataType, Field, TimeUnit};
use arrow_select::take::take;

use crate::conform::conform_type;
use crate::error::{KernelError, MessageRef, Result};
use crate::metadata::{Key, Property};

/// Everything a column may need of one message.
#[derive(Debug)]
pub struct Row<'a> {
    /// Where the message lies.
    pub at: MessageRef,
    /// Its key.
    pub key: Option<Key<'a>>,
    /// Its properties.
    pub properties: &'a [Property<'a>],
    /// Unix milliseconds.
    pub publish_time: u64,
    /// Unix milliseconds, 0 is none.
    pub event_time: u64,
    /// Its ordering key.
    pub ordering_key: Option<&'a [u8]>,
    /// Its producer.
    pub producer_name: &'a [u8],
    /// Its sequence id.
    pub sequence_id: u64,
    /// Empty is none.
    pub schema_version: &'a [u8],
    /// `None` is a null value.
    pub payload: Option<&'a [u8]>,
    /// The payload is still encrypted.
    pub sealed: bool,
}

impl Row<'_> {
    /// Bytes the row may add to a batch; bounds its memory and its 32-bit offsets.
    pub fn weight(&self) -> usize {
        let properties: usize = self.properties.iter().map(|(k, v)| k.len() + v.len()).sum();
        self.payload.map_or(0, <[u8]>::len)
            + self.key.map_or(0, |k| k.text.len())
            + self.ordering_key.map_or(0, <[u8]>::len)
            + self.producer_name.len()
            + properties
    }
}

/// One metadata column under construction.
#[derive(Debug)]
pub enum MetadataColumn {
    /// `__key`
    Key(BinaryBuilder),
    /// `__topic`: the same text in all rows
    Topic(Same),
    /// `__partition`: the same number in all rows
    Partition(Same),
    /// `__messageId`
    MessageId(MessageIds),
    /// `__publishTime`
    PublishTime(Vec<i64>),
    /// `__eventTime`
    EventTime(Int64Builder),
    /// `__messageProperties`
    Properties(Box<MapBuilder<StringBuilder, StringBuilder>>),
    /// `__orderingKey`
    OrderingKey(BinaryBuilder),
    /// `__producerName`
    ProducerName(Names),
    /// `__sequenceId`
    SequenceId(Vec<i64>),
    /// `__schemaVersion`
    SchemaVersion(Int64Builder),
    /// `__messageSize`
    MessageSize(Vec<i32>),
}

impl MetadataColumn {
    /// The column called `name`; `None` when no metadata column is.
    pub fn new(name: &str, topic: &str, partition: i32) -> Option<Self> {
        Some(match name {
            "__key" => Self::Key(BinaryBuilder::new()),
            "__topic" => Self::Topic(Same::new(Arc::new(StringArray::from(vec![topic])))),
            "__partition" => Self::Partition(Same::new(Arc::new(Int32Array::from(vec![partition])))),
            "__messageId" => Self::MessageId(MessageIds { partition, ..MessageIds::default() }),
            "__publishTime" => Self::PublishTime(Vec::new()),
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
            "__producerName" => Self::ProducerName(Names::default()),
            "__sequenceId" => Self::SequenceId(Vec::new()),
            "__schemaVersion" => Self::SchemaVersion(Int64Builder::new()),
            "__messageSize" => Self::MessageSize(Vec::new()),
            _ => return None,
        })
    }

    /// Add one message.
    pub fn append(&mut self, row: &Row<'_>) -> Result<()> {
        match self {
            Self::Key(b) => match row.key {
                Some(key) => b.append_value(key.decoded()?),
                None => b.append_null(),
            },
            Self::Topic(same) | Self::Partition(same) => same.rows += 1,
            Self::MessageId(ids) => ids.append(row.at),
            Self::PublishTime(v) => v.push(millis(row.publish_time, "publish time")?),
            Self::EventTime(b) if row.event_time == 0 => b.append_null(),
            Self::EventTime(b) => b.append_value(millis(row.event_time, "event time")?),
            Self::Properties(b) => {
                for (key, value) in row.properties {
                    b.keys().append_value(utf8(key, "property key")?);
                    b.values().append_value(utf8(value, "property value")?);
                }
                b.append(true).map_err(|e| KernelError::corrupt(e.to_string()))?;
            }
            Self::OrderingKey(b) => b.append_option(row.ordering_key),
            Self::ProducerName(names) => names.append(row.producer_name)?,
            Self::SequenceId(v) => v.push(row.sequence_id as i64),
            Self::SchemaVersion(b) => {
                b.append_option(row.schema_version.try_into().ok().map(i64::from_be_bytes));
            }
            Self::MessageSize(v) => v.push(row.payload.map_or(0, <[u8]>::len) as i32),
        }
        Ok(())
    }

    /// The column so far as `field`; starts a new one.
    pub fn finish(&mut self, field: &Field) -> Result<ArrayRef> {
        let array: ArrayRef = match self {
            Self::Key(b) | Self::OrderingKey(b) => Arc::new(b.finish()),
            Self::Topic(same) | Self::Partition(same) => same.finish()?,
            Self::MessageId(ids) => ids.finish(),
            Self::PublishTime(v) => return times(Arc::new(Int64Array::from(std::mem::take(v))), field),
            Self::EventTime(b) => return times(Arc::new(b.finish()), field),
            Self::Properties(b) => Arc::new(b.finish()),
            Self::ProducerName(names) => names.finish()?,
            Self::SequenceId(v) => Arc::new(Int64Array::from(std::mem::take(v))),
            Self::SchemaVersion(b) => Arc::new(b.finish()),
            Self::MessageSize(v) => Arc::new(Int32Array::from(std::mem::take(v))),
        };
        fit(&array, field)
    }
}

/// A column with the same value in all rows.
#[derive(Debug)]
pub struct Same {
    /// As many rows as the largest batch so far had, at least one.
    longest: ArrayRef,
    rows: usize,
}

impl Same {
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
pub struct Names {
    /// Texts and how often they repeat.
    runs: Vec<(String, usize)>,
    /// The text of the last batch that had only one.
    only: Option<(String, Same)>,
}

impl Names {
    fn append(&mut self, name: &[u8]) -> Result<()> {
        match self.runs.last_mut() {
            Some((last, rows)) if last.as_bytes() == name => *rows += 1,
            _ => self.runs.push((utf8(name, "producer name")?.to_owned(), 1)),
        }
        Ok(())
    }

    fn finish(&mut self) -> Result<ArrayRef> {
        let runs = std::mem::take(&mut self.runs);
        let [(name, rows)] = runs.as_slice() else {
            let texts = runs.iter().flat_map(|(name, rows)| std::iter::repeat_n(name.as_str(), *rows));
            return Ok(Arc::new(StringArray::from_iter_values(texts)));
        };
        let known = self.only.take().filter(|(known, _)| known == name);
        let anew = || (name.clone(), Same::new(Arc::new(StringArray::from(vec![name.as_str()]))));
        let (_, same) = self.only.insert(known.unwrap_or_else(anew));
        same.rows = *rows;
        same.finish()
    }
}

/// The children of `__messageId`.
#[derive(Debug, Default)]
pub struct MessageIds {
    ledgers: Vec<i64>,
    entries: Vec<i64>,
    indexes: Vec<i32>,
    partition: i32,
}

impl MessageIds {
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

/// Milliseconds that still fit a 64-bit number of microseconds.
fn millis(value: u64, what: &str) -> Result<i64> {
    i64::try_from(value)
        .ok()
        .filter(|v| *v <= i64::MAX / 1000)
        .ok_or_else(|| KernelError::corrupt(format!("{what} of {value} ms is out of range")))
}

fn utf8<'a>(bytes: &'a [u8], what: &str) -> Result<&'a str> {
    std::str::from_utf8(bytes).map_err(|e| KernelError::corrupt(format!("{what}: expected UTF-8: {e}")))
}
