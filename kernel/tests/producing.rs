//! How messages become entries: by key, one by one, in chunks, encrypted.

mod common;

use std::collections::HashSet;
use std::sync::Arc;

use _kernel::encode::{Batching, Encoder, EncoderOptions, Producing, SendFrames};
use _kernel::entry::Entry;
use _kernel::error::ErrorKind;
use _kernel::metadata::MessageMetadata;
use arrow_array::{BooleanArray, Int32Array, RecordBatch, StringArray, TimestampMillisecondArray};
use common::*;

fn rows(values: &[&str], keys: &[Option<&str>]) -> RecordBatch {
    RecordBatch::try_from_iter_with_nullable(vec![
        ("value", Arc::new(StringArray::from(values.to_vec())) as _, true),
        ("__key", Arc::new(StringArray::from(keys.to_vec())) as _, true),
    ])
    .unwrap()
}

fn made(batch: &RecordBatch, partitions: usize, most: usize) -> Encoder {
    let options =
        EncoderOptions { partitions, max_message_bytes: most, ..encoder_options(batch.schema(), "string") };
    encoder(&options)
}

/// The entries as a broker stores them, with their partition.
fn stored(sent: &[SendFrames]) -> Vec<(usize, Entry)> {
    let all =
        sent.iter().flat_map(|frames| entries_of(frames).into_iter().map(|data| (frames.partition, data)));
    all.map(|(partition, data)| (partition, Entry::new(1, 0, data))).collect()
}

fn count(metadata: &MessageMetadata<'_>) -> i32 {
    metadata.num_messages_in_batch.unwrap_or(-1)
}

#[test]
fn an_entry_has_one_key_and_names_it() {
    let keys = [Some("a"), Some("b"), None, Some("a"), Some("b"), None, Some("a")];
    let batch = rows(&["0", "1", "2", "3", "4", "5", "6"], &keys);
    let mut encoder = made(&batch, 1, 5_242_880);
    encoder.set_producing(Producing { batching: Batching::ByKey, ..Producing::default() });
    let sent = encoder.encode(&batch, 1).unwrap();
    let entries = stored(&sent);
    let found: Vec<_> = entries
        .iter()
        .map(|(_, entry)| {
            let metadata = entry.parts().unwrap().metadata;
            (metadata.partition_key.map(<[u8]>::to_vec), count(&metadata), metadata.sequence_id)
        })
        .collect();
    // Sequence ids rise from entry to entry, or deduplication would drop some.
    assert_eq!(found, [(Some(b"a".to_vec()), 3, 10), (Some(b"b".to_vec()), 2, 13), (None, 2, 15)]);
    let data: Vec<_> = sent.iter().flat_map(entries_of).collect();
    let batches = decode_all(string_options(), &data).unwrap();
    let values: Vec<_> = batches.iter().flat_map(|batch| strings(batch, "value")).flatten().collect();
    assert_eq!(values, ["0", "3", "6", "1", "4", "2", "5"]);
}

#[test]
fn chunks_are_no_larger_than_said_and_come_back() {
    let long: String = (0..20_000u32).map(|i| char::from(b'a' + (i * i % 26) as u8)).collect();
    let batch = rows(&["first", &long, "last"], &[None, Some("k"), None]);
    for (most, chunk_bytes) in [(1_000, Some(usize::MAX)), (5_242_880, Some(700))] {
        let mut encoder = made(&batch, 1, most);
        encoder.set_data_key(&[7; 32], &[("k".to_owned(), vec![1; 256])]).unwrap();
        encoder.set_producing(Producing { chunk_bytes, ..Producing::default() });
        let sent = encoder.encode(&batch, 1).unwrap();
        let entries = stored(&sent);
        let mut nonces = HashSet::new();
        let mut chunks = Vec::new();
        for (_, entry) in &entries {
            let metadata = entry.parts().unwrap().metadata;
            assert!(entry.data.len() <= most.min(chunk_bytes.unwrap()), "{}", entry.data.len());
            assert!(nonces.insert(metadata.encryption_param.to_vec()));
            if metadata.num_chunks > 1 {
                chunks.push((metadata.chunk_id, metadata.num_chunks, metadata.sequence_id));
            }
        }
        let total = chunks.len() as u64;
        assert_eq!(chunks, (0..total).map(|id| (id, total, 11)).collect::<Vec<_>>());
        assert_eq!(sent[0].num_messages, 3);
        assert_eq!(sent[0].sequence_ids.len(), entries.len());
    }
}

#[test]
fn without_room_for_a_chunk_it_is_too_large() {
    let batch = rows(&["0123456789012345678901234567890123456789"], &[Some("k")]);
    let mut encoder = made(&batch, 1, 5_242_880);
    encoder.set_producing(Producing { chunk_bytes: Some(20), ..Producing::default() });
    assert_eq!(encoder.encode(&batch, 1).unwrap_err().kind, ErrorKind::TooLarge);
    let mut encoder = made(&batch, 1, 60);
    encoder.set_producing(Producing { batching: Batching::None, ..Producing::default() });
    assert_eq!(encoder.encode(&batch, 1).unwrap_err().kind, ErrorKind::TooLarge);
}

#[test]
fn rows_choose_partition_time_and_tombstone() {
    let batch = RecordBatch::try_from_iter_with_nullable(vec![
        ("value", Arc::new(StringArray::from(vec!["a", "b", "c", "d"])) as _, true),
        ("__key", Arc::new(StringArray::from(vec![Some("k"), Some("k"), None, Some("k")])) as _, true),
        ("__partition", Arc::new(Int32Array::from(vec![Some(2), None, Some(1), Some(-1)])) as _, true),
        (
            "__deliverAt",
            Arc::new(TimestampMillisecondArray::from(vec![None, None, Some(77), None])) as _,
            true,
        ),
        ("__tombstone", Arc::new(BooleanArray::from(vec![Some(true), Some(false), None, None])) as _, true),
    ])
    .unwrap();
    let sent = made(&batch, 3, 5_242_880).encode(&batch, 1).unwrap();
    let mut found = Vec::new();
    for (partition, entry) in stored(&sent) {
        let metadata = entry.parts().unwrap().metadata;
        found.push((partition, count(&metadata)));
    }
    // "k".hashCode() is 107, 2 of 3.
    assert_eq!(found, [(1, -1), (2, 3)]);
    let data: Vec<_> = sent.iter().flat_map(entries_of).collect();
    let batches = decode_all(string_options(), &data).unwrap();
    let values: Vec<_> = batches.iter().flat_map(|batch| strings(batch, "value")).collect();
    assert_eq!(values, [Some("c".to_owned()), None, Some("b".to_owned()), Some("d".to_owned())]);
    let beyond = made(&batch, 2, 5_242_880).encode(&batch, 1).unwrap_err();
    assert_eq!((beyond.kind, beyond.row), (ErrorKind::Payload, Some(0)));
}
