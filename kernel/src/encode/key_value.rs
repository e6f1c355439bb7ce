//! The columns `key` and `value` to key-value messages. `decode/key_value.rs` describes the formats.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef, RecordBatch, RecordBatchOptions};
use arrow_schema::{DataType, Field, Schema};

use super::input::InputValue;
use super::value_kind::ValueKind;
use crate::conform::masked;
use crate::error::{KernelError, Result};
use crate::payload_schema;

/// The kinds of the two columns.
#[derive(Debug)]
pub struct PairKind {
    key: ValueKind,
    value: ValueKind,
    separated: bool,
}

impl PairKind {
    /// Creates the kinds of both sides. `columns` must contain `key` and `value`, and no `__key` if the pair
    /// is separated.
    pub fn new(pair: &payload_schema::KeyValueSchema, columns: &Schema) -> Result<Self> {
        if pair.separated && columns.field_with_name("__key").is_ok() {
            return Err(KernelError::schema(
                "__key: expected no such column, because the column `key` becomes the message's key",
            ));
        }
        let other = |name: &&String| !name.starts_with("__") && !matches!(name.as_str(), "key" | "value");
        if let Some(name) = columns.fields().iter().map(|f| f.name()).find(other) {
            return Err(KernelError::schema(format!("expected the columns `key` and `value`, got {name}")));
        }
        let side = |name: &str, schema| {
            let column = columns.field_with_name(name).map_err(|_| lacking(name))?;
            ValueKind::new(schema, &side_schema(column)).map_err(|e| e.within(name))
        };
        Ok(Self {
            key: side("key", &pair.key)?,
            value: side("value", &pair.value)?,
            separated: pair.separated,
        })
    }
}

/// The two columns of a batch.
pub struct PairColumns {
    key: SideEncoder,
    value: SideEncoder,
    /// True if the key becomes the message's key.
    pub separated: bool,
}

impl PairColumns {
    /// Casts the columns. A value that does not fit is an error of the kind `payload` that contains the row.
    pub fn new(batch: &RecordBatch, kind: &PairKind) -> Result<Self> {
        let side = |name: &'static str, kind| {
            let column = batch.column_by_name(name).ok_or_else(|| lacking(name))?;
            SideEncoder::new(name, column, kind).map_err(|e| e.within(name))
        };
        Ok(Self {
            key: side("key", &kind.key)?,
            value: side("value", &kind.value)?,
            separated: kind.separated,
        })
    }

    /// Appends the payload. Returns false if the message has no payload: the value is null, or both sides of
    /// an inline pair are null.
    pub fn write(&self, row: usize, out: &mut Vec<u8>) -> Result<bool> {
        if self.separated {
            return self.value.write(row, out);
        }
        let start = out.len();
        let key = self.key.write_inline(row, out)?;
        let value = self.value.write_inline(row, out)?;
        if !key && !value {
            out.truncate(start);
        }
        Ok(key || value)
    }

    /// Returns the bytes of the key, or `None` if the key is null.
    pub fn write_key(&self, row: usize) -> Result<Option<Vec<u8>>> {
        let mut bytes = Vec::new();
        Ok(self.key.write(row, &mut bytes)?.then_some(bytes))
    }
}

struct SideEncoder {
    name: &'static str,
    column: ArrayRef,
    value: InputValue,
}

impl SideEncoder {
    fn new(name: &'static str, column: &ArrayRef, kind: &ValueKind) -> Result<Self> {
        let field = Field::new(name, column.data_type().clone(), true);
        let arrays = match column.data_type() {
            DataType::Struct(_) => {
                let members = column.as_struct().columns().iter();
                let members = members.map(|member| masked(member, column.nulls()));
                members
                    .collect::<std::result::Result<_, _>>()
                    .map_err(|e| KernelError::schema(e.to_string()))?
            }
            _ => vec![column.clone()],
        };
        let options = RecordBatchOptions::new().with_row_count(Some(column.len()));
        let batch = RecordBatch::try_new_with_options(Arc::new(side_schema(&field)), arrays, &options)
            .map_err(|e| KernelError::schema(e.to_string()))?;
        Ok(Self { name, column: column.clone(), value: InputValue::new(&batch, kind)? })
    }

    fn write(&self, row: usize, out: &mut Vec<u8>) -> Result<bool> {
        if self.column.is_null(row) {
            return Ok(false);
        }
        self.value.write(row, out).map_err(|e| e.within(self.name))
    }

    /// Appends the length and the bytes.
    fn write_inline(&self, row: usize, out: &mut Vec<u8>) -> Result<bool> {
        let start = out.len();
        out.extend_from_slice(&(-1i32).to_be_bytes());
        if !self.write(row, out)? {
            return Ok(false);
        }
        let length = i32::try_from(out.len() - start - 4).map_err(|_| {
            KernelError::new(
                crate::ErrorKind::TooLarge,
                format!("expected a {} below 2 GiB, got more", self.name),
            )
            .in_row(row)
        })?;
        if let Some(place) = out.get_mut(start..start + 4) {
            place.copy_from_slice(&length.to_be_bytes());
        }
        Ok(true)
    }
}

/// Returns the columns of one side: the members of a struct, or one `value`. All columns are nullable,
/// because a member is null where the struct itself is null.
fn side_schema(column: &Field) -> Schema {
    let nullable = |name: &str, kind: &DataType| Field::new(name, kind.clone(), true);
    match column.data_type() {
        DataType::Struct(fields) => {
            Schema::new(fields.iter().map(|f| nullable(f.name(), f.data_type())).collect::<Vec<_>>())
        }
        kind => Schema::new(vec![nullable("value", kind)]),
    }
}

fn lacking(name: &str) -> KernelError {
    KernelError::schema(format!("expected a column `{name}`"))
}
