//! Undamaged messages with odd metadata: such a message is a value or a bad row, as documented, and is never
//! treated as damaged.

use std::sync::Arc;

use crate::common::*;
use crate::odd::*;
use _kernel::decode::{BadRows, Decoder};
use _kernel::error::{ErrorKind, KernelError};
use _kernel::metadata::SingleMetadata;
use _kernel::payload_schema::{KeyValueSchema, PayloadSchema};
use _kernel::wire::{put_bytes, put_number};
use arrow_array::cast::AsArray;
use arrow_array::types::TimestampMicrosecondType;
use arrow_array::{Array, RecordBatch};
use arrow_schema::{DataType, Field, Schema};

fn property(key: &[u8], value: &[u8]) -> Vec<u8> {
    let mut pair = Vec::new();
    put_bytes(&mut pair, 1, key);
    put_bytes(&mut pair, 2, value);
    pair
}

/// Return an entry and the index of its odd message: once outside a batch, and once between two messages of a batch.
fn single_and_batched(change: impl Fn(&mut Vec<u8>), single: SingleMetadata<'_>) -> [(Vec<u8>, usize); 2] {
    let mut payload = Vec::new();
    put_message(&mut payload, &SingleMetadata { payload_size: 1, ..SingleMetadata::default() }, b"a");
    put_message(&mut payload, &SingleMetadata { payload_size: 1, ..single }, b"x");
    put_message(&mut payload, &SingleMetadata { payload_size: 1, ..SingleMetadata::default() }, b"b");
    let batched = entry(&with(|out| put_number(out, 11, 3)), &payload);
    [(entry(&with(change), b"x"), 0), (batched, 1)]
}

/// Decode an entry, and return the row at `index`.
fn row_of(mode: BadRows, data: &[u8], index: usize) -> Result<RecordBatch, KernelError> {
    let rows = decode_all(text_options(mode), &[data.to_vec()])?;
    Ok(rows[0].slice(index, 1))
}

fn micros(batch: &RecordBatch, name: &str) -> Option<i64> {
    let column = batch.column_by_name(name).unwrap().as_primitive::<TimestampMicrosecondType>();
    column.is_valid(0).then(|| column.value(0))
}

fn key(batch: &RecordBatch) -> Vec<u8> {
    batch.column_by_name("__key").unwrap().as_binary::<i32>().value(0).to_vec()
}

/// Check that the message is an error in mode `Fail`. In mode `Null` only the value and `column` are null.
fn assert_bad_row(samples: &[(Vec<u8>, usize)], column: &str, why: &str) {
    for (data, index) in samples {
        let error = row_of(BadRows::Fail, data, *index).unwrap_err();
        assert_eq!(error.kind, ErrorKind::Payload, "{error}");
        assert!(error.message.contains(why), "{error}");
        assert_eq!(error.at.unwrap().entry, 0, "{error}");
        let row = row_of(BadRows::Null, data, *index).unwrap();
        assert_eq!((strings(&row, "value"), bad(&row)), (vec![None], Some(b"x".to_vec())));
        let fields = row.schema();
        let known = ["__messageId", "__publishTime", "__messageProperties", "__producerName", "__sequenceId"];
        for name in known {
            assert_eq!(row.column_by_name(name).unwrap().is_null(0), name == column, "{name} of {fields:?}");
        }
        let rows = decode_all(text_options(BadRows::Drop), std::slice::from_ref(data)).unwrap();
        assert_eq!(rows.iter().map(RecordBatch::num_rows).sum::<usize>(), 2 * index);
        // A reader that does not request the column gets no error.
        let mut options = text_options(BadRows::Fail);
        let other =
            fields.fields().iter().filter(|field| field.name() != column).cloned().collect::<Vec<_>>();
        options.output_schema = Arc::new(Schema::new(other));
        assert_eq!(decode_all(options, std::slice::from_ref(data)).unwrap()[0].num_rows(), 1 + 2 * index);
        // The message is also a bad row if only metadata columns are requested.
        for (mode, rows) in [(BadRows::Null, 1 + 2 * index), (BadRows::Drop, 2 * index)] {
            let mut options = text_options(mode);
            options.output_schema = Arc::new(Schema::new(metadata_fields()));
            options.corrupt_column = None;
            let mut decoder = Decoder::new(options).unwrap();
            decoder.push(&mut entries(std::slice::from_ref(data)));
            let batches = drain(&mut decoder).unwrap();
            assert_eq!(batches.iter().map(RecordBatch::num_rows).sum::<usize>(), rows, "{mode:?}");
            assert_eq!(decoder.bad_rows().rows, 1);
        }
    }
}

