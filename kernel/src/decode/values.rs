//! The value columns for each type of schema.

use arrow_array::ArrayRef;
use arrow_schema::FieldRef;

use super::avro::AvroValues;
use super::json::JsonValues;
use super::key_value::KeyValues;
use super::message_row::MessageRow;
use super::primitive::PrimitiveValues;
use super::protobuf::ProtobufValues;
use crate::conform::conform;
use crate::error::{KernelError, MessageRef, Result};
use crate::payload_schema::PayloadSchema;

/// Value columns under construction.
pub enum Values {
    /// A single column `value`, or no column.
    Primitive(PrimitiveValues, Option<FieldRef>),
    /// Columns for fields of JSON objects.
    Json(Box<JsonValues>),
    /// Columns for fields of Avro records.
    Avro(Box<AvroValues>),
    /// Columns `key` and `value`.
    KeyValue(Box<KeyValues>),
    /// Columns for fields of Protobuf messages.
    Protobuf(Box<ProtobufValues>),
}

impl Values {
    /// Creates the value columns `fields` of the output schema.
    pub fn new(schema: &PayloadSchema, mut fields: Vec<FieldRef>, batch_rows: usize) -> Result<Self> {
        let value_type = schema.value_type.as_str();
        let known = PrimitiveValues::new(value_type);
        if known.is_none() && !matches!(value_type, "json" | "avro" | "key_value" | "protobuf") {
            return Err(KernelError::schema(format!(
                "value_type: expected a primitive, json, avro, key_value or protobuf, got {value_type:?}"
            )));
        }
        // Without a value column, no value of any type is decoded.
        if fields.is_empty() {
            return Ok(Self::Primitive(PrimitiveValues::Skipped(0), None));
        }
        if let Some(values) = known {
            return match (fields.pop(), fields.is_empty()) {
                (Some(field), true) if field.name() == "value" => Ok(Self::Primitive(values, Some(field))),
                _ => {
                    Err(KernelError::schema(format!("expected one value column, `value`, for {value_type}")))
                }
            };
        }
        if value_type == "key_value" {
            return Ok(Self::KeyValue(Box::new(KeyValues::new(schema.pair()?, &fields, batch_rows)?)));
        }
        if value_type == "protobuf" {
            return Ok(Self::Protobuf(Box::new(ProtobufValues::new(fields, schema.definition()?)?)));
        }
        let declared = schema.fields()?;
        if value_type == "json" {
            let definition = schema.definition.as_deref();
            return Ok(Self::Json(Box::new(JsonValues::new(fields, declared, definition)?)));
        }
        Ok(Self::Avro(Box::new(AvroValues::new(fields, declared, schema.definition()?)?)))
    }

    /// Returns whether the decoder needs the schema versions of messages.
    pub fn needs_versions(&self) -> bool {
        matches!(self, Self::Avro(_) | Self::KeyValue(_) | Self::Protobuf(_))
    }

    /// Returns whether the version is known, or no version is needed.
    pub fn knows(&self, version: &[u8]) -> bool {
        match self {
            Self::Avro(values) => values.knows(version),
            Self::KeyValue(values) => values.knows(version),
            Self::Protobuf(values) => values.knows(version),
            _ => true,
        }
    }

    /// Adds a schema version and its writer schema; does nothing if no version is needed.
    pub fn add_version(&mut self, version: &[u8], written: &PayloadSchema) -> Result<()> {
        match self {
            Self::Avro(values) => values.add_version(version, written.definition()?),
            Self::KeyValue(values) => values.add_version(version, written),
            Self::Protobuf(values) => values.add_version(version, written.definition()?),
            _ => Ok(()),
        }
    }

    /// Returns whether an encrypted payload is a valid value: as bytes, or because no value is decoded.
    pub fn shows_undecryptable(&self) -> bool {
        matches!(self, Self::Primitive(PrimitiveValues::Bytes(_) | PrimitiveValues::Skipped(_), _))
    }

    /// Returns whether `finish` can find a bad message that `append` accepted.
    pub fn fails_late(&self) -> bool {
        !matches!(self, Self::Primitive(..))
    }

    /// Returns the bytes that `append` needs: usually the payload.
    ///
    /// If a part of the value is outside the payload, the whole value is assembled in `buffer`.
    pub fn payload<'a>(&self, row: &MessageRow<'a>, buffer: &'a mut Vec<u8>) -> Result<Option<&'a [u8]>> {
        match self {
            Self::KeyValue(values) => values.payload(row, buffer),
            _ => Ok(row.payload),
        }
    }

    /// Appends the value of a message; a payload of `None` is a null value. After an error, the columns are
    /// unusable.
    pub fn append(&mut self, payload: Option<&[u8]>, version: &[u8]) -> Result<()> {
        match self {
            Self::Primitive(values, _) => values.append(payload),
            Self::Json(values) => values.append(payload),
            Self::Avro(values) => values.append(payload, version),
            Self::KeyValue(values) => values.append(payload, version),
            Self::Protobuf(values) => values.append(payload, version),
        }
    }

    /// Returns the columns in the order of the output schema, and starts new columns.
    ///
    /// `at` contains the position of each row's message. After an error, which need not name a message, the columns
    /// are unusable.
    pub fn finish(&mut self, at: &[MessageRef]) -> Result<Vec<ArrayRef>> {
        match self {
            Self::Json(values) => values.finish(),
            Self::Avro(values) => values.finish(),
            Self::KeyValue(values) => values.finish(at),
            Self::Protobuf(values) => values.finish(),
            Self::Primitive(values, field) => {
                let array = values.finish();
                let Some(field) = field else { return Ok(Vec::new()) };
                array
                    .and_then(|array| conform(&array, field))
                    .map(|array| vec![array])
                    .map_err(|e| KernelError::payload(e.to_string()))
            }
        }
    }
}
