//! The class `LedgerFrames`, which reads the bytes of bookies.

use pyo3::prelude::*;
use pyo3::types::PyBytes;

use super::entries::PyEntryBatch;
use crate::bookie::digest::Digest;
use crate::bookie::frames;

/// Request id, entry, code and count of an outcome.
type PyReadOutcome = (Option<i64>, i64, i32, u32);

/// The Python class, which is documented in `_kernel.pyi`.
#[pyclass(name = "LedgerFrames", module = "pyspark_pulsar._kernel")]
pub struct PyLedgerFrames(frames::LedgerFrames);

#[pymethods]
impl PyLedgerFrames {
    #[new]
    #[pyo3(signature = (ledger, first, last, *, digest, max_frame_bytes))]
    fn new(
        ledger: i64,
        first: i64,
        last: i64,
        digest: Option<&str>,
        max_frame_bytes: usize,
    ) -> PyResult<Self> {
        let digest = Digest::from_name(digest)?;
        Ok(Self(frames::LedgerFrames::new(ledger, first, last, digest, max_frame_bytes)))
    }

    #[getter]
    fn next(&self) -> i64 {
        self.0.next()
    }

    #[getter]
    fn buffered_bytes(&self) -> usize {
        self.0.buffered_bytes()
    }

    #[getter]
    fn groups(&self) -> u64 {
        self.0.groups()
    }

    #[pyo3(signature = (first, stop, step, size = 1))]
    fn missing(&self, first: i64, stop: i64, step: usize, size: usize) -> usize {
        self.0.missing(first, stop, step, size)
    }

    #[pyo3(signature = (first, stop, step, size = 1))]
    fn read_requests<'py>(
        &self,
        py: Python<'py>,
        first: i64,
        stop: i64,
        step: usize,
        size: usize,
    ) -> Bound<'py, PyBytes> {
        PyBytes::new(py, &self.0.read_requests(first, stop, step, size))
    }

    fn batch_request<'py>(
        &self,
        py: Python<'py>,
        first: i64,
        stop: i64,
        request_id: i64,
        max_bytes: i64,
    ) -> Bound<'py, PyBytes> {
        PyBytes::new(py, &self.0.batch_request(first, stop, request_id, max_bytes))
    }

    fn feed(&mut self, py: Python<'_>, connection: u32, data: &[u8]) -> PyResult<Vec<PyReadOutcome>> {
        let outcomes = py.detach(|| self.0.feed(connection, data))?;
        Ok(outcomes.iter().map(|read| (read.request_id, read.entry, read.code, read.count)).collect())
    }

    fn forget(&mut self, connection: u32) {
        self.0.forget(connection);
    }

    fn take(&mut self) -> Option<PyEntryBatch> {
        self.0.take().map(PyEntryBatch)
    }
}
