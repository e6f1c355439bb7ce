//! The column `__messageProperties`: maps of texts.

use std::sync::Arc;

use arrow_array::{ArrayRef, MapArray, StructArray};
use arrow_buffer::{OffsetBuffer, ScalarBuffer};
use arrow_schema::{DataType, Field, Fields};

use super::buffers::{BytesBuffer, NullRows, check_room};
use super::metadata_columns::text;
use super::repeated_keys::find_overwritten;
use crate::conform::ArrowResult;
use crate::error::Result;
use crate::metadata::Property;

/// The column `__messageProperties` under construction.
#[derive(Debug, Default)]
pub struct PropertiesColumn {
    /// End of each map in `keys` and `values`.
    ends: Vec<i32>,
    keys: BytesBuffer,
    values: BytesBuffer,
    nulls: NullRows,
}

impl PropertiesColumn {
    /// Adds the properties of one message. If a key is repeated, only the last property is added.
    ///
    /// If a property is not UTF-8, the row is null, and the result is an error.
    pub fn append(&mut self, properties: &[Property<'_>]) -> Result<()> {
        let rows = self.ends.len();
        let entries = self.keys.len();
        let appended = match properties {
            [] => Ok(()),
            some => self.append_entries(some),
        };
        if appended.is_err() {
            self.keys.truncate(entries);
            self.values.truncate(entries);
            self.nulls.push(rows);
        }
        // The number fits, because a batch has fewer properties than bytes.
        self.ends.push(self.keys.len() as i32);
        appended
    }

    fn append_entries(&mut self, properties: &[Property<'_>]) -> Result<()> {
        let mut overwritten = Vec::new();
        let key = |index: usize| properties.get(index).map(|(key, _)| key);
        find_overwritten(0..properties.len(), key, &mut overwritten);
        for (index, (key, value)) in properties.iter().enumerate() {
            let (key, value) = (text(key, "property key")?, text(value, "property value")?);
            if overwritten.binary_search(&index).is_err() {
                check_room(self.keys.push(key) && self.values.push(value))?;
            }
        }
        Ok(())
    }

    /// Returns the values as an Arrow array, and empties the column.
    pub fn finish(&mut self) -> ArrowResult<MapArray> {
        let mut offsets = Vec::with_capacity(self.ends.len() + 1);
        offsets.push(0);
        offsets.append(&mut self.ends);
        let nulls = self.nulls.finish(offsets.len() - 1);
        let pair = Fields::from(vec![
            Field::new("key", DataType::Utf8, false),
            Field::new("value", DataType::Utf8, true),
        ]);
        let columns: Vec<ArrayRef> =
            vec![Arc::new(self.keys.finish_texts()?), Arc::new(self.values.finish_texts()?)];
        let entries = Arc::new(Field::new("entries", DataType::Struct(pair.clone()), false));
        let pairs = StructArray::try_new(pair, columns, None)?;
        MapArray::try_new(entries, OffsetBuffer::new(ScalarBuffer::from(offsets)), pairs, nulls, false)
    }
}
