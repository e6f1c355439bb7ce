//! Ledgers as Pulsar 4.0.8 offloaded them: to S3 (`object`, `object-index`; `lossy-index` is that of a ledger whose entry
//! 3 fits no block) and to a file system as the server's own settings say (`map-data`, `map-index`).

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

/// All of `count` entries of three messages each, as long together as the broker said.
fn check(batches: &[EntryBatch], count: usize, size: usize) {
    let ids: Vec<_> = batches.iter().flat_map(|batch| batch.entries.iter().map(|each| each.entry)).collect();
    assert_eq!(ids, (0..count as i64).collect::<Vec<_>>());
    assert_eq!(batches.iter().map(EntryBatch::nbytes).sum::<usize>(), size);
    assert_eq!(batches.iter().map(EntryBatch::num_messages).sum::<usize>(), count * 3);
}

#[test]
fn an_object_of_the_offloader() {
    let index = ObjectIndex::parse(784, stored!("object-index")).unwrap();
    let data = stored!("object");
    assert_eq!((index.last_entry, index.data_length), (11, data.len() as u64));
    for step in [1, 100, data.len()] {
        check(&read(index.entries(0, 11).unwrap(), data, step), 12, 1748);
    }
}

#[test]
fn a_map_file_of_the_offloader() {
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
fn an_index_of_an_offloader_that_lost_entries() {
    let index = ObjectIndex::parse(776, stored!("lossy-index")).unwrap();
    assert_eq!((index.first_missing, index.last_entry, index.data_length), (Some(3), 6, 5_242_880));
}
