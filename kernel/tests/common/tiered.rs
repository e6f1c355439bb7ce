//! Builders of the files and objects that Pulsar's offloaders write.

use std::io::Write;

use _kernel::wire::{put_bytes, put_number};
use flate2::Compression;
use flate2::write::ZlibEncoder;

const SYNC: [u8; 16] = *b"0123456789abcdef";
const ENTRY_HEADER: usize = 12;
const HEADER: usize = 128;

/// Return a block that is padded to `length` bytes. The block is longer than `length` if its entries need
/// more space.
pub fn block(first_entry: i64, length: usize, entries: &[(i64, Vec<u8>)]) -> Vec<u8> {
    let mut out = 0xfbdb_abcbu32.to_be_bytes().to_vec();
    out.extend_from_slice(&128i64.to_be_bytes());
    out.extend_from_slice(&(length as i64).to_be_bytes());
    out.extend_from_slice(&first_entry.to_be_bytes());
    out.resize(HEADER, 0);
    for (id, data) in entries {
        out.extend_from_slice(&(data.len() as u32).to_be_bytes());
        out.extend_from_slice(&id.to_be_bytes());
        out.extend_from_slice(data);
    }
    let padding = [0xfe, 0xdc, 0xde, 0xad].into_iter().cycle();
    out.extend(padding.take(length.saturating_sub(out.len())));
    out
}

/// Return an index of the blocks `(first entry, offset)`. A negative `last_entry` is omitted.
pub fn index(last_entry: i64, data_length: usize, blocks: &[(i64, usize)]) -> Vec<u8> {
    let mut metadata = Vec::new();
    put_number(&mut metadata, 1, 2);
    put_number(&mut metadata, 3, 1_000_000);
    if last_entry >= 0 {
        put_number(&mut metadata, 4, last_entry as u64);
    }
    put_number(&mut metadata, 5, 3);
    put_bytes(&mut metadata, 8, b"");
    let mut out = 0xde47_de47u32.to_be_bytes().to_vec();
    out.extend_from_slice(&((32 + metadata.len() + blocks.len() * 20) as u32).to_be_bytes());
    out.extend_from_slice(&(data_length as u64).to_be_bytes());
    out.extend_from_slice(&128u64.to_be_bytes());
    out.extend_from_slice(&(blocks.len() as u32).to_be_bytes());
    out.extend_from_slice(&(metadata.len() as u32).to_be_bytes());
    out.extend_from_slice(&metadata);
    for (part, (first, offset)) in blocks.iter().enumerate() {
        out.extend_from_slice(&first.to_be_bytes());
        out.extend_from_slice(&(part as u32 + 1).to_be_bytes());
        out.extend_from_slice(&(*offset as u64).to_be_bytes());
    }
    out
}

/// Return the data object and the index object of the entries 0 to `count` - 1, in blocks of at most `block_size`.
///
/// The objects have the same bytes as the objects of the offloader. As in the offloader, an entry that is
/// larger than a block is lost.
pub fn object(count: i64, block_size: usize, entry: impl Fn(i64) -> Vec<u8>) -> (Vec<u8>, Vec<u8>) {
    let (mut data, mut table) = (Vec::new(), Vec::new());
    let mut next = 0;
    while next < count {
        let whole: usize = (next..count).map(|id| ENTRY_HEADER + entry(id).len()).sum();
        let length = block_size.min(HEADER + whole);
        table.push((next, data.len()));
        let (mut used, mut entries) = (HEADER, Vec::new());
        for id in next..count {
            used += ENTRY_HEADER + entry(id).len();
            if used > length {
                break;
            }
            entries.push((id, entry(id)));
        }
        if entries.is_empty() {
            let bytes = index(count - 1, data.len(), &table);
            data.extend(block(next, length, &[]));
            return (data, bytes);
        }
        data.extend(block(next, length, &entries));
        next += entries.len() as i64;
    }
    let bytes = index(count - 1, data.len(), &table);
    (data, bytes)
}

