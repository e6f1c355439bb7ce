//! The class `Encoder` and the frames that it returns.

use pyo3::prelude::*;
use pyo3::types::PyBytes;

use super::capsule::{import_batch, import_schema};
use super::payload_schema::PyPayloadSchema;
use crate::decode::TransactionId;
use crate::encode;
use crate::error::KernelError;

/// The Python class, which is documented in `_kernel.pyi`.
#[pyclass(name = "SendFrames", frozen, get_all, module = "pyspark_pulsar._kernel")]
pub struct PySendFrames {
    partition: usize,
    frames: Py<PyBytes>,
    first_sequence_id: u64,
    last_sequence_id: u64,
    sequence_ids: Vec<u64>,
    ends: Vec<usize>,
    chunked: Vec<(usize, usize)>,
    num_messages: usize,
}

impl PySendFrames {
    fn new(py: Python<'_>, sent: encode::SendFrames) -> Self {
        Self {
            partition: sent.partition,
            frames: PyBytes::new(py, &sent.frames).unbind(),
            first_sequence_id: sent.first_sequence_id,
            last_sequence_id: sent.last_sequence_id,
            sequence_ids: sent.sequence_ids,
            ends: sent.ends,
            chunked: sent.chunked,
            num_messages: sent.num_messages,
        }
    }
}

/// Returns renamed chunks; `_kernel.pyi` documents the function.
#[pyfunction]
pub fn renew_chunks<'py>(py: Python<'py>, frames: &[u8], attempt: u32) -> PyResult<Bound<'py, PyBytes>> {
    Ok(PyBytes::new(py, &encode::resend::renew_chunks(frames, attempt)?))
}

/// The Python class, which is documented in `_kernel.pyi`.
#[pyclass(name = "Encoder", module = "pyspark_pulsar._kernel")]
pub struct PyEncoder(encode::Encoder);

#[pymethods]
impl PyEncoder {
    #[new]
    #[pyo3(signature = (input_schema, *, value, partitions, compression="NONE", batching_max_messages=1000,
                        batching_max_bytes=131_072, max_message_bytes=5_242_880))]
    #[allow(clippy::too_many_arguments)]
    fn new(
        input_schema: &Bound<'_, PyAny>,
        value: PyPayloadSchema,
        partitions: usize,
        compression: &str,
        batching_max_messages: usize,
        batching_max_bytes: usize,
        max_message_bytes: usize,
    ) -> PyResult<Self> {
        let options = encode::EncoderOptions {
            input_schema: import_schema(input_schema)?,
            value: value.into(),
            partitions,
            compression: compression.to_owned(),
            batching_max_messages,
            batching_max_bytes,
            max_message_bytes,
        };
        Ok(Self(encode::Encoder::new(&options)?))
    }

    #[pyo3(signature = (*, batching="default", chunk_bytes=None, hashing="JavaStringHash"))]
    fn set_producing(&mut self, batching: &str, chunk_bytes: Option<usize>, hashing: &str) -> PyResult<()> {
        let producing = encode::Producing {
            batching: encode::Batching::from_name(batching)?,
            chunk_bytes,
            hashing: encode::route::Hashing::from_name(hashing)?,
        };
        self.0.set_producing(producing);
        Ok(())
    }

    fn set_data_key(&mut self, key: &[u8], wrapped: Vec<(String, Vec<u8>)>) -> PyResult<()> {
        Ok(self.0.set_data_key(key, &wrapped)?)
    }

    #[pyo3(signature = (partition, *, producer_id, producer_name, next_sequence_id, schema_version, transaction=None))]
    fn set_producer(
        &mut self,
        partition: usize,
        producer_id: u64,
        producer_name: String,
        next_sequence_id: u64,
        schema_version: Option<Vec<u8>>,
        transaction: Option<TransactionId>,
    ) -> PyResult<()> {
        let producer =
            encode::Producer { producer_id, producer_name, next_sequence_id, schema_version, transaction };
        Ok(self.0.set_producer(partition, producer)?)
    }

    fn encode(
        &mut self,
        py: Python<'_>,
        batch: &Bound<'_, PyAny>,
        publish_time_ms: i64,
    ) -> PyResult<Vec<PySendFrames>> {
        let batch = import_batch(batch)?;
        let publish_time = u64::try_from(publish_time_ms)
            .map_err(|_| KernelError::payload("publish_time_ms: expected a time after 1970"))?;
        let sent = py.detach(|| self.0.encode(&batch, publish_time))?;
        Ok(sent.into_iter().map(|frames| PySendFrames::new(py, frames)).collect())
    }

    fn start_digest(&mut self, topic: &str) {
        self.0.start_digest(topic);
    }

    fn digest(&mut self, py: Python<'_>, batch: &Bound<'_, PyAny>) -> PyResult<()> {
        let batch = import_batch(batch)?;
        Ok(py.detach(|| self.0.digest(&batch))?)
    }

    #[getter]
    fn row_digest(&self) -> Option<(u64, u64)> {
        self.0.row_digest().map(|digest| (digest.rows, digest.sum))
    }
}
