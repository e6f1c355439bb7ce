//! The columns of an input batch, cast to the types that are written.

use std::borrow::Cow;

use arrow_array::cast::AsArray;
use arrow_array::types::{Int32Type, Int64Type, TimestampMillisecondType};
use arrow_array::{
    Array, ArrayRef, BinaryArray, BooleanArray, Int32Array, Int64Array, ListArray, MapArray, RecordBatch,
    StringArray, TimestampMillisecondArray, UInt32Array, new_null_array,
};
use arrow_schema::{DataType, Field, TimeUnit};
use arrow_select::take::take;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;

use super::binding::{Bound, BoundField, span};
use super::key_value::PairColumns;
use super::protobuf::binding::MessageWriter;
use super::value_kind::ValueKind;
use super::{avro, json, primitive, protobuf};
use crate::conform::conform_type;
use crate::error::{KernelError, Result};
use crate::metadata::SingleMetadata;
use crate::protobuf::FieldPlan;

/// The value and metadata columns of one batch.
pub struct Input {
    value: InputValue,
    key: Option<BinaryArray>,
    ordering_key: Option<BinaryArray>,
    event_time: Option<TimestampMillisecondArray>,
    properties: Option<Properties>,
    partition: Option<Int32Array>,
    deliver_at: Option<TimestampMillisecondArray>,
    tombstone: Option<BooleanArray>,
    sequence_id: Option<Int64Array>,
    replicate_to: Option<ListArray>,
}

/// The cluster name that makes replicators copy a message to no cluster:
/// `TypedMessageBuilder.disableReplication` of the Java client.
const NOWHERE: &str = "__local__";

/// The columns of a value, or of one side of a key-value pair.
pub enum InputValue {
    /// A column.
    Primitive(ArrayRef),
    /// The fields of a record.
    Record {
        /// The fields, in the schema's order.
        fields: Vec<BoundField>,
        /// True if the record is written as JSON instead of Avro binary.
        json: bool,
    },
    /// Key and value.
    Pair(Box<PairColumns>),
    /// The fields of a Protobuf message.
    Protobuf(MessageWriter),
}

struct Properties {
    map: MapArray,
    keys: StringArray,
    values: StringArray,
}

impl Input {
    /// Casts the columns. A value that does not fit is an error of the kind `payload` that contains the row.
    pub fn new(batch: &RecordBatch, kind: &ValueKind) -> Result<Self> {
        let column = |name: &str, to: DataType| match batch.column_by_name(name) {
            Some(array) => fit(array, name, &[&to]).map(Some),
            None => Ok(None),
        };
        let properties = column("__messageProperties", properties_type())?.map(|array| {
            let map = array.as_map().clone();
            let (keys, values) = (map.keys().as_string().clone(), map.values().as_string().clone());
            Properties { map, keys, values }
        });
        let millis = |name: &str| {
            let array = column(name, DataType::Timestamp(TimeUnit::Millisecond, None))?;
            Ok(array.map(|a| a.as_primitive::<TimestampMillisecondType>().clone()))
        };
        Ok(Self {
            value: InputValue::new(batch, kind)?,
            key: column("__key", DataType::Binary)?.map(|a| a.as_binary().clone()),
            ordering_key: column("__orderingKey", DataType::Binary)?.map(|a| a.as_binary().clone()),
            event_time: millis("__eventTime")?,
            properties,
            partition: column("__partition", DataType::Int32)?.map(|a| a.as_primitive::<Int32Type>().clone()),
            deliver_at: millis("__deliverAt")?,
            tombstone: column("__tombstone", DataType::Boolean)?.map(|a| a.as_boolean().clone()),
            sequence_id: column("__sequenceId", DataType::Int64)?
                .map(|a| a.as_primitive::<Int64Type>().clone()),
            replicate_to: column("__replicationClusters", clusters_type())?.map(|a| a.as_list().clone()),
        })
    }

    /// Returns the key as it is written, and whether it is base64.
    ///
    /// Pulsar's key is text, so bytes that are not UTF-8 are written as base64, as the official clients do.
    /// The key of a separated key-value pair is always base64, as in the Java client.
    pub fn key(&self, row: usize) -> Result<Option<(Cow<'_, str>, bool)>> {
        if let InputValue::Pair(pair) = &self.value
            && pair.separated
        {
            return Ok(pair.write_key(row)?.map(|bytes| (Cow::Owned(STANDARD.encode(bytes)), true)));
        }
        let array = self.key.as_ref().filter(|array| array.is_valid(row));
        Ok(array.map(|array| match std::str::from_utf8(array.value(row)) {
            Ok(text) => (Cow::Borrowed(text), false),
            Err(_) => (Cow::Owned(STANDARD.encode(array.value(row))), true),
        }))
    }

