//! Messages that a filter does not want: dropped unopened, never an error; and what must be opened all the same.

mod common;

use std::collections::HashSet;

use _kernel::decode::{Decoder, DecoderOptions, IntakeOptions};
use _kernel::encryption::OnFailure;
use _kernel::entry::{Entry, EntryBatch};
use _kernel::error::ErrorKind;
use _kernel::metadata::SingleMetadata;
use _kernel::selection::key_slot::slot_of_key;
use _kernel::selection::row_filter::RowFilter;
use _kernel::selection::{Range, Selection};
use _kernel::wire::{put_bytes, put_number};
use arrow_schema::{DataType, Field};
use common::*;

fn published(time: u64) -> Vec<u8> {
    let mut md = Vec::new();
    put_bytes(&mut md, 1, b"producer");
    put_number(&mut md, 2, 41);
    put_number(&mut md, 3, time);
    md
}

fn keyed(time: u64, key: &str, payload: &[u8]) -> Vec<u8> {
    let mut md = published(time);
    put_bytes(&mut md, 6, key.as_bytes());
    entry(&md, payload)
}

/// A batched entry with a message for each key, which is its value as well; "" stands for no key.
fn batch(time: u64, keys: &[&str]) -> Vec<u8> {
    let mut md = published(time);
    put_number(&mut md, 11, keys.len() as u64);
    let mut payload = Vec::new();
    for key in keys {
        let single = SingleMetadata {
            payload_size: key.len() as u32,
            partition_key: (!key.is_empty()).then_some(key.as_bytes()),
            ..SingleMetadata::default()
        };
        put_message(&mut payload, &single, key.as_bytes());
    }
    entry(&md, &payload)
}

fn keys(wanted: &[&str]) -> RowFilter {
    let keys: HashSet<Vec<u8>> = wanted.iter().map(|key| key.as_bytes().to_vec()).collect();
    RowFilter { keys: Some(keys), ..RowFilter::default() }
}

fn time(from: i64, before: i64) -> RowFilter {
    RowFilter { published_from: Some(from), published_before: Some(before), ..RowFilter::default() }
}

fn event_before(time: i64) -> RowFilter {
    RowFilter { event_before: Some(time), ..RowFilter::default() }
}

fn event_from(time: i64) -> RowFilter {
    RowFilter { event_from: Some(time), ..RowFilter::default() }
}

/// Metadata with an event time; 0 is none.
fn happened(time: i64) -> Vec<u8> {
    let mut md = published(1);
    if time != 0 {
        put_number(&mut md, 12, time as u64);
    }
    md
}

/// A batched entry whose messages have these event times, which are their values as well.
fn happened_batch(first: i64, times: &[i64]) -> Vec<u8> {
    let mut md = happened(first);
    put_number(&mut md, 11, times.len() as u64);
    let mut payload = Vec::new();
    for time in times {
        let value = time.to_string();
        let single = SingleMetadata {
            payload_size: value.len() as u32,
            event_time: *time as u64,
            ..SingleMetadata::default()
        };
        put_message(&mut payload, &single, value.as_bytes());
    }
    entry(&md, &payload)
}

fn filtered(filter: RowFilter) -> DecoderOptions {
    DecoderOptions { filter, ..string_options() }
}

fn values(filter: RowFilter, data: &[Vec<u8>]) -> Vec<String> {
    let batches = decode_all(filtered(filter), data).unwrap();
    batches.iter().flat_map(|batch| strings(batch, "value")).flatten().collect()
}

/// An entry that says it is compressed by a codec that there is not.
fn unreadable(mut md: Vec<u8>) -> Vec<u8> {
    put_number(&mut md, 8, 99);
    put_number(&mut md, 9, 5);
    entry(&md, b"x")
}

#[test]
fn the_time_is_inclusive_and_exclusive() {
    let data: Vec<_> = (9..13).map(|t| entry(&published(t), t.to_string().as_bytes())).collect();
    assert_eq!(values(time(10, 12), &data), ["10", "11"]);
    assert_eq!(values(time(i64::MIN, 0), &data), [""; 0]);
    assert_eq!(values(time(12, i64::MAX), &data), ["12"]);
    assert_eq!(values(time(12, 10), &data), [""; 0]);
}

