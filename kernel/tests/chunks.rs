//! Chunked messages: how chunks are joined, the position of the row, and looking back for earlier chunks.

use crate::common::*;
use _kernel::decode::{Decoder, IntakeOptions};
use _kernel::entry::{Entry, EntryBatch};
use _kernel::error::ErrorKind;
use _kernel::selection::Range;
use _kernel::wire::{put_bytes, put_number};
use arrow_array::RecordBatch;
use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;

/// Return chunk `id` of the `chunks` chunks of message `uuid`, which has `total` bytes.
fn chunk_of(uuid: &str, id: u64, chunks: u64, total: usize, piece: &[u8]) -> Vec<u8> {
    let mut md = metadata();
    put_bytes(&mut md, 26, uuid.as_bytes());
    put_number(&mut md, 27, chunks);
    put_number(&mut md, 28, total as u64);
    put_number(&mut md, 29, id);
    entry(&md, piece)
}

/// Return chunk `id` of three chunks of two letters. Message "a" is "a0a1a2".
fn chunk(uuid: &str, id: u64) -> Vec<u8> {
    chunk_of(uuid, id, 3, 6, format!("{uuid}{id}").as_bytes())
}

fn at(positions: &[(i64, Vec<u8>)]) -> EntryBatch {
    let mut batch = EntryBatch::default();
    for (number, data) in positions {
        batch.push(Entry::new(7, *number, data.clone()));
    }
    batch
}

/// Return the entry numbers and texts of the rows.
fn rows(batches: &[RecordBatch]) -> Vec<(i64, String)> {
    let mut out = Vec::new();
    for batch in batches {
        let ids = batch.column_by_name("__messageId").unwrap().as_struct();
        let entries = ids.column_by_name("entry").unwrap().as_primitive::<Int64Type>();
        for (number, text) in entries.values().iter().zip(strings(batch, "value")) {
            out.push((*number, text.unwrap()));
        }
    }
    out
}

fn decoder(start: i64, end: i64, max_open: usize) -> Decoder {
    let mut options = string_options();
    options.range = Range { start: Some((7, start, 0)), end: Some((7, end, 0)) };
    options.intake = IntakeOptions { max_open_chunked: max_open, ..IntakeOptions::default() };
    Decoder::new(options).unwrap()
}

/// Decode entries `start..end` of `topic`, and search `topic` for earlier chunks as a reader does.
///
/// Returns the rows, the number of searches, and the number of lost messages.
fn read(topic: &[Vec<u8>], start: usize, end: usize, max_open: usize) -> (Vec<(i64, String)>, usize, usize) {
    let mut decoder = decoder(start as i64, end as i64, max_open);
    let numbered: Vec<_> = topic.iter().enumerate().map(|(i, e)| (i as i64, e.clone())).collect();
    decoder.push(&mut at(&numbered[start..]));
    let (mut batches, mut looks) = (Vec::new(), 0);
    loop {
        batches.extend(drain(&mut decoder).unwrap());
        let Some(missing) = decoder.missing_chunks().cloned() else { break };
        looks += 1;
        let last = missing.at.entry as usize;
        let mut from = last;
        while from > 0 {
            from = from.saturating_sub(2);
            // The entries of a search may be split into several batches, and may continue after the waiting
            // entry.
            decoder.look_back(&mut at(&numbered[from..from + 1]), true).unwrap();
            if decoder.look_back(&mut at(&numbered[from + 1..]), false).unwrap() {
                break;
            }
        }
        decoder.end_look_back();
    }
    let lost = decoder.take_lost().len();
    (rows(&batches), looks, lost)
}

fn text(uuid: &str) -> String {
    format!("{uuid}0{uuid}1{uuid}2")
}

#[test]
fn a_row_has_the_position_of_the_last_chunk() {
    let topic = [
        chunk("a", 0),
        chunk("b", 0),
        batched_entry(1),
        chunk("b", 1),
        chunk("a", 1),
        chunk("b", 2),
        chunk("a", 2),
    ];
    let (rows, looks, lost) = read(&topic, 0, topic.len(), 10);
    assert_eq!(rows, [(2, "m0".to_owned()), (5, text("b")), (6, text("a"))]);
    assert_eq!((looks, lost), (0, 0));
}

#[test]
fn every_split_of_a_range_returns_the_same_rows() {
    let mut topic = Vec::new();
    for round in ["a", "b", "c"] {
        let other = round.to_uppercase();
        topic.extend([
            chunk(round, 0),
            chunk(&other, 0),
            chunk(&other, 1),
            batched_entry(1),
            chunk(round, 1),
        ]);
        topic.extend([chunk(round, 2), chunk(&other, 2)]);
    }
    for max_open in [1, 2, 10, 0] {
        let (whole, _, _) = read(&topic, 0, topic.len(), max_open);
        assert_eq!(whole.len(), 9, "max_open {max_open}");
        for cut in 0..=topic.len() {
            let (mut parts, _, lost) = read(&topic, 0, cut, max_open);
            assert_eq!(lost, 0);
            let (rest, _, lost) = read(&topic, cut, topic.len(), max_open);
            assert_eq!(lost, 0);
            parts.extend(rest);
            assert_eq!(parts, whole, "cut at {cut}, max_open {max_open}");
        }
    }
}

