//! The format in which the values of one schema are written.

use arrow_schema::{DataType, Schema};

use super::key_value::PairKind;
use crate::avro_schema::{AvroField, AvroType};
use crate::decode::primitive::physical_type;
use crate::error::{KernelError, Result};
use crate::payload_schema::PayloadSchema;
use crate::protobuf::ProtobufPlan;

/// The format in which values are written.
#[derive(Debug)]
pub enum ValueKind {
    /// The column `value`, which is cast to this type.
    Primitive(DataType),
    /// The fields of a record, and the type of each field in the schema.
    Record {
        /// The fields, in the schema's order.
        fields: Vec<(AvroField, DataType)>,
        /// True if the record is written as JSON instead of Avro binary.
        json: bool,
    },
    /// The columns `key` and `value`.
    Pair(Box<PairKind>),
    /// The fields of a Protobuf message.
    Protobuf(ProtobufPlan),
}

impl ValueKind {
    /// Creates the kind of a schema. `columns` is the schema of the batches.
    pub fn new(schema: &PayloadSchema, columns: &Schema) -> Result<Self> {
        let value_type = schema.value_type.as_str();
        if let Some(physical) = physical_type(value_type) {
            columns
                .field_with_name("value")
                .map_err(|_| KernelError::schema(format!("expected a column `value` for {value_type}")))?;
            return Ok(Self::Primitive(physical));
        }
        if value_type == "key_value" {
            return Ok(Self::Pair(Box::new(PairKind::new(schema.pair()?, columns)?)));
        }
        if value_type == "protobuf" {
            let plan = ProtobufPlan::parse(schema.definition()?)?;
            let known: Vec<&str> = plan.root()?.fields.iter().map(|field| field.name.as_str()).collect();
            refuse_unknown(columns, &known)?;
            return Ok(Self::Protobuf(plan));
        }
        if !matches!(value_type, "json" | "avro") {
            return Err(KernelError::schema(format!(
                "value_type: expected a type that the kernel encodes, got {value_type:?}"
            )));
        }
        let json = value_type == "json";
        let parse = if json { AvroType::parse_for_json } else { AvroType::parse };
        let avro_schema = parse(schema.definition()?)?;
        let value_schema = schema.fields()?;
        let mut fields = Vec::new();
        for field in avro_schema.fields()? {
            // A field without a column has no declared type, and is written as null.
            let declared = value_schema.field_with_name(&field.name).ok();
            fields.push((field.clone(), declared.map_or(DataType::Null, |field| field.data_type().clone())));
        }
        let known: Vec<&str> = fields.iter().map(|(field, _)| field.name.as_str()).collect();
        refuse_unknown(columns, &known)?;
        Ok(Self::Record { fields, json })
    }
}

/// Fails if a value column is not a field of the schema.
fn refuse_unknown(columns: &Schema, known: &[&str]) -> Result<()> {
    let mut names = columns.fields().iter().map(|f| f.name().as_str()).filter(|n| !n.starts_with("__"));
    match names.find(|name| !known.contains(name)) {
        None => Ok(()),
        Some(name) => Err(KernelError::schema(format!(
            "expected columns that are fields of the topic's schema, got column {name}"
        ))),
    }
}