#[test]
fn event_times_are_those_of_messages_and_none_is_before_every_end() {
    let data = [
        entry(&happened(5), b"5"),
        // The metadata of a batch has the event time of its first message, or anything.
        happened_batch(9, &[4, 5, 0, 6]),
        entry(&happened(0), b"none"),
        entry(&happened(8), b"8"),
    ];
    assert_eq!(values(event_before(5), &data), ["4", "0", "none"]);
    assert_eq!(values(event_from(5), &data), ["5", "5", "6", "8"]);
    assert_eq!(values(event_from(-5), &data), ["5", "4", "5", "6", "8"]);
    assert_eq!(values(event_before(0), &data), ["0", "none"]);
    let both = RowFilter { event_from: Some(5), ..event_before(6) };
    assert_eq!(values(both, &data), ["5", "5"]);
    // Event times before 1970 are negative.
    let early = (-3_i64) as u64;
    assert!(event_before(0).wants_event(early) && event_from(-3).wants_event(early));
    assert!(!event_before(-3).wants_event(early) && !event_from(-2).wants_event(early));
}

#[test]
fn an_event_time_outside_leaves_a_message_unopened() {
    let data = [unreadable(happened(5)), entry(&happened(4), b"4"), unreadable(happened(6))];
    assert_eq!(values(event_before(5), &data), ["4"]);
    assert!(decode_all(filtered(event_from(5)), &data).is_err());
}

#[test]
fn entries_tell_when_they_were_published() {
    let mut batch = EntryBatch::default();
    assert_eq!(batch.published(), None);
    for (number, time) in [7, 3, 5].into_iter().enumerate() {
        batch.push(Entry::new(1, number as i64, entry(&published(time), b"x")));
    }
    batch.push(Entry::new(1, 9, b"damaged".to_vec()));
    assert_eq!(batch.published(), Some((3, 7)));
}

#[test]
fn keys_are_those_of_messages_not_of_their_batch() {
    let mut md = published(1);
    put_bytes(&mut md, 6, b"a");
    put_number(&mut md, 11, 2);
    let data = [
        batch(1, &["a", "b", "", "a"]),
        keyed(1, "b", b"B"),
        entry(&published(1), b"keyless"),
        keyed(1, "c", b"C"),
        entry(&md, &batch_payload(2)),
    ];
    assert_eq!(values(keys(&["a", "c"]), &data), ["a", "a", "C"]);
    assert_eq!(values(keys(&[]), &data), [""; 0]);
}

#[test]
fn keys_in_base64_are_compared_by_their_bytes() {
    let mut md = published(1);
    put_bytes(&mut md, 6, b"AP8=");
    put_number(&mut md, 17, 1);
    let data = [entry(&md, b"binary"), keyed(1, "AP8=", b"text")];
    let binary = HashSet::from([vec![0, 255]]);
    assert_eq!(values(RowFilter { keys: Some(binary), ..RowFilter::default() }, &data), ["binary"]);
    assert_eq!(values(keys(&["AP8="]), &data), ["text"]);
}

#[test]
fn a_key_that_is_not_base64_is_compared_by_its_text() {
    let mut md = published(1);
    put_bytes(&mut md, 6, b"no base64");
    put_number(&mut md, 17, 1);
    let data = [keyed(1, "a", b"a"), entry(&md, b"x")];
    assert_eq!(values(keys(&["a"]), &data), ["a"]);
    assert_eq!(values(keys(&["no base64"]), &data), ["x"]);
}

#[test]
fn what_is_filtered_is_not_opened() {
    let mut other = published(1);
    put_bytes(&mut other, 6, b"b");
    let data = [unreadable(published(5)), unreadable(other), keyed(1, "a", b"a")];
    let filter = RowFilter { published_before: Some(5), ..keys(&["a"]) };
    assert_eq!(values(filter, &data), ["a"]);
    assert!(decode_all(string_options(), &data).is_err());
}

#[test]
fn values_that_do_not_decode_are_no_fault_when_filtered() {
    let mut options = options("int32", vec![Field::new("value", DataType::Int32, true)]);
    options.filter = keys(&["four"]);
    let data = [batch(1, &["no", "four", "number"]), keyed(1, "x", b"short")];
    assert_eq!(decode_all(options.clone(), &data).unwrap()[0].num_rows(), 1);
    options.filter = keys(&["four", "no"]);
    assert_eq!(decode_all(options, &data).unwrap_err().kind, ErrorKind::Payload);
}

#[test]
fn damage_is_an_error_even_where_it_would_be_filtered() {
    let mut damaged = entry(&published(1), b"x");
    *damaged.last_mut().unwrap() ^= 1;
    let error = decode_all(filtered(time(5, 9)), &[damaged]).unwrap_err();
    assert_eq!(error.kind, ErrorKind::Corrupt);
}

