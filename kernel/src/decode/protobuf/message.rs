//! Columns of messages under construction, which become structs.

use std::sync::Arc;

use arrow_array::{Array, ArrayRef, StructArray};
use arrow_schema::{Field, Fields};

use super::cursor::{ProtobufCursor, ProtobufResult};
use super::node::FieldColumn;
use super::nulls::Nulls;
use crate::error::{KernelError, Result};
use crate::protobuf::{self, FieldPlan, GROUP_END, ProtobufPlan, Shape};

/// Upper limit, exclusive, of the field numbers that `table` contains.
const TABLE_SIZE: u32 = 256;
const NO_SLOT: u16 = u16::MAX;

/// A field of the message.
#[derive(Debug)]
struct FieldSlot {
    name: String,
    number: u32,
    /// Tag that most writers use for the field.
    tag: u32,
    /// Other slots of the same oneof, whose values this field removes.
    siblings: Vec<usize>,
    /// True if a message without the field is an error.
    required: bool,
    node: FieldColumn,
}

/// A column of messages, with a column for each field.
#[derive(Debug)]
pub struct MessageColumn {
    slots: Vec<FieldSlot>,
    /// Index of the slot for each field number, or `NO_SLOT`.
    table: Vec<u16>,
    nulls: Nulls,
    rows: usize,
}

impl MessageColumn {
    /// Creates a column with all fields of `message`.
    pub fn new(plan: &ProtobufPlan, message: &protobuf::MessagePlan, depth: usize) -> Result<Self> {
        Self::with_fields(plan, message, depth, |_| true)
    }

    /// Creates a column with the fields of `message` that `selects` accepts; other fields are skipped.
    pub fn with_fields(
        plan: &ProtobufPlan,
        message: &protobuf::MessagePlan,
        depth: usize,
        selects: impl Fn(&FieldPlan) -> bool,
    ) -> Result<Self> {
        let mut slots = Vec::new();
        for field in &message.fields {
            let node = match selects(field) {
                true => FieldColumn::new(plan, field, depth)?,
                false if field.oneof.is_some() => FieldColumn::Skipped,
                false => continue,
            };
            let tag = field.number << 3 | field_wire(field, &node);
            let (name, number, siblings) = (field.name.clone(), field.number, Vec::new());
            let required = field.shape == Shape::Required;
            slots.push((field.oneof, FieldSlot { name, number, tag, siblings, required, node }));
        }
        // Most writers write fields in the order of their numbers.
        slots.sort_by_key(|(_, slot)| slot.number);
        let oneofs: Vec<Option<usize>> = slots.iter().map(|(oneof, _)| *oneof).collect();
        let mut slots: Vec<FieldSlot> = slots.into_iter().map(|(_, slot)| slot).collect();
        for (i, slot) in slots.iter_mut().enumerate() {
            let own = oneofs.get(i).copied().flatten();
            let others =
                oneofs.iter().enumerate().filter(|(j, other)| *j != i && own.is_some() && **other == own);
            slot.siblings = others.map(|(j, _)| j).collect();
        }
        let mut table = vec![
            NO_SLOT;
            slots
                .iter()
                .map(|s| s.number)
                .filter(|n| *n < TABLE_SIZE)
                .max()
                .map_or(0, |n| n as usize + 1)
        ];
        for (i, slot) in slots.iter().enumerate() {
            if let Some(entry) = table.get_mut(slot.number as usize) {
                *entry = u16::try_from(i).unwrap_or(NO_SLOT);
            }
        }
        Ok(Self { slots, table, nulls: Nulls::default(), rows: 0 })
    }

    #[inline]
    fn find(&self, number: u32) -> Option<usize> {
        match self.table.get(number as usize) {
            Some(&NO_SLOT) | None => self.slots.binary_search_by_key(&number, |slot| slot.number).ok(),
            Some(&index) => Some(index.into()),
        }
    }

    /// Returns the number of rows, including the open row if it has a value.
    pub fn len(&self) -> usize {
        self.rows
    }

    /// Makes `row` a message instead of null.
    #[inline]
    pub fn ensure_value(&mut self, row: usize) {
        self.rows = self.rows.max(row + 1);
    }

    /// Merges the bytes of a message into `row`.
    pub fn read(&mut self, row: usize, cursor: &mut ProtobufCursor<'_>) -> ProtobufResult<()> {
        self.ensure_value(row);
        let mut next = 0;
        while !cursor.is_empty() {
            let tag = cursor.tag()?;
            self.read_field(row, tag, &mut next, cursor)?;
        }
        Ok(())
    }

