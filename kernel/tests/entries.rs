//! Entry layout: metadata, checksum, codecs, batches, ranges.

use crate::common::*;
use _kernel::decode::Decoder;
use _kernel::entry::{Entry, EntryBatch};
use _kernel::error::{ErrorKind, MessageRef};
use _kernel::metadata::SingleMetadata;
use _kernel::origin::origins;
use _kernel::selection::{Range, Selection};
use _kernel::wire::{put_bytes, put_number};
use arrow_array::RecordBatch;
use arrow_array::cast::AsArray;
use arrow_array::types::{Int32Type, Int64Type, TimestampMicrosecondType};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::Value;

fn numbers(batch: &RecordBatch, column: &str) -> Vec<Option<i64>> {
    batch.column_by_name(column).unwrap().as_primitive::<Int64Type>().iter().collect()
}

fn times(batch: &RecordBatch, column: &str) -> Vec<Option<i64>> {
    batch.column_by_name(column).unwrap().as_primitive::<TimestampMicrosecondType>().iter().collect()
}

fn keys(batch: &RecordBatch, column: &str) -> Vec<Option<Vec<u8>>> {
    batch.column_by_name(column).unwrap().as_binary::<i32>().iter().map(|v| v.map(<[u8]>::to_vec)).collect()
}

fn indexes(batch: &RecordBatch) -> Vec<i32> {
    let ids = batch.column_by_name("__messageId").unwrap().as_struct();
    ids.column_by_name("batchIndex").unwrap().as_primitive::<Int32Type>().values().to_vec()
}

fn hex(text: &str) -> Vec<u8> {
    (0..text.len()).step_by(2).map(|i| u8::from_str_radix(&text[i..i + 2], 16).unwrap()).collect()
}

#[test]
fn missing_entry_ids_are_gaps() {
    let batch = |ids: &[(i64, i64)]| {
        let mut batch = EntryBatch::default();
        ids.iter().for_each(|&(ledger, entry)| batch.push(Entry::new(ledger, entry, vec![])));
        batch
    };
    assert_eq!(batch(&[]).gaps((1, 0)), []);
    assert_eq!(batch(&[(1, 0), (1, 1)]).gaps((1, 0)), []);
    assert_eq!(batch(&[(1, 5), (1, 6)]).gaps((-1, -1)), []);
    // Entries that arrive twice, and entries before the start, leave no gap.
    assert_eq!(batch(&[(1, 3), (1, 4), (1, 3), (1, 4), (1, 5)]).gaps((1, 4)), []);
    let found = batch(&[(1, 2), (1, 4), (2, 0), (2, 1), (4, 7)]).gaps((1, 0));
    assert_eq!(found, [((1, 0), (1, 2)), ((1, 3), (1, 4)), ((1, 5), (2, 0)), ((2, 2), (4, 7))]);
    assert_eq!(batch(&[(i64::MAX, i64::MAX)]).gaps((0, 0)), [((0, 0), (i64::MAX, i64::MAX))]);
}

/// Pulsar's Java classes wrote these entries with each codec, batched and not batched.
/// `tests/unit/codec/test_golden.py` compares every type.
#[test]
fn entries_that_java_wrote_decode() {
    let lines = include_str!("data/golden.jsonl").lines();
    let parsed = lines.map(|line| serde_json::from_str::<Value>(line).expect("JSON"));
    let golden: Vec<Value> = parsed.filter(|line| line["name"] == "STRING").collect();
    assert_eq!(golden.len(), 10);
    for line in golden {
        let bytes = hex(line["entry"].as_str().unwrap());
        let batch =
            &decode_all(string_options(), &[bytes]).unwrap_or_else(|e| panic!("{}: {e}", line["codec"]))[0];
        let rows = line["rows"].as_array().unwrap();
        let values = rows.iter().map(|row| row["value"]["value"].as_str().map(str::to_owned));
        assert_eq!(strings(batch, "value"), values.collect::<Vec<_>>(), "{}", line["codec"]);
        let about = |name: &'static str| rows.iter().map(move |row| &row["metadata"][name]);
        for name in ["__sequenceId", "__schemaVersion"] {
            assert_eq!(numbers(batch, name), about(name).map(Value::as_i64).collect::<Vec<_>>(), "{name}");
        }
        for name in ["__key", "__orderingKey"] {
            let expected = about(name).map(|v| v.as_str().map(|text| STANDARD.decode(text).unwrap()));
            assert_eq!(keys(batch, name), expected.collect::<Vec<_>>(), "{name}");
        }
        assert_eq!(strings(batch, "__producerName")[0].as_deref(), Some("java-producer"));
        assert_eq!(times(batch, "__publishTime")[0], Some(1_700_000_000_123_000));
        let batched = line["batched"] == true;
        assert_eq!(indexes(batch), if batched { (0..rows.len() as i32).collect() } else { vec![-1] });
        let properties = batch.column_by_name("__messageProperties").unwrap().as_map();
        assert_eq!(properties.keys().as_string::<i32>().value(0), "p");
    }
}

