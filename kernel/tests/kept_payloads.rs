//! Payloads that are kept because the columns do not tell all that they say.

use std::sync::Arc;

use crate::common::*;
use crate::message;
use _kernel::decode::{BadRows, Decoder, DecoderOptions};
use _kernel::payload_schema::PayloadSchema;
use _kernel::wire::put_bytes;
use arrow_array::cast::AsArray;
use arrow_array::{Array, RecordBatch};
use arrow_schema::{DataType, Field, Schema};

const RECORD: &str = r#"{"type": "record", "name": "R", "fields": [
  {"name": "a", "type": "int"},
  {"name": "s", "type": ["null", "string"], "default": null},
  {"name": "in", "type": ["null", {"type": "record", "name": "I", "fields": [
    {"name": "x", "type": "int", "default": 3}]}], "default": null},
  {"name": "list", "type": ["null", {"type": "array", "items": "I"}], "default": null}]}"#;

fn record_fields() -> Vec<Field> {
    let inner = DataType::Struct(vec![Field::new("x", DataType::Int32, true)].into());
    nullable([("a", DataType::Int32), ("s", DataType::Utf8), ("in", inner.clone()), ("list", list_of(inner))])
}

fn keeping(value: PayloadSchema, mut fields: Vec<Field>, batch_rows: usize) -> DecoderOptions {
    fields.push(Field::new("kept", DataType::Binary, true));
    fields.push(Field::new("bad", DataType::Binary, true));
    DecoderOptions {
        value,
        batch_rows,
        bad_rows: BadRows::Null,
        corrupt_column: Some("bad".to_owned()),
        payload_column: Some("kept".to_owned()),
        ..options("bytes", fields)
    }
}

fn record(value_type: &str) -> PayloadSchema {
    PayloadSchema {
        value_schema: Some(Arc::new(Schema::new(record_fields()))),
        definition: Some(RECORD.to_owned()),
        ..PayloadSchema::of_type(value_type)
    }
}

fn plain(payload: &[u8]) -> Vec<u8> {
    entry(&metadata(), payload)
}

fn of_version(version: u8, payload: &[u8]) -> Vec<u8> {
    let mut metadata = metadata();
    put_bytes(&mut metadata, 16, &[0, 0, 0, 0, 0, 0, 0, version]);
    entry(&metadata, payload)
}

fn column(batches: &[RecordBatch], name: &str) -> Vec<Option<Vec<u8>>> {
    let rows = |batch: &RecordBatch| {
        let column = batch.column_by_name(name).unwrap().as_binary::<i32>().clone();
        (0..column.len())
            .map(|row| column.is_valid(row).then(|| column.value(row).to_vec()))
            .collect::<Vec<_>>()
    };
    batches.iter().flat_map(rows).collect()
}

/// Which of the payloads are kept; of those that are, all bytes are there.
fn kept(value: &PayloadSchema, fields: &[Field], payloads: &[&[u8]]) -> Vec<bool> {
    let whole = |batch_rows| {
        let mut decoder = Decoder::new(keeping(value.clone(), fields.to_vec(), batch_rows)).unwrap();
        decoder.add_writer_schema(b"", value).unwrap();
        decoder.push(&mut entries(&payloads.iter().map(|payload| plain(payload)).collect::<Vec<_>>()));
        column(&drain(&mut decoder).unwrap(), "kept")
    };
    let found = whole(100);
    assert_eq!(whole(1), found);
    assert_eq!(whole(2), found);
    for (payload, kept) in payloads.iter().zip(&found) {
        assert!(kept.as_ref().is_none_or(|bytes| bytes == payload));
    }
    found.iter().map(Option::is_some).collect()
}

