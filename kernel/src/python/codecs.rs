//! Decoder and encoder.

use std::collections::HashSet;
use std::sync::{Mutex, PoisonError};

use arrow_schema::SchemaRef;
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use super::capsule::{ArrowBatch, import_batch, import_schema};
use super::classes::EntryBatch;
use crate::encryption::OnFailure;
use crate::error::KernelError;
use crate::payload_schema::{Pair, PayloadSchema};
use crate::row_filter::RowFilter;
use crate::select::{Position, Range, Selection};
use crate::{decode, decode::TransactionId, encode};

/// What Python gives as a `PayloadSchema`: anything with these attributes.
#[derive(FromPyObject)]
pub struct GivenSchema {
    value_type: String,
    #[pyo3(from_py_with = optional_schema)]
    value_schema: Option<SchemaRef>,
    document: Option<String>,
    pair: Option<GivenPair>,
}

/// What Python gives as a `KeyValuePair`.
#[derive(FromPyObject)]
pub struct GivenPair {
    #[pyo3(from_py_with = payload_schema)]
    key: PayloadSchema,
    #[pyo3(from_py_with = payload_schema)]
    value: PayloadSchema,
    separated: bool,
}

fn payload_schema(object: &Bound<'_, PyAny>) -> PyResult<PayloadSchema> {
    object.extract::<GivenSchema>().map(PayloadSchema::from)
}

fn optional_schema(object: &Bound<'_, PyAny>) -> PyResult<Option<SchemaRef>> {
    if object.is_none() { Ok(None) } else { import_schema(object).map(Some) }
}

impl From<GivenSchema> for PayloadSchema {
    fn from(given: GivenSchema) -> Self {
        let pair = given
            .pair
            .map(|pair| Box::new(Pair { key: pair.key, value: pair.value, separated: pair.separated }));
        let GivenSchema { value_type, value_schema, document, .. } = given;
        Self { value_type, value_schema, document, pair }
    }
}

/// See `_kernel.pyi`. The mutex only makes the type `Sync`, which its builders are not.
#[pyclass(module = "pyspark_pulsar._kernel")]
pub struct Decoder(Mutex<decode::Decoder>);

impl Decoder {
    fn inner(&mut self) -> &mut decode::Decoder {
        self.0.get_mut().unwrap_or_else(PoisonError::into_inner)
    }
}

