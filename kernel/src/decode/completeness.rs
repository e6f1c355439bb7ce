//! The check whether the columns of a message determine its payload.
//!
//! A table stores columns and drops the payload. Later, a reader with another schema may read the row. So the
//! table also stores the payload if such a reader would read other values from the columns than from the
//! message. Reasons are a member or field without a column, and a column that contains a default instead of
//! an absent value. In doubt, the check treats the columns as incomplete.

use super::avro::completeness::AvroCompleteness;
use super::json::completeness::JsonCompleteness;
use super::key_value::split;
use super::protobuf::completeness::ProtobufCompleteness;
use crate::error::Result;
use crate::payload_schema::PayloadSchema;

/// The check for messages of one schema.
#[derive(Debug)]
pub enum Completeness {
    /// Primitives, whose columns always determine the payload.
    Always,
    /// Avro; the caller compares the schemas, and this check examines only the values.
    Avro(AvroCompleteness),
    Json(JsonCompleteness),
    Protobuf(ProtobufCompleteness),
    /// The key and the value of a pair in its inline form.
    Pair(Box<[Completeness; 2]>),
}

impl Completeness {
    /// Creates the check; returns an error of the kind `schema` if the schema's definition is not valid.
    pub fn new(schema: &PayloadSchema) -> Result<Self> {
        Ok(match schema.value_type.as_str() {
            "avro" => Self::Avro(AvroCompleteness::new(schema.definition()?)?),
            "json" => Self::Json(JsonCompleteness::new(schema.definition()?)?),
            "protobuf" => Self::Protobuf(ProtobufCompleteness::new(schema.definition()?)?),
            "key_value" => {
                let pair = schema.pair()?;
                Self::Pair(Box::new([Self::new(&pair.key)?, Self::new(&pair.value)?]))
            }
            _ => Self::Always,
        })
    }

    /// Returns whether the columns determine a payload. The result has no meaning for a payload that cannot
    /// be decoded.
    pub fn is_complete(&self, payload: &[u8]) -> bool {
        match self {
            Self::Always => true,
            Self::Avro(avro) => avro.is_complete(payload),
            Self::Json(json) => json.is_complete(payload),
            Self::Protobuf(protobuf) => protobuf.is_complete(payload),
            Self::Pair(sides) => {
                let Ok(parts) = split(payload) else { return false };
                // The columns of a pair of two nulls are the same as the columns of a null value.
                let is_null_value = parts.iter().all(Option::is_none);
                let is_side_complete =
                    |(side, part): (&Self, Option<&[u8]>)| part.is_none_or(|part| side.is_complete(part));
                !is_null_value && sides.iter().zip(parts).all(is_side_complete)
            }
        }
    }
}
