//! Encoding of messages as entries: batched by key, one by one, in chunks, and encrypted.

use std::collections::HashSet;
use std::sync::Arc;

use crate::common::*;
use _kernel::encode::entries::resend::renew_chunks;
use _kernel::encode::{Batching, Encoder, EncoderOptions, Producing, SendFrames};
use _kernel::entry::Entry;
use _kernel::error::ErrorKind;
use _kernel::metadata::MessageMetadata;
use _kernel::wire::{WireFields, split_u32};
use arrow_array::builder::{ListBuilder, MapBuilder, StringBuilder};
use arrow_array::cast::AsArray;
use arrow_array::types::TimestampMicrosecondType;
use arrow_array::{
    ArrayRef, BooleanArray, Int32Array, Int64Array, RecordBatch, StringArray, TimestampMicrosecondArray,
    TimestampMillisecondArray,
};

fn rows(values: &[&str], keys: &[Option<&str>]) -> RecordBatch {
    RecordBatch::try_from_iter_with_nullable(vec![
        ("value", Arc::new(StringArray::from(values.to_vec())) as _, true),
        ("__key", Arc::new(StringArray::from(keys.to_vec())) as _, true),
    ])
    .unwrap()
}

fn encoder_for(batch: &RecordBatch, partitions: usize, most: usize) -> Encoder {
    let options =
        EncoderOptions { partitions, max_message_bytes: most, ..encoder_options(batch.schema(), "string") };
    encoder(&options)
}

/// Return the entries as a broker stores them, with their partition.
fn stored(sent: &[SendFrames]) -> Vec<(usize, Entry)> {
    let all =
        sent.iter().flat_map(|frames| entries_of(frames).into_iter().map(|data| (frames.partition, data)));
    all.map(|(partition, data)| (partition, Entry::new(1, 0, data))).collect()
}

fn count(metadata: &MessageMetadata<'_>) -> i32 {
    metadata.num_messages_in_batch.unwrap_or(-1)
}

#[test]
fn entries_batched_by_key_have_one_key() {
    let keys = [Some("a"), Some("b"), None, Some("a"), Some("b"), None, Some("a")];
    let batch = rows(&["0", "1", "2", "3", "4", "5", "6"], &keys);
    let mut encoder = encoder_for(&batch, 1, 5_242_880);
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
    // Sequence ids must rise from entry to entry, because deduplication drops an entry with a lower id.
    assert_eq!(found, [(Some(b"a".to_vec()), 3, 10), (Some(b"b".to_vec()), 2, 13), (None, 2, 15)]);
    let data: Vec<_> = sent.iter().flat_map(entries_of).collect();
    let batches = decode_all(string_options(), &data).unwrap();
    let values: Vec<_> = batches.iter().flat_map(|batch| strings(batch, "value")).flatten().collect();
    assert_eq!(values, ["0", "3", "6", "1", "4", "2", "5"]);
}

#[test]
fn chunks_respect_their_maximum_size_and_decode() {
    let long: String = (0..20_000u32).map(|i| char::from(b'a' + (i * i % 26) as u8)).collect();
    let batch = rows(&["first", &long, "last"], &[None, Some("k"), None]);
    for (most, chunk_bytes) in [(1_000, Some(usize::MAX)), (5_242_880, Some(700))] {
        let mut encoder = encoder_for(&batch, 1, most);
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
        // Each chunk has its own sequence id. Otherwise a broker drops the later chunks as duplicates of the first.
        assert_eq!(chunks, (0..total).map(|id| (id, total, 11 + id)).collect::<Vec<_>>());
        assert_eq!(sent[0].sequence_ids, (10..12 + total).collect::<Vec<_>>());
        assert_eq!(sent[0].chunked, [(1, 1 + total as usize)]);
        assert_eq!(sent[0].ends.last(), Some(&sent[0].frames.len()));
        assert_eq!(sent[0].num_messages, 3);
        assert_eq!(sent[0].sequence_ids.len(), entries.len());
    }
}

