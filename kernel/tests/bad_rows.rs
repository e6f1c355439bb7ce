//! Undamaged messages that cannot be decoded: such a message is an error, a row without a value, or no row.

use crate::common;
use std::sync::Arc;

use crate::common::{drain, entries, entry, metadata, options};
use _kernel::decode::{BadRows, Decoder, DecoderOptions};
use _kernel::error::{ErrorKind, KernelError};
use _kernel::payload_schema::PayloadSchema;
use _kernel::selection::Range;
use _kernel::wire::{put_bytes, put_number};
use arrow_array::cast::AsArray;
use arrow_array::types::{Int32Type, Int64Type};
use arrow_array::{Array, RecordBatch};
use arrow_schema::{DataType, Field, Schema, TimeUnit};

const AVRO_SCHEMA: &str = r#"{"type": "record", "name": "R", "fields": [
  {"name": "a", "type": "int"}, {"name": "s", "type": ["null", "string"], "default": null}]}"#;

fn record_options(value_type: &str, mode: BadRows, batch_rows: usize) -> DecoderOptions {
    let fields = vec![Field::new("a", DataType::Int32, true), Field::new("s", DataType::Utf8, true)];
    let mut output = fields.clone();
    output.push(Field::new("bad", DataType::Binary, true));
    let mut options = options(value_type, output);
    options.value = PayloadSchema {
        value_type: value_type.to_owned(),
        value_schema: Some(Arc::new(Schema::new(fields))),
        definition: Some(AVRO_SCHEMA.to_owned()),
        pair: None,
    };
    options.bad_rows = mode;
    options.corrupt_column = Some("bad".to_owned());
    options.batch_rows = batch_rows;
    options
}

fn written(definition: &str) -> PayloadSchema {
    PayloadSchema { definition: Some(definition.to_owned()), ..PayloadSchema::of_type("avro") }
}

fn plain(payload: &[u8]) -> Vec<u8> {
    entry(&metadata(), payload)
}

fn null() -> Vec<u8> {
    let mut metadata = metadata();
    put_number(&mut metadata, 25, 1);
    entry(&metadata, b"")
}

fn versioned(version: u8, payload: &[u8]) -> Vec<u8> {
    let mut metadata = metadata();
    put_bytes(&mut metadata, 16, &[0, 0, 0, 0, 0, 0, 0, version]);
    entry(&metadata, payload)
}

/// The entry id of a row, its value in `a`, and its payload in `bad`.
type DecodedRow = (i64, Option<i32>, Option<Vec<u8>>);

fn decoded_rows(batches: &[RecordBatch]) -> Vec<DecodedRow> {
    let mut out = Vec::new();
    for batch in batches {
        let ids = batch.column_by_name("__messageId").unwrap().as_struct();
        let ids = ids.column_by_name("entry").unwrap().as_primitive::<Int64Type>();
        let values = batch.column_by_name("a").unwrap().as_primitive::<Int32Type>();
        let bad = batch.column_by_name("bad").unwrap().as_binary::<i32>();
        for row in 0..batch.num_rows() {
            let value = values.is_valid(row).then(|| values.value(row));
            out.push((ids.value(row), value, bad.is_valid(row).then(|| bad.value(row).to_vec())));
        }
    }
    out
}

fn run(
    options: DecoderOptions,
    data: &[Vec<u8>],
) -> Result<(Vec<DecodedRow>, u64, Option<KernelError>), KernelError> {
    let mut decoder = Decoder::new(options)?;
    decoder.add_writer_schema(b"", &written(AVRO_SCHEMA))?;
    decoder.push(&mut entries(data));
    let batches = drain(&mut decoder)?;
    let count = decoder.bad_rows();
    Ok((decoded_rows(&batches), count.rows, count.first.clone()))
}

