//! The payloads of an unfinished batch, which are stored so that a failed batch can be decoded again.

use crate::error::KernelError;
use crate::payload_schema::is_same_version;

/// The payloads and schema versions of rows, in the order of the rows. No bytes are stored for a null value.
#[derive(Debug, Default)]
pub struct Payloads {
    bytes: Vec<u8>,
    rows: Vec<PayloadRow>,
    /// Distinct versions, in the order of their first rows.
    versions: Vec<Vec<u8>>,
    /// Rows that are bad even if their payload can be decoded, in ascending order, with the reasons.
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
    /// Stores the payload of the next row.
    pub fn push(&mut self, payload: Option<&[u8]>, version: &[u8]) {
        self.bytes.extend_from_slice(payload.unwrap_or_default());
        let version = self.index_of(version);
        self.rows.push(PayloadRow { end: self.bytes.len(), is_null: payload.is_none(), version });
    }

    /// Marks the last row as bad.
    pub fn mark_bad(&mut self, fault: KernelError) {
        self.faults.push((self.rows.len().saturating_sub(1), fault));
    }

    /// Returns the reason why a row is bad even if its payload can be decoded.
    pub fn fault(&self, row: usize) -> Option<&KernelError> {
        let index = self.faults.binary_search_by_key(&row, |(row, _)| *row).ok()?;
        self.faults.get(index).map(|(_, fault)| fault)
    }

    /// Returns the number of rows.
    pub fn len(&self) -> usize {
        self.rows.len()
    }

    /// Returns the payload of a row, or `None` for a null value.
    pub fn payload(&self, row: usize) -> Option<&[u8]> {
        let payload = self.rows.get(row).filter(|payload| !payload.is_null)?;
        let start =
            row.checked_sub(1).and_then(|before| self.rows.get(before)).map_or(0, |before| before.end);
        self.bytes.get(start..payload.end)
    }

    /// Returns the schema version of a row.
    pub fn version(&self, row: usize) -> &[u8] {
        let version = self.rows.get(row).and_then(|payload| self.versions.get(payload.version));
        version.map_or(&[], Vec::as_slice)
    }

    /// Removes all rows, but keeps the allocated memory.
    pub fn clear(&mut self) {
        self.bytes.clear();
        self.rows.clear();
        self.versions.clear();
        self.faults.clear();
    }

    fn index_of(&mut self, version: &[u8]) -> usize {
        // Adjacent rows usually have the same version, and a batch has few versions.
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
