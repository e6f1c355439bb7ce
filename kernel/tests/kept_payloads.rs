//! Kept payloads: the original bytes of messages whose columns do not determine them.

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

fn versioned(version: u8, payload: &[u8]) -> Vec<u8> {
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

/// Return for each payload whether it is kept, and check that all its bytes are kept.
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
fn json_with_members_without_a_column_is_kept() {
    let cases: [(&[u8], bool); 23] = [
        (br#"{"a": 1}"#, false),
        (br#"{"s": "t", "a": 1}"#, false),
        (br#"{"a": 1, "s": null, "in": null}"#, false),
        (br#"{"a": 1, "in": {"x": 2}}"#, false),
        (br#"{"a": 1, "list": [{"x": 2}, {"x": 3}]}"#, false),
        (br#"{"a": 1, "b": 2}"#, true),
        (br#"{"b": null, "a": 1}"#, true),
        (br#"{"a": 1, "in": {"x": 2, "y": 3}}"#, true),
        (br#"{"a": 1, "list": [{"x": 2}, {"x": 3, "y": 4}]}"#, true),
        // The column has the default of a missing member.
        (br#"{"a": 1, "in": {}}"#, true),
        (br#"{"a": 1, "list": [{"x": 2}, {}]}"#, true),
        // Names are case-sensitive, and their escapes are decoded.
        (br#"{"A": 2, "a": 1}"#, true),
        (br#"{"\u0061": 1}"#, false),
        // Another schema may read a number as text, or as a fraction.
        (br#"{"a": -1}"#, false),
        (br#"{"a": "1"}"#, true),
        (br#"{"a": 1.0}"#, true),
        (br#"{"a": 1e1}"#, true),
        (br#"{"a": -0}"#, true),
        // If several members have the same name, the column contains the last member.
        (br#"{"a": 1, "a": 2}"#, true),
        (br#"{"a": 1, "list": [{"x": 2, "x": 3}]}"#, true),
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
fn objects_in_unions_are_kept() {
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

#[test]
fn json_that_columns_do_not_determine_is_kept() {
    let definition = r#"{"type": "record", "name": "R", "fields": [
      {"name": "e", "type": ["null", {"type": "enum", "name": "E", "symbols": ["A", "B"]}]},
      {"name": "m", "type": ["null", {"type": "map", "values": "int"}]},
      {"name": "empty", "type": ["null", {"type": "record", "name": "N", "fields": []}]},
      {"name": "nulls", "type": ["null", {"type": "map", "values": "null"}]},
      {"name": "d", "type": ["null", "double"]}]}"#;
    let fields = nullable([
        ("e", DataType::Utf8),
        ("m", map_between(DataType::Utf8, DataType::Int32)),
        ("empty", DataType::Struct(nullable([]).into())),
        ("nulls", map_between(DataType::Utf8, DataType::Null)),
        ("d", DataType::Float64),
    ]);
    let value = PayloadSchema {
        value_schema: Some(Arc::new(Schema::new(fields.clone()))),
        definition: Some(definition.to_owned()),
        ..PayloadSchema::of_type("json")
    };
    let cases: [(&[u8], bool); 12] = [
        (br#"{}"#, false),
        (br#"{"e": "A"}"#, false),
        (br#"{"e": "\u0041"}"#, false),
        (br#"{"e": "C"}"#, true),
        (br#"{"m": {"a": 1, "b": 2}}"#, false),
        (br#"{"m": {"a": 1, "\u0061": 2}}"#, true),
        (br#"{"m": {"a": "1"}}"#, true),
        (br#"{"empty": null, "nulls": null}"#, false),
        (br#"{"empty": {}}"#, false),
        (br#"{"nulls": {}}"#, false),
        // Any schema that can read a double has a type with fractions, so the text of the number does not matter.
        (br#"{"d": "1.50"}"#, false),
        (br#"{"d": 1e0}"#, false),
    ];
    for (payload, is_kept) in cases {
        assert_eq!(kept(&value, &fields, &[payload]), [is_kept], "{}", String::from_utf8_lossy(payload));
    }
}

fn protobuf(payloads: &[&[u8]]) -> Vec<bool> {
    // The plan omits the default of a field that the writer chose, because it has a test of its own.
    let plan = message::PLAN
        .replace(r#""type": 0, "shape": "optional", "absent": "2""#, r#""type": 0, "shape": "optional""#);
    kept(&message::schema(&plan), &message::columns(), payloads)
}

#[test]
fn protobuf_with_fields_without_a_column_is_kept() {
    let cases: [(&[u8], bool); 17] = [
        // No field is set, so the columns equal the columns of a null value.
        (b"", true),
        (b"\x08\x05", false),
        // The unknown field 17 is at the top level, in a message, and in a value of a map.
        (b"\x88\x01\x01", true),
        (b"\x22\x05\x08\x05\x88\x01\x01", true),
        (b"\x22\x02\x08\x05", false),
        (b"\x2a\x07\x0a\x01k\x12\x02\x08\x05", false),
        (b"\x2a\x0a\x0a\x01k\x12\x05\x08\x05\x88\x01\x01", true),
        // A key of a map may be empty.
        (b"\x2a\x06\x0a\x00\x12\x02\x08\x05", false),
        // The column of `id` is 0 both for the value 0 and for a missing field.
        (b"\x08\x00", true),
        // The column of `text` is null for a missing field.
        (b"\x12\x00", false),
        // A time in whole microseconds, and a more precise time.
        (b"\x5a\x05\x08\x05\x10\xe8\x07", false),
        (b"\x5a\x05\x08\x05\x10\xe9\x07", true),
        // Packed numbers, and packed numbers that a single number follows.
        (b"\x1a\x02\x01\x02", false),
        (b"\x1a\x02\x01\x02\x18\x03", true),
        // A wrapper without a value, and a wrapper with the default value.
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
fn protobuf_that_the_encoder_writes_differently_is_kept() {
    let cases: [(&[u8], bool); 29] = [
        (b"\x08\x05\x12\x01x", false),
        // Fields in another order, or repeated: in another schema they may be members of one oneof.
        (b"\x12\x01x\x08\x05", true),
        (b"\x08\x05\x08\x06", true),
        (b"\x22\x02\x08\x05\x22\x02\x08\x06", true),
        // One member of a oneof, and two members. Only the last member has a value in its column.
        (b"\x3d\x01\x00\x00\x00", false),
        (b"\x3d\x01\x00\x00\x00\x42\x02\x08\x05", true),
        // The encoder writes a negative int32 with 64 bits, and no number that needs more than 32 bits.
        (b"\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", false),
        (b"\x08\xff\xff\xff\xff\x0f", true),
        (b"\x08\x80\x80\x80\x80\x10", true),
        // A boolean that is not 1, and longer forms of a number, a tag and a length.
        (b"\x80\x01\x01", false),
        (b"\x80\x01\x02", true),
        (b"\x08\x85\x00", true),
        (b"\x88\x00\x05", true),
        (b"\x12\x81\x00x", true),
        // An open enum can have any number of 32 bits.
        (b"\x30\x07", false),
        (b"\x30\x80\x80\x80\x80\x10", true),
        // A list of messages, an empty packed list, and a packed list in two parts.
        (b"\x6a\x03\x0a\x01a\x6a\x03\x0a\x01b", false),
        (b"\x1a\x00", true),
        (b"\x1a\x01\x02\x1a\x01\x02", true),
        // A packed list with single numbers, and a list of single numbers that is packed.
        (b"\x18\x02", true),
        (b"\x78\x01\x78\x02", false),
        (b"\x7a\x02\x01\x02", true),
        // Maps with two keys, a repeated key, no key, no value, and a value before its key.
        (b"\x2a\x07\x0a\x01k\x12\x02\x08\x05\x2a\x07\x0a\x01l\x12\x02\x08\x05", false),
        (b"\x2a\x07\x0a\x01k\x12\x02\x08\x05\x2a\x07\x0a\x01k\x12\x02\x08\x05", true),
        (b"\x2a\x04\x12\x02\x08\x05", true),
        (b"\x2a\x03\x0a\x01k", true),
        (b"\x2a\x07\x12\x02\x08\x05\x0a\x01k", true),
        // A duration whose parts have different signs, and a negative duration.
        (b"\x62\x0e\x08\x01\x10\x98\xf8\xff\xff\xff\xff\xff\xff\xff\x01", true),
        (b"\x62\x0b\x10\x98\xf8\xff\xff\xff\xff\xff\xff\xff\x01", false),
    ];
    for (payload, kept) in cases {
        assert_eq!(protobuf(&[payload]), [kept], "{payload:x?}");
    }
}

#[test]
fn a_missing_field_with_a_default_of_the_writer_is_kept() {
    // The column has the default for both payloads, and the encoder writes the default.
    let payloads: [&[u8]; 2] = [b"\x08\x05", b"\x08\x05\x30\x02"];
    assert_eq!(kept(&message::schema(message::PLAN), &message::columns(), &payloads), [true, false]);
}

#[test]
fn numbers_outside_a_closed_enum_are_kept() {
    let plan = r#"{"messages": [{"name": "M", "oneofs": [], "fields": [
        {"name": "e", "number": 1, "kind": "enum", "type": 0, "shape": "optional"}]}],
      "enums": [{"closed": true, "values": [["A", 0], ["B", 2]]}]}"#;
    let columns = nullable([("e", DataType::Utf8)]);
    assert_eq!(
        kept(&message::schema(plan), &columns, &[b"\x08\x02", b"\x08\x00", b"\x08\x01"]),
        [false, false, true]
    );
}

#[test]
fn messages_without_fields_are_determined_by_their_presence() {
    let plan = r#"{"messages": [
      {"name": "M", "oneofs": ["o"], "fields": [
        {"name": "x", "number": 1, "kind": "int32", "shape": "optional"},
        {"name": "empty", "number": 2, "kind": "message", "type": 1, "shape": "optional", "oneof": 0},
        {"name": "around", "number": 3, "kind": "message", "type": 2, "shape": "optional"},
        {"name": "list", "number": 4, "kind": "message", "type": 1, "shape": "repeated"},
        {"name": "map", "number": 5, "kind": "message", "type": 3, "shape": "map"},
        {"name": "some", "number": 6, "kind": "message", "type": 4, "shape": "optional"}]},
      {"name": "Empty", "oneofs": [], "fields": []},
      {"name": "Around", "oneofs": [], "fields": [
        {"name": "e", "number": 1, "kind": "message", "type": 1, "shape": "optional"}]},
      {"name": "Entry", "oneofs": [], "fields": [
        {"name": "key", "number": 1, "kind": "int32", "shape": "implicit", "absent": "0"},
        {"name": "value", "number": 2, "kind": "message", "type": 1, "shape": "implicit"}]},
      {"name": "Some", "oneofs": [], "fields": [
        {"name": "e", "number": 1, "kind": "message", "type": 1, "shape": "optional"},
        {"name": "x", "number": 2, "kind": "int32", "shape": "optional"}]}],
      "enums": []}"#;
    let empty = || DataType::Struct(nullable([]).into());
    let around = DataType::Struct(nullable([("e", empty())]).into());
    let some = DataType::Struct(nullable([("e", empty()), ("x", DataType::Int32)]).into());
    let columns = nullable([
        ("x", DataType::Int32),
        ("empty", empty()),
        ("around", around),
        ("list", list_of(empty())),
        ("map", map_between(DataType::Int32, empty())),
        ("some", some),
    ]);
    let cases: [(&[u8], bool); 8] = [
        (b"\x08\x05", false),
        (b"\x12\x00", false),
        (b"\x1a\x00", false),
        (b"\x22\x00", false),
        (b"\x2a\x04\x08\x01\x12\x00", false),
        (b"\x32\x00", false),
        (b"\x32\x02\x10\x01", false),
        (b"\x32\x02\x0a\x00", false),
    ];
    for (payload, is_kept) in cases {
        assert_eq!(kept(&message::schema(plan), &columns, &[payload]), [is_kept], "{payload:x?}");
    }
}

#[test]
fn a_version_whose_columns_lose_data_is_kept() {
    let mut decoder = Decoder::new(keeping(record("avro"), record_fields(), 100)).unwrap();
    for version in [1, 2] {
        decoder.add_writer_schema(&[0, 0, 0, 0, 0, 0, 0, version], &avro(RECORD)).unwrap();
    }
    decoder.keep_payloads(Some(&[0, 0, 0, 0, 0, 0, 0, 2]));
    let payload: &[u8] = b"\x02\x00\x00\x00";
    let mut null = metadata();
    put_bytes(&mut null, 16, &[0, 0, 0, 0, 0, 0, 0, 2]);
    _kernel::wire::put_number(&mut null, 25, 1);
    let data = [versioned(1, payload), versioned(2, payload), versioned(1, b"\x02"), entry(&null, b"")];
    decoder.push(&mut entries(&data));
    let batches = drain(&mut decoder).unwrap();
    let some = |bytes: &[u8]| Some(bytes.to_vec());
    assert_eq!(column(&batches, "kept"), [None, some(payload), some(b"\x02"), None]);
    assert_eq!(column(&batches, "bad"), [None, None, some(b"\x02"), None]);
}

#[test]
fn an_avro_payload_without_bytes_is_kept() {
    let definition = r#"{"type": "record", "name": "R", "fields": [{"name": "n", "type": "null"}]}"#;
    let fields = nullable([("n", DataType::Null)]);
    let value =
        PayloadSchema { value_schema: Some(Arc::new(Schema::new(fields.clone()))), ..avro(definition) };
    assert_eq!(kept(&value, &fields, &[b""]), [true]);
    // Empty bytes and texts have a value in their column.
    let column = nullable([("value", DataType::Utf8)]);
    assert_eq!(kept(&PayloadSchema::of_type("string"), &column, &[b""]), [false]);
}

#[test]
fn avro_in_unusual_forms_is_kept() {
    let definition = r#"{"type": "record", "name": "R", "fields": [
      {"name": "d", "type": ["null", {"type": "bytes", "logicalType": "decimal", "precision": 5, "scale": 0}]},
      {"name": "m", "type": {"type": "array", "items": {"type": "map", "values": "int"}}}]}"#;
    let maps = list_of(map_between(DataType::Utf8, DataType::Int32));
    let fields = nullable([("d", DataType::Decimal128(5, 0)), ("m", maps)]);
    let value =
        PayloadSchema { value_schema: Some(Arc::new(Schema::new(fields.clone()))), ..avro(definition) };
    let cases: [(&[u8], bool); 11] = [
        (b"\x00\x00", false),
        (b"\x02\x02\x05\x00", false),
        (b"\x02\x04\x00\x80\x00", false),
        (b"\x02\x04\xff\x7f\x00", false),
        // Decimals with more bytes than the number needs, and without bytes.
        (b"\x02\x04\x00\x05\x00", true),
        (b"\x02\x04\xff\x80\x00", true),
        (b"\x02\x00\x00", true),
        // Two maps with one key each, a map with two keys, and a repeated key in one block and in two blocks.
        (b"\x00\x04\x02\x02k\x02\x00\x02\x02k\x02\x00\x00", false),
        (b"\x00\x02\x04\x02k\x02\x02l\x02\x00\x00", false),
        (b"\x00\x02\x04\x02k\x02\x02k\x04\x00\x00", true),
        (b"\x00\x02\x01\x06\x02k\x02\x02\x02k\x04\x00\x00", true),
    ];
    for (payload, is_kept) in cases {
        assert_eq!(kept(&value, &fields, &[payload]), [is_kept], "{payload:x?}");
    }
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

#[test]
fn pairs_with_two_nulls_are_kept() {
    let empty = DataType::Struct(nullable([]).into());
    let fields = nullable([("key", DataType::Utf8), ("value", empty)]);
    let record = PayloadSchema {
        value_schema: Some(Arc::new(Schema::empty())),
        definition: Some(r#"{"type": "record", "name": "R", "fields": []}"#.to_owned()),
        ..PayloadSchema::of_type("json")
    };
    let value = PayloadSchema {
        pair: Some(Box::new(_kernel::payload_schema::KeyValueSchema {
            key: PayloadSchema::of_type("string"),
            value: record,
            separated: false,
        })),
        ..PayloadSchema::of_type("key_value")
    };
    let payloads: [&[u8]; 3] = [
        b"\0\0\0\x01k\0\0\0\x02{}",
        // A null value is null in its column. Two nulls have the same columns as a message with a null value.
        b"\0\0\0\x01k\xff\xff\xff\xff",
        b"\xff\xff\xff\xff\xff\xff\xff\xff",
    ];
    assert_eq!(kept(&value, &fields, &payloads), [false, false, true]);
}