#[test]
fn json_with_members_that_no_column_holds() {
    let cases: [(&[u8], bool); 16] = [
        (br#"{"a": 1}"#, false),
        (br#"{"s": "t", "a": 1}"#, false),
        (br#"{"a": 1, "s": null, "in": null}"#, false),
        (br#"{"a": 1, "in": {"x": 2}}"#, false),
        (br#"{"a": 1, "list": [{"x": 2}, {"x": 3}]}"#, false),
        (br#"{"a": 1, "b": 2}"#, true),
        (br#"{"b": null, "a": 1}"#, true),
        (br#"{"a": 1, "in": {"x": 2, "y": 3}}"#, true),
        (br#"{"a": 1, "list": [{"x": 2}, {"x": 3, "y": 4}]}"#, true),
        // A default stands for the member that is not there.
        (br#"{"a": 1, "in": {}}"#, true),
        (br#"{"a": 1, "list": [{"x": 2}, {}]}"#, true),
        // Names are told apart by capitals, and read without escapes.
        (br#"{"A": 2, "a": 1}"#, true),
        (br#"{"\u0061": 1}"#, false),
        // Bad rows.
        (br#"{"a": "x"}"#, true),
        (b"not JSON", true),
        (br#"{"a": 1} {"a": 2}"#, true),
    ];
    let payloads: Vec<&[u8]> = cases.iter().map(|(payload, _)| *payload).collect();
    let expected: Vec<bool> = cases.iter().map(|(_, kept)| *kept).collect();
    assert_eq!(kept(&record("json"), &record_fields(), &payloads), expected);
}

#[test]
fn objects_of_unions() {
    let definition = r#"{"type": "record", "name": "R", "fields": [
      {"name": "u", "type": ["null", "int", {"type": "map", "values": "int"}]}]}"#;
    let map = map_between(DataType::Utf8, DataType::Int32);
    let fields = nullable([(
        "u",
        DataType::Struct(nullable([("member0", DataType::Int32), ("member1", map)]).into()),
    )]);
    let value = PayloadSchema {
        value_schema: Some(Arc::new(Schema::new(fields.clone()))),
        definition: Some(definition.to_owned()),
        ..PayloadSchema::of_type("json")
    };
    let payloads: [&[u8]; 3] = [br#"{"u": 1}"#, br#"{"u": null}"#, br#"{"u": {"k": 1}}"#];
    assert_eq!(kept(&value, &fields, &payloads), [false, false, true]);
}

fn protobuf(payloads: &[&[u8]]) -> Vec<bool> {
    // Without the field whose absence stands for a default of the writer's choice.
    let plan = message::PLAN
        .replace(r#""type": 0, "shape": "optional", "absent": "2""#, r#""type": 0, "shape": "optional""#);
    kept(&message::schema(&plan), &message::columns(), payloads)
}

#[test]
fn protobuf_with_fields_that_no_column_holds() {
    let cases: [(&[u8], bool); 16] = [
        (b"", false),
        (b"\x08\x05", false),
        // Field 17, at the top, in a message, in an item of a map.
        (b"\x88\x01\x01", true),
        (b"\x22\x05\x08\x05\x88\x01\x01", true),
        (b"\x22\x02\x08\x05", false),
        (b"\x2a\x07\x0a\x01k\x12\x02\x08\x05", false),
        (b"\x2a\x0a\x0a\x01k\x12\x05\x08\x05\x88\x01\x01", true),
        // Entries of maps have empty keys, too.
        (b"\x2a\x06\x0a\x00\x12\x02\x08\x05", false),
        // The field `id` does not tell 0 and nothing apart.
        (b"\x08\x00", true),
        // `text` does.
        (b"\x12\x00", false),
        // Microseconds, and what is finer.
        (b"\x5a\x05\x08\x05\x10\xe8\x07\x08\x05", false),
        (b"\x5a\x05\x08\x05\x10\xe9\x07", true),
        // Packed numbers and single ones.
        (b"\x1a\x02\x01\x02\x18\x03", false),
        // A wrapper with its value left out, and with one that says the same.
        (b"\x6a\x00", false),
        (b"\x6a\x02\x0a\x00", true),
        (b"\x08", true),
    ];
    let payloads: Vec<&[u8]> = cases.iter().map(|(payload, _)| *payload).collect();
    let expected: Vec<bool> = cases.iter().map(|(_, kept)| *kept).collect();
    for (payload, kept) in payloads.iter().zip(&expected) {
        assert_eq!(protobuf(&[payload]), [*kept], "{payload:?}");
    }
    assert_eq!(protobuf(&payloads), expected);
}

#[test]
fn a_default_of_the_writers_choice() {
    let payloads: [&[u8]; 2] = [b"", b"\x30\x02"];
    assert_eq!(kept(&message::schema(message::PLAN), &message::columns(), &payloads), [true, true]);
}

#[test]
fn versions_of_which_columns_do_not_tell_all() {
    let mut decoder = Decoder::new(keeping(record("avro"), record_fields(), 100)).unwrap();
    for version in [1, 2] {
        decoder.add_writer_schema(&[0, 0, 0, 0, 0, 0, 0, version], &avro(RECORD)).unwrap();
    }
    decoder.keep_payloads(Some(&[0, 0, 0, 0, 0, 0, 0, 2]));
    let payload: &[u8] = b"\x02\x00\x00\x00";
    let mut null = metadata();
    put_bytes(&mut null, 16, &[0, 0, 0, 0, 0, 0, 0, 2]);
    _kernel::wire::put_number(&mut null, 25, 1);
    let data = [of_version(1, payload), of_version(2, payload), of_version(1, b"\x02"), entry(&null, b"")];
    decoder.push(&mut entries(&data));
    let batches = drain(&mut decoder).unwrap();
    let some = |bytes: &[u8]| Some(bytes.to_vec());
    assert_eq!(column(&batches, "kept"), [None, some(payload), some(b"\x02"), None]);
    assert_eq!(column(&batches, "bad"), [None, None, some(b"\x02"), None]);
}

#[test]
fn pairs_keep_the_payload_of_the_message() {
    let fields = nullable([("key", DataType::Utf8), ("value", DataType::Struct(record_fields().into()))]);
    let value = PayloadSchema {
        pair: Some(Box::new(_kernel::payload_schema::KeyValueSchema {
            key: PayloadSchema::of_type("string"),
            value: record("json"),
            separated: true,
        })),
        ..PayloadSchema::of_type("key_value")
    };
    let payloads: [&[u8]; 2] = [br#"{"a": 1}"#, br#"{"a": 1, "b": 2}"#];
    assert_eq!(kept(&value, &fields, &payloads), [false, true]);
}
