//! The class `Decoder` and its options.

use std::collections::HashSet;
use std::sync::{Mutex, PoisonError};

use arrow_schema::SchemaRef;
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use super::capsule::{ArrowBatch, import_schema};
use super::entries::PyEntryBatch;
use super::payload_schema::{PyPayloadSchema, payload_schema};
use crate::decode::{self, BadRows, TransactionId};
use crate::encryption::OnFailure;
use crate::error::KernelError;
use crate::payload_schema::PayloadSchema;
use crate::selection::row_filter::RowFilter;
use crate::selection::{Position, Range, Selection};

/// The attributes of a `DecoderOptions` in Python. Python may pass any object that has these attributes.
#[derive(FromPyObject)]
pub struct PyDecoderOptions {
    #[pyo3(from_py_with = import_schema)]
    output_schema: SchemaRef,
    topic: String,
    partition: i32,
    #[pyo3(from_py_with = payload_schema)]
    value: PayloadSchema,
    batch_rows: usize,
    start: Option<Position>,
    end: Option<Position>,
    row_filter: PyRowFilter,
    bad_rows: String,
    corrupt_column: Option<String>,
    payload_column: Option<String>,
    intake: PyIntakeOptions,
}

/// The attributes of a `RowFilter` in Python. Python may pass any object that has these attributes.
#[derive(FromPyObject)]
pub struct PyRowFilter {
    published_from: Option<i64>,
    published_before: Option<i64>,
    event_from: Option<i64>,
    event_before: Option<i64>,
    keys: Option<HashSet<Vec<u8>>>,
    slots: Option<(u32, u32)>,
}

/// The attributes of an `IntakeOptions` in Python. Python may pass any object that has these attributes.
#[derive(FromPyObject)]
pub struct PyIntakeOptions {
    max_open_chunked: usize,
    crypto_failure_action: String,
    max_uncompressed: Option<usize>,
}

impl From<PyRowFilter> for RowFilter {
    fn from(filter: PyRowFilter) -> Self {
        let PyRowFilter { published_from, published_before, event_from, event_before, keys, slots } = filter;
        Self { published_from, published_before, event_from, event_before, keys, slots }
    }
}

impl TryFrom<PyDecoderOptions> for decode::DecoderOptions {
    type Error = KernelError;

    fn try_from(options: PyDecoderOptions) -> Result<Self, KernelError> {
        Ok(Self {
            output_schema: options.output_schema,
            topic: options.topic,
            partition: options.partition,
            value: options.value,
            batch_rows: options.batch_rows,
            range: Range { start: options.start, end: options.end },
            filter: options.row_filter.into(),
            bad_rows: BadRows::from_name(&options.bad_rows)?,
            corrupt_column: options.corrupt_column,
            payload_column: options.payload_column,
            intake: decode::IntakeOptions {
                max_open_chunked: options.intake.max_open_chunked,
                on_crypto_failure: OnFailure::from_name(&options.intake.crypto_failure_action)?,
                max_uncompressed: options.intake.max_uncompressed,
            },
        })
    }
}

/// The Python class, which is documented in `_kernel.pyi`. The mutex makes the type `Sync`, because the
/// builders inside the decoder are not `Sync`.
#[pyclass(name = "Decoder", module = "pyspark_pulsar._kernel")]
pub struct PyDecoder(Mutex<decode::Decoder>);

impl PyDecoder {
    fn inner(&mut self) -> &mut decode::Decoder {
        self.0.get_mut().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The name of a chunked message, and the position of its first chunk if later chunks are still missing.
type NamedMessage<'py> = (Bound<'py, PyBytes>, Option<(i64, i64)>);

#[pymethods]
impl PyDecoder {
    #[new]
    fn new(options: PyDecoderOptions) -> PyResult<Self> {
        Ok(Self(Mutex::new(decode::Decoder::new(options.try_into()?)?)))
    }

    fn add_writer_schema(
        &mut self,
        py: Python<'_>,
        version: &[u8],
        written: PyPayloadSchema,
    ) -> PyResult<()> {
        let (decoder, written) = (self.inner(), written.into());
        Ok(py.detach(|| decoder.add_writer_schema(version, &written))?)
    }

    #[pyo3(signature = (version))]
    fn keep_payloads(&mut self, version: Option<&[u8]>) {
        self.inner().keep_payloads(version);
    }

    fn refuse_version(&mut self, version: &[u8], why: &str) {
        self.inner().refuse_version(version, why);
    }

    #[getter]
    fn bad_rows(&mut self) -> (u64, Option<PyErr>) {
        let count = self.inner().bad_rows();
        (count.rows, count.first.clone().map(PyErr::from))
    }

    fn rewind(
        &mut self,
        partition: i32,
        start: Option<Position>,
        end: Option<Position>,
        row_filter: PyRowFilter,
    ) -> PyResult<()> {
        let selection = Selection { range: Range { start, end }, filter: row_filter.into() };
        Ok(self.inner().rewind(partition, selection)?)
    }

    fn unknown_versions<'py>(
        &mut self,
        py: Python<'py>,
        entries: &mut PyEntryBatch,
    ) -> PyResult<Vec<Bound<'py, PyBytes>>> {
        let (decoder, entries) = (self.inner(), &mut entries.0);
        let versions = py.detach(move || decoder.unknown_versions(entries))?;
        Ok(versions.iter().map(|version| PyBytes::new(py, version)).collect())
    }

    fn push(&mut self, entries: &mut PyEntryBatch) {
        self.inner().push(&mut entries.0);
    }

    fn next_batch(&mut self, py: Python<'_>, flush: bool) -> PyResult<Option<ArrowBatch>> {
        let decoder = self.inner();
        Ok(py.detach(|| decoder.next_batch(flush))?.map(ArrowBatch))
    }

    fn needed_data_keys<'py>(&mut self, py: Python<'py>) -> Vec<(String, Bound<'py, PyBytes>)> {
        let keys = self.inner().needed_data_keys();
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

    fn look_back(&mut self, py: Python<'_>, entries: &mut PyEntryBatch, restart: bool) -> PyResult<bool> {
        let (decoder, entries) = (self.inner(), &mut entries.0);
        Ok(py.detach(move || decoder.look_back(entries, restart))?)
    }

    fn end_look_back(&mut self) {
        self.inner().end_look_back();
    }

    fn undecided_transactions(&mut self) -> Vec<TransactionId> {
        self.inner().undecided_transactions().to_vec()
    }

    fn add_transaction(&mut self, most: u64, least: u64, aborted: bool) {
        self.inner().add_transaction((most, least), aborted);
    }

    fn give_up_transactions(&mut self) -> Option<(i64, i64)> {
        self.inner().give_up_transactions()
    }

    fn chunked_messages<'py>(&mut self, py: Python<'py>) -> Vec<NamedMessage<'py>> {
        let messages = self.inner().chunked_messages();
        messages
            .into_iter()
            .map(|message| {
                (PyBytes::new(py, &message.id), message.open_since.map(|at| (at.ledger, at.entry)))
            })
            .collect()
    }

    fn take_lost(&mut self) -> Vec<(i64, i64, u64, bool)> {
        let lost = self.inner().take_lost();
        lost.into_iter()
            .map(|message| (message.at.ledger, message.at.entry, message.chunks, message.has_first))
            .collect()
    }

    #[getter]
    fn discarded(&mut self) -> u64 {
        self.inner().discarded()
    }
}
