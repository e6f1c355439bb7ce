//! Columns of repeated fields and maps under construction.

use std::sync::Arc;

use arrow_array::{Array, ArrayRef, ListArray, MapArray, StructArray};
use arrow_buffer::OffsetBuffer;
use arrow_schema::DataType;

use super::cursor::{ProtobufCursor, ProtobufResult};
use super::leaf::{ScalarColumn, take_values};
use super::node::FieldColumn;
use super::nulls::Nulls;
use crate::decode::repeated_keys::{find_overwritten, remove_overwritten};
use crate::error::{KernelError, Result};
use crate::protobuf::{DELIMITED, GROUP, list_item, map_entries};

/// The offsets and the nulls of closed rows.
#[derive(Debug)]
struct Rows {
    /// Start of each row among the items, and then the end of the last closed row.
    offsets: Vec<i32>,
    nulls: Nulls,
}

impl Rows {
    fn new() -> Self {
        Self { offsets: vec![0], nulls: Nulls::default() }
    }

    fn len(&self) -> usize {
        self.offsets.len() - 1
    }

    fn end(&self) -> usize {
        self.offsets.last().copied().unwrap_or_default() as usize
    }

    fn close(&mut self, end: usize) -> std::result::Result<(), String> {
        let end = i32::try_from(end).map_err(|_| {
            "expected at most 2147483647 items in a column of a batch, got more; read smaller batches"
                .to_owned()
        })?;
        self.offsets.push(end);
        Ok(())
    }

    fn push_null(&mut self) {
        self.nulls.push(self.len());
        self.offsets.push(self.end() as i32);
    }

    /// Keeps the first `rows` rows, and returns the number of their items.
    fn truncate(&mut self, rows: usize) -> usize {
        self.offsets.truncate(rows + 1);
        self.nulls.truncate(rows);
        self.end()
    }

    fn finish_offsets(&mut self) -> Vec<i32> {
        let offsets = take_values(&mut self.offsets);
        self.offsets.push(0);
        offsets
    }
}

/// A column of lists.
#[derive(Debug)]
pub struct RepeatedColumn {
    /// Items of all rows.
    pub items: FieldColumn,
    rows: Rows,
}

impl RepeatedColumn {
    /// Creates a column of lists of `items`, which must be empty.
    pub fn new(items: FieldColumn) -> Self {
        Self { items, rows: Rows::new() }
    }

    /// Returns the number of closed rows.
    pub fn len(&self) -> usize {
        self.rows.len()
    }

    /// Reads an item, or all items of a packed field, into the open row.
    #[inline]
    pub fn read(&mut self, tag: u32, cursor: &mut ProtobufCursor<'_>) -> ProtobufResult<()> {
        match &mut self.items {
            FieldColumn::Leaf(leaf) if tag & 7 == DELIMITED && !matches!(leaf.wire, DELIMITED | GROUP) => {
                let mut packed = cursor.message()?;
                while !packed.is_empty() {
                    let raw = packed.number(leaf.wire)?;
                    leaf.set_number(leaf.len(), raw).or_else(|why| packed.fault(why))?;
                }
                Ok(())
            }
            items => {
                let index = items.len();
                items.read(index, tag, cursor)?;
                items.end_row(index).or_else(|why| cursor.fault(why))
            }
        }
    }

    /// Ends the open row.
    pub fn end_row(&mut self) -> std::result::Result<(), String> {
        self.rows.close(self.items.len())
    }

    /// Appends a null row.
    pub fn push_null(&mut self) {
        self.rows.push_null();
    }

    /// Truncates the column to its first `rows` closed rows, and removes the items of an open row.
    pub fn truncate(&mut self, rows: usize) {
        let items = self.rows.truncate(rows);
        self.items.truncate(items);
    }

