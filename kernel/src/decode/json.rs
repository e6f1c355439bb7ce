//! JSON payloads to columns.
//!
//! Pulsar's JSON schema describes values in Avro terms but Jackson writes them: logical types are plain
//! numbers in the document's unit (a timestamp-millis is an integer), bytes are base64. So `arrow-json`
//! reads bare physical types, and their meaning is put on afterwards.

use std::sync::Arc;

use arrow_array::{ArrayRef, RecordBatch, UInt32Array};
use arrow_json::ReaderBuilder;
use arrow_json::reader::Decoder as TapeDecoder;
use arrow_schema::{ArrowError, DataType, FieldRef, Schema, SchemaRef};
use arrow_select::take::take;

use super::json_types::JsonTypes;
use super::json_values::PulsarValues;
use crate::conform::{conform, conform_type};
use crate::document::AvroType;
use crate::error::{KernelError, Result};

/// Objects and arrays inside each other. The decoder takes any number, but what it says of a value that does not
/// fit shows all of it, and calls itself for each level: deep values would overflow the stack.
const MAX_DEPTH: usize = 8192;

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
    /// `output` fields must all be named in `value_schema`; others of its fields are not decoded. Only the
    /// document tells a union from a record, and fixed uuids from text.
    pub fn new(
        output: Vec<FieldRef>,
        value_schema: &Schema,
        document: Option<&str>,
        batch_rows: usize,
    ) -> Result<Self> {
        let document = document.map(AvroType::parse).transpose()?;
        let described = document.as_ref().map_or(Ok(&[][..]), AvroType::fields)?;
        let mut types = JsonTypes::default();
        let mut columns = Vec::with_capacity(output.len());
        let mut physical = Vec::with_capacity(output.len());
        for field in output {
            let declared = value_schema.field_with_name(field.name()).map_err(|_| {
                KernelError::schema(format!("column {} is not in the topic's schema", field.name()))
            })?;
            let kind = described.iter().find(|known| known.name == *field.name()).map(|known| &known.kind);
            physical.push(types.field(declared, kind));
            columns.push((field, declared.data_type().clone()));
        }
        let physical = Arc::new(Schema::new(physical));
        let factory = Arc::new(PulsarValues { unions: types.unions });
        let decoder = build(&physical, factory, batch_rows)?;
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

fn build(physical: &SchemaRef, factory: Arc<PulsarValues>, batch_rows: usize) -> Result<TapeDecoder> {
    ReaderBuilder::new(physical.clone())
        // One more than is ever used: a full decoder would leave a payload's trailing bytes unread.
        .with_batch_size(batch_rows + 1)
        .with_decoder_factory(factory)
        .build_decoder()
        .map_err(|e| KernelError::schema(format!("the schema cannot be read as JSON: {e}")))
}

/// A payload must be exactly one object: the decoder itself would take two for two rows.
fn decode_one(decoder: &mut TapeDecoder, payload: &[u8]) -> Result<()> {
    if payload.trim_ascii_start().first() != Some(&b'{') {
        return Err(KernelError::payload("expected one JSON object, got something else"));
    }
    if payload.len() > 2 * MAX_DEPTH && depth(payload) > MAX_DEPTH {
        return Err(KernelError::payload(format!(
            "expected at most {MAX_DEPTH} objects and arrays inside each other, got more"
        )));
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

/// How many objects and arrays lie inside each other at most.
fn depth(payload: &[u8]) -> usize {
    let (mut open, mut most, mut in_text, mut escaped) = (0usize, 0, false, false);
    for byte in payload {
        match byte {
            _ if escaped => escaped = false,
            b'\\' => escaped = in_text,
            b'"' => in_text = !in_text,
            _ if in_text => {}
            b'{' | b'[' => {
                open += 1;
                most = most.max(open);
            }
            b'}' | b']' => open = open.saturating_sub(1),
            _ => {}
        }
    }
    most
}
