//! Record batches and schemas over the Arrow PyCapsule interface.
//! <https://arrow.apache.org/docs/format/CDataInterface/PyCapsuleInterface.html>
#![allow(unsafe_code)]

use std::ffi::CStr;
use std::sync::Arc;

use arrow_array::ffi::{FFI_ArrowArray, from_ffi};
use arrow_array::{Array, RecordBatch, StructArray};
use arrow_schema::ffi::FFI_ArrowSchema;
use arrow_schema::{ArrowError, Schema, SchemaRef};
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyCapsule, PyTuple};

use crate::error::KernelError;

const SCHEMA: &CStr = c"arrow_schema";
const ARRAY: &CStr = c"arrow_array";

/// A record batch for Python; `pyarrow.record_batch(it)` takes it without a copy.
#[pyclass(frozen, module = "pyspark_pulsar._kernel")]
pub struct ArrowBatch(pub RecordBatch);

#[pymethods]
impl ArrowBatch {
    fn __arrow_c_schema__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyCapsule>> {
        schema_capsule(py, &self.0.schema())
    }

    #[pyo3(signature = (requested_schema=None))]
    fn __arrow_c_array__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyTuple>> {
        // The interface allows to ignore a request; the schema is fixed by the decoder's options.
        drop(requested_schema);
        let array = FFI_ArrowArray::new(&StructArray::from(self.0.clone()).to_data());
        let array = PyCapsule::new_with_value(py, array, ARRAY)?;
        PyTuple::new(py, [schema_capsule(py, &self.0.schema())?, array])
    }

    #[getter]
    fn num_rows(&self) -> usize {
        self.0.num_rows()
    }
}

fn schema_capsule<'py>(py: Python<'py>, schema: &SchemaRef) -> PyResult<Bound<'py, PyCapsule>> {
    let schema = FFI_ArrowSchema::try_from(schema.as_ref()).map_err(refused)?;
    PyCapsule::new_with_value(py, schema, SCHEMA)
}

/// The schema of anything with `__arrow_c_schema__`.
pub fn import_schema(object: &Bound<'_, PyAny>) -> PyResult<SchemaRef> {
    let capsule = call(object, "__arrow_c_schema__")?;
    let schema = take_schema(capsule.cast::<PyCapsule>()?)?;
    Ok(Arc::new(Schema::try_from(&schema).map_err(refused)?))
}

/// The record batch of anything with `__arrow_c_array__`.
pub fn import_batch(object: &Bound<'_, PyAny>) -> PyResult<RecordBatch> {
    let pair = call(object, "__arrow_c_array__")?;
    let (schema, array): (Bound<'_, PyAny>, Bound<'_, PyAny>) = pair.extract()?;
    let schema = take_schema(schema.cast::<PyCapsule>()?)?;
    let pointer = array.cast::<PyCapsule>()?.pointer_checked(Some(ARRAY))?;
    // SAFETY: a capsule of this name holds an ArrowArray, by the PyCapsule interface; taking it marks the
    // original as released, so the producer's destructor leaves it alone.
    let array = unsafe { FFI_ArrowArray::from_raw(pointer.cast().as_ptr()) };
    if array.is_released() {
        return Err(PyTypeError::new_err("the Arrow array was already taken by someone else"));
    }
    // SAFETY: schema and array come from one call of the producer and describe each other.
    let data = unsafe { from_ffi(array, &schema) }.map_err(refused)?;
    let struct_schema = Schema::try_from(&schema).map_err(refused)?;
    let columns = StructArray::from(data);
    if columns.null_count() > 0 {
        return Err(KernelError::schema("expected a record batch, got a struct array with nulls").into());
    }
    let (_, arrays, _) = columns.clone().into_parts();
    let options = arrow_array::RecordBatchOptions::new().with_row_count(Some(columns.len()));
    Ok(RecordBatch::try_new_with_options(Arc::new(struct_schema), arrays, &options).map_err(refused)?)
}

fn call<'py>(object: &Bound<'py, PyAny>, method: &str) -> PyResult<Bound<'py, PyAny>> {
    if !object.hasattr(method)? {
        return Err(PyTypeError::new_err(format!(
            "expected an Arrow object with {method}, got {}",
            object.get_type()
        )));
    }
    object.call_method0(method)
}

fn take_schema(capsule: &Bound<'_, PyCapsule>) -> PyResult<FFI_ArrowSchema> {
    let pointer = capsule.pointer_checked(Some(SCHEMA))?;
    // SAFETY: a capsule of this name holds an ArrowSchema, by the PyCapsule interface; taking it marks the
    // original as released, so the producer's destructor leaves it alone.
    let schema = unsafe { FFI_ArrowSchema::from_raw(pointer.cast().as_ptr()) };
    if schema.release().is_none() {
        return Err(PyTypeError::new_err("the Arrow schema was already taken by someone else"));
    }
    Ok(schema)
}

fn refused(error: ArrowError) -> KernelError {
    KernelError::schema(format!("Arrow data that cannot be used: {error}"))
}
