//! The Python interface of the kernel, and the only module that uses `pyo3`.
//!
//! `_kernel.pyi` documents the interface. Functions that do real work release the interpreter lock, after
//! they have copied or moved their arguments.

mod backlog;
mod bookie;
mod capsule;
mod checksum;
mod decoder;
mod encoder;
mod entries;
mod payload_schema;
mod slots;
mod tiered;

use pyo3::exceptions::PyException;
use pyo3::prelude::*;

use crate::error::KernelError;

pyo3::create_exception!(_kernel, KernelException, PyException);

impl From<KernelError> for PyErr {
    fn from(error: KernelError) -> Self {
        Python::attach(|py| {
            let exception = KernelException::new_err(error.message.clone());
            let value = exception.value(py);
            let (ledger, entry, batch_index) =
                error.at.map_or((-1, -1, -1), |at| (at.ledger, at.entry, at.batch_index));
            let row = error.row.map_or(-1, |row| row as i64);
            let set = value
                .setattr("kind", error.kind.name())
                .and_then(|()| value.setattr("message", &error.message))
                .and_then(|()| value.setattr("ledger", ledger))
                .and_then(|()| value.setattr("entry", entry))
                .and_then(|()| value.setattr("batch_index", batch_index))
                .and_then(|()| value.setattr("row", row));
            set.err().unwrap_or(exception)
        })
    }
}

#[pymodule(gil_used = false)]
fn _kernel(module: &Bound<'_, PyModule>) -> PyResult<()> {
    let py = module.py();
    let error = py.get_type::<KernelException>();
    error.setattr("__name__", "KernelError")?;
    error.setattr("__qualname__", "KernelError")?;
    error.setattr("__module__", "pyspark_pulsar._kernel")?;
    module.add("KernelError", error)?;
    module.add_class::<entries::PyEntryBatch>()?;
    module.add_class::<entries::PyFrameDecoder>()?;
    module.add_class::<backlog::PyBacklog>()?;
    module.add_class::<bookie::PyLedgerFrames>()?;
    module.add_class::<decoder::PyDecoder>()?;
    module.add_class::<encoder::PyEncoder>()?;
    module.add_class::<encoder::PySendFrames>()?;
    module.add_function(wrap_pyfunction!(encoder::renew_chunks, module)?)?;
    module.add_function(wrap_pyfunction!(slots::within_slots, module)?)?;
    module.add_function(wrap_pyfunction!(checksum::crc32c, module)?)?;
    module.add_class::<capsule::ArrowBatch>()?;
    module.add_class::<tiered::PyObjectIndex>()?;
    module.add_class::<tiered::PyMapFile>()?;
    module.add_class::<tiered::PyStoredEntries>()?;
    Ok(())
}
