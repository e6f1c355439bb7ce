//! Whether the columns of a message tell all that the message says.
//!
//! A table keeps columns and lets the payload go. A later reader may have another schema, so the payload is kept where
//! the columns would not give that reader what the message gives it: a member or field that no column holds, or a value
//! that stands for an absent one. Where this is not sure, the answer is no.

use super::avro::completeness::AvroCompleteness;
use super::json::completeness::JsonCompleteness;
use super::key_value::split;
use super::protobuf::completeness::ProtobufCompleteness;
use crate::error::Result;
use crate::payload_schema::PayloadSchema;

/// What to look for in messages of one schema.
#[derive(Debug)]
pub enum Completeness {
    /// Primitives are their bytes.
    Always,
    /// The caller knows what schemas decide.
    Avro(AvroCompleteness),
    Json(JsonCompleteness),
    Protobuf(ProtobufCompleteness),
    /// The sides of a pair in its inline form.
    Pair(Box<[Completeness; 2]>),
}

impl Completeness {
    /// Raises "schema" for a definition that is not valid.
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

    /// Whether the columns tell all of a payload; of one that does not decode the answer means nothing.
    pub fn tells_all(&self, payload: &[u8]) -> bool {
        match self {
            Self::Always => true,
            Self::Avro(avro) => avro.tells_all(payload),
            Self::Json(json) => json.tells_all(payload),
            Self::Protobuf(protobuf) => protobuf.tells_all(payload),
            Self::Pair(sides) => {
                let Ok(parts) = split(payload) else { return false };
                // The columns of two nulls are those of a null value.
                let is_null_value = parts.iter().all(Option::is_none);
                let is_told =
                    |(side, part): (&Self, Option<&[u8]>)| part.is_none_or(|part| side.tells_all(part));
                !is_null_value && sides.iter().zip(parts).all(is_told)
            }
        }
    }
}