#[test]
fn entries_may_have_broker_metadata_or_no_checksum() {
    let plain = batched_entry(2);
    let mut with_broker = vec![0x0e, 0x02, 0, 0, 0, 2, 8, 1];
    with_broker.extend_from_slice(&plain);
    let without_checksum = plain[6..].to_vec();
    let batch = &decode_all(string_options(), &[with_broker, without_checksum]).unwrap()[0];
    let expected: Vec<_> = ["m0", "m1", "m0", "m1"].map(|v| Some(v.to_owned())).into();
    assert_eq!(strings(batch, "value"), expected);
}

#[test]
fn checksum_mismatch_names_the_entry() {
    let mut bytes = batched_entry(2);
    *bytes.last_mut().unwrap() ^= 1;
    let error = decode_all(string_options(), &[batched_entry(1), bytes.clone()]).unwrap_err();
    assert_eq!(error.kind, ErrorKind::Corrupt);
    assert_eq!(error.at, Some(MessageRef { ledger: 7, entry: 1, batch_index: -1 }));
    assert_eq!(
        entries(&[bytes]).schema_versions(&Selection::default()).unwrap_err().kind,
        ErrorKind::Corrupt
    );
}

#[test]
fn markers_and_compacted_messages_return_no_row() {
    let mut marker = metadata();
    put_number(&mut marker, 20, 21);
    let mut md = metadata();
    put_number(&mut md, 11, 2);
    let mut payload = Vec::new();
    let mut single = SingleMetadata { payload_size: 1, ..SingleMetadata::default() };
    let mut gone = Vec::new();
    single.write(&mut gone);
    put_number(&mut gone, 4, 1);
    payload.extend_from_slice(&(gone.len() as u32).to_be_bytes());
    payload.extend_from_slice(&gone);
    payload.push(b'x');
    single.sequence_id = Some(99);
    put_message(&mut payload, &single, b"y");
    let data = [entry(&marker, b"whatever"), entry(&md, &payload)];
    let batch = &decode_all(string_options(), &data).unwrap()[0];
    assert_eq!(strings(batch, "value"), [Some("y".to_owned())]);
    assert_eq!(indexes(batch), [1]);
    assert_eq!(numbers(batch, "__sequenceId"), [Some(99)]);
}

#[test]
fn null_and_empty_messages_outside_a_batch_differ() {
    let mut null = metadata();
    put_number(&mut null, 25, 1);
    let mut empty_lz4 = metadata();
    put_number(&mut empty_lz4, 8, 1);
    put_number(&mut empty_lz4, 9, 0);
    let batch = &decode_all(string_options(), &[entry(&null, b""), entry(&empty_lz4, b"\0")]).unwrap()[0];
    assert_eq!(strings(batch, "value"), [None, Some(String::new())]);
    assert_eq!(keys(batch, "__key"), [None, None]);
    assert_eq!(times(batch, "__eventTime"), [None, None]);
    assert_eq!(numbers(batch, "__schemaVersion"), [None, None]);
}

#[test]
fn bytes_after_a_batch_are_corrupt() {
    let mut md = metadata();
    put_number(&mut md, 11, 1);
    let error = decode_all(string_options(), &[entry(&md, &batch_payload(2))]).unwrap_err();
    assert_eq!(error.kind, ErrorKind::Corrupt);
    let mut md = metadata();
    put_number(&mut md, 11, 3);
    let error = decode_all(string_options(), &[entry(&md, &batch_payload(2))]).unwrap_err();
    assert_eq!(error.at.unwrap().batch_index, 2);
}

#[test]
fn ranges_include_their_start_and_exclude_their_end() {
    let data = [batched_entry(3), entry(&metadata(), b"single"), batched_entry(3)];
    let all: Vec<(i64, i64, i32)> =
        vec![(7, 0, 0), (7, 0, 1), (7, 0, 2), (7, 1, 0), (7, 2, 0), (7, 2, 1), (7, 2, 2)];
    let bounds: Vec<_> = all.iter().copied().chain([(6, 9, 9), (7, 0, 9), (7, 1, 5), (8, 0, 0)]).collect();
    for start in bounds.iter().copied().map(Some).chain([None]) {
        for end in bounds.iter().copied().map(Some).chain([None]) {
            let expected =
                all.iter().filter(|p| start.is_none_or(|s| **p >= s) && end.is_none_or(|e| **p < e)).count();
            let mut options = string_options();
            options.range = Range { start, end };
            let rows: usize = decode_all(options, &data).unwrap().iter().map(RecordBatch::num_rows).sum();
            assert_eq!(rows, expected, "{start:?} to {end:?}");
        }
    }
}

#[test]
fn entries_outside_the_range_are_not_verified() {
    let mut broken = batched_entry(3);
    *broken.last_mut().unwrap() ^= 1;
    let mut options = string_options();
    options.range = Range { start: Some((7, 1, 0)), end: Some((7, 2, 0)) };
    let batches = decode_all(options, &[broken.clone(), batched_entry(2), broken]).unwrap();
    assert_eq!(batches[0].num_rows(), 2);
}

