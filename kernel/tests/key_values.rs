//! Key-value messages: decoding pairs of Java's KeyValue schemas, and decoding pairs of this kernel's encoder.

use std::collections::HashMap;
use std::sync::Arc;

use crate::common::*;
use _kernel::decode::{Decoder, DecoderOptions};
use _kernel::encode::{Encoder, EncoderOptions};
use _kernel::error::{ErrorKind, KernelError};
use _kernel::payload_schema::{KeyValueSchema, PayloadSchema};
use _kernel::wire::put_bytes;
use arrow_array::cast::AsArray;
use arrow_array::types::Int32Type;
use arrow_array::{Array, ArrayRef, Float64Array, Int32Array, RecordBatch, StringArray, StructArray};
use arrow_schema::{DataType, Field, Fields, Schema};

const ORDER: &str = r#"{"type": "record", "name": "Order", "fields": [
  {"name": "amount", "type": ["null", "double"]}, {"name": "item", "type": ["null", "string"]},
  {"name": "sizes", "type": ["null", {"type": "array", "items": "int"}]}]}"#;

fn order_fields() -> Fields {
    let sizes = DataType::new_list(DataType::Int32, true);
    vec![
        Field::new("amount", DataType::Float64, true),
        Field::new("item", DataType::Utf8, true),
        Field::new("sizes", sizes, true),
    ]
    .into()
}

fn avro_order() -> PayloadSchema {
    PayloadSchema {
        value_schema: Some(Arc::new(Schema::new(order_fields()))),
        definition: Some(ORDER.to_owned()),
        ..PayloadSchema::of_type("avro")
    }
}

fn pair(key: PayloadSchema, value: PayloadSchema, separated: bool) -> PayloadSchema {
    let pair = Some(Box::new(KeyValueSchema { key, value, separated }));
    PayloadSchema { pair, ..PayloadSchema::of_type("key_value") }
}

fn int_and_string(separated: bool) -> PayloadSchema {
    pair(PayloadSchema::of_type("int32"), PayloadSchema::of_type("string"), separated)
}

fn string_and_order(separated: bool) -> PayloadSchema {
    pair(PayloadSchema::of_type("string"), avro_order(), separated)
}

/// Return entries by case and encoding: each pair in an entry of its own, then all pairs in one batch.
fn golden() -> HashMap<(&'static str, bool), Vec<Vec<u8>>> {
    let mut found: HashMap<_, Vec<_>> = HashMap::new();
    for line in include_str!("data/java_key_values.tsv").lines() {
        let cells: Vec<&str> = line.split('\t').collect();
        if let ["entry", case, encoding, _, bytes] = cells[..] {
            let bytes =
                (0..bytes.len()).step_by(2).map(|i| u8::from_str_radix(&bytes[i..i + 2], 16).unwrap());
            found.entry((case, encoding == "SEPARATED")).or_default().push(bytes.collect());
        }
    }
    found
}

fn pair_decoder(schema: &PayloadSchema, fields: Vec<Field>) -> Decoder {
    let options = DecoderOptions { value: schema.clone(), ..options("key_value", fields) };
    let mut decoder = Decoder::new(options).expect("decoder");
    for version in [&[0; 8][..], &[]] {
        decoder.add_writer_schema(version, schema).expect("version");
    }
    decoder
}

fn decode(schema: &PayloadSchema, fields: Vec<Field>, data: &[Vec<u8>]) -> Result<RecordBatch, KernelError> {
    let mut decoder = pair_decoder(schema, fields);
    decoder.push(&mut entries(data));
    drain(&mut decoder).map(|mut batches| batches.remove(0))
}

fn int_and_string_fields() -> Vec<Field> {
    vec![Field::new("key", DataType::Int32, true), Field::new("value", DataType::Utf8, true)]
}

#[test]
fn pairs_of_primitives_from_java_decode() {
    let keys = [Some(7), Some(-1), None, Some(7), None];
    let values = [Some("tea"), Some(""), Some("tea"), None, None];
    for separated in [false, true] {
        let data = &golden()[&("int32_string", separated)];
        assert_eq!(data.len(), 6);
        let batch = decode(&int_and_string(separated), int_and_string_fields(), data).unwrap();
        let twice = Int32Array::from_iter(keys.iter().chain(&keys).copied());
        assert_eq!(batch.column(0).as_primitive::<Int32Type>(), &twice);
        let twice = StringArray::from_iter(values.iter().chain(&values).copied());
        assert_eq!(batch.column(1).as_string::<i32>(), &twice);
        let message_key = batch.column_by_name("__key").unwrap();
        let expected = if separated { vec![false, false, true, false, true] } else { vec![true; 5] };
        let nulls: Vec<bool> = (0..5).map(|row| message_key.is_null(row)).collect();
        assert_eq!(nulls, expected, "separated: {separated}");
    }
}