    /// Merges the fields up to the end of the group `number` into `row`.
    pub fn read_group(
        &mut self,
        row: usize,
        number: u32,
        cursor: &mut ProtobufCursor<'_>,
    ) -> ProtobufResult<()> {
        self.ensure_value(row);
        let mut next = 0;
        loop {
            let tag = cursor.tag()?;
            if tag & 7 == GROUP_END {
                return cursor.end_group(tag, number);
            }
            self.read_field(row, tag, &mut next, cursor)?;
        }
    }

    /// Reads a field into `row`; `next` is the slot that probably follows.
    #[inline]
    fn read_field(
        &mut self,
        row: usize,
        tag: u32,
        next: &mut usize,
        cursor: &mut ProtobufCursor<'_>,
    ) -> ProtobufResult<()> {
        let index = match self.slots.get(*next) {
            Some(slot) if slot.tag == tag => *next,
            _ => match self.find(tag >> 3) {
                Some(index) => index,
                None => return cursor.skip(tag),
            },
        };
        self.remove_siblings(row, index);
        let Some(slot) = self.slots.get_mut(index) else { return Ok(()) };
        *next =
            if matches!(slot.node, FieldColumn::List(_) | FieldColumn::Map(_)) { index } else { index + 1 };
        slot.node.read(row, tag, cursor).map_err(|fault| fault.below(&slot.name))
    }

    /// Removes the values of other members of a oneof, because the columns contain only the last member in
    /// the message.
    #[inline]
    fn remove_siblings(&mut self, row: usize, index: usize) {
        let count = self.slots.get(index).map_or(0, |slot| slot.siblings.len());
        for i in 0..count {
            let sibling = self.slots.get(index).and_then(|slot| slot.siblings.get(i)).copied();
            if let Some(other) = sibling.and_then(|sibling| self.slots.get_mut(sibling)) {
                other.node.truncate(row);
            }
        }
    }

    /// Ends `row`; without a value, it becomes null.
    pub fn end_row(&mut self, row: usize) -> std::result::Result<(), String> {
        if self.rows <= row {
            self.push_null();
            return Ok(());
        }
        for slot in &mut self.slots {
            if slot.required && slot.node.len() <= row {
                return Err(format!("{}: expected a value of a required field, got none", slot.name));
            }
            slot.node.end_row(row).map_err(|why| format!("{}: {why}", slot.name))?;
        }
        Ok(())
    }

    /// Appends a null row.
    pub fn push_null(&mut self) {
        self.nulls.push(self.rows);
        self.rows += 1;
        for slot in &mut self.slots {
            slot.node.push_null();
        }
    }

    /// Truncates the column to its first `rows` rows.
    pub fn truncate(&mut self, rows: usize) {
        self.rows = self.rows.min(rows);
        self.nulls.truncate(rows);
        for slot in &mut self.slots {
            slot.node.truncate(rows);
        }
    }

    /// Returns the column of a field, and starts a new column.
    pub fn finish_field(&mut self, name: &str) -> Result<ArrayRef> {
        let slot = self.slots.iter_mut().find(|slot| slot.name == name);
        slot.ok_or_else(|| {
            KernelError::schema(format!("expected a decoded column {name}, got none; report this as a bug"))
        })?
        .node
        .finish()
    }

    /// Starts with the first row again, after `finish_field` was called for all fields.
    pub fn restart(&mut self) {
        self.rows = 0;
        self.nulls = Nulls::default();
    }

    /// Returns the structs as an Arrow array, and empties the column.
    pub fn finish(&mut self) -> Result<ArrayRef> {
        let nulls = self.nulls.finish(self.rows);
        let rows = std::mem::take(&mut self.rows);
        if self.slots.is_empty() {
            return Ok(Arc::new(StructArray::new_empty_fields(rows, nulls)));
        }
        let mut fields = Vec::with_capacity(self.slots.len());
        let mut columns = Vec::with_capacity(self.slots.len());
        for slot in &mut self.slots {
            let column = slot.node.finish()?;
            fields.push(Field::new(&slot.name, column.data_type().clone(), true));
            columns.push(column);
        }
        let built = StructArray::try_new(Fields::from(fields), columns, nulls);
        Ok(Arc::new(built.map_err(|e| KernelError::payload(e.to_string()))?))
    }
}

fn field_wire(field: &FieldPlan, node: &FieldColumn) -> u32 {
    if field.packed && field.kind.is_packable() { protobuf::DELIMITED } else { node.wire() }
}
