//! Filters for entries that contain a part of a message, or that stay encrypted.

use crate::common::*;
use crate::filtering::*;
use _kernel::decode::{Decoder, IntakeOptions};
use _kernel::encryption::OnFailure;
use _kernel::error::ErrorKind;
use _kernel::selection::row_filter::RowFilter;
use _kernel::wire::{put_bytes, put_number};
use arrow_schema::{DataType, Field};

fn chunk(time: u64, id: u64, of: u64) -> Vec<u8> {
    let mut md = published(time);
    put_bytes(&mut md, 26, b"u");
    put_number(&mut md, 27, of);
    put_number(&mut md, 28, of);
    put_number(&mut md, 29, id);
    entry(&md, id.to_string().as_bytes())
}

/// Decode `topic`, and search `topic` for earlier chunks. Returns the rows and the number of searches.
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
fn a_chunked_message_is_filtered_by_its_last_chunk() {
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
fn a_bad_chunk_of_a_filtered_message_is_no_error() {
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
fn encrypted_entries_are_filtered_by_the_columns_of_their_row() {
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
    // The message keys inside an encrypted batch are unknown, so the filter keeps the batch.
    assert_eq!(read(OnFailure::Discard, wanted()).unwrap(), (0, 3));
    assert_eq!(read(OnFailure::Fail, wanted()).unwrap_err().kind, ErrorKind::Encrypted);
    assert_eq!(read(OnFailure::Fail, time(6, 9)).unwrap(), (0, 0));
}