#[test]
fn filtered_entries_ask_for_no_schema_version() {
    let of = |time, version: &[u8]| {
        let mut md = published(time);
        put_bytes(&mut md, 16, version);
        entry(&md, b"\x02")
    };
    let definition = r#"{"type":"record","name":"R","fields":[{"name":"f","type":"int"}]}"#;
    let mut options = options("avro", vec![Field::new("f", DataType::Int32, true)]);
    options.value = avro(definition);
    options.value.value_schema =
        Some(std::sync::Arc::new(arrow_schema::Schema::new(vec![Field::new("f", DataType::Int32, true)])));
    options.filter = time(5, 9);
    let mut decoder = Decoder::new(options).unwrap();
    let mut batch = entries(&[of(1, b"version1"), of(5, b"version5"), of(9, b"version9")]);
    assert_eq!(decoder.unknown_versions(&mut batch).unwrap(), [b"version5".to_vec()]);
    decoder.refuse_version(b"version5", "it is gone");
    decoder.push(&mut batch);
    let error = drain(&mut decoder).unwrap_err();
    assert_eq!((error.kind, error.at.unwrap().entry), (ErrorKind::Schema, 1));
}

/// Chunk `id` of `of` of message "u", published at `time`.
fn chunk(time: u64, id: u64, of: u64) -> Vec<u8> {
    let mut md = published(time);
    put_bytes(&mut md, 26, b"u");
    put_number(&mut md, 27, of);
    put_number(&mut md, 28, of);
    put_number(&mut md, 29, id);
    entry(&md, id.to_string().as_bytes())
}

/// Rows of `topic`, looking back in it for chunks; and how often that was needed.
fn chunked(filter: RowFilter, topic: &[Vec<u8>]) -> (Vec<String>, usize) {
    let mut decoder = Decoder::new(filtered(filter)).unwrap();
    decoder.push(&mut entries(topic));
    let (mut rows, mut looks) = (Vec::new(), 0);
    loop {
        rows.extend(drain(&mut decoder).unwrap().iter().flat_map(|b| strings(b, "value")).flatten());
        if decoder.missing_chunks().is_none() {
            return (rows, looks);
        }
        looks += 1;
        decoder.look_back(&mut entries(topic), true).unwrap();
        decoder.end_look_back();
    }
}

#[test]
fn a_chunked_message_is_taken_by_its_last_chunk() {
    let inside = [chunk(1, 0, 3), chunk(5, 1, 3), chunk(5, 2, 3)];
    assert_eq!(chunked(time(5, 9), &inside), (vec!["012".to_owned()], 1));
    let gap = [chunk(5, 0, 3), chunk(1, 1, 3), chunk(5, 2, 3)];
    assert_eq!(chunked(time(5, 9), &gap), (vec!["012".to_owned()], 1));
    let outside = [chunk(5, 0, 3), chunk(5, 1, 3), chunk(1, 2, 3)];
    assert_eq!(chunked(time(5, 9), &outside), (vec![], 0));
    let all = [chunk(5, 0, 2), chunk(5, 1, 2)];
    assert_eq!(chunked(time(5, 9), &all), (vec!["01".to_owned()], 0));
}

#[test]
fn a_chunk_that_fails_is_no_fault_of_a_message_that_is_not_wanted() {
    let bad = |id, last| {
        let mut md = published(5);
        put_bytes(&mut md, 26, b"u");
        put_number(&mut md, 27, 3);
        put_number(&mut md, 28, 1);
        put_number(&mut md, 29, id);
        vec![entry(&md, b"too long"), chunk(last, 2, 3)]
    };
    assert_eq!(chunked(time(5, 9), &bad(0, 1)), (vec![], 0));
    let mut decoder = Decoder::new(filtered(time(5, 9))).unwrap();
    let topic = bad(0, 5);
    decoder.push(&mut entries(&topic));
    assert!(drain(&mut decoder).unwrap().is_empty());
    assert!(decoder.look_back(&mut entries(&topic), true).unwrap());
    decoder.end_look_back();
    assert_eq!(drain(&mut decoder).unwrap_err().kind, ErrorKind::Payload, "the last chunk is wanted");
}

fn encrypted(mut md: Vec<u8>, batched: bool) -> Vec<u8> {
    let mut wrapped = Vec::new();
    put_bytes(&mut wrapped, 1, b"name");
    put_bytes(&mut wrapped, 2, b"wrapped");
    put_bytes(&mut md, 13, &wrapped);
    put_bytes(&mut md, 15, &[0; 12]);
    if batched {
        put_number(&mut md, 11, 2);
    }
    entry(&md, b"undecryptable")
}