#[test]
fn a_message_without_room_for_a_chunk_is_too_large() {
    let batch = rows(&["0123456789012345678901234567890123456789"], &[Some("k")]);
    let mut encoder = encoder_for(&batch, 1, 5_242_880);
    encoder.set_producing(Producing { chunk_bytes: Some(20), ..Producing::default() });
    assert_eq!(encoder.encode(&batch, 1).unwrap_err().kind, ErrorKind::TooLarge);
    let mut encoder = encoder_for(&batch, 1, 60);
    encoder.set_producing(Producing { batching: Batching::None, ..Producing::default() });
    assert_eq!(encoder.encode(&batch, 1).unwrap_err().kind, ErrorKind::TooLarge);
}

#[test]
fn rows_can_set_partition_delivery_time_and_tombstone() {
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
    let sent = encoder_for(&batch, 3, 5_242_880).encode(&batch, 1).unwrap();
    let mut found = Vec::new();
    for (partition, entry) in stored(&sent) {
        let metadata = entry.parts().unwrap().metadata;
        found.push((partition, count(&metadata)));
    }
    // "k".hashCode() is 107, so the partition is 107 % 3 = 2.
    assert_eq!(found, [(1, -1), (2, 3)]);
    let data: Vec<_> = sent.iter().flat_map(entries_of).collect();
    let batches = decode_all(string_options(), &data).unwrap();
    let values: Vec<_> = batches.iter().flat_map(|batch| strings(batch, "value")).collect();
    assert_eq!(values, [Some("c".to_owned()), None, Some("b".to_owned()), Some("d".to_owned())]);
    let beyond = encoder_for(&batch, 2, 5_242_880).encode(&batch, 1).unwrap_err();
    assert_eq!((beyond.kind, beyond.row), (ErrorKind::Payload, Some(0)));
}

/// The size of a message alone decides if it can be sent. Compression and other messages of the entry do not matter.
#[test]
fn keys_and_properties_have_room_in_every_entry_or_are_refused() {
    let most = 5_242_880;
    let key = |length: usize| {
        let long = "k".repeat(length);
        rows(&["first", "value"], &[None, Some(&long)])
    };
    let ordering = |length: usize| {
        let plain = rows(&["first", "value"], &[None, None]);
        let keys = StringArray::from(vec![None, Some("o".repeat(length))]);
        let value = plain.column_by_name("value").unwrap().clone();
        RecordBatch::try_from_iter_with_nullable([
            ("value", value, true),
            ("__orderingKey", Arc::new(keys) as ArrayRef, true),
        ])
        .unwrap()
    };
    let property = |length: usize| {
        let mut properties = MapBuilder::new(None, StringBuilder::new(), StringBuilder::new());
        properties.append(true).unwrap();
        properties.keys().append_value("k");
        properties.values().append_value("p".repeat(length));
        properties.append(true).unwrap();
        let value = Arc::new(StringArray::from(vec!["first", "value"])) as ArrayRef;
        let properties = Arc::new(properties.finish()) as ArrayRef;
        RecordBatch::try_from_iter([("value", value), ("__messageProperties", properties)]).unwrap()
    };
    let with_length = |length: usize| [key(length), ordering(length), property(length)];
    let batchings = [Batching::InOrder, Batching::ByKey, Batching::None];
    // A batch by key contains the key twice, so a key may have half of the maximum size.
    for (batch, fits) in with_length(most / 2 - 300)
        .into_iter()
        .map(|b| (b, true))
        .chain(with_length(6 << 20).map(|b| (b, false)))
    {
        for compression in ["NONE", "LZ4", "ZSTD"] {
            let variants =
                batchings.into_iter().flat_map(|batching| [None, Some(usize::MAX)].map(|c| (batching, c)));
            for (batching, chunk_bytes) in variants {
                let mut options = encoder_options(batch.schema(), "string");
                options.compression = compression.to_owned();
                let mut encoder = encoder(&options);
                encoder.set_producing(Producing { batching, chunk_bytes, ..Producing::default() });
                let sent = encoder.encode(&batch, 1);
                let case = format!(
                    "{:?} {compression} {batching:?} {chunk_bytes:?}",
                    batch.schema().field(1).name()
                );
                if fits {
                    assert_eq!(sent.expect(&case)[0].num_messages, 2, "{case}");
                    continue;
                }
                let error = sent.expect_err(&case);
                assert_eq!((error.kind, error.row), (ErrorKind::TooLarge, Some(1)), "{case}: {error}");
                assert!(error.message.contains("got 62914"), "{case}: {error}");
            }
        }
    }
}

