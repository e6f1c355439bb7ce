//! The class `Backlog`, which counts entries.

use pyo3::prelude::*;

use super::entries::PyEntryBatch;
use crate::backlog;
use crate::selection::Position;
use crate::selection::row_filter::RowFilter;

/// The Python class, which is documented in `_kernel.pyi`.
#[pyclass(name = "Backlog", module = "pyspark_pulsar._kernel")]
pub struct PyBacklog(backlog::Backlog);

#[pymethods]
impl PyBacklog {
    #[new]
    #[pyo3(signature = (*, published_from=None))]
    fn new(published_from: Option<i64>) -> Self {
        Self(backlog::Backlog::new(RowFilter { published_from, ..RowFilter::default() }))
    }

    fn add(&mut self, py: Python<'_>, entries: &mut PyEntryBatch) -> (u64, u64) {
        let entries = &mut entries.0;
        py.detach(|| self.0.add(entries))
    }

    fn drop_before(&mut self, position: Position) {
        self.0.drop_before(position);
    }

    #[pyo3(signature = (start, end, *, messages=u64::MAX, nbytes=u64::MAX, at_least_one=false))]
    fn take(
        &self,
        py: Python<'_>,
        start: Position,
        end: Position,
        messages: u64,
        nbytes: u64,
        at_least_one: bool,
    ) -> (Position, u64, u64) {
        let taken = py.detach(|| self.0.take(start, end, (messages, nbytes), at_least_one));
        (taken.end, taken.messages, taken.bytes)
    }
}
