//! Messages that a filter drops, by time. Their payload is not opened and causes no error, but checksums are verified.

use crate::common::*;
use crate::filtering::*;
use _kernel::decode::Decoder;
use _kernel::entry::{Entry, EntryBatch};
use _kernel::error::ErrorKind;
use _kernel::selection::row_filter::RowFilter;
use _kernel::selection::{Range, Selection};
use _kernel::wire::put_bytes;
use arrow_schema::{DataType, Field};

#[test]
fn the_start_time_is_inclusive_and_the_end_time_exclusive() {
    let data: Vec<_> = (9..13).map(|t| entry(&published(t), t.to_string().as_bytes())).collect();
    assert_eq!(values(time(10, 12), &data), ["10", "11"]);
    assert_eq!(values(time(i64::MIN, 0), &data), [""; 0]);
    assert_eq!(values(time(12, i64::MAX), &data), ["12"]);
    assert_eq!(values(time(12, 10), &data), [""; 0]);
}

#[test]
fn event_times_belong_to_messages_and_no_time_is_before_every_end() {
    let data = [
        entry(&happened(5), b"5"),
        // A batch's own event time is not reliable: it is the event time of the first message, or any other time.
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
fn a_message_with_an_event_time_outside_is_not_opened() {
    let data = [unreadable(happened(5)), entry(&happened(4), b"4"), unreadable(happened(6))];
    assert_eq!(values(event_before(5), &data), ["4"]);
    assert!(decode_all(filtered(event_from(5)), &data).is_err());
}

#[test]
fn entry_batches_have_the_range_of_publish_times() {
    let mut batch = EntryBatch::default();
    assert_eq!(batch.published(), None);
    for (number, time) in [7, 3, 5].into_iter().enumerate() {
        batch.push(Entry::new(1, number as i64, entry(&published(time), b"x")));
    }
    batch.push(Entry::new(1, 9, b"damaged".to_vec()));
    assert_eq!(batch.published(), Some((3, 7)));
}

#[test]
fn filtered_messages_are_not_opened() {
    let mut other = published(1);
    put_bytes(&mut other, 6, b"b");
    let data = [unreadable(published(5)), unreadable(other), keyed(1, "a", b"a")];
    let filter = RowFilter { published_before: Some(5), ..keys(&["a"]) };
    assert_eq!(values(filter, &data), ["a"]);
    assert!(decode_all(string_options(), &data).is_err());
}

#[test]
fn filtered_values_that_do_not_decode_are_no_error() {
    let mut options = options("int32", vec![Field::new("value", DataType::Int32, true)]);
    options.filter = keys(&["four"]);
    let data = [batch(1, &["no", "four", "number"]), keyed(1, "x", b"short")];
    assert_eq!(decode_all(options.clone(), &data).unwrap()[0].num_rows(), 1);
    options.filter = keys(&["four", "no"]);
    assert_eq!(decode_all(options, &data).unwrap_err().kind, ErrorKind::Payload);
}

#[test]
fn damage_is_an_error_even_in_filtered_messages() {
    let mut damaged = entry(&published(1), b"x");
    *damaged.last_mut().unwrap() ^= 1;
    let error = decode_all(filtered(time(5, 9)), &[damaged]).unwrap_err();
    assert_eq!(error.kind, ErrorKind::Corrupt);
}

#[test]
fn filtered_entries_need_no_schema_version() {
    let versioned_entry = |time, version: &[u8]| {
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
    let mut batch = entries(&[
        versioned_entry(1, b"version1"),
        versioned_entry(5, b"version5"),
        versioned_entry(9, b"version9"),
    ]);
    assert_eq!(decoder.unknown_versions(&mut batch).unwrap(), [b"version5".to_vec()]);
    decoder.refuse_version(b"version5", "it is gone");
    decoder.push(&mut batch);
    let error = drain(&mut decoder).unwrap_err();
    assert_eq!((error.kind, error.at.unwrap().entry), (ErrorKind::Schema, 1));
}

#[test]
fn the_next_range_has_its_own_filter() {
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
