//! JSON payloads to columns.
//!
//! Pulsar's JSON schema describes values in Avro terms but Jackson writes them: logical types are plain
//! numbers in the schema's unit (a timestamp-millis is an integer), bytes are base64. So bare physical types
//! are read, and their meaning is put on afterwards.

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
use values::record;

/// Whether `text` is a number of JSON and nothing else.
pub fn is_number(text: &str) -> bool {
    JsonCursor::new(text.as_bytes()).is_ok_and(|mut cursor| {
        cursor.start().is_ok_and(|start| start == ValueStart::Number)
            && cursor.number().is_ok_and(|number| number == text)
    })
}

/// Whether `text` is one value of JSON.
pub fn is_value(text: &str) -> bool {
    JsonCursor::new(text.as_bytes()).is_ok_and(|mut cursor| cursor.skip().is_ok() && cursor.is_at_end())
}

/// The value columns of JSON messages under construction.
pub struct JsonValues {
    values: RecordColumn,
    /// Output fields, and the type their schema gives them.
    columns: Vec<(FieldRef, DataType)>,
}

impl JsonValues {
    /// `output` fields must all be named in `value_schema`; others of its fields are not decoded. Only the
    /// schema tells a union from a record, and fixed uuids from text.
    pub fn new(output: Vec<FieldRef>, value_schema: &Schema, definition: Option<&str>) -> Result<Self> {
        let avro_schema = definition.map(AvroType::parse_for_json).transpose()?;
        let described = avro_schema.as_ref().map_or(Ok(&[][..]), AvroType::fields)?;
        let mut types = JsonTypes::default();
        let mut columns = Vec::with_capacity(output.len());
        let mut physical = Vec::with_capacity(output.len());
        for field in output {
            let declared = value_schema.field_with_name(field.name()).map_err(|_| {
                KernelError::schema(format!("column {} is not in the topic's schema", field.name()))
            })?;
            physical.push(types.field(declared, described.iter().find(|known| known.name == *field.name())));
            columns.push((field, declared.data_type().clone()));
        }
        let values = RecordColumn::new(&Fields::from(physical), &types.unions)
            .map_err(|e| KernelError::schema(format!("the schema cannot be read as JSON: {e}")))?;
        Ok(Self { values, columns })
    }

    /// Add one message; `None` is a null value. After an error the columns are of no use.
    pub fn append(&mut self, payload: Option<&[u8]>) -> Result<()> {
        let Some(payload) = payload else {
            self.values.append_null();
            return Ok(());
        };
        let mut cursor = JsonCursor::new(payload).map_err(|fault| refused(*fault))?;
        if cursor.is_at_end() || cursor.start().is_ok_and(|start| start != ValueStart::Object) {
            return Err(KernelError::payload("expected one JSON object, got something else"));
        }
        cursor
            .start()
            .and_then(|_| record(&mut self.values, &mut cursor))
            .map_err(|fault| refused(*fault))?;
        if !cursor.is_at_end() {
            return Err(KernelError::payload("expected exactly one JSON object, got more behind it"));
        }
        Ok(())
    }

    /// The columns so far; starts new ones.
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

fn refused(fault: JsonFault) -> KernelError {
    let JsonFault { malformed, path, at, why } = fault;
    let place = if path.is_empty() { String::new() } else { format!(" in field {path}") };
    let what = if malformed { "not JSON" } else { "the JSON does not fit its schema" };
    KernelError::payload(format!("{what}{place}, at byte {at}: {why}"))
}
