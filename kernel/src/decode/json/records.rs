//! Columns for objects with known keys, from which the last rows can be removed.

use std::sync::Arc;

use arrow_array::StructArray;
use arrow_schema::{Field, Fields};

use super::columns::JsonColumn;
use super::cursor::{JsonCursor, JsonResult};
use super::members::Members;
use super::types::DEFAULT;
use super::unions::UnionShape;
use super::values::read;
use crate::decode::buffers::NullRows;
use crate::decode::list_column::Items;

use crate::conform::ArrowResult;

/// A column of objects, with a child column for each known key.
pub struct RecordColumn {
    fields: Fields,
    len: usize,
    nulls: NullRows,
    /// Values of fields that an object lacks.
    absent: Vec<AbsentMember>,
    /// Mapping from keys to fields.
    pub members: Members,
    /// Column of each field.
    pub children: Vec<JsonColumn>,
}

/// The value of a field that an object lacks.
enum AbsentMember {
    Null,
    /// The default, as JSON.
    Default(String),
    /// No value, because an object without this field does not fit its schema.
    Refused,
}

impl AbsentMember {
    fn new(field: &Field) -> Self {
        match field.metadata().get(DEFAULT) {
            _ if field.is_nullable() => Self::Null,
            Some(text) => Self::Default(text.clone()),
            None => Self::Refused,
        }
    }
}

impl RecordColumn {
    /// Creates an empty column for objects with the keys `fields`.
    pub fn new(fields: &Fields, unions: &[Arc<UnionShape>]) -> ArrowResult<Self> {
        let children =
            fields.iter().map(|field| JsonColumn::new(field, unions)).collect::<ArrowResult<_>>()?;
        let members = Members::new(fields);
        let nulls = NullRows::default();
        let absent = fields.iter().map(|field| AbsentMember::new(field)).collect();
        Ok(Self { fields: fields.clone(), len: 0, nulls, absent, members, children })
    }

    /// Returns the number of rows.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Returns the name of a field.
    pub fn name(&self, index: usize) -> &str {
        self.fields.get(index).map_or("", |field| field.name())
    }

    /// Returns whether a field may be null.
    #[inline]
    pub fn is_nullable(&self, index: usize) -> bool {
        matches!(self.absent.get(index), Some(AbsentMember::Null))
    }

    /// Ends a row in which `filled` children received a value. The other children receive the value for an
    /// absent field.
    ///
    /// `cursor` must be at the end of the object, and is used only for errors.
    #[inline]
    pub fn close(&mut self, filled: usize, cursor: &JsonCursor<'_>) -> JsonResult<()> {
        if filled < self.children.len() {
            self.fill_absent(cursor)?;
        }
        self.len += 1;
        Ok(())
    }

    fn fill_absent(&mut self, cursor: &JsonCursor<'_>) -> JsonResult<()> {
        for (index, child) in self.children.iter_mut().enumerate() {
            if child.len() == self.len {
                let name = self.fields.get(index).map_or("", |field| field.name());
                fill(child, self.absent.get(index), cursor).map_err(|fault| fault.below(name))?;
            }
        }
        Ok(())
    }

    /// Adds a null; all child columns also get a null.
    pub fn append_null(&mut self) {
        self.children.iter_mut().for_each(JsonColumn::append_null);
        self.nulls.push(self.len);
        self.len += 1;
    }

    /// Truncates the column to its first `rows` rows.
    pub fn truncate(&mut self, rows: usize) {
        self.children.iter_mut().for_each(|child| child.truncate(rows));
        self.len = self.len.min(rows);
        self.nulls.truncate(rows);
    }

    /// Returns the rows as an Arrow array, and empties the column.
    pub fn finish(&mut self) -> ArrowResult<StructArray> {
        let len = std::mem::take(&mut self.len);
        let nulls = self.nulls.finish(len);
        let columns = self.children.iter_mut().map(JsonColumn::finish).collect::<ArrowResult<Vec<_>>>()?;
        if columns.is_empty() {
            return Ok(StructArray::new_empty_fields(len, nulls));
        }
        StructArray::try_new(self.fields.clone(), columns, nulls)
    }
}

fn fill(child: &mut JsonColumn, absent: Option<&AbsentMember>, cursor: &JsonCursor<'_>) -> JsonResult<()> {
    match absent {
        Some(AbsentMember::Null) | None => child.append_null(),
        Some(AbsentMember::Default(text)) => read(child, false, &mut JsonCursor::new(text.as_bytes())?)?,
        Some(AbsentMember::Refused) => {
            return cursor.schema_fault(
                "expected a value, got none; the schema allows no null here and has no default",
            );
        }
    }
    Ok(())
}
