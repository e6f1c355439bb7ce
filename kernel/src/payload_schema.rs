//! The description of a value's bytes, which the kernel receives from Python.

use arrow_schema::SchemaRef;

use crate::error::{KernelError, Result};

/// The format of one payload.
#[derive(Debug, Clone, Default)]
pub struct PayloadSchema {
    /// Name of the primitive type, or of the format of a record.
    pub value_type: String,
    /// The fields of a record, with the types and units of `definition`; `None` for primitives.
    pub value_schema: Option<SchemaRef>,
    /// The definition of a record: an Avro schema for avro and json, a plan of [`crate::protobuf`] for
    /// protobuf. A reader resolves messages to this definition.
    pub definition: Option<String>,
    /// The two sides of "key_value", which has neither fields nor a definition of its own.
    pub pair: Option<Box<KeyValueSchema>>,
}

/// The sides of a key-value schema, each a primitive or a record.
#[derive(Debug, Clone, Default)]
pub struct KeyValueSchema {
    /// The schema of the column `key`.
    pub key: PayloadSchema,
    /// The schema of the column `value`.
    pub value: PayloadSchema,
    /// True if the key is the message's key instead of a part of the payload.
    pub separated: bool,
}

impl PayloadSchema {
    /// Creates a type without fields or definition.
    pub fn of_type(value_type: &str) -> Self {
        Self { value_type: value_type.to_owned(), ..Self::default() }
    }

    /// Returns the fields. Fails with an error of the kind `schema` if the schema has no fields.
    pub fn fields(&self) -> Result<&SchemaRef> {
        self.value_schema.as_ref().ok_or_else(|| self.missing("value_schema"))
    }

    /// Returns the definition. Fails with an error of the kind `schema` if the schema has no definition.
    pub fn definition(&self) -> Result<&str> {
        self.definition.as_deref().ok_or_else(|| self.missing("definition"))
    }

    /// Returns the key and value schemas. Fails with an error of the kind `schema` if the schema is not a
    /// pair.
    pub fn pair(&self) -> Result<&KeyValueSchema> {
        self.pair.as_deref().ok_or_else(|| self.missing("pair"))
    }

    fn missing(&self, what: &str) -> KernelError {
        KernelError::schema(format!("expected {what} for the value type {}, got none", self.value_type))
    }
}

/// Returns whether two schema versions are the same. Versions of Pulsar's registry are numbers of eight
/// bytes.
#[inline]
pub fn is_same_version(one: &[u8], other: &[u8]) -> bool {
    // This runs once per message, and comparing numbers is faster than comparing slices.
    match (<[u8; 8]>::try_from(one), <[u8; 8]>::try_from(other)) {
        (Ok(one), Ok(other)) => u64::from_ne_bytes(one) == u64::from_ne_bytes(other),
        _ => one == other,
    }
}