/// An event time of 0 means no event time in Pulsar, so a reader would return the row without its time.
#[test]
fn an_event_time_that_pulsar_reads_as_none_is_refused() {
    let row_at = |micros: Option<i64>| {
        let value = Arc::new(StringArray::from(vec!["v"])) as ArrayRef;
        let time = Arc::new(TimestampMicrosecondArray::from(vec![micros])) as ArrayRef;
        RecordBatch::try_from_iter_with_nullable([("value", value, true), ("__eventTime", time, true)])
            .unwrap()
    };
    for micros in [0, 1, 500, 999, -1, -500, -1_000_000] {
        let batch = row_at(Some(micros));
        let error = encoder(&encoder_options(batch.schema(), "string")).encode(&batch, 1).unwrap_err();
        assert_eq!((error.kind, error.row), (ErrorKind::Payload, Some(0)), "{micros}");
        assert!(error.message.contains("1970-01-01 00:00:00.001"), "{error}");
    }
    for (micros, back) in [(None, None), (Some(1000), Some(1000)), (Some(1999), Some(1000))] {
        let batch = row_at(micros);
        let sent = encoder(&encoder_options(batch.schema(), "string")).encode(&batch, 1).unwrap();
        let rows = decode_all(string_options(), &entries_of(&sent[0])).unwrap().remove(0);
        let times = rows.column_by_name("__eventTime").unwrap().as_primitive::<TimestampMicrosecondType>();
        assert_eq!(times.iter().next().unwrap(), back);
    }
}

#[test]
fn chunks_that_are_sent_again_have_a_new_uuid() {
    let long: String = (0..3_000u32).map(|i| char::from(b'a' + (i * i % 26) as u8)).collect();
    let batch = rows(&["first", &long, "last"], &[None, Some("k"), None]);
    let mut encoder = encoder_for(&batch, 1, 5_242_880);
    encoder.set_data_key(&[7; 32], &[("k".to_owned(), vec![1; 256])]).unwrap();
    encoder.set_producing(Producing { chunk_bytes: Some(1_000), ..Producing::default() });
    let sent = encoder.encode(&batch, 1).unwrap().remove(0);
    let (first, end) = sent.chunked[0];
    let chunks = &sent.frames[sent.ends[first - 1]..sent.ends[end - 1]];
    let renewed = renew_chunks(chunks, 0x1f).unwrap();
    assert_eq!(renewed.len(), chunks.len());
    assert_eq!(renew_chunks(&renewed, 0).unwrap(), chunks);
    let uuids = |frames: &[u8]| {
        let sent = SendFrames { frames: frames.to_vec(), ..sent_nothing() };
        let entries = entries_of(&sent).into_iter().map(|data| Entry::new(1, 0, data));
        let uuids = entries.map(|mut entry| {
            entry.verify().unwrap();
            let parts = entry.parts().unwrap();
            (String::from_utf8_lossy(parts.metadata.uuid).into_owned(), parts.payload.to_vec())
        });
        uuids.collect::<Vec<_>>()
    };
    let (before, after) = (uuids(chunks), uuids(&renewed));
    assert_eq!(before.len(), end - first);
    for ((old, payload), (new, again)) in before.iter().zip(&after) {
        assert_eq!((old.as_str(), new.as_str()), ("producer-0-11-00000000", "producer-0-11-0000001f"));
        assert_eq!(payload, again);
    }
    for wrong in [&sent.frames[..sent.ends[0]], &chunks[..chunks.len() - 1], &[0, 0, 0, 9, 1]] {
        assert_eq!(renew_chunks(wrong, 1).unwrap_err().kind, ErrorKind::Corrupt);
    }
}

