//! The payloads behind an unfinished batch, kept to decode them once more when the batch fails.

use crate::error::KernelError;
use crate::payload_schema::is_same_version;

/// Payload bytes and schema versions in row order; a null value has no bytes.
#[derive(Debug, Default)]
pub struct Payloads {
    bytes: Vec<u8>,
    rows: Vec<PayloadRow>,
    /// Distinct versions, in order of first sight.
    versions: Vec<Vec<u8>>,
    /// Why rows, ascending, are bad whatever their payload is.
    faults: Vec<(usize, KernelError)>,
}

#[derive(Debug)]
struct PayloadRow {
    /// End offset in `bytes`.
    end: usize,
    is_null: bool,
    /// Index in `versions`.
    version: usize,
}

impl Payloads {
    /// Keep the next row's payload.
    pub fn push(&mut self, payload: Option<&[u8]>, version: &[u8]) {
        self.bytes.extend_from_slice(payload.unwrap_or_default());
        let version = self.index_of(version);
        self.rows.push(PayloadRow { end: self.bytes.len(), is_null: payload.is_none(), version });
    }

    /// The row that was pushed last is bad.
    pub fn mark_bad(&mut self, fault: KernelError) {
        self.faults.push((self.rows.len().saturating_sub(1), fault));
    }

    /// Why a row is bad whatever its payload is.
    pub fn fault(&self, row: usize) -> Option<&KernelError> {
        let index = self.faults.binary_search_by_key(&row, |(row, _)| *row).ok()?;
        self.faults.get(index).map(|(_, fault)| fault)
    }

    /// Rows.
    pub fn len(&self) -> usize {
        self.rows.len()
    }

    /// The payload of a row; `None` for a null value.
    pub fn payload(&self, row: usize) -> Option<&[u8]> {
        let payload = self.rows.get(row).filter(|payload| !payload.is_null)?;
        let start =
            row.checked_sub(1).and_then(|before| self.rows.get(before)).map_or(0, |before| before.end);
        self.bytes.get(start..payload.end)
    }

    /// The schema version of a row.
    pub fn version(&self, row: usize) -> &[u8] {
        let version = self.rows.get(row).and_then(|payload| self.versions.get(payload.version));
        version.map_or(&[], Vec::as_slice)
    }

    /// Forget all rows, keeping the memory.
    pub fn clear(&mut self) {
        self.bytes.clear();
        self.rows.clear();
        self.versions.clear();
        self.faults.clear();
    }

    fn index_of(&mut self, version: &[u8]) -> usize {
        // Neighbours mostly share their version, and a batch holds few.
        let last = self.rows.last().map(|payload| payload.version);
        let same =
            |index: &usize| self.versions.get(*index).is_some_and(|known| is_same_version(known, version));
        if let Some(index) = last.filter(same).or_else(|| self.versions.iter().position(|v| v == version)) {
            return index;
        }
        self.versions.push(version.to_vec());
        self.versions.len() - 1
    }
}
