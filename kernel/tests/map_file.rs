//! Ledgers that were offloaded to a file system, read in pieces of every size.

use crate::common;
use crate::common::tiered::{bytes_writable, map_file, sequence_file};
use _kernel::ErrorKind;
use _kernel::error::KernelError;
use _kernel::tiered::map_file::MapFile;
use _kernel::tiered::sequence_file::Compression;

const ALL: [&str; 3] = ["NONE", "RECORD", "BLOCK"];
const HEADER: usize = 700;

fn entry(id: i64) -> Vec<u8> {
    common::batched_entry(1 + (id % 3) as usize)
}

fn read(data: &[u8], file: &MapFile, first: i64, last: i64, step: usize) -> (Vec<i64>, Option<KernelError>) {
    let mut entries = file.entries(first, last).unwrap();
    let end = entries.end.map_or(data.len(), |end| data.len().min(end as usize));
    let mut ids = Vec::new();
    for piece in data.get(entries.start as usize..end).unwrap_or_default().chunks(step) {
        match entries.feed(piece) {
            Ok(batch) => {
                for each in batch.entries {
                    assert_eq!((each.ledger, each.data), (7, entry(each.entry)));
                    ids.push(each.entry);
                }
            }
            Err(error) => return (ids, Some(error)),
        }
        if entries.is_done() {
            break;
        }
    }
    (ids, entries.finish().err())
}

fn opened(data: &[u8], index: &[u8]) -> MapFile {
    MapFile::parse(7, &data[..data.len().min(HEADER)], index).unwrap()
}

#[test]
fn every_range_is_read_in_pieces_of_any_size() {
    for (compression, group) in ALL.into_iter().flat_map(|each| [1, 4, 100].map(|group| (each, group))) {
        let (data, index) = map_file(compression, 15, group, entry);
        let file = opened(&data, &index);
        for first in 0..15 {
            for last in first..15 {
                let (ids, error) = read(&data, &file, first, last, 1 + (first * 20 + last) as usize);
                assert_eq!((ids, error), ((first..=last).collect(), None), "{compression} {group}");
            }
        }
        assert_eq!(read(&data, &file, 3, 12, 1).0, (3..=12).collect::<Vec<_>>());
        let (ids, error) = read(&data, &file, 3, 15, 50);
        assert_eq!(ids, (3..15).collect::<Vec<_>>());
        assert!(error.unwrap().message.contains("expected entry 15"));
    }
}

#[test]
fn the_index_leads_to_the_blocks_of_the_range() {
    let (data, index) = map_file("BLOCK", 40, 4, entry);
    let file = opened(&data, &index);
    assert_eq!(file.compression(), Compression::Block);
    assert_eq!((file.positions.len(), file.positions[0].0), (11, -1));
    let entries = file.entries(13, 14).unwrap();
    // The blocks have the keys -1 to 2, 3 to 6, 7 to 10, 11 to 14, and 15 to 18.
    // The range ends one block later, because an index may name a later key of a block than the first key.
    assert_eq!((entries.start, entries.end), (file.positions[3].1, Some(file.positions[5].1)));
    assert_eq!(file.entries(0, 39).unwrap().end, None);
}

#[test]
fn large_uncompressed_blocks_are_returned_in_parts() {
    let metadata = common::metadata();
    let large = |_: i64| common::entry(&metadata, &vec![b'x'; 3 << 20]);
    let (data, index) = map_file("BLOCK", 20, 3, large);
    assert!(data.len() < 1 << 20);
    let file = opened(&data, &index);
    let mut entries = file.entries(1, 18).unwrap();
    let (mut bytes, mut ids) = (&data[entries.start as usize..], Vec::new());
    loop {
        let batch = entries.feed(bytes).unwrap();
        assert!(batch.nbytes() < 32 << 20);
        ids.extend(batch.entries.iter().map(|each| each.entry));
        if !entries.has_more {
            break;
        }
        bytes = &[];
    }
    assert_eq!(ids, (1..=18).collect::<Vec<_>>());
    entries.finish().unwrap();
}

