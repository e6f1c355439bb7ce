//! A Protobuf message with fields of every kind, and its decoder.
#![allow(dead_code, reason = "each test uses some of these helpers")]

use std::sync::Arc;

use _kernel::decode::{Decoder, DecoderOptions};
use _kernel::error::KernelError;
use _kernel::payload_schema::PayloadSchema;
use arrow_array::RecordBatch;
use arrow_schema::{DataType, Field, Fields};

use crate::common::*;

pub const PLAN: &str = r#"{"version": "3", "messages": [
  {"name": "a.M", "oneofs": ["pick"], "fields": [
    {"name": "id", "number": 1, "kind": "int32", "shape": "implicit", "absent": "0"},
    {"name": "text", "number": 2, "kind": "string", "shape": "optional"},
    {"name": "list", "number": 3, "kind": "sint64", "shape": "repeated", "packed": true},
    {"name": "inner", "number": 4, "kind": "message", "type": 1, "shape": "optional"},
    {"name": "map", "number": 5, "kind": "message", "type": 2, "shape": "map"},
    {"name": "level", "number": 6, "kind": "enum", "type": 0, "shape": "optional", "absent": "2"},
    {"name": "left", "number": 7, "kind": "fixed32", "shape": "optional", "oneof": 0},
    {"name": "right", "number": 8, "kind": "message", "type": 1, "shape": "optional", "oneof": 0},
    {"name": "blobs", "number": 900, "kind": "message", "shape": "optional"},
    {"name": "group", "number": 10, "kind": "group", "type": 1, "shape": "repeated"},
    {"name": "at", "number": 11, "kind": "message", "type": 3, "shape": "optional"},
    {"name": "took", "number": 12, "kind": "message", "type": 4, "shape": "optional"},
    {"name": "boxed", "number": 13, "kind": "message", "type": 5, "shape": "repeated"},
    {"name": "ratio", "number": 14, "kind": "double", "shape": "optional"},
    {"name": "big", "number": 15, "kind": "uint64", "shape": "repeated"},
    {"name": "flag", "number": 16, "kind": "bool", "shape": "optional"}]},
  {"name": "a.Inner", "oneofs": [], "fields": [
    {"name": "x", "number": 1, "kind": "int64", "shape": "optional"},
    {"name": "names", "number": 2, "kind": "string", "shape": "repeated"}]},
  {"name": "a.M.MapEntry", "oneofs": [], "fields": [
    {"name": "key", "number": 1, "kind": "string", "shape": "implicit", "absent": ""},
    {"name": "value", "number": 2, "kind": "message", "type": 1, "shape": "implicit"}]},
  {"name": "google.protobuf.Timestamp", "meaning": "timestamp", "oneofs": [], "fields": []},
  {"name": "google.protobuf.Duration", "meaning": "duration", "oneofs": [], "fields": []},
  {"name": "google.protobuf.StringValue", "meaning": "wrapper", "oneofs": [], "fields": [
    {"name": "value", "number": 1, "kind": "string", "shape": "implicit", "absent": ""}]}],
  "enums": [{"closed": false, "values": [["LOW", 0], ["ALSO_LOW", 0], ["HIGH", 2], ["BELOW", -1]]}]}"#;

pub fn inner() -> DataType {
    DataType::Struct(Fields::from(vec![
        Field::new("x", DataType::Int64, true),
        Field::new("names", list_of(DataType::Utf8), true),
    ]))
}

pub fn columns() -> Vec<Field> {
    let pair = vec![Field::new("key", DataType::Utf8, false), Field::new("value", inner(), true)];
    let map = DataType::Map(Arc::new(Field::new("entries", DataType::Struct(pair.into()), false)), false);
    let micros = arrow_schema::TimeUnit::Microsecond;
    [
        ("id", DataType::Int32),
        ("text", DataType::Utf8),
        ("list", list_of(DataType::Int64)),
        ("inner", inner()),
        ("map", map),
        ("level", DataType::Utf8),
        ("left", DataType::Int64),
        ("right", inner()),
        ("blobs", DataType::Binary),
        ("group", list_of(inner())),
        ("at", utc_micros()),
        ("took", DataType::Duration(micros)),
        ("boxed", list_of(DataType::Utf8)),
        ("ratio", DataType::Float64),
        ("big", list_of(DataType::Decimal128(20, 0))),
        ("flag", DataType::Boolean),
    ]
    .into_iter()
    .map(|(name, kind)| Field::new(name, kind, true))
    .collect()
}

pub fn schema(definition: &str) -> PayloadSchema {
    PayloadSchema { definition: Some(definition.to_owned()), ..PayloadSchema::of_type("protobuf") }
}

pub fn options_of(names: &[&str]) -> DecoderOptions {
    let wanted =
        columns().into_iter().filter(|field| names.is_empty() || names.contains(&field.name().as_str()));
    DecoderOptions { value: schema(PLAN), ..options("protobuf", wanted.collect()) }
}

pub fn decode(options: DecoderOptions, payloads: &[&[u8]]) -> Result<RecordBatch, KernelError> {
    let data: Vec<Vec<u8>> = payloads.iter().map(|payload| entry(&metadata(), payload)).collect();
    let mut decoder = Decoder::new(options)?;
    decoder.add_writer_schema(b"", &schema(PLAN))?;
    decoder.push(&mut entries(&data));
    drain(&mut decoder).map(|mut batches| batches.remove(0))
}

pub fn row(payload: &[u8]) -> RecordBatch {
    decode(options_of(&[]), &[payload]).unwrap()
}
