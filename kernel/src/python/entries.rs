//! The classes `EntryBatch` and `FrameDecoder`.

use pyo3::prelude::*;
use pyo3::types::PyBytes;

use crate::bookie::compacted;
use crate::entry::{self, Entry};
use crate::frame;
use crate::origin;
use crate::selection::{Position, Range, Selection};

/// A result of `EntryBatch.origins`; `_kernel.pyi` documents it.
type PyOrigin = ((i64, i64), Option<i64>, Option<String>, Option<(i64, i64)>);

/// The Python class, which is documented in `_kernel.pyi`.
#[pyclass(name = "EntryBatch", module = "pyspark_pulsar._kernel")]
#[derive(Default)]
pub struct PyEntryBatch(pub entry::EntryBatch);

#[pymethods]
impl PyEntryBatch {
    #[new]
    fn new() -> Self {
        Self::default()
    }

    fn __len__(&self) -> usize {
        self.0.entries.len()
    }

    fn push(&mut self, ledger: i64, entry: i64, data: &[u8]) {
        self.0.push(Entry::new(ledger, entry, data.to_vec()));
    }

    #[getter]
    fn nbytes(&self) -> usize {
        self.0.nbytes()
    }

    #[getter]
    fn num_messages(&self) -> usize {
        self.0.num_messages()
    }

    #[getter]
    fn published(&self) -> Option<(i64, i64)> {
        self.0.published()
    }

    #[getter]
    fn first(&self) -> Option<(i64, i64)> {
        self.0.entries.first().map(|e| (e.ledger, e.entry))
    }

    #[getter]
    fn last(&self) -> Option<(i64, i64)> {
        self.0.entries.last().map(|e| (e.ledger, e.entry))
    }

    #[getter]
    fn unfiltered(&self) -> bool {
        self.0.unfiltered
    }

    #[setter]
    fn set_unfiltered(&mut self, unfiltered: bool) {
        self.0.unfiltered = unfiltered;
    }

    fn schema_versions<'py>(&mut self, py: Python<'py>) -> PyResult<Vec<Bound<'py, PyBytes>>> {
        let versions = py.detach(|| self.0.schema_versions(&Selection::default()))?;
        Ok(versions.iter().map(|version| PyBytes::new(py, version)).collect())
    }

    fn trim(&mut self, start: Position, end: Position) {
        self.0.trim(&Range { start: Some(start), end: Some(end) });
    }

    fn gaps(&self, following: (i64, i64)) -> Vec<((i64, i64), (i64, i64))> {
        self.0.gaps(following)
    }

    fn origins(&self, py: Python<'_>) -> Vec<PyOrigin> {
        let origins = py.detach(|| origin::origins(&self.0));
        origins.into_iter().map(|o| (o.at, o.published, o.cluster, o.source)).collect()
    }

    #[pyo3(signature = (after=None))]
    fn unwrap_compacted(&mut self, py: Python<'_>, after: Option<(i64, i64)>) -> PyResult<()> {
        Ok(py.detach(|| compacted::unwrap(&mut self.0, after))?)
    }
}

/// The Python class, which is documented in `_kernel.pyi`.
#[pyclass(name = "FrameDecoder", module = "pyspark_pulsar._kernel")]
pub struct PyFrameDecoder(frame::FrameDecoder);

#[pymethods]
impl PyFrameDecoder {
    #[new]
    fn new(max_frame_bytes: usize) -> Self {
        Self(frame::FrameDecoder::new(max_frame_bytes))
    }

    fn feed<'py>(&mut self, py: Python<'py>, data: &[u8]) -> PyResult<Vec<Bound<'py, PyBytes>>> {
        let commands = py.detach(|| self.0.feed(data))?;
        Ok(commands.iter().map(|command| PyBytes::new(py, command)).collect())
    }

    fn take_entries(&mut self, consumer_id: u64) -> Option<PyEntryBatch> {
        self.0.take_entries(consumer_id).map(PyEntryBatch)
    }

    fn first_entry(&self, consumer_id: u64) -> Option<(i64, i64)> {
        self.0.first_entry(consumer_id)
    }

    fn buffered_bytes(&self) -> usize {
        self.0.buffered_bytes()
    }

    fn add_consumer(&mut self, consumer_id: u64) {
        self.0.add_consumer(consumer_id);
    }

    fn drop_consumer(&mut self, consumer_id: u64) {
        self.0.drop_consumer(consumer_id);
    }
}
