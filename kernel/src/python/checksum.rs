//! The checksum that Pulsar and BookKeeper use, for bytes that Python keeps in messages of its own.

use pyo3::prelude::*;

/// See `_kernel.pyi`.
#[pyfunction]
pub fn crc32c(py: Python<'_>, data: &[u8]) -> u32 {
    py.detach(|| ::crc32c::crc32c(data))
}