/// Return a value of a SequenceFile, as `BytesWritable` writes it.
pub fn bytes_writable(data: &[u8]) -> Vec<u8> {
    [&(data.len() as u32).to_be_bytes(), data].concat()
}

fn text(out: &mut Vec<u8>, text: &str) {
    vint(out, text.len());
    out.extend_from_slice(text.as_bytes());
}

fn vint(out: &mut Vec<u8>, value: usize) {
    if value <= 127 {
        return out.push(value as u8);
    }
    let bytes = (value as u64).to_be_bytes();
    let used = 8 - bytes.iter().take_while(|byte| **byte == 0).count();
    out.push((-112 - used as i8) as u8);
    out.extend_from_slice(&bytes[8 - used..]);
}

fn deflated(data: &[u8]) -> Vec<u8> {
    let mut out = ZlibEncoder::new(Vec::new(), Compression::default());
    out.write_all(data).unwrap();
    out.finish().unwrap()
}

/// Return a SequenceFile of `records`, and the position of each group.
///
/// A group of `group` records is a block, or the records between two sync markers.
pub fn sequence_file(
    compression: &str,
    values: &str,
    records: &[(i64, Vec<u8>)],
    group: usize,
) -> (Vec<u8>, Vec<(i64, Vec<u8>)>) {
    let mut out = b"SEQ\x06".to_vec();
    text(&mut out, "org.apache.hadoop.io.LongWritable");
    text(&mut out, &format!("org.apache.hadoop.io.{values}"));
    out.push(u8::from(compression != "NONE"));
    out.push(u8::from(compression == "BLOCK"));
    if compression != "NONE" {
        text(&mut out, "org.apache.hadoop.io.compress.DefaultCodec");
    }
    out.extend_from_slice(&1u32.to_be_bytes());
    text(&mut out, "name");
    text(&mut out, &"v".repeat(300));
    out.extend_from_slice(&SYNC);
    let mut positions = Vec::new();
    for records in records.chunks(group) {
        positions.push((records[0].0, (out.len() as u64).to_be_bytes().to_vec()));
        if compression == "BLOCK" || positions.len() > 1 {
            out.extend_from_slice(&[0xff; 4]);
            out.extend_from_slice(&SYNC);
        }
        if compression == "BLOCK" {
            put_block(&mut out, records)
        } else {
            put_records(&mut out, compression, records)
        }
    }
    (out, positions)
}

fn put_block(out: &mut Vec<u8>, records: &[(i64, Vec<u8>)]) {
    let mut parts = [const { Vec::new() }; 4];
    for (key, value) in records {
        vint(&mut parts[0], 8);
        parts[1].extend_from_slice(&key.to_be_bytes());
        vint(&mut parts[2], value.len());
        parts[3].extend_from_slice(value);
    }
    vint(out, records.len());
    for part in parts {
        let part = deflated(&part);
        vint(out, part.len());
        out.extend(part);
    }
}

fn put_records(out: &mut Vec<u8>, compression: &str, records: &[(i64, Vec<u8>)]) {
    for (key, value) in records {
        let value = if compression == "RECORD" { deflated(value) } else { value.clone() };
        out.extend_from_slice(&(8 + value.len() as u32).to_be_bytes());
        out.extend_from_slice(&8u32.to_be_bytes());
        out.extend_from_slice(&key.to_be_bytes());
        out.extend(value);
    }
}

/// Return the files `data` and `index` of the entries 0 to `count` - 1.
pub fn map_file(
    compression: &str,
    count: i64,
    group: usize,
    entry: impl Fn(i64) -> Vec<u8>,
) -> (Vec<u8>, Vec<u8>) {
    let mut records = vec![(-1, bytes_writable(b"metadata"))];
    records.extend((0..count).map(|id| (id, bytes_writable(&entry(id)))));
    let (data, positions) = sequence_file(compression, "BytesWritable", &records, group);
    (data, sequence_file("BLOCK", "LongWritable", &positions, 3).0)
}
