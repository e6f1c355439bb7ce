//! Messages as structs under construction.

use std::sync::Arc;

use arrow_array::{Array, ArrayRef, StructArray};
use arrow_schema::{Field, Fields};

use super::cursor::{ProtobufCursor, ProtobufResult};
use super::node::FieldColumn;
use super::nulls::Nulls;
use crate::error::{KernelError, Result};
use crate::protobuf::{self, FieldPlan, GROUP_END, ProtobufPlan, Shape};

/// Numbers below it are found by a table.
const TABLE: u32 = 256;
const NONE: u16 = u16::MAX;

/// A field of the message.
#[derive(Debug)]
struct FieldSlot {
    name: String,
    number: u32,
    /// The tag under which most writers send it.
    tag: u32,
    /// Slots of the same oneof that it takes back.
    siblings: Vec<usize>,
    /// A message without it is none of its type.
    required: bool,
    node: FieldColumn,
}

/// The fields of a message type, and which rows have none of them.
#[derive(Debug)]
pub struct MessageColumn {
    slots: Vec<FieldSlot>,
    table: Vec<u16>,
    nulls: Nulls,
    rows: usize,
}

impl MessageColumn {
    /// With all fields of `message`.
    pub fn new(plan: &ProtobufPlan, message: &protobuf::MessagePlan, depth: usize) -> Result<Self> {
        Self::with_fields(plan, message, depth, |_| true)
    }

    /// With the `wanted` fields of `message`; the others are passed over.
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
        // Most writers send fields by number.
        slots.sort_by_key(|(_, slot)| slot.number);
        let oneofs: Vec<Option<usize>> = slots.iter().map(|(oneof, _)| *oneof).collect();
        let mut slots: Vec<FieldSlot> = slots.into_iter().map(|(_, slot)| slot).collect();
        for (i, slot) in slots.iter_mut().enumerate() {
            let mine = oneofs.get(i).copied().flatten();
            let others =
                oneofs.iter().enumerate().filter(|(j, other)| *j != i && mine.is_some() && **other == mine);
            slot.siblings = others.map(|(j, _)| j).collect();
        }
        let mut table =
            vec![
                NONE;
                slots.iter().map(|s| s.number).filter(|n| *n < TABLE).max().map_or(0, |n| n as usize + 1)
            ];
        for (i, slot) in slots.iter().enumerate() {
            if let Some(entry) = table.get_mut(slot.number as usize) {
                *entry = u16::try_from(i).unwrap_or(NONE);
            }
        }
        Ok(Self { slots, table, nulls: Nulls::default(), rows: 0 })
    }

    #[inline]
    fn find(&self, number: u32) -> Option<usize> {
        match self.table.get(number as usize) {
            Some(&NONE) | None => self.slots.binary_search_by_key(&number, |slot| slot.number).ok(),
            Some(&index) => Some(index.into()),
        }
    }

    /// Rows, with the open one where it has a value.
    pub fn len(&self) -> usize {
        self.rows
    }

    /// Let `row` have a value.
    #[inline]
    pub fn touch(&mut self, row: usize) {
        self.rows = self.rows.max(row + 1);
    }

    /// Merge the bytes of a message into `row`.
    pub fn read(&mut self, row: usize, cursor: &mut ProtobufCursor<'_>) -> ProtobufResult<()> {
        self.touch(row);
        let mut next = 0;
        while !cursor.is_empty() {
            let tag = cursor.tag()?;
            self.read_field(row, tag, &mut next, cursor)?;
        }
        Ok(())
    }

    /// Merge what lies between the tags of group `number` into `row`.
    pub fn read_group(
        &mut self,
        row: usize,
        number: u32,
        cursor: &mut ProtobufCursor<'_>,
    ) -> ProtobufResult<()> {
        self.touch(row);
        let mut next = 0;
        loop {
            let tag = cursor.tag()?;
            if tag & 7 == GROUP_END {
                return cursor.end_group(tag, number);
            }
            self.read_field(row, tag, &mut next, cursor)?;
        }
    }

    /// `next` is the slot that probably follows.
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
        self.take_back_siblings(row, index);
        let Some(slot) = self.slots.get_mut(index) else { return Ok(()) };
        *next =
            if matches!(slot.node, FieldColumn::List(_) | FieldColumn::Map(_)) { index } else { index + 1 };
        slot.node.read(row, tag, cursor).map_err(|fault| fault.below(&slot.name))
    }

    /// Of a oneof only the last member counts.
    #[inline]
    fn take_back_siblings(&mut self, row: usize, index: usize) {
        let count = self.slots.get(index).map_or(0, |slot| slot.siblings.len());
        for i in 0..count {
            let sibling = self.slots.get(index).and_then(|slot| slot.siblings.get(i)).copied();
            if let Some(other) = sibling.and_then(|sibling| self.slots.get_mut(sibling)) {
                other.node.truncate(row);
            }
        }
    }

    /// Close `row`.
    pub fn end_row(&mut self, row: usize) -> std::result::Result<(), String> {
        if self.rows <= row {
            self.push_null();
            return Ok(());
        }
        for slot in &mut self.slots {
            if slot.required && slot.node.len() <= row {
                return Err(format!("{}: expected a value, as the field is required, got none", slot.name));
            }
            slot.node.end_row(row).map_err(|why| format!("{}: {why}", slot.name))?;
        }
        Ok(())
    }

    /// Append a null row.
    pub fn push_null(&mut self) {
        self.nulls.push(self.rows);
        self.rows += 1;
        for slot in &mut self.slots {
            slot.node.push_null();
        }
    }

    /// Forget the rows from `rows` on.
    pub fn truncate(&mut self, rows: usize) {
        self.rows = self.rows.min(rows);
        self.nulls.truncate(rows);
        for slot in &mut self.slots {
            slot.node.truncate(rows);
        }
    }

    /// The column of one field so far; starts a new one.
    pub fn finish_field(&mut self, name: &str) -> Result<ArrayRef> {
        let slot = self.slots.iter_mut().find(|slot| slot.name == name);
        slot.ok_or_else(|| KernelError::schema(format!("column {name} was not decoded")))?.node.finish()
    }

    /// All fields are finished: start with the first row again.
    pub fn restart(&mut self) {
        self.rows = 0;
        self.nulls = Nulls::default();
    }

    /// The structs so far; starts a new column.
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