    /// Returns whether the message's key is the key of a separated key-value pair.
    pub fn key_is_part_of_the_value(&self) -> bool {
        matches!(&self.value, InputValue::Pair(pair) if pair.separated)
    }

    /// Returns the ordering key, which groups messages. If the ordering key is null, messages are grouped by
    /// the key.
    pub fn ordering_key(&self, row: usize) -> Option<&[u8]> {
        self.ordering_key.as_ref().filter(|array| array.is_valid(row)).map(|array| array.value(row))
    }

    /// Returns whether the row is written as a null value, whatever its value columns contain.
    pub fn is_tombstone(&self, row: usize) -> bool {
        self.tombstone.as_ref().is_some_and(|array| array.is_valid(row) && array.value(row))
    }

    /// Returns the partition that the row names. Null names no partition, and neither does -1 for a topic
    /// without partitions.
    pub fn partition(&self, row: usize, partitions: usize) -> Result<Option<usize>> {
        let Some(array) = self.partition.as_ref().filter(|array| array.is_valid(row)) else {
            return Ok(None);
        };
        match array.value(row) {
            -1 => Ok(None),
            named => match usize::try_from(named) {
                Ok(index) if index < partitions => Ok(Some(index)),
                _ => {
                    let why = format!("__partition: expected 0 to {}, got {named}", partitions - 1);
                    Err(KernelError::payload(why).in_row(row))
                }
            },
        }
    }

    /// Returns the time before which shared subscriptions do not receive the message, in Unix milliseconds.
    pub fn deliver_at(&self, row: usize) -> Result<Option<u64>> {
        let Some(array) = self.deliver_at.as_ref().filter(|array| array.is_valid(row)) else {
            return Ok(None);
        };
        let got = array.value(row);
        let at = u64::try_from(got).map_err(|_| {
            let why = format!("__deliverAt: expected a time after 1970, got {got} ms");
            KernelError::payload(why).in_row(row)
        })?;
        Ok(Some(at))
    }

    /// Returns the sequence id that the row names; `None` if the batch has no such column.
    pub fn sequence_id(&self, row: usize) -> Result<Option<u64>> {
        let Some(array) = &self.sequence_id else { return Ok(None) };
        let named = array.is_valid(row).then(|| array.value(row));
        match named.map(u64::try_from) {
            Some(Ok(id)) => Ok(Some(id)),
            _ => {
                let got = named.map_or_else(|| "null".to_owned(), |id| id.to_string());
                let why = format!("__sequenceId: expected a number of at least 0, got {got}");
                Err(KernelError::payload(why).in_row(row))
            }
        }
    }

    /// Returns the clusters that the row names. Null names no cluster; an empty list becomes `NOWHERE`.
    pub fn replicate_to(&self, row: usize) -> Result<Vec<&str>> {
        let Some(array) = self.replicate_to.as_ref().filter(|array| array.is_valid(row)) else {
            return Ok(Vec::new());
        };
        let names = array.values().as_string::<i32>();
        let clusters = span(array.value_offsets(), row).map(|item| {
            let name = names.is_valid(item).then(|| names.value(item)).filter(|name| !name.is_empty());
            name.ok_or_else(|| {
                let why = "__replicationClusters: expected names of clusters, got null or an empty text";
                KernelError::payload(why).in_row(row)
            })
        });
        let clusters = clusters.collect::<Result<Vec<_>>>()?;
        Ok(if clusters.is_empty() { vec![NOWHERE] } else { clusters })
    }

