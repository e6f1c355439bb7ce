//! Ledgers in tiered storage, read in pieces of every size.

use crate::common;
use crate::common::tiered::{block, index, object};
use _kernel::ErrorKind;
use _kernel::tiered::StoredEntries;
use _kernel::tiered::object::ObjectIndex;

const BLOCK: usize = 400;

fn entry(id: i64) -> Vec<u8> {
    common::batched_entry(1 + (id % 3) as usize)
}

/// Feed `bytes` to the reader from its start offset, in pieces of `step` bytes.
fn read(mut entries: StoredEntries, bytes: &[u8], step: usize) -> Result<Vec<i64>, (Vec<i64>, String)> {
    let end = entries.end.map_or(bytes.len(), |end| bytes.len().min(end as usize));
    let mut ids = Vec::new();
    for piece in bytes[entries.start as usize..end].chunks(step) {
        if entries.is_done() {
            break;
        }
        match entries.feed(piece) {
            Ok(batch) => {
                for each in batch.entries {
                    assert_eq!((each.ledger, each.data), (7, entry(each.entry)));
                    ids.push(each.entry);
                }
            }
            Err(error) => return Err((ids, error.message)),
        }
        assert_eq!(entries.next_entry(), ids.last().map_or(entries.next_entry(), |last| last + 1));
    }
    match entries.finish() {
        Ok(()) => Ok(ids),
        Err(error) => Err((ids, error.message)),
    }
}

fn failing(data: &[u8], index: &ObjectIndex, first: i64, last: i64) -> (Vec<i64>, String) {
    read(index.entries(first, last).unwrap(), data, 64).unwrap_err()
}

#[test]
fn every_range_is_read_in_pieces_of_any_size() {
    let (data, index) = object(20, BLOCK, entry);
    let index = ObjectIndex::parse(7, &index).unwrap();
    assert!(index.blocks.len() > 3, "{:?}", index.blocks);
    assert_eq!((index.last_entry, index.data_length, index.first_missing), (19, data.len() as u64, None));
    for first in 0..20 {
        for last in first..20 {
            let ids = read(index.entries(first, last).unwrap(), &data, 1 + (first * 20 + last) as usize);
            assert_eq!(ids, Ok((first..=last).collect()));
        }
    }
    for step in [1, 2, 11, 12, 13, 127, 128, 129, 399, 400, 401, data.len()] {
        assert_eq!(read(index.entries(2, 17).unwrap(), &data, step), Ok((2..=17).collect()));
    }
}

#[test]
fn only_the_blocks_of_the_range_are_fetched() {
    let (data, index) = object(20, BLOCK, entry);
    let index = ObjectIndex::parse(7, &index).unwrap();
    let second = index.blocks[1];
    let last = index.blocks[2].first_entry - 1;
    let entries = index.entries(second.first_entry, last).unwrap();
    assert_eq!((entries.start, entries.end), (second.offset, Some(second.end())));
    assert_eq!(index.entries(19, 19).unwrap().end, Some(data.len() as u64));
}

#[test]
fn the_error_names_an_entry_that_is_larger_than_a_block() {
    let (data, bytes) = object(10, BLOCK, |id| if id == 6 { vec![0; BLOCK] } else { entry(id) });
    let index = ObjectIndex::parse(7, &bytes).unwrap();
    assert_eq!((index.first_missing, index.last_entry), (Some(6), 9));
    assert_eq!(read(index.entries(0, 5).unwrap(), &data, 64), Ok((0..=5).collect()));
    for first in [0, 5] {
        let (ids, error) = failing(&data, &index, first, 9);
        assert_eq!(ids, (first..6).collect::<Vec<_>>());
        assert!(error.contains("expected entry 6 in the offloaded copy"), "{error}");
    }
    assert!(failing(&data, &index, 8, 9).1.contains("got none"));
}

#[test]
fn a_block_of_padding_inside_the_data_is_detected() {
    let blocks = [block(0, BLOCK, &[(0, entry(0))]), block(1, BLOCK, &[]), block(1, BLOCK, &[(1, entry(1))])];
    let data = blocks.concat();
    let index = ObjectIndex::parse(7, &index(1, data.len(), &[(0, 0), (1, BLOCK)])).unwrap();
    let whole = ObjectIndex::parse(7, &common::tiered::index(1, 2 * BLOCK, &[(0, 0), (1, BLOCK)])).unwrap();
    let (ids, error) = failing(&data, &whole, 0, 1);
    assert_eq!(ids, [0]);
    assert!(error.contains("message 7:1: expected entry 1") && error.contains("padding only"), "{error}");
    assert!(failing(&data, &index, 0, 1).1.contains("expected the header of the block"));
}

