//! Builders of entries and decoders, shared by the tests and the fuzz targets.
#![allow(dead_code, reason = "each test or target uses some of these helpers")]

use std::sync::Arc;

use _kernel::decode::{BadRows, Decoder, DecoderOptions, IntakeOptions};
use _kernel::entry::{Entry, EntryBatch};
use _kernel::error::Result;
use _kernel::payload_schema::PayloadSchema;
use _kernel::selection::Range;
use _kernel::selection::row_filter::RowFilter;
use _kernel::wire::{put_bytes, put_number};
use arrow_array::{Array, RecordBatch};
use arrow_schema::{DataType, Field, Fields, Schema, TimeUnit};

pub const PUBLISH_TIME: u64 = 1_700_000_000_123;

/// Return the required fields of `MessageMetadata`. Callers append other fields.
pub fn metadata() -> Vec<u8> {
    let mut out = Vec::new();
    put_bytes(&mut out, 1, b"producer");
    put_number(&mut out, 2, 41);
    put_number(&mut out, 3, PUBLISH_TIME);
    out
}

/// Return an entry without a checksum.
pub fn stored(metadata: &[u8], payload: &[u8]) -> Vec<u8> {
    let mut entry = (metadata.len() as u32).to_be_bytes().to_vec();
    entry.extend_from_slice(metadata);
    entry.extend_from_slice(payload);
    entry
}

/// Return a batch of the entries 0, 1, ... of ledger 7.
pub fn entries(data: &[Vec<u8>]) -> EntryBatch {
    entries_from(0, data)
}

/// Return a batch of the entries `first`, `first` + 1, ... of ledger 7.
pub fn entries_from(first: usize, data: &[Vec<u8>]) -> EntryBatch {
    let mut batch = EntryBatch::default();
    for (id, bytes) in (first as i64..).zip(data) {
        batch.push(Entry::new(7, id, bytes.clone()));
    }
    batch
}

pub fn utc_micros() -> DataType {
    DataType::Timestamp(TimeUnit::Microsecond, Some("UTC".into()))
}

/// Return the type of a map whose keys are never null.
pub fn map_between(key: DataType, value: DataType) -> DataType {
    let pair = Fields::from(vec![Field::new("key", key, false), Field::new("value", value, true)]);
    DataType::Map(Arc::new(Field::new("entries", DataType::Struct(pair), false)), false)
}

/// Return the type of a list whose items may be null.
pub fn list_of(item: DataType) -> DataType {
    DataType::List(Arc::new(Field::new("element", item, true)))
}

/// Return columns that may be null.
pub fn nullable<const N: usize>(columns: [(&str, DataType); N]) -> Vec<Field> {
    columns.into_iter().map(|(name, kind)| Field::new(name, kind, true)).collect()
}

/// Return the type of `__messageId`.
pub fn message_id() -> DataType {
    let id = nullable([
        ("ledger", DataType::Int64),
        ("entry", DataType::Int64),
        ("batchIndex", DataType::Int32),
        ("partition", DataType::Int32),
    ]);
    DataType::Struct(id.into())
}

/// Return all metadata columns that a reader can request.
pub fn metadata_fields() -> Vec<Field> {
    nullable([
        ("__key", DataType::Binary),
        ("__topic", DataType::Utf8),
        ("__messageId", message_id()),
        ("__publishTime", utc_micros()),
        ("__eventTime", utc_micros()),
        ("__messageProperties", map_between(DataType::Utf8, DataType::Utf8)),
        ("__partition", DataType::Int32),
        ("__orderingKey", DataType::Binary),
        ("__producerName", DataType::Utf8),
        ("__sequenceId", DataType::Int64),
        ("__schemaVersion", DataType::Int64),
        ("__messageSize", DataType::Int32),
        ("__replicatedFrom", DataType::Utf8),
        ("__index", DataType::Int64),
        ("__brokerPublishTime", utc_micros()),
    ])
}

/// Return the options of a decoder that reads `columns` of a whole topic partition.
pub fn decoder_of(value: PayloadSchema, columns: Vec<Field>) -> DecoderOptions {
    DecoderOptions {
        output_schema: Arc::new(Schema::new(columns)),
        topic: "persistent://public/default/t".to_owned(),
        partition: 3,
        value,
        batch_rows: 1000,
        range: Range::default(),
        filter: RowFilter::default(),
        intake: IntakeOptions::default(),
        bad_rows: BadRows::default(),
        corrupt_column: None,
        payload_column: None,
    }
}

/// Return all batches of the decoder, and check that each of them is valid Arrow.
pub fn drain(decoder: &mut Decoder) -> Result<Vec<RecordBatch>> {
    let mut out = Vec::new();
    while let Some(batch) = decoder.next_batch(true)? {
        for column in batch.columns() {
            column.to_data().validate_full().expect("valid Arrow data");
        }
        out.push(batch);
    }
    Ok(out)
}
