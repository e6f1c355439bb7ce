//! The classes `ObjectIndex`, `MapFile` and `StoredEntries`, which read ledgers in tiered storage.

use pyo3::prelude::*;

use super::entries::PyEntryBatch;
use crate::tiered::{self, map_file, object};

/// The Python class, which is documented in `_kernel.pyi`.
#[pyclass(name = "ObjectIndex", frozen, module = "pyspark_pulsar._kernel")]
pub struct PyObjectIndex(object::ObjectIndex);

#[pymethods]
impl PyObjectIndex {
    #[new]
    fn new(ledger: i64, data: &[u8]) -> PyResult<Self> {
        Ok(Self(object::ObjectIndex::parse(ledger, data)?))
    }

    #[getter]
    fn data_length(&self) -> u64 {
        self.0.data_length
    }

    #[getter]
    fn last_entry(&self) -> i64 {
        self.0.last_entry
    }

    #[getter]
    fn first_missing(&self) -> Option<i64> {
        self.0.first_missing
    }

    #[getter]
    fn blocks(&self) -> Vec<(i64, u64)> {
        self.0.blocks.iter().map(|block| (block.first_entry, block.offset)).collect()
    }

    fn entries(&self, first: i64, last: i64) -> PyResult<PyStoredEntries> {
        Ok(PyStoredEntries(self.0.entries(first, last)?))
    }
}

/// The Python class, which is documented in `_kernel.pyi`.
#[pyclass(name = "MapFile", frozen, module = "pyspark_pulsar._kernel")]
pub struct PyMapFile(map_file::MapFile);

#[pymethods]
impl PyMapFile {
    #[new]
    fn new(py: Python<'_>, ledger: i64, data: &[u8], index: &[u8]) -> PyResult<Self> {
        Ok(Self(py.detach(|| map_file::MapFile::parse(ledger, data, index))?))
    }

    #[getter]
    fn blocks(&self) -> Vec<(i64, u64)> {
        self.0.positions.clone()
    }

    fn entries(&self, first: i64, last: i64) -> PyResult<PyStoredEntries> {
        Ok(PyStoredEntries(self.0.entries(first, last)?))
    }
}

/// The Python class, which is documented in `_kernel.pyi`.
#[pyclass(name = "StoredEntries", module = "pyspark_pulsar._kernel")]
pub struct PyStoredEntries(tiered::StoredEntries);

#[pymethods]
impl PyStoredEntries {
    #[getter]
    fn start(&self) -> u64 {
        self.0.start
    }

    #[getter]
    fn end(&self) -> Option<u64> {
        self.0.end
    }

    #[getter]
    fn next_entry(&self) -> i64 {
        self.0.next_entry()
    }

    #[getter]
    fn is_done(&self) -> bool {
        self.0.is_done()
    }

    #[getter]
    fn has_more(&self) -> bool {
        self.0.has_more
    }

    fn feed(&mut self, py: Python<'_>, data: &[u8]) -> PyResult<PyEntryBatch> {
        Ok(PyEntryBatch(py.detach(|| self.0.feed(data))?))
    }

    fn finish(&self) -> PyResult<()> {
        Ok(self.0.finish()?)
    }
}