#[test]
fn an_index_may_name_keys_inside_blocks() {
    let (data, _) = map_file("BLOCK", 12, 4, entry);
    let blocks = opened(&data, &map_file("BLOCK", 12, 4, entry).1).positions.clone();
    let named = |key: i64, at: usize| (key, blocks[at].1.to_be_bytes().to_vec());
    let index = sequence_file("BLOCK", "LongWritable", &[named(-1, 0), named(5, 1), named(9, 2)], 2).0;
    let file = opened(&data, &index);
    for first in 0..12 {
        for last in first..12 {
            assert_eq!(read(&data, &file, first, last, 70), ((first..=last).collect(), None));
        }
    }
}

#[test]
fn gaps_before_the_range_are_detected() {
    for compression in ALL {
        let records: Vec<_> = [-1, 0, 1, 2, 4, 5, 6, 7]
            .map(|id| (id, if id < 0 { bytes_writable(b"") } else { bytes_writable(&entry(id)) }))
            .to_vec();
        let (data, _) = sequence_file(compression, "BytesWritable", &records, 2);
        let index = sequence_file("BLOCK", "LongWritable", &[], 1).0;
        let file = opened(&data, &index);
        for first in [0, 2, 6] {
            let (ids, error) = read(&data, &file, first, 7, 60);
            assert_eq!(ids, (first..3).collect::<Vec<_>>());
            let error = error.unwrap();
            assert!(error.message.contains("expected entry 3"), "{error}");
        }
    }
}

#[test]
fn damage_is_reported_at_its_entry() {
    for compression in ALL {
        let (data, index) = map_file(compression, 6, 3, entry);
        let file = opened(&data, &index);
        let mut noticed = 0;
        for bit in file.positions[0].1 as usize * 8..data.len() * 8 {
            let mut damaged = data.clone();
            damaged[bit / 8] ^= 1 << (bit % 8);
            let (ids, error) = read(&damaged, &file, 0, 5, 97);
            assert_eq!(ids, (0..ids.len() as i64).collect::<Vec<_>>());
            noticed += usize::from(error.is_some());
            let place = format!("message 7:{}: ", ids.len());
            let error_text = error.map_or(place.clone(), |error| error.message);
            assert!(error_text.starts_with(&place), "{compression}: {place} {error_text}");
        }
        let bits = (data.len() - file.positions[0].1 as usize) * 8;
        assert!(noticed > bits * 9 / 10, "{compression}: {noticed} of {bits}");
        for length in 0..data.len() {
            assert!(read(&data[..length], &file, 0, 5, 50).1.is_some());
        }
    }
}

#[test]
fn invalid_headers_and_indexes_are_refused() {
    let (data, index) = map_file("BLOCK", 15, 4, entry);
    let refused = |data: &[u8], index: &[u8]| MapFile::parse(7, data, index).unwrap_err();
    let header = opened(&data, &index).positions[0].1 as usize;
    for length in 0..header {
        assert_eq!(refused(&data[..length], &index).kind, ErrorKind::Corrupt);
    }
    for length in 0..index.len() {
        let _ = MapFile::parse(7, &data, &index[..length]);
    }
    assert!(refused(&data, &index[..index.len() - 1]).message.contains("ends inside a record"));
    assert!(refused(&index, &data).message.contains("the file data: expected values of"));
    assert!(refused(&data, &data).message.contains("the file index: expected values of"));
    let rows = |rows: &[(i64, u64)]| {
        let records: Vec<_> = rows.iter().map(|(key, at)| (*key, at.to_be_bytes().to_vec())).collect();
        sequence_file("BLOCK", "LongWritable", &records, 2).0
    };
    for index in [rows(&[(0, 5)]), rows(&[(0, 900), (0, 1000)]), rows(&[(0, 900), (3, 900)])] {
        assert!(refused(&data, &index).message.contains("in order"), "{}", refused(&data, &index));
    }
    let gzip = String::from_utf8_lossy(&data[..header]).into_owned();
    assert!(gzip.contains("DefaultCodec"));
    let mut other = data.clone();
    let at = data.windows(12).position(|window| window == b"DefaultCodec").unwrap();
    other[at..at + 12].copy_from_slice(b"SnappiyCodec");
    assert_eq!(refused(&other, &index).kind, ErrorKind::Unsupported);
    for bit in 0..index.len() * 8 {
        let mut damaged = index.clone();
        damaged[bit / 8] ^= 1 << (bit % 8);
        let _ = MapFile::parse(7, &data, &damaged).map(|file| read(&data, &file, 0, 14, 97));
    }
}
