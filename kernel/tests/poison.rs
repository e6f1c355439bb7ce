//! Whole messages that say odd things: each is a value or a bad row, as documented, and never damaged bytes.

mod common;

use std::sync::Arc;

use _kernel::compression::{Codec, Compressor};
use _kernel::decode::{BadRows, Decoder, DecoderOptions, IntakeOptions};
use _kernel::error::{ErrorKind, KernelError};
use _kernel::metadata::SingleMetadata;
use _kernel::payload_schema::{KeyValueSchema, PayloadSchema};
use _kernel::selection::{Range, Selection};
use _kernel::wire::{put_bytes, put_number};
use arrow_array::cast::AsArray;
use arrow_array::types::{Int32Type, Int64Type, TimestampMicrosecondType};
use arrow_array::{Array, RecordBatch};
use arrow_schema::{DataType, Field, Schema};
use common::*;

const MODES: [BadRows; 3] = [BadRows::Fail, BadRows::Null, BadRows::Drop];

/// Text and all metadata columns, with the bytes of bad rows in `bad`.
fn text_options(mode: BadRows) -> DecoderOptions {
    let value = Field::new("value", DataType::Utf8, true);
    let mut options = options("string", vec![value, Field::new("bad", DataType::Binary, true)]);
    options.bad_rows = mode;
    options.corrupt_column = Some("bad".to_owned());
    options
}

fn with(change: impl FnOnce(&mut Vec<u8>)) -> Vec<u8> {
    let mut metadata = metadata();
    change(&mut metadata);
    metadata
}

fn property(key: &[u8], value: &[u8]) -> Vec<u8> {
    let mut pair = Vec::new();
    put_bytes(&mut pair, 1, key);
    put_bytes(&mut pair, 2, value);
    pair
}

/// The same message outside of a batch, and in one between two others.
fn both(change: impl Fn(&mut Vec<u8>), single: SingleMetadata<'_>) -> [(Vec<u8>, usize); 2] {
    let mut payload = Vec::new();
    put_message(&mut payload, &SingleMetadata { payload_size: 1, ..SingleMetadata::default() }, b"a");
    put_message(&mut payload, &SingleMetadata { payload_size: 1, ..single }, b"x");
    put_message(&mut payload, &SingleMetadata { payload_size: 1, ..SingleMetadata::default() }, b"b");
    let batched = entry(&with(|out| put_number(out, 11, 3)), &payload);
    [(entry(&with(change), b"x"), 0), (batched, 1)]
}

/// The row of the message that is odd.
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

fn bad(batch: &RecordBatch) -> Option<Vec<u8>> {
    let column = batch.column_by_name("bad").unwrap().as_binary::<i32>();
    column.is_valid(0).then(|| column.value(0).to_vec())
}

