//! The options of a decoder.

use arrow_schema::SchemaRef;

use super::intake::IntakeOptions;
use crate::error::{KernelError, Result};
use crate::payload_schema::PayloadSchema;
use crate::selection::Range;
use crate::selection::row_filter::RowFilter;

/// Options of [`Decoder::new`](super::Decoder::new).
#[derive(Debug, Clone)]
pub struct DecoderOptions {
    /// Schema of the returned batches: value columns and metadata columns.
    pub output_schema: SchemaRef,
    /// Value of `__topic`.
    pub topic: String,
    /// Number of the topic partition, -1 if the topic is not partitioned.
    pub partition: i32,
    /// Schema of the value; messages of other versions are resolved to this schema.
    pub value: PayloadSchema,
    /// Number of rows of a full batch.
    pub batch_rows: usize,
    /// Range of the wanted messages.
    pub range: Range,
    /// Filter for the messages of the range.
    pub filter: RowFilter,
    /// Handling of chunked, encrypted and compressed messages.
    pub intake: IntakeOptions,
    /// Handling of messages whose value does not decode.
    pub bad_rows: BadRows,
    /// Name of the output column for the payloads of bad rows.
    pub corrupt_column: Option<String>,
    /// Name of the output column for kept payloads, which include the payloads of bad rows.
    pub payload_column: Option<String>,
}

/// The handling of a whole message whose value does not decode.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum BadRows {
    /// Return an error.
    #[default]
    Fail,
    /// Return a row with null in the value columns.
    Null,
    /// Return no row.
    Drop,
}

impl BadRows {
    /// Returns the mode of a name in Python: "fail", "null" or "drop".
    pub fn from_name(name: &str) -> Result<Self> {
        Ok(match name {
            "fail" => Self::Fail,
            "null" => Self::Null,
            "drop" => Self::Drop,
            _ => {
                return Err(KernelError::schema(format!(
                    "bad_rows: expected fail, null or drop, got {name:?}"
                )));
            }
        })
    }
}
