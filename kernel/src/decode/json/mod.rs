//! The decoder from JSON payloads to columns.
//!
//! Pulsar's JSON schema describes values by Avro types, but Jackson writes the values. Logical types are plain numbers
//! in the schema's unit, such as an integer for `timestamp-millis`, and bytes are base64. So the decoder reads physical
//! types, and converts them to logical types afterwards.

mod columns;
pub mod completeness;
mod cursor;
mod date_text;
mod defaults;
pub mod exact_number;
mod forms;
mod members;
mod numbers;
mod quoted_key;
mod records;
mod texts;
mod types;
mod unions;
mod values;

use arrow_array::ArrayRef;
use arrow_schema::{ArrowError, DataType, FieldRef, Fields, Schema};

use crate::avro_schema::AvroType;
use crate::conform::{conform, conform_type};
use crate::error::{KernelError, Result};
use cursor::{JsonCursor, JsonFault, ValueStart};
use records::RecordColumn;
use types::JsonTypes;
use values::read_record;

/// Returns whether `text` is exactly one JSON number.
pub fn is_number(text: &str) -> bool {
    JsonCursor::new(text.as_bytes()).is_ok_and(|mut cursor| {
        cursor.start().is_ok_and(|start| start == ValueStart::Number)
            && cursor.number().is_ok_and(|number| number == text)
    })
}

/// Returns whether `text` is exactly one JSON value.
pub fn is_value(text: &str) -> bool {
    JsonCursor::new(text.as_bytes()).is_ok_and(|mut cursor| cursor.skip().is_ok() && cursor.is_at_end())
}

/// The value columns of JSON messages under construction.
pub struct JsonValues {
    values: RecordColumn,
    /// Output fields, and the Arrow type of each field in the topic's schema.
    columns: Vec<(FieldRef, DataType)>,
}

impl JsonValues {
    /// Creates the columns `output`, whose fields must all be in `value_schema`; other fields are not decoded.
    ///
    /// The Avro schema in `definition` shows which columns are unions and not records, and which are `fixed`
    /// UUIDs and not texts.
    pub fn new(output: Vec<FieldRef>, value_schema: &Schema, definition: Option<&str>) -> Result<Self> {
        let avro_schema = definition.map(AvroType::parse_for_json).transpose()?;
        let described = avro_schema.as_ref().map_or(Ok(&[][..]), AvroType::fields)?;
        let mut types = JsonTypes::default();
        let mut columns = Vec::with_capacity(output.len());
        let mut physical = Vec::with_capacity(output.len());
        for field in output {
            let declared = value_schema.field_with_name(field.name()).map_err(|_| {
                KernelError::schema(format!(
                    "column {} is not in the topic's schema; check the name",
                    field.name()
                ))
            })?;
            physical.push(types.field(declared, described.iter().find(|known| known.name == *field.name())));
            columns.push((field, declared.data_type().clone()));
        }
        let values = RecordColumn::new(&Fields::from(physical), &types.unions)
            .map_err(|e| KernelError::schema(format!("cannot decode JSON of the schema: {e}")))?;
        Ok(Self { values, columns })
    }

    /// Appends the value of a message; a payload of `None` is a null value. After an error, the columns are
    /// unusable.
    pub fn append(&mut self, payload: Option<&[u8]>) -> Result<()> {
        let Some(payload) = payload else {
            self.values.append_null();
            return Ok(());
        };
        let mut cursor = JsonCursor::new(payload).map_err(|fault| payload_error(*fault))?;
        if cursor.is_at_end() || cursor.start().is_ok_and(|start| start != ValueStart::Object) {
            return Err(KernelError::payload("expected a JSON object, got another value or no text"));
        }
        cursor
            .start()
            .and_then(|_| read_record(&mut self.values, &mut cursor))
            .map_err(|fault| payload_error(*fault))?;
        if !cursor.is_at_end() {
            return Err(KernelError::payload("expected exactly one JSON object, got more text after it"));
        }
        Ok(())
    }

    /// Returns the columns as Arrow arrays, and empties them for the next batch.
    pub fn finish(&mut self) -> Result<Vec<ArrayRef>> {
        let fit = |(array, (field, declared)): (&ArrayRef, &(FieldRef, DataType))| {
            conform(&conform_type(array, declared)?, field)
        };
        let columns = self.values.finish().and_then(|rows| {
            rows.columns().iter().zip(&self.columns).map(fit).collect::<std::result::Result<_, ArrowError>>()
        });
        columns.map_err(|e| KernelError::payload(format!("the JSON does not fit its schema: {e}")))
    }
}

fn payload_error(fault: JsonFault) -> KernelError {
    let JsonFault { is_malformed, path, offset, why } = fault;
    let place = if path.is_empty() { String::new() } else { format!(" in field {path}") };
    let what = if is_malformed { "not JSON" } else { "the JSON does not fit its schema" };
    KernelError::payload(format!("{what}{place}, at byte {offset}: {why}"))
}
