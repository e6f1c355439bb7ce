//! The digest of rows. Order, partitions and batching of the rows do not change the digest, but any other row
//! changes the digest.

use std::sync::Arc;

use crate::common::*;
use _kernel::encode::{Batching, Encoder, EncoderOptions, Producing};
use arrow_array::builder::{MapBuilder, StringBuilder};
use arrow_array::{BooleanArray, Int32Array, RecordBatch, StringArray, TimestampMillisecondArray};
use arrow_schema::SchemaRef;

const TOPIC: &str = "persistent://public/default/orders";

/// A message of a topic of strings.
#[derive(Clone, Debug)]
struct Row {
    value: Option<String>,
    key: Option<&'static str>,
    ordering_key: Option<&'static str>,
    time: Option<i64>,
    properties: Vec<(&'static str, &'static str)>,
    tombstone: bool,
    partition: i32,
}

fn row(value: &str) -> Row {
    Row {
        value: Some(value.to_owned()),
        key: Some("k"),
        ordering_key: Some("o"),
        time: Some(5),
        properties: vec![("a", "b")],
        tombstone: false,
        partition: 0,
    }
}

fn batch(rows: &[Row]) -> RecordBatch {
    let mut properties = MapBuilder::new(None, StringBuilder::new(), StringBuilder::new());
    for row in rows {
        for (name, text) in &row.properties {
            properties.keys().append_value(name);
            properties.values().append_value(text);
        }
        properties.append(true).unwrap();
    }
    let texts = |of: fn(&Row) -> Option<&str>| Arc::new(rows.iter().map(of).collect::<StringArray>()) as _;
    let times = rows.iter().map(|row| row.time).collect::<TimestampMillisecondArray>();
    RecordBatch::try_from_iter_with_nullable(vec![
        ("value", texts(|row| row.value.as_deref()), true),
        ("__key", texts(|row| row.key), true),
        ("__orderingKey", texts(|row| row.ordering_key), true),
        ("__eventTime", Arc::new(times) as _, true),
        ("__messageProperties", Arc::new(properties.finish()) as _, true),
        (
            "__tombstone",
            Arc::new(rows.iter().map(|row| Some(row.tombstone)).collect::<BooleanArray>()) as _,
            true,
        ),
        (
            "__partition",
            Arc::new(rows.iter().map(|row| Some(row.partition)).collect::<Int32Array>()) as _,
            true,
        ),
    ])
    .unwrap()
}

fn digesting_encoder(
    schema: SchemaRef,
    topic: &str,
    options: impl Fn(EncoderOptions) -> EncoderOptions,
) -> Encoder {
    let mut encoder = encoder(&options(encoder_options(schema, "string")));
    encoder.start_digest(topic);
    encoder
}

fn digest_of(rows: &[Row], topic: &str) -> (u64, u64) {
    let batch = batch(rows);
    let mut encoder = digesting_encoder(batch.schema(), topic, |options| options);
    encoder.digest(&batch).unwrap();
    digest_parts(&encoder)
}

fn digest_parts(encoder: &Encoder) -> (u64, u64) {
    encoder.row_digest().map(|digest| (digest.rows, digest.sum)).unwrap()
}

#[test]
fn the_digest_does_not_depend_on_order_and_batching() {
    let mut rows: Vec<Row> = (0..500).map(|number| row(&number.to_string())).collect();
    let plain = digest_of(&rows, TOPIC);
    assert_eq!(plain.0, 500);
    rows.reverse();
    rows.iter_mut().enumerate().for_each(|(number, row)| row.partition = number as i32 % 3);
    let schema = batch(&rows).schema();
    let mut encoder = digesting_encoder(schema, TOPIC, |options| EncoderOptions {
        partitions: 3,
        compression: "LZ4".to_owned(),
        batching_max_messages: 7,
        ..options
    });
    encoder.set_producing(Producing { batching: Batching::ByKey, ..Producing::default() });
    encoder.set_data_key(&[7; 32], &[("pair".to_owned(), vec![1])]).unwrap();
    for part in rows.chunks(90) {
        encoder.encode(&batch(part), 1).unwrap();
    }
    assert_eq!(digest_parts(&encoder), plain);
}

#[test]
fn digests_of_parts_add_up() {
    let rows: Vec<Row> = (0..100).map(|number| row(&number.to_string())).collect();
    let (one, other) = (digest_of(&rows[..30], TOPIC), digest_of(&rows[30..], TOPIC));
    let whole = digest_of(&rows, TOPIC);
    assert_eq!((one.0 + other.0, one.1.wrapping_add(other.1)), whole);
}

#[test]
fn every_difference_in_a_row_changes_the_digest() {
    let plain = row("value");
    let others = [
        row("valuf"),
        Row { value: Some(String::new()), ..plain.clone() },
        Row { value: None, ..plain.clone() },
        Row { tombstone: true, value: Some(String::new()), ..plain.clone() },
        Row { key: None, ..plain.clone() },
        Row { key: Some(""), ..plain.clone() },
        Row { key: Some("o"), ordering_key: Some("k"), ..plain.clone() },
        Row { ordering_key: None, ..plain.clone() },
        Row { key: None, ordering_key: Some("k"), ..plain.clone() },
        Row { time: Some(6), ..plain.clone() },
        Row { time: None, ..plain.clone() },
        Row { properties: vec![], ..plain.clone() },
        Row { properties: vec![("ab", "")], ..plain.clone() },
        Row { properties: vec![("a", "b"), ("c", "d")], ..plain.clone() },
    ];
    let mut sums: Vec<u64> =
        others.iter().map(|other| digest_of(std::slice::from_ref(other), TOPIC).1).collect();
    sums.push(digest_of(std::slice::from_ref(&plain), TOPIC).1);
    sums.push(digest_of(&[plain], "persistent://public/default/others").1);
    let mut apart = sums.clone();
    apart.sort_unstable();
    apart.dedup();
    // A null value and a tombstone are the same message, so their digests are equal.
    assert_eq!(apart.len(), sums.len() - 1, "{sums:x?}");
}

#[test]
fn a_failed_batch_is_not_in_the_digest() {
    let rows = [row("1"), Row { time: Some(-1), ..row("2") }];
    let batch = batch(&rows);
    let mut encoder = digesting_encoder(batch.schema(), TOPIC, |options| options);
    encoder.encode(&batch, 1).unwrap_err();
    encoder.digest(&batch).unwrap_err();
    assert_eq!(digest_parts(&encoder), (0, 0));
}

/// Journals contain digests, so the digest of a row must not change between versions.
#[test]
fn the_digest_of_a_row_is_stable() {
    assert_eq!(digest_of(&[row("value")], TOPIC), (1, 7_291_767_893_804_852_947));
}
