//! Messages of transactions in entries from storage. Messages of aborted transactions return no rows.

use crate::common::*;
use _kernel::decode::{Decoder, DecoderOptions};
use _kernel::entry::{Entry, EntryBatch};
use _kernel::selection::Range;
use _kernel::selection::row_filter::RowFilter;
use _kernel::wire::put_number;
use arrow_array::RecordBatch;

const COMMIT: u64 = 21;
const ABORT: u64 = 22;

fn transaction_metadata(transaction: u64) -> Vec<u8> {
    let mut md = metadata();
    put_number(&mut md, 22, transaction);
    put_number(&mut md, 23, 1);
    md
}

fn message(transaction: u64, text: &str) -> Vec<u8> {
    entry(&transaction_metadata(transaction), text.as_bytes())
}

fn marker(kind: u64, transaction: u64) -> Vec<u8> {
    let mut md = transaction_metadata(transaction);
    put_number(&mut md, 20, kind);
    entry(&md, b"")
}

fn plain(text: &str) -> Vec<u8> {
    entry(&metadata(), text.as_bytes())
}

fn stored(data: &[Vec<u8>], first: usize) -> EntryBatch {
    let mut batch = EntryBatch::default();
    batch.unfiltered = true;
    for (i, bytes) in data.iter().enumerate().skip(first) {
        batch.push(Entry::new(7, i as i64, bytes.clone()));
    }
    batch
}

fn texts(batches: &[RecordBatch]) -> Vec<String> {
    batches.iter().flat_map(|batch| strings(batch, "value")).flatten().collect()
}

#[test]
fn entries_from_a_broker_need_no_transaction_results() {
    let mut decoder = Decoder::new(string_options()).unwrap();
    decoder.push(&mut entries(&[message(1, "a"), marker(ABORT, 2), message(2, "b"), marker(COMMIT, 1)]));
    assert_eq!(texts(&drain(&mut decoder).unwrap()), ["a", "b"]);
    assert!(decoder.undecided_transactions().is_empty());
}

#[test]
fn stored_entries_wait_until_their_transactions_are_known() {
    let mut decoder = Decoder::new(string_options()).unwrap();
    let data = [plain("0"), message(1, "1"), message(2, "2"), message(1, "3"), message(3, "4"), plain("5")];
    decoder.push(&mut stored(&data, 0));
    assert!(decoder.next_batch(true).unwrap().is_none(), "earlier rows wait for a full batch too");
    assert_eq!(
        decoder.undecided_transactions(),
        [(1, 1), (1, 2), (1, 3)],
        "all transactions of the entries, at once"
    );
    decoder.add_transaction((1, 1), false);
    assert!(decoder.next_batch(true).unwrap().is_none());
    assert_eq!(decoder.undecided_transactions(), [(1, 2), (1, 3)]);
    decoder.add_transaction((1, 2), true);
    decoder.add_transaction((1, 3), true);
    assert_eq!(texts(&drain(&mut decoder).unwrap()), ["0", "1", "3", "5"]);
    decoder.push(&mut stored(&[plain("later"), message(2, "still aborted")], 0));
    assert_eq!(texts(&drain(&mut decoder).unwrap()), ["later"]);
    // The next range may be read much later, so the outcomes for an earlier range are not reused.
    decoder.rewind(3, Range::default()).unwrap();
    decoder.push(&mut stored(&data, 0));
    assert!(drain(&mut decoder).unwrap().is_empty());
    assert_eq!(decoder.undecided_transactions().len(), 3);
}

#[test]
fn abort_markers_decide_a_transaction_and_commit_markers_do_not() {
    let mut decoder = Decoder::new(string_options()).unwrap();
    let data = [
        message(1, "aborted"),
        message(2, "committed"),
        marker(COMMIT, 2),
        message(4, "of a late message"),
        marker(COMMIT, 4),
        message(4, "late"),
        marker(ABORT, 4),
        marker(ABORT, 1),
    ];
    decoder.push(&mut stored(&data, 0));
    assert!(drain(&mut decoder).unwrap().is_empty());
    assert_eq!(decoder.undecided_transactions(), [(1, 2)]);
    decoder.add_transaction((1, 2), false);
    assert_eq!(texts(&drain(&mut decoder).unwrap()), ["committed"]);
}

