//! Entries made by hand, and a decoder with all columns.
#![allow(dead_code)]

pub mod tiered;

use std::sync::Arc;

use _kernel::decode::{BadRows, Decoder, DecoderOptions, IntakeOptions};
use _kernel::encode::{Encoder, EncoderOptions, Producer, SendFrames};
use _kernel::entry::{Entry, EntryBatch};
use _kernel::error::Result;
use _kernel::metadata::SingleMetadata;
use _kernel::payload_schema::PayloadSchema;
use _kernel::select::Range;
use _kernel::wire::{put_bytes, put_number};
use arrow_array::{Array, RecordBatch};
use arrow_schema::{DataType, Field, Fields, Schema, SchemaRef, TimeUnit};

pub const PUBLISH_TIME: u64 = 1_700_000_000_123;

/// Required fields of MessageMetadata, to which a test appends.
pub fn metadata() -> Vec<u8> {
    let mut out = Vec::new();
    put_bytes(&mut out, 1, b"producer");
    put_number(&mut out, 2, 41);
    put_number(&mut out, 3, PUBLISH_TIME);
    out
}

/// An entry with a checksum.
pub fn entry(metadata: &[u8], payload: &[u8]) -> Vec<u8> {
    let mut body = (metadata.len() as u32).to_be_bytes().to_vec();
    body.extend_from_slice(metadata);
    body.extend_from_slice(payload);
    let mut out = vec![0x0e, 0x01];
    out.extend_from_slice(&crc32c::crc32c(&body).to_be_bytes());
    out.extend_from_slice(&body);
    out
}

/// `count` messages "m0", "m1", ... as the uncompressed payload of a batched entry.
pub fn batch_payload(count: usize) -> Vec<u8> {
    let mut out = Vec::new();
    for i in 0..count {
        let text = format!("m{i}");
        let single = SingleMetadata { payload_size: text.len() as u32, ..SingleMetadata::default() };
        put_message(&mut out, &single, text.as_bytes());
    }
    out
}

pub fn put_message(out: &mut Vec<u8>, single: &SingleMetadata<'_>, payload: &[u8]) {
    let mut bytes = Vec::new();
    single.write(&mut bytes);
    out.extend_from_slice(&(bytes.len() as u32).to_be_bytes());
    out.extend_from_slice(&bytes);
    out.extend_from_slice(payload);
}

/// An uncompressed batched entry of `count` messages.
pub fn batched_entry(count: usize) -> Vec<u8> {
    let mut md = metadata();
    put_number(&mut md, 11, count as u64);
    entry(&md, &batch_payload(count))
}

pub fn utc_micros() -> DataType {
    DataType::Timestamp(TimeUnit::Microsecond, Some("UTC".into()))
}

/// All metadata columns, as a reader asks for them.
pub fn metadata_fields() -> Vec<Field> {
    let id = Fields::from(vec![
        Field::new("ledger", DataType::Int64, true),
        Field::new("entry", DataType::Int64, true),
        Field::new("batchIndex", DataType::Int32, true),
        Field::new("partition", DataType::Int32, true),
    ]);
    let pair = Fields::from(vec![
        Field::new("key", DataType::Utf8, false),
        Field::new("value", DataType::Utf8, true),
    ]);
    let properties = DataType::Map(Arc::new(Field::new("entries", DataType::Struct(pair), false)), false);
    let columns = [
        ("__key", DataType::Binary),
        ("__topic", DataType::Utf8),
        ("__messageId", DataType::Struct(id)),
        ("__publishTime", utc_micros()),
        ("__eventTime", utc_micros()),
        ("__messageProperties", properties),
        ("__partition", DataType::Int32),
        ("__orderingKey", DataType::Binary),
        ("__producerName", DataType::Utf8),
        ("__sequenceId", DataType::Int64),
        ("__schemaVersion", DataType::Int64),
        ("__messageSize", DataType::Int32),
    ];
    columns.into_iter().map(|(name, kind)| Field::new(name, kind, true)).collect()
}

pub fn options(value_type: &str, value_fields: Vec<Field>) -> DecoderOptions {
    let mut fields = value_fields;
    fields.extend(metadata_fields());
    DecoderOptions {
        output_schema: Arc::new(Schema::new(fields)),
        topic: "persistent://public/default/t".to_owned(),
        partition: 3,
        value: PayloadSchema::of_type(value_type),
        batch_rows: 1000,
        range: Range::default(),
        intake: IntakeOptions::default(),
        bad_rows: BadRows::default(),
        corrupt_column: None,
    }
}

/// What messages of a version with this document were written with.
pub fn avro(document: &str) -> PayloadSchema {
    PayloadSchema { document: Some(document.to_owned()), ..PayloadSchema::of_type("avro") }
}

pub fn string_options() -> DecoderOptions {
    options("string", vec![Field::new("value", DataType::Utf8, true)])
}

/// Entries 0, 1, ... of ledger 7.
pub fn entries(data: &[Vec<u8>]) -> EntryBatch {
    let mut batch = EntryBatch::default();
    for (i, bytes) in data.iter().enumerate() {
        batch.push(Entry::new(7, i as i64, bytes.clone()));
    }
    batch
}

/// Decode everything there is.
pub fn decode_all(options: DecoderOptions, data: &[Vec<u8>]) -> Result<Vec<RecordBatch>> {
    let mut decoder = Decoder::new(options)?;
    decoder.push(&mut entries(data));
    drain(&mut decoder)
}

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

pub fn strings(batch: &RecordBatch, column: &str) -> Vec<Option<String>> {
    let array = batch.column_by_name(column).expect(column);
    let array = array.as_any().downcast_ref::<arrow_array::StringArray>().expect("text");
    array.iter().map(|v| v.map(str::to_owned)).collect()
}

/// Encoder options for one partition without compression.
pub fn encoder_options(schema: SchemaRef, value_type: &str) -> EncoderOptions {
    EncoderOptions {
        input_schema: schema,
        value: PayloadSchema::of_type(value_type),
        partitions: 1,
        compression: "NONE".to_owned(),
        batching_max_messages: 1000,
        batching_max_bytes: 131_072,
        max_message_bytes: 5_242_880,
    }
}

pub fn encoder(options: &EncoderOptions) -> Encoder {
    let mut encoder = Encoder::new(options).expect("encoder");
    for partition in 0..options.partitions {
        let producer = Producer {
            producer_id: partition as u64,
            producer_name: format!("producer-{partition}"),
            next_sequence_id: 10,
            schema_version: Some(vec![0; 8]),
        };
        encoder.set_producer(partition, producer).expect("producer");
    }
    encoder
}

/// The entries inside SEND frames.
pub fn entries_of(frames: &SendFrames) -> Vec<Vec<u8>> {
    let mut out = Vec::new();
    let mut rest = frames.frames.as_slice();
    while let Some((head, tail)) = rest.split_first_chunk::<8>() {
        let total = u32::from_be_bytes(head[..4].try_into().unwrap()) as usize;
        let command = u32::from_be_bytes(head[4..].try_into().unwrap()) as usize;
        out.push(tail[command..total - 4].to_vec());
        rest = &tail[total - 4..];
    }
    assert!(rest.is_empty(), "whole frames");
    out
}