#[pymethods]
impl Decoder {
    #[new]
    #[pyo3(signature = (output_schema, *, topic, partition, value, batch_rows=16384, start=None, end=None,
                        bad_rows="fail", corrupt_column=None, max_open_chunked=10,
                         crypto_failure_action="FAIL", max_uncompressed=None, published_from=None,
                         published_before=None, event_before=None, event_from=None, keys=None, slots=None))]
    #[allow(clippy::too_many_arguments)]
    fn new(
        output_schema: &Bound<'_, PyAny>,
        topic: String,
        partition: i32,
        value: GivenSchema,
        batch_rows: usize,
        start: Option<Position>,
        end: Option<Position>,
        bad_rows: &str,
        corrupt_column: Option<String>,
        max_open_chunked: usize,
        crypto_failure_action: &str,
        max_uncompressed: Option<usize>,
        published_from: Option<i64>,
        published_before: Option<i64>,
        event_before: Option<i64>,
        event_from: Option<i64>,
        keys: Option<HashSet<Vec<u8>>>,
        slots: Option<(u32, u32)>,
    ) -> PyResult<Self> {
        let options = decode::DecoderOptions {
            output_schema: import_schema(output_schema)?,
            topic,
            partition,
            value: value.into(),
            batch_rows,
            range: Range { start, end },
            filter: RowFilter { published_from, published_before, event_from, event_before, keys, slots },
            bad_rows: decode::BadRows::from_name(bad_rows)?,
            corrupt_column,
            intake: decode::IntakeOptions {
                max_open_chunked,
                on_crypto_failure: OnFailure::from_name(crypto_failure_action)?,
                max_uncompressed,
            },
        };
        Ok(Self(Mutex::new(decode::Decoder::new(options)?)))
    }

    fn add_writer_schema(&mut self, py: Python<'_>, version: &[u8], written: GivenSchema) -> PyResult<()> {
        let (decoder, written) = (self.inner(), written.into());
        Ok(py.detach(|| decoder.add_writer_schema(version, &written))?)
    }

    fn refuse_version(&mut self, version: &[u8], why: &str) {
        self.inner().refuse_version(version, why);
    }

    #[getter]
    fn bad_rows(&mut self) -> (u64, Option<PyErr>) {
        let count = self.inner().bad_rows();
        (count.rows, count.first.clone().map(PyErr::from))
    }

    #[pyo3(signature = (partition, start, end, *, published_from=None, published_before=None,
                        event_before=None, event_from=None, keys=None, slots=None))]
    #[allow(clippy::too_many_arguments)]
    fn rewind(
        &mut self,
        partition: i32,
        start: Option<Position>,
        end: Option<Position>,
        published_from: Option<i64>,
        published_before: Option<i64>,
        event_before: Option<i64>,
        event_from: Option<i64>,
        keys: Option<HashSet<Vec<u8>>>,
        slots: Option<(u32, u32)>,
    ) -> PyResult<()> {
        let filter = RowFilter { published_from, published_before, event_from, event_before, keys, slots };
        Ok(self.inner().rewind(partition, Selection { range: Range { start, end }, filter })?)
    }

    fn unknown_versions<'py>(
        &mut self,
        py: Python<'py>,
        entries: &mut EntryBatch,
    ) -> PyResult<Vec<Bound<'py, PyBytes>>> {
        let (decoder, entries) = (self.inner(), &mut entries.0);
        let versions = py.detach(move || decoder.unknown_versions(entries))?;
        Ok(versions.iter().map(|version| PyBytes::new(py, version)).collect())
    }

    fn push(&mut self, entries: &mut EntryBatch) {
        self.inner().push(&mut entries.0);
    }

    fn next_batch(&mut self, py: Python<'_>, flush: bool) -> PyResult<Option<ArrowBatch>> {
        let decoder = self.inner();
        Ok(py.detach(|| decoder.next_batch(flush))?.map(ArrowBatch))
    }

    fn wanted_data_keys<'py>(&mut self, py: Python<'py>) -> Vec<(String, Bound<'py, PyBytes>)> {
        let keys = self.inner().wanted_data_keys();
        keys.iter().map(|key| (key.name.clone(), PyBytes::new(py, &key.wrapped))).collect()
    }

    fn add_data_key(&mut self, wrapped: &[u8], key: &[u8]) {
        self.inner().add_data_key(wrapped, key);
    }

    fn refuse_data_key(&mut self, wrapped: &[u8], why: &str) {
        self.inner().refuse_data_key(wrapped, why);
    }

    fn missing_chunks(&mut self) -> Option<(i64, i64, u64)> {
        self.inner().missing_chunks().map(|missing| (missing.at.ledger, missing.at.entry, missing.chunks))
    }

    fn look_back(&mut self, py: Python<'_>, entries: &mut EntryBatch, anew: bool) -> PyResult<bool> {
        let (decoder, entries) = (self.inner(), &mut entries.0);
        Ok(py.detach(move || decoder.look_back(entries, anew))?)
    }

    fn end_look_back(&mut self) {
        self.inner().end_look_back();
    }

    fn wanted_transactions(&mut self) -> Vec<TransactionId> {
        self.inner().wanted_transactions().to_vec()
    }

    fn add_transaction(&mut self, most: u64, least: u64, aborted: bool) {
        self.inner().add_transaction((most, least), aborted);
    }

    fn give_up_transactions(&mut self) -> Option<(i64, i64)> {
        self.inner().give_up_transactions()
    }

    fn take_lost(&mut self) -> Vec<(i64, i64, u64, bool)> {
        let lost = self.inner().take_lost();
        lost.into_iter().map(|each| (each.at.ledger, each.at.entry, each.chunks, each.has_first)).collect()
    }

    #[getter]
    fn discarded(&mut self) -> u64 {
        self.inner().discarded()
    }
}

/// See `_kernel.pyi`.
#[pyclass(frozen, get_all, module = "pyspark_pulsar._kernel")]
pub struct SendFrames {
    partition: usize,
    frames: Py<PyBytes>,
    first_sequence_id: u64,
    last_sequence_id: u64,
    sequence_ids: Vec<u64>,
    ends: Vec<usize>,
    chunked: Vec<(usize, usize)>,
    num_messages: usize,
}

impl SendFrames {
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

/// See `_kernel.pyi`.
#[pyfunction]
pub fn renew_chunks<'py>(py: Python<'py>, frames: &[u8], attempt: u32) -> PyResult<Bound<'py, PyBytes>> {
    Ok(PyBytes::new(py, &encode::resend::renew_chunks(frames, attempt)?))
}

/// See `_kernel.pyi`.
#[pyclass(module = "pyspark_pulsar._kernel")]
pub struct Encoder(encode::Encoder);

#[pymethods]
impl Encoder {
    #[new]
    #[pyo3(signature = (input_schema, *, value, partitions, compression="NONE", batching_max_messages=1000,
                        batching_max_bytes=131_072, max_message_bytes=5_242_880))]
    #[allow(clippy::too_many_arguments)]
    fn new(
        input_schema: &Bound<'_, PyAny>,
        value: GivenSchema,
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
    ) -> PyResult<Vec<SendFrames>> {
        let batch = import_batch(batch)?;
        let publish_time = u64::try_from(publish_time_ms)
            .map_err(|_| KernelError::payload("publish_time_ms: expected a time after 1970"))?;
        let sent = py.detach(|| self.0.encode(&batch, publish_time))?;
        Ok(sent.into_iter().map(|frames| SendFrames::new(py, frames)).collect())
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
