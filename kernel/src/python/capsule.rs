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

/// A record batch for Python, which `pyarrow.record_batch` imports without a copy.
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
        // The interface allows ignoring the request. The decoder's options determine the schema.
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

/// Imports the schema of an object with `__arrow_c_schema__`.
pub fn import_schema(object: &Bound<'_, PyAny>) -> PyResult<SchemaRef> {
    let capsule = call(object, "__arrow_c_schema__")?;
    let schema = take_schema(capsule.cast::<PyCapsule>()?)?;
    Ok(Arc::new(Schema::try_from(&schema).map_err(refused)?))
}

/// Imports the record batch of an object with `__arrow_c_array__`.
pub fn import_batch(object: &Bound<'_, PyAny>) -> PyResult<RecordBatch> {
    let pair = call(object, "__arrow_c_array__")?;
    let (schema, array): (Bound<'_, PyAny>, Bound<'_, PyAny>) = pair.extract()?;
    let schema = take_schema(schema.cast::<PyCapsule>()?)?;
    let pointer = array.cast::<PyCapsule>()?.pointer_checked(Some(ARRAY))?;
    // SAFETY: by the PyCapsule interface, a capsule of this name contains an ArrowArray. Moving it out marks
    // the original as released, so the producer's destructor does not free it.
    let array = unsafe { FFI_ArrowArray::from_raw(pointer.cast().as_ptr()) };
    if array.is_released() {
        return Err(PyTypeError::new_err(
            "expected an Arrow array that was not imported before, got a released one",
        ));
    }
    // SAFETY: schema and array are from one call of the producer and describe each other.
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
    // SAFETY: by the PyCapsule interface, a capsule of this name contains an ArrowSchema. Moving it out marks
    // the original as released, so the producer's destructor does not free it.
    let schema = unsafe { FFI_ArrowSchema::from_raw(pointer.cast().as_ptr()) };
    if schema.release().is_none() {
        return Err(PyTypeError::new_err(
            "expected an Arrow schema that was not imported before, got a released one",
        ));
    }
    Ok(schema)
}

fn refused(error: ArrowError) -> KernelError {
    KernelError::schema(format!("expected Arrow data that can be imported, got an error: {error}"))
}