#[test]
fn chunks_that_were_evicted_are_read_again() {
    let topic = [chunk("a", 0), chunk("b", 0), chunk("a", 1), chunk("a", 2), chunk("b", 1), chunk("b", 2)];
    assert_eq!(read(&topic, 0, 6, 2).1, 0);
    let (rows, looks, lost) = read(&topic, 0, 6, 1);
    assert_eq!(rows, [(3, text("a")), (5, text("b"))]);
    assert!(looks > 0);
    assert_eq!(lost, 0);
}

/// Each case lists the chunk ids of one message, the entries that return rows, and the number of lost messages.
#[test]
fn duplicate_and_missing_chunks_behave_as_in_the_java_client() {
    let cases: [(&[u64], &[i64], usize); 9] = [
        (&[0, 1, 1, 2], &[3], 0),
        (&[0, 0, 1, 2], &[3], 0),
        (&[0, 1, 0, 1, 2], &[4], 0),
        (&[0, 1, 2, 2], &[2], 0),
        (&[0, 1, 2, 1, 2], &[2], 0),
        (&[0, 1, 2, 0, 1, 2], &[2, 5], 0),
        (&[0, 2], &[], 1),
        (&[0, 2, 1, 2], &[], 2),
        (&[1, 2, 0, 1, 2], &[4], 1),
    ];
    for (ids, expected, lost) in cases {
        let topic: Vec<_> = ids.iter().map(|id| chunk("a", *id)).collect();
        let (rows, _, found_lost) = read(&topic, 0, topic.len(), 10);
        assert_eq!(rows.iter().map(|(entry, _)| *entry).collect::<Vec<_>>(), expected, "{ids:?}");
        assert_eq!(found_lost, lost, "{ids:?}");
        // The rows are the same for every start of the range.
        for start in 0..topic.len() {
            let (rows, _, _) = read(&topic, start, topic.len(), 10);
            let wanted: Vec<_> = expected.iter().copied().filter(|entry| *entry >= start as i64).collect();
            assert_eq!(
                rows.iter().map(|(entry, _)| *entry).collect::<Vec<_>>(),
                wanted,
                "{ids:?} from {start}"
            );
        }
    }
}

#[test]
fn a_message_without_its_first_chunk_is_reported() {
    let mut decoder = decoder(0, 9, 10);
    decoder.push(&mut at(&[(3, chunk("a", 1)), (4, chunk("a", 2)), (5, batched_entry(1))]));
    assert!(decoder.next_batch(true).unwrap().is_none(), "the message and all later messages wait");
    let missing = decoder.missing_chunks().unwrap();
    assert_eq!((missing.at.entry, missing.chunks), (4, 3));
    assert!(!decoder.look_back(&mut at(&[(3, chunk("a", 1))]), true).unwrap());
    decoder.end_look_back();
    assert_eq!(rows(&drain(&mut decoder).unwrap()), [(5, "m0".to_owned())]);
    let lost = decoder.take_lost();
    assert_eq!((lost[0].at.entry, lost[0].has_first, lost[0].uuid.as_str()), (4, false, "a"));
    assert!(decoder.take_lost().is_empty(), "a lost message is reported once");
}

#[test]
fn a_waiting_message_flushes_no_short_batch() {
    let mut decoder = decoder(0, 9, 10);
    decoder.push(&mut at(&[(3, batched_entry(2)), (4, chunk("a", 2))]));
    assert!(decoder.next_batch(true).unwrap().is_none());
    decoder.look_back(&mut at(&[(1, chunk("a", 0)), (2, chunk("a", 1))]), true).unwrap();
    decoder.end_look_back();
    let batches = drain(&mut decoder).unwrap();
    assert_eq!(batches.len(), 1);
    assert_eq!(rows(&batches), [(3, "m0".to_owned()), (3, "m1".to_owned()), (4, text("a"))]);
}