    /// Sets ordering key, event time and properties in `single`, in which these fields must be empty.
    #[inline]
    pub fn metadata<'a>(&'a self, row: usize, single: &mut SingleMetadata<'a>) -> Result<()> {
        if let Some(array) = self.ordering_key.as_ref().filter(|array| array.is_valid(row)) {
            single.ordering_key = Some(array.value(row));
        }
        if let Some(array) = self.event_time.as_ref().filter(|array| array.is_valid(row)) {
            let millis = array.value(row);
            single.event_time = u64::try_from(millis).ok().filter(|millis| *millis > 0).ok_or_else(|| {
                let why = format!(
                    "__eventTime: expected null or a time from 1970-01-01 00:00:00.001 UTC on, got {millis} ms since \
                     1970, because 0 means no event time in Pulsar"
                );
                KernelError::payload(why).in_row(row)
            })?;
        }
        if let Some(properties) = self.properties.as_ref().filter(|p| p.map.is_valid(row)) {
            for item in span(properties.map.value_offsets(), row) {
                let key = properties.keys.value(item);
                if properties.values.is_null(item) {
                    let why = format!("__messageProperties: expected text for {key:?}, got null");
                    return Err(KernelError::payload(why).in_row(row));
                }
                single.properties.push((key.as_bytes(), properties.values.value(item).as_bytes()));
            }
        }
        Ok(())
    }

    /// Sets all fields of the row's message in the empty `single` except its key, and appends the value.
    /// Returns the same key as the function `key`.
    #[inline]
    pub fn message<'a>(
        &'a self,
        row: usize,
        single: &mut SingleMetadata<'a>,
        value: &mut Vec<u8>,
    ) -> Result<Option<(Cow<'a, str>, bool)>> {
        self.metadata(row, single)?;
        single.null_value = self.is_tombstone(row) || !self.write_value(row, value)?;
        let key = self.key(row)?;
        single.null_partition_key = key.is_none() && self.key_is_part_of_the_value();
        Ok(key)
    }

    /// Appends the bytes of the value. Returns false, and appends nothing, if the value is null.
    pub fn write_value(&self, row: usize, out: &mut Vec<u8>) -> Result<bool> {
        self.value.write(row, out)
    }
}

impl InputValue {
    /// Appends the bytes of the value. Returns false, and appends nothing, if the value is null.
    pub fn write(&self, row: usize, out: &mut Vec<u8>) -> Result<bool> {
        let written = match self {
            Self::Primitive(array) => return Ok(primitive::write(array, row, out)),
            Self::Record { fields, json: true } => json::record(fields, row, out),
            Self::Record { fields, json: false } => avro::record(fields, row, out),
            Self::Pair(pair) => return pair.write(row, out),
            Self::Protobuf(writer) => protobuf::message(writer, row, out),
        };
        written
            .map(|()| true)
            .map_err(|e| KernelError::payload(format!("field {}: {}", e.path, e.why)).in_row(row))
    }

    /// Casts the value columns of a batch. A value that does not fit is an error of the kind `payload` that
    /// contains the row.
    pub fn new(batch: &RecordBatch, kind: &ValueKind) -> Result<Self> {
        match kind {
            ValueKind::Primitive(physical) => {
                let array = batch
                    .column_by_name("value")
                    .ok_or_else(|| KernelError::schema("expected a column `value` in the batch"))?;
                Ok(Self::Primitive(fit(array, "value", &[physical])?))
            }
            ValueKind::Record { fields, json } => {
                let bind = |(field, declared): &(crate::avro_schema::AvroField, DataType)| {
                    let physical = field.kind.physical();
                    let array = match batch.column_by_name(&field.name) {
                        Some(array) => fit(array, &field.name, &[declared, &physical])?,
                        None => new_null_array(&physical, batch.num_rows()),
                    };
                    Ok(BoundField::new(&field.name, Bound::new(&field.kind, &array)?))
                };
                let fields = fields.iter().map(bind).collect::<Result<_>>()?;
                Ok(Self::Record { fields, json: *json })
            }
            ValueKind::Pair(kind) => Ok(Self::Pair(Box::new(PairColumns::new(batch, kind)?))),
            ValueKind::Protobuf(plan) => {
                let column = |field: &FieldPlan| {
                    let array = batch.column_by_name(&field.name);
                    let fitted = array.map(|array| fit(array, &field.name, &[&plan.arrow_type(field)?]));
                    fitted.transpose()
                };
                Ok(Self::Protobuf(MessageWriter::new(plan, plan.root()?, column)?))
            }
        }
    }
}

/// Casts an array to each of `types` in order.
fn fit(array: &ArrayRef, name: &str, types: &[&DataType]) -> Result<ArrayRef> {
    let cast = |array: &ArrayRef| types.iter().try_fold(array.clone(), |array, to| conform_type(&array, to));
    cast(array).map_err(|error| {
        let why = KernelError::payload(format!("column {name}: {error}"));
        // `take` copies one row; `slice` would keep the items of all lists, and so fail for each row.
        let one_row = |row: usize| take(array, &UInt32Array::from(vec![row as u32]), None);
        match (0..array.len()).find(|row| one_row(*row).and_then(|array| cast(&array)).is_err()) {
            Some(row) => why.in_row(row),
            None => why,
        }
    })
}

fn clusters_type() -> DataType {
    DataType::List(Field::new("item", DataType::Utf8, true).into())
}

fn properties_type() -> DataType {
    let fields = vec![Field::new("key", DataType::Utf8, false), Field::new("value", DataType::Utf8, true)];
    DataType::Map(Field::new("entries", DataType::Struct(fields.into()), false).into(), false)
}
