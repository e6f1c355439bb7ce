//! Avro payloads to columns, each resolved from the schema version it was written with.

use std::collections::HashMap;

use arrow_array::{Array, ArrayRef, RecordBatch, UInt32Array};
use arrow_avro::reader::{Decoder as DatumDecoder, DecoderMode, ReaderBuilder};
use arrow_avro::schema::{AvroSchema, Fingerprint, FingerprintAlgorithm, SchemaStore};
use arrow_schema::{ArrowError, DataType, FieldRef, Schema};
use arrow_select::{concat::concat, take::take};

use crate::conform::{conform, conform_type};
use crate::document::AvroType;
use crate::document_names::{comparable_documents, project};
use crate::error::{ErrorKind, KernelError, Result};

/// The value columns of Avro messages under construction.
pub struct AvroValues {
    reader: String,
    columns: Vec<(FieldRef, DataType)>,
    batch_rows: usize,
    versions: HashMap<Vec<u8>, usize>,
    writers: Vec<Writer>,
    /// Per row the writer and the index among its datums; `None` for a null value.
    rows: Vec<Option<(usize, u32)>>,
}

/// The decoder of one schema version.
struct Writer {
    decoder: DatumDecoder,
    decoded: u32,
}

impl AvroValues {
    /// `output` fields must all be named in `value_schema` and in the reader's document.
    pub fn new(
        output: Vec<FieldRef>,
        value_schema: &Schema,
        reader: &str,
        batch_rows: usize,
    ) -> Result<Self> {
        AvroType::parse(reader)?.fields()?;
        let mut columns = Vec::with_capacity(output.len());
        for field in output {
            let declared = value_schema.field_with_name(field.name()).map_err(|_| {
                KernelError::schema(format!("column {} is not in the topic's schema", field.name()))
            })?;
            columns.push((field, declared.data_type().clone()));
        }
        let names: Vec<&str> = columns.iter().map(|(field, _)| field.name().as_str()).collect();
        let reader = project(reader, &names)?;
        Ok(Self {
            reader,
            columns,
            batch_rows,
            versions: HashMap::new(),
            writers: Vec::new(),
            rows: Vec::new(),
        })
    }

    /// Make a version known. The same version again is ignored.
    pub fn add_version(&mut self, version: &[u8], document: &str) -> Result<()> {
        if self.versions.contains_key(version) {
            return Ok(());
        }
        AvroType::parse(document)?.fields()?;
        let decoder = build(document, &self.reader, self.batch_rows)?;
        self.versions.insert(version.to_vec(), self.writers.len());
        self.writers.push(Writer { decoder, decoded: 0 });
        Ok(())
    }

    /// Whether `add_version` was called with it.
    pub fn knows(&self, version: &[u8]) -> bool {
        self.versions.contains_key(version)
    }

    /// Add one message; `None` is a null value.
    pub fn append(&mut self, payload: Option<&[u8]>, version: &[u8]) -> Result<()> {
        let Some(payload) = payload else {
            self.rows.push(None);
            return Ok(());
        };
        let known = self.versions.get(version).copied();
        let Some((index, writer)) = known.and_then(|i| Some((i, self.writers.get_mut(i)?))) else {
            return Err(KernelError::schema(format!(
                "schema version {version:?} was not added to the decoder"
            )));
        };
        decode_one(&mut writer.decoder, payload)?;
        self.rows.push(Some((index, writer.decoded)));
        writer.decoded += 1;
        Ok(())
    }

    /// The columns so far; starts new ones.
    pub fn finish(&mut self) -> Result<Vec<ArrayRef>> {
        let mut parts = Vec::new();
        let mut offsets = vec![0u32; self.writers.len()];
        let mut offset = 0;
        for (i, writer) in self.writers.iter_mut().enumerate() {
            offsets[i] = offset;
            offset += std::mem::take(&mut writer.decoded);
            let decoded = writer.decoder.flush().map_err(ArrowError::from);
            match decoded.and_then(|batch| columns_of(&self.columns, batch)) {
                Ok(Some(columns)) => parts.push(columns),
                Ok(None) => {}
                Err(e) => {
                    return Err(KernelError::payload(format!("the Avro does not fit its schema: {e}")));
                }
            }
        }
        let columns = self.assemble(parts, &offsets).map_err(|e| KernelError::payload(e.to_string()))?;
        self.rows.clear();
        Ok(columns)
    }

    fn assemble(
        &self,
        parts: Vec<Vec<ArrayRef>>,
        offsets: &[u32],
    ) -> std::result::Result<Vec<ArrayRef>, ArrowError> {
        let in_order = parts.len() == 1 && self.rows.iter().all(Option::is_some);
        let indices: UInt32Array =
            self.rows.iter().map(|row| row.and_then(|(writer, i)| Some(offsets.get(writer)? + i))).collect();
        let assemble_one = |(i, (field, _)): (usize, &(FieldRef, DataType))| {
            let chunks: Vec<&dyn Array> = parts.iter().filter_map(|p| p.get(i)).map(AsRef::as_ref).collect();
            match chunks.as_slice() {
                [] => Ok(arrow_array::new_null_array(field.data_type(), self.rows.len())),
                [only] if in_order => Ok(arrow_array::make_array(only.to_data())),
                many => take(&concat(many)?, &indices, None),
            }
        };
        self.columns.iter().enumerate().map(assemble_one).collect()
    }
}

fn columns_of(
    columns: &[(FieldRef, DataType)],
    batch: Option<RecordBatch>,
) -> std::result::Result<Option<Vec<ArrayRef>>, ArrowError> {
    let Some(batch) = batch else { return Ok(None) };
    let one = |(field, declared): &(FieldRef, DataType)| {
        let array = batch.column_by_name(field.name()).ok_or_else(|| {
            ArrowError::SchemaError(format!("the reader's document has no field {}", field.name()))
        })?;
        conform(&conform_type(array, declared)?, field)
    };
    columns.iter().map(one).collect::<std::result::Result<_, _>>().map(Some)
}

fn build(writer: &str, reader: &str, batch_rows: usize) -> Result<DatumDecoder> {
    let (writer, reader) = comparable_documents(writer, reader)?;
    let refused =
        |e: ArrowError| KernelError::schema(format!("cannot be resolved to the reader's schema: {e}"));
    let mut store = SchemaStore::new_with_type(FingerprintAlgorithm::Id);
    let id = store.set(Fingerprint::Id(0), AvroSchema::new(writer)).map_err(refused)?;
    ReaderBuilder::new()
        .with_batch_size(batch_rows)
        .with_decoder_mode(DecoderMode::UnframedDatum)
        .with_writer_schema_store(store)
        .with_active_fingerprint(id)
        .with_reader_schema(AvroSchema::new(reader))
        .build_decoder()
        .map_err(refused)
}

fn decode_one(decoder: &mut DatumDecoder, payload: &[u8]) -> Result<()> {
    let used = decoder
        .decode(payload)
        .map_err(|e| KernelError::new(ErrorKind::Payload, format!("not Avro of the schema it names: {e}")))?;
    if used != payload.len() {
        return Err(KernelError::payload(format!(
            "{} bytes behind the Avro value: it was written with another schema than it names",
            payload.len() - used.min(payload.len())
        )));
    }
    Ok(())
}
