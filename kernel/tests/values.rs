//! Values: encoded values are decoded to the same columns, and errors contain values that do not fit.

use crate::common;
use std::sync::Arc;

use crate::common::*;
use _kernel::decode::Decoder;
use _kernel::encode::EncoderOptions;
use _kernel::error::ErrorKind;
use arrow_array::builder::{Int32Builder, ListBuilder, MapBuilder, StringBuilder};
use arrow_array::{
    ArrayRef, BinaryArray, BooleanArray, Date32Array, Decimal128Array, FixedSizeBinaryArray, Float32Array,
    Float64Array, Int8Array, Int16Array, Int32Array, Int64Array, RecordBatch, StringArray, StructArray,
    Time32MillisecondArray, Time64MicrosecondArray, TimestampMicrosecondArray, TimestampMillisecondArray,
};
use arrow_schema::{DataType, Field};

const AVRO_SCHEMA: &str = r#"{"type": "record", "name": "R", "namespace": "a.b", "fields": [
  {"name": "id", "type": "long"},
  {"name": "text", "type": ["null", "string"], "default": null},
  {"name": "amount", "type": ["double", "null"]},
  {"name": "ratio", "type": "float"},
  {"name": "flag", "type": ["null", "boolean"]},
  {"name": "millis", "type": ["null", {"type": "long", "logicalType": "timestamp-millis"}]},
  {"name": "micros", "type": {"type": "long", "logicalType": "timestamp-micros"}},
  {"name": "day", "type": ["null", {"type": "int", "logicalType": "date"}]},
  {"name": "time_millis", "type": ["null", {"type": "int", "logicalType": "time-millis"}]},
  {"name": "time_micros", "type": ["null", {"type": "long", "logicalType": "time-micros"}]},
  {"name": "price", "type": ["null", {"type": "bytes", "logicalType": "decimal", "precision": 10, "scale": 2}]},
  {"name": "price_fixed", "type": ["null",
     {"type": "fixed", "name": "F8", "size": 8, "logicalType": "decimal", "precision": 10, "scale": 2}]},
  {"name": "uuid", "type": ["null", {"type": "string", "logicalType": "uuid"}]},
  {"name": "suit", "type": ["null", {"type": "enum", "name": "Suit", "symbols": ["HEARTS", "CLUBS"]}]},
  {"name": "four", "type": ["null", {"type": "fixed", "name": "F4", "size": 4}]},
  {"name": "raw", "type": ["null", "bytes"]},
  {"name": "list", "type": ["null", {"type": "array", "items": ["null", "int"]}]},
  {"name": "map", "type": ["null", {"type": "map", "values": ["null", "string"]}]},
  {"name": "inner", "type": ["null", {"type": "record", "name": "Inner", "fields": [
     {"name": "x", "type": "int"}, {"name": "y", "type": ["null", "string"]}]}]}
]}"#;