#[test]
fn damage_outside_the_range_is_an_error_only_in_needed_chunks() {
    let broken = |mut bytes: Vec<u8>| {
        *bytes.last_mut().unwrap() ^= 1;
        bytes
    };
    let mut first = decoder(2, 9, 10);
    first.push(&mut at(&[(2, chunk("a", 2))]));
    assert!(first.next_batch(true).unwrap().is_none());
    let before =
        [(0, chunk("a", 0)), (1, broken(batched_entry(1))), (1, b"\x0e".to_vec()), (1, chunk("a", 1))];
    assert!(first.look_back(&mut at(&before), true).unwrap());
    first.end_look_back();
    assert_eq!(rows(&drain(&mut first).unwrap()), [(2, text("a"))]);

    let mut second = decoder(2, 9, 10);
    second.push(&mut at(&[(2, chunk("a", 2))]));
    assert!(second.next_batch(true).unwrap().is_none());
    let error = second.look_back(&mut at(&[(0, broken(chunk("a", 0)))]), true).unwrap_err();
    assert_eq!(error.kind, ErrorKind::Corrupt);
    assert_eq!(error.at.unwrap().entry, 0);
}

#[test]
fn chunks_are_decompressed_as_one_message() {
    let text = "the same words over and over ".repeat(50);
    let packed = _kernel::compression::Compressor::new(_kernel::compression::Codec::Zstd)
        .compress(text.as_bytes())
        .unwrap()
        .to_vec();
    let (left, right) = packed.split_at(packed.len() / 2);
    let compressed_chunk = |id: u64, piece: &[u8]| {
        let mut md = metadata();
        put_number(&mut md, 8, 3);
        put_number(&mut md, 9, text.len() as u64);
        put_bytes(&mut md, 26, b"u");
        put_number(&mut md, 27, 2);
        put_number(&mut md, 28, packed.len() as u64);
        put_number(&mut md, 29, id);
        entry(&md, piece)
    };
    let (rows, _, _) = read(&[compressed_chunk(0, left), compressed_chunk(1, right)], 0, 2, 10);
    assert_eq!(rows, [(1, text)]);
}

#[test]
fn contradictory_chunks_do_not_decode() {
    let mut batch = metadata();
    put_number(&mut batch, 11, 1);
    put_bytes(&mut batch, 26, b"a");
    put_number(&mut batch, 27, 3);
    let mut nameless = metadata();
    put_number(&mut nameless, 27, 3);
    put_number(&mut nameless, 28, 9);
    let cases = [
        vec![chunk_of("a", 3, 3, 6, b"x")],
        vec![chunk_of("a", u64::MAX, 3, 6, b"x")],
        vec![chunk_of("a", 0, 3, 6, b"seven b")],
        vec![chunk_of("a", 0, 3, usize::MAX, b"x")],
        vec![chunk_of("a", 0, 3, 6, b"four"), chunk_of("a", 1, 3, 6, b"four")],
        vec![chunk_of("a", 0, 3, 6, b"x"), chunk_of("a", 1, 2, 6, b"x")],
        vec![entry(&batch, &batch_payload(1))],
        vec![entry(&nameless, b"x")],
    ];
    for (number, case) in cases.iter().enumerate() {
        let error = decode_all(string_options(), case).unwrap_err();
        assert_eq!(error.kind, ErrorKind::Payload, "case {number}: {error}");
        assert_eq!(error.at.unwrap().entry as usize, case.len() - 1, "case {number}");
    }
}

#[test]
fn a_message_of_one_chunk_is_a_plain_message() {
    let (rows, _, _) = read(&[chunk_of("a", 0, 1, 2, b"hi")], 0, 1, 10);
    assert_eq!(rows, [(0, "hi".to_owned())]);
}

#[test]
fn the_next_range_starts_without_chunks() {
    let mut decoder = decoder(0, 9, 10);
    decoder.push(&mut at(&[(0, chunk("a", 0)), (1, chunk("a", 1))]));
    assert!(drain(&mut decoder).unwrap().is_empty());
    // The producer of another partition may assign the same uuids.
    decoder.rewind(4, Range::default()).unwrap();
    decoder.push(&mut at(&[(5, chunk("a", 2))]));
    assert!(drain(&mut decoder).unwrap().is_empty());
    assert_eq!(decoder.missing_chunks().unwrap().at.entry, 5);
}

#[test]
fn incomplete_messages_are_reported_with_their_first_chunk() {
    let topic = [
        chunk("a", 0),
        chunk("b", 0),
        chunk("a", 1),
        chunk("a", 2),
        chunk("b", 1),
        chunk("c", 1),
        chunk("c", 2),
    ];
    let numbered: Vec<_> = topic.iter().enumerate().map(|(i, e)| (i as i64, e.clone())).collect();
    let mut decoder = decoder(0, 6, 10);
    decoder.push(&mut at(&numbered[..6]));
    assert_eq!(rows(&drain(&mut decoder).unwrap()).len(), 1);
    let messages = decoder.chunked_messages();
    let open: Vec<_> = messages.iter().filter_map(|message| message.open_since).collect();
    assert_eq!(open.iter().map(|first| (first.ledger, first.entry)).collect::<Vec<_>>(), [(7, 1)]);
    // Message "a" has ended, and "b" is open. Message "c" began before the range, so "c" is unknown until it
    // ends.
    assert_eq!(messages.len(), 2);
}
