//! The function `within_slots`, which filters rows by the hash slots of their keys.

use std::sync::Arc;

use arrow_array::{Array, ArrayRef, BooleanArray, RecordBatch};
use pyo3::prelude::*;

use super::capsule::{ArrowBatch, import_batch};
use crate::error::{KernelError, Result};
use crate::selection::slot_columns::SlotColumns;

/// Returns for each row whether its key is in the slots; `_kernel.pyi` documents the function.
#[pyfunction]
pub fn within_slots(py: Python<'_>, rows: &Bound<'_, PyAny>, first: u32, stop: u32) -> PyResult<ArrowBatch> {
    let rows = import_batch(rows)?;
    let within = py.detach(|| within(&rows, first, stop))?;
    let batch = RecordBatch::try_from_iter([("within", Arc::new(within) as ArrayRef)])
        .map_err(|e| KernelError::schema(e.to_string()))?;
    Ok(ArrowBatch(batch))
}

fn within(rows: &RecordBatch, first: u32, stop: u32) -> Result<BooleanArray> {
    let columns = SlotColumns {
        ordering_keys: column(rows, "__orderingKey")?,
        keys: column(rows, "__key")?,
        producer_names: column(rows, "__producerName")?,
        sequence_ids: column(rows, "__sequenceId")?,
    };
    Ok(columns.within(first, stop))
}

fn column<'a, T: Array + 'static>(rows: &'a RecordBatch, name: &str) -> Result<&'a T> {
    rows.column_by_name(name)
        .and_then(|column| column.as_any().downcast_ref())
        .ok_or_else(|| KernelError::schema(format!("expected a column {name} of the type that reads return")))
}