#[test]
fn an_entry_can_span_record_batches() {
    for batch_rows in 1..=7 {
        let mut options = string_options();
        options.batch_rows = batch_rows;
        let mut decoder = Decoder::new(options).unwrap();
        decoder.push(&mut entries(&[batched_entry(5), batched_entry(1)]));
        let mut sizes = Vec::new();
        while let Some(batch) = decoder.next_batch(false).unwrap() {
            assert_eq!(batch.num_rows(), batch_rows);
            sizes.push(batch.num_rows());
        }
        decoder.push(&mut entries(&[batched_entry(2)]));
        sizes.extend(drain(&mut decoder).unwrap().iter().map(RecordBatch::num_rows));
        assert_eq!(sizes.iter().sum::<usize>(), 8, "{batch_rows}");
        assert!(sizes.iter().rev().skip(1).all(|n| *n == batch_rows));
    }
}

#[test]
fn an_error_is_repeated() {
    let mut decoder = Decoder::new(string_options()).unwrap();
    decoder.push(&mut entries(&[b"\x0e\x01".to_vec()]));
    let first = decoder.next_batch(true).unwrap_err();
    assert_eq!(decoder.next_batch(true).unwrap_err(), first);
}

/// Return `entry` with `BrokerEntryMetadata` in front of it.
fn from_broker(fields: &[(u32, u64)], entry: &[u8]) -> Vec<u8> {
    let mut metadata = Vec::new();
    fields.iter().for_each(|&(field, value)| put_number(&mut metadata, field, value));
    let mut out = vec![0x0e, 0x02];
    out.extend_from_slice(&(metadata.len() as u32).to_be_bytes());
    out.extend_from_slice(&metadata);
    out.extend_from_slice(entry);
    out
}

#[test]
fn a_message_has_the_index_and_time_that_the_broker_assigned() {
    let mut replicated = metadata();
    put_bytes(&mut replicated, 5, b"east");
    let data = [
        batched_entry(2),
        from_broker(&[(1, 1_700_000_000_001), (2, 40)], &batched_entry(3)),
        from_broker(&[(2, 41)], &entry(&replicated, b"alone")),
        from_broker(&[(1, 5)], &batched_entry(1)),
        from_broker(&[(2, 0)], &batched_entry(2)),
    ];
    let batches = decode_all(string_options(), &data).unwrap();
    let batch = &batches[0];
    let (none, at) = (None, Some(1_700_000_000_001_000));
    // The last entry has two messages and the index 0. Its first message has no index, because an index
    // cannot be below 0.
    let indexes = [none, none, Some(38), Some(39), Some(40), Some(41), none, none, Some(0)];
    assert_eq!(numbers(batch, "__index"), indexes);
    let published = [none, none, at, at, at, none, Some(5_000), none, none];
    assert_eq!(times(batch, "__brokerPublishTime"), published);
    let mut from = vec![None; 9];
    from[5] = Some("east".to_owned());
    assert_eq!(strings(batch, "__replicatedFrom"), from);
}

#[test]
fn an_entry_contains_the_position_of_its_source() {
    let with_source = |positions: &[&str], cluster: Option<&[u8]>| {
        let mut metadata = metadata();
        for position in positions {
            let mut property = Vec::new();
            put_bytes(&mut property, 1, b"__MSG_PROP_REPL_SOURCE_POSITION");
            put_bytes(&mut property, 2, position.as_bytes());
            put_bytes(&mut metadata, 4, &property);
        }
        cluster.iter().for_each(|name| put_bytes(&mut metadata, 5, name));
        entry(&metadata, b"alone")
    };
    let east = Some(&b"east"[..]);
    let data = [
        with_source(&["7:12"], east),
        // A message without the source cluster was read from another cluster, and then written to this
        // cluster.
        with_source(&["7:12"], None),
        with_source(&["7:12", "9:0"], east),
        with_source(&["7"], east),
        with_source(&[], east),
        b"\x0e\x01".to_vec(),
    ];
    let found_origins: Vec<_> = origins(&entries(&data)).into_iter().map(|o| (o.cluster, o.source)).collect();
    let east = || Some("east".to_owned());
    let expected =
        [(east(), Some((7, 12))), (None, None), (east(), Some((9, 0))), (east(), None), (east(), None)];
    assert_eq!(found_origins[..5], expected);
    assert_eq!(found_origins[5], (None, None));
    let at: Vec<_> = origins(&entries(&data)).into_iter().map(|o| (o.at, o.published.is_some())).collect();
    assert!(at[..5].iter().all(|(_, is_known)| *is_known) && !at[5].1);
}

#[test]
fn damaged_broker_metadata_is_corrupt() {
    let broken = from_broker(&[], &batched_entry(1));
    let mut wrong = vec![0x0e, 0x02, 0, 0, 0, 2, 0x08, 0x80];
    wrong.extend_from_slice(&batched_entry(1));
    assert!(decode_all(string_options(), &[broken]).is_ok());
    assert_eq!(decode_all(string_options(), &[wrong]).unwrap_err().kind, ErrorKind::Corrupt);
}
