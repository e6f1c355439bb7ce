//! JSON payloads to columns.
//!
//! Pulsar's JSON schema describes values in Avro terms but Jackson writes them: logical types are plain
//! numbers in the document's unit (a timestamp-millis is an integer), bytes are base64. So `arrow-json`
//! reads bare physical types, and their meaning is put on afterwards.

use std::sync::Arc;

use arrow_array::{ArrayRef, RecordBatch, UInt32Array};
use arrow_json::ReaderBuilder;
use arrow_json::reader::Decoder as TapeDecoder;
use arrow_schema::{ArrowError, DataType, Field, FieldRef, Fields, Schema, SchemaRef};
use arrow_select::take::take;

use super::json_values::PulsarValues;
use crate::conform::{conform, conform_type};
use crate::error::{KernelError, Result};

/// The value columns of JSON messages under construction.
pub struct JsonValues {
    decoder: TapeDecoder,
    physical: SchemaRef,
    /// Output fields, and the type their document gives them.
    columns: Vec<(FieldRef, DataType)>,
    /// Per row its index among the decoded objects; `None` for a null value.
    rows: Vec<Option<u32>>,
    decoded: u32,
}

impl JsonValues {
    /// `output` fields must all be named in `value_schema`; others of its fields are not decoded.
    pub fn new(output: Vec<FieldRef>, value_schema: &Schema, batch_rows: usize) -> Result<Self> {
        let mut columns = Vec::with_capacity(output.len());
        let mut physical = Vec::with_capacity(output.len());
        for field in output {
            let declared = value_schema.field_with_name(field.name()).map_err(|_| {
                KernelError::schema(format!("column {} is not in the topic's schema", field.name()))
            })?;
            physical.push(Field::new(field.name(), physical_type(declared.data_type()), true));
            columns.push((field, declared.data_type().clone()));
        }
        let physical = Arc::new(Schema::new(physical));
        let decoder = build(&physical, batch_rows)?;
        Ok(Self { decoder, physical, columns, rows: Vec::new(), decoded: 0 })
    }

    /// Add one message; `None` is a null value.
    pub fn append(&mut self, payload: Option<&[u8]>) -> Result<()> {
        let Some(payload) = payload else {
            self.rows.push(None);
            return Ok(());
        };
        decode_one(&mut self.decoder, payload)?;
        self.rows.push(Some(self.decoded));
        self.decoded += 1;
        Ok(())
    }

    /// The columns so far; starts new ones.
    pub fn finish(&mut self) -> Result<Vec<ArrayRef>> {
        let decoded = self.decoder.flush().and_then(|batch| self.columns_of(batch));
        let columns =
            decoded.map_err(|e| KernelError::payload(format!("the JSON does not fit its schema: {e}")))?;
        let columns = if self.rows.iter().all(Option::is_some) {
            columns
        } else {
            let indices = UInt32Array::from(std::mem::take(&mut self.rows));
            let spread = columns.iter().map(|column| take(column, &indices, None));
            spread.collect::<std::result::Result<_, _>>().map_err(|e| KernelError::payload(e.to_string()))?
        };
        self.rows.clear();
        self.decoded = 0;
        Ok(columns)
    }

    fn columns_of(&self, batch: Option<RecordBatch>) -> std::result::Result<Vec<ArrayRef>, ArrowError> {
        let batch = batch.unwrap_or_else(|| RecordBatch::new_empty(self.physical.clone()));
        let pairs = batch.columns().iter().zip(&self.columns);
        pairs.map(|(array, (field, declared))| conform(&conform_type(array, declared)?, field)).collect()
    }
}

fn build(physical: &SchemaRef, batch_rows: usize) -> Result<TapeDecoder> {
    ReaderBuilder::new(physical.clone())
        // One more than is ever used: a full decoder would leave a payload's trailing bytes unread.
        .with_batch_size(batch_rows + 1)
        .with_decoder_factory(Arc::new(PulsarValues))
        .build_decoder()
        .map_err(|e| KernelError::schema(format!("the schema cannot be read as JSON: {e}")))
}

/// A payload must be exactly one object: the decoder itself would take two for two rows.
fn decode_one(decoder: &mut TapeDecoder, payload: &[u8]) -> Result<()> {
    if payload.trim_ascii_start().first() != Some(&b'{') {
        return Err(KernelError::payload("expected one JSON object, got something else"));
    }
    let before = decoder.len();
    let used = decoder.decode(payload).map_err(|e| KernelError::payload(format!("not JSON: {e}")))?;
    if decoder.has_partial_record() {
        return Err(KernelError::payload("the JSON object is cut off"));
    }
    if used != payload.len() || decoder.len() != before + 1 {
        return Err(KernelError::payload("expected exactly one JSON object, got more behind it"));
    }
    Ok(())
}

/// How a type lies in JSON: logical types as their bare numbers, everything nullable.
fn physical_type(declared: &DataType) -> DataType {
    let nullable =
        |field: &FieldRef| Arc::new(Field::new(field.name(), physical_type(field.data_type()), true));
    match declared {
        DataType::Timestamp(_, _) | DataType::Time64(_) => DataType::Int64,
        DataType::Date32 | DataType::Time32(_) => DataType::Int32,
        DataType::LargeBinary | DataType::FixedSizeBinary(_) => DataType::Binary,
        DataType::Dictionary(_, value) => physical_type(value),
        DataType::List(item) => DataType::List(nullable(item)),
        DataType::LargeList(item) => DataType::LargeList(nullable(item)),
        DataType::Struct(fields) => DataType::Struct(fields.iter().map(nullable).collect()),
        DataType::Map(entries, sorted) => {
            let DataType::Struct(fields) = entries.data_type() else { return declared.clone() };
            let children: Fields = fields
                .iter()
                .enumerate()
                .map(|(i, f)| Arc::new(Field::new(f.name(), physical_type(f.data_type()), i != 0)))
                .collect();
            DataType::Map(Arc::new(Field::new(entries.name(), DataType::Struct(children), false)), *sorted)
        }
        other => other.clone(),
    }
}
