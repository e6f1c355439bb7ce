//! What the kernel is told about the bytes of a value.

use arrow_schema::SchemaRef;

use crate::error::{KernelError, Result};

/// How one payload lies in bytes.
#[derive(Debug, Clone, Default)]
pub struct PayloadSchema {
    /// Name of the type: a primitive's, or the format of a record.
    pub value_type: String,
    /// The fields of a record as `definition` describes them, in its units; `None` for primitives.
    pub value_schema: Option<SchemaRef>,
    /// What describes the record: for avro and json an Avro schema, for protobuf the plan of [`crate::protobuf`]. A reader
    /// resolves to it.
    pub definition: Option<String>,
    /// The two sides of "key_value", which has no fields and no definition of its own.
    pub pair: Option<Box<KeyValueSchema>>,
}

/// The sides of a key-value schema, each a primitive or a record.
#[derive(Debug, Clone, Default)]
pub struct KeyValueSchema {
    /// The column `key`.
    pub key: PayloadSchema,
    /// The column `value`.
    pub value: PayloadSchema,
    /// Whether the key travels as the message's key rather than inside the payload.
    pub separated: bool,
}

impl PayloadSchema {
    /// A type without fields or definition.
    pub fn of_type(value_type: &str) -> Self {
        Self { value_type: value_type.to_owned(), ..Self::default() }
    }

    /// The fields. Raises "schema" where there are none.
    pub fn fields(&self) -> Result<&SchemaRef> {
        self.value_schema.as_ref().ok_or_else(|| self.missing("value_schema"))
    }

    /// The definition. Raises "schema" where there is none.
    pub fn definition(&self) -> Result<&str> {
        self.definition.as_deref().ok_or_else(|| self.missing("definition"))
    }

    /// The sides. Raises "schema" where there are none.
    pub fn pair(&self) -> Result<&KeyValueSchema> {
        self.pair.as_deref().ok_or_else(|| self.missing("pair"))
    }

    fn missing(&self, what: &str) -> KernelError {
        KernelError::schema(format!("{} needs {what}", self.value_type))
    }
}

/// Whether two schema versions are the same. Those of Pulsar's registry are numbers of eight bytes.
#[inline]
pub fn is_same_version(one: &[u8], other: &[u8]) -> bool {
    // Asked for each message: numbers are compared faster than slices.
    match (<[u8; 8]>::try_from(one), <[u8; 8]>::try_from(other)) {
        (Ok(one), Ok(other)) => u64::from_ne_bytes(one) == u64::from_ne_bytes(other),
        _ => one == other,
    }
}