#[test]
fn pairs_with_records_from_java_decode() {
    let fields = vec![
        Field::new("key", DataType::Utf8, true),
        Field::new("value", DataType::Struct(order_fields()), true),
    ];
    for separated in [false, true] {
        let data = golden()[&("string_avro", separated)][5..].to_vec();
        let batch = decode(&string_and_order(separated), fields.clone(), &data).unwrap();
        assert_eq!(
            strings(&batch, "key"),
            ["Zürich", "", "-", "Zürich", "-"].map(|t| (t != "-").then(|| t.to_owned()))
        );
        let value = batch.column(1).as_struct();
        assert_eq!(
            (0..5).map(|row| value.is_null(row)).collect::<Vec<_>>(),
            [false, false, false, true, true]
        );
        let items = value.column_by_name("item").unwrap().as_string::<i32>();
        assert_eq!((items.value(0), items.is_null(1), items.value(2)), ("tea", true, "tea"));
        let sizes = value.column_by_name("sizes").unwrap().as_list::<i32>();
        assert_eq!(sizes.value(0).as_primitive::<Int32Type>().values(), &[1, 2]);
    }
}

#[test]
fn only_requested_columns_of_pairs_are_decoded_in_output_order() {
    let data = golden()[&("string_avro", false)][5..].to_vec();
    let amount = DataType::Struct(vec![order_fields()[0].clone()].into());
    let fields = vec![Field::new("value", amount, true), Field::new("key", DataType::Utf8, true)];
    let batch = decode(&string_and_order(false), fields.clone(), &data).unwrap();
    let value = batch.column(0).as_struct();
    assert_eq!(
        value.column(0).as_ref(),
        &Float64Array::from(vec![Some(2.5), None, Some(2.5), None, None]) as &dyn Array
    );
    assert_eq!(batch.column(1).len(), 5);
    // The key is not an int64. The decoder does not read the key, because the output has no column for it.
    let other = pair(PayloadSchema::of_type("int64"), avro_order(), false);
    let batch = decode(&other, fields[..1].to_vec(), &data).unwrap();
    assert_eq!(batch.column(0).as_struct(), value);
    let none = vec![Field::new("value", DataType::Struct(Fields::empty()), true)];
    let batch = decode(&other, none, &data).unwrap();
    assert_eq!(batch.column(0).null_count(), 2);
    let batch = decode(&other, Vec::new(), &data).unwrap();
    assert_eq!(batch.num_rows(), 5);
}

fn versioned(version: u8, key: Option<&[u8]>, payload: &[u8]) -> Vec<u8> {
    let mut md = metadata();
    if let Some(key) = key {
        put_bytes(&mut md, 6, key);
    }
    put_bytes(&mut md, 16, &[0, 0, 0, 0, 0, 0, 0, version]);
    entry(&md, payload)
}

#[test]
fn each_version_has_its_own_schemas_and_encoding() {
    let record = |definition: &str, fields: Vec<Field>| PayloadSchema {
        value_schema: Some(Arc::new(Schema::new(fields))),
        definition: Some(definition.to_owned()),
        ..PayloadSchema::of_type("avro")
    };
    let id = |kind| Field::new("id", kind, true);
    let old = r#"{"type":"record","name":"V","fields":[{"name":"id","type":"int"}]}"#;
    let new = r#"{"type":"record","name":"V","fields":[{"name":"id","type":"long"},
                 {"name":"level","type":"int","default":7}]}"#;
    let level = Field::new("level", DataType::Int32, true);
    let text = || PayloadSchema::of_type("string");
    let written = pair(text(), record(old, vec![id(DataType::Int32)]), true);
    let reader = pair(text(), record(new, vec![id(DataType::Int64), level.clone()]), false);
    let value = DataType::Struct(vec![id(DataType::Int64), level].into());
    let fields = vec![Field::new("key", DataType::Utf8, true), Field::new("value", value, true)];
    let mut decoder =
        Decoder::new(DecoderOptions { value: reader.clone(), ..options("key_value", fields) }).unwrap();
    let data = [
        versioned(0, Some(b"k0"), &[2]),
        versioned(1, Some(b"other"), b"\0\0\0\x02k1\0\0\0\x02\x04\x06"),
        versioned(0, None, &[6]),
    ];
    let mut batch = entries(&data);
    let unknown = decoder.unknown_versions(&mut batch).unwrap();
    assert_eq!(unknown, [vec![0; 8], vec![0, 0, 0, 0, 0, 0, 0, 1]]);
    decoder.add_writer_schema(&unknown[0], &written).unwrap();
    decoder.add_writer_schema(&unknown[1], &reader).unwrap();
    decoder.push(&mut batch);
    let out = drain(&mut decoder).unwrap().remove(0);
    assert_eq!(strings(&out, "key"), [Some("k0".to_owned()), Some("k1".to_owned()), None]);
    let value = out.column(1).as_struct();
    let levels = value.column(1).as_primitive::<Int32Type>();
    assert_eq!(levels, &Int32Array::from(vec![7, 3, 7]));

    let foreign = pair(text(), PayloadSchema::of_type("string"), false);
    let error = decoder.add_writer_schema(&[9; 8], &foreign).unwrap_err();
    assert_eq!(error.kind, ErrorKind::Schema);
    assert_eq!(error.message, "value: written as string, cannot be resolved to the reader's avro");
    let error = decoder.add_writer_schema(&[9; 8], &PayloadSchema::of_type("string")).unwrap_err();
    assert!(error.message.contains("written as string"), "{error}");
    decoder.push(&mut entries(&[versioned(8, None, b"")]));
    assert_eq!(decoder.next_batch(true).unwrap_err().kind, ErrorKind::Schema);
}

