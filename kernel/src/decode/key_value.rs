//! The decoder of key-value messages into two columns, `key` and `value`.
//!
//! Pulsar's `KeyValue` schema consists of two schemas, in one of two encodings. With INLINE, the payload is
//! `i32 length | key | i32 length | value`, big endian, with length -1 for null
//! (`org.apache.pulsar.common.schema.KeyValue`). With SEPARATED, the key is the message's key, and the payload is the
//! value. The schema version of a message determines its encoding.

use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::Arc;

use arrow_array::builder::NullBufferBuilder;
use arrow_array::{ArrayRef, StructArray};
use arrow_schema::{ArrowError, DataType, FieldRef};

use super::message_row::MessageRow;
use super::values::Values;
use crate::error::{KernelError, MessageRef, Result};
use crate::metadata::Key;
use crate::payload_schema::{KeyValueSchema, PayloadSchema};
use crate::wire::split_u32;

/// The columns `key` and `value` under construction.
pub struct KeyValues {
    key: SideDecoder,
    value: SideDecoder,
    /// True if `key` is the first of the output fields.
    key_first: bool,
    /// Map from each known schema version to true if the key is separate from the value.
    separated: HashMap<Vec<u8>, bool>,
}

impl KeyValues {
    /// Creates the columns `output`: `key`, `value` or both; a side without a column is not decoded.
    pub fn new(pair: &KeyValueSchema, output: &[FieldRef], batch_rows: usize) -> Result<Self> {
        if let Some(other) = output.iter().find(|field| !matches!(field.name().as_str(), "key" | "value")) {
            let name = other.name();
            return Err(KernelError::schema(format!(
                "expected the columns `key` and `value` of a key-value schema, got {name}"
            )));
        }
        let side = |name, schema| {
            let field = output.iter().find(|field| field.name() == name).cloned();
            SideDecoder::new(name, schema, field, batch_rows).map_err(|e| e.within(name))
        };
        Ok(Self {
            key: side("key", &pair.key)?,
            value: side("value", &pair.value)?,
            key_first: output.first().is_some_and(|field| field.name() == "key"),
            separated: HashMap::new(),
        })
    }

    /// Adds a schema version. The key and the value of the version must have the reader's types.
    pub fn add_version(&mut self, version: &[u8], written: &PayloadSchema) -> Result<()> {
        let Some(pair) = &written.pair else {
            let why =
                format!("written as {}, cannot be resolved to the reader's key_value", written.value_type);
            return Err(KernelError::schema(why));
        };
        self.key.add_version(version, &pair.key)?;
        self.value.add_version(version, &pair.value)?;
        self.separated.insert(version.to_vec(), pair.separated);
        Ok(())
    }

    /// Returns whether `add_version` was already called for this version.
    pub fn knows(&self, version: &[u8]) -> bool {
        self.separated.contains_key(version)
    }

    /// Returns the message in its inline form, which `append` needs; a separated message is assembled in `buffer`.
    pub fn payload<'a>(&self, row: &MessageRow<'a>, buffer: &'a mut Vec<u8>) -> Result<Option<&'a [u8]>> {
        if self.separated.get(row.schema_version) != Some(&true) {
            return Ok(row.payload);
        }
        let decoded = |key: Key<'a>| {
            key.decoded().ok_or_else(|| {
                KernelError::payload("key: expected base64, as the message's metadata claims, got other text")
            })
        };
        let key = row.key.map(decoded).transpose()?;
        buffer.clear();
        for side in [key, row.payload.map(Cow::Borrowed)] {
            let length = side.as_ref().map_or(Ok(-1), |bytes| i32::try_from(bytes.len()));
            let length =
                length.map_err(|_| KernelError::payload("expected a key or value below 2 GiB, got more"))?;
            buffer.extend_from_slice(&length.to_be_bytes());
            buffer.extend_from_slice(side.as_deref().unwrap_or_default());
        }
        Ok(Some(buffer))
    }

    /// Adds a message in its inline form; `None` is null on both sides.
    pub fn append(&mut self, payload: Option<&[u8]>, version: &[u8]) -> Result<()> {
        let [key, value] = match payload {
            None => [None, None],
            Some(_) if !self.knows(version) => {
                return Err(KernelError::schema(format!(
                    "schema version {version:?} was not added to the decoder"
                )));
            }
            Some(payload) => split(payload)?,
        };
        self.key.append(key, version)?;
        self.value.append(value, version)
    }

    /// Returns the columns in the order of the output schema, and starts new columns.
    pub fn finish(&mut self, at: &[MessageRef]) -> Result<Vec<ArrayRef>> {
        let sides =
            if self.key_first { [&mut self.key, &mut self.value] } else { [&mut self.value, &mut self.key] };
        let columns = sides.map(|side| side.finish(at).map_err(|e| e.within(side.name)));
        columns.into_iter().filter_map(Result::transpose).collect()
    }
}