fn record_columns() -> Vec<(&'static str, ArrayRef)> {
    let mut list = ListBuilder::new(Int32Builder::new());
    list.append_value([Some(1), None, Some(3)]);
    list.append_value([]);
    list.append_null();
    let mut map = MapBuilder::new(None, StringBuilder::new(), StringBuilder::new());
    map.keys().append_value("a");
    map.values().append_value("b\"\n€");
    map.keys().append_value("c");
    map.values().append_null();
    map.append(true).unwrap();
    map.append(true).unwrap();
    map.append(false).unwrap();
    let inner = StructArray::new(
        vec![Field::new("x", DataType::Int32, true), Field::new("y", DataType::Utf8, true)].into(),
        vec![
            Arc::new(Int32Array::from(vec![Some(-5), Some(0), None])),
            Arc::new(StringArray::from(vec![None, Some("y"), None])),
        ],
        Some(vec![true, true, false].into()),
    );
    let fixed = |values: Vec<Option<&[u8]>>| {
        FixedSizeBinaryArray::try_from_sparse_iter_with_size(values.into_iter(), 4)
    };
    let decimal = |values: Vec<Option<i128>>| {
        Arc::new(Decimal128Array::from(values).with_precision_and_scale(10, 2).unwrap()) as ArrayRef
    };
    vec![
        ("id", Arc::new(Int64Array::from(vec![i64::MIN, 0, i64::MAX]))),
        ("text", Arc::new(StringArray::from(vec![Some("\u{0}ü"), None, Some("")]))),
        ("amount", Arc::new(Float64Array::from(vec![Some(1.5e-300), None, Some(f64::INFINITY)]))),
        ("ratio", Arc::new(Float32Array::from(vec![0.1, -0.0, f32::MAX]))),
        ("flag", Arc::new(BooleanArray::from(vec![Some(true), None, Some(false)]))),
        (
            "millis",
            Arc::new(
                TimestampMillisecondArray::from(vec![Some(-1), None, Some(1_700_000_000_123)])
                    .with_timezone("UTC"),
            ),
        ),
        (
            "micros",
            Arc::new(
                TimestampMicrosecondArray::from(vec![-1, 0, 1_700_000_000_123_456]).with_timezone("UTC"),
            ),
        ),
        ("day", Arc::new(Date32Array::from(vec![Some(-1), None, Some(19_000)]))),
        ("time_millis", Arc::new(Time32MillisecondArray::from(vec![Some(0), None, Some(86_399_999)]))),
        ("time_micros", Arc::new(Time64MicrosecondArray::from(vec![Some(1), None, Some(86_399_999_999)]))),
        ("price", decimal(vec![Some(1250), None, Some(-1)])),
        ("price_fixed", decimal(vec![Some(-9_999_999_999), None, Some(128)])),
        ("uuid", Arc::new(StringArray::from(vec![Some("123e4567-e89b-12d3-a456-426614174000"), None, None]))),
        ("suit", Arc::new(StringArray::from(vec![Some("CLUBS"), None, Some("HEARTS")]))),
        ("four", Arc::new(fixed(vec![Some(b"abcd"), None, Some(b"\0\xff\0\xff")]).unwrap())),
        ("raw", Arc::new(BinaryArray::from(vec![Some(&b"\0\xff"[..]), None, Some(b"")]))),
        ("list", Arc::new(list.finish())),
        ("map", Arc::new(map.finish())),
        ("inner", Arc::new(inner)),
    ]
}

fn record_batch() -> RecordBatch {
    RecordBatch::try_from_iter_with_nullable(record_columns().into_iter().map(|(n, a)| (n, a, true))).unwrap()
}

fn options_for(batch: &RecordBatch, value_type: &str, definition: &str) -> EncoderOptions {
    let mut options = encoder_options(batch.schema(), value_type);
    options.value.value_schema = Some(batch.schema());
    options.value.definition = Some(definition.to_owned());
    options
}

fn round_trip(batch: &RecordBatch, value_type: &str, definition: &str, codec: &str) -> RecordBatch {
    let mut options = options_for(batch, value_type, definition);
    options.compression = codec.to_owned();
    let frames = encoder(&options).encode(batch, PUBLISH_TIME).unwrap();
    let mut decoder_options = decoder_options(batch, value_type, definition);
    decoder_options.output_schema = batch.schema();
    let mut decoder = Decoder::new(decoder_options).unwrap();
    decoder.add_writer_schema(&[0; 8], &avro(definition)).unwrap();
    decoder.push(&mut entries(&entries_of(&frames[0])));
    drain(&mut decoder).unwrap().remove(0)
}

fn decoder_options(
    batch: &RecordBatch,
    value_type: &str,
    definition: &str,
) -> _kernel::decode::DecoderOptions {
    let fields = batch.schema().fields().iter().map(|f| f.as_ref().clone()).collect();
    let mut options = options(value_type, fields);
    options.value.value_schema = Some(batch.schema());
    options.value.definition = Some(definition.to_owned());
    options
}

#[test]
fn encoded_records_decode_to_the_same_columns() {
    let batch = record_batch();
    for value_type in ["json", "avro"] {
        for codec in ["NONE", "LZ4", "ZLIB", "ZSTD", "SNAPPY"] {
            let back = round_trip(&batch, value_type, AVRO_SCHEMA, codec);
            for (i, field) in batch.schema().fields().iter().enumerate() {
                assert_eq!(back.column(i), batch.column(i), "{value_type} {codec} {}", field.name());
            }
        }
    }
}