/// Return good rows, a null value, and rows that are not one object or do not fit the schema.
fn mixed_json() -> Vec<Vec<u8>> {
    vec![
        plain(br#"{"a": 1}"#),
        plain(br#"{"a": 2} {"a": 3}"#),
        plain(br#"{"a": "x"}"#),
        null(),
        plain(br#"{"a": 4, "s": "t"}"#),
        plain(b"not JSON"),
    ]
}

#[test]
fn bad_rows_keep_their_position_and_their_bytes() {
    for batch_rows in [1, 2, 3, 100] {
        let options = record_options("json", BadRows::Null, batch_rows);
        let (rows, count, first) = run(options, &mixed_json()).unwrap();
        let bad = |entry: i64, payload: &str| (entry, None, Some(payload.as_bytes().to_vec()));
        assert_eq!(
            rows,
            [
                (0, Some(1), None),
                bad(1, r#"{"a": 2} {"a": 3}"#),
                bad(2, r#"{"a": "x"}"#),
                (3, None, None),
                (4, Some(4), None),
                bad(5, "not JSON"),
            ],
            "{batch_rows}"
        );
        assert_eq!(count, 3);
        let first = first.unwrap();
        assert_eq!((first.kind, first.at.unwrap().entry), (ErrorKind::Payload, 1), "{first}");
    }
}

#[test]
fn dropped_rows_leave_no_empty_batch() {
    for batch_rows in [1, 2, 100] {
        let options = record_options("json", BadRows::Drop, batch_rows);
        let (rows, count, _) = run(options, &mixed_json()).unwrap();
        assert_eq!(rows, [(0, Some(1), None), (3, None, None), (4, Some(4), None)]);
        assert_eq!(count, 3);
        let options = record_options("json", BadRows::Drop, batch_rows);
        let all_bad = vec![plain(b"{"); 5];
        assert_eq!(run(options, &all_bad).unwrap().0, []);
    }
}

#[test]
fn failing_fast_names_the_first_bad_message_and_its_version() {
    let mut data: Vec<_> = (0..70).map(|i| versioned(3, format!(r#"{{"a": {i}}}"#).as_bytes())).collect();
    for at in [41, 55] {
        data[at] = versioned(7, br#"{"a": 1.5}"#);
    }
    let error = run(record_options("json", BadRows::Fail, 100), &data).unwrap_err();
    assert_eq!((error.kind, error.at.unwrap().entry), (ErrorKind::Payload, 41), "{error}");
    assert!(error.message.contains("schema version 7"), "{error}");
    data[20] = versioned(9, b"{} {}");
    let error = run(record_options("json", BadRows::Fail, 100), &data).unwrap_err();
    assert_eq!(error.at.unwrap().entry, 20);
    assert!(error.message.contains("schema version 9"), "{error}");
}

#[test]
fn avro_rows_of_a_refused_version_are_bad_rows() {
    let mut decoder = Decoder::new(record_options("avro", BadRows::Null, 100)).unwrap();
    decoder.add_writer_schema(&[0, 0, 0, 0, 0, 0, 0, 1], &written(AVRO_SCHEMA)).unwrap();
    let old = r#"{"type": "record", "name": "R", "fields": [{"name": "a", "type": "int"}]}"#;
    decoder.add_writer_schema(&[0, 0, 0, 0, 0, 0, 0, 2], &written(old)).unwrap();
    let mut batch = entries(&[
        versioned(1, &[2, 0]),
        versioned(3, &[4, 0]),
        versioned(2, &[6]),
        versioned(1, &[8]),
        versioned(2, &[10, 0]),
        versioned(2, &[12]),
    ]);
    assert_eq!(decoder.unknown_versions(&mut batch).unwrap(), [vec![0, 0, 0, 0, 0, 0, 0, 3]]);
    decoder.refuse_version(&[0, 0, 0, 0, 0, 0, 0, 3], "it is gone");
    assert!(decoder.unknown_versions(&mut batch).unwrap().is_empty());
    for round in 0..2 {
        if round > 0 {
            decoder.rewind(3, Range::default()).unwrap();
            batch = entries(&[versioned(1, &[2, 0]), versioned(3, &[4, 0])]);
        }
        decoder.push(&mut batch);
        let rows = decoded_rows(&drain(&mut decoder).unwrap());
        assert_eq!(rows[..2], [(0, Some(1), None), (1, None, Some(vec![4, 0]))]);
        if round == 0 {
            let bad = |entry, payload: &[u8]| (entry, None, Some(payload.to_vec()));
            assert_eq!(rows[2..], [(2, Some(3), None), bad(3, &[8]), bad(4, &[10, 0]), (5, Some(6), None)]);
        }
        assert_eq!(decoder.bad_rows().rows, if round == 0 { 3 } else { 1 });
        let first = decoder.bad_rows().first.clone().unwrap();
        assert!(first.message.contains("it is gone") && first.message.contains("version 3"), "{first}");
    }
}

#[test]
fn bad_primitive_values_are_bad_rows() {
    let fields = vec![Field::new("value", DataType::Int32, true), Field::new("bad", DataType::Binary, true)];
    let mut options = options("int32", fields);
    options.bad_rows = BadRows::Null;
    options.corrupt_column = Some("bad".to_owned());
    let mut decoder = Decoder::new(options).unwrap();
    decoder.push(&mut entries(&[plain(&[0, 0, 0, 1]), plain(&[1]), null(), plain(&[0, 0, 0, 2])]));
    let batch = drain(&mut decoder).unwrap().remove(0);
    let values = batch.column(0).as_primitive::<Int32Type>();
    assert_eq!(values.iter().collect::<Vec<_>>(), [Some(1), None, None, Some(2)]);
    let bad: Vec<_> = batch.column(1).as_binary::<i32>().iter().collect();
    assert_eq!(bad, [None, Some(&[1u8][..]), None, None]);
}

#[test]
fn damaged_entries_are_errors_in_every_mode() {
    let mut damaged = plain(br#"{"a": 1}"#);
    *damaged.last_mut().unwrap() ^= 1;
    for mode in [BadRows::Fail, BadRows::Null, BadRows::Drop] {
        let data = [plain(b"{"), plain(br#"{"a": 1}"#), damaged.clone()];
        let data = if mode == BadRows::Fail { &data[1..] } else { &data[..] };
        let error = run(record_options("json", mode, 100), data).unwrap_err();
        assert_eq!(error.kind, ErrorKind::Corrupt, "{mode:?} {error}");
    }
}

#[test]
fn fields_that_are_not_requested_are_not_decoded() {
    let mut options = options("json", vec![Field::new("s", DataType::Utf8, true)]);
    options.value = record_options("json", BadRows::Fail, 1).value;
    let mut decoder = Decoder::new(options.clone()).unwrap();
    decoder.push(&mut entries(&[plain(br#"{"a": "of another type", "s": "x"}"#)]));
    assert_eq!(common::strings(&drain(&mut decoder).unwrap()[0], "s"), [Some("x".to_owned())]);
    options.output_schema = Arc::new(Schema::new(common::metadata_fields()));
    for value_type in ["json", "avro", "int32", "string"] {
        options.value.value_type = value_type.to_owned();
        let mut decoder = Decoder::new(options.clone()).unwrap();
        let mut garbage = entries(&[plain(b"\xff\xff"), plain(b"")]);
        assert!(decoder.unknown_versions(&mut garbage).unwrap().is_empty());
        decoder.push(&mut garbage);
        assert_eq!(drain(&mut decoder).unwrap()[0].num_rows(), 2);
    }
}

#[test]
fn an_idle_decoder_accepts_another_range() {
    let mut decoder = Decoder::new(record_options("json", BadRows::Fail, 2)).unwrap();
    let data = [plain(br#"{"a": 1}"#), plain(br#"{"a": 2}"#), plain(br#"{"a": 3}"#)];
    decoder.push(&mut entries(&data));
    assert!(decoder.rewind(0, Range::default()).is_err(), "entries are waiting");
    assert_eq!(decoded_rows(&drain(&mut decoder).unwrap()).len(), 3);
    decoder.rewind(9, Range { start: Some((7, 1, 0)), end: Some((7, 2, 0)) }).unwrap();
    decoder.push(&mut entries(&data));
    let batches = drain(&mut decoder).unwrap();
    assert_eq!(decoded_rows(&batches), [(1, Some(2), None)]);
    let partitions = batches[0].column_by_name("__partition").unwrap().as_primitive::<Int32Type>();
    assert_eq!(partitions.value(0), 9);
    let ids = batches[0].column_by_name("__messageId").unwrap().as_struct();
    assert_eq!(ids.column_by_name("partition").unwrap().as_primitive::<Int32Type>().value(0), 9);
    decoder.rewind(9, Range::default()).unwrap();
    decoder.push(&mut entries(&[plain(b"{")]));
    assert!(decoder.next_batch(true).is_err());
    assert!(decoder.rewind(9, Range::default()).is_err(), "the decoder failed");
}

/// Return options for JSON with a time of day. A time out of range is found only when the batch is finished.
fn late_options(mode: BadRows) -> DecoderOptions {
    let mut options = record_options("json", mode, 8);
    let time = Field::new("t", DataType::Time32(TimeUnit::Millisecond), true);
    for schema in
        [Some(&mut options.output_schema), options.value.value_schema.as_mut()].into_iter().flatten()
    {
        let own = schema.fields().iter().map(|f| f.as_ref().clone());
        *schema = Arc::new(Schema::new(own.chain([time.clone()]).collect::<Vec<_>>()));
    }
    let field = r#", {"name": "t", "type": ["null", {"type": "int", "logicalType": "time-millis"}]}]}"#;
    options.value.definition = Some(AVRO_SCHEMA.replace("]}", "").trim_end().to_owned() + field);
    options
}

/// A late bad row is found when the batch is finished, after the decoder has read later rows.
#[test]
fn any_pattern_of_good_and_bad_rows_keeps_its_order() {
    let kinds: [&[u8]; 4] = [br#"{"a": 1}"#, b"{} {}", br#"{"a": 1, "t": 86400000}"#, b""];
    for pattern in 0..4usize.pow(5) {
        let of_row: Vec<usize> = (0..5).map(|i| pattern / 4usize.pow(i) % 4).collect();
        let data: Vec<_> =
            of_row.iter().map(|kind| if *kind == 3 { null() } else { plain(kinds[*kind]) }).collect();
        let (rows, count, first) = run(late_options(BadRows::Null), &data).unwrap();
        let expected: Vec<DecodedRow> = of_row
            .iter()
            .enumerate()
            .map(|(i, kind)| match kind {
                0 => (i as i64, Some(1), None),
                3 => (i as i64, None, None),
                bad => (i as i64, None, Some(kinds[*bad].to_vec())),
            })
            .collect();
        assert_eq!(rows, expected, "{of_row:?}");
        assert_eq!(count as usize, of_row.iter().filter(|kind| matches!(kind, 1 | 2)).count());
        let first_bad = of_row.iter().position(|kind| matches!(kind, 1 | 2));
        assert_eq!(first.map(|e| e.at.unwrap().entry as usize), first_bad, "{of_row:?}");
        let failed = run(late_options(BadRows::Fail), &data).err();
        let early = of_row.iter().position(|kind| *kind == 1);
        assert_eq!(failed.map(|e| e.at.unwrap().entry as usize), early.or(first_bad), "{of_row:?}");
    }
}
