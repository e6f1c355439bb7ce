//! Avro schema versions: each message is decoded with the version of its writer, or is refused.

use std::sync::Arc;

use crate::common::*;
use _kernel::decode::Decoder;
use _kernel::error::ErrorKind;
use _kernel::wire::{put_bytes, put_number};
use arrow_array::{ArrayRef, Int32Array, Int64Array, StringArray};
use arrow_schema::{DataType, Field, Schema};

const OLD: &str = r#"{"type": "record", "name": "old.Event", "fields": [
  {"name": "id", "type": "int"}, {"name": "gone", "type": "string"}]}"#;
const NEW: &str = r#"{"type": "record", "name": "Event", "namespace": "new", "fields": [
  {"name": "id", "type": "long"}, {"name": "added", "type": ["null", "string"], "default": null},
  {"name": "level", "type": "int", "default": 7}]}"#;

fn versioned(version: u8, payload: &[u8]) -> Vec<u8> {
    let mut md = metadata();
    put_bytes(&mut md, 16, &[0, 0, 0, 0, 0, 0, 0, version]);
    entry(&md, payload)
}

fn evolution_decoder() -> Decoder {
    let fields = vec![
        Field::new("id", DataType::Int64, true),
        Field::new("added", DataType::Utf8, true),
        Field::new("level", DataType::Int32, true),
    ];
    let mut options = options("avro", fields.clone());
    options.value.value_schema = Some(Arc::new(Schema::new(fields)));
    options.value.definition = Some(NEW.to_owned());
    Decoder::new(options).unwrap()
}

#[test]
fn interleaved_versions_resolve_to_the_reader_schema() {
    let mut decoder = evolution_decoder();
    let mut null = metadata();
    put_number(&mut null, 25, 1);
    let data = [
        versioned(0, &[2, 2, b'x']),
        versioned(1, &[4, 2, 2, b'n', 6]),
        entry(&null, b""),
        versioned(0, &[6, 0]),
    ];
    let mut batch = entries(&data);
    let unknown = decoder.unknown_versions(&mut batch).unwrap();
    assert_eq!(unknown, [vec![0; 8], vec![0, 0, 0, 0, 0, 0, 0, 1], vec![]]);
    decoder.add_writer_schema(&unknown[0], &avro(OLD)).unwrap();
    decoder.add_writer_schema(&unknown[1], &avro(NEW)).unwrap();
    decoder.add_writer_schema(&[], &avro(NEW)).unwrap();
    assert!(decoder.unknown_versions(&mut batch).unwrap().is_empty());
    decoder.push(&mut batch);
    let out = drain(&mut decoder).unwrap().remove(0);
    let expected = [
        Arc::new(Int64Array::from(vec![Some(1), Some(2), None, Some(3)])) as ArrayRef,
        Arc::new(StringArray::from(vec![None, Some("n"), None, None])),
        Arc::new(Int32Array::from(vec![Some(7), Some(3), None, Some(7)])),
    ];
    assert_eq!(&out.columns()[..3], &expected);
}

#[test]
fn errors_name_the_entry_that_does_not_fit_its_avro_schema() {
    for payload in [&[2, 2][..], &[2, 2, b'x', 0], &[2, 2, 0xff], &[]] {
        let mut decoder = evolution_decoder();
        decoder.add_writer_schema(&[0; 8], &avro(&OLD.replace("gone", "added"))).unwrap();
        decoder.push(&mut entries(&[versioned(0, &[2, 2, b'x']), versioned(0, payload)]));
        let error = decoder.next_batch(true).unwrap_err();
        assert_eq!((error.kind, error.at.map(|at| at.entry)), (ErrorKind::Payload, Some(1)), "{error}");
    }
    let mut decoder = evolution_decoder();
    decoder.push(&mut entries(&[versioned(9, &[2])]));
    assert_eq!(decoder.next_batch(true).unwrap_err().kind, ErrorKind::Schema);
}

#[test]
fn a_character_that_two_fields_share_is_not_text() {
    const TWO: &str = r#"{"type": "record", "name": "Two", "fields": [
      {"name": "a", "type": "string"}, {"name": "b", "type": "string"}]}"#;
    let fields = vec![Field::new("a", DataType::Utf8, true), Field::new("b", DataType::Utf8, true)];
    let mut options = options("avro", fields.clone());
    options.value.value_schema = Some(Arc::new(Schema::new(fields)));
    options.value.definition = Some(TWO.to_owned());
    let long = [&[82][..], &[b'x'; 40], b"\xc3"].concat();
    for (a, b, place, index) in [
        (&b"\x02\xc3"[..], &b"\x02\xa9"[..], "a", 0),
        (&long, b"\x02\xa9", "a", 40),
        (b"\x02x", b"\x02\xa9", "b", 0),
    ] {
        let mut decoder = Decoder::new(options.clone()).unwrap();
        decoder.add_writer_schema(&[0; 8], &avro(TWO)).unwrap();
        let good = versioned(0, "\x02x\x04\u{e9}".as_bytes());
        decoder.push(&mut entries(&[good, versioned(0, &[a, b].concat())]));
        let error = decoder.next_batch(true).unwrap_err();
        let why = format!("in field {place}: expected UTF-8 text: ");
        assert!(error.message.contains(&why), "{error}");
        assert!(error.message.contains(&format!("from index {index} (written")), "{error}");
        assert_eq!((error.kind, error.at.map(|at| at.entry)), (ErrorKind::Payload, Some(1)));
    }
}

#[test]
fn schemas_that_are_not_valid_avro_are_refused() {
    let field = |kind: &str| {
        let fields = format!(r#"{{"name":"id","type":"long"}},{{"name":"f","type":{kind}}}"#);
        format!(r#"{{"type":"record","name":"R","fields":[{fields}]}}"#)
    };
    // A field without a column is skipped.
    for kind in [
        r#"["int", "string"]"#,
        r#""R""#,
        r#"["null", {"type": "array", "items": "R"}]"#,
        r#"["string", {"type": "map", "values": "R"}]"#,
        r#"{"type": "array", "items": "null"}"#,
        r#"{"type": "bytes", "logicalType": "decimal", "precision": 50}"#,
    ] {
        evolution_decoder().add_writer_schema(b"", &avro(&field(kind))).expect(kind);
    }
    for kind in [
        r#"["int", "string", "int"]"#,
        r#"["int", ["string", "null"]]"#,
        r#"["null"]"#,
        "[]",
        r#""unknown""#,
        "17",
        "{}",
    ] {
        let mut decoder = evolution_decoder();
        let error = decoder.add_writer_schema(b"", &avro(&field(kind))).expect_err(kind);
        assert_eq!(error.kind, ErrorKind::Schema);
        assert!(error.message.starts_with('f'), "{error}");
    }
    let mut decoder = evolution_decoder();
    let other = field(r#""string""#).replace(r#""long""#, r#""string""#);
    let error = decoder.add_writer_schema(b"", &avro(&other)).unwrap_err();
    assert_eq!(error.kind, ErrorKind::Schema);
    assert!(error.message.contains("field id: the writer's schema has string, the reader's long"), "{error}");
}