#[test]
fn entries_that_stay_encrypted_are_taken_by_what_their_row_shows() {
    let with_key = |key: &[u8], batched| {
        let mut md = published(5);
        put_bytes(&mut md, 6, key);
        encrypted(md, batched)
    };
    let topic = [
        encrypted(published(1), true),
        with_key(b"a", true),
        with_key(b"b", true),
        with_key(b"a", false),
        with_key(b"b", false),
    ];
    let read = |action, filter: RowFilter| {
        let mut options = options("bytes", vec![Field::new("value", DataType::Binary, true)]);
        options.intake = IntakeOptions { on_crypto_failure: action, ..IntakeOptions::default() };
        options.filter = filter;
        let mut decoder = Decoder::new(options).unwrap();
        decoder.push(&mut entries(&topic));
        let mut rows = 0;
        loop {
            rows += drain(&mut decoder)?.iter().map(|batch| batch.num_rows()).sum::<usize>();
            let Some(key) = decoder.needed_data_keys().first().cloned() else { break };
            decoder.refuse_data_key(&key.wrapped, "no private key");
        }
        Ok::<_, _kernel::KernelError>((rows, decoder.discarded()))
    };
    let wanted = || RowFilter { published_from: Some(2), ..keys(&["a"]) };
    assert_eq!(read(OnFailure::Consume, wanted()).unwrap(), (2, 0));
    // Nobody knows the keys inside the batches.
    assert_eq!(read(OnFailure::Discard, wanted()).unwrap(), (0, 3));
    assert_eq!(read(OnFailure::Fail, wanted()).unwrap_err().kind, ErrorKind::Encrypted);
    assert_eq!(read(OnFailure::Fail, time(6, 9)).unwrap(), (0, 0));
}

#[test]
fn the_next_range_brings_its_own_filter() {
    let mut decoder = Decoder::new(filtered(keys(&["a"]))).unwrap();
    let topic = [keyed(1, "a", b"A"), keyed(2, "b", b"B")];
    let read = |decoder: &mut Decoder| {
        decoder.push(&mut entries(&topic));
        drain(decoder).unwrap().iter().flat_map(|b| strings(b, "value")).flatten().collect::<Vec<_>>()
    };
    assert_eq!(read(&mut decoder), ["A"]);
    decoder.rewind(3, Selection { range: Range::default(), filter: time(2, 3) }).unwrap();
    assert_eq!(read(&mut decoder), ["B"]);
    decoder.rewind(3, Range::default()).unwrap();
    assert_eq!(read(&mut decoder), ["A", "B"]);
}

#[test]
fn slots_are_those_of_the_ordering_key_the_key_or_the_entry() {
    let mut ordered = published(1);
    put_bytes(&mut ordered, 6, b"a");
    put_bytes(&mut ordered, 18, b"c");
    let data = [
        keyed(1, "a", b"A"),
        entry(&ordered, b"C"),
        entry(&published(1), b"keyless"),
        batch(1, &["a", "", "c", "b"]),
    ];
    let only = |key: &[u8]| {
        let slot = slot_of_key(key);
        values(RowFilter { slots: Some((slot, slot + 1)), ..RowFilter::default() }, &data)
    };
    assert_eq!(only(b"a"), ["A", "a"]);
    assert_eq!(only(b"c"), ["C", "c"]);
    assert_eq!(only(b"b"), ["b"]);
    assert_eq!(only(b"producer-41"), ["keyless", ""]);
    let both = RowFilter { slots: Some((slot_of_key(b"a"), slot_of_key(b"a") + 1)), ..keys(&["a"]) };
    assert_eq!(values(both, &data), ["A", "a"]);
}

#[test]
fn an_entry_of_another_slot_is_not_opened_but_a_batch_is() {
    let slot = slot_of_key(b"a");
    let wanted = || RowFilter { slots: Some((slot, slot + 1)), ..RowFilter::default() };
    let mut other = published(1);
    put_bytes(&mut other, 6, b"b");
    assert_eq!(values(wanted(), &[unreadable(other.clone()), keyed(1, "a", b"A")]), ["A"]);
    // A batch carries the key of its first message, whatever the keys of the others.
    put_number(&mut other, 11, 2);
    let mut payload = Vec::new();
    for key in ["b", "a"] {
        let single = SingleMetadata {
            payload_size: 1,
            partition_key: Some(key.as_bytes()),
            ..SingleMetadata::default()
        };
        put_message(&mut payload, &single, key.as_bytes());
    }
    assert_eq!(values(wanted(), &[entry(&other, &payload)]), ["a"]);
}