#[test]
fn missing_repeated_and_foreign_entries_are_detected() {
    let check = |ids: &[i64], good: &[i64], text: &str| {
        let entries: Vec<_> = ids.iter().map(|id| (*id, entry(*id))).collect();
        let data = block(0, 1000, &entries);
        let index = ObjectIndex::parse(7, &index(3, data.len(), &[(0, 0)])).unwrap();
        let (got, error) = failing(&data, &index, 0, 3);
        assert_eq!(got, good);
        assert!(error.contains(text), "{error}");
    };
    check(&[0, 1, 3], &[0, 1], "expected entry 2 in the offloaded copy, got none: entry 3 follows");
    check(&[0, 1, 1], &[0, 1], "expected entry 2");
    check(&[1, 2, 3], &[], "expected entry 0");
    check(
        &[0, 1, 2],
        &[0, 1, 2],
        "expected entry 3 in the offloaded copy, got none: the copy ends too early",
    );
    check(&[], &[], "padding only");
}

#[test]
fn damage_is_reported_at_its_entry() {
    let (data, bytes) = object(8, BLOCK, entry);
    let index = ObjectIndex::parse(7, &bytes).unwrap();
    let mut noticed = 0;
    for bit in 0..data.len() * 8 {
        let mut damaged = data.clone();
        damaged[bit / 8] ^= 1 << (bit % 8);
        match read(index.entries(0, 7).unwrap(), &damaged, 97) {
            // A flipped bit in the padding changes nothing, because the padding is not read.
            Ok(ids) => assert_eq!(ids, (0..8).collect::<Vec<_>>()),
            Err((ids, error)) => {
                assert_eq!(ids, (0..ids.len() as i64).collect::<Vec<_>>());
                assert!(error.starts_with(&format!("message 7:{}: ", ids.len())), "{ids:?} {error}");
                noticed += 1;
            }
        }
    }
    assert!(noticed > data.len() * 4, "{noticed}");
    for length in 0..data.len() {
        let ids = read(index.entries(0, 7).unwrap(), &data[..length], 50).unwrap_err().0;
        assert_eq!(ids, (0..ids.len() as i64).collect::<Vec<_>>());
    }
}

#[test]
fn an_index_that_contradicts_itself_is_refused() {
    let good = index(9, 800, &[(0, 0), (5, 400)]);
    assert!(ObjectIndex::parse(7, &good).is_ok());
    for length in 0..good.len() {
        assert!(ObjectIndex::parse(7, &good[..length]).is_err(), "{length}");
    }
    let refused = [
        index(9, 800, &[]),
        index(9, 800, &[(1, 0)]),
        index(9, 800, &[(0, 1)]),
        index(9, 800, &[(0, 0), (0, 400)]),
        index(9, 800, &[(0, 0), (10, 400)]),
        index(9, 800, &[(0, 0), (5, 0)]),
        index(9, 410, &[(0, 0), (5, 400)]),
        index(-1, 800, &[(0, 0)]),
    ];
    for bytes in refused {
        let error = ObjectIndex::parse(7, &bytes).unwrap_err();
        assert_eq!((error.kind, error.at.map(|at| at.ledger)), (ErrorKind::Corrupt, Some(7)), "{error}");
    }
    for bit in 0..good.len() * 8 {
        let mut damaged = good.clone();
        damaged[bit / 8] ^= 1 << (bit % 8);
        let _ = ObjectIndex::parse(7, &damaged).map(|index| index.entries(0, index.last_entry));
    }
    let index = ObjectIndex::parse(7, &good).unwrap();
    for (first, last) in [(-1, 3), (3, 2), (0, 10)] {
        assert!(index.entries(first, last).is_err());
    }
}

#[test]
fn a_streaming_offload_is_unsupported() {
    let error = ObjectIndex::parse(7, &[0x3d, 0x1f, 0xb0, 0xbc, 0, 0, 0, 0]).unwrap_err();
    assert_eq!(error.kind, ErrorKind::Unsupported);
}
