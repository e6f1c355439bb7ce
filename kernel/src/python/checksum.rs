//! The function `crc32c`: the checksum of Pulsar and BookKeeper, for bytes that Python stores in messages.

use pyo3::prelude::*;

/// Returns the checksum; `_kernel.pyi` documents the function.
#[pyfunction]
pub fn crc32c(py: Python<'_>, data: &[u8]) -> u32 {
    py.detach(|| ::crc32c::crc32c(data))
}
