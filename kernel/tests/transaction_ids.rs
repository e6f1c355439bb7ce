//! Transaction ids of sent messages, in every kind of entry.
//!
//! The broker reads the transaction id from the command. Readers read the id from the metadata.

use std::collections::BTreeSet;
use std::sync::Arc;

use crate::common::*;
use _kernel::encode::{Batching, Encoder, Producer, Producing};
use _kernel::entry::Entry;
use _kernel::metadata::MessageMetadata;
use _kernel::wire::{WireFields, WireValue};
use arrow_array::{RecordBatch, StringArray, TimestampMillisecondArray};

const MOST: u64 = 3 << 48;
const LEAST: u64 = u64::MAX;

/// Return a short row, a row of 20,000 letters, and a row with a delivery time.
fn rows() -> RecordBatch {
    let long: String = (0..20_000u32).map(|i| char::from(b'a' + (i * i % 26) as u8)).collect();
    RecordBatch::try_from_iter_with_nullable(vec![
        ("value", Arc::new(StringArray::from(vec!["short", &long, "late"])) as _, true),
        ("__key", Arc::new(StringArray::from(vec!["a", "b", "a"])) as _, true),
        ("__deliverAt", Arc::new(TimestampMillisecondArray::from(vec![None, None, Some(77)])) as _, true),
    ])
    .unwrap()
}

fn writing(transaction: Option<(u64, u64)>, batching: Batching, chunk_bytes: Option<usize>) -> Encoder {
    let mut encoder = Encoder::new(&encoder_options(rows().schema(), "string")).unwrap();
    let producer = Producer {
        producer_id: 1,
        producer_name: "p".to_owned(),
        next_sequence_id: 0,
        schema_version: None,
        transaction,
    };
    encoder.set_producer(0, producer).unwrap();
    encoder.set_producing(Producing { batching, chunk_bytes, ..Producing::default() });
    encoder
}

fn field(message: &[u8], wanted: u32) -> Option<WireValue<'_>> {
    let mut fields = WireFields::new(message);
    while let Some((number, value)) = fields.next_field().unwrap() {
        if number == wanted {
            return Some(value);
        }
    }
    None
}

/// Return the most and least significant bits of the transaction id in `CommandSend` of each frame.
fn in_commands(frames: &[u8]) -> Vec<(Option<u64>, Option<u64>)> {
    let mut out = Vec::new();
    let mut rest = frames;
    while let Some((head, tail)) = rest.split_first_chunk::<8>() {
        let total = u32::from_be_bytes(head[..4].try_into().unwrap()) as usize;
        let size = u32::from_be_bytes(head[4..].try_into().unwrap()) as usize;
        let send = field(&tail[..size], 6).unwrap().bytes("send").unwrap();
        let bits = |number| field(send, number).map(|value| value.number("bits").unwrap());
        out.push((bits(5), bits(4)));
        rest = &tail[total - 4..];
    }
    out
}

/// Return the kind of an entry. `data` begins with a checksum and the size of the metadata.
fn kind(metadata: &MessageMetadata<'_>, data: &[u8]) -> &'static str {
    let size = u32::from_be_bytes(data[6..10].try_into().unwrap()) as usize;
    if metadata.num_messages_in_batch.is_some() {
        "batch"
    } else if metadata.num_chunks > 1 {
        "chunk"
    } else if field(&data[10..10 + size], 19).is_some() {
        "late"
    } else {
        "alone"
    }
}

/// Encode rows, and return the kinds of the entries. Checks that each entry contains the transaction id.
fn kinds(mut encoder: Encoder, transaction: Option<(u64, u64)>, encrypted: bool) -> BTreeSet<&'static str> {
    if encrypted {
        encoder.set_data_key(&[7; 32], &[("k".to_owned(), vec![1; 256])]).unwrap();
    }
    let mut found = BTreeSet::new();
    for sent in encoder.encode(&rows(), 1).unwrap() {
        let entries = entries_of(&sent);
        let bits = (transaction.map(|(most, _)| most), transaction.map(|(_, least)| least));
        assert_eq!(in_commands(&sent.frames), vec![bits; entries.len()]);
        for data in entries {
            let entry = Entry::new(1, 0, data);
            let metadata = entry.parts().unwrap().metadata;
            let kind = kind(&metadata, &entry.data);
            assert_eq!(metadata.transaction(), transaction, "{kind}");
            assert_eq!(!metadata.encryption_keys.is_empty(), encrypted, "{kind}");
            found.insert(kind);
        }
    }
    found
}

#[test]
fn every_kind_of_entry_contains_the_transaction_id() {
    let cases: [(Batching, Option<usize>, &[&str]); 4] = [
        (Batching::InOrder, None, &["batch", "late"]),
        (Batching::ByKey, None, &["batch", "late"]),
        (Batching::None, None, &["alone", "late"]),
        (Batching::InOrder, Some(2_000), &["batch", "chunk", "late"]),
    ];
    for (batching, chunk_bytes, expected) in cases {
        for encrypted in [false, true] {
            for transaction in [None, Some((MOST, LEAST)), Some((0, 0))] {
                let found = kinds(writing(transaction, batching, chunk_bytes), transaction, encrypted);
                assert_eq!(found, BTreeSet::from_iter(expected.iter().copied()), "{batching:?}");
            }
        }
    }
}