/// The message is an error in mode `Fail`; else only what `column` holds is unknown, besides the value.
fn is_bad(samples: &[(Vec<u8>, usize)], column: &str, why: &str) {
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
        // Who does not ask for the column does not see it.
        let mut options = text_options(BadRows::Fail);
        let other =
            fields.fields().iter().filter(|field| field.name() != column).cloned().collect::<Vec<_>>();
        options.output_schema = Arc::new(Schema::new(other));
        assert_eq!(decode_all(options, std::slice::from_ref(data)).unwrap()[0].num_rows(), 1 + 2 * index);
        // Without values, too.
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
fn times_before_1970_are_times() {
    for millis in [-1i64, -1_000_000, i64::MIN / 1000] {
        let single = SingleMetadata { event_time: millis as u64, ..SingleMetadata::default() };
        for (data, index) in both(|out| put_number(out, 12, millis as u64), single) {
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
        let samples = both(|out| put_number(out, 12, millis as u64), single);
        is_bad(&samples, "__eventTime", "event time: expected a time in Spark's range");
        let published = entry(&with(|out| put_number(out, 3, millis as u64)), b"x");
        is_bad(&[(published, 0)], "__publishTime", "publish time: expected a time in Spark's range");
    }
}

#[test]
fn text_that_is_no_utf_8_is_a_bad_row() {
    for pair in [(&b"k\xff"[..], &b"v"[..]), (b"k", b"\xc3"), (b"\xed\xa0\x80", b"")] {
        let single = SingleMetadata { properties: vec![(b"a", b"b"), pair], ..SingleMetadata::default() };
        let properties = |out: &mut Vec<u8>| {
            put_bytes(out, 4, &property(b"a", b"b"));
            put_bytes(out, 4, &property(pair.0, pair.1));
        };
        is_bad(&both(properties, single), "__messageProperties", "expected UTF-8");
    }
    let named = entry(&with(|out| put_bytes(out, 1, b"p\xff")), b"x");
    is_bad(&[(named, 0)], "__producerName", "producer name: expected UTF-8");
}

#[test]
fn a_schema_version_of_odd_length_is_a_bad_row() {
    for length in [1, 7, 9, 200] {
        let data = entry(&with(|out| put_bytes(out, 16, &vec![1; length])), b"x");
        is_bad(&[(data, 0)], "__schemaVersion", &format!("schema version: expected 8 bytes, got {length}"));
    }
    let none = entry(&with(|out| put_bytes(out, 16, b"")), b"x");
    let row = row_of(BadRows::Fail, &none, 0).unwrap();
    assert!(row.column_by_name("__schemaVersion").unwrap().is_null(0));
}

#[test]
fn keys_that_are_not_base64_are_their_text() {
    // What `java.util.Base64` decodes is decoded: without padding, and with last bits that say nothing.
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
        for (data, index) in both(keyed, single) {
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
fn of_equal_property_keys_the_last_counts() {
    for count in [2usize, 3, 16, 17, 100] {
        let texts: Vec<_> = (0..count).map(|i| (format!("k{}", i % 2), i.to_string())).collect();
        let pairs = texts.iter().map(|(k, v)| (k.as_bytes(), v.as_bytes())).collect();
        let single = SingleMetadata { properties: pairs, ..SingleMetadata::default() };
        let properties = |out: &mut Vec<u8>| {
            texts.iter().for_each(|(k, v)| put_bytes(out, 4, &property(k.as_bytes(), v.as_bytes())));
        };
        for (data, index) in both(properties, single.clone()) {
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

/// An entry of `codec` that says it unpacks to `size` bytes.
fn packed(codec: u64, size: u64, messages: Option<u64>, payload: &[u8]) -> Vec<u8> {
    let metadata = with(|out| {
        put_number(out, 8, codec);
        put_number(out, 9, size);
        messages.into_iter().for_each(|count| put_number(out, 11, count));
    });
    entry(&metadata, payload)
}

const CODECS: [Codec; 4] = [Codec::Lz4, Codec::Zlib, Codec::Zstd, Codec::Snappy];

/// Entries between good ones: an error of `kind`, or one row with the bytes as stored, or none.
fn is_unopened(data: Vec<u8>, stored: &[u8], kind: ErrorKind, why: &str, intake: IntakeOptions) {
    let good = entry(&metadata(), b"good");
    for mode in MODES {
        let mut options = text_options(mode);
        options.intake = intake;
        let rows = decode_all(options.clone(), &[good.clone(), data.clone(), good.clone()]);
        if mode == BadRows::Fail {
            let error = rows.unwrap_err();
            assert_eq!((error.kind, error.at.map(|at| at.entry)), (kind, Some(1)), "{error}");
            assert!(error.message.contains(why), "{error}");
            continue;
        }
        let rows = rows.unwrap().remove(0);
        let good = || Some("good".to_owned());
        let expected = if mode == BadRows::Null { vec![good(), None, good()] } else { vec![good(), good()] };
        assert_eq!(strings(&rows, "value"), expected);
        if mode == BadRows::Null {
            assert_eq!(bad(&rows.slice(1, 1)).unwrap(), stored);
            let id = rows.column_by_name("__messageId").unwrap().as_struct();
            let place = id.column_by_name("batchIndex").unwrap().as_primitive::<Int32Type>();
            assert_eq!((place.value(1), id.column(1).as_primitive::<Int64Type>().value(1)), (-1, 1));
        }
        // The row lies where the first message of the entry would: a range behind it has none.
        let wanted = Selection::from(Range { start: Some((7, 1, 1)), end: None });
        options.range = wanted.range;
        let rest = decode_all(options, &[data.clone(), data.clone()]).unwrap();
        assert!(rest.is_empty() || rest[0].num_rows() == 0, "{mode:?}");
    }
}

#[test]
fn an_entry_that_cannot_be_opened_is_one_bad_row() {
    let any = IntakeOptions::default();
    is_unopened(packed(9, 4, None, b"abcd"), b"abcd", ErrorKind::Unsupported, "compression type 9", any);
    is_unopened(packed(9, 4, Some(2), b"abcd"), b"abcd", ErrorKind::Unsupported, "compression type 9", any);
    let text = b"some text, some text, some text, some text".repeat(3);
    for codec in CODECS {
        let stored = Compressor::new(codec).compress(&text).unwrap().to_vec();
        for size in [0, 1, text.len() - 1, text.len() + 1, 5000] {
            let data = packed(codec.number(), size as u64, None, &stored);
            is_unopened(data, &stored, ErrorKind::Payload, "cannot be decompressed", any);
        }
        let data = packed(codec.number(), 20, None, b"not compressed at all");
        is_unopened(data, b"not compressed at all", ErrorKind::Payload, "cannot be decompressed", any);
        // Where nothing proves the bytes, they may be damaged.
        let unproven = packed(codec.number(), 20, None, b"not compressed at all").split_off(6);
        let error = decode_all(text_options(BadRows::Null), &[unproven]).unwrap_err();
        assert_eq!(error.kind, ErrorKind::Corrupt, "{codec:?} {error}");
    }
}

#[test]
fn what_unpacks_to_too_much_is_not_unpacked() {
    let zeros = vec![0; 2 << 20];
    let limit = 1 << 20;
    let intake = IntakeOptions { max_uncompressed: Some(limit), ..IntakeOptions::default() };
    for codec in CODECS {
        let stored = Compressor::new(codec).compress(&zeros).unwrap().to_vec();
        for messages in [None, Some(1), Some(2_147_483_647)] {
            let data = packed(codec.number(), zeros.len() as u64, messages, &stored);
            let why = format!("at most {limit} bytes uncompressed");
            is_unopened(data, &stored, ErrorKind::TooLarge, &why, intake);
        }
        // What says less than it is gets no more room than it says.
        let data = packed(codec.number(), limit as u64, None, &stored);
        is_unopened(data, &stored, ErrorKind::Payload, "cannot be decompressed", intake);
        let data = packed(codec.number(), zeros.len() as u64, None, &stored);
        assert_eq!(decode_all(text_options(BadRows::Fail), &[data]).unwrap()[0].num_rows(), 1);
    }
}

#[test]
fn by_default_the_limit_is_in_proportion_to_what_brokers_take() {
    let limit = 80 << 20;
    let zeros = vec![0; limit + 1];
    let stored = Compressor::new(Codec::Zstd).compress(&zeros).unwrap().to_vec();
    let data = packed(3, zeros.len() as u64, None, &stored);
    let why =
        format!("at most {limit} bytes uncompressed, got {} bytes of Zstd that say they are", stored.len());
    is_unopened(data.clone(), &stored, ErrorKind::TooLarge, &why, IntakeOptions::default());
    let mut options = text_options(BadRows::Fail);
    options.intake.max_uncompressed = Some(zeros.len());
    assert_eq!(decode_all(options, &[data]).unwrap()[0].num_rows(), 1);
    // Brokers that take larger messages let larger entries in.
    let mut padded = stored.clone();
    padded.resize(6 << 20, 0);
    let error = decode_all(text_options(BadRows::Fail), &[packed(3, zeros.len() as u64, None, &padded)]);
    assert_eq!(error.unwrap_err().kind, ErrorKind::Payload, "it was unpacked");
}

/// A message of one chunk too few says how large its chunks are together.
fn chunk(id: u64, chunks: u64, total: u64, piece: &[u8], compressed: Option<u64>) -> Vec<u8> {
    let metadata = with(|out| {
        compressed.into_iter().for_each(|size| {
            put_number(out, 8, 1);
            put_number(out, 9, size);
        });
        put_bytes(out, 26, b"uuid");
        put_number(out, 27, chunks);
        put_number(out, 28, total);
        put_number(out, 29, id);
    });
    entry(&metadata, piece)
}

#[test]
fn a_chunked_message_is_bounded_by_its_chunks() {
    let zeros = vec![0; 2 << 20];
    let stored = Compressor::new(Codec::Lz4).compress(&zeros).unwrap().to_vec();
    let (first, second) = stored.split_at(stored.len() / 2);
    let (total, size) = (stored.len() as u64, Some(zeros.len() as u64));
    let data = [chunk(0, 2, total, first, size), chunk(1, 2, total, second, size)];
    let read = |mode, limit| {
        let mut options = text_options(mode);
        options.intake.max_uncompressed = Some(limit);
        decode_all(options, &data)
    };
    let error = read(BadRows::Fail, zeros.len() - 1).unwrap_err();
    assert_eq!((error.kind, error.at.unwrap().entry), (ErrorKind::TooLarge, 1), "{error}");
    let rows = read(BadRows::Null, zeros.len() - 1).unwrap().remove(0);
    assert_eq!((rows.num_rows(), bad(&rows).unwrap()), (1, second.to_vec()));
    assert_eq!(read(BadRows::Fail, zeros.len()).unwrap()[0].num_rows(), 1);
}

#[test]
fn chunks_that_contradict_each_other_are_bad_rows() {
    let lies = [
        chunk(1, 3, 4, b"cd", None),
        chunk(1, 2, 3, b"cd", None),
        chunk(2, 2, 4, b"cd", None),
        chunk(1, 2, 1 << 40, b"cd", None),
    ];
    for lie in lies {
        let data = [chunk(0, 2, 4, b"ab", None), lie, entry(&metadata(), b"good")];
        let error = decode_all(text_options(BadRows::Fail), &data).unwrap_err();
        assert_eq!((error.kind, error.at.unwrap().entry), (ErrorKind::Payload, 1), "{error}");
        let rows = decode_all(text_options(BadRows::Null), &data).unwrap().remove(0);
        assert_eq!(strings(&rows, "value"), [None, Some("good".to_owned())]);
        let rows = decode_all(text_options(BadRows::Drop), &data).unwrap().remove(0);
        assert_eq!(strings(&rows, "value"), [Some("good".to_owned())]);
    }
}
