//! Conversion of Python's descriptions of payloads.

use arrow_schema::SchemaRef;
use pyo3::prelude::*;

use super::capsule::import_schema;
use crate::payload_schema::{KeyValueSchema, PayloadSchema};

/// The attributes of a `PayloadSchema` in Python. Python may pass any object that has these attributes.
#[derive(FromPyObject)]
pub struct PyPayloadSchema {
    value_type: String,
    #[pyo3(from_py_with = optional_arrow_schema)]
    value_schema: Option<SchemaRef>,
    definition: Option<String>,
    pair: Option<PyKeyValuePair>,
}

/// The attributes of a `KeyValuePair` in Python. Python may pass any object that has these attributes.
#[derive(FromPyObject)]
pub struct PyKeyValuePair {
    #[pyo3(from_py_with = payload_schema)]
    key: PayloadSchema,
    #[pyo3(from_py_with = payload_schema)]
    value: PayloadSchema,
    separated: bool,
}

pub fn payload_schema(object: &Bound<'_, PyAny>) -> PyResult<PayloadSchema> {
    object.extract::<PyPayloadSchema>().map(PayloadSchema::from)
}

fn optional_arrow_schema(object: &Bound<'_, PyAny>) -> PyResult<Option<SchemaRef>> {
    if object.is_none() { Ok(None) } else { import_schema(object).map(Some) }
}

impl From<PyPayloadSchema> for PayloadSchema {
    fn from(schema: PyPayloadSchema) -> Self {
        let PyPayloadSchema { value_type, value_schema, definition, pair } = schema;
        let pair = pair.map(|PyKeyValuePair { key, value, separated }| {
            Box::new(KeyValueSchema { key, value, separated })
        });
        Self { value_type, value_schema, definition, pair }
    }
}