#[test]
fn times_before_1970_are_valid() {
    for millis in [-1i64, -1_000_000, i64::MIN / 1000] {
        let single = SingleMetadata { event_time: millis as u64, ..SingleMetadata::default() };
        for (data, index) in single_and_batched(|out| put_number(out, 12, millis as u64), single) {
            for mode in MODES {
                let row = row_of(mode, &data, index).unwrap();
                assert_eq!(micros(&row, "__eventTime"), Some(millis * 1000));
                assert_eq!((strings(&row, "value"), bad(&row)), (vec![Some("x".to_owned())], None));
            }
        }
    }
    let data = entry(&with(|out| put_number(out, 3, -5i64 as u64)), b"x");
    let row = row_of(BadRows::Fail, &data, 0).unwrap();
    assert_eq!(micros(&row, "__publishTime"), Some(-5000));
}

#[test]
fn times_that_spark_cannot_hold_are_bad_rows() {
    for millis in [i64::MAX, i64::MIN, i64::MAX / 1000 + 1, i64::MIN / 1000 - 1] {
        let single = SingleMetadata { event_time: millis as u64, ..SingleMetadata::default() };
        let samples = single_and_batched(|out| put_number(out, 12, millis as u64), single);
        assert_bad_row(&samples, "__eventTime", "event time: expected a time in Spark's range");
        let published = entry(&with(|out| put_number(out, 3, millis as u64)), b"x");
        assert_bad_row(&[(published, 0)], "__publishTime", "publish time: expected a time in Spark's range");
    }
}

#[test]
fn text_that_is_not_utf_8_is_a_bad_row() {
    let pairs = [(&b"k\xff"[..], &b"v"[..]), (b"k", b"\xc3"), (b"\xed\xa0\x80", b""), (b"\xc3", b"\xa9")];
    for pair in pairs {
        let single = SingleMetadata { properties: vec![(b"a", b"b"), pair], ..SingleMetadata::default() };
        let properties = |out: &mut Vec<u8>| {
            put_bytes(out, 4, &property(b"a", b"b"));
            put_bytes(out, 4, &property(pair.0, pair.1));
        };
        assert_bad_row(&single_and_batched(properties, single), "__messageProperties", "expected UTF-8");
    }
    let named = entry(&with(|out| put_bytes(out, 1, b"p\xff")), b"x");
    assert_bad_row(&[(named, 0)], "__producerName", "producer name: expected UTF-8");
}

#[test]
fn the_error_names_the_first_bad_column_of_a_message() {
    let late = i64::MAX as u64;
    let mut payload = Vec::new();
    for event_time in [0, late] {
        let single = SingleMetadata { payload_size: 1, event_time, ..SingleMetadata::default() };
        put_message(&mut payload, &single, b"x");
    }
    let published = |out: &mut Vec<u8>| {
        put_number(out, 3, late);
        put_number(out, 11, 2);
    };
    let batched = entry(&with(published), &payload);
    for (first, second, why) in [
        ("__publishTime", "__eventTime", ["publish time", "publish time"]),
        ("__eventTime", "__publishTime", ["publish time", "event time"]),
    ] {
        let mut options = text_options(BadRows::Fail);
        let order = [first, second].map(|name| options.output_schema.field_with_name(name).unwrap().clone());
        let value = Field::new("value", DataType::Utf8, true);
        options.output_schema = Arc::new(Schema::new([vec![value], order.to_vec()].concat()));
        for (index, why) in why.iter().enumerate() {
            options.range.start = Some((7, 0, index as i32));
            let error = decode_all(options.clone(), std::slice::from_ref(&batched)).unwrap_err();
            assert!(error.message.starts_with(&format!("message 7:0:{index}: {why}: ")), "{error}");
        }
    }
}

#[test]
fn a_schema_version_of_odd_length_is_a_bad_row() {
    for length in [1, 7, 9, 200] {
        let data = entry(&with(|out| put_bytes(out, 16, &vec![1; length])), b"x");
        assert_bad_row(
            &[(data, 0)],
            "__schemaVersion",
            &format!("schema version: expected 8 bytes, got {length}"),
        );
    }
    let none = entry(&with(|out| put_bytes(out, 16, b"")), b"x");
    let row = row_of(BadRows::Fail, &none, 0).unwrap();
    assert!(row.column_by_name("__schemaVersion").unwrap().is_null(0));
}

