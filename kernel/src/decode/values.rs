//! The value columns, by the kind of schema.

use arrow_array::ArrayRef;
use arrow_schema::FieldRef;

use super::DecoderOptions;
use super::avro::AvroValues;
use super::json::JsonValues;
use super::primitive::PrimitiveValues;
use crate::conform::conform;
use crate::error::{KernelError, MessageRef, Result};

/// Value columns under construction.
pub enum Values {
    /// One column `value`, or none.
    Primitive(PrimitiveValues, Option<FieldRef>),
    /// Fields of JSON objects.
    Json(Box<JsonValues>),
    /// Fields of Avro records.
    Avro(Box<AvroValues>),
}

impl Values {
    /// For the value columns `fields` of the output schema.
    pub fn new(options: &DecoderOptions, mut fields: Vec<FieldRef>) -> Result<Self> {
        let value_type = options.value_type.as_str();
        let known = PrimitiveValues::new(value_type);
        if known.is_none() && !matches!(value_type, "json" | "avro") {
            return Err(KernelError::schema(format!(
                "value_type: {value_type:?} is not one the kernel decodes"
            )));
        }
        // Without a value column nothing is decoded, whatever the type.
        if fields.is_empty() {
            return Ok(Self::Primitive(PrimitiveValues::Skipped(0), None));
        }
        if let Some(values) = known {
            return match (fields.pop(), fields.is_empty()) {
                (Some(field), true) if field.name() == "value" => Ok(Self::Primitive(values, Some(field))),
                _ => Err(KernelError::schema(format!(
                    "expected the one value column `value` for {value_type}"
                ))),
            };
        }
        let missing = |what: &str| KernelError::schema(format!("{value_type} needs {what}"));
        let value_schema = options.value_schema.as_ref().ok_or_else(|| missing("value_schema"))?;
        if value_type == "json" {
            return Ok(Self::Json(Box::new(JsonValues::new(fields, value_schema, options.batch_rows)?)));
        }
        let reader = options.reader_document.as_ref().ok_or_else(|| missing("reader_document"))?;
        Ok(Self::Avro(Box::new(AvroValues::new(fields, value_schema, reader, options.batch_rows)?)))
    }

    /// Whether schema versions matter.
    pub fn needs_versions(&self) -> bool {
        matches!(self, Self::Avro(_))
    }

    /// Whether the version is known.
    pub fn knows(&self, version: &[u8]) -> bool {
        match self {
            Self::Avro(values) => values.knows(version),
            _ => true,
        }
    }

    /// Make a version known; ignored where versions do not matter.
    pub fn add_version(&mut self, version: &[u8], document: &str) -> Result<()> {
        match self {
            Self::Avro(values) => values.add_version(version, document),
            _ => Ok(()),
        }
    }

    /// Whether a payload that is still encrypted can be shown: as bytes, or not at all.
    pub fn takes_sealed(&self) -> bool {
        matches!(self, Self::Primitive(PrimitiveValues::Bytes(_) | PrimitiveValues::Skipped(_), _))
    }

    /// Add one message; `None` is a null value.
    pub fn append(&mut self, payload: Option<&[u8]>, version: &[u8]) -> Result<()> {
        match self {
            Self::Primitive(values, _) => values.append(payload),
            Self::Json(values) => values.append(payload),
            Self::Avro(values) => values.append(payload, version),
        }
    }

    /// The columns so far, in the order of the output schema; starts new ones.
    pub fn finish(&mut self, at: &[MessageRef]) -> Result<Vec<ArrayRef>> {
        match self {
            Self::Json(values) => values.finish(at),
            Self::Avro(values) => values.finish(at),
            Self::Primitive(values, field) => {
                let array = values.finish();
                let Some(field) = field else { return Ok(Vec::new()) };
                conform(&array, field)
                    .map(|array| vec![array])
                    .map_err(|e| KernelError::payload(e.to_string()))
            }
        }
    }
}