fn sent_nothing() -> SendFrames {
    SendFrames {
        partition: 0,
        frames: Vec::new(),
        first_sequence_id: 0,
        last_sequence_id: 0,
        sequence_ids: Vec::new(),
        ends: Vec::new(),
        chunked: Vec::new(),
        num_messages: 0,
    }
}

fn with_column(name: &str, column: ArrayRef) -> RecordBatch {
    let values = StringArray::from((0..column.len()).map(|i| i.to_string()).collect::<Vec<_>>());
    RecordBatch::try_from_iter_with_nullable(vec![
        ("value", Arc::new(values) as _, true),
        (name, column, true),
    ])
    .unwrap()
}

#[test]
fn rows_can_set_their_sequence_ids() {
    let batch = with_column("__sequenceId", Arc::new(Int64Array::from(vec![10, 11, 500])));
    let mut encoder = encoder_for(&batch, 1, 5_242_880);
    let sent = encoder.encode(&batch, 1).unwrap();
    let found: Vec<_> = stored(&sent)
        .iter()
        .map(|(_, entry)| {
            let metadata = entry.parts().unwrap().metadata;
            (metadata.sequence_id, count(&metadata))
        })
        .collect();
    assert_eq!(found, [(10, -1), (11, -1), (500, -1)]);
    assert_eq!((sent[0].num_messages, sent[0].sequence_ids.as_slice()), (3, &[10, 11, 500][..]));
    // Sequence ids must rise across calls too. A call that fails does not change the last id.
    for (ids, row) in [(vec![Some(500)], 0), (vec![Some(600), Some(600)], 1), (vec![Some(601), None], 1)] {
        let next = with_column("__sequenceId", Arc::new(Int64Array::from(ids)));
        let error = encoder.encode(&next, 1).unwrap_err();
        assert_eq!((error.kind, error.row), (ErrorKind::Payload, Some(row)), "{}", error.message);
    }
    let negative = with_column("__sequenceId", Arc::new(Int64Array::from(vec![-1])));
    assert_eq!(encoder.encode(&negative, 1).unwrap_err().kind, ErrorKind::Payload);
    let next = with_column("__sequenceId", Arc::new(Int64Array::from(vec![501])));
    assert_eq!(encoder.encode(&next, 1).unwrap()[0].last_sequence_id, 501);
}

#[test]
fn rows_can_set_their_replication_clusters() {
    let mut clusters = ListBuilder::new(StringBuilder::new());
    clusters.append_value([Some("east"), Some("west")]);
    clusters.append_null();
    clusters.append_null();
    clusters.append(true);
    let batch = with_column("__replicationClusters", Arc::new(clusters.finish()));
    let sent = encoder_for(&batch, 1, 5_242_880).encode(&batch, 1).unwrap();
    let replicate_to = |entry: &Entry| {
        let (_, rest) = split_u32(&entry.data[6..]).unwrap();
        let length = u32::from_be_bytes(entry.data[6..10].try_into().unwrap()) as usize;
        let mut fields = WireFields::new(&rest[..length]);
        let mut named = Vec::new();
        while let Some((number, value)) = fields.next_field().unwrap() {
            if number == 7 {
                named.push(String::from_utf8(value.bytes("replicate_to").unwrap().to_vec()).unwrap());
            }
        }
        (named, count(&entry.parts().unwrap().metadata))
    };
    let found: Vec<_> = stored(&sent).iter().map(|(_, entry)| replicate_to(entry)).collect();
    let named = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>();
    assert_eq!(found, [(named(&["east", "west"]), -1), (vec![], 2), (named(&["__local__"]), -1)]);
    for wrong in [None, Some("")] {
        let mut clusters = ListBuilder::new(StringBuilder::new());
        clusters.append_value([Some("east"), wrong]);
        let batch = with_column("__replicationClusters", Arc::new(clusters.finish()));
        let error = encoder_for(&batch, 1, 5_242_880).encode(&batch, 1).unwrap_err();
        assert_eq!((error.kind, error.row), (ErrorKind::Payload, Some(0)));
    }
}