    /// Returns the lists as an Arrow array, and empties the column.
    pub fn finish(&mut self) -> Result<ArrayRef> {
        let nulls = self.rows.nulls.finish(self.rows.len());
        let offsets = OffsetBuffer::new(self.rows.finish_offsets().into());
        let items = self.items.finish()?;
        let built = ListArray::try_new(list_item(items.data_type().clone()), offsets, items, nulls);
        Ok(Arc::new(built.map_err(|e| KernelError::payload(e.to_string()))?))
    }
}

/// A column of maps.
#[derive(Debug)]
pub struct MapColumn {
    keys: ScalarColumn,
    values: FieldColumn,
    rows: Rows,
    /// Numbers of the entries whose key is repeated later in the row, ascending. These entries are removed.
    overwritten: Vec<usize>,
}

impl MapColumn {
    /// Creates a column of maps from `keys` to `values`, which must be empty.
    pub fn new(keys: ScalarColumn, values: FieldColumn) -> Self {
        Self { keys, values, rows: Rows::new(), overwritten: Vec::new() }
    }

    /// Returns the number of closed rows.
    pub fn len(&self) -> usize {
        self.rows.len()
    }

    /// Reads an entry into the open row.
    pub fn read(&mut self, mut entry: ProtobufCursor<'_>) -> ProtobufResult<()> {
        let index = self.keys.len();
        while !entry.is_empty() {
            let tag = entry.tag()?;
            if tag == (1 << 3 | self.keys.wire) {
                super::node::read_leaf(&mut self.keys, index, &mut entry).map_err(|f| f.below("key"))?;
            } else if tag >> 3 == 2 {
                self.values.read(index, tag, &mut entry).map_err(|f| f.below("value"))?;
            } else if tag >> 3 == 1 {
                let got = tag & 7;
                return entry.fault(format!("expected a key of wire type {}, got {got}", self.keys.wire));
            } else {
                entry.skip(tag)?;
            }
        }
        // A missing key or value of an entry is the zero of its type, which may be an empty message.
        self.keys.ensure_value(index).or_else(|why| entry.fault(why))?;
        self.values.ensure_value(index, &entry)?;
        self.values.end_row(index).or_else(|why| entry.fault(why))
    }

    /// Ends the open row.
    pub fn end_row(&mut self) -> std::result::Result<(), String> {
        let (start, end) = (self.rows.end(), self.keys.len());
        find_overwritten(start..end, |entry| self.keys.key(entry), &mut self.overwritten);
        self.rows.close(end)
    }

    /// Appends a null row.
    pub fn push_null(&mut self) {
        self.rows.push_null();
    }

    /// Truncates the column to its first `rows` closed rows, and removes the entries of an open row.
    pub fn truncate(&mut self, rows: usize) {
        let entries = self.rows.truncate(rows);
        self.keys.truncate(entries);
        self.values.truncate(entries);
        while self.overwritten.last().is_some_and(|entry| *entry >= entries) {
            self.overwritten.pop();
        }
    }

    /// Returns the maps, and starts a new column.
    pub fn finish(&mut self) -> Result<ArrayRef> {
        let nulls = self.rows.nulls.finish(self.rows.len());
        let mut offsets = self.rows.finish_offsets();
        let payload_error = |e: arrow_schema::ArrowError| KernelError::payload(e.to_string());
        let (keys, values) = (self.keys.finish()?, self.values.finish()?);
        let (keys, values) =
            remove_overwritten(&mut self.overwritten, &mut offsets, keys, values).map_err(payload_error)?;
        let entries = map_entries(keys.data_type().clone(), values.data_type().clone());
        let DataType::Struct(pair) = entries.data_type() else {
            return Err(KernelError::schema(format!(
                "expected a struct for map entries, got {}",
                entries.data_type()
            )));
        };
        let pairs = StructArray::try_new(pair.clone(), vec![keys, values], None).map_err(payload_error)?;
        let offsets = OffsetBuffer::new(offsets.into());
        Ok(Arc::new(MapArray::try_new(entries, offsets, pairs, nulls, false).map_err(payload_error)?))
    }
}