#[test]
fn encoded_primitives_decode_to_the_same_columns() {
    let columns: Vec<(&str, ArrayRef)> = vec![
        ("bytes", Arc::new(BinaryArray::from(vec![Some(&b"\xff"[..]), None, Some(b"")]))),
        ("string", Arc::new(StringArray::from(vec![Some("ü"), None, Some("")]))),
        ("boolean", Arc::new(BooleanArray::from(vec![Some(true), None, Some(false)]))),
        ("int8", Arc::new(Int8Array::from(vec![Some(-128), None, Some(127)]))),
        ("int16", Arc::new(Int16Array::from(vec![Some(i16::MIN), None, Some(1)]))),
        ("int32", Arc::new(Int32Array::from(vec![Some(i32::MIN), None, Some(1)]))),
        ("int64", Arc::new(Int64Array::from(vec![Some(i64::MIN), None, Some(1)]))),
        ("float", Arc::new(Float32Array::from(vec![Some(-0.5), None, Some(f32::MIN)]))),
        ("double", Arc::new(Float64Array::from(vec![Some(-0.5), None, Some(f64::MIN)]))),
    ];
    for (value_type, array) in columns {
        let batch = RecordBatch::try_from_iter_with_nullable([("value", array.clone(), true)]).unwrap();
        let frames =
            encoder(&encoder_options(batch.schema(), value_type)).encode(&batch, PUBLISH_TIME).unwrap();
        let options = options(value_type, vec![batch.schema().field(0).clone()]);
        let back = decode_all(options, &entries_of(&frames[0])).unwrap();
        assert_eq!(back[0].column(0), &array, "{value_type}");
    }
}

#[test]
fn errors_name_the_row_and_the_field() {
    let ids: ArrayRef = Arc::new(Int64Array::from(vec![Some(1), None]));
    let batch = RecordBatch::try_from_iter_with_nullable([("id", ids, true)]).unwrap();
    let definition = r#"{"type":"record","name":"R","fields":[{"name":"id","type":"long"}]}"#;
    for value_type in ["avro", "json"] {
        let error = encoder(&options_for(&batch, value_type, definition)).encode(&batch, 1).unwrap_err();
        assert_eq!((error.kind, error.row), (ErrorKind::Payload, Some(1)), "{error}");
        assert!(error.message.contains("id"), "{error}");
    }
    let long: ArrayRef = Arc::new(StringArray::from(vec!["x".to_owned(), "y".repeat(2000)]));
    let batch = RecordBatch::try_from_iter([("value", long)]).unwrap();
    let mut options = encoder_options(batch.schema(), "string");
    options.max_message_bytes = 1000;
    let error = encoder(&options).encode(&batch, 1).unwrap_err();
    assert_eq!((error.kind, error.row), (ErrorKind::TooLarge, Some(1)), "{error}");
}

#[test]
fn batches_close_and_partitions_keep_order() {
    let values: ArrayRef = Arc::new(Int32Array::from_iter_values(0..1000));
    let keys = (0..1000).map(|i| (i % 3 != 0).then(|| format!("k{}", i % 10)));
    let keys: ArrayRef = Arc::new(StringArray::from_iter(keys));
    let batch =
        RecordBatch::try_from_iter_with_nullable([("value", values, true), ("__key", keys, true)]).unwrap();
    let mut options = encoder_options(batch.schema(), "int32");
    options.partitions = 4;
    options.batching_max_messages = 16;
    let mut encoder = encoder(&options);
    let mut seen = Vec::new();
    for round in 0..2 {
        let sent = encoder.encode(&batch, PUBLISH_TIME).unwrap();
        assert_eq!(sent.iter().map(|s| s.num_messages).sum::<usize>(), 1000);
        for frames in &sent {
            let options = common::options("int32", vec![Field::new("value", DataType::Int32, true)]);
            let out = decode_all(options, &entries_of(frames)).unwrap().remove(0);
            let values: &Int32Array = out.column(0).as_any().downcast_ref().unwrap();
            assert!(values.values().windows(2).all(|w| w[0] < w[1]), "order in a partition");
            assert!(frames.sequence_ids.windows(2).all(|w| w[0] < w[1] && w[1] - w[0] <= 16));
            assert_eq!(frames.last_sequence_id - frames.first_sequence_id + 1, frames.num_messages as u64);
            if round == 0 {
                assert_eq!(frames.first_sequence_id, 10);
                seen.extend_from_slice(values.values());
            }
        }
    }
    seen.sort_unstable();
    assert_eq!(seen, (0..1000).collect::<Vec<_>>());
}