#[test]
fn keys_that_are_not_base64_are_read_as_text() {
    // `java.util.Base64` also decodes text without padding, and text with unused bits at its end.
    for (text, bytes) in [
        ("no base64!", "no base64!"),
        ("YQ==", "a"),
        ("YQ", "a"),
        ("YR==", "a"),
        ("", ""),
        ("Y", "Y"),
        ("é", "é"),
    ] {
        let single = SingleMetadata {
            partition_key: Some(text.as_bytes()),
            partition_key_base64: true,
            ..SingleMetadata::default()
        };
        let keyed = |out: &mut Vec<u8>| {
            put_bytes(out, 6, text.as_bytes());
            put_number(out, 17, 1);
        };
        for (data, index) in single_and_batched(keyed, single) {
            for mode in MODES {
                let row = row_of(mode, &data, index).unwrap();
                assert_eq!((key(&row), bad(&row)), (bytes.as_bytes().to_vec(), None));
            }
            let mut options = text_options(BadRows::Fail);
            options.filter.keys = Some([bytes.as_bytes().to_vec()].into());
            assert_eq!(decode_all(options, &[data]).unwrap()[0].num_rows(), 1, "{text}");
        }
    }
}

#[test]
fn the_last_of_equal_property_keys_counts() {
    for count in [2usize, 3, 16, 17, 100] {
        let texts: Vec<_> = (0..count).map(|i| (format!("k{}", i % 2), i.to_string())).collect();
        let pairs = texts.iter().map(|(k, v)| (k.as_bytes(), v.as_bytes())).collect();
        let single = SingleMetadata { properties: pairs, ..SingleMetadata::default() };
        let properties = |out: &mut Vec<u8>| {
            texts.iter().for_each(|(k, v)| put_bytes(out, 4, &property(k.as_bytes(), v.as_bytes())));
        };
        for (data, index) in single_and_batched(properties, single.clone()) {
            let row = row_of(BadRows::Fail, &data, index).unwrap();
            let map = row.column_by_name("__messageProperties").unwrap().as_map().value(0);
            let column = |at: usize| map.column(at).as_string::<i32>().iter().flatten().map(str::to_owned);
            let mut found: Vec<_> = column(0).zip(column(1)).collect();
            found.sort();
            let last = |odd: usize| (0..count).rev().find(|i| i % 2 == odd).unwrap();
            let expected = [0, 1].map(|odd| (format!("k{odd}"), last(odd).to_string()));
            assert_eq!(found, expected);
        }
    }
}

#[test]
fn a_separated_key_that_is_not_base64_is_a_bad_row() {
    let columns = nullable([("key", DataType::Utf8), ("value", DataType::Utf8), ("bad", DataType::Binary)]);
    let side = || PayloadSchema::of_type("string");
    let pair = KeyValueSchema { key: side(), value: side(), separated: true };
    let schema = PayloadSchema { pair: Some(Box::new(pair)), ..PayloadSchema::of_type("key_value") };
    let keyed = |text: &[u8]| {
        entry(
            &with(|out| {
                put_bytes(out, 6, text);
                put_number(out, 17, 1);
            }),
            b"v",
        )
    };
    let data = [keyed(b"aw=="), keyed(b"?"), keyed(b"bA==")];
    for mode in MODES {
        let mut options = decoder_of(schema.clone(), columns.clone());
        options.bad_rows = mode;
        options.corrupt_column = Some("bad".to_owned());
        let mut decoder = Decoder::new(options).unwrap();
        decoder.add_writer_schema(b"", &schema).unwrap();
        decoder.push(&mut entries(&data));
        let rows = drain(&mut decoder);
        if mode == BadRows::Fail {
            let error = rows.unwrap_err();
            assert_eq!((error.kind, error.at.unwrap().entry), (ErrorKind::Payload, 1), "{error}");
            continue;
        }
        let (k, l) = (Some("k".to_owned()), Some("l".to_owned()));
        let expected = if mode == BadRows::Null { vec![k, None, l] } else { vec![k, l] };
        assert_eq!(strings(&rows.unwrap()[0], "key"), expected);
    }
}
