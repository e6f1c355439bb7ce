//! Repeated fields and maps under construction.

use std::sync::Arc;

use arrow_array::{Array, ArrayRef, ListArray, MapArray, StructArray};
use arrow_buffer::OffsetBuffer;
use arrow_schema::DataType;

use super::cursor::{ProtobufCursor, ProtobufResult};
use super::leaf::{ScalarColumn, renew};
use super::node::FieldColumn;
use super::nulls::Nulls;
use crate::decode::repeated_keys::{find_overwritten, remove_overwritten};
use crate::error::{KernelError, Result};
use crate::protobuf::{DELIMITED, GROUP, list_item, map_entries};

/// Ends of closed rows, and which of them are null.
#[derive(Debug)]
struct Rows {
    /// Where each row begins, and where the last closed one ends.
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
        let end = i32::try_from(end)
            .map_err(|_| "expected at most 2147483647 items in one batch, got more".to_owned())?;
        self.offsets.push(end);
        Ok(())
    }

    fn push_null(&mut self) {
        self.nulls.push(self.len());
        self.offsets.push(self.end() as i32);
    }

    /// Returns the items that remain.
    fn truncate(&mut self, rows: usize) -> usize {
        self.offsets.truncate(rows + 1);
        self.nulls.truncate(rows);
        self.end()
    }

    fn finish_offsets(&mut self) -> Vec<i32> {
        let offsets = renew(&mut self.offsets);
        self.offsets.push(0);
        offsets
    }
}

/// One column of lists.
#[derive(Debug)]
pub struct RepeatedColumn {
    /// Items of all rows.
    pub items: FieldColumn,
    rows: Rows,
}

impl RepeatedColumn {
    /// Of such items.
    pub fn new(items: FieldColumn) -> Self {
        Self { items, rows: Rows::new() }
    }

    /// Closed rows.
    pub fn len(&self) -> usize {
        self.rows.len()
    }

    /// Append one item to the open row, or those of a packed field.
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

    /// Close the open row.
    pub fn end_row(&mut self) -> std::result::Result<(), String> {
        self.rows.close(self.items.len())
    }

    /// Append a null row.
    pub fn push_null(&mut self) {
        self.rows.push_null();
    }

    /// Forget the rows from `rows` on, and the items of an open one.
    pub fn truncate(&mut self, rows: usize) {
        let items = self.rows.truncate(rows);
        self.items.truncate(items);
    }

    /// The lists so far; starts a new column.
    pub fn finish(&mut self) -> Result<ArrayRef> {
        let nulls = self.rows.nulls.finish(self.rows.len());
        let offsets = OffsetBuffer::new(self.rows.finish_offsets().into());
        let items = self.items.finish()?;
        let built = ListArray::try_new(list_item(items.data_type().clone()), offsets, items, nulls);
        Ok(Arc::new(built.map_err(|e| KernelError::payload(e.to_string()))?))
    }
}

/// One column of maps.
#[derive(Debug)]
pub struct MapColumn {
    keys: ScalarColumn,
    values: FieldColumn,
    rows: Rows,
    /// Entries, ascending, whose key comes again in their row: the last one counts.
    overwritten: Vec<usize>,
}

impl MapColumn {
    /// Of such entries.
    pub fn new(keys: ScalarColumn, values: FieldColumn) -> Self {
        Self { keys, values, rows: Rows::new(), overwritten: Vec::new() }
    }

    /// Closed rows.
    pub fn len(&self) -> usize {
        self.rows.len()
    }

    /// Append an entry to the open row.
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
        // An entry without key or value has the zero of its type, also where that is an empty message.
        self.keys.touch(index).or_else(|why| entry.fault(why))?;
        self.values.touch(index, &entry)?;
        self.values.end_row(index).or_else(|why| entry.fault(why))
    }

    /// Close the open row.
    pub fn end_row(&mut self) -> std::result::Result<(), String> {
        let (start, end) = (self.rows.end(), self.keys.len());
        find_overwritten(start..end, |entry| self.keys.key(entry), &mut self.overwritten);
        self.rows.close(end)
    }

    /// Append a null row.
    pub fn push_null(&mut self) {
        self.rows.push_null();
    }

    /// Forget the rows from `rows` on, and the entries of an open one.
    pub fn truncate(&mut self, rows: usize) {
        let entries = self.rows.truncate(rows);
        self.keys.truncate(entries);
        self.values.truncate(entries);
        while self.overwritten.last().is_some_and(|entry| *entry >= entries) {
            self.overwritten.pop();
        }
    }

    /// The maps so far; starts a new column.
    pub fn finish(&mut self) -> Result<ArrayRef> {
        let nulls = self.rows.nulls.finish(self.rows.len());
        let mut offsets = self.rows.finish_offsets();
        let refused = |e: arrow_schema::ArrowError| KernelError::payload(e.to_string());
        let (keys, values) = (self.keys.finish()?, self.values.finish()?);
        let (keys, values) =
            remove_overwritten(&mut self.overwritten, &mut offsets, keys, values).map_err(refused)?;
        let entries = map_entries(keys.data_type().clone(), values.data_type().clone());
        let DataType::Struct(pair) = entries.data_type() else {
            return Err(KernelError::schema("map entries must be a struct"));
        };
        let pairs = StructArray::try_new(pair.clone(), vec![keys, values], None).map_err(refused)?;
        let offsets = OffsetBuffer::new(offsets.into());
        Ok(Arc::new(MapArray::try_new(entries, offsets, pairs, nulls, false).map_err(refused)?))
    }
}
