//! Counts of messages and bytes in a backlog, and the end of a slice of a backlog.

use crate::common::*;
use _kernel::backlog::{Backlog, BacklogSlice};
use _kernel::entry::{Entry, EntryBatch};
use _kernel::selection::Position;
use _kernel::selection::row_filter::RowFilter;
use _kernel::wire::{put_bytes, put_number};

const NO_LIMIT: (u64, u64) = (u64::MAX, u64::MAX);
const EARLIEST: Position = (-1, -1, 0);

fn published(time: u64) -> Vec<u8> {
    let mut md = Vec::new();
    put_bytes(&mut md, 1, b"producer");
    put_number(&mut md, 2, 41);
    put_number(&mut md, 3, time);
    md
}

fn with(fields: &[(u32, u64)]) -> Vec<u8> {
    let mut md = published(1);
    for (field, number) in fields {
        put_number(&mut md, *field, *number);
    }
    entry(&md, b"x")
}

/// Return entries of ledger 7 with `sizes` messages. A size of 0 is an entry that is not a batch.
fn topic(sizes: &[usize]) -> EntryBatch {
    let data: Vec<_> =
        sizes.iter().map(|&size| if size == 0 { with(&[]) } else { batched_entry(size) }).collect();
    stored(7, 0, &data)
}

fn stored(ledger: i64, first: i64, data: &[Vec<u8>]) -> EntryBatch {
    let mut batch = EntryBatch::default();
    for (entry, data) in (first..).zip(data) {
        batch.push(Entry::new(ledger, entry, data.clone()));
    }
    batch
}

fn counted(sizes: &[usize]) -> Backlog {
    let mut backlog = Backlog::default();
    backlog.add(&mut topic(sizes));
    backlog
}

fn end(taken: BacklogSlice) -> (Position, u64) {
    (taken.end, taken.messages)
}

#[test]
fn only_messages_that_a_reader_receives_count() {
    let mut backlog = Backlog::default();
    let data = [
        with(&[]),
        batched_entry(5),
        with(&[(20, 21)]),
        with(&[(27, 2), (29, 0)]),
        with(&[(27, 2), (29, 1)]),
        b"damaged".to_vec(),
        with(&[(11, 0)]),
    ];
    let bytes = data.iter().map(|each| each.len() as u64).sum();
    assert_eq!(backlog.add(&mut stored(7, 0, &data)), (1 + 5 + 1 + 1 + 1, bytes));
    let all = backlog.take(EARLIEST, (9, 0, 0), NO_LIMIT, false);
    assert_eq!(all, BacklogSlice { end: (7, 7, 0), messages: 9, bytes });
}

#[test]
fn an_entry_that_arrives_twice_counts_once() {
    let mut backlog = counted(&[3, 3]);
    assert_eq!(backlog.add(&mut topic(&[3, 3, 4])).0, 4);
    assert_eq!(backlog.add(&mut stored(6, 9, &[batched_entry(2)])), (0, 0));
    assert_eq!(backlog.take(EARLIEST, (8, 0, 0), NO_LIMIT, false).messages, 10);
}

#[test]
fn messages_published_before_the_start_time_do_not_count() {
    let filter = RowFilter { published_from: Some(5), ..RowFilter::default() };
    let mut backlog = Backlog::new(filter);
    let data: Vec<_> = (3..8).map(|time| entry(&published(time), b"x")).collect();
    assert_eq!(backlog.add(&mut stored(7, 0, &data)).0, 3);
    assert_eq!(end(backlog.take(EARLIEST, (8, 0, 0), (1, u64::MAX), false)), ((7, 3, 0), 1));
}

#[test]
fn the_message_limit_can_end_inside_an_entry() {
    let backlog = counted(&[3, 4, 0, 2]);
    let upto = |most| end(backlog.take(EARLIEST, (7, 4, 0), (most, u64::MAX), false));
    assert_eq!(upto(0), (EARLIEST, 0));
    assert_eq!(upto(2), ((7, 0, 2), 2));
    assert_eq!(upto(3), ((7, 1, 0), 3));
    assert_eq!(upto(5), ((7, 1, 2), 5));
    assert_eq!(upto(8), ((7, 3, 0), 8));
    assert_eq!(upto(99), ((7, 4, 0), 10));
    let rest = backlog.take((7, 1, 2), (7, 3, 1), (99, u64::MAX), false);
    assert_eq!(end(rest), ((7, 3, 1), 2 + 1 + 1));
}

#[test]
fn the_byte_limit_ends_inside_the_first_entry_only() {
    let mut backlog = Backlog::default();
    backlog.add(&mut topic(&[4, 4]));
    let whole = batched_entry(4).len() as u64;
    let upto = |most| backlog.take(EARLIEST, (7, 2, 0), (u64::MAX, most), false);
    assert_eq!(upto(0), BacklogSlice { end: EARLIEST, messages: 0, bytes: 0 });
    assert_eq!(end(upto(whole.div_ceil(2))), ((7, 0, 2), 2));
    assert_eq!(end(upto(whole)), ((7, 1, 0), 4));
    assert_eq!(end(upto(whole + whole / 2)), ((7, 1, 0), 4));
    assert_eq!(end(upto(2 * whole)), ((7, 2, 0), 8));
    let forced = backlog.take(EARLIEST, (7, 2, 0), (u64::MAX, 1), true);
    assert_eq!(forced, BacklogSlice { end: (7, 0, 1), messages: 1, bytes: whole.div_ceil(4) });
}

#[test]
fn the_bytes_of_the_parts_of_an_entry_add_up() {
    let backlog = counted(&[3]);
    let whole = batched_entry(3).len() as u64;
    let parts: u64 = (0..3).map(|i| backlog.take((7, 0, i), (7, 0, i + 1), NO_LIMIT, false).bytes).sum();
    assert!((whole..whole + 3).contains(&parts));
}

#[test]
fn entries_without_messages_are_skipped_only_below_the_limit() {
    let mut backlog = Backlog::default();
    let chunk = with(&[(27, 3), (29, 0)]);
    backlog.add(&mut stored(7, 0, &[with(&[]), chunk.clone(), chunk, with(&[])]));
    let upto = |most| end(backlog.take(EARLIEST, (7, 4, 0), (most, u64::MAX), false));
    assert_eq!(upto(1), ((7, 1, 0), 1));
    assert_eq!(upto(2), ((7, 4, 0), 2));
    let forced = backlog.take((7, 1, 0), (7, 4, 0), (u64::MAX, 0), true);
    assert_eq!(end(forced), ((7, 2, 0), 0));
}

#[test]
fn dropped_entries_are_not_taken_again() {
    let mut backlog = counted(&[3, 4, 2]);
    backlog.drop_before((7, 1, 3));
    assert_eq!(end(backlog.take((7, 1, 3), (8, 0, 0), NO_LIMIT, false)), ((7, 3, 0), 1 + 2));
    backlog.drop_before((8, 0, 0));
    assert_eq!(end(backlog.take((8, 0, 0), (9, 0, 0), NO_LIMIT, false)), ((8, 0, 0), 0));
}