#[test]
fn only_messages_in_the_range_and_filter_need_transaction_results() {
    let late = |transaction| {
        let mut md = transaction_metadata(transaction);
        put_number(&mut md, 3, 5);
        entry(&md, b"late")
    };
    let options = DecoderOptions {
        range: Range { start: Some((7, 1, 0)), end: Some((7, 4, 0)) },
        filter: RowFilter { published_from: Some(PUBLISH_TIME as i64), ..RowFilter::default() },
        ..string_options()
    };
    let mut decoder = Decoder::new(options).unwrap();
    let data =
        [message(1, "before"), late(2), message(3, "in"), late(4), message(5, "behind"), marker(ABORT, 3)];
    decoder.push(&mut stored(&data, 0));
    assert!(drain(&mut decoder).unwrap().is_empty());
    assert!(
        decoder.undecided_transactions().is_empty(),
        "the marker after the range decides the transaction"
    );
}

#[test]
fn damaged_entries_decide_no_transaction() {
    let mut decoder = Decoder::new(string_options()).unwrap();
    let mut broken = marker(ABORT, 1);
    *broken.last_mut().unwrap() ^= 1;
    decoder.push(&mut stored(&[message(1, "a"), broken], 0));
    assert!(decoder.next_batch(true).unwrap().is_none());
    assert_eq!(decoder.undecided_transactions(), [(1, 1)]);
    decoder.add_transaction((1, 1), false);
    let error = decoder.next_batch(true).unwrap_err();
    assert_eq!(error.at.unwrap().entry, 1);
}

#[test]
fn batches_chunks_and_sealed_entries_of_aborted_transactions_are_hidden() {
    let mut batch = transaction_metadata(1);
    put_number(&mut batch, 11, 2);
    let chunk = |id| {
        let mut md = transaction_metadata(1);
        _kernel::wire::put_bytes(&mut md, 26, b"u");
        for (field, value) in [(27, 2), (28, 2), (29, id)] {
            put_number(&mut md, field, value);
        }
        entry(&md, b"c")
    };
    let mut undecryptable = transaction_metadata(1);
    let mut wrapped = Vec::new();
    _kernel::wire::put_bytes(&mut wrapped, 1, b"name");
    _kernel::wire::put_bytes(&mut wrapped, 2, b"wrapped");
    _kernel::wire::put_bytes(&mut undecryptable, 13, &wrapped);
    let data = [
        marker(ABORT, 1),
        entry(&batch, &batch_payload(2)),
        chunk(0),
        chunk(1),
        entry(&undecryptable, b"x"),
        plain("shown"),
    ];
    let mut decoder = Decoder::new(string_options()).unwrap();
    decoder.push(&mut stored(&data, 0));
    assert_eq!(texts(&drain(&mut decoder).unwrap()), ["shown"]);
}

#[test]
fn giving_up_returns_where_another_source_continues() {
    let mut decoder = Decoder::new(string_options()).unwrap();
    assert_eq!(decoder.give_up_transactions(), None);
    let data = [plain("0"), message(1, "aborted"), message(2, "2"), plain("3")];
    decoder.push(&mut stored(&data, 0));
    assert!(decoder.next_batch(true).unwrap().is_none());
    assert_eq!(decoder.give_up_transactions(), Some((7, 1)));
    assert!(decoder.undecided_transactions().is_empty());
    let mut broker = EntryBatch::default();
    for entry in [2, 3] {
        broker.push(Entry::new(7, entry, data[entry as usize].clone()));
    }
    decoder.push(&mut broker);
    assert_eq!(texts(&drain(&mut decoder).unwrap()), ["0", "2", "3"]);
}
