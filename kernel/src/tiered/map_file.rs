//! A ledger in a file system: Hadoop's MapFile, the SequenceFiles `data` and `index`.
//!
//! `data` maps entry ids to entries (`LongWritable` to `BytesWritable`), sorted by entry id. The first key is -1, and
//! its value is the ledger's metadata. `index` maps some of the keys to positions in `data`: the position of the key's
//! record, or of the block that contains the record.

use super::object::split_i64;
use super::sequence_file::{Compression, Header, Records, Sink};
use super::{EntryRange, Layout, StoredEntries};
use crate::error::{KernelError, MessageRef, Result};

const DATA_VALUES: &str = "org.apache.hadoop.io.BytesWritable";
const INDEX_VALUES: &str = "org.apache.hadoop.io.LongWritable";

/// The index of a ledger's file `data`: its header, and the positions of some entries.
#[derive(Debug)]
pub struct MapFile {
    ledger: i64,
    header: Header,
    /// Keys and their positions in `data`; both ascend.
    pub positions: Vec<(i64, u64)>,
}

impl MapFile {
    /// Parses the beginning of `data` and the whole `index`; the first 64 KiB of `data` always contain its header.
    pub fn parse(ledger: i64, data: &[u8], index: &[u8]) -> Result<Self> {
        let place = MessageRef { ledger, entry: -1, batch_index: -1 };
        let header = header(data, DATA_VALUES).map_err(|e| e.within("the file data").at(place))?;
        let positions =
            positions(index, header.length as u64).map_err(|e| e.within("the file index").at(place))?;
        Ok(Self { ledger, header, positions })
    }

    /// Returns the compression of `data`.
    pub fn compression(&self) -> Compression {
        self.header.compression
    }

    /// Returns a reader of the entries `first` to `last`, both inclusive.
    pub fn entries(&self, first: i64, last: i64) -> Result<StoredEntries> {
        if first < 0 || last < first {
            return Err(KernelError::corrupt(format!(
                "expected a range of entries of ledger {}, got {first} to {last}",
                self.ledger
            )));
        }
        let before = self.positions.partition_point(|(key, _)| *key <= first).checked_sub(1);
        let start = before.and_then(|at| self.positions.get(at)).map(|(_, position)| *position);
        // The block at the first position after `last` may also contain earlier keys, but the second block cannot.
        let after = self.positions.partition_point(|(key, _)| *key <= last);
        let end = self.positions.get(after.saturating_add(1)).map(|(_, position)| *position);
        let range = EntryRange::new(self.ledger, first, last, None);
        let start = start.unwrap_or(self.header.length as u64);
        Ok(StoredEntries::new(start, end, Layout::Records(Records::new(self.header.clone())), range))
    }
}

fn header(data: &[u8], values: &str) -> Result<Header> {
    let header = Header::parse(data)?;
    if header.value_class != values {
        return Err(KernelError::corrupt(format!(
            "expected values of {values}, got {:?}",
            header.value_class
        )));
    }
    Ok(header)
}

fn positions(index: &[u8], least: u64) -> Result<Vec<(i64, u64)>> {
    let header = header(index, INDEX_VALUES)?;
    let records = index.get(header.length..).unwrap_or_default();
    let mut positions = Positions { least, rows: Vec::new() };
    let mut used = 0;
    Records::new(header).split(records, &mut positions, &mut used)?;
    if used < records.len() {
        return Err(KernelError::corrupt(format!("the file ends inside a record, at byte {}", index.len())));
    }
    Ok(positions.rows)
}

struct Positions {
    least: u64,
    rows: Vec<(i64, u64)>,
}

impl Sink for Positions {
    fn wants(&self, _: i64) -> bool {
        true
    }

    fn is_done(&self) -> bool {
        false
    }

    fn is_full(&self) -> bool {
        false
    }

    fn record(&mut self, key: i64, value: &[u8]) -> Result<()> {
        let position = split_i64(value).filter(|(_, rest)| rest.is_empty()).map(|(position, _)| position);
        let position = position.and_then(|position| u64::try_from(position).ok());
        let least = self.rows.last().map_or((i64::MIN, self.least.saturating_sub(1)), |row| *row);
        match position {
            Some(position) if key > least.0 && position > least.1 => self.rows.push((key, position)),
            _ => {
                return Err(KernelError::corrupt(format!(
                    "expected keys and positions in order, after {least:?}, got key {key} at {position:?}"
                )));
            }
        }
        Ok(())
    }

    fn skipped(&mut self, _: &mut dyn Iterator<Item = i64>) -> Result<()> {
        Ok(())
    }
}
