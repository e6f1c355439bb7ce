//! What a decoder is made of.

use arrow_schema::SchemaRef;

use super::intake::IntakeOptions;
use crate::error::{KernelError, Result};
use crate::payload_schema::PayloadSchema;
use crate::selection::Range;
use crate::selection::row_filter::RowFilter;

/// See [`Decoder::new`](super::Decoder::new).
#[derive(Debug, Clone)]
pub struct DecoderOptions {
    /// Value columns and then metadata columns, exactly as they come out.
    pub output_schema: SchemaRef,
    /// Text of `__topic`.
    pub topic: String,
    /// Partition of the topic, -1 when not partitioned.
    pub partition: i32,
    /// The value; messages of other versions are resolved to its schema.
    pub value: PayloadSchema,
    /// Rows of a full batch.
    pub batch_rows: usize,
    /// Messages wanted.
    pub range: Range,
    /// Of these messages, those wanted.
    pub filter: RowFilter,
    /// Chunked, encrypted and compressed messages.
    pub intake: IntakeOptions,
    /// What to do with messages whose value does not decode.
    pub bad_rows: BadRows,
    /// Name of the output column that holds the payloads of such messages.
    pub corrupt_column: Option<String>,
    /// Name of the output column that holds the payloads of which the columns do not tell all, and of bad rows.
    pub payload_column: Option<String>,
}

/// What becomes of a message that is whole but whose value does not decode.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum BadRows {
    /// It is an error.
    #[default]
    Fail,
    /// Its value columns are null.
    Null,
    /// It yields no row.
    Drop,
}

impl BadRows {
    /// By its name in Python: "fail", "null" or "drop".
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