/// Splits an inline form into key and value.
pub fn split(payload: &[u8]) -> Result<[Option<&[u8]>; 2]> {
    let (key, rest) = split_side(payload, "key")?;
    let (value, rest) = split_side(rest, "value")?;
    if !rest.is_empty() {
        return Err(KernelError::payload(format!(
            "expected the end after the pair's value, got {} more bytes",
            rest.len()
        )));
    }
    Ok([key, value])
}

fn split_side<'a>(bytes: &'a [u8], name: &str) -> Result<(Option<&'a [u8]>, &'a [u8])> {
    let Some((length, rest)) = split_u32(bytes) else {
        let why =
            format!("expected a key-value pair with the length of the {name}, got {} bytes", bytes.len());
        return Err(KernelError::payload(why));
    };
    if length == u32::MAX {
        return Ok((None, rest));
    }
    let Some((side, rest)) = rest.split_at_checked(length as usize) else {
        let why = format!("expected a {name} of {} bytes, got {} bytes", length as i32, rest.len());
        return Err(KernelError::payload(why));
    };
    Ok((Some(side), rest))
}

/// The decoder of one of the two columns.
struct SideDecoder {
    name: &'static str,
    schema: PayloadSchema,
    /// The column, or `None` if it is not in the output.
    column: Option<SideColumn>,
}

struct SideColumn {
    field: FieldRef,
    values: Values,
    nulls: NullBufferBuilder,
}

impl SideDecoder {
    fn new(
        name: &'static str,
        schema: &PayloadSchema,
        field: Option<FieldRef>,
        batch_rows: usize,
    ) -> Result<Self> {
        let column = field.map(|field| {
            let values = Values::new(schema, members(schema, &field)?, batch_rows)?;
            Ok(SideColumn { field, values, nulls: NullBufferBuilder::new(0) })
        });
        Ok(Self { name, schema: schema.clone(), column: column.transpose()? })
    }

    fn add_version(&mut self, version: &[u8], written: &PayloadSchema) -> Result<()> {
        let (own, other) = (&self.schema.value_type, &written.value_type);
        if own != other {
            let why = format!("written as {other}, cannot be resolved to the reader's {own}");
            return Err(KernelError::schema(why).within(self.name));
        }
        let Some(column) = &mut self.column else { return Ok(()) };
        column.values.add_version(version, written).map_err(|e| e.within(self.name))
    }

    fn append(&mut self, payload: Option<&[u8]>, version: &[u8]) -> Result<()> {
        let Some(column) = &mut self.column else { return Ok(()) };
        column.nulls.append(payload.is_some());
        column.values.append(payload, version).map_err(|e| e.within(self.name))
    }

    fn finish(&mut self, at: &[MessageRef]) -> Result<Option<ArrayRef>> {
        let Some(column) = &mut self.column else { return Ok(None) };
        let mut arrays = column.values.finish(at)?;
        let rows = column.nulls.len();
        let nulls = column.nulls.finish();
        let DataType::Struct(fields) = column.field.data_type() else { return Ok(arrays.pop()) };
        if self.schema.value_schema.is_none() {
            return Ok(arrays.pop());
        }
        if fields.is_empty() {
            return Ok(Some(Arc::new(StructArray::new_empty_fields(rows, nulls))));
        }
        let record = StructArray::try_new(fields.clone(), arrays, nulls);
        let record = record.map_err(|e: ArrowError| KernelError::schema(e.to_string()))?;
        Ok(Some(Arc::new(record)))
    }
}

/// Returns the columns for the decoder of one side: the fields of a record, or one column `value`.
fn members(schema: &PayloadSchema, field: &FieldRef) -> Result<Vec<FieldRef>> {
    match (schema.value_schema.is_some(), field.data_type()) {
        (true, DataType::Struct(fields)) => Ok(fields.to_vec()),
        (true, other) => Err(KernelError::schema(format!("expected a struct for a record, got {other}"))),
        (false, _) => Ok(vec![Arc::new(field.as_ref().clone().with_name("value"))]),
    }
}