fn pair_encoder_options(batch: &RecordBatch, schema: &PayloadSchema) -> EncoderOptions {
    EncoderOptions { value: schema.clone(), ..encoder_options(batch.schema(), "key_value") }
}

#[test]
fn encoded_pairs_decode_to_the_same_columns() {
    let items: ArrayRef = Arc::new(StringArray::from(vec![Some("a"), None, Some("c")]));
    let amounts: ArrayRef = Arc::new(Float64Array::from(vec![Some(1.5), None, None]));
    let fields: Fields = vec![order_fields()[0].clone(), order_fields()[1].clone()].into();
    let nulls = Some(vec![true, true, false].into());
    let value: ArrayRef = Arc::new(StructArray::new(fields, vec![amounts, items], nulls));
    let key: ArrayRef = Arc::new(StringArray::from(vec![Some("k"), None, None]));
    let batch =
        RecordBatch::try_from_iter_with_nullable([("key", key, true), ("value", value, true)]).unwrap();
    for separated in [false, true] {
        let schema = string_and_order(separated);
        let frames = encoder(&pair_encoder_options(&batch, &schema)).encode(&batch, PUBLISH_TIME).unwrap();
        let fields = batch.schema().fields().iter().map(|f| f.as_ref().clone()).collect();
        let back = decode(&schema, fields, &entries_of(&frames[0])).unwrap();
        assert_eq!(back.columns()[..2], batch.columns()[..2], "separated: {separated}");
    }
}

#[test]
fn columns_that_are_not_a_pair_are_refused() {
    let text: ArrayRef = Arc::new(StringArray::from(vec!["x"]));
    let batch =
        |names: &[&str]| RecordBatch::try_from_iter(names.iter().map(|name| (*name, text.clone()))).unwrap();
    let schema = pair(PayloadSchema::of_type("string"), PayloadSchema::of_type("string"), true);
    for (names, fault) in [
        (&["key"][..], "value"),
        (&["value"], "key"),
        (&["key", "value", "more"], "more"),
        (&["key", "value", "__key"], "__key"),
    ] {
        let error = Encoder::new(&pair_encoder_options(&batch(names), &schema)).unwrap_err();
        assert_eq!(error.kind, ErrorKind::Schema);
        assert!(error.message.contains(fault), "{error}");
    }
    let bare = PayloadSchema::of_type("key_value");
    assert_eq!(
        Encoder::new(&pair_encoder_options(&batch(&["key", "value"]), &bare)).unwrap_err().kind,
        ErrorKind::Schema
    );
    for fields in [vec![Field::new("other", DataType::Utf8, true)], int_and_string_fields()] {
        let options = DecoderOptions { value: bare.clone(), ..options("key_value", fields) };
        assert_eq!(Decoder::new(options).err().map(|e| e.kind), Some(ErrorKind::Schema));
    }
    let flat = vec![Field::new("value", DataType::Utf8, true)];
    let options = DecoderOptions { value: string_and_order(false), ..options("key_value", flat) };
    let error = Decoder::new(options).err().unwrap();
    assert!(error.message.contains("expected a struct"), "{error}");
}

#[test]
fn damaged_pairs_never_panic() {
    let fields = vec![
        Field::new("key", DataType::Utf8, true),
        Field::new("value", DataType::Struct(order_fields()), true),
    ];
    let mut state = 0x9e37_79b9_7f4a_7c15u64;
    let mut random = |below: usize| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state % below as u64) as usize
    };
    for separated in [false, true] {
        let schema = string_and_order(separated);
        let samples = &golden()[&("string_avro", separated)];
        for round in 0..5_000 {
            // The checksum is removed, so that the decoders after the checksum read the damaged bytes.
            let mut sample = samples[round % samples.len()].clone().split_off(6);
            for _ in 0..=random(2) {
                let at = random(sample.len());
                sample[at] = [0, 0xff, 0x7f, 0x80, random(256) as u8][random(5)];
            }
            if random(4) == 0 {
                sample.truncate(random(sample.len()));
            }
            let _ = decode_damaged(&schema, fields.clone(), sample);
        }
    }
}

/// Decode a damaged sample, and return the number of rows or the error.
fn decode_damaged(schema: &PayloadSchema, fields: Vec<Field>, sample: Vec<u8>) -> Result<usize, KernelError> {
    let mut decoder = pair_decoder(schema, fields);
    decoder.push(&mut entries(&[sample]));
    Ok(drain(&mut decoder)?.iter().map(RecordBatch::num_rows).sum())
}
