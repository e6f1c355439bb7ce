//! Helpers that the tests share: builders of entries, a decoder with all columns, an encoder.
#![allow(dead_code, unused_imports, reason = "each test uses some of these helpers")]

mod handmade;
pub mod tiered;

use _kernel::decode::{Decoder, DecoderOptions};
use _kernel::encode::{Encoder, EncoderOptions, Producer, SendFrames};
use _kernel::error::Result;
use _kernel::metadata::SingleMetadata;
use _kernel::payload_schema::PayloadSchema;
use _kernel::wire::put_number;
use arrow_array::RecordBatch;
use arrow_schema::{DataType, Field, SchemaRef};

pub use handmade::*;

/// Return an entry with a checksum.
pub fn entry(metadata: &[u8], payload: &[u8]) -> Vec<u8> {
    let body = stored(metadata, payload);
    let mut out = vec![0x0e, 0x01];
    out.extend_from_slice(&crc32c::crc32c(&body).to_be_bytes());
    out.extend_from_slice(&body);
    out
}

/// Return the uncompressed payload of a batched entry with the `count` messages "m0", "m1", ...
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

/// Return an uncompressed batched entry of `count` messages.
pub fn batched_entry(count: usize) -> Vec<u8> {
    let mut md = metadata();
    put_number(&mut md, 11, count as u64);
    entry(&md, &batch_payload(count))
}

pub fn options(value_type: &str, value_fields: Vec<Field>) -> DecoderOptions {
    let mut fields = value_fields;
    fields.extend(metadata_fields());
    decoder_of(PayloadSchema::of_type(value_type), fields)
}

/// Return the writer schema of a version with the Avro schema `definition`.
pub fn avro(definition: &str) -> PayloadSchema {
    PayloadSchema { definition: Some(definition.to_owned()), ..PayloadSchema::of_type("avro") }
}

pub fn string_options() -> DecoderOptions {
    options("string", vec![Field::new("value", DataType::Utf8, true)])
}

/// Decode all entries of `data`.
pub fn decode_all(options: DecoderOptions, data: &[Vec<u8>]) -> Result<Vec<RecordBatch>> {
    let mut decoder = Decoder::new(options)?;
    decoder.push(&mut entries(data));
    drain(&mut decoder)
}

pub fn strings(batch: &RecordBatch, column: &str) -> Vec<Option<String>> {
    let array = batch.column_by_name(column).expect(column);
    let array = array.as_any().downcast_ref::<arrow_array::StringArray>().expect("text");
    array.iter().map(|v| v.map(str::to_owned)).collect()
}

/// Return the options of an encoder for one partition without compression.
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
            transaction: None,
        };
        encoder.set_producer(partition, producer).expect("producer");
    }
    encoder
}

/// Return the entries inside SEND frames.
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
