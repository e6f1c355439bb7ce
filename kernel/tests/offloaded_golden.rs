//! Ledgers that Pulsar 4.0.8 offloaded to S3 and to a file system.
//!
//! The files `object` and `object-index` are from S3. `lossy-index` is the index of a ledger whose entry 3 is larger
//! than a block. The files `map-data` and `map-index` are from a file system with the server's own settings.

use _kernel::entry::EntryBatch;
use _kernel::tiered::StoredEntries;
use _kernel::tiered::map_file::MapFile;
use _kernel::tiered::object::ObjectIndex;
use _kernel::tiered::sequence_file::Compression;

macro_rules! stored {
    ($name:literal) => {
        include_bytes!(concat!("data/offloaded/", $name)).as_slice()
    };
}

fn read(mut entries: StoredEntries, bytes: &[u8], step: usize) -> Vec<EntryBatch> {
    let end = entries.end.map_or(bytes.len(), |end| end as usize);
    let mut out = Vec::new();
    for piece in bytes[entries.start as usize..end].chunks(step) {
        out.push(entries.feed(piece).unwrap());
    }
    entries.finish().unwrap();
    out
}

/// Check that `batches` contain `count` entries of three messages, and `size` bytes as the broker reported.
fn check(batches: &[EntryBatch], count: usize, size: usize) {
    let ids: Vec<_> = batches.iter().flat_map(|batch| batch.entries.iter().map(|each| each.entry)).collect();
    assert_eq!(ids, (0..count as i64).collect::<Vec<_>>());
    assert_eq!(batches.iter().map(EntryBatch::nbytes).sum::<usize>(), size);
    assert_eq!(batches.iter().map(EntryBatch::num_messages).sum::<usize>(), count * 3);
}

#[test]
fn an_offloaded_object_is_read() {
    let index = ObjectIndex::parse(784, stored!("object-index")).unwrap();
    let data = stored!("object");
    assert_eq!((index.last_entry, index.data_length), (11, data.len() as u64));
    for step in [1, 100, data.len()] {
        check(&read(index.entries(0, 11).unwrap(), data, step), 12, 1748);
    }
}

#[test]
fn an_offloaded_map_file_is_read() {
    let data = stored!("map-data");
    let file = MapFile::parse(792, data, stored!("map-index")).unwrap();
    assert_eq!(
        (file.compression(), file.positions.first().map(|each| each.0)),
        (Compression::Block, Some(-1))
    );
    for step in [1, 100, data.len()] {
        check(&read(file.entries(0, 11).unwrap(), data, step), 12, 1760);
    }
}

#[test]
fn an_index_without_an_entry_reports_the_first_missing_entry() {
    let index = ObjectIndex::parse(776, stored!("lossy-index")).unwrap();
    assert_eq!((index.first_missing, index.last_entry, index.data_length), (Some(3), 6, 5_242_880));
}
